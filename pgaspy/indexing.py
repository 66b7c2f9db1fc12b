"""Indexing by arrays: what a key with arrays of integers or booleans names is read, or written to.

A key is worked out in two steps. Its slices, and new dimensions, make a view; what is left are *terms*: arrays of
integers that broadcast together, each for one dimension of that view, or for several that are counted together, as
where a mask is true. These make one array of numbers, which count the elements, or rows, of the view in row-major
order, and of which the exchange knows the owners (`scheduling/exchanges.py`).
"""

from __future__ import annotations

import functools
import math
import operator
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pgaspy import brought, ufuncs
from pgaspy.alone import keys, sections, small
from pgaspy.array import GlobalArray, made, of_elements
from pgaspy.creation import ELEMENTS_AT_A_TIME, arange, as_array, as_values, empty, generated
from pgaspy.dims import BlockDim, CyclicDim, whole_dim
from pgaspy.dispatch import implements
from pgaspy.execution.recording import is_planning, record, record_refusable, taking_memory
from pgaspy.job.defaults import default_for
from pgaspy.job.procgrid import world
from pgaspy.kernels.bindings import find_beyond, take_along
from pgaspy.layout import Layout, replicated, without_dims
from pgaspy.originals import tell
from pgaspy.planning.owners import are_runs
from pgaspy.planning.result_layout import result_layout
from pgaspy.planning.view import View, whole
from pgaspy.scheduling import exchanges
from pgaspy.scheduling.base import Base, Storage
from pgaspy.scheduling.flat_indices import FLAT_INDEX, MAX_TOLD
from pgaspy.scheduling.floating_point import silently
from pgaspy.scheduling.functions import WHERE
from pgaspy.scheduling.kinds.compaction import compact, count, expand
from pgaspy.scheduling.kinds.exchange import Gather, Scatter, gather, scatter
from pgaspy.statements import check_writable, refusals
from pgaspy.tasks import perform, update, write

__all__ = ["Compaction", "Selection", "accumulate_at", "as_indices", "bring", "counted", "fetched",
           "positions", "put_where", "repeated", "rest_of", "selected"]

Indices = GlobalArray | NDArray[Any]

_RIGHT = 0, 0
"""In the place of the axis and the extent of indices that are known to be right."""


@dataclass
class Term:
    """An array of integers that names elements along dimensions of a view.

    Attributes
    ----------
    indices
        The array.
    first, n_dims
        The dimensions: so many from one on.
    refusal
        Of indices that are not known to be right, the axis and the extent that an error names.
    """

    indices: Indices
    first: int
    n_dims: int
    refusal: tuple[int, int] | None = None

    def check(self) -> None:
        """Refuse indices beyond the dimension: those of a global array by one number, which all read."""
        if self.refusal is not None:
            _check_within(self.indices, *self.refusal)


@dataclass
class Selection:
    """What a key names.

    Attributes
    ----------
    view
        With all dimensions that terms are for, and those that slices have made.
    terms
        In the order of the dimensions.
    shape
        Of the terms, broadcast together.
    at
        Where their dimensions are among those of the result.
    """

    view: View
    terms: list[Term]
    shape: tuple[int, ...]
    at: int

    @property
    def kept(self) -> list[int]:
        """The view's dimensions that no term is for."""
        named = {d for term in self.terms for d in range(term.first, term.first + term.n_dims)}
        return [d for d in range(self.view.ndim) if d not in named]

    @property
    def result_shape(self) -> tuple[int, ...]:
        """That of what is selected."""
        kept = [self.view.shape[d] for d in self.kept]
        return *kept[:self.at], *self.shape, *kept[self.at:]

    def check(self) -> None:
        """Refuse indices beyond the array, where nothing is exchanged."""
        for term in self.terms:
            term.check()

    @property
    def n_last(self) -> int:
        """How many dimensions of the view, the last ones, are behind all terms, and last in the result."""
        behind = self.view.ndim - max((term.first + term.n_dims for term in self.terms), default=0)
        return min(behind, len(self.kept) - self.at)


# Keys ----------------------------------------------------------------------------------------------------------------


