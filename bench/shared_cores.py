"""Short statements on two processes, with a busy loop beside each: against themselves alone, and raw messages there.

Each statement waits for a message, so that its time is that in which a process sees one.
"""

from __future__ import annotations

from statistics import median
from time import perf_counter

from mpi4py import MPI

import pgaspy as pg
from bench.jobs import exchange
from bench.programs import OF_SHORT_STATEMENTS
from bench.timing import Result, busy_loops, report

NAME, N = "triangular solve by rows", 400
N_STATEMENTS = 4 * N
N_MESSAGES = 50_000
REPEATS = 5


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


def main() -> None:
    """Measure."""
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
