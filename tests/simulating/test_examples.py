"""The programs of examples/ are simulated as they are: in jobs of three processes, with small arrays."""

from __future__ import annotations

import sys

import pytest
from _driver import FOLDER, names

from pgaspy.simulating.machine import Machine
from pgaspy.simulating.scripts import CommandLine
from pgaspy.simulating.settings import Settings, SimulationError
from pgaspy.simulating.simulation import simulate
from pgaspy.simulating.tasks import TaskTimes
from tests.test_examples import SMALL

WITH_INDICES = {"page_rank", "particles_in_cells"}
"""Those whose messages follow from indices."""


@pytest.mark.parametrize("name", names())
def test_simulated(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    size, _ = SMALL[name]
    monkeypatch.setattr(sys, "path", [str(FOLDER), *sys.path])
    program = CommandLine(str(FOLDER / f"{name}.py"), False, ["--size", str(max(size, 16)), "--steps", "2"])
    settings = Settings(Machine(), TaskTimes({}), value=1.0)
    if name in WITH_INDICES:
        with pytest.raises(SimulationError, match="--spread"):
            simulate(program, 3, settings)
        settings = Settings(Machine(), TaskTimes({}), value=1.0, spread=3)
    found = simulate(program, 3, settings)
    assert len(found.courses) == 3
    assert all(course.totals.computing > 0 and course.totals.n_messages > 0 for course in found.courses.values())
