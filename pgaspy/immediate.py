"""What is small, moves nothing, and has not been done often is computed at once, as NumPy does, and is not recorded.

A schedule would cost more than it saves. On one process nothing has to be moved at all; on several, operands have to
lie alike. Where anything is in the way (a function without a kernel of these dtypes, operands that do not fit), these
functions leave the call to those that record it, which know what to do, and what to raise.
"""

from __future__ import annotations

import functools
import itertools
import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from pgaspy.blas import add_product
from pgaspy.caches import Cache, cached
from pgaspy.execution import recording
from pgaspy.job.defaults import default_for
from pgaspy.job.procgrid import World, when_started, world
from pgaspy.kernels.bindings import run_elementwise
from pgaspy.layout import Layout, replicated, without_dims
from pgaspy.operands import WEAK
from pgaspy.planning.local_parts import lie_alike, local_part
from pgaspy.planning.pieces import local_indices, local_view_shape, storage_geometry
from pgaspy.planning.result_layout import result_layout
from pgaspy.planning.view import View, joint_shape, whole
from pgaspy.scheduling.at_once import MAX_ELEMENTS, elements, execute, kernel_for
from pgaspy.scheduling.base import Base, Storage, wrap
from pgaspy.scheduling.kinds.reduction import Reduction
from pgaspy.scheduling.nodes import Scalar
from pgaspy.scheduling.operations import BaseView, Computed
from pgaspy.statements import depends_on_values, loop_dtypes

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
    if layout is None and (known := _known[key]) is not None and recording.is_alone():
        return known.compute(key, base, y, number)
    other: Any = type(number) if y is None else y._base.dtype
    form = _form(ufunc, base.dtype, other, is_first, False)
    shape, bases = view.shape, [base] if y is None else [base, y._base]
    if y is not None and y._view.shape != shape:
        try:
            shape = joint_shape(shape, y._view.shape)
        except ValueError:
            return None
    is_alone = recording.is_alone()
    comes_again = layout is None and is_alone and recording.was_computed(key)
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
    target = out.view, out.base.storage
    if is_alone:
        execute(form.kernel, form.loop, target, operands, 0)
        if comes_again and 0 not in shape and len({*form.loop[:-1], *[base.dtype for base in bases]}) == 1:
            _known.keep(key, _Known.of(form, out, views, is_first, (view, None if y is None else y._view)))
        return out
    return out if _is_computed_in_parts(key, ufunc, form, target, operands) else None


def computed_in_place(key: tuple[Any, ...], ufunc: np.ufunc, x: Any, y: Any, number: complex | None) -> bool:
    """The same into the array itself; whether it was computed."""
    base, view = x._base, x._view
    recording.settle(base, view)  # first, as the other may be an element of it
    other: Any = type(number) if y is None else y._base.dtype
    form = _form(ufunc, base.dtype, other, False, True)
    source = view if y is None else _fitting(y, view.shape)
    if form is None or source is None or None in view.base_dims:
        return False
    out = view, base.storage
    if not recording.is_alone():
        other = (None, Scalar(number, form.number_dtype)) if y is None else (source, y._base.storage)
        return _is_computed_in_parts(key, ufunc, form, out, [out, other])
    if not recording.may_compute(key, view.size, [base] if y is None else [base, y._base]):
        return False
    other = (None, Scalar(number, form.number_dtype)) if y is None else _apart(source, y._base.storage, out)
    execute(form.kernel, form.loop, out, [out, other], 0)
    return True


def assigned(key: tuple[Any, ...], base: Base, view: View, value: Any) -> bool:
    """`view[...] = value`, of a global array of the same dtype or a Python number; whether it was done."""
    form = _copying(base.dtype)
    if form.kernel < 0 or None in view.base_dims:
        return False
    recording.settle(base, view)
    out, bases = (view, base.storage), [base]
    operand: tuple[View | None, Any]
    if value.__class__ in WEAK:
        operand = None, Scalar(value, base.dtype)
    else:
        source = _fitting(value, view.shape)
        if source is None or value._base.dtype != base.dtype:
            return False
        bases.append(value._base)
        operand = source, value._base.storage
        if not recording.is_alone() and (not view.size or source.stretched_dims or (
                base is value._base and source == view)):
            return False  # of which nothing, or something else, is recorded
    if not recording.is_alone():
        return _is_computed_in_parts(key, None, form, out, [operand])
    if not recording.may_compute(key, view.size, bases):
        return False
    execute(form.kernel, form.loop, out, [operand if operand[0] is None else _apart(*operand, out)], 0)
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
    layout, indices = replicated((), 1), functools.partial(local_indices, view, rank=0)
    found = reduction.partial(elements(view, base.storage, 0), tuple(range(view.ndim)), indices, ())
    if reduction.result is not None:
        found = reduction.result(found)
    return BaseView(wrap(layout, found), whole(layout))


