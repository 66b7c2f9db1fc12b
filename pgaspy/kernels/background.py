"""Calls that are made beside the program, one after the other, by a thread that is there while there are any."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable

__all__ = ["Background"]


class Background:
    """Makes calls, which handle their own errors. The thread does not keep the process from ending: see `join`."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._calls: deque[Callable[[], None]] = deque()
        self._lock = threading.Lock()
        self._thread: threading.Thread | None = None

    def submit(self, call: Callable[[], None]) -> None:
        """Have a call made."""
        self._calls.append(call)
        with self._lock:
            if self._thread is None:
                self._thread = threading.Thread(target=self._run, name=self._name, daemon=True)
                try:
                    self._thread.start()
                except BaseException as error:  # an interrupt, or no more threads: the next call starts one
                    self._thread = None
                    if isinstance(error, RuntimeError) and not threading.main_thread().is_alive():
                        return  # the interpreter ends, and from Python 3.12 on starts none: nobody waits for the call
                    raise

    def cancel(self) -> None:
        """Make no further calls of those submitted."""
        self._calls.clear()

    def join(self, seconds: float | None = None) -> None:
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
