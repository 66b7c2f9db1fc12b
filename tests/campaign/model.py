"""NumPy under pgaspy's names: what a program's lines are executed on to know what they have to give."""

from __future__ import annotations

import contextlib
import functools
import operator
import sys
import types
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import scipy.linalg

import pgaspy
from pgaspy.layout import replicated
from pgaspy.random.drawing import LEAST, _fill
from pgaspy.random.streams import Stream

__all__ = ["Array", "as_array", "module"]


class Array(np.ndarray):
    """A NumPy array that answers as a global array does, with a `Scalar` where NumPy has a number."""

    def __getitem__(self, key: Any) -> Any:
        found = super().__getitem__(key)
        return np.asarray(found).view(Scalar) if isinstance(found, np.generic) else as_array(found)

    def __setitem__(self, key: Any, value: Any) -> None:
        super().__setitem__(key, np.array(value) if isinstance(value, np.ndarray) else value)  # NumPy may overwrite it

    def __array_wrap__(self, array: Any, context: Any = None, return_scalar: bool = False) -> Any:
        is_number = return_scalar or (context is None and not array.ndim)  # as of a reduction
        return np.asarray(array).view(Scalar if is_number else Array)

    def __iter__(self) -> Iterator[Any]:
        return (self[i] for i in range(len(self)))

    def squeeze(self, axis: Any = None) -> Any:
        return np.asarray(self).squeeze(axis).view(Array)

    def redistribute(self, layout: Any = None) -> Any:
        return np.array(self).view(Array)

    @property
    def layout(self) -> None:
        return None

    def gather(self, root: int | None = None) -> Any:
        return np.array(self)

    def __round__(self, n_digits: int | None = None) -> Any:
        return round(self.item(), n_digits)

    def item(self, *index: Any) -> Any:
        return super().item(*index)


_NUMPYS = ("_mean", "_var", "_std", "_divide_by_count", "nanstd")
"""Functions of NumPy's that write to the sums which they have made."""


class Scalar(Array):
    """A number of NumPy's, with what else a 0-d array has: it does not change, and what is made of it are copies."""

    def __array_ufunc__(self, ufunc: np.ufunc, method: str, *inputs: Any, out: Any = (), **options: Any) -> Any:
        is_own = sys._getframe(1).f_code.co_name in _NUMPYS  # NumPy's, which go on with their sums
        if any(isinstance(x, Scalar) for x in out) and not is_own:
            raise TypeError("return arrays must be of ArrayType")
        arrays, targets = ([x.view(Array) if isinstance(x, Scalar) else x for x in some] for some in (inputs, out))
        found = getattr(ufunc, method)(*arrays, **options, **({"out": tuple(targets)} if out else {}))
        return out[0] if is_own and out else found

    def __array_finalize__(self, array: Any) -> None:
        if self.ndim:
            self.__class__ = Array

    def __getitem__(self, key: Any) -> Any:
        return as_array(np.array(self)[key])

    def __setitem__(self, key: Any, value: Any) -> None:
        raise TypeError("a number does not support item assignment")

    def fill(self, value: Any) -> None:
        self[...] = value

    def squeeze(self, axis: Any = None) -> Any:
        return super().squeeze(axis).view(Scalar)

    def reshape(self, *shape: Any, **options: Any) -> Any:
        found = as_array(np.array(self).reshape(*shape, **options))
        return found if found.ndim else self


def _made_anew(name: str) -> Callable[[Any, Any], Any]:
    operate = getattr(operator, f"__{name}__")

    def method(self: Any, other: Any) -> Any:
        return as_array(operate(np.asarray(self)[()], other))
    return method


for _name in ("add", "sub", "mul", "truediv", "floordiv", "mod", "pow", "lshift", "rshift", "and", "or", "xor"):
    setattr(Scalar, f"__i{_name}__", _made_anew(_name))


def as_array(x: Any) -> Any:
    """The same elements, in the same memory, as an `Array`; of a number a `Scalar`; what is none, as it is."""
    if isinstance(x, np.generic):
        return np.asarray(x).view(Scalar)
    if isinstance(x, np.ndarray):
        return x if isinstance(x, Array) else x.view(Array)
    return type(x)(*map(as_array, x)) if hasattr(x, "_fields") else tuple(map(as_array, x)) if type(x) is tuple else x


class EveryRank:
    """A rank that is each one: the model does what each process does alone."""

    __hash__ = None  # type: ignore[assignment]

    def __eq__(self, other: object) -> bool:
        return True


