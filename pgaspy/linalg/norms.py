"""Norms of vectors and matrices, and condition numbers."""

from __future__ import annotations

import functools
import math
from typing import Any

import numpy as np
from numpy.lib.array_utils import normalize_axis_index, normalize_axis_tuple
from numpy.linalg import LinAlgError

import pgaspy as pg
from pgaspy.creation import as_operand
from pgaspy.dispatch import implements, named
from pgaspy.linalg.by_jacobi import svdvals
from pgaspy.linalg.by_lu import inv
from pgaspy.linalg.operands import as_matrix, as_square
from pgaspy.linalg.stacks import is_stack, over_stacks
from pgaspy.operands import refuse_truths

__all__ = ["cond", "matrix_norm", "norm", "vector_norm"]


@implements(np.linalg.norm)
def norm(x: Any, ord: Any = None, axis: int | tuple[int, ...] | None = None, keepdims: bool = False) -> pg.GlobalArray:
    """A norm of vectors or matrices. Collective; with NumPy's arguments and results.

    Parameters
    ----------
    x
        Any array.
    ord
        For matrices None or "fro" (Frobenius), "nuc", 1, -1, 2, -2, inf, -inf; 2, -2 and "nuc" by singular values.
        For vectors None, inf, -inf, 0 (how many are not 0), or any p.
    axis
        The dimension of the vectors, or two of the matrices; by default x is one of these, or with `ord=None` anything
        whose elements are those of one vector.
    keepdims
        Keep these dimensions, with an extent of 1.

    Returns
    -------
    The norms; one is an array of no dimension, which every process has.

    Raises
    ------
    ValueError
        For an `ord` that there is none of, or other numbers of dimensions.
    """
    x = as_operand(x)
    x = x if x.dtype.kind in "fc" else x.astype(float)
    if axis is None and (ord is None or (ord in ("f", "fro") and x.ndim == 2) or (ord == 2 and x.ndim == 1)):
        is_product = x.ndim == 1 and x.dtype.kind == "f" and not keepdims
        return np.sqrt(x @ x if is_product else _squares(x).sum(keepdims=keepdims))
    if axis is None:
        axes: tuple[Any, ...] = tuple(range(x.ndim))
    elif isinstance(axis, tuple):
        refuse_truths(axis)
        axes = axis
    else:
        try:
            axes = int(axis),
        except Exception as error:
            raise TypeError("'axis' must be None, an integer or a tuple of integers") from error
    axes = tuple(normalize_axis_index(d, x.ndim) for d in axes)
    if len(axes) == 1:
        return _of_vectors(x, ord, axes[0], keepdims)
    if len(axes) != 2:
        raise ValueError("Improper number of dimensions to norm.")
    if axes[0] == axes[1]:
        raise ValueError("Duplicate axes given.")
    return _of_matrices(x, ord, *axes, keepdims)


@implements(*named("matrix_norm", np.linalg))
def matrix_norm(x: Any, /, *, keepdims: bool = False, ord: Any = "fro") -> pg.GlobalArray:
    """A norm of the matrices in the last two dimensions. Collective; all else is as for `norm`.

    Examples
    --------
    >>> import pgaspy as pg
    >>> float(pg.linalg.matrix_norm(pg.array([[3.0, 4.0], [0.0, 0.0]])))
    5.0
    """
    return norm(x, ord, (-2, -1), keepdims)


@implements(*named("vector_norm", np.linalg))
def vector_norm(x: Any, /, *, axis: int | tuple[int, ...] | None = None, keepdims: bool = False,
                ord: Any = 2) -> pg.GlobalArray:
    """A norm of the vectors along dimensions. Collective.

    Parameters
    ----------
    x
        Any array.
    axis
        A dimension, or several, which are one vector; all by default.
    keepdims
        Keep these dimensions, with an extent of 1.
    ord
        As for the vectors of `norm`.

    Returns
    -------
    The norms; one is an array of no dimension, which every process has.

    Raises
    ------
    ValueError
        For an `ord` that there is none of, or a dimension.

    Examples
    --------
    >>> import pgaspy as pg
    >>> float(pg.linalg.vector_norm(pg.array([[3.0, 0.0], [0.0, 4.0]])))
    5.0
    """
    x = as_operand(x)
    x = x if x.dtype.kind in "fc" else x.astype(float)
    axes = tuple(range(x.ndim)) if axis is None else normalize_axis_tuple(axis, x.ndim)
    return _of_vectors(x, ord, axes, keepdims)


