"""How many bins a histogram should have: NumPy's rules, by names."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from pgaspy.array import GlobalArray
from pgaspy.host.call_sites import warn
from pgaspy.quantiles import percentile

__all__ = ["RULES", "number_of_bins"]

Count = Callable[[int], Any]
"""Gives the counts of a histogram of so many bins, a NumPy array."""

MIN_TRIED = 100
"""The rule that tries numbers of bins tries so many at least."""


def number_of_bins(x: GlobalArray, rule: str, length: Any, count: Count) -> int:
    """How many bins elements within an interval of a length should have. Collective; waits for what the rule asks.

    Raises
    ------
    ValueError
        If there is no such rule.
    """
    if rule not in RULES:
        raise ValueError(f"{rule!r} is not a valid estimator for `bins`")
    if not x.size:
        return 1
    width = RULES[rule](x, count)
    if x.dtype.kind in "iu" and 0 < width < 1:
        width = 1
    return math.ceil(length / width) if width else 1


def _extent(x: GlobalArray) -> Any:
    """The greatest element less the least."""
    return x.max().item() - x.min().item()


def _by_root(x: GlobalArray, count: Count) -> float:
    return float(_extent(x) / math.sqrt(x.size))


def _by_sturges(x: GlobalArray, count: Count) -> float:
    return float(_extent(x) / (math.log2(x.size) + 1))


def _by_rice(x: GlobalArray, count: Count) -> float:
    return float(_extent(x) / (2 * x.size ** (1 / 3)))


def _by_scott(x: GlobalArray, count: Count) -> float:
    return float((24 * math.sqrt(math.pi) / x.size) ** (1 / 3) * x.std().item())


def _by_quartiles(x: GlobalArray, count: Count) -> float:
    """D. Freedman and P. Diaconis, *On the Histogram as a Density Estimator: L2 Theory*, 1981."""
    upper, lower = percentile(x, [75, 25]).gather().tolist()
    return float(2 * (upper - lower) * x.size ** (-1 / 3))


def _by_skewness(x: GlobalArray, count: Count) -> float:
    """D. Doane, *Aesthetic Frequency Classifications*, The American Statistician, 1976."""
    n, deviation = x.size, x.std().item()
    if n <= 2 or not deviation > 0:
        return 0.0
    skewness = (((x - x.mean()) / deviation) ** 3).mean().item()
    usual = math.sqrt(6 * (n - 2) / ((n + 1) * (n + 3)))
    return float(_extent(x) / (1 + math.log2(n) + math.log2(1 + abs(skewness) / usual)))


def _by_trials(x: GlobalArray, count: Count) -> float:
    """C. Stone, *An Asymptotically Optimal Histogram Selection Rule*, 1984: the least error, left one out, of some."""
    n, extent = x.size, _extent(x)
    if n <= 1 or not extent:
        return 0.0

    def error(n_bins: int) -> float:
        shares = count(n_bins) / n
        return float((2 - (n + 1) * (shares @ shares)) / (extent / n_bins))

    n_most = max(MIN_TRIED, math.isqrt(n))
    best = min(range(1, n_most + 1), key=error)
    if best == n_most:
        warn("The number of bins estimated may be suboptimal.", RuntimeWarning)
    return float(extent / best)


def _by_default(x: GlobalArray, count: Count) -> float:
    return min(max(_by_quartiles(x, count), _by_root(x, count) / 2), _by_sturges(x, count))


RULES: dict[str, Callable[[GlobalArray, Count], float]] = {
    "auto": _by_default, "doane": _by_skewness, "fd": _by_quartiles, "rice": _by_rice, "scott": _by_scott,
    "sqrt": _by_root, "stone": _by_trials, "sturges": _by_sturges}
"""What gives the width of a bin."""
