"""`pgaspy selftest`: whether the job computes right, and how fast each of its processes and links is."""

from __future__ import annotations

import json
import socket
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median

import click

import pgaspy as pg
from pgaspy.commands import speeds
from pgaspy.commands.checks import CHECKS, holds
from pgaspy.commands.network import Link, measure_ring
from pgaspy.commands.parameters import measure_parameters
from pgaspy.host.words import counted, rounded

__all__ = ["Figure", "outliers", "selftest"]


@dataclass(frozen=True)
class Figure:
    """A quantity that processes have, and how far from the median one may be before it is named.

    `worst` is the least ratio to the median of a speed, the largest of a time.
    """

    name: str
    unit: str
    worst: float

    def is_worse(self, value: float, typical: float) -> bool:
        """Whether a value is far on the bad side of the median."""
        return value < self.worst * typical if self.worst < 1 else value > self.worst * typical


PRODUCT, MEMORY = Figure("product of matrices", "GFLOP/s", 0.8), Figure("memory", "GB/s", 0.8)
LATENCY, BANDWIDTH = Figure("latency", "us", 3), Figure("bandwidth", "GB/s", 0.5)


def outliers(figure: Figure, values: Sequence[float]) -> list[int]:
    """Where the values are that are much worse than the median."""
    typical = median(values)
    return [place for place, value in enumerate(values) if figure.is_worse(value, typical)]


@click.command()
@click.option("--json", "file", type=click.Path(dir_okay=False, path_type=Path),
              help="Write what is measured to this file, which `pgaspy simulate --machine` reads.")
def selftest(file: Path | None) -> None:
    """Whether the job computes right, and how fast each of its processes and links is. In less than a minute.

    Under the launcher that is to be tested: `pgaspy run -n 4 -m pgaspy selftest`, `srun … pgaspy selftest`. Ends with
    code 1 if a result is wrong. Speeds that are much worse than the median are named; all processes measure at once.
    """
    try:
        _say(f"{counted(pg.SIZE, 'process', 'processes')} with {counted(pg.THREADS, 'thread')} each")
    except RuntimeError as error:  # the launcher and MPI do not fit together
        raise click.ClickException(str(error)) from error
    wrong = [name for name, check in CHECKS.items() if not holds(check)]
    for name in CHECKS:
        _say(f"{'WRONG' if name in wrong else 'right'}: {name}")
    products = _report_processes()
    _report_links()
    if file is not None:
        _write(file, wrong, products)
    if wrong:
        raise SystemExit(1)  # not by sys.exit, after which pgaspy aborts the job: every process comes here


def _write(file: Path, wrong: Sequence[str], products: float) -> None:
    """Write what was found, with the parameters of the machine. Collective."""
    machine = measure_parameters(products)
    failure = None
    if machine is not None:
        found = {"processes": pg.SIZE, "threads": pg.THREADS, "wrong": list(wrong), "machine": machine}
        try:
            file.write_text(json.dumps(found, indent=1) + "\n")
        except OSError as error:
            failure = str(error)
    failure = pg.COMM.bcast(failure)
    if failure is not None:
        raise click.ClickException(failure)


def _report_processes() -> float:
    """The speed of products on this process, which is reported with those of all, and those of the memory."""
    own = speeds.product_speed()
    found = pg.COMM.gather((own, speeds.memory_speed(), socket.gethostname()))
    if found is not None:
        products, memories, hosts = zip(*found, strict=True)
        names = [f"rank {rank} on {host}" for rank, host in enumerate(hosts)]
        _report(PRODUCT, "", products, names)
        _report(MEMORY, "", memories, names)
    return own


def _report_links() -> None:
    found = pg.COMM.gather((measure_ring(), socket.gethostname()))
    if found is None:
        return
    rings: dict[str, list[tuple[Link, str]]] = {}
    for rank, (link, host) in enumerate(found):
        other = (rank + 1) % pg.SIZE
        if link is not None:
            where = " within a host" if found[other][1] == host else " between hosts"
            rings.setdefault(where, []).append((link, f"rank {rank} on {host} to rank {other} on {found[other][1]}"))
    for where, ring in rings.items():
        names = [name for _, name in ring]
        _report(LATENCY, where, [link.latency for link, _ in ring], names)
        _report(BANDWIDTH, where, [link.bandwidth for link, _ in ring], names)


def _report(figure: Figure, where: str, values: Sequence[float], names: Sequence[str]) -> None:
    least, typical, most = (f"{rounded(value)} {figure.unit}" for value in (min(values), median(values), max(values)))
    _say(f"{figure.name}{where}: median {typical}, from {least} to {most}")
    for place in outliers(figure, values):
        _say(f"  {names[place]}: {rounded(values[place])} {figure.unit}")


def _say(line: str) -> None:
    if pg.RANK == 0:
        click.echo(line)
