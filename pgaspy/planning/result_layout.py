"""Which layout a result takes: it follows from the operands' metadata, when the operation is recorded."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

from pgaspy.blockmath import ceil_div
from pgaspy.caches import cached
from pgaspy.dims import BlockDim, Dim, whole_dim
from pgaspy.layout import Layout
from pgaspy.planning.affine import result_dims
from pgaspy.planning.view import View, whole

__all__ = ["WORTH_MESSAGES", "in_order_of", "inherited", "layout_of_extents", "product_layout", "result_layout",
           "result_view"]

SHARE = 2
"""A window is kept whose largest part is longer than that of the dimension dealt out afresh by at most one in so many.

To deal out afresh takes about as long as to pass through the array a few times.
"""

WORTH_MESSAGES = 1 << 16
"""The elements by which the largest part of a result is smaller, dealt out afresh, before it is: to pass through fewer
takes less time than the messages of what it is made from, and of what it is assigned to.
"""


def result_layout(shape: tuple[int, ...], views: Sequence[View],
                  default_for: Callable[[tuple[int, ...]], Layout]) -> Layout:
    """The layout of the result of an elementwise operation on `views`, which are broadcast to `shape`.

    Per dimension it follows the first operand that is not stretched there: the result lies where the view does, with
    exactly its owners, a reversed one as if it were in order. A view of a block dimension with too long a part (see
    `SHARE`), unless little is gained (see `WORTH_MESSAGES`), and one of a cyclic dimension that has no layout, are
    dealt out afresh. Of windows that are shifted against each other, one in between is taken.

    Where an axis of the grid is left without a dimension, as of rows, the result lies where operands are fixed
    there, at the place of the first, or on all processes along it, as what is reduced along a dimension does;
    unless one is dealt out along it, or too much is gained (see `WORTH_MESSAGES`). Where that does not give
    distinct axes of one grid, the default is taken. Replicated and one-process operands choose only when there is
    no other; a number that is dealt out with others on another grid says nothing of where a row lies. A number lies
    where the first operand does that not all processes have, if there is one.
    """
    if not shape:
        return _layout_of_number(views) or default_for(())
    distributed = [view for view in views if view.layout.is_distributed]
    if distributed:
        return _distributed_layout(shape, distributed) or default_for(shape)
    for view in views:
        return Layout(view.layout.grid, [whole_dim(n) for n in shape], view.layout.pins)
    return default_for(shape)


def result_view(shape: tuple[int, ...], views: Sequence[View],
                default_for: Callable[[tuple[int, ...]], Layout]) -> View:
    """The view of a new base as which the result is seen: it has that layout, and its elements lie in the order of the
    operands', as NumPy's do. So what is computed of transposed arrays alone is the transposed of what is computed.
    """
    return in_order_of(views, result_layout(shape, views, default_for))


def in_order_of(views: Sequence[View], layout: Layout) -> View:
    """The view of a new base that has a layout, and whose elements lie in the order of the views'."""
    order = _memory_order(views)
    return whole(layout) if order is None else _view_in_order(layout, order)


def _view_in_order(layout: Layout, order: Sequence[int]) -> View:
    """The view that has a layout, of a base whose dimensions are those of the view in an order."""
    base = _layout(layout.grid, layout.pins, *[layout.dims[d] for d in order])
    return whole(base).transpose([order.index(d) for d in range(len(order))])


def product_layout(a: View, b: View, default_for: Callable[[tuple[int, ...]], Layout]) -> Layout:
    """The layout of A @ B: rows as A's and columns as B's, where these lie on two axes of one grid."""
    shape = a.shape[0], b.shape[1]
    grid = a.layout.grid
    if a.own_layout is not None and b.own_layout is not None and grid == b.layout.grid and len(grid) == 2:
        dims = a.own_layout.dims[0], b.own_layout.dims[1]
        if (dims[0].axis, dims[1].axis) in ((0, 1), (1, 0)):
            return Layout(grid, [inherited(dim, dim.extent) for dim in dims])
    return default_for(shape)


@cached
def layout_of_extents(view: View, extents: tuple[int, ...]) -> Layout | None:
    """That of an array dealt out over the grid as a view is, for other extents; None for the default, as of long rows.
    """
    layout = view.own_layout
    if layout is None or layout.replica_axes or len(extents) != view.ndim:
        return None
    found = Layout(layout.grid, [inherited(dim, n) for dim, n in zip(layout.dims, extents, strict=True)], layout.pins)
    is_kept = not layout.is_pinned or (view.layout.is_distributed and found.max_local_size <= WORTH_MESSAGES)
    return found if is_kept else None


