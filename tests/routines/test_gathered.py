"""NumPy's functions that are missing are called on gathered copies, where the program asks for that."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest

import pgaspy as pg
from tests.together import assert_equal, collectively, raises_everywhere

pytestmark = pytest.mark.mpi

X = np.arange(-6.0, 6.0).reshape(3, 4)
DAYS = np.arange("2024-02-01", "2024-02-13", dtype="M8[D]").reshape(3, 4)
powers = np.lib.scimath.power


@pytest.fixture
def _silent() -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


@pytest.mark.usefixtures("_silent")
@pytest.mark.parametrize("layout", [None, pg.Distribution("*", "cyclic(1)")])
def test_results_are_numpys(layout: pg.Distribution | None) -> None:
    a, days = pg.array(X, layout=layout), pg.array(DAYS, layout=layout)
    with pg.fallback():
        for section in (slice(None), slice(None, None, -2), slice(2, 2)):
            assert_equal(np.lib.scimath.sqrt(a[:, section]), np.lib.scimath.sqrt(X[:, section]))
            assert_equal(np.busday_offset(dates=days[section], offsets=2, roll="forward"),
                         np.busday_offset(DAYS[section], 2, roll="forward"))
        found = powers(a, 2)
        assert isinstance(found, pg.GlobalArray)
        assert_equal(found, powers(X, 2))
        collectively(np.may_share_memory(a, found) is False)
        assert np.min_scalar_type(a) is X.dtype
    a[0] = 1  # no copy that is read-only is left
    assert_equal(a[0], np.ones(4))


@pytest.mark.usefixtures("_silent")
def test_functions_of_the_module() -> None:
    a = pg.array(X)
    raises_everywhere(AttributeError, "has no attribute 'busday_count'", lambda: pg.busday_count)
    with pg.fallback():
        days = pg.array(DAYS)
        assert_equal(pg.busday_count(days, days + 9), np.busday_count(DAYS, DAYS + 9))
        assert pg.busday_count.__name__ == "busday_count"
        raises_everywhere(AttributeError, "has no attribute 'no_such_name'", lambda: pg.no_such_name)
        raises_everywhere(AttributeError, "use pg.save", lambda: pg.savetxt)
        raises_everywhere(TypeError, r"use pg.save\(file, A\)", lambda: np.savetxt("nowhere", a))


def test_one_warning_for_a_line() -> None:
    a = pg.array(X)
    with pg.fallback(), warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        for n in (1, 2, 2):
            powers(a[:n], 2)
        powers(a, 2)
    assert [str(w.message).partition(" has ")[0] for w in seen] == ["numpy.lib.scimath.power"] * 2
    assert "on copies of 32 B" in str(seen[0].message)
    assert "on copies of 96 B" in str(seen[1].message)
    assert {w.filename for w in seen} == {__file__}
    assert seen[1].lineno == seen[0].lineno + 1


def test_what_is_refused() -> None:
    a = pg.array(X)
    raises_everywhere(TypeError, "for global arrays: call NumPy's, with A.gather", lambda: powers(a, 2))
    with pg.fallback(max_bytes=95), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        raises_everywhere(MemoryError, r"take 96 B on each process: .*max_bytes=96", lambda: powers(a, 2))
        with pg.fallback(96):
            powers(a, 2)
            raises_everywhere(ValueError, "read-only", lambda: np.busday_count(
                DAYS[0], DAYS[1], out=pg.zeros(4, dtype="i8")))
        raises_everywhere(ValueError, "could not be broadcast", lambda: powers(a[0], [1, 2, 3]))
        raises_everywhere(MemoryError, "allow that by", lambda: powers(a, 2))
        warnings.simplefilter("error")
        raises_everywhere(RuntimeWarning, "has no distributed form", lambda: powers(a[0], 2))
    assert_equal(a + 1, X + 1)
    raises_everywhere(TypeError, "is not supported for global arrays", lambda: powers(a[0], 2))


def test_by_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PGASPY_FALLBACK", "1")
    with pytest.warns(RuntimeWarning, match="copies of 32 B"):
        found = powers(pg.array(X[0]), 3)
    assert_equal(found, powers(X[0], 3))
    with pg.fallback(31):
        raises_everywhere(MemoryError, "allow that by", lambda: powers(pg.array(X[0]), 3))
