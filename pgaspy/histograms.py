"""Histograms: how many elements of arrays fall into bins.

Each process counts its part; the counts are added. So a process holds as many numbers as there are bins.
"""

from __future__ import annotations

import builtins
import operator
from collections.abc import Callable, Sequence, Sized
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from pgaspy.array import GlobalArray
from pgaspy.bin_rules import number_of_bins
from pgaspy.creation import as_global, empty, of_each_process, zeros
from pgaspy.dispatch import implements
from pgaspy.distribution import Distribution
from pgaspy.execution.recording import taking_memory
from pgaspy.host.call_sites import warn
from pgaspy.job.procgrid import world
from pgaspy.kernels import bindings
from pgaspy.operands import refuse_truths
from pgaspy.small_calls import MAX_PASSED, as_new, by_numpy
from pgaspy.tasks import perform, write
from pgaspy.values import told, value

__all__ = ["bincount", "histogram", "histogram2d", "histogram_bin_edges", "histogramdd"]

Range = tuple[float, float]

EXACT_BYTES = 8
"""Shorter integers are float64 to the last digit."""

NEGATIVE = np.iinfo(np.int64).max
"""So many bins are needed where an element is negative: there are none for it."""


@implements(np.bincount)
@by_numpy(np.bincount, lying="everywhere", like=as_new, max_elements=MAX_PASSED)
def bincount(x: Any, /, weights: Any = None, minlength: int = 0) -> GlobalArray:
    """How often each integer occurs in an array. Collective; waits for the largest of them.

    Parameters
    ----------
    x
        Integers that are not negative, shape (n,).
    weights
        Shape (n,): what is added for each element, instead of one.
    minlength
        The least number of counts.

    Returns
    -------
    The counts, int64, or the sums of weights, float64: as many as the largest element and one more. Every process holds
    all of them. The order in which weights are added follows from the layout.

    Raises
    ------
    ValueError
        If `x` has another number of dimensions or negative elements, `weights` another shape, or if `minlength` is
        negative.
    TypeError
        If an element may not fit into int64, or a weight not into float64.

    Examples
    --------
    >>> import pgaspy as pg
    >>> pg.bincount(pg.array([0, 1, 1, 3])).gather()
    array([1, 2, 0, 1])
    """
    given, x = x, as_global(x)
    weights = None if weights is None else as_global(weights)
    if x.ndim != 1:
        raise ValueError(f"object {'too deep' if x.ndim else 'of too small depth'} for desired array")
    if weights is not None and weights.shape != x.shape:
        raise ValueError("The weights and list don't have the same length.")
    refuse_truths(minlength)
    n_bins = operator.index(minlength)
    if n_bins < 0:
        raise ValueError("'minlength' must not be negative")
    if x.size or hasattr(given, "dtype"):
        np.bincount(np.zeros(1, x.dtype), None if weights is None else np.zeros(1, weights.dtype))  # raises for dtypes
    if not x.size:
        return zeros(n_bins, np.int64)
    np.empty(n_bins)  # raises where there is no memory, on all processes
    if n_bins:
        counts, needed = _bincount(x, weights, n_bins)
        n_needed = value(needed.max(), n_bins)
        if n_needed <= n_bins:
            return counts
    else:
        low, high = _extremes(x).tolist()
        n_needed = high + 1 if low >= 0 else NEGATIVE
    if n_needed == NEGATIVE:
        raise ValueError("'list' argument must have no negative elements")
    np.empty(n_needed)
    counts, _ = _bincount(x, weights, n_needed)
    return counts


