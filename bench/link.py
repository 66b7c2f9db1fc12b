"""Jobs on two hosts that a slow link joins, for benchmarks that run the programs of `bench.jobs` there."""

from __future__ import annotations

import json
import os
import sys
from typing import Any

from bench import processes
from bench.processes import ROOT

__all__ = ["NoLink", "run_job"]

LAUNCHER = ROOT / "tools" / "two_hosts.py"

UNAVAILABLE = 69
"""The launcher's exit status where there can be no two hosts."""


class NoLink(RuntimeError):
    """This machine cannot have two hosts."""


def run_job(program: str, rate: str, task: dict[str, Any], executor: str = "", **variables: str) -> Any:
    """Run `python -m bench.jobs.PROGRAM TASK`, one process on each host; what it hands back.

    Parameters
    ----------
    rate
        Of the link, each way, as tc has it: "200mbit".
    task
        For the program, as JSON.
    executor
        The value of PGASPY_EXECUTOR; empty for the executor that users get.
    variables
        Of the environment, besides those of this program.

    Raises
    ------
    NoLink
        If this machine cannot have two hosts, with the reason.
    """
    command = [sys.executable, str(LAUNCHER), "--rate", rate,
               sys.executable, "-m", f"bench.jobs.{program}", json.dumps(task)]
    environment = {key: value for key, value in os.environ.items() if key != "PGASPY_EXECUTOR"} | variables
    if executor:
        environment["PGASPY_EXECUTOR"] = executor
    done = processes.run(command, environment)
    if done.returncode == UNAVAILABLE:
        raise NoLink(done.stderr.strip())
    if done.returncode:
        sys.exit(f"bench.jobs.{program} on two hosts failed:\n{done.stdout}{done.stderr}")
    return json.loads(done.stdout.splitlines()[-1])
