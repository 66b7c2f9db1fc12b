"""Differences of neighbours and what follows from them, as expressions of shifted views."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.lib.array_utils import normalize_axis_index, normalize_axis_tuple

from pgaspy.array import GlobalArray
from pgaspy.concatenation import concatenate
from pgaspy.creation import as_array, as_global, empty_like
from pgaspy.dispatch import implements
from pgaspy.manipulation import broadcast_to
from pgaspy.operands import refuse_truths
from pgaspy.small_calls import by_numpy

__all__ = ["diff", "ediff1d", "gradient", "trapezoid"]


def _along(a: Any, axis: int, start: int | None, stop: int | None) -> Any:
    """A section of one dimension."""
    return a[(slice(None),) * axis + (slice(start, stop),)]


def _at(a: Any, axis: int, index: int) -> Any:
    """The elements at one index of a dimension, which is kept."""
    return _along(a, axis, index, index + 1 or None)


@implements(np.diff)
@by_numpy(np.diff)
def diff(a: Any, n: int = 1, axis: int = -1, prepend: Any = None, append: Any = None) -> GlobalArray:
    """The differences of neighbours along a dimension, `a[i + 1] - a[i]`, n times. Collective.

    Parameters
    ----------
    a
        An array of one dimension or more.
    n
        How often differences are taken, also of these.
    axis
        The dimension.
    prepend, append
        What is joined to the array before, at either end of the dimension: an array, or a number.

    Returns
    -------
    n elements less along the dimension; in the layout of results of operations on the array. Of booleans, whether
    neighbours differ. For n = 0 the array itself.

    Raises
    ------
    ValueError
        If there is no such dimension, or if n is negative.

    Examples
    --------
    >>> import pgaspy as pg
    >>> pg.diff(pg.array([1, 4, 9, 16])).gather()
    array([3, 5, 7])
    >>> pg.diff(pg.array([1, 4, 9, 16]), n=2, prepend=0).gather()
    array([2, 2, 2])
    """
    a = as_global(a)
    if n == 0:
        return a.copy()
    if n < 0:
        raise ValueError(f"order must be non-negative but got {n!r}")
    if a.ndim == 0:
        raise ValueError("diff requires input that is at least one dimensional")
    axis = normalize_axis_index(axis, a.ndim)
    ends = [[] if x is None else [_end(a, axis, x)] for x in (prepend, append)]
    if any(ends):
        a = concatenate((*ends[0], a, *ends[1]), axis)
    for _ in range(n):
        after, before = _along(a, axis, 1, None), _along(a, axis, None, -1)
        a = after != before if a.dtype == bool else after - before
    result: GlobalArray = a
    return result


def _end(a: GlobalArray, axis: int, x: Any) -> GlobalArray:
    """What is joined to an array at an end of a dimension."""
    x = as_global(x)
    return x if x.ndim else broadcast_to(x, (*a.shape[:axis], 1, *a.shape[axis + 1:]))


@implements(np.ediff1d)
@by_numpy(np.ediff1d)
def ediff1d(ary: Any, to_end: Any = None, to_begin: Any = None) -> GlobalArray:
    """The differences of neighbours in row-major order. Collective.

    Parameters
    ----------
    ary
        An array.
    to_end, to_begin
        Numbers that come after the differences, and before them.

    Returns
    -------
    One dimension, of the array's dtype.

    Raises
    ------
    TypeError
        If what comes before or after is not cast to the array's dtype within a kind.

    Examples
    --------
    >>> import pgaspy as pg
    >>> pg.ediff1d(pg.array([[1, 2], [4, 8]]), to_begin=-1).gather()
    array([-1,  1,  2,  4])
    """
    a = as_global(ary).ravel()
    ends = []
    for name, x in (("to_begin", to_begin), ("to_end", to_end)):
        found = None if x is None else as_array(x)
        if found is not None and not np.can_cast(found.dtype, a.dtype, "same_kind"):
            raise TypeError(f"dtype of `{name}` must be compatible with input `ary` under the `same_kind` rule.")
        ends.append([] if found is None else [as_global(found).ravel().astype(a.dtype)])
    found = a[1:] - a[:-1]
    return concatenate((*ends[0], found, *ends[1])) if any(ends) else found


@implements(np.trapezoid)
def trapezoid(y: Any, x: Any = None, dx: Any = 1.0, axis: int = -1) -> GlobalArray:
    """The integral along a dimension by the trapezoidal rule. Collective.

    Parameters
    ----------
    y
        The values at the points.
    x
        Where the points are: one dimension, or the shape of `y`. By default they lie at distances of `dx`.
    dx
        The distance of points.
    axis
        The dimension.

    Returns
    -------
    The other dimensions, as for `sum`.

    Raises
    ------
    ValueError
        If there is no such dimension, or the shapes do not broadcast.

    Examples
    --------
    >>> import pgaspy as pg
    >>> float(pg.trapezoid(pg.array([1.0, 2.0, 3.0]), x=[4, 6, 8]))
    8.0
    """
    y = as_global(y)
    refuse_truths(axis)
    axis = normalize_axis_index(axis, y.ndim)
    distance = dx
    if x is not None:
        x = as_array(x)
        is_one = x.ndim == 1
        distance = np.diff(x) if is_one else np.diff(x, axis=axis)
        distance = distance[(slice(None), *(None,) * (y.ndim - axis - 1))] if is_one else distance
    result: GlobalArray = (distance * (_along(y, axis, 1, None) + _along(y, axis, None, -1)) / 2.0).sum(axis)
    return result


@implements(np.gradient)
@by_numpy(np.gradient)
def gradient(f: Any, *varargs: Any, axis: int | Sequence[int] | None = None,
             edge_order: int = 1) -> GlobalArray | tuple[GlobalArray, ...]:
    """The derivative along dimensions, by differences of second order, at the ends of first or second. Collective.

    Parameters
    ----------
    f
        The values at the points of a grid.
    varargs
        Distances of points: none for 1, one number for all dimensions, or for each of them a number or the points'
        coordinates. Whether coordinates that are a global array lie at equal distances is waited for.
    axis
        A dimension, or several; all by default.
    edge_order
        1 or 2: the order of the differences at the ends.

    Returns
    -------
    The shape of `f`, in its layout; for several dimensions a tuple of as many arrays. Integers are taken as float64.

    Raises
    ------
    ValueError
        If there is no such dimension, or there are less than `edge_order` + 1 points, or coordinates do not fit.
    TypeError
        For another number of distances than of dimensions.

    Examples
    --------
    >>> import pgaspy as pg
    >>> pg.gradient(pg.array([0.0, 1.0, 4.0, 9.0]), 0.5).gather()
    array([ 2.,  4.,  8., 10.])
    """
    f = as_global(f)
    axes = tuple(range(f.ndim)) if axis is None else normalize_axis_tuple(axis, f.ndim)
    distances = _distances(varargs, [f.shape[d] for d in axes])
    if edge_order > 2:
        raise ValueError("'edge_order' greater than 2 not supported")
    if f.dtype.kind == "M":
        f = f - np.zeros((), f.dtype)
    elif f.dtype.kind in "iu":
        f = f.astype(float)
    if any(f.shape[d] < edge_order + 1 for d in axes):
        raise ValueError("Shape of array too small to calculate a numerical gradient, at least (edge_order + 1) "
                         "elements are required.")
    found = tuple(_derivative(f, d, distance, edge_order) for d, distance in zip(axes, distances, strict=True))
    return found[0] if len(axes) == 1 else found


def _distances(given: tuple[Any, ...], extents: Sequence[int]) -> list[Any]:
    """Along each dimension the distance of points, or if these are not all the same the distances of neighbours."""
    if not given:
        return [1.0] * len(extents)
    if len(given) == 1 and not getattr(given[0], "ndim", np.ndim(given[0])):
        return [*given] * len(extents)
    if len(given) != len(extents):
        raise TypeError("invalid number of arguments")
    return [_distance(as_array(x), n) for x, n in zip(given, extents, strict=True)]


def _distance(x: Any, extent: int) -> Any:
    if x.ndim == 0:
        return x[()]
    if x.ndim != 1:
        raise ValueError("distances must be either scalars or 1d")
    if len(x) != extent:
        raise ValueError("when 1d, distances must match the length of the corresponding dimension")
    between = np.diff(x.astype(float) if x.dtype.kind in "iu" else x)
    return between[0] if (between == between[0]).all() else between


def _derivative(f: GlobalArray, d: int, distance: Any, edge_order: int) -> GlobalArray:
    dtype = f.dtype if f.dtype.kind in "fcm" else np.dtype(float)
    out = empty_like(f, dtype)
    before, at, after = _along(f, d, None, -2), _along(f, d, 1, -1), _along(f, d, 2, None)
    is_uniform = not distance.ndim if hasattr(distance, "ndim") else True
    if is_uniform:
        _along(out, d, 1, -1)[...] = (after - before) / (2.0 * distance)
        first = last = distance
    else:
        dx1, dx2 = (x[(slice(None), *(None,) * (f.ndim - d - 1))] for x in (distance[:-1], distance[1:]))
        a, b, c = -dx2 / (dx1 * (dx1 + dx2)), (dx2 - dx1) / (dx1 * dx2), dx1 / (dx2 * (dx1 + dx2))
        _along(out, d, 1, -1)[...] = a * before + b * at + c * after
        first, last = distance[0], distance[-1]
    if edge_order == 1:
        _at(out, d, 0)[...] = (_at(f, d, 1) - _at(f, d, 0)) / first
        _at(out, d, -1)[...] = (_at(f, d, -1) - _at(f, d, -2)) / last
        return out
    if is_uniform:
        at_first = -1.5 / distance, 2.0 / distance, -0.5 / distance
        at_last = 0.5 / distance, -2.0 / distance, 1.5 / distance
    else:
        dx1, dx2 = distance[0], distance[1]
        at_first = (-(2.0 * dx1 + dx2) / (dx1 * (dx1 + dx2)), (dx1 + dx2) / (dx1 * dx2), -dx1 / (dx2 * (dx1 + dx2)))
        dx1, dx2 = distance[-2], distance[-1]
        at_last = (dx2 / (dx1 * (dx1 + dx2)), -(dx2 + dx1) / (dx1 * dx2), (2.0 * dx2 + dx1) / (dx2 * (dx1 + dx2)))
    for (a, b, c), end, k in ((at_first, 0, 0), (at_last, -1, -3)):
        _at(out, d, end)[...] = a * _at(f, d, k) + b * _at(f, d, k + 1) + c * _at(f, d, k + 2)
    return out
