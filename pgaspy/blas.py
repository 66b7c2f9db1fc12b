"""The local matrix product that distributed ones are made of, by the BLAS that SciPy brings.

In place, with no temporary, and without Python's lock, so that messages are moved meanwhile (`scipy.linalg.blas` holds
it, and `c += a @ b` makes a temporary).
"""

from __future__ import annotations

import ctypes
import functools
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["add_product"]

_PREFIXES = {"f": "s", "d": "d", "F": "c", "D": "z"}


def add_product(c: NDArray[Any], a: NDArray[Any], b: NDArray[Any], alpha: complex = 1) -> None:
    """`c += alpha * (a @ b)` on local arrays. Not collective.

    Parameters
    ----------
    c, a, b
        Shapes (m, n), (m, k) and (k, n). BLAS works in place where all have one dtype, float32, float64, complex64 or
        complex128, and `c` is contiguous along one dimension; anything else is left to NumPy.
    alpha
        A factor.

    Examples
    --------
    >>> import numpy as np
    >>> c = np.ones((2, 2))
    >>> add_product(c, np.eye(2), np.full((2, 2), 3.0), alpha=-1)
    >>> c
    array([[-2., -2.],
           [-2., -2.]])
    """
    if a.shape[1] != b.shape[0] or c.shape != (a.shape[0], b.shape[1]):
        raise ValueError(f"c += a @ b: shapes {c.shape}, {a.shape} and {b.shape} do not conform")
    if 0 in c.shape or a.shape[1] == 0:
        return
    if not c.dtype == a.dtype == b.dtype or c.dtype.char not in _PREFIXES or not _is_blas_matrix(c):
        c += alpha * (a @ b) if alpha != 1 else a @ b
        return
    if not _is_column_major(c):  # BLAS is column-major: c^T += b^T a^T
        c, a, b = c.T, b.T, a.T
    a, b = (x if _is_blas_matrix(x) else np.ascontiguousarray(x) for x in (a, b))
    (m, n), k = c.shape, a.shape[1]
    factors = np.array([alpha, 1], c.dtype)
    sizes = np.array([m, n, k, _leading(a), _leading(b), _leading(c)], np.int32)
    at = sizes.ctypes.data
    letters = b"N" if _is_column_major(a) else b"T", b"N" if _is_column_major(b) else b"T"
    _gemm(c.dtype.char)(letters[0], letters[1], at, at + 4, at + 8, factors.ctypes.data, a.ctypes.data, at + 12,
                        b.ctypes.data, at + 16, factors.ctypes.data + c.itemsize, c.ctypes.data, at + 20)


def _is_column_major(x: NDArray[Any]) -> bool:
    return (x.strides[0] == x.itemsize and x.strides[1] >= x.itemsize * x.shape[0]) or (
        x.shape[0] == 1 and x.strides[1] % x.itemsize == 0 and x.strides[1] > 0)


def _is_blas_matrix(x: NDArray[Any]) -> bool:
    """Whether BLAS can take a matrix, or its transpose, as it lies."""
    return bool(x.flags.aligned and x.strides[0] % x.itemsize == x.strides[1] % x.itemsize == 0
                and (_is_column_major(x) or _is_column_major(x.T)))


def _leading(x: NDArray[Any]) -> int:
    """The leading dimension of a matrix, or of its transpose."""
    rows, stride = (x.shape[0], x.strides[1]) if _is_column_major(x) else (x.shape[1], x.strides[0])
    return max(stride // x.itemsize, rows, 1)


@functools.cache
def _gemm(char: str) -> Callable[..., None]:
    """The BLAS routine itself, which SciPy offers to Cython programs: ctypes calls it without Python's lock."""
    from scipy.linalg import cython_blas

    capsule = cython_blas.__pyx_capi__[_PREFIXES[char] + "gemm"]
    name_of, pointer_of = ctypes.pythonapi.PyCapsule_GetName, ctypes.pythonapi.PyCapsule_GetPointer
    name_of.restype, name_of.argtypes = ctypes.c_char_p, [ctypes.py_object]
    pointer_of.restype, pointer_of.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]
    address = pointer_of(capsule, name_of(capsule))
    text, number = ctypes.c_char_p, ctypes.c_void_p
    return ctypes.CFUNCTYPE(None, text, text, *[number] * 11)(address)
