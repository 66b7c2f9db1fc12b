"""Creation: new global arrays, with NumPy's names and arguments, and `layout=` and `onenode=` besides.

All are collective. `layout` is a `Distribution`, or a `Layout` of the same shape; `onenode=rank` puts the whole array
on one process; by default the job's default layout is taken (`datalayout`).
"""

from __future__ import annotations

import functools
import math
import operator
from collections.abc import Callable, Generator, Sequence
from datetime import date, timedelta
from types import NoneType
from typing import Any, Literal, SupportsIndex, overload

import numpy as np
from numpy.lib.array_utils import normalize_axis_index
from numpy.typing import DTypeLike, NDArray

from pgaspy import small_calls
from pgaspy.alone import small
from pgaspy.array import GlobalArray, of_elements
from pgaspy.blockmath import common_places
from pgaspy.dispatch import implements
from pgaspy.distribution import Distribution
from pgaspy.execution.recording import check_free, is_executing, needed, record
from pgaspy.global_assign import joined, redistributed
from pgaspy.job.defaults import layout_for
from pgaspy.job.procgrid import world
from pgaspy.kernels import bindings
from pgaspy.layout import Layout
from pgaspy.operands import (
    WEAK,
    Elements,
    as_extents,
    as_numbers,
    as_numpy,
    check_device,
    check_dtype,
    check_order,
    dtype_of_cast,
    has_arrays,
    native,
    refuse_masked,
)
from pgaspy.planning.pieces import indices_between, local_indices, owned_segments
from pgaspy.planning.view import View, whole
from pgaspy.scheduling.at_once import copy_elements
from pgaspy.scheduling.base import Base, Storage
from pgaspy.scheduling.floating_point import as_asked, is_telling
from pgaspy.scheduling.kinds.generation import generate
from pgaspy.small_calls import new_by_numpy
from pgaspy.supervision.recorder import announce, take_numbers

__all__ = [
    "arange", "array", "asarray", "empty", "empty_like", "eye", "fromfunction",
    "full", "full_like", "identity", "linspace", "ones", "ones_like", "zeros", "zeros_like",
]

Shape = SupportsIndex | Sequence[SupportsIndex]
AnyLayout = Distribution | Layout | None


def _shape(shape: Any, dtype: Any = None) -> Any:
    """The shape of an array of which no layout is said, nor anything else; as for `new_by_numpy`."""
    return shape


@new_by_numpy(np.empty, _shape)
def empty(shape: Shape, dtype: DTypeLike = float, order: str = "C", *, layout: AnyLayout = None,
          onenode: int | None = None, device: str | None = None) -> GlobalArray:
    """A new array of a shape and dtype, with arbitrary elements. Collective.

    Parameters
    ----------
    shape
        An extent, or one for each dimension.
    dtype
        That of the elements, which are in this machine's byte order, whatever it says.
    order
        Has no effect: where elements lie in memory follows from the layout.
    layout
        Where the elements lie: a `Distribution`, or the `Layout` of an array of this shape; by default in the job's
        default layout (see `datalayout`).
    onenode
        The rank of a process that is to hold all of it; instead of `layout`.
    device
        "cpu", or None, which is the same.

    Raises
    ------
    ValueError
        For a negative extent, a layout that does not fit the shape or the job, or another device.
    TypeError
        For an object or structured dtype.

    Examples
    --------
    >>> import pgaspy as pg
    >>> A = pg.empty((4, 6), layout=pg.Distribution("block", "*"))  # whole rows
    >>> A.local().shape[1]
    6
    """
    check_device(device)
    check_order(order)
    dtype = native(dtype)
    check_dtype(dtype)
    if dtype.kind in "SU" and not dtype.itemsize:
        dtype = np.empty(0, dtype).dtype  # text has a length
    bound = layout_for(_checked_shape(shape), layout, onenode)
    check_free()
    base = Base(bound, dtype)
    announce("empty", bases=(base,))
    return GlobalArray(base, whole(bound))


