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

What takes no messages is executed in order, and may be interrupted after any step of the interpreter: how far it is
follows from the number of calls that are complete, so that nothing is executed twice, and nothing is left out.
"""

from __future__ import annotations

import functools
import heapq
import math
import os
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import compress, count
from operator import not_
from types import CodeType
from typing import Any, cast

from mpi4py import MPI

from pgaspy.caches import cached
from pgaspy.execution import progress
from pgaspy.job import statistics
from pgaspy.job.failures import JobError, Mismatch, Poison, TaskError, is_interrupt, line_at, undisturbed
from pgaspy.job.procgrid import World
from pgaspy.kernels import bindings
from pgaspy.planning.boxes import overlap
from pgaspy.scheduling.base import Storage
from pgaspy.scheduling.nodes import (
    STAMP_BYTES,
    Communication,
    Memories,
    Node,
    Receive,
    TaskCall,
    forget_completed,
    n_completed,
    new_buffer,
    new_buffers,
)
from pgaspy.scheduling.recorded import Recorded
from pgaspy.scheduling.schedule import Schedule

__all__ = ["WINDOW_BYTES", "Engine", "Run"]

WINDOW_BYTES = 128 << 20
"""Bytes that may be received, packed or copied before they are needed."""

RECEIVED_AT_ONCE_BYTES = 4 << 20
"""Longer messages are received one after the other, for those under way at once share the network evenly, and the one
that is needed first would arrive with the last."""

IDLE_SECONDS = 1e-3
"""After waiting so long, what was to be executed together with later operations is executed now."""

LOOK_SECONDS = 1e-3
"""How often a process that waits looks for what others have to say."""

SPIN_SECONDS = 0.02
"""After waiting so long, the process lets others have its core between two tests."""


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
    parts
        What is left of the computations that have been begun.
    numbers, codes, instructions
        Of the operations: see `Call`.
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
    spoiled: dict[int, Poison] = {}  # noqa: RUF012  (replaced, not changed, where there are any)

    stamps: Mapping[int, int] = {}
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

    def let_go(self, node: Node) -> None:
        """Drop the memories that nothing uses after a node."""
        uses = self.n_uses
        for number in node.uses:
            left = uses[number] = uses[number] - 1
            if not left:
                self.memories[number] = None

    def spoil(self, node: Node, poison: Poison) -> None:
        """Poison what a node that is not executed would have written."""
        self.spoiled = dict(self.spoiled)
        for number, _ in node.writes:
            if number < self.schedule.n_bases:
                self.memories[number].poison = poison
            else:
                self.spoiled[number] = poison

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


_left: list[Any] = []
"""Requests and runs of jobs that have failed or ended, whose messages may still arrive."""


class Engine:
    """Executes runs.

    Attributes
    ----------
    computing
        The node that is being computed, and the memories of its run; None between two of them.
    """

    def __init__(self) -> None:
        """Of a process that others do not wait for, until it is connected."""
        self.computing: tuple[Node, Memories] | None = None
        self.overlaps = self.is_alone = True
        self.look: Callable[[], None] | None = None  # for what others have to say, while waiting
        self._n_tags = 1
        self.failures: list[Poison] = []  # that the program may not have seen
        self.has_failed = False
        self._straight: Run | None = None  # what is executed in order
        self._runs: list[Run] = []
        self._n_runs = 0
        # heaps of ready nodes: messages, and what takes memory ahead; and other computations
        self._messages: list[tuple[int, int, Run]] = []
        self._takers: list[tuple[int, int, int, Run]] = []
        self._computations: list[tuple[bool, int, int, Run]] = []
        self._requests: list[MPI.Request] = []
        self._under_way: list[tuple[Run, int, float]] = []  # with the time when it was started
        self._held_bytes = 0
        self._received_bytes = 0  # of messages under way

    def connect(self, job: World, look: Callable[[], None]) -> None:
        """Send and receive among the processes of a job; `look` for what they have to say is called while waiting."""
        self.is_alone, self.look = False, look
        self._send, self._receive, self._n_tags = job.communicator.Isend, job.communicator.Irecv, job.n_tags

    @property
    def is_idle(self) -> bool:
        """Whether everything is done."""
        return not self._runs and self._straight is None

    @property
    def straight(self) -> Run | None:
        """The run that is being executed in order."""
        return self._straight

    def uses(self, storage: Storage) -> bool:
        """Whether anything is left to do that reads or writes a storage."""
        return self._straight is not None or any(
            run.n_uses[slot] for run in self._runs for slot in run.slots_of(storage))

    def under_way(self) -> list[tuple[Communication, int, float]]:
        """The messages, with the numbers of their operations, and when they began; also for another thread."""
        found = [(run.nodes[k], run, start) for run, k, start in list(self._under_way)]
        return [(node, run.numbers[node.position], start) for node, run, start in found]  # type: ignore[misc]

    def take(self, run: Run) -> None:
        """Add a run to what is under way; or have one without messages, which `resume` executes in order."""
        if run.schedule.n_messages or self._runs:
            self._add(run)
            return
        forget_completed()
        run.n_completed_before = n_completed()
        self._straight = run  # from here on it is the engine's, whatever interrupts it

    def resume(self) -> None:
        """Execute what is executed in order, from where it was interrupted."""
        run = self._straight
        if run is not None:
            if run.is_begun:
                self._find_place(run)
            run.is_begun = True
            self._go_on(run)

    def _go_on(self, run: Run) -> None:
        """Execute the nodes in order, from the first that is not done."""
        memories = run.memories
        for node in run.nodes[run.n_done:]:
            if self.has_failed and (poison := run.poison_of(node)) is not None:
                self._skip(run, node, poison)
                continue
            try:
                self._execute(run, node)
            except Exception as error:
                self._skip(run, node, self._poison_for(error, run, node))
                continue
            run.n_done += 1  # before memory goes: what is interrupted in between is not executed again
            for number in node.last_uses:
                memories[number] = None
        run.end()
        self._straight = None

    def _find_place(self, run: Run) -> None:
        """Find out whether the node that was interrupted is complete."""
        if run.n_done == len(run.nodes):
            return
        node = run.nodes[run.n_done]
        counted = n_completed() - run.n_completed_before - sum(done.n_counted for done in run.nodes[:run.n_done])
        if node.n_counted and counted >= node.n_counted:
            run.n_done += 1
        elif isinstance(node, TaskCall) and node.is_begun:
            error = node.interrupted(run.memories)
            self._skip(run, node, self.poison(error, run.line_of(node)))

    def _skip(self, run: Run, node: Node, poison: Poison) -> None:
        """Leave out a node, and poison what it would have written."""
        run.spoil(node, poison)
        run.n_completed_before = n_completed() - sum(done.n_counted for done in run.nodes[:run.n_done + 1])
        if isinstance(node, TaskCall):
            node.is_begun = False
        run.n_done += 1

    def _poison_for(self, error: Exception, run: Run, node: Node) -> Poison:
        """What the results of a node are poisoned by that has raised, where that is this process's own affair.

        What a task raises is, and all that is no interrupt where nobody waits for this process.
        """
        if not (self.is_alone or isinstance(error, TaskError)) or is_interrupt(error):
            raise error
        return self.poison(error, run.line_of(node))

    def poison(self, error: BaseException, line: str) -> Poison:
        """That of an error which the program gets when it waits next."""
        found = Poison(error, line)
        self.failures.append(found)
        self.has_failed = True
        return found

    def abandon(self, error: JobError) -> None:
        """Give up all that is under way, as the job has failed: what is not complete is poisoned."""
        self.has_failed = True
        for run in [*self._runs, *([] if self._straight is None else [self._straight])]:
            for number, node in enumerate(run.nodes):
                if not (number < run.n_done if run is self._straight else run.is_done[number]):
                    run.spoil(node, Poison(error, ""))
        self.leave()
        self._runs, self._straight = [], None
        self._messages, self._takers, self._computations = [], [], []
        self._requests, self._under_way = [], []

    def leave(self) -> None:
        """Have the memory of messages under way stay as long as the process: they may still arrive there."""
        _left.extend([*self._requests, *self._runs])

    def finish(self, storage: Storage | None = None, when_idle: Callable[[], None] | None = None) -> None:
        """Execute everything; or return when nothing is left that uses a storage.

        Whatever is ready makes progress meanwhile, as another process may need it to get on. `when_idle` is called
        once, if there is nothing to do for a while: it may add a run.
        """
        wanted = [(run.n_uses, slot) for run in self._runs for slot in run.slots_of(storage)]
        while self._runs:
            self._communicate()
            while wanted and not wanted[-1][0][wanted[-1][1]]:
                wanted.pop()
            if storage is not None and not wanted:
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
        run.prepare(self._n_runs)
        self._n_runs += 1
        if not run.n_left:
            return
        if self._runs:
            bases = run.memories[:run.schedule.n_bases]
            slots = dict(zip(bases, range(len(bases)), strict=True))
            for earlier in self._runs:
                _link(earlier, run, slots)
        self._runs.append(run)
        for number in [*compress(count(), map(not_, run.n_waits))]:
            self._make_ready(run, number)

    # Computing -------------------------------------------------------------------------------------------------------

    def _execute(self, run: Run, node: Node) -> None:
        """Compute a node to its end."""
        if node.allocates:
            run.allocate(node)
        start = time.perf_counter()
        self.computing = node, run.memories
        try:
            if node.is_task and self.is_alone:
                undisturbed(functools.partial(node.compute, run.memories))
            elif node.is_task and self._runs:
                with progress.meanwhile(self._move_messages):
                    node.compute(run.memories)
            else:
                node.compute(run.memories)
        finally:
            self.computing = None
        statistics.counts.computed(node, run.memories, start)

    def _compute(self) -> None:
        """Run one computation, or one part of a long one while messages are under way."""
        _, _, number, run = heapq.heappop(self._computations)
        node = run.nodes[number]
        if node.has_parts and (self._requests or number in run.parts) and not self.has_failed:
            self._compute_part(run, number, node)
        else:
            self._execute_or_spoil(run, node)
            self._complete(run, number, node)

    def _execute_or_spoil(self, run: Run, node: Node) -> None:
        """Compute a node; or poison what it writes, if that fails, or if what it reads is poisoned."""
        poison = run.poison_of(node) if self.has_failed else None
        if poison is None:
            try:
                self._execute(run, node)
                return
            except Exception as error:
                poison = self._poison_for(error, run, node)
        run.spoil(node, poison)

    def _compute_part(self, run: Run, number: int, node: Node) -> None:
        """Run the next part of a computation, which is ready again if there are more."""
        parts = run.parts.get(number)
        if parts is None:
            run.allocate(node)
            parts = run.parts[number] = node.parts(run.memories)
        start = time.perf_counter()
        self.computing = node, run.memories
        try:
            more = next(parts, run) is None
        finally:
            self.computing = None
        statistics.counts.computed(node, run.memories, start, not more)
        if more:
            self._make_ready(run, number)
        else:
            del run.parts[number]
            self._complete(run, number, node)

    def _complete(self, run: Run, number: int, node: Node) -> None:
        """Drop what nothing uses after a node, and let those get ready that waited for it."""
        run.is_done[number] = 1
        run.let_go(node)
        if run.held:
            self._let_go_of_held(run, node)
        self._release(run, node.successors)
        if number in run.later:
            for later, waiting in run.later.pop(number):
                self._release(later, waiting)
        run.n_left -= 1
        if not run.n_left:
            self._runs.remove(run)
            run.end()

    def _release(self, run: Run, waiting: Sequence[int]) -> None:
        """Let nodes wait for one node less."""
        n_waits = run.n_waits
        for number in waiting:
            left = n_waits[number] = n_waits[number] - 1
            if not left:
                self._make_ready(run, number)

    def _make_ready(self, run: Run, number: int) -> None:
        node = run.nodes[number]
        if node.nbytes_ahead:
            heapq.heappush(self._takers, (run.index, node.position, number, run))
        elif node.is_communication:
            heapq.heappush(self._messages, (run.index, number, run))
        else:
            heapq.heappush(self._computations, (not node.is_urgent, run.index, number, run))

    # Communicating ---------------------------------------------------------------------------------------------------

    def _communicate(self, packs: bool = True) -> bool:
        """Start what may start, and complete what has arrived, until there is nothing of either.

        With `packs`, this includes the copies that messages wait for. Returns whether any message was complete.
        """
        found = False
        while True:
            if self._messages:
                self._start_messages()
            if self._takers:
                self._take(packs)
            if not (self._requests and self._test()):
                return found
            found = True

    def _move_messages(self) -> bool:
        """The same while a task computes, by another thread: nothing is packed."""
        return self._communicate(packs=False)

    def _take(self, packs: bool) -> None:
        """Start what takes memory ahead, as far as there is room for it: messages and, with `packs`, copies."""
        while self._takers:
            _, _, number, run = self._takers[0]
            node = run.nodes[number]
            if not (packs or node.is_communication):
                return
            is_too_much = self._held_bytes + node.nbytes_ahead > WINDOW_BYTES or (
                node.is_communication and 0 < self._received_bytes > RECEIVED_AT_ONCE_BYTES - node.nbytes_ahead)
            if is_too_much and not (
                    run is self._runs[0] and node.position <= run.schedule.last_joined[run.oldest]):
                return
            heapq.heappop(self._takers)
            run.held[node.taken] = run.held.get(node.taken, 0) + node.nbytes_ahead
            self._hold(node.nbytes_ahead)
            if node.is_communication:
                self._received_bytes += node.nbytes_ahead
                self._start_message(run, number)
                continue
            self._execute_or_spoil(run, node)
            self._complete(run, number, node)
            self._start_messages()

    def _start_messages(self) -> None:
        while self._messages:
            _, number, run = heapq.heappop(self._messages)
            self._start_message(run, number)

    def _let_go_of_held(self, run: Run, node: Node) -> None:
        """Count bytes as free again that were filled ahead: what is dropped after a node, and what is named anyway."""
        if node.nbytes_ahead and node.taken in run.schedule.named:
            run.held[node.taken] -= node.nbytes_ahead
            self._hold(-node.nbytes_ahead)
        for memory in node.uses:
            if not run.n_uses[memory] and memory in run.held:
                self._hold(-run.held.pop(memory))

    def _hold(self, nbytes: int) -> None:
        """Count bytes that are filled ahead; negative ones when they are free again."""
        self._held_bytes += nbytes
        if statistics.counts.timeline is not None:
            statistics.counts.timeline.held(self._held_bytes)

    def _start_message(self, run: Run, number: int) -> None:
        node: Communication = run.nodes[number]  # type: ignore[assignment]
        if node.allocates:
            run.allocate(node)
        if self.has_failed and (poison := run.poison_of(node)) is not None:
            raise poison.show()  # others would take it for what was recorded
        run.n_to_start -= 1
        begin = self._receive if node.is_receive else self._send
        start = time.perf_counter()
        address, nbytes = run.memories[node.memory].address + node.start_at, node.nbytes
        if node.is_stamped:
            if not node.is_receive:
                bindings.store_int64(address + nbytes, run.stamps[node.position])
            nbytes += STAMP_BYTES
        section = MPI.buffer.fromaddress(address, nbytes)
        self._requests.append(begin(section, node.peer, (run.numbers[node.position] + node.tag) % self._n_tags))
        self._under_way.append((run, number, start))
        statistics.counts.started(node)

    def _test(self) -> bool:
        """Complete the messages that are done; whether there was any."""
        done = MPI.Request.Testsome(self._requests)
        if not done:
            return False
        done.sort(reverse=True)
        ended = []
        for k in done:
            del self._requests[k]
            ended.append(self._under_way.pop(k))
        timeline = statistics.counts.timeline
        for run, number, start in ended:
            node = run.nodes[number]
            self._received_bytes -= node.nbytes_ahead
            if isinstance(node, Receive) and node.is_stamped:
                self._check_stamp(run, node)
            if timeline is not None:
                timeline.completed(cast(Communication, node), start)
            self._complete(run, number, node)
        return True

    def _check_stamp(self, run: Run, node: Communication) -> None:
        """See that a message is of the operation that it is taken for."""
        stamp = bindings.load_int64(run.memories[node.memory].address + node.start_at + node.nbytes)
        if stamp != run.stamps[node.position]:
            raise Mismatch(f"a message from rank {node.peer} belongs to another operation")

    def _wait(self, seconds: float) -> bool:
        """Wait for a message, but not longer; whether there was one. By testing, so that an interrupt is seen."""
        start = time.perf_counter()
        next_look = 0.0
        try:
            while not self._test():
                os.sched_yield()
                waited = time.perf_counter() - start
                if waited > seconds:
                    return False
                if waited > next_look and self.look is not None:
                    next_look = waited + LOOK_SECONDS
                    self.look()
                if waited > SPIN_SECONDS:
                    time.sleep(5e-5)
            return True
        finally:
            statistics.counts.waited(start)


def _link(earlier: Run, run: Run, slots: Mapping[Any, int]) -> None:
    """Let the nodes of a run wait for the unfinished ones of an earlier run that access the same sections.

    `slots` are the numbers of the later run's bases.
    """
    memories = earlier.memories
    shared = tuple([
        (slot, slots[base]) for slot in earlier.schedule.last_accesses if (base := memories[slot]) in slots])
    conflicts = _conflicts(earlier.schedule, run.schedule, shared)
    number = earlier.is_done.find(0)
    while number >= 0:
        waiting = conflicts.get(number)
        if waiting is not None:
            earlier.later.setdefault(number, []).append((run, waiting))
            for later in waiting:
                run.n_waits[later] += 1
        number = earlier.is_done.find(0, number + 1)


@cached
def _conflicts(earlier: Schedule, later: Schedule, shared: tuple[tuple[int, int], ...]) -> dict[int, tuple[int, ...]]:
    """The nodes of a schedule that others of a later one have to wait for, with these.

    `shared` are the bases that both access, each by its slot in the one and in the other.
    """
    found: dict[int, list[int]] = {}
    for slot, own in shared:
        for number, box, writes in earlier.last_accesses[slot]:
            found.setdefault(number, []).extend(
                node for node, other, also_writes in later.first_accesses.get(own, ())
                if (writes or also_writes) and overlap(box, other))
    return {number: tuple(waiting) for number, waiting in found.items() if waiting}
