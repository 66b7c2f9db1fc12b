"""Diagonals, traces and triangles: each process takes the elements that it has."""

from __future__ import annotations

import operator
from typing import Any

import numpy as np
from numpy.lib.array_utils import normalize_axis_index
from numpy.typing import DTypeLike, NDArray

import pgaspy as pg
from pgaspy import ufuncs
from pgaspy.blockmath import common_places
from pgaspy.creation import as_operand
from pgaspy.dispatch import implements
from pgaspy.layout import Layout, replicated
from pgaspy.pivoting import either
from pgaspy.scheduling.functions import WHERE
from pgaspy.small_calls import MAX_CROSSED, by_numpy
from pgaspy.tasks import perform

__all__ = ["clear_lower", "clear_upper", "copied_diagonal", "diagonal", "matrix_diagonal", "matrix_trace", "trace",
           "tril", "triu"]


@implements(np.diagonal)
def diagonal(a: Any, offset: int = 0, axis1: int = 0, axis2: int = 1) -> pg.GlobalArray:
    """The elements `a[i, i + offset]`, as a new array that is only read, as NumPy's is. Collective.

    Parameters
    ----------
    a
        Any array of at least two dimensions.
    offset
        Which diagonal: above the main one if positive, below it if negative.
    axis1, axis2
        The dimensions of the diagonal, `i` and `i + offset`.

    Returns
    -------
    The other dimensions, and the diagonal as the last, which is dealt out as `axis1` is, with a copy wherever that has
    one along the grid's other axes.

    Raises
    ------
    ValueError
        For less than two dimensions, or equal axes.
    """
    return copied_diagonal(a, offset, axis1, axis2)._read_only()


@by_numpy(np.diagonal, max_elements=MAX_CROSSED)
def copied_diagonal(a: Any, offset: int = 0, axis1: int = 0, axis2: int = 1) -> pg.GlobalArray:
    """The same as a new array that may be written to, as `einsum` gives it. Collective."""
    a, offset = as_operand(a), operator.index(offset)
    if a.ndim < 2:
        raise ValueError("diag requires an array of at least two dimensions")
    axis1, axis2 = (normalize_axis_index(axis, a.ndim) for axis in (axis1, axis2))
    if axis1 == axis2:
        raise ValueError("axis1 and axis2 cannot be the same")
    a = a.transpose(*(d for d in range(a.ndim) if d not in (axis1, axis2)), axis1, axis2)
    row, column = max(-offset, 0), max(offset, 0)
    n = max(min(a.shape[-2] - row, a.shape[-1] - column), 0)
    square = a[..., row:row + n, column:column + n]
    if square._view.own_layout is None:
        square = square.copy()
    layout = square.layout
    result = pg.empty(square.shape[:-1], a.dtype, layout=Layout(layout.grid, layout.dims[:-1], layout.pins))
    perform(_take_diagonal, pg.write(result), square, square.global_indices(-2), square.global_indices(-1))
    if layout.dims[-1].n_procs > 1 and result.size:
        pg.combine(either, result)
    return result


@implements(np.trace)
def trace(a: Any, offset: int = 0, axis1: int = 0, axis2: int = 1, dtype: DTypeLike | None = None,
          out: pg.GlobalArray | None = None) -> pg.GlobalArray:
    """The sum of a diagonal; see `diagonal` for the arguments. Collective."""
    return copied_diagonal(a, offset, axis1, axis2).sum(-1, dtype, out)


@implements(np.tril)
@by_numpy(lambda m, k=0: np.tril(m, operator.index(k)))
def tril(m: Any, k: int = 0) -> pg.GlobalArray:
    """A copy with zeros above the k-th diagonal, and so a lower triangle. Collective; moves what `copy` moves.

    Parameters
    ----------
    m
        Shape (..., M, N); or (N,), for N rows of these elements.
    k
        The last diagonal that is kept: above the main one if positive, below it if negative.

    Raises
    ------
    TypeError
        For an array of no dimension.

    Examples
    --------
    >>> import pgaspy as pg
    >>> pg.tril(pg.ones((2, 3))).gather()
    array([[1., 0., 0.],
           [1., 1., 0.]])
    """
    return _triangle(m, np.greater_equal, k)


@implements(np.triu)
@by_numpy(lambda m, k=0: np.triu(m, operator.index(k)))
def triu(m: Any, k: int = 0) -> pg.GlobalArray:
    """A copy with zeros below the k-th diagonal, and so an upper triangle; see `tril`. Collective."""
    return _triangle(m, np.less_equal, k)


@implements(np.linalg.diagonal)
def matrix_diagonal(x: Any, /, *, offset: int = 0) -> pg.GlobalArray:
    """The elements `x[..., i, i + offset]`, of the last two dimensions; see `pgaspy.diagonal`. Collective."""
    return diagonal(x, offset, -2, -1)


@implements(np.linalg.trace)
def matrix_trace(x: Any, /, *, offset: int = 0, dtype: DTypeLike | None = None) -> pg.GlobalArray:
    """The sum of a diagonal of the last two dimensions. Collective."""
    return trace(x, offset, -2, -1, dtype)


def _take_diagonal(d: NDArray[Any], a: NDArray[Any], rows: NDArray[np.int64], columns: NDArray[np.int64]) -> None:
    """The elements of the diagonal that are here, and zeros, bit by bit, for the others."""
    d[...] = np.zeros((), d.dtype)
    i, j = common_places(rows, columns)
    d[..., i] = a[..., i, j]


def _triangle(m: Any, compare: np.ufunc, k: int) -> pg.GlobalArray:
    m = as_operand(m)
    if not m.ndim:
        raise TypeError("a triangle is one of an array of at least one dimension")
    if m.ndim == 1:
        m = pg.broadcast_to(m, (len(m), len(m)))
    found = pg.empty_like(m)
    _keep(m, compare, k, found)
    return found


def clear_lower(A: pg.GlobalArray, k: int = 0) -> None:
    """Zeros below the k-th diagonal of a whole array, of its last two dimensions."""
    _keep(A, np.less_equal, k, A)


def clear_upper(A: pg.GlobalArray, k: int = 0) -> None:
    """Zeros above the k-th diagonal of a whole array, of its last two dimensions."""
    _keep(A, np.greater_equal, k, A)


def _keep(A: pg.GlobalArray, compare: np.ufunc, k: int, found: pg.GlobalArray) -> None:
    """The elements whose row's index, plus k, compares so with their column's, and zeros: by one kernel, where they are
    to lie.
    """
    n_rows, n_columns = A.shape[-2:]
    first = min(max(operator.index(k), -n_rows), n_columns)
    rows, columns = (pg.arange(start, start + n, layout=replicated((n,), pg.SIZE))
                     for start, n in ((first, n_rows), (0, n_columns)))
    is_kept = pg.empty_like(found, bool)
    ufuncs.apply(compare, (rows[:, None], columns), (is_kept,))
    ufuncs.apply(WHERE, (is_kept, A, np.zeros((), A.dtype)), (found,))
