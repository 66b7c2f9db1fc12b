"""Small arrays of one process: what has elements only, and for how long."""

from __future__ import annotations

import gc
import signal
import subprocess
import sys
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import pgaspy as pg
from pgaspy.alone import small
from tests.alone.elements import is_small


def test_statements_record_nothing_and_work_out_no_layout() -> None:
    A, x = pg.ones((20, 20)), pg.ones(20)
    pg.sync()
    before = pg.stats()
    y = A[3, 2:] * 2.0 - x[2:] / A[1, 1]
    A[4, 2:] += y
    z = A[:, 5] @ A
    assert is_small(y)
    assert is_small(z)
    done = pg.stats() - before
    assert (done.n_recorded, done.n_at_once) == (6, 6)
    assert float(z[2]) == 23
    assert y.layout == (A[3, 2:] + 1).layout


def test_elements_keep_what_they_were() -> None:
    x = pg.arange(5.0)
    element, number = x[2], x[1] + x[3]
    x[...] = 0
    assert (float(element), float(number), element.dtype) == (2, 4, x.dtype)
    y = element
    y += 1
    assert float(element) == 2
    with pytest.raises(TypeError, match="does not support assignment"):
        element[...] = 1


def test_arrays_of_numbers_are_copies() -> None:
    x = pg.arange(5.0)
    total, element = x.sum(), x[3]
    one, other = pg.asarray(total), pg.asarray(element)
    one[...] = 7
    x[...] = 1
    other += 1
    assert [float(n) for n in (total, element, one, other)] == [10, 3, 7, 4]


def test_what_borrows_elements_keeps_them() -> None:
    x = pg.arange(6.0)
    copies = pg.replicate(x, axis=0)
    x[2:] = 7
    copies[0] = 8
    np.testing.assert_array_equal(x.gather(), [0, 1, 7, 7, 7, 7])
    np.testing.assert_array_equal(copies.gather(), [8, 1, 2, 3, 4, 5])


def test_elements_of_text_have_the_dtype_of_their_array() -> None:
    x = pg.array([b"abcde", b""])
    assert x[1].dtype == "S5"
    assert pg.full(3, x[1:][0]).gather().tolist() == [b""] * 3


def test_what_failed_is_not_read_and_is_no_obstacle_to_others() -> None:
    def fails(part: Any) -> None:
        raise ValueError("bad")

    x, y = pg.zeros(6), pg.zeros(6)
    pg.sync()
    section = x[2:]
    pg.schedule(fails, pg.update(x))
    with pytest.raises(pg.TaskError):
        pg.sync()
    assert is_small(y[1:] + 1)
    for statement in (lambda: section + 1, lambda: float(x[3]), lambda: section[0], lambda: y.__iadd__(x)):
        with pytest.raises(pg.TaskError):
            np.add(statement(), 1).sum().item()


def test_local_views_see_what_is_written() -> None:
    x = pg.zeros(4)
    seen = x.local()
    x[1:3] += 2
    seen[0] = 5
    y = x + 1
    np.testing.assert_array_equal(seen, [5, 2, 2, 0])
    np.testing.assert_array_equal(y.local(), [6, 3, 3, 1])


@pytest.mark.parametrize("step", [lambda x: x[1:], lambda x: x + 1, lambda x: (x + 1)[1:], lambda x: x[:-1] + x[1:],
                                  lambda x: x[::-1][1:] * x[0]])
def test_what_follows_from_what_is_not_kept(step: Callable[[Any], Any]) -> None:
    def n_arrays() -> int:
        gc.collect()
        return sum(isinstance(found, pg.GlobalArray) for found in gc.get_objects())

    x, before = pg.zeros(4000), n_arrays()
    for _ in range(3500):
        x = step(x)
    assert n_arrays() < before + 10
    assert x.layout.shape == x.shape


@pytest.mark.parametrize("error", [ValueError, TypeError, IndexError, OverflowError, KeyboardInterrupt])
def test_an_interrupt_leaves_each_statement_done_or_not(error: type[BaseException]) -> None:
    class Stop(error):  # type: ignore[misc, valid-type]
        """What the handler raises."""

    def handler(*_: Any) -> None:
        raise Stop

    def count() -> None:  # Python 3.13.0 lets what is raised where a loop goes on pass by a `try` around it
        nonlocal x, n_done
        for _ in range(1000):
            x += 1.0
            n_done += 1

    x, n_done, n_stopped, before = pg.zeros(20), 0, 0, signal.signal(signal.SIGALRM, handler)
    state = np.geterr()
    gc.disable()  # other libraries' callbacks, in which an exception is lost
    try:
        for _ in range(300):
            try:
                signal.setitimer(signal.ITIMER_REAL, 2e-5)
                count()
            except Stop:
                n_stopped += 1
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
        gc.enable()
    assert n_done <= x.gather()[0] <= n_done + n_stopped
    assert n_stopped > 200
    assert np.geterr() == state


