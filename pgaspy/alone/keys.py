"""Keys of small arrays: what they are made of, and what NumPy takes in their place."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from pgaspy.alone.small import MAX_ELEMENTS, kinds, operand, ready, takes
from pgaspy.execution import recording
from pgaspy.layout import MAX_NDIM

__all__ = ["MAX_MASKED", "clears", "may_select", "n_dims", "numpys_key", "with_integers"]

_SLICING = frozenset({int, slice, type(None), type(Ellipsis)})
"""The classes of what is no array in a key."""

_INT = frozenset({int})

MAX_MASKED = 1 << 20
"""Elements of an array that a mask selects from: what is selected has a shape that was not there before, mostly, and to
plan for it takes as long as NumPy does for so many.
"""


def clears(x: Any, key: Any) -> bool:
    """Execute what is recorded, where a key of few global indices, which may be wrong, or such a mask, would have that
    waited for in any case; whether `sections.section` and the others may do it then.

    So what comes next is done at once as well, until something else is recorded.
    """
    keys = key if key.__class__ is tuple else (key,)
    arrays = [k for k in keys if k.__class__ in kinds]
    if x.__class__ not in kinds or not arrays or not may_select(key):
        return False
    if any(k.dtype.kind == "b" for k in arrays) or any(k is None or k is Ellipsis for k in keys):
        is_small = x.size <= (MAX_ELEMENTS if key.__class__ is tuple else MAX_MASKED)
    else:
        is_small = max(k.size for k in arrays) * math.prod(x.shape[len(keys):]) <= MAX_ELEMENTS
    return is_small and recording.clears()


def with_integers(key: Any) -> tuple[Any, bool]:
    """A key with Python's integers for those of NumPy and for elements that are there, and whether it is of these, and
    slices, alone.
    """
    if _is_basic(key):
        return key, True
    key = tuple(map(_as_integer, key)) if key.__class__ is tuple else _as_integer(key)
    return key, _is_basic(key)


def _as_integer(k: Any) -> Any:
    """An entry of a key, or a bound of a slice in one, as an integer, where it is one; anything else as it is.

    So are those of a list, if NumPy has integers with a sign in their place, which stay integers beside Python's.
    """
    if k.__class__ is slice:
        return slice(_as_integer(k.start), _as_integer(k.stop), _as_integer(k.step))
    if k.__class__ is list:
        return k if _INT.issuperset(map(type, k)) else [_as_integer(x) if _is_signed(x) else x for x in k]
    number = ready(k) if k.__class__ in kinds and k._is_number else k if isinstance(k, np.generic) else None
    return k if number is None or number.dtype.kind not in "iu" else number.item()


def _is_signed(x: Any) -> bool:
    """Whether something is of a dtype of integers with a sign."""
    return getattr(getattr(x, "dtype", None), "kind", None) == "i"


def _is_basic(key: Any) -> bool:
    """Whether a key is of integers, of slices whose bounds stay what they are, of new dimensions, and of `...`."""
    return all(map(_is_plain, key)) if key.__class__ is tuple else _is_plain(key)


def _is_plain(k: Any) -> bool:
    return k.__class__ is int or k is None or k is Ellipsis or (k.__class__ is slice and _has_plain_bounds(k))


def _has_plain_bounds(key: slice) -> bool:
    return (key.start is None or key.start.__class__ is int) and (key.stop is None or key.stop.__class__ is int) and (
        key.step is None or key.step.__class__ is int)


def may_select(key: Any) -> bool:
    """Whether a key has arrays, or lists, which may name few elements; and else what views are made of."""
    if key.__class__ is tuple:
        others = [k for k in key if k.__class__ not in _SLICING]
        return bool(others) and len(key) <= MAX_NDIM and all(map(may_select, others))
    return (key.__class__ in kinds and not key._is_number) or key.__class__ is np.ndarray or (
        key.__class__ is list and _INT.issuperset(map(type, key)))


def numpys_key(elements: Any, key: Any, max_masked: int = MAX_MASKED) -> Any:
    """A key with arrays as NumPy takes it; None if it names too much, or if these are not of integers, or masks."""
    if (key.__class__ in kinds or key.__class__ is np.ndarray) and key.dtype.kind == "b":
        mask = operand(key, max_masked)
        is_taken = mask is not None and mask.ndim > 0 and mask.shape == elements.shape[:mask.ndim]
        return mask if is_taken and elements.size <= max_masked else None
    keys = key if key.__class__ is tuple else (key,)
    found = []
    n_joint = 1
    for k in keys:
        if k.__class__ not in _SLICING:
            k = operand(np.asarray(k) if k.__class__ is list and k else k, max_masked)
            if k is None or not k.shape or k.dtype.kind not in "iub":
                return None
            n_joint = max(n_joint, k.size)
        found.append(k)
    shape, n_each = elements.shape, 1
    n_left = len(shape) - sum(map(_n_taken, found))
    if n_left < 0:
        return None
    first = 0
    for k in found:
        stop = first + (n_left if k is Ellipsis else _n_taken(k))
        if k is Ellipsis or k.__class__ is slice:
            n_each *= math.prod(shape[first:stop])
        elif k.__class__ is np.ndarray and k.dtype.kind == "b" and k.shape != shape[first:stop]:
            return None
        first = stop
    return tuple(found) if takes((*shape[first:], n_each, n_joint)) else None


def _n_taken(k: Any) -> int:
    """How many of an array's dimensions an entry of a key is for; an Ellipsis is for those that are left."""
    if k.__class__ is np.ndarray and k.dtype.kind == "b":
        return k.ndim
    return 0 if k is None or k is Ellipsis else 1


def n_dims(elements: Any, key: Any) -> int:
    """How many dimensions there are of what a key with arrays names."""
    keys = key if key.__class__ is tuple else (key,)
    indices = [1 if k.dtype.kind == "b" else k.ndim for k in keys if k.__class__ is np.ndarray]
    return elements.ndim - sum(map(_n_taken, keys)) + sum([k is None for k in keys]) + max(indices)
