"""Views of elements as other numbers: the real and the imaginary part of complex ones, and their bits in another dtype.

A storage has one dtype. So what is read of such a view is taken from the array when it is read, as one more function in
the kernel that reads it, and what is assigned to it is put into the elements, as they are then.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import DTypeLike, NDArray

from pgaspy import ufuncs
from pgaspy.alone import small
from pgaspy.array import IN_PLACE, GlobalArray, is_assigned, is_computed_in_place, of_elements
from pgaspy.creation import as_global
from pgaspy.dispatch import implements
from pgaspy.operands import check_dtype
from pgaspy.planning.view import ArrayInKey, View
from pgaspy.scheduling.base import Base
from pgaspy.scheduling.functions import IMAG, PUT_IMAG, PUT_REAL, REAL, Function, bits_as, put_bits
from pgaspy.scheduling.operations import BaseView

__all__ = ["imag", "real"]


class _Aspect(NamedTuple):
    """How elements are seen: what takes that from them, what puts it there, and NumPy's view of a local part."""

    take: Function
    put: Function
    of_local: Callable[[NDArray[Any]], NDArray[Any]]


_REAL = _Aspect(REAL, PUT_REAL, lambda part: part.real)
_IMAG = _Aspect(IMAG, PUT_IMAG, lambda part: part.imag)


class ElementView(GlobalArray):
    """The elements of an array, seen as other numbers."""

    __slots__ = ("_array", "_aspect")

    def __init__(self, array: GlobalArray, aspect: _Aspect) -> None:
        self._array, self._aspect = array, aspect
        self._elements = self._source = None

    @property
    def _view(self) -> View:  # type: ignore[override]
        """That of the array."""
        return self._array._view

    @property
    def _base(self) -> Base:  # type: ignore[override]
        """The numbers as they are now, in a new base, of which nothing else is written. Collective.

        So a function asks for it as often on each process, also where these are to do different things then.
        """
        array, view = self._array, self._view
        base = Base(view.layout, self.dtype)
        if view.stretched_dims:
            view = view.unstretched
            array = array._over(view)
        if view.is_read_only:
            view = View(view.layout, view.shape, view.base_dims, view.steps, view.origin)
        ufuncs.apply(self._aspect.take, (array,), (GlobalArray(base, view),))
        return base

    @property
    def _refusal(self) -> str:
        return "the copies of a view of elements as other numbers cannot be combined: combine those of the array"

    @property
    def dtype(self) -> np.dtype[Any]:
        """The dtype of the numbers."""
        return self._aspect.take.resolve_dtypes((self._array.dtype,))[-1]

    def _is_there(self) -> bool:
        return False  # its base is made by all processes together

    def _plain(self) -> GlobalArray:
        return GlobalArray(self._base, self._view)

    def _in_memory(self) -> tuple[GlobalArray, Callable[[NDArray[Any]], NDArray[Any]]]:
        array, shown = self._array._in_memory()
        return array, lambda part: self._aspect.of_local(shown(part))

    def _is_base_of(self, found: GlobalArray) -> bool:
        return isinstance(found, ElementView)

    def _over(self, view: View) -> GlobalArray:
        return _view(self._array._over(view), self._aspect)

    def __getitem__(self, key: Any) -> GlobalArray:
        found = self._array[key]
        if small.is_section(found) or not (found._is_number or not self._is_viewed_by(key)):
            return _view(found, self._aspect)
        return _copy(found, self._aspect)

    def _is_viewed_by(self, key: Any) -> bool:
        try:
            self._view.index(key)
        except ArrayInKey:
            return False
        return True

    def flatten(self, order: str = "C") -> GlobalArray:
        """See `GlobalArray`."""
        return self._plain().flatten(order)

    def __setitem__(self, key: Any, value: Any) -> None:
        if self._is_viewed_by(key):
            array, key = self._array._over(self._view.index(key)), ...
        else:
            array = self._array
        with ElementView(array, self._aspect)._written() as numbers:
            numbers[key] = value

    @contextmanager
    def _written(self) -> Iterator[GlobalArray]:
        """The numbers, to be written to in the block: then they are put into the elements. Collective."""
        numbers = GlobalArray(self._base, self._view)
        yield numbers
        self._put(numbers)

    def _put(self, numbers: GlobalArray) -> None:
        if isinstance(self._array, ElementView):
            with self._array._written() as elements:
                ufuncs.apply(self._aspect.put, (elements, numbers), (elements,))
        else:
            ufuncs.apply(self._aspect.put, (self._array, numbers), (self._array,))

    def local(self) -> NDArray[Any]:
        """See `GlobalArray`."""
        return self._aspect.of_local(self._array.local())

    def blocks(self, ranges: Sequence[tuple[int, int]] | None = None, index: bool = False) -> Iterator[Any]:
        """See `GlobalArray`."""
        for found in self._array.blocks(ranges, index):
            yield (found[0], self._aspect.of_local(found[1])) if index else self._aspect.of_local(found)

    def sort(self, axis: int | None = -1, kind: str | None = None, order: None = None, *,
             stable: bool | None = None) -> None:
        """See `GlobalArray`."""
        with self._written() as numbers:
            numbers.sort(axis, kind, order, stable=stable)

    def conj(self) -> GlobalArray:
        """See `GlobalArray`."""
        return self if self.dtype.kind != "c" else self._plain().conj()

    conjugate = conj

    def partition(self, kth: int | Sequence[int], axis: int = -1, kind: str = "introselect",
                  order: None = None) -> None:
        """See `GlobalArray`."""
        with self._written() as numbers:
            numbers.partition(kth, axis, kind, order)

    def __array_ufunc__(self, ufunc: np.ufunc, method: str, *inputs: Any, out: tuple[Any, ...] = (),
                        **options: Any) -> Any:
        if not out and method != "at":
            plain = [x._plain() if isinstance(x, ElementView) else x for x in inputs]
            return super().__array_ufunc__(ufunc, method, *plain, **options)
        with ExitStack() as stack:
            targets = tuple([stack.enter_context(x._written()) if isinstance(x, ElementView) else x for x in out])
            if method == "at" and isinstance(inputs[0], ElementView):
                inputs = stack.enter_context(inputs[0]._written()), *inputs[1:]
            inputs = tuple([x._plain() if isinstance(x, ElementView) else x for x in inputs])
            found = super().__array_ufunc__(ufunc, method, *inputs, out=targets, **options)
        if not out:
            return found
        results = found if isinstance(found, tuple) else (found,)
        results = tuple([result if given is None else given for given, result in zip(out, results, strict=True)])
        return results if isinstance(found, tuple) else results[0]


