"""Programs that are compared between processes, checked and watched: what they record is noted, and shown.

The queue, and what else is collective, tell the job's `Supervision` what they do, and ask it now and then whether other
processes have something to say. In every job, digests compare what is executed. The journal costs nothing where nobody
asks for it: where there is one, `recording` hands each operation over before the queue takes it, by the same test that
finds out whether operations are only planned.
"""

from __future__ import annotations

import math
import time
from array import array
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from types import CodeType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pgaspy.host import environment
from pgaspy.job.endings import is_interactive
from pgaspy.job.failures import DivergenceError, Mismatch
from pgaspy.job.procgrid import World
from pgaspy.scheduling.base import Base, Storage
from pgaspy.scheduling.operations import Computed, Operation, Recipe
from pgaspy.scheduling.recorded import Recorded
from pgaspy.supervision import watchdog
from pgaspy.supervision.alarms import Alarms
from pgaspy.supervision.checking import BATCH, Checker
from pgaspy.supervision.contents import Contents, numbers_of
from pgaspy.supervision.digests import Digests
from pgaspy.supervision.journal import Journal
from pgaspy.supervision.watchdog import Activity

__all__ = ["Supervision", "announce", "listen", "take", "take_numbers"]

LOOK_SECONDS = 0.01
"""How often a process that does not wait looks for what others have to say."""

SECONDS_TO_PART = 1.0
"""How long a process whose messages fail waits for the news that another one does something else."""