@implements(np.histogram)
def histogram(a: Any, bins: int | str | ArrayLike = 10, range: Range | None = None, density: bool | None = None,
              weights: Any = None) -> tuple[GlobalArray, NDArray[Any]]:
    """How many elements of an array fall into each bin. Collective; waits for the extremes, where no range is given.

    Parameters
    ----------
    a
        Any shape.
    bins
        How many bins of one width, or their edges, shape (n + 1,), which increase. A bin includes its left edge, the
        last one both. Or the name of one of NumPy's rules for how many there should be: "auto", "doane", "fd", "rice",
        "scott", "sqrt", "stone", "sturges".
    range
        Of the bins, where their number is given; that of the elements by default.
    density
        Divide by the width of each bin, and by the sum of all.
    weights
        As `a`: what is added for each element, instead of one.

    Returns
    -------
    counts
        Shape (n,), int64, or of the dtype of the weights. Every process holds all of them.
    edges
        Shape (n + 1,), a NumPy array.

    Raises
    ------
    ValueError
        If there are no bins, or their edges do not increase, or no such rule; if the range is not finite; if weights
        have another shape.
    TypeError
        If `bins` is neither, or a rule, and there are weights.

    Examples
    --------
    >>> import pgaspy as pg
    >>> counts, edges = pg.histogram(pg.array([1.0, 2.0, 1.0, 4.0]), bins=3)
    >>> counts.gather()
    array([2, 1, 1])
    """
    a = _without_flags(as_global(a))
    if a.dtype.kind == "c":
        raise TypeError("complex numbers have no order that bins could follow")
    weights = None if weights is None else as_global(weights)
    if weights is not None and weights.shape != a.shape:
        raise ValueError("weights should have the same shape as a.")
    bins, range = told(bins), told(range)
    found = histogram_bin_edges(a, bins, range, weights)
    bins = found.size - 1 if isinstance(bins, str) else bins
    edges = found.copy()  # as the program may change those that it gets, or has given
    n_bins, is_uniform = max(edges.size - 1, 0), np.ndim(bins) == 0
    dtype = np.dtype(np.int64) if weights is None else weights.dtype
    is_exact = a.dtype.kind == "f" or a.dtype.itemsize < EXACT_BYTES
    if is_exact and edges.dtype == np.float64 and np.can_cast(a.dtype, np.float64) and (
            weights is None or weights.dtype.char in "efd"):
        def count(counts: NDArray[Any], a: NDArray[Any], weights: NDArray[Any] | None) -> None:
            found = counts if weights is None or weights.dtype == np.float64 else np.empty(n_bins)
            bindings.histogram(_contiguous(a, np.float64), _doubles(weights), found, edges, is_uniform)
            if found is not counts:
                counts[:] = found
    else:
        ends: Any = (edges[0], edges[-1]) if range is None else tuple(range)  # as given: a short dtype rounds the edges

        def count(counts: NDArray[Any], a: NDArray[Any], weights: NDArray[Any] | None) -> None:
            bins, its_range = (n_bins, ends) if is_uniform else (edges, None)
            counts[:] = np.histogram(a.reshape(-1), bins, its_range, weights=weights)[0]

        # raises for dtypes
        count(np.empty(n_bins, dtype), np.zeros(1, a.dtype), None if weights is None else np.zeros(1, weights.dtype))
    counts = _counted(count, [a], weights, (n_bins,), dtype)
    if not density:
        return counts, found
    return counts / np.diff(edges).astype(float) / counts.sum(), found


@implements(np.histogram_bin_edges)
@taking_memory
def histogram_bin_edges(a: Any, bins: int | str | ArrayLike = 10, range: Range | None = None,
                        weights: Any = None) -> NDArray[Any]:
    """The edges of the bins of `histogram`, which see. Collective, where no range is given.

    Examples
    --------
    >>> import pgaspy as pg
    >>> pg.histogram_bin_edges(pg.array([1.0, 2.0, 4.0]), bins=3)
    array([1., 2., 3., 4.])
    """
    a = _without_flags(as_global(a))
    bins, range = told(bins), told(range)
    is_asked = range is None and np.ndim(bins) == 0 and a.size > 0
    extremes = _extremes(a) if is_asked else np.empty(0, a.dtype)
    if isinstance(bins, str):
        if weights is not None:
            raise TypeError("Automated estimation of the number of bins is not supported for weighted data")
        ends = np.histogram_bin_edges(extremes, 1, range)
        within = a if range is None else a[(a >= ends[0]) & (a <= ends[1])]
        bins = number_of_bins(within, bins, ends[1] - ends[0],
                              lambda n_bins: histogram(within, n_bins, tuple(ends))[0].gather())
    return np.histogram_bin_edges(extremes, bins, range)


@implements(np.histogramdd)
def histogramdd(sample: Any, bins: Any = 10, range: Sequence[Range] | None = None, density: bool | None = None,
                weights: Any = None) -> tuple[GlobalArray, list[NDArray[Any]]]:
    """How many points fall into each bin of several dimensions. Collective.

    Parameters
    ----------
    sample
        The points, shape (n, d); or d arrays of shape (n,).
    bins
        For each dimension, or for all, how many bins of one width; or for each their edges.
    range, density
        As in `histogram`; a range for each dimension.
    weights
        Shape (n,): what is added for each point, instead of one.

    Returns
    -------
    counts
        One dimension for each of the points, float64. Every process holds all of them.
    edges
        For each dimension, a NumPy array.

    Raises
    ------
    ValueError, TypeError
        As NumPy's.

    Examples
    --------
    >>> import pgaspy as pg
    >>> pg.histogramdd(pg.array([[0.0, 0.0], [1.0, 1.0], [1.0, 0.0]]), bins=2)[0].gather()
    array([[1., 0.],
           [1., 1.]])
    """
    if isinstance(sample, GlobalArray | np.ndarray):
        points = as_global(sample)
        columns = ([points[:, d] for d in builtins.range(points.shape[1])] if points.ndim == 2 else
                   [points if points.ndim else points.reshape(1)])
    else:
        columns = [as_global(x) for x in sample]
    if any(x.shape != columns[0].shape or x.ndim != 1 for x in columns):
        raise ValueError("the coordinates of points are arrays of one dimension and of the same length")
    dtype = np.result_type(*[x.dtype for x in columns])
    columns = [x.astype(dtype) for x in columns]
    weights = None if weights is None else as_global(weights)
    if weights is not None and weights.shape != columns[0].shape:
        raise ValueError("The weights and list don't have the same length.")
    bins, range = told(bins), told(range)
    edges = [*np.histogramdd(np.stack([_extremes(x) for x in columns], axis=1), bins, range)[1]]
    own_edges = [edge.copy() for edge in edges]

    def count(counts: NDArray[Any], *parts: Any) -> None:
        *points, weights = parts
        counts[...] = np.histogramdd(points, own_edges, weights=weights)[0]

    shape = tuple(len(edge) - 1 for edge in edges)
    count(np.empty(shape), *[np.zeros(1, dtype)] * len(columns),
          None if weights is None else np.zeros(1, weights.dtype))  # raises for dtypes
    counts = _counted(count, columns, weights, shape, np.dtype(np.float64))
    if density:
        total = counts.sum()
        for d, edge in enumerate(edges):
            counts = counts / np.diff(edge).reshape([-1 if k == d else 1 for k in builtins.range(len(edges))])
        counts /= total
    return counts, edges


