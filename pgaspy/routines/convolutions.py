"""Convolutions: each process has the part of a signal that it needs, with what comes after it."""

from __future__ import annotations

import functools
from typing import Any

import numpy as np
from numpy.typing import NDArray

import pgaspy as pg
from pgaspy.creation import as_global
from pgaspy.dispatch import implements
from pgaspy.routines.mapping import on_every_process
from pgaspy.scheduling.floating_point import silently
from pgaspy.small_calls import by_numpy
from pgaspy.tasks import perform

__all__ = ["convolve", "correlate"]

LONG = 1 << 9
"""From so many terms on, sums of floating-point products are made by way of Fourier transforms."""

TERMS_OF_A_BLOCK = 4
"""Blocks have at least so many elements for each term of a sum."""

BLOCK = 1 << 13
"""Sums that are made one by one are made for so many elements at a time, so that these stay in the cache."""


@implements(np.convolve)
@by_numpy(np.convolve)
def convolve(a: Any, v: Any, mode: str = "full") -> pg.GlobalArray:
    """The convolution of two sequences: `sum(a[k] * v[n - k])`. Collective.

    Parameters
    ----------
    a, v
        Vectors. The shorter one is copied to every process; of the longer, processes exchange what their parts lack.
    mode
        `"full"` for wherever the two overlap, of length M + N - 1; `"same"` for the middle part of this, of length
        max(M, N); `"valid"` for where they overlap wholly, of length max(M, N) - min(M, N) + 1.

    Returns
    -------
    In the layout that operations on a view of a vector have. Sums of 512 or more floating-point terms are computed by
    Fourier transforms.

    Raises
    ------
    ValueError
        For other numbers of dimensions, vectors without elements, or other modes.

    Examples
    --------
    >>> import pgaspy as pg
    >>> pg.convolve(pg.array([1, 2, 3]), [0, 1, 2]).gather()
    array([0, 1, 4, 7, 6])
    >>> pg.convolve(pg.array([1, 2, 3]), [0, 1, 2], "same").gather()
    array([1, 4, 7])
    """
    a, v = _signal(a, "a"), _signal(v, "v")
    if len(v) > len(a):
        a, v = v, a
    return _section(_full(a, v), len(a), len(v), mode, (len(v) - 1) // 2)


@implements(np.correlate)
@by_numpy(np.correlate)
def correlate(a: Any, v: Any, mode: str = "valid") -> pg.GlobalArray:
    """The correlation of two sequences: `sum(a[n + k] * conj(v[k]))`. Collective.

    Parameters
    ----------
    a, v, mode
        As for `convolve`, but for numbers, which are no sequences; and so are the errors.

    Returns
    -------
    As by `convolve`, of `a` with the conjugate of `v` in reverse order.

    Examples
    --------
    >>> import pgaspy as pg
    >>> pg.correlate(pg.array([1, 2, 3]), [0, 1, 0.5]).gather()
    array([3.5])
    """
    a, v = as_global(a), as_global(v)
    if not (a.ndim and v.ndim):
        raise ValueError("object of too small depth for desired array")
    a, v = _signal(a, "a"), _signal(v, "v").conj()[::-1]
    if len(v) > len(a):
        return _section(_full(v, a), len(v), len(a), mode, len(a) // 2)
    return _section(_full(a, v), len(a), len(v), mode, (len(v) - 1) // 2)


def _signal(x: Any, name: str) -> pg.GlobalArray:
    x = as_global(x)
    x = x if x.ndim else x.reshape(1)
    if x.ndim > 1:
        raise ValueError(f"a convolution is one of vectors, not of an array of shape {x.shape}")
    if not x.size:
        raise ValueError(f"{name} cannot be empty")
    return x


def _section(full: pg.GlobalArray, n: int, m: int, mode: str, first: int) -> pg.GlobalArray:
    """The part of a full convolution of n and m <= n elements that is asked for; `first` is that of the mode "same"."""
    sections = {"full": slice(None), "same": slice(first, first + n), "valid": slice(m - 1, n)}
    if mode not in sections:
        raise ValueError("Use one of 'valid', 'same', or 'full' for convolve/correlate mode")
    return full[sections[mode]]


def _full(a: pg.GlobalArray, v: pg.GlobalArray) -> pg.GlobalArray:
    """All sums of products of two vectors, of which the second is not longer."""
    if len(v) == 1:
        return a * v
    n, m = len(a) + len(v) - 1, len(v)
    part = -(-n // pg.SIZE)
    padded = pg.empty(part * pg.SIZE, a.dtype, layout=pg.Distribution("block"))
    padded[:m - 1] = padded[n:] = 0
    padded[m - 1:n] = a
    found = pg.empty(len(padded), np.result_type(a.dtype, v.dtype), layout=padded.layout)
    perform(functools.partial(_convolve, n), part * pg.RANK, pg.write(found), padded,
            _halos(padded, part, m - 1), on_every_process(v))
    return found[:n]


def _halos(padded: pg.GlobalArray, part: int, width: int) -> pg.GlobalArray:
    """For each process, what comes after its part; zeros beyond the end."""
    if pg.SIZE == 1:
        return pg.zeros((1, width), padded.dtype)
    after = part * pg.arange(1, pg.SIZE + 1, layout=pg.Distribution("block"))[:, None] + np.arange(width)
    found: pg.GlobalArray = pg.where(after < len(padded), padded[np.minimum(after, len(padded) - 1)], 0)
    return found.astype(padded.dtype, copy=False)


def _convolve(n: int, start: int, found: NDArray[Any], signal: NDArray[Any], halo: NDArray[Any],
              v: NDArray[Any]) -> None:
    """The sums that begin at each element of a process's part, of `n` in all."""
    halo = halo.ravel()
    is_finite = found.dtype.kind not in "fc" or bool(np.isfinite(v).all())
    is_long = len(v) >= LONG and found.dtype.char in "fdFD" and is_finite
    if is_long and np.isfinite(signal).all() and np.isfinite(halo).all():
        extended = np.concatenate((signal, halo))
        silently(_convolve_by_transforms, found, *(x.astype(found.dtype, copy=False) for x in (extended, v)))
        if np.isfinite(found).all():  # where sums are not, their transform is not either
            return
    _convolve_by_sums(found, signal, halo, v)
    if not is_finite:
        _sum_at_the_ends(start, n, found, np.concatenate((signal, halo)), v[::-1])


def _convolve_by_sums(found: NDArray[Any], signal: NDArray[Any], halo: NDArray[Any], v: NDArray[Any]) -> None:
    """The sums where a vector overlaps a signal wholly, block by block; the last ones with what comes after this."""
    m, size = len(v), max(BLOCK, TERMS_OF_A_BLOCK * len(v))
    n_within = max(len(signal) - m + 1, 0)
    for start in range(0, n_within, size):
        stop = min(start + size, n_within)
        found[start:stop] = np.convolve(signal[start:stop + m - 1], v, mode="valid")
    found[n_within:] = np.convolve(np.concatenate((signal[n_within:], halo)), v, mode="valid")


def _convolve_by_transforms(found: NDArray[Any], signal: NDArray[Any], v: NDArray[Any]) -> None:
    """The sums where two vectors overlap wholly, in the precision of these: block by block (overlap-save)."""
    m = len(v)
    size = 1 << (min(TERMS_OF_A_BLOCK * m, len(signal)) - 1).bit_length()
    forward, inverse = (np.fft.fft, np.fft.ifft) if found.dtype.kind == "c" else (np.fft.rfft, np.fft.irfft)
    transformed: Any = forward(v, size)
    for start in range(0, len(found), size - m + 1):
        part = found[start:start + size - m + 1]
        part[...] = inverse(forward(signal[start:start + size], size) * transformed, size)[m - 1:m - 1 + len(part)]


def _sum_at_the_ends(start: int, n: int, found: NDArray[Any], extended: NDArray[Any], v: NDArray[Any]) -> None:
    """The sums that reach beyond the longer vector, without what is there: zero times infinity is not zero."""
    m, here = len(v), len(found)
    n_before = min(max(m - 1 - start, 0), here)
    for i in (*range(n_before), *range(max(n - m + 1 - start, n_before), here)):
        first, stop = max(m - 1 - start - i, 0), min(n - start - i, m)
        if first < stop:
            found[i] = extended[i + first:i + stop] @ v[first:stop]
