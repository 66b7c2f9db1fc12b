"""How a process that waits lets others have its core."""

from __future__ import annotations

import pytest

from pgaspy.execution import patience
from pgaspy.execution.patience import LONG_SECONDS, SHARED_SECONDS, SPIN_SECONDS, Patience


class Machine:
    """A clock, and what stands in for the system's calls; `away` is how long one is away who gives its turn away."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.now = self.away = 0.0
        self.calls: list[str] = []
        monkeypatch.setattr(patience.time, "perf_counter", lambda: self.now)
        monkeypatch.setattr(patience.time, "sleep", self._sleep)
        monkeypatch.setattr(patience.os, "sched_yield", self._yield)

    def _sleep(self, seconds: float) -> None:
        self.calls.append("sleep")
        self.now += 6e-5

    def _yield(self) -> None:
        self.calls.append("yield")
        self.now += self.away


def test_who_is_alone_on_its_core_does_not_sleep(monkeypatch: pytest.MonkeyPatch) -> None:
    machine, waiting = Machine(monkeypatch), Patience()
    machine.away = 1e-6
    for _ in range(1000):
        waiting.pause(machine.now)
    assert machine.calls == ["yield"] * 1000


def test_who_waits_long_sleeps(monkeypatch: pytest.MonkeyPatch) -> None:
    machine, waiting = Machine(monkeypatch), Patience()
    waiting.pause(2 * SPIN_SECONDS)
    assert machine.calls == ["sleep"]


def test_who_was_away_for_long_sleeps_for_some_time(monkeypatch: pytest.MonkeyPatch) -> None:
    machine, waiting = Machine(monkeypatch), Patience()
    machine.away = 3e-3
    while machine.now < machine.away + SHARED_SECONDS:
        waiting.pause(0.0)
    assert machine.calls[:2] == ["yield", "sleep"]
    assert machine.calls.count("yield") == 1
    machine.away = LONG_SECONDS / 2
    machine.calls.clear()
    for _ in range(3):
        waiting.pause(0.0)
    assert machine.calls == ["yield"] * 3
