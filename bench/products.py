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
    if pg.RANK == 0:
        report(results)


if __name__ == "__main__":
    main()
