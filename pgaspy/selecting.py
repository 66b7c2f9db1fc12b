"""NumPy's functions that select elements, or write to some: by indices, by masks, by conditions.

They are thin: what they take becomes a key, and `indexing` does the rest.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

import numpy as np
from numpy.lib.array_utils import normalize_axis_index

from pgaspy import ufuncs
from pgaspy.alone import sections, small
from pgaspy.array import Axis, GlobalArray, check_array, into, made
from pgaspy.concatenation import stack
from pgaspy.creation import arange, array, as_array, as_global, as_values
from pgaspy.dispatch import implements
from pgaspy.execution.recording import taking_memory
from pgaspy.indexing import (
    Compaction,
    as_indices,
    bring,
    counted,
    fetched,
    positions,
    put_where,
    repeated,
    rest_of,
)
from pgaspy.manipulation import broadcast_to, where
from pgaspy.operands import WEAK, as_numpy, refuse_truths
from pgaspy.small_calls import MAX_PASSED, as_new, by_numpy, written_by_numpy
from pgaspy.values import is_any

__all__ = [
    "argwhere", "choose", "compress", "copyto", "count_nonzero", "extract", "flatnonzero", "nonzero", "place", "put",
    "put_along_axis", "putmask", "select", "take", "take_along_axis",
]

MAX_COUNTED = 1 << 20
"""Elements of a mask that NumPy passes through in the time in which it is recorded to do so, and waited for."""

Mode = str


@taking_memory
def _brought_within(indices: Any, extent: int, mode: Mode) -> Any:
    """Indices with those beyond an extent wrapped round or clipped; as they are, where they are to be refused."""
    _check_mode(mode)
    given, indices = indices, as_indices(indices)
    if indices.dtype.kind in "uf" and not isinstance(given, GlobalArray | np.ndarray):  # of each number in a list
        indices = as_numpy(given, np.int64)
    if indices.dtype.kind not in "iub":
        raise _no_cast(indices.dtype, np.dtype(np.intp), "safe")
    indices = indices.astype(np.int64, copy=False)  # a narrow one may not hold the extent
    if mode == "raise" or not indices.size:
        return indices
    if not extent:
        raise IndexError("cannot do a non-empty take from an empty axes.")
    return indices % extent if mode == "wrap" else indices.clip(0, extent - 1)


def _check_mode(mode: Mode) -> None:
    if mode not in ("raise", "wrap", "clip"):
        raise ValueError(f"clipmode must be one of 'clip', 'raise', or 'wrap' (got {mode!r})")


def _no_cast(given: np.dtype[Any], wanted: np.dtype[Any], casting: str) -> TypeError:
    return TypeError(f"Cannot cast array data from {given!r} to {wanted!r} according to the rule {casting!r}")


def _check_safe(values: Any, dtype: np.dtype[Any]) -> None:
    """Refuse arrays of a dtype that is not cast safely; all else, as a number or a list of some, is taken."""
    if isinstance(values, GlobalArray | np.ndarray) and not np.can_cast(values.dtype, dtype, "safe"):
        raise _no_cast(values.dtype, dtype, "safe")


# By indices ----------------------------------------------------------------------------------------------------------


def _is_number(a: Any = None, indices: Any = None, **_: Any) -> bool:
    """Whether `take` takes one index, so that what it gives is a section."""
    return isinstance(indices, int | np.integer)


@implements(np.take)
@by_numpy(np.take, lying="as given", stays=_is_number)
def take(a: Any, indices: Any, axis: int | None = None, out: GlobalArray | None = None,
         mode: Mode = "raise") -> GlobalArray:
    """The elements, or what is at some indices along a dimension. Collective.

    Parameters
    ----------
    a
        An array.
    indices
        Integers of any shape: a global array, or what is the same on every process.
    axis
        A dimension; by default the elements are counted in row-major order.
    out
        An array of the result's shape, to which the result is assigned, and which is returned. Its dtype is cast safely
        to that of `a`.
    mode
        What becomes of indices beyond the dimension: "raise" an error, "wrap" or "clip".

    Returns
    -------
    A copy, with the dimensions of `indices` in the place of `axis`; in the layout that `a[indices]` has.

    Raises
    ------
    IndexError
        For indices beyond the dimension, with `mode` "raise".
    TypeError
        For indices that are no integers.

    Examples
    --------
    >>> import pgaspy as pg
    >>> A = pg.arange(12).reshape(3, 4)
    >>> pg.take(A, [0, -1], axis=1).gather()
    array([[ 0,  3],
           [ 4,  7],
           [ 8, 11]])
    >>> pg.take(A, [5, 20], mode="clip").gather()
    array([ 5, 11])
    """
    a = as_global(a)
    _check_safe(out, a.dtype)
    refuse_truths(axis)
    if axis is None and a.ndim == 1:
        axis = 0  # the same, and there a plain section
    if axis is None or (not a.ndim and axis in (0, -1)):
        selection = counted(a._view, flat := _brought_within(indices, a.size, mode))
        is_one = isinstance(flat, np.ndarray) and not flat.ndim
        found = a[np.unravel_index(int(flat) % a.size, a.shape)].copy() if is_one else fetched(a, selection)
    else:
        d = normalize_axis_index(axis, a.ndim)
        indices = _brought_within(indices, a.shape[d], mode)
        found = a[(*(slice(None),) * d, indices, *rest_of(a, d))]
        if not indices.ndim:
            found = found.copy()
    return into(found, (out,), "unsafe")


@implements(np.put)
def put(a: GlobalArray, ind: Any, v: Any, mode: Mode = "raise") -> None:
    """Assign to elements that are counted in row-major order. Collective.

    Parameters
    ----------
    a
        An array.
    ind
        Integers: a global array, or what is the same on every process. Of several that are equal the last counts.
    v
        The values; they are repeated, if they are fewer.
    mode
        As for `take`.

    Raises
    ------
    IndexError
        For indices beyond the array, with `mode` "raise".

    Examples
    --------
    >>> import pgaspy as pg
    >>> A = pg.zeros((2, 3), int)
    >>> pg.put(A, [0, -1], [7, 8])
    >>> A.gather()
    array([[7, 0, 0],
           [0, 0, 8]])
    """
    check_array(a, "put")
    ufuncs.check_target(a, is_assigned=True)
    if small.is_on and mode == "raise" and sections.put(a, ind, v):
        return
    _check_mode(mode)
    _check_safe(ind, np.dtype(np.intp))
    values = as_values(v, a.dtype)  # which raises, also where nothing is assigned
    indices = _brought_within(ind, a.size, mode).reshape(-1)
    if indices.size and values.size:
        bring(a, counted(a._view, indices), repeated(values, indices.size))


@implements(np.take_along_axis)
@by_numpy(np.take_along_axis)
def take_along_axis(arr: Any, indices: Any, axis: int | None = -1) -> GlobalArray:
    """The elements at indices along a dimension, which differ from row to row. Collective.

    Parameters
    ----------
    arr
        An array.
    indices
        Integers, in as many dimensions; the others than `axis` broadcast with those of the array.
    axis
        The dimension; with None, the array is taken as flat, and so are the indices.

    Raises
    ------
    IndexError
        For indices beyond the dimension, or that are no integers, or do not broadcast.
    ValueError
        If the numbers of dimensions differ.

    Examples
    --------
    >>> import pgaspy as pg
    >>> A = pg.array([[10, 30, 20], [60, 40, 50]])
    >>> pg.take_along_axis(A, A.argmax(axis=1, keepdims=True), axis=1).gather()
    array([[30],
           [60]])
    """
    arr, indices = as_global(arr), as_array(indices)
    if axis is None:
        return fetched(arr, counted(arr._view, _one_dimension(indices)))
    return arr[_along(arr, indices, axis)]


@implements(np.put_along_axis)
def put_along_axis(arr: GlobalArray, indices: Any, values: Any, axis: int | None) -> None:
    """Assign to the elements at indices along a dimension, which differ from row to row. Collective.

    Parameters
    ----------
    arr, indices, axis
        As for `take_along_axis`.
    values
        What is assigned; it broadcasts to the indices.

    Raises
    ------
    IndexError, ValueError
        As for `take_along_axis`; ValueError also for values that do not broadcast.

    Examples
    --------
    >>> import pgaspy as pg
    >>> A = pg.array([[10, 30, 20], [60, 40, 50]])
    >>> pg.put_along_axis(A, A.argmax(axis=1, keepdims=True), 99, axis=1)
    >>> A.gather()
    array([[10, 99, 20],
           [99, 40, 50]])
    """
    check_array(arr, "put_along_axis")
    indices = as_array(indices)
    if axis is None:
        bring(arr, counted(arr._view, _one_dimension(indices)), values)
    else:
        arr[_along(arr, indices, axis)] = values


def _one_dimension(indices: Any) -> Any:
    if indices.ndim != 1:
        raise ValueError("when axis=None, `indices` must have a single dimension.")
    return indices


def _along(arr: GlobalArray, indices: Any, axis: int) -> tuple[Any, ...]:
    """The key of `indices` along a dimension, and of each index along the others."""
    d = normalize_axis_index(axis, arr.ndim)
    if indices.ndim != arr.ndim:
        raise ValueError("`indices` and `arr` must have the same number of dimensions")
    if indices.dtype.kind not in "iu":
        raise IndexError("`indices` must be an integer array")
    return tuple(indices if p == d else arange(n)[(slice(None), *(None,) * (arr.ndim - p - 1))]
                 for p, n in enumerate(arr.shape))


# By masks ------------------------------------------------------------------------------------------------------------


@implements(np.flatnonzero)
@by_numpy(np.flatnonzero, lying="by default")
def flatnonzero(a: Any) -> GlobalArray:
    """The numbers, in row-major order, of the elements that are not zero. Collective; waits for how many there are.

    Examples
    --------
    >>> import pgaspy as pg
    >>> pg.flatnonzero(pg.array([[0, 3], [5, 0]])).gather()
    array([1, 2])
    """
    return _numbers_of_true(_is_true(as_global(a)).reshape(-1))


@by_numpy(np.flatnonzero, like=as_new, max_elements=MAX_COUNTED)
def _numbers_of_true(mask: GlobalArray) -> GlobalArray:
    return positions(mask)


def _is_true(a: GlobalArray) -> GlobalArray:
    return a if a.dtype == bool else a != np.zeros((), a.dtype)


@implements(np.nonzero)
@by_numpy(np.nonzero, lying="by default")
def nonzero(a: Any) -> tuple[GlobalArray, ...]:
    """The indices of the elements that are not zero, an array for each dimension. Collective; waits for the number.

    Raises
    ------
    ValueError
        For an array of no dimension.

    Examples
    --------
    >>> import pgaspy as pg
    >>> rows, columns = pg.nonzero(pg.array([[0, 3], [5, 0]]))
    >>> rows.gather(), columns.gather()
    (array([0, 1]), array([1, 0]))
    """
    a = as_global(a)
    if not a.ndim:
        raise ValueError("Calling nonzero on 0d arrays is not allowed. Use np.atleast_1d(scalar).nonzero() instead.")
    rest: Any = flatnonzero(a)
    found = []
    for n in reversed(a.shape[1:]):
        found.append(rest % n)
        rest = rest // n
    return rest, *reversed(found)


@implements(np.argwhere)
@by_numpy(np.argwhere)
def argwhere(a: Any) -> GlobalArray:
    """The indices of the elements that are not zero, one row for each. Collective; waits for how many there are.

    Examples
    --------
    >>> import pgaspy as pg
    >>> pg.argwhere(pg.array([[0, 3], [5, 0]])).gather()
    array([[0, 1],
           [1, 0]])
    """
    a = as_global(a)
    return stack(nonzero(a), axis=1) if a.ndim else stack(nonzero(a[None]), axis=1)[:, :0]


@implements(np.count_nonzero)
@by_numpy(np.count_nonzero, max_elements=MAX_PASSED)
def count_nonzero(a: Any, axis: Axis = None, *, keepdims: bool = False) -> GlobalArray:
    """How many elements are not zero, along dimensions; all by default. Collective; all else is as for `sum`.

    Examples
    --------
    >>> import pgaspy as pg
    >>> int(pg.count_nonzero(pg.array([[0, 3], [5, 0]])))
    2
    """
    return _is_true(as_global(a)).sum(axis=axis, keepdims=keepdims)


@implements(np.compress)
@by_numpy(np.compress, lying="by default")
def compress(condition: Any, a: Any, axis: int | None = None, out: GlobalArray | None = None) -> GlobalArray:
    """What a condition of one dimension is true for along a dimension. Collective; waits for how much that is.

    Parameters
    ----------
    condition
        One dimension; where it is shorter than the array, the rest is left out.
    a
        An array.
    axis
        A dimension; by default the elements are counted in row-major order.
    out
        An array of the result's shape, to which the result is assigned, and which is returned.

    Raises
    ------
    ValueError
        If the condition has not one dimension.
    IndexError
        If it is true beyond the array.

    Examples
    --------
    >>> import pgaspy as pg
    >>> A = pg.arange(6).reshape(2, 3)
    >>> pg.compress([True, False, True], A, axis=1).gather()
    array([[0, 2],
           [3, 5]])
    """
    condition = as_array(condition)
    if condition.ndim != 1:
        raise ValueError("condition must be a 1-d array")
    found = flatnonzero(condition) if isinstance(condition, GlobalArray) else np.flatnonzero(condition)
    return take(a, found, axis, out)


@implements(np.extract)
@by_numpy(np.extract, lying="as given")
def extract(condition: Any, arr: Any) -> GlobalArray:
    """The elements that a condition is true for, both in row-major order. Collective; waits for how many there are.

    Raises
    ------
    IndexError
        If the condition is true beyond the array.

    Examples
    --------
    >>> import pgaspy as pg
    >>> A = pg.arange(6).reshape(2, 3)
    >>> pg.extract(A % 3 == 0, A).gather()
    array([0, 3])
    """
    arr, condition = as_global(arr), as_array(condition)
    if isinstance(condition, GlobalArray) and condition.shape == arr.shape:
        return Compaction(_is_true(condition)).elements(arr)
    return compress(condition.reshape(-1), arr)


@implements(np.place)
@written_by_numpy(np.place)
def place(arr: GlobalArray, mask: Any, vals: Any) -> None:
    """Assign values, one after the other and again from the first, to where a mask is true. Collective; waits for it.

    Parameters
    ----------
    arr
        An array.
    mask
        As many elements, in row-major order.
    vals
        The values.

    Raises
    ------
    ValueError
        If the mask has another number of elements, or there are no values.
    TypeError
        For a number, and an array of values that is not cast safely to the dtype of `arr`.

    Examples
    --------
    >>> import pgaspy as pg
    >>> A = pg.arange(6)
    >>> pg.place(A, A > 2, [70, 80])
    >>> A.gather()
    array([ 0,  1,  2, 70, 80, 70])
    """
    check_array(arr, "place")
    _check_safe(vals, arr.dtype)
    mask = as_array(mask)
    if mask.size != arr.size:
        raise ValueError("place: mask and data must be the same size")
    found = flatnonzero(mask) if isinstance(mask, GlobalArray) else np.flatnonzero(mask)
    if found.size and not np.size(vals):
        raise ValueError("Cannot insert from an empty array!")
    put(arr, found, vals)


@implements(np.putmask)
@written_by_numpy(np.putmask)
def putmask(a: GlobalArray, mask: Any, values: Any) -> None:
    """Assign to where a mask is true the values at the same places, repeated if they are fewer. Collective.

    Parameters
    ----------
    a
        An array.
    mask
        Of as many elements.
    values
        Of any number of elements.

    Raises
    ------
    ValueError
        If the mask has another number of elements.
    TypeError
        For an array of values that is not cast safely to the dtype of `a`.

    Examples
    --------
    >>> import pgaspy as pg
    >>> A = pg.arange(6)
    >>> pg.putmask(A, A > 2, A * A)
    >>> A.gather()
    array([ 0,  1,  2,  9, 16, 25])
    """
    check_array(a, "putmask")
    given, mask, values = values, as_array(mask), as_values(values, a.dtype)
    if mask.size != a.size:
        raise ValueError("putmask: mask and data must be the same size")
    _check_safe(given, a.dtype)
    if not values.size:
        return
    if values.size > 1:
        values = values if values.shape == a.shape else repeated(
            values.reshape(-1)[:a.size], a.size).reshape(a.shape)
    put_where(a, mask.reshape(a.shape).astype(bool, copy=False), values)


@implements(np.copyto)
@written_by_numpy(np.copyto)
def copyto(dst: GlobalArray, src: Any, casting: str = "same_kind", where: Any = True) -> None:
    """Assign an array to another one, where a mask is true. Collective.

    Parameters
    ----------
    dst
        The array that is written to; or NumPy's, if `src` has no dimensions.
    src
        What broadcasts to it.
    casting
        Which casts there may be, as NumPy has it.
    where
        Booleans that broadcast to it.

    Raises
    ------
    TypeError
        For a cast that there may not be.
    ValueError
        If the shapes do not broadcast.

    Examples
    --------
    >>> import pgaspy as pg
    >>> A = pg.arange(4)
    >>> pg.copyto(A, -1, where=A > 1)
    >>> A.gather()
    array([ 0,  1, -1, -1])
    """
    if isinstance(dst, np.ndarray) and isinstance(src, GlobalArray) and not src.ndim:
        np.copyto(dst, src.gather(), casting, where)  # for NumPy's full_like, too
        return
    check_array(dst, "copyto")
    ufuncs.check_target(dst, is_assigned=True)
    given = src if type(src) in WEAK else as_array(src)
    kind = np.result_type(given, dst.dtype) if type(src) in WEAK else given.dtype  # a number's is that which it meets
    if not np.can_cast(kind, dst.dtype, casting):  # type: ignore[arg-type]
        raise _no_cast(kind, dst.dtype, casting)
    if where is True:
        dst[...] = given
        return
    mask = as_array(where)
    if mask.dtype != bool:
        raise _no_cast(mask.dtype, np.dtype(bool), "safe")
    put_where(dst, mask, given)


# By conditions -------------------------------------------------------------------------------------------------------


@implements(np.select)
@by_numpy(np.select)
def select(condlist: Sequence[Any], choicelist: Sequence[Any], default: Any = 0) -> GlobalArray:
    """Of several arrays the elements of the first whose condition is true. Collective.

    Parameters
    ----------
    condlist
        Booleans; all broadcast together.
    choicelist
        As many arrays.
    default
        What is taken where no condition is true.

    Raises
    ------
    ValueError
        If there are not as many arrays as conditions, or none.
    TypeError
        For conditions that are no booleans.

    Examples
    --------
    >>> import pgaspy as pg
    >>> x = pg.arange(6)
    >>> pg.select([x < 2, x > 3], [-x, x * x], default=9).gather()
    array([ 0, -1,  9,  9, 16, 25])
    """
    if len(condlist) != len(choicelist):
        raise ValueError("list of cases must be same length as list of conditions")
    if not condlist:
        raise ValueError("select with an empty condition list is not possible")
    conditions = [as_array(condition) for condition in condlist]
    for n, condition in enumerate(conditions):
        if condition.dtype != bool:
            raise TypeError(f"invalid entry {n} in condlist: should be boolean ndarray")
    dtype = _common_dtype([*choicelist, default])
    found = _cast_number(default, dtype, "unsafe")
    choices = [_cast_number(choice, dtype, "same_kind") for choice in choicelist]
    for condition, choice in zip(reversed(conditions), reversed(choices), strict=True):
        found = where(condition, choice, found)
    return found.astype(dtype, copy=False)


def _cast_number(x: Any, dtype: np.dtype[Any], casting: Literal["same_kind", "unsafe"]) -> Any:
    """A number of Python's in a dtype, as by way of an array; anything else itself."""
    return as_numpy(x).astype(dtype, casting=casting)[()] if type(x) in (int, float, complex) else x