@implements(np.histogram2d)
def histogram2d(x: Any, y: Any, bins: Any = 10, range: Sequence[Range] | None = None,
                density: bool | None = None, weights: Any = None) -> tuple[GlobalArray, NDArray[Any], NDArray[Any]]:
    """How many points (x, y) fall into each bin of two dimensions: see `histogramdd`. Collective.

    Returns
    -------
    counts, x_edges, y_edges
        Shapes (n, m), (n + 1,) and (m + 1,); the counts float64.

    Examples
    --------
    >>> import pgaspy as pg
    >>> pg.histogram2d(pg.array([0.0, 1.0, 1.0]), pg.array([0.0, 1.0, 0.0]), bins=2)[0].gather()
    array([[1., 0.],
           [1., 1.]])
    """
    x, y = as_global(x), as_global(y)
    if len(x) != len(y):
        raise ValueError("x and y must have the same length.")
    bins = told(bins)
    if isinstance(bins, Sized) and len(bins) > 2:
        bins = [bins, bins]
    counts, (x_edges, y_edges) = histogramdd([x, y], bins, range, density, weights)
    return counts, x_edges, y_edges


def _without_flags(a: GlobalArray) -> GlobalArray:
    """Elements that can be subtracted, as NumPy has those of a histogram."""
    if a.dtype != bool:
        return a
    warn("Converting input from bool to <class 'numpy.uint8'> for compatibility.", RuntimeWarning)
    return a.astype(np.uint8)


def _extremes(x: GlobalArray) -> NDArray[Any]:
    """The least and the greatest element, or none of an empty array. Waits for them."""
    if not x.size:
        return np.empty(0, x.dtype)
    low, high = x.min(), x.max()
    return np.array([low.item(), high.item()], x.dtype)


def _contiguous(x: NDArray[Any], dtype: Any) -> NDArray[Any]:
    """The elements of a local part, in row-major order, as another dtype."""
    return np.ascontiguousarray(x, dtype).reshape(-1)


def _doubles(weights: NDArray[Any] | None) -> NDArray[Any] | None:
    return None if weights is None else weights.astype(np.float64, copy=False)


def _bincount(x: GlobalArray, weights: GlobalArray | None, n_bins: int) -> tuple[GlobalArray, GlobalArray]:
    """How often integers below `n_bins` occur, and how many bins each process needs for all, or `NEGATIVE`."""
    needed = empty(world().size, np.int64)

    def count(counts: NDArray[Any], needed: NDArray[Any], x: NDArray[Any], weights: NDArray[Any] | None = None) -> None:
        needed[:] = bindings.histogram(_contiguous(x, np.int64), _doubles(weights), counts)

    dtype = np.dtype(np.int64 if weights is None else np.float64)
    return _counted(count, [x], weights, (n_bins,), dtype, needed), needed


def _counted(count: Callable[..., Any], samples: Sequence[GlobalArray], weights: GlobalArray | None,
             shape: tuple[int, ...], dtype: np.dtype[Any], *others: GlobalArray) -> GlobalArray:
    """What the processes count together.

    `count` writes the counts, and the local parts of others, and takes those of samples, and flat weights or None.
    """
    arrays, n = _alike([*samples, *([] if weights is None else [weights])]), len(samples)
    n_procs = world().size
    counts = empty(shape, dtype) if n_procs == 1 else of_each_process(shape, dtype)

    def count_part(counts: NDArray[Any], *parts: NDArray[Any]) -> None:
        found, parts = parts[:len(others)], parts[len(others):]
        count(counts if n_procs == 1 else counts[0], *found, *map(np.ascontiguousarray, parts[:n]),
              _contiguous(parts[n], None) if parts[n:] else None)

    perform(count_part, write(counts), *map(write, others), *arrays)
    return counts if n_procs == 1 else counts.sum(axis=0, dtype=dtype)


def _alike(arrays: Sequence[GlobalArray]) -> list[GlobalArray]:
    """Arrays of one shape, dealt out alike, so that each element is on one process."""
    arrays = [x if x.ndim else x.reshape(1) for x in arrays]
    layout = arrays[0]._view.own_layout
    if layout is None or layout.replica_axes:
        layout = Distribution("block", *"*" * (arrays[0].ndim - 1)).bind(arrays[0].shape, world().size)
    return [x if x._view.own_layout == layout else x.redistribute(layout) for x in arrays]
