"""The command line that starts a job: `mpirun` of the MPI in use or, inside an allocation of Slurm, `srun`."""

from __future__ import annotations

import sys
from dataclasses import dataclass

from pgaspy.commands import binding
from pgaspy.commands.topology import Topology
from pgaspy.host.words import counted

__all__ = ["Job", "LaunchError", "Site", "command_line"]


class LaunchError(Exception):
    """A job cannot be started so; the message says what to do."""


@dataclass(frozen=True)
class Job:
    """What is asked for.

    Attributes
    ----------
    n
        Number of processes; None for one per NUMA domain.
    threads
        Cores of each process; None for an equal share of the cores.
    per_numa
        Whether no two processes share a NUMA domain, and none lies in two.
    unbound
        Whether each process may run on all cores.
    """

    n: int | None = None
    threads: int | None = None
    per_numa: bool = False
    unbound: bool = False


@dataclass(frozen=True)
class Site:
    """Where a job is started.

    Attributes
    ----------
    launcher
        The path of `mpiexec`, or of `srun`.
    kind
        Whose options it takes: "Open MPI", "MPICH" or "Slurm".
    topology
        The CPUs that the job has on each host; None where this is none of its hosts.
    n_cpus
        How many these are.
    n_hosts
        How many hosts it has.
    pmi
        By what Slurm and the MPI library speak; empty for what Slurm takes by itself.
    in_step
        Whether this is a process of a Slurm step.
    is_root
        Whether this is root, whom Open MPI refuses.
    confined
        Whether the job may use fewer of this host's CPUs than the launcher sees, as `taskset` has said.
    """

    launcher: str
    kind: str
    topology: Topology | None
    n_cpus: int
    n_hosts: int = 1
    pmi: str = ""
    in_step: bool = False
    is_root: bool = False
    confined: bool = False


@dataclass(frozen=True)
class _Placement:
    """Where processes go: how many, on each host and in all, and the cores that each gets.

    `cores_hold` is whether there are enough; `sets_threads` whether the launcher has to say how many threads there are,
    since they do not follow from the CPUs that a process may run on.
    """

    n: int
    n_per_host: int
    threads: int
    cores_hold: bool
    sets_threads: bool
    cpus_per_core: int


def command_line(site: Site, job: Job) -> list[str]:
    """The launcher and its options, to which the command is to be added.

    Raises
    ------
    LaunchError
        If a host has not as many NUMA domains or cores as are asked for, or they are not known.
    """
    per_numa = job.per_numa or job.n is None
    place = _one_per_domain(site, job) if per_numa else _equal_shares(site, job)
    bound = place.cores_hold and not job.unbound
    options = _OPTIONS[site.kind](site, place, bound and not site.confined, per_numa)
    return [site.launcher, *options, *(_bound_here(site, place, per_numa) if bound and site.confined else ())]


def _bound_here(site: Site, place: _Placement, per_numa: bool) -> list[str]:
    """What binds each process instead of the launcher."""
    assert site.topology is not None
    cores, n = site.topology.cores_by_domain, place.threads
    shares = [site.topology.within(domain).cores[:n] for domain in site.topology.domains] if per_numa else [
        cores[first:first + n] for first in range(0, len(cores), n)]
    cpus = (",".join(f"{cpu}" for core in share for cpu in core) for share in shares[:place.n])
    return [sys.executable, "-I", "-S", binding.__file__, ":".join(cpus)]


def _one_per_domain(site: Site, job: Job) -> _Placement:
    if site.topology is None:
        raise LaunchError("the NUMA domains of the allocation's hosts are not known here: say how many processes (-n), "
                          "or do this in the batch script")
    domains = [site.topology.n_cores(domain) for domain in site.topology.domains]
    n = job.n or len(domains) * site.n_hosts
    threads = job.threads or min(domains)
    if n > len(domains) * site.n_hosts or threads > min(domains):
        raise LaunchError(f"one process per NUMA domain: there are {counted(len(domains) * site.n_hosts, 'domain')} of "
                          f"{counted(min(domains), 'core')}, but {counted(n, 'process', 'processes')} of "
                          f"{counted(threads, 'core')} {'is' if n == 1 else 'are'} asked for")
    return _placement(site, job, n, -(-n // site.n_hosts), threads)


def _equal_shares(site: Site, job: Job) -> _Placement:
    assert job.n is not None
    per_host = -(-job.n // site.n_hosts)
    return _placement(site, job, job.n, per_host, job.threads or max(_n_cores(site) // per_host, 1))


def _placement(site: Site, job: Job, n: int, per_host: int, threads: int) -> _Placement:
    cpus_per_core = max(site.n_cpus // _n_cores(site), 1)
    return _Placement(n, per_host, threads, per_host * threads <= _n_cores(site),
                      job.threads is not None or (cpus_per_core > 1 and not job.unbound), cpus_per_core)


def _n_cores(site: Site) -> int:
    return len(site.topology.cores) if site.topology is not None else site.n_cpus


def _open_mpi(site: Site, place: _Placement, bound: bool, per_numa: bool) -> list[str]:
    options = ["-n", f"{place.n}"]
    if site.is_root:
        options += ["--allow-run-as-root"]
    if not place.cores_hold:
        options += ["--map-by", ":OVERSUBSCRIBE"]
    if not bound:
        options += ["--bind-to", "none"]
    else:  # by itself, Open MPI binds one or two processes to one core each
        options += ["--map-by", f"{'ppr:1:numa' if per_numa else 'slot'}:pe={place.threads}", "--bind-to", "core"]
    return options + (["-x", f"OMP_NUM_THREADS={place.threads}"] if place.sets_threads else [])


def _mpich(site: Site, place: _Placement, bound: bool, per_numa: bool) -> list[str]:
    options = ["-n", f"{place.n}"]
    if bound:
        options += ["-bind-to", "numa" if per_numa else f"core:{place.threads}"]
    return options + (["-genv", "OMP_NUM_THREADS", f"{place.threads}"] if place.sets_threads else [])


def _slurm(site: Site, place: _Placement, bound: bool, per_numa: bool) -> list[str]:
    options = [f"--mpi={site.pmi}"] if site.pmi else []
    options += ["--kill-on-bad-exit=1", f"--ntasks={place.n}", f"--ntasks-per-node={place.n_per_host}"]
    if place.cores_hold:
        options += [f"--cpus-per-task={place.threads * place.cpus_per_core}"]
    else:
        options += ["--overcommit"]
    options += [f"--cpu-bind={'cores' if bound else 'none'}"]
    if site.in_step:
        options += ["--overlap"]
    return options + ([f"--export=ALL,OMP_NUM_THREADS={place.threads}"] if place.sets_threads else [])


_OPTIONS = {"Open MPI": _open_mpi, "MPICH": _mpich, "Slurm": _slurm}
