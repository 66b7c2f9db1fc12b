"""QR factorisation of a tall matrix with few columns, by two reductions.

The triangular factor of a matrix is that of the triangular factors of its parts, one above the other:

    [A0]   [Q0   ] [R0]     [R0]
    [A1] = [   Q1] [R1]     [R1] = Q2 R     each process factors its rows; then two by two; and Q = A R^-1

P. G. Constantine and D. F. Gleich, *Tall and Skinny QR Factorizations in MapReduce Architectures*, MapReduce 2011.
"""

from __future__ import annotations

import functools
from typing import Any

import numpy as np
from numpy.typing import NDArray

import pgaspy as pg
from pgaspy.blas import solve_triangle
from pgaspy.lapack import factor_qr

__all__ = ["tsqr"]

divide_by_upper = functools.partial(solve_triangle, from_right=True)


def tsqr(A: pg.GlobalArray) -> tuple[pg.GlobalArray, pg.GlobalArray]:
    """Q and R of a tall matrix with few columns, with two reductions in all. Collective.

    R is that of the R's of each process's rows, two by two; Q = A R^-1, and the same once more for what rounding errors
    leave: Q = Q1 R2^-1, R = R2 R1. The diagonal of R is positive, so that the result does not depend on the number of
    processes (but for rounding errors).

    Parameters
    ----------
    A
        Shape (m, n), m >= n, float32, float64, complex64 or complex128: its rows are dealt out over all processes, and
        its columns are not, as by `Distribution("block", "*")`. A process may have any number of rows.

    Returns
    -------
    Q, shape (m, n), which lies as A does, and R, shape (n, n), on every process.

    Raises
    ------
    ValueError
        If A has other dimensions or another layout.
    numpy.linalg.LinAlgError
        If its columns are so nearly dependent that A R^-1 is not nearly orthogonal, or are not finite: take `qr`.
    """
    if A.ndim != 2 or len(A) < A.shape[1]:
        raise ValueError(f"tsqr takes a matrix with no more columns than rows, not an array of shape {A.shape}")
    rows, columns = A.layout.dims
    if rows.n_procs != pg.SIZE or columns.n_procs != 1:
        raise ValueError(f"tsqr takes a matrix whose rows alone are dealt out, over {pg.SIZE} processes, not "
                         f'{A.layout}: use redistribute(pg.Distribution("block", "*"))')
    R1, R2 = (pg.empty((A.shape[1],) * 2, A.dtype, layout=pg.Distribution("*", "*")) for _ in range(2))
    Q = A.copy()
    for R in (R1, R2):
        pg.schedule(factor_rows, pg.write(R), Q)
        pg.combine(join_triangles, R)
        if not is_well_conditioned(R.local()):
            raise np.linalg.LinAlgError("the columns are so nearly dependent that A R^-1 is not orthogonal: use "
                                        "pgaspy.algorithms.qr.qr")
        pg.schedule(divide_by_upper, pg.update(Q), R)
    pg.schedule(multiply_triangles, pg.update(R1), R2)
    return Q, R1


def factor_rows(r: NDArray[Any], a: NDArray[Any]) -> None:
    """R of some rows, with a positive diagonal."""
    n = len(r)
    f = np.zeros((max(len(a), n), n), a.dtype, order="F")
    f[:len(a)] = a
    factor_qr(f, np.empty_like(r))
    signs = np.copysign(1, np.diagonal(f).real).astype(r.dtype)
    r[...] = np.triu(f[:n]) * signs[:, None]


def join_triangles(lower: NDArray[Any], higher: NDArray[Any]) -> NDArray[Any]:
    """R of two triangles, one above the other."""
    r = np.empty_like(lower)
    factor_rows(r, np.concatenate((lower, higher)))
    return r


def multiply_triangles(r1: NDArray[Any], r2: NDArray[Any]) -> None:
    """R1 = R2 R1."""
    r1[...] = r2 @ r1


def is_well_conditioned(r: NDArray[Any]) -> bool:
    """Whether a division by a triangle leaves orthogonal columns nearly so; how its columns are scaled is no matter."""
    if not r.size:
        return True
    with np.errstate(all="ignore"):
        scaled, inverse = r / np.abs(r).max(axis=0), np.eye(len(r), dtype=r.dtype)
        solve_triangle(inverse, scaled)
        condition = np.abs(scaled).sum(axis=0).max() * np.abs(inverse).sum(axis=0).max()
        return bool(condition * len(r) * np.finfo(r.dtype).eps < 1)    # not if it is NaN
