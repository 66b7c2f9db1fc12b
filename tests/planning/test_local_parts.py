"""Local parts in plain integers, against local arrays of indices; and what lies alike, against transfers."""

from __future__ import annotations

import itertools
import math
import random

import numpy as np
import pytest

from pgaspy._calls import laid_out
from pgaspy.dims import BlockDim, CyclicDim, Dim, whole_dim
from pgaspy.distribution import Distribution, default_layout
from pgaspy.layout import Layout, one_process, replicated
from pgaspy.planning.local_parts import LocalPart, are_alike, lie_alike, local_part, place
from pgaspy.planning.pieces import local_indices
from pgaspy.planning.transfers import plan_transfer
from pgaspy.planning.view import View, whole
from tests.randomly import random_key, random_layout, random_shape, random_source, random_view, storages

SEEDS = [*range(150), *(pytest.param(k, marks=pytest.mark.long) for k in range(150, 600))]


@pytest.mark.parametrize("seed", SEEDS)
def test_local_parts(seed: int) -> None:
    rng = random.Random(seed)
    n_procs = rng.choice((1, 2, 3, 4, 6))
    shape = random_shape(rng, 3)
    layout = random_layout(rng, shape, n_procs)
    data = np.arange(np.prod(shape, dtype=int)).reshape(shape)
    view, model = random_view(rng, whole(layout), data)
    for rank in range(n_procs):
        part, coords = local_part(view, rank), layout.coords_from_rank(rank)
        if part is None:
            assert any(dim.n_procs > 1 and dim.owned_interval(0) is None for dim in layout.dims)
            continue
        if not view.holds(coords):
            assert all(n == 0 for n in part.shape)
            continue
        wanted = np.ix_(*[local_indices(view, d, rank) for d in range(view.ndim)])
        assert part.shape == model[wanted].shape
        assert hash(part) == hash(LocalPart(*part))
        assert part == part.section(part.first, part.shape)
        if 0 in part.shape:
            continue
        first = tuple(rng.randrange(i, i + n) for i, n in zip(part.first, part.shape, strict=True))
        rest = tuple(i + n - k for i, k, n in zip(part.first, first, part.shape, strict=True))
        for section in part, part.section(first, rest):
            local = storages(layout, data)[rank]
            at = section.offset + sum((np.indices(section.shape)[d] * s for d, s in enumerate(section.strides)),
                                      np.zeros(section.shape, int))
            keys = [slice(i, i + n) for i, n in zip(section.first, section.shape, strict=True)]
            np.testing.assert_array_equal(local.ravel()[at], model[tuple(keys)])
            inside = np.zeros(local.shape, bool)
            inside[tuple(slice(*edges) for edges in section.box)] = True
            touched = np.argwhere(np.isin(np.arange(local.size).reshape(local.shape), at))
            assert inside.ravel()[at].all()
            hull = [(low, high + 1) for low, high in zip(touched.min(0), touched.max(0), strict=True)]
            assert [*section.box] == hull


@pytest.mark.parametrize("seed", SEEDS)
def test_places_of_elements(seed: int) -> None:
    """They are where the elements lie, on all processes that have them, in any layout."""
    rng = random.Random(seed)
    shape = random_shape(rng, 3)
    layout = random_layout(rng, shape, rng.choice((1, 2, 3, 4, 6)))
    data = np.arange(np.prod(shape, dtype=int)).reshape(shape)
    parts = storages(layout, data)
    for index in itertools.islice(np.ndindex(shape), 50):
        element = whole(layout).index(index)
        for rank, part in enumerate(parts):
            places = np.flatnonzero(part == data[index])
            assert place(element, rank) == (places[0] if len(places) else None)


@pytest.mark.parametrize("seed", SEEDS)
def test_a_layout_of_its_own_has_exactly_a_views_owners(seed: int) -> None:
    rng = random.Random(seed)
    n_procs = rng.choice((1, 2, 3, 4, 6))
    shape = random_shape(rng, 3)
    view, _ = random_view(rng, whole(random_layout(rng, shape, n_procs)), np.empty(shape))
    own = view.own_layout
    assert (own is not None) == view.has_own_layout
    if own is None:
        return
    assert own.shape == view.shape
    for rank in range(n_procs):
        coords = own.coords_from_rank(rank)
        assert view.holds(coords) == own.holds(coords)
        if view.holds(coords):
            for d in range(view.ndim):
                assert local_indices(view, d, rank).tolist() == local_indices(whole(own), d, rank).tolist()


