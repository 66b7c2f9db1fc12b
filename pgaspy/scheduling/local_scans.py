"""Reductions and scans of local arrays by a ufunc: by C kernels, where there are any, else by NumPy's ufunc itself."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.lib.stride_tricks import as_strided
from numpy.typing import NDArray

from pgaspy.caches import cached
from pgaspy.kernels import bindings
from pgaspy.planning.scans import Run
from pgaspy.scheduling.floating_point import errors, is_telling

__all__ = ["along", "are_products", "has_kernel", "joined", "reduced", "run_views", "scanned"]


def has_kernel(ufunc: np.ufunc, dtype: np.dtype[Any], out_dtype: np.dtype[Any]) -> bool:
    """Whether there is a C kernel that takes elements of a dtype and gives results of another one."""
    return _kernel(ufunc, dtype, out_dtype) is not None


def reduced(ufunc: np.ufunc, local: NDArray[Any], axes: tuple[int, ...], dtype: np.dtype[Any]) -> NDArray[Any]:
    """`ufunc.reduce` over some axes of an array that is not empty."""
    row = _kernel(ufunc, local.dtype, dtype)
    if row is None or is_telling():
        with errors("reduce"):
            reduced = np.asarray(ufunc.reduce(local, axis=axes, dtype=type(dtype)))  # without a unit of time
    if row is None:
        return reduced
    found = np.empty([n for d, n in enumerate(local.shape) if d not in axes], dtype)
    call = _prepared_reduce(row, local.shape, local.strides, found.strides, axes)
    call.call(bindings.address(local), bindings.address(found))
    return found


def along(local: NDArray[Any], axis: int) -> NDArray[Any]:
    """A part with a dimension in front, without others of extent 1."""
    turned = np.moveaxis(local, axis, 0)
    return turned[:, *(0 if n == 1 else slice(None) for n in turned.shape[1:])]


def scanned(ufunc: np.ufunc, local: NDArray[Any], out: NDArray[Any], before: NDArray[Any] | None = None) -> None:
    """`ufunc.accumulate` along the first axis into an array of one shape, joined to what comes before each row."""
    if out.size == 0:
        return
    if are_products(ufunc, out.dtype):
        _multiply_in_order(local, out, before)
        return
    row = _kernel(ufunc, local.dtype, out.dtype)
    if row is None or is_telling():
        with errors("accumulate"):
            scanned = ufunc.accumulate(local, dtype=type(out.dtype), out=out if row is None else None)
            if before is not None:
                ufunc(before, scanned, out=scanned)
    if row is not None:
        bindings.scan(row, local, before, out)


def are_products(ufunc: np.ufunc, dtype: np.dtype[Any]) -> bool:
    """Whether what a ufunc joins are products of floating-point numbers, which may over- or underflow."""
    return ufunc is np.multiply and dtype.kind in "fc"


def _multiply_in_order(local: NDArray[Any], out: NDArray[Any], before: NDArray[Any] | None) -> None:
    """The products one after the other: those of stretches apart may overflow, or lose digits, where these do not."""
    with errors("accumulate"):
        if before is not None:
            local = local.astype(out.dtype)
            np.multiply(before, local[0], out=local[0, ...])
        np.multiply.accumulate(local, dtype=out.dtype, out=out)


def joined(ufunc: np.ufunc, before: NDArray[Any] | None, after: NDArray[Any]) -> NDArray[Any]:
    """`ufunc` of what comes before, if anything does, and what comes after."""
    with errors(ufunc.__name__):
        return after if before is None else np.asarray(ufunc(before, after, dtype=type(after.dtype)))


def run_views(local: NDArray[Any], runs: list[Run]) -> list[NDArray[Any]]:
    """The parts along the first axis: of each run an array of (elements of a part, parts, ...)."""
    views, start, stride = [], 0, local.strides[0]
    for run in runs:
        section = local[start:start + run.n_parts * run.length]
        views.append(as_strided(section, (run.length, run.n_parts, *local.shape[1:]),
                                (stride, stride * run.length, *local.strides[1:])))
        start += run.n_parts * run.length
    return views


def _kernel(ufunc: np.ufunc, dtype: np.dtype[Any], out_dtype: np.dtype[Any]) -> int | None:
    name = ufunc.__name__
    if getattr(np, name, None) is not ufunc:
        return None
    return bindings.reduce_lookup(name, f"{dtype.char}->{out_dtype.char}")


@cached
def _prepared_reduce(row: int, shape: tuple[int, ...], strides: tuple[int, ...], out_strides: tuple[int, ...],
                     axes: tuple[int, ...]) -> bindings.ReduceCall:
    kept = [d for d in range(len(shape)) if d not in axes]
    return bindings.ReduceCall(row, [shape[d] for d in kept], [strides[d] for d in kept], out_strides,
                               [shape[d] for d in axes], [strides[d] for d in axes])
