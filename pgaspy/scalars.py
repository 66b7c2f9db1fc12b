"""Numbers made of numbers, and elements that are assigned to: computed at once, as there is nothing to walk through.

So are they on several processes where each that has the result has all that it is made of, as layouts tell. Which calls
come here, and what becomes of the others, is up to `immediate`.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import compress, repeat
from typing import Any

import numpy as np

from pgaspy.execution import recording
from pgaspy.forms import Form
from pgaspy.job.procgrid import world
from pgaspy.kernels.bindings import run_elementwise
from pgaspy.layout import Layout, replicated
from pgaspy.planning.local_parts import lie_alike, place
from pgaspy.planning.view import View, whole
from pgaspy.scheduling.at_once import elements
from pgaspy.scheduling.base import Base, SharedStorage, Storage, wrap
from pgaspy.scheduling.nodes import Scalar
from pgaspy.scheduling.operations import BaseView, Computed

__all__ = ["are_numbers", "assigned", "computed"]


def are_numbers(view: View, y: Any) -> bool:
    """Whether a view, and an array if there is one, have no dimensions."""
    return not (view.shape or (y is not None and y._view.shape))


def computed(key: tuple[Any, ...], form: Form, x: Any, y: Any, number: complex | None, is_first: bool,
             layout: Layout | None) -> BaseView | None:
    """A function of a number and another one, or a Python number, which may come first; None if it is not computed.

    The result lies in the layout, by default on every process.
    """
    if layout is None:
        layout = replicated((), world().size)
    out = BaseView(wrap(layout, np.empty((), form.loop[-1])), whole(layout))
    return out if _is_computed(key, form, *out, x, y, number, is_first) else None


def assigned(key: tuple[Any, ...], form: Form, base: Base, view: View, y: Any, number: complex | None) -> bool:
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
    if SharedStorage in map(type, storages) or not (is_alone or all(map(lie_alike, repeat(view), views[1:]))):
        return False
    scalar = None if number is None else Scalar(number, form.number_dtype)
    if not recording.queue.may_compute(key, 1, storages):
        return False
    rank, work = world().rank, None
    if place(view, rank) is not None:
        addresses = list(map(_address, storages, views, repeat(rank)))
        casts = _casts(form, storages, views, rank) if form.is_cast else ()
        if casts:
            addresses[1:] = [cast.address for cast in casts]
        addresses.append(addresses.pop(0))
        if scalar is not None:
            addresses.insert(0 if is_first else -1, scalar.address)
        work = form.kernel, (), addresses, ()
    if not is_alone:
        recording.compute(Computed(form.said, views), storages, work)
    elif work is not None:
        run_elementwise(*work)
    return True


def _casts(form: Form, storages: Sequence[Storage], views: Sequence[View], rank: int) -> list[Scalar]:
    """The operands that are arrays as the kernel takes them; the output comes before them."""
    dtypes = compress(form.loop, form.is_array)
    return [Scalar(elements(view, storage, rank), dtype)
            for view, storage, dtype in zip(views[1:], storages[1:], dtypes, strict=True)]


def _address(storage: Storage, view: View, rank: int) -> int:
    """That of the element of a view, which this process has."""
    found: Any = place(view, rank)
    return storage.address + storage.dtype.itemsize * found
