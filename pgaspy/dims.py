"""Dimensions: which part of one a process owns, and where an index lies in it.

One is a `BlockDim` or a `CyclicDim`. Both number their blocks ("parts") 0, 1, 2, ... in the order of the global index,
and answer the same questions, of integers and integer arrays alike. A layout is the product of its dimensions.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, NamedTuple

from pgaspy.blockmath import ceil_div, clipped, narrow, wide
from pgaspy.caches import cached

__all__ = ["MAX_PRODUCT", "BlockDim", "CyclicDim", "Dim", "whole_dim"]


class BlockDim(NamedTuple):
    """One part per process, balanced: part r of a fresh dimension is `[r*n//P, (r+1)*n//P)`.

    A view's dimension is a window of a balanced one: its index i stands for the index `start + step*i` (step > 0) of
    a dimension of `parent_extent` elements, and is owned by that element's owner. In C, `affine` knows the order of the
    fields, which process owns an index, and the window that a view is.
    """

    extent: int
    n_procs: int
    axis: int | None
    parent_extent: int
    start: int = 0
    step: int = 1

    @property
    def block(self) -> int:
        """The size of the largest part; of a window with a step, what no part is larger than."""
        if self.extent == self.parent_extent or self.extent == 0:
            return ceil_div(self.extent, self.n_procs)
        first, last = self.part_from_index(0), self.part_from_index(self.extent - 1)
        at_ends = max(self.local_extent(first), self.local_extent(last))
        if last - first < 2:
            return at_ends
        n_between = last * self.parent_extent // self.n_procs - (first + 1) * self.parent_extent // self.n_procs
        return max(at_ends, ceil_div(ceil_div(n_between, last - first - 1), self.step))

    @property
    def n_blocks(self) -> int:
        """The number of parts."""
        return self.n_procs

    def part_from_index(self, i: Any) -> Any:
        """The part that index i lies in."""
        if i.__class__ is int:
            return ((self.start + self.step * i + 1) * self.n_procs - 1) // self.parent_extent
        return narrow(((self._wide(self.start + self.step * i) + 1) * self.n_procs - 1) // self.parent_extent)

    def part_edge(self, part: Any) -> Any:
        """The index at which `part` begins; outside 0 <= i <= extent for what a window leaves out."""
        return ceil_div(narrow(self._wide(part) * self.parent_extent // self.n_procs) - self.start, self.step)

    def _wide(self, a: Any) -> Any:
        """An array of indices or parts, such that products with the number of processes or the extent fit."""
        return wide(a) if self.parent_extent * self.n_procs > MAX_PRODUCT else a

    def part_edges(self, part: Any) -> tuple[Any, Any]:
        """The indices at which `part` begins and ends."""
        return self.part_edge(part), self.part_edge(part + 1)

    def part_start(self, part: Any) -> Any:
        """The first index of `part`, or the extent."""
        return clipped(self.part_edge(part), 0, self.extent)

    def owner_from_part(self, part: Any) -> Any:
        """The coordinate, along the axis of the grid, of the process that owns `part`."""
        return part

    def parts_from_owner(self, coord: int, first: int, last: int) -> range:
        """The parts of `coord` among the parts first..last (both included)."""
        return range(coord, coord + 1) if first <= coord <= last else range(0)

    def local_from_index(self, i: Any, part: Any) -> Any:
        """The local index, on its owner, of index i, which lies in `part`."""
        return i - self.part_start(part)

    def owned_interval(self, coord: int) -> tuple[int, int]:
        """The indices that `coord` owns, [first, stop)."""
        extent, n_procs, _, n, start, step = self
        if n_procs == 1:
            return 0, extent
        first, stop = -((start - coord * n // n_procs) // step), -((start - (coord + 1) * n // n_procs) // step)
        return min(max(first, 0), extent), min(max(stop, 0), extent)

    def local_extent(self, coord: int) -> int:
        """The number of elements that `coord` owns."""
        first, stop = self.owned_interval(coord)
        return stop - first

    def holds_whole_step(self, step: int) -> bool:
        """Whether the part of a view of this step has, on every owner, one step in local indices."""
        return True

    def has_window(self, step: int, extent: int) -> bool:
        """Whether there is the dimension of a view of this step and extent."""
        return step > 0 or extent <= 1

    def fresh(self, extent: int) -> BlockDim:
        """The same distribution, dealt out afresh to another extent."""
        return BlockDim(extent, self.n_procs, self.axis, extent)

    def __str__(self) -> str:
        window = "" if (self.start, self.step, self.parent_extent) == (0, 1, self.extent) else (
            f" of [{self.start}::{self.step}] of {self.parent_extent}")
        return f"block{window}"


@dataclass(frozen=True, slots=True)
class CyclicDim:
    """Blocks of `block` elements, dealt out in turn; one process alone (`n_procs` 1) is HPF's `*`.

    The first block lies on `first_owner` and has `first_length` elements (1 <= first_length <= block), as in a
    ScaLAPACK descriptor with an offset: so a view that begins inside a block has a layout, too.
    """

    extent: int
    n_procs: int
    axis: int | None
    block: int
    first_owner: int = 0
    first_length: int = 0

    def __post_init__(self) -> None:
        if self.first_length == 0:
            object.__setattr__(self, "first_length", self.block)

    @property
    def n_blocks(self) -> int:
        """The number of parts."""
        return self.part_from_index(self.extent - 1) + 1 if self.extent else 0

    def part_from_index(self, i: Any) -> Any:
        """The part that index i lies in."""
        return (i + (self.block - self.first_length)) // self.block

    def part_edge(self, part: Any) -> Any:
        """The index at which `part` would begin, were all blocks full: below 0 for a short first one."""
        return part * self.block - (self.block - self.first_length)

    def part_edges(self, part: Any) -> tuple[Any, Any]:
        """The indices at which `part` would begin and end, were all blocks full."""
        edge = self.part_edge(part)
        return edge, edge + self.block

    def part_start(self, part: Any) -> Any:
        """The first index of `part`, or the extent."""
        return clipped(self.part_edge(part), 0, self.extent)

    def owner_from_part(self, part: Any) -> Any:
        """The coordinate, along the axis of the grid, of the process that owns `part`."""
        return (part + self.first_owner) % self.n_procs

    def parts_from_owner(self, coord: int, first: int, last: int) -> range:
        """The parts of `coord` among the parts first..last (both included)."""
        return range(first + (coord - self.first_owner - first) % self.n_procs, last + 1, self.n_procs)

    def local_from_index(self, i: Any, part: Any) -> Any:
        """The local index, on its owner, of index i, which lies in `part`: only the first part can be short."""
        missing = self.block - self.first_length
        local = i + (part // self.n_procs - part) * self.block
        return local if missing == 0 else local + (part % self.n_procs != 0) * missing

    def owned_interval(self, coord: int) -> tuple[int, int] | None:
        """The indices that `coord` owns, [first, stop), where they are an interval: of one process in every case."""
        return (0, self.extent) if self.n_procs == 1 else None

    def local_extent(self, coord: int) -> int:
        """The number of elements that `coord` owns."""
        if self.extent == 0:
            return 0
        parts = self.parts_from_owner(coord, 0, self.n_blocks - 1)
        if not parts:
            return 0
        last = min((parts[-1] + 1) * self.block - (self.block - self.first_length), self.extent) - 1
        return int(self.local_from_index(last, parts[-1])) + 1

    def holds_whole_step(self, step: int) -> bool:
        """Whether the part of a view of this step has, on every owner, one step in local indices."""
        return self.n_procs == 1 or self.block % abs(step) == 0 or step % self.block == 0

    def has_window(self, step: int, extent: int) -> bool:
        """Whether there is the dimension of a view of this step and extent."""
        return self.n_procs == 1 or extent <= 1 or (step > 0 and self.block % step == 0)

    def window(self, start: int, step: int, extent: int) -> CyclicDim | None:
        """The dimension of a view `start + step*i`, i < extent, with exactly its owners; None if it has no layout."""
        if self.axis is None:
            return whole_dim(extent)
        if extent <= 1:
            step = 1
        if extent == 0:
            return replace(self, extent=0)
        if not self.has_window(step, extent):
            return None
        if step < 0 or self.block % step:
            return replace(self, extent=extent, first_length=self.block)
        part = self.part_from_index(start)
        first_length = ceil_div(part * self.block + self.first_length - start, step)
        return CyclicDim(extent, self.n_procs, self.axis, self.block // step, self.owner_from_part(part), first_length)

    def fresh(self, extent: int) -> CyclicDim:
        """The same distribution, dealt out afresh to another extent."""
        return whole_dim(extent) if self.axis is None else CyclicDim(extent, self.n_procs, self.axis, self.block)

    def __str__(self) -> str:
        if self.axis is None:
            return "*"
        first = "" if (self.first_owner, self.first_length) == (0, self.block) else (
            f" from {self.first_owner} with {self.first_length}")
        return f"cyclic({self.block}){first}"


Dim = BlockDim | CyclicDim

MAX_PRODUCT = 2**62
"""Where extent and number of processes make more, NumPy's integers are too short for their products."""


@cached
def whole_dim(extent: int) -> CyclicDim:
    """A dimension that is not distributed, HPF's `*`."""
    return CyclicDim(extent, 1, None, max(extent, 1))
