"""Places in the program: the line that called one of pgaspy's functions, by the frames of the stack."""

from __future__ import annotations

import contextlib
import linecache
import os
import sys
import warnings
from types import FrameType
from typing import NamedTuple

from pgaspy.caches import Cache, cached

__all__ = ["CallSite", "caller", "frame_of_program", "frames_of_program", "is_program_file", "line_of", "warn"]


class CallSite(NamedTuple):
    """A line of the program, and the function of pgaspy that it called; no file where there is no such line."""

    called: str
    file: str
    line: int

    def __str__(self) -> str:
        text = linecache.getline(self.file, self.line).strip()
        return f"{shown(self.file)}:{self.line}{f': {text}' if text else ''}"


def caller(frame: FrameType, algorithms: bool = True) -> CallSite:
    """Where the program called the function of pgaspy that a frame is in; `algorithms` are programs, or parts of it."""
    while (outer := frame.f_back) is not None and _is_own(outer.f_globals.get("__name__", ""), algorithms):
        frame = outer
    called = frame.f_code.co_name
    return CallSite(called, "", 0) if outer is None else CallSite(called, outer.f_code.co_filename, outer.f_lineno)


def frames_of_program(frame: FrameType | None) -> list[FrameType]:
    """The frames of the stack, the innermost first, that are neither pgaspy's nor Python's own start of a program."""
    found = []
    while frame is not None:
        name = frame.f_globals.get("__name__", "")
        if not (_is_own(name, False) or name in ("runpy", "threading") or frame.f_code.co_filename.startswith("<froz")):
            found.append(frame)
        frame = frame.f_back
    return found


def line_of(frame: FrameType) -> str:
    """The file, line, function and text of where a frame is."""
    place = CallSite("", frame.f_code.co_filename, frame.f_lineno)
    where, colon, text = str(place).partition(": ")
    return f"{where} in {frame.f_code.co_name}{colon}{text}"


def warn(message: str, category: type[Warning]) -> None:
    """Warn at the line of the program that called one of pgaspy's functions."""
    frame, level = sys._getframe(1), 2
    while frame.f_back is not None and _is_own(frame.f_globals.get("__name__", ""), True):
        frame, level = frame.f_back, level + 1
    warnings.warn(message, category, stacklevel=level)


def shown(file: str) -> str:
    """A file's path, the shorter of the absolute one and that from the current folder."""
    relative = os.path.relpath(file) if file and not file.startswith("<") else file
    return relative if len(relative) < len(file) else file


is_program_file = Cache()
"""Whether a file is part of the program, of those that `frame_of_program` has met; None for any other."""

_CONTEXTS = contextlib.contextmanager.__code__.co_filename  # who leaves a block of pgaspy's, as pgaspy itself does
_FOLDER = os.path.dirname(os.path.dirname(__file__)) + os.sep  # noqa: PTH120  (as code objects have it)


def frame_of_program(frame: FrameType) -> FrameType:
    """The innermost frame, from a given one on, that is not pgaspy's; the outermost, if all are."""
    known = is_program_file
    while not (is_program := known[frame.f_code.co_filename]):
        if is_program is None:
            file = frame.f_code.co_filename
            known.keep(file, not file.startswith(_FOLDER) and file != _CONTEXTS)
        elif (outer := frame.f_back) is None:
            break
        else:
            frame = outer
    return frame


@cached
def _is_own(module: str, algorithms: bool) -> bool:
    """Whether a module is part of pgaspy, or is what its context managers are left by."""
    return (module in ("pgaspy", "contextlib") or module.startswith("pgaspy.")) and not (
        algorithms and module.startswith("pgaspy.algorithms."))
