"""Running sums and the like, on 2 threads, or 2 processes: against NumPy, and against plain C (STREAM)."""

from __future__ import annotations

from functools import partial
from statistics import median

import numpy as np

import pgaspy as pg
from bench.reference import stream_add
from bench.timing import Result, alone, in_turns, ratio, report

N = 20_000_000
GOAL = 1.6


def against_numpy(name: str, shape: tuple[int, ...], axis: int, dtype: str, ufunc: np.ufunc = np.add) -> Result:
    """A scan of an array of a shape, which NumPy does on one process."""
    A, barrier = pg.ones(shape, dtype), pg.COMM.Barrier
    x = np.ones(shape if pg.RANK == 0 else (1,) * len(shape), dtype)
    ours, numpys = in_turns(partial(ufunc.accumulate, A, axis), alone(partial(ufunc.accumulate, x, axis)), repeats=5,
                            before=barrier)
    return Result(f"{name} on {pg.SIZE} x {pg.THREADS}", A.size / median(ours) / 1e9, "G elements/s", "NumPy",
                  A.size / median(numpys) / 1e9, ratio(ours, numpys), GOAL)


def against_stream() -> Result:
    """The running sum, against an addition in C of three arrays of as many elements in all processes together."""
    A = pg.ones(N)
    x, y, z = (np.ones(N // pg.SIZE) for _ in range(3))
    ours, c = in_turns(A.cumsum, stream_add(x, y, z), repeats=7, before=pg.COMM.Barrier)
    return Result(f"cumsum on {pg.SIZE} x {pg.THREADS}", 16e-9 * N / median(ours), "GB/s", "C + OpenMP, add",
                  24e-9 * N / median(c), ratio(ours, c))


def difference() -> Result:
    """Differences of neighbours, which are one expression."""
    A, x = pg.ones(N), np.ones(N if pg.RANK == 0 else 1)
    ours, numpys = in_turns(partial(pg.diff, A), alone(partial(np.diff, x)), repeats=5, before=pg.COMM.Barrier)
    return Result(f"diff on {pg.SIZE} x {pg.THREADS}", N / median(ours) / 1e9, "G elements/s", "NumPy",
                  N / median(numpys) / 1e9, ratio(ours, numpys))


def main() -> None:
    """Measure."""
    results = [
        against_numpy("cumsum", (N,), 0, "d"),
        against_numpy("cumsum of float32", (N,), 0, "f"),
        against_numpy("cumsum of int64", (N,), 0, "l"),
        against_numpy("maximum.accumulate", (N,), 0, "d", np.maximum),
        against_numpy("cumsum(axis=1) of (20000, 1000)", (20000, 1000), 1, "d"),
        against_numpy("cumsum(axis=0) of (20000, 1000)", (20000, 1000), 0, "d"),
        against_stream(),
        difference(),
    ]
    if pg.RANK == 0:
        report(results)


if __name__ == "__main__":
    main()
