"""How a job ends when one of its processes fails: all of it, at once.

A process that leaves its program early while others wait for it in a collective call would leave them waiting for
ever: it ends in `MPI_Finalize`, which waits as well. So an uncaught exception, and a `sys.exit` with a code other
than 0, print their traceback with the rank and abort the job.

A `raise SystemExit(n)` that is written out is seen by nobody but the interpreter, and is the one way out that does not
abort the job: use `sys.exit(n)`, which can be caught in the same way.
"""

from __future__ import annotations

import builtins
import os
import sys
import threading
import traceback
from typing import TYPE_CHECKING, Any, NoReturn

if TYPE_CHECKING:
    from types import TracebackType

    from mpi4py import MPI

__all__ = ["abort_job_on_failure"]

INTERRUPTED = 130
"""The exit code of a program that was interrupted by the keyboard: 128 + SIGINT, as shells have it."""


def abort_job_on_failure(comm: MPI.Intracomm) -> None:
    """Let an uncaught exception, and a non-zero `sys.exit`, on this process abort all processes of `comm`.

    Parameters
    ----------
    comm
        The communicator of the job. In an interactive session nothing is changed: there the program goes on.
    """
    if _is_interactive():
        return
    failure = _Failure(comm)
    failure.hook_exceptions()
    failure.hook_exits()


def _is_interactive() -> bool:
    return bool(sys.flags.interactive or sys.flags.inspect or hasattr(sys, "ps1") or hasattr(builtins, "__IPYTHON__"))


class _Failure:
    """Ends the job of one communicator."""

    def __init__(self, comm: MPI.Intracomm) -> None:
        self._comm = comm
        self._header = f"rank {comm.rank} of {comm.size}: "
        self._pid = os.getpid()

    def hook_exceptions(self) -> None:
        """Abort after `sys.excepthook` as it is now, which prints the traceback."""
        previous = sys.excepthook

        def excepthook(kind: type[BaseException], error: BaseException, trace: TracebackType | None) -> None:
            if not self._is_own_process():
                previous(kind, error, trace)
                return
            try:
                header = f"uncaught {kind.__name__}\n"
                if previous is sys.__excepthook__:  # in one piece, as other processes may print theirs, too
                    self._print(header + "".join(traceback.format_exception(kind, error, trace)))
                else:
                    self._print(header)
                    previous(kind, error, trace)
            finally:
                self._abort(INTERRUPTED if issubclass(kind, KeyboardInterrupt) else 1)

        sys.excepthook = excepthook

    def hook_exits(self) -> None:
        """Let `sys.exit`, `exit` and `quit` raise an exception that knows when it ends the program."""

        def exit(status: Any = None, /) -> NoReturn:
            error = _ProgramExit() if status is None else _ProgramExit(status)
            error.failure, error.stack = self, traceback.extract_stack(sys._getframe(1))
            raise error

        exit.__doc__ = sys.exit.__doc__
        sys.exit = exit
        vars(builtins).update(exit=exit, quit=exit)

    def end(self, code: Any, stack: traceback.StackSummary | None) -> None:
        """Abort the job, unless the code says that all is well; called where `sys.exit` ends the program."""
        status = _status_from_code(code)
        if status == 0 or not self._is_own_process():
            return
        trace = "".join(stack.format()) if stack is not None else ""
        message = "" if isinstance(code, int) else f"{code}\n"
        try:
            self._print(f"sys.exit({code!r})\nTraceback (most recent call last):\n{trace}{message}")
        finally:
            self._abort(status)

    def _is_own_process(self) -> bool:
        """Whether this is no fork of the process that is part of the job."""
        return os.getpid() == self._pid

    def _print(self, text: str) -> None:
        if sys.stderr is not None:
            sys.stderr.write(self._header + text)

    def _abort(self, status: int) -> None:
        try:
            for stream in sys.stdout, sys.stderr:
                if stream is not None:
                    stream.flush()
        finally:
            self._comm.Abort(status)


def _status_from_code(code: Any) -> int:
    """The exit status of `sys.exit(code)`: the lowest byte of an integer (as the system has it, but never 0 for
    another number), and 1 for any other object than None.
    """
    if isinstance(code, int):
        return code & 0xFF or int(code != 0)
    return int(code is not None)


class _ProgramExit(SystemExit):
    """What `sys.exit` raises: a `SystemExit` that aborts the job when it ends the program.

    The interpreter does not call `sys.excepthook` for a `SystemExit`, but reads its attribute `code`, after the last
    Python frame of the main thread is gone. A program that catches the exception reads the code from a frame.
    """

    failure: _Failure | None = None
    stack: traceback.StackSummary | None = None

    @property
    def code(self) -> Any:
        code = _plain_code.__get__(self)
        if self.failure is not None and _is_read_by_interpreter():
            self.failure.end(code, self.stack)
        return code

    @code.setter
    def code(self, value: Any) -> None:
        _plain_code.__set__(self, value)


_plain_code: Any = vars(SystemExit)["code"]


def _is_read_by_interpreter() -> bool:
    """Whether no Python frame called the property that calls this, in the main thread."""
    if threading.current_thread() is not threading.main_thread():
        return False
    try:
        sys._getframe(2)
    except ValueError:
        return True
    return False
