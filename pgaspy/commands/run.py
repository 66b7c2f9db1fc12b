"""`pgaspy run`: start a program on several processes."""

from __future__ import annotations

import os
import shlex
import sys

import click

from pgaspy.commands.launching import Job, LaunchError, command_line
from pgaspy.commands.sites import this_site

__all__ = ["run"]


@click.command(context_settings={"allow_interspersed_args": False, "ignore_unknown_options": True})
@click.option("-n", type=click.IntRange(1), help="Number of processes; by default one per NUMA domain.")
@click.option("--threads", type=click.IntRange(1), envvar="OMP_NUM_THREADS", show_envvar=True,
              help="Cores of each process; by default an equal share.")
@click.option("--per-numa", is_flag=True, help="With -n: no two processes in a NUMA domain, none in two.")
@click.option("--unbound", is_flag=True, help="Let every process run on all cores.")
@click.option("--dry-run", is_flag=True, help="Print the command line, and do nothing.")
@click.argument("command", nargs=-1, type=click.UNPROCESSED, required=True)
def run(n: int | None, threads: int | None, per_numa: bool, unbound: bool, dry_run: bool,
        command: tuple[str, ...]) -> None:
    """Start COMMAND, which is `prog.py …`, `-m module …` or any other program, on N processes.

    By mpirun of the MPI that mpi4py uses, on this host or, inside an allocation of Slurm, by srun (which
    obeys SLURM_MPI_TYPE). Each process is bound to cores of its own, if there are enough of them.
    """
    if command[0].endswith(".py") or command[0] in ("-m", "-c"):
        command = (sys.executable, *command)
    elif command[0].startswith("-"):
        raise click.NoSuchOption(command[0])
    try:
        words = [*command_line(this_site(), Job(n, threads, per_numa, unbound)), *command]
    except LaunchError as error:
        raise click.ClickException(str(error)) from error
    if dry_run:
        click.echo(shlex.join(words))
    else:
        os.execv(words[0], words)