def of_each_process(shape: tuple[int, ...], dtype: DTypeLike) -> GlobalArray:
    """A new array with something of this shape on each process, in the order of the ranks. Collective."""
    n_procs = world().size
    layout = Distribution("block", *"*" * len(shape), grid=(n_procs,) + (1,) * len(shape))
    return empty((n_procs, *shape), dtype, layout=layout)


@new_by_numpy(np.zeros, _shape)
def zeros(shape: Shape, dtype: DTypeLike = float, order: str = "C", *, layout: AnyLayout = None,
          onenode: int | None = None, device: str | None = None) -> GlobalArray:
    """A new array of zeros. Collective; for the arguments and errors, see `empty`.

    Examples
    --------
    >>> import pgaspy as pg
    >>> pg.zeros((2, 3), int).gather()
    array([[0, 0, 0],
           [0, 0, 0]])
    """
    dtype = np.dtype(dtype)
    return full(shape, _zero(dtype), dtype, order, layout=layout, onenode=onenode, device=device)


def _zero(dtype: np.dtype[Any]) -> Any:
    """What arrays of zeros hold: of text, nothing."""
    return "" if dtype.kind in "SU" else 0


@new_by_numpy(np.ones, _shape)
def ones(shape: Shape, dtype: DTypeLike = float, order: str = "C", *, layout: AnyLayout = None,
         onenode: int | None = None, device: str | None = None) -> GlobalArray:
    """A new array of ones. Collective; for the arguments and errors, see `empty`."""
    return full(shape, 1, np.dtype(dtype), order, layout=layout, onenode=onenode, device=device)


@new_by_numpy(np.full, lambda shape, fill_value, dtype=None: shape if fill_value.__class__ in WEAK else None)
def full(shape: Shape, fill_value: Any, dtype: DTypeLike | None = None, order: str = "C", *,
         layout: AnyLayout = None, onenode: int | None = None, device: str | None = None) -> GlobalArray:
    """A new array with every element set to a value. Collective; for the other arguments and errors, see `empty`.

    Parameters
    ----------
    fill_value
        A number; or a global array, or an array-like that is the same on every process, which broadcasts to the shape.
    dtype
        By default that of the value.
    """
    if dtype is None:
        fill_value = as_array(fill_value)
        dtype = fill_value.dtype
    result = empty(shape, dtype, order, layout=layout, onenode=onenode, device=device)
    result[...] = _cast(fill_value, result)
    return result


def _cast(value: Any, a: GlobalArray) -> Any:
    """What an array is filled with, as NumPy casts it: numbers are cast even where that loses them, if to anything."""
    if value.__class__ is int and a.dtype.kind != "b":
        return value
    if isinstance(value, GlobalArray) or has_arrays(value):
        return value
    if np.ndim(value):
        return as_array(value)
    if not a.size:
        return np.zeros((), a.dtype)
    return as_asked(np.full, (), value, a.dtype)[()]


def _are_none(*options: Any) -> bool:
    return options.count(None) == len(options)


def _like(prototype: Any, dtype: DTypeLike | None, order: str | None, shape: Shape | None, layout: AnyLayout,
          onenode: int | None, device: str | None) -> GlobalArray:
    check_order(order)
    if small.is_on and prototype.__class__ in small.kinds and _are_none(shape, layout, onenode, device):
        found = small.empty_like(prototype, prototype.dtype if dtype is None else native(dtype))
        if found is not None:
            return of_elements(*found)
    prototype = as_array(prototype)
    dtype = prototype.dtype if dtype is None else dtype
    shape = prototype.shape if shape is None else _checked_shape(shape)
    if layout is None and onenode is None and isinstance(prototype, GlobalArray) and shape == prototype.shape:
        layout = prototype._layout_like()
    return empty(shape, dtype, layout=layout, onenode=onenode, device=device)


