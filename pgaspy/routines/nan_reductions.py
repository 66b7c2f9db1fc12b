"""Reductions that pass over what is not a number."""

from __future__ import annotations

import operator
from typing import Any

import numpy as np
from numpy.typing import DTypeLike

import pgaspy as pg
from pgaspy.array import into, made
from pgaspy.creation import as_global
from pgaspy.deferred import warn_later
from pgaspy.dispatch import implements
from pgaspy.reductions import NO_VALUE
from pgaspy.scheduling.floating_point import silently
from pgaspy.values import value

__all__ = ["nanargmax", "nanargmin", "nanmax", "nanmean", "nanmin", "nanprod", "nanstd", "nansum", "nanvar"]

Axis = int | tuple[int, ...] | None
Out = pg.GlobalArray | None


@implements(np.nansum)
def nansum(a: Any, axis: Axis = None, dtype: DTypeLike | None = None, out: Out = None, keepdims: bool = False,
           initial: Any = 0, where: Any = True) -> pg.GlobalArray:
    """The sum of the elements along dimensions that are not NaN. Collective.

    Parameters
    ----------
    a
        An array.
    axis, dtype, out, keepdims
        As for `sum`.
    initial
        A number that the sum begins with.
    where
        Booleans that broadcast to the shape of `a`: which elements count.

    Returns
    -------
    As by `sum`; 0 where there are no elements but NaN.

    Raises
    ------
    ValueError, TypeError
        As `sum` does.

    Examples
    --------
    >>> import pgaspy as pg
    >>> pg.nansum(pg.array([[1.0, pg.nan], [2.0, 3.0]]), axis=0).gather()
    array([3., 3.])
    """
    return _replaced(a, 0).sum(axis, dtype, out, keepdims, NO_VALUE if initial == 0 else initial, where)


@implements(np.nanprod)
def nanprod(a: Any, axis: Axis = None, dtype: DTypeLike | None = None, out: Out = None, keepdims: bool = False,
            initial: Any = 1, where: Any = True) -> pg.GlobalArray:
    """The product of the elements along dimensions that are not NaN. Collective; all else is as for `nansum`.

    Examples
    --------
    >>> import pgaspy as pg
    >>> float(pg.nanprod(pg.array([2.0, pg.nan, 3.0])))
    6.0
    """
    return _replaced(a, 1).prod(axis, dtype, out, keepdims, NO_VALUE if initial == 1 else initial, where)


@implements(np.nanmax)
def nanmax(a: Any, axis: Axis = None, out: Out = None, keepdims: bool = False, initial: Any = None,
           where: Any = True) -> pg.GlobalArray:
    """The greatest element along dimensions that is not NaN. Collective.

    Parameters
    ----------
    a
        An array.
    axis, out, keepdims
        As for `sum`.
    initial
        A number that the result is no less than.
    where
        Booleans that broadcast to the shape of `a`: which elements count. It needs `initial`.

    Returns
    -------
    As by `max`; NaN where there are no other elements, of which each process that has the result warns when it is
    computed, and raises nothing, whatever filters of warnings there are.

    Raises
    ------
    ValueError
        If there are no elements, or no such dimension; or without `initial`, if there is `where`.

    Examples
    --------
    >>> import pgaspy as pg
    >>> pg.nanmax(pg.array([[1.0, pg.nan], [2.0, 3.0]]), axis=1).gather()
    array([1., 3.])
    """
    return _extreme(np.fmax, a, axis, out, keepdims, initial, where)


@implements(np.nanmin)
def nanmin(a: Any, axis: Axis = None, out: Out = None, keepdims: bool = False, initial: Any = None,
           where: Any = True) -> pg.GlobalArray:
    """The least element along dimensions that is not NaN. Collective; all else is as for `nanmax`.

    Examples
    --------
    >>> import pgaspy as pg
    >>> pg.nanmin(pg.array([[1.0, pg.nan], [2.0, 3.0]]), axis=0).gather()
    array([1., 3.])
    """
    return _extreme(np.fmin, a, axis, out, keepdims, initial, where)


