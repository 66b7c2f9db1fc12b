"""Starts jobs of programs, and reads from them what became of each: also where a job hangs, or dies."""

from __future__ import annotations

import json
import os
import queue
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tests.campaign.job import MARK
from tests.jobs import ROOT, clean_environment, launcher

__all__ = ["ENVIRONMENT", "HANG_SECONDS", "Outcome", "run_job"]

HANG_SECONDS = 60.0
"""A program that takes longer hangs."""


START_SECONDS = 120.0
"""A job has begun its first program by then, on a machine with much else to do."""


ENVIRONMENT = {"PGASPY_ABORT_AFTER": "3", "OMP_WAIT_POLICY": "passive"}
"""So that a job in which a process has failed does not wait long for those that have come to their end, and that
threads leave the cores to other jobs while they wait."""


@dataclass
class Outcome:
    """What a job did.

    Attributes
    ----------
    kind
        wrong, error or hang of its last program; empty if there is nothing to say of it.
    program
        The last program, as the job told it: seed, lines, settings.
    counts
        What else there was: interrupts, and injected failures of each kind.
    raised
        The seeds of the programs in which a process raised what was injected: the last one fails the job.
    processes, lost, seconds
        The ids of processes; how and when one was lost, as it told; and how much later none was there any more.
    """

    n_programs: int = 0
    n_statements: int = 0
    kind: str = ""
    text: str = ""
    line: int = 0
    program: dict[str, Any] = field(default_factory=dict)
    counts: Counter[str] = field(default_factory=Counter)
    raised: set[int] = field(default_factory=set)
    processes: list[int] = field(default_factory=list)
    lost: dict[str, Any] = field(default_factory=dict)
    seconds: float = 0.0


def run_job(n: int, programs: Sequence[dict[str, Any]], seconds: float = 1e9, inject: str | None = None,
            hang_seconds: float = HANG_SECONDS, module: str = "tests.campaign.job",
            environment: Mapping[str, str] = ENVIRONMENT) -> Outcome:
    """Run programs in a job of n processes, one after the other, up to the first that fails."""
    with tempfile.NamedTemporaryFile("w", suffix=".json") as order:
        json.dump({"programs": programs, "seconds": seconds, "inject": inject}, order)
        order.flush()
        command = [*(launcher(n) if n > 1 else [sys.executable]), "-m", module, order.name]
        return _watched(command, hang_seconds, inject is not None and n > 1, clean_environment() | environment)


def _watched(command: list[str], hang_seconds: float, is_to_fail: bool, environment: dict[str, str]) -> Outcome:
    with tempfile.TemporaryFile("w+") as errors, subprocess.Popen(
            command, env=environment, cwd=ROOT, stdout=subprocess.PIPE, stderr=errors, text=True,
            start_new_session=True) as process:
        lines: queue.Queue[str | None] = queue.Queue()
        reader = threading.Thread(target=_read, args=(process.stdout, lines), daemon=True)
        reader.start()
        outcome, is_over = Outcome(), False
        try:
            while not is_over:
                limit = hang_seconds if outcome.n_programs else max(hang_seconds, START_SECONDS)
                is_over = _take(outcome, lines.get(timeout=limit))
            process.wait(hang_seconds)
            if outcome.lost:
                _wait_for_last(outcome)
        except (queue.Empty, subprocess.TimeoutExpired):
            outcome.kind, outcome.text = "hang", f"nothing happened for {hang_seconds:.0f} s {outcome.lost or ''}"
        finally:
            _kill(process)
        has_failed = bool(outcome.lost) or outcome.program.get("seed") in outcome.raised
        is_right = bool(process.returncode) == (is_to_fail and has_failed)
        if not is_right and not outcome.kind:
            outcome.kind, outcome.text = "error", f"the job ended with status {process.returncode}"
        if outcome.kind in ("hang", "error"):
            errors.seek(0)
            outcome.text += f"\n{errors.read()[-3000:]}"
        return outcome


def _wait_for_last(outcome: Outcome) -> None:
    """After a launcher, until none of the processes is there; what took too long is a hang."""
    within = outcome.lost["within"]
    while True:
        outcome.seconds = time.time() - outcome.lost["at"]
        left = [one for one in outcome.processes if Path(f"/proc/{one}").exists()]
        if outcome.seconds > within:
            outcome.kind = "hang"
            outcome.text = (f"{outcome.seconds:.1f} s after one was lost, {outcome.lost}, "
                            f"{f'processes {left} are there' if left else 'the last has ended'}")
        if outcome.kind or not left:
            return
        time.sleep(0.01)


def _read(stream: Any, lines: queue.Queue[str | None]) -> None:
    for line in stream:
        lines.put(line)
    lines.put(None)


def _take(outcome: Outcome, line: str | None) -> bool:
    """Note what a line of a job says; whether it was the last one."""
    if line is None:
        return True
    decoder = json.JSONDecoder()
    said = [decoder.raw_decode(text)[0] for text in line.split(MARK)[1:]]  # launchers may join lines of processes
    for one in said:
        _note(outcome, one)
    return any("failure" in one for one in said)


def _note(outcome: Outcome, said: dict[str, Any]) -> None:
    if said["event"] == "begin":
        outcome.program = said
        outcome.n_programs += 1
        outcome.n_statements += said["n_statements"]
    elif said["event"] == "failure":
        outcome.kind, outcome.text, outcome.line = said["kind"], said["text"], said["line"]
        outcome.program = said["program"]
    elif said["event"] == "stop":
        outcome.program = {}
    elif said["event"] == "process":
        outcome.processes.append(said["id"])
    elif said["event"] == "lost":
        outcome.lost = said
        outcome.counts[said["kind"]] += 1
    elif said["event"] == "rank":
        outcome.counts[said["kind"]] += bool(said["where"])
        if said["raised"]:
            outcome.raised.add(said["seed"])
        if "failure" in said:
            outcome.kind, outcome.text, outcome.line = (said["failure"][name] for name in ("kind", "text", "line"))
    outcome.counts.update(said.get("counts", {}))


def _kill(process: subprocess.Popen[str]) -> None:
    """End a job with all its processes."""
    if process.poll() is None:
        os.killpg(process.pid, signal.SIGTERM)  # launchers end their processes
        try:
            process.wait(5)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()
