"""The transport: what a plan of messages becomes, as nodes of a schedule. It decides nothing.

Pack, communicate and unpack are nodes of their own: one contiguous buffer per peer is packed and sent (or sent straight
from storage, where the section is contiguous); what stays on this process is copied; messages are unpacked as they
arrive, or received where they belong. A message longer than `MAX_MESSAGE_BYTES` travels in several. Broadcasts and
reductions are trees of such messages: nothing here has to be started by all processes at once.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from pgaspy import memory
from pgaspy.boxes import Box, runs_box
from pgaspy.kernels import OTHER, OWN, PACKED, SectionCopy
from pgaspy.layout import coords_from_rank, rank_from_coords
from pgaspy.lowering import Builder
from pgaspy.nodes import Cast, Combination, Copy, Join, Place, Receive, Send
from pgaspy.plan import Message, TransferPlan, fixed_offset, strides_from_shape
from pgaspy.segments import OTHER_START, OWN_START
from pgaspy.trees import broadcast_neighbours, reduction_neighbours, segments_of
from pgaspy.view import View

__all__ = ["MAX_MESSAGE_BYTES", "Side", "exchange_partials", "first_stream", "flat_side", "group_members", "n_streams",
           "receive_into_buffer", "send_message", "transfer", "view_side"]

MAX_MESSAGE_BYTES = 1 << 30
"""Below MPI's limit of 2**31 elements, and so of bytes."""

MAX_STAMPED_BYTES = 4096
"""Of what is broadcast to all processes. So much is likely to be read by the program, which must not take one value for
another; it goes by way of a buffer then."""

MAX_GATHERED_PARTIALS = 32
"""Up to so many processes, small partial results are sent by each to all: one latency, not two."""


class Side(NamedTuple):
    """One side of a transfer in a process's memory.

    Its number, the dtype, where its sections begin, and their strides, in bytes; and the view and the shape of its
    local array, to find boxes by (None where the memory is one box).
    """

    memory: int
    dtype: np.dtype[Any]
    offset: int
    strides: tuple[int, ...]
    view: View | None
    storage: tuple[int, ...]

    def box(self, message: Message, columns: int = OWN_START) -> Box:
        """What a message touches."""
        return None if self.view is None else runs_box(self.view, message.runs, self.storage, columns)


def view_side(number: int, view: View, dtype: np.dtype[Any], rank: int) -> Side:
    """The side of a view of a base."""
    shape = view.layout.local_shape(rank)
    storage = strides_from_shape(shape, dtype.itemsize)
    return Side(number, dtype, fixed_offset(view, storage),
                tuple(0 if p is None else storage[p] for p in view.base_dims), view, shape)


def flat_side(number: int, dtype: np.dtype[Any]) -> Side:
    """The side of a local array whose elements are numbered in row-major order."""
    return Side(number, dtype, 0, (dtype.itemsize,), None, ())


def n_streams(n_operands: int, n_procs: int) -> int:
    """How many streams of messages an operation on so many operands needs at most."""
    return n_operands * (1 + n_procs)


def first_stream(operand: int, n_procs: int) -> int:
    """The stream of an operand's messages; those of its broadcasts, one for each root, follow."""
    return operand * (1 + n_procs)


def transfer(builder: Builder, plan: TransferPlan, dst: Side, src: Side, overlaps: bool, operand: int, rank: int,
             grid: tuple[int, ...], is_wanted: bool = True) -> None:
    """Lower a whole transfer. `operand` sets its messages apart from others of the same operation.

    `overlaps` says that the sides may share elements: everything is read before anything is written. `grid` is that of
    the destination. What is not wanted here is received and handed on, but neither copied nor stored.
    """
    wire = dst.dtype if dst.dtype.itemsize < src.dtype.itemsize else src.dtype
    stream = first_stream(operand, math.prod(grid))
    for message in plan.sends:
        send_message(builder, message, src, wire, stream, in_place=not overlaps)
    if plan.axes:
        _broadcasts(builder, plan, dst, src, wire, stream, rank, grid, is_wanted)
        return
    if not is_wanted:
        for message in plan.receives:
            receive_into_buffer(builder, message, wire, stream)
        return
    held = _copy_local(builder, plan.local, dst, src, overlaps) if plan.local is not None else None
    arrived = [_receive(builder, m, dst, wire, stream, in_place=not overlaps) for m in plan.receives]
    for message, buffer in zip(plan.receives, arrived, strict=True):
        if buffer is not None:
            _unpack(builder, message, dst, buffer)
    if held is not None and plan.local is not None:
        _unpack(builder, plan.local, dst, held)


