"""Whole programs by slices, as in textbooks, as a user starts them: a fresh job each, no kernel compiled yet.

Those that work on large slices are compared with NumPy, those of short statements with the sum of what their statements
may cost (see `bench.statements`), too. NumPy has one process, with as many threads. On large arrays only the first
steps are made, in which compiling counts for more than in the whole program; `--steps 2000` makes all of LU's.

Usage: python -m bench.textbook [NAME ...] [--steps N]
"""

from __future__ import annotations

import argparse
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

from bench.processes import run_job
from bench.programs import OF_SHORT_STATEMENTS
from bench.statements import STATEMENTS
from bench.timing import Result, note, report


class Setting(NamedTuple):
    """Where a program of large slices is run, and how much longer than NumPy it may take there."""

    n: int
    n_processes: int
    variables: dict[str, str]
    goal: float


SETTINGS = (Setting(400, 1, {}, 5), Setting(400, 2, {}, 15), Setting(650, 1, {"OMP_NUM_THREADS": "1"}, 1.5),
            Setting(2000, 1, {"OMP_NUM_THREADS": "1"}, 1.2), Setting(2000, 2, {}, 1))

N_STEPS = {
    "LU without pivoting": {400: 400, 650: 100, 2000: 40},
    "modified Gram-Schmidt": {400: 400, 650: 100, 2000: 40},
    "Floyd-Warshall": {400: 400, 650: 100, 2000: 40},
    "multigrid V-cycles": {400: 10, 650: 10, 2000: 3},
    "red-black Gauss-Seidel": {400: 200, 650: 100, 2000: 20},
    "alternating directions": {400: 2, 650: 2, 2000: 1},
}
"""Of programs of large slices, per size; so many that NumPy takes some seconds at most."""

SIZES = {"LU by rows": 400, "triangular solve by rows": 400, "Thomas's method": 400, "Gauss by rows": 40,
         "edit distance": 20, "largest sum": 400, "insertion sort": 40}
"""Of programs of short statements; less where their number grows with the square of it."""

GOAL_SHORT = 1.2
"""The time over the sum of what the statements may cost."""


def measure(name: str, n: int, n_processes: int, n_steps: int | None = None, **variables: str) -> dict[str, Any]:
    """What a job hands back of a program, with no kernel compiled yet."""
    with TemporaryDirectory(prefix="pgaspy-bench-") as folder:
        found = run_job("textbook", n_processes, {"name": name, "n": n, "n_steps": n_steps},
                        PGASPY_CACHE=folder, **variables)
    note(f"{name}, n = {n}, {n_processes} process(es): {found['seconds']:.2f} s, of which planning "
         f"{found['planning']:.2f} s")
    return found


def of_slices(name: str, setting: Setting, n_steps: int) -> list[Result]:
    """The result of a program of large slices."""
    found = measure(name, setting.n, setting.n_processes, n_steps, **setting.variables)
    threads = "".join(f" x {n} thread(s)" for n in setting.variables.values())
    seconds, numpy = found["seconds"], found["numpy"]
    return [Result(f"{name}, n = {setting.n}, {n_steps} steps, {setting.n_processes} process(es){threads}",
                   seconds, "s", "NumPy", numpy, seconds / numpy, setting.goal, at_most=True)]


def of_short_statements(name: str, n_processes: int) -> list[Result]:
    """The results of a program of short statements."""
    n, program = SIZES[name], OF_SHORT_STATEMENTS[name]
    found = measure(name, n, n_processes)
    allowed = sum(count * STATEMENTS[kind].goals[n_processes] / 1e6 for kind, count in program.n_statements(n).items())
    title, seconds = f"{name}, n = {n}, {n_processes} process(es)", found["seconds"]
    return [Result(title, seconds, "s", "its statements", allowed, seconds / allowed, GOAL_SHORT, True),
            Result(title, seconds, "s", "NumPy", found["numpy"], seconds / found["numpy"], at_most=True)]


def main() -> None:
    """Measure."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("names", nargs="*", metavar="NAME", default=[*N_STEPS, *SIZES], help="of programs; or all")
    parser.add_argument("--steps", type=int, help="on large arrays")
    arguments = parser.parse_args()
    if unknown := {*arguments.names} - {*N_STEPS, *SIZES}:
        parser.error(f"no programs: {', '.join(sorted(unknown))}; there are {', '.join([*N_STEPS, *SIZES])}")
    for name in arguments.names:
        if name in N_STEPS:
            for setting in SETTINGS:
                report(of_slices(name, setting, (setting.n > 400 and arguments.steps) or N_STEPS[name][setting.n]))
        else:
            for n_processes in (1, 2):
                report(of_short_statements(name, n_processes))


if __name__ == "__main__":
    main()
