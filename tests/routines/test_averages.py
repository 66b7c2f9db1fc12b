"""Averages, ranges, covariances and correlations, against NumPy."""

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

RNG = np.random.default_rng(5)
X = RNG.normal(size=(5, 7))
COUNTS = np.array([1, 2, 0, 3, 1, 1, 2])
WEIGHTS = np.array([0.5, 1, 2, 0.25, 1, 3, 1])

CASES: dict[str, Callable[[Any, Any], Any]] = {
    "average": lambda m, a: m.average(a),
    "average axis": lambda m, a: m.average(a, axis=0),
    "average axes": lambda m, a: m.average(a, (1, 0), keepdims=True),
    "average weights": lambda m, a: m.average(a, 1, WEIGHTS),
    "average own weights": lambda m, a: m.average(a, -1, m.array(WEIGHTS), keepdims=True),
    "average all weights": lambda m, a: m.average(a, weights=a**2),
    "average returned": lambda m, a: m.average(a, 1, [*WEIGHTS], True),
    "average weights of axes": lambda m, a: m.average(a, (1, 0), (X**2).T, returned=True),
    "average count": lambda m, a: m.average(a, 0, returned=True),
    "average integers": lambda m, a: m.average((a * 9).astype("b"), 1, COUNTS, returned=True),
    "average floats": lambda m, a: m.average(a.astype("f"), 1, WEIGHTS.astype("f"), returned=True),
    "average complex": lambda m, a: m.average(a * 1j, 0),
    "average booleans": lambda m, a: m.average(a > 0, 1),
    "ptp": lambda m, a: m.ptp(a),
    "ptp axis": lambda m, a: m.ptp(a, 0),
    "ptp axes": lambda m, a: m.ptp((a * 9).astype("B"), (0, 1), keepdims=True),
    "cov": lambda m, a: m.cov(a),
    "cov columns": lambda m, a: m.cov(a, rowvar=False),
    "cov view": lambda m, a: m.cov(a[::-2, 1:]),
    "cov y": lambda m, a: m.cov(a, a[:2] * 2 + 1, bias=True),
    "cov y columns": lambda m, a: m.cov(a, a[:, 0] + 1, rowvar=False, ddof=2),
    "cov one": lambda m, a: m.cov(a[0]),
    "cov two": lambda m, a: m.cov(a[0], a[1]),
    "cov fweights": lambda m, a: m.cov(a, fweights=COUNTS),
    "cov aweights": lambda m, a: m.cov(a, aweights=WEIGHTS),
    "cov weights": lambda m, a: m.cov(a, fweights=[*COUNTS], aweights=m.array(WEIGHTS), ddof=0),
    "cov own weights": lambda m, a: m.cov(a, fweights=m.array(COUNTS), aweights=m.array(WEIGHTS)),
    "cov complex": lambda m, a: m.cov(a + 1j * a**2),
    "cov complex weights": lambda m, a: m.cov(a + 1j * a**2, fweights=COUNTS, aweights=WEIGHTS),
    "cov float": lambda m, a: m.cov(a.astype("f"), dtype=np.float32),
    "cov integers": lambda m, a: m.cov((a * 9).astype(int)),
    "cov none": lambda m, a: m.cov(a[:0]),
    "corrcoef": lambda m, a: m.corrcoef(a),
    "corrcoef columns": lambda m, a: m.corrcoef(a, rowvar=False),
    "corrcoef complex": lambda m, a: m.corrcoef(a + 1j * a**2),
    "corrcoef one": lambda m, a: m.corrcoef(a[0]),
    "corrcoef y": lambda m, a: m.corrcoef(a[0], a[1] ** 2),
}


@pytest.mark.parametrize("layout", NAMES)
@pytest.mark.parametrize("name", CASES)
def test_cases(name: str, layout: str) -> None:
    a, expected = pg.array(X, layout=layout_of(layout, X.shape)), CASES[name](np, X)
    for found in (CASES[name](pg, a), CASES[name](_Numpy, a)):
        together = isinstance(expected, tuple)
        for one, other in zip(found if together else (found,), expected if together else (expected,), strict=True):
            assert_equal(one, other, exact=name.startswith("ptp"), rtol=1e-5 if "float" in name else 1e-12)


class _Numpy:
    """NumPy's functions, and arrays of pgaspy."""

    array = staticmethod(pg.array)
    average, ptp, cov, corrcoef = map(staticmethod, (np.average, np.ptp, np.cov, np.corrcoef))


def test_sums_of_the_weights_are_arrays_of_their_own() -> None:
    found, total = pg.average(pg.array(X), 1, WEIGHTS, returned=True)
    total[...] = 0
    assert_equal(found, np.average(X, 1, WEIGHTS), exact=False)
    out = pg.zeros(7)
    collectively(pg.ptp(pg.array(X), 0, out) is out)
    assert_equal(out, np.ptp(X, 0))


def test_what_is_refused() -> None:
    a = pg.array(X)
    raises_everywhere(ZeroDivisionError, "sum to zero", lambda: pg.average(a, 1, np.zeros(7)))
    raises_everywhere(ZeroDivisionError, "sum to zero", lambda: pg.average(a, weights=a * 0))
    raises_everywhere(TypeError, "Axis must be specified", lambda: pg.average(a, weights=WEIGHTS))
    raises_everywhere(ValueError, "consistent with shape", lambda: pg.average(a, 0, WEIGHTS))
    raises_everywhere(np.exceptions.AxisError, "out of bounds", lambda: pg.average(a, 2))
    raises_everywhere(TypeError, "boolean subtract", lambda: pg.ptp(a > 0))
    raises_everywhere(ValueError, "zero-size", lambda: pg.ptp(a[:0]))
    raises_everywhere(ValueError, "ddof must be integer", lambda: pg.cov(a, ddof=0.5))  # type: ignore[arg-type]
    raises_everywhere(ValueError, "m has more than 2", lambda: pg.cov(a[None]))
    raises_everywhere(ValueError, "y has more than 2", lambda: pg.cov(a, a[None]))
    raises_everywhere(TypeError, "fweights must be integer", lambda: pg.cov(a, fweights=WEIGHTS))
    raises_everywhere(ValueError, "fweights cannot be negative", lambda: pg.cov(a, fweights=-pg.array(COUNTS)))
    raises_everywhere(ValueError, "aweights cannot be negative", lambda: pg.cov(a, aweights=-WEIGHTS))
    raises_everywhere(RuntimeError, "incompatible numbers", lambda: pg.cov(a, aweights=[1, 2]))
    raises_everywhere(RuntimeError, "multidimensional fweights", lambda: pg.cov(a, fweights=np.ones((1, 7))))


def test_too_few_observations_are_warned_of() -> None:
    for call, expected in ((lambda: pg.cov(pg.array(X[:, :1])), np.full((5, 5), np.nan)),
                           (lambda: pg.cov(pg.array(X), ddof=9), None)):
        with warnings.catch_warnings(record=True) as seen:
            warnings.simplefilter("always")
            found = call()
        collectively([str(w.message) for w in seen] == ["Degrees of freedom <= 0 for slice"])
        collectively(seen[0].filename == __file__)
        if expected is not None:
            assert_equal(found, expected)


def test_elements_stay_where_they_are() -> None:
    """Of a table whose rows are observations, processes exchange sums only."""
    table = pg.random.default_rng(1).random((4000, 3), layout=pg.Distribution("block", "*"))
    received = pg.explain(lambda: pg.cov(table, rowvar=False)).nbytes_received
    collectively(received < 2000, f"{received} bytes are received")
