from __future__ import annotations

import itertools
import math
from typing import Any

import numpy as np
import pytest

import pgaspy as pg
from pgaspy.dims import BlockDim, CyclicDim, whole_dim
from pgaspy.distribution import default_layout
from pgaspy.kernels.bindings import OTHER, OWN
from pgaspy.layout import Layout, one_process, replicated
from pgaspy.planning.reshapes import plan_reshape
from pgaspy.planning.transfers import Message
from tests.costs import cheaply
from tests.together import assert_equal, collectively, raises_everywhere

D = pg.Distribution


# Plans of simulated jobs, against element-by-element reckoning --------------------------------------------------------


def flat_indices(layout: Layout, rank: int) -> np.ndarray:
    """The flat global indices of the local part of a rank, in the order of its storage; one element at a time."""
    coords = layout.coords_from_rank(rank)
    if not layout.holds(coords):
        return np.empty(0, np.int64)
    owned = []
    for d, dim in enumerate(layout.dims):
        coord = layout.dim_coord(d, coords)
        owned.append([i for i in range(dim.extent) if dim.owner_from_part(dim.part_from_index(i)) == coord])
    flat = [np.ravel_multi_index(index, layout.shape) if index else 0 for index in itertools.product(*owned)]
    return np.array(flat, np.int64)


def places(message: Message, side: int) -> np.ndarray:
    """The flat local indices of a message's elements on one side, in the order in which they travel."""
    (table,) = message.ranges
    column = {OWN: 0, OTHER: 2}[side]
    return np.concatenate([start + step * np.arange(length) for start, step, length in
                           table[:, [column, column + 1, 4]].tolist()])


def executed(dst: Layout, src: Layout) -> None:
    """Play all ranks: the destination has, at each place, the flat index that belongs there."""
    ranks = range(src.n_procs)
    sources = [flat_indices(src, rank) for rank in ranks]
    targets = [flat_indices(dst, rank) for rank in ranks]
    plans = [plan_reshape(dst, src, rank) for rank in ranks]
    for rank, plan in enumerate(plans):
        storage = np.full(len(targets[rank]), -1)
        assert [m.peer for m in plan.receives] == sorted({m.peer for m in plan.receives} - {rank})
        assert [m.peer for m in plan.sends] == sorted({m.peer for m in plan.sends} - {rank})
        for message in plan.receives:
            (sent,) = [m for m in plans[message.peer].sends if m.peer == rank]
            storage[places(message, OWN)] = sources[message.peer][places(sent, OWN)]
        for message in plan.sends:
            assert [m.size for m in plans[message.peer].receives if m.peer == rank] == [message.size]
        if plan.local is not None:
            storage[places(plan.local, OWN)] = sources[rank][places(plan.local, OTHER)]
        for message in (*plan.sends, *plan.receives):
            contiguous = message.offset is not None
            if contiguous:
                assert (places(message, OWN) == message.offset + np.arange(message.size)).all()
        np.testing.assert_array_equal(storage, targets[rank])


def block(extents: tuple[int, ...], *grid: int) -> Layout:
    return Layout(grid, [BlockDim(n, p, axis, n) for axis, (n, p) in enumerate(zip(extents, grid, strict=True))])


def cyclic(extents: tuple[int, ...], blocks: tuple[int, ...], *grid: int) -> Layout:
    return Layout(grid, [CyclicDim(n, p, axis, b) for axis, (n, p, b) in
                         enumerate(zip(extents, grid, blocks, strict=True))])


LAYOUTS_OF_24_ON_6 = [
    block((24,), 6), cyclic((24,), (1,), 6), cyclic((24,), (3,), 6), cyclic((24,), (50,), 6),
    block((4, 6), 3, 2), block((4, 6), 6, 1), block((6, 4), 1, 6), cyclic((6, 4), (1, 1), 2, 3),
    cyclic((4, 6), (2, 2), 2, 3), cyclic((24, 1), (5, 1), 6, 1), block((1, 24), 2, 3),
    block((2, 3, 4), 3, 1, 2), cyclic((4, 3, 2), (1, 2, 1), 1, 2, 3),
    Layout((6,), [whole_dim(8), CyclicDim(3, 6, 0, 1)]),
    Layout((6,), [BlockDim(8, 6, 0, 8), whole_dim(3)]),
    Layout((2, 3), [CyclicDim(12, 3, 1, 2, 2, 1), CyclicDim(2, 2, 0, 1, 1)]),
]


