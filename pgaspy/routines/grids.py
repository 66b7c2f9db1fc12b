"""The coordinates of grids, and matrices that are made of vectors."""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import DTypeLike, NDArray

import pgaspy as pg
from pgaspy.alone import small
from pgaspy.creation import AnyLayout, as_array, as_global, generated, without_array, written
from pgaspy.dims import whole_dim
from pgaspy.dispatch import implements
from pgaspy.job.defaults import layout_for
from pgaspy.layout import Layout
from pgaspy.linalg.diagonals import copied_diagonal
from pgaspy.operands import as_extents, refuse_truths
from pgaspy.planning.pieces import local_indices
from pgaspy.planning.view import View
from pgaspy.small_calls import as_new, by_numpy

__all__ = ["diag", "diagflat", "indices", "ix_", "meshgrid", "mgrid", "ogrid", "tri", "vander"]

ALL = slice(None)


# Coordinates ---------------------------------------------------------------------------------------------------------


def _of_few_points(*xi: Any, sparse: Any = False, **options: Any) -> tuple[NDArray[Any], ...]:
    """NumPy's coordinates; a ValueError, if there are so many points that threads are faster."""
    if not sparse and not small.takes(tuple(map(np.size, xi))):
        raise ValueError("many points")
    return np.meshgrid(*xi, sparse=sparse, **options)


@implements(np.meshgrid)
@by_numpy(_of_few_points, like=as_new, copy=True)
def meshgrid(*xi: Any, copy: bool = True, sparse: bool = False, indexing: str = "xy") -> tuple[pg.GlobalArray, ...]:
    """The coordinates of the points of a grid, one array for each dimension. Collective.

    Parameters
    ----------
    xi
        For each dimension the coordinates along it, as vectors.
    copy
        Make new arrays; without, views that cannot be assigned to.
    sparse
        Make arrays that have extents of 1 along all other dimensions, and broadcast.
    indexing
        "ij": the first vector is that along the first dimension. "xy": it is that along the second, and the second
        vector that along the first.

    Returns
    -------
    As many arrays as vectors; those of the whole shape all in the job's default layout.

    Raises
    ------
    ValueError
        For another `indexing`.

    Examples
    --------
    >>> import pgaspy as pg
    >>> x, y = pg.meshgrid(pg.arange(3), [0.5, 1.5])
    >>> (x + y).gather()
    array([[0.5, 1.5, 2.5],
           [1.5, 2.5, 3.5]])
    """
    if indexing not in ("xy", "ij"):
        raise ValueError("Valid values for `indexing` are 'xy' and 'ij'.")
    vectors = [x if isinstance(x, pg.GlobalArray) else as_array(x) for x in xi]
    places = list(range(len(vectors)))
    if indexing == "xy":
        places[:2] = reversed(places[:2])
    opened = [_along(x.reshape(-1), d, len(places)) for x, d in zip(vectors, places, strict=True)]
    if sparse:
        return tuple((pg.array if copy else pg.asarray)(x) for x in opened)
    shape = pg.broadcast_shapes(*(x.shape for x in opened))
    if not copy:
        return tuple(pg.broadcast_to(x, shape) for x in opened)
    return tuple(pg.full(shape, x) for x in opened)


def _along(vector: Any, d: int, ndim: int) -> Any:
    """The view of a vector as an array that has its extent along one dimension."""
    return vector[(None,) * d + (ALL,) + (None,) * (ndim - d - 1)]


def indices(dimensions: Sequence[int], dtype: DTypeLike = int, sparse: bool = False) -> Any:
    """The indices of all elements of an array of a shape. Collective.

    Parameters
    ----------
    dimensions
        The shape.
    dtype
        That of the indices.
    sparse
        Make a tuple of arrays instead, which have extents of 1 along all other dimensions, and broadcast.

    Returns
    -------
    Shape (number of dimensions, *dimensions): the index along each dimension. Each is dealt out as an array of the
    shape is by default.

    Examples
    --------
    >>> import pgaspy as pg
    >>> i, j = pg.indices((2, 3))
    >>> (10 * i + j).gather()
    array([[ 0,  1,  2],
           [10, 11, 12]])
    """
    extents = tuple(map(operator.index, as_extents(dimensions)))
    if sparse:
        return tuple(_along(pg.arange(n, dtype=dtype), d, len(extents)) for d, n in enumerate(extents))
    return _coordinates(extents, np.dtype(dtype), lambda d, i: i)


