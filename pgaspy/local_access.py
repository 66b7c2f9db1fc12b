"""The local view: what this process owns of an array or view, as NumPy views. Not collective."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pgaspy.execution.recording import finish, keep_borrowed, stand_ins
from pgaspy.job.procgrid import world
from pgaspy.planning.pieces import local_indices, local_view_shape
from pgaspy.planning.segments import part_segments
from pgaspy.planning.transfers import fixed_offset
from pgaspy.planning.view import View
from pgaspy.scheduling.base import Base, lent_view

__all__ = ["blocks", "global_indices", "local"]


def local(base: Base, view: View) -> NDArray[Any]:
    """See `GlobalArray.local`."""
    keep_borrowed(base.storage, view)
    finish(base)
    if (given := stand_ins()) is not None:
        return given.part(local_view_shape(view, world().rank), base.dtype)
    array = lent_view(base.storage, view)
    array.flags.writeable = not (_is_replicated(view) or view.is_read_only)
    return array


def global_indices(view: View, dim: int) -> NDArray[np.int64]:
    """See `GlobalArray.global_indices`."""
    if not -view.ndim <= dim < view.ndim:
        raise np.exceptions.AxisError(dim, view.ndim)
    return local_indices(view, dim % view.ndim, world().rank)


def blocks(base: Base, view: View, ranges: Sequence[tuple[int, int]] | None, index: bool) -> Iterator[Any]:
    """See `GlobalArray.blocks`."""
    if ranges is not None and len(ranges) != view.ndim:
        raise ValueError(f"ranges has {len(ranges)} pairs, the array has {view.ndim} dimensions")
    finish(base)
    layout, rank = view.layout, world().rank
    coords = layout.coords_from_rank(rank)
    if view.size and view.stretched_dims:
        raise ValueError("a view that repeats elements has no blocks: copy() it first")
    if not view.holds(coords):
        return iter(())
    per_dim = []
    for d, section in enumerate(view.sections):
        p = view.base_dims[d]
        owned = part_segments(section, 0 if p is None else layout.dim_coord(p, coords))
        wanted = range(*ranges[d]) if ranges is not None else None
        per_dim.append([block for block in owned if wanted is None or block[0] in wanted])
    return _views(base, view, per_dim, rank, index)


def _views(base: Base, view: View, per_dim: Sequence[Sequence[tuple[int, int, int]]], rank: int,
           index: bool) -> Iterator[Any]:
    itemsize = base.dtype.itemsize
    held = view.layout.held_by(rank)
    start = itemsize * fixed_offset(view, held)
    dims = [0 if p is None else itemsize * held.strides[p] for p in view.base_dims]
    strides = tuple(stride * step for stride, step in zip(dims, view.steps, strict=True))
    writeable = not (_is_replicated(view) or view.is_read_only)
    for combination in itertools.product(*per_dim):
        shape = tuple(length for _, _, length in combination)
        offset = start + sum(first * stride for (_, first, _), stride in zip(combination, dims, strict=True))
        keep_borrowed(base.storage, view)
        finish(base)  # what was recorded since the last block was asked for
        if (given := stand_ins()) is not None:
            block = given.part(shape, base.dtype)
        else:
            block = np.ndarray(shape, base.dtype, base.storage.lend(), offset, strides)
            block.flags.writeable = writeable
        yield (tuple(number for number, _, _ in combination), block) if index else block


def _is_replicated(view: View) -> bool:
    """Whether several processes hold the view's elements, so that writing to one copy would tear them apart."""
    return bool(view.layout.replica_axes)
