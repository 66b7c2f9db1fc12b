"""Floating-point errors: passed over, as kernels do; or told as NumPy does, where `PGASPY_FPE` asks for that.

Then there are no kernels, but of copies: each process calls NumPy's functions on its pieces, one statement after the
other. What NumPy finds is told at the line of the statement, on the processes that have found it.
"""

from __future__ import annotations

from contextlib import AbstractContextManager
from types import TracebackType
from typing import Any

import numpy as np

from pgaspy.host import environment
from pgaspy.host.call_sites import warn
from pgaspy.kernels.bindings import ARE_ERRORS_TOLD

__all__ = ["errors"]

_MODES = {"divide by zero": "divide", "overflow": "over", "underflow": "under", "invalid value": "invalid"}


def errors(function: str) -> AbstractContextManager[None]:
    """While NumPy computes a function: what becomes of floating-point errors."""
    return _Told(function) if ARE_ERRORS_TOLD else np.errstate(all="ignore")


class _Told(AbstractContextManager[None]):
    """As `np.errstate` has it where the program is; with `PGASPY_FPE=raise`, a warning is an error.

    Raises
    ------
    FloatingPointError
        On the process that has found it.
    """

    def __init__(self, function: str) -> None:
        self._function = function
        self._found: list[str] = []
        self._modes: dict[str, Any] = {**np.geterr()}
        called: dict[str, Any] = {kind: mode if mode == "ignore" else "call" for kind, mode in self._modes.items()}
        self._state = np.errstate(call=lambda kind, _: self._found.append(kind), **called)

    def __enter__(self) -> None:
        self._state.__enter__()

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None,
                 traceback: TracebackType | None) -> None:
        self._state.__exit__(kind, error, traceback)
        for what in dict.fromkeys(self._found if error is None else ()):
            message = f"{what} encountered in {self._function}"
            if self._modes[_MODES[what]] == "raise" or environment.value("PGASPY_FPE") == "raise":
                raise FloatingPointError(message)
            warn(message, RuntimeWarning)
