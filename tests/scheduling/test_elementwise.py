"""What each piece of an elementwise kernel reads and writes, on every rank of simulated jobs."""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import pytest
from numpy.typing import NDArray

import pgaspy as pg
from pgaspy.execution.recording import dry_run
from pgaspy.job.procgrid import simulated, world
from pgaspy.planning.boxes import overlap
from pgaspy.planning.pieces import plan_operands
from pgaspy.planning.view import View, whole
from pgaspy.scheduling import elementwise
from pgaspy.scheduling.base import Base
from pgaspy.scheduling.builder import Access, Builder
from pgaspy.scheduling.kernel_nodes import FusedCall, FusedCalls
from pgaspy.scheduling.nodes import Communication, Node
from pgaspy.scheduling.operations import Operation
from pgaspy.scheduling.schedule import schedule_of
from tests.randomly import random_distributed_layout, random_shape, random_source, storages

pytestmark = pytest.mark.skipif(pg.SIZE > 1, reason="plays all processes")

PROGRAMS = [(seed, 2 + seed % 8) for seed in range(64)]
"""Seeds, and numbers of processes."""


class Piece(NamedTuple):
    """A kernel's call on a piece, with what the builder is told of it."""

    node: PieceCall
    reads: Sequence[Access]
    writes: Sequence[Access]


class PieceCall(FusedCall):
    """A kernel's call that knows what it was made of."""

    def __init__(self, program: Any, shape: tuple[int, ...], strides: Sequence[tuple[int, ...]], locations: Any,
                 name: str) -> None:
        super().__init__(program, shape, strides, locations, name)
        self.shape, self.strides = shape, strides

    def operand(self, k: int, local: NDArray[np.int64]) -> NDArray[np.int64]:
        """What it reads or writes as an operand, in an array in whose memory that lies."""
        return np.ndarray(self.shape, local.dtype, local, self.locations[k][1], self.strides[k])


@pytest.fixture
def _pieces(monkeypatch: pytest.MonkeyPatch) -> list[Piece]:
    """The pieces of kernels that are added to schedules."""
    found: list[Piece] = []
    add = Builder.add

    def noting(self: Builder, node: Node, reads: Sequence[Access] = (), writes: Sequence[Access] = (),
               *others: Any, **named: Any) -> int:
        for call in node.calls if isinstance(node, FusedCalls) else [node]:
            if isinstance(call, PieceCall):
                found.append(Piece(call, reads, writes))
        return add(self, node, reads, writes, *others, **named)

    monkeypatch.setattr(elementwise, "FusedCall", PieceCall)
    monkeypatch.setattr(Builder, "add", noting)
    return found


class Sum:
    """A sum of two random views, written to an array in a random layout.

    Attributes
    ----------
    views
        Of the result, and of the operands.
    indices
        In which array each has which element, of all elements in the order of the result.
    """

    def __init__(self, seed: int, size: int) -> None:
        rng = random.Random(f"sum {seed}")
        shape = random_shape(rng, 3, (1, 2, 3, 5, 8, 13))
        out = whole(random_distributed_layout(rng, shape, size))
        found = [random_source(rng, shape, size) for _ in range(2)]
        self.views = [out, *(view for view, _ in found)]
        self.indices = [np.arange(out.size).reshape(shape), *(indices for _, indices in found)]
        self._size = size

    def locals(self, rank: int) -> list[NDArray[np.int64]]:
        """The local part of each array, with the index of each element in the array."""
        return [storages(view.layout, _numbered(view))[rank] for view in self.views]

    def temporary(self, k: int, rank: int) -> NDArray[np.int64] | None:
        """The temporary in which operand k is assembled, with the index of each element in its array, if there is one.
        """
        out, *views = self.views
        plan = plan_operands(out, tuple(views), (False,) * len(views), rank)[k - 1]
        if plan.temporary is None:
            return None
        indices = self.indices[k][tuple([0 if d in plan.operand.stretched_dims else slice(None)
                                         for d in range(out.ndim)])]
        return storages(plan.target.layout, indices)[rank]

    def plan(self, rank: int) -> None:
        """Make a rank's schedule."""
        operations: list[Operation] = []
        with simulated(self._size, rank):
            arrays = [pg.GlobalArray(Base(view.layout, np.dtype("d")), view) for view in self.views]
            with dry_run(operations.append):
                pg.add(arrays[1], arrays[2], out=arrays[0])
            assert [operation.bases for operation in operations] == [tuple(array._base for array in arrays)]
            schedule_of(operations, lambda _: True, rank, fuses=True)


