"""The execution of plans: long messages, buffers, casts on the wire, and numbers of messages."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest

import pgaspy as pg
from pgaspy.distribution import default_layout
from pgaspy.execution import recording
from pgaspy.layout import replicated
from pgaspy.planning.transfers import plan_transfer
from pgaspy.planning.view import whole
from pgaspy.scheduling import collectives, memory, messages
from pgaspy.scheduling.operations import BaseView
from pgaspy.statements import record_assignment
from tests.layouts import NAMES, layout_of
from tests.together import assert_equal, collectively

pytestmark = pytest.mark.mpi

X = np.arange(300.0).reshape(20, 15)


@pytest.fixture
def _short_messages(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """At most 56 bytes a message, so that most travel in several."""
    monkeypatch.setattr(messages, "MAX_MESSAGE_BYTES", 56)
    pg.sync()
    recording.forget()
    yield
    pg.sync()
    recording.forget()


@pytest.mark.usefixtures("_short_messages")
@pytest.mark.parametrize("first", NAMES)
@pytest.mark.parametrize("second", NAMES)
def test_long_messages_travel_in_several(first: str, second: str) -> None:
    a, b = pg.array(X, layout=layout_of(first, X.shape)), pg.array(X[::-1], layout=layout_of(second, X.shape))
    a[1:] = b[:-1]
    x = X.copy()
    x[1:] = X[::-1][:-1]
    assert_equal(a, x)
    assert_equal(a + b, x + X[::-1])
    assert_equal(a[:15].T + b[:15], x[:15].T + X[::-1][:15])
    a[:-1] = a[1:]
    x[:-1] = x[1:].copy()
    assert_equal(a, x)
    assert_equal(a.astype("f").redistribute(layout_of(second, X.shape)), x.astype("f"))
    assert_equal(a.reshape(15, 20), x.reshape(15, 20))


@pytest.mark.usefixtures("_short_messages")
@pytest.mark.parametrize(("sent_up_to", "gathered_up_to"), [(0, 0), (0, 32), (32, 32)])
def test_long_partial_results(sent_up_to: int, gathered_up_to: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(collectives, "MAX_SENDING", sent_up_to)
    monkeypatch.setattr(collectives, "MAX_GATHERING", gathered_up_to)
    a = pg.array(X)
    for axis in (None, 0, 1):
        assert_equal(a.sum(axis), np.asarray(X.sum(axis)))
        assert_equal(a.argmax(axis), np.asarray(X.argmax(axis)))
        bits = pg.COMM.allgather((a * 0.1).sum(axis).gather().tobytes())  # type: ignore[union-attr]
        collectively(len(set(bits)) == 1)


@pytest.mark.usefixtures("_short_messages")
def test_long_broadcasts() -> None:
    a = pg.array(X)
    for axis in (0, 1):
        assert_equal(pg.replicate(a[2:18, 3:], axis), X[2:18, 3:])
    assert_equal(a.redistribute(replicated(X.shape, pg.SIZE)), X)


def test_partial_results_sent_to_all_or_doubled(monkeypatch: pytest.MonkeyPatch) -> None:
    """They are joined in the order of the ranks: the same bits."""
    arrays = [pg.array(x) for x in (np.sqrt(np.arange(1000.0)), np.exp(1j * np.arange(100)), np.arange(7))]
    found = []
    for n in 0, 32:
        monkeypatch.setattr(collectives, "MAX_SENDING", n)
        recording.forget()
        found.append([a.sum().gather().tobytes() for a in arrays])
    recording.forget()
    collectively(found[0] == found[1])


def test_few_large_or_many_partial_results(monkeypatch: pytest.MonkeyPatch) -> None:
    """Gathered or reduced by a tree: the same values, up to rounding, and the same bits on every process."""
    a = pg.array(np.sqrt(X))
    gathered = a.sum(axis=0).gather()
    monkeypatch.setattr(collectives, "MAX_GATHERING", 0)
    recording.forget()
    found = a.sum(axis=0).gather()
    recording.forget()
    collectively(np.allclose(gathered, found, rtol=1e-14))
    collectively(len(set(pg.COMM.allgather(found.tobytes()))) == 1)  # type: ignore[union-attr]


@pytest.mark.parametrize(("target", "source", "itemsize"), [("f", "d", 4), ("d", "f", 4), ("B", "D", 1), ("l", "d", 8)])
def test_elements_travel_in_the_smaller_dtype(target: str, source: str, itemsize: int) -> None:
    layouts = default_layout((40,), pg.SIZE), pg.Distribution("cyclic(3)").bind((40,), pg.SIZE)
    plan = plan_transfer(*map(whole, layouts), pg.RANK)
    b = pg.array(np.arange(40), layout=layouts[1]).astype(source)
    a = pg.empty(40, target, layout=layouts[0])
    pg.sync()
    before = pg.stats()
    record_assignment(BaseView(a._base, a._view), BaseView(b._base, b._view))
    pg.sync()
    moved = pg.stats() - before
    collectively(moved.nbytes_received == sum(m.size for m in plan.receives) * itemsize, f"{moved}")
    assert_equal(a, np.arange(40).astype(target))


def test_buffers_go_back_to_the_pool() -> None:
    """Transfers, computations on remote operands and broadcasts keep no memory, however often they run."""
    n = 600
    a, b = pg.zeros((n, n)), pg.ones((n, n), layout=pg.Distribution("cyclic(3)", "cyclic(5)"))
    kept = []
    for _ in range(8):
        a[1:] = a[:-1]
        a[...] = b
        a += b
        a[...] = a.T
        a += b[::-1, :1]
        pg.replicate(a[:, :200], 1)
        (a[1:] + b[:-1]).sum()
        pg.sync()
        kept.append(memory._kept_bytes)
    # what arrives early or late takes a block more or less
    collectively((kept[-1] > 0 or pg.SIZE == 1) and kept[-1] <= 1.25 * max(kept[:4]), f"{kept}")


def test_what_is_sent_may_be_changed_afterwards() -> None:
    a, b = pg.zeros((200, 100)), pg.ones((200, 100), layout=layout_of("cyclic(2)", (200, 100)))
    for k in range(1, 6):
        a[...] = b
        b.local()[...] = k
        b += 1
        assert_equal(a, np.full((200, 100), float(k)))


def test_processes_without_a_part_in_it() -> None:
    """Operations on small sections leave most processes out; what follows still finds its messages."""
    a = pg.array(X)
    x = X.copy()
    for k in range(15):
        a[k, 0] = a[19 - k, 14]
        x[k, 0] = x[19 - k, 14]
        row = a[k] * a[:15, 0]
        assert_equal(row, x[k] * x[:15, 0])
        a[k + 1 : k + 3, 2:4] += a[:2, :2]
        x[k + 1 : k + 3, 2:4] += x[:2, :2].copy()
    assert_equal(a, x)


def test_many_operations(monkeypatch: pytest.MonkeyPatch) -> None:
    """More than there are tags."""
    a = pg.arange(2 * pg.SIZE)
    pg.sync()
    transport, before = recording.queue.engine.transport, recording.queue.next_tag
    if pg.SIZE > 1:
        monkeypatch.setattr(transport, "n_tags", 1 << 7)
    for _ in range(20):
        first = a[:1].copy()
        a[:-1] = a[1:]
        a[-1:] = first
    assert recording.queue.next_tag - before > 2 << 7
    assert_equal(a, np.roll(np.arange(2 * pg.SIZE), -20))
