"""Schedules that are found again."""

from __future__ import annotations

import numpy as np
import pytest

import pgaspy as pg
from pgaspy.execution import recording, schedules
from tests.flushes import have_recorded
from tests.together import collectively


@pytest.mark.mpi
def test_what_nobody_holds_is_executed_as_where_it_is_held_for_some_times(monkeypatch: pytest.MonkeyPatch) -> None:
    have_recorded(monkeypatch)
    monkeypatch.setattr(schedules, "MAX_LENT", 3)
    model = np.arange(24.0).reshape(6, 4)
    a = pg.array(model)
    pg.sync()

    def planned(is_held: bool) -> int:
        before = pg.stats()
        t = a * 2
        s = t + 1
        u = s * t - a
        if not is_held:
            del t, s
        pg.sync()
        n_planned = (pg.stats() - before).n_planned
        collectively(np.array_equal(u.gather(), (model * 2 + 1) * model * 2 - model))
        return n_planned

    planned(True)
    collectively([planned(True) for _ in range(3)] == [1, 0, 0])
    found = [planned(False) for _ in range(8)]
    collectively(found[:3] == [0, 0, 0])
    collectively(sum(found) == 1)
    collectively([planned(True), planned(False)] == [0, 0])


@pytest.mark.mpi
def test_what_was_held_before_is_stored_if_that_is_little(monkeypatch: pytest.MonkeyPatch) -> None:
    """So what begins a loop, of which the caller holds what it was given, is executed as all that follows."""
    have_recorded(monkeypatch)
    monkeypatch.setattr(schedules, "MAX_LENT", 0)
    recording.forget()
    model = np.arange(24.0).reshape(6, 4)
    first = pg.array(model)
    pg.sync()

    def n_planned(is_held: bool, n: int) -> int:
        a = first + 0
        pg.sync()
        before, held = pg.stats(), [a] * is_held
        for _ in range(n):
            a = a * 0.5 + 1
        pg.sync()
        held.clear()
        done = pg.stats() - before
        expected = model
        for _ in range(n):
            expected = expected * 0.5 + 1
        collectively(np.array_equal(a.gather(), expected))
        return done.n_planned

    found = [n_planned(is_held, 20) for is_held in (True, False, False, True)]
    collectively(sum(found[:3]) == 1, f"{found}")
    collectively(found[3] == 0, f"{found}")
    found = [n_planned(is_held, 2) for is_held in (True, False, False, True, True)]
    collectively(sum(found) == 2, f"it is much: {found}")


@pytest.mark.mpi
def test_what_is_held_in_turn_is_planned_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Small arrays beside a large one: one schedule stores them all, and serves each that holds one of them."""
    have_recorded(monkeypatch)
    monkeypatch.setattr(schedules, "MAX_LENT", 2)
    recording.forget()
    large, small = pg.array(np.arange(4000.0)), pg.array(np.arange(8.0))
    pg.sync()

    def n_planned(held: int, n: int) -> int:
        before = pg.stats()
        for _ in range(n):
            s = small * 2
            t = s + 1
            u = large[1:] - large[:-1]
            u = u[1:] * 0.5
            kept = (s, t)[held]
            del s, t
            pg.sync()
            collectively(np.array_equal(kept.gather(), np.arange(8.0) * 2 + held))
            pg.sync()
        return (pg.stats() - before).n_planned

    n_planned(0, 6)
    found = n_planned(1, 12), n_planned(0, 6), n_planned(1, 6)
    collectively(found[0] <= 4 and found[1:] == (0, 0), f"{found}")
