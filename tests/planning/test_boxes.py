"""Boxes: they cover what is accessed, and say that two accesses are apart only where they are."""

from __future__ import annotations

import random

import numpy as np
import pytest

from pgaspy.planning.boxes import Box, contains, overlap, ranges_box, remainder, view_box
from pgaspy.planning.pieces import local_indices
from pgaspy.planning.transfers import plan_transfer
from pgaspy.planning.view import whole
from tests.randomly import random_layout, random_shape, random_source, random_view

N_CASES = 300


def random_box(rng: random.Random, shape: tuple[int, ...]) -> Box:
    if rng.random() < 0.1:
        return None
    return tuple(tuple(sorted((rng.randint(0, n), rng.randint(0, n)))) for n in shape)  # type: ignore[misc]


def mask(box: Box, shape: tuple[int, ...]) -> np.ndarray:
    found = np.zeros(shape, bool)
    found[... if box is None else tuple(slice(*interval) for interval in box)] = True
    return found


@pytest.mark.parametrize("seed", range(5))
def test_overlap_and_contains(seed: int) -> None:
    rng = random.Random(seed)
    for _ in range(N_CASES):
        shape = tuple(rng.randint(1, 4) for _ in range(rng.randint(0, 3)))
        a, b = random_box(rng, shape), random_box(rng, shape)
        in_a, in_b = mask(a, shape), mask(b, shape)
        if a is not None and b is not None and in_a.any() and in_b.any():
            assert overlap(a, b) == (in_a & in_b).any()
            assert contains(a, b) == (in_b <= in_a).all()
        elif a is not None and b is not None:
            assert overlap(a, b) >= (in_a & in_b).any()
        assert overlap(a, b) == overlap(b, a)
        assert contains(a, a)
        assert contains(None, b)
        assert a is None or not contains(a, None)


@pytest.mark.parametrize("seed", range(5))
def test_remainders(seed: int) -> None:
    """Of a box that another one covers in part: nothing, what is left, or where that is no box, all of it."""
    rng = random.Random(seed)
    n_cut = 0
    for _ in range(N_CASES):
        shape = tuple(rng.randint(1, 6) for _ in range(rng.randint(0, 3)))
        a, b = random_box(rng, shape), random_box(rng, shape)
        if not (mask(a, shape) & mask(b, shape)).any():
            continue
        left, wanted = remainder(a, b), mask(a, shape) & ~mask(b, shape)
        found = sum((mask(box, shape) for box in left), np.zeros(shape, bool))
        assert (found == wanted).all() or left == (a,)
        assert left != () or contains(b, a)
        n_cut += left not in ((), (a,))
    assert n_cut


@pytest.mark.parametrize("seed", range(5))
def test_view_boxes_cover_the_local_part(seed: int) -> None:
    rng = random.Random(seed)
    for _ in range(N_CASES):
        shape = random_shape(rng, 3)
        n_procs = rng.choice([1, 2, 3, 4, 6])
        layout = random_layout(rng, shape, n_procs)
        data = np.arange(np.prod(shape, dtype=int)).reshape(shape)
        view, model = random_view(rng, whole(layout), data)
        if view.stretched_dims:
            continue
        for rank in range(n_procs):
            if not view.holds(view.layout.coords_from_rank(rank)):
                continue
            box = view_box(view, rank)
            owned = model[np.ix_(*[local_indices(view, d, rank) for d in range(view.ndim)])] if view.ndim else model
            if box is not None and owned.size:
                covered = storage_of(layout, data, rank)[tuple(slice(*interval) for interval in box)]
                assert set(owned.ravel().tolist()) <= set(covered.ravel().tolist())
                assert all(0 <= start < stop for start, stop in box)


@pytest.mark.parametrize("seed", range(3))
def test_message_boxes_cover_what_is_sent(seed: int) -> None:
    rng = random.Random(seed)
    for _ in range(N_CASES // 3):
        shape = tuple(rng.randint(1, 9) for _ in range(rng.randint(1, 2)))
        n_procs = rng.choice([2, 3, 4])
        target = whole(random_layout(rng, shape, n_procs))
        source, _ = random_source(rng, shape, n_procs)
        if source.stretched_dims:
            continue
        for rank in range(n_procs):
            storage = source.layout.local_shape(rank)
            for message in plan_transfer(target, source, rank).sends:
                box = ranges_box(source, message.ranges, storage)
                assert box is not None
                assert all(0 <= start < stop <= n for (start, stop), n in zip(box, storage, strict=True))
                assert np.prod([stop - start for start, stop in box]) >= message.size


def storage_of(layout, data, rank):  # type: ignore[no-untyped-def]
    view = whole(layout)
    if not data.ndim:
        return data
    return data[np.ix_(*[local_indices(view, d, rank) for d in range(view.ndim)])]
