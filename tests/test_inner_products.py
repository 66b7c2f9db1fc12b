"""Inner products of vectors that lie differently, and come to all processes."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import pgaspy as pg
from pgaspy.scheduling import short_vectors
from tests.layouts import NAMES, layout_of
from tests.together import assert_equal, collectively

pytestmark = pytest.mark.mpi


def matrix(n: int, dtype: str, layout: str) -> tuple[Any, Any]:
    """A square one of numbers that are not added exactly, as NumPy has it, and as it is dealt out."""
    model = (np.random.default_rng(n).random((n, n)) * 9 - 4).astype(dtype)
    return model, pg.array(model, layout=layout_of(layout, (n, n)))


@pytest.mark.parametrize("dtype", ["f8", "f4", "i4", "?", "c16"])
@pytest.mark.parametrize("layout", NAMES)
def test_rows_and_columns(layout: str, dtype: str) -> None:
    model, A = matrix(7, dtype, layout)
    for j in range(7):
        for left, right in (((j, slice(j)), (slice(j), j)), ((slice(None, None, -2), j), (slice(1, 5), 6 - j)),
                            ((j, slice(1, 7, 3)), (slice(5, 7), j)), ((j,), (6 - j,))):
            found = A[left] @ A[right]
            assert_equal(found, model[left] @ model[right], exact=False, rtol=1e-5)
            collectively(len(set(pg.COMM.allgather(found.gather().tobytes()))) == 1)


@pytest.mark.parametrize("dtypes", [("f4", "f8"), ("i2", "f4"), ("?", "i8")])
def test_operands_of_different_dtypes(dtypes: tuple[str, str]) -> None:
    (model, A), (other, B) = (matrix(9, dtype, "first dimension") for dtype in dtypes)
    found = A[8, :6] @ B[1:7, 3]
    collectively(found.dtype == (model[8, :6] @ other[1:7, 3]).dtype)
    assert_equal(found, model[8, :6] @ other[1:7, 3], exact=False, rtol=1e-5)


@pytest.mark.parametrize("column", [slice(0, 1), slice(None)])
def test_nobody_waits_for_an_answer(column: slice) -> None:
    """Each process sends once what it has to each other one; one that has all sends the product."""
    model, A = matrix(8, "f8", "first dimension")
    pg.sync()
    before = pg.stats()
    found = A[0, column] @ A[column, 0]
    pg.sync()
    counts = pg.stats() - before
    expected = 0
    if 1 < pg.SIZE <= short_vectors.MAX_PROCESSES:
        expected = (pg.SIZE - 1) * (A[column, 0].local().size > 0)
        collectively(counts.n_sends == expected, str(counts))
        nbytes = 8 if pg.RANK == 0 and column.stop == 1 else 8 * (A[column, 0].local().size + 8 * (pg.RANK == 0))
        collectively(counts.nbytes_sent == expected * nbytes, str(counts))
    assert_equal(found, model[0, column] @ model[column, 0], exact=False)


def test_what_is_long_does_not_come_to_all() -> None:
    n = short_vectors.MAX_BYTES // 16 + 1
    model = np.arange(3.0 * n).reshape(3, n) / n
    A, B = (pg.array(x, layout=layout_of("first dimension", x.shape)) for x in (model, model.T.copy()))
    pg.sync()
    before = pg.stats()
    found = A[0] @ B[:, 1]
    pg.sync()
    collectively((pg.stats() - before).nbytes_sent <= 8 * n + 64)
    assert_equal(found, model[0] @ model[1], exact=False)


def test_a_product_of_nothing() -> None:
    _, A = matrix(5, "f8", "first dimension")
    assert_equal(A[4, :0] @ A[:0, 4], np.float64(0))


@pytest.mark.parametrize("name", NAMES)
def test_long_vectors_are_read_where_they_lie(name: str) -> None:
    """Those that lie alike are not moved, and one that is written after is multiplied as it was."""
    x, y = np.random.default_rng(5).random((2, 50_000))
    A, B = (pg.array(v, layout=layout_of(name, v.shape)) for v in (x, y))
    found, square, part = A @ B, A @ A, A[7:] @ B[:-7]
    B[...] = 0
    A += 1
    for product, expected in ((found, x @ y), (square, x @ x), (part, x[7:] @ y[:-7])):
        assert_equal(product, expected, exact=False)


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("dtype", ["f8", "c8", "?"])
def test_a_short_vector_comes_to_where_a_matrix_is_multiplied_by_it(name: str, dtype: str) -> None:
    model, A = matrix(9, dtype, "first dimension")
    other, B = matrix(9, dtype, name)
    for k in range(9):
        for rows in (slice(None), slice(k, None), slice(k, None, 3)):
            assert_equal(B[rows, :k] @ A[:k, k], other[rows, :k] @ model[:k, k], exact=False, rtol=1e-5)
            assert_equal(A[k, :k] @ B[:k, rows], model[k, :k] @ other[:k, rows], exact=False, rtol=1e-5)
            assert_equal(B[rows] @ A[::-1, k], other[rows] @ model[::-1, k], exact=False, rtol=1e-5)
            assert_equal(B[rows] @ B[k], other[rows] @ other[k], exact=False, rtol=1e-5)


def test_each_tells_once_what_it_has_of_a_short_vector() -> None:
    model, A = matrix(8, "f8", "first dimension")
    pg.sync()
    before = pg.stats()
    found = A @ A[:, 3]
    pg.sync()
    counts = pg.stats() - before
    if 1 < pg.SIZE <= short_vectors.MAX_PROCESSES:
        n_here = A[:, 3].local().size
        expected = (pg.SIZE - 1) * (n_here > 0)
        collectively((counts.n_sends, counts.nbytes_sent) == (expected, expected * 8 * n_here), str(counts))
    assert_equal(found, model @ model[:, 3], exact=False)


def test_a_dead_product_is_told_all_the_same() -> None:
    model, A = matrix(8, "f8", "first dimension")
    for _ in range(3):
        _ = A @ A[:, 3]
        A[:, 3] += 1
        model[:, 3] += 1
    assert_equal(A @ A[:, 3], model @ model[:, 3], exact=False)


@pytest.mark.parametrize("n", [40, 1000])
@pytest.mark.parametrize("at_end", [False, True])
def test_a_product_at_which_one_process_alone_looks(n: int, at_end: bool) -> None:
    """The others tell all the same, whether it is computed at once or recorded."""
    A, x = pg.ones((n, n)), pg.ones(n)
    product = A @ x
    if pg.RANK == pg.SIZE - 1 if at_end else pg.RANK == 0:
        assert set(product.local()) == {n}
    del product
    collectively(float(x.sum()) == n)


def test_a_matrix_on_one_process_gets_a_vector_alone() -> None:
    model = np.random.default_rng(2).random((6, 6))
    A, x = pg.array(model, onenode=pg.SIZE - 1), pg.array(model[0])
    pg.sync()
    before = pg.stats()
    found = A @ x
    pg.sync()
    collectively((pg.stats() - before).n_sends <= 1)
    assert_equal(found, model @ model[0], exact=False)
