"""Operations that are executed at once: the nodes that a schedule would have, each executed when it is added.

Nothing is built, and nothing is found again. A node waits for the messages that it needs, and no message is waited for
that nothing reads, but those of the operation's own results. What is sent is sent from memory that nobody else writes
to, as nobody waits until it has arrived.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any, Protocol

from pgaspy.job.failures import is_interrupt
from pgaspy.job.procgrid import world
from pgaspy.scheduling.backend import backend
from pgaspy.scheduling.base import Storage
from pgaspy.scheduling.builder import Access, Builder
from pgaspy.scheduling.nodes import Communication, Memories, Node, new_buffer
from pgaspy.scheduling.operations import NumberedOperation, Recipe

__all__ = ["Carrier", "Direct", "attempt", "do_by_recipe"]


class Carrier(Protocol):
    """Starts messages, and waits for them: the engine."""

    def make_room(self) -> None:
        """Wait until little is on its way to others."""

    def start(self, direct: Direct, number: int) -> None:
        """Start one of its messages."""

    def wait_for(self, direct: Direct, memory: int) -> None:
        """Return when all is complete that it receives in a memory."""


class Direct(Builder):
    """One operation, whose nodes are executed as they are added.

    Attributes
    ----------
    nodes
        Its messages.
    numbers, memories, stamps
        As of a run.
    is_begun
        Whether other processes may have been told of it.
    awaited
        Per memory, the messages to it that are not complete.
    """

    has_boxes = False

    def __init__(self, carrier: Carrier, number: int, memories: Memories, n_bases: int,
                 stamp: Callable[[], int]) -> None:
        """`stamp` is called when it begins: it gives the program's digest after the operation."""
        self.n_bases = n_bases
        self.position = self.due = self.last = 0
        self.nodes: list[Node] = []
        self.numbers, self.memories, self.stamps = [number], memories, [0]
        self.awaited: dict[int, int] = {}
        self.is_begun = False
        self._carrier, self._stamp = carrier, stamp

    def buffer(self, nbytes: int) -> int:
        """See `Builder`."""
        self.memories.append(new_buffer(nbytes))
        return len(self.memories) - 1

    def add(self, node: Node, reads: Iterable[Access] = (), writes: Iterable[Access] = (),
            after: Sequence[int] = (), together: object = None) -> int:
        """See `Builder`. Nodes come in an order in which they may be executed."""
        if not node.is_communication:
            for memory, _ in reads:
                if memory in self.awaited:
                    self._carrier.wait_for(self, memory)
            node.compute(self.memories)
            return 0
        assert isinstance(node, Communication)
        if not self.is_begun:
            self.begin()
        if node.is_receive:
            self.awaited[node.memory] = self.awaited.get(node.memory, 0) + 1
            node.nbytes_ahead = 0
        else:
            if node.memory in self.awaited:
                self._carrier.wait_for(self, node.memory)
            if node.memory < self.n_bases:
                self._copy(node)
        self.nodes.append(node)
        self._carrier.start(self, len(self.nodes) - 1)
        return 0

    def _copy(self, node: Communication) -> None:
        """Have a message sent from memory of its own."""
        source, target = self.memories[node.memory].address + node.start_at, self.buffer(node.nbytes)
        backend.copy_bytes(node.nbytes).call(self.memories[target].address, source)
        node.memory, node.start_at = target, 0

    def arrived(self, node: Communication) -> None:
        """Take note of a message that is complete."""
        if not node.is_receive:
            return
        left = self.awaited[node.memory] - 1
        if left:
            self.awaited[node.memory] = left
        else:
            del self.awaited[node.memory]

    def begin(self) -> None:
        """Have the operation compared with those of other processes."""
        self.is_begun = True
        self.stamps[0] = self._stamp()

    def complete(self) -> None:
        """Wait for all that it receives, and have it begin, if it has no message."""
        while self.awaited:
            self._carrier.wait_for(self, next(iter(self.awaited)))
        if not self.is_begun:
            self.begin()


def attempt(carrier: Carrier, number: int, storages: Sequence[Storage], values: Sequence[Any],
            do: Callable[[Direct], None], is_local: bool, stamp: Callable[[], int]) -> Direct | None:
    """Execute an operation of a number by a function that adds its nodes, or does all of it, as where it `is_local`.

    None if it was not executed, as it failed before other processes may have been told of it: it can be done otherwise.
    """
    if not is_local:
        carrier.make_room()  # what is heard meanwhile is no failure of the operation
    direct = Direct(carrier, number, [*storages, *values], len(storages), stamp)
    try:
        do(direct)
        direct.complete()
    except Exception as error:
        if direct.is_begun or is_interrupt(error):
            raise
        return None
    return direct


def do_by_recipe(recipe: Recipe, storages: Sequence[Storage], values: Sequence[Any], direct: Direct) -> None:
    """Do all of an operation, if it is local, or add its nodes."""
    rank = world().rank
    if recipe.is_local(rank):
        recipe.execute(storages, values, rank)
        return
    slots, n = tuple(range(len(storages) + len(values))), len(storages)
    recipe.add_nodes_at_once(direct, NumberedOperation(0, recipe, slots[:n], slots[n:]), rank)
