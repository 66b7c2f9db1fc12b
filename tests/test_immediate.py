"""Calls that are computed at once, and worked out once: what they depend on, on any number of processes."""

from __future__ import annotations

import itertools
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import pgaspy as pg
from pgaspy import global_assign, immediate, ufuncs
from pgaspy.execution import recording
from pgaspy.execution.queue import Queue
from tests.together import assert_equal, collectively, raises_everywhere

pytestmark = pytest.mark.mpi

TIMES = 4
"""Calls are worked out when they come again."""


def same(a: Any, b: Any) -> None:
    a[1:4] = a[1:4]


def other(a: Any, b: Any) -> None:
    a[1:4] = b[1:4]


def neighbours(a: Any, b: Any) -> None:
    a[1:4] = a[2:5]


def element(a: Any, b: Any) -> None:
    a += a[0, 0]
    a -= b[0, 0]


def added(a: Any, b: Any) -> None:
    a += b


def number(a: Any, b: Any) -> None:
    a[1:3] = 2 - a[1:3]
    a *= 3


def views(a: Any, b: Any) -> None:
    c = a[:, 1:3] + b[:, 1:3]
    a[:, 1:3] = c
    a[:, :2] = c
    a[:, 1:3] -= c


@pytest.mark.parametrize("statement", [same, other, neighbours, element, added, number, views],
                         ids=lambda statement: statement.__name__)
def test_calls_that_come_again_with_other_arrays(statement: Callable[[Any, Any], None]) -> None:
    pairs = []
    for dtype in "ffdl":
        x, y = np.arange(42).reshape(6, 7).astype("d"), (np.arange(42)[::-1] % 5).reshape(6, 7).astype(dtype)
        pairs.append(((pg.array(x), pg.array(y)), (x, y)))
    for _ in range(TIMES):
        for arrays, expected in pairs:
            for i, j in ((0, 1), (0, 0)):
                statement(arrays[i], arrays[j])
                statement(expected[i], expected[j])
                assert_equal(arrays[0], expected[0])


@pytest.mark.parametrize("statement", [
    lambda a, b: a + b, lambda a, b: 2 * a, lambda a, b: a.__iadd__(b), lambda a, b: a.__setitem__(slice(2), b[:2]),
    lambda a, b: a.__setitem__(..., 1)], ids=range(5))
def test_calls_that_come_again_are_not_worked_out(statement: Callable[[Any, Any], Any],
                                                  monkeypatch: pytest.MonkeyPatch) -> None:
    a, b = pg.ones((6, 4)), pg.ones((6, 4))
    pg.sync()
    for _ in range(2):
        statement(a, b)
    kept = []
    if pg.SIZE > 1:
        for module, function in (
                (ufuncs, "computed"), (ufuncs, "is_computed_in_place"), (global_assign, "is_assigned")):
            monkeypatch.setattr(module, function, lambda *call: kept.append(call))
    before = pg.stats().n_at_once
    statement(a, b)
    collectively(not kept and pg.stats().n_at_once - before == 1)


def shifted(a: Any, b: Any) -> None:
    a[1:] += b[:-1]


def shifted_to(a: Any, b: Any) -> None:
    a[1:] = b[:-1]


@pytest.mark.every
@pytest.mark.parametrize("statement", [shifted, shifted_to])
def test_what_is_known_of_two_arrays_is_not_so_of_one(statement: Callable[[Any, Any], None],
                                                      monkeypatch: pytest.MonkeyPatch) -> None:
    models = [np.arange(24.0).reshape(6, 4), np.arange(24.0).reshape(6, 4) % 5]
    arrays = [pg.array(model, layout=pg.Distribution("*", "block")) for model in models]
    for is_at_once in True, False:
        pg.sync()
        monkeypatch.setattr(Queue, "computes_at_once", is_at_once)
        for i, j in (0, 1), (0, 1), (0, 0), (0, 1), (0, 0):
            statement(arrays[i], arrays[j])
            statement(models[i], models[j])
    assert_equal(arrays[0], models[0])


def sum_into(a: Any, b: Any, c: Any) -> None:
    np.add(a, b, out=c)


def shifted_into(a: Any, b: Any, c: Any) -> None:
    np.subtract(a[1:], b[:-1], out=c[:-1])
    np.subtract(b[:-1], a[1:], out=c[1:])


def number_into(a: Any, b: Any, c: Any) -> None:
    np.multiply(a, 0.5, out=c)
    np.subtract(3, b, out=c[::-1])
    np.subtract(b, 3, out=c)


def root_into(a: Any, b: Any, c: Any) -> None:
    np.sqrt(abs(a), out=b)
    np.negative(b, out=c)


