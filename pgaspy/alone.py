"""On one process: what is small, and has not been done often, is computed at once, as NumPy does, and is not recorded.

Nothing has to be moved there, and a schedule would cost more than it saves. Where anything is in the way (a function
without a kernel of these dtypes, operands that do not fit or overlap the output), these functions leave the call to
those that record it, which know what to do, and what to raise.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Sequence
from operator import mul
from typing import Any

import numpy as np

from pgaspy.caches import cached
from pgaspy.execution import recording
from pgaspy.job.defaults import default_for
from pgaspy.kernels.bindings import run_elementwise
from pgaspy.layout import replicated, without_dims
from pgaspy.operands import WEAK
from pgaspy.planning.pieces import local_indices
from pgaspy.planning.result_layout import result_layout
from pgaspy.planning.view import View, joint_shape, whole
from pgaspy.scheduling.at_once import kernel_for
from pgaspy.scheduling.base import Base, wrap
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
    x_base, x_view = x._base, x._view
    other: Any = type(number) if y is None else y._base.dtype
    kernel, dtype, number_dtype = _form(ufunc, x_base.dtype, other, is_first, False)
    shape = x_view.shape
    if y is not None and y._view.shape != shape:
        try:
            shape = joint_shape(shape, y._view.shape)
        except ValueError:
            return None
    if kernel < 0 or not recording.may_compute(key, math.prod(shape), [x_base] if y is None else [x_base, y._base]):
        return None
    views = [x_view.broadcast_to(shape)] if y is None else [x_view.broadcast_to(shape), y._view.broadcast_to(shape)]
    layout = result_layout(shape, views, default_for(shape))
    out = BaseView(Base(layout, dtype), whole(layout))
    if y is not None:
        _run(kernel, out, (x_base, views[0]), (y._base, views[1]))
    elif number is None:
        _run(kernel, out, (x_base, views[0]))
    else:
        scalar = Scalar(number, number_dtype), None
        _run(kernel, out, *((scalar, (x_base, x_view)) if is_first else ((x_base, x_view), scalar)))
    return out


def computed_in_place(key: tuple[Any, ...], ufunc: np.ufunc, x: Any, y: Any, number: complex | None) -> bool:
    """The same into the array itself; whether it was computed."""
    base, view = x._base, x._view
    other: Any = type(number) if y is None else y._base.dtype
    kernel, _, number_dtype = _form(ufunc, base.dtype, other, False, True)
    if kernel < 0 or not _may_write(key, view, [base] if y is None else [base, y._base]):
        return False
    out = BaseView(base, view)
    if y is None:
        _run(kernel, out, out, (Scalar(number, number_dtype), None))
        return True
    source = _fitting(y, view.shape)
    if source is None or (y._base is base and source != view and not source.disjoint(view)):
        return False
    _run(kernel, out, out, (y._base, source))
    return True


def assigned(key: tuple[Any, ...], base: Base, view: View, value: Any) -> bool:
    """`view[...] = value`, of a global array of the same dtype or a Python number; whether it was done."""
    kernel = kernel_for(None, "copy", (base.dtype, base.dtype), (base.dtype, base.dtype))
    if value.__class__ in WEAK:
        if kernel < 0 or not _may_write(key, view, [base]):
            return False
        _run(kernel, BaseView(base, view), (Scalar(np.array(value, base.dtype), base.dtype), None))
        return True
    if kernel < 0 or value._base.dtype != base.dtype or not _may_write(key, view, [base, value._base]):
        return False
    source = _fitting(value, view.shape)
    if source is None or (value._base is base and not source.disjoint(view)):
        return False
    _run(kernel, BaseView(base, view), (value._base, source))
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
        found = np.matmul(_elements(*a), np.ascontiguousarray(_elements(*x)), dtype=dtype)
    return BaseView(wrap(layout, np.asarray(found)), whole(layout))


def reduced(reduction: Reduction, base: Base, view: View) -> BaseView | None:
    """All elements of a view reduced to one; None if it is not computed."""
    key = Reduction, id(view), base.dtype, reduction.merge, reduction.partial_dtype
    if min(view.steps, default=0) < 1 or 0 in view.shape or not recording.may_compute(
            key, math.prod(view.shape), [base]):
        return None
    layout, indices = replicated((), 1), functools.partial(local_indices, view, rank=0)
    found = reduction.partial(_elements(base, view), tuple(range(view.ndim)), indices, ())
    return BaseView(wrap(layout, found), whole(layout))


@cached
def _form(ufunc: np.ufunc, dtype: np.dtype[Any], other: Any, is_first: bool,
          is_in_place: bool) -> tuple[int, np.dtype[Any], np.dtype[Any]]:
    """Kernel (or -1), the dtype of the result, and that in which a number is taken.

    `other` is the dtype of another array, the class of a Python number, or that of None.
    """
    none = -1, dtype, dtype
    if other is type(None):
        described: list[Any] = [(None, dtype)]
    else:
        described = [(None, dtype), other if isinstance(other, type) else (None, other)]
        described = described[::-1] if is_first else described
    if ufunc.nout > 1 or depends_on_values(ufunc, described):
        return none
    try:
        loop = loop_dtypes(ufunc, described, (dtype if is_in_place else None,), False, None, "same_kind")
    except TypeError:
        return none
    result = dtype if is_in_place else loop[-1]
    dtypes = *(d[1] if isinstance(d, tuple) else own for d, own in zip(described, loop, strict=False)), result
    number = next((own for d, own in zip(described, loop, strict=False) if not isinstance(d, tuple)), result)
    return kernel_for(ufunc, ufunc.__name__, dtypes, loop), result, number


def _may_write(key: tuple[Any, ...], view: View, bases: Sequence[Base]) -> bool:
    """Whether to write to a view of the first base at once: none of its elements is repeated."""
    return None not in view.base_dims and recording.may_compute(key, math.prod(view.shape), bases, view)


def _fitting(y: Any, shape: tuple[int, ...]) -> View | None:
    """The view of an operand, stretched to a shape; None where that is not possible."""
    view: View = y._view
    if view.shape == shape:
        return view
    try:
        return view.broadcast_to(shape)
    except ValueError:
        return None


def _elements(base: Base, view: View) -> np.ndarray[Any, np.dtype[Any]]:
    """The elements of a view, in their memory."""
    itemsize, of_dims = base.dtype.itemsize, view.layout.row_strides
    strides = [0 if p is None else itemsize * step * of_dims[p]
               for p, step in zip(view.base_dims, view.steps, strict=True)]
    offset = itemsize * sum(map(mul, view.origin, of_dims))
    return np.ndarray(view.shape, base.dtype, base.local, offset if math.prod(view.shape) else 0, strides)


def _run(kernel: int, out: BaseView, *operands: tuple[Any, View | None]) -> None:
    """Run a kernel on arrays, and on scalars, which have no view."""
    addresses: list[int] = []
    strides: list[int] = []
    shape = out.view.shape
    for memory, view in (*operands, out):
        if view is None:
            addresses.append(memory.address)
            strides += (0,) * len(shape)
            continue
        itemsize, of_dims = memory.dtype.itemsize, view.layout.row_strides
        addresses.append(memory.storage.address + itemsize * sum(map(mul, view.origin, of_dims)))
        strides += [0 if p is None else itemsize * step * of_dims[p]
                    for p, step in zip(view.base_dims, view.steps, strict=True)]
    run_elementwise(kernel, shape, addresses, strides)
