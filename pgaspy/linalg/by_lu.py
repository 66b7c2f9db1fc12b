"""Systems of linear equations, inverses and determinants, by LU factorisation with partial pivoting."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.linalg import LinAlgError
from numpy.typing import NDArray

import pgaspy as pg
from pgaspy.alone import small
from pgaspy.creation import as_operand
from pgaspy.dispatch import implements
from pgaspy.distribution import Distribution
from pgaspy.host.call_sites import warn
from pgaspy.lapack import factor_lu
from pgaspy.linalg.diagonals import clear_lower, diagonal
from pgaspy.linalg.layouts import as_given, dealt_as, in_square_blocks, moved
from pgaspy.linalg.one_call import by_one_call, like, like_operand, of_small_by, on_all, takes_one_call
from pgaspy.linalg.operands import (
    as_columns,
    as_matrix,
    as_right_hand_sides,
    as_square,
    common_dtype,
    refuse_infinite,
)
from pgaspy.linalg.stacks import is_stack, over_stacks
from pgaspy.scheduling.floating_point import silently
from pgaspy.values import value

__all__ = ["SlogdetResult", "det", "inv", "lu", "lu_factor", "lu_solve", "slogdet", "solve"]


class SlogdetResult(NamedTuple):
    """What `slogdet` returns, as NumPy's does."""

    sign: Any
    logabsdet: Any


# Systems -------------------------------------------------------------------------------------------------------------


@implements(np.linalg.solve)
@of_small_by(np.linalg.solve, lambda a, b: like_operand(b))
def solve(a: Any, b: Any) -> pg.GlobalArray:
    """Solve a x = b, by `pgaspy.algorithms.lu`; of stacks, by LAPACK on what each process has. Collective.

    Parameters
    ----------
    a
        Shape (..., n, n).
    b
        Shape (n,) or (..., n, r): one right-hand side, or several as columns. Stacks broadcast.

    Returns
    -------
    x, of the shape of b, and in its layout; of a stack, dealt out over its dimensions.

    Raises
    ------
    numpy.linalg.LinAlgError
        If a is not square, or is singular; the message names the column without a pivot.
    ValueError
        If the shapes do not go together.
    TypeError
        For dtypes that LAPACK does not know.

    Examples
    --------
    >>> import pgaspy as pg
    >>> pg.linalg.solve(pg.array([[2.0, 1.0], [0.0, 4.0]]), pg.array([4.0, 8.0])).gather()
    array([1., 2.])
    """
    if is_stack(a, b):
        return over_stacks(np.linalg.solve, a, b)
    a = as_square(a)
    b = as_right_hand_sides(b, len(a))
    dtype, n = common_dtype(a, b), len(a)
    if takes_one_call((n, n + as_columns(b).shape[1])):
        return by_one_call(_solve, (a, b), [like(b, b.shape, dtype)])[0]
    F, pivots = _factored(a, dtype)
    _check_regular(F)
    return as_given(_solved(F, pivots, as_columns(b), 0), b)


@implements(np.linalg.inv)
@of_small_by(np.linalg.inv)
def inv(a: Any) -> pg.GlobalArray:
    """The inverse of a square matrix, in its layout, or of those of a stack; errors as of `solve`. Collective."""
    if is_stack(a):
        return over_stacks(np.linalg.inv, a)
    a = as_square(a)
    dtype = common_dtype(a)
    if takes_one_call(a.shape):
        return by_one_call(_inv, (a,), [like(a, a.shape, dtype)])[0]
    F, pivots = _factored(a, dtype)
    _check_regular(F)
    identity = pg.eye(len(a), dtype=F.dtype, layout=_whole_columns(F))
    return as_given(_solved(F, pivots, identity, 0), a)


# Factors -------------------------------------------------------------------------------------------------------------


def lu_factor(a: Any, overwrite_a: bool = False, check_finite: bool = True) -> tuple[pg.GlobalArray, pg.GlobalArray]:
    """Factor P a = L U by `pgaspy.algorithms.lu`. Collective; with SciPy's arguments and results.

    Parameters
    ----------
    a
        Shape (m, n).
    overwrite_a
        Factor `a` itself, if it lies in square blocks on a grid with as few rows as those of the result.
    check_finite
        Raise ValueError for infinities and NaNs.

    Returns
    -------
    lu, piv
        U, and L below the diagonal (its diagonal is 1), dealt out by square blocks; and the pivots, shape
        (min(m, n),): row i was exchanged with row piv[i], for i = 0, 1, … in turn.

    Warns
    -----
    scipy.linalg.LinAlgWarning
        On every process, if the diagonal of U has a zero.
    """
    a = as_matrix(a)
    refuse_infinite(check_finite, a)
    F, pivots = _factored(a, common_dtype(a), overwrite_a)
    column = _first_zero(F)
    if column is not None:
        from scipy.linalg import LinAlgWarning

        warn(f"Diagonal number {column + 1} is exactly zero. Singular matrix.", LinAlgWarning)
    return F, pivots


