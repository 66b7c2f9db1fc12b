"""Polynomials, windows and spaced values, against NumPy."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import pgaspy as pg
from tests.layouts import NAMES, layout_of
from tests.together import assert_equal, collectively, raises_everywhere

pytestmark = pytest.mark.mpi

RNG = np.random.default_rng(3)
X = RNG.normal(size=23)
Y = np.stack((1 + X - 2 * X**3 + RNG.normal(size=23), X**2), axis=1)
W = RNG.uniform(1, 2, size=23)
P, Q = np.array([1, -6, 11, -6]), np.array([2.0, 1.0])

CALLS: dict[str, Callable[[Any, Any], Any]] = {
    "polyval": lambda m, x: m.polyval(x(P), x(Y)),
    "polyval of integers": lambda m, x: m.polyval([1, 2, 3], x(P)),
    "polyval of narrow numbers": lambda m, x: m.polyval(P, x(Y.astype("f"))),
    "polyval of no coefficients": lambda m, x: m.polyval([], x(Y)),
    "polyval of a polynomial": lambda m, x: m.polyval(np.poly1d(P), x(X)),
    "polyfit": lambda m, x: m.polyfit(x(X), x(Y[:, 0]), 3),
    "polyfit of several": lambda m, x: m.polyfit(x(X), x(Y), 2),
    "polyfit with weights": lambda m, x: m.polyfit(x(X), x(Y), 3, w=x(W)),
    "polyfit in full": lambda m, x: [y if i != 2 else int(y) for i, y in enumerate(
        m.polyfit(x(X), x(Y), 3, full=True))],
    "polyfit with covariance": lambda m, x: m.polyfit(x(X), x(Y[:, 0]), 3, cov=True),
    "polyfit with covariances": lambda m, x: m.polyfit(x(X), x(Y), 1, cov=True),
    "polyfit with unscaled covariance": lambda m, x: m.polyfit(x(X), x(Y[:, 0]), 2, w=x(W), cov="unscaled"),
    "polyadd": lambda m, x: m.polyadd(x(P), Q), "polysub": lambda m, x: m.polysub(x(Q), x(P)),
    "polymul": lambda m, x: m.polymul(x(P), x(Q)), "polydiv": lambda m, x: m.polydiv(x(P), Q),
    "polyder": lambda m, x: m.polyder(x(P)), "polyder 2": lambda m, x: m.polyder(x(P), 2),
    "polyint": lambda m, x: m.polyint(x(P)), "polyint 2": lambda m, x: m.polyint(x(P), 2, [1, 2]),
    "roots": lambda m, x: m.sort(m.roots(x(P))), "poly": lambda m, x: m.poly(x(Q)),
    "poly of a matrix": lambda m, x: m.poly(x(np.outer(Q, Q) + np.diag(Q) + np.tri(len(Q)))),
    "poly of a rotation": lambda m, x: m.poly(x(np.array([[0.0, -1, 0], [1, 0, 0], [0, 0, 2]]))),
    **{name: lambda m, x, name=name: [getattr(m, name)(n) for n in (0, 1, 2, 5, 12, 4.0)]  # type: ignore[misc]
       for name in ("bartlett", "blackman", "hamming", "hanning")},
    "kaiser": lambda m, x: [m.kaiser(n, beta) for n in (0, 1, 2, 11) for beta in (0, 8.6)],
    "i0": lambda m, x: [m.i0(x(Y)), m.i0(x(P)), m.i0(x(Y.astype("f")))],
    "logspace": lambda m, x: [m.logspace(0, 2, 7), m.logspace(1, 3, 4, endpoint=False, base=2),
                              m.logspace(0, 1, 3, dtype=int), m.logspace(0, 1, 0),
                              m.logspace(x(Q), 3, 4, axis=1), m.logspace(x(Q)[:, None], x(P), 2, base=2, axis=-2),
                              m.logspace(0, 3, 4, base=x(np.array([2.0, 3, 4, 5]))),
                              m.logspace(x(Q), 1, 2, base=x(Q)[:, None] ** 2 + 1)],
    "geomspace": lambda m, x: [m.geomspace(1, 1000, 7), m.geomspace(-1, -8, 4), m.geomspace(1j, 1000j, 4),
                               m.geomspace(1, 256, 9, dtype=int), m.geomspace(2, 3, 1),
                               m.geomspace(1, 16, 4, endpoint=False), m.geomspace(1, x(np.array([10, 20])), 3),
                               m.geomspace(x(W[:, None]), [1, 5j], 5, axis=1), m.geomspace([1, 2], [[-3], [5j]], 1),
                               m.geomspace(x(W[:0]), 2.0, 3), m.geomspace([1, 2], [4, 32], 0)],
}


@pytest.mark.parametrize("layout", NAMES)
@pytest.mark.parametrize("name", CALLS)
def test_calls(name: str, layout: str) -> None:
    expected = CALLS[name](np, np.asarray)
    found = CALLS[name](pg, lambda x: pg.array(x, layout=layout_of(layout, x.shape)))
    several = isinstance(expected, list | tuple)
    for ours, theirs in zip(found, expected, strict=True) if several else ((found, expected),):
        exact = ours.asarray() if isinstance(ours, np.poly1d) else ours
        assert_equal(exact, theirs, exact=False, rtol=1e-5 if getattr(theirs, "dtype", "") == "f" else 1e-9)


def test_of_numpy() -> None:
    A = pg.array(P)
    assert_equal(np.polyval(A, A), np.polyval(P, P))
    assert_equal(np.polymul(A, Q), np.polymul(P, Q))
    assert_equal(np.i0(pg.array(X)), np.i0(X), exact=False)
    collectively(isinstance(pg.polyadd(np.poly1d(P), Q), np.poly1d))


def test_what_is_refused() -> None:
    x, y = pg.array(X), pg.array(Y)
    raises_everywhere(ValueError, "deg >= 0", lambda: pg.polyfit(x, y, -1))
    raises_everywhere(TypeError, "1D vector", lambda: pg.polyfit(y, y, 1))
    raises_everywhere(TypeError, "non-empty", lambda: pg.polyfit(x[:0], y[:0], 1))
    raises_everywhere(TypeError, "1D or 2D", lambda: pg.polyfit(x, y[None], 1))
    raises_everywhere(TypeError, "x and y", lambda: pg.polyfit(x, y[1:], 1))
    raises_everywhere(TypeError, "1-d array for weights", lambda: pg.polyfit(x, y, 1, w=y))
    raises_everywhere(TypeError, "w and y", lambda: pg.polyfit(x, y, 1, w=x[1:]))
    raises_everywhere(ValueError, "must exceed", lambda: pg.polyfit(x[:3], y[:3], 2, cov=True))
    raises_everywhere(ValueError, "1d or non-empty square", lambda: pg.poly(y))
    for stop in 1, x - x[0]:
        raises_everywhere(ValueError, "include zero", lambda stop=stop: pg.geomspace(stop * 0, stop))
    raises_everywhere(TypeError, "complex", lambda: pg.i0(x + 1j))
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        pg.polyfit(pg.ones(4), pg.ones(4), 2)
    collectively([w.category for w in found] == [np.exceptions.RankWarning])
