"""The solution of T X = B for a triangular matrix T, by blocks: the matrix stays where it lies.

With a block row of a lower triangular matrix, from the top (of an upper one, from the bottom),

    [T11    ] [X1]   [B1]      X1 = T11^-1 B1                by the processes that own B1
    [T21 T22] [X2] = [B2]      T22 X2 = B2 - T21 X1          by all; then the same for this system

Many right-hand sides are dealt out over the columns of the grid, and panels [T11; T21] come to them. For few it is the
solution that travels: each process keeps X with the columns of T that it has, adds up T10 X0 for a block row T10 of
what is solved for already, and one reduction along the grid row brings the sums together.

M. T. Heath and C. H. Romine, *Parallel Solution of Triangular Systems on Distributed-Memory Multiprocessors*, SIAM J.
Sci. Stat. Comput. 9, 1988; for many right-hand sides ScaLAPACK's `pdtrsm`.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

import pgaspy as pg
from pgaspy.algorithms._program import check_blocks
from pgaspy.blas import add_product, solve_triangle

__all__ = ["FEW", "solve_triangular"]

FEW = 64
"""Up to so many right-hand sides, the solution travels."""


def solve_triangular(T: pg.GlobalArray, B: pg.GlobalArray, lower: bool = False,
                     unit_diagonal: bool = False) -> pg.GlobalArray:
    """Solve T X = B. Collective.

    Parameters
    ----------
    T
        Shape (n, n), float32, float64, complex64 or complex128, in square blocks on a grid of two axes, or the
        transpose of such a matrix: `Distribution("cyclic(b)", "cyclic(b)")`. The other triangle is not read.
    B
        Shape (n, r), of the same dtype.
    lower, unit_diagonal
        Whether T is the lower triangle; and whether its diagonal is 1, and not read.

    Returns
    -------
    X, shape (n, r): dealt out over the grid of T, by rows and columns where r is more than `FEW`, else by rows.

    Raises
    ------
    ValueError
        If the shapes, dtypes or layouts do not go together. Zeros on the diagonal raise nothing: X is infinite.
    """
    check_blocks(T if T.ndim != 2 or T.layout.dims[0].axis == 0 else T.T)
    if T.shape[0] != T.shape[1] or B.ndim != 2 or B.shape[0] != T.shape[0] or B.dtype != T.dtype:
        raise ValueError(f"T X = B: {T.dtype}{T.shape} and {B.dtype}{B.shape} do not conform")
    solve = functools.partial(solve_triangle, lower=lower, unit_diagonal=unit_diagonal)
    return (solve_few if B.shape[1] <= FEW else solve_many)(T, B, lower, solve)


def solve_many(T: pg.GlobalArray, B: pg.GlobalArray, lower: bool, solve: Callable[..., None]) -> pg.GlobalArray:
    """The panels of T travel, and are subtracted by all."""
    b, (rows, columns) = T.layout.block[0], (dim.axis or 0 for dim in T.layout.dims)
    X = B.redistribute(pg.Distribution(f"cyclic({b})", f"cyclic({b})", grid=T.layout.grid, axes=(rows, columns)))
    for here, _, rest in steps(len(T), b, lower):
        T11, X1 = T[here, here], X[here]
        T11_MC_STAR = pg.align(T11, X1, 0)
        pg.schedule(solve, pg.update(X1), T11_MC_STAR)                          # X1 = T11^-1 B1
        if X[rest].size:
            X2, X1_STAR_MR = X[rest], pg.replicate(X1, rows)
            T21_MC_STAR = pg.align(T[rest, here], X2, 0)
            pg.schedule(add_product, pg.update(X2), T21_MC_STAR, X1_STAR_MR, -1)        # B2 - T21 X1
    return X


def solve_few(T: pg.GlobalArray, B: pg.GlobalArray, lower: bool, solve: Callable[..., None]) -> pg.GlobalArray:
    """The solution travels to the columns of T; its products with them are summed along the grid rows."""
    zeros = np.zeros(B.shape, B.dtype)
    B_MC_STAR, sums_MC_STAR = pg.align(B, T, 0), pg.align(zeros, T, 0)
    X_MR_STAR = pg.align(zeros, T.T, 0)                                         # with the columns of T
    for here, solved, _ in steps(len(T), T.layout.block[0], lower):
        sums, X1_MR_STAR = sums_MC_STAR[here], X_MR_STAR[here]
        if T[here, solved].size:
            pg.schedule(add_product, pg.update(sums), T[here, solved], X_MR_STAR[solved])
            pg.combine(np.add, sums)                                            # T10 X0
        pg.schedule(solve_block, pg.update(X1_MR_STAR), T[here, here], B_MC_STAR[here], sums, solve)
        pg.combine(np.add, X1_MR_STAR)                                          # the others have zeros
    return X_MR_STAR


def solve_block(x: NDArray[Any], t: NDArray[Any], b: NDArray[Any], sums: NDArray[Any],
                solve: Callable[..., None]) -> None:
    """X1 = T11^-1 (B1 - T10 X0), on the process that has T11."""
    if t.size:
        np.subtract(b, sums, out=x)
        solve(x, t)


def steps(n: int, b: int, lower: bool) -> Iterator[tuple[slice, slice, slice]]:
    """Per block: here, what was solved for before, and the rest."""
    for k in range(0, n, max(b, 1)) if lower else reversed(range(0, n, max(b, 1))):
        before, after = slice(0, k), slice(min(k + b, n), n)
        yield slice(k, min(k + b, n)), *((before, after) if lower else (after, before))


if __name__ == "__main__":
    from pgaspy.algorithms._command_lines import triangular_solve_program

    triangular_solve_program(algorithm=solve_triangular)
