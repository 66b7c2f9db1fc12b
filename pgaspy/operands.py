"""Operands: what calls on global arrays take besides them, numbers and NumPy arrays that are the same everywhere."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import DTypeLike, NDArray

from pgaspy.execution.recording import hold, taking_memory
from pgaspy.job.defaults import default_for
from pgaspy.job.procgrid import world
from pgaspy.layout import Layout, replicated, without_dims
from pgaspy.planning.pieces import local_indices
from pgaspy.planning.result_layout import result_layout
from pgaspy.planning.view import View, joint_shape, whole
from pgaspy.scheduling.at_once import copy_elements
from pgaspy.scheduling.base import Base, wrap
from pgaspy.scheduling.floating_point import as_asked
from pgaspy.scheduling.operations import BaseView
from pgaspy.supervision.recorder import take

__all__ = [
    "PARTS_FROM_BYTES", "WEAK", "Elements", "Operand", "as_base_view", "as_element", "as_extents", "as_numbers",
    "as_numpy", "check_device", "check_dtype", "check_order", "described", "dtype_of_cast", "has_arrays", "is_masked",
    "native", "operand_from_numpy", "own_part", "refuse_masked", "refuse_truths", "with_parts",
]

WEAK = (int, float, complex)
"""The classes of Python's numbers, which take the dtypes of the arrays that they meet."""

PARTS_FROM_BYTES = 1 << 16
"""Of NumPy arrays that are larger, a process copies only the part that it needs."""


def described(x: Any) -> tuple[Any, Any]:
    """What is operated on (a base, or a scalar's value), and what its statement depends on."""
    view = getattr(x, "_view", None)
    if view is not None:
        base = x._base
        return base, (view, base.dtype)
    if type(x) in WEAK:
        return x, type(x)
    refuse_masked(x)
    x = as_numpy(x)
    check_dtype(x.dtype)
    if x.ndim == 0:
        return x, native(x.dtype)
    base = operand_from_numpy(x)
    return base, (whole(base.layout), base.dtype)


def refuse_masked(x: Any) -> None:
    """Raise TypeError for masked arrays."""
    if is_masked(x):
        raise TypeError("masked arrays are not supported, as their masks would be lost: use where(mask, x, y)")


def is_masked(x: Any) -> bool:
    """Whether something is a masked array, which there are only where the program has imported them."""
    return "numpy.ma" in sys.modules and isinstance(x, np.ma.MaskedArray)


def check_device(device: str | None) -> None:
    """Refuse devices other than the one that there is."""
    if device not in (None, "cpu"):
        raise ValueError(f'Device not understood. Only "cpu" is allowed, but received: {device}')


def check_order(order: str | None) -> None:
    """Refuse orders that NumPy does not know; the others have no effect, as layouts say where elements lie."""
    if order not in (None, "C", "F", "A", "K"):
        raise ValueError(f"order must be one of 'C', 'F', 'A', or 'K' (got {order!r})")


def refuse_truths(given: Any) -> None:
    """Raise TypeError for truth values, and for tuples or lists with some, where NumPy takes integers alone: extents,
    dimensions, places.
    """
    if given.__class__ is not int and not _TRUTHS.isdisjoint(
            map(type, given if isinstance(given, tuple | list) else (given,))):
        raise TypeError("an integer is required")


_TRUTHS = {bool, np.bool_}


def as_extents(shape: Any) -> tuple[Any, ...]:
    """The extents of a shape, which is a sequence of them, or one of them."""
    if shape.__class__ is not tuple:
        if not np.iterable(shape):
            shape = (shape,)
        elif isinstance(shape, dict) or not hasattr(shape, "__getitem__"):
            raise TypeError(f"expected a sequence of integers or a single integer, got '{shape}'")
        shape = tuple(shape)
    if not _TRUTHS.isdisjoint(map(type, shape)):
        raise TypeError("an integer is required")
    return shape


@taking_memory
def as_numpy(x: Any, dtype: DTypeLike | None = None) -> NDArray[Any]:
    """NumPy's array of what is the same on every process, also of sequences of numbers that are global arrays."""
    given = _with_values(x)
    return np.asarray(given) if dtype is None else as_asked(np.asarray, given, dtype)


def as_numbers(x: Any, dtype: np.dtype[Any]) -> NDArray[Any]:
    """`as_numpy` of Python's numbers, which have to be in the range of a dtype that they are assigned to."""
    found = as_numpy(x)
    is_refusable = dtype.kind in "iumM" or (dtype.kind == "f" and found.dtype.kind == "c")
    return as_numpy(x, dtype) if is_refusable else found


def _with_values(x: Any) -> Any:
    """Sequences with NumPy's scalars in the place of numbers that are global arrays; NumPy reads these as floats."""
    if isinstance(x, list | tuple):
        may_have_any = any(issubclass(kind, list | tuple) or hasattr(kind, "_is_number") for kind in {*map(type, x)})
        return [_with_values(element) for element in x] if may_have_any else x
    return x._as_scalar() if getattr(x, "_is_number", False) else x


def as_element(x: Any, dtype: np.dtype[Any]) -> Any:
    """What NumPy has as an element of a dtype. It refuses what is no number, or warns of an array of one, as older ones
    do; but a sequence is a truth value, and so is an array of one.
    """
    if (isinstance(x, list | tuple | range) and not has_arrays(x)) or is_masked(x):
        found = np.zeros(1, dtype)
        found[0] = x
        return found[0]
    shape = x.shape if hasattr(x, "shape") else np.shape(x)
    if shape:
        of_truth = dtype if dtype.kind == "b" else None
        np.zeros(1, of_truth)[0] = np.broadcast_to(np.zeros((), of_truth), shape)
        return x[(0,) * len(shape)] if hasattr(x, "shape") else x
    return x


