"""Operations: recorded work, with what it reads and writes.

What the program calls becomes one or more operations, which are recorded. What is fixed about an operation but for the
arrays is its **recipe**: it is made once for a call and found again, so that the same call, made again, is the same
recipe object. An operation is a recipe and the bases that it is applied to.

Each kind of recipe is a class in `kinds`, and says there all that the scheduler asks of it: what it sends, whether it
may be postponed, whether a kernel may compute it, and its nodes; and whether and how it is done at once, without these.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np

from pgaspy.caches import acyclic, lazy
from pgaspy.planning.interiors import IndexBox
from pgaspy.planning.pieces import OperandPlan
from pgaspy.planning.transfers import TransferPlan
from pgaspy.planning.view import View
from pgaspy.scheduling.at_once import MAX_ELEMENTS
from pgaspy.scheduling.base import Base, Storage
from pgaspy.scheduling.builder import Builder
from pgaspy.scheduling.functions import AnyFunction

__all__ = ["TAGS_PER_OPERAND", "BaseView", "Computed", "Elementwise", "Merged", "Moved", "NumberedOperation",
           "Operation", "Part", "Recipe", "Reducing", "first_tag", "name_of", "statement_form"]


TAGS_PER_OPERAND = 5
"""One for its messages to single processes, and one for each tree of messages: as many in a job of any size."""


def first_tag(operand: int) -> int:
    """The tag of an operand's messages, counted from that of the operation; those of its broadcasts follow."""
    return operand * TAGS_PER_OPERAND


class BaseView(NamedTuple):
    """A section of a base."""

    base: Base
    view: View


class Moved(NamedTuple):
    """What an operation moves between processes.

    Attributes
    ----------
    number
        Of its views, the one whose elements are moved.
    plan
        The messages, and what stays.
    grid
        That of the destination.
    source
        The view that the plan's ranges are of; None where these are flat indices.
    """

    number: int
    plan: TransferPlan
    grid: tuple[int, ...]
    source: View | None


class Merged(NamedTuple):
    """Partial results that the processes along some axes of a grid merge; `numbers` are the views they are made of."""

    numbers: tuple[int, ...]
    grid: tuple[int, ...]
    axes: tuple[int, ...]


class Elementwise(NamedTuple):
    """A recipe as a C kernel computes it: one output, each of whose elements is a function of one of each operand.

    Attributes
    ----------
    function
        None for a copy.
    name
        The function's, as the table of kernels has it.
    is_array
        Of each operand: an array, or a scalar.
    dtypes, loop, output_dtype
        Of the operands, as they are and as the function takes them, and of the output; the last of `loop` is what the
        function gives.
    copied
        Of each operand that is an array, whether it has to be assembled first.
    receives_in_place
        Whether messages are received in the output itself, so that a kernel has nothing to do where there are any.
    """

    function: AnyFunction | None
    name: str
    is_array: tuple[bool, ...]
    dtypes: tuple[np.dtype[Any], ...]
    loop: tuple[np.dtype[Any], ...]
    output_dtype: np.dtype[Any]
    copied: tuple[bool, ...]
    receives_in_place: bool = False


class Reducing(NamedTuple):
    """A reduction that may end the kernel which writes the array it reduces: over these axes, by this C kernel."""

    axes: tuple[int, ...]
    kernel: tuple[str, str]