@implements(np.empty_like)
def empty_like(prototype: Any, dtype: DTypeLike | None = None, order: str | None = "K", subok: bool = True,
               shape: Shape | None = None, *, layout: AnyLayout = None, onenode: int | None = None,
               device: str | None = None) -> GlobalArray:
    """A new array of the shape and dtype of another, with arbitrary elements. Collective.

    Parameters
    ----------
    prototype
        A global array, or an array-like.
    dtype, shape
        To be taken instead of those of the prototype.
    order, subok
        Have no effect: where elements lie in memory follows from the layout, and there are no subclasses.
    layout, onenode
        As for `empty`; by default the layout is the one that results of operations on the prototype have, if that is a
        global array of this shape, else the job's default.

    Raises
    ------
    ValueError, TypeError
        As `empty` does.
    """
    return _like(prototype, dtype, order, shape, layout, onenode, device)


@implements(np.zeros_like)
def zeros_like(a: Any, dtype: DTypeLike | None = None, order: str | None = "K", subok: bool = True,
               shape: Shape | None = None, *, layout: AnyLayout = None, onenode: int | None = None,
               device: str | None = None) -> GlobalArray:
    """A new array of zeros, of the shape and dtype of another. Collective; see `empty_like`."""
    result = _like(a, dtype, order, shape, layout, onenode, device)
    result[...] = _zero(result.dtype)
    return result


@implements(np.ones_like)
def ones_like(a: Any, dtype: DTypeLike | None = None, order: str | None = "K", subok: bool = True,
              shape: Shape | None = None, *, layout: AnyLayout = None, onenode: int | None = None,
              device: str | None = None) -> GlobalArray:
    """A new array of ones, of the shape and dtype of another. Collective; see `empty_like`."""
    return full_like(a, 1, dtype, order, subok, shape, layout=layout, onenode=onenode, device=device)


@implements(np.full_like)
def full_like(a: Any, fill_value: Any, dtype: DTypeLike | None = None, order: str | None = "K", subok: bool = True,
              shape: Shape | None = None, *, layout: AnyLayout = None, onenode: int | None = None,
              device: str | None = None) -> GlobalArray:
    """A new array with every element set to a value, of the shape and dtype of another. Collective.

    The value is as for `full`, all else as for `empty_like`.
    """
    result = _like(a, dtype, order, shape, layout, onenode, device)
    result[...] = _cast(fill_value, result)
    return result


def array(object: Any, dtype: DTypeLike | None = None, *, copy: bool | None = True, order: str = "K", ndmin: int = 0,
          layout: AnyLayout = None, onenode: int | None = None, device: str | None = None) -> GlobalArray:
    """A new array with the elements of an array-like that is the same on every process. Collective.

    Parameters
    ----------
    object
        A global array, which is copied; or an array-like, of which each process keeps its own part. A sequence may
        have global arrays of one shape in it, too, at any depth.
    dtype
        By default that of the object.
    copy
        Make a new array always; with None or False, as `asarray`.
    order
        Has no effect: where elements lie in memory follows from the layout.
    ndmin
        How many dimensions the array has at least; those that it lacks come first, of extent 1.
    layout, onenode
        As for `empty`; global arrays are copied into the layout that results of operations on them have, by default.

    Raises
    ------
    ValueError, TypeError
        As `empty` does; and for sequences of different lengths.

    Examples
    --------
    >>> import pgaspy as pg
    >>> (pg.array([1, 2, 3]) * 2).gather()
    array([2, 4, 6])
    >>> pg.array([pg.arange(2), [5, 6]]).gather()
    array([[0, 1],
           [5, 6]])
    """
    check_device(device)
    check_order(order)
    if not copy or ndmin:
        found = asarray(object, dtype, layout=layout, onenode=onenode, device=device, copy=copy)
        return found[(None,) * max(ndmin - found.ndim, 0) + (...,)]
    if isinstance(object, Elements):
        object = object.copy()
    if isinstance(object, GlobalArray):
        new = object.copy() if dtype is None else object.astype(dtype)
        if layout is None and onenode is None:
            return GlobalArray(new._base, new._view) if new._is_number else new
        return GlobalArray(*redistributed(new._base, new._view, layout_for(new.shape, layout, onenode)))
    if has_arrays(object):
        if _are_none(dtype, layout, onenode) and (of_small := small_calls.joined(object)) is not None:
            return of_small
        of_all = joined(object, dtype)
        return GlobalArray(*of_all if layout is None and onenode is None else
                           redistributed(*of_all, layout_for(of_all.view.shape, layout, onenode)))
    source = as_numpy(object, dtype)
    if small.is_on and source.shape and _are_none(layout, onenode) and small.are_few(source.size, source.dtype) and (
            of_small := small_calls.made(source.shape, source.copy)) is not None:
        return of_small
    if source.dtype.hasobject and isinstance(object, Generator):
        raise TypeError("a generator is no array: use pg.fromiter(generator, dtype), or a list of what it gives")
    result = empty(source.shape, source.dtype, layout=layout, onenode=onenode, device=device)
    if world().size == 1 and is_executing() and result.dtype == source.dtype and result._source is None:
        copy_elements(source, needed(lambda: result._base.local))  # nothing is recorded that uses it
    else:
        result[...] = source
    return result


