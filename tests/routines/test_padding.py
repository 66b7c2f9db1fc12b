"""Arrays with elements around them, against NumPy."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import pgaspy as pg
from tests.layouts import NAMES, layout_of
from tests.together import assert_equal, collectively, raises_everywhere

pytestmark = pytest.mark.mpi

X = np.array([[3, 1, 4, 1], [5, 9, 2, 6], [5, 3, 5, 8]])
MODES: dict[str, list[dict[str, Any]]] = {
    "constant": [{}, {"constant_values": 7}, {"constant_values": (1, 2)}, {"constant_values": ((1, 2), (3, 4))},
                 {"constant_values": ((1,), (2,))}],
    "edge": [{}], "wrap": [{}],
    "linear_ramp": [{}, {"end_values": 9}, {"end_values": (-3, 20)}, {"end_values": ((0, 5), (3, 1))}],
    "maximum": [{}, {"stat_length": 2}], "minimum": [{}, {"stat_length": (1, 2)}, {"stat_length": ((2, 9), (1, 3))}],
    "mean": [{}, {"stat_length": 2}], "median": [{}, {"stat_length": (3, 1)}],
    "reflect": [{}, {"reflect_type": "odd"}], "symmetric": [{}, {"reflect_type": "odd"}],
}
WIDTHS: list[Any] = [0, 1, (2, 0), ((1, 2), (0, 3)), ((0, 9), (11, 7)), ((1,), (2,))]


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("width", WIDTHS, ids=repr)
def test_modes(mode: str, width: Any) -> None:
    for x in (X, X.astype("f") / 3, X[:, :1], X[:1] > 2, X * 1j):
        a = pg.array(x)
        for options in MODES[mode]:
            if x.dtype.kind == "c" and mode in ("median", "maximum", "minimum"):
                continue
            if x.dtype.kind == "b" and (mode == "linear_ramp" or "reflect_type" in options):
                continue
            is_exact = x.dtype.kind in "iub" or mode not in ("mean", "median")
            assert_equal(pg.pad(a, width, mode, **options), np.pad(x, width, mode, **options), is_exact, 1e-6)


@pytest.mark.parametrize("layout", NAMES)
@pytest.mark.parametrize("mode", MODES)
def test_layouts(mode: str, layout: str) -> None:
    a = pg.array(X, layout=layout_of(layout, X.shape))
    for options in MODES[mode]:
        assert_equal(np.pad(a, ((5, 1), (2, 6)), mode, **options), np.pad(X, ((5, 1), (2, 6)), mode, **options))
    assert_equal(pg.pad(a[::-1, 1:3].T, 3, mode), np.pad(X[::-1, 1:3].T, 3, mode))


@pytest.mark.parametrize("mode", MODES)
def test_numbers_of_dimensions(mode: str) -> None:
    for shape in ((), (4,), (2, 3, 2)):
        x = np.arange(np.prod(shape, dtype=int)).reshape(shape) ** 2
        assert_equal(pg.pad(pg.array(x), 3, mode), np.pad(x, 3, mode))
    assert_equal(pg.pad([1, 2, 3], 2, mode), np.pad([1, 2, 3], 2, mode))
    assert_equal(pg.pad(pg.array(X[:0]), ((0, 0), (1, 2)), mode), np.pad(X[:0], ((0, 0), (1, 2)), mode))


def test_only_the_middle_is_set() -> None:
    a = pg.array(X, layout=pg.Distribution("cyclic(2)", "*"))
    found = pg.pad(a, ((1, 2), (0, 1)), "empty")
    assert_equal(found[1:4, :4], X)
    collectively(found.shape == (6, 5) and str(found.layout.dims[0]) == "cyclic(2)")
    assert_equal(pg.pad(a[:0], 1, constant_values=a[0, 1]), np.full((2, 6), 1))
    found[...] = 0
    assert_equal(a, X)


def test_widths_of_some_dimensions() -> None:
    a = pg.array(X)
    assert_equal(pg.pad(a, {-1: (1, 2)}), np.pad(X, ((0, 0), (1, 2))))
    assert_equal(pg.pad(a, {0: 2}, "edge"), np.pad(X, ((2, 2), (0, 0)), "edge"))


@pytest.mark.parametrize(("width", "mode", "options", "error", "text"), [
    (-1, "edge", {}, ValueError, "index can't contain negative values"),
    (1.5, "edge", {}, TypeError, "`pad_width` must be of integral type."),
    (((1, 2), (3, 4), (5, 6)), "edge", {}, ValueError, "broadcast"),
    (1, "other", {}, ValueError, "mode 'other' is not supported"),
    (1, "edge", {"constant_values": 1}, ValueError, "unsupported keyword arguments for mode 'edge'"),
    (1, "maximum", {"stat_length": 0}, ValueError, "stat_length of 0 yields no value for padding"),
    (1, "mean", {"stat_length": -1}, ValueError, "index can't contain negative values"),
])
def test_wrong_arguments(width: Any, mode: Any, options: Any, error: type[Exception], text: str) -> None:
    with pytest.raises(error, match=text):
        np.pad(X, width, mode, **options)
    raises_everywhere(error, text, lambda: pg.pad(pg.array(X), width, mode, **options))


def test_what_cannot_be_extended() -> None:
    a = pg.array(X)
    raises_everywhere(ValueError, "can't extend empty axis 1 using", lambda: pg.pad(a[:, :0], 1, "wrap"))
    raises_everywhere(TypeError, "a function as the mode", lambda: pg.pad(a, 1, lambda *_: None))
