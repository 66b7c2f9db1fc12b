"""How arrays are drawn: each process fills its part, by the C kernels, or by a function of streams and parameters."""

from __future__ import annotations

import functools
import math
import operator
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import DTypeLike, NDArray

from pgaspy.alone import small
from pgaspy.array import GlobalArray, made
from pgaspy.creation import AnyLayout, Shape, empty
from pgaspy.execution.recording import is_planning, record
from pgaspy.global_assign import laid_out
from pgaspy.job.defaults import layout_for
from pgaspy.job.procgrid import world
from pgaspy.kernels import bindings
from pgaspy.layout import Layout, going_with
from pgaspy.operands import as_base_view, as_extents, as_numpy
from pgaspy.planning.segments import global_ranges
from pgaspy.planning.transfers import strides_from_shape
from pgaspy.random.streams import Stream
from pgaspy.scheduling.base import Storage
from pgaspy.scheduling.floating_point import silently
from pgaspy.scheduling.kinds.generation import generate
from pgaspy.supervision.recorder import announce, take_numbers
from pgaspy.tasks import perform, write

__all__ = ["Drawing", "as_parameter", "checked", "is_global", "joint_size"]

LEAST = 2.0**-54
"""What takes the place of 0 where there is no logarithm of it; other uniform numbers are twice as large, or more."""

ELEMENTS_AT_ONCE = 1 << 14
"""That a function of streams is called for, so that its temporaries stay in the cache."""

Parameter = tuple[Any, int]
"""What a distribution depends on, and how many of its last dimensions are one parameter."""


class Drawing:
    """A seed, and how many draws there have been: each takes its own numbers."""

    def __init__(self, key: int) -> None:
        self._key = key
        self._n_draws = 0

    def _draw(self, kind: str, size: Shape | None, dtype: DTypeLike, chars: str, layout: AnyLayout,
              onenode: int | None, low: Any = 0, high: Any = 1) -> GlobalArray:
        """Numbers of a kind that the kernels know."""
        dtype = np.dtype(dtype)
        if dtype.char not in chars:
            raise TypeError(f"Unsupported dtype {dtype} for {kind}: use one of {[np.dtype(c).name for c in chars]}")
        array = empty(() if size is None else size, dtype, layout=layout, onenode=onenode)
        fill = functools.partial(_fill, kind=kind, key=self._key, call=self._n_draws, low=low, high=high)
        self._n_draws += 1
        if not small.filled(array, fill):
            take_numbers(fill)
            record(generate(array._view.layout), (array._base.storage,), (fill,))
        return made(array._base, array._view) if size is None else array

    def _transformed(self, kind: str, function: Callable[..., Any], parameters: Sequence[Any], size: Shape | None,
                     layout: AnyLayout, onenode: int | None, dtype: DTypeLike = float) -> GlobalArray:
        """What a function gives for numbers of a kind, and parameters; uniform ones are not 0."""
        shape = joint_size(size, *parameters)
        if layout is None and onenode is None:
            layout = _layout_of(shape, parameters)
        x = self._draw(kind, None if size is None and not shape else shape, float, "d", layout, onenode)
        found = silently(function, silently(np.maximum, x, LEAST) if kind == "random" else x, *parameters)
        if x._is_number:
            number = found.astype(dtype, copy=False) if dtype is not float else found
            return made(number._base, number._view)
        target = x if dtype is float else empty(x.shape, dtype, layout=x.layout)
        target[...] = found
        return target

    def _sampled(self, sampler: Callable[..., NDArray[Any]], parameters: Sequence[Any], size: Shape | None,
                 dtype: DTypeLike, layout: AnyLayout = None, onenode: int | None = None) -> GlobalArray:
        """What a function gives for the streams of some elements, and the parameters of each, where these lie."""
        shape = joint_size(size, *parameters)
        if layout is None and onenode is None:
            layout = _layout_of(shape, parameters)
        array = empty(shape, dtype, layout=layout, onenode=onenode)
        self._fill_rows(sampler, [(p, 0) for p in parameters], array, array.ndim)
        return made(array._base, array._view) if size is None else array

    def _sampled_rows(self, sampler: Callable[..., NDArray[Any]], parameters: Sequence[Parameter], size: Shape | None,
                      n: int, dtype: DTypeLike, layout: AnyLayout, onenode: int | None) -> GlobalArray:
        """The same of rows of n elements, each of them whole on one process while it is drawn."""
        shape = joint_size(size, *[np.empty(np.shape(p)[:np.ndim(p) - n_core]) for p, n_core in parameters])
        where = layout_for(shape, None, onenode)
        array = empty((*shape, n), dtype, layout=going_with(where, shape, (n,)))
        self._fill_rows(sampler, parameters, array, len(shape))
        return array if layout is None else array.redistribute(layout_for(array.shape, layout, onenode))

    def _fill_rows(self, sampler: Callable[..., NDArray[Any]], parameters: Sequence[Parameter], array: GlobalArray,
                   ndim: int) -> None:
        there = [_lying_with(array, ndim, p, n_core) for p, n_core in parameters]
        fill = functools.partial(_fill_rows, sampler, self._key, self._n_draws, array.shape[:ndim],
                                 [n_core for _, n_core in parameters])
        self._n_draws += 1
        announce("parameters", *[p for p, _ in parameters])
        perform(fill, write(array), [array.global_indices(d) for d in range(ndim)], *there)


