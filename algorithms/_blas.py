"""The one local operation that the matrix products share."""

from __future__ import annotations

from typing import Any

from numpy.typing import NDArray
from scipy.linalg import get_blas_funcs

__all__ = ["add_product"]


def add_product(c: NDArray[Any], a: NDArray[Any], b: NDArray[Any]) -> None:
    """`c += a @ b` on local arrays; by BLAS in place, with no temporary, where `c` allows it.

    BLAS is column-major, so it is given the transposed equation: c^T += b^T a^T.
    """
    if c.flags.c_contiguous and c.size and a.dtype == b.dtype == c.dtype and c.dtype.char in "fdFD":
        get_blas_funcs("gemm", dtype=c.dtype)(1, b.T, a.T, beta=1, c=c.T, overwrite_c=True)
    else:
        c += a @ b
