"""QR factorisations, by LAPACK's test ratios, on every grid of the job's processes."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import pgaspy as pg
from pgaspy.algorithms import _command_lines as programs
from pgaspy.algorithms import qr as program
from pgaspy.algorithms.qr import apply_q, form_q, qr
from pgaspy.lapack import factor_qr
from tests.algorithms.test_algorithms import exit_code
from tests.algorithms.test_factorisations import BLOCKS, GRIDS, LARGE, MAX_RATIO, SHAPES, dealt, on_some_grid, ratio
from tests.matrices import NAMES, named_matrix, random_matrix
from tests.together import assert_equal, collectively, raises_everywhere

pytestmark = pytest.mark.mpi


def check_factors(a: NDArray[Any], q: NDArray[Any], r: NDArray[Any]) -> None:
    """That A = Q R, and that Q has orthonormal columns."""
    one = np.eye(q.shape[1], dtype=q.dtype)
    scale = math.ldexp(1.0, -math.frexp(np.abs(a).max(initial=0))[1])  # sums of large elements are finite so
    found, lost = ratio(q @ (r * scale) - a * scale, a * scale), ratio(q.conj().T @ q - one, one)
    collectively(found <= MAX_RATIO, f"ratio of A - Q R: {found}")
    collectively(lost <= MAX_RATIO, f"ratio of I - Q^H Q: {lost}")


def check_qr(a: NDArray[Any], block: int | None, grid: tuple[int, int]) -> NDArray[Any]:
    """Factor a matrix and check the factors; what is left of it."""
    A = dealt(a, block, grid)
    T = qr(A)
    f, q = A.gather(), form_q(A, T, len(a)).gather()
    collectively(T.shape == (block or max(a.shape) + 1, min(a.shape)) and q.dtype == f.dtype == a.dtype)
    check_factors(a, q, np.triu(f))
    return f


class TestQR:
    @pytest.mark.parametrize(("shape", "block", "grid"), [
        (shape, block, grid) for shape, block, grid in on_some_grid(SHAPES, BLOCKS)
        if block != 1 or max(shape) < 50], ids=str)  # for time's sake
    def test_shapes(self, shape: tuple[int, int], block: int | None, grid: tuple[int, int]) -> None:
        check_qr(random_matrix(shape), block, grid)

    @pytest.mark.parametrize(("shape", "dtype", "grid"), on_some_grid([(23, 23), (31, 17), (17, 31)], "fdFD"), ids=str)
    def test_is_that_of_lapack(self, shape: tuple[int, int], dtype: str, grid: tuple[int, int]) -> None:
        a = random_matrix(shape, dtype)
        A = dealt(a, 5, grid)
        T, k = qr(A), min(shape)
        h, tau = np.linalg.qr(a, mode="raw")
        rtol = 500 * np.finfo(dtype).eps
        assert_equal(A, h.T.astype(dtype), exact=False, rtol=rtol)
        assert_equal(T.gather()[np.arange(k) % 5, np.arange(k)], tau.astype(dtype), exact=False, rtol=rtol)
        check_qr(a, 5, grid)

    @pytest.mark.parametrize("name", NAMES)
    def test_matrices(self, name: str) -> None:
        check_qr(named_matrix(name, 45), 20, GRIDS[-1])
        check_qr(named_matrix(name, 45)[::-1].astype("D"), 20, GRIDS[len(GRIDS) // 2])

    @pytest.mark.parametrize(("kind", "grid"), on_some_grid([("d", 150), ("d", 304), ("f", 37), ("D", 150), ("F", 36)]),
                             ids=str)
    def test_scales(self, kind: tuple[str, int], grid: tuple[int, int]) -> None:
        """Elements whose squares overflow or underflow; also where only the later columns of a panel are so small."""
        dtype, largest = kind
        a = random_matrix((30, 20), dtype) / 100
        for scale in (10.0 ** np.linspace(-largest, largest, 20), 10.0 ** np.linspace(largest, -largest, 30)[:, None],
                      10.0**largest, 10.0**-largest):
            check_qr((a.astype("D" if dtype in "FD" else "d") * scale).astype(dtype), 8, grid)

    @pytest.mark.parametrize("grid", GRIDS, ids=str)
    def test_numbers_below_the_smallest_normal_one(self, grid: tuple[int, int]) -> None:
        a = np.round(random_matrix((20, 6)) * 1e6) * 5e-324
        A = dealt(a, 3, grid)
        q = form_q(A, qr(A), 6).gather()
        check_factors(q, q, np.eye(6))
        r, scale = np.triu(A.gather()[:6]), 2.0**1000
        collectively(bool(np.abs(q @ (r * scale) - a * scale).max() <= 50 * 5e-324 * scale), "A - Q R")

    @pytest.mark.parametrize(("zeros", "grid"),
                             on_some_grid([slice(None), slice(0, 3), slice(4, 5), slice(9, None)]), ids=str)
    def test_zero_columns(self, zeros: slice, grid: tuple[int, int]) -> None:
        for dtype in "dD":
            a = random_matrix((12, 10), dtype)
            a[:, zeros] = 0
            check_qr(a, 4, grid)

    @pytest.mark.parametrize("grid", GRIDS, ids=str)
    def test_complex_triangles_get_a_real_diagonal(self, grid: tuple[int, int]) -> None:
        f = check_qr(np.triu(random_matrix((11, 11), "D")), 4, grid)
        collectively(bool((f.diagonal().imag == 0).all()), f"{f.diagonal()}")

    @pytest.mark.parametrize("grid", GRIDS, ids=str)
    def test_larger(self, grid: tuple[int, int]) -> None:
        check_qr(random_matrix((257, 257)), 32, grid)

    @pytest.mark.parametrize(("n", "block"), [(257, None), (1000, 64)])
    def test_whole_columns(self, n: int, block: int | None) -> None:
        check_qr(random_matrix((n, n)), block, GRIDS[0])

    @pytest.mark.long
    @pytest.mark.parametrize("grid", GRIDS, ids=str)
    @pytest.mark.parametrize(("n", "block"), LARGE)
    def test_large(self, n: int, block: int | None, grid: tuple[int, int]) -> None:
        check_qr(random_matrix((n, n)), block, grid)

    @pytest.mark.long
    @pytest.mark.parametrize(("block", "grid"), on_some_grid([1, 3]))
    def test_large_in_small_blocks(self, block: int, grid: tuple[int, int]) -> None:
        check_qr(random_matrix((257, 257)), block, grid)

    @pytest.mark.parametrize(("at", "bad", "grid"), on_some_grid([(0, 0), (6, 3), (11, 9)], [np.nan, np.inf]), ids=str)
    def test_what_is_not_finite_hangs_nobody(self, at: tuple[int, int], bad: float, grid: tuple[int, int]) -> None:
        a = random_matrix((12, 10))
        a[at] = bad
        A = dealt(a, 3, grid)
        qr(A)
        collectively(not np.isfinite(np.triu(A.gather()[:10])[:, at[1]:]).all())

    def test_refuses_other_layouts(self) -> None:
        raises_everywhere(ValueError, "takes a matrix", lambda: qr(pg.ones(4)))
        A = pg.ones((12, 12), layout=pg.Distribution("cyclic(2)", "cyclic(3)"))
        raises_everywhere(ValueError, "square blocks", lambda: qr(A))


class TestQ:
    @pytest.mark.parametrize(("shape", "dtype", "grid"),
                             on_some_grid([(20, 20), (24, 9), (9, 24), (5, 0)], "dF"), ids=str)
    def test_apply(self, dtype: str, shape: tuple[int, int], grid: tuple[int, int]) -> None:
        A = dealt(random_matrix(shape, dtype), 4, grid)
        T = qr(A)
        q = form_q(A, T, shape[0]).gather()
        rtol = 100 * np.finfo(dtype).eps
        for r in (0, 1, 11):
            c = random_matrix((shape[0], r), dtype, seed=r)
            C = dealt(c, 4, grid)
            apply_q(A, T, C)
            assert_equal(C, q @ c, exact=False, rtol=rtol)
            apply_q(A, T, C, adjoint=True)
            assert_equal(C, c, exact=False, rtol=rtol)
            D = pg.array(c, layout=pg.Distribution("cyclic(4)", "block", grid=grid))
            apply_q(A, T, D, adjoint=True)
            assert_equal(D, q.conj().T @ c, exact=False, rtol=rtol)

    @pytest.mark.parametrize(("k", "grid"), on_some_grid([0, 1, 6, 9, 24]), ids=str)
    def test_first_columns(self, k: int, grid: tuple[int, int]) -> None:
        A = dealt(random_matrix((24, 9)), 4, grid)
        T = qr(A)
        assert_equal(form_q(A, T, k), form_q(A, T, 24).gather()[:, :k], exact=False)

    def test_refuses_what_does_not_conform(self) -> None:
        A = dealt(np.eye(6), 2, GRIDS[0])
        T = qr(A)
        raises_everywhere(ValueError, "is not applied", lambda: apply_q(A, T, dealt(np.ones((5, 2)), 2, GRIDS[0])))
        raises_everywhere(ValueError, "is not applied", lambda: apply_q(A, T, dealt(np.ones((6, 2), "f"), 2, GRIDS[0])))
        C = pg.ones((6, 2), layout=pg.Distribution("cyclic(1)", "*"))
        raises_everywhere(ValueError, "redistribute", lambda: apply_q(A, T, C))


@pytest.mark.parametrize("dtype", "fdFD")
@pytest.mark.parametrize("order", "CF")
@pytest.mark.parametrize("shape", [(0, 0), (4, 0), (1, 1), (9, 4), (70, 33)], ids=str)
def test_factor_qr(shape: tuple[int, int], order: Any, dtype: str) -> None:
    a = random_matrix(shape, dtype)
    f, n = np.array(a, order=order), shape[1]
    t = np.full((n, n), np.nan, dtype)
    factor_qr(f, t)
    v = np.tril(f, -1)
    np.fill_diagonal(v, 1)
    q = np.eye(len(a), dtype=dtype) - v @ t @ v.conj().T
    check_factors(a, q, np.triu(f))
    collectively(not np.tril(t, -1).any() and not f.diagonal().imag.any())


class TestProgram:
    def test_program(self, tmp_path: Path) -> None:
        folder = Path(pg.COMM.bcast(str(tmp_path)))
        a = np.random.default_rng(6).random((30, 25))
        pg.save(folder / "a.npy", a)
        assert exit_code(programs.qr_program, folder / "a.npy", "-o", folder / "r.npy", "--block", 7) == 0
        r = np.triu(pg.load(folder / "r.npy").gather()[:25])
        assert_equal(r.T @ r, a.T @ a, exact=False)
        assert exit_code(programs.qr_program, 50, "--block", 8, "--grid-rows", pg.SIZE) == 0
        assert exit_code(programs.qr_program, 50, "--block", 0) == 2

    def test_a_wrong_result_fails(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(program, "set_unit_lower", lambda v, rows: None)
        assert exit_code(programs.qr_program, 150) == 1
