"""What the runtime did on this process: counts and seconds; and the timeline, where one is wanted."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, fields
from typing import Any, Protocol

from pgaspy.job import timeline
from pgaspy.job.procgrid import World, when_started
from pgaspy.job.timeline import Message, Timeline
from pgaspy.kernels import jit

__all__ = ["Statistics", "counts", "stats", "when_asked"]


@dataclass
class Statistics:
    """What the runtime did on this process since it started, or between two calls of `stats` (subtract them).

    Attributes
    ----------
    n_recorded, n_at_once
        Operations recorded, and those among them that were executed at once, without a schedule.
    n_fused, n_kernels
        Operations executed in kernels, and these kernels: elementwise ones, and the reductions that end them. The
        difference is what fusion saved.
    n_pieces
        Computations executed: kernels on one piece each, copies, packing and unpacking, reductions, tasks.
    n_sends, n_receives
        Messages started. One of more than 1 GiB travels as several.
    nbytes_sent, nbytes_received
        Their bytes.
    n_flushes, n_planned
        Times that recorded operations were executed, and those for which a schedule had to be made.
    n_operations_planned
        Operations in these schedules.
    n_compiled, n_loaded
        Kernels that this process compiled, and those that it found on disk.
    seconds_computing
        Time in computations, without compiling.
    seconds_waiting
        Time in which nothing was left to do but wait for messages.
    seconds_planning
        Time for making schedules.
    seconds_compiling
        Time that the program waited for compiled kernels: only with `PGASPY_LIBM=1`, else it goes on without.
    seconds_progressing
        Time that the progress thread worked for messages while tasks computed; part of `seconds_computing`.
    """

    n_recorded: int = 0
    n_at_once: int = 0
    n_fused: int = 0
    n_kernels: int = 0
    n_pieces: int = 0
    n_sends: int = 0
    n_receives: int = 0
    nbytes_sent: int = 0
    nbytes_received: int = 0
    n_flushes: int = 0
    n_planned: int = 0
    n_operations_planned: int = 0
    n_compiled: int = 0
    n_loaded: int = 0
    seconds_computing: float = 0.0
    seconds_waiting: float = 0.0
    seconds_planning: float = 0.0
    seconds_compiling: float = 0.0
    seconds_progressing: float = 0.0

    def __sub__(self, earlier: Statistics) -> Statistics:
        return Statistics(*(getattr(self, f.name) - getattr(earlier, f.name) for f in fields(Statistics)))

    @property
    def n_messages(self) -> int:
        """Messages sent and received."""
        return self.n_sends + self.n_receives

    @property
    def n_cache_hits(self) -> int:
        """Flushes whose schedule was found again."""
        return self.n_flushes - self.n_planned

    def __str__(self) -> str:
        names = [f.name for f in fields(Statistics)]
        names.insert(names.index("n_compiled"), "n_cache_hits")
        width = max(map(len, names))
        rows = [(name, getattr(self, name)) for name in names]
        return "\n".join(f"{name:{width}}  {value:.6f}" if isinstance(value, float) else f"{name:{width}}  {value}"
                         for name, value in rows)


class Computation(Protocol):
    """A computation, as it is drawn and counted."""

    def name_in(self, memories: Any) -> str:
        """What it is called in a run, whose memories these are."""


class _Counts(Statistics):
    """The running counts, and the timeline, where one is wanted. What lasts is counted when it ends."""

    timeline: Timeline | None = None

    def computed(self, node: Computation, memories: Any, start: float, is_complete: bool = True) -> None:
        """Count a computation, or a part of one, that began at `start` and ends now."""
        stop = time.perf_counter()
        self.n_pieces += is_complete
        self.seconds_computing += stop - start
        if self.timeline is not None:
            self.timeline.add("computing", node.name_in(memories), start, stop)

    def waited(self, start: float) -> None:
        """Count time spent waiting from `start` until now."""
        stop = time.perf_counter()
        self.seconds_waiting += stop - start
        if self.timeline is not None:
            self.timeline.add("waiting", "wait", start, stop)

    def planned(self, start: float, n_operations: int) -> None:
        """Count a schedule of so many operations that took from `start` until now to make."""
        stop = time.perf_counter()
        self.n_planned += 1
        self.n_operations_planned += n_operations
        self.seconds_planning += stop - start
        if self.timeline is not None:
            self.timeline.add("planning", "plan", start, stop)

    def compiled(self, start: float) -> None:
        """Count time spent on getting a compiled kernel from `start` until now, in the course of a computation."""
        stop = time.perf_counter()
        self.seconds_compiling += stop - start
        self.seconds_computing -= stop - start  # to which the computation will add it
        if self.timeline is not None:
            self.timeline.add("compiling", "compile", start, stop)

    def started(self, message: Message) -> None:
        """Count a message."""
        if message.is_receive:
            self.n_receives += 1
            self.nbytes_received += message.nbytes
        else:
            self.n_sends += 1
            self.nbytes_sent += message.nbytes


counts = _Counts()

when_asked: list[Callable[[Statistics], None]] = []
"""What adds to the counts what it counts by itself."""


def _begin(job: World) -> None:
    """Count anew, with the timeline that the environment asks for. Collective."""
    vars(counts).update(vars(_Counts()))
    vars(jit.counts).update(vars(jit.Counts()))
    counts.timeline = timeline.begin(job.communicator)


when_started.append(_begin)


def stats() -> Statistics:
    """What the runtime did on this process until now. Not collective, and executes nothing.

    Examples
    --------
    >>> import pgaspy as pg
    >>> before = pg.stats()
    >>> x = pg.ones(10) + 1
    >>> (pg.stats() - before).n_recorded
    2
    """
    found = Statistics(*(getattr(counts, f.name) for f in fields(Statistics)))
    found.n_compiled, found.n_loaded = jit.counts.n_compiled, jit.counts.n_disk_hits
    for add in when_asked:
        add(found)
    return found
