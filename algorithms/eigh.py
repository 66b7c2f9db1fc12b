"""Hermitian eigenvalues and -vectors by the one-sided block Jacobi method, of a matrix shifted to be definite."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

import pgaspy as pg
from pgaspy.algorithms._columns import (
    check_operand,
    dealt_by_columns,
    largest_element,
    orthonormalised,
    replicated,
)
from pgaspy.algorithms._program import norm
from pgaspy.algorithms.jacobi import add_to_diagonal, rotated

__all__ = ["eigh", "eigvalsh", "mirror"]


def eigh(A: pg.GlobalArray) -> tuple[pg.GlobalArray, pg.GlobalArray]:
    """Factor the Hermitian matrix A = V diag(w) V^H; A is not changed. Collective.

    The eigenvectors are the singular vectors of c I - A, which is positive definite and well conditioned with
    c = 1.5 ||A||, so that no V has to be accumulated. The eigenvalues are the Rayleigh quotients.

    Parameters
    ----------
    A
        Shape (n, n), float32, float64, complex64 or complex128, in any layout. Only the lower triangle is read, and
        the real part of the diagonal.

    Returns
    -------
    w, V
        w, shape (n,), real and ascending, replicated; V, shape (n, n), its orthonormal columns dealt out in blocks.

    Raises
    ------
    ValueError
        If A is no square matrix.
    TypeError
        If A has another dtype.
    numpy.linalg.LinAlgError
        If A has elements that are infinite or not a number, or the columns are not orthogonal after `MAX_SWEEPS`
        sweeps.
    """
    check_operand(A)
    if A.shape[0] != A.shape[1]:
        raise ValueError(f"eigenvalues are those of a square matrix, not of one of shape {A.shape}")
    n, H = len(A), dealt_by_columns(A)
    pg.schedule(mirror, pg.update(H), dealt_by_columns(A.T), H.global_indices(1))
    unit = largest_element(H)
    H /= unit
    if pg.SIZE == 1 or not n:
        w, v = np.linalg.eigh(H.gather())
        return replicated(w * unit), dealt_by_columns(pg.array(v))
    c = 1.5 * min(norm(H), float(abs(H).sum(axis=0).max())) or 1.0
    M = -H
    pg.schedule(add_to_diagonal, pg.update(M), c, M.global_indices(1))
    G = rotated(M, vectors=False)                      # G = (c I - A) V = V (c I - diag(w))
    V = orthonormalised(G)
    w = (V.conj() * (H @ V)).sum(axis=0).gather().real
    return replicated(np.sort(w) * unit), V


def eigvalsh(A: pg.GlobalArray) -> pg.GlobalArray:
    """The eigenvalues alone, as `eigh` gives them: shape (n,), replicated. Collective."""
    return eigh(A)[0]


def mirror(h: NDArray[Any], transposed: NDArray[Any], columns: NDArray[np.int64]) -> None:
    """Put the conjugate of the lower triangle above the diagonal, and make that real."""
    rows = np.arange(len(h))[:, None]
    np.conjugate(transposed, out=h, where=rows < columns)
    h[columns, np.arange(len(columns))] = h[columns, np.arange(len(columns))].real


if __name__ == "__main__":
    from pgaspy.algorithms._command_lines import jacobi_program

    jacobi_program(name="eigh", eigh=eigh)
