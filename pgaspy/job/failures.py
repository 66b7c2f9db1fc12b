"""What failed, and what follows from it.

An array that could not be computed as it was recorded is *poisoned*: whoever uses it gets the error that is to blame.
An error of one process fails the job, as the others wait for what it does not send: they all raise `JobError`.
"""

from __future__ import annotations

import copy
import functools
import signal
import sys
import threading
from collections.abc import Callable
from types import CodeType, FrameType, TracebackType
from typing import Any, TypeVar

from pgaspy.host.call_sites import CallSite

__all__ = ["BusyError", "DivergenceError", "JobError", "Mismatch", "Poison", "TaskError", "is_interrupt", "line_at",
           "undisturbed", "uninterrupted"]

_Result = TypeVar("_Result")


class JobError(RuntimeError):
    """The job has failed, as a process could not do its part; no global array can be computed any more.

    What is on this process can be rescued: `local()` works for arrays that are complete.

    Attributes
    ----------
    rank
        The process that failed.
    line
        The line of its program, or nothing where that is not known.
    cause
        What it raised, in words.
    """

    __module__ = "pgaspy"
    tells_lines = True  # so that its message is shown without frames

    def __init__(self, rank: int, line: str, cause: str) -> None:
        super().__init__(f"the job has failed: {cause}, on rank {rank}{line and f', at {line}'}")
        self.rank, self.line, self.cause = rank, line, cause

    def __reduce__(self) -> Any:
        return JobError, (self.rank, self.line, self.cause)


class TaskError(RuntimeError):
    """A task raised; the message names it and where it was scheduled, the cause is what it raised."""

    __module__ = "pgaspy"


class BusyError(RuntimeError):
    """Global arrays are used while operations are executed: by a task, or by another thread."""

    __module__ = "pgaspy"

    @classmethod
    def while_executing(cls, runner: int) -> BusyError:
        """That of a call while a thread of this number executes operations."""
        if threading.get_ident() != runner:
            return cls(f"pgaspy is called by the thread {threading.current_thread().name!r} while another one executes "
                       "operations: one thread of a process may use global arrays, as all processes do the same in one "
                       "order")
        return cls("a task works on the local parts of its arrays; it cannot use global arrays, or wait for them, as "
                   "these take all processes; nor can what the interpreter calls while operations are executed, as "
                   "finalisers")


class DivergenceError(RuntimeError):
    """The processes do not record the same collective operations; the message says which do what, and where."""

    __module__ = "pgaspy"
    tells_lines = True


class Mismatch(Exception):
    """A message is not what it was taken for, as another process has recorded something else."""


class Poison:
    """Why an array is not what was recorded.

    Attributes
    ----------
    error
        What was raised.
    line
        Of the program, where the operation was recorded.
    is_shared
        Whether all processes have it, by the same operation.
    is_seen
        Whether the program got the error.
    """

    def __init__(self, error: BaseException, line: str, is_shared: bool = False) -> None:
        self.error, self.line, self.is_shared = error, line, is_shared
        self._traceback = error.__traceback__
        self.is_seen = False
        if line:
            error.add_note(f"of the operation recorded at {line}")

    def show(self) -> BaseException:
        """The error, for the program; of a task, without frames from the second time on.

        They have the local views of what is poisoned, which would have it for ever: of NumPy's arrays, the collector of
        garbage does not know what they lead to.
        """
        self.is_seen = True
        shown = self.error.with_traceback(self._traceback)  # without what was added where it was raised before
        if isinstance(shown, TaskError):
            self.error, self._traceback = _without_frames(shown), None
        return shown


def _without_frames(error: TaskError) -> TaskError:
    """The same error once more, from the same cause, where that can be copied."""
    found = TaskError(*error.args)
    for note in getattr(error, "__notes__", ()):
        found.add_note(note)
    try:
        found.__cause__ = copy.copy(error.__cause__)
    except Exception:
        found.__cause__ = None
    return found


def line_at(code: CodeType | None, instruction: int) -> str:
    """The line of an instruction, for people; nothing where it is not known."""
    return "" if code is None else str(site_at(code, instruction))


