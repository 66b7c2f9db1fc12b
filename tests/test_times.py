"""datetime64 and timedelta64: what NumPy does with them, on any number of processes, or an error when recorded."""

from __future__ import annotations

import datetime
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import pgaspy as pg
from tests.together import assert_equal, collectively, raises_everywhere

pytestmark = [pytest.mark.mpi, pytest.mark.filterwarnings("ignore::RuntimeWarning")]

SECONDS = np.array([5, 3, -7, 11, 0, 2, 9, -1, 4, 6], "m8[s]")
WITH_NAT = np.where(np.arange(10) == 3, np.timedelta64("NaT"), SECONDS)
START = np.datetime64("2020-01-01", "s")

INPUTS = {
    "t": SECONDS,
    "tn": WITH_NAT,
    "d": START + SECONDS,
    "dn": START + WITH_NAT,
    "ms": (SECONDS * 1500).astype("m8[ms]"),
    "day": np.arange("2020-02-25", "2020-03-06", dtype="M8[D]"),
    "t2": SECONDS.reshape(2, 5),
    "d2": (START + WITH_NAT).reshape(5, 2),
    "empty": SECONDS[:0],
    "one": SECONDS[:1],
    "empty2": np.zeros((0, 3), "m8[s]"),
    "gen": np.arange(10).astype("m8"),
}
OTHERS = {"i": np.arange(10) - 3, "f": np.linspace(-1, 2, 10), "b": np.arange(10) > 3}

