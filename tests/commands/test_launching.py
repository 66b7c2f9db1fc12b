"""The command lines that start jobs: by the launcher, on several machines."""

from __future__ import annotations

import os
import shlex
import sys
from pathlib import Path

import pytest

from pgaspy.commands.launching import Job, LaunchError, Site, command_line
from pgaspy.commands.sites import this_site
from tests import jobs
from tests.machines import topology


def line(tmp_path: Path, machine: str, kind: str, job: Job, **of_site: object) -> str:
    found = topology(machine, tmp_path)
    site = Site("mpiexec", kind, found, sum(map(len, found.cores)), **of_site)  # type: ignore[arg-type]
    return shlex.join(command_line(site, job))


@pytest.mark.parametrize(("machine", "job", "options"), [
    ("a virtual machine", Job(), "-n 1 --map-by ppr:1:numa:pe=2 --bind-to core"),
    ("a virtual machine", Job(1), "-n 1 --map-by slot:pe=2 --bind-to core"),
    ("a virtual machine", Job(2), "-n 2 --map-by slot:pe=1 --bind-to core"),
    ("a virtual machine", Job(4), "-n 4 --map-by :OVERSUBSCRIBE --bind-to none"),
    ("a virtual machine", Job(2, threads=2), "-n 2 --map-by :OVERSUBSCRIBE --bind-to none -x OMP_NUM_THREADS=2"),
    ("a virtual machine", Job(2, unbound=True), "-n 2 --bind-to none"),
    ("eight domains", Job(), "-n 8 --map-by ppr:1:numa:pe=16 --bind-to core"),
    ("eight domains", Job(4, per_numa=True), "-n 4 --map-by ppr:1:numa:pe=16 --bind-to core"),
    ("eight domains", Job(threads=8), "-n 8 --map-by ppr:1:numa:pe=8 --bind-to core -x OMP_NUM_THREADS=8"),
    ("eight domains", Job(3), "-n 3 --map-by slot:pe=42 --bind-to core"),
    ("two sockets", Job(), "-n 2 --map-by ppr:1:numa:pe=16 --bind-to core -x OMP_NUM_THREADS=16"),
    ("a laptop", Job(3), "-n 3 --map-by slot:pe=1 --bind-to core -x OMP_NUM_THREADS=1"),
])
def test_open_mpi(tmp_path: Path, machine: str, job: Job, options: str) -> None:
    assert line(tmp_path, machine, "Open MPI", job) == f"mpiexec {options}"


def test_open_mpi_lets_root_in(tmp_path: Path) -> None:
    assert " --allow-run-as-root " in line(tmp_path, "a laptop", "Open MPI", Job(2), is_root=True)


@pytest.mark.parametrize(("kind", "unbound"), [("Open MPI", "--bind-to none"), ("MPICH", "-n")])
@pytest.mark.parametrize(("machine", "job", "cpus"), [
    ("a virtual machine", Job(2), "0:1"),
    ("a virtual machine", Job(), "0,1"),
    ("two sockets", Job(), ":".join(",".join(f"{cpu},{cpu + 32}" for cpu in cpus)
                                    for cpus in (range(16), range(16, 32)))),
    ("a laptop", Job(3), "0,4:1,5:2,6"),
    ("eight domains", Job(2, threads=2), "0,1:2,3"),
])
def test_where_the_launcher_does_not_see_which_cpus(tmp_path: Path, machine: str, job: Job, cpus: str, kind: str,
                                                    unbound: str) -> None:
    words = line(tmp_path, machine, kind, job, confined=True)
    assert words.endswith(f"binding.py {cpus}")
    assert unbound in words


@pytest.mark.jobs
def test_jobs_stay_on_the_cpus_of_taskset(tmp_path: Path) -> None:
    cpu = max(os.sched_getaffinity(0))
    program = "import os, sys; os.sched_setaffinity(0, {int(sys.argv[1])}); os.execv(sys.executable, sys.argv[2:])"
    shown = jobs.run([sys.executable, "-c", program, str(cpu), sys.executable, "-m", "pgaspy", "run", "-n", "1",
                      "-c", "import os; print(os.sched_getaffinity(0))"], tmp_path)
    assert shown.stdout.strip() == f"{{{cpu}}}", shown.stderr


