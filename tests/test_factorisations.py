"""The factorisations of `algorithms/`, by LAPACK's test ratios, on every grid of the job's processes."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import pgaspy as pg
from pgaspy.algorithms.lu import lu
from tests.matrices import NAMES, named_matrix, random_matrix
from tests.together import collectively, raises_everywhere

pytestmark = pytest.mark.mpi

GRIDS = [(p, pg.SIZE // p) for p in range(1, pg.SIZE + 1) if pg.SIZE % p == 0]
SHAPES = [(0, 0), (1, 1), (2, 2), (3, 3), (5, 5), (10, 10), (50, 50), (40, 17), (17, 40), (3, 0)]
MAX_RATIO = 30.0


def dealt(a: NDArray[Any], block: int, grid: tuple[int, int]) -> pg.GlobalArray:
    return pg.array(a, layout=pg.Distribution(f"cyclic({block})", f"cyclic({block})", grid=grid))


def ratio(error: NDArray[Any], a: NDArray[Any]) -> float:
    """LAPACK's: the 1-norm of an error over that of the matrix, its extent and the rounding unit."""
    if not a.size:
        return 0.0
    eps = np.finfo(a.dtype).eps / 2
    norm = np.abs(a).sum(axis=0).max()
    return float(np.abs(error).sum(axis=0).max() / (max(a.shape) * eps * norm or 1))


def check_lu(a: NDArray[Any], block: int, grid: tuple[int, int]) -> None:
    A = dealt(a, block, grid)
    pivots = lu(A).gather()
    f, k = A.gather(), min(a.shape)
    assert f is not None
    assert pivots is not None
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
    @pytest.mark.parametrize("grid", GRIDS, ids=str)
    @pytest.mark.parametrize("shape", SHAPES, ids=str)
    @pytest.mark.parametrize("block", [1, 3, 64])
    def test_shapes(self, shape: tuple[int, int], block: int, grid: tuple[int, int]) -> None:
        check_lu(random_matrix(shape), block, grid)

    @pytest.mark.parametrize("grid", GRIDS, ids=str)
    @pytest.mark.parametrize("dtype", "fFD")
    def test_dtypes(self, dtype: str, grid: tuple[int, int]) -> None:
        check_lu(random_matrix((23, 23), dtype), 5, grid)

    @pytest.mark.parametrize("name", NAMES)
    def test_matrices(self, name: str) -> None:
        for grid in GRIDS:
            check_lu(named_matrix(name, 45), 20, grid)

    @pytest.mark.parametrize("grid", GRIDS, ids=str)
    def test_larger(self, grid: tuple[int, int]) -> None:
        check_lu(random_matrix((257, 257)), 32, grid)

    def test_refuses_other_layouts(self) -> None:
        raises_everywhere(ValueError, "takes a matrix", lambda: lu(pg.ones(4)))
        A = pg.ones((12, 12), layout=pg.Distribution("cyclic(2)", "cyclic(3)"))
        raises_everywhere(ValueError, "square blocks", lambda: lu(A))
