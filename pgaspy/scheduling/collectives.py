"""Collective transfers, as nodes of a schedule: broadcasts, gathers, reductions and scans in a group of processes.

They are made of single messages: nothing here has to be started by all processes at once.
"""

from __future__ import annotations

import itertools
import math
import operator
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from pgaspy.caches import cached
from pgaspy.planning.boxes import Box
from pgaspy.planning.scans import Order
from pgaspy.planning.transfers import Broadcast, Message, TransferPlan
from pgaspy.planning.trees import broadcast_neighbours, packets_of, reduction_neighbours
from pgaspy.planning.view import View
from pgaspy.scheduling import memory, messages
from pgaspy.scheduling.at_once import elements
from pgaspy.scheduling.builder import Access, Builder
from pgaspy.scheduling.messages import MAX_STAMPED_BYTES, Side, cast, pack_to, receive, send, unpack
from pgaspy.scheduling.nodes import (
    STAMP_BYTES,
    Bytes,
    FunctionCall,
    Location,
    Memories,
    Merge,
    Merging,
    Receive,
    Send,
    bytes_of,
)
from pgaspy.scheduling.operations import TAGS_PER_OPERAND, first_tag

__all__ = [
    "ALIGNMENT",
    "MAX_TREES",
    "allgather_small",
    "broadcasts",
    "exchange_partials",
    "group_members",
    "hand_to_all",
    "handed_out",
    "joined_before",
    "sent",
]

MAX_TREES = TAGS_PER_OPERAND - 1
"""Up to so many processes of a group hand out what they have by a tree of each; more gather it all together.

One does so in any case, see `handed_out`.
"""

MAX_DOUBLED_BYTES = 1 << 18
"""So much is gathered in the fewest steps; more is handed around, so that it comes where it belongs."""

ALIGNMENT = 16
"""Of the largest elements, in bytes."""

MAX_SENDING, MAX_GATHERING = 4, 32
"""Up to so many processes, what is small is sent by each to all; and up to so many, gathered by doubling. Partial
results of more are merged along a tree, and handed out by it.
"""


# Broadcasts ----------------------------------------------------------------------------------------------------------


class _Group(NamedTuple):
    """The processes among which a transfer's broadcasts run: their ranks, and which of them this one is."""

    members: Sequence[int]
    position: int


def broadcasts(builder: Builder, plan: TransferPlan, dst: Side, src: Side, wire: np.dtype[Any], tag: int,
               rank: int, grid: tuple[int, ...], is_wanted: bool) -> None:
    """The second half of a transfer to replicas: each root gathers its pieces, and hands them to its group."""
    members = group_members(grid, plan.axes, rank)
    group = _Group(members, members.index(rank))
    if len(plan.broadcasts) <= MAX_TREES:
        for number, broadcast in enumerate(plan.broadcasts):
            location, box = _location_of(builder, broadcast, dst, wire, is_wanted)
            if broadcast.root == group.position:
                _gather_pieces(builder, broadcast.pieces, location, box, src, wire, tag, rank)
            _hand_on(builder, location, box, broadcast.size * wire.itemsize, group, broadcast.root, tag + 1 + number,
                     _is_stamped(broadcast, wire))
            if is_wanted and location[0] != dst.memory:
                _unpack_pieces(builder, broadcast, dst, location, wire)
    elif sum(broadcast.size for broadcast in plan.broadcasts) * wire.itemsize <= MAX_DOUBLED_BYTES:
        _gather_by_doubling(builder, plan.broadcasts, dst, src, wire, tag, rank, group, is_wanted)
    else:
        _gather_around(builder, plan.broadcasts, dst, src, wire, tag, rank, group, is_wanted)


def handed_out(builder: Builder, slot: int, view: View, dtype: np.dtype[Any], root: int, operand: int,
               rank: int) -> int:
    """What one process, the root, has of all elements of a view, on each process; the number of their buffer.

    The messages are those of `broadcasts` for the operand of this number.
    """
    nbytes, n = view.size * dtype.itemsize, view.layout.n_procs
    number = _packed(builder, slot, view, dtype, rank == root, rank)
    _hand_on(builder, (number, 0), None, nbytes, _Group(range(n), rank), root, first_tag(operand) + 1,
             nbytes <= MAX_STAMPED_BYTES)
    return number


