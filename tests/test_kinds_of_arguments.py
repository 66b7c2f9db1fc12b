"""Arguments of kinds that are seldom seen: what NumPy makes of them, or an error where it raises one."""

from __future__ import annotations

import array
import functools
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import pgaspy as pg
from tests.together import assert_equal, collectively, raises_everywhere

pytestmark = [pytest.mark.mpi, pytest.mark.filterwarnings("ignore::RuntimeWarning")]

A = np.arange(24.0).reshape(4, 6)
Call = Callable[[Any, Callable[[Any], Any]], Any]


class Large(int):
    """An integer of another class."""


class Index:
    """What can be used as an integer, and is none."""

    def __init__(self, value: int) -> None:
        self._value, self.n_asked = value, 0

    def __index__(self) -> int:
        self.n_asked += 1
        return self._value


def compare(call: Call) -> None:
    """Assert that a call, of the module and of what makes its arrays, gives the same with both, or raises."""
    try:
        expected = call(np, lambda x: x)
    except Exception:
        collectively(_raises(call))
        return
    assert_equal(call(pg, pg.array), expected)


def _raises(call: Call) -> bool:
    try:
        call(pg, pg.array)
    except Exception:
        return True
    return False


@pytest.mark.parametrize("offset", [np.uint8(1), np.uint16(2), np.int8(-128), np.int64(-2), Index(1)])
def test_diagonals(offset: Any) -> None:
    compare(lambda xp, given: given(A).diagonal(offset))
    compare(lambda xp, given: given(A).trace(offset))
    compare(lambda xp, given: xp.diag(given(A), offset))


@pytest.mark.every
@pytest.mark.parametrize("n", [12, 100_000])
@pytest.mark.parametrize("key", [slice, lambda i: slice(i, None), lambda i: slice(None, None, i), lambda i: i])
def test_an_index_is_asked_for_once(key: Callable[[Index], Any], n: int) -> None:
    a = pg.zeros(n)

    def assign(key: Any) -> None:
        a[key] = 1

    for use in a.__getitem__, assign:
        index = Index(3)
        use(key(index))
        collectively(index.n_asked == 1, f"{index.n_asked}")


@pytest.mark.every
@pytest.mark.parametrize("value", [np.nan, 1.5, 1j, [0.5], 3, "2020-01-01", np.float64(2), np.timedelta64(3, "s")])
@pytest.mark.parametrize("dtype", ["M8[s]", "m8[s]"])
def test_what_times_take_by_index_arrays(value: Any, dtype: str) -> None:
    def call(xp: Any, given: Callable[[Any], Any]) -> Any:
        a = given(np.zeros(9, dtype))
        a[np.array([4])] = value
        return a

    compare(call)


@pytest.mark.every
@pytest.mark.parametrize("text", [np.str_("a"), "3", np.array(["2"] * 6), [b"2"] * 6])
def test_text_is_not_cast_by_functions(text: Any) -> None:
    a = pg.array(A.astype("i4"))
    for operand in text, pg.array(text):
        raises_everywhere(TypeError, "use astype",
                          functools.partial(np.multiply, a, operand, out=a, casting="unsafe"))
    raises_everywhere(TypeError, "use astype", lambda: np.add(a, pg.array(["2"] * 6), dtype=float, casting="unsafe"))


@pytest.mark.parametrize("k", [np.uint8(1), np.int8(-2)])
def test_diagonals_of_vectors(k: Any) -> None:
    compare(lambda xp, given: xp.diag(given(A[0]), k))
    compare(lambda xp, given: xp.diagflat(given(A[0]), k))


@pytest.mark.parametrize("dtype", [str, bytes, "U", "S3"])
def test_text(dtype: Any) -> None:
    compare(lambda xp, given: xp.full(3, 1, dtype=dtype))
    compare(lambda xp, given: xp.ones(3, dtype=dtype))
    compare(lambda xp, given: xp.zeros(3, dtype=dtype))
    compare(lambda xp, given: xp.ones_like(given(A), dtype=dtype))
    compare(lambda xp, given: xp.concatenate((given(A[0]), given(A[1])), dtype=dtype, casting="unsafe"))
    compare(lambda xp, given: xp.stack((given(A[0]), given(A[1])), dtype=dtype, casting="unsafe"))
    compare(lambda xp, given: xp.linspace(0, 3, 4, dtype=dtype))


@pytest.mark.parametrize(("value", "dtype"), [
    (np.int64(300), "i1"), (300, "i1"), (np.inf, int), (1 + 2j, float), (2.7, int), (True, "f4"), ("abc", str)])
def test_what_arrays_are_filled_with(value: Any, dtype: Any) -> None:
    for n in 2, 0:
        compare(lambda xp, given, n=n: xp.full(n, value, dtype=dtype))
        compare(lambda xp, given, n=n: xp.full_like(given(np.zeros(n, dtype)), value))


@pytest.mark.parametrize("axes", [[], (), [1, 0], (0, 1), np.array([0]), np.array([1, 0]), None])
def test_axes(axes: Any) -> None:
    compare(lambda xp, given: given(A).transpose(axes))
    compare(lambda xp, given: xp.transpose(given(A), axes))


@pytest.mark.parametrize("step", [2**63, -2**70, 2**70, -2**63])
def test_steps_beyond_all_arrays(step: int) -> None:
    compare(lambda xp, given: given(A[0])[::step])
    compare(lambda xp, given: given(A)[::step, 1:] + 1)


