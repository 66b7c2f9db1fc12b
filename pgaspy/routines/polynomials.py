"""Polynomials as NumPy's first module for them has it: vectors of coefficients, that of the highest power first.

Coefficients are few: every process has all of them. What a polynomial is evaluated for, or fitted to, is dealt out.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.exceptions import RankWarning
from numpy.typing import NDArray

import pgaspy as pg
from pgaspy.creation import as_global
from pgaspy.dispatch import implements
from pgaspy.host.call_sites import warn
from pgaspy.small_calls import as_new, by_numpy
from pgaspy.values import told

__all__ = ["poly", "polyadd", "polyder", "polydiv", "polyfit", "polyint", "polymul", "polysub", "polyval", "roots"]


@implements(np.polyval)
@by_numpy(np.polyval)
def polyval(p: Any, x: Any) -> pg.GlobalArray:
    """The values of a polynomial, by Horner's rule. Collective.

    Parameters
    ----------
    p
        The coefficients, of which every process gets all.
    x
        An array of any shape.

    Returns
    -------
    The shape of `x`, dealt out as an operation on it.

    Examples
    --------
    >>> import pgaspy as pg
    >>> pg.polyval([2, 0, 1], pg.arange(4)).gather()
    array([ 1,  3,  9, 19])
    """
    x = as_global(x)
    result: Any = pg.zeros_like(x)
    for coefficient in _coefficients(p):
        result = result * x + coefficient
    return result


def _fitted_to_few(x: Any, y: Any, deg: int, rcond: float | None = None, *, w: Any = None) -> NDArray[Any]:
    """The coefficients alone; a ValueError where there is to be a warning that several polynomials fit as well."""
    found: NDArray[Any]
    found, _, rank, *_ = np.polyfit(x, y, deg, rcond, full=True, w=w)
    if rank != deg + 1:
        raise ValueError("several polynomials fit")
    return found


@implements(np.polyfit)
@by_numpy(_fitted_to_few, like=as_new)
def polyfit(x: Any, y: Any, deg: int, rcond: float | None = None, full: bool = False, w: Any = None,
            cov: bool | str = False) -> Any:
    """The polynomial of a degree that fits values at points best, by least squares. Collective.

    Parameters
    ----------
    x
        The points, shape (n,).
    y
        The values, shape (n,), or (n, m) for m polynomials.
    deg
        The degree.
    rcond
        Singular values up to this times the largest count as 0; by default n times the rounding unit.
    full
        Give also the residuals, the rank, the singular values and `rcond`.
    w
        Weights of the values, shape (n,).
    cov
        Give also the covariance of the coefficients; with "unscaled", as if the weights were right.

    Returns
    -------
    The coefficients, shape (deg + 1,) or (deg + 1, m).

    Raises
    ------
    ValueError
        For a negative degree, or too few points for a covariance.
    TypeError
        For other shapes.

    Warns
    -----
    numpy.exceptions.RankWarning
        If several polynomials fit as well; not with `full`.

    Examples
    --------
    >>> import pgaspy as pg
    >>> x = pg.arange(5.0)
    >>> pg.round(pg.polyfit(x, 3 * x * x - 1, 2), 6).gather() + 0.0
    array([ 3.,  0., -1.])
    """
    n_terms = int(deg) + 1
    x, y = as_global(x) + 0.0, as_global(y) + 0.0
    if deg < 0:
        raise ValueError("expected deg >= 0")
    if x.ndim != 1:
        raise TypeError("expected 1D vector for x")
    if x.size == 0:
        raise TypeError("expected non-empty vector for x")
    if y.ndim not in (1, 2):
        raise TypeError("expected 1D or 2D array for y")
    if len(x) != len(y):
        raise TypeError("expected x and y to have same length")
    rcond = len(x) * float(np.finfo(x.dtype).eps) if rcond is None else rcond
    powers, values = pg.vander(x, n_terms), y
    if w is not None:
        w = as_global(w) + 0.0
        if w.ndim != 1:
            raise TypeError("expected a 1-d array for weights")
        if len(w) != len(y):
            raise TypeError("expected w and y to have the same length")
        powers = powers * w[:, None]
        values = values * (w if y.ndim == 1 else w[:, None])
    scale = np.sqrt((powers * powers).sum(axis=0))
    powers = powers / scale
    found, residuals, rank, s = pg.linalg.lstsq(powers, values, rcond)
    found = found / (scale if y.ndim == 1 else scale[:, None])
    if full:
        return found, residuals, rank, s, rcond
    if rank != n_terms:
        warn("Polyfit may be poorly conditioned", RankWarning)
    if not cov:
        return found
    covariance = pg.linalg.inv(powers.T @ powers) / pg.outer(scale, scale)
    if cov == "unscaled":
        factor: Any = pg.ones(1)
    elif len(x) > n_terms:
        factor = residuals / (len(x) - n_terms)
    else:
        raise ValueError("the number of data points must exceed order to scale the covariance matrix")
    return found, covariance * factor if y.ndim == 1 else covariance[:, :, None] * factor


@implements(np.polyadd)
def polyadd(a1: Any, a2: Any) -> Any:
    """The sum of two polynomials. Collective.

    Parameters
    ----------
    a1, a2
        Vectors of coefficients, of which every process gets all.

    Returns
    -------
    A vector of coefficients; of a `numpy.poly1d` another one.

    Examples
    --------
    >>> import pgaspy as pg
    >>> pg.polyadd(pg.array([1, 2]), [9, 5, 4]).gather()
    array([9, 6, 6])
    """
    return _computed(np.polyadd, a1, a2)


@implements(np.polysub)
def polysub(a1: Any, a2: Any) -> Any:
    """The difference of two polynomials. Collective; all else is as for `polyadd`."""
    return _computed(np.polysub, a1, a2)


@implements(np.polymul)
def polymul(a1: Any, a2: Any) -> Any:
    """The product of two polynomials. Collective; all else is as for `polyadd`."""
    return _computed(np.polymul, a1, a2)


@implements(np.polydiv)
def polydiv(u: Any, v: Any) -> tuple[Any, Any]:
    """The quotient of two polynomials, and the remainder. Collective; all else is as for `polyadd`."""
    quotient, remainder = _computed(np.polydiv, u, v)
    return quotient, remainder


@implements(np.polyder)
def polyder(p: Any, m: int = 1) -> Any:
    """The m-th derivative of a polynomial. Collective; all else is as for `polyadd`.

    Raises
    ------
    ValueError
        If `m` is negative.
    """
    return _computed(np.polyder, p, m=m)


@implements(np.polyint)
def polyint(p: Any, m: int = 1, k: Any = None) -> Any:
    """The m-th integral of a polynomial. Collective; all else is as for `polyadd`.

    Parameters
    ----------
    p
        The coefficients.
    m
        How often it is integrated.
    k
        The constants, one for each time; 0 by default.

    Raises
    ------
    ValueError
        If `m` is negative, or there are not as many constants.
    """
    return _computed(np.polyint, p, m=m, k=None if k is None else _coefficients(k))


@implements(np.poly)
def poly(seq_of_zeros: Any) -> pg.GlobalArray:
    """The polynomial that has given zeros, with 1 as its first coefficient. Collective.

    Parameters
    ----------
    seq_of_zeros
        Shape (n,); or a square matrix, whose eigenvalues they are.

    Raises
    ------
    ValueError
        For another array.

    Examples
    --------
    >>> import pgaspy as pg
    >>> pg.poly([1, 2]).gather()
    array([ 1., -3.,  2.])
    """
    shape = np.shape(seq_of_zeros)
    if len(shape) == 2 and shape[0] == shape[1] and shape[0]:
        seq_of_zeros = pg.linalg.eigvals(seq_of_zeros)
    elif len(shape) > 1:
        raise ValueError("input must be 1d or non-empty square 2d array.")
    return pg.array(np.poly(_coefficients(seq_of_zeros)))


@implements(np.roots)
def roots(p: Any) -> pg.GlobalArray:
    """The zeros of a polynomial. Collective.

    Parameters
    ----------
    p
        The coefficients; every process computes the eigenvalues of their companion matrix.

    Raises
    ------
    ValueError
        If these are no vector.

    Examples
    --------
    >>> import pgaspy as pg
    >>> pg.sort(pg.roots([1, -3, 2])).gather()
    array([1., 2.])
    """
    found: pg.GlobalArray = _computed(np.roots, p)
    return found


def _computed(function: Callable[..., Any], *polynomials: Any, **options: Any) -> Any:
    """What NumPy's function gives for coefficients, as every process computes it."""
    found = function(*map(_coefficients, polynomials), **options)
    return tuple(map(_as_result, found)) if isinstance(found, tuple) else _as_result(found)


def _as_result(found: Any) -> Any:
    return found if isinstance(found, np.poly1d) else pg.array(found)


def _coefficients(p: Any) -> NDArray[Any] | np.poly1d:
    """All of them, as every process has them."""
    if isinstance(p, np.poly1d):
        return p
    return np.asarray(told(p))
