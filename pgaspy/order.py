"""NumPy's functions that put elements in order, as public names.

Each is registered for NumPy's function of the same name, so that `numpy.sort(A)` works as well.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from pgaspy.array import GlobalArray
from pgaspy.creation import as_global
from pgaspy.dispatch import implements
from pgaspy.sorting import check_kind, in_order

__all__ = ["argsort", "sort"]


@implements(np.sort)
def sort(a: Any, axis: int | None = -1, kind: str | None = None, order: None = None, *,
         stable: bool | None = None) -> GlobalArray:
    """The elements, sorted along a dimension. Collective.

    Parameters
    ----------
    a
        An array of any dtype.
    axis
        The dimension, the last one by default; with None, all elements are sorted, as a vector.
    kind, order, stable
        As in NumPy, and without effect: the order is stable always, and no array has fields.

    Returns
    -------
    A new array, dealt out as `a` is. NaN and NaT come last; complex numbers are ordered by their real parts, and where
    these are equal by their imaginary parts.

    Raises
    ------
    ValueError
        If there is no such dimension, or no such kind.

    Notes
    -----
    Along a dimension that each process holds whole, each sorts its part. A vector that is dealt out is sorted by
    histogram sort with sampling (Harsh, Kale and Solomonik 2019): each element is sent once, and each process gets
    exactly its part of the result, whatever the elements are. Any other dimension is made whole before, and dealt out
    again.

    Examples
    --------
    >>> import pgaspy as pg
    >>> pg.sort(pg.array([[3, 1, 2], [0, 5, 4]])).gather()
    array([[1, 2, 3],
           [0, 4, 5]])
    """
    check_kind(kind, order, stable)
    a = as_global(a)
    return GlobalArray(*in_order(a._base, a._view, axis, gives_indices=False))


@implements(np.argsort)
def argsort(a: Any, axis: int | None = -1, kind: str | None = None, order: None = None, *,
            stable: bool | None = None) -> GlobalArray:
    """The indices that sort the elements along a dimension; see `GlobalArray.argsort`. Collective."""
    return as_global(a).argsort(axis, kind, order, stable=stable)
