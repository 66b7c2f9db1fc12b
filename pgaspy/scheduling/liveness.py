"""Liveness: which recorded operations anybody can see the results of, and what the messages of the others carry.

A result is seen if its array has a name, if an operation whose own result is seen reads it, or if a message of any
operation carries it to another process, which may have a name where this one has none. What is overwritten before it
is seen is not seen. Tasks are calls of the program's own functions, and always seen.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

from pgaspy.caches import cached
from pgaspy.planning.transfers import TransferPlan
from pgaspy.scheduling.collectives import group_members
from pgaspy.scheduling.operations import NumberedOperation, Recipe

__all__ = ["Messages", "messages_of", "read_numbers", "with_what_is_wanted"]


class Messages(NamedTuple):
    """What one process sends and receives for an operation.

    `carried` are the numbers, among its views, of those whose elements it reads for that.
    """

    carried: tuple[int, ...]
    n: int


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
        is_wanted = recipe.is_called or not seen.isdisjoint(outputs)
        operation = operation._replace(is_wanted=is_wanted)
        if is_wanted or messages_of(recipe, rank).n:
            found.append(operation)
        if not (recipe.is_called or recipe.updates):  # which may leave something of what was there
            seen.difference_update(slot for slot, view in zip(outputs, recipe.outputs, strict=True) if view.is_whole)
        seen.update(operation.slots[n] for n in read_numbers(operation, rank))
    return found[::-1]


def read_numbers(operation: NumberedOperation, rank: int) -> Sequence[int]:
    """Which of its views an operation reads on a process: all that it reads; or what its messages carry."""
    if not operation.is_wanted:
        return messages_of(operation.recipe, rank).carried
    return range(0 if operation.recipe.reads_outputs else operation.n_outputs, len(operation.slots))


@cached
def messages_of(recipe: Recipe, rank: int) -> Messages:
    """What a process sends and receives for an operation, where nobody wants its results there."""
    carried, n = [], 0
    for moved in recipe.moved(rank):
        plan = moved.plan
        n += len(plan.sends) + len(plan.receives) + len(plan.broadcasts)
        if plan.sends or _is_root(plan, moved.grid, rank):
            carried.append(moved.number)
    merged = recipe.merged(rank)
    if merged is not None:
        n_others = math.prod(merged.grid[axis] for axis in merged.axes) - 1
        n += n_others
        carried += merged.numbers if n_others else ()
    return Messages(tuple(carried), n)


def _is_root(plan: TransferPlan, grid: tuple[int, ...], rank: int) -> bool:
    """Whether a process begins a broadcast with elements of its own."""
    if not plan.broadcasts:
        return False
    position = group_members(grid, plan.axes, rank).index(rank)
    return any(broadcast.root == position and any(piece.peer == rank for piece in broadcast.pieces)
               for broadcast in plan.broadcasts)
