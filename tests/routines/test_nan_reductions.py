"""Reductions that pass over NaN, against NumPy."""

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

NAN = np.nan
X = np.random.default_rng(5).normal(size=(5, 7))
X[1, 2] = X[3, 4:] = X[0, 0] = NAN
MASK = np.arange(35).reshape(5, 7) % 3 > 0
REDUCTIONS = ("nansum", "nanprod", "nanmax", "nanmin", "nanmean", "nanvar", "nanstd")

OPTIONS: dict[str, Callable[[Any], tuple[Any, dict[str, Any]]]] = {
    "all": lambda a: (a, {}),
    "axis": lambda a: (a, {"axis": 0}),
    "kept": lambda a: (a, {"axis": -1, "keepdims": True}),
    "axes": lambda a: (a[:, None], {"axis": (0, -1)}),
    "view": lambda a: (a[::-2, 1:].T, {"axis": 0}),
    "where": lambda a: (a, {"axis": 1, "where": MASK}),
    "where row": lambda a: (a, {"axis": 0, "where": MASK[:, :1], "keepdims": True}),
    "single": lambda a: (a.astype("f"), {"axis": 1}),
    "half": lambda a: (a.astype("e"), {"axis": 1}),
    "complex": lambda a: (a * (1 + 2j), {"axis": 1}),
    "integers": lambda a: (MASK * np.int8(3) if isinstance(a, np.ndarray) else pg.array(MASK) * np.int8(3),
                           {"axis": 1}),
    "integers where": lambda a: (MASK * np.int8(3) if isinstance(a, np.ndarray) else pg.array(MASK) * np.int8(3),
                                 {"axis": 0, "where": MASK}),
    "booleans": lambda a: (a > 0, {"axis": 0}),
}


@pytest.mark.parametrize("layout", NAMES)
@pytest.mark.parametrize("case", OPTIONS)
def test_reductions(case: str, layout: str) -> None:
    a = pg.array(X, layout=layout_of(layout, X.shape))
    for name in REDUCTIONS:
        (x, options), (y, _) = OPTIONS[case](a), OPTIONS[case](X)
        if name in ("nanmax", "nanmin"):
            if case == "complex":
                continue
            options |= {"initial": 2} if "where" in case else {}
        expected = getattr(np, name)(y, **options)
        rtol = {"single": 1e-5, "half": 1e-2}.get(case, 1e-12)
        for m in (pg, np):
            found = getattr(m, name)(x, **options)
            assert isinstance(found, pg.GlobalArray)
            assert_equal(found, expected, exact=False, rtol=rtol)


@pytest.mark.parametrize("layout", NAMES)
def test_indices(layout: str) -> None:
    a = pg.array(X, layout=layout_of(layout, X.shape))
    for name in ("nanargmax", "nanargmin"):
        for x, y, options in ((a, X, {}), (a, X, {"axis": 0}), (a, X, {"axis": 1, "keepdims": True}),
                              (a > 0, X > 0, {"axis": 1}), (a[:, ::-1], X[:, ::-1], {"axis": 1})):
            for m in (pg, np):
                assert_equal(getattr(m, name)(x, **options), getattr(np, name)(y, **options))
        raises_everywhere(ValueError, "All-NaN slice encountered", lambda name=name: getattr(pg, name)(
            pg.full((3, 2), NAN), 0))
        raises_everywhere(ValueError, "empty sequence", lambda name=name: getattr(pg, name)(a[:0]))


def test_options() -> None:
    a = pg.array(X)
    out = pg.zeros(5)
    for name in REDUCTIONS:
        collectively(getattr(pg, name)(a, 1, out=out) is out)
        assert_equal(out, getattr(np, name)(X, 1), exact=False)
        raises_everywhere(ValueError, "shape", lambda name=name: getattr(pg, name)(a, 0, out=out))
        if name not in ("nanmax", "nanmin"):
            assert_equal(getattr(pg, name)(a.astype("f"), 1, dtype="d"),
                         getattr(np, name)(X.astype("f"), 1, dtype="d"), exact=False)
    assert_equal(pg.nansum(a, 0, initial=3, where=pg.array(MASK)), np.nansum(X, 0, initial=3, where=MASK), exact=False)
    assert_equal(pg.nanprod(a, 0, initial=3), np.nanprod(X, 0, initial=3), exact=False)
    assert_equal(pg.nanmax(a, 0, initial=0.5), np.nanmax(X, 0, initial=0.5))
    assert_equal(pg.nanmin(pg.array(MASK), where=MASK, initial=True), np.nanmin(MASK, where=MASK, initial=True))
    assert_equal(pg.nanvar(a, 0, ddof=1), np.nanvar(X, 0, ddof=1), exact=False)
    assert_equal(pg.nanstd(a, 0, correction=1), np.nanstd(X, 0, ddof=1), exact=False)
    mean = np.nanmean(X, 0, keepdims=True)
    assert_equal(pg.nanvar(a, 0, mean=mean), np.nanvar(X, 0, mean=mean), exact=False)
    assert_equal(pg.nanmean([1, NAN]), np.nanmean([1, NAN]))


