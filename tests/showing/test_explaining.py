"""What programs move, on simulated jobs of many processes: the plans that `explain` shows."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from typing import Any

import pytest

import pgaspy as pg
from pgaspy.execution import recording
from pgaspy.scheduling.elementwise import CUT_FROM_ACCESSES
from pgaspy.showing.explaining import Explanation
from tests.small_programs import Program
from tests.together import collectively

N = 8193
ITEMSIZE = 8


def heat_sweep(layout: pg.Distribution | None, n: int = N) -> Callable[[], None]:
    def statement() -> None:
        full = pg.empty((n, n), layout=layout)
        work = pg.empty_like(full[1:-1, 1:-1]) if layout is None else pg.empty((n - 2, n - 2), layout=layout)
        center, up, down = full[1:-1, 1:-1], full[:-2, 1:-1], full[2:, 1:-1]
        left, right = full[1:-1, :-2], full[1:-1, 2:]
        work[...] = 0.2 * (center + up + down + left + right)
    return statement


def some_ranks(extent: int) -> list[int]:
    """Corners, edges and the middle of a square grid."""
    places = {0, extent // 2, extent - 1}
    return [row * extent + column for row in places for column in places]


@pytest.mark.parametrize("extent", [2, 3, 4, 7, 8, 16, 31, 32, 63, 64])
def test_heat_on_blocks_moves_the_edges(extent: int) -> None:
    for rank in some_ranks(extent):
        plan = pg.explain(heat_sweep(None), size=extent**2, rank=rank)
        largest = -(-N // extent)
        assert 0 < plan.nbytes_received <= 4 * largest * ITEMSIZE
        assert plan.n_messages <= 4
        assert plan.imbalance < 1.1


@pytest.mark.parametrize("extent", [3, 5, 7, 31, 63])
def test_heat_on_unaligned_blocks_moves_one_row_and_column_for_each_operand(extent: int) -> None:
    """Blocks of n and of n - 2 elements, each dealt out by itself, begin up to one element apart."""
    for rank in some_ranks(extent):
        plan = pg.explain(heat_sweep(pg.Distribution("block", "block")), size=extent**2, rank=rank)
        largest = -(-N // extent)
        assert 0 < plan.nbytes_received <= 5 * 2 * (largest + 1) * ITEMSIZE


@pytest.mark.parametrize("extent", [4, 8, 16, 32, 64])
@pytest.mark.parametrize("n", [1000, 1025, N])
def test_a_step_with_new_arrays_moves_the_edges(extent: int, n: int) -> None:
    """Once, whatever the order of the neighbours: what is computed lies where it is assigned to."""
    low, inside, high = slice(None, -2), slice(1, -1), slice(2, None)
    keys = [(low, inside), (high, inside), (inside, low), (inside, high)]
    for order in (keys, keys[::-1], [keys[2], keys[0], keys[3], keys[1]]):
        def step(order: Sequence[tuple[slice, slice]] = order) -> None:
            u = pg.empty((n, n))
            a, b, c, d = (u[key] for key in order)
            new = 0.25 * (a + b + c + d)
            u[1:-1, 1:-1] = new

        for rank in some_ranks(extent):
            plan = pg.explain(step, size=extent**2, rank=rank)
            assert 0 < plan.n_messages <= 4
            assert plan.nbytes_received <= 4 * -(-n // extent) * ITEMSIZE


@pytest.mark.parametrize("extent", [4, 8, 32, 64])
@pytest.mark.parametrize("n", [1000, 2049])
def test_a_step_has_an_interior_and_four_edges(extent: int, n: int) -> None:
    """And two columns that are packed, to be sent; what is assigned is cut at the edges alone, which are sent next."""
    def step() -> None:
        u = pg.empty((n, n))
        new = 0.25 * (u[:-2, 1:-1] + u[2:, 1:-1] + u[1:-1, :-2] + u[1:-1, 2:])
        u[1:-1, 1:-1] = new

    *computed, assigned = pg.explain(step, size=extent**2, rank=extent + 1).operations
    assert sum(plan.n_pieces for plan in computed) == 5 + 2
    assert assigned.n_pieces == (5 if 2 * (n // extent)**2 >= CUT_FROM_ACCESSES else 1)


@pytest.mark.parametrize("size", [2, 6, 16])
@pytest.mark.parametrize("shape", [(2, 400, 400), (3, 50, 400), (400, 3)])
def test_components_lie_side_by_side(shape: tuple[int, ...], size: int) -> None:
    """Of an array that is laid out by itself: what works on several of them at once sends nothing."""
    def product() -> None:
        u = pg.empty(shape)
        one, another = (u[0], u[1]) if shape[0] < shape[-1] else (u[:, 0], u[:, 1])
        one *= another

    for rank in (0, size // 2, size - 1):
        assert pg.explain(product, size=size, rank=rank).n_messages == 0


@pytest.mark.parametrize("size", [2, 3, 16, 100])
def test_every_second_element_stays_where_it_is(size: int) -> None:
    def coarse() -> None:
        a = pg.empty((1025, 1025))
        for _ in range(4):
            a = a[::2, ::2] * 1.0

    for rank in (0, size // 2, size - 1):
        assert pg.explain(coarse, size=size, rank=rank).n_messages == 0


@pytest.mark.parametrize("size", [2, 3, 4, 6])
@pytest.mark.parametrize("j", [0, 100, 200, 300, 398])
def test_an_elimination_sends_its_row_and_column_alone(size: int, j: int) -> None:
    """However little of the corner that it changes the other processes have: the product lies where that does."""
    def eliminate() -> None:
        A = pg.empty((400, 400))
        A[j + 1:, j + 1:] -= A[j + 1:, j:j + 1] * A[j, j + 1:]

    for rank in range(size):
        plan = pg.explain(eliminate, size=size, rank=rank)
        assert plan.nbytes_received <= 2 * (399 - j) * ITEMSIZE
        assert plan.operations[-1].n_sends == 0


@pytest.mark.parametrize("extent", [2, 3, 4, 8, 16, 64])
def test_heat_on_cyclic_blocks_moves_their_edges(extent: int) -> None:
    """Four neighbours of each block, and the shift by one row and column between `center` and `work`."""
    block, n = 64, 4 * 64 * extent + 1
    for rank in some_ranks(extent):
        plan = pg.explain(heat_sweep(pg.Distribution("cyclic(64)", "cyclic(64)"), n), size=extent**2, rank=rank)
        n_blocks = (-(-n // (block * extent))) ** 2
        assert 0 < plan.nbytes_received <= n_blocks * (6 * block + 1) * ITEMSIZE
        assert plan.n_messages <= 7


@pytest.mark.parametrize("extent", [2, 3, 8])
def test_elimination_moves_the_column_and_the_row(extent: int) -> None:
    """A[k+1:, k+1:] -= A[k+1:, k:k+1] * A[k, k+1:], of which the matrix itself stays where it is."""
    n = 2048

    def eliminate(k: int) -> Callable[[], None]:
        def statement() -> None:
            a = pg.empty((n, n), layout=pg.Distribution("cyclic(64)", "cyclic(64)"))
            a[k + 1:, k + 1:] -= a[k + 1:, k : k + 1] * a[k, k + 1:]
        return statement

    for k in (0, 63, 64, 1000):
        for rank in some_ranks(extent):
            plan = pg.explain(eliminate(k), size=extent**2, rank=rank)
            largest = (-(-n // (64 * extent)) + 1) * 64
            assert plan.nbytes_received <= 2 * largest * ITEMSIZE
            _, difference = plan.operations
            assert (difference.n_sends, difference.n_receives) == (0, 0)


@pytest.mark.parametrize("size", [2, 6, 16, 64, 100])
def test_all_pairs_are_balanced(size: int) -> None:
    """The N-body problem: what one process moves falls with their number, and all have as many pairs."""
    n = 1000

    def statement() -> None:
        x = pg.empty(n)
        pg.multiply(x[:, None] - x[None, :], 2.0)

    for rank in (0, size // 2, size - 1):
        plan = pg.explain(statement, size=size, rank=rank)
        assert plan.imbalance < 1.2
        rows, columns = pg.Distribution("block", "block").bind((n, n), size).local_shape(rank)
        assert plan.nbytes_received <= 2 * (rows + columns) * ITEMSIZE  # a root's own, and what it broadcasts


def test_summa_moves_its_panels() -> None:
    n, b, extent = 4096, 128, 8

    def panels() -> None:
        a = pg.empty((n, n), layout=pg.Distribution("cyclic(128)", "cyclic(128)"))
        pg.replicate(a[:, 1024 : 1024 + b], axis=1)

    share, packets = n // extent * b * ITEMSIZE, 2
    for column in range(extent):  # of which the first one has the panel, and the last one hands it to nobody
        plan = pg.explain(panels, size=extent**2, rank=4 * extent + column)
        assert plan.nbytes_received == share * (column > 0)
        assert plan.n_messages == packets * (column < extent - 1)


def test_aligned_statements_move_nothing() -> None:
    def statement() -> None:
        a, b = (pg.empty((100, 90), layout=pg.Distribution("cyclic(8)", "cyclic(5)")) for _ in range(2))
        a[3:, 10:] = b[3:, 10:] * 2 + a[3:, 10:]

    plan = pg.explain(statement, size=12)
    assert plan.nbytes_received == plan.n_messages == 0
    assert [o.n_pieces for o in plan.operations] == [1, 0, 0]  # in one kernel


def test_reductions() -> None:
    def statement() -> None:
        pg.empty((64, 64)).sum(axis=0)

    (plan,) = pg.explain(statement, size=16).operations
    assert plan.operation == "reduce (64, 64) over (0,)"
    assert (plan.n_sends, plan.n_receives) == (3, 3)  # partial results: of each of four processes to all others
    assert plan.nbytes_sent == plan.nbytes_received == 3 * 16 * ITEMSIZE


def test_combine() -> None:
    """The copies are joined along an axis of the grid, if it has several processes."""
    def statement(grid: tuple[int, int]) -> Callable[[], None]:
        def combined() -> None:
            A = pg.empty((64, 60), layout=pg.Distribution("cyclic(4)", "cyclic(4)", grid=grid))
            pg.combine(pg.add, pg.replicate(A[:, :4], axis=1))
        return combined

    *_, plan = pg.explain(statement((4, 4)), size=16).operations
    assert plan.operation == "combine (64, 4)"
    assert (plan.n_sends, plan.nbytes_received) == (3, 3 * 16 * 4 * ITEMSIZE)
    assert pg.explain(statement((16, 1)), size=16).operations[-1].n_sends == 0


def test_plans_are_cached() -> None:
    def statement() -> None:
        a = pg.empty((977, 13))
        a[1:] = a[:-1]

    assert not pg.explain(statement, size=5).cached
    assert pg.explain(statement, size=5).cached


def explained_and_done(statement: Callable[[], object]) -> tuple[Explanation, pg.Statistics]:
    """What is said of a statement, and what was counted when it was executed."""
    pg.sync()
    plan = pg.explain(statement)
    before = pg.stats()
    result = statement()
    pg.sync()
    done = pg.stats() - before
    del result
    return plan, done


@pytest.mark.mpi
@pytest.mark.parametrize("seed", range(100))
def test_messages_are_those_that_are_sent(seed: int) -> None:
    """Of random programs, on every rank: messages to single processes, broadcasts, gathers, reductions."""
    def program() -> None:
        Program(random.Random(seed), pg.SIZE).run()

    plan, done = explained_and_done(program)
    found = [sum(getattr(o, name) for o in plan.operations)
             for name in ("n_sends", "n_receives", "nbytes_sent", "nbytes_received")]
    collectively(found == [done.n_sends, done.n_receives, done.nbytes_sent, done.nbytes_received], f"{plan}\n{done}")


@pytest.mark.mpi
@pytest.mark.parametrize("statement", [
    lambda A: A.sum(), lambda A: A.mean(axis=0), lambda A: A @ A, lambda A: A + A.T, lambda A: A.reshape(-1) + 1,
    lambda A: pg.array(A, layout=pg.Distribution("*", "*")), lambda A: A.__setitem__(slice(1, None), A[:-1]),
    lambda A: A[::-1, 1:] - A[:, :-1].max(axis=1)[:, None]])
def test_messages_of_statements_are_those_that_are_sent(statement: Callable[[pg.GlobalArray], object]) -> None:
    A = pg.arange(37.0 * 37).reshape(37, 37)
    plan, done = explained_and_done(lambda: statement(A))
    collectively(plan.n_messages == done.n_sends and plan.nbytes_received == done.nbytes_received, f"{plan}\n{done}")
    collectively(sum(o.n_pieces for o in plan.operations) == done.n_pieces, f"{plan}\n{done}")


@pytest.mark.mpi
def test_messages_of_combine_are_those_that_are_sent() -> None:
    R = pg.replicate(pg.arange(37.0 * 37).reshape(37, 37), axis=-1)
    plan, done = explained_and_done(lambda: pg.combine(pg.maximum, R))
    collectively(plan.n_messages == done.n_sends and plan.nbytes_received == done.nbytes_received, f"{plan}\n{done}")


def test_each_operation_computes_by_itself_in_order(monkeypatch: pytest.MonkeyPatch) -> None:
    """As the job's queue is set when the statement is explained."""
    a, b = pg.ones((100, 90)), pg.ones((100, 90))
    pg.sync()
    monkeypatch.setattr(recording.queue, "overlaps", False)
    assert [o.n_pieces for o in pg.explain(lambda: a * 2 + b).operations] == [1, 1]
    monkeypatch.undo()
    assert [o.n_pieces for o in pg.explain(lambda: a * 2 + b).operations] == [1, 0]


