"""Memory that is used again: fresh pages cost more than what is computed in them.

A block belongs to an object, and comes back when that is gone. A weak reference sees to it, whose callback is a method
of a deque: no code of Python runs while an object ends, which may be anywhere, in a collection of garbage or while a
signal is handled. What has come back is taken over by the next allocation.
"""

from __future__ import annotations

import math
import os
import weakref
from collections import OrderedDict, deque
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pgaspy.caches import cached
from pgaspy.host.allocation import keep_what_is_freed

__all__ = ["Return", "Scratch", "allocate", "come_back"]

Bytes = NDArray[np.uint8]

keep_what_is_freed()  # of NumPy's arrays, whose memory does not come from here

REUSED_FROM_BYTES = 1 << 16
"""Smaller blocks come from the C library's allocator, which does well there."""

LARGEST_RATIO = 1.5
"""How much larger than asked for a block may be. So where sizes shrink, as in a factorisation, not all are kept."""

KEPT_BYTES = min(1 << 30, os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") // 16)
"""Free memory that is kept at most; the block that was given back first is dropped first."""

_free: OrderedDict[int, list[Bytes]] = OrderedDict()
"""By their bytes; a list may be empty, where an interrupt came after its last block was taken."""

_kept_bytes = 0

_returned: tuple[deque[Return], ...] = deque(maxlen=64), deque(maxlen=8), deque(maxlen=2)
"""What has come back since the last allocation: small, larger and the largest blocks, each queue as long as to hold at
most `KEPT_BYTES`; of more, the first are dropped."""


class Return(weakref.ref[Any]):
    """Brings a block back when the object that it belongs to is gone, which keeps this until then."""

    __slots__ = ("block",)

    block: Bytes


def allocate(nbytes: int) -> Bytes:
    """At least `nbytes` bytes of uninitialised memory; a large block is the smallest that fits of those given back."""
    global _kept_bytes
    if nbytes < REUSED_FROM_BYTES:
        return np.empty(nbytes, np.uint8)
    if any(_returned):
        _take_over()
    size = _size_class(nbytes)
    for nbytes in _fitting(size):
        if blocks := _free.get(nbytes):
            break
    else:
        return np.empty(size, np.uint8)
    block = blocks.pop()
    if not blocks:
        del _free[nbytes]
    _kept_bytes -= nbytes  # last: what is interrupted before counts too much, which is noticed
    return block


def come_back(owner: Any, block: Bytes) -> Return | None:
    """What brings a block back when its owner is gone, if the owner keeps it; None if it is not used again.

    Nothing may refer to the memory any more then.
    """
    number = _number_of_queue(block.nbytes, KEPT_BYTES)
    if number is None:
        return None
    found = Return(owner, _returned[number].append)
    found.block = block
    return found


@cached
def _number_of_queue(nbytes: int, kept_bytes: int) -> int | None:
    """That of the queue in which a block of so many bytes comes back, of those in `_returned`, if it is used again."""
    fitting = [number for number, queue in enumerate(_returned) if nbytes <= kept_bytes // (queue.maxlen or 1)]
    return fitting[0] if fitting and nbytes >= REUSED_FROM_BYTES else None


class Scratch:
    """An array for what is done with it at once, whose memory is used again.

    Attributes
    ----------
    array
        Uninitialised, C-ordered; nothing may refer to it when this is gone.
    """

    __slots__ = ("__weakref__", "_return", "array")

    def __init__(self, shape: tuple[int, ...], dtype: np.dtype[Any]) -> None:
        block = allocate(math.prod(shape) * dtype.itemsize)
        self._return = come_back(self, block)
        self.array: NDArray[Any] = np.ndarray(shape, dtype, block)


def _take_over() -> None:
    """Keep the blocks that have come back for the next allocations."""
    global _kept_bytes
    for queue in _returned:
        while queue:
            block = queue.popleft().block
            _kept_bytes += block.nbytes
            _free.setdefault(block.nbytes, []).append(block)
            _free.move_to_end(block.nbytes)
    if _kept_bytes > KEPT_BYTES:
        _kept_bytes = sum(nbytes * len(blocks) for nbytes, blocks in _free.items())
    while _kept_bytes > KEPT_BYTES:
        oldest, blocks = next(iter(_free.items()))
        if blocks:
            blocks.pop(0)
            _kept_bytes -= oldest
        if not blocks:
            del _free[oldest]


def _size_class(nbytes: int) -> int:
    """Round up to an eighth of a power of two, so that nearly equal sizes share their blocks."""
    step = 1 << max(nbytes.bit_length() - 4, 12)
    return -(-nbytes // step) * step


@cached
def _fitting(size: int) -> tuple[int, ...]:
    """The sizes of blocks that are taken where one of a size is asked for, in ascending order."""
    found = [size]
    while (larger := _size_class(found[-1] + 1)) <= LARGEST_RATIO * size:
        found.append(larger)
    return tuple(found)
