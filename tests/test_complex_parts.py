"""The real and imaginary parts of complex arrays: what is assigned to them is assigned to the array."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import pgaspy as pg
from tests.together import assert_equal, collectively, raises_everywhere

pytestmark = pytest.mark.mpi

X = np.arange(12.0).reshape(3, 4) - 5
Z = X + 1j * X[::-1, ::-1] / 4


def aliased(z: Any) -> None:
    r = z.imag
    z *= 2
    r[0] = 3
    r -= 1
    s = r[1:]
    s[0, 1:] = 8
    s *= 2


def by_an_operator(z: Any) -> None:
    z.real *= 2
    z.imag -= z.real
    np.real(z)[0] = -0.0


def assigned(z: Any) -> None:
    z.real[...] = np.inf
    z.imag = z.real * 0 + 2
    z.real = [1, 2, 3, 4]


CHANGES: dict[str, Callable[[Any], Any]] = {
    "aliased": aliased,
    "by an operator": by_an_operator,
    "assigned": assigned,
    "by a slice": lambda z: z.imag.__setitem__((slice(1, None), slice(None, None, -2)), 7),
    "by a mask": lambda z: z.real.__setitem__(z.real > 0, -1),
    "by an index": lambda z: z.imag.__setitem__([0, 2, 0], z.real),
    "of a view": lambda z: z[1:, ::2].real.__setitem__(..., 11),
    "of a reversed view": lambda z: z[::-2, ::-1].imag.__setitem__(1, [7, 8, 9, 6]),
    "of a row": lambda z: z[1].real.__iadd__(z[2].imag),
    "of a transpose": lambda z: z.T.imag.__setitem__(1, z.real[:, 0]),
    "transposed": lambda z: z.real.T.__setitem__((slice(None), 1), z.imag[0]),
    "with axes exchanged": lambda z: np.moveaxis(z.imag, 0, 1)[2:].swapaxes(0, 1).__iadd__(3),
    "with more dimensions": lambda z: z.real.reshape(3, 1, 4)[:, 0].__imul__(2),
    "with fewer dimensions": lambda z: z.real[:1].squeeze(0).__setitem__(slice(None, None, -1), z.imag[1]),
    "a slice of it": lambda z: z.imag[1:].fill(5),
    "a slice of it, in place": lambda z: z.imag[::-1][0].__iadd__(z[0].real),
}


@pytest.mark.parametrize("dtype", ["c8", "c16"])
@pytest.mark.parametrize("change", CHANGES)
def test_the_array_gets_what_is_assigned(change: str, dtype: str) -> None:
    with np.errstate(all="ignore"):
        expected = Z.astype(dtype)
        for layout in (None, pg.Distribution("*", "cyclic(1)")):
            a, expected = pg.array(Z.astype(dtype), layout=layout), Z.astype(dtype)
            other = a.copy()
            CHANGES[change](a)
            CHANGES[change](expected)
            assert_equal(a, expected)
            assert_equal(other, Z.astype(dtype))


def test_a_part_of_what_is_gone() -> None:
    a = pg.array(Z)
    r, x = (a * 2).real, (Z * 2).real.copy()
    for part in r, x:
        part[0] = 0
        part += 1
        np.add(part, part, out=part)
    assert_equal(r, x)
    assert_equal(a, Z)
    assert_equal(pg.array(Z).real, Z.real)


def test_an_array_that_one_process_keeps() -> None:
    a = pg.array(Z)
    r, kept = a.imag, a if pg.RANK == pg.SIZE - 1 else None
    del a
    r += 1
    r[1:][0] = r[0]
    expected = Z.imag + 1
    expected[1] = expected[0]
    assert_equal(r, expected)
    collectively(kept is None or np.array_equal(kept.local().imag, r.local()))


def test_local_parts() -> None:
    a = pg.array(Z)
    a.real.local()[...] = 4
    for block in a.imag.blocks():
        block += 1
    for (index, block), (same, whole) in zip(a.imag.blocks(index=True), a.blocks(index=True), strict=True):
        assert index == same
        assert np.may_share_memory(block, whole)
    assert_equal(a, 4 + 1j * (Z.imag + 1))


def test_real_arrays() -> None:
    a, x = pg.array(X), X.copy()
    for y in a, x:
        y.real[0] = 9
        y.real += 1
        y[1:].real = 3
    assert_equal(a, x)

    def assign() -> None:
        a.imag = 1
    raises_everywhere(TypeError, "cannot set imaginary part of real array", assign)


def test_what_is_refused() -> None:
    a = pg.array(Z)
    raises_everywhere(ValueError, "the real part of an array is a copy", lambda: np.add(a, a, out=a.real))
    raises_everywhere(ValueError, "the imag part of an array is a copy", lambda: np.copyto(a.imag, 1))
    raises_everywhere(ValueError, "is a copy", lambda: pg.write(a.imag))
    raises_everywhere(ValueError, "broadcast", lambda: a.real.__setitem__(0, [1, 2]))
    raises_everywhere(TypeError, "does not support assignment", lambda: a[0, 0].real.__setitem__(..., 2))
    assert_equal(a, Z)
