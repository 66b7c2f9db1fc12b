"""On two hosts that a link joins: algorithms and faults, with MPI over TCP."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from tests.faults import ALL, SAMPLE, Fault, problem
from tests.jobs import ROOT, run

pytestmark = pytest.mark.hosts

LAUNCHER = [sys.executable, str(ROOT / "tools" / "two_hosts.py"), "--rate", "1gbit", sys.executable]


def test_algorithms() -> None:
    done = run([*LAUNCHER, "-m", "pytest", "-m", "mpi", "tests/algorithms/test_algorithms.py"], ROOT)
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize("fault", [
    pytest.param(fault, id=str(fault), marks=[] if fault in SAMPLE else pytest.mark.long)
    for fault in ALL if fault.n == 2])
def test_a_fault_ends_the_job(tmp_path: Path, fault: Fault) -> None:
    found = problem(fault, LAUNCHER, tmp_path)
    assert not found, found
