"""The engine: executes schedules, and hides the time that messages take behind computing.

It works as the flush of Kristensen & Vinter (2012) does, in three steps that it repeats:

1. It starts every message that is ready.
2. It tests the messages under way, without waiting.
3. If no message is ready to start, it runs one computation, or one part of a long one; if there is none, it waits.

Three invariants hold between two steps:

- Every node that waits for nothing is ready in a heap, under way, or complete.
- A computation is run only while no message may start: none is ready, or the window of bytes is full.
- The engine waits only while no computation is ready.

Messages start in the order in which their operations were recorded. A window limits the bytes that are received, packed
or copied before they are needed. The oldest unfinished operation may exceed the window, and so may all operations up to
the last one that shares a kernel with it. The window therefore never stops the job: among the operations whose messages
are not done on all processes, each process may go on with the oldest.

Several runs can be under way. A run begins while earlier ones are unfinished, and its nodes wait for those nodes of
earlier runs that access the same sections.

A run without messages is executed in order. It may be interrupted after any step of the interpreter. The number of
calls that are complete tells where it goes on, so that nothing is executed twice, and nothing is left out.
"""

from __future__ import annotations

import functools
import heapq
import math
import time
from collections.abc import Callable
from typing import Any
from weakref import WeakSet

from pgaspy.execution import progress
from pgaspy.execution.direct import Direct
from pgaspy.execution.patience import Patience
from pgaspy.execution.ready import ReadyNodes
from pgaspy.execution.runs import Run, conflicts
from pgaspy.execution.talks import Talk
from pgaspy.execution.transport import Transport
from pgaspy.job import abandoned, statistics
from pgaspy.job.failures import JobError, Mismatch, Poison, TaskError, is_interrupt, undisturbed
from pgaspy.kernels import bindings
from pgaspy.planning.boxes import Box
from pgaspy.scheduling.base import Storage
from pgaspy.scheduling.conversations import Conversation, Refusal
from pgaspy.scheduling.nodes import (
    STAMP_BYTES,
    Communication,
    Memories,
    Node,
    TaskCall,
    forget_completed,
    n_completed,
)
from pgaspy.scheduling.remembered import Remembered

__all__ = ["WINDOW_BYTES", "Engine"]

WINDOW_BYTES = 128 << 20
"""Bytes that may be received, packed or copied before they are needed."""

RECEIVED_AT_ONCE_BYTES = 4 << 20
"""Longer messages are received one after the other, for those under way at once share the network evenly, and the one
that is needed first would arrive with the last."""

IDLE_SECONDS = 1e-3
"""After waiting so long, what was to be executed together with later operations is executed now."""

LOOK_SECONDS = 1e-3
"""How often a process that waits looks for what others have to say."""

MAX_REQUESTS = 16
"""So many messages may be on their way to others without a look whether they have arrived."""


