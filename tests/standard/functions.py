"""The functions of the Array API standard, and a call of each: the same text for every library."""

from __future__ import annotations

import inspect
import itertools
import math
from collections.abc import Callable
from types import ModuleType
from typing import Any

import array_api_strict

__all__ = ["CALLS", "ELEMENTWISE", "FUNCTIONS", "UNARY", "found", "parameters"]

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


ELEMENTWISE = {name for name, function in FUNCTIONS.items() if "." not in name and {
    p.name for p in parameters(function)} in ({"x"}, {"x1", "x2"})} - {
    "matmul", "nonzero", "matrix_transpose", "unique_all", "unique_counts", "unique_inverse", "unique_values"}
UNARY = {name for name in ELEMENTWISE if len(parameters(FUNCTIONS[name])) == 1}


def _elementwise(name: str) -> Call:
    if name in UNARY:
        return lambda xp, x, y: getattr(xp, name)(x)
    return lambda xp, x, y: getattr(xp, name)(x, y)


def _axes(x: Any) -> range:
    """The dimensions of an array, counted from the front and from the back."""
    return range(-x.ndim, x.ndim)


def _along(name: str, **options: Any) -> Call:
    return lambda xp, x, y: [getattr(xp, name)(x, axis=axis, **options) for axis in _axes(x)]


def _reduced(name: str, **options: Any) -> Call:
    return lambda xp, x, y: [getattr(xp, name)(x, axis=axis, keepdims=keepdims, **options)
                             for axis in (None, *_axes(x), tuple(range(x.ndim))) for keepdims in (False, True)]


def _spread(name: str) -> Call:
    return lambda xp, x, y: [getattr(xp, name)(x, axis=axis, correction=correction)
                             for axis in (None, *_axes(x)) for correction in (0, 1.0, 0.5)]


def _ordered(name: str) -> Call:
    return lambda xp, x, y: [getattr(xp, name)(x, axis=axis, descending=descending)
                             for axis in _axes(x) for descending in (False, True)]


def _transformed(name: str) -> Call:
    return lambda xp, x, y: [getattr(xp.fft, name)(x, n=n, axis=axis, norm=norm)
                             for axis in _axes(x) for n, norm in ((None, "backward"), (3, "ortho"), (5, "forward"))]


def _transformed_in_all(name: str) -> Call:
    return lambda xp, x, y: [getattr(xp.fft, name)(x, s=s, axes=axes, norm="ortho")
                             for axes in (None, (0,), (-1, 0)) for s in (None, (4,) * len(axes or x.shape))]


def _matrix(xp: Any, x: Any) -> Any:
    """A matrix that is regular, symmetric and positive definite, whatever x is; a stack of them of a stack."""
    matrices = [xp.eye(3, dtype=x.dtype) * n + xp.ones((3, 3), dtype=x.dtype) for n in (4, 7)]
    return matrices[0] if x.ndim < 3 else xp.stack(matrices * x.shape[0])


def _vectors(xp: Any, x: Any) -> Any:
    """An array whose last extent is 3."""
    return xp.stack([x, x[..., ::-1], xp.ones_like(x)], axis=-1)