@taking_memory
def selected(view: View, key: Any, value: Indices | None = None) -> Selection:
    """What a key names of a view, and is assigned a value, if there is one.

    Raises
    ------
    IndexError
        As NumPy does; for indices beyond the array as well.
    ValueError
        Before these, if the value does not broadcast to what is named.
    """
    entries = [_entry(k) for k in (key if isinstance(key, tuple) else (key,))]
    entries = _complete(entries, view)
    is_array = [isinstance(k, GlobalArray | np.ndarray) for k in entries]
    basic: list[Any] = []
    terms: list[Term] = []
    axis = d = 0
    for k, is_term in zip(entries, is_array, strict=True):
        if not is_term:
            basic.append(k)
            axis, d = axis + isinstance(k, slice), d + (k is not Ellipsis)
            continue
        n_dims = _n_dims(k)
        extents = view.shape[axis:axis + n_dims]
        basic += [slice(None)] * n_dims
        refusal = None
        if k.dtype == bool:
            _check_mask(k, extents, axis)
            k = _where_true(k)
        elif (known := _known(k)) is not None and find_beyond(known, extents[0]) is None:
            k = known
        else:
            refusal = axis, extents[0]
        terms.append(Term(k, d, n_dims, refusal))
        axis, d = axis + n_dims, d + n_dims
    shape = _joint_shape(terms)
    places = [n for n, is_term in enumerate(is_array) if is_term]
    follow = places[-1] - places[0] == len(places) - 1
    found = Selection(view.index(tuple(basic)), terms, shape,
                      sum(k is not Ellipsis for k in entries[:places[0]]) if follow else 0)
    if value is not None:
        _check_broadcast(value, found.result_shape)
    for term in terms:
        _check_known(term)
    return found


def as_indices(x: Any) -> Indices:
    """Indices as an array; a sequence without elements has integers."""
    indices = as_array(x)
    return indices.astype(np.int64) if indices.size == 0 and not isinstance(x, GlobalArray | np.ndarray) else indices


def _check_known(term: Term) -> None:
    """Have a term known to be right, if its indices are the same everywhere; others are checked with the counts."""
    if isinstance(term.indices, np.ndarray):
        term.check()
        term.refusal = None


def _entry(k: Any) -> Any:
    """One entry of a key: a slice, None, Ellipsis, or an array of integers or booleans."""
    if k is None or k is Ellipsis or isinstance(k, slice):
        return k
    if isinstance(k, GlobalArray) and k.ndim == 0:
        k = k.item()
    elif hasattr(k, "__index__") and not isinstance(k, bool | np.generic | np.ndarray | GlobalArray):
        k = operator.index(k)
    k = as_indices(k)
    if k.dtype.kind not in "iub":
        if k.ndim == 0:
            raise IndexError("only integers, slices (`:`), ellipsis (`...`), numpy.newaxis (`None`) and integer or "
                             "boolean arrays are valid indices")
        raise IndexError("arrays used as indices must be of integer (or boolean) type")
    return k if k.dtype.char in _KEPT else k.astype(np.int64)


_KEPT = "?" + np.dtype(np.int64).char
"""The dtypes of indices: of two that are equal, as C has two types of such integers, kernels know one."""


def _n_dims(k: Indices) -> int:
    """How many dimensions an array in a key is for."""
    return k.ndim if k.dtype == bool else 1


def _complete(entries: list[Any], view: View) -> list[Any]:
    """A key with a slice for each dimension that it leaves out."""
    n_indices = sum(_n_dims(k) if isinstance(k, GlobalArray | np.ndarray) else k not in (None, Ellipsis)
                    for k in entries)
    at = [n for n, k in enumerate(entries) if k is Ellipsis]
    if len(at) > 1:
        raise IndexError("an index can only have a single ellipsis ('...')")
    if n_indices > view.ndim:
        raise IndexError(f"too many indices for array: array is {view.ndim}-dimensional, but {n_indices} were indexed")
    rest: list[Any] = [slice(None)] * (view.ndim - n_indices)
    place = at[0] if at else len(entries)
    if at and not rest:
        rest = [Ellipsis]  # which keeps apart what is on either side
    return [*entries[:place], *rest, *entries[place + len(at):]]


