"""Global assignment, copies and movement, between all pairs of layouts."""

from __future__ import annotations

import re
import warnings
from datetime import date, datetime, timedelta
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

import pgaspy as pg
from pgaspy.layout import Layout
from tests.layouts import NAMES, layout_of
from tests.together import assert_equal, collectively, raises_everywhere

pytestmark = pytest.mark.mpi

SHAPE = (9, 8)
X, Y = np.arange(72.0).reshape(SHAPE), -np.arange(72.0).reshape(SHAPE)


@pytest.mark.parametrize("first", NAMES)
@pytest.mark.parametrize("second", NAMES)
def test_pairs_of_layouts(first: str, second: str) -> None:
    a, x = pg.array(X, layout=layout_of(first, SHAPE)), X.copy()
    b, y = pg.array(Y, layout=layout_of(second, SHAPE)), Y.copy()
    for target, source in (
        (np.s_[...], np.s_[...]), (np.s_[1:, :4], np.s_[:-1, 4:]), (np.s_[::-1, 2], np.s_[:, 5]),
        (np.s_[::3, ::2], np.s_[4:1:-1, 1:8:2]), (np.s_[0], np.s_[3]), (np.s_[:, :], np.s_[2, :]),
        (np.s_[2:5, 3], np.s_[1, 2]), (np.s_[8, 7], np.s_[0, 3]), (np.s_[:0], np.s_[:0]),
    ):
        a[target] = b[source]
        x[target] = y[source]
        assert_equal(a, x)
    b[:8, :] = a.T[:, :8]
    y[:8, :] = x.T[:, :8]
    assert_equal(b, y)


@pytest.mark.parametrize("name", NAMES)
def test_overlapping_sections_of_one_array(name: str) -> None:
    a, x = pg.array(X[:8], layout=layout_of(name, (8, 8))), X[:8].copy()
    for target, source in (
        (np.s_[1:], np.s_[:-1]), (np.s_[:-1], np.s_[1:]), (np.s_[:, :-3], np.s_[:, 3:]), (np.s_[...], np.s_[::-1]),
        (np.s_[...], np.s_[::-1, ::-1]), (np.s_[:, 1:], np.s_[:, :-1]), (np.s_[...], np.s_[3]),
        (np.s_[::2], np.s_[4:]), (np.s_[...], np.s_[:, 2:3]),
    ):
        a[target] = a[source]
        x[target] = x[source].copy()
        assert_equal(a, x)
    a[...] = a.T
    assert_equal(a, x.T)


def test_cannon_shifts_its_blocks() -> None:
    a, x, b = pg.array(X), X.copy(), 3
    first = a[:, :b].copy()
    a[:, :-b] = a[:, b:]
    a[:, -b:] = first
    assert_equal(a, np.roll(x, -b, axis=1))


VALUES = [7, 2.5, True, np.float32(1.5), np.int8(-3), np.arange(8), np.arange(9)[:, None], [[1.0]],
          np.arange(72).reshape(1, 1, 9, 8)]


@pytest.mark.parametrize(("value", "dtype"), [
    (value, dtype) for value in VALUES for dtype in "dflBD" if np.min(value) >= 0 or dtype != "B"], ids=str)
def test_values_that_are_the_same_everywhere(value: Any, dtype: str) -> None:
    a, x = pg.zeros(SHAPE, dtype), np.zeros(SHAPE, dtype)
    for target in (np.s_[...], np.s_[::-1, ::-1]):
        with np.errstate(all="ignore"):
            a[target] = value
            x[target] = value
        assert_equal(a, x)


@pytest.mark.parametrize("source", "dflBi?D")
@pytest.mark.parametrize("target", "dflBi?D")
def test_casts(source: str, target: str) -> None:
    y = np.abs(X).astype(source)
    a, b = pg.zeros(SHAPE, target, layout=layout_of("cyclic(2)", SHAPE)), pg.array(y)
    x = np.zeros(SHAPE, target)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", np.exceptions.ComplexWarning)
        a[1:] = b[:-1]
        x[1:] = y[:-1]
        assert_equal(a, x)
        a[...] = b[4]
        x[...] = y[4]
        assert_equal(a, x)
        assert_equal(b.astype(target), y.astype(target))


