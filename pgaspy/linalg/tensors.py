"""Tensor equations, as systems of linear equations."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.linalg import LinAlgError

import pgaspy as pg
from pgaspy.creation import as_operand
from pgaspy.dispatch import implements
from pgaspy.linalg.by_lu import inv, solve

__all__ = ["tensorinv", "tensorsolve"]


@implements(np.linalg.tensorsolve)
def tensorsolve(a: Any, b: Any, axes: Sequence[int] | None = None) -> pg.GlobalArray:
    """Solve `tensordot(a, x, x.ndim)` = b, by `solve`. Collective; with NumPy's arguments.

    Parameters
    ----------
    a
        Shape b.shape + Q, where Q has as many elements as b.
    b
        Any array.
    axes
        Dimensions of `a` that are moved to the end before.

    Returns
    -------
    x, of shape Q.

    Raises
    ------
    numpy.linalg.LinAlgError
        If Q has another number of elements, or the equations are singular.
    ValueError
        For axes that `a` does not have.

    Examples
    --------
    >>> import pgaspy as pg
    >>> a = pg.eye(6).reshape(2, 3, 3, 2)
    >>> pg.linalg.tensorsolve(a, pg.arange(6.0).reshape(2, 3)).gather()
    array([[0., 1.],
           [2., 3.],
           [4., 5.]])
    """
    a, b = as_operand(a), as_operand(b)
    if axes is not None:
        order = list(range(a.ndim))
        for d in axes:
            order.remove(d)
            order.append(d)
        a = a.transpose(order)
    shape = a.shape[-(a.ndim - b.ndim):]
    if a.size != math.prod(shape) ** 2:
        raise LinAlgError("Input arrays must satisfy the requirement prod(a.shape[b.ndim:]) == prod(a.shape[:b.ndim]), "
                          f"but their shapes are {a.shape} and {b.shape}")
    return solve(a.reshape(-1, math.prod(shape)), b.reshape(-1)).reshape(shape)


@implements(np.linalg.tensorinv)
def tensorinv(a: Any, ind: int = 2) -> pg.GlobalArray:
    """The x for which `tensordot(x, a, ind)` is the identity, by `inv`. Collective.

    Parameters
    ----------
    a
        Shape P + Q, of as many elements each.
    ind
        How many dimensions P has.

    Returns
    -------
    x, of shape Q + P.

    Raises
    ------
    ValueError
        If ind is not positive.
    numpy.linalg.LinAlgError
        If P and Q differ in their numbers of elements, or a is singular.

    Examples
    --------
    >>> import pgaspy as pg
    >>> pg.linalg.tensorinv(pg.eye(6).reshape(6, 2, 3), 1).shape
    (2, 3, 6)
    """
    if ind <= 0:
        raise ValueError("Invalid ind argument.")
    a = as_operand(a)
    shape = a.shape
    n = math.prod(shape[ind:])
    return inv(a.reshape(n and a.size // n, n)).reshape(shape[ind:] + shape[:ind])
