"""What `pgaspy simulate` has to know of a machine, measured on all processes at once; see `simulating.machine`."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from statistics import median
from time import perf_counter, sleep
from typing import Any, NamedTuple

import numpy as np

import pgaspy as pg
from pgaspy.alone import small
from pgaspy.commands.network import Link, measure_ring
from pgaspy.execution import recording
from pgaspy.simulating.interpreter import MAX_NBYTES
from pgaspy.simulating.measuring import PassedThrough

__all__ = ["measure_parameters"]

SIZES = [1 << k for k in (18, 20, 22, 24, 26, 28)]
"""Bytes that a kernel works on, in one process."""

N_STATEMENTS, N_KERNELS, N_MESSAGES = 128, 64, 6
"""So many are executed together, often enough that their schedule is found again."""

SECONDS, MIN_REPEATED, MAX_REPEATED, N_WARMING = 0.4, 7, 1000, 5
"""How long and how often something is repeated, of which the least counts; and how often it is done before."""

N_POINTS = 150, 2048
"""Of a stencil: so many that it is recorded and compiled, and so few that the memory does not count."""

N_BYTES = 4 << 20
"""Of a long message."""

N_ELEMENTS, N_COMPUTATIONS = 1 << 14, 256
"""Of what is computed while it goes by, in some 20 microseconds each time; and how often without messages."""

N_SHORT, SECONDS_TO_ARRIVE = 100, 5e-4
"""Short messages; and how long to leave one alone, so that it is there."""

N_BYTES_OF_BURSTS, N_BURSTS, SECONDS_IDLE = (1, 1 << 12, 1 << 14, 1 << 16), 15, 2e-3
"""Of messages, some of which may pass at once; how many of each; and how long no other has gone by before."""


def measure_parameters(products: float) -> dict[str, Any] | None:
    """The machine's parameters, on rank 0. Collective. `products` are GFLOP/s of matrix products on this process."""
    link = measure_ring(min)
    interpreter = _seconds_of_interpreter()
    own = interpreter._asdict()
    del own["handing_over"]
    own |= {"flops": _flops(), "products": 1e9 * products}
    table = _memory_table()
    if link is not None:
        own |= _parameters_of_messages(link, interpreter)
    found = pg.COMM.gather((own, table))
    if found is None:
        return None
    means: dict[str, Any] = {name: median(values[name] for values, _ in found) for name in own}
    if link is not None:
        copying, wire = means.pop("seconds_per_byte_copied"), means.pop("seconds_per_byte")
        is_slow = wire > 2 * copying  # so that processors copy while it is busy, and else it is busy with their copies
        means |= {"copying": 1 / copying if copying else None, "bandwidth": 1 / wire if is_slow else None,
                  "burst": means["burst"] if is_slow else 0.0}
    means["threads"] = pg.THREADS
    means["memory"] = [[nbytes, median(values[k][1] for _, values in found)] for k, (nbytes, _) in enumerate(table)]
    return means


class _Seconds(NamedTuple):
    """The least seconds that statements take: to be recorded, to be executed, and in computations of the latter."""

    recording: float
    executing: float
    computing: float

    @property
    def total(self) -> float:
        """From the first statement to the end."""
        return self.recording + self.executing


@contextmanager
def _all_recorded() -> Iterator[None]:
    """Record statements, though they would be faster at once: how long recording takes is to be measured."""
    recording.queue.computes_at_once = False
    try:
        with small.passed_over():
            yield
    finally:
        del recording.queue.computes_at_once


@_all_recorded()
def _least(statements: Callable[[], object], between: Callable[[], object] = lambda: None) -> _Seconds:
    """Those of statements that are recorded, with which all processes begin together, after what is done between.
    Collective.
    """
    def take() -> tuple[float, ...]:
        before, start = pg.stats().seconds_computing, perf_counter()
        statements()
        recorded = perf_counter()
        pg.sync()
        return recorded - start, perf_counter() - recorded, pg.stats().seconds_computing - before

    for _ in range(N_WARMING):
        take()
    n = pg.COMM.bcast(min(max(int(SECONDS / sum(take()[:2])), MIN_REPEATED), MAX_REPEATED))
    times = []
    for _ in range(n):
        pg.COMM.Barrier()
        between()
        times.append(take())
    return _Seconds(*map(min, zip(*times, strict=True)))


class _Interpreter(NamedTuple):
    """What Python takes: see `Machine`. `handing_over` is the part of a statement that is not its recording."""

    statement: float
    flush: float
    kernel: float
    engine: float
    handing_over: float


def _fused(n: int) -> Callable[[], None]:
    """So many statements that share one kernel."""
    y = pg.zeros(8 * pg.SIZE)

    def statements() -> None:
        z = y
        for _ in range(n):
            z += 1.0

    return statements


def _seconds_of_interpreter() -> _Interpreter:
    """Of statements that share a kernel with others, and of some each of which has a kernel of its own. Collective."""
    arrays = [pg.zeros((8 + k) * pg.SIZE) for k in range(N_KERNELS)]
    sent, received = pg.zeros(pg.SIZE), pg.zeros(pg.SIZE)

    def kernels() -> None:
        received[1:] = sent[:-1]  # what has messages is not executed in order
        for x in arrays:
            x += 1.0

    one, many, each = _least(_fused(1)), _least(_fused(N_STATEMENTS)), _least(kernels)
    statement = max(many.total - one.total, 0.0) / (N_STATEMENTS - 1)
    handing_over = max(many.executing - one.executing, 0.0) / (N_STATEMENTS - 1)
    executing = max(each.executing - one.executing, 0.0) / N_KERNELS - handing_over
    kernel = max(max(each.total - one.total, 0.0) / N_KERNELS - statement, 0.0)
    return _Interpreter(statement, max(one.total - statement - kernel, 0.0), kernel,
                        max(executing - each.computing / N_KERNELS, 0.0), handing_over)


