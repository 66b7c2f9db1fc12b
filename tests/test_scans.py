"""Scans: what ufuncs accumulate, and reduce between indices, on any layout and any view, as NumPy has it."""

from __future__ import annotations

import functools
import itertools
import random
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import pgaspy as pg
from pgaspy.kernels import bindings
from tests.layouts import NAMES, layout_of
from tests.randomly import random_key, random_layout
from tests.together import assert_equal, collectively, raises_everywhere

pytestmark = pytest.mark.mpi

RNG = np.random.default_rng(11)
SHAPE = (5, 4, 6)
UFUNCS = [np.add, np.maximum, np.minimum, np.subtract, np.logical_or, np.logical_xor, np.bitwise_or, np.gcd, np.fmax,
          np.left_shift]


def sample(rng: random.Random, shape: tuple[int, ...], dtype: str) -> Any:
    """Elements whose sums are exact."""
    found = np.array([rng.randint(0, 5) for _ in range(int(np.prod(shape)))]).reshape(shape).astype(dtype)
    return found * (1 - 2j) if dtype in "DF" else found


@pytest.mark.parametrize("seed", range(120))
def test_random_scans(seed: int) -> None:
    rng = random.Random(seed)
    shape = tuple(rng.choice((1, 2, 3, 5, 8, 13, 40)) for _ in range(rng.randint(1, 3)))
    ufunc = rng.choice(UFUNCS)
    is_bitwise = ufunc in (np.bitwise_or, np.gcd, np.left_shift)
    dtype = rng.choice("lihB" if is_bitwise else "dflihB" if ufunc is np.subtract else "dflihB?eDF")
    if ufunc not in (np.add, np.subtract) and dtype in "DF":
        dtype = "d"
    x = sample(rng, shape, dtype)
    a = pg.array(x, layout=random_layout(rng, shape, pg.SIZE))
    key = random_key(rng, shape)
    if x[key].ndim:
        x, a = x[key], a[key]
    for axis in range(x.ndim):
        with np.errstate(all="ignore"):
            assert_equal(ufunc.accumulate(a, axis), ufunc.accumulate(x, axis))
    assert_equal(a.cumsum(), x.cumsum())


@pytest.mark.parametrize("name", NAMES)
def test_layouts(name: str) -> None:
    x = RNG.integers(-9, 9, SHAPE).astype(float)
    a = pg.array(x, layout=layout_of(name, SHAPE))
    for axis in range(3):
        found = a.cumsum(axis)
        collectively(found.layout == a.layout, f"{found.layout}")
        assert_equal(found, x.cumsum(axis))
        assert_equal(np.subtract.accumulate(a, axis), np.subtract.accumulate(x, axis))
        for view, model in ((a[:, ::-1], x[:, ::-1]), (a[::-2, 1:, ::3], x[::-2, 1:, ::3]), (a.T, x.T)):
            assert_equal(view.cumsum(axis), model.cumsum(axis))
            assert_equal(np.maximum.accumulate(view, axis), np.maximum.accumulate(model, axis))
    assert_equal(pg.broadcast_to(a[0], SHAPE).cumsum(0), np.broadcast_to(x[0], SHAPE).cumsum(0))
    assert_equal(a[2, 1].cumsum(), x[2, 1].cumsum())


@pytest.mark.parametrize("name", NAMES)
def test_long_arrays(name: str) -> None:
    """Of several chunks and threads, along memory and across it."""
    before = bindings.get_threads()
    bindings.set_threads(2)
    try:
        for shape in ((70_001,), (3, 20_000), (9000, 5), (300, 400)):
            x = RNG.integers(-3, 4, shape).astype(float)
            a = pg.array(x, layout=layout_of(name, shape))
            for axis in range(len(shape)):
                assert_equal(a.cumsum(axis), x.cumsum(axis))
                assert_equal(np.minimum.accumulate(a[::-1], axis), np.minimum.accumulate(x[::-1], axis))
    finally:
        pg.sync()
        bindings.set_threads(before)


