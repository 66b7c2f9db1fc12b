"""NumPy's functions that select elements or write to some, against NumPy: by indices, by masks, by conditions."""

from __future__ import annotations

import random
from collections.abc import Callable
from functools import partial
from operator import setitem
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import pgaspy as pg
from tests.randomly import random_layout
from tests.together import assert_equal, collectively, raises_everywhere

pytestmark = pytest.mark.mpi

X = np.random.default_rng(0).integers(-9, 9, (5, 4, 3))
ROWS = np.array([[3, -1], [0, 3]])
MASK = X > 2


def as_global(x: Any, seed: int) -> Any:
    """NumPy's arrays as global ones, in any layouts."""
    if isinstance(x, list | tuple):
        return type(x)(as_global(y, seed + 1 + n) for n, y in enumerate(x))
    if not isinstance(x, np.ndarray):
        return x
    return pg.array(x, layout=random_layout(random.Random(seed), x.shape, pg.SIZE))


READING: list[tuple[str, tuple[Any, ...], dict[str, Any]]] = [
    ("take", (X, ROWS), {}),
    ("take", (X, ROWS), {"axis": 1}),
    ("take", (X, 2), {"axis": -1}),
    ("take", (X, 7), {}),
    ("take", (X, 9 * ROWS), {"axis": 0, "mode": "wrap"}),
    ("take", (X, 9 * ROWS), {"axis": 2, "mode": "clip"}),
    ("take", (X, np.array([], int)), {"axis": 1}),
    ("take_along_axis", (X, np.argsort(X, axis=1)), {"axis": 1}),
    ("take_along_axis", (X, X.argmax(axis=2, keepdims=True)), {}),
    ("take_along_axis", (X, np.array([7, -1, 7])), {"axis": None}),
    ("compress", (np.array([True, False, True]), X), {"axis": 2}),
    ("compress", (np.array([True, False, True]), X), {}),
    ("extract", (MASK, X), {}),
    ("extract", (MASK.reshape(-1), X), {}),
    ("nonzero", (X,), {}),
    ("nonzero", (MASK[0, 0],), {}),
    ("where", (MASK,), {}),
    ("argwhere", (X > 4,), {}),
    ("flatnonzero", (X,), {}),
    ("flatnonzero", (np.zeros(5),), {}),
    ("count_nonzero", (X,), {}),
    ("count_nonzero", (X,), {"axis": 1, "keepdims": True}),
    ("select", ([X > 3, X < -3], [X, X * 0.5]), {"default": 7}),
    ("select", ([X > 3, X[0] < -3], [1, X]), {}),
    ("choose", (X[0] % 3, [X[0], X[1, 0], 5 * X[2]]), {}),
    ("choose", (X[0] % 5, X[:4]), {"mode": "wrap"}),
    ("choose", (X[0] % 2, [X[0].astype("f"), 3]), {}),
    ("choose", (X[0], [X[1], X[2]]), {"mode": "clip"}),
    ("delete", (X, 1), {"axis": 0}),
    ("delete", (X, [0, -1, 0]), {"axis": 1}),
    ("delete", (X, slice(None, None, 7)), {}),
    ("delete", (X, MASK[:, 0, 0]), {"axis": 0}),
    ("insert", (X, 1, 99), {"axis": 0}),
    ("insert", (X, -1, X[:, 0]), {"axis": 1}),
    ("insert", (X, 2, np.arange(4)), {}),
    ("insert", (X[0, 0], [0, 2, 2], [7, 8, 9]), {}),
    ("insert", (X, slice(0, 2), np.arange(3)), {"axis": 1}),
]


def ids(cases: list[Any]) -> list[str]:
    return [f"{n}-{case[0]}" for n, case in enumerate(cases)]


@pytest.mark.parametrize(("name", "arguments", "options"), READING, ids=ids(READING))
def test_what_is_read(name: str, arguments: tuple[Any, ...], options: dict[str, Any]) -> None:
    expected = getattr(np, name)(*arguments, **options)
    own = as_global(arguments, len(name))
    if name in ("insert", "delete"):  # whose indices are the same everywhere
        own = own[0], arguments[1], *own[2:]
    for numpys in pg, np:
        found = getattr(numpys, name)(*own, **options)
        if isinstance(expected, tuple):
            for part, wanted in zip(found, expected, strict=True):
                assert_equal(part, wanted)
        else:
            assert_equal(found, expected)


