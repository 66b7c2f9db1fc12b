"""Recording: what the array language calls to have an operation recorded, executed, or only planned.

Each job has one `Queue`, which records operations. `_instead` takes an operation before the queue where a journal notes
it, and in place of the queue where `explain` plans it.
"""

from __future__ import annotations

import atexit
import functools
import os
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from typing import Any, TypeVar, cast

from pgaspy.execution import appending, borrowers, progress
from pgaspy.execution.appending import record, where
from pgaspy.execution.direct import Direct
from pgaspy.execution.queue import Queue, StandIns, Work
from pgaspy.job.endings import abort_after_uncaught, before_abort, is_interactive, last_exception
from pgaspy.job.entering import refusal_of_forks
from pgaspy.job.failures import TaskError
from pgaspy.job.procgrid import World, when_ended, when_started, world
from pgaspy.job.statistics import Statistics, counts, when_asked
from pgaspy.kernels import jit
from pgaspy.planning.view import View
from pgaspy.scheduling import floating_point
from pgaspy.scheduling.base import Base, Storage, lent
from pgaspy.scheduling.base import borrowers as borrowed
from pgaspy.scheduling.floating_point import Found
from pgaspy.scheduling.operations import Computed, Operation, Recipe

__all__ = ["Executor", "are_errors_asked", "check_free", "clears", "closed", "complete", "compute", "dry_run",
           "finish", "forget", "hold", "in_place_of_the_job", "is_alone", "is_complete", "is_executing", "is_planning",
           "keep_borrowed", "lacking", "may_compute", "needed", "queue", "read_at_once", "record", "record_cold",
           "record_refusable", "send_at_once", "settle", "stand_ins", "sync", "taking_memory", "tell_errors",
           "together", "was_admitted"]

_Function = TypeVar("_Function", bound=Callable[..., Any])
_Part = TypeVar("_Part")

Executor = Callable[[Operation], None]

queue = Queue()

_noted: Executor | None = None
"""Notes an operation and hands it to the queue; None in a job without a journal."""

_instead: Executor | None = None
"""Takes each operation: `_noted`, or what plans it. Where this is None, the queue takes it directly."""


def _begin(job: World) -> None:
    """Make the queue of a job. Where the environment asks for a journal, operations are noted first. Collective."""
    global queue, _noted, _instead
    queue = Queue()
    queue.begin(job)
    _noted = _instead = _note_and_record if queue.supervision.journal is not None else None


def _end() -> None:
    """Leave the queue of a job as it is, and its messages. Collective."""
    queue.leave()


def _wait_for_others() -> None:
    """Where the job has failed, let the others come to their end."""
    if queue.supervision.alarms is not None:
        queue.supervision.alarms.wait_for_others()


def _count(found: Statistics) -> None:
    """Tell how many operations were recorded."""
    found.n_recorded, found.n_at_once = queue.n_recorded, queue.n_at_once


when_asked.append(_count)
before_abort.append(_wait_for_others)
when_started.append(_begin)
when_ended.append(_end)


def _note_and_record(operation: Operation) -> None:
    queue.check_free()
    queue.wait_for_refusal([base.storage for base in operation.bases])  # what raises here is not recorded
    queue.supervision.note(operation, queue.next_tag)
    _record(operation)


def _record(operation: Operation) -> None:
    storages = tuple([base.storage for base in operation.bases])
    queue.record(operation.recipe, storages, operation.values, *where())


def _record_in_python(recipe: Recipe, storages: tuple[Storage, ...], values: tuple[Any, ...] = ()) -> None:
    """See `record`: what anything is in the way of."""
    if _instead is not None:
        _instead(Operation(recipe, tuple([storage.borrower() for storage in storages]), values))
        return
    queue.record(recipe, storages, values, *where())


def record_cold(recipe: Recipe, storages: tuple[Storage, ...], values: tuple[Any, ...] = ()) -> None:
    """The same for a recipe that may be cold: then the operation is executed at once, where that is cheap. Collective.

    So what a program hardly does again is not scheduled.
    """
    if recipe.is_cold and _instead is None:
        if borrowed:
            storages = borrowers.settled(recipe, storages)
        at = (None, 0) if queue.engine.is_alone else where()
        if queue.execute_at_once(recipe, storages, values, *at):
            return
    record(recipe, storages, values)