@pytest.mark.parametrize("key", [
    ([0, 1], Index(1)), (np.array([True, False, True, False]), Index(0)), (..., np.array([1, 2]), Index(1)),
    array.array("l", [0, 1]), Index(1), (Index(-1), slice(None)), 1.5, "a", (1, "a"), {}])
def test_keys(key: Any) -> None:
    def assigned(xp: Any, given: Any) -> Any:
        a = given(A.copy())
        a[key] = 3
        return a

    compare(lambda xp, given: given(A)[key])
    compare(assigned)


def test_numbers_that_are_joined_as_text() -> None:
    for x, number in (np.arange(7, dtype="u1"), 1.5 + 2.25j), (np.zeros(2, bool), 123456), (np.arange(3), 2.5):
        compare(lambda xp, given, x=x, number=number: xp.concatenate(
            (given(x), number), axis=None, dtype="U", casting="unsafe"))


def test_lists_of_indices() -> None:
    assert_equal(pg.take_along_axis(pg.array(A), [[0], [1], [5], [3]], 1),
                 np.take_along_axis(A, np.array([[0], [1], [5], [3]]), 1))
    assert_equal(pg.insert(pg.arange(3), [True, False, True], 7), np.insert(np.arange(3), np.array([0, 2]), 7))
    assert_equal(pg.insert(pg.array(A), pg.array([0, 3]), 7, axis=1), np.insert(A, [0, 3], 7, axis=1))
    assert_equal(pg.insert(pg.array(A), pg.array(1), pg.array(A[:, 0]), 1), np.insert(A, 1, A[:, 0], 1))


def test_parts_of_complex_numbers() -> None:
    z = np.arange(6) * (1 + 2j)
    compare(lambda xp, given: xp.interp(given(z).real, [0.0, 3], [1.0, 2]))
    compare(lambda xp, given: xp.i0(given(z).imag[:2]))


@pytest.mark.parametrize("ddof", [np.uint8(2), np.int8(1), 1.5])
def test_degrees_of_freedom(ddof: Any) -> None:
    compare(lambda xp, given: xp.round(given(np.arange(300.0)).var(ddof=ddof), 6))


def test_integers_of_another_class() -> None:
    compare(lambda xp, given: given(np.arange(3)) < Large(2**70))


def test_what_is_refused() -> None:
    raises_everywhere(TypeError, "structured", lambda: pg.zeros(3, dtype=(float, 2)))
    raises_everywhere(TypeError, "masked", lambda: pg.sum(np.ma.array([1, 2], mask=[0, 1])))
    raises_everywhere(TypeError, "object dtype", lambda: pg.array(A).sum(dtype=object))


@pytest.mark.parametrize("n", [3, 3000])
@pytest.mark.parametrize("call", [
    lambda a, xp: a.sum(axis=False), lambda a, xp: a.max(axis=(True,)), lambda a, xp: a.mean(axis=np.False_),
    lambda a, xp: a.std(axis=True), lambda a, xp: a.argmax(axis=False), lambda a, xp: a.cumsum(axis=True),
    lambda a, xp: np.add.accumulate(a, axis=False), lambda a, xp: xp.count_nonzero(a, axis=False),
    lambda a, xp: xp.take(a, 0, axis=False), lambda a, xp: xp.repeat(a, 2, axis=False),
    lambda a, xp: xp.concatenate((a, a), axis=True), lambda a, xp: a[:1].squeeze(False),
    lambda a, xp: a.transpose(True, False), lambda a, xp: a[:1, 0].reshape(True),
    lambda a, xp: a[:1, 0].reshape(1, True), lambda a, xp: a[:1, 0].reshape((True,)), lambda a, xp: xp.zeros(True),
    lambda a, xp: xp.ones((2, True)), lambda a, xp: xp.eye(True), lambda a, xp: xp.indices((True, 2)),
    lambda a, xp: xp.broadcast_to(a[0, 0], True), lambda a, xp: xp.resize(a, True),
    lambda a, xp: xp.unravel_index(1, (True, 2)), lambda a, xp: xp.random.default_rng(1).random(True),
    lambda a, xp: a.item(True), lambda a, xp: a.item(True, False), lambda a, xp: a[:1, 0].item(np.False_),
    lambda a, xp: a.item((True, False)), lambda a, xp: xp.argsort(a, axis=True), lambda a, xp: a.argsort(np.False_),
    lambda a, xp: xp.argpartition(a, 1, axis=False), lambda a, xp: xp.trapezoid(a, axis=True),
    lambda a, xp: xp.linalg.norm(a, axis=(True,)), lambda a, xp: xp.linalg.norm(a, axis=(0, True)),
    lambda a, xp: xp.fft.fft(a, n=True), lambda a, xp: xp.fft.irfft(a, True),
    lambda a, xp: xp.fft.ifft2(a, (2, True)),
    lambda a, xp: xp.bincount(a[:, 0].astype(int), minlength=True), lambda a, xp: xp.vander(a[:, 0], N=True)])
def test_truth_values_are_no_integers(call: Callable[[Any, Any], Any], n: int) -> None:
    x = np.ones((n, 2))
    with pytest.raises(TypeError):
        call(x, np)
    raises_everywhere(TypeError, "an integer is required", lambda: call(pg.array(x), pg))


def test_an_array_of_a_truth_value_is_no_place() -> None:
    raises_everywhere(TypeError, "only integer scalar arrays", lambda: pg.array(A).item(np.array(True)))


def test_places_to_partition_by_are_no_truth_values() -> None:
    raises_everywhere(ValueError, "Booleans unacceptable", lambda: pg.partition(pg.ones(3), True))
