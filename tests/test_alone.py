"""What is computed at once: the same values, to the bit, as what is recorded, and after what comes before it."""

from __future__ import annotations

import functools
import gc
import operator
import random
import signal
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import pgaspy as pg
from pgaspy import immediate
from pgaspy.alone import small
from pgaspy.execution import recording
from pgaspy.execution.queue import MAX_PASSING, Queue
from pgaspy.execution.tiers import GAIN_OF_NODES, GAINFUL_ELEMENTS, WORTH_RECORDING, Tiers
from pgaspy.job.procgrid import begin_anew
from pgaspy.scheduling.at_once import ELEMENTS_PER_CALL, MAX_ELEMENTS, MAX_OF_NEW, WORK_OF_PLANNING
from pgaspy.scheduling.base import SharedStorage
from pgaspy.scheduling.kinds.statement import Statement
from pgaspy.statements import known_calls
from tests.flushes import have_recorded, refuse_quickly
from tests.randomly import random_key
from tests.together import assert_equal, collectively

OPERATIONS = operator.add, operator.sub, operator.mul, operator.truediv, operator.lt, operator.ge, operator.eq
DTYPES = ("d", "f", "l", "?", "D")


def at_once(statement: Callable[[], object]) -> int:
    """How many of the operations of a statement are computed at once."""
    before = pg.stats().n_at_once
    statement()
    return pg.stats().n_at_once - before


