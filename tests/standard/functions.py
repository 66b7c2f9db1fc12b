"""The functions of the Array API standard, and a call of each: the same text for every library."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from types import ModuleType
from typing import Any

import array_api_strict

__all__ = ["CALLS", "FUNCTIONS", "UNARY", "found", "parameters"]

Call = Callable[[Any, Any, Any], Any]

_OF_ITSELF = {name for name in dir(array_api_strict) if name.endswith("array_api_strict_flags")}


def _functions(module: ModuleType, prefix: str, names: Any) -> dict[str, Any]:
    return {prefix + name: getattr(module, name) for name in names
            if inspect.isfunction(getattr(module, name)) and not name.startswith("_") and name not in _OF_ITSELF}


FUNCTIONS = {**_functions(array_api_strict, "", dir(array_api_strict)),
             **_functions(array_api_strict.linalg, "linalg.", array_api_strict.linalg.__all__),
             **_functions(array_api_strict.fft, "fft.", array_api_strict.fft.__all__)}
"""Name -> the function of array-api-strict, which has the standard's signature."""


def found(library: Any, name: str) -> Any:
    """The function of a name, as `linalg.det`; None, where there is none."""
    for part in name.split("."):
        library = getattr(library, part, None)
    return library


def parameters(function: Any) -> list[inspect.Parameter]:
    """What a function takes."""
    return [*inspect.signature(function).parameters.values()]


_ELEMENTWISE = {name for name, function in FUNCTIONS.items() if "." not in name and {
    p.name for p in parameters(function)} in ({"x"}, {"x1", "x2"})} - {
    "matmul", "nonzero", "matrix_transpose", "unique_all", "unique_counts", "unique_inverse", "unique_values"}
UNARY = {name for name in _ELEMENTWISE if len(parameters(FUNCTIONS[name])) == 1}


def _elementwise(name: str) -> Call:
    if name in UNARY:
        return lambda xp, x, y: getattr(xp, name)(x)
    return lambda xp, x, y: getattr(xp, name)(x, y)


def _along(name: str, **options: Any) -> Call:
    return lambda xp, x, y: [getattr(xp, name)(x, axis=axis, **options) for axis in (0, -1)]


def _reduced(name: str, **options: Any) -> Call:
    return lambda xp, x, y: [getattr(xp, name)(x, axis=axis, keepdims=keepdims, **options)
                             for axis in (None, 0, -1, (0, 1)) for keepdims in (False, True)]


def _matrix(xp: Any, x: Any) -> Any:
    """Two matrices that are regular, symmetric and positive definite, whatever x is."""
    return xp.stack([xp.eye(3, dtype=x.dtype) * n + xp.ones((3, 3), dtype=x.dtype) for n in (4, 7)])


