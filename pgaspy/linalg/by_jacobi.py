"""Singular values and what follows from them, and Hermitian eigenvalues, by the Jacobi method."""

from __future__ import annotations

import functools
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

import pgaspy as pg
from pgaspy.creation import as_operand
from pgaspy.dispatch import implements
from pgaspy.linalg.by_qr import qr_of_tall, rows_times
from pgaspy.linalg.layouts import as_given, dealt_as, in_square_blocks
from pgaspy.linalg.one_call import (
    JACOBI,
    by_one_call,
    check_finite,
    like,
    like_operand,
    like_values,
    of_small_by,
    on_all,
    takes_one_call,
    whole_on_all,
)
from pgaspy.linalg.operands import as_matrix, as_square, common_dtype
from pgaspy.linalg.stacks import is_stack, over_stacks
from pgaspy.planning.view import whole

__all__ = ["EighResult", "SVDResult", "eigh", "eigvalsh", "matrix_rank", "pinv", "svd", "svdvals"]


class SVDResult(NamedTuple):
    """What `svd` returns, as NumPy's does."""

    U: pg.GlobalArray
    S: pg.GlobalArray
    Vh: pg.GlobalArray


class EighResult(NamedTuple):
    """What `eigh` returns, as NumPy's does."""

    eigenvalues: pg.GlobalArray
    eigenvectors: pg.GlobalArray


def _svd_of_few(a: NDArray[Any], full_matrices: bool = True, compute_uv: bool = True, hermitian: bool = False) -> Any:
    if not compute_uv:
        return _svdvals(a)
    found: Any = _svd(full_matrices, a)
    return SVDResult(*found)


def _like_svd(a: Any, full_matrices: bool = True, compute_uv: bool = True, hermitian: bool = False) -> Any:
    values = whole(whole_on_all((min(a.shape),), 1))
    vectors = like_operand(a)
    return [vectors, values, vectors] if compute_uv else values


@implements(np.linalg.svd)
@of_small_by(_svd_of_few, _like_svd)
def svd(a: Any, full_matrices: bool = True, compute_uv: bool = True, hermitian: bool = False) -> Any:
    """Factor a = U diag(S) Vh by `pgaspy.algorithms.svd`. Collective; with NumPy's arguments and results.

    Parameters
    ----------
    a
        Shape (..., m, n); with k = min(m, n) below. Stacks are factored by LAPACK, each matrix on one process.
    full_matrices
        Return square U and Vh; else of shapes (m, k) and (k, n).
    compute_uv
        Whether to return U, S and Vh, or S alone.
    hermitian
        For NumPy's sake; it makes no difference, but for a matrix that is not Hermitian.

    Returns
    -------
    The singular values S, shape (..., k), descending, of one matrix on every process; and the vectors, of any sign,
    dealt out as `a` is. All results of a stack are dealt out over its dimensions.

    Raises
    ------
    numpy.linalg.LinAlgError
        For other dimensions; or if it does not converge, as with infinities and NaNs.
    """
    from pgaspy.algorithms import svd as algorithm  # on the public names, so that it comes after them

    if is_stack(a):
        found = over_stacks(functools.partial(np.linalg.svd, full_matrices=full_matrices, compute_uv=compute_uv,
                                              hermitian=hermitian), a)
        return SVDResult(*found) if compute_uv else found
    a = as_matrix(a)
    if not compute_uv:
        return svdvals(a)
    dtype, (m, n), k = common_dtype(a), a.shape, min(a.shape)
    if takes_one_call((max(m, n), m + n) if full_matrices else a.shape, JACOBI):
        shapes = ((m, m), (n, n)) if full_matrices else ((m, k), (k, n))
        results = [like(a, shapes[0], dtype), on_all((k,), np.finfo(dtype).dtype), like(a, shapes[1], dtype)]
        return SVDResult(*by_one_call(functools.partial(_svd, full_matrices), (a,), results))
    of_rows, of_columns = qr_of_tall(a, dtype), qr_of_tall(a.T, dtype)
    if of_rows is not None:                                             # a = Q R;  R = U1 S Vh;  U = Q U1
        U, S, Vh = svd(of_rows.R, full_matrices=False)
        U = rows_times(of_rows.Q, U)
    elif of_columns is not None:
        V, S, Uh = svd(of_columns.R, full_matrices=False)
        U, Vh = Uh.T, rows_times(of_columns.Q, V).T
    else:
        U, S, Vh = algorithm.svd(a.astype(dtype, copy=False))
    if full_matrices:
        U, Vh = _completed(U), _completed(Vh.T).T
    return SVDResult(as_given(U, a), S, as_given(Vh, a))