def record_refusable(recipe: Recipe, storages: tuple[Storage, ...], values: tuple[Any, ...] = ()) -> None:
    """Record an operation that may refuse what it is given, by a `Refusal` of all processes. Collective.

    Whoever uses its arrays next, or waits for anything, waits for it, and gets the error.
    """
    record(recipe, storages, values)
    if not is_planning():
        queue.await_refusal(storages)


def compute(call: Computed, storages: tuple[Storage, ...], values: tuple[Any, ...], work: Work | None) -> None:
    """See `Queue.compute`."""
    queue.compute(call, storages, values, work, *where())


def read_at_once(call: Computed, storages: tuple[Storage, ...],
                 add_nodes: Callable[[Direct], None]) -> Direct | None:
    """See `Queue.read_at_once`. Collective."""
    if _instead is not None:
        return None
    return queue.read_at_once(call, storages, add_nodes, *where())


def send_at_once(key: tuple[Any, ...], call: Computed, storages: tuple[Storage, ...],
                 add_nodes: Callable[[Direct], None], values: tuple[Any, ...] = (),
                 n_elements: int = 0) -> Direct | None:
    """See `Queue.send_at_once`. Collective."""
    return queue.send_at_once(key, call, storages, values, add_nodes, n_elements, *where())


def are_errors_asked() -> bool:
    """Whether floating-point errors of what is recorded next are to be told, and it is executed."""
    return not is_planning() and queue.are_errors_asked()


def tell_errors(found: Found) -> None:
    """See `Queue.tell_errors`. Collective."""
    queue.tell_errors(found)


def is_executing() -> bool:
    """Whether operations are neither noted nor only planned."""
    return _instead is None


def is_alone() -> bool:
    """Whether this is the only process, and operations are neither noted nor only planned."""
    return queue.engine.is_alone and _instead is None


def is_clear() -> bool:
    """Whether nothing is under way on this only process, so that what is small may be computed at once, if nothing that
    is recorded uses it.
    """
    return _instead is None and queue.is_clear()


def clears() -> bool:
    """Execute what is recorded on this only process, so that what is small may be computed at once; whether it may."""
    return _instead is None and queue.clears()


def settle(base: Base, written: View) -> None:
    """Have what is borrowed of a view, which is about to be written to, in memory of its own."""
    if borrowed:
        borrowers.detach(base.storage, written)


def may_compute(key: tuple[Any, ...], n_elements: int, bases: Sequence[Base]) -> bool:
    """See `Queue.may_compute`."""
    return queue.may_compute(key, n_elements, [base.storage.lender for base in bases])


def was_admitted(key: tuple[Any, ...]) -> bool:
    """See `Tiers.was_admitted`."""
    return queue.tiers.was_admitted(key)


def hold(nbytes: int) -> None:
    """See `Queue.hold`."""
    queue.hold(nbytes)


def closed() -> AbstractContextManager[None]:
    """See `Queue.closed`."""
    return queue.closed()


def together() -> AbstractContextManager[None]:
    """See `Queue.together`. Collective."""
    return queue.together()


def check_free() -> None:
    """See `Queue.check_free`."""
    queue.check_free()


def keep_borrowed(storage: Storage, written: View) -> None:
    """See `borrowers.keep`; where nothing is recorded, nothing is kept."""
    if queue.error is None and not is_planning():
        borrowers.keep(storage, written)


def finish(base: Base) -> None:
    """Execute all that is recorded and reads or writes a base; see `Queue.finish`. Not collective."""
    _check_not_planning()
    queue.finish(base.keep_name())


def complete(base: Base) -> None:
    """The same, where nothing is asked of the base: what has failed is raised by the next call that asks."""
    queue.finish(base.keep_name(), raises=False)


def is_complete(base: Base) -> bool:
    """Whether nothing is left to do on this process that reads or writes a base. Not collective; executes nothing."""
    return not is_planning() and queue.is_complete(base)


