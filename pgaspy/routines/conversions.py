"""Arrays of what NumPy reads arrays from, the same on every process; and arrays that are what a function wants."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
from numpy.typing import DTypeLike

import pgaspy as pg
from pgaspy.creation import AnyLayout, as_global, without_array
from pgaspy.dispatch import implements
from pgaspy.values import is_any

__all__ = [
    "asanyarray", "asarray_chkfinite", "ascontiguousarray", "asfortranarray", "common_type", "frombuffer", "fromiter",
    "fromstring", "geomspace", "logspace", "sort_complex",
]


def asanyarray(a: Any, dtype: DTypeLike | None = None) -> pg.GlobalArray:
    """As `asarray`: there are no subclasses of arrays. Collective."""
    return pg.asarray(a, dtype)


def asfortranarray(a: Any, dtype: DTypeLike | None = None) -> pg.GlobalArray:
    """As `asarray`: how a process orders its elements is no part of an array. Collective."""
    return pg.asarray(a, dtype)


def ascontiguousarray(a: Any, dtype: DTypeLike | None = None) -> pg.GlobalArray:
    """As `asarray`, of at least one dimension. Collective."""
    found = pg.asarray(a, dtype)
    return found if found.ndim else found[None]


def asarray_chkfinite(a: Any, dtype: DTypeLike | None = None) -> pg.GlobalArray:
    """As `asarray`, of finite numbers, for which all processes wait. Collective.

    Raises
    ------
    ValueError
        If there is an infinity, or NaN.
    """
    found = pg.asarray(a, dtype)
    if found.dtype.kind in "fc" and is_any(~np.isfinite(found)):
        raise ValueError("array must not contain infs or NaNs")
    return found


def fromiter(iter: Iterable[Any], dtype: DTypeLike, count: int = -1, *, layout: AnyLayout = None) -> pg.GlobalArray:
    """An array of what an iterator yields, the same on every process, which each exhausts. Collective.

    Parameters
    ----------
    iter
        Numbers.
    dtype
        That of the array.
    count
        How many are taken; all by default.
    layout
        As for `empty`.

    Raises
    ------
    ValueError
        If there are less.

    Examples
    --------
    >>> import pgaspy as pg
    >>> pg.fromiter((i * i for i in range(4)), int).gather()
    array([0, 1, 4, 9])
    """
    return pg.array(np.fromiter(iter, np.dtype(dtype), count), layout=layout)


def frombuffer(buffer: Any, dtype: DTypeLike = float, count: int = -1, offset: int = 0, *,
               layout: AnyLayout = None) -> pg.GlobalArray:
    """A copy of numbers in a buffer, the same on every process. Collective.

    Parameters
    ----------
    buffer
        Bytes, or what has some.
    dtype
        That of the numbers.
    count
        How many are taken; all by default.
    offset
        How many bytes come before.
    layout
        As for `empty`.

    Raises
    ------
    ValueError
        If there are less, or bytes are left.

    Examples
    --------
    >>> import pgaspy as pg
    >>> pg.frombuffer(b"abc", "u1").gather()
    array([97, 98, 99], dtype=uint8)
    """
    return pg.array(np.frombuffer(buffer, np.dtype(dtype), count, offset), layout=layout)


def fromstring(string: str, dtype: DTypeLike = float, count: int = -1, *, sep: str,
               layout: AnyLayout = None) -> pg.GlobalArray:
    """An array of numbers in a text, the same on every process. Collective.

    Parameters
    ----------
    string
        The text.
    dtype
        That of the numbers.
    count
        How many are taken; all by default.
    sep
        What is between two of them.
    layout
        As for `empty`.

    Raises
    ------
    ValueError
        If it holds something else.

    Examples
    --------
    >>> import pgaspy as pg
    >>> pg.fromstring("1, 2, 3", int, sep=",").gather()
    array([1, 2, 3])
    """
    return pg.array(np.fromstring(string, np.dtype(dtype), count, sep=sep), layout=layout)


@implements(np.logspace)
def logspace(start: Any, stop: Any, num: int = 50, endpoint: bool = True, base: Any = 10.0,
             dtype: DTypeLike | None = None, axis: int = 0, *, layout: AnyLayout = None) -> pg.GlobalArray:
    """Values of which the logarithms are evenly spaced over [start, stop]. Collective.

    Parameters
    ----------
    start, stop
        The logarithms of the first value and the last; or arrays of them, which broadcast.
    num, endpoint, axis, layout
        As for `linspace`.
    base
        Of the logarithms; or an array, which broadcasts with those.
    dtype
        By default that of floating-point numbers.

    Raises
    ------
    ValueError, TypeError
        As `linspace` does.

    Examples
    --------
    >>> import pgaspy as pg
    >>> pg.logspace(0, 3, 4).gather()
    array([   1.,   10.,  100., 1000.])
    """
    base = without_array(base)
    if np.ndim(base):
        base, start = as_global(base), as_global(start)
        start = start + pg.zeros(base.shape, start.dtype)
    found: pg.GlobalArray = np.power(base, pg.linspace(start, stop, num, endpoint, layout=layout))
    return _as_last(found if dtype is None else found.astype(dtype, copy=False), axis)


def _as_last(found: pg.GlobalArray, axis: int) -> pg.GlobalArray:
    """With the first dimension as another one."""
    return found if axis == 0 else pg.moveaxis(found, 0, axis).copy()


@implements(np.geomspace)
def geomspace(start: Any, stop: Any, num: int = 50, endpoint: bool = True, dtype: DTypeLike | None = None,
              axis: int = 0, *, layout: AnyLayout = None) -> pg.GlobalArray:
    """Values of which each is a multiple of the one before, from start to stop. Collective.

    Parameters
    ----------
    start, stop
        The first value and the last, numbers, also negative and complex ones; or arrays of them, which broadcast.
    num, endpoint, dtype, axis, layout
        As for `logspace`.

    Raises
    ------
    ValueError
        If start or stop is 0; else as `linspace` does.

    Examples
    --------
    >>> import pgaspy as pg
    >>> pg.geomspace(1, 8, 4).gather()
    array([1., 2., 4., 8.])
    """
    ends = [x if isinstance(x, pg.GlobalArray) else np.asarray(x) for x in (without_array(start), without_array(stop))]
    if is_any(ends[0] == 0) or is_any(ends[1] == 0):
        raise ValueError("Geometric sequence cannot include zero")
    computed = np.result_type(*(x.dtype for x in ends), float(num), np.zeros((), dtype))
    first, last = (x.astype(computed) for x in ends)
    sign: Any = np.sign(first)
    first, last = first / sign, last / sign
    result = logspace(np.log10(first), np.log10(last), num, endpoint, dtype=computed, layout=layout)
    if num > 0:
        result[0] = first
        if num > 1 and endpoint:
            result[-1] = last
    return _as_last((result * sign).astype(computed if dtype is None else dtype, copy=False), axis)


@implements(np.sort_complex)
def sort_complex(a: Any) -> pg.GlobalArray:
    """The elements along the last dimension in order, as complex numbers. Collective.

    Examples
    --------
    >>> import pgaspy as pg
    >>> pg.sort_complex(pg.array([2, 1 + 1j, 1 - 1j])).gather()
    array([1.-1.j, 1.+1.j, 2.+0.j])
    """
    found = pg.sort(as_global(a))
    dtype = np.sort_complex(np.zeros(1, found.dtype)).dtype
    return found.astype(dtype, copy=False)


@implements(np.common_type)
def common_type(*arrays: Any) -> type[Any]:
    """The type of floating-point numbers that arrays have in common. Not collective.

    Raises
    ------
    TypeError
        If one is not of numbers.
    """
    return np.common_type(*[np.empty(0, x.dtype) if isinstance(x, pg.GlobalArray) else x for x in arrays])
