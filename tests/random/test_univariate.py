"""Distributions of numbers: the same in every layout, distributed as SciPy's, with NumPy's dtypes and errors."""

from __future__ import annotations

import functools
from typing import Any

import numpy as np
import pytest
from scipy import stats

import pgaspy as pg
from pgaspy.random import drawing
from tests.layouts import NAMES, layout_of
from tests.together import assert_equal, collectively, raises_everywhere

pytestmark = pytest.mark.mpi

SHAPE = (9, 14)
PARAMETERS: dict[str, tuple[float, ...]] = {
    "beta": (0.5, 2.0), "binomial": (50, 0.5), "chisquare": (3.0,), "exponential": (2.0,), "f": (3.0, 12.0),
    "gamma": (0.5, 2.0), "geometric": (0.25,), "gumbel": (1.0, 2.0), "hypergeometric": (30, 40, 25),
    "laplace": (1.0, 2.0), "logistic": (1.0, 2.0), "lognormal": (0.0, 0.5), "logseries": (0.75,),
    "negative_binomial": (5.5, 0.25), "noncentral_chisquare": (3.0, 2.0), "noncentral_f": (3.0, 20.0, 1.0),
    "normal": (1.0, 2.0), "pareto": (3.0,), "poisson": (30.0,), "power": (2.0,), "rayleigh": (2.0,),
    "standard_gamma": (4.0,), "standard_t": (5.0,), "triangular": (1.0, 2.0, 5.0), "uniform": (1.0, 3.0),
    "vonmises": (1.0, 2.0), "wald": (1.0, 2.0), "weibull": (1.5,), "zipf": (3.0,),
}
WITHOUT = "standard_cauchy", "standard_exponential"
INTEGERS = {"binomial": (0,), "hypergeometric": (0, 1, 2)}
"""Which parameters are integers, of those that have such."""

DISTRIBUTIONS: list[tuple[str, tuple[float, ...], Any]] = [
    ("beta", (0.3, 0.4), stats.beta(0.3, 0.4)), ("beta", (5, 2), stats.beta(5, 2)),
    ("binomial", (12, 0.3), stats.binom(12, 0.3)), ("binomial", (500, 0.7), stats.binom(500, 0.7)),
    ("binomial", (10**12, 0.25), stats.binom(10**12, 0.25)), ("binomial", (10**7, 1e-6), stats.binom(10**7, 1e-6)),
    ("binomial", (2**52, 0.5), stats.norm(2**51, 2**25)), ("binomial", (2**62, 0.5), stats.norm(2**61, 2**30)),
    ("chisquare", (0.7,), stats.chi2(0.7)), ("exponential", (2,), stats.expon(scale=2)),
    ("f", (3, 12), stats.f(3, 12)), ("gamma", (0.2, 2), stats.gamma(0.2, scale=2)),
    ("gamma", (30, 0.5), stats.gamma(30, scale=0.5)), ("geometric", (0.2,), stats.geom(0.2)),
    ("geometric", (1e-5,), stats.geom(1e-5)), ("gumbel", (1, 2), stats.gumbel_r(1, 2)),
    ("hypergeometric", (30, 40, 5), stats.hypergeom(70, 30, 5)),
    ("hypergeometric", (30, 40, 66), stats.hypergeom(70, 30, 66)),
    ("hypergeometric", (300, 40, 60), stats.hypergeom(340, 300, 60)),
    ("hypergeometric", (40, 300, 260), stats.hypergeom(340, 40, 260)), ("laplace", (1, 2), stats.laplace(1, 2)),
    ("logistic", (1, 2), stats.logistic(1, 2)), ("lognormal", (0.5, 0.7), stats.lognorm(0.7, scale=np.exp(0.5))),
    ("logseries", (0.9,), stats.logser(0.9)), ("negative_binomial", (5.5, 0.3), stats.nbinom(5.5, 0.3)),
    ("noncentral_chisquare", (0.5, 2), stats.ncx2(0.5, 2)), ("noncentral_f", (3, 20, 1), stats.ncf(3, 20, 1)),
    ("normal", (1, 2), stats.norm(1, 2)), ("pareto", (3,), stats.lomax(3)), ("poisson", (4.5,), stats.poisson(4.5)),
    ("poisson", (1000,), stats.poisson(1000)), ("poisson", (1e16,), stats.norm(1e16, 1e8)),
    ("power", (2.5,), stats.powerlaw(2.5)),
    ("rayleigh", (2,), stats.rayleigh(scale=2)), ("standard_cauchy", (), stats.cauchy()),
    ("standard_exponential", (), stats.expon()), ("standard_gamma", (1.0,), stats.gamma(1.0)),
    ("standard_t", (2.5,), stats.t(2.5)), ("triangular", (1, 2, 5), stats.triang(0.25, 1, 4)),
    ("uniform", (1, 3), stats.uniform(1, 2)), ("vonmises", (0, 0.5), stats.vonmises(0.5)),
    ("vonmises", (0, 1e7), stats.norm(0, 1e7**-0.5)), ("vonmises", (0, 0), stats.uniform(-np.pi, 2 * np.pi)),
    ("wald", (1, 2), stats.invgauss(0.5, scale=2)), ("wald", (1, 1e-12), stats.levy(0, 1e-12)),
    ("noncentral_chisquare", (2, 1e24), stats.norm(1e24, 2e12)), ("weibull", (1.5,), stats.weibull_min(1.5)),
    ("zipf", (2.5,), stats.zipf(2.5)),
]


