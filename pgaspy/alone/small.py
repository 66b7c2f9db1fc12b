"""Arrays of one process that have their elements only, as NumPy's array or number.

Such an array knows where it comes from: it is a section of an array, or the result of a function. Its base and its
view, and so its layout, are made when anything outside this folder asks for them (`base_and_view`). What is in the way
of computing with elements at once, what is recorded, or an error that was asked for, `recording.is_clear` tells.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pgaspy.alone import quick
from pgaspy.alone.likeness import is_distributed, like_of, likeness, only_read, view_like, view_of
from pgaspy.caches import cached
from pgaspy.execution import recording
from pgaspy.job.defaults import default_for
from pgaspy.job.failures import is_interrupt
from pgaspy.job.procgrid import World, when_started
from pgaspy.layout import Layout, replicated
from pgaspy.operands import WEAK
from pgaspy.originals import Originals, originals_of, tell
from pgaspy.planning.result_layout import result_view
from pgaspy.planning.view import View, whole
from pgaspy.scheduling.base import Base, Storage, borrowers, local_view, wrap
from pgaspy.scheduling.floating_point import silent_state, silently
from pgaspy.scheduling.operations import BaseView

__all__ = ["MAX_ELEMENTS", "NUMBERS", "OF_NUMBER", "OF_NUMPY", "PLAIN", "Small", "Source", "are_few", "base_and_view",
           "called", "copied", "elements_of", "empty_like", "filled", "gathered", "in_order_of_memory", "is_clear",
           "is_exact_cast", "is_on", "is_section", "is_writable", "kinds", "of_no_dimension", "operand", "origin",
           "passed_over", "read_only", "ready", "reshaped", "seen", "shown", "source_of_copy", "source_of_new", "takes"]

MAX_ELEMENTS = 1 << 16
"""Of an array: to record a call takes as long as to pass through so many. Only of more does it win that back that calls
share a kernel, and threads. Where it takes as long as to pass through memory, it is more of what has less than 8 bytes.
"""

is_on = False
"""Whether the job has one process, and NumPy's errors can be passed over."""

kinds: set[Any] = set()
"""The classes of arrays that may be small: not those whose elements may come to lie elsewhere. `array` tells them."""

OF_NUMPY: set[Any] = {np.ndarray, np.float64, np.float32, np.bool_, *(np.dtype(char).type for char in "bBhHiIlL")}
"""The classes of NumPy's operands that are taken as they are."""

PLAIN = {int, float, complex, bool, str, type(None)}
"""The classes of a function's other arguments."""

NUMBERS: dict[str, tuple[type, ...]] = {"f": (float, int), "i": (int,), "u": (int,), "c": WEAK}
"""The classes of Python's numbers that elements of a kind are assigned."""

Source = tuple[Any, Any, bool]
"""Where an array comes from that has its elements only: what its view follows from (see `likeness`), the array that it
is a section of, and True. Of a new array, the view that it has, None and True; or one that it is like, None and False.
"""

Small = tuple[Any, Source | BaseView]
"""The elements of an array, and where they come from; or where they lie, if they are not in the order of rows."""


class SourceOfCopy(tuple[Any, Any, bool]):
    """Where a copy comes from that knows its originals: what is written to it is to be told (see `originals`).

    Until it is, NumPy has its elements as read-only, so that nobody has to ask for that.
    """

    original: Originals | None


OF_NUMBER: Source = None, None, False
"""What is computed of numbers lies on all processes."""


def _begin(job: World) -> None:
    global is_on
    is_on = job.size == 1 and silent_state is not None


when_started.append(_begin)


@contextmanager
def passed_over() -> Iterator[None]:
    """Leave small arrays to what records them, meanwhile, as that is to be measured."""
    global is_on
    before, is_on = is_on, False
    try:
        yield
    finally:
        is_on = before


