"""What a simulated program gets in the place of a local view: a shape and a dtype, without memory.

What the program does with it by NumPy's operators, ufuncs and products is timed by the machine's speeds.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pgaspy.simulating.costs import weight
from pgaspy.simulating.machine import Machine

__all__ = ["Clock", "Part", "Refuse"]

Refuse = Callable[[str], Exception]
"""The error of a simulated program, at its line."""


class Clock:
    """What the program itself takes.

    Attributes
    ----------
    passes
        Notes that something has taken some seconds.
    value
        What the program goes on with in the place of a value.
    refuse
        Makes an error.
    """

    def __init__(self, machine: Machine, passes: Callable[[str, float], None], value: Callable[[np.dtype[Any]], Any],
                 refuse: Refuse) -> None:
        self._machine, self.passes, self.value, self.refuse = machine, passes, value, refuse

    def elementwise(self, name: str, nbytes: float, n_elements: int) -> None:
        """An elementwise function took place."""
        machine = self._machine
        self.passes(name, max(nbytes / machine.memory_speed(nbytes), n_elements * weight(name) / machine.flops))

    def product(self, n_operations: float) -> None:
        """A product of matrices took place."""
        self.passes("matmul", n_operations / self._machine.products)


class Part(np.lib.mixins.NDArrayOperatorsMixin):
    """A local view that is not allocated."""

    def __init__(self, like: NDArray[Any], clock: Clock) -> None:
        """`like` has the shape, and one element that stands for all."""
        self._like, self._clock = like, clock
        self.shape, self.dtype, self.ndim, self.size = like.shape, like.dtype, like.ndim, like.size
        self.nbytes = like.size * like.dtype.itemsize

    @classmethod
    def of(cls, shape: tuple[int, ...], dtype: np.dtype[Any], clock: Clock) -> Part:
        """One of a shape."""
        return cls(np.broadcast_to(np.zeros((), dtype), shape), clock)

    @property
    def T(self) -> Part:  # noqa: N802
        """Transposed."""
        return Part(self._like.T, self._clock)

    def __len__(self) -> int:
        return len(self._like)

    def __getitem__(self, key: Any) -> Part:
        return Part(self._like[key], self._clock)

    def __setitem__(self, key: Any, value: Any) -> None:
        target = self._like[key]
        nbytes = value.nbytes if isinstance(value, Part) else np.asarray(value).nbytes
        self._clock.elementwise("copy", target.size * target.dtype.itemsize + nbytes, target.size)

    def copy(self) -> Part:
        """A copy."""
        self._clock.elementwise("copy", 2 * self.nbytes, self.size)
        return self

    def __array_ufunc__(self, ufunc: np.ufunc, method: str, *inputs: Any, out: tuple[Any, ...] = (),
                        **options: Any) -> Any:
        likes = [x._like if isinstance(x, Part) else np.asarray(x) for x in inputs]
        if method == "reduce":
            shape = _reduced(likes[0].shape, options.get("axis", 0), options.get("keepdims", False))
            self._clock.elementwise(ufunc.__name__, likes[0].size * likes[0].dtype.itemsize, likes[0].size)
            dtype = ufunc.reduce(np.zeros(1, likes[0].dtype), dtype=options.get("dtype")).dtype
            return Part.of(shape, dtype, self._clock)
        if method != "__call__" or (ufunc.signature is not None and ufunc is not np.matmul):
            raise self._unknown(f"{ufunc.__name__}.{method}")
        dtypes = ufunc.resolve_dtypes((*(like.dtype for like in likes), *[None] * ufunc.nout))
        if ufunc is np.matmul:
            return self._product(likes, dtypes[-1])
        shape = np.broadcast_shapes(*(like.shape for like in likes))
        size = math.prod(shape)
        nbytes = sum(like.size * like.dtype.itemsize for like in likes) + size * dtypes[-1].itemsize
        self._clock.elementwise(ufunc.__name__, nbytes, size)
        return out[0] if out else Part.of(shape, dtypes[-1], self._clock)

    def _product(self, likes: list[NDArray[Any]], dtype: np.dtype[Any]) -> Part:
        a, b = likes
        if max(a.ndim, b.ndim) > 2:
            raise self._unknown("a product of stacks")
        shape = a.shape[:-1] + b.shape[1:]
        self._clock.product(2.0 * math.prod(shape) * a.shape[-1])
        return Part.of(shape, dtype, self._clock)

    def sum(self, axis: int | None = None, dtype: Any = None) -> Any:
        """Their sum."""
        return np.add.reduce(self, axis=axis, dtype=dtype)

    def __array_function__(self, func: Any, types: Any, args: Any, kwargs: Any) -> Any:
        raise self._unknown(func.__name__)

    def __array__(self, *_: Any, **__: Any) -> NDArray[Any]:
        raise self._unknown("a function that takes NumPy arrays")

    def _unknown(self, what: str) -> Exception:
        return self._clock.refuse(f"{what} of a local view, which is not allocated in a simulated job: call it in a "
                                  "task by pg.schedule, which is measured, or costs what --cost NAME=... says")

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__") or not hasattr(np.ndarray, name):
            raise AttributeError(f"a local view has no attribute {name!r}")
        raise self._unknown(name)

    def item(self) -> Any:
        """What the program goes on with."""
        if self.size != 1:
            raise self._unknown("the elements")
        return self._clock.value(self.dtype)

    def __float__(self) -> float:
        return float(self.item())

    def __int__(self) -> int:
        return int(self.item())

    def __bool__(self) -> bool:
        return bool(self.item())


def _reduced(shape: tuple[int, ...], axis: Any, keepdims: bool) -> tuple[int, ...]:
    """The shape of a reduction."""
    axes = range(len(shape)) if axis is None else [axis] if isinstance(axis, int) else axis
    reduced = {d % len(shape) for d in axes}
    return tuple(1 if d in reduced else n for d, n in enumerate(shape) if keepdims or d not in reduced)
