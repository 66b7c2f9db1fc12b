"""Chains: which kernels may be computed side by side, in bands of rows that stay in the cache. Pure.

A kernel that reads what an earlier one has written in neighbouring rows, or overwrites what that one has read there,
cannot share its loop. But it can follow it at a distance of some rows, so that what both touch is in the cache still
(loop fusion by shifting and peeling: N. Manjikian and T. S. Abdelrahman, *Fusion of Loops for Parallelism and
Locality*, IEEE Transactions on Parallel and Distributed Systems 8(2), 1997). The copy that ends a sweep over a grid,
and the sweep that comes next, fetch each row once then, not twice.

Each thread takes rows that follow each other. Those at their beginning that have to come after another thread's rows
are peeled off, and computed at the end: so threads wait for each other once, however many bands there are.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

__all__ = ["MIN_BYTES", "Place", "Rows", "band", "place_behind", "rows_apart"]

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


class Place(NamedTuple):
    """Where a kernel is in a chain: so many rows behind the first, and so many rows of it are peeled off."""

    lag: int = 0
    peel: int = 0


def place_behind(stages: Sequence[tuple[Sequence[Rows], Place]], own: Sequence[Rows]) -> Place | None:
    """The place of a kernel that comes after others; None where there is none."""
    apart = [rows_apart(rows, own) for rows, _ in stages]
    if None in apart:
        return None
    conflicts = [(place, found) for (_, place), found in zip(stages, apart, strict=True) if found]
    lag = max([place.lag for _, place in stages] + [place.lag + most for place, (_, most) in conflicts])
    return Place(lag, max([place.peel + lag - place.lag - least for place, (least, _) in conflicts], default=0))


def rows_apart(earlier: Sequence[Rows], later: Sequence[Rows]) -> tuple[int, int] | tuple[()] | None:
    """How many rows an earlier kernel's conflicts with a later one are ahead of it; None if that differs between rows.

    Row i of the one and row j of the other conflict where both touch a byte and one of them writes it. Returned are the
    least and the greatest i - j of all that do, or nothing where none do.
    """
    found: list[int] = []
    for a in earlier:
        for b in later:
            if a.memory != b.memory or not (a.is_written or b.is_written):
                continue
            if a.step != b.step or a.step <= 0:
                return None
            least, most = (b.start - a.stop) // a.step + 1, (b.stop - a.start - 1) // a.step
            if least <= most:
                found += least, most
    return (min(found), max(found)) if found else ()


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
