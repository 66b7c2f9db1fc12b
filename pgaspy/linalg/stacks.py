"""Stacks of matrices: each matrix whole on one process, for which NumPy's functions work.

The dimensions before the last two are dealt out; so are those of the results. What a function gives, its shapes, dtypes
and errors in arguments, it tells itself: of a stack without matrices.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.linalg import LinAlgError
from numpy.typing import NDArray

import pgaspy as pg
from pgaspy.alone import small
from pgaspy.alone.likeness import likeness, view_like
from pgaspy.array import made, of_elements
from pgaspy.creation import as_operand
from pgaspy.fft.pencils import pencils
from pgaspy.global_assign import laid_out
from pgaspy.job.procgrid import world
from pgaspy.layout import Layout, going_with, replicated
from pgaspy.planning.result_layout import SHARE, inherited
from pgaspy.planning.view import View, joint_shape, whole
from pgaspy.scheduling.floating_point import silently
from pgaspy.small_calls import returned
from pgaspy.tasks import perform
from pgaspy.values import value

__all__ = ["LONGEST_MESSAGE", "compute", "is_stack", "over_stacks"]

LONGEST_MESSAGE = 200
"""Of an error, in bytes."""


def is_stack(*operands: Any) -> bool:
    """Whether one of them has more dimensions than a matrix."""
    return any((x.ndim if isinstance(x, pg.GlobalArray) else np.ndim(x)) > 2 for x in operands)


def over_stacks(function: Callable[..., Any], *operands: Any, n_core: tuple[int, ...] = (),
                may_fail: bool = True) -> Any:
    """What a function of `numpy.linalg` gives for stacks, computed by each process for the matrices that it has.

    Collective.

    Parameters
    ----------
    function
        Of NumPy arrays; its result, or several in a tuple.
    operands
        Stacks, whose first dimensions broadcast; at least one has more dimensions than its matrices.
    n_core
        How many dimensions of each operand are no stack; by default the last two, of vectors their one.
    may_fail
        Whether it raises LinAlgError for some matrices, so that all processes wait to know.

    Returns
    -------
    Arrays that lie over the stack's dimensions: as the largest operand does, if its matrices are whole there.

    Raises
    ------
    numpy.linalg.LinAlgError
        What the function raises on any process, on all of them.
    Exception
        What it raises for shapes, dtypes and other arguments.
    ValueError
        If the stacks do not broadcast.
    """
    arrays = [as_operand(x) for x in operands]
    n_core = n_core or tuple([min(x.ndim, 2) for x in arrays])
    stacks = [x.shape[:x.ndim - n] for x, n in zip(arrays, n_core, strict=True)]
    stack = joint_shape(*stacks)
    if small.is_on and (few := _of_few(function, arrays, stack, stacks)) is not None:
        return few
    of_none = silently(function, *[np.zeros((0,) * bool(s) + x.shape[len(s):], x.dtype)
                                   for x, s in zip(arrays, stacks, strict=True)])
    found = of_none if isinstance(of_none, tuple) else (of_none,)
    largest = _largest(stack, arrays, stacks)
    layout = _layout_of_stack(stack, None if largest is None else largest._view)
    results = [pg.empty(stack + x.shape[1:], x.dtype, layout=going_with(layout, stack, x.shape[1:])) for x in found]
    there = [pg.GlobalArray(*laid_out(x._base, x._view, going_with(layout, s, x.shape[len(s):])))
             for x, s in zip(arrays, stacks, strict=True)]
    compute(function, there, results, may_fail)
    results = [made(x._base, x._view) for x in results]
    return returned(results, of_none)


def _of_few(function: Callable[..., Any], arrays: Sequence[pg.GlobalArray], stack: tuple[int, ...],
            stacks: Sequence[tuple[int, ...]]) -> Any:
    """The results of small stacks on one process, at once; None if the function is not called here, or refuses them."""
    elements = [small.ready(x) for x in arrays]
    if any(x is None for x in elements) or not all(stack):
        return None
    found = small.called(function, *elements)
    results = found if isinstance(found, tuple) else (found,)
    if found is None or not small.takes((sum([x.size for x in results]),)):
        return None
    largest = _largest(stack, arrays, stacks)
    parent = whole(replicated((), 1)) if largest is None else view_like(largest)
    return returned([of_elements(np.ascontiguousarray(x), (
        likeness(_like_stack, parent, (stack, x.shape[len(stack):])), None, True)) for x in results], found)


def _like_stack(view: View, shape: tuple[tuple[int, ...], tuple[int, ...]]) -> View:
    """What a result is like that has for each matrix of a stack something of a shape."""
    stack, core = shape
    return whole(going_with(_layout_of_stack(stack, view if view.ndim else None), stack, core))


def _largest(stack: tuple[int, ...], arrays: Sequence[pg.GlobalArray],
             stacks: Sequence[tuple[int, ...]]) -> pg.GlobalArray | None:
    """The largest operand that is not stretched, if there is one."""
    return max((x for x, s in zip(arrays, stacks, strict=True) if s == stack), key=lambda x: x.size, default=None)


def _layout_of_stack(stack: tuple[int, ...], largest: View | None) -> Layout:
    """That of the largest operand, if its matrices are whole and dealt out evenly enough; else dealt out afresh."""
    longest_first = sorted(range(len(stack)), key=lambda d: -stack[d])
    dealt = [d for d in longest_first if stack[d] > 1] or longest_first[:1]
    fresh = pencils(stack, tuple(dealt), world().size)
    if largest is not None:
        n, own = len(stack), largest.own_layout
        if own is not None and own.is_distributed and not own.replica_axes and not own.is_pinned and (
                all(dim.n_procs == 1 for dim in own.dims[n:])):
            there = Layout(own.grid, [inherited(dim, dim.extent) for dim in own.dims[:n]])
            if SHARE * there.max_local_size <= (SHARE + 1) * fresh.max_local_size:
                return there
    return fresh


def compute(function: Callable[..., Any], operands: Sequence[pg.GlobalArray], results: Sequence[pg.GlobalArray],
            may_fail: bool, where: Layout | None = None) -> None:
    """Have processes call a function of their parts of operands, which gives those of the results. Collective.

    Parameters
    ----------
    function
        Of NumPy arrays; its result, or several in a tuple.
    operands, results
        Arrays that it reads, and writes.
    may_fail
        Whether it raises LinAlgError, so that all processes wait to know.
    where
        In which layout lies what it says then, if whoever has a part of that has the same; by default each process says
        something, and the first one counts.

    Raises
    ------
    numpy.linalg.LinAlgError
        What the function raises on any process, on all of them.
    """
    failure = pg.empty(LONGEST_MESSAGE, np.uint8, layout=where or replicated((LONGEST_MESSAGE,), world().size))
    perform(functools.partial(_compute, function, len(operands)), pg.write(failure), *operands,
            *map(pg.write, results))
    if may_fail:
        if where is None:
            pg.combine(_first_that_says, failure)
        message = value(failure, np.zeros(LONGEST_MESSAGE, np.uint8)).tobytes().rstrip(b"\0")
        if message:
            raise LinAlgError(message.decode())


def _compute(function: Callable[..., Any], n_operands: int, failure: NDArray[np.uint8], *parts: NDArray[Any]) -> None:
    """The results of the matrices that are here; what is said of one for which there are none."""
    failure[...] = 0
    try:
        found = silently(function, *parts[:n_operands])
    except LinAlgError as error:
        said = str(error).encode()[:len(failure)]
        failure[:len(said)] = np.frombuffer(said, np.uint8)
        return
    results = parts[n_operands:]
    for result, one in zip(results, found if isinstance(found, tuple) else (found,), strict=True):
        result[...] = one


def _first_that_says(lower: NDArray[np.uint8], higher: NDArray[np.uint8]) -> NDArray[np.uint8]:
    return lower if lower[0] else higher
