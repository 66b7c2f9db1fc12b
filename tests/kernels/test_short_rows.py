"""Reductions, scans, positions and rolls of short rows, of many side by side: the bits are those of a row by itself."""

from __future__ import annotations

import functools
import operator
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import pgaspy as pg
from pgaspy.kernels.bindings import OTHER, OWN, SectionCopy, address
from tests.together import collectively

pytestmark = pytest.mark.mpi

RNG = np.random.default_rng(8)
SHAPES = [((3000, 3), 1), ((3000, 31), 1), ((3000, 32), 1), ((3, 3000), 0), ((900, 3, 5), 1), ((5, 900, 4), 2),
          ((4, 900, 5), 0), ((15, 2), 1), ((16, 2), 1), ((3000, 1), 1), ((2, 700, 63), 2)]
SLICES: list[Callable[[Any], Any]] = [
    lambda x: x, lambda x: x[::-2], lambda x: x[..., ::-1], lambda x: x[::-1, ..., 1:]]


def values(shape: tuple[int, ...], dtype: str) -> NDArray[Any]:
    """Random ones, of which floats have two NaNs."""
    found = (RNG.normal(size=shape) * 50).astype(dtype)
    if found.dtype.kind == "f":
        found.flat[[found.size // 3, found.size // 2]] = np.nan
    return found


def columns(x: NDArray[Any], axis: int) -> list[NDArray[Any]]:
    """The elements of rows that have the same number."""
    return [*np.moveaxis(x, axis, 0)]


@pytest.mark.parametrize(("shape", "axis"), SHAPES)
@pytest.mark.parametrize("dtype", ["d", "f", "l", "i", "h", "b", "B", "H", "D", "?"])
def test_short_rows(shape: tuple[int, ...], axis: int, dtype: str) -> None:
    x = values(shape, dtype)
    whole = pg.array(x)
    problems = []
    for cut in SLICES:
        a, v = cut(whole), cut(x)
        if v.shape[axis] == 0:
            continue
        n = v.shape[axis]
        expected: dict[str, NDArray[Any]] = {
            name: getattr(v, name)(axis=axis) for name in ("max", "min", "any", "all", "argmin", "argmax")}
        if n < 32 and dtype not in "D":
            wide = v.astype(v.sum(axis=axis).dtype)
            in_memory = 1 if v.strides[axis] > 0 else -1
            expected["sum"] = functools.reduce(operator.add, columns(wide, axis)[::in_memory])
            expected["cumsum"] = np.stack([functools.reduce(operator.add, columns(wide, axis)[:k + 1])
                                           for k in range(n)], axis)
        for name, right in expected.items():
            found = getattr(a, name)(axis=axis).gather()
            if found.dtype != right.dtype or not np.array_equal(found, right, equal_nan=found.dtype.kind in "fc"):
                problems.append(f"{name} of {v.shape}, {v.strides}")
    collectively(not problems, "; ".join(problems))


@pytest.mark.parametrize("axis", [0, 1])
@pytest.mark.parametrize("dtype", "fdFD")
def test_products_of_short_rows(axis: int, dtype: str) -> None:
    x = RNG.normal(size=(4000, 7)) + (RNG.normal(size=(4000, 7)) * 1j if dtype in "FD" else 0)
    x = x.astype(dtype) if axis else x.astype(dtype).T.copy()
    a = pg.array(x)
    collectively(np.array_equal(a.prod(axis=axis).gather(), np.multiply.reduce(x, axis)))
    collectively(np.prod(pg.array(x[0, 0])).item() == a[:1, :1].prod(axis=()).item() == x[0, 0])
    huge = np.tile([1e200, 1e200, 1e-300], (300, 1))
    collectively(np.allclose(pg.array(huge if axis else huge.T.copy()).prod(axis=axis).gather(), 1e100))


@pytest.mark.parametrize("dtype", ["d", "F", "D", "b", "U3"])
@pytest.mark.parametrize(("shape", "shifts", "axes"), [
    ((9000, 3), 1, 1), ((3, 9000), -1, 0), ((9000, 3, 2), (1, 1), (1, 2)), ((2, 9000, 5), (1, 700, 3), (0, 1, 2))])
def test_rolls_of_short_rows(shape: tuple[int, ...], shifts: Any, axes: Any, dtype: str) -> None:
    x = RNG.integers(0, 100, shape).astype(dtype)
    found, reversed_ = pg.roll(pg.array(x), shifts, axes), pg.roll(pg.array(x)[::-1], shifts, axes)
    collectively(np.array_equal(found.gather(), np.roll(x, shifts, axes))
                 and np.array_equal(reversed_.gather(), np.roll(x[::-1], shifts, axes)))


@pytest.mark.parametrize("n", [1023, 1024, 1087, 5000])
@pytest.mark.parametrize("behind", [0, 1, 8, 33, 63, 64, 4088])
def test_rows_are_copied_a_few_bytes_behind(n: int, behind: int) -> None:
    """Of bytes, in several rows, from the beginning of a page to so many bytes behind that of another one."""
    source, target = (np.empty((3, 8192) if k else (4, 8192), np.uint8) for k in (1, 0))
    source[...] = RNG.integers(0, 256, source.shape)
    target[...] = 7
    to = target.reshape(-1)[(address(source) - address(target)) % 4096 + behind:][:3 * 8192].reshape(3, 8192)[:, :n]
    expected = target.copy()
    copied = expected.reshape(-1)[(address(source) - address(target)) % 4096 + behind:][:3 * 8192].reshape(3, 8192)
    copied[:, :n] = source[:, :n]
    one, rows = np.array([[0, 1, 0, 1, n]], np.int64), np.array([[0, 1, 0, 1, 3]], np.int64)
    call = SectionCopy(1, [rows, one], to.strides, OWN, source.strides, OTHER)
    call.call(address(to), address(source))
    assert np.array_equal(target, expected)
