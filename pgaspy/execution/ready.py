"""Which nodes wait for nothing any more, in heaps from which they are taken in their order. Pure."""

from __future__ import annotations

import heapq
from collections.abc import Sequence
from typing import Any, Generic, Protocol, TypeVar

__all__ = ["ReadyNodes"]


class Waiting(Protocol):
    """A run, as far as it matters here: with its place among all runs, and for how many others each node waits."""

    index: int
    n_waits: list[int]

    @property
    def nodes(self) -> Sequence[Any]:
        """In the order of their numbers."""


R = TypeVar("R", bound=Waiting)


class ReadyNodes(Generic[R]):
    """Heaps of ready nodes of runs: messages, what takes memory ahead, and other computations.

    Messages come in the order in which they were recorded, and what takes memory ahead in that of the operations; of
    computations, those that are urgent come first.
    """

    def __init__(self) -> None:
        self._messages: list[tuple[int, int, R]] = []
        self._takers: list[tuple[int, int, int, R]] = []
        self._computations: list[tuple[bool, int, int, R]] = []

    def _release(self, run: R, waiting: Sequence[int]) -> None:
        """Let nodes wait for one node less."""
        n_waits = run.n_waits
        for number in waiting:
            left = n_waits[number] = n_waits[number] - 1
            if not left:
                self._make_ready(run, number)

    def _make_ready(self, run: R, number: int) -> None:
        node = run.nodes[number]
        if node.nbytes_ahead:
            heapq.heappush(self._takers, (run.index, node.position, number, run))
        elif node.is_communication:
            heapq.heappush(self._messages, (run.index, number, run))
        else:
            heapq.heappush(self._computations, (not node.is_urgent, run.index, number, run))
