"""Cholesky factorisations, and systems with a triangle."""

from __future__ import annotations

import functools
from typing import Any

import numpy as np
from numpy.linalg import LinAlgError
from numpy.typing import NDArray

import pgaspy as pg
from pgaspy.dispatch import implements
from pgaspy.linalg.diagonals import clear_lower, clear_upper, diagonal
from pgaspy.linalg.layouts import as_given, in_square_blocks, lies_in_square_blocks
from pgaspy.linalg.one_call import by_one_call, like, of_small_by, takes_one_call
from pgaspy.linalg.operands import as_columns, as_right_hand_sides, as_square, common_dtype, refuse_infinite
from pgaspy.linalg.stacks import is_stack, over_stacks
from pgaspy.values import value

__all__ = ["cho_factor", "cho_solve", "cholesky", "solve_triangular"]


def _of_few(a: NDArray[Any], *, upper: bool = False) -> NDArray[Any]:
    return _cholesky(upper, a)


@implements(np.linalg.cholesky)
@of_small_by(_of_few)
def cholesky(a: Any, /, *, upper: bool = False) -> pg.GlobalArray:
    """The Cholesky factor of a positive definite matrix, by `pgaspy.algorithms.cholesky`. Collective.

    Parameters
    ----------
    a
        Shape (..., n, n), Hermitian: one triangle of it is read. Stacks are factored by LAPACK, each matrix on one
        process.
    upper
        Read the upper triangle, and return U with a = U^H U; else the lower one, and L with a = L L^H.

    Returns
    -------
    The factor, in the layout of `a`, with zeros in the other triangle.

    Raises
    ------
    numpy.linalg.LinAlgError
        If `a` is not square, or not positive definite: the message has the order of the first leading minor that is
        not.
    """
    if is_stack(a):
        return over_stacks(functools.partial(np.linalg.cholesky, upper=upper), a)
    a = as_square(a)
    dtype = common_dtype(a)
    if takes_one_call(a.shape):
        return by_one_call(functools.partial(_cholesky, upper), (a,), [like(a, a.shape, dtype)])[0]
    F = as_given(_factor(a, dtype, upper, overwrite=False), a)
    (clear_lower if upper else clear_upper)(F)
    return F


def cho_factor(a: Any, lower: bool = False, overwrite_a: bool = False,
               check_finite: bool = True) -> tuple[pg.GlobalArray, bool]:
    """The Cholesky factor, for `cho_solve`. Collective; with SciPy's arguments and results.

    Parameters
    ----------
    a, lower
        As `a` and `not upper` for `cholesky`.
    overwrite_a
        Factor `a` itself, if it (its transpose, for the lower triangle) lies in square blocks on a grid with as few
        columns as those of the result.
    check_finite
        Raise ValueError for infinities and NaNs.

    Returns
    -------
    c, lower
        The factor, dealt out by square blocks; the other triangle holds anything.
    """
    a = as_square(a)
    refuse_infinite(check_finite, a)
    return _factor(a, common_dtype(a), not lower, overwrite_a), lower


def cho_solve(c_and_lower: tuple[Any, bool], b: Any, overwrite_b: bool = False,
              check_finite: bool = True) -> pg.GlobalArray:
    """Solve a x = b with the Cholesky factor of a. Collective.

    Parameters
    ----------
    c_and_lower
        As `cho_factor` returns them.
    b
        Shape (n,) or (n, r).
    overwrite_b
        For SciPy's sake; b is not overwritten.
    check_finite
        Raise ValueError for infinities and NaNs in b and the factor's diagonal.

    Returns
    -------
    x, of the shape of b, and in its layout.
    """
    c, lower = as_square(c_and_lower[0]), bool(c_and_lower[1])
    b = as_right_hand_sides(b, len(c))
    refuse_infinite(check_finite, diagonal(c), b)
    C = _triangle(c, common_dtype(c, b))
    X = _solved(C, as_columns(b), 0 if lower else 2, lower, False)
    return as_given(_solved(C, X, 2 if lower else 0, lower, False), b)


