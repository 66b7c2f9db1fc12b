"""What `pgaspy simulate` has to know of a machine, measured on all processes at once; see `simulating.machine`."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from statistics import median
from time import perf_counter
from typing import Any

import numpy as np
from numpy.typing import NDArray

import pgaspy as pg
from pgaspy.commands.network import Link

__all__ = ["measure_parameters"]

SIZES = [1 << k for k in (18, 20, 22, 24, 26, 28)]
"""Bytes that a kernel works on, in one process."""

N_STATEMENTS, N_TASKS, N_MESSAGES = 128, 64, 32
"""So many are executed together, often enough that they are recorded and their schedule is found again."""

SECONDS, MIN_REPEATED, MAX_REPEATED, N_WARMING = 0.4, 7, 1000, 5
"""How long and how often something is repeated, of which the least counts; and how often it is done before."""

N_BYTES = 4 << 20
"""Of a long message."""

SECONDS_BETWEEN_TESTS = 1e-4


def measure_parameters(products: float, link: Link | None) -> dict[str, Any] | None:
    """The machine's parameters, on rank 0. Collective.

    `products` are GFLOP/s of matrix products on this process; `link` is its link to the next one, if there is one.
    """
    statement = _seconds_of_statements()
    kernel = max(_seconds_of_tasks() - statement, 0.0)
    own: dict[str, Any] = {"flops": _flops(), "products": 1e9 * products, "kernel": kernel, "statement": statement}
    table = _memory_table()
    if link is not None:
        own |= _parameters_of_messages(link, statement)
    found = pg.COMM.gather((own, table))
    if found is None:
        return None
    means: dict[str, Any] = {name: median(values[name] for values, _ in found) for name in own}
    if link is not None:
        copying = means.pop("seconds_per_byte_copied")
        wire = means.pop("seconds_per_byte") - 2 * copying
        means |= {"copying": 1 / copying if copying else None, "bandwidth": 1 / wire if wire > 0 else None}
    means["threads"] = pg.THREADS
    means["memory"] = [[nbytes, median(values[k][1] for _, values in found)] for k, (nbytes, _) in enumerate(table)]
    return means


def _least(call: Callable[[], object]) -> float:
    """The least seconds of a call, which all processes begin together. Collective."""
    for _ in range(N_WARMING):
        call()
    start = perf_counter()
    call()
    n = pg.COMM.bcast(min(max(int(SECONDS / (perf_counter() - start)), MIN_REPEATED), MAX_REPEATED))
    times = []
    for _ in range(n):
        pg.COMM.Barrier()
        start = perf_counter()
        call()
        times.append(perf_counter() - start)
    return min(times)


def _seconds_of_statements() -> float:
    """What it takes to record a statement that shares a kernel with others."""
    y = pg.zeros(8 * pg.SIZE)

    def call() -> None:
        z = y
        for _ in range(N_STATEMENTS):
            z += 1.0
        pg.sync()

    return _least(call) / N_STATEMENTS


def _seconds_of_tasks() -> float:
    """What it takes to record a task, and to call a function that does nothing."""
    y = pg.zeros(8 * pg.SIZE)

    def call() -> None:
        for _ in range(N_TASKS):
            pg.schedule(_nothing, pg.update(y))
        pg.sync()

    return _least(call) / N_TASKS


def _nothing(part: NDArray[Any]) -> None:
    """Do nothing."""


def _flops() -> float:
    """Additions and products per second of a kernel whose arrays lie in the cache."""
    times = {}
    for n in 1 << 10, 1 << 14:
        x, y = pg.full(n * pg.SIZE, 0.5), pg.empty(n * pg.SIZE)

        def call(x: Any = x, y: Any = y) -> None:
            z = x
            for _ in range(8):
                z = z * 0.5 + x
            y[...] = z
            pg.sync()

        times[n] = _least(call)
    few, many = times
    return 16 * (many - few) / max(times[many] - times[few], 1e-9)


def _memory_table() -> list[list[float]]:
    """(bytes, bytes per second) of `z[...] = x + y`: what is read and written, for arrays of so many bytes together."""
    return [*_speeds_of_memory()]


def _speeds_of_memory() -> Iterator[list[float]]:
    start = _seconds_of_adding(8)
    for nbytes in SIZES:
        seconds = max(_seconds_of_adding(nbytes // 24) - start, 1e-9)
        yield [float(nbytes), nbytes // 24 * 24 / seconds]


def _seconds_of_adding(n: int) -> float:
    x, y, z = (pg.ones(n * pg.SIZE) for _ in range(3))

    def add() -> None:
        z[...] = x + y
        pg.sync()

    return _least(add)


def _parameters_of_messages(link: Link, statement: float) -> dict[str, float]:
    copied = _seconds_per_byte_copied()
    return {"latency": 1e-6 * link.latency, "overhead": _seconds_of_messages(statement),
            "seconds_per_byte": 1e-9 / link.bandwidth, "seconds_per_byte_copied": copied}


def _seconds_of_messages(statement: float) -> float:
    """What a short message takes of the processor at either end, with what the engine does for it."""
    a = pg.ones(pg.SIZE)
    up, down = ([pg.zeros(pg.SIZE) for _ in range(N_MESSAGES)] for _ in range(2))

    def call() -> None:
        for x, y in zip(up, down, strict=True):  # each process sends one element to both neighbours
            x[1:] = a[:-1]
            y[:-1] = a[1:]
        pg.sync()

    n_ends = 4 if pg.SIZE > 2 else 2
    return max(_least(call) / N_MESSAGES - 2 * statement, 0.0) / n_ends


def _seconds_per_byte_copied() -> float:
    """The time in calls of MPI while a long message goes to the next process, and one comes from the one before."""
    from mpi4py import MPI

    sent, received = np.ones(N_BYTES, np.uint8), np.ones(N_BYTES, np.uint8)
    following, before = (pg.RANK + 1) % pg.SIZE, (pg.RANK - 1) % pg.SIZE
    comm, found = pg.COMM, []
    for _ in range(MIN_REPEATED):
        comm.Barrier()
        spent = n_tests = 0.0
        start = perf_counter()
        requests = [comm.Irecv(received, before), comm.Isend(sent, following)]
        spent += perf_counter() - start
        idle, is_done = _seconds_of_test(comm), False
        while not is_done:
            start = perf_counter()
            is_done = MPI.Request.Testall(requests)
            spent += perf_counter() - start - idle
            n_tests += 1
            while not is_done and perf_counter() - start < SECONDS_BETWEEN_TESTS:
                pass
        found.append(max(spent, 0.0))
    return min(found) / (2 * N_BYTES)


def _seconds_of_test(comm: Any) -> float:
    """What a test takes that has nothing to do."""
    start = perf_counter()
    for _ in range(16):
        comm.Iprobe(pg.RANK, 4711)
    return (perf_counter() - start) / 16
