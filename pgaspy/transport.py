"""The transport: executes a transfer's plan with MPI. It decides nothing.

Receives are posted first; one contiguous buffer per peer is packed and sent (or sent straight from storage, where the
section is contiguous); the local part is copied meanwhile; messages are unpacked as they arrive. A message longer than
`MAX_MESSAGE_BYTES` travels in several.
"""

from __future__ import annotations

import functools
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
from mpi4py import MPI
from numpy.typing import NDArray

from pgaspy import kernels, memory
from pgaspy.base import Base
from pgaspy.kernels import OTHER, OWN, PACKED, SectionCopy
from pgaspy.layout import Layout
from pgaspy.plan import Broadcast, Message, TransferPlan, fixed_offset, plan_transfer, strides_from_shape
from pgaspy.plan_reshape import plan_reshape
from pgaspy.procgrid import World, world
from pgaspy.view import View

__all__ = ["Fetch", "Side", "Transfer", "completed", "prepare_reshape", "prepare_transfer", "reduce_partials",
           "release", "storage_bytes", "view_side"]

MAX_MESSAGE_BYTES = 1 << 30
"""Below MPI's limit of 2**31 elements, and so of bytes."""

MAX_GATHERED_PARTIALS = 32
"""Up to so many processes, small partial results are gathered by all and combined by each: one latency, not two."""

Bytes = memory.Bytes


class Side(NamedTuple):
    """One side of a transfer in a process's storage: where its sections begin, and their strides, in bytes."""

    itemsize: int
    offset: int
    strides: tuple[int, ...]


def view_side(view: View, itemsize: int, rank: int) -> Side:
    """The side of a view."""
    storage = strides_from_shape(view.layout.local_shape(rank), itemsize)
    return Side(itemsize, fixed_offset(view, storage), tuple(0 if p is None else storage[p] for p in view.base_dims))


class _Packing:
    """Moves the section of one message between storage and a contiguous buffer."""

    __slots__ = ("_copy", "_offset", "nbytes")

    def __init__(self, message: Message, side: Side, which: int, to_buffer: bool) -> None:
        packed = strides_from_shape(message.shape, side.itemsize)
        self.nbytes = message.size * side.itemsize
        self._offset = side.offset
        self._copy = (SectionCopy(side.itemsize, message.runs, packed, PACKED, side.strides, which) if to_buffer else
                      SectionCopy(side.itemsize, message.runs, side.strides, which, packed, PACKED))

    def pack(self, storage: int, buffer: int) -> None:
        self._copy.call(buffer, storage + self._offset)

    def unpack(self, buffer: int, storage: int) -> None:
        self._copy.call(storage + self._offset, buffer)


