"""Bits in bytes, and windows of arrays, against NumPy."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import pgaspy as pg
from tests.together import assert_equal, raises_everywhere

pytestmark = pytest.mark.mpi

BITS = np.random.default_rng(1).integers(0, 3, (5, 19)) % 2
BYTES = np.random.default_rng(2).integers(0, 256, (4, 3), np.uint8)


@pytest.mark.parametrize("axis", [None, 0, 1, -1])
@pytest.mark.parametrize("order", ["big", "little"])
@pytest.mark.parametrize("layout", ["block", "cyclic(3)"])
def test_bits(axis: Any, order: Any, layout: str) -> None:
    where = pg.Distribution(layout, layout)
    for x in (BITS, BITS == 1, BITS[:, :0], BITS.astype(np.int8) * -3):
        assert_equal(pg.packbits(pg.array(x, layout=where), axis, order), np.packbits(x, axis, order))
    for count in (None, 5, 0, -3, 40):
        assert_equal(pg.unpackbits(pg.array(BYTES, layout=where), axis, count, order),
                     np.unpackbits(BYTES, axis, count, order))
        assert_equal(pg.unpackbits(pg.array(BYTES, layout=where)[::-1, ::-1].T, axis, count, order),
                     np.unpackbits(BYTES[::-1, ::-1].T, axis, count, order))
    sections = [(slice(None, None, -1), slice(1, None, 2)), (slice(1, 4), slice(None, None, -3)), (2, slice(3, 18)),
                (slice(0, 0), slice(None)), (None, 1, slice(4, None))]
    for section in sections:
        for rows in where, pg.Distribution("block", "*"), pg.Distribution("*", "*"):
            if np.ndim(BITS[section]) == 1 and axis == 1:
                continue
            assert_equal(pg.packbits(pg.array(BITS, layout=rows)[section], axis, order),
                         np.packbits(BITS[section], axis, order))
    assert_equal(np.packbits(pg.array(7)), np.packbits(7))


def test_what_has_no_bits() -> None:
    raises_everywhere(TypeError, "integer or boolean", lambda: pg.packbits(pg.ones(3)))
    raises_everywhere(TypeError, "unsigned byte", lambda: pg.unpackbits(pg.ones(3, int)))
    raises_everywhere(ValueError, "little", lambda: pg.packbits(pg.ones(3, int), bitorder="middle"))
    raises_everywhere(ValueError, "larger than", lambda: pg.unpackbits(pg.array(BYTES), 1, -25))


@pytest.mark.parametrize(("shape", "axis"), [((2, 3), None), (4, 1), (3, 0), ((2, 2), (1, 1)), ((5, 19), None), (7, 1),
                                             (18, 1), ((0, 1), None), ((1, 2), (1, 0))])
@pytest.mark.parametrize("layout", ["block", "cyclic(2)"])
def test_windows(shape: Any, axis: Any, layout: str) -> None:
    a = pg.array(BITS, layout=pg.Distribution(layout, layout))
    expected = np.lib.stride_tricks.sliding_window_view(BITS, shape, axis)
    assert_equal(pg.lib.stride_tricks.sliding_window_view(a, shape, axis), expected)
    assert_equal(np.lib.stride_tricks.sliding_window_view(a, shape, axis), expected)
    assert_equal(np.lib.stride_tricks.sliding_window_view(a[::-1, ::2], 2, 0),
                 np.lib.stride_tricks.sliding_window_view(BITS[::-1, ::2], 2, 0))


@pytest.mark.parametrize(("shape", "axis", "match"), [
    ((6, 1), None, "larger than"), ((-1, 1), None, "negative"), (3, None, "for all dimensions"),
    ((3, 3), 0, "matching length"), (3, 2, "out of bounds")])
def test_windows_that_are_not_there(shape: Any, axis: Any, match: str) -> None:
    a = pg.array(BITS)
    raises_everywhere(ValueError, match, lambda: pg.lib.stride_tricks.sliding_window_view(a, shape, axis))


def test_windows_are_copies() -> None:
    raises_everywhere(ValueError, "copies",
                      lambda: pg.lib.stride_tricks.sliding_window_view(pg.array(BITS), 2, 0, writeable=True))
