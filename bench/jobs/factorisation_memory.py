"""Measures what a factorisation holds on each process besides the matrix, in processes that have done little before."""

from __future__ import annotations

import json
import sys
import tracemalloc
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

import pgaspy as pg
from bench.jobs import hand_back, square_blocks
from pgaspy.algorithms.cholesky import cholesky
from pgaspy.algorithms.lu import lu
from pgaspy.algorithms.qr import qr

JOBS: dict[str, Callable[[pg.GlobalArray], Any]] = {
    "getrf": lu, "potrf": cholesky, "geqrf": qr, "gesv": lambda A: pg.linalg.solve(A, np.ones(len(A)))}


def matrix(n: int, layout: pg.Distribution | None) -> pg.GlobalArray:
    """A random matrix with a large diagonal, made without another one; its lower triangle is positive definite."""
    A = pg.random.default_rng(1).random((n, n), layout=layout)
    _, i, j = np.intersect1d(A.global_indices(0), A.global_indices(1), return_indices=True)
    A.local()[i, j] += 2 * n
    return A


def resident_bytes(peak: bool = False) -> int:
    """Of this process, as Linux counts them: now, or the most since `forget_peak`."""
    name = "VmHWM:" if peak else "VmRSS:"
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) * 1024 for line in lines if line.startswith(name))


def forget_peak() -> None:
    """Begin to look for the largest `resident_bytes` anew."""
    Path("/proc/self/clear_refs").write_text("5")


def main(job: str, n: int, block: int | None, counts_blocks: bool) -> None:
    """Hand back the largest figure of all processes, in bytes, and the size of a local part of the matrix.

    Parameters
    ----------
    block
        See `square_blocks`.
    counts_blocks
        Count the blocks of memory that Python and NumPy allocate, without what libraries and the interpreter have
        besides; else the growth of the resident set.
    """
    layout = square_blocks(job, block)
    JOBS[job](matrix(min(n, 500), layout))  # libraries are loaded, and have allocated what they keep
    A = matrix(n, layout)
    pg.COMM.Barrier()
    if counts_blocks:
        tracemalloc.start()
        JOBS[job](A)
        pg.sync()
        found = tracemalloc.get_traced_memory()[1]
    else:
        forget_peak()
        before = resident_bytes()
        JOBS[job](A)
        pg.sync()
        found = resident_bytes(peak=True) - before
    hand_back([max(pg.COMM.allgather(found)), A.layout.max_local_size * A.itemsize])


if __name__ == "__main__":
    main(**json.loads(sys.argv[1]))
