"""Convolutions and correlations, against NumPy."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import pgaspy as pg
from pgaspy.routines import convolutions
from tests.layouts import NAMES, layout_of
from tests.together import assert_equal, collectively, raises_everywhere

pytestmark = pytest.mark.mpi

X = np.random.default_rng(2).normal(size=23)
MODES = ("full", "same", "valid")


@pytest.mark.parametrize("layout", NAMES)
@pytest.mark.parametrize("m", [1, 2, 3, 6, 11, 23, 24, 40])
def test_lengths(m: int, layout: str) -> None:
    v = np.random.default_rng(m).normal(size=m)
    a = pg.array(X, layout=layout_of(layout, X.shape))
    for mode in MODES:
        assert_equal(pg.convolve(a, v, mode), np.convolve(X, v, mode), exact=False)
        assert_equal(np.convolve(v, a, mode), np.convolve(v, X, mode), exact=False)
        assert_equal(pg.correlate(a, v, mode), np.correlate(X, v, mode), exact=False)
        assert_equal(np.correlate(pg.array(v), a, mode), np.correlate(v, X, mode), exact=False)


@pytest.mark.parametrize(("left", "right"), ["bb", "?B", "fd", "ff", "Dl", "df", "??", "dD"])
def test_dtypes(left: str, right: str) -> None:
    x, y = np.arange(-3, 6).astype(left), np.arange(1, 5).astype(right)
    if right == "D":
        y = y * (1 + 1j)
    for mode in MODES:
        assert_equal(pg.convolve(pg.array(x), y, mode), np.convolve(x, y, mode))
        assert_equal(pg.correlate(pg.array(x), y, mode), np.correlate(x, y, mode))
        assert_equal(pg.correlate(pg.array(y), x, mode), np.correlate(y, x, mode))


def test_views_and_numbers() -> None:
    a = pg.array(X)
    assert_equal(pg.convolve(a[::-2], a[3:6]), np.convolve(X[::-2], X[3:6]), exact=False)
    assert_equal(pg.convolve(a, 2.0), np.convolve(X, 2.0))
    assert_equal(pg.convolve(3, a), np.convolve(3, X))
    assert_equal(pg.convolve(2, 3), np.convolve(2, 3))
    for operands in (a, 3.5), (3.5, a), (a, a.sum()), (2, 3):
        raises_everywhere(ValueError, "too small depth", lambda operands=operands: pg.correlate(*operands))


def test_sums_of_many_terms(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(convolutions, "LONG", 4)
    for x in (X, X * 1j, (X * 9).astype("b")):
        for mode in MODES:
            assert_equal(pg.convolve(pg.array(x), X[:5], mode), np.convolve(x, X[:5], mode), exact=False, rtol=1e-11)


@pytest.mark.parametrize("m", [2, 3, 5, 22, 40])
def test_sums_of_several_blocks(m: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(convolutions, "BLOCK", 4)
    monkeypatch.setattr(convolutions, "TERMS_OF_A_BLOCK", 2)
    x, v = np.arange(47) % 10, np.arange(m) - 1
    for mode in MODES:
        assert_equal(pg.convolve(pg.array(x), v, mode), np.convolve(x, v, mode))
        assert_equal(pg.correlate(pg.array(x + 0.5), v, mode), np.correlate(x + 0.5, v, mode))


def test_parts_are_extended_by_what_they_lack() -> None:
    n = 1 << 12
    a, v = pg.ones(n), np.ones(5)
    received = pg.explain(lambda: pg.convolve(a, v)).nbytes_received
    collectively(received < n, f"{received} bytes are received")


@pytest.mark.parametrize(("call", "match"), [
    (lambda m, a: m.convolve(a, []), "v cannot be empty"), (lambda m, a: m.convolve(a[:0], a), "a cannot be empty"),
    (lambda m, a: m.convolve(a[None], a), "vectors|too deep"), (lambda m, a: m.convolve(a, a, "some"), "Use one of"),
    (lambda m, a: m.correlate(a, [[1]]), "vectors|maximum number of dimension")])
def test_what_is_refused(call: Any, match: str) -> None:
    raises_everywhere(ValueError, match, lambda: call(pg, pg.array(X)))
    with pytest.raises(ValueError, match=match):
        call(np, X)


@pytest.mark.parametrize("value", [np.nan, np.inf])
@pytest.mark.parametrize("mode", ["full", "same", "valid"])
def test_what_is_not_finite_reaches_its_neighbours_only(mode: Any, value: float) -> None:
    x, v = np.arange(1.0, 12.0), np.array([2.0, value, 3.0])
    with np.errstate(invalid="ignore"):
        for first, second in (x, v), (np.concatenate((x, v)), x), (np.where(x == 5, value, x), v[::2]):
            assert_equal(pg.convolve(pg.array(first), pg.array(second), mode), np.convolve(first, second, mode))
            assert_equal(pg.correlate(pg.array(first), second, mode), np.correlate(first, second, mode))


def test_points_that_have_no_place_on_a_line() -> None:
    raises_everywhere(TypeError, "Cannot cast", lambda: pg.interp(pg.ones(3, complex), [0, 1], [0, 1]))
    raises_everywhere(TypeError, "Cannot cast", lambda: pg.interp(pg.ones(3, "g"), [0, 1], [0, 1]))


def test_long_sums_are_as_exact_as_their_dtype() -> None:
    rng = np.random.default_rng(3)
    x, v = rng.integers(-9, 9, 3000), rng.random(600).astype("f")
    assert_equal(pg.convolve(pg.array(x), pg.array(v)), np.convolve(x, v), exact=False)
    large = np.where(np.arange(3000) == 700, 3e38, 1).astype("f")
    with np.errstate(over="ignore"):
        expected = np.convolve(large, v)
    assert_equal(pg.convolve(pg.array(large), pg.array(v)), expected, exact=False, rtol=1e-4)
