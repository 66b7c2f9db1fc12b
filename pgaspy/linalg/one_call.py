"""Matrices that are worth no block algorithm: each is factored as a whole, by one call of LAPACK.

A small one is brought to all processes, which compute the same of it, so that no results travel. Of a larger one these
come from the process that it is brought to. All is decided by shapes, layouts and the number of processes.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, TypeVar

import numpy as np
from numpy.linalg import LinAlgError
from numpy.typing import NDArray

import pgaspy as pg
from pgaspy.alone import small
from pgaspy.alone.likeness import view_like
from pgaspy.array import of_elements
from pgaspy.caches import cached
from pgaspy.distribution import Distribution
from pgaspy.execution import recording
from pgaspy.execution.recording import finish, is_executing
from pgaspy.global_assign import laid_out
from pgaspy.job.defaults import default_for
from pgaspy.layout import Layout, one_process, replicated
from pgaspy.linalg.layouts import is_tall, layout_as, moved
from pgaspy.linalg.stacks import LONGEST_MESSAGE, compute
from pgaspy.planning.view import View, whole
from pgaspy.scheduling.base import local_view, wrap
from pgaspy.scheduling.floating_point import silently
from pgaspy.small_calls import by_numpy

__all__ = ["HOUSEHOLDER", "JACOBI", "Result", "by_one_call", "check_finite", "like", "like_operand", "like_values",
           "of_small_by", "on_all", "takes_one_call", "whole_on_all"]

SMALL = 1 << 14
"""Elements of a matrix that comes to all processes: their message takes little more than an empty one."""

WORTH = 1 << 19
"""Elements from which on block algorithms win by processes: with fewer, their steps take longer than what is computed.
"""

LARGEST = 1 << 24
"""Elements that one process of several takes, whatever the others win."""

HOUSEHOLDER, ELIMINATION, JACOBI = 1 / 4, 1, 16
"""So many processes take as long for a block algorithm of a large matrix as one that calls NumPy's function: `qr` is
slow by itself there, and Jacobi's method takes many sweeps."""


class Result(NamedTuple):
    """What is wanted of a result: in the default layout where none is said."""

    shape: tuple[int, ...]
    dtype: np.dtype[Any]
    layout: Layout | None


def like(a: pg.GlobalArray, shape: tuple[int, ...], dtype: np.dtype[Any]) -> Result:
    """A result in the layout of an operand."""
    return Result(shape, dtype, layout_as(a, shape))


def on_all(shape: tuple[int, ...], dtype: np.dtype[Any]) -> Result:
    """A result that every process has."""
    return Result(shape, dtype, whole_on_all(shape, pg.SIZE))


@cached
def whole_on_all(shape: tuple[int, ...], n_procs: int) -> Layout:
    """That of a result which every process has."""
    return Distribution(*"*" * len(shape)).bind(shape, n_procs)


def takes_one_call(shape: tuple[int, ...], as_one: float = ELIMINATION) -> bool:
    """Whether one call of LAPACK takes no longer for a matrix than the block algorithm.

    Parameters
    ----------
    shape
        That of the matrix, with what comes beside it, as columns.
    as_one
        How many processes take as long for the block algorithm, of a large matrix, as one that calls LAPACK.
    """
    size, p = math.prod(shape), pg.SIZE
    if size <= SMALL:
        return size > 0
    if is_tall(shape) or is_tall(shape[::-1]) or (p > 1 and size > LARGEST):
        return False
    return size * (p - as_one) <= WORTH * p


F = TypeVar("F", bound=Callable[..., Any])


def like_operand(x: Any, *_: Any, **__: Any) -> Any:
    """What a result is like that is dealt out as an operand is."""
    return view_like(x) if x.__class__ in small.kinds else None


def like_values(a: Any, *_: Any, **__: Any) -> View:
    """What the eigenvalues of a matrix are like, which every process has."""
    return whole(whole_on_all(a.shape[:1], 1))


def of_small_by(function: Callable[..., Any], like: Callable[..., Any] = like_operand) -> Callable[[F], F]:
    """Have a function of one matrix, and others, be that of NumPy's arrays where they are small; see `by_numpy`."""
    def register(general: F) -> F:
        of_small = by_numpy(function, like=like, max_elements=SMALL)(general)

        @functools.wraps(general)
        def call(a: Any, *others: Any, **options: Any) -> Any:
            is_stack = getattr(a, "ndim", 0) > 2 or (others and getattr(others[0], "ndim", 0) > 2)
            return (general if is_stack else of_small)(a, *others, **options)

        return call  # type: ignore[return-value]
    return register


