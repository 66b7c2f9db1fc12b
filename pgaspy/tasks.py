"""Scheduled tasks: calls on local views that the runtime makes when what they read is there.

The arrays' operations before and after a task keep their order with it; everything else overlaps: while a task
computes, messages for later ones travel.
"""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from types import FrameType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pgaspy.alone import small
from pgaspy.array import GlobalArray
from pgaspy.execution import recording
from pgaspy.host.call_sites import frame_of_program
from pgaspy.job.failures import TaskError, is_interrupt
from pgaspy.job.procgrid import world
from pgaspy.scheduling.base import check_local
from pgaspy.scheduling.floating_point import called_under, state
from pgaspy.scheduling.kinds.task import task
from pgaspy.supervision.recorder import announce
from pgaspy.ufuncs import check_target

__all__ = ["TaskError", "call_given", "perform", "read", "schedule", "update", "write"]


@dataclass(frozen=True, eq=False, slots=True)
class Argument:
    """An array that a task works on, and what it does with it."""

    array: GlobalArray
    is_read: bool
    is_written: bool
    shown: Callable[[NDArray[Any]], NDArray[Any]]


def read(A: GlobalArray) -> Argument:
    """Declare that a task reads the local part of an array or view: what `schedule` assumes of an array."""
    array, shown = _checked(A)._in_memory()
    return Argument(array, True, False, shown)


def write(A: GlobalArray) -> Argument:
    """Declare that a task writes every element of the local part of an array or view, without reading it.

    Raises
    ------
    TypeError
        If it is no global array, or a number: `A[i, j, ...]` is an array without dimensions.
    """
    array, shown = _target(A)._in_memory()
    return Argument(array, array is not A, True, shown)  # what else the elements are made of stays


def update(A: GlobalArray) -> Argument:
    """Declare that a task reads the local part of an array or view, and writes to it.

    Raises
    ------
    TypeError
        As `write` does.
    """
    array, shown = _target(A)._in_memory()
    return Argument(array, True, True, shown)


def schedule(function: Callable[..., Any], *arguments: Any, empty: bool = False) -> None:
    """Have `function(*arguments)` called on local views, as soon as what it reads is there. Not collective.

    Parameters
    ----------
    function
        Called once on this process, under the `np.errstate` of this call; not where there is something that it writes,
        and all of that is empty. What it returns is dropped. It may use the local views during the call only, and must
        not use global arrays, or MPI.
        Arguments by keyword come with `functools.partial`.
    arguments
        A global array, or a view of one, becomes the NumPy view of its local part, as `local` gives it: to be read, or
        what `update` and `write` declare. For a replicated array these are writable as well; every process that holds
        a copy then has to write the same, or else `combine` joins the copies. Other arguments are passed as they are.
    empty
        Call it also where all that it writes is empty.

    Raises
    ------
    ValueError
        If the local part of an array is no NumPy view; see `GlobalArray.local`.
    TypeError
        If the function cannot be called.
    TaskError
        Later, where the task is executed (by `sync`, or by what needs a result): if the function raises.

    Notes
    -----
    A local part may be empty, have no rows but columns, or be smaller than those of other processes. What is only read
    may be empty where the function is called, and so may what is written beside something that is not: the maximum of
    such a part is `a.max(initial=...)`. A number that is made of elements lies where the first of these does, and is
    empty elsewhere: `number.redistribute()` is on every process.

    The call that M. R. B. Kristensen, Y. Zheng and B. Vinter (*PGAS for Distributed Numerical Python Targeting
    Multi-core Clusters*, IPDPS 2012) named as future work.

    Examples
    --------
    >>> import pgaspy as pg
    >>> C, A = pg.zeros((4, 4)), pg.ones((4, 4))
    >>> def add_twice(c, a, factor):
    ...     c += factor * a
    >>> pg.schedule(add_twice, pg.update(C), A, 2)
    >>> float(C.sum())
    32.0
    """
    _schedule(function, arguments, empty, sys._getframe(1))


def _schedule(function: Callable[..., Any], arguments: Sequence[Any], empty: bool, frame: FrameType,
              of: Callable[..., Any] | None = None) -> None:
    """See `schedule`, which a frame has called; for a function of the program that this one calls."""
    if not callable(function):
        raise TypeError("schedule takes a function, then its arguments; what comes first is a "
                        f"{type(function).__name__}")
    given = _declared(arguments)
    arrays = [x for x in given if isinstance(x, Argument)]
    written = [x for x in arrays if x.is_written]
    reads = [x for x in arrays if x.is_read]
    positions = [written.index(x) if x.is_written else len(written) + reads.index(x) for x in arrays]
    for x in arrays:
        check_local(x.array._view)
    recipe = task(tuple(x.array._view for x in written), tuple(x.array._view for x in reads), bool(empty))
    frame = frame_of_program(frame)
    call = _Call(function, given, positions, len(written), f"{frame.f_code.co_filename}:{frame.f_lineno}", of)
    recording.record(recipe, tuple([x.array._base.storage for x in (*written, *reads)]), (call,))


