"""The queue: it takes operations, which it records, or executes at once.

What has not been done often (see `tiers`) is not recorded, where that is cheaper, but executed at once.

The queue of a job is one object, as to ask another one would be a step of the interpreter for each operation. Its class
has layers, each of which knows those below alone: what is recorded and how it is handed to the engine (`backlog`), what
follows where something fails (`failing`), when what is recorded is executed (`flushing`), and what becomes of an
operation that comes.
"""

from __future__ import annotations

import functools
import threading
from collections.abc import Callable, Sequence
from operator import attrgetter
from types import CodeType
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from pgaspy.execution.borrowers import settled
from pgaspy.execution.direct import Direct, attempt, do_by_recipe
from pgaspy.execution.failing import check_room
from pgaspy.execution.flushing import Flushing
from pgaspy.execution.tiers import Tiers
from pgaspy.execution.transport import MpiTransport
from pgaspy.job.procgrid import World, world
from pgaspy.kernels.bindings import run_elementwise
from pgaspy.scheduling import floating_point
from pgaspy.scheduling.base import Storage, borrowers, lent
from pgaspy.scheduling.floating_point import state
from pgaspy.scheduling.operations import Computed, Recipe
from pgaspy.supervision.meetings import first_words

__all__ = ["Queue", "StandIns", "Work"]

Work = tuple[int, Sequence[int], Sequence[int], Sequence[int]]
"""A kernel's number, the shape that it passes through, and the addresses and strides of its operands."""

_is_called, _is_task = attrgetter("is_called"), attrgetter("is_task")


MAX_PASSING = 64
"""So often what is small is computed beside what is recorded, and does not use it, until that is executed: to see so
takes ten times as long as what is small does.
"""


class StandIns(Protocol):
    """What a program gets in the place of elements that are not computed, as its job is simulated."""

    def elements(self, shape: tuple[int, ...], dtype: np.dtype[Any]) -> NDArray[Any]:
        """In the place of values that it reads."""

    def part(self, shape: tuple[int, ...], dtype: np.dtype[Any]) -> Any:
        """In the place of a local view."""


