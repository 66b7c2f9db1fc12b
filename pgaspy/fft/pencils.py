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
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pgaspy.array import GlobalArray
from pgaspy.blockmath import near_square_grid
from pgaspy.caches import cached
from pgaspy.creation import empty
from pgaspy.dims import BlockDim, Dim, whole_dim
from pgaspy.job.defaults import default_for
from pgaspy.job.procgrid import world
from pgaspy.kernels.bindings import get_threads
from pgaspy.layout import Layout
from pgaspy.planning.view import View
from pgaspy.scheduling.floating_point import silently
from pgaspy.scheduling.local_threads import even_edges, n_threads_for, on_threads
from pgaspy.tasks import perform, update, write

__all__ = ["LONGEST", "ONE_BY_ONE", "copied_in_place", "in_pencils", "in_place_pass", "is_one_line", "layout_like",
           "ready", "real_pass", "transformed", "whole_dims"]


@cached
def whole_dims(view: View) -> frozenset[int]:
    """The dimensions that processes hold whole, in a layout of the view's own; none where it has none."""
    layout = view.own_layout
    return frozenset(() if layout is None else [d for d, dim in enumerate(layout.dims) if dim.n_procs == 1])


def is_one_line(a: GlobalArray, axis: int) -> bool:
    """Whether there is one dimension to deal out, which is to be transformed, and is dealt out."""
    return math.prod(a.shape) == a.shape[axis] and axis not in whole_dims(a._view)


LONGEST = 1 << 15
"""Elements of a line that NumPy transforms as fast as SciPy does."""


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
    found = empty(a.shape, dtype, layout=_pencils_for(a, todo))
    found[...] = a
    return found


def _pencils_for(a: GlobalArray, todo: Sequence[int], in_parts: bool = False) -> Layout:
    """The layout of such a copy, which may be moved in parts: then earlier dimensions stay whole where they can."""
    enough = MIN_LENGTH * world().size
    others = sorted(set(range(a.ndim)).difference(todo),
                    key=lambda d: (-min(a.shape[d], enough), -d) if in_parts else -a.shape[d])
    longest = max(todo, key=lambda d: a.shape[d])
    if not others or (len(todo) > 1 and math.prod(a.shape[d] for d in others) < world().size):
        others = [longest, *others]
    return pencils(a.shape, tuple(others), world().size)


def ready(a: GlobalArray, dtype: np.dtype[Any], dims: Sequence[int]) -> GlobalArray:
    """A copy of a dtype in which some of the dimensions that are to be transformed are whole."""
    longest = max(dims, key=lambda d: a.shape[d])
    todo = [d for d in dims if d != longest or a.shape[d] > 1] or dims[:1]
    return in_pencils(a, dtype, todo) if whole_dims(a._view).isdisjoint(todo) else copied_in_place(a, dtype)


def copied_in_place(a: GlobalArray, dtype: np.dtype[Any]) -> GlobalArray:
    """A copy of a dtype, each element where it lies; an array without a layout of its own gets one."""
    found = empty(a.shape, dtype, layout=a._view.own_layout)
    found[...] = a
    return found


def transformed(a: GlobalArray, axes: Sequence[int], function: str, back: Layout | None = None,
                **options: Any) -> GlobalArray:
    """An array with some dimensions, each once, transformed, as by `in_place_pass`; its elements are lost.

    With `back`, the result may have this layout already, if it is moved there in parts.
    """
    todo = list(axes)
    while todo:
        here = [d for d in todo if d in whole_dims(a._view)]
        todo = [d for d in todo if d not in here]
        if todo and here and world().has_network and (
                found := _in_parts(a, here, todo, function, back, options)) is not None:
            return found
        if here:
            in_place_pass(a, here, function, **options)
        if todo:
            a = in_pencils(a, a.dtype, todo)
    return a


MAX_PARTS, MESSAGE_BYTES = 32, 1 << 20
"""The most parts in which an array is moved between transforms; and what goes through a network without an answer."""

MIN_LENGTH = 8
"""Of a dimension that is dealt out, for each process: then the longest part is not much longer than the others."""


