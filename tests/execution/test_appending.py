"""Recording in C: what comes by meanwhile."""

from __future__ import annotations

import gc
import sys
from types import CodeType
from typing import Any

import pytest

import pgaspy as pg
from pgaspy.execution import recording
from pgaspy.execution.appending import where
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


def line_of(code: CodeType, instruction: int) -> int | None:
    return [*code.co_positions()][instruction // 2][0]


def test_where_the_program_is() -> None:
    """In its innermost frame, whatever functions of pgaspy's are called from there."""
    own: dict[str, Any] = {"where": where}
    exec(compile("def called():\n    return inner()\n\ndef inner():\n    return where()", pg.__file__, "exec"), own)
    for ask in where, own["called"]:
        code, instruction = ask()
        line = sys._getframe().f_lineno - 1
        assert code is sys._getframe().f_code
        assert line_of(code, instruction) == line


def test_where_the_program_is_may_lack_memory() -> None:
    api = pytest.importorskip("_testcapi")

    def ask_without(k: int) -> None:
        """Ask where it is, but for the allocation of this number."""
        api.set_nomemory(k, k + 1)
        try:
            where()
        finally:
            api.remove_mem_hooks()

    def ask() -> None:
        for k in range(10):
            ask_without(k)

    with pytest.raises(MemoryError):
        ask()
    assert where()[0].co_name == "test_where_the_program_is_may_lack_memory"
