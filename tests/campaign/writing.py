"""Writes programs: each line is executed on the model at once, so that the next lines can follow from it."""

from __future__ import annotations

import functools
import random
import re
from pathlib import Path
from types import CodeType
from typing import Any

import numpy as np

from tests.campaign import model, words
from tests.randomly import DTYPES, LARGEST, SMALL_EXTENTS, random_fitting_key, random_key, random_shape

__all__ = ["ANY", "DATES", "DTYPES", "Refused", "Writer", "error_of", "key_text"]

DATES = ("M8[D]", "m8[D]", "M8[s]", "m8[h]")
ANY = "fciubmM"
"""Kinds of dtypes: those of `DTYPES`, and dates."""

LONG_EXTENTS = (33, 60, 129, 700)
MAX_ELEMENTS = 20_000
MAX_ARRAYS = 9


class Refused(Exception):
    """A line is not to be written: its result is undefined, or NumPy alone has it."""


class Writer:
    """A program that is being written.

    Attributes
    ----------
    lines
        What is written.
    holders
        Expressions that give the arrays that there are.
    tolerances
        The errors that bases may have, by the id of the model's array that owns the memory.
    n_axes
        Of bases of which each element has one owner, whose whole local part is a NumPy array: the number of axes of the
        grid, by the id of the model's array.
    """

    def __init__(self, seed: int, n_procs: int, folder: Path) -> None:
        self.rng = random.Random(seed)
        self.n_procs = n_procs
        self.lines: list[str] = []
        self.noted: list[words.Observation] = []
        self.names = words.namespace(self.noted, lambda: len(self.lines), folder, is_model=True)
        self.holders: list[str] = []
        self.leases: list[str] = []
        self.tolerances: dict[int, float] = {}
        self.n_axes: dict[int, int] = {}
        self._owned_once: set[str] = set()  # names
        self._kept: list[Any] = []  # so that ids stay those of one array
        self._n_names = 0

    # Lines

    def say(self, text: str) -> bool:
        """Write a line; whether it raises nothing."""
        error = error_of(text, self.names)
        if error is not None:
            self.noted.append(words.Observation(len(self.lines), error))
        self.lines.append(text)
        return error is None

    def peek(self, expression: str) -> Any:
        """The value of an expression on the model; None where it raises, and then the line says so."""
        return model.as_array(eval(_code(expression), self.names))

    def name(self, letter: str = "a") -> str:
        """A new one."""
        self._n_names += 1
        return f"{letter}{self._n_names}"

    def bind(self, expression: str, tolerance: float | None = 0.0, n_axes: int | None = None,
             is_ambiguous: bool = False) -> str | None:
        """Write `name = expression`, an array; its name. A tolerance of None: it shares memory with another."""
        try:
            value = self.peek(expression)
        except EXPECTED:
            self.say(expression)  # both sides raise
            return None
        if not isinstance(value, np.ndarray):
            raise TypeError(f"{expression} is no array: {value!r}")
        if value.size > MAX_ELEMENTS or not is_defined(value):
            raise Refused
        name = self.name()
        self.names[name] = value
        self.lines.append(f"{name} = {expression}")
        known = self.tolerances.get(id(owner(value)))
        if tolerance is None and (known is None or isinstance(value, model.Scalar)):  # of a number it is a copy
            tolerance = max(rounding(value), known or 0.0)
        self.take(name, tolerance, n_axes, is_ambiguous)
        return name

    def take(self, name: str, tolerance: float | None = 0.0, n_axes: int | None = None,
             is_ambiguous: bool = False) -> None:
        """Note a new array that a name holds."""
        value = self.names[name]
        if tolerance is None:
            self._kept.append(owner(value))
        else:
            self.tolerate(name, tolerance)
        if n_axes is not None and not isinstance(value, model.Scalar):  # which is not written to
            self.n_axes[id(owner(value))] = n_axes
            self._owned_once.add(name)
        self.holders.append(name)
        self.settle(name, is_ambiguous)

    def tolerate(self, expression: str, tolerance: float) -> None:
        """Note the error that an array may have; a number that is written to is another one."""
        array = owner(self.value(expression))
        self._kept.append(array)
        self.tolerances[id(array)] = tolerance

    def trim(self) -> None:
        """Delete what there is too much of."""
        while len(self.holders) > MAX_ARRAYS:
            self.drop(self.rng.choice(self.holders[:-1]))

    def settle(self, expression: str, is_ambiguous: bool = False) -> None:
        """After a write: no zeros of either sign, where NumPy's own instructions choose it; no large numbers."""
        value = self.value(expression)
        if value.dtype.kind not in "fci" or not value.flags.writeable:
            return
        is_large = not (np.abs(value) <= LARGEST).all()
        if (is_ambiguous or value.dtype.kind == "c") and value.dtype.kind in "fc" and (value == 0).any():
            self.say(f"{expression}[...] += 0")
        if is_large and self.rng.random() < 0.7:
            self.say(f"{expression}[...] = values({self.rng.randrange(1000)}, {value.shape}, {value.dtype.char!r})")

    def drop(self, holder: str) -> None:
        """Delete an array with what holds it."""
        self.holders.remove(holder)
        name = re.match(r"(?:next\()?(\w+)", holder)
        assert name is not None
        self.say(f"del {name[1]}")

    # What there is

    def value(self, expression: str) -> Any:
        """The model's array; a number as one."""
        return np.asarray(eval(_code(expression), self.names)).view(model.Array)

    def tolerance(self, *expressions: str) -> float:
        """Of arrays together; of what is made of a number, that of the number."""
        return sum(max(self.tolerances.get(id(owner(self.value(x))), 0.0) for x in self._origins(expression))
                   for expression in expressions)

    def _origins(self, expression: str) -> list[str]:
        """An expression, and the array that it begins with."""
        name = re.match(r"\w+", expression)
        is_array = name is not None and isinstance(self.names.get(name.group()), np.ndarray)
        return [expression, name.group()] if name is not None and is_array else [expression]

    def pick(self, min_ndim: int = 0, kinds: str = "fciub", exact: bool = True, whole: bool = False,
             max_ndim: int = 9) -> str:
        """An array, or now and then a view of one."""
        found = [x for x in self.holders if min_ndim <= self.value(x).ndim <= max_ndim
                 and self.value(x).dtype.kind in kinds and not (exact and self.tolerance(x))]
        if not found or self.rng.random() < 0.1:
            return self.create(shape=random_shape_between(self.rng, min_ndim, min(max_ndim, 3)),
                               dtype=self.dtype(kinds))
        x = self.rng.choice(found)
        if not whole and self.rng.random() < 0.4:
            view = self.view_of(x)
            if min_ndim <= self.value(view).ndim <= max_ndim:
                return view
        return x

    def pick_owned(self, min_ndim: int = 0, kinds: str = "fciub") -> str:
        """A whole array of which each element has one owner."""
        found = [x for x in self.holders if self.is_owned(x)
                 and self.value(x).ndim >= min_ndim and self.value(x).dtype.kind in kinds]
        if found and self.rng.random() < 0.8:
            return self.rng.choice(found)
        return self.create(shape=random_shape_between(self.rng, max(min_ndim, 1), 3), owned=True,
                           dtype=self.dtype(kinds))

    def is_owned(self, expression: str) -> bool:
        """Whether each element of a whole array has one owner."""
        return id(owner(self.value(expression))) in self.n_axes and self.is_whole(expression)

    def is_whole(self, expression: str) -> bool:
        """Whether an array has all elements of its base as they lie: each process has a NumPy view of its part then."""
        value = self.value(expression)
        if not value.size:  # of which NumPy keeps no steps
            return expression in self._owned_once
        return value.size == owner(value).size and bool(value.flags.c_contiguous)

    def n_axes_of(self, expression: str) -> int:
        """The axes of the grid of a base that is owned once."""
        return self.n_axes[id(owner(self.value(expression)))]

    def join_tolerances(self, *expressions: str) -> None:
        """Of arrays that exchanged their elements."""
        largest = max(map(self.tolerance, expressions))
        for x in expressions:
            self.tolerances[id(owner(self.value(x)))] = largest

    def take_lease(self, name: str, expression: str) -> None:
        """Note a new lease of an array, which may be a copy, of a number."""
        array = owner(self.names[name].value)
        if id(array) not in self.tolerances:
            self._kept.append(array)
            self.tolerances[id(array)] = self.tolerance(expression)
        self.leases.append(name)

    def lease_tolerance(self, name: str) -> float:
        """Of the array that a lease is of."""
        value = self.names[name].value
        return self.tolerances.get(id(owner(value)), 0.0)

    def pick_target(self, kinds: str = "fciub") -> str:
        """What can be written to."""
        for _ in range(5):
            x = self.pick(kinds=kinds, exact=False)
            if self.value(x).flags.writeable:
                return x
        return self.create()

    def create(self, shape: tuple[int, ...] | None = None, dtype: str | None = None, owned: bool = False) -> str:
        """A new array of random values in a random layout."""
        rng = self.rng
        if shape is None:
            shape = random_shape(rng, 3, SMALL_EXTENTS)
            if shape and rng.random() < 0.1:
                shape = (*shape[:1], rng.choice(LONG_EXTENTS))
        where, n_axes = self.layout(len(shape), owned)
        name = self.bind(f"pg.array({self.values(shape, dtype)}{where})", 0.0, n_axes)
        assert name is not None
        return name

    def values(self, shape: tuple[int, ...], dtype: str | None = None) -> str:
        """A NumPy array."""
        return f"values({self.rng.randrange(1000)}, {shape}, {dtype or self.rng.choice(DTYPES)!r})"

    def dtype(self, kinds: str) -> str:
        """One of some kinds."""
        return self.rng.choice([c for c in (*DTYPES, *DATES) if np.dtype(c).kind in kinds])

    def layout(self, ndim: int, owned: bool = False) -> tuple[str, int | None]:
        """Arguments of a creation function; and the number of axes of the grid, where each element has one owner."""
        rng, n = self.rng, self.n_procs
        kind = rng.random()
        if kind < 0.1:
            return f", onenode={rng.randrange(n)}", 1
        if kind < 0.2 and not owned:
            return f", layout=pg.Distribution({', '.join([repr('*')] * ndim)})", None
        if kind < 0.35 and not owned:
            return "", None
        n_axes = rng.randint(1, 3)
        grid = self._grid(n_axes)
        free = rng.sample(range(n_axes), n_axes)
        formats, axes = [], []
        for _ in range(ndim):
            distributed = bool(free) and rng.random() < 0.8
            axes.append(free.pop() if distributed else None)
            formats.append(rng.choice(["block", "cyclic", f"cyclic({rng.randint(1, 5)})"]) if distributed else "*")
        is_once = all(grid[a] == 1 for a in free)
        if owned and not is_once:
            return self.layout(ndim, owned)
        text = f", layout=pg.Distribution({''.join(f'{f!r}, ' for f in formats)}grid={grid}, axes={tuple(axes)})"
        return text, n_axes if is_once else None

    def _grid(self, n_axes: int) -> tuple[int, ...]:
        n, grid = self.n_procs, []
        for _ in range(n_axes - 1):
            grid.append(self.rng.choice([k for k in range(1, n + 1) if n % k == 0]))
            n //= grid[-1]
        grid.append(n)
        return tuple(self.rng.sample(grid, n_axes))

    # Sections

    def view_of(self, x: str) -> str:
        """A section of an array."""
        value = self.value(x)
        key = random_key(self.rng, value.shape)
        text = f"{x}[{key_text(key)}]"
        ndim = self.value(text).ndim
        if ndim > 1 and self.rng.random() < 0.3:
            text += f".transpose({self.rng.sample(range(ndim), ndim)})"
        return text

    def fitting(self, shape: tuple[int, ...], kinds: str = "fciub", exact: bool = True) -> str | None:
        """A section of some array that broadcasts to a shape, with any steps."""
        rng = self.rng
        x = rng.choice(self.holders)
        value = self.value(x)
        if value.dtype.kind not in kinds or (exact and self.tolerance(x)):
            return None
        if value.ndim > 1 and rng.random() < 0.3:
            x += f".transpose({rng.sample(range(value.ndim), value.ndim)})"
            value = self.value(x)
        key = random_fitting_key(rng, value.shape, shape)
        return None if key is None else f"{x}[{key_text(key)}]"

    def operand(self, shape: tuple[int, ...], kinds: str = "fciub", exact: bool = True) -> str:
        """Anything that broadcasts to a shape: a section, a scalar of Python or NumPy, a NumPy array."""
        kind = self.rng.random()
        if kind < 0.6:
            found = self.fitting(shape, kinds, exact)
            if found is not None:
                return found
        if kind < 0.75:
            return self.values(shape[self.rng.randint(0, len(shape)):], self.dtype(kinds))
        return self.rng.choice([x for x, k in SCALARS if k in kinds])