@implements(np.nanargmax)
def nanargmax(a: Any, axis: int | None = None, out: Out = None, *, keepdims: bool = False) -> pg.GlobalArray:
    """The index of the greatest element along a dimension that is not NaN. Collective.

    Parameters
    ----------
    a
        An array.
    axis, out, keepdims
        As for `argmax`.

    Raises
    ------
    ValueError
        If there are no elements but NaN, which every process waits to know; or there is no such dimension.

    Examples
    --------
    >>> import pgaspy as pg
    >>> int(pg.nanargmax(pg.array([1.0, pg.nan, 3.0])))
    2
    """
    return _without_all_nan(a, -np.inf, axis).argmax(axis, out, keepdims=keepdims)


@implements(np.nanargmin)
def nanargmin(a: Any, axis: int | None = None, out: Out = None, *, keepdims: bool = False) -> pg.GlobalArray:
    """The index of the least element along a dimension that is not NaN. Collective; all else is as for `nanargmax`.

    Examples
    --------
    >>> import pgaspy as pg
    >>> int(pg.nanargmin(pg.array([pg.nan, 3.0, 1.0])))
    2
    """
    return _without_all_nan(a, np.inf, axis).argmin(axis, out, keepdims=keepdims)


@implements(np.nanmean)
def nanmean(a: Any, axis: Axis = None, dtype: DTypeLike | None = None, out: Out = None, keepdims: bool = False, *,
            where: Any = True) -> pg.GlobalArray:
    """The arithmetic mean along dimensions of what is not NaN. Collective.

    Parameters
    ----------
    a
        An array.
    axis, dtype, out, keepdims
        As for `mean`.
    where
        Booleans that broadcast to the shape of `a`: which elements count.

    Returns
    -------
    As by `mean`; NaN where there are no elements, of which each process that has the result warns when it is computed.

    Raises
    ------
    ValueError
        If there is no such dimension.
    TypeError
        If floats are to be added as integers.

    Examples
    --------
    >>> import pgaspy as pg
    >>> pg.nanmean(pg.array([[1.0, pg.nan], [2.0, 3.0]]), axis=0).gather()
    array([1.5, 3. ])
    """
    a = as_global(a)
    if a.dtype.kind not in "fc":
        return a.mean(axis, dtype, out, keepdims, where=where)
    _check_inexact(a, dtype, out)
    total, n = _sum_and_count(a, axis, dtype, out, keepdims, where)
    warn_later(n, np.less_equal, "Mean of empty slice")
    return _assigned(_divided(total, n).astype(total.dtype, copy=False), out)


def _divided(total: pg.GlobalArray, n: pg.GlobalArray) -> pg.GlobalArray:
    """Divided, without errors: of slices that are empty it is warned besides."""
    return silently(operator.truediv, total, n)


@implements(np.nanvar)
def nanvar(a: Any, axis: Axis = None, dtype: DTypeLike | None = None, out: Out = None, ddof: float = 0,
           keepdims: bool = False, *, where: Any = True, mean: Any = None,
           correction: float | None = None) -> pg.GlobalArray:
    """The variance along dimensions of what is not NaN. Collective; all else is as for `nanmean`.

    Parameters
    ----------
    a, axis, dtype, out, keepdims, where
        As for `nanmean`.
    ddof, correction
        The sum of the squares of n elements is divided by n less this number; NaN where n is not greater. One of both.
    mean
        The mean, where it is known, with the dimensions that are reduced.

    Raises
    ------
    ValueError
        If there is no such dimension, or both `ddof` and `correction` are given.

    Examples
    --------
    >>> import pgaspy as pg
    >>> float(pg.nanvar(pg.array([1.0, pg.nan, 3.0])))
    1.0
    """
    a = as_global(a)
    if correction is not None:
        if ddof:
            raise ValueError("ddof and correction can't be provided simultaneously.")
        ddof = correction
    if a.dtype.kind not in "fc":
        return a.var(axis, dtype, out, ddof, keepdims, where=where, mean=NO_VALUE if mean is None else mean)
    _check_inexact(a, dtype, out)
    total, n = _sum_and_count(a, axis, dtype, None, True, where)
    mean = _divided(total, n).astype(total.dtype, copy=False) if mean is None else mean
    counted = _counted(a, where)
    distance: Any = pg.where(counted, (a - mean).astype(a.dtype, copy=False), 0)
    squares = (distance * distance.conj()).real if a.dtype.kind == "c" else np.square(distance)
    free = counted.sum(axis, None, None, keepdims) - ddof
    found = squares.sum(axis, dtype, out, keepdims)
    warn_later(free, np.less_equal, "Degrees of freedom <= 0 for slice.")
    return _assigned(pg.where(free > 0, _divided(found, free), np.nan).astype(found.dtype, copy=False), out)


