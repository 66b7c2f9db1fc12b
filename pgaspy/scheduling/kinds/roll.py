"""Rolls: elements moved along dimensions, those that leave at one end coming in at the other."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from pgaspy.caches import cached
from pgaspy.planning.transfers import plan_roll
from pgaspy.planning.view import View
from pgaspy.scheduling import at_once
from pgaspy.scheduling.builder import Builder
from pgaspy.scheduling.messages import view_side
from pgaspy.scheduling.operations import Moved, NumberedOperation, Recipe
from pgaspy.scheduling.transfer_nodes import transfer

__all__ = ["Roll", "roll"]


@dataclass(eq=False)
class Roll(Recipe):
    """`target[...] = np.roll(source, shifts, all dimensions)`, of views of one shape on two bases.

    It is one transfer, however many dimensions elements are moved along: one message at most to each process.
    """

    target: View
    source: View
    shifts: tuple[int, ...]
    dtype: np.dtype[Any]
    name = "roll"

    def __post_init__(self) -> None:
        self.views = self.target, self.source

    def is_done_at_once(self, rank: int, limit: int = at_once.MAX_ELEMENTS) -> bool:
        """See `Recipe`."""
        return at_once.is_small(self.target, rank, limit) and at_once.is_small(self.source, rank, limit)

    def moved(self, rank: int) -> Sequence[Moved]:
        """See `Recipe`."""
        return [Moved(1, plan_roll(self.target, self.source, self.shifts, rank), self.target.layout.grid, self.source)]

    def details(self, text: Callable[[Any], str]) -> str:
        """See `Recipe`."""
        return f"by {self.shifts}"

    def add_nodes(self, builder: Builder, operation: NumberedOperation, rank: int) -> None:
        """See `Recipe`."""
        target, source = operation.slots
        transfer(builder, plan_roll(self.target, self.source, self.shifts, rank),
                 view_side(builder, target, self.target, self.dtype, rank),
                 view_side(builder, source, self.source, self.dtype, rank), False, 0, rank,
                 self.target.layout.grid, operation.is_wanted)


roll = cached(Roll)
