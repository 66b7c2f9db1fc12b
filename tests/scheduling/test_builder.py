"""What nodes wait for, by what they read and write; and kernels that become part of those before them."""

from __future__ import annotations

import itertools
import random
from collections.abc import Sequence
from typing import Any

import pytest

from pgaspy.planning.boxes import overlap
from pgaspy.scheduling.builder import Access, Builder
from pgaspy.scheduling.nodes import Node
from tests.costs import n_calls_of

N_BASES = 2
ROWS = [((start, start + 2),) for start in range(0, 8, 2)]
"""Boxes that are disjoint."""

HALF, WHOLE = ((0, 4),), None


class Kernel(Node):
    """A kernel that may follow any other."""

    is_kernel = True

    def following(self, earlier: Node) -> Node:
        """See `Node`."""
        return Kernel()


def added(*accesses: tuple[Sequence[Access], Sequence[Access]], together: Sequence[Any] = ()) -> list[set[int]]:
    """What each of some nodes waits for, by itself: of each, what it reads and what it writes."""
    builder = Builder(N_BASES, 4)
    for (reads, writes), group in zip(accesses, [*together, *[None] * len(accesses)], strict=False):
        builder.add(Node(), reads, writes, together=group)
    return builder.dependencies


@pytest.mark.parametrize("box", [*ROWS, WHOLE])
@pytest.mark.parametrize(("first", "second", "waits"), [
    ("r", "r", set()), ("r", "w", {0}), ("w", "r", {0}), ("w", "w", {0})])
def test_accesses_conflict_where_one_writes(first: str, second: str, waits: set[int], box: Any) -> None:
    def access(kind: str) -> tuple[list[Access], list[Access]]:
        return ([(0, box)], []) if kind == "r" else ([], [(0, box)])

    assert added(access(first), access(second)) == [set(), waits]


def test_what_is_apart_does_not_conflict() -> None:
    assert added(([], [(0, ROWS[0])]), ([], [(0, ROWS[1])]), ([(0, ROWS[2])], [])) == [set()] * 3
    assert added(([], [(0, WHOLE)]), ([], [(1, WHOLE)])) == [set()] * 2


def test_what_overlaps_in_part_conflicts() -> None:
    assert added(([], [(0, HALF)]), ([(0, ROWS[1])], []), ([(0, ROWS[2])], [])) == [set(), {0}, set()]


def test_a_covered_write_is_not_waited_for_again() -> None:
    """Who waits for what has overwritten it waits for it in turn."""
    assert added(([], [(0, ROWS[0])]), ([], [(0, HALF)]), ([(0, ROWS[0])], [])) == [set(), {0}, {1}]
    assert added(([(0, ROWS[0])], []), ([], [(0, HALF)]), ([], [(0, WHOLE)])) == [set(), {0}, {1}]


def test_a_write_that_is_covered_in_part_is_waited_for() -> None:
    assert added(([], [(0, HALF)]), ([], [(0, ROWS[0])]), ([(0, HALF)], [])) == [set(), {0}, {0, 1}]


def test_what_is_done_together_does_not_conflict() -> None:
    """All of it waits for what came before, though one overwrites it; and what comes later waits for all of it."""
    group = object()
    accesses: list[tuple[list[Access], list[Access]]] = [([], [(0, WHOLE)]) for _ in range(4)]
    assert added(*accesses, ([(0, WHOLE)], []), together=[None, group, group, group]) == [
        set(), {0}, {0}, {0}, {1, 2, 3}]
    assert added(([(0, WHOLE)], []), *accesses[:2], together=[None, group, group]) == [set(), {0}, {0}]


def test_a_node_waits_for_what_it_is_told() -> None:
    builder = Builder(N_BASES, 4)
    builder.add(Node())
    builder.add(Node(), after=[0])
    assert builder.dependencies == [set(), {0}]


def test_first_and_last_accesses_are_those_of_other_schedules() -> None:
    builder = Builder(N_BASES, 4)
    for reads, writes in (([(0, ROWS[0])], []), ([], [(0, HALF)]), ([(0, ROWS[1])], []), ([(2, WHOLE)], [(3, WHOLE)])):
        builder.add(Node(), reads, writes)
    assert builder.first_accesses == {0: [(0, ROWS[0], False), (1, HALF, True)]}
    assert builder.last_accesses == {0: [(2, ROWS[1], False), (1, HALF, True)]}


def test_buffers_are_allocated_by_what_writes_them() -> None:
    builder = Builder(N_BASES, 4)
    buffer = builder.buffer(24)
    writer, reader = Node(), Node()
    builder.add(writer, [(0, WHOLE)], [(buffer, WHOLE)])
    builder.add(reader, [(buffer, WHOLE)], [(1, HALF)])
    assert (writer.uses, writer.allocates, writer.reads) == ((0, buffer), ((buffer, 24),), (0,))
    assert (reader.uses, reader.allocates, reader.writes) == ((buffer, 1), (), ((1, HALF),))


