"""What is known of each process of a job: where it runs, with what, and how fast."""

from __future__ import annotations

import os
import platform
import socket
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import mpi4py
import numpy as np
import psutil
import scipy
import threadpoolctl

import pgaspy as pg
from pgaspy.commands import speeds
from pgaspy.commands.topology import Topology, allowed_cpus, host_topology
from pgaspy.host import launchers
from pgaspy.kernels import compiler

__all__ = ["Blas", "Facts", "Speeds", "collect"]


SYSTEM_PREFIXES = ("/usr", "/usr/local")
"""Where a Python and an MPI may be together without belonging together."""


@dataclass(frozen=True)
class Blas:
    """A BLAS library that the process has loaded, as threadpoolctl knows it; `kernel` is empty where it does not."""

    name: str
    version: str
    kernel: str
    n_threads: int


@dataclass(frozen=True)
class Speeds:
    """What a process reaches, as in `pgaspy.commands.speeds`: GFLOP/s, GFLOP/s, GB/s.

    `peak` is None where there is no compiler.
    """

    product: float
    peak: float | None
    memory: float

    @property
    def share(self) -> float | None:
        """The share of the peak that products have."""
        return None if self.peak is None else self.product / self.peak


@dataclass(frozen=True)
class Facts:
    """One process.

    Attributes
    ----------
    launcher
        "mpirun", "mpiexec", "srun", or nothing for a process by itself.
    in_allocation
        Whether it is in an allocation of Slurm.
    mpi, mpi_path
        The version of the MPI library, in one line, and the file that it is in; empty where that is not known.
    mpi_is_bundled
        Whether the library is one of Python packages, which knows nothing of a cluster's network.
    cpus
        The CPUs that the process may run on.
    n_threads, asked_threads
        The threads that it uses, and OMP_NUM_THREADS.
    blas
        The one that NumPy's products are done by comes first.
    memory, free_memory
        Of the host, in bytes.
    simd
        What NumPy found of the processor's vector instructions, as NumPy names them.
    has_avx512
        Whether AVX-512 is among them.
    compiler
        Its command; empty where there is none.
    """

    rank: int
    size: int
    host: str
    launcher: str
    in_allocation: bool
    mpi: str
    mpi_path: str
    mpi_is_bundled: bool
    cpus: tuple[int, ...]
    topology: Topology
    processor: str
    simd: tuple[str, ...]
    has_avx512: bool
    n_threads: int
    asked_threads: str
    blas: tuple[Blas, ...]
    memory: int
    free_memory: int
    compiler: str
    versions: Mapping[str, str]
    speeds: Speeds | None = None


def collect(measured: bool = True) -> Facts:
    """The facts of this process. Collective; with the speeds, it takes a second."""
    from mpi4py import MPI

    memory, mpi_path = psutil.virtual_memory(), _path_of_mpi()
    cc, cpuinfo = compiler.find(), _cpuinfo()
    return Facts(
        rank=pg.RANK,
        size=pg.SIZE,
        host=socket.gethostname(),
        launcher=launchers.name(),
        in_allocation="SLURM_JOB_ID" in os.environ,
        mpi=" ".join(MPI.Get_library_version().split(",")[0].splitlines()[0].split()),
        mpi_path=mpi_path,
        mpi_is_bundled=Path(sys.prefix) in Path(mpi_path).parents and sys.prefix not in SYSTEM_PREFIXES,
        cpus=allowed_cpus(),
        topology=host_topology(),
        processor=cpuinfo.get("model name", platform.machine()),
        simd=tuple(np.show_config(mode="dicts")["SIMD Extensions"]["found"]),
        has_avx512="avx512f" in cpuinfo.get("flags", "").split(),
        n_threads=pg.THREADS,
        asked_threads=os.environ.get("OMP_NUM_THREADS", ""),
        blas=_blas(),
        memory=memory.total,
        free_memory=memory.available,
        compiler="" if cc is None else str(cc),
        versions={"pgaspy": pg.__version__, "Python": platform.python_version(), "NumPy": np.__version__,
                  "SciPy": scipy.__version__, "mpi4py": mpi4py.__version__},
        speeds=Speeds(speeds.product_speed(), speeds.peak_speed(), speeds.memory_speed()) if measured else None)


def _blas() -> tuple[Blas, ...]:
    found: list[dict[str, Any]] = [row for row in threadpoolctl.threadpool_info() if row["user_api"] == "blas"]
    found.sort(key=lambda row: "numpy" not in row["filepath"])
    return tuple(Blas(row["internal_api"], row["version"] or "", row.get("architecture", ""), row["num_threads"])
                 for row in found)


def _path_of_mpi() -> str:
    """The file of the MPI library that this process has loaded."""
    names = (Path(entry.path) for entry in psutil.Process().memory_maps())
    return next((str(path) for path in names if path.name.startswith(("libmpi.so", "libmpich.so", "libmpi_"))), "")


def _cpuinfo() -> dict[str, str]:
    """What Linux says of the first CPU."""
    try:
        first = Path("/proc/cpuinfo").read_text().partition("\n\n")[0]
    except OSError:
        return {}
    lines = (line.partition(":") for line in first.splitlines())
    return {key.strip(): value.strip() for key, _, value in lines}
