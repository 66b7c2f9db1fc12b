"""Products that over- or underflow on the way: what is multiplied apart comes to what is multiplied in order."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import pgaspy as pg
from pgaspy.scheduling import products
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


@pytest.mark.parametrize("dtype", ["d", "F"])
def test_pairs_up_to_each(dtype: str) -> None:
    x = np.random.default_rng(2).normal(size=(700, 2)).astype(dtype)
    pairs = products.of_elements(x[:, None], (1,), np.dtype(dtype))
    with np.errstate(all="ignore"):
        found = products.values_of(products.accumulated(pairs))
        wide = np.longdouble if dtype == "d" else np.clongdouble
        expected = np.multiply.accumulate(x.astype(wide)).astype(dtype)
    collectively(np.allclose(found, expected, rtol=1e-3, atol=1e-44), f"{found}")
