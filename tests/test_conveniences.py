"""What programs write in passing: arguments, names and protocols of NumPy's arrays."""

from __future__ import annotations

import copy
from typing import Any

import numpy as np
import pytest

import pgaspy as pg
from tests.together import assert_equal, collectively, raises_everywhere

pytestmark = pytest.mark.mpi

X = np.arange(24.0).reshape(4, 6)


def test_orders_in_memory() -> None:
    a = pg.array(X, order="F")
    assert_equal(a, X)
    for order in ("C", "F"):
        assert_equal(a.ravel(order), X.ravel(order))
        assert_equal(a.flatten(order=order), X.flatten(order=order))
        assert_equal(a.reshape(2, -1, order=order), X.reshape(2, -1, order=order))
        assert_equal(np.reshape(a, (3, 8), order=order), np.reshape(X, (3, 8), order=order))
        assert_equal(np.ravel(a[::-1, 1:], order), np.ravel(X[::-1, 1:], order))
        for make in (pg.zeros, pg.ones):
            assert_equal(make((2, 3), int, order), getattr(np, make.__name__)((2, 3), int, order))
        assert_equal(pg.full((2, 3), 7, order=order), np.full((2, 3), 7))
        collectively(pg.asarray(a, None, order) is a and pg.empty(3, float, order).shape == (3,))
    raises_everywhere(ValueError, "order must be one of", lambda: pg.zeros(3, order="D"))
    raises_everywhere(ValueError, "order must be one of", lambda: pg.asarray(X, order="D"))
    raises_everywhere(ValueError, "order must be", lambda: a.ravel("D"))


def test_orders_and_subclasses_of_copies() -> None:
    a = pg.array(X)
    for order in ("C", "F", "A", "K"):
        assert_equal(a.copy(order), X)
        assert_equal(np.copy(a, order, subok=True), X)
        assert_equal(a.astype(int, order, "unsafe", False, False), X.astype(int))
        for make in (np.zeros_like, np.ones_like):
            assert_equal(make(a, int, order, False, (2, 3)), make(X, int, order, False, (2, 3)))
            assert_equal(make(a, order=order, subok=False), make(X))
        assert_equal(np.full_like(a, 7, int, order, False, 5), np.full(5, 7))
        collectively(np.empty_like(a, float, order, True, 5).shape == (5,))
    collectively(a.astype(float, copy=False) is a and a.astype(float) is not a)
    assert_equal(pg.full(3, [[1, 300, 2]], np.uint8), np.full(3, [[1, 300, 2]], np.uint8))


def test_arguments_of_array() -> None:
    a = pg.array(X)
    assert_equal(pg.array(a[0], ndmin=3), np.array(X[0], ndmin=3))
    assert_equal(pg.array(5, ndmin=1), np.array(5, ndmin=1))
    assert_equal(pg.array([a, a], ndmin=1, dtype=int), np.array([X, X], int))
    collectively(pg.array(a, copy=None) is a or pg.array(a, copy=None)._base is a._base)
    pg.array(a, copy=True)[0] = 9
    pg.array(a, ndmin=2)[0] = 9
    assert_equal(a, X)
    raises_everywhere(ValueError, "avoid copy", lambda: pg.array(X, copy=False))
    assert_equal(a.astype(int, casting="unsafe"), X.astype(int))
    raises_everywhere(TypeError, "Cannot cast", lambda: a.astype(int, casting="safe"))


def test_what_is_in_an_array() -> None:
    a = pg.array(X)
    collectively(5 in a and 5.5 not in a and a[1, 1] in a[1] and a[1] in a and 3 not in pg.zeros((0, 2)))


def test_copies_by_python() -> None:
    a = pg.array(X, layout=pg.Distribution("cyclic", "block"))
    for made in (copy.copy(a), copy.deepcopy(a), copy.deepcopy({"a": [a]})["a"][0]):
        collectively(made.layout == a.layout)
        assert_equal(made, X)
        made[0] = 0
        assert_equal(a, X)


