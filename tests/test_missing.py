"""Names of NumPy that are missing: what to call instead is said, and is right."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import pgaspy as pg
from pgaspy.missing import FORMER, INSTEAD, instead_of
from tests.together import assert_equal, collectively, raises_everywhere

pytestmark = pytest.mark.mpi

A = np.array([[1.5, -2.25, 3.0], [4.0, 0.0, -6.5], [7.0, 8.125, 9.0]])
B = A.T - 1
NAMES: dict[str, Any] = {"a": A[0], "b": B[0], "dx": 0.5, "n": 3, "m": 4, "shape": (3, 3), "C": A + B,
                         "tolerance": 0.25, "w": np.array([1.0, 2.0, 3.0]), "np": np}
NAN = np.where(A > 7, np.nan, A)

CASES: dict[str, Callable[..., Any]] = {
    "row_stack": lambda A, B: np.vstack((A, B)),
}


@pytest.mark.parametrize("name", CASES)
def test_what_is_advised_is_right(name: str) -> None:
    a = NAN if name.startswith("nan") else A
    given: dict[str, Any] = {**NAMES, "pg": pg, "A": pg.array(a), "B": pg.array(B), "C": pg.array(A + B),
                             "a": pg.array(A[0]), "w": pg.array(NAMES["w"])}
    with np.errstate(all="ignore"):
        expected = CASES[name](a, B)
        found = eval(INSTEAD[name], given)
    assert_equal(found, expected, exact=False)


def test_the_table() -> None:
    """All of it is NumPy's, and missing."""
    owners = ((pg, np), (pg.linalg, np.linalg), (pg.GlobalArray, np.ndarray),
              (pg.lib.stride_tricks, np.lib.stride_tricks))
    not_in_all_versions = {"row_stack"}  # until NumPy 2.4
    there = [name for name in INSTEAD.keys() - not_in_all_versions if not any(
        hasattr(numpys, name) and not hasattr(ours, name) for ours, numpys in owners)]
    collectively(not there, f"{there} are not missing")


@pytest.mark.parametrize("name", FORMER)
def test_former_names_lead_to_those_of_today(name: str) -> None:
    assert getattr(pg, FORMER[name]) is not None
    raises_everywhere(AttributeError, f"'{name}': since NumPy 2, it is {FORMER[name]}$", lambda: getattr(pg, name))


@pytest.mark.parametrize(("statement", "error", "match"), [
    ("pg.savetxt", AttributeError, r"module 'pgaspy' has no attribute 'savetxt': use pg.save\(file, A\)"),
    ("pg.nditer", AttributeError, r"A.gather\(\) for an array A: that is the whole of it on every process$"),
    ("pg.random.randn", AttributeError, r"default_rng\(seed\)"),
    ("pg.random.default_rng(1).bit_generator", AttributeError, r"'bit_generator': it has a key and counters"),
    ("x.strides", AttributeError, r"that of the local part, as in A.local\(\).strides"),
    ("x.base", AttributeError, r"use np.shares_memory\(A.local\(\), B.local\(\)\)"),
    ("x.resize(6)", AttributeError, r"use A = pg.resize\(A, shape\)"),
    ("x.byteswap()", AttributeError, r"GlobalArray has no attribute 'byteswap': call NumPy's, with A.gather\(\)"),
    ("x.tobytes()", AttributeError, r"on every process$"),
    ("pg.lib.stride_tricks.as_strided", AttributeError, "use pg.lib.stride_tricks.sliding_window_view"),
    ("pg.ma", AttributeError, "a module of NumPy's own"),
    ("pg.polynomial", AttributeError, "use numpy.polynomial, whose functions"),
    ("np.einsum_path('ij', x)", TypeError, r"A.gather\(\)"),
])
def test_messages(statement: str, error: type[Exception], match: str) -> None:
    x = pg.array(A)
    raises_everywhere(error, match, lambda: eval(statement, {"np": np, "pg": pg, "x": x}))


@pytest.mark.parametrize("name", ["polynomial.polyval", "legendre.legval", "chebyshev.chebval", "hermite.hermval"])
def test_series_are_evaluated_for_global_arrays(name: str) -> None:
    module, function = name.split(".")
    evaluate = getattr(getattr(np.polynomial, module), function)
    found = evaluate(pg.array(B), [1.0, 2.0, 3.0])
    collectively(isinstance(found, pg.GlobalArray))
    assert_equal(found, evaluate(B, [1.0, 2.0, 3.0]))


@pytest.mark.parametrize(("owner", "name"), [(pg, "arangee"), (pg.linalg, "solv"), (pg.random, "default_rn"),
                                             (pg.random.default_rng(1), "randoms"),
                                             (pg.ones(3), "shap"), (pg, "__wrapped__"),
                                             (pg.ones(3), "__array_struct__")])
def test_what_is_not_numpys(owner: Any, name: str) -> None:
    raises_everywhere(AttributeError, f"has no attribute '{name}'$", lambda: getattr(owner, name))
    collectively(not hasattr(owner, name))


@pytest.mark.parametrize("name", ["busday_count", "nditer", "tensorsolve"])
def test_the_local_part_is_no_answer(name: str) -> None:
    collectively("local()" not in instead_of(name) and "gather()" in instead_of(name))


def test_other_names() -> None:
    A = pg.array(B)
    collectively(isinstance(A, pg.ndarray) and not isinstance(B, pg.ndarray))
    assert_equal(pg.amax(A, axis=0), np.amax(B, axis=0))
    assert_equal(pg.amin(A, axis=0), np.amin(B, axis=0))


def test_the_public_names() -> None:
    names = set(dir(pg))
    collectively({"RANK", "COMM", "array", "sin", "float32", "pi", "linalg", "random", "blas", "lapack", "TaskError",
                  "newaxis", "schedule"} <= names)
    modules = {name for name in names if isinstance(getattr(pg, name), type(pg))}
    collectively(modules == {"fft", "lib", "linalg", "random", "blas", "lapack"}, f"{modules}")
    collectively(not names & {"Any", "annotations", "TYPE_CHECKING", "engine", "plan"} and not any(
        name.startswith("_") for name in names))
