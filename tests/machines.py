"""Trees of /sys/devices/system, as Linux has them on machines of several NUMA domains."""

from __future__ import annotations

from pathlib import Path

from pgaspy.commands.topology import Topology, host_topology
from pgaspy.host.words import list_from_numbers

__all__ = ["TREES", "topology"]

TREES = {
    "a virtual machine": {"online": "0-1", "siblings": 1, "domains": ["0-1"]},
    "a laptop": {"online": "0-7", "siblings": 2, "domains": ["0-7"]},
    "two sockets": {"online": "0-63", "siblings": 2, "domains": ["0-15,32-47", "16-31,48-63"]},
    "eight domains": {"online": "0-127", "siblings": 1, "domains": [f"{16 * i}-{16 * i + 15}" for i in range(8)]},
    "one domain of memory only": {"online": "0-3", "siblings": 1, "domains": ["0-3", ""]},
}
"""For each machine: its CPUs, how many make up a core (CPU c and c + n/2 where two do), the CPUs of its domains."""


def write_tree(root: Path, online: str, siblings: int, domains: list[str]) -> None:
    n_cpus = int(online.partition("-")[2]) + 1
    (root / "node").mkdir(parents=True)
    (root / "cpu").mkdir()
    (root / "cpu/online").write_text(f"{online}\n")
    for cpu in range(n_cpus):
        folder = root / f"cpu/cpu{cpu}/topology"
        folder.mkdir(parents=True)
        core = range(cpu % (n_cpus // siblings), n_cpus, n_cpus // siblings)
        (folder / "thread_siblings_list").write_text(f"{list_from_numbers(core)}\n")
    (root / "node/online").write_text(f"{list_from_numbers(range(len(domains)))}\n")
    for number, cpus in enumerate(domains):
        (root / f"node/node{number}").mkdir()
        (root / f"node/node{number}/cpulist").write_text(f"{cpus}\n")


def topology(machine: str, folder: Path) -> Topology:
    """The topology of a machine, read from its tree, which is written into a folder."""
    tree: dict = TREES[machine]
    write_tree(folder / "system", **tree)
    return host_topology(folder / "system")
