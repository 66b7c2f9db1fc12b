"""NumPy's functions on arrays as sets: their distinct elements, and those of two arrays.

All sort by `pgaspy.sort`, and compare neighbours. The shape of the results depends on the elements, but for `isin`:
only that is waited for. The results are vectors in even blocks.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.lib.array_utils import normalize_axis_index

from pgaspy import brought, ufuncs
from pgaspy.array import GlobalArray
from pgaspy.concatenation import concatenate
from pgaspy.creation import arange, as_array, as_global, asarray, empty, ones
from pgaspy.dispatch import implements
from pgaspy.execution.recording import taking_memory
from pgaspy.indexing import Compaction
from pgaspy.job.procgrid import world
from pgaspy.layout import replicated
from pgaspy.manipulation import where
from pgaspy.order import lexsort
from pgaspy.selecting import take
from pgaspy.small_calls import by_numpy
from pgaspy.sorting import INDEX, blocks, in_blocks, sorted_blocks
from pgaspy.supervision.recorder import take as tell_contents
from pgaspy.tasks import perform, write

__all__ = ["intersect1d", "isin", "setdiff1d", "setxor1d", "union1d", "unique"]


def _lies_otherwise(ar: Any, return_index: bool = False, return_inverse: bool = False, return_counts: bool = False,
                    axis: int | None = None, **_: Any) -> bool:
    """Whether rows of an array, which lie as it does, lie otherwise than those of a new one."""
    return axis is not None and isinstance(ar, GlobalArray) and not brought.lies_by_default(ar)


@implements(np.unique)
@by_numpy(np.unique, lying="by default", stays=_lies_otherwise, with_axis=True)
def unique(ar: Any, return_index: bool = False, return_inverse: bool = False, return_counts: bool = False,
           axis: int | None = None, *, equal_nan: bool = True, sorted: bool = True) -> Any:
    """The distinct elements of an array, in order. Collective; waits for their number.

    Parameters
    ----------
    ar
        An array; the order of its elements is the row-major one.
    return_index
        Give the index of the first of the elements that are equal, too.
    return_inverse
        Give, of each element, the index of the distinct one, too; of the shape of the array, or with an axis a vector.
    return_counts
        Give how many elements are equal to each, too.
    axis
        Compare what is at each index of this dimension as a whole: rows, with 0. They are ordered by their first
        elements, where these are equal by the second ones, and so on, which sorts as often as there are such elements.
    equal_nan
        Whether all NaN are one element; without an axis.
    sorted
        Without effect: they are in order always.

    Returns
    -------
    A new vector in even blocks, or with an axis an array with all dimensions; or a tuple of it and what else is asked
    for, in the order of the parameters.

    Raises
    ------
    ValueError
        If there is no such dimension.

    Examples
    --------
    >>> import pgaspy as pg
    >>> values, counts = pg.unique(pg.array([3, 1, 3]), return_counts=True)
    >>> values.gather(), counts.gather()
    (array([1, 3]), array([1, 2]))
    """
    a = as_global(ar)
    if axis is not None:
        axis = normalize_axis_index(axis, a.ndim)
    if axis is None or a.ndim == 1:
        keys, *orders = _sorted(a.ravel(), return_index or return_inverse)
        chosen = Compaction(is_first := _are_first(keys, equal_nan))
        results = [chosen.elements(keys), *([chosen.elements(orders[0])] if return_index else [])]
    else:
        order, is_first = _sorted_rows(a, axis)
        orders, chosen = [order], Compaction(is_first)
        index = chosen.elements(order)
        results = [take(a, index, axis), *([index] if return_index else [])]
    if return_inverse:
        inverse = _new(is_first.size, INDEX)
        inverse[orders[0]] = is_first.cumsum() - 1
        results.append(inverse.reshape(a.shape) if axis is None else inverse)
    if return_counts:
        results.append(_extents(chosen.positions(), is_first.size))
    return tuple(results) if len(results) > 1 else results[0]


def _sorted_rows(a: GlobalArray, axis: int) -> tuple[GlobalArray, GlobalArray]:
    """The order of what is at the indices of a dimension, and which differs in it from that before it."""
    n, others = a.shape[axis], [d for d in range(a.ndim) if d != axis]
    n_columns = math.prod(a.shape[d] for d in others)
    rows = a.transpose(axis, *others).reshape(n, n_columns)
    order = lexsort([rows[:, k] for k in reversed(range(n_columns))]) if n and n_columns else arange(n)
    is_first = ones(n, bool, layout=blocks(n, world().size))
    if n > 1:
        rows = rows[order]
        is_first[1:] = (rows[1:] != rows[:-1]).any(1)
    return order, is_first


def _extents(starts: GlobalArray, n: int) -> GlobalArray:
    """How far it is from each place to the next one, and from the last to n."""
    extents = _new(starts.size, INDEX)
    if starts.size:
        extents[:-1] = starts[1:] - starts[:-1]
        extents[-1:] = n - starts[-1:]
    return extents


@implements(np.union1d)
@by_numpy(np.union1d, lying="by default")
def union1d(ar1: Any, ar2: Any) -> GlobalArray:
    """The distinct elements that are in one array or in the other, in order. Collective; waits for their number."""
    result: GlobalArray = unique(concatenate((ar1, ar2), axis=None))
    return result


@implements(np.isin)
@by_numpy(np.isin)
def isin(element: Any, test_elements: Any, assume_unique: bool = False, invert: bool = False, *,
         kind: str | None = None) -> GlobalArray:
    """Of each element of an array, whether it is among others. Collective.

    Parameters
    ----------
    element
        An array.
    test_elements
        The others: those that each process has, or gets, are looked for in its part. It gets those of a global array
        that are no more than this, or than some thousand; more are sorted with the elements, by all processes together.
    assume_unique
        As in NumPy, and without effect.
    invert
        Whether it is not among them.
    kind
        As in NumPy: None, "sort" or "table", which takes integers and booleans alone; without effect.

    Returns
    -------
    Booleans, in the shape of `element`.

    Raises
    ------
    ValueError
        For an unknown kind, or one that does not take these arrays.

    Examples
    --------
    >>> import pgaspy as pg
    >>> pg.isin(pg.arange(5), [3, 1, 9]).gather()
    array([False,  True, False,  True, False])
    """
    if kind not in (None, "sort", "table"):
        raise ValueError(f"Invalid kind: '{kind}'. Please use None, 'sort' or 'table'.")
    a, others = as_global(element), as_array(test_elements)
    if kind == "table" and not {a.dtype.kind, others.dtype.kind} <= {*"biu"}:
        raise ValueError("The 'table' method is only supported for boolean or integer arrays. Please select 'sort' or "
                         "None for kind.")
    if isinstance(others, GlobalArray) and others.size > max(a.size // world().size, brought.MAX_ELEMENTS):
        found = _are_among(a.ravel(), others.ravel()).reshape(a.shape)
        return asarray(~found if invert else found)
    if isinstance(others, GlobalArray):
        return asarray(_are_among_known(a, others.redistribute(replicated(others.shape, world().size)), invert))
    tell_contents(others)
    return asarray(_are_among_known(a, taking_memory(np.array)(others), invert))


def _are_among(flat: GlobalArray, others: GlobalArray) -> GlobalArray:
    """Of each element of a vector, whether it is in another one: whether the first of those that are equal is."""
    keys, order = _sorted(concatenate((others, flat)), True)
    first = where(_are_first(keys, equal_nan=False), 2 * arange(keys.size) + (order < others.size), 0)
    found = _new(keys.size, np.dtype(bool))
    found[order] = np.maximum.accumulate(first) % 2 == 1
    return found[others.size:].copy()


def _are_among_known(a: GlobalArray, others: Any, invert: bool) -> GlobalArray:
    """Of each element, whether it is in an array that all processes have, and the program cannot change."""
    np.isin(np.empty(0, a.dtype), np.empty(0, others.dtype))  # raises what is wrong, on all processes
    if not a.ndim:
        return _are_among_known(a.reshape(1), others, invert)[0]
    a = a.copy() if a._view.own_layout is None else a
    found = empty(a.shape, bool, layout=a._view.own_layout)

    def find(found: Any, part: Any, others: Any) -> None:
        found[...] = np.isin(part, others, invert=invert)

    perform(find, write(found), a, others)
    return found


@implements(np.intersect1d)
@by_numpy(np.intersect1d, lying="by default")
def intersect1d(ar1: Any, ar2: Any, assume_unique: bool = False, return_indices: bool = False) -> Any:
    """The distinct elements that are in both arrays, in order. Collective; waits for their number.

    Parameters
    ----------
    ar1, ar2
        Arrays; the order of their elements is the row-major one.
    assume_unique
        Whether the elements of each are known to be distinct; else they are made so.
    return_indices
        Give the indices of the elements in both arrays, too: of the first of those that are equal.

    Returns
    -------
    A new vector in even blocks; or a tuple of three.

    Examples
    --------
    >>> import pgaspy as pg
    >>> pg.intersect1d(pg.array([3, 1, 3]), [3, 4, 1]).gather()
    array([1, 3])
    """
    firsts = [(as_global(a).ravel(), None) if assume_unique else unique(a, return_index=True) if return_indices else
              (unique(a), None) for a in (ar1, ar2)]
    n = firsts[0][0].size
    keys, *orders = _sorted(concatenate([x for x, _ in firsts]), return_indices)
    is_first = _are_first(keys, equal_nan=False)
    chosen = Compaction(~_are_last(is_first))
    if not return_indices:
        return chosen.elements(keys)
    places = chosen.elements(orders[0]), Compaction(~is_first).elements(orders[0]) - n
    return chosen.elements(keys), *[place if index is None else index[place]
                                    for place, (_, index) in zip(places, firsts, strict=True)]


@implements(np.setxor1d)
@by_numpy(np.setxor1d, lying="by default")
def setxor1d(ar1: Any, ar2: Any, assume_unique: bool = False) -> GlobalArray:
    """The distinct elements that are in one of two arrays only, in order. Collective; else as `intersect1d`."""
    keys, = _sorted(concatenate([as_global(a).ravel() if assume_unique else unique(a) for a in (ar1, ar2)]), False)
    is_first = _are_first(keys, equal_nan=False)
    return Compaction(is_first & _are_last(is_first)).elements(keys)


@implements(np.setdiff1d)
@by_numpy(np.setdiff1d, lying="by default")
def setdiff1d(ar1: Any, ar2: Any, assume_unique: bool = False) -> GlobalArray:
    """The distinct elements of the first array that are not in the second one. Collective; waits for their number.

    Parameters
    ----------
    ar1, ar2
        Arrays.
    assume_unique
        Whether the elements of the first are known to be distinct: they keep their order then; else they are sorted.

    Returns
    -------
    A new vector in even blocks.

    Examples
    --------
    >>> import pgaspy as pg
    >>> pg.setdiff1d(pg.array([3, 1, 2, 3]), [2, 4]).gather()
    array([1, 3])
    """
    first = as_global(ar1).ravel() if assume_unique else unique(ar1)
    return Compaction(isin(first, ar2, invert=True)).elements(first)


def _new(n: int, dtype: np.dtype[Any]) -> GlobalArray:
    return empty(n, dtype, layout=blocks(n, world().size))


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
