"""Which nodes wait for nothing any more, in C; see ready.c."""

from collections.abc import Sequence
from typing import Any, Generic, Protocol, TypeVar

class Waiting(Protocol):
    """A run, as far as it matters here.

    Attributes
    ----------
    index
        Its place among all runs.
    n_waits, is_done
        For how many others each node waits, and whether it is done.
    later
        Per node, those of later runs that wait for it, with these runs.
    memories, n_uses
        How many nodes are left that use each memory.
    held
        Bytes that were filled ahead, per memory.
    n_left
        The nodes that are left.
    """

    index: int
    n_waits: list[int]
    is_done: bytearray
    later: dict[int, list[tuple[Any, Sequence[int]]]]
    memories: list[Any]
    n_uses: list[int]
    held: dict[int, int]
    n_left: int

    @property
    def nodes(self) -> Sequence[Any]:
        """In the order of their numbers."""

R = TypeVar("R", bound=Waiting)

class ReadyNodes(Generic[R]):
    """Heaps of ready nodes of runs: messages, what takes memory ahead, and other computations.

    Messages come in the order in which they were recorded, and what takes memory ahead in that of the operations; of
    computations, those that are urgent come first.
    """

    _messages: list[tuple[int, int, R]]
    _takers: list[tuple[int, int, int, R]]
    _computations: list[tuple[bool, int, int, R]]

    def _follow(self, run: R, earlier: R, conflicts: dict[int, Sequence[int]], /) -> None:
        """Let nodes of a run wait for those of an earlier one that are not done: per node of that, which ones."""

    def _make_all_ready(self, run: R, /) -> None:
        """Let all nodes of a run get ready that wait for nothing."""

    def _make_ready(self, run: R, number: int, /) -> None:
        """Let a node get ready."""

    def _end(self, run: R, number: int, node: Any, /) -> int:
        """Mark a node as done, drop the memories that nothing uses after it, and let those get ready that waited for
        it; how many bytes were filled ahead of what is dropped.
        """
