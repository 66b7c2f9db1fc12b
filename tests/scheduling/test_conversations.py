"""Conversations: what is exchanged as the values say, beside other operations; and records on their way."""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Callable, Generator, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import pgaspy as pg
from pgaspy.caches import cached
from pgaspy.execution import recording
from pgaspy.job.failures import Mismatch
from pgaspy.job.procgrid import world
from pgaspy.planning.view import View
from pgaspy.scheduling.builder import Builder
from pgaspy.scheduling.conversations import Conversation, Link, Refusal
from pgaspy.scheduling.nodes import Memories
from pgaspy.scheduling.operations import NumberedOperation, Recipe
from pgaspy.scheduling.remembered import Remembered
from pgaspy.scheduling.routing import SHORT, route
from tests.simulated import Job
from tests.together import assert_equal, collectively, raises_everywhere

PART = 5
"""Elements of each process."""


@dataclass(eq=False)
class HandOut(Recipe):
    """Each process sends element k to the process that it names, if it is one; who gets any adds them up.

    Negative ones are refused, by all, as they are known to all; the target is then poisoned, or stays as it was.
    """

    target: View
    source: View
    poisons: bool
    updates = is_called = True
    name = "hand out"

    def __post_init__(self) -> None:
        self.views = self.target, self.source

    def add_nodes(self, builder: Builder, operation: NumberedOperation, rank: int) -> None:
        """See `Recipe`."""
        (to, source), size = operation.slots, self.target.layout.n_procs

        def steps(memories: Memories, link: Link) -> Generator[None]:
            values = memories[source].local
            peers, n = np.unique(values[(values >= 0) & (values < size)].astype(np.int64), return_counts=True)
            records = np.stack([peers, np.full_like(peers, rank), n], axis=1)
            counts, ((is_wrong,),) = yield from route(link, rank, size, records, [(int((values < 0).any()),)])
            if is_wrong:
                raise Refusal(IndexError("a negative rank"), self.poisons)
            received = [np.empty(n, np.float64) for _, _, n in counts]
            for (_, peer, _), array in zip(counts.tolist(), received, strict=True):
                if peer != rank:
                    link.receive(array, peer)
            for peer in peers.tolist():
                if peer != rank:
                    link.send(np.full(np.count_nonzero(values == peer), rank + 1.0), peer)
            yield
            for (_, peer, _), array in zip(counts.tolist(), received, strict=True):
                memories[to].local[...] += (rank + 1.0) * array.size if peer == rank else array.sum()

        builder.add(Conversation(steps, "hand out", size), [(source, None)], [(to, None)])


hand_out = cached(HandOut)


def recorded(target: pg.GlobalArray, source: pg.GlobalArray, poisons: bool = True) -> None:
    """Record it."""
    recording.record_refusable(
        hand_out(target._view, source._view, poisons), (target._base.storage, source._base.storage))


def expected(target: NDArray[Any], source: NDArray[Any], size: int) -> NDArray[Any]:
    """What becomes of the target."""
    found = target.copy()
    for rank, values in enumerate(source.reshape(size, PART)):
        for value in values:
            if 0 <= value < size:
                found.reshape(size, PART)[int(value)] += rank + 1
    return found


def program(seed: int) -> None:
    """Conversations among other operations: what they read was just computed, and what they write is used."""
    size, rng = world().size, np.random.default_rng(seed)
    a, x = pg.zeros(size * PART), np.zeros(size * PART)
    for _ in range(4):
        y = rng.integers(0, 2 * size + 2, size * PART).astype(float)
        b = pg.array(y) * 1.0
        recorded(a, b[:])
        x = expected(x, y, size)
        b += 1
        a[1:] = a[:-1]
        x[1:] = x[:-1].copy()
        if rng.random() < 0.3:
            recorded(a, b)
            x = expected(x, y + 1, size)
    assert np.array_equal(a.gather(), x)  # type: ignore[arg-type]


@pytest.mark.mpi
@pytest.mark.parametrize("seed", range(4))
def test_among_other_operations(seed: int) -> None:
    program(seed)
    pg.sync()
    collectively(recording.queue.engine.is_idle)


@pytest.mark.parametrize("size", [1, 2, 3, 5, 8])
def test_processes_that_are_flushed_anywhere(size: int) -> None:
    job = Job(lambda: program(size), [lambda k, rank=rank: k % (rank + 2) == 0 for rank in range(size)])
    assert job.network.n_left == 0


def wrong(poisons: bool) -> tuple[pg.GlobalArray, pg.GlobalArray]:
    """The arrays of a conversation that all refuse, just recorded."""
    a, b = pg.ones(pg.SIZE * PART), pg.zeros(pg.SIZE * PART)
    b[-1] = -1
    recorded(a, b, poisons)
    return a, b


