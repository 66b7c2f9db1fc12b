"""Totals: what the parts of a scan come to, and how those of several are joined, in their order."""

from __future__ import annotations

from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from pgaspy.scheduling import local_scans, products, running_products

__all__ = ["Totals", "totals_by"]


class Totals(Protocol):
    """How a scan makes totals.

    Attributes
    ----------
    dtype
        Of a total.
    merge
        What joins flat arrays of the totals of lower and of higher ranks.
    """

    dtype: np.dtype[Any]
    merge: Any

    def of_elements(self, elements: NDArray[Any]) -> NDArray[Any]:
        """What elements come to along the first dimension."""

    def joined(self, before: NDArray[Any], after: NDArray[Any]) -> NDArray[Any]:
        """The totals of both."""

    def accumulated(self, totals: NDArray[Any]) -> NDArray[Any]:
        """The totals up to each, along the first dimension."""

    def values(self, totals: NDArray[Any]) -> NDArray[Any]:
        """What the results of the scan are joined to."""


class _ByUfunc:
    """Totals that are results, too."""

    def __init__(self, ufunc: np.ufunc, dtype: np.dtype[Any]) -> None:
        self.merge, self.dtype = ufunc, dtype

    def of_elements(self, elements: NDArray[Any]) -> NDArray[Any]:
        return local_scans.reduced(self.merge, elements, (0,), self.dtype)

    def joined(self, before: NDArray[Any], after: NDArray[Any]) -> NDArray[Any]:
        return local_scans.joined(self.merge, before, after)

    def accumulated(self, totals: NDArray[Any]) -> NDArray[Any]:
        found = np.empty_like(totals)
        local_scans.scanned(self.merge, totals, found)
        return found

    def values(self, totals: NDArray[Any]) -> NDArray[Any]:
        return totals


class _OfProducts:
    """Products as pairs, lest they overflow where the results do not."""

    def __init__(self, dtype: np.dtype[Any]) -> None:
        self._factors, self.dtype, self.merge = dtype, products.dtype_of(dtype), products.times

    def of_elements(self, elements: NDArray[Any]) -> NDArray[Any]:
        return products.of_elements(elements, (0,), self._factors)

    def joined(self, before: NDArray[Any], after: NDArray[Any]) -> NDArray[Any]:
        return products.times(before, after)

    def accumulated(self, totals: NDArray[Any]) -> NDArray[Any]:
        return products.accumulated(totals)

    def values(self, totals: NDArray[Any]) -> NDArray[Any]:
        return products.values_of(totals)


class _OfRealProducts:
    """The same of real numbers, as running products come to them."""

    def __init__(self, dtype: np.dtype[Any]) -> None:
        self._factors, self.dtype, self.merge = dtype, running_products.dtype_of(dtype), running_products.joined

    def of_elements(self, elements: NDArray[Any]) -> NDArray[Any]:
        return running_products.of_elements(elements, self._factors)

    def joined(self, before: NDArray[Any], after: NDArray[Any]) -> NDArray[Any]:
        return running_products.joined(before, after)

    def accumulated(self, totals: NDArray[Any]) -> NDArray[Any]:
        return running_products.accumulated(totals)

    def values(self, totals: NDArray[Any]) -> NDArray[Any]:
        return running_products.values_of(totals)


def totals_by(ufunc: np.ufunc, dtype: np.dtype[Any]) -> Totals:
    """How a scan by a ufunc makes them, whose results have a dtype."""
    if not local_scans.are_products(ufunc, dtype):
        return _ByUfunc(ufunc, dtype)
    return _OfProducts(dtype) if dtype.kind == "c" else _OfRealProducts(dtype)
