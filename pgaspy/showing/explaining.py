"""Explain: what a statement would move, without doing it, in this job or in one of any size."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, fields
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pgaspy.caches import cached
from pgaspy.execution.recording import dry_run
from pgaspy.job.procgrid import simulated, world
from pgaspy.layout import Layout
from pgaspy.planning.pieces import local_view_shape, plan_operand, plan_pieces
from pgaspy.planning.reshapes import plan_reshape
from pgaspy.planning.transfers import TransferPlan, plan_transfer
from pgaspy.scheduling.base import Base
from pgaspy.scheduling.nodes import Communication, Send
from pgaspy.scheduling.operations import Assign, Combine, Operation, Recipe, Reduce, Reshape, Statement
from pgaspy.scheduling.schedule import build

__all__ = ["Explanation", "OperationPlan", "explain"]


@dataclass(frozen=True, slots=True)
class OperationPlan:
    """One process's share of one operation.

    Attributes
    ----------
    operation
        What it is.
    n_sends, n_receives
        Messages to and from other processes.
    nbytes_sent, nbytes_received
        Their bytes.
    nbytes_broadcast
        Bytes that this process hands out or receives in broadcasts and reductions along axes of the grid.
    n_pieces
        Pieces that the local part is cut into.
    nbytes_temporary
        Bytes of receive buffers and assembled temporaries.
    imbalance
        Elements of the output on the process that owns most, over the mean of all processes.
    cached
        Whether the plan was made before.
    """

    operation: str
    n_sends: int = 0
    n_receives: int = 0
    nbytes_sent: int = 0
    nbytes_received: int = 0
    nbytes_broadcast: int = 0
    n_pieces: int = 1
    nbytes_temporary: int = 0
    imbalance: float = 1.0
    cached: bool = False


@dataclass(frozen=True, slots=True)
class Explanation:
    """The plans of a statement's operations, in their order; printed as a table."""

    rank: int
    size: int
    operations: tuple[OperationPlan, ...]
    statement: Callable[[], Any] = field(repr=False, compare=False)

    @property
    def n_messages(self) -> int:
        """Messages that this process sends, in all operations."""
        return sum(o.n_sends for o in self.operations)

    @property
    def nbytes_received(self) -> int:
        """Bytes that come to this process, by messages and broadcasts, in all operations."""
        return sum(o.nbytes_received + o.nbytes_broadcast for o in self.operations)

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
            for message in _sent_by(self.statement, self.size, rank):
                found[rank, message.peer] += message.nbytes
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
    n_procs = world().size if size is None else size
    if rank is None:
        rank = world().rank if size is None else n_procs // 2
    if not 0 <= rank < n_procs:
        raise ValueError(f"rank {rank} is not one of a job of {n_procs} processes")
    plans: list[OperationPlan] = []
    _hand_over(statement, n_procs, rank, lambda operation: plans.append(_planned(operation, rank)))
    return Explanation(rank, n_procs, tuple(plans), statement)


def _hand_over(statement: Callable[[], Any], size: int, rank: int, take: Callable[[Operation], None]) -> None:
    """Hand over the operations of a statement in a job of `size` processes, of which this one plays `rank`."""
    def check_and_take(operation: Operation) -> None:
        for base in operation.bases:
            if base.layout.n_procs != size:
                raise ValueError(f"an array of a job of {base.layout.n_procs} processes in a statement that is "
                                 f"explained for {size}: make the arrays inside the statement")
        take(operation)

    with simulated(size, rank), dry_run(check_and_take):
        statement()


def _sent_by(statement: Callable[[], Any], size: int, rank: int) -> list[Communication]:
    """The messages that a process sends."""
    operations: list[Operation] = []
    _hand_over(statement, size, rank, operations.append)
    slots: dict[Base, int] = {}
    described = []
    for operation in operations:
        used = tuple(slots.setdefault(base, len(slots)) for base in operation.bases)
        described.append((operation.recipe, used, operation.values))
    n_memories = len(slots)
    for k, (recipe, used, values) in enumerate(described):
        described[k] = recipe, used, tuple(range(n_memories, n_memories + len(values)))
        n_memories += len(values)
    schedule = build(described, len(slots), n_memories, frozenset(range(len(slots))), rank, True)
    return [node for node in schedule.nodes if isinstance(node, Send)]