def test_a_discarded_imaginary_part_is_warned_of() -> None:
    a, b = pg.zeros(3), pg.ones(3, complex)
    with pytest.warns(np.exceptions.ComplexWarning, match="discards the imaginary part"):
        a[...] = b
    with pytest.warns(np.exceptions.ComplexWarning):
        b.astype(float)
    assert_equal(a, np.ones(3))
    with pytest.warns(np.exceptions.ComplexWarning):
        a[3:] = b[:0]
    with pytest.warns(np.exceptions.ComplexWarning):
        b[:0].astype(float)


def test_integers_beyond_the_dtype() -> None:
    a = pg.zeros(3, np.uint8)
    raises_everywhere(OverflowError, "out of bounds", lambda: a.__setitem__(..., 300))
    assert_equal(a, np.zeros(3, np.uint8))


@pytest.mark.parametrize(("dtype", "value"), [
    ("M8[s]", datetime(2000, 1, 1, 12)), ("M8[D]", [date(2024, 2, 29), datetime(2000, 1, 1, 12)]),
    ("m8[h]", timedelta(days=2)), ("M8[D]", None), ("d", Fraction(1, 3)), ("l", Decimal("7.5")), ("d", [10**30, None])],
    ids=str)
def test_what_is_cast_one_by_one(dtype: str, value: Any) -> None:
    x = np.zeros((3, 2), dtype)
    a = pg.array(x)
    a[1], x[1] = value, value
    assert_equal(a, x)


def test_what_cannot_be_cast() -> None:
    a, n = pg.zeros((3, 2)), pg.zeros(3, int)
    raises_everywhere(TypeError, "float", lambda: a.__setitem__(1, object()))
    raises_everywhere(TypeError, "int", lambda: n.__setitem__(0, None))
    assert_equal(a, np.zeros((3, 2)))
    assert_equal(n, np.zeros(3, int))


def test_a_view_of_a_view() -> None:
    a, x = pg.array(X), X.copy()
    a[2:, ::2][::-1, 1:][1] = 5
    x[2:, ::2][::-1, 1:][1] = 5
    a[:, None, 3][..., 0] = 6
    x[:, None, 3][..., 0] = 6
    a.T[1:3][0] += 1
    x.T[1:3][0] += 1
    assert_equal(a, x)
    collectively(a[1:][2:]._base is a._base)


def test_the_result_of_an_operator_on_a_section() -> None:
    a, x = pg.array(X), X.copy()
    a[1:, 3:] -= a[1:, 2:3] * a[0, 3:]
    x[1:, 3:] -= x[1:, 2:3] * x[0, 3:]
    assert_equal(a, x)
    a[2] *= 2
    x[2] *= 2
    assert_equal(a, x)


@pytest.mark.parametrize("name", NAMES)
def test_copies(name: str) -> None:
    a = pg.array(X, layout=layout_of(name, SHAPE))
    for key in (np.s_[...], np.s_[1:, ::2], np.s_[::-1], np.s_[3], np.s_[:, None, 2], np.s_[:0]):
        b = a[key].copy()
        collectively(b._base is not a._base)
        assert_equal(b, X[key])
        b[...] = 0
    assert_equal(a, X)
    collectively(a.copy().layout == a.layout)


@pytest.mark.parametrize("first", NAMES)
@pytest.mark.parametrize("second", NAMES)
def test_redistribute(first: str, second: str) -> None:
    a = pg.array(X, layout=layout_of(first, SHAPE))
    b = a.redistribute(layout_of(second, SHAPE))
    collectively(b.layout == layout_of(second, SHAPE))
    assert_equal(b, X)
    assert_equal(b[1:, ::-2].redistribute(), X[1:, ::-2])
    collectively(b.redistribute().layout == pg.empty(SHAPE).layout)