def sent(builder: Builder, slot: int, view: View, dtype: np.dtype[Any], source: int, target: int, operand: int,
         rank: int, is_read: bool = False) -> int:
    """What one process has of all elements of a view, on another one, where it is the buffer of this number.

    The message is that of `transfer` for the operand of this number, which says what `is_read` does.
    """
    if rank not in (source, target):
        return slot
    nbytes, tag = view.size * dtype.itemsize, first_tag(operand)
    is_stamped = is_read and nbytes <= MAX_STAMPED_BYTES
    number = _packed(builder, slot, view, dtype, rank == source, rank)
    if rank == source:
        send(builder, (number, 0), None, nbytes, target, tag, is_stamped)
    else:
        receive(builder, (number, 0), None, nbytes, source, tag, is_stamped=is_stamped)
    return number


def _packed(builder: Builder, slot: int, view: View, dtype: np.dtype[Any], is_here: bool, rank: int) -> int:
    """A buffer for all elements of a view, which has them if they are here; its number."""
    number = builder.buffer(view.size * dtype.itemsize)
    if is_here:
        def pack(memories: Memories) -> None:
            np.ndarray(view.shape, dtype, bytes_of(memories, number))[...] = elements(view, memories[slot], rank)

        builder.add(FunctionCall(pack, "pack"), [(slot, None)], [(number, None)])
    return number


def _is_stamped(broadcast: Broadcast, wire: np.dtype[Any]) -> bool:
    return broadcast.size * wire.itemsize <= MAX_STAMPED_BYTES


def _location_of(builder: Builder, broadcast: Broadcast, dst: Side, wire: np.dtype[Any],
                 is_wanted: bool) -> tuple[Location, Box]:
    """Where a broadcast is received: where it belongs, if it lies there contiguously, or in a buffer of its own."""
    only = broadcast.pieces[0] if len(broadcast.pieces) == 1 else None
    may_be_in_place = is_wanted and wire == dst.dtype and not _is_stamped(broadcast, wire)
    if may_be_in_place and only is not None and only.offset is not None:
        return (dst.memory, only.offset * wire.itemsize), dst.box(only)
    return (builder.buffer(broadcast.size * wire.itemsize), 0), None


def _unpack_pieces(builder: Builder, broadcast: Broadcast, dst: Side, location: Location, wire: np.dtype[Any]) -> None:
    """Store what a root has handed out."""
    buffer, offset = location
    if wire != dst.dtype:
        buffer, offset = cast(builder, buffer, dst.dtype, wire, broadcast.size, offset), 0
    for piece in broadcast.pieces:
        unpack(builder, piece, dst, buffer, offset)
        offset += piece.size * dst.dtype.itemsize


def _gather_by_doubling(builder: Builder, broadcasts: Sequence[Broadcast], dst: Side, src: Side, wire: np.dtype[Any],
                        tag: int, rank: int, group: _Group, is_wanted: bool) -> None:
    """What all processes of a group have, on all of them: in each step one gets as much again from another one.

    After Bruck et al., *Efficient algorithms for all-to-all communications in multiport message-passing systems*
    (1997), section 4: ceil(log2(n)) messages, in which each byte comes once. Blocks lie in the order of their roots,
    from this one on, so that a message is contiguous; behind each there is room for a stamp.
    """
    position, n = group.position, len(group.members)
    of_root = {broadcast.root: broadcast for broadcast in broadcasts}
    turned = [of_root.get((position + k) % n) for k in range(n)]
    sizes = [0 if broadcast is None else broadcast.size * wire.itemsize for broadcast in turned]
    starts = [0, *itertools.accumulate(_with_stamp(size) for size in sizes)]
    buffer = builder.buffer(starts[-1])
    if turned[0] is not None:
        _gather_pieces(builder, turned[0].pieces, (buffer, 0), None, src, wire, tag, rank)
    _double(builder, buffer, sizes, starts, group, tag + 1)
    for broadcast, start in zip(turned, starts, strict=False):
        if is_wanted and broadcast is not None:
            _unpack_pieces(builder, broadcast, dst, (buffer, start), wire)


