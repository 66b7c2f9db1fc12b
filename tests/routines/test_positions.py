"""Indices of diagonals and triangles, and what is made of what NumPy reads, against NumPy."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import pgaspy as pg
from tests.layouts import NAMES, layout_of
from tests.together import assert_equal, collectively, raises_everywhere

pytestmark = pytest.mark.mpi

X = np.arange(30).reshape(6, 5)
R, C = np.array([[0, 5, 2], [3, 3, 1]]), np.array([4, 0, 2])


def filled(m: Any, a: Any, *given: Any) -> Any:
    m.fill_diagonal(a, *given)
    return a


CALLS: dict[str, Callable[[Any, Any], Any]] = {
    "diag_indices": lambda m, x: m.diag_indices(4, 3), "diag_indices_from": lambda m, x: m.diag_indices_from(x(X[:5])),
    "tril_indices": lambda m, x: [*m.tril_indices(4), *m.tril_indices(3, 1, 5), *m.tril_indices(4, -2)],
    "triu_indices": lambda m, x: [*m.triu_indices(4), *m.triu_indices(3, 1, 5), *m.triu_indices(4, -2)],
    "tril_indices_from": lambda m, x: m.tril_indices_from(x(X), -1),
    "triu_indices_from": lambda m, x: m.triu_indices_from(x(X), 1),
    "mask_indices": lambda m, x: m.mask_indices(4, m.triu, 1),
    "fill_diagonal": lambda m, x: filled(m, x(X.copy()), -1),
    "fill_diagonal of a wide matrix": lambda m, x: filled(m, x(X.T.copy()), [7, 8]),
    "fill_diagonal and wrap": lambda m, x: filled(m, x(np.tile(X, (3, 1))), -1, True),
    "fill_diagonal of a tall matrix": lambda m, x: filled(m, x(np.tile(X, (3, 1))), [1, 2, 3, 4, 5]),
    "fill_diagonal of a view": lambda m, x: filled(m, x(np.tile(X, (2, 2)))[1:9:2, ::-1], [1.5, 2.5]),
    "fill_diagonal of global values": lambda m, x: filled(m, x(X.copy()), x(C)),
    "fill_diagonal by none": lambda m, x: filled(m, x(X.copy()), []),
    "fill_diagonal of a row": lambda m, x: filled(m, x(X.copy())[2:3], 8),
    "fill_diagonal of three dimensions": lambda m, x: filled(m, x(np.ones((3, 3, 3))), [4, 5, 6]),
    "unravel_index": lambda m, x: m.unravel_index(x(X), (3, 10)),
    "unravel_index in one dimension": lambda m, x: m.unravel_index(x(X), 30),
    "unravel_index by columns": lambda m, x: m.unravel_index(x(X), (5, 2, 3), order="F"),
    "unravel_index of one": lambda m, x: m.unravel_index(17, (3, 10)),
    "ravel_multi_index": lambda m, x: m.ravel_multi_index((x(R), x(C)), (6, 5)),
    "ravel_multi_index by columns": lambda m, x: m.ravel_multi_index((x(R), 2), (6, 5), order="F"),
    "ravel_multi_index by modes": lambda m, x: m.ravel_multi_index((x(R - 2), x(C + 3)), (4, 5), mode=("wrap", "clip")),
    "sort_complex": lambda m, x: [m.sort_complex(x(R)), m.sort_complex(x(C + 1j * C[::-1])),
                                  m.sort_complex(x(R.astype("b")))],
    "fromiter": lambda m, x: [m.fromiter(range(7), float), m.fromiter(iter([True, False]), bool, 1)],
    "frombuffer": lambda m, x: [m.frombuffer(bytes(16)), m.frombuffer(b"abcdef", np.uint8, 3, 1)],
    "fromstring": lambda m, x: m.fromstring("1.5 2 -3", sep=" "),
    "asanyarray": lambda m, x: [m.asanyarray(x(X)), m.asfortranarray(x(X), float), m.ascontiguousarray(2.5),
                                m.asarray_chkfinite(x(X), "f")],
    "methods": lambda m, x: [x(X).repeat([1, 0, 2, 1, 3, 1], 0), x(X).diagonal(1), x(X).trace(dtype=float), x(X).dot(C[[
        0, 1, 2, 0, 1]]), x(C).argpartition(1)[1:2], x(X[:, 1]).searchsorted(x(R)), x(X).dot(x(X.T))],
}


@pytest.mark.parametrize("layout", NAMES)
@pytest.mark.parametrize("name", CALLS)
def test_calls(name: str, layout: str) -> None:
    expected = CALLS[name](np, np.asarray)
    found = CALLS[name](pg, lambda x: pg.array(x, layout=layout_of(layout, x.shape)))
    several = isinstance(expected, list | tuple)
    for ours, theirs in zip(found, expected, strict=True) if several else ((found, expected),):
        assert_equal(ours, theirs)


@pytest.mark.parametrize("layout", NAMES)
def test_of_numpy(layout: str) -> None:
    A = pg.array(X, layout=layout_of(layout, X.shape))
    for ours, theirs in zip(np.triu_indices_from(A), np.triu_indices_from(X), strict=True):
        assert_equal(ours, theirs)
    np.fill_diagonal(A, 0)
    assert_equal(A, filled(np, X.copy(), 0))
    A.partition(2, axis=0)
    assert_equal(A, np.sort(filled(np, X.copy(), 0), axis=0))
    collectively(pg.asanyarray(A) is A and pg.common_type(A, A.astype("f")) is np.float64)
    collectively(np.common_type(A[0].astype("f"), A.astype("F")) is np.complex64)


def test_places_as_keys() -> None:
    A = pg.array(X)
    collectively(int(A[pg.unravel_index(A.argmax(), A.shape)]) == X.max())
    A[pg.tril_indices_from(A)] = 0
    assert_equal(A, np.triu(X, 1))


def test_what_is_refused() -> None:
    A = pg.array(X)
    raises_everywhere(ValueError, "out of bounds", lambda: pg.unravel_index(A, (2, 3)))
    raises_everywhere(TypeError, "int indices", lambda: pg.unravel_index(A * 0.5, (6, 5)))
    raises_everywhere(ValueError, "invalid entry", lambda: pg.ravel_multi_index((A, A), (6, 5)))
    raises_everywhere(ValueError, "length 3", lambda: pg.ravel_multi_index((A, A), (6, 5, 4)))
    raises_everywhere(TypeError, "int indices", lambda: pg.ravel_multi_index((A * 0.5, A), (6, 5)))
    raises_everywhere(ValueError, "at least 2-d", lambda: pg.fill_diagonal(A[0], 1))
    raises_everywhere(ValueError, "equal length", lambda: pg.fill_diagonal(pg.ones((2, 3, 2)), 1))
    raises_everywhere(TypeError, "global array", lambda: pg.fill_diagonal(X.copy(), 1))
    raises_everywhere(ValueError, "equal length", lambda: pg.diag_indices_from(A))
    raises_everywhere(ValueError, "at least 2-d", lambda: pg.diag_indices_from(A[0]))
    raises_everywhere(ValueError, "must be 2-d", lambda: pg.tril_indices_from(A[0]))
    raises_everywhere(ValueError, "infs or NaNs", lambda: pg.asarray_chkfinite(pg.array([1, np.nan])))
    raises_everywhere(ValueError, "iterator too short|too short", lambda: pg.fromiter([1], int, 2))
