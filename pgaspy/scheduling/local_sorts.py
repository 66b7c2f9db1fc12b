"""Sorts of local arrays by all threads: NumPy sorts runs of them, and C kernels merge these, or find an order."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pgaspy.kernels import bindings
from pgaspy.scheduling.local_threads import even_edges, n_threads_for, on_threads

__all__ = ["Columns", "ends_in_second", "find_order", "merge_runs", "new_columns", "sort_along", "sort_vector"]

BY_DIGITS_FROM = 1 << 9
"""The order of so many elements is found by their digits; of fewer, by NumPy."""

Array = NDArray[Any]
Columns = Sequence[Array]
"""Keys, and the indices that go with them, if any do: contiguous vectors of one length."""


def new_columns(n: int, dtype: np.dtype[Any], has_indices: bool) -> Columns:
    """Columns of n keys, uninitialised."""
    return [np.empty(n, dtype), *([np.empty(n, np.intp)] if has_indices else [])]


def sort_along(axis: int, source: Array, target: Array, gives_indices: bool, kth: Sequence[int] = ()) -> None:
    """Sort along a dimension, or find the indices that do, into a contiguous array of the same shape. Stable.

    With `kth`, partition it in place of sorting, by NumPy's `partition`.
    """
    if source.size == source.shape[axis]:
        vector, flat = source.reshape(-1), target.reshape(-1)
        if kth:
            flat[...] = vector.argpartition(kth) if gives_indices else np.partition(vector, kth)
        elif gives_indices:
            find_order(vector, None, flat, 0, n_threads_for(flat.size))
        else:
            sort_vector(vector, [flat])
        return
    longest = max((d for d in range(source.ndim) if d != axis % source.ndim), key=lambda d: source.shape[d])
    own, out = source.swapaxes(0, longest), target.swapaxes(0, longest)
    axis = longest if axis % source.ndim == 0 else axis  # where the dimension is then

    def sort_rows(start: int, stop: int) -> None:
        rows, ordered = own[start:stop], out[start:stop]
        if gives_indices:
            ordered[...] = rows.argpartition(kth, axis) if kth else _orders_of_rows(rows, axis)
        elif kth:
            ordered[...] = rows
            ordered.partition(kth, axis)
        else:
            _sort_rows(rows, ordered, axis)

    n_threads = n_threads_for(source.size)
    on_threads(sort_rows, even_edges(len(own), n_threads), n_threads)


def sort_vector(source: Array, target: Columns, first: int = 0) -> None:
    """Sort a vector, stably: its elements, and their indices, from `first` on, where the target has these."""
    if len(target) > 1:
        find_order(source, target[0], target[1], first, n_threads_for(source.size))
        return
    n_threads = n_threads_for(source.size)
    edges = even_edges(source.size, n_threads if source.size and bindings.merges(source.dtype) else 1)
    spare = new_columns(source.size if len(edges) > 2 else 0, source.dtype, False)
    runs, others = (spare, target) if ends_in_second(len(edges) - 1) else (target, spare)

    def sort_run(start: int, stop: int) -> None:
        _sort_keys(source[start:stop], runs[0][start:stop])

    on_threads(sort_run, edges, n_threads)
    merge_runs(edges, runs, others)


def find_order(source: Array, keys: Array | None, indices: Array, first: int, n_threads: int) -> None:
    """The indices, from `first` on, that sort a vector, stably; and its elements in that order, if there are keys."""
    if source.size >= BY_DIGITS_FROM and bindings.sorts(source.dtype):
        bindings.sort(source, first, keys, indices, n_threads)
        return
    order = source.argsort(kind="stable")
    if keys is not None:
        np.take(source, order, out=keys, mode="clip")
    np.add(order, first, out=indices)


def ends_in_second(n_runs: int) -> bool:
    """Whether merging so many runs ends in the second arrays."""
    return (n_runs - 1).bit_length() % 2 == 1


def merge_runs(edges: Sequence[int], runs: Columns, others: Columns) -> None:
    """Merge sorted runs, between edges from 0 on, into other columns and back: where to, `ends_in_second` tells."""
    if len(edges) > 2 and not bindings.merges(runs[0].dtype):
        _sort_stably(runs, others if ends_in_second(len(edges) - 1) else runs)
        return
    while len(edges) > 2:
        bindings.merge(edges, runs, others)
        edges = [*edges[:-1:2], edges[-1]]
        runs, others = others, runs


def _sort_stably(columns: Columns, target: Columns) -> None:
    """Sort keys, and indices with them, by NumPy."""
    if len(columns) == 1:
        target[0][...] = columns[0]
        target[0].sort(kind="stable")
        return
    order = columns[0].argsort(kind="stable")
    for column, found in zip(columns, target, strict=True):
        found[...] = column[order]


def _sort_keys(source: Array, target: Array) -> None:
    """Sort a vector into another one. What is equal and not the same, as the two zeros are, stays in order."""
    target[...] = source
    target.sort(kind="stable" if _is_sorted_stably(target.dtype) else None)
    if target.dtype.kind == "f":
        zero = target.dtype.type(0)  # of another dtype, a copy would be searched
        start, stop = np.searchsorted(target, zero, "left"), np.searchsorted(target, zero, "right")
        if start < stop:
            target[start:stop] = source[source == 0]


def _is_sorted_stably(dtype: np.dtype[Any]) -> bool:
    """Whether NumPy's stable sort is needed: for complex numbers, and for float16, of which its other one (2.4) leaves
    some where they are.
    """
    return dtype.kind == "c" or dtype == np.float16


def _orders_of_rows(source: Array, axis: int) -> Array:
    """The indices that sort along a dimension, stably: one row after the other, if they are long."""
    if source.shape[axis] < BY_DIGITS_FROM or not bindings.sorts(source.dtype):
        return source.argsort(axis, "stable")
    rows = np.moveaxis(source, axis, -1)
    found = np.empty(rows.shape, np.intp)
    for place in np.ndindex(rows.shape[:-1]):
        find_order(rows[place], None, found[place], 0, 1)
    return np.moveaxis(found, -1, axis)


def _sort_rows(source: Array, target: Array, axis: int) -> None:
    """The same along a dimension."""
    may_differ = _is_sorted_stably(source.dtype) or (source.dtype.kind == "f" and bool(
        (np.signbit(source) & (source == 0)).any()))
    target[...] = source
    target.sort(axis, "stable" if may_differ else None)
