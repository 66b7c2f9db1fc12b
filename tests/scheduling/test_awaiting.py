"""Over a network, what is computed where others wait for messages is a piece of its own: the rest does not wait."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest

import pgaspy as pg
from pgaspy.execution.recording import dry_run
from pgaspy.job.procgrid import simulated, world
from pgaspy.planning import chains
from pgaspy.planning.boxes import overlap
from pgaspy.scheduling import elementwise
from pgaspy.scheduling.nodes import Node
from pgaspy.scheduling.operations import Operation
from pgaspy.scheduling.schedule import Schedule, schedule_of

SHAPE = 60, 50


@pytest.fixture(autouse=True)
def _also_small(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(elementwise, "CUT_FROM_ACCESSES", 0)
    monkeypatch.setattr(chains, "MIN_BYTES", 1 << 40)


def sweep() -> None:
    full = pg.zeros(SHAPE)
    center = full[1:-1, 1:-1]
    work = pg.empty_like(center)
    work[...] = 0.2 * (center + full[:-2, 1:-1] + full[2:, 1:-1] + full[1:-1, :-2] + full[1:-1, 2:])
    np.abs(center - work).sum()
    center[...] = work


def planned(size: int, rank: int, has_network: bool, together: bool = True) -> list[Schedule]:
    """What a rank plans of a sweep and of the copy that ends it."""
    operations: list[Operation] = []
    with simulated(size, rank), dry_run(operations.append):
        world().has_network = has_network
        sweep()
        calls = [(operation.recipe, operation.bases, operation.values) for operation in operations]
        if together:
            return [schedule_of(calls, lambda _: True, rank, True)]
        first = schedule_of(calls[:-1], lambda _: True, rank, True)
        bases = [*dict.fromkeys(base for _, used, _ in calls[:-1] for base in used)]
        cuts = {slot: first.awaiting[bases.index(base)] for slot, base in enumerate(calls[-1][1])
                if bases.index(base) in first.awaiting}
        return [first, schedule_of(calls[-1:], lambda _: True, rank, True, cuts)]


def awaiting(schedule: Schedule) -> Iterator[tuple[Node, bool]]:
    """The nodes, each with whether it waits for messages."""
    found = [False] * len(schedule.nodes)
    for number, node in enumerate(schedule.nodes):
        for later in node.successors:
            found[later] |= found[number] or node.is_receive
    return zip(schedule.nodes, found, strict=True)


def n_elements(node: Node) -> int:
    return getattr(node, "n_elements", 0)


@pytest.mark.parametrize(("size", "rank"), [(2, 0), (2, 1), (4, 3), (9, 4)])
def test_most_of_the_copy_waits_for_no_message(size: int, rank: int) -> None:
    for has_network in (False, True):
        (schedule,) = planned(size, rank, has_network)
        last = max(node.position for node in schedule.nodes)
        waits = [waits for node, waits in awaiting(schedule) if node.position == last and n_elements(node) > 200]
        assert waits == [not has_network]


@pytest.mark.parametrize(("size", "rank"), [(2, 0), (2, 1), (4, 3), (9, 4)])
def test_so_does_most_of_a_copy_that_was_postponed(size: int, rank: int) -> None:
    first, second = planned(size, rank, has_network=True, together=False)
    (largest,) = (node for node in second.nodes if n_elements(node) > 200)
    (written,) = (box for _, box in largest.writes)
    boxes = first.awaiting[0]  # of the array that was made first
    assert boxes
    assert not any(overlap(written, box) for box in boxes)
