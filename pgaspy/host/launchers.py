"""What started this process: a launcher, which says how many processes there are, or a command of pgaspy's own.

Imported before anything that imports MPI, since that starts it.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping, Sequence
from pathlib import PurePath

import mpi4py

__all__ = ["check_size", "is_command", "name"]

SIZES = {"OMPI_COMM_WORLD_SIZE": "mpirun", "PMI_SIZE": "mpiexec", "SLURM_STEP_NUM_TASKS": "srun"}
"""The variables that hold the number of processes, the nearest launcher first: mpiexec may be srun's child."""

RANK = "PMIX_RANK"
"""PMIx says no more than which of the processes this is."""


def name(environment: Mapping[str, str] = os.environ) -> str:
    """The launcher of this process, or nothing where it was started by itself."""
    if "SLURM_STEP_NUM_TASKS" in environment and not {"OMPI_COMM_WORLD_SIZE", "MPI_LOCALNRANKS"} & set(environment):
        return "srun"  # which sets PMI_SIZE, too, with --mpi=pmi2
    return next((launcher for variable, launcher in SIZES.items() if variable in environment), "")


def check_size(size: int, environment: Mapping[str, str] = os.environ) -> None:
    """Refuse to run as N separate jobs of one process where the launcher started one job of N.

    Parameters
    ----------
    size
        The number of processes that MPI knows of.

    Raises
    ------
    RuntimeError
        If it is 1, and the launcher's variables say otherwise.
    """
    if size > 1:
        return
    variable = next((variable for variable in SIZES if environment.get(variable, "").isdigit()), RANK)
    found = environment.get(variable, "")
    if not found.isdigit() or int(found) <= (0 if variable == RANK else 1):
        return
    started = "several processes" if variable == RANK else f"{found} processes"
    raise RuntimeError(
        f"the launcher started {started} ({variable}={found}), but MPI knows of this one only: the launcher "
        "and the MPI library do not fit together. With Slurm, use `srun --mpi=pmix` (see `srun --mpi=list`) "
        "or a MPI library built for Slurm's PMI; with mpirun, use the one that belongs to the MPI library")


def is_command(argv: Sequence[str], command_line: Sequence[str]) -> bool:
    """Whether a process is `python -m pgaspy …` or the script `pgaspy …`.

    Parameters
    ----------
    argv, command_line
        As `sys.argv` and `sys.orig_argv` are while the package is imported, before its `__main__` is found.

    >>> is_command(["-m", "run", "x.py"], ["python", "-m", "pgaspy", "run", "x.py"])
    True
    >>> is_command(["-m", "100"], ["python", "-m", "pgaspy.algorithms.lu", "100"])
    False
    """
    if argv[:1] == ["-m"]:
        return command_line[-len(argv)].removeprefix("-m") == "pgaspy"
    return argv[:1] != [] and PurePath(argv[0]).name == "pgaspy"


if is_command(sys.argv, sys.orig_argv):  # it starts MPI if it needs it: on some login nodes that ends the process
    mpi4py.rc(initialize=False, finalize=True)
