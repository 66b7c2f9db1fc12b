"""Programs that are compared between processes, checked and watched: what they record is noted, and shown.

The runtime, and what else is collective, tell this module what they do. In every job what is executed is compared by
digests. The rest costs nothing where nobody asks for it: where operations are noted, the runtime hands them over
before it records them, and has no test for that where they are not.
"""

from __future__ import annotations

from array import array
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from numpy.typing import NDArray

from pgaspy import environment, watchdog
from pgaspy.base import Base
from pgaspy.checking import BATCH, Checker
from pgaspy.digests import Digests
from pgaspy.journal import Journal
from pgaspy.operations import Operation, Recipe
from pgaspy.procgrid import World
from pgaspy.recorded import Recorded
from pgaspy.watchdog import UnderWay

__all__ = ["announce", "begin", "checker", "compare", "digests", "end", "executed", "note", "notes", "paused", "take"]

_journal: Journal | None = None
digests: Digests | None = None
_checks_all = False
_look: Callable[[], None]
_is_paused = False
checker: Checker | None = None
_watchdog: watchdog.Watchdog | None = None


def begin(job: World, messages: Callable[[], list[tuple[Any, int, float]]], look: Callable[[], None]) -> None:
    """Compare what the processes do, and note and watch it as far as the environment asks for it. Collective.

    `messages` are those under way: their nodes, the numbers of their operations, and when they were started. `look` is
    called while this process waits for all others, for what they have to say.
    """
    global _journal, digests, checker, _watchdog, _checks_all, _look
    checks = environment.value("PGASPY_CHECK") == "1" and job.size > 1
    timeout = float(environment.value("PGASPY_TIMEOUT") or 0)
    if checks or timeout:
        _journal = Journal()
    if job.size > 1:
        digests, _look = Digests(), look
        checker = Checker(job.communicator, _journal if checks and _journal is not None else digests)
        _checks_all = checks
    if timeout or watchdog.is_wanted(job.size):
        _watchdog = watchdog.begin(job.communicator, timeout, lambda: [
            UnderWay(node, _words(number), start) for node, number, start in messages()])


def notes() -> bool:
    """Whether operations are to be noted."""
    return _journal is not None


def note(operation: Operation) -> None:
    """Note an operation; compare it, if it is collective.

    Raises
    ------
    DivergenceError
        If processes are known to differ.
    """
    if operation.recipe.is_collective:
        _note(operation.recipe, operation.bases, operation.values, operation.number)


def announce(call: str, *values: Any, bases: Sequence[Base] = (), meets: bool = False) -> None:
    """Note a collective call that records nothing; with `meets`, one in which MPI waits for all. Collective.

    Raises
    ------
    DivergenceError
        If processes are known to differ.
    """
    if _is_paused:
        return
    if _journal is not None:
        _note(call, bases, values)
    if meets and checker is not None:
        if digests is not None:
            digests.announce(call)
        compare()
        checker.meet(_look)


def take(x: NDArray[Any]) -> None:
    """Note a NumPy array, the same on every process, that the operation recorded next takes."""
    if _journal is not None and not _is_paused:
        _journal.take(x)


def executed(recorded: Recorded, stamped: Sequence[int]) -> dict[int, int]:
    """Take note of operations, which are about to be executed; the program's digests after some of them.

    Raises
    ------
    DivergenceError
        If processes are known to differ.
    """
    if digests is None:
        return {}
    stamps = digests.take(recorded, stamped)
    if len(digests.pending) >= BATCH:
        compare()
    return stamps


def compare() -> None:
    """Have all that has been executed compared.

    Raises
    ------
    DivergenceError
        If processes are known to differ.
    """
    if digests is not None and digests.pending:
        found, digests.pending = digests.pending, array("q")
        if checker is not None and not _checks_all:
            checker.add(found)


@contextmanager
def paused() -> Iterator[None]:
    """Note nothing meanwhile, as operations are planned only."""
    global _is_paused
    before, _is_paused = _is_paused, True
    try:
        yield
    finally:
        _is_paused = before


def end() -> None:
    """Wait for the others here rather than in MPI, where a process could say nothing any more. Collective."""
    if checker is not None:
        announce("the end of the program", meets=True)
    elif _watchdog is not None:
        _watchdog.meet()
    stop()


def stop() -> None:
    """Stop watching."""
    if _watchdog is not None:
        _watchdog.stop()


def _note(what: Recipe | str, bases: Sequence[Base], values: Sequence[Any], number: int = -1) -> None:
    assert _journal is not None
    entry = _journal.note(what, bases, values, number)
    if checker is not None and _checks_all:
        checker.add([entry.digest()])


def _words(number: int) -> str:
    """The operation of a number, where it is known."""
    return "" if _journal is None else str(_journal.of_number(number) or "")