REDUCTIONS = """
X.sum() ; X.mean() ; X.min() ; X.max() ; X.prod() ; X.any() ; X.all() ; X.var() ; X.std() ; X.argmin() ; X.argmax()
np.fmin.reduce(X) ; np.fmax.reduce(X) ; X.sum(axis=0) ; X.min(axis=0) ; X.mean(axis=-1) ; X.max(axis=-1, keepdims=True)
X.sum(dtype='m8[ms]') ; X.sum(dtype='m8') ; X.sum(dtype=float) ; X.mean(dtype=float) ; X.mean(dtype='m8')
np.logical_xor.reduce(X) ; np.add.reduce(X) ; np.maximum.reduce(X, axis=None) ; np.bitwise_or.reduce(X)
X[::-1].sum() ; X[::2].min() ; X[::-3].mean() ; (X - X).sum() ; abs(X).max() ; (X == X).sum() ; np.minimum.reduce(X[1:])
"""
ELEMENTWISE = """
X + X ; X - X ; X * X ; X / X ; X // X ; X % X ; -X ; +X ; abs(X) ; ~X ; X ** 2 ; X & X ; np.sign(X) ; np.divmod(X, X)
X + 1 ; X - 1 ; X * 2 ; 2 * X ; X * 2.5 ; X / 2 ; X // 2.0 ; X % 2 ; 1 - X ; 1 / X ; X * True ; X * 1j ; X / 0 ; X // 0
X < X ; X == X ; X != X ; X > 3 ; X * np.int8(3) ; X * np.float32(1.5) ; X + np.int64(4) ; X + np.timedelta64(3, 's')
X + np.timedelta64(1, 'D') ; X - np.timedelta64(3, 'ms') ; np.timedelta64(3, 'ms') + X ; X + np.timedelta64('NaT')
X - np.datetime64('2020-01-01') ; np.datetime64('2020-01-01') - X ; X + np.datetime64('2020-01-01', 'ms')
X < np.timedelta64(3, 's') ; X >= np.timedelta64(2500, 'ms') ; X < np.datetime64('2020-01-01T00:00:03')
X / np.timedelta64(1, 's') ; X // np.timedelta64(2, 's') ; X % np.timedelta64(2, 's') ; X // np.timedelta64(0, 's')
X / np.timedelta64(1, 'Y') ; X + np.timedelta64(1, 'M') ; X * i ; X * f ; X / f ; X // i ; i * X ; X + i ; X * b
X + ms ; X - ms ; X < ms ; X / ms ; X // ms ; X % ms ; X + day ; day - X ; dn - X ; np.maximum(X, ms) ; X + gen
X + [1] ; X + np.array(3, 'm8[ms]') ; X * np.arange(10) ; X - np.arange(10).astype('m8[us]')
np.isnat(X) ; np.isfinite(X) ; np.isnan(X) ; np.fmax(X, X[::-1]) ; np.minimum(X, X[::-1]) ; np.floor(X) ; np.sqrt(X)
X == day ; X != np.datetime64('2020-01-01') ; X == 3 ; X == None ; X != None ; d == 3 ; t == day
np.logical_not(X) ; np.power(X, X) ; np.add(X, X, dtype='m8[ms]') ; np.add(X, ms, out=Z) ; np.isnat(X, out=b)
"""
MOVEMENT = """
X.astype('m8[ms]') ; X.astype('m8[D]') ; X.astype('M8[D]') ; X.astype(int) ; X.astype(float) ; X.astype(bool)
X.astype('S30') ; X.astype('m8') ; X.astype('M8') ; X.astype('m8[25s]') ; X.astype('M8[M]') ; X.astype('S')
i.astype('m8[s]') ; i.astype('M8[D]') ; f.astype('m8[s]') ; i.astype('m8') ; f.astype('S')
np.where(X == X, X, np.timedelta64(1, 'D')) ; np.clip(X, np.timedelta64(0, 's'), np.timedelta64(5, 's'))
np.concatenate([X, X]) ; np.concatenate([X, ms]) ; np.flip(X) ; np.roll(X, 2) ; np.stack([X, X]) ; np.where(b, X, ms)
np.zeros_like(X) ; np.full_like(X, 3) ; np.full_like(X, np.timedelta64(3, 'm')) ; np.full_like(X, 'NaT')
str(X[..., 0].item()) ; str(X.sum().item()) ; bool(X.max()) ; float(X.sum()) ; X.mean().dtype
Z[...] = 5 ; Z[...] = np.timedelta64(1, 'D') ; Z[...] = X[::-1] ; Z[...] = i ; Z[2:4] = 'NaT' ; Z[...] = ms
Z[...] = day ; Z[...] = f ; Z[...] = 1.5 ; Z[...] = np.datetime64('2020-01-01') ; Z[...] = np.arange(10)
Z += 1 ; Z += np.timedelta64(1, 'm') ; Z -= ms ; Z *= 2 ; Z *= 1.5 ; Z /= 2 ; Z //= 2 ; Z += X ; Z *= f ; Z %= X
"""
NOT_HERE = [
    "np.dot(t, i)", "np.matmul(t, t)", "t < datetime.timedelta(1)", "t + datetime.timedelta(1)",
    "d < datetime.datetime(2020, 1, 1)",
]
"""What NumPy does, mostly, and global arrays refuse."""


def statements(text: str) -> Iterator[str]:
    return (statement.strip() for statement in text.replace("\n", " ; ").split(" ; ") if statement.strip())


def outcome(statement: str, names: dict[str, Any]) -> Any:
    """The value, or the exception of whoever records it; what is raised later is a failure."""
    try:
        if statement.startswith("Z"):
            exec(statement, names)
            value = names["Z"]
        else:
            value = eval(statement, names)
    except (TypeError, ValueError, IndexError) as error:
        return error
    value = value[0] if isinstance(value, tuple) else value
    return value.gather() if isinstance(value, pg.GlobalArray) else np.asarray(value)


def is_same(found: Any, expected: Any) -> bool:
    if isinstance(expected, Exception) or isinstance(found, Exception):
        return isinstance(found, Exception) and isinstance(expected, Exception)
    is_equal = np.array_equal(found, expected, equal_nan=expected.dtype.kind in "mMfc")
    return found.dtype == expected.dtype and found.shape == expected.shape and is_equal


