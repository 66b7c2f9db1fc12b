"""Layouts: which process holds which element, and where in its local part.

A `Distribution` says how dimensions are dealt out, in the notation of High Performance Fortran (HPF); bound to a
shape it is a `Layout`, a pure map *global index <-> (owner, local index)*. Both are frozen and know no communicator,
so that a layout can be made, and checked, for any number of simulated processes.

One dimension is a `BlockDim` or a `CyclicDim`. Both number their blocks ("parts") 0, 1, 2, ... in the order of the
global index, and answer the same questions; an N-D layout is the product of its dimensions. The maps take integers
and integer arrays alike.
"""

from __future__ import annotations

import math
import operator
import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

from pgaspy.blockmath import ceil_div, clipped, narrow, near_square_grid, wide
from pgaspy.caches import cached, lazy

__all__ = ["MAX_NDIM", "MAX_SIZE", "BlockDim", "CyclicDim", "Dim", "Distribution", "Layout", "check_shape",
           "default_layout", "going_with", "one_process", "replicated", "without_dims"]


class BlockDim(NamedTuple):
    """One part per process, balanced: part r of a fresh dimension is `[r*n//P, (r+1)*n//P)`.

    A view's dimension is a window of a balanced one: its index i stands for the index `start + step*i` (step > 0) of
    a dimension of `parent_extent` elements, and is owned by that element's owner.
    """

    extent: int
    n_procs: int
    axis: int | None
    parent_extent: int
    start: int = 0
    step: int = 1

    @property
    def block(self) -> int:
        """The size of the largest part; of a window with a step, what no part is larger than."""
        if self.extent == self.parent_extent or self.extent == 0:
            return ceil_div(self.extent, self.n_procs)
        first, last = self.part_from_index(0), self.part_from_index(self.extent - 1)
        at_ends = max(self.local_extent(first), self.local_extent(last))
        if last - first < 2:
            return at_ends
        n_between = last * self.parent_extent // self.n_procs - (first + 1) * self.parent_extent // self.n_procs
        return max(at_ends, ceil_div(ceil_div(n_between, last - first - 1), self.step))

    @property
    def n_blocks(self) -> int:
        """The number of parts."""
        return self.n_procs

    def part_from_index(self, i: Any) -> Any:
        """The part that index i lies in."""
        if i.__class__ is int:
            return ((self.start + self.step * i + 1) * self.n_procs - 1) // self.parent_extent
        return narrow(((self._wide(self.start + self.step * i) + 1) * self.n_procs - 1) // self.parent_extent)

    def part_edge(self, part: Any) -> Any:
        """The index at which `part` begins; outside 0 <= i <= extent for what a window leaves out."""
        return ceil_div(narrow(self._wide(part) * self.parent_extent // self.n_procs) - self.start, self.step)

    def _wide(self, a: Any) -> Any:
        """An array of indices or parts, such that products with the number of processes or the extent fit."""
        return wide(a) if self.parent_extent * self.n_procs > MAX_PRODUCT else a

    def part_edges(self, part: Any) -> tuple[Any, Any]:
        """The indices at which `part` begins and ends."""
        return self.part_edge(part), self.part_edge(part + 1)

    def part_start(self, part: Any) -> Any:
        """The first index of `part`, or the extent."""
        return clipped(self.part_edge(part), 0, self.extent)

    def owner_from_part(self, part: Any) -> Any:
        """The coordinate, along the axis of the grid, of the process that owns `part`."""
        return part

    def parts_from_owner(self, coord: int, first: int, last: int) -> range:
        """The parts of `coord` among the parts first..last (both included)."""
        return range(coord, coord + 1) if first <= coord <= last else range(0)

    def local_from_index(self, i: Any, part: Any) -> Any:
        """The local index, on its owner, of index i, which lies in `part`."""
        return i - self.part_start(part)

    def owned_interval(self, coord: int) -> tuple[int, int]:
        """The indices that `coord` owns, [first, stop)."""
        extent, n_procs, _, n, start, step = self
        if n_procs == 1:
            return 0, extent
        first, stop = -((start - coord * n // n_procs) // step), -((start - (coord + 1) * n // n_procs) // step)
        return min(max(first, 0), extent), min(max(stop, 0), extent)

    def local_extent(self, coord: int) -> int:
        """The number of elements that `coord` owns."""
        first, stop = self.owned_interval(coord)
        return stop - first

    def holds_whole_step(self, step: int) -> bool:
        """Whether the part of a view of this step has, on every owner, one step in local indices."""
        return True

    def has_window(self, step: int, extent: int) -> bool:
        """Whether there is the dimension of a view of this step and extent."""
        return step > 0 or extent <= 1

    def window(self, start: int, step: int, extent: int) -> BlockDim | None:
        """The dimension of a view `start + step*i`, i < extent, with exactly its owners."""
        if not self.has_window(step, extent):
            return None
        return BlockDim(extent, self.n_procs, self.axis, self.parent_extent, self.start + self.step * start,
                        self.step * max(step, 1))

    def fresh(self, extent: int) -> BlockDim:
        """The same distribution, dealt out afresh to another extent."""
        return BlockDim(extent, self.n_procs, self.axis, extent)

    def __str__(self) -> str:
        window = "" if (self.start, self.step, self.parent_extent) == (0, 1, self.extent) else (
            f" of [{self.start}::{self.step}] of {self.parent_extent}")
        return f"block{window}"


@dataclass(frozen=True, slots=True)
class CyclicDim:
    """Blocks of `block` elements, dealt out in turn; one process alone (`n_procs` 1) is HPF's `*`.

    The first block lies on `first_owner` and has `first_length` elements (1 <= first_length <= block), as in a
    ScaLAPACK descriptor with an offset: so a view that begins inside a block has a layout, too.
    """

    extent: int
    n_procs: int
    axis: int | None
    block: int
    first_owner: int = 0
    first_length: int = 0

    def __post_init__(self) -> None:
        if self.first_length == 0:
            object.__setattr__(self, "first_length", self.block)

    @property
    def n_blocks(self) -> int:
        """The number of parts."""
        return self.part_from_index(self.extent - 1) + 1 if self.extent else 0

    def part_from_index(self, i: Any) -> Any:
        """The part that index i lies in."""
        return (i + (self.block - self.first_length)) // self.block

    def part_edge(self, part: Any) -> Any:
        """The index at which `part` would begin, were all blocks full: below 0 for a short first one."""
        return part * self.block - (self.block - self.first_length)

    def part_edges(self, part: Any) -> tuple[Any, Any]:
        """The indices at which `part` would begin and end, were all blocks full."""
        edge = self.part_edge(part)
        return edge, edge + self.block

    def part_start(self, part: Any) -> Any:
        """The first index of `part`, or the extent."""
        return clipped(self.part_edge(part), 0, self.extent)

    def owner_from_part(self, part: Any) -> Any:
        """The coordinate, along the axis of the grid, of the process that owns `part`."""
        return (part + self.first_owner) % self.n_procs

    def parts_from_owner(self, coord: int, first: int, last: int) -> range:
        """The parts of `coord` among the parts first..last (both included)."""
        return range(first + (coord - self.first_owner - first) % self.n_procs, last + 1, self.n_procs)

    def local_from_index(self, i: Any, part: Any) -> Any:
        """The local index, on its owner, of index i, which lies in `part`: only the first part can be short."""
        missing = self.block - self.first_length
        local = i + (part // self.n_procs - part) * self.block
        return local if missing == 0 else local + (part % self.n_procs != 0) * missing

    def owned_interval(self, coord: int) -> tuple[int, int] | None:
        """The indices that `coord` owns, [first, stop), where they are an interval: of one process in every case."""
        return (0, self.extent) if self.n_procs == 1 else None

    def local_extent(self, coord: int) -> int:
        """The number of elements that `coord` owns."""
        if self.extent == 0:
            return 0
        parts = self.parts_from_owner(coord, 0, self.n_blocks - 1)
        if not parts:
            return 0
        last = min((parts[-1] + 1) * self.block - (self.block - self.first_length), self.extent) - 1
        return int(self.local_from_index(last, parts[-1])) + 1

    def holds_whole_step(self, step: int) -> bool:
        """Whether the part of a view of this step has, on every owner, one step in local indices."""
        return self.n_procs == 1 or self.block % abs(step) == 0 or step % self.block == 0

    def has_window(self, step: int, extent: int) -> bool:
        """Whether there is the dimension of a view of this step and extent."""
        return self.n_procs == 1 or extent <= 1 or (step > 0 and self.block % step == 0)

    def window(self, start: int, step: int, extent: int) -> CyclicDim | None:
        """The dimension of a view `start + step*i`, i < extent, with exactly its owners; None if it has no layout."""
        if self.axis is None:
            return whole_dim(extent)
        if extent <= 1:
            step = 1
        if extent == 0:
            return replace(self, extent=0)
        if not self.has_window(step, extent):
            return None
        if step < 0 or self.block % step:
            return replace(self, extent=extent, first_length=self.block)
        part = self.part_from_index(start)
        first_length = ceil_div(part * self.block + self.first_length - start, step)
        return CyclicDim(extent, self.n_procs, self.axis, self.block // step, self.owner_from_part(part), first_length)

    def fresh(self, extent: int) -> CyclicDim:
        """The same distribution, dealt out afresh to another extent."""
        return whole_dim(extent) if self.axis is None else CyclicDim(extent, self.n_procs, self.axis, self.block)

    def __str__(self) -> str:
        if self.axis is None:
            return "*"
        first = "" if (self.first_owner, self.first_length) == (0, self.block) else (
            f" from {self.first_owner} with {self.first_length}")
        return f"cyclic({self.block}){first}"


Dim = BlockDim | CyclicDim

MAX_PRODUCT = 2**62
"""Where extent and number of processes make more, NumPy's integers are too short for their products."""

MAX_NDIM = 64
"""The most dimensions of an array, as NumPy has it."""

MAX_SIZE = 2**63 - 1
"""The most elements of an array, which are counted by 64 bits, and the most along a dimension."""


@cached
def whole_dim(extent: int) -> CyclicDim:
    """A dimension that is not distributed, HPF's `*`."""
    return CyclicDim(extent, 1, None, max(extent, 1))


class Held(NamedTuple):
    """What one process holds of an array.

    Attributes
    ----------
    rank, coords
        The process, and its place in the grid.
    is_any
        Whether the array is pinned to it, or not at all.
    intervals
        Per dimension, the indices [first, stop) that it owns, where they are an interval, else None.
    shape, strides
        Those of its part, which is C-ordered; strides in elements.
    size
        The elements of its part.
    """

    rank: int
    coords: tuple[int, ...]
    is_any: bool
    intervals: tuple[tuple[int, int] | None, ...]
    shape: tuple[int, ...]
    strides: tuple[int, ...]
    size: int


_NOBODYS = Held(-1, (), False, (), (), (), 0)


class Layout:
    """Where each element of an array of a given shape lies: one `Dim` per dimension, over a process grid.

    Parameters
    ----------
    grid
        Number of processes along each axis of the grid; ranks are numbered in row-major order.
    dims
        One per dimension; their grid axes are distinct.
    pins
        Per axis of the grid: the coordinate that alone holds the array, or None. An axis that has neither a
        dimension nor a pin holds replicas.
    """

    __slots__ = ("__dict__", "_hash", "_last_held", "dims", "grid", "pins")

    digest: int | None = None
    """See `digests`."""

    def __init__(self, grid: Sequence[int], dims: Sequence[Dim], pins: Sequence[int | None] | None = None) -> None:
        check_shape(tuple([dim.extent for dim in dims]))
        grid = tuple(grid)
        self._be(grid, tuple(dims), (None,) * len(grid) if pins is None else tuple(pins))

    def _be(self, grid: tuple[int, ...], dims: tuple[Dim, ...], pins: tuple[int | None, ...]) -> None:
        self.grid, self.dims, self.pins = grid, dims, pins
        self._hash = hash((grid, dims, pins))
        self._last_held = _NOBODYS

    def of_part(self, dims: tuple[Dim, ...], pins: tuple[int | None, ...]) -> Layout:
        """The layout of a part of an array that has this one: on the same grid, and with no more elements."""
        layout = Layout.__new__(Layout)
        layout._be(self.grid, dims, pins)
        return layout

    def __hash__(self) -> int:
        return self._hash

    def __eq__(self, other: object) -> bool:
        return self is other or (
            isinstance(other, Layout) and self._hash == other._hash
            and (self.grid, self.dims, self.pins) == (other.grid, other.dims, other.pins))

    @lazy
    def shape(self) -> tuple[int, ...]:
        """The global extents."""
        return tuple(dim.extent for dim in self.dims)

    @property
    def ndim(self) -> int:
        """The number of dimensions."""
        return len(self.dims)

    @lazy
    def row_strides(self) -> tuple[int, ...]:
        """The strides, in elements, of a C-ordered array of this shape: the local part's, where one process has all."""
        strides, n = [], 1
        for extent in reversed(self.shape):
            strides.append(n)
            n *= max(extent, 1)
        return tuple(reversed(strides))

    @lazy
    def n_procs(self) -> int:
        """The number of processes of the grid."""
        return math.prod(self.grid)

    @lazy
    def block(self) -> tuple[int, ...]:
        """Block size per dimension: of the largest part for `block`, the whole extent for `*`."""
        return tuple(dim.block for dim in self.dims)

    @lazy
    def n_blocks(self) -> tuple[int, ...]:
        """Number of global blocks per dimension."""
        return tuple(dim.n_blocks for dim in self.dims)

    @lazy
    def dim_from_axis(self) -> tuple[int | None, ...]:
        """Per axis of the grid, the dimension dealt out over it, or None."""
        dims: list[int | None] = [None] * len(self.grid)
        for d, dim in enumerate(self.dims):
            if dim.axis is not None:
                dims[dim.axis] = d
        return tuple(dims)

    @lazy
    def replica_axes(self) -> tuple[int, ...]:
        """The axes of the grid (with more than one process) along which every process holds the same elements."""
        return tuple(axis for axis, dim in enumerate(self.dim_from_axis)
                     if dim is None and self.pins[axis] is None and self.grid[axis] > 1)

    @lazy
    def is_pinned(self) -> bool:
        """Whether it has a pin."""
        return self.pins.count(None) < len(self.pins)

    @lazy
    def is_on_one_process(self) -> bool:
        """Whether one process holds all of the array, and no other one any of it."""
        return all(pin is not None or n == 1 for pin, n in zip(self.pins, self.grid, strict=True))

    @lazy
    def is_replicated(self) -> bool:
        """Whether every process of the job holds the whole array."""
        return all(dim.n_procs == 1 for dim in self.dims) and all(
            pin is None or n == 1 for pin, n in zip(self.pins, self.grid, strict=True))

    @lazy
    def is_distributed(self) -> bool:
        """Whether any dimension is dealt out over an axis of the grid (which may have one process only)."""
        return any(dim.axis is not None for dim in self.dims)

    def coords_from_rank(self, rank: int) -> tuple[int, ...]:
        """The place in the grid of a rank."""
        return coords_from_rank(self.grid, rank)

    def rank_from_coords(self, coords: Sequence[int]) -> int:
        """The rank at a place in the grid."""
        return rank_from_coords(self.grid, tuple(coords))

    def dim_coord(self, d: int, coords: Sequence[int]) -> int:
        """The coordinate that decides what a process holds of dimension `d`."""
        axis = self.dims[d].axis
        return 0 if axis is None else coords[axis]

    def holds(self, coords: Sequence[int]) -> bool:
        """Whether the process at these coordinates is one that this array is pinned to."""
        return not self.is_pinned or all(pin is None or pin == c for pin, c in zip(self.pins, coords, strict=True))

    def local_shape(self, rank: int) -> tuple[int, ...]:
        """The shape of the part that `rank` holds; all zero on a process that the array is not pinned to."""
        return self.held_by(rank).shape

    def held_by(self, rank: int) -> Held:
        """What `rank` holds."""
        held = self._last_held
        if held.rank != rank:
            held = self._last_held = self._held(rank)
        return held

    def _held(self, rank: int) -> Held:
        coords = coords_from_rank(self.grid, rank)
        is_any = self.holds(coords)
        intervals, shape = [], []
        for dim in self.dims:
            coord = 0 if dim.axis is None else coords[dim.axis]
            interval = dim.owned_interval(coord)
            intervals.append(interval)
            if not is_any:
                shape.append(0)
            else:
                shape.append(dim.local_extent(coord) if interval is None else interval[1] - interval[0])
        stride, strides = 1, []
        for n in reversed(shape):
            strides.append(stride)
            stride *= n or 1
        return Held(rank, coords, is_any, tuple(intervals), tuple(shape), tuple(strides[::-1]),
                    math.prod(shape))

    def owner_from_global_index(self, index: Sequence[int]) -> int:
        """The lowest rank that holds the element."""
        coords = [pin or 0 for pin in self.pins]
        for dim, i in zip(self.dims, index, strict=True):
            if dim.axis is not None:
                coords[dim.axis] = int(dim.owner_from_part(dim.part_from_index(i)))
        return self.rank_from_coords(coords)

    def local_from_global_index(self, index: Sequence[int]) -> tuple[int, ...]:
        """The local index of the element on its owners."""
        parts = [int(dim.part_from_index(i)) for dim, i in zip(self.dims, index, strict=True)]
        return tuple(int(dim.local_from_index(i, k)) for dim, k, i in zip(self.dims, parts, index, strict=True))

    @lazy
    def max_local_size(self) -> int:
        """The number of elements of the largest part: no process holds more."""
        return math.prod(max(dim.local_extent(c) for c in range(dim.n_procs)) for dim in self.dims)

    def __repr__(self) -> str:
        dims = ", ".join(f"{dim}" + ("" if dim.axis is None else f" on axis {dim.axis}") for dim in self.dims)
        pins = "" if all(p is None for p in self.pins) else f", pins={self.pins}"
        return f"Layout(shape={self.shape}, ({dims}), grid={self.grid}{pins})"


@cached
def layout_of_number(grid: tuple[int, ...], pins: tuple[int | None, ...]) -> Layout:
    """That of an array without dimensions."""
    return Layout(grid, (), pins)


def check_shape(shape: tuple[int, ...]) -> None:
    """Raise ValueError for more dimensions than NumPy's arrays have, or more elements than 64 bits count."""
    if len(shape) > MAX_NDIM:
        raise ValueError(f"an array of {len(shape)} dimensions has more than the {MAX_NDIM} that there may be: reshape "
                         "to fewer")
    if max(shape, default=0) > MAX_SIZE or math.prod(shape) > MAX_SIZE:
        raise ValueError(f"an array of shape {shape} has more than the 2**63 - 1 elements that there may be: take a "
                         "smaller one")


@cached
def coords_from_rank(grid: tuple[int, ...], rank: int) -> tuple[int, ...]:
    """The place in a row-major grid of a rank."""
    coords = []
    for n in reversed(grid):
        rank, coord = divmod(rank, n)
        coords.append(coord)
    return tuple(reversed(coords))


@cached
def rank_from_coords(grid: tuple[int, ...], coords: tuple[int, ...]) -> int:
    """The rank at a place in a row-major grid."""
    rank = 0
    for n, coord in zip(grid, coords, strict=True):
        rank = rank * n + coord
    return rank


@cached
def without_dims(layout: Layout, dims: tuple[int, ...]) -> Layout:
    """The layout of the other dimensions, replicated along the axes of these."""
    if not dims:
        return layout
    return Layout(layout.grid, [dim for d, dim in enumerate(layout.dims) if d not in dims], layout.pins)


@cached
def going_with(layout: Layout, shape: tuple[int, ...], core: tuple[int, ...] = ()) -> Layout:
    """Where an array lies that is needed with one of a layout: of a shape that broadcasts to it, then whole dimensions.
    """
    own = layout.dims[layout.ndim - len(shape):]
    dims = [dim if dim.extent == n else whole_dim(n) for dim, n in zip(own, shape, strict=True)]
    return Layout(layout.grid, [*dims, *map(whole_dim, core)], layout.pins)


def replicated(shape: Sequence[int], n_procs: int) -> Layout:
    """Every process holds the whole array."""
    return _replicated(tuple(shape), n_procs)


@cached
def _replicated(shape: tuple[int, ...], n_procs: int) -> Layout:
    return Layout((n_procs,), [whole_dim(n) for n in shape])


def one_process(shape: Sequence[int], n_procs: int, rank: int) -> Layout:
    """The process `rank` alone holds the whole array."""
    if not 0 <= rank < n_procs:
        raise ValueError(f"onenode={rank} is not a rank of this job: its ranks are 0 to {n_procs - 1}")
    return Layout((n_procs,), [whole_dim(n) for n in shape], (rank,))


def check_grid(grid: Sequence[int], n_procs: int) -> tuple[int, ...]:
    """The grid as a tuple of positive integers whose product is the number of processes."""
    grid = tuple(operator.index(n) for n in grid)
    needed = math.prod(grid)
    if any(n < 1 for n in grid):
        raise ValueError(f"grid {grid} has an axis with less than one process")
    if needed != n_procs:
        raise ValueError(f"grid {grid} needs {needed} processes, this job has {n_procs}: "
                         f"use grid={near_square_grid(n_procs, len(grid)) or (n_procs,)}")
    return grid


_FORMAT = re.compile(r"(?P<whole>\*)|(?P<kind>block|cyclic)(\((?P<size>-?\d+)\))?")


@dataclass(frozen=True)
class Distribution:
    """How dimensions are dealt out over a process grid, in HPF's notation.

    Parameters
    ----------
    formats
        One per dimension: `"block"` (one balanced part per process), `"cyclic"`, `"cyclic(b)"` (blocks of b
        elements in turn), `"*"` (not distributed).
    grid
        Processes along each axis; by default a near-square grid with one axis per distributed dimension.
    axes
        Per dimension, the axis of the grid it is dealt out over, None for `"*"`; by default the axes in order.
        An axis without a dimension holds replicas.

    Raises
    ------
    ValueError
        For an unknown format, a block size below 1, or axes that are not distinct axes of the grid.

    Examples
    --------
    >>> Distribution("cyclic(2)", "*").bind((5, 3), n_procs=2).local_shape(0)
    (3, 3)
    """

    formats: tuple[str, ...]
    grid: tuple[int, ...] | None
    axes: tuple[int | None, ...] | None

    def __init__(self, *formats: str, grid: Sequence[int] | None = None,
                 axes: Sequence[int | None] | None = None) -> None:
        for text in formats:
            match = _FORMAT.fullmatch(text.replace(" ", "")) if isinstance(text, str) else None
            if match is None or (match["kind"] == "block" and match["size"]):
                raise ValueError(f"unknown distribution {text!r}: use 'block', 'cyclic', 'cyclic(b)' or '*'")
            if match["size"] is not None and int(match["size"]) < 1:
                raise ValueError(f"block size {match['size']} in {text!r} is below 1: use cyclic(1) or larger")
        object.__setattr__(self, "formats", tuple(formats))
        object.__setattr__(self, "grid", None if grid is None else tuple(grid))
        object.__setattr__(self, "axes", self._checked_axes(axes))

    def _checked_axes(self, axes: Sequence[int | None] | None) -> tuple[int | None, ...] | None:
        if axes is None:
            return None
        axes = tuple(axes)
        if len(axes) != len(self.formats):
            raise ValueError(f"axes={axes} names {len(axes)} dimensions, the distribution has {len(self.formats)}")
        used = [a for a in axes if a is not None]
        for text, axis in zip(self.formats, axes, strict=True):
            if (text == "*") != (axis is None):
                raise ValueError(f"axes={axes}: a dimension {text!r} takes {'None' if text == '*' else 'an axis'}")
        if len(set(used)) != len(used) or any(a < 0 for a in used):
            raise ValueError(f"axes={axes}: the axes of the grid must be distinct and not negative")
        return axes

    def bind(self, shape: Sequence[int], n_procs: int) -> Layout:
        """This distribution of an array of the given shape, over `n_procs` processes."""
        if len(shape) != len(self.formats):
            raise ValueError(f"shape {tuple(shape)} has {len(shape)} dimensions, "
                             f"the distribution {self.formats} has {len(self.formats)}")
        axes = self.axes
        if axes is None:
            counter = iter(range(len(self.formats)))
            axes = tuple(None if text == "*" else next(counter) for text in self.formats)
        n_axes = max((a + 1 for a in axes if a is not None), default=0)
        grid = check_grid(self.grid, n_procs) if self.grid is not None else near_square_grid(n_procs, max(n_axes, 1))
        if n_axes > len(grid):
            raise ValueError(f"axes={axes} need a grid of {n_axes} axes, grid={grid} has {len(grid)}")
        dims = [_bind_dim(text, n, axis, 1 if axis is None else grid[axis])
                for text, n, axis in zip(self.formats, shape, axes, strict=True)]
        return Layout(grid, dims)


def _bind_dim(text: str, extent: int, axis: int | None, n_procs: int) -> Dim:
    match = _FORMAT.fullmatch(text.replace(" ", ""))
    assert match is not None  # checked by Distribution
    if match["whole"]:
        return whole_dim(extent)
    if match["kind"] == "block":
        return BlockDim(extent, n_procs, axis, extent)
    return CyclicDim(extent, n_procs, axis, int(match["size"] or 1))


def default_layout(shape: Sequence[int], n_procs: int, grid: Sequence[int] | None = None,
                   block: Sequence[int | None] | None = None) -> Layout:
    """The layout of an array for which none is asked for: block (or cyclic(block)) in every dimension."""
    if not shape:
        return replicated((), n_procs)
    grid = near_square_grid(n_procs, len(shape)) if grid is None else grid
    block = (None,) * len(shape) if block is None else block
    return Layout(grid, [BlockDim(n, p, axis, n) if b is None else CyclicDim(n, p, axis, b)
                         for axis, (n, p, b) in enumerate(zip(shape, grid, block, strict=True))])