class _Known(NamedTuple):
    """A call on one process, worked out: a kernel, its geometry, and where the result lies.

    Offsets are those of the arrays, and strides of all operands, the output last, in bytes. The views of the call are
    kept, so that their ids stay theirs.
    """

    form: _Form
    view: View
    layout: Layout
    size: int
    offsets: tuple[int, ...]
    strides: tuple[int, ...]
    is_first: bool
    views: tuple[View | None, ...]

    @classmethod
    def of(cls, form: _Form, out: BaseView, operands: Sequence[View], is_first: bool,
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


_known = Cache()
"""Calls that were computed on one process, by the ids of their views; see `known_calls`."""


def _forget(job: World) -> None:
    """Forget where results lie: another job may have another default layout."""
    _known.forget()


when_started.append(_forget)


class _Form(NamedTuple):
    """How a function is computed: by a kernel, of the dtypes that it takes, and that which it gives.

    A number is taken as one of `number_dtype`.
    """

    kernel: int
    loop: tuple[np.dtype[Any], ...]
    number_dtype: np.dtype[Any]


@cached
def _form(ufunc: np.ufunc, dtype: np.dtype[Any], other: Any, is_first: bool, is_in_place: bool) -> _Form | None:
    """That of a function of a dtype and another one, the class of a Python number, or that of None; if there is one."""
    described: list[Any] = [(None, dtype)]
    if other is not type(None):
        described.append(other if isinstance(other, type) else (None, other))
    if is_first:
        described.reverse()
    if ufunc.nout > 1 or depends_on_values(ufunc, described):
        return None
    try:
        loop = loop_dtypes(ufunc, described, (dtype if is_in_place else None,), False, None, "same_kind")
    except TypeError:
        return None
    dtypes = [d[1] if isinstance(d, tuple) else own for d, own in zip(described, loop, strict=False)]
    kernel = kernel_for(ufunc, ufunc.__name__, (*dtypes, loop[-1]), loop)
    if kernel < 0 or (is_in_place and loop[-1] != dtype):
        return None  # what has no kernel with these casts is left to NumPy's function, whose bits are others
    number = next((own for d, own in zip(described, loop, strict=False) if not isinstance(d, tuple)), loop[-1])
    return _Form(kernel, loop, number)


@cached
def _copying(dtype: np.dtype[Any]) -> _Form:
    """How elements of a dtype are copied."""
    loop = dtype, dtype
    return _Form(kernel_for(None, "copy", loop, loop), loop, dtype)


def _is_computed_in_parts(key: tuple[Any, ...], function: np.ufunc | None, form: _Form, out: tuple[View, Storage],
                          operands: Sequence[tuple[View | None, Any]]) -> bool:
    """Have each process compute its part, if all that it reads lies there; whether it did. Not for one process.

    The others are told of it as of what is recorded: as of an assignment, if an array is copied, else a statement.
    """
    view, storage = out
    rank = world().rank
    part = local_part(view, rank)
    if part is None or min(view.steps, default=1) < 1 or math.prod(part.shape) > MAX_ELEMENTS or (
            storage.lender is not storage):
        return False
    views, storages, is_array = [view], [storage], []
    strides: list[int] = []
    places: list[tuple[Any, int]] = []
    for (v, memory), dtype in zip(operands, form.loop, strict=False):
        is_array.append(v is not None)
        if v is None:
            places.append((memory, 0))
            strides += (0,) * len(part.shape)
            continue
        own = part
        if v is not view:
            found = local_part(v, rank)
            if found is None or not lie_alike(view, v) or (memory is storage and not v.disjoint(view)):
                return False
            own = found.section(part.first, part.shape)
        if memory.dtype != dtype or memory.lender is not memory:
            return False
        views.append(v)
        storages.append(memory)
        places.append((memory, own.offset * dtype.itemsize))
        strides += [stride * dtype.itemsize for stride in own.strides]
    if not recording.queue.may_compute(key, math.prod(part.shape), storages):
        return False
    if 0 not in local_view_shape(view, rank):
        itemsize = storage.dtype.itemsize
        addresses = [memory.address + offset for memory, offset in places]
        run_elementwise(form.kernel, part.shape, [*addresses, storage.address + part.offset * itemsize],
                        strides + [stride * itemsize for stride in part.strides])
    recording.tell(Computed(function, tuple(is_array), form.loop, tuple(views)), tuple(storages))
    return True


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
