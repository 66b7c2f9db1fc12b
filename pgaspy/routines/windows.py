"""Windows: the weights that samples of signals are multiplied by before they are transformed."""

from __future__ import annotations

from typing import Any

import numpy as np

import pgaspy as pg
from pgaspy.creation import as_global
from pgaspy.dispatch import implements
from pgaspy.routines.mapping import mapped
from pgaspy.small_calls import by_numpy

__all__ = ["bartlett", "blackman", "hamming", "hanning", "i0", "kaiser"]


def bartlett(M: int) -> pg.GlobalArray:
    """A window of M points that rises in a line from 0 to 1, and falls again. Collective.

    Parameters
    ----------
    M
        How many points; none, if it is less than 1.

    Returns
    -------
    Shape (M,), float64.

    Examples
    --------
    >>> import pgaspy as pg
    >>> pg.bartlett(5).gather()
    array([0. , 0.5, 1. , 0.5, 0. ])
    """
    def weight(n: Any, last: Any) -> Any:
        return 1 - abs(n) / last
    return _window(M, weight)


def blackman(M: int) -> pg.GlobalArray:
    """A window of M points: three terms of a cosine series. Collective; all else is as for `bartlett`."""
    def weight(n: Any, last: Any) -> Any:
        return 0.42 + 0.5 * np.cos(np.pi * n / last) + 0.08 * np.cos(2.0 * np.pi * n / last)
    return _window(M, weight)


def hamming(M: int) -> pg.GlobalArray:
    """A window of M points: a cosine, raised to end above 0. Collective; all else is as for `bartlett`."""
    def weight(n: Any, last: Any) -> Any:
        return 0.54 + 0.46 * np.cos(np.pi * n / last)
    return _window(M, weight)


def hanning(M: int) -> pg.GlobalArray:
    """A window of M points: a cosine, raised to end at 0. Collective; all else is as for `bartlett`."""
    def weight(n: Any, last: Any) -> Any:
        return 0.5 + 0.5 * np.cos(np.pi * n / last)
    return _window(M, weight)


def kaiser(M: int, beta: float) -> pg.GlobalArray:
    """A window of M points of Bessel functions. Collective; all else is as for `bartlett`.

    Parameters
    ----------
    M
        How many points.
    beta
        The shape: the larger, the narrower.
    """
    def weight(n: Any, last: Any) -> Any:
        return i0(beta * np.sqrt(1 - (n / last) ** 2.0)) / np.i0(float(beta))
    return _window(M, weight)


def _window(m: int, weight: Any) -> pg.GlobalArray:
    """The weights of points that are numbered by -last, -last + 2, and so on up to last."""
    if m < 1:
        return pg.zeros(0)
    n = pg.arange(1.0 - m, m, 2.0)
    return weight(n, m - 1.0) if m > 1 else pg.ones(1)


@implements(np.i0)
@by_numpy(np.i0)
def i0(x: Any) -> pg.GlobalArray:
    """The modified Bessel function of the first kind and order 0, of each element. Collective.

    Parameters
    ----------
    x
        An array of real numbers.

    Raises
    ------
    TypeError
        For complex numbers.

    Examples
    --------
    >>> import pgaspy as pg
    >>> pg.round(pg.i0(pg.array([0.0, 1.0])), 6).gather()
    array([1.      , 1.266066])
    """
    x = as_global(x)
    dtype = np.i0(np.zeros(1, x.dtype)).dtype
    found, = mapped(np.i0, (dtype,), (x,))
    return found
