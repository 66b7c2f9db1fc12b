"""Assignments: the elements of one view become those of another, wherever they lie."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from pgaspy.caches import cached, lazy
from pgaspy.planning.pieces import lie_in_place, piece_in_place
from pgaspy.planning.transfers import plan_transfer
from pgaspy.planning.view import View
from pgaspy.scheduling import at_once
from pgaspy.scheduling.base import Storage
from pgaspy.scheduling.builder import Builder
from pgaspy.scheduling.elementwise import is_local_and_large
from pgaspy.scheduling.messages import view_side
from pgaspy.scheduling.operations import Elementwise, Moved, NumberedOperation, Recipe, statement_form
from pgaspy.scheduling.transfer_nodes import transfer

__all__ = ["Assign", "assign"]


@dataclass(eq=False)
class Assign(Recipe):
    """`target[...] = source`, element by element, with casting; the views have one shape.

    `overlaps` says that they are sections of one base that may share elements.
    """

    target: View
    source: View
    dtype: np.dtype[Any]
    source_dtype: np.dtype[Any]
    overlaps: bool
    n_counted_at_once = 1
    name = "assign"

    def __post_init__(self) -> None:
        self.views = self.target, self.source

    @property
    def form(self) -> tuple[Any, ...]:
        """See `Recipe`."""
        return statement_form(None, (True,), (self.source_dtype, self.dtype), (self.dtype,), False)

    @lazy
    def elementwise(self) -> Elementwise | None:
        """See `Recipe`."""
        if self.overlaps or not self.target.has_own_layout or self.source.stretched_dims:
            return None
        return Elementwise(None, "copy", (True,), (self.source_dtype,), (self.source_dtype, self.dtype), self.dtype,
                           (False,), receives_in_place=True)

    @property
    def _kernel(self) -> int:
        dtypes = self.source_dtype, self.dtype
        return at_once.kernel_for(None, "copy", dtypes, dtypes)

    def is_done_at_once(self, rank: int, limit: int = at_once.MAX_ELEMENTS) -> bool:
        """See `Recipe`."""
        return at_once.is_small(self.target, rank, limit) and at_once.is_small(self.source, rank, limit)

    def is_local(self, rank: int) -> bool:
        """See `Recipe`."""
        return not self.overlaps and self._kernel >= 0 and lie_in_place(self.target, self.views[1:], rank)

    def execute(self, storages: Sequence[Storage], values: Sequence[Any], rank: int) -> None:
        """See `Recipe`."""
        piece = piece_in_place(self.target, self.views[1:], rank)
        if piece is not None:
            (target, to), (source, from_) = zip(storages, piece.sources, strict=True)
            dtypes = self.source_dtype, self.dtype
            at_once.run(self._kernel, dtypes, dtypes, piece.shape, [(source, from_), (target, to)])

    def moved(self, rank: int) -> Sequence[Moved]:
        """See `Recipe`."""
        return [Moved(1, plan_transfer(self.target, self.source, rank), self.target.layout.grid, self.source)]

    def may_be_postponed(self, rank: int) -> bool:
        """See `Recipe`."""
        return is_local_and_large(self, self.dtype, rank)

    def add_nodes(self, builder: Builder, operation: NumberedOperation, rank: int) -> None:
        """See `Recipe`."""
        target, source = operation.slots
        transfer(builder, plan_transfer(self.target, self.source, rank),
                 view_side(builder, target, self.target, self.dtype, rank),
                 view_side(builder, source, self.source, self.source_dtype, rank), self.overlaps, 0, rank,
                 self.target.layout.grid, operation.is_wanted, self.target.layout.is_on_one_process)


assign = cached(Assign)
