"""The journal: the latest collective operations of this process, and all of them that processes have in common.

It is kept for programs that are checked or watched (`checking`, `watchdog`). Arrays have numbers in it, in the order in
which operations first use them, which is the same on every process where the operations are.
"""

from __future__ import annotations

import functools
import os
import sys
import types
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass
from hashlib import blake2b
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from pgaspy.host.call_sites import CallSite, caller, shown
from pgaspy.planning.view import View, whole
from pgaspy.scheduling.base import Base
from pgaspy.scheduling.nodes import Scalar
from pgaspy.scheduling.operations import Recipe
from pgaspy.supervision.contents import checksum, made_with
from pgaspy.supervision.rolling import digest_of

__all__ = ["MAX_ENTRIES", "Entry", "Journal"]

MAX_ENTRIES = 4096
"""Operations that are kept: as far may one process be behind another, if it is to be said where they parted."""

MAX_SIGNATURES = 8192
DIGEST_BYTES = 7  # of a signed integer of 8


class Mark(NamedTuple):
    """What an array is known by: its number, and where it was used first."""

    number: int
    site: CallSite


@dataclass(frozen=True, slots=True)
class _Signature:
    """What all calls of one recipe at one line have in common: what people read of it, and a digest of that."""

    fields: dict[str, str]
    site: CallSite
    digest: bytes


class Entry(NamedTuple):
    """An operation.

    Attributes
    ----------
    signature
        What is fixed about it.
    marks
        Its arrays.
    values
        Its scalars, and the parameters of its function.
    contents
        Checksums of NumPy arrays that it takes.
    number
        The operation's; -1 for a call that moves nothing.
    """

    signature: _Signature
    marks: tuple[Mark, ...]
    values: tuple[str, ...]
    contents: tuple[int, ...]
    number: int

    def digest(self) -> int:
        """Of all that is the same on every process, in 64 bits."""
        varying = repr(([mark.number for mark in self.marks], self.values, self.contents))
        return int.from_bytes(blake2b(varying.encode(), digest_size=DIGEST_BYTES, key=self.signature.digest).digest())

    def fields(self) -> dict[str, str]:
        """What it is, for people, by the names of its parts."""
        site = self.signature.site
        return self.signature.fields | {
            "values": ", ".join(self.values),
            "NumPy operands": ", ".join(f"with checksum {crc:08x}" for crc in self.contents),
            "arrays": ", ".join(f"that of {shown(mark.site.file)}:{mark.site.line}, number {mark.number}"
                                for mark in self.marks),
            "at": str(site) if site.file else ""}

    @property
    def site(self) -> CallSite:
        """The line."""
        return self.signature.site

    def __str__(self) -> str:
        fields = self.fields()
        return fields["operation"] + (f" at {fields['at']}" if fields["at"] else "")


class Journal:
    """The latest operations."""

    def __init__(self) -> None:
        self.n_entries = 0
        self._entries: deque[Entry] = deque(maxlen=MAX_ENTRIES)
        self._signatures: dict[Any, _Signature] = {}
        self._contents: list[int] = []
        self._n_arrays = 0

    def take(self, x: NDArray[Any]) -> None:
        """Note the elements of a NumPy array that the next operation takes."""
        self._contents.append(checksum(x))

    def note(self, what: Recipe | str, bases: Sequence[Base], values: Sequence[Any], number: int = -1) -> Entry:
        """Note an operation, or a call that is none."""
        site = caller(sys._getframe(1), algorithms=False)
        dtypes = tuple([base.dtype for base in bases])
        key = what, site, dtypes, () if isinstance(what, Recipe) else tuple([base.layout for base in bases])
        signature = self._signatures.get(key)
        if signature is None:
            if len(self._signatures) >= MAX_SIGNATURES:
                self._signatures.clear()
            signature = self._signatures[key] = _signature(what, bases, site)
        entry = Entry(signature, tuple([self._mark(base, site) for base in bases]),
                      tuple([_text(value) for value in values]), tuple(self._contents), number)
        self._contents.clear()
        self._entries.append(entry)
        self.n_entries += 1
        return entry

    def _mark(self, base: Base, site: CallSite) -> Mark:
        mark: Mark | None = getattr(base, "mark", None)
        if mark is None:
            mark = base.mark = Mark(self._n_arrays, site)
            self._n_arrays += 1
        return mark

    def entry(self, index: int) -> Entry | None:
        """That of an index, counted from the first; None if it is not there any more, or not yet."""
        position = index - (self.n_entries - len(self._entries))
        return self._entries[position] if 0 <= position < len(self._entries) else None

    def of_number(self, number: int) -> Entry | None:
        """That of an operation's number."""
        return next((entry for entry in reversed(self._entries) if entry.number == number), None)


def _signature(what: Recipe | str, bases: Sequence[Base], site: CallSite) -> _Signature:
    called = site.called.strip("_")
    if isinstance(what, str):
        name, details, views, digest = what, "", tuple([whole(base.layout) for base in bases]), 0
    else:
        name, details, views, digest = what.name, what.details(_text), what.views, digest_of(what)
    fields = {
        "operation": name if called in (name, "method") or not site.file else f"{called} ({name})",
        "function": details,
        "shapes": ", ".join(str(view.shape) for view in views),
        "dtypes": ", ".join(str(base.dtype) for base in bases),
        "sections": ", ".join(map(_section, views)),
        "layouts": ", ".join(dict.fromkeys(repr(base.layout) for base in bases))}
    own = [name, details, str(digest), *(f"{view!r} {view.base_dims}" for view in views), fields["dtypes"],
           os.path.basename(site.file), str(site.line)]  # noqa: PTH119  (of a cell's name, too)
    return _Signature(fields, site, blake2b("\n".join(own).encode()).digest())


def _section(view: View) -> str:
    if view.is_whole:
        return "whole"
    return f"from {view.origin} by {view.steps}" + (
        f" of dimensions {view.base_dims}" if view.base_dims != (*range(view.ndim),) else "")


def _text(value: Any, depth: int = 0) -> str:
    """A value as far as processes have it in common: of a function, its name and what it was made with."""
    if isinstance(value, Scalar):
        return repr(value.array.item())
    if depth > 4:  # closures may hold themselves
        return "…"
    if isinstance(value, functools.partial):
        parameters = [*value.args, *value.keywords.values()]
        return f"{_text(value.func, depth + 1)}({', '.join(_text(x, depth + 1) for x in parameters)})"
    if isinstance(value, types.FunctionType):
        own = [_text(x, depth + 1) for x in made_with(value)]
        return f"{value.__qualname__}({', '.join(own)})"
    if isinstance(value, np.ndarray):
        return f"array with checksum {checksum(value):08x}"
    if isinstance(value, np.ufunc):
        return value.__name__
    if isinstance(value, tuple | list):
        return f"({', '.join(_text(x, depth + 1) for x in value)})"
    if value is None or isinstance(value, int | float | complex | str | bytes | np.generic | np.dtype):
        return repr(value)
    if hasattr(value, "__dataclass_fields__"):
        parameters = [getattr(value, name) for name in value.__dataclass_fields__]
        return f"{type(value).__name__}({', '.join(_text(x, depth + 1) for x in parameters)})"
    return str(getattr(value, "__name__", type(value).__name__))
