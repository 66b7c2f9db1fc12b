"""Small arrays of one process, which are NumPy's: as those of the other tiers, to the bit, the dtype and the layout."""

from __future__ import annotations

import contextlib
import gc
import operator
import pickle
import random
import signal
import subprocess
import sys
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import pgaspy as pg
from pgaspy.alone import small
from pgaspy.execution import recording
from pgaspy.scheduling.at_once import MAX_ELEMENTS
from tests.flushes import refuse_quickly
from tests.randomly import random_key

LAYOUTS: tuple[Any, ...] = (None, pg.Distribution("cyclic(3)", "*"), pg.Distribution("*", "cyclic(2)"),
                            pg.Distribution("*", "*"))
NUMBERS = 2, 0.5, -3, 300, 1j, np.float64(1.5), np.int64(2)
OPERATIONS = (operator.add, operator.sub, operator.mul, operator.truediv, operator.lt, operator.eq, np.minimum,
              np.maximum, operator.floordiv, np.hypot)
UNARY = operator.neg, abs, np.sqrt, np.exp, np.isfinite, np.floor
DTYPES = "dflib?DBe"


def is_small(x: Any) -> bool:
    """Whether an array has its elements only."""
    return x._source is not None


def taken(rng: random.Random, x: Any, y: Any) -> Any:
    return rng.choice(OPERATIONS)(x, y)


def with_number(rng: random.Random, x: Any, y: Any) -> Any:
    key = random_key(rng, x.shape)
    number = rng.choice((*NUMBERS, np.arange(1.0, x.shape[-1] + 1) if x.shape else 1))
    operands = (x[key], number) if rng.random() < 0.5 else (number, x[key])
    return rng.choice(OPERATIONS)(*operands)


def number_assigned(rng: random.Random, x: Any, y: Any) -> None:
    x[random_key(rng, x.shape)] = rng.choice(NUMBERS)


def section_assigned(rng: random.Random, x: Any, y: Any) -> None:
    key = random_key(rng, x.shape)
    x[key] = y[key] if rng.random() < 0.5 else y


def function(rng: random.Random, x: Any, y: Any) -> Any:
    return rng.choice(UNARY)(x[random_key(rng, x.shape)])


def in_place(rng: random.Random, x: Any, y: Any) -> Any:
    key = random_key(rng, x.shape)
    return rng.choice((operator.iadd, operator.imul))(x[key], y[key] if rng.random() < 0.7 else rng.choice(NUMBERS))


def multiplied(rng: random.Random, x: Any, y: Any) -> Any:
    return x[random_key(rng, x.shape)] @ y.T[..., 0] if rng.random() < 0.5 else x @ y.T


def reduced(rng: random.Random, x: Any, y: Any) -> Any:
    return getattr(x[random_key(rng, x.shape)], rng.choice(("sum", "max", "min", "mean", "any", "prod", "argmin",
                                                                 "argmax")))()


def reduced_along(rng: random.Random, x: Any, y: Any) -> Any:
    z = x[random_key(rng, x.shape)]
    axis = rng.choice((None, 0, -1, (0, -1)))
    if rng.random() < 0.2:
        return getattr(z, rng.choice(("argmin", "argmax")))(rng.choice((0, -1)))
    if rng.random() < 0.2:
        return rng.choice((np.fmax, np.add, np.bitwise_or)).reduce(z, rng.choice((0, -1)))
    name = rng.choice(("sum", "max", "min", "mean", "any", "prod", "var", "std"))
    return getattr(z, name)(axis=axis, keepdims=rng.random() < 0.3)


def centered(rng: random.Random, x: Any, y: Any) -> Any:
    axis = rng.choice((0, -1))
    return x - y.mean(axis=axis, keepdims=True)


def accumulated(rng: random.Random, x: Any, y: Any) -> Any:
    z = x[random_key(rng, x.shape)]
    if rng.random() < 0.5:
        return rng.choice((np.maximum, np.add, np.logical_or)).accumulate(z, rng.choice((0, -1)))
    return getattr(z, rng.choice(("cumsum", "cumprod")))(rng.choice((None, 0, -1)))


def reshaped(rng: random.Random, x: Any, y: Any) -> Any:
    z = x[random_key(rng, x.shape)]
    return rng.choice((z.ravel, z.flatten, z.T.ravel, lambda: z.reshape(-1, *z.shape[:1]), lambda: z.reshape(1, -1)))()


def into(rng: random.Random, x: Any, y: Any) -> Any:
    key = random_key(rng, x.shape)
    return rng.choice((np.add, np.maximum, np.hypot, np.divide))(x[key], rng.choice((y[key], *NUMBERS)), out=y[key])


def put(rng: random.Random, x: Any, y: Any) -> None:
    places = [rng.randrange(-x.size, x.size) for _ in range(rng.choice((1, 3))) if x.size]
    if rng.random() < 0.5:
        pg.put(x, rng.choice((places, pg.array(places, int))), rng.choice((y.ravel()[:2], 3, [1, 2])))
    else:
        rows = [p % len(x) for p in places if x.ndim]
        rng.choice((np.minimum, np.maximum)).at(x, rows, rng.choice((y[:1] if y.ndim else y, 2)))


