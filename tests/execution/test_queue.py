"""The recording: what is executed when, what is never stored, leases of local views, schedules found again."""

from __future__ import annotations

import gc
import inspect
import random
import resource
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import pgaspy as pg
from pgaspy.execution import flushing, recording, schedules
from pgaspy.kernels import jit
from pgaspy.scheduling import base, memory
from tests.jobs import run_job
from tests.layouts import layout_of
from tests.together import assert_equal, collectively, raises_everywhere

pytestmark = pytest.mark.mpi

SHAPE = (24, 10)
X = np.arange(240.0).reshape(SHAPE)


@pytest.fixture(autouse=True)
def _as_it_was() -> Iterator[None]:
    before = recording.queue.max_operations
    pg.sync()
    yield
    pg.sync()
    recording.queue.max_operations = before


def n_flushes() -> int:
    return pg.stats().n_flushes


def n_recorded() -> int:
    """How many operations are recorded and not executed."""
    return len(recording.queue.recorded)


NEEDS: dict[str, Callable[[Any], Any]] = {
    "float": lambda a: float(a.sum()), "bool": lambda a: bool(a.any()), "int": lambda a: int(a.sum()),
    "item": lambda a: a[3, 4].item(), "float of an element": lambda a: float(a[1, 1]), "gather": lambda a: a.gather(),
    "local": lambda a: a.local(), "blocks": lambda a: list(a.blocks()), "sync": lambda a: pg.sync(),
    "COMM": lambda a: pg.COMM.rank, "format": lambda a: f"{float(a.max()):.1f}",
}


@pytest.mark.parametrize("name", NEEDS)
def test_executed_when_needed(name: str) -> None:
    a = pg.array(X)
    pg.sync()
    before = n_flushes()
    b = a + 1
    b *= 2
    c = b[1:] - b[:-1]
    recorded, early = n_recorded(), n_flushes() - before
    NEEDS[name](b)
    late = n_flushes() - before
    collectively((recorded, early) == (3, 0), f"{recorded} recorded, {early} flushes")
    collectively(late > 0 and not n_recorded(), f"{late}")
    assert_equal(c, np.full((23, 10), 20.0))


