"""Results that are shifted against each other are computed by one kernel, and are NumPy's; nobody waits in a circle."""

from __future__ import annotations

import random
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import pgaspy as pg
from pgaspy.execution.flushing import MAX_OPERATIONS
from pgaspy.planning import interiors
from tests.flushes import kernels_of
from tests.scheduling.test_deadlocks import at_random
from tests.simulated import Job
from tests.together import assert_equal, collectively

N_PROGRAMS = 60
EDGE = 2


@pytest.fixture(autouse=True)
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    """Cut small arrays, too."""
    monkeypatch.setattr(interiors, "MIN_ELEMENTS", 4)


class Program:
    """A random program on neighbours: results lie where views do, and are combined, assigned, reduced and forgotten.

    Attributes
    ----------
    pairs
        Arrays with edges, and their models.
    """

    def __init__(self, rng: random.Random, shape: tuple[int, ...]) -> None:
        self.rng, self.shape = rng, shape
        models = [np.arange(float(np.prod(shape))).reshape(shape) % 7 + k for k in range(3)]
        self.pairs: list[tuple[Any, NDArray[Any]]] = [(pg.array(model), model.copy()) for model in models]
        self.results: list[tuple[Any, NDArray[Any]]] = []
        self.sums: list[tuple[Any, float]] = []

    def run(self) -> None:
        """Record it. Collective."""
        for _ in range(self.rng.randrange(10, 40)):
            self.rng.choice((self.scale, self.scale, self.combine, self.combine, self.combine, self.update, self.assign,
                             self.assign, self.copy_edge, self.forget, self.sum))()

    @property
    def differences(self) -> list[int]:
        """What is not what it is to be. Collective."""
        wrong = [k for k, (array, model) in enumerate(self.pairs + self.results)
                 if not np.allclose(array.gather(), model)]
        return wrong + [-1 for found, wanted in self.sums if not np.allclose(float(found), wanted)]

    def view(self) -> tuple[Any, Any]:
        """One of the neighbours of an array's inside, or a result."""
        if self.results and self.rng.random() < 0.5:
            return self.rng.choice(self.results)
        array, model = self.rng.choice(self.pairs)
        key = tuple(slice(start, start + n - EDGE) for n in self.shape for start in [self.rng.randint(0, EDGE)])
        return array[key], model[key]

    def scale(self) -> None:
        """A result that lies where a view does."""
        (a, x), c = self.view(), self.rng.choice((0.5, -1.0))
        self.results.append((c * a, c * x))

    def combine(self) -> None:
        """One of two."""
        (a, x), (b, y) = self.view(), self.view()
        self.results.append((0.5 * (a + b), 0.5 * (x + y)) if self.rng.random() < 0.7 else (
            pg.where(a > b, a, b), np.where(x > y, x, y)))

    def update(self) -> None:
        """A result, changed in place."""
        if self.results:
            (a, x), (b, y) = self.rng.choice(self.results), self.view()
            a -= 0.5 * b
            x -= 0.5 * y

    def assign(self) -> None:
        """The inside of an array, of which a view may be read."""
        (a, x), (b, y) = self.rng.choice(self.pairs), self.view()
        key = tuple(slice(1, n - 1) for n in self.shape)
        a[key] = b
        x[key] = y.copy()

    def copy_edge(self) -> None:
        """The last row is that before it."""
        a, x = self.rng.choice(self.pairs)
        a[-1] = a[-2]
        x[-1] = x[-2]

    def forget(self) -> None:
        """A result that nobody can see any more."""
        if self.results:
            del self.results[self.rng.randrange(len(self.results))]

    def sum(self) -> None:
        """A result, reduced."""
        if self.results:
            a, x = self.rng.choice(self.results)
            self.sums.append((a.sum(), float(x.sum())))


def random_shape(rng: random.Random) -> tuple[int, ...]:
    return rng.choice([(40,), (61,), (24, 6), (37, 11), (16, 16)])


@pytest.mark.mpi
@pytest.mark.parametrize("seed", range(N_PROGRAMS))
def test_random_programs(seed: int) -> None:
    rng = random.Random(seed)
    program = Program(rng, random_shape(rng))
    program.run()
    found = program.differences
    collectively(found == [], str(found))


@pytest.mark.skipif(pg.SIZE > 1, reason="plays all processes")
@pytest.mark.parametrize("seed", range(N_PROGRAMS))
def test_they_come_to_their_end_wherever_processes_flush(seed: int) -> None:
    rng = random.Random(f"job {seed}")
    size, often = rng.choice((2, 3, 4, 5)), rng.choice((0.0, 0.2, 1.0))
    shape = random_shape(rng)

    def program() -> list[int]:
        found = Program(random.Random(seed), shape)
        found.run()
        return found.differences

    job = Job(program, [at_random(random.Random(f"flushes {seed} of {rank}"), often if rank else 0.2)
                        for rank in range(size)], rng.choice((1, 3, MAX_OPERATIONS)))
    assert job.network.n_left == 0
    assert all(differences == [] for differences in job.results.values()), f"{job.results}"


def step(a: Any, b: Any) -> None:
    """What moves up meets what moves down."""
    up, down = 0.5 * a[:-2], 0.25 * a[2:]
    b[1:-1] = (up - down) * (up + down) + a[1:-1]


@pytest.mark.mpi
@pytest.mark.usefixtures("one_flush")
def test_what_is_shifted_shares_a_kernel() -> None:
    """All of a step is one kernel, besides those of the rows at which processes meet."""
    model = np.arange(64.0 * 5).reshape(64, 5)
    a, b, other = pg.array(model), pg.zeros(model.shape), np.zeros(model.shape)
    n_fused, n_kernels = kernels_of(lambda: step(a, b))
    step(model, other)
    assert_equal(b, other)
    n_neighbours = (pg.RANK > 0) + (pg.RANK < pg.SIZE - 1)
    collectively(n_fused == 7 and n_kernels <= 1 + 2 * n_neighbours, f"{n_fused} in {n_kernels}")


def test_what_is_sent_of_a_cut_operation_keeps_a_kernel_from_waiting_for_later_messages() -> None:
    """One process reads what takes an edge of others, while they have recorded what would join the edge's kernel."""
    x = np.arange(32.0 * pg.SIZE)
    a = pg.array(x)
    pg.sync()
    for k in range(pg.SIZE):
        first = a[2:] * 2
        sent = a[:-2] + first
        if k == pg.RANK:
            part = sent.local()
            del part
        second = pg.empty_like(first)
        pg.subtract(first, a[:-2], out=second)  # of which an element arrives at that edge
        assert_equal(second, x[2:] * 2 - x[:-2])
        assert_equal(sent, x[:-2] + x[2:] * 2)
