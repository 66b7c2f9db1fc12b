"""Short vectors, of which one process has each element: it sends it to all who need it. Nobody waits for an answer."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from pgaspy.dims import BlockDim, Dim
from pgaspy.planning.boxes import view_box
from pgaspy.planning.local_parts import indices_within, local_part
from pgaspy.planning.view import View
from pgaspy.scheduling.at_once import elements
from pgaspy.scheduling.builder import Builder
from pgaspy.scheduling.messages import MAX_STAMPED_BYTES, receive, send
from pgaspy.scheduling.nodes import FunctionCall, Memories, bytes_of

__all__ = ["MAX_BYTES", "MAX_PROCESSES", "Piece", "are_short", "hand_round", "is_in_intervals",
           "part_of"]

MAX_PROCESSES = 4
"""Each may send a message to each other one."""

MAX_BYTES = 1 << 14
"""Of all vectors together: more takes longer to send than to find out who needs what, or to wait for an answer."""


def are_short(vectors: Sequence[View], itemsize: int) -> bool:
    """Whether vectors are short, and one process has each element, and each process an interval of them."""
    n_elements = sum([view.size for view in vectors])
    return (1 < vectors[0].layout.n_procs <= MAX_PROCESSES and 0 < n_elements * itemsize <= MAX_BYTES
            and all(map(_is_dealt_out_once, vectors)))


def _is_dealt_out_once(view: View) -> bool:
    dim = view.base_dims[0]
    return dim is not None and not view.layout.replica_axes and is_in_intervals(view.layout.dims[dim])


def is_in_intervals(dim: Dim) -> bool:
    """Whether each process has an interval of a dimension, whatever its extent."""
    return isinstance(dim, BlockDim) or dim.n_procs == 1


def part_of(view: View, rank: int) -> tuple[int, int]:
    """The first index and the number of the elements of such a vector that a process has."""
    part = local_part(view, rank)
    if part is not None:
        return part.first[0], part.shape[0]
    layout = view.layout  # of an array that is dealt out in turn along another dimension, say
    coords = layout.coords_from_rank(rank)
    if not view.holds(coords):
        return 0, 0
    p, = view.base_dims
    assert p is not None
    owned = layout.dims[p].owned_interval(layout.dim_coord(p, coords))
    assert owned is not None  # of a block dimension, and of one that is not dealt out
    first, stop = indices_within(*owned, view.origin[p], view.steps[0], view.size)
    return first, stop - first


class Piece(NamedTuple):
    """Elements [start, stop) of a vector, in a buffer."""

    buffer: int
    start: int
    stop: int


def hand_round(builder: Builder, view: View, slot: int, dtype: np.dtype[Any], needs: Sequence[tuple[int, int]],
               rank: int, tag: int) -> list[Piece]:
    """Have each process get what it needs of a vector, of which it says the first index and the number of elements; the
    pieces in which that comes here.
    """
    parts = [part_of(view, peer) for peer in range(len(needs))]

    def piece(source: int, target: int) -> Piece | None:
        (first, n), (first_needed, n_needed) = parts[source], needs[target]
        start, stop = max(first, first_needed), min(first + n, first_needed + n_needed)
        return Piece(builder.buffer((stop - start) * dtype.itemsize), start, stop) if start < stop else None

    peers = [peer for peer in range(len(needs)) if peer != rank]
    told = {peer: found for peer in (*peers, rank) if (found := piece(rank, peer)) is not None}
    heard = {peer: found for peer in peers if (found := piece(peer, rank)) is not None}

    def pack(memories: Memories) -> None:
        here, (first, _) = elements(view, memories[slot], rank), parts[rank]
        for buffer, start, stop in told.values():
            bytes_of(memories, buffer).view(dtype)[:] = here[start - first:stop - first]

    if told:
        builder.add(FunctionCall(pack, "pack"), [(slot, view_box(view, rank) if builder.has_boxes else None)],
                    [(found.buffer, None) for found in told.values()])
    for peer, (buffer, start, stop) in told.items():
        if peer != rank:
            nbytes = (stop - start) * dtype.itemsize
            send(builder, (buffer, 0), None, nbytes, peer, tag, nbytes <= MAX_STAMPED_BYTES)
    for peer, (buffer, start, stop) in heard.items():
        nbytes = (stop - start) * dtype.itemsize
        receive(builder, (buffer, 0), None, nbytes, peer, tag, is_stamped=nbytes <= MAX_STAMPED_BYTES)
    return [*([told[rank]] if rank in told else []), *heard.values()]
