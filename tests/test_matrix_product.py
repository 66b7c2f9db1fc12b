"""Matrix products, by residuals scaled with n * eps."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import pgaspy as pg
from pgaspy import matrix_product
from pgaspy.job.defaults import default_for
from pgaspy.matrix_product import MAX_OUTER_PRODUCTS, MIN_ELEMENTS_OF_SUM, own_columns_first
from pgaspy.planning.result_layout import product_layout
from tests.layouts import NAMES, layout_of
from tests.together import assert_equal, collectively, raises_everywhere

pytestmark = pytest.mark.mpi

RNG = np.random.default_rng(11)


def check(found: Any, x: Any, y: Any) -> None:
    expected = x @ y
    collectively(found.shape == expected.shape and found.dtype == expected.dtype, f"{found!r}, not {expected.dtype}")
    if expected.dtype.kind in "iub":
        assert_equal(found, expected)
        return
    residual = np.abs(found.gather() - expected)
    bound = np.abs(x) @ np.abs(y) * x.shape[-1] * np.finfo(expected.dtype).eps
    collectively(bool((residual <= bound).all()))


@pytest.mark.parametrize("first", NAMES)
@pytest.mark.parametrize("second", NAMES)
def test_pairs_of_layouts(first: str, second: str) -> None:
    x, y = RNG.normal(size=(13, 9)), RNG.normal(size=(9, 11))
    a, b = pg.array(x, layout=layout_of(first, x.shape)), pg.array(y, layout=layout_of(second, y.shape))
    check(a @ b, x, y)
    check(b.T @ a.T, y.T, x.T)
    check(a @ b[:, 3], x, y[:, 3])
    check(a[2] @ b, x[2], y)
    check(a[1:, ::2] @ b[::2, ::-1], x[1:, ::2], y[::2, ::-1])
    assert_equal(a[2] @ b[:, 5], np.asarray(x[2] @ y[:, 5]), exact=False)


@pytest.mark.parametrize("m", [0, 1, 5])
@pytest.mark.parametrize("k", [0, 1, 7])
@pytest.mark.parametrize("n", [0, 1, 4])
def test_sizes(m: int, k: int, n: int) -> None:
    x, y = RNG.normal(size=(m, k)), RNG.normal(size=(k, n))
    check(pg.array(x) @ pg.array(y), x, y)
    check(pg.array(x) @ pg.array(y[:, 0] if n else np.ones(k)), x, y[:, 0] if n else np.ones(k))


@pytest.mark.parametrize("first", list("dfDFlB?e"))
@pytest.mark.parametrize("second", list("dfDli?"))
def test_dtypes(first: str, second: str) -> None:
    x, y = RNG.integers(0, 5, (6, 7)).astype(first), RNG.integers(0, 5, (7, 5)).astype(second)
    check(pg.array(x) @ pg.array(y), x, y)
    check(pg.array(x) @ pg.array(y[:, 2]), x, y[:, 2])


def test_a_vector_that_each_process_has_is_cast_where_it_lies() -> None:
    x, y = RNG.integers(0, 5, 3).astype("h"), RNG.integers(0, 5, (3, 2))
    a = pg.array(x, layout=pg.Distribution("cyclic(4)", grid=(1, pg.SIZE)))
    b = pg.array(y, layout=pg.Distribution("block", "cyclic(2)", grid=(1, pg.SIZE)))
    check(a.reshape(-1, 3) @ b, x[None], y)


def test_layouts_of_products() -> None:
    layout = pg.Distribution("cyclic(2)", "cyclic(3)")
    a, b = pg.array(RNG.normal(size=(12, 8)), layout=layout), pg.array(RNG.normal(size=(8, 15)), layout=layout)
    c = a @ b
    collectively(c.layout.dims == (a.layout.dims[0], b.layout.dims[1]))
    collectively(product_layout(a._view, b._view, default_for) == c.layout)
    collectively((a @ b[:, 0]).layout.dims == (a.layout.dims[0],))
    collectively((a[0] @ b).layout.dims == (b.layout.dims[1],))


def test_operands_of_numpy() -> None:
    x, y = RNG.normal(size=(6, 7)), RNG.normal(size=(7, 5))
    check(pg.array(x) @ y, x, y)
    check(x @ pg.array(y), x, y)
    check(np.matmul(pg.array(x), pg.array(y)), x, y)
    check(pg.dot(x, pg.array(y)), x, y)
    assert_equal(pg.dot(pg.array(x), 2.0), x * 2)
    out = pg.empty((6, 5))
    collectively(np.matmul(pg.array(x), pg.array(y), out=out) is out)
    check(out, x, y)


def test_in_place() -> None:
    x, y = RNG.normal(size=(6, 6)), RNG.normal(size=(6, 6))
    a = pg.array(x)
    same, row = a, a[1]
    a @= pg.array(y)
    check(a, x, y)
    check(row, x[1], y)
    collectively(same is a)

    def assign(b: Any) -> None:
        same[:, :3] @= b
    raises_everywhere(ValueError, "shape", lambda: assign(pg.array(y)[:3, :2]))
    raises_everywhere(TypeError, "cast", lambda: assign(pg.array(y)[:3, :3] + 1j))


def test_special_values() -> None:
    x, y = np.eye(5), RNG.normal(size=(5, 5))
    y[2, 3], y[1, 1] = np.nan, np.inf
    with np.errstate(all="ignore"):
        assert_equal(pg.array(x) @ pg.array(y), x @ y)


@pytest.mark.parametrize("k", [1, 3, 4])
@pytest.mark.parametrize("types", ["dd", "fd", "Fi", "Bb", "??", "ee"])
@pytest.mark.parametrize("names", [(NAMES[0], NAMES[0]), (NAMES[1], NAMES[-1])])
def test_few_inner_indices(k: int, types: str, names: tuple[str, str]) -> None:
    """These are sums of outer products."""
    m, n = 300, 301
    collectively(m * n >= MIN_ELEMENTS_OF_SUM and k <= MAX_OUTER_PRODUCTS)
    x, y = RNG.integers(0, 5, (m, k)).astype(types[0]), RNG.integers(0, 5, (k, n)).astype(types[1])
    a, b = (pg.array(z, layout=layout_of(name, z.shape)) for z, name in zip((x, y), names, strict=True))
    c = a @ b
    check(c, x, y)
    collectively(c.layout == product_layout(a._view, b._view, default_for))
    check(a[::-1] @ b[:, 1:], x[::-1], y[:, 1:])
    check(a @ a.T, x, x.T)
    a[...] = 0
    check(c, x, y)


@pytest.mark.parametrize("dim", ["block", "cyclic(64)"])
def test_halves_are_summed_in_float32(dim: str) -> None:
    n = 1500
    x, y = np.ones((3, n), np.float16), np.full((n, 300), 60, np.float16)
    y[n // 2:] *= -1
    a, b = (pg.array(z, layout=pg.Distribution(dim, dim)) for z in (x, y))
    zeros = np.zeros((3, 300), np.float16)
    for found in (a @ b, pg.einsum("ij,jk->ik", a, b), pg.tensordot(a, b, 1), pg.matmul(a[None], b[None])[0]):
        assert_equal(found, zeros)
    assert_equal(a @ b[:, 0], zeros[:, 0])
    assert_equal(a[0] @ b, zeros[0])
    assert_equal(pg.dot(a[0], b[:, 0]), zeros[0, 0])
    few, rows = np.ones((300, 3), np.float16), np.repeat(np.array([[60000], [60000], [-60000]], np.float16), 300, 1)
    assert_equal(pg.array(few) @ pg.array(rows), few @ rows)


@pytest.mark.parametrize("shape", [(1, 3), (7, 2), (8, 9), (12, 31)])
@pytest.mark.parametrize("types", ["dd", "fd", "Fi", "Bb", "??"])
def test_own_columns_come_first(shape: tuple[int, int], types: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """What a process has of the vector counts, and what it has not, wherever that begins and ends."""
    monkeypatch.setattr(matrix_product, "MIN_ELEMENTS_IN_TWO", 1)
    rng = np.random.default_rng(7)
    m, n = shape
    x, y = (rng.integers(0, 5, k).astype(char) for k, char in zip(((m, n), n), types, strict=True))
    A, v = pg.array(x), pg.array(y)
    check(A @ v, x, y)
    check(A[:, ::-1] @ v, x[:, ::-1], y)
    check(A[:, 1:] @ v[1:], x[:, 1:], y[1:])
    check(A[1:] @ v, x[1:], y)
    check(v @ A.T, y, x.T)


@pytest.mark.recorded
def test_a_large_matrix_is_multiplied_in_two_tasks(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where the rows lie as the vector does, on more than one process."""
    by_rows = pg.Distribution("block", "*", grid=(pg.SIZE,), axes=(0, None))
    A, x = pg.ones((8 * pg.SIZE, 8), layout=by_rows), pg.ones(8)
    assert not own_columns_first(A._view, x._view)
    monkeypatch.setattr(matrix_product, "MIN_ELEMENTS_IN_TWO", 8)
    assert own_columns_first(A._view, x._view) == (pg.SIZE > 1)
    assert not own_columns_first(A._view, pg.align(x, A, 1)._view)
    assert not own_columns_first(A._view.transpose((1, 0)), A[:, 0]._view)
    assert_equal(A @ x, np.full(8 * pg.SIZE, 8.0))