@pytest.mark.parametrize("formats", [("block", "block"), ("cyclic(2)", "cyclic(3)"), ("cyclic", "block")])
def test_replicate(formats: tuple[str, str]) -> None:
    a = pg.array(X, layout=pg.Distribution(*formats))
    grid = a.layout.grid
    for key in (np.s_[:, 2:5], np.s_[3:7], np.s_[4:5, 1:], np.s_[::-1], np.s_[2], np.s_[...]):
        view = a[key]
        for axis in (0, 1, -1):
            b = pg.replicate(view, axis)
            assert_equal(b, X[key])
            for dim in b._view.layout.dims:
                collectively(dim.axis != axis % 2)
            collectively(axis % 2 in b._view.layout.replica_axes or grid[axis] == 1)
            for d, section in enumerate(view._view.sections):
                if section.dim.axis != axis % 2 and section.step > 0:
                    collectively(np.array_equal(b.global_indices(d), view.global_indices(d))
                                 or not b._view.holds(b._view.layout.coords_from_rank(pg.RANK))
                                 or not view._view.holds(view._view.layout.coords_from_rank(pg.RANK)))


def test_summa() -> None:
    n, b = 12, 4
    x, y = X.ravel()[:36].reshape(n, 3) @ np.ones((3, n)), np.arange(n * n, dtype=float).reshape(n, n)
    layout = pg.Distribution("cyclic(4)", "cyclic(4)")
    a, bb, c = (pg.array(m, layout=layout) for m in (x, y, np.zeros((n, n))))
    for k in range(0, n, b):
        a1, b1 = pg.replicate(a[:, k : k + b], axis=1), pg.replicate(bb[k : k + b, :], axis=0)
        c.local()[...] += a1.local() @ b1.local()
    assert_equal(c, x @ y)


@pytest.mark.parametrize("formats", [("block", "block"), ("cyclic(2)", "*"), ("*", "cyclic(3)")])
@pytest.mark.parametrize("dim", [0, 1, -1])
def test_align(formats: tuple[str, str], dim: int) -> None:
    a = pg.array(X, layout=pg.Distribution(*formats))
    for array, model in ((a, X), (a[2:, 1:], X[2:, 1:])):
        v = np.arange(model.shape[dim]) * 1.5
        x = pg.align(v, array, dim)
        assert_equal(x, v)
        collectively(np.array_equal(x.global_indices(0), array.global_indices(dim)))
        shape = (-1, 1) if dim == 0 else (1, -1)
        array.local()[...] += x.local().reshape(shape)
        model += v.reshape(shape)
        assert_equal(array, model)
        model -= v.reshape(shape)
        array[...] = model


