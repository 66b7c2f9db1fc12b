"""Broadcasts and gathers among processes: their tags in simulated jobs, their values in this one."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import pgaspy as pg
from pgaspy.execution import recording
from pgaspy.layout import replicated
from pgaspy.planning.transfers import plan_transfer
from pgaspy.planning.view import whole
from pgaspy.scheduling import collectives, messages
from pgaspy.scheduling.builder import Builder
from pgaspy.scheduling.collectives import MAX_TREES
from pgaspy.scheduling.messages import view_side
from pgaspy.scheduling.nodes import Communication
from pgaspy.scheduling.operations import TAGS_PER_OPERAND
from pgaspy.scheduling.transfer_nodes import transfer
from tests.layouts import NAMES, layout_of
from tests.together import assert_equal

X = np.arange(300.0).reshape(20, 15)

WAYS = {"trees": (1000, 0), "doubling": (0, 1 << 18), "around": (0, 0)}
"""The values of MAX_TREES and MAX_DOUBLED_BYTES by which each of the algorithms is taken."""


def built(n: int, shape: tuple[int, ...], layout: pg.Distribution) -> list[Builder]:
    """What each process of a simulated job does to replicate an array."""
    source, target = whole(layout.bind(shape, n)), whole(replicated(shape, n))
    builders = []
    for rank in range(n):
        builder = Builder(2, 2)
        dtype = np.dtype("d")
        transfer(builder, plan_transfer(target, source, rank), view_side(builder, 0, target, dtype, rank),
                 view_side(builder, 1, source, dtype, rank), False, 0, rank, target.layout.grid)
        builders.append(builder)
    return builders


def messages_of(builders: list[Builder]) -> dict[tuple[int, int, int], tuple[list[int], list[int]]]:
    """By source, target and tag: the bytes of what is sent, and of what is received, in their orders."""
    found: dict[tuple[int, int, int], tuple[list[int], list[int]]] = defaultdict(lambda: ([], []))
    for rank, builder in enumerate(builders):
        for node in builder.nodes:
            if isinstance(node, Communication):
                ends = (node.peer, rank) if node.is_receive else (rank, node.peer)
                found[(*ends, node.tag)][node.is_receive].append(node.nbytes)
    return found


@pytest.mark.parametrize("n_elements", [3, 40, 100_000])
@pytest.mark.parametrize("n", [1, 2, 4, 5, 6, 7, 16, 23])
@pytest.mark.parametrize("layout", ["block", "cyclic(3)"])
def test_each_message_is_received_as_it_is_sent(n: int, n_elements: int, layout: str) -> None:
    """With few tags, whatever the size of the job; what has the same one comes in the same order on both sides."""
    builders = built(n, (n_elements,), pg.Distribution(layout))
    for (_, _, tag), (sent, received) in messages_of(builders).items():
        assert sent == received
        assert tag < TAGS_PER_OPERAND
    for builder in builders:
        last: dict[tuple[Any, ...], set[int]] = {}
        waits_for: list[set[int]] = []  # directly or not
        for node, waits in zip(builder.nodes, builder.dependencies, strict=True):
            waits_for.append({*waits}.union(*(waits_for[number] for number in waits)))
            if isinstance(node, Communication):
                key = node.is_receive, node.peer, node.tag
                assert waits_for[-1] >= last.get(key, set()), "one that comes later is not ready earlier"
                last[key] = waits_for[-1]


@pytest.mark.parametrize("n_elements", [100_000, 1_000_000])
def test_what_is_handed_around_waits_for_what_came_last(n_elements: int) -> None:
    """So that planning takes no longer per node in a larger job."""
    for builder in built(23, (n_elements,), pg.Distribution("block")):
        assert max(map(len, builder.dependencies)) < 4


def test_processes_that_gather_what_is_short_send_few_messages() -> None:
    n = 64
    for builder in built(n, (1000,), pg.Distribution("block")):
        assert sum(isinstance(node, Communication) for node in builder.nodes) == 2 * 6


@pytest.fixture(params=WAYS)
def _way(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    max_trees, max_doubled_bytes = WAYS[request.param]
    monkeypatch.setattr(collectives, "MAX_TREES", min(max_trees, MAX_TREES))
    monkeypatch.setattr(collectives, "MAX_DOUBLED_BYTES", max_doubled_bytes)
    pg.sync()
    recording.forget()
    yield
    pg.sync()
    recording.forget()


@pytest.mark.mpi
@pytest.mark.usefixtures("_way")
@pytest.mark.parametrize("is_short", [False, True])
@pytest.mark.parametrize("dtype", ["d", "B", "F"])
@pytest.mark.parametrize("name", NAMES)
def test_replicas_are_filled(name: str, dtype: str, is_short: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    if is_short:
        monkeypatch.setattr(messages, "MAX_MESSAGE_BYTES", 56)
        recording.forget()
    x = (X % 251).astype(dtype)
    a = pg.array(x, layout=layout_of(name, X.shape))
    for axis in range(len(a.layout.grid)):
        assert_equal(pg.replicate(a[2:18, 3:], axis), x[2:18, 3:])
    assert_equal(a[::-1, 2:].redistribute(replicated((20, 13), pg.SIZE)), x[::-1, 2:])
    wider = pg.empty(X.shape, "D", layout=replicated(X.shape, pg.SIZE))
    wider[...] = a
    assert_equal(wider, x.astype("D"))