@pytest.mark.parametrize("dst", LAYOUTS_OF_24_ON_6, ids=repr)
@pytest.mark.parametrize("src", LAYOUTS_OF_24_ON_6, ids=repr)
def test_plans(dst: Layout, src: Layout) -> None:
    executed(dst, src)


@pytest.mark.parametrize("src", [
    Layout((2, 3), [BlockDim(24, 3, 1, 24)]),  # the first axis holds replicas
    Layout((3, 2), [CyclicDim(8, 3, 0, 1), whole_dim(3)]),
    Layout((2, 3), [BlockDim(24, 3, 1, 24)], (1, None)),  # the first axis is pinned
    Layout((3, 2), [CyclicDim(8, 3, 0, 1), whole_dim(3)], (None, 0)),
], ids=repr)
@pytest.mark.parametrize("dst", LAYOUTS_OF_24_ON_6, ids=repr)
def test_plans_from_replicas_and_pins(dst: Layout, src: Layout) -> None:
    executed(dst, src)


@pytest.mark.parametrize("make", [lambda shape: replicated(shape, 4), lambda shape: one_process(shape, 4, 2)])
def test_plans_that_move_nothing(make: Any) -> None:
    executed(make((4, 6)), make((24,)))


def test_aligned_rows_are_one_run() -> None:
    dst, src = block((1000, 600), 10, 1), block((600_000,), 10)
    for rank in range(10):
        plan = plan_reshape(dst, src, rank)
        assert plan.is_local
        assert plan.local is not None
        assert len(plan.local.ranges[0]) == 1


def test_cost_follows_the_own_part() -> None:
    n_procs = 1_000_000
    dst, src = block((n_procs, 4), n_procs, 1), cyclic((4 * n_procs,), (4,), n_procs)
    assert cheaply(lambda: plan_reshape(dst, src, 123_456)).is_local
    dst, src = default_layout((2 * n_procs, 2), n_procs), cyclic((4 * n_procs,), (1,), n_procs)
    plan = cheaply(lambda: plan_reshape(dst, src, 123_456))
    assert len(plan.receives) + len(plan.sends) <= 8


@pytest.mark.parametrize("size", [1, 2, 3])
def test_what_is_behind_the_last_dimension_that_is_dealt_out_is_not_walked(size: int) -> None:
    src, dst = (default_layout(shape, size) for shape in ((10**6, 100, 4), (10**8, 4)))
    for rank in range(size):
        plan = cheaply(lambda: plan_reshape(dst, src, rank))  # noqa: B023  (called at once)
        messages = [*plan.sends, *plan.receives, *([plan.local] if plan.local else [])]
        assert all(len(table) == 1 for message in messages for table in message.ranges)



# Arrays ---------------------------------------------------------------------------------------------------------------

SHAPES = [
    [(24,), (4, 6), (6, 4), (2, 3, 4), (24, 1), (1, 24), (2, 1, 12), (-1,), (3, -1), (2, 2, 2, 3)],
    [(7,), (7, 1), (1, 7), (1, 1, 7)],
    [(1,), (), (1, 1)],
    [(0,), (0, 5), (3, 0, 2), (1, 0)],
    [(13 * 11,), (13, 11), (11, 13)],
    [(5, 7, 3), (105,), (15, 7), (5, 21), (3, 5, 7)],
]
PAIRS = [pair for shapes in SHAPES for pair in itertools.product(shapes, repeat=2) if -1 not in pair[0]]

KINDS = ["block", "cyclic", "cyclic(3)"]

mpi = pytest.mark.mpi


def numbers(shape: tuple[int, ...], dtype: Any = float) -> np.ndarray:
    return np.arange(math.prod(shape)).reshape(shape).astype(dtype)


@mpi
@pytest.mark.parametrize("kind", KINDS)
def test_reshape(kind: str) -> None:
    """Every pair of shapes with one of the kinds, which is another one on another number of processes."""
    for shape, wanted in PAIRS[(KINDS.index(kind) + pg.SIZE) % len(KINDS)::len(KINDS)]:
        expected = numbers(shape)
        array = pg.array(expected, layout=D(*[kind] * len(shape)) if shape else None)
        result = array.reshape(wanted)
        assert_equal(result, expected.reshape(wanted))
        if not result.layout.is_replicated and result._base is not array._base:
            collectively(result.layout == pg.empty(result.shape).layout, f"{result.layout}")