WRITING: list[tuple[str, tuple[Any, ...], dict[str, Any]]] = [
    ("put", (ROWS, [7, 8, 9]), {}),
    ("put", (ROWS * 20, np.array([[1, 2], [3, 4]])), {"mode": "wrap"}),
    ("put", (np.array([5, 5, 5]), np.array([1, 2, 3])), {}),
    ("put_along_axis", (X.argmax(axis=1, keepdims=True), -99), {"axis": 1}),
    ("put_along_axis", (np.array([3, -3]), np.array([1, 2])), {"axis": None}),
    ("place", (MASK, [7, 8, 9]), {}),
    ("place", (MASK, np.arange(100)), {}),
    ("putmask", (MASK, [7, 8, 9]), {}),
    ("putmask", (MASK, X * X), {}),
    ("putmask", (MASK, 5), {}),
    ("putmask", (MASK, np.float64(2.7)), {}),
    ("place", (MASK, np.float32(-3.5)), {}),
    ("copyto", (X[::-1].copy(),), {}),
    ("copyto", (X[0],), {"where": MASK}),
    ("copyto", (2,), {"where": MASK[0]}),
]


@pytest.mark.parametrize(("name", "arguments", "options"), WRITING, ids=ids(WRITING))
def test_what_is_written(name: str, arguments: tuple[Any, ...], options: dict[str, Any]) -> None:
    expected, a = X.copy(), as_global(X, len(name))
    getattr(np, name)(expected, *arguments, **options)
    getattr(np, name)(a, *as_global(arguments, len(name)), **{k: as_global(v, 3) for k, v in options.items()})
    assert_equal(a, expected)


ODD: list[Callable[[Any, Any], Any]] = [
    *(lambda x, numpys, k=k: np.add.at(x, k, 1) for k in (True, False, np.True_, (True,), [True, False, True])),
    *(lambda x, numpys, k=k: numpys.delete(x, k)
      for k in (True, (True,), None, ..., False, (0, 2), [True] * 3, [True] * 4, [], np.zeros(0), 1.0, [[0, 1]], [7])),
    *(lambda x, numpys, k=k: numpys.insert(x, k, 5)
      for k in (None, ..., np.True_, [[0, 1]], np.zeros(0), [], np.array([True]), 7, 1.0, "x", np.uint8(2))),
    *(lambda x, numpys, k=k: x.flat[k] for k in ([], [1], np.zeros(0))),
    *(lambda x, numpys, v=v: x.__setitem__(x > 0, v) for v in ([[5]], [5], 5, [[5, 6]])),
    *(lambda x, numpys, v=v: x.__setitem__(np.array([False, True, True]), v) for v in ([[5]], [5], [5, 6])),
]


@pytest.mark.parametrize("call", ODD, ids=range(len(ODD)))
def test_odd_arguments_mean_what_they_mean_to_numpy(call: Callable[[Any, Any], Any]) -> None:
    x = np.arange(3)
    a = pg.array(x)
    try:
        expected = call(x, np)
    except Exception as error:
        raises_everywhere(type(error), ".", lambda: call(a, pg))
    else:
        found = call(a, pg)
        if expected is not None:
            assert_equal(found, expected)
    assert_equal(a, x)


@pytest.mark.parametrize("mode", ["wrap", "clip"])
@pytest.mark.parametrize("indices", [np.array([1, 200, 255], np.uint8), np.array([-3, 100], np.int8)], ids=str)
def test_narrow_indices_of_many_elements(mode: str, indices: Any) -> None:
    x, a = np.arange(300), pg.arange(300)
    for given in indices, pg.array(indices):
        assert_equal(pg.take(a, given, mode=mode), np.take(x, indices, mode=mode))
        np.put(x, indices, 7, mode=mode)
        pg.put(a, given, 7, mode=mode)
        assert_equal(a, x)
    assert_equal(pg.choose(indices, [indices, x[0]], mode=mode), np.choose(indices, [indices, x[0]], mode=mode))


