"""What a flush makes of the operations of a program: how many of them share kernels, or whether it is planned."""

from __future__ import annotations

import sys
from collections.abc import Callable
from types import SimpleNamespace

import pytest

import pgaspy as pg
from pgaspy.alone import small
from pgaspy.execution import queue, recording, tiers

__all__ = ["have_quickly", "have_recorded", "kernels_of", "refuse_quickly"]


def kernels_of(program: Callable[[], object]) -> tuple[int, int]:
    """How many operations of a program ran in kernels, and in how many."""
    pg.sync()
    before = pg.stats()
    kept = program()
    pg.sync()
    del kept
    done = pg.stats() - before
    return done.n_fused, done.n_kernels


def have_recorded(monkeypatch: pytest.MonkeyPatch) -> None:
    """Have what is not known to come again executed in turn, as where much of it was done before."""
    monkeypatch.setattr(small, "is_on", False)
    monkeypatch.setattr(queue.Queue, "computes_at_once", True)
    monkeypatch.setattr(tiers, "WORK_OF_PLANNING", 0)
    monkeypatch.setattr(tiers, "HOT_CALLS", -1)
    recording.forget()


def refuse_quickly(monkeypatch: pytest.MonkeyPatch) -> None:
    """Have small arrays computed in Python, as those statements are that C refuses."""
    def refuse(*_: object) -> None:
        return None

    have_quickly(monkeypatch, lambda name: refuse)


def have_quickly(monkeypatch: pytest.MonkeyPatch, function: Callable[[str], Callable[..., object]]) -> None:
    """Have functions of these names in the place of those in C."""
    names = "assigned", "chosen", "computed", "computed_in_place", "product", "reduced", "section"
    monkeypatch.setattr(sys.modules["pgaspy.array"], "quick", SimpleNamespace(
        **{name: function(name) for name in names}))
