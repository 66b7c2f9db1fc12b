"""What the runtime did on this process: counts, seconds, and a timeline."""

from __future__ import annotations

import time
from dataclasses import dataclass, fields
from typing import Any

from pgaspy import jit

__all__ = ["Statistics", "counts", "stats"]


@dataclass
class Statistics:
    """What the runtime did on this process since it started, or between two calls of `stats` (subtract them).

    Attributes
    ----------
    n_recorded, n_fused, n_kernels
        Operations recorded, those that ran in kernels together with others or alone, and these kernels.
    n_pieces
        Computations: kernels on pieces, copies, reductions, tasks.
    n_messages, nbytes_sent, nbytes_received
        Messages sent and received, and their bytes.
    n_flushes, n_planned
        Times that recorded operations were executed, and schedules that had to be made for them.
    n_compiled, n_loaded
        Kernels compiled, and found on disk.
    seconds_computing, seconds_waiting, seconds_planning, seconds_compiling
        Time spent on each; waiting is for messages, with nothing left to compute.
    seconds_progressing
        Time that the progress thread took while tasks computed.
    """

    n_recorded: int = 0
    n_fused: int = 0
    n_kernels: int = 0
    n_pieces: int = 0
    n_messages: int = 0
    nbytes_sent: int = 0
    nbytes_received: int = 0
    n_flushes: int = 0
    n_planned: int = 0
    n_compiled: int = 0
    n_loaded: int = 0
    seconds_computing: float = 0.0
    seconds_waiting: float = 0.0
    seconds_planning: float = 0.0
    seconds_compiling: float = 0.0
    seconds_progressing: float = 0.0

    def __sub__(self, earlier: Statistics) -> Statistics:
        return Statistics(*(getattr(self, f.name) - getattr(earlier, f.name) for f in fields(self)))

    @property
    def n_cache_hits(self) -> int:
        """Flushes whose schedule was found again."""
        return self.n_flushes - self.n_planned

    def __str__(self) -> str:
        width = max(len(f.name) for f in fields(self))
        rows = [(f.name, getattr(self, f.name)) for f in fields(self)]
        return "\n".join(f"{name:{width}}  {value:.6f}" if isinstance(value, float) else f"{name:{width}}  {value}"
                         for name, value in rows)


class _Counts(Statistics):
    """The running counts, and the timeline, where one is wanted."""

    timeline: Any = None

    def computed(self, name: str, start: float) -> None:
        """Count a computation that began at `start` and ends now."""
        stop = time.perf_counter()
        self.n_pieces += 1
        self.seconds_computing += stop - start
        if self.timeline is not None:
            self.timeline.add("computing", name, start, stop)

    def waited(self, start: float) -> None:
        """Count time spent waiting from `start` until now."""
        stop = time.perf_counter()
        self.seconds_waiting += stop - start
        if self.timeline is not None:
            self.timeline.add("waiting", "wait", start, stop)

    def planned(self, start: float) -> None:
        """Count a schedule that took from `start` until now to make."""
        stop = time.perf_counter()
        self.n_planned += 1
        self.seconds_planning += stop - start
        if self.timeline is not None:
            self.timeline.add("planning", "plan", start, stop)

    def compiled(self, start: float) -> None:
        """Count time spent on compiling or loading a kernel from `start` until now."""
        stop = time.perf_counter()
        self.seconds_compiling += stop - start
        if self.timeline is not None:
            self.timeline.add("compiling", "compile", start, stop)

    def started(self, message: Any) -> None:
        """Count a message."""
        self.n_messages += 1
        if message.name == "send":
            self.nbytes_sent += message.nbytes
        else:
            self.nbytes_received += message.nbytes
        if self.timeline is not None:
            self.timeline.mark(f"{message.name} {message.nbytes} B, rank {message.peer}")


counts = _Counts()


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
    return found
