"""The engine: its invariants, its window, and messages that travel while tasks compute."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import pgaspy as pg
from pgaspy.execution import engine, recording
from pgaspy.layout import replicated
from pgaspy.scheduling import kernel_nodes, schedule
from tests.layouts import layout_of
from tests.simulated import Job
from tests.together import assert_equal, collectively

pytestmark = pytest.mark.mpi

SHAPE = (40, 30)
X = np.arange(1200.0).reshape(SHAPE)


def is_threadsafe() -> bool:
    """Whether messages may be tested while a task computes."""
    transport = recording.queue.engine.transport
    return transport is None or transport.is_threadsafe


class Watched:
    """What the engine did, and where it broke its promises."""

    def __init__(self) -> None:
        self.problems: list[str] = []
        self.n_started = self.most_held = 0


@pytest.fixture
def _all_held(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """No buffers that last as long as a run: all are allocated ahead, and counted."""
    recording.forget()
    monkeypatch.setattr(schedule, "LASTING_BYTES", 0)
    yield
    pg.sync()
    recording.forget()


@pytest.fixture
def _watched(monkeypatch: pytest.MonkeyPatch) -> Iterator[Watched]:
    """The engine, with its invariants checked between any two steps."""
    watched = Watched()
    step, of_job = engine.Engine._step, recording.queue.engine
    transport, look = of_job.transport, of_job.look

    def checked_step(self: Any, *limit: float) -> bool:
        if self._messages:
            watched.problems.append("a computation is run while a message is ready to be sent")
        if self._takers:
            *_, number, run = self._takers[0]
            node = run.nodes[number]
            if (self.held_bytes + node.nbytes_ahead <= engine.WINDOW_BYTES and not self._received_bytes):
                watched.problems.append("a computation is run while a message may be received or packed")
        in_queues = {(run.index, number) for queue in (self._messages, self._takers, self._computations)
                     for *_, number, run in queue} | {(run.index, number) for run, number, *_ in self._under_way}
        for run in self._runs:
            for number, n in enumerate(run.n_waits):
                if not n and not run.is_done[number] and (run.index, number) not in in_queues:
                    watched.problems.append(f"node {number} is lost")
        before = bool(self._computations), bool(self._requests)
        if self._runs and not any(before):
            watched.problems.append("nothing is left to do or to wait for, and yet it goes on")
        return step(self, *limit)

    def noted(start: Callable[..., Any]) -> Callable[..., Any]:
        def noted_start(*message: Any) -> Any:
            watched.n_started += 1
            watched.most_held = max(watched.most_held, of_job.held_bytes)
            return start(*message)
        return noted_start

    pg.sync()
    monkeypatch.setattr(engine.Engine, "_step", checked_step)
    if transport is None or look is None:
        yield watched
        return
    of_job.connect(SimpleNamespace(
        send=noted(transport.send), receive=noted(transport.receive), completed=transport.completed,
        error=transport.error, is_threadsafe=transport.is_threadsafe), look)
    yield watched
    pg.sync()
    of_job.connect(transport, look)


def program() -> None:
    """Overlapping assignments, operands from elsewhere, broadcasts, reductions, all recorded together."""
    a, b = pg.array(X), pg.array(X[::-1], layout=layout_of("cyclic(2)", SHAPE))
    x, y = X.copy(), X[::-1].copy()
    totals, sums = [], []
    for _ in range(6):
        a[1:] = a[:-1]
        x[1:] = x[:-1].copy()
        c = a + b[::-1]
        z = x + y[::-1]
        b[...] = c * 0.5
        y = z * 0.5
        row = pg.replicate(c[:, :3], 0)
        a[:, :3] += row
        x[:, :3] += z[:, :3]
        totals.append(a.max())
        sums.append(x.max())
    assert_equal(a, x)
    assert_equal(b, y)
    collectively([float(t) for t in totals] == sums)


def test_invariants(_watched: Watched) -> None:  # noqa: PT019
    program()
    collectively(not _watched.problems, "; ".join(dict.fromkeys(_watched.problems)))
    collectively(pg.SIZE == 1 or bool(_watched.n_started))


@pytest.mark.usefixtures("_all_held")
def test_invariants_where_all_is_held(_watched: Watched) -> None:  # noqa: PT019
    program()
    collectively(not _watched.problems, "; ".join(dict.fromkeys(_watched.problems)))
    collectively(pg.SIZE == 1 or bool(_watched.most_held))


@pytest.mark.usefixtures("_all_held")
@pytest.mark.parametrize("window", [0, 1000, 1 << 20])
def test_one_operation_after_the_other_beyond_the_window(window: int, monkeypatch: pytest.MonkeyPatch,
                                                         _watched: Watched) -> None:  # noqa: PT019
    """Everything completes, and no more is held than the window and one operation (nothing is joined here)."""
    monkeypatch.setattr(engine, "WINDOW_BYTES", window)
    a = pg.array(X)
    b = pg.array(X[::-1], layout=layout_of("cyclic(2)", SHAPE))
    pg.sync()
    _watched.most_held = 0
    kept = []
    for k in range(10):
        kept.append(b.redistribute(a.layout))
        b[k] = a[k]
    for found, k in zip(kept, range(10), strict=True):
        x = X[::-1].copy()
        x[:k] = X[:k]
        assert_equal(found, x)
    collectively(_watched.most_held <= window + 3 * X.nbytes, f"{_watched.most_held}")


@pytest.fixture(params=[0, 1, 500])
def _small_window(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """So many bytes may be received or packed ahead, of buffers that are all counted."""
    monkeypatch.setattr(engine, "WINDOW_BYTES", request.param)
    monkeypatch.setattr(schedule, "LASTING_BYTES", 0)


@pytest.mark.skipif(pg.SIZE > 1, reason="plays all processes")
@pytest.mark.every
@pytest.mark.usefixtures("_small_window")
@pytest.mark.parametrize("n", [2, 3])
def test_joined_operations_beyond_the_window(n: int) -> None:
    """Operands of joined operations, which a kernel takes all together, may be more than the window holds."""
    def program() -> bool:
        x = np.arange(300.0).reshape(20, 15)
        formats = ("block", "*"), ("cyclic(2)", "cyclic(3)"), ("*", "cyclic")
        a, b, c = (pg.array(x, layout=pg.Distribution(*f)) for f in formats)
        pg.sync()
        y = a + b
        z = y * c
        a[1:] = a[:-1]
        w = z + c[::-1]
        return np.array_equal(w.gather(), (x + x) * x + x[::-1])

    assert [*Job(program, [lambda _: False] * n).results.values()] == [True] * n


@pytest.mark.skipif(pg.SIZE > 1, reason="plays all processes")
@pytest.mark.every
@pytest.mark.usefixtures("_small_window")
def test_an_operation_between_joined_ones_beyond_the_window() -> None:
    """The kernel of one process takes what its peer may send only after another operation of both."""
    def program() -> bool:
        x = np.arange(300.0).reshape(20, 15)
        a, b, c, d = (pg.array(x, onenode=rank) for rank in (0, 1, 0, 1))
        e = pg.zeros((15, 20), onenode=1)
        pg.sync()
        y = a + b[:, ::-1]
        e[...] = c.T
        z = y * d[:, ::-1]
        return np.array_equal(z.gather(), (x + x[:, ::-1]) * x[:, ::-1])

    assert [*Job(program, [lambda _: False] * 2).results.values()] == [True] * 2


TASK_SECONDS = 0.5
N_TRIALS = 3


def nap(x: Any) -> None:
    time.sleep(TASK_SECONDS)


def multiply(x: Any) -> None:
    m, stop = np.ones((400, 400)), time.perf_counter() + TASK_SECONDS
    while time.perf_counter() < stop:
        m @ m


@pytest.mark.every
@pytest.mark.skipif(pg.SIZE < 3, reason="takes three processes, of which one hands on what the others wait for")
@pytest.mark.skipif(not is_threadsafe(), reason="MPI is not to be called by two threads")
@pytest.mark.parametrize("task", [nap, multiply])
def test_messages_travel_during_a_task(task: Callable[[Any], None]) -> None:
    """The others wait for less than half of it, in one trial at least: the machine may be busy."""
    shape, is_busy = (pg.SIZE, 1 << 17), pg.RANK == 1
    source = pg.full(shape, 3.0, layout=pg.Distribution("block", "*"))
    waited = []
    for _ in range(N_TRIALS):
        busy = pg.empty(pg.SIZE)
        pg.sync()
        pg.COMM.Barrier()
        before = pg.stats()
        if is_busy:
            pg.schedule(task, pg.write(busy))
        copy = source.redistribute(replicated(shape, pg.SIZE))
        pg.sync()
        waited.append((pg.stats() - before).seconds_waiting)
        assert_equal(copy, np.full(shape, 3.0))
    collectively(is_busy or min(waited) < TASK_SECONDS / 2, f"{waited}")


@pytest.mark.parametrize("overlaps", [True, False])
def test_both_executors(overlaps: bool) -> None:
    pg.sync()
    before, recording.queue.overlaps = recording.queue.overlaps, overlaps
    try:
        program()
    finally:
        recording.queue.overlaps = before


def test_what_has_begun_in_parts_goes_on_when_something_fails(monkeypatch: pytest.MonkeyPatch) -> None:
    """It is not computed anew, over what it has computed."""
    monkeypatch.setattr(kernel_nodes, "PART_ELEMENTS", 64)
    recording.forget()
    compute_part, of_job, n_parts = engine.Engine._compute_part, recording.queue.engine, 0

    def then_fails(self: Any, *work: Any) -> None:
        nonlocal n_parts
        n_parts += 1
        compute_part(self, *work)
        self.has_failed = True

    monkeypatch.setattr(engine.Engine, "_compute_part", then_fails)
    a, b = pg.arange(1000.0), pg.zeros((400, 100))
    pg.sync()
    if pg.RANK:
        time.sleep(0.05)  # for which rank 0 waits
    try:
        for _ in range(3):
            a = a[::-1] + 1
            b += 1
            pg.sync()
    finally:
        of_job.has_failed = False
        recording.forget()
    collectively(bool((b.local() == 3).all()))
    collectively(pg.SIZE == 1 or pg.RANK > 0 or n_parts > 0)
