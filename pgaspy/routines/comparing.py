"""Whether arrays are equal, or close; what kind of numbers they hold."""

from __future__ import annotations

from typing import Any

import numpy as np

import pgaspy as pg
from pgaspy.array import made
from pgaspy.creation import as_array, as_global
from pgaspy.dispatch import implements
from pgaspy.operands import WEAK, as_numpy, refuse_masked
from pgaspy.planning.view import joint_shape
from pgaspy.routines.mapping import on_parts
from pgaspy.scheduling.floating_point import silently
from pgaspy.small_calls import MAX_PASSED, by_numpy

__all__ = [
    "allclose", "array_equal", "array_equiv", "isclose", "iscomplex", "iscomplexobj", "isneginf", "isposinf", "isreal",
    "isrealobj", "isscalar", "real_if_close",
]


# Two arrays ----------------------------------------------------------------------------------------------------------


@implements(pg.GlobalArray.__eq__)
def _unlike(ufunc: np.ufunc, x: pg.GlobalArray, y: Any) -> pg.GlobalArray | None:
    """What `==` or `!=`, which is this ufunc, is where NumPy's arrays have no function for it. Collective.

    An object is compared with each element, as Python does it. Text, numbers and times are never the same. None for all
    else.
    """
    if not isinstance(y, pg.GlobalArray):
        refuse_masked(y)
        y = as_numpy(y)
    if y.dtype.kind == "O" and not y.ndim:
        return on_parts(lambda part: ufunc(part, y), [np.dtype(bool)], [x])[0]
    if y.dtype.kind in "OV" or _are_comparable(x.dtype, y.dtype):
        return None
    found = pg.full_like(pg.broadcast_to(x, joint_shape(x.shape, y.shape)), ufunc is np.not_equal, dtype=bool)
    return made(found._base, found._view)


def _are_comparable(x: np.dtype[Any], y: np.dtype[Any]) -> bool:
    """Whether NumPy has a function that tells whether elements of these dtypes are equal."""
    try:
        np.equal.resolve_dtypes((x, y, None))
    except TypeError:
        return False
    return True


@implements(np.isclose)
@by_numpy(np.isclose)
def isclose(a: Any, b: Any, rtol: Any = 1e-05, atol: Any = 1e-08, equal_nan: bool = False) -> pg.GlobalArray:
    """Which elements are the same but for an error, `abs(a - b) <= atol + rtol * abs(b)`. Collective.

    Parameters
    ----------
    a, b
        Arrays or numbers that broadcast to one shape.
    rtol, atol
        The relative and the absolute error; numbers, or arrays that broadcast.
    equal_nan
        Whether NaN is close to NaN.

    Returns
    -------
    Booleans, of the shape that `a` and `b` broadcast to. Infinite elements are close where they are equal.

    Raises
    ------
    ValueError
        If the shapes do not broadcast.
    TypeError
        For dtypes without differences.

    Examples
    --------
    >>> import pgaspy as pg
    >>> pg.isclose(pg.array([1.0, 2.0, pg.nan]), [1.0 + 1e-9, 2.1, pg.nan], equal_nan=True).gather()
    array([ True, False,  True])
    """
    x, y = (x if type(x) in WEAK else as_array(x) for x in (a, b))
    if not isinstance(x, pg.GlobalArray) and not isinstance(y, pg.GlobalArray):
        x = as_global(x)
    if isinstance(y, int):
        y = float(y)
    elif type(y) not in WEAK and y.dtype.kind != "m":
        y = y.astype(np.result_type(y.dtype, 1.0), copy=False)
    found = silently(lambda: (abs(x - y) <= atol + rtol * abs(y)) & np.isfinite(y) | (x == y))
    result: pg.GlobalArray = found | np.isnan(x) & np.isnan(y) if equal_nan else found
    return result


@implements(np.allclose)
def allclose(a: Any, b: Any, rtol: Any = 1e-05, atol: Any = 1e-08, equal_nan: bool = False) -> bool:
    """Whether all elements are the same but for an error; see `isclose`. Collective; every process waits for it.

    Examples
    --------
    >>> import pgaspy as pg
    >>> pg.allclose(pg.array([1.0, 2.0]), [1.0, 2.0 + 1e-9])
    True
    """
    return bool(isclose(a, b, rtol, atol, equal_nan).all())


@implements(np.array_equal)
def array_equal(a1: Any, a2: Any, equal_nan: bool = False) -> bool:
    """Whether two arrays have the same shape and the same elements. Collective; every process waits for it.

    Parameters
    ----------
    a1, a2
        Arrays.
    equal_nan
        Whether NaN is equal to NaN.

    Examples
    --------
    >>> import pgaspy as pg
    >>> pg.array_equal(pg.arange(3), [0, 1, 2])
    True
    >>> pg.array_equal(pg.arange(3), [[0, 1, 2]])
    False
    """
    return bool(_are_equal(a1, a2, equal_nan))


