"""Distributions: how dimensions are dealt out, in the notation of High Performance Fortran (HPF).

Bound to a shape and a number of processes, one is a `Layout`.
"""

from __future__ import annotations

import math
import operator
import re
from collections.abc import Sequence
from dataclasses import dataclass

from pgaspy.blockmath import near_square_grid
from pgaspy.dims import BlockDim, CyclicDim, Dim, whole_dim
from pgaspy.layout import MAX_SIZE, Layout, replicated

__all__ = ["Distribution", "check_grid", "default_grid", "default_layout"]


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
        For an unknown format, a block size below 1 or above 2**63 - 1, or axes that are not distinct axes of the grid.

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
            if match["size"] is not None and not 0 < int(match["size"]) <= MAX_SIZE:
                raise ValueError(f"block size {match['size']} in {text!r} is below 1: use cyclic(1) or larger, up to "
                                 "2**63 - 1")
        object.__setattr__(self, "formats", tuple(formats))
        object.__setattr__(self, "grid", None if grid is None else tuple(map(operator.index, grid)))
        object.__setattr__(self, "axes", self._checked_axes(axes))

    def _checked_axes(self, axes: Sequence[int | None] | None) -> tuple[int | None, ...] | None:
        if axes is None:
            return None
        axes = tuple([None if axis is None else operator.index(axis) for axis in axes])
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


SHORT, SHORTER = 9, 8
"""An axis of up to so many elements, of which the longest axis has so many times as many, is a short one."""


def default_grid(shape: Sequence[int], n_procs: int) -> tuple[int, ...]:
    """The process grid of an array for which none is asked for: near-square, over the axes that are not short, where
    these have room for all processes.

    Short axes are those of components, channels and coordinates: dealt out, what works on several of them at once would
    send all that it reads. Longer ones are signals, moments of a time, or points, whose grid does not depend on their
    extents: what has a few points less lies alike.

    >>> default_grid((1000, 1000), 4), default_grid((2, 1000, 1000), 4), default_grid((1000, 3), 4)
    ((2, 2), (1, 2, 2), (4, 1))
    """
    longest = max(shape)
    are_long = [extent > SHORT or SHORTER * extent > longest for extent in shape]
    of_long = iter(near_square_grid(n_procs, sum(are_long)))
    grid = tuple(next(of_long) if is_long else 1 for is_long in are_long)
    has_room = any(are_long) and all(p <= extent for p, extent in zip(grid, shape, strict=True))
    return grid if has_room else near_square_grid(n_procs, len(shape))


def default_layout(shape: Sequence[int], n_procs: int, grid: Sequence[int] | None = None,
                   block: Sequence[int | None] | None = None) -> Layout:
    """The layout of an array for which none is asked for: block (or cyclic(block)) in every dimension."""
    if not shape:
        return replicated((), n_procs)
    grid = default_grid(shape, n_procs) if grid is None else grid
    block = (None,) * len(shape) if block is None else block
    return Layout(grid, [BlockDim(n, p, axis, n) if b is None else CyclicDim(n, p, axis, b)
                         for axis, (n, p, b) in enumerate(zip(shape, grid, block, strict=True))])
