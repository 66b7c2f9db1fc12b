"""Sums over processes: over those of lower ranks, and over all.

By doubling, in ceil(log2(P)) rounds: Hillis and Steele, *Data parallel algorithms* (1986), towards both ends at once.
"""

from __future__ import annotations

from collections.abc import Generator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pgaspy.scheduling.conversations import Link

__all__ = ["prefix_sums"]


def prefix_sums(link: Link, rank: int, size: int,
                values: NDArray[Any]) -> Generator[None, None, tuple[NDArray[Any], NDArray[Any]]]:
    """Add up arrays of integers, of one shape on all processes. All take part, as steps of a conversation.

    Returns
    -------
    before, total
        The sum of those of lower ranks, and the sum of all.
    """
    until = after = np.ascontiguousarray(values)
    step = 1
    while step < size:
        from_below, from_above = np.zeros_like(until), np.zeros_like(after)
        if rank + step < size:
            link.send(until, rank + step)
            link.receive(from_above, rank + step)
        if rank >= step:
            link.send(after, rank - step)
            link.receive(from_below, rank - step)
        yield
        until, after = until + from_below, after + from_above
        step *= 2
    before = until - values
    return before, before + after
