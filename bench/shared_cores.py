"""Short statements with busy loops beside: those of two processes against themselves alone, and raw messages there;
those of the threads of one process against NumPy, which has one thread.

Each statement of two processes waits for a message, so that its time is that in which a process sees one. Those of one
process have a kernel each, which takes some tens of microseconds.
"""

from __future__ import annotations

from collections.abc import Callable
from statistics import median
from time import perf_counter
from typing import Any

import numpy as np
from mpi4py import MPI

import pgaspy as pg
from bench.jobs import exchange
from bench.programs import OF_SHORT_STATEMENTS
from bench.timing import Result, busy_loops, in_turns, report

NAME, N = "triangular solve by rows", 400
N_STATEMENTS = 4 * N
N_MESSAGES = 50_000
REPEATS = 5

N_OF_KERNEL, N_KERNELS = 500, 100
"""The extents of arrays of one process, and the statements that are timed together."""


def solve() -> float:
    """The seconds of a statement of the program, with arrays that are new and statements that are not."""
    program = OF_SHORT_STATEMENTS[NAME]
    arrays = [pg.array(operand) for operand in program.operands(N)]
    pg.COMM.Barrier()
    start = perf_counter()
    program.run(pg, *arrays)
    pg.sync()
    return (perf_counter() - start) / N_STATEMENTS


def send() -> float:
    """The seconds of an exchange of a number by mpi4py."""
    call = exchange(1, N_MESSAGES)
    MPI.COMM_WORLD.Barrier()
    start = perf_counter()
    call()
    return (perf_counter() - start) / N_MESSAGES


def add(a: Any, b: Any) -> None:
    """Add an array to another one, and read an element, so many times."""
    for _ in range(N_KERNELS):
        a += b
        float(a[0, 0])


def sum_up(a: Any, b: Any) -> None:
    """Sum up an array, so many times."""
    for _ in range(N_KERNELS):
        float(a.sum())


def of_one_process() -> list[Result]:
    """What kernels take, by all threads, with a busy loop for each of them."""
    arrays = np.random.default_rng(1).random((2, N_OF_KERNEL, N_OF_KERNEL))
    functions: dict[str, Callable[[Any, Any], None]] = {"A += B; A[0, 0]": add, "A.sum()": sum_up}
    found = []
    for name, function in functions.items():
        operands = [pg.array(x) for x in arrays]
        with busy_loops(pg.THREADS):
            times = in_turns(lambda: function(*operands), lambda: function(*arrays), repeats=REPEATS)  # noqa: B023
        ours, numpys = (1e6 * median(x) / N_KERNELS for x in times)
        found.append(Result(f"{name}, n = {N_OF_KERNEL}, {pg.THREADS} threads, as many busy loops", ours, "us", "NumPy",
                            numpys, numpys / ours))
    return found


def main() -> None:
    """Measure."""
    if pg.SIZE == 1:
        report(of_one_process())
        return
    solve()
    times: dict[str, list[float]] = {"alone": [], "beside": [], "messages": []}
    for _ in range(REPEATS):
        times["alone"].append(solve())
        with busy_loops(pg.THREADS):
            times["beside"].append(solve())
            times["messages"].append(send())
    if pg.RANK == 0:
        us = {name: 1e6 * median(found) for name, found in times.items()}
        name = f"{NAME}, a busy loop beside each process"
        report([Result(name, us["beside"], "us per statement", "alone", us["alone"], us["beside"] / us["alone"]),
                Result(name, us["beside"], "us per statement", "an exchange by mpi4py", us["messages"],
                       us["messages"] / us["beside"])])


if __name__ == "__main__":
    main()
