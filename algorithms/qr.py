"""QR factorisation by blocks of Householder reflections, with the next panel factored ahead.

With the leading block column of b columns, and the rest A2 of the matrix,

    [R11]   Q1^H [A11]                                               by the processes of one grid column
    [ 0 ] =      [A21]     Q1 = I - V T V^H                          (V below R, with a diagonal of 1; T is b x b)
    [R12]   Q1^H [A12]                   H      H
    [A22] =      [A22]        = A2 - V (T  (V  A2))                  by all; then the same for this A22

The blocks are dealt out in turn over the grid (`cyclic(b)`), so that all processes have work to the end. Everything is
recorded, and nobody waits: while the processes multiply, the next panel is factored and travels (lookahead).

J. Choi, J. J. Dongarra, L. S. Ostrouchov, A. P. Petitet, D. W. Walker and R. C. Whaley, *Design and Implementation of
the ScaLAPACK LU, QR, and Cholesky Factorization Routines*, Scientific Programming 5, 1996. V and T: R. Schreiber and
C. Van Loan, *A Storage-Efficient WY Representation for Products of Householder Transformations*, SIAM J. Sci. Stat.
Comput. 10, 1989.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

import pgaspy as pg
from pgaspy.algorithms._program import check_blocks
from pgaspy.algorithms.qr_panel import factor_by_columns
from pgaspy.blas import add_product
from pgaspy.lapack import factor_qr

__all__ = ["apply_q", "form_q", "qr"]


def qr(A: pg.GlobalArray) -> pg.GlobalArray:
    """Overwrite A with R on and above the diagonal, and V below it (its diagonal is 1). Collective.

    Parameters
    ----------
    A
        Shape (m, n), float32, float64, complex64 or complex128, dealt out by square blocks on a grid of two axes:
        `Distribution("cyclic(b)", "cyclic(b)")`. With one row of processes, `grid=(1, pg.SIZE)`, panels are factored by
        LAPACK; with more, column by column.

    Returns
    -------
    T, shape (b, min(m, n)): the triangle of each panel, above each other's columns, as the columns of A lie. With A as
    it is left, `apply_q` and `form_q` take it. R's diagonal is real, of any sign, as LAPACK's.

    Raises
    ------
    ValueError
        If A is no matrix in square blocks.
    """
    check_blocks(A)
    b, n = A.layout.block[1], min(A.shape)
    T = pg.align(np.zeros((b, n), A.dtype), A[:, :n], 1)
    W_STAR_MR = pg.align(np.zeros((b, A.shape[1]), A.dtype), A, 1)
    factor_panel(A[:, :min(b, n)], T[:, :min(b, n)])
    for k in range(0, n, b):
        end = min(k + b, n)
        V_MC_STAR, T1_STAR_STAR = reflections(A, T, k)
        ahead = slice(end, min(end + b, n))
        for columns in (ahead, slice(ahead.stop, None)):
            reflect(V_MC_STAR, T1_STAR_STAR, A[k:, columns], W_STAR_MR[:, columns], adjoint=True)
            if columns is ahead and end < n:
                factor_panel(A[end:, ahead], T[:, ahead])
    return T


def apply_q(A: pg.GlobalArray, T: pg.GlobalArray, C: pg.GlobalArray, adjoint: bool = False) -> None:
    """C := Q C, or Q^H C. Collective.

    Parameters
    ----------
    A, T
        As `qr` leaves and returns them.
    C
        Shape (m, r), of A's dtype: its rows lie as those of A, its columns are dealt out over axis 1 of the grid.
    adjoint
        Apply Q^H.

    Raises
    ------
    ValueError
        If the shapes, dtypes or layouts do not go together.
    """
    check_rows(A, C)
    W_STAR_MR = pg.align(np.zeros((len(T), C.shape[1]), C.dtype), C, 1)
    panels = range(0, T.shape[1], len(T))
    for k in panels if adjoint else reversed(panels):
        reflect(*reflections(A, T, k), C[k:], W_STAR_MR, adjoint)


def form_q(A: pg.GlobalArray, T: pg.GlobalArray, k: int) -> pg.GlobalArray:
    """The first k columns of Q, shape (m, k), in blocks as A, with A and T as `qr` leaves them. Collective."""
    Q = pg.eye(len(A), k, dtype=A.dtype, layout=dealt_as(A))
    W_STAR_MR = pg.align(np.zeros((len(T), k), A.dtype), Q, 1)
    for start in reversed(range(0, T.shape[1], len(T))):
        if start < k:                                                  # left of it, these rows are zero still
            reflect(*reflections(A, T, start), Q[start:, start:], W_STAR_MR[:, start:], adjoint=False)
    return Q


def reflections(A: pg.GlobalArray, T: pg.GlobalArray, k: int) -> tuple[pg.GlobalArray, pg.GlobalArray]:
    """V and T of the panel that begins with column k, with a copy in every grid column."""
    here = slice(k, min(k + len(T), T.shape[1]))
    V = A[k:, here].copy()
    pg.schedule(set_unit_lower, pg.update(V), V.global_indices(0))
    return pg.replicate(V, axis=1), pg.replicate(T[:here.stop - k, here], axis=1)


def reflect(V_MC_STAR: pg.GlobalArray, T_STAR_STAR: pg.GlobalArray, C: pg.GlobalArray, W_STAR_MR: pg.GlobalArray,
            adjoint: bool) -> None:
    """C := (I - V T V^H) C, or (I - V T^H V^H) C; W is space for one row per column of V."""
    W_STAR_MR = W_STAR_MR[:len(T_STAR_STAR)]
    pg.schedule(multiply_adjoint, pg.write(W_STAR_MR), V_MC_STAR, C)   # W = V^H C, of the rows that are here
    pg.combine(np.add, W_STAR_MR)                                      # of all rows
    pg.schedule(subtract_product, pg.update(C), V_MC_STAR, T_STAR_STAR, W_STAR_MR, adjoint)     # C -= V (T W)


def set_unit_lower(v: NDArray[Any], rows: NDArray[np.int64]) -> None:
    """Set what is above the diagonal to 0, and the diagonal to 1; `rows` are the indices of the rows that are here."""
    rows = rows[rows < v.shape[1], None]
    columns = np.arange(v.shape[1])
    v[:len(rows)][rows < columns] = 0
    v[:len(rows)][rows == columns] = 1


def multiply_adjoint(w: NDArray[Any], v: NDArray[Any], c: NDArray[Any]) -> None:
    """W = V^H C."""
    add_product(w, v.conj().T, c, beta=0)


def subtract_product(c: NDArray[Any], v: NDArray[Any], t: NDArray[Any], w: NDArray[Any], adjoint: bool) -> None:
    """C -= V (T W), or V (T^H W)."""
    tw = np.empty_like(w)
    add_product(tw, t.conj().T if adjoint else t, w, beta=0)
    add_product(c, v, tw, -1)


# A panel -------------------------------------------------------------------------------------------------------------


def factor_panel(panel: pg.GlobalArray, T: pg.GlobalArray) -> None:
    """Factor some columns, at least as many rows, and write the triangle of their reflections into T's first rows."""
    T = T[:panel.shape[1]]
    if panel.layout.grid[0] == 1:
        pg.schedule(factor_here, pg.update(panel), pg.write(T))
    else:
        factor_by_columns(panel, T)


def factor_here(panel: NDArray[Any], t: NDArray[Any]) -> None:
    """Factor a panel that one process has all of."""
    factor_qr(panel, t)


def dealt_as(A: pg.GlobalArray) -> pg.Distribution:
    """The distribution of a matrix in square blocks."""
    block = f"cyclic({A.layout.block[1]})"
    return pg.Distribution(block, block, grid=A.layout.grid)


def check_rows(A: pg.GlobalArray, C: pg.GlobalArray) -> None:
    """Raise ValueError, the same on every process, if C cannot be multiplied by Q where it lies."""
    if C.ndim != 2 or len(C) != len(A) or C.dtype != A.dtype:
        raise ValueError(f"Q of a {A.dtype} matrix of shape {A.shape} is not applied to {C.dtype} of shape {C.shape}")
    a, c = A.layout, C.layout
    if a.grid != c.grid or a.dims[0] != c.dims[0] or c.dims[1].axis != 1:
        raise ValueError(f"the rows of C ({c}) have to lie as those of A ({a}), and its columns over axis 1 of the "
                         "grid: redistribute() it")


if __name__ == "__main__":
    from pgaspy.algorithms._command_lines import qr_program

    qr_program(algorithm=qr)
