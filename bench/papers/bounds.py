"""What a program cannot go without, on all cores of a process: its memory traffic, or a routine of NumPy.

Nothing of that is pgaspy's but the number of threads.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from time import perf_counter
from typing import Any

import numpy as np

from bench.reference import stream_add

__all__ = ["BOUNDS", "Bound"]

N = 4_000_000
"""Elements of each array of STREAM: more than caches hold."""

Problem = tuple[Any, ...]


@dataclass(frozen=True)
class Bound:
    """What bounds a program, by name, and the seconds that it takes for a problem and so many steps."""

    name: str
    seconds: Callable[[Problem, int], float]


def by_stream(nbytes_per_step: Callable[[Problem], int]) -> Bound:
    """The bytes that have to be moved between the memory and the cores in a step, as fast as STREAM moves them."""
    return Bound("STREAM", lambda problem, steps: nbytes_per_step(problem) * steps * _seconds_per_byte())


def _seconds_per_byte() -> float:
    x, y, z = np.ones(N), np.ones(N), np.empty(N)
    add = stream_add(x, y, z)
    add()
    start = perf_counter()
    for _ in range(3):
        add()
    return (perf_counter() - start) / 3 / (3 * x.nbytes)


def _seconds_of_partition(problem: Problem, steps: int) -> float:
    """The time of partition for all rows, of which each of two cores has half."""
    import pgaspy as pg

    points, queries = problem
    rows = np.random.default_rng(1).random((max(queries.shape[1] // steps, 1), points.shape[1]))
    start = perf_counter()
    np.partition(rows, 3, axis=1)
    return (perf_counter() - start) * queries.shape[1] / len(rows) / pg.THREADS


BOUNDS: Mapping[str, Bound] = {
    # each matrix is written once and read once: the products of positions, and the pull
    "n_body": by_stream(lambda problem: 4 * len(problem[0])**2 * 8),
    "knn": Bound("NumPy's partition", _seconds_of_partition),
    "jacobi": by_stream(lambda problem: problem[0].nbytes),
    # cells are read and written
    "jacobi_stencil": by_stream(lambda problem: 2 * problem[0].nbytes),
}
