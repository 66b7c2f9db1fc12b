"""Global assignment: all data movement is written `A[key] = x`, and turned into recorded operations here.

The functions take and return bases and views; `GlobalArray` and the public names wrap them.
"""

from __future__ import annotations

import operator
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from numpy.lib.array_utils import normalize_axis_tuple
from numpy.typing import DTypeLike, NDArray

from pgaspy.caches import cached
from pgaspy.dims import BlockDim, whole_dim
from pgaspy.distribution import Distribution
from pgaspy.execution import recording
from pgaspy.execution.recording import finish, record, record_cold, stand_ins
from pgaspy.host.call_sites import warn
from pgaspy.immediate import is_assigned
from pgaspy.job.defaults import default_for, layout_for
from pgaspy.job.procgrid import world
from pgaspy.layout import Layout, one_process, replicated
from pgaspy.operands import WEAK, Operand, as_numbers, as_numpy, check_dtype, has_arrays, native
from pgaspy.originals import tell
from pgaspy.planning.result_layout import in_order_of, layout_of_extents, result_layout
from pgaspy.planning.view import View, whole
from pgaspy.reading import read
from pgaspy.scheduling.base import Base
from pgaspy.scheduling.collectives import MAX_GATHERING
from pgaspy.scheduling.kinds.allgather import allgather
from pgaspy.scheduling.kinds.roll import roll
from pgaspy.scheduling.operations import BaseView
from pgaspy.sharing import shared
from pgaspy.statements import (
    check_writable,
    elementwise_copy,
    known_calls,
    record_assignment,
    record_into,
    refusals,
)

__all__ = ["aligned", "are_gathered_together", "assign", "copied", "element", "everywhere", "gathered",
           "gathered_together", "is_dealt_out_in_parts", "item", "joined", "laid_out", "layout_like", "lying_in",
           "record_assigned", "redistributed", "replicate", "rolled"]

MAX_BYTES = 1 << 17
"""Of arrays that all processes get in one message from each: of more, their memory is the time."""


def assign(base: Base, view: View, value: Any) -> None:
    """`view[...] = value`: a global array, a scalar, or a NumPy array that is the same on every process.

    Raises
    ------
    ValueError
        If the value does not broadcast to the view, or the view repeats elements, or is read-only.
    """
    given = getattr(value, "_view", None)
    if given is view and value._base is base and view.shape and not view.is_read_only:  # as A[key] += x ends
        return
    if base.original is not None:
        tell(base)
    key = _key(base, view, value)
    found = known_calls[key]
    if found is not None:
        record(found[0], (base.storage, value._base.storage))
        return
    if view.is_read_only:
        check_writable(view)
    if recording.is_executing() and (given is not None or value.__class__ in WEAK):
        if is_assigned(key, base, view, value):
            return
        if given is not getattr(value, "_view", None):  # an element of the view, which has got memory of its own
            assign(base, view, value)
            return
    record_assigned(base, view, value)


def _key(base: Base, view: View, value: Any) -> tuple[Any, ...]:
    """What tells assignments apart; as `_calls` makes it."""
    given = getattr(value, "_view", None)
    if given is None:
        return id(view), base.dtype, value.__class__
    return id(view), id(given), base.dtype, value._base.dtype, value._base is base


def record_assigned(base: Base, view: View, value: Any) -> None:
    """The same of what is not computed at once; have it found again."""
    given = getattr(value, "_view", None)
    check_writable(view)
    if given is None:
        if has_arrays(value):
            assign(base, view, Operand(*joined(value, max_ndim=view.ndim)))
            return
        if isinstance(value, np.integer | np.floating | np.datetime64) and base.dtype.kind == "i":
            value = value.item()  # which has to be in the dtype's range, where it is no array
        if type(value) not in (int, float, complex):
            if hasattr(value, "dtype"):
                value = as_numpy(value)
            else:
                value = as_numbers(value, base.dtype)
                _check_depth(value.ndim, view.ndim)
        if isinstance(value, np.ndarray) and value.dtype.hasobject:  # Python's dates and fractions, which NumPy casts
            value = value.astype(base.dtype)
        elementwise_copy(base, view, _without_leading_ones(value, view.ndim))
        return
    source = _drop_leading_ones(given, view.ndim).broadcast_to(view.shape)
    _check_cast(value._base, source, base.dtype)
    if view.size == 0 or (value._base is base and source == view and view.ndim):
        return
    if source.stretched_dims:
        record_into(None, [value._base], [(source, value._base.dtype)], base, view)
        return
    key = _key(base, view, value)
    recipe = record_assignment(BaseView(base, view), BaseView(value._base, source), recording.was_admitted(key))
    if base.dtype == value._base.dtype and not recipe.is_cold:  # else it may have to be warned of every time
        known_calls.keep(key, (recipe, view, given))


