"""The variables of the environment: those that are known, and what is said of others."""

from __future__ import annotations

import re
import warnings
from pathlib import Path

import pytest

import pgaspy as pg
from pgaspy.host import environment
from pgaspy.host.environment import VARIABLES
from pgaspy.job.procgrid import world
from tests.job.test_procgrid import run_script
from tests.together import raises_everywhere

ROOT = Path(__file__).parent.parent.parent


@pytest.fixture(autouse=True)
def unset(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in VARIABLES:
        monkeypatch.delenv(name, raising=False)


def test_the_table_of_the_readme_is_the_one_of_the_program() -> None:
    rows = re.findall(r"^\| `(PGASPY_\w+)", (ROOT / "README.md").read_text(), re.MULTILINE)
    assert sorted(rows) == sorted(VARIABLES)


def test_no_other_variable_is_read() -> None:
    sources = (path.read_text() for path in (ROOT / "pgaspy").rglob("*.py"))
    assert {name for source in sources for name in re.findall(r"PGASPY_[A-Z_]+", source)} == set(VARIABLES)


def test_a_variable_that_is_empty_has_its_default(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PGASPY_EXECUTOR", "")
    assert environment.value("PGASPY_EXECUTOR") == "lazy"
    monkeypatch.setenv("PGASPY_EXECUTOR", "inorder")
    assert environment.value("PGASPY_EXECUTOR") == "inorder"


@pytest.mark.mpi
@pytest.mark.parametrize(("name", "value"), [("PGASPY_EXECUTOR", "eager"), ("PGASPY_JIT", "yes"), ("PGASPY_LIBM", "2")])
def test_bad_values_are_refused(monkeypatch: pytest.MonkeyPatch, name: str, value: str) -> None:
    monkeypatch.setenv(name, value)
    raises_everywhere(ValueError, f"{name}={value} is not one of ", lambda: environment.check(world().communicator))


@pytest.mark.mpi
@pytest.mark.parametrize(("name", "values"), [("PGASPY_JIT", "01"), ("PGASPY_LIBM", "10"), ("PGASPY_MARCH", "ab")])
def test_values_that_differ_are_refused(monkeypatch: pytest.MonkeyPatch, name: str, values: str) -> None:
    if pg.SIZE == 1:
        pytest.skip("needs several processes")
    monkeypatch.setenv(name, values[pg.RANK == 1])
    others = f" and {pg.SIZE - 2} more" if pg.SIZE > 2 else ""
    raises_everywhere(ValueError, f"{name} differs between processes: '{values[0]}' on rank 0{others}, "
                      f"'{values[1]}' on rank 1", lambda: environment.check(world().communicator))


@pytest.mark.mpi
def test_some_may_differ(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in "PGASPY_CACHE", "PGASPY_TRACE":
        monkeypatch.setenv(name, str(pg.RANK))
    environment.check(world().communicator)


@pytest.mark.mpi
@pytest.mark.parametrize(("name", "words"), [
    ("PGASPY_EXECUTER", "PGASPY_EXECUTER is no variable of pgaspy: did you mean PGASPY_EXECUTOR?"),
    ("PGASPY_X", "PGASPY_X is no variable of pgaspy: there are PGASPY_ABORT_AFTER, "),
])
def test_unknown_variables_are_warned_of_once(monkeypatch: pytest.MonkeyPatch, name: str, words: str) -> None:
    monkeypatch.setenv(name, "1")
    if pg.RANK == 0:
        with pytest.warns(UserWarning, match=re.escape(words)):
            environment.check(world().communicator)
    else:
        with warnings.catch_warnings():
            environment.check(world().communicator)


def test_a_job_checks_its_variables_when_it_starts() -> None:
    done = run_script("import pgaspy as pg; pg.SIZE", 1, PGASPY_EXECUTOR="eager")
    assert done.returncode
    assert "PGASPY_EXECUTOR=eager is not one of lazy, inorder" in done.stderr
