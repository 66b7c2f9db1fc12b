"""What this process waits for no more: messages that may still arrive, so that their memory must not be others'."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

__all__ = ["keep"]

_kept: list[Any] = []


def keep(messages: Iterable[Any]) -> None:
    """Keep requests, or what has their memory, as long as the process."""
    _kept.extend(messages)
