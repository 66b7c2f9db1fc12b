"""Flat indices: the numbers, in row-major order, of elements that several indices name, one along each dimension.

A function takes the next dimension to what comes from those before it, so that a kernel makes them of arrays of
indices; the first one begins with 0. An index beyond its dimension is refused by whoever uses the numbers.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from pgaspy.scheduling.functions import Function

__all__ = ["FLAT_INDEX", "MAX_TOLD", "first_beyond", "index_beyond", "named"]

_LEAST, _FAR, _MAX_NDIM = -2**63, 2**55, 64

MAX_TOLD = -_LEAST - 2 * _FAR * _MAX_NDIM
"""Of so many elements, a number that stands for an index beyond its dimension is beyond all; of more, it may be that
of an element, counted from the end.
"""


def _compute(number: NDArray[Any], index: NDArray[Any], extent: NDArray[Any], out: NDArray[Any]) -> None:
    """As the kernel does, which says how an index beyond its dimension is told."""
    is_beyond = (index >= extent) | (index < -extent)
    found = np.where(is_beyond, _LEAST + _MAX_NDIM * (np.clip(index, -_FAR, _FAR - 1) + _FAR),
                     number * extent + np.where(index < 0, index + extent, index))
    out[...] = np.where(number < 0, number + 1, found)


FLAT_INDEX = Function("flat_index", 3, lambda *_: (np.int64,) * 4, _compute)
"""Of the number so far, an index, and the extent of its dimension."""


def first_beyond(numbers: NDArray[np.int64]) -> int:
    """Of numbers some of which stand for an index beyond its dimension: the first of the first such dimension."""
    found = numbers[numbers < 0]
    return int(found[((found - _LEAST) % _MAX_NDIM).argmax()])


def index_beyond(number: int) -> tuple[int, int]:
    """The index for which such a number stands, and how many dimensions came after its own."""
    index, n_after = divmod(number - _LEAST, _MAX_NDIM)
    return index - _FAR, n_after


def named(index: int) -> str:
    """What errors say of an index that was told: where that is as far as can be told, the index may be beyond it."""
    if -_FAR < index < _FAR - 1:
        return str(index)
    return f"{index} or {'more' if index > 0 else 'less'}"
