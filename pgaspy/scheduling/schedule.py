"""Schedules: what a process does for a sequence of operations, prepared once and found again.

A schedule is a graph of nodes. Three things hold, and make it free of deadlock whatever the other processes do:

1. A node depends on nodes of earlier operations, or of its own, only: nothing waits for what was recorded later.
2. A kernel that several operations share depends on no other operation recorded after the first of them; and on
   messages of the later ones only where nothing else depends on the kernel before these are recorded. A chain of
   kernels depends on nothing that was recorded after the first of them.
3. The messages of an operation, with their tags and their order, follow from its recipe and its number alone. They are
   sent and received whatever was fused, and also where nobody needs the result.
"""

from __future__ import annotations

import functools
import itertools
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pgaspy.caches import cached
from pgaspy.planning import chains
from pgaspy.planning.boxes import Box, ranges_box, view_box
from pgaspy.planning.pieces import local_indices, local_view_shape, plan_operand
from pgaspy.planning.reshapes import plan_reshape
from pgaspy.planning.transfers import plan_transfer
from pgaspy.scheduling.base import local_view
from pgaspy.scheduling.builder import BaseAccess, Builder
from pgaspy.scheduling.collectives import ALIGNMENT, exchange_partials, group_members
from pgaspy.scheduling.elementwise import add_group, add_statement, can_reduce
from pgaspy.scheduling.fusion import FusionGroup, Kernel, NumberedOperation, grouped
from pgaspy.scheduling.liveness import read_slots, reduced_axes, with_what_is_wanted
from pgaspy.scheduling.messages import flat_side, view_side
from pgaspy.scheduling.nodes import Buffer, Communication, FunctionCall, Memories, Merging, Node, TaskCall, bytes_of
from pgaspy.scheduling.operations import Assign, Combine, Generate, Recipe, Reduce, Reshape, Statement, Task
from pgaspy.scheduling.transfer_nodes import transfer

__all__ = ["Schedule", "build", "may_be_postponed"]

LASTING_BUFFER_BYTES, LASTING_BYTES = 1 << 14, 1 << 18
"""Buffers of so many bytes each, and in all, are made once, and used by every run of a schedule."""

MAX_SENT_SECTIONS = 16
"""Of an array, for which its computation is cut into pieces."""


@dataclass(eq=False, slots=True)
class Schedule:
    """A graph of nodes.

    Attributes
    ----------
    nodes
        In recording order.
    nodes_by_age
        The nodes' numbers, sorted by the operations that they are due with.
    n_waits
        Per node, the number of nodes that it waits for.
    n_bases, n_memories, n_uses
        The number of bases and of memories, bases first and buffers last, and per memory the nodes that use it.
    buffer_sizes, spare
        Per buffer, its bytes if it is one of the small ones that last as long as a run; and those that are left from
        the last run.
    first_accesses, last_accesses
        Per base, (node, box, whether it writes) of the accesses that have to wait for those of earlier schedules, and
        of those that later schedules have to wait for.
    named
        The bases that somebody holds besides, so that they live on.
    dropped
        The bases that nobody holds besides, and that are written: what they are to hold may not be stored.
    last_joined
        Per operation, the last one that shares a kernel with it, if it is the first of them; else itself.
    n_messages, stamped
        The nodes that are messages; and the operations of which some bring the program's digest.
    n_fused, n_kernels
        Operations that run in kernels, and these.
    """

    nodes: tuple[Node, ...]
    nodes_by_age: tuple[int, ...]
    n_waits: tuple[int, ...]
    n_bases: int
    n_memories: int
    n_uses: tuple[int, ...]
    buffer_sizes: tuple[int | None, ...]
    first_accesses: dict[int, list[BaseAccess]]
    last_accesses: dict[int, list[BaseAccess]]
    named: frozenset[int]
    dropped: tuple[int, ...]
    last_joined: tuple[int, ...]
    n_messages: int
    stamped: tuple[int, ...]
    n_fused: int
    n_kernels: int
    spare: list[list[Buffer | None]] = field(default_factory=list)

    @property
    def nbytes_kept(self) -> int:
        """The bytes of the buffers that are kept for the next run."""
        return sum(nbytes for nbytes in self.buffer_sizes if nbytes is not None)


