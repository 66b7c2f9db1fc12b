"""Comparisons that all processes decide together."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import pgaspy as pg

__all__ = ["NotTogether", "assert_equal", "collectively", "raises_everywhere"]


class NotTogether(AssertionError):
    """A comparison failed on some process; raised on all of them."""


def collectively(holds: bool, message: str = "") -> None:
    """Assert on every process that a condition holds on every process. Collective."""
    problems = pg.COMM.allgather(None if holds else f"rank {pg.RANK}: {message}")
    problems = [p for p in problems if p is not None]
    if problems:
        raise NotTogether("\n".join(problems))


def assert_equal(array: Any, expected: Any, exact: bool = True, rtol: float = 1e-12) -> None:
    """Assert that a global array has the shape, dtype and elements of a NumPy array, on every process."""
    expected = np.asarray(expected)
    found = array.gather() if isinstance(array, pg.GlobalArray) else np.asarray(array)
    try:
        assert found.shape == expected.shape, f"shape {found.shape}, expected {expected.shape}"
        assert found.dtype == expected.dtype, f"dtype {found.dtype}, expected {expected.dtype}"
        if exact:
            np.testing.assert_array_equal(found, expected)
        else:
            np.testing.assert_allclose(found, expected, rtol=rtol, atol=rtol)
        problem = ""
    except AssertionError as error:
        problem = str(error)
    collectively(not problem, problem)


def raises_everywhere(error: type[BaseException], match: str, call: Callable[[], Any]) -> None:
    """Assert that a call raises the same exception, with the same words, on every process."""
    try:
        with pytest.raises(error, match=match) as info:
            call()
        said, problem = str(info.value), ""
    except BaseException as other:  # any exception of one process has to be told to the others
        said, problem = "", f"{type(other).__name__}: {other}"
    collectively(not problem, problem)
    collectively(len(set(pg.COMM.allgather(said))) == 1, f"raised {said!r}, others otherwise")
