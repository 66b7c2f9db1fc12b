"""What LU, Cholesky, QR and solve hold on each process besides the matrix, in panels, on 1, 2 and 4 processes.

A panel is a block column of the matrix. Blocks are those that Python and NumPy allocate, with those that are kept free
to be used again; the resident set is what Linux counts. The matrix that `solve` copies, and what it moves at once to do
so, come on top of its panels.

Usage: python -m bench.memory_of_factorisations [-n 4000]
"""

from __future__ import annotations

import argparse
import itertools

from bench.processes import run_job
from bench.timing import Result, report

NAMES = {"getrf": "LU", "potrf": "Cholesky", "geqrf": "QR", "gesv": "solve"}
N_PROCESSES = (1, 2, 4)
BLOCK = 96
GOAL = 12.0
"""Panels."""


def measure(job: str, n: int, n_processes: int) -> list[Result]:
    """The lines of the table for a job."""
    name, panel = f"{NAMES[job]}, n = {n}, {n_processes} process(es)", n * BLOCK * 8
    results = []
    for counted, counts_blocks in (("blocks", True), ("resident set", False)):
        held, local = run_job("factorisation_memory", n_processes, {
            "job": job, "n": n, "block": None if job == "gesv" else BLOCK, "counts_blocks": counts_blocks})
        if job == "gesv":
            results.append(Result(f"{name}: {counted} besides the matrix", held / local, "local parts"))
        else:
            results.append(Result(f"{name}: {counted} besides the matrix", held / panel, "panels",
                                  goal=GOAL if counts_blocks else None))
    return results


def main() -> None:
    """Measure."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("-n", type=int, default=4000, help="size of the matrices")
    arguments = parser.parse_args()
    for n_processes, job in itertools.product(N_PROCESSES, NAMES):
        report(measure(job, arguments.n, n_processes))


if __name__ == "__main__":
    main()
