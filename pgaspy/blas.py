"""What the local parts of distributed linear algebra are made of: BLAS in place, with no temporary.

Without Python's lock, so that messages are moved meanwhile (`scipy.linalg.blas` holds it, and `c += a @ b` makes a
temporary). The functions take NumPy arrays, may be scheduled as tasks, and communicate nothing.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from pgaspy.fortran import (
    PREFIXES,
    apart_from,
    call,
    check_matrices,
    check_writable,
    is_column_major,
    leading,
    prefix,
)
from pgaspy.kernels.bindings import FEW_COLUMNS, address, multiply_skinny
from pgaspy.lapack import invert_triangle, reciprocal_condition
from pgaspy.scheduling.floating_point import noting

__all__ = ["add_product", "solve_triangle"]

LONG, MANY_BYTES, MANY_ROWS = 64, 4 << 20, 8
"""Few columns, with so many inner indices or more, are multiplied by a matrix that passes through once, if it has so
many bytes, more than a core's caches, and so many times as many rows. BLAS packs it first."""

LONG_TWICE, MIRRORED = 64, 128
"""A product of a matrix and its transposed with so many inner indices or more is computed once for both triangles, and
copied from one to the other so many rows and columns at a time."""

INVERTED = 128
"""Triangles up to this size are inverted, to be multiplied by as many right-hand sides as ..."""

MANY = 4
"""... times their size, or more. With fewer, it does not pay."""

SMALLEST_RECIPROCAL = 1e-4
"""Of a condition number. Unit triangles of 96 rows from partial pivoting have 1e-3: the residual is then 3 times as
large as by substitution."""


def add_product(c: NDArray[Any], a: NDArray[Any], b: NDArray[Any], alpha: complex = 1, beta: complex = 1) -> None:
    """`c = beta * c + alpha * (a @ b)` on local arrays. Not collective.

    Parameters
    ----------
    c, a, b
        Shapes (m, n), (m, k) and (k, n). BLAS works in place where all have one dtype, float32, float64, complex64 or
        complex128, and `c` is contiguous along one dimension; anything else is left to NumPy.
    alpha, beta
        Factors; with `beta=0`, what `c` holds before is not read.

    Examples
    --------
    >>> import numpy as np
    >>> c = np.ones((2, 2))
    >>> add_product(c, np.eye(2), np.full((2, 2), 3.0), alpha=-1)
    >>> c
    array([[-2., -2.],
           [-2., -2.]])
    """
    check_matrices(c, a, b)
    if not c.size:
        return
    if a.shape[1] != b.shape[0] or c.shape != (a.shape[0], b.shape[1]):
        raise ValueError(f"c += a @ b: shapes {c.shape}, {a.shape} and {b.shape} do not conform")
    check_writable(c)
    if not c.dtype == a.dtype == b.dtype or c.dtype not in PREFIXES or not _is_blas_matrix(c) or not a.size:
        noting("matmul", _add_by_numpy, c, a, b, alpha, beta)
        return
    a, b = apart_from(c, a), apart_from(c, b)
    factors = np.array([alpha, beta], c.dtype)
    for to, large, few in (c, a, b), (c.T, b.T, a.T):
        if _is_skinny(to, large):
            multiply_skinny(to, large, np.ascontiguousarray(few.T), *factors.tolist())
            return
    if not is_column_major(c):  # BLAS is column-major: c^T += b^T a^T
        c, a, b = c.T, b.T, a.T
    a, b = (x if _is_blas_matrix(x) else np.ascontiguousarray(x) for x in (a, b))
    (m, n), k = c.shape, a.shape[1]
    if beta == 0 and k >= LONG_TWICE and _is_transposed(a, b):
        call("blas", prefix(c.dtype) + "syrk", b"L", b"N" if is_column_major(a) else b"T", n, k, factors, a, leading(a),
             factors[1:], c, leading(c))
        _mirror(c)
        return
    call("blas", prefix(c.dtype) + "gemm", *(b"N" if is_column_major(x) else b"T" for x in (a, b)), m, n, k,
         factors, a, leading(a), b, leading(b), factors[1:], c, leading(c))


def _is_transposed(a: NDArray[Any], b: NDArray[Any]) -> bool:
    """Whether one is the transposed of the other, in the same memory."""
    return address(a) == address(b) and a.shape == b.shape[::-1] and a.strides == b.strides[::-1]


def _mirror(c: NDArray[Any]) -> None:
    """Fill the upper triangle of a symmetric matrix with the lower one, block by block."""
    for k in range(0, len(c), MIRRORED):
        end = k + MIRRORED
        c[k:end, end:] = c[end:, k:end].T
        block = c[k:end, k:end]
        block[...] = np.where(np.tri(len(block), dtype=bool), block, block.T)


def _is_skinny(c: NDArray[Any], a: NDArray[Any]) -> bool:
    """Whether a product has few columns, and its first factor is a large matrix, whose rows are contiguous."""
    (m, k), n = a.shape, c.shape[1]
    return (n <= FEW_COLUMNS and a.nbytes >= MANY_BYTES and k >= LONG and m >= MANY_ROWS * n
            and c.dtype.kind == "f" and a.strides[1] == a.itemsize and c.flags.aligned and a.flags.aligned)