def _check_mask(mask: Indices, extents: tuple[int, ...], axis: int) -> None:
    """Refuse a mask of another shape; but NumPy takes one of no elements along a dimension for any extent of that."""
    for d, (n, m) in enumerate(zip(extents, mask.shape, strict=True)):
        if m not in (0, n):
            raise IndexError(f"boolean index did not match indexed array along axis {axis + d}; size of axis is {n} "
                             f"but size of corresponding boolean axis is {m}")


def _check_within(indices: Indices, axis: int, extent: int) -> None:
    if indices.size == 0 or (isinstance(indices, GlobalArray) and is_planning()):
        return
    if isinstance(indices, GlobalArray):
        beyond = (indices < -extent) | (indices >= extent)
        place = int(beyond.argmax()) if beyond.any() else None
    else:
        place = find_beyond(np.ascontiguousarray(indices), extent)
    if place is not None:
        index = int(indices[np.unravel_index(place, indices.shape)])
        raise IndexError(f"index {index} is out of bounds for axis {axis} with size {extent}")


def _where_true(mask: Indices) -> Indices:
    """The numbers, in row-major order, of the elements of a mask that are true."""
    if isinstance(mask, GlobalArray):
        known = _known(mask)
        return positions(mask) if known is None else np.flatnonzero(known)
    return np.flatnonzero(mask)


def _known(indices: Indices) -> NDArray[Any] | None:
    """Few indices of a global array, as they are now, where nobody has to be waited for; else None."""
    if not isinstance(indices, GlobalArray) or not small.is_on or world().size > 1 or is_planning():
        return None
    seen = small.seen(indices)
    return None if seen is None else seen.copy()


def _joint_shape(terms: Sequence[Term]) -> tuple[int, ...]:
    shapes = [term.indices.shape for term in terms]
    try:
        return np.broadcast_shapes(*shapes)
    except ValueError:
        raise IndexError("shape mismatch: indexing arrays could not be broadcast together with shapes "
                         f"{' '.join(map(str, shapes))}") from None


# Numbers of elements -------------------------------------------------------------------------------------------------


def _numbers(selection: Selection, n_run_dims: int, layout: Layout) -> tuple[GlobalArray, tuple[tuple[int, int], ...]]:
    """The numbers of the elements, or of runs of them, that are selected, in the layout that is asked for; and the
    dimensions that indices may be beyond, as an exchange takes them.
    """
    view, terms = selection.view, selection.terms
    extents = view.shape[:view.ndim - n_run_dims]
    kept = [d for d in selection.kept if d < len(extents)]
    may_be_beyond = any(term.refusal is not None for term in terms)
    (only, *others) = terms
    if not others and not kept:
        dims = (only.refusal,) if only.refusal is not None else ()
        if isinstance(only.indices, GlobalArray) and only.indices._view == whole(layout):
            return only.indices, dims
        found = GlobalArray(Base(layout, np.dtype(np.int64)), whole(layout))
        found[...] = only.indices
        return found, dims
    if may_be_beyond and math.prod(extents) > MAX_TOLD:
        selection.check()
        may_be_beyond = False
    behind = (None,) * (len(kept) - selection.at)
    parts: list[tuple[int, Indices, int, tuple[int, int]]] = []
    for term in terms:
        indices = term.indices if not behind else term.indices[(..., *behind)]
        extent = math.prod(extents[term.first:term.first + term.n_dims])
        parts.append((term.first, indices, extent, term.refusal or _RIGHT))
    for number, d in enumerate(kept):
        n_behind = len(kept) - number - 1 + (len(selection.shape) if number < selection.at else 0)
        parts.append((d, _range(extents[d])[(slice(None), *(None,) * n_behind)], extents[d], _RIGHT))
    parts.sort(key=operator.itemgetter(0))
    found = GlobalArray(Base(layout, np.dtype(np.int64)), whole(layout))
    so_far: Any = 0
    for _, indices, extent, _ in parts:
        ufuncs.apply(FLAT_INDEX, (so_far, indices, extent), (found,))
        so_far = found
    return found, tuple([dim for *_, dim in parts]) if may_be_beyond else ()


