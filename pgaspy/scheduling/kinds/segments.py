"""Reductions of segments of a dimension, which may overlap: `ufunc.reduceat`."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pgaspy.caches import cached, lazy
from pgaspy.layout import Layout
from pgaspy.planning.boxes import view_box
from pgaspy.planning.view import View
from pgaspy.scheduling import at_once, products
from pgaspy.scheduling.base import Storage, local_view
from pgaspy.scheduling.builder import Builder
from pgaspy.scheduling.collectives import exchange_partials, group_members
from pgaspy.scheduling.floating_point import is_telling, noting, unless_noted
from pgaspy.scheduling.local_scans import are_products
from pgaspy.scheduling.nodes import FunctionCall, Memories, bytes_of
from pgaspy.scheduling.operations import Merged, NumberedOperation, Recipe

__all__ = ["ReduceSegments", "reduce_segments"]


@dataclass(eq=False)
class ReduceSegments(Recipe):
    """`target = ufunc.reduceat(source, indices, axis)`, for an associative and commutative ufunc.

    The source has a layout of its own, with an interval of the dimension on each process. In the target, of that
    layout but for this dimension, it is whole on all processes along its axis of the grid. The indices are the bytes of
    an array of int64: however many there are, the recipe is found again by them at once.
    """

    target: View
    source: View
    axis: int
    indices: bytes
    ufunc: np.ufunc
    dtypes: tuple[np.dtype[Any], ...]
    name = errors_in = "reduceat"

    def __post_init__(self) -> None:
        self.views = self.target, self.source

    def __str__(self) -> str:
        return f"{self.ufunc.__name__}.reduceat {self.source.shape} along {self.axis}"

    @property
    def _layout(self) -> Layout:
        layout = self.source.own_layout
        assert layout is not None
        return layout

    @property
    def _axes(self) -> tuple[int, ...]:
        """The axis of the grid along which partial results are merged, if there is one."""
        axis = self._layout.dims[self.axis].axis
        return () if axis is None else (axis,)

    @property
    def _starts(self) -> NDArray[np.int64]:
        return np.frombuffer(self.indices, np.int64)

    @lazy
    def _is_of_products(self) -> bool:
        return are_products(self.ufunc, self.dtypes[0])

    @lazy
    def _partial_dtype(self) -> np.dtype[Any]:
        """Products are pairs, and sums of float16 have float32, lest parts overflow where the results do not."""
        dtype = self.dtypes[0]
        if self._is_of_products:
            dtype = products.dtype_of(dtype)
        elif dtype == np.float16 and self.ufunc is np.add:
            dtype = np.dtype(np.float32)
        return np.dtype([("value", dtype), ("is_there", bool)], align=True)

    def _holds(self, rank: int) -> bool:
        return self._layout.holds(self._layout.coords_from_rank(rank))

    def _interval(self, rank: int) -> tuple[int, int]:
        """The indices [first, stop) of the dimension that a process has."""
        layout = self._layout
        owned = layout.dims[self.axis].owned_interval(layout.dim_coord(self.axis, layout.coords_from_rank(rank)))
        assert owned is not None
        return owned

    def is_done_at_once(self, rank: int, limit: int = at_once.MAX_ELEMENTS) -> bool:
        """See `Recipe`."""
        return self.source.layout.n_procs == 1 and at_once.is_small(self.source, rank, limit)

    def execute(self, storages: Sequence[Storage], values: Sequence[Any], rank: int) -> None:
        """See `Recipe`."""
        self._reduce(local_view(storages[1], self.source), storages[0].local)

    def _reduce(self, local: NDArray[Any], out: NDArray[Any]) -> None:
        """The results of a dimension that is whole."""
        noting("reduceat", self.ufunc.reduceat, local, self._starts, self.axis, type(self.dtypes[0]), out)

    def merged(self, rank: int) -> Merged | None:
        """See `Recipe`."""
        return Merged((1,), self._layout.grid, self._axes) if self._holds(rank) else None

    def details(self, text: Callable[[Any], str]) -> str:
        """See `Recipe`."""
        return f"{self.ufunc.__name__}({self.dtypes[0]}) along {self.axis}, segments by an {text(self._starts)}"

    def add_nodes(self, builder: Builder, operation: NumberedOperation, rank: int) -> None:
        """See `Recipe`."""
        shape = self.target.layout.local_shape(rank)
        members = group_members(self._layout.grid, self._axes, rank)
        if not self._holds(rank) or 0 in shape:
            return
        target, slot = operation.slots
        reads = [(slot, view_box(self.source, rank))]
        if len(members) == 1:
            def compute(memories: Memories) -> None:
                self._reduce(local_view(memories[slot], self.source), memories[target].local)

            builder.add(FunctionCall(compute, "reduceat"), reads, [(target, None)])
            return
        dtype, size = self._partial_dtype, math.prod(shape)
        partial = builder.buffer(size * dtype.itemsize)

        def reduce_local(memories: Memories) -> None:
            found = bytes_of(memories, partial).view(dtype).reshape(shape)
            self._reduce_part(local_view(memories[slot], self.source), found, self._interval(rank))

        builder.add(FunctionCall(reduce_local, "reduceat"), reads, [(partial, None)])
        merge = functools.partial(_merged, products.times if self._is_of_products else self.ufunc)
        merged = exchange_partials(builder, partial, size, dtype, merge, members, rank, is_wanted=operation.is_wanted)
        if not operation.is_wanted:
            return

        def store(memories: Memories) -> None:
            values = bytes_of(memories, merged).view(dtype).reshape(shape)["value"]
            noting("reduceat", np.copyto, memories[target].local,
                   products.values_of(values) if self._is_of_products else values)

        builder.add(FunctionCall(store, "store"), [(merged, None)], [(target, None)])

    def _reduce_part(self, local: NDArray[Any], found: NDArray[Any], interval: tuple[int, int]) -> None:
        """What the elements of an interval come to in each segment."""
        first, stop = interval
        local, found = np.moveaxis(local, self.axis, 0), np.moveaxis(found, self.axis, 0)
        found[...] = np.zeros((), found.dtype)
        starts, stops = _segments(self._starts, self._layout.shape[self.axis])
        starts, stops = np.clip(starts, first, stop) - first, np.clip(stops, first, stop) - first
        chosen = np.flatnonzero(starts < stops)
        of_segments = (functools.partial(_products_of_segments, self.dtypes[0]) if self._is_of_products
                       else self._of_segments)
        for follow in np.split(chosen, 1 + np.flatnonzero(starts[chosen[1:]] != stops[chosen[:-1]])):
            if follow.size:  # segments that follow each other
                found["value"][follow] = of_segments(local[:stops[follow[-1]]], starts[follow])
        found["is_there"][chosen] = True

    def _of_segments(self, local: NDArray[Any], starts: NDArray[np.int64]) -> NDArray[Any]:
        return noting("reduceat", self.ufunc.reduceat, local, starts, 0, type(self._partial_dtype["value"]))


def _products_of_segments(dtype: np.dtype[Any], local: NDArray[Any], starts: NDArray[np.int64]) -> NDArray[Any]:
    """As pairs: each segment by itself, if anything over- or underflows."""
    if is_telling():
        noting("reduceat", np.multiply.reduceat, local, starts, 0, type(dtype))
    found = np.zeros((len(starts), *local.shape[1:]), products.dtype_of(dtype))
    factors = unless_noted(lambda: np.multiply.reduceat(local, starts, 0, type(dtype)))
    if factors is not None:
        found["factor"] = factors
        return found
    for number, (start, stop) in enumerate(pairwise([*starts.tolist(), len(local)])):
        found[number] = products.of_elements(local[start:stop], (0,), dtype)
    return found


def _segments(starts: NDArray[np.int64], extent: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Where segments begin and end: at the next index, or after one element if that is not greater."""
    stops = np.append(starts[1:], extent)
    return starts, np.maximum(stops, starts + 1)


def _merged(join: Callable[..., Any], lower: NDArray[Any], higher: NDArray[Any]) -> NDArray[Any]:
    """Partial results, of which either may be there or not."""
    merged = np.where(lower["is_there"], lower, higher)
    both = lower["is_there"] & higher["is_there"]
    merged["value"][both] = join(lower["value"][both], higher["value"][both])
    return merged


reduce_segments = cached(ReduceSegments)
