"""The factorisations of `algorithms/`, by LAPACK's test ratios, on every grid of the job's processes."""

from __future__ import annotations

import itertools
from collections.abc import Iterable
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import pgaspy as pg
from pgaspy.algorithms.cholesky import cholesky
from pgaspy.algorithms.lu import lu
from pgaspy.algorithms.triangular_solve import FEW, solve_triangular
from tests.matrices import NAMES, named_matrix, random_matrix
from tests.together import collectively, raises_everywhere

pytestmark = pytest.mark.mpi

GRIDS = [(p, pg.SIZE // p) for p in range(1, pg.SIZE + 1) if pg.SIZE % p == 0]
SHAPES = [(0, 0), (1, 1), (2, 2), (3, 3), (5, 5), (10, 10), (50, 50), (40, 17), (17, 40), (3, 0)]
BLOCKS = [1, 3, 64, None]
"""None for one that is larger than the matrix."""

LARGE = [(257, 64), (257, None), (1000, 64), (1000, None)]
MAX_RATIO = 30.0


def on_some_grid(*choices: Iterable[Any]) -> list[tuple[Any, ...]]:
    """Every combination of choices, each on one of the grids in turn."""
    return [(*case, GRIDS[k % len(GRIDS)]) for k, case in enumerate(itertools.product(*choices))]


def dealt(a: NDArray[Any], block: int | None, grid: tuple[int, int]) -> pg.GlobalArray:
    block = block or max(a.shape) + 1
    return pg.array(a, layout=pg.Distribution(f"cyclic({block})", f"cyclic({block})", grid=grid))


def ratio(error: NDArray[Any], a: NDArray[Any]) -> float:
    """LAPACK's: the 1-norm of an error over that of the matrix, its extent and the rounding unit."""
    if not a.size:
        return 0.0
    eps = np.finfo(a.dtype).eps / 2
    norm = np.abs(a).sum(axis=0).max()
    return float(np.abs(error).sum(axis=0).max() / (max(a.shape) * eps * norm or 1))


def check_lu(a: NDArray[Any], block: int | None, grid: tuple[int, int]) -> None:
    A = dealt(a, block, grid)
    pivots = lu(A).gather()
    f, k = A.gather(), min(a.shape)
    exchanged = a.copy()
    for i, p in enumerate(pivots):
        exchanged[[i, p]] = exchanged[[p, i]]
    L, U = np.tril(f[:, :k], -1), np.triu(f[:k])
    np.fill_diagonal(L, 1)
    found = ratio(L @ U - exchanged, a)
    collectively(found <= MAX_RATIO, f"ratio {found}")
    largest = 1.5 if a.dtype.kind == "c" else 1  # LAPACK compares |real| + |imag|
    collectively(bool((np.abs(L) <= largest).all()), "the pivots are not the largest elements")
    collectively(bool((pivots >= np.arange(k)).all()))


class TestLU:
    @pytest.mark.parametrize(("shape", "block", "grid"), on_some_grid(SHAPES, BLOCKS), ids=str)
    def test_shapes(self, shape: tuple[int, int], block: int | None, grid: tuple[int, int]) -> None:
        check_lu(random_matrix(shape), block, grid)

    @pytest.mark.parametrize("grid", GRIDS, ids=str)
    @pytest.mark.parametrize("dtype", "fFD")
    def test_dtypes(self, dtype: str, grid: tuple[int, int]) -> None:
        check_lu(random_matrix((23, 23), dtype), 5, grid)

    @pytest.mark.parametrize("name", NAMES)
    def test_matrices(self, name: str) -> None:
        for grid in GRIDS[-2:]:
            check_lu(named_matrix(name, 45), 20, grid)

    @pytest.mark.parametrize("grid", GRIDS, ids=str)
    def test_larger(self, grid: tuple[int, int]) -> None:
        check_lu(random_matrix((257, 257)), 32, grid)

    @pytest.mark.parametrize(("n", "block"), [(257, None), (1000, 64)])
    def test_whole_columns(self, n: int, block: int | None) -> None:
        check_lu(random_matrix((n, n)), block, GRIDS[0])

    @pytest.mark.long
    @pytest.mark.parametrize("grid", GRIDS, ids=str)
    @pytest.mark.parametrize(("n", "block"), LARGE)
    def test_large(self, n: int, block: int | None, grid: tuple[int, int]) -> None:
        check_lu(random_matrix((n, n)), block, grid)

    @pytest.mark.long
    @pytest.mark.parametrize(("block", "grid"), on_some_grid([1, 3]))
    def test_large_in_small_blocks(self, block: int, grid: tuple[int, int]) -> None:
        check_lu(random_matrix((257, 257)), block, grid)

    @pytest.mark.parametrize("grid", GRIDS, ids=str)
    @pytest.mark.parametrize("bad", [np.nan, np.inf])
    def test_what_is_not_finite_hangs_nobody(self, bad: float, grid: tuple[int, int]) -> None:
        for at in ((0, 0), (6, 3), (11, 9)):
            a = random_matrix((12, 10))
            a[at] = bad
            A = dealt(a, 3, grid)
            pivots = lu(A).gather()
            collectively(bool(((np.arange(10) <= pivots) & (pivots < 12)).all()), f"{pivots}")
            collectively(not np.isfinite(A.gather()).all())

    def test_refuses_other_layouts(self) -> None:
        raises_everywhere(ValueError, "takes a matrix", lambda: lu(pg.ones(4)))
        A = pg.ones((12, 12), layout=pg.Distribution("cyclic(2)", "cyclic(3)"))
        raises_everywhere(ValueError, "square blocks", lambda: lu(A))


def check_cholesky(a: NDArray[Any], block: int | None, grid: tuple[int, int]) -> None:
    A = dealt(np.triu(a), block, grid)  # what is below the diagonal is not read
    cholesky(A)
    U = np.triu(A.gather())
    found = ratio(U.conj().T @ U - a, a)
    collectively(found <= MAX_RATIO, f"ratio {found}")


def positive_definite(n: int, dtype: str = "d") -> NDArray[Any]:
    x = random_matrix((n, n), dtype)
    return np.asarray(x @ x.conj().T + np.eye(n, dtype=dtype))


class TestCholesky:
    @pytest.mark.parametrize(("n", "block", "grid"), on_some_grid([0, 1, 2, 3, 5, 10, 50], BLOCKS), ids=str)
    def test_sizes(self, n: int, block: int | None, grid: tuple[int, int]) -> None:
        check_cholesky(positive_definite(n), block, grid)

    @pytest.mark.parametrize("grid", GRIDS, ids=str)
    @pytest.mark.parametrize("dtype", "fFD")
    def test_dtypes(self, dtype: str, grid: tuple[int, int]) -> None:
        check_cholesky(positive_definite(23, dtype), 5, grid)

    @pytest.mark.parametrize("grid", GRIDS, ids=str)
    def test_larger(self, grid: tuple[int, int]) -> None:
        a = positive_definite(257)
        for block in (32, None):
            check_cholesky(a, block, grid)

    def test_thousand(self) -> None:
        check_cholesky(positive_definite(1000), 64, GRIDS[-1])

    @pytest.mark.long
    @pytest.mark.parametrize("grid", GRIDS, ids=str)
    @pytest.mark.parametrize(("n", "block"), LARGE)
    def test_large(self, n: int, block: int | None, grid: tuple[int, int]) -> None:
        check_cholesky(positive_definite(n), block, grid)

    @pytest.mark.long
    @pytest.mark.parametrize(("block", "grid"), on_some_grid([1, 3]))
    def test_large_in_small_blocks(self, block: int, grid: tuple[int, int]) -> None:
        check_cholesky(positive_definite(257), block, grid)

    @pytest.mark.parametrize("grid", GRIDS, ids=str)
    def test_badly_scaled_and_graded(self, grid: tuple[int, int]) -> None:
        for scales in (10.0 ** np.linspace(-100, 100, 45), 10.0 ** -np.linspace(0, 16, 45)):
            check_cholesky(scales[:, None] * positive_definite(45) * scales, 7, grid)

    @pytest.mark.parametrize("name", ["identity", "nearly singular"])
    def test_matrices(self, name: str) -> None:
        x = named_matrix(name, 45)
        a = x @ x.T + 1e-13 * np.eye(45)  # so that rounding errors leave it positive definite
        for grid in GRIDS[-2:]:
            check_cholesky(a, 20, grid)

    @pytest.mark.parametrize(("column", "bad", "grid"), on_some_grid([0, 6, 19], [0.0, -1.0, np.nan, -np.inf]),
                             ids=str)
    def test_indefinite_is_told_everywhere_with_the_minor(self, column: int, bad: float, grid: tuple[int, int]) -> None:
        a = positive_definite(20)
        a[column, column] = bad
        raises_everywhere(np.linalg.LinAlgError, f"order {column + 1} is not", lambda: cholesky(dealt(a, 4, grid)))

    def test_refuses_rectangles(self) -> None:
        raises_everywhere(ValueError, "square matrix", lambda: cholesky(dealt(np.ones((4, 5)), 2, GRIDS[0])))


class TestTriangularSolve:
    @pytest.mark.parametrize(("n", "r", "lower", "block", "grid"),
                             on_some_grid([0, 1, 5, 50], [0, 1, FEW + 6], [True, False], [3, 64]), ids=str)
    def test_shapes(self, n: int, r: int, lower: bool, block: int, grid: tuple[int, int]) -> None:
        for dtype, unit, transposed in (("d", False, False), ("D", True, True), ("f", False, True)):
            a = (random_matrix((n, n), dtype) / 10 + 2 * np.eye(n)).astype(dtype)
            t = np.tril(a) if lower else np.triu(a)
            if unit:
                np.fill_diagonal(t, 1)
            b = random_matrix((n, r), dtype)
            A = dealt(a.T, block, grid).T if transposed else dealt(a, block, grid)
            x = solve_triangular(A, pg.array(b), lower, unit).gather()
            scale = np.abs(t).max(initial=0) * np.abs(x).max(initial=0) * max(n, 1) * np.finfo(dtype).eps
            collectively(x.shape == b.shape and np.abs(t @ x - b).max(initial=0) <= MAX_RATIO * scale, f"{t @ x - b}")

    def test_refuses_what_does_not_conform(self) -> None:
        T = dealt(np.eye(6), 2, GRIDS[0])
        raises_everywhere(ValueError, "do not conform", lambda: solve_triangular(T, pg.ones((5, 2))))
        raises_everywhere(ValueError, "do not conform", lambda: solve_triangular(T, pg.ones((6, 2), np.float32)))
