"""Which temporaries share their memory, and that what is computed in it stays NumPy's."""

from __future__ import annotations

import itertools
import random
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import pgaspy as pg
from pgaspy.execution.recording import dry_run
from pgaspy.job.procgrid import simulated
from pgaspy.planning import chains
from pgaspy.scheduling import base, schedule, temporaries
from pgaspy.scheduling.operations import Operation
from pgaspy.scheduling.temporaries import shared_memories
from tests.together import assert_equal, collectively

pytestmark = [pytest.mark.mpi, pytest.mark.every, pytest.mark.usefixtures("one_flush", "_also_small")]

SHAPE = 40, 30
N_PROGRAMS, N_PLANNED = 60, 24
Program = Callable[[Any, Any], object]


@pytest.fixture
def _also_small(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(temporaries, "MIN_BYTES", 0)
    monkeypatch.setattr(chains, "MIN_BYTES", 0)


@pytest.fixture
def shared(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Per schedule, how many arrays lie in the memory of others."""
    found: list[int] = []
    original = temporaries.shared_memories

    def noted(*given: Any) -> dict[int, int]:
        memories = original(*given)
        found.append(len(memories))
        return memories

    monkeypatch.setattr(schedule, "shared_memories", noted)
    return found


def mean(u: Any) -> Any:
    return (u[1:-1, 1:-1] + u[:-2, 1:-1] + u[2:, 1:-1] + u[1:-1, :-2] + u[1:-1, 2:]) * 0.2


def sweeps(u: Any, xp: Any) -> None:
    for _ in range(5):
        u[1:-1, 1:-1] = mean(u)


def sweeps_in_place(u: Any, xp: Any) -> None:
    for _ in range(5):
        u[1:-1, 1:-1] += 0.5 * (mean(u) - u[1:-1, 1:-1])


def all_held(u: Any, xp: Any) -> object:
    kept = []
    for _ in range(3):
        kept.append(mean(u))
        u[1:-1, 1:-1] = kept[-1]
    return kept


def independent(u: Any, xp: Any) -> object:
    """The second one does not wait for the first."""
    first = u[1:] + u[:-1]
    a = first[1:] - first[:-1]
    second = u[1:] * u[:-1]
    return a, second[1:] - second[:-1]


def independent_but_later(u: Any, xp: Any) -> object:
    """Nor does the second one here, which shares no kernel with the first."""
    first = u[1:] + u[:-1]
    a = first[1:] - first[:-1]
    w = u * 2
    second = w[1:] * w[:-1]
    return a, second[1:] - second[:-1]


def used_besides(u: Any, xp: Any) -> object:
    """The second one waits for the last that uses the first, but for one more."""
    first = mean(u)
    a = first[1:] - first[:-1]
    u[1:-1, 1:-1] = first
    u[1:-1, 1:-1] = mean(u)
    return a


def used_twice(u: Any, xp: Any) -> None:
    """The second one waits for the last that uses the first, and this for the one before."""
    first = mean(u)
    a = first[1:] - first[:-1]
    u[2:-2, 1:-1] = first[1:-1] + a[1:] + a[:-1]
    u[1:-1, 1:-1] = mean(u)


def read_later(u: Any, xp: Any) -> object:
    """The first is read once more when the second has been written."""
    first = mean(u)
    u[1:-1, 1:-1] = first
    second = mean(u)
    u[1:-1, 1:-1] = second
    return first[1:] - second[:-1]


def filled_in_part(u: Any, xp: Any) -> None:
    """The second is not overwritten as a whole."""
    second = ones(xp)
    u[1:-1, 1:-1] = mean(u)
    second[::2] = u[1:-1:2, 1:-1] * 2
    u[1:-1, 1:-1] += second


def updated(u: Any, xp: Any) -> None:
    """The second is read by the kernel that overwrites it."""
    second = ones(xp)
    u[1:-1, 1:-1] = mean(u)
    second += mean(u)
    u[1:-1, 1:-1] = second


def scanned(u: Any, xp: Any) -> object:
    """The second is also read by what is no kernel."""
    u[1:-1, 1:-1] = mean(u)
    second = mean(u)
    u[1:-1, 1:-1] = second
    return xp.cumsum(second, axis=0)


def sent(u: Any, xp: Any) -> None:
    """Parts of the second are sent to other processes, where there are any."""
    u[1:-1, 1:-1] = mean(u)
    second = mean(u)
    u[1:-1, 1:-1] = second[::-1, ::-1]


def ones(xp: Any) -> Any:
    """An array that has been there before."""
    found = xp.ones((SHAPE[0] - 2, SHAPE[1] - 2))
    pg.sync()
    return found


def other_dtype(u: Any, xp: Any) -> None:
    u[1:-1, 1:-1] = mean(u)
    u[1:-1, 1:-1] = mean(u).astype(np.float32)


def reduced(u: Any, xp: Any) -> object:
    """What a reduction reads lies in its own memory."""
    found = []
    for _ in range(3):
        new = mean(u)
        found.append(abs(new - u[1:-1, 1:-1]).sum(axis=0))
        u[1:-1, 1:-1] = new
        del new
    return found


def statements(rng: random.Random, u: Any, xp: Any) -> object:
    """Sweeps over some arrays, and what is computed of them, of which some is held for a while, and some is kept."""
    fields = [u, u * 0.5, u[::-1] + 1]
    held: list[Any] = []
    maxima = []
    for _ in range(rng.randrange(5, 25)):
        x, y = rng.choice(fields), rng.choice(fields)
        inner = x[1:-1, 1:-1]
        new = rng.choice([np.add, np.subtract, np.maximum])(mean(y), rng.choice([inner, y[1:-1, 1:-1]]))
        kind = rng.choice(("assign", "assign", "assign", "add", "assign what was held", "hold"))
        if kind == "assign":
            inner[...] = new
        elif kind == "add":
            inner += new * 0.25
        elif kind == "assign what was held" and held:
            inner[...] = held.pop(rng.randrange(len(held))) * 0.5
        if rng.random() < 0.3:
            held.append(new)
        if rng.random() < 0.2:
            fields[rng.randrange(1, 3)] = y * 0.5 + x
        if rng.random() < 0.2:
            x[2:, 1:-1] -= new * 0.125
        if rng.random() < 0.2:
            maxima.append(new.max(axis=rng.randrange(2)))
    return fields + held + maxima


def check(program: Program) -> None:
    model = (np.arange(float(SHAPE[0] * SHAPE[1])) % 17).reshape(SHAPE)
    u = pg.array(model)
    pg.sync()
    found = program(u, pg)
    pg.sync()
    expected = program(model, np)
    assert_equal(u, model)
    for array, values in zip(_listed(found), _listed(expected), strict=True):
        np.testing.assert_allclose(array.gather(), values, rtol=1e-12)


def _listed(found: Any) -> list[Any]:
    return [] if found is None else [*found] if isinstance(found, (list, tuple)) else [found]


@pytest.mark.parametrize(("program", "n"), [(sweeps, 4), (sweeps_in_place, 4), (reduced, 2), (all_held, 0),
                                            (independent, 0), (independent_but_later, 0), (used_besides, 0),
                                            (read_later, 0)])
def test_which_share_their_memory(program: Program, n: int, shared: list[int]) -> None:
    check(program)
    collectively(sum(shared) == n, f"{shared}")


@pytest.mark.parametrize("seed", range(N_PROGRAMS))
def test_random_programs(seed: int) -> None:
    check(lambda u, xp: statements(random.Random(seed), u, xp))


@pytest.mark.parametrize("program", [filled_in_part, updated, scanned, other_dtype])
def test_those_that_differ(program: Program, shared: list[int]) -> None:
    check(program)
    collectively(not any(shared), f"{shared}")


def test_one_waits_for_another_by_way_of_a_third(shared: list[int]) -> None:
    check(used_twice)
    collectively(sum(shared) == 1 or pg.SIZE > 1, f"{shared}")  # rows are sent there


def test_what_is_sent_lies_in_its_own_memory(shared: list[int]) -> None:
    check(sent)
    collectively(pg.SIZE == 1 or not any(shared), f"{shared}")


def test_small_ones_do_not(monkeypatch: pytest.MonkeyPatch, shared: list[int]) -> None:
    monkeypatch.setattr(temporaries, "MIN_BYTES", 1 << 20)
    check(sweeps)
    collectively(not any(shared))


def test_a_loop_has_one_temporary(monkeypatch: pytest.MonkeyPatch) -> None:
    """However many sweeps a flush has."""
    allocated: list[tuple[int, ...]] = []
    allocate = base.Storage._allocate

    def noted(self: Any) -> None:
        allocated.append(self.layout.shape)
        allocate(self)

    u = pg.ones(SHAPE)
    pg.sync()
    monkeypatch.setattr(base.Storage, "_allocate", noted)
    sweeps(u, pg)
    pg.sync()
    collectively(len(allocated) <= 1, f"{allocated}")


@pytest.mark.skipif(pg.SIZE > 1, reason="plays all processes")
@pytest.mark.parametrize("size", [2, 4, 6])
def test_what_lies_elsewhere_is_used_by_kernels_alone(size: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """It has no memory of its own, in which other nodes would look for it."""
    n_shared = 0
    for seed, rank in itertools.product(range(N_PLANNED), (0, size - 1)):
        with simulated(size, rank):
            operations, memories = list[Operation](), dict[int, int]()
            with dry_run(operations.append):
                u = pg.ones(SHAPE)
                held = {array._base for array in [u, *_listed(statements(random.Random(seed), u, pg))]}
            monkeypatch.setattr(schedule, "shared_memories", _noting(memories))
            found = schedule.schedule_of(operations, held.__contains__, rank, True)
        assert found.named.isdisjoint([*memories, *memories.values()])
        for node in found.nodes:
            assert memories.keys().isdisjoint([*node.uses, *node.reads, *(memory for memory, _ in node.writes)])
        n_shared += len(memories)
    assert n_shared


def _noting(memories: dict[int, int]) -> Callable[..., dict[int, int]]:
    """`shared_memories`, whose result is noted."""
    def noted(*given: Any) -> dict[int, int]:
        memories.update(shared_memories(*given))
        return memories
    return noted
