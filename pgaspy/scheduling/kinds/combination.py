"""Combinations: the copies of a replicated view, which differ, become one value everywhere."""

from __future__ import annotations

import math
from collections.abc import Callable
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
from pgaspy.scheduling.collectives import exchange_partials, group_members
from pgaspy.scheduling.nodes import FunctionCall, Memories, bytes_of
from pgaspy.scheduling.operations import Exchange, NumberedOperation, Recipe

__all__ = ["Combine", "combine"]


@dataclass(eq=False)
class Combine(Recipe):
    """The copies of a replicated view, which differ, become `function(lower, higher)` of all, in the ranks' order."""

    view: View
    dtype: np.dtype[Any]
    function: Callable[[NDArray[Any], NDArray[Any]], NDArray[Any]]
    name = "combine"
    updates = reads_outputs = True

    def __post_init__(self) -> None:
        self.views = (self.view,)

    def exchanged(self, rank: int) -> Exchange | None:
        """See `Recipe`."""
        layout = self.view.layout
        return None if 0 in local_view_shape(self.view, rank) else Exchange((0,), layout.grid, layout.replica_axes)

    def details(self, text: Callable[[Any], str]) -> str:
        """See `Recipe`."""
        return text(self.function)

    def add_nodes(self, builder: Builder, operation: NumberedOperation, rank: int) -> None:
        """See `Recipe`."""
        (slot,), view, dtype = operation.slots, self.view, self.dtype
        shape, layout = local_view_shape(view, rank), view.layout
        members = group_members(layout.grid, layout.replica_axes, rank)
        if 0 in shape or len(members) == 1:
            return
        number, box = builder.buffer(math.prod(shape) * dtype.itemsize), view_box(view, rank)

        def take(memories: Memories) -> None:
            bytes_of(memories, number).view(dtype).reshape(shape)[...] = local_view(memories[slot], view)

        def merge_flat(lower: NDArray[Any], higher: NDArray[Any]) -> NDArray[Any]:
            return self.function(lower.reshape(shape), higher.reshape(shape)).reshape(-1)

        def store(memories: Memories) -> None:
            local_view(memories[slot], view)[...] = bytes_of(memories, merged).view(dtype).reshape(shape)

        builder.add(FunctionCall(take, "combine"), [(slot, box)], [(number, None)])
        merge = self.function if isinstance(self.function, np.ufunc) else merge_flat
        merged = exchange_partials(builder, number, math.prod(shape), dtype, merge, members, rank,
                                   is_wanted=operation.is_wanted)
        if operation.is_wanted:
            builder.add(FunctionCall(store, "combine"), [(merged, None)], [(slot, box)])


combine = cached(Combine)
