"""What holds of all schedules, and keeps processes from waiting in a circle: planned for simulated ranks."""

from __future__ import annotations

import itertools
import random
from collections import defaultdict
from collections.abc import Iterator, Sequence
from typing import NamedTuple

import pytest

import pgaspy as pg
from pgaspy.execution.recording import dry_run
from pgaspy.job.procgrid import simulated
from pgaspy.planning import chains
from pgaspy.scheduling import fusion, temporaries
from pgaspy.scheduling.kernel_nodes import ChainedCall
from pgaspy.scheduling.nodes import Communication, Node
from pgaspy.scheduling.operations import Operation
from pgaspy.scheduling.schedule import Schedule, schedule_of
from tests.small_programs import Program

pytestmark = pytest.mark.skipif(pg.SIZE > 1, reason="plays all processes")

PROGRAMS = [(seed, 2 + seed % 8) for seed in range(48)]
"""Seeds, and numbers of processes."""

LATE = [(seed, 2 + seed % 8) for seed in range(90, 98)]
"""Those among which there are programs whose kernels would wait for what comes later."""


class Planned(NamedTuple):
    """The schedule of some operations, and their numbers."""

    schedule: Schedule
    numbers: Sequence[int]


def planned(seed: int, size: int, rank: int) -> list[Planned]:
    """What a rank plans of a random program, which it flushes where it likes; other arrays have names on each rank."""
    own, operations = random.Random(f"rank {rank} of {seed}"), list[Operation]()
    with simulated(size, rank), dry_run(operations.append):
        Program(random.Random(seed), size).run()
    numbers = [0, *itertools.accumulate(operation.recipe.n_tags for operation in operations)]
    fuses, often = own.random() < 0.9, own.choice((0, 0, 0.1, 0.5))
    cuts = [0, *(k for k in range(1, len(operations)) if own.random() < often), len(operations)]
    found = []
    for start, stop in itertools.pairwise(cuts):
        used = {base for operation in operations[stop:] for base in operation.bases}
        calls = [(operation.recipe, operation.bases, operation.values) for operation in operations[start:stop]]
        with simulated(size, rank):
            schedule = schedule_of(calls, lambda base, used=used: base in used or own.random() < 0.6, rank, fuses)
        found.append(Planned(schedule, numbers[start:stop]))
    return found


@pytest.fixture(scope="module", autouse=True)
def _chains() -> Iterator[None]:
    """Chains of kernels, however little memory they pass through, and temporaries that share theirs."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(chains, "MIN_BYTES", 0)
        patch.setattr(temporaries, "MIN_BYTES", 0)
        yield


@pytest.fixture(scope="module", params=PROGRAMS, ids=lambda program: f"program {program[0]} of {program[1]} processes")
def jobs(request: pytest.FixtureRequest) -> list[list[Planned]]:
    """What each rank of a job plans."""
    seed, size = request.param
    return [planned(seed, size, rank) for rank in range(size)]


def predecessors(schedule: Schedule) -> list[set[int]]:
    """Per node, the nodes that it waits for, by itself."""
    found: list[set[int]] = [set() for _ in schedule.nodes]
    for number, node in enumerate(schedule.nodes):
        for later in node.successors:
            found[later].add(number)
    assert [len(waits) for waits in found] == [*schedule.n_waits]
    return found


def last_received(schedule: Schedule, before: Sequence[set[int]]) -> list[int]:
    """Per node, the last operation of which it waits for a message, at any distance; -1 where there is none."""
    found: list[int] = []
    for node, waits in zip(schedule.nodes, before, strict=True):
        own = node.position if node.is_communication and node.is_receive else -1  # type: ignore[attr-defined]
        found.append(max([own, *(found[number] for number in waits)]))
    return found


def test_nodes_depend_on_earlier_operations_only(jobs: list[list[Planned]]) -> None:
    """And a kernel that operations share, on no other one recorded after the first of them."""
    for schedule, _ in itertools.chain(*jobs):
        for number, waits in enumerate(predecessors(schedule)):
            node = schedule.nodes[number]
            assert all(other < number and schedule.nodes[other].due <= node.due for other in waits)


def too_late(schedule: Schedule) -> list[Node]:
    """The nodes that wait for messages of later operations.

    A kernel that operations share may wait for those of its own; nothing may wait for it that was recorded before.
    """
    before = predecessors(schedule)
    received = last_received(schedule, before)
    found = []
    for node, waits, last in zip(schedule.nodes, before, received, strict=True):
        others = [received[number] for number in waits if schedule.nodes[number].due != node.due]
        if max(others, default=-1) > node.due or (last > node.position and not node.is_kernel):
            found.append(node)
    return found


def test_nothing_waits_for_messages_of_later_operations(jobs: list[list[Planned]]) -> None:
    assert not any(too_late(schedule) for schedule, _ in itertools.chain(*jobs))


def test_a_kernel_that_waits_for_what_comes_later_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fusion, "_depends_on_later", lambda *_: False)
    assert any(too_late(found.schedule) for seed, size in LATE for rank in range(size)
               for found in planned(seed, size, rank))


def test_what_is_sent_is_received(jobs: list[list[Planned]]) -> None:
    """In the same order of each operation, with the same tags and bytes, whatever each rank joins, names and wants."""
    sent, received = defaultdict(list), defaultdict(list)
    for rank, runs in enumerate(jobs):
        for schedule, numbers in runs:
            for node in schedule.nodes:
                if isinstance(node, Communication):
                    found = numbers[node.position] + node.tag, node.nbytes, node.is_stamped
                    (received[node.peer, rank] if node.is_receive else sent[rank, node.peer]).append(found)
    assert {pair: sorted(found, key=tag) for pair, found in sent.items()} == {
        pair: sorted(found, key=tag) for pair, found in received.items()}


def tag(message: tuple[int, int, bool]) -> int:
    """The tag: messages of one keep their order."""
    return message[0]


def test_programs_have_kernels_of_several_operations_and_chains_and_messages() -> None:
    """Else what is tested here would hold of itself."""
    schedules = [found.schedule for seed, size in PROGRAMS for found in planned(seed, size, 0)]
    assert sum(schedule.n_fused > schedule.n_kernels for schedule in schedules) > 20
    assert sum(schedule.n_messages for schedule in schedules) > 300
    assert sum(isinstance(node, ChainedCall) for schedule in schedules for node in schedule.nodes) > 5
