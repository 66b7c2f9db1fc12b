"""Histograms against NumPy's: counts of integers, and of numbers in bins of one width and of others.

NumPy uses one thread; pgaspy as many as it has.
"""

from __future__ import annotations

from statistics import median

import numpy as np

import pgaspy as pg
from bench.timing import Result, alone, in_turns, ratio, report

N = 10_000_000
N_BINS = 1000
GOAL = 1.6


def main() -> None:
    """Measure."""
    rng = np.random.default_rng(1)
    n, x = rng.integers(0, N_BINS, N), rng.random(N)
    edges = np.linspace(0, 1, N_BINS + 1) ** 2
    A, B = pg.array(n), pg.array(x)
    results = []
    for name, ours, numpys in (
            ("bincount", lambda: pg.bincount(A), lambda: np.bincount(n)),
            ("histogram, equal bins", lambda: pg.histogram(B, N_BINS), lambda: np.histogram(x, N_BINS)),
            ("histogram, given edges", lambda: pg.histogram(B, edges), lambda: np.histogram(x, edges))):
        def synced(ours=ours) -> None:  # type: ignore[no-untyped-def]
            ours()
            pg.sync()

        times, numpy_times = in_turns(synced, alone(numpys), repeats=5, before=pg.COMM.Barrier)
        title = f"{name}, {N_BINS} bins, {pg.SIZE} process(es) x {pg.THREADS} thread(s)"
        results.append(Result(title, N / median(times) / 1e6, "M elements/s", "NumPy", N / median(numpy_times) / 1e6,
                              ratio(times, numpy_times), GOAL))
    if pg.RANK == 0:
        report(results)


if __name__ == "__main__":
    main()
