"""The watchdog: what each process is doing when nothing goes on any more. Environment:

`PGASPY_TIMEOUT=seconds`
    when some process has recorded, computed, sent and received nothing for so long, all processes say where they are,
    on their stderr: the operation, for how long, and the lines of the program. The job goes on.

SIGUSR2 lets a process say the same, unless the program handles that signal; most launchers pass it on to all processes.

A thread watches, so that it does not matter what the main thread is in, as long as that lets others run. For one that
does not (a C function that keeps Python's lock), Python's own `faulthandler` shows the lines. Where MPI may be called
by several threads, the watchdogs tell one another; elsewhere each reports when its own time is over.
"""

from __future__ import annotations

import faulthandler
import os
import select
import signal
import socket
import sys
import threading
import time
from collections.abc import Callable, Sequence
from types import FrameType
from typing import TYPE_CHECKING, Protocol

import numpy as np

from pgaspy.host.call_sites import caller, frames_of_program, line_of
from pgaspy.host.helper_threads import HelperThread
from pgaspy.job.endings import is_interactive
from pgaspy.job.statistics import stats
from pgaspy.planning.trees import flood_targets
from pgaspy.scheduling.nodes import Communication, Memories, Node
from pgaspy.supervision.meetings import meet

if TYPE_CHECKING:
    from mpi4py import MPI

__all__ = ["Activity", "Watchdog", "begin", "is_wanted"]

TICK_SECONDS = 1.0
"""The time between two looks at what the process has done; less if the time-out is short."""

MAX_LINES = 6
"""Lines of the program, and messages, that a report has at most."""


class Activity(Protocol):
    """What executes this process's operations, as another thread may ask it at any time."""

    computing: tuple[Node, Memories] | None

    def under_way(self) -> Sequence[tuple[Communication, int, float]]:
        """The messages: each with the number of its operation, and when it was started."""


