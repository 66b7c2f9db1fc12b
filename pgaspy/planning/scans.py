"""The order in which a scan along one dimension comes to the parts of the processes. Pure.

Positions 0, 1, 2, ... are those of the processes along the dimension's axis of the grid: a scan comes to one part of
each, and then, where they have several, in **rounds** to the next part of each.
"""

from __future__ import annotations

from typing import NamedTuple

from pgaspy.dims import BlockDim, Dim

__all__ = ["Order", "Run", "runs_of"]


class Run(NamedTuple):
    """Parts of one process that follow each other in its storage, all of one length."""

    n_parts: int
    length: int


class Order(NamedTuple):
    """The order in which a scan comes to the parts of a dimension: that of the index, or the reversed one."""

    dim: Dim
    is_reversed: bool

    @property
    def n_rounds(self) -> int:
        """How many parts the process at the first position has."""
        return 1 if isinstance(self.dim, BlockDim) else -(-self.dim.n_blocks // self.dim.n_procs)

    def position_from_coord(self, coord: int) -> int:
        """The position of the process at a coordinate along the dimension's axis of the grid."""
        dim, n = self.dim, self.dim.n_procs
        if isinstance(dim, BlockDim):
            return n - 1 - coord if self.is_reversed else coord
        first = dim.owner_from_part(dim.n_blocks - 1 if self.is_reversed else 0)
        return int(first - coord if self.is_reversed else coord - first) % n

    def coord_from_position(self, position: int) -> int:
        """The coordinate of the process at a position."""
        dim, n = self.dim, self.dim.n_procs
        if isinstance(dim, BlockDim):
            return n - 1 - position if self.is_reversed else position
        first = dim.owner_from_part(dim.n_blocks - 1 if self.is_reversed else 0)
        return int(first - position if self.is_reversed else first + position) % n

    def has_elements(self, first: int, last: int) -> bool:
        """Whether there are elements in the first round at the positions first..last (both included)."""
        dim = self.dim
        if not isinstance(dim, BlockDim):
            return first < dim.n_blocks
        coords = sorted((self.coord_from_position(first), self.coord_from_position(last)))
        return bool(dim.part_start(coords[0]) < dim.part_start(coords[1] + 1))

    def neighbours(self, coord: int) -> tuple[int | None, int | None]:
        """Of a block dimension: the coordinates of the processes that have what comes before and after."""
        start, stop = self.dim.part_start(coord), self.dim.part_start(coord + 1)
        before = None if start == 0 else int(self.dim.part_from_index(start - 1))
        after = None if stop == self.dim.extent else int(self.dim.part_from_index(stop))
        return (after, before) if self.is_reversed else (before, after)


def runs_of(order: Order, coord: int) -> list[Run]:
    """The parts of the process at a coordinate, in the order of the scan; those at either end may be short."""
    dim = order.dim
    if isinstance(dim, BlockDim) or dim.n_procs == 1:
        extent = dim.local_extent(coord)
        return [Run(1, extent)] if extent else []
    parts = dim.parts_from_owner(coord, 0, dim.n_blocks - 1)
    ends = [Run(1, int(dim.part_start(part + 1) - dim.part_start(part))) for part in (*parts[:1], *parts[1:][-1:])]
    runs = [*ends[:1], Run(len(parts) - 2, dim.block), *ends[1:]] if len(parts) > 2 else ends
    return runs[::-1] if order.is_reversed else runs
