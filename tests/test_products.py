"""Products that over- or underflow on the way: what is multiplied apart comes to what is multiplied in order."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import pgaspy as pg
from tests.layouts import layout_of
from tests.together import assert_equal, collectively

pytestmark = pytest.mark.mpi

N = 2520

FACTORS: dict[str, NDArray[Any]] = {
    "zero first": np.where(np.arange(N) == 0, 0, 10.0),
    "numbers": np.arange(float(N)),
    "infinite first": np.where(np.arange(N) == 0, np.inf, 0.01),
    "NaN": np.where(np.arange(N) == N // 2, np.nan, 1.5),
    "small": np.full(N, 0.01),
    "zero last": np.where(np.arange(N) == N - 1, 0, 1.001),
    "signs": np.where(np.arange(N) % 3 == 0, -1.0, 1.0),
    "near one": np.random.default_rng(1).uniform(0.9, 1.1, N),
}

PRODUCTS: dict[str, Callable[[Any], Any]] = {
    "prod": lambda x: x.prod(),
    "rows": lambda x: x.reshape(-1, 5).prod(axis=0),
    "columns": lambda x: x.reshape(5, -1).prod(axis=1, keepdims=True),
    "masked": lambda x: x.prod(where=x < 7),
    "cumprod": lambda x: x.cumprod(),
    "reversed": lambda x: x[::-1].cumprod(),
    "of rows": lambda x: x.reshape(-1, 5).cumprod(axis=0),
}


@pytest.mark.parametrize("dtype", ["d", "f"])
@pytest.mark.parametrize("name", ["block", "cyclic(2)", "one process"])
@pytest.mark.parametrize("factors", FACTORS)
def test_products_are_those_of_numpy(factors: str, name: str, dtype: str) -> None:
    x = FACTORS[factors].astype(dtype)
    a = pg.array(x, layout=layout_of(name, x.shape))
    for product in PRODUCTS.values():
        with np.errstate(all="ignore"):
            expected = product(x)
        assert_equal(product(a), np.asarray(expected), exact=False, rtol=1e-12 if dtype == "d" else 1e-3)


@pytest.mark.parametrize("dtype", ["d", "f", "D", "F", "e"])
def test_what_comes_back_to_one(dtype: str) -> None:
    large = np.full(N, 2.0**8 if dtype == "e" else 2.0**60, dtype)
    a = pg.array(np.concatenate([large, 1 / large]))
    assert_equal(a.prod(), np.ones((), dtype))
    assert_equal(a[::-1].prod(), np.ones((), dtype))


def test_what_digits_are_lost_of_in_parts_alone() -> None:
    factors = np.ones(4096)
    for places in (0, [2048, 2049]), ([0, 4095], [2047, 2048]), (4095, [0, 1]):
        x = factors.copy()
        x[places[0]], x[places[1]] = 1e200, 3e-162
        with np.errstate(all="ignore"):
            expected = float(np.prod(x.astype(np.longdouble)))
        collectively(bool(np.isclose(float(pg.array(x).prod()), expected, rtol=1e-12)), f"{places}")


def test_true_products_where_numpy_passes_what_is_infinite() -> None:
    assert_equal(pg.array([1e200, 1e200, 0.0]).prod(), np.zeros(()))
    assert_equal(pg.array([1e200] * 3 + [1e-200] * 3).prod(), np.ones(()), exact=False, rtol=1e-12)


def test_parts_of_complex_products_are_of_any_magnitudes() -> None:
    x = np.array([1e-191 + 1e222j, 1.0])
    for found in pg.array(x).prod(), pg.array(x).cumprod()[-1], pg.array(x[None]).prod(axis=1)[0]:
        collectively(found.item() == x[0])


@pytest.mark.parametrize("seed", range(90))
def test_running_products_are_those_of_one_number_after_the_other(seed: int) -> None:
    """Wherever parts meet: also of what overflows, and comes to zero, and of NaN."""
    rng = np.random.default_rng(seed)
    dtype = rng.choice(["f4", "f8", "g", "c8", "c16"])
    large = 1e30 if dtype in ("f4", "c8") else 1e250
    numbers = [1, 2, -0.5, large, 1 / large, 0, np.inf, -np.inf, np.nan, 3, 1e-3, -large]
    shape = (int(rng.integers(1, 40)), *([3] if rng.random() < 0.5 else []))
    likely = [0.2, 0.15, 0.15, 0.1, 0.1, *[0.02] * 4, 0.1, 0.07, 0.05]
    if seed % 2:  # which pass both limits, some of them several times
        likely = [0, 0.1, 0.1, 0.38, 0.38, 0.02, 0.02, *[0] * 5]
    x = rng.choice(numbers, shape, p=likely).astype(dtype)
    if x.dtype.kind == "c":
        x.imag = rng.choice(numbers, shape, p=likely)
    if seed % 2:
        x = np.repeat(x, rng.integers(1, 4), axis=0)
    with np.errstate(all="ignore"):
        expected = np.cumprod(x, 0)
    for dim in ("block", "cyclic(1)", "cyclic(3)"):
        found = pg.cumprod(pg.array(x, layout=pg.Distribution(dim, *["*"] * (x.ndim - 1))), 0).gather()
        collectively(np.allclose(found, expected, 1e-4 if dtype in ("f4", "c8") else 1e-11, np.finfo("f4").tiny * 1e7,
                                 equal_nan=True), f"{x.tolist()}\n{expected.tolist()}\n{found.tolist()}")


@pytest.mark.parametrize("dtype", ["f2", "f4", "f8", "c16"])
def test_products_of_segments_do_not_overflow_where_processes_meet(dtype: str) -> None:
    large = np.array(2.0 ** (np.finfo(dtype).maxexp - 2)).astype(dtype)
    x = np.array([large, large, 1 / large, 1 / large, 1 / large, 1, large, 2], dtype)
    of_all = np.multiply.reduceat(pg.array(x), [0]).gather()
    collectively(pg.SIZE == 1 or of_all[0] == 2, f"{of_all}")
    found = np.multiply.reduceat(pg.array(x), [0, 1, 4, 2]).gather()
    collectively(np.array_equal(found, [large, 1 / large, 1 / large, 0]), f"{found}")


def test_sums_of_segments_are_made_as_numpy_makes_them() -> None:
    x = np.array([60000, 60000, -60000, -60000, 3], np.float16)
    for indices in [0, 2], [0]:
        with np.errstate(over="ignore"):
            expected = np.add.reduceat(x, indices)
        assert_equal(np.add.reduceat(pg.array(x), indices), expected)
