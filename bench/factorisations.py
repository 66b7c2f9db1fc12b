"""Product, LU, Cholesky and QR on 2 processes with 1 thread each, against SciPy with 2 threads and ScaLAPACK, in turns.

Usage: pgaspy run -n 2 --unbound -m bench.factorisations [-n 4000 ...] [--jobs gemm getrf ...]
       [--dtype float64]
"""

from __future__ import annotations

import argparse
import itertools
from collections.abc import Callable
from statistics import median
from typing import Any

import numpy as np
import scipy.linalg
import threadpoolctl
from numpy.typing import NDArray

import pgaspy as pg
from bench.jobs import square_blocks
from bench.scalapack import FLOP, Missing, Setting, scalapack_seconds
from bench.timing import Result, alone, in_turns, note, ratio, report
from pgaspy.algorithms.cholesky import cholesky
from pgaspy.algorithms.lu import lu
from pgaspy.algorithms.qr import qr
from pgaspy.algorithms.summa import summa

NAMES = {"gemm": "product", "getrf": "LU", "potrf": "Cholesky", "geqrf": "QR"}
DTYPES = ("float32", "float64", "complex64", "complex128")

BLOCKS = {"gemm": 0, "getrf": 192, "potrf": 192, "geqrf": 96}
"""Of our matrices; 0 for one block per process."""

SETTINGS = {"gemm": Setting(64, (1, 2), 32), "getrf": Setting(64, (1, 2), 256), "potrf": Setting(128, (1, 2), 32),
            "geqrf": Setting(128, (2, 1), 256)}
"""The best of ScaLAPACK's, as `python -m bench.scalapack` finds them; the product with the panels of PBLAS as it is."""

GOALS = {"gemm": (0.95, 1.1), "getrf": (0.95, 1.0), "potrf": (0.9, 0.9), "geqrf": (0.9, 0.9)}
"""Against SciPy and ScaLAPACK."""


class Turns:
    """What takes turns: each job on a fresh copy of its matrix, which is made before."""

    def __init__(self, job: str, n: int, dtype: np.dtype[Any]) -> None:
        self.job, self.n, self.dtype = job, n, dtype
        self.A = _random_matrix(n, dtype, square_blocks(job, BLOCKS[job]))
        if job == "potrf":
            self.A = self.A + self.A.T.conj() + pg.eye(n, dtype=dtype, layout=self.A.layout) * (4 * n)
        self.F = self.A.copy()
        self.C = pg.zeros_like(self.A)
        gathered = self.A.gather(root=0)
        self.a: Any = None if gathered is None else np.asfortranarray(gathered)  # on rank 0 alone, as f and c
        self.f: Any = None if gathered is None else np.array(gathered, order="F")
        self.c: Any = None if gathered is None else np.empty_like(self.a)
        self.scalapack: list[float] = []
        self.waiting: list[float] = []

    def renew(self) -> None:
        """Make the copies."""
        if self.job != "gemm":
            self.F[...] = self.A
            if self.f is not None:
                np.copyto(self.f, self.a)
        pg.COMM.Barrier()
        self._waited = pg.stats().seconds_waiting

    def ours(self) -> None:
        """The job by pgaspy."""
        what: dict[str, Callable[[], Any]] = {
            "gemm": lambda: summa(self.A, self.A, self.C, beta=0), "getrf": lambda: lu(self.F),
            "potrf": lambda: cholesky(self.F), "geqrf": lambda: qr(self.F)}
        what[self.job]()
        pg.COMM.Barrier()
        self.waiting.append(pg.stats().seconds_waiting - self._waited)

    def scipys(self) -> None:
        """The job by NumPy or SciPy, on all cores."""
        f = self.f
        what: dict[str, Callable[[], Any]] = {
            "gemm": lambda: np.matmul(self.a, self.a, out=self.c),
            "getrf": lambda: scipy.linalg.lu_factor(f, overwrite_a=True, check_finite=False),
            "potrf": lambda: scipy.linalg.cholesky(f, lower=True, overwrite_a=True, check_finite=False),
            "geqrf": lambda: scipy.linalg.qr(f, mode="raw", overwrite_a=True, check_finite=False, lwork=64 * self.n)}
        with threadpoolctl.threadpool_limits(pg.SIZE):
            what[self.job]()

    def scalapacks(self) -> None:
        """The job by ScaLAPACK, in a job of its own, which tells how long it took; of float64 alone."""
        if self.dtype != np.float64:
            return
        try:
            self.scalapack += scalapack_seconds(self.job, self.n, SETTINGS[self.job], repeats=1)
        except Missing as reason:
            note(f"factorisations: {reason}")


def _random_matrix(n: int, dtype: np.dtype[Any], layout: pg.Distribution | None) -> pg.GlobalArray:
    rng = pg.random.default_rng(1)
    A = rng.random((n, n), layout=layout)
    return (A + 1j * rng.random((n, n), layout=layout) if dtype.kind == "c" else A).astype(dtype, copy=False)


def local_product_speed(n: int, dtype: np.dtype[Any]) -> float:
    """GFLOP/s of one local product while all processes compute one: what nothing can exceed, times the processes."""
    a: NDArray[Any] = np.ones((n // 2, n // 2), dtype)
    seconds = in_turns(lambda: a @ a, repeats=3, before=pg.COMM.Barrier)[0]
    return 2 * flop_of_one(dtype) * (n // 2)**3 / 1e9 / median(seconds)


def flop_of_one(dtype: np.dtype[Any]) -> int:
    """Floating point operations in place of one of real numbers: half an addition and half a multiplication."""
    return 4 if dtype.kind == "c" else 1


def measure(job: str, n: int, dtype: np.dtype[Any], repeats: int) -> list[Result]:
    """The lines of the table for a job."""
    turns = Turns(job, n, dtype)
    times, scipys, _ = in_turns(turns.ours, alone(turns.scipys), alone(turns.scalapacks), repeats=repeats,
                                before=turns.renew)
    gflop = flop_of_one(dtype) * FLOP[job] * n**3 / 1e9
    speed = gflop / median(times)
    name = f"{NAMES[job]}, n = {n}, {dtype}, 2 processes x 1 thread"
    waiting = max(pg.COMM.allgather(median(turns.waiting[1:])))
    peak = local_product_speed(n, dtype) * pg.SIZE
    results = [Result(name, speed, "GFLOP/s", "SciPy, 2 threads", gflop / median(scipys), ratio(times, scipys),
                      GOALS[job][0])]
    rivals = turns.scalapack[1:]
    if rivals:
        results.append(Result(name, speed, "GFLOP/s", f"ScaLAPACK, 2 processes ({SETTINGS[job]})",
                              gflop / median(rivals), ratio(times, rivals), GOALS[job][1]))
    return [*results, Result(f"{name}: waiting", 100 * waiting / median(times), "%"),
            Result(f"{name}: share of the local products' speed", 100 * speed / peak, "%")]


def main() -> None:
    """Measure."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("-n", type=int, nargs="+", default=[4000], help="sizes of the matrices")
    parser.add_argument("--jobs", nargs="+", choices=FLOP, default=list(FLOP))
    parser.add_argument("--dtype", nargs="+", choices=DTYPES, default=["float64"], help="ScaLAPACK has float64 only")
    parser.add_argument("--repeats", type=int, default=5)
    arguments = parser.parse_args()
    for n, dtype, job in itertools.product(arguments.n, arguments.dtype, arguments.jobs):
        results = measure(job, n, np.dtype(dtype), arguments.repeats)
        if pg.RANK == 0:
            report(results)


if __name__ == "__main__":
    main()
