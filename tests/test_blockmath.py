"""Integer maths on one dimension."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pgaspy.blockmath import ceil_div, common_places, meet, near_square_grid, solve_congruence

NUMBERS = st.integers(-1000, 1000)


@given(NUMBERS, NUMBERS.filter(bool))
def test_ceil_div(a: int, b: int) -> None:
    assert ceil_div(a, b) == math.ceil(Fraction(a, b))
    assert ceil_div(np.array([a]), b)[0] == math.ceil(Fraction(a, b))


@pytest.mark.parametrize(("n_procs", "n_axes", "grid"), [
    (1, 0, ()), (6, 1, (6,)), (1, 2, (1, 1)), (2, 2, (2, 1)), (4, 2, (2, 2)), (6, 2, (3, 2)), (7, 2, (7, 1)),
    (12, 2, (4, 3)), (64, 2, (8, 8)), (8, 3, (2, 2, 2)), (12, 3, (3, 2, 2)), (4096, 2, (64, 64)),
    (27, 3, (3, 3, 3)), (10**6, 2, (1000, 1000)),
])
def test_near_square_grid(n_procs: int, n_axes: int, grid: tuple[int, ...]) -> None:
    assert near_square_grid(n_procs, n_axes) == grid


@given(st.integers(1, 500), st.integers(1, 4))
def test_near_square_grids_use_every_process(n_procs: int, n_axes: int) -> None:
    grid = near_square_grid(n_procs, n_axes)
    assert math.prod(grid) == n_procs
    assert list(grid) == sorted(grid, reverse=True)


@given(st.integers(1, 100).flatmap(lambda m: st.tuples(NUMBERS.filter(bool), st.just(m), st.integers(0, m - 1))))
def test_solve_congruence(numbers: tuple[int, int, int]) -> None:
    a, modulus, c = numbers
    g, inverse, period = solve_congruence(a, modulus)
    expected = {i for i in range(modulus) if (a * i - c) % modulus == 0}
    if c % g:
        assert not expected
    else:
        first = (c // g) * inverse % period
        assert expected == set(range(first, modulus, period))


ASCENDING = st.builds(lambda start, n, step: range(start, start + n * step, step),
                      st.integers(0, 60), st.integers(1, 12), st.integers(1, 12))


@given(ASCENDING, ASCENDING)
def test_meet(a: range, b: range) -> None:
    assert meet(a, b) == bool({*a} & {*b})


@given(st.lists(NUMBERS, unique=True), st.lists(NUMBERS, unique=True))
def test_common_places(a: list[int], b: list[int]) -> None:
    i, j = common_places(np.array(a, np.int64), np.array(b, np.int64))
    assert [*zip(i.tolist(), j.tolist(), strict=True)] == [(a.index(x), b.index(x)) for x in a if x in b]


def test_places_that_are_far_apart_take_no_memory() -> None:
    i, j = common_places(np.arange(3) + 2**60, np.arange(5))
    assert (i.size, j.size) == (0, 0)
    i, j = common_places(np.array([2**60, 3]), np.arange(5))
    assert (i.tolist(), j.tolist()) == ([1], [3])
