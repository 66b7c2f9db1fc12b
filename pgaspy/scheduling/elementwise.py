"""Kernels of elementwise operations as nodes: the messages of their operands, and a call for each piece."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from pgaspy.job.procgrid import world
from pgaspy.kernels import bindings
from pgaspy.planning import chains
from pgaspy.planning.boxes import Box, contains, hull, view_ranges
from pgaspy.planning.edges import Group, edges, merged
from pgaspy.planning.pieces import (
    BUFFER,
    LOCAL,
    Piece,
    Source,
    joint_cuts,
    local_view_shape,
    max_pieces,
    n_pieces,
    own_box,
    plan_boxes,
)
from pgaspy.planning.view import View
from pgaspy.scheduling.builder import Access, Builder
from pgaspy.scheduling.fused_code import Input, ReducedOutput
from pgaspy.scheduling.fusion import FusionGroup, Kernel
from pgaspy.scheduling.kernel_nodes import FusedCall, FusedCalls, FusedReduceCall, LeafResults, finish_leaves
from pgaspy.scheduling.members import Operand, operands_of
from pgaspy.scheduling.messages import Side, receive_into_buffer, send_message, view_side
from pgaspy.scheduling.nodes import Location
from pgaspy.scheduling.operations import NumberedOperation, Recipe, first_tag
from pgaspy.scheduling.transfer_nodes import transfer

__all__ = ["Boxes", "Received", "add_group", "add_operand", "add_operand_messages", "add_sends", "can_reduce",
           "is_local_and_large", "memory_of", "overwritten"]

Boxes = Mapping[int, Sequence[Box]]
"""Of arrays."""

CUT_FROM_ELEMENTS = 1 << 14
"""Smaller pieces are not cut beside what a process has of what all hand out."""

CUT_FROM_ACCESSES = 6 << 14
"""Nor where a later message takes a part of what they write, if they read and write fewer elements: to compute these
takes less time than a piece more. Nor where there would be more pieces than operands may cut."""

MAX_PIECES_BESIDE_OWN = 9
"""Into so many pieces a kernel is cut at most around what a process has of what all hand out: a box, and what is beside
it in two dimensions."""


def add_group(builder: Builder, group: FusionGroup, kernel: Kernel, sent: Boxes, awaiting: Boxes,
              received: Received, rank: int) -> list[tuple[NumberedOperation, int]]:
    """Add operations that run as one kernel; (reduction, memory of its partial result on this process) of each.

    Parameters
    ----------
    sent
        The boxes of arrays that are sent to other processes: they are computed first, in pieces of their own.
    awaiting
        Those that are accessed by what waits for messages: what is not in them need not wait.
    received
        Where the operands of operations lie that are computed in parts: those of the first one add the messages.
    """
    lies_in: Received = {}
    for member in group.members:
        for operand in member.arrays:
            builder.position = operand.operation.position
            key = operand.operation.position, operand.number
            if operand.operation.part is None:
                lies_in[key] = add_operand(builder, operand, rank)
            elif not operand.plan.transfer.is_local:
                if key not in received:
                    received[key] = _add_receives(builder, operand)
                lies_in[key] = received[key]
    if not kernel.is_of_use:
        return []
    builder.position = group.members[0].operation.position
    outs = [output.view for output in kernel.outputs] or [group.members[0].out]
    arrays = [i.operand for i in kernel.inputs if i.operand is not None]
    apart = _cuts(kernel, outs[0], awaiting, rank)
    kept = _joined(_cuts_beside_own(kernel, outs[0], rank), apart)
    cuts = _joined(_cuts(kernel, outs[0], sent, rank), kept)
    pieces: Sequence[Piece] = plan_boxes(outs, [x.view for x in arrays], [x.plan for x in arrays], cuts, rank)
    sections = [(n, box) for n, output in enumerate(kernel.outputs) for box in sent.get(output.slot, ())]

    def is_sent(group: Group) -> bool:
        return any(contains(box, hull(group[0].sources[n].box, group[-1].sources[n].box)) for n, box in sections)

    if any(cuts):
        pieces = _merged(kernel, pieces, is_sent, kept, rank)
    name = "+".join(dict.fromkeys(step.name for step in kernel.program.steps))
    if kernel.reductions:
        return _reducing_pieces(builder, kernel, pieces, lies_in, is_sent, any(apart), name, rank)
    added: list[_Added] = []
    for box in edges(pieces, is_sent):
        calls, reads = [], []
        for piece in box:
            locations, strides, found = _operands(kernel, piece, lies_in)
            call = FusedCall(kernel.program, piece.shape, strides, locations, name)
            call.overwrites = overwritten(piece, ((output.slot, output.view) for output in kernel.outputs), rank)
            calls.append(call)
            reads.append(found)
        node = calls[0] if len(calls) == 1 else FusedCalls(calls)
        node.is_urgent = is_sent(box)
        added.append((node, _read(reads), _written(kernel, box)))
    _add_together(builder, added, any(apart))
    return []


def _merged(kernel: Kernel, pieces: Sequence[Piece], is_sent: Callable[[Group], bool], kept: Sequence[list[int]],
            rank: int) -> Sequence[Piece]:
    """See `merged`; a leaf that is cut for some results of a reduction stays so for all that lie beside these."""
    few = merged(pieces, is_sent, kept)
    if not kernel.reductions:
        return few
    leaves = _leaves(kernel.reductions[0], rank)
    for d in leaves.dims_to_cut.intersection(range(*leaves.dims)):
        starts = {piece.start[d] for piece in few}
        if any(piece.start[d] < at < piece.start[d] + piece.shape[d] for piece in few for at in starts):
            everywhere = {piece.start[d] for piece in pieces}
            return merged(pieces, is_sent, [everywhere if k == d else own for k, own in enumerate(kept)])
    return few


_Added = tuple[FusedCall | FusedCalls | FusedReduceCall, list[Access], list[Access]]
"""A piece of a kernel, with what it reads and writes."""


def _add_together(builder: Builder, added: Sequence[_Added], is_largest_last: bool) -> None:
    """Add the pieces of a kernel, those first that are sent next: others may then become longer by what follows.

    The last one is the one that may, if what follows waits for several; where thin ones were cut off it is to be the
    largest.
    """
    together = object() if len(added) > 1 else None
    for node, reads, writes in sorted(added, key=lambda piece: (
            not piece[0].is_urgent, is_largest_last and piece[0].n_elements)):
        builder.add(node, reads, writes, together=together)


def overwritten(piece: Piece, outputs: Iterable[tuple[int, View]], rank: int) -> tuple[int, ...]:
    """The arrays whose local part a piece is: it writes as many elements as there are."""
    return tuple(slot for slot, view in outputs
                 if math.prod(piece.shape) == math.prod(view.layout.local_shape(rank)))


class _Lies(NamedTuple):
    """Where an operand lies besides its own storage: in the buffers of its messages, or assembled in a temporary."""

    buffers: tuple[int, ...]
    temporary: int | None


Received = dict[tuple[int, int], _Lies]
"""Where operands lie: by the position of the operation, and their number."""


def add_operand(builder: Builder, operand: Operand, rank: int) -> _Lies:
    """The messages of an operand, and what else it takes to have it here."""
    plan, dtype = operand.plan, operand.dtype
    src = view_side(builder, operand.slot, plan.view, dtype, rank)
    target = plan.target
    if plan.temporary is not None or plan.transfer.axes:
        number = builder.buffer(math.prod(target.layout.local_shape(rank)) * dtype.itemsize)
        transfer(builder, plan.transfer, view_side(builder, number, target, dtype, rank), src, False, operand.number,
                 rank, target.layout.grid)
        return _Lies((), number)
    _add_sends(builder, operand, src)
    return _add_receives(builder, operand)


def _add_sends(builder: Builder, operand: Operand, src: Side) -> None:
    for message in operand.plan.transfer.sends:
        send_message(builder, message, src, operand.dtype, first_tag(operand.number), in_place=True)


def _add_receives(builder: Builder, operand: Operand) -> _Lies:
    """The messages that bring an operand, into buffers of their own."""
    tag = first_tag(operand.number)
    return _Lies(tuple(receive_into_buffer(builder, message, operand.dtype, tag)
                       for message in operand.plan.transfer.receives), None)


def add_sends(builder: Builder, operation: NumberedOperation, rank: int) -> None:
    """What a process sends for an operation that it computes in parts."""
    for operand in operands_of(operation, rank):
        _add_sends(builder, operand, view_side(builder, operand.slot, operand.plan.view, operand.dtype, rank))


def add_operand_messages(builder: Builder, operand: Operand, rank: int) -> None:
    """The messages of an operand that is not wanted here: the same ones."""
    plan, dtype = operand.plan, operand.dtype
    nowhere = view_side(builder, operand.slot, plan.target, dtype, rank)
    src = view_side(builder, operand.slot, plan.view, dtype, rank)
    transfer(builder, plan.transfer, nowhere, src, False, operand.number, rank, plan.target.layout.grid,
             is_wanted=False)


def _operands(kernel: Kernel, piece: Piece, lies_in: Received) -> tuple[
        list[Location], list[tuple[int, ...]], list[Access]]:
    """Locations and byte strides of a piece's operands in the program's order, and what it reads."""
    n_outs = max(len(kernel.outputs), 1)
    sources = iter(piece.sources[n_outs:])
    locations: list[Location] = []
    strides: list[tuple[int, ...]] = []
    reads: list[Access] = []
    for found in kernel.inputs:
        if found.operand is None:
            locations.append((found.slot, 0))
            strides.append((0,) * len(piece.shape))
            continue
        source = next(sources)
        number, box = memory_of(found, found.operand, source, lies_in)
        locations.append((number, source.offset * found.dtype.itemsize))
        strides.append(tuple(s * found.dtype.itemsize for s in source.strides))
        reads.append((number, box))
    for output, source in zip(kernel.outputs, piece.sources, strict=False):
        locations.append((output.slot, source.offset * output.dtype.itemsize))
        strides.append(tuple(s * output.dtype.itemsize for s in source.strides))
    return locations, strides, reads


def _read(reads: Sequence[list[Access]]) -> list[Access]:
    """What pieces that make up a box read, operand by operand, of each memory together."""
    if len(reads) == 1:
        return reads[0]
    found: dict[tuple[int, int], Box] = {}
    for accesses in reads:
        for k, (number, box) in enumerate(accesses):
            found[k, number] = hull(found[k, number], box) if (k, number) in found else box
    return list(dict.fromkeys((number, box) for (_, number), box in found.items()))


def _written(kernel: Kernel, group: Group) -> list[Access]:
    """What pieces that make up a box write."""
    return [(output.slot, hull(first.box, last.box))
            for output, first, last in zip(kernel.outputs, group[0].sources, group[-1].sources, strict=False)]


def memory_of(found: Input, operand: Operand, source: Source, lies_in: Received) -> Access:
    """The memory that an operand of a piece lies in, and the box of it that is read."""
    if source.where == LOCAL:
        return found.slot, source.box
    lies = lies_in[operand.operation.position, operand.number]
    if source.where >= BUFFER:
        return lies.buffers[source.where - BUFFER], None
    assert lies.temporary is not None
    return lies.temporary, source.box


def _joined(cuts: Sequence[list[int]], others: Sequence[list[int]]) -> list[list[int]]:
    """Both cuts of each dimension."""
    return [[*at, *other] for at, other in zip(cuts, others, strict=True)]


def _cuts(kernel: Kernel, out: View, boxes: Boxes, rank: int) -> list[list[int]]:
    """Where to cut the outputs besides, so that what is sent next, say, lies in thin pieces of its own."""
    extents = local_view_shape(out, rank)
    cuts: list[list[int]] = [[] for _ in extents]
    n_arrays = len(kernel.outputs) + sum(found.operand is not None for found in kernel.inputs)
    if math.prod(extents) * n_arrays < CUT_FROM_ACCESSES:
        return cuts
    for output in kernel.outputs:
        for box in boxes.get(output.slot, ()):
            for d, (low, high) in enumerate(_within(output.view, box, rank)):
                if 0 < high - low <= extents[d] // 4:
                    cuts[d] += [i for i in (low, high) if 0 < i < extents[d]]
    if kernel.reductions:
        dims = _leaves(kernel.reductions[0], rank).dims_to_cut
        cuts = [found if d in dims else [] for d, found in enumerate(cuts)]
    together = joint_cuts(out.ndim, [i.operand.plan for i in kernel.inputs if i.operand is not None])
    n = n_pieces([starts.union(found) for starts, found in zip(together, cuts, strict=True)])
    return cuts if n <= max_pieces(out, rank) else [[] for _ in cuts]


def _cuts_beside_own(kernel: Kernel, out: View, rank: int) -> list[list[int]]:
    """Where to cut the outputs, so that of operands which all processes hand to all over a network, what is here is
    computed with while the rest arrives.
    """
    extents = local_view_shape(out, rank)
    cuts: list[set[int]] = [set() for _ in extents]
    if world().has_network and math.prod(extents) >= CUT_FROM_ELEMENTS:
        leaves = _leaves(kernel.reductions[0], rank) if kernel.reductions else None
        for box in {own_box(found.operand.plan, rank) for found in kernel.inputs if found.operand is not None}:
            for d, interval in enumerate(box or ()):
                cuts[d] |= _edges_at(interval, extents[d], 1 if leaves is None else leaves.step_of_cuts(d))
    few = n_pieces([{0} | own for own in cuts]) <= MAX_PIECES_BESIDE_OWN
    return [sorted(own) if few else [] for own in cuts]


def _edges_at(interval: tuple[int, int], extent: int, step: int) -> set[int]:
    """Where an interval begins and ends inside of an extent, made shorter to multiples of a step; of 0, there are none.
    """
    if not step:
        return set()
    low, high = -(-interval[0] // step) * step, extent if interval[1] == extent else interval[1] // step * step
    return {i for i in (low, high) if low < high and 0 < i < extent}


def _within(view: View, box: Box, rank: int) -> list[tuple[int, int]]:
    """A box of storage as local indices of a view that steps through it by ones; empty where it is no part of it."""
    if box is None:
        return []
    found = []
    for p, (first, step, length) in zip(view.base_dims, view_ranges(view, rank) or (), strict=False):
        if p is None or step != 1:
            return []
        low, high = (min(max(edge - first, 0), length) for edge in box[p])
        if low >= high:
            return []
        found.append((low, high))
    return found


def is_local_and_large(recipe: Recipe, dtype: np.dtype[Any], rank: int) -> bool:
    """Whether an elementwise operation, with results of a dtype, moves nothing, and passes through much memory.

    Then nobody has to wait for it, and a chain with later ones may be faster.
    """
    size = math.prod(local_view_shape(recipe.views[0], rank))
    return size * dtype.itemsize * len(recipe.views) >= chains.MIN_BYTES and all(
        moved.plan.is_local for moved in recipe.moved(rank))


# Reductions that end a kernel ----------------------------------------------------------------------------------------


def can_reduce(group: FusionGroup, rank: int) -> bool:
    """Whether a group is cut in such dimensions only that its reductions can be computed as elements come."""
    if not group.reductions:
        return True
    dims = _leaves(group.reductions[0], rank).dims_to_cut
    return all(d in dims or len(cuts.start) <= 1 for member in group.members for operand in member.arrays
               for d, cuts in enumerate(operand.plan.cuts))


def _leaves(reduction: ReducedOutput, rank: int) -> bindings.Leaves:
    """The leaves of a reduction of this process's part; those of all that one kernel reduces."""
    source = reduction.operation.recipe.views[1]
    first, stop = (reduction.axes[0], reduction.axes[-1] + 1) if reduction.axes else (0, 0)
    return bindings.Leaves(source.layout.local_shape(rank), first, stop)


