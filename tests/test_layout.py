"""Layouts against brute force: owners and local indices, counted out one by one."""

from __future__ import annotations

import itertools
import math
import random

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from pgaspy.dims import BlockDim, CyclicDim, Dim, whole_dim
from pgaspy.distribution import Distribution, check_grid, default_grid, default_layout
from pgaspy.layout import Layout, coords_from_rank, one_process, rank_from_coords, replicated, without_dims
from pgaspy.planning.affine import own_dims
from pgaspy.planning.view import View
from tests.randomly import random_layout, random_shape

BLOCKS = st.builds(lambda n, p: BlockDim(n, p, 0, n), st.integers(0, 40), st.integers(1, 9))
CYCLICS = st.integers(1, 6).flatmap(lambda block: st.integers(1, 5).flatmap(lambda p: st.builds(
    CyclicDim, st.integers(0, 40), st.just(p), st.just(0), st.just(block), st.integers(0, p - 1),
    st.integers(1, block))))
WINDOWS = st.tuples(st.integers(0, 39), st.integers(1, 5), st.integers(0, 40))


def owners(dim: Dim) -> list[int]:
    """The owner of each index, by the definition of the distribution."""
    if isinstance(dim, CyclicDim):
        virtual = [i + dim.block - dim.first_length for i in range(dim.extent)]
        return [(v // dim.block + dim.first_owner) % dim.n_procs for v in virtual]
    bounds = [r * dim.parent_extent // dim.n_procs for r in range(dim.n_procs + 1)]
    return [next(r for r in range(dim.n_procs) if bounds[r] <= dim.start + dim.step * i < bounds[r + 1])
            for i in range(dim.extent)]


def check_dim(dim: Dim) -> None:
    """Every question that a dimension answers, for every index and part."""
    expected = owners(dim)
    index = np.arange(dim.extent)
    parts = dim.part_from_index(index)
    assert dim.owner_from_part(parts).tolist() == expected
    assert [dim.owner_from_part(dim.part_from_index(i)) for i in range(dim.extent)] == expected
    local = dim.local_from_index(index, parts)
    assert [dim.local_from_index(i, k) for i, k in zip(index.tolist(), parts.tolist(), strict=True)] == local.tolist()
    for coord in range(dim.n_procs):
        owned = [i for i in range(dim.extent) if expected[i] == coord]
        assert dim.local_extent(coord) == len(owned)
        assert local[owned].tolist() == list(range(len(owned)))
        n_parts = dim.n_blocks
        held = [k for k in range(n_parts) if dim.owner_from_part(k) == coord]
        assert list(dim.parts_from_owner(coord, 0, n_parts - 1)) == held
        assert list(dim.parts_from_owner(coord, 1, n_parts - 2)) == [k for k in held if 1 <= k <= n_parts - 2]
    for k in range(dim.n_blocks):
        inside = np.flatnonzero(parts == k)
        assert dim.part_start(k + 1) - dim.part_start(k) == len(inside) <= dim.block
        assert np.array_equal(dim.part_start(np.array([k, k + 1])), [dim.part_start(k), dim.part_start(k + 1)])
        if len(inside):
            assert dim.part_start(k) == inside[0]
    if isinstance(dim, BlockDim) and dim.step == 1:
        assert dim.block == max(map(dim.local_extent, range(dim.n_procs)))


def window_of(dim: Dim, start: int, step: int, extent: int) -> Dim | None:
    """The dimension of a view `start + step*i`, i < extent, with exactly its owners, where there is one."""
    view = View(Layout((dim.n_procs,), [dim]), (extent,), (0,), (step,), (start,))
    dims = own_dims(view)
    assert (dims is not None) == view.has_own_layout == dim.has_window(step, extent)
    return None if dims is None else dims[0]


@given(BLOCKS | CYCLICS)
def test_dimension(dim: Dim) -> None:
    check_dim(dim)


@given(BLOCKS | CYCLICS, WINDOWS, WINDOWS)
def test_window_has_exactly_the_owners_of_the_view(dim: Dim, first: tuple[int, int, int],
                                                   second: tuple[int, int, int]) -> None:
    assume(dim.extent)
    expected = owners(dim)
    for start, step, extent in first, second:
        if not dim.extent:
            return
        start %= dim.extent
        extent = min(extent, len(range(start, dim.extent, step)))
        expected = expected[start::step][:extent]
        window = window_of(dim, start, step, extent)
        if window is None:
            assert isinstance(dim, CyclicDim)
            assert dim.block % step
            assert dim.n_procs > 1
            return
        assert window.extent == extent
        check_dim(window)
        assert owners(window) == expected
        dim = window


def test_windows_that_have_no_layout() -> None:
    assert window_of(BlockDim(10, 2, 0, 10), 9, -1, 10) is None
    assert window_of(BlockDim(10, 2, 0, 10), 9, -1, 1) == BlockDim(1, 2, 0, 10, 9)
    assert window_of(CyclicDim(10, 2, 0, 2), 9, -1, 10) is None
    assert window_of(CyclicDim(10, 2, 0, 2), 0, 3, 4) is None
    assert window_of(CyclicDim(10, 2, 0, 2), 9, -1, 1) == CyclicDim(1, 2, 0, 2, 0, 1)


@pytest.mark.parametrize(("n", "p", "extents"), [
    (10, 4, (2, 3, 2, 3)), (2, 4, (0, 1, 0, 1)), (0, 3, (0, 0, 0)), (7, 7, (1,) * 7), (8193, 2, (4096, 4097)),
])
def test_block_is_balanced(n: int, p: int, extents: tuple[int, ...]) -> None:
    dim = BlockDim(n, p, 0, n)
    assert tuple(dim.local_extent(c) for c in range(p)) == extents
    assert dim.block == max(extents, default=0) or n == 0


@pytest.mark.parametrize(("n", "p", "b", "extents"), [
    (10, 2, 3, (6, 4)), (10, 4, 3, (3, 3, 3, 1)), (2, 3, 4, (2, 0, 0)), (0, 2, 2, (0, 0)), (5, 3, 1, (2, 2, 1)),
    (9, 2, 4, (5, 4)),
])
def test_cyclic(n: int, p: int, b: int, extents: tuple[int, ...]) -> None:
    dim = CyclicDim(n, p, 0, b)
    assert tuple(dim.local_extent(c) for c in range(p)) == extents
    assert dim.n_blocks == -(-n // b)


def test_first_owner_and_first_length() -> None:
    """Elements 5.. of cyclic(4) over 3 processes begin with the last three elements of block 1."""
    dim = window_of(CyclicDim(20, 3, 0, 4), 5, 1, 15)
    assert dim == CyclicDim(15, 3, 0, 4, 1, 3)
    assert [dim.local_extent(c) for c in range(3)] == [4, 7, 4]  # type: ignore[union-attr]
    assert str(dim) == "cyclic(4) from 1 with 3"
    assert str(window_of(BlockDim(10, 2, 0, 10), 2, 3, 2)) == "block of [2::3] of 10"


@pytest.mark.parametrize("seed", range(300))
def test_parts_tile_the_array(seed: int) -> None:
    rng = random.Random(seed)
    n_procs = rng.choice((1, 2, 3, 4, 6, 8, 12))
    shape = random_shape(rng, 3, (0, 1, 2, 3, 5, 7))
    layout = random_layout(rng, shape, n_procs)
    assert (layout.shape, layout.ndim, layout.n_procs) == (shape, len(shape), n_procs)
    n_copies = math.prod(layout.grid[axis] for axis in layout.replica_axes)
    held = sum(math.prod(layout.local_shape(r)) for r in range(n_procs) if layout.holds(layout.coords_from_rank(r)))
    assert held == math.prod(shape) * n_copies
    assert layout.max_local_size == max(math.prod(layout.local_shape(r)) for r in range(n_procs)) or not shape
    places = set()
    for index in itertools.product(*map(range, shape)):
        owner, local = layout.owner_from_global_index(index), layout.local_from_global_index(index)
        assert layout.holds(layout.coords_from_rank(owner))
        assert all(0 <= i < n for i, n in zip(local, layout.local_shape(owner), strict=True))
        places.add((owner, local))
    assert len(places) == math.prod(shape)


@pytest.mark.parametrize("grid", [(), (1,), (6,), (2, 3), (3, 1, 4)])
def test_ranks_are_row_major(grid: tuple[int, ...]) -> None:
    for rank, coords in enumerate(itertools.product(*map(range, grid))):
        assert coords_from_rank(grid, rank) == coords
        assert rank_from_coords(grid, coords) == rank


def test_replicas_and_pins() -> None:
    layout = Distribution("block", grid=(2, 3), axes=(1,)).bind((9,), 6)
    assert layout.replica_axes == (0,)
    assert layout.is_distributed
    assert not layout.is_replicated
    assert [layout.local_shape(r) for r in range(6)] == [(3,)] * 6
    assert layout.owner_from_global_index((8,)) == 2
    pinned = Layout((2, 3), layout.dims, (1, None))
    assert pinned.replica_axes == ()
    assert [pinned.local_shape(r) for r in range(6)] == [(0,)] * 3 + [(3,)] * 3
    assert pinned.owner_from_global_index((8,)) == 5
    assert replicated((3, 4), 5).is_replicated
    assert replicated((3, 4), 5).local_shape(4) == (3, 4)
    alone = one_process((3, 4), 5, 2)
    assert not alone.is_replicated
    assert not alone.is_distributed
    assert [alone.local_shape(r) for r in range(5)] == [(0, 0), (0, 0), (3, 4), (0, 0), (0, 0)]
    assert one_process((3,), 1, 0).is_replicated


def test_without_dims_replicates_along_their_axes() -> None:
    layout = default_layout((8, 9), 6)
    row = without_dims(layout, (0,))
    assert (row.shape, row.grid, row.replica_axes) == ((9,), (3, 2), (0,))
    assert without_dims(layout, ()) is layout


def test_equal_layouts_are_found_in_dictionaries() -> None:
    a, b = (Distribution("cyclic(2)", "*").bind((5, 6), 4) for _ in range(2))
    assert a == b
    assert hash(a) == hash(b)
    assert a != Distribution("cyclic(3)", "*").bind((5, 6), 4)
    assert a != one_process((5, 6), 4, 1)
    assert one_process((5, 6), 4, 1) != one_process((5, 6), 4, 2)


def test_default_layout() -> None:
    assert str(default_layout((8, 9), 6)) == "Layout(shape=(8, 9), (block on axis 0, block on axis 1), grid=(3, 2))"
    assert default_layout((), 6).is_replicated
    assert default_layout((8,), 6, block=(2,)).dims == (CyclicDim(8, 6, 0, 2),)
    assert default_layout((8, 8), 6, grid=(1, 6)).grid == (1, 6)
    assert default_layout((8, 8), 4).block == (4, 4)
    assert Distribution("cyclic(3)", "*").bind((8, 5), 4).n_blocks == (3, 1)


@pytest.mark.parametrize(("text", "dim"), [
    ("block", BlockDim(10, 3, 0, 10)), ("cyclic", CyclicDim(10, 3, 0, 1)), ("cyclic(4)", CyclicDim(10, 3, 0, 4)),
    ("cyclic( 4 )", CyclicDim(10, 3, 0, 4)), (" block ", BlockDim(10, 3, 0, 10)), ("*", whole_dim(10)),
])
def test_formats(text: str, dim: Dim) -> None:
    assert Distribution(text).bind((10,), 3).dims == (dim,)


def test_axes() -> None:
    assert Distribution("block", "*", "block").bind((4, 5, 6), 6).grid == (3, 2)
    swapped = Distribution("block", "cyclic", axes=(1, 0), grid=(2, 3)).bind((4, 5), 6)
    assert [dim.n_procs for dim in swapped.dims] == [3, 2]
    assert swapped.dim_from_axis == (1, 0)
    assert Distribution("*", "*").bind((4, 5), 6).is_replicated


@pytest.mark.parametrize(("formats", "options", "match"), [
    (("blocks",), {}, "unknown distribution 'blocks': use 'block', 'cyclic', 'cyclic(b)' or '*'"),
    (("block(2)",), {}, "unknown distribution 'block(2)'"),
    (("cyclic()",), {}, "unknown distribution"),
    ((3,), {}, "unknown distribution 3"),
    (("cyclic(0)",), {}, "block size 0 in 'cyclic(0)' is below 1: use cyclic(1) or larger"),
    (("block", "block"), {"axes": (0, 0)}, "must be distinct"),
    (("block",), {"axes": (-1,)}, "not negative"),
    (("block",), {"axes": (None,)}, "takes an axis"),
    (("*",), {"axes": (0,)}, "takes None"),
    (("*",), {"axes": (0, 1)}, "names 2 dimensions, the distribution has 1"),
])
def test_distributions_that_are_refused(formats: tuple[str, ...], options: dict[str, object], match: str) -> None:
    with pytest.raises(ValueError) as info:  # noqa: PT011  (the message is compared below)
        Distribution(*formats, **options)  # type: ignore[arg-type]
    assert match in str(info.value)


@pytest.mark.parametrize(("distribution", "shape", "match"), [
    (Distribution("block"), (2, 3), "shape (2, 3) has 2 dimensions, the distribution ('block',) has 1"),
    (Distribution("block", grid=(4,)), (2,), "grid (4,) needs 4 processes, this job has 6: use grid=(6,)"),
    (Distribution("block", "block", grid=(2, 2)), (2, 2), "grid (2, 2) needs 4 processes, this job has 6: "
                                                          "use grid=(3, 2)"),
    (Distribution("block", grid=(6,), axes=(1,)), (2,), "axes=(1,) need a grid of 2 axes, grid=(6,) has 1"),
])
def test_bindings_that_are_refused(distribution: Distribution, shape: tuple[int, ...], match: str) -> None:
    with pytest.raises(ValueError) as info:  # noqa: PT011
        distribution.bind(shape, 6)
    assert match in str(info.value)


def test_grids_are_positive() -> None:
    with pytest.raises(ValueError, match=r"grid \(-2, -3\)"):
        check_grid((-2, -3), 6)


def test_a_process_that_is_not_there() -> None:
    with pytest.raises(ValueError, match="onenode=4 is not a rank of this job: its ranks are 0 to 3"):
        one_process((3,), 4, 4)


def test_dimensions_of_two_kinds_are_never_equal() -> None:
    numbers = 8, 2, 0, 8, 0, 1
    assert BlockDim(*numbers) != CyclicDim(*numbers)
    assert CyclicDim(*numbers) != BlockDim(*numbers)


@pytest.mark.parametrize(("shape", "n_procs", "grid"), [
    ((1000, 1000), 4, (2, 2)), ((2, 1000, 1000), 6, (1, 3, 2)), ((1000, 3), 4, (4, 1)), ((40, 5, 40), 4, (2, 1, 2)),
    ((1, 50), 50, (1, 50)), ((9, 72), 4, (1, 4)), ((9, 71), 4, (2, 2)), ((10, 10**6), 4, (2, 2)),
    ((3, 8), 16, (4, 4)), ((0, 5), 4, (2, 2)), ((0, 0), 4, (2, 2)), ((7,), 4, (4,)),
    ((9, 100, 100), 10**6, (100, 100, 100)),
])
def test_default_grids_leave_short_axes_whole(shape: tuple[int, ...], n_procs: int, grid: tuple[int, ...]) -> None:
    assert default_grid(shape, n_procs) == grid


@given(st.lists(st.integers(0, 2000), min_size=1, max_size=4), st.integers(1, 200))
def test_default_grids_use_every_process(shape: list[int], n_procs: int) -> None:
    assert math.prod(default_grid(shape, n_procs)) == n_procs
