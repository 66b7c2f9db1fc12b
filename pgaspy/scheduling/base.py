"""Bases: distributed storage. One local array per process holds the owned blocks in local index order.

What arrays, and the functions that are called on them, hold is a `Base`. What operations that are recorded or executed
hold is its `Storage`. So an array has a name as long as its base is there, which the storage tells by a weak reference:
nobody counts, and nothing is inferred from how the interpreter counts.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable
from typing import Any, NoReturn

import numpy as np
from numpy.typing import NDArray

from pgaspy.caches import cached
from pgaspy.job.procgrid import world
from pgaspy.kernels import bindings
from pgaspy.layout import Layout
from pgaspy.planning.pieces import local_view_shape, storage_geometry
from pgaspy.planning.view import View, whole
from pgaspy.scheduling import memory
from pgaspy.scheduling.backend import backend

__all__ = ["Base", "FormerBase", "FormerStorage", "Reference", "SharedStorage", "Storage", "borrow", "borrowers",
           "came_back", "check_local", "lent", "lent_view", "local_view", "wrap"]


class Lease:
    """The memory of a storage while NumPy views of it may be alive: the object at the end of their `.base` chain.

    NumPy takes it for an array. Whatever is made of its views (slices, memoryviews, tensors of other libraries) refers
    to it; when it is gone, nobody sees that memory any more.
    """

    __slots__ = ("__array_interface__", "__weakref__", "_storage")

    def __init__(self, storage: Storage) -> None:
        self._storage = storage
        self.__array_interface__ = storage.local.__array_interface__


_Leased = weakref.ref[Lease]

lent: set[_Leased] = set()
"""The leases of which views may be alive."""


class Reference(weakref.ref[Any]):
    """A weak reference to who borrows a section of an array; with the array's storage, and the section."""

    __slots__ = ("storage", "view")
    __hash__, __eq__ = object.__hash__, object.__eq__  # elements are not hashable

    storage: Storage
    view: View


borrowers: set[Reference] = set()
"""Who has a section of an array in the array's storage until that is written to: `GlobalElement` and `SharedBase`."""


def borrow(borrower: Any, storage: Storage, view: View) -> None:
    """Note who borrows a section of a storage."""
    reference = Reference(borrower, borrowers.discard)
    reference.storage, reference.view = storage, view
    borrowers.add(reference)


def came_back() -> NoReturn:
    """Stand for the name of an array that has none, and was written to.

    Raises
    ------
    RuntimeError
        Always: a `__del__` has kept an array that was garbage.
    """
    raise RuntimeError("an array was garbage, a __del__ has kept it, and what has been written to it since is lost: "
                       "let __del__ keep a copy() of it")


class Storage:
    """The memory of an array on this process; allocated when it is first used, so that planning needs none.

    Attributes
    ----------
    name
        Gives the base, while it is there: when no array has this storage any more, there is none.
    number
        The array's among all that operations were compared of, see `digests`; before that, -1.
    poison
        Why the elements are not what was recorded, where they are not.
    local
        The local part, C-ordered; owned blocks in local index order, as in ScaLAPACK.
    address
        That of the local part.
    """

    __slots__ = ("__weakref__", "_leased", "_return", "address", "dtype", "layout", "local", "name", "number", "poison")

    local: NDArray[Any]
    address: int
    name: Callable[[], Base | None]
    number: int
    poison: Any
    _leased: _Leased | None
    _return: memory.Return | None

    def __init__(self, layout: Layout, dtype: np.dtype[Any], base: Base) -> None:
        self.layout = layout
        self.dtype = dtype
        self.name = weakref.ref(base)
        self.number = -1
        self.poison = self._leased = self._return = None

    def __getattr__(self, name: str) -> Any:
        """What is there only after allocation."""
        if name not in ("local", "address"):
            raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}", name=name, obj=self)
        self._allocate()
        return getattr(self, name)

    def _allocate(self) -> None:
        held, dtype = self.layout.held_by(world().rank), self.dtype
        nbytes = held.size * dtype.itemsize
        if nbytes < memory.REUSED_FROM_BYTES:
            self.hold(np.empty(held.shape, dtype))
        else:
            block = backend.allocate(nbytes)
            self._return = memory.come_back(self, block)
            self.hold(np.ndarray(held.shape, dtype, block))

    @property
    def is_allocated(self) -> bool:
        """Whether it has memory by now."""
        try:
            object.__getattribute__(self, "address")
        except AttributeError:
            return False
        return True

    def stands_for(self, storage: Storage) -> bool:
        """Whether this is that storage, or has elements of it as they are, or were."""
        return self.present is storage

    @property
    def present(self) -> Storage:
        """The storage that other processes may take for this one, or this one itself."""
        return self

    @property
    def lender(self) -> Storage:
        """The storage that has the elements."""
        return self

    @property
    def is_borrowed(self) -> bool:
        """Whether other processes may have the elements in another array."""
        return False

    def borrower(self) -> Any:
        """The base, which borrows a section of another one."""
        return self.name() or came_back()

    @property
    def is_lost(self) -> bool:
        """Whether something that was written may not be stored, as there was no name."""
        return self.name is came_back

    def hold(self, local: NDArray[Any]) -> None:
        """Have an array as the local part."""
        self.address = bindings.address(local)
        self.local = local

    def hand_over(self) -> NDArray[Any]:
        """The local part, for somebody who keeps it: its memory is not used again."""
        local = self.local
        self._return = None
        return local

    @property
    def is_lent(self) -> bool:
        """Whether a NumPy view of the local part may be alive."""
        return self._lease() is not None

    def _lease(self) -> Lease | None:
        return None if self._leased is None else self._leased()

    def lend(self) -> NDArray[Any]:
        """The local part as an array whose views keep the lease alive."""
        lease = self._lease()
        if lease is None:
            lease = Lease(self)
            self._leased = weakref.ref(lease, lent.discard)
            lent.add(self._leased)
        return np.asarray(lease)


