"""The names of `numpy.lib.stride_tricks`, as far as distributed arrays can have them."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.lib.array_utils import normalize_axis_tuple
from numpy.lib.stride_tricks import sliding_window_view as _numpys

import pgaspy as pg
from pgaspy.creation import as_global
from pgaspy.dispatch import implements
from pgaspy.manipulation import broadcast_to as broadcast_to
from pgaspy.missing import missing

__all__ = ["broadcast_to", "sliding_window_view"]

MAX_APART = 4
"""Elements of a window that are written one by one, each to all windows."""


if not TYPE_CHECKING:  # to which every name would be right, then

    def __getattr__(name: str) -> Any:
        raise missing("module 'pgaspy.lib.stride_tricks'", name, sys.modules[__name__], np.lib.stride_tricks)


@implements(_numpys)
def sliding_window_view(x: Any, window_shape: int | Sequence[int], axis: int | tuple[int, ...] | None = None, *,
                        subok: bool = False, writeable: bool = False) -> pg.GlobalArray:
    """All windows of an array, each shifted by one element. Collective.

    Parameters
    ----------
    x
        An array.
    window_shape
        The extent of a window along each dimension that `axis` names.
    axis
        The dimensions; all of them by default.
    subok
        Has no effect.
    writeable
        False, as no window can be written to.

    Returns
    -------
    A new array: the dimensions of `x`, along which the windows begin, and then those within a window. Where a window
    begins it lies, so that its other elements are those of neighbours. NumPy gives a view; here each window has its
    elements, which takes as much memory as they are. Of windows that begin far apart,
    `x[starts[:, None] + np.arange(n)]` takes the elements alone.

    Raises
    ------
    ValueError
        For extents that are negative or longer than those of `x`, or not as many as dimensions; or for `writeable`.

    Examples
    --------
    >>> import pgaspy as pg
    >>> pg.lib.stride_tricks.sliding_window_view(pg.arange(5), 3).gather()
    array([[0, 1, 2],
           [1, 2, 3],
           [2, 3, 4]])
    """
    x = as_global(x)
    if writeable:
        raise ValueError("windows of global arrays are copies: what is written to one would be in no other")
    _numpys(np.broadcast_to(np.zeros((), x.dtype), x.shape), window_shape, axis)  # raises
    extents = tuple(np.atleast_1d(window_shape))
    axes = range(x.ndim) if axis is None else normalize_axis_tuple(axis, x.ndim, allow_duplicate=True)
    for d, extent in zip(axes, map(int, extents), strict=True):
        x = _windows(x, d, extent)
    return x


def _windows(x: pg.GlobalArray, axis: int, extent: int) -> pg.GlobalArray:
    """The windows along one dimension; what is within them comes last.

    They are put together of shorter ones, half as long, whose elements lie in a row; a few, of elements.
    """
    n = x.shape[axis] - extent + 1
    shape = (*x.shape[:axis], n, *x.shape[axis + 1:], extent)
    if not extent:
        return pg.empty(shape, x.dtype)
    length = 1 if extent <= MAX_APART else (extent + 1) // 2
    shorter = x[..., None] if length == 1 else _windows(x, axis, length)
    first = shorter[(slice(None),) * axis + (slice(n),)]
    result = pg.empty_like(broadcast_to(first[..., :1], shape))
    for start in range(extent) if length == 1 else (0, extent - length):  # which may have one element in common
        result[..., start:start + length] = shorter[(slice(None),) * axis + (slice(start, start + n),)]
    return result
