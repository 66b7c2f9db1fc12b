"""Floating-point errors are told as NumPy tells them, where `np.errstate` or `np.seterr` asks for that."""

from __future__ import annotations

import contextlib
import contextvars
import functools
import io
import operator
import threading
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import pgaspy as pg
from pgaspy.execution import recording
from tests.together import collectively, raises_everywhere

X = np.array([0.0, 1.0, -1.0, np.inf, np.nan, 1e308, 1e-308, 3.0])
LARGE, SMALL, INFINITE = np.full(8, 1e308), np.full(8, 3e-309), np.array([np.inf, 1, -np.inf, 2, 3, 4, 5, 6])

OF_ONE = [np.log, np.log1p, np.log2, np.sqrt, np.exp, np.sin, np.tanh, np.arcsin, np.arctanh, np.square, np.reciprocal,
          np.negative, np.rint, np.isnan, np.signbit, np.spacing]
OF_TWO = [np.divide, np.multiply, np.subtract, np.floor_divide, np.remainder, np.power, np.maximum, np.less, np.hypot,
          np.arctan2, np.fmin, np.logaddexp]
REDUCING = ["sum", "prod", "mean", "max", "min", "cumsum", "cumprod", "argmax", "any"]


def _seen(call: Callable[[], Any]) -> set[str]:
    """What is warned of, on any process."""
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        call()
    return {str(w.message) for w in found}


def _seen_anywhere(call: Callable[[], Any]) -> set[str]:
    return set[str]().union(*pg.COMM.allgather(_seen(call)))


def _compare(call: Callable[[Any], Any], **modes: Any) -> None:
    with np.errstate(**(modes or {"all": "warn"})):
        expected, found = _seen(lambda: call(np)), _seen_anywhere(lambda: call(pg))
    collectively(found == expected, f"told {found}, NumPy {expected}")


@pytest.mark.parametrize("ufunc", OF_ONE, ids=lambda f: f.__name__)
def test_functions_of_one(ufunc: Any) -> None:
    _compare(lambda xp: ufunc(xp.array(X)))


@pytest.mark.parametrize("ufunc", OF_TWO, ids=lambda f: f.__name__)
def test_functions_of_two(ufunc: Any) -> None:
    for y in 0.0, -2.0, 1e10, X[::-1]:
        _compare(lambda xp, y=y: ufunc(xp.array(X), xp.array(y)))
        _compare(lambda xp, y=y: ufunc(xp.array(X), xp.array(y)), divide="ignore", under="warn")