def _flops() -> float:
    """Operations per second of a five-point stencil along rows that are whole."""
    n_rows, n = N_POINTS
    x = pg.full((n_rows * pg.SIZE, n + 4), 0.5, layout=pg.Distribution("block", "*"))
    y = pg.empty_like(x[:, :n])

    def call() -> None:
        y[...] = 0.2 * (x[:, :n] + x[:, 1:n + 1] + x[:, 2:n + 2] + x[:, 3:n + 3] + x[:, 4:])

    return 5 * n_rows * n / _least(call).computing


def _memory_table() -> list[list[float]]:
    """(bytes, bytes per second) of `z[...] = x + y`: what is read and written, for arrays of so many bytes together."""
    return [*_speeds_of_memory()]


def _speeds_of_memory() -> Iterator[list[float]]:
    for nbytes in SIZES:
        n = nbytes // 24
        yield [float(nbytes), 24 * n / _seconds_of_adding(n)]


def _seconds_of_adding(n: int) -> float:
    x, y, z = (pg.ones(n * pg.SIZE) for _ in range(3))

    def add() -> None:
        z[...] = x + y

    return _least(add).computing


def _parameters_of_messages(link: Link, interpreter: _Interpreter) -> dict[str, float]:
    return {"latency": max(1e-6 * link.latency - _seconds_of_calls(), 0.0),
            "overhead": _seconds_of_messages(interpreter),
            "seconds_per_byte": 1e-9 / link.bandwidth, "seconds_per_byte_copied": _seconds_per_byte_copied(),
            "burst": _nbytes_at_once(1e-9 / link.bandwidth)}


def _neighbours() -> tuple[int, int]:
    """The ranks after this process's, and before it, in a ring."""
    return (pg.RANK + 1) % pg.SIZE, (pg.RANK - 1) % pg.SIZE


def _seconds_of_calls() -> float:
    """What the calls take by which a short message is sent, and received when it is there.

    T. Kielmann, H. Bal and K. Verstoep, *Fast Measurement of LogP Parameters for Message Passing Platforms*, 2000.
    """
    buffer, times = np.ones(1), []
    following, before = _neighbours()
    for _ in range(N_SHORT):
        pg.COMM.Barrier()
        start = perf_counter()
        pg.COMM.Send(buffer, following)
        sent = perf_counter()
        while (arrived := perf_counter()) - sent < SECONDS_TO_ARRIVE:
            pass
        pg.COMM.Recv(buffer, before)
        times.append(sent - start + perf_counter() - arrived)
    return min(times)


def _nbytes_at_once(seconds_per_byte: float) -> float:
    """What the link lets through at once when it was idle: the bytes for which a message takes less than for others."""
    following, before = _neighbours()
    least = []
    for nbytes in N_BYTES_OF_BURSTS:
        sent, received, times = np.ones(nbytes, np.uint8), np.ones(nbytes, np.uint8), []
        for _ in range(N_BURSTS):
            pg.COMM.Barrier()
            sleep(SECONDS_IDLE)
            start = perf_counter()
            pg.COMM.Sendrecv(sent, following, recvbuf=received, source=before)
            times.append(perf_counter() - start)
        least.append(min(times))
    return max(nbytes - (seconds - least[0]) / seconds_per_byte
               for nbytes, seconds in zip(N_BYTES_OF_BURSTS, least, strict=True))


def _seconds_of_messages(interpreter: _Interpreter) -> float:
    """What a short message takes of the processor at either end, with what the engine does for it.

    In a program they come after kernels, whose data has passed through the caches.
    """
    a, caches = pg.ones(pg.SIZE), PassedThrough(MAX_NBYTES)
    up, down = ([pg.zeros(pg.SIZE) for _ in range(N_MESSAGES)] for _ in range(2))

    def call() -> None:
        for x, y in zip(up, down, strict=True):  # each process sends one element to both neighbours
            x[1:] = a[:-1]
            y[:-1] = a[1:]

    n_ends = 4 if pg.SIZE > 2 else 2
    with_messages, without = (_least(statements, caches.pass_through).executing for statements in (call, _fused(1)))
    return max(with_messages - without - 2 * N_MESSAGES * interpreter.handing_over, 0.0) / (N_MESSAGES * n_ends)


def _seconds_per_byte_copied() -> float:
    """By how much computing takes longer while a long message goes to the next process, and one comes from the last.

    So what counts is the processor's time in calls of MPI, and that which the system takes for the network.
    """
    from mpi4py import MPI

    sent, received = np.ones(N_BYTES, np.uint8), np.ones(N_BYTES, np.uint8)
    x, y = np.ones(N_ELEMENTS), np.empty(N_ELEMENTS)
    following, before = _neighbours()
    comm, found = pg.COMM, []
    for _ in range(MIN_REPEATED):
        comm.Barrier()
        start = perf_counter()
        for _ in range(N_COMPUTATIONS):
            np.sqrt(x, out=y)
        seconds = (perf_counter() - start) / N_COMPUTATIONS
        comm.Barrier()
        start, n = perf_counter(), 0
        requests = [comm.Irecv(received, before), comm.Isend(sent, following)]
        while not MPI.Request.Testall(requests):
            np.sqrt(x, out=y)
            n += 1
        found.append(max(perf_counter() - start - n * seconds, 0.0))
    return median(found) / (2 * N_BYTES)
