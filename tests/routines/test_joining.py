"""What is joined between brackets, against NumPy."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import pgaspy as pg
from tests.together import assert_equal, raises_everywhere

pytestmark = pytest.mark.mpi

A, B, M = np.arange(3), np.array([1.5, -2.0, 4.0], "f"), np.arange(6).reshape(2, 3)
KEYS = [
    "r_[a, b]", "r_[a, 0, 0, b]", "r_[0:3, a]", "r_[-1:1:6j, [0] * 3, 5, 6]", "r_[7]", "r_[1:4]", "r_[m, m[:1]]",
    "r_['-1', m, m]", "r_['1', m, m[:, ::-1]]", "r_['0,2', a, [4, 5, 6]]", "r_['0,2,0', a, b]", "r_['1,2,0', a, b]",
    "r_['0,3', m, m]", "r_['0,3,0', m, m]", "r_['0,3,-1', m, m]",
    "r_['0,3,0', a, b]", "r_['0,3,1', a, b]", "c_[a, b]", "c_[m, [7, 8]]", "c_[0:2, m]", "c_[a]", "c_['0', a, b]",
    "c_[m, m]", "r_[b, 1]", "r_[b, 1.5]", "r_[a, 1.5]", "r_[a > 1, 2]", "r_[2, 3.5]", "c_[1:3:2j, 5:7]", "r_[b, a[0]]",
]


@pytest.mark.parametrize("key", KEYS)
def test_keys(key: str) -> None:
    def joined(module: Any, make: Any) -> Any:
        return eval(key, {"r_": module.r_, "c_": module.c_, "a": make(A), "b": make(B), "m": make(M)})

    assert_equal(joined(pg, pg.array), joined(np, np.array))
    assert_equal(joined(pg, np.array), joined(np, np.array))


def test_wrong_keys() -> None:
    raises_everywhere(ValueError, "unknown special directive 'x'", lambda: pg.r_["x", A])
    raises_everywhere(ValueError, "unknown special directive 'r'", lambda: pg.r_["r", A])
    raises_everywhere(ValueError, "at least one array", lambda: pg.r_[()])
    raises_everywhere(ValueError, "must match exactly", lambda: pg.c_[A, M])


def test_numbers_among_narrow_integers() -> None:
    x = np.arange(3, dtype=np.uint8)
    assert_equal(pg.r_[pg.array(x), 0, pg.array(x)], np.r_[x, 0, x])
    assert_equal(pg.r_[1, 2.5, pg.array(x)], np.r_[1, 2.5, x])
