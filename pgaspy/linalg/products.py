"""Products and powers, made of matrix products and sums."""

from __future__ import annotations

import operator
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.lib.array_utils import normalize_axis_index
from numpy.linalg import LinAlgError

import pgaspy as pg
from pgaspy import multiplying
from pgaspy.contraction import contract
from pgaspy.creation import as_global, as_operand
from pgaspy.dispatch import implements
from pgaspy.linalg.by_lu import inv
from pgaspy.linalg.operands import as_square
from pgaspy.values import told

__all__ = ["cross", "matrix_power", "matrix_transpose", "multi_dot", "outer", "tensordot", "vecdot"]

implements(np.linalg.matmul)(multiplying.matmul)


@implements(np.linalg.outer)
def outer(x1: Any, x2: Any, /) -> pg.GlobalArray:
    """The products of all pairs of elements of two vectors; ValueError for other dimensions. Collective."""
    x1, x2 = as_operand(x1), as_operand(x2)
    if x1.ndim != 1 or x2.ndim != 1:
        raise ValueError(f"Input arrays must be one-dimensional, but they are {x1.ndim=} and {x2.ndim=}.")
    return multiplying.outer(x1, x2)


@implements(np.linalg.vecdot, np.vecdot)
def vecdot(x1: Any, x2: Any, /, *, axis: int = -1) -> pg.GlobalArray:
    """The sums of `conj(x1) * x2` along a dimension; the others are broadcast. Collective.

    Raises
    ------
    ValueError
        If the shapes do not broadcast, or the extents along `axis` differ.
    """
    if not np.ndim(x1) or not np.ndim(x2):
        raise ValueError("vecdot takes arrays of one or more dimensions, not of shapes "
                         f"{np.shape(x1)} and {np.shape(x2)}")
    x1, x2 = as_operand(x1), as_operand(x2)
    first, second = _with_last(x1, axis), _with_last(x2, axis)
    if first.shape[-1] != second.shape[-1]:
        raise ValueError(f"vecdot: the extents of shapes {x1.shape} and {x2.shape} along axis {axis} differ")
    is_complex = first.dtype.kind == "c"
    if first.ndim == second.ndim == 1 and not is_complex:
        return first @ second
    product = (first.conj() if is_complex else first) * second
    return product.sum(-1, product.dtype)


def _with_last(x: pg.GlobalArray, axis: int) -> pg.GlobalArray:
    """The view with a dimension moved to the end."""
    d = normalize_axis_index(axis, x.ndim)
    return x.transpose(*(e for e in range(x.ndim) if e != d), d)


@implements(np.tensordot, np.linalg.tensordot)
def tensordot(a: Any, b: Any, axes: int | Sequence[Any] = 2) -> pg.GlobalArray:
    """Products summed over pairs of dimensions. Collective.

    Parameters
    ----------
    a, b
        Arrays.
    axes
        How many: the last dimensions of `a` with the first of `b`. Or two sequences, of dimensions of `a` and of `b`.

    Returns
    -------
    The other dimensions of `a`, and those of `b`. Products of two matrices are made as by `@`; others where the larger
    array lies, to which the other comes.

    Raises
    ------
    ValueError
        If extents differ, or an axis comes twice.

    Examples
    --------
    >>> import pgaspy as pg
    >>> pg.tensordot(pg.ones((2, 3, 4)), pg.ones((3, 4, 2)), 2).gather()
    array([[12., 12.],
           [12., 12.]])
    """
    a, b = as_operand(a), as_operand(b)
    axes = told(axes)
    axes_a: list[Any]
    axes_b: list[Any]
    if isinstance(axes, int | np.integer):
        axes_a, axes_b = list(range(-axes, 0)), list(range(axes))
    else:
        axes_a, axes_b = ([x] if np.ndim(x) == 0 else list(x) for x in axes)
    axes_a = [normalize_axis_index(d, a.ndim) for d in axes_a]
    axes_b = [normalize_axis_index(d, b.ndim) for d in axes_b]
    if len(set(axes_a)) != len(axes_a) or len(set(axes_b)) != len(axes_b):
        raise ValueError("duplicate axes are not allowed in tensordot")
    summed = [a.shape[d] for d in axes_a]
    if summed != [b.shape[d] for d in axes_b]:
        raise ValueError(f"shape-mismatch for sum: axes {axes_a} of shape {a.shape} and {axes_b} of {b.shape}")
    a_labels = [*range(a.ndim)]
    b_labels = [axes_a[axes_b.index(d)] if d in axes_b else a.ndim + d for d in range(b.ndim)]
    kept = [d for d in a_labels if d not in axes_a] + [d for d in b_labels if d >= a.ndim]
    return pg.asarray(contract(a, a_labels, b, b_labels, kept))


