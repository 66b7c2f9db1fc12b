"""The frequencies of transforms, and shifts that bring the zeroth to the middle."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import DTypeLike

from pgaspy.array import GlobalArray
from pgaspy.creation import AnyLayout, arange, as_global
from pgaspy.dispatch import implements
from pgaspy.manipulation import roll
from pgaspy.values import told

__all__ = ["fftfreq", "fftshift", "ifftshift", "rfftfreq"]

Axes = int | Sequence[int] | None


def fftfreq(n: int, d: float = 1.0, device: str | None = None, *, dtype: DTypeLike | None = None,
            layout: AnyLayout = None) -> GlobalArray:
    """The frequencies of the elements of a transform, in cycles per unit of the spacing. Collective.

    Parameters
    ----------
    n
        The length of the transform.
    d
        How far samples are apart.
    dtype
        Of floating-point numbers, to which the frequencies are rounded; float64 by default.
    device, layout
        As for `pgaspy.empty`.

    Returns
    -------
    Shape (n,): 0 and the positive frequencies, then the negative ones.

    Raises
    ------
    ValueError
        If `n` is no integer, or negative; for another dtype, or device.

    Examples
    --------
    >>> import pgaspy as pg
    >>> pg.fft.fftfreq(4, 0.5).gather()
    array([ 0. ,  0.5, -1. , -0.5])
    """
    n, d = told(n), told(d)
    i = arange(_checked(n), layout=layout, device=device)
    return _as(dtype, (i - n * (i > (n - 1) // 2)) * (1.0 / (n * d)))


def rfftfreq(n: int, d: float = 1.0, device: str | None = None, *, dtype: DTypeLike | None = None,
             layout: AnyLayout = None) -> GlobalArray:
    """The frequencies of the elements of a transform of real numbers; all else is as for `fftfreq`. Collective.

    Examples
    --------
    >>> import pgaspy as pg
    >>> pg.fft.rfftfreq(4, 0.5).gather()
    array([0. , 0.5, 1. ])
    """
    n, d = told(n), told(d)
    return _as(dtype, arange(_checked(n) // 2 + 1, layout=layout, device=device) * (1.0 / (n * d)))


def _as(dtype: DTypeLike | None, frequencies: GlobalArray) -> GlobalArray:
    """The frequencies, rounded to a dtype."""
    if dtype is None:
        return frequencies
    if np.dtype(dtype).kind != "f":
        raise ValueError(f"`dtype` must be a real floating-point type, not {np.dtype(dtype)}")
    return frequencies.astype(dtype, copy=False)


def _checked(n: Any) -> int:
    if not isinstance(n, int | np.integer):
        raise ValueError("n should be an integer")
    if n < 0:
        raise ValueError("negative dimensions are not allowed")
    return int(n)


@implements(np.fft.fftshift)
def fftshift(x: Any, axes: Axes = None) -> GlobalArray:
    """An array with the zeroth frequency in the middle of dimensions, of all by default. Collective.

    Examples
    --------
    >>> import pgaspy as pg
    >>> pg.fft.fftshift(pg.array([0, 1, -2, -1])).gather()
    array([-2, -1,  0,  1])
    """
    return _shifted(as_global(x), axes, lambda n: n // 2)


@implements(np.fft.ifftshift)
def ifftshift(x: Any, axes: Axes = None) -> GlobalArray:
    """What `fftshift` was called with, of its result. Collective.

    Examples
    --------
    >>> import pgaspy as pg
    >>> pg.fft.ifftshift(pg.array([-1, 0, 1])).gather()
    array([ 0,  1, -1])
    """
    return _shifted(as_global(x), axes, lambda n: -(n // 2))


def _shifted(x: GlobalArray, axes: Axes, by: Any) -> GlobalArray:
    chosen = tuple(range(x.ndim)) if axes is None else tuple(np.atleast_1d(told(axes)).tolist())
    return roll(x, tuple(by(x.shape[axis]) for axis in chosen), chosen)