def send_message(builder: Builder, message: Message, src: Side, wire: np.dtype[Any], stream: int,
                 in_place: bool) -> None:
    """Lower one message of a plan on its source's side."""
    box = src.box(message)
    if message.offset is not None and in_place and wire == src.dtype:
        send(builder, (src.memory, message.offset * wire.itemsize), box, message.size * wire.itemsize, message.peer,
             stream)
        return
    buffer = _pack(builder, message, src, OWN, box)
    if wire != src.dtype:
        buffer = _cast(builder, buffer, wire, src.dtype, message.size)
    send(builder, (buffer, 0), None, message.size * wire.itemsize, message.peer, stream)


def send(builder: Builder, place: Place, box: Box, nbytes: int, peer: int, stream: int,
         is_stamped: bool = False) -> None:
    """Lower a message from contiguous memory; of one that is stamped, a whole buffer."""
    number, offset = place
    for start, stop in segments_of(nbytes, 2, MAX_MESSAGE_BYTES):
        builder.add(Send(number, offset + start, offset + stop, peer, stream, is_stamped and stop == nbytes),
                    reads=[(number, box)])


def receive(builder: Builder, place: Place, box: Box, nbytes: int, peer: int, stream: int,
            group: object = None, is_stamped: bool = False) -> None:
    """Lower a message to contiguous memory; of one that is stamped, a whole buffer."""
    number, offset = place
    group = object() if group is None else group
    for start, stop in segments_of(nbytes, 2, MAX_MESSAGE_BYTES):
        node = Receive(number, offset + start, offset + stop, peer, stream, is_stamped and stop == nbytes)
        builder.add(node, writes=[(number, box)], group=group)


def receive_into_buffer(builder: Builder, message: Message, dtype: np.dtype[Any], stream: int) -> int:
    """Lower the receipt of a message into a buffer of its own; the buffer's number."""
    nbytes = message.size * dtype.itemsize
    number = builder.buffer(nbytes)
    receive(builder, (number, 0), None, nbytes, message.peer, stream)
    return number


def _receive(builder: Builder, message: Message, dst: Side, wire: np.dtype[Any], stream: int,
             in_place: bool) -> int | None:
    """Receive where the elements belong, or into a buffer of the destination's dtype, whose number is returned."""
    if message.offset is not None and in_place and wire == dst.dtype:
        receive(builder, (dst.memory, message.offset * wire.itemsize), dst.box(message), message.size * wire.itemsize,
                message.peer, stream)
        return None
    buffer = receive_into_buffer(builder, message, wire, stream)
    return buffer if wire == dst.dtype else _cast(builder, buffer, dst.dtype, wire, message.size)


def _copy_local(builder: Builder, message: Message, dst: Side, src: Side, overlaps: bool) -> int | None:
    """Copy what stays here; or only read the source, into a buffer that is returned, where it overlaps or is cast."""
    if not overlaps and dst.dtype == src.dtype:
        copy = SectionCopy(dst.dtype.itemsize, message.runs, dst.strides, OWN, src.strides, OTHER)
        node = Copy(copy, (dst.memory, dst.offset), (src.memory, src.offset), "copy", message.size * dst.dtype.itemsize)
        node.overwrites = _overwritten(builder, message, dst)
        builder.add(node, [(src.memory, src.box(message, OTHER_START))], [(dst.memory, dst.box(message))])
        return None
    buffer = _pack(builder, message, src, OTHER, src.box(message, OTHER_START))
    return buffer if dst.dtype == src.dtype else _cast(builder, buffer, dst.dtype, src.dtype, message.size)


def _pack(builder: Builder, message: Message, src: Side, which: int, box: Box) -> int:
    """Pack a message's section into a buffer of its own, whose number is returned."""
    itemsize = src.dtype.itemsize
    buffer = builder.buffer(message.size * itemsize)
    copy = SectionCopy(itemsize, message.runs, strides_from_shape(message.shape, itemsize), PACKED, src.strides, which)
    node = Copy(copy, (buffer, 0), (src.memory, src.offset), "pack", message.size * itemsize)
    builder.add(node, [(src.memory, box)], [(buffer, None)])
    return buffer


