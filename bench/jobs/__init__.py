"""Programs that benchmarks start as jobs of their own, most of them on two hosts by `bench.link`; what they share."""

from __future__ import annotations

import json
from collections.abc import Callable
from time import perf_counter
from typing import Any

import numpy as np
from mpi4py import MPI

import pgaspy as pg
from bench.timing import alone

__all__ = ["Shares", "exchange", "hand_back", "seconds_alone", "seconds_and_waiting", "square_blocks"]

Shares = tuple[float, float]
"""Of the time that a process spends waiting: that of the one with the smallest, and of the one with the largest."""


def hand_back(found: Any) -> None:
    """Hand the figures of rank 0 to the program that started the job: its last line."""
    if MPI.COMM_WORLD.rank == 0:
        print(json.dumps(found), flush=True)


def exchange(n: int, n_times: int = 1) -> Callable[[], None]:
    """Both processes send each other n float64 at once, by mpi4py alone, one such exchange after the other."""
    comm, send, receive = MPI.COMM_WORLD, np.ones(n), np.empty(n)

    def call() -> None:
        for _ in range(n_times):
            receiving = comm.Irecv(receive, 1 - comm.rank)
            sending = comm.Isend(send, 1 - comm.rank)
            receiving.Wait()
            sending.Wait()
    return call


def seconds_and_waiting(function: Callable[..., Any], *arguments: Any) -> tuple[float, Shares | None]:
    """The seconds of a call, with all that it records, on the slowest process; and the shares of them spent waiting.

    Shares are None where the runtime does not count them. Collective.
    """
    comm = MPI.COMM_WORLD
    pg.sync()
    comm.Barrier()
    before, start = _seconds_waiting(), perf_counter()
    function(*arguments)
    pg.sync()
    seconds, after = perf_counter() - start, _seconds_waiting()
    if before is None or after is None:
        return comm.allreduce(seconds, MPI.MAX), None
    share = (after - before) / seconds
    return comm.allreduce(seconds, MPI.MAX), (comm.allreduce(share, MPI.MIN), comm.allreduce(share, MPI.MAX))


def seconds_alone(function: Callable[..., Any], *arguments: Any) -> float:
    """The seconds of a call that records nothing, on rank 0, while the others sleep; 0 on these. Collective."""
    seconds = 0.0

    def call() -> None:
        nonlocal seconds
        start = perf_counter()
        function(*arguments)
        seconds = perf_counter() - start
    alone(call)()
    return seconds


def _seconds_waiting() -> float | None:
    stats = getattr(pg, "stats", None)
    return getattr(stats(), "seconds_waiting", None) if stats is not None else None


def square_blocks(job: str, block: int | None) -> pg.Distribution | None:
    """How a factorisation's matrix is dealt out: one row of processes, one column for Cholesky; None without blocks."""
    grid = (pg.SIZE, 1) if job == "potrf" else (1, pg.SIZE)
    return pg.Distribution(f"cyclic({block})", f"cyclic({block})", grid=grid) if block else None
