"""Digests of what a process records: the same on every process, where the operations are.

An operation's is made of its recipe, once for each recipe, and of the numbers of its arrays. A program's is made of
those of its operations so far. Neither lines nor values are part of it, as branches of a program may record the same.
"""

from __future__ import annotations

import types
import zlib
from array import array
from collections import deque
from collections.abc import Iterable, Sequence
from dataclasses import fields
from hashlib import blake2b
from itertools import chain, compress, count, repeat
from operator import attrgetter, eq
from typing import Any, NamedTuple

import numpy as np

from pgaspy.caches import cached
from pgaspy.job.failures import line_at
from pgaspy.layout import Layout
from pgaspy.planning.view import View
from pgaspy.scheduling.base import Storage
from pgaspy.scheduling.operations import Recipe
from pgaspy.scheduling.recorded import Recorded

__all__ = ["Digests", "Said", "digests_of"]

MAX_OPERATIONS = 4096
"""So many of the latest are known, to say where processes have parted."""

_number_of = attrgetter("number")
_is_collective = attrgetter("is_collective")

_OF_ARRAYS = {"copied", "overlaps"}
"""What follows from which arrays are the same, as their numbers tell; of elements, each process may keep others."""


def digests_of(recipes: Sequence[Recipe], storages: Iterable[Sequence[Any]]) -> array[int]:
    """The digests of operations, with the storages of each, which have numbers."""
    numbers = map(tuple, map(map, repeat(_number_of), storages))
    return array("q", map(hash, zip(map(_digest_of_recipe, recipes), numbers, strict=True)))


@cached
def _digest_of_recipe(recipe: Recipe) -> int:
    words = [type(recipe).__name__, *(_text(getattr(recipe, field.name)) for field in fields(recipe)
                                      if field.name not in _OF_ARRAYS)]
    return int.from_bytes(blake2b("\n".join(words).encode(), digest_size=7).digest(), "little")


@cached
def _digest_of_layout(layout: Layout) -> str:
    return f"{zlib.crc32(repr(layout).encode()):x}"


def _text(value: Any) -> str:
    """What is the same of a value on every process."""
    if isinstance(value, View):
        return f"{value.shape}{value.origin}{value.steps}{value.base_dims}{_digest_of_layout(value.layout)}"
    if isinstance(value, Layout):
        return _digest_of_layout(value)
    if isinstance(value, tuple):
        return f"({','.join(map(_text, value))})"
    if isinstance(value, np.ufunc | types.FunctionType):
        return value.__name__
    if isinstance(value, int | float | complex | str | np.generic | np.dtype) or value is None:
        return repr(value)
    if hasattr(value, "__dataclass_fields__"):
        return f"{type(value).__name__}({','.join(_text(getattr(value, field.name)) for field in fields(value))})"
    return type(value).__name__


class Said(NamedTuple):
    """What a process says about one of its operations."""

    operation: str
    at: str

    def fields(self) -> dict[str, str]:
        """The same by the names of its parts."""
        return {"operation": self.operation, "at": self.at}

    def __str__(self) -> str:
        return self.operation + (f" at {self.at}" if self.at else "")


class Digests:
    """Of the collective operations of this process that are executed, or about to be.

    Attributes
    ----------
    n_entries
        Their number.
    rolling
        The program's digest, after all of them.
    pending
        Their digests, as far as nobody has taken them.
    """

    def __init__(self) -> None:
        self.n_entries = self.rolling = 0
        self.pending = array("q")
        self._numbers = count()
        self._latest: deque[tuple[Any, Any, int]] = deque(maxlen=MAX_OPERATIONS)

    def take(self, recorded: Recorded, stamped: Sequence[int]) -> dict[int, int]:
        """Take operations; the program's digests after some of them."""
        fields, n = recorded.fields, recorded.N_FIELDS
        recipes, storages, codes, instructions = fields[::n], fields[1::n], fields[4::n], fields[5::n]
        positions = stamped
        if not all(map(_is_collective, recipes)):
            chosen = [*map(_is_collective, recipes)]
            positions = [sum(chosen[:k]) for k in stamped]
            recipes, storages, codes, instructions = (
                [*compress(column, chosen)] for column in (recipes, storages, codes, instructions))
        self._give_numbers(storages)
        found = digests_of(recipes, storages)
        stamps = {}
        if stamped:
            content = memoryview(found).cast("B")
            stamps = {k: zlib.crc32(content[:(position + 1) * found.itemsize], self.rolling)
                      for k, position in zip(stamped, positions, strict=True)}
        self.rolling = zlib.crc32(found, self.rolling)
        self.n_entries += len(found)
        self.pending += found
        self._latest += zip(recipes, codes, instructions)  # noqa: B905  (which the interpreter does faster)
        return stamps

    def _give_numbers(self, storages: Iterable[Sequence[Storage]]) -> None:
        """Number the arrays that have none, in the order in which operations use them.

        So a number is the same on every process, where the operations are, whatever else a process made or tried.
        """
        distinct = dict.fromkeys(chain.from_iterable(storages))
        new = compress(distinct, map(eq, map(_number_of, distinct), repeat(Storage.number)))
        deque(map(setattr, new, repeat("number"), self._numbers), maxlen=0)

    def announce(self, words: str) -> None:
        """Take a call that records nothing."""
        self.n_entries += 1
        self.pending.append(zlib.crc32(words.encode()))
        self._latest.append((words, None, 0))

    def entry(self, index: int) -> Said | None:
        """The operation of an index, counted from the first; None if it is not known any more, or not yet."""
        position = index - (self.n_entries - len(self._latest))
        if not 0 <= position < len(self._latest):
            return None
        what, code, instruction = self._latest[position]
        if isinstance(what, str):
            return Said(what, "")
        shapes = ", ".join(str(view.shape) for view in what.views)
        return Said(f"{what.name}, shapes {shapes}", line_at(code, instruction))