FINALISER = """
import pgaspy as pg
class Node:
    def __init__(self):
        self.me, self.a = self, pg.ones(8)
    def __del__(self):
        self.a += 1
x = pg.zeros(20)
for _ in range(3000):
    Node()
    x += 1.0
assert (x == 3000).all()
"""


def test_finalisers_that_the_collector_calls_may_use_arrays() -> None:
    subprocess.run([sys.executable, "-c", FINALISER], check=True)


def test_what_was_never_written_to_is_not_allocated_for_a_section() -> None:
    assert pg.empty(1 << 50)[3:5].shape == (2,)


def test_what_others_borrow_is_no_obstacle() -> None:
    x, y = pg.arange(5.0), pg.arange(5.0)
    copies = pg.replicate(x, axis=0)
    pg.sync()
    before = pg.stats()
    y[1:] += 1
    assert is_small(y[1:] * 2)
    assert (pg.stats() - before).n_at_once == 3
    x[0] = 9
    assert float(copies[0]) == 0


def test_what_comes_often_is_not_recorded_either() -> None:
    x = pg.ones(small.MAX_ELEMENTS)
    pg.sync()
    assert all(is_small(x * 2.0) for _ in range(200))
    assert not is_small(pg.ones(small.MAX_ELEMENTS + 1) * 2.0)


def test_results_lie_in_the_order_of_their_operands() -> None:
    x = pg.ones((5, 7))
    for result in x.T + 1, 2 * x.T, x.T + x.T, -x.T, np.where(x.T > 1, x.T, 0.0), np.exp(x.T):
        assert result.local().strides == (8, 56)
        assert result.layout == x.T.layout
        assert result[1:].layout == (x.T + 0)[1:].layout
    assert np.hypot(x[:, :5].copy(), x[:, :5].T).local().strides == (40, 8)
    assert (x.T + x.T.copy()).shape == (7, 5)


def test_errors_are_told_where_they_are_asked_for() -> None:
    x = pg.array([1.0, 0.0])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        x / 0.0
        x[1] / x[1]
    with np.errstate(divide="raise"), pytest.raises(FloatingPointError, match="divide by zero"):
        1.0 / x
    with pytest.raises(IndexError, match="out of bounds"):
        x[2]
    with pytest.raises(ValueError, match="broadcast"):
        x[:] = pg.ones(3)
    with pytest.raises(ValueError, match="read-only"):
        pg.broadcast_to(x, (2, 2))[0] = 1.0
    with pytest.raises(TypeError):
        pg.arange(3).__itruediv__(2)


def test_functions_of_the_program_that_raise_are_called_once() -> None:
    def refuse(x: Any) -> Any:
        calls.append(x)
        if len(calls) > 1:  # the first one tells which shape and dtype come
            raise ValueError("no")
        return x

    a = pg.arange(12.0).reshape(3, 4)
    for call in (lambda: pg.apply_along_axis(refuse, 1, a), lambda: pg.vectorize(refuse, otypes="d")(a)):
        calls: list[Any] = []
        with pytest.raises(ValueError, match="no"):
            call().gather()
        n_before = len(calls)
        pg.sync()
        assert n_before == len(calls) == 2
    assert a.tolist() == np.arange(12.0).reshape(3, 4).tolist()


@pytest.mark.parametrize("dtype", "?bBhHifF")
def test_of_narrow_elements_more_are_few(dtype: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """As many bytes as those of doubles, where that decides how long it takes."""
    n = 8 * small.MAX_ELEMENTS // np.dtype(dtype).itemsize
    x = np.resize(np.arange(100), n).astype(dtype)
    few, more = pg.array(x), pg.array(np.resize(x, n + 1))
    pg.sync()

    def n_recorded(step: Callable[[], Any]) -> int:
        before = pg.stats()
        step()
        done = pg.stats() - before
        return done.n_recorded - done.n_at_once

    def changed(a: pg.GlobalArray) -> Any:
        if dtype == "?":
            return a[1:] & a[:-1], ~a, a != a[::-1]
        b = a[1:] + a[:-1]
        b[1:] = a[2:]
        np.multiply(b, a[1:], out=b)
        return b, a == a[0], a.copy()

    assert not n_recorded(lambda: changed(few))
    assert small.ready(few) is not None
    assert small.ready(more) is None
    found = [y.gather() for y in changed(few)]
    monkeypatch.setattr(small, "is_on", False)
    for ours, other in zip(found, changed(pg.array(x)), strict=True):
        np.testing.assert_array_equal(ours, other.gather(), strict=True)
