"""The matrix product on 2 processes with 1 thread each, against NumPy's with 2 threads, in turns."""

from __future__ import annotations

from statistics import median

import numpy as np
import threadpoolctl

import pgaspy as pg
from bench.timing import Result, alone, in_turns, ratio, report
from pgaspy.algorithms.summa import summa

N = 4000
GOALS = {"A @ B": 0.85, "algorithms.summa": 0.95}

N_ROWS, N_COLUMNS, GOAL_OF_LONG = 500_000, 3, 1
"""Of the normal equations of some long columns, whose rows lie on a grid of one axis; and their time over NumPy's."""


def main() -> None:
    """Measure."""
    rng = pg.random.default_rng(1)
    A, B, C = rng.random((N, N)), rng.random((N, N)), pg.zeros((N, N))
    a, b = A.gather(root=0), B.gather(root=0)

    def numpys() -> None:
        assert a is not None
        assert b is not None
        with threadpoolctl.threadpool_limits(pg.SIZE):
            np.matmul(a, b)

    *ours, numpy_times = in_turns(lambda: A @ B, lambda: summa(A, B, C),
                                  alone(numpys), repeats=7, before=pg.COMM.Barrier)
    gflop = 2 * N**3 / 1e9
    results = [Result(f"{name}, n = {N}, 2 processes x 1 thread", gflop / median(times), "GFLOP/s", "NumPy, 2 threads",
                      gflop / median(numpy_times), ratio(times, numpy_times), goal)
               for (name, goal), times in zip(GOALS.items(), ours, strict=True)]
    results += normal_equations(rng)
    if pg.RANK == 0:
        report(results)


def normal_equations(rng: pg.random.Generator) -> list[Result]:
    """The line of the table for a matrix of columns, and its transposed. Collective."""
    S = pg.column_stack([rng.random(N_ROWS) for _ in range(N_COLUMNS)])
    s = S.gather(root=0)

    def numpys() -> None:
        assert s is not None
        np.matmul(s.T, s)

    ours, numpy_times = in_turns(lambda: S.T @ S, alone(numpys), repeats=7, before=pg.COMM.Barrier)
    return [Result(f"S.T @ S, {N_ROWS} x {N_COLUMNS}, 2 processes x 1 thread", median(ours) * 1e3, "ms", "NumPy",
                   median(numpy_times) * 1e3, median(ours) / median(numpy_times), GOAL_OF_LONG, True)]


if __name__ == "__main__":
    main()
