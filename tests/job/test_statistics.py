"""The counts of what the runtime did, where it is known what it has to do."""

from __future__ import annotations

import time
from collections.abc import Iterator

import pytest

import pgaspy as pg
from pgaspy.execution import recording
from pgaspy.job.statistics import Statistics, _Counts
from pgaspy.scheduling.nodes import Node
from tests.together import collectively

N = 60


@pytest.fixture
def _lazy() -> Iterator[None]:
    before = recording.queue.overlaps
    recording.queue.overlaps = True
    yield
    recording.queue.overlaps = before


# Arithmetic -----------------------------------------------------------------------------------------------------------


def test_difference() -> None:
    earlier = Statistics(n_recorded=3, n_sends=1, seconds_waiting=0.5)
    later = Statistics(n_recorded=10, n_sends=4, n_receives=2, seconds_waiting=0.75)
    assert later - earlier == Statistics(n_recorded=7, n_sends=3, n_receives=2, seconds_waiting=0.25)


def test_derived_counts() -> None:
    found = Statistics(n_sends=4, n_receives=2, n_flushes=7, n_planned=3)
    assert (found.n_messages, found.n_cache_hits) == (6, 4)


def test_text_has_a_line_for_each() -> None:
    lines = str(Statistics(n_flushes=7, n_planned=3, seconds_waiting=0.25)).splitlines()
    assert len(lines) == 20
    assert ["n_cache_hits", "4"] in [line.split() for line in lines]
    assert ["seconds_waiting", "0.250000"] in [line.split() for line in lines]


def test_compiling_is_not_counted_as_computing() -> None:
    counts = _Counts()
    start = time.perf_counter() - 10
    counts.compiled(start + 1)
    counts.computed(Node(), [], start)
    assert counts.seconds_compiling == pytest.approx(9, abs=0.1)
    assert counts.seconds_computing == pytest.approx(1, abs=0.1)


def test_parts_are_one_piece() -> None:
    counts = _Counts()
    start = time.perf_counter() - 1
    for is_complete in (False, False, True):
        counts.computed(Node(), [], start, is_complete)
    assert counts.n_pieces == 1
    assert counts.seconds_computing == pytest.approx(3, abs=0.1)


def test_stats_is_a_copy() -> None:
    found = pg.stats()
    found.n_recorded += 1
    assert type(found) is Statistics
    assert pg.stats().n_recorded == found.n_recorded - 1


# Known programs -------------------------------------------------------------------------------------------------------


@pytest.mark.mpi
@pytest.mark.usefixtures("_lazy")
def test_fused_statement() -> None:
    x, y = pg.ones(N), pg.ones(N)
    for is_first in (True, False):
        pg.sync()
        before = pg.stats()
        y[...] = (x + 1) * 2
        recorded = pg.stats() - before
        pg.sync()
        done = pg.stats() - before
        collectively((recorded.n_recorded, recorded.n_flushes) == (3, 0), f"{recorded}")
        collectively((done.n_recorded, done.n_flushes, done.n_messages) == (3, 1, 0), f"{done}")
        collectively((done.n_fused, done.n_kernels, done.n_pieces) == (3, 1, 1), f"{done}")
        collectively(done.n_planned <= is_first, f"{done}")
        collectively(0 < done.seconds_computing < 60, f"{done}")
        collectively((done.seconds_planning > 0) == (done.n_planned > 0), f"{done}")
        collectively(done.n_operations_planned == 3 * done.n_planned, f"{done}")


@pytest.mark.mpi
def test_messages_of_a_shift() -> None:
    x, y = pg.ones(N), pg.zeros(N)
    pg.sync()
    before = pg.stats()
    y[1:] = x[:-1]
    pg.sync()
    done = pg.stats() - before
    sends, receives = int(pg.RANK < pg.SIZE - 1), int(pg.RANK > 0)
    collectively((done.n_sends, done.n_receives) == (sends, receives), f"{done}")
    collectively((done.nbytes_sent, done.nbytes_received) == (8 * sends, 8 * receives), f"{done}")
    collectively(done.n_messages == sends + receives, f"{done}")


@pytest.mark.mpi
def test_waiting_for_a_late_process() -> None:
    x, y = pg.ones(N), pg.zeros(N)
    pg.COMM.Barrier()
    before = pg.stats()
    if pg.RANK == 0:
        time.sleep(0.2)
    y[1:] = x[:-1]
    pg.sync()
    done = pg.stats() - before
    collectively(pg.RANK != 1 or done.seconds_waiting > 0.05, f"{done}")
    collectively(done.seconds_computing < 0.2, f"{done}")


@pytest.mark.mpi
def test_tasks_are_computing() -> None:
    x = pg.ones(N)
    before = pg.stats()
    pg.schedule(lambda local: time.sleep(0.05), x)
    pg.sync()
    done = pg.stats() - before
    collectively(done.n_recorded == 1, f"{done}")
    collectively(done.seconds_computing >= 0.05, f"{done}")
