"""Jobs that tests start: several processes of a program, under the launcher that is at hand."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from pgaspy.commands.launching import Job, command_line
from pgaspy.commands.sites import this_site

__all__ = ["ROOT", "clean_environment", "launcher", "run", "run_job"]

ROOT = Path(__file__).parent.parent
TIMEOUT_SECONDS = 60

NOT_STARTED = "listener thread failed to start"
"""What Open MPI's launcher says where it fails now and then, before the program begins."""


def clean_environment() -> dict[str, str]:
    """This process's environment without its traces of MPI: it is a job of one, the child starts another job.

    Lines are written as wholes: the pieces of one, as `PYTHONUNBUFFERED` has them, come in between those of others.
    """
    left_out = "OMPI_", "PMI", "PRTE_", "PYTHONUNBUFFERED"
    kept = {name: value for name, value in os.environ.items() if not name.startswith(left_out)}
    return kept | {"PYTHONPATH": str(ROOT)}


def run(command: list[str], cwd: Path, timeout: float = TIMEOUT_SECONDS) -> subprocess.CompletedProcess[str]:
    """Run a command to its end; what it printed, and its status. What its launcher does not start is run again, once.
    """
    for is_last in False, True:
        done = subprocess.run(command, env=clean_environment(), cwd=cwd, timeout=timeout, capture_output=True,
                              text=True, errors="replace", check=False)
        if is_last or NOT_STARTED not in done.stderr:
            break
    return done


def launcher(n: int) -> list[str]:
    """What starts Python on n processes: by mpiexec or, in an allocation of Slurm, by srun on its nodes."""
    return [*command_line(this_site(), Job(n)), sys.executable]


def run_job(n: int, *arguments: str, cwd: Path) -> subprocess.CompletedProcess[str]:
    """Run Python on n processes."""
    return run([*launcher(n), *arguments], cwd)
