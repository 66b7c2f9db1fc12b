"""Box indices: which of many boxes overlap one, without looking at all of them. Pure."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Collection, Iterator
from typing import Generic, TypeVar

from pgaspy.planning.boxes import Box, overlap

__all__ = ["BoxIndex"]

Value = TypeVar("Value")

MANY = 16
"""So many boxes are looked at one by one."""


class BoxIndex(Generic[Value]):
    """Boxes of one local array, each with a value.

    Many are sorted by where they begin along one dimension, those of each size by themselves: none of a size can reach
    a box that begins further on than that.
    """

    __slots__ = ("_dim", "_entries", "_limit", "_near", "_starts")

    def __init__(self) -> None:
        self._entries: dict[tuple[Box, Value], None] = {}
        self._limit = MANY
        self._dim: int | None = None
        self._starts: dict[int, list[int]] = {}  # by size
        self._near: dict[tuple[int, int] | None, list[tuple[Box, Value]]] = {}  # by size and start; None: no dimension

    def __iter__(self) -> Iterator[tuple[Box, Value]]:
        return iter(self._entries)

    def add(self, box: Box, value: Value) -> None:
        """Add a box with a value, if it is not there."""
        entry = box, value
        if entry in self._entries:
            return
        self._entries[entry] = None
        if self._dim is not None:
            self._sort_in(entry)
        if len(self._entries) > self._limit:
            self._sort()

    def remove(self, entry: tuple[Box, Value]) -> None:
        """Remove a box with a value."""
        del self._entries[entry]
        if self._dim is not None:
            place = self._place(entry[0])
            near = self._near[place]
            near.remove(entry)
            if not near:
                del self._near[place]
                if place is not None:
                    starts = self._starts[place[0]]
                    del starts[bisect_left(starts, place[1])]

    def overlapping(self, box: Box) -> list[tuple[Box, Value]]:
        """Those that share an index with a box."""
        return [entry for entry in self._candidates(box) if overlap(box, entry[0])]

    def _candidates(self, box: Box) -> Collection[tuple[Box, Value]]:
        if self._dim is None or not box:
            return self._entries
        start, stop = box[self._dim]
        found = [*self._near.get(None, ())]
        for size, starts in self._starts.items():
            for first in starts[bisect_left(starts, start - (1 << size)):bisect_left(starts, stop)]:
                found += self._near[size, first]
        return found

    def _sort(self) -> None:
        """Choose the dimension along which the boxes begin at the most places, until there are twice as many."""
        self._limit = 2 * len(self._entries)
        sections = [*zip(*(box for box, _ in self._entries if box), strict=True)]
        if sections:
            n_starts = [len({start for start, _ in along}) for along in sections]
            self._dim, self._starts, self._near = n_starts.index(max(n_starts)), {}, {}
            for entry in self._entries:
                self._sort_in(entry)

    def _sort_in(self, entry: tuple[Box, Value]) -> None:
        place = self._place(entry[0])
        near = self._near.get(place)
        if near is not None:
            near.append(entry)
            return
        self._near[place] = [entry]
        if place is not None:
            size, start = place
            starts = self._starts.setdefault(size, [])
            starts.insert(bisect_left(starts, start), start)

    def _place(self, box: Box) -> tuple[int, int] | None:
        assert self._dim is not None
        if not box:
            return None
        start, stop = box[self._dim]
        return (stop - start).bit_length(), start
