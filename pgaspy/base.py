"""Bases: distributed storage. One local array per process holds the owned blocks in local index order."""

from __future__ import annotations

import functools
import sys
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from pgaspy import kernels, memory
from pgaspy.layout import Layout
from pgaspy.pieces import local_view_shape, storage_geometry
from pgaspy.procgrid import world
from pgaspy.view import View

__all__ = ["Base", "check_local", "local_view", "wrap"]


class Base:
    """The storage of an array on this process; allocated when it is first used, so that planning needs none.

    Attributes
    ----------
    local
        The local part, C-ordered; owned blocks in local index order, as in ScaLAPACK.
    address
        That of the local part.
    mark
        What the journal knows the array by, where there is one.
    n_lent
        The bases of which NumPy views may be alive.
    """

    n_lent: ClassVar[int] = 0

    __slots__ = ("_block", "_lent", "address", "dtype", "layout", "local", "mark")

    local: NDArray[Any]
    address: int
    mark: Any

    def __init__(self, layout: Layout, dtype: np.dtype[Any]) -> None:
        self.layout = layout
        self.dtype = dtype
        self._lent: int | None = None
        self._block: memory.Bytes | None = None

    def __getattr__(self, name: str) -> Any:
        """What is there only after allocation."""
        if name not in ("local", "address"):
            raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}", name=name, obj=self)
        self._allocate()
        return getattr(self, name)

    def _allocate(self) -> None:
        shape = self.layout.local_shape(world().rank)
        nbytes = self.dtype.itemsize
        for n in shape:
            nbytes *= n
        if nbytes < memory.REUSED_FROM_BYTES:
            self.local = np.empty(shape, self.dtype)
        else:
            self._block = memory.allocate(nbytes)
            self.local = np.ndarray(shape, self.dtype, self._block)
        self.address = kernels.address(self.local)

    def lend(self) -> None:
        """Note that a NumPy view of the local part is handed out."""
        if self._lent is None:
            self._lent = self._n_references()
            Base.n_lent += 1

    @property
    def is_lent(self) -> bool:
        """Whether a NumPy view of the local part may be alive."""
        if self._lent is None:
            return False
        if self._n_references() > self._lent:
            return True
        self._lent = None
        Base.n_lent -= 1
        return False

    def _n_references(self) -> int:
        """References to what NumPy views of the local part keep alive: the array, and the block that it lies in."""
        local = self.local
        return sys.getrefcount(local) + (0 if self._block is None else sys.getrefcount(self._block))

    def __del__(self) -> None:
        if self._lent is not None:
            Base.n_lent -= 1
        block = self._block
        if block is not None:
            del self.local, self._block
            memory.give_back(block, 1)


def wrap(layout: Layout, local: NDArray[Any]) -> Base:
    """A base on a C-ordered array that exists: a copy of a NumPy operand, which every process holds."""
    base = Base(layout, local.dtype)
    base.local = local
    base.address = kernels.address(local)
    return base


def local_view(base: Base, view: View) -> NDArray[Any]:
    """The NumPy view of the part of a view that this process owns; empty where it owns nothing.

    Raises
    ------
    ValueError
        If no NumPy view has these elements; the same on every process.
    """
    shape, offset, strides = _local_geometry(view, base.dtype.itemsize, world().rank)
    if 0 in shape:
        return np.empty(shape, base.dtype)
    return np.ndarray(shape, base.dtype, base.local, offset, strides)


def check_local(view: View) -> None:
    """Raise ValueError where `local_view` would."""
    _local_geometry(view, 1, world().rank)


@functools.lru_cache(maxsize=8192)
def _local_geometry(view: View, itemsize: int, rank: int) -> tuple[tuple[int, ...], int, tuple[int, ...]]:
    """Shape, offset in bytes and strides in bytes of the part of a view that a process owns, in its storage."""
    offset, strides = storage_geometry(view, rank)
    return local_view_shape(view, rank), offset * itemsize, tuple(s * itemsize for s in strides)