SCALARS = (("2", "i"), ("-3", "i"), ("0.5", "f"), ("0", "i"), ("True", "b"), ("1.5j", "c"), ("np.float32(1.25)", "f"),
           ("np.int64(3)", "i"), ("np.float64(-0.75)", "f"), ("np.uint8(7)", "u"), ("np.array(2.5)", "f"))

EXPECTED = (TypeError, IndexError, ValueError, OverflowError, ZeroDivisionError)
"""What a line may raise, on both sides."""


@functools.lru_cache(maxsize=10_000)
def _code(expression: str) -> CodeType:
    return compile(expression, "<campaign>", "eval")


def error_of(text: str, names: dict[str, Any]) -> Exception | None:
    """Execute a line; the exception that it raises, without NumPy's attributes."""
    try:
        exec(text, names)
    except EXPECTED as error:
        return next(kind for kind in EXPECTED if isinstance(error, kind))(str(error))
    return None


def owner(value: Any) -> Any:
    """The array that owns the memory of another."""
    while isinstance(value.base, np.ndarray):
        value = value.base
    return value


def rounding(numbers: Any) -> float:
    """How inexact numbers may be, of which is not known how they were computed."""
    if numbers.dtype.kind not in "fc":
        return 0.0
    sizes = np.abs(np.asarray(numbers)[np.isfinite(numbers)])
    return float((50 * np.finfo(sizes.dtype).eps + 1e-11) * (1 + sizes.max())) if sizes.size else 0.0


def is_defined(value: Any) -> bool:
    """Whether every system gives the same: complex numbers that are not finite come in many forms."""
    return value.dtype.kind != "c" or bool(np.isfinite(value).all())


def random_shape_between(rng: random.Random, min_ndim: int, max_ndim: int) -> tuple[int, ...]:
    return tuple(rng.choice(SMALL_EXTENTS) for _ in range(rng.randint(min_ndim, max(max_ndim, min_ndim))))


def key_text(key: Any) -> str:
    """A key as it is written between brackets."""
    if not isinstance(key, tuple):
        return one_text(key)
    return ", ".join(one_text(k) for k in key) + ("," if len(key) == 1 else "") if key else "()"


def one_text(k: Any) -> str:
    if not isinstance(k, slice):
        return "..." if k is Ellipsis else repr(k)
    start, stop = ("" if x is None else repr(x) for x in (k.start, k.stop))
    return f"{start}:{stop}" + (f":{k.step!r}" if k.step is not None else "")
