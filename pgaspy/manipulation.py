"""NumPy's functions on whole arrays, as public names: views, rearrangements, reductions.

What these do is a method of `GlobalArray`, or written as global assignment. Each is registered for NumPy's function of
the same name, so that `numpy.sum(A)` works as well.
"""

from __future__ import annotations

import inspect
import math
import operator
from collections.abc import Callable, Sequence
from typing import Any, Concatenate, ParamSpec, SupportsIndex, overload

import numpy as np
from numpy.lib.array_utils import normalize_axis_index, normalize_axis_tuple
from numpy.typing import DTypeLike, NDArray

from pgaspy import brought, ufuncs
from pgaspy._calls import known_result
from pgaspy.alone import small
from pgaspy.alone.likeness import view_like
from pgaspy.alone.small import kinds
from pgaspy.array import Axis, GlobalArray, check_array, chosen
from pgaspy.caches import cached
from pgaspy.creation import Shape, arange, array, as_array, as_global, asarray, empty, zeros
from pgaspy.dispatch import HANDLED, implements, named
from pgaspy.global_assign import rolled
from pgaspy.operands import WEAK, as_extents, as_numpy, check_device, refuse_truths
from pgaspy.planning.result_layout import layout_of_extents
from pgaspy.reductions import NO_VALUE
from pgaspy.scheduling.functions import WHERE
from pgaspy.small_calls import by_numpy
from pgaspy.values import is_any, told

__all__ = [
    "all", "amax", "amin", "any", "argmax", "argmin", "astype", "broadcast_to", "clip", "copy", "cumprod", "cumsum",
    "expand_dims", "flip", "max", "mean", "min", "ndim", "permute_dims", "prod", "ravel", "repeat", "reshape", "roll",
    "shape", "size", "squeeze", "std", "sum", "swapaxes", "tile", "transpose", "var", "where",
]


P = ParamSpec("P")


def _function(method: Callable[Concatenate[GlobalArray, P], GlobalArray],
              *numpy_functions: Any) -> Callable[Concatenate[Any, P], GlobalArray]:
    """The public function that calls a method."""
    name = method.__name__

    def function(a: Any, *args: P.args, **kwargs: P.kwargs) -> GlobalArray:
        return getattr(as_global(a), name)(*args, **kwargs)
    function.__name__ = function.__qualname__ = name
    function.__doc__ = method.__doc__
    first, *others = inspect.signature(method).parameters.values()
    function.__signature__ = inspect.Signature(  # type: ignore[attr-defined]
        [first.replace(name="a", annotation="Any"), *others], return_annotation="GlobalArray")
    return implements(getattr(np, name), *numpy_functions)(function)  # type: ignore[return-value]  # `a` may be named


all, any = _function(GlobalArray.all), _function(GlobalArray.any)
argmax, argmin = _function(GlobalArray.argmax), _function(GlobalArray.argmin)
max, min = _function(GlobalArray.max, np.amax), _function(GlobalArray.min, np.amin)
amax, amin = max, min
mean, std, var = _function(GlobalArray.mean), _function(GlobalArray.std), _function(GlobalArray.var)
prod, sum = _function(GlobalArray.prod), _function(GlobalArray.sum)
cumprod, cumsum = _function(GlobalArray.cumprod), _function(GlobalArray.cumsum)
ravel = _function(GlobalArray.ravel)
squeeze, swapaxes = _function(GlobalArray.squeeze), _function(GlobalArray.swapaxes)


# Metadata ------------------------------------------------------------------------------------------------------------


@implements(np.copy)
def copy(a: Any, order: str = "K", subok: bool = False) -> GlobalArray:
    """A new array with the elements of `a`, also of a number. Collective; `order` and `subok` have no effect."""
    return array(a, order=order)


