"""Operations in parts: where results are shifted against each other, cut so that one kernel computes them all.

Of a cut operation there is a part for each box of indices, which may share a kernel with others' parts in that box; and
one that sends what other processes need of its operands, before them. They are the same messages as of the whole one.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from pgaspy.planning.interiors import edges_of, index_box, interiors, plans_within, section
from pgaspy.planning.pieces import OperandPlan, plan_operands
from pgaspy.scheduling.members import has_kernel
from pgaspy.scheduling.operations import NumberedOperation, Part

__all__ = ["in_parts"]


def in_parts(operations: Sequence[NumberedOperation], rank: int) -> list[NumberedOperation]:
    """The operations in their order, those that it helps in parts."""
    plans = [_plans(operation, rank) for operation in operations]
    results = [(operation.views[0], found) for operation, found in zip(operations, plans, strict=True)
               if found is not None]
    cutting = iter(interiors(results, rank))
    parts: list[NumberedOperation] = []
    for operation, found in zip(operations, plans, strict=True):
        interior = None if found is None else next(cutting)
        box = None if interior is None else index_box(operation.views[0], rank)
        if interior is None or found is None or box is None:
            parts.append(operation)
            continue
        parts += _sending(operation, found, rank)
        for number, inside in enumerate(interior.boxes(box), 1):
            views = tuple([section(view, inside) for view in operation.views])
            part = Part(number, views, 1, operation, inside, plans_within(found, inside, rank))
            parts.append(operation._replace(part=part))
    return parts


def _plans(operation: NumberedOperation, rank: int) -> tuple[OperandPlan, ...] | None:
    """How the operands of an operation get to where its output lies; None if it cannot be computed in parts."""
    form = operation.recipe.elementwise
    if form is None or not operation.is_wanted or not has_kernel(form):
        return None
    out, *views = operation.views
    plans = plan_operands(out, tuple(views), form.copied, rank)
    return None if form.receives_in_place and not all(plan.is_local for plan in plans) else plans


def _sending(operation: NumberedOperation, plans: Sequence[OperandPlan], rank: int) -> Iterator[NumberedOperation]:
    """The part that sends, if there is anything: what lies here of the operands where the output does not."""
    slots, views = [], []
    box = index_box(operation.views[0], rank)
    for slot, plan in zip(operation.slots[1:], plans, strict=True):
        own = index_box(plan.operand, rank)
        if plan.transfer.sends and own is not None and box is not None:
            sent = [section(plan.operand, edge) for edge in edges_of(own, box)]
            slots += [slot] * len(sent)
            views += sent
    if views:
        yield operation._replace(slots=tuple(slots), values=(), part=Part(0, tuple(views), 0, operation))