def _range(n: int) -> Indices:
    return np.arange(n) if n <= 1 << 13 else arange(n)


def rest_of(a: GlobalArray, d: int) -> tuple[slice, ...]:
    """Whole slices of the dimensions after one."""
    return (slice(None),) * (a.ndim - d - 1)


def repeated(values: Any, n: int) -> Any:
    """n values in one dimension: those that are given, again and again."""
    values = as_array(values).reshape(-1)
    if values.size in (1, n):
        return values
    if isinstance(values, GlobalArray):
        return values[arange(n) % values.size]
    if n <= ELEMENTS_AT_A_TIME or values.dtype.hasobject:
        return np.resize(values, n)
    values = values.copy()
    return generated(empty(n, values.dtype), lambda i: values[i % values.size])


# Reading -------------------------------------------------------------------------------------------------------------


@implements(GlobalArray.__getitem__)
def get(a: GlobalArray, key: Any) -> GlobalArray:
    """`a[key]`, for a key with arrays: a copy."""
    plain = _without_arrays(key)
    if plain is not None:
        return a[plain].copy()
    if (apart := _apart(key)) is not None:
        return a[apart[0]][apart[1]]
    if small.is_on and keys.clears(a, key) and (found := sections.section(a, key)) is not None:
        return of_elements(*found)
    if (slices := _of_pair(a, key)) is not None:
        return a[slices].copy()
    if not small.is_on and (few := brought.section(a, key)) is not None:
        return few
    mask = _only_mask(key)
    if isinstance(mask, GlobalArray) and mask.shape == a.shape:
        return Compaction(mask).elements(a)
    return fetched(a, selected(a._view, key))


def _without_arrays(key: Any) -> tuple[Any, ...] | None:
    """A key whose arrays are integers without dimensions with integers in their place; None for any other."""
    plain = []
    for k in key if isinstance(key, tuple) else (key,):
        if isinstance(k, np.ndarray | GlobalArray) and not k.ndim and k.dtype.kind in "iu":
            k = int(k)
        elif not (k is None or k is Ellipsis or isinstance(k, slice | np.integer) or k.__class__ is int):
            return None
        plain.append(k)
    return tuple(plain)


def _apart(key: Any) -> tuple[tuple[Any, ...], Indices] | None:
    """A key of integers and one array as that of a view, and the array, which is a key of the view; None for others."""
    if not isinstance(key, tuple) or len(key) < 2:
        return None
    place = None
    for n, k in enumerate(key):
        if isinstance(k, GlobalArray | np.ndarray) and k.ndim and k.dtype.kind in "iub" and place is None:
            place = n
        elif not (k.__class__ is int or isinstance(k, np.integer)):
            return None
    if place is None:
        return None
    whole_dims = (slice(None),) * _n_dims(key[place])
    return (*key[:place], *whole_dims, *key[place + 1:]), key[place]


def _of_pair(a: GlobalArray, key: Any) -> tuple[slice, ...] | None:
    """A key of slices, and of two integers in a list, as one of slices alone, with which only those processes exchange
    anything that have it. None for any other key, for integers that are the same, or beyond, and on one process.
    """
    if world().size == 1:
        return None
    entries = key if isinstance(key, tuple) else (key,)
    places = [n for n, k in enumerate(entries) if not isinstance(k, slice)]
    if len(places) != 1 or len(entries) > a.ndim:
        return None
    place, = places
    pair, extent = _pair(entries[place]), a.shape[place]
    if pair is None or not all(-extent <= i < extent for i in pair):
        return None
    i, j = (i % extent for i in pair)
    if i == j:
        return None
    stop = j + (1 if i < j else -1)
    return *entries[:place], slice(i, None if stop < 0 else stop, j - i), *entries[place + 1:]


def _pair(k: Any) -> list[int] | None:
    """The two integers of a list, or of NumPy's array; those that are numbers of arrays are waited for."""
    if k.__class__ is np.ndarray:
        return k.tolist() if k.shape == (2,) and k.dtype.kind in "iu" else None
    if not isinstance(k, list) or len(k) != 2 or not all(map(_is_integer, k)):
        return None
    return list(map(int, k))


