"""Elementwise operations, planned and emulated for every process of simulated jobs."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
import pytest
from numpy.typing import NDArray

from pgaspy.dims import CyclicDim, whole_dim
from pgaspy.distribution import Distribution, default_layout
from pgaspy.layout import Layout, replicated
from pgaspy.planning.local_parts import local_part
from pgaspy.planning.pieces import (
    BUFFER,
    LOCAL,
    TEMPORARY,
    OperandPlan,
    Piece,
    Source,
    local_indices,
    local_view_shape,
    plan_boxes,
    plan_operand,
    plan_operands,
    storage_geometry,
)
from pgaspy.planning.result_layout import result_layout
from pgaspy.planning.transfers import Message
from pgaspy.planning.view import View, whole
from tests.planning.test_transfers import OWN, SimulatedJob, addresses
from tests.randomly import random_distributed_layout, random_shape, random_source, random_view, storages

N_OPERATIONS = 1500
N_BATCHES = 6
SIZES = (1, 2, 3, 4, 6)
EXTENTS = (0, 1, 2, 3, 5, 8, 13)


class PiecePlan(NamedTuple):
    """One rank's share of an elementwise operation."""

    operands: tuple[OperandPlan, ...]
    pieces: Sequence[Piece]


def plan_pieces(out: View, views: tuple[View, ...], copied: tuple[bool, ...], rank: int) -> PiecePlan:
    plans = plan_operands(out, views, copied, rank)
    return PiecePlan(plans, plan_boxes((out,), views, plans, (), rank))


class SimulatedOperation:
    """`out = sum of the operands`, computed piece by piece on every process, with messages handed over by hand."""

    def __init__(self, out: View, operands: list[tuple[View, NDArray[Any]]], copied: tuple[bool, ...]) -> None:
        self.out = out
        self.views = tuple(view for view, _ in operands)
        self.data = [data for _, data in operands]
        self.ranks = range(out.layout.n_procs)
        self.plans = [plan_pieces(out, self.views, copied, rank) for rank in self.ranks]
        self.parts = [storages(view.layout, data) for view, data in operands]
        self.result = [np.zeros(out.layout.local_shape(rank), np.int64) for rank in self.ranks]
        self.n_written = [np.zeros_like(part) for part in self.result]

    def run(self) -> None:
        temporaries = [self.assembled(n) for n in range(len(self.views))]
        for rank, plan in enumerate(self.plans):
            buffers = [self.received(n, rank, plan) for n in range(len(self.views))]
            for piece in plan.pieces:
                total = np.zeros(piece.shape, np.int64)
                for n, source in enumerate(piece.sources[1:]):
                    memory = self.parts[n][rank] if source.where == LOCAL else temporaries[n][rank] if (
                        source.where == TEMPORARY) else buffers[n][source.where - BUFFER]
                    total += memory.ravel()[flat(source, piece.shape)]
                at = flat(piece.sources[0], piece.shape)
                assert piece.sources[0].where == LOCAL
                self.result[rank].ravel()[at] = total
                np.add.at(self.n_written[rank].ravel(), at.ravel(), 1)

    def assembled(self, n: int) -> list[NDArray[Any]]:
        """The operand in the layout of the output, on the processes that want it so: by the plans of transfers."""
        target, source = self.plans[0].operands[n].target, self.plans[0].operands[n].view
        job = SimulatedJob(target, source, np.zeros(target.layout.shape, np.int64), self.data[n])
        job.run()
        for rank, plan in enumerate(self.plans):
            operand = plan.operands[n]
            assert (operand.target, operand.view) == (target, source)
            assert operand.temporary in (None, job.parts[rank].shape)
        return job.parts

    def received(self, n: int, rank: int, plan: PiecePlan) -> list[NDArray[Any]]:
        """The messages to a process, packed in the order of the index space by their senders."""
        operand = plan.operands[n]
        buffers = []
        for message in operand.transfer.receives:
            sent = self.sent(n, message.peer, rank)
            at = addresses(operand.view, self.parts[n][message.peer], sent, OWN)
            assert sent.shape == message.shape
            buffers.append(self.parts[n][message.peer].ravel()[at])
        return buffers

    def sent(self, n: int, peer: int, rank: int) -> Message:
        (found,) = [m for m in self.plans[peer].operands[n].transfer.sends if m.peer == rank]
        return found


def flat(source: Source, shape: tuple[int, ...]) -> NDArray[np.int64]:
    index = np.full(shape, source.offset)
    for d, (n, stride) in enumerate(zip(shape, source.strides, strict=True)):
        index += (np.arange(n) * stride).reshape([-1 if e == d else 1 for e in range(len(shape))])
    return index