class Fetch:
    """The messages of a plan, without what becomes of them: `start` sends and posts, buffers take what arrives.

    `wire` is the dtype in which elements travel: the source's, or the destination's where that is smaller.
    """

    def __init__(self, plan: TransferPlan, side: Side, src_dtype: np.dtype[Any], wire: np.dtype[Any],
                 in_place: bool) -> None:
        self._cast = None if wire == src_dtype else (src_dtype, wire)
        self.receive_nbytes = [m.size * wire.itemsize for m in plan.receives]
        self.receive_owners = [n for n, nbytes in enumerate(self.receive_nbytes)
                               for _ in range(max(-(-nbytes // MAX_MESSAGE_BYTES), 1))]
        self._receive_peers = [m.peer for m in plan.receives]
        self._sends: list[tuple[int, tuple[int, int] | _Packing]] = []
        for m in plan.sends:
            if m.offset is not None and in_place and self._cast is None:
                start = m.offset * side.itemsize
                self._sends.append((m.peer, (start, start + m.size * side.itemsize)))
            else:
                self._sends.append((m.peer, _Packing(m, side, OWN, to_buffer=True)))

    def start(self, src: Base, comm: MPI.Intracomm, tag: int,
              targets: Sequence[Bytes]) -> tuple[list[MPI.Request], list[MPI.Request], list[Bytes]]:
        """Post the receives into `targets`, pack and send; (receive requests, send requests, send buffers).

        The receive requests are in the order of the messages, one per part of a long one (`receive_owners`).
        """
        receives = [comm.Irecv(part, peer, tag)
                    for peer, target in zip(self._receive_peers, targets, strict=True)
                    for part in (_parts(target) if len(target) > MAX_MESSAGE_BYTES else (target,))]
        sends: list[MPI.Request] = []
        buffers: list[Bytes] = []
        for peer, what in self._sends:
            if isinstance(what, tuple):
                buffer = storage_bytes(src)[what[0] : what[1]]
            else:
                buffer = self._packed(what, src)
                buffers.append(buffer)
            for part in _parts(buffer) if len(buffer) > MAX_MESSAGE_BYTES else (buffer,):
                sends.append(comm.Isend(part, peer, tag))
        return receives, sends, buffers

    def collect(self, src: Base) -> list[Bytes]:
        """Send, and receive into new buffers, which are returned in the order of the messages, complete."""
        job = world()
        targets = [memory.allocate(nbytes)[:nbytes] for nbytes in self.receive_nbytes]
        receives, sends, buffers = self.start(src, job.communicator, job.tag, targets)
        MPI.Request.Waitall(receives)
        MPI.Request.Waitall(sends)
        release(buffers)
        return targets

    def _packed(self, packing: _Packing, src: Base) -> Bytes:
        buffer = memory.allocate(packing.nbytes)[: packing.nbytes]
        packing.pack(src.address, kernels.address(buffer))
        return buffer if self._cast is None else recast(buffer, *self._cast)


class Transfer:
    """A plan with its two sides and dtypes on this process, with all that can be prepared.

    `grid` is that of the destination, for a plan with broadcasts.
    """

    def __init__(self, plan: TransferPlan, side: Side, src_side: Side, dst_dtype: np.dtype[Any],
                 src_dtype: np.dtype[Any], overlaps: bool, rank: int, grid: tuple[int, ...] = ()) -> None:
        self.plan = plan
        wire = dst_dtype if dst_dtype.itemsize < src_dtype.itemsize else src_dtype
        self._wire, self._dst_dtype = wire, dst_dtype
        self._fetch = Fetch(plan, src_side, src_dtype, wire, in_place=not overlaps)
        self._cast_received = wire != dst_dtype
        self._unpack = [_Packing(m, side, OWN, to_buffer=False) for m in plan.receives if not plan.axes]
        self._receive_at = [None if m.offset is None or overlaps or self._cast_received or plan.axes
                            else m.offset * dst_dtype.itemsize for m in plan.receives]
        self._local = _LocalCopy(plan.local, side, src_side, dst_dtype, src_dtype, overlaps) if plan.local else None
        self._broadcast = None
        if plan.axes:
            self._broadcast = _Broadcasts(grid, plan, side, src_side, dst_dtype, src_dtype, wire, rank)

    def run(self, dst: Base, src: Base) -> None:
        """Collective, in so far as the plans of the processes are."""
        job = world()
        tag = job.tag
        if self._broadcast is not None:
            self._broadcast.run(dst, src, self._fetch, job, tag)
            return
        local = self._local
        if self.plan.is_local:
            if local is not None:
                local.finish(dst, local.start(dst, src))
            return
        targets = self._receive_targets(dst)
        receives, sends, buffers = self._fetch.start(src, job.communicator, tag, targets)
        held = local.start(dst, src) if local is not None else None
        for n in completed(receives, self._fetch.receive_owners):
            if self._receive_at[n] is None:
                self._unpack_message(n, targets[n], dst)
        if local is not None:
            local.finish(dst, held)
        MPI.Request.Waitall(sends)
        release(buffers)
        release([t for t, at in zip(targets, self._receive_at, strict=True) if at is None])

    def _receive_targets(self, dst: Base) -> list[Bytes]:
        targets = []
        for at, nbytes in zip(self._receive_at, self._fetch.receive_nbytes, strict=True):
            if at is None:
                targets.append(memory.allocate(nbytes)[:nbytes])
            else:
                targets.append(storage_bytes(dst)[at : at + nbytes])
        return targets

    def _unpack_message(self, n: int, received: Bytes, dst: Base) -> None:
        if not self._cast_received:
            self._unpack[n].unpack(kernels.address(received), dst.address)
            return
        converted = cast_bytes(received, self._wire, self._dst_dtype)
        self._unpack[n].unpack(kernels.address(converted), dst.address)
        release([converted])


class _LocalCopy:
    """The part of a transfer that stays on this process; through a buffer where it overlaps itself, or is cast."""

    def __init__(self, message: Message, dst: Side, src: Side, dst_dtype: np.dtype[Any], src_dtype: np.dtype[Any],
                 overlaps: bool) -> None:
        self._cast = None if dst_dtype == src_dtype else (src_dtype, dst_dtype)
        self._offsets = dst.offset, src.offset
        self._direct = None
        if not overlaps and self._cast is None:
            self._direct = SectionCopy(dst.itemsize, message.runs, dst.strides, OWN, src.strides, OTHER)
        else:
            self._pack = _Packing(message, src, OTHER, to_buffer=True)
            self._unpack = _Packing(message, dst, OWN, to_buffer=False)

    def start(self, dst: Base, src: Base) -> Bytes | None:
        """Copy; or only read the source, into the buffer that is returned."""
        if self._direct is not None:
            self._direct.call(dst.address + self._offsets[0], src.address + self._offsets[1])
            return None
        buffer = memory.allocate(self._pack.nbytes)[: self._pack.nbytes]
        self._pack.pack(src.address, kernels.address(buffer))
        return buffer if self._cast is None else recast(buffer, *self._cast)

    def finish(self, dst: Base, held: Bytes | None) -> None:
        if held is not None:
            self._unpack.unpack(kernels.address(held), dst.address)
            release([held])


class _Broadcasts:
    """The second half of a transfer to replicas: the roots gather their pieces and hand them to their group."""

    def __init__(self, grid: tuple[int, ...], plan: TransferPlan, side: Side, src_side: Side, dst_dtype: np.dtype[Any],
                 src_dtype: np.dtype[Any], wire: np.dtype[Any], rank: int) -> None:
        self._dtypes = src_dtype, wire, dst_dtype
        self._grid, self._axes = grid, plan.axes
        self._broadcasts = plan.broadcasts
        self._nbytes = [b.size * wire.itemsize for b in plan.broadcasts]
        self._unpack = [_Packing(piece, side, OWN, to_buffer=False) for b in plan.broadcasts for piece in b.pieces]
        self._own_piece = {piece.peer: _Packing(piece, src_side, OTHER, to_buffer=True)
                           for b in plan.broadcasts for piece in b.pieces if piece.peer == rank}
        self._rank = rank
        self._in_place_at = self._whole_piece_offset(plan.broadcasts, wire == dst_dtype, dst_dtype.itemsize)

    @staticmethod
    def _whole_piece_offset(broadcasts: Sequence[Broadcast], same_dtype: bool, itemsize: int) -> int | None:
        """Where in storage a single contiguous piece goes, which then needs no buffer."""
        if same_dtype and len(broadcasts) == 1 and len(broadcasts[0].pieces) == 1:
            offset = broadcasts[0].pieces[0].offset
            return None if offset is None else offset * itemsize
        return None

    def run(self, dst: Base, src: Base, fetch: Fetch, job: World, tag: int) -> None:
        _, wire, _ = self._dtypes
        comm = job.communicator
        group = job.grid(self._grid).comm(self._axes)
        total = sum(self._nbytes)
        at = self._in_place_at
        stage = storage_bytes(dst)[at : at + total] if at is not None else memory.allocate(total)[:total]
        targets, own_slot = self._slots(stage, wire.itemsize, group.rank)
        receives, sends, buffers = fetch.start(src, comm, tag, targets)
        if own_slot is not None:
            self._pack_own(src, own_slot)
        MPI.Request.Waitall(receives)
        if self._broadcasts:
            self._hand_out(group, stage)
            if at is None:
                self._unpack_all(dst, stage)
        MPI.Request.Waitall(sends)
        release(buffers)
        del targets, own_slot
        if at is None:
            release([stage])

    def _slots(self, stage: Bytes, itemsize: int, own_root: int) -> tuple[list[Bytes], Bytes | None]:
        """The places in the stage for what this process receives as a root, and for its own piece."""
        targets, own, start = [], None, 0
        for broadcast in self._broadcasts:
            for piece in broadcast.pieces:
                slot = stage[start : start + piece.size * itemsize]
                start += len(slot)
                if broadcast.root == own_root:
                    if piece.peer == self._rank:
                        own = slot
                    else:
                        targets.append(slot)
        return targets, own

    def _pack_own(self, src: Base, slot: Bytes) -> None:
        packing = self._own_piece[self._rank]
        src_dtype, wire, _ = self._dtypes
        if wire == src_dtype:
            packing.pack(src.address, kernels.address(slot))
            return
        buffer = memory.allocate(packing.nbytes)[: packing.nbytes]
        packing.pack(src.address, kernels.address(buffer))
        converted = recast(buffer, src_dtype, wire)
        slot[:] = converted
        release([converted])

    def _hand_out(self, group: MPI.Intracomm, stage: Bytes) -> None:
        if len(self._broadcasts) > 1 and len(stage) <= MAX_MESSAGE_BYTES:
            counts = [0] * group.size
            for broadcast, nbytes in zip(self._broadcasts, self._nbytes, strict=True):
                counts[broadcast.root] = nbytes
            group.Allgatherv(MPI.IN_PLACE, [stage, counts, MPI.BYTE])
            return
        start = 0
        for broadcast, nbytes in zip(self._broadcasts, self._nbytes, strict=True):
            for part in _parts(stage[start : start + nbytes]):
                group.Bcast(part, broadcast.root)
            start += nbytes

    def _unpack_all(self, dst: Base, stage: Bytes) -> None:
        _, wire, dst_dtype = self._dtypes
        if wire != dst_dtype:
            stage = cast_bytes(stage, wire, dst_dtype)
        address = kernels.address(stage)
        for packing in self._unpack:
            packing.unpack(address, dst.address)
            address += packing.nbytes


@functools.lru_cache(maxsize=8192)
def prepare_transfer(dst: View, src: View, dst_dtype: np.dtype[Any], src_dtype: np.dtype[Any], overlaps: bool,
                     rank: int) -> Transfer:
    """The prepared transfer of a pair of views, made once and found again."""
    return Transfer(plan_transfer(dst, src, rank), view_side(dst, dst_dtype.itemsize, rank),
                    view_side(src, src_dtype.itemsize, rank), dst_dtype, src_dtype, overlaps, rank, dst.layout.grid)


@functools.lru_cache(maxsize=1024)
def prepare_reshape(dst: Layout, src: Layout, dtype: np.dtype[Any], rank: int) -> Transfer:
    """The prepared transfer of all elements in row-major order, made once and found again."""
    flat = Side(dtype.itemsize, 0, (dtype.itemsize,))
    return Transfer(plan_reshape(dst, src, rank), flat, flat, dtype, dtype, False, rank)


def completed(receives: list[MPI.Request], owners: Sequence[int]) -> Iterator[int]:
    """The messages in the order in which they are complete, all their parts received."""
    if len(owners) == 1:
        receives[0].Wait()
        yield 0
        return
    missing = Counter(owners)
    while done := MPI.Request.Waitsome(receives):
        for k in done:
            n = owners[k]
            missing[n] -= 1
            if not missing[n]:
                yield n


def storage_bytes(base: Base) -> Bytes:
    """The local part of a base as bytes."""
    local = base.local
    return np.ndarray((local.nbytes,), np.uint8, local)


def cast_bytes(data: Bytes, dtype: np.dtype[Any], wanted: np.dtype[Any]) -> Bytes:
    """Elements of one dtype as those of another, as assignment casts them."""
    source = data.view(dtype)
    target = memory.allocate(source.size * wanted.itemsize)[: source.size * wanted.itemsize]
    row = kernels.lookup("copy", f"{dtype.char}->{wanted.char}")
    if row is None:
        np.copyto(target.view(wanted), source, casting="unsafe")
    else:
        kernels.ElementwiseCall(row, [source.size], [[dtype.itemsize], [wanted.itemsize]]).call(
            kernels.address(data), kernels.address(target))
    return target


def recast(buffer: Bytes, dtype: np.dtype[Any], wanted: np.dtype[Any]) -> Bytes:
    """As `cast_bytes`, of a buffer that is then given back: the caller's name for it is the last."""
    converted = cast_bytes(buffer, dtype, wanted)
    release([buffer])
    return converted


def release(buffers: Sequence[Bytes]) -> None:
    """Give transport buffers (slices of allocated blocks) back."""
    for buffer in buffers:  # a slice and the name `block` refer to the block
        block = buffer.base
        if isinstance(block, np.ndarray):
            memory.give_back(block, 2)


def _parts(buffer: Bytes) -> list[Bytes]:
    return [buffer[start : start + MAX_MESSAGE_BYTES] for start in range(0, max(len(buffer), 1), MAX_MESSAGE_BYTES)]


def reduce_partials(partial: NDArray[Any], combine: Callable[[NDArray[Any], NDArray[Any]], NDArray[Any]],
                    group: MPI.Intracomm) -> NDArray[Any]:
    """The partial results of the processes of a group, combined in the order of their ranks. Collective over it.

    `combine(lower, higher)` joins two flat arrays of partial results. Every process gets the same bits.
    """
    if group.size <= MAX_GATHERED_PARTIALS and partial.nbytes * group.size <= memory.REUSED_FROM_BYTES:
        gathered = np.empty((group.size, partial.size), partial.dtype)
        group.Allgather(np.ascontiguousarray(partial).reshape(-1).view(np.uint8), gathered.view(np.uint8))
        return functools.reduce(combine, gathered).reshape(partial.shape)
    return _reduce_by_tree(partial, combine, group)


def _reduce_by_tree(partial: NDArray[Any], combine: Callable[[NDArray[Any], NDArray[Any]], NDArray[Any]],
                    group: MPI.Intracomm) -> NDArray[Any]:
    """Combine by MPI's own tree, which keeps the order of an operation that does not commute."""
    dtype = partial.dtype

    def join(lower: Any, higher: Any, _: MPI.Datatype) -> None:
        target = np.frombuffer(higher, dtype)
        target[...] = combine(np.frombuffer(lower, dtype), target)

    element = MPI.BYTE.Create_contiguous(dtype.itemsize).Commit()
    operation = MPI.Op.Create(join, commute=False)
    result = np.ascontiguousarray(partial)
    n_elements = max(MAX_MESSAGE_BYTES // dtype.itemsize, 1)
    flat = result.reshape(-1)
    try:
        for start in range(0, flat.size, n_elements):
            part = flat[start : start + n_elements].view(np.uint8)
            group.Reduce(MPI.IN_PLACE if group.rank == 0 else [part, part.size // dtype.itemsize, element],
                        [part, part.size // dtype.itemsize, element] if group.rank == 0 else None, operation)
            group.Bcast(part, 0)
    finally:
        operation.Free()
        element.Free()
    return result.reshape(partial.shape)
