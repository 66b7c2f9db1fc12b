"""A process that fails while pgaspy is imported ends the job, from where MPI has started."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.jobs import run_job

PROGRAM = """
import os, signal, sys

variables = "OMPI_COMM_WORLD_RANK", "PMI_RANK", "SLURM_PROCID"
RANK = int(next(os.environ[name] for name in variables if name in os.environ))

class Failing:
    @staticmethod
    def find_spec(name, path=None, target=None):
        if name != {module!r} or RANK != 1:
            return None
        found = (finder.find_spec(name, path, target) for finder in sys.meta_path if finder is not Failing)
        spec = next(filter(None, found))
        execute = spec.loader.exec_module

        def execute_and_fail(module):
            execute(module)
            {failure}

        spec.loader.exec_module = execute_and_fail
        return spec

sys.meta_path.insert(0, Failing)
{first}
import pgaspy as pg
print(float(pg.ones(8).sum()))
"""

INTERRUPTED = "os.kill(os.getpid(), signal.SIGINT)"


@pytest.mark.parametrize(("module", "failure", "first", "said"), [
    ("mpi4py.MPI", INTERRUPTED, "", "uncaught KeyboardInterrupt"),
    ("pgaspy.execution.transport", INTERRUPTED, "", "uncaught KeyboardInterrupt"),
    ("pgaspy.supervision.alarms", "raise ImportError('bad module')", "", "uncaught ImportError"),
    ("pgaspy.routines.windows", "sys.exit('bad module')", "", "exit('bad module')"),
    ("pgaspy.array", "raise ImportError('bad module')", "from mpi4py import MPI", "uncaught ImportError"),
])
def test_a_failure_of_an_import_ends_the_job(module: str, failure: str, first: str, said: str, tmp_path: Path) -> None:
    (tmp_path / "program.py").write_text(PROGRAM.format(module=module, failure=failure, first=first))
    done = run_job(2, "program.py", cwd=tmp_path)
    assert done.returncode, done.stderr
    assert f"rank 1 of 2: {said}" in done.stderr
    assert "import pgaspy as pg" in done.stderr
    if said.startswith("uncaught"):
        assert "are left out" not in done.stderr  # frames of pgaspy, which could not be imported
