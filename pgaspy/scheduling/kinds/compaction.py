"""Compactions: the elements that a mask is true for, one after the other, in parts that are even again."""

from __future__ import annotations

from collections.abc import Generator
from dataclasses import dataclass
from typing import Any

import numpy as np

from pgaspy.caches import cached
from pgaspy.kernels import bindings
from pgaspy.layout import BlockDim, Layout
from pgaspy.planning.view import whole
from pgaspy.scheduling.builder import Builder
from pgaspy.scheduling.conversations import Conversation, Link
from pgaspy.scheduling.nodes import Memories, bytes_of
from pgaspy.scheduling.operations import NumberedOperation, Recipe
from pgaspy.scheduling.routing import route

__all__ = ["Compact", "Count", "compact", "count"]


@dataclass(eq=False)
class Count(Recipe):
    """How many elements of a mask are true: before each process's part, and in all.

    The mask has one dimension, in blocks that are in the order of the ranks.
    """

    target: Layout
    mask: Layout
    is_called = True
    name = "count"

    def __post_init__(self) -> None:
        self.views = whole(self.target), whole(self.mask)

    def add_nodes(self, builder: Builder, operation: NumberedOperation, rank: int) -> None:
        """See `Recipe`."""
        (target, mask), size = operation.slots, self.mask.n_procs

        def steps(memories: Memories, link: Link) -> Generator[None]:
            own = until = int(np.count_nonzero(memories[mask].local))
            step = 1
            while step < size:
                found = np.zeros(1, np.int64)
                if rank + step < size:
                    link.send(np.array([until], np.int64), rank + step)
                if rank >= step:
                    link.receive(found, rank - step)
                yield
                until += int(found[0])
                step *= 2
            _, ((n,),) = yield from route(link, rank, size, np.empty((0, 1), np.int64), [(until,)])
            memories[target].local[...] = until - own, n

        builder.add(Conversation(steps, self.name, size), [(mask, None)], [(target, None)])


count = cached(Count)


@dataclass(eq=False)
class Compact(Recipe):
    """The elements of an array that a mask is true for, or where that is so, one after the other.

    All have one dimension, in blocks that are in the order of the ranks; what `Count` has found is known.
    """

    target: Layout
    mask: Layout
    counts: Layout
    dtype: np.dtype[Any]
    has_values: bool
    is_called = True
    name = "compact"

    def __post_init__(self) -> None:
        self.views = whole(self.target), whole(self.mask), whole(self.counts), *(
            [whole(self.mask)] if self.has_values else [])

    def add_nodes(self, builder: Builder, operation: NumberedOperation, rank: int) -> None:
        """See `Recipe`."""
        target, mask, counts, *values = operation.slots
        size, dim = self.mask.n_procs, self.target.dims[0]
        start = int(self.mask.dims[0].part_start(rank))
        own_start = int(dim.part_start(rank))
        assert isinstance(dim, BlockDim)

        def steps(memories: Memories, link: Link) -> Generator[None]:
            is_true = np.ascontiguousarray(memories[mask].local)
            n_true = int(np.count_nonzero(is_true))
            out = bytes_of(memories, target).view(self.dtype)
            before = int(memories[counts].local[0])
            records = np.array(_parts(dim, before, n_true), np.int64).reshape(-1, 3)
            others = np.insert(records, 1, rank, axis=1)[records[:, 0] != rank]
            stays = not others.size
            found = out[before - own_start:before - own_start + n_true] if stays else np.empty(n_true, self.dtype)
            bindings.compact(is_true, np.ascontiguousarray(memories[values[0]].local) if values else None, start, found)
            arriving, _ = yield from route(link, rank, size, others)
            for _, peer, first, n in arriving.tolist():
                link.receive(out[first - own_start:first - own_start + n], peer)
            for peer, first, n in records.tolist():
                part = found[first - before:first - before + n]
                if peer != rank:
                    link.send(part, peer)
                elif not stays:
                    out[first - own_start:first - own_start + n] = part
            yield

        node = Conversation(steps, self.name, size)
        node.overwrites = (target,)
        builder.add(node, [(slot, None) for slot in operation.slots[1:]], [(target, None)])


compact = cached(Compact)


def _parts(dim: BlockDim, start: int, n: int) -> list[tuple[int, int, int]]:
    """Who owns n elements from one on: the owner, the first element and the number of each part."""
    found, stop = [], start + n
    while start < stop:
        owner = dim.part_from_index(start)
        end = min(dim.part_edge(owner + 1), stop)
        found.append((owner, start, end - start))
        start = end
    return found
