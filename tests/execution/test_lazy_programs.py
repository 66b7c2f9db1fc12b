"""Random programs that are not synchronised after every statement, under both executors.

Each program runs twice: one operation after the other (the in-order executor, with values compared to NumPy's as soon
as they are not exact), and lazily, with thresholds and reads of local parts that every process chooses by itself. The
second run is to give the bits of the first, in whatever it reads meanwhile and in the end.
"""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import pgaspy as pg
from pgaspy.execution import recording
from pgaspy.kernels import bindings, jit
from pgaspy.planning import chains, trees
from pgaspy.scheduling import elementwise, kernel_nodes, memory, messages, schedule, temporaries
from pgaspy.scheduling.backend import backend
from tests.randomly import random_layout
from tests.test_programs import STATEMENTS as PLAIN_STATEMENTS
from tests.test_programs import Pair, Program, largest
from tests.together import assert_equal, collectively

pytestmark = pytest.mark.mpi

N_PROGRAMS = 48
N_BATCHES = 4
N_STATEMENTS = 14
N_SHORT = 10
N_COMPILED = 4
N_MORE = 1000
MAX_BASES = 7
MAX_NAP_SECONDS = 0.02


class LazyProgram(Program):
    """A random program; its first run notes what is not exact, for the second to take over."""

    def __init__(self, seed: int, found: list[Any] | None = None) -> None:
        super().__init__(seed)
        self.own = random.Random(seed * 64 + pg.RANK)  # what this process decides by itself
        self.is_first = found is None
        self.found: list[Any] = [] if found is None else found
        self.n_replayed = 0
        self.scalars: list[tuple[Any, Any]] = []
        self.kept: list[tuple[Pair, Any]] = []
        self.names: set[str] = set()

    def run(self, n_statements: int) -> str:
        """The first difference found on this process, if any; `values` are what it ends with."""
        self.create()
        self.create()
        for _ in range(n_statements):
            statement = self.rng.choice(STATEMENTS)
            self.names.add(statement.__name__)
            try:
                statement(self)
                if not self.is_first:
                    self.look()
                self.bound()
            except Exception as error:
                raise RuntimeError(f"seed {self.seed}: {'; '.join(self.log)}") from error
        for pair in self.bases:
            self.compare(pair.array.gather(), pair.model)
        for array, model in self.scalars:
            self.compare(np.asarray(array.item(), model.dtype), np.asarray(model))
        self.look_at_kept()
        return self.problem

    def compare(self, found: Any, model: Any) -> None:
        """To the bit, but for the payload of NaNs."""
        same = found.shape == model.shape and found.dtype == model.dtype
        if same and found.dtype.kind in "fc":
            same = all(np.array_equal(a, b, equal_nan=True) and np.array_equal(
                np.signbit(a)[~np.isnan(a)], np.signbit(b)[~np.isnan(b)]) for a, b in zip(parts(found), parts(model),
                                                                                          strict=True))
        elif same:
            same = np.array_equal(found, model)
        if not same:
            self.differ(f"found\n{found!r}\nexpected\n{model!r}")

    def check(self, array: Any, model: Any, exact: bool = True, scale: float = 1.0) -> None:
        """In the first run, what need not be exact is compared, and noted; the second takes it over."""
        if not isinstance(array, pg.GlobalArray) or array.shape != model.shape or array.dtype != model.dtype:
            self.differ(f"{array!r}, expected shape {model.shape}, dtype {model.dtype}")
        elif exact:
            if self.is_first and array._view.stretched_dims == () and model.flags.writeable:
                # -0.0, and the sign of what NumPy computes by other instructions
                found = array.gather()
                if np.array_equal(found, model, equal_nan=found.dtype.kind in "fc"):
                    self.found.append(found.copy())
                    model[...] = found
                else:
                    super().check(array, model, exact, scale)
                    self.found.append(None)
            elif model.flags.writeable and array._view.stretched_dims == ():
                self.take_over(model)
        elif self.is_first:
            super().check(array, model, exact, scale)
            self.found.append(np.array(model))
        else:
            self.take_over(model)

    def take_over(self, model: Any) -> None:
        found = self.found[self.n_replayed]
        self.n_replayed += 1
        if found is not None:
            model[...] = found

    def add(self, pair: Pair, is_base: bool = True) -> None:
        super().add(pair, is_base)
        while len(self.bases) > MAX_BASES:
            self.drop(self.bases[0])

    def drop(self, base: Pair) -> None:
        """Forget an array and all its views."""
        self.bases = [b for b in self.bases if b.array._base is not base.array._base]
        self.pairs = [p for p in self.pairs if p.array._base is not base.array._base]
        self.kept = [(p, v) for p, v in self.kept if p.array._base is not base.array._base]

    def root(self, pair: Pair) -> Pair:
        for base in self.bases:
            if base.array._base is pair.array._base:
                return base
        return pair

    # What each process does by itself

    def look(self) -> None:
        """Now and then: another threshold, a look at a local part, kept or not, a flush, a scalar, a nap."""
        rng = self.own
        kind = rng.random()
        if kind < 0.1:
            recording.queue.max_operations = rng.choice([1, 2, 3, 5, 10, 100, 1000])
        elif kind < 0.25 and self.bases:
            self.look_at(rng.choice(self.bases), rng.random() < 0.5)
        elif kind < 0.35 and self.pairs:
            self.look_at(rng.choice(self.pairs), rng.random() < 0.3)
        elif kind < 0.4:
            pg.sync()
        elif kind < 0.5:
            self.look_at_kept()
        elif kind < 0.55:
            self.kept.clear()
        elif kind < 0.65 and self.scalars:
            array, model = rng.choice(self.scalars)
            self.compare(np.asarray(array.item(), model.dtype), np.asarray(model))
        elif kind > 0.99:
            time.sleep(MAX_NAP_SECONDS * rng.random())

    def look_at(self, pair: Pair, keeps: bool) -> None:
        """A local part, against the same elements of the model."""
        try:
            found = pair.array.local()
        except ValueError:
            return
        self.compare_local(pair, found)
        if keeps:
            self.kept.append((pair, found))
            del self.kept[:-4]

    def look_at_kept(self) -> None:
        for pair, found in self.kept:
            self.compare_local(pair, found)

    def compare_local(self, pair: Pair, found: Any) -> None:
        array, model = pair
        if found.size:
            model = model[np.ix_(*[array.global_indices(d) for d in range(model.ndim)])] if model.ndim else model
            self.compare(np.array(found), np.array(model))

    # Statements besides

    def scalar(self) -> None:
        """A full reduction, read at once, later, or never."""
        pair = self.pick()
        if not pair.model.size:
            return
        name = self.rng.choice(["sum", "min", "max", "any", "sum"])
        if name == "sum" and pair.model.dtype == np.float16:
            return  # it may overflow
        self.note(name, pair)
        array, model = getattr(pair.array, name)(), np.array(getattr(pair.model, name)())
        exact = name != "sum" or model.dtype.kind in "biu"
        self.check(array, model, exact, max(pair.model.size, 1) * 1e4)
        if self.rng.random() < 0.5:
            self.compare(np.asarray(array.item(), model.dtype), model)
        self.scalars.append((array, model))
        del self.scalars[:-3]

    def reduced(self) -> None:
        """Reductions, over some of the axes, of what is computed for them alone."""
        rng, pair = self.rng, self.pick(1)
        if not pair.model.size or pair.model.dtype.char not in "fdilB":
            return
        axes = sorted(rng.randrange(pair.model.ndim) for _ in range(2))
        self.note("reduced", pair, axes=axes)
        doubled = Pair(pair.array + pair.array, pair.model + pair.model)
        for name in rng.sample(["sum", "max", "min", "any"], 2):
            array, model = (getattr(x, name)(axis=tuple(range(axes[0], axes[1] + 1))) for x in doubled)
            result = Pair(array, np.array(model))
            exact = name != "sum" or result.model.dtype.kind in "iu"
            self.check(*result, exact, pair.model.size * max(largest(pair.model), 1.0))
            self.add(result)

    def replaced(self) -> None:
        """A section takes what is computed of it, with the change, as at the end of a sweep."""
        target = self.pick_target()
        if not owned_once(target) or target.model.dtype.char not in "fd" or not target.model.size:
            return
        self.note("replaced", target)
        changes = []
        for x in target:
            new = x * 0.5
            changes.append(new - x)
            x[...] = new
        self.add(Pair(*changes))
        self.check(*changes)
        self.check_base(target)

    def sweeps(self) -> None:
        """Sweeps over a section, each with a temporary of its own."""
        target = self.pick_target()
        if not owned_once(target) or target.model.dtype.char not in "fd" or not target.model.size or (
                max(target.model.shape, default=0) < 3):
            return
        d = int(np.argmax(target.model.shape))
        inner, left, right = ((slice(None),) * d + (s,) for s in (slice(1, -1), slice(-2), slice(2, None)))
        self.note("sweeps", target)
        for _ in range(self.rng.randint(2, 5)):
            for x in target:
                x[inner] = (x[inner] + x[left] + x[right]) * 0.25
        self.check_base(target)

    def element(self) -> None:
        pair = self.pick(1)
        if not pair.model.size:
            return
        key = tuple(self.rng.randrange(n) for n in pair.model.shape)
        self.note("element", pair, key=key)
        found = pair.array[key].item()
        if not self.is_first:
            self.compare(np.asarray(found, pair.model.dtype), np.asarray(pair.model[key]))

    def hoisted(self) -> None:
        """Views of the local parts, that are written to now and later, in between global statements."""
        pair = self.pick_target()
        if not owned_once(pair):
            return
        try:
            part = pair.array.local()
        except ValueError:
            return
        self.note("hoisted", pair)
        for _ in range(self.rng.randint(1, 3)):
            negate(part)
            negate(pair.model)
            if self.rng.random() < 0.5:
                self.in_place()
            else:
                self.assign_to_itself()

    def task(self) -> None:
        """Sections of arrays that lie alike, worked on by a task."""
        first = self.pick_target()
        if not owned_once(first):
            return
        kind = self.rng.choice(["update", "write", "read", "both"])
        array, model = first
        try:
            pg.schedule(nothing, array)
        except ValueError:
            return
        self.note("task " + kind, first)
        if kind == "update":
            pg.schedule(negate, pg.update(array))
            negate(model)
        elif kind == "write":
            pg.schedule(fill, pg.write(array), 1)
            fill(model, 1)
        else:
            layout = array._view.own_layout
            if layout is None or model.dtype.kind == "b":
                return
            other = pg.empty(model.shape, model.dtype, layout=layout)
            if kind == "both":
                pg.schedule(swap, pg.write(other), pg.update(array))
                result = Pair(other, model.copy())
                fill(model, 2)
            else:
                pg.schedule(copy, array, pg.write(other))
                result = Pair(other, model.copy())
            self.add(result)

    def delete(self) -> None:
        if len(self.bases) > 2:
            self.drop(self.rng.choice(self.bases))

    def dead(self) -> None:
        """What nobody ever reads, but whose messages travel."""
        pair = self.pick()
        self.note("dead", pair)
        if pair.model.dtype.kind not in "bc":
            _ = pair.array * 2 + pair.array.redistribute(random_layout(self.rng, pair.model.shape, pg.SIZE))
            _.sum()

    def chain(self) -> None:
        """Elementwise statements on sections of one array and of its copies: what fusion is made for."""
        rng = self.rng
        base = rng.choice(self.bases)
        if base.model.ndim == 0 or base.model.dtype.char not in "fd" or min(base.model.shape) < 2:
            return
        d = rng.randrange(base.model.ndim)
        n = base.model.shape[d]
        m = rng.randint(1, n - 1)
        lead = (slice(None),) * d
        starts = sorted({0, n - m, rng.randint(0, n - m)})
        views = [Pair(*(x[(*lead, slice(s, s + m))] for x in base)) for s in starts]
        self.note("chain", *views)
        temporaries = list(views)
        for _ in range(rng.randint(3, 8)):
            x, y = rng.choice(temporaries), rng.choice(temporaries)
            function = rng.choice([np.add, np.subtract, np.maximum, np.multiply])
            with np.errstate(all="ignore"):
                if rng.random() < 0.35:
                    target = rng.choice(temporaries)
                    function(x.array, y.array, out=target.array)
                    target.model[...] = function(x.model, y.model)
                elif rng.random() < 0.3:
                    target = rng.choice(temporaries)
                    target.array[...] = x.array
                    target.model[...] = x.model.copy()
                else:
                    temporaries.append(Pair(function(x.array, y.array) * 0.5, function(x.model, y.model) * 0.5))
            if not (np.abs(base.model) < 1e6).all():
                break
        for pair in temporaries[len(views):]:
            if rng.random() < 0.3:
                self.add(pair)
                self.check(*pair)
        self.check_base(views[0])