def asarray(a: Any, dtype: DTypeLike | None = None, order: str | None = None, *, layout: AnyLayout = None,
            onenode: int | None = None, device: str | None = None, copy: bool | None = None) -> GlobalArray:
    """`a` itself, where it is a global array of that dtype, and no layout is asked for; else as `array`. Collective.

    Of a number, such as the result of a full reduction, an array of no dimension is made. With `copy=True` a new array
    is made always. `order` has no effect.

    Raises
    ------
    ValueError
        With `copy=False`, if a new array has to be made; else as `empty` does.
    """
    check_order(order)
    if copy:
        return array(a, dtype, layout=layout, onenode=onenode, device=device)
    check_device(device)
    if isinstance(a, GlobalArray) and layout is None and onenode is None and dtype in (None, a.dtype):
        return a[...] if a._is_number else a  # which would change with it
    if copy is not None:
        raise ValueError("Unable to avoid copy while creating an array as requested: a global array is made of it")
    return array(a, dtype, layout=layout, onenode=onenode, device=device)


def as_global(a: Any) -> GlobalArray:
    """`a` itself, where it is a global array or a number; else as `array`, but for masked arrays. Collective."""
    refuse_masked(a)
    return a if isinstance(a, GlobalArray) else array(a)


def as_operand(a: Any) -> GlobalArray:
    """As `asarray`, but for masked arrays. Collective."""
    refuse_masked(a)
    return asarray(a)


def as_array(x: Any) -> GlobalArray | NDArray[Any]:
    """The elements of a global array as they are; anything else as NumPy's array, the same on every process.

    Raises
    ------
    TypeError
        For masked arrays.
    """
    refuse_masked(x)
    if isinstance(x, GlobalArray):
        return x._plain()
    return array(x) if isinstance(x, Elements) or has_arrays(x) else as_numpy(x)


def as_values(x: Any, dtype: np.dtype[Any]) -> GlobalArray | NDArray[Any]:
    """What is assigned to elements of a dtype, as `as_array`; Python's numbers have to be in its range, as for NumPy.

    Raises
    ------
    OverflowError, TypeError, ValueError
        For Python's numbers that are too large, complex, or not finite.
    """
    return as_numbers(x, dtype) if not hasattr(x, "dtype") and not has_arrays(x) else as_array(x)


