"""Factorisations of local arrays, in place, by LAPACK: what distributed ones are made of.

Without Python's lock, as in `pgaspy.blas`. A singular or indefinite matrix raises nothing: what is found is returned,
for other processes have to learn of it, too.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from pgaspy.fortran import PREFIXES, call, is_column_major, leading

__all__ = ["factor_cholesky", "factor_lu", "factor_qr"]

ROWS_AT_ONCE = 64
"""Of a matrix that is copied to the other order: they stay in the cache."""


def factor_lu(a: NDArray[Any], pivots: NDArray[np.int64]) -> None:
    """Overwrite `a` with its factors by partial pivoting: U, and L below the diagonal (its diagonal is 1).

    Parameters
    ----------
    a
        Shape (m, n).
    pivots
        Shape (min(m, n),): row i was exchanged with row pivots[i], for i = 0, 1, … in turn. Written.
    """
    if not a.size:
        return
    f = _columns(a)
    found = np.empty(len(pivots), np.int32)
    call("lapack", PREFIXES[a.dtype.char] + "getrf", *a.shape, f, leading(f), found, 0)
    np.subtract(found, 1, out=pivots)
    _copy(f, a)


def factor_cholesky(a: NDArray[Any]) -> int:
    """Overwrite the lower triangle of a Hermitian matrix, the only one that is read, with L, so that A = L L^H.

    Returns the order of the first leading minor that is not positive definite, or 0.
    """
    if not a.size:
        return 0
    lower = is_column_major(a)
    if not lower and not is_column_major(a.T):
        raise ValueError("the matrix is contiguous along no dimension")
    # a row-major matrix is to LAPACK its transpose, and L^T of it an upper factor
    return call("lapack", PREFIXES[a.dtype.char] + "potrf", b"L" if lower else b"U", len(a), a, leading(a), 0)


def factor_qr(a: NDArray[Any], v: NDArray[Any], t: NDArray[Any]) -> None:
    """Overwrite the upper triangle of `a` with R; Q = I - V T V^H is returned in `v` and `t`.

    The compact WY form: R. Schreiber and C. Van Loan, *A Storage-Efficient WY Representation for Products of
    Householder Transformations*, SIAM J. Sci. Stat. Comput. 10, 1989.

    Parameters
    ----------
    a
        Shape (m, n). What is below the diagonal is set to zero.
    v
        Shape (m, k), k = min(m, n): unit lower trapezoidal. Written.
    t
        Shape (k, k): upper triangular. Written.
    """
    (m, n), k = a.shape, min(a.shape)
    if not k:
        return
    letter = PREFIXES[a.dtype.char]
    f, triangle, tau = _columns(a), np.zeros((k, k), a.dtype, order="F"), np.empty(k, a.dtype)
    work = np.empty(max(n, 1) * 64, a.dtype)
    call("lapack", letter + "geqrf", m, n, f, leading(f), tau, work, len(work), 0)
    call("lapack", letter + "larft", b"F", b"C", m, k, f, leading(f), tau, triangle, leading(triangle))
    t[...] = triangle
    _copy(f[:, :k], v)
    a[:k] = np.triu(f[:k])
    a[k:] = 0
    v[:k] = np.tril(v[:k], -1)
    np.fill_diagonal(v[:k], 1)


def _columns(a: NDArray[Any]) -> NDArray[Any]:
    """A matrix as LAPACK takes it: itself where it is column-major, else a copy."""
    if is_column_major(a):
        return a
    f = np.empty(a.shape, a.dtype, order="F")
    _copy(a, f)
    return f


def _copy(source: NDArray[Any], target: NDArray[Any]) -> None:
    if source is target:
        return
    for i in range(0, len(source), ROWS_AT_ONCE):
        target[i:i + ROWS_AT_ONCE] = source[i:i + ROWS_AT_ONCE]
