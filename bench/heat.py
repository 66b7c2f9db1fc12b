"""The heat program's sweep, n = 4000, on all cores: against NumPy."""

from __future__ import annotations

from statistics import median
from typing import Any

import numpy as np

import pgaspy as pg
from bench.timing import Result, alone, in_turns, ratio, report

N = 4000


def sweep(xp: Any, full: Any, work: Any) -> Any:
    """One sweep of the heat program, with `xp` in the place of NumPy; it returns the residual."""
    center, up, down = full[1:-1, 1:-1], full[:-2, 1:-1], full[2:, 1:-1]
    left, right = full[1:-1, :-2], full[1:-1, 2:]
    work[...] = 0.2 * (center + up + down + left + right)
    delta = float(xp.abs(center - work).sum())
    center[...] = work
    return delta


def main() -> None:
    """Measure."""
    full, work = pg.random.default_rng(1).random((N, N)), pg.empty((N - 2, N - 2))
    numpy_full = full.gather(root=0)
    numpy_work = np.empty((N - 2, N - 2))
    ours, numpy_times = in_turns(lambda: sweep(pg, full, work), alone(lambda: sweep(np, numpy_full, numpy_work)),
                                 repeats=7, before=pg.COMM.Barrier)
    points = (N - 2) ** 2 / 1e6
    if pg.RANK == 0:
        report([Result(f"heat sweep, n = {N}, {pg.SIZE} process(es) x {pg.THREADS} thread(s)", points / median(ours),
                       "Mpoint/s", "NumPy", points / median(numpy_times), ratio(ours, numpy_times))])


if __name__ == "__main__":
    main()
