"""Random orders, and what is chosen: the same in every layout, every order as likely, with NumPy's errors."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest

import pgaspy as pg
from tests.layouts import NAMES, layout_of
from tests.together import assert_equal, collectively, raises_everywhere

pytestmark = pytest.mark.mpi

X = np.arange(60.0).reshape(12, 5)


def rng(seed: int = 42) -> Any:
    return pg.random.default_rng(seed)


@pytest.mark.parametrize("layout", NAMES)
def test_the_same_in_every_layout(layout: str) -> None:
    A = pg.array(X, layout=layout_of(layout, X.shape))
    order = rng().permutation(12).gather()
    collectively(sorted(order.tolist()) == list(range(12)))
    assert_equal(rng().permutation(A), X[order])
    assert_equal(rng().permutation(A, axis=1), X[:, rng().permutation(5).gather()])
    B = A.copy()
    collectively(rng().shuffle(B) is None)
    assert_equal(B, X[order])
    rng().shuffle(B[2:8, ::2], axis=0)
    assert_equal(B[2:8, ::2], X[order][2:8, ::2][rng().permutation(6).gather()])
    for axis in (None, 0, -1):
        assert_equal(rng().permuted(A, axis), rng().permuted(pg.array(X, onenode=0), axis).gather())
    for options in ({}, {"replace": False}, {"p": np.arange(12) / 66}, {"p": np.arange(12) / 66, "replace": False}):
        which = rng().choice(12, 6, layout=layout_of(layout, (6,)), **options)
        expected = rng().choice(12, 6, onenode=0, **options).gather()
        assert_equal(which, expected)
        assert_equal(rng().choice(A, 6, **options), X[expected])
        assert_equal(rng().choice(A, (3, 2), **options), X[expected].reshape(3, 2, 5))


def test_permuted() -> None:
    a = np.tile(np.arange(7), (200, 1))
    found = rng().permuted(pg.array(a), 1).gather()
    assert_equal(np.sort(found, 1), a)
    collectively(len(np.unique(found, axis=0)) > 150 and abs(found.mean(0) - 3).max() < 0.6)
    assert_equal(np.sort(rng().permuted(pg.array(a)).gather(), None), np.sort(a, None))
    out = pg.array(a)
    collectively(rng().permuted(out, axis=1, out=out) is out)
    assert_equal(out, found)


def test_every_order_is_as_likely() -> None:
    keys = rng().permuted(pg.broadcast_to(pg.arange(4), (24_000, 4)), 1).gather() @ [64, 16, 4, 1]
    orders = [np.dot(order, [64, 16, 4, 1]) for order in itertools.permutations(range(4))]
    counts = [int((keys == order).sum()) for order in orders]
    collectively(sum(counts) == 24_000 and sum((n - 1000) ** 2 / 1000 for n in counts) < 60, f"{counts}")


def test_choice_with_probabilities() -> None:
    p = np.array([0.1, 0.0, 0.6, 0.3])
    for given in (p, p.tolist(), pg.array(p)):
        counts = np.bincount(rng().choice(4, 20_000, p=given).gather(), minlength=4)
        collectively(counts[1] == 0 and abs(counts / 20_000 - p).max() < 0.015, f"{counts}")
    collectively(sorted(rng().choice(4, 3, False, p).gather().tolist()) == [0, 2, 3])
    collectively(sorted(rng().choice(3, 2, False, [0, 1e-310, 1]).gather().tolist()) == [1, 2])


def test_choice_without_replacement() -> None:
    """Of three kinds of elements, as one after the other is drawn: the waiting times are exponential."""
    weights = np.repeat([0.1, 0.6, 0.3], 4000)
    chosen = rng().choice(12_000, 5000, replace=False, p=weights / weights.sum()).gather()
    collectively(len(set(chosen.tolist())) == 5000)
    for n in (1000, 5000):
        times = np.linspace(0, 10, 10_001)
        t = times[np.argmin(abs(4000 * sum(1 - np.exp(-w * times) for w in (0.1, 0.6, 0.3)) - n))]
        expected = 4000 * (1 - np.exp(-np.array([0.1, 0.6, 0.3]) * t))
        collectively(abs(np.bincount(chosen[:n] // 4000, minlength=3) - expected).max() < 120, f"{expected}")


def test_few_of_many_are_chosen_once() -> None:
    rng = pg.random.default_rng(8)
    counts = np.zeros(200, int)
    for _ in range(300):
        found = rng.choice(200, 3, replace=False).gather()
        collectively(len({*found.tolist()}) == 3)
        counts[found] += 1
    collectively(counts.sum() == 900 and counts.max() < 20)
    among = rng.choice(pg.arange(1000) * 2, (2, 3), replace=False).gather()
    collectively(len({*among.ravel().tolist()}) == 6 and not (among % 2).any())
    same = pg.random.default_rng(9).choice(10**6, 5, replace=False).gather().tolist()
    collectively(pg.COMM.bcast(same) == same)


def test_choice_of_one_and_of_none() -> None:
    one = rng().choice(10)
    collectively(one.shape == () and 0 <= int(one) < 10 and one.dtype == np.int64)
    collectively(float(rng().choice(pg.array([2.5, 3.5]))) in (2.5, 3.5))
    collectively(rng().choice(X).shape == (5,) and rng().choice(X, (), axis=1).shape == (12,))
    collectively(rng().choice(10, replace=False).shape == () and rng().choice(0, 0).shape == (0,))
    collectively(rng().choice(X, 3, axis=1).shape == (12, 3))


def test_bytes() -> None:
    found = rng().bytes(1000)
    collectively(isinstance(found, bytes) and len(set(pg.COMM.allgather(found))) == 1)
    collectively(len(found) == 1000 and len(set(found)) > 200 and rng().bytes(1000) == found and rng().bytes(0) == b"")


def test_wrong_arguments() -> None:
    g = rng()
    raises_everywhere(ValueError, "a must be a positive integer", lambda: g.choice(0, 3))
    raises_everywhere(ValueError, "a cannot be empty", lambda: g.choice([], 1))
    raises_everywhere(ValueError, "sequence or an integer", lambda: g.choice(2.5))
    raises_everywhere(ValueError, "larger sample than population", lambda: g.choice(5, 6, replace=False))
    raises_everywhere(ValueError, "must be 1-dimensional", lambda: g.choice(2, p=[[0.5, 0.5]]))
    raises_everywhere(ValueError, "same size", lambda: g.choice(3, p=[0.5, 0.5]))
    raises_everywhere(ValueError, "do not sum to 1", lambda: g.choice(2, p=pg.array([0.5, 0.4])))
    raises_everywhere(ValueError, "not non-negative", lambda: g.choice(2, p=[-1, 2]))
    raises_everywhere(ValueError, "contain NaN", lambda: g.choice(2, p=[np.nan, 1]))
    raises_everywhere(ValueError, "Fewer non-zero", lambda: g.choice(2, 2, False, [1, 0]))
    raises_everywhere(TypeError, "takes a global array", lambda: g.shuffle([1, 2]))
    raises_everywhere(np.exceptions.AxisError, "out of bounds", lambda: g.permutation(X, axis=2))
    raises_everywhere(ValueError, "same shape", lambda: g.permuted(X, out=pg.empty(3)))
    assert_equal(g.random(3), rng().random(3).gather())
