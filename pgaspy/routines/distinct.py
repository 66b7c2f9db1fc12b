"""The Array API standard's functions of distinct elements, of which NaN are many."""

from __future__ import annotations

from typing import Any, NamedTuple

from pgaspy.array import GlobalArray
from pgaspy.creation import as_global
from pgaspy.dispatch import implements, named
from pgaspy.sets import unique

__all__ = ["unique_all", "unique_counts", "unique_inverse", "unique_values"]


class UniqueAllResult(NamedTuple):
    """Distinct elements, where the first of each is, which of them each element is, and how many are equal."""

    values: GlobalArray
    indices: GlobalArray
    inverse_indices: GlobalArray
    counts: GlobalArray


class UniqueCountsResult(NamedTuple):
    """Distinct elements, and how many are equal to each."""

    values: GlobalArray
    counts: GlobalArray


class UniqueInverseResult(NamedTuple):
    """Distinct elements, and which of them each element is."""

    values: GlobalArray
    inverse_indices: GlobalArray


@implements(*named("unique_all"))
def unique_all(x: Any) -> UniqueAllResult:
    """The distinct elements, with indices, inverse and counts. Collective; else as for `unique`.

    Each NaN is an element of its own.

    Examples
    --------
    >>> import pgaspy as pg
    >>> pg.unique_all(pg.array([3, 1, 3])).indices.gather()
    array([1, 0])
    """
    return UniqueAllResult(*unique(as_global(x), True, True, True, equal_nan=False))


@implements(*named("unique_counts"))
def unique_counts(x: Any) -> UniqueCountsResult:
    """The distinct elements, and how many are equal to each. Collective; all else is as for `unique_all`.

    Examples
    --------
    >>> import pgaspy as pg
    >>> pg.unique_counts(pg.array([3, 1, 3])).counts.gather()
    array([1, 2])
    """
    return UniqueCountsResult(*unique(as_global(x), return_counts=True, equal_nan=False))


@implements(*named("unique_inverse"))
def unique_inverse(x: Any) -> UniqueInverseResult:
    """The distinct elements, and which of them each element is. Collective; all else is as for `unique_all`.

    Examples
    --------
    >>> import pgaspy as pg
    >>> pg.unique_inverse(pg.array([3, 1, 3])).inverse_indices.gather()
    array([1, 0, 1])
    """
    return UniqueInverseResult(*unique(as_global(x), return_inverse=True, equal_nan=False))


@implements(*named("unique_values"))
def unique_values(x: Any) -> GlobalArray:
    """The distinct elements, in order. Collective; all else is as for `unique_all`.

    Examples
    --------
    >>> import pgaspy as pg
    >>> pg.unique_values(pg.array([3, 1, 3])).gather()
    array([1, 3])
    """
    found: GlobalArray = unique(as_global(x), equal_nan=False)
    return found
