"""The builder: it collects the nodes of a schedule, and finds what each of them depends on.

Each memory has an ordered list of accesses: which box of it is read or written. A node depends on the earlier accesses
that it conflicts with. A full graph between operations is not kept, because its upkeep would dominate (Kristensen &
Vinter, *Managing Communication Latency-Hiding at Runtime for Parallel Programming Languages and Libraries*, 2012).
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Sequence

from pgaspy.planning.box_index import BoxIndex
from pgaspy.planning.boxes import Box, contains, overlap, remainder
from pgaspy.scheduling.nodes import Node

__all__ = ["Access", "BaseAccess", "Builder"]

Access = tuple[int, Box]
"""A memory's number, and the box of it that is accessed."""


BaseAccess = tuple[int, Box, bool]
"""A node's number, the box of a base that it accesses, and whether it writes."""

_Maker = tuple[int, object]
"""A node's number, and what its access is made together with."""

MAX_ACCESSES = 64
"""Of a memory, among which it is looked for those that wait for messages."""

N_LATEST = 4
"""Of so many writes it is asked whether one covers an access, before others are searched for."""


class _Accesses:
    """Those of one memory that a later node may have to wait for.

    What is overwritten need not be waited for again, but by what overwrites it together: for the `together` that came
    last, `replaced` are the accesses that it has overwritten.
    """

    __slots__ = ("latest", "reads", "replaced", "together", "writes")

    def __init__(self) -> None:
        self.reads: BoxIndex[_Maker] = BoxIndex()
        self.writes: BoxIndex[_Maker] = BoxIndex()
        self.latest: list[tuple[Box, _Maker]] = []  # writes
        self.together: object = None
        self.replaced: list[tuple[Box, _Maker, bool]] = []

    def conflicts(self, box: Box, writes: bool, together: object) -> tuple[set[int], bool]:
        """The nodes that an access has to wait for; and whether one of them covers it by what it writes."""
        if together is not None and together is not self.together:
            self.together, self.replaced = together, []
        found, is_covered = self._conflicting_writes(box, together)
        if writes:
            found += self.reads.overlapping(box)
        waits = {n for _, (n, theirs) in found if together is None or theirs is not together}
        if together is not None:
            waits.update(n for other, (n, _), has_written in self.replaced
                         if (writes or has_written) and overlap(box, other))
        return waits, is_covered

    def _conflicting_writes(self, box: Box, together: object) -> tuple[list[tuple[Box, _Maker]], bool]:
        """Those that an access has to wait for; none that one of these waits for, which covers the access."""
        newer = []
        for entry in reversed(self.latest):
            other, (_, theirs) = entry
            if overlap(box, other):
                newer.append(entry)
                if theirs is None and contains(other, box):
                    return newer, True
        found = self.writes.overlapping(box)
        return found, any(contains(other, box) for other, (_, theirs) in found
                          if together is None or theirs is not together)

    def overwrite(self, number: int, box: Box, together: object) -> None:
        """Note a write, and drop what it covers; one that has covered it has dropped what came before."""
        found, _ = self._conflicting_writes(box, together)
        for index, entries, has_written in (
                (self.writes, found, True), (self.reads, self.reads.overlapping(box), False)):
            for entry in entries:
                other, maker = entry
                left = (other,) if together is not None and maker[1] is together else remainder(other, box)
                if left != (other,):
                    index.remove(entry)
                    for rest in left:
                        index.add(rest, maker)
                    if has_written and entry in self.latest:
                        at = self.latest.index(entry)
                        self.latest[at:at + 1] = [(rest, maker) for rest in left]
                    if together is not None:
                        self.replaced.append((other, maker, has_written))
        self.writes.add(box, (number, together))
        self.latest = [*self.latest[1 - N_LATEST:], (box, (number, together))]


