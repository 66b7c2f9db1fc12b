"""Alone: on one process, small arrays are NumPy's, which computes with them at once, at the cost of a wrapper.

Nothing is recorded, and no layout is worked out. An array that is made so has its elements only, and knows where it
comes from; its base and its view are made when anything else than this module asks for them (`settled`). So it is with
sections of arrays. NumPy gives the bits that kernels give; where that is not certain, or anything is in the way (what is
recorded, an error that was asked for, elements that are borrowed), these functions leave the call to those that record
it, which know what to do, and what to raise.
"""

from __future__ import annotations

import contextvars
import math
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from pgaspy.caches import cached
from pgaspy.execution import recording
from pgaspy.job.defaults import default_for
from pgaspy.job.procgrid import World, when_started
from pgaspy.layout import Layout, replicated, without_dims
from pgaspy.operands import WEAK
from pgaspy.planning.result_layout import result_layout
from pgaspy.planning.view import View, joint_shape, whole
from pgaspy.scheduling.base import Base, borrowers, local_view, wrap
from pgaspy.scheduling.floating_point import set_state, state
from pgaspy.scheduling.operations import BaseView

__all__ = ["OF_NUMPY", "Small", "Source", "assigned", "computed", "computed_in_place", "is_on", "kinds", "product",
           "section", "settled"]

MAX_ELEMENTS = 1 << 15
"""Of an array: from so many on, threads gain more than a kernel's call costs."""

FEW = 1 << 12
"""Elements that are passed through in about the time in which a call is recorded: so few are never recorded."""

MAX_MATRIX = 1 << 16
"""Elements of a matrix that is multiplied by a vector, which BLAS does in any case."""

MAX_DEPTH = 8
"""Of views that follow one from another, before they are made."""

is_on = False
"""Whether the job has one process."""

kinds: set[type] = set()
"""The classes of arrays that may be small: not those whose elements come to lie elsewhere."""

OF_NUMPY = {np.ndarray, np.float64, np.float32, np.int64, np.int32}
"""The classes of NumPy's operands that are taken as they are."""


class Like(NamedTuple):
    """What a view follows from, and so the layout of a result that is like it.

    Attributes
    ----------
    make
        What makes it of the parent's view, and of the argument.
    depth
        How many such lie one in another.
    is_distributed
        Whether it is dealt out: results are like what is.
    """

    make: Callable[[View, Any], View]
    parent: Like | View
    argument: Any
    depth: int
    is_distributed: bool


Source = tuple[Any, Any]
"""Where an array comes from that has its elements only: what its view follows from (a `Like`, or that view), and the
array that it is a section of; of a new one, what its layout follows from, and None.
"""

Small = tuple[Any, Source]
"""The elements of an array, as NumPy's array or number, and where it comes from."""

_OF_NUMBER: Source = None, None
"""What is computed of numbers lies on all processes."""


def _silent_state() -> Any:
    """NumPy's, when errors are passed over, as kernels do."""
    np.seterr(all="ignore")
    return state()


_SILENT = contextvars.Context().run(_silent_state)


def _begin(job: World) -> None:
    global is_on
    is_on = job.size == 1 and _SILENT is not None


when_started.append(_begin)


def section(x: Any, key: Any) -> Small | None:
    """`x[key]`, for integers and slices; None if it is not made here."""
    if not _is_plain(key) or x.__class__ not in kinds or not recording.is_clear():
        return None
    elements = elements_of(x)
    if elements is None:
        return None
    try:
        found = elements[key]
    except (IndexError, TypeError):
        return None
    if found.size > MAX_ELEMENTS:
        return None
    source = x._source
    if source is None:
        like, owner = _likeness(_indexed, x._view, key), x
    else:
        like, owner = source
        if owner is None:
            like, owner = _likeness(_indexed_anew, like, key), x
        else:
            like = _likeness(_indexed, like, key)
    return found, (like, owner if found.shape else None)


def computed(ufunc: np.ufunc, x: Any, y: Any, number: complex | None, is_first: bool) -> Small | None:
    """A function of a global array and another operand or a Python number (which may come first), or of itself alone;
    None if it is not computed here.
    """
    if x.__class__ not in kinds or (a := _operand(x)) is None:
        return None
    shape = a.shape
    if y is None:
        other, operands = number.__class__, (a,) if number is None else (number, a) if is_first else (a, number)
    else:
        b = _operand(y)
        if b is None or (b.shape != shape and b.shape and (shape := _joint_shape(a, b, y)) is None):
            return None
        other, operands = b.dtype, (a, b)
    if _exact_result(ufunc, a.dtype, other) is None or not _is_done(ufunc, shape):
        return None
    before = state()
    try:
        set_state(_SILENT)
        found = _INSTEAD.get(ufunc, ufunc)(*operands)
    except (ValueError, OverflowError):
        return None
    finally:
        set_state(before)
    recording.queue.n_at_once += 1
    if not shape:
        return found, _OF_NUMBER
    if not found.flags.c_contiguous:
        found = np.ascontiguousarray(found)
    return found, (_like(x) if y is None or not b.shape else _like_of_two(x, a.shape, y, b.shape, shape), None)


