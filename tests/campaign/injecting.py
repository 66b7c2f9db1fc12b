"""Failures that are injected into a program: what raises, and after how many points at which it might.

A point is the entry of one of some functions of the library, as a trace function sees it, or the return of a call of
MPI: memory may be short anywhere. `limit` has the system refuse memory, `interrupt` a signal raise anywhere.
"""

from __future__ import annotations

import contextlib
import inspect
import random
import resource
import signal
import sys
import types
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from pathlib import Path
from types import FrameType
from typing import Any

import pgaspy as pg
from pgaspy.execution import recording

__all__ = ["FAILURES", "Injection", "chosen", "is_injected"]

PAGE_BYTES = resource.getpagesize()
MOST_BYTES = 64 << 20
LONGEST_SECONDS = 0.1


class Injected(Exception):
    """What is raised; also as a `MemoryError`."""


class InjectedMemoryError(MemoryError, Injected):
    """Memory that is said to be short."""


class Injection:
    """A failure of a kind in a program.

    Attributes
    ----------
    where
        Where it happened; empty as long as it has not.
    """

    def __init__(self, kind: str, rng: random.Random) -> None:
        self.kind, self.rng = kind, rng
        self.where = ""
        self._n_left = 0

    def comes_within(self, n_points: int) -> None:
        """Let it happen at one of the next points, among the first ones as often as among the last."""
        self._n_left = int(n_points ** self.rng.random())

    def passes(self, where: str, is_memory: bool) -> None:
        """Raise, if this is the point."""
        self._n_left -= 1
        if self._n_left == 0:
            self.where = where
            raise (InjectedMemoryError if is_memory else Injected)(f"injected into {where}")

    def in_program(self) -> AbstractContextManager[None]:
        """Around the program."""
        return FAILURES[self.kind](self)


def chosen(name: str, seed: int) -> Injection:
    """The failure that is injected into the program of a seed: of this kind, or of `any`."""
    rng = random.Random(f"failure {seed}")
    kind = rng.choice([kind for kind in sorted(FAILURES) if pg.SIZE > 1 or kind != "mpi"]) if name == "any" else name
    if kind not in FAILURES:
        raise ValueError(f"--inject={name} is none of the failures any, {', '.join(sorted(FAILURES))}")
    return Injection(kind, rng)


def is_injected(error: BaseException | None) -> bool:
    """Whether an exception follows from a failure that was injected: memory is short also where the system says so."""
    while error is not None:
        if isinstance(error, Injected | MemoryError | KeyboardInterrupt) or any(
                words in str(error) for words in ("can't start new thread", "njected: ", "njectedMemoryError: ")):
            return True
        error = error.__cause__ or error.__context__
    return False


def _functions(modules: str, n_points: int, names: str = "") -> Callable[[Injection], AbstractContextManager[None]]:
    """Entries of all functions of some modules, or of those with some names."""
    wanted, only = {*modules.split()}, {*names.split()}

    @contextlib.contextmanager
    def failure(injection: Injection) -> Iterator[None]:
        injection.comes_within(n_points)
        is_memory = bool(only) or injection.rng.random() < 0.5

        def trace(frame: FrameType, event: str, _: Any) -> None:
            code, module = frame.f_code, frame.f_globals.get("__name__", "").removeprefix("pgaspy.")
            if module in wanted and (not only or code.co_name in only) and not (
                    code.co_flags & inspect.CO_GENERATOR):  # which may be entered to be closed, where nothing can raise
                injection.passes(f"{Path(code.co_filename).name}:{code.co_firstlineno} {code.co_name}", is_memory)

        before = sys.gettrace()
        sys.settrace(trace)
        try:
            yield
        finally:
            sys.settrace(before)
    return failure


@contextlib.contextmanager
def _mpi(injection: Injection) -> Iterator[None]:
    """Calls of MPI, which have done what they do when they raise, or not."""
    injection.comes_within(40)
    is_before = injection.rng.random() < 0.5

    def failing(function: Callable[..., Any]) -> Callable[..., Any]:
        def called(*arguments: Any) -> Any:
            if is_before:
                injection.passes(function.__name__, False)
            found = function(*arguments)
            if not is_before:
                injection.passes(f"the end of {function.__name__}", False)
            return found
        return called

    engine = recording.queue.engine
    real, look = engine.transport, engine.look
    if real is None or look is None:
        yield
        return
    engine.connect(types.SimpleNamespace(
        send=failing(real.send), receive=failing(real.receive), completed=failing(real.completed), error=real.error,
        is_threadsafe=real.is_threadsafe), look)
    try:
        yield
    finally:
        engine.connect(real, look)


@contextlib.contextmanager
def _limit(injection: Injection) -> Iterator[None]:
    """The system gives little more memory than there is."""
    used = int(Path("/proc/self/statm").read_text().split()[0]) * PAGE_BYTES
    before = resource.getrlimit(resource.RLIMIT_AS)
    limit = used + injection.rng.randrange(MOST_BYTES)
    injection.where = f"a limit of {(limit - used) >> 10} KiB more"
    resource.setrlimit(resource.RLIMIT_AS, (limit, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_AS, before)


@contextlib.contextmanager
def _interrupt(injection: Injection) -> Iterator[None]:
    """A signal, whose handler raises."""
    def handler(_: int, frame: FrameType | None) -> None:
        code = frame.f_code if frame is not None else None
        injection.where = f"a signal in {code.co_name if code else 'C'}"
        raise KeyboardInterrupt(injection.where)

    before = signal.signal(signal.SIGALRM, handler)
    signal.setitimer(signal.ITIMER_REAL, LONGEST_SECONDS ** (1 + 2 * injection.rng.random()))
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


FAILURES: dict[str, Callable[[Injection], AbstractContextManager[None]]] = {
    "record": _functions("array ufuncs global_assign scheduling.operations planning.result_layout creation reductions "
                         "movement planning.view layout", 1000),
    "plan": _functions("scheduling.schedule scheduling.elementwise scheduling.transfer_nodes scheduling.collectives "
                       "scheduling.messages scheduling.fusion scheduling.liveness scheduling.builder "
                       "scheduling.kernel_nodes planning.transfers planning.reshapes planning.pieces "
                       "planning.segments planning.chains planning.trees planning.boxes kernels.program", 10_000),
    "compile": _functions("kernels.jit kernels.codegen kernels.compiler host.private_folder", 100),
    "allocate": _functions("scheduling.base scheduling.memory scheduling.nodes", 200, "_allocate hold allocate "
                           "come_back _take_over new_buffer new_buffers lend"),
    "task": _functions("tests.campaign.words", 8, "negate ones twice swap put_ranks"),
    "kernel": _functions("scheduling.nodes scheduling.kernel_nodes kernels.bindings reductions", 200,
                         "compute _call call parts _compute_part"),
    "engine": _functions("execution.engine execution.queue execution.flushing execution.failing execution.backlog "
                         "execution.recording execution.borrowers execution.progress scheduling.recorded "
                         "scheduling.nodes scheduling.base tasks", 2000),
    "mpi": _mpi,
    "limit": _limit,
    "interrupt": _interrupt,
}
"""What can be injected, by name."""