def sync() -> None:
    """Execute all that is recorded on this process. Not a barrier, and not collective."""
    _check_not_planning()
    queue.finish()


def forget() -> None:
    """Forget the cached schedules."""
    queue.forget()


def lacking(error: MemoryError) -> BaseException:
    """Fail the job, as this process lacks memory for what all record; what is to be raised."""
    return error if is_planning() else queue.fail(error)


def taking_memory(function: _Function) -> _Function:
    """A function of what is recorded on all processes: where one lacks the memory for it, the job fails."""
    @functools.wraps(function)
    def call(*arguments: Any, **options: Any) -> Any:
        try:
            return function(*arguments, **options)
        except MemoryError as error:
            raise lacking(error) from error.__cause__

    return cast(_Function, call)


def needed(function: Callable[[], _Part]) -> _Part:
    """What this process needs for what all take part in: if memory is short, or a task has failed, the job fails."""
    try:
        return function()
    except (MemoryError, TaskError) as error:
        raise queue.fail(error) from error.__cause__


def is_planning() -> bool:
    """Whether operations are not executed now, but handed to somebody else: `explain`."""
    return _instead is not _noted


def stand_ins() -> StandIns | None:
    """What a program gets in the place of elements, where its job is simulated."""
    return queue.stand_ins


def _check_not_planning() -> None:
    if is_planning() and queue.stand_ins is None:
        raise RuntimeError("explain() plans a statement and does not execute it: the statement cannot read values, "
                           "nor local parts. Read them before, as in x = float(A.sum()), and explain what uses x")


@contextmanager
def dry_run(executor: Executor) -> Iterator[None]:
    """Hand operations to an executor that does not execute them, meanwhile."""
    global _instead
    before, _instead = _instead, executor
    try:
        with queue.supervision.paused():
            yield
    finally:
        _instead = before


@contextmanager
def in_place_of_the_job(other: Queue) -> Iterator[None]:
    """Hand operations to the queue of a simulated job, which executes nothing, meanwhile."""
    global queue, _instead
    before = queue, _instead
    with queue.supervision.paused():
        queue, _instead = other, _record
        try:
            yield
        finally:
            queue, _instead = before


def _at_exit() -> None:
    """Execute what is recorded, as others may wait for messages; never after an uncaught exception."""
    failed = False
    abort_after_uncaught()
    try:
        if queue.error is None and not _has_ended_by_an_exception():
            queue.finish()
            queue.supervision.end()
    except BaseException:  # the interpreter would print it and go on, while others wait
        failed = True
        sys.excepthook(*sys.exc_info())
    finally:
        try:
            if counts.timeline is not None:
                counts.timeline.write(world().communicator)
            queue.supervision.stop()
            progress.stop()
            jit.stop()
        finally:  # also where an interrupt comes by
            if queue.error is not None and queue.supervision.alarms is not None:
                queue.supervision.alarms.end(queue.error)
            if failed:
                _end_with_failure()


def _has_ended_by_an_exception() -> bool:
    """Whether the program has ended so. A job of several processes is aborted then, and does not come to its end."""
    may_come_here = queue.supervision.alarms is None or is_interactive()
    return may_come_here and last_exception() is not None


def _end_with_failure() -> None:
    """End with a status that says so, which the interpreter would not at this point; after all others that end."""
    atexit.unregister(_at_exit)
    atexit._run_exitfuncs()
    for stream in sys.stdout, sys.stderr:
        if stream is not None:
            stream.flush()
    from mpi4py import MPI

    if MPI.Is_initialized() and not MPI.Is_finalized():
        MPI.Finalize()
    os._exit(1)


def _in_forked_child() -> None:
    """Refuse all that is recorded in a fork of a process of the job: it shares its messages with nobody."""
    queue.refuse(refusal_of_forks())
    queue.supervision.alarms = None
    atexit.unregister(_at_exit)


appending.begin(sys.modules[__name__], floating_point.variable, _record_in_python, borrowed, lent)
atexit.register(_at_exit)
os.register_at_fork(after_in_child=_in_forked_child)
