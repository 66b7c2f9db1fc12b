"""The functions of the Array API standard: signatures, and results as array-api-strict has them.

Arrays, of all dtypes and with special values, are drawn by Hypothesis, the same on every process.
"""

from __future__ import annotations

import functools
import warnings
from typing import Any

import array_api_strict
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import pgaspy as pg
from tests.standard.exceptions import EXCEPTIONS
from tests.standard.functions import CALLS, FUNCTIONS, found, parameters
from tests.together import assert_equal, collectively, raises_everywhere

pytestmark = pytest.mark.mpi

TESTED = sorted(FUNCTIONS.keys() - EXCEPTIONS.keys())
DTYPES = [*pg.__array_namespace_info__().dtypes()]
SPECIAL = (0.0, -0.0, 1.0, -1.0, 0.5, 3.0, -2.5, float("inf"), float("-inf"), float("nan"))


@functools.cache
def dtypes_of(name: str) -> list[str]:
    """The dtypes that the standard has a function of."""
    return [dtype for dtype in DTYPES if _is_defined(name, np.ones((2, 3), dtype))]


def _is_defined(name: str, x: Any) -> bool:
    with warnings.catch_warnings(action="ignore"):
        try:
            CALLS[name](array_api_strict, *[array_api_strict.asarray(x)] * 2)
        except (TypeError, ValueError):
            return False
    return True


@st.composite
def matrices(draw: Any, name: str) -> tuple[Any, Any]:
    """Two NumPy matrices of shapes that broadcast together, and of one dtype that a function takes."""
    dtype = np.dtype(draw(st.sampled_from(dtypes_of(name))))
    n, m = draw(st.integers(1, 4)), draw(st.integers(1, 3))
    shapes = (n, m), draw(st.sampled_from(((n, m), (1, m), (n, 1))))
    values = st.sampled_from(SPECIAL) if dtype.kind == "f" else st.integers(0 if dtype.kind in "ub" else -3, 5)
    x, y = (np.array(draw(st.lists(values, min_size=a * b, max_size=a * b))).reshape(a, b).astype(dtype)
            for a, b in shapes)
    return x, y


@pytest.mark.parametrize("name", TESTED)
def test_a_call_of_each(name: str) -> None:
    collectively(name in CALLS, f"no call of {name}")


@pytest.mark.many
@pytest.mark.parametrize("name", sorted(CALLS.keys() & set(TESTED)))
@settings(derandomize=True, database=None, deadline=None, max_examples=8)
@given(data=st.data())
def test_results(name: str, data: Any) -> None:
    pair = data.draw(matrices(name))
    with warnings.catch_warnings(action="ignore"), np.errstate(all="ignore"):
        expected = CALLS[name](array_api_strict, *map(array_api_strict.asarray, pair))
        results = CALLS[name](pg, *map(pg.array, pair))
    pairs = zip(results, expected, strict=True) if isinstance(expected, list) else ((results, expected),)
    for ours, theirs in pairs:
        is_array = isinstance(theirs, array_api_strict._array_object.Array)
        assert_equal(ours, np.asarray(theirs._array if is_array else theirs), exact=False, rtol=_error(theirs))


def _error(x: Any) -> float:
    """The relative error that results may have."""
    return 1e-5 if str(getattr(x, "dtype", "")).endswith(("float32", "complex64")) else 1e-12


@pytest.mark.every
@pytest.mark.parametrize("name", TESTED)
def test_signatures(name: str) -> None:
    """What the standard passes by position or by name can be passed so."""
    ours = parameters(found(pg, name))
    by_position = [p for p in ours if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD, p.VAR_POSITIONAL)]
    by_name = {p.name for p in ours if p.kind in (p.POSITIONAL_OR_KEYWORD, p.KEYWORD_ONLY)}
    for i, p in enumerate(parameters(FUNCTIONS[name])):
        if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD):
            collectively(len(by_position) > i, f"{name}: {p.name} by position")
        if p.kind in (p.KEYWORD_ONLY, p.POSITIONAL_OR_KEYWORD):
            collectively(p.name in by_name, f"{name}: {p.name} by name")


def test_exceptions_are_of_the_standard() -> None:
    collectively(EXCEPTIONS.keys() <= FUNCTIONS.keys(), f"{EXCEPTIONS.keys() - FUNCTIONS.keys()}")


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
