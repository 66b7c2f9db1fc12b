"""How the programs of examples/ scale on machines that are not here: `pgaspy simulate`, as a table in Markdown.

The problem grows with the job, so that each process has as many elements as one process has alone. Per program and job:
the time of the steps, how many processes that only compute it is worth, the share of the time that they wait; then what
the simulation took: processes that were played, the processor's seconds to plan one, and to play all, and memory.

Usage: python -m bench.scaling [--processes 1,16,1536,1000000] [--programs mandelbrot,knn] [--steps 2]
"""

from __future__ import annotations

import argparse
import sys

from bench.processes import ROOT
from pgaspy.host.words import of_bytes
from pgaspy.simulating.machine import Machine
from pgaspy.simulating.scripts import CommandLine
from pgaspy.simulating.settings import Settings, SimulationError
from pgaspy.simulating.simulation import Simulation, simulate
from pgaspy.simulating.tasks import TaskTimes

PAPERS = {"mandelbrot": (2000, 2), "black_scholes": (2000, 2), "n_body": (2000, 2), "knn": (2000, 2),
          "lattice_boltzmann_2d": (1000, 2), "lattice_boltzmann_3d": (100, 3), "jacobi": (4000, 2),
          "jacobi_stencil": (2000, 2)}
"""DistNumPy's eight: the size on one process, and the root of the number of processes that it grows with."""

CUBES = {"finite_differences": (100, 3), "navier_stokes": (100, 3)}
"""Others whose arrays have three dimensions."""

SIZE, SPREAD = 1000, 32
"""Of others yet, which grow as those with matrices do; and on how many processes the items of index arrays lie."""

HEADER = "| program | processes | size | time | worth | waiting | played | to plan one | to play all | memory |"


def main() -> None:
    """Print the table, a row for each program and job."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--processes", default="1,16,96,1536", help="jobs, separated by commas")
    parser.add_argument("--programs", default=",".join(PAPERS), help="which of them; all, or separated by commas")
    parser.add_argument("--steps", type=int, default=2, help="of each")
    arguments = parser.parse_args()
    programs = sorted(path.stem for path in (ROOT / "examples").glob("[a-z]*.py"))
    if arguments.programs != "all":
        programs = arguments.programs.split(",")
    sys.path.insert(0, str(ROOT / "examples"))
    print(f"{HEADER}\n|{' --- |' * HEADER.count(' |')}", flush=True)
    for name in programs:
        for n in map(int, arguments.processes.split(",")):
            size, root = (PAPERS | CUBES).get(name, (SIZE, 2))
            print(row(name, n, round(size * n ** (1 / root)), arguments.steps), flush=True)


def row(name: str, n: int, size: int, steps: int) -> str:
    """That of one program, of a size, in a job of n processes; or why there is none."""
    command = CommandLine(str(ROOT / "examples" / f"{name}.py"), False, ["--size", str(size), "--steps", str(steps)])
    try:
        found = simulate(command, n, Settings(Machine(), TaskTimes({}), value=1.0, spread=SPREAD))
    except SimulationError as error:
        return f"| {name} | {n} | {size} | {error} |"
    return f"| {name} | {n} | {size} | {' | '.join(cells(found))} |"


def cells(found: Simulation) -> list[str]:
    """The figures of the steps, which are the program's second phase, and of the simulation."""
    phase = found.phases[1]
    seconds = max(own.seconds for own in phase.values())
    computing, waiting = (found.mean(phase, name) / seconds for name in ("computing", "waiting"))
    return [f"{1e3 * seconds:.3g} ms", f"{found.size * computing:.4g}", f"{waiting:.1%}", f"{len(found.courses)}",
            f"{found.seconds_planning:.2g} s", f"{found.seconds_playing:.2g} s", of_bytes(found.max_rss)]


if __name__ == "__main__":
    main()
