"""Floating-point errors: passed over, as kernels do; or told as NumPy does, where a program asks for that.

It asks by `np.errstate` or `np.seterr`, with NumPy's defaults or with more, or by `PGASPY_FPE` with its defaults. What
is recorded then is executed by itself, before the call returns, and NumPy's functions are called on its pieces: instead
of kernels for elements, and besides them for reductions and scans, whose results stay the same to the bit. What they
find is noted, and told when the operation is complete.
"""

from __future__ import annotations

import contextvars
import sys
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import Any

import numpy as np

from pgaspy.host import environment
from pgaspy.host.call_sites import warn

__all__ = ["Found", "called_under", "errors", "is_asked", "is_telling", "noted", "raises", "restore", "set_state",
           "state", "tell", "to_be_raised", "variable"]

Found = dict[tuple[str, str], int]
"""What was found, as (error, function), and the processor's flags then."""

_MODES = {"divide by zero": "divide", "overflow": "over", "underflow": "under", "invalid value": "invalid"}
"""NumPy's words for errors, in the order in which it tells them, and the names of their modes."""


def _no_state() -> None:
    """In place of NumPy's state, where it cannot be looked at."""


state: Callable[[], object] = _no_state
"""What NumPy keeps of `np.errstate`: one object from one change to the next."""

variable: contextvars.ContextVar[Any] | None = None
"""Where it keeps it."""

_set: Callable[[Any], object] = id
_default_state: object = None
"""That of a program that has changed nothing."""

try:
    from numpy._core.umath import _extobj_contextvar
except ImportError:  # then nobody but the environment asks
    pass
else:
    variable = _extobj_contextvar
    state, _set = variable.get, variable.set
    _default_state = contextvars.Context().run(state)


def _modes_of_numpy() -> dict[str, str]:
    found: Any = np.geterr()
    return {**found}


_DEFAULTS = contextvars.Context().run(_modes_of_numpy)
_OF_ENVIRONMENT = environment.value("PGASPY_FPE")
_noted: tuple[Found, str] | None = None


def set_state(found: object) -> None:
    """Have NumPy's state be one that was found.

    The context is held meanwhile: as Python 3.11 makes the next one of it, it may collect garbage, and a finaliser that
    sets the state as well would free the one under way.
    """
    held = contextvars.copy_context()
    _set(found)
    del held


def restore(before: object) -> None:
    """Set the state that was found before something failed: an interrupt that comes as NumPy's `errstate` ends, leaves
    the one that it has set.
    """
    if state() is not before:
        set_state(before)


def called_under(found: object, function: Callable[..., Any], *arguments: Any) -> Any:
    """Call a function of the program under the state that it was given to the library under, which others may wait
    for under another one.
    """
    before = state()
    set_state(found)
    try:
        return function(*arguments)
    finally:
        restore(before)


def is_asked() -> bool:
    """Whether errors are to be told now. A state that ignores more than NumPy's default does, and no less, asks for
    nothing.
    """
    modes = _modes_of_numpy()
    if _OF_ENVIRONMENT != "ignore":
        return set(modes.values()) != {"ignore"}
    if state() is _default_state:
        return False
    return modes == _DEFAULTS or any(mode not in ("ignore", _DEFAULTS[kind]) for kind, mode in modes.items())


def is_telling() -> bool:
    """Whether an operation is being planned, or executed, whose errors are noted."""
    return _noted is not None


@contextmanager
def noted(function: str = "") -> Iterator[Found]:
    """Note what is found meanwhile: in this function, if one is named, whatever computes it."""
    global _noted
    before, found = _noted, Found()
    _noted = found, function
    try:
        yield found
    finally:
        _noted = before


def errors(function: str) -> AbstractContextManager[None]:
    """While NumPy computes a function: its floating-point errors are noted, or passed over."""
    if _noted is None:
        return np.errstate(all="ignore")
    found, named = _noted

    def note(error: str, flags: int) -> None:
        found.setdefault((error, named or function), flags)

    modes: dict[str, Any] = {kind: mode if mode == "ignore" else "call" for kind, mode in _modes_of_numpy().items()}
    return np.errstate(call=note, **modes)


def raises() -> bool:
    """Whether some errors are to be raised."""
    return "raise" in _modes().values()


def _modes() -> dict[str, str]:
    modes = _modes_of_numpy()
    if _OF_ENVIRONMENT == "raise":
        modes = {kind: "raise" if mode == "warn" else mode for kind, mode in modes.items()}
    return modes


def to_be_raised(found: Found) -> str:
    """The words for what is to be raised of what was found; none, if nothing is."""
    modes = _modes()
    return next((_words(error, function) for error, function in _in_order(found)
                 if modes[_MODES[error]] == "raise"), "")


def tell(found: Found) -> None:
    """Tell what was found on this process, as NumPy does, but for what is to be raised.

    Raises
    ------
    NameError
        If a function is to be called, and there is none.
    """
    modes = _modes()
    call: Any = np.geterrcall()
    for error, function in _in_order(found):
        mode = modes[_MODES[error]]
        message = _words(error, function)
        if mode == "warn":
            warn(message, RuntimeWarning)
        elif mode == "print":
            sys.stderr.write(f"Warning: {message}\n")
        elif mode in ("call", "log") and call is None:
            raise NameError(f"{'python callback' if mode == 'call' else 'log'} specified for {error} (in  {function}) "
                            f"but no {'function' if mode == 'call' else 'object with write method'} found.")
        elif mode == "call":
            call(error, found[error, function])
        elif mode == "log":
            call.write(f"Warning: {message}\n")


def _in_order(found: Found) -> list[tuple[str, str]]:
    return sorted(found, key=lambda what: [*_MODES].index(what[0]))


def _words(error: str, function: str) -> str:
    return f"{error} encountered in {function}"
