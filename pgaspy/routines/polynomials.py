"""Polynomials by their coefficients, the highest power's first.

Coefficients are few: every process has all of them. The points at which polynomials are evaluated, or to which they are
fitted, are dealt out.
"""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
from numpy.typing import NDArray

import pgaspy as pg
from pgaspy.creation import as_array, as_global
from pgaspy.dispatch import implements
from pgaspy.linalg import inv, lstsq
from pgaspy.routines.grids import vander

__all__ = ["polyadd", "polyder", "polydiv", "polyfit", "polyint", "polymul", "polysub", "polyval", "roots"]


def _coefficients(p: Any) -> NDArray[Any]:
    """The coefficients, on every process."""
    found = as_array(p)
    return found.gather() if isinstance(found, pg.GlobalArray) else found


@implements(np.polyval)
def polyval(p: Any, x: Any) -> pg.GlobalArray:
    """The values of a polynomial at points. Collective.

    Parameters
    ----------
    p
        The coefficients, the highest power's first.
    x
        The points: a number, or an array of any shape.

    Returns
    -------
    The shape of `x`, and its layout.

    Examples
    --------
    >>> import pgaspy as pg
    >>> pg.polyval([3, 0, 1], pg.arange(4)).gather()
    array([ 1,  4, 13, 28])
    """
    x = as_global(x)
    y: Any = pg.zeros_like(x)
    for coefficient in _coefficients(p):
        y = y * x + coefficient
    return y


@implements(np.polyfit)
def polyfit(x: Any, y: Any, deg: int, rcond: float | None = None, full: bool = False, w: Any = None,
            cov: bool | str = False) -> Any:
    """The polynomial of a degree that fits points best, by least squares. Collective.

    Parameters
    ----------
    x, y
        The points, shapes (m,), and (m,) or (m, k) for k polynomials.
    deg
        The degree.
    rcond
        Singular values below `rcond` times the largest count as zero; by default m times the resolution of the dtype.
    full
        Return also the sum of the squared residuals, the rank, the singular values and `rcond`.
    w
        Weights of the residuals, shape (m,), which are not squared yet.
    cov
        Return also the covariances of the coefficients, scaled by the residuals, unless it is "unscaled".

    Returns
    -------
    The coefficients, shape (deg + 1,) or (deg + 1, k), the highest power's first; with what else is asked for.

    Raises
    ------
    ValueError
        For a negative degree, or too few points for covariances.
    TypeError
        For shapes that do not go together.

    Examples
    --------
    >>> import pgaspy as pg
    >>> x = pg.arange(5.0)
    >>> pg.polyfit(x, 2 * x ** 2 - 1, 2).gather().round(6) + 0.0
    array([ 2.,  0., -1.])
    """
    order = int(deg) + 1
    x, y = as_global(x) + 0.0, as_global(y) + 0.0
    if deg < 0:
        raise ValueError("expected deg >= 0")
    if x.ndim != 1:
        raise TypeError("expected 1D vector for x")
    if x.size == 0:
        raise TypeError("expected non-empty vector for x")
    if not 1 <= y.ndim <= 2:
        raise TypeError("expected 1D or 2D array for y")
    if len(x) != len(y):
        raise TypeError("expected x and y to have same length")
    rcond = len(x) * float(np.finfo(x.dtype).eps) if rcond is None else rcond
    powers: Any = vander(x, order)
    if w is not None:
        w = as_global(w) + 0.0
        if w.ndim != 1:
            raise TypeError("expected a 1-d array for weights")
        if len(w) != len(y):
            raise TypeError("expected w and y to have the same length")
        powers, y = powers * w[:, None], y * (w[:, None] if y.ndim == 2 else w)
    scale = np.sqrt((powers * powers).sum(axis=0))
    powers = powers / scale
    found, residuals, rank, singular = lstsq(powers, y, rcond)
    found = (found.T / scale).T
    if rank != order and not full:
        warnings.warn("Polyfit may be poorly conditioned", np.exceptions.RankWarning, stacklevel=2)
    if full:
        return found, residuals, rank, singular, rcond
    if not cov:
        return found
    covariances = inv(powers.T @ powers) / pg.outer(scale, scale)
    if cov == "unscaled":
        factor: Any = 1
    elif len(x) <= order:
        raise ValueError("the number of data points must exceed order to scale the covariance matrix")
    else:
        factor = residuals / (len(x) - order)
    return found, covariances * factor if y.ndim == 1 else covariances[:, :, None] * factor


@implements(np.roots)
def roots(p: Any) -> pg.GlobalArray:
    """The roots of a polynomial, which each process finds by itself. Collective.

    Raises
    ------
    ValueError
        If the coefficients are no vector.

    Examples
    --------
    >>> import pgaspy as pg
    >>> pg.sort(pg.roots([1, -3, 2])).gather()
    array([1., 2.])
    """
    return pg.array(np.roots(_coefficients(p)))


@implements(np.polyder)
def polyder(p: Any, m: int = 1) -> pg.GlobalArray:
    """The m-th derivative of a polynomial. Collective.

    Examples
    --------
    >>> import pgaspy as pg
    >>> pg.polyder([1, 1, 1]).gather()
    array([2, 1])
    """
    return pg.array(np.polyder(_coefficients(p), m))


@implements(np.polyint)
def polyint(p: Any, m: int = 1, k: Any = None) -> pg.GlobalArray:
    """The m-th antiderivative of a polynomial; `k` are the constants, zeros by default. Collective.

    Examples
    --------
    >>> import pgaspy as pg
    >>> pg.polyint([6, 2], k=5).gather()
    array([3., 2., 5.])
    """
    return pg.array(np.polyint(_coefficients(p), m, None if k is None else _coefficients(k)))


@implements(np.polyadd)
def polyadd(a1: Any, a2: Any) -> pg.GlobalArray:
    """The sum of two polynomials. Collective."""
    return pg.array(np.polyadd(_coefficients(a1), _coefficients(a2)))


@implements(np.polysub)
def polysub(a1: Any, a2: Any) -> pg.GlobalArray:
    """The difference of two polynomials. Collective."""
    return pg.array(np.polysub(_coefficients(a1), _coefficients(a2)))


@implements(np.polymul)
def polymul(a1: Any, a2: Any) -> pg.GlobalArray:
    """The product of two polynomials. Collective.

    Examples
    --------
    >>> import pgaspy as pg
    >>> pg.polymul([1, 2], [1, -2]).gather()
    array([ 1,  0, -4])
    """
    return pg.array(np.polymul(_coefficients(a1), _coefficients(a2)))


@implements(np.polydiv)
def polydiv(u: Any, v: Any) -> tuple[pg.GlobalArray, pg.GlobalArray]:
    """The quotient of two polynomials, and the remainder. Collective."""
    quotient, remainder = np.polydiv(_coefficients(u), _coefficients(v))
    return pg.array(quotient), pg.array(remainder)
