"""The collector of cyclic garbage: what it has not to look at, as it is none."""

from __future__ import annotations

import gc
import sys
import weakref
from collections.abc import Callable
from types import FrameType, FunctionType, ModuleType
from typing import Any, NamedTuple

import numpy as np
import pytest

import pgaspy as pg
from pgaspy.caches import Cache, kept
from pgaspy.execution import recording
from tests.together import collectively


def programs_by_slices(n: int) -> None:
    """Statements of many kinds on a matrix of so many rows, each made once."""
    A = pg.array(np.random.default_rng(1).random((n, n)))
    for k in range(1, 30):
        A[k] *= 0.5
        A[k:, :k + 1] += 0.5
        A[k, k] -= A[k, :k] @ A[:k, k]
        A[k, k:] -= A[k, :k] @ A[:k, k:]
        A[k + 1:, k + 1:] -= A[k + 1:, k:k + 1] * A[k, k + 1:]
        A[::-1, k] = A.T[k, :] / 2
        A[k] = A[[k, 3, 1]].mean(axis=0) / A[k - 1].max()
        A /= np.abs(A).max()
    assert np.isfinite(float(A.sum()))


N_STATEMENTS = 12 * 29


@pytest.mark.mpi
def test_what_is_kept_leads_to_itself_in_no_way() -> None:
    programs_by_slices(40)
    kept.untrack()
    on_way, done = set(), set()
    found: list[object] = [None]
    ways = [iter([x for x in gc.get_objects() if isinstance(x, Cache)])]
    while ways:
        x = next(ways[-1], None)
        if x is None:
            ways.pop()
            done.add(id(found[-1]))
            on_way.discard(id(found.pop()))
            continue
        if id(x) in on_way:
            circle = found[[*map(id, found)].index(id(x)):]
            assert all(map(gc.is_tracked, circle)), circle
        if id(x) not in done and not isinstance(x, type | ModuleType) and id(x) not in on_way:
            on_way.add(id(x))
            found.append(x)
            inside = (x.__closure__, x.__defaults__) if isinstance(x, FunctionType) else gc.get_referents(x)
            ways.append(iter([y for y in inside if y is not None]))


@pytest.mark.mpi
def test_the_collector_does_not_look_at_what_is_kept() -> None:
    programs_by_slices(40)
    gc.collect()
    before = len(gc.get_objects())
    programs_by_slices(41)
    gc.collect()
    n = len(gc.get_objects()) - before
    collectively(n < 5 * N_STATEMENTS, f"{n} objects")


def collecting(frame: FrameType, event: str, argument: Any) -> Any:
    """Have garbage collected at each step of the interpreter in pgaspy."""
    if not frame.f_globals.get("__name__", "").startswith("pgaspy."):
        return None
    frame.f_trace_opcodes, frame.f_trace_lines = True, False
    if event == "opcode":
        gc.collect(0)
    return collecting


@pytest.mark.mpi
def test_garbage_may_be_collected_at_any_step(monkeypatch: pytest.MonkeyPatch) -> None:
    """While statements are recorded and executed, by one process alone: handlers of signals and threads may do so."""
    monkeypatch.setattr(type(recording.queue), "computes_at_once", False)
    a, model = pg.arange(12.0), np.arange(12.0)
    elements = [a[k] for k in range(12)]
    before = sys.gettrace()
    try:
        if pg.RANK == pg.SIZE - 1:
            sys.settrace(collecting)
        a[1:] += a[:-1]
        total = float((a * 2).sum())
    finally:
        sys.settrace(before)
    model[1:] += model[:-1].copy()
    collectively(total == 2 * model.sum() and [*map(float, elements)] == [*range(12)])


class Named(NamedTuple):
    """A tuple without attributes of its own."""

    x: Any


class Marked(tuple[Any, ...]):
    """One that may have some."""


class Other:
    """Of which nobody says that it is acyclic."""


def test_only_containers_and_acyclic_types_are_left_out() -> None:
    named, marked, other = Named([]), Marked([[]]), Other()
    inside = [other]
    value = {"named": named, "marked": marked, "inside": inside}
    left_out, looked_at = [value, named, named.x, inside], [marked, other]
    assert all(map(gc.is_tracked, left_out + looked_at))
    cache = Cache(lambda key, value: 10)
    cache.keep("key", value)
    kept.untrack()
    assert not any(map(gc.is_tracked, left_out))
    assert all(map(gc.is_tracked, looked_at))


def turn_twice(cache: Cache) -> None:
    """Have the entries of all caches end."""
    for _ in range(2):
        kept.turn()


@pytest.mark.parametrize("forget", [Cache.forget, turn_twice])
def test_what_is_forgotten_ends(forget: Callable[[Cache], None]) -> None:
    value, cache = Other(), Cache(lambda key, value: 10)
    cache.keep("key", value)
    there = weakref.ref(value)
    del value
    forget(cache)
    assert there() is None
