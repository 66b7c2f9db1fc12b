"""Averages with weights, ranges, covariances and correlations."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.lib.array_utils import normalize_axis_tuple
from numpy.typing import DTypeLike

import pgaspy as pg
from pgaspy.creation import as_global
from pgaspy.dispatch import implements
from pgaspy.host.call_sites import warn
from pgaspy.operands import as_numpy
from pgaspy.routines.mapping import mapped
from pgaspy.scheduling.floating_point import silently
from pgaspy.small_calls import as_new, by_numpy
from pgaspy.values import value
from pgaspy.weights import fitting

__all__ = ["average", "corrcoef", "cov", "ptp"]

Axis = int | tuple[int, ...] | None

MAX_VARIABLES = 1 << 8
"""Whose covariances are NumPy's, where the arrays are small: there are as many pairs as elements of a small array."""


@implements(np.average)
def average(a: Any, axis: Axis = None, weights: Any = None, returned: bool = False, *, keepdims: bool = False) -> Any:
    """The average along dimensions, in which elements count as often as weights say. Collective.

    Parameters
    ----------
    a
        An array.
    axis
        A dimension, or several; all by default.
    weights
        Of the shape of `a`, or of its dimensions `axis` in their order; by default all elements count the same.
    returned
        Give also the sum of the weights.
    keepdims
        Keep the dimensions that are reduced, with an extent of 1.

    Returns
    -------
    `(a * weights).sum(axis) / weights.sum(axis)`, laid out as by `sum`; integers are taken as float64. If `returned`,
    a tuple of that and the sum of the weights, of the same shape.

    Raises
    ------
    ZeroDivisionError
        If the weights of an average have the sum 0: every process waits for the sums of weights that are a global
        array. If there are no averages, and no weights.
    TypeError
        If the shapes differ, and no `axis` is given.
    ValueError
        If the weights have another shape, or if there is no such dimension.

    Examples
    --------
    >>> import pgaspy as pg
    >>> pg.average(pg.array([[1.0, 2.0], [3.0, 6.0]]), axis=1, weights=[3, 1]).gather()
    array([1.25, 3.75])
    """
    a = as_global(a)
    axes = None if axis is None else normalize_axis_tuple(axis, a.ndim, argname="axis")
    if weights is None:
        found = a.mean(axes, keepdims=keepdims)
        total: Any = found.dtype.type(a.size / found.size)
    else:
        w = fitting(weights, a, axes)
        dtype = np.result_type(a.dtype, w.dtype, *(["f8"] if a.dtype.kind in "iub" else []))
        total = w.sum(axes, dtype, keepdims=keepdims)
        if value(as_global(total == 0).any(), False) if isinstance(w, pg.GlobalArray) else np.any(total == 0):
            raise ZeroDivisionError("Weights sum to zero, can't be normalized")
        is_plain = dtype == np.result_type(a.dtype, w.dtype)
        products: Any = a * w if is_plain else np.multiply(a, w, dtype=dtype)
        found = products.sum(axes, keepdims=keepdims) / total
    if not returned:
        return found
    return found, pg.full_like(found, total, getattr(total, "dtype", None)) if found.ndim else as_global(total)


@implements(np.ptp)
def ptp(a: Any, axis: Axis = None, out: pg.GlobalArray | None = None, keepdims: bool = False) -> pg.GlobalArray:
    """The greatest element along dimensions, less the least. Collective.

    Parameters
    ----------
    a
        An array of numbers, or of times.
    axis, out, keepdims
        As for `sum`.

    Raises
    ------
    ValueError
        If there are no elements, or there is no such dimension.
    TypeError
        For booleans, which have no differences.

    Examples
    --------
    >>> import pgaspy as pg
    >>> pg.ptp(pg.array([[4, 9, 2], [1, 1, 7]]), axis=1).gather()
    array([7, 6])
    """
    a = as_global(a)
    found: pg.GlobalArray = np.subtract(
        a.max(axis, keepdims=keepdims), a.min(axis, keepdims=keepdims), out=out)  # type: ignore[arg-type]
    return found


def _unwarned(numpys: Callable[..., Any]) -> Callable[..., Any]:
    """NumPy's function of covariances, which refuses weights, what it warns of, and more variables than a few."""
    def call(m: Any, y: Any = None, rowvar: bool = True, bias: bool = False, ddof: int | None = None) -> Any:
        found = {} if numpys is np.corrcoef else {"bias": bias, "ddof": ddof}
        n_variables, n = np.atleast_2d(m).shape[::1 if rowvar or np.ndim(m) < 2 else -1]
        if n <= (int(not bias) if ddof is None else ddof) or n_variables + np.size(y) // max(n, 1) > MAX_VARIABLES:
            raise ValueError
        return numpys(m, y, rowvar, **found)
    return call