def lu_solve(lu_and_piv: tuple[Any, Any], b: Any, trans: int = 0, overwrite_b: bool = False,
             check_finite: bool = True) -> pg.GlobalArray:
    """Solve a x = b, or that of a's transpose, with the factors of a. Collective.

    Parameters
    ----------
    lu_and_piv
        As `lu_factor` returns them, of a square matrix.
    b
        Shape (n,) or (n, r).
    trans
        0 for a x = b, 1 for a^T x = b, 2 for a^H x = b.
    overwrite_b
        For SciPy's sake; b is not overwritten.
    check_finite
        Raise ValueError for infinities and NaNs in b.

    Returns
    -------
    x, of the shape of b, and in its layout.
    """
    lu = as_square(lu_and_piv[0])
    piv, b = as_operand(lu_and_piv[1]), as_right_hand_sides(b, len(lu))
    if piv.shape != lu.shape[:1] or piv.dtype.kind not in "iu":
        raise ValueError(f"pivots are {len(lu)} integers for factors of shape {lu.shape}, not {piv.dtype} of shape "
                         f"{piv.shape}")
    if trans not in (0, 1, 2):
        raise ValueError(f"trans={trans!r} is not 0 (a x = b), 1 (a^T x = b) or 2 (a^H x = b)")
    refuse_infinite(check_finite, b)
    F = in_square_blocks(lu, common_dtype(lu, b), overwrite=True)
    return as_given(_solved(F, piv.astype(np.int64, copy=False), as_columns(b), trans), b)


def lu(a: Any, permute_l: bool = False, overwrite_a: bool = False, check_finite: bool = True,
       p_indices: bool = False) -> tuple[pg.GlobalArray, ...]:
    """Factor a = P L U by `pgaspy.algorithms.lu`. Collective; with SciPy's arguments and results.

    Parameters
    ----------
    a
        Shape (m, n); with k = min(m, n) below.
    permute_l
        Return P L and U.
    overwrite_a, check_finite
        As for `lu_factor`.
    p_indices
        Return P as a vector p, so that a = (L U)[p].

    Returns
    -------
    P, L, U
        Shapes (m, m) or (m,), (m, k) and (k, n): a permutation, a lower triangle with a diagonal of 1, and an upper
        one, dealt out as `a` is; p on every process. Or (P L, U).
    """
    a = as_matrix(a)
    refuse_infinite(check_finite, a)
    F, pivots = _factored(a, common_dtype(a), overwrite_a)
    (m, n), k = a.shape, min(a.shape)
    piv = pivots.redistribute(Distribution("*"))
    L, U = pg.tril(F[:, :k], -1), dealt_as(a, (k, n), F.dtype)
    L += pg.eye(m, k, dtype=L.dtype, layout=L.layout)
    U[...] = F[:k]
    clear_lower(U)
    if permute_l:
        L = L.redistribute(_whole_columns(F))
        pg.schedule(_exchange_back, pg.update(L), piv)
        return as_given(L, a), U
    p = pg.empty(m, int, layout=Distribution("*"))
    pg.schedule(_write_rows, pg.write(p), piv)
    if p_indices:
        return p, as_given(L, a), U
    P = dealt_as(a, (m, m), np.finfo(F.dtype).dtype)
    pg.schedule(_write_permutation, pg.write(P), p, P.global_indices(0), P.global_indices(1))
    return P, as_given(L, a), U


# Determinants --------------------------------------------------------------------------------------------------------


@implements(np.linalg.det)
def det(a: Any) -> Any:
    """The determinant of a square matrix, a NumPy scalar that every process has. Collective.

    From the sign and the logarithm, as NumPy's; 0 for a singular matrix. Of a stack, an array.
    """
    if is_stack(a):
        return over_stacks(np.linalg.det, a, may_fail=False)
    elements = small.ready(a) if small.is_on else None
    if elements is not None and elements.ndim == 2 and takes_one_call(elements.shape):
        found = small.called(_det, elements)
        if found is not None:
            return found
    return silently(_det_of, *slogdet(a))


@implements(np.linalg.slogdet)
def slogdet(a: Any) -> SlogdetResult:
    """Sign, and logarithm of the absolute value, of a determinant: NumPy scalars. Collective.

    The sign of a complex determinant is a number of absolute value 1; of a singular matrix it is 0 and -inf. Of a
    stack, they are arrays.
    """
    if is_stack(a):
        return SlogdetResult(*over_stacks(np.linalg.slogdet, a, may_fail=False))
    a = as_square(a)
    dtype = common_dtype(a)
    one = dtype.type(1)
    if takes_one_call(a.shape):
        found = by_one_call(np.linalg.slogdet, (a,), [on_all((), dtype), on_all((), one.real.dtype)], may_fail=False)
        return SlogdetResult(*[x.dtype.type(value(x, 1)) for x in found])
    F, pivots = _factored(a, dtype)
    d, piv = diagonal(F).gather(), pivots.gather()
    if (d == 0).any():
        return SlogdetResult(one * 0, one.real * -np.inf)
    d = d.astype(np.result_type(F.dtype, np.float64))
    sizes = np.abs(d)
    sign = silently(lambda: np.prod(d / sizes)) * (-1) ** int((piv != np.arange(len(piv))).sum())
    return SlogdetResult(sign.astype(F.dtype), np.log(sizes).sum().astype(one.real.dtype))


