"""Sections of small arrays, and what is assigned to them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import pgaspy as pg
from pgaspy.execution import recording
from pgaspy.scheduling.at_once import MAX_ELEMENTS
from tests.alone.elements import is_small


def test_sections_are_views_of_their_array_before_and_after_it_has_a_base() -> None:
    x = pg.arange(12.0) + 1  # which has its elements only
    row, inner = x[2:], x[2:][1:-1]
    row[0] = 50
    inner *= 2
    assert is_small(x)
    x.layout  # noqa: B018  (which gives it a base)
    assert not is_small(x)
    inner[0] += 1
    row.reshape(2, 5)
    row[-1] = 7
    model = np.arange(12.0) + 1
    model[2] = 50
    model[3:11] *= 2
    model[3] += 1
    model[11] = 7
    for found, expected in (x, model), (row, model[2:]), (inner, model[3:-1]):
        np.testing.assert_array_equal(found.gather(), expected)
        assert found._base is x._base


@pytest.mark.parametrize("key", [
    (slice(None, np.int64(2)),), (slice(np.int64(1), None), slice(None, np.int64(3))), (slice(None), np.int64(1)),
    (1, slice(np.int64(1), np.int64(4), np.int64(2))), np.int64(2), slice(np.int8(1), np.uint8(3))])
def test_sections_by_numpys_integers_are_views(key: Any) -> None:
    model = np.arange(15.0).reshape(3, 5)
    x = pg.array(model)
    section, expected = x[key], model[key]
    section += 1
    expected += 1
    x[key] = pg.array(expected * 2)
    model[key] = expected * 2
    np.testing.assert_array_equal(x.gather(), model)
    np.testing.assert_array_equal(section.gather(), expected)


@pytest.mark.parametrize("key", [
    lambda i: i[2], lambda i: (i[1], i[3]), lambda i: (slice(None), i[0]), lambda i: (i[1], slice(i[0], i[3])),
    lambda i: (..., i[0], None), lambda i: (i[1], [0, 3]), lambda i: (i[:2], i[3]), lambda i: (i.argmax(), i.min()),
    lambda i: (slice(i[3], i[1], -i[0]), np.int64(1)), lambda i: (i[0] > 5, i[1]), lambda i: (i[1], i[2] + 7),
    lambda i: i[1] * 0.5, lambda i: (slice(None, i[1] * 0.5),)])
def test_elements_are_indices_at_once(key: Any) -> None:
    model, indices = np.arange(20.0).reshape(4, 5), np.array([1, 2, 0, 3], dtype=np.int32)
    x, given = pg.array(model), pg.array(indices)
    pg.sync()
    try:
        expected = model[key(indices)]
    except (IndexError, TypeError):
        with pytest.raises((IndexError, TypeError)):
            x[key(given)] + 1
        return
    found = x[key(given)]
    np.testing.assert_array_equal(found.gather(), expected)
    x[key(given)] = given[3]
    model[key(indices)] = indices[3]
    np.testing.assert_array_equal(x.gather(), model)


def test_what_is_assigned_by_elements_is_a_number_afterwards() -> None:
    x, indices = pg.arange(5), pg.array([3, 1])
    element = x[indices[0]]
    assert is_small(element)
    x[indices[0]] = 7
    assert (int(element), int(x[3])) == (3, 7)


def test_elements_that_are_recorded_are_waited_for() -> None:
    x, large = pg.arange(5.0), pg.zeros(MAX_ELEMENTS + 1, dtype=int)
    large += 2
    index = large[-1]
    large += 1
    assert len(recording.queue.recorded) > 0
    x[index] = 9
    assert (float(x[2]), float(x[large[0]])) == (9, 3)


def test_bounds_of_slices_are_read_once() -> None:
    x = pg.arange(10.0)
    for bound in np.array(8), pg.array(8):
        section = x[bound:]
        bound[...] = 0
        section **= 1
        section += 1
        assert section.shape == (2,)
    np.testing.assert_array_equal(x.gather(), [*range(8), 10, 11])


@pytest.mark.parametrize("seed", range(20))
def test_sections_of_one_dimension_that_overlap_are_assigned_as_they_were(seed: int) -> None:
    draw = np.random.default_rng(seed)
    for _ in range(30):
        a = draw.integers(0, 99, 40)
        own, other = (slice(None, None, int(draw.choice([-3, -2, -1, 1, 2, 3]))) for _ in range(2))
        first, n = draw.integers(0, 9, 2), draw.integers(2, 10)
        own, other = (np.arange(40)[key][k:k + n] for key, k in zip((own, other), first, strict=True))
        m = min(len(own), len(other))
        expected = a.copy()
        expected[own[:m]] = a[other[:m]]
        A = pg.array(a)
        A[_slice(own[:m])] = A[_slice(other[:m])]
        assert np.array_equal(A.gather(), expected)


def _slice(indices: NDArray[Any]) -> slice:
    """The slice of indices at equal distances."""
    step = int(indices[1] - indices[0])
    stop = int(indices[-1]) + step
    return slice(int(indices[0]), None if stop < 0 else stop, step)


def test_dots_without_dimensions_are_those_of_views() -> None:
    x, model = pg.arange(3.0), np.arange(3.0)
    x[..., 1] = 7
    x[0, ...] = pg.array(5.0)
    x[2, ...][...] = 3
    model[..., 1], model[0, ...], model[2, ...] = 7, 5, 3
    assert x[..., 1].shape == ()
    assert x.tolist() == model.tolist()


@pytest.mark.parametrize("value", [7, [1, 2], np.arange(3.0), np.arange(6).reshape(2, 3), True])
@pytest.mark.parametrize("key", [slice(None, None, 5), slice(4, None), slice(None, None, -3), slice(3, 3)])
def test_sections_of_flat_elements_are_assigned_at_once(key: slice, value: Any) -> None:
    model = np.arange(16).reshape(4, 4)
    a = pg.array(model)
    whole, part = a.copy(), a[:, 1:3]
    pg.sync()
    before = pg.stats()
    whole.flat[key] = value
    part.flat[key] = value
    done = pg.stats() - before
    assert done.n_recorded == done.n_at_once
    of_part = model.copy()
    model.flat[key] = of_part[:, 1:3].flat[key] = value
    for x in (of_part, a):
        x.flat[key] += 1
        x.T.flat[key] *= 2
    assert whole.tolist() == model.tolist()
    assert a.tolist() == of_part.tolist()


@pytest.mark.parametrize("dtype", "bBlfdD")
@pytest.mark.parametrize("key", [slice(0, 3), [2, 0, 2], ..., np.array([True, False, True, True])])
def test_lists_are_assigned_at_once(key: Any, dtype: str) -> None:
    model = np.zeros((3 if key is ... else 4), dtype)
    a = pg.array(model)
    before = pg.stats()
    a[key] = model[key] = [3, 1, 100]
    pg.put(a, [2, -1], [7, 5])
    done = pg.stats() - before
    np.put(model, [2, -1], [7, 5])
    assert done.n_recorded == done.n_at_once
    assert a.tolist() == model.tolist()
    if dtype in "bB":
        for write in lambda x: x.__setitem__(key, [3, 1, 300]), lambda x: np.put(x, [0], [-200]):
            with pytest.raises(OverflowError):
                write(a)
        assert a.tolist() == model.tolist()
