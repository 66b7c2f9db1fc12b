"""Which layout a result takes from its operands."""

from __future__ import annotations

import pytest

from pgaspy.layout import (
    BlockDim,
    CyclicDim,
    Distribution,
    Layout,
    default_layout,
    one_process,
    replicated,
    whole_dim,
)
from pgaspy.planning.result_layout import result_layout
from pgaspy.planning.view import View, whole

P = 6


def bound(*formats: str, shape: tuple[int, ...], grid: tuple[int, ...] | None = None,
          axes: tuple[int | None, ...] | None = None) -> View:
    return whole(Distribution(*formats, grid=grid, axes=axes).bind(shape, P))


def result(shape: tuple[int, ...], *views: View) -> Layout:
    return result_layout(shape, [view.broadcast_to(shape) for view in views], default_layout(shape, P))


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


def test_block_is_dealt_out_afresh() -> None:
    a = bound("block", "block", shape=(20, 30))
    layout = result((18, 28), a.index((slice(1, -1), slice(2, None))))
    assert layout == default_layout((18, 28), P)
    assert layout.dims == (BlockDim(18, 3, 0, 18), BlockDim(28, 2, 1, 28))


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


@pytest.mark.parametrize("views", [[], [bound("block", shape=(20,)).index(3)]])
def test_scalars_are_replicated(views: list[View]) -> None:
    assert result((), *views) == replicated((), P)


def test_no_operand_gives_the_default() -> None:
    assert result((4, 5)) == default_layout((4, 5), P)


def test_balance_of_a_small_view() -> None:
    """A small corner of a block matrix lies on one process; the result of an operation on it does not."""
    a = bound("block", shape=(600,))
    assert result((60,), a.index(slice(0, 60))).max_local_size == 10
