"""Times one of the examples in order and with latency hidden, NumPy, and what neither can be faster than, in turns."""

from __future__ import annotations

import importlib
import json
import sys
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from mpi4py import MPI
from threadpoolctl import threadpool_limits

import pgaspy as pg
from bench.jobs import exchange, hand_back, seconds_alone, seconds_and_waiting
from bench.papers.bounds import BOUNDS
from bench.papers.settings import grown
from bench.processes import ROOT
from pgaspy.execution import recording
from pgaspy.kernels import jit

sys.path.insert(0, str(ROOT / "examples"))
driver = importlib.import_module("_driver")

N_WARM_UPS = 2
"""Calls until all is planned, compiled and loaded."""


class Steps:
    """The numbers from 0 to n, of which a core has to take all: else its time says nothing."""

    def __init__(self, n: int) -> None:
        self.n, self.n_taken = n, 0

    def __len__(self) -> int:
        return self.n

    def __iter__(self) -> Iterator[int]:
        for step in range(self.n):
            self.n_taken = step + 1
            yield step

    def check(self) -> None:
        """Raise AssertionError where a core has ended early."""
        if self.n_taken != self.n:
            raise AssertionError(f"{self.n_taken} of {self.n} steps were taken")


class Aligned:
    """In the place of an array: each view of its inside is an array of its own, and all of them lie alike.

    They are NaN, so that nothing that is computed of them becomes small enough to end a program.
    """

    def __init__(self, full: Any) -> None:
        self._inside = full[1:-1, 1:-1]

    def __getitem__(self, key: Any) -> Any:
        return np.full_like(self._inside, np.nan)


class Job:
    """A program with a problem that has so many times the work of a size, and so many steps of it."""

    def __init__(self, name: str, size: int, times: int, steps: int, aligned: bool) -> None:
        self.ours, self.theirs = driver.load(name), driver.load(name, "numpy")
        self.name, self.steps, self.aligned = name, steps, aligned
        self.size = grown(self.ours.work, size, times)
        self.nbytes = 0

    def problem(self, program: Any) -> tuple[Any, ...]:
        """What the core of our program, or of NumPy's, takes."""
        problem = program.problem(self.size)
        return tuple(map(Aligned, problem)) if self.aligned else problem

    def call(self) -> dict[str, float]:
        """Time the core on a new problem. Collective."""
        problem, steps, results = self.problem(self.ours), Steps(self.steps), []
        pg.sync()
        before = pg.stats()
        seconds, shares = seconds_and_waiting(lambda: results.append(self.ours.core(*problem, steps)))  # kept: computed
        done = pg.stats() - before
        steps.check()
        assert shares is not None
        self.nbytes = MPI.COMM_WORLD.allreduce(max(done.nbytes_sent, done.nbytes_received), MPI.MAX)
        return {"seconds": seconds, "waiting": max(shares), "computing": done.seconds_computing,
                "planning": done.seconds_planning, "nbytes": self.nbytes}

    def overlapping(self, overlaps: bool) -> dict[str, float]:
        """Time the core with latency hidden, or in order. Collective."""
        if recording.queue.overlaps != overlaps:
            recording.queue.overlaps = overlaps  # which forgets what was planned
            for _ in range(N_WARM_UPS):
                self.call()
            jit.wait()
        return self.call()

    def numpy(self) -> dict[str, float]:
        """Time the same text with NumPy on one core, while the other processes sleep. Collective."""
        problem = self.problem(self.theirs) if pg.RANK == 0 else ()
        with threadpool_limits(1):
            return {"seconds": seconds_alone(lambda: self.theirs.core(*problem, range(self.steps)))}

    def link(self, n_reads: int) -> dict[str, float]:
        """Time what both processes send, by itself: a message of each for a step, and one for each value read."""
        calls = [exchange(max(self.nbytes // self.steps // 8, 1), self.steps), exchange(1, n_reads * self.steps)]
        halos, values = (seconds_and_waiting(call)[0] for call in calls)
        return {"seconds": halos if self.nbytes else 0.0, "values": values}

    def bound(self) -> dict[str, float]:
        """Time what no implementation goes without, on all cores of this process."""
        problem = self.theirs.problem(self.size)
        return {"seconds": BOUNDS[self.name].seconds(problem, self.steps)}

    def check(self) -> None:
        """Raise AssertionError if the program gives anything wrong. Collective."""
        result = self.ours.core(*self.ours.problem(self.size), range(self.steps))
        found = self.ours.checks(result, self.size, self.steps)
        if wrong := {name: pair for name, pair in found.items() if not pair[0] <= pair[1]}:
            raise AssertionError(f"{self.name} is wrong: {wrong}")


def main(name: str, size: int, steps: int, ways: list[str], repeats: int, times: int = 1, n_reads: int = 0,
         alone: bool = False, aligned: bool = False) -> None:
    """Measure in these ways, of `Job`, in turns; hand back per way and figure what each turn has found.

    Parameters
    ----------
    times
        How many times the work of that size the problem has.
    n_reads
        How many values each step reads.
    alone
        Whether each process has a problem of its own, and nothing travels.
    aligned
        Whether the views of the program are arrays of their own.
    """
    if alone:
        pg.init(MPI.COMM_SELF)
    job = Job(name, size, times, steps, aligned)
    measures: dict[str, Callable[[], dict[str, float]]] = {
        "hidden": lambda: job.overlapping(True), "in order": lambda: job.overlapping(False),
        "NumPy": job.numpy, "link": lambda: job.link(n_reads), "bound": job.bound}
    if not aligned:
        job.check()
    jit.wait()
    found: dict[str, list[dict[str, float]]] = {way: [] for way in ways}
    for turn in range(repeats + 1):
        for way in ways:
            figures = measures[way]()
            if turn:
                found[way].append(figures)
    hand_back({way: {key: [figures[key] for figures in turns] for key in turns[0]} for way, turns in found.items()})


if __name__ == "__main__":
    main(**json.loads(sys.argv[1]))
