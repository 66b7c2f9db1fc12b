"""Random programs of small arrays: what they give is as in the other tiers, to the bit, the dtype and the layout."""

from __future__ import annotations

import operator
import random
from typing import Any

import numpy as np
import pytest

import pgaspy as pg
from pgaspy.alone import small
from tests.randomly import random_key

LAYOUTS: tuple[Any, ...] = (None, pg.Distribution("cyclic(3)", "*"), pg.Distribution("*", "cyclic(2)"),
                            pg.Distribution("*", "*"))
NUMBERS = 2, 0.5, -3, 300, 1j, np.float64(1.5), np.int64(2)
OPERATIONS = (operator.add, operator.sub, operator.mul, operator.truediv, operator.lt, operator.eq, np.minimum,
              np.maximum, operator.floordiv, np.hypot)
UNARY = operator.neg, abs, np.sqrt, np.exp, np.isfinite, np.floor
DTYPES = "dflib?DBe"


def taken(rng: random.Random, x: Any, y: Any) -> Any:
    return rng.choice(OPERATIONS)(x, y)


def with_number(rng: random.Random, x: Any, y: Any) -> Any:
    key = random_key(rng, x.shape)
    number = rng.choice((*NUMBERS, np.arange(1.0, x.shape[-1] + 1) if x.shape else 1))
    operands = (x[key], number) if rng.random() < 0.5 else (number, x[key])
    return rng.choice(OPERATIONS)(*operands)


def number_assigned(rng: random.Random, x: Any, y: Any) -> None:
    x[random_key(rng, x.shape)] = rng.choice(NUMBERS)


def section_assigned(rng: random.Random, x: Any, y: Any) -> None:
    key = random_key(rng, x.shape)
    x[key] = y[key] if rng.random() < 0.5 else y


def function(rng: random.Random, x: Any, y: Any) -> Any:
    return rng.choice(UNARY)(x[random_key(rng, x.shape)])


def in_place(rng: random.Random, x: Any, y: Any) -> Any:
    key = random_key(rng, x.shape)
    return rng.choice((operator.iadd, operator.imul))(x[key], y[key] if rng.random() < 0.7 else rng.choice(NUMBERS))


def multiplied(rng: random.Random, x: Any, y: Any) -> Any:
    return x[random_key(rng, x.shape)] @ y.T[..., 0] if rng.random() < 0.5 else x @ y.T


def reduced(rng: random.Random, x: Any, y: Any) -> Any:
    return getattr(x[random_key(rng, x.shape)], rng.choice(("sum", "max", "min", "mean", "any", "prod", "argmin",
                                                                 "argmax")))()


def reduced_along(rng: random.Random, x: Any, y: Any) -> Any:
    z = x[random_key(rng, x.shape)]
    axis = rng.choice((None, 0, -1, (0, -1)))
    if rng.random() < 0.2:
        return getattr(z, rng.choice(("argmin", "argmax")))(rng.choice((0, -1)))
    if rng.random() < 0.2:
        return rng.choice((np.fmax, np.add, np.bitwise_or)).reduce(z, rng.choice((0, -1)))
    name = rng.choice(("sum", "max", "min", "mean", "any", "prod", "var", "std"))
    return getattr(z, name)(axis=axis, keepdims=rng.random() < 0.3)


def centered(rng: random.Random, x: Any, y: Any) -> Any:
    axis = rng.choice((0, -1))
    return x - y.mean(axis=axis, keepdims=True)


def accumulated(rng: random.Random, x: Any, y: Any) -> Any:
    z = x[random_key(rng, x.shape)]
    if rng.random() < 0.5:
        return rng.choice((np.maximum, np.add, np.logical_or)).accumulate(z, rng.choice((0, -1)))
    return getattr(z, rng.choice(("cumsum", "cumprod")))(rng.choice((None, 0, -1)))


def reshaped(rng: random.Random, x: Any, y: Any) -> Any:
    z = x[random_key(rng, x.shape)]
    return rng.choice((z.ravel, z.flatten, z.T.ravel, lambda: z.reshape(-1, *z.shape[:1]), lambda: z.reshape(1, -1)))()


