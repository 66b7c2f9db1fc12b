"""On two nodes of Slurm, inside an allocation: algorithms, faults, and a launcher that MPI does not know."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from tests.faults import ALL, SAMPLE, Fault, problem
from tests.jobs import ROOT, launcher, run, run_job

pytestmark = pytest.mark.slurm


def test_the_processes_are_on_two_nodes(tmp_path: Path) -> None:
    done = run_job(2, "-c", "import os, pgaspy as pg; print(pg.RANK, 'of', pg.SIZE, 'on', os.uname().nodename)",
                   cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert sorted(done.stdout.splitlines()) == ["0 of 2 on node1", "1 of 2 on node2"]


def test_algorithms() -> None:
    done = run_job(2, "-m", "pytest", "-m", "mpi", "tests/algorithms/test_algorithms.py", cwd=ROOT)
    assert done.returncode == 0, done.stdout + done.stderr


def test_processes_that_mpi_does_not_know_are_refused(tmp_path: Path) -> None:
    done = run(["srun", "--mpi=none", "--ntasks=2", sys.executable, "-c", "import pgaspy"], tmp_path)
    assert done.returncode != 0
    assert done.stderr.count("RuntimeError: the launcher started 2 processes (SLURM_STEP_NUM_TASKS=2)") == 2
    assert "use `srun --mpi=pmix`" in done.stderr


@pytest.mark.parametrize("fault", [
    pytest.param(fault, id=str(fault), marks=[] if fault in SAMPLE else pytest.mark.long) for fault in ALL])
def test_a_fault_ends_the_job(tmp_path: Path, fault: Fault) -> None:
    found = problem(fault, launcher(fault.n), tmp_path)
    assert not found, found