@implements(np.nanstd)
def nanstd(a: Any, axis: Axis = None, dtype: DTypeLike | None = None, out: Out = None, ddof: float = 0,
           keepdims: bool = False, *, where: Any = True, mean: Any = None,
           correction: float | None = None) -> pg.GlobalArray:
    """The standard deviation along dimensions of what is not NaN: the square root of `nanvar`. Collective.

    Examples
    --------
    >>> import pgaspy as pg
    >>> float(pg.nanstd(pg.array([1.0, pg.nan, 3.0])))
    1.0
    """
    a = as_global(a)
    if a.dtype.kind not in "fc":
        return a.std(axis, dtype, out, ddof, keepdims, where=where, mean=NO_VALUE if mean is None else mean,
                     correction=NO_VALUE if correction is None else correction)
    variance = nanvar(a, axis, dtype, out, ddof, keepdims, where=where, mean=mean, correction=correction)
    return _assigned(np.sqrt(variance), out)  # type: ignore[arg-type]


# What counts ----------------------------------------------------------------------------------------------------------


def _counted(a: pg.GlobalArray, where: Any) -> Any:
    """Which elements of an array of floating-point numbers count."""
    numbers: Any = a == a
    return numbers if where is True else pg.broadcast_to(where, a.shape) & numbers


def _replaced(a: Any, number: Any, where: Any = True) -> pg.GlobalArray:
    """The elements, with a number in the place of those that do not count."""
    a = as_global(a)
    return a if a.dtype.kind not in "fc" else pg.where(_counted(a, where), a, number)


def _sum_and_count(a: pg.GlobalArray, axis: Axis, dtype: DTypeLike | None, out: Out, keepdims: bool,
                   where: Any) -> Any:
    """The sum, in `out` where that is given, and of how many elements."""
    n = _counted(a, where).sum(axis, None, None, keepdims)  # first, as `out` may be a part of the array
    return _replaced(a, 0, where).sum(axis, dtype, out, keepdims), n


def _without_all_nan(a: Any, number: float, axis: int | None) -> pg.GlobalArray:
    """The elements, with a number in the place of NaN; refused, where there is nothing else."""
    a = as_global(a)
    if a.dtype.kind in "fc" and a.size and value(np.isnan(a).all(axis).any(), False):
        raise ValueError("All-NaN slice encountered")
    return _replaced(a, number)


def _check_inexact(a: pg.GlobalArray, dtype: DTypeLike | None, out: Out) -> None:
    for name, given in (("dtype", dtype), ("out", getattr(out, "dtype", None))):
        if given is not None and a.dtype.kind in "fc" and np.dtype(given).kind not in "fc":
            raise TypeError(f"If a is inexact, then {name} must be inexact")


# What is found --------------------------------------------------------------------------------------------------------


def _extreme(ufunc: Any, a: Any, axis: Axis, out: Out, keepdims: bool, initial: Any, where: Any) -> pg.GlobalArray:
    a = as_global(a)
    found = ufunc.reduce(a, axis, keepdims=keepdims, initial=NO_VALUE if initial is None else initial, where=where)
    if a.dtype.kind in "fc":
        warn_later(found, np.not_equal, "All-NaN slice encountered")
    return _assigned(found, out)


def _assigned(found: pg.GlobalArray, out: Out) -> pg.GlobalArray:
    """The result; assigned to `out`, where that is given."""
    return into(found if found._source is not None else made(found._base, found._view), (out,))
