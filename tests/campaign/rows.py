"""What a row of the table of statements is."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from tests.campaign.writing import Writer

__all__ = ["Row"]


@dataclass(frozen=True)
class Row:
    """A kind of statement.

    Attributes
    ----------
    write
        Writes a statement with one of the names.
    names
        Public names, as in `names.public`; some that stand for no name of the library are in brackets.
    weight
        How often it is chosen.
    """

    write: Callable[[Writer, str], None]
    names: tuple[str, ...]
    weight: float = 1.0
