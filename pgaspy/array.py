"""The global array: thin, it delegates."""

from __future__ import annotations

import functools
import operator
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, nullcontext
from types import EllipsisType
from typing import TYPE_CHECKING, Any, Literal, TypeVar, overload

import numpy as np
from numpy.lib.array_utils import normalize_axis_index, normalize_axis_tuple
from numpy.typing import DTypeLike, NDArray

from pgaspy import _calls, global_assign, local_access, moments, reshaping, scans, sharing, sorting, ufuncs
from pgaspy.alone import functions, likeness, quick, sections, small
from pgaspy.dispatch import HANDLED, OTHERS
from pgaspy.distribution import Distribution
from pgaspy.execution import recording
from pgaspy.job.procgrid import ProcGrid, world
from pgaspy.kernels import bindings
from pgaspy.layout import MAX_NDIM, Layout
from pgaspy.missing import instead_of, missing
from pgaspy.operands import (
    WEAK,
    as_element,
    as_extents,
    as_numpy,
    check_device,
    check_dtype,
    check_order,
    dtype_of_cast,
    has_arrays,
    is_masked,
    native,
    refuse_masked,
    refuse_truths,
)
from pgaspy.originals import is_vector, is_view, originals_of
from pgaspy.planning.view import ArrayInKey, View
from pgaspy.reductions import NO_VALUE, arg_reduce, ufunc_reduce
from pgaspy.scheduling import floating_point
from pgaspy.scheduling.base import Base, FormerBase, Reference, borrowers
from pgaspy.scheduling.operations import BaseView
from pgaspy.statements import known_calls, refusals

__all__ = ["IN_PLACE", "GlobalArray", "GlobalElement", "GlobalScalar", "check_array", "chosen", "into", "is_assigned",
           "is_computed_in_place", "made", "of_elements"]

Axis = int | Sequence[int] | None
F = TypeVar("F", bound=Callable[..., Any])


def _quickly(kind: str) -> Callable[[F], F]:
    """A method that is done in C where that takes it: see `quick.method`."""
    return functools.partial(quick.method, kind, None)


def _binary(ufunc: np.ufunc) -> Callable[[GlobalArray, Any], GlobalArray]:
    def method(self: GlobalArray, other: Any) -> Any:
        if small.is_on and (found := functions.computed(ufunc, self, other)) is not None:
            return of_elements(*found)
        if other.__class__ is GlobalArray:
            return ufuncs.apply_operator(ufunc, made, self, other)
        if other.__class__ in WEAK:
            return ufuncs.apply_operator(ufunc, made, self, None, other)
        if isinstance(other, GlobalArray):
            return ufuncs.apply_operator(ufunc, made, self, other._plain())
        if _defers(ufunc, self, other) or _repeats(ufunc, self, other):
            return NotImplemented
        if _has_functions(other):
            return ufunc(self, other)
        return ufuncs.apply(ufunc, (self, _operand(other)), make=made)
    return quick.method("binary", ufunc, method)


def _equality(ufunc: np.ufunc) -> Callable[[GlobalArray, Any], GlobalArray]:
    plain = _binary(ufunc)

    def method(self: GlobalArray, other: Any) -> Any:
        try:
            return plain(self, other)
        except TypeError:
            found = HANDLED[GlobalArray.__eq__](ufunc, self, other)
            if found is None:
                raise
            return found
    return quick.method("binary", ufunc, method)


def _reflected(ufunc: np.ufunc) -> Callable[[GlobalArray, Any], GlobalArray]:
    def method(self: GlobalArray, other: Any) -> Any:
        if other.__class__ in WEAK:
            if small.is_on and (found := functions.computed(ufunc, self, other, True)) is not None:
                return of_elements(*found)
            return ufuncs.apply_operator(ufunc, made, self, None, other, True)
        if ufunc is np.multiply and isinstance(other, np.matrix):
            return HANDLED[np.dot](other, self[None] if self.ndim == 1 else self)
        if isinstance(other, GlobalArray) or _defers(ufunc, self, other) or _repeats(ufunc, self, other):
            return NotImplemented  # of an array, whose operator takes this one
        if _has_functions(other):
            return ufunc(other, self)
        return ufuncs.apply(ufunc, (_operand(other), self), make=made)
    return quick.method("reflected", ufunc, method)


def _in_place(ufunc: np.ufunc) -> Callable[[GlobalArray, Any], GlobalArray]:
    def method(self: GlobalArray, other: Any) -> Any:
        if small.is_on and functions.is_computed_into(ufunc, self, True, self, other):
            pass
        elif other.__class__ in WEAK:
            ufuncs.apply_in_place(ufunc, self, None, other)
        elif isinstance(other, GlobalArray):
            ufuncs.apply_in_place(ufunc, self, other if other.__class__ is GlobalArray else other._plain())
        elif _has_functions(other):
            return _by_its_functions(ufunc, self, other)
        else:
            ufuncs.apply(ufunc, (self, _operand(other)), out=(self,))
        return self
    return quick.method("in place", ufunc, method)


def _unary(ufunc: np.ufunc) -> Callable[[GlobalArray], GlobalArray]:
    def method(self: GlobalArray) -> Any:
        if small.is_on and (found := functions.computed(ufunc, self)) is not None:
            return of_elements(*found)
        return ufuncs.apply_operator(ufunc, made, self)
    method.__name__ = ufunc.__name__
    method.__doc__ = f"NumPy's `{ufunc.__name__}` of each element. Collective."
    return quick.method("unary", ufunc, method)


def _computed(ufunc: np.ufunc, x: Any, y: Any = None) -> GlobalArray | None:
    """See `functions.computed`."""
    quickly: GlobalArray | None = quick.computed(ufunc, x, y, False)
    if quickly is not None:
        return quickly
    found = functions.computed(ufunc, x, y)
    return None if found is None else of_elements(*found)


def is_computed_in_place(ufunc: np.ufunc, x: Any, y: Any) -> bool:
    """See `functions.is_computed_into`."""
    return quick.is_computed_into(ufunc, x, True, x, y) or functions.is_computed_into(ufunc, x, True, x, y)


def is_assigned(x: Any, key: Any, value: Any) -> bool:
    """See `sections.is_assigned`."""
    return quick.is_assigned(x, key, value) or sections.is_assigned(x, key, value)


def chosen(condition: Any, x: Any, y: Any) -> GlobalArray | None:
    """See `functions.chosen`."""
    quickly: GlobalArray | None = quick.chosen(condition, x, y)
    if quickly is not None:
        return quickly
    found = functions.chosen(condition, x, y)
    return None if found is None else of_elements(*found)


def _is_computed_into(ufunc: np.ufunc, inputs: tuple[Any, ...], out: tuple[Any, ...], where: Any) -> bool:
    """Whether a function of small arrays was computed, and assigned to an array that is like the result."""
    target = out[0]
    if ufunc.nout > 1 or ufunc.nin != len(inputs) or target.__class__ is not GlobalArray:
        return False
    if functions.is_computed_into(ufunc, target, where, *inputs):
        return True
    if where is not True or inputs[0].__class__ not in small.kinds:
        return False
    found = _computed(ufunc, *inputs)
    if found is None or found.shape != target.shape or found.dtype != target.dtype:
        return False
    return is_assigned(target, ..., found)


def _operand(x: Any) -> Any:
    """An operand; of a sequence with global arrays in it, the array of them."""
    return GlobalArray(*global_assign.joined(x)) if has_arrays(x) else x


def _defers(ufunc: np.ufunc, own: GlobalArray, other: Any) -> bool:
    """Whether an operator leaves the operation to the other operand, as NumPy does: to who says so, or is NumPy's array
    with functions of its own, `*` to a `numpy.matrix`, which multiplies as matrices do, and of numbers to objects that
    are no arrays.
    """
    handler = getattr(other, "__array_ufunc__", False)
    if handler is not False:
        return handler is None or (isinstance(other, np.ndarray) and (
            _has_functions(other) or (ufunc is np.multiply and isinstance(other, np.matrix))))
    return getattr(other, "__array_priority__", 0) > 0 or (
        own._is_number and not isinstance(other, list | tuple) and np.asarray(other).dtype == object)


def _has_functions(x: Any) -> bool:
    """Whether it has NumPy's functions of its own, as an array with units, which would be lost."""
    functions = getattr(type(x), "__array_ufunc__", None)
    return not (functions is None or functions is np.ndarray.__array_ufunc__ or isinstance(x, GlobalArray))


def _by_its_functions(ufunc: Any, own: GlobalArray, other: Any) -> Any:
    """What such an array makes of an operator in place."""
    return ufunc(own, other, out=own)


def _repeats(ufunc: np.ufunc, own: GlobalArray, other: Any) -> bool:
    """Whether an operator repeats a sequence, which Python does by the number."""
    return ufunc is np.multiply and own._is_number and isinstance(other, list | tuple | str | bytes)


