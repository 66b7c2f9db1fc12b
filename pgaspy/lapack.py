"""Factorisations of local arrays by LAPACK, and what goes with them: what distributed ones are made of.

In place, and without Python's lock, as in `pgaspy.blas`. A singular or indefinite matrix raises nothing: what is found
is returned, for other processes have to learn of it, too.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from pgaspy.fortran import (
    PREFIXES,
    call,
    check_matrices,
    check_square,
    check_writable,
    is_column_major,
    leading,
    prefix,
)

__all__ = ["factor_cholesky", "factor_lu", "factor_qr", "invert_triangle", "permute_rows", "reciprocal_condition"]

ROWS_AT_ONCE = 128
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
    check_matrices(a)
    if pivots.shape != (min(a.shape),):
        raise ValueError(f"pivots of shape {pivots.shape} for a matrix of shape {a.shape}: they are {min(a.shape)}")
    if not a.size:
        return
    f = _columns(a)
    found = np.empty(len(pivots), np.int32)
    call("lapack", prefix(a.dtype) + "getrf", *a.shape, f, leading(f), found, 0)
    np.subtract(found, 1, out=pivots)
    _copy(f, a)


def factor_cholesky(a: NDArray[Any]) -> int:
    """Overwrite the upper triangle of a Hermitian matrix, the only one that is read, with U, so that A = U^H U.

    Returns the order of the first leading minor that is not positive definite, or 0.
    """
    check_square(a)
    if not a.size:
        return 0
    check_writable(a)
    upper = is_column_major(a)
    if not upper and not is_column_major(a.T):
        raise ValueError("the matrix is contiguous along no dimension")
    # a row-major matrix is to LAPACK its transpose, and U^T of it a lower factor
    return call("lapack", prefix(a.dtype) + "potrf", b"U" if upper else b"L", len(a), a, leading(a), 0)


def factor_qr(a: NDArray[Any], t: NDArray[Any]) -> None:
    """Overwrite `a` with R, and V below the diagonal (its diagonal is 1), where A = Q R, Q = I - V T V^H.

    LAPACK's `geqrt3`: E. Elmroth and F. G. Gustavson, *Applying Recursion to Serial and Parallel QR Factorization Leads
    to Better Performance*, IBM J. Res. Dev. 44, 2000. R's diagonal is real.

    Parameters
    ----------
    a
        Shape (m, n), m >= n.
    t
        Shape (n, n): T, upper triangular. Written.
    """
    check_matrices(a)
    m, n = a.shape
    if m < n or t.shape != (n, n):
        raise ValueError(f"a matrix of shape {a.shape} with a triangle of shape {t.shape}: it takes (m, n) with "
                         "(n, n), m >= n")
    if not n:
        return
    f, triangle = _columns(a), np.zeros((n, n), a.dtype, order="F")
    call("lapack", prefix(a.dtype) + "geqrt3", m, n, f, leading(f), triangle, n, 0)
    t[...] = np.triu(triangle)
    _copy(f, a)


def invert_triangle(t: NDArray[Any], lower: bool, unit_diagonal: bool) -> NDArray[Any]:
    """The inverse of a triangular matrix without zeros on its diagonal, in its order; anything in the other triangle.

    With `unit_diagonal`, the diagonal is taken as 1 without reading it, and so is that of the result.
    """
    check_square(t)
    inverse = t.copy(order="F" if is_column_major(t) else "C")
    f, lower = (inverse, lower) if is_column_major(inverse) else (inverse.T, not lower)
    call("lapack", prefix(t.dtype) + "trtri", *_triangle(lower, unit_diagonal), len(t), f, leading(f), 0)
    return inverse


def reciprocal_condition(t: NDArray[Any], lower: bool, unit_diagonal: bool) -> float:
    """LAPACK's estimate of 1 / (||t|| ||t^-1||), in the norm of rows or of columns; 0 where t is singular."""
    check_square(t)
    f, lower = (t, lower) if is_column_major(t) else (t.T, not lower)
    n, found = len(t), np.zeros(1, t.real.dtype)
    work = np.empty(3 * n, t.dtype)
    more_work = np.empty(n, t.real.dtype if t.dtype.kind == "c" else np.int32)
    call("lapack", prefix(t.dtype) + "trcon", b"1", *_triangle(lower, unit_diagonal), n, f, leading(f), found,
         work, more_work, 0)
    return float(np.nan_to_num(found[0]))


def permute_rows(a: NDArray[Any], order: NDArray[np.integer[Any]]) -> None:
    """Let row i become what row order[i] is; in place if it is a permutation, of what LAPACK takes as it lies.

    Raises
    ------
    ValueError
        If there is not one index for each row.
    IndexError
        If there is no such row.
    """
    check_matrices(a)
    if np.shape(order) != (len(a),):
        raise ValueError(f"an order of shape {np.shape(order)} for {len(a)} rows")
    row_major = is_column_major(a.T)
    if a.dtype not in PREFIXES or not (row_major or is_column_major(a)) or not _is_permutation(order):
        a[...] = a[order]
    elif a.size:
        check_writable(a)
        f = a.T if row_major else a
        call("lapack", prefix(a.dtype) + ("lapmt" if row_major else "lapmr"), 1, *f.shape, f, leading(f),
             np.add(order, 1, dtype=np.int32))


def _is_permutation(order: NDArray[np.integer[Any]]) -> bool:
    """Whether each index from 0 on is there once; of as many as there are rows."""
    is_there = np.zeros(len(order), bool)
    if not len(order) or order.min() < 0 or order.max() >= len(order):
        return False
    is_there[order] = True
    return bool(is_there.all())


def _triangle(lower: bool, unit_diagonal: bool) -> tuple[bytes, bytes]:
    return b"L" if lower else b"U", b"U" if unit_diagonal else b"N"


def _columns(a: NDArray[Any]) -> NDArray[Any]:
    """A matrix that is to be overwritten, as LAPACK takes it: itself where it is column-major, else a copy."""
    check_writable(a)
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
