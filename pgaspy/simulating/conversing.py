"""Conversations, whose messages follow from what arrays hold: as if the items were spread evenly.

First it becomes known who has what for whom, by messages to those that are 1, 2, 4, ... ranks further, as `routing`
brings it. Then in each round each process sends as much as any other to each of so many, at even distances.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from pgaspy.planning.trees import flood_targets
from pgaspy.scheduling.conversations import Conversation
from pgaspy.scheduling.routing import SHORT
from pgaspy.simulating.graphs import Graph, Work

__all__ = ["rounds_of", "with_rounds"]

Round = Sequence[tuple[int, int]]
"""How many ranks further messages go, and their bytes; as many come from as far before."""


def rounds_of(node: Conversation, rank: int, size: int, spread: int, nbytes_of: Callable[[int], int]) -> list[Round]:
    """The rounds of messages of a conversation in which a process has items for `spread` processes, itself included."""
    found: list[Round] = [[((peer - rank) % size, 8 * SHORT)] for peer in flood_targets(rank, size)]
    n = min(spread, size)
    for memories in node.carries:
        nbytes = sum(map(nbytes_of, memories)) // n
        found.append([(k * size // n, nbytes) for k in range(1, n) if nbytes])
    return [messages for messages in found if messages]


def with_rounds(graph: Graph, rounds: Mapping[int, Sequence[Round]], rank: int, size: int, seconds: float) -> Graph:
    """A graph in which some nodes come after rounds of messages, between which the process takes `seconds`.

    What a node has waited for, the first round waits for.
    """
    nodes, n_waits = [*graph.nodes], [*graph.n_waits]
    successors = [node.successors for node in nodes]
    begins, by_age = dict[int, int](), list[int]()
    for number in graph.by_age:
        if number in rounds:
            begins[number] = len(nodes)
            for waiting, node in _nodes(graph.nodes[number], rounds[number], rank, size, seconds):
                by_age.append(len(nodes))
                for before in waiting:
                    successors[before + begins[number]] += len(nodes),
                nodes.append(node)
                successors.append(())
                n_waits.append(len(waiting))
            n_waits[begins[number]], n_waits[number] = n_waits[number], 1
            successors[-1] += number,
        by_age.append(number)
    for k, own in enumerate(successors):
        nodes[k] = nodes[k]._replace(
            successors=tuple(begins.get(later, later) if k < len(graph.nodes) else later for later in own))
    return Graph(tuple(nodes), tuple(n_waits), tuple(by_age), graph.last_joined, graph.n_uses, graph.named, begins,
                 graph.rounds)


def _nodes(node: Work, rounds: Sequence[Round], rank: int, size: int,
           seconds: float) -> Iterator[tuple[Sequence[int], Work]]:
    """The nodes of rounds, each with the numbers of those among them that it waits for."""
    common: dict[str, Any] = {"position": node.position, "due": node.due, "is_urgent": node.is_urgent}
    yield (), Work(node.name, seconds, **common)
    n, last = 1, 0
    for messages in rounds:
        for distance, nbytes in messages:
            for is_receive in (False, True):
                peer = (rank - distance if is_receive else rank + distance) % size
                yield (last,), Work(node.name, peer=peer, nbytes=nbytes, tag=node.tag, is_receive=is_receive, **common)
        yield range(last + 1, n + 2 * len(messages)), Work(node.name, seconds, **common)
        last = n + 2 * len(messages)
        n = last + 1