class Recipe:
    """What is fixed about an operation. Its digest is made of its form and its views, or of the dataclass's fields.

    Attributes
    ----------
    views
        Of its bases; it writes the first `n_outputs`, and reads the others.
    updates
        Whether it may leave elements of what it writes as they are, or reads them.
    reads_outputs
        Whether it reads what it writes.
    is_collective
        Whether all processes record it.
    is_called
        Whether it is executed also where nobody can see its results.
    is_task
        Whether it calls a function, which may use any array, raise, or take any time.
    has_come
        Whether an operation with it was met by `in_turn` before.
    is_cold
        Whether this process tries to execute it at once: it has not been done often, nor had to wait.
    is_awaited
        Whether the program waits for it as soon as it is recorded.
    n_counted_at_once
        How many counted calls of kernels do it at once; None where it may not be done so again after an interrupt.
    name
        What people call it.
    errors_in
        The function that its floating-point errors are said to be in; else, that which has them.
    digest
        What is compared of it, when that is worked out.
    """

    __dataclass_fields__: ClassVar[dict[str, Any]]
    views: tuple[View, ...]
    n_outputs: int = 1
    updates = False
    reads_outputs = False
    is_collective = True
    is_called = False
    is_task = False
    has_come = False
    is_cold = True
    is_awaited = False
    n_counted_at_once: ClassVar[int | None] = None
    name = errors_in = ""
    digest: int | None = None

    def __init_subclass__(cls) -> None:
        acyclic(cls)  # also that of tasks: nothing that a program's function leads to has its recipe

    def __str__(self) -> str:
        return f"{self.name} {self.views[0].shape}" if self.views else self.name

    @property
    def form(self) -> tuple[Any, ...] | None:
        """What it is besides its views, if that is all of it that processes have in common."""
        return None

    @property
    def outputs(self) -> tuple[View, ...]:
        """What it writes."""
        return self.views[: self.n_outputs]

    @lazy
    def said(self) -> tuple[str, tuple[tuple[int, ...], ...]]:
        """Its name, and the shapes of its views."""
        return self.name, tuple([view.shape for view in self.views])

    @lazy
    def n_tags(self) -> int:
        """How many tags its messages may take."""
        return len(self.views) * TAGS_PER_OPERAND if self.is_collective else 0

    def overwrites(self, storages: Sequence[Storage], storage: Storage) -> bool:
        """Whether an operation on these storages writes one of them as a whole, and does not read it."""
        n = self.n_outputs
        return not self.updates and storage not in storages[n:] and any(
            view.is_whole for view, written in zip(self.views[:n], storages, strict=False) if written is storage)

    def is_done_at_once(self, rank: int, limit: int = MAX_ELEMENTS) -> bool:
        """Whether it is done at once, while it is cold, as it is small: of views of so many elements here, or less."""
        return False

    def is_local(self, rank: int) -> bool:
        """Whether no process sends anything for it, as layouts tell; then `execute` does it, else `add_nodes_at_once`.
        """
        return False

    def execute(self, storages: Sequence[Storage], values: Sequence[Any], rank: int) -> None:
        """Do all that a process does for an operation with this recipe, one that is done at once."""
        raise NotImplementedError

    def add_nodes_at_once(self, builder: Builder, operation: NumberedOperation, rank: int) -> None:
        """Add the same nodes as `add_nodes`, or others with the same messages, where each is executed when it is added.

        They come in such an order that those of all processes can be executed so.
        """
        self.add_nodes(builder, operation, rank)

    @property
    def elementwise(self) -> Elementwise | None:
        """How a C kernel computes it, if one may."""
        return None

    @property
    def reducing(self) -> Reducing | None:
        """How it may end the kernel that writes what it reduces, if it may."""
        return None

    def moved(self, rank: int) -> Sequence[Moved]:
        """What a process sends and receives of its views."""
        return ()

    def merged(self, rank: int) -> Merged | None:
        """The partial results that a process merges with others."""
        return None

    def may_be_postponed(self, rank: int) -> bool:
        """Whether it is executed with later operations where that may be faster, as nobody waits for it."""
        return False

    def details(self, text: Callable[[Any], str]) -> str:
        """What it has besides its views, for people; `text` is what processes have in common of a function."""
        return ""

    def add_nodes(self, builder: Builder, operation: NumberedOperation, rank: int) -> None:
        """Add what a process does for an operation with this recipe."""
        raise NotImplementedError

    def add_merge(self, builder: Builder, operation: NumberedOperation, partial: int, rank: int) -> None:
        """Add what is left of a reduction whose partial result is computed by a kernel, in the memory `partial`."""
        raise NotImplementedError


@acyclic
@dataclass(slots=True, eq=False)
class Computed:
    """A statement, or an assignment, that was executed without a recipe, as others are told of it.

    Attributes
    ----------
    form, views
        As of the recipe; see `statement_form`.
    digest
        What is compared of it, when that is worked out.
    """

    form: tuple[Any, ...]
    views: tuple[View, ...]
    digest: int | None = None
    n_outputs: ClassVar[int] = 1

    @property
    def name(self) -> str:
        """See `Recipe`."""
        return name_of(self.form[0])

    @property
    def n_tags(self) -> int:
        """See `Recipe`."""
        return len(self.views) * TAGS_PER_OPERAND


def name_of(function: Any) -> str:
    """What people call an operation: its name, or that of its function, which is None for a copy."""
    return "copy" if function is None else function if isinstance(function, str) else function.__name__


def statement_form(function: AnyFunction | None, is_array: tuple[bool, ...], loop_dtypes: tuple[np.dtype[Any], ...],
                   output_dtypes: tuple[np.dtype[Any], ...], has_mask: bool) -> tuple[Any, ...]:
    """The form of a statement: which function (None for a copy) of which operands, arrays or numbers, and its dtypes.

    An assignment is a copy of an array.
    """
    return function, is_array, loop_dtypes, output_dtypes, has_mask


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


class NumberedOperation(NamedTuple):
    """An operation in a schedule.

    Attributes
    ----------
    position
        Its place among the operations.
    slots, values
        The numbers of the memories that its views, and its values, stand for.
    is_wanted
        Whether anybody can see its results here; its messages alone are left of it where nobody can.
    part
        Which part of an operation it is, if it is not a whole one.
    """

    position: int
    recipe: Recipe
    slots: tuple[int, ...]
    values: tuple[int, ...]
    is_wanted: bool = True
    part: Part | None = None

    @property
    def views(self) -> tuple[View, ...]:
        """What it writes, and what it reads."""
        return self.recipe.views if self.part is None else self.part.views

    @property
    def n_outputs(self) -> int:
        """It writes so many of its views."""
        return self.recipe.n_outputs if self.part is None else self.part.n_outputs

    @property
    def key(self) -> tuple[int, int]:
        """What tells it apart from the others."""
        return self.position, 0 if self.part is None else self.part.number

    @property
    def only_sends(self) -> bool:
        """Whether it is a part that computes nothing."""
        return self.part is not None and not self.part.n_outputs


class Part(NamedTuple):
    """A part of an elementwise operation: what a process computes in a box of its indices; or sends, of its operands.

    Attributes
    ----------
    number
        Among the parts of the operation.
    views
        What it writes, and what it reads.
    n_outputs
        It writes so many of these: one; none, where it sends.
    whole
        The operation.
    box
        The indices of the output.
    plans
        How the operands get there.
    """

    number: int
    views: tuple[View, ...]
    n_outputs: int
    whole: NumberedOperation
    box: IndexBox = ()
    plans: tuple[OperandPlan, ...] = ()
