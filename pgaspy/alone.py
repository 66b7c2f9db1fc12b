"""On one process: what is small, and has not been done often, is computed at once, as NumPy does, and is not recorded.

Nothing has to be moved there, and a schedule would cost more than it saves. Where anything is in the way (a function
without a kernel of these dtypes, operands that do not fit), these functions leave the call to those that record it,
which know what to do, and what to raise.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from pgaspy.caches import cached
from pgaspy.execution import recording
from pgaspy.job.defaults import default_for
from pgaspy.layout import replicated, without_dims
from pgaspy.operands import WEAK
from pgaspy.planning.pieces import local_indices
from pgaspy.planning.result_layout import result_layout
from pgaspy.planning.view import View, joint_shape, whole
from pgaspy.scheduling.at_once import elements, execute, kernel_for
from pgaspy.scheduling.base import Base, Storage, wrap
from pgaspy.scheduling.kinds.reduction import Reduction
from pgaspy.scheduling.nodes import Scalar
from pgaspy.scheduling.operations import BaseView
from pgaspy.statements import depends_on_values, loop_dtypes

__all__ = ["assigned", "computed", "computed_in_place", "product", "reduced"]


def computed(key: tuple[Any, ...], ufunc: np.ufunc, x: Any, y: Any, number: complex | None,
             is_first: bool) -> BaseView | None:
    """A function of a global array and another one or a Python number (which may come first), or of itself alone.

    `key` is what the call depends on. None if it is not computed.
    """
    base, view = x._base, x._view
    other: Any = type(number) if y is None else y._base.dtype
    form = _form(ufunc, base.dtype, other, is_first, False)
    shape, bases = view.shape, [base] if y is None else [base, y._base]
    if y is not None and y._view.shape != shape:
        try:
            shape = joint_shape(shape, y._view.shape)
        except ValueError:
            return None
    if form is None or not recording.may_compute(key, math.prod(shape), bases):
        return None
    views = [view.broadcast_to(shape)] if y is None else [view.broadcast_to(shape), y._view.broadcast_to(shape)]
    layout = result_layout(shape, views, default_for)
    out = BaseView(Base(layout, form.loop[-1]), whole(layout))
    operands: list[Any] = [(view, base.storage) for view, base in zip(views, bases, strict=True)]
    if number is not None:
        operands.insert(0 if is_first else 1, (None, Scalar(number, form.number_dtype)))
    execute(form.kernel, form.loop, (out.view, out.base.storage), operands, 0)
    return out


def computed_in_place(key: tuple[Any, ...], ufunc: np.ufunc, x: Any, y: Any, number: complex | None) -> bool:
    """The same into the array itself; whether it was computed."""
    base, view = x._base, x._view
    recording.settle(base, view)  # first, as the other may be an element of it
    other: Any = type(number) if y is None else y._base.dtype
    form = _form(ufunc, base.dtype, other, False, True)
    source = view if y is None else _fitting(y, view.shape)
    if form is None or source is None or not _may_write(key, view, [base] if y is None else [base, y._base]):
        return False
    out = view, base.storage
    other = (None, Scalar(number, form.number_dtype)) if y is None else _apart(source, y._base.storage, out)
    execute(form.kernel, form.loop, out, [out, other], 0)
    return True


def assigned(key: tuple[Any, ...], base: Base, view: View, value: Any) -> bool:
    """`view[...] = value`, of a global array of the same dtype or a Python number; whether it was done."""
    loop = base.dtype, base.dtype
    kernel = kernel_for(None, "copy", loop, loop)
    if kernel < 0:
        return False
    recording.settle(base, view)
    if value.__class__ in WEAK:
        if not _may_write(key, view, [base]):
            return False
        execute(kernel, loop, (view, base.storage), [(None, Scalar(value, base.dtype))], 0)
        return True
    source = _fitting(value, view.shape)
    if source is None or value._base.dtype != base.dtype or not _may_write(key, view, [base, value._base]):
        return False
    out = view, base.storage
    execute(kernel, loop, out, [_apart(source, value._base.storage, out)], 0)
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


def reduced(reduction: Reduction, base: Base, view: View) -> BaseView | None:
    """All elements of a view reduced to one; None if it is not computed."""
    key = Reduction, id(view), base.dtype, reduction.merge, reduction.partial_dtype
    if min(view.steps, default=0) < 1 or 0 in view.shape or not recording.may_compute(
            key, math.prod(view.shape), [base]):
        return None
    layout, indices = replicated((), 1), functools.partial(local_indices, view, rank=0)
    found = reduction.partial(elements(view, base.storage, 0), tuple(range(view.ndim)), indices, ())
    return BaseView(wrap(layout, found), whole(layout))


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
    kernel = kernel_for(ufunc, ufunc.__name__, loop, loop)
    casts = [(d[1], own) for d, own in zip(described, loop, strict=False) if isinstance(d, tuple) and d[1] != own]
    if kernel < 0 or (is_in_place and loop[-1] != dtype) or any(
            kernel_for(None, "copy", cast, cast) < 0 for cast in casts):
        return None  # what has no kernel with these casts is left to NumPy's function, whose bits are others
    number = next((own for d, own in zip(described, loop, strict=False) if not isinstance(d, tuple)), loop[-1])
    return _Form(kernel, loop, number)


def _may_write(key: tuple[Any, ...], view: View, bases: Sequence[Base]) -> bool:
    """Whether to write to a view at once, of the first base: none of its elements is repeated."""
    return None not in view.base_dims and recording.may_compute(key, math.prod(view.shape), bases)


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
