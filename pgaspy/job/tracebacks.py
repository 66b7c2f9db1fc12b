"""Tracebacks of the program's frames: those of pgaspy are left out, unless `PGASPY_TRACEBACK=full`.

What an error of the program says is where the program called what, and not how pgaspy came to notice. An error of
pgaspy itself is shown with all frames.
"""

from __future__ import annotations

import dis
import sys
import traceback
from collections.abc import Iterator
from types import FrameType, TracebackType
from typing import Any

from pgaspy.host import environment

__all__ = ["formatted", "has_ended", "print_uncaught", "say"]

_OWN = "pgaspy"
_LIBRARIES = sys.stdlib_module_names | {"mpi4py", "numpy", "scipy"}
"""Whose frames belong to the call of pgaspy that they are in."""

_MISTAKES = (AssertionError, NameError, SystemError)
_MISTAKES_UNLESS_RAISED = {AttributeError, IndexError, KeyError}
"""Mistakes in pgaspy, where they come from its frames; and what is one unless a statement `raise` says it."""

_RAISING = {dis.opmap["RAISE_VARARGS"], dis.opmap["RERAISE"]}


def print_uncaught(kind: type[BaseException], error: BaseException, trace: TracebackType | None) -> None:
    """Print an exception; for `sys.excepthook`."""
    say(formatted(error, trace))


def say(text: str) -> None:
    """Write a text to `sys.stderr`, if there is one, in one piece; characters that it does not have, as escapes."""
    if sys.stderr is None:
        return
    try:
        sys.stderr.write(text)
    except UnicodeEncodeError:
        encoding = getattr(sys.stderr, "encoding", None) or "ascii"
        sys.stderr.write(text.encode(encoding, "backslashreplace").decode(encoding))


def formatted(error: BaseException, trace: TracebackType | None) -> str:
    """The text of an exception, with its causes and notes.

    An exception with the attribute `tells_lines` says itself which lines of the program it is about: its message comes
    first, and frames are shown on demand only.
    """
    text = traceback.TracebackException(type(error), error, trace, compact=True)
    is_full = environment.value("PGASPY_TRACEBACK") == "full" or _is_of_pgaspy(error, trace)
    if getattr(error, "tells_lines", False):
        message = "".join(text.format_exception_only())
        return message + ("".join(text.format()) if is_full else "")
    if not is_full and _shorten(text, error, trace):
        text.stack = _Shortened(text.stack)
    return "".join(text.format())


def has_ended(trace: TracebackType | None) -> bool:
    """Whether the program has ended by the exception of a traceback, and has not caught it."""
    if trace is None or trace.tb_frame.f_back is not None:
        return False
    frame = trace.tb_frame
    return frame.f_lasti == trace.tb_lasti or frame.f_code.co_code[frame.f_lasti] in _RAISING


class _Shortened(traceback.StackSummary):
    """Frames, of which some are left out; shown also if none are left. How many may differ between processes."""

    def __bool__(self) -> bool:
        return True

    def format(self, **options: Any) -> list[str]:
        return [*super().format(**options), "  (frames inside pgaspy are left out: PGASPY_TRACEBACK=full shows them)\n"]


def _shorten(text: traceback.TracebackException, error: BaseException, trace: TracebackType | None) -> bool:
    """Leave out the frames of pgaspy, also of the causes; whether there were any."""
    is_left_out, found = [*_is_inside(trace)], False
    if len(is_left_out) == len(text.stack):  # `sys.tracebacklimit` may have cut it
        text.stack = traceback.StackSummary.from_list(
            [frame for frame, inside in zip(text.stack, is_left_out, strict=True) if not inside])
        found = any(is_left_out)
    pairs = [(text.__cause__, error.__cause__), (text.__context__, error.__context__)]
    pairs += zip(getattr(text, "exceptions", None) or (), getattr(error, "exceptions", ()), strict=False)  # of a group
    return any([found, *(_shorten(inner, cause, cause.__traceback__) for inner, cause in pairs
                         if inner is not None and cause is not None)])


def _is_inside(trace: TracebackType | None) -> Iterator[bool]:
    """For each frame, whether it is one of pgaspy, or of a library that this calls."""
    inside = False
    for frame, _ in traceback.walk_tb(trace):
        package = _package(frame)
        inside = package == _OWN or (inside and package in _LIBRARIES)
        yield inside


def _is_of_pgaspy(error: BaseException, trace: TracebackType | None) -> bool:
    """Whether an exception tells of a mistake in pgaspy, and not in the program."""
    if any(_package(frame) == _OWN and frame.f_code.co_name == "<module>" for frame, _ in traceback.walk_tb(trace)):
        return True  # it cannot be imported
    frames = [*_is_inside(trace)]
    if trace is None or not frames[-1]:
        return False
    while trace.tb_next is not None:
        trace = trace.tb_next
    is_raised = _package(trace.tb_frame) == _OWN and trace.tb_frame.f_code.co_code[trace.tb_lasti] in _RAISING
    return isinstance(error, _MISTAKES) or (type(error) in _MISTAKES_UNLESS_RAISED and not is_raised)


def _package(frame: FrameType) -> str:
    """The top package of the module that a frame is in."""
    name: str = frame.f_globals.get("__name__", "")
    return name.partition(".")[0]
