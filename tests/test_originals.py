"""What is written to copies that NumPy has as views is told, once, while what they were made of is there."""

from __future__ import annotations

import gc
import itertools
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import pgaspy as pg
from pgaspy.originals import is_vector, is_view
from tests.together import assert_equal

pytestmark = pytest.mark.mpi

EXTENTS = 6, 40000
"""Of arrays that are NumPy's on one process, and that are not."""


def told(statement: Callable[..., Any], *arguments: Any) -> list[str]:
    """The files of the lines that are warned of, in a statement."""
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        statement(*arguments)
    assert all(w.category is RuntimeWarning and "the one that was reshaped" in str(w.message) for w in found)
    return [w.filename for w in found]


def in_place(v: Any) -> None:
    v += 1


def power(v: Any) -> None:
    v **= 2


def real(v: Any) -> None:
    v.real = 1


def flat(v: Any) -> None:
    v.flat = 3


WRITERS: dict[str, Callable[[Any], Any]] = {
    "slice": lambda v: v.__setitem__(slice(None, None, 5), 1), "element": lambda v: v.__setitem__(2, 1),
    "array": lambda v: v.__setitem__(slice(None), v[::-1]), "mask": lambda v: v.__setitem__(v > 1, 0),
    "indices": lambda v: v.__setitem__([1, 2], [3, 4]), "section": lambda v: v[2:][:3].__setitem__(0, 1),
    "reversed": lambda v: in_place(v[::-1]), "dimension": lambda v: in_place(v[None]),
    "in place": in_place, "power": power, "out": lambda v: np.add(v, 1, out=v),
    "another function": lambda v: np.fmod(v, 3, out=v[:]), "at": lambda v: np.add.at(v, [1, 1], 1),
    "clip": lambda v: v.clip(0, 1, out=v), "cumsum": lambda v: v.cumsum(out=v), "sum": lambda v: v.sum(out=v[1, ...]),
    "sort": lambda v: v.sort(), "partition": lambda v: v.partition(2), "fill": lambda v: v.fill(2), "flat": flat,
    "some of flat": lambda v: v.flat.__setitem__(slice(1, 3), [1, 2]), "real": real, "put": lambda v: v.put([1], 2),
    "copyto": lambda v: np.copyto(v, 3), "copyto where": lambda v: np.copyto(v, 3, where=v > 1),
    "place": lambda v: np.place(v, v > 1, [3]), "putmask": lambda v: np.putmask(v, v > 1, [3]),
    "put along": lambda v: np.put_along_axis(v, np.array([1]), 3, 0),
    "put along none": lambda v: np.put_along_axis(v, np.array([1]), 3, None),
    "concatenate": lambda v: np.concatenate([v[:2], v[:2]], out=v[:4])}


@pytest.mark.parametrize("extent", EXTENTS)
@pytest.mark.parametrize("write", WRITERS.values(), ids=WRITERS.keys())
def test_each_writer_tells_once(write: Callable[[Any], Any], extent: int) -> None:
    a, model = pg.ones((4, extent)), np.ones(4 * extent)
    v = a.ravel()
    assert told(write, v) == [__file__]
    assert told(write, v) == told(in_place, v) == []
    for statement in (write, write, in_place):
        statement(model)
    assert_equal(v, model)
    assert_equal(a, np.ones((4, extent)))


@pytest.mark.parametrize("extent", EXTENTS)
def test_views_of_complex_elements(extent: int) -> None:
    a = pg.ones((4, extent), dtype=complex)
    assert len(told(in_place, a.ravel().real)) == len(told(flat, a.reshape(-1).imag)) == 1
    assert len(told(in_place, a.real.reshape(-1))) == 1
    assert told(in_place, a.real.ravel()) == []


