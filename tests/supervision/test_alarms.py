"""Alarms: a process that has failed tells the others, however little it has left."""

from __future__ import annotations

import threading

import pytest
from mpi4py import MPI

from pgaspy.job.failures import JobError
from pgaspy.supervision.alarms import Alarms


def test_nobody_waits_for_a_thread_that_has_no_memory_to_begin(monkeypatch: pytest.MonkeyPatch) -> None:
    alarms, is_short = Alarms(MPI.COMM_SELF, 60), threading.Event()

    def fail(thread: threading.Thread) -> None:
        raise MemoryError

    def tell() -> None:
        is_short.wait()
        alarms.tell(JobError(0, "", "MemoryError"))

    telling = threading.Thread(target=tell, daemon=True)
    telling.start()
    monkeypatch.setattr(threading.Thread, "_set_ident", fail)
    is_short.set()
    telling.join(5)
    assert not telling.is_alive()
    alarms.stop()
