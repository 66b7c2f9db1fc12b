"""Which elements lie on diagonals and in triangles; and places by one number, or by one for each dimension."""

from __future__ import annotations

import math
import operator
from collections.abc import Sequence
from typing import Any, SupportsIndex

import numpy as np

import pgaspy as pg
from pgaspy.array import check_array
from pgaspy.creation import as_array, as_global
from pgaspy.dispatch import implements
from pgaspy.routines.grids import tri
from pgaspy.ufuncs import check_target

__all__ = ["diag_indices", "diag_indices_from", "fill_diagonal", "ravel_multi_index", "tril_indices",
           "tril_indices_from", "triu_indices", "triu_indices_from", "unravel_index"]


def tril_indices(n: int, k: int = 0, m: int | None = None) -> tuple[pg.GlobalArray, ...]:
    """The rows and the columns of the elements on a diagonal and below it. Collective.

    Parameters
    ----------
    n, m
        The numbers of rows and columns; as many columns as rows by default.
    k
        The diagonal: 0 for the main one, more for those above, less for those below it.

    Returns
    -------
    Two vectors of integers, for whose length all wait, in row-major order.

    Raises
    ------
    ValueError
        For negative numbers.

    Examples
    --------
    >>> import pgaspy as pg
    >>> i, j = pg.tril_indices(3)
    >>> pg.arange(9).reshape(3, 3)[i, j].gather()
    array([0, 3, 4, 6, 7, 8])
    """
    return pg.nonzero(tri(n, m, k, bool))


def triu_indices(n: int, k: int = 0, m: int | None = None) -> tuple[pg.GlobalArray, ...]:
    """The rows and the columns of the elements on a diagonal and above it; see `tril_indices`. Collective."""
    return pg.nonzero(~tri(n, m, k - 1, bool))


@implements(np.tril_indices_from)
def tril_indices_from(arr: Any, k: int = 0) -> tuple[pg.GlobalArray, ...]:
    """`tril_indices` of a matrix's shape. Collective."""
    return tril_indices(*_of_matrix(arr, k))


@implements(np.triu_indices_from)
def triu_indices_from(arr: Any, k: int = 0) -> tuple[pg.GlobalArray, ...]:
    """`triu_indices` of a matrix's shape. Collective."""
    return triu_indices(*_of_matrix(arr, k))


def _of_matrix(arr: Any, k: int) -> tuple[int, int, int]:
    shape = as_array(arr).shape
    if len(shape) != 2:
        raise ValueError("input array must be 2-d")
    return shape[0], k, shape[1]


def diag_indices(n: int, ndim: int = 2) -> tuple[pg.GlobalArray, ...]:
    """The indices of the main diagonal of an array with so many dimensions of extent n. Collective.

    Examples
    --------
    >>> import pgaspy as pg
    >>> A = pg.ones((3, 3), int)
    >>> A[pg.diag_indices(3)] = [7, 8, 9]
    >>> A.gather()
    array([[7, 1, 1],
           [1, 8, 1],
           [1, 1, 9]])
    """
    return (pg.arange(n),) * ndim


@implements(np.diag_indices_from)
def diag_indices_from(arr: Any) -> tuple[pg.GlobalArray, ...]:
    """`diag_indices` of an array's shape. Collective.

    Raises
    ------
    ValueError
        For less than two dimensions, or dimensions of several extents.
    """
    shape = as_array(arr).shape
    _check_equal(shape)
    return diag_indices(shape[0], len(shape))


def _check_equal(shape: tuple[int, ...]) -> None:
    if len(shape) < 2:
        raise ValueError("input array must be at least 2-d")
    if len(set(shape)) > 1:
        raise ValueError("All dimensions of input must be of equal length")


@implements(np.fill_diagonal)
def fill_diagonal(a: pg.GlobalArray, val: Any, wrap: bool = False) -> None:
    """Assign to the main diagonal of an array, in place. Collective.

    Parameters
    ----------
    a
        A matrix, or an array of more dimensions, all of one extent.
    val
        A number; or an array, whose elements are taken one after the other, again and again.
    wrap
        Whether the diagonal of a matrix begins anew, a row below where it has ended, as long as there are rows.

    Raises
    ------
    ValueError
        For less than two dimensions, or more than two of several extents.

    Examples
    --------
    >>> import pgaspy as pg
    >>> A = pg.zeros((2, 3), int)
    >>> pg.fill_diagonal(A, [5, 6])
    >>> A.gather()
    array([[5, 0, 0],
           [0, 6, 0]])
    """
    check_array(a, "fill_diagonal")
    check_target(a)
    if a.ndim < 2:
        raise ValueError("array must be at least 2-d")
    if a.ndim == 2:
        n_rows, n_columns = a.shape
        numbers = np.arange(0, n_rows * n_columns if wrap else min(n_rows, n_columns) * n_columns, n_columns + 1)
        key = tuple(np.unravel_index(numbers, a.shape)) if a.size else (numbers[:0],) * 2
    else:
        _check_equal(a.shape)
        key = (np.arange(a.shape[0]),) * a.ndim
    value = as_array(val)
    a[key] = value if value.ndim == 0 else pg.resize(value, len(key[0]))


