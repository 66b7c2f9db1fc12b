"""Schedules of operations in their order, one after the other: for what is not known to come again.

A schedule of operations that are fused takes some hundred microseconds per operation to make, which it wins back when
it is found again, or where there is much to compute. Here nothing is looked for: an operation that may be done at once
is one node, which does that, and another one has the nodes that it would have by itself. On one process, where there
are no messages, a run is executed in order, so that no node has to know what it waits for.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from pgaspy.scheduling.at_once import MAX_ELEMENTS, MAX_OF_NEW
from pgaspy.scheduling.builder import Access, Builder
from pgaspy.scheduling.nodes import Memories, Node
from pgaspy.scheduling.operations import NumberedOperation, Recipe
from pgaspy.scheduling.schedule import Schedule, finished

__all__ = ["InTurn", "in_turn"]


class _AtOnce(Node):
    """An operation that is done at once."""

    def __init__(self, operation: NumberedOperation) -> None:
        recipe = self._recipe = operation.recipe
        self._slots, self._values = operation.slots, operation.values
        self.name = str(recipe.name)
        self.n_counted = recipe.n_counted_at_once or 0

    def compute(self, memories: Memories) -> None:
        """See `Node`."""
        self._recipe.execute([memories[n] for n in self._slots], [memories[n] for n in self._values], 0)


class InTurn(Builder):
    """Collects nodes that are executed in the order in which they come."""

    has_boxes = False

    def add(self, node: Node, reads: Iterable[Access] = (), writes: Iterable[Access] = (),
            after: Sequence[int] = (), together: object = None) -> int:
        """See `Builder`."""
        reads, writes = list(reads), list(writes)
        nbytes = self.nbytes_of_buffer
        node.reads, node.writes = tuple(dict.fromkeys([memory for memory, _ in reads])), tuple(writes)
        node.uses = tuple(dict.fromkeys([memory for memory, _ in (*reads, *writes)]))
        node.allocates = tuple({memory: nbytes[memory] for memory, _ in writes if memory in nbytes}.items())
        node.position = node.due = self.position
        self.nodes.append(node)
        self.dependencies.append(set())
        return len(self.nodes) - 1


def in_turn(operations: Sequence[tuple[Recipe, tuple[int, ...], tuple[int, ...]]], n_bases: int, n_memories: int,
            named: frozenset[int]) -> Schedule | None:
    """The schedule of operations, (recipe, numbers of its bases, numbers of its values), for the only process of a job.

    None if there is much to compute, or if a process would even so begin a conversation, whose schedule is executed in
    any order that its nodes allow. `named` is as for `build`.
    """
    builder = InTurn(n_bases, n_memories)
    n_known = sum([recipe.has_come for recipe, _, _ in operations])
    limit = MAX_ELEMENTS if 2 * n_known > len(operations) else MAX_OF_NEW
    for recipe, _, _ in operations:
        recipe.has_come = True
    for k, (recipe, slots, values) in enumerate(operations):
        operation = NumberedOperation(k, recipe, slots, values)
        builder.position = k
        if recipe.n_counted_at_once is not None and recipe.is_done_at_once(0, limit) and recipe.is_local(0):
            if recipe.views[0].size:
                _add_at_once(builder, operation)
        elif recipe.elementwise is None:
            recipe.add_nodes(builder, operation, 0)
        else:
            return None
    schedule = finished(builder, named, (), tuple(range(len(operations))), 0, 0)
    schedule.is_in_turn = True
    return None if schedule.n_messages else schedule


def _add_at_once(builder: Builder, operation: NumberedOperation) -> None:
    recipe, slots, n = operation.recipe, operation.slots, operation.recipe.n_outputs
    accesses: list[Access] = [(slot, None) for slot in slots]
    node = _AtOnce(operation)
    if not recipe.updates:
        node.overwrites = tuple([slot for slot, view in zip(slots[:n], recipe.outputs, strict=True)
                                 if view.is_whole and slot not in slots[n:]])
    builder.add(node, accesses[0 if recipe.reads_outputs else n:], accesses[:n])
