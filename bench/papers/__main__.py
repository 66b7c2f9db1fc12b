"""The papers' tables on this machine, with their figures beside.

The programs are those of `examples/`: the eight of the paper on latency hiding, in order and with latency hidden, on
one process with a thread per core, on a process per core, and on two hosts that a slow link joins; the 5-point stencil
with views that are aligned and views that are not; blocking (a process per core) against hybrid (threads); fusion
against none, which is how the in-order executor works. What is compared runs in turns; medians are shown.

Usage: python -m bench.papers [PROGRAM ...] [--tables machine link stencil fusion] [--rate 200mbit] [--repeats 5]
    [--rounds 3] [--plots FOLDER]
"""

from __future__ import annotations

import argparse
import os
from collections.abc import Mapping
from pathlib import Path

from bench.link import NoLink
from bench.papers import plots, tables
from bench.papers.bounds import BOUNDS
from bench.papers.figures import FUSION, LATENCY_HIDING, N_CORES, STENCIL_EFFICIENCY
from bench.papers.measuring import on_this_machine, over_link, timeline
from bench.papers.settings import FUSED, SETTINGS, STENCIL
from bench.papers.tables import WORDS, Found, Link
from bench.timing import note, report, table

TABLES = ("machine", "link", "stencil", "fusion")


class Measured:
    """What was found: per program on one process, on two, and on two hosts; and of the stencil with aligned views."""

    def __init__(self) -> None:
        self.of_one: dict[str, Found] = {}
        self.of_two: dict[str, Found] = {}
        self.of_link: dict[str, Link] = {}
        self.fused: dict[tuple[str, int], Found] = {}
        self.aligned: Found | None = None
        self.aligned_over_link: Link | None = None


def main() -> None:
    """Measure and show."""
    arguments = parsed()
    measured = Measured()
    note(f"papers: load {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores before")
    measure_here(arguments, measured)
    try:
        measure_link(arguments, measured)
    except NoLink as reason:
        note(f"papers: {reason}")
    note(f"papers: load {os.getloadavg()[0]:.1f} after")
    show(arguments, measured)
    if arguments.plots is not None:
        draw(arguments, measured)


def parsed() -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("programs", nargs="*", metavar="PROGRAM", help=f"of {', '.join(SETTINGS)}; all without any")
    parser.add_argument("--tables", nargs="+", choices=TABLES, default=TABLES)
    parser.add_argument("--rate", default="200mbit", help="of the link, each way")
    parser.add_argument("--repeats", type=int, default=5, help="of a measurement in a job")
    parser.add_argument("--rounds", type=int, default=3, help="of jobs on two hosts")
    parser.add_argument("--plots", type=Path, metavar="FOLDER", help="draw speed-up, waiting and a timeline there")
    arguments = parser.parse_args()
    if unknown := set(arguments.programs) - set(SETTINGS):
        parser.error(f"there is no {', '.join(sorted(unknown))}; there are {', '.join(SETTINGS)}")
    arguments.programs = arguments.programs or list(SETTINGS)
    return arguments


def measure_here(arguments: argparse.Namespace, measured: Measured) -> None:
    """Measure on this machine."""
    repeats = arguments.repeats
    for name in arguments.programs if "machine" in arguments.tables else ():
        of_one, of_two = (on_this_machine(name, SETTINGS[name], n, repeats) for n in (1, 2))
        measured.of_one[name], measured.of_two[name] = of_one, of_two
        bound = BOUNDS[name].name if name in BOUNDS else ""
        report(tables.machine_results(name, SETTINGS[name].goal, bound, of_one, of_two))
    if "stencil" in arguments.tables:
        measured.aligned = on_this_machine(STENCIL, SETTINGS[STENCIL], 2, repeats, aligned=True)
    for name in FUSION if "fusion" in arguments.tables else ():
        for n_threads in (1, 2):
            measured.fused[name, n_threads] = on_this_machine(name, FUSED[name], 1, repeats, n_threads)


def measure_link(arguments: argparse.Namespace, measured: Measured) -> None:
    """Measure on two hosts; NoLink where there are none."""
    limits = arguments.rate, arguments.rounds, arguments.repeats
    for name in arguments.programs if "link" in arguments.tables else ():
        measured.of_link[name] = over_link(name, SETTINGS[name], *limits)
        report(tables.link_results(name, arguments.rate, measured.of_link[name]))
    if "stencil" in arguments.tables:
        measured.aligned_over_link = over_link(STENCIL, SETTINGS[STENCIL], *limits, aligned=True)


def show(arguments: argparse.Namespace, measured: Measured) -> None:
    """Show the tables."""
    of_one, of_two, of_link = measured.of_one, measured.of_two, measured.of_link
    both = [*WORDS.values()]
    places: dict[str, Mapping[str, Found | Link]] = {"1 process": of_one, "2 processes": of_two, "2 hosts": of_link}
    if of_one or of_link:
        table(f"times as fast as NumPy on one core (time spent waiting); the paper's on {N_CORES} nodes",
              ["program", *(f"{place}, {words}" for place in places for words in both), "paper, blocking",
               "paper, hidden"],
              [[LATENCY_HIDING[name].title, *(tables.cell(found.get(name), way) for found in places.values()
                                              for way in WORDS), *tables.paper_cells(LATENCY_HIDING[name])]
               for name in arguments.programs])
    if of_link:
        table(f"two hosts over {arguments.rate}, ms: the program, and what it consists of, by itself",
              ["program", "computing", "link", "values read", *both, "over the longer",
               *(f"waiting, {words}" for words in both)],
              [tables.link_row(LATENCY_HIDING[name].title, found) for name, found in of_link.items()])
    if measured.aligned is not None:
        views = {"aligned": (measured.aligned, measured.aligned_over_link),
                 "shifted": (of_two.get(STENCIL), of_link.get(STENCIL))}
        table("5-point stencil: speed-up over that of as many NumPys",
              ["views", "2 processes", "2 hosts", "paper, 2048 cores"],
              [[name, *(tables.stencil_cell(one, 2) for one in found), f"{STENCIL_EFFICIENCY[name]} %"]
               for name, found in views.items()])
    if of_one:
        table("blocking against hybrid: times as fast as NumPy on one core",
              ["program", "2 processes x 1 thread", "1 process x 2 threads", "hybrid over blocking"],
              [tables.hybrid_row(LATENCY_HIDING[name].title, found, of_two[name]) for name, found in of_one.items()])
    if measured.fused:
        table("fusion against none, 1 process: times as fast as NumPy on one core",
              ["program", "without", "with", "gain", "cphVB's"],
              [tables.fusion_row(f"{name}, {n} thread(s)", found, FUSION[name])
               for (name, n), found in measured.fused.items()])


def draw(arguments: argparse.Namespace, measured: Measured) -> None:
    """Draw the plots into a folder."""
    arguments.plots.mkdir(parents=True, exist_ok=True)
    if measured.of_link:
        timelines = {way: timeline(STENCIL, SETTINGS[STENCIL], arguments.rate, way, arguments.plots) for way in WORDS}
        for way, (file, seconds) in timelines.items():
            plots.draw_timeline(file, seconds, f"{STENCIL} on two hosts, {WORDS[way]}", file.with_suffix(".png"))
        plots.draw_waiting(measured.of_link, arguments.plots / "waiting.png")
    if measured.of_one:
        plots.draw_speedups(measured.of_one, measured.of_two, arguments.plots / "speedup.png")


if __name__ == "__main__":
    main()
