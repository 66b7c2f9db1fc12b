"""Loops: where what repeats is found in any stream of operations, how it is cut, and how often a loop is planned."""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Iterable, Sequence
from itertools import chain
from typing import Any

import numpy as np
import pytest

import pgaspy as pg
from pgaspy import caches
from pgaspy.execution import loops
from pgaspy.execution.loops import MIN_REPEATED, SHORT, Loops, Repetition, repetition
from pgaspy.scheduling.recorded import Recorded
from tests.together import assert_equal, collectively

LIMIT = 256


class Stream:
    """A queue of nothing but recipes that flushes as the one of the job does.

    Attributes
    ----------
    pieces
        What was executed together.
    """

    def __init__(self, limit: int = LIMIT) -> None:
        self.pieces: list[tuple[Any, ...]] = []
        self._loops, self._begin = Loops(limit, min(limit, LIMIT)), 0
        self._recorded: list[Any] = []

    def record(self, recipes: Sequence[Any]) -> None:
        """Take recipes, one after the other."""
        for recipe in recipes:
            if len(self._recorded) >= self._loops.n_due:
                for n in self._loops.due(self._begin, self._recorded):
                    self._execute(n)
            self._recorded.append(recipe)
            assert len(self._recorded) <= self._loops.limit

    def flush(self) -> None:
        """Execute everything."""
        if self._loops.is_searched:
            for n in self._loops.all(self._begin, self._recorded.copy()):
                self._execute(n)
        elif self._recorded:
            self._execute(len(self._recorded))

    def _execute(self, n: int) -> None:
        assert 0 < n <= len(self._recorded)
        self.pieces.append(tuple(self._recorded[:n]))
        del self._recorded[:n]
        self._begin += n

    def n_planned(self, recipe: Any) -> int:
        """How many different pieces a recipe is in."""
        return sum(recipe in piece for piece in {*self.pieces})


def recipes(name: str, n: int) -> list[str]:
    """Recipes that have nothing in common with those of another name."""
    return [f"{name} {k}" for k in range(n)]


def joined(parts: Iterable[Sequence[Any]]) -> list[Any]:
    """All that parts have."""
    return [*chain.from_iterable(parts)]


def streamed(*parts: Sequence[str], limit: int = LIMIT) -> Stream:
    """What becomes of parts of a stream, after which everything is executed."""
    stream = Stream(limit)
    for part in parts:
        stream.record(part)
    stream.flush()
    assert joined(stream.pieces) == joined(parts)
    return stream


@pytest.mark.parametrize("n_before", [0, 1, 30, 300])
def test_any_period_is_found(n_before: int) -> None:
    before = "".join(chr(5000 + k) for k in range(n_before))
    for period in range(1, 2001):
        text = before + 3 * "".join(map(chr, range(period)))
        end = n_before + period + max(MIN_REPEATED, random.Random(period).randrange(1, 2 * period))
        if end <= len(text):
            assert repetition(text[:end]) == Repetition(period, n_before)


def test_what_does_not_repeat_is_no_loop() -> None:
    text = "".join(map(chr, range(4000)))
    assert repetition("") is None
    assert repetition(text) is None
    assert repetition(text + text[:MIN_REPEATED - 1]) is None
    assert repetition(text + text[:MIN_REPEATED]) == Repetition(4000, 0)
    assert repetition("a" * MIN_REPEATED) is None
    assert repetition("ba" + "a" * MIN_REPEATED) == Repetition(1, 1)


def test_the_shortest_period_is_found() -> None:
    inner = "abc" * 20
    assert repetition((inner + "defgh") * 3 + inner) == Repetition(3, 195)


LENGTHS = [*range(1, 40), 64, 81, 127, 128, 129, 200, 223, 224, 225, 255, 256, 257, 300, 511, 512, 513, 521, 1000, 2000]


