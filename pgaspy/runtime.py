"""The runtime: operations are recorded here, and executed when somebody needs what they compute.

They are flushed when a value or a local part is read, when there are many of them or they hold many bytes, by `sync`,
and at the end of the program. Flushes may fall anywhere on each process: no message depends on them. What is flushed is
brought to a normal form, operations with numbered bases, whose schedule is made once and found again; so a loop that
records the same structure in each iteration is planned once.
"""

from __future__ import annotations

import atexit
import functools
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from itertools import chain, compress, count
from operator import gt
from typing import Any

from pgaspy import environment, supervision
from pgaspy.base import Base
from pgaspy.checking import CheckedEngine
from pgaspy.engine import Engine, Run
from pgaspy.nodes import Node
from pgaspy.operations import Operation, Recipe
from pgaspy.procgrid import World, when_started, world
from pgaspy.recorded import Recorded
from pgaspy.scheduling import Schedule, build, may_be_postponed
from pgaspy.statistics import counts

__all__ = ["Executor", "Queue", "dry_run", "finish", "forget", "hold", "is_complete", "is_planning", "queue", "record",
           "sync"]

MAX_OPERATIONS = 256
"""Recorded operations are executed when they are so many."""

MAX_POSTPONED = 8
"""The most operations that are not executed yet when a value is read that does not depend on them."""

MAX_HELD_BYTES = 64 << 20
"""They are also executed when they hold so many bytes that nobody else does: copies of NumPy operands."""

MAX_CACHED_LENGTH, BYTES_PER_LENGTH = 1 << 19, 64
"""The cached schedules are forgotten when their normal forms are longer than this together, with so many bytes of the
buffers that they keep counted as one."""

Executor = Callable[[Operation], None]


