"""Comparisons of whole arrays, against NumPy."""

from __future__ import annotations

import datetime
import decimal
import fractions
from typing import Any

import numpy as np
import pytest

import pgaspy as pg
from tests.layouts import NAMES, layout_of
from tests.together import assert_equal, collectively, raises_everywhere

pytestmark = pytest.mark.mpi

INF, NAN = np.inf, np.nan
X = np.array([[1.0, 1e10, 1e-8, NAN, INF, -INF, 0.0], [2.0, 1.00001e10, 1e-9, NAN, INF, INF, -0.0]])
Y = np.array([[1.0 + 1e-9, 1.00001e10, 1e-9, NAN, INF, INF, 1e-9], [2.1, 1e10, 1e-8, 1.0, -INF, INF, 0.0]])
I = np.array([[1, -128, 3], [4, 5, 127]], np.int8)  # noqa: E741
C = np.array([[1 + 1e-15j, 2.0], [complex(NAN, 1), complex(1, INF)]])
T = np.array([1, 5], "m8[s]")

PAIRS: dict[str, tuple[Any, Any]] = {
    "floats": (X, Y), "of single precision": (X.astype("f"), Y.astype("f")), "a row": (X, Y[0]),
    "a column": (X[:, :1], Y),
    "integers": (I, I + np.int8(1)), "and floats": (I, I + 1e-9), "booleans": (I > 3, I > 4), "complex": (C, C + 1e-9),
    "and a number": (X, 1.0), "of a number": (2, X), "an integer": (I, 1), "a true one": (I, True),
    "none": (X[:0], Y[:0]), "without dimensions": (X[0, 0], Y[0, 0]), "the same": (X, X),
    "another shape": (X[0, :2], X[:, 0]),
}


def globals_of(*given: Any) -> list[Any]:
    return [pg.array(x) if isinstance(x, np.ndarray | np.generic) else x for x in given]


ARRAYS = {
    "integers": np.arange(3), "floats": X, "booleans": I > 3, "complex": C, "bytes": np.array([b"a", b"1"]),
    "text": np.array(["a", "1"]), "dates": np.array(["2020-01-01", "NaT"], "M8[D]"), "times": T, "none": X[:1, :0],
    "a number": X[0, 0], "an array without dimensions": np.array(3)}
OTHERS: list[Any] = [
    None, {}, object(), "a", "1", b"a", np.str_("a"), np.array("1"), ["a"], [["a"], ["b"]], np.array([[1], [2]]), ...,
    datetime.date(2020, 1, 1), np.datetime64("2020-01-01"), fractions.Fraction(1), decimal.Decimal(3), set(), len]


@pytest.mark.parametrize("kind", ARRAYS)
def test_what_cannot_be_the_same_is_not(kind: str) -> None:
    x = ARRAYS[kind]
    a, = globals_of(x)
    for other in OTHERS:
        assert_equal(a == other, np.asarray(x == other))
        assert_equal(a != other, np.asarray(x != other))
        collectively((other in a) == bool(np.any(x == other)), f"{other!r}")
        if isinstance(other, np.ndarray | list):
            assert_equal(a == pg.array(np.array(other)), np.asarray(x == other))
        elif not isinstance(other, np.generic):
            assert_equal(other != a, np.asarray(x != other))


def test_what_has_no_order_has_none() -> None:
    a = pg.arange(3)
    raises_everywhere(TypeError, "less", lambda: a < "a")
    raises_everywhere(TypeError, "object dtype", lambda: a < None)
    raises_everywhere(TypeError, "object dtype", lambda: a == [None, 1, 2])
    raises_everywhere(TypeError, "masked arrays", lambda: a == np.ma.array([1, 2, 3]))
    raises_everywhere(TypeError, "equal", lambda: a == np.void(b"a"))
    raises_everywhere(ValueError, "broadcast", lambda: a == ["a", "b"])


@pytest.mark.parametrize("pair", PAIRS)
def test_pairs(pair: str) -> None:
    x, y = PAIRS[pair]
    a, b = globals_of(x, y)
    with np.errstate(all="ignore"):
        for options in ({}, {"equal_nan": True}, {"rtol": 0.0, "atol": 1e-8}, {"rtol": 1e-4, "atol": 0}):
            for one, other in ((a, b), (a, y), (x, b)):
                assert_equal(pg.isclose(one, other, **options), np.isclose(x, y, **options))
                collectively(pg.allclose(one, other, **options) is np.allclose(x, y, **options))
            assert_equal(np.isclose(b, a, **options), np.isclose(y, x, **options))
        for equal_nan in (False, True):
            collectively(pg.array_equal(a, b, equal_nan) is np.array_equal(x, y, equal_nan))
            collectively(np.array_equal(a, y, equal_nan=equal_nan) is np.array_equal(x, y, equal_nan))
        collectively(pg.array_equiv(a, b) is np.array_equiv(x, y))


