"""Times the heat program on two hosts, or on each for itself, and the exchange of its edge rows."""

from __future__ import annotations

import json
import sys
from statistics import median
from typing import Any

import numpy as np
from mpi4py import MPI

import pgaspy as pg
from bench.jobs import Shares, exchange, hand_back, seconds_and_waiting

READINGS = ("every sweep", "at the end")
"""When the program reads the residual."""


def heat(full: Any, work: Any, n_sweeps: int, reading: str) -> float:
    """So many sweeps of the heat program; the residual of the last."""
    center, up, down = full[1:-1, 1:-1], full[:-2, 1:-1], full[2:, 1:-1]
    left, right = full[1:-1, :-2], full[1:-1, 2:]
    delta: Any = 0.0
    for _ in range(n_sweeps):
        work[...] = 0.2 * (center + up + down + left + right)
        delta = np.abs(center - work).sum()
        center[...] = work
        if reading == "every sweep":
            float(delta)
    return float(delta)


def field(n_rows: int, n_columns: int) -> tuple[Any, Any]:
    """A field with n_rows rows to compute on each process, and the place for its sweeps."""
    layout = pg.Distribution("block", "block", grid=(pg.SIZE, 1))
    full = pg.random.default_rng(1).random((n_rows * pg.SIZE + 2, n_columns), layout=layout)
    return full, pg.empty((n_rows * pg.SIZE, n_columns - 2), layout=layout)


def choose_rows(n_columns: int, n_sweeps: int, seconds: float) -> int:
    """The rows on each process whose computing takes so long per sweep. Collective."""
    n_rows = 32
    for _ in range(5):  # the time of a row depends on whether the rows fit the caches
        full, work = field(n_rows, n_columns)
        heat(full, work, 1, READINGS[0])
        found, _ = seconds_and_waiting(heat, full, work, n_sweeps, READINGS[0])
        n_rows = max(min(round(n_rows * seconds * n_sweeps / found), 8 * n_rows), 2)
    return n_rows


def measure(n_rows: int, n_columns: int, n_sweeps: int, repeats: int) -> dict[str, tuple[float, Shares | None]]:
    """For each of READINGS, the seconds per sweep and the shares of them spent waiting. Collective."""
    full, work = field(n_rows, n_columns)
    for reading in READINGS:  # schedules and kernels are made
        for _ in range(2):
            heat(full, work, n_sweeps, reading)
    found: dict[str, list[tuple[float, Shares | None]]] = {reading: [] for reading in READINGS}
    for _ in range(repeats):
        for reading in READINGS:
            found[reading].append(seconds_and_waiting(heat, full, work, n_sweeps, reading))
    return {reading: (median(seconds for seconds, _ in pairs) / n_sweeps, _medians([both for _, both in pairs if both]))
            for reading, pairs in found.items()}


def _medians(shares: list[Shares]) -> Shares | None:
    return (median(least for least, _ in shares), median(most for _, most in shares)) if shares else None


def main(together: bool, columns: int, sweeps: int, repeats: int = 1, rows: list[int] | None = None,
         link_over_computing: list[float] | None = None) -> None:
    """Measure fields of so many rows on each process, or choose the rows first, from the ratios that are wanted.

    Parameters
    ----------
    together
        Whether the processes share one field; otherwise each has its own, and nothing travels.
    """
    if not together:
        pg.init(MPI.COMM_SELF)
    link, residual = (_seconds_per_exchange(n, sweeps) for n in (columns - 2, 1))
    if rows is None:
        hand_back([choose_rows(columns, sweeps, link / ratio) for ratio in link_over_computing or []])
    else:
        hand_back({"link": link, "residual": residual,
                   "heat": [measure(n_rows, columns, sweeps, repeats) for n_rows in rows]})


def _seconds_per_exchange(n: int, n_times: int) -> float:
    call = exchange(n, n_times)
    call()
    return median(seconds_and_waiting(call)[0] for _ in range(3)) / n_times


if __name__ == "__main__":
    main(**json.loads(sys.argv[1]))