def selected(rng: random.Random, x: Any, y: Any) -> Any:
    if rng.random() < 0.5:
        return x[y > 1]
    if rng.random() < 0.2:
        x[y > 0] = rng.choice(NUMBERS)
    n = len(x)
    rows = [rng.randrange(-n, n) for _ in "123" if n]
    keys = [pg.array(rows, dtype=int), np.array(rows, int), rows, [True] * n, (rows, slice(1, None)), (slice(1), rows),
            (pg.array(rows, dtype=int), rng.choice((0, pg.array(rows, dtype=int) // 2)))]
    key = rng.choice(keys)
    if rng.random() < 0.5:
        x[key] = rng.choice((x[key][::-1], 3))
    return x[key]


def chosen(rng: random.Random, x: Any, y: Any) -> Any:
    return np.where(x > y, rng.choice((x, *NUMBERS[:3])), rng.choice((y, *NUMBERS)))


def copied(rng: random.Random, x: Any, y: Any) -> Any:
    return x[random_key(rng, x.shape)].copy()


STATEMENTS = (taken, with_number, number_assigned, section_assigned, function, in_place, multiplied, reduced, selected,
              chosen, copied, reduced_along, centered, accumulated, reshaped, into, put)
ERRORS = TypeError, ValueError, OverflowError, IndexError


def ran(seed: int) -> list[Any]:
    """What a random program of small arrays gives: bytes, dtypes, and where they lie."""
    rng, values = random.Random(seed), np.random.default_rng(seed)
    shape = rng.randint(1, 7), rng.randint(1, 7)
    arrays: list[Any] = [
        pg.array((values.random(shape) * 9 - 4).astype(rng.choice(DTYPES)), layout=rng.choice(LAYOUTS)) for _ in "123"]
    found: list[Any] = []
    for _ in range(15):
        statement, x, y = rng.choice(STATEMENTS), rng.choice(arrays), rng.choice(arrays)
        state = rng.getstate()
        try:
            result = statement(rng, x, y)
        except ERRORS as error:
            result = type(error)
        rng.setstate(state)
        found.append((statement.__name__, result if isinstance(result, type) else type(result).__name__))
        if isinstance(result, pg.GlobalArray):
            if statement is selected:  # which lies as a new array does, where rows are selected of it
                result = pg.array(result.gather())
            elif result.shape and result.dtype.char in DTYPES:
                arrays[rng.randrange(3)] = result
            found.append(told(result))
    return [*found, *map(told, arrays)]


def told(x: Any) -> tuple[Any, ...]:
    """What is to be the same of an array in all tiers."""
    has_strides = min(x.shape, default=0) > 1 and x._view.own_layout is not None
    return x.gather().tobytes(), x.dtype, x.shape, (x == x).layout.dims, x.local().strides if has_strides else None


@pytest.mark.filterwarnings("ignore::numpy.exceptions.ComplexWarning", "ignore:what is written to this array")
@pytest.mark.parametrize("seed", range(600))
def test_they_are_as_those_of_kernels(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    found = ran(seed)
    monkeypatch.setattr(small, "is_on", False)
    assert found == ran(seed)


def test_statements_record_nothing_and_work_out_no_layout() -> None:
    A, x = pg.ones((20, 20)), pg.ones(20)
    pg.sync()
    before = pg.stats()
    y = A[3, 2:] * 2.0 - x[2:] / A[1, 1]
    A[4, 2:] += y
    z = A[:, 5] @ A
    assert is_small(y)
    assert is_small(z)
    done = pg.stats() - before
    assert (done.n_recorded, done.n_at_once) == (6, 6)
    assert float(z[2]) == 23
    assert y.layout == (A[3, 2:] + 1).layout


def test_sections_are_views_of_their_array_before_and_after_it_has_a_base() -> None:
    x = pg.arange(12.0) + 1  # which has its elements only
    row, inner = x[2:], x[2:][1:-1]
    row[0] = 50
    inner *= 2
    assert is_small(x)
    x.layout  # noqa: B018  (which gives it a base)
    assert not is_small(x)
    inner[0] += 1
    row.reshape(2, 5)
    row[-1] = 7
    model = np.arange(12.0) + 1
    model[2] = 50
    model[3:11] *= 2
    model[3] += 1
    model[11] = 7
    for found, expected in (x, model), (row, model[2:]), (inner, model[3:-1]):
        np.testing.assert_array_equal(found.gather(), expected)
        assert found._base is x._base


def test_elements_keep_what_they_were() -> None:
    x = pg.arange(5.0)
    element, number = x[2], x[1] + x[3]
    x[...] = 0
    assert (float(element), float(number), element.dtype) == (2, 4, x.dtype)
    y = element
    y += 1
    assert float(element) == 2
    with pytest.raises(TypeError, match="does not support assignment"):
        element[...] = 1


def test_arrays_of_numbers_are_copies() -> None:
    x = pg.arange(5.0)
    total, element = x.sum(), x[3]
    one, other = pg.asarray(total), pg.asarray(element)
    one[...] = 7
    x[...] = 1
    other += 1
    assert [float(n) for n in (total, element, one, other)] == [10, 3, 7, 4]


def test_what_is_recorded_comes_before() -> None:
    large = pg.ones(MAX_ELEMENTS + 1)
    large *= 3
    assert len(recording.queue.recorded) > 0
    few = large[:4]
    few += 1
    assert float(large[0]) == 4
    pg.schedule(lambda part: part.fill(9), pg.update(few))
    assert float(few[1] + large[2]) == 18


def few_and_recorded() -> tuple[pg.GlobalArray, pg.GlobalArray]:
    """An array of few elements, and indices of it; something large is recorded that reads it."""
    few, indices, large = pg.array([3.0, 1.0, 4.0, 5.0]), pg.array([3, 0, 3]), pg.ones((MAX_ELEMENTS, 4))
    large *= few
    assert len(recording.queue.recorded) > 0
    return few, indices


@pytest.mark.parametrize("step", [
    lambda x, i: x[i], lambda x, i: x[x > 2], lambda x, i: x.__setitem__(i, 5.0),
    lambda x, i: x.__setitem__(x > 2, x[1:]), lambda x, i: np.add.at(x, i, 1.0)])
def test_after_what_is_waited_for_in_any_case_nothing_is_recorded(step: Callable[[Any, Any], Any]) -> None:
    few, indices = few_and_recorded()
    model, numpys = few.gather(), indices.gather()
    few, indices = few_and_recorded()
    found = step(few, indices)
    assert not len(recording.queue.recorded)
    expected = step(model, numpys)
    if found is not None:
        np.testing.assert_array_equal(found.gather(), expected)
    before = pg.stats()
    for _ in range(100):
        few, model = pg.clip(few + 1, 2, 100), np.clip(model + 1, 2, 100)
        few[indices.astype(np.int32)] *= 2
        model[numpys.astype(np.int32)] *= 2
    done = pg.stats() - before
    assert done.n_recorded == done.n_at_once
    np.testing.assert_array_equal(few.gather(), model)


def test_a_task_that_is_recorded_is_not_waited_for() -> None:
    few, indices = few_and_recorded()
    pg.schedule(lambda part: part.fill(9), pg.update(few))
    found = few[indices]
    assert len(recording.queue.recorded) > 0
    assert found.tolist() == [9, 9, 9]


def test_what_nothing_recorded_uses_is_computed_at_once() -> None:
    few, large = pg.arange(8.0), pg.ones(MAX_ELEMENTS + 1)
    pg.sync()
    large *= 3
    before = pg.stats()
    few[1:3] += few[2:4] * 2
    few = np.concatenate([few, pg.sqrt(few)])
    done = pg.stats() - before
    assert done.n_recorded == done.n_at_once > 3
    assert len(recording.queue.recorded) > 0
    model = np.arange(8.0)
    model[1:3] += model[2:4] * 2
    np.testing.assert_array_equal(few.gather(), np.concatenate([model, np.sqrt(model)]))


@pytest.mark.parametrize("read", [
    lambda x: x[2:], lambda x: x[::-1], lambda x: x.copy(), lambda x: x[3:4], lambda x: x[3],
    lambda x: x.redistribute() if isinstance(x, pg.GlobalArray) else x])
def test_what_something_recorded_reads_is_not_written_to(read: Callable[[Any], Any]) -> None:
    """Whether it has a name of its own or not, and whose elements it has."""
    few, model = pg.arange(8.0), np.arange(8.0)
    first, large = few[2:], pg.ones((2 * MAX_ELEMENTS, read(model).size))
    pg.sync()
    large += read(few)
    assert len(recording.queue.recorded) > 0
    few[...] = 7
    first *= 2
    assert large[0].tolist() == (1 + np.atleast_1d(read(model))).tolist()
    assert few.tolist() == [7, 7, *[14] * 6]


def test_indices_that_are_wrong_are_refused_where_they_are_used() -> None:
    few, indices = few_and_recorded()
    with pytest.raises(IndexError, match="index 7 is out of bounds"):
        float(few[indices + 4].sum())


@pytest.mark.parametrize("dtype", "?bhiqBHIQfdFD")
def test_casts_are_those_of_kernels(dtype: str, monkeypatch: pytest.MonkeyPatch) -> None:
    targets = "FD" if dtype in "FD" else "?bhiqBHIQfdFD"
    with np.errstate(all="ignore"):
        model = np.array([0, -0.0, 1.5, -1.5, 2.0**31, 2.0**63, -1e300, np.inf, np.nan, 256, 3e9, 1e-40]).astype(dtype)
        expected = {to: model.astype(to) for to in targets}
    for to, numpys in expected.items():
        x = pg.array(model)
        found = x.astype(to)
        monkeypatch.setattr(small, "is_on", False)
        other = pg.array(model).astype(to)
        monkeypatch.undo()
        assert found.gather().tobytes() == other.gather().tobytes() == numpys.tobytes(), to
        assert found.layout == other.layout


def test_what_borrows_elements_keeps_them() -> None:
    x = pg.arange(6.0)
    copies = pg.replicate(x, axis=0)
    x[2:] = 7
    copies[0] = 8
    np.testing.assert_array_equal(x.gather(), [0, 1, 7, 7, 7, 7])
    np.testing.assert_array_equal(copies.gather(), [8, 1, 2, 3, 4, 5])


@pytest.mark.parametrize("key", [
    (slice(None, np.int64(2)),), (slice(np.int64(1), None), slice(None, np.int64(3))), (slice(None), np.int64(1)),
    (1, slice(np.int64(1), np.int64(4), np.int64(2))), np.int64(2), slice(np.int8(1), np.uint8(3))])
def test_sections_by_numpys_integers_are_views(key: Any) -> None:
    model = np.arange(15.0).reshape(3, 5)
    x = pg.array(model)
    section, expected = x[key], model[key]
    section += 1
    expected += 1
    x[key] = pg.array(expected * 2)
    model[key] = expected * 2
    np.testing.assert_array_equal(x.gather(), model)
    np.testing.assert_array_equal(section.gather(), expected)


@pytest.mark.parametrize("key", [
    lambda i: i[2], lambda i: (i[1], i[3]), lambda i: (slice(None), i[0]), lambda i: (i[1], slice(i[0], i[3])),
    lambda i: (..., i[0], None), lambda i: (i[1], [0, 3]), lambda i: (i[:2], i[3]), lambda i: (i.argmax(), i.min()),
    lambda i: (slice(i[3], i[1], -i[0]), np.int64(1)), lambda i: (i[0] > 5, i[1]), lambda i: (i[1], i[2] + 7),
    lambda i: i[1] * 0.5, lambda i: (slice(None, i[1] * 0.5),)])
def test_elements_are_indices_at_once(key: Any) -> None:
    model, indices = np.arange(20.0).reshape(4, 5), np.array([1, 2, 0, 3], dtype=np.int32)
    x, given = pg.array(model), pg.array(indices)
    pg.sync()
    try:
        expected = model[key(indices)]
    except (IndexError, TypeError):
        with pytest.raises((IndexError, TypeError)):
            x[key(given)] + 1
        return
    found = x[key(given)]
    np.testing.assert_array_equal(found.gather(), expected)
    x[key(given)] = given[3]
    model[key(indices)] = indices[3]
    np.testing.assert_array_equal(x.gather(), model)


def test_what_is_assigned_by_elements_is_a_number_afterwards() -> None:
    x, indices = pg.arange(5), pg.array([3, 1])
    element = x[indices[0]]
    assert is_small(element)
    x[indices[0]] = 7
    assert (int(element), int(x[3])) == (3, 7)


def test_elements_that_are_recorded_are_waited_for() -> None:
    x, large = pg.arange(5.0), pg.zeros(MAX_ELEMENTS + 1, dtype=int)
    large += 2
    index = large[-1]
    large += 1
    assert len(recording.queue.recorded) > 0
    x[index] = 9
    assert (float(x[2]), float(x[large[0]])) == (9, 3)


def test_bounds_of_slices_are_read_once() -> None:
    x = pg.arange(10.0)
    for bound in np.array(8), pg.array(8):
        section = x[bound:]
        bound[...] = 0
        section **= 1
        section += 1
        assert section.shape == (2,)
    np.testing.assert_array_equal(x.gather(), [*range(8), 10, 11])


def test_what_is_pending_decides_whether_a_section_is_true() -> None:
    x = pg.ones(5)
    pg.sync()
    section = x[:1]
    pg.schedule(lambda part: part.fill(0), pg.update(x))
    assert not section


def test_elements_of_text_have_the_dtype_of_their_array() -> None:
    x = pg.array([b"abcde", b""])
    assert x[1].dtype == "S5"
    assert pg.full(3, x[1:][0]).gather().tolist() == [b""] * 3


def test_what_is_selected_by_turned_arrays_lies_in_rows() -> None:
    x, i = pg.array([10, 20, 30]), pg.array([[0, 1], [2, 0], [1, 1]])
    y = pg.arange(24).reshape(2, 3, 4)
    pg.sync()
    for found, expected in ((x[i.T], [[10, 30, 20], [20, 10, 20]]),
                            (y.transpose(0, 2, 1)[pg.array([1, 0])], y.gather().transpose(0, 2, 1)[[1, 0]])):
        np.testing.assert_array_equal((found + 0).gather(), expected)
        np.testing.assert_array_equal(found.gather(), expected)


def test_of_values_for_one_element_the_last_counts() -> None:
    x, y = pg.zeros(2), pg.zeros((3, 1))
    i, j = pg.array([[0, 1], [1, 0], [0, 1]]).T, pg.array([0, 0, 1, 1])[::-1]
    pg.sync()
    x[i] = np.array([1.0, 2, 3])
    y[j, [-1]] = np.array([4.0, 3, 2, 1])[::-1]
    y[pg.array([2, 2]), 0] = pg.array([7.0, 8.0])
    assert x.gather().tolist() == [2, 3]
    assert y.gather()[:, 0].tolist() == [4, 2, 8]


def test_indices_that_are_columns_name_elements_in_their_order() -> None:
    places = np.stack([np.arange(600) * 7 % 20, np.arange(600) * 3 % 20], axis=1)
    values = np.arange(1200.0).reshape(600, 2)
    model, A, P, V = np.zeros((20, 20)), pg.zeros((20, 20)), pg.array(places), pg.array(values)
    before = pg.stats()
    for x, p, v in ((model, places, values), (A, P, V)):
        x[p[:, 0], p[:, 1]] = v[:, 1]
        x[p[:5, 1]] = x[p[:5, 0]]
        x[p[::-2, 0]] = x[p[::2, 0], ::-1]
    done = pg.stats() - before
    assert done.n_recorded == done.n_at_once > 0
    np.testing.assert_array_equal(A.gather(), model)


def test_indices_that_are_no_integers_of_the_machine_are_out_of_bounds() -> None:
    for key in [2**63], [0, 2**70]:
        with pytest.raises(IndexError):
            pg.zeros(3)[key]
        with pytest.raises(IndexError):
            pg.zeros(3)[key] = 1.0


def test_what_failed_is_not_read_and_is_no_obstacle_to_others() -> None:
    def fails(part: Any) -> None:
        raise ValueError("bad")

    x, y = pg.zeros(6), pg.zeros(6)
    pg.sync()
    section = x[2:]
    pg.schedule(fails, pg.update(x))
    with pytest.raises(pg.TaskError):
        pg.sync()
    assert is_small(y[1:] + 1)
    for statement in (lambda: section + 1, lambda: float(x[3]), lambda: section[0], lambda: y.__iadd__(x)):
        with pytest.raises(pg.TaskError):
            np.add(statement(), 1).sum().item()


def test_local_views_see_what_is_written() -> None:
    x = pg.zeros(4)
    seen = x.local()
    x[1:3] += 2
    seen[0] = 5
    y = x + 1
    np.testing.assert_array_equal(seen, [5, 2, 2, 0])
    np.testing.assert_array_equal(y.local(), [6, 3, 3, 1])


@pytest.mark.parametrize("step", [lambda x: x[1:], lambda x: x + 1, lambda x: (x + 1)[1:], lambda x: x[:-1] + x[1:],
                                  lambda x: x[::-1][1:] * x[0]])
def test_what_follows_from_what_is_not_kept(step: Callable[[Any], Any]) -> None:
    def n_arrays() -> int:
        gc.collect()
        return sum(isinstance(found, pg.GlobalArray) for found in gc.get_objects())

    x, before = pg.zeros(4000), n_arrays()
    for _ in range(3500):
        x = step(x)
    assert n_arrays() < before + 10
    assert x.layout.shape == x.shape


@pytest.mark.parametrize("error", [ValueError, TypeError, IndexError, OverflowError, KeyboardInterrupt])
def test_an_interrupt_leaves_each_statement_done_or_not(error: type[BaseException]) -> None:
    class Stop(error):  # type: ignore[misc, valid-type]
        """What the handler raises."""

    def handler(*_: Any) -> None:
        raise Stop

    def count() -> None:  # Python 3.13.0 lets what is raised where a loop goes on pass by a `try` around it
        nonlocal x, n_done
        for _ in range(1000):
            x += 1.0
            n_done += 1

    x, n_done, n_stopped, before = pg.zeros(20), 0, 0, signal.signal(signal.SIGALRM, handler)
    state = np.geterr()
    gc.disable()  # other libraries' callbacks, in which an exception is lost
    try:
        for _ in range(300):
            try:
                signal.setitimer(signal.ITIMER_REAL, 2e-5)
                count()
            except Stop:
                n_stopped += 1
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
        gc.enable()
    assert n_done <= x.gather()[0] <= n_done + n_stopped
    assert n_stopped > 200
    assert np.geterr() == state


FINALISER = """
import pgaspy as pg
class Node:
    def __init__(self):
        self.me, self.a = self, pg.ones(8)
    def __del__(self):
        self.a += 1
x = pg.zeros(20)
for _ in range(3000):
    Node()
    x += 1.0
assert (x == 3000).all()
"""


def test_finalisers_that_the_collector_calls_may_use_arrays() -> None:
    subprocess.run([sys.executable, "-c", FINALISER], check=True)


@pytest.mark.parametrize("seed", range(20))
def test_sections_of_one_dimension_that_overlap_are_assigned_as_they_were(seed: int) -> None:
    draw = np.random.default_rng(seed)
    for _ in range(30):
        a = draw.integers(0, 99, 40)
        own, other = (slice(None, None, int(draw.choice([-3, -2, -1, 1, 2, 3]))) for _ in range(2))
        first, n = draw.integers(0, 9, 2), draw.integers(2, 10)
        own, other = (np.arange(40)[key][k:k + n] for key, k in zip((own, other), first, strict=True))
        m = min(len(own), len(other))
        expected = a.copy()
        expected[own[:m]] = a[other[:m]]
        A = pg.array(a)
        A[_slice(own[:m])] = A[_slice(other[:m])]
        assert np.array_equal(A.gather(), expected)


@pytest.mark.parametrize("values", [np.s_[:-11:-1], np.s_[:10], np.s_[5:15]])
def test_what_a_mask_names_is_assigned_from_the_array_as_it_was(values: slice) -> None:
    a = np.arange(20.0)
    A, expected = pg.array(a), a.copy()
    expected[a % 2 == 0] = a[values]
    A[pg.array(a % 2 == 0)] = A[values]
    assert np.array_equal(A.gather(), expected)


@pytest.mark.parametrize("how", ["assigned", "added", "added in place"])
def test_of_several_values_for_an_element_each_counts_in_order(how: str) -> None:
    draw = np.random.default_rng(3)
    a, rows, columns = draw.random((5, 6)), draw.integers(0, 5, (4, 30)), draw.integers(-6, 6, (4, 30))
    values, A = draw.random((4, 30)), pg.array(a)
    places = zip(rows.flat, columns.flat, values.flat, strict=True)
    if how == "assigned":
        A[rows, pg.array(columns)] = pg.array(values)
        for i, j, x in places:
            a[i, j] = x
    elif how == "added":
        np.add.at(A, (pg.array(rows), columns), values)
        for i, j, x in places:
            a[i, j] += x
    else:
        A[rows, columns] += 2.0
        a[rows, columns] += 2.0
    assert np.array_equal(A.gather(), a)
    assert is_small(A[:2])
    A[:, a[0] > 0.5] = 7
    a[:, a[0] > 0.5] = 7
    assert np.array_equal(A.gather(), a)


def test_each_row_of_indices_takes_the_values_of_a_vector() -> None:
    A = pg.zeros(5)
    for rows in np.array([[0, 0, -1], [-1, -1, 0]]), pg.array([[0, 0, -1], [-1, -1, 0]]):
        np.add.at(A, rows, np.array([4.0, 1, 6]))  # NumPy (2.4) itself reads beyond the vector
    assert A.gather().tolist() == [22, 0, 0, 0, 22]


@pytest.mark.parametrize("columns", [[0, 1], [], [False] * 4])
def test_values_have_more_dimensions_than_what_is_named(columns: list[Any]) -> None:
    """Of which NumPy (2.4) itself reads beyond the end, where there are slices in the key."""
    A, expected = pg.zeros((3, 4)), np.zeros((3, 4))
    expected[:, columns] += 2
    np.add.at(A, (slice(None), np.array(columns, bool if len(columns) == 4 else int)), np.full((1, 1, 1, 1), 2.0))
    assert np.array_equal(A.gather(), expected)


class Length:
    """What knows how to be multiplied."""

    def __init__(self, metres: Any) -> None:
        self.metres = metres

    def __rmul__(self, factor: Any) -> Length:
        return Length(factor * self.metres)


def test_numbers_leave_it_to_other_objects_what_they_give() -> None:
    x = pg.arange(5.0)
    for number in x[2], x.sum():
        found = number * Length(3)
        assert isinstance(found, Length)
        assert float(found.metres) == 3 * float(number)
    with pytest.raises(TypeError, match=r"use x\.item"):
        hash(x.sum())
    with pytest.raises(TypeError, match=r"use x\.item"):
        pickle.dumps(x.sum())


def _slice(indices: NDArray[Any]) -> slice:
    """The slice of indices at equal distances."""
    step = int(indices[1] - indices[0])
    stop = int(indices[-1]) + step
    return slice(int(indices[0]), None if stop < 0 else stop, step)


def test_integers_that_do_not_fit_are_refused_by_every_function() -> None:
    x, mask = pg.array([1, 2], dtype=np.int8), pg.array([True, False])
    for ufunc in (np.add, np.subtract, np.multiply, np.minimum, np.maximum, np.bitwise_and, np.hypot):
        for number in 300, -300:
            with pytest.raises(OverflowError) if ufunc is not np.hypot else contextlib.nullcontext():
                ufunc(x, number)
    with pytest.raises(OverflowError):
        x[0] = 300
    with pytest.raises(OverflowError):
        x[mask] = 300
    assert (x < 300).all()
    assert x.gather().tolist() == [1, 2]


def test_what_was_never_written_to_is_not_allocated_for_a_section() -> None:
    assert pg.empty(1 << 50)[3:5].shape == (2,)


def test_what_others_borrow_is_no_obstacle() -> None:
    x, y = pg.arange(5.0), pg.arange(5.0)
    copies = pg.replicate(x, axis=0)
    pg.sync()
    before = pg.stats()
    y[1:] += 1
    assert is_small(y[1:] * 2)
    assert (pg.stats() - before).n_at_once == 3
    x[0] = 9
    assert float(copies[0]) == 0


def test_what_comes_often_is_not_recorded_either() -> None:
    x = pg.ones(small.MAX_ELEMENTS)
    pg.sync()
    assert all(is_small(x * 2.0) for _ in range(200))
    assert not is_small(pg.ones(small.MAX_ELEMENTS + 1) * 2.0)


def test_results_lie_in_the_order_of_their_operands() -> None:
    x = pg.ones((5, 7))
    for result in x.T + 1, 2 * x.T, x.T + x.T, -x.T, np.where(x.T > 1, x.T, 0.0), np.exp(x.T):
        assert result.local().strides == (8, 56)
        assert result.layout == x.T.layout
        assert result[1:].layout == (x.T + 0)[1:].layout
    assert np.hypot(x[:, :5].copy(), x[:, :5].T).local().strides == (40, 8)
    assert (x.T + x.T.copy()).shape == (7, 5)


def test_errors_are_told_where_they_are_asked_for() -> None:
    x = pg.array([1.0, 0.0])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        x / 0.0
        x[1] / x[1]
    with np.errstate(divide="raise"), pytest.raises(FloatingPointError, match="divide by zero"):
        1.0 / x
    with pytest.raises(IndexError, match="out of bounds"):
        x[2]
    with pytest.raises(ValueError, match="broadcast"):
        x[:] = pg.ones(3)
    with pytest.raises(ValueError, match="read-only"):
        pg.broadcast_to(x, (2, 2))[0] = 1.0
    with pytest.raises(TypeError):
        pg.arange(3).__itruediv__(2)


def test_of_two_zeros_the_first_is_the_least_as_for_kernels() -> None:
    x = pg.array([0.0, -0.0])
    assert np.signbit(np.minimum(x, -x).gather()).tolist() == [False, True]
    assert np.signbit(np.maximum(x[1], x[0]).item())
    assert not np.signbit(np.minimum(x[0], x[1]).item())
    for number in 1.0, np.inf, np.nan:
        y = pg.array([number, np.nan, 2.0])
        for function in np.minimum, np.maximum:
            for k in range(3):
                np.testing.assert_equal(function(y[0], y[k]).item(), function(number, y.gather()[k]))
                np.testing.assert_equal(function(y[k], y[0]).item(), function(y.gather()[k], number))


@pytest.mark.parametrize("n_dims", [1, 2, 3])
def test_masks_of_the_first_dimensions(n_dims: int) -> None:
    x = np.arange(60.0).reshape(5, 4, 3)
    mask = (np.arange(60).reshape(5, 4, 3) % 7 < 3)[(..., *(0,) * (3 - n_dims))]
    a = pg.array(x)
    found = a[mask]
    a[mask] = found * 2
    a[pg.array(mask)] += 1
    a[mask] = 3.0
    a[mask] = np.arange(1.0, x[mask][:1].size + 1).reshape(x[mask][:1].shape)[0]
    x[mask] = np.arange(1.0, x[mask][:1].size + 1).reshape(x[mask][:1].shape)[0]
    assert np.array_equal(a.gather(), x)
    with pytest.raises(IndexError, match="did not match"):
        a[np.ones(4, bool)]


@pytest.mark.parametrize("shape", [(7, 2, 3), (2, 1, 3, 4), (1, 4, 4), (30, 5, 1)])
@pytest.mark.parametrize("dtype", "fdFD")
def test_stacks_of_matrices_are_multiplied_at_once(shape: tuple[int, ...], dtype: str,
                                                   monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(1)
    for columns in (1, 2, 9):
        x, y = (rng.standard_normal(s).astype(dtype) for s in (shape, (*shape[:-2], shape[-1], columns)))
        a, b = pg.array(x), pg.array(y)
        pg.sync()
        before = pg.stats()
        found = a @ b
        assert (pg.stats() - before).n_recorded == (pg.stats() - before).n_at_once == 1
        monkeypatch.setattr(small, "is_on", False)
        other = a @ b
        monkeypatch.undo()
        assert found.layout == other.layout
        np.testing.assert_array_equal(found.gather(), other.gather(), strict=True)
        np.testing.assert_array_equal(found.gather(), x @ y, strict=True)


def masked(x: Any, m: Any) -> list[Any]:
    """What some statements give."""
    x *= 2
    taken = x[m]
    x[m] *= -3
    seen = [taken, x.copy()]
    x[m] = taken
    seen.append(x.copy())
    x[~m] = 5
    return [*seen, x]


@pytest.mark.parametrize("shape", [(210, 200), (400_000,), (150, 20, 30)])
@pytest.mark.parametrize("n_dims", [1, 2, 3])
@pytest.mark.parametrize("dtype", "bdD")
def test_masks_of_more_elements_than_small_arrays_have(shape: tuple[int, ...], n_dims: int, dtype: str,
                                                       monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(1)
    x = rng.integers(-9, 9, shape).astype(dtype)
    for share in (0.0, 0.4, 1.0):
        m = rng.random(shape[:n_dims]) < share
        found = masked(pg.array(x), pg.array(m))
        monkeypatch.setattr(small, "is_on", False)
        others = masked(pg.array(x), pg.array(m))
        monkeypatch.undo()
        for one, other, expected in zip(found, others, masked(x.copy(), m), strict=True):
            np.testing.assert_array_equal(one.gather(), expected, strict=True)
            np.testing.assert_array_equal(other.gather(), expected, strict=True)


def test_functions_of_the_program_that_raise_are_called_once() -> None:
    def refuse(x: Any) -> Any:
        calls.append(x)
        if len(calls) > 1:  # the first one tells which shape and dtype come
            raise ValueError("no")
        return x

    a = pg.arange(12.0).reshape(3, 4)
    for call in (lambda: pg.apply_along_axis(refuse, 1, a), lambda: pg.vectorize(refuse, otypes="d")(a)):
        calls: list[Any] = []
        with pytest.raises(ValueError, match="no"):
            call().gather()
        n_before = len(calls)
        pg.sync()
        assert n_before == len(calls) == 2
    assert a.tolist() == np.arange(12.0).reshape(3, 4).tolist()


@pytest.mark.parametrize("call", [
    lambda x, a: x.fft.fft(a[0]).real, lambda x, a: x.histogram(a, 3, (0, 9))[0], lambda x, a: x.tril(a),
    lambda x, a: x.nanmean(a), lambda x, a: x.einsum("ij,kj->ik", a, a), lambda x, a: x.diagonal(a).copy()])
@pytest.mark.parametrize("copies", [lambda a: a, lambda a: a.copy(), lambda a: a.T.copy().T, lambda a: a[::-1][::-1]])
def test_functions_of_parts_come_after_what_is_recorded(call: Callable[..., Any],
                                                        copies: Callable[[Any], Any]) -> None:
    x, large = np.arange(9.0).reshape(3, 3), pg.ones((MAX_ELEMENTS, 3, 3))
    a = pg.array(x)
    pg.sync()
    large *= a
    a += large[7] * 0.5
    pg.schedule(lambda part: np.negative(part, out=part), pg.update(a))
    b = copies(a)
    found = call(pg, b)
    np.testing.assert_allclose(found.gather(), call(np, -(x + x * 0.5)), 1e-12, 1e-12)


def test_scans_along_no_dimension_are_refused_as_ever(monkeypatch: pytest.MonkeyPatch) -> None:
    a = pg.arange(5.0)
    for is_on in (True, False):
        monkeypatch.setattr(small, "is_on", is_on and pg.SIZE == 1)
        with pytest.raises(np.exceptions.AxisError, match=r"^axis 1 is out of bounds for array of dimension 1$"):
            a.cumsum(axis=1)


@pytest.mark.parametrize("dtype", ["u2", "u4", "u8"])
def test_unsigned_integers_are_divided_at_once(dtype: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """They have no kernels, so that NumPy's functions compute them in all tiers."""
    x, y = np.arange(12, dtype=dtype).reshape(3, 4) * 5000, np.arange(12, dtype=dtype).reshape(3, 4) % 5
    calls: list[Callable[[Any, Any], Any]] = [
        lambda x, y: x % y, lambda x, y: x // y, lambda x, y: x % 7, lambda x, y: x << y, lambda x, y: 99 >> y,
        lambda x, y: x % np.float64(2.5), lambda x, y: x // y.astype("i2")]
    for call in calls:
        with np.errstate(all="ignore"):
            expected = call(x, y)
        before = pg.stats()
        found = call(pg.array(x), pg.array(y))
        assert expected.dtype != dtype or pg.stats().n_recorded - before.n_recorded == (
            pg.stats().n_at_once - before.n_at_once)
        monkeypatch.setattr(small, "is_on", False)
        other = call(pg.array(x), pg.array(y)).gather()
        monkeypatch.undo()
        np.testing.assert_array_equal(found.gather(), other, strict=True)
        np.testing.assert_array_equal(found.gather(), expected, strict=True)


def _set(x: Any, key: Any, value: Any) -> Any:
    x[key] = value
    return x


@pytest.mark.parametrize("number", [True, *(np.dtype(char).type(1) for char in "?bBhHiIlL")])
@pytest.mark.parametrize("dtype", "?BlLd")
def test_truth_values_and_all_integers_are_numbers(number: Any, dtype: str, monkeypatch: pytest.MonkeyPatch) -> None:
    calls: list[Callable[[Any], Any]] = [
        lambda x: x * number, lambda x: x.T + number, lambda x: _set(x, (1, 2), number),
        lambda x: _set(x, slice(2), number), lambda x: _set(x, ([0, 2, 0],), number),
        lambda x: _set(x, np.eye(3, 4, dtype=bool), number)]
    values = np.arange(12).reshape(3, 4).astype(dtype)
    if values.dtype == (values * number).dtype != bool:
        calls.append(lambda x: operator.imul(x, number))
    for call in calls:
        expected, x = call(values.copy()), pg.array(values)
        before = pg.stats()
        found = call(x)
        done = pg.stats() - before
        assert done.n_recorded == done.n_at_once
        np.testing.assert_array_equal(found.gather(), expected, strict=True)
        monkeypatch.setattr(small, "is_on", False)
        other = call(pg.array(values))
        monkeypatch.undo()
        assert (found.dtype, found.layout) == (other.dtype, other.layout)
        np.testing.assert_array_equal(found.gather(), other.gather(), strict=True)


@pytest.mark.filterwarnings("ignore:invalid value", "ignore:divide by zero")
@pytest.mark.parametrize("dtype", "dl")
@pytest.mark.parametrize("ufunc", [np.add, np.minimum, np.remainder, np.less])
def test_results_in_the_place_of_operands(ufunc: Any, dtype: str) -> None:
    x = np.array([[1.0, -2, 3, np.nan if dtype == "d" else 7], [1.5, 4, -1, 2]]).astype(dtype)
    a, b = pg.array(x), pg.array(x[:, ::-1])
    before = pg.stats()
    for c, d in (x, x[:, ::-1].copy()), (a, b):
        row, other = c[0], d[1]
        assert ufunc(row, other, out=row) is row
        ufunc(c, c[1], out=d)
        ufunc(c[0, 1], c[1, 1], out=d[0, 2, ...])
        ufunc(c[1, 0], 2 if dtype == "l" else 2.0, out=d[1])
        ufunc(d[0, 1:], d[0, :-1], out=d[0, 1:])
        with pytest.raises(ValueError, match="broadcast"):
            ufunc(row, c, out=row)
        if isinstance(c, np.ndarray):
            expected = c, d
    assert pg.stats().n_recorded - before.n_recorded == pg.stats().n_at_once - before.n_at_once or ufunc is np.less
    for found, numpys in zip((a, b), expected, strict=True):
        np.testing.assert_array_equal(found.gather(), numpys, strict=True)


@pytest.mark.parametrize("reduce", ["sum", "max", "argmin"])
def test_what_is_reduced_may_have_more_elements(reduce: str, monkeypatch: pytest.MonkeyPatch) -> None:
    x = np.random.default_rng(1).random((400, 301))
    found = [getattr(pg.array(x), reduce)(axis) for axis in (None, 0, 1)]
    monkeypatch.setattr(small, "is_on", False)
    for one, axis in zip(found, (None, 0, 1), strict=True):
        np.testing.assert_array_equal(one.gather(), getattr(pg.array(x), reduce)(axis).gather(), strict=True)


@pytest.mark.parametrize("dtype", "?bBhHilLfdD")
@pytest.mark.parametrize("numbers", [(True, False), (1, 0), (0, 2.5), (True, 3), (None, True), (None, 2), (-1, None),
                                     (None, 0.5), (300, None), (None, None), (1j, None)])
def test_one_of_two_is_chosen_at_once(numbers: tuple[Any, Any], dtype: str, monkeypatch: pytest.MonkeyPatch) -> None:
    m, x = np.arange(12).reshape(3, 4) % 3 == 0, np.arange(12).reshape(3, 4).astype(dtype)
    a, b = (x if number is None else number for number in numbers)
    try:
        expected = np.where(m, a, b)
    except OverflowError:
        return
    mask = pg.array(m)

    def of_ours() -> Any:
        return pg.where(mask, *[pg.array(y) if y is x else y for y in (a, b)])

    before = pg.stats()
    found = of_ours()
    is_left = (found.dtype != x.dtype and None in numbers) or (-1 in numbers and x.dtype.kind == "u")
    assert is_left or pg.stats().n_recorded - before.n_recorded == pg.stats().n_at_once - before.n_at_once
    np.testing.assert_array_equal(found.gather(), expected, strict=True)
    with monkeypatch.context() as patch:
        refuse_quickly(patch)
        np.testing.assert_array_equal(of_ours().gather(), expected, strict=True)
    monkeypatch.setattr(small, "is_on", False)
    other = of_ours()
    assert other.layout == found.layout
    np.testing.assert_array_equal(other.gather(), expected, strict=True)


@pytest.mark.parametrize("dtype", "?bBhHifF")
def test_of_narrow_elements_more_are_few(dtype: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """As many bytes as those of doubles, where that decides how long it takes."""
    n = 8 * small.MAX_ELEMENTS // np.dtype(dtype).itemsize
    x = np.resize(np.arange(100), n).astype(dtype)
    few, more = pg.array(x), pg.array(np.resize(x, n + 1))
    pg.sync()

    def n_recorded(step: Callable[[], Any]) -> int:
        before = pg.stats()
        step()
        done = pg.stats() - before
        return done.n_recorded - done.n_at_once

    def changed(a: pg.GlobalArray) -> Any:
        if dtype == "?":
            return a[1:] & a[:-1], ~a, a != a[::-1]
        b = a[1:] + a[:-1]
        b[1:] = a[2:]
        np.multiply(b, a[1:], out=b)
        return b, a == a[0], a.copy()

    assert not n_recorded(lambda: changed(few))
    assert small.ready(few) is not None
    assert small.ready(more) is None
    found = [y.gather() for y in changed(few)]
    monkeypatch.setattr(small, "is_on", False)
    for ours, other in zip(found, changed(pg.array(x)), strict=True):
        np.testing.assert_array_equal(ours, other.gather(), strict=True)


@pytest.mark.parametrize("dtype", "fd")
def test_products_and_means_of_more_elements(dtype: str, monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(0)
    x, y = (rng.random(100_003).astype(dtype) for _ in "12")
    m = rng.random((40, 5000)).astype(dtype)

    def of_ours() -> list[bytes]:
        a, b = pg.array(x), pg.array(y)
        pg.sync()
        before = pg.stats()
        found = a @ b, np.linalg.norm(a), a.mean(), np.average(b), pg.array(m) @ a[:5000]
        done = pg.stats() - before
        assert done.n_recorded == done.n_at_once or not small.is_on
        return [z.gather().tobytes() for z in found]

    found = of_ours()
    np.testing.assert_allclose(np.frombuffer(found[1], dtype), np.linalg.norm(x), 1e-5)
    monkeypatch.setattr(small, "is_on", False)
    assert found == of_ours()


@pytest.mark.filterwarnings("ignore:invalid value")
@pytest.mark.parametrize("key", [3, np.s_[2:7], np.array([1, 5, 1]), np.arange(9) % 2 == 0, ...])
@pytest.mark.parametrize("number", [3.7, -1.9, -0.5, 255.9, 2.0**40, 1e300])
@pytest.mark.parametrize("dtype", "bBhHilL")
def test_floats_are_cut_to_integers_at_once(dtype: str, number: float, key: Any) -> None:
    x = np.zeros(9, dtype)
    a, k = pg.array(x), pg.array(key) if isinstance(key, np.ndarray) else key
    try:
        x[key] = number
    except OverflowError:
        with pytest.raises(OverflowError):
            a[k] = number
        return
    before = pg.stats()
    a[k] = number
    done = pg.stats() - before
    assert done.n_recorded == done.n_at_once
    np.testing.assert_array_equal(a.gather(), x, strict=True)


@pytest.mark.filterwarnings("ignore:overflow")
@pytest.mark.parametrize("dtype", "fdbilBL")
@pytest.mark.parametrize("limits", [(0, None), (None, 1), (0.0, 1.5), (-0.0, 0.0), (2, 1), (-5, 300), (np.nan, 1.0),
                                    (0, np.inf), (-1e300, 1e300), (-2**70, 2**70), (np.float64(0.5), 1)])
def test_elements_are_limited_at_once(limits: tuple[Any, Any], dtype: str, monkeypatch: pytest.MonkeyPatch) -> None:
    x = np.array([[-0.0, 0.0, 1, np.nan, -np.inf], [0.5, -2, 7, np.inf, 1.5]] if dtype in "fd" else
                 [[0, 1, 2, 100, 3], [7, 9, 0, 1, 4]]).astype(dtype)

    def of_ours() -> list[Any]:
        a, b = pg.array(x), pg.array(x.T)
        c, d = pg.array(x), pg.array(x)
        pg.sync()
        before = pg.stats()
        found = [a.clip(*limits), pg.clip(b.T[:, ::2], *limits)]
        if found[0].dtype == x.dtype:
            assert c.clip(*limits, out=c) is c
            pg.clip(a[0], *limits, out=d[1])
        done = pg.stats() - before
        plain = all(type(limit) in (int, float) and abs(limit) < 2**63 for limit in limits) and dtype in "fd"
        assert done.n_recorded == done.n_at_once or not (small.is_on and plain)
        return [(y.dtype, y.layout, y.gather().tobytes()) for y in (*found, c, d)]

    try:
        expected = np.clip(x, *limits)
    except OverflowError:
        with pytest.raises(OverflowError):
            of_ours()
        return
    found = of_ours()
    np.testing.assert_array_equal(pg.array(x).clip(*limits).gather(), expected, strict=True)
    monkeypatch.setattr(small, "is_on", False)
    assert found == of_ours()


def test_elements_that_others_borrow_are_limited_in_turn() -> None:
    a = pg.arange(12.0)
    element = a[1]
    a.clip(3, 5, out=a)
    np.testing.assert_array_equal(a.gather(), np.arange(12.0).clip(3, 5), strict=True)
    assert float(element) == 1
    with pytest.raises(ValueError, match="read-only"):
        pg.clip(a, 3, 4, out=pg.broadcast_to(a[:1], (12,)))
    with pytest.raises(ValueError, match="broadcast"):
        pg.clip(a, 3, 4, out=pg.zeros(11))


@pytest.mark.parametrize("dtype", "?BilfdD")
@pytest.mark.parametrize("shape", [(100_000,), (20, 50, 100), (7, 9), (3, 1), ()])
def test_variances_of_more_elements(shape: tuple[int, ...], dtype: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Also of arrays whose order in memory is another one than that of their means."""
    x = (np.random.default_rng(0).random(shape) * 200).astype(dtype)
    axes = [None, *range(len(shape)), (0, -1)][:None if len(shape) > 1 else -1]

    def of_ours() -> list[Any]:
        a = pg.array(x)
        pg.sync()
        before = pg.stats()
        found = [a.var(), a.std(ddof=1)]
        done = pg.stats() - before
        assert done.n_recorded == done.n_at_once or not (small.is_on and shape) or dtype == "D"
        found += [getattr(y, name)(axis, keepdims=keepdims) for name in ("var", "std") for y in (a, a.T, a[..., ::-1])
                  for axis in axes for keepdims in (False, True)] if shape else []
        return [(y.dtype, y.layout, y.gather().tobytes()) for y in found]

    with np.errstate(all="ignore"):
        found = of_ours()
        np.testing.assert_allclose(pg.array(x).std(axes[-1]).gather(), x.std(axes[-1]), 1e-4)
        monkeypatch.setattr(small, "is_on", False)
        assert found == of_ours()


@pytest.mark.parametrize("shape", [(1 << 20,), (1 << 20) + 1, (1 << 10, 1 << 10)])
def test_larger_masks_are_counted_at_once(shape: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    m = np.arange(np.prod(shape)).reshape(shape) % 7 == 3
    mask = pg.array(m)
    pg.sync()
    before = pg.stats()
    found = pg.flatnonzero(mask), *pg.nonzero(mask)
    done = pg.stats() - before
    assert done.n_recorded > done.n_at_once or m.shape == (1 << 20,)
    monkeypatch.setattr(small, "is_on", False)
    others, numpys = (pg.flatnonzero(mask), *pg.nonzero(mask)), (np.flatnonzero(m), *np.nonzero(m))
    for ours, other, expected in zip(found, others, numpys, strict=True):
        assert ours.layout == other.layout
        np.testing.assert_array_equal(ours.gather(), expected, strict=True)


def test_exchanges_that_are_recorded_are_not_waited_for_as_tasks_are() -> None:
    A, x = pg.ones((20, 20)), pg.arange(20.0)
    mask = x > 8
    counts = []
    for _ in range(2):
        before = pg.stats()
        A.flat[3], x[mask], x.copy()[mask]
        counts.append(pg.stats() - before)
    assert counts[1].n_recorded - counts[1].n_at_once <= 1  # that of A.flat
    assert x[mask].tolist() == list(range(9, 20))


@pytest.mark.parametrize("key", [(slice(None), [2, 3, 2]), ([2, 3, 2], 1), (1, [3, 0, 3]), ([1, 0, 1], slice(1, 3)),
                                 (slice(None, None, -2), [1, 1])])
def test_values_are_assigned_at_once_by_one_vector_and_slices(key: Any) -> None:
    model = np.arange(16.0).reshape(4, 4)
    A, key_of_A = pg.array(model), tuple(pg.array(k) if isinstance(k, list) else k for k in key)
    values = model[key] * 2
    V, row = pg.array(values), pg.array(values[:1])
    before = pg.stats()
    for x, k, v, first in ((model, key, values, values[:1]), (A, key_of_A, V, row), (A, key, V, row)):
        x[k] = first
        x[k] = v
        x[k] += 1
        x[k] = x[k][::-1]
    done = pg.stats() - before
    assert done.n_recorded == done.n_at_once > 0
    np.testing.assert_array_equal(A.gather()[:, ::-1], model[:, ::-1])


@pytest.mark.parametrize("key", [
    (..., [2, 0, 3]), (None, [2, 0]), ([2, 0, 1], None), ([True, False, True, True], slice(1, 3)), (..., 1),
    (slice(1, 3), [True, False, True, False]), ([True, False, True, True], [3, 2, 0]), (0, ..., None), ([1, 3], ...),
    (slice(None), None, [False, True, True, False]), ([[False, True, True, False]] * 4, None),
    (..., [0, 0, 1], [3, 3, 2]), ([[0], [2]], ..., [1, 3]), ([[False, True, True, False]] * 4, ...),
    (1, [True, False, False, True]),
])
def test_keys_of_any_kind_are_read_and_assigned_at_once(key: Any) -> None:
    model = np.arange(16.0).reshape(4, 4)
    A, key_of_A = pg.array(model), tuple(pg.array(k) if isinstance(k, list) else k for k in key)
    before = pg.stats()
    found = A[key_of_A] * 1.0
    A[key_of_A] = 0.5
    done = pg.stats() - before
    assert done.n_recorded == done.n_at_once
    assert is_small(found)
    np.testing.assert_array_equal(found.gather(), model[key], strict=True)
    model[key] = 0.5
    np.testing.assert_array_equal(A.gather(), model)
    values = model[key] + np.arange(1.0, model[key].size + 1).reshape(model[key].shape)
    model[key] = values
    A[key_of_A] = pg.array(values)
    np.testing.assert_array_equal(A.gather(), model)
    with pytest.raises((TypeError, ValueError)):
        A[key_of_A] = np.ones((*values.shape, 7))
    np.add.at(model, key, 2.0)
    np.add.at(A, key_of_A, 2.0)
    np.testing.assert_array_equal(A.gather(), model)


@pytest.mark.parametrize("key", [(..., [4]), (None, [0], [0], [0]), ([True] * 3, 0), (..., ..., [0]), (..., [0.5]),
                                 ([[True] * 4] * 4, [0])])
def test_keys_of_any_kind_that_are_wrong_are_refused(key: Any) -> None:
    A = pg.ones((4, 4))
    with pytest.raises(IndexError):
        A[key]
    with pytest.raises(IndexError):
        A[key] = 2
    with pytest.raises(IndexError):
        A[tuple(pg.array(k) if isinstance(k, list) else k for k in key)].gather()
    assert (A == 1).all()


def test_dots_without_dimensions_are_those_of_views() -> None:
    x, model = pg.arange(3.0), np.arange(3.0)
    x[..., 1] = 7
    x[0, ...] = pg.array(5.0)
    x[2, ...][...] = 3
    model[..., 1], model[0, ...], model[2, ...] = 7, 5, 3
    assert x[..., 1].shape == ()
    assert x.tolist() == model.tolist()


STACK = (5, 2, 3)


@pytest.mark.parametrize("shapes", [(STACK, (3, 4)), ((4, 2), STACK), (STACK, (3,)), ((2,), STACK),
                                    ((1, 2, 3), (5, 3, 2)), ((2, 1, 2, 3), (4, 3, 2)), (STACK, (1, 3, 1))])
@pytest.mark.parametrize("layout", [None, pg.Distribution("*", "cyclic"), "transposed", "result", "turned"])
@pytest.mark.parametrize("dtypes", ["dd", "fd", "ll", "dD", "ef"])
def test_stacks_of_other_depths_are_multiplied_at_once(shapes: tuple[tuple[int, ...], ...], layout: Any, dtypes: str,
                                                       monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(2)
    x, y = (rng.integers(-9, 9, shape).astype(dtype) for shape, dtype in zip(shapes, dtypes, strict=True))

    def operand(x: NDArray[Any]) -> pg.GlobalArray:
        if isinstance(layout, pg.Distribution):
            return pg.array(x, layout=layout if x.ndim == 2 else None)
        if layout in ("transposed", "turned"):
            return pg.array(x.T.copy()).T if layout == "transposed" else pg.array(x[::-1])[::-1]
        return pg.array(x) * x.dtype.type(1) if layout == "result" else pg.array(x)

    found = operand(x) @ operand(y)
    monkeypatch.setattr(small, "is_on", False)
    other = operand(x) @ operand(y)
    assert found.layout == other.layout
    np.testing.assert_array_equal(found.gather(), other.gather(), strict=True)
    np.testing.assert_array_equal(found.gather(), x @ y, strict=True)


@pytest.mark.parametrize("product", [
    lambda a, b: pg.einsum("nij,nj->ni", a, b[..., 0]), lambda a, b: pg.einsum("nij,mjk->nmik", a, b),
    lambda a, b: pg.einsum("nij,nij->n", a, a), lambda a, b: pg.tensordot(a, b, ((0, 2), (0, 1))),
    lambda a, b: pg.inner(a, b.mT), lambda a, b: pg.inner(a[0], a[1]), lambda a, b: pg.einsum("ij,kj->ik", a[0], a[0]),
    lambda a, b: pg.einsum("nij,nkj->nik", a, a), lambda a, b: pg.matvec(a, b[0, :, 0]),
])
def test_sums_of_products_are_those_of_other_tiers(product: Callable[..., Any],
                                                   monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(3)
    x, y = rng.random((6, 7, 5)), rng.random((6, 5, 3))
    product(pg.array(x), pg.array(y))
    a, b = pg.array(x), pg.array(y)
    before = pg.stats()
    found = product(a, b)
    done = pg.stats() - before
    assert done.n_recorded == done.n_at_once
    monkeypatch.setattr(small, "is_on", False)
    other = product(pg.array(x), pg.array(y))
    assert found.layout == other.layout
    np.testing.assert_array_equal(found.gather(), other.gather(), strict=True)


@pytest.mark.parametrize("to", "bild?D")
@pytest.mark.parametrize("dtype", "?bBhild")
def test_values_of_other_dtypes_are_assigned_by_indices_at_once(dtype: str, to: str) -> None:
    if dtype == "d" and to in "b?":
        pytest.skip("all who cast do not give the same bits")
    model, i = np.arange(20).reshape(5, 4).astype(to), np.array([3, 1, 3])
    mask = np.array([True, False, True, True, False])
    a, j, m, values = pg.array(model), pg.array(i), pg.array(mask), np.array([3, 5, 9]).astype(dtype)
    pg.sync()
    before = pg.stats()
    for x, k, b, v in ((model, i, mask, values), (a, j, m, pg.array(values))):
        x[k, k - 1] = v
        x[k, 1:] = v[:, None]
        x[b, 0] = v
        x[b, ::2] = v[:, None]
    assert (pg.stats() - before).n_recorded == (pg.stats() - before).n_at_once > 0
    np.testing.assert_array_equal(a.gather(), model, strict=True)


def test_what_a_mask_beside_slices_names_is_assigned_from_the_array_as_it_was() -> None:
    model = np.arange(15).reshape(5, 3)
    a, mask = pg.array(model), model[:, 0] % 2 == 0
    for x, m in ((model, mask), (a, pg.array(mask))):
        x[m, :2] = x[1:4, 1:]
        x[m, ::-1] = x[m]
        x[m, 1:] = x[m, 2][:, None]
    assert a.tolist() == model.tolist()


def test_casts_of_what_cannot_be_held_tell_nothing() -> None:
    a = pg.zeros(4, int)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        a[pg.array([2, 1])] = pg.array([np.nan, 3.0])
    assert int(a[1]) == 3
    with np.errstate(all="warn"), pytest.warns(RuntimeWarning, match="invalid value"):
        a[pg.array([2, 1])] = pg.array([np.nan, 3.0])


@pytest.mark.parametrize("value", [7, [1, 2], np.arange(3.0), np.arange(6).reshape(2, 3), True])
@pytest.mark.parametrize("key", [slice(None, None, 5), slice(4, None), slice(None, None, -3), slice(3, 3)])
def test_sections_of_flat_elements_are_assigned_at_once(key: slice, value: Any) -> None:
    model = np.arange(16).reshape(4, 4)
    a = pg.array(model)
    whole, part = a.copy(), a[:, 1:3]
    pg.sync()
    before = pg.stats()
    whole.flat[key] = value
    part.flat[key] = value
    done = pg.stats() - before
    assert done.n_recorded == done.n_at_once
    of_part = model.copy()
    model.flat[key] = of_part[:, 1:3].flat[key] = value
    for x in (of_part, a):
        x.flat[key] += 1
        x.T.flat[key] *= 2
    assert whole.tolist() == model.tolist()
    assert a.tolist() == of_part.tolist()
