"""Which processes of a job are played, and which of them stand for the others.

A process is of a class by its place along each axis of the grids that arrays lie on: first, last or between. So there
are corners, edges and an inside. A message from a process that is not played comes when one of its class sends the like
one: of the same operation, with the same tag, to a process that is as many ranks further. Where there is none, as in a
tree of messages whose parts differ, the process itself is played.
"""

from __future__ import annotations

import itertools
import math
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence

from pgaspy.layout import coords_from_rank
from pgaspy.simulating.scripts import Script

__all__ = ["Classes", "Likes"]

Grid = tuple[int, ...]


class Classes:
    """The classes of a job's processes, by the grids of its arrays."""

    def __init__(self, grids: Iterable[Grid], size: int) -> None:
        self.grids = sorted({grid for grid in grids if grid and math.prod(grid) == size}) or [(size,)]

    def of(self, rank: int) -> tuple[tuple[int, ...], ...]:
        """A process's place along each axis of each grid: 0 for the first, 2 for the last, 1 between."""
        return tuple(tuple(0 if c == 0 else 2 if c == n - 1 else 1 for c, n in zip(coords, grid, strict=True))
                     for coords, grid in zip(self.coords(rank), self.grids, strict=True))

    def coords(self, rank: int) -> list[tuple[int, ...]]:
        """A process's coordinates in each grid."""
        return [coords_from_rank(grid, rank) for grid in self.grids]

    def line(self, source: int, destination: int) -> set[int]:
        """The processes on the lines of grids that two are on: those of a chain that a message may be of."""
        found = {source}
        for grid in self.grids:
            one, other = (coords_from_rank(grid, rank) for rank in (source, destination))
            differing = [axis for axis, (a, b) in enumerate(zip(one, other, strict=True)) if a != b]
            if len(differing) == 1 and len(grid) > 1:
                (axis,) = differing
                stride = math.prod(grid[axis + 1:])
                found.update(source + (c - one[axis]) * stride for c in range(grid[axis]))
        return found

    @property
    def examples(self) -> list[int]:
        """A process of each class along the axes of each grid; those between are odd, as most of a binomial tree."""
        found = set()
        for grid in self.grids:
            for coords in itertools.product(*({0, min(n // 2 | 1, max(n - 2, 0)), n - 1} for n in grid)):
                rank = 0
                for n, c in zip(grid, coords, strict=True):
                    rank = rank * n + c
                found.add(rank)
        return sorted(found)

    def population(self, rank: int) -> int:
        """How many processes are of a process's class, in the grid with the most axes."""
        grid = max(self.grids, key=len)
        return math.prod(max(n - 2, 1) if place == 1 else 1
                         for n, place in zip(grid, self.of(rank)[self.grids.index(grid)], strict=True))

    def shares(self, ranks: Sequence[int]) -> dict[int, float]:
        """How much each of some processes counts in a mean of all.

        Examples count for their classes, but for the others, which are played as they differ, and count once.
        """
        k = self.grids.index(max(self.grids, key=len))
        members = defaultdict(list)
        for rank in ranks:
            members[self.of(rank)[k]].append(rank)
        weights = dict.fromkeys(ranks, 1.0)
        for of_class in members.values():
            known = set(self.examples).intersection(of_class) or set(of_class)
            for rank in known:
                weights[rank] = (self.population(rank) - len(of_class) + len(known)) / len(known)
        total = sum(weights.values())
        return {rank: weight / total for rank, weight in weights.items()}


class Likes:
    """Who stands for whom, of the processes that are played."""

    def __init__(self, scripts: Mapping[int, Script], classes: Classes, size: int) -> None:
        self._scripts, self._classes, self._size = scripts, classes, size
        senders: dict[tuple[int, int], dict[int, None]] = defaultdict(dict)
        for rank, script in scripts.items():
            for node, tag in script.messages():
                if not node.is_receive:
                    senders[(node.peer - rank) % size, tag][rank] = None
        self._senders = {key: tuple(ranks) for key, ranks in senders.items()}
        self._found: dict[tuple[int, int, tuple[int, ...]], int | None] = {}

    def missing(self) -> set[int]:
        """The processes that send what is received, and for whom none stands."""
        return {node.peer for rank, script in self._scripts.items() for node, tag in script.messages()
                if node.is_receive and self._source(node.peer, rank, tag) is None}

    def source(self, source: int, destination: int, tag: int) -> int:
        """The process whose like message is taken for one."""
        found = self._source(source, destination, tag)
        assert found is not None
        return found

    def _source(self, source: int, destination: int, tag: int) -> int | None:
        if source in self._scripts:
            return source
        candidates = self._senders.get(((destination - source) % self._size, tag), ())
        key = source, destination, candidates
        if key not in self._found:
            self._found[key] = self._best(source, destination, candidates)
        return self._found[key]

    def _best(self, source: int, destination: int, candidates: Sequence[int]) -> int | None:
        """Of the source's class, the one that has most coordinates in common with it.

        Those count first in which the destination differs: what is handed on along an axis comes later further on.
        """
        own, coords, ends = (of(rank) for of, rank in (
            (self._classes.of, source), (self._classes.coords, source), (self._classes.coords, destination)))

        def n_common(rank: int) -> tuple[int, int]:
            common = [(a != end) for one, other, last in zip(coords, self._classes.coords(rank), ends, strict=True)
                      for a, b, end in zip(one, other, last, strict=True) if a == b]
            return sum(common), len(common)

        alike = [rank for rank in candidates if self._classes.of(rank) == own]
        return max(alike, key=n_common, default=None)
