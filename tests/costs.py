"""What planning costs, counted: a plan is made of one process's part, whatever the size of the job."""

from __future__ import annotations

import sys
import tracemalloc
from collections.abc import Callable
from types import FrameType
from typing import Any, TypeVar

from pgaspy.caches import kept

__all__ = ["cheaply", "n_calls_of"]

MAX_CALLS, MAX_BYTES = 3000, 1 << 18
"""More than a plan of a few messages takes, and less than a number for each of a million processes."""

T = TypeVar("T")


def cheaply(plan: Callable[[], T]) -> T:
    """What a function returns; it has to do so with few calls, and little memory. No cache is about to grow."""
    for _ in range(2):
        kept.turn()
    tracemalloc.start()
    try:
        result, n_calls = n_calls_of(plan)
    finally:
        n_bytes = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
    assert n_calls <= MAX_CALLS
    assert n_bytes <= MAX_BYTES
    return result


def n_calls_of(plan: Callable[[], T]) -> tuple[T, int]:
    """What a function returns, and how many calls it makes."""
    n_calls, before = 0, sys.getprofile()

    def count(frame: FrameType, event: str, _: Any) -> None:
        nonlocal n_calls
        n_calls += event in ("call", "c_call")

    sys.setprofile(count)
    try:
        result = plan()
    finally:
        sys.setprofile(before)
    return result, n_calls
