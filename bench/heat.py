"""The heat program on all cores: against hand-written C with MPI and OpenMP, and against NumPy."""

from __future__ import annotations

import math
from collections.abc import Callable
from statistics import median
from typing import Any

import numpy as np

import pgaspy as pg
from bench import reference
from bench.timing import Result, alone, busy_loops, in_turns, note, ratio, report

N_SWEEPS = {4000: 4, 1000: 40}
"""Per size of the field, the sweeps of one measurement."""

GOALS_C = {4000: 0.9, 1000: 0.5}
GOAL_NUMPY = 6.0
GOAL_BUSY = 0.6


def heat(full: Any, work: Any, n_sweeps: int) -> float:
    """So many sweeps of the heat program, on arrays of pgaspy or NumPy; the residual of the last."""
    center, up, down = full[1:-1, 1:-1], full[:-2, 1:-1], full[2:, 1:-1]
    left, right = full[1:-1, :-2], full[1:-1, 2:]
    delta: Any = math.inf
    while float(delta) > 0 and n_sweeps > 0:
        work[...] = 0.2 * (center + up + down + left + right)
        delta = np.abs(center - work).sum()
        center[...] = work
        n_sweeps -= 1
    return float(delta)


def measure(n: int) -> list[Result]:
    """Time n x n points."""
    full, work = pg.random.default_rng(1).random((n, n)), pg.empty((n - 2, n - 2))
    numpy_full, numpy_work = full.gather(), np.empty((n - 2, n - 2))
    residuals: dict[str, float] = {}

    def ours() -> None:
        residuals["pgaspy"] = heat(full, work, N_SWEEPS[n])

    def by_numpy() -> None:
        residuals["NumPy"] = heat(numpy_full, numpy_work, N_SWEEPS[n])

    functions: list[Callable[[], Any]] = [ours, alone(by_numpy)]
    try:
        by_c = reference.heat(numpy_full, N_SWEEPS[n])
        functions.append(lambda: residuals.update(C=by_c()))
    except reference.Missing as missing:
        if pg.RANK == 0:
            note(f"heat, n = {n}: not compared with C: {missing}")
    times, numpy_times, *c_times = in_turns(*functions, repeats=7, before=pg.COMM.Barrier)
    check_residuals(residuals)
    residuals.pop("NumPy", None)  # which one process has
    with busy_loops(pg.THREADS):
        busy_times, *busy_c_times = in_turns(ours, *functions[2:], repeats=5, before=pg.COMM.Barrier)
    check_residuals(residuals)

    mpoints = N_SWEEPS[n] * (n - 2) ** 2 / 1e6
    name = f"heat, n = {n}, {pg.SIZE} process(es) x {pg.THREADS} thread(s)"
    busy = f"{name}, a busy loop beside each"
    c = "C + MPI + OpenMP"
    rivals = [(name, times, c, rival, GOALS_C[n]) for rival in c_times]
    rivals += [(name, times, "NumPy", numpy_times, GOAL_NUMPY)]
    rivals += [(busy, busy_times, c, rival, GOAL_BUSY) for rival in busy_c_times]
    return [Result(title, mpoints / median(own), "Mpoint/s", rival, mpoints / median(rival_times),
                   ratio(own, rival_times), goal) for title, own, rival, rival_times, goal in rivals]


def check_residuals(residuals: dict[str, float]) -> None:
    """All have made the same sweeps of the same field, so the residuals are the same but for rounding."""
    if not np.allclose(list(residuals.values()), residuals["pgaspy"], rtol=1e-9):
        raise AssertionError(f"the programs differ: residuals {residuals}")


def main() -> None:
    """Measure."""
    results = [result for n in N_SWEEPS for result in measure(n)]
    if pg.RANK == 0:
        report(results)


if __name__ == "__main__":
    main()
