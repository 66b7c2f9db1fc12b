"""Operands: what is accepted, and in which dtype it is computed."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.linalg import LinAlgError

import pgaspy as pg
from pgaspy.creation import as_operand
from pgaspy.values import value

__all__ = ["as_columns", "as_matrix", "as_right_hand_sides", "as_square", "common_dtype", "refuse_infinite"]


def as_matrix(a: Any) -> pg.GlobalArray:
    """A matrix; LinAlgError, as NumPy's, for other numbers of dimensions."""
    a = as_operand(a)
    if a.ndim < 2:
        raise LinAlgError(f"{a.ndim}-dimensional array given. Array must be at least two-dimensional")
    if a.ndim > 2:
        raise LinAlgError(f"{a.ndim}-dimensional array given. Array must be two-dimensional: loop over the first "
                          f"dimensions of shape {a.shape}")
    return a


def as_square(a: Any) -> pg.GlobalArray:
    """A square matrix; LinAlgError, as NumPy's, for others."""
    a = as_matrix(a)
    if a.shape[0] != a.shape[1]:
        raise LinAlgError(f"Last 2 dimensions of the array must be square, but its shape is {a.shape}")
    return a


def as_right_hand_sides(b: Any, n: int) -> pg.GlobalArray:
    """One right-hand side, shape (n,), or several as columns."""
    b = as_operand(b)
    if not 1 <= b.ndim <= 2:
        raise LinAlgError(f"right-hand sides have shape ({n},) or ({n}, r), not {b.shape}")
    if b.shape[0] != n:
        raise ValueError(f"right-hand sides of shape {b.shape} for a matrix of {n} rows: {b.shape[0]} is not {n}")
    return b


def as_columns(b: pg.GlobalArray) -> pg.GlobalArray:
    """Right-hand sides as columns."""
    return b[:, None] if b.ndim == 1 else b


def common_dtype(*arrays: pg.GlobalArray) -> np.dtype[Any]:
    """The dtype that NumPy computes in: integers count as float64; TypeError for what LAPACK does not know."""
    for a in arrays:
        if a.dtype.kind not in "biufc" or (a.dtype.kind in "fc" and a.dtype.char not in "fdFD"):
            raise TypeError(f"array type {a.dtype} is unsupported in linalg")
    return np.result_type(*(a.dtype if a.dtype.kind in "fc" else np.dtype(float) for a in arrays))


def refuse_infinite(wanted: bool, *arrays: pg.GlobalArray) -> None:
    """Raise ValueError on every process where that is wanted and an element is infinite or not a number."""
    for a in arrays:
        if wanted and a.dtype.kind in "fc" and value(np.isfinite(a).all(), True) is False:
            raise ValueError("array must not contain infs or NaNs")


