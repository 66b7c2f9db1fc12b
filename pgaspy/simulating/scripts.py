"""Traces: what one process of a job records and waits for, and when, as steps that the player plays.

The program runs with a real queue, so that operations are cut, fused and planned as they would be. Its engine executes
nothing: it notes the runs that it gets, and what the program waits for.
"""

from __future__ import annotations

import contextlib
import io
import itertools
import math
import runpy
import sys
import time
import weakref
from array import array
from collections.abc import Callable, Hashable, Iterator, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from random import Random
from typing import Any, NoReturn

import numpy as np
from numpy.typing import NDArray

from pgaspy.execution import recording
from pgaspy.execution.engine import IDLE_SECONDS
from pgaspy.execution.queue import Queue
from pgaspy.execution.runs import Run, conflicts_of
from pgaspy.execution.tiers import Tiers
from pgaspy.host.call_sites import frames_of_program, line_of
from pgaspy.job.defaults import set_anew
from pgaspy.job.procgrid import simulated
from pgaspy.planning.boxes import Box
from pgaspy.planning.pieces import local_view_shape, storage_geometry
from pgaspy.planning.trees import flood_targets
from pgaspy.planning.view import View
from pgaspy.scheduling.base import Storage
from pgaspy.scheduling.nodes import TaskCall
from pgaspy.simulating.drafts import NOT_YET, Drafts
from pgaspy.simulating.exits import Exits
from pgaspy.simulating.graphs import Begin, Mark, Pass, Step, Wait, Work, graph
from pgaspy.simulating.interpreter import Stopwatch
from pgaspy.simulating.parts import Clock, Part
from pgaspy.simulating.settings import Settings, SimulationError
from pgaspy.supervision.digests import Digests

__all__ = ["CommandLine", "LocalShape", "Script", "conflicts", "script_of"]

class _Enough(BaseException):
    """The program has read as many values as it is to."""


@dataclass(frozen=True)
class CommandLine:
    """A file, or a module, and its arguments."""

    name: str
    is_module: bool
    arguments: Sequence[str] = ()

    def run(self, at_end: Callable[[], None]) -> None:
        """Run it, as Python does, and call `at_end` while its names are there.

        What it imports of its own is forgotten then, with the arrays that that keeps.
        """
        argv, path, modules = sys.argv, sys.path, {*sys.modules}
        sys.argv, sys.path = [self.name, *self.arguments], [str(self._folder), *path]
        try:
            try:
                names = self._run()
                at_end()
                del names
            except SystemExit:  # it keeps the names
                at_end()
                raise
        finally:
            sys.argv, sys.path = argv, path
            for name in {*sys.modules} - modules:
                if self.has(name):
                    del sys.modules[name]

    def has(self, name: str) -> bool:
        """Whether a module is the program, or a file of it, and not of a library."""
        return name == "__main__" or (name in sys.modules and _is_of_program(sys.modules[name], self._folder))

    @property
    def _folder(self) -> Path:
        return Path.cwd() if self.is_module else Path(self.name).resolve().parent

    def _run(self) -> dict[str, Any]:
        """Its names, in the end."""
        if self.is_module:
            return runpy.run_module(self.name, run_name="__main__", alter_sys=True)
        return runpy.run_path(self.name, run_name="__main__")


def _is_of_program(module: Any, folder: Path) -> bool:
    """Whether a module is a file of the program in this folder, and not of a library that is installed there."""
    path = Path(getattr(module, "__file__", None) or "")
    return (path.suffix == ".py" and path.is_relative_to(folder) and "site-packages" not in path.parts
            and module.__name__.partition(".")[0] != "pgaspy")


class AllDigests(Digests):
    """Those of a program from its beginning.

    Attributes
    ----------
    taken
        They, in pairs, but those that nobody has taken yet.
    """

    def __init__(self) -> None:
        super().__init__()
        self.taken = array("q")

    def take_pending(self) -> bytes:
        """See `ProgramDigest`."""
        found = super().take_pending()
        self.taken.frombytes(found)
        return found


