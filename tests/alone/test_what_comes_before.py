"""Small arrays of one process after what is recorded: what uses them, or is waited for anyway, is executed before."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import pgaspy as pg
from pgaspy.execution import recording
from pgaspy.scheduling.at_once import MAX_ELEMENTS


def test_what_is_recorded_comes_before() -> None:
    large = pg.ones(MAX_ELEMENTS + 1)
    large *= 3
    assert len(recording.queue.recorded) > 0
    few = large[:4]
    few += 1
    assert float(large[0]) == 4
    pg.schedule(lambda part: part.fill(9), pg.update(few))
    assert float(few[1] + large[2]) == 18


def few_and_recorded() -> tuple[pg.GlobalArray, pg.GlobalArray]:
    """An array of few elements, and indices of it; something large is recorded that reads it."""
    few, indices, large = pg.array([3.0, 1.0, 4.0, 5.0]), pg.array([3, 0, 3]), pg.ones((MAX_ELEMENTS, 4))
    large *= few
    assert len(recording.queue.recorded) > 0
    return few, indices


@pytest.mark.parametrize("step", [
    lambda x, i: x[i], lambda x, i: x[x > 2], lambda x, i: x.__setitem__(i, 5.0),
    lambda x, i: x.__setitem__(x > 2, x[1:]), lambda x, i: np.add.at(x, i, 1.0)])
def test_after_what_is_waited_for_in_any_case_nothing_is_recorded(step: Callable[[Any, Any], Any]) -> None:
    few, indices = few_and_recorded()
    model, numpys = few.gather(), indices.gather()
    few, indices = few_and_recorded()
    found = step(few, indices)
    assert not len(recording.queue.recorded)
    expected = step(model, numpys)
    if found is not None:
        np.testing.assert_array_equal(found.gather(), expected)
    before = pg.stats()
    for _ in range(100):
        few, model = pg.clip(few + 1, 2, 100), np.clip(model + 1, 2, 100)
        few[indices.astype(np.int32)] *= 2
        model[numpys.astype(np.int32)] *= 2
    done = pg.stats() - before
    assert done.n_recorded == done.n_at_once
    np.testing.assert_array_equal(few.gather(), model)


def test_a_task_that_is_recorded_is_not_waited_for() -> None:
    few, indices = few_and_recorded()
    pg.schedule(lambda part: part.fill(9), pg.update(few))
    found = few[indices]
    assert len(recording.queue.recorded) > 0
    assert found.tolist() == [9, 9, 9]


def test_what_nothing_recorded_uses_is_computed_at_once() -> None:
    few, large = pg.arange(8.0), pg.ones(MAX_ELEMENTS + 1)
    pg.sync()
    large *= 3
    before = pg.stats()
    few[1:3] += few[2:4] * 2
    few = np.concatenate([few, pg.sqrt(few)])
    done = pg.stats() - before
    assert done.n_recorded == done.n_at_once > 3
    assert len(recording.queue.recorded) > 0
    model = np.arange(8.0)
    model[1:3] += model[2:4] * 2
    np.testing.assert_array_equal(few.gather(), np.concatenate([model, np.sqrt(model)]))


@pytest.mark.parametrize("read", [
    lambda x: x[2:], lambda x: x[::-1], lambda x: x.copy(), lambda x: x[3:4], lambda x: x[3],
    lambda x: x.redistribute() if isinstance(x, pg.GlobalArray) else x])
def test_what_something_recorded_reads_is_not_written_to(read: Callable[[Any], Any]) -> None:
    """Whether it has a name of its own or not, and whose elements it has."""
    few, model = pg.arange(8.0), np.arange(8.0)
    first, large = few[2:], pg.ones((2 * MAX_ELEMENTS, read(model).size))
    pg.sync()
    large += read(few)
    assert len(recording.queue.recorded) > 0
    few[...] = 7
    first *= 2
    assert large[0].tolist() == (1 + np.atleast_1d(read(model))).tolist()
    assert few.tolist() == [7, 7, *[14] * 6]


def test_indices_that_are_wrong_are_refused_where_they_are_used() -> None:
    few, indices = few_and_recorded()
    with pytest.raises(IndexError, match="index 7 is out of bounds"):
        float(few[indices + 4].sum())


def test_what_is_pending_decides_whether_a_section_is_true() -> None:
    x = pg.ones(5)
    pg.sync()
    section = x[:1]
    pg.schedule(lambda part: part.fill(0), pg.update(x))
    assert not section


@pytest.mark.parametrize("call", [
    lambda x, a: x.fft.fft(a[0]).real, lambda x, a: x.histogram(a, 3, (0, 9))[0], lambda x, a: x.tril(a),
    lambda x, a: x.nanmean(a), lambda x, a: x.einsum("ij,kj->ik", a, a), lambda x, a: x.diagonal(a).copy()])
@pytest.mark.parametrize("copies", [lambda a: a, lambda a: a.copy(), lambda a: a.T.copy().T, lambda a: a[::-1][::-1]])
def test_functions_of_parts_come_after_what_is_recorded(call: Callable[..., Any],
                                                        copies: Callable[[Any], Any]) -> None:
    x, large = np.arange(9.0).reshape(3, 3), pg.ones((MAX_ELEMENTS, 3, 3))
    a = pg.array(x)
    pg.sync()
    large *= a
    a += large[7] * 0.5
    pg.schedule(lambda part: np.negative(part, out=part), pg.update(a))
    b = copies(a)
    found = call(pg, b)
    np.testing.assert_allclose(found.gather(), call(np, -(x + x * 0.5)), 1e-12, 1e-12)


def test_exchanges_that_are_recorded_are_not_waited_for_as_tasks_are() -> None:
    A, x = pg.ones((20, 20)), pg.arange(20.0)
    mask = x > 8
    counts = []
    for _ in range(2):
        before = pg.stats()
        A.flat[3], x[mask], x.copy()[mask]
        counts.append(pg.stats() - before)
    assert counts[1].n_recorded - counts[1].n_at_once <= 1  # that of A.flat
    assert x[mask].tolist() == list(range(9, 20))
