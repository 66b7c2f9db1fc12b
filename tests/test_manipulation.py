"""NumPy's functions on whole arrays, against NumPy, on all layouts."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import pgaspy as pg
from tests.layouts import NAMES, layout_of
from tests.together import assert_equal, collectively, raises_everywhere

pytestmark = pytest.mark.mpi

X = np.arange(30.0).reshape(6, 5)
Z = np.arange(24).reshape(2, 3, 4)


def arrays(name: str) -> tuple[Any, Any]:
    return pg.array(X, layout=layout_of(name, X.shape)), pg.array(Z, layout=layout_of(name, Z.shape))


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("shift", [0, 1, -1, 4, 17, -100])
def test_roll(name: str, shift: int) -> None:
    a, c = arrays(name)
    for axis in (0, 1, -1, None):
        assert_equal(pg.roll(a, shift, axis), np.roll(X, shift, axis))
    assert_equal(pg.roll(a, (shift, 2), (0, 1)), np.roll(X, (shift, 2), (0, 1)))
    assert_equal(pg.roll(a, shift, (0, 1)), np.roll(X, shift, (0, 1)))
    assert_equal(pg.roll(a, (shift, 2, 1), (0, 0, 1)), np.roll(X, (shift, 2, 1), (0, 0, 1)))
    assert_equal(pg.roll(a, shift + 0.7, (0, 0)), np.roll(X, shift + 0.7, (0, 0)))  # type: ignore[arg-type]
    assert_equal(np.roll(c[:, ::-1], shift, 2), np.roll(Z[:, ::-1], shift, 2))
    assert_equal(pg.roll(a[:0], shift, 0), np.roll(X[:0], shift, 0))


def test_a_roll_is_one_operation() -> None:
    """However many dimensions it is along, and with one message at most to each other process."""
    a = pg.array(X)
    pg.sync()
    before = pg.stats()
    rolled = pg.roll(a, (1, 2), (0, 1))
    pg.sync()
    done = pg.stats() - before
    collectively(done.n_recorded == 1 and done.n_sends < pg.SIZE, str(done))
    assert_equal(rolled, np.roll(X, (1, 2), (0, 1)))


@pytest.mark.parametrize("name", NAMES)
def test_flip(name: str) -> None:
    _, c = arrays(name)
    for axis in (None, 0, 1, -1, (0, 2), (1,)):
        assert_equal(pg.flip(c, axis), np.flip(Z, axis))
    collectively(pg.flip(c)._base is c._base)


@pytest.mark.parametrize("first", NAMES)
@pytest.mark.parametrize("second", NAMES)
def test_concatenate_and_stack(first: str, second: str) -> None:
    a, _ = arrays(first)
    b, _ = arrays(second)
    for axis in (0, 1, -1, None):
        assert_equal(pg.concatenate([a, b, a[:, ::-1]], axis), np.concatenate([X, X, X[:, ::-1]], axis))
    assert_equal(pg.concatenate([a[:0], b[1:3]]), np.concatenate([X[:0], X[1:3]]))
    assert_equal(pg.concatenate([a, b[:, :2].astype(int)], 1), np.concatenate([X, X[:, :2].astype(int)], 1))
    for axis in (0, 1, 2, -1, -3):
        assert_equal(pg.stack([a, b], axis), np.stack([X, X], axis))
    assert_equal(np.stack([a[0], X[1]]), np.stack([X[0], X[1]])) if first == second else None


def test_astype() -> None:
    a = pg.array(X)
    assert_equal(np.astype(a, np.int8), X.astype(np.int8))
    collectively(pg.astype(a, float, copy=False) is a and pg.astype(a, float, device="cpu")._base is not a._base)
    raises_everywhere(TypeError, "global array", lambda: pg.astype(X, float))
    raises_everywhere(ValueError, "cuda", lambda: pg.astype(a, float, device="cuda"))


def test_dtypes_of_joins() -> None:
    a = pg.array(X)
    assert_equal(pg.concatenate([a, a], dtype="f"), np.concatenate([X, X], dtype="f"))
    assert_equal(pg.stack([a.astype("B"), a.astype("i")]), np.stack([X.astype("B"), X.astype("i")]))
    assert_equal(pg.concatenate([X, a]), np.concatenate([X, X]))


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("reps", [0, 1, 2, 3, 7, (2, 1), (1, 3), (2, 2, 2), (2, 0), ()], ids=str)
def test_tile(name: str, reps: Any) -> None:
    a, c = arrays(name)
    assert_equal(pg.tile(a, reps), np.tile(X, reps))
    assert_equal(np.tile(c[0, ::2], reps), np.tile(Z[0, ::2], reps))
    collectively(pg.tile(a, reps)._base is not a._base)


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("repeats", [0, 1, 2, 5, 40])
def test_repeat(name: str, repeats: int) -> None:
    a, c = arrays(name)
    for axis in (0, 1, -1, None):
        assert_equal(pg.repeat(a, repeats, axis), np.repeat(X, repeats, axis))
    assert_equal(pg.repeat(c[:, 1:, ::-1], repeats, 1), np.repeat(Z[:, 1:, ::-1], repeats, 1))
    assert_equal(pg.repeat(a[1:2], repeats, 0), np.repeat(X[1:2], repeats, 0))


@pytest.mark.skipif(pg.SIZE > 1, reason="several processes exchange elements")
def test_what_is_repeated_by_one_process_is_repeated_at_once() -> None:
    x = np.arange(100_000)
    a, counts = pg.array(x), pg.array(x % 3)
    pg.sync()
    before = pg.stats()
    found = pg.repeat(a, counts)
    done = pg.stats() - before
    collectively(done.n_recorded == done.n_at_once == 1)
    assert_equal(found, np.repeat(x, x % 3))


def test_copies_take_no_statement_each() -> None:
    a = pg.array(X)

    def n_recorded(make: Callable[[], pg.GlobalArray]) -> int:
        before = pg.stats().n_recorded
        found = make()
        pg.sync()
        return pg.stats().n_recorded - before if found.size else 0

    for make in (lambda: pg.tile(a, (1000, 1)), lambda: pg.tile(a[:1], (1000, 1)), lambda: pg.repeat(a, 1000, 0),
                 lambda: pg.repeat(a[:1], 1000, 0)):
        collectively(0 < n_recorded(make) < 40)


@pytest.mark.parametrize("name", NAMES)
def test_repeat_with_a_number_for_each(name: str) -> None:
    a, c = arrays(name)
    for counts in ([0, 3, 1, 0, 2, 1], np.arange(6) % 3, [2], [True] * 6, np.zeros(6, int)):
        assert_equal(pg.repeat(a, counts, 0), np.repeat(X, counts, 0))
        of_each = np.resize(counts, Z.size)
        assert_equal(np.repeat(c, pg.array(of_each)), np.repeat(Z, of_each))
    assert_equal(pg.repeat(c[:, ::-1], pg.array([0, 2, 1]), -2), np.repeat(Z[:, ::-1], [0, 2, 1], -2))
    assert_equal(pg.repeat(a[:0], [], 0), np.repeat(X[:0], np.empty(0, int), 0))


@pytest.mark.parametrize("name", NAMES)
def test_where(name: str) -> None:
    a, _ = arrays(name)
    for x, y, mx, my in ((a, -a, X, -X), (a, 0, X, 0), (1, a, 1, X), (a[0], a[:, :1], X[0], X[:, :1]), (1, 2.5, 1, 2.5),
                         (True, False, True, False), (a, 1j, X, 1j), (X, a, X, X)):
        assert_equal(pg.where(a > 7, x, y), np.where(X > 7, mx, my))
        assert_equal(pg.where(X > 7, x, y), np.where(X > 7, mx, my))
    assert_equal(pg.where(a, a, -1), np.where(X, X, -1))
    assert_equal(pg.where(a[0] > 2, a, -a), np.where(X[0] > 2, X, -X))
    assert_equal(pg.where(X > 3, 1, 2), np.where(X > 3, 1, 2))


@pytest.mark.parametrize("name", NAMES)
def test_views(name: str) -> None:
    a, c = arrays(name)
    assert_equal(pg.transpose(c), Z.T)
    assert_equal(pg.transpose(c, (1, 2, 0)), np.transpose(Z, (1, 2, 0)))
    assert_equal(pg.swapaxes(c, 0, 2), np.swapaxes(Z, 0, 2))
    for axis in (0, 1, -1, (0, 2), (0, -1)):
        assert_equal(pg.expand_dims(a, axis), np.expand_dims(X, axis))
    assert_equal(pg.squeeze(c[:1, :, 2:3]), np.squeeze(Z[:1, :, 2:3]))
    assert_equal(pg.broadcast_to(a[1], (3, 5)), np.broadcast_to(X[1], (3, 5)))
    assert_equal(pg.broadcast_to(a[:, None], (6, 2, 5)), np.broadcast_to(X[:, None], (6, 2, 5)))
    assert_equal(pg.broadcast_to(a[1], (3, 5)) + a[:3], X[1] + X[:3])
    assert_equal(pg.broadcast_to(a[1], (3, 5)).copy(), np.broadcast_to(X[1], (3, 5)))
    assert_equal(pg.broadcast_to(a[1], (3, 5)).sum(axis=0), 3 * X[1])
    assert_equal(pg.reshape(a, (5, 6)), X.reshape(5, 6))
    assert_equal(pg.ravel(c), Z.ravel())
    assert_equal(a.flatten(), X.flatten())


def test_products() -> None:
    a = pg.array(X)
    assert_equal(pg.outer(a[0], a[:, 1]), np.outer(X[0], X[:, 1]))
    assert_equal(np.outer(a[:2], [1, 2]), np.outer(X[:2], [1, 2]))


@pytest.mark.parametrize("name", NAMES)
def test_kron(name: str) -> None:
    a, c = arrays(name)
    assert_equal(pg.kron(a, a[::-1, 1:3]), np.kron(X, X[::-1, 1:3]))
    assert_equal(np.kron(c, a[:2]), np.kron(Z, X[:2]))
    assert_equal(np.kron(a[0], c), np.kron(X[0], Z))
    assert_equal(pg.kron(a.T, 2), np.kron(X.T, 2))
    assert_equal(pg.kron(a[:0], [1j, 2]), np.kron(X[:0], [1j, 2]))
    assert_equal(pg.kron(3, 2.0), np.kron(3, 2.0))
    assert_equal(pg.dot(a[0], a[1]), np.asarray(X[0] @ X[1]), exact=False)
    assert_equal(pg.dot(3, a), 3 * X)


def test_parts_of_complex_numbers() -> None:
    z = X + 1j * X[::-1]
    assert_equal(pg.real(pg.array(z)), z.real)
    assert_equal(pg.imag(pg.array(z)), z.imag)
    assert_equal(np.imag(pg.array(X)), X.imag)


def test_functions_take_numpy_arrays() -> None:
    for function, expected in ((pg.sum, X.sum()), (pg.mean, X.mean()), (pg.argmax, X.argmax())):
        assert_equal(function(X), np.asarray(expected), exact=False)
    assert_equal(pg.roll(X, 2, 0), np.roll(X, 2, 0))
    assert_equal(pg.clip(X, 3, 9), X.clip(3, 9))
    assert_equal(pg.copy(X), X)
    collectively((pg.shape(X), pg.ndim(X), pg.size(X), pg.size(X, 0)) == ((6, 5), 2, 30, 6))


def test_results_keep_the_distribution() -> None:
    a = pg.array(X, layout=pg.Distribution("cyclic(2)", "*"))
    for result in (pg.roll(a, 1, 0), pg.concatenate([a, a]), pg.repeat(a, 2, 0), pg.roll(a, 1, 1)):
        collectively(str(result.layout.dims[0]) == "cyclic(2)" and str(result.layout.dims[1]) == "*", repr(result))


def test_wrong_arguments() -> None:
    a = pg.array(X)
    raises_everywhere(ValueError, "must match exactly", lambda: pg.concatenate([a, a[:, 1:]]))
    raises_everywhere(ValueError, "zero-dimensional", lambda: pg.concatenate([a[0, 0], a[0, 0]]))
    raises_everywhere(ValueError, "out of bounds", lambda: pg.roll(a, 1, 2))
    raises_everywhere(ValueError, "out of bounds", lambda: pg.stack([a, a], 4))
    raises_everywhere(ValueError, "broadcast|mismatch", lambda: pg.roll(a, (1, 2, 3), (0, 1)))
    assert_equal(a, X)


def test_products_that_are_assigned() -> None:
    a, c = pg.array(X), pg.empty((X.shape[0], X.shape[0]))
    collectively(pg.matmul(a, a.T, out=c) is c)
    assert_equal(c, X @ X.T)
    collectively(pg.outer(a[:, 0], a[:, 1], out=c) is c)
    assert_equal(c, np.outer(X[:, 0], X[:, 1]))
    raises_everywhere(ValueError, "out= has shape", lambda: pg.matmul(a, a.T, out=c[1:]))
    raises_everywhere(TypeError, "within a kind", lambda: np.outer(a[0], a[0], out=pg.empty((X.shape[1],) * 2, int)))


WRITES: dict[str, Callable[[Any], object]] = {
    "all": lambda b: b.__setitem__(..., 7),
    "a row": lambda b: b[0].__setitem__(slice(None), b[0]),
    "an element": lambda b: b.__setitem__((0,) * b.ndim, 7),
    "in place": lambda b: b[0].__iadd__(1),
    "in place of columns": lambda b: b.T[0].__imul__(b.T[0]),
    "out": lambda b: np.add(b[0], 1, out=b[0]),
    "by a mask": lambda b: b.__setitem__(b > 2, 0),
    "by indices": lambda b: b.__setitem__([0], 0),
    "sorted": lambda b: b[0].sort(),
    "copyto": lambda b: np.copyto(b[0], 1),
    "put": lambda b: np.put(b, [0], 9),
    "local": lambda b: b[0].local().__setitem__(..., 1),
}


@pytest.mark.parametrize("copies", [lambda b: b.copy(), lambda b: b.astype(int), np.zeros_like,
                                    lambda b: np.cumsum(b, axis=0)])
@pytest.mark.parametrize("writes", WRITES)
def test_copies_of_what_is_broadcast_are_written_to(copies: Callable[[Any], Any], writes: str) -> None:
    a = pg.array(X)
    found = copies(np.broadcast_to(a, a.shape))
    found.layout  # noqa: B018  (which gives it a view)
    with np.errstate(divide="call"):  # where small arrays are recorded as well
        WRITES[writes](found)
    assert_equal(a, X)


@pytest.mark.parametrize("writes", WRITES)
@pytest.mark.parametrize("shape", [X.shape, (2, *X.shape)])
def test_nothing_is_written_through_what_is_broadcast(writes: str, shape: tuple[int, ...]) -> None:
    a = pg.array(X)
    b = np.broadcast_to(a, shape)
    raises_everywhere(ValueError, "read-only", lambda: WRITES[writes](b))
    assert_equal(a, X)
    a[0] = 5  # an equal view of it
    a[...] += 1
    copied = b.copy()
    copied[0] = 1
    assert_equal(b[-1], np.where(np.arange(6)[:, None] == 0, 6.0, X + 1) if len(shape) > 2 else X[-1] + 1)


@pytest.mark.parametrize(("dtype", "number"), [("u1", -3), ("u8", 3), ("f4", 300), ("i2", 2.5), ("c8", 1), ("?", True)])
def test_numbers_that_are_joined_have_the_arrays_dtype(dtype: str, number: Any) -> None:
    x = np.array([1, 2], dtype)
    for joined in [number], [number, 1, 7.0]:
        assert_equal(pg.concatenate((pg.array(x), *joined), axis=None), np.concatenate((x, *joined), axis=None))
    assert_equal(pg.concatenate((number, pg.array(x)), axis=None), np.concatenate((number, x), axis=None))
    assert_equal(pg.union1d(pg.array(x), number), np.union1d(x, number))
    assert_equal(pg.append(pg.array(x), number), np.append(x, number))
