"""Functions of NumPy's, which releases Python's lock, called by all threads, each for its share of a local array."""

from __future__ import annotations

import contextlib
from collections import deque
from collections.abc import Callable, Sequence
from itertools import pairwise

from pgaspy.host.helper_threads import HelperThread
from pgaspy.kernels.bindings import get_threads

__all__ = ["SHARED_FROM", "even_edges", "n_threads_for", "on_threads"]

SHARED_FROM = 1 << 17
"""Elements that are worth threads."""


def n_threads_for(n: int) -> int:
    """How many threads n elements are worth."""
    return get_threads() if n >= SHARED_FROM else 1


def even_edges(n: int, n_parts: int) -> list[int]:
    """Where even parts of n elements begin, and where the last one ends."""
    return [n * part // n_parts for part in range(n_parts + 1)]


def on_threads(function: Callable[[int, int], None], edges: Sequence[int], n_threads: int) -> None:
    """Call a function with the edges of each part, by so many threads, or by those that there is memory for."""
    left = deque(pairwise(edges))
    failed: list[BaseException | None] = [None]

    def work() -> None:
        with contextlib.suppress(IndexError):  # of none that is left
            while failed[0] is None:
                _call(function, left.popleft(), failed)

    helpers: list[HelperThread] = []
    with contextlib.suppress(MemoryError, RuntimeError):
        for _ in range(n_threads - 1):
            helpers.append(HelperThread(work))
    work()
    for helper in helpers:
        helper.join()
    if failed[0] is not None:
        raise failed[0]


def _call(function: Callable[[int, int], None], part: tuple[int, int], failed: list[BaseException | None]) -> None:
    """Call it, and leave what it raises to the thread that waits."""
    try:
        function(*part)
    except BaseException as error:
        failed[0] = error
