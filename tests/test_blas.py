"""Triangles, products and permuted rows of local matrices by BLAS and LAPACK, in place, in any order."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
import threadpoolctl
from numpy.typing import NDArray

from pgaspy import blas
from pgaspy.blas import LONG, LONG_TWICE, MANY_BYTES, MANY_ROWS, add_product, solve_triangle
from pgaspy.kernels import bindings
from pgaspy.kernels.bindings import FEW_COLUMNS
from pgaspy.lapack import (
    factor_cholesky,
    factor_lu,
    factor_qr,
    invert_triangle,
    permute_rows,
    reciprocal_condition,
)

ORDERS = "CF"
RNG = np.random.default_rng(9)


@pytest.fixture(autouse=True, scope="module")
def _one_thread() -> Iterator[None]:
    """Threads of BLAS wait for each other by computing, which takes long where something else runs beside."""
    with threadpoolctl.threadpool_limits(1):
        yield


def triangle(n: int, dtype: str, order: str, seed: int = 0) -> NDArray[np.generic]:
    """A matrix whose triangles are well conditioned."""
    rng = np.random.default_rng(seed)
    t = rng.standard_normal((n, n)) + (1j * rng.standard_normal((n, n)) if dtype in "FD" else 0)
    return np.array(t / n + 2 * np.eye(n), dtype, order=order)


@pytest.mark.parametrize("dtype", "fdFD")
@pytest.mark.parametrize("shape", [(1, 1), (5, 3), (5, 64), (96, 400), (129, 516), (300, 1200)])
def test_a_triangle_is_solved(shape: tuple[int, int], dtype: str) -> None:
    n, m = shape
    cases = list(itertools.product((True, False), (True, False), "NTC", (True, False), ORDERS, ORDERS))
    first, step = ("fdFD".index(dtype), 4 if n < 100 else 7) if n > 90 else (0, 1)
    for lower, unit, trans, right, of_t, of_b in cases[first::step]:
        t = triangle(n, dtype, of_t)
        b = np.array(np.random.default_rng(1).standard_normal((m, n) if right else (n, m)), dtype, order=of_b)
        x = b.copy(order="K")
        solve_triangle(x, t, lower=lower, unit_diagonal=unit, trans=trans, from_right=right)
        only = np.tril(t) if lower else np.triu(t)
        if unit:
            np.fill_diagonal(only, 1)
        op = {"N": only, "T": only.T, "C": only.conj().T}[trans]
        residual = np.abs((x @ op if right else op @ x) - b).max()
        assert residual <= 50 * np.finfo(dtype).eps * max(1, np.abs(x).max())


@pytest.mark.parametrize("from_right", [True, False])
def test_the_right_hand_sides_may_be_a_part_of_a_matrix(from_right: bool) -> None:
    t = triangle(40, "d", "C")
    whole = np.random.default_rng(2).standard_normal((600, 600))
    before = whole.copy()
    part = np.s_[7:507, 3:43] if from_right else np.s_[7:47, 3:503]
    solve_triangle(whole[part], t, from_right=from_right)
    found = whole[part] @ np.triu(t) if from_right else np.triu(t) @ whole[part]
    np.testing.assert_allclose(found, before[part], rtol=1e-12, atol=1e-12)
    whole[part] = before[part]
    np.testing.assert_array_equal(whole, before)


def test_an_ill_conditioned_triangle_is_not_inverted(monkeypatch: pytest.MonkeyPatch) -> None:
    n = 96
    hilbert = 1 / (np.arange(n)[:, None] + np.arange(n) + 1.0) + 1e-12 * np.eye(n)
    L, b = np.linalg.cholesky(hilbert), np.random.default_rng(3).standard_normal((n, 5 * n))
    inverted = []
    monkeypatch.setattr(blas, "invert_triangle", lambda t, *flags: inverted.append(t))
    x = b.copy()
    solve_triangle(x, L, lower=True)
    assert not inverted
    assert np.abs(L @ x - b).max() <= 50 * np.finfo(float).eps * np.abs(L).max() * np.abs(x).max()


@pytest.mark.parametrize("bad", [0.0, np.nan])
def test_a_zero_or_nan_on_the_diagonal_shows_in_the_result(bad: float) -> None:
    t, b = triangle(50, "d", "C"), np.ones((50, 300))
    t[7, 7] = bad
    solve_triangle(b, t, lower=True)
    assert np.isfinite(b[:7]).all()
    assert not np.isfinite(b[7:]).any()


def test_what_does_not_conform_is_refused() -> None:
    with pytest.raises(ValueError, match="do not conform"):
        add_product(np.zeros((2, 2)), np.zeros((2, 3)), np.zeros((2, 2)))
    with pytest.raises(ValueError, match="triangle of shape"):
        solve_triangle(np.zeros((3, 2)), np.eye(2))
    with pytest.raises(TypeError, match="one dtype"):
        solve_triangle(np.zeros((2, 2)), np.eye(2, dtype="f"))
    x, vector = np.ones((3, 3)), np.ones(3)
    for call, words in (
            (lambda: add_product(vector, x, vector), "in the place of a matrix"),
            (lambda: solve_triangle(vector, x), "in the place of a matrix"),
            (lambda: solve_triangle(x, np.eye(3), trans="n"), "trans is 'n'"),
            (lambda: factor_lu(x, np.zeros(2, np.int64)), "pivots of shape"),
            (lambda: factor_lu(x[:2], np.zeros(3, np.int64)), "pivots of shape"),
            (lambda: factor_cholesky(x[:2]), "square matrix"),
            (lambda: invert_triangle(x[:, :2], False, False), "square matrix"),
            (lambda: reciprocal_condition(x[:2], False, False), "square matrix"),
            (lambda: permute_rows(x, np.array([0, 1])), "an order of shape"),
            (lambda: permute_rows(vector, np.array([0, 1, 2])), "in the place of a matrix")):
        with pytest.raises(ValueError, match=words):
            call()


@pytest.mark.parametrize("dtype", ["d", "l"])
def test_rows_may_be_taken_several_times(dtype: str) -> None:
    x = np.arange(12).reshape(4, 3).astype(dtype)
    for order in ([0, 0, 2, 1], [-1, 1, 1, -4], [3, 2, 1, 0]):
        found = x.copy()
        permute_rows(found, np.array(order))
        np.testing.assert_array_equal(found, x[order])
    with pytest.raises(IndexError):
        permute_rows(x, np.array([0, 1, 2, 5_000_000]))


@pytest.mark.parametrize("n", [3, 150])
def test_operands_may_share_elements_with_the_result(n: int) -> None:
    rng = np.random.default_rng(3)
    whole = rng.random((2 * n, 2 * n))
    for c, a, b in itertools.product((slice(n), slice(1, n + 1), slice(n, 2 * n)), repeat=3):
        found = whole.copy()
        expected = whole[c, c] + whole[a, c] @ whole[c, b]
        add_product(found[c, c], found[a, c], found[c, b])
        np.testing.assert_allclose(found[c, c], expected, rtol=1e-12)
    x = whole[:n, :n] + n * np.eye(n)
    expected = np.linalg.solve(np.triu(x), x)
    solve_triangle(x, x)
    np.testing.assert_allclose(x, expected, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("dtype", "fdFD")
@pytest.mark.parametrize(("order", "cut"), [("C", slice(None)), ("F", slice(None)), ("C", slice(1, None))])
@pytest.mark.parametrize("shape", [(300, 200), (130, 64), (1, 100), (128, 70), (257, 63)])
def test_a_matrix_by_its_transposed(shape: tuple[int, int], order: str, cut: slice, dtype: str) -> None:
    x = RNG.normal(size=(*shape, 2)).astype(dtype.lower())
    a = np.array(x[..., 0] + x[..., 1] * (1j if dtype in "FD" else 1), dtype, order=order)[cut]  # type: ignore[call-overload]
    for to in ORDERS:
        c = np.full((len(a), len(a)), np.nan, dtype, order=to)  # type: ignore[call-overload]
        add_product(c, a, a.T, 2, beta=0)
        np.testing.assert_allclose(c, 2 * (a @ a.T.copy()), rtol=1e-4 if dtype in "fF" else 1e-11, atol=1e-3)
        if a.shape[1] >= LONG_TWICE:
            np.testing.assert_array_equal(c, c.T)
        once = c.copy()
        add_product(c, a, a.T)
        np.testing.assert_allclose(c, 1.5 * once, rtol=1e-4 if dtype in "fF" else 1e-11, atol=1e-3)


@pytest.mark.parametrize("dtype", ["f", "d", "F", "D", "i", "g"])
@pytest.mark.parametrize("shape", [(0, 3), (3, 0), (1, 1), (1, 5), (5, 1), (40, 7)])
def test_rows_are_permuted(shape: tuple[int, int], dtype: str) -> None:
    rng = np.random.default_rng(4)
    order = rng.permutation(shape[0])
    whole = np.arange(50 * 60).reshape(50, 60).astype(dtype)
    rows, columns = slice(2, 2 + shape[0]), slice(3, 3 + shape[1])
    for a in (whole[rows, columns], whole.copy(order="F")[rows, columns],
              np.repeat(whole, 2, axis=1)[:, ::2][rows, columns]):
        expected = a[order]
        permute_rows(a, order)
        np.testing.assert_array_equal(a, expected)
    inside = np.zeros_like(whole, bool)
    inside[rows, columns] = True
    np.testing.assert_array_equal(whole[~inside], np.arange(50 * 60).reshape(50, 60).astype(dtype)[~inside])


def some_places(x: NDArray[np.generic]) -> list[NDArray[np.generic]]:
    """The same matrix in several places: by rows, by columns, inside of others, and reversed."""
    apart = [np.zeros((n + 5, m + 6), x.dtype, order) for order in ORDERS for n, m in (x.shape,)]
    found = [x.copy(), x.copy(order="F"), *(other[2:-3, 1:-5] for other in apart), np.empty_like(x)[::-1]]
    for other in found:
        other[...] = x
    return found


@pytest.fixture
def skinny(monkeypatch: pytest.MonkeyPatch) -> list[tuple[int, ...]]:
    """The shapes of the products that were not left to BLAS, of which none is too small."""
    found: list[tuple[int, ...]] = []

    def multiply(c: NDArray[Any], a: NDArray[Any], columns: NDArray[Any], *factors: float) -> None:
        found.append((*a.shape, len(columns)))
        bindings.multiply_skinny(c, a, columns, *factors)

    monkeypatch.setattr(blas, "multiply_skinny", multiply)
    monkeypatch.setattr(blas, "MANY_BYTES", 1)
    return found


@pytest.mark.parametrize("dtype", "fd")
@pytest.mark.parametrize("few", range(1, FEW_COLUMNS + 2))
@pytest.mark.parametrize(("many", "inner"), [
    (MANY_ROWS * FEW_COLUMNS - 1, LONG), (70, LONG - 1), (41, LONG + 5), (35, 70_003), (2051, 128)])
def test_products_with_few_columns(many: int, inner: int, few: int, dtype: str, skinny: list[tuple[int, ...]]) -> None:
    """Or few rows, of integers, so that they are exact: wherever the matrices lie; what is around the result stays."""
    rng = np.random.default_rng(few)
    x, y = (rng.integers(-4, 5, shape).astype(dtype) for shape in ((many, inner), (inner, few)))
    before, n_by_rows = rng.integers(-9, 10, (many, few)).astype(dtype), 0
    for alpha, beta in (1, 0), (-2, 1), (1, 3):
        expected = beta * before + alpha * (x.astype(int) @ y.astype(int))
        places = zip(some_places(x), some_places(y)[::-1], some_places(before), strict=True)
        for (a, b, c), mirrored in itertools.product(places, (False, True)):
            c[...] = np.nan if beta == 0 else before
            around = c.base if c.base is not None and c.base.size > c.size else c
            untouched = np.nansum(np.abs(around)) - np.nansum(np.abs(c))
            if mirrored:
                add_product(c.T, b.T, a.T, alpha, beta)
            else:
                add_product(c, a, b, alpha, beta)
            np.testing.assert_array_equal(c, expected)
            assert np.abs(around).sum() - np.abs(c).sum() == untouched == 0
            n_by_rows += a.strides[1] == a.itemsize and blas._is_blas_matrix(c)
    is_taken = few <= FEW_COLUMNS and inner >= LONG and many >= MANY_ROWS * few
    assert skinny == [(many, inner, few)] * (n_by_rows if is_taken else 0)


def test_small_products_and_complex_factors_are_left_to_blas() -> None:
    a, b, c = np.ones((50, 100)), np.ones((100, 2)), np.zeros((50, 2))
    assert not blas._is_skinny(c, a)
    with pytest.raises(TypeError, match="complex"):
        add_product(c, a, b, 2 + 3j)
    many = np.ones((MANY_BYTES // 800 + 1, 100))
    assert blas._is_skinny(np.zeros((len(many), 2)), many)
    with pytest.raises(TypeError, match="complex"):
        add_product(np.zeros((len(many), 2)), many, b, 2 + 3j)


def test_products_with_few_columns_do_not_depend_on_the_threads(skinny: list[tuple[int, ...]]) -> None:
    rng, before, found = np.random.default_rng(5), bindings.get_threads(), []
    a, b = rng.standard_normal((1003, 700)), rng.standard_normal((700, 3))
    try:
        for n_threads in (1, 2, 3, 8):
            bindings.set_threads(n_threads)
            found.append(np.empty((1003, 3)))
            add_product(found[-1], a, b, 1, 0)
    finally:
        bindings.set_threads(before)
    np.testing.assert_allclose(found[0], a @ b, rtol=1e-11, atol=1e-11)
    assert all((other == found[0]).all() for other in found)
    assert len(skinny) == 4


@pytest.mark.parametrize("bad", [np.inf, np.nan])
def test_products_with_few_columns_keep_what_is_not_finite(bad: float, skinny: list[tuple[int, ...]]) -> None:
    a, b, c = np.ones((20, 100)), np.ones((100, 2)), np.empty((20, 2))
    a[3, 97] = bad
    add_product(c, a, b, 1, 0)
    np.testing.assert_array_equal(c, np.where(np.arange(20)[:, None] == 3, bad, 100.0) * np.ones(2))
    assert skinny


def test_numbers_in_another_order_of_bytes_are_no_matrices_of_blas() -> None:
    """They have the same `dtype.char`."""
    a, b = np.eye(2, dtype=">f8"), np.full((2, 2), 3.0, ">f8")
    c = np.ones((2, 2), ">f8")
    add_product(c, a, b, -1)
    np.testing.assert_array_equal(c, np.full((2, 2), -2.0))
    permute_rows(c, np.array([1, 0]))
    for call in (lambda: solve_triangle(b, a), lambda: factor_lu(a, np.empty(2, np.int64))):
        with pytest.raises(TypeError, match="order of bytes"):
            call()


def test_what_is_only_to_be_read_is_not_written_to() -> None:
    for order, call in itertools.product(ORDERS, (
            lambda x: add_product(x, np.eye(3), np.eye(3)), lambda x: solve_triangle(x, np.eye(3)),
            lambda x: permute_rows(x, np.array([2, 0, 1])), factor_cholesky,
            lambda x: factor_lu(x, np.empty(3, np.int64)), lambda x: factor_qr(x, np.empty((3, 3))))):
        x = np.array(np.arange(9.0).reshape(3, 3) + 9 * np.eye(3), order=order)
        before = x.copy()
        x.flags.writeable = False
        with pytest.raises(ValueError, match="read-only"):
            call(x)
        np.testing.assert_array_equal(x, before)
