"""What comes again between operations that do not."""

from __future__ import annotations

import random
from typing import Any

import numpy as np
import pytest

import pgaspy as pg
from pgaspy.execution import recording, stretches
from pgaspy.execution.schedules import RECENT, Form, Schedules
from pgaspy.execution.stretches import MIN_OPERATIONS, Stretches
from tests.together import collectively


class Recipe:
    """What stands for a recipe."""


def recipes(n: int) -> list[Recipe]:
    return [Recipe() for _ in range(n)]


def test_what_is_met_again_between_new_operations_is_cut_off() -> None:
    found, again = Stretches(), recipes(MIN_OPERATIONS + 4)
    kept = [recipes(3), recipes(3), recipes(2)]
    assert found.lengths([*kept[0], *again]) == [3 + len(again)]
    assert found.lengths([*kept[1], *again]) == [3, len(again)]
    assert found.lengths([*again, *kept[2]]) == [len(again), 2]


def test_it_is_cut_off_where_all_is_met() -> None:
    found, again, first, second = Stretches(), recipes(MIN_OPERATIONS), recipes(3), recipes(3)
    for new in first, second:
        found.lengths([*new, *again])
    assert found.lengths([*first, *again]) == [3, len(again)]
    assert found.lengths([*again, *second, *again, *again]) == [len(again), 3, len(again), len(again)]


def test_what_is_short_or_comes_as_a_whole_is_not_cut() -> None:
    found, again, few = Stretches(), recipes(2 * MIN_OPERATIONS), recipes(MIN_OPERATIONS - 1)
    for _ in range(3):
        assert found.lengths(again) == [len(again)]
    found.lengths([*recipes(9), *few])
    assert len(found.lengths([*recipes(9), *few])) == 1
    assert found.lengths([]) == [0]


@pytest.mark.parametrize("seed", range(30))
def test_pieces_are_all_operations(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stretches, "MIN_OPERATIONS", 3)
    monkeypatch.setattr(stretches, "MAX_STRETCHES", 4)
    monkeypatch.setattr(stretches, "MAX_CALLS", 40)
    rng, found, known = random.Random(seed), Stretches(), recipes(30)
    for _ in range(40):
        n, start = rng.randint(0, 20), rng.randint(0, 29)
        recorded = [*recipes(rng.randint(0, 3)), *known[start:start + n], *recipes(rng.randint(0, 2))]
        lengths = found.lengths(recorded)
        assert sum(lengths) == len(recorded)
        assert 0 not in lengths or lengths == [0]


def test_what_a_program_does_once_more_is_planned_the_third_time() -> None:
    schedules, forms = Schedules(), [_form(k) for k in range(RECENT + 5)]
    assert all(map(schedules.is_new, forms))
    assert all(map(schedules.is_new, forms))
    assert not any(map(schedules.is_new, forms))
    assert schedules.is_new(_form("loop"))
    assert not schedules.is_new(_form("loop"))


def _form(recipe: Any) -> Form:
    return Form(((recipe,), (0,), (True,)), {})


def steps(a: pg.GlobalArray, n: int) -> list[float]:
    """Of each step, some statements are on as many elements as a mask selects, and the others are those of all steps.
    """
    found = []
    for k in range(n):
        selected = a[a > 0.5 + 0.01 * (k % 7)]
        found.append(float((selected * 2 + 1).sum()))
        for _ in range(12):
            b = a * 0.5 + 0.25
            a = b + a[::-1] * 0.25
    return found


@pytest.mark.mpi
def test_the_rest_of_a_step_is_found_again(monkeypatch: pytest.MonkeyPatch) -> None:
    x = np.random.default_rng(1).random(1 << 20)
    model, expected = x, []
    for k in range(12):
        expected.append(float((model[model > 0.5 + 0.01 * (k % 7)] * 2 + 1).sum()))
        for _ in range(12):
            model = (model * 0.5 + 0.25) + model[::-1] * 0.25
    a = pg.array(x)
    pg.sync()
    recording.forget()
    before = pg.stats()
    found = steps(a, 12)
    done = pg.stats() - before
    np.testing.assert_allclose(found, expected, rtol=1e-12)
    collectively(done.n_operations_planned < done.n_recorded / 2, f"{done.n_operations_planned} of {done.n_recorded}")
