"""The engine: executes a schedule, hiding the time of messages behind computing.

The flush of Kristensen & Vinter (2012): (1) every message that is ready is started; (2) those under way are tested,
without blocking; (3) only when no message is ready to start, one computation is run. It waits only when there is
nothing to compute. Three invariants hold between any two steps:

- every node that waits for nothing is in a queue, under way, or complete;
- a computation is run only when no message is ready to start (or the window for bytes in flight is full);
- it waits only when no computation is ready.

Messages start in recording order. What is received or packed ahead is bounded by a window of bytes, which the nodes of
the oldest unfinished operation may always exceed, so that it never stops the job.
"""

from __future__ import annotations

import heapq
import os
import time
from collections.abc import Sequence
from typing import Any

from mpi4py import MPI

from pgaspy import progress, statistics
from pgaspy.nodes import Buffer, Communication, Memories, Node
from pgaspy.procgrid import world
from pgaspy.schedule import Schedule

__all__ = ["NOTHING", "WINDOW_BYTES", "Run"]

NOTHING = -1
"""In the place of a memory's number: one that no node uses."""

WINDOW_BYTES = 128 << 20
"""Bytes that may be received or packed before they are needed."""

SPIN_SECONDS = 0.02
"""After waiting so long, the process lets others have its core between two tests."""