@pytest.mark.parametrize("limit", [LIMIT, 2 * LIMIT])
@pytest.mark.parametrize("n_before", [0, 2, 100, 250, 777])
def test_a_loop_of_any_length_is_planned_a_few_times(
        n_before: int, limit: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(loops, "SHORT_SECONDS", math.inf)  # however slow the machine is
    for n in LENGTHS:
        body = recipes("body", n)
        stream = streamed(recipes("before", n_before), *[body] * max(6, 1000 // n), limit=limit)
        assert max(map(stream.n_planned, body)) <= (4 if n < SHORT else 3), n
        n_planned = sum(map(len, {*stream.pieces}))
        assert n_planned <= n_before + max(4 * n, 3 * SHORT, 2 * limit * (n > LIMIT - MIN_REPEATED)), n


@pytest.mark.parametrize("limit", [LIMIT, 2 * LIMIT])
def test_what_does_not_repeat_is_executed_as_late_as_may_be(limit: int) -> None:
    """Even where more operations of a loop may be recorded."""
    stream = streamed(recipes("any", 1000), limit=limit)
    assert [*map(len, stream.pieces)] == [256, 256, 256, 232]


@pytest.mark.parametrize("every", [1, 3, 10])
def test_a_loop_in_which_everything_is_executed_is_cut_in_the_same_places(every: int) -> None:
    rng = random.Random(every)
    for n in LENGTHS:
        body, stream = recipes("body", n), Stream()
        place = rng.randrange(n)
        n_iterations = every * max(4, 1000 // (n * every))
        for k in range(n_iterations):
            stream.record(body[:place])
            if k % every == 0:
                stream.flush()
            stream.record(body[place:])
            if k == n_iterations // 2:
                known = {*stream.pieces}
        new = {*stream.pieces} - known
        assert sum(map(len, new)) <= n + SHORT, n  # the last ones are followed by nothing
        assert max(map(stream.n_planned, body)) <= 6


def test_what_begins_elsewhere_is_found_again() -> None:
    """A function is called again after something else."""
    for n in LENGTHS:
        body, stream = recipes("body", n), Stream()
        for call in range(6):
            stream.record(recipes(f"before {call}", 10 + 7 * call))
            stream.record(body * max(4, 1000 // n))
            stream.flush()
            if call == 2:
                known = {*stream.pieces}
        new = {*stream.pieces} - known
        assert sum(map(len, new)) <= 3 * (10 + 7 * 5 + SHORT + LIMIT * (n > LIMIT // 2)), n


@pytest.mark.parametrize("n", [300, 454, 500])
def test_a_loop_of_long_iterations_is_cut_as_before_when_it_is_called_again(n: int) -> None:
    """It was found in the middle of an iteration, and more is recorded than elsewhere before it is executed."""
    body, stream = recipes("body", n), Stream(limit=512)
    stream.record(recipes("before", LIMIT + 100))
    for _ in range(2):
        known = {*stream.pieces}
        stream.record(body * 8)
        stream.flush()
    assert {*stream.pieces} == known


def test_loops_in_a_loop_are_found_again() -> None:
    for seed in range(30):
        rng = random.Random(seed)
        parts = [part for k in range(rng.randrange(1, 5))
                 for part in [recipes(f"part {k}", rng.choice([1, 3, 7, 50, 300]))] * rng.choice([1, 2, 30])]
        n_outer = sum(map(len, parts))
        stream = Stream()
        for _ in range(max(4, 3000 // n_outer)):
            for part in parts:
                stream.record(part)
        known = {*stream.pieces}
        for _ in range(4):
            for part in parts:
                stream.record(part)
        assert {*stream.pieces} == known, seed


def test_any_stream_is_executed_in_its_order() -> None:
    for seed in range(200):
        rng = random.Random(seed)
        limit = rng.choice([1, 2, 3, 40, 256, 1000])
        letters = recipes("any", rng.choice([1, 2, 5, 300]))
        parts = [rng.choices(letters, k=rng.randrange(1, 200)) * rng.choice([1, 1, 2, 20]) for _ in range(20)]
        stream = Stream(limit)
        for part in parts:
            stream.record(part)
            if rng.random() < .2:
                stream.flush()
        stream.flush()
        assert joined(stream.pieces) == joined(parts)
        assert max(map(len, stream.pieces)) <= limit


def test_pieces_get_longer_when_that_pays(monkeypatch: pytest.MonkeyPatch) -> None:
    body = recipes("body", 3)
    assert {*map(len, streamed(*[body] * 1000).pieces[1:9])} == {33}
    monkeypatch.setattr(loops, "SHORT_SECONDS", -1.0)
    assert {*map(len, streamed(*[body] * 1000, limit=512).pieces[1:9])} == {126}
    assert {*map(len, streamed(*[recipes("longer", 150)] * 20, limit=512).pieces[1:9])} == {150}


@pytest.mark.parametrize("n", [513, 521, 600, 2000])
def test_a_long_iteration_is_cut_as_before_it_was_found(n: int) -> None:
    stream = streamed(*[recipes("body", n)] * 10, limit=2 * LIMIT)
    assert sum(map(len, {*stream.pieces})) <= n + LIMIT, [*map(len, stream.pieces)]


def test_an_iteration_is_recorded_after_a_piece() -> None:
    """What is known of the names of its results then is the same each time."""
    body, stream = recipes("body", 20), Stream()
    stream.record(body * 40)
    n_executed = sum(map(len, stream.pieces))
    assert len(body) <= 40 * len(body) - n_executed <= 3 * SHORT + len(body)


def test_a_long_program_takes_no_more_memory() -> None:
    stream = Stream()
    for k in range(30):
        stream.record(recipes(f"part {k}", 1000))
        assert len(stream._loops._text) <= 2 * loops.MAX_KEPT + LIMIT


Program = Callable[[Any, int, int, int], tuple[Any, list[float]]]


def fresh(np: Any, n: int, n_steps: int, every: int) -> tuple[Any, list[float]]:
    """New arrays in each step."""
    f, found = np.arange(4.0 * n).reshape(n, 4), []
    for step in range(n_steps):
        top, g = f.max(axis=0), np.empty_like(f)
        for k in range(n - 1):
            np.multiply(f[k + 1], .5, out=g[k])
        g[-1] = top
        f = g
        if every and step % every == 0:
            found.append(float(f.max()))
    return f, found


def swapped(np: Any, n: int, n_steps: int, every: int) -> tuple[Any, list[float]]:
    """Two arrays take turns; a value is read in the middle of a step."""
    f, g, found = np.arange(4.0 * n).reshape(n, 4), np.zeros((n, 4)), []
    for step in range(n_steps):
        for k in range(n):
            np.add(f[k], f[k - 1], out=g[k])
            if every and step % every == 0 and k == n // 3:
                found.append(float(g[0].max()))
        f, g = g, f
        f *= .5
    return f, found


def of_different_shapes(np: Any, n: int, n_steps: int, every: int) -> tuple[Any, list[float]]:
    """Many arrays, each replaced in each step."""
    arrays, found = [np.ones(k + 20) for k in range(n)], []
    for step in range(n_steps):
        arrays = [a * .5 for a in arrays]
        if every and step % every == 0:
            found.append(float(arrays[-1].max()))
    return arrays[n // 2], found


@pytest.mark.mpi
@pytest.mark.parametrize("every", [0, 1, 7])
@pytest.mark.parametrize(("program", "n", "n_steps"), [
    (fresh, 3, 400), (fresh, 81, 20), (fresh, 300, 8), (fresh, 521, 8),
    (swapped, 3, 400), (swapped, 81, 20), (swapped, 300, 8),
    (of_different_shapes, 600, 4), pytest.param(of_different_shapes, 2000, 4, marks=pytest.mark.long)])
def test_loops_are_planned_a_few_times(program: Program, n: int, n_steps: int, every: int,
                                       monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pg.execution.loops, "SHORT_SECONDS", 3600.0)  # which a slow machine reaches, or does not
    pg.sync()
    pg.execution.recording.forget()
    for _ in range(2):  # what other tests keep leaves too little room for schedules of so many arrays
        caches.kept.turn()
    before = pg.stats()
    found, values = program(pg, n, n_steps, every)
    pg.sync()
    stats = pg.stats() - before
    n_pieces = -(-stats.n_recorded // n_steps // LIMIT)  # of an iteration
    collectively(stats.n_planned <= 4 * n_pieces + 1, f"{stats.n_planned} planned of {stats.n_flushes}")
    expected, expected_values = program(np, n, n_steps, every)
    collectively(values == expected_values)
    assert_equal(found, expected)


def test_a_loop_that_was_begun_at_once_is_cut_where_the_program_begins_an_iteration() -> None:
    """After its longest jump back: calls of a function in a step, and shorter loops, have shorter ones."""
    of_function = [("function", k) for k in range(20)]
    step = [*(("program", 10 + 2 * (k % 4)) for k in range(24)), *2 * of_function,
            *(("program", 60 + k) for k in range(36))]
    names = [f"{code} {instruction} {k}" for k, (code, instruction) in enumerate(step)]
    begun = 37
    recipes, places = [(x * 6)[begun:] for x in (names, step)]

    def first_pieces(n_apart: int) -> list[int]:
        found = Loops(512, 256)
        return found.due(0, recipes, places, n_apart)

    assert first_pieces(1000)[:2] == [len(step) - begun, len(step)]
    assert first_pieces(0)[0] == len(step), "where all begins, an iteration may begin"


@pytest.mark.parametrize(("period", "n_iterations"), [(19, 20), (40, 6), (90, 4), (150, 3)])
def test_a_loop_of_few_iterations_is_found(period: int, n_iterations: int) -> None:
    stream = streamed(recipes("before", 10), *[recipes("step", period)] * n_iterations, recipes("after", 5), limit=512)
    assert sum(map(len, {*stream.pieces})) <= 15 + 2 * max(period, 2 * SHORT), [*map(len, stream.pieces)]


@pytest.mark.mpi
def test_what_a_loop_records_is_executed_when_operands_hold_much(monkeypatch: pytest.MonkeyPatch) -> None:
    a, x = pg.zeros(100), np.ones(100)
    monkeypatch.setattr(pg.execution.flushing, "MAX_HELD_BYTES", 150 * x.nbytes)
    pg.sync()
    for _ in range(1000):
        a += x
        collectively(pg.execution.recording.queue._held_bytes <= 151 * x.nbytes)
    assert_equal(a, np.full(100, 1000.0))


@pytest.mark.parametrize("n", [40, 130, 300, 412])
def test_a_known_loop_that_is_begun_anywhere_is_executed_in_whole_iterations_from_there(n: int) -> None:
    body, stream = recipes("body", n), Stream(limit=512)
    stream.record(body * 10)
    stream.flush()
    before, place = len(stream.pieces), n // 3
    stream.record((body[place:] + body[:place]) * 9)
    stream.flush()
    begun = stream.pieces[before:]
    assert {piece[0] for piece in begun} == {body[place]}
    assert all(len(piece) % n == 0 for piece in begun)
    assert len({*begun}) <= 2


def test_a_finaliser_may_record_while_places_are_taken() -> None:
    class Growing(list[Any]):
        def __getitem__(self, k: Any) -> Any:
            found = super().__getitem__(k)
            self += range(Recorded.N_FIELDS)
            return found

    places: list[Any] = [*Recorded(Growing(range(2 * Recorded.N_FIELDS))).places]
    assert places == [(4, 5), (10, 11)]
