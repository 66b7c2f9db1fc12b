"""Jobs of several processes that one process plays, without MPI: the queues and engines are real, the network is not.

Each rank is a thread, and one of them runs at a time: who tests messages, and finds none complete, hands over to the
next one. So a program takes the same course whenever it is run.
"""

from __future__ import annotations

import contextlib
import ctypes
import threading
import time
from collections import defaultdict, deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar

from pgaspy.execution import recording
from pgaspy.execution.flushing import MAX_OPERATIONS
from pgaspy.execution.queue import Queue
from pgaspy.job.procgrid import simulated
from pgaspy.supervision.digests import Digests

__all__ = ["Job", "Stuck"]

Result = TypeVar("Result")

MIN_ROUNDS, MIN_SECONDS = 3, 0.02
"""Ranks are stuck that all have found nothing complete for so long, and then so often again."""


class Stuck(Exception):
    """No rank gets any further."""


@dataclass(eq=False)
class Request:
    """A message that is sent or received."""

    address: int
    nbytes: int
    is_complete: bool = False


class Network:
    """The messages of all ranks.

    Attributes
    ----------
    posted
        Per (source, destination, tag), the sends that nobody has received; and the receives that nothing was sent for.
    n_started, n_steps
        How many were started; and how often anything was started, or found complete.
    """

    def __init__(self) -> None:
        self.posted: dict[tuple[int, int, int], tuple[deque[Request], deque[Request]]] = defaultdict(
            lambda: (deque(), deque()))
        self.n_started = self.n_steps = 0

    @property
    def n_left(self) -> int:
        """The messages that have no counterpart."""
        return sum(len(sends) + len(receives) for sends, receives in self.posted.values())

    def post(self, channel: tuple[int, int, int], is_receive: bool, request: Request) -> Request:
        """Start a message, which is complete when its counterpart is started."""
        self.n_started += 1
        self.n_steps += 1
        posted = self.posted[channel]
        posted[is_receive].append(request)
        if all(posted):
            sent, received = posted[0].popleft(), posted[1].popleft()
            assert sent.nbytes == received.nbytes, f"{sent.nbytes} bytes are received as {received.nbytes}: {channel}"
            ctypes.memmove(received.address, sent.address, sent.nbytes)
            sent.is_complete = received.is_complete = True
        return request


class SimulatedTransport:
    """The transport of one rank: see `Transport`."""

    error: type[Exception] = Stuck
    is_threadsafe = False

    def __init__(self, network: Network, rank: int, hand_over: Callable[[], None]) -> None:
        self._network, self._rank, self._hand_over = network, rank, hand_over

    def send(self, address: int, nbytes: int, peer: int, tag: int) -> Request:
        """See `Transport`."""
        return self._network.post((self._rank, peer, tag), False, Request(address, nbytes))

    def receive(self, address: int, nbytes: int, peer: int, tag: int) -> Request:
        """See `Transport`."""
        return self._network.post((peer, self._rank, tag), True, Request(address, nbytes))

    def completed(self, requests: list[Request]) -> Sequence[int]:
        """See `Transport`."""
        found = [k for k, request in enumerate(requests) if request.is_complete]
        if found:
            self._network.n_steps += 1
        else:
            self._hand_over()
        return found


class SimulatedQueue(Queue):
    """The queue of one rank, which is flushed wherever `flushes` says so of the number of operations so far."""

    def __init__(self, transport: SimulatedTransport, flushes: Callable[[int], bool], max_operations: int) -> None:
        super().__init__()
        self.max_operations = max_operations
        self.supervision.digests = Digests()
        self.engine.connect(transport, lambda: None)
        self._flushes = flushes

    def record(self, *operation: object) -> None:
        """See `Queue`."""
        if self._flushes(self.n_recorded):
            self.finish()
        super().record(*operation)  # type: ignore[arg-type]


class Job(Generic[Result]):
    """A program that all ranks of a simulated job run, each to its end.

    Attributes
    ----------
    results
        What it returns on each rank that comes to its end, after all that it has recorded is executed.
    network
        The messages.
    """

    def __init__(self, program: Callable[[], Result], flushes: Sequence[Callable[[int], bool]],
                 max_operations: int = MAX_OPERATIONS) -> None:
        """Each rank executes all where it is told; and some where a value is needed, or so many are recorded.

        Raises
        ------
        Stuck
            If ranks wait for each other for ever.
        BaseException
            What the program raises on any rank.
        """
        self.network, self.results = Network(), dict[int, Result]()
        self._program, self._size = program, len(flushes)
        self._queues = [SimulatedQueue(SimulatedTransport(self.network, rank, self._hand_over), flushed,
                                       max_operations)
                        for rank, flushed in enumerate(flushes)]
        self._may_go = [threading.Semaphore(0) for _ in flushes]
        self._error: BaseException | None = None
        self._progress, self._n_idle, self._since = (-1, -1), 0, 0.0
        threads = [threading.Thread(target=self._play, args=(rank,)) for rank in range(self._size)]
        self._left, self._rank = list(range(self._size)), 0
        before = recording.queue
        with contextlib.ExitStack() as self._playing:
            for thread in threads:
                thread.start()
            self._go_on(0)
            for thread in threads:
                thread.join()
        recording.queue = before
        if self._error is not None:
            raise self._error

    def _play(self, rank: int) -> None:
        """Be a rank."""
        self._may_go[rank].acquire()
        try:
            if self._error is None:
                result = self._program()
                recording.sync()
                self.results[rank] = result
        except BaseException as error:
            self._error = self._error or error
        after = self._next()
        self._left.remove(rank)
        self._n_idle = 0
        if self._left:
            self._go_on(after)

    def _next(self) -> int:
        """The rank that comes next."""
        return self._left[(self._left.index(self._rank) + 1) % len(self._left)]

    def _go_on(self, rank: int) -> None:
        """Let a rank go on, as which this process acts until it hands over."""
        self._playing.close()
        self._playing.enter_context(simulated(self._size, rank))
        self._rank, recording.queue = rank, self._queues[rank]
        self._may_go[rank].release()

    def _found_progress(self) -> tuple[int, int]:
        """What changes with each message, and each computation."""
        return self.network.n_steps, sum(run.n_left for queue in self._queues for run in queue.engine._runs)

    def _hand_over(self) -> None:
        """Let the others go on until it is this rank's turn again."""
        n = len(self._left)
        if self._progress != (progress := self._found_progress()):
            self._progress, self._n_idle = progress, 0
        self._n_idle += 1
        if self._n_idle == n:
            self._since = time.perf_counter()  # all wait from here on
        elif n < self._n_idle and time.perf_counter() - self._since < MIN_SECONDS:
            self._n_idle = n + 1
        if self._n_idle > (1 + MIN_ROUNDS) * n:
            self._error = self._error or Stuck(f"ranks {self._left} of {self._size}")
        rank = self._rank
        after = self._next()
        if after != rank:
            self._go_on(after)
            self._may_go[rank].acquire()
        if self._error is not None:
            raise self._error