@pytest.fixture(params=["by C", "by NumPy", "at once", "in turn", "recorded", "in order"])
def tier(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """Each way in which operations are executed."""
    pg.sync()
    monkeypatch.setattr(Queue, "computes_at_once", request.param in ("by C", "by NumPy", "at once"))
    if request.param == "by NumPy":
        refuse_quickly(monkeypatch)
    elif request.param != "by C":
        monkeypatch.setattr(small, "is_on", False)
    if request.param == "in turn":
        have_recorded(monkeypatch)
    recording.queue.overlaps = request.param != "in order"
    yield request.param
    recording.queue.overlaps = True


@pytest.fixture
def anew(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing has been done often, and kernels compute."""
    begin_anew()
    known_calls.forget()
    monkeypatch.setattr(small, "is_on", False)


def bits(n: int) -> list[bytes]:
    """What a program of all kinds of operations gives."""
    rng = np.random.default_rng(n)
    a, b = pg.array(rng.random((n, n + 1)) - 0.5), pg.array(rng.random(n + 1))
    c = a * b - b / 3
    c[1:, ::2] += np.sin(a[1:, ::2]) * 2
    c[::-1, 0] = b[:n]
    d = np.exp(c[:, 1:]) - c[:, :1]
    e = d @ b[1:]
    d[n // 2] -= e[n // 2] * d[0]
    s = d.sum(), d.sum(axis=0), (d * d).mean(axis=1), e @ e, d.max(), d.argmin(axis=0)
    return [x.gather().tobytes() for x in (c, d, e, *s)]


@pytest.mark.mpi
@pytest.mark.parametrize("n", [3, 17, 100])
def test_each_tier_gives_the_same_bits(n: int, tier: str) -> None:
    found = bits(n)
    recording.queue.overlaps = False
    collectively(found == bits(n), tier)


def mixed_bits() -> list[bytes]:
    """What functions of operands give that are cast, some of them by no kernel."""
    rng = np.random.default_rng(1)
    a, b = rng.integers(1, 100, (9, 17)), rng.random((9, 17)) * 3
    found = [np.power(pg.array(a.astype(x)), pg.array(b.astype(y))) for x in "bBhHiIlLef" for y in "efd"]
    found += [np.sin(pg.array(a.astype(x))) for x in "BHIL"]
    return [x.gather().tobytes() for x in found]


def test_each_tier_gives_the_same_bits_where_operands_are_cast(tier: str) -> None:
    found = mixed_bits()
    recording.queue.overlaps = False
    assert found == mixed_bits()


@pytest.mark.mpi
@pytest.mark.parametrize("seed", range(60))
def test_random_statements_on_views(seed: int) -> None:
    rng = random.Random(seed)
    shape = tuple(rng.randint(1, 6) for _ in range(rng.randint(1, 3)))
    dtype = rng.choice(DTYPES)
    models: list[Any] = [np.arange(np.prod(shape)).reshape(shape).astype(dtype), np.ones(shape, dtype)]
    arrays = [pg.array(model) for model in models]
    for _ in range(12):
        key, other_key, k = random_key(rng, shape), random_key(rng, shape), rng.randrange(2)
        number = rng.choice((None, 1, 2.5, 3))
        statement = functools.partial(rng.choice(STATEMENTS), key, rng.choice(OPERATIONS))
        try:
            with np.errstate(all="ignore"):
                expected = statement(models[k], models[1][other_key] if number is None else number)
        except (TypeError, ValueError):
            with pytest.raises((TypeError, ValueError)):  # which NumPy raises, depends on the integers' class
                statement(arrays[k], arrays[1][other_key] if number is None else number)
            continue
        assert_equal(statement(arrays[k], arrays[1][other_key] if number is None else number), expected)


def _result(key: Any, operation: Any, x: Any, y: Any) -> Any:
    return operation(x[key], y)


def _in_place(key: Any, operation: Any, x: Any, y: Any) -> Any:
    x[key] += y
    return x


def _assigned(key: Any, operation: Any, x: Any, y: Any) -> Any:
    x[key] = y
    return x


STATEMENTS = _result, _in_place, _assigned


def test_what_is_recorded_first_is_executed_in_turn_and_planned_when_it_comes_again(
        monkeypatch: pytest.MonkeyPatch) -> None:
    have_recorded(monkeypatch)
    a, b = pg.ones((5, 4)), pg.arange(20).reshape(5, 4)
    pg.sync()
    seen = []
    for _ in range(3):
        before = pg.stats()
        c = (a * 2 + b) / 4 - (b > 3)
        total = c.sum(axis=0)
        pg.sync()
        done = pg.stats() - before
        seen.append((done.n_planned, done.n_kernels))
        assert_equal(total, ((2 + np.arange(20).reshape(5, 4)) / 4 - (np.arange(20).reshape(5, 4) > 3)).sum(axis=0))
    assert seen == [(0, 0), (1, 1), (0, 1)]


@pytest.mark.mpi
def test_what_comes_together_for_the_first_time_is_executed_in_turn(monkeypatch: pytest.MonkeyPatch) -> None:
    have_recorded(monkeypatch)
    a, seen = pg.arange(40.0).reshape(10, 4), []
    pg.sync()
    for _ in range(3):
        before = pg.stats()
        b = 2 * a
        b[1:-1] += a[:-2] * a[2:]
        b /= b.max()
        pg.sync()
        seen.append((pg.stats() - before).n_planned)
        model = 2 * np.arange(40.0).reshape(10, 4)
        model[1:-1] += model[:-2] * model[2:] / 4
        assert_equal(b, model / model.max())
    collectively(seen == [0, 1, 0], str(seen))


@pytest.mark.mpi
def test_what_fails_in_turn_before_it_begins_is_planned(monkeypatch: pytest.MonkeyPatch) -> None:
    have_recorded(monkeypatch)
    monkeypatch.setattr(recording.queue.engine, "is_alone", False)  # alone, it would fail by itself
    failed = []

    def execute(self: Statement, *arguments: Any) -> None:
        failed.append(self)
        raise MemoryError

    monkeypatch.setattr(Statement, "execute", execute)
    a = pg.arange(12.0)
    pg.sync()
    b = (a + 1) * a
    b[1:] -= a[1:]
    model = (np.arange(12.0) + 1) * np.arange(12.0)
    model[1:] -= np.arange(1.0, 12.0)
    assert_equal(b, model)
    collectively(len(failed) == 3, str(failed))


def test_what_is_large_is_planned_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    have_recorded(monkeypatch)
    for n in MAX_OF_NEW, MAX_OF_NEW + 1:
        a = pg.ones(n)
        pg.sync()
        before = pg.stats()
        a += a * 2
        pg.sync()
        assert (pg.stats() - before).n_planned == (n > MAX_OF_NEW)


def test_what_is_large_is_done_in_turn_where_half_of_it_is_new(monkeypatch: pytest.MonkeyPatch) -> None:
    """As in a loop over columns, each of which is another one; and not what is known, in another order."""
    have_recorded(monkeypatch)
    A, B = np.arange(2.0 * MAX_ELEMENTS).reshape(4, -1) % 7, np.arange(4.0).reshape(4, 1)
    a, b = pg.array(A), pg.array(B)

    def n_planned(*columns: int) -> int:
        nonlocal a, A
        pg.sync()
        before = pg.stats()
        for k in columns:
            a, A = pg.maximum(a, b[k] + a), np.maximum(A, B[k] + A)
        pg.sync()
        return (pg.stats() - before).n_planned

    assert [n_planned(k) for k in range(4)] == [0] * 4
    assert n_planned(1, 2) > 0
    assert_equal(a, A)


def test_small_products_are_computed_at_once() -> None:
    begin_anew()
    a, b = pg.arange(12.0).reshape(3, 4), pg.ones((4, 2))
    assert at_once(lambda: a @ b) == 1
    assert_equal(a @ b.T[::-1].T, np.arange(12.0).reshape(3, 4) @ np.ones((4, 2)))


@pytest.mark.mpi
@pytest.mark.usefixtures("anew")
def test_what_lies_alike_is_computed_at_once_on_any_number_of_processes() -> None:
    a, b = pg.ones((4 * pg.SIZE, 3)), pg.ones((4 * pg.SIZE, 3))
    pg.sync()
    n = at_once(lambda: a + b), at_once(lambda: a.__imul__(2.0)), at_once(lambda: b.__setitem__(0, a[0]))
    collectively(n == (1, 1, 1))
    moved = at_once(lambda: b.__setitem__(slice(1, None), a[:-1]))
    collectively(moved == 1, "as little is sent")
    assert_equal(b, np.array([[2.0]] * len(b)) * np.ones(3))


# On one process ------------------------------------------------------------------------------------------------------


@pytest.mark.usefixtures("anew")
def test_what_is_new_and_small_is_computed_at_once() -> None:
    a, b = pg.ones((9, 11)), pg.ones(11)
    assert at_once(lambda: a + b) == 1
    assert at_once(lambda: a[2] * 3.0) == 1
    assert at_once(lambda: a[1:, 2].sum()) == 1
    assert at_once(lambda: a[3, :9] @ b[:9]) == 1
    large = pg.ones(MAX_ELEMENTS + 1)
    assert at_once(lambda: large + 1.0) == 0
    assert at_once(lambda: pg.arange(3) + 1.5) == 1, "the integers are cast"
    assert at_once(lambda: np.minimum(a[1], b)) == 1


@pytest.mark.usefixtures("anew")
def test_what_comes_again_is_recorded() -> None:
    n_elements = 4 * GAINFUL_ELEMENTS
    a = pg.ones(n_elements)
    n = at_once(lambda: [a.__iadd__(1.0) for _ in range(1000)])
    n_cold = WORK_OF_PLANNING // (ELEMENTS_PER_CALL + n_elements)
    assert n == n_cold + WORTH_RECORDING // 3
    planned = pg.stats().n_planned
    for _ in range(1000):
        a += 1.0
    pg.sync()
    assert pg.stats().n_planned - planned <= 2
    assert (a.local() == 2001).all()


def test_what_is_recorded_on_the_same_array_comes_before() -> None:
    called = []
    a, b = pg.zeros(5), pg.zeros(5)
    pg.schedule(lambda x: (called.append(1), x.fill(3.0)), pg.update(a))
    assert at_once(lambda: b.__iadd__(1.0)) == 1
    assert at_once(lambda: a.__imul__(2.0)) == 0, "it waits for the task"
    assert not called
    assert (a.local() == 6.0).all()
    large = pg.ones(MAX_ELEMENTS + 1)
    large *= 2.0
    assert at_once(lambda: large[:5].__iadd__(1.0)) == 1
    assert (large.local()[:6] == [3, 3, 3, 3, 3, 2]).all()


@pytest.mark.usefixtures("by_kernels")
def test_elements_and_replicas_keep_what_they_were() -> None:
    a = pg.arange(6.0).reshape(2, 3)
    element, row, view = a[1, 1], pg.replicate(a, axis=0), a.local()
    assert at_once(lambda: a.__setitem__((1, slice(None)), 7.0)) == 2, "the element has memory of its own before"
    assert at_once(lambda: a[0].__imul__(10.0)) == 1
    assert float(element) == 4.0
    np.testing.assert_array_equal(row.gather(), np.arange(6.0).reshape(2, 3))
    np.testing.assert_array_equal(view, [[0, 10, 20], [7, 7, 7]])
    row[...] = 0.0
    np.testing.assert_array_equal(view, [[0, 10, 20], [7, 7, 7]])


@pytest.mark.mpi
def test_what_is_written_to_a_replica_is_recorded_on_its_own_memory() -> None:
    a = pg.arange(7.0)
    b = pg.replicate(a, axis=0)
    np.add(b, 1.0, out=b)
    collectively(not any(isinstance(storage, SharedStorage) for storage in recording.queue.recorded.storages))
    assert_equal(b, np.arange(7.0) + 1)
    assert_equal(a, np.arange(7.0))


@pytest.mark.mpi
def test_an_element_is_added_to_its_place_again_and_again(tier: str) -> None:
    A = pg.array(np.arange(7.0))
    for _ in range(3):
        element, place = A[5], A[5, ...]
        place += element
    assert float(A[5]) == 40
    assert float(element) == 20


@pytest.mark.usefixtures("by_kernels")
def test_operands_that_are_written_to_are_copied() -> None:
    a, model = pg.arange(10.0), np.arange(10.0)

    def overlap(x: Any) -> None:
        x[1:] += x[:-1]
        x[::-1] += x
        x[2:] = x[:-2]

    assert at_once(lambda: overlap(a)) == 3
    overlap(model)
    assert_equal(a, model)


@pytest.mark.usefixtures("by_kernels")
def test_an_element_of_what_is_written_to(monkeypatch: pytest.MonkeyPatch) -> None:
    a, model = pg.arange(12.0).reshape(3, 4) + 1.0, np.arange(12.0).reshape(3, 4) + 1.0

    def normalise(x: Any, n_times: int) -> None:
        for _ in range(n_times):
            x[1] /= x[1, 1]
            x[1:] += x[2, 3]
            x[2] = x[2, 0]

    assert at_once(lambda: normalise(a, 1)) == 6, "the elements, and three statements"
    have_recorded(monkeypatch)
    assert at_once(lambda: normalise(a, 1000)) < 1000
    normalise(model, 1001)
    assert_equal(a, model)


def test_what_does_not_fit_is_left_to_be_recorded() -> None:
    a = pg.arange(10.0)
    with pytest.raises(ValueError, match="broadcast"):
        a[1:] += a
    with pytest.raises(ValueError, match="broadcast"):
        a + a[1:]
    with pytest.raises(ValueError, match="read-only"):
        pg.broadcast_to(a, (2, 10))[...] = 1.0
    with pytest.raises(TypeError):
        pg.arange(3).__iadd__(1.5)
    with pytest.raises(OverflowError):
        pg.arange(3) + 2**70


def test_after_a_failure_what_is_poisoned_is_not_used() -> None:
    def fails(x: Any) -> None:
        raise ValueError("bad")

    a, b = pg.zeros(4), pg.zeros(4)
    pg.schedule(fails, pg.update(a))
    with pytest.raises(pg.TaskError):
        pg.sync()
    b += 1.0
    with pytest.raises(pg.TaskError):
        b += a
    assert (b.gather() == 1.0).all()


@pytest.mark.parametrize("seed", range(30))
def test_an_interrupt_leaves_each_statement_done_or_not(seed: int) -> None:
    class Stop(Exception):
        """What the handler raises."""

    def handler(*_: Any) -> None:
        raise Stop

    def count() -> None:  # Python 3.13.0 lets what is raised where a loop goes on pass by a `try` around it
        nonlocal done
        while done < 2000:
            a[done % 7:] += 1.0
            done += 1

    a, before = pg.zeros(50), signal.signal(signal.SIGALRM, handler)
    done = 0
    gc.disable()  # other libraries' callbacks, in which an exception is lost
    try:
        signal.setitimer(signal.ITIMER_REAL, 1e-4 * (seed + 1))
        count()
    except Stop:
        pass
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
        gc.enable()
    model = np.zeros(50)
    for k in range(done):
        model[k % 7:] += 1.0
    found = a.gather()
    after = model.copy()
    after[done % 7:] += 1.0
    assert np.array_equal(found, model) or np.array_equal(found, after)


@pytest.mark.usefixtures("anew")
def test_a_call_that_comes_again_is_worked_out_once(monkeypatch: pytest.MonkeyPatch) -> None:
    shapes: list[tuple[int, ...]] = []
    found = immediate.result_view
    monkeypatch.setattr(immediate, "result_view", lambda shape, *more: (shapes.append(shape), found(shape, *more))[1])
    x = np.arange(24.0).reshape(4, 6)
    a = pg.array(x)
    for k in (2, 3, 5, 7):
        a += 1
        x += 1
        assert_equal(a[1:, ::-1] - a[:-1], x[1:, ::-1] - x[:-1])
        assert_equal(a * k, x * k)
        assert_equal(k / a[::2], k / x[::2])
        assert_equal(-a[0] + a, -x[0] + x)
        assert_equal(a < k, x < k)
    assert len(shapes) == 12, shapes


def test_what_is_large_is_hot_sooner() -> None:
    def n_at_once(n_elements: int, has_nodes: bool = False) -> int:
        tiers, keys = Tiers(), [(k,) for k in range(8)]
        return sum(tiers.admits(key, n_elements, True, has_nodes) for _ in range(50) for key in keys)

    assert n_at_once(0) == n_at_once(2 * GAINFUL_ELEMENTS - 1) == 8 * 50, "recording these gains nothing"
    n_cold = 8 * (WORK_OF_PLANNING // ELEMENTS_PER_CALL)
    assert n_at_once(0, has_nodes=True) == n_cold + WORTH_RECORDING // GAIN_OF_NODES
    assert n_at_once(MAX_ELEMENTS) == 8 + WORTH_RECORDING // (MAX_ELEMENTS // GAINFUL_ELEMENTS - 1)


def test_what_is_small_is_recorded_where_what_sends_is() -> None:
    """And no longer than what that has gained."""
    tiers, small, sending = Tiers(), ("small",), ("sending",)

    def admits_small(n: int) -> list[bool]:
        return [tiers.admits(small, 0, False, False) for _ in range(n)]

    assert all(admits_small(1000))
    while tiers.admits(sending, 0, False, True):
        assert all(admits_small(GAIN_OF_NODES // 2))
    assert not any(admits_small(GAIN_OF_NODES))
    assert not tiers.admits(sending, 0, False, True)
    found = admits_small(2 * WORTH_RECORDING)
    assert found == sorted(found)
    assert found.count(False) == WORTH_RECORDING - 1


@pytest.mark.usefixtures("tier")
@pytest.mark.parametrize("make", [
    lambda xp, x: xp.broadcast_to(x, (3, 4)), lambda xp, x: xp.broadcast_to(x, (2, 3, 4)),
    lambda xp, x: xp.broadcast_to(x[:, :1], (3, 4)), lambda xp, x: xp.broadcast_to(x, (3, 4)).T[1:]])
def test_what_repeats_elements_is_read_alone(make: Callable[..., Any]) -> None:
    """And what is made of it is written to."""
    ours, theirs = pg.arange(12.0).reshape(3, 4), np.arange(12.0).reshape(3, 4)
    x, y = make(pg, ours), make(np, theirs)
    for function in (lambda x: x + 1, lambda x: -x, lambda x: 2 * x, lambda x: x[x > 3],
                     lambda x: x[..., 0] * x[..., 1],
                     lambda x: x.copy(), lambda x: x.sum(axis=0), lambda x: x.astype(int), np.zeros_like, np.sqrt,
                     lambda x: np.full_like(x, 2), lambda x: x[[0, 1]], lambda x: np.where(x > 3, x, 0.0)):
        found, expected = function(x), function(y)
        assert_equal(found, expected)
        found[0], expected[0] = 1, 1
        found *= 2
        expected *= 2
        assert_equal(found, expected)
    for write in (lambda x: x.__setitem__(0, 1.0), lambda x: x.__iadd__(1), lambda x: np.copyto(x, 1.0),
                  lambda x: np.add(x, 1, out=x), lambda x: x[..., 0].__imul__(2), lambda x: x.fill(1.0),
                  lambda x: x.__setitem__(x > 3, 1.0), lambda x: x.sort()):
        with pytest.raises(ValueError, match="read-only"):
            write(x)
    ours += 1
    theirs += 1
    assert_equal(x, y)


@pytest.mark.usefixtures("tier")
@pytest.mark.parametrize("dtypes", [(np.longlong, np.int64), (np.int64, np.longlong)])
def test_equal_integers_of_other_names_are_computed_alike(dtypes: tuple[Any, Any]) -> None:
    for dtype in dtypes:
        a, x = pg.arange(12, dtype=dtype), np.arange(12, dtype=dtype)
        for _ in range(40):
            a, x = (a * 3 - a[::-1]) % 1000, (x * 3 - x[::-1]) % 1000
        assert a.dtype == x.dtype
        assert_equal(a, x)


def test_what_is_passed_by_what_is_small_is_executed_at_some_time() -> None:
    """To see each time that it is not in the way takes longer; but not within a loop that records more meanwhile."""
    if pg.SIZE > 1 or not recording.queue.overlaps:
        pytest.skip("several processes record what is small, and in order nothing stays recorded")
    pg.sync()
    x, large = pg.ones((7, 4)), []
    before = pg.stats().n_flushes
    for _ in range(20):
        large.append(pg.eye(300))
        for _ in range(20):
            x = x * 1.5
    within = pg.stats().n_flushes - before
    n_recorded = len(recording.queue.recorded)
    for _ in range(2 * MAX_PASSING):
        x = x * 0.5
    assert (within, n_recorded) == (0, 20)
    assert not recording.queue.recorded
    assert all(float(one[7, 7]) == 1 for one in large)
