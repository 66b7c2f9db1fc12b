"""Chains: kernels side by side in bands of rows give the bits that they give one after the other."""

from __future__ import annotations

import itertools
import math
import random
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import pytest

import pgaspy as pg
from pgaspy.execution import engine, recording
from pgaspy.job.procgrid import world
from pgaspy.kernels import bindings
from pgaspy.kernels.program import Program, Step
from pgaspy.planning import chains
from pgaspy.planning.chains import Place, Rows, place_behind, rows_apart
from pgaspy.scheduling import elementwise, schedule
from pgaspy.scheduling.kernel_nodes import (
    ChainedCall,
    FusedCall,
    FusedReduceCall,
    KernelCall,
    LeafResults,
    finish_leaves,
)
from tests.together import collectively

SEED = random.SystemRandom().getrandbits(32)


@pytest.fixture(autouse=True)
def _small(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Chains of kernels on little memory, in bands of a few rows."""
    monkeypatch.setattr(chains, "MIN_BYTES", 0)
    n_threads = bindings.get_threads()
    yield
    bindings.set_threads(n_threads)


# Which rows have to be ahead ------------------------------------------------------------------------------------------


def test_rows_apart_by_definition() -> None:
    draw = random.Random(SEED)
    for _ in range(500):
        earlier, later = ([random_rows(draw) for _ in range(draw.randint(1, 3))] for _ in range(2))
        pairs = [(a, b) for a, b in itertools.product(earlier, later)
                 if a.memory == b.memory and (a.is_written or b.is_written)]
        conflicts = [i - j for i, j in itertools.product(range(40), repeat=2) for a, b in pairs
                     if a.start + i * a.step < b.stop + j * b.step and b.start + j * b.step < a.stop + i * a.step]
        found = rows_apart(earlier, later)
        if any(a.step != b.step or a.step <= 0 for a, b in pairs):
            assert found is None
        else:
            assert found is not None
            seen = [apart for apart in found if abs(apart) < 40]  # the others are not among the rows looked at
            assert set(seen) <= set(conflicts), (SEED, earlier, later)
            assert not conflicts or found[0] <= min(conflicts) <= max(conflicts) <= found[1], (SEED, earlier, later)


def test_places_by_definition() -> None:
    """What a kernel has to come after: no front behind its own; nothing that is peeled, unless it is peeled itself."""
    draw = random.Random(SEED)
    for _ in range(500):
        kernels = [[Rows(draw.randint(0, 1), start, start + draw.randint(1, 30), 8, draw.random() < 0.5)
                    for start in draw.sample(range(60), draw.randint(1, 3))] for _ in range(draw.randint(2, 4))]
        places = [Place()]
        for k, rows in enumerate(kernels[1:], 1):
            place = place_behind([*zip(kernels[:k], places, strict=True)], rows)
            assert place is not None
            for earlier, (lag, peel) in zip(kernels, places, strict=False):
                for apart in rows_apart(earlier, rows) or ():
                    assert apart + lag <= place.lag, (SEED, kernels)
                    assert place.peel - place.lag + apart + lag >= peel, (SEED, kernels)
            places.append(place)
    assert place_behind([([Rows(0, 0, 8, 8, True)], Place())], [Rows(0, 0, 8, 16, False)]) is None


def random_rows(draw: random.Random) -> Rows:
    start = draw.randint(0, 60)
    return Rows(draw.randint(0, 1), start, start + draw.randint(1, 30), draw.choice([8, 8, 8, 8, 16, 0, -8]),
                draw.random() < 0.5)


# Kernels --------------------------------------------------------------------------------------------------------------


class Memory:
    """An array as the nodes of a schedule see it."""

    def __init__(self, array: np.ndarray) -> None:
        self.array = array
        self.address = bindings.address(array)


ADD = Program("ddd", 2, "", (Step("add", "dd->d", (0, 1), 2),))
COPY = Program("dd", 1, "", (Step("copy", "d->d", (0,), 1),))
SUM = Program("ddd", 2, "", (Step("subtract", "dd->d", (0, 1), 2),), (("add", "d->d"),))
STORAGE = 40, 300
Pair = tuple[int, int]


def kernel(draw: random.Random, shape: tuple[int, int]) -> FusedCall:
    """A copy or a sum of sections, of two arrays, at any distance of a few rows and columns."""
    program = draw.choice([ADD, COPY])
    places, strides = operands(draw, shape, len(program.operands))
    return FusedCall(program, shape, strides, places, "any")


def operands(draw: random.Random, shape: tuple[int, int], n: int) -> tuple[list[Pair], list[Pair]]:
    by = STORAGE[1] * 8, 8
    corners = [(draw.randint(0, STORAGE[0] - shape[0]), draw.randint(0, STORAGE[1] - shape[1])) for _ in range(n)]
    return [(draw.randint(0, 1), row * by[0] + column * by[1]) for row, column in corners], [by] * n


def overlaps_itself(node: FusedCall) -> bool:
    """Whether a kernel reads, elsewhere, what it writes, which operations never do."""
    *inputs, output = node.rows
    return any(x.memory == output.memory and x.start != output.start for x in inputs)


def arrays(draw: random.Random) -> list[np.ndarray]:
    return [np.random.default_rng(draw.getrandbits(32)).random(STORAGE) for _ in range(2)]


@pytest.mark.parametrize("n_threads", [1, 2, 3])
def test_bits_of_one_after_the_other(n_threads: int, monkeypatch: pytest.MonkeyPatch) -> None:
    draw = random.Random(SEED)
    bindings.set_threads(n_threads)
    n_chained = 0
    for _ in range(400):
        monkeypatch.setattr(chains, "BAND_BYTES", 8 * STORAGE[1] * 2 * draw.choice([1, 3, 10, 40]))
        shape = draw.choice([(30, 290), (33, 280), (20, 1), (38, 257)])
        nodes = [node for node in (kernel(draw, shape) for _ in range(draw.randint(2, 9))) if not overlaps_itself(node)]
        memories = [Memory(x) for x in arrays(draw)]
        expected = [Memory(x.array.copy()) for x in memories]
        for node in nodes:
            node.compute(expected)
        for node in chained(nodes):
            n_chained += isinstance(node, ChainedCall)
            run(node, memories, in_parts=draw.random() < 0.3, monkeypatch=monkeypatch)
        for found, wanted in zip(memories, expected, strict=True):
            assert (found.array == wanted.array).all(), SEED
    assert n_chained > 100


def chained(nodes: Sequence[KernelCall]) -> list[KernelCall]:
    """Kernels, those in chains that may be in one."""
    found: list[KernelCall] = []
    for node in nodes:
        longer = node.following(found[-1]) if found else None
        if longer is None:
            found.append(node)
        else:
            found[-1] = longer
    return found


def run(node: KernelCall, memories: list[Any], in_parts: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    if not in_parts:
        node.compute(memories)
        return
    if isinstance(node, ChainedCall):
        monkeypatch.setattr(node, "_length_of_part", random.choice([7, 20]))
    for _ in node.parts(memories):
        pass


@pytest.mark.parametrize("n_threads", [1, 2])
@pytest.mark.parametrize("shape", [(30, 290), (36, 40), (36, 1)])
def test_a_reduction_ends_a_chain(shape: tuple[int, int], n_threads: int, monkeypatch: pytest.MonkeyPatch) -> None:
    draw = random.Random(SEED)
    bindings.set_threads(n_threads)
    n_chained = 0
    for _ in range(100):
        monkeypatch.setattr(chains, "BAND_BYTES", 8 * STORAGE[1] * 2 * draw.choice([1, 3, 10, 40]))
        first = kernel(draw, shape)
        if overlaps_itself(first):
            continue
        places, strides = operands(draw, shape, 2)
        leaves = bindings.Leaves(shape, 0, 2)
        reduced = FusedReduceCall(SUM, shape, strides, places, leaves, (0, 0), "sum")
        reduced.store_in([LeafResults(2, 3)], [])
        finish = finish_leaves(("add", "d->d"), leaves, (), LeafResults(2, 3), 4)
        results = []
        inputs = arrays(draw)
        for nodes in [first, reduced], chained([first, reduced]):
            n_chained += len(nodes) == 1
            buffers = [np.zeros(leaves.n_leaves), np.zeros(1), np.zeros(1)]
            memories = [Memory(x) for x in (*(y.copy() for y in inputs), *buffers)]
            for node in nodes:
                run(node, memories, draw.random() < 0.3, monkeypatch)
            finish.compute(memories)
            results.append([memory.array for memory in memories[:2]] + [memories[4].array])
        for found, wanted in zip(*results, strict=True):
            assert (found == wanted).all(), SEED
    assert n_chained > 20


def test_no_chain() -> None:
    draw = random.Random(SEED)
    while overlaps_itself(node := kernel(draw, (30, 290))):
        pass
    rows = Rows(0, 0, 8, 8, True)
    assert chains.band([[rows], [rows]], 100, 0) == chains.BAND_BYTES // 8
    assert chains.band([[rows], [rows]], 100, chains.BAND_BYTES // 8) is not None
    assert chains.band([[rows], [rows]], 100, chains.BAND_BYTES // 8 + 1) is None  # too far behind
    assert chains.band([[rows]] * (chains.MAX_STAGES + 1), 100, 0) is None
    node.is_urgent = True
    other = FusedCall(COPY, (30, 290), [(2400, 8)] * 2, [(0, 0), (1, 0)], "copy")
    assert other.following(node) is None
    assert node.following(other) is None


def test_little_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(chains, "MIN_BYTES", 1 << 16)
    rows = [Rows(0, 0, 800, 800, True)], [Rows(0, 0, 800, 800, False), Rows(1, 0, 800, 800, True)]
    assert chains.band(rows, 41, 1) == chains.BAND_BYTES // 1600
    assert chains.band(rows, 40, 1) is None


# Programs -------------------------------------------------------------------------------------------------------------


@pytest.fixture
def _anew() -> Iterator[None]:
    """Nothing that was planned without chains is found again, nor with them afterwards."""
    pg.sync()
    recording.forget()
    schedule.may_be_postponed.cache_clear()
    yield
    pg.sync()
    recording.forget()
    schedule.may_be_postponed.cache_clear()


@pytest.mark.mpi
@pytest.mark.usefixtures("_anew")
@pytest.mark.parametrize("has_network", [False, True])
def test_stencils_have_numpys_bits(has_network: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """Sweeps over two or three fields, with residuals that are read at once, later, or never."""
    monkeypatch.setattr(world(), "has_network", has_network)
    if has_network:  # what is postponed is executed, in pieces, while messages are waited for
        monkeypatch.setattr(elementwise, "CUT_FROM_ACCESSES", 0)
        monkeypatch.setattr(engine, "IDLE_SECONDS", 0)
    seed = pg.COMM.bcast(SEED)
    draw = random.Random(seed)
    for _ in range(10):
        monkeypatch.setattr(chains, "BAND_BYTES", 8 << draw.randint(5, 12))
        shape = draw.randint(4, 60), draw.randint(4, 40)
        fields = [pg.random.default_rng(draw.getrandbits(32)).random(shape) for _ in range(draw.randint(2, 3))]
        models = [field.gather() for field in fields]
        late: list[tuple[pg.GlobalArray, Any]] = []
        for _ in range(draw.randint(2, 25)):
            write, read = draw.sample(range(len(fields)), 2)
            corners = [tuple(draw.randint(0, 2) for _ in range(2)) for _ in range(draw.randint(2, 5))]
            sections = [tuple(slice(c, n - 2 + c) for c, n in zip(corner, shape, strict=True)) for corner in corners]
            for x in fields, models:
                new = sum((x[read][s] for s in sections[1:-1]), x[read][sections[-1]]) * 0.25
                change = np.abs(new - x[write][sections[0]]).max()
                x[write][sections[0]] = new
                if x is models:
                    late[-1] = late[-1][0], change
                else:
                    late.append((change, None))
            if draw.random() < 0.5:
                assert float(late[-1][0]) == late[-1][1], seed
        for found, model in late:
            assert float(found) == model, seed
        for field, model in zip(fields, models, strict=True):
            assert (field.gather() == model).all(), seed


@pytest.mark.mpi
@pytest.mark.usefixtures("_anew")
@pytest.mark.parametrize("reads", [True, False])
def test_the_copy_of_a_sweep_is_chained_to_the_next_sweep(reads: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(engine, "IDLE_SECONDS", math.inf)  # in which what is postponed would be executed
    monkeypatch.setattr(elementwise, "CUT_FROM_ACCESSES", 0)
    names = []
    compute = ChainedCall.compute
    monkeypatch.setattr(ChainedCall, "compute",
                        lambda self, memories: (names.append(self.name), compute(self, memories))[1])
    full = pg.random.default_rng(1).random((100 * pg.SIZE, 300))
    center, work = full[:, 1:-1], pg.empty_like(full[:, 1:-1])
    for _ in range(5):
        work[...] = center + full[:, :-2] + full[:, 2:]
        change = np.abs(work - center).sum()
        center[...] = work
        if reads:
            float(change)
    pg.sync()
    collectively(sum("copy, add" in name for name in names) >= (4 if reads else 1), f"{names}")
