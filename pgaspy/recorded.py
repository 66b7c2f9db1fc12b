"""Operations that are recorded, in their order.

They are kept side by side, not as an object each: while there are many, Python's garbage collector would come by and
visit them all, again and again.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from pgaspy.base import Base
from pgaspy.operations import Operation, Recipe

__all__ = ["Recorded"]


class Recorded:
    """Operations in the order of their recording.

    Attributes
    ----------
    recipes, values, numbers
        Of each operation.
    bases
        Those of all operations, one after the other.
    """

    __slots__ = ("bases", "numbers", "recipes", "values")

    def __init__(self) -> None:
        self.recipes: list[Recipe] = []
        self.bases: list[Base] = []
        self.values: list[tuple[Any, ...]] = []
        self.numbers: list[int] = []

    def __len__(self) -> int:
        return len(self.recipes)

    def __iter__(self) -> Iterator[Operation]:
        bases = iter(self.bases)
        for recipe, values, number in zip(self.recipes, self.values, self.numbers, strict=True):
            yield Operation(recipe, tuple(next(bases) for _ in recipe.views), values, number)

    @property
    def is_whole(self) -> bool:
        """Whether no operation is recorded in part, as Ctrl-C came in between."""
        return len(self.recipes) == len(self.numbers)

    def bases_before(self, stop: int, n: int) -> list[Base]:
        """The bases of operation n, where those of the operation behind it begin at `stop`."""
        return self.bases[stop - len(self.recipes[n].views):stop]

    def cut(self, n: int, n_bases: int) -> Recorded:
        """Keep the first n operations, which have so many bases; the others."""
        rest = Recorded()
        rest.recipes, rest.values, rest.numbers = self.recipes[n:], self.values[n:], self.numbers[n:]
        rest.bases = self.bases[n_bases:]
        del self.recipes[n:], self.values[n:], self.numbers[n:], self.bases[n_bases:]
        return rest

    def take_over(self, others: Recorded) -> None:
        """Add operations behind these, and leave none there."""
        self.recipes += others.recipes
        self.bases += others.bases
        self.values += others.values
        self.numbers += others.numbers
        others.cut(0, 0)
