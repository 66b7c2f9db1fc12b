"""Recording in C: what comes by meanwhile."""

from __future__ import annotations

import gc
from typing import Any

import pytest

import pgaspy as pg
from pgaspy.execution import recording
from pgaspy.execution.queue import Queue


class Garbage:
    """What only the collector finds, and writes to an array when it does."""

    def __init__(self, target: pg.GlobalArray) -> None:
        self.itself, self.target = self, target

    def __del__(self) -> None:
        self.target += 1.0


@pytest.mark.parametrize("is_lent", [False, True])  # to the program, for which it is Python that records
def test_what_is_garbage_may_record_while_something_is_recorded(is_lent: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Queue, "computes_at_once", False)
    x, y, held = pg.zeros(4), pg.zeros(4), list[Any]()
    seen = pg.zeros(4).local() if is_lent else None
    thresholds = gc.get_threshold()
    try:
        for k in range(600):
            gc.disable()
            Garbage(y)
            held += [(k, None, None, None, None, None) for _ in range(40)]  # so that memory is new for as large a tuple
            gc.set_threshold(gc.get_count()[0] + k % 14)
            gc.enable()
            x += 1.0
            gc.disable()
            recorded = recording.queue.recorded
            numbers = [recorded[i].number for i in range(len(recorded))]
            assert numbers == sorted({*numbers})
            if k % 20 == 19:
                gc.collect()  # not while operations are executed
                pg.sync()
    finally:
        gc.set_threshold(*thresholds)
        gc.enable()
    assert x.gather().tolist() == y.gather().tolist() == [600.0] * 4
    assert seen is None or not seen.any()
