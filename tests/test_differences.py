"""Differences, gradients and integrals, as NumPy has them, to the bit where its expressions are the same."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import pgaspy as pg
from tests.layouts import NAMES, layout_of
from tests.together import assert_equal, raises_everywhere

pytestmark = pytest.mark.mpi

RNG = np.random.default_rng(3)
X = RNG.normal(size=(6, 9))
POINTS = np.array([0.0, 1, 3, 4, 8, 9])
STEPS = np.linspace(0, 2, 9)

CASES: dict[str, Callable[[Any, Any], Any]] = {
    "diff": lambda m, a: m.diff(a),
    "diff 0": lambda m, a: m.diff(a, axis=0),
    "diff twice": lambda m, a: m.diff(a, 2, 0),
    "diff too often": lambda m, a: m.diff(a, 12),
    "diff never": lambda m, a: m.diff(a, 0),
    "diff prepend": lambda m, a: m.diff(a, prepend=1.5),
    "diff both": lambda m, a: m.diff(a, axis=0, prepend=a[:2], append=a[::-1]),
    "diff append": lambda m, a: m.diff(a, n=2, append=0),
    "diff bool": lambda m, a: m.diff(a > 0, 2),
    "diff integers": lambda m, a: m.diff((a * 10).astype("B"), axis=0),
    "diff reversed": lambda m, a: m.diff(a[::-2, 1::3], axis=0),
    "ediff1d": lambda m, a: m.ediff1d(a),
    "ediff1d ends": lambda m, a: m.ediff1d(a[0], to_begin=7, to_end=[1, 2]),
    "ediff1d end": lambda m, a: m.ediff1d((a * 9).astype(int), to_end=-1),
    "ediff1d one": lambda m, a: m.ediff1d(a[:1, :1]),
    "gradient": lambda m, a: m.gradient(a),
    "gradient 1": lambda m, a: m.gradient(a, 0.3, axis=1),
    "gradient steps": lambda m, a: m.gradient(a, 0.3, 2),
    "gradient axes": lambda m, a: m.gradient(a, 0.3, axis=(1, 0), edge_order=2),
    "gradient points": lambda m, a: m.gradient(a, POINTS, axis=0),
    "gradient points 2": lambda m, a: m.gradient(a, POINTS, STEPS, edge_order=2),
    "gradient lists": lambda m, a: m.gradient(a, [0, 1, 2, 3, 4, 5], 1.5),
    "gradient integers": lambda m, a: m.gradient((a * 9).astype("i"), [*range(6)], axis=0),
    "gradient floats": lambda m, a: m.gradient(a.astype("f"), axis=-1, edge_order=2),
    "gradient complex": lambda m, a: m.gradient(a * 1j, STEPS**2, axis=-1),
    "gradient own points": lambda m, a: m.gradient(a, m.array(POINTS), axis=0, edge_order=2),
    "gradient own steps": lambda m, a: m.gradient(a, m.array([0.0, 1, 2, 3, 4, 5]), axis=0),
    "trapezoid": lambda m, a: m.trapezoid(a),
    "trapezoid dx": lambda m, a: m.trapezoid(a, dx=0.5, axis=0),
    "trapezoid x": lambda m, a: m.trapezoid(a, POINTS, axis=0),
    "trapezoid list": lambda m, a: m.trapezoid(a, [*STEPS]),
    "trapezoid own x": lambda m, a: m.trapezoid(a, m.array(STEPS)),
    "trapezoid all x": lambda m, a: m.trapezoid(a, a[::-1], axis=0),
    "trapezoid one": lambda m, a: m.trapezoid(a[0]),
}
SUMS = {name for name in CASES if name.startswith("trapezoid")}


@pytest.mark.parametrize("layout", NAMES)
@pytest.mark.parametrize("name", CASES)
def test_cases(name: str, layout: str) -> None:
    found, expected = CASES[name](pg, pg.array(X, layout=layout_of(layout, X.shape))), CASES[name](np, X)
    if isinstance(expected, tuple):
        assert isinstance(found, tuple)
        assert len(found) == len(expected)
        for one, model in zip(found, expected, strict=True):
            assert_equal(one, model)
    else:
        assert_equal(found, expected, exact=name not in SUMS)


@pytest.mark.parametrize("name", CASES)
def test_numpys_functions_find_them(name: str) -> None:
    first, second = (CASES[name](m, pg.array(X)) if m is pg else CASES[name](_Numpy, pg.array(X)) for m in (pg, np))
    for one, other in zip(*((x,) if not isinstance(x, tuple) else x for x in (first, second)), strict=True):
        assert isinstance(other, pg.GlobalArray)
        assert_equal(one, other.gather())


class _Numpy:
    """NumPy's functions, and arrays of pgaspy."""

    array = staticmethod(pg.array)
    diff, ediff1d, gradient, trapezoid = map(staticmethod, (np.diff, np.ediff1d, np.gradient, np.trapezoid))


def test_dates() -> None:
    x = np.array(["2001-01-01", "2001-01-05", "2001-03-01", "2001-03-02"], "M8[h]")
    assert_equal(pg.diff(pg.array(x)), np.diff(x))
    assert_equal(pg.gradient(pg.array(x)), np.gradient(x))


def test_what_is_refused() -> None:
    a = pg.array(X)
    raises_everywhere(ValueError, "non-negative", lambda: pg.diff(a, -1))
    raises_everywhere(ValueError, "one dimensional", lambda: pg.diff(pg.array(1.0)))
    raises_everywhere(np.exceptions.AxisError, "out of bounds", lambda: pg.diff(a, axis=2))
    raises_everywhere(ValueError, "must match exactly", lambda: pg.diff(a, axis=0, append=a[:, 1:]))
    raises_everywhere(TypeError, "same_kind", lambda: pg.ediff1d(pg.arange(3), to_end=0.5))
    raises_everywhere(TypeError, "invalid number", lambda: pg.gradient(a, 1, 2, 3))
    raises_everywhere(ValueError, "greater than 2", lambda: pg.gradient(a, edge_order=3))
    raises_everywhere(ValueError, "too small", lambda: pg.gradient(a[:2], edge_order=2))
    raises_everywhere(ValueError, "must match the length", lambda: pg.gradient(a, [1, 2], axis=0))
    raises_everywhere(ValueError, "scalars or 1d", lambda: pg.gradient(a, X, axis=0))
    raises_everywhere(np.exceptions.AxisError, "out of bounds", lambda: pg.trapezoid(a, axis=2))
    raises_everywhere(ValueError, "broadcast", lambda: pg.trapezoid(a, [1, 2, 3]))
