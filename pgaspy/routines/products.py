"""Products of vectors, and of matrices and vectors, in the last dimensions of arrays."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.lib.array_utils import normalize_axis_index

import pgaspy as pg
from pgaspy.creation import as_global
from pgaspy.dispatch import implements, named
from pgaspy.host.call_sites import warn
from pgaspy.small_calls import by_numpy

__all__ = ["cross", "inner", "matvec", "vdot", "vecmat"]


@implements(np.inner)
def inner(a: Any, b: Any, /) -> pg.GlobalArray:
    """The sums of products over the last dimensions of two arrays. Collective.

    Parameters
    ----------
    a, b
        Arrays whose last extents are the same; or one is a number.

    Returns
    -------
    The other dimensions of `a`, and those of `b`.

    Raises
    ------
    ValueError
        If the last extents differ.

    Examples
    --------
    >>> import pgaspy as pg
    >>> A = pg.arange(6).reshape(2, 3)
    >>> pg.inner(A, A[0]).gather()
    array([ 5, 14])
    """
    a, b = as_global(a), as_global(b)
    if not a.ndim or not b.ndim:
        return a * b
    if a.shape[-1] != b.shape[-1]:
        raise ValueError(f"shapes {a.shape} and {b.shape} not aligned: {a.shape[-1]} (dim {a.ndim - 1}) != "
                         f"{b.shape[-1]} (dim {b.ndim - 1})")
    return a @ b if a.ndim == b.ndim == 1 else pg.tensordot(a, b, (-1, -1))


@implements(np.vdot)
def vdot(a: Any, b: Any, /) -> pg.GlobalArray:
    """The sum of `conj(a) * b`, of all elements in row-major order. Collective.

    Parameters
    ----------
    a, b
        Arrays of as many elements; those of other shapes than each other's are reshaped, which moves them.

    Returns
    -------
    A number, which every process holds.

    Raises
    ------
    ValueError
        If the numbers of elements differ.

    Examples
    --------
    >>> import pgaspy as pg
    >>> complex(pg.vdot(pg.array([1j, 2]), [1j, 1]))
    (3+0j)
    """
    a, b = as_global(a), as_global(b)
    if a.shape != b.shape:
        a, b = a.ravel(), b.ravel()
    if a.shape != b.shape:
        raise ValueError(f"vdot takes arrays of as many elements, not of {a.size} and {b.size}")
    if a.ndim == 1:
        return pg.vecdot(a, b)
    products = a.conj() * b
    return products.sum(None, products.dtype)


@implements(*named("matvec"))
def matvec(x1: Any, x2: Any, /) -> pg.GlobalArray:
    """The products of matrices and vectors, in the last dimensions of arrays. Collective.

    Parameters
    ----------
    x1, x2
        Shapes (..., m, n) and (..., n); the other dimensions broadcast.

    Returns
    -------
    Shape (..., m).

    Raises
    ------
    ValueError
        If the shapes do not fit.

    Examples
    --------
    >>> import pgaspy as pg
    >>> pg.matvec(pg.eye(2), [[1, 2], [3, 4]]).gather()
    array([[1., 2.],
           [3., 4.]])
    """
    x1, x2 = as_global(x1), as_global(x2)
    _check_fits("matvec", x1, x2, x1.ndim > 1 and x2.ndim > 0 and x1.shape[-1] == x2.shape[-1])
    return pg.einsum("...mn,...n->...m", x1, x2)


@implements(*named("vecmat"))
def vecmat(x1: Any, x2: Any, /) -> pg.GlobalArray:
    """The products of vectors, conjugated, and matrices, in the last dimensions of arrays. Collective.

    Parameters
    ----------
    x1, x2
        Shapes (..., n) and (..., n, m); the other dimensions broadcast.

    Returns
    -------
    Shape (..., m).

    Raises
    ------
    ValueError
        If the shapes do not fit.

    Examples
    --------
    >>> import pgaspy as pg
    >>> pg.vecmat([1, 2], pg.ones((2, 3))).gather()
    array([3., 3., 3.])
    """
    x1, x2 = as_global(x1), as_global(x2)
    _check_fits("vecmat", x1, x2, x2.ndim > 1 and x1.ndim > 0 and x1.shape[-1] == x2.shape[-2])
    return pg.einsum("...n,...nm->...m", x1.conj(), x2)


def _check_fits(name: str, x1: pg.GlobalArray, x2: pg.GlobalArray, fits: bool) -> None:
    if not fits:
        raise ValueError(f"{name}: matrices and vectors of shapes {x1.shape} and {x2.shape} do not go together")


@implements(np.cross)
@by_numpy(np.cross)
def cross(a: Any, b: Any, axisa: int = -1, axisb: int = -1, axisc: int = -1, axis: int | None = None) -> pg.GlobalArray:
    """The cross products of vectors of three elements, or of two. Collective.

    Parameters
    ----------
    a, b
        Arrays of vectors along a dimension; the others broadcast. The third element of those of two is 0.
    axisa, axisb
        The dimension of the vectors in each, the last by default.
    axisc
        That of the result.
    axis
        Instead of all three.

    Returns
    -------
    Vectors of three elements; of two vectors of two elements, only the third one, which is the only one that is not 0.

    Raises
    ------
    ValueError
        If vectors have another number of elements, or there is no such dimension.

    Warns
    -----
    DeprecationWarning
        Of vectors of two elements, as NumPy does.

    Examples
    --------
    >>> import pgaspy as pg
    >>> pg.cross(pg.array([1, 0, 0]), [0, 1, 0]).gather()
    array([0, 0, 1])
    """
    if axis is not None:
        axisa = axisb = axisc = axis
    a, b = _components(a, axisa), _components(b, axisb)
    if len(a) == 2 or len(b) == 2:
        warn("Arrays of 2-dimensional vectors are deprecated. Use arrays of 3-dimensional vectors instead. (deprecated "
             "in NumPy 2.0)", DeprecationWarning)
    if len(a) == len(b) == 2:
        return _cross_element(a, b, 0, 1)
    found = pg.stack([_cross_element(a, b, j, k) for j, k in ((1, 2), (2, 0), (0, 1))])
    d = normalize_axis_index(axisc, found.ndim)
    return found.transpose([*range(1, d + 1), 0, *range(d + 1, found.ndim)])


def _cross_element(a: pg.GlobalArray, b: pg.GlobalArray, j: int, k: int) -> pg.GlobalArray:
    """a[j] * b[k] - a[k] * b[j], without what is 0, as one of them has two elements only."""
    if j >= len(a) or k >= len(b):
        return -(a[k] * b[j])
    return a[j] * b[k] - a[k] * b[j] if k < len(a) and j < len(b) else a[j] * b[k]


def _components(x: Any, axis: int) -> pg.GlobalArray:
    """The view with the dimension of vectors as the first."""
    x = as_global(x)
    if not x.ndim:
        raise ValueError("At least one array has zero dimension")
    d = normalize_axis_index(axis, x.ndim)
    if x.shape[d] not in (2, 3):
        raise ValueError("incompatible dimensions for cross product\n(dimension must be 2 or 3): one array has shape "
                         f"{x.shape}, with {x.shape[d]} elements along axis {axis}")
    return x.transpose([d, *(e for e in range(x.ndim) if e != d)])