COPIES: dict[str, Callable[[Any], Any]] = {
    "reshape": lambda a: a.reshape(2, 2, -1), "sequence": lambda a: a.reshape((-1,)), "ravel": lambda a: a.ravel(),
    "function": lambda a: np.reshape(a, (-1, 2)), "other function": np.ravel,
    "F": lambda a: a.T.reshape(-1, order="F"), "ravel F": lambda a: a.T.ravel(order="F"),
    "F of F": lambda a: np.ravel(a.T, order="F"), "rows": lambda a: a[1:3].ravel(),
    "row": lambda a: a[1].reshape(-1, 2),
    "columns": lambda a: a[:, ::2].reshape(2, 2, -1), "twice": lambda a: a.reshape(2, -1).reshape(-1),
    "transposed": lambda a: a.reshape(2, -1).T, "turned": lambda a: a[::-1, ::-1].reshape(-1)}


@pytest.mark.parametrize("extent", EXTENTS)
@pytest.mark.parametrize("copy", COPIES.values(), ids=COPIES.keys())
def test_each_copy_is_told_of(copy: Callable[[Any], Any], extent: int) -> None:
    model = np.ones((4, extent))
    assert np.shares_memory(copy(model), model)
    a = pg.ones((4, extent))
    assert told(in_place, copy(a)) == [__file__]
    assert_equal(a, model)


OTHERS: dict[str, Callable[[Any], Any]] = {
    "flatten": lambda a: a.flatten(), "copy": lambda a: a.reshape(-1).copy(), "cast": lambda a: a.ravel().astype(int),
    "copy=True": lambda a: np.reshape(a, -1, copy=True), "result": lambda a: a.ravel() + 1, "T": lambda a: a.T.ravel(),
    "F": lambda a: a.ravel(order="F"), "columns": lambda a: a[:, 1:].ravel(),
    "every second": lambda a: a[:, ::2].ravel(), "new": lambda a: (a + 1).ravel(), "flat": lambda a: a.flat[:],
    "of all": lambda a: np.concatenate([a], axis=None)}


@pytest.mark.parametrize("extent", EXTENTS)
@pytest.mark.parametrize("copy", OTHERS.values(), ids=OTHERS.keys())
def test_what_is_a_copy_for_numpy_is_not(copy: Callable[[Any], Any], extent: int) -> None:
    a = pg.ones((4, extent))
    assert told(in_place, copy(a)) == []


@pytest.mark.parametrize("extent", EXTENTS)
def test_what_is_a_view_is_not(extent: int) -> None:
    a = pg.ones((4, extent))
    assert told(in_place, a.reshape(4, 1, extent)) == []
    assert_equal(a, np.full((4, extent), 2.0))


@pytest.mark.parametrize("extent", EXTENTS)
def test_nor_what_is_made_of_an_array_that_is_gone(extent: int) -> None:
    x = pg.arange(4.0 * extent).reshape(4, extent)
    assert told(in_place, x) == []
    a = pg.ones((4, extent))
    v = a.reshape(-1)
    del a
    gc.collect()
    assert told(in_place, v) == []
    assert_equal(v, np.full(4 * extent, 2.0))


@pytest.mark.parametrize("extent", EXTENTS)
def test_a_copy_that_has_been_told_of_is_an_original_itself(extent: int) -> None:
    a = pg.ones((4, extent))
    v = a.reshape(-1)
    assert len(told(in_place, v)) == 1
    w = v.reshape(4, -1)
    assert len(told(in_place, w[1:])) == 1
    del v
    assert told(in_place, w) == []


@pytest.mark.parametrize("extent", EXTENTS)
def test_sections_that_were_made_before_are_written_to(extent: int) -> None:
    a = pg.ones((4, extent))
    v = a.reshape(-1)
    first, last = v[:2], v[-2:]
    assert len(told(in_place, first)) == 1
    assert told(in_place, last) == told(in_place, v) == []
    assert_equal(first, [3.0, 3.0])
    assert_equal(last, [3.0, 3.0])


@pytest.mark.parametrize("extent", EXTENTS)
def test_what_is_raised_leaves_the_copy_as_it_was(extent: int) -> None:
    a = pg.ones((4, extent))
    v = a.ravel()
    with pytest.raises(RuntimeWarning, match="reshaped"):
        v[0] = 5
    v[1] = 7
    assert_equal(v[:3], [1.0, 7.0, 1.0])


