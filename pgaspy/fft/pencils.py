"""Transforms of dimensions that processes hold whole, and the layouts in which they do.

Of the dimensions that are to be transformed those that are whole come first; then others are made whole, as many at
once as leave work for all processes, by one assignment between layouts: slabs, or pencils where there are more
processes than planes (L. Dalcin, M. Mortensen and D. E. Keyes, *Fast parallel multidimensional FFT using advanced MPI*,
Journal of Parallel and Distributed Computing, 2019, where a move is one between two distributed arrays, too).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pgaspy.array import GlobalArray
from pgaspy.blockmath import near_square_grid
from pgaspy.caches import cached
from pgaspy.creation import empty
from pgaspy.job.procgrid import world
from pgaspy.kernels.bindings import get_threads
from pgaspy.layout import BlockDim, Dim, Layout, whole_dim
from pgaspy.tasks import schedule, update, write

__all__ = ["copied_in_place", "in_pencils", "in_place_pass", "ready", "real_pass", "transformed", "whole_dims",
           "with_extent"]


def whole_dims(a: GlobalArray) -> set[int]:
    """The dimensions that processes hold whole, in a layout of the array's own; none where it has none."""
    layout = a._view.own_layout
    return set() if layout is None else {d for d, dim in enumerate(layout.dims) if dim.n_procs == 1}


@cached
def pencils(shape: tuple[int, ...], dealt: tuple[int, ...], n_procs: int) -> Layout:
    """A layout with some dimensions dealt out: the first of them over all processes, if it has as many elements."""
    n = 1 if shape[dealt[0]] >= n_procs else len(dealt)
    grid = near_square_grid(n_procs, n)
    axes = {d: axis for axis, d in enumerate(dealt[:n])}
    dims: list[Dim] = [BlockDim(extent, grid[axes[d]], axes[d], extent) if d in axes else whole_dim(extent)
                       for d, extent in enumerate(shape)]
    return Layout(grid, dims)


def in_pencils(a: GlobalArray, dtype: np.dtype[Any], todo: Sequence[int]) -> GlobalArray:
    """A copy in which dimensions that are to be transformed are whole: all of them, if others can be dealt out."""
    others = sorted(set(range(a.ndim)).difference(todo), key=lambda d: -a.shape[d])
    longest = max(todo, key=lambda d: a.shape[d])
    if not others or (len(todo) > 1 and math.prod(a.shape[d] for d in others) < world().size):
        others = [longest, *others]
    found = empty(a.shape, dtype, layout=pencils(a.shape, tuple(others), world().size))
    found[...] = a
    return found


def ready(a: GlobalArray, dtype: np.dtype[Any], dims: Sequence[int]) -> GlobalArray:
    """A copy of a dtype in which some of the dimensions that are to be transformed are whole."""
    longest = max(dims, key=lambda d: a.shape[d])
    todo = [d for d in dims if d != longest or a.shape[d] > 1] or dims[:1]
    return in_pencils(a, dtype, todo) if whole_dims(a).isdisjoint(todo) else copied_in_place(a, dtype)


def copied_in_place(a: GlobalArray, dtype: np.dtype[Any]) -> GlobalArray:
    """A copy of a dtype, each element where it lies; an array without a layout of its own gets one."""
    found = empty(a.shape, dtype, layout=a._view.own_layout)
    found[...] = a
    return found


def transformed(a: GlobalArray, axes: Sequence[int], function: str, **options: Any) -> GlobalArray:
    """An array with some dimensions, each once, transformed, as by `in_place_pass`; its elements are lost."""
    todo = list(axes)
    while todo:
        here = [d for d in todo if d in whole_dims(a)]
        if here:
            in_place_pass(a, here, function, **options)
            todo = [d for d in todo if d not in here]
        else:
            a = in_pencils(a, a.dtype, todo)
    return a


def in_place_pass(a: GlobalArray, axes: Sequence[int], function: str,
                  then: Callable[[NDArray[Any]], None] | None = None, **options: Any) -> None:
    """Transform dimensions that are whole, in place, by a function of `scipy.fft`; then call another on the part."""
    schedule(partial(_in_place, function, then, {"axes": tuple(axes), "workers": get_threads(), **options}), update(a))


def _in_place(function: str, then: Callable[[NDArray[Any]], None] | None, options: dict[str, Any],
              part: NDArray[Any]) -> None:
    import scipy.fft

    found = getattr(scipy.fft, function)(part, overwrite_x=True, **options)
    if not np.may_share_memory(found, part):
        part[...] = found
    if then is not None:
        then(part)


def real_pass(a: GlobalArray, axis: int, n: int, dtype: np.dtype[Any], function: str, norm: str | None) -> GlobalArray:
    """The transform of a dimension that is whole by "rfft", of n real numbers, or by "irfft", to so many."""
    own = a._view.own_layout
    assert own is not None
    layout = with_extent(own, axis, n // 2 + 1 if function == "rfft" else n)
    found = empty(layout.shape, dtype, layout=layout)
    schedule(partial(_out_of_place, axis, n, function, norm, get_threads()), write(found), a)
    return found


def _out_of_place(axis: int, n: int, function: str, norm: str | None, workers: int, found: NDArray[Any],
                  part: NDArray[Any]) -> None:
    import scipy.fft

    found[...] = getattr(scipy.fft, function)(part, n, axis, norm, workers=workers)


@cached
def with_extent(layout: Layout, d: int, n: int) -> Layout:
    """A layout with another extent of a dimension that is whole."""
    return Layout(layout.grid, [whole_dim(n) if e == d else dim for e, dim in enumerate(layout.dims)], layout.pins)
