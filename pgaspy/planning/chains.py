"""Chains: which kernels may be computed side by side, in bands of rows that stay in the cache. Pure.

A kernel that reads what an earlier one has written in neighbouring rows, or overwrites what that one has read there,
cannot share its loop. But it can follow it at a distance of some rows, so that what both touch is in the cache still
(loop fusion by shifting: N. Manjikian and T. S. Abdelrahman, *Fusion of Loops for Parallelism and Locality*, IEEE
Transactions on Parallel and Distributed Systems 8(2), 1997). The copy that ends a sweep over a grid, and the sweep that
comes next, fetch each row once then, not twice.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

__all__ = ["MIN_BYTES", "Rows", "band", "rows_ahead"]

MIN_BYTES = 1 << 25
"""Kernels that touch less find it in the caches, one after the other."""

BAND_BYTES = 1 << 19
"""What a band touches, for each thread: less than its part of the caches, but enough to be worth the calls."""

MAX_STAGES = 8


class Rows(NamedTuple):
    """What a kernel touches of a memory: bytes [start + i * step, stop + i * step) in row i."""

    memory: int
    start: int
    stop: int
    step: int
    is_written: bool


def rows_ahead(earlier: Sequence[Rows], later: Sequence[Rows]) -> int | None:
    """How many rows an earlier kernel has to be ahead of a later one; None if that differs from row to row.

    Row i of the one and row j of the other conflict where both touch a byte and one of them writes it. The number is
    the greatest i - j of all that do, but 0 at least.
    """
    found = 0
    for a in earlier:
        for b in later:
            if a.memory != b.memory or not (a.is_written or b.is_written):
                continue
            if a.step != b.step or a.step <= 0:
                return None
            least, most = (b.start - a.stop) // a.step + 1, (b.stop - a.start - 1) // a.step
            if least <= most:
                found = max(found, most)
    return found


def band(kernels: Sequence[Sequence[Rows]], n_rows: int, lag: int) -> int | None:
    """The rows of a band, for each thread; None where kernels gain nothing by a chain.

    The last one, of so many rows, is `lag` rows behind the first.
    """
    step_from_memory: dict[int, int] = {}
    for rows in kernels:
        for found in rows:
            step_from_memory[found.memory] = max(step_from_memory.get(found.memory, 0), abs(found.step))
    nbytes = sum(step_from_memory.values())
    if len(kernels) > MAX_STAGES or nbytes * n_rows < MIN_BYTES or nbytes * max(lag, 1) > BAND_BYTES:
        return None
    return BAND_BYTES // nbytes
