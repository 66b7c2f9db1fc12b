"""What statements cost that were never made before: against NumPy, and the in-order executor.

Their kernels are there, but each has other extents than all before it. The steps of the interpreter that they take on
rank 0 are counted, too. What is recorded is executed when it is much, and at the end; how much is recorded before that
is varied for statements on the rows of one array.
"""

from __future__ import annotations

import gc
from collections.abc import Iterator
from itertools import count
from statistics import median
from typing import Any

import numpy as np
from numpy.typing import NDArray

import pgaspy as pg
from bench.jobs import seconds_alone, seconds_and_waiting
from bench.statements import STATEMENTS, Statement
from bench.steps import n_steps
from bench.timing import Result, report
from pgaspy.execution import recording

NUMBERS = range(1, 301)
"""Of the statements of a kind, in arrays with 400 rows and columns or a few more."""

COUNTED = NUMBERS[::10]
"""Those whose steps are counted, which takes long."""

N_TURNS = 5
"""Besides the one in which kernels are compiled."""

FLUSHES = (16, 64, 256, 1024)
"""Statements that are recorded before they are executed."""

GOAL_GROWTH = 1.5
"""The cost of a statement, with most of them recorded before a flush over fewest."""

Times = dict[str, list[float]]


def matrix(n: int) -> NDArray[Any]:
    """One whose elements stay small."""
    return np.random.default_rng(1).random((n, n)) / n


def do(statement: Statement, A: Any, numbers: range) -> None:
    """One kind of statement for so many numbers."""
    for k in numbers:
        statement.do(A, k)


def measure(statement: Statement, extents: Iterator[int]) -> Times:
    """The seconds per statement of each turn but the first, in which kernels are compiled. Collective.

    Garbage is collected before what is measured, as what the executors leave is of no account to one another.
    """
    times: Times = {}
    for _ in range(N_TURNS + 1):
        for executor in ("", ", in order"):
            recording.queue.overlaps = not executor
            A = pg.array(matrix(next(extents)))
            for name in ("first", "again"):
                gc.collect()
                times.setdefault(name + executor, []).append(seconds_and_waiting(do, statement, A, NUMBERS)[0])
        times.setdefault("NumPy", []).append(seconds_alone(do, statement, matrix(len(A)), NUMBERS))
    recording.queue.overlaps = True
    return {name: [seconds / len(NUMBERS) for seconds in found[1:]] for name, found in times.items()}


def steps(statement: Statement, n: int) -> tuple[float, float]:
    """The interpreter's steps per statement on a new array with n rows: for the first time, and again. Collective."""
    A = pg.array(matrix(n))
    first, again = (n_steps(lambda: do(statement, A, COUNTED)) / len(COUNTED) for _ in range(2))
    return first, again


def results_of(statement: Statement, extents: Iterator[int]) -> list[Result]:
    """The lines of the table for a kind of statement. Collective."""
    name = f"{statement.text}, {pg.SIZE} process(es)"
    us = {key: median(seconds) * 1e6 for key, seconds in measure(statement, extents).items()}
    first, again = steps(statement, next(extents))
    return [
        Result(f"{name}, first time", us["first"], "us", "NumPy", us["NumPy"], goal=statement.goals[pg.SIZE]),
        Result(f"{name}, first time", us["first"], "us", "in order", us["first, in order"],
               us["first, in order"] / us["first"]),
        Result(f"{name}, again", us["again"], "us", "in order", us["again, in order"],
               us["again, in order"] / us["again"]),
        Result(f"{name}, first time", first, "steps", "again", again),
    ]


def scale_rows(A: Any, n_recorded: int) -> None:
    """A statement on each row, executed when so many are recorded."""
    for k in range(len(A)):
        A[k] *= 0.5
        if (k + 1) % n_recorded == 0:
            pg.sync()


def by_flush(extents: Iterator[int]) -> list[Result]:
    """The lines of the table for statements of which more and more are recorded before a flush. Collective."""
    n_rows = max(FLUSHES)
    recording.queue.max_operations = n_rows + 1
    times: dict[int, list[float]] = {n: [] for n in FLUSHES}
    for _ in range(N_TURNS):
        for n, found in times.items():
            A = pg.array(np.ones((n_rows, next(extents))))
            found.append(seconds_and_waiting(scale_rows, A, n)[0] / n_rows)
    name = f"A[i] *= s, {pg.SIZE} process(es), first time"
    growth = median(most / least for most, least in zip(times[FLUSHES[-1]], times[FLUSHES[0]], strict=True))
    return [*(Result(f"{name}, {n} in a flush", median(found) * 1e6, "us") for n, found in times.items()),
            Result(f"{name}, {FLUSHES[-1]} in a flush over {FLUSHES[0]}", growth, "", goal=GOAL_GROWTH)]


def main() -> None:
    """Measure."""
    extents = count(400)
    results = [result for statement in STATEMENTS.values() for result in results_of(statement, extents)]
    results += by_flush(extents)
    if pg.RANK == 0:
        report(results)


if __name__ == "__main__":
    main()
