"""Dimensions and elements in another order, against NumPy."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import pgaspy as pg
from tests.layouts import NAMES, layout_of
from tests.together import assert_equal, collectively, raises_everywhere

pytestmark = pytest.mark.mpi

X = np.arange(30.0).reshape(6, 5)
Z = np.arange(120).reshape(2, 3, 4, 5)
HOLES = np.array([[0, 0, 0, 0], [0, 2, 0, 0], [0, 0, 3, 0], [0, 0, 0, 0], [0, 0, 0, 0]])
Call = Callable[[Any, Any, Any], Any]

VIEWS: dict[str, Call] = {
    "to the end": lambda np, x, z: np.moveaxis(z, 0, -1), "one back": lambda np, x, z: np.moveaxis(z, -1, 1),
    "several": lambda np, x, z: np.moveaxis(z, (0, -1), [2, 0]), "none": lambda np, x, z: np.moveaxis(z, (), ()),
    "rolled": lambda np, x, z: np.rollaxis(z, 3), "rolled to": lambda np, x, z: np.rollaxis(z, 0, 4),
    "rolled before": lambda np, x, z: np.rollaxis(z, 2, 1), "rolled there": lambda np, x, z: np.rollaxis(z, 2, 2),
    "rolled back": lambda np, x, z: np.rollaxis(z, -2, -3), "matrices": lambda np, x, z: np.matrix_transpose(z),
    "left to right": lambda np, x, z: np.fliplr(z), "upside down": lambda np, x, z: np.flipud(x[0]),
    "by a right angle": lambda np, x, z: np.rot90(x), "by two": lambda np, x, z: np.rot90(x, 2),
    "by three": lambda np, x, z: np.rot90(x, 3), "back": lambda np, x, z: np.rot90(x, -1),
    "by four": lambda np, x, z: np.rot90(x, 4), "in a plane": lambda np, x, z: np.rot90(z, 1, (1, 3)),
    "in another plane": lambda np, x, z: np.rot90(z, 3, axes=(-1, 0)),
}
WRONG: dict[str, tuple[str, Call]] = {
    "no such": ("source", lambda np, x, z: np.moveaxis(x, 2, 0)),
    "no such place": ("destination", lambda np, x, z: np.moveaxis(x, 0, 5)),
    "twice": ("repeated", lambda np, x, z: np.moveaxis(z, (0, 0), (1, 2))),
    "numbers": ("same number", lambda np, x, z: np.moveaxis(z, (0, 1), 2)),
    "rolled": ("axis 2 is out of bounds", lambda np, x, z: np.rollaxis(x, 2)),
    "rolled to": ("'start' arg requires -2 <= start < 3, but 3", lambda np, x, z: np.rollaxis(x, 0, 3)),
    "a vector": ("at least 2-dimensional, but it is 1", lambda np, x, z: np.matrix_transpose(x[0])),
    "one": ("2-d", lambda np, x, z: np.fliplr(x[0])), "zero": ("1-d", lambda np, x, z: np.flipud(x.sum())),
    "axes": ("must be 2", lambda np, x, z: np.rot90(z, 1, (0, 1, 2))),
    "equal axes": ("different", lambda np, x, z: np.rot90(z, 1, (1, -3))),
    "far axes": ("out of range", lambda np, x, z: np.rot90(x, 1, (0, 3))),
    "a negative extent": ("non-negative", lambda np, x, z: np.resize(x, (2, -1))),
    "ends": ("unexpected character", lambda np, x, z: np.trim_zeros(x[0], "x")),
}


@pytest.mark.parametrize("name", VIEWS)
def test_views(name: str) -> None:
    view, a, c = VIEWS[name], pg.array(X), pg.array(Z)
    assert_equal(view(pg, a, c), view(np, X, Z))
    assert_equal(view(np, a, c), view(np, X, Z))
    collectively(view(pg, a, c)._base in (a._base, c._base))


@pytest.mark.parametrize("name", WRONG)
def test_wrong_arguments(name: str) -> None:
    text, call = WRONG[name]
    with pytest.raises(ValueError, match=text):
        call(np, X, Z)
    raises_everywhere(ValueError, text, lambda: call(pg, pg.array(X), pg.array(Z)))


def test_transposed_matrices() -> None:
    a = pg.array(Z)
    assert_equal(a.mT, Z.mT)
    a.mT[0, 0, 1] = 7
    assert_equal(a[0, 0, :, 1], [7, 7, 7, 7])
    raises_everywhere(ValueError, "matrix transpose with ndim < 2 is undefined", lambda: a[0, 0, 0].mT)


@pytest.mark.parametrize("layout", NAMES)
def test_resized(layout: str) -> None:
    a = pg.array(X, layout=layout_of(layout, X.shape))
    for shape in ((4, 3), (7, 11), (200,), 90, (), (0, 3), (1, 30), (5, 1, 2)):
        assert_equal(pg.resize(a[:, ::2], shape), np.resize(X[:, ::2], shape))
    assert_equal(np.resize(a[:0], (2, 2)), np.resize(X[:0], (2, 2)))
    assert_equal(pg.resize([1, 2], 5), np.resize([1, 2], 5))


@pytest.mark.parametrize("layout", ["default", "cyclic"])
def test_without_zeros_at_the_ends(layout: str) -> None:
    where = pg.Distribution("cyclic(1)", "*") if layout == "cyclic" else None
    a = pg.array(HOLES, layout=where)
    for ends in ("fb", "f", "B", "bf"):
        for column in range(4):
            assert_equal(pg.trim_zeros(a[:, column], ends), np.trim_zeros(HOLES[:, column], ends))
        assert_equal(np.trim_zeros(a[1], ends), np.trim_zeros(HOLES[1], ends))
    assert_equal(pg.trim_zeros(a), HOLES[1:3, 1:3])
    assert_equal(pg.trim_zeros(a, "f"), HOLES[1:, 1:])
    assert_equal(pg.trim_zeros(a, "b", axis=1), HOLES[:, :3])
    assert_equal(pg.trim_zeros(a, axis=()), HOLES)
    assert_equal(pg.trim_zeros([0, 1, 0]), [1])
    collectively(pg.trim_zeros(a * 0).shape == (0, 0))