def check_operation(out: View, out_model: NDArray[Any], operands: list[tuple[View, NDArray[Any], NDArray[Any]]],
                    copied: tuple[bool, ...] | None = None) -> SimulatedOperation:
    """Check `out = sum(operands)`: `out_model` holds flat base indices, the operands their base and their model."""
    copied = copied or (False,) * len(operands)
    operation = SimulatedOperation(out, [(view, data) for view, data, _ in operands], copied)
    operation.run()
    expected = np.zeros(out.layout.shape, np.int64)
    expected.ravel()[out_model] = sum(model for *_, model in operands)
    mask = np.zeros_like(expected)
    mask.ravel()[out_model] = 1
    for rank, part in enumerate(storages(out.layout, expected)):
        if out.layout.holds(out.layout.coords_from_rank(rank)):
            np.testing.assert_array_equal(operation.result[rank], part)
            np.testing.assert_array_equal(operation.n_written[rank], storages(out.layout, mask)[rank])
    return operation


def indices(shape: tuple[int, ...]) -> NDArray[np.int64]:
    return np.arange(np.prod(shape, dtype=int)).reshape(shape)


def random_operand(rng: random.Random, shape: tuple[int, ...],
                   n_procs: int) -> tuple[View, NDArray[Any], NDArray[Any]]:
    """A view that broadcasts to the shape: some leading dimensions left out, some of extent 1."""
    own = tuple(1 if rng.random() < 0.15 else n for n in shape[rng.choice((0, 0, 0, len(shape) // 2)):])
    view, model = random_source(rng, own, n_procs)
    data = 1000 * (1 + indices(view.layout.shape))
    return view.broadcast_to(shape), data, np.broadcast_to(data.ravel()[model], shape)


def random_output(rng: random.Random, n_procs: int) -> tuple[View, NDArray[Any]]:
    """A view with a layout of its own and a NumPy form."""
    while True:
        shape = random_shape(rng, 3, EXTENTS)
        view, model = random_view(rng, whole(random_distributed_layout(rng, shape, n_procs)), indices(shape))
        try:
            for rank in range(n_procs):
                storage_geometry(view, rank)
        except ValueError:
            continue
        if view.own_layout is not None:
            return view, model


@pytest.mark.parametrize("batch", [0, 1, *(pytest.param(k, marks=pytest.mark.long) for k in range(2, N_BATCHES))])
def test_random_operations(batch: int) -> None:
    for seed in range(batch * N_OPERATIONS // N_BATCHES, (batch + 1) * N_OPERATIONS // N_BATCHES):
        rng = random.Random(seed)
        n_procs = rng.choice(SIZES)
        out, out_model = random_output(rng, n_procs)
        operands = [random_operand(rng, out.shape, n_procs) for _ in range(rng.randint(1, 3))]
        copied = tuple(rng.random() < 0.1 for _ in operands)
        try:
            check_operation(out, out_model, operands, copied)
        except Exception as error:
            raise AssertionError(f"seed {seed}: {out} = {[view for view, *_ in operands]}") from error


@pytest.mark.parametrize("seed", [*range(60), *(pytest.param(k, marks=pytest.mark.long) for k in range(60, 200))])
def test_results_of_random_operations(seed: int) -> None:
    """With the layout that the result takes from its operands."""
    rng = random.Random(seed)
    n_procs = rng.choice(SIZES)
    shape = random_shape(rng, 3, EXTENTS)
    operands = [random_operand(rng, shape, n_procs) for _ in range(rng.randint(1, 3))]
    layout = result_layout(shape, [view for view, *_ in operands], lambda shape: default_layout(shape, n_procs))
    check_operation(whole(layout), indices(shape), operands)


@pytest.mark.parametrize("distribution", [
    Distribution("block", "block", grid=(3, 2)), Distribution("cyclic(3)", "cyclic(4)", grid=(2, 3)),
    Distribution("*", "block"), Distribution("cyclic", "*"),
], ids=str)
def test_stencil(distribution: Distribution) -> None:
    layout = distribution.bind((14, 11), 6)
    full, data = whole(layout), indices((14, 11))
    keys = [(slice(1, -1), slice(1, -1)), (slice(None, -2), slice(1, -1)), (slice(2, None), slice(1, -1)),
            (slice(1, -1), slice(None, -2)), (slice(1, -1), slice(2, None))]
    operands = [(full.index(key), data, data[key]) for key in keys]
    work = result_layout((12, 9), [view for view, *_ in operands], lambda shape: default_layout(shape, 6))
    operation = check_operation(whole(work), indices((12, 9)), operands)
    for plan in operation.plans:
        assert all(source.where != TEMPORARY for piece in plan.pieces for source in piece.sources)


def test_aligned_operands_are_one_piece() -> None:
    layout = Distribution("cyclic(4)", "cyclic(4)").bind((40, 37), 6)
    view, data = whole(layout).index((slice(5, None), slice(3, 30))), indices((40, 37))[5:, 3:30]
    base = indices((40, 37))
    operation = check_operation(whole(view.own_layout), indices((35, 27)), [(view, base, data)] * 2)  # type: ignore[arg-type]
    assert all(all(o.transfer.is_local for o in plan.operands) and len(plan.pieces) == 1 for plan in operation.plans)


def test_operands_that_would_be_cut_too_finely_are_assembled() -> None:
    """A transposed operand: other processes hold it, in other strides."""
    layout = Distribution("cyclic", "cyclic", grid=(2, 3)).bind((30, 30), 6)
    view, data = whole(layout).transpose((1, 0)), indices((30, 30))
    operation = check_operation(whole(layout), data, [(view, data, data.T)])
    assert all(plan.operands[0].temporary is not None for plan in operation.plans)


def test_a_process_without_output_computes_nothing() -> None:
    layout = default_layout((2,), 4)
    source = whole(default_layout((9,), 4)).index(slice(0, 2))
    plans = [plan_pieces(whole(layout), (source,), (False,), rank) for rank in range(4)]
    assert [len(plan.pieces) for plan in plans] == [0, 1, 0, 1]


@pytest.mark.parametrize("seed", [*range(60), *(pytest.param(k, marks=pytest.mark.long) for k in range(60, 200))])
def test_local_parts_of_views(seed: int) -> None:
    """Shapes, indices and geometry of local parts, for views of any kind."""
    rng = random.Random(seed)
    n_procs = rng.choice(SIZES)
    shape = random_shape(rng, 3)
    make: Callable[..., Layout] = rng.choice([lambda _, *where: replicated(*where)] + [random_distributed_layout] * 9)
    layout = make(rng, shape, n_procs)
    view, model = random_view(rng, whole(layout), indices(shape))
    parts = storages(layout, indices(shape))
    n_held = 0
    forms = set()
    for rank in range(n_procs):
        held = [local_indices(view, d, rank) for d in range(view.ndim)]
        extents = local_view_shape(view, rank)
        if not view.holds(layout.coords_from_rank(rank)):
            assert 0 in extents
            continue
        assert extents == tuple(len(i) for i in held)
        n_held += int(np.prod(extents, dtype=int))
        try:
            offset, strides = storage_geometry(view, rank)
        except ValueError:
            forms.add(False)
            continue
        forms.add(True)
        if 0 not in extents:
            found = parts[rank].ravel()[flat(Source(LOCAL, offset, strides), extents)]
            np.testing.assert_array_equal(found, model[np.ix_(*held)])
    assert len(forms) <= 1 or not view.size
    n_copies = np.prod([layout.grid[axis] for axis in layout.replica_axes], dtype=int)
    assert n_held == view.size * n_copies


def test_outputs_that_lie_alike_in_arrays_dealt_out_otherwise() -> None:
    """An element of a cyclic array, on the process that has it, and one that every process has."""
    everywhere, dealt_out = whole(replicated((), 4)), whole(Distribution("cyclic(2)").bind((11,), 4)).index(0)
    assert local_part(everywhere, 0) is not None
    assert local_part(dealt_out, 0) is None
    plans = plan_operands(everywhere, (everywhere,), (False,), 0)
    for outs in ([everywhere, dealt_out], [dealt_out, everywhere], [dealt_out]):
        (piece,) = plan_boxes(outs, (everywhere,), plans, (), 0)
        assert piece.shape == ()
        assert {source[:3] for source in piece.sources} == {(LOCAL, 0, ())}


@pytest.mark.parametrize("rank", [0, 1])
def test_an_empty_result_takes_nothing(rank: int) -> None:
    out = whole(Layout((1, 2), [CyclicDim(1, 2, 1, 1)])).index((slice(1, 1),))
    element = whole(Layout((2,), [whole_dim(6), whole_dim(1)], (1,))).index((3, 0)).broadcast_to((0,))
    assert plan_operand(out, element, False, rank).transfer.is_local
