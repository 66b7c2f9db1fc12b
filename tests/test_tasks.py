"""Scheduled tasks: what they are called with, when, and what becomes of what they raise."""

from __future__ import annotations

import functools
import gc
import weakref
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from mpi4py import MPI

import pgaspy as pg
from pgaspy.execution import recording
from pgaspy.layout import one_process, replicated
from pgaspy.planning import chains
from tests.layouts import NAMES, layout_of
from tests.together import assert_equal, collectively, raises_everywhere

pytestmark = pytest.mark.mpi

SHAPE = (13, 7)
X = np.arange(91.0).reshape(SHAPE)


def add(c: Any, a: Any, factor: float = 1) -> None:
    c += factor * a


@pytest.mark.parametrize("name", NAMES)
def test_arguments(name: str) -> None:
    a, c = pg.array(X, layout=layout_of(name, SHAPE)), pg.zeros(SHAPE, layout=layout_of(name, SHAPE))
    seen: list[Any] = []

    def task(number: int, c: Any, text: str, a: Any, again: Any) -> str:
        seen.extend([number, text, c.flags.writeable, a.flags.writeable, c.shape, a.shape, again is c])
        add(c, a, number)
        return "dropped"

    pg.schedule(task, 2, pg.update(c), "text", a, c)
    collectively(not seen, "a task is executed when somebody needs what it computes")
    assert_equal(c, 2 * X)
    shape = a.local().shape
    collectively(seen == ([2, "text", True, False, shape, shape, False] if 0 not in shape else []), f"{seen}")


def test_views_of_arrays() -> None:
    a, c = pg.array(X), pg.zeros(SHAPE)
    pg.schedule(add, pg.update(c[2:9, 1:]), pg.read(a[2:9, 1:]))
    x = np.zeros(SHAPE)
    x[2:9, 1:] += X[2:9, 1:]
    assert_equal(c, x)


@pytest.mark.parametrize("rank", range(pg.SIZE))
def test_empty_local_parts(rank: int) -> None:
    a, c = pg.array(X, layout=one_process(SHAPE, pg.SIZE, rank)), pg.zeros(SHAPE, onenode=rank)
    sizes: list[int] = []

    def task(c: Any, a: Any) -> None:
        sizes.append(a.size)
        add(c, a)

    pg.schedule(task, pg.update(c), a)
    assert_equal(c, X)
    collectively(sizes == [X.size] * (rank == pg.RANK), f"{sizes}")
    pg.schedule(task, pg.update(c), a, empty=True)
    assert_equal(c, 2 * X)
    collectively(sizes == ([X.size] * 2 if rank == pg.RANK else [0]), f"{sizes}")


@pytest.mark.parametrize("rank", range(pg.SIZE))
def test_where_a_task_is_called(rank: int) -> None:
    """Where it writes nothing, or something of it is here."""
    here, everywhere = pg.zeros(SHAPE, onenode=rank), pg.zeros(SHAPE, layout=replicated(SHAPE, pg.SIZE))
    nowhere, other = pg.zeros((0, 7)), pg.zeros(SHAPE, onenode=(rank + 1) % pg.SIZE)
    row = pg.zeros(SHAPE, layout=one_process(SHAPE, pg.SIZE, rank))[3]
    is_owner, is_other = rank == pg.RANK, (rank + 1) % pg.SIZE == pg.RANK
    called: list[str] = []

    def task(name: str, *_: Any) -> None:
        called.append(name)

    cases: dict[str, tuple[list[Any], bool]] = {
        "no arrays": ([], True),
        "reads what is elsewhere": ([here], True),
        "reads nothing": ([nowhere, pg.read(nowhere)], True),
        "writes what is here": ([pg.write(here)], is_owner),
        "updates what is here": ([pg.update(here)], is_owner),
        "writes a view": ([pg.write(here[2:5, 3])], is_owner),
        "writes an element": ([pg.write(here[2, 3, ...])], is_owner),
        "writes a row": ([pg.update(row)], is_owner),
        "writes nothing": ([pg.update(nowhere)], False),
        "writes an empty view": ([pg.update(here[3:3])], False),
        "writes one of two": ([pg.update(nowhere), pg.write(here)], is_owner),
        "writes two": ([pg.write(other), pg.write(here)], is_owner or is_other),
        "writes a copy": ([here, pg.update(everywhere)], True),
        "writes what is here and reads": ([everywhere, pg.update(here)], is_owner),
    }
    for name, (arrays, _) in cases.items():
        pg.schedule(task, name, *arrays)
    pg.sync()
    expected = [name for name, (_, is_called) in cases.items() if is_called]
    collectively(called == expected, f"{called}, expected {expected}")
    called.clear()
    for name, (arrays, _) in cases.items():
        pg.schedule(task, name, *arrays, empty=True)
    pg.sync()
    collectively(called == [*cases], f"{called}")


