"""The order in which a scan comes to the parts of processes, against reckoning by single indices."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from pgaspy.dims import BlockDim, CyclicDim, Dim
from pgaspy.planning.scans import Order, runs_of


@st.composite
def dims(draw: st.DrawFn) -> Dim:
    extent, n = draw(st.integers(1, 40)), draw(st.integers(1, 9))
    if draw(st.booleans()):
        block = draw(st.integers(1, 6))
        return CyclicDim(extent, n, 0, block, draw(st.integers(0, n - 1)), draw(st.integers(1, block)))
    start, step = draw(st.integers(0, 20)), draw(st.integers(1, 3))
    return BlockDim(extent, n, 0, start + step * extent + draw(st.integers(0, 20)), start, step)


def owners(dim: Dim, is_reversed: bool) -> list[int]:
    """Of each index, in the order of the scan."""
    found = [int(dim.owner_from_part(dim.part_from_index(i))) for i in range(dim.extent)]
    return found[::-1] if is_reversed else found


@given(dims(), st.booleans())
def test_runs_and_positions(dim: Dim, is_reversed: bool) -> None:
    """Part after part in the order of rounds and positions, the runs give the owners of all indices."""
    order = Order(dim, is_reversed)
    lengths = {}
    for coord in range(dim.n_procs):
        position = order.position_from_coord(coord)
        assert order.coord_from_position(position) == coord
        lengths[position] = [run.length for run in runs_of(order, coord) for _ in range(run.n_parts)]
    assert sorted(lengths) == [*range(dim.n_procs)]
    found = []
    for k in range(max(map(len, lengths.values()))):
        for position in range(dim.n_procs):
            found += lengths[position][k:k + 1] and [order.coord_from_position(position)] * lengths[position][k]
    assert found == owners(dim, is_reversed)
    if dim.n_procs > 1:
        assert max(map(len, lengths.values())) <= order.n_rounds


@given(dims(), st.booleans(), st.data())
def test_which_positions_have_elements(dim: Dim, is_reversed: bool, data: st.DataObject) -> None:
    order = Order(dim, is_reversed)
    first = data.draw(st.integers(0, dim.n_procs - 1))
    last = data.draw(st.integers(first, dim.n_procs - 1))
    coords = {order.coord_from_position(position) for position in range(first, last + 1)}
    assert order.has_elements(first, last) == bool(coords & {*owners(dim, is_reversed)})


@given(dims().filter(lambda dim: isinstance(dim, BlockDim)), st.booleans())
def test_neighbours(dim: BlockDim, is_reversed: bool) -> None:
    order, found = Order(dim, is_reversed), [*dict.fromkeys(owners(dim, is_reversed))]
    for coord, before, after in zip(found, [None, *found], [*found[1:], None], strict=False):
        assert order.neighbours(coord) == (before, after)


def test_the_order_of_many_processes_is_reckoned_without_a_walk_through_them() -> None:
    dim = BlockDim(10**12, 10**9, 0, 10**12)
    order = Order(dim, False)
    assert order.has_elements(5, 10**9 - 1)
    assert order.neighbours(7) == (6, 8)
    runs = runs_of(Order(CyclicDim(10**9, 10**6, 0, 10), True), 10**6 - 1)
    assert [(run.n_parts, run.length) for run in runs] == [(1, 10), (98, 10), (1, 10)]
