"""What the command lines share: arguments, operands, the clock, and the verdict.

A wrong argument is the same on every process: rank 0 prints one message, and all end with code 2. A result that
fails its check ends all with code 1.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable
from typing import Any, NoReturn

import numpy as np

import pgaspy as pg

__all__ = ["Parser", "check_blocks", "in_blocks", "matrices", "norm", "report", "timed"]


class Parser(argparse.ArgumentParser):
    """An argument parser that speaks on rank 0 only, and ends all processes alike."""

    def _print_message(self, message: str, file: Any = None) -> None:
        if pg.RANK == 0:
            super()._print_message(message, file)

    def exit(self, status: int = 0, message: str | None = None) -> NoReturn:
        """Not by `sys.exit`, after which pgaspy aborts the job: every process comes here."""
        if message:
            self._print_message(message, sys.stderr)
        raise SystemExit(status)

    def add_blocks(self, block: int, grid_rows: int = 1) -> None:
        """Add the options of `in_blocks`, with the block size and the grid that are the defaults."""
        self.add_argument("--block", type=int, default=block, help=f"rows and columns of a block (default: {block})")
        self.add_argument("--grid-rows", type=int, default=grid_rows,
                          help=f"rows of the grid of processes (default: {grid_rows})")


def in_blocks(A: pg.GlobalArray, arguments: argparse.Namespace) -> pg.GlobalArray:
    """A copy of a matrix in the square blocks, and on the grid, of a command line; ValueError where there are none."""
    block, rows = f"cyclic({arguments.block})", arguments.grid_rows
    if rows < 1:
        raise ValueError(f"--grid-rows {rows} is below 1")
    A = A.redistribute(pg.Distribution(block, block, grid=(rows, pg.SIZE // rows)))
    check_blocks(A)
    return A


def matrices(words: list[str], n_files: int) -> list[pg.GlobalArray]:
    """The matrices of a command line: `n_files` files in NumPy's format, or random ones of size n.

    Raises
    ------
    ValueError
        If the words are neither, or a file holds no matrix.
    """
    if len(words) == 1 and words[0].isdigit() and int(words[0]) > 0:
        rng = pg.random.default_rng(seed=2012)
        return [rng.random((int(words[0]), int(words[0]))) for _ in range(n_files)]
    if len(words) != n_files:
        raise ValueError(f"give a size, or {n_files} .npy file(s), not: {' '.join(words)}")
    loaded = [pg.load(word) for word in words]
    for word, array in zip(words, loaded, strict=True):
        if array.ndim != 2 or not array.size:
            raise ValueError(f"{word} holds an array of shape {array.shape}, not a matrix")
    dtype = np.result_type(*(array.dtype for array in loaded), np.float32)
    return [array.astype(dtype, copy=False) for array in loaded]


def check_blocks(A: pg.GlobalArray) -> None:
    """Raise ValueError, the same on every process, if A is not a matrix in square blocks."""
    if A.ndim != 2:
        raise ValueError(f"a factorisation takes a matrix, not an array of shape {A.shape}")
    b, layout = A.layout.block[1], A.layout
    blocks = tuple(-(-n // max(b, 1)) for n in A.shape)
    if layout.n_blocks != blocks or len(layout.grid) != 2 or [dim.axis for dim in layout.dims] != [0, 1] or (
            A.size and layout.block[0] != b):
        raise ValueError(f"a factorisation takes square blocks on a grid of two axes, not {layout}: use "
                         'redistribute(pg.Distribution("cyclic(128)", "cyclic(128)"))')


def norm(x: pg.GlobalArray) -> float:
    """The Euclidean norm of a vector, or the Frobenius norm of a matrix. Collective."""
    return float(np.sqrt(np.square(np.abs(x)).sum()))


def timed(function: Callable[..., Any], *arguments: Any) -> tuple[Any, float]:
    """What a function returns, and the seconds until every process has done its part. Collective."""
    pg.COMM.Barrier()
    start = time.perf_counter()
    result = function(*arguments)
    pg.COMM.Barrier()  # pg.COMM executes what is recorded
    return result, time.perf_counter() - start


def report(title: str, seconds: float, speed: str, checks: dict[str, tuple[float, float]]) -> None:
    """Print a run on rank 0, and end all processes with code 1 if a check fails. Collective.

    Parameters
    ----------
    checks
        For each, the value found and the largest that is right; the same on every process.
    """
    wrong = [name for name, (found, limit) in checks.items() if not found <= limit]  # so that NaN is wrong
    if pg.RANK == 0:
        print(f"{title}; processes: {pg.SIZE}, threads of each: {pg.THREADS}")
        print(f"  {seconds:.3f} s, {speed}")
        for name, (found, limit) in checks.items():
            print(f"  {name}: {found:.2g} (at most {limit:g}){'  WRONG' if name in wrong else ''}", flush=True)
    if wrong:
        raise SystemExit(1)
