"""Floating-point errors: passed over, as kernels do; or told as NumPy does, where a program asks for that.

It asks by `np.errstate` or `np.seterr`, with NumPy's defaults or with more, or by `PGASPY_FPE` with its defaults. What
is recorded then is executed by itself, before the call returns, and NumPy's functions are called on its pieces: instead
of kernels for elements, and besides them for reductions and scans, whose results stay the same to the bit. What they
find is noted, and told when the operation is complete.
"""

from __future__ import annotations

import contextvars
import functools
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, TypeVar, cast

import numpy as np

from pgaspy.host import environment
from pgaspy.host.call_sites import warn

__all__ = ["Found", "as_asked", "called_under", "is_asked", "is_telling", "noted", "noting", "raises", "silenced",
           "silent", "silent_state", "silently", "state", "tell", "to_be_raised", "unless_noted", "variable"]

_Function = TypeVar("_Function", bound=Callable[..., Any])

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


def _silence() -> Any:
    np.seterr(all="ignore")
    return state()


silent = contextvars.Context()
"""A context in which errors are passed over, as by kernels."""

silent_state = silent.run(_silence)
"""NumPy's state there."""

_pass_over = _silence if silent_state is None else functools.partial(_set, silent_state)


def silently(function: Callable[..., Any], *arguments: Any, **options: Any) -> Any:
    """Call a function with errors passed over.

    As all that is called under another state of NumPy's, it has a context of its own, so that there is no state to
    restore, which an interrupt could prevent.
    """
    return contextvars.copy_context().run(_after, _pass_over, function, arguments, options)


def as_asked(function: Callable[..., Any], *arguments: Any) -> Any:
    """Call a function of NumPy's on what is the same everywhere: it tells errors where that is asked for."""
    return function(*arguments) if is_asked() else silently(function, *arguments)


def silenced(function: _Function) -> _Function:
    """A function in which errors are passed over."""
    @functools.wraps(function)
    def silent_function(*arguments: Any, **options: Any) -> Any:
        return silently(function, *arguments, **options)

    return cast(_Function, silent_function)


def noting(name: str, function: Callable[..., Any], *arguments: Any, **options: Any) -> Any:
    """Call a function whose floating-point errors are noted, as those of a function of NumPy's, or passed over."""
    if _noted is None:
        return silently(function, *arguments, **options)
    found, named = _noted

    def note(error: str, flags: int) -> None:
        found.setdefault((error, named or name), flags)

    modes = {kind: mode if mode == "ignore" else "call" for kind, mode in _modes_of_numpy().items()}
    return contextvars.copy_context().run(_after, functools.partial(_tell, note, **modes), function, arguments, options)


def unless_noted(function: Callable[[], Any]) -> Any:
    """What a function gives; None if it over- or underflows, as the processor's flags tell."""
    found: list[str] = []
    prepare = functools.partial(_tell, lambda error, _: found.append(error), all="ignore", over="call", under="call")
    result = contextvars.copy_context().run(_after, prepare, function, (), {})
    return None if found else result


def called_under(found: object, function: Callable[..., Any], *arguments: Any) -> Any:
    """Call a function of the program under the state that it was given to the library under, which others may wait
    for under another one.
    """
    return contextvars.copy_context().run(_after, functools.partial(_set, found), function, arguments, {})


def _after(prepare: Callable[[], object], function: Callable[..., Any], arguments: tuple[Any, ...],
           options: dict[str, Any]) -> Any:
    prepare()
    return function(*arguments, **options)


def _tell(note: Callable[[str, int], object], **modes: Any) -> None:
    """Have errors told to a function."""
    np.seterr(**modes)
    np.seterrcall(note)


def is_asked() -> bool:
    """Whether errors are to be told now. A state that ignores more than NumPy's default does, and no less, asks for
    nothing.
    """
    if _OF_ENVIRONMENT == "ignore" and state() is _default_state:
        return False
    modes = _modes_of_numpy()
    if _OF_ENVIRONMENT != "ignore":
        return set(modes.values()) != {"ignore"}
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