@pytest.mark.parametrize("dtype", ["d", "f", "D"])
def test_sums_are_accurate_and_do_not_depend_on_threads(dtype: str) -> None:
    x = (RNG.normal(size=100_000) + (1j * RNG.normal(size=100_000) if dtype == "D" else 0)).astype(dtype)
    a, found = pg.array(x), []
    before = bindings.get_threads()
    for threads in (1, 2, 3):
        bindings.set_threads(threads)
        result = a.cumsum()
        found.append((result + 0).gather().tobytes())  # type: ignore[union-attr]
        bindings.set_threads(before)
    collectively(len(set(found)) == 1)
    exact = x.astype("G" if dtype == "D" else "g").cumsum()
    collectively(bool(abs(result.gather() - exact).max() <= 2 * abs(x.cumsum() - exact).max() + 1e-12))
    if dtype != "D":
        rising = abs(a).cumsum().local()
        collectively(bool((rising[1:] >= rising[:-1]).all()))


@pytest.mark.parametrize("name", NAMES)
def test_bits_do_not_depend_on_when_it_is_executed(name: str) -> None:
    x = RNG.normal(size=(40, 300))
    a = pg.array(x, layout=layout_of(name, x.shape))
    first = a.cumsum(1)
    b = a * 2
    pg.sync()
    second = (b / 2).redistribute(a.layout).cumsum(1) - 0
    collectively(first.gather().tobytes() == second.gather().tobytes())  # type: ignore[union-attr]


@pytest.mark.parametrize("dtype", [*"dflihbBH?eDFg", "m8[s]"])
def test_dtypes(dtype: str) -> None:
    x = RNG.integers(0, 4, (7, 9)).astype(dtype)
    a = pg.array(x)
    if dtype in "DF":
        with pytest.warns(np.exceptions.ComplexWarning):
            assert_equal(a.cumsum(0, dtype="f"), x.real.cumsum(0, dtype="f"))
        assert_equal(a.cumprod(1), x.cumprod(1))
        return
    for method in ("cumsum", "cumprod"):
        if dtype == "m8[s]" and method == "cumprod":
            raises_everywhere(TypeError, "multiply", lambda: a.cumprod(1))
            continue
        assert_equal(getattr(a, method)(1), getattr(x, method)(1))
        if dtype != "m8[s]":
            assert_equal(getattr(a, method)(0, dtype="f"), getattr(x, method)(0, dtype="f"))
            assert_equal(getattr(pg, method)(a, dtype="D"), getattr(x, method)(dtype="D"))
    for ufunc in (np.maximum, np.fmin, np.logical_and):
        assert_equal(ufunc.accumulate(a), ufunc.accumulate(x))
    if dtype != "?":
        assert_equal(np.subtract.accumulate(a), np.subtract.accumulate(x))


def test_dates() -> None:
    x = np.array(["2001-01-01", "NaT", "1999-05-05", "2020-02-02"], "M8[D]")
    a = pg.array(x)
    assert_equal(np.fmax.accumulate(a), np.fmax.accumulate(x))
    assert_equal(np.maximum.accumulate(a), np.maximum.accumulate(x))
    raises_everywhere(TypeError, "add", a.cumsum)


@pytest.mark.parametrize("name", NAMES)
def test_special_values(name: str) -> None:
    x = np.array([-0.0, -0.0, 1.0, np.inf, -3.0, np.nan, 2.0, -np.inf])
    a = pg.array(x, layout=layout_of(name, x.shape))
    with np.errstate(all="ignore"):
        for ufunc in (np.add, np.multiply, np.maximum, np.minimum, np.fmax, np.divide, np.power, np.hypot):
            for b, y in ((a, x), (a[::-1], x[::-1]), (a[:3], x[:3])):
                assert_equal(ufunc.accumulate(b), ufunc.accumulate(y))
    signs = np.signbit(pg.cumsum(a[:2])).gather()
    collectively(bool(signs.all()))


