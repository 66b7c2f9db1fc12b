"""Which layout a result takes from its operands."""

from __future__ import annotations

import itertools
from collections.abc import Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pgaspy.dims import BlockDim, CyclicDim, whole_dim
from pgaspy.distribution import Distribution, default_layout
from pgaspy.layout import Layout, layout_of_number, one_process, replicated
from pgaspy.planning import result_layout as module
from pgaspy.planning.result_layout import WORTH_MESSAGES, result_layout
from pgaspy.planning.view import View, whole

P = 6


@pytest.fixture(autouse=True, scope="module")
def _however_small() -> Iterator[None]:
    """What is out of balance is dealt out afresh, however few its elements are."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "WORTH_MESSAGES", 0)
        yield


def bound(*formats: str, shape: tuple[int, ...], grid: tuple[int, ...] | None = None,
          axes: tuple[int | None, ...] | None = None) -> View:
    return whole(Distribution(*formats, grid=grid, axes=axes).bind(shape, P))


def result(shape: tuple[int, ...], *views: View) -> Layout:
    return result_layout(shape, [view.broadcast_to(shape) for view in views], lambda shape: default_layout(shape, P))


def test_the_first_operand_decides() -> None:
    a, b = bound("cyclic(2)", "cyclic(3)", shape=(8, 9)), bound("block", "block", shape=(8, 9), grid=(2, 3))
    assert result((8, 9), a, b) == a.layout
    assert result((8, 9), b, a) == b.layout


def test_cyclic_inherits_the_alignment() -> None:
    a = bound("cyclic(4)", "*", shape=(40, 5))
    assert result((35, 5), a.index(slice(5, None))).dims[0] == CyclicDim(35, 6, 0, 4, 1, 3)


def test_cyclic_with_a_step_that_does_not_divide_is_dealt_out_afresh() -> None:
    a = bound("cyclic(4)", "*", shape=(40, 5))
    assert result((14, 5), a.index(slice(None, None, 3))).dims[0] == CyclicDim(14, 6, 0, 4)
    assert result((40, 5), a.index(slice(None, None, -1))).dims[0] == CyclicDim(40, 6, 0, 4)


def test_block_inherits_the_window() -> None:
    a = bound("block", "block", shape=(20, 30))
    view = a.index((slice(1, -1), slice(2, None)))
    layout = result((18, 28), view)
    assert layout == view.own_layout
    assert layout.dims == (BlockDim(18, 3, 0, 20, 1), BlockDim(28, 2, 1, 30, 2))


def test_a_window_with_too_long_a_part_is_dealt_out_afresh() -> None:
    """In the dimension in which it has one: of three parts of 20 elements, the first."""
    a = bound("block", "block", shape=(60, 30))
    layouts = [result((n, 28), a.index((slice(0, n), slice(2, None)))) for n in (40, 39)]
    assert [layout.dims[0] for layout in layouts] == [BlockDim(40, 3, 0, 60), BlockDim(39, 3, 0, 39)]
    assert all(layout.dims[1] == BlockDim(28, 2, 1, 30, 2) for layout in layouts)


@pytest.mark.parametrize("n", [1, 10, 100])
def test_what_is_out_of_balance_stays_where_little_is_gained(n: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """The upper half of a matrix on two processes, whose part is n * n elements smaller when it is dealt out afresh."""
    monkeypatch.setattr(module, "WORTH_MESSAGES", n * n + 1)
    for is_more in (False, True):
        a = whole(default_layout((4 * n, n + is_more), 2))
        half = a.index(slice(2 * n, None))
        found = result_layout(half.shape, [half.index((slice(None), slice(0, 1))).broadcast_to(half.shape), a.index(
            0).broadcast_to(half.shape)], lambda shape: default_layout(shape, 2))
        assert found == (half.own_layout if not is_more else default_layout(half.shape, 2))


@pytest.mark.parametrize("n_procs", [2, 4, 64])
@pytest.mark.parametrize("shape", [(1 << 12, 1 << 12), (1 << 20, 4), (4, 1 << 20)])
def test_what_is_gained_is_counted_in_elements(shape: tuple[int, int], n_procs: int,
                                               monkeypatch: pytest.MonkeyPatch) -> None:
    """Of corners of a matrix, none has a part that is by more longer than it has to be: than half as long again."""
    monkeypatch.setattr(module, "WORTH_MESSAGES", WORTH_MESSAGES)
    view, longest, are_windows = whole(default_layout(shape, n_procs)), shape.index(max(shape)), set()
    for share in (4, 32, 128, 1024):
        corner = view.index(tuple([slice(n - max(n // share, 1), None) for n in shape]))
        fresh = default_layout(corner.shape, n_procs)
        found = result_layout(corner.shape, [corner], _unwanted)
        assert found.max_local_size < WORTH_MESSAGES + 9 * fresh.max_local_size // 4
        are_windows.add(found.dims[longest] == corner.own_layout.dims[longest])  # type: ignore[union-attr]
    assert True in are_windows


SECTIONS = st.tuples(st.integers(0, 40), st.integers(1, 5), st.integers(0, 60), st.booleans())


@given(st.integers(1, 60), st.integers(1, 9), st.lists(SECTIONS, min_size=1, max_size=4))
def test_no_part_is_larger_than_half_as_long_again(n: int, n_procs: int, sections: list[tuple[int, ...]]) -> None:
    """Of a section of a section: it lies where the section does, or is dealt out afresh."""
    layout = default_layout((n,), n_procs)
    for start, step, length, is_reversed in sections:
        if not n:
            return
        start %= n
        view = whole(layout).index(slice(start, start + length, step))
        window = view.own_layout
        fresh, n = default_layout(view.shape, n_procs), view.shape[0]
        layout = result_layout(view.shape, [view.index(slice(None, None, -1)) if is_reversed else view],
                               lambda shape, n_procs=n_procs: default_layout(shape, n_procs))
        assert window is not None
        is_balanced = n_procs > 1 and 0 < window.max_local_size <= fresh.max_local_size * 3 // 2
        if window.dims[0] == BlockDim(n, n_procs, 0, window.dims[0].parent_extent, window.dims[0].start):
            assert layout == (window if is_balanced else fresh)
        else:  # with a step, what parts can be at most is looked at
            assert layout == fresh or (is_balanced and layout == window)


def _unwanted(shape: tuple[int, ...]) -> Layout:
    raise AssertionError("the layout follows from that of the operand")


@pytest.mark.parametrize("n_procs", [2, 3, 4, 6, 16, 64])
def test_windows_of_windows_do_not_drift(n_procs: int) -> None:
    """However often the edges are cut off, or every second element is taken, nothing moves."""
    n = 32 * n_procs + 1
    inside, coarse = (default_layout((n,), n_procs) for _ in range(2))
    for k in range(1, n_procs):
        inside = result_layout((n - 2 * k,), [whole(inside).index(slice(1, -1))], _unwanted)
        assert inside.dims[0] == BlockDim(n - 2 * k, n_procs, 0, n, k)
    for k in range(1, 5):
        view = whole(coarse).index(slice(None, None, 2))
        coarse = result_layout(view.shape, [view], _unwanted)
        assert coarse.dims[0] == BlockDim((n - 1) // 2**k + 1, n_procs, 0, n, 0, 2**k)


def result_of_sum(shape: tuple[int, ...], *views: View) -> Layout:
    """Of each and what was summed before."""
    layout = result(shape, views[0])
    for view in views[1:]:
        layout = result(shape, whole(layout), view)
    return layout


def test_a_sum_of_neighbours_lies_as_the_interior_does() -> None:
    """Of four neighbours, in any order; of two in a row at any distance; of every second element."""
    a = bound("block", "block", shape=(60, 60))
    interior, neighbours = stencil(a)
    for some in itertools.permutations(neighbours):
        assert result_of_sum((58, 58), *some) == interior.own_layout
    for some in itertools.permutations([slice(None, -4), slice(1, -3), slice(2, -2), slice(3, -1), slice(4, None)]):
        assert result_of_sum((56, 60), *map(a.index, some)) == a.index(slice(2, -2)).own_layout
    odd = bound("block", shape=(61,))
    assert result_of_sum((30,), odd.index(slice(None, -1, 2)), odd.index(slice(2, None, 2))) == odd.index(
        slice(1, None, 2)).own_layout


def stencil(a: View) -> tuple[View, list[View]]:
    """The interior of a matrix, and its four shifted sections."""
    low, inside, high = slice(None, -2), slice(1, -1), slice(2, None)
    return a.index((inside, inside)), [a.index(key) for key in (
        (low, inside), (high, inside), (inside, low), (inside, high))]


def test_a_difference_lies_as_its_first_operand_does() -> None:
    """As both are as close to the middle: so what is added to `A[1:]` lies as that does, or else as `A[:-1]`."""
    a = bound("block", shape=(60,))
    after, before = a.index(slice(1, None)), a.index(slice(None, -1))
    assert result((59,), after, before) == after.own_layout
    assert result((59,), before, after) == before.own_layout


def test_only_windows_of_one_parent_and_step_have_one_in_between() -> None:
    a, b = bound("block", shape=(60,)), bound("block", shape=(64,))
    first, every_second = a.index(slice(None, -4)), a.index(slice(None, 56, 2))
    assert result((56,), first, a.index(slice(4, None))) == a.index(slice(2, -2)).own_layout
    assert result((56,), first, b.index(slice(8, None))) == first.own_layout
    assert result((28,), every_second, a.index(slice(30, 58))) == every_second.own_layout


def test_a_reversed_operand_lies_as_if_it_were_in_order() -> None:
    a = bound("block", shape=(60,)).index(slice(2, None))
    assert result((58,), a.index(slice(None, None, -1))) == a.own_layout


def test_each_dimension_follows_the_operand_that_has_its_extent() -> None:
    """The differences of all pairs: rows as the first operand lies, columns as the second does."""
    grid = (3, 2)
    x, y = bound("block", shape=(20,), grid=grid, axes=(0,)), bound("cyclic(2)", shape=(30,), grid=grid, axes=(1,))
    assert result((20, 30), x.index((slice(None), None)), y).dims == (BlockDim(20, 3, 0, 20), CyclicDim(30, 2, 1, 2))


def test_one_axis_for_two_dimensions_gives_the_default() -> None:
    """x[:, None] - x[None, :]: both dimensions would be dealt out over the same axis."""
    x = bound("block", shape=(20,))
    assert result((20, 20), x.index((slice(None), None)), x.index(None)) == default_layout((20, 20), P)


def test_an_axis_without_a_dimension_gives_the_default() -> None:
    a = bound("block", "block", shape=(20, 30))
    assert result((30,), a.index(3)) == default_layout((30,), P)
    column = a.index((slice(None), slice(3, 4)))
    assert result((20, 7), column, whole(replicated((7,), P))) == default_layout((20, 7), P)


def test_an_axis_of_one_process_needs_no_dimension() -> None:
    a = bound("block", "block", shape=(20, 30), grid=(6, 1))
    assert result((20,), a.index((slice(None), 3))).grid == (6, 1)


def test_operands_on_different_grids() -> None:
    x = bound("block", shape=(20,), grid=(3, 2), axes=(0,)).index((slice(None), None))
    y = bound("block", shape=(30,))
    assert result((20, 30), x, y) == default_layout((20, 30), P)


def test_replicated_operands_choose_only_among_themselves() -> None:
    a, r = bound("cyclic(2)", "*", shape=(8, 9)), whole(replicated((8, 9), P))
    assert result((8, 9), r, a) == a.layout
    assert result((8, 9), r, r) == replicated((8, 9), P)


def test_operands_on_one_process() -> None:
    a, b = (whole(one_process((8, 9), P, rank)) for rank in (4, 2))
    assert result((8, 9), a, b) == one_process((8, 9), P, 4)
    assert result((8, 9), a, bound("block", "*", shape=(8, 9))).is_distributed
    assert result((8, 9), whole(replicated((9,), P)), a) == replicated((8, 9), P)


def test_transposed_operands() -> None:
    a = bound("block", "cyclic(3)", shape=(20, 30)).transpose((1, 0))
    assert result((30, 20), a).dims == (CyclicDim(30, 2, 1, 3), BlockDim(20, 3, 0, 20))


def test_undistributed_dimensions_stay_so() -> None:
    a = bound("block", "*", shape=(20, 30))
    assert result((20, 28), a.index((slice(None), slice(2, None)))).dims == (BlockDim(20, 6, 0, 20), whole_dim(28))


def test_numbers_lie_where_the_first_operand_does_that_not_all_have() -> None:
    a, b, r = bound("block", shape=(20,)), bound("block", "cyclic", shape=(8, 9)), whole(replicated((4,), P))
    assert result(()) == result((), r.index(2)) == replicated((), P)
    assert result((), r.index(2), a.index(3), a.index(9)) == layout_of_number((P,), (1,))
    assert result((), b.index((5, 4)), a.index(3)) == layout_of_number(b.layout.grid, (2, 0))


def test_rows_lie_where_the_first_one_does(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "WORTH_MESSAGES", WORTH_MESSAGES)
    a = bound("block", "cyclic(2)", shape=(600, 700))
    b = bound("block", "*", shape=(600, 700))
    row, other, column, fixed = a.index(150), a.index(599), a.index((slice(None), 3)), b.index(450)
    dims = a.layout.dims
    assert a.layout.grid == (3, 2)
    assert result((700,), row, other) == Layout(a.layout.grid, dims[1:], (0, None))
    assert result((700,), other, row) == Layout(a.layout.grid, dims[1:], (2, None))
    assert result((600,), column).pins == (None, 1)
    assert result((700,), fixed) == Layout((P,), [whole_dim(700)], (4,))
    assert result((700,), row, fixed) == default_layout((700,), P)  # of two grids


def test_numbers_on_other_grids_leave_rows_where_they_are(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "WORTH_MESSAGES", WORTH_MESSAGES)
    a, x = bound("block", "block", shape=(600, 700)), bound("block", shape=(20,))
    row, number = a.index(150), x.index(19)
    own = result((700,), row)
    assert own.pins == (0, None)
    assert result((700,), row, number) == result((700,), number, row) == own
    assert result((600, 700), number, a) == a.layout
    assert result((700,), number) == Layout((P,), [whole_dim(700)], (P - 1,))
    assert result((700,), a.index((599, 0)), row).pins == (2, None)  # the first one's place, on one grid


def test_what_all_processes_along_an_axis_have_stays_so_where_it_is_small(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "WORTH_MESSAGES", WORTH_MESSAGES)
    grid = (3, 2)
    copies = bound("block", shape=(700,), grid=grid, axes=(1,))
    row = bound("block", "block", shape=(600, 700), grid=grid).index(150)
    assert copies.layout.replica_axes == (0,)
    assert result((700,), copies, copies) == copies.layout
    assert result((699,), copies.index(slice(1, None))).replica_axes == (0,)
    assert result((700,), copies, row).pins == (0, None)  # as no more than one process has the row
    n = 2 * WORTH_MESSAGES
    assert result((n,), bound("block", shape=(n,), grid=grid, axes=(1,))).replica_axes == (0,)
    assert result((n + 2,), bound("block", shape=(n + 2,), grid=grid, axes=(1,))) == default_layout((n + 2,), P)


def test_long_rows_are_dealt_out_afresh(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "WORTH_MESSAGES", WORTH_MESSAGES)
    for n in WORTH_MESSAGES, WORTH_MESSAGES + 1:
        layout = result((n,), bound("block", "*", shape=(60, n)).index(7))
        assert layout.is_pinned == (n == WORTH_MESSAGES)


def test_no_operand_gives_the_default() -> None:
    assert result((4, 5)) == default_layout((4, 5), P)


def test_balance_of_a_small_view() -> None:
    """A small corner of a block matrix lies on one process; the result of an operation on it does not."""
    a = bound("block", shape=(600,))
    assert result((60,), a.index(slice(0, 60))).max_local_size == 10


def test_results_of_the_same_dimensions_have_one_layout() -> None:
    """What has been worked out about it is found again for the next column."""
    a = bound("block", "*", shape=(600, 7))
    assert result((600,), a.index((slice(None), 3))) is result((600,), a.index((slice(None), 5)))
    assert result((5, 7), a.index(slice(5))) is result((5, 7), a.index(slice(5)), a.index(slice(5)))
