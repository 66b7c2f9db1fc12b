"""Nodes that wait for others, and what is dropped with the last that uses it."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from pgaspy.execution.ready import ReadyNodes


def node(**attributes: Any) -> Any:
    """A node, of which most attributes do not matter."""
    return SimpleNamespace(**{"uses": (), "successors": (), "nbytes_ahead": 0, "is_communication": False,
                              "is_urgent": False, "position": 0, **attributes})


def run(nodes: list[Any], n_waits: list[int], index: int = 0, n_uses: list[int] | None = None) -> Any:
    """A run of nodes, in which each memory is its own number."""
    n_uses = n_uses or []
    return SimpleNamespace(index=index, nodes=nodes, n_waits=n_waits, is_done=bytearray(len(nodes)), later={}, held={},
                           memories=list(range(len(n_uses))), n_uses=n_uses, n_left=len(nodes))


def test_nodes_get_ready_in_the_heap_that_they_belong_to() -> None:
    ready: ReadyNodes[Any] = ReadyNodes()
    own = run([node(), node(nbytes_ahead=8, position=3), node(is_communication=True), node(is_urgent=True), node()],
              [0, 0, 0, 0, 1], index=7)
    ready._make_all_ready(own)
    assert ready._messages == [(7, 2, own)]
    assert ready._takers == [(7, 3, 1, own)]
    assert ready._computations == [(False, 7, 3, own), (True, 7, 0, own)]


def test_what_is_urgent_comes_first_and_then_what_is_older() -> None:
    ready: ReadyNodes[Any] = ReadyNodes()
    older, later = run([node(), node()], [0, 0], 1), run([node(is_urgent=True)], [0], 2)
    for number, of_run in (1, older), (0, later), (0, older):
        ready._make_ready(of_run, number)
    assert sorted(ready._computations) == [(False, 2, 0, later), (True, 1, 0, older), (True, 1, 1, older)]
    assert ready._computations[0][3] is later


def test_successors_get_ready_with_the_last_that_they_wait_for() -> None:
    ready: ReadyNodes[Any] = ReadyNodes()
    own = run([node(successors=(2,)), node(successors=(2, 3)), node(), node()], [0, 0, 2, 1])
    assert ready._end(own, 1, own.nodes[1]) == 0
    assert (ready._computations, own.n_waits) == ([(True, 0, 3, own)], [0, 0, 1, 0])
    ready._end(own, 0, own.nodes[0])
    assert ready._computations == [(True, 0, 2, own), (True, 0, 3, own)]
    assert (own.is_done, own.n_left) == (bytearray([1, 1, 0, 0]), 2)


def test_memories_are_dropped_with_the_last_node_that_uses_them() -> None:
    ready: ReadyNodes[Any] = ReadyNodes()
    own = run([node(uses=(0, 2)), node(uses=(2,))], [0, 0], n_uses=[1, 1, 2])
    own.held = {0: 100, 2: 20}
    assert ready._end(own, 0, own.nodes[0]) == 100
    assert (own.memories, own.held) == ([None, 1, 2], {2: 20})
    assert ready._end(own, 1, own.nodes[1]) == 20
    assert (own.memories, own.held, own.n_uses) == ([None, 1, None], {}, [0, 1, 0])


def test_a_later_run_waits_for_what_is_not_done_of_an_earlier_one() -> None:
    ready: ReadyNodes[Any] = ReadyNodes()
    earlier, later = run([node(), node(), node()], [0, 0, 0], 0), run([node(), node(), node()], [0, 1, 0], 1)
    ready._end(earlier, 0, earlier.nodes[0])
    ready._follow(later, earlier, {0: (0,), 1: [0, 1], 2: (1,)})
    assert later.n_waits == [1, 3, 0]
    ready._make_all_ready(later)
    assert ready._computations == [(True, 1, 2, later)]
    ready._end(earlier, 1, earlier.nodes[1])
    assert ([entry[2] for entry in sorted(ready._computations)], later.n_waits) == ([0, 2], [0, 2, 0])
    ready._end(earlier, 2, earlier.nodes[2])
    assert (earlier.later, earlier.n_left, later.n_waits) == ({}, 0, [0, 1, 0])


def test_what_is_no_node_is_refused() -> None:
    ready: ReadyNodes[Any] = ReadyNodes()
    own = run([node(successors=(5,)), node(uses=(3,))], [0, 0])
    for number, of in (0, own.nodes[0]), (1, own.nodes[1]), (2, node()), (-1, node()):
        with pytest.raises(IndexError):
            ready._end(own, number, of)
    with pytest.raises(IndexError):
        ready._follow(own, own, {9: (0,)})
    with pytest.raises(TypeError):
        ready._make_all_ready(SimpleNamespace(n_waits=(0,)))