def _common_dtype(arrays: Sequence[Any]) -> np.dtype[Any]:
    """The dtype that arrays and numbers have in common."""
    return np.result_type(*(x.dtype if isinstance(x, GlobalArray) else x if type(x) in (int, float, complex)
                            else as_numpy(x).dtype for x in arrays))


@implements(np.choose)
@by_numpy(np.choose)
def choose(a: Any, choices: Any, out: GlobalArray | None = None, mode: Mode = "raise") -> GlobalArray:
    """Of several arrays the elements of the one that an array of integers names. Collective.

    Parameters
    ----------
    a
        Integers.
    choices
        The arrays, or one of which these are the rows; all broadcast together.
    out
        An array of the result's shape, to which the result is assigned, and which is returned.
    mode
        What becomes of integers that name no array: as for `take`, but negative ones are beyond, too.

    Raises
    ------
    ValueError
        For integers that name no array, with `mode` "raise".

    Examples
    --------
    >>> import pgaspy as pg
    >>> pg.choose([1, 0, 1], [pg.arange(3), 10 * pg.arange(3)]).gather()
    array([ 0,  1, 20])
    """
    choices = [array(choice) if isinstance(choice, list | tuple) and any(isinstance(x, GlobalArray) for x in choice)
               else choice for choice in (choices[k] for k in range(len(choices)))]
    dtype = _common_dtype(choices)
    arrays = [as_array(choice).astype(dtype, copy=False) for choice in choices]
    a = _brought_within(as_global(a), len(arrays), mode)
    if mode == "raise" and a.size and is_any((a < 0) | (a >= len(arrays))):
        raise ValueError("invalid entry in choice array")
    found = as_global(arrays[-1])
    for k in reversed(range(len(arrays) - 1)):
        found = where(a == k, arrays[k], found)
    if len(arrays) == 1:
        found = broadcast_to(found, np.broadcast_shapes(a.shape, found.shape)).copy()
    return into(made(found._base, found._view), (out,))
