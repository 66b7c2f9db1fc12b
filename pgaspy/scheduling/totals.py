"""Totals: what the parts of a scan come to, and how those of several are joined, in their order."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from pgaspy.scheduling import local_scans, running_products

__all__ = ["Totals", "totals_by"]

OfOne = Callable[[NDArray[Any]], NDArray[Any]]


class Totals(NamedTuple):
    """How a scan makes totals.

    Attributes
    ----------
    dtype
        Of a total.
    merge
        What joins flat arrays of the totals of lower and of higher ranks.
    of_elements
        What elements come to along the first dimension.
    joined
        The totals of both, of what comes before and after.
    accumulated
        The totals up to each, along the first dimension.
    values
        What the results of the scan are joined to.
    """

    dtype: np.dtype[Any]
    merge: Any
    of_elements: OfOne
    joined: Callable[[NDArray[Any], NDArray[Any]], NDArray[Any]]
    accumulated: OfOne
    values: OfOne


def totals_by(ufunc: np.ufunc, dtype: np.dtype[Any]) -> Totals:
    """How a scan by a ufunc makes them, whose results have a dtype."""
    if not local_scans.are_products(ufunc, dtype):  # totals are results, too
        return Totals(dtype, ufunc, lambda elements: local_scans.reduced(ufunc, elements, (0,), dtype),
                      partial(local_scans.joined, ufunc), partial(_scanned, ufunc), lambda totals: totals)
    return Totals(running_products.dtype_of(dtype), running_products.joined,
                  lambda elements: running_products.of_elements(elements, dtype),
                  running_products.joined, running_products.accumulated, running_products.values_of)


def _scanned(ufunc: np.ufunc, totals: NDArray[Any]) -> NDArray[Any]:
    found = np.empty_like(totals)
    local_scans.scanned(ufunc, totals, found)
    return found