@pytest.mark.parametrize("name", REDUCING)
def test_reductions_and_scans(name: str) -> None:
    for x in LARGE, SMALL, INFINITE:
        _compare(lambda xp, x=x: getattr(xp, name)(xp.array(x)))
        _compare(lambda xp, x=x: getattr(xp.array([x, x]), name)(axis=1))
    with np.errstate(all="warn"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        told = getattr(pg, name)(pg.linspace(0, 1, 1001) ** 3)
    assert float(told.sum()) == float(getattr(pg, name)(pg.linspace(0, 1, 1001) ** 3).sum())


@pytest.mark.parametrize("call", [
    lambda xp: xp.array(X).astype(int),
    lambda xp: xp.array(X).astype(np.float32),
    lambda xp: xp.array([1, 2, 3, 4, 5]) // xp.array([0, 1, 0, 1, 2]),
    lambda xp: xp.where(xp.array(X) > 0, xp.array(X), 1.0),
    lambda xp: xp.add.at(xp.array(LARGE), xp.array([0, 0, 3]), 1e308),
    lambda xp: xp.add.reduceat(xp.array(LARGE), [0, 3]),
    lambda xp: xp.array([[1e200, 1e200], [1, 1]]) @ xp.array([[1e200, 1e200], [1, 1]]),
    lambda xp: xp.array([[np.inf, 0], [1, 2]]) @ xp.array([[0, 1], [1.0, 2]]),
    lambda xp: xp.array([[np.inf, 0], [1, 2]]) @ xp.array([0.0, 1]),
    lambda xp: xp.array([np.inf, 0, 1, 2]) @ xp.array([0.0, 1, 2, 1]),
    lambda xp: xp.isclose(xp.array(INFINITE), xp.array(INFINITE)),
    lambda xp: xp.add(xp.array(X), xp.array(X)[::-1], where=xp.array(X) < 3, out=xp.zeros(8)),
    lambda xp: xp.array(X, np.float32) * np.float32(1e38),
])
def test_other_functions(call: Callable[[Any], Any]) -> None:
    _compare(call)


CASTS: dict[str, Callable[[Any, int], Any]] = {
    "number added": lambda xp, n: xp.ones(n, "f4") + 1e300,
    "integer added": lambda xp, n: xp.ones(n, "f4") + 10**40,
    "number added in place": lambda xp, n: xp.ones(n, "f4").__iadd__(1e300),
    "number assigned": lambda xp, n: xp.ones(n, "f4").__setitem__(slice(None), 1e300),
    "number assigned by index": lambda xp, n: xp.ones(n, "f4").__setitem__([0, 2], 1e300),
    "number assigned by mask": lambda xp, n: xp.ones(n, "f4").__setitem__(xp.arange(n) > 2, 1e300),
    "number of NumPy assigned": lambda xp, n: xp.ones(n, "f4").__setitem__(..., np.float64(1e300)),
    "fill": lambda xp, n: xp.ones(n, "f4").fill(1e300),
    "full": lambda xp, n: xp.full(n, 1e300, "f4"),
    "full of none": lambda xp, n: xp.full(n, np.nan, int),
    "full_like": lambda xp, n: xp.full_like(xp.ones(n, int), np.nan),
    "where": lambda xp, n: xp.where(xp.arange(n) > 1, xp.ones(n, "f4"), 1e300),
    "clip": lambda xp, n: xp.clip(xp.ones(n, "f4"), 0, 1e300),
    "minimum": lambda xp, n: xp.minimum(xp.ones(n, "f4"), 1e300),
    "fill_diagonal": lambda xp, n: xp.fill_diagonal(xp.ones((3, n // 3), "f4"), 1e300),
    "array": lambda xp, n: xp.array(np.full(n, np.nan), int),
    "list": lambda xp, n: xp.array([1e300] * n, "f4"),
    "assigned": lambda xp, n: xp.ones(n, int).__setitem__(slice(None), xp.full(n, np.inf)),
    "NumPy's array assigned": lambda xp, n: xp.ones(n, "i1").__setitem__(slice(None), np.full(n, np.inf)),
    "cast": lambda xp, n: xp.full(n, 1e300).astype("f4"),
    "products": lambda xp, n: xp.full(n, 1e300).prod(dtype="f4"),
}


@pytest.mark.every
@pytest.mark.parametrize("n", [6, 100_002])
@pytest.mark.parametrize("name", CASTS)
def test_casts(name: str, n: int) -> None:
    call = CASTS[name]
    _compare(lambda xp: call(xp, n))
    collectively(not _seen(lambda: call(pg, n)), "told, and not asked")


@pytest.mark.parametrize("dtype", ["f4", int])
@pytest.mark.parametrize("n", [6, 100_002])
def test_casts_of_operands_are_not_told_unless_it_is_asked_for(dtype: Any, n: int) -> None:
    a = pg.full(n, 1e300)
    collectively(not _seen(lambda: np.add(a, a, dtype=dtype, casting="unsafe").sum()))


@pytest.mark.parametrize("n", [5, 100_003])
def test_progressions(n: int) -> None:
    with np.errstate(all="raise"), pytest.raises(FloatingPointError, match="multiply"):
        pg.linspace(0, np.inf, n)


def test_a_product_tells_nothing_of_what_was_not_a_number_before() -> None:
    """NumPy does on some processors, where its library computes something besides that nobody asked for."""
    with np.errstate(all="warn"):
        told = _seen_anywhere(lambda: pg.array([[np.inf, np.nan], [1, 2]]) @ pg.array([[1.0, 1], [1, 2]]))
    collectively(not told, f"told {told}")


def test_in_place_and_into_sections() -> None:
    def write(xp: Any) -> None:
        a = xp.array(X)
        a *= 10
        a[2:6] = a[1:5] / 0.0
        np.log(a[::2], out=a[::2])

    _compare(write)


def test_nothing_is_told_unless_it_is_asked_for() -> None:
    a = pg.array(X)
    assert not _seen(lambda: a / 0)
    for modes in {"all": "ignore"}, {"divide": "ignore"}, {"over": "ignore", "invalid": "ignore"}:
        with np.errstate(**modes):  # type: ignore[call-overload]
            assert not recording.are_errors_asked()
            assert not _seen(lambda: a / 0 * 1e300)
    with np.errstate(all="warn"), np.errstate(all="ignore"):
        assert not _seen(lambda: a / 0)


def _under(call: Callable[[], Any], **modes: Any) -> Callable[[], Any]:
    def called() -> None:
        with np.errstate(**modes):
            call()

    return called


@pytest.mark.parametrize("times", [1, 40])
def test_errors_are_raised_on_all_processes(times: int) -> None:
    a = pg.array(X)
    b = a * 0.5
    for _ in range(times):
        raises_everywhere(FloatingPointError, "^divide by zero encountered in divide$",
                          _under(lambda: 1 / a, divide="raise"))
    collectively(float(b[1]) == 0.5 and float(pg.arange(10.0).sum()) == 45)
    raises_everywhere(FloatingPointError, "^overflow encountered in reduce$",
                      _under(pg.array(LARGE).sum, over="raise"))
    raises_everywhere(FloatingPointError, "^invalid value encountered in matmul$", _under(
        lambda: pg.array([[np.inf, 0], [1, 2]]) @ pg.array([[0, 1], [1.0, 2]]), invalid="raise"))
    a[0] = 1
    _under(lambda: 1 / a, divide="raise")()


def test_who_has_recorded_it_executes_it_before_errors_are_told() -> None:
    a = pg.array(np.arange(12).reshape(4, 3), layout=pg.Distribution("*", "block", grid=(pg.SIZE,), axes=(None, 0)))
    x, b = pg.array(np.arange(3)), pg.zeros(8)
    pg.schedule(_add_one, pg.update(b))
    if pg.RANK == 0:
        b.local()  # so that only this process may compute the product at once, for which it waits for others
    with np.errstate(all="raise"):
        y = a @ x
    collectively(y.gather().tolist() == [5, 14, 23, 32])


def _add_one(b: NDArray[Any]) -> None:
    b += 1


def test_what_was_written_is_there() -> None:
    a, x = pg.array(X), X.copy()
    for array in a, x:
        raises_everywhere(FloatingPointError, "overflow", _under(functools.partial(operator.imul, array, 10),
                                                                 over="raise"))
    collectively(np.array_equal(a.gather(), x, equal_nan=True))


def test_what_was_recorded_before_is_not_told() -> None:
    a = pg.array(X)
    for _ in range(40):
        b = a / 0
        with np.errstate(all="raise"):
            c = a[1:3] + 1
            collectively(np.isnan(b[0].item()))
        collectively(c.gather().tolist() == [2, 0])
    with np.errstate(all="warn"):
        found = _seen_anywhere(lambda: a / 0)
    collectively(found == {"divide by zero encountered in divide", "invalid value encountered in divide"})


def test_transforms_tell_nothing_to_who_waits_for_them() -> None:
    a = pg.zeros((13, 13))
    a[::3, ::2] = 1e-320
    a[1, 1] = 3
    pg.sync()
    found = [pg.fft.fft(a, axis=0), pg.fft.fft(a[1]), pg.fft.rfft(a, axis=1), pg.fft.irfft(a, 24, axis=0),
             pg.fft.rfft(a[0]), pg.fft.fft(a.astype(np.float32))]
    with np.errstate(all="raise"):
        pg.sync()
    collectively(all(bool(np.isfinite(x).all()) for x in found))


@pytest.mark.parametrize("mode", ["call", "log", "print"])
def test_modes_other_than_warnings(mode: str) -> None:
    def said(xp: Any) -> set[Any]:
        called: list[tuple[str, int]] = []
        printed, logged = io.StringIO(), io.StringIO()
        call: Any = logged if mode == "log" else lambda *what: called.append(what)
        x = xp.array(np.zeros(8))
        with contextlib.redirect_stderr(printed), np.errstate(all=mode, call=call):
            xp.divide(1.0, x)
            xp.log(x - 1)
        return {*called, *printed.getvalue().splitlines(), *logged.getvalue().splitlines()}

    printed = {"Warning: divide by zero encountered in divide", "Warning: invalid value encountered in log"}
    collectively(said(pg) == (printed if mode == "print" else said(np)))  # NumPy prints past `sys.stderr`


def test_nothing_to_call() -> None:
    raises_everywhere(NameError, "^python callback specified for divide by zero .* but no function found",
                      _under(lambda: pg.divide(pg.array([1.0] * 8), 0.0), all="call"))


def test_each_context_has_its_own_state() -> None:
    a = pg.array(X)
    with np.errstate(divide="raise"):
        asks = [recording.are_errors_asked()]
        asks.append(contextvars.Context().run(recording.are_errors_asked))
        thread = threading.Thread(target=lambda: asks.append(recording.are_errors_asked()))
        thread.start()
        thread.join()
        contextvars.Context().run(lambda: 1 / a)
    assert asks == [True, False, False]
    raises_everywhere(FloatingPointError, "divide", np.errstate(divide="raise")(lambda: 1 / a))
    assert not recording.are_errors_asked()


def test_state_that_a_program_sets_for_good() -> None:
    def program() -> None:
        np.seterr(divide="warn", over="warn", under="ignore", invalid="warn")
        before = np.seterr(divide="raise")
        raises_everywhere(FloatingPointError, "divide", lambda: 1 / pg.array(X))
        np.seterr(**before)
        assert recording.are_errors_asked()  # with NumPy's defaults

    contextvars.copy_context().run(program)
    assert not recording.are_errors_asked()


def test_explaining_tells_nothing() -> None:
    a = pg.array(X)
    with np.errstate(all="raise"):
        assert "divide" in str(pg.explain(lambda: 1 / a))


@pytest.mark.mpi
def test_a_task_has_the_state_under_which_it_was_scheduled() -> None:
    def see(part: Any) -> None:
        seen.append(np.geterr()["divide"])

    seen: list[str] = []
    a = pg.zeros(4)
    with np.errstate(divide="ignore"):
        pg.schedule(see, pg.update(a), empty=True)
    pg.schedule(see, pg.update(a), empty=True)
    with np.errstate(divide="ignore"):
        pg.sync()
    assert seen == ["ignore", np.geterr()["divide"]]
    assert seen[1] != "ignore"


@pytest.mark.mpi
@pytest.mark.parametrize("name", ["nanmean", "nanvar", "nanstd"])
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_slices_without_numbers_are_no_errors(name: str) -> None:
    a = pg.array([[1.0, 2.0], [np.nan, np.nan]])
    with np.errstate(invalid="raise", divide="raise"):
        found = getattr(pg, name)(a, axis=1).gather()
    collectively(bool(np.isnan(found[1])))


@pytest.mark.mpi
@pytest.mark.parametrize("exponent", [0.5, 2, 2.0, -1, 1, 3])
def test_powers_by_function_are_those_by_operator(exponent: float) -> None:
    x = np.array([-0.0, -np.inf, 4.0])
    with np.errstate(all="ignore"):
        expected = x**exponent
    for found in np.power(pg.array(x), exponent), pg.array(x)**exponent:
        collectively(np.array_equal(found.gather(), expected, equal_nan=True)
                     and bool((np.signbit(found.gather()) == np.signbit(expected))[expected == expected].all()))