def words(value: Any) -> str:
    if isinstance(value, Exception):
        return f"{type(value).__name__}: {value}"
    return f"{value.dtype} {(value.view(int) if value.dtype.kind in 'mM' else value).tolist()}"


@pytest.mark.parametrize(("text", "onenode"), [
    (REDUCTIONS, None), (REDUCTIONS, pg.SIZE - 1), (ELEMENTWISE, None), (MOVEMENT, None),
], ids=["reductions", "reductions of one process", "elementwise", "movement"])
def test_as_numpy(text: str, onenode: int | None) -> None:
    problems = []
    for x in INPUTS:
        local: dict[str, Any] = {name: value.copy() for name, value in (INPUTS | OTHERS).items()}
        own = {name: pg.array(value, onenode=onenode) for name, value in local.items()}
        for statement in statements(text):
            results = []
            for names in local, own:
                names.update(X=names[x], Z=names[x].copy(), np=np)
                with np.errstate(all="ignore"):
                    results.append(outcome(statement, names))
            if not is_same(results[1], results[0]):
                problems.append(f"X = {x}: {statement} is {words(results[1])}, in NumPy {words(results[0])}")
    collectively(not problems, "\n".join(problems))


@pytest.mark.parametrize("statement", NOT_HERE)
def test_what_is_refused_when_it_is_recorded(statement: str) -> None:
    arrays = {name: pg.array(value) for name, value in (INPUTS | OTHERS).items()}
    raises_everywhere(TypeError, ".", lambda: eval(statement, {**arrays, "np": np, "datetime": datetime}))
    assert_equal(arrays["t"] * 2, SECONDS * 2)


def test_text() -> None:
    t, d = pg.array(WITH_NAT), pg.array(START + SECONDS)
    found = str(t.sum()), f"{d.max()}", str(pg.array(START.astype("M8[ns]") + SECONDS).max())
    collectively(found == ("NaT", "2020-01-01T00:00:11", "2020-01-01T00:00:11.000000000"), f"{found}")


@pytest.mark.parametrize("seed", range(12))
def test_reductions_at_random(seed: int) -> None:
    rng = np.random.default_rng(seed)
    kind, unit = rng.choice(["m8", "M8"]), rng.choice(["D", "h", "s", "25s", "ms", "ns"])
    shape = tuple(rng.integers(0 if seed % 4 == 0 else 1, 7, size=rng.integers(1, 4)))
    elements = rng.integers(-50, 50, shape).astype(f"{kind}[{unit}]")
    elements[rng.random(shape) < rng.choice([0, 0.05, 0.9])] = "NaT"
    names = ["block", "cyclic", "cyclic(2)", "*"]
    layout = pg.Distribution(*rng.choice(names, len(shape))) if rng.random() < 0.7 else None
    a = pg.array(elements, layout=layout) if layout else pg.array(elements, onenode=int(rng.integers(pg.SIZE)))
    key = tuple(slice(None, None, int(rng.choice([1, 1, 2, -1, -2]))) for _ in shape)
    a, elements = a[key], elements[key]
    calls = {"sum": np.sum, "mean": np.mean, "min": np.min, "max": np.max, "argmin": np.argmin, "argmax": np.argmax,
             "fmin": np.fmin.reduce, "fmax": np.fmax.reduce, "isnat": lambda x, axis: np.isnat(x).sum(axis=axis)}
    for name, call in calls.items():
        for axis in None, *range(len(shape)):
            try:
                expected = np.asarray(call(elements, axis=axis))
            except (TypeError, ValueError) as error:
                raises_everywhere(TypeError if isinstance(error, TypeError) else ValueError, ".",
                                  lambda call=call, axis=axis: call(a, axis=axis))
                continue
            found = call(a, axis=axis).gather()
            collectively(is_same(found, expected), f"{name}, axis {axis}: {words(found)}, in NumPy {words(expected)}")