def test_nothing_is_done() -> None:
    a = pg.array([1.0, 2.0, 3.0])

    def statement() -> None:
        a[...] = a[::-1]

    plan = pg.explain(statement)
    assert isinstance(plan, Explanation)
    assert (plan.rank, plan.size) == (pg.RANK, pg.SIZE)
    assert a.gather().tolist() == [1.0, 2.0, 3.0]  # type: ignore[union-attr]


def test_table() -> None:
    lines = str(pg.explain(heat_sweep(None), size=16)).splitlines()
    assert lines[0] == "rank 8 of 16"
    assert lines[1].startswith("operation")
    assert "nbytes_received" in lines[1]
    assert lines[2].startswith("add (8191, 8191)")
    assert lines[-1].startswith("assign (8191, 8191)")
    assert len(lines) == 8


def test_values_cannot_be_read() -> None:
    with pytest.raises(RuntimeError, match=r"does not execute.*Read them before, as in x = "):
        pg.explain(lambda: float(pg.ones(4).sum()), size=4)
    assert float(pg.ones(4).sum()) == 4


@pytest.mark.parametrize(("options", "match"), [
    ({"size": 4, "rank": 4}, "rank 4 is not one of a job of 4"), ({"rank": -1}, "rank -1 is not one"),
])
def test_ranks_that_are_not_there(options: dict[str, int], match: str) -> None:
    with pytest.raises(ValueError, match=match):
        pg.explain(lambda: None, **options)


@pytest.mark.parametrize("statement", [
    lambda a: pg.unravel_index(a, (4, 5)), lambda a: pg.ravel_multi_index((a, a), (5, 5)),
    lambda a: pg.asarray_chkfinite(a * 0.5), lambda a: pg.choose(a, [a] * 6)])
def test_what_is_checked_counts_as_right(statement: Any) -> None:
    """Functions that raise for some values can be explained."""
    a = pg.array([1, 2, 3])
    assert pg.explain(lambda: statement(a)).n_messages == 0 or pg.SIZE > 1
