"""Functions of single elements that are no ufuncs: what is rounded, and what is replaced."""

from __future__ import annotations

import functools
import operator
from typing import Any

import numpy as np

import pgaspy as pg
from pgaspy.array import made
from pgaspy.creation import as_global
from pgaspy.dispatch import implements
from pgaspy.global_assign import copied
from pgaspy.routines.mapping import mapped
from pgaspy.small_calls import by_numpy

__all__ = ["around", "fix", "nan_to_num", "round", "sinc"]


@implements(np.round, np.around)
@by_numpy(np.round)
def round(a: Any, decimals: int = 0, out: pg.GlobalArray | None = None) -> pg.GlobalArray:
    """The elements with so many decimal places, halves to even digits. Collective.

    Parameters
    ----------
    a
        An array of numbers.
    decimals
        How many places; if negative, so many before the point become 0.
    out
        An array of the result's shape, to which the result is assigned, and which is returned.

    Raises
    ------
    TypeError
        For dtypes that are not rounded.

    Examples
    --------
    >>> import pgaspy as pg
    >>> pg.round(pg.array([1.25, 0.5, 13.375]), 1).gather()
    array([ 1.2,  0.5, 13.4])
    """
    a, decimals = as_global(a), operator.index(decimals)
    dtype = np.round(np.zeros(1, a.dtype), decimals).dtype  # an error, where NumPy has one
    if a.dtype.kind in "iu" and decimals >= 0:
        found = made(*copied(a._base, a._view))
    elif a.dtype.kind == "c":
        found, = mapped(functools.partial(np.round, decimals=decimals), (dtype,), (a,))
    elif not decimals:
        found = pg.rint(a)
    else:
        factor = 10.0 ** abs(decimals)
        there, back = (np.multiply, np.divide) if decimals > 0 else (np.divide, np.multiply)
        rounded: Any = back(np.rint(there(a, factor)), factor)
        found = rounded.astype(dtype, copy=False)
    if out is None:
        return found
    return np.positive(found, out=out)  # type: ignore[call-overload]


around = round


@implements(np.fix)
def fix(x: Any, out: pg.GlobalArray | None = None) -> pg.GlobalArray:
    """The elements, rounded to the next integer towards 0; NumPy's `trunc`. Collective.

    Parameters
    ----------
    x
        An array of real numbers.
    out
        An array of the result's shape, to which the result is assigned, and which is returned.

    Raises
    ------
    TypeError
        For complex numbers.

    Examples
    --------
    >>> import pgaspy as pg
    >>> pg.fix(pg.array([-1.7, 1.7])).gather()
    array([-1.,  1.])
    """
    return np.trunc(as_global(x), out=out)  # type: ignore[return-value, arg-type]


@implements(np.nan_to_num)
@by_numpy(np.nan_to_num, copy=True)
def nan_to_num(x: Any, copy: bool = True, nan: Any = 0.0, posinf: Any = None, neginf: Any = None) -> pg.GlobalArray:
    """The elements, with numbers in the place of NaN and of infinite ones. Collective.

    Parameters
    ----------
    x
        An array.
    copy
        Make a new array; without, what is replaced is replaced in `x`, which is returned.
    nan, posinf, neginf
        What takes the place of NaN, and of infinities; of these by default the greatest and the least number of the
        dtype. Real and imaginary parts of complex numbers are replaced each.

    Examples
    --------
    >>> import pgaspy as pg
    >>> pg.nan_to_num(pg.array([1.0, pg.nan, pg.inf]), posinf=9).gather()
    array([1., 0., 9.])
    """
    given, x = x, as_global(x)
    if x.dtype.kind not in "fc":
        return made(*copied(x._base, x._view)) if copy else x
    if x.dtype.kind == "c":
        replace = functools.partial(np.nan_to_num, nan=nan, posinf=posinf, neginf=neginf)
        found, = mapped(replace, (x.dtype,), (x,))
    else:
        limits, number = np.finfo(x.dtype), x.dtype.type if x.dtype.char == "g" else float
        greatest, least = (number(limits.max) if posinf is None else posinf,
                           number(limits.min) if neginf is None else neginf)
        found = pg.where(np.isnan(x), nan, pg.where(x == np.inf, greatest, pg.where(x == -np.inf, least, x)))
        found = found.astype(x.dtype, copy=False)
    if copy or given is not x:
        return found if found._source is not None else made(found._base, found._view)
    x[...] = found
    return x


@implements(np.sinc)
def sinc(x: Any) -> pg.GlobalArray:
    """`sin(pi * x) / (pi * x)`, and 1 where x is 0. Collective.

    Parameters
    ----------
    x
        An array of numbers; integers are taken as float64.

    Examples
    --------
    >>> import pgaspy as pg
    >>> pg.sinc(pg.array([0.0, 0.5])).gather().round(4)
    array([1.    , 0.6366])
    """
    x = np.pi * as_global(x)
    y: Any = pg.where(x != 0, x, float(np.finfo(x.dtype).eps) if x.dtype.kind == "f" else 1e-20)
    return np.sin(y) / y