def _memory_order(views: Sequence[View]) -> tuple[int, ...] | None:
    """The dimensions in the order in which operands have them in memory; None if not all are transposed."""
    order = next((view.memory_order for view in views if view.memory_order and not view.stretched_dims), None)
    if order is not None:
        for view in views:
            named = [p for d in order if (p := view.base_dims[d]) is not None]
            if named != sorted(named):
                return None
    return order


def _layout_of_number(views: Sequence[View]) -> Layout | None:
    """Where the first operand lies that not all processes have; None if all have all of them."""
    for view in views:
        own = view.own_layout
        if own is not None and not own.is_replicated:
            return own
    return None


def _distributed_layout(shape: tuple[int, ...], views: Sequence[View]) -> Layout | None:
    grid = next((view.layout.grid for view in views if not _is_number(view)), views[0].layout.grid)
    views = tuple([view for view in views if view.layout.grid == grid or not _is_number(view)])
    dims = result_dims(shape, views, grid)
    if dims is None:
        return None
    axes = [dim.axis for dim in dims]
    left = [axis for axis in views[0].layout.axes_of_several if axis not in axes]
    pins: tuple[int | None, ...] | None = (None,) * len(grid)
    if left:
        pins = _pins(grid, left, views) if math.prod(map(_longest_part, dims)) <= WORTH_MESSAGES else None
    if pins is None:
        return None
    return _layout(grid, pins, *(_worth_messages(dims) if views[0].layout.axes_of_several else dims))


def _is_number(view: View) -> bool:
    """Whether a view repeats one element in all dimensions."""
    return view.base_dims.count(None) == len(view.base_dims)


def _pins(grid: tuple[int, ...], axes: Sequence[int], views: Sequence[View]) -> tuple[int | None, ...] | None:
    """Where a result lies along these axes, of which it has no dimension: on all processes along one where all operands
    do, else where the first one does; None if one is dealt out there, or on another grid.
    """
    pins: list[int | None] = [None] * len(grid)
    if any(view.layout.grid != grid for view in views):
        return None
    for axis in axes:
        number = views[0].layout.axes_of_several.index(axis)
        places: list[Any] = [place for view in views if (place := view.along_axes[number]) is not None]
        if any(place[0] != "at" for place in places):
            return None
        if places:
            pins[axis] = places[0][1]
    return tuple(pins)


@cached
def _layout(grid: tuple[int, ...], pins: tuple[int | None, ...], *dims: Dim) -> Layout:
    """The one layout of these: what is worked out about it is found again."""
    return Layout(grid, dims, pins)


def _worth_messages(dims: Sequence[Dim]) -> Sequence[Dim]:
    """The dimensions of a result; dealt out afresh where they are out of balance, if that gains enough."""
    size = math.prod([dim.extent for dim in dims])
    if size and math.prod(map(_at_most, dims)) - math.prod(map(_at_least, dims)) < WORTH_MESSAGES:
        return dims  # less is gained, whatever is
    if all(_is_balanced(dim) for dim in dims if isinstance(dim, BlockDim) and dim.n_procs > 1):
        return dims
    balanced = [inherited(dim, dim.extent) if dim.n_procs > 1 else dim for dim in dims]
    gained = math.prod(map(_longest_part, dims)) - math.prod(map(_longest_part, balanced))
    return dims if 0 < gained < WORTH_MESSAGES else balanced


def _at_least(dim: Dim) -> int:
    """What the longest part has, however it is dealt out."""
    return ceil_div(dim.extent, dim.n_procs)


def _at_most(dim: Dim) -> int:
    """What a part has at most, at a glance."""
    return min(dim.extent, ceil_div(dim.parent_extent, dim.n_procs)) if dim.__class__ is BlockDim else dim.extent


def _longest_part(dim: Dim) -> int:
    """How many elements a process has at most."""
    return dim.block if isinstance(dim, BlockDim) else min(dim.extent, ceil_div(dim.n_blocks, dim.n_procs) * dim.block)


def inherited(dim: Dim, extent: int) -> Dim:
    """A dimension of so many elements, made from one: the same, unless that is longer or shorter, or out of balance."""
    if dim.extent == extent and (not isinstance(dim, BlockDim) or _is_balanced(dim)):
        return dim
    return dim.fresh(extent)


def _is_balanced(dim: BlockDim) -> bool:
    """Whether the parts of a window are short enough; on one process it has no use."""
    fresh = ceil_div(dim.extent, dim.n_procs)
    return dim.n_procs > 1 and fresh > 0 and (dim.extent == dim.parent_extent or dim.block <= fresh + fresh // SHARE)
