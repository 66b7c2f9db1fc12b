"""How a job ends when one of its processes fails: all of it, at once.

A process that leaves its program early while others wait for it in a collective call would leave them waiting for
ever: it ends in `MPI_Finalize`, which waits as well. So an uncaught exception, and a `SystemExit` with a code other
than 0, whoever raised it, print their traceback with the rank and abort the job. What several processes fail with at
once, one of them prints (see `shared_errors`).

A process that is killed by a signal (SIGTERM, SIGKILL, SIGSEGV) ends at once, and the launcher ends the others. A
handler in Python would make that worse: it is called when the C function under way returns, which may be never.
"""

from __future__ import annotations

import builtins
import contextlib
import ctypes
import gc
import os
import sys
import threading
import time
import traceback
from collections.abc import Callable
from types import FrameType, TracebackType
from typing import TYPE_CHECKING, Any, NoReturn

from pgaspy.job import tracebacks
from pgaspy.job.failures import JobError
from pgaspy.job.shared_errors import spoken_for

if TYPE_CHECKING:
    from mpi4py import MPI

__all__ = ["abort_after_uncaught", "abort_job_on_failure", "is_interactive", "last_exception",
           "print_shared_errors_once"]

INTERRUPTED = 130
"""The exit code of a program that was interrupted by the keyboard: 128 + SIGINT, as shells have it."""

FOLLOWING_SECONDS = 1.0
"""How long a process whose error follows from another one's lets that one say so first."""

FORWARDING_SECONDS = 0.3
"""How long the launcher has for passing on what was printed: Slurm drops what is under way when a job is aborted."""


before_abort: list[Callable[[], None]] = []
"""What is waited for before an uncaught exception ends the job."""


def abort_job_on_failure(comm: MPI.Intracomm) -> None:
    """Let an uncaught exception, and a `SystemExit` that is not 0, on this process abort all processes of `comm`.

    Parameters
    ----------
    comm
        The communicator of the job. In an interactive session nothing is changed: there the program may go on. With
        one process, tracebacks become shorter, and nothing else.
    """
    global _failure
    if is_interactive():
        return
    if comm.size == 1:
        if sys.excepthook is sys.__excepthook__:
            sys.excepthook = tracebacks.print_uncaught
        return
    _failure = _Failure(comm)
    _failure.hook_exceptions()
    _failure.hook_exits()


def abort_after_uncaught() -> None:
    """Abort the job, if the program has ended by an exception, and a hook was called that was put in the place of ours.

    It is for the end of the interpreter.
    """
    if _failure is not None:
        _failure.abort_after_uncaught()


def last_exception() -> BaseException | None:
    """What the interpreter has called a hook for, if it has; or what a debugger keeps in its place."""
    return getattr(sys, "last_exc" if sys.version_info >= (3, 12) else "last_value", None)


_failure: _Failure | None = None
_comm_of_errors: MPI.Intracomm | None = None


def print_shared_errors_once(comm: MPI.Intracomm) -> None:
    """Have an error that processes of `comm` fail with at once printed by one of them. Collective."""
    global _comm_of_errors
    if comm.size > 1:
        _comm_of_errors = comm.Dup()


def is_interactive() -> bool:
    """Whether this is a session in which the program may go on after a failure."""
    return bool(sys.flags.interactive or sys.flags.inspect or hasattr(sys, "ps1") or hasattr(builtins, "__IPYTHON__"))