def test_what_is_read_only_stays_so() -> None:
    a = pg.broadcast_to(pg.ones(4), (3, 4))
    v = pg.ones((2, 6)).reshape(3, 4)
    with pytest.raises(ValueError, match="read-only"):
        a[0] = 1
    with pytest.raises(ValueError, match="read-only"):
        pg.broadcast_to(v, (2, 3, 4))[0] = 1
    assert told(in_place, a.reshape(-1)) == []


@pytest.mark.parametrize("extent", EXTENTS)
def test_tasks_write_to_copies(extent: int) -> None:
    a = pg.ones((4, extent))
    v = a.ravel()
    assert len(told(lambda: pg.schedule(in_place, pg.update(v)))) == 1
    assert told(lambda: pg.schedule(in_place, pg.update(v))) == []
    assert_equal(v, np.full(4 * extent, 3.0))


def test_local_parts_may_be_written_to() -> None:
    a = pg.ones((4, 6))
    v = a.ravel()
    assert told(lambda: v.local().__setitem__(..., 3)) == []
    assert_equal(v, np.full(24, 3.0))


STEPS = [(slice(None), slice(None), slice(None)), (slice(1, 3), slice(None), slice(None)), (0,), (..., 0),
         (slice(None), slice(None), slice(None, None, 2)), (slice(None), slice(1, 2)), (slice(None, None, -1),),
         (..., None)]
SHAPES = [(-1,), (24,), (4, 6), (6, 4), (2, 3, 4), (2, 12), (3, 8), (1, 2, 2, -1), (2, 2, 3, 2), (3, 1, -1), (4, -1)]


@pytest.mark.parametrize(("key", "order"), [*itertools.product(STEPS, itertools.permutations(range(3)))])
def test_views_are_those_of_numpy(key: Any, order: tuple[int, ...]) -> None:
    x = np.arange(24.0).reshape(2, 3, 4).transpose(order)[key]
    for shape in SHAPES:
        try:
            found = x.reshape(shape)
        except ValueError:
            continue
        assert is_view(x.shape, x.strides, x.itemsize, found.shape) == np.shares_memory(x, found)
    assert is_vector(x.shape, x.strides, x.itemsize, (x.size,)) == np.shares_memory(x, x.ravel())


@pytest.mark.parametrize("section", [
    np.s_[0, ::2], np.s_[:, 1], np.s_[2, ::-1], np.s_[2], np.s_[2, 1:3], np.s_[2, 1:2], np.s_[2:3, 1:4],
    np.s_[1:4, 2:3], np.s_[None, 2], np.s_[2, 2:1:-1], np.s_[2, 1:1]])
@pytest.mark.parametrize("order", ["C", "F"])
def test_ravel_is_a_copy_of_what_lies_apart_as_in_numpy(section: Any, order: Any) -> None:
    model = np.arange(20.0).reshape(4, 5).copy()
    array = pg.array(model)
    expected, found = model[section].ravel(order=order), array[section].ravel(order=order)
    expected[-1:] = found[-1:] = 99
    assert_equal(found, expected)
    assert_equal(array, model)


@pytest.mark.parametrize("n", [1, 4, 300])
def test_ravel_of_a_diagonal_is_a_copy_that_may_be_written_to(n: int) -> None:
    model = np.arange(2.0 * n * n).reshape(n, 2 * n)
    array = pg.array(model)
    expected, found = model.diagonal(1).ravel(), array.diagonal(1).ravel()
    if n > 1:  # one element lies apart from none
        expected[0] = found[0] = 99
    assert_equal(found, expected)
    assert_equal(array, model)


@pytest.mark.parametrize("extent", [5, 40000])
@pytest.mark.parametrize("view", [
    lambda x: x.real, lambda x: x.imag, lambda x: x.real[:1], lambda x: x[::2].imag, lambda x: x.real.T])
def test_so_it_is_of_parts_of_complex_elements(view: Callable[[Any], Any], extent: int) -> None:
    model = np.arange(float(extent)) + 1j
    array = pg.array(model)
    expected, found = view(model).ravel(), view(array).ravel()
    expected[-1:] = found[-1:] = 99
    assert_equal(found, expected)
    assert_equal(array, model)