def _is_integer(x: Any) -> bool:
    """Whether something is one of Python's integers, or a number of a dtype of integers with a sign that may be read.
    """
    return x.__class__ is int or isinstance(x, np.signedinteger) or (
        isinstance(x, GlobalArray) and x._is_number and x.dtype.kind == "i" and not is_planning())


def fetched(a: GlobalArray, selection: Selection) -> GlobalArray:
    """A copy of what is selected of an array."""
    a, shape = a._plain(), selection.result_shape
    n_run_dims, layout = _result_layout(selection, shape)
    found = made(Base(layout, a.dtype), whole(layout))
    if found.size and selection.terms[0].first and _is_along(selection, layout) and (
            a.dtype.itemsize in (1, 2, 4, 8, 16)):
        term, = selection.terms
        indices = np.where(term.indices < 0, term.indices + selection.view.shape[term.first], term.indices)
        perform(functools.partial(_take_along, indices, term.first), write(found), GlobalArray(a._base, selection.view))
    elif found.size:
        dims = tuple(range(len(shape) - n_run_dims, len(shape)))
        numbers, index_dims = _numbers(selection, n_run_dims, without_dims(layout, dims))
        recipe = gather(layout, selection.view, numbers._view.layout, a.dtype, index_dims)
        _record(recipe, (found._base.storage, a._base.storage, numbers._base.storage))
    else:
        selection.check()
    return found


def _is_along(selection: Selection, layout: Layout) -> bool:
    """Whether each process has its part of the elements, in a layout, in its part of the view, which has all of the one
    dimension that is indexed: by indices that are the same everywhere, and right.
    """
    own, (term, *others) = selection.view.own_layout, selection.terms
    d, n_behind = term.first, selection.view.ndim - term.first - term.n_dims
    if (others or term.n_dims != 1 or term.refusal is not None or isinstance(term.indices, GlobalArray)
            or own is None or (own.grid, own.pins) != (layout.grid, layout.pins)):
        return False
    n_before_behind = layout.ndim - n_behind
    pairs = [*zip(own.dims[:d], layout.dims[:d], strict=True),
             *zip(own.dims[d + 1:], layout.dims[n_before_behind:], strict=True)]
    return all(dim.n_procs == 1 for dim in (own.dims[d], *layout.dims[d:n_before_behind])) and all(
        a == b or a.n_procs == b.n_procs == 1 for a, b in pairs)


def _take_along(indices: NDArray[np.int64], axis: int, target: NDArray[Any], source: NDArray[Any]) -> None:
    take_along(source, indices, axis, target)


def counted(view: View, indices: Any) -> Selection:
    """What an array of integers names of a view whose elements are counted in row-major order.

    Raises
    ------
    IndexError
        For what is no array of integers, and for indices beyond the array.
    """
    indices = _entry(indices)
    if not isinstance(indices, GlobalArray | np.ndarray) or indices.dtype == bool:
        raise IndexError("arrays used as indices must be of integer type")
    term = Term(indices, 0, view.ndim, (0, view.size))
    _check_known(term)
    return Selection(view, [term], indices.shape, 0)


def _only_mask(key: Any) -> Indices | None:
    """The mask, where a key is one."""
    if isinstance(key, tuple) and len(key) == 1:
        key, = key
    return key if isinstance(key, GlobalArray | np.ndarray) and key.dtype == bool and key.ndim else None


def _result_layout(selection: Selection, shape: tuple[int, ...]) -> tuple[int, Layout]:
    """How many of the last dimensions are read in runs; and the layout of what is read."""
    view, n = selection.view, selection.n_last
    default, n_items = default_for(shape), len(shape) - n
    indices = [term.indices._view for term in selection.terms if isinstance(term.indices, GlobalArray)]
    if n_items == len(selection.shape) and (views := [v for v in indices if v.shape == selection.shape
                                                       and v.layout.is_distributed]):
        found = result_layout(selection.shape, views, default_for)
        layout = Layout(found.grid, [*found.dims, *map(whole_dim, shape[n_items:])], found.pins)
        if are_runs(view, view.ndim - n, layout):
            return n, layout
    if are_runs(view, view.ndim - n, default):
        return n, default
    return 0, default


