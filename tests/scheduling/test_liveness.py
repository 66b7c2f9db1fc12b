"""What nobody can see is not computed, but for what its messages carry; and these stay the same."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import pgaspy as pg
from pgaspy.execution import engine, recording
from pgaspy.scheduling import liveness
from pgaspy.scheduling.nodes import Node
from tests.layouts import layout_of
from tests.together import assert_equal, collectively

pytestmark = pytest.mark.mpi

N = 40
SHAPE = (N, 30)


class Done:
    """The names of the nodes that were computed, and the messages of each operation with a message."""

    def __init__(self) -> None:
        self.computed: list[str] = []
        self.messages: list[tuple[Any, ...]] = []


@pytest.fixture
def _done(monkeypatch: pytest.MonkeyPatch) -> Iterator[Done]:
    done = Done()
    execute, start = engine.Engine._execute, engine.Engine._start_message

    def noted(self: Any, run: Any, node: Node) -> None:
        done.computed.append(node.name)
        execute(self, run, node)

    def noted_message(self: Any, run: Any, number: int) -> None:
        node = run.nodes[number]
        done.messages.append((node.is_receive, run.numbers[node.position] + node.tag, node.peer, node.nbytes))
        start(self, run, number)

    pg.sync()
    recording.forget()
    monkeypatch.setattr(engine.Engine, "_execute", noted)
    monkeypatch.setattr(engine.Engine, "_start_message", noted_message)
    yield done
    pg.sync()
    recording.forget()


def halves(a: Any) -> Any:
    return (a + 1) * 2


def without_kernel(a: Any) -> Any:
    return np.divmod(np.heaviside(a, 0.5), 3.0)


def assigned(a: Any) -> Any:
    b = pg.zeros(SHAPE)
    b[...] = a
    b[1:] = b[:-1]
    return b


def summed(a: Any) -> Any:
    return abs(a).sum()


def summed_along(a: Any) -> Any:
    return abs(a).sum(axis=0), a.mean(axis=1), a.argmax()


def reshaped(a: Any) -> Any:
    return a.reshape(30, N)


def generated(a: Any) -> Any:
    return pg.arange(100.0), pg.random.default_rng(3).random(SHAPE)


def moved(a: Any) -> Any:
    return a + pg.ones(SHAPE, layout=layout_of("cyclic(2)", SHAPE)), np.divmod(a.T, 3.0), a[1:] * a[:-1]


def replicated(a: Any) -> Any:
    return pg.replicate(a * 2, 0), a.redistribute(layout_of("replicated", SHAPE))


def on_one_process(a: Any) -> Any:
    return pg.zeros(5000, onenode=pg.SIZE - 1) * 2 + 1


LOCAL = [halves, without_kernel, generated, on_one_process]
ANY = [*LOCAL, assigned, summed, summed_along, reshaped, moved, replicated]


@pytest.mark.parametrize("program", ANY, ids=lambda program: program.__name__)
def test_on_one_process_nothing_is_done_for_what_is_dropped(program: Callable[[Any], Any], _done: Done) -> None:  # noqa: PT019
    a = pg.random.default_rng(1).random(SHAPE)
    pg.sync()
    _done.computed.clear()
    for _ in range(6):
        program(a)
        pg.sync()
    if pg.SIZE == 1 or program in LOCAL:
        collectively(not _done.computed, f"{_done.computed}")
    else:
        for name in ("unpack", "store", "divmod", "reshape"):
            collectively(name not in _done.computed, f"{_done.computed}")


@pytest.mark.parametrize("program", ANY, ids=lambda program: program.__name__)
def test_messages_are_the_same_where_nobody_wants_the_result(program: Callable[[Any], Any], _done: Done) -> None:  # noqa: PT019
    """Per operation, kind, tag, peer and size, in their order; one process wants what the others drop."""
    a = pg.random.default_rng(1).random(SHAPE)
    pg.sync()
    found, kept = [], []
    for keeps in (True, False, pg.RANK == 0):
        _done.messages.clear()
        first = recording.queue.next_tag
        kept.append(program(a))
        if not keeps:
            kept.pop()
        pg.sync()
        found.append([(*message[:1], message[1] - first, *message[2:]) for message in _done.messages])
    for other in found[1:]:
        collectively(sorted(found[0]) == sorted(other), f"{found[0]}, then {other}")
    x, y = [], []
    if pg.RANK == 0:  # what one process kept is what all had
        def flat(result: Any) -> list[Any]:
            return [r for part in result for r in flat(part)] if isinstance(result, tuple) else [result]

        pairs = list(zip(flat(kept[0]), flat(kept[-1]), strict=True))
        x, y = ([r.local().tobytes() for r in side] for side in zip(*pairs, strict=True))
    pg.sync()
    collectively(x == y)


@pytest.mark.parametrize("make", [
    lambda: pg.ones(2**62) * 2, lambda: pg.zeros((2**40, 2**22)), lambda: (pg.ones(2**62) * 2 + 1).sum(axis=()),
    lambda: np.frexp(pg.ones(2**61)), lambda: pg.zeros(2**62, onenode=0) + 1,
])
def test_nobody_sees_what_no_memory_could_hold(make: Callable[[], Any]) -> None:
    for _ in range(6):
        make()
        pg.sync()
    collectively(True)


def test_what_is_overwritten_is_not_computed(_done: Done) -> None:  # noqa: PT019
    a, b = pg.ones(N), pg.ones(N)
    pg.sync()
    _done.computed.clear()
    np.sin(b, out=a)
    np.exp(b, out=a)
    a[...] = 3
    pg.sync()
    collectively(not {"sin", "exp"} & {name for names in _done.computed for name in names.split("+")})
    assert_equal(a, np.full(N, 3.0))


def test_what_is_overwritten_in_part_or_read_before_is_computed() -> None:
    a, x = pg.ones(N), np.ones(N)
    mask = pg.arange(N) < 5
    for f, m in ((a, mask), (x, np.arange(N) < 5)):
        f *= 3
        f[2:] = 4
        np.add(f, 1, out=f)
        np.multiply(f, 2, out=f, where=m)
    b = a * 5
    a[...] = 0
    assert_equal(b, x * 5)
    assert_equal(a, np.zeros(N))


def test_tasks_are_always_called() -> None:
    calls = []
    a = pg.ones(N)
    pg.schedule(lambda x: calls.append(x.size), a)
    pg.schedule(lambda x: calls.append(x.size), pg.write(a * 2))
    del a
    pg.sync()
    collectively(len(calls) == 2, f"{calls}")


def test_a_process_takes_part_in_what_another_one_wants() -> None:
    """Each of them keeps another result; all are computed of what the others drop."""
    x = np.arange(float(np.prod(SHAPE))).reshape(SHAPE)
    for k in range(pg.SIZE):
        a = pg.array(x)
        b = (a * 2)[::-1] + a
        total, column, c = b.sum(), b.sum(axis=0), b.reshape(30, N)
        d = pg.replicate(b + 1, 0)
        y = (x * 2)[::-1] + x
        own = float(total) if k == pg.RANK else y.sum()
        if k != pg.RANK:
            del a, b, total, column, c, d
            pg.sync()
            collectively(True)
            continue
        same = own == y.sum() and all(
            np.isin(found.local(), z).all() for found, z in ((column, y.sum(axis=0)), (c, y), (d, y + 1)))
        pg.sync()
        collectively(bool(same))


@pytest.mark.parametrize("layout", ["block", "cyclic(3)"])
def test_random_programs_that_drop_most_of_what_they_compute(layout: str) -> None:
    problems = []
    for seed in range(20):
        rng = random.Random(seed)
        x = np.random.default_rng(seed).integers(-8, 9, (3, 2 * N)) / 4
        arrays, models = [pg.array(row, layout=pg.Distribution(layout)) for row in x], list(x.copy())
        values: list[tuple[Any, Any]] = []
        for _ in range(rng.randint(5, 30)):
            i, j = rng.randrange(3), rng.randrange(3)
            s, kind = rng.randint(0, N), rng.random()
            part, source = slice(s, s + N), slice(N - s, 2 * N - s)
            if kind < 0.2:
                arrays[i][part] = arrays[j][source]
                models[i][part] = models[j][source].copy()
            elif kind < 0.4:
                arrays[i][...] = arrays[j][::-1]
                models[i][...] = models[j][::-1].copy()
            elif kind < 0.5:
                arrays[i], models[i] = np.maximum(arrays[j], arrays[i]), np.maximum(models[j], models[i])
            elif kind < 0.8:
                values.append((np.minimum(arrays[i][part], arrays[j][source]),
                               np.minimum(models[i][part], models[j][source])))
            elif kind < 0.9 and values:
                del values[rng.randrange(len(values))]
            elif values:
                found, expected = rng.choice(values)
                values.append((found.max(), expected.max()))
            if rng.random() < 0.1 and rng.randrange(pg.SIZE) == pg.RANK:
                pg.sync()
        for found, expected in (*zip(arrays, models, strict=True), *values):
            if not np.array_equal(found.gather(), expected):
                problems.append(f"seed {seed}: {found.gather()}, expected {expected}")
    collectively(not problems, "\n".join(problems[:3]))


@pytest.mark.skipif(pg.SIZE > 1, reason="partial results, which others need, are wanted besides")
def test_what_is_wanted_of_operations_in_a_row() -> None:
    """By definition, of one process: what is named, or read by what is wanted, and not overwritten before."""
    recipes: dict[str, Any] = {}

    def note(operation: Any) -> None:
        recipes[operation.recipe.name] = operation.recipe

    a = pg.ones(N)
    with recording.dry_run(note):
        np.negative(a)
        np.add(a, a)
        a.sum()
    negative, add, total = recipes["negative"], recipes["add"], recipes["reduce"]
    operations = [liveness.NumberedOperation(k, *operation, ()) for k, operation in enumerate([
        (negative, (1, 0)), (add, (2, 0, 1)), (negative, (1, 0)), (total, (3, 2)), (total, (4, 1)),
        (negative, (2, 0))])]
    for named, expected in [((), []), ((1,), [2]), ((2,), [5]), ((3,), [0, 1, 3]), ((4,), [2, 4]),
                            ((2, 3), [0, 1, 3, 5])]:
        wanted = liveness.with_what_is_wanted(operations, frozenset({0, *named}), pg.RANK)
        collectively([found.position for found in wanted if found.is_wanted] == expected, f"{named}: {wanted}")