def site_at(code: CodeType, instruction: int) -> CallSite:
    """The line of an instruction."""
    line = next((line for start, stop, line in code.co_lines() if start <= instruction < stop), None)
    return CallSite("", code.co_filename, line or code.co_firstlineno)


MAX_RAISED = 1000
"""By handlers of signals, while others are put in their place."""

_SIGNALS = tuple(signal.valid_signals())
_handler_of: Callable[[int], Any] = getattr(signal, "_signal", signal).getsignal
"""Without the enumeration that `signal` makes of its answers, which takes ten times as long as they do."""


def is_interrupt(error: BaseException) -> bool:
    """Whether an exception comes from outside, as Ctrl-C does: what was being done is not to blame.

    Any exception that the handler of a signal raises is one. The handler's frame is in the traceback: that of one which
    is there, or one that is called with the frame that it is called in.
    """
    if not isinstance(error, Exception):
        return True
    handlers = {_code_of(handler) for number in _SIGNALS if callable(handler := _handler_of(number))}
    trace: TracebackType | None = error.__traceback__
    while trace is not None:
        if trace.tb_frame.f_code in handlers or _is_handling(trace.tb_frame):
            return True
        trace = trace.tb_next
    return False


def _is_handling(frame: FrameType) -> bool:
    """Whether a frame is that of a function which a signal calls, and which may have put another one in its place."""
    code = frame.f_code
    return code.co_argcount > 1 and any(
        frame.f_locals.get(name) is frame.f_back for name in code.co_varnames[1:min(code.co_argcount, 3)])


def _code_of(handler: Any) -> CodeType | None:
    """The code of a function, of a method, of a partial of one, or of what is called as one."""
    while isinstance(handler, functools.partial):
        handler = handler.func
    handler = getattr(handler, "__func__", handler)
    code = getattr(handler, "__code__", None)
    if code is None and callable(handler):
        code = getattr(vars(type(handler)).get("__call__"), "__code__", None)
    return code


def undisturbed(function: Callable[[], None]) -> None:
    """Call a function that could not go on: Ctrl-C is raised when it ends, a second one at once."""
    handler = signal.getsignal(signal.SIGINT)
    if handler is not signal.default_int_handler or threading.current_thread() is not threading.main_thread():
        function()
        return
    noted: list[int] = []

    def note(number: int, frame: FrameType | None) -> None:
        if noted:
            signal.default_int_handler(number, frame)
        noted.append(number)

    signal.signal(signal.SIGINT, note)
    try:
        function()
    finally:
        signal.signal(signal.SIGINT, handler)
        if noted:
            signal.default_int_handler(signal.SIGINT, None)


def uninterrupted(function: Callable[[], _Result]) -> _Result:
    """What a function gives that has to come to its end: handlers of signals are called after it, and raise then."""
    if threading.current_thread() is not threading.main_thread():
        return function()
    handlers: dict[int, Any] = {}
    noted: list[int] = []
    raised: list[BaseException] = []

    def note(number: int, frame: FrameType | None) -> None:
        noted.append(number)

    def put_off() -> None:
        for number in signal.valid_signals():
            handler = signal.getsignal(number)
            if callable(handler) and handler is not note:
                handlers[number] = handler
                signal.signal(number, note)

    def put_back() -> None:
        while handlers:
            number, handler = next(iter(handlers.items()))
            signal.signal(number, handler)
            del handlers[number]

    def whatever_is_raised(change: Callable[[], None]) -> None:
        is_done = False
        while not is_done and len(raised) < MAX_RAISED:  # which is reached where anything else is the reason
            try:
                change()
                is_done = True
            except BaseException as error:  # of a handler that is still there, or there again
                raised.append(error)

    whatever_is_raised(put_off)
    called = dict(handlers)
    try:
        return function()
    finally:
        whatever_is_raised(put_back)
        for number in dict.fromkeys(noted):
            called[number](number, sys._getframe())
        if raised:
            raise raised[0]
