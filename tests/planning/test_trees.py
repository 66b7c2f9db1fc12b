"""Trees of messages: everybody is reached once, in the order that keeps the packets and the ranks."""

from __future__ import annotations

import itertools

import pytest

from pgaspy.planning import trees
from pgaspy.planning.trees import PACKET_BYTES, broadcast_neighbours, packets_of, reduction_neighbours

SIZES = range(1, 20)


@pytest.mark.parametrize("nbytes", [0, 8, PACKET_BYTES, PACKET_BYTES + 1])
@pytest.mark.parametrize("n", SIZES)
def test_broadcasts_reach_everybody_once(n: int, nbytes: int) -> None:
    for root in range(n):
        neighbours = [broadcast_neighbours(p, n, root, nbytes) for p in range(n)]
        assert [p for p, (parent, _) in enumerate(neighbours) if parent is None] == [root]
        reached, steps = [root], {root: 0}
        for p in reached:
            for k, child in enumerate(neighbours[p][1]):
                assert neighbours[child][0] == p
                steps[child] = steps[p] + k + 1
                reached.append(child)
        assert sorted(reached) == list(range(n))
        if nbytes <= PACKET_BYTES:
            assert max(steps.values()) <= (n - 1).bit_length()
        else:
            assert all(len(children) <= 1 for _, children in neighbours)


@pytest.mark.parametrize("n", SIZES)
def test_reductions_keep_the_order(n: int) -> None:
    neighbours = [reduction_neighbours(p, n) for p in range(n)]
    assert [p for p, (_, target) in enumerate(neighbours) if target is None] == [0]

    def joined(p: int) -> list[int]:
        sources, _ = neighbours[p]
        found = [p]
        for source in sources:
            assert neighbours[source][1] == p
            found += joined(source)
        return found

    assert sorted(joined(0)) == list(range(n))
    for p in range(n):
        found = joined(p)
        assert sorted(found) == list(range(p, p + len(found))), "neighbouring ranks are joined"


@pytest.mark.parametrize("n", SIZES)
def test_reductions_join_lower_to_higher(n: int) -> None:
    """What comes first is joined first: each source continues the interval that is there."""
    for p in range(n):
        stop = p + 1
        for source in reduction_neighbours(p, n)[0]:
            assert source == stop
            stop = source + extent(source, n)


def extent(p: int, n: int) -> int:
    return 1 + sum(extent(source, n) for source in reduction_neighbours(p, n)[0])


@pytest.mark.parametrize(("nbytes", "n", "limit", "expected"), [
    (0, 4, 100, [(0, 0)]),
    (100, 2, 30, [(0, 30), (30, 60), (60, 90), (90, 100)]),
    (PACKET_BYTES, 4, 1 << 30, [(0, PACKET_BYTES)]),
    (PACKET_BYTES + 1, 2, 1 << 30, [(0, PACKET_BYTES + 1)]),
    (PACKET_BYTES + 1, 3, 1 << 30, [(0, PACKET_BYTES), (PACKET_BYTES, PACKET_BYTES + 1)]),
])
def test_segments(nbytes: int, n: int, limit: int, expected: list[tuple[int, int]]) -> None:
    assert packets_of(nbytes, n, limit) == expected


@pytest.mark.parametrize("nbytes", [1, 10**6, 10**8, (1 << 33) + 5])
@pytest.mark.parametrize("n", [2, 3, 1000])
def test_segments_cover_everything_in_order(nbytes: int, n: int) -> None:
    limit = 1 << 30
    found = packets_of(nbytes, n, limit)
    assert found[0][0] == 0
    assert found[-1][1] == nbytes
    assert all(a[1] == b[0] for a, b in itertools.pairwise(found))
    assert all(0 < stop - start <= limit for start, stop in found)
    assert len(found) <= max(trees.MAX_PACKETS, -(-nbytes // limit))