@pytest.mark.parametrize("size", [50, 70_000])
@pytest.mark.parametrize("mode", ["raise", "wrap", "clip"])
@pytest.mark.parametrize("indices", [[1.5, 2.5], 1.5, np.float64(2.5), [], [True, False], [[0, -1], [3, 4]]], ids=repr)
def test_indices_in_lists(size: int, mode: str, indices: Any) -> None:
    """Of floats, NumPy takes the integers in them; of small arrays, it is NumPy that is called."""
    x = np.arange(float(size))
    assert_equal(pg.take(pg.array(x), indices, mode=mode), np.take(x, indices, mode=mode))


def test_numbers_in_arrays_of_numpy() -> None:
    x, s = np.zeros(3), pg.ones(3).sum()
    for number in s, pg.array(3.0):
        np.copyto(x, number, where=[True, False, True])
        collectively(x.tolist() == [3, 0, 3] and np.full_like(x, number).tolist() == [3, 3, 3])
    raises_everywhere(TypeError, "same_kind", lambda: np.copyto(np.zeros(3, int), s))
    raises_everywhere(TypeError, "a global array, not a ndarray", lambda: np.copyto(x, pg.ones(3)))


def test_methods() -> None:
    a, x = as_global(X, 1), X.copy()
    assert_equal(a.take(ROWS, axis=1), x.take(ROWS, axis=1))
    assert_equal(a.compress([True, False], axis=0), x.compress([True, False], axis=0))
    assert_equal((a[0] % 2).choose([a[1], a[2]]), (x[0] % 2).choose([x[1], x[2]]))
    for found, expected in zip(a.nonzero(), x.nonzero(), strict=True):
        assert_equal(found, expected)
    a.put([0, -1], [50, 60])
    x.put([0, -1], [50, 60])
    assert_equal(a, x)
    assert (a.item(7), a.item(1, 2, 0), a.item((1, 2, 0))) == (x.item(7), x.item(1, 2, 0), x.item(1, 2, 0))


@pytest.mark.parametrize(("value", "error", "words"), [(300, OverflowError, "300 out of bounds"),
                                                       (-2**70, OverflowError, "too large"), ("x", ValueError, "'x'")])
def test_values_that_no_flat_element_takes_are_refused(value: Any, error: type[Exception], words: str) -> None:
    for key in slice(0, 0), [], slice(1, 3):
        with pytest.raises(error, match=words):
            np.zeros(4, np.int8).flat[key] = value
        raises_everywhere(error, words, lambda key=key: setitem(pg.zeros(4, np.int8).flat, key, value))


@pytest.mark.parametrize("value", [300, -2**70, None, 1j, [3], np.array([3]), (1, 2), [], [[1]]], ids=repr)
def test_values_that_no_single_flat_element_takes_are_refused(value: Any) -> None:
    for key in 0, -1, (2,):
        with pytest.raises(ValueError, match="Error setting single item"):
            np.zeros(4, np.int8).flat[key] = value
        raises_everywhere(ValueError, "Error setting single item",
                          lambda key=key: setitem(pg.zeros(4, np.int8).flat, key, value))


@pytest.mark.parametrize("indices", [[], [1], [9]])
@pytest.mark.parametrize(("value", "error"), [(300, OverflowError), (np.nan, ValueError), (1j, TypeError)])
def test_values_that_cannot_be_put_are_refused_wherever_they_go(indices: list[int], value: Any,
                                                                error: type[Exception]) -> None:
    for mode in "raise", "clip":
        with pytest.raises(error):
            np.put(np.zeros(4, np.int8), indices, value, mode)
        raises_everywhere(error, "int", lambda mode=mode: pg.put(pg.zeros(4, np.int8), indices, value, mode))
    raises_everywhere(ValueError, "clipmode", lambda: pg.put(pg.zeros(4, np.int8), indices, value, "other"))