class Watchdog:
    """The thread of one process."""

    def __init__(self, comm: MPI.Intracomm, timeout: float, activity: Activity,
                 operation_of: Callable[[int], str]) -> None:
        """Collective. A timeout of 0 is none; `operation_of` says what the operation of a number is."""
        from mpi4py import MPI

        self._timeout, self._activity, self._operation_of = timeout, activity, operation_of
        self._header = f"rank {comm.rank} of {comm.size} ({socket.gethostname()}, process {os.getpid()})"
        self._comm = comm.Dup() if timeout and MPI.Query_thread() == MPI.THREAD_MULTIPLE else None
        self._meetings = comm.Dup() if timeout else None
        self._tick = min(TICK_SECONDS, timeout / 4) if timeout else TICK_SECONDS
        self._main = threading.main_thread().ident
        self._wake, self._signals = os.pipe()
        for end in self._wake, self._signals:
            os.set_blocking(end, False)
        self._n_reports = 0  # in which all processes took part
        self._alarms: list[MPI.Request] = []
        self._done, self._since = (_done(), 0), time.monotonic()
        self._has_reported = self._is_stopped = False
        self._thread = HelperThread(self._run)

    def hook_signal(self) -> None:
        """Let SIGUSR2 wake the thread, also while the main thread is in a C function."""
        if threading.current_thread() is not threading.main_thread() or (
                signal.getsignal(signal.SIGUSR2) is not signal.SIG_DFL):
            return
        previous = signal.set_wakeup_fd(self._signals, warn_on_full_buffer=False)
        if previous == -1:
            signal.signal(signal.SIGUSR2, lambda *_: None)
        else:  # somebody else's
            signal.set_wakeup_fd(previous)
            signal.signal(signal.SIGUSR2, lambda *_: os.write(self._signals, bytes([signal.SIGUSR2])) and None)

    def meet(self) -> None:
        """Wait for the others where this process can still report. Collective."""
        if self._meetings is not None:
            meet(self._meetings)

    def stop(self) -> None:
        """End the thread, as MPI cannot be called any more when the process ends."""
        self._is_stopped = True
        os.write(self._signals, b"\0")
        self._thread.join(10)

    def _run(self) -> None:
        waiting = select.poll()  # as the program may have more files open than `select` takes
        waiting.register(self._wake, select.POLLIN)
        while True:
            if self._timeout:  # fires if this thread does not come here again
                faulthandler.dump_traceback_later(self._timeout + 2 * self._tick, file=sys.__stderr__ or 2)
            is_asked = bool(waiting.poll(1e3 * self._tick)) and signal.SIGUSR2 in os.read(self._wake, 4096)
            if self._is_stopped:
                break
            self._look()
            if is_asked or self._is_overdue():
                self._alarm(self._n_reports + 1)
            self._listen()
        if self._timeout:
            faulthandler.cancel_dump_traceback_later()

    def _look(self) -> None:
        """Note whether the process has done anything since the last look."""
        done = _done(), len(self._activity.under_way())
        if done != self._done:
            self._done, self._since, self._has_reported = done, time.monotonic(), False

    def _is_overdue(self) -> bool:
        return 0 < self._timeout < time.monotonic() - self._since and not self._has_reported

    def _listen(self) -> None:
        """Report if another process says so."""
        while self._comm is not None and self._comm.Iprobe():
            number = np.empty(1, np.int64)
            self._comm.Recv(number)
            if number[0] > self._n_reports:
                self._alarm(int(number[0]))

    def _alarm(self, number: int) -> None:
        """Report, and let the others: each hands it on."""
        self._n_reports, self._has_reported = number, True
        if self._comm is not None:
            for peer in flood_targets(self._comm.rank, self._comm.size):
                self._alarms.append(self._comm.Isend(np.array([number], np.int64), peer))
        if sys.stderr is not None:
            sys.stderr.write(self.report())
            sys.stderr.flush()

    def report(self) -> str:
        """What the main thread is doing, in words."""
        frame = sys._current_frames().get(self._main or 0)
        seconds = time.monotonic() - self._since
        computing, messages = self._activity.computing, self._activity.under_way()
        details = [self._words(*message) for message in messages[:MAX_LINES]]
        if len(messages) > MAX_LINES:
            details.append(f"and {len(messages) - MAX_LINES} more messages")
        lines = [f"{self._header}: for {seconds:.0f} s {_state(frame, computing, bool(messages))}", *details,
                 *(f"at {line_of(found)}" for found in frames_of_program(frame)[:MAX_LINES])]
        return "\n  ".join(lines) + "\n"

    def _words(self, node: Communication, number: int, start: float) -> str:
        """A message that is under way."""
        direction, operation = "from" if node.is_receive else "to", self._operation_of(number)
        return (f"{node.name} {node.nbytes} bytes {direction} rank {node.peer}, for "
                f"{time.perf_counter() - start:.0f} s{operation and f', of {operation}'}")


def _done() -> tuple[int, ...]:
    """What changes with everything that this process does."""
    found = stats()
    return found.n_recorded, found.n_flushes, found.n_pieces, found.n_sends, found.n_receives


def _state(frame: FrameType | None, computing: tuple[Node, Memories] | None, waits: bool) -> str:
    """What a thread is in: the program, a task, or a function of pgaspy, which may wait for messages."""
    if frame is None or not frames_of_program(frame):
        return "at the end of the program"
    node, memories = computing or (None, [])
    if node is not None and node.is_task:
        return f"in the task {node.name_in(memories)}"
    if frames_of_program(frame)[:1] == [frame]:
        return "in the program"
    called = caller(frame).called.strip("_")
    if node is not None:
        return f"in {called}, computing {node.name_in(memories)}"
    return f"in {called}{', waiting for messages' if waits else ''}"


def is_wanted(size: int) -> bool:
    """Whether a job without time-out is watched, for SIGUSR2: not where nobody else waits, and not in a notebook."""
    return size > 1 and not is_interactive()


def begin(comm: MPI.Intracomm, timeout: float, activity: Activity, operation_of: Callable[[int], str]) -> Watchdog:
    """Watch this process. Collective."""
    found = Watchdog(comm, timeout, activity, operation_of)
    found.hook_signal()
    return found