def test_ragged_parts() -> None:
    """As in the README: seven rows in blocks of two, of which the last is shorter, and some processes have none."""
    a = pg.array(X[:7], layout=pg.Distribution("cyclic(2)", "*"))
    largest = pg.zeros(1, layout=pg.Distribution("*"))

    def find_largest(largest: Any, a: Any) -> None:
        largest[0] = a.max(initial=-np.inf)

    pg.schedule(find_largest, pg.write(largest), a)
    pg.combine(np.maximum, largest)
    collectively(float(largest[0]) == X[6, 6])


def test_arguments_by_keyword() -> None:
    """They come with a partial; `schedule` knows none but its own."""
    a, c = pg.array(X), pg.zeros(SHAPE)
    pg.schedule(functools.partial(add, factor=3), pg.update(c), a)
    assert_equal(c, 3 * X)
    raises_everywhere(TypeError, "factor", lambda: pg.schedule(add, pg.update(c), a, factor=3))  # type: ignore[call-arg]


def test_replicated_arrays_may_be_written() -> None:
    c = pg.zeros(SHAPE, layout=replicated(SHAPE, pg.SIZE))
    pg.schedule(add, pg.update(c), pg.array(X, layout=replicated(SHAPE, pg.SIZE)))
    assert_equal(c, X)
    collectively((c.local() == X).all() and c.local().flags.writeable == (pg.SIZE == 1))


def test_order_with_other_operations() -> None:
    a, b = pg.array(X), pg.zeros(SHAPE)
    a += 1
    pg.schedule(add, pg.write(b), a, 10)
    a *= 2
    pg.schedule(add, pg.update(a), b)
    b[1:] = b[:-1]
    total = a.sum()
    x, y = X + 1, (X + 1) * 10
    x = x * 2 + y
    collectively(float(total) == x.sum(), f"{float(total)}, expected {x.sum()}")
    y[1:] = y[:-1].copy()
    assert_equal(a, x)
    assert_equal(b, y)


def test_written_arrays_that_nobody_else_reads() -> None:
    seen: list[float] = []
    temporary = pg.array(X) + 1
    pg.schedule(lambda x: seen.append(float(x.sum())), temporary)
    del temporary
    pg.sync()
    total = sum(pg.COMM.allgather(seen[0]))
    collectively(total == (X + 1).sum(), f"{total}")


def test_scheduling_on_one_process_alone() -> None:
    a, c = pg.array(X), pg.zeros(SHAPE)
    if pg.RANK == pg.SIZE - 1:
        pg.schedule(add, pg.update(c), a)
    a += 1
    part = c.local().copy()
    collectively(part.sum() == (a.local() - 1).sum() * (pg.RANK == pg.SIZE - 1))
    assert_equal(a, X + 1)


def failing(x: Any) -> None:
    raise ValueError("bad value")


def n_raised(*uses: Callable[[], Any]) -> int:
    """How many of some calls raise the error of a task."""
    n = 0
    for use in uses:
        try:
            use()
        except pg.TaskError:
            n += 1
    return n


def test_what_a_task_raises() -> None:
    """Named, on every process, when it is executed; the others' results and messages are not lost."""
    a, b = pg.array(X), pg.array(X[::-1], layout=layout_of("cyclic(2)", SHAPE))
    c = a + b
    pg.schedule(failing, a)
    d = c[::-1] + b
    raises_everywhere(pg.TaskError, r"failing, scheduled at .*test_tasks.py:\d+, raised ValueError: bad value", pg.sync)
    assert_equal(d, (X + X[::-1])[::-1] + X[::-1])
    assert_equal(c, X + X[::-1])


def stopping(x: Any) -> None:
    x[...] = next(iter(()))


def test_a_task_that_raises_stop_iteration_has_failed() -> None:
    """Whatever calls it takes that for its own end."""
    a, b = pg.array(X), pg.array(X)
    pg.schedule(stopping, pg.write(a))
    b += 1
    raises_everywhere(pg.TaskError, "stopping, scheduled at .*, raised StopIteration", pg.sync)
    raises_everywhere(pg.TaskError, "StopIteration", a.local)
    assert_equal(b, X + 1)


