"""Statements: a function of the elements of each operand, computed by the owner of the output."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from pgaspy.caches import lazy
from pgaspy.job.procgrid import world
from pgaspy.planning.pieces import (
    LOCAL,
    OperandPlan,
    Piece,
    Source,
    lie_in_place,
    one_piece,
    piece_in_place,
    plan_assembled,
    plan_boxes,
    plan_operands,
)
from pgaspy.planning.view import View
from pgaspy.scheduling import at_once
from pgaspy.scheduling.base import Storage
from pgaspy.scheduling.builder import Builder
from pgaspy.scheduling.collectives import handed_out, sent
from pgaspy.scheduling.elementwise import add_operand, add_operand_messages, is_local_and_large, memory_of, overwritten
from pgaspy.scheduling.functions import AnyFunction
from pgaspy.scheduling.fused_code import Input
from pgaspy.scheduling.members import Operand, has_kernel
from pgaspy.scheduling.nodes import FunctionCall, Location, Memories, NumpyCall
from pgaspy.scheduling.operations import Elementwise, Moved, NumberedOperation, Recipe, statement_form

__all__ = ["Statement"]


_NOT_ASSEMBLED: tuple[int, tuple[list[OperandPlan], Piece | None] | None] = (-1, None)


@dataclass(eq=False)
class Statement(Recipe):
    """An elementwise operation: `outputs = function(*operands)`; the owner of the output computes.

    `function` is a NumPy ufunc (or one that behaves so), None for a copy; the operands' views are broadcast to the
    outputs' shape, None for a scalar; `loop_dtypes` are the dtypes the function computes with, inputs first; `copied`
    says of each operand that is an array whether it has to be assembled first, as the output overlaps it; `has_mask`
    that the last operand is a mask, where the function is to be computed. Arrays are read and written in the order of
    memory: where all are transposed, so is `result`, as which the program sees what is written.
    """

    function: AnyFunction | None
    written: tuple[View, ...]
    result: View
    operands: tuple[View | None, ...]
    dtypes: tuple[np.dtype[Any] | None, ...]
    loop_dtypes: tuple[np.dtype[Any], ...]
    output_dtypes: tuple[np.dtype[Any], ...]
    copied: tuple[bool, ...]
    has_mask: bool = False
    n_counted_at_once = 1
    _last_assembled = _NOT_ASSEMBLED

    def __post_init__(self) -> None:
        self.n_outputs, self.updates = len(self.written), self.has_mask
        self.views = (*self.written, *(view for view in self.operands if view is not None))
        self.name = "copy" if self.function is None else self.function.__name__

    @property
    def form(self) -> tuple[Any, ...]:
        """See `Recipe`."""
        is_array = tuple([view is not None for view in self.operands])
        return statement_form(self.function, is_array, self.loop_dtypes, self.output_dtypes, self.has_mask)

    @property
    def signature(self) -> tuple[type[np.dtype[Any]], ...]:
        """The classes of the loop's dtypes without the mask's, as a ufunc takes them."""
        n_inputs = len(self.operands) - self.has_mask
        return tuple(type(d) for d in (*self.loop_dtypes[:n_inputs], *self.loop_dtypes[len(self.operands):]))

    def operand_dtype(self, n: int) -> np.dtype[Any]:
        """The dtype of operand n: its own, or for a scalar the one that the loop takes."""
        dtype = self.dtypes[n]
        return dtype if dtype is not None else self.loop_dtypes[n]

    @lazy
    def elementwise(self) -> Elementwise | None:
        """See `Recipe`."""
        if len(self.written) > 1 or self.has_mask:
            return None
        return Elementwise(self.function, self.name, tuple(view is not None for view in self.operands),
                           tuple(map(self.operand_dtype, range(len(self.operands)))), self.loop_dtypes,
                           self.output_dtypes[0], self.copied)

    @lazy
    def _all_dtypes(self) -> tuple[np.dtype[Any], ...]:
        """Those of the operands, and of the output."""
        return *map(self.operand_dtype, range(len(self.operands))), self.output_dtypes[0]

    @property
    def _kernel(self) -> int:
        """The number of the C kernel that does it at once; -1 where there is none."""
        if self.n_outputs > 1 or self.has_mask:
            return -1
        return at_once.kernel_for(self.function, self.name, self._all_dtypes, self.loop_dtypes)

    @lazy
    def _is_numpys(self) -> bool:
        """Whether no kernel computes it in any tier, but the function itself."""
        form = self.elementwise
        return form is None or not has_kernel(form)

    def is_done_at_once(self, rank: int, limit: int = at_once.MAX_ELEMENTS) -> bool:
        """See `Recipe`."""
        return (self._kernel >= 0 or self._is_numpys) and all(
            at_once.is_small(view, rank, limit) for view in self.views)

    @lazy
    def _lies_in_place(self) -> bool:
        """Whether nothing is sent, which is found alike on all processes."""
        return True not in self.copied and lie_in_place(self.written[0], self.views[1:], world().rank)

    def is_local(self, rank: int) -> bool:
        """See `Recipe`."""
        return self._lies_in_place

    def execute(self, storages: Sequence[Storage], values: Sequence[Any], rank: int) -> None:
        """See `Recipe`."""
        piece = piece_in_place(self.written[0], self.views[1:], rank)
        if piece is not None:
            self._run(piece, storages, values)

    def _run(self, piece: Piece, memories: Sequence[Any], values: Sequence[Any]) -> None:
        """Compute a piece: `memories` have the outputs and the arrays, `values` the scalars."""
        if self._kernel < 0:
            n = len(memories)
            self._numpy_call(piece, range(n), range(n, n + len(values))).compute([*memories, *values])
            return
        places = zip(memories, piece.sources, strict=True)
        target, nowhere, scalars = next(places), Source(LOCAL, 0, (0,) * len(piece.shape)), iter(values)
        operands = [(next(scalars), nowhere) if view is None else next(places) for view in self.operands]
        at_once.run(self._kernel, self._all_dtypes, self.loop_dtypes, piece.shape, [*operands, target])

    def add_nodes_at_once(self, builder: Builder, operation: NumberedOperation, rank: int) -> None:
        """See `Recipe`. Where a kernel computes it, what does not lie as the output does is assembled, for one call."""
        if self._kernel < 0:
            self.add_nodes(builder, operation, rank)
            return
        slots, views = operation.slots, self.views[1:]
        dtypes = [dtype for dtype in self.dtypes if dtype is not None]
        plans, piece = self._assembled(rank)
        places = [slots[0]]
        for k, (slot, view, dtype, plan) in enumerate(zip(slots[1:], views, dtypes, plans, strict=True)):
            if plan.root is not None and plan.taker is not None:
                slot = sent(builder, slot, plan.view, dtype, plan.root, plan.taker, k, rank)
            elif plan.root is not None:
                slot = handed_out(builder, slot, plan.view, dtype, plan.root, k, rank)
            elif not plan.is_in_place:
                slot = add_operand(builder, Operand(operation, k, slot, view, dtype, plan), rank).temporary or 0
            places.append(slot)
        if piece is not None:
            def compute(memories: Memories) -> None:
                self._run(piece, [memories[n] for n in places], [memories[n] for n in operation.values])

            builder.add(FunctionCall(compute, self.name), [(n, None) for n in places[1:]], [(slots[0], None)])

    def _assembled(self, rank: int) -> tuple[list[OperandPlan], Piece | None]:
        """How operands come that are assembled, and the piece that the kernel computes then."""
        last_rank, found = self._last_assembled
        if found is None or last_rank != rank:
            out, views = self.written[0], self.views[1:]
            plans = [plan_assembled(out, view, copied, rank) for view, copied in zip(views, self.copied, strict=True)]
            found = plans, one_piece(out, views, plans, rank)
            self._last_assembled = rank, found
        return found

    def moved(self, rank: int) -> Sequence[Moved]:
        """See `Recipe`."""
        plans = plan_operands(self.written[0], self.views[self.n_outputs:], self.copied, rank)
        grid = self.written[0].layout.grid
        return [Moved(number, plan.transfer, grid, plan.view) for number, plan in enumerate(plans, self.n_outputs)]

    def may_be_postponed(self, rank: int) -> bool:
        """See `Recipe`."""
        return is_local_and_large(self, self.output_dtypes[0], rank)

    def details(self, text: Callable[[Any], str]) -> str:
        """See `Recipe`."""
        return f"{self.name}({', '.join(map(str, self.loop_dtypes))}{', where' if self.has_mask else ''})"

    def add_nodes(self, builder: Builder, operation: NumberedOperation, rank: int) -> None:
        """See `Recipe`. Where there is no C kernel, its function is called on NumPy views of its pieces."""
        n = self.n_outputs
        views, dtypes = self.views[n:], [dtype for dtype in self.dtypes if dtype is not None]
        plans = plan_operands(self.written[0], views, self.copied, rank)
        operands = [Operand(operation, k, *described) for k, described in enumerate(
            zip(operation.slots[n:], views, dtypes, plans, strict=True))]
        if not operation.is_wanted:
            for operand in operands:
                add_operand_messages(builder, operand, rank)
            return
        lies_in = {(operation.position, x.number): add_operand(builder, x, rank) for x in operands}
        together = object()
        for piece in plan_boxes(self.written, [x.view for x in operands], [x.plan for x in operands], (), rank):
            writes = [(slot, source.box) for slot, source in zip(operation.slots[:n], piece.sources, strict=False)]
            reads = [memory_of(Input(x.slot, x.dtype, x), x, source, lies_in)
                     for x, source in zip(operands, piece.sources[n:], strict=True)]
            node = self._numpy_call(piece, [number for number, _ in (*writes, *reads)], operation.values)
            if not self.has_mask:
                node.overwrites = overwritten(piece, zip(operation.slots, self.written, strict=False), rank)
            builder.add(node, reads, writes, together=together)

    def _numpy_call(self, piece: Piece, places: Sequence[int], values: Sequence[int]) -> NumpyCall:
        """The function, called on a piece: these are the numbers of its memories, as in `_run`."""
        dtypes = *self.output_dtypes, *[dtype for dtype in self.dtypes if dtype is not None]
        arguments = [*map(_argument, places, piece.sources, dtypes)]
        arrays, scalars, still = iter(arguments[self.n_outputs:]), iter(values), (0,) * len(piece.shape)
        inputs = [((next(scalars), 0), dtype, still) if view is None else next(arrays)
                  for view, dtype in zip(self.operands, self.loop_dtypes, strict=False)]
        return NumpyCall(self.function, self.n_outputs, self.has_mask, self.signature, piece.shape,
                         [*arguments[:self.n_outputs], *inputs])


def _argument(number: int, source: Source, dtype: np.dtype[Any]) -> tuple[Location, np.dtype[Any], tuple[int, ...]]:
    return (number, source.offset * dtype.itemsize), dtype, tuple(s * dtype.itemsize for s in source.strides)
