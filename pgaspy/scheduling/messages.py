"""Messages, as nodes of a schedule: packed, sent, received, cast and unpacked, each a node of its own.

One contiguous buffer per peer is packed and sent, or a section straight from storage, where it is contiguous. A message
longer than `MAX_MESSAGE_BYTES` travels in several.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from pgaspy.kernels.bindings import OTHER, OWN, PACKED
from pgaspy.planning.boxes import Box, ranges_box
from pgaspy.planning.segments import OTHER_START, OWN_START
from pgaspy.planning.transfers import Message, fixed_offset, strides_from_shape
from pgaspy.planning.trees import packets_of
from pgaspy.planning.view import View
from pgaspy.scheduling.backend import backend
from pgaspy.scheduling.builder import Builder
from pgaspy.scheduling.nodes import Cast, Copy, Location, Receive, Send

__all__ = ["MAX_MESSAGE_BYTES", "MAX_STAMPED_BYTES", "Side", "cast", "flat_side", "overwritten", "pack", "pack_to",
           "receive", "receive_into_buffer", "send", "send_message", "unpack", "view_side"]

MAX_MESSAGE_BYTES = 1 << 30
"""Below MPI's limit of 2**31 elements, and so of bytes."""

MAX_STAMPED_BYTES = 4096
"""Of what is sent to be read by the program, which must not take one value for another: so much brings the program's
digest, and goes by way of a buffer, which has room for that."""


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
        return None if self.view is None else ranges_box(self.view, message.ranges, self.storage, columns)


def view_side(builder: Builder, number: int, view: View, dtype: np.dtype[Any], rank: int) -> Side:
    """The side of a view of a base."""
    held, itemsize = view.layout.held_by(rank), dtype.itemsize
    offset = fixed_offset(view, held) * itemsize if view.fixed_dims else 0
    strides = tuple([0 if p is None else held.strides[p] * itemsize for p in view.base_dims])
    return Side(number, dtype, offset, strides, view if builder.has_boxes else None, held.shape)


def flat_side(number: int, dtype: np.dtype[Any]) -> Side:
    """The side of a local array whose elements are numbered in row-major order."""
    return Side(number, dtype, 0, (dtype.itemsize,), None, ())


def send_message(builder: Builder, message: Message, src: Side, wire: np.dtype[Any], tag: int, in_place: bool,
                 is_stamped: bool = False) -> None:
    """Add one message of a plan on its source's side."""
    box = src.box(message)
    if message.offset is not None and in_place and wire == src.dtype and not is_stamped:
        send(builder, (src.memory, message.offset * wire.itemsize), box, message.size * wire.itemsize, message.peer,
             tag)
        return
    buffer = pack(builder, message, src, OWN, box)
    if wire != src.dtype:
        buffer = cast(builder, buffer, wire, src.dtype, message.size)
    send(builder, (buffer, 0), None, message.size * wire.itemsize, message.peer, tag, is_stamped)


def send(builder: Builder, location: Location, box: Box, nbytes: int, peer: int, tag: int,
         is_stamped: bool = False) -> None:
    """Add a message from contiguous memory; of one that is stamped, a whole buffer."""
    number, offset = location
    for start, stop in packets_of(nbytes, 2, MAX_MESSAGE_BYTES):
        builder.add(Send(number, offset + start, offset + stop, peer, tag, is_stamped and stop == nbytes),
                    reads=[(number, box)])


def receive(builder: Builder, location: Location, box: Box, nbytes: int, peer: int, tag: int,
            together: object = None, is_stamped: bool = False) -> None:
    """Add a message to contiguous memory; of one that is stamped, a whole buffer."""
    number, offset = location
    together = object() if together is None else together
    for start, stop in packets_of(nbytes, 2, MAX_MESSAGE_BYTES):
        node = Receive(number, offset + start, offset + stop, peer, tag, is_stamped and stop == nbytes)
        builder.add(node, writes=[(number, box)], together=together)


def receive_into_buffer(builder: Builder, message: Message, dtype: np.dtype[Any], tag: int,
                        is_stamped: bool = False) -> int:
    """Add the receipt of a message into a buffer of its own; the buffer's number."""
    nbytes = message.size * dtype.itemsize
    number = builder.buffer(nbytes)
    receive(builder, (number, 0), None, nbytes, message.peer, tag, is_stamped=is_stamped)
    return number


def pack(builder: Builder, message: Message, src: Side, which: int, box: Box) -> int:
    """Pack a message's section into a buffer of its own, whose number is returned."""
    itemsize = src.dtype.itemsize
    buffer = builder.buffer(message.size * itemsize)
    copy = backend.copy(itemsize, message.ranges, strides_from_shape(message.shape, itemsize), PACKED, src.strides,
                       which)
    node = Copy(copy, (buffer, 0), (src.memory, src.offset), "pack", message.size * itemsize)
    builder.add(node, [(src.memory, box)], [(buffer, None)])
    return buffer


def pack_to(builder: Builder, piece: Message, location: Location, box: Box, src: Side, wire: np.dtype[Any],
            together: object) -> None:
    """Pack a process's own piece at a location, in the dtype in which it travels."""
    if wire != src.dtype:
        buffer = pack(builder, piece, src, OTHER, src.box(piece, OTHER_START))
        builder.add(Cast(location, wire, (buffer, 0), src.dtype, piece.size), [(buffer, None)], [(location[0], box)],
                    together=together)
        return
    itemsize = src.dtype.itemsize
    if piece.shape:
        packed = strides_from_shape(piece.shape, itemsize)
        copy = backend.copy(itemsize, piece.ranges, packed, PACKED, src.strides, OTHER)
    else:
        copy = backend.copy_bytes(itemsize)
    node = Copy(copy, location, (src.memory, src.offset), "pack", piece.size * itemsize)
    builder.add(node, [(src.memory, src.box(piece, OTHER_START))], [(location[0], box)], together=together)


def unpack(builder: Builder, message: Message, dst: Side, buffer: int, offset: int = 0) -> None:
    """Store what a message has brought."""
    itemsize = dst.dtype.itemsize
    if message.offset is not None:
        copy, target = backend.copy_bytes(message.size * itemsize), message.offset * itemsize
    else:
        packed = strides_from_shape(message.shape, itemsize)
        copy, target = backend.copy(itemsize, message.ranges, dst.strides, OWN, packed, PACKED), dst.offset
    node = Copy(copy, (dst.memory, target), (buffer, offset), "unpack")
    node.overwrites = overwritten(builder, message, dst)
    builder.add(node, [(buffer, None)], [(dst.memory, dst.box(message))])


def overwritten(builder: Builder, message: Message, dst: Side) -> tuple[int, ...]:
    """The array that a message brings the whole local part of, if it does."""
    is_whole = dst.view is not None and message.size == math.prod(dst.storage)
    return (dst.memory,) if is_whole and dst.memory < builder.n_bases else ()


def cast(builder: Builder, buffer: int, dtype: np.dtype[Any], source_dtype: np.dtype[Any], n: int,
         offset: int = 0) -> int:
    """Cast n elements of a buffer into another, whose number is returned."""
    target = builder.buffer(n * dtype.itemsize)
    builder.add(Cast((target, 0), dtype, (buffer, offset), source_dtype, n), [(buffer, None)], [(target, None)])
    return target
