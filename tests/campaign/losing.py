"""A job of which one process is lost: `python -m tests.campaign.losing FILE`, on 2 processes or more.

It runs the programs of a seed again and again. At some line, one process is killed, raises, exits, or gets no more
memory; in some of the jobs another one is in code of its own then, and takes no part in anything. All have to end by
themselves, within some time, which who started the job measures.
"""

from __future__ import annotations

import contextlib
import json
import os
import random
import signal
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import scipy.linalg.blas

import pgaspy as pg
from tests.campaign import model, words
from tests.campaign.injecting import FAILURES, Injection
from tests.campaign.job import MARK, described, say
from tests.campaign.large import large
from tests.campaign.programs import Program, written
from tests.campaign.settings import under
from tests.campaign.writing import EXPECTED

__all__ = ["AWAY", "LOSSES", "Plan", "planned"]

N_ROUNDS = 6
N_PROGRAMS = 2
AWAY_SECONDS = 60.0
ENDS_WITHIN = 5.0
"""In which a job ends whose processes are in calls of pgaspy, in seconds."""

ENDS_WITHIN_AWAY = 15.0
"""In which it ends where one is in code of its own."""


class Lost(Exception):
    """What a program raises."""


@dataclass(frozen=True)
class Plan:
    """What happens in a job, and at which of its lines, counted through all rounds; `away` is empty, or how."""

    kind: str
    rank: int
    line: int
    delay: float
    away: str
    rank_away: int

    @property
    def within(self) -> float:
        """So many seconds later all processes have ended."""
        return ENDS_WITHIN_AWAY if self.away else ENDS_WITHIN


def planned(name: str, seed: int, n_procs: int) -> Plan:
    """What happens in the job of a seed: a loss of this kind, or of `any`."""
    rng = random.Random(f"loss {seed}")
    kind = rng.choice(sorted(LOSSES)) if name == "any" else name
    if kind not in LOSSES:
        raise ValueError(f"--lose={name} is none of the losses any, {', '.join(sorted(LOSSES))}")
    rank, rank_away = rng.sample(range(n_procs), 2)
    is_away = kind in AT_ONCE and rng.random() < 0.4
    return Plan(kind, rank, rng.randrange(1, 100), rng.random() * 0.05,
                rng.choice(sorted(AWAY)) if is_away else "", rank_away)


def main(file: str) -> None:
    """Run the first program that a file names, until a process is lost."""
    order = json.loads(Path(file).read_text())
    seed = order["programs"][0]["seed"]
    plan = planned(order["inject"], seed, pg.SIZE)
    float((pg.ones(1_000_000) + 1).sum())  # which starts the threads: they cannot be without memory
    with tempfile.TemporaryDirectory() as own:
        folder = Path(pg.COMM.bcast(own))
        writing = folder / f"writing{pg.RANK}"
        writing.mkdir()
        programs = [large(k) if plan.kind == "limit" else written(k, pg.SIZE, writing)
                    for k in range(seed, seed + N_PROGRAMS)]
        say(event="begin", **described(programs[0]))
        print(f"{MARK}{json.dumps({'event': 'process', 'id': os.getpid()})}", flush=True)
        pg.COMM.Barrier()
        _run(programs * N_ROUNDS, folder, plan)
        say(event="end")


def _run(programs: Sequence[Program], folder: Path, plan: Plan) -> None:
    """Run programs, and what is planned at its line."""
    n_lines = 0
    for program in programs:
        names = words.namespace([], lambda: 0, folder, is_model=False)
        with under(program.settings), model.quiet():
            for line in program.lines:
                n_lines += 1
                if n_lines == plan.line and plan.away:
                    pg.COMM.Barrier()  # so that none waits for one that is in code of its own, before another is lost
                if n_lines == plan.line and plan.rank == pg.RANK:
                    LOSSES[plan.kind](plan)
                elif n_lines == plan.line and plan.away and plan.rank_away == pg.RANK:
                    AWAY[plan.away]()
                _execute(line, names, plan)


def _execute(line: str, names: dict[str, Any], plan: Plan) -> None:
    """Run a line; what it raises that NumPy would not, or for want of memory, ends the program."""
    try:
        exec(line, names)
    except (*EXPECTED, NameError):
        pass
    except Exception:
        if _limited:
            _limited.pop().close()
            _tell(plan)
        raise


def _tell(plan: Plan) -> None:
    """Say that this process is lost now."""
    told = {"event": "lost", "kind": plan.kind, "away": plan.away, "within": plan.within, "at": time.time()}
    os.write(1, f"{MARK}{json.dumps(told)}\n".encode())


def _kill(plan: Plan) -> None:
    """Killed by a signal, a little later, wherever it is then."""
    def end() -> None:
        _tell(plan)
        os.kill(os.getpid(), signal.SIGKILL)

    threading.Timer(plan.delay, end).start()


def _raise(plan: Plan) -> None:
    _tell(plan)
    raise Lost("a mistake of the program")


def _exit(plan: Plan) -> None:
    _tell(plan)
    sys.exit(3)


def _end_silently(plan: Plan) -> None:
    """As a library in C might."""
    _tell(plan)
    os._exit(3)


def _stop_early(plan: Plan) -> None:
    """The others go on to operations that this process does not come to."""
    _tell(plan)
    sys.exit(0)


_limited: list[contextlib.ExitStack] = []
"""What ends the limit of this process's memory, where it has one."""


def _limit(plan: Plan) -> None:
    _limited.append(contextlib.ExitStack())
    _limited[0].enter_context(FAILURES["limit"](Injection("limit", random.Random(plan.line))))


LOSSES: dict[str, Callable[[Plan], None]] = {
    "kill": _kill, "raise": _raise, "exit": _exit, "silent": _end_silently, "early": _stop_early, "limit": _limit}
"""How a process is lost."""

AT_ONCE = ("kill", "raise", "exit", "silent")
"""What does not wait for a process that is in code of its own; others are lost when they go on, or compare notes."""


def _sleep() -> None:
    time.sleep(AWAY_SECONDS)


def _multiply(product: Callable[[Any, Any], Any]) -> Callable[[], None]:
    def away() -> None:
        a = np.ones((2000, 2000))
        stop = time.monotonic() + AWAY_SECONDS
        while time.monotonic() < stop:
            product(a, a)
    return away


AWAY: dict[str, Callable[[], None]] = {
    "sleep": _sleep, "NumPy": _multiply(np.matmul),
    "BLAS": _multiply(lambda a, b: scipy.linalg.blas.dgemm(1.0, a, b)),  # which lets no other thread run
}
"""How a process is in code of its own."""

if __name__ == "__main__":
    main(sys.argv[1])
