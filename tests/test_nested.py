"""Arrays in sequences: what makes one array of them."""

from __future__ import annotations

import numpy as np
import pytest

import pgaspy as pg
from tests.together import assert_equal, collectively, raises_everywhere

pytestmark = [pytest.mark.mpi, pytest.mark.every]

X = np.arange(30.0).reshape(5, 6)


@pytest.mark.parametrize("layout", [None, pg.Distribution("cyclic(2)", "block"), pg.Distribution("*", "cyclic")])
def test_arrays_of_arrays(layout: pg.Distribution | None) -> None:
    a = pg.array(X, layout=layout)
    assert_equal(pg.array([a, 2 * a]), np.array([X, 2 * X]))
    assert_equal(pg.array([[a[0], a[1]], [a[2], a[3, ::-1]]]), np.array([[X[0], X[1]], [X[2], X[3, ::-1]]]))
    assert_equal(pg.asarray((a[:, 0], range(5), X[:, 1], (1, 2, 3, 4, 5j))),
                 np.asarray((X[:, 0], range(5), X[:, 1], (1, 2, 3, 4, 5j))))
    assert_equal(pg.array([a[1, 1:4], [a[0, 0], 2, a.sum()]]), np.array([X[1, 1:4], [X[0, 0], 2, X.sum()]]))
    assert_equal(pg.array([a > 3, a], dtype=np.float32), np.array([X > 3, X], dtype=np.float32))
    assert_equal(pg.array([a[:0]] * 2), np.array([X[:0]] * 2))
    assert_equal(pg.array([a[..., 1, 2], 5]), np.array([X[..., 1, 2], 5]))
    assert_equal(pg.array(list(a)), X)
    assert_equal(pg.array([a, a], layout=pg.Distribution("block", "*", "*")), np.array([X, X]))
    assert_equal(pg.array([a, a], onenode=pg.SIZE - 1), np.array([X, X]))


def test_operands_with_arrays_in_them() -> None:
    a, x = pg.array(X), X.copy()
    assert_equal([a[0], a[1]] - a[:2, None], [X[0], X[1]] - X[:2, None])
    assert_equal(a[:2] * (a[0], a[1]), X[:2] * (X[0], X[1]))
    assert_equal(np.maximum([a[0], a[1]], a[2]), np.maximum([X[0], X[1]], X[2]))
    assert_equal(pg.full((2, 6), [a[0], a[1]]), np.full((2, 6), [X[0], X[1]]))
    assert_equal(pg.zeros_like([a[0], a[1]]), np.zeros_like([X[0], X[1]]))
    a[:2] = [a[1], a[0]]
    x[:2] = [X[1], X[0]]
    assert_equal(a, x)
    a[:2] += [a[2], [1, 2, 3, 4, 5, 6]]
    x[:2] += [x[2], [1, 2, 3, 4, 5, 6]]
    assert_equal(a, x)
    a[[0, 2]] = [a[3], a[4]]
    x[[0, 2]] = [x[3], x[4]]
    assert_equal(a, x)
    assert_equal(pg.concatenate([a, [a[0], a[1]]]), np.concatenate([x, [x[0], x[1]]]))


def test_arrays_lie_where_those_in_them_do() -> None:
    a = pg.array(X, layout=pg.Distribution("*", "cyclic"))
    before = pg.stats().n_sends
    found = pg.array([a, a + 1])
    found.local()
    collectively(found.layout.dims[1:] == a.layout.dims and pg.stats().n_sends == before)


def test_arrays_of_other_shapes() -> None:
    a = pg.array(X)
    for parts in ([a, a[1:]], [a[0], 1.0], [[a[0]], a[0]]):
        raises_everywhere(ValueError, "inhomogeneous", lambda parts=parts: pg.array(parts))


def test_methods_of_arrays() -> None:
    a, vector = pg.array(X), pg.array(X[:, 2])
    collectively(a.tolist() == X.tolist() and a.sum().tolist() == X.sum() and type(a[0, 1].tolist()) is float)
    assert_equal(a.dot(a.T), X.dot(X.T), exact=False)
    assert_equal(a.dot(2), X.dot(2))
    out = pg.empty((5, 5))
    collectively(pg.dot(a, a.T, out) is out)
    assert_equal(out, X @ X.T, exact=False)
    assert_equal(a.diagonal(1), X.diagonal(1))
    assert_equal(a.trace(), X.trace())
    assert_equal(a.repeat(2, axis=1), X.repeat(2, axis=1))
    assert_equal(vector.searchsorted([3, 14, 90]), X[:, 2].searchsorted([3, 14, 90]))
    other = a[::-1].copy()
    other.partition(2, axis=0)
    assert_equal(other[2], X[2])
    assert_equal(a[::-1, 0].argpartition(2)[2], np.int64(2))


def test_sums_between_indices_that_are_dealt_out() -> None:
    a, indices = pg.array(X), pg.array([0, 3, 4])
    assert_equal(np.add.reduceat(a, indices), np.add.reduceat(X, [0, 3, 4]))
    assert_equal(np.maximum.reduceat(a, indices[::-1], axis=1), np.maximum.reduceat(X, [4, 3, 0], axis=1))
    raises_everywhere(IndexError, "out-of-bounds", lambda: np.add.reduceat(a, indices + 1))
