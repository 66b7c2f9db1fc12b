"""The LU factorisation of a panel whose rows are dealt out, column by column.

A. Petitet, R. C. Whaley, J. Dongarra and A. Cleary, *HPL*, 2018, "panel factorization".
"""

from __future__ import annotations

import functools
from typing import Any

import numpy as np
from numpy.typing import NDArray

import pgaspy as pg
from pgaspy.blas import add_product, solve_triangle

__all__ = ["factor_by_columns"]

INNER = 16
"""Columns that are eliminated one by one, before the others are updated at once."""

solve_unit_lower = functools.partial(solve_triangle, lower=True, unit_diagonal=True)


def factor_by_columns(panel: pg.GlobalArray, pivots: pg.GlobalArray, start: int) -> None:
    """Factor a panel whose rows are dealt out: for each column, one reduction finds the pivot, and brings its row.

    All processes of the grid column have a copy of the first b rows, and do the same to it; so they know both rows that
    are exchanged.
    """
    b = panel.shape[1]
    top_STAR_MR, below = pg.replicate(panel[:b], axis=0), panel[b:]
    rows = below.global_indices(0) + b
    best_STAR_MR = pg.align(np.zeros((2, b), panel.dtype), panel, 1)
    index_STAR_MR = pg.align(np.zeros(b, int), panel, 1)
    for j in range(min(panel.shape)):
        pg.schedule(find_pivot, pg.write(best_STAR_MR), pg.write(index_STAR_MR), top_STAR_MR, below, rows, j)
        pg.combine(larger_pivot, best_STAR_MR, index_STAR_MR)
        pg.schedule(eliminate, pg.update(top_STAR_MR), pg.update(below), pg.update(pivots), best_STAR_MR, index_STAR_MR,
                    rows, j, start)
    panel[:b] = top_STAR_MR


def find_pivot(best: NDArray[Any], index: NDArray[np.int64], top: NDArray[Any], below: NDArray[Any],
               rows: NDArray[np.int64], j: int) -> None:
    """The row with the largest element of column j that is here; the element; and the row's index."""
    p = j + int(np.argmax(np.abs(top[j:, j])))
    row, index[:] = top[p], p
    if len(below):
        k = int(np.argmax(np.abs(below[:, j])))
        if abs(below[k, j]) > abs(row[j]):
            row, index[:] = below[k], rows[k]
    best[0], best[1] = row, row[j]


Candidate = tuple[NDArray[Any], NDArray[np.int64]]


def larger_pivot(lower: Candidate, higher: Candidate) -> Candidate:
    """The one of two candidates with the larger element; of equal ones, the upper row."""
    (best_l, index_l), (best_h, index_h) = lower, higher
    a, b = abs(best_l[1, 0]), abs(best_h[1, 0])
    return higher if b > a or (a == b and index_h[0] < index_l[0]) else lower


def eliminate(top: NDArray[Any], below: NDArray[Any], pivots: NDArray[np.int64], best: NDArray[Any],
              index: NDArray[np.int64], rows: NDArray[np.int64], j: int, start: int) -> None:
    """Exchange row j and the pivot's, and eliminate column j; the columns of later inner blocks only at its end."""
    p = int(index[0])
    pivots[j] = start + p
    row_j = top[j].copy()
    if p < len(top):
        top[p] = row_j
    else:
        below[rows == p] = row_j
    top[j] = best[0]
    first, last = j // INNER * INNER, min((j // INNER + 1) * INNER, top.shape[1])
    for part in (top[j + 1:], below):
        if top[j, j] != 0:
            part[:, j] /= top[j, j]
        add_product(part[:, j + 1:last], part[:, j:j + 1], top[j:j + 1, j + 1:last], -1)
    if j + 1 == last < top.shape[1]:
        solve_unit_lower(top[first:last, last:], top[first:last, first:last])
        for part in (top[last:], below):
            add_product(part[:, last:], part[:, first:last], top[first:last, last:], -1)
