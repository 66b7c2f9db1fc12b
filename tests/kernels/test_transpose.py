"""Transposing copies of more than the caches hold, which go past them line by line."""

from __future__ import annotations

import numpy as np
import pytest

import pgaspy as pg

BYTES = 1 << 25
"""From so many on they go past the caches."""


@pytest.mark.parametrize("dtype", ["u1", "f2", "f4", "f8", "c16", "c8", "M8[s]"])
def test_all_sizes(dtype: str) -> None:
    rows = 1003
    columns = BYTES // (rows * np.dtype(dtype).itemsize) + 7
    x = np.random.default_rng(0).integers(0, 200, (rows, columns), "u1").astype(dtype)
    found = pg.empty((columns, rows), dtype=dtype)
    found[...] = pg.array(x).T
    np.testing.assert_array_equal(found.gather(), x.T)


@pytest.mark.parametrize(("target", "source"), [
    (np.s_[1:, 3:-2], np.s_[:0:-1, 5:]), (np.s_[:-1, 1:-4], np.s_[1:, ::-1]), (np.s_[5:], np.s_[:-5]),
    (np.s_[::-1, 7:], np.s_[:, :-7])])
def test_sections(target: tuple[slice, ...], source: tuple[slice, ...]) -> None:
    x, y = np.random.default_rng(0).random((2200, 2111)), np.zeros((2111, 2200))
    a, b = pg.array(x), pg.array(y)
    b[target], y[target] = a.T[source][:, :y[target].shape[1]], x.T[source][:, :y[target].shape[1]]
    np.testing.assert_array_equal(b.gather(), y)


@pytest.mark.parametrize("axes", [(0, 2, 1), (2, 1, 0), (1, 2, 0), (2, 0, 1)])
def test_stacks(axes: tuple[int, ...]) -> None:
    x = np.random.default_rng(0).random((163, 170, 177))
    found = pg.zeros(tuple(x.shape[d] for d in axes))
    found[...] = pg.array(x).transpose(axes)
    np.testing.assert_array_equal(found.gather(), x.transpose(axes))
