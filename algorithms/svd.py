"""Singular values and vectors by the one-sided block Jacobi method: of A V = U S, the lengths of the columns.

A QR factorisation comes first, where there are many rows: Z. Drmac and K. Veselic, *New Fast and Accurate Jacobi SVD
Algorithm*, SIAM J. Matrix Anal. Appl. 29, 2008.
"""

from __future__ import annotations

import numpy as np

import pgaspy as pg
from pgaspy.algorithms._columns import (
    by_columns,
    check_operand,
    dealt_by_columns,
    factored,
    largest_element,
    orthonormalised,
    replicated,
    sorted_lengths,
)
from pgaspy.algorithms.jacobi import rotated
from pgaspy.algorithms.qr import apply_q

__all__ = ["svd", "svdvals"]

TALL = 1.5
"""From this ratio of rows to columns on, the triangular factor takes the place of the matrix."""


def svd(A: pg.GlobalArray) -> tuple[pg.GlobalArray, pg.GlobalArray, pg.GlobalArray]:
    """Factor A = U diag(s) Vh; A is not changed. Collective.

    The method of `numpy.linalg.svd` with `full_matrices=False`, but U and V come out with other signs.

    Parameters
    ----------
    A
        Shape (m, n), float32, float64, complex64 or complex128, in any layout.

    Returns
    -------
    U, s, Vh
        With k = min(m, n): U, shape (m, k), orthonormal columns; s, shape (k,), real and descending, replicated; Vh,
        shape (k, n), orthonormal rows. The vectors lie whole: columns of U and rows of Vh are dealt out in blocks.

    Raises
    ------
    ValueError
        If A is no matrix.
    TypeError
        If A has another dtype.
    numpy.linalg.LinAlgError
        If A has elements that are infinite or not a number, or the columns are not orthogonal after `MAX_SWEEPS`
        sweeps.
    """
    check_operand(A)
    if A.shape[0] < A.shape[1]:
        V, sigma, Uh = svd(A.T.conj())
        return Uh.T.conj(), sigma, V.T.conj()
    (m, n), unit = A.shape, largest_element(A)
    C = dealt_by_columns(A) / unit
    if pg.SIZE == 1 or not n:
        u, s, vh = np.linalg.svd(C.gather(), full_matrices=False)
        return dealt_by_columns(pg.array(u)), replicated(s * unit), dealt_by_columns(pg.array(vh).T).T
    tall = m >= TALL * n
    if tall:                                           # A = Q R;  R = U1 S V^H;  U = Q U1
        F, C, T = factored(C)
    GV = rotated(C, vectors=True)
    G, V = GV[:len(C)], GV[len(C):]                    # G = C V = U S
    U = orthonormalised(G)
    if tall:
        U1, U = U, pg.zeros((m, n), A.dtype, layout=by_columns(n))
        U[:n] = U1
        apply_q(F, T, U)
    return U, sorted_lengths(G, unit), dealt_by_columns(V).T.conj()


def svdvals(A: pg.GlobalArray) -> pg.GlobalArray:
    """The singular values alone, as `svd` gives them: shape (min(m, n),), replicated. Collective."""
    check_operand(A)
    if A.shape[0] < A.shape[1]:
        return svdvals(A.T)
    (m, n), unit = A.shape, largest_element(A)
    C = dealt_by_columns(A) / unit
    if pg.SIZE == 1 or not n:
        return replicated(np.linalg.svd(C.gather(), compute_uv=False) * unit)
    if m >= TALL * n:
        C = factored(C)[1]
    return sorted_lengths(rotated(C, vectors=False), unit)


if __name__ == "__main__":
    from pgaspy.algorithms._command_lines import jacobi_program

    jacobi_program(name="svd", svd=svd)
