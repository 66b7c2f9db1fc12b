"""What is rounded, replaced, or interpolated element by element; angles. Against NumPy."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import pgaspy as pg
from tests.layouts import NAMES, layout_of
from tests.together import assert_equal, collectively, raises_everywhere

pytestmark = pytest.mark.mpi

X = np.random.default_rng(4).normal(size=(5, 7)) * 100
X[0, :3] = np.nan, np.inf, -np.inf
X[1, :4] = 0.0, 2.5, -0.0, -3.5
P = X[2:] / 10
XP, FP = np.array([-50.0, -20, 0, 7, 90]), np.array([1.0, 3, -2, 5, 4])

CASES: dict[str, Callable[[Any, Any], Any]] = {
    "round": lambda m, a: m.round(a),
    "round 1": lambda m, a: m.round(a, 1),
    "round -1": lambda m, a: m.around(a, -1),
    "round float": lambda m, a: m.round(a.astype("f"), 2),
    "round half": lambda m, a: m.round(a.astype("e"), decimals=1),
    "round complex": lambda m, a: m.round(a[1:] * (1 + 2j), 1),
    "round integers": lambda m, a: m.round((a[1:] * 9).astype("i"), -2),
    "round integers 2": lambda m, a: m.round((a[1:] * 9).astype("h"), 2),
    "round booleans": lambda m, a: m.round(a > 0),
    "round method": lambda m, a: a.round(3),
    "fix": lambda m, a: m.fix(a[:, ::2]),
    "nan_to_num": lambda m, a: m.nan_to_num(a),
    "nan_to_num numbers": lambda m, a: m.nan_to_num(a, True, 1.5, 7, -7),
    "nan_to_num float": lambda m, a: m.nan_to_num(a.astype("f"), posinf=3),
    "nan_to_num half": lambda m, a: m.nan_to_num(a.astype("e")),
    "nan_to_num complex": lambda m, a: m.nan_to_num(m.sqrt(a + 0j), nan=3.0),
    "nan_to_num integers": lambda m, a: m.nan_to_num((a[1:]).astype("i")),
    "sinc": lambda m, a: m.sinc(a[1:] / 50),
    "sinc float": lambda m, a: m.sinc(a[1:].astype("f") / 50),
    "sinc integers": lambda m, a: m.sinc(a[1:].astype("i") % 3),
    "sinc complex": lambda m, a: m.sinc(a[1:] * 1e-2j),
    "angle": lambda m, a: m.angle(a),
    "angle complex": lambda m, a: m.angle(a[1:] * (1 + 1j) + 1, True),
    "angle float": lambda m, a: m.angle(a.astype("f"), deg=True),
    "angle integers": lambda m, a: m.angle(a[1:].astype("i")),
    "unwrap": lambda m, a: m.unwrap(a[2:] / 10),
    "unwrap axis": lambda m, a: m.unwrap(a[2:] / 10, axis=0),
    "unwrap discont": lambda m, a: m.unwrap(a[2:] / 10, 4.0, period=5.0),
    "unwrap integers": lambda m, a: m.unwrap(a[1:].astype("i"), period=8),
    "unwrap odd": lambda m, a: m.unwrap(a[1:].astype("i"), period=7),
    "unwrap one": lambda m, a: m.unwrap(a[2:, :1]),
    "interp": lambda m, a: m.interp(a, XP, FP),
    "interp own": lambda m, a: m.interp(a, m.array(XP), m.array(FP), left=-1, right=9),
    "interp complex": lambda m, a: m.interp(a[1:, ::-1], [*XP], FP * 1j),
    "interp period": lambda m, a: m.interp(a[1:], XP[::-1], FP, period=33),
    "interp integers": lambda m, a: m.interp((a[1:]).astype(int), XP.astype(int), FP.astype(int)),
    "interp number": lambda m, a: m.interp(a[2, 3], XP, FP),
}
ROUNDED = ("sinc", "angle", "unwrap", "interp")


@pytest.mark.parametrize("layout", NAMES)
@pytest.mark.parametrize("name", CASES)
def test_cases(name: str, layout: str) -> None:
    with np.errstate(all="ignore"):
        expected = CASES[name](np, X)
    a = pg.array(X, layout=layout_of(layout, X.shape))
    rtol = 1e-5 if "float" in name else 1e-12
    with np.errstate(all="ignore"):
        for m in (pg, _Numpy):
            found = CASES[name](m, a)
            collectively(isinstance(found, pg.GlobalArray))
            assert_equal(found, expected, exact=not name.startswith(ROUNDED), rtol=rtol)


class _Numpy:
    """NumPy's functions, and arrays of pgaspy."""

    array, sqrt = staticmethod(pg.array), np.sqrt
    around, round, fix, nan_to_num, sinc, angle, unwrap, interp = map(staticmethod, (
        np.around, np.round, np.fix, np.nan_to_num, np.sinc, np.angle, np.unwrap, np.interp))


