"""The parts of complex arrays, and the bits of any: what is assigned to either is seen in the other."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import pgaspy as pg
from pgaspy.alone import small
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
    "by limits": lambda z: np.clip(z.imag, -1, z.real, out=z.imag),
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
    r, x = (a * 2).real, (Z * 2).real
    for part in r, x:
        part[0] = 0
        part += 1
        np.add(part, part, out=part)
        part.sort(0)
    assert_equal(r, x)
    assert_equal(a, Z)


def seen(z: Any) -> list[Any]:
    """What views show of what is written to the array later, and by other views of it."""
    r, i = z.real, z.imag[::-1]
    bits, row = z.real.view("u8"), r[1]
    z *= 1j
    found = [r + i, r.sum(0), i[0] * 1, bits & 255]
    i += 1
    z[1] = 7
    found += [row * 1, r.T @ i, r[r > 0], r[[0, -1, 0]], i[:, None].reshape(12), r.flatten(), bits[0] >> 3]
    bits[:, 1] ^= 1 << 63
    np.multiply(r, 2, out=r)
    np.add.at(i, (0, [1, 1]), 3)
    z.imag[z.real > 0] = z.real[0, 1]
    row.fill(3)
    np.sum(r, 0, out=row)
    return [*found, r * 1, row * 1, bits * 1, i * 1, z]


@pytest.mark.parametrize("dim", ["block", "cyclic(1)", "*"])
def test_what_is_assigned_later_is_seen(dim: str) -> None:
    a = pg.array(Z, layout=pg.Distribution("*" if dim != "*" else "block", dim))
    for found, expected in zip(seen(a), seen(Z.copy()), strict=True):
        assert_equal(found, expected)


@pytest.mark.parametrize(("own", "other"), [
    ("f8", "i8"), ("i8", "M8[s]"), ("f4", "u4"), ("c8", "u8"), ("c16", "U4"), ("?", "u1"), ("S3", "S3"), ("f2", "i2")])
def test_bits(own: str, other: str) -> None:
    x = (np.arange(20) % 3).astype(own).reshape(4, 5)
    a = pg.array(x, layout=pg.Distribution("cyclic(1)", "block"))
    assert_equal(a.view(other), x.view(other))
    a.view(other)[1:, ::2] = a.view(other)[:1, 1:4]
    x.view(other)[1:, ::2] = x.view(other)[:1, 1:4]
    assert_equal(a, x)
    assert_equal(a.view(), x)
    assert a.view(other).dtype == np.dtype(other)
    assert a[0].view(other).nbytes == x[0].nbytes
    collectively(np.shares_memory(a.local(), a.view(other).local()) or not a.local().size)


MASK = np.arange(12).reshape(3, 4) % 3 == 1

WRITERS = (
    "v.flat[1] = 8", "v.flat[::2] = [1, 2]", "v.flat[[0, 0, -1]] = 4", "v.flat = 6", "v.put([0, -1], 5)",
    "np.put(v, [0, 1], [7, 8])", "np.place(v, m, [1, 2])", "np.putmask(v, m, w)", "np.putmask(v, m, [3, 4])",
    "np.copyto(v, w)", "np.copyto(v, 3, where=m)", "np.copyto(v, v[::-1])", "np.fill_diagonal(v, 9)",
    "np.put_along_axis(v, np.array([[0, 1, 2, 0]]), 2.0, 0)",
    "np.clip(v, 0, 2, out=v)", "w.clip(-1, 1, v)", "np.round(w / 3, 1, v)", "np.divmod(w, 3, out=(None, v))",
    "np.cumsum(w, 0, out=v)", "np.take(w, [1, 1], 0, v[:2])", "np.concatenate([w[:1], w[1:]], out=v)",
    "v @= np.arange(16.0).reshape(4, 4)", "np.meshgrid(v[0], v[:, 0], sparse=True, copy=False)[0][...] = 2",
    "v.reshape(1, 3, 4)[0, 1] = 2", "v.flatten()[...] = 2", "v[0].flatten()[...] = 2",
    "np.place(z.imag, z.real > 0, z.real)")


@pytest.mark.parametrize("statement", WRITERS)
def test_functions_that_write(statement: str) -> None:
    for seen in "z.real", "z.T.imag.T", "z[::-1, ::-1].real", "x.view('u8').view('f8')":
        found = []
        for np_, array in (np, np.array), (pg, pg.array):
            z, x, w, m = array(Z), array(X), array(X[::-1]) + 0.5, array(MASK)
            names: dict[str, Any] = {"np": np_, "z": z, "x": x, "w": w, "m": m}
            names["v"] = eval(seen, names)
            exec(statement, names)
            found.append((z, x, w))
        for expected, ours in zip(*found, strict=True):
            assert_equal(ours, expected)


READERS: dict[str, Callable[[Any, Any], Any]] = {
    "array": lambda np_, v: np_.array([v, v + 1]),
    "array of rows": lambda np_, v: np_.array([v[0], v[1]]),
    "diagonal": lambda np_, v: np_.diagonal(v),
    "histogram": lambda np_, v: np_.histogram(v, weights=v)[0],
    "digitize": lambda np_, v: np_.digitize(v, [0, 1]),
    "searchsorted": lambda np_, v: np_.searchsorted(np_.sort(v[0]), v),
    "tensordot": lambda np_, v: np_.tensordot(v, v[::-1].T, 1),
    "repeated": lambda np_, v: np_.broadcast_to(v, (2, 3, 4)) * 2,
    "a repeated row": lambda np_, v: np_.broadcast_to(v[0, ::-1], (3, 4)).T @ v,
    "in broadcast arrays": lambda np_, v: np_.broadcast_arrays(v[:, None], v[0])[1] * 1,
    "windows": lambda np_, v: np_.lib.stride_tricks.sliding_window_view(v, (2, 3)).sum((2, 3)),
    "rfft": lambda np_, v: np_.fft.rfft(v * 1).real + np_.fft.rfft(v).real,
}


@pytest.mark.parametrize("name", READERS)
def test_functions_that_read(name: str) -> None:
    for part in "real", "imag":
        assert_equal(READERS[name](pg, getattr(pg.array(Z), part)), READERS[name](np, getattr(Z, part)), exact=False)


def test_reshape() -> None:
    a = pg.array(Z)
    pg.reshape(a.real, (3, 4), copy=True)[...] = 2
    assert_equal(a, Z)
    pg.reshape(a.real, (1, 3, 4), copy=False)[...] = 2
    assert_equal(a, 2 + 1j * Z.imag)


def test_tasks() -> None:
    a, expected = pg.array(Z), Z.copy()
    bits = a.imag.view("u8")

    def change(real: Any, imag: Any, bits: Any) -> None:
        imag[...] = real + 1
        real *= 2
        bits[...] ^= 1 << 63
    pg.schedule(change, pg.update(a.real), pg.write(a.imag), pg.update(bits))
    change(expected.real, expected.imag, expected.imag.view("u8"))
    assert_equal(a, expected)
    pg.schedule(lambda target, source: np.copyto(target, source), pg.write(a.T.real), a.T.imag)
    expected.real = expected.imag
    assert_equal(a, expected)


STATEMENTS = (
    "r += 1", "i[...] = r", "z *= z", "z[1:] = z[:-1]", "row[...] = i[0]", "column -= 1", "bits[0] ^= 1 << 40",
    "r[i > 0] = 2", "i[[0, 2], [1, 3]] = r[0, 0]", "np.negative(r, out=i)", "z[0] = row", "z.T[1] += i[:, 0].sum()",
    "r.sort(1)", "reverse[1] = column.max()", "z.real, z.imag = i * 1, r * 1", "bits.fill(1 << 61)", "z = z + r",
    "np.sum(z.real, axis=1, out=column)", "np.add.at(i, (slice(None), [0, 0]), 1)", "row *= row", "i -= i.mean()")


@pytest.mark.parametrize("seed", range(12))
def test_random_programs(seed: int) -> None:
    """Statements on an array and on views of it, in any order, some of them while a process has a local view."""
    rng = random.Random(seed)
    dims = rng.choice([("block", "block"), ("cyclic(1)", "*"), ("*", "cyclic(2)"), ("*", "block")])
    program = "r, i = z.real, z.imag\nrow, column, reverse, bits = r[1], i[:, 2], i[::-1, ::2], r.view('u8')\n"
    program += "\n".join(rng.choices(STATEMENTS, k=rng.randint(3, 25)))
    ours, theirs = ({"np": np, "z": z} for z in (pg.array(Z, layout=pg.Distribution(*dims)), Z.copy()))
    with np.errstate(all="ignore"):
        for line in program.splitlines():
            exec(line, ours)
            exec(line, theirs)
            local = ours[rng.choice("riz")].local() if rng.random() < 0.3 else None
            for name in rng.sample(("z", "r", "i", "row", "column", "reverse", "bits"), 2 if "row" in ours else 0):
                assert_equal(ours[name] if rng.random() < 0.5 else ours[name] + 0, theirs[name])
            del local
        for name in ("z", "r", "i", "row", "column", "reverse", "bits"):
            assert_equal(ours[name], theirs[name])


def test_showing_one_process() -> None:
    """What is not collective records nothing."""
    a, number = pg.array(Z), pg.array(Z[0, 0])
    r = a.real
    if pg.RANK == 0:
        repr(number.imag), repr(r[0, 0, ...])
        repr(r), r.shape, r.dtype, r.layout, r.itemsize, r.local().sum(), list(r.blocks()), r.T.mT
        r[0, ...], str(r[0, ...]), len(r), r.nbytes, r.pgrid(), r.global_indices(0), r[1:], r.view("i8"), r.real
        r.device, r.reshape(3, 1, 4)
    assert_equal(r + a, Z.real + Z)


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
    for y in a, pg.arange(3), pg.zeros(100_000), pg.ones(4, bool):
        raises_everywhere(ValueError, "read-only", lambda y=y: y.imag.__setitem__(..., 1))
        raises_everywhere(ValueError, "read-only", lambda y=y: y.imag.__iadd__(1))
        assert_equal(y.imag + 1, np.zeros(y.shape, y.dtype) + 1)
    assert_equal(a, x)


def test_what_is_refused() -> None:
    a = pg.array(Z)
    copied = pg.array(Z, layout=pg.Distribution("*", "*")).imag
    raises_everywhere(ValueError, "as other numbers", lambda: pg.combine(np.add, copied))
    raises_everywhere(ValueError, "broadcast", lambda: a.real.__setitem__(0, [1, 2]))
    raises_everywhere(TypeError, "does not support assignment", lambda: a[0, 0].real.__setitem__(..., 2))
    raises_everywhere(TypeError, "cast", lambda: a.real.__iadd__(1j))
    raises_everywhere(ValueError, "of their size only", lambda: a.view("f8"))
    raises_everywhere(TypeError, "object", lambda: a.view("O"))
    assert_equal(a, Z)


def test_who_shares_memory() -> None:
    def shared(xp: Any) -> list[bool]:
        a, c = xp.ones((12, 7)), xp.ones((6, 4), complex)
        pairs = [(a, a[1:]), (a[:3], a[4:]), (a, a.copy()), (a[3], a[:, 2]), (a[::2], a[1::2]), (a, a.T[::-1]),
                 (a[::3, 1:], a[1::2]), (a, c), (a[:0], a), (c.real, c), (c[1:].imag, c), (c.real, c.imag),
                 (c.real, c.real[2]), (c.real[1:], c[0])]
        return [np.shares_memory(*pair) for pair in pairs]

    assert shared(pg) == shared(np)
    a = pg.ones(9)
    assert not pg.may_share_memory(a[:4], a[4:])
    with pytest.raises(TypeError, match="local parts"):
        pg.shares_memory(pg.ones(3), np.ones(3))


@pytest.mark.every
@pytest.mark.skipif(pg.SIZE > 1, reason="is of one process")
@pytest.mark.parametrize("part", [
    lambda a: a.T.real, lambda a: a.imag, lambda a: a.T[::-1, 1:].imag, lambda a: a[:, 2].real,
    lambda a: a[None].T.imag, lambda a: a[1, 1].real])
def test_what_is_computed_of_parts_lies_as_they_do_in_all_tiers(part: Callable[[Any], Any]) -> None:
    x = np.random.default_rng(0).normal(size=(30, 5)) + 1j
    a = pg.array(x)
    for function in np.square, np.negative, np.isnan, lambda v: np.add(v, 1), lambda v: np.maximum(v, 0):
        found = function(part(a))
        with small.passed_over():
            expected = function(part(a))
            np.testing.assert_array_equal(expected.gather(), function(part(x)))
        np.testing.assert_array_equal(found.gather(), function(part(x)))
        assert found.layout == expected.layout
        assert not found.ndim or found.local().strides == expected.local().strides
