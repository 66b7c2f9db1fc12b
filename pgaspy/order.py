"""NumPy's functions that put elements in order, as public names.

Each is registered for NumPy's function of the same name, so that `numpy.sort(A)` works as well.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
from numpy.lib.array_utils import normalize_axis_index

from pgaspy import brought
from pgaspy.array import GlobalArray
from pgaspy.creation import as_global, empty_like, zeros
from pgaspy.dispatch import HANDLED, implements
from pgaspy.global_assign import layout_like
from pgaspy.indexing import positions
from pgaspy.manipulation import flip
from pgaspy.operands import refuse_truths
from pgaspy.small_calls import by_numpy
from pgaspy.sorting import check_kind, in_blocks, in_order, with_places
from pgaspy.values import told, value

__all__ = ["argpartition", "argsort", "lexsort", "partition", "sort"]

MIN_SELECTED = 1 << 18
"""A vector of so many elements is partitioned by what is selected of it; a shorter one is sorted, in fewer messages."""

MAX_PLACES = 4
"""By so many indices; by more, it is sorted, too."""


def _is_held_whole(a: Any, axis: int | None = -1) -> bool:
    """Whether each process has a dimension whole, so that it sorts what it has."""
    if not isinstance(a, GlobalArray) or not isinstance(axis, int) or not -a.ndim <= axis < a.ndim:
        return False
    return layout_like(a._base, a._view).dims[axis].n_procs == 1


@by_numpy(np.sort, lying="as given", stays=_is_held_whole, with_axis=True, kind="stable")
def _sorted(a: Any, axis: int | None = -1) -> GlobalArray:
    a = as_global(a)
    return GlobalArray(*in_order(a._base, a._view, axis, gives_indices=False))


@by_numpy(np.argsort, lying="as given", stays=_is_held_whole, with_axis=True, kind="stable")
def _argsorted(a: Any, axis: int | None = -1) -> GlobalArray:
    a = as_global(a)
    one = a if a.ndim else a.reshape(1)
    return GlobalArray(*in_order(one._base, one._view, axis, gives_indices=True))


@implements(np.sort)
def sort(a: Any, axis: int | None = -1, kind: str | None = None, order: None = None, *,
         stable: bool | None = None, descending: bool = False) -> GlobalArray:
    """The elements, sorted along a dimension. Collective.

    Parameters
    ----------
    a
        An array of any dtype.
    axis
        The dimension, the last one by default; with None, all elements are sorted, as a vector.
    kind, order, stable
        As in NumPy, and without effect: the order is stable always, and no array has fields.
    descending
        Whether the greatest element comes first, and NaN before it.

    Returns
    -------
    A new array, dealt out as `a` is. NaN and NaT come last; complex numbers are ordered by their real parts, and where
    these are equal by their imaginary parts.

    Raises
    ------
    ValueError
        If there is no such dimension, or no such kind.

    Notes
    -----
    Along a dimension that each process holds whole, each sorts its part. A vector that is dealt out is sorted by
    histogram sort with sampling (Harsh, Kale and Solomonik 2019): each element is sent once, and each process gets
    exactly its part of the result, whatever the elements are. Any other dimension is made whole before, and dealt out
    again.

    Examples
    --------
    >>> import pgaspy as pg
    >>> pg.sort(pg.array([[3, 1, 2], [0, 5, 4]])).gather()
    array([[1, 2, 3],
           [0, 4, 5]])
    """
    check_kind(kind, order, stable)
    found = _sorted(a, axis)
    return flip(found, -1 if axis is None else axis).copy() if descending else found


@implements(np.argsort)
def argsort(a: Any, axis: int | None = -1, kind: str | None = None, order: None = None, *,
            stable: bool | None = None, descending: bool = False) -> GlobalArray:
    """The indices that sort the elements along a dimension; see `GlobalArray.argsort`. Collective.

    With `descending`, that of the greatest element comes first, and elements that are equal in the order of their
    indices, too.
    """
    check_kind(kind, order, stable)
    refuse_truths(axis)
    if not descending:
        return _argsorted(a, axis)
    a = as_global(a)
    a, axis = (a.ravel(), 0) if axis is None else (a, axis)
    indices = flip(_argsorted(flip(a, axis), axis), axis)
    result: GlobalArray = a.shape[axis] - 1 - indices
    return result


@implements(np.partition)
def partition(a: Any, kth: int | Sequence[int], axis: int | None = -1, kind: str = "introselect") -> GlobalArray:
    """The elements along a dimension, those before the k-th one not above it, and those behind not below. Collective.

    Parameters
    ----------
    a, axis
        As for `sort`.
    kth
        One index along the dimension, or several.
    kind
        "introselect", as in NumPy.

    Returns
    -------
    As of `sort`. The elements of a long vector, and with `axis` None of an array, that come before, between or after
    those at the indices, or are equal to these, stay in order; a short vector is sorted. So the result is the same
    however the vector is dealt out.

    Raises
    ------
    ValueError
        If there is no such index or dimension, or no such kind.

    Notes
    -----
    Of a long vector, what is at the indices is selected, as for `median`, and what comes before, between and after is
    chosen by masks: this waits for how much that is.

    Examples
    --------
    >>> import pgaspy as pg
    >>> pg.partition(pg.array([5, 1, 4, 0]), 1)[:2].gather()
    array([0, 1])
    """
    a = as_global(a)
    places = _places(a, kth, axis, kind)
    if _is_selected(a, axis, places):
        vector = a.reshape(-1)
        return _joined(vector, vector.dtype, vector.__getitem__, places)
    if _is_sorted(a, axis):
        return sort(a.reshape(-1))
    return GlobalArray(*in_order(a._base, a._view, axis, False, places))


@implements(np.argpartition)
def argpartition(a: Any, kth: int | Sequence[int], axis: int | None = -1, kind: str = "introselect") -> GlobalArray:
    """The indices that put the elements so; all else is as for `partition`. Collective.

    Examples
    --------
    >>> import pgaspy as pg
    >>> pg.argpartition(pg.array([[5, 1, 4, 0], [7, 8, 6, 9]]), 1)[:, :2].gather()
    array([[3, 1],
           [2, 0]])
    """
    a = as_global(a)
    a = a if a.ndim else a.reshape(1)
    places = _places(a, kth, axis, kind)
    if _is_selected(a, axis, places):
        return _joined(a.reshape(-1), np.dtype(np.intp), positions, places)
    if _is_sorted(a, axis):
        return argsort(a.reshape(-1))
    return GlobalArray(*in_order(a._base, a._view, axis, True, places))


def _is_sorted(a: GlobalArray, axis: int | None) -> bool:
    """Whether what partitions elements is sorted, by a vector that comes to all processes."""
    return a.size <= brought.MAX_ELEMENTS and (a.ndim == 1 or axis is None) and brought.may_come()


def _is_selected(a: GlobalArray, axis: int | None, places: tuple[int, ...]) -> bool:
    """Whether what partitions elements is selected: of one byte, they are sorted as soon."""
    return ((a.ndim == 1 or axis is None) and a.size >= MIN_SELECTED and a.dtype.kind in "iufmM" and a.itemsize > 1
            and 0 < len(places) <= MAX_PLACES)


def _joined(vector: GlobalArray, dtype: np.dtype[Any], chosen: Callable[[GlobalArray], GlobalArray],
            places: tuple[int, ...]) -> GlobalArray:
    """What is chosen by each of the masks that partition a vector, one after the other."""
    result, start = empty_like(vector, dtype), 0
    for mask in _partitioning(vector, places):
        found = chosen(mask)
        result[start:start + found.size] = found
        start += found.size
    return result


def _partitioning(vector: GlobalArray, places: tuple[int, ...]) -> Iterator[GlobalArray]:
    """Which elements come before, are equal to, and come between and after those at places in order: NaN is last."""
    found, at = with_places(vector._base, vector._view, places)
    is_above = None  # of the last end: at first, and after NaN, there is none
    for end in np.unique(value(GlobalArray(*found)[list(at)], np.zeros(len(places), vector.dtype))):
        is_known = end == end  # as NaN is not
        is_below = vector < end if is_known else vector == vector
        yield is_below if is_above is None else is_above & is_below
        yield vector == end if is_known else vector != vector
        is_above = ~(vector <= end) if is_known else None
    if is_above is not None:
        yield is_above


def _places(a: GlobalArray, kth: int | Sequence[int], axis: int | None, kind: str) -> tuple[int, ...]:
    """The indices to partition by, in order and from 0 on; what NumPy does not partition by is refused."""
    refuse_truths(axis)
    n = a.size if axis is None else a.shape[normalize_axis_index(axis, a.ndim)]
    np.empty(1).partition(0, kind=kind)  # type: ignore[arg-type]  # which may be any text here
    given = np.atleast_1d(told(kth))
    if given.dtype == bool:
        raise ValueError("Booleans unacceptable as partition index")
    places = [*map(operator.index, given)] if a.size else []  # of nothing, NumPy takes any
    for k in places:
        if not -n <= k < n:
            raise ValueError(f"kth(={k}) out of bounds ({n})")
    return tuple(sorted({k % n for k in places}))


@implements(np.lexsort)
@by_numpy(np.lexsort, lying="by default")
def lexsort(keys: Sequence[Any], axis: int = -1) -> GlobalArray:
    """The indices that sort by several keys: by the last one, where that is equal by the one before, and so on.

    Collective.

    Parameters
    ----------
    keys
        Arrays of one shape; or an array, whose rows, along the first dimension, are taken.
    axis
        The dimension along which is sorted.

    Returns
    -------
    A new array of this shape, a vector in even blocks. What is equal in all keys stays in order.

    Raises
    ------
    TypeError
        If there are no keys.
    ValueError
        If these are not of one shape, or there is no such dimension.

    Examples
    --------
    >>> import pgaspy as pg
    >>> pg.lexsort((pg.array([1, 0, 1, 0]), pg.array([2, 2, 1, 1]))).gather()
    array([3, 2, 1, 0])
    """
    arrays = [as_global(key) for key in keys]
    if not arrays:
        raise TypeError("need sequence of keys with len > 0 in lexsort")
    first, *others = arrays
    if any(key.shape != first.shape for key in others):
        raise ValueError(f"all keys need to be the same shape, not {[key.shape for key in arrays]}")
    if not first.ndim and axis in (0, -1):
        return zeros((), np.intp)
    axis = normalize_axis_index(axis, first.ndim)
    if first.ndim > 1:
        order = argsort(first, axis)
        for key in others:
            order = _along(order, argsort(_along(key, order, axis), axis), axis)
        return order
    order = argsort(GlobalArray(*in_blocks(first._base, first._view)))
    for key in others:
        order = order[argsort(key[order])]
    return order


def _along(a: GlobalArray, indices: GlobalArray, axis: int) -> GlobalArray:
    found: GlobalArray = HANDLED[np.take_along_axis](a, indices, axis)
    return found
