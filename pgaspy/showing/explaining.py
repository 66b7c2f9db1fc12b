"""Explain: what a statement would move and compute, without doing it, in this job or in one of any size.

The statement's operations are handed over instead of recorded, and the schedule that the queue would execute is made of
them. What is shown is read off that schedule.
"""

from __future__ import annotations

import math
import operator
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, fields
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from pgaspy.caches import cached
from pgaspy.execution import recording
from pgaspy.job.procgrid import simulated, world
from pgaspy.layout import Layout
from pgaspy.planning.pieces import plan_operand
from pgaspy.planning.reshapes import plan_reshape
from pgaspy.planning.transfers import plan_transfer
from pgaspy.scheduling.nodes import Communication
from pgaspy.scheduling.operations import Operation, Recipe
from pgaspy.scheduling.schedule import Schedule, schedule_of

__all__ = ["Explanation", "OperationPlan", "explain"]


@dataclass(frozen=True, slots=True)
class OperationPlan:
    """One process's share of one operation.

    Attributes
    ----------
    operation
        What it is; and whether it has messages that follow from what arrays hold, which are not counted here.
    n_sends, n_receives
        Messages to and from other processes, those of broadcasts and reductions among them.
    nbytes_sent, nbytes_received
        Their bytes.
    n_pieces
        Computations: kernels on one piece each, copies, packing and unpacking. Of operations that share a kernel, the
        first has them.
    nbytes_temporary
        Bytes of buffers: of messages, of what is assembled, and of partial results.
    imbalance
        Elements of the output on the process that owns most, over the mean of all processes.
    """

    operation: str
    n_sends: int = 0
    n_receives: int = 0
    nbytes_sent: int = 0
    nbytes_received: int = 0
    n_pieces: int = 0
    nbytes_temporary: int = 0
    imbalance: float = 1.0


@dataclass(frozen=True, slots=True)
class Explanation:
    """The plans of a statement's operations, in their order; printed as a table.

    `cached` says whether the plans of all its messages were made before.
    """

    rank: int
    size: int
    operations: tuple[OperationPlan, ...]
    cached: bool
    statement: Callable[[], Any] = field(repr=False, compare=False)

    @property
    def n_messages(self) -> int:
        """Messages that this process sends, in all operations."""
        return sum(o.n_sends for o in self.operations)

    @property
    def nbytes_received(self) -> int:
        """Bytes that come to this process, in all operations."""
        return sum(o.nbytes_received for o in self.operations)

    @property
    def imbalance(self) -> float:
        """The largest imbalance of all operations."""
        return max((o.imbalance for o in self.operations), default=1.0)

    def traffic(self) -> NDArray[np.int64]:
        """Bytes that each process sends to each other one: shape (size, size), the sender's rank first.

        The statement is planned for each of the processes, which takes time in a job of many.
        """
        found = np.zeros((self.size, self.size), np.int64)
        for rank in range(self.size):
            for node in _planned(self.statement, self.size, rank).schedule.nodes:
                if isinstance(node, Communication) and not node.is_receive:
                    found[rank, node.peer] += node.nbytes
        return found

    def __str__(self) -> str:
        names = [f.name for f in fields(OperationPlan)]
        rows = [names] + [[_shown(getattr(o, name)) for name in names] for o in self.operations]
        widths = [max(len(row[k]) for row in rows) for k in range(len(names))]
        lines = ["  ".join(text.ljust(width) for text, width in zip(row, widths, strict=True)).rstrip() for row in rows]
        return "\n".join([f"rank {self.rank} of {self.size}", *lines])


