"""Windows that signals are multiplied by before they are transformed."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

import pgaspy as pg
from pgaspy.creation import empty, generated, without_array

__all__ = ["bartlett", "blackman", "hamming", "hanning", "kaiser"]


def _window(M: Any, values: Callable[[NDArray[Any], Any], NDArray[Any]]) -> pg.GlobalArray:
    """M values, of the distances from the middle, in halves of the distance of neighbours; and of the last of these."""
    n = np.array([0.0, without_array(M)])[1]
    first, extent = 1 - n, math.ceil(n - 0.5) if n >= 1 else 0
    return generated(empty(extent, n.dtype), lambda i: np.ones(len(i)) if n == 1 else values(first + 2.0 * i, n - 1))


def bartlett(M: Any) -> pg.GlobalArray:
    """A triangle of M values from zero to one and back; of one value, which is one. Collective.

    Examples
    --------
    >>> import pgaspy as pg
    >>> pg.bartlett(5).gather()
    array([0. , 0.5, 1. , 0.5, 0. ])
    """
    return _window(M, lambda n, last: np.where(n <= 0, 1 + n / last, 1 - n / last))


def blackman(M: Any) -> pg.GlobalArray:
    """Blackman's window of M values: a sum of three cosines; see `bartlett`. Collective."""
    return _window(M, lambda n, last: 0.42 + 0.5 * np.cos(np.pi * n / last) + 0.08 * np.cos(2.0 * np.pi * n / last))


def hamming(M: Any) -> pg.GlobalArray:
    """Hamming's window of M values: a cosine on a pedestal; see `bartlett`. Collective."""
    return _window(M, lambda n, last: 0.54 + 0.46 * np.cos(np.pi * n / last))


def hanning(M: Any) -> pg.GlobalArray:
    """Von Hann's window of M values: a cosine; see `bartlett`. Collective."""
    return _window(M, lambda n, last: 0.5 + 0.5 * np.cos(np.pi * n / last))


def kaiser(M: Any, beta: Any) -> pg.GlobalArray:
    """Kaiser's window of M values: a Bessel function of what `beta` makes narrow; see `bartlett`. Collective."""
    beta = without_array(beta)

    def values(n: NDArray[Any], last: Any) -> NDArray[Any]:
        alpha = last / 2.0
        i = (n + last) / 2.0
        return np.i0(beta * np.sqrt(1 - ((i - alpha) / alpha) ** 2.0)) / np.i0(beta)

    return _window(M, values)
