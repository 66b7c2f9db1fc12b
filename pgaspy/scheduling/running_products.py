"""What running products of real numbers come to, of parts that are multiplied apart: as if one number after the other.

A running product that has become infinite stays so, or becomes NaN with the next zero; and one that has become zero
stays so, or becomes NaN with what is infinite. Which of it comes first, in a part, depends on the product before it
alone: from one power of two on it becomes infinite, and below another one, zero. So of each part it is known what its
factors come to, as a pair (see `products`); these two powers, of its factors before the first one that is zero or
infinite itself; and whether there are such factors.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from pgaspy.caches import cached
from pgaspy.scheduling import products
from pgaspy.scheduling.floating_point import is_telling, silenced, unless_noted

__all__ = ["accumulated", "dtype_of", "joined", "of_elements", "values_of"]

MIN_ROWS = 256
"""So many elements along the first dimension are looked at together, at least."""


@cached
def dtype_of(dtype: np.dtype[Any]) -> np.dtype[Any]:
    """That of what parts come to, of the products' dtype: a pair; and in log2, what comes before a part is to be less
    than `below` for its products to become zero, and at least `above` for them to become infinite.
    """
    return np.dtype([("factor", dtype), ("exponent", np.int64), ("below", np.float64), ("above", np.float64),
                     ("has_zero", np.bool_), ("has_infinite", np.bool_)], align=True)


def of_elements(elements: NDArray[Any], dtype: np.dtype[Any]) -> NDArray[Any]:
    """What elements come to along the first dimension."""
    n, n_at_once = len(elements), max(products.CHUNK // max(elements[:1].size, 1), MIN_ROWS)
    if n <= n_at_once:
        return _of_few(elements, dtype)
    parts = [_of_few(elements[start:start + n_at_once], dtype) for start in range(0, n, n_at_once)]
    found: NDArray[Any] = accumulated(np.stack(parts))[-1]
    return found


def _of_few(elements: NDArray[Any], dtype: np.dtype[Any]) -> NDArray[Any]:
    found = np.zeros(elements.shape[1:], dtype_of(dtype))
    least_normal, infinite = _limits(dtype)
    running = None if is_telling() or not len(elements) else unless_noted(
        lambda: np.multiply.accumulate(elements, 0, dtype))
    if running is not None:
        found["factor"] = running[-1]
        sizes = abs(running)
        low, high = sizes.min(0), sizes.max(0)
        if low.all() and np.isfinite(high).all():
            found["below"], found["above"] = (limit - np.log2(x.astype(_logs_of(dtype)))
                                              for limit, x in ((least_normal, low), (infinite, high)))
            return found
    pairs = products.of_elements(elements, (0,), dtype)
    found["factor"], found["exponent"] = pairs["factor"], pairs["exponent"]
    found["below"], found["above"] = -np.inf, np.inf
    if len(elements):
        is_zero, is_infinite = elements == 0, ~np.isfinite(elements)
        found["has_zero"], found["has_infinite"] = is_zero.any(0), is_infinite.any(0)
        found["below"], found["above"] = _bounds(elements, is_zero | is_infinite, dtype)
    return found


@silenced
def _bounds(elements: NDArray[Any], is_beyond: NDArray[np.bool_],
            dtype: np.dtype[Any]) -> tuple[NDArray[Any], NDArray[Any]]:
    """See `dtype_of`: up to where either limit is passed, whatever comes before."""
    least_normal, infinite = _limits(dtype)
    is_over = np.logical_or.accumulate(is_beyond, 0)
    sizes = np.where(is_over, 0, np.log2(abs(elements.astype(_logs_of(dtype)))).astype(np.float64))
    running = np.add.accumulate(sizes, 0)
    low = np.minimum.accumulate(np.where(is_over, np.inf, running), 0)
    high = np.maximum.accumulate(np.where(is_over, -np.inf, running), 0)
    is_wide = high - low >= infinite - least_normal
    place = np.where(is_wide.any(0), is_wide.argmax(0), len(elements) - 1)[None]
    last, low, high = (np.take_along_axis(x, place, 0)[0] for x in (running, low, high))
    below, above = least_normal - low, infinite - high
    return (np.where(high == last, below, np.minimum(below, above)),
            np.where(high == last, np.maximum(below, above), above))


def _limits(dtype: np.dtype[Any]) -> tuple[float, float]:
    """In log2, below which numbers become zero, and from which on they become infinite."""
    limits = np.finfo(dtype)
    return float(limits.minexp - limits.nmant - 1), float(limits.maxexp)


def _logs_of(dtype: np.dtype[Any]) -> np.dtype[Any]:
    """What logarithms are taken of."""
    return np.promote_types(dtype, np.float64)


@silenced
def joined(before: NDArray[Any], after: NDArray[Any]) -> NDArray[Any]:
    """What both come to, one after the other."""
    found = np.empty(np.broadcast_shapes(before.shape, after.shape), before.dtype)
    pairs = products.times(before, after)
    found["factor"], found["exponent"] = pairs["factor"], pairs["exponent"]
    found["has_zero"] = before["has_zero"] | after["has_zero"]
    found["has_infinite"] = before["has_infinite"] | after["has_infinite"]
    is_over, size = before["has_zero"] | before["has_infinite"], _sizes(before)
    below, above = (np.where(is_over, never, after[name] - size)
                    for name, never in (("below", -np.inf), ("above", np.inf)))
    found["below"] = np.minimum(np.maximum(before["below"], below), before["above"])
    found["above"] = np.maximum(np.minimum(before["above"], above), before["below"])
    return found


def accumulated(totals: NDArray[Any]) -> NDArray[Any]:
    """What they come to up to each, along the first dimension: by doubling, as in `prefixes`."""
    found, step = totals.copy(), 1
    while step < len(found):
        found[step:] = joined(found[:-step], found[step:])
        step *= 2
    return found


def values_of(totals: NDArray[Any]) -> NDArray[Any]:
    """The running products after them, in their dtype; what becomes too large or too small on the way does not return.
    """
    found = np.asarray(products.values_of(totals))
    is_large, is_small = totals["above"] <= 0, totals["below"] > 0
    if not (is_large.any() or is_small.any()):
        return found
    sign = np.copysign(np.ones((), found.dtype), totals["factor"])
    nothing = np.isnan(totals["factor"])
    large = np.where(totals["has_zero"] | nothing, np.nan, sign * np.inf)
    small = np.where(totals["has_infinite"] | nothing, np.nan, sign * 0)
    return np.where(is_small, small, np.where(is_large, large, found)).astype(found.dtype)


@silenced
def _sizes(totals: NDArray[Any]) -> NDArray[Any]:
    """How large the products are, in log2."""
    factor, exponent = np.frexp(totals["factor"])
    sizes: NDArray[Any] = np.log2(abs(factor.astype(np.float64))) + exponent + totals["exponent"]
    return sizes
