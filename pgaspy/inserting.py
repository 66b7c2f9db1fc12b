"""Arrays with some elements left out, or with more."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.lib.array_utils import normalize_axis_index

from pgaspy.array import GlobalArray
from pgaspy.creation import as_global, as_values, empty, ones
from pgaspy.dispatch import implements
from pgaspy.indexing import as_indices, rest_of
from pgaspy.manipulation import empty_like_result
from pgaspy.small_calls import as_new, by_numpy

__all__ = ["delete", "insert"]


@implements(np.delete)
@by_numpy(np.delete, lying="as given")
def delete(arr: Any, obj: Any, axis: int | None = None) -> GlobalArray:
    """A copy without some elements, or what is at some indices along a dimension. Collective; waits for how many stay.

    Parameters
    ----------
    arr
        An array.
    obj
        What is left out: an index, a slice, or an array of integers or booleans.
    axis
        A dimension; by default the elements are counted in row-major order.

    Raises
    ------
    IndexError
        For indices beyond the dimension, or that are no integers.
    ValueError
        For booleans that are not one for each index of the dimension.

    Examples
    --------
    >>> import pgaspy as pg
    >>> pg.delete(pg.arange(5), [0, -1]).gather()
    array([1, 2, 3])
    """
    a = as_global(arr)
    if axis is None:
        a, axis = a.reshape(-1), 0
    d = normalize_axis_index(axis, a.ndim)
    n = a.shape[d]
    if (interval := _interval(obj, n, d)) is not None:
        return _without(a, d, *interval)
    if not isinstance(obj, slice):
        obj = as_indices(obj)
        if obj.dtype == bool and obj.shape != (n,):
            raise ValueError("boolean array argument obj to delete must be one dimensional and match the axis length "
                             f"of {n}")
    stays = ones(n, bool)
    stays[obj,] = False
    return a[(*(slice(None),) * d, stays, *rest_of(a, d))]


def _interval(obj: Any, n: int, d: int) -> tuple[int, int] | None:
    """The interval [first, stop) of n indices that an index, alone or in an array, or a slice is; None for all else."""
    if isinstance(obj, slice):
        indices = range(n)[obj]
        if abs(indices.step) != 1:
            return None
        return (min(indices), max(indices) + 1) if indices else (0, 0)
    if isinstance(obj, list | tuple | np.ndarray) and np.size(obj) == 1 and np.asarray(obj).dtype.kind in "iu":
        obj = np.asarray(obj).item()
    if not isinstance(obj, int | np.integer) or isinstance(obj, bool):
        return None
    if not -n <= obj < n:
        raise IndexError(f"index {obj} is out of bounds for axis {d} with size {n}")
    return int(obj) % n, int(obj) % n + 1


def _without(a: GlobalArray, d: int, first: int, stop: int) -> GlobalArray:
    """A copy without an interval of a dimension."""
    found = empty_like_result(a, (*a.shape[:d], a.shape[d] - (stop - first), *a.shape[d + 1:]), a.dtype)
    key = (slice(None),) * d
    found[(*key, slice(None, first))] = a[(*key, slice(None, first))]
    found[(*key, slice(first, None))] = a[(*key, slice(stop, None))]
    return found


@implements(np.insert)
@by_numpy(np.insert, lying="as given", like=as_new)
def insert(arr: Any, obj: Any, values: Any, axis: int | None = None) -> GlobalArray:
    """A copy with values before some elements, or before what is at some indices along a dimension. Collective.

    Parameters
    ----------
    arr
        An array.
    obj
        Before which: an index, a slice, or integers, which every process gets.
    values
        What broadcasts to the places.
    axis
        A dimension; by default the elements are counted in row-major order.

    Raises
    ------
    IndexError
        For indices beyond the dimension.
    ValueError
        For values that do not broadcast, and for indices in several dimensions.
    TypeError
        For an index that is no integer.

    Examples
    --------
    >>> import pgaspy as pg
    >>> pg.insert(pg.arange(4), [1, 3], [70, 80]).gather()
    array([ 0, 70,  1,  2, 80,  3])
    """
    a = as_global(arr)
    if axis is None:
        a, axis = a.reshape(-1), 0
    d = normalize_axis_index(axis, a.ndim)
    n, values = a.shape[d], as_values(values, a.dtype)
    if isinstance(obj, GlobalArray):
        obj = obj.gather()
    indices = np.arange(*obj.indices(n)) if isinstance(obj, slice) else np.asarray(as_indices(obj))
    if indices.ndim > 1 or (indices.dtype == bool and not indices.ndim):
        raise ValueError("indices before which something is inserted must be one dimensional or scalar")
    if indices.dtype == bool:
        indices = np.flatnonzero(indices)
    if indices.dtype.kind not in "iu":
        kind = TypeError if indices.size == 1 else IndexError
        raise kind(f"indices before which something is inserted must be integers, not {indices.dtype}")
    if indices.size and not (-n <= indices.min() and indices.max() <= n):
        beyond = indices[(indices < -n) | (indices > n)].flat[0]
        raise IndexError(f"index {beyond} is out of bounds for axis {d} with size {n}")
    indices = indices.astype(np.int64, copy=False)
    indices = np.where(indices < 0, indices + n, indices)
    if indices.size == 1 and values.ndim:
        values = _as_dims(values, a.ndim)
        if not indices.ndim:
            values = values.transpose(*_moved(values.ndim, d))
        indices = np.repeat(indices.reshape(1), values.shape[d])
    indices = indices.reshape(-1)
    order = indices.argsort(kind="stable")
    indices[order] += np.arange(len(order))
    key = (slice(None),) * d
    extents = *a.shape[:d], n + len(indices), *a.shape[d + 1:]
    first, stop = (indices[0], indices[0] + len(indices)) if len(indices) else (0, 0)
    if np.array_equal(indices, np.arange(first, stop)):
        found = empty_like_result(a, extents, a.dtype)
        found[(*key, slice(None, first))] = a[(*key, slice(None, first))]
        found[(*key, slice(first, stop))] = values
        found[(*key, slice(stop, None))] = a[(*key, slice(first, None))]
        return found
    found = empty(extents, a.dtype)
    stays = ones(n + len(indices), bool)
    stays[indices] = False
    found[(*key, indices, *rest_of(a, d))] = values
    found[(*key, stays, *rest_of(a, d))] = a
    return found


def _as_dims(values: Any, ndim: int) -> Any:
    """Values with so many dimensions at least, new ones in front."""
    return values if values.ndim >= ndim else values[(*(None,) * (ndim - values.ndim), ...)]


def _moved(ndim: int, d: int) -> list[int]:
    """The dimensions with the first one moved to place d."""
    return [*range(1, d + 1), 0, *range(d + 1, ndim)]
