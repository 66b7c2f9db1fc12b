"""Generations: elements that are functions of their global indices alone."""

from __future__ import annotations

from dataclasses import dataclass

from pgaspy.caches import cached
from pgaspy.layout import Layout
from pgaspy.planning.view import whole
from pgaspy.scheduling.builder import Builder
from pgaspy.scheduling.nodes import FunctionCall, Memories
from pgaspy.scheduling.operations import NumberedOperation, Recipe

__all__ = ["Generate", "generate"]


@dataclass(eq=False)
class Generate(Recipe):
    """The elements of a whole base as a function of their global indices alone; its value writes the local part."""

    layout: Layout
    name = "generate"

    def __post_init__(self) -> None:
        self.views = (whole(self.layout),)

    def add_nodes(self, builder: Builder, operation: NumberedOperation, rank: int) -> None:
        """See `Recipe`."""
        (slot,), (value,) = operation.slots, operation.values

        def write(memories: Memories) -> None:
            memories[value](memories[slot])

        node = FunctionCall(write, "generate")
        node.overwrites = (slot,)
        builder.add(node, [(value, None)], [(slot, None)])


generate = cached(Generate)