@implements(*named("astype"))
def astype(x: Any, dtype: DTypeLike, /, *, copy: bool = True, device: str | None = None) -> GlobalArray:
    """A copy, cast to a dtype; see `GlobalArray.astype`. Collective.

    Parameters
    ----------
    x
        A global array.
    dtype, copy
        As for the method.
    device
        "cpu", or None, which is the same.

    Raises
    ------
    TypeError
        For what is no global array, or a dtype that arrays cannot have.
    ValueError
        For another device.

    Examples
    --------
    >>> import pgaspy as pg
    >>> pg.astype(pg.array([1.5, -2.5]), int).gather()
    array([ 1, -2])
    """
    check_array(x, "astype")
    check_device(device)
    found: GlobalArray = x.astype(dtype, copy=copy)
    return found


@implements(np.shape)
def shape(a: Any) -> tuple[int, ...]:
    """The extents of an array. Not collective."""
    return a.shape if isinstance(a, GlobalArray) else np.shape(a)


@implements(np.ndim)
def ndim(a: Any) -> int:
    """The number of dimensions of an array. Not collective."""
    return a.ndim if isinstance(a, GlobalArray) else np.ndim(a)


@implements(np.size)
def size(a: Any, axis: int | None = None) -> int:
    """The number of elements of an array, or its extent along a dimension. Not collective."""
    return math.prod(shape(a)) if axis is None else shape(a)[axis]


# Views ---------------------------------------------------------------------------------------------------------------


@implements(np.transpose)
def transpose(a: Any, axes: Sequence[int] | None = None) -> GlobalArray:
    """The view with the dimensions permuted; see `GlobalArray.transpose`. Not collective."""
    return as_global(a).transpose(*(() if axes is None else (axes,)))


permute_dims = transpose


@implements(np.reshape)
def reshape(a: Any, shape: Shape, order: str = "C", *, copy: bool | None = None) -> GlobalArray:
    """The elements, in row-major order, in another shape; see `GlobalArray.reshape`. Collective.

    Parameters
    ----------
    a, shape
        An array, and the extents.
    order
        As for the method.
    copy
        Make a copy always, with True; never, with False.

    Raises
    ------
    ValueError
        If the shape has another number of elements; or if a copy has to be made that must not be.
    """
    a = as_global(a)
    found = a._reshaped(as_extents(shape), order) if copy else a.reshape(shape, order=order)
    is_view = a._is_base_of(found)
    if copy is False and not is_view:
        raise ValueError("Unable to avoid creating a copy while reshaping.")
    return found.copy() if copy and is_view else found


@implements(np.expand_dims)
def expand_dims(a: Any, axis: int | Sequence[int]) -> GlobalArray:
    """The view with more dimensions, of extent 1. Not collective.

    Parameters
    ----------
    a
        An array.
    axis
        Where they are in the result: a position, or several.

    Raises
    ------
    ValueError
        If there is no such dimension of the result, or one comes twice.

    Examples
    --------
    >>> import pgaspy as pg
    >>> pg.expand_dims(pg.zeros((2, 3)), (0, 2)).shape
    (1, 2, 1, 3)
    """
    a = as_global(a)
    positions = _integers(axis)
    n = a.ndim + len(positions)
    added = normalize_axis_tuple(positions, n)
    return a[tuple(None if d in added else slice(None) for d in range(n))]


@implements(np.broadcast_to)
def broadcast_to(array: Any, shape: Shape) -> GlobalArray:
    """The view with dimensions stretched to a shape; nothing is assigned through it, nor through views of it. Where it
    repeats elements it has no layout. Not collective.

    Raises
    ------
    ValueError
        If the shape has less dimensions, or another extent where that of the array is not 1.
    """
    array = asarray(array)
    return array._over(array._view.broadcast_to(_integers(as_extents(shape))).read_only)


def _integers(x: Any) -> tuple[int, ...]:
    """One integer, or several."""
    return tuple(map(operator.index, x if np.iterable(x) else (x,)))