def computed_in_place(ufunc: np.ufunc, x: Any, y: Any, number: complex | None) -> bool:
    """The same into the array itself; whether it was computed."""
    a = _operand(x)
    b = number if y is None else _operand(y)
    if a is None or b is None or borrowers:
        return False
    if _exact_result(ufunc, a.dtype, b.__class__ if y is None else b.dtype) is not a.dtype or not _is_done(
            ufunc, a.shape):
        return False
    before = state()
    try:
        set_state(_SILENT)
        ufunc(a, b, out=a)
    except (ValueError, OverflowError):
        return False
    finally:
        set_state(before)
    recording.queue.n_at_once += 1
    return True


def assigned(x: Any, key: Any, value: Any) -> bool:
    """`x[key] = value`, of what has the same dtype, or a Python number; whether it was done."""
    if x.__class__ not in kinds or borrowers or not (_is_plain(key) or key is Ellipsis):
        return False
    if value.__class__ not in WEAK:
        value = _operand(value)
        if value is None:
            return False
    if not recording.is_clear() or (elements := elements_of(x)) is None:
        return False
    if value.__class__ in WEAK:
        is_number = True
        if value.__class__ not in _NUMBERS.get(elements.dtype.kind, ()):
            return False
    else:
        is_number = not value.shape
        if value.dtype is not elements.dtype:
            return False
    before = state()
    try:
        set_state(_SILENT)
        part = elements[key]
        if not (part.shape or is_number) or not _is_done(None, part.shape):
            return False
        if part.shape:
            part[...] = value
        else:
            elements[key] = value
    except (IndexError, TypeError, ValueError, OverflowError):
        return False
    finally:
        set_state(before)
    recording.queue.n_at_once += 1
    return True


def product(x: Any, y: Any) -> Small | None:
    """A matrix (or vector) times a vector, or a vector times a matrix; None if it is not computed here."""
    if x.__class__ not in kinds or y.__class__ not in kinds:
        return None
    a, b = _operand(x, MAX_MATRIX), _operand(y, MAX_MATRIX)
    if a is None or b is None or a.dtype is not b.dtype or a.dtype.char not in "fd":
        return None
    if not (a.ndim and b.ndim and a.ndim + b.ndim <= 3 and a.shape[-1] == b.shape[0]):
        return None
    matrix, vector, like, last = (a, b, x, a.ndim - 1) if a.ndim >= b.ndim else (b.T, a, y, 0)
    if min(matrix.strides) <= 0:
        return None
    before = state()
    try:
        set_state(_SILENT)
        found = np.matmul(matrix, np.ascontiguousarray(vector))
    finally:
        set_state(before)
    recording.queue.n_at_once += 1
    return found, (_likeness(_without_dim, _like(like), last), None) if found.shape else _OF_NUMBER


def settled(x: Any) -> BaseView:
    """The base and the view of an array that has its elements only."""
    like, owner = x._source
    if owner is not None:
        return BaseView(owner._base, _view(like))
    elements = np.asarray(x._elements)
    layout: Layout | None = replicated((), 1)
    if elements.shape:
        layout = result_layout(elements.shape, [_view(like)], default_for)
    elif like is not None:
        layout = _view(like).own_layout
    assert layout is not None
    return BaseView(wrap(layout, elements), whole(layout))


# Operands ------------------------------------------------------------------------------------------------------------


def elements_of(x: Any) -> Any:
    """Those of an array of a class that may be small, as NumPy's array, or number; None where there are none.

    Nothing may be recorded that they depend on; see `recording.is_clear`.
    """
    found = x._elements
    if found is None:
        base, view = x._base, x._view
        if base.__class__ is not Base or view.is_read_only or view.stretched_dims:
            return None
        x._elements = found = local_view(base.storage, view)
    return found


def _operand(x: Any, max_elements: int = MAX_ELEMENTS) -> Any:
    """The elements of an operand, if they are few enough, and there is nothing that comes before; else None."""
    if x.__class__ in kinds:
        few = x._view if x._source is None else x._elements
        return elements_of(x) if few.size <= max_elements and recording.is_clear() else None
    return x if x.__class__ in OF_NUMPY and x.size <= max_elements else None


def _joint_shape(a: Any, b: Any, y: Any) -> tuple[int, ...] | None:
    """The shape to which operands are stretched, if they can be; NumPy's are to that of the first only."""
    try:
        shape = joint_shape(a.shape, b.shape)
    except ValueError:
        return None
    return None if y.__class__ in OF_NUMPY and shape != a.shape else shape


def _is_done(function: np.ufunc | None, shape: tuple[int, ...]) -> bool:
    """Whether to have a function, or an assignment, done here: what has more than a few elements, unless it was often.
    """
    n = math.prod(shape)
    return n <= FEW or (n <= MAX_ELEMENTS and recording.queue.admits((function, shape), n))


