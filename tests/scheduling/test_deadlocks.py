"""Processes that flush where they like never wait for each other in a circle: random programs on simulated ranks."""

from __future__ import annotations

import random
from collections.abc import Callable

import pytest

import pgaspy as pg
from pgaspy.execution import engine, recording
from pgaspy.execution.flushing import MAX_OPERATIONS
from pgaspy.planning import chains
from pgaspy.scheduling import schedule
from tests.simulated import Job, Stuck
from tests.small_programs import Program

pytestmark = pytest.mark.skipif(pg.SIZE > 1, reason="plays all processes")

N_PROGRAMS = 48


def at_random(rng: random.Random, often: float) -> Callable[[int], bool]:
    """Where a rank flushes."""
    return lambda _: rng.random() < often


def run(seed: int) -> None:
    """Run the random program of a seed on simulated ranks, of which one flushes more often or less than the others."""
    rng = random.Random(f"job {seed}")
    size = rng.choice((2, 3, 4, 4, 5, 6, 7, 8, 9))
    own, others = rng.choice([(1.0, 0.0), (0.0, 1.0), (1.0, 0.2), (0.2, 0.2)])
    often = [others] * size
    often[rng.randrange(size)] = own

    def program() -> list[int]:
        found = Program(random.Random(seed), size)
        found.run()
        return found.differences

    job = Job(program, [at_random(random.Random(f"flushes {seed} of {rank}"), how) for rank, how in enumerate(often)],
              rng.choice((1, 3, MAX_OPERATIONS)))
    assert job.network.n_left == 0
    assert all(differences == [] for differences in job.results.values()), f"{job.results}"


@pytest.mark.parametrize("seed", range(N_PROGRAMS))
def test_random_programs_come_to_their_end(seed: int) -> None:
    run(seed)


@pytest.mark.parametrize("seed", range(0, N_PROGRAMS, 3))
def test_they_do_where_nothing_may_be_received_ahead(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(engine, "WINDOW_BYTES", 0)
    monkeypatch.setattr(schedule, "LASTING_BYTES", 0)
    run(seed)


def test_ranks_that_wait_for_ever_are_found() -> None:
    def program() -> None:
        a = pg.arange(4.0)
        if pg.RANK:
            (a[::-1] + a).gather()

    with pytest.raises(Stuck, match=r"ranks \[1\] of 2"):
        Job(program, [lambda _: False] * 2)


def chained() -> int:
    """The last sum could follow `y` in a chain, and is made of what has joined the kernel before that."""
    layout = pg.Distribution("*", "block", grid=(2,))
    (x, other), lower = (pg.ones((6, 6), layout=layout) for _ in range(2)), pg.ones((4, 6), layout=layout)
    recording.sync()
    kept = [x + 1]
    y = lower + 1
    kept += [(y[::2] * 2).sum()]
    late = other[:, ::-1] + 2
    kept += [late[:4] + y]
    assert (kept[-1].gather() == 5).all()
    return recording.queue.n_recorded


def test_a_chain_waits_for_nothing_that_was_recorded_after_its_first_operation(
        monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(chains, "MIN_BYTES", 0)
    n = Job(chained, [lambda _: False] * 2).results[0]
    for cut in range(n):
        Job(chained, [lambda _: False, lambda k, cut=cut: k == cut])  # type: ignore[misc]


def joined(is_sent_behind: bool) -> int:
    """A kernel that is sent, itself or by what comes behind it, comes to depend on an earlier one by what joins it."""
    n = 8 * pg.SIZE
    a, q, longer = pg.ones(n), pg.ones(n), pg.ones(n + 2)
    p, o, r, s = (pg.zeros(n) for _ in range(4))
    recording.sync()
    double = a * 2
    p[1:-1] = q[1:-1] * 3
    if is_sent_behind:
        o[2:-2] = p[2:-2] * 1
    else:
        r[:-1] = p[1:] + 1
    s[1:-1] = double[1:-1] + q[1:-1]  # joins the second kernel, which so waits for the first
    if is_sent_behind:
        r[:-1] = o[1:] + 1
    late = a + longer[:-2]  # would join the first, with a message that the other process may not have recorded
    assert (r.gather().max(), s.gather().max(), late.gather().min()) == (4, 3, 2)
    return recording.queue.n_recorded


@pytest.mark.parametrize("is_sent_behind", [False, True])
def test_a_kernel_waits_for_no_later_message_where_another_one_that_is_sent_comes_to_depend_on_it(
        is_sent_behind: bool) -> None:
    def program() -> int:
        return joined(is_sent_behind)

    n = Job(program, [lambda _: False] * 2).results[0]
    for cut in range(n):
        Job(program, [lambda k, cut=cut: k == cut, lambda _: False])  # type: ignore[misc]
