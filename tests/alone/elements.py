"""What small arrays of one process have."""

from __future__ import annotations

from typing import Any

__all__ = ["is_small"]


def is_small(x: Any) -> bool:
    """Whether an array has its elements only."""
    return x._source is not None
