"""Functions of small arrays on several processes: as where the arrays stay, and as NumPy's."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import pgaspy as pg
from pgaspy import brought
from tests.together import collectively, raises_everywhere

mpi = pytest.mark.mpi

X = np.random.default_rng(1).integers(-9, 9, (6, 5)) / 4
EMPTY = np.zeros(0)

CALLS: dict[str, Callable[..., Any]] = {
    "flatnonzero": lambda xp, a: xp.flatnonzero(a),
    "intersect1d": lambda xp, a: xp.intersect1d(a[0], a[1]),
    "lexsort": lambda xp, a: xp.lexsort((a[0], a[1])),
    "lexsort, array": lambda xp, a: xp.lexsort(a),
    "median": lambda xp, a: xp.median(a),
    "median, axis": lambda xp, a: xp.median(a, axis=0),
    "intersect1d, indices": lambda xp, a: xp.intersect1d(a[0], a[1], return_indices=True),
    "nonzero": lambda xp, a: xp.nonzero(a),
    "percentile": lambda xp, a: xp.percentile(a, [10, 55.5]),
    "quantile": lambda xp, a: xp.quantile(a, [0.3, 1], method="lower"),
    "setdiff1d": lambda xp, a: xp.setdiff1d(a[0], a[1]),
    "setdiff1d, distinct": lambda xp, a: xp.setdiff1d(xp.unique(a), a[1], assume_unique=True),
    "setxor1d": lambda xp, a: xp.setxor1d(a[0], a[1]),
    "union1d": lambda xp, a: xp.union1d(a[0], a[1]),
    "unique": lambda xp, a: xp.unique(a),
    "unique, all": lambda xp, a: xp.unique(a, return_index=True, return_inverse=True, return_counts=True),
    "unique, axis": lambda xp, a: xp.unique(a[:, :2] > 0, axis=0),
}

OPERANDS: dict[str, Callable[[], tuple[Any, Any]]] = {
    "block": lambda: (pg.array(X), X),
    "cyclic": lambda: (pg.array(X, layout=pg.Distribution("*", "cyclic(2)")), X),
    "on one process": lambda: (pg.array(X, onenode=pg.SIZE - 1), X),
    "replicated": lambda: (pg.array(X, layout=pg.Distribution("*", "*")), X),
    "a view": lambda: (pg.array(np.kron(X, np.ones((2, 3))))[::2, 1::3][::-1], X[::-1]),
    "transposed": lambda: (pg.array(X[:5]).T, X[:5].T),
    "integers": lambda: (pg.array((4 * X).astype("i4")), (4 * X).astype("i4")),
    "complex": lambda: (pg.array(X + 1j), X + 1j),
}


def results(call: Callable[[Any, Any], Any], xp: Any, a: Any) -> list[Any]:
    """What a call gives; or the class of the error that it raises."""
    try:
        found = call(xp, a)
        return [*found] if isinstance(found, tuple) else [found]
    except (TypeError, ValueError, IndexError, NotImplementedError) as error:
        return [type(error)]


@mpi
@pytest.mark.parametrize("name", CALLS)
@pytest.mark.parametrize("operand", OPERANDS)
def test_results_are_as_where_arrays_stay(name: str, operand: str, monkeypatch: pytest.MonkeyPatch) -> None:
    a, x = OPERANDS[operand]()
    found, expected = results(CALLS[name], pg, a), results(CALLS[name], np, x)
    monkeypatch.setattr(brought, "MAX_ELEMENTS", -1)
    others = results(CALLS[name], pg, a)
    assert len(found) == len(others) == len(expected)
    for one, other, numpys in zip(found, others, expected, strict=True):
        if isinstance(numpys, type):
            assert one is other is numpys
            continue
        assert (one.shape, one.dtype, one._is_number) == (other.shape, other.dtype, other._is_number)
        assert one.layout == other.layout
        values = one.gather()
        collectively(bool(np.array_equal(values, numpys) and values.dtype == np.asarray(numpys).dtype))
        collectively(bool(np.allclose(values, other.gather(), 1e-12, 1e-12)))


@mpi
@pytest.mark.filterwarnings("ignore:Mean of empty", "ignore:invalid value")
@pytest.mark.parametrize("name", ["unique", "median", "nonzero", "flatnonzero"])
def test_nothing(name: str) -> None:
    a = pg.array(EMPTY)
    found, expected = results(CALLS[name], pg, a), results(CALLS[name], np, EMPTY)
    for one, numpys in zip(found, expected, strict=True):
        collectively(bool(np.array_equal(one.gather(), numpys, equal_nan=True)))


@mpi
def test_results_are_written_to() -> None:
    a = pg.array(X)
    found = pg.unique(a)
    expected = np.unique(X)
    a[...] = 0
    found[1:] += 1
    expected[1:] += 1
    collectively(bool((found.gather() == expected).all()))


@mpi
def test_errors_are_the_same_everywhere() -> None:
    a = pg.array(X)
    raises_everywhere(ValueError, "range", lambda: pg.percentile(a, 101))
    raises_everywhere(ValueError, "lexsort|shape", lambda: pg.lexsort((a[0], a[:, 0])))


@mpi
@pytest.mark.skipif(pg.SIZE == 1, reason="is of several processes")
def test_they_are_brought() -> None:
    a = pg.array(X)
    pg.sync()
    before = pg.stats()
    pg.unique(a)
    collectively((pg.stats() - before).n_recorded <= 2)  # else a dozen
