"""Borrowers: who has a section of an array in the array's own storage, and a copy of it before that is written to.

They are elements that the program holds, and arrays that are the same as a section of another one.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from pgaspy.planning.view import View
from pgaspy.scheduling.base import Storage, borrowers
from pgaspy.scheduling.operations import Recipe

__all__ = ["detach", "keep", "settled"]


def settled(recipe: Recipe, storages: Sequence[Storage]) -> tuple[Storage, ...]:
    """The storages of an operation that is about to be recorded, when nobody else has what it writes in them."""
    for view, storage in zip(recipe.views[:recipe.n_outputs], storages, strict=False):
        (detach if recipe.is_collective else keep)(storage, view)
    return tuple([storage.lender for storage in storages])


def detach(storage: Storage, written: View) -> None:
    """Have what is borrowed, and a view covers, in memory of its own. Not collective.

    The view is about to be written to on all processes.
    """
    if storage.is_borrowed:
        own = storage.borrower()
        own.detach()
        borrowers.difference_update([reference for reference in [*borrowers] if reference() is own])
        return
    for reference, borrower in _borrowers_of(storage, written):
        borrower.detach()
        borrowers.discard(reference)  # last: what is interrupted before is done again


def keep(storage: Storage, written: View) -> None:
    """Have what is borrowed, and a view covers, as it is, when this process is about to write to that by itself."""
    if storage.lender is not storage:
        storage.borrower().keep(None)
        return
    kept = None
    for _, borrower in _borrowers_of(storage, written):
        if borrower.borrowed().base.storage.lender is storage:
            kept = borrower.keep(kept)


def _borrowers_of(storage: Storage, written: View) -> Iterator[tuple[Any, Any]]:
    """Who has sections of an array that a view covers, as they are in it or were, each with the reference to it."""
    for reference in [*borrowers]:
        if reference.storage is storage and reference.view.shares(written):
            borrower = reference()
            if borrower is not None and borrower.borrowed().base.storage.stands_for(storage):
                yield reference, borrower