# Writing -------------------------------------------------------------------------------------------------------------


@implements(GlobalArray.__setitem__)
def put(a: GlobalArray, key: Any, value: Any) -> None:
    """`a[key] = value`, for a key with arrays."""
    ufuncs.check_target(a)
    plain = _without_arrays(key)
    if plain is not None:
        a[plain] = value
        return
    if (apart := _apart(key)) is not None:
        a[apart[0]][apart[1]] = value
        return
    mask = _only_mask(key)
    if small.is_on and (mask is None or np.size(value) > 1) and keys.clears(a, key) and (
            sections.is_assigned(a, key, value)):
        return
    if (slices := _of_pair(a, key)) is not None:
        value = as_values(value, a.dtype)
        _check_broadcast(value, a._view.index(slices).shape)
        a[slices] = value
        return
    if not small.is_on and (mask is None or np.size(value) > 1):
        if (elements := brought.updated(a, key, value, operator.setitem)) is not None:
            a[...] = elements
            return
        if (found := brought.placed(a, key, value)) is not None:
            put_where(a, *found)
            return
    value = as_values(value, a.dtype)
    if mask is not None and mask.ndim == a.ndim and value.ndim > 1:
        raise TypeError("where a mask of an array's shape is true, a value of at most one dimension is assigned: this "
                        f"one has {value.ndim}")
    if mask is not None and value.size == 1 and mask.shape == a.shape[:mask.ndim]:
        put_where(a, mask[(..., *(None,) * (a.ndim - mask.ndim))], value)
        return
    if isinstance(mask, GlobalArray) and mask.shape == a.shape and value.size:
        Compaction(mask).put(a, value)
        return
    bring(a, selected(a._view, key, value), value)


def put_where(a: GlobalArray, mask: Indices, value: Any) -> None:
    """Assign where a mask is true: one value, or those at the same places. It takes no exchange."""
    value = as_values(value, a.dtype)
    value = _of_one(value, a.dtype) if value.size == 1 else value.astype(a.dtype)
    ufuncs.apply(WHERE, (mask, value, a), (a,), casting="unsafe")


def _of_one(value: Any, dtype: np.dtype[Any], run: tuple[int, ...] = ()) -> GlobalArray:
    """One value, or one run of them, to whose shape it broadcasts, as every process has it, in a dtype."""
    found = empty(run, dtype, layout=replicated(run, world().size))
    found[...] = value.reshape(value.shape[value.ndim - len(run):]) if value.ndim > len(run) else value
    return found


@implements(np.ufunc.at)
def accumulate_at(ufunc: np.ufunc, a: GlobalArray, key: Any, *values: Any) -> None:
    """`ufunc.at`: an element that several indices name is combined with the value of each, in their order.

    So it is for floating point, too: the results are those of NumPy, on any number of processes.
    """
    ufuncs.check_target(a)
    if small.is_on and values and (sections.accumulated_at(ufunc, a, key, values[0]) or (
            keys.clears(a, key) and sections.accumulated_at(ufunc, a, key, values[0]))):
        return
    if not small.is_on and values and (elements := brought.accumulated(ufunc, a, key, values[0])) is not None:
        a[...] = elements
        return
    value = as_array(values[0] if values else 0)
    silently(ufunc.at, np.zeros(1, a.dtype), np.zeros(1, np.int64),
             *([np.zeros(1, value.dtype)] if values else []))  # NumPy may refuse the dtypes
    entries = key if isinstance(key, tuple) else (key,)
    if all(k is None or k is Ellipsis or (isinstance(k, slice | int) and not isinstance(k, bool)) for k in entries):
        target = a[entries if Ellipsis in entries else (*entries, ...)]
        ufuncs.apply(ufunc, (target, *([value] if values else [])), (target,), casting="unsafe")
        return
    selection = selected(a._view, key)
    if ufunc in refusals and 0 not in selection.result_shape:
        refusals[ufunc]((value, value), True, ufunc.resolve_dtypes((a.dtype, value.dtype, None)))
    bring(a, selection, value, ufunc)


