"""Diagonals, triangles, and places by one number or several, against NumPy."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import pgaspy as pg
from tests.together import assert_equal, collectively, raises_everywhere

pytestmark = [pytest.mark.mpi, pytest.mark.many]


def _assert_all_equal(found: Any, expected: Any) -> None:
    collectively(len(found) == len(expected))
    for one, other in zip(found, expected, strict=True):
        assert_equal(one, other)


@pytest.mark.parametrize(("n", "k", "m"), [(4, 0, None), (5, 1, 3), (3, -2, 6), (0, 0, None), (2, 9, 2)])
def test_triangles(n: int, k: int, m: int | None) -> None:
    x = np.zeros((n, n if m is None else m))
    for name in ("tril_indices", "triu_indices"):
        _assert_all_equal(getattr(pg, name)(n, k, m), getattr(np, name)(n, k, m))
        _assert_all_equal(getattr(np, name + "_from")(pg.array(x), k), getattr(np, name + "_from")(x, k))


def test_diagonals() -> None:
    _assert_all_equal(pg.diag_indices(5, 3), np.diag_indices(5, 3))
    _assert_all_equal(pg.diag_indices_from(pg.zeros((4, 4))), np.diag_indices(4))
    raises_everywhere(ValueError, "equal length", lambda: pg.diag_indices_from(pg.zeros((4, 5))))
    raises_everywhere(ValueError, "at least 2-d", lambda: pg.diag_indices_from(pg.zeros(4)))
    raises_everywhere(ValueError, "input array must be 2-d", lambda: pg.tril_indices_from(pg.zeros(4)))


@pytest.mark.parametrize("shape", [(4, 4), (7, 3), (3, 7), (9, 2), (0, 3), (3, 0), (3, 3, 3)])
@pytest.mark.parametrize("wrap", [False, True])
@pytest.mark.parametrize("layout", ["block", "cyclic(2)"])
def test_what_is_assigned_to_diagonals(shape: tuple[int, ...], wrap: bool, layout: str) -> None:
    for value in (7, 2.5, [1, 2], range(1, 12), pg.arange(3) + 1):
        x = np.zeros(shape, int)
        a = pg.array(x, layout=pg.Distribution(*[layout] * len(shape)))
        np.fill_diagonal(x, value.gather() if isinstance(value, pg.GlobalArray) else value, wrap)
        pg.fill_diagonal(a, value, wrap)
        assert_equal(a, x)
    a = pg.zeros((6, 6))
    np.fill_diagonal(a[::2, ::-2], 1)
    x = np.zeros((6, 6))
    np.fill_diagonal(x[::2, ::-2], 1)
    assert_equal(a, x)


def test_diagonals_that_cannot_be_filled() -> None:
    raises_everywhere(ValueError, "at least 2-d", lambda: pg.fill_diagonal(pg.zeros(3), 1))
    raises_everywhere(ValueError, "equal length", lambda: pg.fill_diagonal(pg.zeros((3, 3, 2)), 1))
    raises_everywhere(TypeError, "takes a global array", lambda: pg.fill_diagonal(np.zeros((3, 3)), 1))
    raises_everywhere(ValueError, "read-only", lambda: pg.fill_diagonal(pg.broadcast_to(pg.ones(3), (3, 3)), 1))


@pytest.mark.parametrize("order", ["C", "F"])
def test_places_by_several_numbers(order: Any) -> None:
    shape, i = (4, 3, 5), np.array([[0, 59, 17], [4, 5, 31]])
    _assert_all_equal(pg.unravel_index(pg.array(i), shape, order), np.unravel_index(i, shape, order))
    _assert_all_equal(np.unravel_index(pg.array(i), shape, order), np.unravel_index(i, shape, order))
    _assert_all_equal(pg.unravel_index(i.tolist(), shape, order), np.unravel_index(i, shape, order))
    _assert_all_equal(pg.unravel_index(pg.arange(0), 7, order), np.unravel_index(np.arange(0), 7, order))
    a = pg.array(i)
    collectively(pg.unravel_index(a.argmax(), a.shape, order) == np.unravel_index(i.argmax(), i.shape, order))
    for wrong in (60, -1):
        raises_everywhere(ValueError, f"index {wrong} is out of bounds for array with size 60",
                          lambda wrong=wrong: pg.unravel_index(pg.array([3, wrong, 4]), shape, order))
        raises_everywhere(ValueError, "is out of bounds", lambda wrong=wrong: pg.unravel_index(wrong, shape, order))
    raises_everywhere(TypeError, "only int indices", lambda: pg.unravel_index(pg.ones(2), shape, order))


@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize("mode", ["wrap", "clip", ("clip", "wrap", "wrap")])
def test_places_by_one_number(order: Any, mode: Any) -> None:
    shape, key = (4, 3, 5), (np.array([[5], [-2]]), np.array([0, 7, 2]), 4)
    assert_equal(pg.ravel_multi_index((pg.array(key[0]), key[1], 4), shape, mode, order),
                 np.ravel_multi_index(key, shape, mode, order))
    inside = pg.array(key[1]) % 3
    assert_equal(pg.ravel_multi_index((inside, inside, inside), shape, order=order),
                 np.ravel_multi_index((key[1] % 3,) * 3, shape, order=order))
    assert_equal(np.ravel_multi_index((inside, inside, inside), shape, order=order),
                 np.ravel_multi_index((key[1] % 3,) * 3, shape, order=order))
    collectively(pg.ravel_multi_index((1, pg.arange(3).max(), 4), shape, order=order)
                 == np.ravel_multi_index((1, 2, 4), shape, order=order))


def test_places_that_are_not_there() -> None:
    a = pg.array([0, 1, 4])
    raises_everywhere(ValueError, "invalid entry", lambda: pg.ravel_multi_index((a, a), (5, 4)))
    raises_everywhere(ValueError, "parameter multi_index must be", lambda: pg.ravel_multi_index((a, a), (5, 5, 5)))
    raises_everywhere(TypeError, "int", lambda: pg.ravel_multi_index((a, a * 0.5), (5, 5)))
    raises_everywhere(ValueError, "for clip mode", lambda: pg.ravel_multi_index((a, a), (5, 5), "reflect"))
