"""The queue: it keeps the operations that are recorded, and flushes them when somebody needs their results.

A flush hands operations to the engine as a run. A value that is read causes a flush, and so do a local part that is
read, many recorded operations, many bytes that they hold, `sync`, and the end of the program. Each process may flush
anywhere, because no message depends on flushes.

What has not been done often (see `tiers`) is not recorded, where that is cheaper, but executed at once.
"""

from __future__ import annotations

import functools
import sys
import threading
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from itertools import repeat
from operator import attrgetter
from types import CodeType
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from pgaspy.execution.borrowers import settled
from pgaspy.execution.direct import Direct, attempt, do_by_recipe
from pgaspy.execution.engine import Engine
from pgaspy.execution.loops import Loops
from pgaspy.execution.runs import Run
from pgaspy.execution.schedules import Form, Schedules, form_of
from pgaspy.execution.stretches import Stretches
from pgaspy.execution.tiers import Tiers
from pgaspy.execution.transport import MpiTransport
from pgaspy.host import environment
from pgaspy.host.call_sites import frames_of_program, line_of, warn
from pgaspy.job.failures import BusyError, DivergenceError, JobError, Poison, is_interrupt
from pgaspy.job.procgrid import World, world
from pgaspy.job.statistics import counts
from pgaspy.kernels.bindings import run_elementwise
from pgaspy.scheduling import floating_point
from pgaspy.scheduling.base import Base, Storage, borrowers, came_back, lent
from pgaspy.scheduling.floating_point import state
from pgaspy.scheduling.operations import Computed, Recipe
from pgaspy.scheduling.recorded import Recorded, RecordedOperation
from pgaspy.scheduling.schedule import Schedule, may_be_postponed
from pgaspy.supervision.checking import first_words
from pgaspy.supervision.recorder import Supervision

__all__ = ["Queue", "StandIns", "Work"]

MAX_OPERATIONS, MAX_UNKNOWN = 512, 256
"""Recorded operations are executed when they are so many; when they are so many already, if they are no loop's."""

MAX_POSTPONED = 8
"""The most operations that are not executed yet when a value is read that does not depend on them."""

MAX_HELD_BYTES = 64 << 20
"""They are also executed when they hold so many bytes that nobody else does: copies of NumPy operands."""

Work = tuple[int, Sequence[int], Sequence[int], Sequence[int]]
"""A kernel's number, the shape that it passes through, and the addresses and strides of its operands."""

_is_called = attrgetter("is_called")


class StandIns(Protocol):
    """What a program gets in the place of elements that are not computed, as its job is simulated."""

    def elements(self, shape: tuple[int, ...], dtype: np.dtype[Any]) -> NDArray[Any]:
        """In the place of values that it reads."""

    def part(self, shape: tuple[int, ...], dtype: np.dtype[Any]) -> Any:
        """In the place of a local view."""


