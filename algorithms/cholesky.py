"""Cholesky factorisation by blocks, right-looking, with the next panel factored ahead.

With the leading block A11 of b x b elements, and the rest of its block column, of a Hermitian matrix A = L L^H,

    [A11  . ]   [L11    ] [L11^H L21^H]     A11 = L11 L11^H                by the process that owns it
    [A21 A22] = [L21 L22] [      L22^H]     A21 = L21 L11^H                by the processes of one grid column
                                            A22 - L21 L21^H = L22 L22^H    by all; then the same for this matrix

Only the lower triangle is read. The blocks are dealt out in turn over the grid (`cyclic(b)`).

J. Choi, J. J. Dongarra, L. S. Ostrouchov, A. P. Petitet, D. W. Walker and R. C. Whaley, *Design and Implementation of
the ScaLAPACK LU, QR, and Cholesky Factorization Routines*, Scientific Programming 5, 1996.
"""

from __future__ import annotations

import functools
import itertools
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

import pgaspy as pg
from pgaspy.blas import add_product, solve_triangle
from pgaspy.lapack import factor_cholesky

from ._program import Parser, check_blocks, in_blocks, matrices, norm, report, timed

__all__ = ["cholesky"]

solve_adjoint = functools.partial(solve_triangle, lower=True, trans="C", from_right=True)

STRIP = 192
"""Columns of a process that begin a strip of rows, which is updated at a time, with what it has above the diagonal."""


def cholesky(A: pg.GlobalArray) -> None:
    """Overwrite the lower triangle of A, the only one that is read, with its Cholesky factor L. Collective.

    What is above the diagonal is lost.

    Parameters
    ----------
    A
        Shape (n, n), Hermitian and positive definite, float32, float64, complex64 or complex128, dealt out by square
        blocks on a grid of two axes: `Distribution("cyclic(b)", "cyclic(b)")`.

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
    L21 = factor_panel(A, slice(0, b))
    for k in range(0, n - b, b):
        ahead, after = slice(k + b, k + 2 * b), slice(k + 2 * b, None)
        L21H = pg.align(L21.T, A[k + b:, k + b:], 1)            # with the columns of A22
        subtract_lower(A[ahead.start:, ahead], L21, L21H[:, :b])
        panel = factor_panel(A, ahead)
        subtract_lower(A[after, after], L21[b:], L21H[:, b:])   # A22 -= L21 L21^H
        L21 = panel
    positive = np.diagonal(A).real > 0
    if not positive.all():
        order = int(np.where(positive, n, pg.arange(1, n + 1)).min())
        raise np.linalg.LinAlgError(f"the matrix is not positive definite: its leading minor of order {order} is not")


def factor_panel(A: pg.GlobalArray, here: slice) -> pg.GlobalArray:
    """Factor a block column; L21, with a copy in every grid column."""
    rest = slice(here.stop, None)
    A11, A21 = A[here, here], A[rest, here]
    pg.schedule(factor_here, pg.update(A11))                    # A11 = L11 L11^H
    L11 = pg.replicate(pg.replicate(A11, axis=0, copy=False), axis=1, copy=False)
    pg.schedule(solve_adjoint, pg.update(A21), L11)             # L21 = A21 L11^-H
    return pg.replicate(A21, axis=1, copy=False)


def factor_here(a: NDArray[Any]) -> None:
    """Factor a block, or mark the first leading minor that is not positive definite on the diagonal."""
    order = factor_cholesky(a)
    if order:
        a[order - 1, order - 1] = np.nan


def subtract_lower(A: pg.GlobalArray, L: pg.GlobalArray, LH: pg.GlobalArray) -> None:
    """A -= L LH on and below the diagonal, with L where the rows of A lie, and LH, to be conjugated, its columns."""
    pg.schedule(subtract_local, pg.update(A), L, LH, A.global_indices(0), A.global_indices(1))


def subtract_local(a: NDArray[Any], left: NDArray[Any], right: NDArray[Any], rows: NDArray[np.int64],
                   columns: NDArray[np.int64]) -> None:
    """The local part of it, in strips of rows: from where one's own columns meet the diagonal to where the next do."""
    right = right.conj() if right.dtype.kind == "c" else right
    first = [*np.searchsorted(rows, columns[::STRIP]), len(rows)]
    for j, (i, end) in enumerate(itertools.pairwise(first)):
        width = (j + 1) * STRIP
        half = (j * STRIP + width) // 2
        middle = int(np.searchsorted(rows, columns[half])) if half < len(columns) else end
        add_product(a[i:middle, :half], left[i:middle], right[:, :half], -1)
        add_product(a[middle:end, :width], left[middle:end], right[:, :width], -1)


# The program ---------------------------------------------------------------------------------------------------------


def residual(A: pg.GlobalArray, F: pg.GlobalArray) -> float:
    """||L (L^H x) - A x|| / (||A|| ||x|| n eps) for a random x, with F as `cholesky` leaves it. Collective."""
    L = pg.tril(F)
    x = pg.random.default_rng(seed=1).random(len(A))
    return norm(L @ (L.T.conj() @ x) - A @ x) / (norm(A) * norm(x) * len(A) * np.finfo(F.dtype).eps or 1)


def main(argv: Sequence[str] | None = None) -> None:
    """The command line; see the module's docstring."""
    parser = Parser(prog="python -m pgaspy.algorithms.cholesky", description="A = L L^H.")
    parser.add_argument("problem", nargs=1, help="the size of a random problem, or a .npy file")
    parser.add_argument("-o", "--output", metavar="L.npy", help="where to write L, below and on the diagonal")
    parser.add_blocks(192)
    arguments = parser.parse_args(argv)
    try:
        (A,) = matrices(arguments.problem, 1)
        A = in_blocks(A, arguments)
        n = len(A)
        if arguments.problem[0].isdigit():
            A = A + A.T + pg.eye(n, layout=A.layout) * (2 * n)
        F = A.copy()
        _, seconds = timed(cholesky, F)
    except (OSError, ValueError, np.linalg.LinAlgError) as error:
        parser.error(str(error))

    if arguments.output:
        pg.save(arguments.output, F)
    flop = (4 if A.dtype.kind == "c" else 1) * n**3 / 3
    report(f"cholesky: n = {n}, {A.dtype}, blocks of {arguments.block}", seconds, f"{flop / seconds / 1e9:.1f} GFLOP/s",
           {"||L (L^H x) - A x|| / (||A|| ||x|| n eps)": (residual(A, F), 4)})


if __name__ == "__main__":
    main()