class SmallElementView(ElementView):
    """One of a small array of one process: its elements are NumPy's, which are seen as others."""

    __slots__ = ()

    @property
    def dtype(self) -> np.dtype[Any]:
        """See `ElementView`."""
        return self._elements.dtype

    def _plain(self) -> GlobalArray:
        if not small.is_on or (found := small.copied(self, keeps_order=True)) is None:
            return super()._plain()
        elements, source = found
        return of_elements(elements, source if isinstance(source, BaseView) else small.source_of_copy(self._array))

    def __setitem__(self, key: Any, value: Any) -> None:
        if not (small.is_on and is_assigned(self, key, value)):
            super().__setitem__(key, value)


small.kinds.add(SmallElementView)


def _in_place(name: str, ufunc: np.ufunc) -> Any:
    plain = getattr(GlobalArray, name)

    def method(self: ElementView, other: Any) -> Any:
        if not (small.is_on and is_computed_in_place(ufunc, self, other)):
            with self._written() as numbers:
                plain(numbers, other)
        return self
    return method


def _operator(name: str) -> Any:
    plain = getattr(GlobalArray, name)

    def method(self: ElementView, *others: Any) -> Any:
        return plain(self if self.__class__ is SmallElementView else self._plain(), *others)
    return method


for _name, _ufunc in IN_PLACE.items():
    setattr(ElementView, f"__i{_name}__", _in_place(f"__i{_name}__", _ufunc))
for _name in (*IN_PLACE, *(f"r{name}" for name in IN_PLACE), "divmod", "rdivmod", "lt", "le", "gt", "ge", "eq", "ne",
              "neg", "pos", "abs", "invert"):
    setattr(ElementView, f"__{_name}__", _operator(f"__{_name}__"))


