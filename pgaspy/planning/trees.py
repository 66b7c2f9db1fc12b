"""Trees of messages among n processes in a row: who hands what on to whom. Pure.

Position 0 is the root; other roots turn the row. A binomial tree takes the fewest steps, which counts for short
messages; in a chain every process sends and receives each byte once, so that long messages, cut into packets, stream
through it (as the panels do in HPL, Petitet et al., section "Panel broadcast").
"""

from __future__ import annotations

from pgaspy.caches import cached

__all__ = ["PACKET_BYTES", "broadcast_neighbours", "flood_targets", "packets_of", "reduction_neighbours"]

PACKET_BYTES = 1 << 18
"""Longer messages to more than one process are handed on along a chain, in packets of at least this many bytes."""

MAX_PACKETS = 16


def broadcast_neighbours(position: int, n: int, root: int, nbytes: int,
                         is_chain: bool = False) -> tuple[int | None, list[int]]:
    """From which position this one receives a broadcast (None: the root), and to which ones it hands it on."""
    return _neighbours(position, n, root, is_chain or nbytes > PACKET_BYTES)


@cached
def _neighbours(position: int, n: int, root: int, is_chain: bool) -> tuple[int | None, list[int]]:
    turned = (position - root) % n
    if is_chain:
        parent, children = turned - 1, [turned + 1]
    else:
        low = turned & -turned if turned else 1 << n.bit_length()
        parent, children = turned - low, [turned + step for step in _steps_below(low)]
    return (None if turned == 0 else (parent + root) % n), [(c + root) % n for c in children if c < n]


def reduction_neighbours(position: int, n: int) -> tuple[list[int], int | None]:
    """From which positions, in this order, this one takes partial results, and to which it gives its own.

    Those of higher positions are joined to the right of its own, so that the order of the positions is kept.
    """
    low = position & -position if position else 1 << n.bit_length()
    sources = [position + step for step in reversed(_steps_below(low)) if position + step < n]
    return sources, position - low if position else None


def flood_targets(rank: int, n: int) -> list[int]:
    """To which ranks one hands on what any of them may begin: all know it after ceil(log2(n)) steps."""
    return [(rank + (1 << k)) % n for k in range((n - 1).bit_length())]


def packets_of(nbytes: int, n: int, limit: int) -> list[tuple[int, int]]:
    """The (start, stop) of the messages in which n processes hand on so many bytes, each of `limit` bytes at most."""
    if nbytes <= limit and (n <= 2 or nbytes <= PACKET_BYTES):
        return [(0, nbytes)]
    size = limit
    if n > 2 and nbytes > PACKET_BYTES:
        size = min(max(PACKET_BYTES, -(-nbytes // MAX_PACKETS)), limit)
    return [(start, min(start + size, nbytes)) for start in range(0, max(nbytes, 1), size)]


def _steps_below(low: int) -> list[int]:
    """The powers of two below `low`, the largest first: the largest subtree is served first."""
    return [1 << k for k in reversed(range(low.bit_length() - 1))]
