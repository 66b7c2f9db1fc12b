"""What running products of real numbers come to, of parts that are multiplied apart: as if one number after the other.

A running product that has become infinite stays so, or becomes NaN with the next zero; and one that has become zero
stays so, or becomes NaN with what is infinite. So of each part it is known what its factors come to, as a pair (see
`products`); the powers of two between which the running products of it are, until the first zero or infinite factor,
and which of both comes first; and whether there are such factors.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from pgaspy.caches import cached
from pgaspy.scheduling import products
from pgaspy.scheduling.floating_point import errors, is_telling

__all__ = ["accumulated", "dtype_of", "joined", "of_elements", "values_of"]

MIN_ROWS = 256
"""So many elements along the first dimension are looked at together, at least."""


@cached
def dtype_of(dtype: np.dtype[Any]) -> np.dtype[Any]:
    """That of what parts come to, of the products' dtype: a pair, and besides in log2 how large products become."""
    return np.dtype([("factor", dtype), ("exponent", np.int64), ("high", np.float64), ("low", np.float64),
                     ("falls_first", np.bool_), ("has_zero", np.bool_), ("has_infinite", np.bool_)], align=True)


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
    running = None if is_telling() or not len(elements) else products.unless_noted(
        lambda: np.multiply.accumulate(elements, 0, dtype))
    if running is not None:
        found["factor"] = running[-1]
        sizes = abs(running)
        low, high = sizes.min(0), sizes.max(0)
        if low.all() and np.isfinite(high).all():
            last = np.log2(sizes[-1].astype(_logs_of(dtype)))
            found["low"], found["high"] = (np.log2(x.astype(_logs_of(dtype))) for x in (low, high))
            found["falls_first"] = 2 * last > found["low"] + found["high"]  # about
            return found
    pairs = products.of_elements(elements, (0,), dtype)
    found["factor"], found["exponent"] = pairs["factor"], pairs["exponent"]
    with np.errstate(all="ignore"):
        is_zero, is_infinite = elements == 0, ~np.isfinite(elements)
        found["has_zero"], found["has_infinite"] = is_zero.any(0), is_infinite.any(0)
        is_over = np.logical_or.accumulate(is_zero | is_infinite, 0)
        sizes = np.where(is_over, 0, np.log2(abs(elements.astype(_logs_of(dtype)))).astype(np.float64))
        running = np.add.accumulate(sizes, 0)
        rising, falling = np.where(is_over, -np.inf, running), np.where(is_over, np.inf, running)
        found["high"], found["low"] = rising.max(0, initial=-np.inf), falling.min(0, initial=np.inf)
        if len(elements):
            found["falls_first"] = falling.argmin(0) < rising.argmax(0)
    return found


def _logs_of(dtype: np.dtype[Any]) -> np.dtype[Any]:
    """What logarithms are taken of."""
    return np.promote_types(dtype, np.float64)


def joined(before: NDArray[Any], after: NDArray[Any]) -> NDArray[Any]:
    """What both come to, one after the other."""
    found = np.empty(np.broadcast_shapes(before.shape, after.shape), before.dtype)
    pairs = products.times(before, after)
    found["factor"], found["exponent"] = pairs["factor"], pairs["exponent"]
    found["has_zero"] = before["has_zero"] | after["has_zero"]
    found["has_infinite"] = before["has_infinite"] | after["has_infinite"]
    is_over, size = before["has_zero"] | before["has_infinite"], _sizes(before)
    with np.errstate(all="ignore"):
        high, low = np.where(is_over, -np.inf, size + after["high"]), np.where(is_over, np.inf, size + after["low"])
    rises, falls = high > before["high"], low < before["low"]
    found["high"], found["low"] = np.where(rises, high, before["high"]), np.where(falls, low, before["low"])
    found["falls_first"] = np.where(rises == falls, np.where(rises, after["falls_first"], before["falls_first"]), rises)
    return found


def accumulated(totals: NDArray[Any]) -> NDArray[Any]:
    """What they come to up to each, along the first dimension."""
    found = np.empty_like(totals)
    pairs = products.accumulated(totals)
    found["factor"], found["exponent"] = pairs["factor"], pairs["exponent"]
    for name in "has_zero", "has_infinite":
        found[name] = np.logical_or.accumulate(totals[name], 0)
    before = np.zeros(totals.shape)
    is_over = np.zeros(totals.shape, bool)
    is_over[1:] = (found["has_zero"] | found["has_infinite"])[:-1]
    with np.errstate(all="ignore"):
        before[1:] = np.add.accumulate(np.where(is_over, 0, _sizes(totals)), 0)[:-1]
        rising = np.where(is_over, -np.inf, before + totals["high"])
        falling = np.where(is_over, np.inf, before + totals["low"])
    found["high"], found["low"] = np.maximum.accumulate(rising, 0), np.minimum.accumulate(falling, 0)
    last_rise, last_fall = (_last(is_new) for is_new in (rising == found["high"], falling == found["low"]))
    found["falls_first"] = np.where(last_rise == last_fall, np.take_along_axis(totals["falls_first"], last_rise, 0),
                                    last_fall < last_rise)
    return found


def _last(flags: NDArray[Any]) -> NDArray[Any]:
    """The last place up to each, along the first dimension, that has a flag."""
    places = np.arange(len(flags)).reshape(-1, *(1,) * (flags.ndim - 1))
    return np.maximum.accumulate(np.where(flags, places, 0), 0)


def values_of(totals: NDArray[Any]) -> NDArray[Any]:
    """The running products after them, in their dtype; what becomes too large or too small on the way does not return.
    """
    found = np.asarray(products.values_of(totals))
    limits = np.finfo(found.dtype)
    with np.errstate(all="ignore"):
        is_large = totals["high"] >= limits.maxexp
        is_small = totals["low"] < limits.minexp - limits.nmant - 1
    if not (is_large.any() or is_small.any()):
        return found
    with errors("reduce"):
        sign = np.copysign(np.ones((), found.dtype), totals["factor"])
        nothing = np.isnan(totals["factor"])
        large = np.where(totals["has_zero"] | nothing, np.nan, sign * np.inf)
        small = np.where(totals["has_infinite"] | nothing, np.nan, sign * 0)
    is_small &= ~is_large | totals["falls_first"]
    return np.where(is_small, small, np.where(is_large, large, found)).astype(found.dtype)


def _sizes(totals: NDArray[Any]) -> NDArray[Any]:
    """How large the products are, in log2."""
    with np.errstate(all="ignore"):
        factor, exponent = np.frexp(totals["factor"])
        sizes: NDArray[Any] = np.log2(abs(factor.astype(np.float64))) + exponent + totals["exponent"]
    return sizes
