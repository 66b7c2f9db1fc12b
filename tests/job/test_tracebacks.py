"""Tracebacks have the program's frames; those of pgaspy on demand, and where it is mistaken itself."""

from __future__ import annotations

import builtins
import re
from pathlib import Path
from types import FunctionType
from typing import Any

import numpy as np
import pytest

import pgaspy as pg
from pgaspy.job import tracebacks
from pgaspy.planning import view
from tests.jobs import run_job

NOTE = "  (frames inside pgaspy are left out: PGASPY_TRACEBACK=full shows them)\n"


def text_of(call: Any) -> str:
    try:
        call()
    except BaseException as error:
        return tracebacks.formatted(error, error.__traceback__)
    raise RuntimeError("nothing was raised")


def files(text: str) -> list[str]:
    """The files of the frames, without those of pytest."""
    return [name for name in (Path(file).name for file in re.findall(r'File "(.*)", line', text))
            if name not in ("python.py", "raises.py")]


@pytest.fixture
def ones() -> pg.GlobalArray:
    return pg.ones((8, 8))


def test_of_the_program(ones: pg.GlobalArray) -> None:
    text = text_of(lambda: ones + pg.ones(5))
    assert set(files(text)) == {"test_tracebacks.py"}
    assert text.endswith(f"{NOTE}ValueError: operands could not be broadcast together with shapes (8, 8) (5,)\n")


@pytest.mark.parametrize("call", [
    lambda A: A[9], lambda A: A.sum(axis=3), lambda A: np.linalg.solve(A, A[:3]), lambda A: pg.zeros((2.5, 3)),
    lambda A: A.cumsum(99), lambda A: pg.arange(0, 3, 0), lambda A: A.astype("bad"), lambda A: pg.load("nowhere.npy")])
def test_wrong_arguments(ones: pg.GlobalArray, call: Any) -> None:
    text = text_of(lambda: call(ones))
    assert set(files(text)) == {"test_tracebacks.py"}, text
    assert NOTE in text


def test_of_a_task(ones: pg.GlobalArray) -> None:
    def task(a: Any) -> None:
        np.linalg.cholesky(-a)

    pg.schedule(task, ones)
    text = text_of(pg.sync)
    cause, direct, rest = text.partition("\nThe above exception was the direct cause of the following exception:\n")
    assert direct
    assert set(files(cause)) == {"test_tracebacks.py", "_linalg.py"}, cause
    assert "in task\n" in cause
    assert set(files(rest)) == {"test_tracebacks.py"}, rest
    assert "TaskError: the task" in rest


def test_notes_contexts_and_groups(ones: pg.GlobalArray) -> None:
    def call() -> None:
        try:
            _ = ones[9]
        except IndexError as error:
            error.add_note("a note")
            raise builtins.BaseExceptionGroup("a group", [error]) from None

    text = text_of(call)
    assert "a note" in text
    assert "a group" in text
    assert set(files(text)) == {"test_tracebacks.py"}, text


@pytest.mark.parametrize("error", [AssertionError("mistaken"), NameError("mistaken")])
def test_mistakes_of_pgaspy(ones: pg.GlobalArray, monkeypatch: pytest.MonkeyPatch, error: Exception) -> None:
    def index(*_: Any) -> None:
        raise error

    inside = FunctionType(index.__code__, vars(view), closure=index.__closure__)  # a function of that module
    monkeypatch.setattr(view.View, "index", inside)
    text = text_of(lambda: ones[3])
    assert "array.py" in files(text), text
    assert NOTE not in text


def test_what_is_not_found_in_pgaspy_itself(ones: pg.GlobalArray, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr(view.View, "read_only")
    text = text_of(lambda: pg.broadcast_to(ones, (3, 8, 8)))
    assert "manipulation.py" in files(text), text
    assert NOTE not in text


def test_all_frames_on_demand(ones: pg.GlobalArray, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PGASPY_TRACEBACK", "full")
    text = text_of(lambda: ones + pg.ones(5))
    assert {"test_tracebacks.py", "array.py", "ufuncs.py"} <= set(files(text))
    assert NOTE not in text


def test_without_frames_of_pgaspy() -> None:
    text = text_of(lambda: int("x"))
    assert text.endswith("ValueError: invalid literal for int() with base 10: 'x'\n")
    assert NOTE not in text


def test_a_program(tmp_path: Path) -> None:
    (tmp_path / "program.py").write_text("import pgaspy as pg\nA = pg.ones((8, 8))\nA + pg.ones(5)\n")
    done = run_job(1, "program.py", cwd=tmp_path)
    assert done.returncode == 1
    assert files(done.stderr) == ["program.py"], done.stderr
    assert NOTE in done.stderr
