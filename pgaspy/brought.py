"""Small arrays that come to all processes: each computes all of a function's results, and keeps its part.

That takes one message, where they lie in blocks; a function that sorts, or counts first, takes several, and some
hundred microseconds.
"""

from __future__ import annotations

import functools
import math
import operator
from collections.abc import Callable, Sequence
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from pgaspy.alone import small
from pgaspy.arguments import NotTaken, taken
from pgaspy.array import GlobalArray, made
from pgaspy.dims import whole_dim
from pgaspy.execution import recording
from pgaspy.global_assign import are_gathered_together, gathered_together, is_dealt_out_in_parts
from pgaspy.job.defaults import default_for
from pgaspy.job.procgrid import world
from pgaspy.layout import Layout, replicated
from pgaspy.operands import has_arrays, own_part
from pgaspy.planning.local_parts import are_alike
from pgaspy.planning.owners import are_runs
from pgaspy.planning.view import whole
from pgaspy.scheduling.base import wrap
from pgaspy.scheduling.operations import BaseView
from pgaspy.supervision.recorder import announce, take

__all__ = ["MAX_ELEMENTS", "Lying", "accumulated", "called", "lies_by_default", "may_come", "placed", "section",
           "updated"]

MAX_ELEMENTS = 1 << 13
"""Of all arrays together: NumPy takes some hundred microseconds to sort so many."""

Lying = Literal["by default", "as given", "everywhere"]
"""How a function's results lie: as new arrays do by default, as the arrays that it is given, or on all processes."""

_PLAIN = int, float, bool, slice, list, type(Ellipsis), type(None)
"""The classes of what is no array in a key, or what is assigned."""


def called(numpys: Callable[..., Any], given: tuple[Any, ...], options: dict[str, Any], lying: Lying) -> Any:
    """The results of NumPy's function, dealt out; None if it is not called here. Collective.

    What decides that is the same on all processes: results that lie as given are made of arrays in default layouts.
    """
    if not may_come():
        return None
    arrays: list[Any] = []
    sizes: list[int] = []

    def noted(x: Any, _: int) -> Any:
        if x.__class__ not in small.kinds and not (
                x.__class__ in small.OF_NUMPY and x.dtype.isbuiltin and not x.dtype.hasobject):
            return None
        sizes.append(x.size)
        return x

    try:
        for x in (*given, *options.values()):
            taken(x, arrays, 0, noted)
    except NotTaken:
        return None
    if not arrays or sum(sizes) > MAX_ELEMENTS or (lying == "as given" and not all(map(lies_by_default, arrays))):
        return None
    elements = _elements_of(arrays, numpys.__name__)
    named = {name: taken(x, arrays, 0, lambda x, _: elements(x)) for name, x in options.items()}
    operands = [taken(x, arrays, 0, lambda x, _: elements(x)) for x in given]
    found = small.called(functools.partial(numpys, **named), *operands)
    if found is None:
        return None
    _tell_contents(*given, *options.values())
    if lying == "everywhere":
        return _dealt_out(found, replicated(found.shape, world().size))
    if isinstance(found, tuple):
        return tuple(map(_dealt_out, found))
    is_alike = lying == "as given" and arrays[0].ndim and np.shape(found) == arrays[0].shape
    return _dealt_out(found, arrays[0]._base.layout if is_alike else None)


def section(a: GlobalArray, key: Any) -> GlobalArray | None:
    """A copy of what a key with arrays names of an array; None if it is not made here. Collective.

    It lies as a new array does or, if it is rows, as these. What decides that is the same on all processes: so it is
    where indices do not lie as the program has said, and the result would lie as they do.
    """
    keys = _entries(key)
    if not (a.ndim and _are_few(a, key, None)):
        return None
    arrays = [k for k in keys if k.__class__ in small.kinds]
    are_first, indices = _size(keys[0]) > 0, [k for k in arrays if k.dtype == bool or k._view.layout.is_distributed]
    if not (are_first or arrays):  # columns: as a rule each process has all of them that it needs
        return None
    if _n_named(keys) * a.size > MAX_ELEMENTS * (a.shape[0] if are_first else min(a.shape)):
        return None
    are_rows = len(keys) == 1 and keys[0].ndim == 1 < a.ndim if indices else False
    is_new = are_rows or keys[0].__class__ is slice or sum(k.ndim if k.dtype == bool else 1 for k in indices) == a.ndim
    if indices and not (is_new and all(k.dtype == bool or _is_base_by_default(k) for k in indices)):
        return None
    elements = _elements_of([a, *arrays], "getitem")
    of_a, *own = [elements(x) for x in (a, *keys)]
    found = small.called(operator.getitem, of_a, _as_key(own, key))
    if not isinstance(found, np.ndarray) or not found.ndim:
        return None
    _tell_contents(*keys)
    if are_rows:
        of_rows = default_for(found.shape[:1])
        layout = Layout(of_rows.grid, [*of_rows.dims, *map(whole_dim, found.shape[1:])], of_rows.pins)
        if are_runs(a._view, 1, layout):
            return _dealt_out(found, layout)
    return _dealt_out(found)


