"""Small arrays that come to all processes: all that a process has of them in one message."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from pgaspy.caches import cached, lazy
from pgaspy.layout import replicated
from pgaspy.planning.boxes import view_box
from pgaspy.planning.local_parts import local_part
from pgaspy.planning.pieces import indices_at, local_view_shape
from pgaspy.planning.view import View, whole
from pgaspy.scheduling.at_once import MAX_ELEMENTS, elements
from pgaspy.scheduling.builder import Builder
from pgaspy.scheduling.collectives import ALIGNMENT, allgather_small
from pgaspy.scheduling.nodes import Bytes, Location, Memories, bytes_of
from pgaspy.scheduling.operations import Merged, NumberedOperation, Recipe

__all__ = ["Allgather", "allgather"]


class _Part(NamedTuple):
    """What a process has of one array: where that is in the array, and in its message."""

    key: tuple[Any, ...]
    shape: tuple[int, ...]
    place: slice


@dataclass(eq=False)
class Allgather(Recipe):
    """All elements of each of some views, in an array that every process has.

    `purpose` is what for, the same on all processes: those that want other things of the same arrays are told apart.
    """

    sources: tuple[View, ...]
    dtypes: tuple[np.dtype[Any], ...]
    purpose: str
    is_awaited = True
    name = "gather"

    def __post_init__(self) -> None:
        self.views = *[whole(replicated(view.shape, view.layout.n_procs)) for view in self.sources], *self.sources
        self.n_outputs = len(self.sources)

    @property
    def form(self) -> tuple[Any, ...]:
        """See `Recipe`."""
        return self.name, self.dtypes, self.purpose

    def is_done_at_once(self, rank: int, limit: int = MAX_ELEMENTS) -> bool:
        """See `Recipe`."""
        return True

    def merged(self, rank: int) -> Merged | None:
        """See `Recipe`."""
        n = self.n_outputs
        return Merged(tuple(range(n, 2 * n)), (self.sources[0].layout.n_procs,), (0,))

    @lazy
    def _parts(self) -> list[list[_Part]]:
        """Those of all processes, of each array."""
        return [self._parts_of(rank) for rank in range(self.sources[0].layout.n_procs)]

    def _parts_of(self, rank: int) -> list[_Part]:
        found, start = [], 0
        for view, dtype in zip(self.sources, self.dtypes, strict=True):
            key, shape = _held(view, rank)
            stop = start + math.prod(shape) * dtype.itemsize
            found.append(_Part(key, shape, slice(start, stop)))
            start = -(-stop // ALIGNMENT) * ALIGNMENT
        return found

    def add_nodes(self, builder: Builder, operation: NumberedOperation, rank: int) -> None:
        """See `Recipe`."""
        slots, n = operation.slots, self.n_outputs
        targets, sources, all_parts = slots[:n], slots[n:], self._parts

        def pack(memories: Memories, message: Bytes) -> None:
            for part, source, view, dtype in zip(all_parts[rank], sources, self.sources, self.dtypes, strict=True):
                np.ndarray(part.shape, dtype, message[part.place])[...] = elements(view, memories[source], rank)

        def unpack(memories: Memories, locations: list[Location]) -> None:
            for parts, (number, start) in zip(all_parts, locations, strict=True):
                message = bytes_of(memories, number)[start:]
                for part, target, dtype in zip(parts, targets, self.dtypes, strict=True):
                    if 0 not in part.shape:
                        memories[target].local[part.key] = np.ndarray(part.shape, dtype, message[part.place])

        reads = [(source, view_box(view, rank) if builder.has_boxes else None)
                 for source, view in zip(sources, self.sources, strict=True)]
        sizes = [parts[-1].place.stop for parts in all_parts]
        allgather_small(builder, pack, reads, sizes, rank, unpack if operation.is_wanted else None,
                        [(target, None) for target in targets])


allgather = cached(Allgather)


def _held(view: View, rank: int) -> tuple[tuple[Any, ...], tuple[int, ...]]:
    """The indices of what a process has of a view, as a key, and its shape."""
    part = local_part(view, rank)
    if part is not None and view.shape:
        return tuple([slice(i, i + n) for i, n in zip(part.first, part.shape, strict=True)]), part.shape
    shape = local_view_shape(view, rank)
    if 0 in shape:
        return (), shape
    return np.ix_(*[indices_at(view, d, rank, np.arange(n)) for d, n in enumerate(shape)]), shape