# Parameters ----------------------------------------------------------------------------------------------------------


def is_global(x: Any) -> bool:
    """Whether a parameter is dealt out, or a number that the processes compute."""
    return isinstance(x, GlobalArray)


def as_parameter(x: Any, dtype: DTypeLike = float) -> Any:
    """A global array or a NumPy array of a dtype, or a number of it; TypeError for what it cannot be cast to."""
    if not np.ndim(x) and not is_global(x):
        return np.float64(float(x)) if dtype is float else np.int64(int(x))
    found = x if isinstance(x, GlobalArray) else as_numpy(x)
    if found.ndim and not np.can_cast(found.dtype, dtype, "same_kind"):
        raise TypeError(f"Cannot cast array data from {found.dtype!r} to {np.dtype(dtype)!r} according to the rule "
                        "'same_kind'")
    return found.astype(dtype, copy=False)


def checked(method: str, *parameters: Any) -> None:
    """Raise what NumPy's generator does for the least and largest of each parameter, on every process."""
    if is_planning() and any(map(is_global, parameters)):
        return
    if all(np.size(p) for p in parameters):
        getattr(silently(np.random.default_rng, 0), method)(*map(_extremes, parameters))


def _extremes(p: Any) -> Any:
    return p if np.ndim(p) == 0 and not is_global(p) else np.array([p.min(), p.max()] if isinstance(
        p, np.ndarray) else [p.min().item(), p.max().item()], p.dtype)


def joint_size(size: Shape | None, *parameters: Any) -> tuple[int, ...]:
    """The shape of a draw; ValueError, as NumPy's, if parameters do not broadcast to the size."""
    shape = np.broadcast_shapes(*map(np.shape, parameters))
    if size is None:
        return shape
    wanted = tuple([operator.index(n) for n in as_extents(size)])
    if any(n < 0 for n in wanted):
        raise ValueError(f"negative dimensions are not allowed: shape {wanted}")
    if np.broadcast_shapes(wanted, shape) != wanted:
        raise ValueError(f"Output size {wanted} is not compatible with broadcast dimensions of inputs {shape}.")
    return wanted


def _layout_of(shape: tuple[int, ...], parameters: Sequence[Any]) -> AnyLayout:
    """That of a parameter for each element; None, if there is no such array."""
    return next((p._layout_like() for p in parameters if isinstance(p, GlobalArray) and p.shape == shape and shape),
                None)


def _lying_with(array: GlobalArray, ndim: int, p: Any, n_core: int) -> Any:
    """A parameter, where it is needed; a number as it is."""
    if not np.ndim(p) and not is_global(p):
        return p
    base, view = as_base_view(p)
    rows = view.shape[:view.ndim - n_core]
    layout = array.layout
    of_rows = Layout(layout.grid, layout.dims[:ndim], layout.pins)
    return GlobalArray(*laid_out(base, view, going_with(of_rows, rows, view.shape[len(rows):])))


# On each process -----------------------------------------------------------------------------------------------------


def _fill(storage: Storage, kind: str, key: int, call: int, low: Any, high: Any) -> None:
    """Fill the local part of an array; the other side of its ranges is the global index."""
    layout = storage.layout
    coords = layout.coords_from_rank(world().rank)
    if not layout.holds(coords) or not storage.local.size:
        return
    ranges = [global_ranges(dim, layout.dim_coord(d, coords)) for d, dim in enumerate(layout.dims)]
    bindings.fill_random(kind, storage.dtype.char, storage.address, storage.local.strides, bindings.OWN,
                        strides_from_shape(layout.shape), bindings.OTHER, ranges,
                        key=key, call=call, low=low, high=high)


def _fill_rows(sampler: Callable[..., NDArray[Any]], key: int, call: int, shape: tuple[int, ...],
               n_cores: Sequence[int], part: NDArray[Any], indices: Sequence[NDArray[np.int64]],
               *parameters: Any) -> None:
    """Fill the local part, some rows at a time, of the stream of their global indices; an element is a row of one."""
    rows, core = part.shape[:len(shape)], part.shape[len(shape):]
    flat = part.reshape(-1, *core)
    step = max(ELEMENTS_AT_ONCE // max(math.prod(core), 1), 1)
    given = [p if np.ndim(p) == 0 else np.broadcast_to(p, (rows or (1,)) + p.shape[p.ndim - n:])
             for p, n in zip(parameters, n_cores, strict=True)]
    for start in range(0, len(flat), step):
        places = np.unravel_index(np.arange(start, min(start + step, len(flat))), rows or (1,))
        elements = np.zeros(len(places[0]), np.int64)
        for i, place, stride in zip(indices, places, strides_from_shape(shape), strict=False):
            elements += i[place] * stride
        flat[start:start + step] = silently(sampler, Stream(key, call, elements), *[
            np.full(len(elements), p) if np.ndim(p) == 0 else p[places] for p in given])
