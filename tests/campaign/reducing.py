"""Makes a program that fails shorter: what can be left out while it still fails is left out."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeVar

__all__ = ["reduced"]

T = TypeVar("T")


def reduced(lines: Sequence[T], fails: Callable[[list[T]], bool]) -> list[T]:
    """The lines that are left when no one can be left out; larger parts are tried first, from the end."""
    kept = list(lines)
    size = max(len(kept) // 2, 1)
    while size:
        start = len(kept) - size
        has_shrunk = False
        while start > -size:
            candidate = kept[: max(start, 0)] + kept[max(start, 0) + size + min(start, 0):]
            if len(candidate) < len(kept) and fails(candidate):
                kept, has_shrunk = candidate, True
            start -= size
        if size > 1 or not has_shrunk:
            size //= 2
    return kept