@by_numpy(np.array_equal, max_elements=MAX_PASSED)
def _are_equal(a1: Any, a2: Any, equal_nan: bool) -> Any:
    try:
        x, y = as_array(a1), as_array(a2)
    except ValueError:  # of sequences of several lengths
        return False
    if x.shape != y.shape:
        return False
    same = x == y
    if equal_nan and not {x.dtype.kind, y.dtype.kind} <= set("biu"):
        same = same | np.isnan(x) & np.isnan(y)
    return as_global(same).all()


@implements(np.array_equiv)
def array_equiv(a1: Any, a2: Any) -> bool:
    """Whether two arrays have the same elements when they are broadcast. Collective; every process waits for it.

    Examples
    --------
    >>> import pgaspy as pg
    >>> pg.array_equiv(pg.array([1, 2]), [[1, 2], [1, 2]])
    True
    """
    try:
        x, y = as_array(a1), as_array(a2)
        joint_shape(x.shape, y.shape)
    except ValueError:  # of sequences of several lengths, or shapes that do not broadcast
        return False
    return bool(as_global(x == y).all())


# One array -----------------------------------------------------------------------------------------------------------


@implements(np.isposinf)
def isposinf(x: Any, out: Any = None) -> pg.GlobalArray:
    """Which elements are positive infinity. Collective.

    Parameters
    ----------
    x
        An array of real numbers.
    out
        An array of the same shape, to which the result is assigned, and which is returned.

    Raises
    ------
    TypeError
        For complex numbers.

    Examples
    --------
    >>> import pgaspy as pg
    >>> pg.isposinf(pg.array([pg.inf, -pg.inf, 1.0])).gather()
    array([ True, False, False])
    """
    x = _of_real_numbers(x)
    result: pg.GlobalArray = np.logical_and(np.isinf(x), ~np.signbit(x), out)
    return result


@implements(np.isneginf)
def isneginf(x: Any, out: Any = None) -> pg.GlobalArray:
    """Which elements are negative infinity; see `isposinf`. Collective."""
    x = _of_real_numbers(x)
    result: pg.GlobalArray = np.logical_and(np.isinf(x), np.signbit(x), out)
    return result


def _of_real_numbers(x: Any) -> pg.GlobalArray:
    x = as_global(x)
    if x.dtype.kind not in "biuf":
        raise TypeError(f"This operation is not supported for {x.dtype} values because it would be ambiguous.")
    return x


@implements(np.isreal)
def isreal(x: Any) -> pg.GlobalArray:
    """Which elements have no imaginary part, or one that is zero. Collective.

    Examples
    --------
    >>> import pgaspy as pg
    >>> pg.isreal(pg.array([1 + 1j, 2 + 0j])).gather()
    array([False,  True])
    """
    x = as_global(x)
    result: pg.GlobalArray = x.imag == 0 if x.dtype.kind == "c" else np.logical_or(x, True)
    return result


@implements(np.iscomplex)
def iscomplex(x: Any) -> pg.GlobalArray:
    """Which elements have an imaginary part that is not zero; see `isreal`. Collective."""
    x = as_global(x)
    result: pg.GlobalArray = x.imag != 0 if x.dtype.kind == "c" else np.logical_and(x, False)
    return result


@implements(np.iscomplexobj)
def iscomplexobj(x: Any) -> bool:
    """Whether the dtype is one of complex numbers, also if all imaginary parts are zero. Not collective."""
    return x.dtype.kind == "c" if isinstance(x, pg.GlobalArray) else np.iscomplexobj(x)


@implements(np.isrealobj)
def isrealobj(x: Any) -> bool:
    """Whether the dtype is not one of complex numbers. Not collective."""
    return not iscomplexobj(x)


def isscalar(element: Any) -> bool:
    """Whether something is a number, or text: also an element of a global array. Not collective.

    Examples
    --------
    >>> import pgaspy as pg
    >>> pg.isscalar(pg.ones(3).sum()), pg.isscalar(pg.ones(()))
    (True, False)
    """
    return np.isscalar(element) or (isinstance(element, pg.GlobalArray) and element._is_number)


@implements(np.real_if_close)
def real_if_close(a: Any, tol: float = 100) -> pg.GlobalArray:
    """The real part, where all imaginary parts are close to zero; else the array itself. Collective.

    Parameters
    ----------
    a
        An array; of complex numbers it is waited for.
    tol
        What imaginary parts are less than: as a multiple of the dtype's epsilon, or a number up to 1 as it is.

    Examples
    --------
    >>> import pgaspy as pg
    >>> pg.real_if_close(pg.array([2.0 + 1e-15j, 3.0])).gather()
    array([2., 3.])
    """
    a = as_global(a)
    if a.dtype.kind != "c":
        return a
    largest = np.finfo(a.dtype).eps * tol if tol > 1 else tol
    return a.real if bool((abs(a.imag) < largest).all()) else a
