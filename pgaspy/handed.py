"""What is small, and computed at once, of operands that one process has: it hands them to those that need them.

Each process computes its part; of what it is handed, it has all. Which calls come here, and what becomes of the others,
is up to `immediate`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from pgaspy import _calls
from pgaspy.execution import recording
from pgaspy.execution.direct import Direct
from pgaspy.forms import Form
from pgaspy.job.procgrid import world
from pgaspy.kernels.bindings import run_elementwise
from pgaspy.planning.local_parts import lie_alike
from pgaspy.planning.pieces import assembled_strides, holder_and_taker
from pgaspy.scheduling.base import SharedStorage
from pgaspy.scheduling.collectives import handed_out, sent
from pgaspy.scheduling.nodes import FunctionCall, Memories
from pgaspy.scheduling.operations import Computed

__all__ = ["is_computed"]


def is_computed(key: tuple[Any, ...], form: Form, views: Sequence[Any], memories: Sequence[Any]) -> bool:
    """Have each process compute its part of a statement, of operands that lie as the output does, or are handed to it;
    whether they did. Collective.

    Views are those of all operands, in the order of memory, the output's last; memories are their storages. There is
    no number among them. The messages are those of the statement, where that is executed in any other way.
    """
    *operands, out = views
    if form.is_cast or SharedStorage in map(type, memories):
        return False
    handed: list[tuple[int, int | None] | None] = []
    for view, storage in zip(operands, memories, strict=False):
        is_here = lie_alike(out, view)
        found = None if is_here else holder_and_taker(out, view)
        if found is None and not is_here:
            return False
        if is_here and storage is memories[-1] and view != out and not view.disjoint(out):
            return False  # written before it is read
        handed.append(found)
    if handed.count(None) == len(handed):
        return False
    rank, ndim = world().rank, len(out.shape)
    places = [view if found is None else None for view, found in zip(operands, handed, strict=True)]
    geometry = _calls.laid_out((*places, out), form.itemsizes, rank)
    if geometry is None:
        return False
    shape, n_elements, offsets, strides = geometry
    for k, place in enumerate(places):
        if place is None:
            view = operands[k]
            strides[k * ndim:(k + 1) * ndim] = assembled_strides(view, view.unstretched.shape, form.itemsizes[k])
    call, is_read = Computed(form.said, (out, *operands)), form.is_assignment and out.layout.is_on_one_process

    def add_nodes(direct: Direct) -> None:
        numbers = [*range(1, len(views))]  # of the operands' memories
        for k, found in enumerate(handed):
            if found is not None:
                (root, taker), view = found, operands[k].unstretched
                numbers[k] = (handed_out(direct, k + 1, view, form.loop[k], root, k, rank) if taker is None else
                              sent(direct, k + 1, view, form.loop[k], root, taker, k, rank, is_read))

        def compute(memories: Memories) -> None:
            addresses = [memories[number].address + offset
                         for number, offset in zip((*numbers, 0), offsets, strict=True)]
            run_elementwise(form.kernel, shape, addresses, strides)

        if n_elements:
            direct.add(FunctionCall(compute, call.name), [(number, None) for number in numbers], [(0, None)])

    storages = memories[-1], *memories[:-1]
    return recording.send_at_once(key, call, storages, add_nodes, n_elements=out.size // world().size) is not None
