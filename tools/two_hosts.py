"""Start a command on two hosts that a slow link joins: one process on each, with half of this machine's cores.

Usage: python tools/two_hosts.py --rate 200mbit COMMAND [ARGUMENT ...]

The hosts are network namespaces, the link is a veth pair, shaped at both ends. They have names of this run alone and
are taken down in any case; what a killed run left behind goes when the next one starts. Nothing else of the machine
changes: a namespace's /etc/hosts lies in /etc/netns.

Needs Linux, root, `ip` and `tc` (apt install iproute2) and Open MPI; ends with code 69 and says so where they are
missing.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import shlex
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

from hosts import PREFIX, RUN, check_namespaces, end_on_signals, halves_of_cores, is_leftover, refuse

MTU = "9000"
"""Ethernet's jumbo frames: the work of emulating each one takes time from the programs that are measured."""

SHAPE = ["burst", "9kb", "latency", "50ms"]
"""A burst of one frame: a larger one would let whole messages through at once."""

ETC = Path("/etc/netns")
"""Where the files are that a host sees in its own /etc; those that start programs on it are in RUN."""

AGENT = """#!/bin/sh
# In the place of ssh: drop its options, take the host, and run the rest there.
while [ "${{1#-}}" != "$1" ]; do shift; done
host=$1; shift
exec ip netns exec "$host" unshare --uts taskset -c {cores} sh -c "hostname $host; $*"
"""


def check_machine() -> None:
    """Refuse where something is missing."""
    check_namespaces("ip", "tc", "unshare", "taskset")
    from mpi4py import MPI

    if "Open MPI" not in MPI.Get_library_version():
        refuse(f"needs Open MPI, but mpi4py uses {MPI.Get_library_version().splitlines()[0]}")


def run(*command: str) -> None:
    """Run a command of the set-up; refuse where the machine does (as in a container without the right to)."""
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode:
        refuse(f"`{shlex.join(command)}` failed: {done.stderr.strip()}")


def take_down(host: str) -> None:
    """Remove a host with all that runs on it, whether or not it is there."""
    pids = subprocess.run(["ip", "netns", "pids", host], capture_output=True, text=True).stdout.split()
    for pid in pids:
        with contextlib.suppress(ProcessLookupError):
            os.kill(int(pid), signal.SIGKILL)
    subprocess.run(["ip", "netns", "delete", host], capture_output=True)  # and with it the devices in it
    for folder in ETC, RUN:
        shutil.rmtree(folder / host, ignore_errors=True)
    with contextlib.suppress(OSError):
        ETC.rmdir()  # if it is empty


def take_down_leftovers() -> None:
    """Remove the hosts of runs that are over."""
    listed = subprocess.run(["ip", "netns", "list"], capture_output=True, text=True).stdout.splitlines()
    names = {line.split()[0] for line in listed} | {path.name for path in ETC.glob(f"{PREFIX}*")}
    for name in names:
        if is_leftover(name):
            take_down(name)


@contextlib.contextmanager
def two_hosts(rate: str) -> Iterator[tuple[str, str]]:
    """Two hosts and the link between them; their names."""
    take_down_leftovers()
    hosts = (f"{PREFIX}{os.getpid()}-a", f"{PREFIX}{os.getpid()}-b")
    addresses = ("10.99.0.1", "10.99.0.2")
    try:
        for host in hosts:
            (ETC / host).mkdir(parents=True, exist_ok=True)
            (ETC / host / "hosts").write_text("127.0.0.1 localhost\n" + "".join(
                f"{address} {name}\n" for address, name in zip(addresses, hosts, strict=True)))
            run("ip", "netns", "add", host)
        run("ip", "link", "add", "eth0", "netns", hosts[0], "mtu", MTU, "type", "veth",
            "peer", "name", "eth0", "mtu", MTU, "netns", hosts[1])
        for host, address in zip(hosts, addresses, strict=True):
            run("ip", "-n", host, "address", "add", f"{address}/30", "dev", "eth0")
            run("ip", "-n", host, "link", "set", "lo", "up")
            run("ip", "-n", host, "link", "set", "eth0", "up")
            run("tc", "-n", host, "qdisc", "add", "dev", "eth0", "root", "tbf", "rate", rate, *SHAPE)
        yield hosts
    finally:
        for host in hosts:
            take_down(host)


def run_job(hosts: tuple[str, str], command: list[str]) -> int:
    """Run one process of a command on each of the hosts, MPI over TCP between them; the exit status."""
    # here, after it was said that MPI is not to start: this process is no part of the job
    from pgaspy.commands.launching import Job, command_line
    from pgaspy.commands.sites import this_site

    of_a, of_b = halves_of_cores()
    mpirun = command_line(this_site(), Job(2, unbound=True))  # else both would bind their process to the first core
    agent = RUN / hosts[1] / "agent"
    agent.parent.mkdir(mode=0o700)
    agent.write_text(AGENT.format(cores=of_b))
    agent.chmod(0o700)
    start = ["ip", "netns", "exec", hosts[0], "unshare", "--uts", "taskset", "-c", of_a,
             "sh", "-c", f'hostname {hosts[0]}; exec "$@"', "sh"]
    options = ["--prtemca", "plm_ssh_agent", str(agent), "--host", f"{hosts[0]}:1,{hosts[1]}:1",
               "--mca", "btl", "tcp,self", "--mca", "pml", "ob1"]
    job = subprocess.Popen([*start, *mpirun, *options, *command])
    try:
        return job.wait()
    finally:
        job.terminate()
        with contextlib.suppress(subprocess.TimeoutExpired):
            job.wait(timeout=5)  # what is left then goes with the hosts


def main() -> int:
    """Set up, run, take down; the job's exit status."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rate", required=True, help="of the link, each way, as tc has it: 200mbit, 1gbit")
    parser.add_argument("command", nargs=argparse.REMAINDER)
    arguments = parser.parse_args()
    check_machine()
    end_on_signals()
    with two_hosts(arguments.rate) as hosts:
        return run_job(hosts, arguments.command)


if __name__ == "__main__":
    import mpi4py

    mpi4py.rc.initialize = False
    sys.exit(main())