class Builder:
    """Collects the nodes of a schedule in recording order, and the memories that they use.

    Attributes
    ----------
    nodes, dependencies
        Each node, and the numbers of the nodes that have to be complete before it.
    first_accesses
        Per base, those that wait for no write here that covers them.
    nbytes_of_buffer
        The buffers, in the order of their numbers, which follow those of all other memories.
    position, due, last
        The operation that nodes are added for; and the first and the last of those that share a kernel with it.
    has_boxes
        Whether it asks which box of a memory is accessed: else None stands for any.
    """

    has_boxes = True

    def __init__(self, n_bases: int, n_memories: int) -> None:
        self.n_bases = n_bases
        self.first_accesses: dict[int, list[BaseAccess]] = {}
        self.nodes: list[Node] = []
        self.dependencies: list[set[int]] = []
        self.n_memories = n_memories
        self.position = self.due = self.last = 0
        self.nbytes_of_buffer: dict[int, int] = {}
        self._accesses: dict[int, _Accesses] = {}
        self._last: list[int] = []  # of those that share a kernel with each node's operation
        self._are_awaiting: list[bool] = []  # per node, whether it waits for messages

    def buffer(self, nbytes: int) -> int:
        """A new buffer's number."""
        number = self.n_memories
        self.n_memories += 1
        self.nbytes_of_buffer[number] = nbytes
        return number

    def add(self, node: Node, reads: Iterable[Access] = (), writes: Iterable[Access] = (),
            after: Sequence[int] = (), together: object = None) -> int:
        """Add a node, with what it accesses, and the nodes it has to come after besides; its number.

        Accesses of one `together` do not conflict with each other: messages that fill one memory together, say.

        A kernel may become part of the last node that it has to come after, if that is a kernel, too, and if all others
        that it has to come after stand for operations that were recorded before those of that one.
        """
        waits = set(after)
        reads, writes = list(reads), list(writes)
        first = []
        for accesses, writing in ((reads, False), (writes, True)):
            for memory, box in accesses:
                found, is_covered = self._of(memory).conflicts(box, writing, together)
                waits |= found
                if memory < self.n_bases and not is_covered:
                    first.append((memory, box, writing))
        number = max(waits, default=-1)
        chain = node.following(self.nodes[number]) if self._may_be_longer(number, waits) else None
        if chain is None:
            number = len(self.nodes)
        for memory, box, writing in first:
            self.first_accesses.setdefault(memory, []).append((number, box, writing))
        for memory, box in writes:
            self._of(memory).overwrite(number, box, together)
        for memory, box in reads:
            if not any(memory == other and contains(written, box) for other, written in writes):
                self._of(memory).reads.add(box, (number, together))
        waits.discard(number)
        nbytes = self.nbytes_of_buffer
        uses = dict.fromkeys(memory for memory, _ in (*reads, *writes))
        allocates = {memory: nbytes[memory] for memory, _ in writes if memory in nbytes}
        if chain is not None:
            earlier = self.nodes[number]
            chain.uses = tuple(dict.fromkeys(earlier.uses) | uses)
            chain.allocates = tuple((dict(earlier.allocates) | allocates).items())
            chain.reads = tuple(dict.fromkeys((*earlier.reads, *(
                memory for memory, _ in reads if memory not in earlier.overwrites))))
            chain.writes = (*earlier.writes, *writes)
            chain.overwrites = tuple(dict.fromkeys((*earlier.overwrites, *node.overwrites)))
            chain.position, chain.due = earlier.position, earlier.due
            self.nodes[number] = chain
            self.dependencies[number] |= waits
            self._are_awaiting[number] |= self._is_awaiting(node, waits)
            return number
        node.uses, node.allocates = tuple(uses), tuple(allocates.items())
        node.reads, node.writes = tuple(dict.fromkeys(memory for memory, _ in reads)), tuple(writes)
        node.position, node.due = self.position, self.due
        self.nodes.append(node)
        self.dependencies.append(waits)
        self._last.append(self.last)
        self._are_awaiting.append(self._is_awaiting(node, waits))
        return number

    def _is_awaiting(self, node: Node, waits: Iterable[int]) -> bool:
        """Whether a node that waits for others is a message that comes, or waits for one."""
        return node.is_receive or node.talks or any(map(self._are_awaiting.__getitem__, waits))

    def boxes_awaiting(self, memory: int) -> list[Box]:
        """The boxes of a memory that are accessed by what waits for messages, and that are not overwritten since; none
        where it has many accesses.
        """
        found = self._of(memory)
        entries = [*itertools.islice(itertools.chain(found.reads, found.writes), MAX_ACCESSES + 1)]
        return [] if len(entries) > MAX_ACCESSES else [
            *dict.fromkeys(box for box, (number, _) in entries if self._are_awaiting[number])]

    def _may_be_longer(self, number: int, waits: set[int]) -> bool:
        """Whether a node is a kernel that may wait for these others, too, and that only kernels wait for.

        None of those that wait for it may be one whose result is sent.
        """
        return number >= 0 and self.nodes[number].is_kernel and self._are_before(number, waits) and all(
            self.nodes[later].is_kernel and not self.nodes[later].is_urgent
            for later in range(number + 1, len(self.nodes)) if number in self.dependencies[later])

    def _are_before(self, number: int, others: set[int]) -> bool:
        """Whether other nodes share a kernel with a node, or with nothing that was recorded later than its first."""
        due = self.nodes[number].due
        return all(self.nodes[other].due == due or self._last[other] < due for other in others)

    @property
    def last_accesses(self) -> dict[int, list[BaseAccess]]:
        """Per base, those that are not covered by later writes, which wait for them."""
        return {memory: [(number, box, writing) for entries, writing in ((found.reads, False), (found.writes, True))
                         for box, (number, _) in entries]
                for memory, found in self._accesses.items() if memory < self.n_bases}

    @property
    def awaiting(self) -> dict[int, list[Box]]:
        """Per base, where there are any, the boxes that are accessed by what waits for messages."""
        found = {memory: self.boxes_awaiting(memory) for memory in self._accesses if memory < self.n_bases}
        return {memory: boxes for memory, boxes in found.items() if boxes}

    def _of(self, memory: int) -> _Accesses:
        found = self._accesses.get(memory)
        if found is None:
            found = self._accesses[memory] = _Accesses()
        return found