def build(operations: Sequence[tuple[Recipe, tuple[int, ...], tuple[int, ...]]], n_bases: int, n_memories: int,
          named: frozenset[int], rank: int, fuses: bool) -> Schedule:
    """The schedule of operations, (recipe, numbers of its bases, numbers of its values), for one process.

    `named` are the bases that somebody holds besides: only what is written to the others need not be stored.
    """
    numbered = [NumberedOperation(k, *operation) for k, operation in enumerate(operations)]
    wanted = with_what_is_wanted(numbered, named, rank)
    builder = Builder(n_bases, n_memories)
    readers: dict[int, list[int]] = {}
    for operation in wanted:
        for slot in read_slots(operation, rank):
            readers.setdefault(slot, []).append(operation.position)
    sent = _sent_sections(wanted, rank)
    n_fused = n_kernels = 0
    last_joined = list(range(len(operations)))
    for item in grouped(wanted, rank, fuses):
        shared = item.operations if isinstance(item, FusionGroup) else [item]
        builder.due, builder.last = shared[0].position, shared[-1].position
        last_joined[builder.due] = builder.last
        if isinstance(item, FusionGroup):
            _add_group(builder, item, readers, named, sent, rank)
            n_fused += len(shared)
            n_kernels += 1
        else:
            builder.position = item.position
            _ADD[type(item.recipe)](builder, item, rank)
    written = {slot for recipe, slots, _ in operations for slot in slots[:recipe.n_outputs]}
    return _finished(builder, named, tuple(written - named), tuple(last_joined), n_fused, n_kernels)


@cached
def may_be_postponed(recipe: Recipe, rank: int) -> bool:
    """Whether nobody has to wait if an operation is executed with later ones, and a chain with these may be faster.

    It is an elementwise one, on much memory, and this process sends and receives nothing for it.
    """
    if isinstance(recipe, Assign):
        dtype, plans = recipe.dtype, [plan_transfer(recipe.target, recipe.source, rank)]
    elif isinstance(recipe, Statement):
        dtype, operands = recipe.output_dtypes[0], zip(recipe.views[recipe.n_outputs:], recipe.copied, strict=True)
        plans = [plan_operand(recipe.written[0], view, copied, rank).transfer for view, copied in operands]
    else:
        return False
    size = math.prod(local_view_shape(recipe.views[0], rank))
    return size * dtype.itemsize * len(recipe.views) >= chains.MIN_BYTES and all(plan.is_local for plan in plans)


def _finished(builder: Builder, named: frozenset[int], dropped: tuple[int, ...], last_joined: tuple[int, ...],
              n_fused: int, n_kernels: int) -> Schedule:
    nodes = builder.nodes
    successors: list[list[int]] = [[] for _ in nodes]
    for number, waits in enumerate(builder.dependencies):
        for other in waits:
            successors[other].append(number)
    sizes = _sizes_of_lasting(builder)
    n_uses = [0] * builder.n_memories
    for node, found in zip(nodes, successors, strict=True):
        node.successors = tuple(found)
        node.is_urgent = node.is_urgent or any(nodes[number].is_communication for number in found)
        node.uses = tuple(memory for memory in node.uses if memory not in sizes)
        node.allocates = tuple((memory, nbytes) for memory, nbytes in node.allocates if memory not in sizes)
        if node.taken in sizes:
            node.nbytes_ahead = 0
        for memory in node.uses:
            n_uses[memory] += 1
    last_users = {memory: node for node in nodes for memory in node.uses}
    for memory, node in last_users.items():
        node.last_uses += (memory,)
    return Schedule(
        nodes=tuple(nodes), nodes_by_age=tuple(sorted(range(len(nodes)), key=lambda number: nodes[number].due)),
        n_waits=tuple(len(waits) for waits in builder.dependencies),
        n_bases=builder.n_bases, n_memories=builder.n_memories, n_uses=tuple(n_uses),
        buffer_sizes=tuple(sizes.get(number) for number in builder.nbytes_of_buffer),
        first_accesses=builder.first_accesses, last_accesses=builder.last_accesses,
        named=named, dropped=dropped, last_joined=last_joined,
        n_messages=sum(node.is_communication for node in nodes),
        stamped=tuple(sorted({node.position for node in nodes if isinstance(node, Communication) and node.is_stamped})),
        n_fused=n_fused, n_kernels=n_kernels)


def _sizes_of_lasting(builder: Builder) -> dict[int, int]:
    """The small buffers that last as long as a run, with their bytes; but none that is copied into ahead."""
    packed = {node.taken for node in builder.nodes if not node.is_communication}
    found: dict[int, int] = {}
    nbytes_left = LASTING_BYTES
    for number, nbytes in builder.nbytes_of_buffer.items():
        if nbytes <= min(nbytes_left, LASTING_BUFFER_BYTES) and number not in packed:
            found[number] = nbytes
            nbytes_left -= nbytes
    return found


