"""Schedules: what a process does for a sequence of operations, prepared once and found again.

A schedule is a graph of nodes. Three things hold, and make it free of deadlock whatever the other processes do:

1. A node depends on nodes of earlier operations, or of its own, only: nothing waits for what was recorded later.
2. A kernel that several operations share depends on no other operation recorded after the first of them; and on
   messages of the later ones only where nothing else that has messages depends on the kernel, directly or by way of
   others, before these are recorded. A chain of kernels depends on nothing that was recorded after the first of them.
3. The messages of an operation, with their tags and their order, follow from its recipe and its number alone. They are
   sent and received whatever was fused, and also where nobody needs the result.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any, NamedTuple

from pgaspy.caches import cached
from pgaspy.job.procgrid import world
from pgaspy.planning.boxes import Box, ranges_box
from pgaspy.planning.view import View
from pgaspy.scheduling.builder import BaseAccess, Builder
from pgaspy.scheduling.elementwise import Boxes, Received, add_group, add_sends, can_reduce
from pgaspy.scheduling.fusion import FusionGroup, Kernel, Uses, grouped
from pgaspy.scheduling.liveness import read_numbers, with_what_is_wanted
from pgaspy.scheduling.nodes import Buffer, Communication, Node
from pgaspy.scheduling.operations import NumberedOperation, Recipe
from pgaspy.scheduling.parts import in_parts
from pgaspy.scheduling.temporaries import shared_memories

__all__ = ["Schedule", "build", "described", "finished", "may_be_postponed", "schedule_of"]

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
    awaiting
        Per base, over a network, the boxes that nodes access which wait for messages.
    last_joined
        Per operation, the last one that shares a kernel with it, if it is the first of them; else itself.
    n_messages, stamped
        The nodes that are messages or start some; and the operations of which some bring the program's digest.
    n_fused, n_kernels
        Operations that run in kernels, and these.
    is_in_turn
        Whether its nodes are to be executed in order, see `in_turn`.
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
    awaiting: dict[int, list[Box]]
    named: frozenset[int]
    dropped: tuple[int, ...]
    last_joined: tuple[int, ...]
    n_messages: int
    stamped: tuple[int, ...]
    n_fused: int
    n_kernels: int
    is_in_turn: bool = False
    spare: list[list[Buffer | None]] = field(default_factory=list)

    @property
    def nbytes_kept(self) -> int:
        """The bytes of the buffers that are kept for the next run."""
        return sum(nbytes for nbytes in self.buffer_sizes if nbytes is not None)


def build(operations: Sequence[tuple[Recipe, tuple[int, ...], tuple[int, ...]]], n_bases: int, n_memories: int,
          named: frozenset[int], rank: int, fuses: bool, cuts: Boxes) -> Schedule:
    """The schedule of operations, (recipe, numbers of its bases, numbers of its values), for one process.

    `named` are the bases that somebody holds besides: only what is written to the others need not be stored. `cuts` are
    boxes of bases that are accessed by what waits for messages: what is computed elsewhere does not wait for these.
    """
    numbered = [NumberedOperation(k, *operation) for k, operation in enumerate(operations)]
    wanted = with_what_is_wanted(numbered, named, rank)
    builder = Builder(n_bases, n_memories)
    sent = _sent_sections(wanted, rank)
    parts = in_parts(wanted, rank) if fuses else wanted
    uses = Uses(named, _readers(parts, rank))
    received: Received = {}
    fused: set[int] = set()
    n_kernels = 0
    last_joined = list(range(len(operations)))
    items = grouped(parts, uses, rank, fuses)
    memories = shared_memories(items, named, rank) if fuses else {}
    for item in items:
        if isinstance(item, FusionGroup):
            shared = item.operations
            builder.due, builder.last = shared[0].position, shared[-1].position
            last_joined[builder.due] = max(builder.last, last_joined[builder.due])
            _add_group(builder, item, uses, memories, sent, cuts, received, rank)
            fused.update(operation.position for operation in shared)
            n_kernels += 1
            continue
        for operation in [item] if isinstance(item, NumberedOperation) else item.operations:
            builder.position = builder.due = builder.last = operation.position
            if operation.part is None:
                operation.recipe.add_nodes(builder, operation, rank)
            else:
                add_sends(builder, operation.part.whole, rank)
    written = {slot for recipe, slots, _ in operations for slot in slots[:recipe.n_outputs]}
    return finished(builder, named, tuple(written - named), tuple(last_joined), len(fused), n_kernels)


class Described(NamedTuple):
    """Operations, (recipe, numbers of its bases, numbers of its values), the numbers of bases and of memories, bases
    first; and the bases that somebody holds besides.
    """

    operations: list[tuple[Recipe, tuple[int, ...], tuple[int, ...]]]
    n_bases: int
    n_memories: int
    named: frozenset[int]


def described(calls: Sequence[tuple[Recipe, Sequence[Any], Sequence[Any]]], is_named: Callable[[Any], bool],
              ) -> Described:
    """Operations, (recipe, storages, values), as `build` takes them; `is_named` tells whether somebody holds one."""
    slots: dict[Any, int] = {}
    for _, storages, _ in calls:
        for storage in storages:
            slots.setdefault(storage, len(slots))
    found, n_memories = [], len(slots)
    for recipe, storages, values in calls:
        numbers = tuple(range(n_memories, n_memories + len(values)))
        n_memories += len(values)
        found.append((recipe, tuple(slots[storage] for storage in storages), numbers))
    named = frozenset(slot for storage, slot in slots.items() if is_named(storage))
    return Described(found, len(slots), n_memories, named)


def schedule_of(calls: Sequence[tuple[Recipe, Sequence[Any], Sequence[Any]]], is_named: Callable[[Any], bool],
                rank: int, fuses: bool, cuts: Boxes = MappingProxyType({})) -> Schedule:
    """The schedule of operations as `described` and `build` take them."""
    return build(*described(calls, is_named), rank, fuses, cuts)


@cached
def may_be_postponed(recipe: Recipe, rank: int) -> bool:
    """See `Recipe.may_be_postponed`."""
    return recipe.may_be_postponed(rank)


def finished(builder: Builder, named: frozenset[int], dropped: tuple[int, ...], last_joined: tuple[int, ...],
             n_fused: int, n_kernels: int) -> Schedule:
    """The schedule of the nodes of a builder; see `Schedule` for the others."""
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
        node.fills_named = node.nbytes_ahead > 0 and node.taken in named
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
        awaiting=builder.awaiting if world().has_network else {},
        named=named, dropped=dropped, last_joined=last_joined,
        n_messages=sum(node.is_communication or node.talks for node in nodes),
        stamped=tuple(sorted({node.position for node in nodes
                              if node.talks or (isinstance(node, Communication) and node.is_stamped)})),
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


def _readers(operations: Sequence[NumberedOperation],
             rank: int) -> dict[int, list[tuple[tuple[int, int], View]]]:
    """Per array, the operations that read it on a process, by their keys, and what they read of it."""
    found: dict[int, list[tuple[tuple[int, int], View]]] = {}
    for operation in operations:
        for n in read_numbers(operation, rank):
            found.setdefault(operation.slots[n], []).append((operation.key, operation.views[n]))
    return found


def _sent_sections(wanted: Sequence[NumberedOperation], rank: int) -> dict[int, list[Box]]:
    """Per array, the parts of it that are sent from here to other processes.

    What was sent before it is computed anew is likely to be sent again: the operations may be those of a loop.
    """
    found: dict[int, dict[Box, None]] = {}
    for operation in wanted:
        for moved in operation.recipe.moved(rank):
            if moved.source is not None:
                storage = moved.source.layout.local_shape(rank)
                sections = found.setdefault(operation.slots[moved.number], {})
                for message in moved.plan.sends:
                    sections[ranges_box(moved.source, message.ranges, storage)] = None
    return {slot: list(boxes)[:MAX_SENT_SECTIONS] for slot, boxes in found.items() if boxes}


def _add_group(builder: Builder, group: FusionGroup, uses: Uses, memories: dict[int, int], sent: Boxes, cuts: Boxes,
               received: Received, rank: int) -> None:
    """Add the nodes of a group; of reductions that this process cannot compute as elements come, their own nodes."""
    operations = group.operations
    keys = {operation.key for operation in operations}
    later = group.reductions if not can_reduce(group, rank) else []
    if later:
        group.reductions = []
        keys -= {reduction.operation.key for reduction in later}
    first = operations[0].position
    kernel = Kernel(group, lambda slot, view: uses.outside(slot, view, first, keys), memories)
    awaiting = cuts if not world().has_network else {
        slot: [*cuts.get(slot, ()), *builder.boxes_awaiting(slot)] for slot, *_ in kernel.outputs}
    for operation, partial in add_group(builder, group, kernel, sent, awaiting, received, rank):
        builder.position = operation.position
        operation.recipe.add_merge(builder, operation, partial, rank)
    for reduction in later:
        builder.position = reduction.operation.position
        reduction.operation.recipe.add_nodes(builder, reduction.operation, rank)
