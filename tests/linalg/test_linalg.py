"""`pg.linalg` against NumPy and SciPy, and by residuals; the algorithms themselves have tests of their own."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import scipy.linalg
from numpy.linalg import LinAlgError
from numpy.typing import NDArray

import pgaspy as pg
from pgaspy.linalg import layouts, one_call
from tests.algorithms.test_factorisations import BLOCKS, GRIDS, dealt, on_some_grid
from tests.layouts import NAMES as LAYOUTS
from tests.layouts import layout_of
from tests.matrices import NAMES as MATRICES
from tests.matrices import named_matrix, random_matrix
from tests.together import assert_equal, collectively, raises_everywhere

pytestmark = pytest.mark.mpi


@pytest.fixture(params=["one call", "one call of one process", "blocks"], autouse=True)
def way(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """How matrices are factored, as if they were small, or large, or worth a block algorithm."""
    if request.param != "one call":
        monkeypatch.setattr(one_call, "SMALL", 0)
    if request.param == "blocks":
        monkeypatch.setattr(one_call, "WORTH", -1)
    return str(request.param)


SIZES = [*((n, "d") for n in (0, 1, 2, 3, 5, 10, 50, 257)), (5, "F"), (50, "F")]
HARD = ("badly scaled", "growth")
"""Matrices with which the scaled residual overflows, or grows by 2^44."""

PAIRS = [*zip(LAYOUTS, LAYOUTS[2:] + LAYOUTS[:2], strict=True)]


def gathered(x: Any) -> NDArray[Any]:
    return np.asarray(x.gather() if isinstance(x, pg.GlobalArray) else x)


def positive_definite(n: int, dtype: str = "d") -> NDArray[Any]:
    x = random_matrix((n, n), dtype)
    return np.asarray(x @ x.conj().T + np.eye(n, dtype=dtype))


def check_solution(x: Any, a: NDArray[Any], b: NDArray[Any]) -> None:
    """HPL's scaled residual."""
    found = gathered(x)
    collectively(found.shape == b.shape, f"shape {found.shape}, expected {b.shape}")
    collectively(found.dtype == np.result_type(a.dtype, b.dtype), f"dtype {found.dtype}")
    if b.size:
        norm_a, norm_x, norm_b = (np.abs(y).sum(axis=-1).max() if y.ndim == 2 else np.abs(y).max()
                                  for y in (a, found, b))
        scale = np.finfo(found.dtype).eps * (norm_a * norm_x + norm_b) * len(a)
        collectively(bool(np.abs(a @ found - b).max() < 16 * scale), f"ratio {np.abs(a @ found - b).max() / scale}")


def check_same(found: Any, expected: Any, rtol: float | None = None) -> None:
    """One result, or several, as NumPy or SciPy have them, up to rounding errors."""
    if isinstance(expected, tuple):
        collectively(len(found) == len(expected))
        for x, y in zip(found, expected, strict=True):
            check_same(x, y, rtol)
        return
    expected = np.asarray(expected)
    rtol = rtol or (2e-3 if expected.dtype.char in "fF" else 1e-9)
    assert_equal(found, expected, exact=False, rtol=rtol)