@implements(np.linalg.svdvals)
def svdvals(x: Any, /) -> pg.GlobalArray:
    """The singular values alone, descending, on every process; see `svd`. Collective."""
    from pgaspy.algorithms import svd as algorithm

    if is_stack(x):
        return over_stacks(np.linalg.svdvals, x)
    x = as_matrix(x)
    dtype = common_dtype(x)
    if takes_one_call(x.shape, JACOBI):
        return by_one_call(_svdvals, (x,), [on_all((min(x.shape),), np.finfo(dtype).dtype)])[0]
    tall = qr_of_tall(x, dtype) or qr_of_tall(x.T, dtype)
    return algorithm.svdvals(x.astype(dtype, copy=False)) if tall is None else svdvals(tall.R)


@implements(np.linalg.matrix_rank)
def matrix_rank(A: Any, tol: Any = None, hermitian: bool = False, *, rtol: Any = None) -> Any:
    """How many singular values count as more than 0. Collective; with NumPy's arguments.

    Parameters
    ----------
    A
        Shape (..., m, n); a vector or a scalar has rank 1, or 0 where all is zero.
    tol, rtol
        Singular values up to `tol`, or up to `rtol` times the largest, count as 0; by default the rounding unit times
        max(m, n), times the largest. One of them at most; for a stack, numbers that broadcast to it.
    hermitian
        For NumPy's sake; it makes no difference, but for a matrix that is not Hermitian.

    Returns
    -------
    An integer; of a stack, an array of integers, dealt out over its dimensions.

    Raises
    ------
    ValueError
        If both tolerances are given.
    numpy.linalg.LinAlgError
        As `svd`.
    """
    if tol is not None and rtol is not None:
        raise ValueError("`tol` and `rtol` can't be both set.")
    if is_stack(A):
        name, tolerance = ("tol", tol) if rtol is None else ("rtol", rtol)
        return _over_stacks_to_tolerance(np.linalg.matrix_rank, A, name, tolerance, hermitian)
    A = as_operand(A)
    if A.ndim < 2:
        return int((A != 0).any())
    values = svdvals(A).gather()
    if tol is None:
        tol = values.max(initial=0) * _tolerance(A, rtol)
    return np.intp((values > tol).sum())


@implements(np.linalg.pinv)
def pinv(a: Any, rcond: Any = None, hermitian: bool = False, *, rtol: Any = None) -> pg.GlobalArray:
    """The pseudo-inverse of Moore and Penrose, by singular values. Collective; with NumPy's arguments.

    Parameters
    ----------
    a
        Shape (..., m, n).
    rcond, rtol
        Singular values up to this times the largest count as 0; by default the rounding unit times max(m, n), for
        `rcond`, too, where NumPy has 1e-15. One of them at most; for a stack, numbers that broadcast to it.
    hermitian
        For NumPy's sake; it makes no difference, but for a matrix that is not Hermitian.

    Returns
    -------
    Shape (..., n, m), dealt out as `a` is, those of a stack over its dimensions.

    Raises
    ------
    ValueError
        If both tolerances are given.
    numpy.linalg.LinAlgError
        As `svd`.
    """
    if rcond is not None and rtol is not None:
        raise ValueError("`rtol` and `rcond` can't be both set.")
    if is_stack(a):
        tolerance = _tolerance(as_operand(a), rtol if rcond is None else rcond)
        return _over_stacks_to_tolerance(np.linalg.pinv, a, "rcond", tolerance, hermitian)
    a = as_matrix(a)
    if not a.size:
        return dealt_as(a, a.shape[::-1], a.dtype)
    tolerance = _tolerance(a, rtol if rcond is None else rcond)
    if takes_one_call(a.shape, JACOBI) and isinstance(tolerance, (int, float)):
        return by_one_call(functools.partial(_pinv, tolerance), (a,), [like(a, a.shape[::-1], common_dtype(a))])[0]
    U, s, Vh = svd(a, full_matrices=False)
    inverses = pg.where(s > s.max() * tolerance, 1 / s, 0)
    return as_given((Vh.T.conj() * inverses) @ U.T.conj(), a)


def _tolerance(a: pg.GlobalArray, rtol: Any) -> Any:
    """What times the largest singular value counts as 0."""
    return float(np.finfo(common_dtype(a)).eps) * max(a.shape[-2:]) if rtol is None else rtol


def _over_stacks_to_tolerance(function: Any, a: Any, name: str, tolerance: Any, hermitian: bool) -> Any:
    """What NumPy's function gives for a stack, with a tolerance for all matrices, or one for each."""
    if np.ndim(tolerance) == 0:
        tolerance = tolerance.item() if isinstance(tolerance, pg.GlobalArray) else tolerance
        return over_stacks(functools.partial(function, hermitian=hermitian, **{name: tolerance}), a)
    return over_stacks(lambda a, tolerances: function(a, hermitian=hermitian, **{name: tolerances}), a, tolerance,
                       n_core=(2, 0))


def _eigh_of_few(a: NDArray[Any], UPLO: Any = "L") -> EighResult:
    found: Any = _eigh(UPLO.upper(), a)
    return EighResult(*found)


def _like_eigh(a: Any, UPLO: Any = "L") -> list[Any]:
    return [like_values(a), like_operand(a)]


