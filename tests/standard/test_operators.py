"""The operators of the Array API standard, of arrays and numbers, as array-api-strict has them."""

from __future__ import annotations

import operator
import warnings
from collections.abc import Callable
from typing import Any

import array_api_strict
import numpy as np
import pytest

import pgaspy as pg
from tests.standard.functions import ELEMENTWISE, UNARY
from tests.together import assert_equal, collectively

pytestmark = pytest.mark.mpi

DTYPES = [*pg.__array_namespace_info__().dtypes()]
BINARY: dict[str, Callable[[Any, Any], Any]] = {
    name: getattr(operator, f"__{name}__") for name in (
        "add", "sub", "mul", "truediv", "floordiv", "mod", "pow", "and", "or", "xor", "lshift", "rshift", "lt", "le",
        "gt", "ge", "eq", "ne")}
IN_PLACE: dict[str, Callable[[Any, Any], Any]] = {
    name: getattr(operator, f"__i{name}__") for name in (
        "add", "sub", "mul", "truediv", "floordiv", "mod", "pow", "and", "or", "xor", "lshift", "rshift")}
ONE: dict[str, Callable[[Any], Any]] = {
    name: getattr(operator, f"__{name}__") for name in ("abs", "invert", "neg", "pos")}
NUMBERS = (2, 0, 2.5, 1j, True)


def value(function: Callable[..., Any], *given: Any) -> Any:
    """What the standard says, as a NumPy array; None, where it says nothing."""
    with warnings.catch_warnings(action="ignore"), np.errstate(all="ignore"):
        try:
            return function(*[array_api_strict.asarray(x) if isinstance(x, np.ndarray) else x for x in given])._array
        except (TypeError, OverflowError):
            return None


def compare(function: Callable[..., Any], *given: Any) -> bool:
    """Assert that an operator gives what the standard says; whether it says anything."""
    expected = value(function, *[x.copy() if isinstance(x, np.ndarray) else x for x in given])
    if expected is None:
        return False
    found = function(*[pg.array(x) if isinstance(x, np.ndarray) else x for x in given])
    assert_equal(found, expected, exact=False, rtol=1e-5 if expected.dtype.char in "fF" else 1e-12)
    return True


@pytest.mark.parametrize("name", BINARY)
def test_operators(name: str) -> None:
    """Of arrays of all pairs of dtypes, and of arrays and numbers, either of them first."""
    n_said = 0
    for dtype in DTYPES:
        x = np.array([[3, 0, 1], [2, 5, 1]]).astype(dtype)
        for other in DTYPES:
            n_said += compare(BINARY[name], x, np.array([1, 2, 3]).astype(other))
        for number in NUMBERS:
            n_said += compare(BINARY[name], x, number) + compare(BINARY[name], number, np.maximum(x, 1))
    collectively(n_said > 20, f"{n_said}")


@pytest.mark.parametrize("name", IN_PLACE)
def test_operators_in_place(name: str) -> None:
    n_said = 0
    for dtype in DTYPES:
        x = np.array([[3, 0, 1], [2, 5, 1]]).astype(dtype)
        for other in (*(np.array([1, 2, 3]).astype(other) for other in DTYPES), *NUMBERS):
            n_said += compare(IN_PLACE[name], x, other)
    collectively(n_said > 10, f"{n_said}")


@pytest.mark.parametrize("name", ONE)
def test_operators_of_one(name: str) -> None:
    for dtype in DTYPES:
        compare(ONE[name], np.array([[3, 0, 1], [2, 5, 1]]).astype(dtype))


def test_products() -> None:
    for dtype in DTYPES:
        x = np.array([[3, 0, 1], [2, 5, 1]]).astype(dtype)
        compare(operator.matmul, x, x[0])
        compare(operator.matmul, x, x.T.copy())
        compare(operator.matmul, np.stack((x, x)), x.T.copy())


def test_numbers() -> None:
    """Arrays of one element and no dimension become Python's numbers."""
    for kind, given in ((bool, True), (int, 3), (float, 2.5), (complex, 1 + 2j)):
        collectively(kind(pg.array(given)) == given and type(kind(pg.array(given))) is kind)
    collectively(operator.index(pg.array(3)) == 3 and [10, 20][pg.array(1)] == 20)


OF_FLOATS = sorted(name for name in ELEMENTWISE if not name.startswith(("bitwise", "logical", "imag")))
"""The functions of single elements that the standard has of real floating-point numbers."""


@pytest.mark.parametrize("name", OF_FLOATS)
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_special_cases(name: str, dtype: str) -> None:
    """Of all pairs of signed zeros, infinities, NaN and others, in a place of a vector that computes many at once.

    The signs of zeros are compared, too; which zero is the larger one, the standard leaves open.
    """
    limits = np.finfo(dtype)
    values = np.array([0.0, -0.0, 1.0, -1.0, 0.5, -0.5, 3.0, -3.0, limits.max, limits.min, limits.smallest_subnormal,
                       np.inf, -np.inf, np.nan], dtype)
    one = np.tile(values, 3)
    given = (one,) if name in UNARY else (one[:, None], values)
    with warnings.catch_warnings(action="ignore"), np.errstate(all="ignore"):
        expected = getattr(array_api_strict, name)(*map(array_api_strict.asarray, given))._array
        found = getattr(pg, name)(*map(pg.array, given))
    assert_equal(found, expected, exact=False, rtol=1e-5 if dtype == "float32" else 1e-12)
    if expected.dtype.kind == "f" and name not in ("maximum", "minimum"):
        assert_equal(pg.signbit(found[pg.array(expected == 0)]), np.signbit(expected[expected == 0]))


@pytest.mark.parametrize("name", ["maximum", "minimum"])
def test_pairs_of_zeros(name: str) -> None:
    found = getattr(pg, name)(pg.array([0.0, -0.0]), pg.array([0.0, -0.0])).gather()
    collectively(bool((np.signbit(found) == [False, True]).all()))
