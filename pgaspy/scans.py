"""Scans and segments: what a ufunc accumulates along a dimension, and what it reduces between given indices.

A result lies where results of operations on the array do. The order in which elements are joined depends on the layout
alone: what comes before a part is what the parts before it come to, in the order of the index.

The functions take and return bases and views; the methods of ufuncs and of `GlobalArray` wrap them.
"""

from __future__ import annotations

import functools
import warnings
from typing import Any, NamedTuple

import numpy as np
from numpy.lib.array_utils import normalize_axis_index
from numpy.typing import DTypeLike, NDArray

from pgaspy.caches import cached
from pgaspy.dims import BlockDim, whole_dim
from pgaspy.execution.recording import record_cold
from pgaspy.global_assign import copied, gathered, layout_like
from pgaspy.layout import Layout
from pgaspy.operands import as_numpy, check_dtype
from pgaspy.planning.view import View, whole
from pgaspy.scheduling.base import Base
from pgaspy.scheduling.kinds.scan import Scan, scan
from pgaspy.scheduling.kinds.segments import reduce_segments
from pgaspy.scheduling.local_scans import has_kernel
from pgaspy.scheduling.operations import BaseView

__all__ = ["ASSOCIATIVE", "accumulated", "loop_dtype", "reduced_at"]

ASSOCIATIVE = {np.add, np.multiply, np.maximum, np.minimum, np.fmax, np.fmin, np.logical_and, np.logical_or,
               np.logical_xor, np.bitwise_and, np.bitwise_or, np.bitwise_xor, np.gcd, np.hypot, np.logaddexp,
               np.logaddexp2}
"""The ufuncs by which the totals of parts can be joined; all are commutative as well. Running products of complex
numbers are no such: where one has become infinite or zero, in either part, depends on all factors before.
"""


def accumulated(ufunc: np.ufunc, base: Base, view: View, axis: Any, dtype: DTypeLike | None,
                out_dtype: np.dtype[Any] | None = None) -> BaseView:
    """`ufunc.accumulate`; in the dtype in which NumPy computes what goes to an array of `out_dtype`.

    Raises
    ------
    TypeError
        If the view has no dimensions, or the ufunc no loop for the dtype.
    ValueError
        If the ufunc does not take two operands and give one result, or for several axes.
    """
    d = _checked_axis("accumulate", ufunc, view, axis)
    wanted = None if dtype is None else np.dtype(dtype)
    call = _scan_call(ufunc, view, layout_like(base, view.turned), base.dtype, wanted, out_dtype, d)
    recipe = call.recipe
    target = BaseView(Base(recipe.target.layout, recipe.dtypes[0]), recipe.target)
    if view.size:
        source = copied(base, view.turned, *call.copied_to).base if call.copied_to is not None else base
        record_cold(recipe, (target.base.storage, source.storage))
    return BaseView(target.base, target.view.index(view.turning_key))


class _Call(NamedTuple):
    """A scan, and the layout and dtype in which what it scans has to be copied before, if it has to."""

    recipe: Scan
    copied_to: tuple[Layout, np.dtype[Any]] | None


@cached
def _scan_call(ufunc: np.ufunc, view: View, layout: Layout, source: np.dtype[Any], wanted: np.dtype[Any] | None,
               out: np.dtype[Any] | None, axis: int) -> _Call:
    turned, dtype = view.turned, loop_dtype("accumulate", ufunc, source, wanted, out)
    is_associative = ufunc in ASSOCIATIVE and not (ufunc is np.multiply and dtype.kind == "c")
    if not is_associative:
        layout = _in_blocks(layout, axis)
    taken = source if has_kernel(ufunc, source, dtype) else dtype
    lies_so = turned.own_layout == layout and taken == source
    recipe = scan(whole(layout), turned if lies_so else whole(layout), axis, view.steps[axis] < 0, ufunc,
                  is_associative, (dtype, taken))
    return _Call(recipe, None if lies_so else (layout, taken))


def _in_blocks(layout: Layout, d: int) -> Layout:
    """A layout with one block of a dimension for each process."""
    dim = layout.dims[d]
    if isinstance(dim, BlockDim) or dim.n_procs == 1:
        return layout
    block = BlockDim(dim.extent, dim.n_procs, dim.axis, dim.extent)
    return Layout(layout.grid, [*layout.dims[:d], block, *layout.dims[d + 1:]], layout.pins)