@functools.cache
def module() -> Any:
    """The module in the place of pgaspy."""
    found = types.SimpleNamespace(RANK=EveryRank())
    for name in dir(pgaspy):
        if hasattr(np, name) and not name.startswith("_"):
            setattr(found, name, getattr(np, name))
    for name in ("empty", "zeros", "ones", "full", "array", "asarray", "arange", "linspace", "eye", "identity"):
        setattr(found, name, _anywhere(getattr(np, name)))
    for name in ("empty_like", "zeros_like", "ones_like", "full_like"):
        setattr(found, name, _anywhere(functools.partial(getattr(np, name), subok=False)))
    found.array = _anywhere(functools.partial(np.array, subok=False))
    found.fromfunction = _anywhere(np.fromfunction)
    found.update = found.write = _target
    found.read = found.Distribution = found.nothing = _same
    found.schedule = _schedule
    found.sync = found.stats = found.combine = found.datalayout = lambda *_, **__: None
    found.replicate = lambda array, axis, copy=True: array.copy()
    found.align = lambda x, array, dim, copy=True: np.array(x)
    found.exchange_rows = _exchange_rows
    found.isscalar = lambda x: np.isscalar(x) or isinstance(x, Scalar)
    found.explain = lambda statement, **_: None
    found.print_once = _print_once
    found.save, found.load = np.save, lambda file, **_: np.load(file)
    found.random, found.linalg = _random(), _linalg()
    return found


def _same(x: Any = None, *_: Any, **__: Any) -> Any:
    return x


def _target(x: Any) -> Any:
    if isinstance(x, Scalar):
        raise TypeError("a number does not support assignment")
    return x


def _anywhere(function: Callable[..., Any]) -> Callable[..., Any]:
    """A creation function that takes a layout besides."""
    def made(*arguments: Any, layout: Any = None, onenode: Any = None, **options: Any) -> Any:
        return as_array(function(*arguments, **options))
    return made


def _schedule(function: Callable[..., Any], *arguments: Any) -> None:
    function(*(x.view(Array) if isinstance(x, Scalar) else x for x in arguments))  # a task may index a number


def _exchange_rows(array: Any, pivots: Any, start: int = 0) -> None:
    for j, p in enumerate(pivots.tolist(), start):
        array[[j, p]] = np.asarray(array)[[p, j]]


def _print_once(*values: Any, file: Any) -> None:
    print(*[np.asarray(x) for x in values], file=file)


class _Generator(pgaspy.random.Generator):
    """Random numbers are the same in any layout: the model's are drawn at once, here."""

    def _draw(self, kind: str, size: Any, dtype: Any, chars: str, layout: Any, onenode: Any, low: Any = 0,
              high: Any = 1) -> Any:
        array = np.empty(() if size is None else size, dtype)
        storage: Any = types.SimpleNamespace(layout=replicated(array.shape, pgaspy.SIZE), local=array,
                                             dtype=array.dtype, address=array.ctypes.data)
        _fill(storage, kind, self._key, self._n_draws, low, high)
        self._n_draws += 1
        return as_array(array[()] if size is None else array)

    def _transformed(self, kind: str, function: Any, parameters: Any, size: Any, layout: Any, onenode: Any,
                     dtype: Any = float) -> Any:
        x = np.asarray(self._draw(kind, size, float, "d", layout, onenode))
        found = function(np.maximum(x, LEAST) if kind == "random" else x, *parameters)
        found = np.asarray(found).astype(dtype)
        return as_array(found[()] if size is None else found)

    def _sampled(self, sampler: Any, parameters: Any, size: Any, dtype: Any, layout: Any = None,
                 onenode: Any = None) -> Any:
        array = np.empty(() if size is None else size, dtype)
        stream = Stream(self._key, self._n_draws, np.arange(array.size))
        self._n_draws += 1
        array[...] = sampler(stream, *[np.full(array.size, x) for x in parameters]).reshape(array.shape)
        return as_array(array[()] if size is None else array)


def _random() -> Any:
    return types.SimpleNamespace(default_rng=lambda seed: _Generator(pgaspy.random.default_rng(seed)._key))


def _linalg() -> Any:
    found = types.SimpleNamespace(**{name: getattr(np.linalg, name) for name in np.linalg.__all__})
    for name in ("lu", "lu_factor", "lu_solve", "cho_factor", "cho_solve", "solve_triangular"):
        setattr(found, name, getattr(scipy.linalg, name))
    found.dot = np.dot
    return found


@contextlib.contextmanager
def quiet() -> Iterator[None]:
    """Without NumPy's warnings of values."""
    import warnings

    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield
