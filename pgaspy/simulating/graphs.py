"""What is played: graphs of computations and messages, and the steps of a process that begins them and waits. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

__all__ = ["Begin", "Graph", "Mark", "Pass", "Step", "Wait", "Work", "graph"]


class Work(NamedTuple):
    """A node: a computation, or a message.

    Attributes
    ----------
    name
        What people call it.
    seconds, n_parts
        Of a computation; and the parts in which it is done while messages are under way.
    peer, nbytes, tag, is_receive
        Of a message; no other has a peer. The tag is counted from the number of its operation.
    position, due
        Of its operation in the graph; and of the first operation that may wait for it.
    is_urgent
        Whether it is taken before others that are ready.
    nbytes_ahead, taken
        Bytes of a memory that it fills before they are needed, and which memory that is.
    uses
        The memories that are free again when all nodes that use them are done.
    successors
        The numbers of those that wait for it.
    """

    name: str = ""
    seconds: float = 0.0
    n_parts: int = 1
    peer: int = -1
    nbytes: int = 0
    tag: int = 0
    is_receive: bool = False
    position: int = 0
    due: int = 0
    is_urgent: bool = False
    nbytes_ahead: int = 0
    taken: int = -1
    uses: tuple[int, ...] = ()
    successors: tuple[int, ...] = ()

    @property
    def is_communication(self) -> bool:
        """Whether it is a message."""
        return self.peer >= 0


@dataclass(frozen=True, eq=False)
class Graph:
    """Nodes, and which of them wait for which.

    Attributes
    ----------
    nodes, n_waits
        Each, and for how many others it waits.
    by_age
        Their numbers, sorted by the operations that they are due with.
    last_joined
        Per operation, the last one that shares a kernel with it.
    n_uses
        Per memory, the nodes that use it.
    named
        The memories that live on.
    begins
        Of nodes that others of the graph prepare, the first of these: what earlier runs keep waiting waits there.
    rounds
        Of nodes that were measured again and again, the seconds in each round.
    """

    nodes: tuple[Work, ...]
    n_waits: tuple[int, ...]
    by_age: tuple[int, ...]
    last_joined: tuple[int, ...] = (0,)
    n_uses: tuple[int, ...] = ()
    named: frozenset[int] = frozenset()
    begins: Mapping[int, int] = field(default_factory=dict)
    rounds: Mapping[int, Sequence[float]] = field(default_factory=dict)


def graph(nodes: Sequence[Work], edges: Sequence[tuple[int, int]] = ()) -> Graph:
    """The graph of nodes of one operation, of which the second of each edge waits for the first."""
    uses = [memory for node in nodes for memory in node.uses]
    return Graph(tuple(node._replace(successors=tuple(b for a, b in edges if a == k)) for k, node in enumerate(nodes)),
                 tuple(sum(b == k for _, b in edges) for k in range(len(nodes))), tuple(range(len(nodes))),
                 n_uses=tuple(map(uses.count, range(max(uses, default=-1) + 1))))


@dataclass(frozen=True, eq=False)
class Begin:
    """A graph is handed to the engine.

    Attributes
    ----------
    numbers
        Per operation, its number, from which tags are counted.
    slots
        The memory that an array has here.
    seconds
        Of nodes that take another time than in the graph.
    origin
        What the graph was made of.
    """

    graph: Graph
    numbers: Sequence[int] = (0,)
    slots: Mapping[int, int] = field(default_factory=dict)
    seconds: Mapping[int, float] = field(default_factory=dict)
    origin: Any = None


class Wait(NamedTuple):
    """The process returns when nothing is left that uses an array; without one, when all is done.

    With `but_last`, the run that came last only gets under way. With `idle_seconds`, it goes on after having nothing to
    do for so long.
    """

    array: int | None = None
    but_last: bool = False
    idle_seconds: float | None = None


class Pass(NamedTuple):
    """The program itself takes this long."""

    name: str
    seconds: float


class Mark(NamedTuple):
    """A phase of the program ends here."""


Step = Begin | Wait | Pass | Mark
