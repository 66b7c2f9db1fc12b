"""Polynomials and windows, against NumPy."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import pgaspy as pg
from tests.together import assert_equal, collectively, raises_everywhere

pytestmark = [pytest.mark.mpi, pytest.mark.many]

P, Q = [2.0, -3, 0.5, 1], [1, 4]
X = np.linspace(-1, 2, 21)
Y = np.cos(3 * X)


@pytest.mark.parametrize("p", [P, [3], [], np.array([1, 2, 3]), [1j, 2]])
@pytest.mark.parametrize("x", [X, X.reshape(3, 7), np.arange(-3, 4), 2.5])
def test_values(p: Any, x: Any) -> None:
    expected = np.polyval(p, x)
    assert_equal(pg.polyval(pg.array(p), pg.array(x)), expected, exact=False)
    assert_equal(np.polyval(p, pg.array(x)), expected, exact=False)


def test_what_is_made_of_coefficients() -> None:
    p, q = pg.array(P), pg.array(Q)
    assert_equal(pg.polyadd(p, q), np.polyadd(P, Q))
    assert_equal(pg.polysub(q, p), np.polysub(Q, P))
    assert_equal(np.polymul(p, q), np.polymul(P, Q))
    for found, expected in zip(pg.polydiv(p, q), np.polydiv(P, Q), strict=True):
        assert_equal(found, expected)
    assert_equal(pg.polyder(p, 2), np.polyder(P, 2))
    assert_equal(pg.polyint(p, 2, [3, 4]), np.polyint(P, 2, [3, 4]))
    assert_equal(pg.polyint(q), np.polyint(Q))
    assert_equal(pg.roots(p), np.roots(P))
    raises_everywhere(ValueError, "rank-1", lambda: pg.roots(pg.ones((2, 2))))


@pytest.mark.parametrize("degree", [0, 1, 4])
@pytest.mark.parametrize("weights", [None, 1 + X ** 2])
def test_fits(degree: int, weights: Any) -> None:
    x, y = pg.array(X, layout=pg.Distribution("cyclic(2)")), pg.array(Y)
    w = None if weights is None else pg.array(weights)
    assert_equal(pg.polyfit(x, y, degree, w=w), np.polyfit(X, Y, degree, w=weights), exact=False, rtol=1e-9)
    both = np.stack([Y, 1 + X], axis=1)
    assert_equal(np.polyfit(x, pg.array(both), degree, w=w), np.polyfit(X, both, degree, w=weights), exact=False,
                 rtol=1e-9)
    found, expected = pg.polyfit(x, y, degree, full=True, w=w), np.polyfit(X, Y, degree, full=True, w=weights)
    collectively(found[2] == expected[2] and found[4] == expected[4])
    for k in (0, 1, 3):
        assert_equal(found[k], expected[k], exact=False, rtol=1e-9)
    for cov in (True, "unscaled"):
        for one, other in zip(pg.polyfit(x, y, degree, w=w, cov=cov), np.polyfit(X, Y, degree, w=weights, cov=cov),
                              strict=True):
            assert_equal(one, other, exact=False, rtol=1e-8)


def test_fits_that_cannot_be_made() -> None:
    x, y = pg.array(X), pg.array(Y)
    raises_everywhere(ValueError, "deg >= 0", lambda: pg.polyfit(x, y, -1))
    raises_everywhere(TypeError, "1D vector", lambda: pg.polyfit(x[:, None], y, 1))
    raises_everywhere(TypeError, "non-empty", lambda: pg.polyfit(x[:0], y[:0], 1))
    raises_everywhere(TypeError, "same length", lambda: pg.polyfit(x, y[1:], 1))
    raises_everywhere(TypeError, "1D or 2D", lambda: pg.polyfit(x, y[:, None, None], 1))
    raises_everywhere(TypeError, "weights", lambda: pg.polyfit(x, y, 1, w=y[:, None]))
    raises_everywhere(TypeError, "w and y", lambda: pg.polyfit(x, y, 1, w=y[1:]))
    raises_everywhere(ValueError, "exceed order", lambda: pg.polyfit(x[:3], y[:3], 2, cov=True))
    with pytest.warns(np.exceptions.RankWarning):
        pg.polyfit(x[[0, 0, 0]], y[:3], 2)


@pytest.mark.parametrize("M", [-1, 0, 1, 2, 5, 12, 7.5])
def test_windows(M: float) -> None:
    for name in ("bartlett", "blackman", "hamming", "hanning"):
        assert_equal(getattr(pg, name)(M), getattr(np, name)(M))
    assert_equal(pg.kaiser(int(M), 8.6), np.kaiser(int(M), 8.6))


@pytest.mark.parametrize("endpoint", [True, False])
@pytest.mark.parametrize("n", [0, 1, 2, 7])
def test_distances_of_values(n: int, endpoint: bool) -> None:
    found, step = pg.linspace(1, 2, n, endpoint, retstep=True)
    expected, numpys = np.linspace(1, 2, n, endpoint, retstep=True)
    assert_equal(found, expected)
    collectively(type(step) is type(numpys))
    np.testing.assert_array_equal(step, numpys)
