"""Elementwise functions of NumPy that are not ufuncs, made to be called like ones."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["IMAG", "PUT_IMAG", "PUT_REAL", "REAL", "WHERE", "AnyFunction", "Function", "bits_as", "put_bits"]


class Function:
    """An elementwise function with a ufunc's interface, as far as operations need it."""

    nout = 1

    def __init__(self, name: str, nin: int, resolve: Callable[..., tuple[Any, ...]],
                 compute: Callable[..., Any]) -> None:
        self.__name__ = name
        self.nin = nin
        self._resolve = resolve
        self._compute = compute

    def resolve_dtypes(self, dtypes: Sequence[Any], **_: Any) -> tuple[Any, ...]:
        """The dtypes of the inputs and of the output that the function computes with."""
        return tuple(np.dtype(d) for d in self._resolve(*dtypes[: self.nin]))

    def __call__(self, *inputs: NDArray[Any], out: tuple[NDArray[Any], ...], **_: Any) -> None:
        """Compute into `out`."""
        self._compute(*inputs, out[0])


AnyFunction = np.ufunc | Function


def _weak_to_value(dtype: Any) -> Any:
    """A Python scalar's type as a value of that type, which NumPy promotes weakly."""
    return dtype(1) if isinstance(dtype, type) and dtype in (int, float, complex) else dtype


def _resolve_where(condition: Any, x: Any, y: Any) -> tuple[Any, ...]:
    result = np.result_type(_weak_to_value(x), _weak_to_value(y))
    return bool, result, result, result


def _compute_where(condition: NDArray[Any], x: NDArray[Any], y: NDArray[Any], out: NDArray[Any]) -> None:
    condition = condition.astype(bool, copy=False)
    np.copyto(out, x, casting="unsafe", where=condition)
    np.copyto(out, y, casting="unsafe", where=~condition)


def _component(name: str) -> Function:
    """What takes a component from complex numbers."""
    def resolve(dtype: Any) -> tuple[Any, ...]:
        return dtype, getattr(np.empty(0, dtype), name).dtype

    def compute(x: NDArray[Any], out: NDArray[Any]) -> None:
        out[...] = getattr(x, name)

    return Function(name, 1, resolve, compute)


def _put_component(name: str) -> Function:
    """What gives complex numbers another component."""
    def resolve(dtype: Any, _: Any) -> tuple[Any, ...]:
        return dtype, getattr(np.empty(0, dtype), name).dtype, dtype

    def compute(z: NDArray[Any], x: NDArray[Any], out: NDArray[Any]) -> None:
        out[...] = z
        getattr(out, name)[...] = x

    return Function(f"put_{name}", 2, resolve, compute)


@functools.cache
def bits_as(own: np.dtype[Any], other: np.dtype[Any]) -> Function:
    """What reads the bits of elements as those of another dtype of the same size."""
    def compute(x: NDArray[Any], out: NDArray[Any]) -> None:
        out.view(own)[...] = x

    return Function(f"{own.str} as {other.str}", 1, lambda _: (own, other), compute)


@functools.cache
def put_bits(own: np.dtype[Any], other: np.dtype[Any]) -> Function:
    """What gives elements the bits of others, of another dtype of the same size."""
    def compute(_: NDArray[Any], x: NDArray[Any], out: NDArray[Any]) -> None:
        out.view(other)[...] = x

    return Function(f"{own.str} of {other.str}", 2, lambda *_: (own, other, own), compute)


WHERE = Function("where", 3, _resolve_where, _compute_where)
REAL = _component("real")
IMAG = _component("imag")
PUT_REAL = _put_component("real")
PUT_IMAG = _put_component("imag")