def _coordinates(extents: tuple[int, ...], dtype: np.dtype[Any],
                 along: Callable[[int, NDArray[np.int64]], NDArray[Any]]) -> pg.GlobalArray:
    """Of all points of a grid what a function makes of their indices along each dimension; these come first."""
    n = len(extents)
    layout = layout_for(extents, None, None)
    found = pg.empty((n, *extents), dtype, layout=Layout(layout.grid, [whole_dim(n), *layout.dims], layout.pins))

    def write(local: NDArray[Any], view: View, rank: int) -> None:
        for d, of_dim in enumerate(local):
            of_dim[...] = _along(along(d, local_indices(view, 1 + d, rank)).astype(dtype, copy=False), d, n)

    return written(found, write)


class _Range:
    """What a slice says of coordinates: a start, and a step; or with an imaginary step, how many there are."""

    def __init__(self, key: slice) -> None:
        start, stop, step = map(without_array, (key.start, key.stop, key.step))
        self.start: Any = 0 if start is None else start
        step = 1 if step is None else step
        if isinstance(step, complex | np.complexfloating):
            size: Any = abs(step)
            self.n = int(size)
            self.step = 1 if self.n == 1 else (stop - self.start) / float(self.n - 1)
            self.numbers: tuple[Any, ...] = self.start, stop, size
        else:
            self.n, self.step = math.ceil((stop - self.start) / step), step
            self.numbers = self.start, stop, step


class _Grid:
    """`mgrid` and `ogrid`: the coordinates of grids by slices of numbers, as in `pg.mgrid[0:5, 0:1:11j]`. Collective.

    `start:stop:step` gives what `arange` does, `start:stop:n` with an imaginary `n` as many points as that is, with
    both ends. For several slices, `mgrid` gives the coordinates of all points as `indices` does, and `ogrid` a tuple of
    arrays that have extents of 1 along all other dimensions. For one slice, both give a vector.

    Examples
    --------
    >>> import pgaspy as pg
    >>> x, y = pg.mgrid[0:2, 0:1:3j]
    >>> (x + y).gather()
    array([[0. , 0.5, 1. ],
           [1. , 1.5, 2. ]])
    >>> x, y = pg.ogrid[0:2, 0:3]
    >>> x.shape, y.shape
    ((2, 1), (1, 3))
    """

    def __init__(self, is_open: bool) -> None:
        self._is_open = is_open

    def __getitem__(self, key: Any) -> Any:
        if isinstance(key, slice):
            return points(key)
        ranges = [_Range(k) for k in key]
        dtype = np.result_type(0, *(number for r in ranges for number in r.numbers))
        if self._is_open:
            return tuple(_along(pg.arange(r.n, dtype=dtype) * r.step + r.start, d, len(ranges))
                         for d, r in enumerate(ranges))
        return _coordinates(tuple(r.n for r in ranges), dtype,
                            lambda d, i: i.astype(dtype) * ranges[d].step + ranges[d].start)


def points(key: slice) -> pg.GlobalArray:
    """The coordinates along one dimension."""
    if isinstance(key.step, complex | np.complexfloating):
        along = _Range(key)
        return pg.arange(along.n, dtype=np.result_type(*along.numbers)) * along.step + along.start
    return pg.arange(0 if key.start is None else key.start, key.stop, 1 if key.step is None else key.step)


mgrid, ogrid = _Grid(is_open=False), _Grid(is_open=True)


@implements(np.ix_)
def ix_(*args: Any) -> tuple[Any, ...]:
    """Vectors of indices as a key that names all their combinations, as in `A[pg.ix_(rows, columns)]`. Collective.

    Parameters
    ----------
    args
        For each dimension the indices along it; or booleans, which are waited for if they are a global array.

    Returns
    -------
    Arrays that have extents of 1 along all other dimensions; NumPy's of what is no global array.

    Raises
    ------
    ValueError
        For what is no vector.

    Examples
    --------
    >>> import pgaspy as pg
    >>> A = pg.arange(12).reshape(3, 4)
    >>> A[pg.ix_([0, 2], [1, 3])].gather()
    array([[ 1,  3],
           [ 9, 11]])
    """
    key = []
    for d, given in enumerate(args):
        x = as_array(given)
        if x.ndim != 1:
            raise ValueError("Cross index must be 1 dimensional")
        if x.dtype == bool:
            x, = x.nonzero()
        key.append(_along(x.astype(np.intp) if not x.size else x, d, len(args)))
    return tuple(key)


