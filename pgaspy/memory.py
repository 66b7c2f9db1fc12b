"""Memory that is used again: fresh pages cost more than what is computed in them."""

from __future__ import annotations

import os
import sys
from collections import OrderedDict

import numpy as np
from numpy.typing import NDArray

__all__ = ["allocate", "give_back"]

Bytes = NDArray[np.uint8]

REUSED_FROM_BYTES = 1 << 16
"""Smaller blocks come from the C library's allocator, which does well there."""

LARGEST_RATIO = 1.5
"""How much larger than asked for a block may be. So where sizes shrink, as in a factorisation, not all are kept."""

KEPT_BYTES = min(1 << 30, os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") // 16)
"""Free memory that is kept at most; the block that was given back first is dropped first."""

_free: OrderedDict[int, list[Bytes]] = OrderedDict()
_kept_bytes = 0


def allocate(nbytes: int) -> Bytes:
    """At least `nbytes` bytes of uninitialised memory; a large block is the smallest that fits of those given back."""
    global _kept_bytes
    if nbytes < REUSED_FROM_BYTES:
        return np.empty(nbytes, np.uint8)
    nbytes = _size_class(nbytes)
    if nbytes not in _free:
        fitting = [size for size in _free if nbytes < size <= LARGEST_RATIO * nbytes]
        if not fitting:
            return np.empty(nbytes, np.uint8)
        nbytes = min(fitting)
    blocks = _free[nbytes]
    _kept_bytes -= nbytes
    block = blocks.pop()
    if not blocks:
        del _free[nbytes]
    return block


def give_back(block: Bytes, n_own_references: int) -> None:
    """Keep a block for the next allocation, unless anybody else still refers to it (a local view that lives on).

    `n_own_references` is the number of references to the block that the caller holds, one of them a local name that
    it passes here.
    """
    global _kept_bytes
    nbytes = block.nbytes
    if not REUSED_FROM_BYTES <= nbytes <= KEPT_BYTES or sys.getrefcount(block) > n_own_references + _OF_THE_CALL:
        return
    _free.setdefault(nbytes, []).append(block)
    _free.move_to_end(nbytes)
    _kept_bytes += nbytes
    while _kept_bytes > KEPT_BYTES:
        oldest, blocks = next(iter(_free.items()))
        blocks.pop(0)
        _kept_bytes -= oldest
        if not blocks:
            del _free[oldest]


def _references_of_a_call() -> int:
    """How many references a call adds to an argument, as the function called counts them: it differs by version."""
    def count(block: Bytes) -> int:
        return sys.getrefcount(block)

    block = np.empty(1, np.uint8)
    return count(block) - 1


_OF_THE_CALL = _references_of_a_call()


def _size_class(nbytes: int) -> int:
    """Round up to an eighth of a power of two, so that nearly equal sizes share their blocks."""
    step = 1 << max(nbytes.bit_length() - 4, 12)
    return -(-nbytes // step) * step