def bring(a: GlobalArray, selection: Selection, value: Any, ufunc: np.ufunc | None = None) -> None:
    """Have values brought to what is selected, as by an assignment or by `ufunc.at`."""
    with a._written() as target:
        _bring(target, selection, value, ufunc)


def _bring(a: GlobalArray, selection: Selection, value: Any, ufunc: np.ufunc | None) -> None:
    shape, view = selection.result_shape, selection.view
    if ufunc is None:
        check_writable(a._view)
    if a._base.original is not None:
        tell(a._base)
    value = as_array(value) if ufunc is not None else as_values(value, a.dtype)
    _check_broadcast(value, shape)
    if ufunc is None and 0 not in shape and _is_put_along(a, selection, value):
        return
    n_run_dims = selection.n_last if ufunc is None else 0
    n_items = math.prod(shape[:len(shape) - n_run_dims])
    run = shape[len(shape) - n_run_dims:]
    layout = _in_order(n_items, run)
    if any(view.layout.dims[p].n_procs > 1 for p in view.base_dims[view.ndim - n_run_dims:] if p is not None
           ) or not are_runs(view, view.ndim - n_run_dims, layout):
        n_run_dims, n_items, run = 0, math.prod(shape), ()
        layout = _in_order(n_items, ())
    if not math.prod(shape):
        selection.check()
        return
    dtype = a.dtype if ufunc is None else value.dtype
    is_one = math.prod(value.shape[:max(value.ndim - n_run_dims, 0)]) == 1
    values = _of_one(value, dtype, run) if is_one else _laid_out(value, dtype, shape, layout, a._base)
    numbers_shape = shape[:len(shape) - n_run_dims]
    numbers_layout = _in_order(n_items, ())
    numbers, index_dims = _numbers(selection, n_run_dims,
                                   numbers_layout if len(numbers_shape) == 1 else default_for(numbers_shape))
    if len(numbers_shape) != 1 or numbers._base is a._base:
        numbers = _flat(numbers, (n_items,), numbers_layout)
    recipe = scatter(view, numbers_layout, values._view.layout, n_run_dims, a.dtype, values.dtype, ufunc, index_dims)
    _record(recipe, (a._base.storage, numbers._base.storage, values._base.storage))


def _is_put_along(a: GlobalArray, selection: Selection, value: Any) -> bool:
    """Whether each process has put its part of a value along the dimension that is indexed: NumPy goes through indices
    in one dimension one after the other, so that of those that come twice the last one counts.
    """
    term, *others = selection.terms
    if others or len(selection.shape) != 1:
        return False
    shape = selection.result_shape
    _, layout = _result_layout(selection, shape)
    if not _is_along(selection, layout):
        return False
    indices = np.array(term.indices)  # which are the caller's, and put later
    put_along = functools.partial(_put_along, indices, term.first)
    target = update(GlobalArray(a._base, selection.view))
    if isinstance(value, np.ndarray) and value.size == 1:
        perform(functools.partial(put_along, value.reshape(()).astype(a.dtype)), target)
        return True
    source = empty(shape, a.dtype, layout=layout)
    source[...] = value
    perform(functools.partial(put_along, None), target, source)
    return True


def _put_along(indices: NDArray[np.int64], axis: int, one: NDArray[Any] | None, target: NDArray[Any],
               source: NDArray[Any] | None = None) -> None:
    """Put a source along a dimension, or one element for all."""
    target.swapaxes(0, axis)[indices] = one if source is None else source.swapaxes(0, axis)


def _record(recipe: Gather | Scatter, storages: tuple[Storage, ...]) -> None:
    (record_refusable if recipe.index_dims else record)(recipe, storages)


def _check_broadcast(value: Indices, shape: tuple[int, ...]) -> None:
    """Refuse a value that does not broadcast to what is selected; leading extents of 1 are ignored, as in NumPy."""
    own = value.shape
    while len(own) > len(shape) and own[0] == 1:
        own = own[1:]
    n_new = len(shape) - len(own)
    if n_new < 0 or any(n not in (1, m) for n, m in zip(own, shape[n_new:], strict=True)):
        of_value, of_result = (str(x).replace(" ", "") for x in (value.shape, shape))
        raise ValueError(f"shape mismatch: value array of shape {of_value} could not be broadcast to indexing result "
                         f"of shape {of_result}")