def _sent_sections(wanted: Sequence[NumberedOperation], rank: int) -> dict[int, list[Box]]:
    """Per array, the parts of it that are sent from here to other processes.

    What was sent before it is computed anew is likely to be sent again: the operations may be those of a loop.
    """
    found: dict[int, dict[Box, None]] = {}
    for operation in wanted:
        recipe = operation.recipe
        if isinstance(recipe, Statement):
            arrays = zip(operation.slots[recipe.n_outputs:], recipe.views[recipe.n_outputs:], recipe.copied,
                         strict=True)
            plans = [(slot, p.view, p.transfer) for slot, view, copied in arrays
                     for p in (plan_operand(recipe.written[0], view, copied, rank),)]
        elif isinstance(recipe, Assign):
            plans = [(operation.slots[1], recipe.source, plan_transfer(recipe.target, recipe.source, rank))]
        else:
            continue
        for slot, view, plan in plans:
            storage = view.layout.local_shape(rank)
            for message in plan.sends:
                found.setdefault(slot, {})[ranges_box(view, message.ranges, storage)] = None
    return {slot: list(boxes)[:MAX_SENT_SECTIONS] for slot, boxes in found.items()}


def _add_group(builder: Builder, group: FusionGroup, readers: dict[int, list[int]], named: frozenset[int],
                 sent: dict[int, list[Box]], rank: int) -> None:
    operations = group.operations
    positions = {operation.position for operation in operations}
    later = group.reductions if not can_reduce(group, rank) else []
    if later:
        group.reductions = []
        positions -= {reduction.operation.position for reduction in later}
    first = operations[0].position

    def is_stored(slot: int) -> bool:
        return slot in named or any(p > first and p not in positions for p in readers.get(slot, ()))

    kernel = Kernel(group, is_stored)
    for operation, partial in add_group(builder, group, kernel, sent, rank):
        builder.position = operation.position
        _add_merged(builder, operation, partial, rank)
    for reduction in later:
        builder.position = reduction.operation.position
        _add_reduce(builder, reduction.operation, rank)


def _add_assign(builder: Builder, operation: NumberedOperation, rank: int) -> None:
    recipe = operation.recipe
    assert isinstance(recipe, Assign)
    target, source = operation.slots
    transfer(builder, plan_transfer(recipe.target, recipe.source, rank),
             view_side(target, recipe.target, recipe.dtype, rank),
             view_side(source, recipe.source, recipe.source_dtype, rank), recipe.overlaps, 0, rank,
             recipe.target.layout.grid, operation.is_wanted, recipe.target.layout.is_on_one_process)


def _add_reshape(builder: Builder, operation: NumberedOperation, rank: int) -> None:
    recipe = operation.recipe
    assert isinstance(recipe, Reshape)
    target, source = (flat_side(slot, recipe.dtype) for slot in operation.slots)
    transfer(builder, plan_reshape(recipe.target, recipe.source, rank), target, source, False, 0, rank,
             recipe.target.grid, operation.is_wanted)


def _add_generate(builder: Builder, operation: NumberedOperation, rank: int) -> None:
    (slot,), (value,) = operation.slots, operation.values

    def generate(memories: Memories) -> None:
        memories[value](memories[slot])

    node = FunctionCall(generate, "generate")
    node.overwrites = (slot,)
    builder.add(node, [(value, None)], [(slot, None)])


def _add_task(builder: Builder, operation: NumberedOperation, rank: int) -> None:
    recipe = operation.recipe
    assert isinstance(recipe, Task)
    if recipe.writes and not recipe.empty and all(0 in local_view_shape(view, rank) for view in recipe.writes):
        return
    (value,) = operation.values
    accesses = [(slot, view_box(view, rank)) for slot, view in zip(operation.slots, recipe.views, strict=True)]
    node = TaskCall(value, list(zip(operation.slots, recipe.views, strict=True)))
    node.overwrites = tuple(slot for slot, view in zip(operation.slots, recipe.writes, strict=False) if view.is_whole)
    builder.add(node, [(value, None), *accesses[recipe.n_outputs:]], accesses[: recipe.n_outputs])


def _add_reduce(builder: Builder, operation: NumberedOperation, rank: int) -> None:
    """The partial result of the local part, then those of all processes that have one."""
    recipe = operation.recipe
    assert isinstance(recipe, Reduce)
    layout = recipe.source.own_layout
    assert layout is not None
    if not layout.holds(layout.coords_from_rank(rank)):
        return
    reduction, views = recipe.reduction, (recipe.source, *recipe.operands)
    slots = operation.slots[1:]
    shape = recipe.target.layout.local_shape(rank)
    number = builder.buffer(math.prod(shape) * reduction.partial_dtype.itemsize)
    indices = functools.partial(local_indices, recipe.source, rank=rank)

    def reduce(memories: Memories) -> None:
        local, *operands = (local_view(memories[slot], view) for slot, view in zip(slots, views, strict=True))
        found = reduction.partial(local, recipe.axes, indices, operands)
        bytes_of(memories, number).view(reduction.partial_dtype).reshape(shape)[...] = found

    builder.add(FunctionCall(reduce, "reduce"),
                [(slot, view_box(view, rank)) for slot, view in zip(slots, views, strict=True)], [(number, None)])
    _add_merged(builder, operation, number, rank)