STATEMENTS: tuple[Callable[[Any], None], ...] = (
    *PLAIN_STATEMENTS, LazyProgram.scalar, LazyProgram.scalar, LazyProgram.reduced, LazyProgram.replaced,
    LazyProgram.sweeps, LazyProgram.sweeps, LazyProgram.element,
    LazyProgram.hoisted, LazyProgram.task, LazyProgram.task, LazyProgram.delete, LazyProgram.dead, LazyProgram.chain,
    LazyProgram.chain, Program.in_place, Program.assign_to_itself,
)  # fmt: skip


def parts(x: Any) -> tuple[Any, ...]:
    return (x.real, x.imag) if x.dtype.kind == "c" else (x,)


def owned_once(pair: Pair) -> bool:
    """Whether each element of a section has one owner, and can be negated."""
    return not (pair.array._view.layout.replica_axes or pair.array._view.stretched_dims)


def negate(x: Any) -> None:
    if x.dtype.kind == "b":
        np.logical_not(x, out=x)
    else:
        np.subtract(1, x, out=x, casting="unsafe")


def fill(x: Any, value: Any) -> None:
    x[...] = value


def nothing(x: Any) -> None:
    assert not x.flags.writeable


def copy(x: Any, out: Any) -> None:
    out[...] = x


def swap(out: Any, x: Any) -> None:
    out[...] = x
    x[...] = 2


