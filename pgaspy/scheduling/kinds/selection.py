"""Selection: the elements that a vector would have at some places if it were sorted, found by all processes together.

Samples tell between which two elements a place is, in all likelihood; how many there are before and between these is
counted, and the place is looked for among so many only, until every process can get all that are left: R. W. Floyd and
R. L. Rivest, *Expected time bounds for selection* (CACM 1975), on several processes as in D. A. Bader, *An improved,
randomized algorithm for parallel selection with an experimental study* (JPDC 2004).
"""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Generator, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from pgaspy.caches import cached
from pgaspy.layout import Layout
from pgaspy.planning.view import whole
from pgaspy.scheduling.builder import Builder
from pgaspy.scheduling.conversations import Conversation, Link
from pgaspy.scheduling.local_threads import even_edges, n_threads_for, on_threads
from pgaspy.scheduling.nodes import Memories
from pgaspy.scheduling.operations import NumberedOperation, Recipe
from pgaspy.scheduling.prefixes import prefix_sums

__all__ = ["Select", "select"]

FEW, SAMPLES = 1 << 13, 1 << 12
"""Elements that every process gets; and those that are looked at of more."""

MARGIN = 2 * math.isqrt(SAMPLES)
"""How far a place may be from where the samples say, in samples: four standard deviations, for one in the middle."""

Array = NDArray[Any]


@dataclass(eq=False)
class Select(Recipe):
    """The elements of a vector, in any layout, at places that are counted in the order of their values; on all."""

    target: Layout
    source: Layout
    dtype: np.dtype[Any]
    places: tuple[int, ...]
    is_called = True
    name = "select"

    def __post_init__(self) -> None:
        self.views = whole(self.target), whole(self.source)

    def add_nodes(self, builder: Builder, operation: NumberedOperation, rank: int) -> None:
        """See `Recipe`."""
        target, source = operation.slots
        size = self.source.n_procs

        def steps(memories: Memories, link: Link) -> Generator[None]:
            found = yield from _selected(link, rank, size, memories[source].local.reshape(-1), self.places)
            memories[target].local[...] = found

        node = Conversation(steps, self.name, size)
        node.overwrites = (target,)
        builder.add(node, [(source, None)], [(target, None)])


select = cached(Select)


def _selected(link: Link, rank: int, size: int, keys: Array, places: Sequence[int]) -> Generator[None, None, Array]:
    """The elements at some places, of a vector of which this process has these; NaN comes last, as where it is sorted.
    """
    is_known = keys == keys  # as NaN is not
    if not is_known.all():
        keys = keys[is_known]
    rng = np.random.default_rng(size)
    below, total = yield from prefix_sums(link, rank, size, np.array([keys.size]))
    parts = [_Part(keys, int(below[0]), int(total[0]), 0, [k for k in places if k < total[0]])]
    found: dict[int, Any] = {}
    while parts := [part for part in parts if part.places]:
        samples = yield from _together(link, rank, size, [part.samples(rng) for part in parts])
        cuts = [cut for part, own in zip(parts, samples, strict=True) for cut in part.cuts(own, found)]
        if not cuts:
            break
        classes = [cut.classes() for cut in cuts]
        counts = np.array([own for _, own in classes], np.int64)
        below, total = yield from prefix_sums(link, rank, size, counts)
        parts = [part for cut, (between, _), n_below, n in zip(cuts, classes, below, total, strict=True)
                 for part in cut.narrowed(between, n_below, n, found)]
    result = np.full(len(places), {"f": np.nan, "m": "NaT", "M": "NaT"}.get(keys.dtype.kind, 0), keys.dtype)
    for number, k in enumerate(places):
        if k in found:
            result[number] = found[k]
    return result


