"""Progress while a task computes: MPI moves messages on only when it is called.

Kernels return between their parts to test for messages. A task does not: it may be inside BLAS for a second. So a
thread tests in its place, every `INTERVAL_SECONDS` or somewhat more, as long as the task lets other threads run:
NumPy's functions and `pgaspy.blas` release Python's lock while they compute, `scipy.linalg.blas` does not.
"""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Callable, Iterator

from pgaspy.host.helper_threads import HelperThread
from pgaspy.job import statistics

__all__ = ["INTERVAL_SECONDS", "meanwhile", "stop"]

INTERVAL_SECONDS = 5e-4

LONGEST_INTERVAL_SECONDS = 4e-3
"""Between tests that find nothing, the interval grows to this: each takes the core from the task."""

RESTS_AFTER_SECONDS = 0.1
"""Without a task."""

STOPPING_SECONDS = 10
"""The longest that the thread is waited for."""


class _Helper:
    """The thread, which is started when it is first needed, and rests when there has been no task for a while.

    It looks whether there is one at its own intervals: to wake it for each would cost more than many tasks take.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()  # held while it communicates
        self._wanted = threading.Event()
        self._advance: Callable[[], bool] | None = None
        self._error: BaseException | None = None
        self._is_stopped = False
        self._thread = HelperThread(self._run)

    def begin(self, advance: Callable[[], bool]) -> None:
        with self._lock:
            self._advance = advance
            self._wanted.set()

    def end(self) -> None:
        with self._lock:
            self._advance = None
            error, self._error = self._error, None
        if error is not None:
            raise error

    def stop(self) -> None:
        """End the thread."""
        self._is_stopped = True
        self._wanted.set()
        self._thread.join(STOPPING_SECONDS)

    def _run(self) -> None:
        interval, last = INTERVAL_SECONDS, 0.0
        while not self._is_stopped:
            self._wanted.wait()
            time.sleep(interval)
            with self._lock:
                start = time.perf_counter()
                if self._advance is None:
                    if start - last > RESTS_AFTER_SECONDS:
                        self._wanted.clear()
                    continue
                last = start
                try:
                    found = self._advance()
                    interval = INTERVAL_SECONDS if found else min(2 * interval, LONGEST_INTERVAL_SECONDS)
                except BaseException as error:  # raised where the task ends
                    self._error, self._advance = error, None
                statistics.counts.seconds_progressing += time.perf_counter() - start


_helper: _Helper | None = None
_is_over = False


@contextlib.contextmanager
def meanwhile(advance: Callable[[], bool]) -> Iterator[None]:
    """Call `advance`, which says whether it found anything, from another thread now and then until the block ends."""
    global _helper
    if _helper is None and not _is_over:
        with contextlib.suppress(RuntimeError, MemoryError):  # no thread is left: messages wait for the end of the task
            _helper = _Helper()
    if _helper is None or _is_over:
        yield
        return
    _helper.begin(advance)
    try:
        yield
    finally:
        _helper.end()


def stop() -> None:
    """End the thread, before the interpreter ends; there is no other one after it."""
    global _is_over
    _is_over = True
    if _helper is not None:
        _helper.stop()
