"""Members of kernels: elementwise operations, as what a kernel is to compute of each."""

from __future__ import annotations

from itertools import compress, starmap
from typing import Any, NamedTuple

import numpy as np

from pgaspy.caches import cached
from pgaspy.dims import BlockDim
from pgaspy.layout import Layout
from pgaspy.planning.interiors import IndexBox
from pgaspy.planning.local_parts import local_part
from pgaspy.planning.pieces import OperandPlan, joint_cuts, max_pieces, plan_operands
from pgaspy.planning.view import View
from pgaspy.scheduling.backend import backend
from pgaspy.scheduling.operations import Elementwise, NumberedOperation

__all__ = ["Member", "Operand", "has_kernel", "operands_of", "types_of"]


class Operand(NamedTuple):
    """An operand of an elementwise operation that is an array: how it gets to where the output lies."""

    operation: NumberedOperation
    number: int
    slot: int
    view: View
    dtype: np.dtype[Any]
    plan: OperandPlan


class Member:
    """An elementwise operation, as the members of a kernel have to look."""

    def __init__(self, operation: NumberedOperation, form: Elementwise, rank: int) -> None:
        self.operation = operation
        self.name, self.loop, self.out_dtype = form.name, form.loop, form.output_dtype
        self.out = operation.views[0]
        self.out_slot, part = operation.slots[0], operation.part
        self.space = _space(self.out, rank) if part is None else _space_of_box(part.box)
        self.arrays = operands_of(operation, rank)
        self.cuts = joint_cuts(self.out.ndim, [x.plan for x in self.arrays])
        self.max_pieces = max_pieces(self.out, rank)
        arrays, scalars = iter(self.arrays), iter(operation.values)
        self.operands: list[Operand | int] = [next(arrays) if array else next(scalars) for array in form.is_array]


def operands_of(operation: NumberedOperation, rank: int) -> list[Operand]:
    """The operands of an elementwise operation that are arrays."""
    form, (out, *views) = operation.recipe.elementwise, operation.views
    assert form is not None
    plans = plan_operands(out, tuple(views), form.copied, rank) if operation.part is None else operation.part.plans
    dtypes = compress(form.dtypes, form.is_array)
    return [Operand(operation, n, *described) for n, described in enumerate(
        zip(operation.slots[1:], views, dtypes, plans, strict=True))]


def has_kernel(form: Elementwise) -> bool:
    """Whether a C kernel can compute an operation, with casts of what it reads and writes."""
    kernels = _kernels_of(form, "".join([d.char for d in (*form.dtypes, *form.loop, form.output_dtype)]))
    return kernels is not None and all(starmap(backend.has_kernel, kernels))


@cached
def _kernels_of(form: Elementwise, chars: str) -> tuple[tuple[str, str], ...] | None:
    """The names and types of those that compute an operation, its own first; None where there are none.

    Two dtypes may be equal with other characters, which tables of kernels have: `longlong` is no `int64` there.
    """
    if isinstance(form.function, np.ufunc) and getattr(np, form.name, None) is not form.function:
        return None  # another library's, of the same name
    casts = zip((*form.dtypes, form.loop[-1]), (*form.loop[:-1], form.output_dtype), strict=True)
    used = (form.name, form.loop), *(("copy", cast) for cast in casts if cast[0] != cast[1])
    if not all(d.isnative for _, dtypes in used for d in dtypes):
        return None
    return tuple([(name, types_of(dtypes)) for name, dtypes in used])


def types_of(dtypes: tuple[np.dtype[Any], ...]) -> str:
    """The types of a C kernel, such as dd->d, as its table has them."""
    *inputs, output = (d.char for d in dtypes)
    return f"{''.join(inputs)}->{output}"


def _space(view: View, rank: int) -> tuple[Any, ...]:
    """The indices of a local part of a view: the same for views of which this process has the same ones."""
    part = local_part(view, rank)
    if part is not None:
        return (*part.first, *part.shape)
    layout = view.own_layout
    assert layout is not None
    return _space_of_layout(layout, rank)


def _space_of_box(box: IndexBox) -> tuple[Any, ...]:
    """The same of a box of indices."""
    return (*(start for start, _ in box), *(stop - start for start, stop in box))


@cached
def _space_of_layout(layout: Layout, rank: int) -> tuple[Any, ...]:
    """The same of the layout of a view whose local part is no interval of each dimension."""
    coords = layout.coords_from_rank(rank)
    space: list[Any] = []
    for d, dim in enumerate(layout.dims):
        coord = layout.dim_coord(d, coords)
        if dim.n_procs == 1:
            space.append((0, dim.extent))
        elif isinstance(dim, BlockDim):
            first, stop = (min(max(dim.part_edge(part), 0), dim.extent) for part in (coord, coord + 1))
            space.append((first, stop))
        else:
            space.append((dim, coord))
    return tuple(space)