# Matrices ------------------------------------------------------------------------------------------------------------


def tri(N: int, M: int | None = None, k: int = 0, dtype: DTypeLike = float, *, layout: AnyLayout = None,
        onenode: int | None = None) -> pg.GlobalArray:
    """A matrix with ones on a diagonal and below it, and zeros above. Collective; for the arguments, see `eye`.

    Examples
    --------
    >>> import pgaspy as pg
    >>> pg.tri(2, 3, dtype=int).gather()
    array([[1, 0, 0],
           [1, 1, 0]])
    """
    k = operator.index(k)
    result = pg.empty((N, N if M is None else M), dtype, layout=layout, onenode=onenode)
    return generated(result, lambda i, j: i[:, None] + k >= j)


@implements(np.diag)
def diag(v: Any, k: int = 0) -> pg.GlobalArray:
    """The square matrix that has a vector as a diagonal, and zeros elsewhere; or the diagonal of a matrix. Collective.

    Parameters
    ----------
    v
        A vector; or a matrix.
    k
        The diagonal: 0 for the main one, more for those above, less for those below it.

    Returns
    -------
    A new array: of a vector in the job's default layout, of a matrix as `diagonal` gives it.

    Raises
    ------
    ValueError
        For an array of other than one or two dimensions.

    Examples
    --------
    >>> import pgaspy as pg
    >>> pg.diag([1, 2], 1).gather()
    array([[0, 1, 0],
           [0, 0, 2],
           [0, 0, 0]])
    """
    found = _diag(v, k)
    return found._read_only() if found.ndim == 1 else found


@by_numpy(np.diag)
def _diag(v: Any, k: int) -> pg.GlobalArray:
    k = operator.index(k)
    v = as_global(v)
    if v.ndim == 2:
        return copied_diagonal(v, k)
    if v.ndim != 1:
        raise ValueError("Input must be 1- or 2-d.")
    n, i = len(v) + abs(k), np.arange(len(v))
    found = pg.zeros((n, n), v.dtype)
    found[i + max(-k, 0), i + max(k, 0)] = v
    return found


@implements(np.diagflat)
def diagflat(v: Any, k: int = 0) -> pg.GlobalArray:
    """The matrix that has the elements of an array, in row-major order, as a diagonal; see `diag`. Collective."""
    return diag(as_global(v).ravel(), k)


@implements(np.vander)
@by_numpy(np.vander)
def vander(x: Any, N: int | None = None, increasing: bool = False) -> pg.GlobalArray:
    """The matrix of the powers of a vector, from 0 to N - 1, one in each column. Collective.

    Parameters
    ----------
    x
        A vector.
    N
        The number of columns; as many as rows by default.
    increasing
        Whether powers grow from left to right; by default they do from right to left.

    Raises
    ------
    ValueError
        For what is no vector, or a negative number of columns.

    Examples
    --------
    >>> import pgaspy as pg
    >>> pg.vander(pg.array([2, 3]), 3).gather()
    array([[4, 2, 1],
           [9, 3, 1]])
    """
    x = as_global(x)
    if x.ndim != 1:
        raise ValueError("x must be a one-dimensional array or sequence.")
    refuse_truths(N)
    n_columns = len(x) if N is None else operator.index(N)
    if n_columns < 0:
        raise ValueError(f"negative dimensions are not allowed: {n_columns} columns")
    column = x[:, None].astype(np.promote_types(x.dtype, int))
    factors = pg.concatenate((pg.ones_like(column), pg.broadcast_to(column, (len(x), max(n_columns - 1, 0)))), 1)
    powers: Any = np.multiply.accumulate(factors, axis=1)[:, :n_columns]
    return powers if increasing else powers[:, ::-1]