class GlobalArray:
    """An array that is distributed over the processes of the job; made by the creation functions.

    It reads like a NumPy array. What touches whole arrays (operators, ufuncs, reductions, assignments, creation) is
    collective: every process calls it, in the same order. `local`, `blocks` and `global_indices` give what this
    process owns and are not.
    """

    __slots__ = ("__weakref__", "_base", "_elements", "_source", "_view")

    _is_number = False
    __hash__ = None  # type: ignore[assignment]
    __array_priority__ = 1000

    def __init__(self, base: Base, view: View) -> None:
        self._base = base
        self._view = view
        self._elements: Any = None
        self._source: small.Source | None = None

    # Metadata --------------------------------------------------------------------------------------------------------

    @property
    def _refusal(self) -> str:
        """Why nothing can be written to it by others, if so."""
        return ""

    @property
    def shape(self) -> tuple[int, ...]:
        """The global extents."""
        return self._view.shape if self._source is None else self._elements.shape

    @shape.setter
    def shape(self, value: Any) -> None:
        raise AttributeError("the shape of a global array stays as it is: use A = A.reshape(...)")

    @property
    def ndim(self) -> int:
        """The number of dimensions."""
        return len(self.shape)

    @property
    def size(self) -> int:
        """The number of elements, over all processes."""
        return self._view.size if self._source is None else self._elements.size

    @property
    def dtype(self) -> np.dtype[Any]:
        """The dtype of the elements."""
        return self._base.dtype if self._source is None else self._elements.dtype

    @property
    def itemsize(self) -> int:
        """Bytes of one element."""
        return self.dtype.itemsize

    @property
    def nbytes(self) -> int:
        """Bytes of all elements, over all processes, each counted once."""
        return self.size * self.itemsize

    @property
    def device(self) -> str:
        """Where the memory is: "cpu" always."""
        return "cpu"

    def to_device(self, device: str, /, *, stream: None = None) -> GlobalArray:
        """The array itself, which is on the only device that there is. Not collective.

        Raises
        ------
        ValueError
            For another device than "cpu", or for a stream.
        """
        check_device(device)
        if stream is not None:
            raise ValueError("The stream argument to to_device() is not supported")
        return self

    @property
    def layout(self) -> Layout:
        """Where the elements lie.

        Raises
        ------
        ValueError
            For a view that has no layout of its own: reversed, repeating elements, or with a step that does not
            divide the block size of a cyclic dimension.
        """
        layout = self._view.own_layout
        if layout is None:
            raise ValueError("this view has no layout of its own (a step that its blocks do not divide by, reversed, "
                             "or with repeated elements): copy() it first")
        return layout

    def pgrid(self) -> ProcGrid:
        """The process grid that the array is dealt out over: its shape, and this process's coordinates."""
        return world().grid(self._view.layout.grid)

    def __len__(self) -> int:
        if not self.shape:
            raise TypeError("len() of unsized object")
        return self.shape[0]

    def __repr__(self) -> str:
        if self._is_there():
            return f"GlobalArray({global_assign.element(self._base, self._view)!r}, dtype={self.dtype})"
        layout = self._view.own_layout
        where = f"view of {self._view.layout}" if layout is None else f"{layout}"
        return f"GlobalArray(shape={self.shape}, dtype={self.dtype}, {where})"

    def _is_there(self) -> bool:
        """Whether it is one element, which this process has, and nothing is left to do for it. Executes nothing."""
        return self.ndim == 0 and self._view.layout.is_replicated and recording.is_complete(self._base)

    def show(self) -> None:
        """Print the elements on rank 0, those at the edges of a long array. Collective; see `print_once`."""
        HANDLED[GlobalArray.show](self)

    def __str__(self) -> str:
        return repr(self) if self.shape else str(self._as_scalar())

    def __format__(self, spec: str) -> str:
        if not self.shape:
            return format(self._as_scalar(), spec)
        if spec:
            raise TypeError("unsupported format string passed to GlobalArray.__format__: of a single element, format "
                            "float(A[i, j])")
        return repr(self)

    def __round__(self, n_digits: int | None = None) -> Any:
        value: Any = np.array(self._scalar(), self.dtype)[()]  # NumPy's scalar, which rounds as NumPy does
        return round(value, n_digits)

    def _as_scalar(self) -> Any:
        """The one element as NumPy's scalar, which shows as many digits as the dtype has."""
        has_value = self._source is not None and not self.shape
        return self._elements if has_value else np.array(self.item(), self.dtype)[()]

    # Local access ----------------------------------------------------------------------------------------------------

    def local(self) -> NDArray[Any]:
        """The NumPy view of the part that this process owns; empty where it owns nothing. Not collective.

        Writing to it writes to the global array; it is read-only for an array of which several processes have copies,
        which a task may write (see `pgaspy.schedule`). Owned blocks lie in the order of their global indices.

        Raises
        ------
        ValueError
            If no NumPy view has these elements (some steps over cyclic dimensions): use `blocks()`, or `copy()`.
        """
        return local_access.local(self._base, self._view)

    def blocks(self, ranges: Sequence[tuple[int, int]] | None = None, index: bool = False) -> Iterator[Any]:
        """The blocks that this process owns, as NumPy views in row-major order of their block indices. Not collective.

        Parameters
        ----------
        ranges
            Per dimension, the (start, stop) of global block indices to visit; all by default. Block 0 holds the
            first element of the array, or of the view.
        index
            Yield (block index, view) pairs.
        """
        return local_access.blocks(self._base, self._view, ranges, index)

    def global_indices(self, dim: int) -> NDArray[np.int64]:
        """The global indices along `dim` of the local part, in its order. Not collective."""
        return local_access.global_indices(self._view, dim)

    # Views -----------------------------------------------------------------------------------------------------------

    def _over(self, view: View) -> GlobalArray:
        """Another view of what this is one of."""
        return GlobalArray(self._base, view)

    def _read_only(self) -> GlobalArray:
        """What this new array is, but nothing is written through it."""
        found = small.read_only(self)
        return self._over(self._view.read_only) if found is None else of_elements(*found)

    def _plain(self) -> GlobalArray:
        """Its elements, which lie in a base: itself."""
        return self

    def _written(self) -> AbstractContextManager[GlobalArray]:
        """Its elements in a base, to be written to in a block: itself."""
        return nullcontext(self)

    def _in_memory(self) -> tuple[GlobalArray, Callable[[NDArray[Any]], NDArray[Any]]]:
        """The array that lies in memory, and how a local part of that shows the elements: itself, as it is."""
        return self, lambda part: part

    def _layout_like(self) -> Layout:
        """The layout of a new array like it."""
        return global_assign.layout_like(self._in_memory()[0]._base, self._view)

    def _is_base_of(self, found: GlobalArray) -> bool:
        """Whether what has been made of it is a view, and no copy."""
        return (found._source is None or small.is_section(found)) and found._base is self._base

    @_quickly("section")
    def __getitem__(self, key: Any) -> GlobalArray:
        if small.is_on and (found := sections.section(self, key)) is not None:
            return of_elements(*found)
        try:
            view = self._view.index(key)
            return GlobalArray(self._base, view) if view.shape else _element(self._base, view, key)
        except ArrayInKey:
            pass
        return HANDLED[GlobalArray.__getitem__](self, key)

    @property
    def T(self) -> GlobalArray:  # noqa: N802  (NumPy's name)
        """The view with the dimensions reversed."""
        return self.transpose()

    @property
    def mT(self) -> GlobalArray:  # noqa: N802  (NumPy's name)
        """The view with the last two dimensions exchanged."""
        if self.ndim < 2:
            raise ValueError("matrix transpose with ndim < 2 is undefined")
        return self.swapaxes(-1, -2)

    def transpose(self, *axes: Any) -> GlobalArray:
        """The view with the dimensions permuted. Not collective.

        Parameters
        ----------
        axes
            The dimension of the array that is each dimension of the view, as integers or as one sequence; reversed by
            default.

        Raises
        ------
        ValueError
            If these are not all dimensions, each once.
        """
        if not axes or (len(axes) == 1 and axes[0] is None):
            return self._transposed(_REVERSED[self.ndim])
        if len(axes) == 1 and np.iterable(axes[0]):
            axes = tuple(axes[0])
        refuse_truths(axes)
        order = normalize_axis_tuple([*map(operator.index, axes)], self.ndim, "axes")
        if len(order) != self.ndim:
            raise ValueError(f"axes {order} don't match array of {self.ndim} dimensions")
        return self._transposed(order)

    def _transposed(self, order: tuple[int, ...]) -> GlobalArray:
        if self.__class__ is GlobalArray and small.is_on and (found := sections.transposed(self, order)) is not None:
            return of_elements(*found)
        return self._over(self._view.transpose(order))

    def swapaxes(self, axis1: int, axis2: int) -> GlobalArray:
        """The view with two dimensions exchanged. Not collective.

        Raises
        ------
        ValueError
            If there is no such dimension.
        """
        order = list(range(self.ndim))
        a, b = normalize_axis_index(axis1, self.ndim), normalize_axis_index(axis2, self.ndim)
        order[a], order[b] = b, a
        return self._transposed(tuple(order))

    def squeeze(self, axis: Axis = None) -> GlobalArray:
        """The view without dimensions of extent 1. Not collective.

        Parameters
        ----------
        axis
            A dimension, or several; by default all that have an extent of 1.

        Raises
        ------
        ValueError
            If there is no such dimension, or its extent is not 1.
        """
        refuse_truths(axis)
        ones = [d for d, n in enumerate(self.shape) if n == 1]
        dropped = ones if axis is None else normalize_axis_tuple(axis, self.ndim)
        if not set(dropped) <= set(ones):
            raise ValueError("cannot select an axis to squeeze out which has size not equal to one")
        return self[(*(0 if d in dropped else slice(None) for d in range(self.ndim)), ...)]

    def reshape(self, *shape: Any, order: str = "C") -> GlobalArray:
        """The elements, in row-major order, in another shape. Collective.

        Parameters
        ----------
        shape
            The extents, as integers or as one sequence; one may be -1, and follows from the others.
        order
            "C": elements are counted along the last dimension first; "F": along the first, here and there.

        Returns
        -------
        A view where only dimensions of extent 1 come or go; else a copy, also where NumPy makes a view, in the job's
        default layout. Who writes to that one while the array is there is told so by a RuntimeWarning.

        Raises
        ------
        ValueError
            If the shape has another number of elements, or for another order.
        """
        return self._reshaped(as_extents(shape[0] if len(shape) == 1 else shape), order, is_view)

    def ravel(self, order: str = "C") -> GlobalArray:
        """The elements in one dimension; a copy, unless it has one already, in which they follow one on the other.
        Collective; `order` as for `reshape`.
        """
        found = self._reshaped((-1,), order, is_vector)
        if found.size < 2 or not self._is_base_of(found):
            return found
        (step,) = found._view.in_whole[1]
        follow = step * found._in_memory()[0].itemsize == found.itemsize
        return found if follow and not found._view.is_read_only else found.copy()  # diagonals lie apart in NumPy's

    def flatten(self, order: str = "C") -> GlobalArray:
        """A copy of the elements in one dimension. Collective; `order` as for `reshape`."""
        flat = self._reshaped((-1,), order)
        return flat.copy() if self._is_base_of(flat) else flat

    def _reshaped(self, shape: tuple[int, ...], order: str, is_view: Callable[..., bool] | None = None) -> GlobalArray:
        """See `reshape`. What is written to a copy is told, where NumPy has a view, as one of the functions tells of
        where elements lie (see `originals`); without, the program knows that it is a copy.
        """
        if order == "F":
            return self.T._reshaped(shape[::-1], "C", is_view).T
        if small.is_on and order == "C" and (found := small.reshaped(self, shape, is_view)) is not None:
            return of_elements(*found)
        if order != "C":
            raise ValueError(f"order must be 'C' or 'F' for global arrays, which have none in memory (got {order!r})")
        own = self._view
        view = reshaping.view_of(own, shape)
        if view is not None:
            return self._over(view)
        base, view = reshaping.reshaped(self._base, own, shape)
        if is_view is not None and own.size and not own.is_read_only:
            array = self._in_memory()[0]
            strides = tuple([stride * array.itemsize for stride in own.in_whole[1]])
            if is_view(own.shape, strides, self.itemsize, view.shape):
                base.original = originals_of(array._base, array._base.original)
        return GlobalArray(base, view)

    def __iter__(self) -> Iterator[GlobalArray]:
        return (self[i] for i in range(len(self)))

    # Selection -------------------------------------------------------------------------------------------------------

    @property
    def flat(self) -> Any:
        """The elements in row-major order, as one dimension that can be indexed, and assigned to; see `ravel`.

        Its elements are gathered part by part, with a warning, when it is iterated over.
        """
        return HANDLED[GlobalArray.flat](self)

    @flat.setter
    def flat(self, value: Any) -> None:
        self.flat[...] = value

    def take(self, indices: Any, axis: int | None = None, out: GlobalArray | None = None,
             mode: str = "raise") -> GlobalArray:
        """The elements, or what is at some indices along a dimension; see `pgaspy.take`. Collective."""
        return HANDLED[np.take](self, indices, axis, out, mode)

    def put(self, indices: Any, values: Any, mode: str = "raise") -> None:
        """Assign to elements that are counted in row-major order; see `pgaspy.put`. Collective."""
        HANDLED[np.put](self, indices, values, mode)

    def compress(self, condition: Any, axis: int | None = None, out: GlobalArray | None = None) -> GlobalArray:
        """What a condition is true for along a dimension; see `pgaspy.compress`. Collective."""
        return HANDLED[np.compress](condition, self, axis, out)

    def choose(self, *choices: Any, out: GlobalArray | None = None, mode: str = "raise") -> GlobalArray:
        """Of several arrays the elements of the one that each integer names; see `pgaspy.choose`. Collective.

        The choices may be arguments of their own.
        """
        return HANDLED[np.choose](self, choices[0] if len(choices) == 1 else choices, out, mode)

    def nonzero(self) -> tuple[GlobalArray, ...]:
        """The indices of the elements that are not zero; see `pgaspy.nonzero`. Collective."""
        return HANDLED[np.nonzero](self)

    def repeat(self, repeats: Any, axis: int | None = None) -> GlobalArray:
        """Each element repeated; see `pgaspy.repeat`. Collective."""
        return HANDLED[np.repeat](self, repeats, axis)

    def diagonal(self, offset: int = 0, axis1: int = 0, axis2: int = 1) -> GlobalArray:
        """A diagonal, as a copy that is only read; see `pgaspy.diagonal`. Collective."""
        return HANDLED[np.diagonal](self, offset, axis1, axis2)

    def trace(self, offset: int = 0, axis1: int = 0, axis2: int = 1, dtype: DTypeLike | None = None,
              out: GlobalArray | None = None) -> GlobalArray:
        """The sum of a diagonal; see `pgaspy.trace`. Collective."""
        return HANDLED[np.trace](self, offset, axis1, axis2, dtype, out)

    def tolist(self) -> Any:
        """The whole array as nested lists of Python's numbers, on every process. Collective.

        Of the result of a full reduction, the number. To have the array as NumPy's, see `gather`.

        Examples
        --------
        >>> import pgaspy as pg
        >>> pg.eye(2, dtype=int).tolist()
        [[1, 0], [0, 1]]
        """
        return self.gather().tolist()

    # Movement --------------------------------------------------------------------------------------------------------

    @_quickly("assigned")
    def __setitem__(self, key: Any, value: Any) -> None:
        if small.is_on and sections.is_assigned(self, key, value):
            return
        if value.__class__ is not GlobalArray and isinstance(value, GlobalArray):
            value = value._plain()
        try:
            target = self._view.index(key)
        except ArrayInKey:
            HANDLED[GlobalArray.__setitem__](self, key, value)
            return
        if not target.shape and value.__class__ not in WEAK and not _has_ellipsis(key):
            value = as_element(value, self.dtype)
        global_assign.assign(self._base, target, value)

    def __delitem__(self, key: Any) -> None:
        raise ValueError("cannot delete array elements: use pg.delete, which makes a new array")

    def __bytes__(self) -> bytes:
        raise TypeError("a global array does not become bytes by itself, which would gather it: use "
                        "A.gather().tobytes(), or A.local().tobytes() for the part of this process")

    def __contains__(self, value: Any) -> bool:
        return bool((self == value).any())

    def __copy__(self) -> GlobalArray:
        return self.copy()

    def __deepcopy__(self, _: Any) -> GlobalArray:
        return self.copy()

    def copy(self, order: str = "C") -> GlobalArray:
        """A new array with these elements, in the layout that results of operations on them have. Collective.

        The order has no effect: each process has its elements in the order of rows.

        Raises
        ------
        ValueError
            For an order that NumPy does not know.
        """
        check_order(order)
        if small.is_on and (found := small.copied(self)) is not None:
            return of_elements(*found)
        return self._alike(*global_assign.copied(self._base, self._view))

    def astype(self, dtype: DTypeLike, order: str = "K", casting: Any = "unsafe", subok: bool = True,
               copy: bool = True) -> GlobalArray:
        """A copy, cast to a dtype. Collective.

        Parameters
        ----------
        dtype
            Any but those of objects and structures; casts are those of NumPy.
        order
            How each process has its elements in memory: as it has those of the array ("K"), or in the order of rows
            (any other).
        subok
            Has no effect: there are no subclasses.
        casting
            Which casts there may be, as for `numpy.can_cast`.
        copy
            Make one also of an array that has the dtype; without, it is returned itself.

        Raises
        ------
        TypeError
            For a dtype that arrays cannot have, or a cast that there may not be.
        ValueError
            For text that is no number, where one is asked for; for an order that NumPy does not know.
        """
        check_order(order)
        dtype = native(dtype)
        if dtype.kind in "mMSU":  # without a unit or length, if none is given
            dtype = dtype_of_cast(self.dtype, dtype)
        if casting != "unsafe" and not np.can_cast(self.dtype, dtype, casting):
            raise TypeError(f"Cannot cast array from {self.dtype!r} to {dtype!r} according to the rule {casting!r}")
        if dtype == self.dtype and not copy:
            return self
        keeps_order = order == "K"
        if small.is_on and (found := small.copied(self, dtype, keeps_order)) is not None:
            return of_elements(*found)
        check_dtype(dtype)
        return self._alike(*global_assign.copied(self._base, self._view, None, dtype, keeps_order))

    def _alike(self, base: Base, view: View) -> GlobalArray:
        """What a method of NumPy's arrays makes of it: an array, or of a number a number."""
        return GlobalArray(base, view)

    def redistribute(self, layout: Distribution | Layout | None = None) -> GlobalArray:
        """A copy in another layout. Collective.

        Parameters
        ----------
        layout
            As for `pgaspy.empty`; by default the job's default.

        Raises
        ------
        ValueError
            For a layout that does not fit the shape or the job.
        """
        return GlobalArray(*global_assign.redistributed(self._base, self._view, layout))

    @overload
    def gather(self, root: None = None) -> NDArray[Any]: ...
    @overload
    def gather(self, root: int) -> NDArray[Any] | None: ...
    def gather(self, root: int | None = None) -> NDArray[Any] | None:
        """The whole array as a new NumPy array. Collective.

        Parameters
        ----------
        root
            The rank of the process that gets it, where the others get None; every process by default.

        Raises
        ------
        ValueError
            If the job has no such rank.
        """
        found = small.gathered(self) if root is None else None
        return global_assign.gathered(self._base, self._view, root) if found is None else found

    def item(self, *index: Any) -> Any:
        """The one element, or that at an index, as a Python scalar. Collective, unless every process holds it.

        One integer counts the elements in row-major order.

        Raises
        ------
        ValueError
            If there are several elements, and no index.
        IndexError
            If the index is beyond the array.
        """
        if index:
            refuse_truths(index[0] if len(index) == 1 else index)
        if len(index) == 1:
            first, = index
            first = first if isinstance(first, tuple) else operator.index(first)
            if not isinstance(first, tuple) and not -self.size <= first < self.size:
                raise IndexError(f"index {first} is out of bounds for size {self.size}")
            index = first if isinstance(first, tuple) else np.unravel_index(first % self.size, self.shape)
        one = self[index] if index else self
        if one._source is not None and not one.shape:
            return one._elements.item()
        return global_assign.item(one._base, one._view)

    def __float__(self) -> float:
        return float(self._real_scalar())

    def __int__(self) -> int:
        return int(self._real_scalar())

    def __complex__(self) -> complex:
        return complex(self._scalar())

    def _scalar(self) -> Any:
        if self._source is not None and not self.shape:
            return self._elements.item()
        if self._view.shape:
            raise TypeError("only 0-dimensional arrays can be converted to Python scalars, not one of shape "
                            f"{self.shape}")
        return global_assign.item(self._base, self._view)

    def _real_scalar(self) -> Any:
        """The number; a complex one as NumPy's, of which the real part is taken, with a warning."""
        found = self._scalar()
        return np.complex128(found) if found.__class__ is complex else found

    def __index__(self) -> int:
        if self.ndim or self.dtype.kind not in "iu":
            raise TypeError("only integer scalar arrays can be converted to a scalar index")
        return operator.index(self.item())

    def __bool__(self) -> bool:
        if self.size != 1:
            raise ValueError("The truth value of an array with more than one element is ambiguous. "
                             "Use a.any() or a.all()")
        return bool(self._as_scalar())

    # NumPy's protocols -----------------------------------------------------------------------------------------------

    @_quickly("function")
    def __array_ufunc__(self, ufunc: np.ufunc, method: str, *inputs: Any, out: tuple[Any, ...] = (),
                        where: Any = True, dtype: Any = None, casting: str = "same_kind", **options: Any) -> Any:
        is_plain = method == "__call__" and casting == "same_kind" and not (dtype or options) and (
            ufunc.signature is None)
        if is_plain and out:
            if small.is_on and _is_computed_into(ufunc, inputs, out, where):
                return out[0]
        elif is_plain and where is True:
            if ufunc.nin == len(inputs) == 1:
                x, = inputs
                if small.is_on and (found := functions.computed(ufunc, x)) is not None:
                    return of_elements(*found)
                return ufuncs.apply_operator(ufunc, made, x)
            if ufunc.nin == len(inputs) == 2:
                x, y = inputs
                if ufunc is np.power and y.__class__ in WEAK and x.dtype.kind in "fc":
                    return x**y
                turned = (x, y) if isinstance(x, GlobalArray) else (y, x, True)
                if small.is_on and (found := functions.computed(ufunc, *turned)) is not None:
                    return of_elements(*found)
                if isinstance(x, GlobalArray) and isinstance(y, GlobalArray):
                    return ufuncs.apply_operator(ufunc, made, x, y)
                if isinstance(x, GlobalArray) and y.__class__ in WEAK:
                    return ufuncs.apply_operator(ufunc, made, x, None, y)
                if x.__class__ in WEAK:
                    return ufuncs.apply_operator(ufunc, made, y, None, x, True)
        elif ufunc is np.matmul and small.is_on and casting == "same_kind" and not (out or dtype or options) and (
                found := functions.product(*inputs)) is not None:
            return of_elements(*found)
        if any(map(_has_functions, (*inputs, *out))):
            return NotImplemented
        if ufunc.signature is not None:
            return into(_along_dimensions(ufunc, method, inputs, dtype, options), out)
        unknown = options.keys() - {"order", "subok", *_OPTIONS.get(method, ())}
        if unknown:
            raise TypeError(f"{ufunc.__name__}: {', '.join(sorted(unknown))} is not supported for global arrays")
        if method == "at":
            return HANDLED[np.ufunc.at](ufunc, *inputs)
        if method == "reduce":
            return _ufunc_reduce(ufunc, inputs, out, dtype, where=where, **options)
        if method == "accumulate":
            return _accumulated(ufunc, *inputs, out=out, dtype=dtype, **options)
        if method == "reduceat":
            return _reduced_at(ufunc, *inputs, out=out, dtype=dtype, **options)
        inputs = tuple([_operand(x) for x in inputs])
        if method == "outer":
            for x in inputs:
                refuse_masked(x)
            first, second = (x if isinstance(x, GlobalArray) else as_numpy(x) for x in inputs)
            inputs = (first[(..., *(None,) * second.ndim)], second)
        elif method != "__call__":
            raise TypeError(f"{ufunc.__name__}.{method} is not supported for global arrays: {instead_of(method)}")
        return ufuncs.apply(ufunc, inputs, out, where, dtype, casting, made)

    def __array_function__(self, func: Any, types: Any, args: Any, kwargs: Any) -> Any:
        handler = HANDLED.get(func)
        return HANDLED[OTHERS](func, args, kwargs) if handler is None else handler(*args, **kwargs)

    def __array__(self, *_: Any, **__: Any) -> NDArray[Any]:
        raise TypeError("a global array does not become a NumPy array by itself, which would gather it: "
                        "use A.gather() for the whole array, or A.local() for the part of this process (what SciPy "
                        "and other libraries take, and what a function gives that they call, is A.gather()); "
                        "A.astype(np.uint8) for np.uint8(A), np.add.reduce(pg.array([A, B])) for one of a list, and "
                        "pg.array(x)[A] for x[A] of an array that is NumPy's")

    def __array_namespace__(self, *, api_version: str | None = None) -> Any:
        """The module `pgaspy`, which has the names of the Array API standard.

        Raises
        ------
        ValueError
            For a version of the standard that it does not have.
        """
        if api_version not in (None, "2021.12", "2022.12", "2023.12", "2024.12", "2025.12"):
            raise ValueError(f'Version "{api_version}" of the Array API Standard is not supported.')
        return sys.modules[__package__]

    def __dlpack__(self, *, stream: None = None, max_version: tuple[int, int] | None = None,
                   dl_device: tuple[Any, int] | None = None, copy: bool | None = None) -> Any:
        """The memory, for another library, in a job of one process.

        Raises
        ------
        BufferError
            In a job of several processes, none of which has all of the memory.
        """
        self._check_alone()
        return self.local().__dlpack__(stream=stream, max_version=max_version, dl_device=dl_device, copy=copy)

    def __dlpack_device__(self) -> tuple[int, int]:
        """The device of the memory, as DLPack counts them."""
        return 1, 0

    def _check_alone(self) -> None:
        if world().size > 1:
            raise BufferError("the memory of a global array is that of several processes: use A.gather() for the whole "
                              "array, or A.local() for the part of this process")

    if not TYPE_CHECKING:  # to which every name would be right, then

        def __getattr__(self, name: str) -> Any:
            if name in ("_base", "_view"):
                self._base, self._view = small.base_and_view(self)
                self._source = None  # last: an interrupt before leaves what is equal
                return getattr(self, name)
            raise missing("a GlobalArray", name, self, np.ndarray)

    def __reduce__(self) -> Any:
        raise TypeError("a global number cannot be pickled: use x.item()" if self._is_number else
                        "a global array cannot be pickled: use pgaspy.save(), or A.gather() for the whole array")

    # Operators -------------------------------------------------------------------------------------------------------

    __add__, __radd__, __iadd__ = _binary(np.add), _reflected(np.add), _in_place(np.add)
    __sub__, __rsub__, __isub__ = _binary(np.subtract), _reflected(np.subtract), _in_place(np.subtract)
    __mul__, __rmul__, __imul__ = _binary(np.multiply), _reflected(np.multiply), _in_place(np.multiply)
    __truediv__, __rtruediv__ = _binary(np.divide), _reflected(np.divide)
    __itruediv__ = _in_place(np.divide)
    __floordiv__, __rfloordiv__ = _binary(np.floor_divide), _reflected(np.floor_divide)
    __ifloordiv__ = _in_place(np.floor_divide)
    __mod__, __rmod__, __imod__ = _binary(np.remainder), _reflected(np.remainder), _in_place(np.remainder)
    __divmod__: Any = _binary(np.divmod)  # two arrays
    __rdivmod__: Any = _reflected(np.divmod)
    __rpow__ = _reflected(np.power)
    __lshift__, __rlshift__ = _binary(np.left_shift), _reflected(np.left_shift)
    __ilshift__ = _in_place(np.left_shift)
    __rshift__, __rrshift__ = _binary(np.right_shift), _reflected(np.right_shift)
    __irshift__ = _in_place(np.right_shift)
    __and__, __rand__, __iand__ = _binary(np.bitwise_and), _reflected(np.bitwise_and), _in_place(np.bitwise_and)
    __or__, __ror__, __ior__ = _binary(np.bitwise_or), _reflected(np.bitwise_or), _in_place(np.bitwise_or)
    __xor__, __rxor__, __ixor__ = _binary(np.bitwise_xor), _reflected(np.bitwise_xor), _in_place(np.bitwise_xor)
    __lt__, __le__, __gt__, __ge__ = _binary(np.less), _binary(np.less_equal), _binary(np.greater), _binary(
        np.greater_equal)
    __eq__, __ne__ = _equality(np.equal), _equality(np.not_equal)  # type: ignore[assignment]
    __neg__, __pos__, __abs__, __invert__ = _unary(np.negative), _unary(np.positive), _unary(np.absolute), _unary(
        np.invert)

    def __pow__(self, exponent: Any) -> GlobalArray:
        shortcut = self._power_shortcut(exponent)
        return _power(self, exponent) if shortcut is None else _SHORTCUTS[shortcut](self)

    def __ipow__(self, exponent: Any) -> Any:
        if _has_functions(exponent):
            return _by_its_functions(np.power, self, exponent)
        shortcut = self._power_shortcut(exponent)
        if shortcut is None:
            return ufuncs.apply(np.power, (self, exponent), out=(self,))
        return ufuncs.apply(shortcut, (self,), out=(self,))

    def _power_shortcut(self, exponent: Any) -> np.ufunc | None:
        if type(exponent) not in (int, float):
            return None
        kind = self.dtype.kind
        if kind in "fc":
            return _POWERS.get(exponent)
        if type(exponent) is int and exponent == 2 and (kind in "iu" or (kind == "b" and not self._is_number)):
            return np.square  # of bools int8, where `power` gives int64, as it does of a NumPy scalar
        return None

    @_quickly("product")
    def __matmul__(self, other: Any) -> GlobalArray:
        if small.is_on and (found := functions.product(self, other)) is not None:
            return of_elements(*found)
        if _defers(np.matmul, self, other):
            return NotImplemented
        return np.matmul(self, other) if _has_functions(other) else HANDLED[np.matmul](self, other)

    def __rmatmul__(self, other: Any) -> GlobalArray:
        if _defers(np.matmul, self, other):
            return NotImplemented
        return np.matmul(other, self) if _has_functions(other) else HANDLED[np.matmul](other, self)

    def __imatmul__(self, other: Any) -> Any:
        return _by_its_functions(np.matmul, self, other) if _has_functions(other) else into(self @ other, (self,))

    def dot(self, b: Any, out: GlobalArray | None = None) -> GlobalArray:
        """The product of matrices or vectors; see `pgaspy.dot`. Collective."""
        return HANDLED[np.dot](self, b, out)

    # Elementwise functions -------------------------------------------------------------------------------------------

    def conj(self) -> GlobalArray:
        """The complex conjugate, as a new array (this array itself, where it is real). Collective."""
        array: Any = self
        found: GlobalArray = array if array.dtype.kind != "c" else np.conjugate(array)
        return found

    conjugate = conj

    @property
    def real(self) -> GlobalArray:
        """The real part: of a complex array a view, see `pgaspy.real`."""
        return HANDLED[np.real](self)

    @real.setter
    def real(self, value: Any) -> None:
        HANDLED[GlobalArray.real](self, value)

    @property
    def imag(self) -> GlobalArray:
        """The imaginary part: of a complex array a view, see `pgaspy.imag`."""
        return HANDLED[np.imag](self)

    @imag.setter
    def imag(self, value: Any) -> None:
        HANDLED[GlobalArray.imag](self, value)

    def view(self, dtype: DTypeLike | None = None) -> GlobalArray:
        """A view of the elements: their bits as those of another dtype of the same size. Not collective.

        Parameters
        ----------
        dtype
            The dtype, that of the array by default.

        Raises
        ------
        ValueError
            If its elements have another size.

        Examples
        --------
        >>> import pgaspy as pg
        >>> A = pg.array([1.0, -2.0])
        >>> A.view("u8")[:] &= 2**63 - 1
        >>> A.gather()
        array([1., 2.])
        """
        return HANDLED[GlobalArray.view](self, dtype)

    def clip(self, min: Any = None, max: Any = None, out: GlobalArray | None = None) -> GlobalArray:
        """The elements, limited to [min, max]. Collective.

        Parameters
        ----------
        min, max
            Numbers, or arrays that broadcast to the shape; None for no limit.
        out
            An array of the result's shape, to which the result is assigned, and which is returned.

        Raises
        ------
        ValueError
            If the shapes do not broadcast.
        """
        if isinstance(out, GlobalArray) and out._refusal:
            return into(self.clip(min, max), (out,))
        target = () if out is None else (out,)
        if self.dtype.kind in "iu":
            limits = np.iinfo(self.dtype)
            min = None if type(min) is int and min <= limits.min else min
            max = None if type(max) is int and max >= limits.max else max
        if min is None and max is None:
            return ufuncs.apply(np.positive, (self,), target, make=made)
        if small.is_on:
            if out is None and (found := functions.clipped(self, min, max)) is not None:
                return of_elements(*found)
            if out is not None and functions.is_clipped_into(self, min, max, out):
                return out
        if self.dtype.kind == "b" and type(min) in (int, float) and hasattr(max, "dtype"):
            min = np.result_type(self.dtype, min, max.dtype).type(min)  # else it alone would choose a wider dtype
        result: Any = self
        if min is not None:  # into `out` at the end only, as `max` may overlap it
            result = self.__array_ufunc__(np.maximum, "__call__", self, min, out=() if max is not None else target)
        if max is not None:
            result = self.__array_ufunc__(np.minimum, "__call__", result, max, out=target)
        return result

    def round(self, decimals: int = 0, out: GlobalArray | None = None) -> GlobalArray:
        """The elements with so many decimal places; see `pgaspy.round`. Collective."""
        return HANDLED[np.round](self, decimals, out)

    def fill(self, value: Any) -> None:
        """Set every element to a scalar. Collective.

        Raises
        ------
        ValueError, TypeError
            Those of NumPy, if it has dimensions.
        """
        if isinstance(value, GlobalArray):
            if value.ndim:
                raise ValueError("setting an array element with a sequence.")
        elif np.ndim(value) or is_masked(value):
            element = np.empty(1, self.dtype)
            element.fill(value)
            value = element[0]
        self[...] = value

    # Reductions ------------------------------------------------------------------------------------------------------

    def sum(self, axis: Axis = None, dtype: DTypeLike | None = None, out: GlobalArray | None = None,
            keepdims: bool = False, initial: Any = NO_VALUE, where: Any = True) -> GlobalArray:
        """The sum of the elements along dimensions. Collective.

        Parameters
        ----------
        axis
            A dimension, or several; all by default.
        dtype
            Of the result, and of what is added; by default that of the array, of small integers and booleans an
            integer of 64 bits.
        out
            An array of the result's shape, to which the result is assigned, and which is returned.
        keepdims
            Keep the dimensions that are reduced, with an extent of 1.
        initial
            A number that each sum begins with.
        where
            A mask, which broadcasts to the shape of the array; what it is not true for is left out.

        Returns
        -------
        The other dimensions, dealt out as in the array, and a copy along the axes of the grid that the reduced ones
        were dealt out over. Without other dimensions a number, which every process holds.

        Raises
        ------
        ValueError
            If there is no such dimension, if one comes twice, or if `out` has another shape, or the mask one that does
            not broadcast.
        TypeError
            For a dtype without sums, or one that is not cast to that of `out` within a kind; for a mask of numbers.

        Examples
        --------
        >>> import pgaspy as pg
        >>> A = pg.arange(6).reshape(2, 3)
        >>> A.sum(axis=0).gather()
        array([3, 5, 7])
        >>> A.sum(axis=1, keepdims=True).gather()
        array([[ 3],
               [12]])
        >>> int(A.sum())
        15
        >>> int(A.sum(initial=100, where=A > 3))
        109
        """
        return self._total(np.add, axis, dtype, out, keepdims, initial, where)

    def _total(self, ufunc: np.ufunc, axis: Axis, dtype: DTypeLike | None, out: GlobalArray | None, keepdims: bool,
               initial: Any, where: Any) -> GlobalArray:
        if small.is_on and out is None and where is True and initial is NO_VALUE and (
                dtype is None or np.dtype(dtype).isnative):
            if axis is None is dtype and not keepdims and (quickly := quick.reduced(ufunc, self)) is not None:
                return quickly
            found = functions.reduced(ufunc, self, axis, keepdims, None if dtype is None else native(dtype))
            if found is not None:
                return of_elements(*found)
        total = ufunc_reduce(ufunc, self._base, self._view, axis, dtype, keepdims, initial, where, out)
        is_modular = out is not None and ufunc in (np.add, np.multiply) and {total.base.dtype.kind, out.dtype.kind} == {
            "i", "u"}
        return _reduced(total, out, "unsafe" if is_modular else "same_kind")  # as NumPy adds in the dtype of `out`

    def prod(self, axis: Axis = None, dtype: DTypeLike | None = None, out: GlobalArray | None = None,
             keepdims: bool = False, initial: Any = NO_VALUE, where: Any = True) -> GlobalArray:
        """The product of the elements along dimensions. Collective; all else is as for `sum`."""
        return self._total(np.multiply, axis, dtype, out, keepdims, initial, where)

    def mean(self, axis: Axis = None, dtype: DTypeLike | None = None, out: GlobalArray | None = None,
             keepdims: bool = False, *, where: Any = True) -> GlobalArray:
        """The arithmetic mean along dimensions. Collective; all else is as for `sum`.

        Integers and booleans are added in float64, float16 in float32. Where there are no elements, it is NaN.
        """
        if self._is_of_few_reals(dtype, out, where, max_elements=functions.MAX_REDUCED):
            found = functions.reduced(np.add, self, axis, keepdims, moments.summed_as(self.dtype))
            if found is not None:
                total = of_elements(*found)
                return total / (self.size // total.size)
        return _reduced(moments.mean(self._base, self._view, axis, dtype=dtype, keepdims=keepdims, where=where,
                                     out=out), out, "unsafe")

    def var(self, axis: Axis = None, dtype: DTypeLike | None = None, out: GlobalArray | None = None, ddof: float = 0,
            keepdims: bool = False, *, where: Any = True, mean: Any = NO_VALUE,
            correction: float = NO_VALUE) -> GlobalArray:
        """The variance along dimensions: the mean squared distance from the mean. Collective; else as for `mean`.

        Parameters
        ----------
        axis, dtype, out, keepdims, where
            As for `sum`.
        ddof, correction
            The sum of the squares of n elements is divided by n - ddof; the standard says `correction` for it.
        mean
            The mean, where it is known already, with the dimensions that are reduced kept.

        Raises
        ------
        ValueError
            Also if both `ddof` and `correction` are given.
        """
        ddof = _divisor(ddof, correction)
        if self._is_of_few_reals(dtype, out, where, mean, functions.MAX_REDUCED):
            squares = functions.squared_distances(self, self.mean(axis, keepdims=True))
            if squares is not None:
                total = of_elements(*squares).sum(axis, keepdims=keepdims)
                n = self.size // total.size
                if n > ddof:
                    return total / (n - ddof)
        return _reduced(moments.var(self._base, self._view, axis, dtype=dtype, ddof=ddof,
                                    keepdims=keepdims, where=where, center=mean, out=out), out, "unsafe")

    def std(self, axis: Axis = None, dtype: DTypeLike | None = None, out: GlobalArray | None = None, ddof: float = 0,
            keepdims: bool = False, *, where: Any = True, mean: Any = NO_VALUE,
            correction: float = NO_VALUE) -> GlobalArray:
        """The standard deviation along dimensions: the square root of `var`. Collective; all else is as there."""
        if self._is_of_few_reals(dtype, out, where, mean, functions.MAX_REDUCED):
            return _SHORTCUTS[np.sqrt](self.var(axis, ddof=ddof, keepdims=keepdims, correction=correction))
        return _reduced(moments.std(self._base, self._view, axis, dtype=dtype, ddof=_divisor(ddof, correction),
                                    keepdims=keepdims, where=where, center=mean, out=out,
                                    keeps_dtype=out is None), out)

    def _is_of_few_reals(self, dtype: DTypeLike | None, out: GlobalArray | None, where: Any,
                         mean: Any = NO_VALUE, max_elements: int = small.MAX_ELEMENTS) -> bool:
        """Whether means of its elements are computed by operators, which do that at once, as no option is given."""
        return (small.is_on and dtype is out is None and where is True and mean is NO_VALUE
                and self.__class__ in small.kinds and 0 < self.size <= max_elements
                and self.dtype.char in moments.REALS)

    def min(self, axis: Axis = None, out: GlobalArray | None = None, keepdims: bool = False,
            initial: Any = NO_VALUE, where: Any = True) -> GlobalArray:
        """The least element along dimensions; NaN where one is. Collective; all else is as for `sum`.

        Raises
        ------
        ValueError
            Also if there are no elements, or a mask, and no initial value.
        """
        return self._total(np.minimum, axis, None, out, keepdims, initial, where)

    def max(self, axis: Axis = None, out: GlobalArray | None = None, keepdims: bool = False,
            initial: Any = NO_VALUE, where: Any = True) -> GlobalArray:
        """The greatest element along dimensions; NaN where one is. Collective; all else is as for `sum`.

        Raises
        ------
        ValueError
            Also if there are no elements, or a mask, and no initial value.
        """
        return self._total(np.maximum, axis, None, out, keepdims, initial, where)

    def any(self, axis: Axis = None, out: GlobalArray | None = None, keepdims: bool = False, *,
            where: Any = True) -> GlobalArray:
        """Whether any element along dimensions is true. Collective; all else is as for `sum`."""
        return self._total(np.logical_or, axis, None, out, keepdims, NO_VALUE, where)

    def all(self, axis: Axis = None, out: GlobalArray | None = None, keepdims: bool = False, *,
            where: Any = True) -> GlobalArray:
        """Whether all elements along dimensions are true. Collective; all else is as for `sum`."""
        return self._total(np.logical_and, axis, None, out, keepdims, NO_VALUE, where)

    def argmin(self, axis: int | None = None, out: GlobalArray | None = None, *,
               keepdims: bool = False) -> GlobalArray:
        """The index of the least element along a dimension. Collective; the result's layout is as for `sum`.

        Parameters
        ----------
        axis
            One dimension; by default the index is that in the whole array, in row-major order.
        out, keepdims
            As for `sum`.

        Returns
        -------
        Integers: of several that are least, the index of the first; of NaNs, where there are any, that of the first.

        Raises
        ------
        ValueError
            If there are no elements, or there is no such dimension.

        Examples
        --------
        >>> import pgaspy as pg
        >>> A = pg.array([[3, 1, 2], [0, 5, 4]])
        >>> A.argmin(axis=1).gather()
        array([1, 0])
        >>> int(A.argmin())
        3
        """
        return self._position("argmin", axis, out, keepdims)

    def argmax(self, axis: int | None = None, out: GlobalArray | None = None, *,
               keepdims: bool = False) -> GlobalArray:
        """The index of the greatest element along a dimension. Collective; all else is as for `argmin`."""
        return self._position("argmax", axis, out, keepdims)

    def _position(self, name: str, axis: int | None, out: GlobalArray | None, keepdims: bool) -> GlobalArray:
        if small.is_on and out is None and not keepdims:
            found = functions.position(name, self, axis)
            if found is not None:
                return of_elements(*found)
        return _indices(arg_reduce(name, self._base, self._view, axis, keepdims), out)

    # Order -----------------------------------------------------------------------------------------------------------

    def sort(self, axis: int | None = -1, kind: str | None = None, order: None = None, *,
             stable: bool | None = None) -> None:
        """Sort the elements along a dimension, in place. Collective; all else is as for `pgaspy.sort`.

        Parameters
        ----------
        axis
            The dimension, the last one by default; not None.
        kind, order, stable
            As for `pgaspy.sort`.

        Examples
        --------
        >>> import pgaspy as pg
        >>> A = pg.array([3, 1, 2])
        >>> A.sort()
        >>> A.gather()
        array([1, 2, 3])
        """
        sorting.check_kind(kind, order, stable)
        axis = normalize_axis_index(operator.index(axis), self.ndim)  # type: ignore[arg-type]  # None is refused
        ufuncs.check_target(self)
        self[...] = HANDLED[np.sort](self, axis)

    def argsort(self, axis: int | None = -1, kind: str | None = None, order: None = None, *,
                stable: bool | None = None) -> GlobalArray:
        """The indices that sort the elements along a dimension. Collective.

        Parameters
        ----------
        axis
            The dimension, the last one by default; with None, the indices are those in row-major order.
        kind, order, stable
            As for `pgaspy.sort`.

        Returns
        -------
        Integers, of the shape of the array and dealt out as it is: along the dimension, the index of the least
        element, of the one that comes next, and so on; elements that are equal come in the order of their indices.

        Raises
        ------
        ValueError
            If there is no such dimension, or no such kind.

        Examples
        --------
        >>> import pgaspy as pg
        >>> pg.array([2, 1, 2, 1]).argsort().gather()
        array([1, 3, 0, 2])
        """
        found: GlobalArray = HANDLED[np.argsort](self, axis, kind, order, stable=stable)
        return found

    def partition(self, kth: int | Sequence[int], axis: int = -1, kind: str = "introselect",
                  order: None = None) -> None:
        """Have the elements before the k-th one not above it, in place; see `pgaspy.partition`. Collective."""
        sorting.check_kind(None, order, None)
        ufuncs.check_target(self)
        self[...] = HANDLED[np.partition](self, kth, operator.index(axis), kind)

    def argpartition(self, kth: int | Sequence[int], axis: int | None = -1, kind: str = "introselect",
                     order: None = None) -> GlobalArray:
        """The indices that put the elements so; see `pgaspy.argpartition`. Collective."""
        sorting.check_kind(None, order, None)
        return HANDLED[np.argpartition](self, kth, axis, kind)

    def searchsorted(self, v: Any, side: str = "left", sorter: Any = None) -> GlobalArray:
        """Where elements would have to be put into this sorted vector; see `pgaspy.searchsorted`. Collective."""
        return HANDLED[np.searchsorted](self, v, side, sorter)

    # Scans -----------------------------------------------------------------------------------------------------------

    def cumsum(self, axis: int | None = None, dtype: DTypeLike | None = None,
               out: GlobalArray | None = None) -> GlobalArray:
        """The running sums along a dimension. Collective.

        Parameters
        ----------
        axis
            One dimension; by default the elements are taken in row-major order, which moves them to a flat array.
        dtype
            Of the result, and of what is added; by default that of the array, of small integers and booleans an
            integer of 64 bits.
        out
            An array of the result's shape, to which the result is assigned, and which is returned.

        Returns
        -------
        The shape of the array, or one dimension for no `axis`; in the layout that a copy of the array has. Sums of
        floats are as accurate as NumPy's; their last bits depend on the layout, as those of `sum` do, but not on the
        number of threads.

        Raises
        ------
        ValueError
            If there is no such dimension, or if `out` has another shape.
        TypeError
            For a dtype without sums.

        Examples
        --------
        >>> import pgaspy as pg
        >>> A = pg.arange(6).reshape(2, 3)
        >>> A.cumsum(axis=1).gather()
        array([[ 0,  1,  3],
               [ 3,  7, 12]])
        >>> A.cumsum().gather()
        array([ 0,  1,  3,  6, 10, 15])
        """
        return self._cumulated(np.add, axis, dtype, out)

    def cumprod(self, axis: int | None = None, dtype: DTypeLike | None = None,
                out: GlobalArray | None = None) -> GlobalArray:
        """The running products along a dimension. Collective; all else is as for `cumsum`."""
        return self._cumulated(np.multiply, axis, dtype, out)

    def _cumulated(self, ufunc: np.ufunc, axis: Any, dtype: DTypeLike | None, out: GlobalArray | None) -> GlobalArray:
        refuse_truths(axis)
        array = self.reshape(-1) if not self.ndim or (axis is None and self.ndim > 1) else self
        return _accumulated(ufunc, array, 0 if axis is None else operator.index(axis), dtype=dtype, out=(out,))


class GlobalScalar(GlobalArray):
    """What NumPy has a number for: the result of a full reduction, or of numbers; or an element of an array.

    It does not change: `s += x` makes another one, arrays that are made of it are copies, and what is written to an
    array is not seen in the elements that were taken from it before.
    """

    __slots__ = ()

    _is_number = True

    def __hash__(self) -> int:  # type: ignore[override]
        raise TypeError("a global number cannot be hashed: use x.item(), or A.tolist() for all of an array")

    def __bool__(self) -> bool:
        return super().__bool__() if self._source is None else bool(self._elements)

    def __float__(self) -> float:
        return super().__float__() if self._source is None else float(self._elements)

    def __array__(self, dtype: DTypeLike | None = None, copy: bool | None = None) -> NDArray[Any]:
        if self.dtype.char in "gG":  # of which NumPy takes those in a list as floats
            super().__array__()
        return np.array(self._as_scalar(), dtype)

    def __array_function__(self, func: Any, types: Any, args: Any, kwargs: Any) -> Any:
        if func is np.atleast_1d and all(issubclass(kind, GlobalScalar) for kind in types):
            return func(*map(np.asarray, args))  # as libraries call it, on what may be a number
        return super().__array_function__(func, types, args, kwargs)

    def local(self) -> NDArray[Any]:
        """A NumPy copy of it, read-only; empty where this process does not have it. Not collective."""
        found = self._as_array().local()
        found.flags.writeable = False
        return found

    def blocks(self, ranges: Sequence[tuple[int, int]] | None = None, index: bool = False) -> Iterator[Any]:
        """The same as the only block. Not collective."""
        for found in self._as_array().blocks(ranges, index):
            (found[1] if index else found).flags.writeable = False
            yield found

    def __getitem__(self, key: Any) -> GlobalArray:
        return self._as_array()[key]

    def __setitem__(self, key: Any, value: Any) -> None:
        ufuncs.check_target(self)

    def __imul__(self, other: Any) -> Any:
        return self * other  # also where that is a sequence

    def transpose(self, *axes: Any) -> GlobalArray:
        """The number itself, which has no dimensions."""
        super().transpose(*axes)
        return self

    def squeeze(self, axis: Axis = None) -> GlobalArray:
        """The number itself, which has no dimensions."""
        super().squeeze(axis)
        return self

    def _reshaped(self, shape: tuple[int, ...], order: str, is_view: Callable[..., bool] | None = None) -> GlobalArray:
        """A new array with the number, or the number itself."""
        found = self._as_array()._reshaped(shape, order)
        return found if found.ndim else self

    def is_integer(self) -> bool:
        """Whether it is an integer; an AttributeError of other numbers than NumPy's that tell. Collective."""
        found: bool = self._as_scalar().is_integer()
        return found

    def as_integer_ratio(self) -> tuple[int, int]:
        """The integers whose quotient it is; else as `is_integer`. Collective."""
        found: tuple[int, int] = self._as_scalar().as_integer_ratio()
        return found

    def bit_count(self) -> int:
        """How many bits of an integer's absolute value are one; else as `is_integer`. Collective."""
        found: int = self._as_scalar().bit_count()
        return found

    def _as_array(self) -> GlobalArray:
        if self._source is not None and not isinstance(self._elements, np.ndarray):
            return GlobalArray(*small.base_and_view(self))
        return GlobalArray(*sharing.snapshot(self._base, self._view))

    def _alike(self, base: Base, view: View) -> GlobalArray:
        return GlobalScalar(base, view)


IN_PLACE = {
    "add": np.add, "sub": np.subtract, "mul": np.multiply, "truediv": np.true_divide, "floordiv": np.floor_divide,
    "mod": np.remainder, "pow": np.power, "lshift": np.left_shift, "rshift": np.right_shift, "and": np.bitwise_and,
    "or": np.bitwise_or, "xor": np.bitwise_xor}
"""The operators that are in place for arrays."""

for _name in IN_PLACE.keys() - {"mul"}:
    setattr(GlobalScalar, f"__i{_name}__", getattr(GlobalScalar, f"__{_name}__"))


class GlobalElement(GlobalScalar):
    """An element: a view of its array until that is written to.

    Which processes hold it is their own affair; those that do have it in the same form, whoever writes to the array.
    """

    __slots__ = ()

    def detach(self) -> None:
        """Have the element as it is now in memory of its own, before all processes write to it. Not collective."""
        self._base, self._view = sharing.snapshot(self._base, self._view)

    def keep(self, kept: Base | None, source: Base | None = None) -> Base:
        """Have it as it is now, before this process alone writes to it, in a base kept for that. Not collective."""
        kept = kept or FormerBase(self._base)
        sharing.keep_element(kept, source or self._base, self._view)
        self._base = kept
        return kept

    def borrowed(self) -> BaseView:
        """Where the element is."""
        return BaseView(self._base, self._view)


def made(base: Base, view: View) -> GlobalArray:
    """The array that is the result of an operation; a scalar, where it has no dimensions."""
    return GlobalArray(base, view) if view.shape else GlobalScalar(base, view)


def of_elements(elements: Any, source: small.Source | BaseView) -> GlobalArray:
    """The array that has these elements; it has no base yet, unless it is given."""
    if isinstance(source, BaseView):
        found = GlobalArray(*source)
        found._elements = elements
        return found
    found = _new(GlobalArray if elements.shape else GlobalScalar)
    found._elements, found._source = elements, source
    return found


_new = object.__new__
_REVERSED = [tuple(reversed(range(ndim))) for ndim in range(MAX_NDIM + 1)]
small.kinds.update((GlobalArray, GlobalScalar))
_calls.have_arrays(GlobalArray, GlobalScalar, GlobalElement, Reference, known_calls, made, ufuncs.record_operator,
                   ufuncs.record_in_place, global_assign.record_assigned, small.MAX_ELEMENTS)
if floating_point.variable is not None:
    quick.begin(GlobalArray, GlobalScalar, small.kinds, View, likeness.Like, small.MAX_ELEMENTS, functions.MAX_PRODUCTS,
                likeness.MAX_DEPTH, recording, small, borrowers, floating_point.variable, floating_point.silent,
                small.OF_NUMBER, functions, likeness, _calls._attempts, *bindings.ADDRESSES)


def _has_ellipsis(key: Any) -> bool:
    return key is Ellipsis or (isinstance(key, tuple) and EllipsisType in map(type, key))


def _element(base: Base, view: View, key: Any) -> GlobalArray:
    """An element; an array of no dimensions where the index has an Ellipsis, as in NumPy."""
    if _has_ellipsis(key):
        return GlobalArray(base, view)
    found = GlobalElement(base.lender, view)
    sharing.borrow_element(found, base)
    return found


_power = _binary(np.power)
_POWERS = {2: np.square, 0.5: np.sqrt, -1: np.reciprocal, 1: np.positive}
"""Exponents for which NumPy, too, takes a function that is faster and more accurate than `power`."""

_SHORTCUTS: dict[np.ufunc, Callable[[GlobalArray], GlobalArray]] = {
    function: _unary(function) for function in (*_POWERS.values(), np.square)}


def _along_dimensions(ufunc: np.ufunc, method: str, inputs: Sequence[Any], dtype: DTypeLike | None,
                      options: dict[str, Any]) -> GlobalArray:
    """The call of a ufunc that works along whole dimensions, where there is a function for it."""
    function = HANDLED.get(ufunc) if method == "__call__" else None
    if function is None:
        raise TypeError(f"{ufunc.__name__} works along whole dimensions and is not supported for global arrays: "
                        "call it on local() parts that hold these dimensions whole (see replicate)")
    given = options if dtype is None else {**options, "dtype": dtype}
    return function(*inputs, **{name: value for name, value in given.items() if name not in ("order", "subok")})


def _ufunc_reduce(ufunc: np.ufunc, inputs: Sequence[Any], out: tuple[Any, ...], dtype: DTypeLike | None,
                  axis: Any = 0, keepdims: bool = False, initial: Any = NO_VALUE, where: Any = True) -> GlobalArray:
    array, *more = inputs  # the axis can come by position
    check_array(array, f"{ufunc.__name__}.reduce")
    if ufunc in _REDUCING:
        return array._total(ufunc, more[0] if more else axis, dtype, _target(out), keepdims, initial, where)
    return into(made(*ufunc_reduce(ufunc, array._base, array._view, more[0] if more else axis, dtype, keepdims,
                                    initial, where, _target(out))), out)


_REDUCING = {np.add, np.multiply, np.minimum, np.maximum, np.fmin, np.fmax, np.logical_or, np.logical_and}
"""Functions of which arrays have methods that reduce, or which are like these."""

_OPTIONS = {"reduce": ("axis", "keepdims", "initial"), "accumulate": ("axis",), "reduceat": ("axis", "indices")}
"""Of the methods of ufuncs."""


def _accumulated(ufunc: np.ufunc, array: Any, axis: Any = 0, *, dtype: DTypeLike | None = None,
                 out: tuple[Any, ...] = ()) -> GlobalArray:
    """`ufunc.accumulate`."""
    target = _target(out)
    if target is not None and target.shape != array.shape:
        raise ValueError("provided out is the wrong size for the accumulation.")
    refuse_truths(axis)
    if ufunc in refusals and array.ndim and isinstance(axis, int):
        exponents = array[(slice(None),) * (axis % array.ndim) + (slice(1, None),)]
        refusals[ufunc]((exponents, exponents), True, (np.dtype(dtype or array.dtype),) * 3)
    if small.is_on and target is dtype is None and ufunc in scans.ASSOCIATIVE and isinstance(axis, int) and (
            at_once := functions.accumulated(ufunc, array, axis)) is not None:
        return of_elements(*at_once)
    found = scans.accumulated(ufunc, array._base, array._view, axis, dtype, None if target is None else target.dtype)
    return _assigned(GlobalArray(*found), target)


def _reduced_at(ufunc: np.ufunc, array: Any, indices: Any, axis: Any = 0, *, dtype: DTypeLike | None = None,
                out: tuple[Any, ...] = ()) -> GlobalArray:
    """`ufunc.reduceat`."""
    target = _target(out)
    check_array(array, f"{ufunc.__name__}.reduceat")
    found = GlobalArray(*scans.reduced_at(ufunc, array._base, array._view, indices, axis, dtype,
                                          None if target is None else target.dtype))
    if target is not None and target.shape != found.shape:
        raise ValueError(f"out= has shape {target.shape}, the result has shape {found.shape}")
    return _assigned(found, target)


def _target(out: tuple[Any, ...]) -> GlobalArray | None:
    """The array of `out=`, if there is one."""
    target = out[0] if out else None
    if target is not None:
        ufuncs.check_target(target, is_assigned=True)
    return target


def _assigned(result: GlobalArray, target: GlobalArray | None) -> GlobalArray:
    """The result, assigned to the array of `out=`, if there is one, by any cast: as NumPy has it for these methods."""
    if target is None:
        return result
    target[...] = result
    return target


def _divisor(ddof: float, correction: float) -> float:
    """What is subtracted from the number of elements, by either name."""
    if correction is NO_VALUE:
        return ddof.item() if isinstance(ddof, np.generic) else ddof
    if ddof != 0:
        raise ValueError("ddof and correction can't be provided simultaneously.")
    return correction


def _reduced(result: BaseView, out: GlobalArray | None,
             casting: Literal["same_kind", "unsafe"] = "same_kind") -> GlobalArray:
    """What the method of a reduction returns; NumPy casts means to any dtype."""
    return made(*result) if out is None else into(made(*result), (out,), casting)


def _indices(result: BaseView, out: GlobalArray | None) -> GlobalArray:
    """The same of a method that gives indices, for `out` of a dtype that is safely cast to these, as NumPy has it."""
    if out is None:
        return made(*result)
    ufuncs.check_target(out, is_assigned=True)
    if not np.can_cast(out.dtype, result.base.dtype, "safe"):
        raise TypeError(f"Cannot cast array data from dtype('{out.dtype}') to dtype('{result.base.dtype}') according "
                        "to the rule 'safe'")
    if out.shape != result.view.shape:
        raise ValueError(f"out= has shape {out.shape}, the result has shape {result.view.shape}")
    return _assigned(made(*result), out)


def into(result: GlobalArray, out: tuple[Any, ...],
         casting: Literal["same_kind", "unsafe"] = "same_kind") -> GlobalArray:
    """The result, assigned to `out` where there is one; of the same shape, by casts within a kind, as in NumPy."""
    target = out[0] if out else None
    if target is None:
        return result
    ufuncs.check_target(target, is_assigned=True)
    if target.shape != result.shape:
        raise ValueError(f"out= has shape {target.shape}, the result has shape {result.shape}")
    if not np.can_cast(result.dtype, target.dtype, casting):
        raise TypeError(f"the result of dtype {result.dtype} cannot be cast to that of out=, {target.dtype}, within a "
                        "kind: use astype")
    target[...] = result
    return target


def check_array(x: Any, function: str) -> None:
    """Refuse what is no global array, for a function that works on the place of elements."""
    if not isinstance(x, GlobalArray):
        raise TypeError(f"{function} takes a global array, not a {type(x).__name__}: make one with array()")