def drawn(seed: int) -> tuple[random.Random, int, tuple[int, ...], View]:
    """A number of processes, a shape, and a view of it in a layout, which may be one of a larger array."""
    rng = random.Random(seed)
    n_procs = rng.choice((1, 2, 3, 4, 6))
    shape = random_shape(rng, 3)
    out = whole(random_layout(rng, shape, n_procs)) if rng.random() < 0.5 else random_source(rng, shape, n_procs)[0]
    return rng, n_procs, shape, out


@pytest.mark.parametrize("seed", SEEDS)
def test_what_lies_alike_is_not_moved(seed: int) -> None:
    rng, n_procs, shape, out = drawn(seed)
    if rng.random() < 0.5:
        view = random_source(rng, shape, n_procs)[0]
    else:
        view = View(out.layout, out.shape, out.base_dims, out.steps, out.origin)
        if out.layout.dims and view.ndim and rng.random() < 0.5:
            view = view.index(slice(0, 1)).broadcast_to(shape) if view.shape[0] else view
    if not lie_alike(out, view) or view.stretched_dims:
        return
    for rank in range(n_procs):
        assert plan_transfer(out, view, rank).is_local


def places_of_parts(views: list[View | None], itemsizes: tuple[int, ...], rank: int) -> object:
    """What `laid_out` says, of what is said of each view."""
    out = views[-1]
    assert out is not None
    part = local_part(out, rank)
    if part is None or min(out.steps, default=1) < 1:
        return None
    offsets, strides = [], []
    for view, itemsize in zip(views, itemsizes, strict=True):
        if view is None:
            offsets.append(0)
            strides += [0] * out.ndim
            continue
        own = local_part(view, rank)
        if not lie_alike(out, view) or own is None:
            return None
        own = own.section(part.first, part.shape)
        offsets.append(own.offset * itemsize)
        strides += [stride * itemsize for stride in own.strides]
    size = math.prod(part.shape) if out.ndim else int(place(out, rank) is not None)
    return part.shape, size, offsets, strides


@pytest.mark.parametrize("seed", SEEDS)
def test_where_all_lies_of_which_a_part_is_computed(seed: int) -> None:
    rng, n_procs, shape, out = drawn(seed)
    others = [None, out, View(out.layout, out.shape, out.base_dims, out.steps, out.origin), whole(
        replicated(shape, n_procs)), random_source(rng, shape, n_procs)[0]]
    if out.ndim and out.shape[0]:
        others.append(out.index(slice(0, 1)).broadcast_to(out.shape))
    if out.ndim and out.own_layout is not None:
        others.append(whole(out.own_layout))
    for _ in range(8):
        views = [*rng.choices(others, k=rng.randrange(3)), out]
        itemsizes = tuple(rng.choice((1, 4, 8)) for _ in views)
        for rank in range(n_procs):
            assert laid_out(tuple(views), itemsizes, rank) == places_of_parts(views, itemsizes, rank)


def test_what_is_laid_out_is_views_and_as_many_sizes() -> None:
    out = whole(replicated((3,), 2))
    for views, itemsizes in ((), ()), ((out, out), (8,)), ((out, None), (8, 8)), ((3, out), (8,)):
        with pytest.raises(TypeError):
            laid_out(views, itemsizes, 0)  # type: ignore[arg-type]
    assert laid_out((whole(replicated((3, 3), 2)), out), (8, 8), 0) is None


def test_what_is_found_to_lie_alike() -> None:
    """Sections of one array, of arrays that are dealt out alike, and copies; whatever is not dealt out may differ."""
    a = whole(Distribution("block", "*").bind((12, 9), 3))
    part = a.index((slice(2, 11), slice(0, 4)))
    assert lie_alike(part, a.index((slice(2, 11), slice(5, 9))))
    assert lie_alike(part, a.index((slice(2, 11), slice(5, 6))).broadcast_to((9, 4)))
    assert lie_alike(part, whole(replicated((9, 4), 3)))
    inherited = whole(part.own_layout)  # type: ignore[arg-type]
    assert lie_alike(part, inherited)
    assert lie_alike(inherited.index(slice(None, None, -2)), part.index(slice(None, None, -2)))
    assert not lie_alike(inherited.index(slice(1, None)), part.index(slice(None, -1)))
    assert not lie_alike(part, a.index((slice(1, 10), slice(0, 4))))
    assert not lie_alike(part, a.index((slice(2, 3), slice(0, 4))).broadcast_to((9, 4)))
    assert not lie_alike(whole(replicated((9, 4), 3)), part)
    square = whole(default_layout((8, 8), 4))
    assert lie_alike(square.index(3), square.index(2))
    assert not lie_alike(square.index(3), square.index(4))
    assert not lie_alike(square, square.transpose((1, 0)))


