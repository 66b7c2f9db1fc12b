"""Coordinates of grids, and matrices that are made of vectors, against NumPy."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import pgaspy as pg
from tests.layouts import NAMES, layout_of
from tests.together import assert_equal, collectively, raises_everywhere

pytestmark = pytest.mark.mpi

X, Y, Z = np.linspace(0, 1, 5), np.arange(4), np.array([2.5, -1], "f")
Call = Callable[[Any, Any, Any, Any], Any]


def same(found: Any, expected: Any) -> None:
    if isinstance(expected, list | tuple):
        collectively(isinstance(found, tuple) and len(found) == len(expected), f"{found}")
        for one, other in zip(found, expected, strict=True):
            assert_equal(one, other)
    else:
        assert_equal(found, expected)


@pytest.mark.parametrize("indexing", ["xy", "ij"])
@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize("copy", [False, True])
def test_meshgrid(indexing: str, sparse: bool, copy: bool) -> None:
    options = {"indexing": indexing, "sparse": sparse, "copy": copy}
    for vectors in ((X, Y), (X, Y, Z), (X,), (X, 3), (X[:0], Y), (Y.reshape(2, 2), X)):
        expected = np.meshgrid(*vectors, **options)
        same(pg.meshgrid(*map(pg.array, vectors), **options), expected)
        same(pg.meshgrid(*vectors, **options), expected)
        same(np.meshgrid(pg.array(vectors[0]), *vectors[1:], **options), expected)


def test_coordinates_are_new_arrays_that_lie_alike() -> None:
    x = pg.array(X, layout=pg.Distribution("cyclic(1)"))
    first, second = pg.meshgrid(x, Y)
    first[0] = 9
    pg.meshgrid(x, Y, sparse=True)[0][...] = 8
    assert_equal(x, X)
    default = pg.zeros((4, 5)).layout
    collectively(all(a.layout == default for a in (first, second, *pg.mgrid[0:4, 0:5], *pg.indices((4, 5)))))
    raises_everywhere(ValueError, "Valid values for `indexing`", lambda: pg.meshgrid(x, x, indexing="yx"))
    collectively(pg.meshgrid() == ())


@pytest.mark.parametrize("shape", [(), (4,), (2, 3), (3, 0, 2), (7, 1, 5)], ids=str)
@pytest.mark.parametrize("dtype", [int, "f", "i2"])
def test_indices(shape: tuple[int, ...], dtype: Any) -> None:
    same(pg.indices(shape, dtype), np.indices(shape, dtype))
    same(pg.indices(shape, dtype, sparse=True), np.indices(shape, dtype, sparse=True))


@pytest.mark.parametrize("name", ["mgrid", "ogrid"])
@pytest.mark.parametrize("key", [
    "0:5", "2:9:3", ":4", "0:1:5j", "-1:1:0.25", "3:1", "1:2:1j", "0:5, 0:3", "0:1:0.3, 2:4", "-1:1:5j, 0:3, 1:2:2j",
    "5:0:-2, :2", "np.float32(0.5):3, 0:2", "0:1:3j, 4:4:1j", "0:5,", "1:3, 3:3"])
def test_slices_of_numbers(name: str, key: str) -> None:
    same(*(eval(f"{name}[{key}]", {"np": np, name: getattr(module, name)}) for module in (pg, np)))


def test_slices_to_what_was_computed() -> None:
    n = pg.array(Y).max()
    same(pg.mgrid[0:n, 1:n], np.mgrid[0:3, 1:3])
    same(pg.ogrid[:n], np.ogrid[:3])
    raises_everywhere(ValueError, "negative dimensions", lambda: pg.mgrid[3:0, 0:2])


@pytest.mark.parametrize("layout", ["default", "cyclic"])
def test_all_combinations_of_indices(layout: str) -> None:
    m = np.arange(20).reshape(4, 5)
    a = pg.array(m, layout=pg.Distribution("cyclic(1)", "*") if layout == "cyclic" else None)
    for rows, columns in (([0, 2], [1, 3, 4]), ([True, False, True, True], [2]), ([], [0]), (Y[::-1], X > 0.3)):
        assert_equal(a[pg.ix_(rows, columns)], m[np.ix_(rows, columns)])
        assert_equal(a[np.ix_(pg.array(rows), columns)], m[np.ix_(rows, columns)])
        assert_equal(a[pg.ix_(pg.array(rows), pg.array(columns))], m[np.ix_(rows, columns)])
    raises_everywhere(ValueError, "Cross index must be 1 dimensional", lambda: pg.ix_([[1]], [2]))


@pytest.mark.parametrize("k", [0, 1, -2, 7, -7])
def test_triangles_and_diagonals(k: int) -> None:
    for n, m in ((4, None), (3, 5), (0, 2), (6, 1)):
        assert_equal(pg.tri(n, m, k), np.tri(n, m, k))
        assert_equal(pg.tri(n, m, k, dtype="i2", layout=pg.Distribution("*", "cyclic(1)")), np.tri(n, m, k, dtype="i2"))
    for v in (X, Y[:0], Z, [1j, np.nan]):
        assert_equal(pg.diag(pg.array(v), k), np.diag(v, k))
        assert_equal(np.diag(pg.array(v), k), np.diag(v, k))
    for m in (np.arange(12).reshape(3, 4), np.arange(12).reshape(6, 2)):
        assert_equal(pg.diag(pg.array(m), k), np.diag(m, k))
        assert_equal(pg.diagflat(pg.array(m), k), np.diagflat(m, k))
    assert_equal(pg.diagflat(3, k), np.diagflat(3, k))


@pytest.mark.parametrize("layout", NAMES)
def test_layouts(layout: str) -> None:
    m = np.arange(30.0).reshape(6, 5)
    a = pg.array(m, layout=layout_of(layout, m.shape))
    assert_equal(pg.diag(a[:, 1], -1), np.diag(m[:, 1], -1))
    assert_equal(pg.vander(a[1], 3), np.vander(m[1], 3))
    same(pg.meshgrid(a[0], a[::-1, 2]), np.meshgrid(m[0], m[::-1, 2]))


@pytest.mark.parametrize("n", [None, 0, 1, 2, 6])
@pytest.mark.parametrize("increasing", [False, True])
def test_powers(n: int | None, increasing: bool) -> None:
    for x in (X, Y, Z, Y > 1, Y * 1j, Y[:0]):
        assert_equal(np.vander(pg.array(x), n, increasing), np.vander(x, n, increasing))
    assert_equal(pg.vander([1, 2, 3], n), np.vander([1, 2, 3], n))


def test_wrong_arguments() -> None:
    a = pg.ones((2, 2, 2))
    raises_everywhere(ValueError, "1- or 2-d", lambda: pg.diag(a))
    raises_everywhere(ValueError, "one-dimensional", lambda: pg.vander(a))
    raises_everywhere(ValueError, "negative dimensions", lambda: pg.vander(a[0, 0], -1))
    raises_everywhere(ValueError, "negative dimensions", lambda: pg.indices((2, -1)))