def _add_merged(builder: Builder, operation: NumberedOperation, partial: int, rank: int) -> None:
    """Combine the partial results of the processes along the reduced axes, and store the result."""
    recipe = operation.recipe
    assert isinstance(recipe, Reduce)
    layout = recipe.source.own_layout
    assert layout is not None
    reduction, slot = recipe.reduction, operation.slots[0]
    shape = recipe.target.layout.local_shape(rank)
    members = group_members(layout.grid, reduced_axes(recipe, layout), rank)
    location = slot if reduction.result is None and operation.is_wanted else None
    combined = exchange_partials(builder, partial, math.prod(shape), reduction.partial_dtype, reduction.merge,
                                 members, rank, location, operation.is_wanted)
    if combined == slot or not operation.is_wanted:
        return

    def store(memories: Memories) -> None:
        found = bytes_of(memories, combined).view(reduction.partial_dtype).reshape(shape)
        memories[slot].local[...] = found if reduction.result is None else reduction.result(found)

    builder.add(FunctionCall(store, "store"), [(combined, None)], [(slot, None)])


def _add_combine_copies(builder: Builder, operation: NumberedOperation, rank: int) -> None:
    """Combine the copies of views that processes hold along the axes of replicas."""
    recipe = operation.recipe
    assert isinstance(recipe, Combine)
    layout, sections = recipe.views[0].layout, list(zip(operation.slots, recipe.views, strict=True))
    members = group_members(layout.grid, layout.replica_axes, rank)
    shapes = tuple(local_view_shape(view, rank) for view in recipe.views)
    if all(0 in shape for shape in shapes) or len(members) == 1:
        return
    packed = _Packed(shapes, recipe.dtypes)
    number = builder.buffer(packed.size * packed.dtype.itemsize)
    accesses = [(slot, view_box(view, rank)) for slot, view in sections]

    def take(memories: Memories) -> None:
        for part, (slot, view) in zip(packed.parts(bytes_of(memories, number)), sections, strict=True):
            part[...] = local_view(memories[slot], view)

    def store(memories: Memories) -> None:
        for part, (slot, view) in zip(packed.parts(bytes_of(memories, combined)), sections, strict=True):
            local_view(memories[slot], view)[...] = part

    builder.add(FunctionCall(take, "combine"), accesses, [(number, None)])
    combined = exchange_partials(builder, number, packed.size, packed.dtype, packed.merging(recipe.function), members,
                                 rank, is_wanted=operation.is_wanted)
    if operation.is_wanted:
        builder.add(FunctionCall(store, "combine"), [(combined, None)], accesses)


class _Packed:
    """Arrays one after the other in a flat one: of bytes, where they are several."""

    def __init__(self, shapes: Sequence[tuple[int, ...]], dtypes: Sequence[np.dtype[Any]]) -> None:
        self._arrays = list(zip(shapes, dtypes, strict=True))
        self._nbytes = [math.prod(shape) * dtype.itemsize for shape, dtype in self._arrays]
        self._starts = [0, *itertools.accumulate(-(-nbytes // ALIGNMENT) * ALIGNMENT for nbytes in self._nbytes)]
        self._is_one = len(dtypes) == 1
        self.dtype = dtypes[0] if self._is_one else np.dtype(np.uint8)
        self.size = math.prod(shapes[0]) if self._is_one else self._starts[-1]

    def parts(self, flat: NDArray[Any]) -> list[NDArray[Any]]:
        """The arrays that are packed in a flat one."""
        content = flat.view(np.uint8)
        return [content[start:start + nbytes].view(dtype).reshape(shape) for start, nbytes, (shape, dtype) in zip(
            self._starts, self._nbytes, self._arrays, strict=False)]

    def merging(self, function: Callable[[Any, Any], Any]) -> Merging:
        """What joins two flat arrays by a function of two arrays, or of two tuples of arrays."""
        def merge_one(lower: NDArray[Any], higher: NDArray[Any]) -> NDArray[Any]:
            shape = self._arrays[0][0]
            return function(lower.reshape(shape), higher.reshape(shape)).reshape(-1)

        def merge_several(lower: NDArray[Any], higher: NDArray[Any]) -> NDArray[Any]:
            merged = np.empty_like(lower)
            found = function(tuple(self.parts(lower)), tuple(self.parts(higher)))
            for part, value in zip(self.parts(merged), found, strict=True):
                part[...] = value
            return merged

        if not self._is_one:
            return merge_several
        return function if isinstance(function, np.ufunc) else merge_one


_ADD: dict[type, Callable[[Builder, NumberedOperation, int], None]] = {
    Assign: _add_assign, Combine: _add_combine_copies, Generate: _add_generate, Reduce: _add_reduce,
    Reshape: _add_reshape, Statement: add_statement, Task: _add_task}
