"""Interiors: what results that are shifted against each other by a few elements have in common.

What is made of neighbours, as `2 * a[:-2]` and `2 * a[2:]`, lies where these do: of each a process has some rows that
it has not of the others. So that one kernel may compute all of them, the indices of a process are cut into the
**interior**, which it has of all results and all their operands, and thin **edges** beside it. Pure.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Sequence

from pgaspy.planning.local_parts import local_part
from pgaspy.planning.pieces import OperandPlan, within
from pgaspy.planning.view import View

__all__ = ["IndexBox", "Interior", "edges_of", "index_box", "interiors", "plans_within", "section"]

IndexBox = tuple[tuple[int, int], ...]
"""An interval of indices per dimension of a view."""

SHARE = 4
"""An interior has at least all but one in so many of the elements of each result."""

MIN_ELEMENTS = 1 << 14
"""A smaller interior is not worth that its edges are computed by themselves."""

MAX_BOXES = 100
"""Into which results may be cut."""


def index_box(view: View, rank: int) -> IndexBox | None:
    """The indices of a view that a process owns; None if they are no interval of each dimension, or there are none."""
    part = local_part(view, rank)
    if part is None or 0 in part.shape:
        return None
    return tuple([(first, first + n) for first, n in zip(part.first, part.shape, strict=True)])


def section(view: View, box: IndexBox) -> View:
    """The part of a view in a box of its indices."""
    return view.index(tuple([slice(start, stop) for start, stop in box]))


class Interior:
    """What some results and their operands have in common on a process, and where it cuts them.

    Attributes
    ----------
    box
        The interior.
    """

    def __init__(self, box: IndexBox) -> None:
        self.box = box
        self._largest = _size(box)
        self._of_results: set[IndexBox] = set()
        self._cuts: list[set[int]] = [set() for _ in box]

    def take(self, result: IndexBox, operands: Sequence[IndexBox]) -> bool:
        """Let a result count, unless too little would be left in common."""
        box, size = _common([self.box, result, *operands]), _size(result)
        if _size(box) * SHARE < max(size, self._largest) * (SHARE - 1):
            return False
        self.box, self._largest = box, max(size, self._largest)
        self._of_results.add(result)
        for other in result, *operands:
            for cuts, edges in zip(self._cuts, other, strict=True):
                cuts.update(edges)
        return True

    @property
    def is_of_use(self) -> bool:
        """Whether results differ by thin edges."""
        n_boxes = math.prod(len(cuts) - 1 for cuts in self._cuts)
        return len(self._of_results) > 1 and _size(self.box) >= MIN_ELEMENTS and n_boxes <= MAX_BOXES

    def boxes(self, result: IndexBox) -> Iterator[IndexBox]:
        """The boxes that a result is cut into, in the order of their indices."""
        intervals = []
        for (start, stop), cuts in zip(result, self._cuts, strict=True):
            edges = sorted(cut for cut in cuts if start <= cut <= stop)
            intervals.append(list(itertools.pairwise(edges)))
        return itertools.product(*intervals)


def edges_of(box: IndexBox, inner: IndexBox) -> Iterator[IndexBox]:
    """What of a box is not in another one, as boxes that are apart."""
    for d, ((start, stop), (first, last)) in enumerate(zip(box, inner, strict=True)):
        for low, high in (start, min(first, stop)), (max(last, start), stop):
            if low < high:
                yield (*box[:d], (low, high), *box[d + 1:])
        middle = max(start, first), min(stop, last)
        if middle[0] >= middle[1]:
            return
        box = (*box[:d], middle, *box[d + 1:])


def interiors(results: Sequence[tuple[View, Sequence[OperandPlan]]], rank: int) -> list[Interior | None]:
    """Of each result, the interior that cuts it, if there is one; with the plans of its operands."""
    found: dict[tuple[int, ...], list[Interior]] = {}
    taken: list[Interior | None] = []
    for out, plans in results:
        own = index_box(out, rank)
        others = [index_box(plan.operand, rank) for plan in plans]
        if own is None or None in others or not all(_may_be_cut(plan) for plan in plans):
            taken.append(None)
            continue
        of_shape = found.setdefault(out.shape, [])
        known = [box for box in others if box is not None]
        interior = next((interior for interior in of_shape if interior.take(own, known)), None)
        if interior is None:
            interior = Interior(own)
            if interior.take(own, known):
                of_shape.append(interior)
            else:
                interior = None
        taken.append(interior)
    return [interior if interior is not None and interior.is_of_use else None for interior in taken]


def plans_within(plans: Sequence[OperandPlan], box: IndexBox, rank: int) -> tuple[OperandPlan, ...]:
    """How operands get to where a box of an output lies."""
    found = []
    for plan in plans:
        own = index_box(plan.operand, rank)
        is_here = own is not None and _common([own, box]) == box
        found.append(within(plan, section(plan.out, box), section(plan.operand, box),
                            [first for first, _ in box], is_here, rank))
    return tuple(found)


def _may_be_cut(plan: OperandPlan) -> bool:
    """Whether an operand is used where it lies or arrives."""
    return plan.temporary is None and not plan.transfer.axes


def _common(boxes: Sequence[IndexBox]) -> IndexBox:
    return tuple([(max(low for low, _ in edges), min(high for _, high in edges))
                  for edges in zip(*boxes, strict=True)])


def _size(box: IndexBox) -> int:
    return math.prod(max(stop - start, 0) for start, stop in box)