def explain(statement: Callable[[], Any], *, size: int | None = None, rank: int | None = None) -> Explanation:
    """The plan of what a statement does, for one process, without doing it. Not collective.

    Parameters
    ----------
    statement
        A function without arguments, such as `lambda: work.__setitem__(..., 0.25 * (up + down + left + right))`.
        What it assigns is not changed, and it cannot read values.
    size
        Plan for a job of this many processes, instead of this one; the statement then makes its arrays itself.
    rank
        The process to plan for; this one by default, or the middle one of a simulated job.

    Examples
    --------
    >>> import pgaspy as pg
    >>> def shift():
    ...     A = pg.empty((1000, 1000))
    ...     A[1:] = A[:-1]
    >>> pg.explain(shift, size=4096).nbytes_received
    120
    """
    if not callable(statement):
        raise TypeError("explain takes a function without arguments, such as `lambda: A + B`, "
                        f"not {statement!r}: that was executed before")
    n_procs = world().size if size is None else operator.index(size)
    if rank is None:
        rank = world().rank if size is None else n_procs // 2
    rank = operator.index(rank)
    if not 0 <= rank < n_procs:
        raise ValueError(f"rank {rank} is not one of a job of {n_procs} processes")
    known = _n_plans_made()
    planned = _planned(statement, n_procs, rank)
    return Explanation(rank, n_procs, tuple(_shares(*planned)), _n_plans_made() == known, statement)


class _Planned(NamedTuple):
    """The recipes of a statement's operations, and their schedule."""

    recipes: list[Recipe]
    schedule: Schedule


def _planned(statement: Callable[[], Any], size: int, rank: int) -> _Planned:
    """Plan a statement in a job of `size` processes, of which this one plays `rank`."""
    calls: list[tuple[Recipe, Sequence[Any], Sequence[Any]]] = []

    def take(operation: Operation) -> None:
        for base in operation.bases:
            if base.layout.n_procs != size:
                raise ValueError(f"an array of a job of {base.layout.n_procs} processes in a statement that is "
                                 f"explained for {size}: make the arrays inside the statement")
        calls.append((operation.recipe, [base.storage for base in operation.bases], operation.values))

    with simulated(size, rank), recording.dry_run(take):
        result = statement()  # which is seen, as what has another name
        results = _results(calls)
        schedule = schedule_of(calls, lambda storage: storage.name() is not None or storage in results, rank,
                               recording.queue.overlaps)
        del result
    return _Planned([recipe for recipe, _, _ in calls], schedule)


def _results(calls: Sequence[tuple[Recipe, Sequence[Any], Sequence[Any]]]) -> set[Any]:
    """What nothing reads after it was last written to: of the arrays that a statement makes and drops, its results."""
    found: set[Any] = set()
    for recipe, storages, _ in calls:
        found.difference_update(storages[recipe.n_outputs:])
        found.update(storages[:recipe.n_outputs])
    return found


def _n_plans_made() -> int:
    planners: tuple[Any, ...] = plan_transfer, plan_operand, plan_reshape
    return sum(planner.n_made for planner in planners)


def _shares(recipes: Sequence[Recipe], schedule: Schedule) -> list[OperationPlan]:
    """What the nodes of a schedule are for each operation."""
    counts: list[Counter[str]] = [Counter() for _ in recipes]
    nbytes_of = dict(enumerate(schedule.buffer_sizes, schedule.n_memories - len(schedule.buffer_sizes)))
    for node in schedule.nodes:
        found = counts[node.position]
        if isinstance(node, Communication):
            found["n_receives" if node.is_receive else "n_sends"] += 1
            found["nbytes_received" if node.is_receive else "nbytes_sent"] += node.nbytes
        else:
            found["n_pieces"] += 1
        nbytes_of |= dict(node.allocates)
        for memory, _ in node.writes:
            found["nbytes_temporary"] += nbytes_of.pop(memory, None) or 0  # of a buffer, with the first that writes it
    talking = {node.position for node in schedule.nodes if node.talks}
    names = [f"{recipe}{', and messages as the values say' * (k in talking)}" for k, recipe in enumerate(recipes)]
    layouts = [recipe.views[0].own_layout if recipe.n_outputs else None for recipe in recipes]
    return [OperationPlan(name, **found, imbalance=1.0 if layout is None else _imbalance(layout))
            for name, found, layout in zip(names, counts, layouts, strict=True)]


@cached
def _imbalance(layout: Layout) -> float:
    """The largest part over the mean part."""
    holders = [1 if pin is not None else n if axis in layout.replica_axes else 1
               for axis, (n, pin) in enumerate(zip(layout.grid, layout.pins, strict=True))]
    held = math.prod(layout.shape) * math.prod(holders)
    return layout.max_local_size * layout.n_procs / held if held else 1.0


def _shown(value: Any) -> str:
    return f"{value:.2f}" if isinstance(value, float) else str(value)

