"""Random keys with arrays, read and written and combined with, against NumPy; the same on every process.

`python -m pgaspy run -n 3 python -m tests.random_keys 5000` is the long campaign: so many keys, from a first seed on.
"""

from __future__ import annotations

import contextlib
import random
import sys
from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

import pgaspy as pg
from pgaspy.scheduling import exchanges
from tests.randomly import DTYPES, random_key, random_layout, random_shape

__all__ = ["check", "few_at_once"]

EXTENTS = (0, 1, 2, 3, 5, 8, 13)
UFUNCS = np.add, np.subtract, np.maximum, np.minimum, np.multiply


@contextlib.contextmanager
def few_at_once(n: int) -> Iterator[None]:
    """Have exchanges take rounds of so many items."""
    before, exchanges.WINDOW_ITEMS = exchanges.WINDOW_ITEMS, n
    try:
        yield
    finally:
        exchanges.WINDOW_ITEMS = before


def as_global(rng: random.Random, x: NDArray[Any]) -> pg.GlobalArray:
    """A global array with these elements: in any layout, sometimes as a section of a larger one."""
    layout = random_layout(rng, x.shape, pg.SIZE)
    if x.ndim and rng.random() < 0.3:
        larger = np.repeat(np.repeat(x, 2, axis=0), 1, axis=-1)
        return pg.array(larger, layout=random_layout(rng, larger.shape, pg.SIZE))[::2]
    return pg.array(x, layout=layout)


def random_elements(rng: random.Random, shape: tuple[int, ...], dtype: Any) -> NDArray[Any]:
    """Small integers of a dtype, so that all sums are exact."""
    found = np.random.default_rng(rng.randrange(1 << 30)).integers(0, 9, shape)
    return np.asarray(found > 4 if np.dtype(dtype) == bool else found).astype(dtype)


def random_index(rng: random.Random, extent: int, shape: tuple[int, ...]) -> NDArray[Any]:
    """An array of integers, with duplicates and negative ones; empty where there is nothing to name."""
    values = np.random.default_rng(rng.randrange(1 << 30)).integers(-extent, max(extent, 1), shape)
    return values.astype(rng.choice([np.int64, np.int64, np.int32, np.int8]))


def random_keys(rng: random.Random, shape: tuple[int, ...]) -> tuple[Any, Any]:
    """A key with arrays, for a global array and for a NumPy array of a shape."""
    joint = random_shape(rng, 2, EXTENTS)
    if 0 in shape:
        joint = (0, *joint[1:])
    keys: list[tuple[Any, Any]] = []
    d = 0
    while d < len(shape):
        kind = rng.random()
        n_dims = rng.randint(1, len(shape) - d)
        if kind < 0.15:
            mask = random_elements(rng, shape[d:d + n_dims], bool)
            keys = [(slice(None), slice(None)) if isinstance(theirs, np.ndarray) else (own, theirs)
                    for own, theirs in keys]  # what it names seldom broadcasts with others
            return _closed(rng, [*keys, (given(rng, mask), mask)])
        if kind < 0.6:
            own = tuple(n if rng.random() < 0.8 or n == 0 else 1 for n in joint[rng.randint(0, len(joint)):])
            index = random_index(rng, shape[d], own if shape[d] else (0,) * len(own))
            if index.ndim:
                keys.append((given(rng, index), index))
            else:
                keys.append((int(index) if shape[d] else slice(None),) * 2)
        elif kind < 0.75 and shape[d]:
            keys.append((rng.randrange(-shape[d], shape[d]),) * 2)
        else:
            keys.append((random_key(random.Random(rng.random()), shape[d:d + 1])[0],) * 2)
            if keys[-1][0] is None or keys[-1][0] is Ellipsis:
                keys[-1] = slice(None), slice(None)
        d += 1
    return _closed(rng, keys)


def given(rng: random.Random, x: NDArray[Any]) -> Any:
    """An array in a key: as it is, as a list, or as a global array."""
    kind = rng.random()
    return x if kind < 0.3 else x.tolist() if kind < 0.4 and x.size else as_global(rng, x)