def _in_parts(a: GlobalArray, here: Sequence[int], then: Sequence[int], function: str, back: Layout | None,
              options: dict[str, Any]) -> GlobalArray | None:
    """What `transformed` gives for dimensions that are whole here, and others that are whole after one move.

    All is done in parts along a dimension that stays whole: while one of them travels, the last dimensions before the
    move are transformed of another, or the first ones after it; None, where there is no such dimension. Results are
    the same to the bit: dimensions are transformed in the same order, and scaled with the same factor at once.
    """
    layout = _pencils_for(a, then, in_parts=True)
    stay = [d for d in sorted(whole_dims(a._view)) if layout.dims[d].n_procs == 1 and d not in then]
    if any(layout.dims[d].n_procs > 1 for d in then) or not stay:
        return None
    along = min(stay, key=lambda d: here.index(d) if d in here else -1)
    n = min(MAX_PARTS, a.shape[along], -(-a.nbytes // world().size ** 2 // MESSAGE_BYTES))
    if n < 2:
        return None
    last, own_options = here, options
    if along == here[-1]:
        in_place_pass(a, here, function, **options)
        last = ()
    elif along in here:
        is_numpys = _is_numpys(a, here, function)
        if function not in _UNSCALED or (a.dtype == np.complex128 and not is_numpys):
            return None  # alone, some of the dimensions may be transformed by another library
        factor = None
        if not is_numpys:  # which scales for each dimension
            own_options = {"norm": _UNSCALED[function]}
            factor = _factor(a, here, function, options["norm"])
        in_place_pass(a, here[:1], function, None if factor is None else partial(_scale, factor), **own_options)
        before, last = here[1:here.index(along) + 1], here[here.index(along) + 1:]
        if before:
            in_place_pass(a, before, function, **own_options)
    moved = empty(a.shape, a.dtype, layout=layout)
    found = moved if back is None else empty(a.shape, a.dtype, layout=back)
    parts = [(*(slice(None),) * along, slice(*cut)) for cut in pairwise(even_edges(a.shape[along], n))]
    for part in parts:
        if last:
            in_place_pass(a[part], last, function, **own_options)
        moved[part] = a[part]
    for part in parts:
        in_place_pass(moved[part], then, function, **options)
        if back is not None:
            found[part] = moved[part]
    return found


_UNSCALED = {"fftn": "backward", "ifftn": "forward"}
"""The `norm` with which functions have no factor."""


def _factor(a: GlobalArray, axes: Sequence[int], function: str, norm: str | None) -> Any:
    """What SciPy multiplies by where it transforms these dimensions at once, as it rounds it; None, if nothing."""
    if (norm or "backward") == _UNSCALED[function]:
        return None
    n = np.longdouble(math.prod(a.shape[d] for d in axes))
    return np.finfo(a.dtype).dtype.type(1 / np.sqrt(n) if norm == "ortho" else 1 / n)


def _scale(factor: Any, part: NDArray[Any]) -> None:
    part *= factor


def in_place_pass(a: GlobalArray, axes: Sequence[int], function: str,
                  then: Callable[..., None] | None = None, own: Sequence[int] = (), **options: Any) -> None:
    """Transform dimensions that are whole, in place, by a function of `scipy.fft`; then call another on the part, and
    on what is this process's own.

    Of complex numbers in double precision it is NumPy's, which takes no time to be imported, and as long to transform
    lines that stay in the cache.
    """
    is_numpys = _is_numpys(a, axes, function)
    call = partial(_by_numpy, ONE_BY_ONE[function]) if is_numpys else partial(_by_scipy, function)
    perform(partial(_in_place, partial(call, **options), tuple(axes), then), update(a), *own)


def _is_numpys(a: GlobalArray, axes: Sequence[int], function: str) -> bool:
    return function in ONE_BY_ONE and a.dtype == np.complex128 and max(a.shape[d] for d in axes) <= LONGEST


ONE_BY_ONE = {"fft": "fft", "ifft": "ifft", "fftn": "fft", "ifftn": "ifft"}
"""What NumPy has of `scipy.fft`, as transforms of one dimension after the other."""


def _in_place(call: Callable[..., None], axes: tuple[int, ...], then: Callable[..., None] | None, part: NDArray[Any],
              *own: int) -> None:
    silently(call, part, axes)  # transforms tell nothing
    if then is not None:
        silently(then, part, *own)


def _by_scipy(function: str, part: NDArray[Any], axes: tuple[int, ...], **options: Any) -> None:
    import scipy.fft  # which takes as long as many transforms

    found = getattr(scipy.fft, function)(part, axes=axes, overwrite_x=True, workers=get_threads(), **options)
    if not np.may_share_memory(found, part):
        part[...] = found


def _by_numpy(function: str, part: NDArray[Any], axes: tuple[int, ...], norm: str | None) -> None:
    for axis in axes:
        _by_lines(getattr(np.fft, function), axis, None, norm, part, part)


def _by_lines(function: Callable[..., Any], axis: int, n: int | None, norm: str | None, found: NDArray[Any],
              part: NDArray[Any]) -> None:
    """Transform a dimension by NumPy's function, of the lines of which each thread has its share."""
    if part.ndim == 1:
        silently(function, part, n, axis, norm, out=found)
        return
    other = max((d for d in range(part.ndim) if d != axis), key=lambda d: part.shape[d])

    def transform(start: int, stop: int) -> None:
        rows, out = (x.swapaxes(0, other)[start:stop].swapaxes(0, other) for x in (part, found))
        silently(function, rows, n, axis, norm, out=out)

    n_threads = n_threads_for(part.size)
    on_threads(transform, even_edges(part.shape[other], n_threads), n_threads)


def real_pass(a: GlobalArray, axis: int, n: int, dtype: np.dtype[Any], function: str, norm: str | None) -> GlobalArray:
    """The transform of a dimension that is whole by "rfft", of n real numbers, or by "irfft", to so many."""
    own = a._view.own_layout
    assert own is not None
    layout = _with_extent(own, axis, n // 2 + 1 if function == "rfft" else n)
    found = empty(layout.shape, dtype, layout=layout)
    if np.finfo(dtype).dtype == np.float64 and n <= LONGEST:
        perform(partial(_by_lines, getattr(np.fft, function), axis, n, norm), write(found), a)
    else:
        perform(partial(_out_of_place, axis, n, function, norm), write(found), a)
    return found


def _out_of_place(axis: int, n: int, function: str, norm: str | None, found: NDArray[Any], part: NDArray[Any]) -> None:
    import scipy.fft

    found[...] = silently(getattr(scipy.fft, function), part, n, axis, norm, workers=get_threads())


@cached
def _with_extent(layout: Layout, d: int, n: int) -> Layout:
    """A layout with another extent of a dimension that is whole."""
    return Layout(layout.grid, [whole_dim(n) if e == d else dim for e, dim in enumerate(layout.dims)], layout.pins)


def layout_like(view: View, shape: tuple[int, ...]) -> Layout:
    """A layout for another shape: that of the view, if what differs is whole there."""
    layout = view.own_layout
    changed = [d for d, (n, m) in enumerate(zip(view.shape, shape, strict=True)) if n != m]
    if layout is None or not whole_dims(view).issuperset(changed):
        return default_for(shape)
    for d in changed:
        layout = _with_extent(layout, d, shape[d])
    return layout
