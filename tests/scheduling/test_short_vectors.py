"""Which part of a short vector a process has, against the indices of its elements."""

from __future__ import annotations

import random

import numpy as np
import pytest

from pgaspy.planning.pieces import local_indices
from pgaspy.planning.view import whole
from pgaspy.scheduling.short_vectors import is_in_intervals, part_of
from tests.randomly import random_layout, random_shape, random_view


@pytest.mark.parametrize("seed", range(400))
def test_parts_of_vectors(seed: int) -> None:
    """Also of vectors that are rows, or columns, of what is dealt out in turn along the other dimension."""
    rng = random.Random(seed)
    n_procs = rng.choice((1, 2, 3, 4, 6))
    shape = random_shape(rng, 2)
    view, _ = random_view(rng, whole(random_layout(rng, shape, n_procs)), np.empty(shape))
    if view.ndim > 1:
        view = view.index(0) if view.shape[0] else view.index((..., slice(0, 0)))
    if view.ndim != 1 or view.base_dims[0] is None or not is_in_intervals(view.layout.dims[view.base_dims[0]]):
        return
    for rank in range(n_procs):
        holds = view.holds(view.layout.coords_from_rank(rank))
        wanted = local_indices(view, 0, rank).tolist() if holds else []
        first, n = part_of(view, rank)
        assert sorted(wanted) == ([*range(first, first + n)] if n else [])