@functools.cache
def of_one_process(name: str, seed: int = 42) -> Any:
    """A draw that one process made."""
    return getattr(pg.random.default_rng(seed), name)(*PARAMETERS.get(name, ()), size=SHAPE, onenode=0).gather()


@pytest.mark.parametrize("layout", NAMES)
@pytest.mark.parametrize("name", [*PARAMETERS, *WITHOUT])
def test_the_same_in_every_layout(name: str, layout: str) -> None:
    wanted = layout_of(layout, SHAPE)
    found = getattr(pg.random.default_rng(42), name)(*PARAMETERS.get(name, ()), size=SHAPE, layout=wanted)
    collectively(found.layout == wanted, "it lies elsewhere")
    assert_equal(found, of_one_process(name))


@pytest.mark.parametrize("layout", NAMES)
@pytest.mark.parametrize("name", PARAMETERS)
def test_parameters_that_are_arrays(name: str, layout: str) -> None:
    """Numbers, NumPy arrays and global arrays give the same; each element is drawn with its own."""
    def as_given(k: int, x: float) -> Any:
        dtype = int if k in INTEGERS.get(name, ()) else float
        array = np.full(((9, 1), (14,), SHAPE)[k % 3], x, dtype)
        return array if k % 2 else pg.array(array, layout=layout_of(layout, array.shape))

    given = [as_given(k, x) for k, x in enumerate(PARAMETERS[name])]
    assert_equal(getattr(pg.random.default_rng(42), name)(*given, size=SHAPE), of_one_process(name), exact=False,
                 rtol=1e-14)
    if len(given) > 1:
        without = getattr(pg.random.default_rng(42), name)(*given)
        assert_equal(without, of_one_process(name), exact=False, rtol=1e-14)


def test_each_element_has_its_parameters() -> None:
    means = np.arange(1.0, 6.0)[:, None] ** 3
    for x in (means, pg.array(means)):
        drawn = pg.random.default_rng(4).poisson(x, (5, 20_000)).gather()
        collectively(bool((abs(drawn.mean(1) - means[:, 0]) < 5 * np.sqrt(means[:, 0] / 20_000)).all()))
    locations = pg.arange(40.0)
    drawn = pg.random.default_rng(4).normal(locations, 1e-3)
    collectively(float(abs(drawn - locations).max()) < 0.01 and drawn.layout == locations.layout)
    assert_equal(pg.random.default_rng(5).normal(locations.mean(), locations.std(), 7),
                 pg.random.default_rng(5).normal(19.5, np.arange(40.0).std(), 7).gather(), exact=False)


@pytest.mark.parametrize(("name", "parameters", "distribution"), DISTRIBUTIONS,
                         ids=[f"{name}{parameters}" for name, parameters, _ in DISTRIBUTIONS])
