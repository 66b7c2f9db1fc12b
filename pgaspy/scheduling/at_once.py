"""At once: an elementwise operation as one call of a C kernel on what this process has, without a schedule.

A schedule takes a millisecond to make, which it wins back when it is found again, or where there is much to compute. So
an operation that was not done often, and is small, is executed at once. What comes again and again is scheduled,
together with what is recorded beside it.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pgaspy.caches import cached
from pgaspy.kernels import bindings, jit
from pgaspy.planning.pieces import Source, local_view_shape, storage_geometry
from pgaspy.planning.view import View
from pgaspy.scheduling.base import Storage
from pgaspy.scheduling.floating_point import silently
from pgaspy.scheduling.functions import AnyFunction
from pgaspy.scheduling.nodes import bytes_in

__all__ = ["MAX_ELEMENTS", "MAX_OF_NEW", "call_kernel", "copy_elements", "elements", "is_small", "kernel_for", "run"]

MAX_ELEMENTS = 1 << 18
"""Of what is executed at once, on this process: passing through more memory than this takes longer than planning."""

MAX_OF_NEW = 1 << 19
"""The same of what is executed in turn with others on one process, where half of these have never come before, so that
all may be planned each time. In arrays of twice as many elements, both take as long.
"""

ELEMENTS_PER_CALL, WORK_OF_PLANNING = 1 << 15, 1 << 19
"""The elements that are passed through in the time of a call of a kernel, and in that of making a schedule."""


_TWINS = {char: twin for char, twin in ("ql", "QL") if np.dtype(char) == np.dtype(twin)}
"""Of dtypes that are equal, the one that kernels have."""


def is_small(view: View, rank: int, limit: int) -> bool:
    """Whether a process has so many elements of a view or less; without a look at the layout, where all of it is."""
    return view.size <= limit or math.prod(view.layout.local_shape(rank)) <= limit


@cached
def kernel_for(function: AnyFunction | None, name: str, dtypes: tuple[np.dtype[Any], ...],
               loop: tuple[np.dtype[Any], ...]) -> int:
    """The number of the C kernel of a function that computes with the loop's dtypes; -1 where there is none.

    It gives the last of these dtypes, and takes the others, which are cast.
    """
    if isinstance(function, np.ufunc) and getattr(np, name, None) is not function:
        return -1
    casts = [cast for cast in zip(dtypes, loop, strict=True) if cast[0] != cast[1]]
    if dtypes[-1] != loop[-1] or any(kernel_for(None, "copy", cast, cast) < 0 for cast in casts):
        return -1
    *inputs, output = (_TWINS.get(dtype.char, dtype.char) if dtype.isnative else "" for dtype in loop)
    kernel = name, f"{''.join(inputs)}->{output}"
    number = bindings.lookup(*kernel)
    return -1 if number is None or (jit.wants_libm() and bindings.is_maths(*kernel)) else number


def copy_elements(source: NDArray[Any], target: NDArray[Any]) -> None:
    """Copy the elements of an array of NumPy's into another one of its shape and dtype: by all threads, if they can."""
    dtype = source.dtype
    kernel = kernel_for(None, "copy", (dtype, dtype), (dtype, dtype)) if source.flags.aligned else -1
    if kernel < 0 or not source.size:
        target[...] = source
        return
    addresses = [bindings.address(x) for x in (source, target)]
    bindings.run_elementwise(kernel, source.shape, addresses, [*source.strides, *target.strides])


def elements(view: View, storage: Storage, rank: int) -> NDArray[Any]:
    """What a process has of a view: as `local_view`, which has a new view found again, at the cost of some of these."""
    shape = local_view_shape(view, rank)
    if 0 in shape:
        return np.empty(shape, storage.dtype)
    return np.ndarray(shape, storage.dtype, storage.local, *storage_geometry(view, rank, storage.dtype.itemsize))


def call_kernel(kernel: int, loop: Sequence[np.dtype[Any]], out: tuple[View, Storage],
                operands: Sequence[tuple[View | None, Any]], rank: int) -> None:
    """Run a kernel on what a process has of aligned arrays, cast to what it takes; those without a view are scalars."""
    shape = local_view_shape(out[0], rank)
    if 0 in shape:
        return
    addresses: list[int] = []
    strides: list[int] = []
    casts = []  # as long as they are read
    for (view, memory), dtype in zip((*operands, out), loop, strict=True):
        if view is None:
            addresses.append(memory.address)
            strides += (0,) * len(shape)
        elif memory.dtype != dtype:
            cast = silently(elements(view, memory, rank).astype, dtype)
            casts.append(cast)
            addresses.append(bindings.address(cast))
            strides += cast.strides
        else:
            offset, own = storage_geometry(view, rank, dtype.itemsize)
            addresses.append(memory.address + offset)
            strides += own
    bindings.run_elementwise(kernel, shape, addresses, strides)


def run(kernel: int, dtypes: Sequence[np.dtype[Any]], loop: Sequence[np.dtype[Any]], shape: Sequence[int],
        places: Sequence[tuple[Any, Source]]) -> None:
    """Run a kernel on operands of some dtypes, of each its memory and where it lies there; the output last."""
    addresses: list[int] = []
    strides: list[int] = []
    casts = []  # as long as they are read
    for (memory, source), own, dtype in zip(places, dtypes, loop, strict=True):
        itemsize = own.itemsize
        if own != dtype:
            cast = silently(np.ndarray(shape, own, bytes_in(memory), source.offset * itemsize,
                                       [stride * itemsize for stride in source.strides]).astype, dtype)
            casts.append(cast)
            addresses.append(bindings.address(cast))
            strides += cast.strides
            continue
        addresses.append(memory.address + source.offset * itemsize)
        for stride in source.strides:
            strides.append(stride * itemsize)
    bindings.run_elementwise(kernel, shape, addresses, strides)
