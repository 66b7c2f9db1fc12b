"""Products and powers, made of matrix products and sums."""

from __future__ import annotations

import math
import operator
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.lib.array_utils import normalize_axis_index

import pgaspy as pg
from pgaspy import manipulation
from pgaspy.dispatch import implements
from pgaspy.linalg.by_lu import inv
from pgaspy.linalg.operands import as_square

__all__ = ["matrix_power", "outer", "tensordot", "vecdot"]

implements(np.linalg.matmul)(manipulation.matmul)


@implements(np.linalg.outer)
def outer(x1: Any, x2: Any, /) -> pg.GlobalArray:
    """The products of all pairs of elements of two vectors; ValueError for other dimensions. Collective."""
    x1, x2 = pg.asarray(x1), pg.asarray(x2)
    if x1.ndim != 1 or x2.ndim != 1:
        raise ValueError(f"Input arrays must be one-dimensional, but they are {x1.ndim=} and {x2.ndim=}.")
    return manipulation.outer(x1, x2)


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
    x1, x2 = pg.asarray(x1), pg.asarray(x2)
    first, second = _with_last(x1, axis), _with_last(x2, axis)
    if first.shape[-1] != second.shape[-1]:
        raise ValueError(f"vecdot: the extents of shapes {x1.shape} and {x2.shape} along axis {axis} differ")
    product = (first.conj() if first.dtype.kind == "c" else first) * second
    return product.sum(-1, product.dtype)


def _with_last(x: pg.GlobalArray, axis: int) -> pg.GlobalArray:
    """The view with a dimension moved to the end."""
    d = normalize_axis_index(axis, x.ndim)
    return x.transpose(*(e for e in range(x.ndim) if e != d), d)


@implements(np.tensordot, np.linalg.tensordot)
def tensordot(a: Any, b: Any, axes: int | Sequence[Any] = 2) -> pg.GlobalArray:
    """Products summed over pairs of dimensions, as one matrix product. Collective.

    Parameters
    ----------
    a, b
        Arrays; those of more than two dimensions are reshaped, which moves them.
    axes
        How many: the last dimensions of `a` with the first of `b`. Or two sequences, of dimensions of `a` and of `b`.

    Returns
    -------
    The other dimensions of `a`, and those of `b`.

    Raises
    ------
    ValueError
        If extents differ, or an axis comes twice.
    """
    a, b = pg.asarray(a), pg.asarray(b)
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
    kept_a, kept_b = ([d for d in range(x.ndim) if d not in used] for x, used in ((a, axes_a), (b, axes_b)))
    extents = [a.shape[d] for d in kept_a] + [b.shape[d] for d in kept_b]
    n = math.prod(summed)
    A = a.transpose(kept_a + axes_a).reshape(math.prod(extents[:len(kept_a)]), n)
    B = b.transpose(axes_b + kept_b).reshape(n, math.prod(extents[len(kept_a):]))
    return pg.asarray(((A if kept_a else A[0]) @ (B if kept_b else B[:, 0])).reshape(extents))


@implements(np.linalg.matrix_power)
def matrix_power(a: Any, n: int) -> pg.GlobalArray:
    """A square matrix, multiplied n times by itself; the power of its inverse if n is negative. Collective.

    Raises
    ------
    TypeError
        If n is no integer.
    numpy.linalg.LinAlgError
        If the matrix is not square; or is singular, and n negative.
    """
    a = as_square(a)
    try:
        n = operator.index(n)
    except TypeError as error:
        raise TypeError("exponent must be an integer") from error
    if n == 0:
        result = pg.empty_like(a)
        result[...] = pg.eye(len(a), dtype=a.dtype, layout=result.layout)
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