# The steps -----------------------------------------------------------------------------------------------------------


def _factored(a: pg.GlobalArray, dtype: np.dtype[Any], overwrite: bool = False) -> tuple[pg.GlobalArray,
                                                                                          pg.GlobalArray]:
    from pgaspy.algorithms import lu as algorithm  # on the public names, so that it comes after them

    F = in_square_blocks(a, dtype, overwrite)
    return F, algorithm.lu(F)


def _first_zero(F: pg.GlobalArray) -> int | None:
    """The first zero on the diagonal of U."""
    zeros = np.flatnonzero(value(diagonal(F), np.empty(0)) == 0)
    return int(zeros[0]) if len(zeros) else None


def _check_regular(F: pg.GlobalArray) -> None:
    column = _first_zero(F)
    if column is not None:
        raise LinAlgError(SINGULAR.format(column))


SINGULAR = "Singular matrix: it is exactly singular: U[{0}, {0}] is zero"


def _whole_columns(F: pg.GlobalArray) -> Distribution:
    """Where rows can be exchanged without messages."""
    return Distribution("*", f"cyclic({F.layout.block[1]})")


def _solved(F: pg.GlobalArray, pivots: pg.GlobalArray, B: pg.GlobalArray, trans: int) -> pg.GlobalArray:
    """x of a x = B, a^T x = B or a^H x = B, with the factors of P a = L U; B has two dimensions."""
    from pgaspy.algorithms.triangular_solve import solve_triangular

    X = moved(B, _whole_columns(F), F.dtype)
    pivots = pivots.redistribute(Distribution("*"))
    if not trans:                                                       # U x = L^-1 P B
        pg.exchange_rows(X, pivots)
        X = solve_triangular(F, X, lower=True, unit_diagonal=True)
        return solve_triangular(F, X, lower=False)
    if trans == 2:                                                      # the conjugate of a^T conj(x) = conj(B)
        X = X.conj()
    X = solve_triangular(F.T, X, lower=True)                            # L^T P x = U^-T B
    X = solve_triangular(F.T, X, lower=False, unit_diagonal=True).redistribute(_whole_columns(F))
    pg.schedule(_exchange_back, pg.update(X), pivots)
    return X.conj() if trans == 2 else X


# Tasks ---------------------------------------------------------------------------------------------------------------


def _solve(a: NDArray[Any], b: NDArray[Any]) -> NDArray[Any]:
    """x of a x = b."""
    try:
        return np.linalg.solve(a, b)
    except LinAlgError:
        raise _singular(a) from None


def _inv(a: NDArray[Any]) -> NDArray[Any]:
    try:
        return np.linalg.inv(a)
    except LinAlgError:
        raise _singular(a) from None


def _det(a: NDArray[Any]) -> Any:
    return _det_of(*np.linalg.slogdet(a))


def _det_of(sign: Any, logabsdet: Any) -> Any:
    return (sign * np.exp(logabsdet)).astype(sign.dtype)


def _singular(a: NDArray[Any]) -> LinAlgError:
    """What is raised for a matrix that has no inverse, with the first zero on the diagonal of U."""
    f = a.astype(a.dtype if a.dtype.kind in "fc" else float)
    factor_lu(f, np.empty(len(f), np.int64))
    return LinAlgError(SINGULAR.format((f.diagonal() == 0).argmax()))


def _rows_after(pivots: NDArray[np.int64], m: int) -> NDArray[np.int64]:
    """Which of m rows is where after the exchanges."""
    rows = list(range(m))
    for i, p in enumerate(pivots.tolist()):
        rows[i], rows[p] = rows[p], rows[i]
    return np.array(rows, np.int64)


def _exchange_back(x: NDArray[Any], pivots: NDArray[np.int64]) -> None:
    """P^-1 x, of columns that are whole."""
    x[_rows_after(pivots, len(x))] = x.copy()


def _write_rows(p: NDArray[np.int64], pivots: NDArray[np.int64]) -> None:
    """The place that each row has after the exchanges."""
    p[_rows_after(pivots, len(p))] = np.arange(len(p))


def _write_permutation(a: NDArray[Any], p: NDArray[np.int64], rows: NDArray[np.int64],
                       columns: NDArray[np.int64]) -> None:
    """The matrix with a[i, p[i]] = 1."""
    a[...] = p[rows][:, None] == columns
