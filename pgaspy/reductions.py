"""Reductions: the local part first, then the partial results of the processes in the order of their ranks.

The order in which elements are joined depends on the layout alone: the kernels use fixed chunks, whatever the number
of threads. The result keeps the layout of the remaining dimensions and is replicated along the axes of the grid that
were reduced; a full reduction gives a 0-d array that every process holds.

The functions take and return bases and views; the methods of `GlobalArray` wrap them. Sums, products and the like are
`ufunc_reduce`. A mask is applied in the pass over memory that reduces: what it leaves out counts as the identity.
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
from pgaspy.global_assign import copied, everywhere
from pgaspy.immediate import reduced
from pgaspy.kernels import bindings
from pgaspy.layout import replicated, without_dims
from pgaspy.operands import as_numpy, check_dtype, described, refuse_truths
from pgaspy.planning.view import View, whole
from pgaspy.scheduling import local_scans, products
from pgaspy.scheduling.base import Base
from pgaspy.scheduling.floating_point import noting
from pgaspy.scheduling.functions import WHERE
from pgaspy.scheduling.kinds.reduction import Indices, Reduce, Reduction, reduce
from pgaspy.scheduling.local_threads import even_edges, n_threads_for, on_threads
from pgaspy.scheduling.operations import BaseView
from pgaspy.statements import known_calls, record_into

__all__ = ["NO_VALUE", "apply", "arg_reduce", "axes_of", "mask_of", "reduction_by", "ufunc_reduce"]

NO_VALUE: Any = np._NoValue
"""What NumPy has in the place of an argument that is not given."""

LONGEST_SIDE_BY_SIDE, FEWEST_SIDE_BY_SIDE = 32, 16
"""Elements of the longest rows, and the fewest rows, whose positions are looked for side by side."""


# Reductions -----------------------------------------------------------------------------------------------------------


def ufunc_reduce(ufunc: np.ufunc, base: Base, view: View, axis: Any, dtype: DTypeLike | None, keepdims: bool,
                 initial: Any = NO_VALUE, where: Any = True, out: Any = None) -> BaseView:
    """`ufunc.reduce` for an associative ufunc; in the dtype in which NumPy computes what goes to an array `out`.

    Raises
    ------
    TypeError
        For a ufunc that is not associative, or that has no loop for the dtype; for a mask that is not of booleans; for
        an `out` that is no global array.
    ValueError
        If there is nothing to reduce, or a mask, and neither an identity nor an initial value; if the mask does not
        broadcast.
    """
    known = (ufunc, id(view), base.dtype) if (axis is None and dtype is None and not keepdims and initial is NO_VALUE
                                              and where is True and out is None) else None
    found = known_calls[known]
    if found is not None:
        return _recorded(found[0], base)
    if ufunc.nin != 2 or ufunc.nout != 1:
        raise ValueError("reduce only supported for binary functions")
    if ufunc in _NOT_ASSOCIATIVE:
        raise TypeError(f"{ufunc.__name__}.reduce is not supported for global arrays: it is not associative, so that "
                        "its result would depend on the layout. In order, along a dimension, it is what "
                        f"{ufunc.__name__}.accumulate ends with")
    axes = axes_of(view, axis)
    if out is not None:
        ufuncs.check_target(out, is_assigned=True)
    wanted = np.dtype(dtype) if dtype is not None else None if out is None else _dtype_for(ufunc, base.dtype, out.dtype)
    if wanted is not None:
        check_dtype(wanted)
    if initial is not NO_VALUE or where is not True:
        return _limited(ufunc, BaseView(base, view), axes, wanted, keepdims, initial, where)
    if ufunc.identity is None:
        _check_elements(ufunc, view, axes)
    return _reduced(ufunc, base, view, axes, wanted, keepdims, known)


def _reduced(ufunc: np.ufunc, base: Base, view: View, axes: tuple[int, ...], wanted: np.dtype[Any] | None,
             keepdims: bool, known: tuple[Any, ...] | None = None) -> BaseView:
    """The reduction of all elements along dimensions; among the `known_calls`, where it has a key there."""
    if is_alone() and len(axes) == view.ndim and not keepdims and (
            result := reduced(reduction_by(ufunc, base.dtype, wanted), base, view)):
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
    """The reduction of a view that has a layout of its own when its reversed dimensions are turned round.

    It goes through memory in order, where what is left of the dimensions is in that order, too.
    """
    reduction = reduction_by(ufunc, source, wanted)
    key = [None if d in axes else s for d, s in enumerate(view.turning_key) if keepdims or d not in axes]
    view, order = view.turned, view.memory_order
    if order is not None and (left := [d for d in order if d not in axes]) == sorted(left):
        view, axes = view.transpose(order), tuple([n for n, d in enumerate(order) if d in axes])
    return _call(view, axes, reduction, (reduction.dtype, source), key)


@cached
def reduction_by(ufunc: np.ufunc, source: np.dtype[Any],
                  wanted: np.dtype[Any] | None) -> _UfuncReduction | _ProductReduction:
    """How elements of a dtype are reduced."""
    dtype = _result_dtype(ufunc, source, wanted)
    if local_scans.are_products(ufunc, dtype):
        return _ProductReduction(dtype)
    sums_halves = ufunc is np.add and dtype == np.float16  # in float32, as NumPy does those that follow each other
    return _UfuncReduction(ufunc, dtype, _identity(ufunc, dtype), np.dtype(np.float32) if sums_halves else dtype)


def _result_dtype(ufunc: np.ufunc, source: np.dtype[Any], wanted: np.dtype[Any] | None) -> np.dtype[Any]:
    """The dtype that NumPy reduces to: it sums small integers in larger ones."""
    result: np.dtype[Any] = ufunc.reduce(np.ones(1, source), dtype=wanted).dtype
    return result


@cached
def _dtype_for(ufunc: np.ufunc, source: np.dtype[Any], out: np.dtype[Any]) -> np.dtype[Any] | None:
    """The dtype in which NumPy adds or multiplies what goes to an array; None, if it is that without one, or times,
    of which ufuncs take no unit.
    """
    if ufunc not in (np.add, np.multiply):
        return None
    dtypes: Any = out, source, None
    found: np.dtype[Any] = ufunc.resolve_dtypes(dtypes, reduction=True, casting="unsafe")[2]
    return found if found.kind != "m" and np.can_cast(found, out, "same_kind") else None


def _check_elements(ufunc: np.ufunc, view: View, axes: tuple[int, ...]) -> None:
    if 0 in [view.shape[d] for d in axes]:
        raise ValueError(f"zero-size array to reduction operation {ufunc.__name__} which has no identity")


_NOT_ASSOCIATIVE = {np.subtract, np.divide, np.floor_divide, np.remainder, np.fmod, np.power, np.float_power,
                    np.arctan2, np.left_shift, np.right_shift, np.copysign, np.nextafter, np.heaviside, np.ldexp,
                    np.less, np.less_equal, np.greater, np.greater_equal, np.equal, np.not_equal,
                    np.lcm}  # which is not where it overflows


# Masks, and values to begin with --------------------------------------------------------------------------------------


def _limited(ufunc: np.ufunc, array: BaseView, axes: tuple[int, ...], wanted: np.dtype[Any] | None, keepdims: bool,
             initial: Any, where: Any) -> BaseView:
    """The reduction of the elements where a mask is true, and of an initial value."""
    mask = None if where is True else mask_of(where, array.view)
    if initial is None or (initial is NO_VALUE and ufunc.identity is None):
        if mask is not None:
            raise ValueError(f"reduction operation '{ufunc.__name__}' does not have an identity, so to use a where "
                             "mask one has to specify 'initial'")
        _check_elements(ufunc, array.view, axes)
    reduction = reduction_by(ufunc, array.base.dtype, wanted)
    value = None if initial is None or initial is NO_VALUE else _initial(initial, reduction.dtype)
    if mask is not None:
        array = _masked(array, mask, reduction)
    result = _reduced(ufunc, *array, axes, wanted, keepdims)
    if value is not None:
        bases, descriptions = zip(*map(described, (_Operand(*result), value)), strict=True)
        record_into((ufunc, None, "same_kind"), bases, descriptions, *result)
    return result


def mask_of(where: Any, view: View) -> Any:
    """The mask of a view, with as many dimensions, as an operand.

    Raises
    ------
    TypeError
        If it is an array, but not of booleans.
    ValueError
        If it does not broadcast to the shape of the view.
    """
    mask = where if hasattr(where, "_view") else as_numpy(where, None if hasattr(where, "dtype") else bool)
    if mask.dtype != bool:
        raise TypeError(f"Cannot cast array data from {mask.dtype!r} to dtype('bool') according to the rule 'safe'")
    if mask.ndim > view.ndim:
        raise ValueError("input operand has more dimensions than allowed by the axis remapping")
    if any(m not in (1, n) for m, n in zip(reversed(mask.shape), reversed(view.shape), strict=False)):
        raise ValueError("operands could not be broadcast together with remapped shapes [original->remapped]: "
                         f"{view.shape} {mask.shape} ")
    key = (*[None] * (view.ndim - mask.ndim), ...)
    return mask[key] if isinstance(mask, np.ndarray) else _Operand(mask._base, mask._view.index(key))


def _masked(array: BaseView, mask: Any, reduction: _UfuncReduction | _ProductReduction) -> BaseView:
    """The array, with the identity where the mask is not true."""
    dtype, own = reduction.dtype, array.base.dtype
    if dtype.kind == "b" != own.kind or np.promote_types(own, dtype) not in (own, dtype):
        array = copied(*array, dtype=dtype)  # of int64 and uint64, the identity would make floats
    identity = np.int64(reduction.identity).view(dtype) if dtype.kind in "mM" else dtype.type(reduction.identity)
    return apply(WHERE, mask, array, identity)


def _initial(value: Any, dtype: np.dtype[Any]) -> Any:
    """A value to begin with, as an operand."""
    if np.ndim(value):
        raise TypeError(f"initial= takes a number, not a {type(value).__name__}")
    if hasattr(value, "_view"):
        return _Operand(*copied(value._base, value._view, dtype=dtype))
    converted = np.empty((), dtype)
    converted[()] = value
    return converted


# How they are recorded -----------------------------------------------------------------------------------------------


def apply(function: Any, *operands: Any) -> BaseView:
    """An elementwise function of pairs of base and view, numbers and arrays. Collective."""
    return ufuncs.apply(function, [_Operand(*x) if isinstance(x, BaseView) else x for x in operands], make=BaseView)


@dataclass(frozen=True, slots=True)
class _Operand:
    """A base and view, as `ufuncs.apply` takes them."""

    _base: Base
    _view: View


def axes_of(view: View, axis: Any) -> tuple[int, ...]:
    """The dimensions that an argument `axis` names, in their order; all of them for None.

    That of a number may be 0 or -1, as in NumPy.
    """
    if axis.__class__ is int and -view.ndim <= axis < view.ndim:
        return axis % view.ndim,
    if axis is None:
        return tuple(range(view.ndim))
    refuse_truths(axis)
    if not view.ndim and not isinstance(axis, tuple) and axis in (0, -1):
        return ()
    return tuple(sorted(normalize_axis_tuple(axis, view.ndim)))


class _Call(NamedTuple):
    """A reduction to the remaining dimensions, and the index into these that gives the result (None: all of them).

    There may be none, of an array that only some processes hold.
    """

    recipe: Reduce
    key: tuple[slice | None, ...] | None
    is_full_on_some: bool


def _call(view: View, axes: tuple[int, ...], reduction: Reduction, dtypes: tuple[np.dtype[Any], ...],
          key: Sequence[slice | None]) -> _Call:
    layout = view.own_layout
    assert layout is not None
    left = without_dims(layout, axes)
    if not left.ndim and not key and math.prod(layout.grid) == 1:  # as a number that is computed at once
        left = replicated((), 1)
    recipe = reduce(whole(left), view, axes, reduction, dtypes)
    target = recipe.target
    return _Call(recipe, None if [*key] == [slice(None, None, 1)] * target.ndim else tuple(key),
                 not target.shape and not target.layout.is_replicated)


def _recorded(call: _Call, base: Base) -> BaseView:
    """Record the reduction. What is full is held by all processes, also if only some hold what is reduced."""
    recipe, key, is_full_on_some = call
    view = recipe.target
    result = BaseView(Base(view.layout, recipe.dtypes[0]), view)
    record_cold(recipe, (result.base.storage, base.storage))
    if is_full_on_some:
        result = everywhere(*result)
    return result if key is None else BaseView(result.base, result.view.index(key))


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
    partial_dtype: np.dtype[Any]

    def kernel(self, char: str) -> tuple[str, str] | None:
        kernel = self.ufunc.__name__, f"{char}->{self.dtype.char}"
        return None if bindings.reduce_lookup(*kernel) is None else kernel

    def partial(self, local: NDArray[Any], axes: tuple[int, ...],
                indices: Indices, operands: Sequence[NDArray[Any]]) -> NDArray[Any]:
        if local.size == 0:
            return np.full([n for d, n in enumerate(local.shape) if d not in axes], self.identity, self.partial_dtype)
        return local_scans.reduced(self.ufunc, local, axes, self.partial_dtype)

    @property
    def merge(self) -> np.ufunc:
        return self.ufunc

    @property
    def result(self) -> Callable[[NDArray[Any]], NDArray[Any]] | None:
        return None if self.partial_dtype is self.dtype else _as_halves


@dataclass(frozen=True, slots=True)
class _ProductReduction:
    """Products of floating-point numbers, which neither over- nor underflow before all are multiplied."""

    dtype: np.dtype[Any]
    identity = 1

    @property
    def partial_dtype(self) -> np.dtype[Any]:
        return products.dtype_of(self.dtype)

    def kernel(self, char: str) -> None:
        return None

    def partial(self, local: NDArray[Any], axes: tuple[int, ...],
                indices: Indices, operands: Sequence[NDArray[Any]]) -> NDArray[Any]:
        return products.of_elements(local, axes, self.dtype)

    @property
    def merge(self) -> Callable[[NDArray[Any], NDArray[Any]], NDArray[Any]]:
        return products.times

    @property
    def result(self) -> Callable[[NDArray[Any]], NDArray[Any]]:
        return products.values_of


def _as_halves(sums: NDArray[Any]) -> NDArray[Any]:
    return noting("reduce", sums.astype, np.float16)


def arg_reduce(name: str, base: Base, view: View, axis: int | None, keepdims: bool) -> BaseView:
    """The index of the first least or greatest element (`argmin`, `argmax`) along `axis`, or in row-major order."""
    refuse_truths(axis)
    axes = axes_of(view, None if axis is None else operator.index(axis))
    if 0 in [view.shape[d] for d in axes]:
        raise ValueError(f"attempt to get {name} of an empty sequence")
    if view.own_layout is None:
        base, view = copied(base, view)
    layout = view.own_layout
    assert layout is not None
    reduction: Reduction
    if len(axes) == 1 and layout.dims[axes[0]].n_procs == 1:
        reduction = _PositionInRows(name)
    else:
        reduction = _ArgReduction(name, tuple(view.shape[d] for d in axes), base.dtype)
    key = [None if d in axes else slice(None, None, 1) for d in range(view.ndim) if keepdims or d not in axes]
    return _recorded(_call(view, axes, reduction, (np.dtype(np.intp), base.dtype), key), base)


@dataclass(frozen=True, slots=True)
class _PositionInRows:
    """The index of the first least or greatest element of rows, each of which lies on one process."""

    name: str

    @property
    def partial_dtype(self) -> np.dtype[Any]:
        return np.dtype(np.intp)

    def kernel(self, char: str) -> None:
        return None

    def partial(self, local: NDArray[Any], axes: tuple[int, ...], indices: Indices,
                operands: Sequence[NDArray[Any]]) -> NDArray[Any]:
        return _positions(self.name, local, axes[0])

    @property
    def merge(self) -> np.ufunc:
        """Of each row there is one index, and nothing is merged."""
        return np.maximum

    @property
    def result(self) -> None:
        return None


def _positions(name: str, local: NDArray[Any], axis: int) -> NDArray[np.intp]:
    """`argmin` or `argmax` along a dimension."""
    rows = np.moveaxis(local, axis, -1)
    found = np.empty(rows.shape[:-1], np.intp)
    apart = [abs(rows.strides[d]) for d in range(found.ndim) if found.shape[d] > 1]
    side_by_side = rows.shape[-1] <= LONGEST_SIDE_BY_SIDE or abs(rows.strides[-1]) > min(apart, default=0)
    if side_by_side and found.size >= FEWEST_SIDE_BY_SIDE and bindings.find_positions(name, rows, found):
        return found
    n_threads = n_threads_for(local.size) if found.ndim else 1
    if n_threads == 1:
        getattr(rows, name)(axis=-1, out=found)
        return found

    def find(start: int, stop: int) -> None:
        getattr(rows[start:stop], name)(axis=-1, out=found[start:stop])

    on_threads(find, even_edges(len(rows), n_threads), n_threads)
    return found


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
                indices: Indices, operands: Sequence[NDArray[Any]]) -> NDArray[Any]:
        kept = [d for d in range(local.ndim) if d not in axes]
        shape = tuple(local.shape[d] for d in kept)
        pairs = np.zeros(shape, self.partial_dtype)
        if local.size == 0:
            pairs["index"] = -1  # no element: any other comes first
            return pairs
        rows = local if len(axes) == 1 else local.transpose(*kept, *axes).reshape(*shape, -1)
        d = axes[0] if len(axes) == 1 else -1
        position = np.expand_dims(_positions(self.name, rows, d), d)
        found = rows[position] if rows.ndim == 1 else np.take_along_axis(rows, position, d)
        pairs["value"] = found.reshape(shape)
        places = np.unravel_index(position.reshape(shape), [local.shape[d] for d in axes])
        index = np.zeros(shape, np.int64)
        for d, extent, place in zip(axes, self.extents, places, strict=True):
            index = index * extent + indices(d, place)
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
        merged = lower.copy()
        np.copyto(merged, higher, where=take)
        return merged

    def result(self, merged: NDArray[Any]) -> NDArray[Any]:
        return merged["index"]
