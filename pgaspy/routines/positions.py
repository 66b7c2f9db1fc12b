"""Where elements are: indices of diagonals and triangles, and indices counted in row-major order."""

from __future__ import annotations

import functools
import math
import operator
from collections.abc import Callable, Sequence
from typing import Any, Literal, cast

import numpy as np
from numpy.typing import NDArray

import pgaspy as pg
from pgaspy.array import check_array
from pgaspy.blockmath import common_places
from pgaspy.creation import Shape, as_global, as_values
from pgaspy.dispatch import implements
from pgaspy.operands import as_extents
from pgaspy.routines.mapping import mapped
from pgaspy.scheduling.floating_point import as_asked
from pgaspy.small_calls import MAX_CROSSED, by_numpy, written_by_numpy
from pgaspy.statements import check_writable
from pgaspy.tasks import perform
from pgaspy.values import is_any, told

__all__ = [
    "diag_indices", "diag_indices_from", "fill_diagonal", "mask_indices", "ravel_multi_index", "tril_indices",
    "tril_indices_from", "triu_indices", "triu_indices_from", "unravel_index",
]

Indices = tuple[pg.GlobalArray, ...]


def diag_indices(n: int, ndim: int = 2) -> Indices:
    """The indices of the main diagonal of an array of n elements along each dimension. Collective.

    Parameters
    ----------
    n
        The extents.
    ndim
        The number of dimensions.

    Returns
    -------
    For each dimension a vector, as a key of the array.

    Examples
    --------
    >>> import pgaspy as pg
    >>> pg.arange(9).reshape(3, 3)[pg.diag_indices(3)].gather()
    array([0, 4, 8])
    """
    return (pg.arange(n),) * ndim


@implements(np.diag_indices_from)
def diag_indices_from(arr: Any) -> Indices:
    """The indices of the main diagonal of an array. Collective; see `diag_indices`.

    Raises
    ------
    ValueError
        If it has less than two dimensions, or other extents.
    """
    shape = _shape_with_diagonal(arr)
    if len({*shape}) != 1:
        raise ValueError("All dimensions of input must be of equal length")
    return diag_indices(shape[0], len(shape))


def _shape_with_diagonal(arr: Any) -> tuple[int, ...]:
    shape = pg.shape(arr)
    if len(shape) < 2:
        raise ValueError("input array must be at least 2-d")
    return shape


def tril_indices(n: int, k: int = 0, m: int | None = None) -> Indices:
    """The indices of the lower triangle of a matrix. Collective.

    Parameters
    ----------
    n, m
        The numbers of rows and columns; as many columns as rows by default.
    k
        The last diagonal of the triangle: 0 for the main one, more for those above, less for those below it.

    Returns
    -------
    For each dimension a vector, as a key of the matrix, in row-major order.

    Examples
    --------
    >>> import pgaspy as pg
    >>> pg.arange(9).reshape(3, 3)[pg.tril_indices(3)].gather()
    array([0, 3, 4, 6, 7, 8])
    """
    return pg.nonzero(pg.tri(n, m, k, bool))


@implements(np.tril_indices_from)
def tril_indices_from(arr: Any, k: int = 0) -> Indices:
    """The indices of the lower triangle of a matrix that there is; see `tril_indices`. Collective.

    Raises
    ------
    ValueError
        If it has not two dimensions.
    """
    return tril_indices(_shape_of_matrix(arr)[0], k, _shape_of_matrix(arr)[1])


def triu_indices(n: int, k: int = 0, m: int | None = None) -> Indices:
    """The indices of the upper triangle of a matrix, from diagonal k on; see `tril_indices`. Collective."""
    return pg.nonzero(~pg.tri(n, m, k - 1, bool))


@implements(np.triu_indices_from)
def triu_indices_from(arr: Any, k: int = 0) -> Indices:
    """The indices of the upper triangle of a matrix that there is; see `tril_indices_from`. Collective."""
    return triu_indices(_shape_of_matrix(arr)[0], k, _shape_of_matrix(arr)[1])


def _shape_of_matrix(arr: Any) -> tuple[int, ...]:
    shape = pg.shape(arr)
    if len(shape) != 2:
        raise ValueError("input array must be 2-d")
    return shape


def mask_indices(n: int, mask_func: Callable[[Any, Any], Any], k: Any = 0) -> Indices:
    """The indices of what a function as `triu` leaves of a square matrix. Collective.

    Parameters
    ----------
    n
        The extents.
    mask_func
        Of a global array, and `k`.
    k
        What is handed to it.

    Examples
    --------
    >>> import pgaspy as pg
    >>> pg.arange(9).reshape(3, 3)[pg.mask_indices(3, pg.triu, 1)].gather()
    array([1, 2, 5])
    """
    return pg.nonzero(mask_func(pg.ones((n, n), int), k) != 0)


