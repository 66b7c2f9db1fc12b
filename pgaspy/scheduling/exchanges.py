"""Exchanges: items go to, or come from, where arrays of indices say, as steps of conversations.

Each process sorts its indices by the processes that have the items, tells these how many it has for them, and sends
them: so many as there is a window for in one round. Items that this process has are not sent.
"""

from __future__ import annotations

from collections.abc import Generator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pgaspy.kernels import bindings
from pgaspy.scheduling.backend import backend
from pgaspy.scheduling.conversations import Link, Refusal
from pgaspy.scheduling.nodes import counted_call
from pgaspy.scheduling.routing import route

__all__ = ["WINDOW_ITEMS", "Indices", "Items", "fetch", "store"]

WINDOW_ITEMS = 1 << 23
"""So many items a process asks for, or brings, in one round."""


@dataclass(frozen=True)
class Items:
    """The items of a section that one process reads or writes, and the memory of this process that has some of them.

    Attributes
    ----------
    places
        Where they lie.
    n
        How many there are.
    nbytes
        Of one.
    copies
        How far the ranks of those are apart that have copies of an item, which are all written.
    rank, size
        Of this process, and the number of them.
    is_here
        Whether this process has all of them.
    """

    places: bindings.ItemPlaces
    n: int
    nbytes: int
    copies: tuple[int, ...]
    rank: int
    size: int
    is_here: bool

    @property
    def index_dtype(self) -> np.dtype[Any]:
        """In which indices travel."""
        return np.dtype(np.uint32 if self.n < 1 << 32 else np.int64)


@dataclass(frozen=True)
class Indices:
    """Of the items that this process has to do with, in order.

    Attributes
    ----------
    local
        Flat, of int64.
    n_rounds
        As many as any process needs, with so many items in each.
    refusal
        The axis and the extent that an error names, if any index may be beyond the items; None if all are right.
    """

    local: NDArray[np.int64]
    n_rounds: int
    refusal: tuple[int, int] | None

    def of_round(self, n: int) -> NDArray[np.int64]:
        """Those of round n."""
        return self.local[n * WINDOW_ITEMS:(n + 1) * WINDOW_ITEMS]


class _Sorted:
    """The indices of one round, sorted by the processes that have the items."""

    def __init__(self, items: Items, indices: NDArray[np.int64]) -> None:
        counts = np.empty(items.size, np.int64)
        self.positions = np.empty(indices.size, np.uint32)
        self.wanted = np.empty(indices.size, items.index_dtype)
        items.places.bucket(indices, counts, self.positions, self.wanted)
        owners = np.flatnonzero(counts)
        stops = np.cumsum(counts[owners])
        self.parts = [(owner, slice(stop - n, stop)) for owner, n, stop in zip(
            owners.tolist(), counts[owners].tolist(), stops.tolist(), strict=True)]

    def records(self, items: Items) -> NDArray[np.int64]:
        """Whom this process asks for how many."""
        rows = [(owner + copy, items.rank, part.stop - part.start)
                for owner, part in self.parts for copy in items.copies if owner + copy != items.rank]
        return np.array(rows, np.int64).reshape(len(rows), 3)


def _first_beyond(items: Items, indices: Indices) -> tuple[int, int, int]:
    """The first index that is beyond the items, to be compared with that of other processes; all 0 without one."""
    found = None if indices.refusal is None else bindings.find_beyond(indices.local, items.n)
    return (0, 0, 0) if found is None else (1, -items.rank, int(indices.local[found]))


def _check(first: tuple[int, ...], indices: Indices, poisons: bool) -> None:
    """Refuse what any process has found."""
    if first[0] and indices.refusal is not None:
        axis, extent = indices.refusal
        raise Refusal(IndexError(f"index {first[2]} is out of bounds for axis {axis} with size {extent}"), poisons)


def fetch(link: Link, items: Items, indices: Indices, memory: int, out: int) -> Generator[None]:
    """The items that indices name, one after the other, from the memory of those that have them."""
    beyond: tuple[int, ...] = _first_beyond(items, indices)
    if items.is_here:
        if indices.refusal is not None:
            _, beyond = yield from route(link, items.rank, items.size, np.empty((0, 3), np.int64), beyond)
        _check(beyond, indices, True)
        items.places.take(indices.local, items.nbytes, memory, out)
        return
    for n in range(indices.n_rounds):
        wanted = _Sorted(items, indices.of_round(n)[:0 if beyond[0] else None])
        asked, beyond = yield from route(link, items.rank, items.size, wanted.records(items), beyond)
        _check(beyond, indices, True)
        yield from _fetch_round(link, items, wanted, asked, memory, out + n * WINDOW_ITEMS * items.nbytes)