def _checked_axis(method: str, ufunc: np.ufunc, view: View, axis: Any) -> int:
    if ufunc.nin != 2:
        raise ValueError(f"{method} only supported for binary functions")
    if ufunc.nout != 1:
        raise ValueError(f"{method} only supported for functions returning a single value")
    axes = tuple(range(view.ndim)) if axis is None else axis if isinstance(axis, tuple) else (axis,)
    if len(axes) != 1 and view.ndim:
        raise ValueError(f"{method} does not allow multiple axes")
    if not view.ndim:
        raise TypeError(f"cannot {method} on a scalar")
    return normalize_axis_index(axes[0], view.ndim)


@cached
def loop_dtype(method: str, ufunc: np.ufunc, source: np.dtype[Any], wanted: np.dtype[Any] | None,
               out: np.dtype[Any] | None) -> np.dtype[Any]:
    """The dtype in which NumPy computes: it adds small integers in larger ones, unless `out` has smaller ones."""
    indices = ([0],) if method == "reduceat" else ()
    call = functools.partial(getattr(ufunc, method), np.zeros(1, source), *indices, dtype=wanted)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", np.exceptions.ComplexWarning)  # which a cast of the array gives
        found: np.dtype[Any] = call().dtype
        if out is not None:
            call(out=np.zeros(1, out))
            if wanted is None:
                dtypes: Any = out, source, None
                found = ufunc.resolve_dtypes(dtypes, reduction=True, casting="unsafe")[2]
    check_dtype(found)
    return found


def reduced_at(ufunc: np.ufunc, base: Base, view: View, indices: Any, axis: Any, dtype: DTypeLike | None,
               out_dtype: np.dtype[Any] | None = None) -> BaseView:
    """`ufunc.reduceat`: element k is what the elements from indices[k] to indices[k + 1] come to.

    It is whole along the dimension on all processes that have parts of the array.

    Raises
    ------
    TypeError
        For a ufunc that is not associative; else as for `accumulated`.
    ValueError, IndexError
        If the indices are not in one dimension, or are not those of elements.
    """
    d = _checked_axis("reduceat", ufunc, view, axis)
    if ufunc not in ASSOCIATIVE:
        raise TypeError(f"{ufunc.__name__}.reduceat is not supported for global arrays: it is not known to be "
                        "associative")
    found = _checked_indices(ufunc, indices, view.shape[d])
    wanted = None if dtype is None else np.dtype(dtype)
    dtypes = (loop_dtype("reduceat", ufunc, base.dtype, wanted, out_dtype),) * 2
    layout = view.own_layout
    if layout is None or _in_blocks(layout, d) != layout or base.dtype != dtypes[0]:
        base, view = copied(base, view, _in_blocks(layout_like(base, view.turned), d), dtypes[0])
        layout = view.layout
    dims = [*layout.dims[:d], whole_dim(found.size), *layout.dims[d + 1:]]
    target = whole(Layout(layout.grid, dims, layout.pins))
    result = BaseView(Base(target.layout, dtypes[0]), target)
    if target.size:
        recipe = reduce_segments(target, view, d, found.tobytes(), ufunc, dtypes)
        record_cold(recipe, (result.base.storage, base.storage))
    return result


def _checked_indices(ufunc: np.ufunc, indices: Any, extent: int) -> NDArray[np.int64]:
    """The indices of `reduceat`, which every process has all of."""
    found = as_numpy(gathered(indices._base, indices._view, None) if hasattr(indices, "_view") else indices)
    if found.ndim != 1:
        raise ValueError(f"the indices of reduceat have one dimension, not {found.ndim}")
    if found.size and found.dtype.kind not in "iub":
        raise TypeError(f"Cannot cast array data from {found.dtype!r} to dtype('int64') according to the rule 'safe'")
    beyond = found[(found < 0) | (found >= extent)]
    if beyond.size:
        raise IndexError(f"index {beyond[0]} out-of-bounds in {ufunc.__name__}.reduceat [0, {extent})")
    return found.astype(np.int64)