def run_both(seed: int, n_statements: int) -> tuple[str, LazyProgram]:
    """The first difference in any of the two runs of a program."""
    pg.sync()
    recording.queue.overlaps = False
    try:
        first = LazyProgram(seed)
        problem = first.run(n_statements)
    finally:
        recording.queue.overlaps = True
    if any(pg.COMM.allgather(bool(problem))):
        return f"in order: {problem}", first
    rng = random.Random(seed * 64 + pg.RANK)
    recording.queue.max_operations = rng.choice([1, 2, 3, 5, 10, 100, 1000])
    second = LazyProgram(seed, first.found)
    return second.run(n_statements), second


@pytest.fixture
def _as_it_was() -> Iterator[None]:
    """The runtime's settings and schedules, whatever a test does to them."""
    before = recording.queue.max_operations
    pg.sync()
    recording.forget()
    yield
    pg.sync()
    recording.queue.max_operations, recording.queue.overlaps = before, True
    recording.forget()


def check_programs(seeds: range) -> None:
    problems = [run_both(seed, N_STATEMENTS)[0] for seed in seeds]
    problem = "\n".join(p for p in problems if p)
    collectively(not problem, problem)


@pytest.fixture
def _chains(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Kernels are chained, and temporaries share their memory, also where that is little."""
    monkeypatch.setattr(chains, "MIN_BYTES", 0)
    monkeypatch.setattr(temporaries, "MIN_BYTES", 0)
    schedule.may_be_postponed.cache_clear()
    yield
    schedule.may_be_postponed.cache_clear()


@pytest.mark.usefixtures("_as_it_was")
@pytest.mark.parametrize("batch", range(N_BATCHES))
def test_lazy_programs(batch: int, request: pytest.FixtureRequest) -> None:
    if batch % 2:
        request.getfixturevalue("_chains")
    first = 10_000 + pg.SIZE * 100_000 + batch * 1000
    check_programs(range(first, first + N_PROGRAMS // N_BATCHES))


@pytest.mark.long
@pytest.mark.usefixtures("_as_it_was")
@pytest.mark.parametrize("batch", range(10))
def test_more_lazy_programs(batch: int, request: pytest.FixtureRequest) -> None:
    if batch % 2:
        request.getfixturevalue("_chains")
    first = 50_000 + batch * N_MORE // 10
    check_programs(range(first, first + N_MORE // 10))


@pytest.mark.usefixtures("_as_it_was", "_chains")
def test_short_messages_and_poisoned_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    """Messages, trees and pieces as on much data; and memory that is never what it was before."""
    allocate, rng = memory.allocate, random.Random(0)

    def poisoned(nbytes: int) -> Any:
        block = allocate(nbytes)
        block[...] = rng.choice([0xFF, 0x7F, 0x3C])
        return block

    monkeypatch.setattr(memory, "REUSED_FROM_BYTES", 1)
    monkeypatch.setattr(backend, "allocate", poisoned)
    monkeypatch.setattr(schedule, "LASTING_BYTES", 0)
    monkeypatch.setattr(messages, "MAX_MESSAGE_BYTES", 56)
    monkeypatch.setattr(trees, "PACKET_BYTES", 40)
    monkeypatch.setattr(elementwise, "CUT_FROM_ELEMENTS", 4)
    monkeypatch.setattr(elementwise, "CUT_FROM_ACCESSES", 8)
    monkeypatch.setattr(kernel_nodes, "PART_ELEMENTS", bindings.LEAF)
    check_programs(range(20_000, 20_000 + N_SHORT))


def check_truth_of_bytes() -> None:
    """Any byte but 0 is true, also in what is stretched, which a compiled kernel reads once."""
    x = (np.arange(100_000) % 4).astype(np.uint8)
    flags, others = pg.array(x).view(bool), pg.array(x != 0)
    for k in range(4):
        for function in (np.bitwise_xor, np.equal, np.less, np.bitwise_and):
            expected = (function(x[k:k + 1] != 0, x != 0) & (x != 0)).sum()
            for _ in range(4):  # planned, too
                assert_equal((function(flags[k:k + 1], others) & others).sum(), expected)


@pytest.mark.usefixtures("_as_it_was", "_chains")
@pytest.mark.parametrize("compiles", [True, False])
def test_compiled_programs(compiles: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Everything is compiled that can be; or nothing is, although it is wanted."""
    monkeypatch.setenv("PGASPY_CACHE", pg.COMM.bcast(str(tmp_path / "cache")))
    monkeypatch.setenv("PGASPY_JIT", "1" if compiles else "0")
    monkeypatch.setattr(jit, "_compiler", None)
    monkeypatch.setattr(kernel_nodes, "COMPILED_FROM_WORK", 0)
    monkeypatch.setattr(kernel_nodes, "WAITS", True)
    kernel_nodes._loop.cache_clear()
    before = pg.stats()
    check_programs(range(30_000, 30_000 + N_COMPILED))
    check_truth_of_bytes()
    done = pg.stats() - before
    pg.COMM.Barrier()
    kernel_nodes._loop.cache_clear()
    collectively((done.n_compiled + done.n_loaded > 0) == compiles, f"{done}")


@pytest.mark.usefixtures("_as_it_was")
def test_programs_reach_every_kind_of_statement() -> None:
    names: set[str] = set()
    for seed in range(40_000, 40_008):
        problem, program = run_both(seed, 40)
        collectively(not problem, problem)
        names |= program.names
    collectively(names == {statement.__name__ for statement in STATEMENTS}, f"{names}")


@pytest.mark.usefixtures("_chains")
def test_parts_of_a_sum_that_share_leaves_are_no_chain() -> None:
    """What a process has of a cyclic array lies apart in one that it has as a whole."""
    x, y = np.array([2.0, 1, 0, 3] * 3), np.arange(12) + 1j
    along, whole = (pg.Distribution("cyclic", grid=grid, axes=(1,)) for grid in ((1, pg.SIZE, 1), (pg.SIZE, 1)))
    order = pg.array(x, layout=along).argsort(kind="stable")
    found = (order * pg.array(y, layout=whole)).sum()
    assert_equal(found, (x.argsort(kind="stable") * y).sum())
