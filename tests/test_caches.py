"""Caches: what is kept, what goes first, and how much memory all of it takes."""

from __future__ import annotations

import gc
import random
import subprocess
import sys
import tracemalloc
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pytest

import pgaspy as pg
from pgaspy.caches import Cache, cached, kept, lazy, size_of
from pgaspy.execution import recording
from pgaspy.job.procgrid import begin_anew
from pgaspy.job.statistics import counts
from tests.together import assert_equal

pytestmark = pytest.mark.recorded

N = 1 << 15
SMALL = 1 << 20
"""A bound that is reached within a second."""


@pytest.fixture(autouse=True)
def _forgotten() -> Iterator[None]:
    """Begin and end with nothing kept, as the bound is another one meanwhile."""
    for _ in range(2):
        kept.turn()
    yield
    for _ in range(2):
        kept.turn()


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    """Bound the caches by SMALL."""
    monkeypatch.setattr(kept, "max_bytes", SMALL)


def resident() -> int:
    """The bytes of memory that this process has."""
    gc.collect()
    return int(Path("/proc/self/statm").read_text().split()[1]) * 4096


def different(n: int, start: int = 0) -> None:
    """Operations that were never recorded before, ten in a flush."""
    a, b = pg.ones(N), pg.ones(N)
    for k in range(start, start + n):
        a[k:k + 10] += b[k + 1:k + 11]
        if k % 10 == 9:
            pg.sync()
    pg.sync()


