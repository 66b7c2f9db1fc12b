"""Operations: recorded work, with what it reads and writes.

Creation, ufuncs, reductions, assignments and scheduled tasks turn a call into one or more of these and hand them to the
runtime. What is fixed about an operation but for the arrays is its **recipe**: it is made once for a call and found
again, so that the same call, made again, is the same recipe object. An operation is a recipe and the bases that it is
applied to; it decides nothing: the plan follows from the recipe's views and the rank.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from pgaspy.caches import cached
from pgaspy.layout import Layout
from pgaspy.planning.view import View, whole
from pgaspy.scheduling.base import Base
from pgaspy.scheduling.functions import AnyFunction

__all__ = ["TAGS_PER_OPERAND", "Assign", "BaseView", "Combine", "Generate", "Operation", "Recipe", "Reduce",
           "Reduction", "Reshape", "Statement", "Task", "assign", "combine", "generate", "reduce", "reshape", "task"]


TAGS_PER_OPERAND = 5
"""One for its messages to single processes, and one for each tree of messages: as many in a job of any size."""


class BaseView(NamedTuple):
    """A section of a base that an operation reads or writes."""

    base: Base
    view: View


class Operation(NamedTuple):
    """A recipe and what it is applied to.

    Attributes
    ----------
    bases
        As many as the recipe has views, in the same order: what it writes first.
    values
        What else it takes: the scalars of a statement, the function of a generation or a task.
    """

    recipe: Recipe
    bases: tuple[Base, ...]
    values: tuple[Any, ...]


class _Recipe:
    """What all recipes have: `views`, of which the first `n_outputs` are written and the others are read.

    One that `updates` may leave elements of what it writes as they are, or reads them.
    """

    views: tuple[View, ...]
    n_outputs: int = 1
    updates = False
    is_collective = True
    name = ""

    @property
    def outputs(self) -> tuple[View, ...]:
        """What it writes."""
        return self.views[: self.n_outputs]

    @cached_property
    def n_tags(self) -> int:
        """How many tags its messages may take."""
        return len(self.views) * TAGS_PER_OPERAND if self.is_collective else 0


@dataclass(eq=False)
class Statement(_Recipe):
    """An elementwise operation: `outputs = function(*operands)`; the owner of the output computes.

    `function` is a NumPy ufunc (or one that behaves so), None for a copy; the operands' views are broadcast to the
    outputs' shape, None for a scalar; `loop_dtypes` are the dtypes the function computes with, inputs first; `copied`
    says of each operand that is an array whether it has to be assembled first, as the output overlaps it; `has_mask`
    that the last operand is a mask, where the function is to be computed.
    """

    function: AnyFunction | None
    written: tuple[View, ...]
    operands: tuple[View | None, ...]
    dtypes: tuple[np.dtype[Any] | None, ...]
    loop_dtypes: tuple[np.dtype[Any], ...]
    output_dtypes: tuple[np.dtype[Any], ...]
    copied: tuple[bool, ...]
    has_mask: bool = False

    def __post_init__(self) -> None:
        self.n_outputs, self.updates = len(self.written), self.has_mask
        self.views = (*self.written, *(view for view in self.operands if view is not None))
        self.name = "copy" if self.function is None else self.function.__name__

    @property
    def signature(self) -> tuple[type[np.dtype[Any]], ...]:
        """The classes of the loop's dtypes without the mask's, as a ufunc takes them."""
        n_inputs = len(self.operands) - self.has_mask
        return tuple(type(d) for d in (*self.loop_dtypes[:n_inputs], *self.loop_dtypes[len(self.operands):]))

    def operand_dtype(self, n: int) -> np.dtype[Any]:
        """The dtype of operand n: its own, or for a scalar the one that the loop takes."""
        dtype = self.dtypes[n]
        return dtype if dtype is not None else self.loop_dtypes[n]


@dataclass(eq=False)
class Assign(_Recipe):
    """`target[...] = source`, element by element, with casting; the views have one shape.

    `overlaps` says that they are sections of one base that may share elements.
    """

    target: View
    source: View
    dtype: np.dtype[Any]
    source_dtype: np.dtype[Any]
    overlaps: bool
    name = "assign"

    def __post_init__(self) -> None:
        self.views = self.target, self.source


assign = cached(Assign)


@dataclass(eq=False)
class Reshape(_Recipe):
    """The elements of a whole base, in row-major order, as those of another whole base of the same size."""

    target: Layout
    source: Layout
    dtype: np.dtype[Any]
    name = "reshape"

    def __post_init__(self) -> None:
        self.views = whole(self.target), whole(self.source)


reshape = cached(Reshape)


class Reduction(Protocol):
    """How values are reduced: locally, then between processes. Equal ones are the same."""

    def __hash__(self) -> int: ...

    @property
    def partial_dtype(self) -> np.dtype[Any]:
        """The dtype of partial results."""

    def partial(self, local: NDArray[Any], axes: tuple[int, ...], indices: Callable[[int], NDArray[np.int64]],
                operands: Sequence[NDArray[Any]]) -> NDArray[Any]:
        """The partial result of a local part, reduced over `axes` (none of them left).

        `indices(d)` are the global indices of the local part along d; `operands` the local parts of the others.
        """

    @property
    def merge(self) -> Callable[[NDArray[Any], NDArray[Any]], NDArray[Any]]:
        """What joins two flat arrays of partial results, of lower and of higher ranks; a ufunc, if one does."""

    @property
    def result(self) -> Callable[[NDArray[Any]], NDArray[Any]] | None:
        """What makes final values of combined partial results; None if these are final."""

    def kernel(self, char: str) -> tuple[str, str] | None:
        """Name and types of the C kernel that reduces elements of a dtype.char so, where there is one."""


@dataclass(eq=False)
class Reduce(_Recipe):
    """A view reduced over `axes`: the local part by its owner, then the partial results over the processes.

    The source has a layout of its own; the target's is the same without the reduced dimensions, replicated along
    their axes of the grid. Each of the `operands` lies as one dimension of the source does.
    """

    target: View
    source: View
    axes: tuple[int, ...]
    reduction: Reduction
    dtypes: tuple[np.dtype[Any], ...]
    operands: tuple[View, ...] = ()
    name = "reduce"

    def __post_init__(self) -> None:
        self.views = (self.target, self.source, *self.operands)


reduce = cached(Reduce)


@dataclass(eq=False)
class Combine(_Recipe):
    """The copies of replicated views, which differ, become `function(lower, higher)` of all, in the ranks' order.

    The views lie on one grid, with copies along the same axes of it. Of several, the function takes and returns tuples.
    """

    written: tuple[View, ...]
    dtypes: tuple[np.dtype[Any], ...]
    function: Callable[[Any, Any], Any]
    name = "combine"
    updates = True

    def __post_init__(self) -> None:
        self.views, self.n_outputs = self.written, len(self.written)


combine = cached(Combine)


@dataclass(eq=False)
class Generate(_Recipe):
    """The elements of a whole base as a function of their global indices alone; its value writes the local part."""

    layout: Layout
    name = "generate"

    def __post_init__(self) -> None:
        self.views = (whole(self.layout),)


generate = cached(Generate)


@dataclass(eq=False)
class Task(_Recipe):
    """A function called on the local views of arrays; no communication.

    `writes` are the views whose local parts it changes, `reads` those it reads (what it updates is among both). With
    `empty`, it is called also where it writes, and all that it writes is empty.
    """

    writes: tuple[View, ...]
    reads: tuple[View, ...]
    empty: bool = False
    is_collective = False
    name = "task"

    def __post_init__(self) -> None:
        self.n_outputs = len(self.writes)
        self.views = (*self.writes, *self.reads)


task = cached(Task)

Recipe = Statement | Assign | Reshape | Reduce | Combine | Generate | Task