@dataclass
class Script:
    """What one process does.

    Attributes
    ----------
    steps
        In their order.
    grids
        Those of its arrays.
    overlaps
        Whether messages are hidden behind computing.
    status
        The program's, if it ended with one after it had read values, which are not those that it would have found.
    digests
        Of the collective operations, and of its end: those of others are the same.
    seconds
        Of the processor, to make it.
    """

    steps: list[Step] = field(default_factory=list)
    grids: set[tuple[int, ...]] = field(default_factory=set)
    overlaps: bool = True
    status: int | str | None = None
    digests: AllDigests = field(default_factory=AllDigests)
    seconds: float = 0.0

    def messages(self) -> Iterator[tuple[Work, int]]:
        """All of its messages, each with its tag."""
        for step in self.steps:
            if isinstance(step, Begin):
                for node in step.graph.nodes:
                    if node.is_communication:
                        yield node, step.numbers[node.position] + node.tag


def script_of(program: CommandLine, size: int, rank: int, settings: Settings) -> Script:
    """The script of one process of a job.

    Raises
    ------
    SimulationError
        If it cannot be simulated, or fails.
    """
    found = Script()
    queue = _Queue(found, rank, size, settings)
    exits = Exits(program.has, partial(_refuse, "os._exit ends a process without its job"))

    def end() -> None:
        exits.call()
        queue.finish()

    start = time.thread_time()
    with (simulated(size, rank, _Communicator(queue, rank, size)), set_anew(),  # type: ignore[arg-type]
          recording.in_place_of_the_job(queue), contextlib.redirect_stdout(io.StringIO()), exits.stand_in()):
        try:
            program.run(end)
        except _Enough:
            pass
        except SystemExit as error:
            if queue.has_read:
                found.status = error.code
            elif error.code not in (None, 0):
                raise SimulationError(f"the program ends with status {error.code!r}") from error
        except SimulationError:
            raise
        except Exception as error:
            raise SimulationError(f"the program raises {type(error).__name__}: {error}{_place_of(error)}") from error
        queue.finish()
    found.digests.announce("the end of the program")
    queue.supervision.compare()
    queue.engine.end()
    found.overlaps = queue.engine.overlaps
    found.seconds = time.thread_time() - start
    return found


def _refuse(what: str) -> NoReturn:
    raise refusal(what)


def _place_of(error: BaseException) -> str:
    """The innermost line of the program in a traceback."""
    frames, traceback = [], error.__traceback__
    while traceback is not None:
        frames.append(traceback.tb_frame)
        traceback = traceback.tb_next
    known = [frame for frame in frames_of_program(frames[-1]) if frame in frames]
    return f", at {line_of(known[0])}" if known else ""


def conflicts(earlier: Begin, later: Begin) -> dict[int, Sequence[int]]:
    """The nodes of a run that those of a later one wait for: see `execution.runs.conflicts`."""
    if earlier.origin is None or later.origin is None:
        return {}
    arrays = {slot: array for array, slot in earlier.slots.items()}
    shared = tuple((slot, later.slots[array]) for slot in earlier.origin.last_accesses
                   if (array := arrays[slot]) in later.slots)
    found, begins = conflicts_of(earlier.origin, later.origin, shared), later.graph.begins
    return {number: [begins.get(n, n) for n in waiting] for number, waiting in found.items()} if begins else found


class _Calls(Tiers):
    """Those of a process that is simulated: a call that was made before is recorded as what was done at once before."""

    def was_admitted(self, key: tuple[Any, ...], /) -> bool:
        """See `Counts`."""
        return super().was_admitted(key) or not self.admits(key, 0, False, False)


class _Queue(Queue):
    """The queue of a process that is simulated."""

    computes_at_once = False

    def __init__(self, script: Script, rank: int, size: int, settings: Settings) -> None:
        super().__init__()
        if size > 1:
            self.supervision.digests = script.digests  # which take their time, too
        overlaps = self.engine.overlaps
        self.tiers = _Calls()
        self._settings = settings
        self._n_values = 0
        self.engine: Any = _Engine(script, rank, size, settings, overlaps)
        self.stand_ins = self
        clock = self.engine.passes
        self._clock = Clock(settings.machine, clock, lambda dtype: self.elements((), dtype).item(), refusal)

    @property
    def has_read(self) -> bool:
        """Whether the program has read values."""
        return self._n_values > 0

    def elements(self, shape: tuple[int, ...], dtype: np.dtype[Any]) -> NDArray[Any]:
        """See `StandIns`."""
        given = self._settings.value
        if given is None:
            raise refusal("a value is read, which a simulated job does not have (--value gives the one to go on with)")
        if self._n_values == self._settings.max_values:
            raise _Enough
        self._n_values += 1
        return np.broadcast_to(np.array(given).astype(dtype), shape)

    def part(self, shape: tuple[int, ...], dtype: np.dtype[Any]) -> Part:
        """See `StandIns`."""
        return Part.of(shape, dtype, self._clock)

    def meet(self, ends_phase: bool = False) -> None:
        """Wait for all processes; a phase of the program may end."""
        self.finish()
        self.engine.meet()
        if ends_phase:
            self.engine.mark()