@implements(np.real)
def real(val: Any) -> GlobalArray:
    """The real part. Not collective.

    Returns
    -------
    Of a complex array a view, as in NumPy: what is assigned to it, as by `A.real[...] = x` or `A.real += x`, is
    assigned to the array, and what is assigned to the array is seen in it. Any other array itself. Of a number, and of
    an array whose elements are repeated (`broadcast_to`), the part is a copy; collective.

    Examples
    --------
    >>> import pgaspy as pg
    >>> A = pg.array([1 + 2j, 3 + 4j])
    >>> x = A.real
    >>> x[0] = 9
    >>> A += 1
    >>> x.gather(), A.gather()
    (array([10.,  4.]), array([10.+2.j,  4.+4.j]))
    """
    a = as_global(val)
    return a if a.dtype.kind != "c" else _seen(a, _REAL)


@implements(np.imag)
def imag(val: Any) -> GlobalArray:
    """The imaginary part; of what is not complex, zeros that are only to be read. All else is as for `real`."""
    a = as_global(val)
    if a.dtype.kind == "c":
        return _seen(a, _IMAG)
    zeros = _copy(a, _IMAG)
    return zeros._read_only() if zeros.ndim else zeros


def _seen(a: GlobalArray, aspect: _Aspect) -> GlobalArray:
    if a._is_number or (a._source is None and a._view.stretched_dims):
        return _copy(a, aspect)
    return _view(a, aspect)


def _view(array: GlobalArray, aspect: _Aspect) -> ElementView:
    found = small.shown(array, aspect.of_local) if small.is_on else None
    if found is None or not found[0].shape:
        return ElementView(array, aspect)
    view = SmallElementView(array, aspect)
    view._elements, view._source = found
    return view


def _copy(array: GlobalArray, aspect: _Aspect) -> GlobalArray:
    found = small.shown(array, aspect.of_local) if small.is_on else None
    if found is not None and array._is_number:
        return of_elements(found[0][()], small.OF_NUMBER)
    if found is not None and found[0].shape:
        return of_elements(found[0].copy(), small.source_of_copy(array))
    return ufuncs.apply(aspect.take, (array,), make=array._alike)


@implements(GlobalArray.real)
def _set_real(a: GlobalArray, value: Any) -> None:
    """`a.real = value`."""
    if a.dtype.kind != "c":
        a[...] = value
    elif not _is_part_of(a, _REAL, value):
        _seen(a, _REAL)[...] = value


@implements(GlobalArray.imag)
def _set_imag(a: GlobalArray, value: Any) -> None:
    """`a.imag = value`."""
    if a.dtype.kind != "c":
        raise TypeError("cannot set imaginary part of real array")
    if not _is_part_of(a, _IMAG, value):
        _seen(a, _IMAG)[...] = value


def _is_part_of(a: GlobalArray, aspect: _Aspect, value: Any) -> bool:
    """Whether a value is the array's own part, which it has got already, as `a.real += x` ends."""
    return isinstance(value, ElementView) and value._aspect is aspect and value._array is a


@implements(GlobalArray.view)
def view(a: GlobalArray, dtype: DTypeLike | None = None) -> GlobalArray:
    """See `GlobalArray.view`."""
    if dtype is None:
        return a._over(a._view)
    return _seen(a, _bits(a.dtype, np.dtype(dtype)))


@functools.cache
def _bits(own: np.dtype[Any], other: np.dtype[Any]) -> _Aspect:
    """How elements of a dtype are seen as those of another one."""
    check_dtype(other)
    if own.itemsize != other.itemsize:
        raise ValueError(f"elements of {own} have {own.itemsize} bytes, and those of {other} {other.itemsize}: they "
                         "are viewed as others of their size only; A.local().view(dtype) has those of this process")
    return _Aspect(bits_as(own, other), put_bits(own, other), lambda part: part.view(other))


def is_apart(a: GlobalArray, b: GlobalArray) -> bool:
    """Whether two arrays have nothing in common. Not collective."""
    aspects = set()
    while isinstance(a, ElementView):
        aspects.add(a._aspect)
        a = a._array
    while isinstance(b, ElementView):
        aspects.add(b._aspect)
        b = b._array
    return aspects >= {_REAL, _IMAG} or a._base is not b._base or not a._view.shares(b._view)
