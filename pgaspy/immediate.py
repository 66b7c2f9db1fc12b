"""What is small, moves nothing, and has not been done often is computed at once, as NumPy does, and is not recorded.

A schedule would cost more than it saves. On one process nothing has to be moved at all; on several, operands have to
lie alike. Where anything is in the way (a function without a kernel of these dtypes, operands that do not fit), these
functions leave the call to those that record it, which know what to do, and what to raise.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from pgaspy import scalars
from pgaspy.blas import add_product
from pgaspy.caches import Cache
from pgaspy.execution import recording
from pgaspy.forms import Form, copying, form_of
from pgaspy.job.defaults import default_for
from pgaspy.job.procgrid import World, when_started, world
from pgaspy.kernels.bindings import run_elementwise
from pgaspy.layout import Layout, replicated, without_dims
from pgaspy.operands import WEAK
from pgaspy.planning.local_parts import lie_alike, local_part
from pgaspy.planning.pieces import local_view_shape, storage_geometry
from pgaspy.planning.result_layout import result_layout
from pgaspy.planning.view import View, joint_shape, whole
from pgaspy.scheduling.at_once import MAX_ELEMENTS, elements, execute
from pgaspy.scheduling.base import Base, Storage, wrap
from pgaspy.scheduling.kinds.reduction import Reduction, indices_of
from pgaspy.scheduling.nodes import Scalar
from pgaspy.scheduling.operations import BaseView, Computed

__all__ = ["assigned", "computed", "computed_in_place", "product", "product_of_matrices", "reduced"]

PRODUCTS_PER_ELEMENT = 16
"""Products that BLAS adds up in the time in which a kernel passes through an element."""


def computed(key: tuple[Any, ...], ufunc: np.ufunc, x: Any, y: Any, number: complex | None,
             is_first: bool, layout: Layout | None = None) -> BaseView | None:
    """A function of a global array and another one or a Python number (which may come first), or of itself alone.

    `key` is what the call depends on; `layout` the result's, by default that which follows from the operands. None if
    it is not computed.
    """
    base, view = x._base, x._view
    other: Any = type(number) if y is None else y._base.dtype
    form = form_of(ufunc, base.dtype, other, is_first, False)
    if form is not None and scalars.are_numbers(form, base, view, y):
        return scalars.computed(key, form, x, y, number, is_first, layout)
    is_alone = recording.is_alone()
    here = None if is_alone else world().rank, key
    if layout is None and (known := _known[here]) is not None:
        return known.compute(key, base, y, number)
    shape, bases = view.shape, [base] if y is None else [base, y._base]
    if y is not None and y._view.shape != shape:
        try:
            shape = joint_shape(shape, y._view.shape)
        except ValueError:
            return None
    comes_again = layout is None and recording.was_computed(key)
    if form is None or (is_alone and not recording.may_compute(key, math.prod(shape), bases)):
        return None
    if y is not None and not is_alone and not lie_alike(view, y._view) and not view.layout.is_replicated:
        return None
    views = [view.broadcast_to(shape)] if y is None else [view.broadcast_to(shape), y._view.broadcast_to(shape)]
    if layout is None:
        layout = result_layout(shape, views, default_for)
    out = BaseView(Base(layout, form.loop[-1]), whole(layout))
    operands: list[Any] = [(view, base.storage) for view, base in zip(views, bases, strict=True)]
    if number is not None:
        operands.insert(0 if is_first else 1, (None, Scalar(number, form.number_dtype)))
    target, given = (out.view, out.base.storage), (view, None if y is None else y._view)
    if is_alone:
        execute(form.kernel, form.loop, target, operands, 0)
        if comes_again and 0 not in shape and len({*form.loop[:-1], *[base.dtype for base in bases]}) == 1:
            _known.keep(here, _Known.of(form, out, views, is_first, given))
        return out
    part = _Part.of(form, target, operands)
    if part is None or not part.compute(key, [*[memory for _, memory in operands], target[1]]):
        return None
    if comes_again:
        _known.keep(here, _KnownPart(part, out.view, layout, is_first, given))
    return out


def computed_in_place(key: tuple[Any, ...], ufunc: np.ufunc, x: Any, y: Any, number: complex | None) -> bool:
    """The same into the array itself; whether it was computed."""
    base, view = x._base, x._view
    recording.settle(base, view)  # first, as the other may be an element of it
    other: Any = type(number) if y is None else y._base.dtype
    form = form_of(ufunc, base.dtype, other, False, True)
    source = view if y is None else _fitting(y, view.shape)
    if form is None or source is None or None in view.base_dims:
        return False
    out = view, base.storage
    if not recording.is_alone():
        other = (None, Scalar(number, form.number_dtype)) if y is None else (source, y._base.storage)
        return _is_computed_in_parts(key, form, out, [out, other])
    if not recording.may_compute(key, view.size, [base] if y is None else [base, y._base]):
        return False
    other = (None, Scalar(number, form.number_dtype)) if y is None else _apart(source, y._base.storage, out)
    execute(form.kernel, form.loop, out, [out, other], 0)
    return True


def assigned(key: tuple[Any, ...], base: Base, view: View, value: Any) -> bool:
    """`view[...] = value`, of a global array of the same dtype or a Python number; whether it was done."""
    is_number = value.__class__ in WEAK
    form = copying(base.dtype, is_number)
    if form.kernel < 0 or None in view.base_dims:
        return False
    recording.settle(base, view)
    y, number = (None, value) if is_number else (value, None)
    out, bases = (view, base.storage), [base]
    operand: tuple[View | None, Any]
    if y is not None:
        source = _fitting(y, view.shape)
        if source is None or y._base.dtype != base.dtype:
            return False
        bases.append(y._base)
        operand = source, y._base.storage
        if not recording.is_alone() and (not view.size or source.stretched_dims or (
                base is y._base and source == view)):
            return False  # of which nothing, or something else, is recorded
    if scalars.are_numbers(form, base, view, y):
        return scalars.assigned(key, form, base, view, y, number)
    if y is None:
        operand = None, Scalar(number, base.dtype)
    if not recording.is_alone():
        return _is_computed_in_parts(key, form, out, [operand])
    if not recording.may_compute(key, view.size, bases):
        return False
    view_of, memory = operand
    execute(form.kernel, form.loop, out, [operand if view_of is None else _apart(view_of, memory, out)], 0)
    return True


def product(a: BaseView, x: BaseView, dtype: np.dtype[Any]) -> BaseView | None:
    """A matrix (or vector) times a vector, in the layout without the last dimension; None if it is not computed."""
    key = np.matmul, id(a.view), a.base.dtype, id(x.view), x.base.dtype
    if min(a.view.steps) < 1 or not recording.may_compute(key, math.prod(a.view.shape), [a.base, x.base]):
        return None
    layout = replicated((), 1)
    if a.view.ndim > 1:
        assert a.view.own_layout is not None
        layout = without_dims(a.view.own_layout, (a.view.ndim - 1,))
    with np.errstate(all="ignore"):  # of a vector that is contiguous, as it is where it has been moved
        found = np.matmul(elements(a.view, a.base.storage, 0),
                          np.ascontiguousarray(elements(x.view, x.base.storage, 0)), dtype=dtype)
    return BaseView(wrap(layout, np.asarray(found)), whole(layout))


def product_of_matrices(a: BaseView, b: BaseView, layout: Layout, dtype: np.dtype[Any]) -> BaseView | None:
    """A matrix times a matrix, in this layout; None if it is not computed."""
    (m, k), n = a.view.shape, b.view.shape[1]
    key = np.matmul, id(a.view), a.base.dtype, id(b.view), b.base.dtype
    work = m * k + k * n + m * n + m * k * n // PRODUCTS_PER_ELEMENT
    if min(*a.view.steps, *b.view.steps) < 1 or not recording.may_compute(key, work, [a.base, b.base]):
        return None
    found = np.empty((m, n), dtype)
    A, B = (elements(x.view, x.base.storage, 0).astype(dtype, copy=False) for x in (a, b))
    with np.errstate(all="ignore"):
        add_product(found, A, B, beta=0)
    return BaseView(wrap(layout, found), whole(layout))


def reduced(reduction: Reduction, base: Base, view: View) -> BaseView | None:
    """All elements of a view reduced to one; None if it is not computed."""
    key = Reduction, id(view), base.dtype, reduction.merge, reduction.partial_dtype
    if min(view.steps, default=0) < 1 or 0 in view.shape or not recording.may_compute(
            key, math.prod(view.shape), [base]):
        return None
    layout = replicated((), 1)
    found = reduction.partial(elements(view, base.storage, 0), tuple(range(view.ndim)), indices_of(view, 0), ())
    if reduction.result is not None:
        found = reduction.result(found)
    return BaseView(wrap(layout, found), whole(layout))


class _Known(NamedTuple):
    """A call on one process, worked out: a kernel, its geometry, and where the result lies.

    Offsets are those of the arrays, and strides of all operands, the output last, in bytes. The views of the call are
    kept, so that their ids stay theirs.
    """

    form: Form
    view: View
    layout: Layout
    size: int
    offsets: tuple[int, ...]
    strides: tuple[int, ...]
    is_first: bool
    views: tuple[View | None, ...]

    @classmethod
    def of(cls, form: Form, out: BaseView, operands: Sequence[View], is_first: bool,
           views: tuple[View | None, ...]) -> _Known:
        """What is worked out for a call whose arrays have the dtypes that the kernel takes."""
        itemsize = form.loop[0].itemsize
        geometry = [storage_geometry(view, 0, itemsize) for view in operands]
        strides = [own for _, own in geometry]
        if len(form.loop) - 1 > len(operands):
            strides.insert(0 if is_first else 1, (0,) * out.view.ndim)
        strides.append(storage_geometry(out.view, 0, form.loop[-1].itemsize)[1])
        return cls(form, out.view, out.base.layout, out.view.size, tuple([offset for offset, _ in geometry]),
                   tuple(itertools.chain.from_iterable(strides)), is_first, views)

    def compute(self, key: tuple[Any, ...], base: Base, y: Any, number: complex | None) -> BaseView | None:
        """The result; None if it is not computed."""
        form, bases = self.form, [base] if y is None else [base, y._base]
        if not recording.may_compute(key, self.size, bases):
            return None
        out = Base(self.layout, form.loop[-1])
        addresses = [base.storage.address + offset for base, offset in zip(bases, self.offsets, strict=True)]
        if number is not None:
            scalar = Scalar(number, form.number_dtype)
            addresses.insert(0 if self.is_first else 1, scalar.address)
        addresses.append(out.storage.address)
        run_elementwise(form.kernel, self.view.shape, addresses, self.strides)
        return BaseView(out, self.view)


class _Part(NamedTuple):
    """What a process of several computes of a call: of elements that lie there, as all that it reads does.

    Memories are those of all operands, the output's last, and so are offsets and strides, in bytes. The others are told
    of it as of what is recorded: as of an assignment, if an array is copied, else a statement.
    """

    form: Form
    call: Computed
    shape: tuple[int, ...]
    size: int
    is_empty: bool
    offsets: tuple[int, ...]
    strides: tuple[int, ...]

    @classmethod
    def of(cls, form: Form, out: tuple[View, Storage],
           operands: Sequence[tuple[View | None, Any]]) -> _Part | None:
        """It; None if it is not to be computed so: what is read lies elsewhere, or is not of the kernel's dtypes."""
        view, storage = out
        rank = world().rank
        part = local_part(view, rank)
        if part is None or min(view.steps, default=1) < 1 or math.prod(part.shape) > MAX_ELEMENTS:
            return None
        offsets: list[int] = []
        strides: list[int] = []
        for (v, memory), dtype in zip((*operands, out), form.loop, strict=True):
            if v is None:
                offsets.append(0)
                strides += (0,) * len(part.shape)
                continue
            own = part
            if v is not view:
                found = local_part(v, rank)
                if found is None or not lie_alike(view, v) or (memory is storage and not v.disjoint(view)):
                    return None
                own = found.section(part.first, part.shape)
            if memory.dtype != dtype:
                return None
            offsets.append(own.offset * dtype.itemsize)
            strides += [stride * dtype.itemsize for stride in own.strides]
        views = view, *[v for v, _ in operands if v is not None]
        call = Computed(form.said, views)
        return cls(form, call, part.shape, math.prod(part.shape), 0 in local_view_shape(view, rank),
                   tuple(offsets), tuple(strides))

    def compute(self, key: tuple[Any, ...], memories: Sequence[Any]) -> bool:
        """Whether it was computed."""
        storages = memories[-1], *itertools.compress(memories, self.form.is_array)
        for storage in storages:
            if storage.lender is not storage:
                return False
        if not recording.queue.may_compute(key, self.size, storages):
            return False
        if not self.is_empty:
            addresses = [memory.address + offset for memory, offset in zip(memories, self.offsets, strict=True)]
            run_elementwise(self.form.kernel, self.shape, addresses, self.strides)
        recording.tell(self.call, storages)
        return True