def _in_order(n: int, run: tuple[int, ...]) -> Layout:
    """The layout of items in the order of the ranks, and of rounds where there are many."""
    size = world().size
    is_long = n > exchanges.WINDOW_ITEMS * size > exchanges.WINDOW_ITEMS
    dim = CyclicDim(n, size, 0, exchanges.WINDOW_ITEMS) if is_long else BlockDim(n, size, 0, n)
    return Layout((size,), [dim, *map(whole_dim, run)])


def _laid_out(value: Indices, dtype: np.dtype[Any], shape: tuple[int, ...], layout: Layout,
              target: Base) -> GlobalArray:
    """Values of a dtype, broadcast to a shape and then flat, in a layout."""
    if layout.shape != shape:
        found = empty(shape, dtype)
        found[...] = value
        return _flat(found, layout.shape, layout)
    if isinstance(value, GlobalArray) and value.dtype == dtype and value._view == whole(layout) and (
            value._base is not target):
        return value
    found = empty(shape, dtype, layout=layout)
    found[...] = value
    return found


def _flat(a: GlobalArray, shape: tuple[int, ...], layout: Layout) -> GlobalArray:
    """The elements, in row-major order, in another shape and layout, in an array of its own."""
    a = a._plain()
    found = a.reshape(shape)
    if found._base is a._base or found._view.layout != layout:
        found = found.redistribute(layout)
    return found


# Masks ---------------------------------------------------------------------------------------------------------------


class Compaction:
    """What a mask is true for, one after the other in even parts. To make it waits for how much that is.

    Attributes
    ----------
    n
        How many elements of the mask are true.
    """

    def __init__(self, mask: GlobalArray) -> None:
        self._mask = _as_flat(mask, _in_parts(mask.size))
        layout = replicated((2,), world().size)
        self._counts = GlobalArray(Base(layout, np.dtype(np.int64)), whole(layout))
        record(count(layout, self._mask.layout), (self._counts._base.storage, self._mask._base.storage))
        self.n = int(self._counts[1].item())

    def elements(self, a: GlobalArray) -> GlobalArray:
        """Those of an array of the mask's shape that the mask is true for."""
        return self._made(a.dtype, [_as_flat(a, self._mask.layout)])

    def put(self, a: GlobalArray, values: Indices) -> None:
        """Assign values, one after the other, to the elements of an array of the mask's shape that it is true for."""
        _check_broadcast(values, (self.n,))
        layout, parts = self._mask.layout, _in_parts(self.n)
        is_flat = a._view == whole(layout) and a._base is not self._mask._base
        into = a if is_flat else empty(layout.shape, a.dtype, layout=layout)
        source = _laid_out(values, a.dtype, (self.n,), parts, a._base)
        record(expand(layout, layout, self._counts.layout, a.dtype, parts),
               tuple(x._base.storage for x in (into, self._mask, self._counts, source)))
        if not is_flat:
            put_where(a, self._mask.reshape(a.shape), into.reshape(a.shape))

    def positions(self) -> GlobalArray:
        """The numbers, in row-major order, of the elements of the mask that are true."""
        return self._made(np.dtype(np.int64), [])

    def _made(self, dtype: np.dtype[Any], values: list[GlobalArray]) -> GlobalArray:
        layout = _in_parts(self.n)
        found = GlobalArray(Base(layout, dtype), whole(layout))
        record(compact(layout, self._mask.layout, self._counts.layout, dtype, bool(values)),
               tuple(x._base.storage for x in (found, self._mask, self._counts, *values)))
        return found


def positions(mask: GlobalArray) -> GlobalArray:
    """The numbers, in row-major order, of the elements of a mask that are true. Waits for how many there are."""
    return Compaction(mask).positions()


def _in_parts(n: int) -> Layout:
    """The layout of one dimension in even parts, in the order of the ranks."""
    size = world().size
    return Layout((size,), [BlockDim(n, size, 0, n)])


def _as_flat(a: GlobalArray, layout: Layout) -> GlobalArray:
    flat = a._plain().reshape(-1)
    return flat if flat._view == whole(layout) else flat.redistribute(layout)
