"""Threads that help the program.

Who starts a `threading.Thread` waits until it runs: for ever, if memory is too short for it to begin. Nobody waits for
these.
"""

from __future__ import annotations

import _thread
import math
import threading
import time
import weakref
from collections.abc import Callable
from typing import Any

__all__ = ["HelperThread"]

TICK_SECONDS = 0.1
"""How often a thread that is waited for is looked after: one that could not begin does not say that it has ended."""


class _Life:
    """What a thread alone has, so that it is gone when that is."""

    __slots__ = ("__weakref__",)


class HelperThread:
    """A thread that makes a call. It does not keep the process from ending."""

    def __init__(self, function: Callable[..., Any], *arguments: Any) -> None:
        """Start it.

        Raises
        ------
        RuntimeError, MemoryError
            If the system has none left, or no memory; and when the interpreter ends, from Python 3.12 on.
        """
        life = _Life()
        self._life = weakref.ref(life)
        self._has_ended = threading.Event()
        _thread.start_new_thread(_make, (function, arguments, self._has_ended, life))

    @property
    def is_alive(self) -> bool:
        """Whether it makes its call, or is about to."""
        return self._life() is not None and not self._has_ended.is_set()

    def join(self, seconds: float = math.inf) -> None:
        """Wait until it has ended, so long at most."""
        stop = time.monotonic() + seconds
        while self.is_alive and (left := stop - time.monotonic()) > 0:
            self._has_ended.wait(min(left, TICK_SECONDS))


def _make(function: Callable[..., Any], arguments: tuple[Any, ...], has_ended: threading.Event, life: _Life) -> None:
    """Make the call of a thread."""
    try:
        function(*arguments)
    finally:
        has_ended.set()