@mpi
@pytest.mark.parametrize("layout", [D("*", "*"), D("*", "block"), D("cyclic(2)", "*"),
                                    D("block", "*", grid=(1, pg.SIZE), axes=(1, None)),
                                    D("block", "*", grid=(1, pg.SIZE), axes=(0, None)),
                                    D("block", "cyclic", axes=(1, 0))], ids=str)
def test_reshape_of_other_distributions(layout: pg.Distribution) -> None:
    expected = numbers((6, 10))
    array = pg.array(expected, layout=layout)
    for wanted in (60,), (10, 6), (3, 4, 5), (2, 30), (6, 2, 5):
        assert_equal(array.reshape(wanted), expected.reshape(wanted))


@mpi
def test_reshape_keeps_replicas_and_the_one_process() -> None:
    expected = numbers((6, 4))
    result = pg.array(expected, layout=D("*", "*")).reshape(3, 8)
    collectively(result.layout.is_replicated, f"{result.layout}")
    assert_equal(result, expected.reshape(3, 8))
    result = pg.array(expected, onenode=pg.SIZE - 1).reshape(24)
    collectively(result.local().size == (24 if pg.RANK == pg.SIZE - 1 else 0), f"{result.layout}")
    assert_equal(result, expected.reshape(24))


@mpi
@pytest.mark.parametrize("dtype", ["?", "i2", "f4", "c16"])
def test_reshape_of_dtypes(dtype: str) -> None:
    expected = numbers((9, 8), dtype)
    assert_equal(pg.array(expected).reshape(4, 18), expected.reshape(4, 18))


@mpi
@pytest.mark.parametrize("key", [np.s_[1:9, 2:8], np.s_[::-1], np.s_[::3, ::2], np.s_[4], np.s_[None, 3:5, :]], ids=str)
@pytest.mark.parametrize("layout", [None, D("cyclic(2)", "cyclic(4)")], ids=str)
def test_reshape_of_views(layout: pg.Distribution | None, key: Any) -> None:
    expected = numbers((12, 8))
    array = pg.array(expected, layout=layout)
    assert_equal(array[key].reshape(-1), expected[key].reshape(-1))
    assert_equal(array[key].T.reshape(2, -1), expected[key].T.reshape(2, -1))
    assert_equal(array.T.reshape(6, 16), expected.T.reshape(6, 16))
    assert_equal(pg.broadcast_to(array[0], (3, 8)).reshape(4, 6), np.broadcast_to(expected[0], (3, 8)).reshape(4, 6))


@mpi
def test_extents_of_one_come_and_go_as_a_view() -> None:
    expected = numbers((4, 1, 6))
    array = pg.array(expected)
    view = array.reshape(1, 4, 6, 1)
    view[0, 2:, :, 0] = -1
    expected[2:] = -1
    assert_equal(array, expected)
    assert_equal(array[:, :, ::-2].reshape(4, 3), expected[:, :, ::-2].reshape(4, 3))


@mpi
def test_a_copy_is_one_also_of_what_was_recorded_before() -> None:
    array = pg.zeros((6, 6))
    array[...] = 2
    copy = array.reshape(36)
    array[...] = 3
    assert_equal(copy, np.full(36, 2.0))
    assert_equal(np.reshape(array, (4, 9)), np.full((4, 9), 3.0))
    assert_equal(array.ravel(), np.full(36, 3.0))


@mpi
@pytest.mark.parametrize(("shape", "wanted", "match"), [
    ((6,), (4,), r"cannot reshape array of size 6 into shape \(4,\)"),
    ((2, 3), (4, -1), "cannot reshape array of size 6 into shape"),
    ((2, 3), (-1, -1), "can only specify one unknown dimension"),
    ((0,), (0, -1), "cannot reshape array of size 0 into shape"),
    ((6,), (), "cannot reshape array of size 6 into shape"),
], ids=str)
def test_reshape_refuses(shape: tuple[int, ...], wanted: tuple[int, ...], match: str) -> None:
    array = pg.ones(shape)
    raises_everywhere(ValueError, match, lambda: array.reshape(wanted))
    assert_equal(array.reshape(-1), np.ones(math.prod(shape)))
