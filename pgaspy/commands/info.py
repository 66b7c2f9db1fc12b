"""`pgaspy info`: what the job runs on, and what is wrong with it."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from itertools import groupby

import click

import pgaspy as pg
from pgaspy.commands.advice import Advice, advice
from pgaspy.commands.facts import Facts, collect
from pgaspy.host.words import counted, list_from_numbers, listed, rounded

__all__ = ["info"]


@click.command()
@click.option("--json", "as_json", is_flag=True, help="As JSON: the processes, and the warnings.")
@click.option("--measure/--no-measure", default=True, help="Measure the speed of each process, in about a second.")
def info(as_json: bool, measure: bool) -> None:
    """What the job runs on, process by process, and what is wrong with it.

    On its own or under the launcher that is to be looked into: `pgaspy run -n 4 -m pgaspy info`, `srun … pgaspy info`.
    """
    try:
        job = pg.COMM.gather(collect(measure))
    except RuntimeError as error:  # the launcher and MPI do not fit together
        raise click.ClickException(str(error)) from error
    if job is None:
        return
    found = advice(job)
    if as_json:
        click.echo(json.dumps({"processes": [asdict(process) for process in job],
                               "warnings": [asdict(one) for one in found]}, indent=1))
    else:
        click.echo("\n".join([*_job_lines(job), *_host_lines(job), *_warning_lines(found)]))


def _job_lines(job: Sequence[Facts]) -> Iterator[str]:
    first = job[0]
    yield ", ".join(f"{name} {version}" for name, version in first.versions.items())
    yield f"{first.mpi}{f' ({first.mpi_path})' if first.mpi_path else ''}"
    n_hosts = len({process.host for process in job})
    yield (f"{counted(len(job), 'process', 'processes')} on {counted(n_hosts, 'host')}, "
           f"started by {first.launcher or 'no launcher'}")


def _host_lines(job: Sequence[Facts]) -> Iterator[str]:
    """A line for each host, and under it one for each process, or for several that have the same."""
    for host in dict.fromkeys(process.host for process in job):
        on_host = [process for process in job if process.host == host]
        yield from ("", f"{host}: {_host(on_host[0])}")
        for words, alike in groupby(on_host, _process):
            yield f"  {listed('rank', (process.rank for process in alike))}: {words}"


def _host(process: Facts) -> str:
    cores, domains = process.topology.cores, process.topology.domains
    return (f"{process.processor} ({', '.join(process.simd)}), {counted(len(cores), 'core')}, "
            f"{counted(len(domains), 'NUMA domain')} (CPUs {' | '.join(map(list_from_numbers, domains))}), "
            f"{process.memory / 2**30:.1f} GiB of memory, {process.free_memory / 2**30:.1f} free, "
            f"compiler {process.compiler or 'none'}")


def _process(process: Facts) -> str:
    words = [listed("CPU", process.cpus), counted(process.n_threads, "thread")]
    words += [f"{blas.name} {blas.version} {blas.kernel} with {blas.n_threads}" for blas in process.blas[:1]]
    if process.speeds is not None:
        share = "" if process.speeds.share is None else f" ({process.speeds.share:.0%} of the peak)"
        words += [f"products {rounded(process.speeds.product)} GFLOP/s{share}",
                  f"memory {rounded(process.speeds.memory)} GB/s"]
    return "; ".join(words)


def _warning_lines(found: Sequence[Advice]) -> Iterator[str]:
    if found:
        yield ""
    for one in found:
        yield f"warning: {one}"
