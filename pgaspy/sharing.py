"""Sharing: elements and sections of an array that are taken from it when it is written to, and not before."""

from __future__ import annotations

import functools
import weakref
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pgaspy.caches import cached
from pgaspy.dims import whole_dim
from pgaspy.execution.recording import (
    complete,
    is_alone,
    is_complete,
    is_executing,
    keep_borrowed,
    may_compute,
    needed,
    record,
)
from pgaspy.job.procgrid import world
from pgaspy.layout import Layout
from pgaspy.planning.local_parts import place
from pgaspy.planning.view import View, whole
from pgaspy.scheduling.at_once import elements
from pgaspy.scheduling.base import (
    Base,
    FormerBase,
    FormerStorage,
    SharedStorage,
    Storage,
    borrow,
    check_local,
    lent,
    wrap,
)
from pgaspy.scheduling.kinds.task import task
from pgaspy.scheduling.operations import BaseView

__all__ = ["borrow_element", "keep_element", "shared", "snapshot"]


class SharedBase(Base):
    """The base of an array that is a section of another one, whose storage it has until either of them is written to.

    Its own storage has the same layout, and only that section of it is used. Where this process alone writes to one
    of the arrays, the others go on to take the section from the other array: its storage has that one's number here.
    """

    __slots__ = ("_lender", "section")

    section: View

    def __init__(self, lender: Base, section: View) -> None:
        self.layout, self.dtype, self.original = section.layout, lender.dtype, None
        self._lender: Base | None = lender
        self.section = section
        self.storage = SharedStorage(lender.storage, self)

    @property
    def lender(self) -> Base:
        """The array that this one is a section of; itself, when it has elements of its own on all processes."""
        return self._lender or self

    def borrowed(self) -> BaseView:
        """What the array has, and where."""
        return BaseView(self, self.section)

    def keep_name(self) -> Storage:
        """See `Base`."""
        if self._lender is not None:
            self._lender.keep_name()
        return super().keep_name().lender

    def detach(self) -> None:
        """Have the elements in memory of its own, before all processes write to either array. Not collective."""
        if isinstance(self.storage, FormerStorage):
            complete(self)  # what is recorded has the number that it has now
            self.storage.settle()
        elif self.storage.is_borrowed:
            self._move_to(Base(self.layout, self.dtype), self)
        self._lender = None

    def keep(self, kept: Base | None, source: Base | None = None) -> Base | None:
        """Have them as they are now, before this process alone writes to either; in an array that is kept for it."""
        self._move_to(FormerBase(self), source or self)
        return kept

    def _move_to(self, target: Base, source: Base) -> None:
        _take(BaseView(target, self.section), BaseView(source, self.section))
        shared, own = self.storage, target.storage
        own.name = weakref.ref(self)
        if isinstance(shared, SharedStorage):
            shared.lender = own
        self.storage = own


def shared(base: Base, view: View, target: Layout) -> BaseView | None:
    """A new array with the elements of a view, in a given layout, in the same storage until that is written to.

    None where a process has not all elements that the layout gives it, or not as a NumPy view.
    """
    section = _relabelled(view, target)
    if section is None:
        return None
    found = SharedBase(base.lender, section)
    borrow(found, found.lender.storage, section)
    _keep_what_changes(found, base)
    return BaseView(found, section)


def borrow_element(element: Any, source: Base) -> None:
    """Have an element of an array's lender until that is written to."""
    borrow(element, element._base.storage, element._view)
    if lent or source.storage.is_borrowed:
        _keep_what_changes(element, source)


def _keep_what_changes(borrower: Any, source: Base) -> None:
    """Have what was borrowed as it is now, where it may change at any time, or is not what the lender has."""
    base, view = borrower.borrowed()
    if source.storage.is_borrowed and source.storage.lender is source.storage:
        borrower.keep(None, source)
    elif base.storage.lender.is_lent:  # who has the view may write to it
        keep_borrowed(base.storage.lender, view)


@cached
def _relabelled(view: View, target: Layout) -> View | None:
    """A view as one whose own layout is the target, of a base that lies the same way; None where there is none.

    Along an axis of the grid with one process, it is no matter whether a dimension is dealt out over it.
    """
    layout = view.layout
    if view.stretched_dims or layout.grid != target.grid:
        return None
    is_free = [n == 1 and target.dim_from_axis[axis] is None for axis, n in enumerate(layout.grid)]
    dims = [whole_dim(dim.extent) if dim.axis is not None and is_free[dim.axis] else dim for dim in layout.dims]
    pins = [wanted if n == 1 else pin for n, pin, wanted in zip(layout.grid, layout.pins, target.pins, strict=True)]
    section = View(Layout(layout.grid, dims, pins), view.shape, view.base_dims, view.steps, view.origin)
    own = section.own_layout
    if own is None or own.pins != target.pins or not all(
            a == b or (a.n_procs == b.n_procs == 1 and a.axis == b.axis)
            for a, b in zip(own.dims, target.dims, strict=True)):
        return None
    try:
        check_local(section)
    except ValueError:
        return None
    return section


# Copies --------------------------------------------------------------------------------------------------------------


def snapshot(base: Base, view: View) -> BaseView:
    """A new array with the one element of a view, where that lies. Not collective: it is a task of the owners, or is
    done at once, where nothing else has to be done before.
    """
    layout = view.own_layout
    assert layout is not None
    is_free = may_compute((snapshot, id(view)), 1, [base]) if is_alone() else (
        type(base.storage) is Storage and is_executing() and is_complete(base))
    if is_free:
        return BaseView(wrap(layout, needed(functools.partial(_element_of, base.storage, view))), whole(layout))
    target = BaseView(Base(layout, base.dtype), whole(layout))
    _take(target, BaseView(base, view))
    return target


def _element_of(storage: Storage, view: View) -> NDArray[Any]:
    """A copy of the one element of a view, if this process has it."""
    found, rank = np.empty((), storage.dtype), world().rank
    if place(view, rank) is not None:
        found[...] = elements(view, storage, rank)
    return found


def keep_element(kept: Base, base: Base, view: View) -> None:
    """Have the one element of a view in its place in a base of the same layout. Not collective, as `snapshot`."""
    _take(BaseView(kept, view), BaseView(base, view))


def _take(target: BaseView, source: BaseView) -> None:
    """Copy what each process has of one view to what it has of the other."""
    own, lender = target.base.storage, source.base.storage.lender
    if lender.poison is not None:
        own.poison = lender.poison
    else:
        record(task((target.view,), (source.view,)), (own, lender), (_Take(),))


class _Take:
    """What copies elements, as a task."""

    name = "element"
    may_be_repeated = True

    def bound(self, views: Sequence[NDArray[Any]]) -> tuple[Callable[..., Any], Sequence[Any]]:
        """What is called, and with what."""
        return np.copyto, views

    def failed(self, error: BaseException) -> BaseException:
        """What is raised for an exception."""
        return error