class _KnownPart(NamedTuple):
    """A call on several processes, worked out, and where the result lies; for the views that are kept, see `_Known`."""

    part: _Part
    view: View
    layout: Layout
    is_first: bool
    views: tuple[View | None, ...]

    def compute(self, key: tuple[Any, ...], base: Base, y: Any, number: complex | None) -> BaseView | None:
        """The result; None if it is not computed."""
        loop = self.part.form.loop
        out = Base(self.layout, loop[-1])
        memories: list[Any] = [base.storage] if y is None else [base.storage, y._base.storage]
        if number is not None:
            first = not self.is_first
            memories.insert(int(first), Scalar(number, loop[int(first)]))
        return BaseView(out, self.view) if self.part.compute(key, [*memories, out.storage]) else None


_known, _known_parts = Cache(), Cache()
"""Calls that were computed, by the rank of one process of several, and the ids of their views; see `known_calls`. Parts
are of what was written to an array."""


def _forget(job: World) -> None:
    """Forget where results lie: another job may have another default layout."""
    _known.forget()
    _known_parts.forget()


when_started.append(_forget)


def _is_computed_in_parts(key: tuple[Any, ...], form: Form, out: tuple[View, Storage],
                          operands: Sequence[tuple[View | None, Any]]) -> bool:
    """Have each process compute its part of what is written to an array, as `_Part` does; whether it did."""
    places = [(id(view), memory is out[1]) for view, memory in operands]  # of views that the part keeps
    known = world().rank, key, id(out[0]), *places
    part = _known_parts[known]
    if part is None:
        part = _Part.of(form, out, operands)
        if part is None:
            return False
        if recording.was_computed(key):
            _known_parts.keep(known, part)
    return part.compute(key, [*[memory for _, memory in operands], out[1]])


def _fitting(y: Any, shape: tuple[int, ...]) -> View | None:
    """The view of an operand, stretched to a shape; None where that is not possible."""
    view: View = y._view
    if view.shape == shape:
        return view
    try:
        return view.broadcast_to(shape)
    except ValueError:
        return None


def _apart(view: View, storage: Storage, out: tuple[View, Storage]) -> tuple[View, Storage]:
    """An operand; a copy of it, where some of its elements are written to before they are read."""
    if storage is not out[1] or view == out[0] or view.disjoint(out[0]):
        return view, storage
    layout = replicated(view.shape, 1)
    return whole(layout), wrap(layout, elements(view, storage, 0).copy()).storage
