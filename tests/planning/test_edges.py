"""Pieces that are merged, and edges that are computed with their corners."""

from __future__ import annotations

import itertools
import math
import random
from collections.abc import Callable, Sequence

import numpy as np
import pytest

from pgaspy.distribution import default_layout
from pgaspy.layout import Layout
from pgaspy.planning.boxes import Box, contains, hull
from pgaspy.planning.edges import EDGE_ELEMENTS, EDGE_SHARE, Group, edges, merged
from pgaspy.planning.pieces import BUFFER, Piece, plan_boxes, plan_operands
from pgaspy.planning.view import View, whole
from tests.planning.test_pieces import flat, random_operand, random_output

SIZES = (1, 2, 3, 4, 6)

NOWHERE: Sequence[set[int]] = [set(), set()]
"""Where pieces stay cut, per dimension."""


def pieces_of(out: View, views: Sequence[View], cuts: Sequence[Sequence[int]], rank: int) -> tuple[Piece, ...]:
    plans = plan_operands(out, tuple(views), (False,) * len(views), rank)
    return plan_boxes((out,), views, plans, cuts, rank)


def none_is_sent(group: Group) -> bool:
    return False


def in_any(boxes: Sequence[Box]) -> Callable[[Group], bool]:
    """Whether what a group writes lies in one of some boxes."""
    return lambda group: any(contains(box, hull(group[0].sources[0].box, group[-1].sources[0].box)) for box in boxes)


def places(pieces: Sequence[Piece]) -> dict[int, list[tuple[int, int]]]:
    """Per element that is written, where its operands lie."""
    found = {}
    for piece in pieces:
        out, *operands = (flat(source, piece.shape).ravel().tolist() for source in piece.sources)
        numbers = [source.where for source in piece.sources[1:]]
        for k, at in enumerate(out):
            assert at not in found
            found[at] = [(where, operand[k]) for where, operand in zip(numbers, operands, strict=True)]
    return found


@pytest.mark.parametrize("seed", [*range(150), *(pytest.param(k, marks=pytest.mark.long) for k in range(150, 1000))])
def test_random_operations(seed: int) -> None:
    """Each element is computed once, from what it was computed from before; in boxes, of which all is sent or nothing.
    """
    rng = random.Random(seed)
    n_procs = rng.choice(SIZES)
    out, _ = random_output(rng, n_procs)
    views = [random_operand(rng, out.shape, n_procs)[0] for _ in range(rng.randint(0, 3))]
    for rank in range(n_procs):
        extents = out.own_layout.local_shape(rank)  # type: ignore[union-attr]
        cuts = [sorted({rng.randrange(n) for _ in range(rng.randint(0, 2))} - {0}) if n else [] for n in extents]
        sent = [random_box(rng, out.layout.local_shape(rank)) for _ in range(rng.randint(0, 2))]
        kept = [set(found) if rng.random() < 0.5 else set() for found in cuts]
        pieces = [piece for piece in pieces_of(out, views, cuts, rank) if 0 not in piece.shape]
        few = merged(pieces, in_any(sent), kept)
        assert places(few) == places(pieces)
        assert not any(first < at < first + n for piece in few for first, n, own in zip(
            piece.start, piece.shape, kept, strict=True) for at in own)
        groups = edges(few, in_any(sent))
        assert sorted(piece for group in groups for piece in group) == sorted(few)
        for group in groups:
            first, last = group[0], group[-1]
            assert len(group) == 1 or all(any(source.where >= BUFFER for source in piece.sources) for piece in group)
            spans = [b + n - a for a, b, n in zip(first.start, last.start, last.shape, strict=True)]
            assert sum(math.prod(piece.shape) for piece in group) == math.prod(spans)
            assert len({in_any(sent)((piece,)) for piece in group} | {in_any(sent)(group)}) == 1


def random_box(rng: random.Random, shape: Sequence[int]) -> Box:
    found = []
    for n in shape:
        low, high = sorted((rng.randint(0, n), rng.randint(0, n)))
        found.append((low, high))
    return tuple(found)


def test_what_is_sent_is_cut_off_as_edges() -> None:
    """Nine boxes between the cuts become four edges and the interior, by a merge of what lies beside each other."""
    out = whole(default_layout((20, 30), 1))
    sent: list[Box] = [((0, 1), (0, 30)), ((19, 20), (0, 30)), ((0, 20), (0, 1)), ((0, 20), (29, 30))]
    pieces = pieces_of(out, [], [[1, 19], [1, 29]], 0)
    assert len(pieces) == 9
    few = merged(pieces, in_any(sent), NOWHERE)
    assert [piece.shape for piece in few] == [(1, 30), (18, 1), (18, 28), (18, 1), (1, 30)]
    assert [piece.shape for piece in merged(pieces, none_is_sent, NOWHERE)] == [(20, 30)]


def test_what_goes_to_two_processes_is_not_merged() -> None:
    out = whole(default_layout((20,), 1))
    pieces = pieces_of(out, [], [[2, 4]], 0)
    assert [piece.shape for piece in merged(pieces, in_any([((0, 2),), ((2, 4),)]), NOWHERE)] == [(2,), (2,), (16,)]


def neighbours(layout: Layout, diagonal: bool) -> tuple[View, list[View]]:
    """The interior of an array, and its shifted sections, along one dimension or several at once."""
    full, distances = whole(layout), itertools.product((-1, 0, 1), repeat=layout.ndim)
    shifts = [shift for shift in distances if diagonal or np.count_nonzero(shift) == 1]
    inside, *others = (full.index(tuple(slice(1 + s, n - 1 + s) for s, n in zip(shift, layout.shape, strict=True)))
                       for shift in [(0,) * layout.ndim, *shifts])
    return inside, others


@pytest.mark.parametrize(("shape", "n_procs", "rank", "diagonal", "expected"), [
    ((40, 40), 16, 5, False, 5), ((40, 40), 16, 0, False, 3), ((40, 40), 16, 1, False, 4), ((40, 40), 16, 5, True, 5),
    ((1000, 1000), 4096, 2000, False, 5), ((40, 40), 4, 1, False, 3), ((30, 30, 30), 27, 13, False, 7),
    ((30, 30, 30), 27, 0, True, 4), ((99,), 3, 1, False, 3),
])
def test_stencils_have_an_interior_and_edges(shape: tuple[int, ...], n_procs: int, rank: int, diagonal: bool,
                                             expected: int) -> None:
    out, operands = neighbours(default_layout(shape, n_procs), diagonal)
    groups = edges(pieces_of(out, operands, (), rank), none_is_sent)
    assert len(groups) == expected
    waiting = [any(source.where >= BUFFER for piece in group for source in piece.sources) for group in groups]
    assert sum(waiting) == expected - 1


def test_what_is_large_is_computed_as_it_arrives() -> None:
    """One operand comes from another process, and is cut where a second one begins to."""
    n = 1 << 20
    full = whole(default_layout((3 * n,), 3))
    out, views = full.index(slice(0, 2 * n)), [full.index(slice(first, first + 2 * n)) for first in (n, n // 2)]
    groups = edges(pieces_of(out, views, (), 0), none_is_sent)
    assert [math.prod(piece.shape) for group in groups for piece in group] == [n // 2, n // 2]
    assert all(len(group) == 1 for group in groups)
    assert n // 2 > EDGE_ELEMENTS + n // EDGE_SHARE
