"""Edges: neighbouring pieces are joined, so that there are as few as the geometry needs.

Pieces are the boxes between all cuts in all dimensions, whether or not a cut is needed in each of them: where what is
sent next is computed by itself, only the edges have to be cut off. And where operands arrive from several neighbours,
the corners of a local part read from two messages: small pieces that wait for messages are computed one after the
other, with those beside them. So a 5-point step has five: its interior and four edges.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Sequence

from pgaspy.planning.boxes import hull
from pgaspy.planning.pieces import BUFFER, Piece, Source

__all__ = ["Group", "edges", "merged"]

Group = tuple[Piece, ...]
"""Pieces that make up a box: the first begins where it begins, and the last ends where it ends."""

EDGE_ELEMENTS, EDGE_SHARE = 1 << 12, 16
"""Pieces that wait for messages are joined as long as they are small: up to so many elements, and one of so many of the
local part besides. Larger ones are computed as their messages arrive."""

_Join = Callable[[Group, Group, int], Group | None]


def merged(pieces: Sequence[Piece], is_sent: Callable[[Group], bool], kept: Sequence[Collection[int]]) -> list[Piece]:
    """The pieces, those merged whose operands continue one another, if all of it is sent next, or nothing.

    `kept` are, per dimension, the indices at which they stay cut.
    """

    def join(a: Group, b: Group, d: int) -> Group | None:
        if b[0].start[d] in kept[d] or not _continue(a[0], b[0], d) or not _is_alike(a, b, is_sent):
            return None
        return (_merge(a[0], b[0], d),)

    return [piece for piece, in _joined([(piece,) for piece in pieces], join)]


def edges(pieces: Sequence[Piece], is_sent: Callable[[Group], bool]) -> list[Group]:
    """The pieces in groups, each for itself but small ones that wait for messages, if all of it is sent next or none.
    """
    groups: list[Group] = [(piece,) for piece in pieces]
    limit = EDGE_ELEMENTS + _size(pieces) // EDGE_SHARE

    def join(a: Group, b: Group, d: int) -> Group | None:
        is_edge = _waits(a[0]) and _waits(b[0]) and _size(a) + _size(b) <= limit
        return a + b if is_edge and _is_alike(a, b, is_sent) else None

    return _joined(groups, join) if sum(map(_waits, pieces)) > 1 else groups


def _joined(groups: list[Group], join: _Join) -> list[Group]:
    """The groups, those joined that are neighbours along a dimension, the last one first."""
    for d in reversed(range(len(groups[0][0].shape) if groups else 0)):
        by_end: dict[object, Group] = {}
        for group in groups:
            start, stop = group[0].start, tuple(map(sum, zip(group[-1].start, group[-1].shape, strict=True)))
            across = start[:d] + start[d + 1:], stop[:d] + stop[d + 1:]
            earlier = by_end.get((start[d], across))
            both = None if earlier is None else join(earlier, group, d)
            if both is not None:
                del by_end[start[d], across]
            by_end[stop[d], across] = both or group
        groups = list(by_end.values())
    return groups


def _is_alike(a: Group, b: Group, is_sent: Callable[[Group], bool]) -> bool:
    """Whether two groups are sent next, and so are both together; or neither of them."""
    return is_sent(a + b) if is_sent(a) else not is_sent(b)


def _size(pieces: Sequence[Piece]) -> int:
    return sum(math.prod(piece.shape) for piece in pieces)


def _waits(piece: Piece) -> bool:
    """Whether an operand arrives in a message."""
    return any(source.where >= BUFFER for source in piece.sources)


def _continue(a: Piece, b: Piece, d: int) -> bool:
    """Whether all that a piece reads and writes goes on, along dimension d, in what another one does."""
    return all(x.where == y.where and x.strides == y.strides and x.offset + a.shape[d] * x.strides[d] == y.offset
               for x, y in zip(a.sources, b.sources, strict=True))


def _merge(a: Piece, b: Piece, d: int) -> Piece:
    """Two pieces of which the one continues the other along dimension d, as one."""
    shape = (*a.shape[:d], a.shape[d] + b.shape[d], *a.shape[d + 1:])
    return Piece(shape, tuple(Source(x.where, x.offset, x.strides, hull(x.box, y.box))
                              for x, y in zip(a.sources, b.sources, strict=True)), a.start)