class TestSolve:
    @pytest.mark.parametrize(("n", "dtype"), SIZES)
    def test_sizes(self, n: int, dtype: str) -> None:
        a = random_matrix((n, n), dtype)
        for shape in ((n,), (n, 100)) if n > 50 else ((n,), (n, 0), (n, 1), (n, 5), (n, 100)):
            b = random_matrix(shape, dtype, seed=6)
            check_solution(pg.linalg.solve(pg.array(a), pg.array(b)), a, b)

    @pytest.mark.parametrize("dtypes", ["ff", "dd", "FF", "DD", "fd", "dF", "iD"])
    def test_dtypes(self, dtypes: str) -> None:
        a, b = random_matrix((20, 20), dtypes[0]), random_matrix((20, 3), dtypes[1])
        a = a + 100 * np.eye(20, dtype=a.dtype)
        x = pg.linalg.solve(pg.array(a), pg.array(b))
        check_same(x, np.linalg.solve(a, b), rtol=1e-4)

    def test_integers_and_booleans(self) -> None:
        a, b = np.array([[2, 1], [0, 4]]), np.array([True, False])
        check_same(pg.linalg.solve(pg.array(a), pg.array(b)), np.linalg.solve(a, b))
        check_same(pg.linalg.inv(pg.array([[True, True], [False, True]])), np.array([[1.0, -1], [0, 1]]))

    @pytest.mark.parametrize("names", PAIRS, ids=str)
    def test_layouts(self, names: tuple[str, str]) -> None:
        a, b = random_matrix((50, 50)), random_matrix((50, 4))
        A, B = pg.array(a, layout=layout_of(names[0], a.shape)), pg.array(b, layout=layout_of(names[1], b.shape))
        X, x = pg.linalg.solve(A, B), pg.linalg.solve(A, B[:, 1])
        check_solution(X, a, b)
        check_solution(x, a, b[:, 1])
        collectively(X.layout == B.layout and x.layout == B[:, 1].layout, "the layout is another one")
        inverse = pg.linalg.inv(A)
        collectively(inverse.layout == A.layout, "the layout is another one")
        check_same(inverse, np.linalg.inv(a))
        assert_equal(A, a)
        assert_equal(B, b)

    def test_views(self) -> None:
        a, b = random_matrix((60, 60)), random_matrix((90, 60))
        A, B = pg.array(a, layout=pg.Distribution("cyclic(4)", "cyclic(4)")), pg.array(b)
        for key in (np.s_[::2, ::2], np.s_[1:31, 20:50], np.s_[::-2, 30:]):
            check_solution(pg.linalg.solve(A[key], B[30:60, ::7]), a[key], b[30:60, ::7])
            check_solution(pg.linalg.solve(A[key].T, B[::3, 0]), a[key].T, b[::3, 0])
        check_solution(pg.linalg.solve(A, pg.broadcast_to(B[0], (60, 60)).T), a, np.broadcast_to(b[0], (60, 60)).T)
        check_solution(np.linalg.solve(a, B[:60]), a, b[:60])
        check_solution(np.linalg.solve(A, b[:60]), a, b[:60])
        check_solution(pg.linalg.solve(a, b[:60, 3]), a, b[:60, 3])

    @pytest.mark.parametrize("name", [name for name in MATRICES if name not in ("zero", *HARD)])
    def test_matrices(self, name: str) -> None:
        a, b = named_matrix(name, 45), random_matrix((45, 2))
        check_solution(pg.linalg.solve(pg.array(a), pg.array(b)), a, b)

    @pytest.mark.parametrize("name", HARD)
    def test_residual_is_that_of_lapack(self, name: str) -> None:
        a, b = named_matrix(name, 45), random_matrix((45,))
        found, lapacks = (np.abs(a @ x - b).max() for x in (
            pg.linalg.solve(pg.array(a), pg.array(b)).gather(), np.linalg.solve(a, b)))
        collectively(bool(found <= 30 * lapacks), f"{found}, LAPACK's {lapacks}")

    @pytest.mark.parametrize(("n", "block", "grid"), on_some_grid([0, 1, 2, 3, 5, 10, 50, 257], BLOCKS), ids=str)
    def test_blocks(self, n: int, block: int | None, grid: tuple[int, int]) -> None:
        a, b = random_matrix((n, n)), random_matrix((n, 3))
        check_solution(pg.linalg.solve(dealt(a, block, grid), dealt(b, block, grid)), a, b)

    def test_larger(self) -> None:
        for n, block, grid in ((1000, None, GRIDS[-1]), (1000, 64, GRIDS[0]), (300, 3, GRIDS[0])):
            a, b = random_matrix((n, n)), random_matrix((n,))
            check_solution(pg.linalg.solve(dealt(a, block, grid), pg.array(b)), a, b)

    def test_on_a_grid_of_several_rows(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(layouts, "FLAT_GRIDS", 1)
        a, b = random_matrix((70, 70), "D"), random_matrix((70, 100), "D")
        A, B = pg.array(a), pg.array(b)
        rows, columns = layouts.factored_layout(a.shape).grid
        collectively(rows <= columns and rows * columns == pg.SIZE)
        check_solution(pg.linalg.solve(A, B), a, b)
        check_solution(pg.linalg.solve(A, B[:, :3]), a, b[:, :3])
        check_solution(pg.linalg.lu_solve(pg.linalg.lu_factor(A), B[:, 0], 2), a.conj().T, b[:, 0])
        check_same(pg.linalg.lu(A.real, permute_l=True), scipy.linalg.lu(a.real, permute_l=True))
        check_same(pg.linalg.cholesky(pg.array(positive_definite(70)), upper=True),
                   np.linalg.cholesky(positive_definite(70), upper=True))
        check_same(pg.linalg.qr(A[:, :33]), tuple(np.linalg.qr(a[:, :33])))
        check_same(pg.linalg.trace(A), np.trace(a))
        a[:, 41] = 0
        raises_everywhere(LinAlgError, r"U\[41, 41\] is zero", lambda: pg.linalg.solve(pg.array(a), B))

    def test_singular_is_told_everywhere(self) -> None:
        for n, column in ((1, 0), (20, 7), (60, 59)):
            a = random_matrix((n, n))
            a[:, column] = 0
            for call in (lambda A: pg.linalg.solve(A, pg.ones(len(A))), pg.linalg.inv, np.linalg.inv):
                raises_everywhere(LinAlgError, rf"[Ss]ingular.*U\[{column}, {column}\] is zero",
                                  lambda call=call, a=a: call(pg.array(a)))

    def test_not_finite(self) -> None:
        a = random_matrix((40, 40))
        for bad in (np.nan, np.inf):
            a[3, 17] = bad
            check_same(pg.linalg.solve(pg.array(a), pg.ones(40)), np.linalg.solve(a, np.ones(40)))


class TestLU:
    @pytest.mark.parametrize(("shape", "dtype"), [
        ((1, 1), "d"), ((2, 2), "F"), ((5, 5), "d"), ((50, 50), "d"), ((40, 17), "d"), ((17, 40), "F"), ((1, 5), "d"),
        ((5, 1), "d")], ids=str)
    def test_is_that_of_scipy(self, shape: tuple[int, int], dtype: str) -> None:
        a = random_matrix(shape, dtype)
        A = pg.array(a)
        lu, piv = scipy.linalg.lu_factor(a)
        check_same(pg.linalg.lu_factor(A), (lu, piv.astype(int)))
        p, l, u = scipy.linalg.lu(a, p_indices=True)  # noqa: E741
        check_same(pg.linalg.lu(A, p_indices=True), (p.astype(int), l, u))
        check_same(pg.linalg.lu(A, permute_l=True), (l[p], u))
        P = np.eye(len(a), dtype=np.finfo(dtype).dtype)[p]
        check_same(pg.linalg.lu(A), (P, l, u))
        assert_equal(A, a)

    @pytest.mark.parametrize(("n", "trans"), [(0, 0), (1, 2), (3, 1), (50, 0), (50, 1), (50, 2), (257, 2)])
    def test_systems_with_the_factors(self, n: int, trans: int) -> None:
        a = random_matrix((n, n), "D")
        factors = pg.linalg.lu_factor(pg.array(a))
        of_transpose = (a, a.T, a.conj().T)[trans]
        for shape in ((n,), (n, 3), (n, 70)):
            b = random_matrix(shape, "D", seed=7)
            B = pg.array(b)
            X = pg.linalg.lu_solve(factors, B, trans)
            check_solution(X, of_transpose, b)
            collectively(X.layout == B.layout)

    @pytest.mark.parametrize("name", LAYOUTS)
    def test_layouts(self, name: str) -> None:
        a = random_matrix((30, 20))
        A = pg.array(a, layout=layout_of(name, a.shape))
        check_same(pg.linalg.lu(A), scipy.linalg.lu(a))
        check_same(pg.linalg.lu(A.T), scipy.linalg.lu(a.T))

    def test_factors_that_lie_elsewhere(self) -> None:
        a, b = random_matrix((30, 30)), random_matrix((30, 2))
        lu, piv = scipy.linalg.lu_factor(a)
        check_solution(pg.linalg.lu_solve((lu, piv), b), a, b)
        check_solution(pg.linalg.lu_solve((pg.array(lu), pg.array(piv)), b.astype("D"), 1), a.T, b.astype("D"))

    def test_factors_stay_where_they_are(self) -> None:
        a = random_matrix((100, 100))
        A = pg.array(a).redistribute(layouts.factored_layout(a.shape))
        F, _ = pg.linalg.lu_factor(A)
        assert_equal(A, a)
        collectively(layouts.in_square_blocks(F, F.dtype, overwrite=True) is F)
        overwritten, _ = pg.linalg.lu_factor(A, overwrite_a=True)
        collectively(overwritten is A)
        assert_equal(A, F.gather())

    def test_singular_warns_everywhere(self) -> None:
        a = random_matrix((30, 30))
        a[:, 11] = 0
        raises_everywhere(scipy.linalg.LinAlgWarning, "Diagonal number 12 is exactly zero",
                          lambda: pg.linalg.lu_factor(pg.array(a)))
        with pytest.warns(RuntimeWarning, match="exactly zero"):
            pg.linalg.lu_factor(pg.zeros((3, 3)))


class TestDeterminants:
    @pytest.mark.parametrize(("n", "dtype"), [*((n, "d") for n in (0, 1, 2, 3, 5, 10, 50)), *((20, c) for c in "fFD")])
    def test_sizes(self, n: int, dtype: str) -> None:
        a = random_matrix((n, n), dtype) / max(n, 1) ** 0.5
        check_same(tuple(pg.linalg.slogdet(pg.array(a))), tuple(np.linalg.slogdet(a)))
        found, expected = pg.linalg.det(pg.array(a)), np.linalg.det(a)
        collectively(found.dtype == expected.dtype and abs(found / expected - 1) < (1e-3 if dtype in "fF" else 1e-9))

    def test_extremes(self) -> None:
        for scale in (1e300, 1e-300):
            a = random_matrix((20, 20)) * scale
            check_same(tuple(pg.linalg.slogdet(pg.array(a))), tuple(np.linalg.slogdet(a)))
            collectively(np.abs(pg.linalg.det(pg.array(a))) == (np.inf if scale > 1 else 0))
        for a in (np.zeros((3, 3)), np.ones((2, 2), "F"), np.ones((4, 4), int)):
            collectively(tuple(pg.linalg.slogdet(pg.array(a))) == (0, -np.inf) and np.linalg.det(pg.array(a)) == 0)
        collectively(bool(np.isnan(pg.linalg.det(pg.array(np.full((2, 2), np.nan))))))


class TestCholesky:
    @pytest.mark.parametrize(("n", "dtype"), SIZES)
    def test_sizes(self, n: int, dtype: str) -> None:
        a, b = positive_definite(n, dtype), random_matrix((n, 3), dtype)
        A = pg.array(a)
        for upper in (True,) if n > 50 else (False, True):
            triangle = np.triu(a) + np.tril(np.full_like(a, 9), -1) if upper else np.tril(a)
            L = pg.linalg.cholesky(pg.array(triangle), upper=upper)
            check_same(L, np.linalg.cholesky(a, upper=upper))
            c, lower = pg.linalg.cho_factor(A, upper)
            collectively(lower is upper)
            check_solution(pg.linalg.cho_solve((c, lower), pg.array(b)), a, b)
            check_solution(pg.linalg.cho_solve((L, not upper), pg.array(b[:, 0])), a, b[:, 0])
        assert_equal(A, a)

    @pytest.mark.parametrize("name", LAYOUTS)
    def test_layouts(self, name: str) -> None:
        a = positive_definite(40)
        A = pg.array(a, layout=layout_of(name, a.shape))
        for upper in (False, True):
            L = pg.linalg.cholesky(A, upper=upper)
            collectively(L.layout == A.layout)
            check_same(L, np.linalg.cholesky(a, upper=upper))

    def test_overwrites(self) -> None:
        A = pg.array(positive_definite(40)).redistribute(layouts.factored_layout((40, 40), by_rows=True))
        collectively(pg.linalg.cho_factor(A)[0]._base is not A._base)
        B = A.copy()
        collectively(pg.linalg.cho_factor(B.T, lower=True, overwrite_a=True)[0]._base is B._base)
        collectively(pg.linalg.cho_factor(A, overwrite_a=True)[0] is A)

    @pytest.mark.parametrize("bad", [0.0, -1.0, np.nan])
    def test_indefinite_is_told_everywhere(self, bad: float) -> None:
        a = positive_definite(40)
        a[25, 25] = bad
        raises_everywhere(LinAlgError, "order 26 is not", lambda: pg.linalg.cholesky(pg.array(a)))
        raises_everywhere(LinAlgError, "order 26 is not", lambda: pg.linalg.cho_factor(a, check_finite=False))


class TestTriangular:
    @pytest.mark.parametrize("n", [0, 1, 5, 50])
    @pytest.mark.parametrize("trans", [0, "T", 2])
    @pytest.mark.parametrize("lower", [True, False])
    def test_is_that_of_scipy(self, n: int, lower: bool, trans: int | str) -> None:
        for dtype, unit in (("d", False), ("D", True)):
            a = random_matrix((n, n), dtype) / 10 + 2 * np.eye(n)
            for shape in ((n,), (n, 70)):
                b = random_matrix(shape, dtype)
                options = {"trans": trans, "lower": lower, "unit_diagonal": unit}
                expected = scipy.linalg.solve_triangular(a, b, **options) if n else b  # which SciPy 1.13 refuses
                check_same(pg.linalg.solve_triangular(pg.array(a), pg.array(b), **options), expected)

    def test_transposed_where_it_lies(self) -> None:
        a, b = random_matrix((40, 40)) / 10 + 2 * np.eye(40), random_matrix((40, 2))
        A = pg.array(a).redistribute(layouts.factored_layout(a.shape))
        check_same(pg.linalg.solve_triangular(A.T, b), scipy.linalg.solve_triangular(a.T, b))
        found = pg.explain(lambda: pg.linalg.solve_triangular(A.T, b))
        collectively(not [o for o in found.operations if o.operation == "assign (40, 40)"], str(found))

    def test_zero_on_the_diagonal(self) -> None:
        a = np.eye(30)
        a[21, 21] = 0
        raises_everywhere(LinAlgError, "at diagonal 21", lambda: pg.linalg.solve_triangular(pg.array(a), np.ones(30)))
        check_same(pg.linalg.solve_triangular(a, np.ones(30), unit_diagonal=True), np.ones(30))


class TestQR:
    @pytest.mark.parametrize("shape", [(0, 0), (3, 0), (0, 3), (1, 1), (5, 2), (2, 5), (50, 50), (70, 33), (33, 70)],
                             ids=str)
    @pytest.mark.parametrize("mode", ["reduced", "complete", "r", "raw"])
    def test_is_that_of_numpy(self, shape: tuple[int, int], mode: Any) -> None:
        a = random_matrix(shape, "F" if shape in ((2, 5), (33, 70)) else "d")
        expected = np.linalg.qr(a, mode)
        check_same(pg.linalg.qr(pg.array(a), mode), tuple(expected) if isinstance(expected, tuple) else expected)

    @pytest.mark.parametrize("name", LAYOUTS)
    def test_layouts(self, name: str) -> None:
        a = random_matrix((40, 20))
        A = pg.array(a, layout=layout_of(name, a.shape))
        found = np.linalg.qr(A)
        check_same(found, tuple(np.linalg.qr(a)))
        check_same(np.linalg.qr(A.T), tuple(np.linalg.qr(a.T)))
        collectively(found.Q.layout == A.layout)


    def test_tall(self) -> None:
        for dtype in "dF":
            a = random_matrix((300, 3), dtype)
            a[:, 2] *= 100
            A = pg.array(a)
            Q, R = (x.gather() for x in pg.linalg.qr(A))
            check_same(Q @ R, a, 1e-3 if dtype == "F" else 1e-11)
            check_same(Q.conj().T @ Q, np.eye(3, dtype=dtype), 1e-4)
            check_same(abs(pg.linalg.qr(A, "r")), np.abs(np.linalg.qr(a, "r")))
            for shape in ((300,), (300, 2)):
                b = random_matrix(shape, dtype)
                found, expected = pg.linalg.lstsq(A, pg.array(b)), np.linalg.lstsq(a, b)
                check_same((found[0], found[1], found[3]), (expected[0], expected[1], expected[3]))
            for x in (a, a.T):
                U, S, Vh = pg.linalg.svd(pg.array(x), full_matrices=False)
                check_same((U * S) @ Vh, x, 1e-3 if dtype == "F" else 1e-11)
                check_same(pg.linalg.svdvals(pg.array(x)), np.linalg.svdvals(x))
        a[:, 2] = a[:, 0] + a[:, 1]
        collectively(pg.linalg.lstsq(a, b)[2] == 2)
        a = random_matrix((300, 3))
        check_same(pg.linalg.lu(a, permute_l=True), scipy.linalg.lu(a, permute_l=True))


class TestLeastSquares:
    @pytest.mark.parametrize("shape", [(1, 1), (5, 2), (2, 5), (20, 20), (70, 13), (13, 70)], ids=str)
    def test_is_that_of_numpy(self, shape: tuple[int, int]) -> None:
        m, n = shape
        dtype, b_shape = ("d", (m, 3)) if n != 13 else ("F", (m,))
        a, b = random_matrix(shape, dtype), random_matrix(b_shape, dtype, seed=8)
        x, residuals, rank, s = pg.linalg.lstsq(pg.array(a), pg.array(b))
        expected = np.linalg.lstsq(a, b)
        check_same((x, residuals, s), (expected[0], expected[1], expected[3]))
        collectively(rank == expected[2])

    def test_less_than_full_rank(self) -> None:
        a = random_matrix((20, 3)) @ random_matrix((3, 12))
        b = random_matrix((20, 2))
        for x, rcond in ((a, 1e-10), (a.T, None)):
            y = b[:len(x)]
            found, expected = pg.linalg.lstsq(pg.array(x), pg.array(y), rcond), np.linalg.lstsq(x, y, 1e-10)
            check_same((found[0], found[1]), expected[:2])
            collectively(found[2] == expected[2] == 3)
        graded = np.diag([1.0, 1e-3, 1e-15, 1e-17])
        for rcond, rank in ((None, 3), (-1, 3), (0, 4), (1e-2, 1)):
            collectively(pg.linalg.lstsq(graded, np.ones(4), rcond)[2] == rank)

    def test_empty(self) -> None:
        for shape, r in (((0, 3), 2), ((3, 0), 2), ((0, 0), 1), ((4, 3), 0), ((3, 4), 0)):
            found, expected = (f(np.ones(shape), np.ones((shape[0], r)))
                               for f in (pg.linalg.lstsq, np.linalg.lstsq))
            check_same((found[0], found[1], found[3]), (expected[0], expected[1], expected[3]))
            collectively(found[2] == expected[2])


class TestSingularValues:
    @pytest.mark.parametrize(("shape", "dtype", "full"), [
        ((0, 0), "d", True), ((3, 0), "F", True), ((1, 1), "f", False), ((2, 5), "d", False), ((15, 15), "d", True),
        ((30, 7), "F", True), ((7, 30), "d", True), ((7, 30), "D", False)], ids=str)
    def test_factors(self, shape: tuple[int, int], dtype: str, full: bool) -> None:
        a, k, rtol = random_matrix(shape, dtype), min(shape), 1e-4 if dtype in "fF" else 1e-12
        U, S, Vh = (x.gather() for x in pg.linalg.svd(pg.array(a), full_matrices=full))
        expected = np.linalg.svd(a, full_matrices=full)
        collectively([x.shape for x in (U, S, Vh)] == [x.shape for x in expected])
        collectively([x.dtype for x in (U, S, Vh)] == [x.dtype for x in expected])
        check_same(S, expected[1], rtol)
        check_same((U[:, :k] * S) @ Vh[:k], a, rtol)
        check_same(U.conj().T @ U, np.eye(U.shape[1], dtype=dtype), rtol)
        check_same(Vh @ Vh.conj().T, np.eye(len(Vh), dtype=dtype), rtol)
        if not full:
            check_same(np.linalg.svd(pg.array(a), compute_uv=False), expected[1], rtol)

    @pytest.mark.parametrize(("n", "triangle"), [(0, "L"), (1, "L"), (2, "U"), (12, "L"), (12, "U")])
    def test_hermitian(self, n: int, triangle: Any) -> None:
        a = random_matrix((n, n), "D")
        a = a + a.conj().T
        half = pg.array(np.tril(a) if triangle == "L" else np.triu(a))
        w, V = np.linalg.eigh(half, triangle)
        check_same(w, np.linalg.eigvalsh(a))
        check_same(np.linalg.eigvalsh(half, triangle), np.linalg.eigvalsh(a))
        v = V.gather()
        check_same(a @ v, v * w.gather())
        check_same(v.conj().T @ v, np.eye(n, dtype="D"))
        collectively(V.layout == half.layout)

    def test_wrong_triangle(self) -> None:
        raises_everywhere(ValueError, "UPLO", lambda: pg.linalg.eigh(pg.eye(3), "X"))

    @pytest.mark.parametrize(("shape", "dtype"), [
        ((0, 0), "d"), ((0, 3), "F"), ((1, 1), "d"), ((7, 7), "F"), ((12, 5), "d"), ((5, 12), "D"), ((90, 3), "d"),
        ((6, 4), "i")], ids=str)
    def test_pseudo_inverse(self, shape: tuple[int, int], dtype: str) -> None:
        a = (3 * random_matrix(shape, "d" if dtype == "i" else dtype)).astype(dtype)
        A = pg.array(a)
        expected = np.linalg.pinv(a).astype(np.result_type(a, float) if dtype == "i" else dtype)
        check_same(np.linalg.pinv(A), expected)
        collectively(shape[0] != shape[1] or pg.linalg.pinv(A).layout == A.layout)

    def test_low_rank(self) -> None:
        a = random_matrix((20, 3)) @ random_matrix((3, 12))
        A = pg.array(a)
        collectively(np.linalg.matrix_rank(A) == pg.linalg.matrix_rank(A.T) == 3)
        check_same(pg.linalg.pinv(A), np.linalg.pinv(a, 1e-12))
        check_same(pg.linalg.pinv(pg.zeros((3, 4))), np.zeros((4, 3)))
        graded = np.diag([1.0, 1e-3, 1e-15, 1e-17])
        for options in ({}, {"rtol": 0}, {"rtol": 1e-2}, {"tol": 1e-4}, {"hermitian": True}):
            collectively(pg.linalg.matrix_rank(graded, **options) == np.linalg.matrix_rank(graded, **options))
        check_same(pg.linalg.pinv(graded, 1e-2), np.linalg.pinv(graded, 1e-2))
        check_same(pg.linalg.pinv(graded, rtol=1e-5), np.linalg.pinv(graded, rtol=1e-5))
        for x in (np.zeros(3), np.arange(3.0), np.array(1), np.zeros((0, 3)), np.zeros((3, 3)), np.eye(4, dtype=int)):
            expected = np.linalg.matrix_rank(x) if x.size else 0  # which NumPy 2.0 refuses
            collectively(pg.linalg.matrix_rank(pg.array(x)) == expected)
        raises_everywhere(ValueError, "can't be both", lambda: pg.linalg.matrix_rank(A, 1e-3, rtol=1e-3))
        raises_everywhere(ValueError, "can't be both", lambda: pg.linalg.pinv(A, 1e-3, rtol=1e-3))


class TestNorms:
    @pytest.mark.parametrize(("ord", "dtype"), [
        *((ord, dtype) for ord in (None, "fro", 1, -1, np.inf, -np.inf) for dtype in "di"), (None, "F"), (1, "F"),
        ("nuc", "d"), (2, "F"), (-2, "i")])
    def test_of_matrices(self, ord: Any, dtype: str) -> None:
        a = (10 * random_matrix((12, 7), "d" if dtype == "i" else dtype)).astype(dtype)
        of_values = ord in ("nuc", 2, -2)
        for keepdims in (ord == 2,) if of_values else (False, True):
            check_same(np.linalg.norm(pg.array(a), ord, keepdims=keepdims), np.linalg.norm(a, ord, keepdims=keepdims))
            if not of_values:
                stack = np.stack([a, 2 * a])
                check_same(pg.linalg.norm(pg.array(stack), ord, (2, 1), keepdims),
                           np.linalg.norm(stack, ord, (2, 1), keepdims))

    @pytest.mark.parametrize("ord", [None, 0, 1, 2, 3, 0.5, -1, np.inf, -np.inf])
    def test_of_vectors(self, ord: Any) -> None:
        for dtype in "dF":
            a = random_matrix((20, 13), dtype)
            A = pg.array(a)
            check_same(pg.linalg.norm(A[3], ord), np.linalg.norm(a[3], ord))
            for axis, keepdims in ((0, True), (-1, False)):
                check_same(pg.linalg.norm(A, ord, axis, keepdims), np.linalg.norm(a, ord, axis, keepdims))

    def test_of_anything(self) -> None:
        a = random_matrix((3, 4, 5), "D")
        check_same(pg.linalg.norm(pg.array(a)), np.linalg.norm(a))
        for empty in (np.ones((0, 3)), np.ones(0)):
            check_same(pg.linalg.norm(pg.array(empty), np.inf), 0.0)
        raises_everywhere(ValueError, "Improper number", lambda: pg.linalg.norm(pg.array(a), 1))
        raises_everywhere(ValueError, "Invalid norm order", lambda: pg.linalg.norm(pg.array(a[0]), 3))
        raises_everywhere(ValueError, "Invalid norm order", lambda: pg.linalg.norm(pg.array(a[0, 0]), "fro"))
        raises_everywhere(ValueError, "Duplicate", lambda: pg.linalg.norm(pg.array(a), 1, (0, 0)))
        raises_everywhere(TypeError, "'axis' must be", lambda: pg.linalg.norm(pg.array(a), 1, "x"))
        raises_everywhere(ValueError, "out of bounds", lambda: pg.linalg.norm(pg.array(a), 1, 3))


class TestConditionNumbers:
    @pytest.mark.parametrize("p", [None, 2, -2, 1, -1, np.inf, -np.inf, "fro", "nuc"])
    def test_is_that_of_numpy(self, p: Any) -> None:
        for dtype in ("d", "F") if p in (None, 1) else ("d",):
            a = random_matrix((12, 12), dtype)
            check_same(np.linalg.cond(pg.array(a), p), np.linalg.cond(a, p).real.astype(a.real.dtype))
        check_same(pg.linalg.cond(pg.array(np.eye(3, dtype=int)), p), np.linalg.cond(np.eye(3), p))

    def test_rectangles(self) -> None:
        a = random_matrix((9, 4))
        for p in (None, -2):
            check_same(pg.linalg.cond(pg.array(a), p), np.linalg.cond(a, p))
        raises_everywhere(LinAlgError, "must be square", lambda: pg.linalg.cond(pg.array(a), 1))
        raises_everywhere(LinAlgError, "empty", lambda: pg.linalg.cond(pg.ones((0, 0))))
        raises_everywhere(ValueError, "Invalid norm order", lambda: pg.linalg.cond(pg.eye(3), 3))

    @pytest.mark.parametrize("p", [None, 1, "fro"])
    def test_singular(self, p: Any) -> None:
        for a in (np.zeros((4, 4)), np.diag([1.0, 0, 2])):
            check_same(pg.linalg.cond(pg.array(a), p), np.inf)

    def test_not_finite(self) -> None:
        a = np.diag([1.0, np.nan, 2])
        check_same(pg.linalg.cond(pg.array(a), 1), np.nan)
        raises_everywhere(LinAlgError, "did not converge", lambda: pg.linalg.cond(pg.array(a)))


class TestDiagonals:
    @pytest.mark.parametrize("name", LAYOUTS)
    def test_layouts(self, name: str) -> None:
        for shape, dtype in (((12, 12), "d"), ((7, 19), "?"), ((19, 7), "F"), ((0, 3), "i")):
            a = (3 * random_matrix(shape, "d" if dtype in "i?" else dtype)).astype(dtype)
            A = pg.array(a, layout=layout_of(name, shape))
            for offset in (0, 3, -4, 30):
                assert_equal(pg.diagonal(A, offset), np.diagonal(a, offset))
            check_same(np.trace(A, -1), np.trace(a, -1))
            assert_equal(np.diagonal(A[::-1, ::2].T), np.diagonal(a[::-1, ::2].T))

    def test_of_stacks(self) -> None:
        a = random_matrix((3, 4, 5))
        A = pg.array(a)
        for axes in ((0, 1), (2, 0), (-1, 1)):
            assert_equal(np.diagonal(A, 1, *axes), np.diagonal(a, 1, *axes))
            check_same(np.trace(A, -1, *axes), np.trace(a, -1, *axes))
        assert_equal(np.linalg.diagonal(A, offset=1), np.linalg.diagonal(a, offset=1))
        check_same(pg.linalg.trace(A, offset=1, dtype="D"), np.linalg.trace(a, offset=1, dtype="D"))
        signed = np.diag([-0.0, np.nan, np.inf])
        collectively(np.signbit(pg.diagonal(pg.array(signed)).gather()).tolist()[0])
        raises_everywhere(ValueError, "at least two", lambda: np.trace(A[0, 0]))
        raises_everywhere(ValueError, "cannot be the same", lambda: np.diagonal(A, 0, 1, 1))

    @pytest.mark.parametrize("shape", [(5, 7), (80, 70), (3, 4, 5)])
    def test_nothing_is_written_to_them(self, shape: tuple[int, ...]) -> None:
        a = random_matrix(shape)
        A = pg.array(a)
        found = [A.diagonal(), pg.linalg.diagonal(A, offset=-1), A.diagonal(1)[..., ::-1]]
        writes: list[Callable[[Any], Any]] = [
            lambda d: d.__setitem__(..., 1.0), lambda d: d[..., 1:].__setitem__((..., 0), 1.0),
            lambda d: d.__setitem__(pg.array([1]), d[:1]), lambda d: d.__setitem__(d > 0, 1.0), lambda d: d.fill(1.0),
            lambda d: d.__iadd__(1.0), lambda d: np.hypot(d, d, out=d), lambda d: np.clip(d, 0, 1, out=d),
            lambda d: d.sort(), lambda d: np.put(d, [0], 1.0), lambda d: np.copyto(d, 1.0)]
        for d in [*found, pg.diag(A)] if len(shape) == 2 else found:
            before = d.gather()
            for write in writes:
                raises_everywhere(ValueError, "destination is read-only", lambda d=d, write=write: write(d))
            assert_equal(d, before)
            others = d + 1, d.copy(), pg.einsum("...ii->...i", A[..., -3:, -3:]), pg.zeros_like(d), np.sqrt(abs(d))
            for other in others:
                other[..., 0] = 3.0
                collectively(bool((other[..., 0] == 3).all()))
        assert_equal(A, a)


class TestTriangles:
    @pytest.mark.parametrize("name", LAYOUTS)
    def test_layouts(self, name: str) -> None:
        for shape, dtype in (((12, 12), "d"), ((7, 19), "?"), ((19, 7), "F"), ((0, 3), "i"), ((3, 4, 5), "d")):
            a = (3 * random_matrix(shape, "d" if dtype in "i?" else dtype)).astype(dtype)
            A = pg.array(a, layout=layout_of(name, shape))
            for k in (0, 2, -3, 30, -30):
                assert_equal(pg.tril(A, k), np.tril(a, k))
                assert_equal(np.triu(A, k), np.triu(a, k))
            assert_equal(pg.triu(A[::-1, ::2].T, 1), np.triu(a[::-1, ::2].T, 1))
            assert_equal(pg.tril(A[..., None, 1]), np.tril(a[..., None, 1]))
            collectively(pg.tril(A).layout == A.layout)
            assert_equal(A, a)

    def test_of_vectors_and_scalars(self) -> None:
        x = np.arange(1.0, 6.0)
        assert_equal(pg.tril(pg.array(x), -1), np.tril(x, -1))
        assert_equal(np.triu(pg.array(x)), np.triu(x))
        for call in (np.tril, np.triu):
            raises_everywhere(TypeError, "at least one dimension", lambda call=call: call(pg.array(1.0)))
            raises_everywhere(TypeError, "integer", lambda call=call: call(pg.eye(3), 0.5))

    def test_what_is_not_finite(self) -> None:
        a = np.full((5, 5), np.nan)
        assert_equal(pg.triu(pg.array(a), 2), np.triu(a, 2))

    def test_one_kernel_makes_them(self) -> None:
        A = pg.ones((300, 300))
        pg.sync()
        before = pg.stats()
        L = pg.tril(A, -1)
        pg.sync()
        done = pg.stats() - before
        collectively(done.n_kernels <= 1 and done.n_messages == 0)
        assert_equal(L, np.tril(np.ones((300, 300)), -1))

    @pytest.mark.parametrize("size", [2, 12])
    def test_nothing_moves(self, size: int) -> None:
        for layout in (None, pg.Distribution("cyclic(3)", "cyclic(4)")):
            found = pg.explain(lambda layout=layout: pg.tril(pg.empty((40, 30), layout=layout)), size=size)
            collectively(found.nbytes_received == 0, str(found))


class TestProducts:
    def test_tensordot(self) -> None:
        a, b = random_matrix((3, 4, 5)), random_matrix((5, 4, 2), "F")
        A, B = pg.array(a), pg.array(b)
        for axes in (0, 1, (2, 0), ([1, 2], [1, 0]), ((-1,), (0,)), ([], [])):
            check_same(np.tensordot(A, B, axes), np.tensordot(a, b, axes), 1e-4)
        for axes in (3, ([0, 1, 2], [0, 1, 2])):
            check_same(np.linalg.tensordot(A, a, axes=axes), np.tensordot(a, a, axes))
        check_same(pg.tensordot(A, A[0]), np.tensordot(a, a[0]))
        check_same(pg.tensordot(A[0], A, ((0, 1), (1, 2))), np.tensordot(a[0], a, ((0, 1), (1, 2))))
        raises_everywhere(ValueError, "shape-mismatch", lambda: np.tensordot(A, B))
        raises_everywhere(ValueError, "duplicate", lambda: np.tensordot(A, A, ([0, 0], [0, 0])))

    def test_vecdot(self) -> None:
        a, b = random_matrix((3, 4, 5), "D"), random_matrix((4, 5))
        check_same(pg.linalg.vecdot(pg.array(a), pg.array(b)), np.vecdot(a, b))
        check_same(np.linalg.vecdot(pg.array(b), a), np.vecdot(b, a))
        check_same(pg.vecdot(pg.array(a), pg.array(a), axis=1), np.vecdot(a, a, axis=1))
        check_same(np.vecdot(pg.array(a), pg.array(b)), np.vecdot(a, b))
        check_same(np.vecdot(b, pg.array(a), axis=-2), np.vecdot(b, a, axis=-2))
        out = pg.zeros((3, 4), "D")
        collectively(np.vecdot(pg.array(a), b, out=out) is out)
        check_same(out, np.vecdot(a, b))
        i = np.arange(12, dtype="i1").reshape(3, 4)
        assert_equal(pg.linalg.vecdot(pg.array(i), pg.array(i)), np.vecdot(i, i))
        assert_equal(pg.linalg.vecdot(pg.array(i > 2), pg.array(i > 7)), np.vecdot(i > 2, i > 7))
        raises_everywhere(ValueError, "differ", lambda: pg.linalg.vecdot(pg.ones((3, 1)), pg.ones((3, 4))))
        raises_everywhere(ValueError, "dimensions", lambda: pg.linalg.vecdot(pg.ones(3), 2.0))

    def test_outer_and_matmul(self) -> None:
        a, b = random_matrix((5,)), random_matrix((7,))
        check_same(np.linalg.outer(pg.array(a), pg.array(b)), np.outer(a, b))
        raises_everywhere(ValueError, "one-dimensional", lambda: pg.linalg.outer(pg.ones((2, 2)), pg.ones(2)))
        check_same(np.linalg.matmul(pg.array(a), pg.array(a)), a @ a)

    @pytest.mark.parametrize("n", [-3, -1, 0, 1, 2, 3, 5, 8])
    def test_powers(self, n: int) -> None:
        for a in (random_matrix((20, 20), "D"), np.arange(9).reshape(3, 3) + 5 * np.eye(3, dtype=int)):
            check_same(np.linalg.matrix_power(pg.array(a), n), np.linalg.matrix_power(a, n), 1e-8)

    def test_refused_powers(self) -> None:
        raises_everywhere(TypeError, "must be an integer", lambda: pg.linalg.matrix_power(pg.eye(3), 0.5))
        raises_everywhere(LinAlgError, "must be square", lambda: pg.linalg.matrix_power(pg.ones((3, 4)), 2))
        raises_everywhere(LinAlgError, "ingular", lambda: pg.linalg.matrix_power(pg.ones((3, 3)), -2))


SQUARE_ONLY: dict[str, Callable[[Any], Any]] = {
    "solve": lambda A: pg.linalg.solve(A, A[..., 0]), "inv": pg.linalg.inv, "det": pg.linalg.det,
    "slogdet": pg.linalg.slogdet, "cholesky": pg.linalg.cholesky, "cho_factor": pg.linalg.cho_factor,
    "cho_solve": lambda A: pg.linalg.cho_solve((A, True), A[..., 0]),
    "lu_solve": lambda A: pg.linalg.lu_solve((A, np.arange(len(A))), A[..., 0]),
    "solve_triangular": lambda A: pg.linalg.solve_triangular(A, A[..., 0]), "eigh": pg.linalg.eigh,
    "eigvalsh": pg.linalg.eigvalsh,
}
ANY_MATRIX: dict[str, Callable[[Any], Any]] = SQUARE_ONLY | {
    "lu": pg.linalg.lu, "lu_factor": pg.linalg.lu_factor, "qr": pg.linalg.qr, "svd": pg.linalg.svd,
    "svdvals": pg.linalg.svdvals, "lstsq": lambda A: pg.linalg.lstsq(A, A[..., 0]),
}
NO_STACKS = "lu", "lu_factor", "cho_factor", "lstsq"
CHECKED: dict[str, Callable[..., Any]] = {
    "lu": pg.linalg.lu, "lu_factor": pg.linalg.lu_factor, "cho_factor": pg.linalg.cho_factor,
    "solve_triangular": lambda A, **o: pg.linalg.solve_triangular(A, np.ones(len(A)), **o),
    "right-hand sides of it": lambda A, **o: pg.linalg.solve_triangular(np.eye(len(A)), A, **o),
    "cho_solve": lambda A, **o: pg.linalg.cho_solve((np.eye(len(A)), True), A, **o),
    "lu_solve": lambda A, **o: pg.linalg.lu_solve((np.eye(len(A)), np.arange(len(A))), A, **o),
}


class TestErrors:
    @pytest.mark.parametrize("name", SQUARE_ONLY)
    def test_not_square(self, name: str) -> None:
        raises_everywhere(LinAlgError, "must be square", lambda: SQUARE_ONLY[name](pg.ones((4, 5))))

    @pytest.mark.parametrize("name", ANY_MATRIX)
    def test_dimensions_and_dtypes(self, name: str) -> None:
        call = ANY_MATRIX[name]
        raises_everywhere(LinAlgError, "at least two-dimensional", lambda: call(pg.ones(4)))
        raises_everywhere(TypeError, "float16 is unsupported", lambda: call(pg.ones((4, 4), np.float16)))
        raises_everywhere(TypeError, f"{np.dtype('g')} is unsupported", lambda: call(pg.ones((4, 4), "g")))

    @pytest.mark.parametrize("name", NO_STACKS)
    def test_stacks_are_refused(self, name: str) -> None:
        raises_everywhere(LinAlgError, "3-dimensional array given", lambda: ANY_MATRIX[name](pg.ones((2, 4, 4))))

    @pytest.mark.parametrize("name", CHECKED)
    @pytest.mark.parametrize("bad", [np.nan, -np.inf])
    def test_not_finite(self, name: str, bad: float) -> None:
        a = np.eye(30) * 2
        a[28, 3] = bad
        raises_everywhere(ValueError, "must not contain infs or NaNs", lambda: CHECKED[name](pg.array(a)))
        CHECKED[name](pg.array(np.eye(30) * 2), check_finite=False)

    def test_right_hand_sides(self) -> None:
        A = pg.eye(5)
        factors = pg.linalg.lu_factor(A)
        for solve in (pg.linalg.solve, pg.linalg.solve_triangular, lambda A, b: pg.linalg.lu_solve(factors, b),
                      lambda A, b: pg.linalg.cho_solve((A, True), b)):
            raises_everywhere(ValueError, "4 is not 5", lambda solve=solve: solve(A, pg.ones((4, 2))))
            if solve is not pg.linalg.solve:  # which takes stacks
                raises_everywhere(ValueError, r"shape \(5,\) or", lambda solve=solve: solve(A, pg.ones((5, 2, 2))))
        raises_everywhere(LinAlgError, "Incompatible", lambda: pg.linalg.lstsq(A, pg.ones(4)))
        raises_everywhere(ValueError, "5 integers", lambda: pg.linalg.lu_solve((A, np.zeros(4, int)), pg.ones(5)))
        raises_everywhere(ValueError, "trans=3", lambda: pg.linalg.lu_solve(factors, pg.ones(5), 3))
        raises_everywhere(ValueError, "trans='X'", lambda: pg.linalg.solve_triangular(A, pg.ones(5), "X"))
        raises_everywhere(ValueError, "Unrecognized mode", lambda: pg.linalg.qr(A, "all"))

    def test_not_converging(self) -> None:
        a = np.full((4, 4), np.nan)
        for call in (pg.linalg.svd, pg.linalg.svdvals, pg.linalg.eigh, lambda A: pg.linalg.lstsq(A, np.ones(4))):
            raises_everywhere(LinAlgError, "did not converge", lambda call=call: call(pg.array(a)))


@pytest.mark.parametrize("name", ["solve", "inv", "lu_factor", "lu", "lu_solve", "solve_triangular", "norm", "trace",
                                  "qr"])
def test_explain(name: str) -> None:
    """What is planned moves the matrix once, to square blocks or to one process, and needs nothing that is computed."""
    n = 200

    def statement() -> None:
        A, b = pg.empty((n, n)), pg.empty(n)
        factors = A, np.zeros(n, int)
        arguments = {"solve": (A, b), "solve_triangular": (A, b), "lu_solve": (factors, b)}.get(name, (A,))
        getattr(pg.linalg, name)(*arguments)

    for size in (2, 12):
        found = pg.explain(statement, size=size)
        names = [o.operation for o in found.operations]
        tasks = [k for k, operation in enumerate(names) if operation.startswith("task")]
        first = tasks[0] if name in ("inv", "lu", "qr") else len(names)  # the results move as well
        moves = [o for o in found.operations[:first] if o.operation == f"assign ({n}, {n})" and (
            o.nbytes_received or o.nbytes_sent)]
        collectively(len(moves) == (0 if name in ("norm", "trace") else 1), str(found))


def test_numpy_finds_them() -> None:
    a = positive_definite(10)
    A = pg.array(a)
    for name in ("solve", "inv", "det", "slogdet", "cholesky", "qr", "norm", "trace", "diagonal", "tensordot"):
        arguments = (A, A) if name in ("solve", "tensordot") else (A,)
        expected = getattr(np.linalg, name)(*(a for _ in arguments))
        found = getattr(np.linalg, name)(*arguments)
        check_same(tuple(found) if isinstance(expected, tuple) else found,
                   tuple(expected) if isinstance(expected, tuple) else expected)
    collectively(set(pg.linalg.__all__) <= set(dir(pg.linalg)) and pg.linalg.LinAlgError is LinAlgError)