@implements(np.linalg.matrix_power)
def matrix_power(a: Any, n: int) -> pg.GlobalArray:
    """A square matrix, multiplied n times by itself; the power of its inverse if n is negative. Collective.

    Parameters
    ----------
    a
        Shape (..., m, m): the other dimensions are of a stack of matrices.
    n
        How often.

    Raises
    ------
    TypeError
        If n is no integer.
    numpy.linalg.LinAlgError
        If the matrix is not square; or is singular, and n negative.

    Examples
    --------
    >>> import pgaspy as pg
    >>> pg.linalg.matrix_power(pg.array([[1, 1], [0, 1]]), 5).gather()
    array([[1, 5],
           [0, 1]])
    """
    try:
        n = operator.index(n)
    except TypeError as error:
        raise TypeError("exponent must be an integer") from error
    a = as_operand(a)
    if a.ndim < 3:
        a = as_square(a)
    elif a.shape[-1] != a.shape[-2]:
        raise LinAlgError(f"Last 2 dimensions of the array must be square, but its shape is {a.shape}")
    if n == 0:
        result = pg.empty_like(a)
        result[...] = pg.eye(a.shape[-1], dtype=a.dtype)
        return result
    power = inv(a) if n < 0 else a
    product = None
    for digit in reversed(f"{abs(n):b}"):
        if digit == "1":
            product = power if product is None else product @ power
        n = abs(n) // 2
        if n:
            power = power @ power
    assert product is not None
    return product


@implements(np.linalg.matrix_transpose)
def matrix_transpose(x: Any, /) -> pg.GlobalArray:
    """The view with the last two dimensions exchanged; see `pgaspy.matrix_transpose`. Not collective."""
    return pg.matrix_transpose(x)


@implements(np.linalg.cross)
def cross(x1: Any, x2: Any, /, *, axis: int = -1) -> pg.GlobalArray:
    """The cross products of vectors of three elements along a dimension; see `pgaspy.cross`. Collective.

    Raises
    ------
    ValueError
        If vectors have another number of elements, or there is no such dimension.
    """
    x1, x2 = as_operand(x1), as_operand(x2)
    if any(x.ndim and x.shape[normalize_axis_index(axis, x.ndim)] != 3 for x in (x1, x2)):
        raise ValueError("Both input arrays must be (arrays of) 3-dimensional vectors, but they are of shapes "
                         f"{x1.shape} and {x2.shape}")
    return pg.cross(x1, x2, axis=axis)


@implements(np.linalg.multi_dot)
def multi_dot(arrays: Sequence[Any], *, out: pg.GlobalArray | None = None) -> pg.GlobalArray:
    """The product of several matrices, in the order that takes the least arithmetic. Collective.

    Parameters
    ----------
    arrays
        Two or more matrices; the first and the last may be vectors.
    out
        An array of the result's shape, to which the result is assigned, and which is returned.

    Raises
    ------
    ValueError
        For less than two arrays, or shapes that do not fit.
    numpy.linalg.LinAlgError
        For other numbers of dimensions.

    Examples
    --------
    >>> import pgaspy as pg
    >>> pg.linalg.multi_dot([pg.ones((2, 3)), pg.ones((3, 4)), pg.ones(4)]).gather()
    array([12., 12.])
    """
    given = [as_global(x) for x in arrays]
    if len(given) < 2:
        raise ValueError("Expecting at least two arrays.")
    for k, x in enumerate(given):
        if x.ndim != 2 and not (x.ndim == 1 and k in (0, len(given) - 1)):
            raise LinAlgError(f"{x.ndim}-dimensional array given. Array must be two-dimensional")
    extents = [given[0].shape[0] if given[0].ndim > 1 else 1, *(x.shape[0] for x in given[1:]),
               given[-1].shape[-1] if given[-1].ndim > 1 else 1]
    found = _product_of(given, _best_splits(extents), 0, len(given))
    return found if out is None else np.positive(found, out=out)  # type: ignore[call-overload]


def _best_splits(extents: Sequence[int]) -> dict[tuple[int, int], int]:
    """Where the products of the matrices [i, j) are split in two; matrix i has extents [i] and [i + 1]."""
    n = len(extents) - 1
    costs = {(i, i + 1): 0 for i in range(n)}
    splits = {}
    for length in range(2, n + 1):
        for i in range(n - length + 1):
            j = i + length
            costs[i, j], splits[i, j] = min(
                (costs[i, k] + costs[k, j] + extents[i] * extents[k] * extents[j], k) for k in range(i + 1, j))
    return splits


def _product_of(matrices: Sequence[pg.GlobalArray], splits: dict[tuple[int, int], int], i: int, j: int) -> Any:
    if j == i + 1:
        return matrices[i]
    k = splits[i, j]
    return _product_of(matrices, splits, i, k) @ _product_of(matrices, splits, k, j)
