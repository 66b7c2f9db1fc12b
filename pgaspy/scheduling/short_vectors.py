"""Short vectors, which come to all processes: each sends what it has to each other one. Nobody waits for an answer."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

import numpy as np
from numpy.typing import NDArray

from pgaspy.dims import BlockDim
from pgaspy.planning.local_parts import indices_within
from pgaspy.planning.view import View
from pgaspy.scheduling.builder import Access, Builder
from pgaspy.scheduling.messages import MAX_STAMPED_BYTES, receive, send
from pgaspy.scheduling.nodes import FunctionCall, Memories, bytes_of

__all__ = ["MAX_BYTES", "MAX_PROCESSES", "may_come_to_all", "part_of", "tell_all"]

MAX_PROCESSES = 4
"""Each sends a message to each other one."""

MAX_BYTES = 1 << 14
"""Of all vectors together: more takes longer to send than to find out who needs what, or to wait for an answer."""


def may_come_to_all(vectors: Sequence[View], itemsize: int) -> bool:
    """Whether vectors are short, and one process has each element, and each process an interval of them."""
    n_elements = sum([view.size for view in vectors])
    return (1 < vectors[0].layout.n_procs <= MAX_PROCESSES and 0 < n_elements * itemsize <= MAX_BYTES
            and all(map(_is_dealt_out_once, vectors)))


def _is_dealt_out_once(view: View) -> bool:
    dim = view.base_dims[0]
    return dim is not None and not view.layout.replica_axes and (
        isinstance(view.layout.dims[dim], BlockDim) or view.layout.dims[dim].n_procs == 1)


def part_of(view: View, rank: int) -> tuple[int, int]:
    """The first index and the number of the elements of such a vector that a process has."""
    layout = view.layout
    coords = layout.coords_from_rank(rank)
    if not view.holds(coords):
        return 0, 0
    p, = view.base_dims
    assert p is not None
    owned = layout.dims[p].owned_interval(layout.dim_coord(p, coords))
    assert owned is not None  # of a block dimension, and of one that is not dealt out
    first, stop = indices_within(*owned, view.origin[p], view.steps[0], view.size)
    return first, stop - first


def tell_all(builder: Builder, sizes: Sequence[int], own: Callable[[Memories], NDArray[np.generic]],
             reads: Iterable[Access], rank: int, tag: int) -> dict[int, int]:
    """Have each process tell the others so many bytes, which it packs if there are any; the buffers, by process."""
    buffers = {peer: builder.buffer(nbytes) for peer, nbytes in enumerate(sizes) if nbytes}

    def pack(memories: Memories) -> None:
        found = own(memories)
        bytes_of(memories, buffers[rank]).view(found.dtype)[:] = found

    if rank in buffers:
        builder.add(FunctionCall(pack, "pack"), reads, [(buffers[rank], None)])
        for peer in range(len(sizes)):
            if peer != rank:
                send(builder, (buffers[rank], 0), None, sizes[rank], peer, tag, sizes[rank] <= MAX_STAMPED_BYTES)
    for peer, buffer in buffers.items():
        if peer != rank:
            receive(builder, (buffer, 0), None, sizes[peer], peer, tag, is_stamped=sizes[peer] <= MAX_STAMPED_BYTES)
    return buffers
