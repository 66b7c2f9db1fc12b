"""The angles of complex numbers, and angles without jumps."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.lib.array_utils import normalize_axis_index

import pgaspy as pg
from pgaspy.creation import as_global
from pgaspy.dispatch import implements

__all__ = ["angle", "unwrap"]


@implements(np.angle)
def angle(z: Any, deg: bool = False) -> pg.GlobalArray:
    """The angles of complex numbers, in (-pi, pi]; of real ones 0, or pi for those that are negative. Collective.

    Parameters
    ----------
    z
        An array of numbers.
    deg
        Give degrees instead of radians.

    Examples
    --------
    >>> import pgaspy as pg
    >>> pg.angle(pg.array([1j, -1, 1 + 1j]), deg=True).gather()
    array([ 90., 180.,  45.])
    """
    z = as_global(z)
    found: Any = np.arctan2(z.imag, z.real) if z.dtype.kind == "c" else np.arctan2(0, z)
    return found * (180 / np.pi) if deg else found


@implements(np.unwrap)
def unwrap(p: Any, discont: float | None = None, axis: int = -1, *, period: float = 2 * np.pi) -> pg.GlobalArray:
    """The elements along a dimension, with periods added so that neighbours differ by at most half of one. Collective.

    Parameters
    ----------
    p
        An array of real numbers.
    discont
        Differences that are smaller stay as they are; by default those of half a period.
    axis
        The dimension, by default the last.
    period
        Of the angles.

    Raises
    ------
    ValueError
        If there is no such dimension.

    Examples
    --------
    >>> import pgaspy as pg
    >>> pg.unwrap(pg.array([0, 1, 2, -1, 0]), period=4).gather()
    array([0, 1, 2, 3, 4])
    """
    p = as_global(p)
    steps: Any = pg.diff(p, axis=axis)
    dtype = np.result_type(steps.dtype, period)
    half, is_odd = divmod(period, 2) if dtype.kind in "iu" else (period / 2, 0)
    within = np.mod(steps + half, period) - half
    if not is_odd:
        within = pg.where((within == -half) & (steps > 0), half, within)
    corrections = pg.where(abs(steps) < (period / 2 if discont is None else discont), 0, within - steps)
    later = (*[slice(None)] * normalize_axis_index(axis, p.ndim), slice(1, None))
    found = p.astype(dtype)
    found[later] = p[later] + corrections.cumsum(axis)
    return found