def test_pinned_layouts() -> None:
    """Arrays on some rows of a grid only, with replicas in them."""
    size = pg.SIZE
    grid = (2, size // 2) if size % 2 == 0 else (size, 1)
    dims = pg.Distribution("block", "*", grid=grid, axes=(1, None)).bind(SHAPE, size).dims
    for pin in range(grid[0]):
        layout = Layout(grid, dims, (pin, None))
        a = pg.array(X, layout=layout)
        assert_equal(a, X)
        assert_equal(a + a, X + X)
        assert_equal(a.sum(axis=0), X.sum(axis=0))
        a[1:] = a[:-1]
        assert_equal(a[1:], X[:-1])
        free = pg.array(X, layout=Layout((grid[1], grid[0]), [dims[1], dims[1]][:0] or pg.Distribution(
            "block", "*", grid=(grid[1], grid[0]), axes=(0, None)).bind(SHAPE, size).dims, (None, pin)))
        free[...] = a[::-1]
        x = X.copy()
        x[1:] = X[:-1]
        assert_equal(free, x[::-1])


def test_columns_of_a_grid_are_filled_by_broadcast() -> None:
    """Destinations that are replicated along one axis, pinned on another, on views of any step."""
    size = pg.SIZE
    layout = pg.Distribution("block", "cyclic(2)").bind(SHAPE, size)
    a = pg.array(X, layout=layout)
    for row in range(9):
        panel = pg.replicate(a[row], 1)
        assert_equal(panel, X[row])
        panel = pg.replicate(a[row, ::-1], 1)
        assert_equal(panel, X[row, ::-1])


def test_item_on_one_process() -> None:
    a = pg.array(X, onenode=pg.SIZE - 1)
    collectively(float(a[2, 3]) == X[2, 3])
    b = pg.array(5.0, onenode=pg.SIZE - 1)
    collectively(b.item() == 5.0)
    b[...] = a[1, 1]
    collectively(float(b) == X[1, 1])


@pytest.mark.parametrize("value", [np.ones(1), np.ones((1, 1)), [1.0], np.ones(2), np.ones(0)])
@pytest.mark.parametrize("n", [3, 1 << 16])
def test_sequences_are_refused_in_the_place_of_an_element(value: Any, n: int) -> None:
    """As by NumPy, of which older ones warn of a sequence of one number."""
    a = pg.zeros(n)
    with pytest.raises((ValueError, DeprecationWarning)) as refused:
        np.zeros(n)[1] = value
    for one in value, pg.array(value):
        raises_everywhere(refused.type, re.escape(str(refused.value)), lambda one=one: a.__setitem__(1, one))
        if isinstance(one, list):
            raises_everywhere(ValueError, "maximum number of dimension of 0", lambda: a.__setitem__((2, ...), [1.0]))
            a[:1] = one
        elif np.size(value) == 1:
            a[2, ...] = one
            a[:1] = one
    assert_equal(a[:3], [np.size(value) == 1, 0.0, np.size(value) == 1])


@pytest.mark.parametrize("dtype", ["bool", "M8[D]", "m8[D]", "d", "l", "D"])
def test_an_array_of_one_is_a_truth_value(dtype: str) -> None:
    for value in np.ones(1, dtype), np.ones((1, 1), dtype), np.zeros(1, dtype):
        a, x = pg.array([False, True, True]), np.array([False, True, True])
        a[1] = pg.array(value)
        a[2] = value
        x[1:] = bool(value.item()) if dtype[0] not in "Mm" else value.astype(bool).item()
        assert_equal(a, x)
    raises_everywhere(ValueError, "sequence", lambda: pg.zeros(3, bool).__setitem__(0, pg.ones(2, bool)))


@pytest.mark.parametrize("key", [0, slice(None), slice(0, 0)])
def test_dates_are_no_integers(key: Any) -> None:
    for dtype in ("i1", "i8"):
        with pytest.raises(TypeError) as refused:
            np.zeros(3, dtype)[key] = np.datetime64("2020-01-01")
        raises_everywhere(TypeError, re.escape(str(refused.value)),
                          lambda dtype=dtype: pg.zeros(3, dtype).__setitem__(key, np.datetime64("2020-01-01")))


@pytest.mark.parametrize("n", [5, 90_000])
def test_masked_elements_are_what_numpy_makes_of_them(n: int) -> None:
    found, expected = pg.ones(n), np.ones(n)
    for x in found, expected:
        with pytest.warns(UserWarning, match="masked element to nan"):
            x[2] = np.ma.masked
        x[:2] = np.ma.masked
        x[3] = np.ma.masked_array(7.0, mask=False)
    collectively(np.array_equal(found.gather(), expected, equal_nan=True))
    with pytest.warns(UserWarning, match="masked element to nan"):
        found.fill(np.ma.masked)
    collectively(np.isnan(found.gather()).all())
    raises_everywhere(np.ma.MaskError, "Cannot convert masked", lambda: pg.ones(n, int).__setitem__(1, np.ma.masked))
