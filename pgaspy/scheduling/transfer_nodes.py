"""Transfers: what a plan of messages becomes, as nodes of a schedule. It decides nothing.

What stays on this process is copied; messages are unpacked as they arrive, or received where they belong.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from pgaspy.kernels.bindings import OTHER, OWN
from pgaspy.planning.segments import OTHER_START
from pgaspy.planning.transfers import Message, TransferPlan
from pgaspy.scheduling.backend import backend
from pgaspy.scheduling.builder import Builder
from pgaspy.scheduling.collectives import broadcasts
from pgaspy.scheduling.messages import (
    MAX_STAMPED_BYTES,
    Side,
    cast,
    overwritten,
    pack,
    receive,
    receive_into_buffer,
    send_message,
    unpack,
)
from pgaspy.scheduling.nodes import Copy
from pgaspy.scheduling.operations import first_tag

__all__ = ["transfer"]


def transfer(builder: Builder, plan: TransferPlan, dst: Side, src: Side, overlaps: bool, operand: int, rank: int,
             grid: tuple[int, ...], is_wanted: bool = True, is_read: bool = False) -> None:
    """Add a whole transfer. `operand` sets its messages apart from others of the same operation.

    `overlaps` says that the sides may share elements: everything is read before anything is written. `grid` is that of
    the destination. What is not wanted here is received and handed on, but neither copied nor stored. `is_read` says
    that one process gets all of it, which is likely to read it: its messages are stamped, if they are not long.
    """
    wire = dst.dtype if dst.dtype.itemsize < src.dtype.itemsize else src.dtype
    tag = first_tag(operand)

    def is_stamped(message: Message) -> bool:
        return is_read and message.size * wire.itemsize <= MAX_STAMPED_BYTES

    for message in plan.sends:
        send_message(builder, message, src, wire, tag, not overlaps, is_stamped(message))
    if plan.axes:
        broadcasts(builder, plan, dst, src, wire, tag, rank, grid, is_wanted)
        return
    if not is_wanted:
        for message in plan.receives:
            receive_into_buffer(builder, message, wire, tag, is_stamped(message))
        return
    held = _copy_local(builder, plan.local, dst, src, overlaps) if plan.local is not None else None
    arrived = [_receive(builder, m, dst, wire, tag, not overlaps, is_stamped(m)) for m in plan.receives]
    for message, buffer in zip(plan.receives, arrived, strict=True):
        if buffer is not None:
            unpack(builder, message, dst, buffer)
    if held is not None and plan.local is not None:
        unpack(builder, plan.local, dst, held)


def _receive(builder: Builder, message: Message, dst: Side, wire: np.dtype[Any], tag: int, in_place: bool,
             is_stamped: bool) -> int | None:
    """Receive where the elements belong, or into a buffer of the destination's dtype, whose number is returned."""
    if message.offset is not None and in_place and wire == dst.dtype and not is_stamped:
        receive(builder, (dst.memory, message.offset * wire.itemsize), dst.box(message), message.size * wire.itemsize,
                message.peer, tag)
        return None
    buffer = receive_into_buffer(builder, message, wire, tag, is_stamped)
    return buffer if wire == dst.dtype else cast(builder, buffer, dst.dtype, wire, message.size)


def _copy_local(builder: Builder, message: Message, dst: Side, src: Side, overlaps: bool) -> int | None:
    """Copy what stays here; or only read the source, into a buffer that is returned, where it overlaps or is cast."""
    if not overlaps and dst.dtype == src.dtype:
        copy = backend.copy(dst.dtype.itemsize, message.ranges, dst.strides, OWN, src.strides, OTHER)
        node = Copy(copy, (dst.memory, dst.offset), (src.memory, src.offset), "copy", message.size * dst.dtype.itemsize)
        node.overwrites = overwritten(builder, message, dst)
        builder.add(node, [(src.memory, src.box(message, OTHER_START))], [(dst.memory, dst.box(message))])
        return None
    buffer = pack(builder, message, src, OTHER, src.box(message, OTHER_START))
    return buffer if dst.dtype == src.dtype else cast(builder, buffer, dst.dtype, src.dtype, message.size)
