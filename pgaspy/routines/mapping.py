"""Functions of NumPy arrays, element by element, called on the part of each process."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

import pgaspy as pg
from pgaspy.array import made
from pgaspy.global_assign import lying_in
from pgaspy.job.defaults import default_for
from pgaspy.job.procgrid import world
from pgaspy.layout import Layout, replicated
from pgaspy.planning.result_layout import result_layout
from pgaspy.planning.view import joint_shape
from pgaspy.tasks import perform

__all__ = ["mapped", "on_every_process", "on_parts"]


def mapped(function: Callable[..., Any], dtypes: Sequence[np.dtype[Any]], arrays: Sequence[pg.GlobalArray],
           tables: Sequence[pg.GlobalArray] = ()) -> list[pg.GlobalArray]:
    """What a function gives for elements of arrays. Collective.

    Parameters
    ----------
    function
        Of a part of each array, all of one shape, and of whole tables; its result, or several in a tuple, has the
        shape of the parts, and is cast to the dtypes.
    dtypes
        Of the results.
    arrays
        Those that are broadcast and aligned; the results lie as those of operations on them do.
    tables
        Those that the function takes as a whole, on every process.

    Raises
    ------
    ValueError
        If the shapes do not broadcast.
    Exception
        That of the function, for dtypes that it does not take.
    """
    function(*[np.zeros(1, x.dtype) for x in (*arrays, *tables)])  # raises for dtypes, on all processes
    return on_parts(function, dtypes, arrays, tables)


def on_parts(function: Callable[..., Any], dtypes: Sequence[np.dtype[Any]], arrays: Sequence[pg.GlobalArray],
             tables: Sequence[pg.GlobalArray] = (), start: Callable[..., None] = perform) -> list[pg.GlobalArray]:
    """As `mapped`, of a function that is called for no zeros before; by `call_given`, if it calls one of the program's.
    Collective.
    """
    shape = joint_shape(*(x.shape for x in arrays))
    stretched = [pg.broadcast_to(x, shape) for x in arrays]
    layout = result_layout(shape, [x._view for x in stretched], default_for)
    results = [pg.empty(shape, dtype, layout=layout) for dtype in dtypes]
    start(functools.partial(_fill, function, len(results)), *map(pg.write, results),
          *(_lying_in(x, layout) for x in stretched), *map(on_every_process, tables))
    return [made(x._base, x._view) for x in results]


def _fill(function: Callable[..., Any], n_results: int, *arrays: NDArray[Any]) -> None:
    found = function(*arrays[n_results:])
    for result, one in zip(arrays[:n_results], found if n_results > 1 else (found,), strict=True):
        result[...] = one


def on_every_process(x: pg.GlobalArray) -> pg.GlobalArray:
    """The array as every process has all of it."""
    return _lying_in(x, replicated(x.shape, world().size))


def _lying_in(x: pg.GlobalArray, layout: Layout) -> pg.GlobalArray:
    return pg.GlobalArray(*lying_in(x._base, x._view, layout))
