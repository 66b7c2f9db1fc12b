"""What failed, and follows from it here: the job fails where others wait for this process; the program gets errors."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from pgaspy.execution.appending import frames_left
from pgaspy.execution.backlog import Backlog
from pgaspy.host.call_sites import frames_of_program, line_of
from pgaspy.job.failures import DivergenceError, JobError, Poison, is_interrupt, uninterrupted
from pgaspy.job.procgrid import world
from pgaspy.scheduling.base import Storage

__all__ = ["Failing", "check_room"]

N_FRAMES = 200
"""More than pgaspy takes to execute anything, and to find out what has failed."""


class Failing(Backlog):
    """A backlog whose job may fail.

    Attributes
    ----------
    error
        Why no operation can be executed any more, where that is so.
    is_open
        Whether nothing that lasts is in the way of computing what is small, on an only process: see `Queue.is_clear`.
    """

    __slots__ = ("_max_fields", "is_open")

    def __init__(self) -> None:
        super().__init__()
        self.error: Exception | None = None
        self.is_open = True
        self._max_fields = 0  # from so many fields on, something is to be seen to before an operation is recorded

    def refuse(self, error: Exception) -> None:
        """Raise this error from now on, instead of recording or executing anything."""
        self.error, self.is_open, self._max_fields = error, False, 0

    def fail(self, error: BaseException, outputs: Sequence[Storage] = ()) -> BaseException:
        """Fail the job, if others wait for this process, which could not do its part; what is to be raised.

        The outputs are those of what was executed at once, of which nobody knows how far it got.
        """
        transport = self.engine.transport
        fails = not self.engine.is_alone and self.supervision.alarms is not None and self.error is None
        if fails:
            try:
                error = self.supervision.explained(error, transport is not None and isinstance(error, transport.error))
            except BaseException as interrupt:
                error = interrupt

        def to_the_end() -> BaseException:
            found = self._fail(error) if fails else error
            for storage in outputs:
                storage.poison = Poison(self.error or error, "")
            return found

        return uninterrupted(to_the_end)  # or others were never told

    def _fail(self, error: BaseException) -> BaseException:
        """Refuse all from now on, give up what there is, and tell the others; what is to be raised."""
        assert self.supervision.alarms is not None
        failure = None
        if isinstance(error, JobError | DivergenceError):
            self.refuse(error)
            if unseen := [poison for poison in self.engine.failures if not poison.is_seen]:
                error = unseen[0].show()  # its own error first
        else:
            failure = JobError(world().rank, _line(), f"{type(error).__name__}: {error}")
            self.refuse(failure)
        of_job = self.error if isinstance(self.error, JobError) else JobError(world().rank, "", str(self.error))
        self.abandon(of_job)
        if failure is not None:
            self.supervision.alarms.tell(failure)  # last, as it may fail itself
        return error

    def _failed(self, error: BaseException, outputs: Sequence[Storage] = ()) -> None:
        """Fail the job, if others wait for this process; raise the error, if that is another one then."""
        found = self.fail(error, outputs)
        if found is not error:
            raise found from found.__cause__

    @contextmanager
    def together(self) -> Iterator[None]:
        """Fail the job, if this process leaves by an interrupt, or by another failure of it, what all take part in.

        What all of them raise there is left to them.
        """
        try:
            yield
        except BaseException as error:
            if is_interrupt(error) or isinstance(error, JobError | DivergenceError):
                self._failed(error)
            raise

    def _check_rescue(self, storage: Storage | None) -> None:
        """Refuse to wait where the job has failed, but for an array that is complete."""
        assert self.error is not None
        if storage is None or not isinstance(self.error, JobError):
            raise self.error.with_traceback(None)
        if storage.poison is not None:
            raise storage.poison.show()

    def _raise_failures(self, storage: Storage | None) -> None:
        """Raise what the program has not seen yet, and what a storage is poisoned by."""
        if storage is not None and storage.poison is not None:
            raise storage.poison.show()
        unseen = [poison for poison in self.engine.failures if not poison.is_seen]
        self.engine.failures = unseen
        if unseen:
            raise unseen[0].show()


def _line() -> str:
    """That of the program; nothing where it is not found, whatever the reason: the others have to be told."""
    try:
        frames = frames_of_program(sys._getframe(1))
        return line_of(frames[0]) if frames else ""
    except Exception:
        return ""


def check_room() -> None:
    """Refuse to execute anything near the interpreter's limit of recursion: it would fail on the way, and be lost.

    Raises
    ------
    RecursionError
        Before anything is done.
    """
    if frames_left() < N_FRAMES:
        raise RecursionError(f"maximum recursion depth exceeded: global arrays take up to {N_FRAMES} frames of the "
                             f"{sys.getrecursionlimit()} that sys.setrecursionlimit gives a program")
