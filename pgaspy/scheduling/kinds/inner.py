"""Inner products of short vectors that lie differently: all processes get all of both, and each computes the same.

Each sends what it has of both to each other one, in one message, or the product, if it has all. So nobody waits for an
answer, as one would for the sums of what comes to where the other vector lies.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from pgaspy.caches import cached, lazy
from pgaspy.planning.boxes import view_box
from pgaspy.planning.local_parts import lie_alike
from pgaspy.planning.view import View
from pgaspy.scheduling.at_once import MAX_ELEMENTS, elements
from pgaspy.scheduling.base import Storage
from pgaspy.scheduling.builder import Builder
from pgaspy.scheduling.floating_point import silenced
from pgaspy.scheduling.messages import MAX_STAMPED_BYTES, receive, send
from pgaspy.scheduling.nodes import FunctionCall, Memories, bytes_of
from pgaspy.scheduling.operations import Merged, NumberedOperation, Recipe
from pgaspy.scheduling.short_vectors import are_short, part_of

__all__ = ["Inner", "inner", "is_told_to_all"]


def is_told_to_all(a: View, b: View, dtype: np.dtype[Any]) -> bool:
    """Whether the product of two vectors is computed so: they are short, of real numbers, and lie differently.

    What is complex is multiplied by other instructions on other processors, and all have to get the same bits.
    """
    return dtype.kind in "biuf" and are_short((a, b), dtype.itemsize) and not lie_alike(a, b)


class _Share(NamedTuple):
    """What a process has of each vector: the first index, and how many."""

    a_first: int
    n_a: int
    b_first: int
    n_b: int


@dataclass(eq=False)
class Inner(Recipe):
    """The sum of the products of two vectors' elements, which every process gets."""

    target: View
    a: View
    b: View
    dtype: np.dtype[Any]
    name = "inner"

    def __post_init__(self) -> None:
        self.views = self.target, self.a, self.b

    @property
    def form(self) -> tuple[Any, ...]:
        """See `Recipe`."""
        return self.name, self.dtype

    def is_done_at_once(self, rank: int, limit: int = MAX_ELEMENTS) -> bool:
        """See `Recipe`."""
        return True

    def merged(self, rank: int) -> Merged | None:
        """See `Recipe`."""
        return Merged((1, 2), (self.target.layout.n_procs,), (0,))

    @lazy
    def _shares(self) -> list[_Share]:
        """Those of all processes."""
        return [_Share(*part_of(self.a, rank), *part_of(self.b, rank)) for rank in range(self.a.layout.n_procs)]

    def _has_all(self, rank: int) -> bool:
        """Whether a process has all elements of both."""
        share = self._shares[rank]
        return share.n_a == share.n_b == self.a.size

    @lazy
    def _sizes(self) -> list[int]:
        """How many numbers each process tells the others."""
        return [1 if self._has_all(rank) else share.n_a + share.n_b for rank, share in enumerate(self._shares)]

    def add_nodes(self, builder: Builder, operation: NumberedOperation, rank: int) -> None:
        """See `Recipe`."""
        out, *slots = operation.slots
        sizes = [n * self.dtype.itemsize for n in self._sizes]
        buffers = {peer: builder.buffer(nbytes) for peer, nbytes in enumerate(sizes) if nbytes}

        def pack(memories: Memories) -> None:
            bytes_of(memories, buffers[rank]).view(self.dtype)[:] = self._told([memories[k] for k in slots], rank)

        def store(memories: Memories) -> None:
            told = {peer: bytes_of(memories, buffer).view(self.dtype) for peer, buffer in buffers.items()}
            memories[out].local[...] = self._product(told)

        if rank in buffers:
            reads = [(slot, view_box(view, rank) if builder.has_boxes else None)
                     for slot, view in zip(slots, self.views[1:], strict=True)]
            builder.add(FunctionCall(pack, "pack"), reads, [(buffers[rank], None)])
            for peer in range(len(sizes)):
                if peer != rank:
                    send(builder, (buffers[rank], 0), None, sizes[rank], peer, 0, sizes[rank] <= MAX_STAMPED_BYTES)
        for peer, buffer in buffers.items():
            if peer != rank:
                receive(builder, (buffer, 0), None, sizes[peer], peer, 0, is_stamped=sizes[peer] <= MAX_STAMPED_BYTES)
        if operation.is_wanted:
            builder.add(FunctionCall(store, self.name), [(number, None) for number in buffers.values()], [(out, None)])

    def _told(self, storages: Sequence[Storage], rank: int) -> NDArray[Any]:
        """What a process tells the others: its elements of one vector, and of the other; if it has all, the product."""
        parts = [elements(view, storage, rank).astype(self.dtype, copy=False)
                 for view, storage, n in zip(self.views[1:], storages, self._shares[rank][1::2], strict=True) if n]
        return self._sum(*parts) if self._has_all(rank) else np.concatenate(parts)

    def _product(self, told: dict[int, NDArray[Any]]) -> NDArray[Any]:
        """The product, of what has been told, in one order on all processes."""
        if len(told) == 1:
            found, = told.values()
            return found[0]
        a, b = np.empty((2, self.a.size), self.dtype)
        for rank, packed in told.items():
            a_first, n_a, b_first, n_b = self._shares[rank]
            a[a_first:a_first + n_a], b[b_first:b_first + n_b] = packed[:n_a], packed[n_a:]
        return self._sum(a, b)

    @silenced
    def _sum(self, a: NDArray[Any], b: NDArray[Any]) -> NDArray[Any]:
        """That of the products of elements."""
        return np.asarray(np.add.reduce(np.multiply(a, b), dtype=self.dtype))


inner = cached(Inner)
