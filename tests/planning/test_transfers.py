"""Plans of transfers, made and checked for every process of simulated jobs."""

from __future__ import annotations

import random
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from pgaspy.distribution import Distribution, default_layout
from pgaspy.layout import Layout, one_process, replicated
from pgaspy.planning.transfers import (
    LENGTH,
    Message,
    TransferPlan,
    broadcast_axes,
    group_rank,
    plan_roll,
    plan_transfer,
)
from pgaspy.planning.view import View, whole
from tests.costs import cheaply
from tests.randomly import places, random_layout, random_shape, random_source, random_view, storages

N_PLANS = 5000
N_BATCHES = 10
OWN, OTHER = 0, 2
SIZES = (1, 2, 3, 4, 6, 8, 12)
EXTENTS = (0, 1, 2, 3, 5, 7, 8, 13)


def addresses(view: View, storage: NDArray[Any], message: Message, side: int) -> NDArray[np.int64]:
    """The flat places in a process's storage of the elements of a message, in its order."""
    index: list[Any] = []
    for p, dim in enumerate(view.layout.dims):
        if p not in view.base_dims:
            index.append(places(dim)[1, view.origin[p]])
            continue
        d = view.base_dims.index(p)
        along = np.concatenate([row[side] + row[side + 1] * np.arange(row[LENGTH]) for row in message.ranges[d]])
        index.append(along.reshape([-1 if e == d else 1 for e in range(view.ndim)]))
    flat = np.ravel_multi_index(tuple(index), storage.shape) if index else np.zeros((), np.int64)
    return np.broadcast_to(flat, message.shape)


class SimulatedJob:
    """All processes of one transfer, or of a roll, with the messages handed over by hand."""

    def __init__(self, dst: View, src: View, dst_data: NDArray[Any], src_data: NDArray[Any],
                 shifts: tuple[int, ...] | None = None) -> None:
        self.dst, self.src = dst, src
        self.ranks = range(dst.layout.n_procs)
        self.parts = storages(dst.layout, dst_data)
        self.src_parts = storages(src.layout, src_data)
        self.n_written = [np.zeros(part.shape, np.int64) for part in self.parts]
        self.plans = [plan_transfer(dst, src, rank) if shifts is None else plan_roll(dst, src, shifts, rank)
                      for rank in self.ranks]

    def run(self) -> None:
        mail = self.sent()
        for rank, plan in enumerate(self.plans):
            self.check_peers(rank, plan)
            if not plan.axes:
                for message in plan.receives:
                    self.write(rank, message, mail.pop((message.peer, rank)))
                if plan.local is not None:
                    self.write(rank, plan.local, self.read_own(rank, plan.local))
        handed_out = self.handed_out(mail)
        for rank, plan in enumerate(self.plans):
            for broadcast in plan.broadcasts:
                for piece in broadcast.pieces:
                    self.write(rank, piece, handed_out[self.group(rank), broadcast.root, piece.peer])
        assert not mail, f"never received: {list(mail)}"

    def sent(self) -> dict[tuple[int, int], NDArray[Any]]:
        mail = {}
        for rank, plan in enumerate(self.plans):
            for message in plan.sends:
                storage = self.src_parts[rank]
                at = addresses(self.src, storage, message, OWN)
                self.check_offset(message, at)
                mail[rank, message.peer] = storage.ravel()[at]
        return mail

    def handed_out(self, mail: dict[tuple[int, int], NDArray[Any]]) -> dict[Any, NDArray[Any]]:
        """What the roots of the broadcasts received, or hold themselves."""
        pieces = {}
        for rank, plan in enumerate(self.plans):
            place = group_rank(self.dst.layout, plan.axes, self.dst.layout.coords_from_rank(rank))
            for broadcast in plan.broadcasts:
                if broadcast.root == place:
                    for piece in broadcast.pieces:
                        pieces[self.group(rank), place, piece.peer] = (
                            mail.pop((piece.peer, rank)) if piece.peer != rank else self.read_own(rank, piece))
        return pieces

    def group(self, rank: int) -> tuple[int, ...]:
        coords = self.dst.layout.coords_from_rank(rank)
        return tuple(c for axis, c in enumerate(coords) if axis not in self.plans[rank].axes)

    def read_own(self, rank: int, message: Message) -> NDArray[Any]:
        storage = self.src_parts[rank]
        return storage.ravel()[addresses(self.src, storage, message, OTHER)]

    def write(self, rank: int, message: Message, values: NDArray[Any]) -> None:
        at = addresses(self.dst, self.parts[rank], message, OWN)
        assert values.shape == at.shape == message.shape
        self.check_offset(message, at)
        self.parts[rank].ravel()[at] = values
        np.add.at(self.n_written[rank].ravel(), at.ravel(), 1)

    @staticmethod
    def check_offset(message: Message, at: NDArray[np.int64]) -> None:
        if message.offset is not None:
            np.testing.assert_array_equal(at.ravel(), message.offset + np.arange(message.size))

    @staticmethod
    def check_peers(rank: int, plan: TransferPlan) -> None:
        for messages in plan.sends, plan.receives:
            peers = [m.peer for m in messages]
            assert len(set(peers)) == len(peers)
            assert rank not in peers
            assert all(m.size for m in messages)