def elements_of(x: Any) -> Any:
    """Those of an array of these kinds, to be read alone where that is; None where NumPy cannot have them.

    It is for callers to see that nothing is under way (`recording.is_clear`), before they ask. There are none while
    something is recorded that uses them. What is large, and was never written to, is not allocated for them.
    """
    queue = recording.queue
    if queue.recorded.fields and queue.recorded.may_use(_storage(x)):
        return None
    if queue.engine.has_failed and _is_poisoned(x):
        return None
    found = x._elements
    if found is None:
        base, view = x._base, x._view
        if base.__class__ is not Base or base.dtype.kind in "SU":
            return None  # the elements of text have lengths of their own, where NumPy has them
        is_to_be_read = view.is_read_only or view.stretched_dims
        if (math.prod(base.layout.shape) > MAX_ELEMENTS and not base.storage.is_allocated) or (
                is_to_be_read and view.size > MAX_ELEMENTS):
            return None
        found = local_view(base.storage, view)
        if is_to_be_read or base.original is not None:
            found = found.view()
            found.flags.writeable = False
        x._elements = found
    return found


def seen(x: Any) -> Any:
    """The elements of an array, few enough, to be read alone: they may be another array's, or repeated; else None."""
    queue = recording.queue
    if x.__class__ not in kinds or x.size > MAX_ELEMENTS or queue.engine.has_failed or x.dtype.kind in "SU":
        return None
    storage = x._base.storage.lender
    return None if queue.recorded.may_use(storage) else local_view(storage, x._view)


def operand(x: Any, max_elements: int | None = None) -> Any:
    """The elements of an operand, also of NumPy's in this machine's order of bytes, if they are few enough; else None.
    A truth value is NumPy's. See `elements_of`.
    """
    if x.__class__ in kinds:
        found = quick.ready(x)
        if found is None:
            return elements_of(x) if _has_few(x, max_elements) else None
        return _if_few(found, max_elements)
    if x.__class__ is bool:
        return np.bool_(x)  # whose dtype it has in NumPy's functions
    return _if_few(x, max_elements) if x.__class__ in OF_NUMPY and x.dtype.isbuiltin else None


def ready(x: Any, max_elements: int | None = None) -> Any:
    """The elements of a global array, if they are few enough, and nothing comes before; else None."""
    found = quick.ready(x)
    if found is not None:
        return _if_few(found, max_elements)
    if x.__class__ not in kinds or not _has_few(x, max_elements) or not recording.is_clear():
        return None
    return elements_of(x)


def are_few(n: int, dtype: np.dtype[Any]) -> bool:
    """Whether what passes through memory, where so many elements of a dtype are, is done here."""
    return n <= MAX_ELEMENTS or n * dtype.itemsize <= 8 * MAX_ELEMENTS


def _if_few(elements: Any, max_elements: int | None) -> Any:
    return elements if _has_few(elements, max_elements) else None


def _has_few(x: Any, max_elements: int | None) -> bool:
    n = x.size
    return are_few(n, x.dtype) if max_elements is None else n <= max_elements


def is_clear() -> bool:
    """See `recording.is_clear`."""
    return quick.is_clear() or recording.is_clear()


def is_writable(x: Any) -> bool:
    """Whether elements of an array, which is going to be written to, may be written to here.

    That it is, is told where it has to be.
    """
    elements = x._elements
    if elements.__class__ is np.ndarray and not elements.flags.writeable:
        _tell(x)
        if not elements.flags.writeable:
            return False
    return not _is_borrowed(x)


def _tell(x: Any) -> None:
    """See `originals.tell`; from then on, the elements are no longer read-only."""
    root = _root(x)
    if root._source is None:
        copy, is_only_read = root._base, root._view.is_read_only or root._view.stretched_dims
    else:
        copy, is_only_read = root._source, root._source.__class__ is not SourceOfCopy
    if is_only_read:
        return
    if copy.original is not None:
        tell(copy)
    root._elements.flags.writeable = x._elements.flags.writeable = True


def _root(x: Any) -> Any:
    """The array that an array is a section of, or that itself."""
    while x._source is not None and x._source[1] is not None:
        x = x._source[1]
    return x


