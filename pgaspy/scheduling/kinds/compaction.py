"""Compactions: the elements that a mask is true for, one after the other, in parts that are even again; and the way
back, by which such elements are assigned to where it is true.
"""

from __future__ import annotations

from collections.abc import Generator
from dataclasses import dataclass
from typing import Any

import numpy as np

from pgaspy.caches import cached
from pgaspy.dims import BlockDim
from pgaspy.kernels import bindings
from pgaspy.layout import Layout
from pgaspy.planning.view import whole
from pgaspy.scheduling.builder import Builder
from pgaspy.scheduling.conversations import Conversation, Link
from pgaspy.scheduling.nodes import Memories, bytes_of
from pgaspy.scheduling.operations import NumberedOperation, Recipe
from pgaspy.scheduling.prefixes import prefix_sums
from pgaspy.scheduling.routing import Records, route

__all__ = ["Compact", "Count", "Expand", "compact", "count", "expand"]


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
            own = np.array([np.count_nonzero(memories[mask].local)], np.int64)
            before, total = yield from prefix_sums(link, rank, size, own)
            memories[target].local[...] = before[0], total[0]

        builder.add(Conversation(steps, self.name, size), [(mask, None)], [(target, None)])


count = cached(Count)


@dataclass(eq=False)
class _Chosen(Recipe):
    """Where a mask is true, of an array of its shape, and of one that has only those elements, one after the other.

    All have one dimension, in blocks that are in the order of the ranks; what `Count` has found is known.
    """

    target: Layout
    mask: Layout
    counts: Layout
    dtype: np.dtype[Any]
    is_called = True


def _shares(before: int, n_true: int, chosen: Layout) -> Records:
    """Of what is chosen of this process's part, who has which: the rank, the first element and the number."""
    dim = chosen.dims[0]
    assert isinstance(dim, BlockDim)
    return np.array(_parts(dim, before, n_true), np.int64).reshape(-1, 3)


def _others(shares: Records, rank: int) -> Records:
    """The shares of other processes, with this one's rank."""
    return np.insert(shares, 1, rank, axis=1)[shares[:, 0] != rank]


@dataclass(eq=False)
class Compact(_Chosen):
    """The elements of an array that a mask is true for, or where that is so, one after the other."""

    has_values: bool
    name = "compact"

    def __post_init__(self) -> None:
        self.views = whole(self.target), whole(self.mask), whole(self.counts), *(
            [whole(self.mask)] if self.has_values else [])

    def add_nodes(self, builder: Builder, operation: NumberedOperation, rank: int) -> None:
        """See `Recipe`."""
        target, mask, counts, *values = operation.slots
        start, own_start = (int(x.dims[0].part_start(rank)) for x in (self.mask, self.target))

        def steps(memories: Memories, link: Link) -> Generator[None]:
            is_true = np.ascontiguousarray(memories[mask].local)
            n_true = int(np.count_nonzero(is_true))
            out = bytes_of(memories, target).view(self.dtype)
            before = int(memories[counts].local[0])
            shares = _shares(before, n_true, self.target)
            others = _others(shares, rank)
            stays = not others.size
            found = out[before - own_start:before - own_start + n_true] if stays else np.empty(n_true, self.dtype)
            bindings.compact(is_true, np.ascontiguousarray(memories[values[0]].local) if values else None, start, found)
            arriving, _ = yield from route(link, rank, self.mask.n_procs, others)
            for _, peer, first, n in arriving.tolist():
                link.receive(out[first - own_start:first - own_start + n], peer)
            for peer, first, n in shares.tolist():
                part = found[first - before:first - before + n]
                if peer != rank:
                    link.send(part, peer)
                elif not stays:
                    out[first - own_start:first - own_start + n] = part
            yield

        node = Conversation(steps, self.name, self.mask.n_procs, carries=[[target]])
        node.overwrites = (target,)
        builder.add(node, [(slot, None) for slot in operation.slots[1:]], [(target, None)])


compact = cached(Compact)


@dataclass(eq=False)
class Expand(_Chosen):
    """Have elements, one after the other, brought to where a mask is true; other elements stay as they are."""

    values: Layout
    name = "expand"

    def __post_init__(self) -> None:
        self.views = whole(self.target), whole(self.mask), whole(self.counts), whole(self.values)

    def add_nodes(self, builder: Builder, operation: NumberedOperation, rank: int) -> None:
        """See `Recipe`."""
        target, mask, counts, values = operation.slots
        own_start = int(self.values.dims[0].part_start(rank))

        def steps(memories: Memories, link: Link) -> Generator[None]:
            is_true = np.ascontiguousarray(memories[mask].local)
            n_true = int(np.count_nonzero(is_true))
            own = bytes_of(memories, values).view(self.dtype)
            before = int(memories[counts].local[0])
            shares = _shares(before, n_true, self.values)
            others = _others(shares, rank)
            stays = not others.size
            found = own[before - own_start:before - own_start + n_true] if stays else np.empty(n_true, self.dtype)
            wanted, _ = yield from route(link, rank, self.mask.n_procs, others)
            for _, peer, first, n in wanted.tolist():
                link.send(own[first - own_start:first - own_start + n], peer)
            for peer, first, n in shares.tolist():
                part = found[first - before:first - before + n]
                if peer != rank:
                    link.receive(part, peer)
                elif not stays:
                    part[...] = own[first - own_start:first - own_start + n]
            yield
            bindings.expand(is_true, found, bytes_of(memories, target).view(self.dtype))

        builder.add(Conversation(steps, self.name, self.mask.n_procs, carries=[[values]]),
                    [(slot, None) for slot in operation.slots], [(target, None)])


expand = cached(Expand)


def _parts(dim: BlockDim, start: int, n: int) -> list[tuple[int, int, int]]:
    """Who owns n elements from one on: the owner, the first element and the number of each part."""
    found, stop = [], start + n
    while start < stop:
        owner = dim.part_from_index(start)
        end = min(dim.part_edge(owner + 1), stop)
        found.append((owner, start, end - start))
        start = end
    return found
