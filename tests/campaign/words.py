"""What a program's lines call besides pgaspy, on either side."""

from __future__ import annotations

import contextlib
import gc
import io
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

import pgaspy
from tests.campaign import model

__all__ = ["Observation", "namespace", "values"]

NOT_A_TIME = np.iinfo(np.int64).min


def values(seed: int, shape: tuple[int, ...], dtype: str) -> Any:
    """Multiples of 1/4, zeros among them, so that sums are exact in most dtypes; or dates, some of them NaT."""
    rng, kind = np.random.default_rng(seed), np.dtype(dtype).kind
    found = rng.integers(0 if kind == "u" else -12, 13, shape)
    if kind in "mM":
        found = np.where(found == 12, NOT_A_TIME, found)
    if kind in "fc":
        found = found / 4
    if kind == "c":
        found = found + 1j * rng.integers(-4, 5, shape) / 2
    return np.asarray(found).astype(dtype)


def regular(seed: int, n: int, dtype: str) -> Any:
    """A matrix that is far from singular; symmetric, with positive eigenvalues."""
    a = values(seed, (n, n), dtype)
    return a @ a.conj().T + n * np.eye(n, dtype=dtype)


class Box:
    """An object with an attribute, or that refers to itself."""

    def __init__(self, value: Any) -> None:
        self.value = value


def closure(value: Any) -> Callable[[], Any]:
    """A function that holds an array."""
    return lambda: value


def generator(value: Any) -> Any:
    """A generator that holds an array, and yields it for ever."""
    while True:
        yield value


def lose(value: Any) -> None:
    """Leave a cycle that holds an array to the garbage collector."""
    box = Box(value)
    box.self = box  # type: ignore[attr-defined]


# Called on local views, or on the model's whole arrays


def negate(x: Any) -> None:
    """1 - x, in place."""
    np.logical_not(x, out=x) if x.dtype.kind == "b" else np.subtract(1, x, out=x, casting="unsafe")


def ones(x: Any) -> None:
    """All elements become 1."""
    x[...] = 1


def twice(out: Any, x: Any) -> None:
    """Out becomes x + x."""
    np.add(x, x, out=out)


def swap(x: Any, y: Any) -> None:
    """Exchange the elements."""
    kept = x.copy()
    x[...], y[...] = y, kept


class Observation:
    """What a line showed, with the error that it may have, or the exception that it raised.

    A local part has the global indices of its elements in `where`, of a whole model they are taken; `key` is a section
    of that. A value of None: nothing is to be seen on this process.
    """

    def __init__(self, line: int, value: Any, tolerance: float = 0.0, where: Any = None, key: Any = ...) -> None:
        self.line, self.value, self.tolerance, self.where, self.key = line, value, tolerance, where, key


class Lease:
    """A view of a local part that outlives the array: a section of it, or a memoryview."""

    def __init__(self, value: Any, where: Any, key: Any) -> None:
        self.value, self.where, self.key = value, where, key


def namespace(noted: list[Observation], line: Callable[[], int], folder: Path, is_model: bool) -> dict[str, Any]:
    """The names that a program's lines find; what they observe is appended to `noted`."""

    def see(*found: Any) -> None:
        noted.append(Observation(line(), found))

    def check(x: Any, tolerance: float = 0.0) -> None:
        noted.append(Observation(line(), x.gather(), tolerance))

    def collected(x: Any, root: int) -> None:
        found = x.gather(root)
        noted.append(Observation(line(), np.asarray(found) if is_model or root == pgaspy.RANK else found))

    def look(x: Any, tolerance: float = 0.0) -> None:
        part: Any
        if is_model:
            noted.append(Observation(line(), np.array(x.value if isinstance(x, Lease) else x), tolerance))
        elif isinstance(x, Lease):
            part = None if x.value is None else np.array(x.value)
            noted.append(Observation(line(), part, tolerance, None if part is None else x.where, x.key))
        else:
            part = None
            with contextlib.suppress(ValueError):  # no NumPy view has these elements
                part = np.array(x.local())
            noted.append(Observation(line(), part, tolerance, None if part is None else _where(x)))

    def lease(x: Any, key: Any = ..., as_memory: bool = False) -> Lease:
        if is_model:
            return Lease(x[...], None, key)
        try:
            part = x.local()[key]
        except ValueError:
            return Lease(None, None, key)
        return Lease(memoryview(part) if as_memory else part, _where(x), key)

    def local(x: Any) -> Any:
        return x[...] if is_model else x.local()

    def each_block(x: Any, function: Callable[[Any], None]) -> None:
        for block in [x] if is_model else x.blocks():
            function(block)

    def printed(*found: Any) -> None:
        text = io.StringIO()
        (module if is_model else pgaspy).print_once(*found, file=text)
        noted.append(Observation(line(), text.getvalue() or ("" if pgaspy.RANK == 0 else None)))

    def put_ranks(x: Any) -> None:
        x[...] = pgaspy.SIZE * (pgaspy.SIZE + 1) // 2 if is_model else pgaspy.RANK + 1

    module = model.module() if is_model else None
    numpy = {"np": np, "gc": gc, "time": time, "FOLDER": folder}
    return {**numpy, "pg": module or pgaspy, "values": values, "regular": regular, "Box": Box, "closure": closure,
            "generator": generator, "lose": lose, "negate": negate, "ones": ones, "twice": twice, "swap": swap,
            "see": see, "check": check, "collected": collected, "look": look, "lease": lease, "local": local,
            "each_block": each_block, "printed": printed, "put_ranks": put_ranks, "inf": np.inf}


def _where(x: Any) -> Any:
    return [x.global_indices(d) for d in range(x.ndim)]
