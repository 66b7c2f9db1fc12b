"""Owners: where the kernels find each item of a random view, on every process of a simulated job."""

from __future__ import annotations

import math
import random

import numpy as np
import pytest

from pgaspy.distribution import Distribution
from pgaspy.kernels.bindings import ItemPlaces, address
from pgaspy.planning.owners import Places, places_of, replica_distances
from pgaspy.planning.view import whole
from tests.randomly import random_layout, random_shape, random_view, storages


def kernel(places: Places, itemsize: int) -> ItemPlaces:
    """As an exchange has it, with offsets in bytes."""
    dims = [place._replace(local_start=place.local_start * itemsize, local_step=place.local_step * itemsize)
            for place in places.dims]
    return ItemPlaces(dims, places.first_rank, places.first_offset * itemsize)


@pytest.mark.parametrize("seed", range(200))
def test_random_views(seed: int) -> None:
    rng = random.Random(seed)
    n_procs, shape = rng.choice([1, 2, 4, 6, 12]), random_shape(rng, 3)
    layout = random_layout(rng, shape, n_procs)
    data = np.arange(math.prod(shape)).reshape(shape)
    parts = storages(layout, data)
    view, model = random_view(rng, whole(layout), data)
    indices = np.array([k - rng.choice([0, model.size]) for k in range(model.size)], np.int64)
    rng.shuffle(indices)  # type: ignore[arg-type]
    for rank in range(n_procs):
        for is_written in False, True:
            counts, positions = np.empty(n_procs, np.int64), np.empty(model.size, np.uint32)
            wanted = np.empty(model.size, np.uint32)
            kernel(places_of(view, view.ndim, rank, is_written), 8).bucket(indices, counts, positions, wanted)
            assert (wanted == indices[positions] % max(model.size, 1)).all()
            stops = np.cumsum(counts)
            for owner in np.flatnonzero(counts).tolist():
                asked = wanted[stops[owner] - counts[owner]:stops[owner]]
                assert (np.diff(positions[stops[owner] - counts[owner]:stops[owner]].astype(int)) > 0).all()
                for copy in replica_distances(layout) if is_written else (0,):
                    found = np.empty(asked.size, np.int64)
                    holder = kernel(places_of(view, view.ndim, owner + copy, is_written), 8)
                    holder.take(asked, 8, address(parts[owner + copy]), address(found))
                    assert (found == model.reshape(-1)[asked]).all()


def test_large_extents() -> None:
    n, n_procs = 1 << 60, 1000
    layout = Distribution("block").bind((n,), n_procs)
    indices = np.array([0, n // 3, n - 1, -1], np.int64)
    counts, positions, wanted = np.empty(n_procs, np.int64), np.empty(4, np.uint32), np.empty(4, np.int64)
    kernel(places_of(whole(layout), 1, 7, False), 8).bucket(indices, counts, positions, wanted)
    assert np.flatnonzero(counts).tolist() == [0, 333, 999]
    assert wanted.tolist() == [0, n // 3, n - 1, n - 1]
