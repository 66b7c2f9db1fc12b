"""Row exchanges, and the joining of copies, against NumPy."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import pgaspy as pg
from tests.layouts import NAMES, layout_of
from tests.together import assert_equal, collectively, raises_everywhere

pytestmark = pytest.mark.mpi

GRIDS = [(p, pg.SIZE // p) for p in range(1, pg.SIZE + 1) if pg.SIZE % p == 0]


def exchanged(a: NDArray[Any], pivots: NDArray[np.int64], start: int) -> NDArray[Any]:
    a = a.copy()
    for j, p in enumerate(pivots, start):
        a[[j, p]] = a[[p, j]]
    return a


@pytest.mark.parametrize("grid", GRIDS, ids=str)
@pytest.mark.parametrize("dtype", "dFl")
def test_exchange_rows(grid: tuple[int, int], dtype: str) -> None:
    rng = np.random.default_rng(4)
    for m, n, start, b in ((1, 1, 0, 1), (9, 5, 0, 9), (20, 7, 3, 6), (20, 7, 15, 5), (12, 0, 2, 3), (8, 3, 4, 0)):
        a = rng.integers(-9, 10, (m, n)).astype(dtype)
        if a.dtype.kind != "i":
            a[a == 0] = -0.0  # whose sign travels, too
        pivots = np.array([rng.integers(j, m) for j in range(start, start + b)], int)
        for formats in (("cyclic(2)", "cyclic(3)"), ("block", "block"), ("cyclic", "*")):
            axes = (0, None if formats[1] == "*" else 1)
            A = pg.array(a, layout=pg.Distribution(*formats, grid=grid, axes=axes))
            pg.exchange_rows(A, pg.array(pivots, layout=pg.Distribution("*")), start)
            assert_equal(A, exchanged(a, pivots, start))
            assert_equal(np.signbit(A.real), np.signbit(exchanged(a, pivots, start).real))


def test_exchange_rows_of_views() -> None:
    a = np.arange(140.0).reshape(14, 10)
    A = pg.array(a, layout=pg.Distribution("cyclic(2)", "cyclic(2)"))
    pivots = np.array([7, 3, 9])
    pg.exchange_rows(A[2:, 4:8], pg.array(pivots, layout=pg.Distribution("*")), 2)
    a[2:, 4:8] = exchanged(a[2:, 4:8], pivots, 2)
    assert_equal(A, a)


def test_exchange_rows_of_an_array_on_one_process() -> None:
    a = np.arange(20.0).reshape(5, 4)
    for onenode in range(pg.SIZE):
        A = pg.array(a, onenode=onenode)
        pg.exchange_rows(A, pg.array(np.array([3, 3]), layout=pg.Distribution("*")), 2)
        assert_equal(A, exchanged(a, np.array([3, 3]), 2))


def test_exchange_rows_refuses() -> None:
    A = pg.ones((7, 5))
    everywhere = pg.Distribution("*")
    raises_everywhere(ValueError, "do not go with", lambda: pg.exchange_rows(A, pg.zeros(5, int, layout=everywhere), 3))
    raises_everywhere(ValueError, "do not go with", lambda: pg.exchange_rows(A[0], pg.zeros(5, int, layout=everywhere)))
    if pg.SIZE > 1:
        raises_everywhere(ValueError, "replicate", lambda: pg.exchange_rows(A, pg.zeros(5, int)))


def count_rows(found: NDArray[Any], a: NDArray[Any], rank: int) -> None:
    found[...] = 0
    found[0] = len(a)
    found[1] = rank


def later(lower: NDArray[Any], higher: NDArray[Any]) -> NDArray[Any]:
    return higher


@pytest.mark.parametrize("size", [2, 20_000])  # sent by each to all, and along a tree
@pytest.mark.parametrize("name", NAMES)
def test_combine(name: str, size: int) -> None:
    A = pg.ones((13, 4), layout=layout_of(name, (13, 4)))
    found = pg.zeros(size, int, layout=pg.Distribution("*"))
    pg.schedule(count_rows, pg.write(found), A, pg.RANK)
    pg.combine(np.add, found)
    rows = sum(pg.COMM.allgather(len(A.local())))
    assert_equal(found[:2], np.array([rows, sum(range(pg.SIZE))]))
    pg.schedule(count_rows, pg.write(found), A, pg.RANK)
    pg.combine(later, found)  # in the order of the ranks
    collectively(int(found[1]) == pg.SIZE - 1)


@pytest.mark.parametrize("grid", GRIDS, ids=str)
def test_combine_along_one_axis(grid: tuple[int, int]) -> None:
    """Only those join that hold copies of the same part."""
    A = pg.array(np.arange(60.0).reshape(10, 6), layout=pg.Distribution("cyclic(2)", "cyclic(1)", grid=grid))
    sums = pg.align(np.zeros((1, 6)), A, 1)
    pg.schedule(lambda s, a: np.sum(a, axis=0, out=s[0]), pg.write(sums), A)
    pg.combine(np.add, sums)
    assert_equal(sums, A.gather().sum(axis=0)[None], exact=False)


def larger(lower: tuple[NDArray[Any], ...], higher: tuple[NDArray[Any], ...]) -> tuple[NDArray[Any], ...]:
    return higher if higher[0][0] > lower[0][0] else lower


@pytest.mark.parametrize("size", [3, 20_001])  # sent by each to all, and along a tree; not a multiple of the alignment
def test_combine_several(size: int) -> None:
    """What belongs together travels together, each in its own dtype, also views, and where some is empty."""
    whole = pg.Distribution("*")
    key = pg.zeros(1, np.float32, layout=whole)
    rank = pg.zeros((2, 3), int, layout=pg.Distribution("*", "*"))[1, ::2]
    many, none = pg.zeros(size, np.int16, layout=whole), pg.zeros(0, complex, layout=whole)

    def fill(key: NDArray[Any], rank: NDArray[Any], many: NDArray[Any]) -> None:
        key[0], rank[:] = (pg.RANK + 1) % pg.SIZE + 0.5, pg.RANK
        many[:] = np.arange(size) % 1000 + pg.RANK

    pg.schedule(fill, pg.write(key), pg.write(rank), pg.write(many))
    pg.combine(larger, key, rank, many, none)
    winner = (pg.SIZE - 2) % pg.SIZE
    assert_equal(key, np.array([pg.SIZE - 0.5], np.float32))
    assert_equal(rank, np.full(2, winner))
    assert_equal(many, (np.arange(size) % 1000 + winner).astype(np.int16))


def test_combine_on_a_view() -> None:
    found = pg.zeros((3, 4), layout=pg.Distribution("*", "*"))
    pg.schedule(lambda row: row.fill(1), pg.write(found[1, ::2]))
    pg.combine(np.add, found[1, ::2])
    expected = np.zeros((3, 4))
    expected[1, ::2] = pg.SIZE
    assert_equal(found, expected)
