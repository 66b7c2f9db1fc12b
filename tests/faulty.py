"""A program of which one process fails while the others wait for it: `python faulty.py KIND PLACE RANK FILE`.

The failing process writes to the file when it does, in seconds of the system's clock.
"""

from __future__ import annotations

import os
import signal
import sys
import time
from pathlib import Path
from typing import Any

from mpi4py import MPI

import pgaspy as pg

KIND, PLACE, RANK, FILE = sys.argv[1:]
FAILS = MPI.COMM_WORLD.rank == int(RANK)


def fail(*_: Any) -> None:
    Path(FILE).write_text(repr(time.time()))
    if KIND == "exception":
        raise ValueError("bad value")
    if KIND == "sys.exit":
        sys.exit(3)
    if KIND == "SystemExit":
        raise SystemExit(4)
    os.kill(os.getpid(), getattr(signal, KIND))


def fail_at(place: str, *_: Any) -> None:
    if FAILS and place == PLACE:
        fail()


fail_at("import")
A = pg.ones((200, 200))
if A.local().size:
    fail_at("local section")
pg.schedule(fail_at, "task", pg.update(A))
assert float(A.sum()) == A.size
if PLACE == "flush":  # the failing process waits for the others, and an alarm interrupts it there
    signal.signal(signal.SIGALRM, fail)
    signal.setitimer(signal.ITIMER_REAL, 0.2 if FAILS else 0)
    time.sleep(0 if FAILS else 60)
assert float(A.sum()) == A.size
fail_at("end")
