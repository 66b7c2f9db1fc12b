"""Views: slice arithmetic that keeps every view one level above its base.

A `View` is an affine map from its own index space into that of the base: along view dimension d, the index i stands
for base index `origin[p] + steps[d] * i` of the base dimension `p = base_dims[d]`. A view dimension with no base
dimension (newaxis, broadcasting) repeats one element; a base dimension that no view dimension names is fixed at its
origin (an integer index). Views are frozen, pure, and cached on the view that they were derived from.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Sequence
from operator import mul
from typing import Any, NamedTuple, NoReturn

import numpy as np

from pgaspy.blockmath import meet
from pgaspy.caches import acyclic, cached, kept_types, lazy
from pgaspy.dims import Dim, whole_dim
from pgaspy.layout import Layout, layout_of_number
from pgaspy.planning.affine import Affine, joint_shape, own_dims

__all__ = ["ArrayInKey", "Section", "View", "in_memory_order", "joint_shape", "whole"]


class ArrayInKey(Exception):
    """An index has an array, or a boolean: what it names is no view."""


class Section(NamedTuple):
    """One dimension of a view on one dimension of a base: index i stands for `start + step*i`, i < extent."""

    dim: Dim
    start: int
    step: int
    extent: int

    def part(self, start: int, stop: int) -> Section:
        """What is made of these indices."""
        return Section(self.dim, self.start + self.step * start, self.step, stop - start)


@acyclic
class View(Affine):
    """An affine view of a base with the given layout; see the module's docstring for the fields."""

    __slots__ = ("__dict__",)

    def __repr__(self) -> str:
        return f"View(shape={self.shape}, origin={self.origin}, steps={self.steps}, of {self.layout})"

    @property
    def ndim(self) -> int:
        """The number of dimensions."""
        return len(self.shape)

    @lazy
    def size(self) -> int:
        """The number of elements."""
        return math.prod(self.shape)

    @lazy
    def is_whole(self) -> bool:
        """Whether this is the base itself, dimension by dimension."""
        return self == whole(self.layout)

    @lazy
    def sections(self) -> tuple[Section, ...]:
        """Per view dimension, its section of a base dimension (of an undistributed one where it has none)."""
        return tuple(
            Section(whole_dim(n), 0, 1, n) if p is None else Section(self.layout.dims[p], self.origin[p], step, n)
            for n, p, step in zip(self.shape, self.base_dims, self.steps, strict=True))

    @lazy
    def in_whole(self) -> tuple[int, tuple[int, ...]]:
        """Offset and strides, in elements, in an array of which one process has all."""
        rows = self.layout.row_strides
        return sum(map(mul, self.origin, rows)), tuple([
            0 if p is None else step * rows[p] for p, step in zip(self.base_dims, self.steps, strict=True)])

    @lazy
    def fixed_dims(self) -> tuple[int, ...]:
        """The base dimensions that are fixed at one index."""
        base_dims = self.base_dims
        return tuple([p for p in range(len(self.origin)) if p not in base_dims])

    @lazy
    def own_layout(self) -> Layout | None:
        """The layout with exactly this view's owners, where there is one.

        There is none for a stretched dimension, nor for a reversed one, nor for a step that does not divide the
        block size of a cyclic dimension.
        """
        if self.origin and not self.shape:
            return layout_of_number(self.layout.grid, self.fixed_coords)
        if self.is_whole:
            return self.layout
        dims = own_dims(self)
        return None if dims is None else self.layout.of_part(dims, self.fixed_coords)

    @lazy
    def has_own_layout(self) -> bool:
        """Whether there is one."""
        dims = self.layout.dims
        for p, step, extent in zip(self.base_dims, self.steps, self.shape, strict=True):
            if extent > 1 and (p is None or not dims[p].has_window(step, extent)):
                return False
        return True

    def holds(self, coords: Sequence[int]) -> bool:
        """Whether the process at these coordinates can own elements of this view."""
        for fixed, coord in zip(self.fixed_coords, coords, strict=True):
            if fixed is not None and fixed != coord:
                return False
        return True

    @lazy
    def hull(self) -> tuple[tuple[int, int], ...]:
        """The interval [start, stop) of the indices that are used of each base dimension."""
        found = [(index, index + 1) for index in self.origin]
        for p, step, n in zip(self.base_dims, self.steps, self.shape, strict=True):
            if p is not None:
                first = self.origin[p]
                last = first + step * (n - 1)
                found[p] = (first, last + 1) if step > 0 else (last, first + 1)
        return tuple(found)

    def shares(self, other: View) -> bool:
        """Whether two views of one base share an element."""
        if self.size == 0 or other.size == 0:
            return False
        for a, b in zip(self._base_indices, other._base_indices, strict=True):
            if a.stop <= b.start or b.stop <= a.start or not (a.step == b.step == 1 or meet(a, b)):
                return False
        return True

    @lazy
    def _base_indices(self) -> tuple[range, ...]:
        """The indices used of each base dimension, in ascending order."""
        every = [1] * len(self.origin)
        for p, step in zip(self.base_dims, self.steps, strict=True):
            if p is not None:
                every[p] = abs(step)
        return tuple([range(start, stop, step) for (start, stop), step in zip(self.hull, every, strict=True)])

    # Derived views ---------------------------------------------------------------------------------------------------

    @staticmethod
    def _refuse(error: IndexError) -> NoReturn:
        """Raise what C says of an index."""
        try:
            raise error
        finally:
            del error  # which its traceback would lead to, and to whatever the callers have

    @staticmethod
    def _as_index(k: Any) -> int:
        """An index that is no int, slice, None or Ellipsis, as an int."""
        if isinstance(k, bool | np.bool_ | np.ndarray | list | tuple | range) or getattr(k, "shape", ()) != () or (
                not getattr(k, "_is_number", True) or getattr(k, "dtype", None) == _BOOL):
            raise ArrayInKey
        try:
            return operator.index(k)
        except TypeError:
            if not isinstance(k, np.generic) and _is_buffer(k):
                raise ArrayInKey from None
            raise IndexError("only integers, slices (`:`), ellipsis (`...`), numpy.newaxis (`None`) and integer or "
                             f"boolean arrays are valid indices, not {k!r}") from None

    @lazy
    def read_only(self) -> View:
        """This view, through which nothing is written."""
        found = View(self.layout, self.shape, self.base_dims, self.steps, self.origin)
        found.is_read_only = True
        return found

    @lazy
    def turning_key(self) -> tuple[slice, ...]:
        """The index that turns the reversed dimensions round, and leaves the others as they are."""
        return tuple(slice(None, None, -1 if step < 0 else 1) for step in self.steps)

    @lazy
    def turned(self) -> View:
        """This view with its reversed dimensions turned round."""
        return self.index(self.turning_key)


kept_types[View] = True


def in_memory_order(view: View, others: Sequence[View | None]) -> tuple[View, Sequence[View | None]]:
    """A view and others of its shape, with the dimensions in the order of the base of the first."""
    order = view.memory_order
    if order is None:
        return view, others
    return view.transpose(order), tuple([None if other is None else other.transpose(order) for other in others])


_BOOL = np.dtype(bool)


def _is_buffer(x: Any) -> bool:
    """Whether it has elements in memory, as Python's arrays have."""
    try:
        memoryview(x).release()
    except TypeError:
        return False
    return True


@cached
def whole(layout: Layout) -> View:
    """The view that is the base itself."""
    n = layout.ndim
    return View(layout, layout.shape, tuple(range(n)), (1,) * n, (0,) * n)
