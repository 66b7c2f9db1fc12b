"""Owners: which process has an item of a section, and where it lies there, as numbers for a kernel. Pure.

The items of a section are counted in row-major order by its first dimensions; the others, of which each process has the
same part for every item, are the item.
"""

from __future__ import annotations

import itertools
import math
from typing import NamedTuple

from pgaspy.caches import cached
from pgaspy.dims import BlockDim
from pgaspy.layout import Layout
from pgaspy.planning.view import View

__all__ = ["Place", "Places", "are_runs", "in_order", "places_of", "replica_distances", "run_size"]

WHOLE, EVEN, CYCLIC = range(3)


class Place(NamedTuple):
    """One dimension: the struct of the same name in `_omp_exchange.h`, where its fields are described."""

    extent: int
    kind: int
    start: int
    step: int
    n_procs: int
    size: int
    first_owner: int
    missing: int
    rank_stride: int
    local_start: int
    local_step: int


def in_order(n: int, nbytes: int) -> Place:
    """Items that are all in one buffer, one after the other."""
    return Place(n, WHOLE, 0, 0, 1, 1, 0, 0, 0, 0, nbytes)


class Places(NamedTuple):
    """Where items lie.

    Attributes
    ----------
    dims
        One for each dimension that counts items; offsets are in elements of the storage of one process.
    first_rank, first_offset
        What the dimensions' ranks, and offsets, are added to.
    """

    dims: tuple[Place, ...]
    first_rank: int
    first_offset: int


@cached
def places_of(view: View, n_dims: int, rank: int, is_written: bool) -> Places:
    """Where the items lie that the first dimensions of a view count, for a process that reads or writes them.

    Of several copies it reads the one at its own coordinates; of those that are written, this says where the first is.
    """
    layout = view.layout
    held = layout.held_by(rank)
    strides = _rank_strides(layout.grid)
    coords = [0 if is_written and axis in layout.replica_axes else c for axis, c in enumerate(held.coords)]
    coords = [c if fixed is None else fixed for c, fixed in zip(coords, view.fixed_coords, strict=True)]
    offset, dims = 0, []
    if held.is_any:
        offset = sum(_local(layout, p, view.origin[p]) * held.strides[p] for p in view.fixed_dims)
    for p, step, extent in zip(view.base_dims[:n_dims], view.steps, view.shape, strict=False):
        if p is None:
            dims.append(Place(extent, WHOLE, 0, 0, 1, 1, 0, 0, 0, 0, 0))
            continue
        dim, origin, stride = layout.dims[p], view.origin[p], held.strides[p]
        interval = held.intervals[p]
        if dim.axis is not None:
            coords[dim.axis] = 0
        rank_stride = 0 if dim.axis is None else strides[dim.axis]
        low = origin if interval is None else origin - interval[0]
        if interval is not None and dim.n_procs == 1:
            dims.append(Place(extent, WHOLE, 0, 0, 1, 1, 0, 0, 0, low * stride, step * stride))
        elif isinstance(dim, BlockDim):
            dims.append(Place(extent, EVEN, dim.start + dim.step * origin, dim.step * step, dim.n_procs,
                              dim.parent_extent, 0, 0, rank_stride, low * stride, step * stride))
        else:
            dims.append(Place(extent, CYCLIC, origin, step, dim.n_procs, dim.block, dim.first_owner,
                              dim.block - dim.first_length, rank_stride, 0, stride))
    return Places(tuple(dims), sum(c * s for c, s in zip(coords, strides, strict=True)), offset)


def _local(layout: Layout, p: int, index: int) -> int:
    dim = layout.dims[p]
    return int(dim.local_from_index(index, dim.part_from_index(index)))


def _rank_strides(grid: tuple[int, ...]) -> list[int]:
    """How far the ranks of neighbours along each axis of a grid are apart."""
    return [*itertools.accumulate(reversed(grid[1:]), int.__mul__, initial=1)][::-1]


@cached
def replica_distances(layout: Layout) -> tuple[int, ...]:
    """How far the ranks of the processes are apart that hold copies of one element, from the first of them."""
    strides = _rank_strides(layout.grid)
    return tuple(sum(at) for at in itertools.product(
        *[range(0, layout.grid[axis] * strides[axis], strides[axis]) for axis in layout.replica_axes]))


@cached
def are_runs(view: View, n_dims: int, target: Layout) -> bool:
    """Whether the dimensions of a view after the first ones are, on each process, one run of its memory for each item.

    They lie as the last dimensions of an array of items do, which each process takes from those at its coordinates.
    """
    layout = view.layout
    if n_dims == view.ndim:
        return True
    base_dims = view.base_dims[n_dims:]
    if base_dims != tuple(range(layout.ndim - len(base_dims), layout.ndim)):
        return False
    own, theirs = layout.dims[-len(base_dims):], target.dims[-len(base_dims):]
    is_whole = all(view.origin[p] == 0 and step == 1 and n == layout.dims[p].extent
                   for p, step, n in zip(base_dims, view.steps[n_dims:], view.shape[n_dims:], strict=True)
                   if p is not None)
    alike = all(a.n_procs == b.n_procs == 1 or a == b for a, b in zip(own, theirs, strict=True))
    return is_whole and alike and (layout.grid == target.grid or all(dim.n_procs == 1 for dim in own))


def run_size(layout: Layout, n_dims: int, rank: int) -> int:
    """The elements of one run over the last dimensions, on the processes at these coordinates that hold any."""
    coords = layout.coords_from_rank(rank)
    return math.prod(layout.dims[d].local_extent(layout.dim_coord(d, coords))
                     for d in range(layout.ndim - n_dims, layout.ndim))
