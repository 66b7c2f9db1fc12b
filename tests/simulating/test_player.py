"""The player of events, against closed forms of LogGP, and schedules worked out by hand."""

from __future__ import annotations

from typing import Any

import pytest

from pgaspy.planning.trees import broadcast_neighbours
from pgaspy.simulating.critical_path import critical_path
from pgaspy.simulating.graphs import Begin, Pass, Step, Wait, Work, graph
from pgaspy.simulating.network import Network
from pgaspy.simulating.player import Course, Rules, Stalled, play

L, O, G_GAP, G = 5.0, 1.0, 2.0, 0.25  # noqa: E741
NETWORK = Network(L, O, G_GAP, G)


def send(peer: int, nbytes: int = 1, **options: Any) -> Work:
    return Work("send", peer=peer, nbytes=nbytes, **options)


def receive(peer: int, nbytes: int = 1, **options: Any) -> Work:
    return Work("receive", peer=peer, nbytes=nbytes, is_receive=True, **options)


def steps(*nodes: Work, edges: tuple[tuple[int, int], ...] = ()) -> list[Step]:
    return [Begin(graph(nodes, edges)), Wait()]


def seconds(courses: dict[int, Course]) -> dict[int, float]:
    return {rank: course.totals.seconds for rank, course in courses.items()}


@pytest.mark.parametrize("nbytes", [1, 9, 101])
def test_a_ping(nbytes: int) -> None:
    found = play({0: steps(send(1, nbytes)), 1: steps(receive(0, nbytes))}, NETWORK)
    assert seconds(found) == {0: O + (nbytes - 1) * G, 1: 2 * O + L + (nbytes - 1) * G}
    assert found[1].totals.waiting == seconds(found)[1]  # with what it takes to complete what was waited for
    assert (found[0].totals.handling, found[1].totals.handling) == (O, 0.0)
    assert (found[0].totals.n_messages, found[0].totals.nbytes) == (1, nbytes)


def test_a_ping_that_processors_copy() -> None:
    found = play({0: steps(send(1, 8)), 1: steps(receive(0, 8))}, Network(L, O, copying_per_byte=0.5))
    assert seconds(found) == {0: O + 4, 1: 2 * (O + 4) + L}


def test_messages_of_one_process_leave_one_after_the_other() -> None:
    sent, received = [send(1, tag=k) for k in range(4)], [receive(0, tag=k) for k in range(4)]
    found = play({0: steps(*sent), 1: steps(*received)}, NETWORK)
    assert seconds(found)[1] == O + 3 * G_GAP + L + O
    long = play({0: steps(send(1, 101), send(1, 101, tag=1)),
                 1: steps(receive(0, 101), receive(0, 101, tag=1))}, NETWORK)
    assert seconds(long)[1] == O + 2 * 100 * G + L + O


def test_a_link_that_was_idle_lets_bytes_through_at_once() -> None:
    """As many as there is room for, and then as many as come to it meanwhile."""
    network = Network(L, O, per_byte=G, burst=100)
    sent, received = [send(1, 101, tag=k) for k in range(3)], [receive(0, 101, tag=k) for k in range(3)]
    assert [seconds(play({0: steps(*sent[:n]), 1: steps(*received[:n])}, network))[1] for n in (1, 2, 3)] == [
        O + L + O, O + 100 * G + L + O, O + 2 * 100 * G + L + O]
    rested = {0: [*steps(sent[0]), Pass("program", 60 * G), *steps(sent[1])],
              1: [*steps(received[0]), *steps(received[1])]}
    assert seconds(play(rested, network))[1] == O + 100 * G + L + O
    rested[0][2] = Pass("program", 100 * G)
    assert seconds(play(rested, network))[1] == O + 100 * G + O + L + O


def test_messages_to_one_process_share_what_it_receives() -> None:
    found = play({0: steps(receive(1, 101), receive(2, 101)), 1: steps(send(0, 101)), 2: steps(send(0, 101))}, NETWORK)
    assert seconds(found)[0] == O + L + 2 * 100 * G + O


@pytest.mark.parametrize("n", [2, 5])
def test_a_chain(n: int) -> None:
    """Each hands on what it gets."""
    job = {rank: steps(*([receive(rank - 1)] if rank else []), *([send(rank + 1)] if rank < n - 1 else []),
                       edges=((0, 1),) if 0 < rank < n - 1 else ()) for rank in range(n)}
    found = play(job, NETWORK)
    assert max(seconds(found).values()) == (n - 1) * (L + 2 * O)
    path = critical_path(found)
    assert (path.n_messages, path.travelling, path.seconds["messages"]) == (n - 1, (n - 1) * L, 2 * (n - 1) * O)


