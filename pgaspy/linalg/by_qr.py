"""QR factorisations, and least squares."""

from __future__ import annotations

import functools
from typing import Any, NamedTuple

import numpy as np
from numpy.linalg import LinAlgError
from numpy.typing import NDArray

import pgaspy as pg
from pgaspy.blas import add_product
from pgaspy.creation import as_operand
from pgaspy.dispatch import implements
from pgaspy.distribution import Distribution
from pgaspy.linalg.diagonals import clear_lower
from pgaspy.linalg.layouts import as_given, dealt_as, in_square_blocks, is_tall, moved
from pgaspy.linalg.one_call import (
    HOUSEHOLDER,
    JACOBI,
    by_one_call,
    check_finite,
    like,
    of_small_by,
    on_all,
    takes_one_call,
)
from pgaspy.linalg.operands import as_columns, as_matrix, common_dtype
from pgaspy.linalg.stacks import is_stack, over_stacks
from pgaspy.values import told, value

__all__ = ["QRResult", "lstsq", "qr", "qr_of_tall", "rows_times"]


class QRResult(NamedTuple):
    """What `qr` returns, as NumPy's does."""

    Q: pg.GlobalArray
    R: pg.GlobalArray


def _of_few(a: NDArray[Any], mode: Any = "reduced") -> Any:
    """Those of a small matrix."""
    found: Any = np.linalg.qr(a, _checked(mode))
    return QRResult(*found) if mode in _WITH_Q else found


def _checked(mode: Any) -> Any:
    """The mode; NumPy has others, too, which it had before."""
    if mode not in (*_WITH_Q, "r", "raw"):
        raise ValueError(f"Unrecognized mode '{mode}'")
    return mode


_WITH_Q = "reduced", "complete"
"""The modes in which Q is wanted."""


@implements(np.linalg.qr)
@of_small_by(_of_few)
def qr(a: Any, mode: str = "reduced") -> Any:
    """Factor a = Q R by `pgaspy.algorithms.qr`; of a stack, by LAPACK on what each process has. Collective.

    By Householder reflections; Q and R of a tall matrix with columns that are not too nearly dependent with two
    reductions in all.

    Parameters
    ----------
    a
        Shape (..., m, n); with k = min(m, n) below.
    mode
        "reduced" for Q and R of shapes (m, k) and (k, n), "complete" for (m, m) and (m, n), "r" for R alone, "raw" for
        LAPACK's (h, tau), shapes (n, m) and (k,).

    Returns
    -------
    Q and R, dealt out as `a` is, those of a stack over its dimensions; R's diagonal is real, of any sign.

    Raises
    ------
    ValueError
        For another mode.
    numpy.linalg.LinAlgError
        If `a` has other dimensions.
    """
    from pgaspy.algorithms import qr as algorithm  # on the public names, so that it comes after them

    _checked(mode)
    if is_stack(a):
        found = over_stacks(functools.partial(np.linalg.qr, mode=mode), a, may_fail=False)
        return QRResult(*found) if mode in _WITH_Q else found
    a = as_matrix(a)
    dtype, (m, n), k = common_dtype(a), a.shape, min(a.shape)
    if mode != "raw" and takes_one_call((m, m + n if mode == "complete" else n), HOUSEHOLDER):
        rows = m if mode == "complete" else k
        results = [like(a, (m, rows), dtype), like(a, (rows, n), dtype)][mode == "r":]
        found = by_one_call(functools.partial(np.linalg.qr, mode=mode), (a,), results, may_fail=False)
        return found[0] if mode == "r" else QRResult(*found)
    tall = qr_of_tall(a, dtype) if mode in ("reduced", "r") else None
    if tall is not None:
        return as_given(tall.R, a) if mode == "r" else QRResult(as_given(tall.Q, a), as_given(tall.R, a))
    F = in_square_blocks(a, dtype)
    T = algorithm.qr(F)
    if mode == "raw":
        tau = pg.align(np.zeros(k, F.dtype), T, 1)
        pg.schedule(_take_diagonals, pg.write(tau), T, T.global_indices(1))
        return F.T, tau
    rows = m if mode == "complete" else k
    R = dealt_as(a, (rows, n), F.dtype)
    R[...] = F[:rows]
    clear_lower(R)
    return R if mode == "r" else QRResult(as_given(algorithm.form_q(F, T, rows), a), R)


