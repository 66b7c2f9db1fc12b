"""The engine: executes schedules, hiding the time of messages behind computing.

The flush of Kristensen & Vinter (2012): (1) every message that is ready is started; (2) those under way are tested,
without blocking; (3) only when no message is ready to start, one computation is run, or one part of a long one. It
waits only when there is nothing to compute. Three invariants hold between any two steps:

- every node that waits for nothing is in a queue, under way, or complete;
- a computation is run only when no message is ready to start (or the window for bytes in flight is full);
- it waits only when no computation is ready.

Messages start in recording order. What is received or packed ahead is bounded by a window of bytes. All operations up
to the last one that shares a kernel with the oldest unfinished one may always exceed it, so that it never stops the
job: of the operations whose messages are not done everywhere, the oldest is among these on each process.

Several schedules can be under way: what is recorded later begins while the rest of what was recorded before is still
being done. Its nodes then wait for those of earlier schedules that access the same sections.
"""

from __future__ import annotations

import functools
import heapq
import math
import os
import time
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from mpi4py import MPI

from pgaspy import progress, statistics
from pgaspy.boxes import overlap
from pgaspy.nodes import Communication, Memories, Node, new_buffer
from pgaspy.procgrid import world
from pgaspy.scheduling import Schedule

__all__ = ["WINDOW_BYTES", "Engine", "Run"]

WINDOW_BYTES = 128 << 20
"""Bytes that may be received, packed or copied before they are needed."""

RECEIVED_AT_ONCE_BYTES = 4 << 20
"""Longer messages are received one after the other, for those under way at once share the network evenly, and the one
that is needed first would arrive with the last."""

IDLE_SECONDS = 1e-3
"""After waiting so long, what was to be executed together with later operations is executed now."""

SPIN_SECONDS = 0.02
"""After waiting so long, the process lets others have its core between two tests."""


class Run:
    """A schedule being executed.

    Attributes
    ----------
    index
        Its place among all runs, in recording order.
    slots
        The numbers of the bases that are accessed, by their ids.
    n_waits, n_uses, n_left_at, n_left
        What is left of the schedule's counts; `n_left_at` counts nodes per operation.
    is_done
        Per node.
    held
        Bytes that were filled ahead, per memory.
    """

    def __init__(self, schedule: Schedule, memories: Memories, numbers: Sequence[int]) -> None:
        """`memories` are the bases and the values, `numbers` those of the operations."""
        self.schedule = schedule
        self.memories = memories
        memories += [None] * (schedule.n_memories - len(memories))
        self.numbers = numbers
        self.n_uses = list(schedule.n_uses)
        self.n_left = len(schedule.nodes)

    def prepare(self, index: int) -> None:
        """Get ready to be executed in any order."""
        self.index = index
        self.n_waits = list(self.schedule.n_waits)
        self.is_done = bytearray(len(self.schedule.nodes))
        self.n_left_at = list(self.schedule.n_due_at)
        memories = self.memories
        self.slots = {id(memories[slot]): slot for slot in self.schedule.last_accesses if memories[slot] is not None}
        self.oldest = 0
        self.go_on()
        self.n_to_start = self.schedule.n_messages
        self.later: dict[int, list[tuple[Run, Sequence[int]]]] = {}
        self.held: dict[int, int] = {}
        self.parts: dict[int, Iterator[None]] = {}

    def go_on(self) -> None:
        """Find the oldest operation that is not done."""
        left_at = self.n_left_at
        while self.oldest < len(left_at) and not left_at[self.oldest]:
            self.oldest += 1

    def slot_of(self, memory: Any) -> int | None:
        """The number of a memory that is still to be read or written; None for any other."""
        slot = self.slots.get(id(memory))
        return slot if slot is not None and self.memories[slot] is memory and self.n_uses[slot] else None

    def allocate(self, node: Node) -> None:
        """Make the buffers that a node writes."""
        for number, nbytes in node.allocates:
            if self.memories[number] is None:
                self.memories[number] = new_buffer(nbytes)

    def let_go(self, node: Node) -> None:
        """Drop the memories that nothing uses after a node."""
        uses, memories = self.n_uses, self.memories
        for number in node.uses:
            uses[number] -= 1
            if not uses[number]:
                memories[number] = None