def _n_numbers(start: Any, stop: Any = None, step: Any = 1, dtype: Any = None) -> Any:
    """How many numbers `arange` gives of Python's; None of others, and if there are none, or very large ones."""
    if not {start.__class__, stop.__class__, step.__class__} <= {int, float, NoneType} or not step:
        return None
    start, stop = (0, start) if stop is None else (start, stop)
    return max(math.ceil((stop - start) / step), 0) if max(abs(start), abs(stop), abs(step)) < 1 << 53 else None


@new_by_numpy(np.arange, _n_numbers)
def arange(start: Any, stop: Any = None, step: Any = 1, dtype: DTypeLike | None = None, *, layout: AnyLayout = None,
           onenode: int | None = None, device: str | None = None) -> GlobalArray:
    """Evenly spaced values in [start, stop), as NumPy's arange computes them. Collective.

    Parameters
    ----------
    start, stop, step
        Numbers, or dates and differences of time, also as arrays of no dimension; with one of them, the range goes
        from 0 to there.
    dtype
        By default that of start + step.
    layout, onenode
        As for `empty`.

    Returns
    -------
    One dimension; it is empty where stop is not beyond start.

    Raises
    ------
    ZeroDivisionError
        If the step is 0.
    ValueError
        For dates that do not go together.

    Examples
    --------
    >>> import pgaspy as pg
    >>> pg.arange(1, 2, 0.25).gather()
    array([1.  , 1.25, 1.5 , 1.75])
    """
    if stop is None:
        start, stop = 0, start
    start, stop, step = without_array(start), without_array(stop), without_array(step)
    dtype = None if dtype is None else np.dtype(dtype)
    of_times = (dtype is not None and dtype.kind in "mM") or any(map(_is_time, (start, stop, step)))
    first, delta, n = (_times if of_times else _numbers)(start, stop, step, dtype)
    result = empty(n, first.dtype, layout=layout, onenode=onenode, device=device)
    if first.dtype.kind == "f" and first == 0 and np.signbit(first):  # which a sum with 0 is not
        return generated(result, lambda i: np.where(i == 0, first, i.astype(first.dtype, copy=False) * delta))
    factor = np.dtype(np.int64) if of_times else first.dtype  # times are multiplied by integers
    return _progression(result, first, delta, lambda i: (first + i.astype(factor, copy=False) * delta).astype(
        first.dtype, copy=False))


def without_array(x: Any) -> Any:
    """NumPy's scalar for an array of no dimension; else x itself. Collective."""
    return x._as_scalar() if isinstance(x, GlobalArray) and not x.ndim else x


def _is_time(x: Any) -> bool:
    return isinstance(x, date | timedelta | np.datetime64 | np.timedelta64)


def _numpys_time(x: Any) -> Any:
    """NumPy's date or difference for Python's, or text; else x itself."""
    if isinstance(x, str | date):
        return np.datetime64(x)
    return np.timedelta64(x) if isinstance(x, timedelta) else x


def _numbers(start: Any, stop: Any, step: Any, dtype: np.dtype[Any] | None) -> tuple[Any, Any, int]:
    """The first number of a range, the difference to the next, and how many there are."""
    if dtype is None:
        is_large = any(isinstance(x, int) and not -1 << 63 <= x < 1 << 63 for x in (start, stop, step))
        dtype = np.result_type(*(np.array(x).dtype for x in (start, stop, step))) if is_large else np.arange(
            start * 0, stop * 0, step).dtype
    check_dtype(dtype)
    if step == 0:
        raise ZeroDivisionError("arange: the step is zero")
    first, second = np.array([start, start + step]).astype(dtype)
    return first, second - first if dtype.kind != "b" else True, max(math.ceil((stop - start) / step), 0)


