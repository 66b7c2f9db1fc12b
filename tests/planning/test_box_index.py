"""An index of boxes, against looking at each of them."""

from __future__ import annotations

import random
from typing import Any

import pytest

from pgaspy.planning.box_index import BoxIndex
from pgaspy.planning.boxes import Box, overlap


def random_box(rng: random.Random, ndim: int) -> Box:
    if rng.random() < 0.05:
        return None
    firsts = [rng.randrange(40) for _ in range(ndim)]
    return tuple((first, first + rng.choice((1, 1, 2, 7, 30))) for first in firsts)


@pytest.mark.parametrize("ndim", [0, 1, 2, 3])
@pytest.mark.parametrize("seed", range(20))
def test_boxes_that_overlap(seed: int, ndim: int) -> None:
    rng, index = random.Random(seed), BoxIndex[int]()
    kept: dict[Any, None] = {}
    for number in range(150):
        box = random_box(rng, ndim)
        index.add(box, number)
        kept[box, number] = None
        if rng.random() < 0.4:
            entry = rng.choice([*kept])
            index.remove(entry)
            del kept[entry]
        wanted = random_box(rng, ndim)
        assert {*index.overlapping(wanted)} == {(box, number) for box, number in kept if overlap(wanted, box)}
        assert [*index] == [*kept]


def test_a_box_is_there_once() -> None:
    index = BoxIndex[str]()
    for value in "aab":
        index.add(((0, 1),), value)
    assert index.overlapping(None) == [(((0, 1),), "a"), (((0, 1),), "b")]