def test_flat() -> None:
    a, x = as_global(X, 2), X.copy()
    for key in (5, -1, slice(3, 20, 4), ROWS, [1, 2], MASK.reshape(-1), ...):
        assert_equal(a.flat[key], np.asarray(x.flat[key]))
    for key, value in ((5, 7), (slice(3, 20, 4), [1, 2]), ([1, 2], 8), (MASK.reshape(-1), 0)):
        a.flat[key] = value
        x.flat[key] = value
    assert_equal(a, x)
    for value in [7, 8], []:
        raises_everywhere(ValueError, "Error setting single item", lambda value=value: setitem(a.flat, 2, value))
    with pytest.warns(RuntimeWarning, match="gathers"):
        assert [*a.flat] == [*x.flat]
    assert len(a.flat) == x.size
    a.flat = x.flat = 3
    assert_equal(a, np.full_like(X, 3))


def test_out() -> None:
    a, out = as_global(X, 3), pg.empty((5, 2, 2, 3), X.dtype)
    assert pg.take(a, ROWS, axis=1, out=out) is out
    assert_equal(out, X.take(ROWS, axis=1))


@pytest.mark.parametrize("mode", ["raise", "clip", "wrap"])
def test_out_of_another_dtype(mode: str) -> None:
    """It is cast to the array's before, in NumPy, safely, and from there in any way."""
    out = pg.zeros(2, np.int32)
    pg.take(pg.array([1.5, 2.5]), [1, 0], out=out, mode=mode)
    assert_equal(out, np.array([2, 1], np.int32))
    raises_everywhere(TypeError, "according to the rule 'safe'",
                      lambda: pg.take(pg.array([1, 2]), [1, 0], out=pg.zeros(2), mode=mode))


@pytest.mark.parametrize("seed", range(3))
def test_elements_with_their_indices(seed: int) -> None:
    a = as_global(X, seed)
    with pytest.warns(RuntimeWarning, match="gathers"):
        collectively([*pg.ndenumerate(a[1:])] == [*np.ndenumerate(X[1:])])
    raises_everywhere(TypeError, "ndenumerate takes a global array", lambda: pg.ndenumerate(X))


REFUSED: list[tuple[type[Exception], str, Callable[[Any], Any]]] = [
    (IndexError, "index 60 is out of bounds for axis 0 with size 60", lambda a: pg.take(a, [60])),
    (TypeError, "Cannot cast", lambda a: pg.take(a, np.array([0.5]))),
    (ValueError, "clipmode", lambda a: pg.take(a, [0], mode="other")),
    (IndexError, "out of bounds", lambda a: pg.put(a, [-61], 1)),
    (ValueError, "same number of dimensions", lambda a: pg.take_along_axis(a, pg.zeros(3, int), 0)),
    (IndexError, "integer array", lambda a: pg.take_along_axis(a, a * 0.5, 0)),
    (ValueError, "same size", lambda a: pg.place(a, [True], 1)),
    (ValueError, "empty array", lambda a: pg.place(a, a == a, [])),
    (ValueError, "same size", lambda a: pg.putmask(a, [True], 1)),
    (TypeError, "according to the rule 'same_kind'", lambda a: pg.copyto(a, 1.5)),
    (TypeError, "according to the rule 'same_kind'", lambda a: pg.copyto(a, a * 0.5)),
    (TypeError, "according to the rule 'safe'", lambda a: pg.copyto(a, 1, where=a)),
    (TypeError, "invalid entry 0 in condlist", lambda a: pg.select([a], [a])),
    (ValueError, "same length", lambda a: pg.select([a > 0], [])),
    (ValueError, "invalid entry in choice array", lambda a: pg.choose(a, [a, a])),
    (IndexError, "out of bounds", lambda a: pg.delete(a, 60)),
    (IndexError, "out of bounds", lambda a: pg.insert(a, 61, 0)),
    (ValueError, "condition must be a 1-d array", lambda a: pg.compress(a > 0, a)),
    (ValueError, "0d arrays", lambda a: pg.nonzero(a.sum())),
    (ValueError, "either both or neither", lambda a: pg.where(a > 0, a)),
    (IndexError, "index 60 is out of bounds", lambda a: a.item(60)),
]


