"""Combinations: the copies of replicated views, which differ, become one value everywhere."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pgaspy.caches import cached
from pgaspy.planning.boxes import view_box
from pgaspy.planning.pieces import local_view_shape
from pgaspy.planning.view import View
from pgaspy.scheduling.base import local_view
from pgaspy.scheduling.builder import Builder
from pgaspy.scheduling.collectives import ALIGNMENT, exchange_partials, group_members
from pgaspy.scheduling.nodes import FunctionCall, Memories, Merging, bytes_of
from pgaspy.scheduling.operations import Merged, NumberedOperation, Recipe

__all__ = ["Combine", "combine"]


@dataclass(eq=False)
class Combine(Recipe):
    """The copies of replicated views, which differ, become `function(lower, higher)` of all, in the ranks' order.

    The views lie on one grid, with copies along the same axes of it. Of several, the function takes and returns tuples.
    """

    written: tuple[View, ...]
    dtypes: tuple[np.dtype[Any], ...]
    function: Callable[[Any, Any], Any]
    name = "combine"
    updates = reads_outputs = True

    def __post_init__(self) -> None:
        self.views, self.n_outputs = self.written, len(self.written)

    def __str__(self) -> str:
        return f"combine {', '.join(str(view.shape) for view in self.views)}"

    def _shapes(self, rank: int) -> tuple[tuple[int, ...], ...]:
        return tuple(local_view_shape(view, rank) for view in self.views)

    def merged(self, rank: int) -> Merged | None:
        """See `Recipe`."""
        if all(0 in shape for shape in self._shapes(rank)):
            return None
        layout = self.views[0].layout
        return Merged((*range(len(self.views)),), layout.grid, layout.replica_axes)

    def details(self, text: Callable[[Any], str]) -> str:
        """See `Recipe`."""
        return text(self.function)

    def add_nodes(self, builder: Builder, operation: NumberedOperation, rank: int) -> None:
        """See `Recipe`."""
        layout, sections = self.views[0].layout, list(zip(operation.slots, self.views, strict=True))
        members, shapes = group_members(layout.grid, layout.replica_axes, rank), self._shapes(rank)
        if all(0 in shape for shape in shapes) or len(members) == 1:
            return
        packed = _Packed(shapes, self.dtypes)
        number = builder.buffer(packed.size * packed.dtype.itemsize)
        accesses = [(slot, view_box(view, rank)) for slot, view in sections]

        def take(memories: Memories) -> None:
            for part, (slot, view) in zip(packed.parts(bytes_of(memories, number)), sections, strict=True):
                part[...] = local_view(memories[slot], view)

        def store(memories: Memories) -> None:
            for part, (slot, view) in zip(packed.parts(bytes_of(memories, merged)), sections, strict=True):
                local_view(memories[slot], view)[...] = part

        builder.add(FunctionCall(take, "combine"), accesses, [(number, None)])
        merged = exchange_partials(builder, number, packed.size, packed.dtype, packed.merging(self.function), members,
                                   rank, is_wanted=operation.is_wanted)
        if operation.is_wanted:
            builder.add(FunctionCall(store, "combine"), [(merged, None)], accesses)


combine = cached(Combine)


class _Packed:
    """Arrays one after the other in a flat one: of bytes, where they are several."""

    def __init__(self, shapes: Sequence[tuple[int, ...]], dtypes: Sequence[np.dtype[Any]]) -> None:
        self._arrays = list(zip(shapes, dtypes, strict=True))
        self._nbytes = [math.prod(shape) * dtype.itemsize for shape, dtype in self._arrays]
        self._starts = [0, *itertools.accumulate(-(-nbytes // ALIGNMENT) * ALIGNMENT for nbytes in self._nbytes)]
        self._is_one = len(dtypes) == 1
        self.dtype = dtypes[0] if self._is_one else np.dtype(np.uint8)
        self.size = math.prod(shapes[0]) if self._is_one else self._starts[-1]

    def parts(self, flat: NDArray[Any]) -> list[NDArray[Any]]:
        """The arrays that are packed in a flat one."""
        content = flat.view(np.uint8)
        return [content[start:start + nbytes].view(dtype).reshape(shape) for start, nbytes, (shape, dtype) in zip(
            self._starts, self._nbytes, self._arrays, strict=False)]

    def merging(self, function: Callable[[Any, Any], Any]) -> Merging:
        """What merges two flat arrays by a function of two arrays, or of two tuples of arrays."""
        def merge_one(lower: NDArray[Any], higher: NDArray[Any]) -> NDArray[Any]:
            shape = self._arrays[0][0]
            return _checked(function(lower.reshape(shape), higher.reshape(shape)), shape).reshape(-1)

        def merge_several(lower: NDArray[Any], higher: NDArray[Any]) -> NDArray[Any]:
            merged = np.empty_like(lower)
            found = function(tuple(self.parts(lower)), tuple(self.parts(higher)))
            for part, value in zip(self.parts(merged), found, strict=True):
                part[...] = _checked(value, part.shape)
            return merged

        if not self._is_one:
            return merge_several
        return function if isinstance(function, np.ufunc) else merge_one


def _checked(value: Any, shape: tuple[int, ...]) -> NDArray[Any]:
    """What a function of the program has returned, as an array of a shape."""
    found = np.asarray(value)
    if found.shape != shape:
        raise ValueError(f"the function of combine takes parts of shape {shape}, and returned one of {found.shape}")
    return found
