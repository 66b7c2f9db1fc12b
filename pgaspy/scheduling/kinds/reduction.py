"""Reductions: a view over some of its axes, first of the local part, then over the processes."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from pgaspy.caches import cached, lazy
from pgaspy.layout import Layout
from pgaspy.planning.boxes import view_box
from pgaspy.planning.local_parts import lie_alike
from pgaspy.planning.pieces import indices_at
from pgaspy.planning.transfers import NOTHING, plan_transfer
from pgaspy.planning.view import View, whole
from pgaspy.scheduling import at_once
from pgaspy.scheduling.base import Storage, local_view
from pgaspy.scheduling.builder import Builder
from pgaspy.scheduling.collectives import exchange_partials, group_members
from pgaspy.scheduling.messages import view_side
from pgaspy.scheduling.nodes import FunctionCall, Memories, bytes_of
from pgaspy.scheduling.operations import Merged, Moved, NumberedOperation, Recipe, Reducing, first_tag
from pgaspy.scheduling.short_vectors import are_short, hand_round, is_in_intervals, part_of
from pgaspy.scheduling.transfer_nodes import transfer

__all__ = ["Indices", "Reduce", "Reduction", "indices_of", "reduce"]


Indices = Callable[[int, NDArray[np.int64]], NDArray[np.int64]]
"""The global indices along a dimension of places of a local part."""


class Reduction(Protocol):
    """How values are reduced: locally, then between processes. Equal ones are the same."""

    def __hash__(self) -> int: ...

    @property
    def partial_dtype(self) -> np.dtype[Any]:
        """The dtype of partial results."""

    def partial(self, local: NDArray[Any], axes: tuple[int, ...], indices: Indices,
                operands: Sequence[NDArray[Any]]) -> NDArray[Any]:
        """The partial result of a local part, reduced over `axes` (none of them left).

        `indices(d, places)` are the global indices along d of places of the local part; `operands` the local parts of
        the others, copied.
        """

    @property
    def merge(self) -> Callable[[NDArray[Any], NDArray[Any]], NDArray[Any]]:
        """What merges two flat arrays of partial results, of lower and of higher ranks; a ufunc, if one does."""

    @property
    def result(self) -> Callable[[NDArray[Any]], NDArray[Any]] | None:
        """What makes final values of merged partial results; None if these are final."""

    def kernel(self, char: str) -> tuple[str, str] | None:
        """Name and types of the C kernel that reduces elements of a dtype.char so, where there is one."""


@dataclass(eq=False)
class Reduce(Recipe):
    """A view reduced over `axes`: the local part by its owner, then the partial results over the processes.

    The source has a layout of its own; the target's is the same without the reduced dimensions, replicated along
    their axes of the grid. The `operands` are vectors, which come to where the last reduced dimension lies.
    """

    target: View
    source: View
    axes: tuple[int, ...]
    reduction: Reduction
    dtypes: tuple[np.dtype[Any], ...]
    operands: tuple[View, ...] = ()
    n_counted_at_once = 0
    name = "reduce"

    def __post_init__(self) -> None:
        self.views = (self.target, self.source, *self.operands)

    def __str__(self) -> str:
        return f"reduce {self.source.shape} over {self.axes}"

    @property
    def form(self) -> tuple[Any, ...]:
        """See `Recipe`."""
        return self.name, self.axes, self.reduction, self.dtypes

    @property
    def reducing(self) -> Reducing | None:
        """See `Recipe`. The axes follow each other, or are all that there are, and the source is a whole array."""
        axes, kernel = self.axes, self.reduction.kernel(self.dtypes[1].char)
        follow = len(axes) == self.source.ndim or (len(axes) > 0 and axes[-1] - axes[0] == len(axes) - 1)
        if kernel is None or self.operands or not follow or not self.source.is_whole:
            return None
        return Reducing(axes, kernel)

    @property
    def _layout(self) -> Layout:
        layout = self.source.own_layout
        assert layout is not None
        return layout

    @lazy
    def _merged_axes(self) -> tuple[int, ...]:
        """The axes of the grid along which partial results are merged."""
        dims = self._layout.dims
        return tuple(sorted(axis for d in self.axes if (axis := dims[d].axis) is not None))

    def _holds(self, rank: int) -> bool:
        return self._layout.holds(self._layout.coords_from_rank(rank))

    @lazy
    def _along(self) -> View:
        """Where operands come to."""
        layout = self._layout
        return whole(layout.of_part((layout.dims[self.axes[-1]],), layout.pins))

    def _lies_along(self, view: View) -> bool:
        """Whether an operand is there, and is read where it lies."""
        along = self._along
        return view.has_own_layout and lie_alike(along, view) and lie_alike(view, along)

    def _is_short(self, number: int) -> bool:
        """Whether an operand comes there as a short vector, and each process needs an interval of it."""
        return is_in_intervals(self._layout.dims[self.axes[-1]]) and are_short(
            (self.views[number],), self.dtypes[number].itemsize)

    def is_done_at_once(self, rank: int, limit: int = at_once.MAX_ELEMENTS) -> bool:
        """See `Recipe`."""
        return at_once.is_small(self.source, rank, limit)

    def is_local(self, rank: int) -> bool:
        """See `Recipe`."""
        return self.source.layout.n_procs == 1

    def execute(self, storages: Sequence[Storage], values: Sequence[Any], rank: int) -> None:
        """See `Recipe`."""
        local, *operands = map(local_view, storages[1:], self.views[1:])
        self._store(storages[0], self._partial(local, operands, rank))

    def _partial(self, local: NDArray[Any], operands: Sequence[NDArray[Any]], rank: int) -> NDArray[Any]:
        """The partial result of a local part."""
        found = self.reduction.partial(local, self.axes, indices_of(self.source, rank),
                                       [*map(np.ascontiguousarray, operands)])
        return np.asarray(found, self.reduction.partial_dtype)

    def _store(self, target: Storage, merged: NDArray[Any]) -> None:
        """Have the final values of merged partial results in the local part of the target."""
        result = self.reduction.result
        target.local[...] = merged if result is None else result(merged)

    def moved(self, rank: int) -> Sequence[Moved]:
        """See `Recipe`. The messages of short operands have other tags, and are between the same processes."""
        return [self._moved(number, view, rank) for number, view in enumerate(self.operands, 2)]

    def _moved(self, number: int, view: View, rank: int) -> Moved:
        stays = self._lies_along(view) or not view.size
        return Moved(number, NOTHING if stays else plan_transfer(self._along, view, rank), self._layout.grid, view)

    def merged(self, rank: int) -> Merged | None:
        """See `Recipe`."""
        if not self._holds(rank):
            return None
        return Merged(tuple(range(1, len(self.views))), self._layout.grid, self._merged_axes)

    def details(self, text: Callable[[Any], str]) -> str:
        """See `Recipe`."""
        return f"{text(self.reduction)} over {self.axes}"

    def add_nodes(self, builder: Builder, operation: NumberedOperation, rank: int) -> None:
        """See `Recipe`."""
        members = group_members(self._layout.grid, self._merged_axes, rank)
        is_wanted = self._holds(rank) and (operation.is_wanted or len(members) > 1)
        come = [None if self._lies_along(view) else self._add_operand(builder, operation, number, is_wanted, rank)
                for number, view in enumerate(self.operands, 2)]
        if not is_wanted:
            return
        slots = operation.slots

        def partial(memories: Memories) -> NDArray[Any]:
            local, *operands = [local_view(memories[slots[k]], view) if memory is None else
                                bytes_of(memories, memory).view(self.dtypes[k])
                                for k, (view, memory) in enumerate(zip(self.views[1:], (None, *come), strict=True), 1)]
            return self._partial(local, operands, rank)

        reads = [(slots[k], view_box(view, rank) if builder.has_boxes else None) if memory is None else (memory, None)
                 for k, (view, memory) in enumerate(zip(self.views[1:], (None, *come), strict=True), 1)]
        if len(members) == 1 and slots[0] not in slots[1:]:
            builder.add(FunctionCall(lambda memories: self._store(memories[slots[0]], partial(memories)), self.name),
                        reads, [(slots[0], None)])
            return
        shape, dtype = self.target.layout.local_shape(rank), self.reduction.partial_dtype
        number = builder.buffer(math.prod(shape) * dtype.itemsize)

        def reduce_local(memories: Memories) -> None:
            bytes_of(memories, number).view(dtype).reshape(shape)[...] = partial(memories)

        builder.add(FunctionCall(reduce_local, self.name), reads, [(number, None)])
        self.add_merge(builder, operation, number, rank)

    def _add_operand(self, builder: Builder, operation: NumberedOperation, number: int, is_wanted: bool,
                     rank: int) -> int:
        """Have an operand come; to which memory."""
        view, slot, dtype = self.views[number], operation.slots[number], self.dtypes[number]
        if view.size and self._is_short(number):
            return self._hand_round(builder, view, slot, dtype, first_tag(number), is_wanted, rank)
        held = self._along.layout.local_shape(rank)
        memory = builder.buffer(math.prod(held) * dtype.itemsize if is_wanted else 0)
        moved = self._moved(number, view, rank)
        transfer(builder, moved.plan, view_side(builder, memory, self._along, dtype, rank),
                 view_side(builder, slot, view, dtype, rank), False, number, rank, moved.grid, is_wanted)
        return memory

    def _hand_round(self, builder: Builder, view: View, slot: int, dtype: np.dtype[Any], tag: int, is_wanted: bool,
                    rank: int) -> int:
        """Have all processes get what they need of a short operand; the memory where that is here."""
        needs = [part_of(self._along, peer) for peer in range(view.layout.n_procs)]
        pieces = hand_round(builder, view, slot, dtype, needs, rank, tag)
        first, n = needs[rank]
        if len(pieces) == 1 and (pieces[0].start, pieces[0].stop) == (first, first + n):
            return pieces[0].buffer
        memory = builder.buffer(n * dtype.itemsize if is_wanted else 0)

        def join(memories: Memories) -> None:
            here = bytes_of(memories, memory).view(dtype)
            for buffer, start, stop in pieces:
                here[start - first:stop - first] = bytes_of(memories, buffer).view(dtype)

        if is_wanted:
            builder.add(FunctionCall(join, "unpack"), [(piece.buffer, None) for piece in pieces], [(memory, None)])
        return memory

    def add_merge(self, builder: Builder, operation: NumberedOperation, partial: int, rank: int) -> None:
        """See `Recipe`."""
        reduction, slot = self.reduction, operation.slots[0]
        shape = self.target.layout.local_shape(rank)
        members = group_members(self._layout.grid, self._merged_axes, rank)
        target = slot if reduction.result is None and operation.is_wanted else None
        merged = exchange_partials(builder, partial, math.prod(shape), reduction.partial_dtype, reduction.merge,
                                   members, rank, target, operation.is_wanted)
        if merged == slot or not operation.is_wanted:
            return

        def store(memories: Memories) -> None:
            self._store(memories[slot], bytes_of(memories, merged).view(reduction.partial_dtype).reshape(shape))

        builder.add(FunctionCall(store, "store"), [(merged, None)], [(slot, None)])


reduce = cached(Reduce)


def indices_of(view: View, rank: int) -> Indices:
    """Those of what a process has of a view."""
    return lambda d, places: indices_at(view, d, rank, places)
