"""How a program ends that is played: as in a process of its own, which it does not have."""

from __future__ import annotations

import atexit
import os
import sys
from collections.abc import Callable
from contextlib import ExitStack
from functools import partial
from typing import Any
from unittest.mock import patch

__all__ = ["Exits"]


class Exits:
    """What stands in for `atexit` and `os._exit` while a program is played.

    What libraries register stays with the process, as they do.
    """

    def __init__(self, is_of_program: Callable[[str], bool], leave: Callable[[], None]) -> None:
        """By the names of modules; `leave` is called in the place of `os._exit`."""
        self._is_of_program, self._leave = is_of_program, leave
        self._registered: list[partial[Any]] = []
        self._register, self._unregister, self._exit = atexit.register, atexit.unregister, os._exit
        self._pid = os.getpid()

    def stand_in(self) -> ExitStack:
        """Stand in for them until the end of this context."""
        stack = ExitStack()
        stack.enter_context(patch.object(atexit, "register", self.register))
        stack.enter_context(patch.object(atexit, "unregister", self.unregister))
        stack.enter_context(patch.object(os, "_exit", self.exit))
        return stack

    def call(self) -> None:
        """Call what the program has registered, the latest first."""
        while self._registered:
            self._registered.pop()()

    def register(self, function: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Callable[..., Any]:
        """See `atexit`."""
        if not self._is_of_program(sys._getframe(1).f_globals.get("__name__", "")):
            return self._register(function, *args, **kwargs)
        self._registered.append(partial(function, *args, **kwargs))
        return function

    def unregister(self, function: Callable[..., Any], /) -> None:
        """See `atexit`."""
        self._registered = [call for call in self._registered if call.func != function]
        self._unregister(function)

    def exit(self, status: int) -> None:
        """See `os`; a child that the program has forked may leave."""
        if os.getpid() != self._pid:
            self._exit(status)
        self._leave()
