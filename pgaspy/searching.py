"""Searches in sorted arrays: where elements belong."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from pgaspy.array import GlobalArray
from pgaspy.creation import as_array, as_global, empty, of_each_process
from pgaspy.dispatch import implements
from pgaspy.distribution import Distribution
from pgaspy.execution.recording import taking_memory
from pgaspy.manipulation import where
from pgaspy.operands import as_numpy, refuse_masked
from pgaspy.scheduling.floating_point import silently
from pgaspy.small_calls import by_numpy
from pgaspy.supervision.recorder import take
from pgaspy.tasks import perform, write

__all__ = ["digitize", "searchsorted"]

MAX_WHOLE = 1 << 20
"""So many elements of a sorted array each process may hold."""

LITTLE_OF = 64
"""What is looked for in so many times as many elements is little."""

_COMPARED = "biufmM"
"""Kinds of dtypes whose order is that of comparisons, but for NaN and NaT, which are last."""


@implements(np.searchsorted)
@by_numpy(np.searchsorted, lying="as given")
def searchsorted(a: Any, v: Any, side: Literal["left", "right"] = "left", sorter: Any = None) -> GlobalArray:
    """Where elements would have to be put into a sorted array, so that it stays sorted. Collective.

    Parameters
    ----------
    a
        Shape (n,), sorted. Each process holds all of it meanwhile; of a global array of more than 2^20 numbers or
        times a sample, and what is left is searched by bisection: all ask for elements, log2(n / 2^20) times.
    v
        What is looked for, any shape. Of little, each process gets all, and counts what comes before it in its part.
    side
        Whether it comes before or after equal elements.
    sorter
        Shape (n,): the indices that sort `a`.

    Returns
    -------
    Indices in [0, n], int64, shape of `v`, dealt out as `v` is.

    Raises
    ------
    ValueError, TypeError
        As NumPy's; for any index of `sorter` that is beyond `a`.

    Examples
    --------
    >>> import pgaspy as pg
    >>> pg.searchsorted(pg.array([1, 3, 5]), pg.array([0, 3, 4])).gather()
    array([0, 1, 2])
    """
    v = as_array(v)
    if isinstance(a, GlobalArray) and a.ndim == 1 and sorter is None and is_little(v, a):
        return _counted(a, v, side)
    if isinstance(a, GlobalArray) and a.ndim == 1 and a.size > MAX_WHOLE and a.dtype.kind in _COMPARED:
        values = as_global(v)
        if values.dtype.kind in _COMPARED:
            return _bisected(a if sorter is None else a[sorter], values, side)
    a, sorter = _as_whole(a), None if sorter is None else _as_whole(sorter)
    if sorter is not None and sorter.dtype.kind in "iub" and ((sorter < 0) | (sorter >= a.size)).any():
        raise ValueError("Sorter index out of range.")
    return _found(as_global(v), lambda part: np.searchsorted(a, part, side, sorter))


@implements(np.digitize)
@by_numpy(np.digitize, lying="as given")
def digitize(x: Any, bins: Any, right: bool = False) -> GlobalArray:
    """The index of the bin that each element falls into. Collective.

    Parameters
    ----------
    x
        Any shape.
    bins
        Edges, shape (n,), which increase or decrease. Each process holds all of them meanwhile.
    right
        Whether a bin includes its right edge, instead of its left one.

    Returns
    -------
    Indices in [0, n], int64, shape of `x`, dealt out as `x` is.

    Raises
    ------
    ValueError
        If the edges do neither.

    Examples
    --------
    >>> import pgaspy as pg
    >>> pg.digitize(pg.array([0.5, 1.0, 9.0]), [0, 1, 2]).gather()
    array([1, 2, 3])
    """
    bins = _as_whole(bins)
    return _found(as_global(x), lambda part: np.digitize(part, bins, right))


def is_little(v: GlobalArray | NDArray[Any], a: GlobalArray) -> bool:
    """Whether to look for all values in the parts of an array takes less than to bring it to where they are."""
    return LITTLE_OF * v.size <= a.size >= LITTLE_OF


def _counted(a: GlobalArray, v: Any, side: Literal["left", "right"]) -> GlobalArray:
    """By what comes before the values in each part of the array, which is sorted as well."""
    values = _as_whole(v)
    np.searchsorted(np.zeros(1, a.dtype), values, side)  # raises what is wrong, on all processes
    values = _of_dtype(values, a.dtype)
    layout = a._view.own_layout
    if layout is None or layout.replica_axes:
        a = a.redistribute(Distribution("block"))
    counts = of_each_process(values.shape, np.int64)

    def count_part(counts: NDArray[Any], part: NDArray[Any]) -> None:
        counts[0] = np.searchsorted(part, values, side)

    perform(count_part, write(counts), a)
    found = counts.sum(axis=0)
    return found.redistribute(v._layout_like()) if isinstance(v, GlobalArray) and v.ndim else found


def _of_dtype(values: NDArray[Any], dtype: np.dtype[Any]) -> NDArray[Any]:
    """Values in a dtype that has each of them, if it has: NumPy would cast all of what it searches in, not to another.
    """
    kinds = values.dtype.kind, dtype.kind
    if values.dtype == dtype or not (set(kinds) <= {"i", "u"} or kinds == ("f", "f")):
        return values
    cast: NDArray[Any] = silently(values.astype, dtype)
    return cast if (cast == values).all() else values


@taking_memory
def _as_whole(a: Any) -> NDArray[Any]:
    """An array as NumPy's, on each process, which the program cannot change."""
    refuse_masked(a)
    if isinstance(a, GlobalArray):
        return a.gather()
    found = np.array(as_numpy(a))
    take(found)
    return found


def _bisected(a: GlobalArray, v: GlobalArray, side: Literal["left", "right"]) -> GlobalArray:
    """Where elements belong in a sorted array, of which each process sees a sample, and the elements in question."""
    stride = -(-a.size // MAX_WHOLE)
    coarse = searchsorted(a[::stride].gather(), v, side)
    low, high = where(coarse > 0, (coarse - 1) * stride + 1, 0), np.minimum(coarse * stride, a.size)
    for _ in range((stride - 1).bit_length()):
        middle = (low + high) // 2
        found = a[np.minimum(middle, a.size - 1)]
        belongs_behind = (low < high) & (_is_before(found, v) if side == "left" else ~_is_before(v, found))
        low, high = where(belongs_behind, middle + 1, low), where(belongs_behind, high, middle)
    return low


def _is_before(a: GlobalArray, b: GlobalArray) -> GlobalArray:
    """Whether elements come before others in an array in order; NaN is last."""
    is_less = a < b
    return is_less | ((b != b) & (a == a)) if b.dtype.kind in "fmM" else is_less


def _found(x: GlobalArray, find: Callable[[NDArray[Any]], NDArray[Any]]) -> GlobalArray:
    """An index for each element of an array, as a function gives them for local parts."""
    find(np.zeros(1, x.dtype))  # raises what is wrong, on all processes
    if not x.ndim:
        return _found(x.reshape(1), find)[0]
    x = x.copy() if x._view.own_layout is None else x
    indices = empty(x.shape, np.int64, layout=x._view.own_layout)

    def find_part(indices: NDArray[Any], part: NDArray[Any]) -> None:
        indices[...] = find(part)

    perform(find_part, write(indices), x)
    return indices