@pytest.mark.parametrize("shape", [(0,), (0, 4), (3, 0), (0, 0), (1,), (1, 1), (2,)])
def test_empty_and_small_arrays(shape: tuple[int, ...]) -> None:
    for name in NAMES:
        x, a = np.ones(shape, "b"), pg.ones(shape, "b", layout=layout_of(name, shape))
        for axis in (None, *range(len(shape))):
            assert_equal(a.cumsum(axis), x.cumsum(axis))
        assert_equal(np.power.accumulate(a), np.power.accumulate(x))
        assert_equal(np.add.reduceat(a, []), np.add.reduceat(x, []))


def test_as_many_dimensions_as_there_may_be() -> None:
    x = RNG.integers(0, 9, (7, *(1,) * 62, 4))
    a = pg.array(x)
    for axis in (0, 5, 63):
        assert_equal(a.cumsum(axis), x.cumsum(axis))


def test_arrays_without_dimensions() -> None:
    a = pg.array(5.0)
    assert_equal(a.cumsum(), np.array([5.0]))
    assert_equal(a.cumsum(0), np.array([5.0]))
    assert_equal(pg.cumulative_sum(a), np.array([5.0]))
    raises_everywhere(TypeError, "cannot accumulate on a scalar", lambda: np.add.accumulate(a))
    powers = pg.array([2, 3, 1, 2, -1, 2])
    raises_everywhere(ValueError, "negative integer powers", lambda: np.power.accumulate(powers))
    assert_equal(np.power.accumulate(powers[:4]), np.power.accumulate(np.array([2, 3, 1, 2])))
    few = np.array([100, 3, 7, 11], np.int8)
    assert_equal(np.lcm.accumulate(pg.array(few)), np.lcm.accumulate(few))
    raises_everywhere(TypeError, "not associative.*lcm.accumulate", lambda: np.lcm.reduce(pg.array(few)))
    raises_everywhere(TypeError, "cannot reduceat on a scalar", lambda: np.add.reduceat(a, [0]))


@pytest.mark.parametrize("name", NAMES)
def test_out(name: str) -> None:
    x = RNG.integers(-4, 5, (6, 7)).astype(float)
    for dtype in "dfli":
        y, model = pg.array(x, layout=layout_of(name, x.shape)), np.zeros(x.shape, dtype)
        out = pg.empty(x.shape, dtype)
        collectively(y.cumsum(1, out=out) is out)
        assert_equal(out, x.cumsum(1, out=model))
        collectively(np.add.accumulate(y, 0, out=out) is out)
        assert_equal(out, np.add.accumulate(x, 0, out=model))
    small, model = np.full(5, 100, "b"), np.zeros(5, "b")
    assert_equal(pg.array(small).cumsum(out=pg.zeros(5, "b")), small.cumsum(out=model))
    a, y = pg.array(x, layout=layout_of(name, x.shape)), x.copy()
    pg.cumsum(a, 0, out=a)
    assert_equal(a, np.cumsum(y, 0))
    y = np.cumsum(y, 0)
    pg.cumsum(a[:-1], 1, out=a[1:])
    y[1:] = np.cumsum(y[:-1], 1)
    assert_equal(a, y)
    pg.maximum.accumulate(a[::-1], out=a)
    assert_equal(a, np.maximum.accumulate(y[::-1]))


@pytest.mark.parametrize("ufunc", [np.add, np.multiply, np.maximum, np.logical_and, np.divide, np.bitwise_or],
                         ids=lambda f: f.__name__)
@pytest.mark.parametrize("source", "?bBlfDe")
def test_dtypes_of_results_and_of_out(source: str, ufunc: np.ufunc) -> None:
    """Or that NumPy refuses them."""
    x = np.array([3, 1, 2, 0, 5, 100, 2]).astype(source)
    a = pg.array(x)
    methods = [(7, ())] if ufunc is np.divide else [(7, ()), (4, ([0, 3, 1, 4],))]
    for (n, indices), dtype, out in itertools.product(methods, (None, "?", "b", "l", "d", "D"), (None, "b", "f", "D")):
        method = getattr(ufunc, "reduceat" if indices else "accumulate")
        with np.errstate(all="ignore"), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            target = None if out is None else pg.zeros(n, out)
            call = functools.partial(method, a, *indices, 0, dtype, target)
            try:
                expected = method(x, *indices, 0, dtype, None if out is None else np.zeros(n, out))
            except TypeError:
                raises_everywhere(TypeError, "", call)
            else:
                assert_equal(call(), expected)


