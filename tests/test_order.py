"""Order: against NumPy, on all layouts."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import pgaspy as pg
from pgaspy import order as ordering
from pgaspy import quantiles, sorting
from pgaspy.execution import recording
from pgaspy.scheduling.kinds import selection
from tests.layouts import NAMES, layout_of
from tests.simulated import Job
from tests.together import assert_equal, collectively, raises_everywhere

SIZES = [0, 1, 2, 5, 17, 100, 1000]

DTYPES = ["f8", "f4", "f2", "g", "c16", "c8", "i1", "u1", "i8", "u8", "?", "M8[s]", "m8[ms]", "S3", "U2"]


def keys(rng: np.random.Generator, n: int, dtype: str, n_values: int = 20) -> NDArray[Any]:
    """Elements of which many are equal, with those that compare in a way of their own."""
    numbers = rng.integers(-(n_values // 2), n_values - n_values // 2, n)
    kind = np.dtype(dtype).kind
    if kind in "SU":
        return np.array([str(k) for k in numbers.tolist()], dtype)
    if kind in "mM":
        found = numbers.astype("i8").astype(dtype)
        found[rng.random(n) < 0.1] = "NaT"
        return found
    if kind == "u":
        return np.abs(numbers).astype(dtype)
    found = numbers.astype(dtype)
    if kind in "fc":
        found[rng.random(n) < 0.1] = np.nan
        found[rng.random(n) < 0.1] = np.inf
        found[rng.random(n) < 0.1] = -0.0
    if kind == "c":
        found.imag[...] = rng.integers(-2, 3, n)
        found.imag[rng.random(n) < 0.1] = np.nan
    return found


def assert_same_bits(array: pg.GlobalArray, expected: NDArray[Any]) -> None:
    """Assert that they are equal, and that zeros have the same signs."""
    assert_equal(array, expected)
    found = array.gather()
    if expected.dtype.kind == "f":
        collectively(bool((np.signbit(found) == np.signbit(expected))[~np.isnan(expected)].all()), "signs")


@pytest.mark.mpi
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("n", SIZES)
def test_vectors(dtype: str, n: int) -> None:
    a = keys(np.random.default_rng(n), n, dtype)
    A = pg.array(a)
    assert_same_bits(pg.sort(A), np.sort(a, kind="stable"))
    assert_equal(np.argsort(A), np.argsort(a, kind="stable"))
    A.sort()
    assert_same_bits(A, np.sort(a, kind="stable"))


PATTERNS: dict[str, Callable[[int], NDArray[Any]]] = {
    "sorted": lambda n: np.arange(n) * 0.5,
    "reversed": lambda n: np.arange(n)[::-1] * 0.5,
    "equal": lambda n: np.full(n, 7.0),
    "two values": lambda n: np.arange(n) % 2 * 1.0,
    "one differs": lambda n: (np.arange(n) == n // 2) * 1.0,
    "steps": lambda n: np.arange(n) // 7 * -1.0,
    "saw": lambda n: np.arange(n) % 13 * 1.0,
    "random": lambda n: np.random.default_rng(n).random(n),
    "huge first": lambda n: np.r_[np.full(n // 3, 1e300), np.random.default_rng(n).random(n - n // 3)],
    "all NaN": lambda n: np.full(n, np.nan),
}


@pytest.mark.mpi
@pytest.mark.parametrize("pattern", PATTERNS)
@pytest.mark.parametrize("n", [3, 64, 5000])
def test_whatever_the_values_are(pattern: str, n: int) -> None:
    a = PATTERNS[pattern](n)
    A = pg.array(a)
    found = pg.sort(A)
    assert_equal(found, np.sort(a))
    collectively(found.layout == A.layout, "the result lies as the array does")
    assert_equal(pg.argsort(A), np.argsort(a, kind="stable"))


@pytest.mark.mpi
@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("shape", [(37,), (7, 11), (1, 50), (50, 1), (3, 4, 5), (0, 3), (2, 1, 40)])
def test_layouts(name: str, shape: tuple[int, ...]) -> None:
    a = keys(np.random.default_rng(len(shape)), int(np.prod(shape)), "f8").reshape(shape)
    A = pg.array(a, layout=layout_of(name, shape))
    for axis in (*range(-len(shape), len(shape)), None):
        assert_same_bits(pg.sort(A, axis), np.sort(a, axis, "stable"))
        assert_equal(A.argsort(axis), np.argsort(a, axis, "stable"))
    found = pg.sort(A, 0)
    collectively(found.layout == A.copy().layout, "the result lies as a copy does")


@pytest.mark.mpi
@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("key", [
    np.s_[::-1], np.s_[3:-2], np.s_[::3], np.s_[-1:4:-2], np.s_[:, ::-1], np.s_[2:9:2, 1:-1], np.s_[5], np.s_[:, 4],
    np.s_[4:4], np.s_[None, 3], np.s_[::-2, ::-3],
])
def test_views(name: str, key: Any) -> None:
    a = keys(np.random.default_rng(3), 12 * 9, "f8").reshape(12, 9)
    A = pg.array(a, layout=layout_of(name, a.shape))
    for axis in range(a[key].ndim):
        assert_same_bits(pg.sort(A[key], axis), np.sort(a[key], axis, "stable"))
        assert_equal(pg.argsort(A[key], axis), np.argsort(a[key], axis, "stable"))
        A[key].sort(axis)
        a[key] = np.sort(a[key], axis, kind="stable")
        assert_same_bits(A, a)
    assert_equal(pg.sort(A.T, 0), np.sort(a.T, 0))


def program(seed: int) -> None:
    """Sorts of what was just computed, whose results are used at once."""
    rng = np.random.default_rng(seed)
    x = rng.integers(-9, 9, int(rng.integers(1, 60))).astype(float)
    a = pg.array(x)
    for _ in range(4):
        a, x = a * 3 - 1, x * 3 - 1
        order, expected = pg.argsort(a), np.argsort(x, kind="stable")
        a = pg.sort(a + a[::-1]) + order
        x = np.sort(x + x[::-1]) + expected
        a[1:] = a[:-1]
        x[1:] = x[:-1].copy()
        a.sort()
        x.sort()
        pg.sort(a + 1)  # which nobody uses
    assert np.array_equal(a.gather(), x)  # type: ignore[arg-type]


@pytest.mark.mpi
@pytest.mark.parametrize("seed", range(6))
def test_among_other_operations(seed: int) -> None:
    program(seed)
    pg.sync()
    collectively(recording.queue.engine.is_idle)


@pytest.mark.parametrize("size", [2, 3, 5, 8, 17])
@pytest.mark.parametrize("seed", range(2))
def test_many_processes(size: int, seed: int) -> None:
    job = Job(lambda: program(seed), [lambda k, rank=rank: k % (rank + 2) == 0 for rank in range(size)])
    assert job.network.n_left == 0


@pytest.mark.mpi
@pytest.mark.parametrize(("call", "error", "match"), [
    (lambda A: pg.sort(A, 2), ValueError, "axis 2 is out of bounds for array of dimension 2"),
    (lambda A: A.argsort(-3), ValueError, "axis -3 is out of bounds for array of dimension 2"),
    (lambda A: A.sort(kind="bubble"), ValueError, "sort kind must be one of"),
    (lambda A: A.sort(order="x"), ValueError, "no fields"),
    (lambda A: pg.sort(A, kind="quicksort", stable=True), ValueError, "can't be provided"),
    (lambda A: A.sort(None), TypeError, "NoneType"),
    (lambda A: pg.sort(A[0, 0]), ValueError, "axis -1 is out of bounds for array of dimension 0"),
    (lambda A: pg.sort(np.array([None, 1])), TypeError, "object dtype"),
    (lambda A: pg.broadcast_to(A[0], (4, 3)).sort(), ValueError, "repeat"),
])
def test_what_is_refused(call: Callable[[pg.GlobalArray], Any], error: type[Exception], match: str) -> None:
    A = pg.ones((2, 3))
    raises_everywhere(error, match, lambda: call(A))
    assert_equal(A, np.ones((2, 3)))


@pytest.mark.mpi
def test_numbers() -> None:
    assert_equal(pg.argsort(pg.array(3)), np.argsort(np.array(3)))
    assert_equal(pg.sort(pg.array(3), axis=None), np.sort(np.array(3), axis=None))


@pytest.mark.mpi
@pytest.mark.parametrize("dtype", [*DTYPES])
@pytest.mark.parametrize("n", [0, 1, 2, 5, 60, 400])
def test_distinct_elements(dtype: str, n: int) -> None:
    rng = np.random.default_rng(n)
    a = keys(rng, n, dtype, 8 if n % 2 else 100)
    A = pg.array(a)
    for found, expected in zip(pg.unique(A, True, True, True), np.unique(a, True, True, True), strict=True):
        assert_equal(found, expected)
    assert_equal(pg.unique(A), np.unique(a))
    sorted_by_numpy, _ = np.unique(a, return_index=True, equal_nan=False)  # its hash table takes all NaT for equal
    assert_equal(np.unique(A, equal_nan=False), sorted_by_numpy)
    assert_equal(pg.unique(A[::-2], return_counts=True)[1], np.unique(a[::-2], return_counts=True)[1])


@pytest.mark.mpi
@pytest.mark.parametrize("name", NAMES)
def test_distinct_elements_of_layouts(name: str) -> None:
    a = np.random.default_rng(5).integers(0, 9, (7, 6))
    A = pg.array(a, layout=layout_of(name, a.shape))
    for found, expected in zip(pg.unique(A.T, True, True, True), np.unique(a.T, True, True, True), strict=True):
        assert_equal(found, expected)


@pytest.mark.mpi
@pytest.mark.parametrize("function", ["union1d", "intersect1d", "setxor1d", "setdiff1d"])
@pytest.mark.parametrize("dtype", ["f8", "i4", "S3", "M8[s]", "c16", "?"])
@pytest.mark.parametrize(("n", "m"), [(0, 0), (0, 5), (5, 0), (1, 1), (7, 30), (40, 12), (300, 300)])
def test_sets(function: str, dtype: str, n: int, m: int) -> None:
    rng = np.random.default_rng(n + m)
    a, b = keys(rng, n, dtype), keys(rng, m, dtype)
    expected = getattr(np, function)(a, b)
    assert_equal(getattr(pg, function)(pg.array(a), pg.array(b)), expected)
    assert_equal(getattr(np, function)(pg.array(a), b), expected)


@pytest.mark.mpi
@pytest.mark.parametrize("function", ["intersect1d", "setxor1d"])
def test_sets_that_are_distinct(function: str) -> None:
    a, b = np.arange(20)[::-1] * 3, np.arange(40) * 2.0
    assert_equal(getattr(pg, function)(pg.array(a), pg.array(b), assume_unique=True),
                 getattr(np, function)(a, b, assume_unique=True))


@pytest.mark.mpi
@pytest.mark.parametrize("dtype", ["f8", "i4", "S3", "c16"])
@pytest.mark.parametrize(("shape", "axis"), [((40, 2), 0), ((3, 50), 1), ((6, 5, 2), -2), ((30,), 0), ((5, 0), 0),
                                             ((0, 3), 0)])
def test_distinct_rows(dtype: str, shape: tuple[int, ...], axis: int) -> None:
    a = keys(np.random.default_rng(len(shape)), int(np.prod(shape)), dtype, 3).reshape(shape)
    A = pg.array(a)
    for found, expected in zip(pg.unique(A, True, True, True, axis), np.unique(a, True, True, True, axis), strict=True):
        assert_equal(found, expected)
    assert_equal(np.unique(A, axis=axis), np.unique(a, axis=axis))
    raises_everywhere(ValueError, "axis 3 is out of bounds", lambda: pg.unique(A, axis=3))


@pytest.mark.mpi
@pytest.mark.parametrize("dtype", ["f8", "i4", "S3", "M8[s]"])
@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("m", [0, 1, 20, 70])
def test_what_is_among_others(dtype: str, name: str, m: int) -> None:
    rng = np.random.default_rng(m)
    a, b = keys(rng, 63, dtype).reshape(7, 9), keys(rng, m, dtype, 8)
    A, B = pg.array(a, layout=layout_of(name, a.shape)), pg.array(b)
    assert_equal(np.isin(A, B), np.isin(a, b))
    assert_equal(pg.isin(A[::-2], B, invert=True), np.isin(a[::-2], b, invert=True))
    assert_equal(pg.isin(A, b, assume_unique=True), np.isin(a, b))
    assert_equal(pg.isin(A[1, 2], b, invert=True), np.isin(a[1, 2], b, invert=True))
    for others in (b, B):  # of a number NumPy makes an array
        pg.isin(A[1, 2], others)[...] = True
    assert_equal(pg.isin(a, B), np.isin(a, b))
    assert_equal(pg.isin(A[:0], B), np.isin(a[:0], b))
    b[...] = a[0, 0]
    raises_everywhere(ValueError, "Invalid kind: 'hash'", lambda: pg.isin(A, B, kind="hash"))


@pytest.mark.mpi
@pytest.mark.parametrize("dtypes", [("f8", "f8"), ("i8", "f4"), ("c8", "i8"), ("?", "f8")])
def test_tables_are_of_integers(dtypes: tuple[str, str]) -> None:
    a, b = (np.ones(n, dtype) for n, dtype in zip((5, 3), dtypes, strict=True))
    for others in b, pg.array(b), b[:0]:
        raises_everywhere(ValueError, "only supported for boolean or integer arrays",
                          lambda others=others: pg.isin(pg.array(a), others, kind="table"))
    assert_equal(pg.isin(pg.array(a), b, kind="sort"), np.isin(a, b, kind="sort"))
    assert_equal(pg.isin(pg.array([3, 1]), [True], kind="table"), np.isin([3, 1], [True], kind="table"))


@pytest.mark.mpi
@pytest.mark.parametrize("is_unique", [True, False])
@pytest.mark.parametrize(("n", "m"), [(0, 0), (0, 5), (5, 0), (8, 30), (200, 120)])
def test_where_what_is_common_lies(is_unique: bool, n: int, m: int) -> None:
    rng = np.random.default_rng(n + m)
    a, b = (rng.permutation(2 * k)[:k] for k in (n, m)) if is_unique else (rng.integers(0, 40, k) for k in (n, m))
    A, B = pg.array(a), pg.array(b.reshape(-1, 1))
    for found, expected in zip(pg.intersect1d(A, B, is_unique, True), np.intersect1d(a, b, is_unique, True),
                               strict=True):
        assert_equal(found, expected)
    for others in (B, b):
        assert_equal(pg.setdiff1d(A, others, is_unique), np.setdiff1d(a, b, is_unique))


METHODS = ["inverted_cdf", "averaged_inverted_cdf", "closest_observation", "interpolated_inverted_cdf", "hazen",
           "weibull", "linear", "median_unbiased", "normal_unbiased", "lower", "higher", "midpoint", "nearest"]


@pytest.mark.mpi
@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("n", [1, 2, 10, 101])
@pytest.mark.parametrize("dtype", ["f8", "i4", "f4"])
def test_quantiles(method: str, n: int, dtype: str) -> None:
    if method == "closest_observation" and np.lib.NumpyVersion(np.__version__) < "2.4.0":
        pytest.skip("NumPy chose the other of two observations that are equally close")
    a = np.random.default_rng(n).integers(-99, 99, n).astype(dtype)
    A = pg.array(a)
    for q in (0.0, 0.25, 0.5, 0.77, 1.0, 1, [0.0, 0.1, 0.5, 0.95, 1.0], np.array([[0.2], [0.9]])):
        assert_equal(pg.quantile(A, q, method=method), np.quantile(a, q, method=method), exact=False, rtol=1e-5)
    assert_equal(np.percentile(A, [5, 50], method=method), np.percentile(a, [5, 50], method=method), False, 1e-5)
    if dtype != "f4":  # of which older versions of NumPy divide by a hundred in float32
        assert_equal(pg.percentile(A, 30, method=method), np.percentile(a, 30, method=method), False, 1e-5)


@pytest.mark.mpi
@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("axis", [None, 0, -1, (0, 2), (2, 1)])
@pytest.mark.parametrize("keepdims", [True, False])
def test_medians(name: str, axis: Any, keepdims: bool) -> None:
    a = np.random.default_rng(5).random((4, 6, 5))
    a[1, 2, 3] = np.nan
    A = pg.array(a, layout=layout_of(name, a.shape))
    assert_equal(pg.median(A, axis, keepdims=keepdims), np.median(a, axis, keepdims=keepdims), exact=False)
    assert_equal(np.median(A[0], 0), np.median(a[0], 0), exact=False)
    for number in pg.median(A), pg.quantile(A, 0.3), pg.percentile(A, 50.0), pg.nanmedian(A), pg.median(A[1, 2] + 1):
        collectively(type(number) is type(A.sum()) and number.layout.is_replicated)
    assert_equal(pg.quantile(A, 0.3, axis, keepdims=keepdims), np.quantile(a, 0.3, axis, keepdims=keepdims), False)
    assert_equal(pg.quantile(A, [0.3, 1], axis, keepdims=keepdims), np.quantile(a, [0.3, 1], axis, keepdims=keepdims),
                 exact=False)


@pytest.mark.mpi
@pytest.mark.parametrize("dtype", ["f2", "f4", "i1", "u8", "g"])
@pytest.mark.parametrize("n", [1, 2, 7, 40])
def test_medians_of_dtypes(dtype: str, n: int) -> None:
    a = np.random.default_rng(n).integers(0, 50, n).astype(dtype)
    assert_equal(pg.median(pg.array(a)), np.median(a), exact=False, rtol=1e-3)


@pytest.mark.mpi
@pytest.mark.parametrize("few", [2, 1 << 13])
@pytest.mark.parametrize("n_values", [1, 2, 20, 1 << 15])
@pytest.mark.parametrize("dtype", [dtype for dtype in DTYPES if np.dtype(dtype).kind in "biufmM"])
def test_elements_at_places(monkeypatch: pytest.MonkeyPatch, dtype: str, n_values: int, few: int) -> None:
    for name, value in {"FEW": few, "SAMPLES": 16, "MARGIN": 1}.items():
        monkeypatch.setattr(selection, name, value)
    rng = np.random.default_rng(n_values)
    for n in (1, 2, 5, 17, 100, 1000):
        a = keys(rng, n, dtype, n_values)
        A = pg.array(a)
        places = sorted({*rng.integers(n, size=rng.integers(1, 16)).tolist(), n - 1})
        found, at = sorting.with_places(A._base, A._view, places)
        assert_equal(pg.GlobalArray(*found)[at[0]:at[-1] + 1].gather()[np.array(at) - at[0]], np.sort(a)[places])


@pytest.mark.parametrize("size", [2, 5, 16])
def test_elements_at_places_on_many_processes(size: int) -> None:
    a = np.random.default_rng(size).normal(size=20_000)

    def program() -> list[float]:
        A = pg.array(a)
        return [float(pg.median(A)), float(pg.quantile(A, 0.001)), float(pg.quantile(A, 1.0)),
                float(pg.median(A[::7][1:]))]

    expected = [np.median(a), np.quantile(a, 0.001), a.max(), np.median(a[::7][1:])]
    job = Job(program, [lambda n: False] * size)
    assert all(found == expected for found in job.results.values())


@pytest.mark.mpi
def test_where_medians_go() -> None:
    a = np.random.default_rng(5).random((4, 6))
    A, out = pg.array(a), pg.empty(6, "f4")
    for function, q in (("median", ()), ("nanmedian", ()), ("quantile", (0.3,)), ("nanquantile", (0.3,)),
                        ("percentile", (30,)), ("nanpercentile", (30,))):
        out[...] = 0
        found = getattr(np, function)(A, *q, 0, out, True)
        collectively(found is out)
        assert_equal(out, getattr(np, function)(a, *q, 0).astype("f4"), exact=False, rtol=1e-6)
        assert_equal(A, a)
        raises_everywhere(ValueError, "out= has shape", lambda f=function, q=q: getattr(pg, f)(A, *q, 1, out))


@pytest.mark.mpi
@pytest.mark.parametrize(("call", "error", "match"), [
    (lambda A: pg.quantile(A, 1.5), ValueError, r"range \[0, 1\]"),
    (lambda A: pg.percentile(A, [50, -1]), ValueError, r"range \[0, 100\]"),
    (lambda A: pg.quantile(A, 0.5, method="some"), ValueError, "'some' is not a valid method"),
    (lambda A: pg.quantile(A * 1j, 0.5), TypeError, "real numbers"),
    (lambda A: pg.quantile(A[:0], 0.5), IndexError, "no elements"),
    (lambda A: pg.median(A, 3), ValueError, "axis 3 is out of bounds"),
    (lambda A: pg.quantile(A, 0.5, weights=A), ValueError, "Only method 'inverted_cdf' supports weights"),
    (lambda A: pg.quantile(A, 0.5, method="inverted_cdf", weights=-A), ValueError, "non-negative"),
    (lambda A: pg.quantile(A, 0.5, 1, method="inverted_cdf", weights=[[1] * 3, [0] * 3]), ValueError, "all zero"),
    (lambda A: pg.nanquantile(A, 0.5, method="inverted_cdf", weights=A / 0), ValueError, "NaN, inf"),
    (lambda A: pg.percentile(A, 50, method="inverted_cdf", weights=[1, 2]), TypeError, "Axis must be specified"),
    (lambda A: pg.percentile(A, 50, 0, method="inverted_cdf", weights=[1]), ValueError, "Shape of weights"),
])
def test_quantiles_that_are_refused(call: Callable[[pg.GlobalArray], Any], error: type[Exception], match: str) -> None:
    raises_everywhere(error, match, lambda: call(pg.ones((2, 3))))


@pytest.mark.mpi
@pytest.mark.parametrize("shape", [(2, 3), (3, 0), (3 << 17,)])
@pytest.mark.parametrize(("name", "more"), [
    ("nanmedian", {}), ("nanquantile", {"q": 0.3}), ("nanpercentile", {"q": [20, 50]}),
    ("nanquantile", {"q": 0.5, "method": "inverted_cdf", "weights": 1})])
def test_slices_without_numbers_are_warned_of(name: str, more: dict[str, Any], shape: tuple[int, ...]) -> None:
    x = np.full(shape, np.nan)
    x[:-1] = 1 if len(shape) > 1 else np.nan
    options = more | ({"weights": np.ones(shape)} if "weights" in more else {})
    messages, results = [], []
    a = pg.array(x, layout=pg.Distribution(*"*" * x.ndim))
    for function, array in ((getattr(np, name), x), (getattr(pg, name), a)):
        with warnings.catch_warnings(record=True) as seen:
            warnings.simplefilter("always")
            results.append(function(array, axis=-1, **options))
            pg.sync()
        messages.append({str(w.message) for w in seen if issubclass(w.category, RuntimeWarning)})
    collectively(messages[0] == messages[1] != set(), f"{messages}")
    assert_equal(results[1], np.asarray(results[0]))


@pytest.mark.mpi
@pytest.mark.parametrize("name", ["quantile", "percentile", "nanquantile", "nanpercentile"])
@pytest.mark.parametrize(("shape", "axis"), [((7,), None), ((300,), 0), ((4, 5, 3), None), ((4, 5, 3), 1),
                                             ((4, 5, 3), (2, 0))])
@pytest.mark.parametrize("dtype", ["f8", "f4", "u1"])
def test_quantiles_with_weights(name: str, shape: tuple[int, ...], axis: Any, dtype: str) -> None:
    draw = np.random.default_rng(7)
    a = draw.integers(0, 9, shape).astype(dtype)
    weights = draw.integers(0, 4, shape) / 4  # whose sums are exact
    if dtype != "u1":
        a.flat[3::7] = np.nan
    weights[:2] += 0.25
    for q in 0, 0.5, [[0.25, 0.3], [0.9, 1]]:
        given = np.multiply(q, 100 if "percentile" in name else 1)
        options: dict[str, Any] = {"axis": axis, "method": "inverted_cdf", "keepdims": q == 0}
        expected = getattr(np, name)(a, given, weights=weights, **options)
        for w in weights, pg.array(weights):
            assert_equal(getattr(pg, name)(pg.array(a), given, weights=w, **options), expected)
    if isinstance(axis, int):
        one = np.arange(1.0, 1 + shape[axis])
        expected = getattr(np, name)(a, given, weights=np.broadcast_to(
            one[(slice(None), *[None] * (a.ndim - 1 - axis))], shape), **options)
        assert_equal(getattr(pg, name)(pg.array(a), given, weights=one, **options), expected)


@pytest.mark.mpi
@pytest.mark.parametrize("axis", [None, 0, -1, (0, 2)])
@pytest.mark.parametrize("keepdims", [True, False])
@pytest.mark.parametrize("dtype", ["f8", "f4", "i4"])
def test_what_is_not_nan(axis: Any, keepdims: bool, dtype: str) -> None:
    a = np.random.default_rng(5).integers(-9, 9, (4, 6, 5)).astype(dtype)
    if dtype != "i4":
        a[np.random.default_rng(6).random(a.shape) < 0.3] = np.nan
        a[0, :, :4] = np.inf
    A = pg.array(a)
    with np.errstate(all="ignore"):
        assert_equal(pg.nanmedian(A, axis, keepdims=keepdims), np.nanmedian(a, axis, keepdims=keepdims), False, 1e-6)
        if dtype != "i4":
            a[a == np.inf] = 3
            A[...] = a
        for q, method in ((0.3, "hazen"), (1, "hazen"), *[([0, 0.1, 0.25, 0.5, 1.0], method) for method in METHODS]):
            assert_equal(pg.nanquantile(A, q, axis, keepdims=keepdims, method=method),
                         np.nanquantile(a, q, axis, keepdims=keepdims, method=method), False, 1e-5)
        assert_equal(np.nanpercentile(A, 60, axis), np.nanpercentile(a, 60, axis), False, 1e-5)


@pytest.mark.filterwarnings("ignore:All-NaN slice")
@pytest.mark.mpi
@pytest.mark.parametrize("dtype", ["f8", "f4", "f2"])
@pytest.mark.parametrize("keepdims", [True, False])
def test_what_is_not_nan_of_long_vectors(keepdims: bool, dtype: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(quantiles, "MIN_COUNTED", 1 << 10)
    a = np.random.default_rng(5).standard_normal(1 << 15).astype(dtype)
    for step in (3, 1):
        a[::step] = np.nan
        for x in (a, a.reshape(2, -1)):
            A = pg.array(x)
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", RuntimeWarning)  # of NumPy, where all is NaN
                assert_equal(pg.nanmedian(A, keepdims=keepdims), np.asarray(np.nanmedian(x, keepdims=keepdims)))
                for q in (0.3, [[0.1, 0.5, 1.0]]):
                    for method in ("linear", "hazen"):
                        found = pg.nanquantile(A, q, keepdims=keepdims, method=method)
                        expected = np.asarray(np.nanquantile(x, q, keepdims=keepdims, method=method))
                        assert_equal(found.astype(expected.dtype), expected)
    with pytest.warns(RuntimeWarning, match="All-NaN"):
        assert_equal(pg.nanmedian(A, (1, 0)), np.full((), np.nan, dtype))
    assert_equal(pg.nanmedian(A[0], ()), a.reshape(2, -1)[0])
    raises_everywhere(ValueError, "out of bounds", lambda: pg.nanquantile(A[0], 0.5, 3))
    raises_everywhere(ValueError, "repeated axis", lambda: pg.nanmedian(A[0], (0, 0)))


@pytest.mark.mpi
@pytest.mark.filterwarnings("ignore:All-NaN slice")
def test_all_are_nan() -> None:
    a = np.array([[np.nan, np.nan], [1, np.nan]])
    assert_equal(pg.nanmedian(pg.array(a), 1), np.array([np.nan, 1]))
    z = np.array([1, np.nan, 3 + 1j])
    assert_equal(pg.nanmedian(pg.array(z)), np.nanmedian(z))
    collectively(bool(np.isnan(complex(pg.median(pg.array(z))))))
    raises_everywhere(TypeError, "is not supported", lambda: pg.nanmedian(pg.array(np.array([1, "NaT"], "m8[s]"))))
    for method in METHODS:
        assert_equal(pg.nanquantile(pg.array(a), 0.2, 1, method=method), np.array([np.nan, 1]))


@pytest.mark.mpi
def test_the_least_and_the_largest_are_infinite() -> None:
    a = np.array([[-np.inf, 1, np.inf], [np.nan, -np.inf, 2], [np.nan, np.inf, 2]])
    for q, expected in ((0, [-np.inf, -np.inf, 2]), (1, [np.inf, 2, np.inf])):
        assert_equal(pg.nanquantile(pg.array(a), q, 1), np.array(expected))


@pytest.mark.mpi
@pytest.mark.parametrize("kth", [0, 3, -1, (1, 4)])
@pytest.mark.parametrize("axis", [0, 1, None])
def test_partitions(kth: Any, axis: int | None) -> None:
    a = np.random.default_rng(2).integers(0, 9, (6, 7))
    A = pg.array(a)
    expected = np.partition(a, kth, axis)
    found, indices = np.partition(A, kth, axis), pg.argpartition(A, kth, axis).gather()
    assert_equal(pg.array(np.take(found.gather(), kth, axis)), np.take(expected, kth, axis))
    chosen = np.take_along_axis(a.ravel() if axis is None else a, indices, axis or 0)
    assert_equal(np.take(chosen, kth, axis), np.take(expected, kth, axis))
    raises_everywhere(ValueError, "out of bounds", lambda: pg.partition(A, 50, axis))
    raises_everywhere(ValueError, "out of bounds", lambda: pg.partition(A, kth, 2))


@pytest.mark.parametrize("shape", [(0,), (3, 0), (0, 3)])
def test_of_nothing_any_index_is_taken(shape: tuple[int, ...]) -> None:
    a = np.zeros(shape)
    for axis in (None, *range(a.ndim)):
        assert_equal(pg.partition(pg.array(a), 7, axis), np.partition(a, 7, axis))
        assert_equal(pg.argpartition(pg.array(a), 7, axis), np.argpartition(a, 7, axis))


@pytest.mark.mpi
@pytest.mark.parametrize("name", ["block", "first dimension", "cyclic(3) columns", "replicated"])
@pytest.mark.parametrize("shape", [(5, 40), (2, 3, 40), (1, 40)])
def test_rows_are_partitioned_as_numpy_does_it_wherever_they_lie(name: str, shape: tuple[int, ...]) -> None:
    a = np.random.default_rng(3).permutation(np.prod(shape)).reshape(shape) - 50.0
    a[..., ::9] = np.nan
    A = pg.array(a, layout=layout_of(name, shape))
    expected, indices = (np.sort(a), np.argsort(a, kind="stable")) if shape[0] == 1 else (
        np.partition(a, (3, -4)), np.argpartition(a, (3, -4)))
    assert_equal(pg.partition(A, (3, -4)), expected)  # a single row is a vector, which is sorted
    assert_equal(pg.argpartition(A, (-4, 3, 3)), indices)
    A.partition(3)
    assert_equal(A[..., :4].max(-1), np.sort(a)[..., 3])


@pytest.mark.mpi
@pytest.mark.parametrize("name", ["block", "cyclic(3)", "replicated"])
@pytest.mark.parametrize("dtype", ["f8", "f2", "i1", "u8", "?", "M8[s]"])
def test_long_vectors_are_partitioned_stably(name: str, dtype: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ordering, "MIN_SELECTED", 1 << 15)
    a = (100 * np.random.default_rng(4).standard_normal(1 << 15)).astype("i8").astype(dtype)
    if a.dtype.kind in "fM":
        a[::5] = "NaT" if dtype == "M8[s]" else np.nan
    A, ordered = pg.array(a, layout=layout_of(name, a.shape)), np.sort(a)
    for kth in (0, 3000, -1, (5, 20_000, 20_001), range(7)):
        places = sorted({k % a.size for k in np.atleast_1d(kth)})
        ends = np.unique(ordered[places])
        below = np.searchsorted(ends, a, "left") + np.searchsorted(ends, a, "right")  # the number of the class
        order = np.argsort(a if len(places) > 4 or a.itemsize == 1 else below, kind="stable")
        assert_equal(pg.partition(A, kth), a[order])
        assert_equal(pg.argpartition(A, kth), order)
        assert_equal(pg.argpartition(A.reshape(2, -1), kth, axis=None), order)


@pytest.mark.mpi
@pytest.mark.parametrize("n", [0, 1, 2, 9, 200])
def test_several_keys(n: int) -> None:
    rng = np.random.default_rng(n)
    given = keys(rng, n, "f8", 3), keys(rng, n, "S3", 4), keys(rng, n, "i1", 4)
    assert_equal(pg.lexsort([pg.array(key) for key in given]), np.lexsort(given))
    rows = rng.integers(0, 3, (4, n))
    assert_equal(pg.lexsort(pg.array(rows, layout=layout_of("cyclic(2)", rows.shape))), np.lexsort(rows))


@pytest.mark.mpi
def test_keys_that_are_refused() -> None:
    raises_everywhere(TypeError, "need sequence of keys", lambda: pg.lexsort(()))
    raises_everywhere(ValueError, "same shape", lambda: pg.lexsort((pg.ones(3), pg.ones(4))))


@pytest.mark.mpi
def test_float16_of_many_magnitudes() -> None:
    """Which NumPy 2.4 does not sort, unless it is asked for a stable sort."""
    rng = np.random.default_rng(0)
    with np.errstate(all="ignore"):
        a = (rng.standard_normal(30_000) * 10.0**rng.integers(-300, 300, 30_000)).astype("f2")
    A = pg.array(a)
    assert_same_bits(pg.sort(A), np.sort(a, kind="stable"))
    assert_same_bits(pg.sort(A.reshape(100, 300), axis=0), np.sort(a.reshape(100, 300), axis=0, kind="stable"))
    assert_equal(pg.nanmedian(A), np.nanmedian(a.astype("f8")).astype("f2"))
    for seed in range(50):  # of few, which NumPy sorts on one process
        few = (np.random.default_rng(seed).standard_normal(500) * 1e-7).astype("f2")
        assert_equal(pg.unique(pg.array(few)), np.unique(few.astype("f4")).astype("f2"))


@pytest.mark.mpi
@pytest.mark.parametrize("name", ["median", "quantile", "percentile"])
def test_operands_of_quantiles_stay_as_they_are(name: str) -> None:
    a = np.array([5.0, 1, 4, 2, 3, 9, 7])
    A = pg.array(a)
    getattr(pg, name)(A, *(() if name == "median" else (0.3,)), overwrite_input=True)
    assert_equal(A, a)
