"""Distributions of vectors: the same in every layout, with the right moments, and NumPy's errors."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from scipy import stats

import pgaspy as pg
from tests.layouts import NAMES, layout_of
from tests.together import assert_equal, collectively, raises_everywhere

pytestmark = pytest.mark.mpi

COVARIANCE = np.array([[2.0, 0.5, 0.0], [0.5, 1.0, -0.3], [0.0, -0.3, 0.5]])
MEAN = np.array([1.0, -2.0, 0.0])
SHARES = np.array([0.2, 0.5, 0.3])
DRAWS: dict[str, Callable[..., Any]] = {
    "multinomial": lambda g, size, **o: g.multinomial(20, SHARES, size, **o),
    "multivariate_hypergeometric": lambda g, size, **o: g.multivariate_hypergeometric([20, 50, 30], 40, size, **o),
    "dirichlet": lambda g, size, **o: g.dirichlet(4 * SHARES, size, **o),
    "multivariate_normal": lambda g, size, **o: g.multivariate_normal(MEAN, COVARIANCE, size, **o),
}


@pytest.mark.parametrize("layout", NAMES)
@pytest.mark.parametrize("name", DRAWS)
def test_the_same_in_every_layout(name: str, layout: str) -> None:
    expected = DRAWS[name](pg.random.default_rng(42), (5, 9), onenode=0).gather()
    collectively(expected.shape == (5, 9, 3) and expected.dtype == DRAWS[name](np.random.default_rng(1), 2).dtype)
    found = DRAWS[name](pg.random.default_rng(42), (5, 9), layout=layout_of(layout, (5, 9, 3)))
    assert_equal(found, expected)
    assert_equal(DRAWS[name](pg.random.default_rng(42), (5, 9)), expected)
    assert_equal(DRAWS[name](pg.random.default_rng(42), 7), expected.reshape(45, 3)[:7])
    assert_equal(DRAWS[name](pg.random.default_rng(42), None), expected[0, 0])
    collectively(DRAWS[name](pg.random.default_rng(42), (0, 2)).shape == (0, 2, 3))


def test_multinomial() -> None:
    x = pg.random.default_rng(1).multinomial(20, SHARES, 20_000).gather()
    collectively(bool((x.sum(1) == 20).all() and (x >= 0).all()))
    for k, p in enumerate(SHARES):
        expected = stats.binom(20, p).pmf(np.arange(21))
        found = np.bincount(x[:, k], minlength=21) / len(x)
        collectively(abs(found - expected).max() < 0.015, f"{found}")
    collectively(abs(np.corrcoef(x[:, 0], x[:, 1])[0, 1] + 0.5) < 0.03)
    n, shares = pg.array([[3], [1000]]), pg.array([SHARES, SHARES[::-1]])
    found = pg.random.default_rng(1).multinomial(n, shares)
    collectively(found.shape == (2, 2, 3))
    assert_equal(found.sum(-1), np.broadcast_to(n.gather(), (2, 2)))
    collectively(float(found[1, 1, 0]) > 240)


def test_multivariate_hypergeometric() -> None:
    x = pg.random.default_rng(1).multivariate_hypergeometric([20, 50, 30], 40, 20_000).gather()
    collectively(bool((x.sum(1) == 40).all() and (x >= 0).all() and (x <= [20, 50, 30]).all()))
    for k, n in enumerate((20, 50, 30)):
        expected = stats.hypergeom(100, n, 40).pmf(np.arange(41))
        found = np.bincount(x[:, k], minlength=41) / len(x)
        collectively(abs(found - expected).max() < 0.015, f"{found}")


def test_dirichlet() -> None:
    for alpha in (4 * SHARES, SHARES / 100):
        x = pg.random.default_rng(1).dirichlet(alpha, 20_000).gather()
        collectively(bool((abs(x.sum(1) - 1) < 1e-12).all() and (x >= 0).all()))
        collectively(abs(x.mean(0) - SHARES).max() < 0.015, f"{x.mean(0)}")
    p = stats.kstest(pg.random.default_rng(1).dirichlet([2.0, 1.0, 3.0], 20_000).gather()[:, 0],
                     stats.beta(2, 4).cdf).pvalue
    collectively(p > 1e-3, f"{p}")


@pytest.mark.parametrize("method", ["svd", "eigh", "cholesky"])
def test_multivariate_normal(method: Any) -> None:
    g, mean, covariance = pg.random.default_rng(1), pg.array(MEAN), pg.array(COVARIANCE)
    x = g.multivariate_normal(mean, covariance, 40_000, method=method).gather()
    collectively(abs(x.mean(0) - MEAN).max() < 0.03 and abs(np.cov(x.T) - COVARIANCE).max() < 0.05)
    collectively(stats.kstest(x[:, 1], stats.norm(-2, 1).cdf).pvalue > 1e-3)


def test_wrong_arguments() -> None:
    g = pg.random.default_rng(1)
    raises_everywhere(ValueError, "n < 0", lambda: g.multinomial(-1, SHARES))
    raises_everywhere(ValueError, "pvals < 0", lambda: g.multinomial(1, pg.array([-0.5, 0.5])))
    raises_everywhere(ValueError, r"sum\(pvals", lambda: g.multinomial(1, [0.9, 0.9, 0.1]))
    raises_everywhere(ValueError, "at least 1 dimension", lambda: g.multinomial(1, 0.5))
    raises_everywhere(ValueError, "nsample > sum", lambda: g.multivariate_hypergeometric([3, 4], 9))
    raises_everywhere(ValueError, "alpha < 0", lambda: g.dirichlet([-1, 1]))
    raises_everywhere(ValueError, "mean must be 1 dim", lambda: g.multivariate_normal([[1, 2]], np.eye(2)))
    raises_everywhere(ValueError, "positive-semidefinite", lambda: g.multivariate_normal(
        [1, 2], [[-1.0, 0], [0, 1]], check_valid="raise"))
    assert_equal(g.random(3), pg.random.default_rng(1).random(3).gather())