@pytest.mark.mpi
@pytest.mark.parametrize("poisons", [True, False])
@pytest.mark.parametrize("use", [
    pytest.param(lambda a: pg.sync(), id="wait"),
    pytest.param(lambda a: a.gather(), id="gather"),
    pytest.param(lambda a: a + 1, id="read"),
    pytest.param(lambda a: a.__setitem__(slice(1, None), a[:-1]), id="write"),
    pytest.param(lambda a: float(pg.ones(40).sum()), id="wait for something else"),
])
def test_what_all_refuse(poisons: bool, use: Callable[[pg.GlobalArray], Any]) -> None:
    """All get the error from the same statement, wherever one of them was flushed, and the job goes on."""
    a, b = wrong(poisons)
    if pg.RANK == pg.SIZE - 1:
        recording.queue._flush(recording.queue.engine.catch_up, None)
    raises_everywhere(IndexError, "a negative rank", lambda: use(a))
    if poisons:
        raises_everywhere(IndexError, "a negative rank", lambda: a * 2)
        raises_everywhere(IndexError, "a negative rank", a.local)
        a[...] = 1  # which heals it
    assert_equal(a, np.ones(pg.SIZE * PART))
    b[...] = 0
    recorded(a, b)
    assert_equal(a, expected(np.ones(pg.SIZE * PART), np.zeros(pg.SIZE * PART), pg.SIZE))


@pytest.mark.mpi
def test_what_is_not_used_goes_on_beside_what_may_be_refused() -> None:
    a, b = wrong(poisons=True)
    c = pg.ones(pg.SIZE * PART) + 1
    del a, b
    raises_everywhere(IndexError, "a negative rank", pg.sync)
    assert_equal(c, np.full(pg.SIZE * PART, 2.0))


class _Link:
    """The link of one rank, by queues."""

    def __init__(self, rank: int, posted: dict[tuple[int, int], deque[NDArray[Any]]], stamp: int) -> None:
        self._rank, self._posted, self.stamp, self.number = rank, posted, stamp, 0
        self.remembered = Remembered()
        self.expected: list[tuple[NDArray[Any], int]] = []
        self.n_messages = 0

    def send(self, array: NDArray[Any], peer: int) -> None:
        """See `Link`."""
        self._posted[self._rank, peer].append(array.copy())
        self.n_messages += 1

    def receive(self, array: NDArray[Any], peer: int) -> None:
        """See `Link`."""
        self.expected.append((array, peer))

    def take(self) -> None:
        """Have what has arrived."""
        for array, peer in self.expected:
            array[...] = self._posted[peer, self._rank].popleft()
        self.expected = []


def routed(records: list[NDArray[np.int64]], largest: list[tuple[tuple[int, ...], ...]],
           stamps: list[int]) -> tuple[list[Any], list[_Link]]:
    """What `route` gives on each rank."""
    size, posted = len(records), defaultdict[tuple[int, int], deque[NDArray[Any]]](deque)
    links = [_Link(rank, posted, stamp) for rank, stamp in enumerate(stamps)]
    talks: dict[int, Iterator[None]] = {
        rank: route(links[rank], rank, size, records[rank], largest[rank]) for rank in range(size)}
    results: list[Any] = [None] * size
    while talks:
        for rank, talk in [*talks.items()]:
            try:
                next(talk)
            except StopIteration as end:
                results[rank] = end.value
                del talks[rank]
        for link in links:
            link.take()
    assert not any(posted.values())
    return results, links


@pytest.mark.parametrize("size", [1, 2, 3, 4, 6, 7, 16, 33])
@pytest.mark.parametrize("n", [0, 3, 200])
def test_records_come_to_those_that_they_are_for(size: int, n: int) -> None:
    rng = np.random.default_rng(size * 1000 + n)
    records = [np.stack([rng.integers(0, size, k), np.full(k, rank), rng.integers(-9, 9, k)], axis=1)
               for rank, k in enumerate(rng.integers(0, n + 1, size))]
    largest = [(tuple(rng.integers(-3, 4, 2).tolist()), (rank,)) for rank in range(size)]
    results, links = routed(records, largest, [7] * size)
    together = np.concatenate(records)
    for rank, (found, theirs) in enumerate(results):
        assert theirs == tuple(map(max, zip(*largest, strict=True)))
        assert sorted(found.tolist()) == sorted(together[together[:, 0] == rank].tolist())
    n_rounds = (size - 1).bit_length()
    assert max(link.n_messages for link in links) <= (2 if n else 1) * n_rounds


def test_few_messages_among_many_processes() -> None:
    """Each has something for its two neighbours: that fits into one message a round."""
    size = 1024
    records = [np.array([[(rank + k) % size, rank, 5] for k in (-1, 1)]) for rank in range(size)]
    results, links = routed(records, [()] * size, [0] * size)
    assert all(len(found) == 2 for found, _ in results)
    assert {link.n_messages for link in links} == {10}
    assert SHORT * 8 <= 512


def test_another_operation() -> None:
    nothing = np.empty((0, 2), np.int64)
    with pytest.raises(Mismatch):
        routed([nothing] * 3, [()] * 3, [1, 1, 2])
