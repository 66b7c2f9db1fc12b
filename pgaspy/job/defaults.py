"""What holds in a job unless told otherwise: its layout, set once, before the first array is made; and fallbacks."""

from __future__ import annotations

import math
import operator
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field

from pgaspy.caches import cached
from pgaspy.distribution import Distribution, check_grid, default_layout
from pgaspy.host.call_sites import CallSite
from pgaspy.job.procgrid import when_ended, world
from pgaspy.layout import Layout, one_process

__all__ = ["Fallbacks", "blocksize", "datalayout", "default_for", "fallbacks", "layout_for", "set_anew"]


@dataclass
class Fallbacks:
    """What functions that are missing may copy, if anything was said; those that were warned of, and their lines."""

    max_bytes: int | None = None
    warned: set[tuple[str, CallSite]] = field(default_factory=set)


@dataclass
class _Defaults:
    """Of a job: its grids, by their number of dimensions; its block size; and whether they can still be set."""

    grids: dict[int, tuple[int, ...]] = field(default_factory=dict)
    block: int | None = None
    are_fixed: bool = False
    fallbacks: Fallbacks = field(default_factory=Fallbacks)


_of_job = _Defaults()


def _end() -> None:
    """Have none set for the next job. They can be set before the first one starts, so that this is at its end."""
    global _of_job
    _of_job = _Defaults()


when_ended.append(_end)


@contextmanager
def set_anew() -> Iterator[None]:
    """Have none set meanwhile, as in a job that is simulated."""
    global _of_job
    before, _of_job = _of_job, _Defaults()
    try:
        yield
    finally:
        _of_job = before


def datalayout(grid: Sequence[int] | Mapping[int, Sequence[int]] | None = None, block: int | None = None) -> None:
    """Set the job's default layout. Collective; once, and before the first array is made.

    Parameters
    ----------
    grid
        Processes along each axis, for arrays of as many dimensions; or a mapping from the number of dimensions to
        such a grid. For other numbers of dimensions it is near-square, over the axes that are not short.
    block
        Elements per block and dimension, dealt out in turn (`cyclic(block)`); None for one balanced block per
        process.

    Raises
    ------
    ValueError
        If the product of a grid is not the number of processes, or the block size is below 1.
    RuntimeError
        If an array was made already, or the default was set before.
    """
    if _of_job.are_fixed:
        raise RuntimeError("the default layout is fixed: call datalayout() once, before the first array is made; "
                           "other layouts go by array, as layout=")
    block = None if block is None else operator.index(block)
    if block is not None and block < 1:
        raise ValueError(f"block size {block} is below 1: use a positive one, or None for one block per process")
    grids: dict[int, Sequence[int]] = {}
    if grid is not None:
        if not isinstance(grid, Mapping | Sequence) or isinstance(grid, str):
            raise TypeError(f"grid= takes the processes along each axis, such as (2, 1), not {grid!r}")
        grids = dict(grid) if isinstance(grid, Mapping) else {len(grid): grid}
    checked = {ndim: check_grid(shape, world().size) for ndim, shape in grids.items()}
    for ndim, shape in checked.items():
        if len(shape) != ndim:
            raise ValueError(f"grid {shape} has {len(shape)} axes, but is given for arrays of {ndim} dimensions")
    _of_job.grids, _of_job.block, _of_job.are_fixed = checked, block, True


def fallbacks() -> Fallbacks:
    """What the job may do where a function is missing."""
    return _of_job.fallbacks


def blocksize() -> int | None:
    """The job's block size; None for one block per process."""
    return _of_job.block


def default_for(shape: tuple[int, ...]) -> Layout:
    """The layout of an array for which none is asked for; from the first one on, the default is fixed."""
    defaults = _of_job
    defaults.are_fixed = True
    return _default(shape, world().size, defaults.grids.get(len(shape)), defaults.block)


@cached
def _default(shape: tuple[int, ...], n_procs: int, grid: tuple[int, ...] | None, block: int | None) -> Layout:
    if grid is not None and math.prod(grid) != n_procs:
        grid = None  # a simulated job of another size
    return default_layout(shape, n_procs, grid, (block,) * len(shape))


def layout_for(shape: tuple[int, ...], layout: Distribution | Layout | None, onenode: int | None) -> Layout:
    """The layout that a creation function was asked for.

    Raises
    ------
    ValueError
        If `layout` does not fit the shape or the job, or is given together with `onenode`.
    """
    if onenode is not None:
        if layout is not None:
            raise ValueError("layout= and onenode= exclude each other: onenode puts the whole array on one process")
        default_for(())
        return one_process(shape, world().size, onenode)
    if layout is None:
        return default_for(shape)
    default_for(())
    if isinstance(layout, Distribution):
        return layout.bind(shape, world().size)
    if not isinstance(layout, Layout):
        raise TypeError("layout= takes a Distribution or a Layout, such as Distribution('cyclic(64)', '*'), "
                        f"not {layout!r}")
    if layout.shape != shape:
        raise ValueError(f"layout= is for shape {layout.shape}, the array has shape {shape}: pass its Distribution")
    if layout.n_procs != world().size:
        raise ValueError(f"layout= is for {layout.n_procs} processes, this job has {world().size}")
    return layout