def _check_depth(depth: int, ndim: int) -> None:
    """Refuse sequences in more sequences than there are dimensions, as NumPy's assignment does."""
    if depth > ndim:
        raise ValueError("setting an array element with a sequence. The requested array would exceed the maximum "
                         f"number of dimension of {ndim}.")


def _drop_leading_ones(view: View, ndim: int) -> View:
    """As NumPy's assignment does: leading dimensions of extent 1 beyond the target's are ignored."""
    while view.ndim > ndim and view.shape[0] == 1:
        view = view.index(0)
    return view


def _without_leading_ones(value: Any, ndim: int) -> Any:
    while isinstance(value, np.ndarray) and value.ndim > ndim and value.shape[0] == 1:
        value = value[0]
    return value


def _check_cast(base: Base, view: View, target: np.dtype[Any]) -> None:
    """Warn of a cast, as NumPy does, or refuse it, where there are elements to cast."""
    source = base.dtype
    if not view.size:
        pass
    elif (source.kind in "SU" and target.kind not in "SUb") or (source.kind == "M" and target.kind in "SU"):
        refusals[None](base, view, target)
    elif target.kind in "mM":
        np.empty(1, target)[...] = np.zeros((), source)
    if source.kind == "c" and target.kind not in "cb":
        warn("Casting complex values to real discards the imaginary part", np.exceptions.ComplexWarning)


def copied(base: Base, view: View, layout: Layout | None = None, dtype: np.dtype[Any] | None = None,
           keeps_order: bool = False) -> BaseView:
    """A new array with the elements of a view; in the layout that a result of it takes, or in a given one. In memory
    they lie in the order of rows or, if it `keeps_order`, as in the view, as those of the result of a function do.
    """
    if layout is None:
        layout = layout_like(base, view)
    made = in_order_of([view], layout) if keeps_order else whole(layout)
    target = BaseView(Base(made.layout, base.dtype if dtype is None else dtype), made)
    _check_cast(base, view, target.base.dtype)
    if view.size:
        if view.stretched_dims:
            record_into(None, [base], [(view, base.dtype)], *target)
        else:
            record_assignment(target, BaseView(base, view))
    return target


def rolled(base: Base, view: View, shifts: tuple[int, ...]) -> BaseView:
    """A new array, dealt out as a view is, of its elements moved so far along each dimension, round its end."""
    layout = layout_of_extents(view, view.shape) or default_for(view.shape)
    if not any(shifts):
        return copied(base, view, layout)
    if view.stretched_dims:
        base, view = copied(base, view)
    target = BaseView(Base(layout, base.dtype), whole(layout))
    if view.size:
        record_cold(roll(target.view, view, shifts, base.dtype), (target.base.storage, base.storage))
    return target


def everywhere(base: Base, view: View) -> BaseView:
    """The elements of a view on every process: in a new array, where not all have them."""
    if view.layout.is_replicated:
        return BaseView(base, view)
    return copied(base, view, replicated(view.shape, world().size))


