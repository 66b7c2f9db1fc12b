"""What `pgaspy simulate` predicts, against what is measured: heat, SUMMA, lattice Boltzmann and conjugate gradients.

On processes of this machine with a core each, and on two hosts that a slow link joins, at three rates. The machine is
what `pgaspy selftest --json` measures there; kernels, tasks and the interpreter are measured here, by as many
processes at once. Of many short batches of steps the middle fifth counts, with its waiting; on one machine by the
processor's time, as a process that waits does so by testing, and over a link by the clock. Both are done in turn; they
want a machine that does nothing else.

Usage: python -m bench.predicted [--processes 1,2] [--rates 200mbit,1gbit,4gbit] [--programs heat,summa,lbm,cg]
"""

from __future__ import annotations

import argparse
import json
import os
import sys
from collections.abc import Sequence
from pathlib import Path
from statistics import mean, median
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

from bench import processes
from bench.link import LAUNCHER, UNAVAILABLE
from bench.timing import Result, note, report

TASKS = {"heat": (1000, 1), "summa": (512, 1), "lbm": (400, 4), "cg": (600, 1)}
"""Per program, points along each dimension, and the steps of a batch."""

SECONDS = 3.0
"""What the batches of one program take together, about."""

TURNS = 5
"""How often each is measured, and predicted, in turn."""

BATCHES_OF_SIMULATION, N_WARMING = 40, 10
"""Of which so many do not count."""

GOAL, GOAL_WAITING = 1.2, 5.0
"""The longer of both times over the shorter; points of per cent between what they wait."""


def main() -> None:
    """Measure and predict."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--processes", default="1,2", help="jobs on this machine, of one core each")
    parser.add_argument("--rates", default="200mbit,1gbit,4gbit", help="links of two hosts, separated by commas")
    parser.add_argument("--programs", default=",".join(TASKS), help="which of them")
    arguments = parser.parse_args()
    jobs: list[tuple[str, int, list[str]]] = []
    for n in map(int, filter(None, arguments.processes.split(","))):
        jobs.append((f"{n} process(es)", n, [sys.executable, "-m", "pgaspy", "run", "-n", str(n), "--threads", "1"]))
    for rate in filter(None, arguments.rates.split(",")):
        jobs.append((f"2 hosts over {rate}", 2, [sys.executable, str(LAUNCHER), "--rate", rate, sys.executable]))
    for where, n, launcher in jobs:
        report(compared(where, n, launcher, arguments.programs.split(",")))


def compared(where: str, n: int, launcher: list[str], programs: Sequence[str]) -> list[Result]:
    """The results on one machine."""
    found = []
    with TemporaryDirectory(prefix="pgaspy-") as folder:
        file = str(Path(folder, "machine.json"))
        if started([*launcher, "-m", "pgaspy", "selftest", "--json", file]) is None:
            return []
        for program in programs:
            size, n_steps = TASKS[program]
            task = {"program": program, "n": size, "steps": n_steps, "batches": 5, "is_warmed": True}
            out = started([*launcher, "-m", "bench.jobs.predicted", json.dumps(task)])
            once = min(json.loads(out.splitlines()[-1])["seconds"])
            batches = max(min(int(SECONDS / once), 3000), 50)
            turns = []
            for _ in range(TURNS):
                out = started([*launcher, "-m", "bench.jobs.predicted", json.dumps({**task, "batches": batches})])
                clock = "seconds" if "hosts" in where else "processor"
                turns.append(_Turn(_middle(json.loads(out.splitlines()[-1]), clock), _simulated(task, n, file)))
            found += _results(f"{program}, {where}: predicted", turns)
    return found


class _Turn(NamedTuple):
    """The time of a batch, and its waiting, as they were measured and as they were predicted, one after the other."""

    measured: tuple[float, float]
    predicted: tuple[float, float]


def _results(name: str, turns: Sequence[_Turn]) -> list[Result]:
    """The medians; what is compared is so turn by turn, as the machine is faster at one time than at another."""
    (seconds, waiting), (predicted, predicted_waiting) = (
        map(median, zip(*found, strict=True)) for found in zip(*turns, strict=True))
    ratio = median(turn.predicted[0] / turn.measured[0] for turn in turns)
    points = 100 * median(turn.predicted[1] - turn.measured[1] for turn in turns)
    return [
        Result(name, 1e3 * predicted, "ms", "measured", 1e3 * seconds, max(ratio, 1 / ratio), GOAL, at_most=True),
        Result(f"{name} waiting", 100 * predicted_waiting, "%", "measured", 100 * waiting),
        Result(f"{name} waiting less measured", abs(points), "points", goal=GOAL_WAITING)]


def _middle(measured: dict[str, list[float]], clock: str) -> tuple[float, float]:
    """The time of a batch, and its waiting."""
    return _middle_of([*zip(measured[clock], measured["waiting"], strict=True)])


def _middle_of(batches: Sequence[tuple[float, float]]) -> tuple[float, float]:
    """The time of the middle fifth of some, and its waiting."""
    middle = sorted(batches)[len(batches) * 2 // 5:len(batches) * 3 // 5 + 1]
    return median(seconds for seconds, _ in middle), mean(waiting for _, waiting in middle)


def _simulated(task: dict[str, Any], n: int, machine: str) -> tuple[float, float]:
    """The same, as predicted."""
    out = started([
        sys.executable, "-m", "pgaspy", "run", "-n", str(n), "--threads", "1", "-m", "pgaspy", "simulate",
        "bench.jobs.predicted", "--machine", machine, "--value", "1", "--measure", "-n", str(n), "--json", "--",
        json.dumps({**task, "is_warmed": False, "batches": BATCHES_OF_SIMULATION})])
    phases = json.loads(out)["jobs"][0]["phases"][1:2 * BATCHES_OF_SIMULATION:2]
    return _middle_of([(phase["seconds"], phase["waiting"]) for phase in phases[N_WARMING:]])


def started(command: list[str]) -> Any:
    """What a program prints; None where this machine cannot have two hosts."""
    done = processes.run(command, {**os.environ}, timeout=240)
    if done.returncode == UNAVAILABLE:
        note(f"predicted: {done.stderr.strip()}")
        return None
    if done.returncode:
        sys.exit(f"{command} failed:\n{done.stdout}{done.stderr}")
    return done.stdout


if __name__ == "__main__":
    main()
