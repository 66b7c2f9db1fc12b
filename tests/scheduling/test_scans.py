"""Scans in simulated jobs: their messages, and their results on any number of ranks."""

from __future__ import annotations

import random
from collections import defaultdict
from typing import Any

import numpy as np
import pytest

import pgaspy as pg
from pgaspy.layout import Layout
from pgaspy.planning.view import whole
from pgaspy.scheduling.builder import Builder
from pgaspy.scheduling.kinds.scan import scan
from pgaspy.scheduling.nodes import Communication
from pgaspy.scheduling.operations import TAGS_PER_OPERAND, NumberedOperation
from tests.costs import n_calls_of
from tests.randomly import random_distributed_layout
from tests.simulated import Job

pytestmark = pytest.mark.skipif(pg.SIZE > 1, reason="plays all processes")

D = np.dtype("d")


def built(layout: Layout, rank: int, ufunc: np.ufunc = np.add, is_reversed: bool = False) -> Builder:
    """What a process of a simulated job does for a scan along the first dimension."""
    view = whole(layout)
    recipe = scan(view, view, 0, is_reversed, ufunc, ufunc is np.add, (D, D))
    builder = Builder(2, 2)
    recipe.add_nodes(builder, NumberedOperation(0, recipe, (0, 1), ()), rank)
    return builder


@pytest.mark.parametrize("is_reversed", [False, True])
@pytest.mark.parametrize("ufunc", [np.add, np.subtract])
@pytest.mark.parametrize("n", [1, 2, 3, 5, 8, 13])
@pytest.mark.parametrize("layout", ["block", "cyclic(3)", "few"])
def test_each_message_is_received_as_it_is_sent(layout: str, n: int, ufunc: np.ufunc, is_reversed: bool) -> None:
    sent: Any = defaultdict(list)
    received: Any = defaultdict(list)
    if ufunc is np.subtract and layout == "cyclic(3)":
        layout = "block"
    bound = (pg.Distribution("block").bind((4,), n) if layout == "few"
             else pg.Distribution(layout, "*").bind((100, 3), n))
    for rank in range(n):
        for node in built(bound, rank, ufunc, is_reversed).nodes:
            if isinstance(node, Communication):
                assert node.tag < TAGS_PER_OPERAND
                pair = (node.peer, rank) if node.is_receive else (rank, node.peer)
                (received if node.is_receive else sent)[pair].append((node.tag, node.nbytes, node.is_stamped))
    assert sent == received
    assert bool(sent) == (n > 1)


@pytest.mark.parametrize(("layout", "rank", "most"), [
    ("block", 0, 10), ("block", 511, 19), ("block", 512, 19), ("block", 1023, 10),
    ("cyclic(10)", 0, 11), ("cyclic(10)", 511, 29), ("cyclic(10)", 1023, 20)])
def test_messages_of_many_processes(layout: str, rank: int, most: int) -> None:
    """One for each power of two, in either direction, and those of a tree where there are several rounds."""
    builder = built(pg.Distribution(layout).bind((10**6,), 1024), rank)
    n_messages = sum(isinstance(node, Communication) for node in builder.nodes)
    assert 10 <= n_messages <= most


@pytest.mark.parametrize("layout", ["block", "cyclic(100)"])
def test_planning_is_cheap_in_a_large_job(layout: str) -> None:
    """No list of all processes is made."""
    bound = pg.Distribution(layout).bind((10**9,), 1 << 20)
    for rank in (0, 700_000, (1 << 20) - 1):
        _, n_calls = n_calls_of(lambda rank=rank: built(bound, rank))
        assert n_calls < 10_000


@pytest.mark.parametrize("seed", range(24))
def test_results_on_any_number_of_ranks(seed: int) -> None:
    rng = random.Random(seed)
    n = rng.choice((2, 3, 5, 6, 7, 9, 12, 16))
    shape = tuple(rng.choice((1, 4, 9, 30, 64)) for _ in range(rng.randint(1, 2)))
    x = np.array([rng.randint(-4, 4) for _ in range(int(np.prod(shape)))]).reshape(shape)
    layout, ufunc = random_distributed_layout(rng, shape, n), rng.choice((np.add, np.maximum, np.subtract))
    axis, is_reversed = rng.randrange(len(shape)), rng.random() < 0.5
    key = slice(None, None, -1) if is_reversed else slice(None)
    indices = sorted(rng.randrange(shape[axis]) for _ in range(4))

    def program() -> tuple[Any, ...]:
        a = pg.array(x, layout=layout)
        found = ufunc.accumulate(a[key], axis)
        a += 1  # after it was read
        return found.gather(), np.add.reduceat(a - 1, indices, axis).gather()

    job = Job(program, [lambda k, rank=rank: k % (rank + 2) == 0 for rank in range(n)])  # type: ignore[misc]
    assert len(job.results) == n
    assert job.network.n_left == 0
    for results in job.results.values():
        np.testing.assert_array_equal(results[0], ufunc.accumulate(x[key], axis))
        np.testing.assert_array_equal(results[1], np.add.reduceat(x, indices, axis))


@pytest.mark.parametrize("layout", ["block", "cyclic(2)"])
@pytest.mark.parametrize("ufunc", [np.add, np.subtract])
def test_messages_are_sent_where_nobody_wants_the_results(ufunc: np.ufunc, layout: str) -> None:
    """By some processes, which others wait for."""
    x = np.arange(20.0)

    def program() -> Any:
        a = pg.array(x, layout=pg.Distribution(layout))
        b: Any = ufunc.accumulate(a)
        if pg.RANK in (0, 2):
            del b
            pg.sync()
            return {}
        return dict(zip(b.global_indices(0).tolist(), b.local().tolist(), strict=True))

    found = Job(program, [lambda _: False] * 4).results
    assert not found[0]
    assert not found[2]
    assert len(found[1]) + len(found[3]) == 10
    for i, value in (found[1] | found[3]).items():
        assert value == ufunc.accumulate(x)[i]


def test_a_plan_names_it() -> None:
    text = str(pg.explain(lambda: pg.arange(1000.0).cumsum(), size=4, rank=1))
    assert "accumulate" in text