class Elements:
    """What is taken for the array that its `copy` makes, where an array is asked for."""

    def copy(self) -> Any:
        """The elements, as a new global array. Collective."""
        raise NotImplementedError


def has_arrays(x: Any) -> bool:
    """Whether a sequence has global arrays in it that are no numbers, at any depth."""
    if not isinstance(x, list | tuple):
        return False
    kinds = {*map(type, x)}
    return (any(not getattr(kind, "_is_number", True) for kind in kinds)
            or (any(issubclass(kind, list | tuple) for kind in kinds) and any(map(has_arrays, x))))


@taking_memory
def operand_from_numpy(x: NDArray[Any]) -> Base:
    """A copy of a NumPy array that is the same on every process, as a replicated base."""
    default_for(())
    take(x)
    hold(x.nbytes)
    return _copied(x, replicated(x.shape, world().size))


def _copied(x: NDArray[Any], layout: Layout) -> Base:
    """An array of a layout, of which NumPy's has what this process holds."""
    if x.nbytes < PARTS_FROM_BYTES or x.dtype != native(x.dtype) or x.dtype.hasobject:
        return wrap(layout, x.astype(native(x.dtype), "C", subok=False))
    base = Base(layout, x.dtype)
    copy_elements(x, base.local)
    return base


@dataclass(frozen=True, slots=True)
class Operand:
    """A base and a view of it, as `described` takes them."""

    _base: Base
    _view: View


def with_parts(operands: Sequence[Any], out: View | None) -> Sequence[Any]:
    """The operands; of large NumPy arrays, each process keeps only what its part of the result needs."""
    try:
        shape = joint_shape(*[np.shape(x) if not hasattr(x, "_view") else x._view.shape for x in operands],
                            *([] if out is None else [out.shape]))
        if out is not None and shape != out.shape:
            return operands  # which who works out the statement refuses, or takes without leading extents of 1
        if out is not None:
            layout = out.own_layout
        else:
            views = [x._view.broadcast_to(shape) for x in operands if hasattr(x, "_view")]
            layout = result_layout(shape, views, default_for)
    except ValueError:
        return operands  # which do not go together; who works out the statement says so
    if layout is None or not layout.is_distributed:
        return operands
    return [_part_of(x, shape, layout) if isinstance(x, np.ndarray) and x.nbytes >= PARTS_FROM_BYTES
            and type(x) is np.ndarray and not x.dtype.hasobject and x.dtype.names is None else x for x in operands]


@taking_memory
def _part_of(x: NDArray[Any], shape: tuple[int, ...], layout: Layout) -> Operand:
    """A copy of what this process needs of a NumPy array that is broadcast to a shape which has a layout."""
    n_new = len(shape) - x.ndim
    stretched = tuple(d for d, n in enumerate(shape) if d < n_new or (x.shape[d - n_new] == 1 and n != 1))
    layout = without_dims(layout, stretched)
    take(x)
    kept = [d for d in range(len(shape)) if d not in stretched]
    base = _copied(own_part(x.reshape([shape[d] for d in kept]), layout), layout)
    hold(base.local.nbytes)
    key = tuple([None if d in stretched else slice(None) for d in range(len(shape))])
    return Operand(base, whole(layout).index(key))


def own_part(elements: NDArray[Any], layout: Layout) -> NDArray[Any]:
    """Of what every process has of an array, what this one holds in a layout; a view where that is one of slices."""
    rank = world().rank
    held = layout.held_by(rank)
    if not layout.holds(held.coords):
        return np.empty(layout.local_shape(rank), elements.dtype)
    for d, interval in enumerate(held.intervals):
        key = local_indices(whole(layout), d, rank) if interval is None else slice(*interval)
        elements = elements[(slice(None),) * d + (key,)]
    return elements


def as_base_view(x: Any) -> BaseView:
    """A global array's base and view; a NumPy array that is the same on every process as a replicated base."""
    if getattr(x, "_view", None) is not None:
        return BaseView(x._base, x._view)
    refuse_masked(x)
    x = as_numpy(x)
    check_dtype(x.dtype)
    base = operand_from_numpy(x)
    return BaseView(base, whole(base.layout))


def native(dtype: DTypeLike) -> np.dtype[Any]:
    """A dtype with this machine's order of bytes: for numbers, the one object that NumPy has.

    For an equal one that is another object, as unpickled arrays have, NumPy takes slow paths; and caches hand out the
    object that they were first asked with.
    """
    dtype = np.dtype(dtype)
    if dtype.isbuiltin:
        return dtype
    return np.dtype(dtype.char) if dtype.kind in "biufc" else dtype.newbyteorder("=")


def dtype_of_cast(own: np.dtype[Any], dtype: DTypeLike) -> np.dtype[Any]:
    """The dtype of elements of one that are cast: it has a length or a unit, also where it is asked for without."""
    return np.empty(0, own).astype(dtype).dtype


def check_dtype(dtype: np.dtype[Any]) -> None:
    """Refuse dtypes whose elements cannot be moved as bytes, or have no arithmetic.

    Raises
    ------
    TypeError
        For object and structured dtypes.
    """
    if dtype.hasobject:
        raise TypeError("object dtype is not supported: its elements live in one process; use a numeric dtype, or "
                        "keep such data in local() NumPy arrays")
    if dtype.names is not None or dtype.subdtype is not None:
        raise TypeError(f"structured dtype {dtype} is not supported: use one array per field")