def test_distributions(name: str, parameters: tuple[float, ...], distribution: Any) -> None:
    """By Kolmogorov and Smirnov; counts with a uniform number taken off, which makes them continuous."""
    x = getattr(pg.random.default_rng(7), name)(*parameters, size=20_000).gather()
    collectively(x.dtype == getattr(np.random.default_rng(7), name)(*parameters, size=2).dtype, f"dtype {x.dtype}")
    if x.dtype.kind == "i":
        u = np.random.default_rng(8).random(x.shape)
        below = distribution.cdf(x - 1)
        levels = below + u * (distribution.cdf(x) - below)
    else:
        levels = distribution.cdf(x)
    p = stats.kstest(levels, "uniform").pvalue
    collectively(p > 1e-3, f"{name}{parameters}: p = {p}")
    neighbours = np.corrcoef(levels[:-1], levels[1:])[0, 1]
    collectively(abs(neighbours) < 0.03, f"neighbours correlate: {neighbours}")


def test_draws_take_their_own_numbers() -> None:
    generator = pg.random.default_rng(42)
    for name in ("gamma", "beta", "normal", "noncentral_f", "negative_binomial", "f", "wald"):
        first, second = (getattr(generator, name)(*PARAMETERS[name], size=2000).gather() for _ in range(2))
        collectively(abs(np.corrcoef(first, second)[0, 1]) < 0.1, name)
        if first.dtype.kind == "f":
            collectively(len(np.unique([first, second])) == 4000, f"{name}: numbers come twice")


def test_a_longer_array_begins_alike(monkeypatch: pytest.MonkeyPatch) -> None:
    long = pg.random.default_rng(1).gamma(0.5, 1.0, 1000).gather()
    assert_equal(pg.random.default_rng(1).gamma(0.5, 1.0, 10), long[:10])
    monkeypatch.setattr(drawing, "ELEMENTS_AT_ONCE", 7)
    assert_equal(pg.random.default_rng(1).gamma(0.5, 1.0, (10, 100)), long.reshape(10, 100))


@pytest.mark.parametrize("name", [*PARAMETERS, *WITHOUT])
def test_sizes(name: str) -> None:
    draw, parameters = getattr(pg.random.default_rng(3), name), PARAMETERS.get(name, ())
    numpys = getattr(np.random.default_rng(3), name)
    for size in (None, (), 3, (2, 0, 3)):
        found, expected = draw(*parameters, size=size), numpys(*parameters, size=size)
        collectively(found.shape == np.shape(expected) and found.dtype == np.asarray(expected).dtype, f"{size}")
    collectively(bool(np.isfinite(float(draw(*parameters)))))


@pytest.mark.parametrize("dtype", ["i1", "u1", "i2", "u2", "i4", "u4", "i8", "u8", "?"])
def test_integers(dtype: str) -> None:
    first, last = (0, 1) if dtype == "?" else (np.iinfo(dtype).min, np.iinfo(dtype).max)
    found = pg.random.default_rng(3).integers(first, last, 4000, dtype, endpoint=True).gather()
    collectively(found.dtype == np.dtype(dtype))
    levels = (found.astype(float) - first) / (last - first)
    collectively(abs(levels.mean() - 0.5) < 0.03 and levels.min() < 0.01 and levels.max() > 0.99)
    lows = np.array([[0], [1]])
    some = pg.random.default_rng(3).integers(lows, 2, (2, 50), dtype)
    collectively(set(some[0].gather().tolist()) == {0, 1} and set(some[1].gather().tolist()) == {1})
    assert_equal(pg.random.default_rng(3).integers(pg.array(lows), pg.array([2]), (2, 50), dtype), some.gather())


def test_integers_of_ranges_that_differ() -> None:
    highs = np.array([1, 2, 3, 1000, 2**62 + 2**61])
    found = pg.random.default_rng(3).integers(0, highs[:, None], (5, 4000)).gather()
    collectively(bool(((found >= 0) & (found < highs[:, None])).all()))
    p = stats.kstest(found[4] / highs[4], "uniform").pvalue
    collectively(p > 1e-3, f"{p}")
    counts = np.bincount(found[2])
    collectively(abs(counts - 4000 / 3).max() < 150, f"{counts}")


