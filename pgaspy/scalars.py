"""Numbers made of numbers, and elements that are assigned to: computed at once, as there is nothing to walk through.

So are they on several processes where each that has the result has all that it is made of, as layouts tell. Which calls
come here, and what becomes of the others, is up to `immediate`.
"""

from __future__ import annotations

from itertools import repeat
from typing import Any

import numpy as np

from pgaspy.execution import recording
from pgaspy.forms import Form
from pgaspy.job.defaults import default_for
from pgaspy.job.procgrid import world
from pgaspy.kernels.bindings import run_elementwise
from pgaspy.layout import Layout
from pgaspy.planning.local_parts import lie_alike, place
from pgaspy.planning.view import View, whole
from pgaspy.scheduling.base import Base, SharedStorage, Storage, wrap
from pgaspy.scheduling.nodes import Scalar
from pgaspy.scheduling.operations import BaseView, Computed

__all__ = ["are_numbers", "assigned", "computed"]


def are_numbers(form: Form, base: Base, view: View, y: Any) -> bool:
    """Whether a view, and an array if there is one, have no dimensions, are not borrowed, and are as the kernel takes
    them.
    """
    return not (view.shape or form.is_cast or base.storage.__class__ is SharedStorage or (
        y is not None and (y._view.shape or y._base.storage.__class__ is SharedStorage)))


def computed(key: tuple[Any, ...], form: Form, x: Any, y: Any, number: complex | None, is_first: bool,
             layout: Layout | None) -> BaseView | None:
    """A function of a number and another one, or a Python number, which may come first; None if it is not computed.

    The result lies in the layout, by default on every process.
    """
    if layout is None:
        layout = default_for(())
    out = BaseView(wrap(layout, np.empty((), form.loop[-1])), whole(layout))
    views: tuple[View, ...] = out.view, x._view
    storages: tuple[Storage, ...] = out.base.storage, x._base.storage
    if y is not None:
        views, storages = (out.view, x._view, y._view), (out.base.storage, x._base.storage, y._base.storage)
    return out if _is_computed(key, form, views, storages, number, is_first) else None


def assigned(key: tuple[Any, ...], form: Form, base: Base, view: View, y: Any, number: complex | None) -> bool:
    """A number, or a Python number, copied to an element; whether it was."""
    if y is None:
        return _is_computed(key, form, (view,), (base.storage,), number, False)
    if y._base.dtype != base.dtype or (y._base is base and y._view == view):
        return False
    return _is_computed(key, form, (view, y._view), (base.storage, y._base.storage), None, False)


def _is_computed(key: tuple[Any, ...], form: Form, views: tuple[View, ...], storages: tuple[Storage, ...],
                 number: complex | None, is_first: bool) -> bool:
    """Have all that have the first element compute it of the others; whether it was computed."""
    is_alone = recording.is_alone()
    if not (is_alone or all(map(lie_alike, repeat(views[0]), views[1:]))):
        return False
    scalar = None if number is None else Scalar(number, form.number_dtype)
    if not recording.queue.may_compute(key, 1, storages):
        return False
    rank = world().rank
    if place(views[0], rank) is not None:
        addresses: list[int] = []
        for view, storage in zip(views, storages, strict=True):
            at: Any = place(view, rank)
            addresses.append(storage.address + storage.dtype.itemsize * at)
        addresses.append(addresses.pop(0))
        if scalar is not None:
            addresses.insert(0 if is_first else -1, scalar.address)
        run_elementwise(form.kernel, (), addresses, ())
    if not is_alone:
        recording.tell(Computed(form.said, views), storages)
    return True
