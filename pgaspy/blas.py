"""What the local parts of distributed linear algebra are made of: BLAS in place, with no temporary.

Without Python's lock, so that messages are moved meanwhile (`scipy.linalg.blas` holds it, and `c += a @ b` makes a
temporary). The functions take NumPy arrays, may be scheduled as tasks, and communicate nothing.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from pgaspy.fortran import PREFIXES, call, is_column_major, leading

__all__ = ["add_product", "solve_triangle"]


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
    if not c.size:
        return
    if a.shape[1] != b.shape[0] or c.shape != (a.shape[0], b.shape[1]):
        raise ValueError(f"c += a @ b: shapes {c.shape}, {a.shape} and {b.shape} do not conform")
    if not c.dtype == a.dtype == b.dtype or c.dtype.char not in PREFIXES or not _is_blas_matrix(c) or not a.size:
        _add_by_numpy(c, a, b, alpha, beta)
        return
    if not is_column_major(c):  # BLAS is column-major: c^T += b^T a^T
        c, a, b = c.T, b.T, a.T
    a, b = (x if _is_blas_matrix(x) else np.ascontiguousarray(x) for x in (a, b))
    (m, n), k = c.shape, a.shape[1]
    factors = np.array([alpha, beta], c.dtype)
    call("blas", PREFIXES[c.dtype.char] + "gemm", *(b"N" if is_column_major(x) else b"T" for x in (a, b)), m, n, k,
         factors, a, leading(a), b, leading(b), factors[1:], c, leading(c))


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
    if not b.size:
        return
    n = b.shape[1 if from_right else 0]
    if t.shape != (n, n):
        raise ValueError(f"a triangle of shape {t.shape} for right-hand sides of shape {b.shape}")
    if b.dtype != t.dtype or b.dtype.char not in PREFIXES:
        raise TypeError(f"a triangle of dtype {t.dtype} for right-hand sides of dtype {b.dtype}: they take one dtype, "
                        "float32, float64, complex64 or complex128")
    x = b if _is_blas_matrix(b) else b.copy()
    by_columns = is_column_major(x)
    if is_column_major(t) != by_columns or not _is_blas_matrix(t):
        t = t.copy(order="F" if by_columns else "C")
    if not by_columns:  # BLAS sees the transposes: op(t)^T from the other side, of the other triangle
        lower, from_right = not lower, not from_right
    m, n = x.shape if by_columns else x.shape[::-1]
    call("blas", PREFIXES[x.dtype.char] + "trsm", b"R" if from_right else b"L", b"L" if lower else b"U",
         trans.encode(), b"U" if unit_diagonal else b"N", m, n, np.ones(1, x.dtype), t, leading(t), x, leading(x))
    if x is not b:
        b[...] = x


def _is_blas_matrix(x: NDArray[Any]) -> bool:
    """Whether BLAS can take a matrix, or its transpose, as it lies."""
    return bool(x.flags.aligned and x.strides[0] % x.itemsize == x.strides[1] % x.itemsize == 0
                and (is_column_major(x) or is_column_major(x.T)))
