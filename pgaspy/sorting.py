"""Sorting: the elements in order, or the indices that put them in order.

Along a dimension that processes hold whole each sorts its part. A vector that is dealt out is sorted by all together,
and the result lies exactly in its layout, whatever the elements are. Any other dimension is made whole on the way.

The functions take and return bases and views; the methods of `GlobalArray` and the public names wrap them.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.lib.array_utils import normalize_axis_index

from pgaspy.blockmath import near_square_grid
from pgaspy.caches import cached
from pgaspy.dims import BlockDim, Dim, whole_dim
from pgaspy.execution.recording import record, record_cold
from pgaspy.global_assign import copied, layout_like
from pgaspy.job.procgrid import world
from pgaspy.layout import Layout, replicated
from pgaspy.planning.view import View, whole
from pgaspy.reshaping import reshaped
from pgaspy.scheduling.base import Base
from pgaspy.scheduling.kinds.selection import select
from pgaspy.scheduling.kinds.sorting import sort, sort_parts
from pgaspy.scheduling.operations import BaseView

__all__ = ["INDEX", "blocks", "check_kind", "in_blocks", "in_order", "sorted_blocks", "with_places",
           "with_whole"]

INDEX = np.dtype(np.intp)

MAX_SELECTED = 16
"""Places of a vector that are looked for one by one; to find more, all of it is sorted."""


def check_kind(kind: str | None, order: None, stable: bool | None) -> None:
    """Refuse what NumPy does not sort by."""
    if kind is order is stable is None:
        return
    np.empty(0).sort(kind=kind, order=order, stable=stable)  # type: ignore[arg-type]  # which may be any text here


def in_order(base: Base, view: View, axis: int | None, gives_indices: bool, kth: tuple[int, ...] = ()) -> BaseView:
    """The elements sorted along a dimension, or the indices that sort them; with None of all, in row-major order.

    With `kth`, rows are partitioned only, by these indices; a vector is sorted, so that no result depends on how it is
    dealt out. (`order.partition` selects in a long one.)
    """
    if axis is None:
        base, view = reshaped(base, view, (-1,))
        axis = 0
    axis = normalize_axis_index(axis, view.ndim)
    layout, n = layout_like(base, view), view.shape[axis]
    if layout.dims[axis].n_procs == 1 or not view.size:
        return _sorted_parts(base, view, layout, axis, gives_indices, () if n == view.size else kth)
    if n == view.size:
        vector = view.index(tuple([slice(None) if d == axis else 0 for d in range(view.ndim)]))
        found, = sorted_blocks(base, vector, not gives_indices, gives_indices)
        result = BaseView(found.base, found.view.index(tuple(
            [slice(None) if d == axis else None for d in range(view.ndim)])))
    else:
        on_the_way = with_whole(view.shape, axis, world().size)
        result = _sorted_parts(*copied(base, view, on_the_way), on_the_way, axis, gives_indices, kth)
    return result if result.view.own_layout == layout else copied(*result, layout)


def with_places(base: Base, view: View, places: Sequence[int]) -> tuple[BaseView, Sequence[int]]:
    """Of rows, along the last dimension, what they would have at these places if they were sorted; and where that is.

    The places are in order, and so is where they are.
    """
    layout, axis, n = layout_like(base, view), view.ndim - 1, view.shape[-1]
    if layout.dims[axis].n_procs == 1 and n:
        return _sorted_parts(base, view, layout, axis, False, tuple(places)), places
    if n == view.size and len(places) <= MAX_SELECTED and base.dtype.kind in "biufmM":
        source, _ = in_blocks(base, view.index((0,) * axis))
        target = replicated((len(places),), world().size)
        found = BaseView(Base(target, base.dtype), whole(target))
        record(select(target, source.layout, base.dtype, tuple(places)), (found.base.storage, source.storage))
        return BaseView(found.base, found.view.index((*(None,) * axis, slice(None)))), range(len(places))
    return in_order(base, view, axis, False, tuple(places)), places


def _sorted_parts(base: Base, view: View, layout: Layout, axis: int, gives_indices: bool,
                  kth: tuple[int, ...]) -> BaseView:
    if view.own_layout != layout:
        base, view = copied(base, view, layout)
    target = BaseView(Base(layout, INDEX if gives_indices else base.dtype), whole(layout))
    if view.size:
        record_cold(sort_parts(target.view, view, axis, gives_indices, kth), (target.base.storage, base.storage))
    return target


@cached
def with_whole(shape: tuple[int, ...], axis: int, n_procs: int) -> Layout:
    """A layout with one dimension whole: the longest of the others are dealt out, as many as have room for this."""
    others = [d for d in range(len(shape)) if d != axis]
    grid = near_square_grid(n_procs, len(others))
    axes = {d: a for a, d in enumerate(sorted(others, key=lambda d: -shape[d]))}
    dims: list[Dim] = [whole_dim(n) if d == axis else BlockDim(n, grid[axes[d]], axes[d], n)
                       for d, n in enumerate(shape)]
    return Layout(grid, dims)


@cached
def blocks(n: int, n_procs: int) -> Layout:
    """The layout of a vector in even blocks, in the order of the ranks."""
    return Layout((n_procs,), [BlockDim(n, n_procs, 0, n)])


def in_blocks(base: Base, view: View) -> BaseView:
    """A vector in even blocks; itself, if it lies so."""
    layout = blocks(view.size, world().size)
    return BaseView(base, view) if view.is_whole and view.layout == layout else copied(base, view, layout)


def sorted_blocks(base: Base, view: View, gives_keys: bool = True, gives_indices: bool = True) -> list[BaseView]:
    """A vector that has elements sorted, or the indices that sort it, or both; in even blocks."""
    source, _ = in_blocks(base, view)
    layout, dtypes = source.layout, [base.dtype] * gives_keys + [INDEX] * gives_indices
    results = [BaseView(Base(layout, dtype), whole(layout)) for dtype in dtypes]
    record(sort(layout, base.dtype, gives_keys, gives_indices),
           (*[result.base.storage for result in results], source.storage))
    return results