def _numbered(view: View) -> NDArray[np.int64]:
    """An array, with the index of each element."""
    shape = view.layout.shape
    return np.arange(np.prod(shape, dtype=int)).reshape(shape)


def covered(box: Any, local: NDArray[np.int64]) -> NDArray[np.int64]:
    """The elements in a box."""
    return local if box is None else local[tuple(slice(*edges) for edges in box)]


@pytest.mark.parametrize("has_network", [False, True])
@pytest.mark.parametrize(("seed", "size"), PROGRAMS)
def test_pieces_write_each_element_once_from_those_that_it_follows_from(
        monkeypatch: pytest.MonkeyPatch, seed: int, size: int, has_network: bool,
        _pieces: list[Piece]) -> None:  # noqa: PT019
    """And touch nothing but what the builder is told; so, too, where they are cut beside what lies here."""
    monkeypatch.setattr(world(), "has_network", has_network)
    monkeypatch.setattr(elementwise, "CUT_FROM_ELEMENTS", 1)
    added = Sum(seed, size)
    for rank in range(size):
        _pieces.clear()
        added.plan(rank)
        arrays = added.locals(rank)
        written: list[int] = []
        for node, reads, writes in _pieces:
            at = node.operand(2, arrays[0]).ravel()
            assert {*at} <= {*covered(dict(writes)[0], arrays[0]).ravel()}
            written += [*at]
            for k in range(2):
                number, _ = node.locations[k]
                boxes = [box for memory, box in reads if memory == number]
                assert boxes
                local = arrays[number] if number < len(arrays) else added.temporary(k + 1, rank)
                if local is not None:  # else it has arrived
                    found = node.operand(k, local)
                    np.testing.assert_array_equal(found.ravel(), added.indices[k + 1].ravel()[at])
                    assert any({*found.ravel()} <= {*covered(box, local).ravel()} for box in boxes)
        assert sorted(written) == sorted(arrays[0].ravel())


def test_operands_lie_here_and_arrive(_pieces: list[Piece]) -> None:  # noqa: PT019
    """Else what is tested here would hold of nothing."""
    for seed, size in PROGRAMS:
        Sum(seed, size).plan(0)
    numbers = [node.locations[k][0] for node, _, _ in _pieces for k in range(2)]
    assert sum(number < 3 for number in numbers) > 50
    assert sum(number >= 3 for number in numbers) > 50


@pytest.mark.parametrize("rank", range(3))
def test_what_is_here_is_computed_before_anything_arrives(monkeypatch: pytest.MonkeyPatch, rank: int) -> None:
    """All pairs of what three processes have: in one piece of its own."""
    monkeypatch.setattr(world(), "has_network", True)
    pieces, arriving = [], []
    add = Builder.add

    def noting(self: Builder, node: Node, reads: Sequence[Access] = (), writes: Sequence[Access] = (),
               *others: Any, **named: Any) -> int:
        if isinstance(node, PieceCall):
            pieces.append((node.shape, reads))
        elif isinstance(node, Communication) and node.is_receive:
            arriving.extend(writes)
        return add(self, node, reads, writes, *others, **named)

    monkeypatch.setattr(elementwise, "FusedCall", PieceCall)
    monkeypatch.setattr(Builder, "add", noting)
    operations: list[Operation] = []
    with simulated(3, rank):
        x = pg.zeros(3000, layout=pg.Distribution("block"))
        with dry_run(operations.append):
            y = x[:, None] + x
        schedule_of(operations, lambda _: True, rank, fuses=True)
        del y
    at_once = [shape for shape, reads in pieces if not any(
        number == memory and overlap(box, other) for number, box in reads for memory, other in arriving)]
    assert arriving
    assert at_once == [(1000, 1000)]
    rest = [(1000, 1000)] * 2 if rank == 1 else [(1000, 2000)]
    assert sorted(shape for shape, _ in pieces) == [(1000, 1000), *rest]
