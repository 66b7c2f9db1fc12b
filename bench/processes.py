"""Running other programs so that they end in good order, with all that they set up taken down again."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

__all__ = ["ROOT", "command_of", "run", "run_job"]

ROOT = Path(__file__).parent.parent

SECONDS_TO_CLEAN_UP = 30


def command_of(module: str, n_processes: int, options: Sequence[str] = (), arguments: Sequence[str] = ()) -> list[str]:
    """What runs a module as a job of so many processes; one needs no launcher, nor its options."""
    command = [sys.executable, "-m", module, *arguments]
    launcher = [sys.executable, "-m", "pgaspy", "run", "-n", str(n_processes), *options]
    return [*launcher, *command] if n_processes > 1 else command


def run_job(program: str, n_processes: int, task: Mapping[str, Any], **variables: str) -> Any:
    """Run `python -m bench.jobs.PROGRAM TASK` as a job of so many processes; what it hands back.

    Parameters
    ----------
    task
        For the program, as JSON.
    variables
        Of its environment, besides those of this program.
    """
    command = command_of(f"bench.jobs.{program}", n_processes, arguments=[json.dumps(task)])
    done = run(command, {**os.environ, **variables})
    if done.returncode:
        sys.exit(f"bench.jobs.{program} on {n_processes} process(es) failed:\n{done.stdout}{done.stderr}")
    return json.loads(done.stdout.splitlines()[-1])


def run(command: list[str], environment: Mapping[str, str] | None = None,
        timeout: float | None = None) -> subprocess.CompletedProcess[str]:
    """As `subprocess.run`, but what it started is ended by SIGTERM and waited for, also when this program is ended.

    Raises
    ------
    subprocess.TimeoutExpired
        If it takes longer than `timeout` seconds.
    """
    with _exit_on_sigterm(), subprocess.Popen(command, cwd=ROOT, env=environment, stdout=subprocess.PIPE,
                                              stderr=subprocess.PIPE, text=True) as started:
        try:
            out, err = started.communicate(timeout=timeout)
        except BaseException:
            started.terminate()
            try:
                started.communicate(timeout=SECONDS_TO_CLEAN_UP)
            except subprocess.TimeoutExpired:
                started.kill()
            raise
    return subprocess.CompletedProcess(command, started.returncode, out, err)


@contextlib.contextmanager
def _exit_on_sigterm() -> Iterator[None]:
    before = signal.signal(signal.SIGTERM, lambda number, frame: sys.exit(128 + number))
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)