def chosen(a: Any, b: Any, c: Any) -> None:
    c[...] = np.where(a > 2, b, a)
    b[...] = np.where(c > b, 1.5, a)
    a[...] = np.where(c > b, b, -2)


def numpys(a: Any, b: Any, c: Any) -> None:
    c[...] = np.float64(0.1) * a - np.int64(3)
    b += np.float64(0.3)
    np.add(b, np.float64(0.7), out=a)


@pytest.mark.every
@pytest.mark.parametrize(("n_rows", "is_at_once"), [(6, False), (6, True), (20_000, True)])
@pytest.mark.parametrize("statement", [sum_into, shifted_into, number_into, root_into, chosen, numpys],
                         ids=lambda statement: statement.__name__)
def test_what_is_known_of_three_arrays_is_not_so_of_two(statement: Callable[[Any, Any, Any], None], n_rows: int,
                                                        is_at_once: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    models = [np.arange(4.0 * n_rows).reshape(n_rows, 4) % n for n in (9, 5, 7)]
    arrays = [pg.array(model) for model in models]
    pg.sync()
    monkeypatch.setattr(Queue, "computes_at_once", is_at_once)
    for _ in range(TIMES):
        for i, j, k in itertools.product(range(3), repeat=3):
            statement(arrays[i], arrays[j], arrays[k])
            with np.errstate(all="ignore"):
                statement(models[i], models[j], models[k])
        for array, model in zip(arrays, models, strict=True):
            assert_equal(array, model)


@pytest.mark.every
@pytest.mark.parametrize("n", [40, 80_000])
@pytest.mark.parametrize("dtype", ["d", "f", "l", "B"])
def test_a_choice_among_numbers_that_come_again(dtype: str, n: int) -> None:
    """Their dtypes are those of the statement, and their values those of each call."""
    x = (np.arange(n) % 200).astype(dtype)
    a = pg.array(x)
    for _ in range(TIMES):
        for one, other in ((0, 1), (2.5, 0), (0, 2.5), (-0.0, 3.5), (7, 9), (1j, 2), (True, 2.5)):
            assert_equal(np.where(a > 7, one, other), np.where(x > 7, one, other))
            assert_equal(np.where(a > 7, a, other), np.where(x > 7, x, other))
            assert_equal(np.where(a > 7, one, a), np.where(x > 7, one, x))
        for condition in 0, 3, 2.5:  # a number of another dtype
            assert_equal(pg.where(condition, a, 2.5), np.where(condition, x, 2.5))
            assert_equal(pg.where(condition, 7, a), np.where(condition, 7, x))
        assert_equal(np.where(a, 7, a), np.where(x, 7, x))


@pytest.mark.every
@pytest.mark.parametrize("statement", [
    lambda i, u, x, b: i / i[::-1], lambda i, u, x, b: i / 2, lambda i, u, x, b: np.sqrt(i),
    lambda i, u, x, b: np.exp(i), lambda i, u, x, b: np.floor(i), lambda i, u, x, b: np.isnan(i),
    lambda i, u, x, b: i + x, lambda i, u, x, b: b * x, lambda i, u, x, b: b + 1, lambda i, u, x, b: u + u,
    lambda i, u, x, b: 3 * u, lambda i, u, x, b: u < 3, lambda i, u, x, b: np.hypot(i, x),
    lambda i, u, x, b: np.gcd(i, i[::-1]), lambda i, u, x, b: np.modf(x)[1], lambda i, u, x, b: x * 1j,
    lambda i, u, x, b: x.__setitem__(..., i), lambda i, u, x, b: u.__iadd__(u), lambda i, u, x, b: x.__imul__(b),
    lambda i, u, x, b: np.sqrt(x, where=b, out=x)], ids=range(20))
def test_what_is_cast_or_has_no_kernel_is_computed_at_once(statement: Callable[..., Any]) -> None:
    models: list[Any] = [np.arange(7), np.arange(7, dtype="L"), np.arange(7.0), np.arange(7) % 2 == 0]
    arrays = [pg.array(model) for model in models]
    pg.sync()
    before = pg.stats()
    with np.errstate(divide="ignore"):
        found, expected = statement(*arrays), statement(*models)
    counts = pg.stats() - before
    collectively(counts.n_planned == 0 and counts.n_recorded == counts.n_at_once >= (pg.SIZE > 1), f"{counts}")
    for array, model in zip([*arrays, found], [*models, expected], strict=True):
        if model is not None:
            assert_equal(array, model, exact=model.dtype.kind != "f")


def test_a_grid_may_have_any_number_of_axes() -> None:
    model = np.arange(24.0).reshape(6, 4)
    a = pg.array(model, layout=pg.Distribution("block", "*", grid=(pg.SIZE, *[1] * 400)))
    a[1:] += a[1:]
    a[2] = 3
    model[1:] += model[1:]
    model[2] = 3
    assert_equal(a + a, 2 * model)


def test_elements_may_have_no_bytes() -> None:
    a = pg.array(np.zeros(10**6, "V0"))
    collectively(a[1:].shape == (10**6 - 1,))


@pytest.mark.every
@pytest.mark.parametrize("statement", [
    lambda a, b: b.__iadd__(1), lambda a, b: b.__iadd__(a), lambda a, b: b.__setitem__(..., 1.0),
    lambda a, b: b.__setitem__(slice(1, 3), a[:2]), lambda a, b: b[1:].__imul__(2.0),
    lambda a, b: b.__setitem__(1, b[1]), lambda a, b: b.__setitem__(slice(2, 2), b[2:2])], ids=range(7))
def test_what_is_read_only_is_not_written_to(statement: Callable[[Any, Any], Any]) -> None:
    """Nor where no element is repeated."""
    a = pg.ones((6, 4))
    b = np.broadcast_to(a, (6, 4))
    raises_everywhere(ValueError, "read-only", lambda: statement(a, b))
    assert_equal(a, np.ones((6, 4)))


def test_casts_that_lose_something_are_told_of() -> None:
    a, b = pg.zeros(6), pg.array(np.arange(6) + 1j)
    for _ in range(TIMES):
        with pytest.warns(np.exceptions.ComplexWarning):
            a[1:] = b[1:]
    assert_equal(a, np.arange(6.0))


def test_floating_point_errors_of_casts_are_not_told_of_unasked() -> None:
    a, b = pg.zeros(6, dtype=int), pg.full(6, np.nan)
    pg.sync()
    with warnings.catch_warnings(action="error"):
        a[1:] = b[1:]
    collectively(int(a[0]) == 0)


def test_with_an_ellipsis_an_element_is_an_array() -> None:
    model = np.arange(24.0).reshape(6, 4)
    a = pg.array(model)
    for key in (1, 2, ...), (..., -1, 0):
        x, y = a[key], model[key]
        x[...], y[...] = 7, 7
        x += 1
        y += 1
    assert_equal(a, model)


def test_an_element_is_as_it_was_before_a_local_view_was_written_to() -> None:
    a = pg.ones(2 * pg.SIZE)
    pg.sync()
    part = a.local()
    x = a[0]
    part[...] = 5
    collectively(float(x) == 1)
    assert_equal(a, np.full(2 * pg.SIZE, 5.0))


def of_elements(a: Any, k: int, true: Any) -> None:
    a[k, 1] += 2
    a[k, 2] = 3
    a[k, 3] = a[k, 1]
    a[k, 0] *= a[k, 3]
    a[k, 0] *= true


def test_numbers_have_no_geometry(monkeypatch: pytest.MonkeyPatch) -> None:
    """No strides are worked out of statements on elements that lie on one process, and on numbers that all have."""
    a, s = pg.array(np.arange(24.0).reshape(6, 4), layout=pg.Distribution("block", "*")), pg.ones(3).sum()
    true = pg.ones(2, dtype=bool).all()
    pg.sync()
    with monkeypatch.context() as patch:
        for function in ("call_kernel", "_is_computed"):
            patch.delattr(immediate, function)
        for k in range(6):
            of_elements(a, k, true)
        t = s * 2 + s
    expected = np.arange(24.0).reshape(6, 4)
    for k in range(6):
        expected[k, 1:] = expected[k, 1] + 2, 3, expected[k, 1] + 2
        expected[k, 0] *= expected[k, 3]
    assert_equal(a, expected)
    collectively(float(t) == 9)


@pytest.mark.every
@pytest.mark.skipif(pg.SIZE == 1, reason="one process tells nobody")
def test_the_line_of_what_is_told() -> None:
    a, b = pg.ones((6, 4)), pg.ones((6, 4))
    statements = [
        lambda: a + b, lambda: 2 * a, lambda: np.add(a, b), lambda: a.__iadd__(b), lambda: a[0, 0].__iadd__(1),
        lambda: a.__setitem__(..., b), lambda: a.__setitem__((0, 0), 2)]
    digests: Any = recording.queue.supervision.digests
    lines = []
    for statement in statements:
        pg.sync()
        for _ in range(TIMES):
            statement()
            lines.append(str(digests.entry(digests.n_entries - 1).site))
    collectively(all("lambda" in line for line in lines), f"{lines}")