@pytest.mark.parametrize("name", NAMES)
def test_layouts(name: str) -> None:
    a, b = pg.array(X, layout=layout_of(name, X.shape)), pg.array(Y)
    assert_equal(pg.isclose(a, b[:, ::-1]), np.isclose(X, Y[:, ::-1]))
    collectively(pg.array_equal(a, X, equal_nan=True) and not pg.array_equal(a, X))
    assert_equal(pg.isposinf(a.T), np.isposinf(X.T))


def test_tolerances_are_arrays() -> None:
    a, b = globals_of(X[:, :3], Y[:, :3])
    rtol, atol = np.array([1e-5, 1e-4, 0]), np.array([[0.0], [1e-8]])
    expected = np.isclose(X[:, :3], Y[:, :3], rtol, atol)
    assert_equal(pg.isclose(a, b, rtol, atol), expected)
    assert_equal(pg.isclose(a, b, *globals_of(rtol, atol)), expected)


def test_differences_of_time() -> None:
    assert_equal(pg.isclose(pg.array(T), T + np.timedelta64(1, "s"), 0, np.timedelta64(1, "s")), [True, True])
    collectively(pg.array_equal(pg.array(T), T, equal_nan=True))
    raises_everywhere(TypeError, "DType", lambda: pg.isclose(pg.array(T.astype("M8[s]")), T.astype("M8[s]")))


def test_what_broadcasts_is_equivalent() -> None:
    a = pg.array(I)
    for x, y in ((a, [[I[0], I[1]]] * 2), (a[0], I[:1]), (a, I[0]), (a, I[:, :2]), (a, 1), (a[:0], 1)):
        m = x.gather()
        collectively(pg.array_equiv(x, y) is np.array_equiv(m, y))
        collectively(np.array_equiv(y, x) is np.array_equiv(y, m))
        collectively(pg.array_equal(x, y) is np.array_equal(m, y))


def test_what_is_no_array_is_not_equal() -> None:
    ragged = [[1, 2], [3]]
    collectively(not pg.array_equal(pg.array(I), ragged) and not pg.array_equiv(ragged, pg.array(I)))
    collectively(pg.array_equal([1, 2], [1, 2]) and pg.array_equiv([1], [1, 1]) and pg.allclose([1], [1, 1]))
    raises_everywhere(ValueError, "broadcast", lambda: pg.isclose(pg.array(I), X))


@pytest.mark.parametrize("x", [X, X.astype("f"), I, I > 3, C, X[0, 0], C[0, 0], 2.0, [1, 2j]], ids=repr)
def test_kinds_of_numbers(x: Any) -> None:
    a, = globals_of(x)
    for name in ("isreal", "iscomplex"):
        assert_equal(getattr(pg, name)(a), getattr(np, name)(x))
        if a is not x:
            assert_equal(getattr(np, name)(a), getattr(np, name)(x))
    for name in ("isrealobj", "iscomplexobj"):
        collectively(getattr(pg, name)(a) is getattr(np, name)(x))
    if np.asarray(x).dtype.kind == "c":
        raises_everywhere(TypeError, "ambiguous", lambda: pg.isposinf(a))
    else:
        for name in ("isposinf", "isneginf"):
            assert_equal(getattr(pg, name)(a), getattr(np, name)(x))


def test_infinite_ones_in_an_array_that_is_there() -> None:
    a, out = pg.array(X), pg.zeros(X.shape, int)
    collectively(pg.isneginf(a, out) is out and np.isposinf(a, out=out) is out)
    assert_equal(out, np.isposinf(X).astype(int))
    raises_everywhere(ValueError, "shape", lambda: pg.isposinf(a, out[0]))


def test_scalars() -> None:
    a = pg.array(X)
    for x, expected in ((a.sum(), True), (a[0, 0], True), (a[0, 0, ...], False), (a, False), (2, True), ("text", True),
                        (np.float32(1), True), (X, False), (None, False)):
        collectively(pg.isscalar(x) is expected, f"{x}")


def test_real_if_close() -> None:
    for x in (C[0], C, C[:1] * 1e-3, C[0].astype("F"), X, I):
        for tol in (100, 1e-20, 0.5, 3):
            assert_equal(pg.real_if_close(pg.array(x), tol), np.real_if_close(x, tol))
            assert_equal(np.real_if_close(pg.array(x), tol), np.real_if_close(x, tol))
    assert_equal(pg.real_if_close([1 + 0j]), np.real_if_close([1 + 0j]))
