"""Means and variances, as quotients of sums; they take and return bases and views."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.lib.array_utils import normalize_axis_tuple

from pgaspy.global_assign import copied
from pgaspy.host.call_sites import warn
from pgaspy.operands import refuse_truths
from pgaspy.planning.view import View
from pgaspy.reductions import NO_VALUE, apply, axes_of, mask_of, ufunc_reduce
from pgaspy.scheduling.base import Base
from pgaspy.scheduling.functions import REAL
from pgaspy.scheduling.operations import BaseView

__all__ = ["REALS", "mean", "std", "summed_as", "var"]

REALS = "fd?bhilqBHILQ"
"""The dtypes of real numbers that processors have."""

_SUMMED_AS_INTEGERS = (np.dtype(bool), np.dtype(np.int8), np.dtype(np.int16))
"""Their sums are the same, and are found at the speed of memory."""


def mean(base: Base, view: View, axis: Any = None, *, dtype: Any = None, keepdims: bool = False,
         where: Any = True, out: Any = None) -> BaseView:
    """The arithmetic mean over `axis`; of integers in float64, of float16 by way of float32, divided in the dtype of an
    array `out` that it goes to. Of nothing, it is warned. Collective.
    """
    count = _count(view, axis, keepdims, where)
    if isinstance(count, int) and not count:
        warn("Mean of empty slice", RuntimeWarning)
    return _mean(base, view, axis, dtype, keepdims, where, out, count)


def _mean(base: Base, view: View, axis: Any, dtype: Any, keepdims: bool, where: Any, out: Any,
          count: Any) -> BaseView:
    """The same of so many elements, without a warning."""
    dtype = result_dtype = None if dtype is None else np.dtype(dtype)
    if dtype is None and base.dtype.kind in "iub":
        result_dtype = np.dtype(float)
        dtype = summed_as(base.dtype) if where is True else result_dtype
    elif dtype is None and base.dtype == np.float16:
        dtype, result_dtype = np.dtype(np.float32), base.dtype
    total = _summed(base, view, axis, dtype, keepdims, where, out)
    quotient = _quotient(total, count)
    if out is not None or result_dtype in (None, quotient.base.dtype) or quotient.base.dtype.kind == "m":
        return quotient
    return copied(*quotient, dtype=result_dtype)


def var(base: Base, view: View, axis: Any = None, *, dtype: Any = None, ddof: float = 0, keepdims: bool = False,
        where: Any = True, center: Any = NO_VALUE, out: Any = None) -> BaseView:
    """The mean squared distance from the mean over `axis`, with divisor `n - ddof`; divided in the dtype of an array
    `out` that it goes to, in which the mean is found, too, where that is wider. Collective.
    """
    if isinstance(ddof, np.generic):
        ddof = ddof.item()
    count = _count(view, axis, keepdims, where)
    if isinstance(count, int) and count <= ddof:
        warn("Degrees of freedom <= 0 for slice", RuntimeWarning)
    if center is NO_VALUE:
        target: Any = getattr(out, "dtype", None)
        is_wide = target is not None and dtype is None and {base.dtype.kind, target.kind} <= {"f", "c"}
        center = _mean(base, view, axis, np.result_type(base.dtype, target) if is_wide else dtype, True, where, None,
                       _count(view, axis, True, where))
    distance = apply(np.subtract, BaseView(base, view), center)
    if distance.base.dtype.kind == "c":
        squares = apply(REAL, apply(np.multiply, distance, apply(np.conjugate, distance)))
    else:
        squares = apply(np.square, distance)
    total = _summed(*squares, axis, dtype, keepdims, where, out)
    if where is not True:
        return _quotient(total, apply(np.maximum, apply(np.subtract, count, ddof), 0))
    quotient = _quotient(total, count - ddof if count > ddof else 0)
    return quotient if dtype is None and out is None else copied(*quotient, dtype=total.base.dtype)


def summed_as(dtype: np.dtype[Any]) -> np.dtype[Any] | None:
    """The dtype in which all elements of a dtype are summed for their mean; None for their own."""
    if dtype.kind not in "iub":
        return None
    return np.dtype(int) if dtype in _SUMMED_AS_INTEGERS else np.dtype(float)


def std(base: Base, view: View, axis: Any = None, *, keeps_dtype: bool = False, **options: Any) -> BaseView:
    """The square root of the variance over `axis`. Collective; all else is as for `var`.

    Where it keeps a dtype of integers, that of a number is cut to it, as NumPy does, and others are refused.
    """
    variance = var(base, view, axis, **options)
    dtype = variance.base.dtype
    root = apply(np.sqrt, variance)
    if not keeps_dtype or dtype.kind not in "iub":
        return root
    if variance.view.ndim:
        np.sqrt(np.ones(1, dtype), out=np.ones(1, dtype))  # raises NumPy's error
    return copied(*root, dtype=dtype)


def _summed(base: Base, view: View, axis: Any, dtype: Any, keepdims: bool, where: Any, out: Any) -> BaseView:
    """The sum in a dtype; as one of the dtype of an array `out`, where that is given, but for times."""
    total = ufunc_reduce(np.add, base, view, axis, dtype, keepdims, where=where, out=out)
    if out is None or out.dtype == total.base.dtype or "m" in (out.dtype.kind, total.base.dtype.kind):
        return total
    return copied(*total, dtype=out.dtype)


def _quotient(total: BaseView, count: Any) -> BaseView:
    """Sums divided by one number of elements, or by one each; of float16, in float64, as it cannot hold the number."""
    if isinstance(count, int | float):
        if total.base.dtype != np.float16:
            return apply(np.divide, total, count)
        count = np.float64(count)
    return copied(*apply(np.divide, total, count), dtype=total.base.dtype)


def _count(view: View, axis: Any, keepdims: bool, where: Any) -> Any:
    """How many elements there are along dimensions: a number, or as many as a mask is true for.

    A mask that broadcasts is counted as it is, once for all elements that it stands for. A number has no dimensions.
    """
    if where is True:
        refuse_truths(axis)
        return math.prod(view.shape if axis is None else [view.shape[d] for d in normalize_axis_tuple(axis, view.ndim)])
    axes = axes_of(view, axis)
    mask = mask_of(where, view)
    shape = mask.shape if isinstance(mask, np.ndarray) else mask._view.shape
    n_each = math.prod(n for d, n in enumerate(view.shape) if d in axes and shape[d] == 1)
    if isinstance(mask, np.ndarray):
        return mask.sum(axes, np.intp, keepdims=keepdims) * n_each
    return apply(np.multiply, ufunc_reduce(np.add, mask._base, mask._view, axes, np.intp, keepdims), n_each)