class Engine:
    """Executes runs."""

    def __init__(self) -> None:
        self.overlaps = True
        self._runs: list[Run] = []
        self._n_runs = 0
        # heaps of ready nodes: what is sent, what takes memory ahead, and other computations
        self._sends: list[tuple[int, int, Run]] = []
        self._takers: list[tuple[int, int, int, Run]] = []
        self._computations: list[tuple[bool, int, int, Run]] = []
        self._requests: list[MPI.Request] = []
        self._under_way: list[tuple[Run, int, float]] = []  # with the time when it was started
        self._held_bytes = 0
        self._received_bytes = 0  # of messages under way

    @property
    def is_idle(self) -> bool:
        """Whether everything is done."""
        return not self._runs

    def execute(self, run: Run) -> None:
        """Take a run without messages, and execute it; or add it to what is under way."""
        if run.schedule.n_messages or self._runs:
            self._add(run)
            return
        nodes = run.schedule.nodes
        while run.n_left:
            node = nodes[len(nodes) - run.n_left]
            run.n_left -= 1
            try:
                self._execute(run, node)
            except BaseException:
                self._add(run)  # what is left goes on when there is an occasion
                raise

    def finish(self, memory: Any = None, when_idle: Callable[[], None] | None = None) -> None:
        """Execute everything; or return when nothing is left that uses a memory.

        Whatever is ready makes progress meanwhile, as another process may need it to get on. `when_idle` is called
        once, if there is nothing to do for a while: it may add a run.
        """
        wanted = None if memory is None else [
            (run.n_uses, slot) for run in self._runs for slot in [run.slot_of(memory)] if slot is not None]
        while self._runs:
            self._communicate()
            if wanted is not None and not [slot for uses, slot in wanted if uses[slot]]:
                return
            if when_idle is None:
                self._step()
            elif not self._step(IDLE_SECONDS):
                when_idle()
                when_idle = None

    def catch_up(self) -> None:
        """Execute everything but the run that came last, which gets under way."""
        self._communicate()
        while len(self._runs) > 1:
            self._step()
            self._communicate()

    def _step(self, seconds: float = math.inf) -> bool:
        """Compute, if there is anything to, or wait for a message, but not longer; whether there was one in time."""
        if self._requests and not (self._computations and self._may_compute()):
            return self._wait(seconds)
        if self._computations:
            self._compute()
        return True

    def _may_compute(self) -> bool:
        """Whether to compute while messages are under way; without overlap, only what others have to wait for."""
        return self.overlaps or any(run.n_to_start for run in self._runs)

    def _add(self, run: Run) -> None:
        """Take a run, whose nodes wait for those of earlier ones that they conflict with."""
        done = len(run.schedule.nodes) - run.n_left
        run.prepare(self._n_runs)
        self._n_runs += 1
        if not run.n_left:
            return
        for earlier in self._runs:
            _link(earlier, run)
        self._runs.append(run)
        ready = [number for number, n in enumerate(run.n_waits) if n == 0 and number >= done]
        run.n_left += done
        run.is_done[:done] = b"\1" * done
        for number in range(done):
            self._complete(run, number, run.schedule.nodes[number])
        for number in ready:
            self._make_ready(run, number)

    # Computing -------------------------------------------------------------------------------------------------------

    def _execute(self, run: Run, node: Node) -> None:
        """Compute a node to its end; what failed counts as done, so that others do not wait for it."""
        if node.allocates:
            run.allocate(node)
        start = time.perf_counter()
        try:
            if node.is_task and self._runs:
                with progress.meanwhile(self._communicate_only):
                    node.run(run.memories)
            else:
                node.run(run.memories)
        finally:
            statistics.counts.computed(node, run.memories, start)
            run.let_go(node)

    def _compute(self) -> None:
        """Run one computation, or one part of a long one while messages are under way."""
        *_, number, run = heapq.heappop(self._computations)
        node = run.schedule.nodes[number]
        if node.has_parts and (self._requests or number in run.parts):
            self._compute_part(run, number, node)
        else:
            try:
                self._execute(run, node)
            finally:
                self._complete(run, number, node)

    def _compute_part(self, run: Run, number: int, node: Node) -> None:
        """Run the next part of a computation, which is ready again if there are more."""
        parts = run.parts.get(number)
        if parts is None:
            run.allocate(node)
            parts = run.parts[number] = node.parts(run.memories)
        start = time.perf_counter()
        more = False
        try:
            more = next(parts, run) is None
        finally:
            statistics.counts.computed(node, run.memories, start, not more)
            if more:
                self._make_ready(run, number)
            else:
                del run.parts[number]
                run.let_go(node)
                self._complete(run, number, node)

    def _complete(self, run: Run, number: int, node: Node) -> None:
        """Let those get ready that waited for a node."""
        run.is_done[number] = 1
        run.n_left -= 1
        if run.held:
            if node.nbytes_ahead and node.taken in run.schedule.named:  # which is held anyway
                run.held[node.taken] -= node.nbytes_ahead
                self._hold(-node.nbytes_ahead)
            for memory in node.uses:
                if not run.n_uses[memory] and memory in run.held:
                    self._hold(-run.held.pop(memory))
        run.n_left_at[node.due] -= 1
        if not run.n_left_at[node.due]:
            run.go_on()
        self._release(run, run.schedule.successors[number])
        for later, waiting in run.later.pop(number, ()):
            self._release(later, waiting)
        if not run.n_left:
            self._runs = [other for other in self._runs if other.n_left]

    def _release(self, run: Run, waiting: Sequence[int]) -> None:
        """Let nodes wait for one node less."""
        n_waits = run.n_waits
        for number in waiting:
            n_waits[number] -= 1
            if not n_waits[number] and not run.is_done[number]:
                self._make_ready(run, number)

    def _make_ready(self, run: Run, number: int) -> None:
        node = run.schedule.nodes[number]
        if node.nbytes_ahead:
            heapq.heappush(self._takers, (run.index, node.position, number, run))
        elif node.is_communication:
            heapq.heappush(self._sends, (run.index, number, run))
        else:
            heapq.heappush(self._computations, (not run.schedule.is_urgent[number], run.index, number, run))

    # Communicating ---------------------------------------------------------------------------------------------------

    def _communicate(self) -> None:
        """Start what may start, and complete what has arrived, until there is nothing of either."""
        self._start(packs=True)
        while self._requests and self._test():
            self._start(packs=True)

    def _communicate_only(self) -> bool:
        """The same while a task computes, by another thread: nothing is packed. Whether any message was complete."""
        found = False
        self._start(packs=False)
        while self._requests and self._test():
            found = True
            self._start(packs=False)
        return found

    def _start(self, packs: bool) -> None:
        """Start every message that may start; with `packs`, also the copies that messages wait for."""
        if self._sends:
            self._start_sends()
        while self._takers:
            *_, number, run = self._takers[0]
            node = run.schedule.nodes[number]
            is_oldest = run is self._runs[0] and node.position <= run.schedule.last_joined[run.oldest]
            if not is_oldest and (self._held_bytes + node.nbytes_ahead > WINDOW_BYTES or (
                    node.is_communication and 0 < self._received_bytes > RECEIVED_AT_ONCE_BYTES - node.nbytes_ahead)):
                return
            if not (packs or node.is_communication):
                return
            heapq.heappop(self._takers)
            run.held[node.taken] = run.held.get(node.taken, 0) + node.nbytes_ahead
            self._hold(node.nbytes_ahead)
            if node.is_communication:
                self._received_bytes += node.nbytes_ahead
                self._start_message(run, number)
                continue
            try:
                self._execute(run, node)
            finally:
                self._complete(run, number, node)
            self._start_sends()

    def _start_sends(self) -> None:
        while self._sends:
            _, number, run = heapq.heappop(self._sends)
            self._start_message(run, number)

    def _hold(self, nbytes: int) -> None:
        """Count bytes that are filled ahead; negative ones when they are free again."""
        self._held_bytes += nbytes
        if statistics.counts.timeline is not None:
            statistics.counts.timeline.held(self._held_bytes)

    def _start_message(self, run: Run, number: int) -> None:
        node = run.schedule.nodes[number]
        assert isinstance(node, Communication)
        if node.allocates:
            run.allocate(node)
        run.n_to_start -= 1
        job = world()
        tag = (run.numbers[node.position] + node.stream) % job.n_tags
        start = time.perf_counter()
        section = MPI.buffer.fromaddress(run.memories[node.memory].address + node.start_at, node.nbytes)
        begin = job.communicator.Irecv if node.is_receive else job.communicator.Isend
        self._requests.append(begin(section, node.peer, tag))
        self._under_way.append((run, number, start))
        statistics.counts.started(node)

    def _test(self) -> bool:
        """Complete the messages that are done; whether there was any."""
        done = MPI.Request.Testsome(self._requests)
        if not done:
            return False
        ended = [self._under_way[k] for k in done]
        gone = set(done)
        self._requests = [r for k, r in enumerate(self._requests) if k not in gone]
        self._under_way = [n for k, n in enumerate(self._under_way) if k not in gone]
        timeline = statistics.counts.timeline
        for run, number, start in ended:
            node = run.schedule.nodes[number]
            self._received_bytes -= node.nbytes_ahead
            if timeline is not None:
                timeline.completed(node, start)
            run.let_go(node)
            self._complete(run, number, node)
        return True

    def _wait(self, seconds: float) -> bool:
        """Wait for a message, but not longer; whether there was one. By testing, so that an interrupt is seen."""
        start = time.perf_counter()
        try:
            while not self._test():
                os.sched_yield()
                waited = time.perf_counter() - start
                if waited > seconds:
                    return False
                if waited > SPIN_SECONDS:
                    time.sleep(5e-5)
            return True
        finally:
            statistics.counts.waited(start)


