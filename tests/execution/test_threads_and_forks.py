"""Where global arrays may be used: by one thread at a time, and by the processes of the job alone."""

from __future__ import annotations

import os
import threading
from typing import Any

import numpy as np
import pytest

import pgaspy as pg
from pgaspy.execution import backlog, flushing, queue, recording
from pgaspy.execution.engine import Engine


def test_a_fork_is_no_part_of_the_job() -> None:
    a = pg.ones(5) + 1
    read, write = os.pipe()
    child = os.fork()
    if not child:
        said = "nothing"
        try:
            a += 1
        except RuntimeError as error:
            said = str(error)
        os.write(write, said.encode())
        os._exit(0)
    os.close(write)
    os.waitpid(child, 0)
    assert "is a fork of one that uses pgaspy" in os.read(read, 1000).decode()
    os.close(read)
    a += 1
    np.testing.assert_array_equal(a.gather(), np.full(5, 3.0))


@pytest.mark.parametrize("call", [pg.sync, lambda: pg.ones(3) + 1, lambda: pg.ones(3).local()])
def test_another_thread_while_one_executes(call: Any) -> None:
    said: list[str] = []

    def other() -> None:
        try:
            call()
        except RuntimeError as error:
            said.append(str(error))

    def task(local: Any) -> None:
        thread = threading.Thread(target=other, name="second")
        thread.start()
        thread.join()
        local += 1

    a = pg.zeros(5)
    pg.schedule(task, pg.update(a))
    np.testing.assert_array_equal(a.gather(), np.ones(5))
    assert len(said) == 1
    assert "the thread 'second'" in said[0]


class Waiting(set[Any]):
    """No elements that are watched: another thread waits when it looks at them, before it adds an operation."""

    def __init__(self) -> None:
        super().__init__()
        self.is_asked, self.may_go = threading.Event(), threading.Event()

    def __bool__(self) -> bool:
        if threading.current_thread() is not threading.main_thread():
            self.is_asked.set()
            assert self.may_go.wait(10)
        return False


def recording_thread(monkeypatch: pytest.MonkeyPatch) -> tuple[threading.Thread, Waiting]:
    """Another thread that is recording what was recorded before."""
    recipe, storages, values, _, code, instruction = recording.queue.recorded[0]
    waiting = Waiting()
    monkeypatch.setattr(queue, "borrowers", waiting)
    thread = threading.Thread(target=recording.queue.record, args=(recipe, storages, values, code, instruction))
    thread.start()
    assert waiting.is_asked.wait(10)
    return thread, waiting


def test_an_operation_is_recorded_while_another_thread_executes(monkeypatch: pytest.MonkeyPatch) -> None:
    a = pg.zeros(5)
    pg.sync()
    a += 1
    thread, waiting = recording_thread(monkeypatch)
    pg.sync()
    waiting.may_go.set()
    thread.join(10)
    np.testing.assert_array_equal(a.local(), np.full(5, 2.0))


@pytest.mark.parametrize(("owner", "name"), [
    (backlog, "form_of"), (queue.Queue, "_run_of"), (Engine, "take"), (queue.Queue, "_leave_out")])
def test_an_operation_is_recorded_while_another_thread_plans(monkeypatch: pytest.MonkeyPatch, owner: Any,
                                                             name: str) -> None:
    a = pg.zeros(5)
    pg.sync()
    a += 1
    thread, waiting = recording_thread(monkeypatch)
    step = getattr(owner, name)

    def slow_step(*arguments: Any) -> Any:
        found = step(*arguments)
        waiting.may_go.set()
        thread.join(10)
        return found

    monkeypatch.setattr(owner, name, slow_step)
    pg.sync()
    np.testing.assert_array_equal(a.local(), np.full(5, 2.0))


def test_an_operation_is_recorded_before_another_thread_plans(monkeypatch: pytest.MonkeyPatch) -> None:
    a = pg.zeros(5)
    pg.sync()
    a += 1
    thread, waiting = recording_thread(monkeypatch)

    def late_form_of(*arguments: Any) -> Any:
        waiting.may_go.set()
        thread.join(10)
        return form_of(*arguments)

    form_of = backlog.form_of
    monkeypatch.setattr(backlog, "form_of", late_form_of)
    pg.sync()
    np.testing.assert_array_equal(a.local(), np.full(5, 2.0))


@pytest.mark.parametrize("call", [pg.sync, lambda: recording.queue.closed().__enter__()])
def test_another_thread_begins_to_execute_at_the_last_moment(monkeypatch: pytest.MonkeyPatch, call: Any) -> None:
    has_begun, may_end = threading.Event(), threading.Event()

    def execute() -> None:
        with recording.queue.closed():
            has_begun.set()
            assert may_end.wait(10)

    class Late:
        @staticmethod
        def get_ident() -> int:
            if threading.current_thread() is threading.main_thread() and not has_begun.is_set():
                other.start()
                assert has_begun.wait(10)
            return threading.get_ident()

    a = pg.zeros(5)
    pg.sync()
    a += 1
    other = threading.Thread(target=execute, name="second")
    monkeypatch.setattr(flushing, "threading", Late)
    with pytest.raises(pg.BusyError, match="the thread 'MainThread'"):
        call()
    may_end.set()
    other.join()
    np.testing.assert_array_equal(a.local(), np.ones(5))
