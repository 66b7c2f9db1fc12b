"""Movement by name: `replicate` and `align`, which copy a view to where its elements are needed."""

from __future__ import annotations

from typing import Any

from pgaspy import global_assign
from pgaspy.array import GlobalArray
from pgaspy.creation import asarray

__all__ = ["align", "replicate"]


def replicate(A: GlobalArray, axis: int) -> GlobalArray:
    """A copy of a view in which the dimension dealt out along an axis of the grid is whole. Collective.

    Every process along that axis holds it; the other dimensions keep exactly the view's owners. So the panel
    `A[:, k:k+b]`, replicated along axis 1, is where SUMMA needs it: in every grid column, next to the rows.

    Parameters
    ----------
    A
        An array or a view of one.
    axis
        The axis of the process grid, not of the array.

    Raises
    ------
    ValueError
        If the grid has no such axis, or the view no layout of its own.
    """
    return GlobalArray(*global_assign.replicate(A._base, A._view, axis))


def align(x: Any, A: GlobalArray, dim: int) -> GlobalArray:
    """A copy of a vector that lies as dimension `dim` of an array does. Collective.

    Each process holds the elements that go with its local part of `A` along that dimension: it is replicated along the
    other axes of the grid.

    Parameters
    ----------
    x
        Shape (A.shape[dim],).
    A
        An array or a view of one.
    dim
        A dimension of `A`.

    Raises
    ------
    ValueError
        If the extents differ, or the view has no layout of its own.
    """
    x = asarray(x)
    return GlobalArray(*global_assign.aligned(x._base, x._view, A._view, dim))
