"""The plan of a reshape: the elements of one layout, in row-major order, to those of another of the same size.

The flat row-major index is the common index space. A local part is a sequence of intervals of it; each process cuts
those of its own part where the rows and the blocks of the other side end, and finds the peers by division, as
`segments` does for one dimension. The cost follows the rows of this process's own part, never the job.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from pgaspy.caches import cached
from pgaspy.dims import whole_dim
from pgaspy.layout import Layout
from pgaspy.planning.segments import (
    LENGTH,
    OTHER_START,
    OWN_START,
    OWN_STEP,
    Indices,
    continued,
    expanded,
    joined_by_key,
    segments,
)
from pgaspy.planning.transfers import Message, TransferPlan, strides_from_shape
from pgaspy.planning.view import Section

__all__ = ["plan_reshape"]


class _Intervals(NamedTuple):
    """Intervals of the flat index, in its order, and the local flat index at which each begins."""

    start: Indices
    length: Indices
    local: Indices


@cached
def plan_reshape(dst: Layout, src: Layout, rank: int) -> TransferPlan:
    """The share of `rank`, in flat local indices; the destination has no replicas, unless both lie whole together."""
    if not src.is_distributed and not dst.is_distributed:
        size = math.prod(src.shape) if src.holds(src.coords_from_rank(rank)) else 0
        everything = np.array([[0, 1, 0, 1, size]])
        return TransferPlan((), (), Message(rank, (everything,), (size,), 0) if size else None)
    incoming = _shared(dst, src, rank, chosen=src.coords_from_rank(rank))
    local = incoming.pop(rank, None)
    outgoing = _shared(src, dst, rank, chosen=dst.coords_from_rank(rank))
    outgoing.pop(rank, None)
    sends = [m for peer, m in outgoing.items() if _takes_from(src, peer, rank)]
    return TransferPlan(tuple(sends), tuple(incoming.values()), local)


def _takes_from(src: Layout, peer: int, rank: int) -> bool:
    """Whether `peer`, which takes the copy of the source at its own coordinates, finds `rank` there."""
    wanted, own = src.coords_from_rank(peer), src.coords_from_rank(rank)
    return all(wanted[axis] == own[axis] for axis in src.replica_axes)


def _shared(own: Layout, other: Layout, rank: int, chosen: tuple[int, ...]) -> dict[int, Message]:
    """The elements of `rank`'s part of `own` by their owners in `other`; along replicated axes, those at `chosen`."""
    part = _joined_intervals(_own_intervals(own, rank))
    if not len(part.start):
        return {}
    d, width = _last_dealt_out(other)
    pieces, rows, columns, last_parts = _cut(part, other)
    index = (*(np.unravel_index(rows, other.shape[:d]) if d else ()), columns // width)
    parts = [dim.part_from_index(i) for dim, i in zip(other.dims[:d], index[:d], strict=True)] + [last_parts]
    peers = _ranks(other, parts, chosen)
    # where the elements lie on the other side is known, and asked for, of those that stay here; the others are packed
    other_local = columns % width
    strides = strides_from_shape(other.local_shape(rank))
    for dim, i, k, stride in zip(other.dims[:d + 1], index, parts, strides[:d + 1], strict=True):
        other_local += dim.local_from_index(i, k) * stride
    other_local = np.where(peers == rank, other_local, pieces.local)
    ones = np.ones_like(rows)
    tables = joined_by_key(np.stack([pieces.local, ones, other_local, ones, pieces.length], axis=1), peers)
    return {peer: _message(peer, table) for peer, table in tables.items()}


def _message(peer: int, table: Indices) -> Message:
    is_contiguous = len(table) == 1 and (table[0, OWN_STEP] == 1 or table[0, LENGTH] == 1)
    offset = int(table[0, OWN_START]) if is_contiguous else None
    return Message(peer, (table,), (int(table[:, LENGTH].sum()),), offset)


def _last_dealt_out(layout: Layout) -> tuple[int, int]:
    """The last dimension that is dealt out, or the first; and how many elements each index of it has behind it.

    These lie together. A row, in what follows, is what lies along that dimension.
    """
    d = max((d for d, dim in enumerate(layout.dims) if dim.n_procs > 1), default=0)
    return d, math.prod(layout.shape[d + 1:])


def _own_intervals(layout: Layout, rank: int) -> _Intervals:
    """The rows of a local part, cut where its blocks end."""
    d, width = _last_dealt_out(layout)
    coords = layout.coords_from_rank(rank)
    shape = layout.local_shape(rank)
    if 0 in shape or not layout.holds(coords):
        return _Intervals(_EMPTY, _EMPTY, _EMPTY)
    owned = [segments(Section(dim, 0, 1, dim.extent), layout.dim_coord(d, coords),
                      Section(whole_dim(dim.extent), 0, 1, dim.extent)) for d, dim in enumerate(layout.dims[:d + 1])]
    rows = np.zeros(1, np.int64)
    for dim, seg in zip(layout.dims[:d], owned[:d], strict=True):
        rows = np.add.outer(rows * dim.extent, expanded(seg.start, seg.length)).ravel()
    last = owned[-1]
    start = np.add.outer(rows * layout.shape[d], last.start).ravel()
    local = np.add.outer(np.arange(len(rows)) * shape[d], last.own).ravel()
    return _Intervals(start * width, np.tile(last.length, len(rows)) * width, local * width)


def _joined_intervals(part: _Intervals) -> _Intervals:
    """The intervals, with those that continue one another joined."""
    if not len(part.start):
        return part
    ones = np.ones_like(part.start)
    table, _ = continued(np.stack([part.start, ones, part.local, ones, part.length], axis=1), ones)
    return _Intervals(table[:, OWN_START], table[:, LENGTH], table[:, OTHER_START])


def _cut(part: _Intervals, other: Layout) -> tuple[_Intervals, Indices, Indices, Indices]:
    """The intervals cut where the rows of `other`, and the blocks in them, end.

    Also, of each, the number of the row, the element of the row at which it begins, and the part of the dimension.
    """
    d, width = _last_dealt_out(other)
    dim = other.dims[d]
    n_columns = dim.extent * width
    first, last = part.start // n_columns, (part.start + part.length - 1) // n_columns
    n_rows = last - first + 1
    rows = expanded(first, n_rows)
    begin = np.maximum(np.repeat(part.start, n_rows), rows * n_columns)
    end = np.minimum(np.repeat(part.start + part.length, n_rows), (rows + 1) * n_columns)
    local = np.repeat(part.local - part.start, n_rows) + begin

    column, stop = begin - rows * n_columns, end - rows * n_columns
    first, last = dim.part_from_index(column // width), dim.part_from_index((stop - 1) // width)
    n_parts = last - first + 1
    parts = expanded(first, n_parts)
    low = np.maximum(np.repeat(column, n_parts), dim.part_edge(parts) * width)
    high = np.minimum(np.repeat(stop, n_parts), dim.part_edge(parts + 1) * width)
    local = np.repeat(local - column, n_parts) + low
    rows = np.repeat(rows, n_parts)
    kept = high > low
    low, high, rows = low[kept], high[kept], rows[kept]
    return _Intervals(rows * n_columns + low, high - low, local[kept]), rows, low, parts[kept]


def _ranks(layout: Layout, parts: list[Indices], chosen: tuple[int, ...]) -> Indices:
    """The owners of parts, one per dimension; along an axis that holds replicas, the one at `chosen`."""
    coords: list[Indices | int] = [c if pin is None else pin for c, pin in zip(chosen, layout.pins, strict=True)]
    for dim, part in zip(layout.dims, parts, strict=False):  # those behind have one owner
        if dim.axis is not None:
            coords[dim.axis] = dim.owner_from_part(part)
    ranks = np.zeros_like(parts[-1])
    for n, coord in zip(layout.grid, coords, strict=True):
        ranks = ranks * n + coord
    return ranks


_EMPTY = np.empty(0, np.int64)
