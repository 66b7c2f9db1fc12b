"""Arrays that are joined along a dimension, or a new one."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.lib.array_utils import normalize_axis_index
from numpy.typing import DTypeLike

from pgaspy import ufuncs
from pgaspy.alone.likeness import index, likeness, view_like
from pgaspy.alone.small import kinds
from pgaspy.array import GlobalArray
from pgaspy.creation import as_global
from pgaspy.dispatch import implements
from pgaspy.manipulation import empty_like_result, expand_dims
from pgaspy.operands import WEAK, dtype_of_cast, refuse_truths
from pgaspy.small_calls import by_numpy

__all__ = ["concat", "concatenate", "joined_dtype", "stack"]


def _like_joined(arrays: Any, axis: int | None = 0, *_: Any, **__: Any) -> Any:
    """The first array, if it is one, and is not to become a vector."""
    first = arrays[0]
    return view_like(first) if first.__class__ in kinds and (axis is not None or first.ndim == 1) else None


@implements(np.concatenate)
@by_numpy(np.concatenate, like=_like_joined)
def concatenate(arrays: Sequence[Any], /, axis: int | None = 0, out: GlobalArray | None = None, *,
                dtype: DTypeLike | None = None, casting: Any = "same_kind") -> GlobalArray:
    """Arrays joined along a dimension that they have. Collective.

    Parameters
    ----------
    arrays
        One or more, of the same extents in all other dimensions.
    axis
        The dimension; with None, the elements are joined in row-major order.
    out
        An array of the result's shape, to which the result is assigned, and which is returned; instead of `dtype`.
    dtype
        Of the result; by default that which all are promoted to.
    casting
        Which casts to the dtype there may be, as for `numpy.can_cast`; within a kind by default.

    Returns
    -------
    A new array, dealt out over the grid as the first one is.

    Raises
    ------
    ValueError
        If there are no arrays, if they have no dimensions, if their extents differ, or if `out` has another shape.
    TypeError
        If one is not cast to the dtype.

    Examples
    --------
    >>> import pgaspy as pg
    >>> pg.concatenate((pg.arange(3), [7.0, 8.0])).gather()
    array([0., 1., 2., 7., 8.])
    """
    given = [*arrays]
    refuse_truths(axis)
    if not given:
        raise ValueError("need at least one array to concatenate")
    arrays = [as_global(a) for a in given]
    if axis is None:
        arrays, axis = [a.ravel() for a in arrays], 0
    first = arrays[0]
    if not first.ndim:
        raise ValueError("zero-dimensional arrays cannot be concatenated")
    axis = normalize_axis_index(axis, first.ndim)
    for n, a in enumerate(arrays):
        if a.shape[:axis] + a.shape[axis + 1:] != first.shape[:axis] + first.shape[axis + 1:] or a.ndim != first.ndim:
            raise ValueError("all the input array dimensions except for the concatenation axis must match exactly, "
                             f"but array 0 has shape {first.shape} and array {n} has shape {a.shape}")
    extents = [a.shape[axis] for a in arrays]
    total = (*first.shape[:axis], int(np.sum(extents)), *first.shape[axis + 1:])
    if out is not None:
        _check_joined(out, total, dtype)
        dtype = out.dtype
    dtype = joined_dtype([x if x.__class__ in WEAK else a for x, a in zip(given, arrays, strict=True)], dtype, casting)
    result = empty_like_result(first, total, dtype) if out is None else out
    start = 0
    for a, extent in zip(arrays, extents, strict=True):
        result[(slice(None),) * axis + (slice(start, start + extent),)] = a
        start += extent
    return result


concat = concatenate


def joined_dtype(arrays: Sequence[Any], dtype: DTypeLike | None = None, casting: Any = "same_kind") -> np.dtype[Any]:
    """The dtype of arrays that are joined, and of Python's numbers, which follow; all arrays have to be cast to it."""
    if dtype is None:
        dtype = np.result_type(*(x if x.__class__ in WEAK else x.dtype for x in arrays))
    dtype = np.dtype(dtype)
    if dtype.kind in "SU" and not dtype.itemsize:  # as long as the longest of them
        kinds = [np.asarray(x).dtype if x.__class__ in WEAK else x.dtype for x in arrays]
        dtype = np.result_type(*(dtype_of_cast(kind, dtype) for kind in kinds))
    for a in arrays:
        if a.__class__ not in WEAK and not np.can_cast(a.dtype, dtype, casting):
            raise TypeError(f"Cannot cast array data from {a.dtype!r} to {dtype!r} according to the rule {casting!r}")
    return dtype


def _check_joined(out: GlobalArray, shape: tuple[int, ...], dtype: DTypeLike | None) -> None:
    """Refuse what cannot take arrays that are joined."""
    ufuncs.check_target(out, is_assigned=True)
    if dtype is not None:
        raise TypeError("concatenate() only takes `out` or `dtype` as an argument, but both were provided.")
    if out.shape != shape:
        raise ValueError(f"Output array is the wrong shape: {out.shape}, where the result has {shape}")


def _like_stacked(arrays: Any, axis: int = 0, *_: Any, **__: Any) -> Any:
    """The first array, with a new dimension, if it is one."""
    first = arrays[0]
    if first.__class__ not in kinds or not first.ndim:
        return None
    return likeness(index, view_like(first), (*(slice(None),) * (axis % (first.ndim + 1)), None))


@implements(np.stack)
@by_numpy(np.stack, like=_like_stacked)
def stack(arrays: Sequence[Any], axis: int = 0, out: GlobalArray | None = None, *, dtype: DTypeLike | None = None,
          casting: Any = "same_kind") -> GlobalArray:
    """Arrays of one shape joined along a new dimension. Collective.

    Parameters
    ----------
    arrays
        One or more.
    axis
        The position of the dimension in the result.
    out, dtype, casting
        As for `concatenate`.

    Returns
    -------
    A new array; the extent along `axis` is the number of arrays.

    Raises
    ------
    ValueError
        If there are no arrays, if their shapes differ, if the result has no such dimension, or if `out` has another
        shape.
    TypeError
        If one is not cast to the dtype.

    Examples
    --------
    >>> import pgaspy as pg
    >>> pg.stack((pg.arange(3), pg.ones(3, int)), axis=1).gather()
    array([[0, 1],
           [1, 1],
           [2, 1]])
    """
    arrays = [as_global(a) for a in arrays]
    if not arrays:
        raise ValueError("need at least one array to stack")
    if len({a.shape for a in arrays}) > 1:
        raise ValueError(f"all input arrays must have the same shape, not {[a.shape for a in arrays]}")
    axis = normalize_axis_index(axis, arrays[0].ndim + 1)
    return concatenate([expand_dims(a, axis) for a in arrays], axis, out, dtype=dtype, casting=casting)
