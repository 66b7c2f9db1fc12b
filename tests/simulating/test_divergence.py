"""Processes that do not do the same are noticed where they are simulated, too."""

from __future__ import annotations

from pathlib import Path

import pytest

from pgaspy.simulating.machine import Machine
from pgaspy.simulating.scripts import CommandLine
from pgaspy.simulating.settings import Settings, SimulationError
from pgaspy.simulating.simulation import Simulation, simulate
from pgaspy.simulating.tasks import TaskTimes


def simulated(folder: Path, program: str, size: int) -> Simulation:
    file = folder / "program.py"
    file.write_text(f"import pgaspy as pg\nA = pg.ones(400)\n{program}\n")
    return simulate(CommandLine(str(file), False), size, Settings(Machine(), TaskTimes({}), 1.0))


@pytest.mark.parametrize("size", [3, 100])
@pytest.mark.parametrize(("program", "first", "other"), [
    ("for i in range(pg.RANK): A = A + 1", "add", "the end of the program"),
    ("if pg.RANK == 0: A = A + 1\nfloat(A.sum())", "add", "sum"),
    ("if pg.RANK: pg.COMM.Barrier()\nB = A[1:] if pg.RANK else A[:-1]\nB += 1", "add", "add"),
    ("for i in range(2000): A += 1\nif pg.RANK == 0: float(A[0])\nfloat(A.sum())", "assign", "reduce"),
])
def test_processes_that_differ(program: str, first: str, other: str, size: int, tmp_path: Path) -> None:
    with pytest.raises(SimulationError, match="the processes do not do the same") as caught:
        simulated(tmp_path, program, size)
    said = str(caught.value)
    lines = [line for line in said.splitlines() if line.startswith("  on rank")]
    assert len(lines) > 1 or "but of other arrays" in said, said
    assert all(word in said for word in (first, other)), said
    assert "program.py:" in said


@pytest.mark.parametrize("program", [
    "if pg.RANK == 1: A.local()[...] += 1\nA += 1",
    "x = pg.COMM.allreduce(pg.RANK)\nif x == pg.RANK: A += 1",
    "B = pg.ones((7, 5)) if pg.RANK else pg.ones((7, 5))\nB[1:] = B[:-1] + B.sum()\nprint(float(B[0, 0]))",
    "if float(A.sum()) > 0: raise SystemExit(1)",
])
def test_processes_that_do_the_same(program: str, tmp_path: Path) -> None:
    for size in 1, 3, 100:
        simulated(tmp_path, program, size)
