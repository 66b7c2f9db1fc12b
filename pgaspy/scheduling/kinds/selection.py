"""Selections: what a mask is true for, one after the other in even blocks; and how many of these come before a place.

All vectors are in blocks, in the order of the ranks.
"""

from __future__ import annotations

from collections.abc import Generator
from dataclasses import dataclass

import numpy as np

from pgaspy.caches import cached
from pgaspy.layout import Layout
from pgaspy.planning.view import whole
from pgaspy.scheduling.builder import Builder
from pgaspy.scheduling.conversations import Conversation, Link
from pgaspy.scheduling.dealing import deal_out
from pgaspy.scheduling.nodes import Memories
from pgaspy.scheduling.operations import NumberedOperation, Recipe
from pgaspy.scheduling.prefixes import prefix_sums

__all__ = ["Number", "Select", "number", "select"]


@dataclass(eq=False)
class Select(Recipe):
    """The elements that a mask is true for: as many as there are in the target."""

    target: Layout
    mask: Layout
    is_called = True
    name = "select"

    def __post_init__(self) -> None:
        self.views = whole(self.target), whole(self.mask), whole(self.mask)

    def add_nodes(self, builder: Builder, operation: NumberedOperation, rank: int) -> None:
        """See `Recipe`."""
        (target, mask, source), size = operation.slots, self.mask.n_procs
        edges = np.array([self.target.dims[0].part_start(r) for r in range(size + 1)], np.int64)

        def steps(memories: Memories, link: Link) -> Generator[None]:
            chosen = memories[source].local[memories[mask].local]
            before, _ = yield from prefix_sums(link, rank, size, np.array([chosen.size]))
            bounds = np.clip(edges - before, 0, chosen.size)
            yield from deal_out(link, rank, size, [chosen], bounds, [memories[target].local])

        node = Conversation(steps, self.name, size)
        node.overwrites = (target,)
        builder.add(node, [(mask, None), (source, None)], [(target, None)])


select = cached(Select)


@dataclass(eq=False)
class Number(Recipe):
    """How many elements of a mask are true before each place, and at the place itself."""

    layout: Layout
    is_called = True
    name = "number"

    def __post_init__(self) -> None:
        self.views = whole(self.layout), whole(self.layout)

    def add_nodes(self, builder: Builder, operation: NumberedOperation, rank: int) -> None:
        """See `Recipe`."""
        (target, mask), size = operation.slots, self.layout.n_procs

        def steps(memories: Memories, link: Link) -> Generator[None]:
            out = memories[target].local
            np.cumsum(memories[mask].local, out=out)
            before, _ = yield from prefix_sums(link, rank, size, out[-1:] if out.size else np.zeros(1, out.dtype))
            out += before

        node = Conversation(steps, self.name, size)
        node.overwrites = (target,)
        builder.add(node, [(mask, None)], [(target, None)])


number = cached(Number)
