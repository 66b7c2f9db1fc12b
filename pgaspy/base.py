"""Bases: distributed storage. One local array per process holds the owned blocks in local index order."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from pgaspy import kernels, memory
from pgaspy.layout import Layout
from pgaspy.procgrid import world

__all__ = ["Base", "wrap"]


class Base:
    """The storage of an array on this process; allocated when it is first used, so that planning needs none."""

    __slots__ = ("_address", "_block", "_local", "dtype", "is_wrapped", "layout")

    def __init__(self, layout: Layout, dtype: np.dtype[Any]) -> None:
        self.layout = layout
        self.dtype = dtype
        self.is_wrapped = False  # whether the storage is an array of the user's
        self._local: NDArray[Any] | None = None
        self._block: memory.Bytes | None = None

    @property
    def local(self) -> NDArray[Any]:
        """The local part, C-ordered; owned blocks in local index order, as in ScaLAPACK."""
        if self._local is None:
            self._allocate()
        return self._local  # type: ignore[return-value]

    @property
    def address(self) -> int:
        """The address of the local part."""
        if self._local is None:
            self._allocate()
        return self._address

    def _allocate(self) -> None:
        shape = self.layout.local_shape(world().rank)
        nbytes = self.dtype.itemsize
        for n in shape:
            nbytes *= n
        if nbytes < memory.REUSED_FROM_BYTES:
            self._local = np.empty(shape, self.dtype)
        else:
            self._block = memory.allocate(nbytes)
            self._local = np.ndarray(shape, self.dtype, self._block)
        self._address = kernels.address(self._local)

    def __del__(self) -> None:
        block = getattr(self, "_block", None)
        if block is not None:
            self._local = self._block = None
            memory.give_back(block, 1)


def wrap(layout: Layout, local: NDArray[Any]) -> Base:
    """A base on a C-ordered array that exists: a NumPy operand, of which every process holds its copy."""
    base = Base(layout, local.dtype)
    base.is_wrapped = True
    base._local = local
    base._address = kernels.address(local)
    return base