@implements(np.linalg.cond)
def cond(x: Any, p: Any = None) -> pg.GlobalArray:
    """The condition number of a matrix: its norm times that of its inverse. Collective; with NumPy's arguments.

    Parameters
    ----------
    x
        Shape (..., m, n); square, unless p is None, 2 or -2.
    p
        The norm, as for `norm`; None is 2. With 2 and -2, the largest singular value over the smallest, or the
        reverse.

    Returns
    -------
    A number, which every process has; infinite for a singular matrix. Of a stack, an array over its dimensions.

    Raises
    ------
    numpy.linalg.LinAlgError
        If x is empty, not square where it has to be, or the singular values do not converge.
    ValueError
        For a norm that there is none of.
    """
    if is_stack(x):
        return over_stacks(functools.partial(np.linalg.cond, p=p), x)
    x = as_matrix(x)
    if not x.size:
        raise LinAlgError("cond is not defined on empty arrays")
    if p in (None, 2, -2):
        s = svdvals(x)
        found = s[-1] / s[0] if p == -2 else s[0] / s[-1]
    else:
        size = norm(as_square(x), p)
        try:
            found = size * norm(inv(x), p)
        except LinAlgError:
            found = size * np.inf
    return pg.where(np.isnan(found) & ~np.isnan(x).any(), np.inf, found)[()]


def _of_vectors(x: pg.GlobalArray, ord: Any, axis: int | tuple[int, ...], keepdims: bool) -> Any:
    if isinstance(ord, str):
        raise ValueError(f"Invalid norm order '{ord}' for vectors")
    if ord is None or ord == 2:
        return np.sqrt(_squares(x).sum(axis, keepdims=keepdims))
    if ord == math.inf:
        return _largest(abs(x), axis, keepdims)
    if ord == -math.inf:
        return abs(x).min(axis, keepdims=keepdims)
    if ord == 0:
        return (x != 0).astype(np.finfo(x.dtype).dtype).sum(axis, keepdims=keepdims)
    if ord == 1:
        return abs(x).sum(axis, keepdims=keepdims)
    total = (abs(x) ** ord).sum(axis, keepdims=keepdims)
    return total ** np.reciprocal(ord, dtype=total.dtype)


def _of_matrices(x: pg.GlobalArray, ord: Any, row_axis: int, column_axis: int, keepdims: bool) -> Any:
    if ord in (None, "f", "fro"):
        return np.sqrt(_squares(x).sum((row_axis, column_axis), keepdims=keepdims))
    if ord in (1, -1, math.inf, -math.inf):
        first, second = (row_axis, column_axis) if abs(ord) == 1 else (column_axis, row_axis)
        sums = abs(x).sum(first, keepdims=True)
        result = _largest(sums, second, True) if ord > 0 else sums.min(second, keepdims=True)
        return result if keepdims else result.squeeze((row_axis, column_axis))
    if ord not in (2, -2, "nuc"):
        raise ValueError("Invalid norm order for matrices.")
    s = svdvals(pg.moveaxis(x, (row_axis, column_axis), (-2, -1)))
    norms: pg.GlobalArray = s.sum(-1) if ord == "nuc" else s.min(-1) if ord == -2 else _largest(s, -1, False)
    return pg.expand_dims(norms, (row_axis, column_axis)) if keepdims else norms


def _squares(x: pg.GlobalArray) -> Any:
    """|x|^2"""
    return np.square(x.real) + np.square(x.imag) if x.dtype.kind == "c" else np.square(x)


def _largest(x: pg.GlobalArray, axis: int | tuple[int, ...], keepdims: bool) -> pg.GlobalArray:
    """The maximum of what is not negative; 0 of nothing."""
    return x.max(axis, keepdims=keepdims) if x.size else x.max(axis, keepdims=keepdims, initial=0)