@pytest.mark.parametrize("seed", range(60))
def test_nodes_wait_for_all_that_they_conflict_with(seed: int) -> None:
    """By themselves, or because one waits that they wait for; and for nothing else."""
    rng = random.Random(seed)

    def box() -> Any:
        low, left = rng.randrange(12), rng.randrange(6)
        return rng.choice([None, *[((low, low + rng.choice((1, 3, 9))), (left, left + rng.choice((1, 6))))] * 7])

    accesses: list[tuple[list[Access], list[Access]]] = []
    groups: list[Any] = []
    while len(accesses) < 80:
        together = object() if rng.random() < 0.5 else None
        for _ in range(rng.randint(1, 3)):
            accesses.append(([(0, box()) for _ in range(rng.randint(0, 2))], [(0, box())] * rng.randint(0, 1)))
            groups.append(together)
    waits = added(*accesses, together=groups)
    before: list[set[int]] = []
    for number, found in enumerate(waits):
        before.append(found.union(*(before[other] for other in found)))
        for other in range(number):
            conflicts = (groups[number] is None or groups[number] is not groups[other]) and any(
                overlap(a, b) for (_, a), (_, b) in itertools.chain(
                    itertools.product(accesses[number][1], accesses[other][0] + accesses[other][1]),
                    itertools.product(accesses[number][0], accesses[other][1])))
            assert conflicts <= (other in before[number])
            assert conflicts >= (other in found)


SECTIONS = {
    "rows": lambda i, n: ((i, i + 1), (0, n)),
    "the same": lambda i, n: ((0, n), (0, n)),
    "smaller ones": lambda i, n: ((i, n), (i, n)),
    "triangles": lambda i, n: ((i, n), (0, i + 1)),
}


@pytest.mark.parametrize("section", SECTIONS.values(), ids=SECTIONS.keys())
def test_the_cost_of_an_access_does_not_grow_with_their_number(section: Any) -> None:
    costs = []
    for n in (64, 512):
        boxes = [section(i, n) for i in range(n)]
        _, n_calls = n_calls_of(lambda boxes=boxes: added(*(([(0, box)], [(0, box)]) for box in boxes)))  # type: ignore[misc]
        costs.append(n_calls / n)
    assert costs[1] < 1.3 * costs[0]


# Chains --------------------------------------------------------------------------------------------------------------


def chained(*nodes: tuple[Node, int, int, Sequence[Access], Sequence[Access]]) -> Builder:
    """Nodes of operations from one to another, with what they read and write."""
    builder = Builder(N_BASES, 4)
    for node, first, last, reads, writes in nodes:
        builder.position = builder.due = first
        builder.last = last
        builder.add(node, reads, writes)
    return builder


def test_a_kernel_follows_the_last_one_that_it_waits_for() -> None:
    builder = chained((Kernel(), 0, 0, [(0, WHOLE)], [(1, WHOLE)]), (Kernel(), 1, 1, [(1, WHOLE)], [(0, WHOLE)]))
    (chain,) = builder.nodes
    assert (chain.position, chain.due, chain.uses, chain.reads) == (0, 0, (0, 1), (0, 1))
    assert chain.writes == ((1, WHOLE), (0, WHOLE))
    assert builder.dependencies == [set()]


def test_a_kernel_follows_no_other_node() -> None:
    assert len(chained((Node(), 0, 0, [], [(1, WHOLE)]), (Kernel(), 1, 1, [(1, WHOLE)], [])).nodes) == 2


def test_a_chain_waits_for_nothing_that_was_recorded_later() -> None:
    """The second kernel waits for a node that operations 0 and 2 share, and may not take the first one along."""
    for last, n_nodes in ((0, 2), (2, 3)):
        builder = chained((Kernel(), 0, last, [], [(0, WHOLE)]), (Kernel(), 1, 1, [], [(1, WHOLE)]),
                          (Kernel(), 3, 3, [(0, WHOLE), (1, WHOLE)], [(2, WHOLE)]))
        assert len(builder.nodes) == n_nodes


def test_a_chain_is_not_made_longer_where_another_node_waits_for_it() -> None:
    """A message, say, which would then wait for more."""
    kernels = [(Kernel(), 0, 0, [], [(1, WHOLE)]), (Kernel(), 2, 2, [(1, WHOLE)], [(0, WHOLE)])]
    assert len(chained(kernels[0], (Node(), 1, 1, [(1, HALF)], []), kernels[1]).nodes) == 3
    assert len(chained(*kernels).nodes) == 1
