"""Runs: schedules that are being executed, each with what is left of it; and which of their nodes wait for others."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import compress, repeat
from operator import is_not
from types import CodeType, MappingProxyType
from typing import Any

from pgaspy.caches import cached
from pgaspy.job.failures import Poison, line_at
from pgaspy.planning.box_index import BoxIndex
from pgaspy.scheduling.base import Storage
from pgaspy.scheduling.nodes import Memories, Node, new_buffer, new_buffers
from pgaspy.scheduling.recorded import Recorded
from pgaspy.scheduling.schedule import Schedule

__all__ = ["Run", "conflicts", "conflicts_of"]


class Run:
    """A schedule being executed.

    Attributes
    ----------
    nodes
        Those of the schedule.
    index
        Its place among all runs, in recording order.
    n_waits, n_uses, n_left
        What is left of the schedule's counts, and the nodes that are left.
    is_done
        Per node.
    later
        Per node, those of later runs that wait for it, with these runs.
    held
        Bytes that were filled ahead, per memory.
    parts, talks
        What is left of the computations, and of the conversations, that have been begun.
    numbers, codes, instructions
        Of the operations: see `RecordedOperation`.
    stamps
        The program's digest after each operation of which a message brings it.
    taken_from, n_taken
        What its operations are still recorded in, the first ones, until they are taken out of it.
    n_done
        Where nodes are executed in order, those that are complete.
    n_completed_before
        What `n_completed` was before them.
    is_begun
        Whether the execution has begun, and may have been interrupted.
    spoiled
        The buffers that are poisoned.
    """

    n_done = n_completed_before = 0
    is_begun = False
    spoiled: Mapping[int, Poison] = MappingProxyType({})
    stamps: Mapping[int, int] = MappingProxyType({})
    taken_from: Recorded | None = None
    n_taken = 0

    def __init__(self, schedule: Schedule, memories: Memories, numbers: Sequence[int], codes: Sequence[CodeType | None],
                 instructions: Sequence[int]) -> None:
        """`memories` are the storages and the values."""
        self.schedule, self.nodes, self.memories = schedule, schedule.nodes, memories
        self.numbers, self.codes, self.instructions = numbers, codes, instructions
        if schedule.buffer_sizes:
            memories += schedule.spare.pop() if schedule.spare else new_buffers(schedule.buffer_sizes)

    def prepare(self, index: int) -> None:
        """Get ready to be executed in any order."""
        nodes = self.nodes
        self.index = index
        self.n_waits, self.n_uses = [*self.schedule.n_waits], [*self.schedule.n_uses]
        self.is_done = bytearray(len(nodes))
        self.n_to_start = self.schedule.n_messages
        self.later: dict[int, list[tuple[Run, Sequence[int]]]] = {}
        self.held: dict[int, int] = {}
        self.parts: dict[int, Iterator[None]] = {}
        self.talks: dict[int, Any] = {}
        self._n_done_by_age = 0
        self.n_left = len(nodes)

    @property
    def oldest(self) -> int:
        """The oldest operation that is not done."""
        by_age, is_done = self.schedule.nodes_by_age, self.is_done
        while is_done[by_age[self._n_done_by_age]]:
            self._n_done_by_age += 1
        return self.nodes[by_age[self._n_done_by_age]].due

    def slots_of(self, storage: Storage | None) -> list[int]:
        """The number of a storage that is still to be read or written; nothing for any other."""
        storages = self.memories[:self.schedule.n_bases]
        return [storages.index(storage)] if storage is not None and storage in storages else []

    def allocate(self, node: Node) -> None:
        """Make the buffers that a node writes."""
        for number, nbytes in node.allocates:
            if self.memories[number] is None:
                self.memories[number] = new_buffer(nbytes)

    def spoil(self, node: Node, poison: Poison) -> None:
        """Poison what a node that is not executed would have written."""
        arrays = [number for number, _ in node.writes if number < self.schedule.n_bases]
        for number in arrays:
            self.memories[number].poison = poison
        self.spoiled = {**self.spoiled, **{number: poison for number, _ in node.writes if number not in arrays}}

    def poison_of(self, node: Node) -> Poison | None:
        """That of what a node reads, which another run may have failed to do. What it overwrites is healed."""
        found = next((poison for number in node.reads if (poison := self._poison_in(number)) is not None), None)
        if found is None:
            for number in node.overwrites:
                self.memories[number].poison = None
        return found

    def _poison_in(self, number: int) -> Poison | None:
        """That of a memory."""
        if number >= self.schedule.n_bases:
            return self.spoiled.get(number)
        found: Poison | None = self.memories[number].poison
        return found

    def line_of(self, node: Node) -> str:
        """The line of the program that a node's operation was recorded at."""
        return line_at(self.codes[node.position], self.instructions[node.position])

    def end(self) -> None:
        """Leave the buffers to the next run of the schedule."""
        schedule = self.schedule
        if schedule.buffer_sizes and not schedule.spare:
            schedule.spare.append(self.memories[schedule.n_memories - len(schedule.buffer_sizes):])


def conflicts(earlier: Run, run: Run, slots: Mapping[Any, int]) -> dict[int, Sequence[int]]:
    """The nodes of an earlier run that others of a later one have to wait for, with these.

    `slots` are the numbers of the later run's bases.
    """
    memories, accessed = earlier.memories, earlier.schedule.last_accesses
    own = [*map(slots.get, map(memories.__getitem__, accessed))]
    return conflicts_of(earlier.schedule, run.schedule,
                        tuple(compress(zip(accessed, own, strict=True), map(is_not, own, repeat(None)))))


@cached
def conflicts_of(earlier: Schedule, later: Schedule, shared: tuple[tuple[int, int], ...]) -> dict[int, Sequence[int]]:
    """The nodes of a schedule that others of a later one have to wait for, with these.

    `shared` are the bases that both access, each by its slot in the one and in the other.
    """
    found: dict[int, list[int]] = {}
    for slot, own in shared:
        first: BoxIndex[tuple[int, bool]] = BoxIndex()
        for node, box, writes in later.first_accesses.get(own, ()):
            first.add(box, (node, writes))
        for number, box, writes in earlier.last_accesses[slot]:
            found.setdefault(number, []).extend(
                [node for _, (node, also_writes) in first.overlapping(box) if writes or also_writes])
    return {number: tuple(waiting) for number, waiting in found.items() if waiting}
