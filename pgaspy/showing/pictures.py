"""Pictures, by matplotlib: who owns which blocks of an array, and which process sends what to whom."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from pgaspy.array import GlobalArray
from pgaspy.host.words import listed, of_bytes
from pgaspy.layout import Layout
from pgaspy.showing.explaining import Explanation

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

__all__ = ["draw", "new_figure", "save_figure"]

MAX_BLOCKS = 256
"""Along each dimension, which are drawn; more would be narrower than a pixel."""

MAX_NUMBERED = 20
"""Blocks along each dimension, or processes, up to which numbers are written into the cells."""


def draw(what: GlobalArray | Layout | Explanation, file: str | os.PathLike[str] | None = None) -> Figure:
    """Draw the blocks of an array in the colours of their owners, or who sends what to whom. Not collective.

    Parameters
    ----------
    what
        An array or a layout: its first two dimensions, at the first index of the others. Or what `explain` returned:
        the bytes that each process sends to each other one; the statement is planned for all of them.
    file
        Where to write the picture; its ending, such as `.png` or `.svg`, says what it is. Nowhere by default: a
        notebook shows what is returned.

    Raises
    ------
    ImportError
        Without matplotlib.
    """
    if isinstance(what, Explanation):
        figure = new_figure((5.6, 5.2))
        _draw_traffic(figure.subplots(), what.traffic())
    else:
        layout = what.layout if isinstance(what, GlobalArray) else what
        figure = new_figure((5.6, 5.2 if layout.ndim > 1 else 1.6))
        _draw_owners(figure.subplots(), layout)
    if file is not None:
        save_figure(figure, file)
    return figure


def new_figure(size: tuple[float, float]) -> Figure:
    """A figure of a size in inches, without a window."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=size, layout="constrained")
    FigureCanvasAgg(figure)
    return figure


def save_figure(figure: Figure, file: str | os.PathLike[str]) -> None:
    """Write a figure as what the ending of the file's name says."""
    figure.savefig(file, dpi=150)


# Blocks and their owners ----------------------------------------------------------------------------------------------


def _draw_owners(axes: Axes, layout: Layout) -> None:
    owners, edges = _owners(layout)
    n = layout.n_procs
    axes.pcolormesh(*reversed(edges), owners, cmap=_colours(n), vmin=-0.5, vmax=max(n, 2) - 0.5,
                    edgecolor="white", linewidth=0.6 if max(owners.shape) <= 64 else 0)
    if max(owners.shape) <= MAX_NUMBERED:
        _number(axes, owners, edges)
    axes.invert_yaxis()
    axes.set_aspect("equal" if layout.ndim > 1 and 0.2 < edges[0][-1] / max(edges[1][-1], 1) < 5 else "auto")
    if layout.ndim < 2:
        axes.set_yticks([])
    axes.set(title=_about(layout, edges), xlabel="index" if layout.ndim < 2 else "dimension 1",
             ylabel="" if layout.ndim < 2 else "dimension 0")
    axes.tick_params(length=0)
    axes.spines[:].set_visible(False)


def _owners(layout: Layout) -> tuple[NDArray[np.int64], list[NDArray[np.int64]]]:
    """The first owner of each block of the first two dimensions, and the edges of the blocks along both."""
    parts, edges = [], []
    for dim in layout.dims[:2]:
        n = min(dim.n_blocks, MAX_BLOCKS)
        parts.append([0 if dim.axis is None else int(dim.owner_from_part(k)) for k in range(n)])
        edges.append(np.array([int(dim.part_edge(k)) for k in range(n)] + [
            dim.extent if n == dim.n_blocks else int(dim.part_edge(n))]))
    while len(parts) < 2:
        parts.insert(0, [0])
        edges.insert(0, np.array([0, 1]))
    coords = [0 if pin is None else pin for pin in layout.pins]
    owners = np.zeros((len(parts[0]), len(parts[1])), np.int64)
    for row, first in enumerate(parts[0]):
        for column, second in enumerate(parts[1]):
            for dim, coord in zip(layout.dims[:2], (first, second)[-min(layout.ndim, 2):], strict=False):
                if dim.axis is not None:
                    coords[dim.axis] = coord
            owners[row, column] = layout.rank_from_coords(coords)
    return owners, edges


def _about(layout: Layout, edges: list[NDArray[np.int64]]) -> str:
    title = f"{layout.shape} over a grid of {' x '.join(map(str, layout.grid))}"
    if layout.replica_axes:
        n = int(np.prod([layout.grid[axis] for axis in layout.replica_axes]))
        title += f"\neach element on {n} processes, of which the first is shown"
    if layout.ndim > 2:
        title += "\nat the first index of the other dimensions"
    if any(edge[-1] < dim.extent for edge, dim in zip(edges[-min(layout.ndim, 2):], layout.dims, strict=False)):
        title += f"\nthe first {MAX_BLOCKS} blocks"
    return title


def _readable_on(colour: tuple[float, ...]) -> str:
    red, green, blue, *_ = colour
    return "black" if 0.299 * red + 0.587 * green + 0.114 * blue > 0.55 else "white"


def _number(axes: Axes, owners: NDArray[np.int64], edges: list[NDArray[np.int64]]) -> None:
    """Write the ranks into the blocks."""
    colours = axes.collections[0]
    middles = [(edge[:-1] + edge[1:]) / 2 for edge in edges]
    for row, y in enumerate(middles[0]):
        for column, x in enumerate(middles[1]):
            axes.text(x, y, str(owners[row, column]), ha="center", va="center", fontsize=8,
                      color=_readable_on(tuple(colours.to_rgba(owners[row, column]))))


def _colours(n: int) -> Any:
    """A colour for each process: distinct ones of few, neighbouring ones of many."""
    from matplotlib import colormaps
    from matplotlib.colors import ListedColormap

    if n <= 10:
        return ListedColormap([colormaps["tab10"](k) for k in range(max(n, 2))])
    return colormaps["turbo"].resampled(n)


# Who sends what to whom -----------------------------------------------------------------------------------------------


def _draw_traffic(axes: Axes, nbytes: NDArray[np.int64]) -> None:
    from matplotlib.colors import LogNorm
    from matplotlib.ticker import FuncFormatter, MaxNLocator

    n = len(nbytes)
    sent = np.ma.masked_equal(nbytes, 0)
    high = int(nbytes.max()) or 1
    low = int(nbytes[nbytes > 0].min(initial=high))
    image = axes.imshow(sent, cmap="YlGnBu", norm=LogNorm(low / 2, high))
    axes.set(title=f"{of_bytes(int(nbytes.sum()))} from {listed('rank', range(n))}" if n > 1 else "one process",
             xlabel="to rank", ylabel="from rank")
    for axis in axes.xaxis, axes.yaxis:
        axis.set_major_locator(MaxNLocator(integer=True, nbins=min(n, 16)))
    axes.set_facecolor("0.96")
    if n <= MAX_NUMBERED // 2:
        for row, column in np.argwhere(nbytes):
            axes.text(column, row, of_bytes(int(nbytes[row, column])), ha="center", va="center", fontsize=7,
                      color=_readable_on(tuple(image.to_rgba(nbytes[row, column]))))
    elif sent.count():
        axes.figure.colorbar(image, ax=axes, shrink=0.8, format=FuncFormatter(lambda x, _: of_bytes(round(x))))
