"""Temporaries: arrays that nobody holds, and that only kernels of one process use; one may lie where another lay.

A sweep over a grid that is written as an assignment has a new array for its results each time. As long as each kernel
is a node of its own, the memory of the last one is used again. But kernels that follow each other in bands of rows are
one node, which has the memory of all. Where they share it, bands touch less, and so are longer; and what the first
kernels have written is overwritten while it is in the cache, rather than brought to memory.

So it is with registers, by linear scan (M. Poletto and V. Sarkar, *Linear Scan Register Allocation*, ACM Transactions
on Programming Languages and Systems 21(5), 1999); but no kernel has to wait for another one that it would not wait for.
"""

from __future__ import annotations

import math
from collections.abc import Container, Iterable, Iterator, Sequence
from itertools import islice
from typing import Any

from pgaspy.scheduling.fused_code import Output
from pgaspy.scheduling.fusion import FusionGroup, Item, Sends

__all__ = ["shared_memories"]

MIN_BYTES = 1 << 20
"""Smaller ones stay in the caches, however many there are."""

MAX_TRIED = 4
"""So many that were used before are looked at, the last ones."""


def shared_memories(items: Sequence[Item], named: frozenset[int], rank: int) -> dict[int, int]:
    """The arrays that lie in the memory of another one of their layout and dtype, each with that one.

    `items` are in the order in which they may be run; `named` are the arrays that somebody holds.
    """
    outputs = {output.slot: output for item in items if isinstance(item, FusionGroup) for output in item.code.outputs
               if output.slot not in named and _nbytes(output, rank) >= MIN_BYTES}
    if len(outputs) < 2:
        return {}
    found: dict[int, int] = {}
    last_users: dict[Any, dict[int, list[FusionGroup]]] = {}
    for slot, users in _temporaries(items, outputs):
        lain = last_users.setdefault((outputs[slot].view.layout, outputs[slot].dtype), {})
        memory = next((other for other in islice(reversed(lain), MAX_TRIED) if _comes_after(users[0], lain[other])),
                      slot)
        if memory != slot:
            found[slot] = memory
            del lain[memory]  # to be the last one again
        lain[memory] = users
    return found


def _nbytes(output: Output, rank: int) -> int:
    """What the array that is written takes on a process."""
    return math.prod(output.view.layout.local_shape(rank)) * output.dtype.itemsize


def _temporaries(items: Iterable[Item], outputs: Container[int]) -> Iterator[tuple[int, list[FusionGroup]]]:
    """Of some arrays, those that one kernel fills, and only later ones use, with all of these."""
    users: dict[int, list[FusionGroup]] = {}
    others: set[int] = set()
    for item in items:
        if not isinstance(item, FusionGroup):
            for operation in item.operations if isinstance(item, Sends) else [item]:
                others.update(operation.slots)
            continue
        for member in item.members:
            if member.operation.part is not None:
                others.update(member.operation.slots)
            others.update([operand.slot for operand in member.arrays if not operand.plan.is_local])
        for reduction in item.reductions:
            others.update(reduction.operation.slots)
        for slot in item.slots:
            users.setdefault(slot, []).append(item)
    for slot, groups in users.items():
        if slot in outputs and slot not in others and len(groups) > 1 and groups[0].fills(slot):
            yield slot, groups


def _comes_after(group: FusionGroup, users: Sequence[FusionGroup]) -> bool:
    """Whether all that a kernel computes was recorded after all that others do, and it waits for each of these anyway.

    The first of them fills what the others use, so that all of these wait for it.
    """
    first = group.members[0].operation.position
    if any(user.last >= first for user in users):
        return False
    waiting = [group]
    for user in reversed(users[1:]):
        if not any(user.is_before(member.operation) for later in waiting for member in later.members):
            return False
        waiting.append(user)
    return True