def _times(start: Any, stop: Any, step: Any, dtype: Any) -> tuple[Any, Any, int]:
    """The first time of a range, the difference to the next, and how many there are.

    A stop that is a number or a difference counts from the first of dates, as in NumPy.
    """
    start, stop = _numpys_time(start), _numpys_time(stop)
    dtype = np.arange(start, start + (stop - stop), step, dtype=dtype).dtype
    first, last = np.array(start).astype(dtype)[()], np.array(stop)
    delta = np.array(step).astype(dtype.str.replace("M8", "m8"))[()]
    if last.dtype.kind == "M" != dtype.kind:
        raise ValueError("arange requires both a start and a stop for NumPy datetime64 ranges")
    if dtype.kind == "M" != last.dtype.kind:
        last = first + last.astype(delta.dtype)
    return first, delta, max(int(-((first - last.astype(dtype)) // delta)), 0)


def _n_between(start: Any, stop: Any, num: Any = 50, endpoint: Any = True, dtype: Any = None) -> Any:
    """How many numbers `linspace` gives, of Python's; None of others."""
    return num if {start.__class__, stop.__class__} <= {int, float} else None


@overload
def linspace(start: Any, stop: Any, num: int = 50, endpoint: bool = True, retstep: Literal[False] = False,
             dtype: DTypeLike | None = None, axis: int = 0, *, layout: AnyLayout = None, onenode: int | None = None,
             device: str | None = None) -> GlobalArray: ...
@overload
def linspace(start: Any, stop: Any, num: int = 50, endpoint: bool = True, *, retstep: Literal[True],
             dtype: DTypeLike | None = None, axis: int = 0, layout: AnyLayout = None, onenode: int | None = None,
             device: str | None = None) -> tuple[GlobalArray, Any]: ...
@implements(np.linspace)
@new_by_numpy(np.linspace, _n_between)
def linspace(start: Any, stop: Any, num: int = 50, endpoint: bool = True, retstep: bool = False,
             dtype: DTypeLike | None = None, axis: int = 0, *, layout: AnyLayout = None, onenode: int | None = None,
             device: str | None = None) -> Any:
    """Evenly spaced values over [start, stop], as NumPy's linspace computes them. Collective.

    Parameters
    ----------
    start, stop
        Numbers, also complex ones; or arrays of them, which broadcast, and in which values lie side by side.
    num
        How many values.
    endpoint
        Whether `stop` is the last of them; without, they are those of `num + 1` but the last.
    retstep
        Return also the distance of neighbours, NaN where there are none, as NumPy's number.
    dtype
        By default that of floating-point numbers, also for integers; values are rounded down to integers.
    axis
        Of values between arrays, the dimension along which they follow each other.
    layout, onenode
        As for `empty`.

    Raises
    ------
    ValueError
        If `num` is negative, or the shapes of arrays do not broadcast.
    TypeError
        If start or stop is no number.

    Examples
    --------
    >>> import pgaspy as pg
    >>> pg.linspace(0, 1, 5).gather()
    array([0.  , 0.25, 0.5 , 0.75, 1.  ])
    """
    start, stop, num = without_array(start), without_array(stop), operator.index(num)
    if num < 0:
        raise ValueError(f"Number of samples, {num}, must be non-negative.")
    if np.ndim(start) or np.ndim(stop):
        onto = layout, onenode, device
        start, stop = (x if x.__class__ in WEAK else as_array(x) for x in (start, stop))
        return _between_arrays(start, stop, num, endpoint, retstep, dtype, axis, onto)
    computed = np.result_type(start, stop, float(num))
    if dtype is not None and np.dtype(dtype).kind in "iu":
        np.floor(np.empty(0, computed))  # which raises now, on all processes, what it would raise when it is executed
    dtype = computed if dtype is None else dtype_of_cast(computed, dtype)
    n_steps = num - 1 if endpoint else num
    delta = np.subtract(stop, start, dtype=computed)

    def values(i: NDArray[np.int64]) -> NDArray[Any]:
        y = i.astype(computed)
        if step != 0 or n_steps <= 0:
            y *= step
        else:
            y = y / n_steps * delta
        y += start
        if endpoint and num > 1 and i[-1] == num - 1:
            y[-1] = stop
        if dtype.kind in "iu":
            np.floor(y, out=y)
        return y.astype(dtype, copy=False)

    result = empty(num, dtype, layout=layout, onenode=onenode, device=device)
    step = delta / n_steps if n_steps > 0 else delta
    if dtype == computed and (step != 0 or n_steps <= 0):
        _progression(result, start, step, values, stop if endpoint and num > 1 else None)
    else:
        generated(result, values)
    return (result, delta / n_steps if n_steps > 0 else np.nan) if retstep else result


def _between_arrays(start: Any, stop: Any, n: int, endpoint: bool, retstep: bool, dtype: DTypeLike | None, axis: int,
                    onto: tuple[AnyLayout, int | None, str | None]) -> Any:
    """Evenly spaced values between the elements of arrays, as NumPy computes them."""
    ends: list[Any] = [x if x.__class__ in WEAK else as_global(x) for x in (start, stop)]
    computed = np.result_type(*(x if x.__class__ in WEAK else x.dtype for x in ends), 1.0)
    start, stop = (x if x.__class__ in WEAK else x.astype(computed, copy=False) for x in ends)
    dtype = computed if dtype is None else np.dtype(dtype)
    delta = (stop - start).astype(computed)
    n_steps = n - 1 if endpoint else n
    layout, onenode, device = onto
    y: Any = arange(n).astype(computed)[(..., *(None,) * delta.ndim)]
    step: Any = delta / n_steps if n_steps > 0 else full(delta.shape, np.nan)
    if n_steps > 0 and not (step == 0).any():
        y = y * step + start
    else:
        y = (y / n_steps if n_steps > 0 else y) * delta + start
    if endpoint and n > 1:
        y[-1] = stop
    if dtype.kind in "iu":
        y = np.floor(y)
    order = [*range(1, y.ndim)]
    order.insert(normalize_axis_index(axis, y.ndim), 0)
    y = asarray(y.transpose(order), dtype, layout=layout, onenode=onenode, device=device)
    return (y, step) if retstep else y


@new_by_numpy(np.eye, lambda N, M=None, k=0, dtype=None: (N, N if M is None else M))
def eye(N: int, M: int | None = None, k: int = 0, dtype: DTypeLike = float, *,
        layout: AnyLayout = None, onenode: int | None = None, device: str | None = None) -> GlobalArray:
    """A matrix with ones on a diagonal, and zeros elsewhere. Collective.

    Parameters
    ----------
    N, M
        The numbers of rows and columns; as many columns as rows by default.
    k
        The diagonal: 0 for the main one, more for those above, less for those below it.
    dtype, layout, onenode
        As for `empty`, and so are the errors.

    Examples
    --------
    >>> import pgaspy as pg
    >>> pg.eye(2, 3, 1, dtype=int).gather()
    array([[0, 1, 0],
           [0, 0, 1]])
    """
    result = empty((N, N if M is None else M), dtype, layout=layout, onenode=onenode, device=device)
    k = min(max(operator.index(k), -result.shape[0]), result.shape[1])  # one beyond is as good as any

    def write(local: NDArray[Any], view: View, rank: int) -> None:
        local[...] = np.zeros((), local.dtype)
        local[common_places(local_indices(view, 0, rank) + k, local_indices(view, 1, rank))] = 1

    return written(result, write)


@new_by_numpy(np.identity, lambda n, dtype=None: (n, n))
def identity(n: int, dtype: DTypeLike = float, *, layout: AnyLayout = None,
             onenode: int | None = None, device: str | None = None) -> GlobalArray:
    """The identity matrix, shape (n, n). Collective; see `eye`."""
    return eye(n, dtype=dtype, layout=layout, onenode=onenode, device=device)


def fromfunction(function: Callable[..., Any], shape: Shape, *, dtype: DTypeLike = float, layout: AnyLayout = None,
                 onenode: int | None = None, device: str | None = None, **options: Any) -> Any:
    """Call a function once with the indices of all elements. Collective.

    Parameters
    ----------
    function
        Of as many global arrays as there are dimensions: each has the shape, and the index along its dimension as
        elements.
    shape, dtype, layout, onenode
        Of these arrays, as for `empty`, and so are the errors.
    options
        More arguments of the function, by name.

    Returns
    -------
    What the function returns.

    Raises
    ------
    TypeError
        If what comes first is no function.

    Examples
    --------
    >>> import pgaspy as pg
    >>> pg.fromfunction(lambda i, j: 10 * i + j, (2, 3), dtype=int).gather()
    array([[ 0,  1,  2],
           [10, 11, 12]])
    """
    if not callable(function):
        raise TypeError(f"fromfunction takes a function, then a shape; what comes first is a {type(function).__name__}")
    extents = _checked_shape(shape)
    return function(*(_index_along(d, empty(extents, dtype, layout=layout, onenode=onenode, device=device))
                      for d in range(len(extents))), **options)


def _index_along(d: int, array: GlobalArray) -> GlobalArray:
    """Fill an array: with the index along its dimension d."""
    def write(local: NDArray[Any], view: View, rank: int) -> None:
        along = local_indices(view, d, rank).astype(local.dtype)
        local[...] = along.reshape([-1 if e == d else 1 for e in range(view.ndim)])

    return written(array, write)


ELEMENTS_AT_A_TIME = 1 << 14
"""Of what is generated: some 100 KB."""


def generated(array: GlobalArray, values: Callable[..., Any]) -> GlobalArray:
    """Fill an array: `values` maps global indices per dimension to the elements at all of them.

    It is called for some rows at a time, so that what it takes and gives stays in the cache.
    """
    return written(array, functools.partial(_write_rows, values))


def _write_rows(values: Callable[..., Any], local: NDArray[Any], view: View, rank: int) -> None:
    others = [local_indices(view, d, rank) for d in range(1, view.ndim)]
    n_rows = max(ELEMENTS_AT_A_TIME * len(local) // local.size, 1)
    for start in range(0, len(local), n_rows):
        rows = local[start:start + n_rows]
        rows[...] = values(indices_between(view, 0, rank, start, start + len(rows)), *others)


def _progression(array: GlobalArray, first: Any, step: Any, values: Callable[[NDArray[np.int64]], Any],
                 last: Any = None) -> GlobalArray:
    """Fill a vector with `first + i*step`, computed in its dtype, and at its end with what is given as the last.

    `values` does the same as for `generated`, where no kernel does.
    """
    if not bindings.has_progression(array.dtype):
        return generated(array, values)
    terms = np.array([first, step], array.dtype)

    def write(local: NDArray[Any], view: View, rank: int) -> None:
        if is_telling():  # kernels do not see floating-point errors
            _write_rows(values, local, view, rank)
            return
        owned = owned_segments(view, 0, rank)
        bindings.progression(terms, owned.start, owned.length, local)
        if last is not None and owned.start[-1] + owned.length[-1] == view.shape[0]:
            local[-1] = last

    return written(array, write)


def written(array: GlobalArray, write: Callable[[NDArray[Any], View, int], None]) -> GlobalArray:
    """Fill an array: `write` does it, which is called with the local part, the view and the rank."""
    view = array._view

    def fill(storage: Storage) -> None:
        rank = world().rank
        if storage.local.size and view.layout.holds(view.layout.coords_from_rank(rank)):
            write(storage.local, view, rank)

    if not small.filled(array, fill):
        take_numbers(write)
        record(generate(view.layout), (array._base.storage,), (fill,))
    return array


def _checked_shape(shape: Shape) -> tuple[int, ...]:
    extents = tuple([operator.index(n) for n in as_extents(shape)])
    if any(n < 0 for n in extents):
        raise ValueError(f"negative dimensions are not allowed: shape {extents}")
    return extents
