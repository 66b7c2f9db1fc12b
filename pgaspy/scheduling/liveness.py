"""Liveness: which recorded operations anybody can see the results of, and what the messages of the others carry. Pure.

A result is seen if its array has a name, if an operation whose own result is seen reads it, or if a message of any
operation carries it to another process, which may have a name where this one has none. What is overwritten before it
is seen is not seen. Tasks are calls of the program's own functions, and always seen.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from pgaspy.caches import cached
from pgaspy.layout import Layout
from pgaspy.planning.pieces import local_view_shape, plan_operand
from pgaspy.planning.reshapes import plan_reshape
from pgaspy.planning.transfers import TransferPlan, plan_transfer
from pgaspy.scheduling.collectives import group_members
from pgaspy.scheduling.fusion import NumberedOperation
from pgaspy.scheduling.operations import Assign, Combine, Generate, Recipe, Reduce, Reshape, Statement, Task

__all__ = ["Messages", "messages_of", "read_slots", "reduced_axes", "with_what_is_wanted"]


class Messages(NamedTuple):
    """What one process sends and receives for an operation.

    `carried` are the numbers, among its views, of those whose elements it reads for that.
    """

    carried: tuple[int, ...]
    n: int


_NONE = Messages((), 0)


def with_what_is_wanted(operations: Sequence[NumberedOperation], named: frozenset[int],
                        rank: int) -> list[NumberedOperation]:
    """The operations that leave anything to do on a process, each with whether its results are wanted there.

    `named` are the bases that somebody holds besides.
    """
    seen = set(named)
    found = []
    for operation in reversed(operations):
        recipe = operation.recipe
        outputs = operation.slots[:recipe.n_outputs]
        is_wanted = isinstance(recipe, Task) or not seen.isdisjoint(outputs)
        operation = operation._replace(is_wanted=is_wanted)
        if is_wanted or messages_of(recipe, rank).n:
            found.append(operation)
        if _overwrites(recipe):
            seen.difference_update(slot for slot, view in zip(outputs, recipe.outputs, strict=True) if view.is_whole)
        seen.update(read_slots(operation, rank))
    return found[::-1]


def read_slots(operation: NumberedOperation, rank: int) -> Sequence[int]:
    """The bases that an operation reads on a process: all that it reads; or what its messages carry."""
    if not operation.is_wanted:
        return [operation.slots[n] for n in messages_of(operation.recipe, rank).carried]
    return operation.slots if isinstance(operation.recipe, Combine) else operation.slots[operation.recipe.n_outputs:]


def _overwrites(recipe: Recipe) -> bool:
    """Whether an operation leaves nothing of what was there before where it writes."""
    return not (isinstance(recipe, Task | Combine) or (isinstance(recipe, Statement) and recipe.has_mask))


@cached
def messages_of(recipe: Recipe, rank: int) -> Messages:
    """What a process sends and receives for an operation, where nobody wants its results there."""
    if isinstance(recipe, Generate | Task):
        return _NONE
    if isinstance(recipe, Combine):
        if all(0 in local_view_shape(view, rank) for view in recipe.views):
            return _NONE
        held = recipe.views[0].layout
        return _exchanged((*range(len(recipe.views)),), held.grid, held.replica_axes, rank)
    if isinstance(recipe, Reduce):
        layout = recipe.source.own_layout
        assert layout is not None
        if not layout.holds(layout.coords_from_rank(rank)):
            return _NONE
        return _exchanged(tuple(range(1, len(recipe.views))), layout.grid, reduced_axes(recipe, layout), rank)
    carried, n = [], 0
    for number, plan, grid in _transfers(recipe, rank):
        n += len(plan.sends) + len(plan.receives) + len(plan.broadcasts)
        if plan.sends or _is_root(plan, grid, rank):
            carried.append(number)
    return Messages(tuple(carried), n)


def reduced_axes(recipe: Reduce, layout: Layout) -> tuple[int, ...]:
    """The axes of the grid along which the partial results of a reduction are combined."""
    return tuple(sorted(axis for d in recipe.axes if (axis := layout.dims[d].axis) is not None))


def _exchanged(carried: tuple[int, ...], grid: tuple[int, ...], axes: tuple[int, ...], rank: int) -> Messages:
    """The messages of partial results, which every one of some processes sends."""
    n_others = len(group_members(grid, axes, rank)) - 1
    return Messages(carried, n_others) if n_others else _NONE


def _transfers(recipe: Assign | Reshape | Statement, rank: int) -> list[tuple[int, TransferPlan, tuple[int, ...]]]:
    """The transfers of an operation: the number, among its views, of what is moved; the plan; the target's grid."""
    if isinstance(recipe, Assign):
        return [(1, plan_transfer(recipe.target, recipe.source, rank), recipe.target.layout.grid)]
    if isinstance(recipe, Reshape):
        return [(1, plan_reshape(recipe.target, recipe.source, rank), recipe.target.grid)]
    plans = [plan_operand(recipe.written[0], view, copied, rank)
             for view, copied in zip(recipe.views[recipe.n_outputs:], recipe.copied, strict=True)]
    return [(number, plan.transfer, plan.target.layout.grid) for number, plan in enumerate(plans, recipe.n_outputs)]


def _is_root(plan: TransferPlan, grid: tuple[int, ...], rank: int) -> bool:
    """Whether a process begins a broadcast with elements of its own."""
    if not plan.broadcasts:
        return False
    position = group_members(grid, plan.axes, rank).index(rank)
    return any(broadcast.root == position and any(piece.peer == rank for piece in broadcast.pieces)
               for broadcast in plan.broadcasts)