@pytest.mark.parametrize(("error", "match", "call"), REFUSED, ids=range(len(REFUSED)))
def test_bad_arguments(error: type[Exception], match: str, call: Callable[[Any], Any]) -> None:
    a = as_global(X, 4)
    raises_everywhere(error, match, lambda: call(a))
    assert_equal(a, X)


@pytest.mark.parametrize("call", [
    lambda m, a, x: m.putmask(a, a > 2, x), lambda m, a, x: m.place(a, a > 2, x),
    lambda m, a, x: m.put(a, x.astype("L"), 1)])
def test_what_is_not_cast_safely_is_refused(call: Any) -> None:
    x = np.arange(4.0)
    with pytest.raises(TypeError, match="according to the rule 'safe'"):
        call(np, np.arange(4), x)
    for given in (x, pg.array(x)):
        raises_everywhere(TypeError, "according to the rule 'safe'", lambda given=given: call(pg, pg.arange(4), given))
    A = pg.arange(4)
    pg.putmask(A, A > 1, [7.5])
    assert_equal(A, np.array([0, 1, 7, 7]))


@pytest.mark.parametrize("x", [np.array([0, 1, "NaT", -5], "M8[D]"), np.array([0, 2, "NaT"], "m8[s]"),
                               np.array(["", "a", "0"]), np.array([b"", b"a"]), np.array([0, np.nan, -0.0])])
def test_zeros_of_all_dtypes(x: NDArray[Any]) -> None:
    a = pg.array(x, layout=pg.Distribution("cyclic"))
    for name in ("flatnonzero", "argwhere", "count_nonzero", "trim_zeros"):
        assert_equal(getattr(pg, name)(a), getattr(np, name)(x))


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("write", [pg.place, pg.putmask, lambda a, mask, few: pg.put(a, np.flatnonzero(mask), few),
                                   lambda a, mask, few: setitem(a.flat, mask, few)])
def test_few_values_for_many_elements(write: Callable[..., None], seed: int) -> None:
    """They come again, and are those that there were when it was said."""
    x = np.zeros(40_000)
    mask = np.random.default_rng(seed).random(x.size) < 0.9
    A, few = as_global(x, seed), np.array([1.5, 2, 3, 5, 7])
    write(A, mask, few)
    again = few.copy()
    few[...] = -1
    if write is pg.putmask:
        np.putmask(x, mask, again)
    else:
        np.place(x, mask, again)
    assert_equal(A, x)


def test_objects_come_again() -> None:
    for n in 9, 40_000:
        x, few = np.zeros(n), np.array([2**70, 1, 2], object)
        A = as_global(x, 0)
        pg.put(A, np.arange(n - 2), few)
        np.put(x, np.arange(n - 2), few)
        A.flat[::2], x.flat[::2] = few, np.resize(few, len(x[::2]))
        assert_equal(A, x)


def test_nothing_is_put_into_numbers() -> None:
    a = pg.arange(3.0)
    for number in a[1], a.sum():
        for put, *places in (pg.put, 0), (np.put, 0), (pg.place, True):
            raises_everywhere(TypeError, "a number does not support assignment", partial(put, number, places, [5.0]))
    pg.put(a[1, ...], [0], 5.0)
    assert_equal(a, [0.0, 5.0, 2.0])


@pytest.mark.parametrize("n", [5, 9000, 70_000])
@pytest.mark.parametrize("section", [np.s_[::-1], np.s_[1::2], np.s_[:, None], np.s_[[4, 0]]])
def test_what_is_searched_for_may_be_any_view(n: int, section: Any) -> None:
    """A few values in much, too, which are counted where it lies."""
    sorted_, values = np.arange(2.0 * n)[::2], np.array([3.0, -1.0, 8.0, 4.0, 3.0])
    found = pg.searchsorted(pg.array(sorted_), pg.array(values)[section], "right")
    assert_equal(found, np.searchsorted(sorted_, values[section], "right"))
