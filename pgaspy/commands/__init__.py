"""The commands `pgaspy info`, `run`, `selftest`, `simulate` and `trace`, also `python -m pgaspy …`.

Each is a module that is imported when it is called. They use the package as a program does; nothing imports them.
"""

from __future__ import annotations

import importlib

import click

from pgaspy import __version__

__all__ = ["main"]

COMMANDS = {
    "info": "What the job runs on, and what is wrong with it.",
    "run": "Start a program on several processes.",
    "selftest": "Whether the job computes right, and how fast.",
    "simulate": "How fast a program would be in a job of any size.",
    "trace": "Draw the timeline of a run.",
}
"""What each does; the module has its name."""


class _Commands(click.Group):
    """Commands that are imported when they are called, so that the list of them costs nothing."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in COMMANDS:
            return None
        return getattr(importlib.import_module(f"pgaspy.commands.{cmd_name}"), cmd_name)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl(list(COMMANDS.items()))


@click.group(cls=_Commands, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="pgaspy")
def main() -> None:
    """Look into pgaspy's jobs, and start them."""
