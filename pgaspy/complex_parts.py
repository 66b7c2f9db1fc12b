"""The real and the imaginary part of a complex array: copies, from which the array gets what is assigned to them."""

from __future__ import annotations

import weakref
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from pgaspy import ufuncs
from pgaspy.array import IN_PLACE, GlobalArray
from pgaspy.creation import as_global
from pgaspy.dispatch import implements
from pgaspy.planning.view import View
from pgaspy.scheduling.base import Base
from pgaspy.scheduling.functions import IMAG, REAL, WITH_IMAG, WITH_REAL, Function

__all__ = ["imag", "real"]


class _Component(NamedTuple):
    """How a part is taken from complex numbers, and put into them."""

    name: str
    take: Function
    put: Function


_REAL, _IMAG = _Component("real", REAL, WITH_REAL), _Component("imag", IMAG, WITH_IMAG)


class ComplexPart(GlobalArray):
    """A part of a complex array: a copy; what is assigned to it is assigned to that array, too, while that is there.

    What is assigned to that array is not seen in it.
    """

    __slots__ = ("_base_of_whole", "_component", "_view_of_whole")

    def __init__(self, base: Base, view: View, whole: GlobalArray, component: _Component) -> None:
        super().__init__(base, view)
        self._base_of_whole, self._view_of_whole = weakref.ref(whole._base), whole._view
        self._component = component

    @property
    def _refusal(self) -> str:
        """Why it cannot be `out=`, if it cannot."""
        name = self._component.name
        return "" if self._whole() is None else (
            f"the {name} part of an array is a copy, and cannot be out=, nor what a task writes: assign to it, as by "
            f"A.{name}[...] = x")

    def _whole(self) -> GlobalArray | None:
        """The array, if it is there."""
        base = self._base_of_whole()
        return None if base is None else GlobalArray(base, self._view_of_whole)

    def _plain(self) -> GlobalArray:
        return GlobalArray(self._base, self._view)

    @contextmanager
    def _written(self) -> Iterator[GlobalArray]:
        """This part, as it is now, to be written to in the block: then the array gets it."""
        plain, whole = self._plain(), self._whole()
        if whole is None:
            yield plain
        else:
            ufuncs.apply(self._component.take, (whole,), (plain,))
            yield plain
            ufuncs.apply(self._component.put, (whole, plain), (whole,))

    def __getitem__(self, key: Any) -> GlobalArray:
        found, whole = self._plain()[key], self._whole()
        if whole is None or found._is_number or found._base is not self._base:
            return found
        return ComplexPart(found._base, found._view, whole[key], self._component)

    def __setitem__(self, key: Any, value: Any) -> None:
        with self._written() as part:
            part[key] = value

    def fill(self, value: Any) -> None:
        """See `GlobalArray`."""
        self[...] = value

    def local(self) -> NDArray[Any]:
        """See `GlobalArray`: the part of the local part of the array, while that is there."""
        whole = self._whole()
        found: NDArray[Any] = self._plain().local() if whole is None else getattr(whole.local(), self._component.name)
        return found

    def blocks(self, ranges: Sequence[tuple[int, int]] | None = None, index: bool = False) -> Iterator[Any]:
        """See `GlobalArray`: the part of the blocks of the array, while that is there."""
        whole = self._whole()
        for found in (self._plain() if whole is None else whole).blocks(ranges, index):
            if whole is None:
                yield found
            else:
                block = getattr(found[1] if index else found, self._component.name)
                yield (found[0], block) if index else block


def _in_place(name: str) -> Any:
    plain = getattr(GlobalArray, name)

    def method(self: ComplexPart, other: Any) -> Any:
        with self._written() as part:
            return NotImplemented if plain(part, other) is NotImplemented else self
    return method


for _name in IN_PLACE:
    setattr(ComplexPart, f"__i{_name}__", _in_place(f"__i{_name}__"))


@implements(np.real)
def real(val: Any) -> GlobalArray:
    """The real part. Collective.

    Returns
    -------
    Of a complex array a copy; what is assigned to it, as by `A.real[...] = x` or `A.real += x`, is assigned to the
    array as well. What is assigned to the array later is not seen in it. Any other array itself.

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
    found: GlobalArray = ufuncs.apply(component.take, (a,), make=a._alike)
    return found if found._is_number else ComplexPart(found._base, found._view, a, component)


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
    return isinstance(value, ComplexPart) and value._component is component and (
        value._base_of_whole() is a._base and value._view_of_whole == a._view)
