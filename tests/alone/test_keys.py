"""Keys of small arrays: index arrays, masks, and what stands beside them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import pgaspy as pg
from pgaspy.alone import small
from tests.alone.elements import is_small


def test_what_is_selected_by_turned_arrays_lies_in_rows() -> None:
    x, i = pg.array([10, 20, 30]), pg.array([[0, 1], [2, 0], [1, 1]])
    y = pg.arange(24).reshape(2, 3, 4)
    pg.sync()
    for found, expected in ((x[i.T], [[10, 30, 20], [20, 10, 20]]),
                            (y.transpose(0, 2, 1)[pg.array([1, 0])], y.gather().transpose(0, 2, 1)[[1, 0]])):
        np.testing.assert_array_equal((found + 0).gather(), expected)
        np.testing.assert_array_equal(found.gather(), expected)


def test_of_values_for_one_element_the_last_counts() -> None:
    x, y = pg.zeros(2), pg.zeros((3, 1))
    i, j = pg.array([[0, 1], [1, 0], [0, 1]]).T, pg.array([0, 0, 1, 1])[::-1]
    pg.sync()
    x[i] = np.array([1.0, 2, 3])
    y[j, [-1]] = np.array([4.0, 3, 2, 1])[::-1]
    y[pg.array([2, 2]), 0] = pg.array([7.0, 8.0])
    assert x.gather().tolist() == [2, 3]
    assert y.gather()[:, 0].tolist() == [4, 2, 8]


def test_indices_that_are_columns_name_elements_in_their_order() -> None:
    places = np.stack([np.arange(600) * 7 % 20, np.arange(600) * 3 % 20], axis=1)
    values = np.arange(1200.0).reshape(600, 2)
    model, A, P, V = np.zeros((20, 20)), pg.zeros((20, 20)), pg.array(places), pg.array(values)
    before = pg.stats()
    for x, p, v in ((model, places, values), (A, P, V)):
        x[p[:, 0], p[:, 1]] = v[:, 1]
        x[p[:5, 1]] = x[p[:5, 0]]
        x[p[::-2, 0]] = x[p[::2, 0], ::-1]
    done = pg.stats() - before
    assert done.n_recorded == done.n_at_once > 0
    np.testing.assert_array_equal(A.gather(), model)


def test_indices_that_are_no_integers_of_the_machine_are_out_of_bounds() -> None:
    for key in [2**63], [0, 2**70]:
        with pytest.raises(IndexError):
            pg.zeros(3)[key]
        with pytest.raises(IndexError):
            pg.zeros(3)[key] = 1.0


@pytest.mark.parametrize("values", [np.s_[:-11:-1], np.s_[:10], np.s_[5:15]])
def test_what_a_mask_names_is_assigned_from_the_array_as_it_was(values: slice) -> None:
    a = np.arange(20.0)
    A, expected = pg.array(a), a.copy()
    expected[a % 2 == 0] = a[values]
    A[pg.array(a % 2 == 0)] = A[values]
    assert np.array_equal(A.gather(), expected)


@pytest.mark.parametrize("how", ["assigned", "added", "added in place"])
def test_of_several_values_for_an_element_each_counts_in_order(how: str) -> None:
    draw = np.random.default_rng(3)
    a, rows, columns = draw.random((5, 6)), draw.integers(0, 5, (4, 30)), draw.integers(-6, 6, (4, 30))
    values, A = draw.random((4, 30)), pg.array(a)
    places = zip(rows.flat, columns.flat, values.flat, strict=True)
    if how == "assigned":
        A[rows, pg.array(columns)] = pg.array(values)
        for i, j, x in places:
            a[i, j] = x
    elif how == "added":
        np.add.at(A, (pg.array(rows), columns), values)
        for i, j, x in places:
            a[i, j] += x
    else:
        A[rows, columns] += 2.0
        a[rows, columns] += 2.0
    assert np.array_equal(A.gather(), a)
    assert is_small(A[:2])
    A[:, a[0] > 0.5] = 7
    a[:, a[0] > 0.5] = 7
    assert np.array_equal(A.gather(), a)


def test_each_row_of_indices_takes_the_values_of_a_vector() -> None:
    A = pg.zeros(5)
    for rows in np.array([[0, 0, -1], [-1, -1, 0]]), pg.array([[0, 0, -1], [-1, -1, 0]]):
        np.add.at(A, rows, np.array([4.0, 1, 6]))  # NumPy (2.4) itself reads beyond the vector
    assert A.gather().tolist() == [22, 0, 0, 0, 22]


@pytest.mark.parametrize("columns", [[0, 1], [], [False] * 4])
def test_values_have_more_dimensions_than_what_is_named(columns: list[Any]) -> None:
    """Of which NumPy (2.4) itself reads beyond the end, where there are slices in the key."""
    A, expected = pg.zeros((3, 4)), np.zeros((3, 4))
    expected[:, columns] += 2
    np.add.at(A, (slice(None), np.array(columns, bool if len(columns) == 4 else int)), np.full((1, 1, 1, 1), 2.0))
    assert np.array_equal(A.gather(), expected)


@pytest.mark.parametrize("n_dims", [1, 2, 3])
def test_masks_of_the_first_dimensions(n_dims: int) -> None:
    x = np.arange(60.0).reshape(5, 4, 3)
    mask = (np.arange(60).reshape(5, 4, 3) % 7 < 3)[(..., *(0,) * (3 - n_dims))]
    a = pg.array(x)
    found = a[mask]
    a[mask] = found * 2
    a[pg.array(mask)] += 1
    a[mask] = 3.0
    a[mask] = np.arange(1.0, x[mask][:1].size + 1).reshape(x[mask][:1].shape)[0]
    x[mask] = np.arange(1.0, x[mask][:1].size + 1).reshape(x[mask][:1].shape)[0]
    assert np.array_equal(a.gather(), x)
    with pytest.raises(IndexError, match="did not match"):
        a[np.ones(4, bool)]


def masked(x: Any, m: Any) -> list[Any]:
    """What some statements give."""
    x *= 2
    taken = x[m]
    x[m] *= -3
    seen = [taken, x.copy()]
    x[m] = taken
    seen.append(x.copy())
    x[~m] = 5
    return [*seen, x]


@pytest.mark.parametrize("shape", [(210, 200), (400_000,), (150, 20, 30)])
@pytest.mark.parametrize("n_dims", [1, 2, 3])
@pytest.mark.parametrize("dtype", "bdD")
def test_masks_of_more_elements_than_small_arrays_have(shape: tuple[int, ...], n_dims: int, dtype: str,
                                                       monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(1)
    x = rng.integers(-9, 9, shape).astype(dtype)
    for share in (0.0, 0.4, 1.0):
        m = rng.random(shape[:n_dims]) < share
        found = masked(pg.array(x), pg.array(m))
        monkeypatch.setattr(small, "is_on", False)
        others = masked(pg.array(x), pg.array(m))
        monkeypatch.undo()
        for one, other, expected in zip(found, others, masked(x.copy(), m), strict=True):
            np.testing.assert_array_equal(one.gather(), expected, strict=True)
            np.testing.assert_array_equal(other.gather(), expected, strict=True)


@pytest.mark.parametrize("shape", [(1 << 20,), (1 << 20) + 1, (1 << 10, 1 << 10)])
def test_larger_masks_are_counted_at_once(shape: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    m = np.arange(np.prod(shape)).reshape(shape) % 7 == 3
    mask = pg.array(m)
    pg.sync()
    before = pg.stats()
    found = pg.flatnonzero(mask), *pg.nonzero(mask)
    done = pg.stats() - before
    assert done.n_recorded > done.n_at_once or m.shape == (1 << 20,)
    monkeypatch.setattr(small, "is_on", False)
    others, numpys = (pg.flatnonzero(mask), *pg.nonzero(mask)), (np.flatnonzero(m), *np.nonzero(m))
    for ours, other, expected in zip(found, others, numpys, strict=True):
        assert ours.layout == other.layout
        np.testing.assert_array_equal(ours.gather(), expected, strict=True)


@pytest.mark.parametrize("key", [(slice(None), [2, 3, 2]), ([2, 3, 2], 1), (1, [3, 0, 3]), ([1, 0, 1], slice(1, 3)),
                                 (slice(None, None, -2), [1, 1])])
def test_values_are_assigned_at_once_by_one_vector_and_slices(key: Any) -> None:
    model = np.arange(16.0).reshape(4, 4)
    A, key_of_A = pg.array(model), tuple(pg.array(k) if isinstance(k, list) else k for k in key)
    values = model[key] * 2
    V, row = pg.array(values), pg.array(values[:1])
    before = pg.stats()
    for x, k, v, first in ((model, key, values, values[:1]), (A, key_of_A, V, row), (A, key, V, row)):
        x[k] = first
        x[k] = v
        x[k] += 1
        x[k] = x[k][::-1]
    done = pg.stats() - before
    assert done.n_recorded == done.n_at_once > 0
    np.testing.assert_array_equal(A.gather()[:, ::-1], model[:, ::-1])


@pytest.mark.parametrize("key", [
    (..., [2, 0, 3]), (None, [2, 0]), ([2, 0, 1], None), ([True, False, True, True], slice(1, 3)), (..., 1),
    (slice(1, 3), [True, False, True, False]), ([True, False, True, True], [3, 2, 0]), (0, ..., None), ([1, 3], ...),
    (slice(None), None, [False, True, True, False]), ([[False, True, True, False]] * 4, None),
    (..., [0, 0, 1], [3, 3, 2]), ([[0], [2]], ..., [1, 3]), ([[False, True, True, False]] * 4, ...),
    (1, [True, False, False, True]),
])
def test_keys_of_any_kind_are_read_and_assigned_at_once(key: Any) -> None:
    model = np.arange(16.0).reshape(4, 4)
    A, key_of_A = pg.array(model), tuple(pg.array(k) if isinstance(k, list) else k for k in key)
    before = pg.stats()
    found = A[key_of_A] * 1.0
    A[key_of_A] = 0.5
    done = pg.stats() - before
    assert done.n_recorded == done.n_at_once
    assert is_small(found)
    np.testing.assert_array_equal(found.gather(), model[key], strict=True)
    model[key] = 0.5
    np.testing.assert_array_equal(A.gather(), model)
    values = model[key] + np.arange(1.0, model[key].size + 1).reshape(model[key].shape)
    model[key] = values
    A[key_of_A] = pg.array(values)
    np.testing.assert_array_equal(A.gather(), model)
    with pytest.raises((TypeError, ValueError)):
        A[key_of_A] = np.ones((*values.shape, 7))
    np.add.at(model, key, 2.0)
    np.add.at(A, key_of_A, 2.0)
    np.testing.assert_array_equal(A.gather(), model)


@pytest.mark.parametrize("key", [(..., [4]), (None, [0], [0], [0]), ([True] * 3, 0), (..., ..., [0]), (..., [0.5]),
                                 ([[True] * 4] * 4, [0])])
def test_keys_of_any_kind_that_are_wrong_are_refused(key: Any) -> None:
    A = pg.ones((4, 4))
    with pytest.raises(IndexError):
        A[key]
    with pytest.raises(IndexError):
        A[key] = 2
    with pytest.raises(IndexError):
        A[tuple(pg.array(k) if isinstance(k, list) else k for k in key)].gather()
    assert (A == 1).all()


def test_what_a_mask_beside_slices_names_is_assigned_from_the_array_as_it_was() -> None:
    model = np.arange(15).reshape(5, 3)
    a, mask = pg.array(model), model[:, 0] % 2 == 0
    for x, m in ((model, mask), (a, pg.array(mask))):
        x[m, :2] = x[1:4, 1:]
        x[m, ::-1] = x[m]
        x[m, 1:] = x[m, 2][:, None]
    assert a.tolist() == model.tolist()


@pytest.mark.parametrize("number", [pg.argmax, np.int64, np.int8])
def test_rows_are_exchanged_at_once_by_lists_of_numbers(number: Any) -> None:
    model = np.arange(12.0).reshape(4, 3)
    A, order, k = pg.array(model), pg.arange(4), 1
    p = number(pg.array([0, 0, 3])) if number is pg.argmax else number(2)
    pg.sync()
    before = pg.stats()
    A[[k, p]] = A[[p, k]]
    order[[k, p]] = order[[p, k]]
    A[[k, -p], [0, p]] *= 2
    done = pg.stats() - before
    assert done.n_recorded == done.n_at_once > 0
    model[[1, 2]] = model[[2, 1]]
    model[[1, -2], [0, 2]] *= 2
    np.testing.assert_array_equal(A.gather(), model)
    assert order.tolist() == [0, 2, 1, 3]


@pytest.mark.parametrize("key", [[0, np.uint64(1)], [0, np.float64(1)], [0, 7], [0, np.int8(-5)]])
def test_lists_of_numbers_that_are_no_indices_are_refused(key: list[Any]) -> None:
    A = pg.ones((4, 4))
    for entries in key, [pg.array(x)[()] if isinstance(x, np.generic) else x for x in key]:
        with pytest.raises(IndexError):
            A[entries].gather()
        with pytest.raises(IndexError):
            A[entries] = 2
    assert (A == 1).all()
