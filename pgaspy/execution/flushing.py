"""Flushes: when what is recorded is executed.

A flush hands operations to the engine as a run. A value that is read causes a flush, and so do a local part that is
read, many recorded operations, many bytes that they hold, `sync`, and the end of the program. Each process may flush
anywhere, because no message depends on flushes.
"""

from __future__ import annotations

import functools
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager

from pgaspy.execution.failing import Failing, check_room
from pgaspy.execution.loops import Loops
from pgaspy.job.failures import BusyError, Poison
from pgaspy.job.procgrid import world
from pgaspy.job.statistics import counts
from pgaspy.scheduling.base import Base, Storage
from pgaspy.scheduling.operations import Recipe
from pgaspy.scheduling.recorded import Recorded
from pgaspy.scheduling.schedule import may_be_postponed

__all__ = ["MAX_OPERATIONS", "Flushing"]

MAX_OPERATIONS, MAX_UNKNOWN = 512, 256
"""Recorded operations are executed when they are so many; when they are so many already, if they are no loop's."""

MAX_POSTPONED = 8
"""The most operations that are not executed yet when a value is read that does not depend on them."""

MAX_HELD_BYTES = 64 << 20
"""They are also executed when they hold so many bytes that nobody else does: copies of NumPy operands."""


class Flushing(Failing):
    """A backlog that is flushed when somebody needs results, or when there is much of it.

    Attributes
    ----------
    n_at_once
        How many operations were executed at once, instead of being recorded.
    """

    __slots__ = ("_runner", "n_at_once")

    def __init__(self) -> None:
        super().__init__()
        self.n_at_once = 0
        self._loops = Loops(MAX_OPERATIONS, MAX_UNKNOWN)
        self._held_bytes = 0
        self._refusable: set[Storage] = set()  # of operations that may refuse what they are given
        self._runner = 0  # the thread that executes operations, or a task; 0 while none does
        self._set_limit()

    @property
    def max_operations(self) -> int:
        """How many operations may be recorded; where it is set to anything else, also of those that are no loop's."""
        return self._loops.limit

    @max_operations.setter
    def max_operations(self, n: int) -> None:
        self._loops.limit, self._loops.first = n, MAX_UNKNOWN if n == MAX_OPERATIONS else n
        self._loops.forget(self.recorded.n_before)
        self._set_limit()

    @property
    def overlaps(self) -> bool:
        """Whether operations are recorded and executed together, and not one after the other."""
        return self.engine.overlaps

    @overlaps.setter
    def overlaps(self, value: bool) -> None:
        self.finish()
        self.engine.overlaps = value
        self.forget()
        self._set_limit()

    def check_free(self) -> None:
        """Refuse a call of a task or of another thread, which the other processes know nothing of.

        Raises
        ------
        BusyError
            If operations are being executed.
        """
        if self._runner:
            raise BusyError.while_executing(self._runner)

    @contextmanager
    def closed(self) -> Iterator[None]:
        """Refuse all calls meanwhile, as while a task is called."""
        thread = threading.get_ident()
        if self._runner:
            self.check_free()
        self._runner = thread
        try:
            yield
        finally:
            self._runner = 0

    def _set_limit(self) -> None:
        """Note from which number of fields on something is to be seen to before an operation is recorded."""
        if self.engine.has_failed and self.error is None:
            self.engine.recover()
        is_sound = self.error is None and not self._refusable
        is_plain = is_sound and not self.engine.has_failed and self._held_bytes <= MAX_HELD_BYTES
        self._max_fields = self._loops.n_due * Recorded.N_FIELDS if is_plain else 0
        self.is_open = is_sound and self.engine.overlaps and counts.timeline is None

    def hold(self, nbytes: int) -> None:
        """Note that recorded operations hold so many bytes more that nobody else does."""
        self._held_bytes += nbytes
        if self._held_bytes > MAX_HELD_BYTES:
            self._set_limit()

    def await_refusal(self, storages: Iterable[Storage]) -> None:
        """Have whoever uses these storages next, or waits for anything, wait for what was recorded last.

        It may refuse what it is given, on all processes; so all of them get the error from the same statement.
        """
        self._refusable.update(storages)
        self._set_limit()

    def wait_for_refusal(self, storages: Iterable[Storage]) -> None:
        """Wait for what may refuse what it is given, if it was to write to some of these.

        Raises
        ------
        BaseException
            What it has refused.
        """
        if not self._refusable.isdisjoint(storages):
            self.finish(cause="refusal")

    def _make_room(self, recipe: Recipe, storages: Sequence[Storage]) -> None:
        """See to what has to be done before an operation is recorded.

        Raises
        ------
        BaseException
            That of what it reads, if that is poisoned; `JobError`, if the job has failed.
        """
        if self.error is not None:
            raise self.error.with_traceback(None)
        self.wait_for_refusal(storages)
        if self.engine.has_failed and (poison := self._poison_in_use(recipe, storages)) is not None:
            error = poison.show()
            if recipe.is_collective and not poison.is_shared:
                self.fail(error)  # as the others record it
            raise error
        if self._held_bytes > MAX_HELD_BYTES:
            self._flush(self.engine.catch_up, "threshold")
        elif len(self.recorded) >= self._loops.n_due:
            pieces = self._loops.due(self.recorded.n_before, self.recorded.recipes, self.recorded.places,
                                     self.n_at_once)
            if pieces:
                self._flush(self.engine.catch_up, "threshold", pieces=pieces)
        self._set_limit()

    def _poison_in_use(self, recipe: Recipe, storages: Sequence[Storage]) -> Poison | None:
        """That of an array which is used; one that is overwritten as a whole is healed when that is executed."""
        if any(storage.poison is not None for storage in storages):
            self._flush(self.engine.catch_up, "poison")  # what was recorded before may heal it
        return next((storage.poison for storage in storages
                     if storage.poison is not None and not recipe.overwrites(storages, storage)), None)

    def _finish_what_is_seen(self, storages: Sequence[Storage]) -> None:
        """Execute the last operation where a local view may see what it does; without overlap, in any case."""
        if not self.engine.overlaps:
            self.finish(cause="operation")
        for storage in storages:
            if storage.is_lent:
                self.finish(storage, cause="lease")

    def is_complete(self, base: Base) -> bool:
        """Whether nothing is left to do that reads or writes a base, and it is what was recorded."""
        storage = base.storage.lender
        return storage.poison is None and not (
            storage.is_lost or self._runner or storage in self.recorded.storages or self.engine.uses(storage))

    def finish(self, storage: Storage | None = None, cause: str | None = None, *, raises: bool = True) -> None:
        """Execute everything; or return when all is complete that reads or writes a storage.

        Everything else makes progress meanwhile: on another process, somebody may wait for that. But what comes last,
        and nobody else can wait for, is postponed unless there is time for it: it is planned together with what is
        recorded next. The timeline names the cause, or the public function that was called.

        Raises
        ------
        BaseException
            What an operation has raised that was executed, once; and of a storage that is poisoned, each time. With
            `raises` False, that is left to the next call.
        """
        self.check_free()
        if self.error is not None:
            self._check_rescue(storage)
            return
        if self._refusable:
            self._flush(self.engine.finish, cause)
            self._refusable.clear()  # last: what is interrupted is waited for by the next call
            self._set_limit()
        if storage is None:
            if self.recorded.fields or not self.engine.is_silent:
                self._flush(self.engine.finish, cause)
        else:
            n_postponed = self._n_postponed(storage)
            when_idle = self._hand_over_rest if n_postponed else None
            if self.recorded.fields or not self.engine.is_idle:
                self._flush(functools.partial(self.engine.finish, storage, when_idle), cause, n_postponed)
        if self.engine.has_failed:
            if raises:
                self._raise_failures(storage)
            self._set_limit()

    def _n_postponed(self, storage: Storage) -> int:
        """How many operations, recorded last, may wait although a value of a storage is needed."""
        recorded, n = self.recorded, 0
        while n < min(MAX_POSTPONED, len(recorded)):
            last = recorded[len(recorded) - 1 - n]
            if storage in last.storages or not may_be_postponed(last.recipe, world().rank):
                break
            n += 1
        return n

    def _flush(self, execute: Callable[[], None], cause: str | None, n_postponed: int = 0,
               pieces: Iterable[int] = ()) -> None:
        """Hand what is recorded to the engine, but for the last ones, and execute of it what there is a cause for.

        With `pieces`, those of these lengths are handed over.
        """
        engine = self.engine
        timeline, start, n_operations = counts.timeline, time.perf_counter(), 0
        thread = threading.get_ident()
        check_room()
        if self._runner:  # from here to where it is this one no other thread comes by
            self.check_free()
        try:
            self._runner = thread
            if engine.straight is not None:
                self._resume()
            n_operations = len(self.recorded) - n_postponed
            if start > self.supervision.next_look:
                self.supervision.look(waits=False)
            if n_operations > 0:
                if pieces or self._loops.is_searched:
                    self._hand_over_pieces(pieces or self._pieces_of_all(n_operations))
                else:
                    self._hand_over(n_operations)
            execute()
            if not self.recorded.fields:
                self._held_bytes = 0
        except BaseException as error:
            self._failed(error)
            raise
        finally:
            self._runner = 0
            if engine.has_failed:
                self._set_limit()
            if timeline is not None:
                timeline.flushed(start, n_operations, cause)

    def _hand_over_pieces(self, pieces: Iterable[int]) -> None:
        """Hand operations to the engine in pieces of so many, as schedules of a loop have them."""
        for n in pieces:
            self._hand_over(n, may_be_cut=self._loops.loop is None)
        self._set_limit()

    def _pieces_of_all(self, n: int) -> Iterator[int]:
        """How many of the first n operations, of which some are those of a loop, are handed over together."""
        return self._loops.all(self.recorded.n_before, self.recorded.recipes[:n], self.recorded.places, self.n_at_once)