def test_what_a_task_raises_on_one_process() -> None:
    a, b = pg.array(X), pg.array(X, layout=layout_of("cyclic(2)", SHAPE))
    for k in range(pg.SIZE):
        if k == pg.RANK:
            pg.schedule(failing, a)
        c = a + b[::-1]
        try:
            pg.sync()
            raised = False
        except pg.TaskError as error:
            raised = isinstance(error.__cause__, ValueError)
        collectively(raised == (k == pg.RANK))
        assert_equal(c, X + X[::-1])


def spoiling(x: Any) -> None:
    x[...] = 9
    raise ValueError("bad value")


@pytest.mark.parametrize("overwrite", [
    lambda a, b: a.__setitem__((slice(None), slice(None, None, 2)), b[:, ::2]),
    lambda a, b: a.__setitem__((slice(None), slice(None, None, 2)), 1.0),
    lambda a, b: np.add(b, 1.0, out=a, where=b < 0),
    lambda a, b: pg.schedule(add, pg.write(a[:, ::2]), b[:, ::2]),
])
def test_what_a_task_has_spoiled_is_not_mended_by_what_overwrites_a_part(overwrite: Any) -> None:
    """However far the elements that are overwritten lie apart."""
    a, b = pg.zeros((SHAPE[0], 2 * SHAPE[1] + 1)), pg.zeros((SHAPE[0], 2 * SHAPE[1] + 1))
    pg.sync()
    pg.schedule(spoiling, pg.update(a))
    overwrite(a, b)
    raises_everywhere(pg.TaskError, "bad value", pg.sync)
    raises_everywhere(pg.TaskError, "bad value", a.local)


def test_what_a_task_has_spoiled_is_mended_by_what_overwrites_it() -> None:
    a = pg.zeros(SHAPE)
    pg.sync()
    pg.schedule(spoiling, pg.update(a))
    a[...] = 1.0
    raises_everywhere(pg.TaskError, "bad value", pg.sync)
    assert_equal(a, np.ones(SHAPE))