@implements(np.cov)
@by_numpy(_unwarned(np.cov), like=as_new)
def cov(m: Any, y: Any = None, rowvar: bool = True, bias: bool = False, ddof: int | None = None, fweights: Any = None,
        aweights: Any = None, *, dtype: DTypeLike | None = None) -> pg.GlobalArray:
    """The covariances of variables. Collective.

    Parameters
    ----------
    m
        Shape (variables, observations); or (observations,), of one variable.
    y
        More variables, in the same form.
    rowvar
        Whether rows are variables; else the columns are.
    bias
        Divide by the number of observations, instead of one less.
    ddof
        What is subtracted from that number, whatever `bias` says.
    fweights, aweights
        How often an observation counts, as an integer; and how much it weighs. Shape (observations,).
    dtype
        Of the result, at least float64 by default.

    Returns
    -------
    Shape (variables, variables), or no dimensions for one variable. Elements of `m` stay where they are: each process
    multiplies the observations that it has, and the sums are added.

    Raises
    ------
    ValueError
        For more than two dimensions, negative weights, or a `ddof` that is no integer.
    TypeError
        If `fweights` are no integers.
    RuntimeError
        If weights do not fit the observations. What weights hold is waited for, if they are a global array.

    Examples
    --------
    >>> import pgaspy as pg
    >>> pg.cov(pg.array([[0, 1, 2], [2, 1, 0]])).gather()
    array([[ 1., -1.],
           [-1.,  1.]])
    """
    if ddof is not None and ddof != int(ddof):
        raise ValueError("ddof must be integer")
    m, y = as_global(m), None if y is None else as_global(y)
    for x, name in ((m, "m"), (y, "y")):
        if x is not None and x.ndim > 2:
            raise ValueError(f"{name} has more than 2 dimensions")
    wanted = np.dtype(dtype or np.result_type(np.float64, *(x.dtype for x in (m, y) if x is not None)))
    X = _in_rows(m, rowvar or m.ndim == 1)
    if not X.shape[0]:
        return pg.empty((0, 0))
    if y is not None:
        X = pg.concatenate((X, _in_rows(y, rowvar or y.ndim < 2 or y.shape[0] == 1)))
    X = X.astype(wanted)
    ddof = int(not bias) if ddof is None else ddof
    w = _weights(fweights, aweights, X.shape[1])
    mean, total = average(X, 1, w, returned=True)
    n = X.shape[1] - ddof if w is None else _observations(w, aweights, value(total[0].real, 1.0), ddof)
    if n <= 0:
        warn("Degrees of freedom <= 0 for slice", RuntimeWarning)
        n = 0.0
    X = X - mean[:, None]
    factor = silently(np.true_divide, 1, n)
    return (pg.einsum("ik,jk->ij", X, (X if w is None else X * w).conj()) * factor).astype(wanted, copy=False).squeeze()


def _in_rows(x: pg.GlobalArray, rowvar: bool) -> pg.GlobalArray:
    """Variables as rows."""
    x = x[(None,) * (2 - x.ndim)] if x.ndim < 2 else x
    return x if rowvar else x.T


def _weights(fweights: Any, aweights: Any, n: int) -> Any:
    """What observations count together, if there are weights."""
    found: Any = None
    for given, name in ((fweights, "fweights"), (aweights, "aweights")):
        if given is None:
            continue
        w = given.astype(float) if isinstance(given, pg.GlobalArray) else as_numpy(given, np.dtype(float))
        if given is fweights and not _holds((w == np.rint(w)).all()):
            raise TypeError("fweights must be integer")
        if w.ndim > 1:
            raise RuntimeError(f"cannot handle multidimensional {name}")
        if w.shape[0] != n:
            raise RuntimeError(f"incompatible numbers of samples and {name}")
        if not _holds((w >= 0).all()):
            raise ValueError(f"{name} cannot be negative")
        found = w if found is None else found * w
    return found


def _holds(found: Any) -> bool:
    """What is found out of the elements of weights; of those that `explain` cannot read, they are right."""
    return bool(value(found, True) if isinstance(found, pg.GlobalArray) else found)


def _observations(w: Any, aweights: Any, total: Any, ddof: int) -> Any:
    """How many observations there are, less those that the means have taken."""
    if ddof == 0:
        return total
    if aweights is None:
        return total - ddof
    squares = as_global(w * (aweights if isinstance(aweights, pg.GlobalArray) else as_numpy(aweights))).sum()
    return total - ddof * value(squares, 0.0) / total


@implements(np.corrcoef)
@by_numpy(_unwarned(np.corrcoef), like=as_new)
def corrcoef(x: Any, y: Any = None, rowvar: bool = True, *, dtype: DTypeLike | None = None) -> pg.GlobalArray:
    """The correlations of variables: covariances, divided by both standard deviations. Collective.

    Parameters
    ----------
    x, y, rowvar, dtype
        As `m`, `y`, `rowvar` and `dtype` of `cov`, and so are the errors.

    Returns
    -------
    As by `cov`, within [-1, 1].

    Examples
    --------
    >>> import pgaspy as pg
    >>> pg.corrcoef(pg.array([[0, 1, 2], [4, 2, 0]])).gather()
    array([[ 1., -1.],
           [-1.,  1.]])
    """
    c = cov(x, y, rowvar, dtype=dtype)
    if not c.ndim:
        return c / c
    deviation: Any = np.sqrt(pg.diagonal(c).real)
    c = c / deviation[:, None] / deviation
    return mapped(_within_one, (c.dtype,), (c,))[0] if c.dtype.kind == "c" else c.clip(-1, 1)


def _within_one(c: Any) -> Any:
    return c.real.clip(-1, 1) + 1j * c.imag.clip(-1, 1)