class Run:
    """A schedule being executed."""

    def __init__(self, schedule: Schedule, memories: Memories, numbers: Sequence[int], overlaps: bool = True) -> None:
        """`numbers` are those of the operations; without `overlaps`, nothing is computed while messages are under way.
        """
        self._schedule = schedule
        self._nodes = schedule.nodes
        self._memories = memories
        memories += [None] * (schedule.n_memories - len(memories))
        self._numbers = numbers
        self._overlaps = overlaps
        self._n_left = len(schedule.nodes)
        self._n_uses = list(schedule.n_uses)
        self._counts = statistics.counts
        if not schedule.communicates:
            return
        self._n_waits = list(schedule.n_waits)
        self._sends: list[int] = []  # heaps of ready nodes: those that send, those that take memory ahead, the others
        self._takers: list[int] = []
        self._computations: list[tuple[int, int]] = []
        self._requests: list[MPI.Request] = []
        self._under_way: list[int] = []
        self._held_bytes = 0
        self._held: dict[int, int] = {}
        self._left_at = [0] * len(numbers)
        for node in self._nodes:
            self._left_at[node.position] += 1
        self._oldest = 0
        job = world()
        self._comm, self._n_tags = job.communicator, job.n_tags
        for number, n in enumerate(self._n_waits):
            if n == 0:
                self._make_ready(number)

    @property
    def is_complete(self) -> bool:
        """Whether everything is done."""
        return self._n_left == 0

    def uses(self, memory: Any) -> bool:
        """Whether a memory is still to be read or written."""
        return any(n > 0 and found is memory for n, found in zip(self._n_uses, self._memories, strict=True))

    def finish(self, until: int | None = None) -> None:
        """Execute everything; or return when nothing is left that uses the memory with this number (or `NOTHING`).

        Whatever is ready makes progress meanwhile, as another process may need it to get on.
        """
        if not self._schedule.communicates:
            self._run_in_order()
            return
        uses = self._n_uses
        while self._n_left:
            self._communicate()
            if until is not None and (until == NOTHING or uses[until] == 0):
                return
            if self._requests and not (self._overlaps and self._computations):
                self._wait()
            elif self._computations:
                self._compute(heapq.heappop(self._computations)[1])

    # Computing -------------------------------------------------------------------------------------------------------

    def _run_in_order(self) -> None:
        """Without messages there is nothing to hide."""
        nodes = self._nodes
        for number in range(len(nodes) - self._n_left, len(nodes)):
            self._execute(nodes[number])

    def _execute(self, node: Node) -> None:
        """Compute; what failed counts as done, so that the others do not wait for it."""
        memories = self._memories
        for number, nbytes in node.allocates:
            if memories[number] is None:
                memories[number] = Buffer(nbytes)
        start = time.perf_counter()
        try:
            if node.is_task and self._schedule.communicates:
                with progress.meanwhile(self._communicate_only):
                    node.run(memories, None)
            else:
                node.run(memories, self._communicate if self._schedule.communicates and self._requests else None)
        finally:
            self._counts.computed(node.name, start)
            self._n_left -= 1
            self._let_go(node)

    def _compute(self, number: int) -> None:
        node = self._nodes[number]
        try:
            self._execute(node)
        finally:
            self._complete(number, node)

    def _let_go(self, node: Node) -> None:
        uses, memories = self._n_uses, self._memories
        for number in node.uses:
            uses[number] -= 1
            if not uses[number]:
                memories[number] = None

    def _complete(self, number: int, node: Node) -> None:
        """Let those get ready that waited for a node."""
        for memory in node.uses:
            if not self._n_uses[memory] and memory in self._held:
                self._held_bytes -= self._held.pop(memory)
        self._left_at[node.position] -= 1
        while self._oldest < len(self._left_at) and not self._left_at[self._oldest]:
            self._oldest += 1
        waits = self._n_waits
        for successor in self._schedule.successors[number]:
            waits[successor] -= 1
            if not waits[successor]:
                self._make_ready(successor)

    def _make_ready(self, number: int) -> None:
        node = self._nodes[number]
        if node.nbytes_ahead:
            heapq.heappush(self._takers, number)
        elif node.is_communication:
            heapq.heappush(self._sends, number)
        else:
            heapq.heappush(self._computations, (self._schedule.ranks[number], number))

    # Communicating ---------------------------------------------------------------------------------------------------

    def _communicate(self) -> None:
        """Start what may start, and complete what has arrived, until there is nothing of either."""
        self._start(computes=True)
        while self._requests and self._test():
            self._start(computes=True)

    def _communicate_only(self) -> None:
        """The same while a computation is under way elsewhere: nothing is packed."""
        self._start(computes=False)
        while self._requests and self._test():
            self._start(computes=False)

    def _start(self, computes: bool) -> None:
        while self._sends:
            self._start_message(heapq.heappop(self._sends))
        while self._takers:
            number = self._takers[0]
            node = self._nodes[number]
            if node.position > self._oldest and self._held_bytes + node.nbytes_ahead > WINDOW_BYTES:
                return
            if not (computes or node.is_communication):
                return
            heapq.heappop(self._takers)
            memory = node.taken
            self._held[memory] = self._held.get(memory, 0) + node.nbytes_ahead
            self._held_bytes += node.nbytes_ahead
            if node.is_communication:
                self._start_message(number)
            else:
                self._compute(number)
                while self._sends:
                    self._start_message(heapq.heappop(self._sends))

    def _start_message(self, number: int) -> None:
        node = self._nodes[number]
        assert isinstance(node, Communication)
        memories = self._memories
        for buffer, nbytes in node.allocates:
            if memories[buffer] is None:
                memories[buffer] = Buffer(nbytes)
        tag = (self._numbers[node.position] + node.stream) % self._n_tags
        self._requests.append(node.start(memories, self._comm, tag))
        self._under_way.append(number)
        self._counts.started(node)

    def _test(self) -> bool:
        """Complete the messages that are done; whether there was any."""
        done = MPI.Request.Testsome(self._requests)
        if not done:
            return False
        numbers = [self._under_way[k] for k in done]
        gone = set(done)
        self._requests = [r for k, r in enumerate(self._requests) if k not in gone]
        self._under_way = [n for k, n in enumerate(self._under_way) if k not in gone]
        for number in numbers:
            node = self._nodes[number]
            self._n_left -= 1
            self._let_go(node)
            self._complete(number, node)
        return True

    def _wait(self) -> None:
        """Wait for a message. By testing, so that an interrupt is seen."""
        start = time.perf_counter()
        try:
            while not self._test():
                os.sched_yield()
                if time.perf_counter() - start > SPIN_SECONDS:
                    time.sleep(5e-5)
        finally:
            self._counts.waited(start)
