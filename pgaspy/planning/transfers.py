"""Plans: what one process sends, receives and copies to make one view equal another.

`plan_transfer` is a pure function of two views of one shape and a rank. It touches no data and no communicator, so
that a plan can be made, and checked, for every rank of a simulated job in one process. One dimension is solved at a
time (`segments`); messages are products of the dimensions. Both ends of a message list its elements in the order of
the index space, so that no metadata travels.

Copies of the source: a receiver takes the one at its own coordinates along the axes of the source's grid that hold
replicas, and so itself where it holds one. Copies of the destination: where they do not hold the source as well, the
elements travel once to a **root** in each group of replicas (a holder itself, where the grids are the same but for
axes of one process), which broadcasts them along the replicated axes.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from operator import attrgetter

import numpy as np

from pgaspy.caches import acyclic, cached
from pgaspy.layout import Held, Layout, coords_from_rank, rank_from_coords
from pgaspy.planning.segments import LENGTH, OWN_START, OWN_STEP, Indices, ranges_by_coord
from pgaspy.planning.view import Section, View

__all__ = ["NOTHING", "Broadcast", "Message", "TransferPlan", "fixed_offset", "group_rank", "plan_roll",
           "plan_transfer", "strides_from_shape"]


@acyclic
@dataclass(frozen=True, eq=False, slots=True)
class Message:
    """A section of elements shared with one peer: per dimension a table of ranges, the own side being this rank's.

    `shape` counts the elements per dimension. `offset` is the element of this rank's storage at which the section
    begins, where it lies there contiguously and in order, else None.
    """

    peer: int
    ranges: tuple[Indices, ...]
    shape: tuple[int, ...]
    offset: int | None

    @property
    def size(self) -> int:
        """The number of elements."""
        return math.prod(self.shape)


@acyclic
@dataclass(frozen=True, eq=False, slots=True)
class Broadcast:
    """What one root of a group of replicas hands to all of them: the pieces in the order of their source ranks."""

    root: int
    pieces: tuple[Message, ...]

    @property
    def size(self) -> int:
        """The number of elements."""
        return sum(piece.size for piece in self.pieces)


@acyclic
@dataclass(frozen=True, eq=False, slots=True)
class TransferPlan:
    """One rank's share of a transfer: at most one message to and from each peer, none to itself.

    `local` copies from this rank's source part to its destination part (its own side is the destination). The
    broadcasts, in order, run along the axes `axes` of the destination's grid; a root receives the pieces of its
    broadcast from their sources, or packs its own.
    """

    sends: tuple[Message, ...]
    receives: tuple[Message, ...]
    local: Message | None
    axes: tuple[int, ...] = ()
    broadcasts: tuple[Broadcast, ...] = ()

    @property
    def is_local(self) -> bool:
        """Whether this rank exchanges nothing."""
        return not (self.sends or self.receives or self.broadcasts)


NOTHING = TransferPlan((), (), None)
"""Of what is empty, and of what stays where it is."""


@cached
def plan_transfer(dst: View, src: View, rank: int) -> TransferPlan:
    """The share of `rank` in `dst[...] = src`, for views of one shape on layouts of one job.

    The source has no stretched dimension, except where every process holds the whole of it. Elements of the
    destination that are not distinct (stretched dimensions) are refused by the callers.
    """
    source = src.only_holder
    if source is not None and dst.layout.is_replicated and dst.size and dst.layout.replica_axes:
        return _handed_out(dst, src, source, rank)
    return _planned(dst, src, [[sections] for sections in zip(dst.sections, src.sections, strict=True)], rank)


@cached
def plan_roll(dst: View, src: View, shifts: tuple[int, ...], rank: int) -> TransferPlan:
    """The same where the elements are moved so far along each dimension, those that leave at one end coming in at the
    other. The source has no stretched dimension.
    """
    return _planned(dst, src, [_rolled(*dim) for dim in zip(dst.sections, src.sections, shifts, strict=True)], rank)


_Pairs = Sequence[Sequence[tuple[Section, Section]]]
"""Per dimension, sections of the destination, in their order, and those of the source whose elements they get."""


def _rolled(dst: Section, src: Section, shift: int) -> list[tuple[Section, Section]]:
    """What is moved over the end of a dimension, and what stays inside."""
    n = dst.extent
    shift = shift % n if n else 0
    pairs = [(dst.part(0, shift), src.part(n - shift, n))] if shift else []
    return [*pairs, (dst.part(shift, n), src.part(0, n - shift))]


def _planned(dst: View, src: View, pairs: _Pairs, rank: int) -> TransferPlan:
    axes = broadcast_axes(dst.layout, src.layout)
    coords = dst.layout.held_by(rank).coords
    incoming = _incoming(dst, src, pairs, rank, axes)
    sends = tuple(_outgoing(dst, src, pairs, rank, axes))
    if not axes:
        local = next((m for m in incoming if m.peer == rank), None)
        receives = tuple(m for m in incoming if m.peer != rank)
        return TransferPlan(sends, receives, local)
    by_root: dict[int, list[Message]] = {}
    for message in incoming:
        source_coords = dst.layout.coords_from_rank(message.peer)
        by_root.setdefault(group_rank(dst.layout, axes, source_coords), []).append(message)
    broadcasts = tuple(Broadcast(root, tuple(pieces)) for root, pieces in sorted(by_root.items()))
    own = group_rank(dst.layout, axes, coords)
    receives = tuple(m for b in broadcasts if b.root == own for m in b.pieces if m.peer != rank)
    return TransferPlan(sends, receives, None, axes, broadcasts)


def _handed_out(dst: View, src: View, source: int, rank: int) -> TransferPlan:
    """The same where one process has all of the source, and all get all of it: that one is the root."""
    ranges = tuple([np.array([[own.start, own.step, other.start, other.step, other.extent]], np.int64)
                    for own, other in zip(dst.sections, src.sections, strict=True)])
    axes = dst.layout.replica_axes
    root = group_rank(dst.layout, axes, dst.layout.coords_from_rank(source))
    return TransferPlan((), (), None, axes, (Broadcast(root, (_message(source, ranges, dst, rank),)),))


def broadcast_axes(dst: Layout, src: Layout) -> tuple[int, ...]:
    """The axes of the destination's grid along which replicas have to be filled by a broadcast.

    None where every replica can take its elements from a copy at its own coordinates.
    """
    if src.is_replicated:
        return ()
    if dst.grid_of_several != src.grid_of_several:
        return dst.replica_axes
    pairs = zip(dst.axes_of_several, src.axes_of_several, strict=True)
    return tuple(axis for axis, other in pairs if axis in dst.replica_axes and other not in src.replica_axes)


def group_rank(layout: Layout, axes: Sequence[int], coords: Sequence[int]) -> int:
    """The number of a process among those along `axes`, in row-major order."""
    rank = 0
    for axis in axes:
        rank = rank * layout.grid[axis] + coords[axis]
    return rank


def _incoming(dst: View, src: View, pairs: _Pairs, rank: int, axes: tuple[int, ...]) -> list[Message]:
    """What the replicas of `rank`'s part need, by source, in the order of the sources' ranks."""
    coords = dst.layout.held_by(rank).coords
    if not dst.holds(coords):
        return []
    layout = src.layout
    chosen = layout.held_by(rank).coords if not axes else coords_from_rank(
        layout.grid, _representative(dst.layout, coords, axes))
    messages = []
    for source_coords, ranges in _products(dst, coords, src, pairs):
        source = rank_from_coords(
            layout.grid, tuple([chosen[axis] if c is None else c for axis, c in enumerate(source_coords)]))
        messages.append(_message(source, ranges, dst, rank))
    if len(messages) > 1:
        messages.sort(key=attrgetter("peer"))
    return messages


def _outgoing(dst: View, src: View, pairs: _Pairs, rank: int, axes: tuple[int, ...]) -> Iterator[Message]:
    """What `rank` sends, to whom, without what it sends to itself."""
    coords = src.layout.held_by(rank).coords
    if src.layout.is_replicated or not src.holds(coords):
        return
    own_coords, replica_axes = dst.layout.held_by(rank).coords, src.layout.replica_axes
    for target_coords, ranges in _products(src, coords, dst, [[pair[::-1] for pair in dim] for dim in pairs]):
        target = tuple([own_coords[axis] if c is None else c for axis, c in enumerate(target_coords)])
        if replica_axes:
            chosen = coords_from_rank(src.layout.grid, _representative(dst.layout, target, axes))
            if any(chosen[axis] != coords[axis] for axis in replica_axes):
                continue  # the target takes its elements from another copy
        peer = rank_from_coords(dst.layout.grid, target)
        if peer != rank:
            yield _message(peer, ranges, src, rank)


def _representative(layout: Layout, coords: Sequence[int], axes: Sequence[int]) -> int:
    """The first rank of the group of replicas along `axes`: the one whose coordinates choose the copy of the source."""
    return rank_from_coords(layout.grid, tuple([0 if axis in axes else c for axis, c in enumerate(coords)]))


def _products(own: View, coords: Sequence[int], other: View,
              pairs: _Pairs) -> Iterator[tuple[list[int | None], tuple[Indices, ...]]]:
    """The coordinates on the other side of what shares elements with `coords` on the own side, and their ranges.

    A coordinate is None on an axis that holds replicas. Of each of the pairs, the first section is the own one.
    """
    if not own.shape:
        yield list(other.fixed_coords), ()
        return
    per_dim = [list(_ranges(dim, _dim_coord(own, d, coords)).items()) for d, dim in enumerate(pairs)]
    axes = [None if p is None else other.layout.dims[p].axis for p in other.base_dims]
    for product in itertools.product(*per_dim):
        other_coords = list(other.fixed_coords)
        for axis, (coord, _) in zip(axes, product, strict=True):
            if axis is not None:
                other_coords[axis] = coord
        yield other_coords, tuple(ranges for _, ranges in product)


def _ranges(pairs: Sequence[tuple[Section, Section]], coord: int) -> dict[int, Indices]:
    """The ranges of one dimension that `coord` owns, per owner on the other side, in the order of the pairs."""
    found = [ranges_by_coord(own, coord, other) for own, other in pairs]
    if len(found) == 1:
        return found[0]
    tables: dict[int, list[Indices]] = {}
    for ranges in found:
        for owner, table in ranges.items():
            tables.setdefault(owner, []).append(table)
    return {owner: np.concatenate(parts) for owner, parts in tables.items()}


def _dim_coord(view: View, d: int, coords: Sequence[int]) -> int:
    p = view.base_dims[d]
    return 0 if p is None else view.layout.dim_coord(p, coords)


def _message(peer: int, ranges: tuple[Indices, ...], own: View, rank: int) -> Message:
    if not ranges:
        return Message(peer, (), (), fixed_offset(own, own.layout.held_by(rank)))
    shape = tuple([int(table[0, LENGTH] if len(table) == 1 else np.add.reduce(table[:, LENGTH])) for table in ranges])
    return Message(peer, ranges, shape, _contiguous_offset(own, ranges, shape, rank))


def _contiguous_offset(view: View, ranges: tuple[Indices, ...], shape: tuple[int, ...], rank: int) -> int | None:
    """Where the section begins in C-ordered storage, if it lies there contiguously and in order."""
    held = view.layout.held_by(rank)
    offset, expected = 0, 1
    for d in range(len(ranges) - 1, -1, -1):
        table, p, n = ranges[d], view.base_dims[d], shape[d]
        if len(table) != 1:
            return None
        first, step = table[0, OWN_START : OWN_STEP + 1].tolist()
        stride = 0 if p is None else held.strides[p]
        if n > 1 and step * stride != expected:
            return None
        offset += first * stride
        expected *= n
    return offset + fixed_offset(view, held)


def strides_from_shape(shape: Sequence[int], itemsize: int = 1) -> tuple[int, ...]:
    """The strides of a C-ordered array."""
    strides = []
    for n in reversed(shape):
        strides.append(itemsize)
        itemsize *= max(n, 1)
    return tuple(reversed(strides))


def fixed_offset(view: View, held: Held) -> int:
    """The offset in storage of the base dimensions that a view fixes at one index, on a process that has these."""
    offset = 0
    for p in view.fixed_dims:
        interval = held.intervals[p]
        if interval is not None:
            offset += (view.origin[p] - interval[0]) * held.strides[p]
        else:
            dim, i = view.layout.dims[p], view.origin[p]
            offset += dim.local_from_index(i, dim.part_from_index(i)) * held.strides[p]
    return offset
