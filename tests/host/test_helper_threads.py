"""Threads beside the program: nobody waits for one that cannot begin, or not for long."""

from __future__ import annotations

import _thread
import threading
import time
from collections.abc import Callable
from typing import Any

import pytest

from pgaspy.host.helper_threads import HelperThread
from pgaspy.kernels.background import Background


def test_it_is_waited_for() -> None:
    may_end, said = threading.Event(), []

    def run(word: str) -> None:
        may_end.wait()
        said.append(word)

    thread = HelperThread(run, "done")
    thread.join(0.01)
    assert thread.is_alive
    assert not said
    may_end.set()
    thread.join()
    assert not thread.is_alive
    assert said == ["done"]


def never_begin(function: Callable[..., Any], arguments: tuple[Any, ...]) -> None:
    """Start a thread that ends before it has called anything, as where memory is short."""


def refuse(function: Callable[..., Any], arguments: tuple[Any, ...]) -> None:
    raise RuntimeError("can't start new thread")


def test_nobody_waits_for_one_that_does_not_begin(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_thread, "start_new_thread", never_begin)
    thread = HelperThread(time.sleep, 100)
    assert not thread.is_alive
    thread.join()


@pytest.mark.parametrize("start", [never_begin, refuse])
def test_calls_are_made_when_there_is_a_thread_for_them_again(monkeypatch: pytest.MonkeyPatch, start: Any) -> None:
    calls: list[int] = []
    background = Background()
    with monkeypatch.context() as short:
        short.setattr(_thread, "start_new_thread", start)
        background.submit(lambda: calls.append(1))
        background.join()
    assert not calls
    background.submit(lambda: calls.append(2))
    background.join()
    assert calls == [1, 2]
