"""`pgaspy simulate`: a program in a job of any size, on a machine that is described."""

from __future__ import annotations

import importlib.util
import json
import math
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import click

import pgaspy as pg
from pgaspy.commands.simulate_report import as_json, as_text
from pgaspy.host import launchers
from pgaspy.host.units import quantity
from pgaspy.simulating.machine import Machine, machine_from_file
from pgaspy.simulating.measuring import KernelTimes
from pgaspy.simulating.scripts import CommandLine
from pgaspy.simulating.settings import Settings, SimulationError
from pgaspy.simulating.simulation import simulate as simulated
from pgaspy.simulating.tasks import TaskTimes, cost_from_text

__all__ = ["simulate"]


MAX_PROCESSES = 2**31 - 1
"""Of a job: as many as MPI counts."""


class Quantity(click.ParamType):  # type: ignore[type-arg]
    """A positive number with its unit."""

    def __init__(self, unit: str) -> None:
        self.name = unit

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """See `click.ParamType`."""
        try:
            return quantity(value, self.name) if isinstance(value, str) else value
        except ValueError as error:
            self.fail(str(error), param, ctx)


class Sizes(click.ParamType):  # type: ignore[type-arg]
    """Numbers of processes, separated by commas."""

    name = "N[,N...]"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """See `click.ParamType`."""
        words = value.split(",")
        if not all(word.isdigit() and 0 < int(word) <= MAX_PROCESSES for word in words):
            self.fail(f"{value!r} is no number of processes, and no list of some, such as 1,16,1536", param, ctx)
        return [int(word) for word in words]


SECONDS, BYTES, SPEED, FLOPS = map(Quantity, ("s", "B", "B/s", "FLOPS"))


@click.command()
@click.argument("program")
@click.argument("arguments", nargs=-1, type=click.UNPROCESSED)
@click.option("-n", "sizes", type=Sizes(), required=True, help="Processes of the job; of several jobs, 1,16,1536.")
@click.option("--machine", "file", type=click.Path(exists=True, dir_okay=False, path_type=Path),
              help="What `pgaspy selftest --json FILE` has measured; the options below come before it.")
@click.option("--latency", type=SECONDS, help="Of a message: 2us.")
@click.option("--bandwidth", type=SPEED, help="Of a process's link: 10GB/s, 200Mbit/s.")
@click.option("--overhead", type=SECONDS, help="What a message takes of the processor at either end: 5us.")
@click.option("--gap", type=SECONDS, help="Between the starts of two messages of a process: 0.1us.")
@click.option("--burst", type=BYTES, help="What an idle link lets through at once: 9kB. By default nothing.")
@click.option("--copying", type=SPEED, help="At which processors copy messages, at either end: 8GB/s. By default the "
                                            "network does.")
@click.option("--flops", type=FLOPS, help="Additions of a process's kernels, in cache: 50GFLOPS.")
@click.option("--products", type=FLOPS, help="Operations of matrix products on local views: 200GFLOPS.")
@click.option("--memory", type=SPEED, help="At which a process reads and writes arrays: 50GB/s.")
@click.option("--kernel", type=SECONDS, help="To start a computation: 5us.")
@click.option("--engine", type=SECONDS, help="Of that, what comes on top of kernels that --measure measures: 3us.")
@click.option("--statement", type=SECONDS, help="To record a statement: 5us.")
@click.option("--flush", type=SECONDS, help="To hand over what is executed together: 20us.")
@click.option("--cost", "costs", multiple=True, metavar="NAME=COST",
              help="What a call of the task NAME takes, 2ms, or its local views per second, 10GB/s. Others are "
                   "measured here, on arrays of the same shapes.")
@click.option("--measure", is_flag=True, help="Measure kernels here, too, on arrays of the same shapes, instead of by "
                                             "--flops and --memory; and what Python takes, instead of by --statement "
                                             "and --flush.")
@click.option("--value", type=float, help="What the program goes on with where it reads a value: float(x), if x, "
                                          "gather.")
@click.option("--steps", type=click.IntRange(1), help="With --value: the program ends when it has read so many values.")
@click.option("--spread", type=click.IntRange(1), metavar="N",
              help="Of index arrays, sorts and masks: the items of each process lie on so many processes, evenly.")
@click.option("--json", "as_data", is_flag=True, help="Print the report as JSON.")
def simulate(program: str, arguments: Sequence[str], sizes: Sequence[int], file: Path | None, costs: Sequence[str],
             measure: bool, value: float | None, steps: int | None, spread: int | None, as_data: bool,
             **given: float | None) -> None:
    """How fast PROGRAM would be in a job of any size, on a machine that is described.

    PROGRAM is a file, or a module that can be imported; its arguments come after `--`. It is planned here for some
    processes of the job, without their arrays, and what these do is played as events. Defaults are those of a cluster
    of today. A phase of the report ends at each `pg.COMM.Barrier()` of the program. What is measured here is measured
    by all processes at once that a launcher starts, as they share caches and memory: `pgaspy run -n 2 -m pgaspy
    simulate ...`.
    """
    if steps is not None and value is None:
        raise click.UsageError("--steps counts the values that the program reads: give --value, which it goes on with")
    try:
        machine = _machine(file, given)
        tasks = TaskTimes(dict(map(cost_from_text, costs)), machine.threads)
        found, kernels = _program(program, arguments), KernelTimes(machine.threads) if measure else None
    except ValueError as error:
        raise click.UsageError(str(error)) from error
    reports = []
    is_alone = not launchers.name()  # then, MPI is not started
    speaks = is_alone or pg.RANK == 0
    settings = Settings(machine, tasks, value, steps, kernels, spread,
                        together=None if is_alone or pg.SIZE == 1 else pg.COMM)
    for size in sizes:
        try:
            reports.append(simulated(found, size, settings))
        except SimulationError as error:
            raise click.ClickException(f"{program} on {size} processes: {error}") from error
        if not as_data and speaks:
            click.echo(as_text(reports[-1]))
    if as_data and speaks:
        click.echo(json.dumps(as_json(reports, machine), indent=1))
    unused = {name for name, _ in map(cost_from_text, costs)} - tasks.used
    if unused and speaks:
        click.echo(f"no task is called {', '.join(sorted(unused))}: --cost names functions that pg.schedule calls",
                   err=True)


def _machine(file: Path | None, given: dict[str, float | None]) -> Machine:
    """The machine of a file, or the default one, with what is given besides."""
    said: dict[str, Any] = {name: value for name, value in given.items() if value is not None}
    if "memory" in said:
        said["memory"] = ((math.inf, said["memory"]),)
    return replace(Machine(), **said) if file is None else machine_from_file(file, said)


def _program(name: str, arguments: Sequence[str]) -> CommandLine:
    if Path(name).is_file():
        return CommandLine(name, False, arguments)
    try:
        is_module = not name.endswith(".py") and importlib.util.find_spec(name) is not None
    except (ImportError, ValueError):
        is_module = False
    if not is_module:
        raise ValueError(f"there is neither a file nor a module {name}")
    return CommandLine(name, True, arguments)