def solve_triangular(a: Any, b: Any, trans: int | str = 0, lower: bool = False, unit_diagonal: bool = False,
                     overwrite_b: bool = False, check_finite: bool = True) -> pg.GlobalArray:
    """Solve a x = b for a triangle, by `pgaspy.algorithms.triangular_solve`. Collective; with SciPy's arguments.

    Parameters
    ----------
    a
        Shape (n, n): the other triangle is not read (but for `check_finite`).
    b
        Shape (n,) or (n, r).
    trans
        0 or "N" for a x = b, 1 or "T" for a^T x = b, 2 or "C" for a^H x = b.
    lower, unit_diagonal
        Whether the lower triangle is meant; and whether its diagonal is 1, and not read.
    overwrite_b
        For SciPy's sake; b is not overwritten.
    check_finite
        Raise ValueError for infinities and NaNs.

    Returns
    -------
    x, of the shape of b, and in its layout.

    Raises
    ------
    numpy.linalg.LinAlgError
        If a is not square, or has a zero on its diagonal: the message names the first.
    """
    a = as_square(a)
    b = as_right_hand_sides(b, len(a))
    modes = {0: 0, 1: 1, 2: 2, "N": 0, "T": 1, "C": 2}
    if trans not in modes:
        raise ValueError(f"trans={trans!r} is not 0 (a x = b), 1 (a^T x = b) or 2 (a^H x = b)")
    refuse_infinite(check_finite, a, b)
    if not unit_diagonal and a.size and b.size:
        zeros = np.flatnonzero(value(diagonal(a), np.empty(0)) == 0)
        if len(zeros):
            raise LinAlgError(f"singular matrix: resolution failed at diagonal {zeros[0]}")
    A = _triangle(a, common_dtype(a, b))
    return as_given(_solved(A, as_columns(b), modes[trans], lower, unit_diagonal), b)


# The steps -----------------------------------------------------------------------------------------------------------


def _cholesky(upper: bool, a: NDArray[Any]) -> NDArray[Any]:
    """The factor of a whole matrix; LinAlgError as the algorithm's, for which NaNs are not positive, either."""
    from pgaspy.algorithms import cholesky as algorithm  # on the public names, so that it comes after them

    try:
        found = np.linalg.cholesky(a, upper=upper)
    except LinAlgError:
        found = np.array(a if upper else a.T, a.dtype if a.dtype.kind in "fc" else float, order="C")
        algorithm.factor_here(found)
    positive = found.diagonal().real > 0
    if not positive.all():
        raise LinAlgError(algorithm.NOT_POSITIVE_DEFINITE.format(positive.argmin() + 1))
    return found


def _factor(a: pg.GlobalArray, dtype: np.dtype[Any], upper: bool, overwrite: bool) -> pg.GlobalArray:
    """U, or L = U^T of the transpose, whose upper triangle is read; with anything in the other triangle."""
    from pgaspy.algorithms import cholesky as algorithm  # on the public names, so that it comes after them

    F = in_square_blocks(a if upper else a.T, dtype, overwrite, by_rows=True)
    algorithm.cholesky(F)
    return F if upper else F.T


def _triangle(a: pg.GlobalArray, dtype: np.dtype[Any]) -> pg.GlobalArray:
    """A matrix that lies in square blocks, or its transpose does: itself, if it does already."""
    for by_rows in (False, True):
        if lies_in_square_blocks(a.T, by_rows):
            return in_square_blocks(a.T, dtype, True, by_rows).T
    return in_square_blocks(a, dtype, overwrite=True, by_rows=lies_in_square_blocks(a, by_rows=True))


def _solved(T: pg.GlobalArray, B: pg.GlobalArray, trans: int, lower: bool, unit_diagonal: bool) -> pg.GlobalArray:
    """X of T X = B, T^T X = B or T^H X = B; B has two dimensions."""
    from pgaspy.algorithms.triangular_solve import solve_triangular

    B = B.astype(T.dtype, copy=False)
    if not trans:
        return solve_triangular(T, B, lower, unit_diagonal)
    X = solve_triangular(T.T, B.conj() if trans == 2 else B, not lower, unit_diagonal)
    return X.conj() if trans == 2 else X
