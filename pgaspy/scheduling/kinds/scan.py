"""Scans: running sums, and what other ufuncs accumulate, along one dimension."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pgaspy.caches import cached, lazy
from pgaspy.layout import Layout, rank_from_coords
from pgaspy.planning.boxes import view_box
from pgaspy.planning.scans import Order, runs_of
from pgaspy.planning.view import View
from pgaspy.scheduling import at_once, local_scans
from pgaspy.scheduling.base import Storage, local_view
from pgaspy.scheduling.builder import Builder
from pgaspy.scheduling.collectives import hand_to_all, joined_before
from pgaspy.scheduling.floating_point import noting
from pgaspy.scheduling.messages import receive, send
from pgaspy.scheduling.nodes import FunctionCall, Memories, bytes_of
from pgaspy.scheduling.operations import Merged, NumberedOperation, Recipe
from pgaspy.scheduling.totals import Totals, totals_by

__all__ = ["Scan", "scan"]


@dataclass(eq=False)
class Scan(Recipe):
    """`target = ufunc.accumulate(source, axis)`, from the last index to the first if it `is_reversed`.

    The source has a layout of its own, and the target is a whole array in this layout. An associative ufunc takes the
    parts of the dimension at once: what each comes to is joined with what those before it do, while other operations
    are computed, and the results follow from that in one pass. Any other waits for the results of the part before.
    """

    target: View
    source: View
    axis: int
    is_reversed: bool
    ufunc: np.ufunc
    is_associative: bool
    dtypes: tuple[np.dtype[Any], ...]
    name = "scan"
    errors_in = "accumulate"

    def __post_init__(self) -> None:
        self.views = self.target, self.source

    def __str__(self) -> str:
        return f"{self.ufunc.__name__}.accumulate {self.source.shape} along {self.axis}"

    @property
    def _layout(self) -> Layout:
        return self.target.layout

    @property
    def _order(self) -> Order:
        return Order(self._layout.dims[self.axis], self.is_reversed)

    @lazy
    def _totals(self) -> Totals:
        return totals_by(self.ufunc, self.dtypes[0])

    def _holds(self, rank: int) -> bool:
        return self._layout.holds(self._layout.coords_from_rank(rank))

    def _coord(self, rank: int) -> int:
        return self._layout.dim_coord(self.axis, self._layout.coords_from_rank(rank))

    def _members(self, rank: int) -> range:
        """The ranks along the dimension's axis of the grid, by their coordinates."""
        axis, grid = self._layout.dims[self.axis].axis, self._layout.grid
        if axis is None:
            return range(rank, rank + 1)
        coords = list(self._layout.coords_from_rank(rank))
        coords[axis] = 0
        first, stride = rank_from_coords(grid, tuple(coords)), math.prod(grid[axis + 1:])
        return range(first, first + grid[axis] * stride, stride)

    def _rows_shape(self, rank: int) -> tuple[int, ...]:
        """That of the local part without the dimension, and without others of extent 1."""
        return tuple(n for d, n in enumerate(self._layout.local_shape(rank)) if d != self.axis and n != 1)

    def _is_merged(self, rank: int) -> bool:
        return self._holds(rank) and len(self._members(rank)) > 1 and 0 not in self._rows_shape(rank)

    def _along(self, local: NDArray[Any]) -> NDArray[Any]:
        """A local part with the dimension in front, in the order of the scan, and without others of extent 1."""
        return local_scans.along(local, self.axis)[::-1 if self.is_reversed else 1]

    def is_done_at_once(self, rank: int, limit: int = at_once.MAX_ELEMENTS) -> bool:
        """See `Recipe`."""
        return self.source.layout.n_procs == 1 and at_once.is_small(self.source, rank, limit)

    def execute(self, storages: Sequence[Storage], values: Sequence[Any], rank: int) -> None:
        """See `Recipe`."""
        target, source = (self._along(local_view(*pair)) for pair in zip(storages, self.views, strict=True))
        local_scans.scanned(self.ufunc, source, target)

    def merged(self, rank: int) -> Merged | None:
        """See `Recipe`."""
        axis = self._layout.dims[self.axis].axis
        return Merged((1,), self._layout.grid, (axis,)) if axis is not None and self._is_merged(rank) else None

    def details(self, text: Callable[[Any], str]) -> str:
        """See `Recipe`."""
        return f"{self.ufunc.__name__}({self.dtypes[0]}) along {self.axis}{' reversed' if self.is_reversed else ''}"

    def add_nodes(self, builder: Builder, operation: NumberedOperation, rank: int) -> None:
        """See `Recipe`."""
        if not self._is_merged(rank):
            if operation.is_wanted and 0 not in self._layout.local_shape(rank) and self._holds(rank):
                self._add_results(builder, operation, rank, None, 0)
        elif self.is_associative:
            self._add_in_parts(builder, operation, rank)
        else:
            self._add_chained(builder, operation, rank)

    def _add_in_parts(self, builder: Builder, operation: NumberedOperation, rank: int) -> None:
        """The parts' totals, exchanged: in each round what comes before this part, and what the round comes to."""
        order, coord, members = self._order, self._coord(rank), self._members(rank)
        runs, rows = runs_of(order, coord), self._rows_shape(rank)
        dtype, n_rounds = self._totals.dtype, order.n_rounds
        position, n_parts = order.position_from_coord(coord), sum(run.n_parts for run in runs)
        size = n_rounds * math.prod(rows)
        totals = self._add_totals(builder, operation, rank, n_parts, size) if runs else None
        before, up_to = joined_before(builder, totals, size, dtype, self._totals.merge, order, members, position)
        if n_rounds > 1:
            last = order.coord_from_position(len(members) - 1)
            of_rounds = up_to if coord == last and up_to is not None else builder.buffer(size * dtype.itemsize)
            hand_to_all(builder, of_rounds, size * dtype.itemsize, members, coord, last)
            before = self._add_rounds(builder, before, of_rounds, n_rounds, rows) if operation.is_wanted else None
        if operation.is_wanted and runs:
            self._add_results(builder, operation, rank, before, int(position == 0))

    def _add_totals(self, builder: Builder, operation: NumberedOperation, rank: int, n_parts: int, size: int) -> int:
        """What each part of this process comes to; the place of one that it does not have is zero."""
        dtype, slot, source = self._totals.dtype, operation.slots[1], self.source
        runs, rows = runs_of(self._order, self._coord(rank)), self._rows_shape(rank)
        number = builder.buffer(size * dtype.itemsize)

        def compute(memories: Memories) -> None:
            found = bytes_of(memories, number).view(dtype).reshape(-1, *rows)
            found[n_parts:] = np.zeros((), dtype)
            first = 0
            for run in local_scans.run_views(self._along(local_view(memories[slot], source)), runs):
                found[first:first + run.shape[1]] = self._totals.of_elements(run)
                first += run.shape[1]

        builder.add(FunctionCall(compute, "totals"), [(slot, view_box(source, rank))], [(number, None)])
        return number

    def _add_rounds(self, builder: Builder, before: int | None, of_rounds: int, n_rounds: int,
                    rows: tuple[int, ...]) -> int:
        """What comes before this process's part of each round: earlier rounds, and earlier positions in this one."""
        dtype = self._totals.dtype
        number = builder.buffer(n_rounds * math.prod(rows) * dtype.itemsize)

        def compute(memories: Memories) -> None:
            found, rounds = (bytes_of(memories, k).view(dtype).reshape(n_rounds, *rows) for k in (number, of_rounds))
            earlier = None if before is None else bytes_of(memories, before).view(dtype).reshape(n_rounds, *rows)
            found[:1] = np.zeros((), dtype) if earlier is None else earlier[:1]
            found[1:] = self._totals.accumulated(rounds[:-1])
            if earlier is not None:
                found[1:] = self._totals.joined(found[1:], earlier[1:])

        reads = [(k, None) for k in (of_rounds, before) if k is not None]
        builder.add(FunctionCall(compute, "rounds"), reads, [(number, None)])
        return number

    def _add_results(self, builder: Builder, operation: NumberedOperation, rank: int, before: int | None,
                     first: int) -> None:
        """The results, from what comes before each part; there is nothing before the first one, if `first` is 1."""
        target, slot = operation.slots
        rows = self._rows_shape(rank)
        runs = runs_of(self._order, self._coord(rank))

        def compute(memories: Memories) -> None:
            results = self._along(memories[target].local)
            source = self._along(local_view(memories[slot], self.source))
            if before is None:
                local_scans.scanned(self.ufunc, source, results)
                return
            carries = self._totals.values(bytes_of(memories, before).view(self._totals.dtype).reshape(-1, *rows))
            part = 0
            for x, found in zip(*(local_scans.run_views(local, runs) for local in (source, results)), strict=True):
                n = x.shape[1]
                alone = first if part == 0 else 0
                if alone:
                    local_scans.scanned(self.ufunc, x[:, :1], found[:, :1])
                local_scans.scanned(self.ufunc, x[:, alone:], found[:, alone:], carries[part + alone:part + n])
                part += n

        node = FunctionCall(compute, "scan")
        node.overwrites = (target,) if target < builder.n_bases else ()
        reads = [(slot, view_box(self.source, rank)), *([] if before is None else [(before, None)])]
        builder.add(node, reads, [(target, None)])

    def _add_chained(self, builder: Builder, operation: NumberedOperation, rank: int) -> None:
        """The results of a block dimension, one process after the other: each waits for the last row of the one before.
        """
        coord, dtype, members = self._coord(rank), self.dtypes[0], self._members(rank)
        if not self._layout.dims[self.axis].local_extent(coord):
            return
        target, slot = operation.slots
        rows = self._rows_shape(rank)
        nbytes = math.prod(rows) * dtype.itemsize
        earlier, later = self._order.neighbours(coord)
        before, last = (builder.buffer(nbytes) for _ in range(2))
        if earlier is not None:
            receive(builder, (before, 0), None, nbytes, members[earlier], 0)

        def compute(memories: Memories) -> None:
            local = self._along(local_view(memories[slot], self.source)).astype(dtype)
            if earlier is not None:
                local = np.concatenate([bytes_of(memories, before).view(dtype).reshape(1, *rows), local])
            found = noting("accumulate", self.ufunc.accumulate, local)
            bytes_of(memories, last).view(dtype).reshape(rows)[...] = found[-1]
            if operation.is_wanted:
                self._along(memories[target].local)[...] = found[0 if earlier is None else 1:]

        reads = [(slot, view_box(self.source, rank)), *([] if earlier is None else [(before, None)])]
        builder.add(FunctionCall(compute, "scan"), reads,
                    [(last, None), *([(target, None)] if operation.is_wanted else [])])
        if later is not None:
            send(builder, (last, 0), None, nbytes, members[later], 0)


scan = cached(Scan)
