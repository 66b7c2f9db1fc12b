"""Errors that depend on what arrays hold, raised by all processes where the operation is called.

An operation that is recorded is executed later, by each process on its part: one would raise alone, and after others
have gone on. So what has to be known to raise is worked out before: one value, which all processes read. That is so for
integers to negative powers, and for text or times that are cast to what they may not fit; no other function of NumPy's
raises for some values. While `explain` plans, everything counts as right.
"""

from __future__ import annotations

import functools
import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pgaspy import ufuncs
from pgaspy.array import GlobalArray
from pgaspy.caches import cached
from pgaspy.execution.recording import is_planning
from pgaspy.operands import as_numpy
from pgaspy.planning.view import View, joint_shape
from pgaspy.scheduling.base import Base
from pgaspy.scheduling.functions import Function
from pgaspy.statements import refusals
from pgaspy.values import is_any

__all__: list[str] = []


def _refuse_negative_exponents(inputs: tuple[Any, Any], where: Any, loop: tuple[np.dtype[Any], ...]) -> None:
    """Raise NumPy's ValueError if an integer is raised to a negative power, where the mask is true."""
    dtype = loop[1]
    if dtype.kind != "i" or not _size(*inputs, where):
        return
    if type(inputs[1]) is int and not np.iinfo(dtype).min <= inputs[1] <= np.iinfo(dtype).max:
        return  # which is refused elsewhere, as out of bounds
    exponent = inputs[1] if isinstance(inputs[1], GlobalArray) else as_numpy(inputs[1])
    if exponent.dtype.kind in "bu" and np.can_cast(exponent.dtype, dtype):
        return
    if not np.can_cast(exponent.dtype, dtype):
        exponent = exponent.astype(dtype)  # as the loop has it
    negative = exponent < 0
    if where is not True and is_any(negative):
        negative = negative & where
    if is_any(negative):
        raise ValueError("Integers to negative integer powers are not allowed.")


def _size(*operands: Any) -> int:
    """The number of elements of what operands broadcast to; 0 if they do not, which is refused elsewhere."""
    try:
        return math.prod(joint_shape(*map(np.shape, operands)))
    except ValueError:
        return 0


def _refuse_cast(base: Base, view: View, dtype: np.dtype[Any]) -> None:
    """Raise what NumPy does if an element cannot be cast: text that is no number or time, a time too long for text."""
    if is_planning() or not view.size:
        return
    elements = GlobalArray(base, view)
    if view.ndim:
        fails = ufuncs.apply(_fails_to_become(dtype), (elements,), make=GlobalArray)
        elements = elements[tuple(map(int, np.unravel_index(fails.argmax().item(), view.shape)))]
    np.array(elements.item(), base.dtype).astype(dtype)  # the first that fails, or one that does not


@cached
def _fails_to_become(dtype: np.dtype[Any]) -> Function:
    """Whether elements fail to be cast."""
    return Function(f"fails_to_become_{dtype}", 1, lambda source: (source, bool), functools.partial(_fails, dtype))


def _fails(dtype: np.dtype[Any], x: NDArray[Any], out: NDArray[Any]) -> None:
    out[...] = not _can_be_cast(x, dtype)
    if x.size > 1 and out.any():
        for index in np.ndindex(x.shape):
            out[index] = not _can_be_cast(x[index], dtype)


def _can_be_cast(x: Any, dtype: np.dtype[Any]) -> bool:
    try:
        x.astype(dtype)
    except (ValueError, OverflowError, RuntimeError):
        return False
    return True


refusals[np.power] = _refuse_negative_exponents
refusals[None] = _refuse_cast