@implements(np.unravel_index)
def unravel_index(indices: Any, shape: SupportsIndex | Sequence[SupportsIndex], order: str = "C") -> tuple[Any, ...]:
    """The indices along each dimension of elements that are counted in row-major order. Collective.

    Parameters
    ----------
    indices
        The numbers of elements: an array, or one number, as `argmax` gives it.
    shape
        The extents of the array.
    order
        "C"; with "F", elements are counted along the first dimension first.

    Returns
    -------
    For each dimension an array of the shape of `indices`; of one number, NumPy's numbers, the same everywhere.

    Raises
    ------
    ValueError
        If a number is not that of an element; all wait for that.
    TypeError
        If they are no integers.

    Examples
    --------
    >>> import pgaspy as pg
    >>> A = pg.array([[3, 1], [2, 9], [0, 5]])
    >>> pg.unravel_index(A.argmax(), A.shape)
    (np.int64(1), np.int64(1))
    """
    i = as_array(indices)
    extents = tuple(map(operator.index, shape)) if isinstance(shape, Sequence) else (operator.index(shape),)
    if i.ndim == 0:
        return np.unravel_index(i.item(), extents, order)  # type: ignore[call-overload]
    np.unravel_index(np.zeros(0, i.dtype), extents, order)  # type: ignore[call-overload]  # raises for a dtype or order
    i, size = as_global(i).astype(np.intp), math.prod(extents)
    wrong = i[(i < 0) | (i >= size)]
    if len(wrong):
        raise ValueError(f"index {int(wrong[0])} is out of bounds for array with size {size}")
    found = []
    for n in extents[::-1] if order == "C" else extents:
        found.append(i % n)
        i = i // n
    return tuple(found[::-1] if order == "C" else found)


@implements(np.ravel_multi_index)
def ravel_multi_index(multi_index: Any, dims: SupportsIndex | Sequence[SupportsIndex], mode: Any = "raise",
                      order: str = "C") -> Any:
    """The numbers of elements, in row-major order, of their indices along each dimension. Collective.

    Parameters
    ----------
    multi_index
        For each dimension an array, or a number; they broadcast.
    dims
        The extents of the array.
    mode
        What is beyond a dimension: "raise", "wrap" or "clip"; also one for each dimension.
    order
        "C"; with "F", elements are counted along the first dimension first.

    Returns
    -------
    An array; of numbers alone, NumPy's number.

    Raises
    ------
    ValueError
        If there is not one for each dimension, or one is beyond its dimension; all wait for that.
    TypeError
        If they are no integers.

    Examples
    --------
    >>> import pgaspy as pg
    >>> pg.ravel_multi_index((pg.array([0, 1, 2]), 1), (3, 2)).gather()
    array([1, 3, 5])
    """
    extents = tuple(map(operator.index, dims)) if isinstance(dims, Sequence) else (operator.index(dims),)
    given = [as_array(x) for x in multi_index]
    if all(x.ndim == 0 for x in given):
        return np.ravel_multi_index(tuple(x.item() for x in given), extents, mode, order)  # type: ignore[call-overload]
    empty: Any = tuple(np.zeros(0, x.dtype) for x in given)
    np.ravel_multi_index(empty, extents, mode, order)  # type: ignore[call-overload]  # raises for dtypes, modes, order
    modes = (mode,) * len(extents) if isinstance(mode, str) else mode
    found: Any = 0
    places = [*zip(given, extents, modes, strict=True)]
    for x, n, how in places if order == "C" else places[::-1]:
        x = as_global(x).astype(np.intp)
        if how == "raise" and bool(((x < 0) | (x >= n)).any()):
            raise ValueError("invalid entry in coordinates array")
        found = found * n + (x.clip(0, n - 1) if how == "clip" else x % n if how == "wrap" else x)
    return found
