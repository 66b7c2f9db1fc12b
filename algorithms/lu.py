"""LU factorisation with partial pivoting, by blocks, right-looking, with the next panel factored ahead.

With the leading block A11 of b x b elements, and the rest of its block row and block column,

      [A11 A12]   [L11    ] [U11 U12]     [A11; A21] = P [L11; L21] U11   by the processes of one grid column
    P [A21 A22] = [L21 L22] [    U22]     A12 = L11 U12                   by the processes of one grid row
                                          A22 - L21 U12 = L22 U22         by all; then the same for this matrix

where the rows of A12 and A22 are exchanged as those of the panel [A11; A21] were. The blocks are dealt out in turn over
the grid (`cyclic(b)`), so that all processes have work to the end. Everything is recorded, and nobody waits to learn
the pivots: while the processes multiply, the next panel is factored and travels (lookahead).

J. Choi, J. J. Dongarra, L. S. Ostrouchov, A. P. Petitet, D. W. Walker and R. C. Whaley, *Design and Implementation of
the ScaLAPACK LU, QR, and Cholesky Factorization Routines*, Scientific Programming 5, 1996.
"""

from __future__ import annotations

import functools
from typing import Any

import numpy as np
from numpy.typing import NDArray

import pgaspy as pg
from pgaspy.algorithms._program import check_blocks
from pgaspy.algorithms.lu_panel import factor_by_columns
from pgaspy.blas import add_product, solve_triangle
from pgaspy.lapack import factor_lu

__all__ = ["lu"]

solve_unit_lower = functools.partial(solve_triangle, lower=True, unit_diagonal=True)


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
        p_STAR = pg.replicate(pivots[here], axis=1)
        L11_STAR_STAR = pg.replicate(A[here, here], axis=(0, 1))
        L21_MC_STAR = pg.replicate(A[rest, here], axis=1)

        ahead = slice(rest.start, min(rest.start + b, n))
        for columns in (ahead, slice(ahead.stop, None)):
            A12, A22 = A[here, columns], A[rest, columns]
            pg.exchange_rows(A[:, columns], p_STAR, k)
            pg.schedule(solve_unit_lower, pg.update(A12), L11_STAR_STAR)     # U12 = L11^-1 A12
            U12_STAR_MR = pg.replicate(A12, axis=0)
            pg.schedule(add_product, pg.update(A22), L21_MC_STAR, U12_STAR_MR, -1)  # A22 - L21 U12
            if columns is ahead and A[rest, ahead].size:
                factor_panel(A[rest, ahead], pivots[ahead], k + b)
        pg.exchange_rows(A[:, :k], p_STAR, k)
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


if __name__ == "__main__":
    from pgaspy.algorithms._command_lines import lu_program

    lu_program(algorithm=lu)