def test_executed_at_a_threshold() -> None:
    a = pg.zeros(10)
    pg.sync()
    recording.queue.max_operations = 3 + pg.RANK
    before = n_flushes()
    for _ in range(40):
        a += 1
        assert n_recorded() <= 3 + pg.RANK
    collectively(n_flushes() - before >= 39 // (3 + pg.RANK))
    assert_equal(a, np.full(10, 40.0))


def test_what_is_recorded_when_a_flush_fails_is_not_lost() -> None:
    """What a task raises at a threshold is raised when somebody waits; nothing else is lost."""
    def fail(local: Any) -> None:
        raise ValueError("bad value")

    a, b = pg.zeros(SHAPE), pg.zeros(SHAPE, layout=layout_of("cyclic(2)", SHAPE))
    pg.sync()
    if pg.RANK == pg.SIZE - 1:
        recording.queue.max_operations = 1
    pg.schedule(fail, pg.update(a))
    b[...] = 5
    raises_everywhere(pg.TaskError, "bad value", pg.sync)
    assert_equal(b[1:] - b[:-1] + 1, np.ones((SHAPE[0] - 1, SHAPE[1])))
    assert_equal(b, np.full(SHAPE, 5.0))


def test_executed_when_operands_hold_much(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(flushing, "MAX_HELD_BYTES", 5 * X.nbytes)
    a = pg.zeros(SHAPE)
    pg.sync()
    before = n_flushes()
    for _ in range(12):
        a += X
    collectively(2 <= n_flushes() - before <= 3, f"{n_flushes() - before}")
    assert_equal(a, 12 * X)


def test_numpy_operands_are_copied_when_recorded() -> None:
    a, x = pg.zeros(SHAPE), X.copy()
    a += x
    row = x[0]
    b = a * row
    a[2:4] = x[2:4]
    x[...] = -1
    expected = X.copy()
    assert_equal(b, X * X[0])
    expected[2:4] = X[2:4]
    assert_equal(a, expected)


def test_scalars_are_taken_when_recorded() -> None:
    a, one = pg.zeros(10), np.ones(())
    a += one
    one[...] = 5
    assert_equal(a, np.ones(10))


@pytest.fixture
def _counted(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """The arrays whose storage is allocated."""
    allocated: list[Any] = []
    allocate = base.Storage._allocate

    def counting(self: base.Storage) -> None:
        allocated.append(self.layout.shape)
        allocate(self)

    monkeypatch.setattr(base.Storage, "_allocate", counting)
    return allocated


def test_temporaries_are_never_stored(_counted: list[Any]) -> None:  # noqa: PT019
    a = pg.array(X)
    pg.sync()
    _counted.clear()
    b = ((a + 1) * 2 - a) / 4
    pg.sync()
    collectively(_counted == [SHAPE], f"{_counted}")
    named = a + 1
    c = named * 2
    pg.sync()
    collectively(_counted == [SHAPE] * 3, f"{_counted}")
    a + b
    pg.sync()
    collectively(_counted == [SHAPE] * 3, f"{_counted}")
    assert_equal(named, X + 1)
    assert_equal(c, (X + 1) * 2)


@pytest.mark.parametrize("axis", [0, 1, None])
def test_what_is_only_reduced_is_never_stored(_counted: list[Any], axis: int | None) -> None:  # noqa: PT019
    a = pg.array(X)
    pg.sync()
    _counted.clear()
    total = abs(a * 2 - a).sum(axis=axis)
    pg.sync()
    holds = 0 not in a.layout.local_shape(pg.RANK)
    collectively(not holds or SHAPE not in _counted, f"{_counted}")
    assert_equal(total, abs(X).sum(axis=axis), exact=False)


def test_messages_of_dead_results_are_sent() -> None:
    a, b = pg.array(X), pg.array(X, layout=layout_of("cyclic(2)", SHAPE))
    for k in range(pg.SIZE):
        c = a + b[::-1]
        if k == pg.RANK:
            del c
            pg.sync()
        elif (k + 1) % pg.SIZE == pg.RANK:
            c.local()
    assert_equal(a + b, 2 * X)


# Leases --------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("n", [8, 200])
def test_leases(n: int) -> None:
    """While a local view is alive, what writes or reads its array is executed before the call returns."""
    gc.collect()
    a, b = pg.zeros((n, n)), pg.ones((n, n))
    n_lent = len(base.lent)
    part = a.local()
    derived = part[:1]
    del part
    for k in range(1, 5):
        a += b
        collectively((derived == k).all(), f"{derived}")
        derived[...] = k
        c = a * 1
        derived[...] = -1  # c has been computed
        assert_equal(c, np.full((n, n), float(k)))
        derived[...] = k
    before = n_recorded()
    b += 0
    collectively(n_recorded() == before + 1, "arrays without local views stay lazy")
    del derived
    gc.collect()
    before = n_recorded()
    a += b
    collectively(n_recorded() == before + 1, "laziness returns with the last local view")
    collectively(len(base.lent) == n_lent, f"{len(base.lent)} bases are lent, {n_lent} were")
    assert_equal(a, np.full((n, n), 5.0))


def test_blocks_are_leased() -> None:
    a = pg.zeros(12, layout=pg.Distribution("cyclic(2)"))
    block = next(a.blocks(), None)
    a += 1
    collectively(block is None or bool((block == 1).all()))
    del block
    blocks = a.blocks()
    a += 1
    collectively(all((block == 2).all() for block in blocks), "blocks are asked for one by one")


def test_local_views_outlive_their_arrays() -> None:
    a = pg.array(np.arange(300_000.0))
    part = a.local()
    expected = part.copy()
    del a
    for _ in range(4):
        b = pg.zeros(300_000)
        b += 1
        pg.sync()
        del b
    collectively(np.array_equal(part, expected))


def test_a_part_without_elements_is_not_waited_for() -> None:
    """Operations on an array of which this process holds nothing end here at once, though others wait for a message."""
    if pg.SIZE == 1:
        pytest.skip("takes several processes")
    late, is_late = pg.SIZE - 1, pg.RANK == pg.SIZE - 1
    a, b = pg.ones(SHAPE, onenode=late), pg.ones(SHAPE, onenode=late)
    pg.sync()
    pg.COMM.Barrier()
    start = time.perf_counter()
    if is_late:
        time.sleep(1.5)
    c = a.redistribute(layout_of("cyclic(2)", SHAPE))
    b += 1
    if not is_late:
        b.local()
    waited = time.perf_counter() - start
    collectively(is_late or waited < 1, f"waited for {waited} s")
    assert_equal(c, np.ones(SHAPE))
    assert_equal(b, np.full(SHAPE, 2.0))


def own_part(a: pg.GlobalArray, values: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    return values[np.ix_(*map(a.global_indices, range(a.ndim)))]


@pytest.mark.parametrize("k", range(pg.SIZE))
def test_local_on_one_process(k: int) -> None:
    a, b = pg.array(X), pg.array(X[::-1], layout=layout_of("cyclic(2)", SHAPE))
    x, y = X.copy(), X[::-1].copy()
    for n in range(3):
        c = a + b
        b[...] = c
        z = x + y
        y = z.copy()
        x[1:] = z[:-1]
        if k == pg.RANK:
            assert np.array_equal(c.local(), own_part(c, z))
        elif (k + 1) % pg.SIZE == pg.RANK:
            assert np.array_equal(b.local(), own_part(b, y))
        a[1:] = c[:-1]
        if k == pg.RANK and n == 1:
            time.sleep(0.05)
    assert_equal(a, x)
    assert_equal(b, y)


# Loops ---------------------------------------------------------------------------------------------------------------


def heat(full: pg.GlobalArray, work: pg.GlobalArray) -> pg.GlobalArray:
    center, up, down = full[1:-1, 1:-1], full[:-2, 1:-1], full[2:, 1:-1]
    left, right = full[1:-1, :-2], full[1:-1, 2:]
    work[...] = 0.2 * (center + up + down + left + right)
    delta = abs(center - work).sum()
    center[...] = work
    return delta


def test_a_loop_finds_its_schedule_again() -> None:
    full, work = pg.ones((66, 66)), pg.zeros((64, 64))
    for _ in range(6):
        float(heat(full, work))
    before = pg.stats()
    for _ in range(30):
        float(heat(full, work))
    done = pg.stats() - before
    collectively(done.n_flushes >= 30 and done.n_planned <= 2, f"{done}")


def test_a_long_loop_keeps_its_memory() -> None:
    """Thousands of iterations on little data: no schedule is made, nothing is compiled, and nothing grows."""
    full, work = pg.ones((66, 66)), pg.zeros((64, 64))
    for _ in range(300):
        float(heat(full, work))
    jit.wait()
    gc.collect()
    before, used, kept = pg.stats(), resource.getrusage(resource.RUSAGE_SELF).ru_maxrss, memory._kept_bytes
    for _ in range(1000 if pg.SIZE <= 2 else 400):
        float(heat(full, work))
    done, grown = pg.stats() - before, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - used
    collectively(done.n_compiled == 0 and done.n_planned <= 5, f"{done}")
    collectively(grown < 4096, f"{grown} KiB")
    collectively(memory._kept_bytes <= kept, f"{memory._kept_bytes} bytes, before {kept}")


@pytest.mark.parametrize("seed", range(2))
def test_a_late_process_changes_nothing(seed: int) -> None:
    rng = random.Random(seed)
    late, at = rng.randrange(pg.SIZE), rng.randrange(8)
    full, work = pg.ones((18, 18)), pg.zeros((16, 16))
    model, w = np.ones((18, 18)), np.zeros((16, 16))
    recording.queue.max_operations = random.Random(seed * 10 + pg.RANK).choice([1, 3, 1000])
    for k in range(8):
        heat(full, work)
        if k == at and late == pg.RANK:
            time.sleep(1)
        w[...] = 0.2 * (model[1:-1, 1:-1] + model[:-2, 1:-1] + model[2:, 1:-1] + model[1:-1, :-2] + model[1:-1, 2:])
        model[1:-1, 1:-1] = w
    assert_equal(full, model)


# The end of the program, and faults ----------------------------------------------------------------------------------


PROGRAM = """
import atexit, sys, time
import numpy as np
import pgaspy as pg
from pgaspy.execution import recording
a = pg.arange(40)
b = pg.array(np.arange(40), layout=pg.Distribution("cyclic"))
pg.sync()
"""


def run_program(tmp_path: Path, n: int, program: str) -> Any:
    script = tmp_path / "script.py"
    script.write_text(PROGRAM + program)
    return run_job(n, str(script), cwd=tmp_path)


serial = pytest.mark.skipif(pg.SIZE > 1, reason="starts jobs of its own")


@serial
def test_executed_at_exit(tmp_path: Path) -> None:
    done = run_program(tmp_path, 2, """
def report(x): print("executed on", pg.RANK, int(x.sum()), flush=True)
pg.schedule(report, a + b)
c = a[::-1] + b
if pg.RANK == 0: pg.sync()
""")
    assert done.returncode == 0, done.stderr
    assert "executed on 0" in done.stdout
    assert "executed on 1" in done.stdout


@serial
def test_executed_at_exit_where_no_thread_starts_any_more(tmp_path: Path) -> None:
    """As from Python 3.12 on."""
    done = run_program(tmp_path, 2, """
import _thread, atexit
def refuse(function, arguments): raise RuntimeError("can't create new thread at interpreter shutdown")
atexit.register(setattr, _thread, "start_new_thread", refuse)
def report(x): print("executed on", pg.RANK, int(x.sum()), flush=True)
pg.schedule(report, a + b)
c = a[::-1] + b
large = pg.zeros(1 << 22)
for _ in range(40): large += 1; large *= 2
""")
    assert done.returncode == 0, done.stderr
    assert "executed on 0" in done.stdout
    assert "executed on 1" in done.stdout


@serial
def test_processes_flush_where_they_like(tmp_path: Path) -> None:
    """What one of them executes at once does not wait for what others have joined with something later."""
    done = run_program(tmp_path, 4, """
if pg.RANK == 2: pg.execution.recording.queue.max_operations = 1
x = pg.array(np.arange(8, dtype="f"), layout=pg.Distribution("block", grid=(4, 1), axes=(0,)))
products = pg.outer(x, pg.array(np.arange(2.0)))
products[...] += 0
found = np.var(x, axis=-1)
pg.sync()
assert float(found) == 5.25, found
""")
    assert done.returncode == 0, done.stderr


@serial
@pytest.mark.parametrize("n", [1, 2])
def test_not_executed_after_an_uncaught_exception(tmp_path: Path, n: int) -> None:
    done = run_program(tmp_path, n, """
pg.schedule(lambda x: print("executed", flush=True), a)
if pg.RANK == pg.SIZE - 1: raise ValueError("bad value")
if pg.SIZE > 1: time.sleep(30)
""")
    assert done.returncode == 1
    assert "ValueError: bad value" in done.stderr
    assert "executed" not in done.stdout


@serial
@pytest.mark.parametrize("n", [pytest.param(1, marks=pytest.mark.long), 2])
def test_an_uncaught_task_ends_the_job(tmp_path: Path, n: int) -> None:
    done = run_program(tmp_path, n, """
def task(x): raise ValueError("bad value")
c = a + b
if pg.RANK == pg.SIZE - 1: pg.schedule(task, c)
print(float((c[::-1] + b).sum()))
float((c + 1).sum()); pg.COMM.Barrier()
""")
    assert done.returncode == 1
    for text in ("TaskError: the task task, scheduled at", "script.py:", "ValueError: bad value"):
        assert text in done.stderr


@serial
@pytest.mark.parametrize("waits", [
    "float((a + b).sum())",
    *(pytest.param(waits, marks=pytest.mark.long) for waits in ("(a + b).gather()", "(a + b).local(); pg.sync()"))])
def test_an_interrupt_ends_the_job(tmp_path: Path, waits: str) -> None:
    start = time.perf_counter()
    done = run_program(tmp_path, 2, f"""
import os, signal, threading
if pg.RANK == 0:
    threading.Timer(1, os.kill, (os.getpid(), signal.SIGINT)).start()
    {waits}
else:
    time.sleep(60)
""")
    assert time.perf_counter() - start < 40  # of which some is `PGASPY_ABORT_AFTER`
    assert done.returncode != 0
    assert "rank 0 of 2: uncaught KeyboardInterrupt" in done.stderr
    assert "script.py" in done.stderr


class Keeper:
    """Part of a cycle, so that the collector of garbage calls `__del__`."""

    def __init__(self, array: Any, found: list[Any]) -> None:
        self.array, self.found, self.itself = array, found, self

    def __del__(self) -> None:
        self.array[...] = 5.0
        self.found += [float(self.array.sum()), self.array.local().tolist()]


@pytest.mark.skipif(pg.SIZE > 1, reason="processes collect garbage at different times")
def test_arrays_are_used_while_garbage_is_collected() -> None:
    found: list[Any] = []
    Keeper(pg.ones(10), found)
    pg.sync()
    gc.collect()
    assert found == [50.0, [5.0] * 10]


@pytest.mark.skipif(pg.SIZE > 1, reason="processes collect garbage at different times")
def test_arrays_are_used_in_a_generator_that_is_garbage() -> None:
    found: list[Any] = []

    def generate(array: Any) -> Any:
        try:
            yield
        finally:
            array[...] = 3.0
            found.append(array.local().tolist())

    cycle: list[Any] = [generate(pg.ones(4))]
    next(cycle[0])
    cycle.append(cycle)
    del cycle
    pg.sync()
    gc.collect()
    assert found == [[3.0] * 4]


class Saved:
    """Part of a cycle, whose array outlives it."""

    def __init__(self, array: Any, found: list[Any]) -> None:
        self.array, self.found, self.itself = array, found, self

    def __del__(self) -> None:
        self.found.append(self.array)


def saved(is_executed: bool = True) -> Any:
    """An array of ones that was garbage."""
    found: list[Any] = []
    Saved(pg.ones(4), found)
    if is_executed:
        pg.sync()
    gc.collect()
    return found.pop()


@pytest.mark.skipif(pg.SIZE > 1, reason="processes collect garbage at different times")
@pytest.mark.every
@pytest.mark.parametrize("is_executed", [True, False])
def test_an_array_that_comes_back_from_garbage(is_executed: bool) -> None:
    array = saved(is_executed)
    array += 6
    assert array.local().tolist() == [7.0] * 4
    array[1:] = 5
    pg.sync()
    assert float(array.sum()) == 22.0


@pytest.mark.skipif(pg.SIZE > 1, reason="processes collect garbage at different times")
@pytest.mark.every
@pytest.mark.parametrize("use", [lambda a: a.local(), lambda a: (a + 1).local(), lambda a: float(a.sum())])
def test_what_is_lost_of_an_array_that_comes_back(use: Any) -> None:
    """Where it is executed before the array is seen to be there, by a schedule that stores no more than is held."""
    array = saved()
    recording.forget()
    array += 6
    pg.sync()
    with pytest.raises(RuntimeError, match="was garbage"):
        use(array)


def _cannot_be_planned_together(monkeypatch: pytest.MonkeyPatch) -> None:
    schedule_of = schedules.schedule_of

    def fail(operations: Any, *arguments: Any) -> Any:
        if len(operations) > 1:
            raise MemoryError
        return schedule_of(operations, *arguments)

    monkeypatch.setattr(schedules, "schedule_of", fail)
    a = pg.ones(7)
    a += 1
    pg.sync()


def _is_cast(monkeypatch: pytest.MonkeyPatch) -> None:
    pg.ones(4)[...] = pg.ones(4) * 1j


def _is_singular(monkeypatch: pytest.MonkeyPatch) -> None:
    pg.linalg.lu_factor(pg.zeros((4, 4)))


@pytest.mark.every
@pytest.mark.skipif(pg.SIZE > 1, reason="what cannot be planned fails a job of several processes")
@pytest.mark.parametrize("cause", [_cannot_be_planned_together, _is_cast, _is_singular])
def test_warnings_name_the_line_of_the_program(cause: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.warns(RuntimeWarning, match="could not plan|Casting complex|exactly zero") as found:
        cause(monkeypatch)
    warning, = found
    lines, start = inspect.getsourcelines(cause)
    assert warning.filename == __file__
    assert start <= warning.lineno < start + len(lines)