class Supervision:
    """That of one job; of none, it does nothing.

    Attributes
    ----------
    checker, digests
        What compares this process's operations with those of others, and of which digests; None with one process.
    journal
        The operations, where the environment asks for them.
    alarms
        How the processes of the job learn of a failure; None with one process.
    next_look
        When it is time to look for what others have to say; never, with one process.
    """

    __slots__ = ("_checks_all", "_is_paused", "_number", "_watchdog", "alarms", "checker", "digests", "journal",
                 "next_look")

    def __init__(self) -> None:
        self.checker: Checker | None = None
        self.digests: Digests | None = None
        self.journal: Journal | None = None
        self.alarms: Alarms | None = None
        self.next_look = math.inf
        self._watchdog: watchdog.Watchdog | None = None
        self._checks_all = self._is_paused = False

    def begin(self, job: World, activity: Activity, number: Callable[[], int]) -> None:
        """Compare what the processes do, and note and watch it as far as the environment asks for it. Collective.

        The watchdog asks `activity` what this process does. `number` gives that of the next operation.
        """
        global _of_job
        _of_job = self
        checks = environment.value("PGASPY_CHECK") == "1" and job.size > 1
        timeout = float(environment.value("PGASPY_TIMEOUT") or 0)
        if checks or timeout:
            self.journal = Journal()
        if job.size > 1:
            self.digests, self.next_look = Digests(), 0.0
            entries = self.journal if checks and self.journal is not None else self.digests
            self.checker = Checker(job.communicator, entries)
            self._checks_all, self._number = checks, number
            if not checks:
                self.checker.contents = Contents(job.rank, job.size)
        if timeout or watchdog.is_wanted(job.size):
            self._watchdog = watchdog.begin(job.communicator, timeout, activity, self._words)
        if job.size > 1:
            patience = None if is_interactive() else float(environment.value("PGASPY_ABORT_AFTER"))
            self.alarms = Alarms(job.communicator, patience)

    def note(self, operation: Operation, number: int) -> None:
        """Note an operation of a number; compare it, if it is collective.

        Raises
        ------
        DivergenceError
            If processes are known to differ.
        """
        if operation.recipe.is_collective:
            self._note(operation.recipe, operation.bases, operation.values, number)

    def announce(self, call: str, values: Sequence[Any], bases: Sequence[Base], meets: bool,
                 is_end: bool = False) -> None:
        """See the function of this name."""
        if self._is_paused:
            return
        if self.journal is not None:
            self._note(call, bases, values)
        self.take_numbers(values)
        if meets and self.checker is not None:
            if self.digests is not None:
                self.digests.announce(call)
            self.compare()
            self.checker.meet(self.look, is_end)

    def take(self, x: NDArray[Any]) -> None:
        """See the function of this name."""
        if self._is_paused:
            return
        if self.journal is not None:
            self.journal.take(x)
        if self.checker is not None and self.checker.contents is not None:
            self.checker.contents.take(x, self._number())

    def take_numbers(self, of: Sequence[Any]) -> None:
        """Note numbers, and those that functions were made with, where there are any and no journal has them."""
        if of and not self._is_paused and self.checker is not None and self.checker.contents is not None:
            found = np.array([hash((*numbers_of(of),))])
            self.checker.contents.take(found, self._number(), "number")

    def executed(self, recorded: Recorded, stamped: tuple[int, ...]) -> Mapping[int, int]:
        """Take note of operations, which are about to be executed; the program's digests after some of them.

        Raises
        ------
        DivergenceError
            If processes are known to differ.
        """
        if self.digests is None:
            return {}
        stamps = self.digests.take(recorded, stamped)
        if self.digests.n_pending >= BATCH:
            self.compare()
        return stamps

    def executed_at_once(self, recipe: Recipe | Computed, storages: tuple[Storage, ...], values: tuple[Any, ...],
                         code: CodeType | None, instruction: int) -> int:
        """The same for one collective operation; the program's digest after it. Others may have something to say, too.
        """
        if self.digests is None:
            return 0
        stamp = self.digests.take_one(recipe, storages, values, code, instruction)
        self.see_to_others()
        return stamp

    def see_to_others(self) -> None:
        """Have what was executed compared, if it is much, and look now and then for what others have to say."""
        if self.digests is not None and self.digests.n_pending >= BATCH:
            self.compare()
        if time.perf_counter() > self.next_look:
            self.look(waits=False)

    def look(self, waits: bool = True) -> None:
        """Look for what other processes have to say; one that waits has time to tell them what it does.

        Raises
        ------
        DivergenceError
            If processes do not record the same.
        JobError
            If one of them has failed.
        """
        self.next_look = time.perf_counter() + LOOK_SECONDS
        if self.checker is not None:
            if waits:
                self.compare()
            self.checker.poll(waits)
        if self.alarms is not None and (error := self.alarms.heard()) is not None:
            raise error

    def explained(self, error: BaseException, is_of_messages: bool) -> BaseException:
        """What an error follows from: messages not as expected tell that processes have parted."""
        if self.checker is None:
            return error
        try:
            if isinstance(error, Mismatch):
                self.compare()
                self.checker.differ()
            if is_of_messages:  # a message is longer than expected
                self.compare()
                self.checker.wait(SECONDS_TO_PART)
        except DivergenceError as found:
            return found
        return error

    def compare(self) -> None:
        """Have all that has been executed compared.

        Raises
        ------
        DivergenceError
            If processes are known to differ.
        """
        if self.digests is not None and self.digests.n_pending:
            found = self.digests.take_pending()
            if self.checker is not None and not self._checks_all:
                self.checker.add(array("q", found))

    @contextmanager
    def paused(self) -> Iterator[None]:
        """Note nothing meanwhile, as operations are planned only."""
        before, self._is_paused = self._is_paused, True
        try:
            yield
        finally:
            self._is_paused = before

    def end(self) -> None:
        """Wait for the others here rather than in MPI, where a process could say nothing any more. Collective."""
        if self.checker is not None:
            self.announce("the end of the program", (), (), meets=True, is_end=True)
        elif self._watchdog is not None:
            self._watchdog.meet()
        self.stop()

    def leave(self) -> None:
        """Let the job end without an answer to alarms. Collective."""
        if self.alarms is not None:
            self.alarms.stop()
        self.stop()

    def stop(self) -> None:
        """Stop watching."""
        if self._watchdog is not None:
            self._watchdog.stop()

    def _note(self, what: Recipe | str, bases: Sequence[Base], values: Sequence[Any], number: int = -1) -> None:
        assert self.journal is not None
        entry = self.journal.note(what, bases, values, number)
        if self.checker is not None and self._checks_all:
            self.checker.add([entry.digest(), 0])  # values are part of it

    def _words(self, number: int) -> str:
        """The operation of a number, where it is known."""
        return "" if self.journal is None else str(self.journal.of_number(number) or "")


_of_job = Supervision()


def announce(call: str, *values: Any, bases: Sequence[Base] = (), meets: bool = False) -> None:
    """Note a collective call that records nothing; with `meets`, one in which MPI waits for all. Collective.

    Raises
    ------
    DivergenceError
        If processes are known to differ.
    """
    _of_job.announce(call, values, bases, meets)


def listen() -> None:
    """Look for what other processes have to say, in a call in which they meet.

    Raises
    ------
    JobError, DivergenceError
        See `Supervision.look`.
    """
    _of_job.look()


def take(x: NDArray[Any]) -> None:
    """Note a NumPy array, the same on every process, that the operation recorded next takes."""
    _of_job.take(x)


def take_numbers(*of: Any) -> None:
    """The same of numbers, and of those that functions were made with, as the operation recorded next is."""
    _of_job.take_numbers(of)