def _together(link: Link, rank: int, size: int, samples: Sequence[Array]) -> Generator[None, None, list[Array]]:
    """The samples of several parts, each where one process has it, in order."""
    own = np.concatenate(samples)
    _, found = yield from prefix_sums(link, rank, size, own.view(np.uint8))
    parts = np.split(found.view(own.dtype), np.cumsum([x.size for x in samples])[:-1])
    return [np.sort(part, kind="stable") for part in parts]


class _Part(NamedTuple):
    """Elements among which some places are.

    Attributes
    ----------
    keys
        Those of this process.
    n_below, n
        How many lower ranks have, and all processes together.
    first
        How many elements of the vector come before all of them.
    places
        Counted from the first element of the vector, in order.
    """

    keys: Array
    n_below: int
    n: int
    first: int
    places: list[int]

    def samples(self, rng: np.random.Generator) -> Array:
        """All elements, if they are few, or some by chance: this process's, and zeros in the place of others."""
        numbers = (np.arange(self.n) if self.n <= FEW else rng.integers(self.n, size=SAMPLES)) - self.n_below
        is_own = (numbers >= 0) & (numbers < self.keys.size)
        found = np.zeros(numbers.size, self.keys.dtype)
        found[is_own] = self.keys[numbers[is_own]]
        return found

    def cuts(self, samples: Array, found: dict[int, Any]) -> Iterator[_Cut]:
        """Between which samples, in order, the places are in all likelihood; nothing, where they are found so."""
        if self.n <= FEW:
            found.update({k: samples[k - self.first] for k in self.places})
            return
        middles = [(k - self.first) * SAMPLES // self.n for k in self.places]
        start = 0
        while start < len(middles):
            end = bisect_right(middles, middles[start] + MARGIN // 4)
            below, above = middles[start] - MARGIN, middles[end - 1] + MARGIN
            low = samples[below] if below >= 0 else None
            high = samples[above] if above < SAMPLES else None
            yield _Cut(self, self.places[start:end], low, None if high == low else high)
            start = end


class _Cut(NamedTuple):
    """A part that is cut at two of its elements, of which one may be missing, and the places that are looked for."""

    part: _Part
    places: list[int]
    low: Any
    high: Any

    def classes(self) -> tuple[Array, list[int]]:
        """This process's elements between the two; and how many are below the first one, equal to it, between, equal to
        the second one, and above it.
        """
        keys, low, high = self.part.keys, self.low, self.high
        n_threads = n_threads_for(keys.size)
        edges = even_edges(keys.size, n_threads)
        found: dict[int, tuple[Array, list[int]]] = {}

        def classify(start: int, stop: int) -> None:
            own = keys[start:stop]
            counts, is_between = [0] * 5, np.ones(own.size, bool)
            if low is not None:
                is_between &= own > low
                counts[:2] = int(np.count_nonzero(own < low)), int(np.count_nonzero(own == low))
            if high is not None:
                is_between &= own < high
                counts[3:] = int(np.count_nonzero(own == high)), int(np.count_nonzero(own > high))
            between = own[is_between]
            counts[2] = between.size
            found[start] = between, counts

        on_threads(classify, edges, n_threads)
        parts = [found[start] for start in edges[:-1]]
        return np.concatenate([between for between, _ in parts]), np.sum([counts for _, counts in parts], 0).tolist()

    def narrowed(self, between: Array, below: Array, total: Array, found: dict[int, Any]) -> Iterator[_Part]:
        """The classes in which places are, by how many elements lower ranks have of each, and all processes together.

        What is equal to the ends is found.
        """
        keys, low, high = self.part.keys, self.low, self.high
        first = self.part.first
        for number, (n_below, n) in enumerate(zip(below.tolist(), total.tolist(), strict=True)):
            places = [k for k in self.places if first <= k < first + n]
            if places and number in (1, 3):
                found.update(dict.fromkeys(places, low if number == 1 else high))
            elif places:
                own = between if number == 2 else keys[keys < low] if number == 0 else keys[keys > high]
                yield _Part(own, n_below, n, first, places)
            first += n
