"""Sections: what is taken from a small array, or assigned to it."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from pgaspy.alone.keys import MAX_MASKED, may_select, n_dims, numpys_key, with_integers
from pgaspy.alone.likeness import (
    index,
    index_result,
    is_distributed,
    like_of,
    likeness,
    select,
    transpose,
    transpose_result,
)
from pgaspy.alone.small import (
    MAX_ELEMENTS,
    NUMBERS,
    Small,
    are_few,
    called,
    elements_of,
    is_clear,
    is_exact_cast,
    is_writable,
    kinds,
    operand,
    origin,
    ready,
    source_of_new,
    takes,
)
from pgaspy.job.defaults import default_for
from pgaspy.job.failures import is_interrupt
from pgaspy.operands import WEAK
from pgaspy.planning.view import whole
from pgaspy.scheduling.floating_point import silently

__all__ = ["accumulated_at", "is_assigned", "put", "section", "transposed"]

_NUMBERS = frozenset({int, float})

_ACCUMULATING = frozenset({np.add, np.subtract, np.multiply})
"""The functions of which NumPy and kernels give the same bits, of whatever they are given."""

_EXTREMES = frozenset({np.minimum, np.maximum})
"""Those of which they do but for the sign of zeros."""


def section(x: Any, key: Any) -> Small | None:
    """`x[key]`; None if it is not made here.

    By integers and slices it is a view; by arrays of integers, or by a mask, a copy, which lies as an array of integers
    does that is dealt out, or else as a new array.
    """
    key, is_slicing = with_integers(key)
    if x.__class__ not in kinds or not (is_slicing or may_select(key)) or not is_clear():
        return None
    elements = elements_of(x)
    if elements is None:
        return None
    if not is_slicing:
        return _selected(elements, key)
    found = _part(elements, key)
    if found is None or not are_few(found.size, found.dtype) or (found.__class__ is np.ndarray and not found.ndim):
        return None
    like, owner, is_exact = origin(x)
    like = likeness(index if is_exact else index_result, like, key)
    return found, (like, owner, True) if found.shape else (like, None, False)


def transposed(x: Any, order: tuple[int, ...]) -> Small | None:
    """A view of an array with several dimensions in an order; None if it is not made here."""
    elements = ready(x)
    if elements is None or not elements.shape:
        return None
    like, owner, is_exact = origin(x)
    return elements.transpose(order), (likeness(transpose if is_exact else transpose_result, like, order), owner, True)


def _part(elements: Any, key: Any) -> Any:
    """The elements that a key of integers and slices names; None if there are none."""
    try:
        return elements[key]
    except (IndexError, TypeError) as error:
        if is_interrupt(error):
            raise
        return None


def _selected(elements: Any, key: Any) -> Small | None:
    """The elements that a key with arrays names."""
    numpys = numpys_key(elements, key)
    if numpys is None:
        return None
    found = called(elements.__getitem__, numpys)
    if found is None:
        return None
    found = np.ascontiguousarray(found)
    if key.__class__ in kinds and numpys.__class__ is tuple and is_distributed(like := like_of(key)):
        return found, (likeness(select, like, elements.shape[1:]), None, True)
    if numpys.__class__ is not tuple and numpys.ndim < elements.ndim and elements.flags.c_contiguous:
        return found, (likeness(select, whole(default_for(found.shape[:1])), found.shape[1:]), None, True)
    return found, source_of_new(found.shape)


def is_assigned(x: Any, key: Any, value: Any) -> bool:
    """`x[key] = value`; whether it was done.

    Floats are cut to integers, and other dtypes are cast where all who cast give the same bits.
    """
    key, is_slicing = with_integers(key)
    if x.__class__ not in kinds or not (is_slicing or may_select(key)):
        return False
    if value.__class__ is float and x.dtype.kind in "iu":
        value = _whole(value, x.dtype)
    operands = _operands(x, value, None if is_slicing else MAX_MASKED, True)
    if operands is None:
        return False
    elements, value = operands
    is_number = value.__class__ in WEAK or not value.shape
    if not is_slicing:
        numpys = numpys_key(elements, key, MAX_ELEMENTS if is_number else MAX_MASKED)
        if numpys is None:
            return False
        if not is_number:
            if value.dtype is not elements.dtype:
                value = silently(value.astype, elements.dtype)
            ordered = _in_order(elements, numpys, value)
            if ordered is None:
                return False
            numpys, value = ordered
            if numpys.__class__ is not tuple and np.may_share_memory(elements, value):
                value = value.copy()  # of what a mask names, NumPy overwrites some before they are assigned
        return called(elements.__setitem__, numpys, value, default=True) is not None
    part = _part(elements, key)
    if part is None or not (part.shape or is_number) or not are_few(part.size, part.dtype):
        return False
    target, key = (part, ...) if part.shape else (elements, key)
    if not is_number and _is_overwritten(part, value):
        value = value.copy()
    return called(target.__setitem__, key, value, default=True) is not None


def _whole(number: float, dtype: np.dtype[Any]) -> float:
    """What a number is as an element of an integer dtype; itself where that is not the same for all who cast."""
    limits = np.iinfo(dtype)
    if not math.isfinite(number) or not limits.min <= (whole := int(number)) <= limits.max:
        return number
    return whole


def accumulated_at(ufunc: np.ufunc, x: Any, key: Any, value: Any) -> bool:
    """`ufunc.at(x, key, value)`, of what has the same dtype, or a Python number; whether it was done."""
    if ufunc not in _ACCUMULATING | _EXTREMES or x.__class__ not in kinds or not may_select(key):
        return False
    operands = _operands(x, value)
    if operands is None:
        return False
    elements, value = operands
    if ufunc in _EXTREMES and not (elements.dtype.kind in "iu" or (elements.dtype.char in "fd" and np.all(value))):
        return False
    numpys = numpys_key(elements, key)
    is_vector = value.__class__ is np.ndarray and value.ndim == 1
    if numpys is None or (is_vector and numpys.__class__ is tuple and len(numpys) == 1 and numpys[0].ndim > 1):
        return False  # of such, NumPy (2.4) reads beyond the vector, which each row of indices is to take
    if np.ndim(value) > n_dims(elements, numpys):
        return False  # which NumPy (2.4) reads beyond what a key with slices has
    return called(ufunc.at, elements, numpys, value, default=True) is not None


def put(x: Any, indices: Any, values: Any) -> bool:
    """Assign values, one after the other and again from the first, to elements that are counted in row-major order;
    whether it was done.
    """
    places = operand(_as_array(indices))
    if x.__class__ not in kinds or places is None or places.dtype.kind not in "iu":
        return False
    operands = _operands(x, values, MAX_ELEMENTS, True)
    if operands is None:
        return False
    elements, given = operands
    n = elements.size
    if not takes(elements.shape) or not np.size(given) or not np.all((places >= -n) & (places < n)):
        return False
    return called(np.put, elements, places, given, default=True) is not None


def _as_array(x: Any, dtype: np.dtype[Any] | None = None) -> Any:
    """A list of numbers as an array, of integers in the range of a dtype; anything else as it is."""
    if x.__class__ is not list or not x or not _NUMBERS.issuperset(map(type, x)):
        return x
    try:
        return np.asarray(x, dtype)
    except (OverflowError, ValueError) as error:
        if is_interrupt(error):
            raise
        return x


def _operands(x: Any, value: Any, max_elements: int | None = MAX_ELEMENTS,
              may_cast: bool = False) -> tuple[Any, Any] | None:
    """The elements of an array, and a value that has their dtype, or may be cast to it, or is a Python number that this
    holds; None where nothing is written here, or where these are too many.
    """
    is_number = value.__class__ in WEAK
    if value.__class__ is list:
        value = _as_array(value, x.dtype if x.dtype.kind in "iu" else None)
    if not is_clear() or (not is_number and (value := operand(value, max_elements)) is None):
        return None
    if (elements := elements_of(x)) is None or not is_writable(x):
        return None
    if is_number:
        fits = value.__class__ in NUMBERS.get(elements.dtype.kind, ())
    else:
        fits = value.dtype is elements.dtype or (may_cast and is_exact_cast(value.dtype, elements.dtype))
    return (elements, value) if fits else None


def _is_overwritten(part: Any, value: Any) -> bool:
    """Whether NumPy may overwrite elements of a value before it assigns them: it makes no copy in one dimension."""
    return part.ndim == 1 and part.strides[0] != value.strides[-1] and np.may_share_memory(part, value)


def _in_order(elements: Any, key: Any, values: Any) -> tuple[Any, Any] | None:
    """A key with arrays, and values that NumPy assigns in the order of rows to what it names, so that the last one
    counts; None if it would not.

    It goes through memory as that suits several operands; so all are in that order, and of one shape.
    """
    if key.__class__ is not tuple:
        return key, values  # a mask, which names nothing twice
    arrays = [k for k in key if k.__class__ is np.ndarray]
    if len(arrays) == 1 and arrays[0].ndim == 1:  # whose indices are taken one after the other, whatever the values are
        ordered = tuple([np.ascontiguousarray(k) if k is arrays[0] else k for k in key])
        return ordered, values.copy() if np.may_share_memory(elements, values) else values
    shape = key[0].shape if key[0].__class__ is np.ndarray else None
    for k in key:
        if k.__class__ is not np.ndarray or k.shape != shape or k.dtype.kind == "b":
            return None
    if values.shape != shape + elements.shape[len(key):]:
        return None
    return tuple(map(np.ascontiguousarray, key)), np.ascontiguousarray(values)
