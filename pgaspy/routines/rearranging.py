"""Dimensions in another order, elements in another order: views, where these are the same elements."""

from __future__ import annotations

import math
import operator
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.exceptions import AxisError
from numpy.lib.array_utils import normalize_axis_index, normalize_axis_tuple

import pgaspy as pg
from pgaspy.array import Axis
from pgaspy.creation import Shape, as_global, as_operand
from pgaspy.dispatch import implements
from pgaspy.manipulation import empty_like_result
from pgaspy.operands import as_extents
from pgaspy.small_calls import as_new, by_numpy

__all__ = ["fliplr", "flipud", "matrix_transpose", "moveaxis", "resize", "rollaxis", "rot90", "trim_zeros"]


# Dimensions ----------------------------------------------------------------------------------------------------------


@implements(np.moveaxis)
def moveaxis(a: Any, source: int | Sequence[int], destination: int | Sequence[int]) -> pg.GlobalArray:
    """The view with dimensions moved to other places; the others keep their order. Not collective.

    Parameters
    ----------
    a
        An array.
    source
        A dimension, or several.
    destination
        For each its place in the view.

    Raises
    ------
    ValueError
        If there is no such dimension or place, one comes twice, or there are not as many of both.

    Examples
    --------
    >>> import pgaspy as pg
    >>> pg.moveaxis(pg.zeros((2, 3, 4)), 0, -1).shape
    (3, 4, 2)
    """
    a = as_global(a)
    sources = normalize_axis_tuple(source, a.ndim, "source")
    places = normalize_axis_tuple(destination, a.ndim, "destination")
    if len(sources) != len(places):
        raise ValueError("`source` and `destination` arguments must have the same number of elements")
    order = [d for d in range(a.ndim) if d not in sources]
    for place, d in sorted(zip(places, sources, strict=True)):
        order.insert(place, d)
    return a.transpose(order)


@implements(np.rollaxis)
def rollaxis(a: Any, axis: int, start: int = 0) -> pg.GlobalArray:
    """The view with a dimension moved to where it comes before another; see `moveaxis`. Not collective.

    Parameters
    ----------
    a
        An array.
    axis
        The dimension.
    start
        The one that it comes before; as many as there are dimensions for the last place.

    Raises
    ------
    ValueError
        If there is no such dimension.

    Examples
    --------
    >>> import pgaspy as pg
    >>> pg.rollaxis(pg.zeros((2, 3, 4)), 2).shape
    (4, 2, 3)
    """
    a = as_global(a)
    axis = normalize_axis_index(axis, a.ndim)
    place = start + a.ndim if start < 0 else start
    if not 0 <= place <= a.ndim:
        raise AxisError(f"'start' arg requires {-a.ndim} <= start < {a.ndim + 1}, but {place} was passed in")
    return moveaxis(a, axis, place - 1 if axis < place else place)


@implements(np.matrix_transpose)
def matrix_transpose(x: Any, /) -> pg.GlobalArray:
    """The view with the last two dimensions exchanged. Not collective.

    Raises
    ------
    ValueError
        If there are less than two.
    """
    x = as_global(x)
    if x.ndim < 2:
        raise ValueError(f"Input array must be at least 2-dimensional, but it is {x.ndim}")
    return x.swapaxes(-1, -2)


# Reversed ------------------------------------------------------------------------------------------------------------


@implements(np.fliplr)
def fliplr(m: Any) -> pg.GlobalArray:
    """The view with the second dimension reversed, of an array of two or more; see `flip`. Not collective."""
    m = as_global(m)
    if m.ndim < 2:
        raise ValueError("Input must be >= 2-d.")
    return pg.flip(m, 1)


@implements(np.flipud)
def flipud(m: Any) -> pg.GlobalArray:
    """The view with the first dimension reversed, of an array of one or more; see `flip`. Not collective."""
    m = as_global(m)
    if m.ndim < 1:
        raise ValueError("Input must be >= 1-d.")
    return pg.flip(m, 0)


