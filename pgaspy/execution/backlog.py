"""The backlog: what is recorded and not executed yet, and how the first operations of it are handed to the engine.

They become a run, by the schedule that is found for them, or made. Those that have none may be cut beside what comes
again (see `stretches`); or they are executed in turn, where to plan them would take longer. They come one by one where
they cannot be planned together, or where something is poisoned.
"""

from __future__ import annotations

import functools
from collections import deque
from itertools import repeat

from pgaspy.execution.direct import attempt, do_by_recipe
from pgaspy.execution.engine import Engine
from pgaspy.execution.runs import Run
from pgaspy.execution.schedules import Awaiting, Form, Schedules, form_of
from pgaspy.execution.stretches import Stretches
from pgaspy.host import environment
from pgaspy.host.call_sites import warn
from pgaspy.job.failures import JobError, Poison, is_interrupt
from pgaspy.job.procgrid import world
from pgaspy.job.statistics import counts
from pgaspy.scheduling import floating_point
from pgaspy.scheduling.base import came_back
from pgaspy.scheduling.recorded import Recorded, RecordedOperation
from pgaspy.scheduling.schedule import Schedule
from pgaspy.supervision.recorder import Supervision

__all__ = ["Backlog"]


class Backlog:
    """What is recorded, and how it is handed over.

    Attributes
    ----------
    recorded
        What is recorded, and not handed to the engine yet.
    engine
        What executes it.
    supervision
        What has it compared with what other processes do.
    computes_at_once
        Whether what is small, and not done often, is executed at once where it can be; or in turn, if it is recorded.
    """

    __slots__ = ("__dict__", "engine", "recorded", "supervision")
    computes_at_once = True

    def __init__(self) -> None:
        self.recorded = Recorded()
        self.engine = Engine()
        self.engine.overlaps = environment.value("PGASPY_EXECUTOR") != "inorder"
        self.supervision = Supervision()
        self._schedules = Schedules()
        self._stretches = Stretches()

    def forget(self) -> None:
        """Forget the cached schedules."""
        self._schedules.forget()
        self._stretches.forget()

    @property
    def _executes_at_once(self) -> bool:
        """Whether anything is executed at once in this job."""
        return self.computes_at_once and self.engine.overlaps and counts.timeline is None

    def _resume(self) -> None:
        """Go on with what was interrupted; what the engine has is not recorded any more."""
        run = self.engine.straight
        if run is not None and run.taken_from is self.recorded:
            self._leave_out(run.n_taken)
        self.engine.resume()

    def _leave_out(self, n: int) -> None:
        """Have the first n operations, which are the engine's or are given up, recorded no more."""
        recorded, rest = self.recorded, self.recorded.without(n)
        n_fields = n * Recorded.N_FIELDS + len(rest.fields)
        self.recorded = rest
        rest.fields += recorded.fields[n_fields:]  # of another thread: it adds nothing to these any more

    def _hand_over(self, n: int, may_be_cut: bool = True, awaiting: Awaiting | None = None) -> None:
        """Have the engine execute the first n operations, if they may be cut, in stretches; see `form_of`."""
        engine = self.engine
        if engine.has_failed:
            if n > 1 and any(storage.poison is not None for storage in self.recorded.storages):
                self._hand_over_one_by_one(n)
                return
            if n == 1 and self._is_left_out():
                self._leave_out(1)
                return
        self._hand_over_any(n, may_be_cut=may_be_cut, awaiting=awaiting)

    def _hand_over_rest(self) -> None:
        """Hand to the engine what was postponed: as much of it as can be is done while messages are under way."""
        self._hand_over(len(self.recorded), awaiting=self.engine.awaiting if world().has_network else None)

    def _hand_over_any(self, n: int, may_be_in_turn: bool = True, may_be_cut: bool = True,
                       awaiting: Awaiting | None = None) -> None:
        """The same, whatever is poisoned. What may be interrupted before it is the engine's leaves them recorded."""
        engine, recorded = self.engine, self.recorded
        first = recorded.first(n)
        try:
            form = form_of(first, recorded, awaiting)
            schedule, lengths = self._schedules.known(form), [n]
            if schedule is None and may_be_cut and not self._schedules.stored_by(form):
                lengths = self._stretches.lengths(form.recipes)
            is_in_turn = schedule is None and may_be_in_turn and len(lengths) == 1 and self._are_done_in_turn(form)
            run = None if is_in_turn or len(lengths) > 1 else self._run_of(first, form, schedule)
        except Exception as error:
            if is_interrupt(error) or (n == 1 and not engine.is_alone):
                raise
            self._plan_failed(n, error)
            return
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
        self._leave_out(n)
        run.taken_from = None
        dropped = map(run.memories.__getitem__, run.schedule.dropped)
        deque(map(setattr, dropped, repeat("name"), repeat(came_back)), maxlen=0)
        del recorded, first, form  # so that arrays go when the run drops them
        engine.resume()

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
        self._leave_out(1)

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
                self._leave_out(1)
            else:
                self._hand_over_any(1, may_be_in_turn=False)

    def _is_done(self, operation: RecordedOperation) -> bool:
        """Execute an operation at once, if it may be, and does not fail before others are told of it; whether so."""
        (recipe, storages, values, number, code, instruction), rank = operation, world().rank
        if not (recipe.is_collective and recipe.is_done_at_once(rank)):
            return False
        tell = functools.partial(self.supervision.executed_at_once, recipe, storages, values, code, instruction)
        do = functools.partial(do_by_recipe, recipe, storages, values)
        return attempt(self.engine, number, storages, values, do, recipe.is_local(rank), tell) is not None

    def abandon(self, error: JobError) -> None:
        """Give up all that is recorded, or under way, as the job has failed: its results are poisoned."""
        self.engine.abandon(error)
        for n in range(len(self.recorded)):
            operation = self.recorded[n]
            for storage in operation.storages[:operation.recipe.n_outputs]:
                storage.poison = Poison(error, "")
        self.recorded = Recorded(n_before=self.recorded.n_before + len(self.recorded))
