"""The functions of the Array API standard: signatures, and results as array-api-strict has them.

Arrays, of all dtypes and with special values, are drawn by Hypothesis, the same on every process.
"""

from __future__ import annotations

import functools
import itertools
import math
import warnings
from collections.abc import Sequence
from typing import Any

import array_api_strict
import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

import pgaspy as pg
from tests.standard.functions import CALLS, ELEMENTWISE, FUNCTIONS, found, parameters
from tests.standard.spelled import Spelled
from tests.together import assert_equal, collectively, raises_everywhere

pytestmark = pytest.mark.mpi

DTYPES = [*pg.__array_namespace_info__().dtypes()]
SPECIAL = (0.0, -0.0, 1.0, -1.0, 0.5, 3.0, -2.5, float("inf"), float("-inf"), float("nan"))
DRAWN = settings(derandomize=True, database=None, deadline=None, max_examples=5)


@functools.cache
def dtypes_of(name: str) -> list[tuple[str, str]]:
    """The pairs of dtypes that the standard has a function of."""
    return [pair for pair in itertools.product(DTYPES, DTYPES) if is_defined(name, *(
        array_api_strict.asarray(np.ones((2, 3), dtype)) for dtype in pair))]


def is_defined(name: str, x: Any, y: Any) -> bool:
    """Whether the standard has a function of such arrays, and NumPy's raises nothing."""
    with warnings.catch_warnings(action="ignore"), np.errstate(all="ignore"):
        try:
            CALLS[name](array_api_strict, x, y)
        except (TypeError, ValueError, IndexError):
            return False
    return True


@st.composite
def pairs(draw: Any, name: str) -> tuple[Any, Any]:
    """Two NumPy arrays that a function takes, of up to three dimensions; the second one broadcasts to the first."""
    shape = draw(st.lists(st.sampled_from((0, 1, 2, 3, 4)), max_size=3))
    second = draw(st.sampled_from((shape, [1] * len(shape), shape[:-1] + [1] * bool(shape))))
    values = [x for x in SPECIAL if math.isfinite(x) or not name.startswith("fft.")]
    pair = [draw(arrays(dtype, n, values)) for dtype, n in zip(draw(st.sampled_from(dtypes_of(name))), (shape, second),
                                                       strict=True)]
    assume(is_defined(name, *map(array_api_strict.asarray, pair)))
    return pair[0], pair[1]


@st.composite
def arrays(draw: Any, dtype: str, shape: Sequence[int], floats: Sequence[float]) -> Any:
    """A NumPy array of small integers, or of floats."""
    kind, n = np.dtype(dtype).kind, math.prod(shape)
    values = st.sampled_from(floats) if kind == "f" else st.integers(0 if kind in "ub" else -3, 5)
    return np.array(draw(st.lists(values, min_size=n, max_size=n))).reshape(shape).astype(dtype)


def test_a_call_of_each() -> None:
    collectively(CALLS.keys() == FUNCTIONS.keys(), f"{CALLS.keys() ^ FUNCTIONS.keys()}")


@pytest.mark.parametrize("name", sorted(CALLS))
@DRAWN
@given(data=st.data())
def test_results(name: str, data: Any) -> None:
    """Of calls by position and by name, on one draw of arrays after the other."""
    pair = data.draw(pairs(name))
    with warnings.catch_warnings(action="ignore"), np.errstate(all="ignore"):
        expected = CALLS[name](array_api_strict, *map(array_api_strict.asarray, pair))
        for by_name in (False, True):
            assert_all_equal(CALLS[name](Spelled(pg, by_name), *map(pg.array, pair)), expected, name)


def assert_all_equal(found: Any, expected: Any, name: str = "") -> None:
    """Assert that arrays are what array-api-strict has; the signs of zeros, too, of functions of single elements."""
    several = isinstance(expected, list | tuple)
    for ours, theirs in zip(found, expected, strict=True) if several else ((found, expected),):
        is_array = isinstance(theirs, array_api_strict._array_object.Array)
        values = np.asarray(theirs._array if is_array else theirs)
        assert_equal(ours, values, exact=False, rtol=error_of(values.dtype))
        if name in ELEMENTWISE and values.dtype.kind == "f":
            assert_equal(pg.signbit(ours), np.signbit(values)) if not np.isnan(values).any() else None


