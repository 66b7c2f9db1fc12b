"""Which layout a result takes: it follows from the operands' metadata, when the operation is recorded."""

from __future__ import annotations

from collections.abc import Sequence

from pgaspy.layout import BlockDim, Dim, Layout, replicated, whole_dim
from pgaspy.planning.view import Section, View

__all__ = ["result_layout"]


def result_layout(shape: tuple[int, ...], views: Sequence[View], default: Layout) -> Layout:
    """The layout of the result of an elementwise operation on `views`, which are broadcast to `shape`.

    Per dimension it follows the first operand that is not stretched there: `cyclic` inherits the alignment, `block`
    is dealt out afresh. Where that does not give distinct axes of one grid, or leaves an axis of the grid without a
    dimension, the default is taken. Replicated and one-process operands choose only when there is no other.
    """
    if not shape:
        return replicated((), default.n_procs)
    distributed = [view for view in views if view.layout.is_distributed]
    if distributed:
        return _distributed_layout(shape, distributed) or default
    for view in views:
        return Layout(view.layout.grid, [whole_dim(n) for n in shape], view.layout.pins)
    return default


def _distributed_layout(shape: tuple[int, ...], views: Sequence[View]) -> Layout | None:
    grid = views[0].layout.grid
    dims: list[Dim] = []
    for d, extent in enumerate(shape):
        view = next((v for v in views if v.base_dims[d] is not None), None)
        dim = whole_dim(extent) if view is None else _result_dim(view.sections[d])
        if view is not None and view.layout.grid != grid and dim.axis is not None:
            return None
        dims.append(dim)
    axes = [dim.axis for dim in dims if dim.axis is not None]
    if len(set(axes)) != len(axes) or any(n > 1 and axis not in axes for axis, n in enumerate(grid)):
        return None
    return Layout(grid, dims)


def _result_dim(section: Section) -> Dim:
    dim, start, step, extent = section
    window = None if isinstance(dim, BlockDim) else dim.window(start, step, extent)
    return window if window is not None else dim.fresh(extent)
