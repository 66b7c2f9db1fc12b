"""Singular values and eigenvalues by the Jacobi method, by LAPACK's test ratios and against NumPy's."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import pgaspy as pg
from pgaspy.algorithms import jacobi
from pgaspy.algorithms.eigh import eigh, eigvalsh
from pgaspy.algorithms.svd import svd, svdvals
from tests.matrices import NAMES, named_matrix, random_matrix
from tests.together import assert_equal, collectively, raises_everywhere

pytestmark = pytest.mark.mpi

SHAPES = [(0, 0), (0, 3), (3, 0), (1, 1), (2, 2), (3, 3), (5, 5), (10, 10), (50, 50), (1, 7), (90, 7), (17, 40)]
SIZES = [0, 1, 2, 3, 5, 10, 50]
MAX_RATIO = 30.0


def ratio(error: NDArray[Any], a: NDArray[Any]) -> float:
    """LAPACK's: the 1-norm of an error over that of the matrix, its extent and the precision."""
    if not a.size:
        return 0.0
    scale = max(np.abs(a).max(), np.finfo(a.dtype).tiny)
    norm = (np.abs(a) / scale).sum(axis=0).max()
    return float((np.abs(error) / scale).sum(axis=0).max() / (max(a.shape) * np.finfo(a.dtype).eps * norm or 1))


def not_orthonormal(q: NDArray[Any]) -> float:
    one = np.eye(q.shape[1], dtype=q.dtype)
    return ratio(q.conj().T @ q - one, one)


def has_values(found: NDArray[Any], expected: NDArray[Any], a: NDArray[Any]) -> float:
    """The largest error of singular values or eigenvalues, over n eps ||A||."""
    largest = np.abs(expected).max(initial=0)
    return float(np.abs(found - expected).max(initial=0) / (max(a.shape) * np.finfo(a.dtype).eps * largest or 1))


def check_svd(a: NDArray[Any]) -> None:
    A = pg.array(a)
    U, s, Vh = (x.gather() for x in svd(A))
    k = min(a.shape)
    real = a.real.dtype
    collectively((U.shape, s.shape, Vh.shape) == ((a.shape[0], k), (k,), (k, a.shape[1])), f"{U.shape} {Vh.shape}")
    collectively((U.dtype, s.dtype, Vh.dtype) == (a.dtype, real, a.dtype), f"{U.dtype} {s.dtype} {Vh.dtype}")
    collectively(bool((np.diff(s) <= 0).all() and (s >= 0).all()), f"not in order: {s}")
    ratios = {"residual": ratio(a - (U * s) @ Vh, a), "U": not_orthonormal(U), "V": not_orthonormal(Vh.conj().T),
              "values": has_values(s, np.linalg.svd(a, compute_uv=False), a)}
    collectively(max(ratios.values()) <= MAX_RATIO, f"ratios {ratios}")
    assert_equal(A, a)


def check_eigh(a: NDArray[Any]) -> None:
    A = pg.array(a)
    w, V = (x.gather() for x in eigh(A))
    h = np.tril(a, -1) + np.tril(a, -1).conj().T + np.diag(np.diagonal(a).real).astype(a.dtype)
    collectively((w.shape, V.shape) == ((len(a),), a.shape), f"{w.shape} {V.shape}")
    collectively((w.dtype, V.dtype) == (a.real.dtype, a.dtype), f"{w.dtype} {V.dtype}")
    collectively(bool((np.diff(w) >= 0).all()), f"not in order: {w}")
    ratios = {"residual": ratio(h @ V - V * w, h), "V": not_orthonormal(V),
              "values": has_values(w, np.linalg.eigvalsh(a), a)}
    collectively(max(ratios.values()) <= MAX_RATIO, f"ratios {ratios}")
    assert_equal(A, a)