CALLS: dict[str, Call] = {
    **{name: _elementwise(name) for name in ELEMENTWISE},
    **{name: lambda xp, x, y, name=name: getattr(xp, name)(x, xp.abs(y))  # type: ignore[misc]
       for name in ("bitwise_left_shift", "bitwise_right_shift", "pow")},
    **{name: _reduced(name) for name in ("sum", "prod", "max", "min", "all", "any", "mean", "count_nonzero")},
    **{name: _spread(name) for name in ("std", "var")},
    **{name: _along(name, keepdims=True) for name in ("argmax", "argmin")},
    **{name: _along(name, include_initial=True) for name in ("cumulative_sum", "cumulative_prod")},
    **{name: _ordered(name) for name in ("sort", "argsort")},
    "diff": lambda xp, x, y: [xp.diff(x, axis=axis, n=n) for axis in _axes(x) for n in (1, 2)],
    "flip": lambda xp, x, y: [xp.flip(x, axis=axis) for axis in (None, *_axes(x))],
    "roll": lambda xp, x, y: [xp.roll(x, 2), *[xp.roll(x, shift=-1, axis=axis) for axis in _axes(x)]],
    "repeat": lambda xp, x, y: [xp.repeat(x, 2, axis=axis) for axis in (None, *_axes(x))] + [
        xp.repeat(x, xp.arange(n), axis=axis) for axis, n in enumerate(x.shape)],
    "arange": lambda xp, x, y: [xp.arange(5, dtype=x.dtype), xp.arange(1, stop=8, step=3), xp.arange(2.5, -1, -0.5)],
    "asarray": lambda xp, x, y: [xp.asarray(x), xp.asarray(x, copy=True), xp.asarray([1, 2], dtype=x.dtype),
                                 xp.asarray([[True, False]]), xp.asarray(2.5), xp.asarray([[], []])],
    "empty": lambda xp, x, y: xp.empty((2, 0), dtype=x.dtype),
    "empty_like": lambda xp, x, y: xp.empty_like(x[:0, ...]),
    "zeros": lambda xp, x, y: [xp.zeros(x.shape, dtype=x.dtype), xp.zeros(2)],
    "zeros_like": lambda xp, x, y: xp.zeros_like(x),
    "ones": lambda xp, x, y: [xp.ones(x.shape, dtype=x.dtype), xp.ones(2)],
    "ones_like": lambda xp, x, y: xp.ones_like(x, dtype=xp.float32),
    "full": lambda xp, x, y: [xp.full(x.shape, 1, dtype=x.dtype), xp.full(2, 1.5), xp.full(2, True)],
    "full_like": lambda xp, x, y: xp.full_like(x, 1),
    "eye": lambda xp, x, y: [xp.eye(3, 4, k=1, dtype=x.dtype), xp.eye(3), xp.eye(2, None, k=-1), xp.eye(0, 2)],
    "linspace": lambda xp, x, y: [xp.linspace(0, 1, 5), xp.linspace(0, 1, num=4, endpoint=False, dtype=xp.float32),
                                  xp.linspace(3.5, -1, 1), xp.linspace(0, 1, 0)],
    "tril": lambda xp, x, y: [xp.tril(x, k=k) for k in (-1, 0, 1)],
    "triu": lambda xp, x, y: [xp.triu(x, k=k) for k in (-1, 0, 1)],
    "meshgrid": lambda xp, x, y: [*xp.meshgrid(xp.reshape(x, (-1,)), xp.reshape(x[:1, ...], (-1,)), indexing="ij"),
                                  *xp.meshgrid(xp.reshape(x, (-1,)), xp.reshape(x, (-1,)))],
    "from_dlpack": lambda xp, x, y: xp.from_dlpack(xp.asarray(x)),
    "astype": lambda xp, x, y: [xp.astype(x, xp.complex128), xp.astype(x, x.dtype, copy=False)],
    "can_cast": lambda xp, x, y: [xp.can_cast(x, x.dtype), xp.can_cast(x.dtype, xp.bool)],
    "finfo": lambda xp, x, y: [float(getattr(xp.finfo(given), name)) for given in (x, x.dtype)
                               for name in ("bits", "eps", "max", "min", "smallest_normal")],
    "iinfo": lambda xp, x, y: [int(getattr(xp.iinfo(given), name)) for given in (x, x.dtype)
                               for name in ("bits", "max", "min")],
    "isdtype": lambda xp, x, y: [xp.isdtype(x.dtype, kind) for kind in (
        "bool", "signed integer", "unsigned integer", "integral", "real floating", "complex floating", "numeric",
        ("numeric", "bool"), x.dtype)],
    "result_type": lambda xp, x, y: [xp.empty(0, dtype=xp.result_type(*given)) for given in (
        (x, y), (x.dtype, y), (x, 1), (x, y.dtype, x))],
    "broadcast_to": lambda xp, x, y: xp.broadcast_to(x[:1, ...], x.shape),
    "broadcast_arrays": lambda xp, x, y: xp.broadcast_arrays(x, y),
    "broadcast_shapes": lambda xp, x, y: [*xp.broadcast_shapes(x.shape, y.shape, (1, 1))],
    "concat": lambda xp, x, y: [xp.concat((x, y, x), axis=axis) for axis in (None, *_axes(x)[:x.shape == y.shape])],
    "stack": lambda xp, x, y: [xp.stack((x, x), axis=axis) for axis in range(-x.ndim - 1, x.ndim + 1)],
    "unstack": lambda xp, x, y: [one for axis in _axes(x) for one in xp.unstack(x, axis=axis)],
    "expand_dims": lambda xp, x, y: [xp.expand_dims(x, axis=axis) for axis in range(-x.ndim - 1, x.ndim + 1)],
    "squeeze": lambda xp, x, y: xp.squeeze(x[None, ...], axis=0),
    "moveaxis": lambda xp, x, y: [xp.moveaxis(x, axis, -1) for axis in _axes(x)] + [
        xp.moveaxis(x, (0,), (x.ndim - 1,))],
    "permute_dims": lambda xp, x, y: [xp.permute_dims(x, axes) for axes in itertools.permutations(range(x.ndim))],
    "matrix_transpose": lambda xp, x, y: [xp.matrix_transpose(x), x.mT, *([x.T] if x.ndim == 2 else [])],
    "reshape": lambda xp, x, y: [xp.reshape(x, (-1,) if x.size else (0,)), xp.reshape(x, x.shape, copy=True),
                                 xp.reshape(x, (1, *x.shape))],
    "tile": lambda xp, x, y: [xp.tile(x, n) for n in ((2, 1), (), (3,), (1, 0, 2, 1))],
    "where": lambda xp, x, y: [xp.where(x == x, x, y), xp.where(x != x, y, x), xp.where(x == x, x, 1)],
    "clip": lambda xp, x, y: [xp.clip(x, 0, 1), xp.clip(x, max=1), xp.clip(x, xp.zeros_like(x)), xp.clip(x)],
    "nonzero": lambda xp, x, y: xp.nonzero(x),
    "searchsorted": lambda xp, x, y: [xp.searchsorted(xp.asarray([0, 1, 3], dtype=x.dtype), x, side=side)
                                      for side in ("left", "right")],
    "isin": lambda xp, x, y: [xp.isin(x, y), xp.isin(x, x[:1, ...]), xp.isin(x, 1), xp.isin(1, x)],
    "take": lambda xp, x, y: [xp.take(x, xp.asarray([0, 0, -1]), axis=axis) for axis in _axes(x)],
    "take_along_axis": lambda xp, x, y: [xp.take_along_axis(x, xp.argsort(x, axis=axis), axis=axis)
                                         for axis in _axes(x)],
    "unique_all": lambda xp, x, y: xp.unique_all(x),
    "unique_counts": lambda xp, x, y: xp.unique_counts(x),
    "unique_inverse": lambda xp, x, y: xp.unique_inverse(x),
    "unique_values": lambda xp, x, y: xp.unique_values(x),
    "matmul": lambda xp, x, y: xp.matmul(x, xp.matrix_transpose(x) if x.ndim > 1 else x),
    "tensordot": lambda xp, x, y: [xp.tensordot(x, x, axes=((0,), (0,))), xp.tensordot(x, x, axes=x.ndim),
                                   xp.tensordot(x, x, axes=0)],
    "vecdot": lambda xp, x, y: [xp.vecdot(x, x, axis=axis) for axis in range(-x.ndim, 0)],
    **{f"linalg.{name}": lambda xp, x, y, name=name: getattr(xp.linalg, name)(_matrix(xp, x))  # type: ignore[misc]
       for name in ("det", "inv", "cholesky", "eigvalsh", "svdvals", "matrix_rank", "pinv")},
    **{f"linalg.{name}": lambda xp, x, y, name=name: [  # type: ignore[misc]
        getattr(xp.linalg, name)(x, offset=offset) for offset in (-1, 0, 2)] for name in ("diagonal", "trace")},
    "linalg.matrix_norm": lambda xp, x, y: [
        xp.linalg.matrix_norm(_matrix(xp, x), ord=order, keepdims=keepdims)
        for order in ("fro", "nuc", 1, -1, 2, -2, math.inf, -math.inf) for keepdims in (False, True)],
    "linalg.matrix_transpose": lambda xp, x, y: xp.linalg.matrix_transpose(x),
    "linalg.cross": lambda xp, x, y: xp.linalg.cross(_vectors(xp, x), _vectors(xp, x + x), axis=-1),
    "linalg.matmul": lambda xp, x, y: xp.linalg.matmul(x, xp.matrix_transpose(x) if x.ndim > 1 else x),
    "linalg.matrix_power": lambda xp, x, y: [xp.linalg.matrix_power(_matrix(xp, x), n) for n in (0, 1, 3)],
    "linalg.outer": lambda xp, x, y: xp.linalg.outer(xp.reshape(x, (-1,)), xp.reshape(x[:1, ...], (-1,))),
    "linalg.solve": lambda xp, x, y: xp.linalg.solve(_matrix(xp, x), _matrix(xp, x)),
    "linalg.slogdet": lambda xp, x, y: xp.linalg.slogdet(_matrix(xp, x)),
    "linalg.eigh": lambda xp, x, y: xp.linalg.eigh(_matrix(xp, x)).eigenvalues,
    "linalg.svd": lambda xp, x, y: [xp.linalg.svd(_matrix(xp, x), full_matrices=full).S for full in (False, True)],
    "linalg.qr": lambda xp, x, y: [xp.abs(xp.linalg.qr(_matrix(xp, x), mode=mode).R) for mode in (
        "reduced", "complete")],
    "linalg.tensordot": lambda xp, x, y: xp.linalg.tensordot(x, x, axes=((0,), (0,))),
    "linalg.vecdot": lambda xp, x, y: xp.linalg.vecdot(x, x, axis=-1),
    "linalg.vector_norm": lambda xp, x, y: [
        xp.linalg.vector_norm(x, axis=axis, keepdims=keepdims, ord=order) for axis in (None, *_axes(x))
        for order in (2, 1, 0, 3, math.inf, -math.inf) for keepdims in (False, True)],
    **{f"fft.{name}": _transformed(name) for name in ("fft", "ifft", "rfft", "irfft", "hfft", "ihfft")},
    **{f"fft.{name}": _transformed_in_all(name) for name in ("fftn", "ifftn", "rfftn", "irfftn")},
    **{f"fft.{name}": lambda xp, x, y, name=name: [  # type: ignore[misc]
        getattr(xp.fft, name)(5, d=0.5), getattr(xp.fft, name)(4, dtype=xp.float32), getattr(xp.fft, name)(1)]
       for name in ("fftfreq", "rfftfreq")},
    **{f"fft.{name}": lambda xp, x, y, name=name: [  # type: ignore[misc]
        getattr(xp.fft, name)(x, axes=axes) for axes in (None, *_axes(x), tuple(range(x.ndim)))]
       for name in ("fftshift", "ifftshift")},
}
"""Name -> a call, of a library and two of its arrays, the second of which broadcasts to the first."""
