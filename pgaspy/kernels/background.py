"""Calls that are made beside the program, one after the other, by a thread that is there while there are any."""

from __future__ import annotations

import contextlib
import math
import threading
from collections import deque
from collections.abc import Callable

from pgaspy.host.helper_threads import HelperThread

__all__ = ["Background"]


class Background:
    """Makes calls, which handle their own errors. The thread does not keep the process from ending: see `join`."""

    def __init__(self) -> None:
        self._calls: deque[Callable[[], None]] = deque()
        self._lock = threading.Lock()
        self._thread: HelperThread | None = None

    def submit(self, call: Callable[[], None]) -> None:
        """Have a call made; where no thread can be started, when one is for a later call."""
        self._calls.append(call)
        with self._lock:
            if self._thread is None or not self._thread.is_alive:
                with contextlib.suppress(RuntimeError, MemoryError):
                    self._thread = HelperThread(self._run)

    def cancel(self) -> None:
        """Make no further calls of those submitted."""
        self._calls.clear()

    def join(self, seconds: float = math.inf) -> None:
        """Wait until all calls are made, so long at most."""
        thread = self._thread
        if thread is not None:
            thread.join(seconds)

    def _run(self) -> None:
        while True:
            with self._lock:
                if not self._calls:
                    self._thread = None
                    return
                call = self._calls.popleft()
            call()
