"""One process fails in some way, and the whole job ends: some of all faults; all of them with --all."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.faults import ALL, SAMPLE, Fault, problem
from tests.jobs import launcher


@pytest.mark.parametrize("fault", [
    pytest.param(fault, id=str(fault), marks=[] if fault in SAMPLE else pytest.mark.long) for fault in ALL])
def test_a_fault_ends_the_job(tmp_path: Path, fault: Fault) -> None:
    found = problem(fault, launcher(fault.n), tmp_path)
    assert not found, found
