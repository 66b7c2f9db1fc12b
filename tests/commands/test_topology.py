"""Cores and NUMA domains, read from the trees of several machines."""

from __future__ import annotations

import os
from itertools import chain
from pathlib import Path

import pytest

from pgaspy.commands.topology import Topology, allowed_cpus, granted_cpus, host_topology, numbers_from_list
from pgaspy.host.words import list_from_numbers
from tests.machines import topology


@pytest.mark.parametrize(("machine", "n_cores", "n_domains"), [
    ("a virtual machine", 2, 1),
    ("a laptop", 4, 1),
    ("two sockets", 32, 2),
    ("eight domains", 128, 8),
    ("one domain of memory only", 4, 1),
])
def test_machines(tmp_path: Path, machine: str, n_cores: int, n_domains: int) -> None:
    found = topology(machine, tmp_path)
    assert (len(found.cores), len(found.domains)) == (n_cores, n_domains)
    cpus = sorted(cpu for core in found.cores for cpu in core)
    assert cpus == sorted(cpu for domain in found.domains for cpu in domain) == list(range(len(cpus)))


def test_what_cpus_touch(tmp_path: Path) -> None:
    found = topology("two sockets", tmp_path)
    assert found.cores[0] == (0, 32)
    assert (found.n_cores([0, 32]), found.n_cores([0, 1]), found.n_cores([])) == (1, 2, 0)
    assert (found.n_domains([0, 47]), found.n_domains([15, 16])) == (1, 2)
    assert found.within([0, 1, 33, 48]) == Topology(((0,), (1, 33), (48,)), ((0, 1, 33), (48,)))


def test_without_a_tree(tmp_path: Path) -> None:
    found = host_topology(tmp_path)
    assert len(found.domains) == 1
    assert found.cores == tuple((cpu,) for cpu in found.domains[0])


def test_this_host() -> None:
    found = host_topology()
    assert set(allowed_cpus()) <= {cpu for core in found.cores for cpu in core}


@pytest.mark.parametrize(("text", "numbers"), [
    ("", ()), ("\n", ()), ("5", (5,)), ("0-3\n", (0, 1, 2, 3)), ("0,2-3,8", (0, 2, 3, 8)),
])
def test_lists(text: str, numbers: tuple[int, ...]) -> None:
    assert numbers_from_list(text) == numbers
    assert list_from_numbers(numbers) == text.strip()


def test_granted_cpus(monkeypatch: pytest.MonkeyPatch) -> None:
    allowed = allowed_cpus()
    assert set(allowed) <= set(granted_cpus(chain(*host_topology().cores)))
    assert allowed_cpus() == allowed

    def refuse(*_: object) -> None:
        raise PermissionError

    monkeypatch.setattr(os, "sched_setaffinity", refuse)
    assert granted_cpus(range(9)) == allowed