def test_what_one_process_has_lies_alike_on_any_grids() -> None:
    matrix, vector = whole(default_layout((8, 8), 4)), whole(default_layout((8,), 4))
    alone = whole(one_process((8,), 4, 3))
    assert lie_alike(matrix.index((0, 4)), vector.index(3))
    assert not lie_alike(matrix.index((0, 4)), vector.index(4))
    assert lie_alike(vector.index(7), alone.index(0))
    assert not lie_alike(matrix.index(4), alone)


@pytest.mark.parametrize("section", [slice(None, None, 2), slice(1, None, 2), slice(3, 13), slice(2, 20, 3)], ids=repr)
def test_sections_with_a_layout_of_their_own_lie_as_where_they_come_from(section: slice) -> None:
    view = whole(default_layout((20, 3), 4)).index(section)
    assert view.own_layout is not None
    own = whole(view.own_layout)
    for key in (...,), (slice(1, 6),), (slice(None, None, -2),), (4,):
        assert lie_alike(view.index(key), own.index(key))
        assert lie_alike(own.index(key), view.index(key))
    for start, step in itertools.product(range(4), (1, 2, 3)):
        other = whole(view.layout).index(slice(start, start + (view.shape[0] - 1) * step + 1, step))
        if other.shape == view.shape:
            assert lie_alike(own, other) == lie_alike(other, own) == (other == view)


@pytest.mark.parametrize("distribution", ["block", "cyclic", "cyclic(4)"])
def test_other_sections_do_not_lie_alike(distribution: str) -> None:
    view = whole(Distribution(distribution, "*").bind((20, 3), 4))
    sections = [view.index(slice(start, start + 4 * step + 1, step)) for start in range(4) for step in (1, 2, 3, 4)]
    for a, b in itertools.product(sections, repeat=2):
        assert lie_alike(a, b) == (a is b)


def _among_axes_of_one(rng: random.Random, layout: Layout) -> Layout:
    """The same, on a grid with other axes of one process."""
    kept: dict[int, int] = {}
    grid: list[int] = []
    pins: list[int | None] = []
    for axis in (*layout.axes_of_several, None):
        for _ in range(rng.randint(0, 2)):
            grid.append(1)
            pins.append(rng.choice((None, 0)))
        if axis is not None:
            kept[axis] = len(grid)
            grid.append(layout.grid[axis])
            pins.append(layout.pins[axis])
    free = [axis for axis, n in enumerate(grid) if n == 1 and pins[axis] is None]
    dims: list[Dim] = []
    for dim in layout.dims:
        if dim.n_procs > 1:
            assert isinstance(dim, BlockDim)
            assert dim.axis is not None
            dims.append(dim._replace(axis=kept[dim.axis]))
        else:
            dims.append(BlockDim(dim.extent, 1, free.pop(), dim.extent) if free else whole_dim(dim.extent))
    return Layout(grid, dims, pins)


@pytest.mark.parametrize("seed", SEEDS)
def test_axes_of_one_process_make_no_difference(seed: int) -> None:
    rng = random.Random(seed)
    shape, n_procs = random_shape(rng, 3), rng.choice((2, 3, 4, 6))
    layout = random_layout(rng, shape, n_procs)
    if any(isinstance(dim, CyclicDim) and dim.n_procs > 1 for dim in layout.dims):
        layout = default_layout(shape, n_procs)
    other = _among_axes_of_one(rng, layout)
    assert are_alike(layout, other)
    assert are_alike(other, layout)
    key = random_key(rng, shape)
    for rank in range(n_procs):
        assert plan_transfer(whole(layout), whole(other), rank).is_local
        assert plan_transfer(whole(other).index(key), whole(layout).index(key), rank).is_local


@pytest.mark.parametrize("seed", SEEDS)
def test_what_is_alike_has_the_same_elements_on_each_process(seed: int) -> None:
    rng = random.Random(seed)
    shape, n_procs = random_shape(rng, 2), rng.choice((1, 2, 3, 4, 6))
    layouts = [random_layout(rng, shape, n_procs), default_layout(shape, n_procs)]
    data = np.arange(math.prod(shape)).reshape(shape)
    if are_alike(*layouts):
        for part, other in zip(*(storages(layout, data) for layout in layouts), strict=True):
            np.testing.assert_array_equal(part, other)