def test_single_precision_and_arrays_for_results() -> None:
    for name, parameters in (("random", ()), ("standard_normal", ()), ("standard_exponential", ()),
                             ("standard_gamma", (0.5,))):
        draw = getattr(pg.random.default_rng(3), name)
        found = draw(*parameters, size=100, dtype=np.float32)
        collectively(found.dtype == np.float32 and bool(np.isfinite(found).all()))
        out = pg.empty((5, 4), layout=pg.Distribution("cyclic(2)", "*"))
        expected = getattr(pg.random.default_rng(4), name)(*parameters, size=(5, 4)).gather()
        collectively(getattr(pg.random.default_rng(4), name)(*parameters, out=out) is out)
        assert_equal(out, expected)
        once_more = functools.partial(draw, *parameters, out=out)
        raises_everywhere(ValueError, "size must match", functools.partial(once_more, size=3))
        raises_everywhere(TypeError, "wrong type", functools.partial(once_more, dtype=np.float32))
        raises_everywhere(TypeError, "Unsupported dtype", functools.partial(draw, *parameters, dtype=int))


EXTREMES: list[tuple[str, tuple[Any, ...], float]] = [
    ("gamma", (0.0, 1.0), 0.0), ("binomial", (0, 0.5), 0), ("binomial", (7, 0.0), 0), ("binomial", (7, 1.0), 7),
    ("poisson", (0.0,), 0), ("weibull", (0.0,), 0.0), ("geometric", (1.0,), 1), ("zipf", (2000.0,), 1),
    ("logseries", (0.0,), 1), ("hypergeometric", (0, 5, 5), 0), ("hypergeometric", (5, 0, 5), 5),
    ("normal", (3.0, 0.0), 3.0), ("negative_binomial", (3.0, 1.0), 0), ("standard_gamma", (np.inf,), np.inf),
    ("standard_gamma", (np.nan,), np.nan), ("exponential", (0.0,), 0.0),
    ("wald", (3.0, np.inf), 3.0), ("negative_binomial", (np.inf, 1.0), 0),
    ("noncentral_chisquare", (3.0, np.nan), np.nan), ("noncentral_chisquare", (3.0, np.inf), np.inf),
]


@pytest.mark.parametrize(("name", "parameters", "expected"), EXTREMES, ids=str)
def test_extreme_parameters(name: str, parameters: tuple[Any, ...], expected: float) -> None:
    found = abs(getattr(pg.random.default_rng(3), name)(*parameters, size=50)).gather()
    np.testing.assert_array_equal(found, expected)
    for x in (pg.random.default_rng(3).beta(1e-4, 1e-4, 1000), pg.random.default_rng(3).geometric(1e-300, 5)):
        collectively(bool(np.isfinite(x).all()) and float(x.min()) >= 0)


WRONG: list[tuple[str, tuple[Any, ...]]] = [
    ("beta", (0, 1)), ("beta", (1, -1)), ("binomial", (-1, 0.5)), ("binomial", (3, 1.5)), ("binomial", (3, np.nan)),
    ("chisquare", (0,)), ("exponential", (-1,)), ("f", (0, 1)), ("gamma", (-1, 1)), ("geometric", (0,)),
    ("gumbel", (0, -1)), ("hypergeometric", (3, 4, 8)), ("hypergeometric", (-3, 4, 1)), ("hypergeometric", (3, 4, -1)),
    ("laplace", (0, -1)), ("logistic", (0, -1)), ("lognormal", (0, -1)), ("logseries", (1,)),
    ("negative_binomial", (0, 0.5)), ("noncentral_chisquare", (1, -1)), ("noncentral_f", (1, 0, 1)),
    ("normal", (0, -1)), ("hypergeometric", (10**9, 1, 1)),
    ("pareto", (0,)), ("poisson", (-1,)), ("poisson", (np.nan,)), ("power", (0,)), ("rayleigh", (-1,)),
    ("standard_gamma", (-1,)), ("standard_t", (0,)), ("triangular", (2, 1, 3)), ("triangular", (1, 1, 1)),
    ("triangular", (1, 3, 2)), ("vonmises", (0, -1)), ("wald", (0, 1)), ("weibull", (-1,)), ("zipf", (1,)),
    ("uniform", (3, 1)), ("poisson", (1e19,)), ("negative_binomial", (1e15, 1e-6)), ("negative_binomial", (3, np.nan)),
    ("negative_binomial", (np.nan, 0.5)),
]