def _reducing_pieces(builder: Builder, kernel: Kernel, pieces: Sequence[Piece],
                     lies_in: Received, is_sent: Callable[[Group], bool], is_largest_last: bool,
                     name: str, rank: int) -> list[tuple[NumberedOperation, int]]:
    """The kernel's pieces, each with the results of the reductions' leaves in it, and then the rest of the trees."""
    leaves = _leaves(kernel.reductions[0], rank)
    added = []
    for piece in pieces:
        locations, strides, reads = _operands(kernel, piece, lies_in)
        node = FusedReduceCall(kernel.program, piece.shape, strides, locations, leaves, piece.start, name)
        node.overwrites = overwritten(piece, ((output.slot, output.view) for output in kernel.outputs), rank)
        node.is_urgent = is_sent((piece,))
        added.append((node, reads, _written(kernel, (piece,))))
    shared = sorted({leaf for node, _, _ in added for leaf in node.cut_leaves})
    results = [LeafResults(builder.buffer(leaves.n_leaves * leaves.n_results * np.dtype(types[-1]).itemsize),
                           builder.buffer(len(shared) * leaves.slot_size * np.dtype(types[0]).itemsize))
               for _, types in (r.kernel for r in kernel.reductions)]
    buffers = [(number, None) for result in results for number in result]
    for node, *_ in added:
        node.store_in(results, shared)
    _add_together(builder, [(node, reads, [*writes, *buffers]) for node, reads, writes in added], is_largest_last)
    partials = []
    for result, reduction in zip(results, kernel.reductions, strict=True):
        builder.position = reduction.operation.position
        partial = result.leaves if leaves.n_leaves == 1 else builder.buffer(
            leaves.n_results * np.dtype(reduction.kernel[1][-1]).itemsize)
        finish = finish_leaves(reduction.kernel, leaves, tuple(shared), result, partial)
        builder.add(finish, [(number, None) for number in result], [(partial, None)])
        partials.append((reduction.operation, partial))
    return partials