_PLAIN = frozenset({int, slice})
"""The classes of indices that views are made of here."""


def _is_plain(key: Any) -> bool:
    return _PLAIN.issuperset(map(type, key)) if key.__class__ is tuple else key.__class__ in _PLAIN


# Functions -----------------------------------------------------------------------------------------------------------

_EXACT = {np.add, np.subtract, np.multiply, np.divide, np.negative, np.positive, np.absolute, np.fabs, np.square,
          np.sqrt, np.floor, np.ceil, np.trunc, np.rint, np.isnan, np.isinf, np.isfinite, np.minimum, np.maximum,
          np.less, np.less_equal, np.greater, np.greater_equal, np.equal, np.not_equal, np.logical_not,
          np.bitwise_and, np.bitwise_or, np.bitwise_xor, np.invert}
_OF_FLOATS = {np.divide, np.sqrt, np.fabs, np.floor, np.ceil, np.trunc, np.rint, np.isnan, np.isinf, np.isfinite}
_OF_TRUTHS = {np.equal, np.not_equal, np.logical_not, np.bitwise_and, np.bitwise_or, np.bitwise_xor, np.invert}
"""Functions whose results are the same to the bit wherever they are computed; those of floats, and of truths, alone."""

_NUMBERS: dict[str, tuple[type, ...]] = {"f": (float, int), "i": (int,), "u": (int,), "c": WEAK}
"""The classes of Python's numbers that elements of a kind are assigned."""


@cached
def _exact_result(ufunc: np.ufunc, dtype: np.dtype[Any], other: Any) -> np.dtype[Any] | None:
    """The dtype of a function of a dtype and another, or a class of numbers, or that of None; None where it is not
    certain that it gives the same bits wherever it is computed.
    """
    operands = [dtype] if other is type(None) else [dtype, other]
    if ufunc not in _EXACT or ufunc.nin != len(operands):
        return None
    try:
        *taken, found = ufunc.resolve_dtypes((*operands, None))
    except TypeError:
        return None
    of = "f" if ufunc in _OF_FLOATS else "fiub" if ufunc in _OF_TRUTHS else "fiu"
    return found if len({*taken}) == 1 and taken[0].kind in of and taken[0].char not in "eg" else None


def _minimum(a: Any, b: Any) -> Any:
    """NumPy's, but of two zeros the first one, whatever their signs, as kernels have it."""
    return np.where(np.less_equal(a, b) | np.not_equal(a, a), a, b)[()]


def _maximum(a: Any, b: Any) -> Any:
    return np.where(np.greater_equal(a, b) | np.not_equal(a, a), a, b)[()]


_INSTEAD: dict[np.ufunc, Callable[..., Any]] = {np.minimum: _minimum, np.maximum: _maximum}

# Layouts -------------------------------------------------------------------------------------------------------------


def _likeness(make: Callable[[View, Any], View], parent: Any, argument: Any) -> Any:
    """What is made of a view; the view itself, if it follows from many others."""
    if parent.__class__ is View:
        return _new(Like, (make, parent, argument, 1, parent.layout.is_distributed))
    if parent.depth < MAX_DEPTH:
        return _new(Like, (make, parent, argument, parent.depth + 1, parent.is_distributed))
    return make(_view(parent), argument)


_new = tuple.__new__  # which takes half the time


def _like(x: Any) -> Any:
    """What the layout of a result follows from that is made of an array."""
    source = x._source
    return x._view if source is None else source[0]


def _like_of_two(x: Any, x_shape: tuple[int, ...], y: Any, y_shape: tuple[int, ...], shape: tuple[int, ...]) -> Any:
    """The same of two operands; of NumPy's there is none."""
    if not x_shape or y.__class__ in OF_NUMPY:
        return _like(x if x_shape else y)
    first, second = _like(x), _like(y)
    if first is second:
        return first
    is_first_dealt_out, is_second_dealt_out = _is_dealt_out(first), _is_dealt_out(second)
    if x_shape == shape and (is_first_dealt_out or not is_second_dealt_out):
        return first
    if y_shape == shape and (is_second_dealt_out or not is_first_dealt_out):
        return second
    views = [_view(like).broadcast_to(shape) for like in (first, second)]
    return whole(result_layout(shape, views, default_for))


def _is_dealt_out(like: Any) -> bool:
    return like.layout.is_distributed if like.__class__ is View else like.is_distributed


def _view(like: Any) -> View:
    return like if like.__class__ is View else like.make(_view(like.parent), like.argument)


def _indexed(view: View, key: Any) -> View:
    return view.index(key)


def _indexed_anew(view: View, key: Any) -> View:
    """Of a result that is like a view."""
    return whole(result_layout(view.shape, [view], default_for)).index(key)


def _without_dim(view: View, d: int) -> View:
    """Of a matrix or a vector that is summed along one of its dimensions."""
    return whole(without_dims(view.own_layout or result_layout(view.shape, [view], default_for), (d,)))