@pytest.mark.parametrize(("name", "parameters"), WRONG, ids=str)
def test_wrong_parameters(name: str, parameters: tuple[Any, ...]) -> None:
    """What NumPy raises for a number, for numbers and arrays; the next draw is that of nothing before."""
    try:
        getattr(np.random.default_rng(1), name)(*parameters)
        raise AssertionError("NumPy takes it")
    except ValueError as error:
        message = str(error)
    generator = pg.random.default_rng(1)
    arrays = [np.array([x, x]) for x in parameters]
    for given in (parameters, arrays, [pg.array(x) for x in arrays]):
        raises_everywhere(ValueError, ".", lambda given=given: getattr(generator, name)(*given))
    try:
        getattr(generator, name)(*parameters)
    except ValueError as error:
        collectively(str(error) == message, f"{error}, not {message}")
    assert_equal(generator.random(3), pg.random.default_rng(1).random(3).gather())


def test_wrong_shapes_and_ranges() -> None:
    generator = pg.random.default_rng(1)
    raises_everywhere(ValueError, r"Output size \(3,\) is not compatible",
                      lambda: generator.normal(pg.ones((2, 3)), 1, 3))
    raises_everywhere(ValueError, "broadcast", lambda: generator.gamma(pg.ones(2), pg.ones(3)))
    raises_everywhere(ValueError, "negative dimensions", lambda: generator.gamma(1.0, 1.0, (2, -1)))
    raises_everywhere(TypeError, "Cannot cast", lambda: generator.binomial(pg.ones(2), 0.5))
    raises_everywhere(TypeError, "Cannot cast", lambda: generator.normal([1j], 0.5))
    raises_everywhere(TypeError, "real number, not 'complex'", lambda: generator.poisson(1j))
    raises_everywhere(TypeError, "real number, not 'NoneType'", lambda: generator.binomial(None, 0.5))
    collectively(int(generator.binomial(2.75, 1.0)) == 2)
    raises_everywhere(OverflowError, "not finite", lambda: generator.uniform(0, pg.array([1, np.inf])))
    raises_everywhere(ValueError, "low >= high", lambda: generator.integers(pg.array([1, 2]), 2))
    raises_everywhere(ValueError, "high is out of bounds for uint8", lambda: generator.integers([1, 300], dtype="u1"))
    raises_everywhere(ValueError, "low is out of bounds for uint8", lambda: generator.integers([-1], 3, dtype="u1"))
    raises_everywhere(TypeError, "Unsupported dtype", lambda: generator.integers(3, dtype=float))


def test_parameters_that_are_wrong_together() -> None:
    """Of the largest and the least, and of them alone."""
    generator = pg.random.default_rng(1)
    n, p = np.array([1.0, 1e15]), np.array([0.9, 1e-6])
    for make in (np.array, pg.array):
        raises_everywhere(ValueError, "n too large or p too small", lambda make=make: generator.negative_binomial(
            make(n), make(p)))
    n, p = pg.array([1e13, 1e19]), pg.array([1e-4, 1 - 2.0**-50])
    collectively(bool((generator.negative_binomial(n[::-1], p[::-1]) > 1e3).all()))


def test_a_plan_reads_no_values() -> None:
    means = pg.arange(6.0)
    pg.explain(lambda: pg.random.default_rng(1).poisson(means))


@pytest.mark.parametrize("name", [*PARAMETERS, *WITHOUT])
def test_a_draw_of_no_size_is_a_number(name: str) -> None:
    found = getattr(pg.random.default_rng(3), name)(*PARAMETERS.get(name, ()))
    with pytest.raises(TypeError, match="does not support assignment"):
        found[()] = 1
    collectively(found.shape == () and np.isfinite(float(found)))
