"""Integer maths on one dimension: nothing here knows arrays, processes or communicators."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["ceil_div", "clipped", "common_places", "meet", "narrow", "near_square_grid", "solve_congruence", "wide"]


def ceil_div(a: Any, b: Any) -> Any:
    """The smallest integer that is at least a / b, for integers or integer arrays, b of any sign."""
    return -(-a // b)


def clipped(a: Any, low: int, high: int) -> Any:
    """The integer, or each of an array of them, limited to low <= a <= high."""
    if isinstance(a, np.ndarray):
        return np.minimum(np.maximum(a, low), high)
    return min(max(a, low), high)


def wide(a: Any) -> Any:
    """The integer, or an array of them that have any length, as Python's have."""
    return a.astype(object) if isinstance(a, np.ndarray) else int(a)


def narrow(a: Any) -> Any:
    """The integer, or an array of them in 64 bits again."""
    return a.astype(np.int64) if isinstance(a, np.ndarray) and a.dtype == object else a


def near_square_grid(n_procs: int, n_axes: int) -> tuple[int, ...]:
    """A grid of `n_axes` axes for exactly `n_procs` processes, as square as the divisors allow.

    The extents do not increase, so that more processes lie on the first axis.

    >>> near_square_grid(6, 2), near_square_grid(8, 3), near_square_grid(7, 2)
    ((3, 2), (2, 2, 2), (7, 1))
    """
    if n_axes == 0:
        return ()
    if n_axes == 1:
        return (n_procs,)
    root = round(n_procs ** (1 / n_axes))
    lower = root if root**n_axes >= n_procs else root + 1
    candidates = ((d, *near_square_grid(n_procs // d, n_axes - 1)) for d in range(lower, n_procs + 1)
                  if n_procs % d == 0)
    return next(grid for grid in candidates if grid[1] <= grid[0])


def solve_congruence(a: int, modulus: int) -> tuple[int, int, int]:
    """(g, inverse, period) such that `a*i = c (mod modulus)` is solvable iff g divides c.

    The solutions are then `i = (c // g) * inverse (mod period)`.
    """
    g = math.gcd(a, modulus)
    period = modulus // g
    return g, pow(a // g, -1, period) if period > 1 else 0, period


def meet(a: range, b: range) -> bool:
    """Whether two ascending ranges, neither of them empty, have an index in common.

    >>> meet(range(0, 9, 2), range(1, 9, 2)), meet(range(0, 9, 2), range(5, 9, 3))
    (False, True)
    """
    g, inverse, period = solve_congruence(a.step, b.step)
    distance = b.start - a.start
    if distance % g:
        return False
    first, every = a.start + a.step * (distance // g * inverse % period), a.step * period  # from the start of a on
    first += max(0, -(-(b.start - first) // every)) * every
    return first <= min(a[-1], b[-1])


def common_places(a: NDArray[np.int64], b: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Where two vectors have the same integers, in both, in the order of the first; each has any of them once."""
    none = np.empty(0, np.int64)
    if not a.size or not b.size:
        return none, none
    low, high = max(a.min(), b.min()), min(a.max(), b.max())
    if low > high:
        return none, none
    i, j = (np.flatnonzero((x >= low) & (x <= high)) for x in (a, b))
    place = np.full(high - low + 1, -1)
    place[b[j] - low] = j
    found = place[a[i] - low]
    is_common = found >= 0
    return i[is_common], found[is_common]
