"""The CPUs of a host: which make up a core, and which a NUMA domain; as Linux tells in /sys.

A CPU is what the system has a number for: a core has one, or two where it runs two hardware threads.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

__all__ = ["Topology", "allowed_cpus", "granted_cpus", "host_topology", "numbers_from_list"]

SYS = Path("/sys/devices/system")


@dataclass(frozen=True)
class Topology:
    """The CPUs of a host, by core and by NUMA domain. Domains without CPUs do not count."""

    cores: tuple[tuple[int, ...], ...]
    domains: tuple[tuple[int, ...], ...]

    def n_cores(self, cpus: Iterable[int]) -> int:
        """On how many cores these CPUs are."""
        return _n_touched(self.cores, cpus)

    def n_domains(self, cpus: Iterable[int]) -> int:
        """In how many NUMA domains these CPUs are."""
        return _n_touched(self.domains, cpus)

    @property
    def cores_by_domain(self) -> tuple[tuple[int, ...], ...]:
        """The cores, those of a domain one after the other."""
        domain_of = {cpu: place for place, domain in enumerate(self.domains) for cpu in domain}
        return tuple(sorted(self.cores, key=lambda core: (domain_of[core[0]], core)))

    def within(self, cpus: Iterable[int]) -> Topology:
        """What is left with these CPUs only."""
        kept = set(cpus)
        return Topology(_within(self.cores, kept), _within(self.domains, kept))


def allowed_cpus() -> tuple[int, ...]:
    """The CPUs that this process may run on."""
    return tuple(sorted(os.sched_getaffinity(0)))


def granted_cpus(online: Iterable[int]) -> tuple[int, ...]:
    """Those that this process could run on if it asked: what a container leaves, and launchers see, not `taskset`."""
    allowed = allowed_cpus()
    try:
        os.sched_setaffinity(0, online)
    except OSError:  # where no process may ask
        return allowed
    try:
        return allowed_cpus()
    finally:
        os.sched_setaffinity(0, allowed)


def host_topology(root: Path = SYS) -> Topology:
    """The topology of this host, or of the one whose tree of /sys/devices/system is at `root`.

    What the tree does not tell is one domain, and cores of one CPU.
    """
    cpus = _numbers(root / "cpu/online") or tuple(range(os.cpu_count() or 1))
    siblings = (_numbers(root / f"cpu/cpu{cpu}/topology/thread_siblings_list") or (cpu,) for cpu in cpus)
    nodes = _numbers(root / "node/has_cpu") or _numbers(root / "node/online")
    domains = [found for node in nodes if (found := _numbers(root / f"node/node{node}/cpulist"))]
    return Topology(tuple(sorted(set(siblings))), tuple(domains) or (cpus,)).within(cpus)


def numbers_from_list(text: str) -> tuple[int, ...]:
    """The numbers of a list as Linux writes it.

    >>> numbers_from_list("0-2,8")
    (0, 1, 2, 8)
    """
    ends = [part.split("-") for part in text.strip().split(",") if part]
    return tuple(number for part in ends for number in range(int(part[0]), int(part[-1]) + 1))


def _numbers(path: Path) -> tuple[int, ...]:
    try:
        return numbers_from_list(path.read_text())
    except OSError:
        return ()


def _n_touched(groups: Sequence[Sequence[int]], cpus: Iterable[int]) -> int:
    wanted = set(cpus)
    return sum(not wanted.isdisjoint(group) for group in groups)


def _within(groups: Sequence[Sequence[int]], kept: set[int]) -> tuple[tuple[int, ...], ...]:
    return tuple(part for group in groups if (part := tuple(cpu for cpu in group if cpu in kept)))