class FormerStorage(Storage):
    """Has some elements of an array as they were before this process wrote to it by itself; the others are not there.

    They lie in the places of that array, and the number is its own: to other processes they are still those of it.
    """

    _present: Storage | None = None  # until its own number is set

    def __init__(self, present: Storage, base: Base) -> None:
        super().__init__(base.layout, base.dtype, base)
        self._present = present

    @property
    def number(self) -> int:
        """The array's."""
        return self._own_number if self._present is None else self._present.number

    @number.setter
    def number(self, value: int) -> None:
        if self._present is None:
            self._own_number = value
        else:
            self._present.number = value

    @property
    def present(self) -> Storage:
        """The array's storage."""
        return self._present or self

    @property
    def is_borrowed(self) -> bool:
        """Whether other processes have the elements in that array."""
        return self._present is not None

    def settle(self) -> None:
        """Be an array's own, as on all other processes."""
        self._present = None


class SharedStorage(Storage):
    """Stands for the storage of an array that is a section of another one, and has no memory of its own.

    Operations are not recorded on it, but on its lender.
    """

    def __init__(self, lender: Storage, base: Base) -> None:
        super().__init__(base.layout, base.dtype, base)
        self._lender = lender

    @property
    def is_borrowed(self) -> bool:
        """Whether the other array still has the elements."""
        return True

    @property
    def lender(self) -> Storage:
        """The storage that has the elements: the other array's, and later its own."""
        return self._lender

    @lender.setter
    def lender(self, value: Storage) -> None:
        self._lender = value

    @property
    def present(self) -> Storage:
        """The other array's storage."""
        return self._lender.present

    def __getattr__(self, name: str) -> Any:
        """The lender's memory."""
        return getattr(self._lender, name)


class Base:
    """An array's storage, for those that have a name for it.

    Attributes
    ----------
    mark
        What the journal knows the array by, where there is one.
    original
        What it is a copy of, where what is written to it is to be told for that; see `originals`.
    """

    __slots__ = ("__weakref__", "dtype", "layout", "mark", "original", "storage")

    mark: Any
    original: tuple[weakref.ref[Any], ...] | None

    def __init__(self, layout: Layout, dtype: np.dtype[Any]) -> None:
        self.layout = layout
        self.dtype = dtype
        self.original = None
        self.storage = Storage(layout, dtype, self)

    def keep_name(self) -> Storage:
        """The storage that has the elements; it knows this also where that was garbage, and a `__del__` has kept it.

        The collector of garbage takes weak references away before it calls that.

        Raises
        ------
        RuntimeError
            If what was written meanwhile may not be stored.
        """
        if self.storage.name() is None:
            self.storage.name = weakref.ref(self)
        return self.storage

    @property
    def local(self) -> NDArray[Any]:
        """See `Storage`."""
        return self.storage.local

    @property
    def lender(self) -> Base:
        """The array that others borrow from who borrow sections of this one."""
        return self

    @property
    def section(self) -> View:
        """What the array has of its storage: all of it, but where it is a section of another array."""
        return whole(self.layout)


class FormerBase(Base):
    """For elements of an array as they are now, which this process is about to write to by itself.

    To other processes it is that array: who borrows from it borrows from that, and the journal knows it as that.
    """

    __slots__ = ("lender",)

    lender: Base

    def __init__(self, lender: Base) -> None:
        self.layout, self.dtype, self.lender = lender.layout, lender.dtype, lender
        self.original = None
        self.storage = FormerStorage(lender.storage.present, self)

    @property
    def mark(self) -> Any:
        """The array's."""
        return self.lender.mark

    @mark.setter
    def mark(self, value: Any) -> None:
        self.lender.mark = value


def wrap(layout: Layout, local: NDArray[Any]) -> Base:
    """A base on a C-ordered array that exists: a copy of a NumPy operand, which every process holds."""
    base = Base(layout, local.dtype)
    base.storage.hold(local)
    return base


def local_view(storage: Storage, view: View) -> NDArray[Any]:
    """The NumPy view of the part of a view that this process owns, for pgaspy; empty where it owns nothing.

    Raises
    ------
    ValueError
        If no NumPy view has these elements; the same on every process.
    """
    shape, offset, strides = _local_geometry(view, storage.dtype.itemsize, world().rank)
    if 0 in shape:
        return np.empty(shape, storage.dtype)
    return np.ndarray(shape, storage.dtype, storage.local, offset, strides)


def lent_view(storage: Storage, view: View) -> NDArray[Any]:
    """The same for the program, which may keep it: as long as it does, the storage is lent."""
    shape, offset, strides = _local_geometry(view, storage.dtype.itemsize, world().rank)
    if 0 in shape:
        return np.empty(shape, storage.dtype)
    return np.ndarray(shape, storage.dtype, storage.lend(), offset, strides)


def check_local(view: View) -> None:
    """Raise ValueError where `local_view` would."""
    _local_geometry(view, 1, world().rank)


@cached
def _local_geometry(view: View, itemsize: int, rank: int) -> tuple[tuple[int, ...], int, tuple[int, ...]]:
    """Shape, offset in bytes and strides in bytes of the part of a view that a process owns, in its storage."""
    return local_view_shape(view, rank), *storage_geometry(view, rank, itemsize)
