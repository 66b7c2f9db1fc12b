"""Measuring side by side: on a noisy machine only the ratio of neighbours means something."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from statistics import median
from time import perf_counter, sleep
from typing import Any

__all__ = ["NOTE", "RESULT", "Result", "alone", "busy_loops", "in_turns", "note", "ratio", "report", "seconds_per_call",
           "table"]

RESULT, NOTE = "RESULT ", "NOTE "
"""How the lines begin that a benchmark prints for the program that makes the table."""


@dataclass(frozen=True)
class Result:
    """One line of the table: what was measured, of us and of the rival, and the ratio that is asked for.

    `ratio` is the rival's time over ours (above 1: we are faster), where there is a rival. `goal` is the least
    ratio or, where there is none, the largest value that is wanted; None where the figure stands for itself.

    With `at_most` the rival is a limit that cannot be beaten: `ratio` is our time over it, `goal` the largest wanted.
    """

    name: str
    value: float
    unit: str
    rival: str = ""
    rival_value: float | None = None
    ratio: float | None = None
    goal: float | None = None
    at_most: bool = False

    @property
    def compared(self) -> str:
        """The ratio in words; empty without one."""
        if self.ratio is None:
            return ""
        return f"{self.ratio:.2f} times {'its time' if self.at_most else 'as fast'}"

    @property
    def wanted(self) -> str:
        """The goal in words; empty without one."""
        if self.goal is None:
            return ""
        return f"at {'least' if self._wants_more else 'most'} {self.goal:g}"

    @property
    def reached(self) -> bool | None:
        """Whether the goal is reached; None without one."""
        if self.goal is None:
            return None
        found = self.value if self.ratio is None else self.ratio
        return found >= self.goal if self._wants_more else found <= self.goal

    @property
    def _wants_more(self) -> bool:
        return self.ratio is not None and not self.at_most


@contextmanager
def busy_loops(n: int) -> Iterator[None]:
    """So many programs beside that do nothing, all the time."""
    loops = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(n)]
    try:
        yield
    finally:
        for loop in loops:
            loop.kill()
            loop.wait()


def in_turns(*functions: Callable[[], Any], repeats: int = 9, before: Callable[[], Any] | None = None) -> list[
        list[float]]:
    """The seconds that each function takes, called in turns, after one call of each that is not counted.

    `before` is called before each of them, unmeasured: a barrier, for instance. What a function records is executed
    before its time is taken, while its result is still held.
    """
    import pgaspy as pg  # here, as the program that makes the table is no part of a job
    from pgaspy.kernels import jit

    times: list[list[float]] = [[] for _ in functions]
    for round_ in range(repeats + 1):
        for function, record in zip(functions, times, strict=True):
            if before is not None:
                before()
            start = perf_counter()
            result = function()
            pg.sync()
            if round_:
                record.append(perf_counter() - start)
            else:
                jit.wait()
            del result
    return times


def alone(function: Callable[[], Any]) -> Callable[[], None]:
    """A call of a function on rank 0, collective; the others sleep until it is done, and leave their cores alone."""
    import pgaspy as pg

    def call() -> None:
        if pg.RANK == 0:
            function()
        done = pg.COMM.Ibarrier()
        while not done.Test():
            sleep(0.001)
    return call


def ratio(ours: list[float], rivals: list[float]) -> float:
    """The median over the turns of the rival's time over ours."""
    return median(r / o for o, r in zip(ours, rivals, strict=True))


def seconds_per_call(function: Callable[[], Any], n: int = 2000, repeats: int = 7) -> float:
    """The median over the repeats of the mean time of n calls, until all that they record is executed."""
    import pgaspy as pg

    function()
    means = []
    for _ in range(repeats):
        start = perf_counter()
        for _ in range(n):
            function()
        pg.sync()
        means.append((perf_counter() - start) / n)
    return median(means)


def report(results: list[Result]) -> None:
    """Hand results to the program that makes the table, as lines of JSON."""
    for result in results:
        print(RESULT + json.dumps(asdict(result)), flush=True)


def note(text: str) -> None:
    """Tell, beside the table, what could not be measured here and why."""
    print(NOTE + " ".join(text.split()), flush=True)


def table(title: str, header: list[str], rows: list[list[str]]) -> None:
    """Show a table beside that of results."""
    from tabulate import tabulate

    for line in [title, *tabulate(rows, header, disable_numparse=True).splitlines(), ""]:
        print(NOTE + line, flush=True)
