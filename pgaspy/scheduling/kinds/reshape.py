"""Reshapes: the elements of a whole array, in row-major order, as those of another one."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from pgaspy.caches import cached
from pgaspy.layout import Layout
from pgaspy.planning.reshapes import plan_reshape
from pgaspy.planning.view import whole
from pgaspy.scheduling.builder import Builder
from pgaspy.scheduling.messages import flat_side
from pgaspy.scheduling.operations import Moved, NumberedOperation, Recipe
from pgaspy.scheduling.transfer_nodes import transfer

__all__ = ["Reshape", "reshape"]


@dataclass(eq=False)
class Reshape(Recipe):
    """The elements of a whole base, in row-major order, as those of another whole base of the same size."""

    target: Layout
    source: Layout
    dtype: np.dtype[Any]
    name = "reshape"

    def __post_init__(self) -> None:
        self.views = whole(self.target), whole(self.source)

    def __str__(self) -> str:
        return f"reshape {self.source.shape} to {self.target.shape}"

    def moved(self, rank: int) -> Sequence[Moved]:
        """See `Recipe`."""
        return [Moved(1, plan_reshape(self.target, self.source, rank), self.target.grid, None)]

    def add_nodes(self, builder: Builder, operation: NumberedOperation, rank: int) -> None:
        """See `Recipe`."""
        target, source = (flat_side(slot, self.dtype) for slot in operation.slots)
        transfer(builder, plan_reshape(self.target, self.source, rank), target, source, False, 0, rank,
                 self.target.grid, operation.is_wanted)


reshape = cached(Reshape)
