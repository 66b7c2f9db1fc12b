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
from pgaspy.planning.pieces import holder_and_taker
from pgaspy.planning.view import View
from pgaspy.scheduling.base import SharedStorage
from pgaspy.scheduling.collectives import handed_out, sent
from pgaspy.scheduling.nodes import FunctionCall, Memories, Scalar
from pgaspy.scheduling.operations import Computed

__all__ = ["is_computed"]


def is_computed(key: tuple[Any, ...], form: Form, views: Sequence[View | None], memories: Sequence[Any]) -> bool:
    """Have each process compute its part of a statement, of operands that lie as the output does, or are handed to it;
    whether they did. Collective.

    Views are those of all operands, in the order of memory, the output's last, and None for a number; memories are
    their storages, and the number. The messages are those of the statement, where that is executed in any other way.
    """
    out: Any = views[-1]
    arrays, places, handed = [], list[View | None](), dict[int, tuple[int, int | None]]()
    for view, memory in zip(views[:-1], memories, strict=False):
        if view is not None and not lie_alike(out, view):
            way = holder_and_taker(out, view)
            if way is None:
                return False
            handed[len(places)] = way
            places.append(None)
        elif view is not None and memory is memories[-1] and view != out and not view.disjoint(out):
            return False  # written before it is read
        else:
            places.append(view)
        if view is not None:
            arrays.append((view, memory))
    storages = memories[-1], *[storage for _, storage in arrays]
    if not handed or form.is_cast or SharedStorage in map(type, storages):
        return False
    rank, itemsizes = world().rank, tuple([dtype.itemsize for dtype in form.loop])
    geometry = _calls.laid_out((*places, out), itemsizes, rank)
    if geometry is None:
        return False
    shape, n_elements, offsets, strides = geometry
    call = Computed(form.said, (out, *[view for view, _ in arrays]))

    for k in handed:
        strides[k * len(shape):(k + 1) * len(shape)] = _strides(views[k], itemsizes[k])

    def add_nodes(direct: Direct) -> None:
        taken, n = list[int | None](), 0  # the numbers of the operands' memories
        for k, view in enumerate(views[:-1]):
            if view is None:
                taken.append(None)
                continue
            number = n + 1
            if k in handed:
                (root, taker), dtype = handed[k], form.loop[k]
                view = view.unstretched if view.stretched_dims else view
                number = (handed_out(direct, number, view, dtype, root, n, rank) if taker is None else
                          sent(direct, number, view, dtype, root, taker, n, rank))
            taken.append(number)
            n += 1

        def compute(found: Memories) -> None:
            operands = [Scalar(memory, form.number_dtype) if number is None else found[number]
                        for memory, number in zip(memories, taken, strict=False)]
            addresses = [memory.address + offset for memory, offset in zip((*operands, found[0]), offsets, strict=True)]
            run_elementwise(form.kernel, shape, addresses, strides)

        if n_elements:
            direct.add(FunctionCall(compute, call.name), [(number, None) for number in taken if number], [(0, None)])

    return recording.send_at_once(key, call, storages, add_nodes, out.size // world().size) is not None


def _strides(view: Any, itemsize: int) -> list[int]:
    """Those, in bytes, of a view whose elements lie one after another, without those that it repeats."""
    found = []
    for n, p in zip(reversed(view.shape), reversed(view.base_dims), strict=True):
        found.append(0 if p is None else itemsize)
        if p is not None:
            itemsize *= n
    return found[::-1]
