"""Exchanges: the items that an array of indices names are read, or written to, on whichever process they are."""

from __future__ import annotations

import math
from collections.abc import Callable, Generator
from dataclasses import dataclass
from typing import Any

import numpy as np

from pgaspy.caches import cached
from pgaspy.kernels.bindings import ItemPlaces
from pgaspy.layout import Layout
from pgaspy.planning.boxes import view_box
from pgaspy.planning.owners import places_of, replica_distances, run_size
from pgaspy.planning.view import View, whole
from pgaspy.scheduling.builder import Builder
from pgaspy.scheduling.conversations import Conversation, Link
from pgaspy.scheduling.exchanges import Indices, Items, Stored, fetch, store
from pgaspy.scheduling.nodes import Memories
from pgaspy.scheduling.operations import NumberedOperation, Recipe

__all__ = ["Gather", "Scatter", "gather", "scatter"]


class _Exchange(Recipe):
    """What reading and writing have in common.

    All processes take part, also where nobody can see the results, as others may need what they have.
    """

    is_called = True
    section: View
    index: Layout
    dtype: np.dtype[Any]
    index_dims: tuple[tuple[int, int], ...]

    def _items(self, rank: int, is_written: bool) -> Items:
        section, itemsize = self.section, self.dtype.itemsize
        n_dims = section.ndim - self._n_run_dims
        found = places_of(section, n_dims, rank, is_written)
        dims = [place._replace(local_start=place.local_start * itemsize, local_step=place.local_step * itemsize)
                for place in found.dims]
        run = run_size(section.layout, self._n_run_dims, rank)
        places = ItemPlaces(dims, found.first_rank, found.first_offset * itemsize)
        copies = replica_distances(section.layout) if is_written else (0,)
        return Items(places, math.prod(section.shape[:n_dims]), run * itemsize, copies, rank,
                     section.layout.n_procs, section.layout.n_procs == 1 or section.layout.is_replicated,
                     (section, n_dims, copies))

    @property
    def _n_run_dims(self) -> int:
        raise NotImplementedError

    def _indices(self, memories: Memories, slot: int) -> Indices:
        return Indices(memories[slot].local.reshape(-1), self.index.max_local_size, self.index_dims)

    def details(self, text: Callable[[Any], str]) -> str:
        """See `Recipe`."""
        return "messages follow from the indices"


@dataclass(eq=False)
class Gather(_Exchange):
    """The items of a section that an array of indices names, in the order of these; each may have dimensions.

    Indices count the items in row-major order. They lie as the result's first dimensions do. `index_dims` are
    the dimensions that they may be beyond, as `Indices` has them.
    """

    target: Layout
    section: View
    index: Layout
    dtype: np.dtype[Any]
    index_dims: tuple[tuple[int, int], ...]
    name = "gather"

    def __post_init__(self) -> None:
        self.views = whole(self.target), self.section, whole(self.index)

    @property
    def _n_run_dims(self) -> int:
        return self.target.ndim - self.index.ndim

    def add_nodes(self, builder: Builder, operation: NumberedOperation, rank: int) -> None:
        """See `Recipe`."""
        target, source, index = operation.slots
        items = self._items(rank, False)

        def steps(memories: Memories, link: Link) -> Generator[None]:
            return fetch(link, items, self._indices(memories, index), memories[source].address,
                         memories[target].address)

        node = Conversation(steps, self.name, items.size, carries=[[index], [target]])
        node.overwrites = (target,)
        builder.add(node, [(source, view_box(self.section, rank)), (index, None)], [(target, None)])


gather = cached(Gather)


@dataclass(eq=False)
class Scatter(_Exchange):
    """Values are brought to the items of a section that an array of indices names: of several for one, in their order.

    That of the indices is that of the ranks, and of each process's blocks. There is a value for each index, or one for
    all, which is replicated; each has `n_run_dims` dimensions, the last ones of the section. `ufunc` combines an
    element with each value that is for it; None is assignment; `index_dims` are as for `Gather`.
    """

    section: View
    index: Layout
    values: Layout
    n_run_dims: int
    dtype: np.dtype[Any]
    values_dtype: np.dtype[Any]
    ufunc: np.ufunc | None
    index_dims: tuple[tuple[int, int], ...]
    name = "scatter"
    updates = True

    def __post_init__(self) -> None:
        self.views = self.section, whole(self.index), whole(self.values)
        self.reads_outputs = self.ufunc is not None

    @property
    def _n_run_dims(self) -> int:
        return self.n_run_dims

    def add_nodes(self, builder: Builder, operation: NumberedOperation, rank: int) -> None:
        """See `Recipe`."""
        target, index, values = operation.slots
        items = self._items(rank, True)
        counts = self.ufunc is not None and items.size == 1

        def steps(memories: Memories, link: Link) -> Generator[None]:
            given = memories[values].local
            if self.n_run_dims:
                shape = given.shape[:given.ndim - self.n_run_dims]
                given = given.reshape(-1).view(np.dtype((np.void, items.nbytes))).reshape(shape) if (
                    items.nbytes) else np.empty(shape, np.dtype((np.void, 1)))
            return store(link, items, self._indices(memories, index),
                         Stored(given, memories[target].local.reshape(-1), self.ufunc))

        box = view_box(self.section, rank)
        reads = [(index, None), (values, None), *([(target, box)] if self.reads_outputs else [])]
        node = Conversation(steps, self.name, items.size, n_counted=int(counts), carries=[[index], [values]])
        builder.add(node, reads, [(target, box)])


scatter = cached(Scatter)
