"""The runtime: takes recorded operations and executes them, at once and in order.

This executor is the readable reference: one operation after the other, each complete before the next is taken.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from pgaspy.base import Base
from pgaspy.compute import prepare_computation
from pgaspy.operations import Assign, Elementwise, Generate, LocalCall, Operation, Reduce, Reshape
from pgaspy.pieces import local_indices, local_view_shape, storage_geometry
from pgaspy.procgrid import world
from pgaspy.transport import prepare_reshape, prepare_transfer, reduce_partials
from pgaspy.view import View

__all__ = ["Executor", "dry_run", "local_view", "overlaps", "record", "sync"]

Executor = Callable[[Operation], None]


def execute(operation: Operation) -> None:
    """Execute one operation, here and now."""
    world().n_operations += 1
    _EXECUTE[type(operation)](operation)


_executor: Executor = execute


def record(operation: Operation) -> None:
    """Hand an operation to the executor. Collective: every process records the same operations in the same order."""
    _executor(operation)


def sync() -> None:
    """Execute all that is recorded on this process. Not a barrier, and not collective.

    Operations are executed when they are recorded, so that nothing is left to do.
    """
    if _executor is not execute:
        raise RuntimeError("explain() plans a statement and does not execute it: the statement cannot read values, "
                           "nor local parts")


@contextmanager
def dry_run(executor: Executor) -> Iterator[None]:
    """Hand operations to an executor that does not execute them, meanwhile."""
    global _executor
    before, _executor = _executor, executor
    try:
        yield
    finally:
        _executor = before


def overlaps(a: Base, a_view: View, b: Base, b_view: View) -> bool:
    """Whether two sections may share elements."""
    return a is b and not a_view.disjoint(b_view)


def local_view(base: Base, view: View) -> np.ndarray[Any, Any]:
    """The NumPy view of the part of a view that this process owns; empty where it owns nothing.

    Raises
    ------
    ValueError
        If no NumPy view has these elements; the same on every process.
    """
    shape, offset, strides = _local_geometry(view, base.dtype.itemsize, world().rank)
    if 0 in shape:
        return np.empty(shape, base.dtype)
    return np.ndarray(shape, base.dtype, base.local, offset, strides)


@functools.lru_cache(maxsize=8192)
def _local_geometry(view: View, itemsize: int, rank: int) -> tuple[tuple[int, ...], int, tuple[int, ...]]:
    """Shape, offset in bytes and strides in bytes of the part of a view that a process owns, in its storage."""
    offset, strides = storage_geometry(view, rank)
    return local_view_shape(view, rank), offset * itemsize, tuple(s * itemsize for s in strides)


def _assign(operation: Assign) -> None:
    (dst, dst_view), (src, src_view) = operation.target, operation.source
    prepare_transfer(dst_view, src_view, dst.dtype, src.dtype, overlaps(dst, dst_view, src, src_view),
                     world().rank).run(dst, src)


def _elementwise(operation: Elementwise) -> None:
    prepare_computation(operation.statement, world().rank).run(operation)


def _reshape(operation: Reshape) -> None:
    target, source = operation.target.base, operation.source.base
    prepare_reshape(target.layout, source.layout, source.dtype, world().rank).run(target, source)


def _generate(operation: Generate) -> None:
    operation.fill(operation.target.base)


def _local_call(operation: LocalCall) -> None:
    layout = operation.update.view.layout
    if layout.holds(layout.coords_from_rank(world().rank)):
        operation.function(local_view(*operation.update), *(local_view(*read) for read in operation.reads))


def _reduce(operation: Reduce) -> None:
    target, (source, view), reduction = operation.target.base, operation.source, operation.reduction
    layout = view.own_layout
    assert layout is not None
    job = world()
    axes = tuple(sorted(axis for d in operation.axes if (axis := layout.dims[d].axis) is not None))
    group = job.grid(layout.grid).comm(axes) if axes else None
    if not layout.holds(layout.coords_from_rank(job.rank)):
        return
    local = local_view(source, view)
    indices = functools.partial(local_indices, view, rank=job.rank)
    operands = [local_view(*operand) for operand in operation.operands]
    partial = reduction.partial(local, operation.axes, indices, operands)
    if group is not None and group.size > 1:
        partial = reduce_partials(partial, reduction.combine, group)
    target.local[...] = reduction.result(partial).reshape(target.local.shape)


_EXECUTE: dict[type, Callable[[Any], None]] = {
    Assign: _assign, Elementwise: _elementwise, Generate: _generate, LocalCall: _local_call,
    Reduce: _reduce, Reshape: _reshape}