class Queue:
    """What is recorded and not executed yet, and the run that is under way."""

    def __init__(self) -> None:
        self.max_operations = MAX_OPERATIONS
        self.held_bytes = 0
        self._recorded = Recorded()
        self._engine = Engine()
        self._engine.overlaps = environment.value("PGASPY_EXECUTOR") != "inorder"
        self._is_running = False
        self._structures: dict[tuple[Any, ...], _Structure] = {}
        self._cached_length = 0

    @property
    def overlaps(self) -> bool:
        """Whether operations are recorded and executed together, and not one after the other."""
        return self._engine.overlaps

    @overlaps.setter
    def overlaps(self, value: bool) -> None:
        self.finish()
        self._engine.overlaps = value
        self.forget()

    def record(self, recipe: Recipe, bases: tuple[Base, ...], values: tuple[Any, ...], number: int) -> None:
        """Take an operation; execute before that what is too much, and at once what a local view may see."""
        if self._is_running:
            raise RuntimeError("a task works on the local parts of its arrays; it cannot use global arrays, as these "
                               "take all processes")
        counts.n_recorded += 1
        try:
            if len(self._recorded.recipes) >= self.max_operations or self.held_bytes > MAX_HELD_BYTES:
                self._flush(self._engine.catch_up, "threshold")
        finally:  # as the others record it, too
            recorded = self._recorded
            recorded.recipes.append(recipe)
            recorded.bases += bases
            recorded.values.append(values)
            recorded.numbers.append(number)  # last: see `Recorded.is_whole`
        if Base.n_lent or not self._engine.overlaps:
            self._finish_what_is_seen(bases)

    def _finish_what_is_seen(self, bases: Iterable[Base]) -> None:
        """Execute the last operation where a local view may see what it does to bases; without overlap, in any case."""
        if not self._engine.overlaps:
            self.finish(cause="operation")
        for base in bases:
            if base.is_lent:
                self.finish(base, cause="lease")

    def finish(self, base: Base | None = None, cause: str | None = None) -> None:
        """Execute everything; or return when all is complete that reads or writes a base.

        Everything else makes progress meanwhile: on another process, somebody may wait for that. But what comes last,
        and nobody else can wait for, is postponed unless there is time for it: it is planned together with what is
        recorded next. The timeline names the cause, or the public function that was called.
        """
        if self._is_running:
            raise RuntimeError("a task cannot wait for global arrays")
        if base is None:
            if self._recorded or not self._engine.is_idle:
                self._flush(self._engine.finish, cause)
            return
        postponed = self._postponed(base)
        when_idle = None if postponed is None else functools.partial(self._begin, postponed)
        try:
            if self._recorded or not self._engine.is_idle:
                self._flush(functools.partial(self._engine.finish, base, when_idle), cause)
        finally:
            if postponed is not None:
                self._recorded.take_over(postponed)

    def _begin(self, postponed: Recorded) -> None:
        """Hand to the engine what was postponed; nothing of it is left."""
        self._recorded.take_over(postponed)
        self._engine.execute(self._next_run())

    def _postponed(self, base: Base) -> Recorded | None:
        """What is recorded last, and may wait although a value of a base is needed; taken from what is recorded."""
        recorded = self._recorded
        n, n_bases = len(recorded), len(recorded.bases)
        while n and len(recorded) - n < MAX_POSTPONED:
            bases = recorded.bases_before(n_bases, n - 1)
            if base in bases or not may_be_postponed(recorded.recipes[n - 1], world().rank):
                break
            n, n_bases = n - 1, n_bases - len(bases)
        return recorded.cut(n, n_bases) if n < len(recorded) else None

    def _flush(self, execute: Callable[[], None], cause: str | None) -> None:
        """Hand what is recorded to the engine, and execute of it what there is a cause for."""
        self._is_running = True
        timeline, n_operations, start = counts.timeline, len(self._recorded), time.perf_counter()
        try:
            if n_operations:
                self._engine.execute(self._next_run())
            execute()
        finally:
            self._is_running = False
            if timeline is not None:
                timeline.flushed(start, n_operations, cause)

    def use(self, engine: Engine) -> None:
        """Execute with another engine from now on, when nothing is recorded yet."""
        engine.overlaps, self._engine = self._engine.overlaps, engine

    def messages(self) -> list[tuple[Node, int, float]]:
        """The messages under way, for another thread: nodes, the numbers of their operations, and when they began."""
        under_way = [(run.nodes[k], run, start) for run, k, start in list(self._engine._under_way)]
        return [(node, run.numbers[node.position], start) for node, run, start in under_way]

    def is_complete(self, base: Base) -> bool:
        """Whether nothing is left to do that reads or writes a base."""
        return not (self._is_running or base in self._recorded.bases or any(
            run.n_uses[slot] for run in self._engine._runs for slot in run.slots_of(base)))

    def forget(self) -> None:
        """Forget the cached schedules."""
        self._structures.clear()
        self._cached_length = 0

    def _next_run(self) -> Run:
        """A run of what is recorded, which is not recorded any more."""
        recorded, self._recorded, self.held_bytes = self._recorded, Recorded(), 0
        if not recorded.is_whole:
            raise RuntimeError("this process was interrupted while it recorded an operation, and does not do what the "
                               "others do any more: start the job again")
        first_uses: dict[Base, int] = {}
        recipes, uses = tuple(recorded.recipes), tuple(map(first_uses.setdefault, recorded.bases, count()))
        counts.n_flushes += 1
        structure = self._structures.get((recipes, uses))
        if structure is None:
            if self._cached_length > MAX_CACHED_LENGTH:
                self.forget()
            structure = self._structures[recipes, uses] = _Structure(uses)
            self._cached_length += len(recipes) + len(uses)
        named = tuple(map(gt, _n_references(first_uses), structure.n_references))
        schedule = structure.schedules.get(named)
        if schedule is None:
            schedule = structure.schedules[named] = self._plan(recorded, [*first_uses], named)
        counts.n_fused += schedule.n_fused
        counts.n_kernels += schedule.n_kernels
        return Run(schedule, [*first_uses, *chain.from_iterable(recorded.values)], recorded.numbers)

    def _plan(self, operations: Recorded, bases: list[Base], named: tuple[bool, ...]) -> Schedule:
        start = time.perf_counter()
        slots = {base: slot for slot, base in enumerate(bases)}
        described = []
        n_memories = len(slots)
        for operation in operations:
            values = tuple(range(n_memories, n_memories + len(operation.values)))
            n_memories += len(values)
            described.append((operation.recipe, tuple(slots[used] for used in operation.bases), values))
        schedule = build(described, len(slots), n_memories, frozenset(compress(slots.values(), named)), world().rank,
                         self._engine.overlaps)
        self._cached_length += schedule.nbytes_kept // BYTES_PER_LENGTH
        counts.planned(start)
        return schedule