def _planned(operation: Operation, rank: int) -> OperationPlan:
    recipe = operation.recipe
    known = _plans_made()
    planner: Callable[[Any, int], dict[str, Any]] = _PLANNERS.get(type(recipe), _plan_local)
    plan = planner(recipe, rank)
    layout = recipe.views[0].own_layout if recipe.n_outputs else None
    imbalance = 1.0 if layout is None else _imbalance(layout)
    return OperationPlan(**plan, imbalance=imbalance, cached=_plans_made() == known)


def _plans_made() -> int:
    planners: tuple[Any, ...] = plan_transfer, plan_operand, plan_reshape
    return sum(planner.n_made for planner in planners)


def _plan_local(recipe: Recipe, rank: int) -> dict[str, Any]:
    return {"operation": recipe.name}


def _plan_assign(recipe: Assign, rank: int) -> dict[str, Any]:
    plan = plan_transfer(recipe.target, recipe.source, rank)
    moved = _moved([(plan, min(recipe.source_dtype.itemsize, recipe.dtype.itemsize))])
    return {"operation": f"assign {recipe.target.shape}", **moved,
            "nbytes_temporary": moved["nbytes_received"] + moved["nbytes_broadcast"]}


def _plan_elementwise(statement: Statement, rank: int) -> dict[str, Any]:
    plan = plan_pieces(statement.written[0], statement.views[statement.n_outputs:], statement.copied, rank)
    itemsizes = [dtype.itemsize for dtype in statement.dtypes if dtype is not None]
    moved = _moved([(o.transfer, n) for o, n in zip(plan.operands, itemsizes, strict=True)])
    assembled = sum(math.prod(o.temporary) * n for o, n in zip(plan.operands, itemsizes, strict=True)
                    if o.temporary is not None)
    return {"operation": f"{statement.name} {statement.written[0].shape}", **moved, "n_pieces": len(plan.pieces),
            "nbytes_temporary": moved["nbytes_received"] + assembled}


def _plan_reduce(recipe: Reduce, rank: int) -> dict[str, Any]:
    layout = recipe.source.own_layout
    assert layout is not None
    reduced = any(layout.dims[d].n_procs > 1 for d in recipe.axes)
    nbytes = math.prod(recipe.target.layout.local_shape(rank)) * recipe.dtypes[0].itemsize
    return {"operation": f"reduce {layout.shape} over {recipe.axes}", "nbytes_broadcast": nbytes if reduced else 0}


def _plan_combine(recipe: Combine, rank: int) -> dict[str, Any]:
    layout = recipe.views[0].layout
    is_combined = any(layout.grid[axis] > 1 for axis in layout.replica_axes)
    nbytes = sum(math.prod(local_view_shape(view, rank)) * dtype.itemsize
                 for view, dtype in zip(recipe.views, recipe.dtypes, strict=True))
    shapes = ", ".join(str(view.shape) for view in recipe.views)
    return {"operation": f"combine {shapes}", "nbytes_broadcast": nbytes if is_combined else 0}


def _plan_reshape(recipe: Reshape, rank: int) -> dict[str, Any]:
    plan = plan_reshape(recipe.target, recipe.source, rank)
    moved = _moved([(plan, recipe.dtype.itemsize)])
    return {"operation": f"reshape {recipe.source.shape} to {recipe.target.shape}", **moved,
            "nbytes_temporary": moved["nbytes_received"]}


_PLANNERS: dict[type, Callable[[Any, int], dict[str, Any]]] = {
    Assign: _plan_assign, Statement: _plan_elementwise, Reduce: _plan_reduce, Combine: _plan_combine,
    Reshape: _plan_reshape}


def _moved(transfers: Sequence[tuple[TransferPlan, int]]) -> dict[str, int]:
    return {
        "n_sends": sum(len(plan.sends) for plan, _ in transfers),
        "n_receives": sum(len(plan.receives) for plan, _ in transfers),
        "nbytes_sent": sum(m.size * n for plan, n in transfers for m in plan.sends),
        "nbytes_received": sum(m.size * n for plan, n in transfers for m in plan.receives),
        "nbytes_broadcast": sum(b.size * n for plan, n in transfers for b in plan.broadcasts),
    }


@cached
def _imbalance(layout: Layout) -> float:
    """The largest part over the mean part."""
    holders = [1 if pin is not None else n if axis in layout.replica_axes else 1
               for axis, (n, pin) in enumerate(zip(layout.grid, layout.pins, strict=True))]
    held = math.prod(layout.shape) * math.prod(holders)
    return layout.max_local_size * layout.n_procs / held if held else 1.0


def _shown(value: Any) -> str:
    return f"{value:.2f}" if isinstance(value, float) else str(value)

