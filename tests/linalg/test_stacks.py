"""`pg.linalg` of stacks of matrices, and of what is whole on one process, against NumPy."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from numpy.linalg import LinAlgError
from numpy.typing import NDArray

import pgaspy as pg
from tests.layouts import NAMES as LAYOUTS
from tests.layouts import layout_of
from tests.matrices import random_matrix
from tests.together import assert_equal, collectively, raises_everywhere

pytestmark = pytest.mark.mpi

SHAPES = [(5, 3, 3), (1, 4, 4), (2, 3, 4, 4), (0, 3, 3), (1, 40, 2, 2), (3, 0, 0), (1, 1, 3, 3)]
CALLS: dict[str, Callable[..., Any]] = {
    "inv": np.linalg.inv, "det": np.linalg.det, "slogdet": np.linalg.slogdet, "cholesky": np.linalg.cholesky,
    "upper": functools.partial(np.linalg.cholesky, upper=True), "qr": np.linalg.qr, "svd": np.linalg.svd,
    "complete": functools.partial(np.linalg.qr, mode="complete"), "r": functools.partial(np.linalg.qr, mode="r"),
    "raw": functools.partial(np.linalg.qr, mode="raw"), "svdvals": np.linalg.svdvals,
    "reduced svd": functools.partial(np.linalg.svd, full_matrices=False),
    "values alone": functools.partial(np.linalg.svd, compute_uv=False), "eigh": np.linalg.eigh, "eig": np.linalg.eig,
    "upper triangle": functools.partial(np.linalg.eigvalsh, UPLO="U"), "eigvalsh": np.linalg.eigvalsh,
    "eigvals": np.linalg.eigvals, "power": functools.partial(np.linalg.matrix_power, n=-2),
    "pinv": functools.partial(np.linalg.pinv, rcond=1e-4), "rank": np.linalg.matrix_rank,
    "Hermitian rank": functools.partial(np.linalg.matrix_rank, hermitian=True, tol=0.1),
    "trace": np.linalg.trace, "solve": lambda a: np.linalg.solve(a, a[..., :2]),
}
OF_ELEMENTS = {"cond": np.linalg.cond, "cond 1": functools.partial(np.linalg.cond, p=1),
               "norm 2": functools.partial(np.linalg.norm, ord=2, axis=(-1, -2)),
               "norm -2": functools.partial(np.linalg.norm, ord=-2, axis=(-1, 0)),
               "nuclear": functools.partial(np.linalg.norm, ord="nuc", axis=(0, -1), keepdims=True)}


def positive_definite(shape: tuple[int, ...], dtype: str = "d") -> NDArray[Any]:
    x = random_matrix(shape, dtype)
    return np.asarray(x @ np.swapaxes(x, -1, -2).conj() + np.eye(shape[-1], dtype=dtype))


def check_same(found: Any, expected: Any) -> None:
    """One result, or several of a type of the same name, up to rounding errors."""
    if isinstance(expected, tuple):
        collectively(type(found).__name__ == type(expected).__name__, f"{type(found)}")
        for x, y in zip(found, expected, strict=True):
            check_same(x, y)
        return
    assert_equal(found, expected, exact=False, rtol=2e-3 if np.asarray(expected).dtype.char in "fF" else 1e-9)


@pytest.mark.parametrize("shape", SHAPES, ids=str)
@pytest.mark.parametrize("name", CALLS)
def test_shapes(name: str, shape: tuple[int, ...]) -> None:
    a = positive_definite(shape)
    check_same(CALLS[name](pg.array(a)), CALLS[name](a))


@pytest.mark.parametrize("name", OF_ELEMENTS)
@pytest.mark.parametrize("layout", LAYOUTS)
def test_norms(name: str, layout: str) -> None:
    a = random_matrix((4, 3, 3))
    check_same(OF_ELEMENTS[name](pg.array(a, layout=layout_of(layout, a.shape))), OF_ELEMENTS[name](a))


@pytest.mark.parametrize("dtype", "fFDil")
@pytest.mark.parametrize("name", CALLS)
def test_dtypes(name: str, dtype: str) -> None:
    a = positive_definite((3, 4, 4), dtype if dtype in "fFD" else "d").astype(dtype)
    check_same(CALLS[name](pg.array(a)), CALLS[name](a))


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("name", ["inv", "svdvals", "eigh"])
def test_layouts_and_views(name: str, layout: str) -> None:
    a = positive_definite((7, 4, 3, 3))
    A = pg.array(a, layout=layout_of(layout, a.shape))
    for key in (np.s_[...], np.s_[::-2, 1:], np.s_[2], np.s_[:, None, 3], np.s_[6:1:-1, ::3]):
        check_same(CALLS[name](A[key]), CALLS[name](a[key]))
    check_same(CALLS[name](A.transpose(1, 0, 3, 2)), CALLS[name](a.transpose(1, 0, 3, 2)))
    assert_equal(A, a)


def test_stacks_broadcast() -> None:
    a, b = positive_definite((4, 1, 3, 3)), random_matrix((5, 3, 2))
    A, B = pg.array(a), pg.array(b)
    check_same(np.linalg.solve(A, B), np.linalg.solve(a, b))
    check_same(np.linalg.solve(A[0, 0], B), np.linalg.solve(a[0, 0], b))
    check_same(np.linalg.solve(A, B[0]), np.linalg.solve(a, b[0]))
    check_same(np.linalg.solve(A, b[0, :, 0]), np.linalg.solve(a, b[0, :, 0]))
    tolerances = np.array([[0.001], [0.5], [3], [100.0]])
    check_same(np.linalg.matrix_rank(A, tolerances), np.linalg.matrix_rank(a, tolerances))
    check_same(pg.linalg.matrix_rank(A, rtol=pg.array(tolerances[:1])), np.linalg.matrix_rank(a, rtol=tolerances[:1]))
    check_same(pg.linalg.pinv(A, tolerances / 100), np.linalg.pinv(a, tolerances / 100))
    check_same(pg.linalg.pinv(A, pg.asarray(tolerances)[0, 0]), np.linalg.pinv(a, 0.001))


def test_results_lie_over_the_stack() -> None:
    whole = pg.array(positive_definite((12, 3, 3)), layout=pg.Distribution("cyclic(2)", "*", "*"))
    collectively(pg.linalg.inv(whole).layout == whole.layout, "matrices that are whole have moved")
    cut = pg.array(positive_definite((12, 30, 30)), layout=pg.Distribution("*", "*", "block"))
    w, V = pg.linalg.eigh(cut)
    collectively(w.local().shape[0] == V.local().shape[0] <= -(-12 // pg.SIZE) and V.local().shape[1:] == (30, 30))
    few = pg.linalg.eigh(positive_definite((1, 2, 3, 3)))[1].local()
    collectively(len(few) * few.shape[1] in ((2,) if pg.SIZE == 1 else (0, 1)), f"{few.shape}")


FAILURES: dict[str, tuple[Callable[[Any], Any], str]] = {
    "inv": (pg.linalg.inv, "Singular matrix"), "solve": (lambda A: pg.linalg.solve(A, A), "Singular matrix"),
    "cholesky": (pg.linalg.cholesky, "not positive definite"), "svd": (pg.linalg.svd, "did not converge"),
    "eigh": (pg.linalg.eigh, "did not converge"), "eig": (pg.linalg.eig, "infs or NaNs"),
    "eigvals": (pg.linalg.eigvals, "infs or NaNs"), "pinv": (pg.linalg.pinv, "did not converge"),
}


@pytest.mark.parametrize("name", FAILURES)
@pytest.mark.parametrize("which", [0, 10])
def test_what_one_process_cannot_compute_raises_on_all(name: str, which: int) -> None:
    call, match = FAILURES[name]
    a = positive_definite((11, 4, 4))
    a[which] = 0 if name in ("inv", "solve", "cholesky") else np.nan
    A = pg.array(a)
    raises_everywhere(LinAlgError, match, lambda: call(A))
    A[which] = np.eye(4)
    call(A)
    check_same(pg.linalg.det(A[which]), 1.0)


def test_arguments() -> None:
    A = pg.ones((2, 3, 4))
    for call in (pg.linalg.inv, pg.linalg.det, pg.linalg.eig, pg.linalg.eigvals, pg.linalg.cholesky):
        raises_everywhere(LinAlgError, "must be square", lambda call=call: call(A))
        raises_everywhere(LinAlgError, "at least two-dimensional", lambda call=call: call(pg.ones(3)))
        raises_everywhere(TypeError, "float16 is unsupported", lambda call=call: call(pg.ones((2, 3, 3), "e")))
    raises_everywhere(ValueError, "UPLO", lambda: pg.linalg.eigh(pg.ones((2, 3, 3)), "X"))
    raises_everywhere(ValueError, "mode", lambda: pg.linalg.qr(A, "X"))
    raises_everywhere(ValueError, "broadcast", lambda: pg.linalg.solve(pg.ones((2, 3, 3)), pg.ones((5, 3, 1))))
    raises_everywhere(ValueError, "can't be both set", lambda: pg.linalg.matrix_rank(A, 1.0, rtol=1.0))


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("dtype", "dfFl")
def test_eigenvalues_of_one_matrix(layout: str, dtype: str) -> None:
    a = np.round(3 * random_matrix((9, 9), dtype if dtype in "fF" else "d")).astype(dtype)
    for x in (a, np.triu(a) + np.diag(np.arange(9, dtype=dtype) * 10), a[:0, :0], a[:1, :1]):
        A = pg.array(x, layout=layout_of(layout, x.shape))
        check_same(pg.linalg.eig(A), np.linalg.eig(x))
        check_same(np.linalg.eigvals(A), np.linalg.eigvals(x))
        collectively(pg.linalg.eig(A)[1].layout == A.layout, "the layout is another one")


def test_dtypes_of_real_eigenvalues() -> None:
    """Which differ between versions of NumPy."""
    stack = np.array([np.eye(3), np.diag([1, 2, 3])], np.float32)
    for a in (np.eye(3), stack, np.ones((2, 0, 0)), np.eye(2, dtype=int)):
        found, expected = pg.linalg.eig(pg.array(a)), np.linalg.eig(a)
        for x, y in ((found[0], expected[0]), (found[1], expected[1]),
                     (pg.linalg.eigvals(pg.array(a)), np.linalg.eigvals(a))):
            collectively(x.dtype == y.dtype, f"{x.dtype}, not {y.dtype}")


def test_one_matrix_with_complex_eigenvalues_makes_all_complex() -> None:
    a = np.array([np.diag([1.0, 2.0])] * 7)
    check_same(np.linalg.eigvals(pg.array(a)), np.linalg.eigvals(a))
    a[3] = [[0, 1], [-1, 0]]
    check_same(np.linalg.eig(pg.array(a)), np.linalg.eig(a))
    check_same(np.linalg.eigvals(pg.array(a)), np.linalg.eigvals(a))


@pytest.mark.parametrize("layout", LAYOUTS)
def test_tensors(layout: str) -> None:
    a, b = random_matrix((2, 3, 6)), random_matrix((2, 3))
    A, B = pg.array(a, layout=layout_of(layout, a.shape)), pg.array(b)
    check_same(np.linalg.tensorsolve(A, B), np.linalg.tensorsolve(a, b))
    moved = 0, 2, 1
    check_same(np.linalg.tensorsolve(A.transpose(moved), B, (1,)), np.linalg.tensorsolve(a.transpose(moved), b, (1,)))
    check_same(pg.linalg.tensorinv(A), np.linalg.tensorinv(a))
    check_same(pg.linalg.tensorinv(A.reshape(6, 3, 2), ind=1), np.linalg.tensorinv(a.reshape(6, 3, 2), ind=1))
    raises_everywhere(LinAlgError, "must satisfy the requirement", lambda: pg.linalg.tensorsolve(A, B[0]))
    raises_everywhere(ValueError, "Invalid ind", lambda: pg.linalg.tensorinv(A, 0))
    raises_everywhere(LinAlgError, "square", lambda: pg.linalg.tensorinv(A, 1))


def test_a_plan_reads_no_values() -> None:
    A = pg.array(positive_definite((6, 3, 3)))
    for call in (pg.linalg.inv, pg.linalg.eig, pg.linalg.det):
        pg.explain(lambda call=call: call(A))


def test_trial_calls_take_no_memory_that_was_not_set(monkeypatch: pytest.MonkeyPatch) -> None:
    """It may have signalling NaNs, for which `solve` says that matrices are singular."""
    def with_signalling_nans(*given: Any, **options: Any) -> Any:
        found = empty(*given, **options)
        if found.dtype == np.float32:
            found.view(np.uint32)[...] = 0x7FA00000
        return found

    empty = np.empty
    a, b = np.stack([np.eye(3) * k for k in (1.0, 2.0, 4.0)]), np.array([1, 2, 3], "f4")
    expected = np.linalg.solve(a, b)
    A, B = pg.array(a), pg.array(b)
    monkeypatch.setattr(np, "empty", with_signalling_nans)
    found = pg.linalg.solve(A, B)
    monkeypatch.undo()
    assert_equal(found, expected, exact=False)