@implements(np.fill_diagonal)
@written_by_numpy(np.fill_diagonal, MAX_CROSSED)
def fill_diagonal(a: Any, val: Any, wrap: bool = False) -> None:
    """Assign to the main diagonal of an array, in place. Collective.

    Parameters
    ----------
    a
        A global array of two or more dimensions; those of more than two have one extent.
    val
        A number, or values for the diagonal; if these are too few, they come again.
    wrap
        Go on below the last column of a tall matrix, with a row between.

    Raises
    ------
    ValueError
        If it has less than two dimensions, or more and other extents.
    TypeError
        If it is no global array.

    Examples
    --------
    >>> import pgaspy as pg
    >>> A = pg.zeros((2, 2), int)
    >>> pg.fill_diagonal(A, 5)
    >>> A.gather()
    array([[5, 0],
           [0, 5]])
    """
    check_array(a, "fill_diagonal")
    if a.ndim < 2:
        raise ValueError("array must be at least 2-d")
    if a.ndim > 2 and len({*a.shape}) != 1:
        raise ValueError("All dimensions of input must be of equal length")
    goes_on = wrap and a.shape[0] > a.shape[1]
    if a.ndim == 2 and not goes_on and not isinstance(val, pg.GlobalArray):
        with a._written() as target:
            if _is_filled_in_place(target, as_values(val, a.dtype)):
                return
    step = a.shape[1] + 1 if a.ndim == 2 else sum(a.shape[0] ** d for d in range(a.ndim))
    stop = a.size if wrap or a.ndim > 2 else min(a.shape[1] ** 2, a.size)
    a.flat[:stop:step] = val


def _is_filled_in_place(a: pg.GlobalArray, values: Any) -> bool:
    """Assign what every process has to the diagonal of a matrix, each to its part; whether that can be done."""
    n = min(a.shape)
    square = a[:n, :n]
    if square._view.own_layout is None or not values.size or not np.can_cast(values.dtype, a.dtype, "same_kind"):
        return False
    check_writable(a._view)
    along = as_asked(np.resize(values, n).astype, a.dtype)
    perform(functools.partial(_fill, along), pg.update(square), square.global_indices(0), square.global_indices(1))
    return True


def _fill(values: NDArray[Any], a: NDArray[Any], rows: NDArray[np.int64], columns: NDArray[np.int64]) -> None:
    """Assign to what is here of a diagonal."""
    i, j = common_places(rows, columns)
    a[i, j] = values[rows[i]]


@implements(np.unravel_index)
@by_numpy(np.unravel_index)
def unravel_index(indices: Any, shape: Shape, order: Literal["C", "F"] = "C") -> tuple[Any, ...]:
    """The indices per dimension of elements that are counted in row-major order. Collective; waits for their range.

    Parameters
    ----------
    indices
        An array of integers.
    shape
        The extents of what they are indices of.
    order
        "F", if they are counted in column-major order.

    Returns
    -------
    For each dimension an array of the shape of `indices`; of a Python integer NumPy's.

    Raises
    ------
    ValueError
        If one is beyond the shape.
    TypeError
        If they are no integers.

    Examples
    --------
    >>> import pgaspy as pg
    >>> A = pg.array([[1, 5, 2], [0, 3, 4]])
    >>> row, column = pg.unravel_index(A.argmax(), A.shape)
    >>> int(row), int(column)
    (0, 1)
    """
    extents = tuple(map(operator.index, as_extents(told(shape))))
    if isinstance(indices, int):
        return np.unravel_index(indices, extents, order)
    counted, n = as_global(indices), math.prod(extents)
    if counted.dtype.kind not in "iu":
        raise TypeError("only int indices permitted")
    if is_any((counted < 0) | (counted >= n)):
        raise ValueError(f"an index is out of bounds for array with size {n}")
    if len(extents) < 2:
        return (counted.astype(np.intp),) * len(extents)
    where = functools.partial(np.unravel_index, shape=extents, order=order)
    return tuple(mapped(where, [np.dtype(np.intp)] * len(extents), [counted]))


@implements(np.ravel_multi_index)
@by_numpy(np.ravel_multi_index)
def ravel_multi_index(multi_index: Sequence[Any], dims: Sequence[int], mode: Any = "raise",
                      order: Literal["C", "F"] = "C") -> Any:
    """The indices, counted in row-major order, of elements with given indices per dimension. Collective.

    Parameters
    ----------
    multi_index
        For each dimension an array of integers; these broadcast.
    dims
        The extents of what they are indices of.
    mode
        What becomes of those beyond an extent: "raise", for which this waits, "wrap" or "clip"; or one for each.
    order
        "F", to count in column-major order.

    Raises
    ------
    ValueError
        If one is beyond its dimension, or there are not as many arrays as dimensions.
    TypeError
        If they are no integers.

    Examples
    --------
    >>> import pgaspy as pg
    >>> pg.ravel_multi_index((pg.array([0, 1]), pg.array([2, 1])), (2, 3)).gather()
    array([2, 4])
    """
    dims = told(tuple(dims))
    if len(multi_index) != len(dims):
        raise ValueError(f"parameter multi_index must be a sequence of length {len(dims)}")
    indices = [as_global(i) for i in multi_index]
    if any(i.dtype.kind not in "iu" for i in indices):
        raise TypeError("only int indices permitted")
    modes = mode if isinstance(mode, tuple) else (mode,) * len(dims)
    for i, n, one in zip(indices, dims, modes, strict=True):
        if one == "raise" and is_any((i < 0) | (i >= n)):
            raise ValueError("invalid entry in coordinates array")

    def count(*parts: Any) -> Any:
        return np.ravel_multi_index(cast(Any, parts), dims, mode, order)
    found, = mapped(count, (np.dtype(np.intp),), indices)
    return found
