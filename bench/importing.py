"""What `import pgaspy` adds to the imports of NumPy and mpi4py, on one process that MPI starts alone."""

from __future__ import annotations

import os
import sys
from statistics import median
from tempfile import TemporaryDirectory

from bench import processes
from bench.timing import Result, report

REPEATS = 15
GOAL = 0.15

PROGRAM = """
from time import perf_counter
start = perf_counter()
import numpy
from mpi4py import MPI
theirs = perf_counter()
import pgaspy
print(perf_counter() - theirs, theirs - start)
"""


def seconds(environment: dict[str, str]) -> list[float]:
    """The seconds that pgaspy takes, and those of NumPy and mpi4py before, in a Python process of their own."""
    done = processes.run([sys.executable, "-c", PROGRAM], environment)
    if done.returncode:
        sys.exit(f"the imports failed:\n{done.stderr}")
    return [float(word) for word in done.stdout.split()]


def main() -> None:
    """Measure with the compiled modules kept, as they are where pgaspy is installed."""
    with TemporaryDirectory(prefix="pgaspy-bench-") as folder:
        environment = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
        environment["PYTHONPYCACHEPREFIX"] = folder
        times = [seconds(environment) for _ in range(REPEATS + 1)][1:]
    ours, theirs = (median(column) for column in zip(*times, strict=True))
    report([Result("import pgaspy, after NumPy and mpi4py", ours, "s", "these", theirs, goal=GOAL)])


if __name__ == "__main__":
    main()