def joined(x: Any, dtype: DTypeLike | None = None, max_ndim: int | None = None) -> BaseView:
    """A new array of the global arrays in a sequence, and what is beside them, as NumPy's `array` makes it.

    It lies as results of operations on them do.

    Raises
    ------
    ValueError
        If their shapes differ, or have more dimensions than there may be.
    """
    parts = dict(_parts(x, ()))
    shape = _joint_shape(x, (), parts)
    if max_ndim is not None:
        _check_depth(len(shape), max_ndim)
    dtype = native(np.result_type(*(part.dtype for part in parts.values())) if dtype is None else dtype)
    check_dtype(dtype)
    views = [part._view.broadcast_to(shape) for part in parts.values() if hasattr(part, "_view")]
    layout = result_layout(shape, views, default_for)
    target = BaseView(Base(layout, dtype), whole(layout))
    for index, part in parts.items():
        assign(target.base, target.view.index(index), part)
    return target


def _parts(x: Any, index: tuple[int, ...]) -> Iterator[tuple[tuple[int, ...], Any]]:
    """The arrays in nested sequences, and where they are; sequences without global arrays are NumPy's."""
    if has_arrays(x):
        for i, element in enumerate(x):
            yield from _parts(element, (*index, i))
    else:
        yield index, x._plain() if getattr(x, "_view", None) is not None and not x._is_number else as_numpy(x)


def _joint_shape(x: Any, index: tuple[int, ...], parts: dict[tuple[int, ...], Any]) -> tuple[int, ...]:
    """The shape of nested sequences, of those of the arrays in them."""
    if index in parts:
        return parts[index].shape
    found = {_joint_shape(element, (*index, i), parts) for i, element in enumerate(x)}
    if len(found) > 1:
        raise ValueError("setting an array element with a sequence. The requested array has an inhomogeneous shape: "
                         f"arrays of shapes {', '.join(map(str, sorted(found)))} are side by side")
    return (len(x), *found.pop())


def layout_like(base: Base, view: View) -> Layout:
    """The layout of a new array like a view: its own, if it is the whole array; else that of results of operations."""
    own = view.own_layout if view.is_whole or view == base.section else None
    return result_layout(view.shape, [view], default_for) if own is None else own


def redistributed(base: Base, view: View, layout: Distribution | Layout | None) -> BaseView:
    """A new array with the elements of a view, in a layout that is asked for, or else in the job's default."""
    return copied(base, view, layout_for(view.shape, layout, None))


def gathered(base: Base, view: View, root: int | None) -> NDArray[Any] | None:
    """The whole view as a new NumPy array, on every process or on one (None on the others)."""
    size = world().size
    root = None if root is None else operator.index(root)
    if root is not None and not 0 <= root < size:
        raise ValueError(f"root={root} is not a rank of this job: its ranks are 0 to {size - 1}")
    if root is None and are_gathered_together([BaseView(base, view)]):
        return gathered_together([BaseView(base, view)], "gather")[0]
    target = copied(base, view, replicated(view.shape, size) if root is None else one_process(view.shape, size, root))
    if root is not None and world().rank != root:
        return None
    finish(target.base)
    if (given := stand_ins()) is not None:
        return given.elements(view.shape, base.dtype)
    return target.base.storage.hand_over()


def are_gathered_together(arrays: Sequence[BaseView]) -> bool:
    """Whether some arrays are few and small enough for all that a process has of them to be sent in one message."""
    return (1 < world().size <= MAX_GATHERING and sum(v.size * b.dtype.itemsize for b, v in arrays) <= MAX_BYTES
            and all(is_dealt_out_in_parts(view) for _, view in arrays))


def is_dealt_out_in_parts(view: View) -> bool:
    """Whether each process has one strided section of what has to come of a view from others."""
    return view.size > 0 and not (view.layout.is_replicated or view.stretched_dims) and _are_strided(view)


def _are_strided(view: View) -> bool:
    """Whether what each process has of a view is one strided section of its part of the base."""
    return view.is_whole or all(isinstance(dim, BlockDim) or dim.n_procs == 1 for dim in view.layout.dims)


