"""Arrays, slices and numbers joined between brackets: `pg.r_[0:3, 7, A]`."""

from __future__ import annotations

from typing import Any

import numpy as np

import pgaspy as pg
from pgaspy.creation import as_global
from pgaspy.routines.grids import points

__all__ = ["c_", "r_"]


class _Joined:
    """`r_` and `c_`: arrays, numbers and slices of numbers joined along a dimension. Collective.

    A slice gives the numbers that `mgrid` does. `r_` joins along the first dimension, vectors to a vector; `c_` along
    the last of two at least, vectors as columns. Text that comes first says otherwise, as in `pg.r_["1,2,0", a, b]`:
    the dimension; how many there are at least; and at which of those the dimensions of an array begin that has less.

    Examples
    --------
    >>> import pgaspy as pg
    >>> pg.r_[0:3, 7, pg.ones(2, int)].gather()
    array([0, 1, 2, 7, 1, 1])
    >>> pg.c_[0:2, [5, 6]].gather()
    array([[0, 5],
           [1, 6]])
    """

    def __init__(self, axis: int, ndim: int, first: int) -> None:
        self._form = axis, ndim, first

    def __getitem__(self, key: Any) -> pg.GlobalArray:
        items = key if isinstance(key, tuple) else (key,)
        axis, ndim, first = self._form
        if items and isinstance(items[0], str):
            axis, ndim, first = _form(items[0], ndim, first)
            items = items[1:]
        arrays = [_of_dims(points(x) if isinstance(x, slice) else as_global(x), ndim, first) for x in items]
        dtypes = [x if isinstance(x, int | float | complex) else a.dtype for x, a in zip(items, arrays, strict=True)]
        dtype = np.result_type(*dtypes) if dtypes else None
        numbers = [as_global(np.array(x, dtype, ndmin=ndim)) if isinstance(x, int | float | complex) else a
                   for x, a in zip(items, arrays, strict=True)]
        return pg.concatenate(numbers, axis, dtype=dtype)


def _form(text: str, ndim: int, first: int) -> tuple[int, int, int]:
    """What text says: the dimension, how many there are at least, and where those of arrays with less begin."""
    try:
        numbers = [int(x) for x in text.split(",")]
    except ValueError:
        raise ValueError(f"unknown special directive {text!r}: global arrays are no matrices of NumPy's; up to three "
                         "integers are taken") from None
    axis, ndim, first = (*numbers[:3], *(ndim, first)[len(numbers) - 1:])
    return axis, ndim, first


def _of_dims(a: pg.GlobalArray, ndim: int, first: int) -> pg.GlobalArray:
    """The view with so many dimensions at least: those that it has begin at `first`, counted from the last if < 0."""
    n_new = ndim - a.ndim
    if n_new <= 0:
        return a
    before = min(first if first >= 0 else first + n_new + 1, n_new)
    return a[(None,) * before + (...,) + (None,) * (n_new - before)]


r_, c_ = _Joined(0, 1, -1), _Joined(-1, 2, 0)