@implements(np.rot90)
def rot90(m: Any, k: int = 1, axes: Sequence[int] = (0, 1)) -> pg.GlobalArray:
    """The view that is rotated by right angles in the plane of two dimensions. Not collective.

    Parameters
    ----------
    m
        An array of two dimensions or more.
    k
        By how many right angles, from the first of `axes` towards the second.
    axes
        The two dimensions.

    Raises
    ------
    ValueError
        If there are no such dimensions, or these are not two.

    Examples
    --------
    >>> import pgaspy as pg
    >>> pg.rot90(pg.array([[1, 2], [3, 4]])).gather()
    array([[2, 4],
           [1, 3]])
    """
    m = as_global(m)
    if len(axes) != 2:
        raise ValueError("len(axes) must be 2.")
    if not all(-m.ndim <= axis < m.ndim for axis in axes):
        raise ValueError(f"Axes={tuple(axes)} out of range for array of ndim={m.ndim}.")
    first, second = (axis % m.ndim for axis in axes)
    if first == second:
        raise ValueError("Axes must be different.")
    if k % 4 == 0:
        return m[...]
    if k % 4 == 2:
        return pg.flip(m, (first, second))
    return pg.flip(m.swapaxes(first, second), first if k % 4 == 1 else second)


# Elements in row-major order -----------------------------------------------------------------------------------------


@implements(np.resize)
@by_numpy(np.resize, like=as_new)
def resize(a: Any, new_shape: Shape) -> pg.GlobalArray:
    """A new array of a shape, with the elements in row-major order, repeated as often as needed. Collective.

    Parameters
    ----------
    a
        An array; of one without elements zeros are made.
    new_shape
        The extents.

    Raises
    ------
    ValueError
        For a negative extent.

    Examples
    --------
    >>> import pgaspy as pg
    >>> pg.resize(pg.arange(3), (2, 4)).gather()
    array([[0, 1, 2, 0],
           [1, 2, 0, 1]])
    """
    flat = as_global(a).ravel()
    shape = tuple(map(operator.index, as_extents(new_shape)))
    if any(n < 0 for n in shape):
        raise ValueError("all elements of `new_shape` must be non-negative")
    size = math.prod(shape)
    if not flat.size or not size:
        return pg.zeros_like(flat, shape=shape)
    result = empty_like_result(flat, (size,), flat.dtype)
    n = min(flat.size, size)
    result[:n] = flat[:n]
    while n < size:
        more = min(n, size - n)
        result[n:n + more] = result[:more]
        n += more
    return result.reshape(shape)


@implements(np.trim_zeros)
def trim_zeros(filt: Any, trim: str = "fb", axis: Axis = None) -> pg.GlobalArray:
    """The view without the zeros at the ends of dimensions. Collective; every process waits for where they end.

    Parameters
    ----------
    filt
        An array.
    trim
        "f" at the first indices, "b" at the last ones, "fb" at both.
    axis
        A dimension, or several; all by default.

    Raises
    ------
    ValueError
        If there is no such dimension, or for another `trim`.

    Examples
    --------
    >>> import pgaspy as pg
    >>> pg.trim_zeros(pg.array([0, 0, 1, 0, 2, 0])).gather()
    array([1, 0, 2])
    """
    a = as_operand(filt)
    ends = trim.lower()
    if ends not in ("f", "b", "fb", "bf"):
        raise ValueError(f"unexpected character(s) in `trim`: {ends!r}")
    axes = range(a.ndim) if axis is None else normalize_axis_tuple(axis, a.ndim, "axis")
    is_kept = a != np.zeros((), a.dtype)
    return a[(*(_without_zeros(is_kept, d, ends) if d in axes else slice(None) for d in range(a.ndim)), ...)]


def _without_zeros(is_kept: Any, d: int, ends: str) -> slice:
    """From the first to the last index of a dimension at which anything is true."""
    found = is_kept.any(axis=tuple(e for e in range(is_kept.ndim) if e != d))
    if not found.size or not found.any():
        return slice(0, 0)
    return slice(int(found.argmax()) if "f" in ends else None,
                 len(found) - int(found[::-1].argmax()) if "b" in ends else None)
