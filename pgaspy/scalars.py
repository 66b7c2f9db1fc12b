"""Numbers made of numbers, and elements that are assigned to: computed at once, as there is nothing to walk through.

So are they on several processes where each that has the result has all that it is made of, as layouts tell; where it
has not, the process that has an operand sends it. Which calls come here, and what becomes of the others, is up to
`immediate`.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import compress, repeat
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pgaspy.execution import recording
from pgaspy.execution.direct import Direct
from pgaspy.forms import Form
from pgaspy.job.defaults import default_for
from pgaspy.job.procgrid import world
from pgaspy.kernels.bindings import run_elementwise
from pgaspy.layout import replicated
from pgaspy.planning.local_parts import lie_alike, place
from pgaspy.planning.result_layout import result_layout
from pgaspy.planning.view import View, whole
from pgaspy.scheduling.at_once import elements
from pgaspy.scheduling.base import Base, SharedStorage, Storage, wrap
from pgaspy.scheduling.collectives import handed_out, sent
from pgaspy.scheduling.nodes import FunctionCall, Memories, Scalar, bytes_in
from pgaspy.scheduling.operations import BaseView, Computed

__all__ = ["are_numbers", "computed", "is_assigned"]


def are_numbers(view: View, y: Any) -> bool:
    """Whether a view, and an array if there is one, have no dimensions."""
    return not (view.shape or (y is not None and y._view.shape))


def computed(key: tuple[Any, ...], form: Form, x: Any, y: Any, number: complex | None,
             is_first: bool) -> BaseView | None:
    """A function of a number and another one, or a Python number, which may come first; None if it is not computed.

    The result lies where the first operand does that not all processes have.
    """
    if recording.is_alone():
        layout = replicated((), 1)
    else:
        layout = result_layout((), (x._view,) if y is None else (x._view, y._view), default_for)
    out = BaseView(wrap(layout, np.empty((), form.loop[-1])), whole(layout))
    return out if _is_computed(key, form, *out, x, y, number, is_first) else None


def is_assigned(key: tuple[Any, ...], form: Form, base: Base, view: View, y: Any, number: complex | None) -> bool:
    """A number, or a Python number, copied to an element; whether it was."""
    if y is not None and (y._base.dtype != base.dtype or (y._base is base and y._view == view)):
        return False
    return _is_computed(key, form, base, view, y, None, number, False)


def _is_computed(key: tuple[Any, ...], form: Form, base: Base, view: View, x: Any, y: Any, number: complex | None,
                 is_first: bool) -> bool:
    """Have all that have the element of a view compute it of what there is of x, y and a number; whether they did."""
    views: tuple[View, ...]
    storages: tuple[Storage, ...]
    if x is None:
        views, storages = (view,), (base.storage,)
    elif y is None:
        views, storages = (view, x._view), (base.storage, x._base.storage)
    else:
        views, storages = (view, x._view, y._view), (base.storage, x._base.storage, y._base.storage)
    is_alone = recording.is_alone()
    if SharedStorage in map(type, storages):
        return False
    scalar = None if number is None else Scalar(number, form.number_dtype)
    if not is_alone and False in (are_here := [*map(lie_alike, repeat(view), views[1:])]):
        return _is_brought(key, form, views, storages, are_here, scalar, is_first)
    if not recording.queue.may_compute(key, 1, storages):
        return False
    rank, work = world().rank, None
    if place(view, rank) is not None:
        numbers = _as_taken(form, [elements(v, storage, rank) for v, storage in zip(
            views[1:], storages[1:], strict=True)]) if form.is_cast else ()  # as long as they are read
        addresses = [_address(storage, view, rank) for storage, view in zip(storages, views, strict=True)]
        if numbers:
            addresses[1:] = [number.address for number in numbers]
        work = form.kernel, (), _in_order(addresses, scalar, is_first), ()
    if not is_alone:
        recording.compute(Computed(form.said, views), storages, () if scalar is None else (scalar,), work)
    elif work is not None:
        run_elementwise(*work)
    return True


def _is_brought(key: tuple[Any, ...], form: Form, views: tuple[View, ...], storages: tuple[Storage, ...],
                are_here: Sequence[bool], scalar: Scalar | None, is_first: bool) -> bool:
    """The same of a number that one process has, or all have, of operands that are there, or that one process has: it
    sends them.

    The messages are those of the statement, where that is executed in any other way.
    """
    out, operands = views[0], [*zip(views[1:], storages[1:], are_here, strict=True)]
    target = out.only_holder
    if (target is None and not out.layout.is_replicated) or any(
            not is_here and view.only_holder is None for view, _, is_here in operands):
        return False
    rank, call = world().rank, Computed(form.said, views)
    is_read = form.is_assignment and out.layout.is_on_one_process

    def add_nodes(direct: Direct) -> None:
        places = []
        for k, (view, storage, is_here) in enumerate(operands):
            source: Any = view.only_holder
            if is_here:
                places.append(k + 1)
            elif target is None:
                places.append(handed_out(direct, k + 1, view, storage.dtype, source, k, rank))
            else:
                places.append(sent(direct, k + 1, view, storage.dtype, source, target, k, rank, is_read))

        def compute(memories: Memories) -> None:
            numbers = _as_taken(form, [
                elements(view, storage, rank) if is_here else np.ndarray((), storage.dtype, bytes_in(memories[place]))
                for (view, storage, is_here), place in zip(operands, places, strict=True)])
            addresses = [_address(storages[0], out, rank), *[number.address for number in numbers]]
            run_elementwise(form.kernel, (), _in_order(addresses, scalar, is_first), ())

        if target in (None, rank):
            direct.add(FunctionCall(compute, call.name), [(n, None) for n in places], [(0, None)])

    return recording.send_at_once(key, call, storages, add_nodes, () if scalar is None else (scalar,)) is not None


def _as_taken(form: Form, operands: Sequence[NDArray[Any]]) -> list[Scalar]:
    """The operands that are arrays as the kernel takes them."""
    return [*map(Scalar, operands, compress(form.loop, form.is_array))]


def _in_order(addresses: list[int], scalar: Scalar | None, is_first: bool) -> list[int]:
    """Those of the output and the arrays, as the kernel takes them, with that of a number."""
    addresses.append(addresses.pop(0))
    if scalar is not None:
        addresses.insert(0 if is_first else -1, scalar.address)
    return addresses


def _address(storage: Storage, view: View, rank: int) -> int:
    """That of the element of a view, which this process has."""
    found: Any = place(view, rank)
    return storage.address + storage.dtype.itemsize * found
