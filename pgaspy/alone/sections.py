"""Sections: what is taken from a small array, or assigned to it."""

from __future__ import annotations

from typing import Any

import numpy as np

from pgaspy.alone.likeness import index, index_result, is_distributed, like_of, likeness
from pgaspy.alone.small import MAX_ELEMENTS, NUMBERS, Small, called, elements_of, is_borrowed, kinds, operand, takes
from pgaspy.execution import recording
from pgaspy.job.defaults import default_for
from pgaspy.job.failures import is_interrupt
from pgaspy.operands import WEAK
from pgaspy.planning.view import whole

__all__ = ["assigned", "section"]

_SLICING = frozenset({int, slice})
"""The classes of indices of which views are made here."""

_BOOL, _INTEGERS = np.dtype(bool), frozenset({np.dtype(np.int64), np.dtype(np.int32)})


def section(x: Any, key: Any) -> Small | None:
    """`x[key]`; None if it is not made here.

    By integers and slices it is a view; by an array of integers, or by a mask, a copy.
    """
    is_slicing = _is_slicing(key)
    if x.__class__ not in kinds or not (is_slicing or _may_be_index(key)) or not recording.is_clear():
        return None
    elements = elements_of(x)
    if elements is None:
        return None
    if not is_slicing:
        return _selected(elements, key)
    found = _part(elements, key)
    if found is None or found.size > MAX_ELEMENTS:
        return None
    like, owner, is_exact = x._source or (x._view, None, True)
    like = likeness(index if is_exact else index_result, like, key)
    return found, (like, x if owner is None else owner, True) if found.shape else (like, None, False)


def _part(elements: Any, key: Any) -> Any:
    """The elements that an index of integers and slices names; None if there are none of these indices."""
    try:
        return elements[key]
    except (IndexError, TypeError) as error:
        if is_interrupt(error):
            raise
        return None


def _selected(elements: Any, key: Any) -> Small | None:
    """The elements that an array of integers names, or for which a mask is true."""
    indices = _indices(key, elements)
    if indices is None or not takes(None, indices.shape):
        return None
    found = called(elements.__getitem__, indices)
    if found is None:
        return None
    like = like_of(key)
    if indices.dtype is _BOOL or not is_distributed(like):
        return found, (whole(default_for(found.shape)), None, True)
    return found, (like, None, False)


def assigned(x: Any, key: Any, value: Any) -> bool:
    """`x[key] = value`, of what has the same dtype, or a Python number; whether it was done."""
    is_slicing = _is_slicing(key) or key is Ellipsis
    if x.__class__ not in kinds or not (is_slicing or _may_be_index(key)):
        return False
    is_number = value.__class__ in WEAK
    if not is_number and (value := operand(value)) is None:
        return False
    if not recording.is_clear() or (elements := elements_of(x)) is None or is_borrowed(x):
        return False
    if is_number:
        if value.__class__ not in NUMBERS.get(elements.dtype.kind, ()):
            return False
    elif value.dtype is not elements.dtype:
        return False
    is_number = is_number or not value.shape
    if not is_slicing:
        indices = _indices(key, elements)
        return (indices is not None and (is_number or value.ndim == 1) and takes(None, elements.shape)
                and called(elements.__setitem__, indices, value, default=True) is not None)
    part = _part(elements, key)
    if part is None or not (part.shape or is_number) or not takes(None, part.shape):
        return False
    target, key = (part, ...) if part.shape else (elements, key)
    return called(target.__setitem__, key, value, default=True) is not None


def _is_slicing(key: Any) -> bool:
    return _SLICING.issuperset(map(type, key)) if key.__class__ is tuple else key.__class__ in _SLICING


def _may_be_index(key: Any) -> bool:
    """Whether an index is an array that may be small."""
    return key.__class__ in kinds and not key._is_number


def _indices(key: Any, elements: Any) -> Any:
    """The integers that an array has, for one dimension, or the mask, of the shape of the elements; else None."""
    found = operand(key)
    if found is None or not found.shape:
        return None
    if found.dtype is _BOOL:
        return found if found.shape == elements.shape else None
    return found if found.ndim == elements.ndim == 1 and found.dtype in _INTEGERS else None