def gathered_together(arrays: Sequence[BaseView], purpose: str) -> list[NDArray[Any]]:
    """All elements of arrays that `are_gathered_together`, as new NumPy arrays, on every process; for one purpose."""
    size = world().size
    targets = [Base(replicated(view.shape, size), base.dtype) for base, view in arrays]
    recipe = allgather(tuple([view for _, view in arrays]), tuple([base.dtype for base, _ in arrays]), purpose)
    record_cold(recipe, tuple([base.storage for base in (*targets, *[base for base, _ in arrays])]))
    for target in targets:
        finish(target)
    if (given := stand_ins()) is not None:
        return [given.elements(view.shape, base.dtype) for base, view in arrays]
    return [target.storage.hand_over() for target in targets]


def item(base: Base, view: View) -> Any:
    """The one element of a view as a Python scalar, on every process."""
    if view.shape:
        if view.size != 1:
            raise ValueError("can only convert an array of size 1 to a Python scalar")
        view = view.index((0,) * view.ndim)
    if not view.layout.is_replicated:
        if (found := read(base, view)) is not None:
            return found.item()
        base, view = everywhere(base, view)
    finish(base)
    if (given := stand_ins()) is not None:
        return given.elements((), base.dtype).item()
    return element(base, view)


def element(base: Base, view: View) -> Any:
    """The element of a 0-d view of a replicated array, as it is in the memory of this process."""
    local = base.local
    return local.item() if not local.ndim else local[view.origin].item()


def replicate(base: Base, view: View, axis: int | tuple[int, ...]) -> BaseView:
    """A copy in which what is dealt out along axes of the grid is whole, on every process along these."""
    layout = view.own_layout
    grid = view.layout.grid
    try:
        axes = normalize_axis_tuple(axis, len(grid))
    except np.exceptions.AxisError:
        raise ValueError(f"axis {axis} is not an axis of the grid {grid}") from None
    if layout is None:
        return _replicate_reversed(base, view, axes)
    return laid_out(base, view, _replicated_along(layout, axes))


@cached
def _replicated_along(layout: Layout, axes: tuple[int, ...]) -> Layout:
    """A layout with the dimensions that are dealt out along these axes whole, on every process along them."""
    dims = [whole_dim(dim.extent) if dim.axis in axes else dim for dim in layout.dims]
    return Layout(layout.grid, dims, [None if a in axes else pin for a, pin in enumerate(layout.pins)])


def laid_out(base: Base, view: View, layout: Layout) -> BaseView:
    """A copy in a layout, made when it or the array is written to, if the view lies so already."""
    return shared(base, view, layout) or copied(base, view, layout)


def lying_in(base: Base, view: View, layout: Layout) -> BaseView:
    """What a task reads that takes parts in a layout: such a copy; on one process, which has all, the view itself."""
    return BaseView(base, view) if world().size == 1 else laid_out(base, view, layout)


def _replicate_reversed(base: Base, view: View, axes: tuple[int, ...]) -> BaseView:
    """The same of a view with reversed dimensions: as that of the view in order, reversed."""
    forward = view.index(view.turning_key)
    if forward.own_layout is None:
        raise ValueError("this view has no layout of its own (a step that its blocks do not divide by, or repeated "
                         "elements): copy() it first")
    target = replicate(base, forward, axes)
    return BaseView(target.base, target.view.index(view.turning_key))


def aligned(base: Base, view: View, other: View, dim: int) -> BaseView:
    """A copy of a view whose dimension `dim` (the only one, if it has one) lies as that of another view does.

    It is replicated along the grid's other axes, so that every process that owns a part of the other view along
    `dim` holds the elements that go with it.
    """
    if not -other.ndim <= dim < other.ndim:
        raise np.exceptions.AxisError(dim, other.ndim)
    dim %= other.ndim
    layout = other.own_layout
    own = dim if view.ndim > 1 else 0
    if view.ndim not in (1, other.ndim) or view.shape[own] != other.shape[dim]:
        raise ValueError(f"align takes an array with the extent of dimension {dim} of one of shape {other.shape}, in "
                         f"that dimension or as the only one; not one of shape {view.shape}")
    if layout is None:
        raise ValueError("the array to align with has no layout of its own: copy() it first")
    dims = [layout.dims[dim] if d == own else whole_dim(n) for d, n in enumerate(view.shape)]
    return laid_out(base, view, Layout(layout.grid, dims, layout.pins))
