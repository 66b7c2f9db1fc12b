"""Runs a command on the CPUs of its process: `binding.py 4,5:6,7 COMMAND …` lists those of each.

For hosts where the launcher does not see which CPUs it may use, as `taskset` has said. It runs before anything else
starts threads, as a file and not as a module, so that nothing is imported for it.
"""

import os
import sys

RANKS = "OMPI_COMM_WORLD_LOCAL_RANK", "MPI_LOCALRANKID"
"""Where Open MPI and MPICH say which of the host's processes this is."""


def main() -> None:
    """Bind this process, and become the command."""
    rank = next(int(os.environ[name]) for name in RANKS if name in os.environ)
    os.sched_setaffinity(0, map(int, sys.argv[1].split(":")[rank].split(",")))
    os.execvp(sys.argv[2], sys.argv[2:])


if __name__ == "__main__":
    main()
