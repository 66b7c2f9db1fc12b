"""Reductions and scans of local arrays by a ufunc: by C kernels, where there are any, else by NumPy's ufunc itself."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.lib.stride_tricks import as_strided
from numpy.typing import NDArray

from pgaspy.caches import cached
from pgaspy.kernels import bindings
from pgaspy.planning.scans import Run
from pgaspy.scheduling.floating_point import is_telling, noting

__all__ = ["along", "are_products", "has_kernel", "joined", "prepared_reduction", "reduced", "reducing_kernel",
           "run_views", "scanned"]

_Reduction = Callable[[NDArray[Any]], NDArray[Any]]


def has_kernel(ufunc: np.ufunc, dtype: np.dtype[Any], out_dtype: np.dtype[Any]) -> bool:
    """Whether there is a C kernel that takes elements of a dtype and gives results of another one."""
    return reducing_kernel(ufunc, dtype, out_dtype) is not None


def reduced(ufunc: np.ufunc, local: NDArray[Any], axes: tuple[int, ...], dtype: np.dtype[Any]) -> NDArray[Any]:
    """`ufunc.reduce` over some axes of an array that is not empty."""
    row = reducing_kernel(ufunc, local.dtype, dtype)
    if row is None or is_telling():
        reduced = np.asarray(noting("reduce", ufunc.reduce, local, axes, type(dtype)))  # without a unit of time
    if row is None:
        return reduced
    return _prepared_reduce(row, dtype, local.shape, local.strides, axes)(local)


def prepared_reduction(ufunc: np.ufunc, dtype: np.dtype[Any], out_dtype: np.dtype[Any], shape: tuple[int, ...],
                       strides: tuple[int, ...], axes: tuple[int, ...]) -> _Reduction | None:
    """What reduces an array of such a geometry by a kernel; None if there is none."""
    row = reducing_kernel(ufunc, dtype, out_dtype)
    return None if row is None else _prepared_reduce(row, out_dtype, shape, strides, axes)


def along(local: NDArray[Any], axis: int) -> NDArray[Any]:
    """A part with a dimension in front, without others of extent 1."""
    if local.ndim == 1:
        return local
    turned = local.transpose(_with_first(local.ndim, axis % local.ndim))
    return turned[:, *[0 if n == 1 else slice(None) for n in turned.shape[1:]]] if 1 in turned.shape else turned


@cached
def _with_first(ndim: int, axis: int) -> tuple[int, ...]:
    """The order of dimensions with one in front."""
    return axis, *[d for d in range(ndim) if d != axis]


def scanned(ufunc: np.ufunc, local: NDArray[Any], out: NDArray[Any], before: NDArray[Any] | None = None) -> None:
    """`ufunc.accumulate` along the first axis into an array of one shape, joined to what comes before each row."""
    if out.size == 0:
        return
    if are_products(ufunc, out.dtype):
        noting("accumulate", _multiply_in_order, local, out, before)
        return
    row = reducing_kernel(ufunc, local.dtype, out.dtype)
    if row is None or is_telling():
        noting("accumulate", _accumulate, ufunc, local, out if row is None else np.empty_like(out), before)
    if row is not None:
        bindings.scan(row, local, before, out)


def _accumulate(ufunc: np.ufunc, local: NDArray[Any], out: NDArray[Any], before: NDArray[Any] | None) -> None:
    ufunc.accumulate(local, dtype=type(out.dtype), out=out)
    if before is not None:
        ufunc(before, out, out=out)


def are_products(ufunc: np.ufunc, dtype: np.dtype[Any]) -> bool:
    """Whether what a ufunc joins are products of floating-point numbers, which may over- or underflow."""
    return ufunc is np.multiply and dtype.kind in "fc"


def _multiply_in_order(local: NDArray[Any], out: NDArray[Any], before: NDArray[Any] | None) -> None:
    """The products one after the other: those of stretches apart may overflow, or lose digits, where these do not."""
    if before is not None:
        local = local.astype(out.dtype)
        np.multiply(before, local[0], out=local[0, ...])
    np.multiply.accumulate(local, dtype=out.dtype, out=out)


def joined(ufunc: np.ufunc, before: NDArray[Any] | None, after: NDArray[Any]) -> NDArray[Any]:
    """`ufunc` of what comes before, if anything does, and what comes after."""
    return after if before is None else np.asarray(
        noting(ufunc.__name__, ufunc, before, after, dtype=type(after.dtype)))


def run_views(local: NDArray[Any], runs: list[Run]) -> list[NDArray[Any]]:
    """The parts along the first axis: of each run an array of (elements of a part, parts, ...)."""
    views, start, stride = [], 0, local.strides[0]
    for run in runs:
        section = local[start:start + run.n_parts * run.length]
        views.append(as_strided(section, (run.length, run.n_parts, *local.shape[1:]),
                                (stride, stride * run.length, *local.strides[1:])))
        start += run.n_parts * run.length
    return views


def reducing_kernel(ufunc: np.ufunc, dtype: np.dtype[Any], out_dtype: np.dtype[Any]) -> int | None:
    """The kernel that reduces, or scans, a dtype in another one; None if there is none."""
    name = ufunc.__name__
    if getattr(np, name, None) is not ufunc:
        return None
    return bindings.reduce_lookup(name, f"{dtype.char}->{out_dtype.char}")


@cached
def _prepared_reduce(row: int, dtype: np.dtype[Any], shape: tuple[int, ...], strides: tuple[int, ...],
                     axes: tuple[int, ...]) -> _Reduction:
    kept = [d for d in range(len(shape)) if d not in axes]
    left = tuple([shape[d] for d in kept])
    call = bindings.ReduceCall(row, left, [strides[d] for d in kept], np.empty(left, dtype).strides,
                               [shape[d] for d in axes], [strides[d] for d in axes]).call

    def run(local: NDArray[Any]) -> NDArray[Any]:
        found = np.empty(left, dtype)
        call(bindings.address(local), bindings.address(found))
        return found

    return run