def refusal(what: str) -> SimulationError:
    """The error that something cannot be simulated, at the program's line."""
    frames = frames_of_program(sys._getframe(1))
    return SimulationError(f"{what}, at {line_of(frames[0])}" if frames else what)


class _Engine:
    """In the place of an engine: it notes what it gets, and executes nothing."""

    has_failed = is_idle = is_silent = False
    straight = transport = look = None
    failures: Sequence[Any] = ()

    def __init__(self, script: Script, rank: int, size: int, settings: Settings, overlaps: bool) -> None:
        self.overlaps, self.is_alone = overlaps, size == 1
        self._script, self._rank, self._size, self._settings = script, rank, size, settings
        self._arrays: weakref.WeakKeyDictionary[Storage, int] = weakref.WeakKeyDictionary()
        self._n_arrays, self._n_barriers = itertools.count(), itertools.count(1)
        self._drafts = Drafts(rank, size, settings)
        self._nbytes_due = 0  # of what is executed when the program waits next
        self._boxes_awaiting: dict[int, list[Box]] = {}
        self._stopwatch = None if settings.kernels is None else Stopwatch(script.steps)

    def end(self) -> None:
        """The program has ended: make the graphs, and say what each step takes, of what was measured.

        Raises
        ------
        SimulationError
            If kernels work on too much to measure them.
        """
        if self._stopwatch is not None:
            self._stopwatch.settle()
        self._drafts.finish(self._script.steps, Random(self._rank))  # as each process is held up by itself

    def _called(self, call: Hashable, n_operations: int = 0) -> AbstractContextManager[None]:
        """Note what the program takes until this call: what is measured, or what so many operations take."""
        if self._stopwatch is not None:
            return self._stopwatch.stopped(call)
        if n_operations:
            machine = self._settings.machine
            self.passes("recording", machine.flush + n_operations * machine.statement)
        return contextlib.nullcontext()

    def passes(self, name: str, seconds: float) -> None:
        """Note that the program itself takes some time."""
        self._script.steps.append(Pass(name, seconds))

    def take(self, run: Run) -> None:
        """See `Engine`."""
        with self._called(run.schedule, len(run.numbers)):
            self._take(run)
            if self.is_alone:
                self._execute()

    def _take(self, run: Run) -> None:
        schedule, storages = run.schedule, run.memories[:run.schedule.n_bases]
        slots = {self._array(storage): slot for slot, storage in enumerate(storages)}
        self._script.grids.update(storage.layout.grid for storage in storages)
        self._nbytes_due += self._drafts.add(run, storages, self._arrays)
        seconds = {number: self._seconds_of_task(run, node) for number, node in enumerate(schedule.nodes)
                   if isinstance(node, TaskCall)}
        self._script.steps.append(Begin(NOT_YET, tuple(run.numbers), slots, seconds, schedule))
        self._boxes_awaiting = {array: schedule.awaiting[slot] for array, slot in slots.items()
                                if slot in schedule.awaiting}
        run.end()

    def _execute(self) -> None:
        """What is due would be executed now."""
        if self._stopwatch is not None:
            self._stopwatch.pass_through(self._nbytes_due)
        self._nbytes_due = 0

    def _array(self, storage: Storage) -> int:
        """The number of an array."""
        found = self._arrays.get(storage)
        if found is None:
            found = self._arrays[storage] = next(self._n_arrays)
        return found

    def _seconds_of_task(self, run: Run, node: TaskCall) -> float:
        call = run.memories[node.value]
        parts, settings = [self._part(view, run.memories[slot].dtype) for slot, view in node.arrays], self._settings
        function, arguments = call.bound(parts)
        nbytes_besides = max(sum(map(self._drafts.nbytes, self._arrays)) - sum(part.nbytes for part in parts), 0)
        try:
            return settings.machine.kernel + settings.task_seconds(call.name, function, arguments, nbytes_besides)
        except SimulationError as error:
            raise SimulationError(f"{error}, at {run.line_of(node)}") from error

    def _part(self, view: View, dtype: np.dtype[Any]) -> LocalShape:
        """What this process would have of a view."""
        shape = local_view_shape(view, self._rank)
        return LocalShape(shape, dtype, () if 0 in shape else storage_geometry(view, self._rank, dtype.itemsize)[1])

    def resume(self) -> None:
        """See `Engine`."""

    def catch_up(self) -> None:
        """See `Engine`."""
        with self._called("catch up"):
            self._execute()
            self._script.steps.append(Wait(but_last=True))

    def finish(self, storage: Storage | None = None, when_idle: Callable[[], None] | None = None) -> None:
        """See `Engine`."""
        steps = self._script.steps
        if storage is None:
            with self._called("finish"):
                self._execute()
                steps.append(Wait())
            return
        array = self._array(storage)
        with self._called(("finish", storage.layout)):
            self._execute()
            if when_idle is not None:
                steps.append(Wait(array, idle_seconds=IDLE_SECONDS))
        if when_idle is not None and self._settings.hands_over:
            when_idle()
        steps.append(Wait(array))

    def awaiting(self, storage: Storage) -> tuple[Box, ...]:
        """See `Engine`; of the run that came last."""
        return tuple(self._boxes_awaiting.get(self._array(storage), ()))

    def uses(self, storage: Storage) -> bool:
        """See `Engine`."""
        return True

    def mark(self) -> None:
        """A phase of the program ends."""
        with self._called("mark"):
            self._script.steps.append(Mark())

    def meet(self) -> None:
        """A dissemination barrier."""
        n, rank, tag = self._size, self._rank, -next(self._n_barriers) * 64
        nodes, edges = list[Work](), []
        for k, peer in enumerate(flood_targets(rank, n)):
            nodes += [Work("barrier", peer=peer, tag=tag + k),
                      Work("barrier", peer=(rank - (1 << k)) % n, tag=tag + k, is_receive=True)]
            if k:
                edges.append((2 * k - 1, 2 * k))
        with self._called("meet"):
            self._script.steps += [Begin(graph(nodes, edges)), Wait()]