@pytest.mark.parametrize("ufunc", [np.hypot, np.logaddexp, np.logaddexp2, np.arctan2, np.float_power, np.copysign,
                                   np.lcm, np.heaviside, np.floor_divide], ids=lambda f: f.__name__)
def test_other_functions_of_two_numbers(ufunc: np.ufunc) -> None:
    x = RNG.integers(1, 4, (13, 3)) if ufunc is np.lcm else RNG.normal(size=(13, 3))
    for name in NAMES:
        with np.errstate(all="ignore"):
            assert_equal(ufunc.accumulate(pg.array(x, layout=layout_of(name, x.shape))), ufunc.accumulate(x),
                         exact=False)


@pytest.mark.parametrize("name", NAMES)
def test_chains_of_scans(name: str) -> None:
    x = RNG.integers(-2, 3, (30, 8)).astype(float)
    a, y = pg.array(x, layout=layout_of(name, x.shape)), x.copy()
    for k in range(6):
        b = a.cumsum(k % 2)
        a[1:] = b[:-1] - a[1:]
        c = np.maximum.accumulate(a[::-1], 1) + b
        a = pg.where(c > 50, a, c)
        dead = c.cumsum(0)
        del dead
        z = y.cumsum(k % 2)
        y[1:] = z[:-1] - y[1:]
        w = np.maximum.accumulate(y[::-1], 1) + z
        y = np.where(w > 50, y, w)
    assert_equal(a, y)


def test_what_is_refused() -> None:
    a = pg.ones((3, 4))
    for axis in (2, -3):
        raises_everywhere(np.exceptions.AxisError, "out of bounds", lambda axis=axis: a.cumsum(axis))
    raises_everywhere(TypeError, "integer", lambda: a.cumsum(1.5))
    raises_everywhere(TypeError, "integer", lambda: a.cumsum((0,)))
    raises_everywhere(ValueError, "multiple axes", lambda: np.add.accumulate(a, (0, 1)))
    raises_everywhere(ValueError, "multiple axes", lambda: np.add.accumulate(a, None))
    raises_everywhere(ValueError, "wrong size", lambda: a.cumsum(0, out=pg.ones((3, 5))))
    raises_everywhere(TypeError, "out= takes global arrays", lambda: np.add.accumulate(a, out=np.ones((3, 4))))
    raises_everywhere(ValueError, "binary", lambda: np.sin.accumulate(a))
    raises_everywhere(ValueError, "single value", lambda: np.divmod.accumulate(a))
    raises_everywhere(TypeError, "bitwise_and", lambda: np.bitwise_and.accumulate(a))
    raises_everywhere(TypeError, "where", lambda: np.add.accumulate(a, where=True))
    raises_everywhere(IndexError, "index 3 out-of-bounds in add.reduceat", lambda: np.add.reduceat(a, [0, 3]))
    raises_everywhere(IndexError, "index -1 out-of-bounds", lambda: np.add.reduceat(a, [-1]))
    raises_everywhere(ValueError, "one dimension", lambda: np.add.reduceat(a, [[0]]))
    raises_everywhere(TypeError, "int64", lambda: np.add.reduceat(a, [0.5]))
    raises_everywhere(TypeError, "associative", lambda: np.subtract.reduceat(a, [0]))
    raises_everywhere(TypeError, "takes a global array", lambda: np.add.reduceat(np.ones(3), pg.arange(2)))
    raises_everywhere(ValueError, "argument is required", lambda: pg.cumulative_sum(a))
    raises_everywhere(ValueError, "out= has shape", lambda: np.add.reduceat(a, [0], out=pg.ones((2, 4))))
    assert_equal(a.cumsum(1), np.ones((3, 4)).cumsum(1))