class _Failure:
    """Ends the job of one communicator."""

    def __init__(self, comm: MPI.Intracomm) -> None:
        self._comm = comm
        self._pid = os.getpid()
        self._hook: Any = None

    def hook_exceptions(self) -> None:
        """Abort after `sys.excepthook` as it is now, which prints the traceback."""
        previous = sys.excepthook

        def excepthook(kind: type[BaseException], error: BaseException, trace: TracebackType | None) -> None:
            if not self._is_own_process() or _goes_on():
                previous(kind, error, trace)
                return
            try:
                header = f"uncaught {kind.__name__}\n"
                if previous is sys.__excepthook__:
                    self._print_once(header + tracebacks.formatted(error, trace))
                else:
                    self._print(header)
                    previous(kind, error, trace)
            finally:
                self._abort_after(error)

        sys.excepthook = self._hook = excepthook

    def abort_after_uncaught(self) -> None:
        """Abort, where another hook than this was called at the end of the program, which may have printed nothing."""
        error = last_exception()
        if sys.excepthook is self._hook or error is None or not self._is_own_process():
            return
        if tracebacks.has_ended(error.__traceback__):
            try:
                self._print(f"uncaught {type(error).__name__}\n")
            finally:
                self._abort_after(error)

    def hook_exits(self) -> None:
        """Abort where the interpreter reads the code of the `SystemExit` that ended the program.

        It calls no hook for that exception, but gets its attribute `code` after the last Python frame of the main
        thread is gone. A program that catches the exception reads the code from a frame.
        """
        plain: Any = vars(SystemExit)["code"]

        def code(error: SystemExit) -> Any:
            found = plain.__get__(error)
            if _is_read_by_interpreter():
                self._end(found, error)
            return found

        namespace = gc.get_referents(vars(SystemExit))[0]  # behind the read-only proxy
        namespace["code"] = property(code, plain.__set__)
        ctypes.pythonapi.PyType_Modified(ctypes.py_object(SystemExit))
        if sys.version_info < (3, 12):  # there, the built-in `sys.exit` raises no instance that has an attribute
            _replace_exit()

    def _end(self, code: Any, error: SystemExit) -> None:
        """Abort the job, unless the code says that all is well."""
        status = _status_from_code(code)
        if status == 0 or not self._is_own_process():
            return
        stack = [frame for frame in traceback.extract_tb(_traceback_of(error)) if frame.filename != __file__]
        message = "" if isinstance(code, int) else f"{code}\n"
        try:
            self._print_once(f"exit({code!r})\nTraceback (most recent call last):\n"
                             f"{''.join(traceback.format_list(stack))}{message}")
        finally:
            self._abort(status)

    def _abort_after(self, error: BaseException) -> None:
        """Abort the job, which others may have been told of, or may want to tell of themselves."""
        try:
            for wait in before_abort:
                wait()
            if isinstance(error, JobError) and error.rank != self._comm.rank:
                time.sleep(FOLLOWING_SECONDS)
        finally:
            self._abort(INTERRUPTED if isinstance(error, KeyboardInterrupt) else 1)

    def _is_own_process(self) -> bool:
        """Whether this is no fork of the process that is part of the job."""
        return os.getpid() == self._pid

    def _print_once(self, text: str) -> None:
        """Print what this process ends with, unless another process does that for it."""
        who = f"rank {self._comm.rank}"
        try:
            if _comm_of_errors is not None:
                with contextlib.suppress(Exception):  # of MPI: it may be what failed
                    who = spoken_for(_comm_of_errors, self._comm.rank, text)
        finally:
            if who:
                self._print(text, who)

    def _print(self, text: str, who: str = "") -> None:
        tracebacks.say(f"{who or f'rank {self._comm.rank}'} of {self._comm.size}: {text}")

    def _abort(self, status: int) -> None:
        try:
            for stream in sys.stdout, sys.stderr:
                if stream is not None:
                    stream.flush()
            time.sleep(FORWARDING_SECONDS)
        finally:
            self._comm.Abort(status)


def _status_from_code(code: Any) -> int:
    """The exit status of `SystemExit(code)`: the lowest byte of an integer (as the system has it, but never 0 for
    another number), and 1 for any other object than None.
    """
    if isinstance(code, int):
        return code & 0xFF or int(code != 0)
    return int(code is not None)


def _replace_exit() -> None:
    """Put a function that raises an instance of `SystemExit` in the place of `sys.exit`, wherever it was imported."""
    builtin = sys.exit

    def exit(status: Any = None, /) -> NoReturn:
        raise SystemExit if status is None else SystemExit(status)

    exit.__doc__ = builtin.__doc__
    for namespace in gc.get_referrers(builtin):
        if isinstance(namespace, dict):
            namespace.update({name: exit for name, value in namespace.items() if value is builtin})


def _is_read_by_interpreter() -> bool:
    """Whether no Python frame called the property that calls this, in the main thread."""
    if threading.current_thread() is not threading.main_thread():
        return False
    try:
        sys._getframe(2)
    except ValueError:
        return True
    return False


def _goes_on() -> bool:
    """Whether the program does, after an exception is printed that nobody can raise, as those of Cython's callbacks."""
    if threading.current_thread() is not threading.main_thread():
        return True
    frame: FrameType | None = sys._getframe()
    while frame is not None and frame.f_code.co_name != "<module>":
        frame = frame.f_back
    return frame is not None


def _traceback_of(error: BaseException) -> TracebackType | None:
    """The traceback of the exception that ended the program.

    Before Python 3.12 the exception has none while it is under way. The interpreter has it then: it is the one that
    begins in the outermost frame, and that no object refers to.
    """
    if sys.version_info >= (3, 12):
        return error.__traceback__
    outermost = [found for found in gc.get_objects()
                 if type(found) is TracebackType and found.tb_frame.f_back is None]
    return next((found for found in outermost
                 if all(holder is outermost for holder in gc.get_referrers(found))), None)
