"""Empty arrays, those of no dimension, and seldom arguments, compared with NumPy and SciPy."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import scipy.fft

import pgaspy as pg
from tests.together import assert_equal, collectively, raises_everywhere

CASES: list[Callable[[Any], Any]] = [
    *[lambda xp, shape=shape, kind=kind, q=q, axis=axis: xp.nanquantile(xp.zeros(shape, kind), q, axis=axis)
      for shape in ((0,), (0, 3), (3, 0)) for kind in (int, float)
      for q in (0.5, [0.2, 0.3], []) for axis in (None, 0)],
    lambda xp: xp.nanquantile(xp.arange(5.0), []),
    lambda xp: xp.nanquantile(xp.arange(5), []),
    lambda xp: xp.nanquantile(xp.ones((2, 3), np.float32), [], axis=1),
    lambda xp: xp.quantile(xp.arange(5), []),
    lambda xp: xp.quantile(xp.arange(5), [], method="lower"),
    lambda xp: xp.piecewise(xp.array(3.0), [xp.array(3.0) > 2], [1.0, 2.0]),
    lambda xp: xp.piecewise(xp.array(3), [True], [lambda v: v * 2, 2.0]),
    lambda xp: xp.piecewise(xp.array(3.0), xp.array(3.0) < 0, [lambda v: -v, lambda v: v + 1]),
    lambda xp: xp.argwhere(xp.array(3)),
    lambda xp: xp.argwhere(xp.array(0)),
    lambda xp: xp.compress([True], xp.array(3), axis=0),
    lambda xp: xp.compress([True, False], xp.array(3)),
    lambda xp: xp.repeat(xp.array(3), 2, axis=0),
    lambda xp: xp.repeat(xp.array(3), [2], axis=-1),
    lambda xp: xp.take(xp.array(3), [0, 0], axis=0),
    lambda xp: xp.linalg.pinv(xp.zeros((0, 3), int)),
    lambda xp: xp.linalg.pinv(xp.zeros((3, 0), int)),
    lambda xp: xp.linalg.lstsq(xp.ones((3, 2)), xp.ones(3))[2],
    lambda xp: xp.array([0, 1, 0]).choose([xp.array([1, 2, 3]), xp.array([4, 5, 6])], xp.array([4, 5, 6])),
    lambda xp: xp.array([0, 1, 2]).choose(xp.array([1, 2, 3]), 7, xp.array([4, 5, 6])),
    lambda xp: xp.array([0, 1, 3]).choose(xp.array([1, 2, 3]), 7, mode="clip"),
    lambda xp: xp.argmax(xp.array([[3, 1, 2], [2, 5, 1]]), axis=0, out=xp.zeros(3, bool)),
    lambda xp: xp.array([[3, 1, 2], [2, 5, 1]]).argmin(0, xp.zeros(3, np.int8)),
]


@pytest.mark.parametrize("case", CASES)
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_results(case: Callable[[Any], Any]) -> None:
    found, expected = case(pg), case(np)
    assert_equal(found, expected)


@pytest.mark.parametrize("keys", [[[3, 1, 2, 1], [2, 5, 1, 5]], [[[3, 1, 2], [2, 5, 1]], [[1, 1, 0], [0, 0, 0]]],
                                  np.random.default_rng(1).integers(0, 3, (3, 4, 5, 6))])
def test_lexsort_along_dimensions(keys: Any) -> None:
    ndim = np.ndim(keys) - 1
    for axis in range(-ndim, ndim):
        assert_equal(pg.lexsort([pg.array(key) for key in keys], axis=axis), np.lexsort(np.array(keys), axis=axis))
        assert_equal(pg.lexsort(pg.array(keys), axis), np.lexsort(np.array(keys), axis))
    raises_everywhere(np.exceptions.AxisError, "out of bounds", lambda: pg.lexsort(pg.array(keys), ndim))
    raises_everywhere(ValueError, "same shape", lambda: pg.lexsort([pg.zeros(2), pg.zeros(3)]))
    assert_equal(pg.lexsort([pg.array(3)]), np.lexsort([np.array(3)]))


@pytest.mark.parametrize("kind", [int, bool, np.float16, np.float32, complex])
def test_cosines_along_no_dimension(kind: Any) -> None:
    x = np.arange(6).reshape(2, 3).astype(kind)
    for name in "dctn", "idctn", "dstn", "idstn":
        assert_equal(getattr(pg.fft, name)(pg.array(x), axes=()), getattr(scipy.fft, name)(x, axes=()))


def test_cosines_of_too_few_elements() -> None:
    raises_everywhere(RuntimeError, "zero-length FFT requested", lambda: pg.fft.dct(pg.ones(1), type=1))
    for kind in 1, 2, 3, 4:
        raises_everywhere(ValueError, r"data points \(0\)", lambda kind=kind: pg.fft.dct(pg.ones(0), type=kind))
        assert_equal(pg.fft.dct(pg.ones((0, 3)), type=kind), scipy.fft.dct(np.ones((0, 3)), type=kind))


def test_bounds_of_integers() -> None:
    rng = pg.random.default_rng(1)
    for low, high in ([0], [0.5]), (pg.array([0]), pg.array([0.5])), ([0, 0], [2, 0.9]):
        raises_everywhere(ValueError, "high <= 0", lambda low=low, high=high: rng.integers(low, high))
    raises_everywhere(ValueError, "low >= high", lambda: rng.integers([1], [1.9]))
    assert_equal(rng.integers([0, 1], [1.9, 2.2]), [0, 1])


def test_indices_are_put_into_integers() -> None:
    a = pg.array([[3.0, 1, 2], [2, 5, 1]])
    for call in (lambda out: a.argmax(0, out), lambda out: pg.argmin(a, 0, out), lambda out: pg.nanargmax(a, 0, out)):
        for kind in float, complex, np.uint64:
            raises_everywhere(TypeError, "Cannot cast array data from dtype.* to dtype.'int64'. according to the rule",
                              lambda call=call, kind=kind: call(pg.zeros(3, kind)))
        raises_everywhere(ValueError, "shape", lambda call=call: call(pg.zeros(4, int)))
        out = pg.zeros(3, np.int32)
        collectively(call(out) is out)
