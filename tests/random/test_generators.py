"""Random numbers: the same for every layout and number of processes, and distributed as they should be."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import pgaspy as pg
from tests.layouts import NAMES, layout_of
from tests.together import assert_equal, collectively, raises_everywhere

pytestmark = pytest.mark.mpi

SHAPE = (9, 14)
DRAWS: dict[str, Callable[..., Any]] = {
    "random": lambda g, **o: g.random(SHAPE, **o),
    "random f": lambda g, **o: g.random(SHAPE, dtype=np.float32, **o),
    "uniform": lambda g, **o: g.uniform(-3, 5, SHAPE, **o),
    "integers": lambda g, **o: g.integers(-5, 1000, SHAPE, **o),
    "integers B": lambda g, **o: g.integers(0, 255, SHAPE, dtype=np.uint8, endpoint=True, **o),
    "integers ?": lambda g, **o: g.integers(0, 2, SHAPE, dtype=bool, **o),
}
# Of the bytes of each draw in this order from the generator of seed 42: what one process computed.
DIGESTS = {
    "random": "ee93e7650e482461",
    "random f": "e98881c1f0074332",
    "uniform": "c3e1a111136444d7",
    "integers": "270d0f9e1a7529e5",
    "integers B": "be8e67b42708d438",
    "integers ?": "656799cdafe064c9",
}


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("draw", DRAWS)
def test_the_same_for_every_layout_and_number_of_processes(draw: str, name: str) -> None:
    a = DRAWS[draw](pg.random.default_rng(42), layout=layout_of(name, SHAPE))
    digest = hashlib.sha256(a.gather().tobytes()).hexdigest()[:16]
    collectively(digest == DIGESTS[draw], f"{draw}: {digest}")


@pytest.mark.parametrize("name", NAMES)
def test_normal_numbers_are_the_same_for_every_layout(name: str) -> None:
    expected = pg.random.default_rng(42).standard_normal(SHAPE, onenode=0).gather()
    assert_equal(pg.random.default_rng(42).standard_normal(SHAPE, layout=layout_of(name, SHAPE)), expected)


def test_draws_take_their_own_numbers() -> None:
    generator = pg.random.default_rng(42)
    first, second = generator.random(1000).gather(), generator.random(1000).gather()
    collectively(not np.isin(first, second).any())
    other = pg.random.default_rng(43).random(1000).gather()
    collectively(not np.isin(first, other).any())
    assert_equal(pg.random.default_rng(42).random(1000), first)


def test_children_have_numbers_of_their_own() -> None:
    parent = pg.random.default_rng(42)
    children = [*parent.spawn(2), *parent.spawn(1), pg.random.default_rng(43).spawn(1)[0], parent]
    drawn = [child.random(1000).gather() for child in children]
    collectively(len(np.unique(drawn)) == 5000)
    assert_equal(pg.random.default_rng(42).spawn(3)[2].random(1000), drawn[2])


def test_a_longer_array_begins_alike() -> None:
    assert_equal(pg.random.default_rng(1).random(100)[:10], pg.random.default_rng(1).random(10).gather())
    flat = pg.random.default_rng(1).random(100).gather()
    assert_equal(pg.random.default_rng(1).random((10, 10)), flat.reshape(10, 10))


@pytest.mark.parametrize("seed", [0, 2**63, 2**200 + 1, [1, 2, 3], np.random.SeedSequence(5)], ids=str)
def test_seeds(seed: Any) -> None:
    a, b = (pg.random.default_rng(seed).random(50) for _ in range(2))
    assert_equal(a, b.gather())


def test_without_a_seed_all_processes_have_the_same() -> None:
    a, b = (pg.random.default_rng().random(50, layout=layout_of("replicated", (50,))) for _ in range(2))
    collectively(len(set(pg.COMM.allgather(a.local().tobytes()))) == 1)
    collectively(a.gather().tobytes() != b.gather().tobytes())


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_uniform(dtype: Any) -> None:
    x = pg.random.default_rng(7).random(200000, dtype=dtype).gather()
    collectively(x.dtype == dtype and x.min() >= 0 and x.max() < 1)
    collectively(abs(x.mean(dtype=float) - 1 / 2) < 0.003 and abs(x.var(dtype=float) - 1 / 12) < 0.001)
    counts = np.bincount((x * 16).astype(int), minlength=16)
    collectively(((counts - 12500) ** 2 / 12500).sum() < 45)
    collectively(abs(np.corrcoef(x[:-1], x[1:])[0, 1]) < 0.01)
    y = pg.random.default_rng(7).uniform(-2, 6, 1000).gather()
    collectively(y.min() >= -2 and y.max() < 6)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_normal(dtype: Any) -> None:
    x = pg.random.default_rng(8).standard_normal(200000, dtype=dtype).gather().astype(float)
    collectively(bool(np.isfinite(x).all()))
    for power, moment in ((1, 0), (2, 1), (3, 0), (4, 3)):
        collectively(abs((x**power).mean() - moment) < 0.06)


@pytest.mark.parametrize("dtype", [np.int64, np.int32, np.uint8, bool])
def test_integers(dtype: Any) -> None:
    high = 2 if dtype is bool else 7
    x = pg.random.default_rng(9).integers(high, size=70000, dtype=dtype).gather()
    counts = np.bincount(x.astype(int))
    collectively(x.dtype == dtype and len(counts) == high)
    collectively(bool((np.abs(counts - 70000 / high) < 500).all()))


def test_ranges_of_integers() -> None:
    generator = pg.random.default_rng(10)
    whole = generator.integers(-(2**63), 2**63 - 1, 1000, endpoint=True).gather()
    collectively(whole.min() < -(2**61) and whole.max() > 2**61)
    collectively(set(generator.integers(3, 3, 100, endpoint=True).gather().tolist()) == {3})
    collectively(generator.integers(4).shape == ())


def test_sizes() -> None:
    generator = pg.random.default_rng(11)
    collectively(generator.random().shape == () and generator.random(5).shape == (5,))
    collectively(generator.random((0, 3)).shape == (0, 3))
    collectively(0 <= float(generator.random()) < 1)


def test_wrong_arguments() -> None:
    generator = pg.random.default_rng(12)
    raises_everywhere(ValueError, r"low >= high: no integers in \[5, 2\)", lambda: generator.integers(5, 2, 3))
    raises_everywhere(ValueError, "beyond the range of uint8, 0 to 255", lambda: generator.integers(-1, 2, 3, np.uint8))
    raises_everywhere(ValueError, "beyond the range of bool", lambda: generator.integers(0, 3, 3, bool))
    raises_everywhere(TypeError, "Unsupported dtype complex128", lambda: generator.random(3, complex))
    raises_everywhere(TypeError, "Unsupported dtype float16", lambda: generator.standard_normal(3, np.float16))
    raises_everywhere(OverflowError, "not finite", lambda: generator.uniform(0, np.inf, 3))
    raises_everywhere(ValueError, "negative", lambda: generator.random((2, -1)))
    before = pg.random.default_rng(12).random(5).gather()
    assert_equal(generator.random(5), before)


def test_seeds_are_taken_by_value() -> None:
    numbers = pg.arange(4, 7)
    for seed, value in ((numbers[1], 5), (numbers.sum(), 15), ([numbers[0], 3], [4, 3]), (numbers, [4, 5, 6]), (2, 2)):
        assert_equal(pg.random.default_rng(seed).random(5), pg.random.default_rng(value).random(5).gather())
    raises_everywhere(TypeError, "integer", lambda: pg.random.default_rng(pg.array(2.5)))
