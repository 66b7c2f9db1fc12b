"""Elements of arrays that the program holds: they are taken out before they are written to."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from pgaspy.planning.view import View
from pgaspy.scheduling.base import Storage, elements, former

__all__ = ["detach_elements", "keep_elements"]


def detach_elements(storage: Storage, written: View) -> None:
    """Have the elements of an array that somebody holds, and a view covers, in memory of their own. Not collective.

    The view is about to be written to on all processes.
    """
    for reference, scalar in _held(storage):
        if scalar._view.shares(written):
            scalar.detach()
            elements.discard(reference)  # last: what is interrupted before is done again


def keep_elements(storage: Storage, written: View) -> None:
    """Have these elements as they are, when this process is about to write to the view by itself. Not collective."""
    kept = None
    for _, scalar in _held(storage):
        if scalar._base.storage is storage and scalar._view.shares(written):
            kept = kept or former(scalar._base)
            scalar.keep(kept)


def _held(storage: Storage) -> Iterator[tuple[Any, Any]]:
    """The elements of an array that somebody holds, as they are in it or were, each with the reference to it."""
    for reference in [*elements]:
        scalar = reference() if reference.storage is storage else None
        if scalar is not None and scalar._base.storage.stands_for(storage):
            yield reference, scalar