@dataclass(frozen=True)
class LocalShape:
    """A local view of a task, without memory. It has strides, in bytes, if it has elements."""

    shape: tuple[int, ...]
    dtype: np.dtype[Any]
    strides: tuple[int, ...]

    @property
    def nbytes(self) -> int:
        """The bytes that it would have."""
        return math.prod(self.shape) * self.dtype.itemsize

    @property
    def nbytes_spanned(self) -> int:
        """Those from the first of its elements in memory to the last."""
        return self.dtype.itemsize + sum((n - 1) * abs(stride) for n, stride in zip(
            self.shape, self.strides, strict=True)) if self.nbytes else 0

    @property
    def flags(self) -> Any:
        """Whose `writeable` may be set."""
        return _Flags()


class _Flags:
    writeable = True


class _Communicator:
    """In the place of the program's communicator: what others bring is taken to be what this process brings."""

    def __init__(self, queue: _Queue, rank: int, size: int) -> None:
        self._queue, self.rank, self.size = queue, rank, size

    def Get_rank(self) -> int:  # noqa: N802
        """The rank."""
        return self.rank

    def Get_size(self) -> int:  # noqa: N802
        """The number of processes."""
        return self.size

    def Barrier(self) -> None:  # noqa: N802
        """Wait for all."""
        self._queue.meet(ends_phase=True)

    barrier = Barrier

    def bcast(self, x: Any = None, root: int = 0) -> Any:
        """What the root has."""
        self._queue.meet()
        return x

    def gather(self, x: Any, root: int = 0) -> list[Any] | None:
        """What all have, on the root."""
        self._queue.meet()
        return [x] * self.size if self.rank == root else None

    def allgather(self, x: Any) -> list[Any]:
        """What all have."""
        self._queue.meet()
        return [x] * self.size

    def allreduce(self, x: Any, op: Any = None) -> Any:
        """Of what all have, one."""
        self._queue.meet()
        return x

    def __getattr__(self, name: str) -> NoReturn:
        raise refusal(f"COMM.{name}: a simulated job has no messages but pgaspy's own, and no files")


