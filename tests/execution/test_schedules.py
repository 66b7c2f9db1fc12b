"""Schedules that are found again."""

from __future__ import annotations

import numpy as np
import pytest

import pgaspy as pg
from pgaspy.execution import schedules
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
