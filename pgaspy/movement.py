"""Movement by name: `replicate` and `align` copy a view to where its elements are needed, `combine` joins copies."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

from pgaspy import global_assign
from pgaspy.array import GlobalArray, check_array
from pgaspy.execution.recording import record
from pgaspy.operands import as_base_view
from pgaspy.scheduling.kinds.combination import combine as combine_recipe
from pgaspy.ufuncs import check_target

__all__ = ["align", "combine", "replicate"]


def replicate(A: GlobalArray, axis: int | tuple[int, ...]) -> GlobalArray:
    """A copy of a view in which what is dealt out along axes of the grid is whole. Collective.

    Every process along these axes holds it; the other dimensions keep exactly the view's owners. So the panel
    `A[:, k:k+b]`, replicated along axis 1, is where SUMMA needs it: in every grid column, next to the rows. Where every
    process has these elements already, they are copied when either array is written to, and not before.

    Parameters
    ----------
    A
        An array or a view of one.
    axis
        The axis, or axes, of the process grid, not of the array.

    Raises
    ------
    ValueError
        If the grid has no such axis, or the view no layout of its own.

    Examples
    --------
    >>> import pgaspy as pg
    >>> A = pg.ones((4, 6), layout=pg.Distribution("block", "*"))
    >>> pg.replicate(A[:, 2:], axis=0).local().shape
    (4, 4)
    """
    check_array(A, "replicate")
    return GlobalArray(*global_assign.replicate(A._base, A._view, axis))


def align(x: Any, A: GlobalArray, dim: int) -> GlobalArray:
    """A copy of an array that lies, along one dimension, as another array does. Collective.

    Each process holds the elements that go with its local part of `A` along that dimension: the copy is replicated
    along the other axes of the grid. Where `x` lies so already, it is copied when either is written to, as by
    `replicate`.

    Parameters
    ----------
    x
        A vector, shape (A.shape[dim],); or an array of as many dimensions as `A`, of which dimension `dim` has the
        extent that it has in `A`, and the others are whole in the copy.
    A
        An array or a view of one.
    dim
        A dimension of `A`.

    Raises
    ------
    ValueError
        If the extents differ, or the view has no layout of its own.

    Examples
    --------
    >>> import pgaspy as pg
    >>> A = pg.ones((4, 6))
    >>> pg.align(pg.arange(6), A, 1).local().shape == A.local().shape[1:]
    True
    """
    check_array(A, "align")
    return GlobalArray(*global_assign.aligned(*as_base_view(x), A._view, dim))


def combine(function: Callable[[Any, Any], Any], *arrays: GlobalArray) -> None:
    """Join the copies of a replicated array, in which each process has left something else. Collective.

    All copies become `function(lower, higher)` of two parts of them, again and again, in the order of the ranks along
    the axes of the grid that hold copies: MPI's Allreduce with an operation of the user's. So a reduction is what each
    process schedules to be written to its copy, and what joins two of these:

    - `np.add` sums products of what each process owns;
    - `lambda a, b: np.linalg.qr(np.vstack((a, b)))[1]` makes the triangular factor of a tall matrix;
    - of several arrays, `lambda a, b: b if b[0] > a[0] else a` finds the largest of values, with what belongs to it.

    Parameters
    ----------
    function
        Associative; of two NumPy arrays of the shape of the array's local part, which it does not change, and which are
        valid during the call only: their memory is used again. Returns a third, or one of them. Of several arrays, it
        takes two tuples of as many NumPy arrays, and returns a third, or one of them. Plans are found again for the
        same function only: define it once.
    arrays
        An array, or a view of one, of whose layout an axis of the grid holds copies; or several, on one grid, with
        copies along the same axes: they travel together.

    Raises
    ------
    ValueError
        If no axis of the grid holds copies of an array, or arrays lie on other grids or axes, or share elements.
    TypeError
        If one is no global array, or a number: `A[i, j, ...]` is an array without dimensions.

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
    if not arrays:
        raise TypeError("combine takes a function of two arrays, then a global array, or several")
    for R in arrays:
        check_array(R, "combine")
        check_target(R)
        _check_copies(R, arrays[0])
    for R, S in itertools.combinations(arrays, 2):
        if R._base is S._base and R._view.shares(S._view):
            raise ValueError("two arrays of combine share elements: give each elements of its own")
    recipe = combine_recipe(tuple(R._view for R in arrays), tuple(R.dtype for R in arrays), function)
    record(recipe, tuple([R._base.storage for R in arrays]))


def _check_copies(R: GlobalArray, first: GlobalArray) -> None:
    layout, other = R._view.layout, first._view.layout
    if not any(dim is None and pin is None for dim, pin in zip(layout.dim_from_axis, layout.pins, strict=True)):
        raise ValueError(f"combine joins the copies of an array along an axis of the grid, but {R!r} has none")
    if (layout.grid, layout.replica_axes) != (other.grid, other.replica_axes):
        raise ValueError(f"combine joins arrays with copies along the same axes of one grid, not {layout} and {other}: "
                         "use align() or replicate()")