CUMULATIVE: list[Callable[[Any, Any], Any]] = [
    lambda m, a: m.cumulative_sum(a[0]),
    lambda m, a: m.cumulative_sum(a[1], include_initial=True),
    lambda m, a: m.cumulative_sum(a, axis=1, include_initial=True),
    lambda m, a: m.cumulative_sum(a, axis=-2, dtype="f", include_initial=True),
    lambda m, a: m.cumulative_prod(a, axis=0),
    lambda m, a: m.cumulative_prod(a, axis=0, dtype="l", include_initial=True),
    lambda m, a: m.cumulative_sum(a, axis=1, out=m.zeros((4, 5))),
    lambda m, a: m.cumulative_sum(a, axis=1, out=m.zeros((4, 6)), include_initial=True),
    lambda m, a: m.cumulative_prod(a, axis=-2, out=m.zeros((5, 5)), include_initial=True),
    lambda m, a: m.nancumsum(m.where(a > 2, m.nan, a), axis=1),
    lambda m, a: m.nancumprod(m.where(a > 2, m.nan, a), axis=0, dtype="f"),
    lambda m, a: m.nancumsum(a),
    lambda m, a: m.nancumsum(m.where(a > 2, m.nan, a), 0, None, m.zeros((4, 5))),
    lambda m, a: m.nancumprod(a.astype("h"), axis=1),
]


@pytest.mark.skipif(not hasattr(np, "cumulative_sum"), reason="NumPy has them since 2.1")
@pytest.mark.parametrize("case", range(len(CUMULATIVE)))
def test_other_functions(case: int) -> None:
    x = RNG.integers(0, 5, (4, 5)).astype(float)
    for name in NAMES[:3]:
        assert_equal(CUMULATIVE[case](pg, pg.array(x, layout=layout_of(name, x.shape))), CUMULATIVE[case](np, x))


@pytest.mark.parametrize("seed", range(40))
def test_segments(seed: int) -> None:
    """Also of indices that do not increase, whose segments have one element."""
    rng = random.Random(seed)
    shape = tuple(rng.choice((1, 3, 7, 20)) for _ in range(rng.randint(1, 3)))
    ufunc, dtype = rng.choice((np.add, np.maximum, np.multiply, np.logical_or)), rng.choice("dlb?")
    x = sample(rng, shape, dtype)
    a = pg.array(x, layout=random_layout(rng, shape, pg.SIZE))
    if rng.random() < 0.4:
        a, x = a[::-1], x[::-1]
    for axis, n in enumerate(shape):
        indices = [rng.randrange(n) for _ in range(rng.randint(1, 8))]
        for given in (indices, sorted(indices), np.array(sorted({*indices}), "i4")):
            assert_equal(ufunc.reduceat(a, given, axis), ufunc.reduceat(x, given, axis))
        out, model = pg.zeros((*shape[:axis], len(indices), *shape[axis + 1:]), "f"), np.zeros(0)
        model = ufunc.reduceat(x, indices, axis).astype("f")
        collectively(ufunc.reduceat(a, indices, axis, None, out) is out)
        assert_equal(out, model)


def test_outer() -> None:
    x, y = RNG.normal(size=(3, 4)), RNG.normal(size=5)
    a, b = pg.array(x), pg.array(y)
    for first, second, model in ((a, b, (x, y)), (a, y, (x, y)), (y, a, (y, x)), (a[0], a[0], (x[0], x[0]))):
        assert_equal(np.subtract.outer(first, second), np.subtract.outer(*model))
        assert_equal(np.maximum.outer(first, second, dtype="d"), np.maximum.outer(*model))
    assert_equal(np.add.outer(a, 2.5), np.add.outer(x, 2.5))
    out = pg.empty((3, 4, 5))
    collectively(np.multiply.outer(a, b, out=out) is out)
    assert_equal(out, np.multiply.outer(x, y))
    raises_everywhere(ValueError, "binary", lambda: np.sin.outer(a, b))


def test_methods_of_numpy_and_of_the_module_are_the_same() -> None:
    a = pg.arange(6).reshape(2, 3)
    for found in (pg.cumsum(a, 1), np.cumsum(a, 1), a.cumsum(1), np.add.accumulate(a, 1), pg.add.accumulate(a, 1)):
        assert_equal(found, np.arange(6).reshape(2, 3).cumsum(1))
    assert_equal(pg.cumsum([1, 2, 3]), np.array([1, 3, 6]))
