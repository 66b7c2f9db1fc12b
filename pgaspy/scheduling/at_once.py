"""At once: an elementwise operation as one call of a C kernel on what this process has, without a schedule.

A schedule takes a millisecond to make, which it wins back when it is found again, or where there is much to compute. So
an operation that is recorded for the first time, sends nothing and is small is executed at once. What comes again is
scheduled, together with what is recorded beside it.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from operator import mul
from typing import Any

import numpy as np

from pgaspy.caches import cached
from pgaspy.kernels import bindings, jit
from pgaspy.planning.pieces import local_view_shape, storage_geometry
from pgaspy.planning.view import View
from pgaspy.scheduling.base import Storage
from pgaspy.scheduling.functions import AnyFunction

__all__ = ["MAX_ELEMENTS", "are_aligned", "execute", "is_small", "kernel_for"]

MAX_ELEMENTS = 1 << 18
"""Of what is executed at once, on this process: passing through more memory than this takes longer than planning."""

ELEMENTS_PER_CALL, WORK_OF_PLANNING = 1 << 15, 1 << 19
"""The elements that are passed through in the time of a call of a kernel, and in that of making a schedule."""

_Section = tuple[tuple[int, ...], int, tuple[int, ...]]
"""Of a strided section of a local part: its shape, and its offset and strides in elements."""


def is_small(view: View, rank: int) -> bool:
    """Whether what a process has of a view is little enough; without a look at the layout, where all of it is."""
    return view.size <= MAX_ELEMENTS or math.prod(view.layout.local_shape(rank)) <= MAX_ELEMENTS


def are_aligned(out: View, operands: Sequence[View]) -> bool:
    """Whether each process certainly has, of all operands, what it needs to compute its part of an output."""
    return out.layout.n_procs == 1 or all(
        view == out or (view.layout.is_replicated and not any(n != 1 for n in view.layout.shape))
        or (view.own_layout is not None and view.own_layout == out.own_layout) for view in operands)


@cached
def kernel_for(function: AnyFunction | None, name: str, dtypes: tuple[np.dtype[Any], ...],
               loop: tuple[np.dtype[Any], ...]) -> int:
    """The number of the C kernel of a function that takes and gives just these dtypes; -1 where there is none."""
    if dtypes != loop or (isinstance(function, np.ufunc) and getattr(np, name, None) is not function):
        return -1
    *inputs, output = (dtype.char if dtype.isnative else "" for dtype in loop)
    kernel = name, f"{''.join(inputs)}->{output}"
    number = bindings.lookup(*kernel)
    return -1 if number is None or (jit.wants_libm() and bindings.is_maths(*kernel)) else number


def execute(kernel: int, out: tuple[View, Storage], operands: Sequence[tuple[View | None, Any]], rank: int) -> None:
    """Run a kernel on what a process has of aligned arrays; the operands without a view are scalars."""
    shape, offset, steps = _section(out[0], rank)
    if 0 in shape:
        return
    addresses: list[int] = []
    strides: list[int] = []
    for view, memory in operands:
        if view is None:
            addresses.append(memory.address)
            strides += (0,) * len(shape)
        else:
            _, start, own = _section(view, rank)
            itemsize = memory.dtype.itemsize
            addresses.append(memory.address + start * itemsize)
            strides += [step * itemsize for step in own]
    itemsize = out[1].dtype.itemsize
    addresses.append(out[1].address + offset * itemsize)
    strides += [step * itemsize for step in steps]
    bindings.run_elementwise(kernel, shape, addresses, strides)


def _section(view: View, rank: int) -> _Section:
    """Where a process has its part of a view that has a layout of its own."""
    layout = view.layout
    if layout.n_procs == 1:
        of_dims = layout.row_strides
        return view.shape, sum(map(mul, view.origin, of_dims)), tuple(
            [0 if p is None else step * of_dims[p] for p, step in zip(view.base_dims, view.steps, strict=True)])
    return local_view_shape(view, rank), *storage_geometry(view, rank)
