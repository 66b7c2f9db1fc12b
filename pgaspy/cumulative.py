"""NumPy's functions of running sums and products besides `cumsum` and `cumprod`."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import DTypeLike

from pgaspy.array import GlobalArray
from pgaspy.concatenation import concatenate
from pgaspy.creation import as_global, full
from pgaspy.dispatch import implements, named
from pgaspy.manipulation import where

__all__ = ["cumulative_prod", "cumulative_sum", "nancumprod", "nancumsum"]


@implements(*named("cumulative_sum"))
def cumulative_sum(x: Any, /, *, axis: int | None = None, dtype: DTypeLike | None = None,
                   out: GlobalArray | None = None, include_initial: bool = False) -> GlobalArray:
    """The running sums along a dimension. Collective.

    Parameters
    ----------
    x
        An array.
    axis
        One dimension; it may be left out if there is only one.
    dtype, out
        As for `cumsum`.
    include_initial
        Begin with a sum of nothing, so that there is one element more along the dimension.

    Returns
    -------
    As for `cumsum`.

    Raises
    ------
    ValueError
        If there is no such dimension, or `axis` is needed; or if `out` has another shape.
    TypeError
        For a dtype without sums.

    Examples
    --------
    >>> import pgaspy as pg
    >>> pg.cumulative_sum(pg.arange(1, 5), include_initial=True).gather()
    array([ 0,  1,  3,  6, 10])
    """
    return _cumulative(np.add, x, axis, dtype, out, include_initial)


@implements(*named("cumulative_prod"))
def cumulative_prod(x: Any, /, *, axis: int | None = None, dtype: DTypeLike | None = None,
                    out: GlobalArray | None = None, include_initial: bool = False) -> GlobalArray:
    """The running products along a dimension. Collective; all else is as for `cumulative_sum`.

    Examples
    --------
    >>> import pgaspy as pg
    >>> pg.cumulative_prod(pg.arange(1, 5), include_initial=True).gather()
    array([ 1,  1,  2,  6, 24])
    """
    return _cumulative(np.multiply, x, axis, dtype, out, include_initial)


def _cumulative(ufunc: np.ufunc, x: Any, axis: int | None, dtype: DTypeLike | None, out: GlobalArray | None,
                include_initial: bool) -> GlobalArray:
    x = as_global(x)
    x = x if x.ndim else x.reshape(1)
    if axis is None and x.ndim > 1:
        raise ValueError("For arrays which have more than one dimension ``axis`` argument is required.")
    axis = 0 if axis is None else axis
    if not include_initial:
        return _accumulate(ufunc, x, axis, dtype, out)
    if out is not None:
        _accumulate(ufunc, x, axis, dtype, out.swapaxes(0, axis)[1:].swapaxes(0, axis))
        out.swapaxes(0, axis)[0] = ufunc.identity
        return out
    found = _accumulate(ufunc, x, axis, dtype)
    extents = list(x.shape)
    extents[axis] = 1
    return concatenate((full(extents, ufunc.identity, found.dtype), found), axis)


def _accumulate(ufunc: np.ufunc, x: GlobalArray, axis: int, dtype: DTypeLike | None,
                out: GlobalArray | None = None) -> GlobalArray:
    found: Any = ufunc.accumulate(x, axis, dtype, out)  # type: ignore[arg-type]
    result: GlobalArray = found
    return result


@implements(np.nancumsum)
def nancumsum(a: Any, axis: int | None = None, dtype: DTypeLike | None = None,
              out: GlobalArray | None = None) -> GlobalArray:
    """The running sums along a dimension, in which NaN counts as 0. Collective; all else is as for `cumsum`.

    Examples
    --------
    >>> import pgaspy as pg
    >>> pg.nancumsum(pg.array([1.0, pg.nan, 2.0])).gather()
    array([1., 1., 3.])
    """
    return _without_nan(a, 0).cumsum(axis, dtype, out)


@implements(np.nancumprod)
def nancumprod(a: Any, axis: int | None = None, dtype: DTypeLike | None = None,
               out: GlobalArray | None = None) -> GlobalArray:
    """The running products along a dimension, in which NaN counts as 1. Collective; all else is as for `cumsum`.

    Examples
    --------
    >>> import pgaspy as pg
    >>> pg.nancumprod(pg.array([3.0, pg.nan, 2.0])).gather()
    array([3., 3., 6.])
    """
    return _without_nan(a, 1).cumprod(axis, dtype, out)


def _without_nan(a: Any, value: int) -> GlobalArray:
    a = as_global(a)
    return where(np.isnan(a), value, a) if a.dtype.kind in "fc" else a
