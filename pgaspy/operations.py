"""Operations: frozen records of work, with what they read and write.

Creation, ufuncs, reductions and assignments turn a call into one or more of these and hand them to the runtime. A
record holds metadata, bases and scalars, and decides nothing: the plan follows from its views and the rank.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from pgaspy.base import Base
from pgaspy.functions import AnyFunction
from pgaspy.view import View

__all__ = ["Access", "Assign", "Elementwise", "Generate", "LocalCall", "Operand", "Operation", "Reduce", "Reduction",
           "Reshape", "Statement"]


class Access(NamedTuple):
    """A section of a base that an operation reads or writes."""

    base: Base
    view: View


Operand = Access | NDArray[Any]
"""What an elementwise operation reads: a view, broadcast to the output's shape, or a 0-d NumPy array (a scalar)."""


@dataclass(frozen=True, slots=True)
class _Move:
    """What moves the elements of a source to a target."""

    target: Access
    source: Access

    @property
    def reads(self) -> tuple[Access, ...]:
        return (self.source,)

    @property
    def writes(self) -> tuple[Access, ...]:
        return (self.target,)


class Assign(_Move):
    """`target[...] = source`, element by element, with casting; the views have one shape and may overlap."""

    __slots__ = ()


class Reshape(_Move):
    """The elements of a whole base, in row-major order, as those of another whole base of the same size."""

    __slots__ = ()


@dataclass(frozen=True, eq=False, slots=True)
class Statement:
    """What is fixed about an elementwise operation but for the bases: made once for a call, and found again.

    `function` is a NumPy ufunc (or one that behaves so), None for a copy; the views are broadcast to one shape, None
    for a scalar; `loop_dtypes` are the dtypes the function computes with, inputs first; `has_mask` says that the last
    operand is a mask, where the function is to be computed.
    """

    function: AnyFunction | None
    outputs: tuple[View, ...]
    operands: tuple[View | None, ...]
    dtypes: tuple[np.dtype[Any] | None, ...]
    loop_dtypes: tuple[np.dtype[Any], ...]
    output_dtypes: tuple[np.dtype[Any], ...]
    copied: tuple[bool, ...]
    has_mask: bool = False

    @property
    def signature(self) -> tuple[type[np.dtype[Any]], ...]:
        """The classes of the loop's dtypes without the mask's, as a ufunc takes them."""
        n_inputs = len(self.operands) - self.has_mask
        return tuple(type(d) for d in (*self.loop_dtypes[:n_inputs], *self.loop_dtypes[len(self.operands):]))


@dataclass(frozen=True, slots=True)
class Elementwise:
    """`outputs = function(*operands)`; the owner of the output computes."""

    statement: Statement
    outputs: tuple[Base, ...]
    operands: tuple[Base | NDArray[Any], ...]

    @property
    def reads(self) -> tuple[Access, ...]:
        return tuple(Access(base, view) for base, view in zip(self.operands, self.statement.operands, strict=True)
                     if isinstance(base, Base) and view is not None)

    @property
    def writes(self) -> tuple[Access, ...]:
        return tuple(Access(base, view) for base, view in zip(self.outputs, self.statement.outputs, strict=True))


class Reduction(Protocol):
    """How values are reduced: locally, then between processes."""

    def partial(self, local: NDArray[Any], axes: tuple[int, ...], indices: Callable[[int], NDArray[np.int64]],
                operands: Sequence[NDArray[Any]]) -> NDArray[Any]:
        """The partial result of a local part, reduced over `axes` (none of them left).

        `indices(d)` are the global indices of the local part along d; `operands` the local parts of the others.
        """

    def combine(self, lower: NDArray[Any], higher: NDArray[Any]) -> NDArray[Any]:
        """Two flat arrays of partial results, of lower and of higher ranks, joined element by element."""

    def result(self, combined: NDArray[Any]) -> NDArray[Any]:
        """The final values."""


@dataclass(frozen=True, slots=True)
class Reduce:
    """`source` reduced over `axes`: the local part by its owner, then the partial results over the processes.

    The source has a layout of its own; the target's is the same without the reduced dimensions, replicated along
    their axes of the grid. Each of the `operands` lies as one dimension of the source does.
    """

    target: Access
    source: Access
    axes: tuple[int, ...]
    reduction: Reduction
    operands: tuple[Access, ...] = ()

    @property
    def reads(self) -> tuple[Access, ...]:
        return (self.source, *self.operands)

    @property
    def writes(self) -> tuple[Access, ...]:
        return (self.target,)


@dataclass(frozen=True, slots=True)
class Generate:
    """The target's elements as a function of their global indices alone: `fill` writes the local part of the base."""

    target: Access
    fill: Callable[[Base], None]

    @property
    def reads(self) -> tuple[Access, ...]:
        return ()

    @property
    def writes(self) -> tuple[Access, ...]:
        return (self.target,)


@dataclass(frozen=True, slots=True)
class LocalCall:
    """`function` called on the local views of `update`, which it changes, and of `reads`; no communication."""

    function: Callable[..., None]
    update: Access
    reads: tuple[Access, ...]

    @property
    def writes(self) -> tuple[Access, ...]:
        return (self.update,)


Operation = Assign | Elementwise | Generate | LocalCall | Reduce | Reshape
