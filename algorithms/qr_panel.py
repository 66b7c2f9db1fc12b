"""The QR factorisation of a panel whose rows are dealt out, column by column, as ScaLAPACK's `pdgeqr2`."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

import pgaspy as pg

__all__ = ["factor_by_columns"]


def factor_by_columns(panel: pg.GlobalArray, T: pg.GlobalArray) -> None:
    """Factor a panel whose rows are dealt out, with one reduction for each column.

    All processes of the grid column have a copy of the first b rows, and do the same to it. The reduction multiplies
    column j, from which v follows, with all columns: with itself for its norm; with those before it, V, for the next
    column of T; and with those after it, so that W = V^H A, of A as it was, grows row by row. So column j needs to be
    brought up to date, A - V T^H W, only when it is its turn.
    """
    b = panel.shape[1]
    top_STAR_MR, below = pg.replicate(panel[:b], axis=0), panel[b:]
    sums_STAR_MR = pg.align(np.zeros((3, b), panel.dtype), panel, 1)
    W_STAR_MR = pg.align(np.zeros((b, b), panel.dtype), panel, 1)
    for j in range(b):
        pg.schedule(multiply_column, pg.write(sums_STAR_MR), top_STAR_MR, below, j)
        pg.combine(add_scaled, sums_STAR_MR)
        pg.schedule(make_reflection, pg.update(top_STAR_MR), pg.update(below), pg.update(T), pg.update(W_STAR_MR),
                    sums_STAR_MR, j)
    panel[:b] = top_STAR_MR


def multiply_column(sums: NDArray[Any], top: NDArray[Any], below: NDArray[Any], j: int) -> None:
    """x^H A, ||x||^2 and e for x = 2^-e times column j, of the rows below that are here.

    No element of x is larger than 1: so no square overflows, and none that matters underflows.
    """
    with np.errstate(all="ignore"):
        column = below[:, j]
        largest = max(np.abs(top[j:, j]).max(), np.abs(column).max(initial=0))
        e = math.frexp(largest)[1] if math.isfinite(largest) else 0
        x = scaled(column, -e)
        sums[0] = x.conj() @ below
        sums[1] = np.vdot(x, x).real
        sums[2] = e


def scaled(x: Any, e: int) -> Any:
    """2^e x, where 2^e itself may be too large or too small for the dtype."""
    return x * 2.0**(e // 2) * 2.0**(e - e // 2)


def add_scaled(lower: NDArray[Any], higher: NDArray[Any]) -> NDArray[Any]:
    """The sums of two processes, for the larger of their exponents."""
    e = max(lower[2, 0].real, higher[2, 0].real)
    result = np.zeros_like(lower)
    with np.errstate(all="ignore"):
        for part in (lower, higher):
            factor = 2.0 ** float(part[2, 0].real - e)
            result[0] += part[0] * factor
            result[1] += part[1] * factor * factor
    result[2] = e
    return result


def make_reflection(top: NDArray[Any], below: NDArray[Any], t: NDArray[Any], w: NDArray[Any], sums: NDArray[Any],
                    j: int) -> None:
    """Make I - tau v v^H, which brings column j to beta times the unit vector, as LAPACK's `larfg`; update column j+1.

    alpha and beta are scaled by 2^-e, as x is; v = (1, x / (alpha - beta)).
    """
    with np.errstate(all="ignore"):
        e = int(sums[2, 0].real)
        x = scaled(top[j:, j], -e)
        alpha, x = x[0].item(), x[1:]
        squares = float(sums[1, 0].real + np.vdot(x, x).real)
        if squares == 0 and alpha.imag == 0:
            beta, tau, factor = alpha, 0.0, 0.0
        else:
            beta = -math.copysign(math.hypot(alpha.real, alpha.imag, math.sqrt(squares)), alpha.real)
            tau, factor = (beta - alpha) / beta, 1 / (alpha - beta)
        products = top[j] + (x.conj() @ top[j + 1:] + sums[0]) * factor.conjugate()         # v^H (V, A)
        t[:j, j] = -tau * (t[:j, :j] @ products[:j].conj())
        t[j, j] = tau
        w[j, j + 1:] = products[j + 1:]
        top[j, j], top[j + 1:, j] = scaled(beta, e), x * factor
        below[:, j] = scaled(below[:, j], -e) * factor
        if j + 1 < top.shape[1]:
            y = t[:j + 1, :j + 1].conj().T @ w[:j + 1, j + 1]
            v = np.tril(top[:, :j + 1], -1)
            np.fill_diagonal(v, 1)
            top[:, j + 1] -= v @ y
            below[:, j + 1] -= below[:, :j + 1] @ y
