"""The keys of the Array API standard: what is read, and written to, as array-api-strict has it."""

from __future__ import annotations

import warnings
from typing import Any

import array_api_strict
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import pgaspy as pg
from tests.together import assert_equal, collectively, raises_everywhere

pytestmark = pytest.mark.mpi

DRAWN = settings(derandomize=True, database=None, deadline=None, max_examples=20)


@st.composite
def slices(draw: Any, n: int) -> slice:
    """A slice within a dimension of n elements, as the standard has it."""
    step = draw(st.sampled_from((None, 1, 2, 3, -1, -2)))
    backwards = step is not None and step < 0
    start = st.integers(-n, max(0, n - 1))
    stop = st.integers(-n, n - 1) if backwards and n else st.integers(-n, n)
    return slice(draw(st.none() | start), draw(st.none() | stop), step)


@st.composite
def basic_keys(draw: Any, shape: tuple[int, ...], new_dims: bool) -> Any:
    """Integers, slices, at most one ellipsis, and None."""
    terms = [draw(slices(n) if n == 0 else slices(n) | st.integers(-n, n - 1)) for n in shape]
    if draw(st.booleans()) or not terms:
        first = draw(st.integers(0, len(terms)))
        terms[first:draw(st.integers(first, len(terms)))] = [...]
    if new_dims:
        for _ in range(draw(st.integers(0, 2))):
            terms.insert(draw(st.integers(0, len(terms))), None)
    return terms[0] if len(terms) == 1 and draw(st.booleans()) else tuple(terms)


@st.composite
def index_arrays(draw: Any, shape: tuple[int, ...]) -> tuple[Any, ...]:
    """Arrays of integers that broadcast together, and integers, one for each dimension."""
    joint = draw(st.sampled_from(((), (1,), (3,), (2, 3), (0,))))
    terms: list[Any] = []
    for n in shape:
        if draw(st.integers(0, 3)) == 0:
            terms.append(draw(st.integers(-n, n - 1)))
            continue
        extents = draw(st.sampled_from((joint, joint[1:], tuple(1 for _ in joint))))
        indices = draw(st.lists(st.integers(-n, n - 1), min_size=6, max_size=6))
        terms.append(np.resize(np.array(indices, np.int64), extents))
    return tuple(terms)


SHAPES = st.lists(st.integers(0, 4), max_size=3).map(tuple)
SOME = st.lists(st.integers(1, 4), min_size=1, max_size=3).map(tuple)


def of(shape: tuple[int, ...]) -> Any:
    """A NumPy array with different elements."""
    return np.arange(float(np.prod(shape, dtype=int))).reshape(shape)


def in_library(key: Any, make: Any) -> Any:
    """A key whose NumPy arrays are those of a library."""
    if isinstance(key, tuple):
        return tuple(in_library(term, make) for term in key)
    return make(key) if isinstance(key, np.ndarray) else key


def assert_read(values: Any, key: Any) -> None:
    expected = array_api_strict.asarray(values)[in_library(key, array_api_strict.asarray)]
    assert_equal(pg.array(values)[in_library(key, pg.array)], expected._array)


def assert_written(values: Any, key: Any, given: Any) -> None:
    """Of an array and of a number."""
    for x in (given, 7.0):
        ours, theirs = pg.array(values), array_api_strict.asarray(values.copy())
        ours[in_library(key, pg.array)] = pg.array(x) if isinstance(x, np.ndarray) else x
        theirs[in_library(key, array_api_strict.asarray)] = array_api_strict.asarray(x)
        assert_equal(ours, theirs._array)


@DRAWN
@given(shape=SHAPES, data=st.data())
def test_basic_keys(shape: tuple[int, ...], data: Any) -> None:
    assert_read(of(shape), data.draw(basic_keys(shape, True)))


@DRAWN
@given(shape=SHAPES, data=st.data())
def test_assignment_to_basic_keys(shape: tuple[int, ...], data: Any) -> None:
    key = data.draw(basic_keys(shape, False))
    assert_written(of(shape), key, -1 - of(of(shape)[key].shape))


@DRAWN
@given(shape=SOME, data=st.data())
def test_index_arrays(shape: tuple[int, ...], data: Any) -> None:
    assert_read(of(shape), data.draw(index_arrays(shape)))


@DRAWN
@given(shape=SHAPES, data=st.data())
def test_masks(shape: tuple[int, ...], data: Any) -> None:
    """Of all dimensions, or of the first ones; of no dimension."""
    masked = shape[:data.draw(st.integers(0, len(shape)))]
    n = int(np.prod(masked, dtype=int))
    mask = np.array(data.draw(st.lists(st.booleans(), min_size=n, max_size=n)), bool).reshape(masked)
    with warnings.catch_warnings(action="ignore"):
        assert_read(of(shape), mask)
        assert_written(of(shape), mask, np.float64(-2.0))


@pytest.mark.parametrize(("key", "error"), [
    (3, IndexError), (-4, IndexError), ((0, 4), IndexError), ((0, 0, 0), IndexError), ((..., ...), IndexError),
    (1.0, IndexError), (np.array([0.5]), IndexError), (np.array([3]), IndexError), (slice(None, None, 0), ValueError),
    (np.array([True, False]), IndexError), ("a", IndexError)])
def test_keys_that_are_refused(key: Any, error: type[Exception]) -> None:
    """As NumPy refuses them, on all processes."""
    values = np.arange(12.0).reshape(3, 4)
    with pytest.raises(error):
        values[key]
    A = pg.array(values)

    def read() -> None:
        A[in_library(key, pg.array)].gather()
    raises_everywhere(error, ".", read)


def test_elements_of_no_dimension() -> None:
    A = pg.array(3.5)
    assert_equal(A[()], np.array(3.5))
    assert_equal(A[...], np.array(3.5))
    assert_equal(A[None, ...], np.array([3.5]))
    A[()] = 4.5
    collectively(float(A) == 4.5)
