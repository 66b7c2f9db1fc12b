"""LU factorisation with partial pivoting, by blocks, right-looking, with the next panel factored ahead.

With the leading block A11 of b x b elements, and the rest of its block row and block column,

      [A11 A12]   [L11    ] [U11 U12]     [A11; A21] = P [L11; L21] U11   by the processes of one grid column
    P [A21 A22] = [L21 L22] [    U22]     A12 = L11 U12                   by the processes of one grid row
                                          A22 - L21 U12 = L22 U22         by all; then the same for this matrix

where the rows of A12 and A22 are exchanged as those of the panel [A11; A21] were. The blocks are dealt out in turn over
the grid (`cyclic(b)`), so that all processes have work to the end. Everything is recorded, and nobody waits to learn
the pivots: while the processes multiply, the next panel is factored and travels (lookahead).

J. Choi, J. J. Dongarra, L. S. Ostrouchov, A. P. Petitet, D. W. Walker and R. C. Whaley, *Design and Implementation of
the ScaLAPACK LU, QR, and Cholesky Factorization Routines*, Scientific Programming 5, 1996. The panel in many processes:
A. Petitet, R. C. Whaley, J. Dongarra and A. Cleary, *HPL*, 2018, "panel factorization".
"""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

import pgaspy as pg
from pgaspy.blas import add_product, solve_triangle
from pgaspy.lapack import factor_lu

from ._program import Parser, check_blocks, in_blocks, matrices, norm, report, timed

__all__ = ["lu"]

solve_unit_lower = functools.partial(solve_triangle, lower=True, unit_diagonal=True)

INNER = 16
"""Columns of a panel in many processes that are eliminated one by one, before the others are updated at once."""


def lu(A: pg.GlobalArray) -> pg.GlobalArray:
    """Overwrite A with its factors: U on and above the diagonal, L below it (its diagonal is 1). Collective.

    Parameters
    ----------
    A
        Shape (m, n), float32, float64, complex64 or complex128, dealt out by square blocks on a grid of two axes:
        `Distribution("cyclic(b)", "cyclic(b)")`. With one row of processes, `grid=(1, pg.SIZE)`, panels are factored by
        LAPACK; with more, column by column.

    Returns
    -------
    The pivots, shape (min(m, n),), integers: row i was exchanged with row pivots[i], for i = 0, 1, … in turn. They lie
    as the columns of A do.

    Raises
    ------
    ValueError
        If A is no matrix in square blocks. A singular matrix has zeros on the diagonal of U, and raises nothing.
    """
    check_blocks(A)
    b, n = A.layout.block[1], min(A.shape)
    pivots = pg.align(np.zeros(n, int), A[:, :n], 1)
    factor_panel(A[:, :min(b, n)], pivots[:b], 0)
    for k in range(0, n, b):
        here, rest = slice(k, min(k + b, n)), slice(min(k + b, n), None)
        p = pg.replicate(pivots[here], axis=1)
        L11 = pg.replicate(A[here, here], axis=(0, 1))
        L21 = pg.replicate(A[rest, here], axis=1)   # in every grid column

        ahead = slice(rest.start, min(rest.start + b, n))
        for columns in (ahead, slice(ahead.stop, None)):
            A12, A22 = A[here, columns], A[rest, columns]
            pg.exchange_rows(A[:, columns], p, k)
            pg.schedule(solve_unit_lower, pg.update(A12), L11)  # U12 = L11^-1 A12
            U12 = pg.replicate(A12, axis=0)         # in every grid row
            pg.schedule(add_product, pg.update(A22), L21, U12, -1)
            if columns is ahead and A[rest, ahead].size:
                factor_panel(A[rest, ahead], pivots[ahead], k + b)
        pg.exchange_rows(A[:, :k], p, k)
    return pivots


def factor_panel(panel: pg.GlobalArray, pivots: pg.GlobalArray, start: int) -> None:
    """Factor some columns, whose first row is row `start` of the matrix, and set their pivots."""
    if panel.layout.grid[0] == 1:
        pg.schedule(factor_here, pg.update(panel), pg.write(pivots), start)
    else:
        factor_by_columns(panel, pivots, start)


def factor_here(panel: NDArray[Any], pivots: NDArray[np.int64], start: int) -> None:
    """Factor a panel that one process has all rows of."""
    factor_lu(panel, pivots)
    pivots += start


# A panel in many processes -------------------------------------------------------------------------------------------


def factor_by_columns(panel: pg.GlobalArray, pivots: pg.GlobalArray, start: int) -> None:
    """Factor a panel whose rows are dealt out: for each column, one reduction finds the pivot, and brings its row.

    All processes of the grid column have a copy of the first b rows, and do the same to it; so they know both rows that
    are exchanged.
    """
    b = panel.shape[1]
    top, below = pg.replicate(panel[:b], axis=0), panel[b:]
    rows = below.global_indices(0) + b
    best, index = pg.align(np.zeros((2, b), panel.dtype), panel, 1), pg.align(np.zeros(b, int), panel, 1)
    for j in range(min(panel.shape)):
        pg.schedule(find_pivot, pg.write(best), pg.write(index), top, below, rows, j)
        pg.combine(larger_pivot, best, index)
        pg.schedule(eliminate, pg.update(top), pg.update(below), pg.update(pivots), best, index, rows, j, start)
    panel[:b] = top


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


# The program ---------------------------------------------------------------------------------------------------------


def residual(A: pg.GlobalArray, F: pg.GlobalArray, pivots: pg.GlobalArray) -> float:
    """||L (U x) - P A x|| / (||A|| ||x|| n eps) for a random x, with F and pivots as `lu` leaves them. Collective."""
    m, n = A.shape
    k = min(m, n)
    L, U = pg.tril(F[:, :k], -1), pg.triu(F[:k])
    L += pg.eye(m, k, dtype=F.dtype, layout=L.layout)
    x = pg.random.default_rng(seed=1).random((n, 1))
    y = (A @ x).redistribute(pg.Distribution("*", "*"))
    pg.exchange_rows(y, pivots.redistribute(pg.Distribution("*")))
    return norm(L @ (U @ x) - y) / (norm(A) * norm(x) * n * np.finfo(F.dtype).eps or 1)


def main(argv: Sequence[str] | None = None) -> None:
    """The command line; see the module's docstring."""
    parser = Parser(prog="python -m pgaspy.algorithms.lu", description="P A = L U with partial pivoting.")
    parser.add_argument("problem", nargs=1, help="the size of a random problem, or a .npy file")
    parser.add_argument("-o", "--output", metavar="LU.npy", help="where to write U, and L below the diagonal")
    parser.add_blocks(192)
    arguments = parser.parse_args(argv)
    try:
        (A,) = matrices(arguments.problem, 1)
        A = in_blocks(A, arguments)
    except (OSError, ValueError) as error:
        parser.error(str(error))

    F = A.copy()
    pivots, seconds = timed(lu, F)
    if arguments.output:
        pg.save(arguments.output, F)
    (m, n), k = A.shape, min(A.shape)
    flop = (4 if A.dtype.kind == "c" else 1) * (2 * m * n * k - (m + n) * k**2 + 2 * k**3 / 3)
    report(f"lu: {m} x {n}, {A.dtype}, blocks of {arguments.block}", seconds, f"{flop / seconds / 1e9:.1f} GFLOP/s",
           {"||L (U x) - P A x|| / (||A|| ||x|| n eps)": (residual(A, F, pivots), 4)})


if __name__ == "__main__":
    main()