def updated(a: GlobalArray, key: Any, value: Any, update: Callable[[Any, Any, Any], Any],
            purpose: str = "setitem") -> NDArray[Any] | None:
    """All elements of an array after `update(elements, key, value)`, where key or value are arrays that come to all
    processes as well; None if that is not found here. Collective.
    """
    if not _are_few(a, key, value) or not any(x.__class__ in small.kinds for x in (value, *_entries(key))):
        return None
    if value.__class__ in small.kinds and value.dtype.kind == "c" != a.dtype.kind:
        return None  # of which NumPy warns, where it is called
    keys = _entries(key)
    elements = _elements_of([a, *[x for x in (value, *keys) if x.__class__ in small.kinds]], purpose)
    of_a, given, *own = [elements(x) for x in (a, value, *keys)]
    found: NDArray[Any] | None = small.called(update, of_a, _as_key(own, key), given, default=of_a)
    if found is not None:
        _tell_contents(value, *keys)
    return found


def accumulated(ufunc: np.ufunc, a: GlobalArray, key: Any, value: Any) -> NDArray[Any] | None:
    """The same of `ufunc.at`, which (NumPy 2.4's) reads beyond values that are broadcast."""
    def accumulate(elements: NDArray[Any], key: Any, value: Any) -> None:
        ufunc.at(elements, key, np.broadcast_to(value, elements[key].shape).copy() if np.ndim(value) else value)

    return updated(a, key, value, accumulate, ufunc.__name__)


def placed(a: GlobalArray, key: Any, value: Any) -> tuple[NDArray[np.bool_], NDArray[Any]] | None:
    """What is assigned to an array at a key, and where, as arrays of its shape, as all processes have key and value;
    None if that is not found here.
    """
    if not _are_few(a, key, value) or any(x.__class__ in small.kinds for x in (value, *_entries(key))):
        return None
    where, what = np.zeros(a.shape, bool), np.zeros(a.shape, a.dtype)
    if small.called(operator.setitem, where, key, True, default=where) is None:
        return None
    return None if small.called(operator.setitem, what, key, value, default=what) is None else (where, what)


def _are_few(a: GlobalArray, key: Any, value: Any) -> bool:
    """Whether an array, and what is in a key and is assigned, may be looked at by all processes."""
    others = value, *_entries(key)
    return (may_come() and a.__class__ in small.kinds and a.size + sum(map(_size, others)) <= MAX_ELEMENTS
            and all(x.__class__ in small.kinds or _is_plain(x) for x in others))


def _entries(key: Any) -> tuple[Any, ...]:
    return key if isinstance(key, tuple) else (key,)


def _as_key(entries: Sequence[Any], key: Any) -> Any:
    """What stands in the places of a key's entries, as such a key."""
    return tuple(entries) if isinstance(key, tuple) else entries[0]


def _is_plain(x: Any) -> bool:
    """Whether it is no global array, and may stand in a key, or be assigned."""
    return x.__class__ in _PLAIN or ((x.__class__ is np.ndarray or isinstance(x, np.number)) and x.dtype.kind in "iubf")


def _size(x: Any) -> int:
    if isinstance(x, list):
        return sum(map(_size, x)) if x and isinstance(x[0], list) else len(x)
    return getattr(x, "size", 0)


def _n_named(keys: Sequence[Any]) -> int:
    """How many items a key names at most: arrays of integers are broadcast against each other."""
    indices = [k.shape for k in keys if (k.__class__ in small.kinds or isinstance(k, np.ndarray)) and k.dtype != bool]
    try:
        n_indices = math.prod(np.broadcast_shapes(*indices))
    except ValueError:
        n_indices = 0  # which NumPy refuses
    return max([n_indices, *map(_size, keys)])


def lies_by_default(x: GlobalArray) -> bool:
    """Whether it lies as a new array does by default."""
    return not x.ndim or (x._view.is_whole and are_alike(x._base.layout, default_for(x.shape)))


def _is_base_by_default(x: GlobalArray) -> bool:
    """Whether the array that it is, or is a section of, lies as a new one does by default."""
    layout = x._base.layout
    return are_alike(layout, default_for(layout.shape))


def may_come() -> bool:
    """Whether arrays may come to all processes: nothing is only planned, nor are errors to be told."""
    return world().size > 1 and recording.is_executing() and not recording.are_errors_asked()


def _elements_of(arrays: Sequence[GlobalArray], purpose: str) -> Callable[[Any], Any]:
    """A function that gives all elements of any of these arrays, on each process; anything else as it is. They come for
    a purpose, so that processes which have different ones are found to diverge.
    """
    own = {id(x): x for x in arrays}
    come = {key: BaseView(x._base, x._view) for key, x in own.items() if is_dealt_out_in_parts(x._view)}
    found: dict[int, NDArray[Any]] = {}
    if come and are_gathered_together([*come.values()]):
        found = dict(zip(come, gathered_together([*come.values()], purpose), strict=True))
    found |= {key: x.gather() for key, x in own.items() if key not in found}
    return lambda x: found.get(id(x), x)


def _tell_contents(*given: Any) -> None:
    """Have arrays, lists and numbers that are the same on all processes compared, as those that operations take."""
    if numbers := [x for x in given if np.isscalar(x)]:
        announce("numbers", *numbers)
    for x in given:
        if x.__class__ is np.ndarray or (x.__class__ is list and not has_arrays(x)):
            take(np.asarray(x))


def _dealt_out(found: Any, layout: Layout | None = None) -> GlobalArray:
    """A global array of what every process has, in its default layout, if none is given."""
    elements = np.asarray(found)
    elements = np.asarray(elements, np.dtype(elements.dtype.str))
    if layout is None:
        layout = default_for(elements.shape) if elements.ndim else replicated((), world().size)
    return made(wrap(layout, np.array(own_part(elements, layout), order="C")), whole(layout))
