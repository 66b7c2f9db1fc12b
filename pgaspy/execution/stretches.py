"""Stretches: what comes again among operations that do not, as the rest of a step whose first statements are new.

A step of a loop may have statements of which each iteration has another: on what a mask has selected, or on the row of
the step. So no step is found again as a whole. It is executed in pieces, so that the stretches between those statements
are, which were executed before, if in other company: each gets a schedule of its own, and is cut so from then on.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import groupby, pairwise

from pgaspy.execution.tiers import MAX_CALLS
from pgaspy.scheduling.operations import Recipe

__all__ = ["MIN_OPERATIONS", "Stretches"]

MIN_OPERATIONS = 16
"""Of a stretch. What is shorter costs less to execute one after the other than to plan."""

MAX_STRETCHES = 1024
"""So many are known."""


class Stretches:
    """Those of one process, which chooses them by itself: its messages are those of the operations."""

    def __init__(self) -> None:
        self._met: set[int] = set()  # the recipes that were executed, by their ids: that one is taken for another once
        self._known: dict[Recipe, tuple[Recipe, ...]] = {}  # by their first operations

    def forget(self) -> None:
        """Forget them."""
        self._met.clear()
        self._known.clear()

    def lengths(self, recipes: Sequence[Recipe]) -> list[int]:
        """In pieces of which lengths to execute operations that have no schedule together: all of them if there is no
        stretch.
        """
        if len(recipes) <= MIN_OPERATIONS:
            return [len(recipes)]
        edges = {0, len(recipes), *self._edges_of_known(recipes)}
        if len(edges) == 2:
            edges |= {*self._edges_of_new(recipes)}
        if len(self._met) > MAX_CALLS:
            self._met.clear()
        self._met.update(map(id, recipes))
        return [stop - start for start, stop in pairwise(sorted(edges))]

    def _edges_of_known(self, recipes: Sequence[Recipe]) -> Iterator[int]:
        """Where stretches begin and end that were cut off before."""
        k = 0
        while k < len(recipes):
            known = self._known.get(recipes[k])
            if known is not None and known == tuple(recipes[k:k + len(known)]):
                yield from (k, k + len(known))
                k += len(known)
            else:
                k += 1

    def _edges_of_new(self, recipes: Sequence[Recipe]) -> Iterator[int]:
        """The same of those that are met between operations that never were; they are known from then on."""
        k, have_met = 0, [id(recipe) in self._met for recipe in recipes]
        if all(have_met):
            return
        for is_stretch, group in groupby(have_met):
            n = len(list(group))
            if is_stretch and n >= MIN_OPERATIONS:
                if len(self._known) >= MAX_STRETCHES:
                    self._known.clear()
                self._known[recipes[k]] = tuple(recipes[k:k + n])
                yield from (k, k + n)
            k += n
