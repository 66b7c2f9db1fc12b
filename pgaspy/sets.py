"""NumPy's functions on arrays as sets: their distinct elements, and those of two arrays.

All sort by `pgaspy.sort`, and compare neighbours. The shape of the results depends on the elements: only that is waited
for. The results are vectors in even blocks.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from pgaspy import ufuncs
from pgaspy.array import GlobalArray
from pgaspy.creation import arange, as_global, empty, ones
from pgaspy.dispatch import implements
from pgaspy.execution.recording import record
from pgaspy.job.procgrid import world
from pgaspy.manipulation import concatenate
from pgaspy.planning.view import whole
from pgaspy.scheduling.base import Base
from pgaspy.scheduling.kinds.selection import number, select
from pgaspy.sorting import INDEX, blocks, in_blocks, sorted_blocks, sorted_by

__all__ = ["intersect1d", "setdiff1d", "setxor1d", "union1d", "unique"]


@implements(np.unique)
def unique(ar: Any, return_index: bool = False, return_inverse: bool = False, return_counts: bool = False,
           axis: None = None, *, equal_nan: bool = True, sorted: bool = True) -> Any:
    """The distinct elements of an array, in order. Collective; waits for their number.

    Parameters
    ----------
    ar
        An array; the order of its elements is the row-major one.
    return_index
        Give the index of the first of the elements that are equal, too.
    return_inverse
        Give, of each element, the index of the distinct one, too; of the shape of the array.
    return_counts
        Give how many elements are equal to each, too.
    axis
        Only None.
    equal_nan
        Whether all NaN are one element.
    sorted
        Without effect: they are in order always.

    Returns
    -------
    A new vector in even blocks; or a tuple of it and what else is asked for, in the order of the parameters.

    Raises
    ------
    TypeError
        For an axis.

    Examples
    --------
    >>> import pgaspy as pg
    >>> values, counts = pg.unique(pg.array([3, 1, 3]), return_counts=True)
    >>> values.gather(), counts.gather()
    (array([1, 3]), array([1, 2]))
    """
    if axis is not None:
        raise TypeError("unique takes no axis for global arrays: which rows are equal is not compared")
    a = as_global(ar)
    flat = a.ravel()
    keys, *order = _sorted(flat, return_index or return_inverse)
    is_first = _are_first(keys, equal_nan)
    n = int(is_first.sum())
    results = [_selected(keys, is_first, n)]
    if return_index:
        results.append(_selected(order[0], is_first, n))
    if return_inverse:
        rank = _new(a.size, INDEX)
        if a.size:
            record(number(blocks(a.size, world().size)), (rank._base.storage, is_first._base.storage))
        inverse = GlobalArray(*sorted_by(order[0]._base, (rank - 1)._base)) if a.size else rank
        results.append(inverse.reshape(a.shape))
    if return_counts:
        start = _selected(arange(a.size, layout=blocks(a.size, world().size)), is_first, n)
        counts = _new(n, INDEX)
        if n:
            counts[:-1] = start[1:] - start[:-1]
            counts[-1:] = a.size - start[-1:]
        results.append(counts)
    return tuple(results) if len(results) > 1 else results[0]


@implements(np.union1d)
def union1d(ar1: Any, ar2: Any) -> GlobalArray:
    """The distinct elements that are in one array or in the other, in order. Collective; waits for their number."""
    result: GlobalArray = unique(concatenate((as_global(ar1), as_global(ar2)), axis=None))
    return result


@implements(np.intersect1d)
def intersect1d(ar1: Any, ar2: Any, assume_unique: bool = False) -> GlobalArray:
    """The distinct elements that are in both arrays, in order. Collective; waits for their number.

    Parameters
    ----------
    ar1, ar2
        Arrays.
    assume_unique
        Whether the elements of each are known to be distinct; else they are made so.

    Examples
    --------
    >>> import pgaspy as pg
    >>> pg.intersect1d(pg.array([3, 1, 3]), [3, 4, 1]).gather()
    array([1, 3])
    """
    keys, = _sorted(_joined(ar1, ar2, assume_unique), False)
    is_first = _are_first(keys, equal_nan=False)
    return _chosen(keys, ~is_first)


@implements(np.setxor1d)
def setxor1d(ar1: Any, ar2: Any, assume_unique: bool = False) -> GlobalArray:
    """The distinct elements that are in one of two arrays only, in order. Collective; else as `intersect1d`."""
    keys, = _sorted(_joined(ar1, ar2, assume_unique), False)
    is_first = _are_first(keys, equal_nan=False)
    return _chosen(keys, is_first & _are_last(is_first))


@implements(np.setdiff1d)
def setdiff1d(ar1: Any, ar2: Any, assume_unique: bool = False) -> GlobalArray:
    """The distinct elements of the first array that are not in the second one, in order. Collective.

    Waits for their number; all else is as for `intersect1d`.

    Raises
    ------
    TypeError
        If the elements are assumed to be distinct.
    """
    if assume_unique:
        raise TypeError("setdiff1d takes no assume_unique for global arrays, as the elements would keep their order")
    first, second = unique(ar1), unique(ar2)
    joined = concatenate((first, second))
    keys, order = _sorted(joined, True)
    is_first = _are_first(keys, equal_nan=False)
    return _chosen(keys, is_first & _are_last(is_first) & (order < first.size)).astype(first.dtype, copy=False)


def _new(n: int, dtype: np.dtype[Any]) -> GlobalArray:
    return empty(n, dtype, layout=blocks(n, world().size))


def _joined(ar1: Any, ar2: Any, are_unique: bool) -> GlobalArray:
    """The elements of two arrays, those of each distinct."""
    return concatenate([as_global(a).ravel() if are_unique else unique(a) for a in (ar1, ar2)])


def _sorted(flat: GlobalArray, gives_indices: bool) -> list[GlobalArray]:
    """A vector in order, in even blocks; and the indices that sort it so."""
    if not flat.size:
        found = [in_blocks(flat._base, flat._view)]
        return [GlobalArray(*x) for x in found] + [_new(0, INDEX)] * gives_indices
    return [GlobalArray(*x) for x in sorted_blocks(flat._base, flat._view, gives_indices=gives_indices)]


def _are_first(keys: GlobalArray, equal_nan: bool) -> GlobalArray:
    """Of each element of a vector in order, whether it differs from that before it."""
    is_first = ones(keys.size, bool, layout=blocks(keys.size, world().size))
    if keys.size > 1:
        is_first[1:] = keys[1:] != keys[:-1]
        if equal_nan and keys.dtype.kind in "fcmM":
            is_nan = ufuncs.apply(np.isnat if keys.dtype.kind in "mM" else np.isnan, (keys,), make=GlobalArray)
            is_first[1:] = is_first[1:] & ~(is_nan[1:] & is_nan[:-1])
    return is_first


def _are_last(is_first: GlobalArray) -> GlobalArray:
    """Of each element, whether it differs from that behind it."""
    is_last = ones(is_first.size, bool, layout=is_first.layout)
    is_last[:-1] = is_first[1:]
    return is_last


def _chosen(values: GlobalArray, mask: GlobalArray) -> GlobalArray:
    """The elements of a vector that a mask is true for."""
    return _selected(values, mask, int(mask.sum()))


def _selected(values: GlobalArray, mask: GlobalArray, n: int) -> GlobalArray:
    """The same, where their number is known. Both are in even blocks."""
    layout = blocks(n, world().size)
    base = Base(layout, values.dtype)
    if n:
        mask_base, _ = in_blocks(mask._base, mask._view)
        record(select(layout, mask_base.layout), (base.storage, mask_base.storage, values._base.storage))
    return GlobalArray(base, whole(layout))
