"""ScaLAPACK on 2 processes with 1 thread each: the rival of the linear algebra on distributed matrices.

Usage: python -m bench.scalapack [-n 4000] [--repeats 5] [--jobs gemm getrf potrf geqrf]
"""

from __future__ import annotations

import argparse
import atexit
import functools
import os
import shutil
import tempfile
from dataclasses import dataclass, replace
from itertools import product
from pathlib import Path
from statistics import median

from bench import processes, reference
from bench.reference import Missing

__all__ = ["FLOP", "Missing", "Setting", "best_setting", "scalapack_seconds"]

FLOP = {"gemm": 2.0, "getrf": 2 / 3, "potrf": 1 / 3, "geqrf": 4 / 3}
"""Per job, the floating point operations over n**3."""

MPIRUN = "/usr/bin/mpirun"
BLOCKS = (32, 64, 128, 192, 256)
GRIDS = ((2, 1), (1, 2))
PANELS = (32, 64, 128, 256)
OF_A_JOB = ("OMPI_", "OPAL_", "PMIX_", "PRTE_")
"""How the variables begin that would tie a job to the one that it is started from."""


@dataclass(frozen=True)
class Setting:
    """What ScaLAPACK leaves to its users: the matrices' blocks, the grid, and the panels that PBLAS communicates."""

    block: int = 64
    grid: tuple[int, int] = (1, 2)
    panel: int = 64

    def __str__(self) -> str:
        return f"blocks of {self.block}, grid {self.grid[0]} x {self.grid[1]}, panels of {self.panel}"


def scalapack_seconds(job: str, n: int, setting: Setting, repeats: int = 5) -> list[float]:
    """The seconds of each repeat of a job on n x n matrices, after one that is not counted.

    Raises
    ------
    Missing
        If there is no ScaLAPACK here.
    """
    program = _program()
    if program is None or not Path(MPIRUN).exists():
        raise Missing("no ScaLAPACK: on Debian, install libscalapack-openmpi-dev and openmpi-bin")
    environment = {name: value for name, value in os.environ.items() if not name.startswith(OF_A_JOB)}
    environment |= {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1", "OPENBLAS_NUM_THREADS": "1"}
    numbers = (n, setting.block, *setting.grid, setting.panel, repeats)
    done = processes.run([MPIRUN, "-n", "2", "--bind-to", "core", str(program), job, *map(str, numbers)], environment)
    if done.returncode:
        raise RuntimeError(f"{job} of ScaLAPACK failed with {setting}: {done.stderr}")
    return [float(line) for line in done.stdout.split()]


def best_setting(job: str, n: int, repeats: int = 2) -> Setting:
    """The fastest of all blocks and grids, then the fastest panel for them."""

    def seconds(setting: Setting) -> float:
        return min(scalapack_seconds(job, n, setting, repeats))

    best = min((Setting(block, grid) for block, grid in product(BLOCKS, GRIDS)), key=seconds)
    return min((replace(best, panel=panel) for panel in PANELS), key=seconds)


@functools.cache
def _program() -> Path | None:
    folder = Path(tempfile.mkdtemp(prefix="pgaspy-bench-"))
    atexit.register(shutil.rmtree, folder)
    return reference.scalapack(folder)


def main() -> None:
    """Print the speed of each job, with the setting that is the best for it."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--jobs", nargs="+", choices=FLOP, default=list(FLOP))
    parser.add_argument("-n", type=int, default=4000, help="size of the matrices")
    parser.add_argument("--repeats", type=int, default=5)
    arguments = parser.parse_args()
    n = arguments.n
    for job in arguments.jobs:
        setting = best_setting(job, n)
        speed = FLOP[job] * n**3 / 1e9 / median(scalapack_seconds(job, n, setting, arguments.repeats))
        print(f"{job}, n = {n}: {speed:.1f} GFLOP/s with {setting}", flush=True)


if __name__ == "__main__":
    main()
