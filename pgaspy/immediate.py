"""What is small, moves nothing, and has not been done often is computed at once, as NumPy does, and is not recorded.

A schedule would cost more than it saves. On one process nothing has to be moved at all; on several, operands have to
lie alike. Where anything is in the way (a function without a kernel of these dtypes, operands that do not fit), these
functions leave the call to those that record it, which know what to do, and what to raise.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, NoReturn

import numpy as np

from pgaspy import _calls, handed, scalars
from pgaspy.blas import add_product
from pgaspy.caches import Cache
from pgaspy.execution import recording
from pgaspy.forms import Form, copying, form_of
from pgaspy.job.defaults import default_for
from pgaspy.job.procgrid import World, when_started
from pgaspy.kernels import bindings
from pgaspy.layout import Layout, replicated, without_dims
from pgaspy.operands import WEAK
from pgaspy.planning.local_parts import lie_alike
from pgaspy.planning.result_layout import result_view
from pgaspy.planning.view import View, in_memory_order, joint_shape, whole
from pgaspy.scheduling import floating_point
from pgaspy.scheduling.at_once import MAX_ELEMENTS, call_kernel, elements
from pgaspy.scheduling.base import Base, SharedStorage, Storage, borrowers, lent, wrap
from pgaspy.scheduling.floating_point import silently
from pgaspy.scheduling.kinds.reduction import Reduction, indices_of
from pgaspy.scheduling.memory import REUSED_FROM_BYTES
from pgaspy.scheduling.nodes import Scalar
from pgaspy.scheduling.operations import TAGS_PER_OPERAND, BaseView
from pgaspy.supervision.checking import BATCH

__all__ = ["computed", "is_assigned", "is_computed_in_place", "is_handed", "product", "product_of_matrices", "reduced"]

PRODUCTS_PER_ELEMENT = 16
"""Products that BLAS adds up in the time in which a kernel passes through an element."""


def computed(key: tuple[Any, ...], ufunc: np.ufunc, x: Any, y: Any, number: complex | None,
             is_first: bool) -> BaseView | None:
    """A function of a global array and another one or a Python number (which may come first), or of itself alone.

    `key` is what the call depends on. None if it is not computed.
    """
    base, view = x._base, x._view
    other: Any = type(number) if y is None else y._base.dtype
    form = form_of(ufunc, base.dtype, other, is_first, False)
    if form is None:
        return None
    if scalars.are_numbers(view, y):
        return scalars.computed(key, form, x, y, number, is_first)
    if form.is_cast and not recording.is_alone():
        return None
    call: _Known | None = _known[key]
    if call is None:
        call = _worked_out(form, view, None if y is None else y._view)
        if call is None:
            return None
        if recording.was_admitted(key):
            _known.keep(key, call)
    out = Base(call.result.layout, form.loop[-1])
    storages = [base.storage] if y is None else [base.storage, y._base.storage]
    memories = *_with_number(form, storages, number), out.storage
    compute = _is_computed if call.are_alike else handed.is_computed
    return BaseView(out, call.result) if compute(key, form, call.views, memories) else None


class _Known(NamedTuple):
    """A call, worked out: how the new array is seen, and the views of all operands, in the order of memory, that of the
    output last; whether they lie alike. The views of the call are kept, so that their ids stay theirs.
    """

    result: View
    views: tuple[View | None, ...]
    are_alike: bool
    given: tuple[View | None, ...]


_known = Cache()
"""Calls that were computed, by the ids of their views; see `known_calls`."""


def _worked_out(form: Form, view: View, other: View | None) -> _Known | None:
    """A call on views, of which there may be one; None if it is not to be computed."""
    views, are_alike = _of_one_shape(view, other), _may_lie_alike(view, other)
    if views is None or not (are_alike or any(own.only_holder is not None for own in views)):
        return None
    result = result_view(views[0].shape, views, default_for)
    written, ordered = in_memory_order(result, views)
    return _Known(result, (*_with_number(form, ordered, None), written), are_alike, (view, other))


def _of_one_shape(view: View, other: View | None) -> list[View] | None:
    """One view or two, stretched to one shape; None if there is none."""
    if other is None or other.shape == view.shape:
        return [view] if other is None else [view, other]
    try:
        shape = joint_shape(view.shape, other.shape)
    except ValueError:
        return None
    return [view.broadcast_to(shape), other.broadcast_to(shape)]


def _with_number(form: Form, arrays: Sequence[Any], number: Any) -> list[Any]:
    """What there is of arrays, and of the number where a function has one, in the order of its operands."""
    found = [*arrays]
    if False in form.is_array:
        found.insert(form.is_array.index(False), number)
    return found


def _is_computed(key: tuple[Any, ...], form: Form, views: tuple[View | None, ...], memories: tuple[Any, ...]) -> bool:
    """Have each process compute its part of a statement; whether it did. Views and memories are as for
    `_calls.compute`.

    A job of one process does so, too, where operands are cast, or others borrow them, or elements are written to before
    they are read, of which there is a copy then.
    """
    found = _calls.compute(key, form, views, memories)
    if found is not None or not recording.is_alone():
        return bool(found)
    out, storage = views[-1], memories[-1]
    assert out is not None
    storages = [memory.lender for view, memory in zip(views, memories, strict=True) if view is not None]
    if not recording.queue.may_compute(key, out.size, storages):
        return False
    operands = [(None, Scalar(memory, form.number_dtype)) if view is None else _apart((view, memory), (out, storage))
                for view, memory in zip(views[:-1], memories, strict=False)]
    call_kernel(form.kernel, form.loop, (out, storage), operands, 0)
    return True


def _may_lie_alike(view: View, other: View | None) -> bool:
    """Whether a second operand lies where the first one does, or this one lies everywhere."""
    return other is None or lie_alike(view, other) or view.layout.is_replicated


def _result_in_order(view: View, other: View | None) -> View | bool | None:
    """How the result of a call on views of one shape is seen; False where these do not lie alike, None where its
    elements are not in the order of its dimensions.
    """
    if other is not None and view.shape and not _may_lie_alike(view, other):
        return None if view.only_holder is not None or other.only_holder is not None else False
    found = result_view(view.shape, [view] if other is None else [view, other], default_for)
    return None if found.memory_order else found


def is_computed_in_place(key: tuple[Any, ...], ufunc: np.ufunc, x: Any, y: Any, number: complex | None) -> bool:
    """The same into the array itself; whether it was computed."""
    base, view = x._base, x._view
    recording.settle(base, view)  # first, as the other may be an element of it
    other: Any = type(number) if y is None else y._base.dtype
    form = form_of(ufunc, base.dtype, other, False, True)
    source = view if y is None else _fitting(y, view.shape)
    if form is None or source is None or None in view.base_dims:
        return False
    out = view, base.storage
    operand = (None, number) if y is None else (source, y._base.storage)
    return _is_written(_is_computed, key, form, out, [out, operand])


def is_handed(key: tuple[Any, ...], ufunc: np.ufunc, x: Any, y: Any) -> bool:
    """The same of another array on several processes, one of which has it, and hands it to those that have the first.
    """
    base, view = x._base, x._view
    form, source = form_of(ufunc, base.dtype, y._base.dtype, False, True), _fitting(y, view.shape)
    if form is None or source is None or source.only_holder is None or None in view.base_dims or view.is_read_only:
        return False
    recording.settle(base, view)
    out = view, base.storage
    return _is_written(handed.is_computed, key, form, out, [out, (source, y._base.storage)])


def is_assigned(key: tuple[Any, ...], base: Base, view: View, value: Any) -> bool:
    """`view[...] = value`, of a global array of the same dtype or a Python number; whether it was done."""
    is_number = value.__class__ in WEAK
    form = copying(base.dtype, is_number)
    if form.kernel < 0 or None in view.base_dims:
        return False
    recording.settle(base, view)
    y, number = (None, value) if is_number else (value, None)
    if scalars.are_numbers(view, y):
        return scalars.is_assigned(key, form, base, view, y, number)
    out = view, base.storage
    operand: tuple[View | None, Any] = None, number
    if y is not None:
        source = _fitting(y, view.shape)
        if source is None or y._base.dtype != base.dtype:
            return False
        operand = source, y._base.storage
        if not recording.is_alone() and (not view.size or source.stretched_dims or (
                base is y._base and source == view)):
            return False  # of which nothing, or something else, is recorded
    if _is_written(_is_computed, key, form, out, [operand]):
        return True
    return not (is_number or recording.is_alone()) and _is_written(handed.is_computed, key, form, out, [operand])


def product(a: BaseView, x: BaseView, dtype: np.dtype[Any]) -> BaseView | None:
    """A matrix (or vector) times a vector, in the layout without the last dimension; None if it is not computed."""
    key = np.matmul, id(a.view), a.base.dtype, id(x.view), x.base.dtype
    if min(a.view.steps) < 1 or not recording.may_compute(key, math.prod(a.view.shape), [a.base, x.base]):
        return None
    layout = replicated((), 1)
    if a.view.ndim > 1:
        assert a.view.own_layout is not None
        layout = without_dims(a.view.own_layout, (a.view.ndim - 1,))
    vector = np.ascontiguousarray(elements(x.view, x.base.storage, 0))  # as it is where it has been moved
    found = silently(np.matmul, elements(a.view, a.base.storage, 0), vector, dtype=dtype)
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
    silently(add_product, found, A, B, beta=0)
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


def _begin(job: World) -> None:
    """Forget where results lie: another job may have another default layout."""
    _known.forget()
    _calls.forget(job.rank)


def _fail(error: BaseException, output: Storage, lacks_memory: bool) -> NoReturn:
    """Fail the job where a process does not compute its part: as it lacks memory, or of what it writes to a storage."""
    if lacks_memory:
        raise recording.lacking(error) from error.__cause__  # type: ignore[arg-type]
    recording.queue._failed(error, (output,))
    raise error


when_started.append(_begin)
_calls.begin(recording, floating_point.variable, Base, Storage, Scalar, SharedStorage, form_of, copying,
             _result_in_order, _fail, recording.settle, recording.record, borrowers, lent, bindings.ADDRESSES[0],
             MAX_ELEMENTS, REUSED_FROM_BYTES, TAGS_PER_OPERAND, BATCH)


def _is_written(compute: Callable[..., bool], key: tuple[Any, ...], form: Form, out: tuple[View, Storage],
                operands: Sequence[tuple[View | None, Any]]) -> bool:
    """Have a statement computed, by one of these functions, that writes to an array; whether it was.

    As of what is recorded, it is told of views in the order of memory.
    """
    written, views = in_memory_order(out[0], [view for view, _ in operands])
    return compute(key, form, (*views, written), (*[memory for _, memory in operands], out[1]))


def _fitting(y: Any, shape: tuple[int, ...]) -> View | None:
    """The view of an operand, stretched to a shape; None where that is not possible."""
    view: View = y._view
    if view.shape == shape:
        return view
    try:
        return view.broadcast_to(shape)
    except ValueError:
        return None


def _apart(operand: tuple[View | None, Any], out: tuple[View, Storage]) -> tuple[View | None, Any]:
    """An operand; a copy of it, where some of its elements are written to before they are read."""
    view, memory = operand
    if view is None or memory is not out[1] or view == out[0] or view.disjoint(out[0]):
        return operand
    layout = replicated(view.shape, 1)
    return whole(layout), wrap(layout, elements(view, memory, 0).copy()).storage
