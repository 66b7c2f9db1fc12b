"""Transforms of one long dimension that is dealt out.

A length with divisors near its root is transformed in four steps, as a matrix: its columns, twiddle factors, its rows,
and a transposition (D. H. Bailey, *FFTs in external or hierarchical memory*, Journal of Supercomputing 4, 1990). Any
other is a convolution with a chirp, whose length may be chosen (L. I. Bluestein, *A linear filtering approach to the
computation of discrete Fourier transform*, IEEE Transactions on Audio and Electroacoustics 18, 1970).
"""

from __future__ import annotations

import math
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pgaspy.array import GlobalArray
from pgaspy.caches import cached
from pgaspy.creation import arange, empty, zeros
from pgaspy.fft.pencils import in_place_pass, pencils
from pgaspy.job.procgrid import world
from pgaspy.layout import replicated

__all__ = ["MAX_COPIED", "roots", "transformed_vector"]

MAX_COPIED = 1 << 14
"""So many elements are transformed by each process, each all of them."""

MOST_UNEVEN = 64
"""A matrix for the four steps has at most so many times as many columns as rows, or is not for them."""

ROWS_AT_ONCE = 16
COLUMNS_AT_ONCE = 64


def transformed_vector(a: GlobalArray, dtype: np.dtype[Any], function: str, norm: str | None) -> GlobalArray:
    """The transform of a vector, as a complex dtype: a new array in even blocks, or in copies."""
    n = a.size
    if n <= MAX_COPIED:
        copies = empty(n, dtype, layout=replicated((n,), world().size))
        copies[...] = a
        in_place_pass(copies, (0,), function, norm=norm)
        return copies
    n_rows = rows_of(n)
    if n_rows < world().size or n_rows * MOST_UNEVEN < n // n_rows:
        return _by_chirp(a, dtype, function, norm)
    return _in_four_steps(a, dtype, n_rows, function, norm)


@cached
def rows_of(n: int) -> int:
    """The largest divisor that is not above the root."""
    return next(m for m in range(math.isqrt(n), 0, -1) if n % m == 0)


def _in_four_steps(a: GlobalArray, dtype: np.dtype[Any], n_rows: int, function: str, norm: str | None) -> GlobalArray:
    n, size = a.size, world().size
    shape = n_rows, n // n_rows
    x = empty(shape, dtype, layout=pencils(shape, (1,), size))
    x[...] = a.reshape(shape)
    columns = x.global_indices(1)
    first = int(columns[0]) if columns.size else 0
    sign = -1 if function == "fftn" else 1
    in_place_pass(x, (0,), function, partial(_twiddle, sign, n), (first,), norm=norm)
    y = empty(shape, dtype, layout=pencils(shape, (0,), size))
    y[...] = x
    in_place_pass(y, (1,), function, norm=norm)
    found = empty(shape[::-1], dtype, layout=pencils(shape[::-1], (0,), size))
    found[...] = y.T
    return found.reshape(n)


def _twiddle(sign: int, n: int, part: NDArray[Any], first: int) -> None:
    """Multiply row j and column k by exp(sign * 2 pi i j k / n), where the part begins with column `first`.

    The factors of a row are products of those of every 64th column and those in between.
    """
    n_columns = part.shape[1]
    coarse = first + np.arange(0, n_columns, COLUMNS_AT_ONCE)
    fine = np.arange(min(COLUMNS_AT_ONCE, n_columns))
    for start in range(0, len(part), ROWS_AT_ONCE):
        rows = part[start:start + ROWS_AT_ONCE]
        j = np.arange(start, start + len(rows))[:, None]
        factors = roots(sign, n, j * coarse, part.dtype)[:, :, None] * roots(sign, n, j * fine, part.dtype)[:, None]
        rows *= factors.reshape(len(rows), -1)[:, :n_columns]


def roots(sign: int, n: int, k: NDArray[np.int64], dtype: np.dtype[Any]) -> NDArray[Any]:
    """exp(sign * 2 pi i k / n), in double precision, or in that of the dtype, if it is more."""
    real = np.result_type(dtype.type(0).real.dtype, np.float64)
    angle = (k % n).astype(real) * (sign * 8 * np.arctan(np.ones((), real)) / n)
    found: NDArray[Any] = np.cos(angle) + 1j * np.sin(angle)
    return found


def _by_chirp(a: GlobalArray, dtype: np.dtype[Any], function: str, norm: str | None) -> GlobalArray:
    n, sign = a.size, -1 if function == "fftn" else 1
    m = 1 << (2 * n - 2).bit_length()
    at_rest = np.result_type(dtype, np.complex128)
    chirp = empty(n, at_rest)
    chirp[...] = _chirp(n, sign, at_rest)
    signal, filter_ = zeros(m, at_rest), zeros(m, at_rest)
    signal[:n] = a * chirp
    filter_[:n] = chirp.conj()
    filter_[m - n + 1:] = chirp.conj()[:0:-1]
    product = transformed_vector(signal, at_rest, "fftn", None) * transformed_vector(filter_, at_rest, "fftn", None)
    found = transformed_vector(product, at_rest, "ifftn", None)[:n] * chirp
    is_scaled = (norm or "backward") == ("forward" if sign < 0 else "backward")
    factor = n ** -0.5 if norm == "ortho" else 1 / n if is_scaled else 1
    return (found * factor).astype(dtype)


def _chirp(n: int, sign: int, dtype: np.dtype[Any]) -> GlobalArray:
    """exp(sign * pi i k^2 / n), with k^2 modulo 2 n, as larger angles would be rounded."""
    k, real = arange(n), np.finfo(dtype).dtype
    angle: Any = _square_modulo(k, 2 * n).astype(real) * (sign * 4 * np.arctan(np.ones((), real)) / n)
    found: GlobalArray = np.cos(angle) + 1j * np.sin(angle)
    return found


def _square_modulo(k: Any, m: int) -> Any:
    """k^2 modulo m, of integers from 0 to m, as far as 2^39: whose squares, from 2^32 on, have more than 64 bits."""
    return (k * k if m < 1 << 31 else (k >> 16) * k % m * 65536 + (k & 65535) * k) % m
