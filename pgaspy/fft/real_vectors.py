"""Transforms between a long real vector that is dealt out and the half of its spectrum that is not given by symmetry.

A vector of even length is transformed as complex numbers, of which there are half as many: its elements at even places
are the real parts, those at odd places the imaginary ones (J. W. Cooley, P. A. W. Lewis and P. D. Welch, *The fast
Fourier transform algorithm: programming considerations in the calculation of sine, cosine and Laplace transforms*,
Journal of Sound and Vibration 12, 1970). One of odd length is transformed as complex numbers of its own.
"""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pgaspy.array import GlobalArray
from pgaspy.creation import empty
from pgaspy.fft.one_dimension import MAX_COPIED, roots, transformed_vector
from pgaspy.scheduling.floating_point import silenced
from pgaspy.tasks import perform, update

__all__ = ["real_of_spectrum", "spectrum_of_real"]

ROOTS_AT_ONCE = 1 << 14


def spectrum_of_real(a: GlobalArray, dtype: np.dtype[Any], norm: str | None) -> GlobalArray:
    """The n // 2 + 1 complex numbers that n real ones are transformed to."""
    n, m = a.size, a.size // 2
    if n % 2 or n <= MAX_COPIED:
        return transformed_vector(a, dtype, "fftn", norm)[:m + 1]
    pairs = a[::2].astype(dtype)
    pairs.imag[...] = a[1::2]
    z = transformed_vector(pairs, dtype, "fftn", None)
    mirrored = _mirrored(z[0], z[1:])
    odd = (z - mirrored) * -0.5j
    _turn(odd, n, -1)
    found = empty(m + 1, dtype)
    found[:m] = (z + mirrored) * 0.5 + odd
    found[m] = z[0].real - z[0].imag
    if norm in ("ortho", "forward"):
        found *= n ** (-0.5 if norm == "ortho" else -1.0)
    return found


def real_of_spectrum(x: GlobalArray, n: int, dtype: np.dtype[Any], norm: str | None) -> GlobalArray:
    """The n real numbers of which one half of the spectrum is given; what has to be real in it is taken to be."""
    m = n // 2
    if n % 2 or n <= MAX_COPIED:
        return transformed_vector(_whole_spectrum(x, n, dtype), dtype, "ifftn", norm).real.copy()
    first = x[:m].astype(dtype)
    first.imag[0] = 0
    mirrored = _mirrored(x[m].real, first[1:])
    odd = (first - mirrored) * 0.5j
    _turn(odd, n, 1)
    z = transformed_vector((first + mirrored) * 0.5 + odd, dtype, "ifftn", None)
    found = empty(n, np.finfo(dtype).dtype)
    found[::2] = z.real
    found[1::2] = z.imag
    if norm in ("ortho", "forward"):
        found *= n ** (0.5 if norm == "ortho" else 1.0)
    return found


def _mirrored(first: GlobalArray, others: GlobalArray) -> GlobalArray:
    """The conjugates of an element, and of others from the last one on."""
    found = empty(1 + len(others), others.dtype)
    found[0] = first.conj()
    found[1:] = others[::-1].conj()
    return found


def _whole_spectrum(x: GlobalArray, n: int, dtype: np.dtype[Any]) -> GlobalArray:
    """The n elements of which one half is given; what has to be real there is taken to be."""
    found = empty(n, dtype)
    found[:len(x)] = x
    found.imag[0] = 0
    if n % 2 == 0:
        found.imag[n // 2] = 0
    found[len(x):] = x[1:n - len(x) + 1][::-1].conj()
    return found


def _turn(x: GlobalArray, n: int, sign: int) -> None:
    """Multiply element k by exp(sign * 2 pi i k / n), on each process, for those that it has."""
    perform(partial(_turn_part, n, sign), x.global_indices(0), update(x))


@silenced
def _turn_part(n: int, sign: int, indices: NDArray[np.int64], part: NDArray[Any]) -> None:
    for start in range(0, len(part), ROOTS_AT_ONCE):
        here = slice(start, start + ROOTS_AT_ONCE)
        part[here] *= roots(sign, n, indices[here], part.dtype)
