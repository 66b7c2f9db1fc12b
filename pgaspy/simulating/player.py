"""The player: what processes do and when, as events, by the engine's rules of what is executed when. Pure.

A process starts every message that is ready, takes note of those that are complete, computes only when no message is
ready to start, and waits only when there is nothing to compute; see `execution.engine`, whose names these are. The
process whose clock is behind all others' goes on, until its clock advances. So whatever a process may know of others at
a time has happened.
"""

from __future__ import annotations

import heapq
import math
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import count
from typing import Any, NamedTuple

from pgaspy.execution.ready import ReadyNodes
from pgaspy.simulating.graphs import Begin, Mark, Pass, Step, Wait, Work
from pgaspy.simulating.network import Arrival, Network, Wires

__all__ = ["Busy", "Course", "Rules", "Stalled", "Totals", "play"]

Conflicts = Callable[[Begin, Begin], dict[int, Sequence[int]]]
"""The nodes of a run that nodes of a later one have to wait for, with these."""


@dataclass(frozen=True)
class Rules:
    """The bounds of an engine.

    Attributes
    ----------
    window
        Bytes that may be received, packed or copied before they are needed.
    received_at_once
        Longer messages are received one after the other.
    overlaps
        Whether it computes while messages are under way, where no process has to wait for the result.
    """

    window: float = math.inf
    received_at_once: float = math.inf
    overlaps: bool = True


class Stalled(Exception):
    """No process gets any further.

    Attributes
    ----------
    awaited
        The messages that nobody sends, by (source, destination).
    """

    def __init__(self, awaited: Sequence[tuple[int, int]]) -> None:
        super().__init__(f"messages are awaited that nobody sends, (source, destination): {awaited}")
        self.awaited = awaited


@dataclass
class Totals:
    """What a process did until some time: seconds, messages that it sent, and their bytes."""

    seconds: float = 0.0
    computing: float = 0.0
    handling: float = 0.0
    program: float = 0.0
    waiting: float = 0.0
    n_messages: int = 0
    nbytes: int = 0

    def __sub__(self, earlier: Totals) -> Totals:
        return Totals(*(own - before for own, before in zip(vars(self).values(), vars(earlier).values(), strict=True)))


class Busy(NamedTuple):
    """From the end of one wait to the beginning of the next: the seconds of each thing that was done.

    `arrival` is the message that ended the wait before.
    """

    start: float
    arrival: Arrival | None
    seconds: Counter[str]


@dataclass
class Course:
    """What a process did.

    Attributes
    ----------
    marks
        The totals at the end of each phase.
    n_idled
        How many of the waits that may be cut short were, and were not.
    """

    totals: Totals = field(default_factory=Totals)
    busy: list[Busy] = field(default_factory=list)
    marks: list[Totals] = field(default_factory=list)
    n_idled: Counter[bool] = field(default_factory=Counter)


def play(steps: Mapping[int, Sequence[Step]], network: Network, rules: Rules | None = None,
         source_of: Callable[[int, int, int], int] = lambda source, destination, tag: source,
         conflicts: Conflicts = lambda earlier, later: {}, size: int | None = None) -> dict[int, Course]:
    """What processes do whose steps are given, by their ranks.

    Parameters
    ----------
    source_of
        Of a message's source, destination and tag, the process among those that are played whose like message is taken
        for it.
    size
        The processes of the job.

    Raises
    ------
    Stalled
        If processes wait for each other for ever.
    """
    n = len(steps) if size is None else size
    wires, rules = Wires(), rules or Rules()
    played = {rank: _Process(rank, own, network, rules, wires, source_of, conflicts, n) for rank, own in steps.items()}
    order = count()
    heap = [(0.0, next(order), process, 0) for process in played.values()]

    def schedule(process: _Process) -> None:
        process.version += 1
        if process.wakes < math.inf:
            heapq.heappush(heap, (process.wakes, next(order), process, process.version))

    for process in played.values():
        process.reschedule = schedule
    while heap:
        now, _, process, version = heapq.heappop(heap)
        if version == process.version:
            process.clock = max(process.clock, now)
            process.wakes = math.inf  # until it says when
            process.wakes = next(process.course, math.inf)
            schedule(process)
    awaited = [message for process in played.values() for message in process.awaited if not process.is_done]
    if any(not process.is_done for process in played.values()):
        raise Stalled(awaited)
    return {rank: process.log for rank, process in played.items()}


class _Running:
    """What is left of a run."""

    def __init__(self, begin: Begin, index: int) -> None:
        self.begin, self.graph, self.index = begin, begin.graph, index
        self.nodes, self.n_left = begin.graph.nodes, len(begin.graph.nodes)
        self.n_waits, self.n_uses = [*begin.graph.n_waits], [*begin.graph.n_uses]
        self.memories = [None] * len(self.n_uses)
        self.is_done = bytearray(self.n_left)
        self.n_to_start = sum(node.is_communication for node in self.nodes)
        self.later: dict[int, list[tuple[_Running, Sequence[int]]]] = {}
        self.held: dict[int, int] = {}
        self.parts: dict[int, int] = {}
        self._n_done_by_age = 0

    @property
    def oldest(self) -> int:
        """The oldest operation that is not done."""
        by_age = self.graph.by_age
        while self.is_done[by_age[self._n_done_by_age]]:
            self._n_done_by_age += 1
        return self.nodes[by_age[self._n_done_by_age]].due

    def seconds(self, number: int) -> float:
        """Of a node."""
        return self.begin.seconds.get(number, self.nodes[number].seconds)