class _Structure:
    """Operations in their normal form.

    Attributes
    ----------
    n_references
        Per base, those of the operations and of who counts them. If there are more, somebody has a name for it.
    schedules
        One for each choice of bases that have names.
    """

    __slots__ = ("n_references", "schedules")

    def __init__(self, uses: tuple[int, ...]) -> None:
        """`uses` are the bases, in the order of their use, each by the number of its first one."""
        self.n_references = [n_uses + _REFERENCES_OF_COUNTING for n_uses in Counter(uses).values()]
        self.schedules: dict[tuple[bool, ...], Schedule] = {}


def _n_references(bases: Iterable[Base]) -> Iterator[int]:
    """How often each base is referred to."""
    return map(sys.getrefcount, bases)


def _references_of_counting() -> int:
    """How many references to a base there are while they are counted, besides those of the operations."""
    bases: list[Any] = [object()]
    first_uses = {bases[0]: 0}
    return next(_n_references(first_uses)) - len(bases)


_REFERENCES_OF_COUNTING = _references_of_counting()


queue = Queue()

_noted: Executor | None = None
"""What takes the operations of the program in the place of the queue, where they are noted."""

_instead: Executor | None = None
"""What takes them now: the same, unless they are planned."""

def _begin(job: World) -> None:
    """Have the program checked and watched, where the environment asks for it. Collective."""
    global _noted, _instead
    supervision.begin(job, queue.messages)
    if supervision.notes():
        _noted = _instead = _note_and_record
    if supervision.checker is not None:
        queue.use(CheckedEngine(supervision.checker.poll))


when_started.append(_begin)


def _note_and_record(operation: Operation) -> None:
    supervision.note(operation)
    queue.record(*operation)


def record(recipe: Recipe, bases: tuple[Base, ...], values: tuple[Any, ...] = ()) -> None:
    """Record an operation. Collective, unless the recipe says otherwise: every process records the same, in the same
    order.

    `bases` is a tuple that nobody else keeps: who holds a base besides has a name for it.
    """
    job = world()
    number = job.n_streams
    if recipe.is_collective:
        job.n_streams = number + len(bases) * (1 + job.size)
    if _instead is None:
        queue.record(recipe, bases, values, number)
    else:
        _instead(Operation(recipe, bases, values, number))


def hold(nbytes: int) -> None:
    """Note that recorded operations hold so many bytes more that nobody else does."""
    queue.held_bytes += nbytes


def finish(base: Base) -> None:
    """Execute all that is recorded and reads or writes a base; see `Queue.finish`. Not collective."""
    _check_not_planning()
    queue.finish(base)


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


def is_planning() -> bool:
    """Whether operations are not executed now, but handed to somebody else: `explain`."""
    return _instead is not _noted


def _check_not_planning() -> None:
    if is_planning():
        raise RuntimeError("explain() plans a statement and does not execute it: the statement cannot read values, "
                           "nor local parts")


@contextmanager
def dry_run(executor: Executor) -> Iterator[None]:
    """Hand operations to an executor that does not execute them, meanwhile."""
    global _instead
    before, _instead = _instead, executor
    try:
        with supervision.paused():
            yield
    finally:
        _instead = before


def _at_exit() -> None:
    """Execute what is recorded, as others may wait for messages; never after an uncaught exception."""
    try:
        if getattr(sys, "last_value", None) is None and getattr(sys, "last_exc", None) is None:
            supervision.announce("the end of the program")
            queue.finish()
            supervision.end()
    except BaseException:  # the interpreter would print it and go on, while others wait
        sys.excepthook(*sys.exc_info())
    finally:
        if counts.timeline is not None:
            counts.timeline.write(world().communicator)


atexit.register(_at_exit)
