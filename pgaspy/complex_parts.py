"""The real and the imaginary part of a complex array: copies, from which the array gets what is assigned to them.

While the array is there, that is. Each process finds that out by itself, when nobody refers to the array any more, and
so it moves its own elements, as a task, which others do not depend on.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from pgaspy import ufuncs
from pgaspy.array import IN_PLACE, GlobalArray
from pgaspy.creation import as_global
from pgaspy.dispatch import implements
from pgaspy.planning.view import View, whole
from pgaspy.scheduling.base import Base
from pgaspy.scheduling.functions import IMAG, REAL, Function
from pgaspy.tasks import schedule, update, write

__all__ = ["imag", "real"]


class _Component(NamedTuple):
    """How a part is taken from complex numbers, by functions of arrays and of local parts, and how it is put there."""

    name: str
    function: Function
    take: Callable[..., None]
    put: Callable[..., None]


def _take_real(part: NDArray[Any], z: NDArray[Any]) -> None:
    part[...] = z.real


def _put_real(z: NDArray[Any], part: NDArray[Any]) -> None:
    z.real[...] = part


def _take_imag(part: NDArray[Any], z: NDArray[Any]) -> None:
    part[...] = z.imag


def _put_imag(z: NDArray[Any], part: NDArray[Any]) -> None:
    z.imag[...] = part


_REAL = _Component("real", REAL, _take_real, _put_real)
_IMAG = _Component("imag", IMAG, _take_imag, _put_imag)


class _Source(NamedTuple):
    """An array, its part, and the copy of that, which lies as the array does."""

    base: weakref.ref[Base]
    view: View
    component: _Component
    copy: GlobalArray

    def array(self) -> GlobalArray | None:
        """The array, if it is there."""
        base = self.base()
        return None if base is None else GlobalArray(base, self.view)


class ComplexPart(GlobalArray):
    """A section of a copy of a part of a complex array: the array gets what is assigned to it, while it is there.

    What is assigned to the array is not seen in it.
    """

    __slots__ = ("_source", "_view_of_array")

    def __init__(self, base: Base, view: View, source: _Source, view_of_array: View) -> None:
        super().__init__(base, view)
        self._source, self._view_of_array = source, view_of_array

    @property
    def _refusal(self) -> str:
        """Why it cannot be `out=`, if it cannot."""
        name = self._source.component.name
        return "" if self._source.base() is None else (
            f"the {name} part of an array is a copy, and cannot be out=, nor what a task writes: assign to it, as by "
            f"A.{name}[...] = x")

    def _plain(self) -> GlobalArray:
        return GlobalArray(self._base, self._view)

    @contextmanager
    def _written(self) -> Iterator[GlobalArray]:
        """This section, as it is now, to be written to in the block: then the array gets it."""
        array, component, copy = self._source.array(), self._source.component, self._source.copy
        if array is not None:
            schedule(component.take, write(copy), array)
        yield self._plain()
        if array is not None:
            schedule(component.put, update(array), copy)

    def __getitem__(self, key: Any) -> GlobalArray:
        return self._viewed(lambda a: a[key])

    def transpose(self, *axes: Any) -> GlobalArray:
        """See `GlobalArray`."""
        return self._viewed(lambda a: a.transpose(*axes))

    def swapaxes(self, axis1: int, axis2: int) -> GlobalArray:
        """See `GlobalArray`."""
        return self._viewed(lambda a: a.swapaxes(axis1, axis2))

    def squeeze(self, axis: Any = None) -> GlobalArray:
        """See `GlobalArray`."""
        return self._viewed(lambda a: a.squeeze(axis))

    def reshape(self, *shape: Any, order: str = "C") -> GlobalArray:
        """See `GlobalArray`."""
        return self._viewed(lambda a: a.reshape(*shape, order=order))

    def _viewed(self, view: Callable[[GlobalArray], GlobalArray]) -> GlobalArray:
        """What a function gives that makes views: of a view, the same of the array; else a copy."""
        found = view(self._plain())
        if found._is_number or found._base is not self._base:
            return found
        of_array = view(GlobalArray(self._base, self._view_of_array))
        return ComplexPart(found._base, found._view, self._source, of_array._view)

    def __setitem__(self, key: Any, value: Any) -> None:
        with self._written() as section:
            section[key] = value

    def local(self) -> NDArray[Any]:
        """See `GlobalArray`: the part of the local part of the array, while that is there."""
        base = self._source.base()
        return self._plain().local() if base is None else self._of(GlobalArray(base, self._view_of_array).local())

    def blocks(self, ranges: Sequence[tuple[int, int]] | None = None, index: bool = False) -> Iterator[Any]:
        """See `GlobalArray`: the part of the blocks of the array, while that is there."""
        base = self._source.base()
        if base is None:
            yield from self._plain().blocks(ranges, index)
            return
        for found in GlobalArray(base, self._view_of_array).blocks(ranges, index):
            yield (found[0], self._of(found[1])) if index else self._of(found)

    def _of(self, z: NDArray[Any]) -> NDArray[Any]:
        part: NDArray[Any] = getattr(z, self._source.component.name)
        return part


def _in_place(name: str) -> Any:
    plain = getattr(GlobalArray, name)

    def method(self: ComplexPart, other: Any) -> Any:
        with self._written() as section:
            return NotImplemented if plain(section, other) is NotImplemented else self
    return method


for _name in IN_PLACE:
    setattr(ComplexPart, f"__i{_name}__", _in_place(f"__i{_name}__"))


@implements(np.real)
def real(val: Any) -> GlobalArray:
    """The real part. Collective.

    Returns
    -------
    Of a complex array a copy, which lies as it does; what is assigned to it, as by `A.real[...] = x` or `A.real += x`,
    is assigned to the array as well. What is assigned to the array later is not seen in it. Any other array itself.

    Examples
    --------
    >>> import pgaspy as pg
    >>> A = pg.array([1 + 2j, 3 + 4j])
    >>> pg.real(A)[0] = 9
    >>> A.gather()
    array([9.+2.j, 3.+4.j])
    """
    a = as_global(val)
    return a if a.dtype.kind != "c" else _part(a, _REAL)


@implements(np.imag)
def imag(val: Any) -> GlobalArray:
    """The imaginary part, zeros of what is not complex. Collective; all else is as for `real`."""
    a = as_global(val)
    return _part(a, _IMAG) if a.dtype.kind == "c" else ufuncs.apply(IMAG, (a,), make=a._alike)


def _part(a: GlobalArray, component: _Component) -> GlobalArray:
    if a._is_number or a._view.stretched_dims:
        return ufuncs.apply(component.function, (a,), make=a._alike)
    layout, array, section = a._view.own_layout, a._view, None
    if layout is None:  # the part of all that it is a view of
        array, section = whole(a._base.layout), a._view
        layout = a._base.layout
    copy = GlobalArray(Base(layout, component.function.resolve_dtypes((a.dtype,))[-1]), whole(layout))
    ufuncs.apply(component.function, (GlobalArray(a._base, array),), (copy,))
    source = _Source(weakref.ref(a._base), array, component, copy)
    return ComplexPart(copy._base, section or copy._view, source, a._view)


@implements(GlobalArray.real)
def _set_real(a: GlobalArray, value: Any) -> None:
    """`a.real = value`."""
    if a.dtype.kind != "c":
        a[...] = value
    elif not _is_part_of(a, _REAL, value):
        _part(a, _REAL)[...] = value


@implements(GlobalArray.imag)
def _set_imag(a: GlobalArray, value: Any) -> None:
    """`a.imag = value`."""
    if a.dtype.kind != "c":
        raise TypeError("cannot set imaginary part of real array")
    if not _is_part_of(a, _IMAG, value):
        _part(a, _IMAG)[...] = value


def _is_part_of(a: GlobalArray, component: _Component, value: Any) -> bool:
    """Whether a value is the array's own part, which it has got already, as `a.real += x` ends."""
    return isinstance(value, ComplexPart) and value._source.component is component and (
        value._source.base() is a._base and value._view_of_array == a._view)