@pytest.mark.parametrize("k", [1, 2, 3, 6])
def test_a_binomial_broadcast(k: int) -> None:
    """Of 2**k processes, with g <= o: each of k rounds takes a message's time, as the last hop is the longest chain."""
    n, network = 1 << k, Network(L, O)
    job = {}
    for rank in range(n):
        parent, children = broadcast_neighbours(rank, n, 0, 1)
        nodes = ([] if parent is None else [receive(parent)]) + [send(child) for child in children]
        job[rank] = steps(*nodes, edges=() if parent is None else tuple((0, m) for m in range(1, len(nodes))))
    ends = seconds(play(job, network))
    assert max(ends.values()) == k * (L + 2 * O)  # along the largest subtrees, each the first that its parent serves
    assert ends[0] == k * O
    assert ends[n // 2] == O + L + O + (k - 1) * O


@pytest.mark.parametrize(("inner", "waiting"), [(3.0, 4.0), (7.0, 0.0), (20.0, 0.0)])
def test_a_halo_exchange_behind_computing(inner: float, waiting: float) -> None:
    """Two processes exchange edges while they compute what needs none; what the messages take longer is waited for."""
    network = Network(L, 0.0, 0.0, 0.25)  # 9 bytes: 5 + 2

    def own(peer: int) -> list[Step]:
        return steps(send(peer, 9), receive(peer, 9), Work("inner", inner), Work("edge", 2.0), edges=((1, 3),))

    found = play({0: own(1), 1: own(0)}, network)
    for course in found.values():
        assert course.totals.waiting == waiting
        assert course.totals.seconds == max(inner, 7.0) + 2
        assert course.totals.computing == inner + 2


def test_in_order_nothing_is_computed_meanwhile() -> None:
    def own(peer: int) -> list[Step]:
        return steps(send(peer, 9), receive(peer, 9), Work("inner", 20.0), Work("edge", 2.0), edges=((1, 3),))

    found = play({0: own(1), 1: own(0)}, Network(L, 0.0, 0.0, 0.25), Rules(overlaps=False))
    assert found[0].totals.seconds == 7 + 20 + 2
    assert found[0].totals.waiting == 7


def test_a_long_computation_is_left_for_messages_between_its_parts() -> None:
    """The urgent node, which another process waits for, is done after the part during which its message came."""
    own = steps(receive(1), Work("long", 100.0, n_parts=10), Work("urgent", 1.0, is_urgent=True), send(1, tag=1),
                edges=((0, 2), (2, 3)))
    other = [Pass("program", 18.0), *steps(send(0), receive(0, tag=1))]
    found = play({0: own, 1: other}, Network(L))
    # sent at 18, here at 23, seen at 30, answered at 31, there at 36
    assert seconds(found) == {0: 101.0, 1: 36.0}


def test_what_is_received_stays_within_the_window() -> None:
    """One long message at a time; the second is asked for when the first is used."""
    def own(k: int) -> tuple[Work, Work]:
        return (receive(1, 11, tag=k, nbytes_ahead=11, taken=k, uses=(k,)),
                Work("use", 10.0, uses=(k,)))

    nodes = own(0) + own(1)
    job = {0: steps(*nodes, edges=((0, 1), (2, 3))), 1: steps(send(0, 11), send(0, 11, tag=1))}
    network = Network(L, 0.0, 0.0, 1.0)
    ahead = play(job, network)[0].totals
    assert (ahead.seconds, ahead.waiting) == (35.0, 15.0)
    job[1] = [*steps(send(0, 11)), Pass("program", 40.0), *steps(send(0, 11, tag=1))]
    assert play(job, network, Rules(window=11))[0].totals.seconds == 10 + 40 + 15 + 10


def test_the_values_that_are_waited_for_come_before_the_rest() -> None:
    """Returns when nothing is left that uses the array; the rest is done later."""
    first, second = Work("first", 3.0, uses=(0,)), Work("second", 4.0, uses=(1,))
    run = Begin(graph((first, second)), slots={70: 0, 71: 1})
    job: dict[int, list[Step]] = {0: [run, Wait(70), Pass("program", 10.0), Wait()]}
    assert play(job, NETWORK)[0].totals.seconds == 17.0


def test_later_runs_wait_for_what_they_conflict_with() -> None:
    earlier, later = Begin(graph((receive(1), Work("a", 2.0)), ((0, 1),))), Begin(graph((Work("b", 3.0),)))
    job: dict[int, list[Step]] = {0: [earlier, Wait(but_last=True), later, Wait()], 1: steps(send(0))}
    free = play(job, Network(L))
    bound = play(job, Network(L), conflicts=lambda one, other: {1: (0,)})
    assert seconds(free)[0] == L + 2.0
    assert seconds(bound)[0] == L + 2.0 + 3.0


def test_an_idle_process_goes_on_with_what_comes_next() -> None:
    awaited = Begin(graph((receive(1, uses=(0,)),)), slots={0: 0})
    rest = Begin(graph((Work("rest", 2.0),)))
    job: dict[int, list[Step]] = {0: [awaited, Wait(0, idle_seconds=1.0), rest, Wait()],
                                  1: steps(send(0))}
    found = play(job, Network(L))
    assert found[0].totals.seconds == L
    assert found[0].totals.waiting == 3.0
    assert found[0].n_idled[True] == 1


def test_what_comes_after_a_wait_was_given_up_is_handled_while_nobody_waits() -> None:
    awaited = Begin(graph((receive(1, uses=(0,)),)), slots={0: 0})
    job: dict[int, list[Step]] = {0: [awaited, Wait(0, idle_seconds=1.0), Pass("program", 10.0), Wait()],
                                  1: steps(send(0))}
    totals = play(job, Network(L, O))[0].totals
    assert (totals.handling, totals.waiting) == (O, 1.0)


def test_a_process_that_others_stand_for() -> None:
    """Of a ring of a million, one process is played: what comes from its neighbour is as what it sends itself."""
    own = steps(send(501, 9), receive(499, 9), Work("inner", 1.0), Work("edge", 2.0), edges=((1, 3),))
    found = play({500: own}, NETWORK, source_of=lambda source, destination, tag: 500, size=10**6)
    assert found[500].totals.seconds == O + L + 8 * G + O + 2


def test_messages_that_nobody_sends_are_named() -> None:
    with pytest.raises(Stalled) as failure:
        play({0: steps(receive(1)), 1: steps(receive(0))}, NETWORK)
    assert sorted(failure.value.awaited) == [(0, 1), (1, 0)]
