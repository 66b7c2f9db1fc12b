"""Tasks: functions that are called on the local views of arrays."""

from __future__ import annotations

from dataclasses import dataclass

from pgaspy.caches import cached
from pgaspy.planning.boxes import view_box
from pgaspy.planning.pieces import local_view_shape
from pgaspy.planning.view import View
from pgaspy.scheduling.builder import Builder
from pgaspy.scheduling.nodes import TaskCall
from pgaspy.scheduling.operations import NumberedOperation, Recipe

__all__ = ["Task", "task"]


@dataclass(eq=False)
class Task(Recipe):
    """A function called on the local views of arrays; no communication.

    `writes` are the views whose local parts it changes, `reads` those it reads (what it updates is among both). With
    `empty`, it is called also where it writes, and all that it writes is empty.
    """

    writes: tuple[View, ...]
    reads: tuple[View, ...]
    empty: bool = False
    is_collective = False
    is_called = is_task = True
    name = "task"

    def __post_init__(self) -> None:
        self.n_outputs = len(self.writes)
        self.views = (*self.writes, *self.reads)

    def add_nodes(self, builder: Builder, operation: NumberedOperation, rank: int) -> None:
        """See `Recipe`."""
        if self.writes and not self.empty and all(0 in local_view_shape(view, rank) for view in self.writes):
            return
        (value,), views = operation.values, [*zip(operation.slots, self.views, strict=True)]
        accesses = [(slot, view_box(view, rank)) for slot, view in views]
        node = TaskCall(value, views)
        node.overwrites = tuple(slot for slot, view in views[:self.n_outputs] if view.is_whole)
        builder.add(node, [(value, None), *accesses[self.n_outputs:]], accesses[:self.n_outputs])


task = cached(Task)