@implements(np.linalg.lstsq)
def lstsq(a: Any, b: Any,
          rcond: float | None = None) -> tuple[pg.GlobalArray, pg.GlobalArray, np.int32, pg.GlobalArray]:
    """The x that makes ||b - a x|| least, and of these that with the least ||x||. Collective; with NumPy's results.

    By singular values; of a tall matrix, by those of its triangular factor.

    Parameters
    ----------
    a
        Shape (m, n).
    b
        Shape (m,) or (m, r).
    rcond
        Singular values up to this times the largest count as 0; by default the rounding unit times max(m, n).

    Returns
    -------
    x, residuals, rank, s
        Shape (n,) or (n, r), dealt out as b is; ||b - a x||^2 of each column, none unless the rank is n < m; an
        integer; the singular values.

    Raises
    ------
    numpy.linalg.LinAlgError
        For other shapes, or if the singular values do not converge.
    """
    from pgaspy.algorithms import qr as algorithm

    a, b = as_matrix(a), as_operand(b)
    if not 1 <= b.ndim <= 2:
        raise LinAlgError(f"{b.ndim}-dimensional array given. Array must be two-dimensional")
    if len(a) != len(b):
        raise LinAlgError(f"Incompatible dimensions: a has {len(a)} rows, and b {len(b)}")
    dtype = common_dtype(a, b)
    (m, n), B = a.shape, as_columns(b)
    k, r = min(m, n), B.shape[1]
    real = np.finfo(dtype).dtype
    rcond = told(rcond)
    if rcond is None:
        rcond = float(np.finfo(dtype).eps) * max(m, n)
    elif rcond < 0:
        rcond = float(np.finfo(dtype).eps)
    if takes_one_call((m, n + r), JACOBI) and 0 < rcond < 1:  # others count as the rounding unit to LAPACK
        results = [like(b, (n, *b.shape[1:]), dtype), on_all((r,), real), on_all((), np.dtype(int)), on_all((k,), real)]
        x, residuals, found, s = by_one_call(functools.partial(_lstsq, rcond), (a, b), results)
        rank = np.int32(value(found, k))
        return x, residuals if rank == n < m else residuals[:0], rank, s
    R, C = a.astype(dtype, copy=False), B.astype(dtype, copy=False)
    tail = C[:0, :0]                                                    # what no x can reach
    tall = qr_of_tall(a, dtype)
    if tall is not None:                                                # a = Q R, and C = Q^H b
        Q, R = tall
        tail = moved(B, WHOLE_ROWS, dtype)
        C = pg.empty((n, B.shape[1]), dtype, layout=Distribution("*", "*"))
        pg.schedule(_multiply_adjoint, pg.write(C), Q, tail)
        pg.combine(np.add, C)
        pg.schedule(add_product, pg.update(tail), Q, C, -1)
    elif m > n:
        F = in_square_blocks(a, dtype)
        T = algorithm.qr(F)
        block = f"cyclic({F.layout.block[0]})"
        C = moved(B, Distribution(block, block, grid=F.layout.grid), dtype)
        algorithm.apply_q(F, T, C, adjoint=True)
        R, tail = pg.triu(F[:n]), C[n:]
    if tall is not None:
        x, _, rank, s = lstsq(R, C, rcond)
    else:
        U, s, Vh = pg.linalg.svd(R, full_matrices=False)                # x = V S^-1 U^H C
        values = s.gather()
        rank = np.int32((values > rcond * values.max(initial=0)).sum())
        Y = U[:, :rank].T.conj() @ C[:len(R)]
        x = Vh[:rank].T.conj() @ (Y / s[:rank, None])
    tail = tail if rank == n else tail[:0, :0]
    residuals = (np.square(tail.real) + np.square(tail.imag) if dtype.kind == "c" else np.square(tail)).sum(axis=0)
    return as_given(x, b), residuals.astype(real, copy=False), rank, s


WHOLE_ROWS = Distribution("block", "*")


def qr_of_tall(a: pg.GlobalArray, dtype: np.dtype[Any]) -> QRResult | None:
    """Q with whole rows, and R on every process; None if the matrix is not tall, or of columns nearly dependent."""
    from pgaspy.algorithms.tsqr import tsqr

    if not is_tall(a.shape):
        return None
    try:
        return QRResult(*tsqr(moved(a, WHOLE_ROWS, dtype)))
    except LinAlgError:
        return None


def rows_times(Q: pg.GlobalArray, B: pg.GlobalArray) -> pg.GlobalArray:
    """Q B, with whole rows as Q has them; B is small."""
    product = pg.empty((len(Q), B.shape[1]), Q.dtype, layout=WHOLE_ROWS)
    pg.schedule(add_product, pg.write(product), Q, B.redistribute(Distribution("*", "*")), 1, 0)
    return product


def _lstsq(rcond: float, a: NDArray[Any], b: NDArray[Any]) -> tuple[NDArray[Any], ...]:
    """NumPy's, with zeros for residuals where it gives none."""
    check_finite(a)
    x, residuals, rank, s = np.linalg.lstsq(a, b, rcond)
    return x, residuals if residuals.size else np.zeros(b.shape[1:] or 1, s.dtype), np.asarray(rank), s


def _multiply_adjoint(c: NDArray[Any], q: NDArray[Any], b: NDArray[Any]) -> None:
    """C = Q^H B, of the rows that are here."""
    add_product(c, q.conj().T, b, 1, 0)


def _take_diagonals(tau: NDArray[Any], t: NDArray[Any], columns: NDArray[np.int64]) -> None:
    """The diagonal of each of the triangles that lie next to each other."""
    tau[...] = t[columns % len(t), np.arange(len(columns))]