@implements(np.linalg.eigh)
@of_small_by(_eigh_of_few, _like_eigh)
def eigh(a: Any, UPLO: str = "L") -> EighResult:
    """The eigenvalues and eigenvectors of a Hermitian matrix, by `pgaspy.algorithms.eigh`. Collective.

    Parameters
    ----------
    a
        Shape (..., n, n): one triangle of it is read. Stacks are decomposed by LAPACK, each matrix on one process.
    UPLO
        "L" for the lower triangle, "U" for the upper one.

    Returns
    -------
    The eigenvalues, shape (..., n), real and ascending, of one matrix on every process; and as columns of an array in
    the layout of `a` the eigenvectors, orthonormal, of any sign. Those of a stack are dealt out over its dimensions.

    Raises
    ------
    ValueError
        For another UPLO.
    numpy.linalg.LinAlgError
        If `a` is not square; or if it does not converge, as with infinities and NaNs.
    """
    from pgaspy.algorithms import eigh as algorithm

    if is_stack(a):
        return EighResult(*over_stacks(functools.partial(np.linalg.eigh, UPLO=UPLO), a))
    a = as_square(a)
    dtype, lower = common_dtype(a), _is_lower(UPLO)
    if takes_one_call(a.shape, JACOBI):
        results = [on_all(a.shape[:1], np.finfo(dtype).dtype), like(a, a.shape, dtype)]
        return EighResult(*by_one_call(functools.partial(_eigh, "L" if lower else "U"), (a,), results))
    w, V = algorithm.eigh(_with_lower(a, dtype, lower))
    return EighResult(w, as_given(V, a))


def _eigvalsh_of_few(a: NDArray[Any], UPLO: Any = "L") -> NDArray[Any]:
    return _eigvalsh(UPLO.upper(), a)


@implements(np.linalg.eigvalsh)
@of_small_by(_eigvalsh_of_few, like_values)
def eigvalsh(a: Any, UPLO: str = "L") -> pg.GlobalArray:
    """The eigenvalues alone, ascending, on every process; see `eigh`. Collective."""
    from pgaspy.algorithms import eigh as algorithm

    if is_stack(a):
        return over_stacks(functools.partial(np.linalg.eigvalsh, UPLO=UPLO), a)
    a = as_square(a)
    dtype, lower = common_dtype(a), _is_lower(UPLO)
    if takes_one_call(a.shape, JACOBI):
        return by_one_call(functools.partial(_eigvalsh, "L" if lower else "U"), (a,),
                           [on_all(a.shape[:1], np.finfo(dtype).dtype)])[0]
    return algorithm.eigvalsh(_with_lower(a, dtype, lower))


def _is_lower(uplo: str) -> bool:
    """Which triangle is meant; ValueError where none is."""
    uplo = uplo.upper() if isinstance(uplo, str) else ""
    if uplo not in ("L", "U"):
        raise ValueError("UPLO argument must be 'L' or 'U'")
    return uplo == "L"


def _with_lower(a: pg.GlobalArray, dtype: np.dtype[Any], lower: bool) -> pg.GlobalArray:
    """A Hermitian matrix of which one triangle is given, by its lower one."""
    a = a.astype(dtype, copy=False)
    return a if lower else a.T.conj()


def _completed(U: pg.GlobalArray) -> pg.GlobalArray:
    """Orthonormal columns, and others that make them a basis: the last ones of Q of U = Q R."""
    from pgaspy.algorithms.qr import form_q, qr

    m, k = U.shape
    if m == k:
        return U
    F = in_square_blocks(U, U.dtype)
    Q = form_q(F, qr(F), m)
    result = dealt_as(Q, (m, m), U.dtype)
    result[:, k:] = Q[:, k:]
    result[:, :k] = U
    return result


# Of a whole matrix ---------------------------------------------------------------------------------------------------


def _svd(full_matrices: bool, a: NDArray[Any]) -> tuple[NDArray[Any], ...]:
    check_finite(a)
    return np.linalg.svd(a, full_matrices=full_matrices)


def _svdvals(a: NDArray[Any]) -> NDArray[Any]:
    check_finite(a)
    return np.linalg.svd(a, compute_uv=False)


def _eigh(uplo: Literal["L", "U"], a: NDArray[Any]) -> tuple[NDArray[Any], ...]:
    _check_triangle(uplo, a)
    return np.linalg.eigh(a, uplo)


def _eigvalsh(uplo: Literal["L", "U"], a: NDArray[Any]) -> NDArray[Any]:
    _check_triangle(uplo, a)
    return np.linalg.eigvalsh(a, uplo)


def _check_triangle(uplo: Literal["L", "U"], a: NDArray[Any]) -> None:
    """As `check_finite`, of the triangle that is read."""
    if not np.isfinite(a).all():
        check_finite(np.tril(a) if uplo == "L" else np.triu(a))


def _pinv(tolerance: float, a: NDArray[Any]) -> NDArray[Any]:
    check_finite(a)
    return np.linalg.pinv(a, tolerance)