def test_full_reductions_are_numbers() -> None:
    for name in REDUCTIONS:
        found = getattr(pg, name)(pg.array(X))
        raises_everywhere(TypeError, "assignment", lambda found=found: found.__setitem__((), 1))


def test_what_is_refused() -> None:
    a = pg.array(X)
    raises_everywhere(ValueError, "no identity", lambda: pg.nanmax(a[:0]))
    raises_everywhere(ValueError, "does not have an identity", lambda: pg.nanmax(a, where=MASK))
    raises_everywhere(TypeError, "dtype must be inexact", lambda: pg.nanmean(a, dtype=int))
    raises_everywhere(TypeError, "out must be inexact", lambda: pg.nanvar(a, 0, out=pg.zeros(7, int)))
    raises_everywhere(ValueError, "simultaneously", lambda: pg.nanvar(a, ddof=1, correction=1))
    raises_everywhere(np.exceptions.AxisError, "out of bounds", lambda: pg.nansum(a, 2))


@pytest.mark.parametrize(("name", "message"), [
    ("nanmax", "All-NaN slice encountered"), ("nanmin", "All-NaN slice encountered"),
    ("nanmean", "Mean of empty slice"), ("nanvar", "Degrees of freedom <= 0 for slice."),
    ("nanstd", "Degrees of freedom <= 0 for slice.")])
def test_slices_without_numbers_are_warned_of(name: str, message: str) -> None:
    x = np.array([[NAN, NAN], [1.0, NAN]])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        expected = getattr(np, name)(x, 1)
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        found = getattr(pg, name)(pg.array(x, layout=pg.Distribution("*", "*")), 1)
        assert_equal(found, expected)
    collectively([str(w.message) for w in seen] == [message], f"{[str(w.message) for w in seen]}")
    collectively(seen[0].filename == __file__ and seen[0].category is RuntimeWarning)
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        getattr(pg, name)(pg.array(x), 1).gather()
    n_seen = pg.COMM.allreduce(len(seen))
    collectively(n_seen >= 1)


def test_what_is_infinite_is_counted() -> None:
    x = np.array([[1, np.inf, 2, NAN], [3, 4, 5, 6]])
    a = pg.array(x, layout=pg.Distribution("block", "*"))
    with np.errstate(all="ignore"), warnings.catch_warnings(action="ignore"):
        for name in ("nanvar", "nanstd"):
            assert_equal(getattr(pg, name)(a, axis=1, ddof=0.5), getattr(np, name)(x, axis=1, ddof=0.5), exact=False)


@pytest.mark.parametrize("name", ["nansum", "nanprod", "nanmax", "nanmin"])
@pytest.mark.parametrize("dtype", ["B", "d"])
def test_initial_values_are_of_the_dtype(name: str, dtype: str) -> None:
    for x in (np.zeros((3, 0), dtype), np.ones((3, 4), dtype)):
        for where in (True, x > 0):
            assert_equal(getattr(pg, name)(pg.array(x), axis=1, initial=np.float32(2), where=where),
                         getattr(np, name)(x, axis=1, initial=np.float32(2), where=where))


def test_times_that_are_none_are_added() -> None:
    x = np.array([1, "NaT", 3, 4], "m8[s]")
    mask = np.array([True, True, False, True])
    assert_equal(pg.nansum(pg.array(x), where=mask), np.nansum(x, where=mask))
    assert_equal(pg.nanvar(pg.arange(4), where=mask, ddof=9), np.asarray(np.inf))


def test_warnings_are_no_errors_of_some_processes() -> None:
    a = pg.array(np.array([[1, 2], [NAN, NAN], [3, 4]]), layout=pg.Distribution("block", "*"))
    with warnings.catch_warnings(record=True, action="error") as shown:
        assert_equal(pg.nanmean(a, axis=1), np.array([1.5, NAN, 3.5]))
        pg.sync()
    collectively(sum(pg.COMM.allgather(len(shown))) == 1)


def test_results_that_are_booleans_are_assigned() -> None:
    out = pg.ones(3, bool)
    pg.nanmin(pg.array([[True, False, True], [True, True, False]]), 0, out=out)
    assert_equal(out, np.array([True, False, False]))