class _Process(ReadyNodes[_Running]):
    """One process that is played."""

    reschedule: Callable[[_Process], None]

    def __init__(self, rank: int, steps: Sequence[Step], network: Network, rules: Rules, wires: Wires,
                 source_of: Callable[[int, int, int], int], conflicts: Conflicts, size: int) -> None:
        self.rank, self.size = rank, size
        self.clock, self.wakes, self.version, self.is_done = 0.0, math.inf, 0, False
        self.log = Course()
        self.course = self._course(steps)
        self._network, self._rules, self._wires, self._source_of = network, rules, wires, source_of
        self._conflicts = conflicts
        self._runs: list[_Running] = []
        self._n_runs = 0
        self._arrived: list[tuple[float, int, _Running, int, Arrival | None]] = []
        self._n_arrived = count()
        self._n_under_way = self._held_bytes = self._received_bytes = 0
        self._out_free = self._in_free = -math.inf
        self._n_received: Counter[tuple[int, int]] = Counter()
        self._open: dict[tuple[int, int], tuple[int, int]] = {}
        self._is_waiting = False
        self._handling = "handling"  # or waiting, of what has ended a wait: the engine counts so, too
        self._begin_busy(None)

    @property
    def awaited(self) -> list[tuple[int, int]]:
        """The messages that it has not got, by (source, destination)."""
        return [*self._open.values()]

    # The program -----------------------------------------------------------------------------------------------------

    def _course(self, steps: Sequence[Step]) -> Iterator[float]:
        """What it does; yields the time at which it goes on, or until which it waits for a message."""
        for step in steps:
            if isinstance(step, Begin):
                self._begin(step)
            elif isinstance(step, Pass):
                self._spend("program", step.name, step.seconds)
                yield self.clock
            elif isinstance(step, Mark):
                self.log.marks.append(self._totals())
            else:
                yield from self._wait(step)
        self.log.totals = self._totals()
        self.is_done = True

    def _totals(self) -> Totals:
        return Totals(**{**vars(self.log.totals), "seconds": self.clock})

    def _wait(self, step: Wait) -> Iterator[float]:
        """Go on until what is waited for is done."""
        is_done = self._end_of(step)
        idles = step.idle_seconds is not None
        while True:
            self._communicate()
            if is_done():
                self.log.n_idled[False] += idles
                return
            if self._n_under_way and not (self._computations and self._may_compute()):
                limit = self.clock + step.idle_seconds if step.idle_seconds is not None else math.inf
                yield from self._idle(limit)
                if self.clock >= limit and not (self._arrived and self._arrived[0][0] <= self.clock):
                    self.log.n_idled[True] += 1
                    return
            elif self._computations:
                self._compute()
                yield self.clock
            else:
                raise Stalled(self.awaited)

    def _end_of(self, step: Wait) -> Callable[[], bool]:
        """Whether what is waited for is done."""
        array = step.array
        if step.but_last:
            return lambda: len(self._runs) <= 1
        if array is None:
            return lambda: not (self._runs or self._n_under_way)
        wanted = [(running, running.begin.slots[array]) for running in self._runs if array in running.begin.slots]
        return lambda: not any(running.n_uses[slot] for running, slot in wanted)

    def _idle(self, limit: float) -> Iterator[float]:
        """Wait for a message, but not longer."""
        start = self.clock
        self._is_waiting = True
        yield min(limit, self._arrived[0][0] if self._arrived else math.inf)
        self._is_waiting = False
        self.log.totals.waiting += self.clock - start
        has_ended = bool(self._arrived) and self._arrived[0][0] <= self.clock
        if has_ended:
            self._handling = "waiting"
        if self.clock > start:
            self._begin_busy(self._arrived[0][4] if has_ended else None)

    def _begin_busy(self, arrival: Arrival | None) -> None:
        self._doing: Counter[str] = Counter()
        self.log.busy.append(Busy(self.clock, arrival, self._doing))

    def _spend(self, kind: str, name: str, seconds: float) -> None:
        """Let time go by."""
        self.clock += seconds
        self._doing[name] += seconds  # type: ignore[assignment]
        totals: dict[str, Any] = vars(self.log.totals)
        totals[kind] += seconds

    # Computing -------------------------------------------------------------------------------------------------------

    def _may_compute(self) -> bool:
        return self._rules.overlaps or any(running.n_to_start for running in self._runs)

    def _begin(self, begin: Begin) -> None:
        """Take a run, whose nodes wait for those of earlier ones that they conflict with."""
        running = _Running(begin, self._n_runs)
        self._n_runs += 1
        if not running.n_left:
            return
        for earlier in self._runs:
            self._follow(running, earlier, self._conflicts(earlier.begin, begin))
        self._runs.append(running)
        self._make_all_ready(running)

    def _compute(self) -> None:
        """Run one computation, or one part of a long one while messages are under way."""
        _, _, number, running = heapq.heappop(self._computations)
        node = running.nodes[number]
        seconds = running.seconds(number)
        n_parts = max(node.n_parts, 1)
        if n_parts > 1 and (self._n_under_way or number in running.parts):
            left = running.parts.get(number, n_parts) - 1
            self._spend("computing", node.name, seconds / n_parts)
            if left:
                running.parts[number] = left
                self._make_ready(running, number)
                return
        else:
            self._spend("computing", node.name, seconds)
        self._complete(running, number)

    def _complete(self, running: _Running, number: int) -> None:
        """Let those get ready that wait for a node, and count what it held as free again."""
        node = running.nodes[number]
        if node.taken in running.graph.named:
            self._held_bytes -= node.nbytes_ahead
        self._held_bytes -= self._end(running, number, node)
        if not running.n_left:
            self._runs.remove(running)

    # Communicating ---------------------------------------------------------------------------------------------------

    def _communicate(self) -> None:
        """Start what may start, and complete what has arrived, until there is nothing of either."""
        while True:
            while self._messages:
                _, number, running = heapq.heappop(self._messages)
                self._start(running, number)
            self._take()
            if not (self._arrived and self._arrived[0][0] <= self.clock):
                return
            self._test()

    def _take(self) -> None:
        """Start what takes memory ahead, as far as there is room for it."""
        rules = self._rules
        while self._takers:
            _, _, number, running = self._takers[0]
            node = running.nodes[number]
            is_too_much = self._held_bytes + node.nbytes_ahead > rules.window or (
                node.is_communication and 0 < self._received_bytes > rules.received_at_once - node.nbytes_ahead)
            if is_too_much and not (running is self._runs[0]
                                    and node.position <= running.graph.last_joined[running.oldest]):
                return
            heapq.heappop(self._takers)
            if node.taken not in running.graph.named:
                running.held[node.taken] = running.held.get(node.taken, 0) + node.nbytes_ahead
            self._held_bytes += node.nbytes_ahead
            if node.is_communication:
                self._received_bytes += node.nbytes_ahead
                self._start(running, number)
                continue
            self._spend("computing", node.name, running.seconds(number))
            self._complete(running, number)
            while self._messages:
                _, ready, of = heapq.heappop(self._messages)
                self._start(of, ready)

    def _start(self, running: _Running, number: int) -> None:
        """Start a message."""
        node, network = running.nodes[number], self._network
        running.n_to_start -= 1
        self._n_under_way += 1
        tag = running.begin.numbers[node.position] + node.tag
        if node.is_receive:
            self._receive(running, number, node, tag)
            return
        self._spend("handling", "messages", network.busy(node.nbytes))
        self.log.totals.n_messages += 1
        self.log.totals.nbytes += node.nbytes
        begin = max(self.clock, self._out_free)
        free = network.passed(self._out_free, self.clock, node.nbytes)
        self._out_free, last = max(free, begin + network.gap), max(free, self.clock)
        heapq.heappush(self._arrived, (last, next(self._n_arrived), running, number, None))
        channel = self.rank, (node.peer - self.rank) % self.size, tag
        self._wires.send(channel, Arrival(begin + network.latency, self.rank, self.clock))

    def _receive(self, running: _Running, number: int, node: Work, tag: int) -> None:
        """Take a message when it is sent."""
        place = self._n_received[node.peer, tag]
        self._n_received[node.peer, tag] += 1
        source = self._source_of(node.peer, self.rank, tag)
        self._open[running.index, number] = node.peer, self.rank

        def take(arrival: Arrival) -> None:
            del self._open[running.index, number]
            before = self._in_free if arrival.first >= self.clock else -math.inf
            free = self._network.passed(before, arrival.first, node.nbytes)
            self._in_free, last = max(free, self._in_free), max(free, arrival.first)
            heapq.heappush(self._arrived, (last, next(self._n_arrived), running, number, arrival))
            if self._is_waiting and last < self.wakes:
                self.wakes = last
                self.reschedule(self)

        self._wires.receive((source, (self.rank - node.peer) % self.size, tag), place, take)

    def _test(self) -> None:
        """Complete the messages that are done."""
        while self._arrived and self._arrived[0][0] <= self.clock:
            _, _, running, number, _ = heapq.heappop(self._arrived)
            node = running.nodes[number]
            self._n_under_way -= 1
            if node.is_receive:
                if node.nbytes_ahead:
                    self._received_bytes -= node.nbytes_ahead
                self._spend(self._handling, "messages", self._network.busy(node.nbytes))
            self._complete(running, number)
        self._handling = "handling"