def _link(earlier: Run, run: Run) -> None:
    """Let the nodes of a run wait for the unfinished ones of an earlier run that access the same sections."""
    memories = earlier.memories
    slots = [(slot, run.slots.get(id(memories[slot]))) for slot in earlier.schedule.last_accesses]
    shared = tuple([(slot, own) for slot, own in slots if own is not None])
    for number, waiting in _conflicts(earlier.schedule, run.schedule, shared):
        if not earlier.is_done[number]:
            earlier.later.setdefault(number, []).append((run, waiting))
            for later in waiting:
                run.n_waits[later] += 1


@functools.lru_cache(maxsize=256)
def _conflicts(earlier: Schedule, later: Schedule, shared: tuple[tuple[int, int], ...]) -> list[
        tuple[int, tuple[int, ...]]]:
    """The nodes of a schedule that others of a later one have to wait for, with these.

    `shared` are the bases that both access, each by its slot in the one and in the other.
    """
    found: dict[int, list[int]] = {}
    for slot, own in shared:
        for number, box, writes in earlier.last_accesses[slot]:
            found.setdefault(number, []).extend(
                node for node, other, also_writes in later.first_accesses.get(own, ())
                if (writes or also_writes) and overlap(box, other))
    return [(number, tuple(waiting)) for number, waiting in found.items() if waiting]