def _is_borrowed(x: Any) -> bool:
    """Whether somebody has elements of an array's base, and may need a copy of them before they are written to."""
    if not borrowers:
        return False
    storage = _storage(x)
    return storage is not None and storage in [reference.storage for reference in [*borrowers]]


def _is_poisoned(x: Any) -> bool:
    """Whether the elements are not what was recorded, as something has failed."""
    storage = _storage(x)
    return storage is not None and storage.poison is not None


def _storage(x: Any) -> Storage | None:
    """That of an array, or of the array that it is a section of; None if there is none yet."""
    root = _root(x)
    return None if root._source is not None else root._base.storage


def takes(shape: tuple[int, ...]) -> bool:
    """Whether what passes through elements of a shape is done here."""
    return math.prod(shape) <= MAX_ELEMENTS


def called(function: Callable[..., Any], *operands: Any, default: Any = None) -> Any:
    """What a function gives, with floating-point errors passed over, or what is given in the place of None; None if it
    refuses its operands.
    """
    try:
        found = silently(function, *operands)
    except (AttributeError, IndexError, TypeError, ValueError, OverflowError) as error:
        if is_interrupt(error):
            raise
        return None
    recording.queue.n_at_once += 1
    return default if found is None else found


def base_and_view(x: Any) -> BaseView:
    """The base and the view of an array that has its elements only."""
    like, owner, _ = source = x._source
    if owner is not None:
        return BaseView(owner._base, view_of(like))
    elements = np.asarray(x._elements)
    view = view_of(view_like(x)) if elements.shape else whole(view_of(like).own_layout or replicated((), 1))
    elements = elements.reshape(view.layout.shape)  # without dimensions that are kept
    if source.__class__ is not SourceOfCopy:
        return BaseView(wrap(view.layout, elements), view)
    elements.flags.writeable = True
    base = wrap(view.layout, elements)
    base.original = source.original
    return BaseView(base, view)


def of_no_dimension(element: NDArray[Any]) -> BaseView:
    """A base of an array without dimensions, and its view."""
    layout = replicated((), 1)
    return BaseView(wrap(layout, element), whole(layout))


def in_order_of_memory(elements: NDArray[Any], arrays: Sequence[Any]) -> tuple[NDArray[Any], BaseView]:
    """Elements that are computed of arrays, in a base of the order in which these lie, and its view."""
    views = [x._view if x.__class__ in kinds else whole(replicated(x.shape, 1)) for x in arrays]
    view = _result_in_order(default_for(elements.shape), *[x.broadcast_to(elements.shape) for x in views])
    order = view.memory_order or tuple(range(elements.ndim))
    local = elements.transpose(order)
    if not local.flags.c_contiguous:
        local = local.copy()
        elements = local.transpose([order.index(d) for d in range(elements.ndim)])
    return elements, BaseView(wrap(view.layout, local), view)


@cached
def _result_in_order(default: Layout, *views: View) -> View:
    """As what a result of views of its shape is seen, for which there is a default layout."""
    return result_view(default.shape, views, lambda _: default)


def origin(x: Any) -> tuple[Any, Any, bool]:
    """What the view of an array follows from, the array that its sections are sections of, and whether the view is that
    itself, and not that of a result.
    """
    like, owner, is_exact = x._source or (x._view, None, True)
    return like, x if owner is None else owner, is_exact


def is_section(x: Any) -> bool:
    """Whether an array is a section of another one, which it was made as here."""
    return x._source is not None and x._source[1] is not None


def shown(x: Any, show: Callable[[Any], Any]) -> tuple[Any, Source] | None:
    """The elements of an array, shown as other numbers, and where they come from, as of a section of it; None if they
    are not shown here.
    """
    elements = ready(x)
    return None if elements is None else (show(elements), (like_of(x), x, x._source is None or x._source[2]))