def _unpack(builder: Builder, message: Message, dst: Side, buffer: int, offset: int = 0) -> None:
    packed = strides_from_shape(message.shape, dst.dtype.itemsize)
    copy = SectionCopy(dst.dtype.itemsize, message.runs, dst.strides, OWN, packed, PACKED)
    node = Copy(copy, (dst.memory, dst.offset), (buffer, offset), "unpack")
    node.overwrites = _overwritten(builder, message, dst)
    builder.add(node, [(buffer, None)], [(dst.memory, dst.box(message))])


def _overwritten(builder: Builder, message: Message, dst: Side) -> tuple[int, ...]:
    """The array that a message brings the whole local part of, if it does."""
    is_whole = dst.view is not None and message.size == math.prod(dst.storage)
    return (dst.memory,) if is_whole and dst.memory < builder.n_bases else ()


def _cast(builder: Builder, buffer: int, dtype: np.dtype[Any], source_dtype: np.dtype[Any], n: int) -> int:
    """Cast the n elements of a buffer into another, whose number is returned."""
    target = builder.buffer(n * dtype.itemsize)
    builder.add(Cast((target, 0), dtype, (buffer, 0), source_dtype, n), [(buffer, None)], [(target, None)])
    return target


# Broadcasts ----------------------------------------------------------------------------------------------------------


def _broadcasts(builder: Builder, plan: TransferPlan, dst: Side, src: Side, wire: np.dtype[Any], stream: int,
                rank: int, grid: tuple[int, ...], is_wanted: bool) -> None:
    """The second half of a transfer to replicas: each root gathers its pieces, and hands them to its group."""
    members = group_members(grid, plan.axes, rank)
    position = members.index(rank)
    for broadcast in plan.broadcasts:
        nbytes = broadcast.size * wire.itemsize
        is_stamped = len(members) == math.prod(grid) and nbytes <= MAX_STAMPED_BYTES
        only = broadcast.pieces[0] if len(broadcast.pieces) == 1 else None
        place: Place
        box: Box = None
        if is_wanted and not is_stamped and only is not None and only.offset is not None and wire == dst.dtype:
            place, box = (dst.memory, only.offset * wire.itemsize), dst.box(only)
        else:
            place = builder.buffer(nbytes), 0
        if broadcast.root == position:
            _gather_pieces(builder, broadcast.pieces, place, box, src, wire, stream, rank)
        _hand_on(builder, place, box, nbytes, members, position, broadcast.root, stream + 1 + broadcast.root,
                 is_stamped)
        if not is_wanted or place[0] == dst.memory:
            continue
        staged = place[0] if wire == dst.dtype else _cast(builder, place[0], dst.dtype, wire, broadcast.size)
        offset = 0
        for piece in broadcast.pieces:
            _unpack(builder, piece, dst, staged, offset)
            offset += piece.size * dst.dtype.itemsize


def _gather_pieces(builder: Builder, pieces: Sequence[Message], place: Place, box: Box, src: Side,
                   wire: np.dtype[Any], stream: int, rank: int) -> None:
    """What a root hands out, gathered at a place: its own piece, and what others send."""
    number, offset = place
    together = object()
    for piece in pieces:
        if piece.peer != rank:
            receive(builder, (number, offset), box, piece.size * wire.itemsize, piece.peer, stream, together)
        else:
            _pack_to(builder, piece, (number, offset), box, src, wire, together)
        offset += piece.size * wire.itemsize


def _pack_to(builder: Builder, piece: Message, place: Place, box: Box, src: Side, wire: np.dtype[Any],
             group: object) -> None:
    """Pack a process's own piece at a place, in the dtype in which it travels."""
    if wire != src.dtype:
        packed = _pack(builder, piece, src, OTHER, src.box(piece, OTHER_START))
        builder.add(Cast(place, wire, (packed, 0), src.dtype, piece.size), [(packed, None)], [(place[0], box)],
                    group=group)
        return
    itemsize = src.dtype.itemsize
    copy = SectionCopy(itemsize, piece.runs, strides_from_shape(piece.shape, itemsize), PACKED, src.strides, OTHER)
    node = Copy(copy, place, (src.memory, src.offset), "pack", piece.size * itemsize)
    builder.add(node, [(src.memory, src.box(piece, OTHER_START))], [(place[0], box)], group=group)