class TestSVD:
    @pytest.mark.parametrize("shape", SHAPES, ids=str)
    def test_shapes(self, shape: tuple[int, int]) -> None:
        check_svd(random_matrix(shape))

    @pytest.mark.parametrize("dtype", "fFD")
    def test_dtypes(self, dtype: str) -> None:
        check_svd(random_matrix((15, 23), dtype))

    @pytest.mark.parametrize("name", NAMES)
    def test_matrices(self, name: str) -> None:
        check_svd(named_matrix(name, 25))

    def test_repeated_values(self) -> None:
        n = 25
        u, v = (np.linalg.qr(random_matrix((n, n), seed=seed))[0] for seed in (1, 2))
        check_svd((u * np.repeat([3.0, 1.0, 1e-3, 0.0, 0.0], n // 5)) @ v)
        check_svd(np.eye(n) + np.outer(u[0], v[0]))

    def test_few_columns_of_low_rank(self) -> None:
        check_svd(np.ones((90, 7)))
        check_svd(np.outer(np.arange(25.0), np.arange(25.0)))

    def test_values_in_any_order(self) -> None:
        check_svd(np.diag(np.random.default_rng(3).permutation(25).astype(float)))

    def test_any_layout(self) -> None:
        a = random_matrix((20, 13))
        A = pg.array(a, layout=pg.Distribution("cyclic(3)", "cyclic(2)"))
        U, s, Vh = svd(A[::-1])
        assert_equal(U @ (s[:, None] * Vh), a[::-1], exact=False)

    def test_values_alone(self) -> None:
        for shape in ((0, 3), (50, 50), (90, 7), (17, 40)):
            a = random_matrix(shape)
            found = svdvals(pg.array(a)).gather()
            collectively(has_values(found, np.linalg.svd(a, compute_uv=False), a) <= MAX_RATIO)

    def test_refuses_other_arrays(self) -> None:
        raises_everywhere(ValueError, "takes a matrix", lambda: svd(pg.ones(4)))
        raises_everywhere(TypeError, "float32, float64", lambda: svd(pg.ones((4, 4), int)))

    @pytest.mark.parametrize("value", [np.nan, np.inf])
    def test_refuses_what_is_not_finite(self, value: float) -> None:
        a = random_matrix((9, 9))
        a[3, 1] = value
        raises_everywhere(np.linalg.LinAlgError, "did not converge", lambda: svd(pg.array(a)))
        raises_everywhere(np.linalg.LinAlgError, "did not converge", lambda: svdvals(pg.array(a.T)))
        raises_everywhere(np.linalg.LinAlgError, "did not converge", lambda: eigh(pg.array(a)))

    @pytest.mark.skipif(pg.SIZE == 1, reason="one process calls LAPACK")
    def test_too_few_sweeps(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(jacobi, "MAX_SWEEPS", 2)
        raises_everywhere(np.linalg.LinAlgError, "did not converge in 2 sweeps", lambda: svd(pg.array(
            random_matrix((25, 25)))))

    @pytest.mark.skipif(pg.SIZE == 1, reason="one process calls LAPACK")
    def test_failure_of_a_rotation(self, monkeypatch: pytest.MonkeyPatch) -> None:
        def fails(G: NDArray[Any], slack: float) -> NDArray[Any]:
            raise np.linalg.LinAlgError("SVD did not converge")

        monkeypatch.setattr(jacobi, "MAX_SWEEPS", 2)
        monkeypatch.setattr(jacobi, "rotation", fails)
        raises_everywhere(np.linalg.LinAlgError, "did not converge in 2 sweeps", lambda: svd(pg.array(
            random_matrix((25, 25)))))


class TestEigh:
    @pytest.mark.parametrize("n", SIZES)
    def test_sizes(self, n: int) -> None:
        check_eigh(random_matrix((n, n)))

    @pytest.mark.parametrize("dtype", "fFD")
    def test_dtypes(self, dtype: str) -> None:
        check_eigh(random_matrix((15, 15), dtype))

    @pytest.mark.parametrize("name", NAMES)
    def test_matrices(self, name: str) -> None:
        check_eigh(named_matrix(name, 25))

    def test_repeated_and_opposite_values(self) -> None:
        n = 25
        q = np.linalg.qr(random_matrix((n, n)))[0]
        check_eigh((q * np.repeat([1.0, -1.0, 2.0, -2.0, 0.0], n // 5)) @ q.T)
        check_eigh(np.ones((n, n)))
        check_eigh(-np.eye(n))

    def test_reads_the_lower_triangle_only(self) -> None:
        a = random_matrix((15, 15), "D")
        a[np.triu_indices(15, 1)] = np.nan
        w = eigvalsh(pg.array(a)).gather()
        collectively(has_values(w, np.linalg.eigvalsh(a), a) <= MAX_RATIO)

    def test_refuses_other_arrays(self) -> None:
        raises_everywhere(ValueError, "square matrix", lambda: eigh(pg.ones((4, 3))))


def test_larger() -> None:
    check_svd(random_matrix((257, 257)))
    check_svd(random_matrix((100, 100), "F"))
    check_eigh(random_matrix((257, 257)))


@pytest.mark.long
def test_large() -> None:
    check_svd(random_matrix((1000, 1000)))
    check_eigh(random_matrix((1000, 1000)))


def test_round_robin() -> None:
    """In a sweep each block meets each other one once, and comes back."""
    for p in (2, 3, 4, 7):
        order, pairs = np.arange(2 * p), set()
        for _ in range(2 * p - 1):
            pairs |= {frozenset(pair) for pair in order.reshape(p, 2).tolist()}
            jacobi.move(order)
        assert len(pairs) == p * (2 * p - 1)
        np.testing.assert_array_equal(order, np.arange(2 * p))
