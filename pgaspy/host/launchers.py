"""What started this process: a launcher, which says how many processes there are, or a command of pgaspy's own.

Imported before anything that imports MPI, since that starts it.
"""

from __future__ import annotations

import os
import stat
import sys
from collections.abc import Mapping, MutableMapping, Sequence
from pathlib import PurePath

import mpi4py

__all__ = ["check_size", "is_command", "name", "stand_apart"]

SIZES = {"OMPI_COMM_WORLD_SIZE": "mpirun", "PMI_SIZE": "mpiexec", "SLURM_STEP_NUM_TASKS": "srun"}
"""The variables that hold the number of processes, the nearest launcher first: mpiexec may be srun's child."""

RANK = "PMIX_RANK"
"""PMIx says no more than which of the processes this is."""

OF_A_PROCESS = ("PMIX_NAMESPACE", RANK, "PMI_RANK", "PMI_FD", "PMI_PORT", "SLURM_STEP_ID", "SLURM_PROCID")
"""The variables that say which process of which job this is."""

OF_LAUNCHERS = ("PMIX_", "PMI_", "PRTE_", "OMPI_", "MPI_LOCAL", "HYDI_", "SLURM_STEP", "SLURM_PROCID")
"""How the variables begin that MPI finds its job by; settings, which have "_MCA_" in their names, are no such ones."""

MARK = "_PROCESS_OF_PGASPY"
"""The variable that says which process has joined the job that others describe."""


def stand_apart(pid: int, environment: MutableMapping[str, str] = os.environ) -> None:
    """Have a process run by itself that a process of the job has started, as `multiprocessing` or `subprocess` do.

    It has the variables of that one, whose place in the job MPI would give to it as well: the other one would crash, or
    this one wait for the others for ever.
    """
    own = " ".join(f"{name}={environment[name]}" for name in OF_A_PROCESS if name in environment)
    joined, _, known = environment.get(MARK, "").partition(" ")
    if not own:
        return
    if known != own or joined == str(pid) or _has_connection(environment.get("PMI_FD", "")):
        environment[MARK] = f"{pid} {own}"
        return
    for name in [name for name in environment if name.startswith(OF_LAUNCHERS) and "_MCA_" not in name]:
        del environment[name]


def _has_connection(descriptor: str) -> bool:
    """Whether a process has the connection to its launcher that a variable names: those that it starts have not.

    Another launcher, which it starts, may give the same number to those that it starts.
    """
    try:
        return stat.S_ISSOCK(os.fstat(int(descriptor)).st_mode)
    except (ValueError, OSError):
        return False


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
stand_apart(os.getpid())