def _hand_on(builder: Builder, place: Place, box: Box, nbytes: int, members: Sequence[int], position: int, root: int,
             stream: int, is_stamped: bool) -> None:
    """Receive from the parent in the tree, and send to the children, segment by segment and in order."""
    parent, children = broadcast_neighbours(position, len(members), root, nbytes)
    number, offset = place
    received: list[int] = []
    together = object() if parent is not None else None
    for start, stop in segments_of(nbytes, len(members), MAX_MESSAGE_BYTES):
        section, is_last = (offset + start, offset + stop), is_stamped and stop == nbytes
        if parent is not None:
            received.append(builder.add(Receive(number, *section, members[parent], stream, is_last),
                                        writes=[(number, box)], group=together))
        for child in children:  # after all that came before, so that segments do not overtake one another
            builder.add(Send(number, *section, members[child], stream, is_last), reads=[(number, box)], after=received,
                        group=together)


def group_members(grid: Sequence[int], axes: Sequence[int], rank: int) -> list[int]:
    """The ranks along `axes` of a grid through the place of `rank`, in row-major order."""
    coords = list(coords_from_rank(grid, rank))
    ranks = []
    for place in itertools.product(*[range(grid[axis]) for axis in axes]):
        for axis, c in zip(axes, place, strict=True):
            coords[axis] = c
        ranks.append(rank_from_coords(grid, coords))
    return ranks


# Reductions ----------------------------------------------------------------------------------------------------------


def exchange_partials(builder: Builder, partial: int, size: int, dtype: np.dtype[Any], combine: Combination,
                      members: Sequence[int], rank: int, place: int | None = None, is_wanted: bool = True) -> int:
    """Combine the partial results of some processes in the order of their ranks; the number of the combined ones.

    Every one of them gets the same bits. They come to the memory `place`, if it is the last step to combine them. Where
    they are not wanted, only what others need of this process is combined.
    """
    if len(members) == 1:
        return partial
    if len(members) <= MAX_GATHERED_PARTIALS and size * dtype.itemsize * len(members) <= memory.REUSED_FROM_BYTES:
        return _all_to_all(builder, partial, size, dtype, combine, members, rank, place, is_wanted)
    return _by_tree(builder, partial, size, dtype, combine, members, rank)


def _all_to_all(builder: Builder, partial: int, size: int, dtype: np.dtype[Any], combine: Combination,
                members: Sequence[int], rank: int, place: int | None, is_wanted: bool) -> int:
    nbytes = size * dtype.itemsize
    parts = {rank: partial}
    for peer in members:
        if peer != rank:
            send(builder, (partial, 0), None, nbytes, peer, 0, is_stamped=True)
    for peer in members:
        if peer != rank:
            parts[peer] = builder.buffer(nbytes)
            receive(builder, (parts[peer], 0), None, nbytes, peer, 0, is_stamped=True)
    if not is_wanted:
        return partial
    result = builder.buffer(nbytes) if place is None else place
    numbers = [parts[member] for member in members]
    builder.add(Join(combine, dtype, size, numbers, result), [(number, None) for number in numbers], [(result, None)])
    return result


def _by_tree(builder: Builder, partial: int, size: int, dtype: np.dtype[Any], combine: Combination,
             members: Sequence[int], rank: int) -> int:
    nbytes, n = size * dtype.itemsize, len(members)
    position = members.index(rank)
    sources, target = reduction_neighbours(position, n)
    for source in sources:
        theirs = builder.buffer(nbytes)
        receive(builder, (theirs, 0), None, nbytes, members[source], 0, is_stamped=True)
        builder.add(Join(combine, dtype, size, [partial, theirs], partial), [(partial, None), (theirs, None)],
                    [(partial, None)])
    if target is not None:
        send(builder, (partial, 0), None, nbytes, members[target], 0, is_stamped=True)
        partial = builder.buffer(nbytes)
    _hand_on(builder, (partial, 0), None, nbytes, members, position, 0, 1, is_stamped=True)
    return partial
