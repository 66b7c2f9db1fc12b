"""Matrices whose columns lie whole, as the Jacobi method takes them."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

import pgaspy as pg
from pgaspy.algorithms.qr import form_q, qr

__all__ = ["check_operand", "dealt_by_columns", "factored", "largest_element", "lengths", "orthonormalised",
           "replicated", "sorted_lengths"]


def check_operand(A: pg.GlobalArray) -> None:
    """Raise, the same on every process, if A is not a matrix of a dtype that LAPACK knows."""
    if A.ndim != 2:
        raise ValueError(f"a decomposition takes a matrix, not an array of shape {A.shape}")
    if A.dtype.char not in "fdFD":
        raise TypeError(f"a decomposition takes float32, float64, complex64 or complex128, not {A.dtype}: use "
                        "astype(float)")


def largest_element(A: pg.GlobalArray) -> float:
    """By how much to divide A, so that squares neither overflow nor vanish; LinAlgError if A is not finite."""
    largest = float(abs(A).max()) if A.size else 1.0
    if not math.isfinite(largest):
        raise np.linalg.LinAlgError("the matrix has elements that are infinite or not a number: the Jacobi method did "
                                    "not converge")
    return largest or 1.0


def by_columns(n: int) -> pg.Distribution:
    """How n columns lie: in square blocks on a grid with one row of processes."""
    block = f"cyclic({min(max(-(-n // pg.SIZE), 1), 64)})"
    return pg.Distribution(block, block, grid=(1, pg.SIZE))


def dealt_by_columns(A: pg.GlobalArray) -> pg.GlobalArray:
    """A copy of a matrix, whose columns lie whole. Collective."""
    return A.redistribute(by_columns(A.shape[1]))


def replicated(x: NDArray[Any]) -> pg.GlobalArray:
    """A vector that every process has, as a global array."""
    return pg.array(x, layout=pg.Distribution("*"))


def lengths(G: pg.GlobalArray) -> NDArray[Any]:
    """The Euclidean norms of the columns. Collective."""
    return np.sqrt(np.square(abs(G)).sum(axis=0).gather())


def sorted_lengths(G: pg.GlobalArray, unit: float) -> pg.GlobalArray:
    """The norms of columns that are in descending order, up to rounding, times what A was divided by. Collective."""
    return replicated(np.sort(lengths(G))[::-1] * unit)


def factored(C: pg.GlobalArray) -> tuple[pg.GlobalArray, pg.GlobalArray, pg.GlobalArray]:
    """(F, R, T) of C = Q R, m >= n, where F and T are what `apply_q` and `form_q` take; F is C. Collective."""
    T = qr(C)
    return C, pg.triu(C[:C.shape[1]]), T


def orthonormalised(G: pg.GlobalArray) -> pg.GlobalArray:
    """Orthonormal columns in the directions of the orthogonal ones of G, or any where these are zero. Collective.

    R of G = Q R is diagonal, up to rounding: only its signs are taken.
    """
    F, R, T = factored(dealt_by_columns(G))
    Q = form_q(F, T, G.shape[1])
    pg.schedule(take_signs, pg.update(Q), R, R.global_indices(1))
    return Q


def take_signs(q: NDArray[Any], r: NDArray[Any], columns: NDArray[np.int64]) -> None:
    """Multiply columns by the signs of a real diagonal."""
    q *= np.where(r[columns, np.arange(len(columns))].real < 0, -1, 1)