def by_one_call(function: Callable[..., Any], operands: Sequence[pg.GlobalArray], results: Sequence[Result],
                may_fail: bool = True) -> list[pg.GlobalArray]:
    """The results of a function of whole NumPy arrays, which it does not write to. Collective.

    Parameters
    ----------
    function
        Gives an array, or several in a tuple.
    may_fail
        Whether it raises LinAlgError for some matrices, so that all processes wait to know.

    Raises
    ------
    numpy.linalg.LinAlgError
        What the function raises, on all processes.
    """
    if small.is_on and (few := _of_few(function, operands, results)) is not None:
        return few
    operands = [x._plain() for x in operands]
    is_small = max(x.size for x in operands) <= SMALL
    if (is_small or pg.SIZE == 1) and is_executing():
        return _each(_kept, silently(function, *map(_elements, operands)), results)
    place = functools.partial(_place, None if is_small else _owner(operands[0]))
    there = [pg.GlobalArray(*laid_out(x._base, x._view, place(x.shape))) for x in operands]
    made = [pg.empty(wanted.shape, wanted.dtype, layout=place(wanted.shape)) for wanted in results]
    compute(function, there, made, may_fail, place((LONGEST_MESSAGE,)))
    return [moved(x, wanted.layout, x.dtype) for x, wanted in zip(made, results, strict=True)]


def _of_few(function: Callable[..., Any], operands: Sequence[pg.GlobalArray],
            results: Sequence[Result]) -> list[pg.GlobalArray] | None:
    """The results of small matrices on one process, as elements that have no base yet; None if that is in the way."""
    elements = [small.ready(x) for x in operands]
    if any(x is None for x in elements) or not all(small.takes(wanted.shape) for wanted in results):
        return None
    found = silently(function, *elements)
    recording.queue.n_at_once += 1
    return _each(_without_base, found, results)


def _each(made: Callable[[Any, Result], pg.GlobalArray], found: Any, results: Sequence[Result]) -> list[pg.GlobalArray]:
    """The arrays that are made of what a function has given."""
    return [made(x, wanted) for x, wanted in zip(found if isinstance(found, tuple) else (found,), results, strict=True)]


def _without_base(found: Any, wanted: Result) -> pg.GlobalArray:
    """An array of the only process, of what is in no other array."""
    if not wanted.shape:
        return of_elements(wanted.dtype.type(found), small.OF_NUMBER)
    elements = np.asarray(found, wanted.dtype, order="C")
    return of_elements(elements, (whole(wanted.layout or default_for(wanted.shape)), None, True))


def _elements(x: pg.GlobalArray) -> NDArray[Any]:
    """All elements of an array: those in its memory, where they are all there."""
    if not x._view.layout.is_replicated:
        return x.gather()
    finish(x._base)
    found = local_view(x._base.storage, x._view)
    found.flags.writeable = False
    return found


def _kept(found: Any, wanted: Result) -> pg.GlobalArray:
    """An array of what every process has."""
    if wanted.layout is None or not wanted.layout.is_replicated:
        return pg.array(found, wanted.dtype, layout=wanted.layout)
    return pg.GlobalArray(wrap(wanted.layout, np.require(found, wanted.dtype, ["C", "W", "O"])), whole(wanted.layout))


def _owner(a: pg.GlobalArray) -> int:
    """The process that has all of a matrix; the first, where none has."""
    layout = a._view.layout
    return layout.rank_from_coords([pin or 0 for pin in layout.pins]) if layout.is_on_one_process else 0


def _place(rank: int | None, shape: tuple[int, ...]) -> Layout:
    """On one process, or on all."""
    return replicated(shape, pg.SIZE) if rank is None else one_process(shape, pg.SIZE, rank)


def check_finite(a: NDArray[Any]) -> None:
    """LinAlgError for a matrix of which no singular values, or eigenvalues, can be found."""
    if not np.isfinite(a).all():
        raise LinAlgError("the matrix has elements that are infinite or not a number: the values did not converge")