CALLS: dict[str, Call] = {
    **{name: _elementwise(name) for name in _ELEMENTWISE},
    **{name: lambda xp, x, y, name=name: getattr(xp, name)(x, xp.abs(y))  # type: ignore[misc]
       for name in ("bitwise_left_shift", "bitwise_right_shift", "pow")},
    **{name: _reduced(name) for name in ("sum", "prod", "max", "min", "all", "any", "mean", "count_nonzero")},
    **{name: _reduced(name, correction=1.0) for name in ("std", "var")},
    **{name: _along(name, keepdims=True) for name in ("argmax", "argmin")},
    **{name: _along(name, include_initial=True) for name in ("cumulative_sum", "cumulative_prod")},
    **{name: lambda xp, x, y, name=name: [getattr(xp, name)(x, axis=0, descending=descending)  # type: ignore[misc]
                                          for descending in (False, True)] for name in ("sort", "argsort")},
    "diff": _along("diff"), "flip": _along("flip"), "roll": _along("roll", shift=2),
    "repeat": lambda xp, x, y: xp.repeat(x, 2, axis=1),
    "arange": lambda xp, x, y: [xp.arange(5, dtype=x.dtype), xp.arange(1, stop=8, step=3, device=None)],
    "asarray": lambda xp, x, y: [xp.asarray(x), xp.asarray(x, copy=True), xp.asarray([1, 2], dtype=x.dtype)],
    "empty": lambda xp, x, y: xp.empty((2, 0), dtype=x.dtype, device=None),
    "empty_like": lambda xp, x, y: xp.empty_like(x[:0, ...], device=None),
    "zeros": lambda xp, x, y: [xp.zeros((2, 3), dtype=x.dtype), xp.zeros(2, dtype=None)],
    "zeros_like": lambda xp, x, y: xp.zeros_like(x, device=None),
    "ones": lambda xp, x, y: [xp.ones((2, 3), dtype=x.dtype), xp.ones(2, dtype=None)],
    "ones_like": lambda xp, x, y: xp.ones_like(x, dtype=xp.float32),
    "full": lambda xp, x, y: [xp.full((2, 3), 1, dtype=x.dtype), xp.full(2, 1.5), xp.full(2, True)],
    "full_like": lambda xp, x, y: xp.full_like(x, 1),
    "eye": lambda xp, x, y: [xp.eye(3, 4, k=1, dtype=x.dtype), xp.eye(3, dtype=None)],
    "linspace": lambda xp, x, y: [xp.linspace(0, 1, 5), xp.linspace(0, 1, num=4, endpoint=False, dtype=xp.float32)],
    "tril": lambda xp, x, y: xp.tril(x, k=1),
    "triu": lambda xp, x, y: xp.triu(x, k=-1),
    "meshgrid": lambda xp, x, y: xp.meshgrid(x[:, 0], y[:, 0], indexing="ij"),
    "from_dlpack": lambda xp, x, y: xp.from_dlpack(xp.asarray(x)),
    "astype": lambda xp, x, y: xp.astype(x, xp.complex128),
    "can_cast": lambda xp, x, y: [xp.can_cast(x, x.dtype), xp.can_cast(x.dtype, xp.bool)],
    "finfo": lambda xp, x, y: float(xp.finfo(xp.float32).eps),
    "iinfo": lambda xp, x, y: int(xp.iinfo(xp.int16).max),
    "isdtype": lambda xp, x, y: [xp.isdtype(x.dtype, kind) for kind in ("bool", "integral", ("numeric", "bool"))],
    "result_type": lambda xp, x, y: xp.result_type(x, xp.result_type(y)) == x.dtype,
    "broadcast_to": lambda xp, x, y: xp.broadcast_to(x[:1, ...], x.shape),
    "broadcast_arrays": lambda xp, x, y: list(xp.broadcast_arrays(x, x[:1, ...])),
    "broadcast_shapes": lambda xp, x, y: list(xp.broadcast_shapes(x.shape, (1, 1))),
    "concat": lambda xp, x, y: [xp.concat((x, x), axis=axis) for axis in (0, 1, None)],
    "stack": lambda xp, x, y: xp.stack((x, x), axis=-1),
    "unstack": lambda xp, x, y: list(xp.unstack(x, axis=1)),
    "expand_dims": lambda xp, x, y: xp.expand_dims(x, axis=1),
    "squeeze": lambda xp, x, y: xp.squeeze(x[None, ...], axis=0),
    "moveaxis": lambda xp, x, y: xp.moveaxis(x, 0, -1),
    "permute_dims": lambda xp, x, y: xp.permute_dims(x, (1, 0)),
    "matrix_transpose": lambda xp, x, y: [xp.matrix_transpose(x), x.mT, x.T],
    "reshape": lambda xp, x, y: [xp.reshape(x, (-1,)), xp.reshape(x, x.shape, copy=True)],
    "tile": lambda xp, x, y: xp.tile(x, (2, 1)),
    "where": lambda xp, x, y: xp.where(x == x[:1, ...], x, x[:1, ...]),
    "clip": lambda xp, x, y: [xp.clip(x, 0, 1), xp.clip(x, max=1)],
    "nonzero": lambda xp, x, y: list(xp.nonzero(x)),
    "searchsorted": lambda xp, x, y: xp.searchsorted(xp.asarray([0, 1, 3], dtype=x.dtype), x[:, 0], side="right"),
    "isin": lambda xp, x, y: xp.isin(x, x[:1, ...]),
    "take": lambda xp, x, y: xp.take(x, xp.asarray([0, 0]), axis=1),
    "take_along_axis": lambda xp, x, y: xp.take_along_axis(x, xp.asarray([[0]]), axis=1) if x.shape[0] == 1 else 0,
    "unique_all": lambda xp, x, y: list(xp.unique_all(x)),
    "unique_counts": lambda xp, x, y: list(xp.unique_counts(x)),
    "unique_inverse": lambda xp, x, y: list(xp.unique_inverse(x)),
    "unique_values": lambda xp, x, y: xp.unique_values(x),
    "matmul": lambda xp, x, y: xp.matmul(x, x.T),
    "tensordot": lambda xp, x, y: [xp.tensordot(x, x, axes=((0,), (0,))), xp.tensordot(x, x, axes=2)],
    "vecdot": lambda xp, x, y: xp.vecdot(x, x, axis=-1),
    **{f"linalg.{name}": lambda xp, x, y, name=name: getattr(xp.linalg, name)(_matrix(xp, x))  # type: ignore[misc]
       for name in ("det", "inv", "cholesky", "eigvalsh", "svdvals", "diagonal", "trace", "matrix_rank", "pinv",
                    "matrix_norm", "matrix_transpose")},
    "linalg.matmul": lambda xp, x, y: xp.linalg.matmul(x, x.T),
    "linalg.matrix_power": lambda xp, x, y: xp.linalg.matrix_power(_matrix(xp, x), 3),
    "linalg.outer": lambda xp, x, y: xp.linalg.outer(x[0, :], x[:, 0]),
    "linalg.solve": lambda xp, x, y: xp.linalg.solve(_matrix(xp, x), _matrix(xp, x)),
    "linalg.slogdet": lambda xp, x, y: list(xp.linalg.slogdet(_matrix(xp, x))),
    "linalg.eigh": lambda xp, x, y: xp.linalg.eigh(_matrix(xp, x)).eigenvalues,
    "linalg.svd": lambda xp, x, y: xp.linalg.svd(_matrix(xp, x), full_matrices=False).S,
    "linalg.qr": lambda xp, x, y: xp.abs(xp.linalg.qr(_matrix(xp, x), mode="reduced").R),
    "linalg.tensordot": lambda xp, x, y: xp.linalg.tensordot(x, x, axes=((0,), (0,))),
    "linalg.vecdot": lambda xp, x, y: xp.linalg.vecdot(x, x, axis=-1),
    "linalg.vector_norm": lambda xp, x, y: [xp.linalg.vector_norm(x, axis=axis, keepdims=True, ord=order)
                                            for axis in (None, 0, (0, 1)) for order in (2, 1, float("inf"))],
}
"""Name -> a call, of a library and two of its matrices that broadcast together."""