def _double(builder: Builder, buffer: int, sizes: Sequence[int], starts: Sequence[int], group: _Group,
            tag: int) -> None:
    """Fill a buffer with the blocks of all, of which its own is there, first; see `_gather_by_doubling`."""
    members, position, n = group.members, group.position, len(group.members)
    received: list[int] = []
    together = object()
    step = 1
    while step < n:
        n_blocks = min(step, n - step)
        if any(sizes[:n_blocks]):
            stop = starts[n_blocks - 1] + sizes[n_blocks - 1]
            builder.add(Send(buffer, 0, stop, members[position - step], tag, is_stamped=True),
                        reads=[(buffer, None)], after=received, together=together)
        if any(sizes[step:step + n_blocks]):
            last = step + n_blocks - 1
            node = Receive(buffer, starts[step], starts[last] + sizes[last], members[(position + step) % n], tag,
                           is_stamped=True)
            received.append(builder.add(node, writes=[(buffer, None)], together=together))
        step *= 2


def _with_stamp(nbytes: int) -> int:
    """The bytes of a block and a stamp, so that the next one is aligned."""
    return -(-(nbytes + STAMP_BYTES) // ALIGNMENT) * ALIGNMENT


def _gather_around(builder: Builder, broadcasts: Sequence[Broadcast], dst: Side, src: Side, wire: np.dtype[Any],
                   tag: int, rank: int, group: _Group, is_wanted: bool) -> None:
    """The same for what is long: each hands on to the next one what the one before has given it, in this order."""
    n = len(group.members)
    came: list[int] = []
    locations = []
    for broadcast in sorted(broadcasts, key=lambda broadcast: (group.position - broadcast.root) % n):
        location, box = _location_of(builder, broadcast, dst, wire, is_wanted)
        if broadcast.root == group.position:
            first = len(builder.nodes)
            _gather_pieces(builder, broadcast.pieces, location, box, src, wire, tag, rank)
            came += range(first, len(builder.nodes))
        _hand_on(builder, location, box, broadcast.size * wire.itemsize, group, broadcast.root, tag + 1,
                 _is_stamped(broadcast, wire), came)
        locations.append((broadcast, location))
    for broadcast, location in locations:
        if is_wanted and location[0] != dst.memory:
            _unpack_pieces(builder, broadcast, dst, location, wire)


def _gather_pieces(builder: Builder, pieces: Sequence[Message], location: Location, box: Box, src: Side,
                   wire: np.dtype[Any], tag: int, rank: int) -> None:
    """What a root hands out, gathered at a location: its own piece, and what others send."""
    number, offset = location
    together = object()
    for piece in pieces:
        if piece.peer != rank:
            receive(builder, (number, offset), box, piece.size * wire.itemsize, piece.peer, tag, together)
        else:
            pack_to(builder, piece, (number, offset), box, src, wire, together)
        offset += piece.size * wire.itemsize


def _hand_on(builder: Builder, location: Location, box: Box, nbytes: int, group: _Group, root: int, tag: int,
             is_stamped: bool, came: list[int] | None = None) -> None:
    """Receive from the parent in the tree, and send to the children, packet by packet and in order.

    With `came`, the last nodes of what was handed on before with the same tag, the tree is a chain, and this comes
    after; the list has the last ones of this then.
    """
    members, position, n = group.members, group.position, len(group.members)
    is_chain = came is not None
    parent, children = broadcast_neighbours(position, n, root, nbytes, is_chain)
    came = [] if came is None else came
    number, offset = location
    together = object() if parent is not None else None
    for start, stop in packets_of(nbytes, n, messages.MAX_MESSAGE_BYTES):
        section, is_last = (offset + start, offset + stop), is_stamped and stop == nbytes
        if parent is not None:
            node = builder.add(Receive(number, *section, members[parent], tag, is_last), writes=[(number, box)],
                               after=came if is_chain else (), together=together)
            came[:] = [node] if is_chain else [*came, node]
        for child in children:  # after all that came before, so that packets do not overtake one another
            builder.add(Send(number, *section, members[child], tag, is_last), reads=[(number, box)], after=came,
                        together=together)


@cached
def group_members(grid: tuple[int, ...], axes: tuple[int, ...], rank: int) -> Sequence[int]:
    """The ranks along `axes` of a grid through the coordinates of `rank`, in row-major order."""
    n = math.prod(grid)
    return range(n) if math.prod([grid[axis] for axis in axes]) == n else _Members(grid, axes, rank)


class _Members(Sequence[int]):
    """The same without a number for each, which are as many as the job has processes where all merge results."""

    def __init__(self, grid: tuple[int, ...], axes: tuple[int, ...], rank: int) -> None:
        strides = [*itertools.accumulate(reversed(grid[1:]), operator.mul, initial=1)][::-1]
        self._along = [(grid[axis], strides[axis]) for axis in axes]
        self._first = rank - sum(rank // stride % n * stride for n, stride in self._along)

    def __len__(self) -> int:
        return math.prod(n for n, _ in self._along)

    def __getitem__(self, position: Any) -> Any:
        place = range(len(self))[position]
        if isinstance(place, range):
            return [self[k] for k in place]
        found = self._first
        for n, stride in reversed(self._along):
            place, coord = divmod(place, n)
            found += coord * stride
        return found

    def index(self, value: int, *_: Any) -> int:
        """The position of a rank, which is one of them."""
        position = 0
        for n, stride in self._along:
            position = position * n + value // stride % n
        return position


# Reductions ----------------------------------------------------------------------------------------------------------


def exchange_partials(builder: Builder, partial: int, size: int, dtype: np.dtype[Any], merge: Merging,
                      members: Sequence[int], rank: int, target: int | None = None, is_wanted: bool = True) -> int:
    """Merge the partial results of some processes in the order of their ranks; the number of the merged ones.

    Every one of them gets the same bits. They come to the memory `target`, if it is the last step to merge them. Where
    they are not wanted, only what others need of this process is merged.
    """
    if len(members) == 1:
        return partial
    nbytes, n = size * dtype.itemsize, len(members)
    if n > MAX_GATHERING or nbytes * n > memory.REUSED_FROM_BYTES:
        return _by_tree(builder, partial, size, dtype, merge, members, rank)
    parts = _gathered(builder, partial, [nbytes] * n, _Group(members, members.index(rank)))
    if not is_wanted:
        return partial
    result = builder.buffer(nbytes) if target is None else target
    builder.add(Merge(merge, dtype, size, parts, result), [(number, None) for number, _ in parts], [(result, None)])
    return result


def allgather_small(builder: Builder, pack: Callable[[Memories, Bytes], None], reads: Sequence[Access],
                    sizes: Sequence[int], rank: int, unpack: Callable[[Memories, list[Location]], None] | None,
                    writes: Sequence[Access]) -> None:
    """What each of all processes has packed, so many bytes, comes to all of them, which unpack it, if they want to."""
    own = builder.buffer(sizes[rank])
    builder.add(FunctionCall(lambda memories: pack(memories, bytes_of(memories, own)), "pack"), reads, [(own, None)])
    parts = _gathered(builder, own, sizes, _Group(range(len(sizes)), rank))
    if unpack is not None:
        builder.add(FunctionCall(lambda memories: unpack(memories, parts), "unpack"),
                    [(number, None) for number in {number for number, _ in parts}], writes)


def _gathered(builder: Builder, own: int, sizes: Sequence[int], group: _Group) -> list[Location]:
    """What all processes of a group have in a buffer, so many bytes, in the order of their ranks."""
    gather = _sent_to_all if len(sizes) <= MAX_SENDING else _doubled
    return gather(builder, own, sizes, group)


def _sent_to_all(builder: Builder, own: int, sizes: Sequence[int], group: _Group) -> list[Location]:
    """The same, in one message from each to each."""
    members, position = group
    peers = [number for number in range(len(members)) if number != position]
    parts = [(own, 0)] * len(members)
    for number in peers if sizes[position] else ():
        send(builder, (own, 0), None, sizes[position], members[number], 0, is_stamped=True)
    for number in peers:
        if sizes[number]:
            parts[number] = builder.buffer(sizes[number]), 0
            receive(builder, parts[number], None, sizes[number], members[number], 0, is_stamped=True)
    return parts


def _doubled(builder: Builder, own: int, sizes: Sequence[int], group: _Group) -> list[Location]:
    """The same in the fewest steps, and so with the fewest messages; see `_gather_by_doubling`."""
    n, position = len(sizes), group.position
    turned = [sizes[(position + k) % n] for k in range(n)]
    starts = [0, *itertools.accumulate(map(_with_stamp, turned))]
    buffer, nbytes = builder.buffer(starts[-1]), sizes[position]

    def put(memories: Memories) -> None:
        bytes_of(memories, buffer)[:nbytes] = bytes_of(memories, own)[:nbytes]

    builder.add(FunctionCall(put, "pack"), [(own, None)], [(buffer, None)])
    _double(builder, buffer, turned, starts, group, 0)
    return [(buffer, starts[(k - position) % n]) for k in range(n)]


def _by_tree(builder: Builder, partial: int, size: int, dtype: np.dtype[Any], merge: Merging,
             members: Sequence[int], rank: int) -> int:
    nbytes, n = size * dtype.itemsize, len(members)
    position = members.index(rank)
    sources, target = reduction_neighbours(position, n)
    for source in sources:
        theirs = builder.buffer(nbytes)
        receive(builder, (theirs, 0), None, nbytes, members[source], 0, is_stamped=True)
        builder.add(Merge(merge, dtype, size, [(partial, 0), (theirs, 0)], partial), [(partial, None), (theirs, None)],
                    [(partial, None)])
    if target is not None:
        send(builder, (partial, 0), None, nbytes, members[target], 0, is_stamped=True)
        partial = builder.buffer(nbytes)
    _hand_on(builder, (partial, 0), None, nbytes, _Group(members, position), 0, 1, is_stamped=True)
    return partial


# Scans ---------------------------------------------------------------------------------------------------------------


def joined_before(builder: Builder, own: int | None, size: int, dtype: np.dtype[Any], merge: Merging, order: Order,
                  members: Sequence[int], position: int) -> tuple[int | None, int | None]:
    """The partial results of all positions before this one, merged in their order; and those up to this one.

    The second is there at the last position only; either is None where there are no elements. `members` are the ranks
    by their coordinates; `own` is None where this process has no elements.

    After Hillis & Steele, *Data parallel algorithms* (1986): in step k come those of 2**k positions, merged by the last
    of these. So there are ceil(log2(n)) messages.
    """
    n, nbytes = len(members), size * dtype.itemsize
    is_stamped = nbytes <= MAX_STAMPED_BYTES

    def merged(lower: int, higher: int | None) -> int:
        if higher is None:
            return lower
        result = builder.buffer(nbytes)
        builder.add(Merge(merge, dtype, size, [(lower, 0), (higher, 0)], result), [(lower, None), (higher, None)],
                    [(result, None)])
        return result

    before, up_to = None, own
    step = 1
    while step < n:
        if position + step < n and up_to is not None:
            send(builder, (up_to, 0), None, nbytes, members[order.coord_from_position(position + step)], 0, is_stamped)
        source = position - step
        if source >= 0 and order.has_elements(max(source - step + 1, 0), source):
            theirs = builder.buffer(nbytes)
            receive(builder, (theirs, 0), None, nbytes, members[order.coord_from_position(source)], 0,
                    is_stamped=is_stamped)
            before = merged(theirs, before)
            if position + 2 * step < n or position == n - 1:
                up_to = merged(theirs, up_to)
        step *= 2
    return before, up_to


def hand_to_all(builder: Builder, number: int, nbytes: int, members: Sequence[int], coord: int, root: int) -> None:
    """Have what one process of a group has in a buffer in the same one of all others."""
    _hand_on(builder, (number, 0), None, nbytes, _Group(members, coord), root, 1, nbytes <= MAX_STAMPED_BYTES)
