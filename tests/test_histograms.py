"""Histograms, and the bins that elements fall into, against NumPy."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import pgaspy as pg
from pgaspy import searching
from pgaspy.kernels import bindings
from tests.layouts import NAMES, layout_of
from tests.together import assert_equal, collectively, raises_everywhere

pytestmark = pytest.mark.mpi

RNG = np.random.default_rng(17)
X = np.concatenate([RNG.normal(size=180), np.linspace(-2, 2, 21), [np.inf, -0.0, 0.0]])
N = RNG.integers(0, 12, 204)
W = RNG.integers(1, 9, 204) / 4.0  # whose sums are exact in any order


def dealt_out(x: NDArray[Any], name: str) -> pg.GlobalArray:
    return pg.array(x, layout=layout_of(name, x.shape))


@pytest.mark.parametrize("name", NAMES)
def test_bincount(name: str) -> None:
    n = dealt_out(N, name)
    assert_equal(pg.bincount(n), np.bincount(N))
    assert_equal(np.bincount(n[::-2].astype(np.uint8), minlength=20), np.bincount(N[::-2], minlength=20))
    assert_equal(pg.bincount(n, pg.array(W), 3), np.bincount(N, W, 3))
    assert_equal(pg.bincount(n + 0, W.astype(np.float32)), np.bincount(N, W))


@pytest.mark.parametrize("n_bins", [1, 5, 11, 12, 13, 600])
def test_bincount_finds_whether_there_are_enough_bins(n_bins: int) -> None:
    n, w = np.resize(N, 70_000), np.resize(W, 70_000)
    assert_equal(pg.bincount(pg.array(n), minlength=n_bins), np.bincount(n, minlength=n_bins))
    assert_equal(pg.bincount(pg.array(n), pg.array(w), n_bins), np.bincount(n, w, n_bins))
    assert_equal(pg.bincount(pg.array(n[:8]), minlength=n_bins), np.bincount(n[:8], minlength=n_bins))


def test_bincount_reads_its_elements_once() -> None:
    a = pg.array(N)
    pg.sync()
    before = pg.stats()
    pg.bincount(a, minlength=12)
    pg.sync()
    assert (pg.stats() - before).n_flushes <= 2  # for whether there are enough bins; to end


def test_bincount_of_little() -> None:
    assert_equal(pg.bincount(pg.empty(0, int)), np.bincount(np.empty(0, int)))
    assert_equal(pg.bincount(pg.empty(0, int), minlength=3), np.zeros(3, int))
    assert_equal(pg.bincount(pg.empty(0, int), pg.empty(0)), np.bincount(np.empty(0, int), np.empty(0)))
    assert_equal(pg.bincount(pg.array([2])), np.array([0, 0, 1]))
    assert_equal(pg.bincount([1, 1]), np.array([0, 2]))
    assert_equal(pg.bincount([]), np.bincount([]))
    raises_everywhere(TypeError, "according to the rule 'safe'", lambda: pg.bincount(pg.empty(0)))


@pytest.mark.parametrize(("error", "match", "call"), [
    (ValueError, "negative", lambda: pg.bincount(pg.array([3, -1]))),
    (ValueError, "negative", lambda: pg.bincount(pg.array([7, 3, -1]), minlength=2)),
    (MemoryError, ".", lambda: pg.bincount(pg.array([1, 2**45]), minlength=2)),
    (ValueError, "minlength", lambda: pg.bincount(pg.array([3]), minlength=-1)),
    (ValueError, "same length", lambda: pg.bincount(pg.array([3]), pg.ones(2))),
    (ValueError, "too deep", lambda: pg.bincount(pg.ones((2, 2), int))),
    (TypeError, "safe", lambda: pg.bincount(pg.ones(3))),
    (TypeError, "safe", lambda: pg.bincount(pg.ones(3, int), pg.ones(3, complex))),
    (MemoryError, ".", lambda: pg.bincount(pg.array([1, 2**45]))),
    (TypeError, "order", lambda: pg.histogram(pg.ones(3, complex))),
    (TypeError, ".", lambda: pg.histogram(pg.ones(3), [0, 1, 2], weights=pg.ones(3, bool))),
    (TypeError, ".", lambda: pg.histogramdd([pg.ones(3)] * 2, 3, weights=pg.ones(3, complex))),
    (ValueError, "positive", lambda: pg.histogram(pg.ones(3), 0)),
    (ValueError, "monotonically", lambda: pg.histogram(pg.ones(3), [1, 3, 2])),
    (ValueError, "not finite", lambda: pg.histogram(pg.array([1.0, np.nan]))),
    (ValueError, "larger than min", lambda: pg.histogram(pg.ones(3), range=(2, 1))),
    (ValueError, "same shape", lambda: pg.histogram(pg.ones(3), weights=pg.ones(4))),
    (TypeError, "weighted", lambda: pg.histogram(pg.ones(3), "auto", weights=pg.ones(3))),
    (ValueError, "not a valid estimator", lambda: pg.histogram(pg.ones(3), "many")),
    (ValueError, "monotonic", lambda: pg.digitize(pg.ones(3), [1, 3, 2])),
    (TypeError, "not supported between", lambda: pg.digitize(pg.zeros(3, "M8[s]"), [1.5, 3])),
    (TypeError, ".", lambda: pg.searchsorted(np.array([1.5, 3]), pg.zeros(3, "M8[s]"))),
    (ValueError, "side", lambda: pg.searchsorted(pg.ones(3), pg.ones(3), "middle")),
    (ValueError, "same length", lambda: pg.histogram2d(pg.ones(3), pg.ones(4))),
    (ValueError, "dimension of bins", lambda: pg.histogramdd(pg.ones((3, 2)), [1, 2, 3])),
])
def test_bad_input(error: type[Exception], match: str, call: Callable[[], Any]) -> None:
    raises_everywhere(error, match, call)
    assert_equal(pg.bincount(pg.array([1])), np.array([0, 1]))


def assert_histogram(a: NDArray[Any], name: str, *args: Any, weights: NDArray[Any] | None = None,
                     **options: Any) -> None:
    found, edges = np.histogram(dealt_out(a, name), *args, weights=weights, **options)
    expected, expected_edges = np.histogram(a, *args, weights=weights, **options)
    assert_equal(found, expected, exact=not options.get("density"))
    assert_equal(edges, expected_edges)


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("bins", [1, 10, 37, [-1.0, 0.0, 0.0, 0.5, 2.0], [-3, 0, 1], [0.5]], ids=str)
def test_histogram(name: str, bins: Any) -> None:
    assert_histogram(X, name, bins, (-2.0, 2.0))
    assert_histogram(X[:-3].reshape(3, 67), name, bins)
    assert_histogram(X, name, bins, (-2.0, 2.0), weights=W)
    assert_histogram(N, name, bins)


@pytest.mark.parametrize("char", "?bBhHiIlLefdg")
def test_histogram_of_all_numbers(char: str) -> None:
    a = (N if char in "?BHIL" else N - 5).astype(char)
    if char != "?":
        assert_histogram(a, "cyclic(2)")
        assert_histogram(a, "block", [-2, 0, 3, 5])
    else:
        with pytest.warns(RuntimeWarning, match="uint8"):
            found = pg.histogram(pg.array(a), 3)[0]
        assert_equal(found, np.histogram(a.astype(np.uint8), 3)[0])


@pytest.mark.parametrize("char", "bifFgl")
def test_weights(char: str) -> None:
    weights = (4 * W).astype(char)
    assert_histogram(X, "block", 7, (-2, 2), weights=weights)
    assert_histogram(X, "cyclic(3) columns", [-2.0, 0.0, 2.0], weights=weights)


def test_histogram_of_little() -> None:
    assert_histogram(np.empty(0), "block")
    assert_histogram(np.array([3.0]), "block", 4)
    assert_histogram(np.array(3.0), "replicated", 4)
    assert_histogram(X[:-3], "block", 8, density=True)


@pytest.mark.parametrize("edges", [
    [-np.inf, -1.0, 0.0, np.inf], [0.0, 0.0], [0.0, 0.0, 0.0], [-1.0, 1e-300, 2e-300, 1.0, 1.0], [-1e308, 0.0, 1e308],
    [-1.0, -1.0, 0.5, 2.0, 2.0], np.sort(RNG.normal(size=99)).tolist(), (np.arange(60) ** 8 / 1e12).tolist()])
def test_edges_of_all_kinds(edges: list[float]) -> None:
    a = np.concatenate([X, edges, np.nextafter(edges, -np.inf), np.nextafter(edges, np.inf), [np.nan]])
    assert_histogram(a, "block", edges)


@pytest.mark.parametrize("bounds", [(0.0, 1.0), (0.1, 0.7), (-1e-300, 1e-300), (1e16, 1e16 + 64), (-1e300, 1e300)])
def test_numbers_at_the_edges(bounds: tuple[float, float]) -> None:
    for n in (1, 3, 10, 32):
        edges = np.linspace(*bounds, n + 1)
        a = np.concatenate([edges, np.nextafter(edges, -np.inf), np.nextafter(edges, np.inf), [np.nan]])
        assert_histogram(a, "cyclic(2)", n, bounds)


def test_edges_that_are_global() -> None:
    edges = np.array([-1.0, 0.0, 2.0])
    assert_equal(pg.histogram(pg.array(X), pg.array(edges))[0], np.histogram(X, edges)[0])


@pytest.mark.parametrize("name", NAMES)
def test_histograms_of_points(name: str) -> None:
    points = X[:200].reshape(100, 2)
    P = dealt_out(points, name)
    for bins, options in ((4, {}), ([3, [-1.0, 0.0, 2.0]], {}), ((2, 5), {"range": ((-1, 1), (0, 2))}),
                          (3, {"weights": W[:100]}), (3, {"density": True})):
        found, edges = np.histogramdd(P, bins, **options)
        expected, expected_edges = np.histogramdd(points, bins, **options)
        assert_equal(found, expected, exact=False)
        for edge, other in zip(edges, expected_edges, strict=True):
            assert_equal(edge, other)
    assert_equal(pg.histogramdd(P, pg.array([2, 3]))[0], np.histogramdd(points, [2, 3])[0])
    assert_equal(pg.histogramdd(points, 3)[0], np.histogramdd(points, 3)[0])
    assert_equal(pg.histogramdd(P[:, 0], 3)[0], np.histogramdd(points[:, 0], 3)[0])
    assert_equal(pg.histogram2d(P[:, 0], P[:, 1], [5, pg.array([0.0, 0.5, 1.0])])[0],
                 np.histogram2d(points[:, 0], points[:, 1], [5, [0.0, 0.5, 1.0]])[0])
    found, x_edges, y_edges = np.histogram2d(P[:, 0], P[:, 1], [-1.0, 0.0, 0.5, 2.0])
    expected, *expected_edges = np.histogram2d(points[:, 0], points[:, 1], [-1.0, 0.0, 0.5, 2.0])
    assert_equal(found, expected)
    assert_equal(x_edges, expected_edges[0])
    assert_equal(y_edges, expected_edges[1])


@pytest.mark.parametrize("name", NAMES)
def test_where_elements_belong(name: str) -> None:
    edges = np.array([-1.0, -0.5, 0.0, 0.0, 1.0])
    x = X.reshape(12, 17)
    A = dealt_out(x, name)
    for side in ("left", "right"):
        assert_equal(np.searchsorted(edges, A, side), np.searchsorted(edges, x, side))
        assert_equal(pg.searchsorted(pg.array(edges), A[::-2, 3:], side), np.searchsorted(edges, x[::-2, 3:], side))
    order = RNG.permutation(5)
    assert_equal(pg.searchsorted(edges[order], A, sorter=np.argsort(order)),
                 np.searchsorted(edges[order], x, sorter=np.argsort(order)))
    assert_equal(np.digitize(A, edges), np.digitize(x, edges))
    assert_equal(pg.digitize(A, pg.array(edges[::-1]), right=True), np.digitize(x, edges[::-1], right=True))
    assert_equal(pg.searchsorted(edges, 0.0), np.searchsorted(edges, 0.0))


@pytest.mark.parametrize("side", ["left", "right"])
@pytest.mark.parametrize("dtype", ["d", "i", "?", "M8[s]"])
def test_searches_in_large_arrays(monkeypatch: pytest.MonkeyPatch, dtype: str, side: Any) -> None:
    monkeypatch.setattr(searching, "MAX_WHOLE", 7)
    rng = np.random.default_rng(3)
    for n in 8, 61, 200:
        a, v = (rng.integers(low, 90, shape).astype(dtype) for low, shape in ((0, n), (-3, (5, 4))))
        if dtype == "d":
            a[-3:], v[0], v[1] = np.nan, np.nan, np.inf
        order = np.argsort(a, kind="stable")
        expected = np.searchsorted(a[order], v, side)
        assert_equal(pg.searchsorted(pg.array(a[order], layout=pg.Distribution("cyclic")), pg.array(v), side), expected)
        assert_equal(pg.searchsorted(pg.array(a), v, side, pg.array(order)), expected)


@pytest.mark.parametrize("distribution", ["block", "cyclic", "cyclic(3)", "*"])
@pytest.mark.parametrize("dtype", ["d", "i", "M8[s]", "U3"])
def test_searches_for_little(dtype: str, distribution: str) -> None:
    rng = np.random.default_rng(4)
    for n in 64, 100, 5000:
        a = np.sort(rng.integers(10, 90, n).astype(dtype if dtype != "M8[s]" else "i8").astype(dtype))
        if dtype == "d":
            a[-3:] = np.nan
        A = pg.array(a, layout=pg.Distribution(distribution))
        for v in a[7], a[:1], a[-1:], a[:0], a[[1]].reshape(1, 1), a[[70, 3]] if n == 5000 else a[:1]:
            for side in "left", "right":
                expected = np.searchsorted(a, v, side)  # type: ignore[call-overload]
                assert_equal(pg.searchsorted(A, v, side), expected)  # type: ignore[arg-type]
                assert_equal(pg.searchsorted(A[::-1][::-1], pg.array(v), side), expected)  # type: ignore[arg-type]


@pytest.mark.parametrize("v", [3, 300, -1, 2**63, [20, 20], [20.5], 1e300, [np.nan, 20], True], ids=repr)
@pytest.mark.parametrize("dtype", ["b", "B", "l", "f", "d"])
def test_searches_for_little_of_another_dtype(dtype: str, v: Any) -> None:
    a = np.sort(np.arange(200) % 50).astype(dtype)
    assert_equal(pg.searchsorted(pg.array(a), v), np.searchsorted(a, v))
    assert_equal(pg.searchsorted(pg.array(a), pg.array(v), "right"), np.searchsorted(a, v, "right"))


def test_arrays_that_are_changed_after_the_call() -> None:
    a, edges = pg.array(N), np.array([0.0, 2.0, 4.0, 12.0])
    before, own = edges.copy(), np.array([0.0, 3.0, 9.0])
    results = [pg.digitize(a, edges), pg.searchsorted(edges, a), pg.histogram(a, edges)[0],
               pg.histogramdd([a, a], [edges, own])[0]]
    edges *= 2
    own *= 2
    counts, found = pg.histogram(a, 5)
    found -= 7
    points, x_edges, _ = pg.histogram2d(a, a, 4)
    x_edges *= 3
    for result, expected in zip(results, [
            np.digitize(N, before), np.searchsorted(before, N), np.histogram(N, before)[0],
            np.histogramdd([N, N], [before, own / 2])[0]], strict=True):
        assert_equal(result, expected)
    assert_equal(counts, np.histogram(N, 5)[0])
    assert_equal(points, np.histogram2d(N, N, 4)[0])


def test_weights_that_are_large() -> None:
    weights = np.array([2**53 + 1, 2**62 + 1])
    x, edges = np.array([0.5, 1.5]), [0.0, 1.0, 2.0]
    assert_equal(pg.histogram(pg.array(x), edges, weights=weights)[0], np.histogram(x, edges, weights=weights)[0])
    weights = np.full(204, 2**30, np.int32)
    assert_equal(pg.histogram(pg.array(N), [0, 6, 12], weights=weights)[0], np.histogram(
        N, [0, 6, 12], weights=weights)[0])


def test_what_was_just_computed() -> None:
    a = pg.array(N)
    for step in range(5):
        a = (a * 3 + step) % 11
        counts = pg.bincount(a, minlength=11)
        a[counts.shape[0]:] = 0
    x = N
    for step in range(5):
        x = (x * 3 + step) % 11
        x[11:] = 0
    assert_equal(a, x)
    assert_equal(pg.bincount(a), np.bincount(x))


@pytest.mark.parametrize("n_bins", [3, 1000, 100_000])
def test_the_kernel_whatever_the_threads(n_bins: int) -> None:
    rng = np.random.default_rng(n_bins)
    n, w = rng.integers(0, n_bins, 300_000), rng.random(300_000)
    before = bindings.get_threads()
    try:
        found = []
        for n_threads in (1, 2, 3):
            bindings.set_threads(n_threads)
            counts, sums = np.empty(n_bins, int), np.empty(n_bins)
            assert bindings.histogram(n, None, counts) == bindings.histogram(n, w, sums) == n_bins
            assert np.array_equal(counts, np.bincount(n, minlength=n_bins))
            found.append(sums)
    finally:
        bindings.set_threads(before)
    assert np.allclose(found[0], np.bincount(n, w, n_bins))
    assert np.array_equal(found[0], found[1])
    assert np.array_equal(found[0], found[2])
    collectively(True)


def test_indices_that_sort_are_those_of_elements() -> None:
    a, v = pg.arange(9.0), pg.array([0.5, 8.0], layout=pg.Distribution("block"))
    for last in (9, -1):
        sorter = np.array([*range(8), last])
        for given in (sorter, pg.array(sorter)):
            raises_everywhere(ValueError, "Sorter index out of range",
                              lambda given=given: pg.searchsorted(a, v, sorter=given))


def test_edges_of_short_numbers_are_not_rounded_twice() -> None:
    x = np.arange(-20, 80, 0.05).astype("e")
    for ends in ((0, 7), (0.1, 7.3)):
        assert_equal(pg.histogram(pg.array(x), 10, ends)[0], np.histogram(x, 10, ends)[0])


@pytest.mark.parametrize("edges", [[], [3.0]])
def test_there_may_be_no_bins(edges: list[float]) -> None:
    x = np.arange(4.0)
    for options in ({}, {"weights": x}, {"density": True}):
        assert_equal(pg.histogram(pg.array(x), edges, **options)[0], np.histogram(x, edges, **options)[0])
    assert_equal(pg.histogramdd(pg.array(5), 2)[0], np.histogramdd(np.array(5), 2)[0])


@pytest.mark.parametrize("rule", ["auto", "doane", "fd", "rice", "scott", "sqrt", "stone", "sturges"])
@pytest.mark.parametrize("x", [
    RNG.normal(size=(30, 40)), RNG.exponential(2, 90), RNG.integers(0, 30, 70), RNG.integers(0, 255, 50).astype("B"),
    RNG.random(60).astype("f"), np.ones(1), np.full(7, 2.5), np.arange(2.0), np.empty(0)])
@pytest.mark.filterwarnings("ignore:The number of bins estimated:RuntimeWarning")
def test_rules_for_the_number_of_bins(rule: str, x: NDArray[Any]) -> None:
    a = pg.array(x)
    for between in (None, (0.2, 2.2)):
        counts, edges = pg.histogram(a, rule, between)
        expected, expected_edges = np.histogram(x, rule, between)
        assert_equal(counts, expected)
        np.testing.assert_allclose(edges, expected_edges)
        np.testing.assert_allclose(pg.histogram_bin_edges(a, rule, between), expected_edges)
