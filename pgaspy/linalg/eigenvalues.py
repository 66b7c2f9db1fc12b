"""Eigenvalues of matrices that are not Hermitian: each matrix on one process, by LAPACK."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

import pgaspy as pg
from pgaspy.creation import as_operand
from pgaspy.dispatch import implements
from pgaspy.linalg.one_call import by_one_call, like, like_operand, like_values, of_small_by, on_all
from pgaspy.linalg.operands import as_square, common_dtype
from pgaspy.linalg.stacks import is_stack, over_stacks
from pgaspy.values import value

__all__ = ["EigResult", "eig", "eigvals"]


MAY_BE_REAL = np.linalg.eigvals(np.ones((1, 1))).dtype.kind != "c"
"""Whether NumPy gives real numbers where no eigenvalue of real matrices is complex: until its version 2.5."""


class EigResult(NamedTuple):
    """What `eig` returns, as NumPy's does."""

    eigenvalues: pg.GlobalArray
    eigenvectors: pg.GlobalArray


def _eig_of_few(a: Any) -> EigResult:
    found: Any = np.linalg.eig(a)
    return EigResult(*found)


@implements(np.linalg.eig)
@of_small_by(_eig_of_few, lambda a: [like_values(a), like_operand(a)])
def eig(a: Any) -> EigResult:
    """The eigenvalues and eigenvectors of square matrices, by LAPACK. Collective.

    Each matrix is whole on one process, and so is a single one: its memory and time are those of one process. For
    Hermitian matrices, `eigh` uses all of them.

    Parameters
    ----------
    a
        Shape (..., n, n).

    Returns
    -------
    The eigenvalues, shape (..., n), of one matrix on every process; and as columns of an array in the layout of `a` the
    eigenvectors, of length 1. Complex, unless all eigenvalues of real matrices are real (always, from NumPy 2.5 on).
    Those of a stack are dealt out over its dimensions.

    Raises
    ------
    numpy.linalg.LinAlgError
        If `a` is not square, has infinities or NaNs, or if it does not converge.

    Examples
    --------
    >>> import pgaspy as pg
    >>> pg.linalg.eig(pg.array([[2.0, 0.0], [1.0, 3.0]])).eigenvalues.real.gather()
    array([3., 2.])
    """
    a = as_operand(a)
    if is_stack(a):
        w, V = over_stacks(_complex_eig, a)
    else:
        a = as_square(a)
        dtype = _complex(a)
        w, V = by_one_call(_complex_eig, (a,), [on_all(a.shape[:1], dtype), like(a, a.shape, dtype)])
    return EigResult(w.real.copy(), V.real.copy()) if _are_real(a, w) else EigResult(w, V)


@implements(np.linalg.eigvals)
@of_small_by(np.linalg.eigvals, like_values)
def eigvals(a: Any) -> pg.GlobalArray:
    """The eigenvalues of square matrices alone, by LAPACK, each matrix on one process; see `eig`. Collective."""
    a = as_operand(a)
    if is_stack(a):
        w = over_stacks(_complex_eigvals, a)
    else:
        a = as_square(a)
        w, = by_one_call(_complex_eigvals, (a,), [on_all(a.shape[:1], _complex(a))])
    return w.real.copy() if _are_real(a, w) else w


def _complex(a: pg.GlobalArray) -> np.dtype[Any]:
    """The dtype of what may be complex."""
    return np.result_type(common_dtype(a), np.complex64)


def _complex_eig(a: NDArray[Any]) -> tuple[NDArray[Any], ...]:
    """Those of the matrices of one process, which do not tell whether all are real."""
    w, V = np.linalg.eig(a)
    return w.astype(np.result_type(w, np.complex64)), V.astype(np.result_type(V, np.complex64))


def _complex_eigvals(a: NDArray[Any]) -> NDArray[Any]:
    w = np.linalg.eigvals(a)
    return w.astype(np.result_type(w, np.complex64))


def _are_real(a: pg.GlobalArray, w: pg.GlobalArray) -> bool:
    """Whether eigenvalues are given as real numbers; those of real matrices are while it cannot be read."""
    return MAY_BE_REAL and a.dtype.kind != "c" and bool(value((w.imag == 0).all(), True))