def test_what_is_given_is_not_changed_unless_asked_for() -> None:
    a = pg.array(X)
    for found in (pg.round(pg.array([1, 2]), 1), pg.nan_to_num(pg.array([1, 2]))):
        found[0] = 9
        assert_equal(found, [9, 2])
    kept = pg.array([1, 2])
    pg.round(kept)[0] = 5
    pg.nan_to_num(kept)[0] = 5
    assert_equal(kept, [1, 2])
    collectively(pg.nan_to_num(a, copy=False) is a and pg.nan_to_num(kept, copy=False) is kept)
    assert_equal(a, np.nan_to_num(X))


def test_into_arrays() -> None:
    a, out = pg.array(X[1:]), pg.zeros((4, 7))
    collectively(pg.round(a, 1, out) is out)
    assert_equal(out, np.round(X[1:], 1))
    collectively(a.round(out=out) is out and pg.fix(a, out=out) is out)
    assert_equal(out, np.fix(X[1:]))


def test_numbers() -> None:
    a = pg.array(X)
    for found, expected in ((pg.round(a[2, 1], 1), np.round(X[2, 1], 1)), (pg.nan_to_num(a[0, 0]), 0.0),
                            (pg.interp(2.0, XP, pg.array(FP)), np.interp(2.0, XP, FP)), (pg.sinc(0), 1.0)):
        collectively(float(found) == expected)
        raises_everywhere(TypeError, "assignment", lambda found=found: found.__setitem__((), 1))


@pytest.mark.parametrize(("call", "error", "match"), [
    (lambda m, a: m.round(a > 0, 1), TypeError, "Cannot cast"),
    (lambda m, a: m.fix(a[1:] * 1j), TypeError, "not supported"),
    (lambda m, a: m.unwrap(a, axis=2), np.exceptions.AxisError, "out of bounds"),
    (lambda m, a: m.interp(a, [], []), ValueError, "sample points is empty"),
    (lambda m, a: m.interp(a, [1, 2], [1]), ValueError, "not of the same length"),
    (lambda m, a: m.interp(a, XP, FP, period=0), ValueError, "non-zero"),
    (lambda m, a: m.interp(a, XP[None], FP[None], period=1), ValueError, "1-D sequences")])
def test_what_is_refused(call: Any, error: type[Exception], match: str) -> None:
    raises_everywhere(error, match, lambda: call(pg, pg.array(X)))
    with pytest.raises(error, match=match):
        call(np, X)


@pytest.mark.parametrize("n", [64, 1000, 5000])
def test_few_points_between_many(n: int) -> None:
    rng = np.random.default_rng(n)
    xp, fp = np.sort(rng.random(n)), rng.random(n) + (1j * rng.random(n) if n == 1000 else 0)
    xp[5:8] = xp[5]
    for x in [0.5], [xp[5], xp[0], -1.0, 2.0, xp[-1], np.nan, 0.3][:n // 64]:
        for ends in {}, {"left": -1, "right": 9}:
            assert_equal(pg.interp(pg.array(x), pg.array(xp), pg.array(fp), **ends), np.interp(x, xp, fp, **ends))
