"""Sorting: along a dimension that processes hold whole, and of a vector that is dealt out in blocks.

The vector is sorted by exact splitting: each process sorts its part, all find where the sorted parts are cut so that
what comes before the cuts is what the first processes get, and each process merges the runs that it is sent. The cuts
are found from samples that are counted: histogram sort, as in Kowalewski, Jungblut and Fuerlinger, *Engineering a
distributed histogram sort* (CLUSTER 2019), with samples in the place of bisection as in Harsh, Kale and Solomonik,
*Histogram sort with sampling* (SPAA 2019). Elements are ordered by (value, rank, place), which no two have in common:
so the cuts are exact whatever the values are, and equal elements stay in order.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pgaspy.caches import cached
from pgaspy.layout import Layout
from pgaspy.planning.boxes import view_box
from pgaspy.planning.view import View, whole
from pgaspy.scheduling import at_once, local_sorts
from pgaspy.scheduling.base import Storage, local_view
from pgaspy.scheduling.builder import Builder
from pgaspy.scheduling.conversations import Conversation, Link
from pgaspy.scheduling.dealing import deal_out
from pgaspy.scheduling.nodes import FunctionCall, Memories
from pgaspy.scheduling.operations import NumberedOperation, Recipe
from pgaspy.scheduling.prefixes import prefix_sums

__all__ = ["SAMPLES", "Sort", "SortParts", "sort", "sort_parts"]

SAMPLES = 32
"""So many elements are looked at for each cut in a round of samples."""


@dataclass(eq=False)
class SortParts(Recipe):
    """A view sorted along a dimension that is whole on each process; or the indices that sort it so. Stable.

    With `kth`, it is partitioned instead, by these indices.
    """

    target: View
    source: View
    axis: int
    gives_indices: bool
    kth: tuple[int, ...] = ()
    name = "sort"

    def __post_init__(self) -> None:
        self.views = self.target, self.source

    def is_done_at_once(self, rank: int, limit: int = at_once.MAX_ELEMENTS) -> bool:
        """See `Recipe`."""
        return self.source.layout.n_procs == 1 and at_once.is_small(self.source, rank, limit)

    def execute(self, storages: Sequence[Storage], values: Sequence[Any], rank: int) -> None:
        """See `Recipe`."""
        target, source = (local_view(storage, view) for storage, view in zip(storages, self.views, strict=True))
        local_sorts.sort_along(self.axis, source, target, self.gives_indices, self.kth)

    def details(self, text: Callable[[Any], str]) -> str:
        """See `Recipe`."""
        return f"{'indices ' * self.gives_indices}along {self.axis}" + (f", places {self.kth}" if self.kth else "")

    def add_nodes(self, builder: Builder, operation: NumberedOperation, rank: int) -> None:
        """See `Recipe`."""
        layout, (target, source) = self.target.layout, operation.slots
        if not layout.holds(layout.coords_from_rank(rank)):
            return

        def compute(memories: Memories) -> None:
            self.execute([memories[target], memories[source]], (), rank)

        builder.add(FunctionCall(compute, self.name), [(source, view_box(self.source, rank))], [(target, None)])


sort_parts = cached(SortParts)


@dataclass(eq=False)
class Sort(Recipe):
    """A vector sorted, or the indices that sort it, or both; in blocks that are in the order of the ranks. Stable."""

    layout: Layout
    dtype: np.dtype[Any]
    gives_keys: bool
    gives_indices: bool
    is_called = True
    name = "sort"

    def __post_init__(self) -> None:
        self.n_outputs = self.gives_keys + self.gives_indices
        self.views = (*[whole(self.layout)] * self.n_outputs, whole(self.layout))

    def add_nodes(self, builder: Builder, operation: NumberedOperation, rank: int) -> None:
        """See `Recipe`."""
        *targets, source = operation.slots
        size, start = self.layout.n_procs, int(self.layout.dims[0].part_start(rank))
        edges = np.array([self.layout.dims[0].part_start(r) for r in range(1, size)], np.int64)

        def steps(memories: Memories, link: Link) -> Generator[None]:
            n, has_indices = memories[source].local.size, self.gives_indices

            def wanted() -> local_sorts.Columns:
                outputs = [memories[slot].local for slot in targets]
                return outputs if self.gives_keys else [np.empty(n, self.dtype), *outputs]

            def others() -> local_sorts.Columns:
                return local_sorts.new_columns(n, self.dtype, has_indices)

            own = wanted() if size == 1 else others()
            local_sorts.sort_vector(memories[source].local, own, start)
            if size == 1:
                return
            cuts = yield from _cuts(link, rank, size, own[0], edges)
            first, second = (others, wanted) if local_sorts.ends_in_second(size) else (wanted, others)
            arrived = first()
            runs = yield from deal_out(link, rank, size, own, np.array([0, *cuts.tolist(), n]), arrived)
            del own
            local_sorts.merge_runs(runs, arrived, second())

        node = Conversation(steps, self.name, size, carries=[targets])
        node.overwrites = tuple(targets)
        builder.add(node, [(source, None)], [(slot, None) for slot in targets])


sort = cached(Sort)


def _cuts(link: Link, rank: int, size: int, keys: NDArray[Any],
          edges: NDArray[np.int64]) -> Generator[None, None, NDArray[np.int64]]:
    """Where the sorted part is cut: for each edge, how many of its elements are among the first so many of all.

    The rows of `low` and `high` are a place in the part, the sum of those on lower ranks, and the sum of all: for each
    edge, what comes before `low` is known to come before the edge, and what comes from `high` on, after it.
    """
    rng = np.random.default_rng(size)
    low = np.zeros((3, edges.size), np.int64)
    high = np.full_like(low, keys.size)
    high[1:] = yield from prefix_sums(link, rank, size, high[0])
    while (is_open := (low[2] < edges) & (edges < high[2])).any():
        samples = _sampled(rank, keys, low[:, is_open], high[:, is_open], rng)
        _, together = yield from prefix_sums(link, rank, size, samples.view(np.uint8))
        samples = together.view(samples.dtype)
        counts = np.empty((3, samples.size), np.int64)
        counts[0] = _counts_before(rank, keys, samples)
        counts[1:] = yield from prefix_sums(link, rank, size, counts[0])
        low, high = _narrowed(rank, low, high, edges, samples["rank"], counts)
    return np.where(low[2] == edges, low[0], high[0])


def _sampled(rank: int, keys: NDArray[Any], low: NDArray[np.int64], high: NDArray[np.int64],
             rng: np.random.Generator) -> NDArray[Any]:
    """Elements at even distances between `low` and `high`: of this process here, and zeros in the place of others."""
    extents = (high - low)[:, :, None]
    shift = rng.random(extents.shape[1:])
    ordinals = (np.arange(SAMPLES) * extents[2] + (shift * extents[2]).astype(np.int64)) // SAMPLES - extents[1]
    is_own = (ordinals >= 0) & (ordinals < extents[0])
    places = (low[0][:, None] + ordinals)[is_own]
    samples = np.zeros(ordinals.shape, [("key", keys.dtype), ("rank", np.int64), ("place", np.int64)])
    samples["key"][is_own], samples["rank"][is_own], samples["place"][is_own] = keys[places], rank, places
    return samples.reshape(-1)


def _counts_before(rank: int, keys: NDArray[Any], samples: NDArray[Any]) -> NDArray[np.int64]:
    """How many elements of the part come before each sample, in the order (value, rank, place)."""
    is_later = samples["rank"] > rank
    counts = samples["place"].copy()
    is_earlier = samples["rank"] < rank
    counts[is_later] = np.searchsorted(keys, samples["key"][is_later], "right")
    counts[is_earlier] = np.searchsorted(keys, samples["key"][is_earlier], "left")
    return counts


def _narrowed(rank: int, low: NDArray[np.int64], high: NDArray[np.int64], edges: NDArray[np.int64],
              ranks: NDArray[np.int64], counts: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """`low` and `high` with the samples, of these ranks, that are the next ones before and after each edge."""
    order = np.argsort(counts[2])
    counts, ranks = counts[:, order], ranks[order]
    behind = counts + np.array([ranks == rank, ranks < rank, np.ones_like(ranks)])
    n_before = np.searchsorted(counts[2], edges)
    last = np.maximum(n_before - 1, 0)
    low = np.where((n_before > 0) & (behind[2, last] > low[2]), behind[:, last], low)
    first = np.minimum(n_before, order.size - 1)
    return low, np.where((n_before < order.size) & (counts[2, first] < high[2]), counts[:, first], high)