def differently_named(n: int, start: int = 0) -> None:
    """The same operations, and each time other results that have a name."""
    a, chance = pg.ones(64), random.Random(start)
    for _ in range(n // 4):
        results = [a + i for i in range(20)]
        named = [x for x in results if chance.random() < 0.5]
        del results
        pg.sync()
        del named


def copies(n: int, start: int = 0) -> None:
    """Sections copied, reduced and reshaped: other kinds of recipes, plans and views."""
    a, b = pg.ones((64, N)), pg.empty((64, N))
    for k in range(start, start + n // 2):
        b[k % 64:, k:k + 7] = a[k % 64:, k + 3:k + 10]
        a[:, k:k + 4].sum(axis=0)
        a[:, k:k + 4].reshape(-1)
        pg.sync()


def memory_of(program: Callable[..., None]) -> tuple[int, int]:
    """By how many bytes the process grows that goes on with a program, and what is counted then."""
    kept.max_bytes = SMALL
    program(500)  # reaches the bound, and settles
    before = resident()
    program(1000, 500)
    return resident() - before, kept.nbytes + kept.nbytes_older


@pytest.mark.parametrize("program", [different, differently_named, copies])
def test_memory_stays_within_the_bound(program: Callable[..., None]) -> None:
    code = f"from tests.test_caches import *; print(*memory_of({program.__name__}))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=300, check=True)
    grown, counted = map(int, done.stdout.split())
    assert grown < 4 * SMALL  # some of what is freed stays with the process
    assert counted <= SMALL


@pytest.mark.parametrize("program", [different, differently_named, copies])
def test_estimates_are_those_of_tracemalloc(program: Callable[..., None], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kept, "max_bytes", 1 << 40)
    pg.sync()
    begin_anew()  # estimates go by what was measured of earlier schedules, which were those of other tests
    program(100)
    gc.collect()
    tracemalloc.start()
    try:
        counted, traced = kept.nbytes, tracemalloc.get_traced_memory()[0]
        program(500, 100)
        gc.collect()
        counted, traced = kept.nbytes - counted, tracemalloc.get_traced_memory()[0] - traced
    finally:
        tracemalloc.stop()
    assert 0.7 < counted / traced < 2


@pytest.mark.mpi
@pytest.mark.usefixtures("small")
def test_what_is_used_again_stays() -> None:
    a, b = pg.ones(N), pg.ones(N)

    def hot() -> None:
        nonlocal a
        a = a[::-1] + b * 2.0
        a[1:] = b[:-1]
        pg.sync()

    hot()
    hot()
    n_turns, pool_turn = 0, kept.turn

    def turn() -> None:
        nonlocal n_turns
        n_turns += 1
        pool_turn()

    kept.turn = turn  # type: ignore[method-assign]
    planned = 0
    try:
        for k in range(60):
            different(10, 10 * k)
            before = counts.n_planned
            hot()
            planned += counts.n_planned - before
    finally:
        del kept.turn
    seen = pg.COMM.allgather((planned == 0, n_turns >= 2))
    assert all(all(of_rank) for of_rank in seen), (planned, n_turns)


@pytest.mark.mpi
def test_values_are_right_whatever_is_forgotten(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kept, "max_bytes", 0)  # a generation holds one entry
    a, expected = pg.arange(100.0), np.arange(100.0)
    for k in range(5):
        a[:50] = a[k:k + 50] * 2 + a[50:][::-1]
        expected[:50] = expected[k:k + 50] * 2 + expected[50:][::-1]
        assert_equal(a, expected)
        assert float(a[:50].sum()) == expected[:50].sum()


def test_forgotten_schedules_are_made_again() -> None:
    a = pg.ones(8)

    def program() -> None:
        nonlocal a
        a = a + a
        pg.sync()

    program()
    program()
    before = counts.n_planned
    recording.forget()
    program()
    assert counts.n_planned == before + 1


def test_the_least_recently_used_goes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kept, "max_bytes", 80)
    cache = Cache(lambda key, value: 10)
    for key in range(4):
        cache.keep(key, -key)
    assert [cache[key] for key in range(4)] == [0, -1, -2, -3]
    cache.keep(4, -4)  # a generation is four: the others are the older one
    assert cache[1] == -1
    for key in (5, 6, 7):
        cache.keep(key, -key)
    assert [cache[key] for key in (0, 1, 2, 4)] == [None, -1, None, -4]


def test_what_is_found_again_leaves_the_older_generation() -> None:
    cache = Cache(lambda key, value: 10)
    cache.keep("a", 1)
    kept.turn()
    assert (kept.nbytes, kept.nbytes_older) == (0, 10)
    assert cache["a"] == 1
    assert (kept.nbytes, kept.nbytes_older) == (10, 0)


def test_what_is_kept_after_all_was_forgotten_is_in_the_older_generation_as_well() -> None:
    cache = Cache(lambda key, value: 10)
    cache.keep("a", 1)
    cache.forget()
    cache.keep("b", 2)
    kept.turn()
    assert [cache["a"], cache["b"]] == [None, 2]


def test_functions_with_caches_take_no_keywords() -> None:
    @cached
    def found(x: int) -> int:
        return x

    with pytest.raises(TypeError, match="takes no keywords"):
        found(x=1)  # type: ignore[call-arg]


def test_a_generation_may_end_while_an_entry_is_looked_up() -> None:
    class Key:
        n_hashed = 0

        def __hash__(self) -> int:
            Key.n_hashed += 1
            if Key.n_hashed == 3:
                cache.forget()
            return 1

        def __eq__(self, other: object) -> bool:
            return isinstance(other, Key)

    cache = Cache(lambda key, value: 10)
    cache.older = {Key(): 5}
    assert cache[Key()] == 5
    assert cache[Key()] == 5


def test_caches_share_one_bound(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kept, "max_bytes", 80)
    first, second = (Cache(lambda key, value: 10) for _ in range(2))
    first.keep("a", 1)
    for key in range(9):
        second.keep(key, key)
    assert first["a"] is None
    assert kept.nbytes + kept.nbytes_older <= 80


def test_an_entry_larger_than_a_generation_is_kept_until_the_next(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kept, "max_bytes", 80)
    cache = Cache(lambda key, value: value)
    cache.keep("large", 1000)
    cache.keep("small", 10)
    assert [cache["large"], cache["small"]] == [1000, 10]
    for n in range(10):
        cache.keep(n, 10)
    assert cache["large"] is None


def test_functions_find_their_results_in_both_generations() -> None:
    called = []

    @cached
    def twice(x: int, y: int) -> tuple[int, int] | None:
        called.append(x)
        if x < 0:
            raise ValueError("negative")
        return None if x == 7 else (x, y)

    first = twice(1, 2)
    assert twice(1, 2) is first
    assert called == [1]
    kept.turn()
    assert twice(1, 2) is first
    assert called == [1]
    kept.turn()
    assert twice(1, 2) is first
    assert called == [1]
    for _ in range(2):
        kept.turn()
    assert twice(1, 2) == first
    assert called == [1, 1]
    assert [twice(7, 0), twice(7, 0)] == [None, None]
    assert called == [1, 1, 7]
    for _ in range(2):
        with pytest.raises(ValueError, match="negative"):
            twice(-1, 0)
    assert called == [1, 1, 7, -1, -1]
    twice.cache_clear()
    twice(1, 2)
    assert called == [1, 1, 7, -1, -1, 1]


def test_size_is_that_of_all_that_an_object_leads_to() -> None:
    inner = [b"x" * 1000, 1.5]
    assert 1000 < size_of((inner, inner)) < 1300
    assert size_of(lambda: inner) > 1000
    assert size_of(int, len, size_of) < 2000


def test_a_lazy_attribute_is_worked_out_once() -> None:
    class Asked:
        n = 0

        @lazy
        def answer(self) -> int:
            """What is asked for."""
            self.n += 1
            return self.n

    asked = Asked()
    assert (asked.answer, asked.answer, asked.n) == (1, 1, 1)