def perform(function: Callable[..., Any], *arguments: Any) -> None:
    """The same for a function of the library's own: called at once, where arrays are small, and nothing is recorded.

    One that raises is scheduled, and so may be called twice. Collective: what the function is made with, as by
    `functools.partial`, is the same on all processes; what it is called with may be the process's own.
    """
    if not (small.is_on and _is_called(function, arguments)):
        announce("task", function)
        _schedule(function, arguments, False, sys._getframe(1))


def call_given(of: Callable[..., Any], function: Callable[..., Any], *arguments: Any) -> None:
    """The same for one that calls a function of the program: it is called before this returns, as the program may
    change what that refers to. One process raises what it does; of several, the next call that asks for it.
    """
    given = _declared(arguments)
    if world().size > 1:
        _schedule(function, arguments, False, sys._getframe(1), of)
        for x in given:
            if isinstance(x, Argument) and x.is_written and not recording.is_planning():
                recording.complete(x.array._base)
        return
    if all(x.array.size == 0 for x in given if isinstance(x, Argument) and x.is_written):
        return
    shown = [_local(x) if isinstance(x, Argument) else x for x in given]
    with recording.closed():
        function(*shown)


def _declared(arguments: Sequence[Any]) -> list[Any]:
    """Arguments of a task, of which arrays are read where nothing else is declared."""
    return [read(x) if isinstance(x, GlobalArray) else x for x in arguments]


def _local(argument: Argument) -> NDArray[Any]:
    """The local part of an array, as a task is shown it."""
    view = argument.array.local().view()
    view.flags.writeable = argument.is_written
    return argument.shown(view)


def _is_called(function: Callable[..., Any], arguments: Sequence[Any]) -> bool:
    """Call a function on the elements of small arrays; whether it was called, or need not be."""
    if not recording.is_clear():
        return False
    given = _declared(arguments)
    found = [_elements(x) if isinstance(x, Argument) else x for x in given]
    if any(x is None and isinstance(of, Argument) for x, of in zip(found, given, strict=True)):
        return False
    written = [x for x, of in zip(found, given, strict=True) if isinstance(of, Argument) and of.is_written]
    if written and not any(x.size for x in written):
        return True
    try:
        function(*found)
    except Exception as error:
        if is_interrupt(error):
            raise
        return False
    recording.queue.n_at_once += 1
    return True


def _elements(argument: Argument) -> Any:
    """The elements of a small array, as a task is shown them; None where it is not small."""
    elements = small.operand(argument.array)
    if argument.is_written:
        return None if elements is None or not small.is_writable(argument.array) else argument.shown(elements)
    found = small.seen(argument.array) if elements is None else np.asarray(elements).view()
    if found is None:
        return None
    found.flags.writeable = False
    return argument.shown(found)


def _checked(A: Any) -> GlobalArray:
    if not isinstance(A, GlobalArray):
        raise TypeError(f"read, write and update declare what a task does with a global array, not with a "
                        f"{type(A).__name__}")
    return A


def _target(A: Any) -> GlobalArray:
    check_target(_checked(A), is_assigned=True)
    return A


class _Call:
    """A task with its arguments, where arrays are placeholders for their local views."""

    __slots__ = ("_arguments", "_function", "_n_written", "_of", "_positions", "_state", "_where")

    may_be_repeated = False

    def __init__(self, function: Callable[..., Any], arguments: Sequence[Any], positions: Sequence[int], n_written: int,
                 where: str, of: Callable[..., Any] | None = None) -> None:
        self._function, self._n_written, self._where, self._state, self._of = function, n_written, where, state(), of
        self._arguments = [None if isinstance(x, Argument) else x for x in arguments]
        arrays = [k for k, x in enumerate(arguments) if isinstance(x, Argument)]
        self._positions = [(k, position, arguments[k].shown) for k, position in zip(arrays, positions, strict=True)]

    @property
    def name(self) -> str:
        """The function's, or that of the program's that it calls."""
        own = self._function if self._of is None else self._of
        function = getattr(own, "func", own)  # of a functools.partial
        return getattr(function, "__qualname__", type(function).__name__)

    def bound(self, views: Sequence[NDArray[Any]]) -> tuple[Callable[..., Any], list[Any]]:
        """The function, and what it is called with: the local views, those that it writes first, among the others."""
        arguments = list(self._arguments)
        for k, position, shown in self._positions:
            view = views[position]
            if position >= self._n_written:
                view.flags.writeable = False
            arguments[k] = shown(view)
        if state() is self._state:
            return self._function, arguments
        return functools.partial(called_under, self._state, self._function), arguments

    def failed(self, error: BaseException) -> TaskError:
        """What is raised for an exception of the function."""
        what = f"the task {self.name}, scheduled" if self._of is None else f"the function {self.name}, given"
        found = TaskError(f"{what} at {self._where}, raised {type(error).__name__}: {error}")
        found.__cause__ = error
        return found

