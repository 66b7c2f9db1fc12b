"""Layouts: which process holds which element, and where in its local part.

A `Layout` is a pure map *global index <-> (owner, local index)*: the product of its dimensions over a grid of
processes. It is frozen and knows no communicator, so that it can be made, and checked, for any number of simulated
processes.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Sequence
from typing import NamedTuple

from pgaspy._layouts import begin
from pgaspy._layouts import held as held_of
from pgaspy.caches import acyclic, cached, lazy
from pgaspy.dims import Dim, whole_dim

__all__ = ["MAX_NDIM", "MAX_SIZE", "Held", "Layout", "check_shape", "coords_from_rank", "going_with",
           "layout_of_number", "one_process", "rank_from_coords", "replicated", "without_dims"]

MAX_NDIM = 64
"""The most dimensions of an array, as NumPy has it."""

MAX_SIZE = 2**63 - 1
"""The most elements of an array, which are counted by 64 bits, and the most along a dimension."""


class Held(NamedTuple):
    """What one process holds of an array; made in C, where `affine`, too, knows the order of the fields.

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


begin(Held)

_NOBODYS = Held(-1, (), False, (), (), (), 0)


@acyclic
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
    def axes_of_several(self) -> tuple[int, ...]:
        """The axes of the grid with more than one process: who holds what follows from these."""
        return tuple(axis for axis, n in enumerate(self.grid) if n > 1)

    @lazy
    def grid_of_several(self) -> tuple[int, ...]:
        """The number of processes along these."""
        return tuple(n for n in self.grid if n > 1)

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
            held = self._last_held = held_of(self, rank)
        return held

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
    left = [dim for d, dim in enumerate(layout.dims) if d not in dims]
    return Layout(layout.grid, left, layout.pins)  # which may be too large, where one of the others is empty


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
    rank = operator.index(rank)  # also NumPy's integers, which caches take for Python's
    if not 0 <= rank < n_procs:
        raise ValueError(f"onenode={rank} is not a rank of this job: its ranks are 0 to {n_procs - 1}")
    return Layout((n_procs,), [whole_dim(n) for n in shape], (rank,))
