"""Schedules of operations in their order, one after the other: for what is not known to come again.

A schedule of operations that are fused takes some hundred microseconds per operation to make, which it wins back when
it is found again, or where there is much to compute. Here nothing is looked for: an operation that may be done at once
is one node, which does that, and another one has the nodes that it would have by itself. Without messages a run is
executed in order, so that no node has to know what it waits for.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from pgaspy.scheduling.builder import Access, Builder
from pgaspy.scheduling.nodes import Memories, Node
from pgaspy.scheduling.operations import NumberedOperation, Recipe
from pgaspy.scheduling.schedule import Schedule

__all__ = ["InTurn", "in_turn"]


class _AtOnce(Node):
    """An operation that is done at once."""

    def __init__(self, operation: NumberedOperation, rank: int) -> None:
        recipe = operation.recipe
        self._recipe, self._rank = recipe, rank
        self._slots, self._values = operation.slots, operation.values
        self.name = str(recipe.name)
        self.n_counted = recipe.n_counted_at_once or 0

    def compute(self, memories: Memories) -> None:
        """See `Node`."""
        self._recipe.execute([memories[n] for n in self._slots], [memories[n] for n in self._values], self._rank)


class InTurn(Builder):
    """Collects nodes that are executed in the order in which they come.

    Attributes
    ----------
    has_messages
        Whether some are messages, or start some.
    """

    has_boxes = False

    def __init__(self, n_bases: int, n_memories: int) -> None:
        super().__init__(n_bases, n_memories)
        self.has_messages = False

    def add(self, node: Node, reads: Iterable[Access] = (), writes: Iterable[Access] = (),
            after: Sequence[int] = (), together: object = None) -> int:
        """See `Builder`."""
        reads, writes = list(reads), list(writes)
        node.reads = tuple(dict.fromkeys([memory for memory, _ in reads]))
        node.writes = tuple(writes)
        node.uses = tuple(dict.fromkeys([memory for memory, _ in (*reads, *writes)]))
        node.allocates = tuple({memory: self.nbytes_of_buffer[memory] for memory, _ in writes
                                if memory in self.nbytes_of_buffer}.items())
        node.position = node.due = self.position
        self.has_messages |= node.is_communication or node.talks
        self.nodes.append(node)
        return len(self.nodes) - 1


def in_turn(operations: Sequence[tuple[Recipe, tuple[int, ...], tuple[int, ...]]], n_bases: int, n_memories: int,
            named: frozenset[int], rank: int) -> Schedule | None:
    """The schedule of operations, (recipe, numbers of its bases, numbers of its values), for one process.

    None if there is much to compute, or if there are messages. `named` is as for `build`.
    """
    builder = InTurn(n_bases, n_memories)
    for k, (recipe, slots, values) in enumerate(operations):
        operation = NumberedOperation(k, recipe, slots, values)
        builder.position = k
        if recipe.n_counted_at_once is not None and recipe.is_done_at_once(rank) and recipe.is_local(rank):
            if not recipe.views[0].size:
                continue
            node, n = _AtOnce(operation, rank), recipe.n_outputs
            builder.add(node, [(slot, None) for slot in slots[0 if recipe.reads_outputs else n:]],
                        [(slot, None) for slot in slots[:n]])
            if not recipe.updates:
                node.overwrites = tuple([slot for slot, view in zip(slots, recipe.outputs, strict=False)
                                         if view.is_whole and slot not in slots[n:]])
        elif recipe.elementwise is None:
            recipe.add_nodes(builder, operation, rank)
        else:
            return None
        if builder.has_messages:
            return None
    return _finished(builder, len(operations), named)


def _finished(builder: InTurn, n_operations: int, named: frozenset[int]) -> Schedule:
    nodes = builder.nodes
    n_uses = [0] * builder.n_memories
    last_users: dict[int, Node] = {}
    for node in nodes:
        for memory in node.uses:
            n_uses[memory] += 1
            last_users[memory] = node
    for memory, node in last_users.items():
        node.last_uses += (memory,)
    numbers = tuple(range(len(nodes)))
    return Schedule(
        nodes=tuple(nodes), nodes_by_age=numbers, n_waits=(0,) * len(nodes), n_bases=builder.n_bases,
        n_memories=builder.n_memories, n_uses=tuple(n_uses), buffer_sizes=(None,) * len(builder.nbytes_of_buffer),
        first_accesses={}, last_accesses={}, named=named, dropped=(), last_joined=tuple(range(n_operations)),
        n_messages=0, stamped=(), n_fused=0, n_kernels=0, is_in_turn=True)