def _fetch_round(link: Link, items: Items, wanted: _Sorted, asked: NDArray[np.int64], memory: int,
                 out: int) -> Generator[None]:
    nbytes, positions = items.nbytes, bindings.address(wanted.positions)
    requests = [(peer, np.empty(n, items.index_dtype)) for _, peer, n in asked.tolist()]
    for peer, request in requests:
        link.receive(request, peer)
    for owner, part in wanted.parts:
        if owner != items.rank:
            link.send(wanted.wanted[part], owner)
    for owner, part in wanted.parts:
        if owner == items.rank:
            items.places.take(wanted.wanted[part], nbytes, memory, out, positions + 4 * part.start)
    yield
    arriving = []
    for owner, part in wanted.parts:
        if owner != items.rank:
            values = _buffer((part.stop - part.start) * nbytes)
            link.receive(values, owner)
            arriving.append((part, values))
    for peer, request in requests:
        values = _buffer(request.size * nbytes)
        items.places.take(request, nbytes, memory, bindings.address(values))
        link.send(values, peer)
    yield
    for part, values in arriving:
        bindings.unpack_items(part.stop - part.start, nbytes, bindings.address(values), out,
                              positions + 4 * part.start)


def _buffer(nbytes: int) -> NDArray[np.uint8]:
    return backend.allocate(nbytes)[:nbytes]


@dataclass(frozen=True)
class Stored:
    """The values that a process brings, and what becomes of the items that they are for.

    Attributes
    ----------
    values
        One for each index, flat; or a single one for all.
    memory
        The items of this process, flat.
    ufunc
        What combines an item with each value that is for it; None where a value takes its place.
    """

    values: NDArray[Any]
    memory: NDArray[Any]
    ufunc: np.ufunc | None

    @property
    def are_many(self) -> bool:
        """Whether each index has a value of its own."""
        return self.values.ndim > 0


def store(link: Link, items: Items, indices: Indices, stored: Stored) -> Generator[None]:
    """Bring values to the items that indices name; of several for one the last takes effect last.

    Those of a lower rank come before those of a higher one, and those of one round before those of the next.
    """
    beyond: tuple[int, ...] = _first_beyond(items, indices)
    if items.size == 1:
        _check(beyond, indices, False)
        _apply(items, stored, indices.local, stored.values)
        return
    for n in range(indices.n_rounds):
        given = stored.values[n * WINDOW_ITEMS:(n + 1) * WINDOW_ITEMS] if stored.are_many else stored.values
        wanted = _Sorted(items, indices.of_round(n)[:0 if beyond[0] else None])
        brought, beyond = yield from route(link, items.rank, items.size, wanted.records(items), beyond)
        _check(beyond, indices, False)
        yield from _store_round(link, items, wanted, given, brought, stored)


def _store_round(link: Link, items: Items, wanted: _Sorted, given: NDArray[Any], brought: NDArray[np.int64],
                 stored: Stored) -> Generator[None]:
    arriving: list[tuple[int, NDArray[Any], NDArray[Any]]] = []
    for _, peer, n in brought.tolist():
        theirs = np.empty(n, items.index_dtype), np.empty(n, given.dtype) if stored.are_many else given
        arriving.append((peer, *theirs))
        for array in theirs[:1 + stored.are_many]:
            link.receive(array, peer)
    for owner, part in wanted.parts:
        values = _packed(given, wanted.positions[part]) if stored.are_many else given
        for peer in (owner + copy for copy in items.copies):
            if peer == items.rank:
                arriving.append((peer, wanted.wanted[part], values))
                continue
            link.send(wanted.wanted[part], peer)
            if stored.are_many:
                link.send(values, peer)
    yield
    for _, places, values in sorted(arriving, key=lambda entry: entry[0]):
        _apply(items, stored, places, values)


def _packed(values: NDArray[Any], positions: NDArray[np.uint32]) -> NDArray[Any]:
    found = np.empty(positions.size, values.dtype)
    bindings.pack_items(positions.size, values.itemsize, *map(bindings.address, (found, values, positions)))
    return found


def _apply(items: Items, stored: Stored, places: NDArray[Any], values: NDArray[Any]) -> None:
    """Bring values to items of this process, in their order."""
    memory = stored.memory
    if stored.ufunc is None:
        items.places.put(places, items.nbytes, bindings.address(memory), memory.nbytes, bindings.address(values),
                         items.nbytes if stored.are_many else 0)
        return
    offsets = np.empty(places.size, np.int64)
    items.places.locate(places, memory.itemsize, offsets)
    with np.errstate(all="ignore"):
        counted_call(stored.ufunc.at, memory, offsets, *([values] if stored.ufunc.nin > 1 else []))  # not done twice
