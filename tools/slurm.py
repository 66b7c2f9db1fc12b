"""Start a command in an allocation of Slurm that has two nodes, each with half of this machine's cores.

Usage: python tools/slurm.py COMMAND [ARGUMENT ...]

Slurm, munge, their configuration and their state are of this run alone, and so are the nodes' host names. Everything
runs in namespaces of processes and mounts, and is gone with them, also if this process is killed; the folder that a
killed run left behind goes when the next one starts. The command sees an allocation: `srun` starts processes on both
nodes. Processes inherit the cores of their node; Slurm does not bind them to some of these.

Needs Linux and root. Slurm, munge and PMIx are installed where they are missing and the system is Debian's. Ends with
code 69 and says so where this machine cannot have them.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import shutil
import socket
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

from hosts import PREFIX, RUN, check_namespaces, end_on_signals, halves_of_cores, is_leftover, refuse

SUFFIX = "-slurm"

PROGRAMS = ("munged", "mungekey", "salloc", "scontrol", "slurmctld", "slurmd", "srun")

PACKAGES = ("libpmix2", "munge", "slurm-client", "slurmctld", "slurmd")

TIMEOUT_SECONDS = 30
"""How long the nodes may take to be there."""

NODES = ("node1", "node2")

CONTROLLER = "login"
"""The host name of all that does not run on the nodes."""

NAMESPACES = ("setpriv", "--pdeathsig", "KILL", "unshare", "--uts", "--mount", "--pid", "--mount-proc", "--fork",
              "--kill-child")
"""What starts a command in namespaces that end with this process."""

CONFIGURATION = """
ClusterName=pgaspy
SlurmctldHost={controller}(127.0.0.1)
SlurmctldPort={port}
SlurmUser=root
SlurmdUser=root
AuthType=auth/munge
AuthInfo=socket={folder}/munge.socket
CredType=cred/munge
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU
SlurmdParameters=config_overrides
ReturnToService=2
StateSaveLocation={folder}/state
SlurmctldPidFile={folder}/slurmctld.pid
SlurmctldLogFile={folder}/slurmctld.log
SlurmdPidFile={folder}/%n/pid
SlurmdSpoolDir={folder}/%n/spool
SlurmdLogFile={folder}/%n/log
TmpFS={folder}/%n/tmp
{nodes}
PartitionName=all Nodes=ALL Default=YES MaxTime=INFINITE State=UP
"""
"""Each node has a TmpFS of its own, or their PMIx servers would meet there."""


def install() -> None:
    """Install what is missing; refuse where that is not possible."""
    if not all(map(shutil.which, PROGRAMS)) and shutil.which("apt-get") is not None:
        print(f"installing {', '.join(PACKAGES)}", flush=True)
        quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL,
                 "env": os.environ | {"DEBIAN_FRONTEND": "noninteractive"}}
        subprocess.run(["apt-get", "update"], **quiet)
        subprocess.run(["apt-get", "install", "--yes", "--no-install-recommends", *PACKAGES], **quiet)
    missing = [program for program in PROGRAMS if shutil.which(program) is None]
    if missing:
        refuse(f"no {', '.join(missing)} (apt install {' '.join(PACKAGES)})")


def take_down_leftovers() -> None:
    """Remove the folders of runs that are over: their processes ended with them."""
    for folder in RUN.glob(f"{PREFIX}*{SUFFIX}"):
        if is_leftover(folder.name):
            shutil.rmtree(folder, ignore_errors=True)


# Inside the namespaces ------------------------------------------------------------------------------------------------


def free_ports(n: int) -> list[int]:
    """Ports of this machine that nobody uses."""
    with contextlib.ExitStack() as stack:
        sockets = [stack.enter_context(socket.create_server(("127.0.0.1", 0))) for _ in range(n)]
        return [one.getsockname()[1] for one in sockets]


def write_files(folder: Path) -> None:
    """Lay out all that the daemons read and write."""
    (folder / "state").mkdir()
    for node in NODES:
        for name in "spool", "tmp":
            (folder / node / name).mkdir(parents=True)
    port, *ports = free_ports(1 + len(NODES))
    n_cpus = len(halves_of_cores()[0].split(","))
    nodes = "\n".join(f"NodeName={node} NodeAddr=127.0.0.1 Port={port} CPUs={n_cpus} State=UNKNOWN"
                      for node, port in zip(NODES, ports, strict=True))
    (folder / "slurm.conf").write_text(
        CONFIGURATION.format(folder=folder, controller=CONTROLLER, port=port, nodes=nodes))
    (folder / "hosts").write_text(f"127.0.0.1 localhost {CONTROLLER} {' '.join(NODES)}\n")


def mount_files(folder: Path) -> None:
    """Put the names of the hosts, and that of PMIx, where the programs look for them; nobody else sees it."""
    subprocess.run(["mount", "--bind", folder / "hosts", "/etc/hosts"], check=True)
    for library in Path("/usr/lib").glob("*/pmix2/lib/libpmix.so.2"):
        name = library.with_suffix("")
        if not name.exists():  # by which Slurm knows it, and which Debian leaves to the package for developers
            shutil.copytree(library.parent, folder / "pmix", symlinks=True)
            (folder / "pmix" / name.name).symlink_to(library.name)
            subprocess.run(["mount", "--bind", folder / "pmix", library.parent], check=True)


def start_daemons(folder: Path) -> None:
    """Start munge, the controller and the nodes; return when these are there."""
    key, door = folder / "munge.key", folder / "munge.socket"
    subprocess.run(["mungekey", "--create", f"--keyfile={key}"], check=True)
    start("munged", "--foreground", f"--key-file={key}", f"--socket={door}", f"--pid-file={folder}/munge.pid",
          f"--seed-file={folder}/munge.seed", f"--log-file={folder}/munge.log")
    wait_until(door.exists, "munge")
    start("slurmctld", "-D")
    for node, cores in zip(NODES, halves_of_cores(), strict=True):
        start("unshare", "--uts", "taskset", "-c", cores, "sh", "-c", f"hostname {node}; exec slurmd -D -N {node}")
    wait_until(are_idle, "the nodes")


def start(*command: str) -> None:
    """Start a daemon, which ends with the namespace; what it has to say is in its log."""
    subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


def wait_until(holds: Callable[[], bool], name: str) -> None:
    """Wait for a condition; refuse where it does not come true."""
    end = time.monotonic() + TIMEOUT_SECONDS
    while not holds():
        if time.monotonic() > end:
            refuse(f"{name} did not start")
        time.sleep(0.1)


def are_idle() -> bool:
    """Whether both nodes can be allocated."""
    shown = subprocess.run(["sinfo", "--noheader", "--format=%D", "--states=idle"], capture_output=True, text=True)
    return shown.stdout.strip() == f"{len(NODES)}"


def run_inside(folder: Path, command: list[str]) -> int:
    """Set Slurm up, and run a command in an allocation; its exit status."""
    subprocess.run(["hostname", CONTROLLER], check=True)
    write_files(folder)
    mount_files(folder)
    os.environ["SLURM_CONF"] = str(folder / "slurm.conf")
    start_daemons(folder)
    return subprocess.run(["salloc", "--quiet", f"--nodes={len(NODES)}", "--exclusive", *command]).returncode


# Outside --------------------------------------------------------------------------------------------------------------


def run(command: list[str]) -> int:
    """Run this program once more, in namespaces that end with it."""
    if subprocess.run([*NAMESPACES, "mount", "--bind", "/etc/hosts", "/etc/hosts"], capture_output=True).returncode:
        refuse("it gives no namespaces of processes and mounts")
    folder = RUN / f"{PREFIX}{os.getpid()}{SUFFIX}"
    folder.mkdir(mode=0o755)
    job = subprocess.Popen([*NAMESPACES, sys.executable, __file__, "--inside", str(folder), *command])
    try:
        return job.wait()
    finally:
        job.kill()  # and with it all that runs in its namespaces
        job.wait()
        shutil.rmtree(folder, ignore_errors=True)


def main() -> int:
    """Set up, run, take down; the command's exit status."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--inside", type=Path, help=argparse.SUPPRESS)
    parser.add_argument("command", nargs=argparse.REMAINDER)
    arguments = parser.parse_args()
    end_on_signals()
    if arguments.inside is not None:
        return run_inside(arguments.inside, arguments.command)
    check_namespaces("unshare", "setpriv", "taskset")
    install()
    take_down_leftovers()
    return run(arguments.command)


if __name__ == "__main__":
    sys.exit(main())
