"""Functions of NumPy's, which releases Python's lock, called by all threads, each for its share of a local array."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import pairwise

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
    """Call a function with the edges of each part, by so many threads."""
    if n_threads == 1:
        for start, stop in pairwise(edges):
            function(start, stop)
        return
    from concurrent.futures import ThreadPoolExecutor  # which takes a while, and is seldom needed

    with ThreadPoolExecutor(n_threads) as pool:
        for _ in pool.map(function, edges[:-1], edges[1:]):
            pass