@implements(np.flip)
def flip(m: Any, axis: Axis = None) -> GlobalArray:
    """The view with the order of the elements reversed along dimensions. Not collective.

    Parameters
    ----------
    m
        An array.
    axis
        A dimension, or several; all by default.

    Raises
    ------
    ValueError
        If there is no such dimension, or one comes twice.
    """
    m = as_global(m)
    reversed_dims = range(m.ndim) if axis is None else normalize_axis_tuple(axis, m.ndim)
    return m[tuple(slice(None, None, -1) if d in reversed_dims else slice(None) for d in range(m.ndim))]


# Rearrangements, by global assignment --------------------------------------------------------------------------------


def _like_rolled(a: Any, shift: Any, axis: Axis = None) -> Any:
    return view_like(a) if a.__class__ in kinds and (axis is not None or a.ndim == 1) else None


@implements(np.roll)
@by_numpy(np.roll, like=_like_rolled)
def roll(a: Any, shift: SupportsIndex | Sequence[SupportsIndex], axis: Axis = None) -> GlobalArray:
    """The elements moved along dimensions, those that leave at one end coming in at the other. Collective.

    Parameters
    ----------
    a
        An array.
    shift
        How far, towards higher indices: for all of `axis`, or for each.
    axis
        A dimension, or several; by default the elements are moved in row-major order, over the ends of rows.

    Returns
    -------
    A new array, dealt out as `a` is.

    Raises
    ------
    ValueError
        If there is no such dimension, or the numbers of shifts and dimensions differ, or have several dimensions.

    Examples
    --------
    >>> import pgaspy as pg
    >>> pg.roll(pg.arange(5), 2).gather()
    array([3, 4, 0, 1, 2])
    """
    a = as_global(a)
    if axis is None:
        return roll(a.ravel(), shift, 0).reshape(a.shape)
    if type(shift) is type(axis) is tuple and {*map(type, shift), *map(type, axis)} == {int}:
        shifts = _usual_shifts(shift, axis, len(a._view.shape))
    else:
        shifts = _shifts(told(shift), axis, a.ndim)
    return GlobalArray(*rolled(a._base, a._view, shifts))


def _shifts(shift: Any, axis: int | Sequence[int], ndim: int) -> tuple[int, ...]:
    """How far along each dimension elements are moved that are moved along some."""
    shifts = np.asarray(shift)
    if shifts.ndim > 1:
        raise ValueError("'shift' and 'axis' should be scalars or 1D sequences")
    total = [0] * ndim
    for s, d in np.broadcast(shifts, normalize_axis_tuple(axis, ndim, allow_duplicate=True)):
        total[d] += int(s)
    return tuple(total)


_usual_shifts = cached(_shifts)


@implements(np.tile)
@by_numpy(np.tile)
def tile(A: Any, reps: SupportsIndex | Sequence[SupportsIndex]) -> GlobalArray:
    """An array repeated as a whole. Collective.

    Parameters
    ----------
    A
        An array.
    reps
        How often along the last dimension, or along each of the last ones; more of them than there are dimensions
        make new ones.

    Returns
    -------
    A new array, dealt out as `A` is if it has as many dimensions.

    Examples
    --------
    >>> import pgaspy as pg
    >>> pg.tile(pg.arange(3), (2, 2)).gather()
    array([[0, 1, 2, 0, 1, 2],
           [0, 1, 2, 0, 1, 2]])
    """
    a = as_global(A)
    counts = _integers(reps)
    a = a[(None,) * (len(counts) - a.ndim)] if len(counts) > a.ndim else a
    counts = (1,) * (a.ndim - len(counts)) + counts
    result = a.copy() if not a.ndim else a
    for d, count in enumerate(counts):
        result = result if count == 1 else _tiled(result, d, count)
    return result.copy() if result is a else result


def _tiled(a: GlobalArray, d: int, count: int) -> GlobalArray:
    """An array repeated along a dimension, by few statements: each copies as much as is there already."""
    n = a.shape[d]
    result = empty_like_result(a, (*a.shape[:d], n * count, *a.shape[d + 1:]), a.dtype)
    along = (slice(None),) * d
    if n == 1 and count:
        result[...] = a
        return result
    if not result.size:
        return result
    result[(*along, slice(n))] = a
    while n < result.shape[d]:
        rest = result[(*along, slice(n, 2 * n))]
        rest[...] = result[(*along, slice(rest.shape[d]))]
        n *= 2
    return result


