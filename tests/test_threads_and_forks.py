"""Where global arrays may be used: by one thread at a time, and by the processes of the job alone."""

from __future__ import annotations

import os
import threading
from typing import Any

import numpy as np
import pytest

import pgaspy as pg
from pgaspy import runtime


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


class Waiting:
    """Bases of an operation; the thread that records it waits before it has them."""

    def __init__(self, bases: Any) -> None:
        self._bases = bases
        self.is_asked, self.may_go = threading.Event(), threading.Event()

    def __iter__(self) -> Any:
        self.is_asked.set()
        assert self.may_go.wait(10)
        return iter(self._bases)


def recording(a: Any) -> tuple[threading.Thread, Waiting]:
    """Another thread that is recording `a += 1`, as was recorded before."""
    recipe, _, values, number, *_ = runtime.queue._recorded[0]
    bases = Waiting((a._base, a._base))
    thread = threading.Thread(target=runtime.queue.record, args=(recipe, bases, values, number))
    thread.start()
    assert bases.is_asked.wait(10)
    return thread, bases


def test_an_operation_is_recorded_while_another_thread_executes() -> None:
    a = pg.zeros(5)
    pg.sync()
    a += 1
    thread, bases = recording(a)
    pg.sync()
    bases.may_go.set()
    thread.join(10)
    np.testing.assert_array_equal(a.local(), np.full(5, 2.0))


def test_an_operation_is_recorded_while_another_thread_plans(monkeypatch: pytest.MonkeyPatch) -> None:
    a = pg.zeros(5)
    pg.sync()
    a += 1
    thread, bases = recording(a)
    run_of = runtime.Queue._run_of

    def slow_run_of(self: Any, *arguments: Any) -> Any:
        found = run_of(self, *arguments)
        bases.may_go.set()
        thread.join(10)
        return found

    with monkeypatch.context() as patch:
        patch.setattr(runtime.Queue, "_run_of", slow_run_of)
        with pytest.raises(RuntimeError, match="another thread has recorded"):
            pg.sync()
    np.testing.assert_array_equal(a.local(), np.full(5, 2.0))
