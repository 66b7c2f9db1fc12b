"""Processes that flush where they like never wait for each other in a circle: played by one process, without MPI.

A process plays all ranks of a job. It plans what each of them has recorded, cut into flushes at random, and then lets
those nodes happen that wait for nothing: a message has arrived when it has been sent. What is left at the end would
have waited for ever.
"""

from __future__ import annotations

import itertools
import random
from collections import Counter
from collections.abc import Callable, Iterator, Sequence

import pytest

import pgaspy as pg
from pgaspy.execution.recording import dry_run
from pgaspy.job.procgrid import simulated
from pgaspy.planning import chains
from pgaspy.scheduling import fusion
from pgaspy.scheduling.operations import Operation
from pgaspy.scheduling.schedule import Schedule, schedule_of

pytestmark = pytest.mark.skipif(pg.SIZE > 1, reason="plays all processes")

N_PROGRAMS = 60
FOUND = 199
"""A program that stops where kernels are joined without looking at what those before them have been joined by."""
EXTENTS = (1, 2, 2, 3, 4, 8)
FORMATS = ("block", "cyclic", "cyclic(2)")
Runs = Sequence[tuple[int, Schedule]]


class Program:
    """A random program on small arrays, of which many have as many elements: what it records on any rank."""

    def __init__(self, rng: random.Random, size: int) -> None:
        self.rng, self.size = rng, size
        self.arrays: list[pg.GlobalArray] = []

    def run(self) -> None:
        """Record it."""
        for _ in range(2):
            self.create()
        for _ in range(self.rng.randrange(6, 16)):
            self.rng.choice((self.create, self.combine, self.combine, self.combine, self.reduce, self.reduce,
                             self.multiply, self.subtract, self.assign, self.move))()

    def one(self, min_ndim: int = 0) -> pg.GlobalArray:
        """An array."""
        return self.rng.choice([a for a in self.arrays if a.ndim >= min_ndim])

    def layout(self, ndim: int) -> pg.Distribution | None:
        """A random one, or that which is taken by default."""
        n, rng = self.size, self.rng
        grid = rng.choice([(n,), (n, 1), (1, n), *([(2, n // 2), (n // 2, 2)] if n % 2 == 0 else [])])
        axes = rng.sample([*range(len(grid))] + [None] * ndim, ndim)
        formats = ["*" if axis is None else rng.choice(FORMATS) for axis in axes]
        return pg.Distribution(*formats, grid=grid, axes=tuple(axes)) if rng.random() < 0.7 else None

    def create(self) -> None:
        """A new array."""
        shape = [self.rng.choice(EXTENTS) for _ in range(self.rng.choice((1, 1, 2)))]
        self.arrays.append(pg.zeros(shape, layout=self.layout(len(shape))))

    def combine(self) -> None:
        """A sum of arrays that have the same shape."""
        a = self.one()
        self.arrays.append(a + self.rng.choice([2, *(b for b in self.arrays if b.shape == a.shape)]))

    def reduce(self) -> None:
        """A reduction, with or without the dimensions."""
        a = self.one()
        axis = self.rng.choice([None, *range(a.ndim)])
        self.arrays.append(self.rng.choice((a.sum, a.max, a.mean))(axis=axis, keepdims=self.rng.random() < 0.6))

    def multiply(self) -> None:
        """All products of two vectors."""
        vectors = [a for a in self.arrays if a.ndim == 1]
        if vectors:
            self.arrays.append(pg.outer(self.rng.choice(vectors), self.rng.choice(vectors)))

    def subtract(self) -> None:
        """Differences of neighbours."""
        a = self.one(1)
        if a.shape[0] > 1:
            self.arrays.append(a[1:] - a[:-1])

    def assign(self) -> None:
        """An array to another one, or one to itself in turn."""
        a = self.one(1)
        a[...] = self.rng.choice([a[::-1], *(b for b in self.arrays if b.shape == a.shape)])

    def move(self) -> None:
        """A copy in another layout."""
        a = self.one()
        self.arrays.append(pg.array(a, layout=self.layout(a.ndim)))


def recorded(program: Callable[[], None], size: int, rank: int) -> list[Operation]:
    """What a rank records of a program."""
    operations: list[Operation] = []
    with simulated(size, rank), dry_run(operations.append):
        program()
    return operations


def cuts_at(rng: random.Random, n: int, often: float) -> list[int]:
    """Where a process flushes, between n operations."""
    return [0, *(k for k in range(1, n) if rng.random() < often), n]


def runs_of(operations: Sequence[Operation], cuts: Sequence[int], size: int,
            rank: int) -> Iterator[tuple[int, Schedule]]:
    """The first operation of each flush, and the schedule; all arrays have names."""
    for start, stop in itertools.pairwise(cuts):
        calls = [(operation.recipe, operation.bases, operation.values) for operation in operations[start:stop]]
        with simulated(size, rank):
            yield start, schedule_of(calls, lambda _: True, rank, fuses=True)


class Rank:
    """A process that executes its runs one after the other."""

    def __init__(self, rank: int, runs: Runs, numbers: Sequence[int]) -> None:
        self.rank, self.numbers = rank, numbers
        self._ranges = iter(runs)
        self.waiting: list[int] = []
        self._begin()

    def _begin(self) -> None:
        for start, schedule in self._ranges:
            self._start, self._schedule, self._n_waits = start, schedule, [*schedule.n_waits]
            self.waiting = [number for number, n in enumerate(self._n_waits) if not n]
            if self.waiting:
                return

    def go_on(self, under_way: Counter[tuple[int, int, int]]) -> bool:
        """Do what waits for nothing; whether there was anything."""
        waiting, self.waiting = self.waiting, []
        for number in waiting:
            node = self._schedule.nodes[number]
            if node.is_communication:
                tag = self.numbers[self._start + node.position] + node.tag
                if not node.is_receive:
                    under_way[self.rank, node.peer, tag] += 1
                elif under_way[node.peer, self.rank, tag]:
                    under_way[node.peer, self.rank, tag] -= 1
                else:
                    self.waiting.append(number)
                    continue
            for later in node.successors:
                self._n_waits[later] -= 1
                if not self._n_waits[later]:
                    self.waiting.append(later)
        is_moved = self.waiting != waiting
        if not self.waiting:
            self._begin()
        return is_moved


def left(jobs: Sequence[Sequence[Operation]], cuts: Sequence[Sequence[int]]) -> tuple[list[int], int]:
    """The ranks that do not come to their end, and how many messages nobody has received.

    The operations of each rank are given, and where it flushes.
    """
    under_way: Counter[tuple[int, int, int]] = Counter()
    ranks = []
    for rank, operations in enumerate(jobs):
        numbers = [sum(operation.recipe.n_tags for operation in operations[:k]) for k in range(len(operations))]
        ranks.append(Rank(rank, [*runs_of(operations, cuts[rank], len(jobs), rank)], numbers))
    while sum(rank.go_on(under_way) for rank in ranks):
        pass
    return [rank.rank for rank in ranks if rank.waiting], under_way.total()


def left_of(seed: int, size: int, often: Sequence[float]) -> tuple[list[int], int]:
    """The same of the random program of a seed, of which each rank flushes so often."""
    rng = random.Random(f"flushes {seed}")
    jobs = [recorded(lambda: Program(random.Random(seed), size).run(), size, rank) for rank in range(size)]
    return left(jobs, [cuts_at(rng, len(job), how) for job, how in zip(jobs, often, strict=True)])


def faults(seeds: Sequence[int]) -> list[tuple[int, int, list[float]]]:
    """The programs that do not come to their end, with the numbers of processes, and how often each flushes."""
    found = []
    for seed in seeds:
        rng = random.Random(f"job {seed}")
        size = rng.choice((2, 3, 4, 4, 6))
        own, others = rng.choice([(1.0, 0.0), (0.0, 1.0), (1.0, 0.2), (0.2, 0.2)])
        often = [others] * size
        often[rng.randrange(size)] = own
        if left_of(seed, size, often) != ([], 0):
            found.append((seed, size, often))
    return found


def test_random_programs_come_to_their_end() -> None:
    assert faults(range(N_PROGRAMS)) == []


def test_a_kernel_that_waits_for_what_comes_later_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fusion, "_depends_on_later", lambda *_: False)
    assert faults([FOUND]) != []


def chained() -> None:
    """The last sum could follow `y` in a chain, and is made of what has joined the kernel before that."""
    layout = pg.Distribution("*", "block", grid=(2,))
    (x, other), lower = (pg.empty((6, 6), layout=layout) for _ in range(2)), pg.empty((4, 6), layout=layout)
    x + 1
    y = lower + 1
    (y[::2] * 2).sum()
    late = other[:, ::-1] + 2
    late[:4] + y


def test_a_chain_waits_for_nothing_that_was_recorded_after_its_first_operation(
        monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(chains, "MIN_BYTES", 0)
    jobs = [recorded(chained, 2, rank) for rank in range(2)]
    n = len(jobs[0])
    assert all(left(jobs, [[0, n], [0, cut, n]]) == ([], 0) for cut in range(1, n))
