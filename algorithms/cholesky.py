"""Cholesky factorisation by blocks, right-looking, with the next panel factored ahead.

With the leading block A11 of b x b elements, and the rest of its block row, of a Hermitian matrix A = U^H U,

    [A11 A12]   [U11^H      ] [U11 U12]     A11 = U11^H U11                by the process that owns it
    [ .  A22] = [U12^H U22^H] [    U22]     A12 = U11^H U12                by the processes of one grid row
                                            A22 - U12^H U12 = U22^H U22    by all; then the same for this matrix

Only the upper triangle is read: along the rows, in which arrays lie, BLAS is faster. The blocks are dealt out in turn
over the grid (`cyclic(b)`).

J. Choi, J. J. Dongarra, L. S. Ostrouchov, A. P. Petitet, D. W. Walker and R. C. Whaley, *Design and Implementation of
the ScaLAPACK LU, QR, and Cholesky Factorization Routines*, Scientific Programming 5, 1996.
"""

from __future__ import annotations

import functools
import itertools
from typing import Any

import numpy as np
from numpy.typing import NDArray

import pgaspy as pg
from pgaspy.algorithms._program import check_blocks
from pgaspy.blas import add_product, solve_triangle
from pgaspy.lapack import factor_cholesky

__all__ = ["cholesky"]

solve_adjoint = functools.partial(solve_triangle, trans="C")

NOT_POSITIVE_DEFINITE = "the matrix is not positive definite: its leading minor of order {} is not"

STRIP = 384
"""Rows of a process that are updated at a time."""

STEP = 96
"""Rows of a strip for which its columns begin anew at the diagonal; what they have below it is computed as well."""


def cholesky(A: pg.GlobalArray) -> None:
    """Overwrite the upper triangle of A, the only one that is read, with its Cholesky factor U. Collective.

    What is below the diagonal is lost.

    Parameters
    ----------
    A
        Shape (n, n), Hermitian and positive definite, float32, float64, complex64 or complex128, dealt out by square
        blocks on a grid of two axes: `Distribution("cyclic(b)", "cyclic(b)")`, best with one column,
        `grid=(pg.SIZE, 1)`.

    Raises
    ------
    ValueError
        If A is no square matrix in square blocks.
    numpy.linalg.LinAlgError
        If A is not positive definite; the message says which leading minor is the first that is not.
    """
    check_blocks(A)
    if A.shape[0] != A.shape[1]:
        raise ValueError(f"the Cholesky factorisation is one of a square matrix, not of one of shape {A.shape}")
    b, n = A.layout.block[1], len(A)
    U12_STAR_MR = factor_panel(A, slice(0, b))
    for k in range(0, n - b, b):
        ahead, after = slice(k + b, k + 2 * b), slice(k + 2 * b, None)
        U12T_MC_STAR = pg.align(U12_STAR_MR.T, A[k + b:, k + b:], 0)
        subtract_upper(A[ahead, ahead.start:], U12T_MC_STAR[:b], U12_STAR_MR)
        panel = factor_panel(A, ahead)
        subtract_upper(A[after, after], U12T_MC_STAR[b:], U12_STAR_MR[:, b:])   # A22 -= U12^H U12
        U12_STAR_MR = panel
    positive = np.diagonal(A).real > 0
    if not positive.all():
        order = int(np.where(positive, n, pg.arange(1, n + 1)).min())
        raise np.linalg.LinAlgError(NOT_POSITIVE_DEFINITE.format(order))


def factor_panel(A: pg.GlobalArray, here: slice) -> pg.GlobalArray:
    """Factor a block row; U12, with a copy in every grid row."""
    A11, A12 = A[here, here], A[here, here.stop:]
    pg.schedule(factor_here, pg.update(A11))                    # A11 = U11^H U11
    U11_STAR_STAR = pg.replicate(A11, axis=(0, 1))
    pg.schedule(solve_adjoint, pg.update(A12), U11_STAR_STAR)   # U12 = U11^-H A12
    return pg.replicate(A12, axis=0)


def factor_here(a: NDArray[Any]) -> None:
    """Factor a block, or mark the first leading minor that is not positive definite on the diagonal."""
    order = factor_cholesky(a)
    if order:
        a[order - 1, order - 1] = np.nan


def subtract_upper(A: pg.GlobalArray, UT_MC_STAR: pg.GlobalArray, U_STAR_MR: pg.GlobalArray) -> None:
    """A -= U^H U on and above the diagonal."""
    pg.schedule(subtract_local, pg.update(A), UT_MC_STAR, U_STAR_MR, A.global_indices(0), A.global_indices(1))


def subtract_local(a: NDArray[Any], left: NDArray[Any], right: NDArray[Any], rows: NDArray[np.int64],
                   columns: NDArray[np.int64]) -> None:
    """The local part of it, in strips of rows, whose columns begin at the diagonal in steps."""
    left = left.conj() if left.dtype.kind == "c" else left
    for i in range(0, len(rows), STRIP):
        begins = np.searchsorted(columns, rows[i:i + STRIP:STEP])
        for n_steps, (j, end) in enumerate(itertools.pairwise([*begins, len(columns)]), start=1):
            strip = slice(i, min(i + n_steps * STEP, len(rows)))
            add_product(a[strip, j:end], left[strip], right[:, j:end], -1)


if __name__ == "__main__":
    from pgaspy.algorithms._command_lines import cholesky_program

    cholesky_program(algorithm=cholesky)