def test_names_of_numpys() -> None:
    a = pg.array(X)
    assert_equal(a[pg.s_[1:3, ::2]], X[1:3, ::2])
    assert_equal(a[pg.index_exp[..., 1]], X[..., 1])
    collectively(isinstance(a, pg.ndarray) and pg.issubdtype(a.dtype, pg.floating) and pg.iterable(a))
    collectively([*pg.ndindex(2, 2)] == [*np.ndindex(2, 2)])
    assert_equal(pg.asanyarray(a[0], int), X[0].astype(int))
    assert_equal(pg.ascontiguousarray(a.sum()), np.ascontiguousarray(X.sum()))


@pytest.mark.parametrize("functions", [[-1.0, np.square], [np.exp, 2, lambda x: x[::-1]], [lambda x, y=1: x * y, 0]])
def test_pieces(functions: Any) -> None:
    a = pg.array(X, layout=pg.Distribution("cyclic", "block"))
    assert_equal(pg.piecewise(a, [a < 7, a > 15], functions), np.piecewise(X, [X < 7, X > 15], functions), exact=False)
    assert_equal(np.piecewise(a, [a < 99, a > 99], functions), np.piecewise(X, [X < 99, X > 99], functions),
                 exact=False)
    assert_equal(pg.piecewise(a[0], a[0] > 2, [5]), np.piecewise(X[0], X[0] > 2, [5]))
    assert_equal(pg.piecewise(a[0], a[0] > 2, [5, 4]), np.piecewise(X[0], X[0] > 2, [5, 4]))
    raises_everywhere(ValueError, "functions are expected", lambda: pg.piecewise(a, [a > 2], [1, 2, 3]))


def test_numpys_own_functions_of_places() -> None:
    key = np.array([0, 5, 23]), np.array([3, 2, 1])
    found, expected = np.unravel_index(pg.array(key[0]), (4, 6)), np.unravel_index(key[0], (4, 6))
    assert_equal(found[0], expected[0])
    assert_equal(found[1], expected[1])
    assert_equal(np.ravel_multi_index((pg.array(key[1]), pg.array(key[1])), (4, 6)),
                 np.ravel_multi_index((key[1], key[1]), (4, 6)))


@pytest.mark.parametrize("endpoint", [True, False])
@pytest.mark.parametrize(("n", "axis", "dtype"), [(5, 0, None), (4, -1, int), (1, 1, None), (0, 0, np.float32)])
def test_values_between_arrays(n: int, axis: int, endpoint: bool, dtype: Any) -> None:
    a = pg.array(X, layout=pg.Distribution("cyclic", "block"))
    for start, stop in ((a[0], a[2]), (a[:2], 5), (1, a[3]), (a[1], [1, 2, 3, 4, 5, 1j])):
        given = [x.gather() if isinstance(x, pg.GlobalArray) else x for x in (start, stop)]
        dtype = None if isinstance(stop, list) else dtype
        expected, numpys = np.linspace(*given, n, endpoint, True, dtype, axis)
        found, step = pg.linspace(start, stop, n, endpoint, retstep=True, dtype=dtype, axis=axis)
        assert_equal(found, expected, exact=False)
        if n > 1:
            assert_equal(step, numpys, exact=False)
        assert_equal(pg.linspace(start, stop, n, endpoint, False, dtype, axis), expected, exact=False)
    assert_equal(np.linspace(a[0], 2, n, endpoint), np.linspace(X[0], 2, n, endpoint), exact=False)
    for first, last in ("e", "B"), ("f", "?"), ("B", "B"), ("F", "f"), ("e", "f"):
        x, y = np.array([1, 0]).astype(first), np.array([1, 0]).astype(last)
        assert_equal(pg.linspace(pg.array(x), pg.array(y), 3), np.linspace(x, y, 3), exact=False)
    raises_everywhere(ValueError, "broadcast", lambda: pg.linspace(a[0], a[:, 0]))


@pytest.mark.parametrize("endpoint", [True, False])
@pytest.mark.parametrize("n", [0, 1, 2, 7])
def test_distances_of_values(n: int, endpoint: bool) -> None:
    found, step = pg.linspace(1, 2, n, endpoint, retstep=True)
    expected, numpys = np.linspace(1, 2, n, endpoint, retstep=True)
    assert_equal(found, expected)
    collectively(type(step) is type(numpys))
    np.testing.assert_array_equal(step, numpys)
