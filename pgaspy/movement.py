"""Movement by name: `replicate` and `align` copy a view to where its elements are needed, `combine` joins copies."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from numpy.typing import NDArray

from pgaspy import global_assign
from pgaspy.array import GlobalArray, check_array
from pgaspy.execution.recording import record
from pgaspy.scheduling.kinds.combination import combine as combine_recipe
from pgaspy.ufuncs import as_base_view

__all__ = ["align", "combine", "replicate"]


def replicate(A: GlobalArray, axis: int, copy: bool = True) -> GlobalArray:
    """A copy of a view in which the dimension dealt out along an axis of the grid is whole. Collective.

    Every process along that axis holds it; the other dimensions keep exactly the view's owners. So the panel
    `A[:, k:k+b]`, replicated along axis 1, is where SUMMA needs it: in every grid column, next to the rows.

    Parameters
    ----------
    A
        An array or a view of one.
    axis
        The axis of the process grid, not of the array.
    copy
        Make a copy also where every process along the axis holds it already (of which there is one, then); without, the
        view itself is returned there.

    Raises
    ------
    ValueError
        If the grid has no such axis, or the view no layout of its own.
    """
    check_array(A, "replicate")
    return GlobalArray(*global_assign.replicate(A._base, A._view, axis, copy))


def align(x: Any, A: GlobalArray, dim: int, copy: bool = True) -> GlobalArray:
    """A copy of an array that lies, along one dimension, as another array does. Collective.

    Each process holds the elements that go with its local part of `A` along that dimension: the copy is replicated
    along the other axes of the grid.

    Parameters
    ----------
    x
        A vector, shape (A.shape[dim],); or an array of as many dimensions as `A`, of which dimension `dim` has the
        extent that it has in `A`, and the others are whole in the copy.
    A
        An array or a view of one.
    dim
        A dimension of `A`.
    copy
        Make a copy also of what lies so already; without, it is returned as it is.

    Raises
    ------
    ValueError
        If the extents differ, or the view has no layout of its own.
    """
    check_array(A, "align")
    return GlobalArray(*global_assign.aligned(*as_base_view(x), A._view, dim, copy))


def combine(function: Callable[[NDArray[Any], NDArray[Any]], NDArray[Any]], R: GlobalArray) -> None:
    """Join the copies of a replicated array, in which each process has left something else. Collective.

    All copies become `function(lower, higher)` of two parts of them, again and again, in the order of the ranks along
    the axes of the grid that hold copies: MPI's Allreduce with an operation of the user's. So a reduction is what each
    process schedules to be written to its copy, and what joins two of these:

    - `np.add` sums products of what each process owns;
    - `lambda a, b: np.linalg.qr(np.vstack((a, b)))[1]` makes the triangular factor of a tall matrix.

    Parameters
    ----------
    function
        Associative; of two NumPy arrays of the shape of R's local part, which it does not change, and which are valid
        during the call only: their memory is used again. Returns a third, or one of them. Plans are found again for
        the same function only: define it once.
    R
        An array, or a view of one, of whose layout an axis of the grid holds copies.

    Raises
    ------
    ValueError
        If no axis of the grid holds copies of R.

    Examples
    --------
    >>> import numpy as np, pgaspy as pg
    >>> n = pg.zeros(1, layout=pg.Distribution("*"))
    >>> def count(n):
    ...     n[0] = 1
    >>> pg.schedule(count, pg.write(n))
    >>> pg.combine(np.add, n)
    >>> int(n[0]) == pg.SIZE
    True
    """
    if not callable(function):
        raise TypeError("combine takes a function of two arrays, then a global array; what comes first is a "
                        f"{type(function).__name__}")
    check_array(R, "combine")
    layout = R._view.layout
    if not any(dim is None and pin is None for dim, pin in zip(layout.dim_from_axis, layout.pins, strict=True)):
        raise ValueError(f"combine joins the copies of an array along an axis of the grid, but {R!r} has none")
    record(combine_recipe(R._view, R.dtype, function), (R._base.storage,))
