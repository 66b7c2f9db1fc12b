"""Operations that are recorded, in their order.

They are kept in one list, not as an object each: while there are many, Python's garbage collector would come by and
visit them all, again and again. And an operation is added by one step of the interpreter, so that an interrupt, which
may come after any, finds it recorded or not.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain
from types import CodeType
from typing import Any, ClassVar, NamedTuple

from pgaspy.job.failures import line_at
from pgaspy.scheduling.base import Storage
from pgaspy.scheduling.operations import Recipe

__all__ = ["Recorded", "RecordedOperation"]


class RecordedOperation(NamedTuple):
    """A recorded operation.

    Attributes
    ----------
    storages
        As many as the recipe has views, in the same order: what it writes first.
    values
        What else it takes: the scalars of a statement, the function of a generation or a task.
    number
        Of a collective operation: the same on every process, and far enough from the next one's for all its messages.
    code, instruction
        Where the program called it; None where that is not known.
    """

    recipe: Recipe
    storages: tuple[Storage, ...]
    values: tuple[Any, ...]
    number: int
    code: CodeType | None
    instruction: int

    @property
    def line(self) -> str:
        """Where the program called it, in words; nothing where that is not known."""
        return line_at(self.code, self.instruction)


class Recorded:
    """Operations in the order of their recording.

    Attributes
    ----------
    fields
        Those of all operations, one after the other, in the order of `RecordedOperation`.
    n_before
        How many operations were recorded before these.
    """

    N_FIELDS: ClassVar[int] = len(RecordedOperation._fields)

    __slots__ = ("_n_seen", "_used", "fields", "n_before")

    def __init__(self, fields: list[Any] | None = None, n_before: int = 0) -> None:
        self.fields: list[Any] = [] if fields is None else fields
        self.n_before = n_before
        self._used: set[Storage | None] = set()  # by the first fields, so many
        self._n_seen = 0

    @property
    def recipes(self) -> list[Recipe]:
        """Those of all operations."""
        return self.fields[::self.N_FIELDS]

    @property
    def places(self) -> Iterator[tuple[CodeType | None, int]]:
        """Where the program called each; a finaliser may record more meanwhile."""
        return zip(self.fields[4::self.N_FIELDS], self.fields[5::self.N_FIELDS], strict=False)

    @property
    def storages(self) -> list[Storage]:
        """Those of all operations, one after the other."""
        return [*chain.from_iterable(self.fields[1::self.N_FIELDS])]

    def may_use(self, storage: Storage | None) -> bool:
        """Whether an operation uses a storage, or the elements in it; or may use any, as a task of the program's."""
        n, used = len(self.fields), self._used
        for k in range(self._n_seen, n, self.N_FIELDS):
            if self.fields[k].is_task:
                used.add(None)
            for found in self.fields[k + 1]:
                used.update((found, found.lender))
        self._n_seen = n
        return storage in used or None in used

    def __len__(self) -> int:
        return len(self.fields) // self.N_FIELDS

    def __getitem__(self, n: int) -> RecordedOperation:
        return RecordedOperation(*self.fields[n * self.N_FIELDS:(n + 1) * self.N_FIELDS])

    def columns(self) -> tuple[Any, ...]:
        """Of all operations: recipes, storages, values, and of each its number, code and instruction."""
        fields, n = self.fields, self.N_FIELDS
        return (tuple(fields[::n]), [*chain.from_iterable(fields[1::n])], [*chain.from_iterable(fields[2::n])],
                fields[3::n], fields[4::n], fields[5::n])

    def first(self, n: int) -> Recorded:
        """The first n operations, by themselves: another thread may record more here meanwhile."""
        return Recorded(self.fields[:n * self.N_FIELDS], self.n_before)

    def without(self, n: int) -> Recorded:
        """All but the first n operations."""
        return Recorded(self.fields[n * self.N_FIELDS:], self.n_before + n)