class Queue(Flushing):
    """What takes the operations of a job.

    Attributes
    ----------
    next_tag
        The number of the next collective operation, which is its first tag.
    tiers
        Which calls are executed at once.
    stand_ins
        What the program gets in the place of elements, where nothing is executed.
    """

    __slots__ = ("_last_passed", "_n_passing", "_silent_state", "next_tag", "tiers")
    stand_ins: StandIns | None = None

    def __init__(self) -> None:
        super().__init__()
        self.next_tag = 0
        self.tiers = Tiers()
        self._last_passed = self._n_passing = 0  # the number of the operation that was passed last, and how often
        self._silent_state: object = self  # of NumPy, which asks for no floating-point errors

    def begin(self, job: World) -> None:
        """Be the queue of a job, whose processes wait for each other. Collective."""
        self.supervision.begin(job, self.engine, lambda: self.next_tag)
        if job.size > 1:
            self.engine.connect(MpiTransport(job.communicator), self.supervision.look)
        self._set_limit()

    def leave(self) -> None:
        """Be the queue of a job that has ended. Collective."""
        self.supervision.leave()
        self.engine.leave()

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
        own = [recipe, storages, values, -1, code, instruction]
        own[3] = number = self.next_tag  # and in what follows no thread, signal or collection of garbage comes by
        self.recorded.fields += own
        self.next_tag = number + n_tags
        if lent or not self.engine.overlaps:
            self._finish_what_is_seen(storages)

    def are_errors_asked(self) -> bool:
        """Whether floating-point errors of what is recorded next are to be told; the state is noted, if not."""
        if floating_point.is_telling():
            return False
        if self.stand_ins is None and floating_point.is_asked():
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
                    self.finish(cause="errstate", raises=False)  # others may wait for that before they come here
                    self.supervision.announce("np.errstate", (), (), meets=True)
                    words = first_words(world().communicator, words, self.supervision.look)
            if words:
                raise FloatingPointError(words)

    def is_clear(self) -> bool:
        """Whether nothing is under way on this only process, nor to be told, so that what is small, and is used by
        nothing that is recorded, may be computed at once. What that passes often is executed first.
        """
        engine = self.engine
        if self._runner or not (self.is_open and self.computes_at_once and engine.is_alone and engine.is_idle):
            return False
        if engine.failures and False in [poison.is_seen for poison in engine.failures]:
            return False
        if state() is not self._silent_state and self.are_errors_asked():
            return False
        return not self.recorded.fields or not self._is_passed_often() or not self._gives_way() or self.is_clear()

    def _is_passed_often(self) -> bool:
        """Note that what is small passes what is recorded; whether it has done so often since the last was recorded.

        In a loop, it has at the same place in each iteration, so that what is executed together stays the same.
        """
        last = self.recorded.n_before + len(self.recorded)
        if last != self._last_passed:
            self._last_passed, self._n_passing = last, 0
        self._n_passing += 1
        return self._n_passing >= MAX_PASSING

    def clears(self) -> bool:
        """Execute what is recorded on this only process, unless tasks are; whether `is_clear` then."""
        if not self.engine.is_alone or (state() is not self._silent_state and self.are_errors_asked()):
            return False
        return self._gives_way() and self.is_clear()

    def _gives_way(self) -> bool:
        """Execute what is recorded on this only process, unless tasks are; whether it was."""
        if not self._may_execute() or any(map(_is_task, self.recorded.recipes)):
            return False
        n_recorded = len(self.recorded)
        self.finish(raises=False)
        self.tiers.disturb(n_recorded)
        return True

    def may_compute(self, key: tuple[Any, ...], n_elements: int, storages: Sequence[Storage]) -> bool:
        """Whether to compute a call at once, not to record it: on one process, until that took as long as planning.

        What is recorded and uses these storages is executed before. The key is what tells calls apart; that one is
        taken for another now and then does no harm.
        """
        if state() is not self._silent_state and self.are_errors_asked():
            return False
        if not (self._may_execute() and self.tiers.admits(key, n_elements, self.engine.is_alone, False)
                and self._clear_way(storages)):
            return False
        self.n_at_once += 1
        return True

    def execute_at_once(self, recipe: Recipe, storages: tuple[Storage, ...], values: tuple[Any, ...],
                        code: CodeType | None, instruction: int) -> bool:
        """Execute an operation instead of recording it, if that is cheaper, and it has to wait for nothing; whether so.

        What is too large once, or has to wait for a task, is recorded from then on. What fails before a message is
        started is recorded, and fails again when it is executed.
        """
        if state() is not self._silent_state and self.are_errors_asked():
            return False
        recipe.is_cold, rank = False, world().rank
        if not self._may_execute() or not recipe.is_done_at_once(rank):
            return False
        n_elements = recipe.views[-1].size // world().size
        if not (self._admits((id(recipe),), n_elements, recipe.is_awaited) and self._clear_way(storages)):
            return False
        recipe.is_cold = True
        do = functools.partial(do_by_recipe, recipe, storages, values)
        is_local = recipe.is_local(rank)
        return self._attempt(recipe, storages, values, do, is_local, code, instruction) is not None

    def compute(self, call: Computed, storages: tuple[Storage, ...], values: tuple[Any, ...], work: Work | None,
                code: CodeType | None, instruction: int) -> None:
        """Compute a call at once, for which others do not wait, but take its number as well; see `may_compute`.

        `work` is what a kernel does here, if there is anything.
        """
        try:
            if work is not None:
                run_elementwise(*work)
            self._tell(call, storages, values, code, instruction)
        except BaseException as error:
            self._failed(error, storages[:call.n_outputs])
            raise

    def read_at_once(self, call: Computed, storages: tuple[Storage, ...], add_nodes: Callable[[Direct], None],
                     code: CodeType | None, instruction: int) -> Direct | None:
        """Execute at once what brings elements to where they are read; None where it is recorded, and waited for.

        Raises
        ------
        BaseException
            As `finish` does, when it is executed.
        """
        if self._refusable:
            return None
        direct = self.send_at_once((id(call),), call, storages, (), add_nodes, 0, code, instruction, is_awaited=True)
        if direct is not None and self.engine.has_failed:
            self._raise_failures(None)
        return direct

    def send_at_once(self, key: tuple[Any, ...], call: Computed, storages: tuple[Storage, ...],
                     values: tuple[Any, ...], add_nodes: Callable[[Direct], None], n_elements: int,
                     code: CodeType | None, instruction: int, is_awaited: bool = False) -> Direct | None:
        """Execute at once what has messages, by its nodes; None where it is recorded. The key is as for `may_compute`,
        and so is the number of elements.
        """
        if state() is not self._silent_state and self.are_errors_asked():
            return None
        if not (self._may_execute() and self._admits(key, n_elements, is_awaited) and self._clear_way(storages)):
            return None
        return self._attempt(call, storages, values, add_nodes, False, code, instruction)

    def _attempt(self, call: Recipe | Computed, storages: tuple[Storage, ...], values: tuple[Any, ...],
                 do: Callable[[Direct], None], is_local: bool, code: CodeType | None,
                 instruction: int) -> Direct | None:
        """Execute an operation, which may have messages unless it `is_local`; None if it was not executed."""
        is_alone = self.engine.is_alone
        tell = functools.partial(self._tell, call, storages, values, code, instruction) if not is_alone else _no_stamp
        thread = threading.get_ident()
        check_room()
        if self._runner:  # from here to where it is this one no other thread comes by
            self.check_free()
        try:
            self._runner = thread
            direct = attempt(self.engine, self.next_tag, storages, values, do, is_local, tell)
        except BaseException as error:
            self._failed(error, () if is_alone else storages[:call.n_outputs])
            raise
        finally:
            self._runner = 0
        self.n_at_once += direct is not None
        return direct

    def _admits(self, key: tuple[Any, ...], n_elements: int, is_awaited: bool) -> bool:
        """Whether to execute a call at once, as tiers tell; what the program waits for, in any case, unless anything is
        recorded that is executed with it.
        """
        if is_awaited and not self.recorded.fields:
            return True
        return self.tiers.admits(key, n_elements, self.engine.is_alone, True)

    def _may_execute(self) -> bool:
        """Whether nothing that will last is in the way of what is executed at once."""
        return (self._executes_at_once and self.error is None and not self._runner
                and self.engine.straight is None)

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
                if any(map(_is_task if self.engine.is_alone else _is_called, self.recorded.recipes)):
                    return False  # a task may raise, or take any time; and an exchange wait for others
                n_recorded = len(self.recorded)
                self._flush(self.engine.catch_up, None)
                self.tiers.disturb(n_recorded)
        if not self.engine.is_idle:
            for storage in storages:
                if self.engine.uses(storage):
                    self.finish(storage, raises=False)
        return not self.engine.has_failed or all(storage.poison is None for storage in storages)

    def _tell(self, recipe: Recipe | Computed, storages: tuple[Storage, ...], values: tuple[Any, ...],
              code: CodeType | None, instruction: int) -> int:
        """Take the number of what is executed at once, and have it compared with what other processes do.

        Returns the program's digest after it.
        """
        self.next_tag += recipe.n_tags
        return self.supervision.executed_at_once(recipe, storages, values, code, instruction)

    @property
    def n_recorded(self) -> int:
        """How many operations were recorded until now."""
        return self.recorded.n_before + len(self.recorded) + self.n_at_once


def _no_stamp() -> int:
    """Of the only process, which tells nobody."""
    return 0
