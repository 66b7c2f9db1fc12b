"""Exchanges: items go to, or come from, where arrays of indices say, as steps of conversations.

Each process sorts its indices by the processes that have the items, tells these how many it has for them, and sends
them: so many as there is a window for in one round. Items that this process has are not sent. Where many ask one
process, it is asked in turns, so that it has a window's requests at a time as well. A process with many more indices
than there are items asks for each item once.

What was worked out for the indices of a round, and what others have asked for, is remembered (as PETSc's SF and
VecScatter are). Each process compares its indices with those that it remembers, so that it does not matter how these
are written to, or whose they are; and if all of them have found those of one exchange, only items are sent.
"""

from __future__ import annotations

import copy
import dataclasses
from collections.abc import Generator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pgaspy.kernels import bindings
from pgaspy.planning.owners import in_order
from pgaspy.scheduling.backend import backend
from pgaspy.scheduling.conversations import Link, Refusal
from pgaspy.scheduling.flat_indices import first_beyond, index_beyond, named
from pgaspy.scheduling.floating_point import noting
from pgaspy.scheduling.nodes import counted_call
from pgaspy.scheduling.routing import route

__all__ = ["WINDOW_ITEMS", "Indices", "Items", "fetch", "store"]

WINDOW_ITEMS = 1 << 23
"""So many items a process asks for, or brings, in one round; twice as many it is asked for, or is brought."""


