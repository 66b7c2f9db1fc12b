"""Arrays joined, and taken apart: what is joined is a new array, parts are views."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.lib.array_utils import normalize_axis_index
from numpy.typing import DTypeLike

import pgaspy as pg
from pgaspy.concatenation import joined_dtype
from pgaspy.creation import as_global, as_operand
from pgaspy.dispatch import implements, named
from pgaspy.manipulation import empty_like_result
from pgaspy.small_calls import by_numpy

__all__ = [
    "append", "array_split", "atleast_1d", "atleast_2d", "atleast_3d", "block", "broadcast_arrays", "column_stack",
    "dsplit", "dstack", "hsplit", "hstack", "split", "unstack", "vsplit", "vstack",
]

Views = tuple[pg.GlobalArray, ...]
ALL = slice(None)


# More dimensions -----------------------------------------------------------------------------------------------------


@implements(np.atleast_1d)
def atleast_1d(*arys: Any) -> pg.GlobalArray | Views:
    """Arrays as views of at least one dimension. Not collective.

    Parameters
    ----------
    arys
        Arrays; what is no global array is made one, as by `asarray`.

    Returns
    -------
    A view with a dimension more of an array that has none, else the array itself; of several arrays, a tuple.

    Examples
    --------
    >>> import pgaspy as pg
    >>> pg.atleast_1d(pg.ones(3).sum()).gather()
    array([3.])
    """
    return _with_dims(arys, [(None,)])


@implements(np.atleast_2d)
def atleast_2d(*arys: Any) -> pg.GlobalArray | Views:
    """Arrays as views of at least two dimensions, the new ones in front; see `atleast_1d`. Not collective."""
    return _with_dims(arys, [(None, None), (None, ALL)])


@implements(np.atleast_3d)
def atleast_3d(*arys: Any) -> pg.GlobalArray | Views:
    """Arrays as views of at least three dimensions; see `atleast_1d`. Not collective.

    Of shape (n,) they are of shape (1, n, 1), of shape (m, n) of shape (m, n, 1).
    """
    return _with_dims(arys, [(None, None, None), (None, ALL, None), (ALL, ALL, None)])


def _with_dims(arrays: Sequence[Any], keys: Sequence[Any]) -> pg.GlobalArray | Views:
    """Views of arrays by the keys for their numbers of dimensions; of one array, one view."""
    found = tuple(a[keys[a.ndim]] if a.ndim < len(keys) else a for a in map(pg.asarray, arrays))
    return found[0] if len(found) == 1 else found


@implements(np.broadcast_arrays)
def broadcast_arrays(*args: Any, subok: bool = False) -> Views:
    """Arrays as views of the shape that they broadcast to, which cannot be assigned to. Not collective.

    Parameters
    ----------
    args
        Arrays; what is no global array is made one, as by `asarray`.
    subok
        Not used: there is one class of arrays.

    Returns
    -------
    A view of each array; the array itself, where it has the shape.

    Raises
    ------
    ValueError
        If the shapes do not broadcast.

    Examples
    --------
    >>> import pgaspy as pg
    >>> [x.shape for x in pg.broadcast_arrays(pg.arange(3), pg.zeros((2, 1)))]
    [(2, 3), (2, 3)]
    """
    arrays = [as_operand(x) for x in args]
    shape = pg.broadcast_shapes(*(a.shape for a in arrays))
    return tuple(a if a.shape == shape else pg.broadcast_to(a, shape) for a in arrays)


# Joined --------------------------------------------------------------------------------------------------------------


@implements(np.vstack)
@by_numpy(np.vstack)
def vstack(tup: Sequence[Any], *, dtype: DTypeLike | None = None, casting: Any = "same_kind") -> pg.GlobalArray:
    """Arrays joined along the first dimension, vectors as rows of a matrix. Collective.

    Parameters
    ----------
    tup
        One or more arrays, of the same extents in all other dimensions.
    dtype, casting
        As for `concatenate`, and so are the result's layout, and the errors.

    Examples
    --------
    >>> import pgaspy as pg
    >>> pg.vstack((pg.arange(3), [7, 8, 9])).gather()
    array([[0, 1, 2],
           [7, 8, 9]])
    """
    return pg.concatenate([atleast_2d(x) for x in tup], dtype=dtype, casting=casting)


@implements(np.hstack)
@by_numpy(np.hstack)
def hstack(tup: Sequence[Any], *, dtype: DTypeLike | None = None, casting: Any = "same_kind") -> pg.GlobalArray:
    """Arrays joined along the second dimension, vectors along the first; else as `vstack`. Collective.

    Examples
    --------
    >>> import pgaspy as pg
    >>> pg.hstack((pg.arange(3), [7, 8])).gather()
    array([0, 1, 2, 7, 8])
    """
    arrays: list[Any] = [atleast_1d(x) for x in tup]
    is_of_vectors = bool(arrays) and arrays[0].ndim == 1
    return pg.concatenate(arrays, 0 if is_of_vectors else 1, dtype=dtype, casting=casting)


@implements(np.dstack)
@by_numpy(np.dstack)
def dstack(tup: Sequence[Any]) -> pg.GlobalArray:
    """Arrays joined along the third dimension, once they have three; see `atleast_3d`, `vstack`. Collective.

    Examples
    --------
    >>> import pgaspy as pg
    >>> pg.dstack((pg.arange(2), [7, 8])).gather()
    array([[[0, 7],
            [1, 8]]])
    """
    return pg.concatenate([atleast_3d(x) for x in tup], 2)


@implements(np.column_stack)
@by_numpy(np.column_stack)
def column_stack(tup: Sequence[Any]) -> pg.GlobalArray:
    """Vectors as columns of a matrix, beside other matrices; see `vstack`. Collective.

    Examples
    --------
    >>> import pgaspy as pg
    >>> pg.column_stack((pg.arange(2), [7, 8])).gather()
    array([[0, 7],
           [1, 8]])
    """
    return pg.concatenate([_as_columns(as_operand(x)) for x in tup], 1)


def _as_columns(a: pg.GlobalArray) -> pg.GlobalArray:
    return a if a.ndim > 1 else a.reshape(-1, 1)


@implements(np.append)
def append(arr: Any, values: Any, axis: int | None = None) -> pg.GlobalArray:
    """An array with others joined to its end, as a new array; see `concatenate`. Collective.

    Parameters
    ----------
    arr, values
        Arrays of the same extents in all dimensions but `axis`.
    axis
        The dimension; by default elements are joined in row-major order.

    Examples
    --------
    >>> import pgaspy as pg
    >>> pg.append(pg.arange(3), [[7], [8]]).gather()
    array([0, 1, 2, 7, 8])
    """
    return pg.concatenate((as_global(arr), as_global(values)), axis)


@implements(np.block)
@by_numpy(np.block)
def block(arrays: Any) -> pg.GlobalArray:
    """An array that is put together of blocks in nested lists. Collective.

    Parameters
    ----------
    arrays
        Lists of lists of arrays: those of innermost lists are joined along the last dimension, these along the one
        before, and so on. All have as many dimensions as the one with most of them, and as lists are nested deep; new
        ones come in front.

    Returns
    -------
    A new array, also of one block; dealt out over the grid as the first block is.

    Raises
    ------
    ValueError
        If a list is empty, if lists are not of one depth, or if extents differ.
    TypeError
        If there are tuples in place of lists; or if one is not cast to the dtype of all within a kind.

    Examples
    --------
    >>> import pgaspy as pg
    >>> A = pg.ones((2, 2), int)
    >>> pg.block([[A, 2 * A], [3, 4, 5, 6]]).gather()
    array([[1, 1, 2, 2],
           [1, 1, 2, 2],
           [3, 4, 5, 6]])
    """
    depth = _depth(arrays)
    blocks = _map_leaves(as_global, arrays)
    ndim = max(depth, *(a.ndim for a in _leaves(blocks)), 0)
    shape, parts = _placed(blocks, ndim - depth, ndim)
    result = empty_like_result(parts[0][1], shape, joined_dtype([a for _, a in parts]))
    for start, a in parts:
        result[tuple(slice(i, i + n) for i, n in zip(start, a.shape, strict=True))] = a
    return result


def _depth(blocks: Any, where: str = "arrays") -> int:
    """How deep lists are nested, everywhere the same."""
    if isinstance(blocks, tuple):
        raise TypeError(f"{where} is a tuple. Only lists can be used to arrange blocks, and np.block does not allow "
                        "implicit conversion from tuple to ndarray.")
    if not isinstance(blocks, list):
        return 0
    if not blocks:
        raise ValueError(f"List at {where} cannot be empty")
    first, *others = (_depth(x, f"{where}[{i}]") for i, x in enumerate(blocks))
    for i, depth in enumerate(others, 1):
        if depth != first:
            raise ValueError(f"List depths are mismatched. Below {where}[0] lists are nested {first} deep, below "
                             f"{where}[{i}] {depth} deep")
    return first + 1


def _map_leaves(function: Any, blocks: Any) -> Any:
    """Nested lists with a function of each block."""
    return [_map_leaves(function, x) for x in blocks] if isinstance(blocks, list) else function(blocks)


def _leaves(blocks: Any) -> list[Any]:
    """The blocks of nested lists."""
    return [a for x in blocks for a in _leaves(x)] if isinstance(blocks, list) else [blocks]


def _placed(blocks: Any, axis: int, ndim: int) -> tuple[tuple[int, ...], list[tuple[tuple[int, ...], pg.GlobalArray]]]:
    """The extents of what blocks give that are joined along a dimension; the first index of each array in it."""
    if not isinstance(blocks, list):
        a = blocks[(None,) * (ndim - blocks.ndim) + (...,)]
        return a.shape, [((0,) * ndim, a)]
    shapes, parts = zip(*(_placed(x, axis + 1, ndim) for x in blocks), strict=True)
    if len({(*shape[:axis], *shape[axis + 1:]) for shape in shapes}) > 1:
        raise ValueError(f"Mismatched array shapes in block along axis {axis - ndim}.")
    *starts, total = itertools.accumulate((shape[axis] for shape in shapes), initial=0)
    placed = [((*at[:axis], at[axis] + start, *at[axis + 1:]), a)
              for start, part in zip(starts, parts, strict=True) for at, a in part]
    return (*shapes[0][:axis], total, *shapes[0][axis + 1:]), placed


# Taken apart ---------------------------------------------------------------------------------------------------------


@implements(np.array_split)
def array_split(ary: Any, indices_or_sections: Any, axis: int = 0) -> list[pg.GlobalArray]:
    """An array in parts along a dimension, as views. Not collective.

    Parameters
    ----------
    ary
        An array.
    indices_or_sections
        A number of parts, of which the first ones have one index more, where they are not all equal; or the indices at
        which parts end and others begin, which are waited for if they are a global array.
    axis
        The dimension.

    Raises
    ------
    ValueError
        For less than one part, or if there is no such dimension.
    OverflowError
        For more parts than a list may have.

    Examples
    --------
    >>> import pgaspy as pg
    >>> [part.gather() for part in pg.array_split(pg.arange(5), 2)]
    [array([0, 1, 2]), array([3, 4])]
    """
    a = as_operand(ary)
    axis = normalize_axis_index(axis, a.ndim)
    return [a[(ALL,) * axis + (slice(start, stop),)]
            for start, stop in itertools.pairwise(_bounds(indices_or_sections, a.shape[axis]))]


def _bounds(indices_or_sections: Any, n: int) -> list[Any]:
    """Where parts begin; and where the last one ends."""
    if np.ndim(indices_or_sections):
        indices = indices_or_sections
        return [0, *(indices.gather().tolist() if isinstance(indices, pg.GlobalArray) else indices), n]
    n_parts = int(indices_or_sections)
    if n_parts <= 0:
        raise ValueError("number sections must be larger than 0.")
    length, n_longer = divmod(n, n_parts)
    n_bounds = len(range(n_parts + 1))  # an OverflowError, if that is more than a list may have
    return [i * length + min(i, n_longer) for i in range(n_bounds)]


@implements(np.split)
def split(ary: Any, indices_or_sections: Any, axis: int = 0) -> list[pg.GlobalArray]:
    """An array in equal parts along a dimension, or in given ones, as views; see `array_split`. Not collective.

    Raises
    ------
    ValueError
        Also if the extent is no multiple of the number of parts.

    Examples
    --------
    >>> import pgaspy as pg
    >>> [part.gather() for part in pg.split(pg.arange(5), [2, 3])]
    [array([0, 1]), array([2]), array([3, 4])]
    """
    a = as_operand(ary)
    axis = normalize_axis_index(axis, a.ndim)
    if not np.ndim(indices_or_sections) and a.shape[axis] % indices_or_sections:
        raise ValueError("array split does not result in an equal division")
    return array_split(a, indices_or_sections, axis)


@implements(np.hsplit)
def hsplit(ary: Any, indices_or_sections: Any) -> list[pg.GlobalArray]:
    """An array in parts along the second dimension, a vector along the first; see `split`. Not collective."""
    a = as_operand(ary)
    if not a.ndim:
        raise ValueError("hsplit only works on arrays of 1 or more dimensions")
    return split(a, indices_or_sections, 1 if a.ndim > 1 else 0)


@implements(np.vsplit)
def vsplit(ary: Any, indices_or_sections: Any) -> list[pg.GlobalArray]:
    """An array of two dimensions or more in parts along the first; see `split`. Not collective."""
    a = as_operand(ary)
    if a.ndim < 2:
        raise ValueError("vsplit only works on arrays of 2 or more dimensions")
    return split(a, indices_or_sections, 0)


@implements(np.dsplit)
def dsplit(ary: Any, indices_or_sections: Any) -> list[pg.GlobalArray]:
    """An array of three dimensions or more in parts along the third; see `split`. Not collective."""
    a = as_operand(ary)
    if a.ndim < 3:
        raise ValueError("dsplit only works on arrays of 3 or more dimensions")
    return split(a, indices_or_sections, 2)


@implements(*named("unstack"))
def unstack(x: Any, /, *, axis: int = 0) -> Views:
    """What is at each index of a dimension, as views. Not collective.

    Parameters
    ----------
    x
        An array of one dimension or more.
    axis
        The dimension.

    Raises
    ------
    ValueError
        If there is no such dimension.

    Examples
    --------
    >>> import pgaspy as pg
    >>> [column.gather() for column in pg.unstack(pg.eye(2, dtype=int), axis=1)]
    [array([1, 0]), array([0, 1])]
    """
    a = as_operand(x)
    if not a.ndim:
        raise ValueError("Input array must be at least 1-d.")
    axis = normalize_axis_index(axis, a.ndim)
    return tuple(a[(ALL,) * axis + (i,)] for i in range(a.shape[axis]))
