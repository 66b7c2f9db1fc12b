"""Flat indices: what the kernel makes of indices is what NumPy does."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import pgaspy as pg
from pgaspy import ufuncs
from pgaspy.scheduling.flat_indices import FLAT_INDEX, MAX_TOLD, first_beyond, index_beyond, named


def flat(indices: Any, extents: tuple[int, ...]) -> Any:
    """By kernels, and by NumPy."""
    numbers, expected = pg.zeros(indices.shape[1], np.int64), np.zeros(indices.shape[1], np.int64)
    for index, extent in zip(indices, extents, strict=True):
        ufuncs.apply(FLAT_INDEX, (numbers, pg.array(index), extent), (numbers,))
        FLAT_INDEX(expected, index, np.int64(extent), out=(expected,))
    found = numbers.gather()
    assert (found == expected).all()
    return found


@pytest.mark.parametrize("extents", [(5,), (3, 4), (7, 1, 2), (2**20, 2**20, 2**20), (3,) * 30])
def test_numbers_are_those_of_numpy(extents: tuple[int, ...]) -> None:
    rng = np.random.default_rng(1)
    indices = np.array([rng.integers(-n, n, 100) for n in extents])
    wrapped = tuple(np.where(i < 0, i + n, i) for i, n in zip(indices, extents, strict=True))
    assert (flat(indices, extents) == np.ravel_multi_index(wrapped, extents)).all()


@pytest.mark.parametrize("index", [5, -6, 100, 2**40, -2**40, 2**55 - 1, -2**55])
@pytest.mark.parametrize("d", range(4))
def test_an_index_beyond_is_told(index: int, d: int) -> None:
    indices = np.zeros((4, 3), np.int64)
    indices[d, 1] = index
    indices[d:, 2] = 7
    numbers = flat(indices, (5, 5, 5, 5))
    assert numbers[0] == 0
    assert first_beyond(numbers) == numbers[1]
    assert index_beyond(int(numbers[1])) == (index, 3 - d)
    assert index_beyond(int(numbers[2])) == (7, 3 - d)
    assert named(7) == "7"
    assert (numbers[1:] < -MAX_TOLD).all()


@pytest.mark.parametrize("index", [2**55, -2**55 - 1, 2**63 - 1, -2**63])
def test_what_is_far_beyond_is_told_as_far_beyond(index: int) -> None:
    numbers = flat(np.full((1, 3), index), (5,))
    assert index_beyond(int(numbers[0])) == (2**55 - 1 if index > 0 else -2**55, 0)
    assert "or more" in named(2**55 - 1)
    assert "or less" in named(-2**55)
    assert int(numbers[0]) < -MAX_TOLD