class Queue:
    """What is recorded and not executed yet, and the run that is under way.

    Attributes
    ----------
    recorded
        What is recorded, and not handed to the engine yet.
    engine
        What executes it.
    error
        Why no operation can be executed any more, where that is so.
    tiers
        Which calls are executed at once.
    next_tag
        The number of the next collective operation, which is its first tag.
    n_at_once
        How many operations were executed at once, instead of being recorded.
    computes_at_once
        Whether what is small, and not done often, is executed at once where it can be; or in turn, if it is recorded.
    is_open
        Whether nothing that lasts is in the way of computing what is small, on an only process: see `is_clear`.
    stand_ins
        What the program gets in the place of elements, where nothing is executed.
    """

    computes_at_once = True
    stand_ins: StandIns | None = None

    def __init__(self) -> None:
        self.next_tag = 0
        self._held_bytes = 0
        self.error: Exception | None = None
        self.supervision = Supervision()
        self.recorded = Recorded()
        self.engine = Engine()
        self.engine.overlaps = environment.value("PGASPY_EXECUTOR") != "inorder"
        self._runner = 0  # the thread that executes operations, or a task; 0 while none does
        self._loops = Loops(MAX_OPERATIONS, MAX_UNKNOWN)
        self._silent_state: object = self  # of NumPy, which asks for no floating-point errors
        self._schedules = Schedules()
        self._stretches = Stretches()
        self.tiers = Tiers()
        self._refusable: set[Storage] = set()  # of operations that may refuse what they are given
        self.n_at_once = 0
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

    def _set_limit(self) -> None:
        """Note from which number of fields on something is to be seen to before an operation is recorded."""
        if self.engine.has_failed and self.error is None:
            self.engine.recover()
        is_sound = self.error is None and not self._refusable
        is_plain = is_sound and not self.engine.has_failed and self._held_bytes <= MAX_HELD_BYTES
        self._max_fields = self._loops.n_due * Recorded.N_FIELDS if is_plain else 0
        self.is_open = is_sound and self.engine.overlaps and counts.timeline is None

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

    def begin(self, job: World) -> None:
        """Be the queue of a job, whose processes wait for each other. Collective."""
        self.supervision.begin(job, self.engine, lambda: self.next_tag)
        if job.size > 1:
            self.engine.connect(MpiTransport(job.communicator), self.supervision.look)
        self._set_limit()

    def record(self, recipe: Recipe, storages: tuple[Storage, ...], values: tuple[Any, ...], code: CodeType,
               instruction: int) -> None:
        """Take an operation; execute before that what is too much, and at once what a local view may see.

        It is recorded by one step of the interpreter: who is interrupted finds it recorded, or not.
        """
        if self._runner:
            self.check_free()
        if state() is not self._silent_state and self.are_errors_asked():
            self._record_telling(recipe, storages, values, code, instruction)
            return
        if borrowers:
            storages = settled(recipe, storages)
        if len(self.recorded.fields) >= self._max_fields:
            self._make_room(recipe, storages)
        n_tags = recipe.n_tags
        number = self.next_tag  # and in what follows no other thread or signal comes by
        self.recorded.fields += (recipe, storages, values, number, code, instruction)
        self.next_tag = number + n_tags
        if lent or not self.engine.overlaps:
            self._finish_what_is_seen(storages)

    def are_errors_asked(self) -> bool:
        """Whether floating-point errors of what is recorded next are to be told; the state is noted, if not."""
        if self.stand_ins is not None or floating_point.is_telling():
            return False
        if floating_point.is_asked():
            return True
        self._silent_state = state()
        return False

    def _record_telling(self, recipe: Recipe, storages: tuple[Storage, ...], values: tuple[Any, ...], code: CodeType,
                        instruction: int) -> None:
        """Take an operation and execute it by itself, and tell what floating-point errors it finds.

        Raises
        ------
        FloatingPointError
            If some are to be raised; on all processes, if any has found some.
        """
        self.finish(cause="errstate")
        with floating_point.noted(recipe.errors_in) as found:
            self.record(recipe, storages, values, code, instruction)
            self.finish(cause="errstate")
        self.tell_errors(found, recipe.is_collective)

    def tell_errors(self, found: floating_point.Found, is_collective: bool = True) -> None:
        """Tell what floating-point errors were found. Collective, if what has found them is.

        Raises
        ------
        FloatingPointError
            See `_record_telling`.
        """
        floating_point.tell(found)
        if floating_point.raises():
            words = floating_point.to_be_raised(found)
            if is_collective and self.supervision.alarms is not None:
                with self.together():
                    words = first_words(world().communicator, words, self.supervision.look)
            if words:
                raise FloatingPointError(words)

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

    def is_clear(self) -> bool:
        """Whether nothing is under way on this only process, nor to be told, so that what is small, and is used by
        nothing that is recorded, may be computed at once.
        """
        engine = self.engine
        if self._runner or not (self.is_open and self.computes_at_once and engine.is_alone and engine.is_idle):
            return False
        if engine.failures and False in [poison.is_seen for poison in engine.failures]:
            return False
        return state() is self._silent_state or not self.are_errors_asked()

    def clears(self) -> bool:
        """Execute what is recorded on this only process, unless tasks are; whether `is_clear` then."""
        if not (self.engine.is_alone and self._may_execute()) or any(map(_is_called, self.recorded.recipes)):
            return False
        if state() is not self._silent_state and self.are_errors_asked():
            return False
        n_recorded = len(self.recorded)
        self.finish(raises=False)
        self.tiers.disturb(n_recorded)
        return self.is_clear()

    def may_compute(self, key: tuple[Any, ...], n_elements: int, storages: Sequence[Storage]) -> bool:
        """Whether to compute a call at once, not to record it: on one process, until that took as long as planning.

        What is recorded and uses these storages is executed before. The key is what tells calls apart; that one is
        taken for another now and then does no harm.
        """
        if state() is not self._silent_state and self.are_errors_asked():
            return False
        if not self._may_execute() or not self._admits(key, n_elements) or not self._clear_way(storages):
            return False
        self.n_at_once += 1
        return True

    def execute(self, recipe: Recipe, storages: tuple[Storage, ...], values: tuple[Any, ...], code: CodeType | None,
                instruction: int) -> bool:
        """Execute an operation instead of recording it, if that is cheaper, and it has to wait for nothing; whether so.

        What is too large once, or has to wait for a task, is recorded from then on. What fails before a message is
        started is recorded, and fails again when it is executed.
        """
        if state() is not self._silent_state and self.are_errors_asked():
            return False
        recipe.is_cold, rank = False, world().rank
        if not self._may_execute() or not recipe.is_done_at_once(rank):
            return False
        if not self._admits((id(recipe),), recipe.views[-1].size // world().size) or not self._clear_way(storages):
            return False
        recipe.is_cold = True
        do = functools.partial(do_by_recipe, recipe, storages, values)
        is_local = recipe.is_local(rank)
        return self._attempt(recipe, storages, values, do, is_local, code, instruction) is not None

    def compute(self, call: Computed, storages: Sequence[Storage], work: Work | None, code: CodeType | None,
                instruction: int) -> None:
        """Compute a call at once, for which others do not wait, but take its number as well; see `may_compute`.

        `work` is what a kernel does here, if there is anything.
        """
        try:
            if work is not None:
                run_elementwise(*work)
            self._tell(call, storages, code, instruction)
        except BaseException as error:
            self._failed(error, storages[:call.n_outputs])
            raise

    def read(self, call: Computed, storages: tuple[Storage, ...], add_nodes: Callable[[Direct], None],
             code: CodeType | None, instruction: int) -> Direct | None:
        """Execute at once what brings elements to where they are read; None where it is recorded, and waited for.

        Raises
        ------
        BaseException
            As `finish` does, when it is executed.
        """
        if self._refusable:
            return None
        direct = self.exchange((id(call),), call, storages, add_nodes, code, instruction)
        if direct is not None and self.engine.has_failed:
            self._raise_failures(None)
        return direct

    def exchange(self, key: tuple[Any, ...], call: Computed, storages: tuple[Storage, ...],
                 add_nodes: Callable[[Direct], None], code: CodeType | None, instruction: int) -> Direct | None:
        """Execute at once what has messages, by its nodes; None where it is recorded. The key is as for `may_compute`.
        """
        if state() is not self._silent_state and self.are_errors_asked():
            return None
        if not (self._may_execute() and self._admits(key, 0) and self._clear_way(storages)):
            return None
        return self._attempt(call, storages, (), add_nodes, False, code, instruction)

    def _attempt(self, call: Recipe | Computed, storages: tuple[Storage, ...], values: tuple[Any, ...],
                 do: Callable[[Direct], None], is_local: bool, code: CodeType | None,
                 instruction: int) -> Direct | None:
        """Execute an operation, which may have messages unless it `is_local`; None if it was not executed."""
        is_alone = self.engine.is_alone
        tell = functools.partial(self._tell, call, storages, code, instruction) if not is_alone else _no_stamp
        try:
            self._runner = threading.get_ident()
            direct = attempt(self.engine, self.next_tag, storages, values, do, is_local, tell)
        except BaseException as error:
            self._failed(error, () if is_alone else storages[:call.n_outputs])
            raise
        finally:
            self._runner = 0
        self.n_at_once += direct is not None
        return direct

    def _may_execute(self) -> bool:
        """Whether nothing that will last is in the way of what is executed at once."""
        return (self._executes_at_once and self.error is None and not self._runner
                and self.engine.straight is None)

    @property
    def _executes_at_once(self) -> bool:
        """Whether anything is executed at once in this job."""
        return self.computes_at_once and self.engine.overlaps and counts.timeline is None

    def _admits(self, key: tuple[Any, ...], n_elements: int) -> bool:
        """See `Tiers.admits`."""
        return self.tiers.admits(key, n_elements, self.engine.is_alone)

    def _clear_way(self, storages: Sequence[Storage]) -> bool:
        """See to it that nothing is recorded that has to come before what uses some storages; whether that is so.

        What is recorded is executed, unless tasks are: on several processes all of it gets under way, as others may
        wait for its messages, and as the program's digest is that of all operations in their order. It is not so of
        what is poisoned.
        """
        if not self._refusable.isdisjoint(storages):
            return False
        if self.recorded.fields:
            recorded = self.recorded.storages
            if not self.engine.is_alone or any(storage in recorded for storage in storages):
                if any(map(_is_called, self.recorded.recipes)):
                    return False  # a task may raise, or take any time
                n_recorded = len(self.recorded)
                self._flush(self.engine.catch_up, None)
                self.tiers.disturb(n_recorded)
        if not self.engine.is_idle:
            for storage in storages:
                if self.engine.uses(storage):
                    self.finish(storage, raises=False)
        return not self.engine.has_failed or all(storage.poison is None for storage in storages)

    def _tell(self, recipe: Recipe | Computed, storages: Sequence[Storage], code: CodeType | None,
              instruction: int) -> int:
        """Take the number of what is executed at once, and have it compared with what other processes do.

        Returns the program's digest after it.
        """
        self.next_tag += recipe.n_tags
        return self.supervision.executed_at_once(recipe, storages, code, instruction)

    def _failed(self, error: BaseException, outputs: Sequence[Storage] = ()) -> None:
        """Fail the job, if others wait for this process; raise the error, if that is another one then.

        The outputs are those of what was executed at once, of which nobody knows how far it got.
        """
        found = self.fail(error)
        for storage in outputs:
            storage.poison = Poison(self.error or error, "")
        if found is not error:
            raise found from found.__cause__

    def hold(self, nbytes: int) -> None:
        """Note that recorded operations hold so many bytes more that nobody else does."""
        self._held_bytes += nbytes
        if self._held_bytes > MAX_HELD_BYTES:
            self._set_limit()

    @property
    def n_recorded(self) -> int:
        """How many operations were recorded until now."""
        return self.recorded.n_before + len(self.recorded) + self.n_at_once

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

    @contextmanager
    def closed(self) -> Iterator[None]:
        """Refuse all calls meanwhile, as while a task is called."""
        self.check_free()
        self._runner = threading.get_ident()
        try:
            yield
        finally:
            self._runner = 0

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
            pieces = self._loops.due(self.recorded.n_before, self.recorded.recipes)
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
        try:
            self._runner = threading.get_ident()
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
            if engine.has_failed:
                self._set_limit()
        except BaseException as error:
            self._failed(error)
            raise
        finally:
            self._runner = 0
            if timeline is not None:
                timeline.flushed(start, n_operations, cause)

    def _resume(self) -> None:
        """Go on with what was interrupted; what the engine has is not recorded any more."""
        run = self.engine.straight
        if run is not None and run.taken_from is self.recorded:
            _, self.recorded = self.recorded.split(run.n_taken)
        self.engine.resume()

    def _hand_over_rest(self) -> None:
        """Hand to the engine what was postponed."""
        self._hand_over(len(self.recorded))

    def _hand_over(self, n: int) -> None:
        """Have the engine execute the first n operations."""
        engine = self.engine
        if engine.has_failed:
            if n > 1 and any(storage.poison is not None for storage in self.recorded.storages):
                self._hand_over_one_by_one(n)
                return
            if n == 1 and self._is_left_out():
                _, self.recorded = self.recorded.split(1)
                return
        self._hand_over_any(n)

    def _hand_over_any(self, n: int, may_be_in_turn: bool = True, may_be_cut: bool = True) -> None:
        """The same, whatever is poisoned. What may be interrupted before it is the engine's leaves them recorded."""
        engine, recorded = self.engine, self.recorded
        first, rest = recorded.split(n)
        n_fields = len(first.fields) + len(rest.fields)
        try:
            form = form_of(first, rest)
            schedule, lengths = self._schedules.known(form), [n]
            if schedule is None and may_be_cut:
                lengths = self._stretches.lengths(form.recipes)
            is_in_turn = schedule is None and may_be_in_turn and len(lengths) == 1 and self._are_done_in_turn(form)
            run = None if is_in_turn or len(lengths) > 1 else self._run_of(first, form, schedule)
        except Exception as error:
            if is_interrupt(error) or (n == 1 and not engine.is_alone):
                raise
            self._plan_failed(n, error)
            return
        if not rest.fields:
            self._held_bytes = 0
        if run is None:
            del recorded, first, form  # so that arrays go when nothing uses them any more
            if is_in_turn:
                self._do_in_turn(n)
            else:
                for length in lengths:
                    self._hand_over_any(length, may_be_cut=False)
            return
        if not engine.is_alone:
            run.stamps = self.supervision.executed(first, run.schedule.stamped)
        run.taken_from, run.n_taken = recorded, n
        engine.take(run)
        self.recorded = rest
        rest.fields += recorded.fields[n_fields:]  # of another thread: it adds nothing to these any more
        run.taken_from = None
        dropped = map(run.memories.__getitem__, run.schedule.dropped)
        deque(map(setattr, dropped, repeat("name"), repeat(came_back)), maxlen=0)
        del recorded, first, form  # so that arrays go when the run drops them
        engine.resume()

    def _hand_over_pieces(self, pieces: Iterable[int]) -> None:
        """Hand operations to the engine in pieces of so many, as schedules of a loop have them."""
        for n in pieces:
            self._hand_over(n)
        self._set_limit()

    def _pieces_of_all(self, n: int) -> Iterator[int]:
        """How many of the first n operations, of which some are those of a loop, are handed over together."""
        return self._loops.all(self.recorded.n_before, self.recorded.recipes[:n])

    def _hand_over_one_by_one(self, n: int) -> None:
        """Hand to the engine what cannot be handed over together."""
        for _ in range(n):
            self._hand_over(1)

    def _is_left_out(self) -> bool:
        """Whether the first operation uses what is poisoned, so that what it writes is as well."""
        first = self.recorded[0]
        if all(storage.poison is None for storage in first.storages):
            return False
        for storage in first.storages:
            self.engine.finish(storage)  # what was recorded before still finds it as it was
        poisons = [storage.poison for storage in first.storages
                   if storage.poison is not None and not first.recipe.overwrites(first.storages, storage)]
        if poisons and first.recipe.is_collective and not self.engine.is_alone:
            raise poisons[0].show()  # others may wait for what it sends
        for storage in first.storages[:first.recipe.n_outputs]:
            storage.poison = poisons[0] if poisons else None
        return bool(poisons)

    def _plan_failed(self, n: int, error: Exception) -> None:
        """Of operations that cannot be planned together, those that cannot be planned alone are poisoned."""
        if n > 1:
            warn(f"pgaspy could not plan {n} operations together, and executes them one by one: "
                 f"{type(error).__name__}: {error}", RuntimeWarning)
            self._hand_over_one_by_one(n)
            return
        first = self.recorded[0]
        poison = self.engine.poison(error, first.line)
        for storage in first.storages[:first.recipe.n_outputs]:
            storage.poison = poison
        _, self.recorded = self.recorded.split(1)
        self._set_limit()

    def refuse(self, error: Exception) -> None:
        """Raise this error from now on, instead of recording or executing anything."""
        self.error = error
        self._set_limit()

    def fail(self, error: BaseException) -> BaseException:
        """Fail the job, if others wait for this process, which could not do its part; what is to be raised."""
        alarms, transport = self.supervision.alarms, self.engine.transport
        if self.engine.is_alone or alarms is None or self.error is not None:
            return error
        error = self.supervision.explained(error, transport is not None and isinstance(error, transport.error))
        failure = None
        if isinstance(error, JobError | DivergenceError):
            self.error = error
            if unseen := [poison for poison in self.engine.failures if not poison.is_seen]:
                error = unseen[0].show()  # its own error first
        else:
            frames = frames_of_program(sys._getframe())
            failure = JobError(world().rank, line_of(frames[0]) if frames else "", f"{type(error).__name__}: {error}")
            self.error = failure
        engine_error = self.error if isinstance(self.error, JobError) else JobError(world().rank, "", str(self.error))
        self.engine.abandon(engine_error)
        for n in range(len(self.recorded)):
            operation = self.recorded[n]
            for storage in operation.storages[:operation.recipe.n_outputs]:
                storage.poison = Poison(engine_error, "")
        self.recorded = Recorded(n_before=self.recorded.n_before + len(self.recorded))
        self._set_limit()
        if failure is not None:
            alarms.tell(failure)  # last, as it may fail itself
        return error

    def leave(self) -> None:
        """Be the queue of a job that has ended. Collective."""
        self.supervision.leave()
        self.engine.leave()

    def is_complete(self, base: Base) -> bool:
        """Whether nothing is left to do that reads or writes a base, and it is what was recorded."""
        storage = base.storage.lender
        return storage.poison is None and not (
            storage.is_lost or self._runner or storage in self.recorded.storages or self.engine.uses(storage))

    def forget(self) -> None:
        """Forget the cached schedules."""
        self._schedules.forget()
        self._stretches.forget()

    def _are_done_in_turn(self, form: Form) -> bool:
        """Whether operations of this form are executed one after the other: on several processes, the first time that
        they come together, where to make a schedule of them would take longer.
        """
        if (self.engine.is_alone or floating_point.is_telling() or not self._executes_at_once
                or not self._schedules.is_new(form)):
            return False
        rank, recipes = world().rank, form.recipes
        return len(recipes) > 1 and all(recipe.is_done_at_once(rank) or recipe.elementwise is None
                                        for recipe in recipes)

    def _do_in_turn(self, n: int) -> None:
        """Execute the first n operations so: each at once, or by a schedule of its own."""
        for _ in range(n):
            operation = self.recorded[0]
            for storage in operation.storages:
                if self.engine.uses(storage):
                    self.engine.finish(storage)
            if all(storage.poison is None for storage in operation.storages) and self._is_done(operation):
                _, self.recorded = self.recorded.split(1)
            else:
                self._hand_over_any(1, may_be_in_turn=False)

    def _is_done(self, operation: RecordedOperation) -> bool:
        """Execute an operation at once, if it may be, and does not fail before others are told of it; whether so."""
        (recipe, storages, values, number, code, instruction), rank = operation, world().rank
        if not (recipe.is_collective and recipe.is_done_at_once(rank)):
            return False
        tell = functools.partial(self.supervision.executed_at_once, recipe, storages, code, instruction)
        do = functools.partial(do_by_recipe, recipe, storages, values)
        return attempt(self.engine, number, storages, values, do, recipe.is_local(rank), tell) is not None

    def _run_of(self, recorded: Recorded, form: Form, schedule: Schedule | None) -> Run:
        """A run of operations, of this form and by this schedule, if they have one."""
        if schedule is None:
            may_be_in_turn = self.computes_at_once and self.engine.is_alone and self.engine.overlaps
            schedule = self._schedules.made(recorded, form, may_be_in_turn, self.engine.overlaps)
        counts.n_flushes += 1
        counts.n_fused += schedule.n_fused
        counts.n_kernels += schedule.n_kernels
        _, _, values, *callers = recorded.columns()
        return Run(schedule, [*form.named, *values], *callers)


def _no_stamp() -> int:
    """Of the only process, which tells nobody."""
    return 0