class Engine(ReadyNodes[Run]):
    """Executes runs.

    Attributes
    ----------
    computing
        The node that is being computed, and the memories of its run; None between two of them.
    straight
        The run that is being executed in order.
    is_alone
        Whether no other process waits for this one.
    transport
        What sends and receives, where there are other processes.
    look
        A hook: it is called about every millisecond between two tests of messages, while the engine waits for one. What
        it raises ends the wait.
    overlaps
        Whether it computes while messages are under way, where no process has to wait for the result.
    failures, has_failed
        Errors that the program may not have seen; and whether there are some, or arrays that are poisoned.
    held_bytes
        What is received, packed or copied at present before it is needed.
    """

    __slots__ = ("__dict__", "__weakref__", "_runs", "has_failed", "is_alone", "overlaps", "straight")

    def __init__(self) -> None:
        """Of a process that others do not wait for, until it is connected."""
        self.computing: tuple[Node, Memories] | None = None
        self.overlaps = self.is_alone = True
        self.transport: Transport | None = None
        self.look: Callable[[], None] | None = None
        self.failures: list[Poison] = []
        self.has_failed = False
        self._poisons: WeakSet[Poison] = WeakSet()
        self.straight: Run | None = None
        self.held_bytes = 0
        self._remembered = Remembered()
        self._runs: list[Run] = []
        self._n_runs = 0
        self._patience = Patience()
        self._requests: list[Any] = []
        self._under_way: list[tuple[Run | Direct, int, Communication, float]] = []  # with the time when it was started
        self._sent_bytes = 0  # of messages under way, of operations that are executed at once
        self._received_bytes = 0  # of messages under way

    def connect(self, transport: Transport, look: Callable[[], None]) -> None:
        """Be the engine of one of several processes, which a transport connects."""
        self.is_alone, self.transport, self.look = False, transport, look
        self._send, self._receive, self._completed = transport.send, transport.receive, transport.completed

    @property
    def is_idle(self) -> bool:
        """Whether everything is done, but that messages may be on their way to others."""
        return not self._runs and self.straight is None

    @property
    def is_silent(self) -> bool:
        """Whether everything is done, and no message is under way."""
        return not (self._requests or self._runs or self.straight)

    def uses(self, storage: Storage) -> bool:
        """Whether anything is left to do that reads or writes a storage."""
        return self.straight is not None or any(
            run.n_uses[slot] for run in self._runs for slot in run.slots_of(storage))

    def under_way(self) -> list[tuple[Communication, int, float]]:
        """The messages, with the numbers of their operations, and when they began; also for another thread."""
        return [(message, run.numbers[run.nodes[number].position], start)
                for run, number, message, start in list(self._under_way)]

    def take(self, run: Run) -> None:
        """Add a run to what is under way; or have one without messages, which `resume` executes in order."""
        if run.schedule.n_messages or self._runs:
            self._add(run)
            return
        forget_completed()
        run.n_completed_before = n_completed()
        self.straight = run  # from here on it is the engine's, whatever interrupts it

    def resume(self) -> None:
        """Execute what is executed in order, from where it was interrupted."""
        run = self.straight
        if run is not None:
            if run.is_begun:
                self._pass_interrupted(run)
            run.is_begun = True
            self._go_on(run)

    def _go_on(self, run: Run) -> None:
        """Execute the nodes in order, from the first that is not done."""
        memories = run.memories
        for node in run.nodes[run.n_done:]:
            if self.has_failed and (poison := run.poison_of(node)) is not None:
                run.spoil(node, poison)
                self._skip(run, node)
                continue
            try:
                self._execute(run, node)
            except Exception as error:
                self._fail(error, run, node)
                self._skip(run, node)
                continue
            run.n_done += 1  # before memory goes: what is interrupted in between is not executed again
            for number in node.last_uses:
                memories[number] = None
        run.end()
        self.straight = None

    def _pass_interrupted(self, run: Run) -> None:
        """Go past the node that was interrupted, if it is complete; poison what a task was to write that has begun."""
        if run.n_done == len(run.nodes):
            return
        node = run.nodes[run.n_done]
        counted = n_completed() - run.n_completed_before - sum(done.n_counted for done in run.nodes[:run.n_done])
        if node.n_counted and counted >= node.n_counted:
            run.n_done += 1
        elif isinstance(node, TaskCall) and node.is_begun:
            error, is_seen = node.interrupted(run.memories)
            run.spoil(node, poison := self.poison(error, run.line_of(node)))
            poison.is_seen = is_seen
            self._skip(run, node)

    def _skip(self, run: Run, node: Node) -> None:
        """Leave out a node."""
        run.n_completed_before = n_completed() - sum(done.n_counted for done in run.nodes[:run.n_done + 1])
        if isinstance(node, TaskCall):
            node.is_begun = False
        run.n_done += 1

    def _fail(self, error: Exception, run: Run, node: Node) -> None:
        """Poison the results of a node that has raised, where that is this process's own affair, or that of all alike.

        What a task raises is its own affair, and all that is no interrupt where nobody waits for this process.
        """
        if isinstance(error, Refusal):
            poison = self.poison(error.error, run.line_of(node), is_shared=True)
            if not error.poisons:
                return
        elif not (self.is_alone or isinstance(error, TaskError)) or is_interrupt(error):
            raise error
        else:
            poison = self.poison(error, run.line_of(node))
        run.spoil(node, poison)

    def poison(self, error: BaseException, line: str, is_shared: bool = False) -> Poison:
        """That of an error which the program gets when it waits next."""
        found = Poison(error, line, is_shared)
        self.failures.append(found)
        self._poisons.add(found)
        self.has_failed = True
        return found

    def recover(self) -> None:
        """Be as before anything failed, if nobody has what is poisoned any more, and the program has got all errors."""
        if not self._poisons:
            self.has_failed = False

    def abandon(self, error: JobError) -> None:
        """Give up all that is under way, as the job has failed: what is not complete is poisoned."""
        self.has_failed = True
        for run in [*self._runs, *([] if self.straight is None else [self.straight])]:
            for number, node in enumerate(run.nodes):
                if not (number < run.n_done if run is self.straight else run.is_done[number]):
                    run.spoil(node, Poison(error, ""))
        self.leave()
        self._runs, self.straight = [], None
        self._messages, self._takers, self._computations = [], [], []
        self._requests, self._under_way, self._sent_bytes = [], [], 0

    def leave(self) -> None:
        """Have the memory of messages under way stay as long as the process: they may still arrive there."""
        abandoned.keep([*self._requests, *self._under_way, *self._runs])

    def finish(self, storage: Storage | None = None, when_idle: Callable[[], None] | None = None) -> None:
        """Execute everything; or return when nothing is left that uses a storage.

        Whatever is ready makes progress meanwhile, as another process may need it to get on. `when_idle` is called
        once, if there is nothing to do for a while: it may add a run.
        """
        wanted = [(run.n_uses, slot) for run in self._runs for slot in run.slots_of(storage)]
        while self._runs or (self._requests and storage is None):
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

    def awaiting(self, storage: Storage) -> tuple[Box, ...]:
        """The boxes of an array that nodes access which wait for messages."""
        return tuple([box for run in self._runs for slot in run.slots_of(storage)
                      for box in run.schedule.awaiting.get(slot, ())])

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
                self._follow(run, earlier, conflicts(earlier, run, slots))
        self._runs.append(run)
        self._make_all_ready(run)

    # Computing -------------------------------------------------------------------------------------------------------

    def _execute(self, run: Run, node: Node) -> None:
        """Compute a node to its end."""
        if node.allocates:
            run.allocate(node)
        start = time.perf_counter()
        self.computing = node, run.memories
        try:
            if not node.is_task:
                node.compute(run.memories)
            elif self.is_alone:
                undisturbed(functools.partial(node.compute, run.memories))
            elif self._runs and self.transport is not None and self.transport.is_threadsafe:
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
        if node.talks:
            self._talk(run, number, node)  # type: ignore[arg-type]
        elif number in run.parts or (node.has_parts and self._requests and not self.has_failed):
            self._compute_part(run, number, node)
        else:
            self._execute_or_spoil(run, node)
            self._complete(run, number, node)

    def _execute_or_spoil(self, run: Run, node: Node) -> None:
        """Compute a node; or poison what it writes, if that fails, or if what it reads is poisoned."""
        if self.has_failed and (poison := run.poison_of(node)) is not None:
            run.spoil(node, poison)
            return
        try:
            self._execute(run, node)
        except Exception as error:
            self._fail(error, run, node)

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

    def _talk(self, run: Run, number: int, node: Conversation) -> None:
        """Go on with a conversation; it is ready again when its messages are complete, if there is more to come."""
        talk = run.talks.get(number)
        if talk is None:
            if self.has_failed and (poison := run.poison_of(node)) is not None:
                raise poison.show()  # others wait for what it says
            run.allocate(node)
            talk = run.talks[number] = Talk(self._begin_message, run, number, node, self._remembered)
        start = time.perf_counter()
        self.computing = node, run.memories
        try:
            more = talk.goes_on()
        except Refusal as refusal:
            more = False
            self._fail(refusal, run, node)
        finally:
            self.computing = None
        statistics.counts.computed(node, run.memories, start, not more)
        if not more:
            del run.talks[number]
            run.n_to_start -= 1
            self._complete(run, number, node)

    def _complete(self, run: Run, number: int, node: Node) -> None:
        """Drop what nothing uses after a node, and let those get ready that waited for it."""
        if nbytes := self._end(run, number, node):
            self._hold(-nbytes)
        if not run.n_left:
            self._runs.remove(run)
            run.end()

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
        takers = self._takers
        while takers:
            _, _, number, run = takers[0]
            node = run.nodes[number]
            nbytes, is_message = node.nbytes_ahead, node.is_communication
            if not (packs or is_message):
                return
            is_too_much = self.held_bytes + nbytes > WINDOW_BYTES or (
                is_message and 0 < self._received_bytes > RECEIVED_AT_ONCE_BYTES - nbytes)
            if is_too_much and not (
                    run is self._runs[0] and node.position <= run.schedule.last_joined[run.oldest]):
                return
            heapq.heappop(takers)
            if not node.fills_named:
                run.held[node.taken] = run.held.get(node.taken, 0) + nbytes  # until that is dropped
            self._hold(nbytes)
            if is_message:
                self._received_bytes += nbytes
                self._start_message(run, number)
                continue
            self._execute_or_spoil(run, node)
            if node.fills_named:
                self._hold(-nbytes)
            self._complete(run, number, node)
            if self._messages:
                self._start_messages()

    def _start_messages(self) -> None:
        while self._messages:
            _, number, run = heapq.heappop(self._messages)
            self._start_message(run, number)

    def _hold(self, nbytes: int) -> None:
        """Count bytes that are filled ahead; negative ones when they are free again."""
        self.held_bytes += nbytes
        if statistics.counts.timeline is not None:
            statistics.counts.timeline.held(self.held_bytes)

    def _start_message(self, run: Run, number: int) -> None:
        node: Communication = run.nodes[number]  # type: ignore[assignment]
        if node.allocates:
            run.allocate(node)
        if self.has_failed and (poison := run.poison_of(node)) is not None:
            raise poison.show()  # others would take it for what was recorded
        run.n_to_start -= 1
        self._begin_stamped(run, number, node)

    def _begin_stamped(self, run: Run | Direct, number: int, node: Communication) -> None:
        """Start a message with the program's digest, if it brings that."""
        address, nbytes = run.memories[node.memory].address + node.start_at, node.nbytes
        if node.is_stamped:
            if not node.is_receive:
                bindings.store_int64(address + nbytes, run.stamps[node.position])
            nbytes += STAMP_BYTES
        self._begin_message(run, number, node, address, nbytes)

    def _begin_message(self, run: Run | Direct, number: int, message: Communication, address: int, nbytes: int) -> None:
        """Start a message, which is a node's of a run, or a part of a conversation that is one."""
        start, begin = time.perf_counter(), self._receive if message.is_receive else self._send
        self._requests.append(begin(address, nbytes, message.peer, run.numbers[message.position] + message.tag))
        self._under_way.append((run, number, message, start))
        statistics.counts.started(message)

    def _test(self) -> bool:
        """Complete the messages that are done; whether there was any."""
        done = self._completed(self._requests)
        if not done:
            return False
        requests, under_way = self._requests, self._under_way
        ended = []
        for k in sorted(done, reverse=True):
            del requests[k]
            ended.append(under_way.pop(k))
        timeline = statistics.counts.timeline
        for run, number, message, start in ended:
            if message.nbytes_ahead:
                self._received_bytes -= message.nbytes_ahead
                if message.fills_named:
                    self._hold(-message.nbytes_ahead)
            if message.is_receive and message.is_stamped:
                self._check_stamp(run, message)
            if timeline is not None:
                timeline.completed(message, start)
            if message.is_said:
                self._listen(run, number, message)
            else:
                self._complete(run, number, message)  # type: ignore[arg-type]
        return True

    def _listen(self, run: Run | Direct, number: int, message: Communication) -> None:
        """Go on with a conversation when all is complete that it waits for; or with what is executed at once."""
        if isinstance(run, Direct):
            run.arrived(message)
            if not message.is_receive:
                self._sent_bytes -= message.nbytes
            return
        talk = run.talks[number]
        talk.n_under_way -= 1
        if not talk.n_under_way:
            self._make_ready(run, number)

    def _check_stamp(self, run: Run | Direct, node: Communication) -> None:
        """See that a message is of the operation that it is taken for."""
        stamp = bindings.load_int64(run.memories[node.memory].address + node.start_at + node.nbytes)
        if stamp != run.stamps[node.position]:
            raise Mismatch(f"a message from rank {node.peer} belongs to another operation")

    # At once ---------------------------------------------------------------------------------------------------------

    def make_room(self) -> None:
        """Wait until little is on its way to others of what operations send that are executed at once."""
        if len(self._requests) > MAX_REQUESTS or self._sent_bytes > WINDOW_BYTES:
            self._communicate()
            while self._sent_bytes > WINDOW_BYTES:
                self._step()
                self._communicate()

    def start(self, direct: Direct, number: int) -> None:
        """See `Carrier`."""
        node: Communication = direct.nodes[number]  # type: ignore[assignment]
        node.is_said = True
        if not node.is_receive:
            self._sent_bytes += node.nbytes
        self._begin_stamped(direct, number, node)

    def wait_for(self, direct: Direct, memory: int) -> None:
        """See `Carrier`. Everything else makes progress meanwhile."""
        self._communicate()
        while memory in direct.awaited:
            self._step()
            self._communicate()

    # Waiting ---------------------------------------------------------------------------------------------------------

    def _wait(self, seconds: float) -> bool:
        """Wait for a message, but not longer; whether there was one. By testing, so that an interrupt is seen."""
        start = time.perf_counter()
        waited = next_look = 0.0
        try:
            while not self._test():
                self._patience.pause(waited)
                waited = time.perf_counter() - start
                if waited > seconds:
                    return False
                if waited > next_look and self.look is not None:
                    next_look = waited + LOOK_SECONDS
                    self.look()
            return True
        finally:
            statistics.counts.waited(start)
