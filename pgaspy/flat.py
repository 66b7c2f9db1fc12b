"""The elements of an array in row-major order, as one dimension, and one after the other."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pgaspy.alone import sections, small
from pgaspy.array import GlobalArray, check_array
from pgaspy.creation import arange, as_array, as_values
from pgaspy.dispatch import implements
from pgaspy.host.call_sites import warn
from pgaspy.indexing import Selection, as_indices, bring, counted, fetched, repeated
from pgaspy.operands import Elements
from pgaspy.selecting import flatnonzero, take

__all__ = ["ndenumerate"]


class FlatElements(Elements):
    """`A.flat`: the elements of an array in row-major order, to be read and written by any key of one dimension."""

    def __init__(self, array: GlobalArray) -> None:
        self.base = array

    def __len__(self) -> int:
        return self.base.size

    def copy(self) -> GlobalArray:
        """The elements in one dimension, as a new array. Collective."""
        return self.base.flatten()

    def _selection(self, key: Any) -> Selection:
        if isinstance(key, tuple) and len(key) == 1:
            key, = key
        if key is Ellipsis:
            key = slice(None)
        if isinstance(key, slice):
            key = arange(*key.indices(self.base.size))
        elif isinstance(key, tuple):
            raise IndexError("unsupported iterator index")
        elif (key := as_indices(key)).dtype == bool:
            if key.shape != (self.base.size,):
                raise IndexError(f"boolean index did not match indexed array along axis 0; size of axis is "
                                 f"{self.base.size} but size of corresponding boolean axis is {key.size}")
            key = flatnonzero(key) if isinstance(key, GlobalArray) else np.flatnonzero(key)
        return counted(self.base._view, key)

    def _places(self, key: Any) -> NDArray[np.int64] | None:
        """Which elements a slice names, where NumPy may read or write them: on one process, of a small array."""
        if not (small.is_on and isinstance(key, slice) and small.takes(self.base.shape)):
            return None
        return np.arange(*key.indices(self.base.size))

    def __getitem__(self, key: Any) -> GlobalArray:
        if (places := self._places(key)) is not None:
            return take(self.base, places)
        return fetched(self.base, self._selection(key))

    def __setitem__(self, key: Any, value: Any) -> None:
        places = self._places(key) if np.size(value) else None
        if places is not None and places.size and sections.put(self.base, places, value):
            return
        selection = self._selection(key)
        n = math.prod(selection.shape)
        if not selection.shape and np.ndim(value) and (np.size(value) != 1 or self.base.dtype != bool):
            raise ValueError(f"Error setting single item of array: values of shape {np.shape(value)}")
        if np.size(value):
            try:
                value = as_values(value, self.base.dtype)  # which raises, also where nothing is assigned
            except (OverflowError, TypeError) as error:
                if selection.shape:
                    raise
                raise ValueError("Error setting single item of array.") from error
        if n and np.size(value):
            value = repeated(value, n) if np.size(value) <= n else as_array(value).reshape(-1)[:n]
            bring(self.base, selection, value.reshape(selection.shape) if value.size == n else value)

    def __iter__(self) -> Iterator[Any]:
        warn("iterating over all elements of a global array gathers them, part by part: use whole arrays, or local()",
             RuntimeWarning)
        flat = self.base.reshape(-1)
        for start in range(0, flat.size, ELEMENTS_AT_ONCE):
            yield from flat[start:start + ELEMENTS_AT_ONCE].gather()


ELEMENTS_AT_ONCE = 1 << 16
"""So many elements an iteration gathers."""


@implements(GlobalArray.flat)
def _flat(a: GlobalArray) -> FlatElements:
    return FlatElements(a)


def ndenumerate(arr: GlobalArray) -> Iterator[tuple[tuple[int, ...], Any]]:
    """All elements, each with its index, in row-major order. Collective, as the iteration is.

    They are gathered, part by part, with a warning. Those of the local part alone are `np.ndenumerate(A.local())`, at
    indices of that part, which `A.global_indices` translates.

    Raises
    ------
    TypeError
        For what is no global array.
    """
    check_array(arr, "ndenumerate")
    return zip(np.ndindex(arr.shape), arr.flat, strict=True)