@pytest.mark.parametrize(("machine", "job", "options"), [
    ("a virtual machine", Job(2), "-n 2 -bind-to core:1"),
    ("a virtual machine", Job(4), "-n 4"),
    ("eight domains", Job(), "-n 8 -bind-to numa"),
    ("eight domains", Job(4, threads=2), "-n 4 -bind-to core:2 -genv OMP_NUM_THREADS 2"),
])
def test_mpich(tmp_path: Path, machine: str, job: Job, options: str) -> None:
    assert line(tmp_path, machine, "MPICH", job) == f"mpiexec {options}"


@pytest.mark.parametrize(("machine", "job", "options"), [
    ("eight domains", Job(), "--ntasks=16 --ntasks-per-node=8 --cpus-per-task=16 --cpu-bind=cores"),
    ("eight domains", Job(3), "--ntasks=3 --ntasks-per-node=2 --cpus-per-task=64 --cpu-bind=cores"),
    ("a virtual machine", Job(8), "--ntasks=8 --ntasks-per-node=4 --overcommit --cpu-bind=none"),
    ("two sockets", Job(), "--ntasks=4 --ntasks-per-node=2 --cpus-per-task=32 --cpu-bind=cores "
                           "--export=ALL,OMP_NUM_THREADS=16"),
])
def test_slurm_on_two_hosts(tmp_path: Path, machine: str, job: Job, options: str) -> None:
    found = line(tmp_path, machine, "Slurm", job, n_hosts=2, pmi="pmix")
    assert found == f"mpiexec --mpi=pmix --kill-on-bad-exit=1 {options}"


def test_slurm_in_a_step_and_by_its_own_choice(tmp_path: Path) -> None:
    found = line(tmp_path, "a laptop", "Slurm", Job(1), in_step=True)
    assert "--mpi" not in found
    assert "--overlap" in found


@pytest.mark.parametrize(("job", "words"), [
    (Job(9, per_numa=True), "8 domains of 16 cores, but 9 processes of 16 cores are asked for"),
    (Job(threads=17), "8 domains of 16 cores, but 8 processes of 17 cores are asked for"),
])
def test_more_than_there_is(tmp_path: Path, job: Job, words: str) -> None:
    with pytest.raises(LaunchError, match=words):
        line(tmp_path, "eight domains", "Open MPI", job)


def test_an_allocation_seen_from_a_host_that_is_none_of_it() -> None:
    site = Site("srun", "Slurm", None, n_cpus=8, n_hosts=4, pmi="pmix")
    assert "--ntasks-per-node=2 --cpus-per-task=4" in shlex.join(command_line(site, Job(8)))
    with pytest.raises(LaunchError, match="not known here: say how many"):
        command_line(site, Job())


def test_a_launcher_that_fails_says_why(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    launcher = tmp_path / "mpiexec"
    launcher.write_text("#!/bin/sh\necho no home >&2\nexit 3\n")
    launcher.chmod(0o755)
    monkeypatch.setattr(sys, "executable", str(tmp_path / "python"))
    with pytest.raises(LaunchError, match=r"(?s)mpiexec --version fails:\nno home"):
        this_site({})


@pytest.fixture
def slurm(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, str]:
    """The variables of an allocation, and a `srun` on the path."""
    (tmp_path / "srun").touch(mode=0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    return {"SLURM_JOB_ID": "7", "SLURM_JOB_NUM_NODES": "3", "SLURM_JOB_CPUS_PER_NODE": "8(x2),6"}


def test_the_site_in_an_allocation(tmp_path: Path, slurm: dict[str, str]) -> None:
    site = this_site(slurm)
    assert (site.launcher, site.kind, site.n_hosts, site.n_cpus) == (str(tmp_path / "srun"), "Slurm", 3, 6)
    assert site.pmi in ("pmix", "pmi2")
    assert site.topology is None
    assert not site.in_step
    on_host = this_site(slurm | {"SLURMD_NODENAME": "n1", "SLURM_STEP_ID": "0", "SLURM_MPI_TYPE": "pmix"})
    assert on_host.topology is not None
    assert on_host.in_step
    assert not on_host.pmi


def test_the_site_of_this_host() -> None:
    site = this_site({})
    assert site.kind in ("Open MPI", "MPICH")
    assert site.n_hosts == 1
    assert site.topology is not None
