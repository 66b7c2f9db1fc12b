"""Digests of what a process records: the same on every process, where the operations are.

An operation's is made of its recipe, once for each recipe, and of the numbers of its arrays. A program's is made of
those of its operations so far. Neither lines nor values are part of it, as branches of a program may record the same;
numbers have a digest of their own.
"""

from __future__ import annotations

import types
import zlib
from collections.abc import Callable
from operator import attrgetter
from typing import Any, NamedTuple

import numpy as np

from pgaspy.caches import cached
from pgaspy.dims import BlockDim
from pgaspy.host.call_sites import CallSite
from pgaspy.job.failures import site_at
from pgaspy.layout import Layout
from pgaspy.planning.view import View
from pgaspy.scheduling.base import Storage
from pgaspy.scheduling.nodes import Scalar
from pgaspy.scheduling.operations import Computed, Recipe, name_of
from pgaspy.scheduling.recorded import Recorded
from pgaspy.supervision.rolling import ProgramDigest, begin, digest_of_view

__all__ = ["Digests", "Said"]

MAX_OPERATIONS = 4096
"""So many of the latest are known, to say where processes have parted."""

_OF_ARRAYS = {"copied", "overlaps"}
"""What follows from which arrays are the same, as their numbers tell; of elements, each process may keep others."""


@cached
def _digest_of_form(form: tuple[Any, ...]) -> int:
    return _digest_of_tuple(form)


def _digest_of_recipe(recipe: Any) -> int:
    """That of one without a form."""
    return _digest_of_tuple(_fields_of(recipe.__class__)(recipe))


@cached
def _fields_of(kind: Any) -> Callable[[Recipe], tuple[Any, ...]]:
    """What gives the name of a kind of recipe, and the fields of one that its digest is made of."""
    return attrgetter("__class__.__name__", *[name for name in kind.__dataclass_fields__ if name not in _OF_ARRAYS])


def _digest(value: Any) -> int:
    """What is the same of a value on every process: of integers alone, whose hashes no run and no process chooses."""
    return _digest_of_class(value.__class__)(value)


@cached
def _digest_of_class(kind: type) -> Callable[[Any], int]:
    """What gives the digest of an object of a class."""
    if kind is View:
        return digest_of_view
    if kind is tuple:
        return _digest_of_tuple
    if kind is int or kind is bool:
        return _POSITIVE.__and__
    if kind is type(None):
        return _digest_of_none
    for known, digest in _DIGESTS.items():
        if issubclass(kind, known):
            return digest
    return _digest_of_fields


def _digest_of_tuple(values: tuple[Any, ...]) -> int:
    return hash(tuple([_digest_of_class(value.__class__)(value) for value in values]))


def _digest_of_none(value: None) -> int:
    return _NONE


def _digest_of_named(value: Any) -> int:
    return _digest_of_name(value.__name__)


def _digest_of_text(value: Any) -> int:
    return zlib.crc32(repr(value).encode())


def _digest_of_scalar(value: Any) -> int:
    return _digest_of_text((value.dtype.str, value.item()))  # whose text no options of printing change


def _digest_of_fields(value: Any) -> int:
    fields = getattr(value, "__dataclass_fields__", ())
    return hash((_digest_of_name(value.__class__.__name__), *[_digest(getattr(value, name)) for name in fields]))


_NONE, _POSITIVE = 1 << 59, (1 << 59) - 1
"""For None, and to make integers positive: -1 and -2 have one hash."""


def _digest_of_layout(layout: Layout) -> int:
    if layout.digest is None:
        layout.digest = _new_digest_of_layout(layout)
    return layout.digest


def _new_digest_of_layout(layout: Layout) -> int:
    numbers: list[Any] = [*layout.grid, *layout.pins]
    for dim in layout.dims:
        if isinstance(dim, BlockDim):
            numbers += dim
        else:
            numbers += dim.extent, dim.n_procs, dim.axis, dim.block, dim.first_owner, dim.first_length, None
    while None in numbers:
        numbers[numbers.index(None)] = _NONE
    return hash(tuple(numbers))


@cached
def _digest_of_name(name: str) -> int:
    return zlib.crc32(name.encode())


@cached
def _digest_of_dtype(dtype: np.dtype[Any]) -> int:
    return zlib.crc32(repr(dtype).encode())


_DIGESTS: dict[Any, Callable[[Any], int]] = {
    Layout: _digest_of_layout, np.ufunc: _digest_of_named, types.FunctionType: _digest_of_named,
    np.dtype: _digest_of_dtype, np.generic: _digest_of_scalar, float: _digest_of_text, complex: _digest_of_text,
    str: _digest_of_text}


begin(Computed, Scalar, Storage, View, _digest_of_form, _digest_of_layout, _digest_of_recipe)


class Said(NamedTuple):
    """What a process says about one of its operations, and the line of that, if it is known."""

    operation: str
    site: CallSite | None

    def fields(self) -> dict[str, str]:
        """The same by the names of its parts."""
        return {"operation": self.operation, "at": str(self.site or "")}

    def __str__(self) -> str:
        return self.operation + (f" at {self.site}" if self.site else "")


class Digests(ProgramDigest):
    """Of the collective operations of this process that are executed, or about to be.

    Attributes
    ----------
    n_entries
        Their number.
    rolling
        The program's digest, after all of them.
    n_pending
        The number of those whose digests nobody has taken.
    """

    def __init__(self) -> None:
        super().__init__(MAX_OPERATIONS)

    def take(self, recorded: Recorded, stamped: tuple[int, ...]) -> dict[int, int]:
        """Take operations; the program's digests after some of them."""
        return self.take_fields(tuple(recorded.fields), recorded.N_FIELDS, stamped)

    def announce(self, words: str) -> None:
        """Take a call that records nothing."""
        self.take_call(words, zlib.crc32(words.encode()))

    def entry(self, index: int) -> Said | None:
        """The operation of an index, counted from the first; None if it is not known any more, or not yet."""
        found = self.latest(index)
        if found is None:
            return None
        what, shapes, code, instruction = found
        if shapes is None:
            return Said(what, None)
        return Said(f"{name_of(what)}, shapes {', '.join(map(str, shapes))}",
                    None if code is None else site_at(code, instruction))