def _add_by_numpy(c: NDArray[Any], a: NDArray[Any], b: NDArray[Any], alpha: complex, beta: complex) -> None:
    product = alpha * (a @ b) if alpha != 1 else a @ b
    if beta == 0:
        c[...] = 0
    elif beta != 1:
        c *= beta
    c += product


def solve_triangle(b: NDArray[Any], t: NDArray[Any], *, lower: bool = False, unit_diagonal: bool = False,
                   trans: str = "N", from_right: bool = False) -> None:
    """Overwrite `b` with the solution of `op(t) x = b`, or of `x op(t) = b`, on local arrays. Not collective.

    Parameters
    ----------
    b
        Shape (m, n): the right-hand sides, as columns; as rows with `from_right`.
    t
        Shape (m, m), or (n, n) with `from_right`, of b's dtype: a triangular matrix; the other triangle is not read.
    lower
        Whether the lower triangle is meant.
    unit_diagonal
        Take the diagonal as 1, without reading it.
    trans
        `op(t)`: "N" for t, "T" for its transpose, "C" for its conjugate transpose.
    from_right
        Solve `x op(t) = b`.

    Examples
    --------
    >>> import numpy as np
    >>> b = np.array([[2.0], [7.0]])
    >>> solve_triangle(b, np.array([[2.0, 0.0], [3.0, 4.0]]), lower=True)
    >>> b
    array([[1.],
           [1.]])
    """
    check_matrices(b, t)
    if trans not in ("N", "T", "C"):
        raise ValueError(f"trans is {trans!r}: it is 'N', 'T' or 'C'")
    if not b.size:
        return
    n = b.shape[1 if from_right else 0]
    if t.shape != (n, n):
        raise ValueError(f"a triangle of shape {t.shape} for right-hand sides of shape {b.shape}")
    if b.dtype != t.dtype or b.dtype not in PREFIXES:
        raise TypeError(f"a triangle of dtype {t.dtype} for right-hand sides of dtype {b.dtype}: they take one dtype, "
                        "float32, float64, complex64 or complex128, in this machine's order of bytes")
    check_writable(b)
    t = apart_from(b, t)
    if trans != "N":
        t, lower = (t.conj().T if trans == "C" else t.T), not lower
    x = b if _is_blas_matrix(b) else b.copy()
    if from_right:
        _solve(x.T, t.T, not lower, unit_diagonal)
    else:
        _solve(x, t, lower, unit_diagonal)
    if x is not b:
        b[...] = x


def _solve(x: NDArray[Any], t: NDArray[Any], lower: bool, unit_diagonal: bool) -> None:
    """Overwrite `x` with the solution of `t y = x`, by halves of `t` if there are many right-hand sides.

    Then most of the work is products, and the diagonal blocks are worth inverting: BLAS multiplies by a triangle more
    than twice as fast as it solves with one.
    """
    n, m = x.shape
    if m < MANY * n:
        _call_triangular("trsm", x, _as_ordered(t, x), lower, unit_diagonal)
    elif n <= INVERTED:
        _solve_by_inverse(x, _as_ordered(t, x), lower, unit_diagonal)
    else:
        half = n // 2
        first, second = (slice(half), slice(half, n)) if lower else (slice(half, n), slice(half))
        _solve(x[first], t[first, first], lower, unit_diagonal)
        add_product(x[second], t[second, first], x[first], -1)
        _solve(x[second], t[second, second], lower, unit_diagonal)


def _solve_by_inverse(x: NDArray[Any], t: NDArray[Any], lower: bool, unit_diagonal: bool) -> None:
    """The same for one diagonal block, of which it takes the inverse if that loses no accuracy to speak of.

    The residual grows with the block's condition number: J. J. Du Croz and N. J. Higham, *Stability of Methods for
    Matrix Inversion*, IMA J. Numer. Anal. 12, 1992.
    """
    if reciprocal_condition(t, lower, unit_diagonal) < SMALLEST_RECIPROCAL:
        _call_triangular("trsm", x, t, lower, unit_diagonal)
    else:
        _call_triangular("trmm", x, invert_triangle(t, lower, unit_diagonal), lower, unit_diagonal)


def _as_ordered(t: NDArray[Any], x: NDArray[Any]) -> NDArray[Any]:
    """A triangle in the order of the right-hand sides."""
    by_columns = is_column_major(x)
    if is_column_major(t) == by_columns and _is_blas_matrix(t):
        return t
    return t.copy(order="F" if by_columns else "C")


def _call_triangular(name: str, x: NDArray[Any], t: NDArray[Any], lower: bool, unit_diagonal: bool) -> None:
    """Overwrite `x` with t^-1 x (trsm) or t x (trmm), both in one order."""
    side = b"L"
    if not is_column_major(x):  # BLAS sees the transposes: t^T from the other side, of the other triangle
        x, t, lower, side = x.T, t.T, not lower, b"R"
    call("blas", prefix(x.dtype) + name, side, b"L" if lower else b"U", b"N", b"U" if unit_diagonal else b"N",
         *x.shape, np.ones(1, x.dtype), t, leading(t), x, leading(x))


def _is_blas_matrix(x: NDArray[Any]) -> bool:
    """Whether BLAS can take a matrix, or its transpose, as it lies."""
    return bool(x.flags.aligned and x.strides[0] % x.itemsize == x.strides[1] % x.itemsize == 0
                and (is_column_major(x) or is_column_major(x.T)))
