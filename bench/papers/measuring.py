"""Starts the jobs that are measured: on this machine, and on two hosts that a slow link joins."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from bench import link, processes
from bench.papers.bounds import BOUNDS
from bench.papers.settings import Setting
from bench.papers.tables import Found, Link

__all__ = ["on_this_machine", "over_link", "timeline"]

WAYS = ["NumPy", "in order", "hidden"]


def on_this_machine(name: str, setting: Setting, n_processes: int, repeats: int, n_threads: int | None = None,
                    aligned: bool = False) -> Found:
    """Measure a program on so many processes, which share the cores; with its bound on one that has them all."""
    variables = {} if n_threads is None else {"OMP_NUM_THREADS": str(n_threads)}
    bound = ["bound"] if name in BOUNDS and n_processes == 1 and n_threads is None else []
    return processes.run_job("papers", n_processes, {
        "name": name, "size": setting.size, "steps": setting.steps, "ways": WAYS + bound, "repeats": repeats,
        "aligned": aligned}, **variables)


def over_link(name: str, setting: Setting, rate: str, rounds: int, repeats: int, aligned: bool = False) -> Link:
    """Measure a program on two hosts, with the same problem per process, in rounds of both jobs.

    Raises
    ------
    bench.link.NoLink
        If this machine cannot have two hosts.
    """
    task: dict[str, Any] = {"name": name, "size": setting.size_on_link, "steps": setting.steps_on_link,
                            "repeats": repeats, "aligned": aligned}
    alone = {**task, "alone": True, "ways": ["in order", "hidden"]}
    together = {**task, "times": 2, "n_reads": setting.n_reads, "ways": [*WAYS, "link"]}
    found = [[link.run_job("papers", rate, task) for task in (alone, together)] for _ in range(rounds)]
    return Link(*zip(*found, strict=True))


def timeline(name: str, setting: Setting, rate: str, way: str, folder: Path) -> tuple[Path, float]:
    """Run a program on two hosts with a timeline; its file in a folder, and the seconds of the last call."""
    file = folder.resolve() / f"{name}_{way.replace(' ', '_')}.json"
    task = {"name": name, "size": setting.size_on_link, "times": 2, "steps": setting.steps_on_link, "ways": [way],
            "repeats": 1}
    found = link.run_job("papers", rate, task, PGASPY_TRACE=str(file))
    return file, found[way]["seconds"][-1]