def _closed(rng: random.Random, keys: list[tuple[Any, Any]]) -> tuple[Any, Any]:
    """The key, with new dimensions and an Ellipsis here and there; of one array sometimes the array itself."""
    if rng.random() < 0.2:
        keys.insert(rng.randint(0, len(keys)), (None, None))
    if rng.random() < 0.2 and not (keys and _is_mask(keys[-1][1])):  # which may leave out dimensions
        keys.insert(rng.randint(0, len(keys)), (Ellipsis, Ellipsis))
    if len(keys) == 1 and rng.random() < 0.5:
        return keys[0]
    own, theirs = zip(*keys, strict=True) if keys else ((), ())
    return tuple(own), tuple(theirs)


def _is_mask(x: Any) -> bool:
    return isinstance(x, np.ndarray) and x.dtype.kind == "b"


def check(seed: int) -> str:
    """Compare one key: an empty string, or what is wrong."""
    rng = random.Random(seed)
    shape = (rng.choice(EXTENTS), *random_shape(rng, 2, EXTENTS))
    dtype = np.dtype(rng.choice(DTYPES))
    x = random_elements(rng, shape, dtype)
    a = as_global(rng, x)
    own, theirs = random_keys(rng, shape)
    try:
        expected = x[theirs]
    except IndexError as error:
        return _refuses(a, own, error)
    found = a[own]
    problem = _difference("a[key]", found, np.asarray(expected))
    if problem or expected.size > 1 << 16:
        return problem
    value = random_elements(rng, _broadcastable(rng, expected.shape), rng.choice([dtype, np.dtype("d"), np.dtype("l")]))
    if dtype.kind not in "cfe" and value.dtype.kind == "d":
        value = value.astype(dtype)
    y = as_global(rng, value) if rng.random() < 0.6 else value
    with np.errstate(all="ignore"):
        a[own] = y
        x[theirs] = value
        problem = _difference("a[key] = value", a, x)
        if problem or dtype.kind == "b":
            return problem
        ufunc = rng.choice(UFUNCS[:1] + UFUNCS[2:] if dtype.kind == "u" else UFUNCS)
        value = value.astype(dtype)
        ufunc.at(a, own, as_global(rng, value) if rng.random() < 0.6 else value)
        ufunc.at(x, theirs, np.broadcast_to(value, expected.shape).copy())  # of others NumPy reads beyond the end
    return _difference(f"{ufunc.__name__}.at", a, x)


def _broadcastable(rng: random.Random, shape: tuple[int, ...]) -> tuple[int, ...]:
    kind = rng.random()
    return () if kind < 0.2 else shape if kind < 0.7 else tuple(rng.choice([1, n]) for n in shape[rng.randint(0, 1):])


def _refuses(a: pg.GlobalArray, own: Any, error: Exception) -> str:
    try:
        a[own]
    except type(error):
        return ""
    return f"no {type(error).__name__}: {error}"


def _difference(what: str, found: pg.GlobalArray, expected: NDArray[Any]) -> str:
    elements = found.gather()
    if (elements.shape, elements.dtype) != (expected.shape, expected.dtype):
        return f"{what}: {elements.shape} {elements.dtype}, not {expected.shape} {expected.dtype}"
    if not np.array_equal(elements, expected, equal_nan=expected.dtype.kind in "fc"):
        return f"{what}: {elements}, not {expected}"
    return ""


def main() -> int:
    """Compare so many keys as are asked for; status 1 if any differs."""
    n, first = (int(word) for word in [*sys.argv[1:], "0"][:2])
    n_wrong = 0
    for seed in range(first, first + n):
        with few_at_once(random.Random(~seed).choice([3, 1 << 23])):
            try:
                problem = check(seed)
            except Exception as error:
                problem = f"{type(error).__name__}: {error}"
                if pg.SIZE > 1 and not isinstance(error, IndexError | ValueError | TypeError):
                    raise
        n_wrong += bool(problem)
        if problem and pg.RANK == 0:
            print(f"seed {seed}: {problem}", flush=True)
    if pg.RANK == 0:
        print(f"{n} keys, {n_wrong} wrong")
    return int(n_wrong > 0)


if __name__ == "__main__":
    sys.exit(main())