def copied(x: Any, dtype: np.dtype[Any] | None = None, keeps_order: bool = False) -> Small | None:
    """A copy of an array or a number, which may be cast to a dtype; that of a whole base keeps its layout. Its elements
    lie in the order of rows, or, if it `keeps_order`, of the array's. None if it is not made here.
    """
    elements = ready(x)
    if elements is None or not are_few(elements.size, dtype or elements.dtype) or (
            dtype is not None and not is_exact_cast(elements.dtype, dtype)):
        return None
    found = called(_copied, elements, dtype or elements.dtype, "K" if keeps_order else "C")
    if found is None:
        return None
    if x._is_number:
        return found[()], OF_NUMBER
    if not found.shape:
        return (found, of_no_dimension(found)) if x._base.layout == replicated((), 1) else None
    return (found, source_of_copy(x)) if found.flags.c_contiguous else in_order_of_memory(found, [x])


def gathered(x: Any) -> NDArray[Any] | None:
    """All elements of an array, in a new one of NumPy's; None if they are not gathered here."""
    elements = ready(x)
    if elements is None:
        return None
    recording.queue.n_at_once += 1
    return np.array(elements, order="C")


def empty_like(x: Any, dtype: np.dtype[Any]) -> Small | None:
    """A new array that lies as a copy of another one does; None if it is not made here."""
    elements = ready(x)
    if elements is None or not elements.shape or dtype.kind not in "biufc":
        return None
    return np.empty(elements.shape, dtype), source_of_copy(x)


def read_only(x: Any) -> Small | None:
    """The elements of a new array, which are only read from now on, and where they come from; None if it has a base."""
    if x._source is None:
        return None
    elements = x._elements.view()
    elements.flags.writeable = False
    return elements, (likeness(only_read, view_like(x), None), None, True)


def source_of_copy(x: Any) -> Source:
    """Where a new array comes from that lies like another one: as that does, if it is whole."""
    if x._source is None and x._view.is_whole:
        return whole(x._view.layout), None, True  # which is written to, also where that view is only read through
    return like_of(x), None, False


def source_of_new(shape: tuple[int, ...]) -> Source:
    """Where a new array comes from that lies as arrays do by default."""
    return whole(default_for(shape)), None, True


def reshaped(x: Any, shape: Sequence[int], is_view: Callable[..., bool] | None) -> Small | None:
    """A copy of an array that is dealt out, in another shape, not only with other extents of 1; None if it is not made
    here. For `is_view` see `GlobalArray._reshaped`.
    """
    elements = ready(x)
    if elements is None or not elements.shape or not is_distributed(like_of(x)):
        return None
    found = called(elements.reshape, tuple(shape))
    if found is None or [n for n in found.shape if n != 1] == [n for n in elements.shape if n != 1]:
        return None
    source = source_of_new(found.shape)
    if not np.may_share_memory(found, elements):
        return found, source
    found = found.copy()
    if is_view is None or not is_view(elements.shape, elements.strides, elements.itemsize, found.shape):
        return found, source
    root = _root(x)
    if root._source is None and root._view.is_read_only:
        return found, source
    source = SourceOfCopy(source)
    if root._source is None:
        source.original = originals_of(root._base, root._base.original)
    else:
        source.original = originals_of(root, getattr(root._source, "original", None))
    found = found.view()
    found.flags.writeable = False
    return found, source


def _copied(elements: NDArray[Any], dtype: np.dtype[Any], order: Any) -> NDArray[Any]:
    return np.asarray(elements).astype(dtype, order)


@cached
def is_exact_cast(dtype: np.dtype[Any], to: np.dtype[Any]) -> bool:
    """Whether all who cast numbers give the same bits, also of what a dtype cannot hold."""
    if dtype.char in _OTHER_FLOATS or to.char in _OTHER_FLOATS:
        return False
    if dtype.kind == "f":
        return to.kind in "fcb" or to in (np.int32, np.int64)
    return (dtype.kind in "iub" and to.kind in "iubfc") or dtype.kind == to.kind == "c"


_OTHER_FLOATS = "egG"
"""The dtypes of floats that processors do not have."""


def filled(x: Any, fill: Callable[[Storage], None]) -> bool:
    """Have the local part of a new array filled; whether it was."""
    if not (is_on and is_clear() and takes(x._view.shape)):
        return False
    return called(fill, x._base.storage, default=True) is not None
