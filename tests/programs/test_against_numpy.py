"""Programs from many fields, with `np` for pgaspy, against the same text with NumPy."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import pgaspy as pg
from tests.programs import algebra, chances, fields, fluids, images, learning, particles, sequences
from tests.together import assert_equal, collectively

pytestmark = pytest.mark.mpi

FIELDS = (algebra, chances, fields, fluids, images, learning, particles, sequences)
PROGRAMS = [program for field in FIELDS for program in field.PROGRAMS]


def assert_same(found: Any, expected: Any) -> None:
    """Compare results, and what is in lists, tuples and dictionaries of them, on all processes."""
    if isinstance(expected, dict):
        collectively(isinstance(found, dict) and list(found) == list(expected), f"keys of {found!r}")
        found, expected = list(found.values()), list(expected.values())
    if isinstance(expected, (list, tuple)):
        collectively(isinstance(found, (list, tuple)) and len(found) == len(expected), f"{found!r}")
        for one, other in zip(found, expected, strict=True):
            assert_same(one, other)
    elif isinstance(found, (str, int)):
        collectively(bool(found == expected), f"{found!r}, expected {expected!r}")
    else:
        exact = np.asarray(expected).dtype.kind not in "fc"
        assert_equal(found, expected, exact=exact, rtol=1e-9)


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda program: program.__name__)
def test_program(program: Callable[[Any, Any], Any]) -> None:
    expected = program(np, np.random.default_rng(0))
    assert_same(program(pg, np.random.default_rng(0)), expected)
