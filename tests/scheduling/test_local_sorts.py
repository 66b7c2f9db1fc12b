"""Local sorts: by any number of threads, in runs of any length, against NumPy."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from pgaspy.host import helper_threads
from pgaspy.kernels import bindings
from pgaspy.scheduling import local_sorts, local_threads
from tests.test_order import DTYPES, keys


@pytest.fixture(autouse=True, params=[1, 2, 5])
def _threads(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """So many threads, also for little, and short runs."""
    before = bindings.get_threads()
    bindings.set_threads(request.param)
    monkeypatch.setattr(local_threads, "SHARED_FROM", 4)
    monkeypatch.setattr(local_sorts, "BY_DIGITS_FROM", 7)
    yield
    bindings.set_threads(before)


def assert_same(found: NDArray[Any], expected: NDArray[Any]) -> None:
    """Assert that elements are the same, zeros with their signs."""
    np.testing.assert_array_equal(found, expected)
    if expected.dtype.kind == "f":
        is_number = ~np.isnan(expected)
        assert (np.signbit(found) == np.signbit(expected))[is_number].all()


@pytest.mark.parametrize("dtype", [*DTYPES, "i2", "u2", "i4", "u4", ">f8"])
@pytest.mark.parametrize("n", [0, 1, 2, 8, 50, 333])
def test_vectors(dtype: str, n: int) -> None:
    x = keys(np.random.default_rng(n), n, dtype)[::-1]
    order = x.argsort(kind="stable")
    found = np.empty(n, dtype)
    local_sorts.sort_along(0, x, found, False)
    assert_same(found, x[order])
    columns = local_sorts.new_columns(n, x.dtype, True)
    local_sorts.sort_vector(x, columns, 3)
    assert_same(columns[0], x[order])
    assert_same(columns[1], order + 3)


def test_keys_that_are_in_order_but_for_two() -> None:
    """Wherever they are: also where the parts of two threads meet."""
    n = 40
    for k in range(n - 1):
        x = np.arange(n) // 3 / 2
        x[k], x[k + 1] = x[k + 1] + 1, x[k]
        columns = local_sorts.new_columns(n, x.dtype, True)
        local_sorts.sort_vector(x, columns, 0)
        assert_same(columns[0], np.sort(x))
        assert_same(columns[1], x.argsort(kind="stable"))


BITS = {
    "any": lambda rng, n: rng.integers(0, 2**64, n, np.uint64),
    "few": lambda rng, n: rng.integers(0, 2**64, 5, np.uint64)[rng.integers(0, 5, n)],
    "that begin alike": lambda rng, n: rng.integers(0, 2**20, n, np.uint64) | np.uint64(2**63) * (rng.random(n) < 0.1),
    "that end alike": lambda rng, n: rng.integers(0, 2**30, n, np.uint64) << np.uint64(34),
    "that begin alike by fives": lambda rng, n: (np.arange(n, dtype=np.uint64) // np.uint64(10) << np.uint64(40)) | (
        rng.integers(0, 2**20, n, np.uint64)),
    "one apart": lambda rng, n: np.append(rng.integers(7, 2**30, n - 1, np.uint64), np.uint64(2**64 - 1)),
    "in order": lambda rng, n: np.arange(n, dtype=np.uint64) << np.uint64(40),
    "reversed": lambda rng, n: np.arange(n, dtype=np.uint64)[::-1].copy(),
}
"""Of keys of 64 bits, which as numbers are infinite, NaN, tiny and of both signs."""


@pytest.mark.parametrize("bits", BITS)
@pytest.mark.parametrize("dtype", ["u8", "i8", "f8", "M8[s]", "f4", "i4", "i2"])
def test_orders_of_many(bits: str, dtype: str) -> None:
    """So many that the threads share them, of all bits."""
    rng = np.random.default_rng(7)
    x = BITS[bits](rng, 70_000).view(dtype)[3::2]
    expected = x.argsort(kind="stable")
    found, keys = np.empty(x.size, np.intp), np.empty(x.size, dtype)
    local_sorts.find_order(x, keys, found, 11, bindings.get_threads())
    np.testing.assert_array_equal(found, expected + 11)
    assert keys.tobytes() == x[expected].tobytes()


@pytest.mark.parametrize("shape", [(4, 5, 3), (1, 9), (9, 1), (20, 30), (3, 0), (2, 33_000)])
@pytest.mark.parametrize("gives_indices", [True, False])
def test_rows(shape: tuple[int, ...], gives_indices: bool) -> None:
    x = keys(np.random.default_rng(1), int(np.prod(shape)), "f8").reshape(shape)[::-1]
    for axis in range(-len(shape), len(shape)):
        found = np.empty(shape, np.intp if gives_indices else x.dtype)
        local_sorts.sort_along(axis, x, found, gives_indices)
        assert_same(found, x.argsort(axis, kind="stable") if gives_indices else np.sort(x, axis, kind="stable"))


@pytest.mark.parametrize("dtype", ["f8", "f4", "i1", "u8", "M8[s]", "c16", "S3"])
@pytest.mark.parametrize("edges", [(0, 5), (0, 0, 40), (0, 30, 40), (0, 1, 1, 9, 200), (0, 60, 61, 80, 80, 99, 300)])
def test_merges(dtype: str, edges: tuple[int, ...]) -> None:
    x = keys(np.random.default_rng(3), edges[-1], dtype)
    runs = local_sorts.new_columns(x.size, x.dtype, True)
    for start, stop in pairwise(edges):
        order = x[start:stop].argsort(kind="stable")
        runs[0][start:stop], runs[1][start:stop] = x[start:stop][order], order + start
    others = local_sorts.new_columns(x.size, x.dtype, True)
    local_sorts.merge_runs(edges, runs, others)
    found = others if local_sorts.ends_in_second(len(edges) - 1) else runs
    assert_same(found[1], x.argsort(kind="stable"))
    assert_same(found[0], x[found[1]])


@pytest.mark.parametrize("skew", [0, 1, 1000])
def test_ends_meet(skew: int) -> None:
    """Runs one of which lies within the other, before it, or behind it."""
    for first, second in ((np.arange(2000), np.array([skew])), (np.array([skew]), np.arange(2000)),
                          (np.arange(skew), np.arange(skew, 2000)), (np.arange(skew, 2000), np.arange(skew))):
        merged = np.empty(first.size + second.size, int)
        bindings.merge([0, first.size, merged.size], [np.concatenate([first, second])], [merged])
        assert_same(merged, np.sort(np.concatenate([first, second])))


def test_threads_that_there_is_no_memory_for_are_not_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    started: list[Any] = []

    def start(function: Any, arguments: Any) -> None:
        started.append(function)
        if len(started) > 2:
            raise MemoryError

    monkeypatch.setattr(helper_threads._thread, "start_new_thread", start)
    done: list[tuple[int, int]] = []
    local_threads.on_threads(lambda *part: done.append(part), [0, 2, 4, 9], 5)
    assert done == [(0, 2), (2, 4), (4, 9)]
    assert len(started) == 3


def test_what_one_thread_raises_ends_all() -> None:
    def fail(start: int, stop: int) -> None:
        raise ValueError(start)

    with pytest.raises(ValueError, match=r"^[0-3]$"):
        local_threads.on_threads(fail, [0, 1, 2, 3, 4], 2)