def error_of(dtype: np.dtype[Any]) -> float:
    """The relative error that results may have."""
    return 1e-5 if dtype.char in "fF" else 1e-12


@pytest.mark.every
@pytest.mark.parametrize("name", sorted(FUNCTIONS))
def test_signatures(name: str) -> None:
    """What the standard passes by position or by name can be passed so; what it may leave out may be left out."""
    ours = parameters(found(pg, name))
    named = {p.name: p for p in ours if p.kind in (p.POSITIONAL_OR_KEYWORD, p.KEYWORD_ONLY)}
    for i, p in enumerate(parameters(FUNCTIONS[name])):
        if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD):
            takes = [q for q in ours if q.kind in (q.POSITIONAL_ONLY, q.POSITIONAL_OR_KEYWORD, q.VAR_POSITIONAL)]
            collectively(len(takes) > i, f"{name}: {p.name} by position")
            is_same = p.kind is p.POSITIONAL_ONLY or takes[i].name in (p.name, f"a_{p.name}")
            collectively(is_same, f"{name}: {p.name} is not at its position")
        if p.kind in (p.KEYWORD_ONLY, p.POSITIONAL_OR_KEYWORD):
            collectively(p.name in named, f"{name}: {p.name} by name")
        if p.default is not p.empty:
            has_default = [q for q in (*ours[i:i + 1], named.get(p.name)) if q is not None and q.default is not q.empty]
            collectively(bool(has_default), f"{name}: {p.name} may be left out")


def test_the_namespace() -> None:
    A = pg.ones(3)
    collectively(A.__array_namespace__(api_version="2025.12") is pg and pg.__array_api_version__ == "2025.12")
    raises_everywhere(ValueError, "2020.12", lambda: A.__array_namespace__(api_version="2020.12"))
    info, theirs = pg.__array_namespace_info__(), array_api_strict.__array_namespace_info__()
    collectively(info.capabilities() == theirs.capabilities())
    collectively(info.default_device() in info.devices() and A.device == info.default_device())
    for kind in (None, "bool", "signed integer", "real floating", ("complex floating", "bool")):
        collectively(info.dtypes(kind=kind).keys() == theirs.dtypes(kind=kind).keys(), f"{kind}")
    collectively(info.default_dtypes().keys() == theirs.default_dtypes().keys())


def test_devices_and_copies() -> None:
    A = pg.arange(6.0)
    collectively(A.to_device("cpu") is A and pg.asarray(A, copy=False) is A)
    raises_everywhere(ValueError, "cuda", lambda: A.to_device("cuda"))
    raises_everywhere(ValueError, "cuda", lambda: pg.zeros(3, device="cuda"))
    raises_everywhere(ValueError, "cuda", lambda: pg.asarray(A, device="cuda"))
    raises_everywhere(ValueError, "Unable to avoid copy", lambda: pg.asarray(A, pg.float32, copy=False))
    raises_everywhere(ValueError, "Unable to avoid", lambda: pg.reshape(A, (2, 3), copy=False))
    copy = pg.asarray(A, copy=True)
    copy[0] = 9
    pg.reshape(A, (6, 1), copy=True)[...] = 8
    pg.reshape(A, (6, 1), copy=False)[1] = 7
    assert_equal(A, np.array([0.0, 7, 2, 3, 4, 5]))


@pytest.mark.every
def test_memory_of_another_library() -> None:
    A = pg.arange(4.0)
    assert_equal(pg.from_dlpack(np.arange(3)), np.arange(3))
    collectively(pg.from_dlpack(A) is A)
    if pg.SIZE > 1:
        raises_everywhere(BufferError, r"A.gather\(\)", lambda: np.from_dlpack(A))
        return
    shared = np.from_dlpack(A)
    A[0] = 5
    np.testing.assert_array_equal(shared, [5, 1, 2, 3])


def test_dtypes_of_arrays() -> None:
    A = pg.ones(3, pg.float32)
    collectively(np.result_type(A, 2.5) == np.float32 and np.result_type(A, A.sum(), np.int64) == np.float64)
    collectively(np.can_cast(A, np.float64) and not np.can_cast(A, np.int8))
