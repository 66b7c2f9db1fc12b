"""How fast messages are: each process measures those to the next one, the last those to the first."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from time import perf_counter
from typing import Any

import numpy as np

import pgaspy as pg

__all__ = ["Link", "measure_ring", "ring_phases"]

SHORT, N_SHORT = 1, 200
LONG, N_LONG = 1 << 20, 8
"""float64 elements of a message, and how often it goes to and fro."""


@dataclass(frozen=True)
class Link:
    """Messages from this process to the next one: microseconds of a short one, GB/s of a long one."""

    latency: float
    bandwidth: float


def ring_phases(size: int) -> list[list[int]]:
    """Each rank once, in phases: the pairs (rank, rank + 1) of a phase have no process in common.

    >>> ring_phases(4), ring_phases(5)
    ([[0, 2], [1, 3]], [[0, 2], [1, 3], [4]])
    """
    even = size - size % 2
    return [ranks for ranks in ([*range(0, even, 2)], [*range(1, even, 2)], [*range(even, size)]) if ranks]


def measure_ring(of_times: Callable[[list[float]], Any] = np.median) -> Link | None:
    """The link to the next process; None where there is one process. Collective; half of all links work at a time.

    `of_times` is which of several times counts.
    """
    if pg.SIZE == 1:
        return None
    own = None
    for phase in range(len(ring_phases(pg.SIZE))):
        pg.COMM.Barrier()
        if phase == _phase(pg.RANK):
            own = _ping((pg.RANK + 1) % pg.SIZE, of_times)
        elif phase == _phase((pg.RANK - 1) % pg.SIZE):
            _pong((pg.RANK - 1) % pg.SIZE)
    return own


def _phase(rank: int) -> int:
    """In which phase a rank measures its link."""
    return 2 if rank == pg.SIZE - pg.SIZE % 2 else rank % 2


def _ping(peer: int, of_times: Callable[[list[float]], Any]) -> Link:
    seconds = []
    for n, n_times in ((SHORT, N_SHORT), (LONG, N_LONG)):
        buffer, times = np.ones(n), []
        for _ in range(n_times):
            start = perf_counter()
            pg.COMM.Send(buffer, peer)
            pg.COMM.Recv(buffer, peer)
            times.append((perf_counter() - start) / 2)
        seconds.append(float(of_times(times)))
    return Link(1e6 * seconds[0], 8e-9 * LONG / seconds[1])


def _pong(peer: int) -> None:
    for n, n_times in ((SHORT, N_SHORT), (LONG, N_LONG)):
        buffer = np.ones(n)
        for _ in range(n_times):
            pg.COMM.Recv(buffer, peer)
            pg.COMM.Send(buffer, peer)
