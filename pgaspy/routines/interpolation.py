"""Values between points."""

from __future__ import annotations

import functools
from typing import Any

import numpy as np

import pgaspy as pg
from pgaspy.creation import as_global
from pgaspy.dispatch import implements
from pgaspy.routines.mapping import mapped
from pgaspy.searching import is_little
from pgaspy.small_calls import by_numpy
from pgaspy.supervision.recorder import take_numbers
from pgaspy.values import told

__all__ = ["interp"]


@implements(np.interp)
@by_numpy(np.interp, lying="as given")
def interp(x: Any, xp: Any, fp: Any, left: Any = None, right: Any = None,
           period: float | None = None) -> pg.GlobalArray:
    """The values at points of a function that is linear between others. Collective.

    Parameters
    ----------
    x
        The points, an array of any shape.
    xp, fp
        The points where the function is known, in increasing order, and its values there. Shape (n,); every process
        gets all of both, or, where `x` has few points, those beside these.
    left, right
        The values before the first point, and after the last; by default those at these points.
    period
        Of the function: points count modulo this, in any order, and `left` and `right` are not used.

    Returns
    -------
    float64, or complex128 of complex values, of the shape and in the layout of `x`.

    Raises
    ------
    ValueError
        If `xp` and `fp` are no vectors of one length, or empty; or if the period is 0.
    TypeError
        For points that are complex, or longer than float64.

    Examples
    --------
    >>> import pgaspy as pg
    >>> pg.interp(pg.array([-1.0, 0.5, 1.5]), [0, 1, 2], [0, 10, 40]).gather()
    array([ 0.,  5., 25.])
    """
    x, xp, fp = as_global(x), as_global(xp), as_global(fp)
    left, right, period = told((left, right, period))
    if period is not None and not period:
        raise ValueError("period must be a non-zero value")
    if xp.ndim != 1 or fp.ndim != 1:
        raise ValueError("Data points must be 1-D sequences")
    if not xp.size:
        raise ValueError("array of sample points is empty")
    if len(xp) != len(fp):
        raise ValueError("fp and xp are not of the same length.")
    if period is None and is_little(x, xp):
        xp, fp = _beside(x, xp, fp)
    dtype = np.dtype(complex if fp.dtype.kind == "c" else float)
    function = functools.partial(np.interp, left=left, right=right, period=period)
    take_numbers(function)
    found, = mapped(function, (dtype,), (x,), (xp, fp))
    return found


def _beside(x: pg.GlobalArray, xp: pg.GlobalArray, fp: pg.GlobalArray) -> tuple[pg.GlobalArray, pg.GlobalArray]:
    """The first and the last point where a function is known, and those on both sides of others, with its values."""
    last, after = len(xp) - 1, pg.searchsorted(xp, x, "right").gather().reshape(-1)
    beside = np.unique(np.clip([*after - 1, *after, 0, last], 0, last))
    return xp[beside], fp[beside]