N_REPEATED = 2
"""A process that has so many indices for each item, on average, asks for each item once."""


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
    key
        Of what follows from indices: alike for all who read and write the same items, if that tells them apart.
    """

    places: bindings.ItemPlaces
    n: int
    nbytes: int
    copies: tuple[int, ...]
    rank: int
    size: int
    is_here: bool
    key: tuple[Any, ...]

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
    n_most
        So many any process has at most.
    dims
        Per dimension that an index may be beyond, the axis and the extent that an error names; where they are several,
        indices are `FLAT_INDEX`'s. There are none if all indices are right.
    """

    local: NDArray[np.int64]
    n_most: int
    dims: tuple[tuple[int, int], ...]

    @property
    def n_rounds(self) -> int:
        """As many as any process needs, with a window of items in each."""
        return -(-self.n_most // WINDOW_ITEMS)

    def may_crowd(self, size: int) -> bool:
        """Whether a process may be asked for more in a round than it has room for, as all may ask the same one."""
        return min(self.n_most, WINDOW_ITEMS) * size > 2 * WINDOW_ITEMS

    def of_round(self, n: int) -> NDArray[np.int64]:
        """Those of round n."""
        return self.local[n * WINDOW_ITEMS:(n + 1) * WINDOW_ITEMS]


class _Plan:
    """What follows from the indices of one round.

    Attributes
    ----------
    positions, wanted
        Of the indices, sorted by the processes that have the items; and these themselves.
    parts
        The processes, each with its part of what is sorted.
    requests
        The processes that ask for items of this one, each with these.
    number
        That of the exchange in which they asked; before it, -1.
    """

    def __init__(self, items: Items, indices: NDArray[np.int64]) -> None:
        counts = np.empty(items.size, np.int64)
        self.positions = np.empty(indices.size, np.uint32)
        self.wanted = np.empty(indices.size, items.index_dtype)
        items.places.bucket(indices, counts, self.positions, self.wanted)
        owners = np.flatnonzero(counts)
        stops = np.cumsum(counts[owners])
        self.parts = [(owner, slice(stop - n, stop)) for owner, n, stop in zip(
            owners.tolist(), counts[owners].tolist(), stops.tolist(), strict=True)]
        self.requests: list[tuple[int, NDArray[Any]]] = []
        self.number = -1

    def records(self, items: Items) -> NDArray[np.int64]:
        """Whom this process asks for how many."""
        rows = [(owner + distance, items.rank, part.stop - part.start)
                for owner, part in self.parts for distance in items.copies if owner + distance != items.rank]
        return np.array(rows, np.int64).reshape(len(rows), 3)

    def ask(self, link: Link, items: Items, asked: list[tuple[int, int]]) -> None:
        """Start to tell others which items are wanted, and to be told: so many by each of some peers."""
        self.requests = [(peer, np.empty(n, items.index_dtype)) for peer, n in asked]
        for peer, request in self.requests:
            link.receive(request, peer)
        for owner, part in self.parts:
            for peer in (owner + distance for distance in items.copies):
                if peer != items.rank:
                    link.send(self.wanted[part], peer)

    @property
    def nbytes(self) -> int:
        """What it takes."""
        return self.positions.nbytes + self.wanted.nbytes + sum(request.nbytes for _, request in self.requests)


def _remembered(link: Link, items: Items, indices: Indices) -> list[_Plan | None]:
    """The plans of all rounds, as far as they are remembered."""
    def of_round(n: int) -> _Plan | None:
        own = indices.of_round(n)
        found: _Plan | None = link.remembered.find(
            (items.key, n), lambda plan: items.places.is_sorted(own, plan.positions, plan.wanted))
        return found

    return [of_round(n) for n in range(indices.n_rounds)]


@dataclass(frozen=True)
class _Turns:
    """Who asks when, where one process may be asked for too much: what it is asked for is in the order of the ranks.

    Attributes
    ----------
    n
        How many turns there are, with a window of it in each.
    asked
        The ranks that ask this process, for how many, and where those are in the order.
    befores
        For each process that is asked, where what this one wants is in its order.
    """

    n: int
    asked: list[tuple[int, int, int]]
    befores: dict[int, int]

    def take(self, link: Link, items: Items, plan: _Plan, turn: int) -> _Plan:
        """What is left of a plan in one turn, which has begun to ask."""
        first, stop = turn * WINDOW_ITEMS, (turn + 1) * WINDOW_ITEMS

        def within(before: int, n: int) -> tuple[int, int]:
            return min(max(first - before, 0), n), min(max(stop - before, 0), n)

        part_of = copy.copy(plan)
        part_of.parts = []
        for owner, part in plan.parts:
            begin, end = within(self.befores[owner], part.stop - part.start)
            if begin < end:
                part_of.parts.append((owner, slice(part.start + begin, part.start + end)))
        shares = [(peer, *within(before, n)) for peer, n, before in self.asked if peer != items.rank]
        part_of.ask(link, items, [(peer, end - begin) for peer, begin, end in shares if begin < end])
        return part_of


def _in_turns(link: Link, items: Items, plan: _Plan, asked: list[tuple[int, int]]) -> Generator[None, None, _Turns]:
    """Find who asks when. What a process wants of its own items has its place, too."""
    own = [(items.rank, part.stop - part.start) for owner, part in plan.parts
           if items.rank in (owner + distance for distance in items.copies)]
    order, before = [], 0
    for peer, n in sorted(asked + own):
        order.append((peer, n, before))
        before += n
    own_rows = [(peer, items.rank, at) for peer, _, at in order]
    rows = np.array([row for row in own_rows if row[0] != items.rank], np.int64).reshape(-1, 3)
    found, ((n_turns,),) = yield from route(link, items.rank, items.size, rows, [(-(-before // WINDOW_ITEMS),)])
    return _Turns(n_turns, order, {peer: at for to, peer, at in [*found.tolist(), *own_rows] if to == items.rank})


def _plan(link: Link, items: Items, indices: Indices, n: int, known: _Plan | None, beyond: tuple[int, ...],
          poisons: bool) -> Generator[None, None, tuple[_Plan, _Turns | None]]:
    """The plan of round n, and in which turns to ask; None where it is one that all processes remember."""
    plan = known or _Plan(items, indices.of_round(n)[:0 if beyond[0] else None])
    asked, (beyond, (latest,), (earliest,)) = yield from route(
        link, items.rank, items.size, plan.records(items), [beyond, (plan.number,), (-plan.number,)])
    _check(beyond, indices, poisons)
    if latest == -earliest >= 0:
        return plan, None
    link.remembered.forget(known)
    plan = copy.copy(plan)  # others may be at work with what is remembered
    plan.number = link.number
    pairs = [(peer, n) for _, peer, n in asked.tolist()]
    if indices.may_crowd(items.size):
        return plan, (yield from _in_turns(link, items, plan, pairs))
    return plan, _Turns(1, [(peer, n, 0) for peer, n in pairs], dict.fromkeys([owner for owner, _ in plan.parts], 0))


RIGHT = (0, 0, 0)
"""What is told of indices none of which is beyond the items."""


def _first_beyond(items: Items, indices: Indices) -> tuple[int, int, int]:
    """The first index that is beyond the items, to be compared with that of other processes."""
    return _told(items, indices, bindings.find_beyond(indices.local, items.n) if indices.dims else None)


def _told(items: Items, indices: Indices, place: int | None) -> tuple[int, int, int]:
    """What is told of the first index beyond the items, which is at a place; None, if there is none."""
    if place is None:
        return RIGHT
    if len(indices.dims) == 1:
        return 1, -items.rank, int(indices.local[place])
    number = first_beyond(indices.local)
    return 1 + index_beyond(number)[1], -items.rank, number


def _check(first: tuple[int, ...], indices: Indices, poisons: bool) -> None:
    """Refuse what any process has found."""
    n_dims = len(indices.dims)
    if first[0] and n_dims:
        what, n_after = str(first[2]), 0
        if n_dims > 1:
            index, n_after = index_beyond(first[2])
            what = named(index)
        axis, extent = indices.dims[n_dims - 1 - n_after]
        raise Refusal(IndexError(f"index {what} is out of bounds for axis {axis} with size {extent}"), poisons)


def fetch(link: Link, items: Items, indices: Indices, memory: int, out: int) -> Generator[None]:
    """The items that indices name, one after the other, from the memory of those that have them."""
    if items.is_here:
        beyond: tuple[int, ...] = _told(items, indices, items.places.take_checked(
            indices.local, items.nbytes, memory, out))
        if indices.dims:
            _, (beyond,) = yield from route(link, items.rank, items.size, np.empty((0, 3), np.int64), [beyond])
        _check(beyond, indices, True)
        return
    if indices.local.size < N_REPEATED * items.n or not items.n:
        yield from _fetch_each(link, items, indices, None, memory, out)
        return
    whole = _buffer(items.n * items.nbytes)
    once = dataclasses.replace(indices, local=np.arange(items.n))
    yield from _fetch_each(link, items, once, _first_beyond(items, indices), memory, bindings.address(whole))
    bindings.ItemPlaces([in_order(items.n, items.nbytes)], 0, 0).take(
        indices.local, items.nbytes, bindings.address(whole), out)


def _fetch_each(link: Link, items: Items, indices: Indices, beyond: tuple[int, ...] | None, memory: int,
                out: int) -> Generator[None]:
    """The items that indices name; `beyond` is the first that is beyond them, if that is known."""
    remembered = _remembered(link, items, indices)
    if beyond is None:
        beyond = RIGHT if all(remembered) else _first_beyond(items, indices)
    for n, known in enumerate(remembered):
        plan, turns = yield from _plan(link, items, indices, n, known, beyond, True)
        to = out + n * WINDOW_ITEMS * items.nbytes
        if turns is None:
            yield from _fetch_round(link, items, plan, memory, to)
            continue
        for turn in range(turns.n):
            asking = turns.take(link, items, plan, turn)
            yield
            if turns.n == 1:
                link.remembered.keep((items.key, n), asking, asking.nbytes)
            yield from _fetch_round(link, items, asking, memory, to)


def _fetch_round(link: Link, items: Items, plan: _Plan, memory: int, out: int) -> Generator[None]:
    nbytes, positions = items.nbytes, bindings.address(plan.positions)
    arriving = []
    for owner, part in plan.parts:
        if owner != items.rank:
            values = _buffer((part.stop - part.start) * nbytes)
            link.receive(values, owner)
            arriving.append((part, values))
    for peer, request in plan.requests:
        values = _buffer(request.size * nbytes)
        items.places.take(request, nbytes, memory, bindings.address(values))
        link.send(values, peer)
    for owner, part in plan.parts:
        if owner == items.rank:
            items.places.take(plan.wanted[part], nbytes, memory, out, positions + 4 * part.start)
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
    if items.size == 1:
        _check(_first_beyond(items, indices), indices, False)
        _apply(items, stored, indices.local, stored.values)
        return
    remembered = _remembered(link, items, indices)
    beyond = RIGHT if all(remembered) else _first_beyond(items, indices)
    for n, known in enumerate(remembered):
        given = stored.values[n * WINDOW_ITEMS:(n + 1) * WINDOW_ITEMS] if stored.are_many else stored.values
        plan, turns = yield from _plan(link, items, indices, n, known, beyond, False)
        if turns is None:
            yield from _store_round(link, items, plan, given, stored)
            continue
        for turn in range(turns.n):
            asking = turns.take(link, items, plan, turn)
            yield from _store_round(link, items, asking, given, stored)
            if turns.n == 1:
                link.remembered.keep((items.key, n), asking, asking.nbytes)


def _store_round(link: Link, items: Items, plan: _Plan, given: NDArray[Any], stored: Stored) -> Generator[None]:
    arriving: list[tuple[int, NDArray[Any], NDArray[Any], NDArray[np.uint32] | None]] = []
    for peer, request in plan.requests:
        values = given
        if stored.are_many:
            values = np.empty(request.size, given.dtype)
            link.receive(values, peer)
        arriving.append((peer, request, values, None))
    for owner, part in plan.parts:
        peers = [owner + distance for distance in items.copies]
        if items.rank in peers:
            arriving.append((items.rank, plan.wanted[part], given, plan.positions[part]))
        others = [peer for peer in peers if peer != items.rank] if stored.are_many else []
        values = _packed(given, plan.positions[part]) if others else given
        for peer in others:
            link.send(values, peer)
    yield
    for _, places, values, positions in sorted(arriving, key=lambda entry: entry[0]):
        _apply(items, stored, places, values, positions)


def _packed(values: NDArray[Any], positions: NDArray[np.uint32]) -> NDArray[Any]:
    found = np.empty(positions.size, values.dtype)
    addresses = [bindings.address(x) for x in (found, values, positions)]  # `map` would end where a handler stops it
    bindings.pack_items(positions.size, values.itemsize, *addresses)
    return found


def _apply(items: Items, stored: Stored, places: NDArray[Any], values: NDArray[Any],
           positions: NDArray[np.uint32] | None = None) -> None:
    """Bring values to items of this process, in the order of these: those at some positions, or one after the other."""
    memory, step = stored.memory, items.nbytes if stored.are_many else 0
    if stored.ufunc is None:
        at = 0 if positions is None or not step else bindings.address(positions)
        items.places.put(places, items.nbytes, bindings.address(memory), bindings.address(values), step, at)
        return
    if positions is not None and step:
        values = _packed(values, positions)
    offsets = np.empty(places.size, np.int64)
    items.places.locate(places, memory.itemsize, offsets)
    noting(stored.ufunc.__name__, counted_call, stored.ufunc.at, memory, offsets,
           *([_as_computed(stored.ufunc, memory, values)] if stored.ufunc.nin > 1 else []))  # not done twice


def _as_computed(ufunc: np.ufunc, memory: NDArray[Any], values: NDArray[Any]) -> NDArray[Any]:
    """Values in the dtype that the ufunc computes with, where this alone would keep NumPy from its fast loop."""
    if values.dtype == memory.dtype:
        return values
    ours, dtype, found = ufunc.resolve_dtypes((memory.dtype, values.dtype, None))
    return values.astype(dtype, copy=False) if ours == found == memory.dtype else values
