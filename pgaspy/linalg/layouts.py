"""Where matrices are factored, and where results lie."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

import pgaspy as pg
from pgaspy.caches import cached
from pgaspy.dims import CyclicDim
from pgaspy.distribution import Distribution
from pgaspy.layout import Layout
from pgaspy.planning.result_layout import inherited
from pgaspy.planning.view import View

__all__ = ["as_given", "dealt_as", "factored_layout", "in_square_blocks", "is_tall", "layout_as",
           "lies_in_square_blocks", "moved"]

BLOCK = 192
"""Rows and columns of a block, where the matrix is large enough for each process to have some blocks."""

BLOCKS_OF_A_PROCESS = 8
"""Columns of blocks that each process has at least, until blocks are the smallest: so that all work to the end."""

SMALLEST_BLOCK, LARGEST_BLOCK = 32, 256
"""Matrices that lie in other blocks than these are dealt out anew."""

FLAT_GRIDS = 8
"""Up to so many processes, the grid has one row (or column): there LAPACK factors the panels."""

TALL = 8
"""From so many times as many rows as columns on, on each process, the rows are dealt out, and the columns are not."""

MOVED_AT_ONCE_BYTES = 32 << 20
"""Of a matrix, on each process."""


def factored_layout(shape: tuple[int, ...], by_rows: bool = False) -> Layout:
    """Square blocks, dealt out in turn: over one row of processes, or a grid that has few rows; or one column.

    The other way round where panels are rows of blocks, `by_rows`.
    """
    p = pg.SIZE
    rows = 1 if p <= FLAT_GRIDS else max(r for r in range(1, math.isqrt(p) + 1) if p % r == 0)
    rows = p if is_tall(shape) else p // rows if by_rows else rows
    b = min(max(-(-shape[1] // (BLOCKS_OF_A_PROCESS * (p // rows))), SMALLEST_BLOCK), BLOCK)
    return Distribution(f"cyclic({b})", f"cyclic({b})", grid=(rows, p // rows)).bind(shape, p)


def is_tall(shape: tuple[int, ...]) -> bool:
    """Whether a matrix has so many rows that whole columns would burden few processes with all of it."""
    return pg.SIZE > 1 and shape[0] >= TALL * pg.SIZE * max(shape[1], 1)


def lies_in_square_blocks(a: pg.GlobalArray, by_rows: bool = False) -> bool:
    """Whether a matrix can be factored where it lies."""
    layout, wanted = a._view.own_layout, factored_layout(a.shape, by_rows)
    return layout is not None and layout.grid == wanted.grid and all(
        isinstance(dim, CyclicDim) and dim.axis == d and dim.first_length == dim.block == layout.dims[0].block
        and SMALLEST_BLOCK <= dim.block <= LARGEST_BLOCK for d, dim in enumerate(layout.dims))


def in_square_blocks(a: pg.GlobalArray, dtype: np.dtype[Any], overwrite: bool = False,
                     by_rows: bool = False) -> pg.GlobalArray:
    """A copy of a matrix that can be factored where it lies; itself, if it may be overwritten and lies so already."""
    lies_so = lies_in_square_blocks(a, by_rows)
    if lies_so and overwrite and a.dtype == dtype:
        return a
    return moved(a, a.layout if lies_so else factored_layout(a.shape, by_rows), dtype)


def moved(a: pg.GlobalArray, layout: Distribution | Layout | None, dtype: np.dtype[Any]) -> pg.GlobalArray:
    """A copy in another layout and dtype."""
    result = pg.empty(a.shape, dtype, layout=layout)
    _assign_in_parts(result, a)
    return result


def dealt_as(a: pg.GlobalArray, shape: tuple[int, ...], dtype: np.dtype[Any]) -> pg.GlobalArray:
    """A new array in the layout of another: dealt out afresh where it has to be, in the default where none fits."""
    return pg.empty(shape, dtype, layout=layout_as(a, shape))


def as_given(x: pg.GlobalArray, a: pg.GlobalArray) -> pg.GlobalArray:
    """A new array in the layout of another; of its one column, where that is a vector."""
    if a.ndim == 1 and x.ndim == 2:
        x = x[:, 0]
    layout = layout_as(a, x.shape)
    if layout is not None and x._view.is_whole and x._view.layout == layout:
        return x
    result = pg.empty(x.shape, x.dtype, layout=layout)
    _assign_in_parts(result, x)
    return result


def _assign_in_parts(target: pg.GlobalArray, source: pg.GlobalArray) -> None:
    """Copy all elements; if there are many, part by part, so that messages take little memory."""
    if not source.ndim:
        target[...] = source
        return
    n_parts = -(-target.layout.max_local_size * target.itemsize // MOVED_AT_ONCE_BYTES)
    own = source._view.own_layout
    lengths = source.shape if own is None else tuple(dim.extent // dim.n_procs for dim in own.dims)
    d = lengths.index(max(lengths))                                     # so that most processes have some of each part
    n = source.shape[d]
    for k in range(n_parts):
        part = (slice(None),) * d + (slice(n * k // n_parts, n * (k + 1) // n_parts),)
        target[part] = source[part]


def layout_as(a: pg.GlobalArray, shape: tuple[int, ...]) -> Layout | None:
    """The layout of another array, dealt out afresh where it has to be; None where none fits."""
    return _layout_as(a._view, shape)


@cached
def _layout_as(view: View, shape: tuple[int, ...]) -> Layout | None:
    layout = view.own_layout
    if layout is None or layout.ndim != len(shape):
        return None
    return Layout(layout.grid, [inherited(dim, n) for dim, n in zip(layout.dims, shape, strict=True)], layout.pins)