@pytest.mark.every
@pytest.mark.recorded
@pytest.mark.usefixtures("one_flush")
def test_what_a_task_has_spoiled_is_mended_for_what_runs_in_a_chain_with_what_overwrites_it(
        monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(chains, "MIN_BYTES", 0)
    by_rows = pg.Distribution("block", "*")
    a, b, x = pg.zeros(SHAPE, layout=by_rows), pg.zeros(SHAPE, layout=by_rows), pg.array(X, layout=by_rows)
    pg.sync()
    pg.schedule(spoiling, pg.update(a))
    a[...] = x + 1.0
    b[:, 1:] = a[:, :-1] + a[:, 1:]
    raises_everywhere(pg.TaskError, "bad value", pg.sync)
    assert_equal(a, X + 1.0)
    assert_equal(b[:, 1:], (X + 1.0)[:, :-1] + (X + 1.0)[:, 1:])


@pytest.mark.every
def test_what_a_task_has_spoiled_is_not_mended_for_what_was_recorded_before() -> None:
    """And still waits for a message, so that the array is not overwritten yet."""
    a, b, c, d = pg.zeros(SHAPE), pg.zeros(SHAPE), pg.zeros(SHAPE), pg.zeros(pg.SIZE)
    x = pg.array(X)
    pg.sync()
    MPI.COMM_WORLD.Barrier()
    if pg.RANK == 0:
        pg.schedule(spoiling, pg.update(a))
    b[...] = x[::-1]
    pg.schedule(lambda c, a, b: np.add(a, b, out=c), pg.write(c), a, b)
    d[...] = 5
    raised = n_raised(d.local) if pg.RANK == 0 else 0
    MPI.COMM_WORLD.Barrier()
    a[...] = 0
    raised += n_raised(c.local, a.local)
    collectively(raised == (2 if pg.RANK == 0 else 0), f"{raised}")
    assert_equal(a, np.zeros(SHAPE))


@pytest.mark.every
@pytest.mark.skipif(pg.SIZE > 2, reason="the first process sends as well")
def test_what_a_task_has_spoiled_is_not_mended_by_a_message() -> None:
    """Of a reshape, a part of which stays on the process and the rest comes from another one."""
    a = pg.arange(15.0).reshape(3, 5) + 0
    pg.sync()
    if pg.RANK == 0:
        pg.schedule(spoiling, pg.update(a))
    b = a.reshape(5, 3)
    raised = n_raised(pg.sync, b.local)
    collectively(raised == (2 if pg.RANK == 0 else 0), f"{raised}")


def test_several_tasks_raise() -> None:
    arrays = [pg.array(X) for _ in range(3)]
    for a in arrays:
        pg.schedule(failing, pg.update(a))
    raised = n_raised(*[pg.sync] * 4)
    collectively(raised == 3, f"{raised}")


def test_arrays_that_a_task_has_spoiled_are_not_kept() -> None:
    """By frames, in which it has local views, which lead to them."""
    a, other = pg.array(X), pg.array(X)
    storage = weakref.ref(a._base.storage)
    pg.schedule(failing, pg.update(a))
    n_raised(pg.sync)
    n_raised(a.local)
    pg.schedule(failing, pg.update(other))  # after which the error before is none of the last
    n_raised(pg.sync)
    del a
    gc.collect()
    collectively(storage() is None)


def test_a_task_s_error_has_its_frames_once() -> None:
    a = pg.array(X)
    pg.schedule(failing, pg.update(a))
    found = []
    for _ in range(3):
        try:
            a.local()
        except pg.TaskError as error:
            found.append((str(error), repr(error.__cause__), error.__cause__.__traceback__ is not None))
    n = pg.COMM.allreduce(len(found))
    collectively(n >= 3 and len({error[:2] for error in found}) <= 1
                 and [error[2] for error in found] == [True, False, False][:len(found)])


def test_what_was_caught_leaves_no_trace() -> None:
    engine = recording.queue.engine
    gc.collect()
    pg.sync()
    of_others = {*engine._poisons}  # whose errors pytest keeps
    a = pg.array(X)
    pg.schedule(failing, pg.update(a))
    n_raised(pg.sync)
    collectively(engine.has_failed and n_raised(lambda: a.local()[0]) == 1)
    a[...] = 1
    pg.sync()
    gc.collect()  # what was raised leads to itself
    pg.sync()
    collectively({*engine._poisons} == of_others and engine.has_failed == bool(of_others))
    assert_equal(a + 1, np.full(SHAPE, 2.0))


@pytest.mark.parametrize("use", [lambda a: a + 1, lambda a: a.sum(), lambda a: a.local(), lambda a: a.gather()])
def test_global_arrays_in_a_task(use: Any) -> None:
    a = pg.array(X)
    pg.schedule(lambda x: use(a), pg.array(X))
    raises_everywhere(pg.TaskError, "global arrays", pg.sync)
    assert_equal(a + 1, X + 1)


@pytest.mark.every
def test_global_arrays_in_a_task_of_one_process_leave_no_trace() -> None:
    """The others know nothing of what it has tried, and go on with the same operations."""
    a, b = pg.array(X), pg.array(X, layout=layout_of("cyclic(2)", SHAPE))
    refused = []

    def trying(x: Any) -> None:
        for use in lambda: b + 1, lambda: b.sum(), lambda: b.__setitem__(Ellipsis, X), b.gather:
            with pytest.raises(RuntimeError, match="global arrays"):
                use()
            refused.append(use)

    if pg.RANK == 0:
        pg.schedule(trying, pg.update(a))
    pg.sync()
    collectively(len(refused) == (4 if pg.RANK == 0 else 0))
    assert_equal(a[1:] + b[:-1], X[1:] + X[:-1])
    collectively(float((a - b[::-1]).sum()) == float((X - X[::-1]).sum()))


def test_reads_are_read_only() -> None:
    a = pg.array(X)
    pg.schedule(add, a, a)
    raises_everywhere(pg.TaskError, "read-only", pg.sync)
    assert_equal(a, X)  # which the task has not declared to write


def test_not_a_local_view() -> None:
    a = pg.arange(40, layout=pg.Distribution("cyclic(4)"))
    called: list[int] = []
    if pg.SIZE > 1:
        raises_everywhere(ValueError, "blocks", lambda: pg.schedule(called.append, a[::3]))
    pg.sync()
    collectively(not called)


@pytest.mark.parametrize("declare", [pg.read, pg.write, pg.update])
def test_declarations_take_global_arrays(declare: Any) -> None:
    raises_everywhere(TypeError, "global array", lambda: declare(X))
