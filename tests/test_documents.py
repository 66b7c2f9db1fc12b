"""Every code block of the documents is right: Python is run, and of commands there is what they name.

What cannot be run stands in `EXCEPTIONS`.
"""

from __future__ import annotations

import itertools
import re
import shlex
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import pgaspy as pg
from tests.jobs import ROOT, run, run_job
from tests.together import collectively

DOCUMENTS = [*sorted(ROOT.glob("*.md")), *sorted(path for path in (ROOT / "docs").glob("*.md")
                                                 if path.name != "gallery.md")]  # whose blocks are parts of examples

EXCEPTIONS = {
    "import ipyparallel": "starts engines: see tests/showing/test_notebooks.py",
    "commands/  ": "the drawing, which tests/test_architecture.py reads",
    "python program.py  ": "launchers of other places, and placeholders",
}
"""How blocks begin that are not run, and why."""

LANGUAGES = {"", "python"}


def blocks(text: str) -> list[tuple[str, str]]:
    """The blocks of a document in their order, as (language, text); those that are only indented have none."""
    found: list[tuple[str, str]] = []
    fenced = re.split(r"^```(\w*)\n(.*?)^```$", text, flags=re.MULTILINE | re.DOTALL)
    for prose, language, block in itertools.zip_longest(fenced[::3], fenced[1::3], fenced[2::3]):
        indented = re.findall(r"(?:^|\n\n)((?:    .*\n|\n(?=    ))+)", prose)
        found += [("", re.sub(r"^    ", "", each, flags=re.MULTILINE)) for each in indented]
        found += [(language, block)] if block is not None else []
    return found


ALL = [(path.name, language, block) for path in DOCUMENTS for language, block in blocks(path.read_text())
       if not block.startswith(tuple(EXCEPTIONS))]
PYTHON = {block.partition("\n")[0]: block for _, language, block in ALL if language == "python"}
COMMANDS = [line for _, language, block in ALL if not language and not block.startswith("the processes")
            for line in block.splitlines() if line]


def test_nothing_is_left_out() -> None:
    """Each block is run or an exception, and each exception is there."""
    texts = [block for path in DOCUMENTS for _, block in blocks(path.read_text())]
    assert {language for path in DOCUMENTS for language, _ in blocks(path.read_text())} == LANGUAGES
    assert all(any(text.startswith(start) for text in texts) for start in EXCEPTIONS)
    assert all(line in "\n".join(texts) for path in DOCUMENTS for line in re.findall(r"^    (\S.*)", path.read_text()))


def test_paths_are_there() -> None:
    named = re.findall(r"`((?:pgaspy|algorithms|docs|tests|tools)/[\w./]*)`", (ROOT / "CONTRIBUTING.md").read_text())
    assert named
    assert [path for path in named if not (ROOT / path).exists()] == []


# Python --------------------------------------------------------------------------------------------------------------


def given() -> dict[str, Any]:
    """What the blocks take for granted."""
    A, B = (pg.random.default_rng(seed).random((12, 12)) for seed in (1, 2))
    return {"np": np, "pg": pg, "A": A, "B": B, "C": pg.zeros((12, 12)), "b": 4}


SHOWS: dict[str, Callable[[dict[str, Any]], bool]] = {
    "import pgaspy as pg": lambda names: float(names["error"]) == 0,
    "import scipy.sparse.linalg as sparse": lambda names: names["info"] == 0 and np.allclose(
        (names["M"] @ pg.array(names["x"])).gather(), 1),
    "from pgaspy.blas": lambda names: np.allclose(names["C"].gather(), names["A"].gather() @ names["B"].gather()),
    "def find_largest": lambda names: float(names["largest"][0]) == float(names["A"].max()),
    "import logging": lambda names: names["step"] == 999,
}
"""What holds after a block; by how it begins."""


CANNON = "import pgaspy as pg"
IS_SQUARE = round(pg.SIZE ** 0.5) ** 2 == pg.SIZE


@pytest.mark.mpi
@pytest.mark.parametrize("start", [start for start in PYTHON if IS_SQUARE or start != CANNON])
def test_python(start: str) -> None:
    names = given()
    exec(compile(PYTHON[start], start, "exec"), names)
    shown, = (holds for beginning, holds in SHOWS.items() if start.startswith(beginning))
    collectively(shown(names), start)


def test_cannon_as_it_is_said(tmp_path: Path) -> None:
    (tmp_path / "cannon.py").write_text(PYTHON[CANNON])
    assert run([sys.executable, "cannon.py"], tmp_path).stdout == "error 0.0 on 1 processes\n"
    done = run([sys.executable, "-m", "pgaspy", "run", "-n", "4", "cannon.py"], tmp_path)
    assert done.stdout == "error 0.0 on 4 processes\n", done.stderr


# Shell ---------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("line", COMMANDS)
def test_commands(line: str, tmp_path: Path) -> None:
    """What they name is there: targets, options, commands, files."""
    words = shlex.split(line.partition(" #")[0])
    if words[0] == "make":
        assert run(["make", "-n", *words[1:]], ROOT).returncode == 0
        return
    assert words[0] in ("pgaspy", ".venv-openmpi/bin/pgaspy", ".venv-openmpi/bin/python")
    if words[1] == "simulate":
        known = run([sys.executable, "-m", "pgaspy", "simulate", "--help"], tmp_path).stdout
        assert [word for word in words if word.startswith("--") and f" {word} " not in known] == []
    elif words[0].endswith("pgaspy"):
        assert words[1] == "run"
        done = run([sys.executable, "-m", "pgaspy", "run", "--dry-run", *words[2:]], tmp_path)
        assert done.returncode == 0, done.stderr
    files = [word for word in words[1:] if word.endswith(".py") and word != "program.py"]
    files += [f"{module.replace('.', '/')}.py" for module in re.findall(r" -m (bench\S+)", line)]
    assert [file for file in files if not (ROOT / file).is_file()] == []


def test_the_error_of_divergence(tmp_path: Path) -> None:
    said, = (block for _, _, block in ALL if block.startswith("the processes do not do the same"))
    (tmp_path / "program.py").write_text(
        "import pgaspy as pg\n\nA = pg.ones((8, 8))\nif pg.RANK == 0:\n    print(float(A.sum()))\n")
    errors = (run_job(4, "program.py", cwd=tmp_path).stderr for _ in range(5))
    assert any(said.strip() in error for error in errors)  # else a process was late, and did nothing yet
