"""Sums over processes: over those of lower ranks, and over all.

By doubling, in ceil(log2(P)) rounds: Hillis and Steele, *Data parallel algorithms* (1986), towards both ends at once.
"""

from __future__ import annotations

from collections.abc import Generator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pgaspy.job.failures import Mismatch
from pgaspy.scheduling.conversations import Link

__all__ = ["prefix_sums"]


def prefix_sums(link: Link, rank: int, size: int,
                values: NDArray[Any]) -> Generator[None, None, tuple[NDArray[Any], NDArray[Any]]]:
    """Add up arrays of integers, of one shape on all processes. All take part, as steps of a conversation.

    Returns
    -------
    before, total
        The sum of those of lower ranks, and the sum of all.

    Raises
    ------
    Mismatch
        If another process takes part for another operation.
    """
    until = after = np.ascontiguousarray(values)
    step = 1
    while step < size:
        lower, higher = rank - step, rank + step
        from_lower, from_higher = (np.empty(STAMP_BYTES + until.nbytes, np.uint8) for _ in range(2))
        if higher < size:
            link.send(_stamped(link, until), higher)
            link.receive(from_higher, higher)
        if lower >= 0:
            link.send(_stamped(link, after), lower)
            link.receive(from_lower, lower)
        yield
        if lower >= 0:
            until = until + _received(link, from_lower, lower, until)
        if higher < size:
            after = after + _received(link, from_higher, higher, after)
        step *= 2
    before = until - values
    return before, before + after


STAMP_BYTES = 8


def _stamped(link: Link, values: NDArray[Any]) -> NDArray[np.uint8]:
    """A message of values, which begins with the stamp of its operation."""
    return np.concatenate([np.array([link.stamp], np.int64).view(np.uint8), values.reshape(-1).view(np.uint8)])


def _received(link: Link, message: NDArray[np.uint8], peer: int, like: NDArray[Any]) -> NDArray[Any]:
    """The values in a message, of which others are known that have as many."""
    if message[:STAMP_BYTES].view(np.int64)[0] != link.stamp:
        raise Mismatch(f"a message from rank {peer} belongs to another operation")
    return message[STAMP_BYTES:].view(like.dtype).reshape(like.shape)