def into(rng: random.Random, x: Any, y: Any) -> Any:
    key = random_key(rng, x.shape)
    return rng.choice((np.add, np.maximum, np.hypot, np.divide))(x[key], rng.choice((y[key], *NUMBERS)), out=y[key])


def put(rng: random.Random, x: Any, y: Any) -> None:
    places = [rng.randrange(-x.size, x.size) for _ in range(rng.choice((1, 3))) if x.size]
    if rng.random() < 0.5:
        pg.put(x, rng.choice((places, pg.array(places, int))), rng.choice((y.ravel()[:2], 3, [1, 2])))
    else:
        rows = [p % len(x) for p in places if x.ndim]
        rng.choice((np.minimum, np.maximum)).at(x, rows, rng.choice((y[:1] if y.ndim else y, 2)))


def selected(rng: random.Random, x: Any, y: Any) -> Any:
    if rng.random() < 0.5:
        return x[y > 1]
    if rng.random() < 0.2:
        x[y > 0] = rng.choice(NUMBERS)
    n = len(x)
    rows = [rng.randrange(-n, n) for _ in "123" if n]
    keys = [pg.array(rows, dtype=int), np.array(rows, int), rows, [True] * n, (rows, slice(1, None)), (slice(1), rows),
            (pg.array(rows, dtype=int), rng.choice((0, pg.array(rows, dtype=int) // 2)))]
    key = rng.choice(keys)
    if rng.random() < 0.5:
        x[key] = rng.choice((x[key][::-1], 3))
    return x[key]


def chosen(rng: random.Random, x: Any, y: Any) -> Any:
    mask = (x > y)[random_key(rng, x.shape)] if x.shape == y.shape and rng.random() < 0.3 else x > y
    return np.where(mask, rng.choice((x, *NUMBERS[:3])), rng.choice((y, *NUMBERS)))


def copied(rng: random.Random, x: Any, y: Any) -> Any:
    return x[random_key(rng, x.shape)].copy()


STATEMENTS = (taken, with_number, number_assigned, section_assigned, function, in_place, multiplied, reduced, selected,
              chosen, copied, reduced_along, centered, accumulated, reshaped, into, put)
ERRORS = TypeError, ValueError, OverflowError, IndexError


def ran(seed: int) -> list[Any]:
    """What a random program of small arrays gives: bytes, dtypes, and where they lie."""
    rng, values = random.Random(seed), np.random.default_rng(seed)
    shape = rng.randint(1, 7), rng.randint(1, 7)
    arrays: list[Any] = [
        pg.array((values.random(shape) * 9 - 4).astype(rng.choice(DTYPES)), layout=rng.choice(LAYOUTS)) for _ in "123"]
    found: list[Any] = []
    for _ in range(15):
        statement, x, y = rng.choice(STATEMENTS), rng.choice(arrays), rng.choice(arrays)
        state = rng.getstate()
        try:
            result = statement(rng, x, y)
            if statement is selected and isinstance(result, pg.GlobalArray):
                result = pg.array(result.gather())  # as a new array lies; and wrong indices are told where it is read
        except ERRORS as error:
            result = type(error)
        rng.setstate(state)
        found.append((statement.__name__, result if isinstance(result, type) else type(result).__name__))
        if isinstance(result, pg.GlobalArray):
            if statement is not selected and result.shape and result.dtype in map(np.dtype, DTYPES):
                arrays[rng.randrange(3)] = result
            found.append(told(result))
    return [*found, *map(told, arrays)]


def told(x: Any) -> tuple[Any, ...]:
    """What is to be the same of an array in all tiers."""
    has_strides = min(x.shape, default=0) > 1 and x._view.own_layout is not None
    return x.gather().tobytes(), x.dtype, x.shape, (x == x).layout.dims, x.local().strides if has_strides else None


@pytest.mark.filterwarnings("ignore::numpy.exceptions.ComplexWarning", "ignore:what is written to this array",
                            "ignore:Mean of empty", "ignore:Degrees of freedom")
@pytest.mark.parametrize("seed", range(600))
def test_they_are_as_those_of_kernels(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    found = ran(seed)
    monkeypatch.setattr(small, "is_on", False)
    assert found == ran(seed)