MOST_SLICES = 32
"""Elements that are repeated more often are taken by indices: a statement for each copy takes longer."""


MOST_REPEATED = 1 << 20
"""Elements that few ones may be repeated to, where each process makes all of them, and keeps its part; one process
alone repeats as many by NumPy's function, which takes a single pass."""


def _few_repeated(a: Any, repeats: Any, axis: int | None = None) -> NDArray[Any]:
    """NumPy's function; a ValueError, if it may give more than each process is to have."""
    if np.size(a) * int(np.max(repeats, initial=0)) > MOST_REPEATED:
        raise ValueError
    return np.repeat(a, repeats, axis)


@implements(np.repeat)
@by_numpy(_few_repeated, lying="as given", max_elements=MOST_REPEATED)
def repeat(a: Any, repeats: Any, axis: int | None = None) -> GlobalArray:
    """Each element repeated along a dimension. Collective.

    Parameters
    ----------
    a
        An array.
    repeats
        How often: one integer for all, or a vector with one for each along the dimension, for whose sum all wait.
    axis
        The dimension; by default the elements are repeated in row-major order.

    Returns
    -------
    A new array, dealt out as `a` is; with several `repeats` as what `take` returns.

    Raises
    ------
    ValueError
        If `repeats` are negative, or another number of them than of elements; or there is no such dimension.
    TypeError
        If they are no integers.

    Examples
    --------
    >>> import pgaspy as pg
    >>> pg.repeat(pg.arange(3), 2).gather()
    array([0, 0, 1, 1, 2, 2])
    """
    a = as_global(a)
    refuse_truths(axis)
    if axis is None or (not a.ndim and axis in (0, -1)):
        a, axis = a.ravel(), 0
    axis = normalize_axis_index(axis, a.ndim)
    if np.ndim(repeats):
        counts = repeats if isinstance(repeats, GlobalArray | np.ndarray) else as_numpy(repeats, np.intp)
        return _each_repeated(a, counts, axis)
    repeats = operator.index(repeats)
    if repeats < 0:
        raise ValueError("repeats may not contain negative values.")
    n = a.shape[axis] * repeats
    result = empty_like_result(a, (*a.shape[:axis], n, *a.shape[axis + 1:]), a.dtype)
    if a.shape[axis] == 1 and repeats:
        result[...] = a
    elif repeats > MOST_SLICES:
        result[...] = HANDLED[np.take](a, arange(n) // repeats, axis)
    else:
        for r in range(repeats):
            result[(slice(None),) * axis + (slice(r, None, repeats),)] = a
    return result


def _each_repeated(a: GlobalArray, counts: GlobalArray | NDArray[Any], axis: int) -> GlobalArray:
    """Each element as often as a vector says: element i of the result is the first whose running sum is above i, so
    that its number is how many running sums are not above i.
    """
    if not np.can_cast(counts.dtype, np.intp):
        raise TypeError(f"Cannot cast array data from {counts.dtype!r} to {np.dtype(np.intp)!r} according to the rule "
                        "'safe'")
    if counts.ndim > 1:
        raise ValueError("object too deep for desired array")
    if counts.shape not in ((1,), (a.shape[axis],)):
        raise ValueError(f"operands could not be broadcast together with shape ({a.shape[axis]},) {counts.shape}")
    few = brought.called(_few_repeated, (a, counts), {}, "by default") if a.ndim == 1 and not small.is_on else None
    if few is not None:
        return few
    if is_any(counts < 0):
        raise ValueError("repeats may not contain negative values.")
    ends = broadcast_to(counts, (a.shape[axis],)).cumsum(dtype=np.intp)
    total = int(ends[-1]) if ends.size else 0
    n_ends = zeros(total, np.intp)
    if total:
        np.add.at(n_ends, np.minimum(ends, total - 1), ends < total)
    found: GlobalArray = HANDLED[np.take](a, n_ends.cumsum(), axis)
    return found


def empty_like_result(a: GlobalArray, extents: tuple[int, ...], dtype: DTypeLike) -> GlobalArray:
    """A new array, dealt out over the grid as `a` is, for other extents; see `layout_of_extents`."""
    return empty(extents, dtype, layout=layout_of_extents(a._view, extents))


# Elementwise functions that are not ufuncs ----------------------------------------------------------------------------


@overload
def where(condition: Any) -> tuple[GlobalArray, ...]: ...
@overload
def where(condition: Any, x: Any, y: Any) -> GlobalArray: ...
@implements(np.where)
def where(condition: Any, x: Any = None, y: Any = None) -> Any:
    """The elements of `x` where a condition is true, and of `y` elsewhere. Collective.

    Parameters
    ----------
    condition, x, y
        Arrays or numbers that broadcast to one shape; all three are computed before.

    Returns
    -------
    A new array, of the dtype which those of `x` and `y` are promoted to, in the layout of an operation on the three.
    Of a condition alone, what `nonzero` returns.

    Raises
    ------
    ValueError
        If the shapes do not broadcast, or one of `x` and `y` is left out.

    Examples
    --------
    >>> import pgaspy as pg
    >>> A = pg.array([-1.0, 4.0])
    >>> pg.where(A > 0, A, 0).gather()
    array([0., 4.])
    """
    if x is None and y is None:
        return HANDLED[np.nonzero](condition)
    if x is None or y is None:
        raise ValueError("either both or neither of x and y should be given")
    try:
        if (known := known_result(WHERE, condition, x, y)) is not None:
            return known
        if small.is_on and (found := chosen(condition, x, y)) is not None:
            return found
        if not [a for a in (condition, x, y) if isinstance(a, GlobalArray)]:
            condition = as_global(condition)
        return ufuncs.apply_known(WHERE, (condition, x, y), GlobalArray)
    except OverflowError:
        return ufuncs.apply(WHERE, [condition, *_cast_as_elements(x, y)], make=GlobalArray)


def _cast_as_elements(x: Any, y: Any) -> list[Any]:
    """Python's integers as what NumPy makes of them where they are chosen among elements that do not hold them."""
    dtype = np.where(True, *[a if type(a) in WEAK else np.zeros((), as_array(a).dtype) for a in (x, y)]).dtype
    return [int(np.asarray(a).astype(dtype)) if type(a) is int else a for a in (x, y)]


@implements(np.clip)
def clip(a: Any, a_min: Any = NO_VALUE, a_max: Any = NO_VALUE, out: GlobalArray | None = None, *, min: Any = NO_VALUE,
         max: Any = NO_VALUE) -> GlobalArray:
    """The elements, limited to [min, max]; see `GlobalArray.clip`. Collective.

    Parameters
    ----------
    a
        An array.
    a_min, a_max
        Numbers, or arrays that broadcast to the shape; None for no limit.
    out
        As for the method.
    min, max
        Other names for `a_min` and `a_max`.

    Raises
    ------
    ValueError
        If a limit is given by both names, or the shapes do not broadcast.

    Examples
    --------
    >>> import pgaspy as pg
    >>> pg.clip(pg.arange(5), 1, 3).gather()
    array([1, 1, 2, 3, 3])
    """
    if (a_min is not NO_VALUE and min is not NO_VALUE) or (a_max is not NO_VALUE and max is not NO_VALUE):
        raise ValueError("Passing `min` or `max` keyword argument when `a_min` and `a_max` are provided is forbidden.")
    a_min, a_max = min if a_min is NO_VALUE else a_min, max if a_max is NO_VALUE else a_max
    a_min, a_max = (None if limit is NO_VALUE else limit for limit in (a_min, a_max))
    return as_global(a).clip(a_min, a_max, out)
