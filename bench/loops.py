"""Loops on fresh arrays, wherever they are cut: against a sync in each step, NumPy, and the in-order executor.

A loop that is found again takes no longer than one that is executed step by step, and each of its statements is planned
a few times in all. Kernels are compiled meanwhile. On 2 processes the last is lattice Boltzmann in three dimensions.
"""

from __future__ import annotations

from itertools import count
from statistics import median
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

import pgaspy as pg
from bench.jobs import seconds_alone, seconds_and_waiting
from bench.programs import OF_SLICES
from bench.timing import Result, report
from pgaspy.execution import recording
from pgaspy.execution.loops import LONG, SHORT, SHORT_SECONDS

LOOPS = {3: 1000, 81: 40, 300: 12, 521: 10, 2000: 8}
"""Per number of operations in a step, how many steps."""

EXTENTS = {32: 2000, 192: 300}
"""Of the arrays in two dimensions, or a few more, so that nothing of a loop was seen before: with few elements, all is
done at once, and with many it is recorded. And the most operations in a step with such arrays.
"""

GOAL_SYNCED = 1.1
"""The time of a loop over that of the same with a sync in each step."""

GOAL_PLANNED = 4.0
GOAL_SECONDS_PLANNING = 0.5
GOAL_NUMPY = 1.0

N_TURNS = 5
"""How often what is compared is measured."""

N, N_STEPS = 32, 30
"""Of lattice Boltzmann: points in each dimension, and steps, which are made once more before they are measured."""

BAND_EXTENT, N_BANDS = 400, 60
"""Of the arrays of which masks select, and the steps on them."""


class Loop(NamedTuple):
    """So many operations in each of so many steps; what is done at the end of each."""

    n_operations: int
    n_steps: int
    reads: bool = False
    syncs: bool = False

    def start(self, extent: int) -> NDArray[Any]:
        """The first array."""
        return np.random.default_rng(1).random(((self.n_operations - 1) // 2, extent, extent))

    def run(self, xp: Any, f: Any) -> None:
        """Do it on arrays of a module."""
        for _ in range(self.n_steps):
            f = self.step(xp, f)
            if self.reads:
                float(f[0, 0, 0])
            if self.syncs:
                pg.sync()

    def step(self, xp: Any, f: Any) -> Any:
        """What follows f, by two operations for each of its rows, and one or two more."""
        largest = f.max(axis=0)
        if self.n_operations % 2 == 0:
            largest = 0.5 * largest
        g = xp.empty_like(f)
        for k in range(len(f)):
            g[k] = largest - f[k - 1]
        return g


def measure(loop: Loop, extent: int) -> tuple[float, float]:
    """The seconds of a loop, and how often each statement is planned in the mean. Collective.

    Pieces of a loop have so many operations at least that those of a short one are several iterations, planned once;
    and after some time once more, in longer ones.
    """
    f = pg.array(loop.start(extent))
    pg.sync()
    before = pg.stats()
    seconds = seconds_and_waiting(loop.run, pg, f)[0]
    done = pg.stats() - before
    return seconds, done.n_operations_planned / max(
        done.n_recorded / loop.n_steps, LONG if seconds > SHORT_SECONDS else SHORT)


def results_of(loop: Loop, extent: int) -> list[Result]:
    """The lines of the table for a loop, with arrays of an extent or a few more. Collective.

    The two that are compared are measured in turns, after a first one: that finds less in memory than what follows.
    """
    extents = count(extent)
    _, n_planned = measure(loop, next(extents))
    both = [[measure(one, next(extents))[0] for one in (loop, loop._replace(syncs=True))] for _ in range(N_TURNS)]
    seconds, synced = map(median, zip(*both, strict=True))
    recording.queue.overlaps = False
    in_order, _ = measure(loop, next(extents))
    recording.queue.overlaps = True
    numpy = seconds_alone(loop.run, np, loop.start(extent))
    name = (f"loop, {loop.n_operations} operations on {extent}^2 in each of {loop.n_steps} steps"
            f"{', a value read' * loop.reads}, {pg.SIZE} process(es)")
    return [
        Result(name, seconds, "s", "synced", synced, seconds / synced, GOAL_SYNCED, at_most=True),
        Result(name, seconds, "s", "in order", in_order, in_order / seconds),
        Result(name, seconds, "s", "NumPy", numpy, numpy / seconds),
        Result(f"{name}: each statement planned", n_planned, "times", goal=GOAL_PLANNED),
    ]


def band_means(xp: Any, u: Any) -> Any:
    """Steps of heat, and after each the mean of what lies in a band: of what a mask selects, which is new each time."""
    for _ in range(N_BANDS):
        for _ in range(4):
            u[1:-1, 1:-1] += 0.1 * (u[:-2, 1:-1] + u[2:, 1:-1] + u[1:-1, :-2] + u[1:-1, 2:] - 4 * u[1:-1, 1:-1])
        float(abs(u[abs(u - 0.5) < 0.1] - 0.5).mean())
    return u


def with_masks() -> list[Result]:
    """The lines of the table for these steps: of most of what is recorded, a step has what others have. Collective."""
    start = np.random.default_rng(1).random((BAND_EXTENT, BAND_EXTENT))
    u = pg.array(start)
    pg.sync()
    before = pg.stats()
    seconds = seconds_and_waiting(band_means, pg, u)[0]
    done = pg.stats() - before
    numpy = seconds_alone(band_means, np, start.copy())
    name = f"{N_BANDS} steps with the mean of what a mask selects, {pg.SIZE} process(es)"
    return [Result(name, seconds, "s", "NumPy", numpy, numpy / seconds),
            Result(f"{name}: each statement planned", done.n_operations_planned / (done.n_recorded / N_BANDS), "times",
                   goal=GOAL_PLANNED)]


def lattice_boltzmann() -> list[Result]:
    """The lines of the table for the program: the planning of all its steps, and the time of later ones. Collective."""
    program = OF_SLICES["lattice Boltzmann"]
    populations, = program.operands(N)
    f = pg.stack([pg.array(field) for field in populations])
    before, times = pg.stats(), []

    def steps() -> None:
        nonlocal f
        f = program.run(pg, f, N_STEPS)

    for _ in range(N_TURNS + 1):
        times.append(seconds_and_waiting(steps)[0])
    planning = (pg.stats() - before).seconds_planning
    seconds, numpy = median(times[1:]), seconds_alone(program.run, np, populations, N_STEPS)
    name = f"lattice Boltzmann, {N}^3, 2 processes"
    return [Result(f"{name}: planning", planning, "s", goal=GOAL_SECONDS_PLANNING),
            Result(f"{name}: the first {N_STEPS} steps", times[0], "s"),
            Result(f"{name}: as many later ones", seconds, "s", "NumPy", numpy, numpy / seconds, GOAL_NUMPY)]


def main() -> None:
    """Measure."""
    results = [result for extent, most in EXTENTS.items() for n_operations, n_steps in LOOPS.items()
               if n_operations <= most for reads in (False, True)
               for result in results_of(Loop(n_operations, n_steps, reads), extent)]
    results += with_masks()
    if pg.SIZE == 2:
        results += lattice_boltzmann()
    if pg.RANK == 0:
        report(results)


if __name__ == "__main__":
    main()
