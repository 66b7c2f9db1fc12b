"""Reductions: the local part first, then the partial results of the processes in the order of their ranks.

The order in which elements are joined depends on the layout alone: the kernels use fixed chunks, whatever the number
of threads. The result keeps the layout of the remaining dimensions and is replicated along the axes of the grid that
were reduced; a full reduction gives a 0-d array that every process holds.

The functions take and return bases and views; the methods of `GlobalArray` wrap them. Sums, products and the like are
`ufunc_reduce`.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.lib.array_utils import normalize_axis_tuple
from numpy.typing import DTypeLike, NDArray

from pgaspy import ufuncs
from pgaspy.caches import cached
from pgaspy.execution.recording import is_alone, record_cold
from pgaspy.global_assign import copied
from pgaspy.immediate import reduced
from pgaspy.job.procgrid import world
from pgaspy.kernels import bindings
from pgaspy.layout import replicated, without_dims
from pgaspy.planning.view import View, whole
from pgaspy.scheduling import local_scans
from pgaspy.scheduling.base import Base
from pgaspy.scheduling.functions import REAL
from pgaspy.scheduling.kinds.reduction import Reduce, Reduction, reduce
from pgaspy.scheduling.operations import BaseView
from pgaspy.statements import known_calls

__all__ = ["arg_reduce", "mean", "std", "ufunc_reduce", "var"]


# Reductions -----------------------------------------------------------------------------------------------------------


def mean(base: Base, view: View, axis: Any = None, *, dtype: Any = None, keepdims: bool = False) -> BaseView:
    """The arithmetic mean over `axis`; of integers in float64, of float16 by way of float32. Collective."""
    axes = _axes(view, axis)
    count = math.prod(view.shape[d] for d in axes)
    dtype = result_dtype = None if dtype is None else np.dtype(dtype)
    if dtype is None and base.dtype.kind in "iub":
        dtype = result_dtype = np.dtype(float)
    elif dtype is None and base.dtype == np.float16:
        dtype, result_dtype = np.dtype(np.float32), base.dtype
    total = ufunc_reduce(np.add, base, view, axis, dtype, keepdims)
    quotient = _apply(np.divide, total, count)
    if result_dtype in (None, quotient.base.dtype) or quotient.base.dtype.kind == "m":
        return quotient
    return copied(*quotient, dtype=result_dtype)


def var(base: Base, view: View, axis: Any = None, *, dtype: Any = None, ddof: float = 0,
        keepdims: bool = False) -> BaseView:
    """The mean squared distance from the mean over `axis`, with divisor `n - ddof`. Collective."""
    axes = _axes(view, axis)
    count = math.prod(view.shape[d] for d in axes)
    distance = _apply(np.subtract, BaseView(base, view), mean(base, view, axis, dtype=dtype, keepdims=True))
    if distance.base.dtype.kind == "c":
        squares = _apply(REAL, _apply(np.multiply, distance, _apply(np.conjugate, distance)))
    else:
        squares = _apply(np.square, distance)
    total = ufunc_reduce(np.add, squares.base, squares.view, axis, None, keepdims)
    return _apply(np.divide, total, count - ddof if count > ddof else 0)


def std(base: Base, view: View, axis: Any = None, *, dtype: Any = None, ddof: float = 0,
        keepdims: bool = False) -> BaseView:
    """The square root of the variance over `axis`, with divisor `n - ddof`. Collective."""
    return _apply(np.sqrt, var(base, view, axis, dtype=dtype, ddof=ddof, keepdims=keepdims))


def ufunc_reduce(ufunc: np.ufunc, base: Base, view: View, axis: Any, dtype: DTypeLike | None,
                 keepdims: bool) -> BaseView:
    """`ufunc.reduce` for an associative ufunc.

    Raises
    ------
    TypeError
        For a ufunc that is not associative, or that has no loop for the dtype.
    ValueError
        If there is nothing to reduce and no identity.
    """
    known = (ufunc, id(view), base.dtype) if axis is None and dtype is None and not keepdims else None
    found = known_calls[known]
    if found is not None:
        return _recorded(found[0], base)
    if ufunc.nin != 2 or ufunc.nout != 1:
        raise ValueError("reduce only supported for binary functions")
    if ufunc in _NOT_ASSOCIATIVE:
        raise TypeError(f"{ufunc.__name__}.reduce is not supported for global arrays: it is not associative, so that "
                        "its result would depend on the layout")
    axes = _axes(view, axis)
    wanted = None if dtype is None else np.dtype(dtype)
    if is_alone() and len(axes) == view.ndim and not keepdims and (
            result := reduced(_reduction_by(ufunc, base.dtype, wanted), base, view)):
        return result
    if view.turned.own_layout is None:
        known = None
        base, view = copied(base, view)
    call = _ufunc_call(ufunc, view, base.dtype, wanted, axes, keepdims)
    if len(axes) == view.ndim and not keepdims:
        call.recipe.is_cold = call.recipe.is_cold and not is_alone()
    if known is not None and not call.recipe.is_cold:
        known_calls.keep(known, (call, view))
    return _recorded(call, base)


@cached
def _ufunc_call(ufunc: np.ufunc, view: View, source: np.dtype[Any], wanted: np.dtype[Any] | None,
                axes: tuple[int, ...], keepdims: bool) -> _Call:
    """The reduction of a view that has a layout of its own when its reversed dimensions are turned round."""
    if ufunc.identity is None and 0 in [view.shape[d] for d in axes]:
        raise ValueError(f"zero-size array to reduction operation {ufunc.__name__} which has no identity")
    reduction = _reduction_by(ufunc, source, wanted)
    key = [None if d in axes else s for d, s in enumerate(view.turning_key) if keepdims or d not in axes]
    return _call(view.turned, axes, reduction, (reduction.dtype, source), key)


@cached
def _reduction_by(ufunc: np.ufunc, source: np.dtype[Any], wanted: np.dtype[Any] | None) -> _UfuncReduction:
    """How elements of a dtype are reduced."""
    dtype = _result_dtype(ufunc, source, wanted)
    return _UfuncReduction(ufunc, dtype, _identity(ufunc, dtype))


def _result_dtype(ufunc: np.ufunc, source: np.dtype[Any], wanted: np.dtype[Any] | None) -> np.dtype[Any]:
    """The dtype that NumPy reduces to: it sums small integers in larger ones."""
    result: np.dtype[Any] = ufunc.reduce(np.ones(1, source), dtype=wanted).dtype
    return result


_NOT_ASSOCIATIVE = {np.subtract, np.divide, np.floor_divide, np.remainder, np.fmod, np.power, np.float_power,
                    np.arctan2, np.left_shift, np.right_shift, np.copysign, np.nextafter, np.heaviside, np.ldexp,
                    np.less, np.less_equal, np.greater, np.greater_equal, np.equal, np.not_equal}


# How they are recorded -----------------------------------------------------------------------------------------------


def _apply(function: Any, *operands: Any) -> BaseView:
    return ufuncs.apply(function, [_Operand(*x) if isinstance(x, BaseView) else x for x in operands], make=BaseView)


@dataclass(frozen=True, slots=True)
class _Operand:
    """A base and view, as `ufuncs.apply` takes them."""

    _base: Base
    _view: View


def _axes(view: View, axis: Any) -> tuple[int, ...]:
    return tuple(range(view.ndim)) if axis is None else tuple(sorted(normalize_axis_tuple(axis, view.ndim)))


class _Call(NamedTuple):
    """A reduction to the remaining dimensions, and the index into these that gives the result (None: all of them)."""

    recipe: Reduce
    key: tuple[slice | None, ...] | None


def _call(view: View, axes: tuple[int, ...], reduction: Reduction, dtypes: tuple[np.dtype[Any], ...],
          key: Sequence[slice | None]) -> _Call:
    layout = view.own_layout
    assert layout is not None
    recipe = reduce(whole(without_dims(layout, axes)), view, axes, reduction, dtypes)
    return _Call(recipe, None if [*key] == [slice(None, None, 1)] * recipe.target.ndim else tuple(key))


def _recorded(call: _Call, base: Base) -> BaseView:
    """Record the reduction. What is full is held by all processes, also if only some hold what is reduced."""
    recipe, view = call.recipe, call.recipe.target
    result = BaseView(Base(view.layout, recipe.dtypes[0]), view)
    record_cold(recipe, (result.base.storage, base.storage))
    if not view.ndim and not view.layout.is_replicated:
        result = copied(*result, replicated((), world().size))
    return result if call.key is None else BaseView(result.base, result.view.index(call.key))


NAT = -1 << 63
"""The integer that is NaT."""


def _identity(ufunc: np.ufunc, dtype: np.dtype[Any]) -> Any:
    """What a process without elements contributes; of times, as an integer, since not all of them have a hash."""
    if ufunc.identity is not None:
        if dtype.kind in "mM":
            return int(ufunc.identity)
        return np.array(ufunc.identity).astype(dtype)[()]  # -1, all bits set, has to become an unsigned integer, too
    lowest = ufunc in (np.maximum, np.fmax)
    if ufunc in (np.fmax, np.fmin) and dtype.kind in "fc":
        return np.nan
    if ufunc in (np.fmax, np.fmin) and dtype.kind in "mM":
        return NAT
    if lowest or ufunc in (np.minimum, np.fmin):
        if dtype.kind == "c":
            infinite = -math.inf if lowest else math.inf
            return complex(infinite, infinite)
        if dtype.kind == "f":
            return -math.inf if lowest else math.inf
        if dtype.kind in "iu":
            return np.iinfo(dtype).min if lowest else np.iinfo(dtype).max
        if dtype.kind in "mM":
            return NAT + 1 if lowest else -NAT - 1
        if dtype.kind == "b":
            return not lowest
    raise TypeError(f"{ufunc.__name__}.reduce is not supported for global arrays of dtype {dtype}: it has no identity")


@dataclass(frozen=True, slots=True)
class _UfuncReduction:
    """Reduction by an associative binary ufunc."""

    ufunc: np.ufunc
    dtype: np.dtype[Any]
    identity: Any

    @property
    def partial_dtype(self) -> np.dtype[Any]:
        return self.dtype

    def kernel(self, char: str) -> tuple[str, str] | None:
        kernel = self.ufunc.__name__, f"{char}->{self.dtype.char}"
        return None if bindings.reduce_lookup(*kernel) is None else kernel

    def partial(self, local: NDArray[Any], axes: tuple[int, ...],
                indices: Callable[[int], NDArray[np.int64]], operands: Sequence[NDArray[Any]]) -> NDArray[Any]:
        if local.size == 0:
            return np.full([n for d, n in enumerate(local.shape) if d not in axes], self.identity, self.dtype)
        return local_scans.reduced(self.ufunc, local, axes, self.dtype)

    @property
    def merge(self) -> np.ufunc:
        return self.ufunc

    @property
    def result(self) -> None:
        return None


def arg_reduce(name: str, base: Base, view: View, axis: int | None, keepdims: bool) -> BaseView:
    """The index of the first least or greatest element (`argmin`, `argmax`) along `axis`, or in row-major order."""
    axes = _axes(view, None if axis is None else operator.index(axis))
    if 0 in [view.shape[d] for d in axes]:
        raise ValueError(f"attempt to get {name} of an empty sequence")
    if view.own_layout is None:
        base, view = copied(base, view)
    reduction = _ArgReduction(name, tuple(view.shape[d] for d in axes), base.dtype)
    key = [None if d in axes else slice(None, None, 1) for d in range(view.ndim) if keepdims or d not in axes]
    return _recorded(_call(view, axes, reduction, (np.dtype(np.intp), base.dtype), key), base)


@dataclass(frozen=True, slots=True)
class _ArgReduction:
    """The first least or greatest element, as pairs of its value and its row-major index in the reduced dimensions."""

    name: str
    extents: tuple[int, ...]
    dtype: np.dtype[Any]

    @property
    def partial_dtype(self) -> np.dtype[Any]:
        return np.dtype([("value", self.dtype), ("index", np.int64)])

    def kernel(self, char: str) -> None:
        return None

    def partial(self, local: NDArray[Any], axes: tuple[int, ...],
                indices: Callable[[int], NDArray[np.int64]], operands: Sequence[NDArray[Any]]) -> NDArray[Any]:
        kept = [d for d in range(local.ndim) if d not in axes]
        shape = tuple(local.shape[d] for d in kept)
        pairs = np.zeros(shape, self.partial_dtype)
        if local.size == 0:
            pairs["index"] = -1  # no element: any other comes first
            return pairs
        rows = local.transpose(*kept, *axes).reshape(*shape, -1)
        position = getattr(rows, self.name)(axis=-1)
        pairs["value"] = np.take_along_axis(rows, position[..., None], -1)[..., 0]
        places = np.unravel_index(position, [local.shape[d] for d in axes])
        index = np.zeros(shape, np.int64)
        for d, extent, place in zip(axes, self.extents, places, strict=True):
            index = index * extent + indices(d)[place]
        pairs["index"] = index
        return pairs

    def merge(self, lower: NDArray[Any], higher: NDArray[Any]) -> NDArray[Any]:
        a, b = lower["value"], higher["value"]
        a_nan, b_nan = a != a, b != b
        better = b > a if self.name == "argmax" else b < a
        same = (a == b) | (a_nan & b_nan)
        first = higher["index"] < lower["index"]
        take = (higher["index"] >= 0) & (
            (lower["index"] < 0) | (~a_nan & (better | b_nan)) | (same & first))
        return np.where(take, higher, lower)

    def result(self, merged: NDArray[Any]) -> NDArray[Any]:
        return merged["index"]