def check_plan(dst: View, src: View, dst_model: NDArray[Any], src_model: NDArray[Any],
               shifts: tuple[int, ...] | None = None) -> None:
    """Check the plans of `dst[...] = src` of all processes, or of the source's elements moved so far.

    The models hold the flat base indices of the views' elements.
    """
    before = np.arange(np.prod(dst.layout.shape, dtype=int)).reshape(dst.layout.shape)
    values = 1000000 + np.arange(np.prod(src.layout.shape, dtype=int)).reshape(src.layout.shape)
    job = SimulatedJob(dst, src, before, values, shifts)
    job.run()
    if shifts:
        src_model = np.roll(src_model, shifts, tuple(range(src.ndim)))
    mask = np.zeros(dst.layout.shape, np.int64)
    expected = before.copy()
    expected.ravel()[dst_model] = values.ravel()[src_model]
    mask.ravel()[dst_model] = 1
    for rank, (part, n_written) in enumerate(zip(storages(dst.layout, expected), job.n_written, strict=True)):
        if dst.layout.holds(dst.layout.coords_from_rank(rank)):
            np.testing.assert_array_equal(job.parts[rank], part)
            np.testing.assert_array_equal(n_written, storages(dst.layout, mask)[rank])


@pytest.mark.parametrize("batch", [0, 1, *(pytest.param(k, marks=pytest.mark.long) for k in range(2, N_BATCHES))])
def test_random_plans(batch: int) -> None:
    for seed in range(batch * N_PLANS // N_BATCHES, (batch + 1) * N_PLANS // N_BATCHES):
        rng = random.Random(seed)
        n_procs = rng.choice(SIZES)
        shape = random_shape(rng, 3, EXTENTS)
        layout = random_layout(rng, shape, n_procs)
        dst, dst_model = random_view(rng, whole(layout), np.arange(np.prod(shape, dtype=int)).reshape(shape))
        src, src_model = random_source(rng, dst.shape, n_procs)
        try:
            check_plan(dst, src, dst_model, src_model)
        except Exception as error:
            raise AssertionError(f"seed {seed}: {dst} = {src}") from error


def test_random_rolls() -> None:
    for seed in range(N_PLANS // N_BATCHES):
        rng = random.Random(seed)
        n_procs = rng.choice(SIZES)
        shape = random_shape(rng, 3, EXTENTS)
        layout = random_layout(rng, shape, n_procs)
        src, src_model = random_source(rng, shape, n_procs)
        shifts = tuple(rng.randint(-n - 1, n + 1) for n in shape)
        try:
            check_plan(whole(layout), src, np.arange(np.prod(shape, dtype=int)).reshape(shape), src_model, shifts)
        except Exception as error:
            raise AssertionError(f"seed {seed}: {src} by {shifts} in {layout}") from error


def test_aligned_plans_are_local() -> None:
    layout = Distribution("cyclic(4)", "block").bind((37, 21), 6)
    view = whole(layout).index((slice(5, 30), slice(None)))
    for rank in range(6):
        assert plan_transfer(view, view, rank).is_local
        assert plan_transfer(whole(view.own_layout), view, rank).is_local  # type: ignore[arg-type]


def test_shift_of_blocks_goes_to_the_neighbour() -> None:
    layout = default_layout((100,), 4)
    for rank in range(4):
        plan = plan_transfer(whole(layout).index(slice(1, None)), whole(layout).index(slice(None, -1)), rank)
        assert [(m.peer, m.size) for m in plan.sends] == ([(rank + 1, 1)] if rank < 3 else [])
        assert [(m.peer, m.size) for m in plan.receives] == ([(rank - 1, 1)] if rank > 0 else [])
        assert plan.sends == () or plan.sends[0].offset == 24


def test_a_replicated_source_moves_nothing() -> None:
    dst = whole(Distribution("cyclic(2)", "block").bind((9, 8), 6))
    src = whole(replicated((9, 8), 6))
    assert all(plan_transfer(dst, src, rank).is_local for rank in range(6))


def test_replicas_are_filled_by_broadcast_along_their_axis() -> None:
    """The panel of SUMMA: its rows stay where they are, its columns go along the rows of the grid."""
    layout = default_layout((12, 12), 6)
    panel = whole(layout).index((slice(None), slice(4, 6)))
    target = Layout(layout.grid, [layout.dims[0], replicated((2,), 6).dims[0]])
    assert broadcast_axes(target, panel.layout) == (1,)
    for rank in range(6):
        plan = plan_transfer(whole(target), panel, rank)
        assert plan.sends == plan.receives == ()
        assert [(b.root, b.size) for b in plan.broadcasts] == [(0, 8)]


def test_gathering_on_one_process() -> None:
    layout = default_layout((10,), 4)
    plans = [plan_transfer(whole(one_process((10,), 4, 2)), whole(layout), rank) for rank in range(4)]
    assert [len(p.sends) for p in plans] == [1, 1, 0, 1]
    assert [m.peer for m in plans[2].receives] == [0, 1, 3]
    assert not plans[0].receives


def test_cost_follows_the_own_part() -> None:
    """The plan of one process of a million, each with a small part of a large array."""
    layout = Distribution("cyclic(64)", "cyclic(64)").bind((2**20, 2**20), 2**20)
    dst = whole(layout).index((slice(1, None), slice(None)))
    src = whole(layout).index((slice(None, -1), slice(None)))
    plan = cheaply(lambda: plan_transfer(dst, src, 2**19 + 512))
    assert len(plan.receives) == len(plan.sends) == 1


@pytest.mark.parametrize("batch", range(N_BATCHES))
def test_what_one_process_has_is_handed_out_as_by_the_general_plan(batch: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """To all, of arrays on one process and of rows and elements that one process has."""
    rng = random.Random(f"handed out {batch}")
    n_found = 0
    for _ in range(400):
        n_procs = rng.choice(SIZES[1:])
        shape = random_shape(rng, 3, EXTENTS)
        view, _ = random_view(rng, whole(random_layout(rng, shape, n_procs)), np.empty(shape))
        if 0 in view.shape or view.stretched_dims or view.only_holder is None:
            continue
        target = whole(replicated(view.shape, n_procs))
        plans = [plan_transfer(target, view, rank) for rank in range(n_procs)]
        with monkeypatch.context() as patch:
            patch.setattr(View, "only_holder", None)
            view.__dict__.pop("only_holder", None)
            general = [plan_transfer.__wrapped__(target, view, rank) for rank in range(n_procs)]
        assert list(map(described, plans)) == list(map(described, general))
        n_found += 1
    assert n_found > 10


def described(plan: TransferPlan) -> tuple[Any, ...]:
    """A plan that has broadcasts alone, so that equal ones are equal."""
    assert (plan.sends, plan.receives, plan.local) == ((), (), None)
    return plan.axes, [(b.root, [(m.peer, m.shape, m.offset, [table.tolist() for table in m.ranges]) for m in b.pieces])
                       for b in plan.broadcasts]
