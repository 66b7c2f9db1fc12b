"""What a flush makes of the operations of a program: how many of them share kernels, or whether it is planned."""

from __future__ import annotations

import sys
from collections.abc import Callable
from types import SimpleNamespace

import pytest

import pgaspy as pg
from pgaspy.alone import quick, small
from pgaspy.dispatch import HANDLED
from pgaspy.execution import queue, recording

__all__ = ["have_recorded", "kernels_of", "refuse_quickly"]


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
    monkeypatch.setattr(recording.queue.tiers, "work_of_planning", 0)
    monkeypatch.setattr(recording.queue.tiers, "worth_recording", -1)
    recording.forget()


def refuse_quickly(monkeypatch: pytest.MonkeyPatch) -> None:
    """Have small arrays computed in Python, as those statements are that C refuses."""
    def refuse(*_: object) -> None:
        return None

    names = "chosen", "computed", "is_assigned", "is_computed_into", "reduced"
    monkeypatch.setattr(sys.modules["pgaspy.array"], "quick", SimpleNamespace(**dict.fromkeys(names, refuse)))
    for name, method in [*vars(pg.GlobalArray).items()]:
        if isinstance(method, quick.Method):
            monkeypatch.setattr(pg.GlobalArray, name, method.__wrapped__)
            if method in HANDLED:
                monkeypatch.setitem(HANDLED, method.__wrapped__, HANDLED[method])
