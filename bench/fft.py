"""Fourier transforms, against SciPy's on one process with 2 threads; and one long vector, against it on one thread.

With 2 processes bound to a core each: started with `--unbound`, so that SciPy can use both. Where mpi4py-fft is
installed, which FFTW has to be there for, against this as well, on the same processes.
"""

from __future__ import annotations

import math
from functools import partial
from statistics import median

import numpy as np
import scipy.fft

import pgaspy as pg
from bench.timing import Result, alone, in_turns, ratio, report

N_CORES = 2
CASES: list[tuple[str, tuple[int, ...], float, float]] = [
    ("3-D", (256, 256, 256), 0.75, 0.9), ("2-D", (4096, 4096), 0.75, 0.9)]
"""Shapes, and what is asked for with the layout restored, and left as it is."""

N_LONG = 1 << 24


def against_scipy(name: str, shape: tuple[int, ...], transposed_out: bool, workers: int, goal: float) -> Result:
    """A complex transform of all dimensions."""
    A = pg.zeros(shape, complex, layout=pg.Distribution("block", *["*"] * (len(shape) - 1)))
    A[...] = pg.random.default_rng(1).random(shape)
    whole = A.gather(root=0)
    x = np.zeros((1,) * len(shape), complex) if whole is None else whole
    ours, theirs = in_turns(partial(pg.fft.fftn, A, transposed_out=transposed_out),
                            alone(partial(scipy.fft.fftn, x, workers=workers)), repeats=5, before=pg.COMM.Barrier)
    gflop = 5e-9 * math.prod(shape) * math.log2(math.prod(shape))
    how = "left as it is" if transposed_out else "restored"
    return Result(f"fftn of {name} {'x'.join(map(str, shape))}, layout {how}, on {pg.SIZE} x {pg.THREADS}",
                  gflop / median(ours), "GFLOP/s", f"SciPy, {workers} thread(s)", gflop / median(theirs),
                  ratio(ours, theirs), goal)


def against_mpi4py_fft(name: str, shape: tuple[int, ...]) -> Result | None:
    """A complex transform of all dimensions by as many processes, the layout left as it is; None where it is not there.
    """
    try:
        from mpi4py_fft import PFFT, newDistArray
    except ImportError:
        return None
    plan = PFFT(pg.COMM, shape, axes=tuple(range(len(shape))), dtype=complex, grid=(-1,))
    x, y = newDistArray(plan, False), newDistArray(plan, True)
    A = pg.zeros(shape, complex, layout=pg.Distribution("block", *["*"] * (len(shape) - 1)))
    A[...] = pg.random.default_rng(1).random(shape)
    x[...] = A.local()
    ours, theirs = in_turns(partial(pg.fft.fftn, A, transposed_out=True), partial(plan.forward, x, y, normalize=False),
                            repeats=5, before=pg.COMM.Barrier)
    gflop = 5e-9 * math.prod(shape) * math.log2(math.prod(shape))
    return Result(f"fftn of {name}, layout left as it is, on {pg.SIZE} x {pg.THREADS}", gflop / median(ours), "GFLOP/s",
                  "mpi4py-fft", gflop / median(theirs), ratio(ours, theirs), 1.0)


def moves(shape: tuple[int, ...], transposed_out: bool) -> Result:
    """How often the elements travel, those counted that one transposition sends."""
    A = pg.zeros(shape, complex, layout=pg.Distribution("block", *["*"] * (len(shape) - 1)))
    pg.sync()
    before = pg.stats().nbytes_sent
    pg.fft.fftn(A, transposed_out=transposed_out).local()
    sent = pg.COMM.allreduce(pg.stats().nbytes_sent - before)
    once = A.nbytes * (pg.SIZE - 1) / pg.SIZE
    return Result(f"bytes sent, layout {'left as it is' if transposed_out else 'restored'}", sent / once,
                  "transpositions", goal=1.01 if transposed_out else 2.02)


def main() -> None:
    """Measure."""
    results: list[Result] = []
    for name, shape, restored, left in CASES:
        results += filter(None, [against_mpi4py_fft(name, shape)])
        results += [against_scipy(name, shape, False, N_CORES, restored),
                    against_scipy(name, shape, True, N_CORES, left)]
    results += [against_scipy("1-D", (N_LONG,), False, 1, 0.7)]
    if pg.SIZE > 1:
        results += [moves((256, 256, 256), False), moves((256, 256, 256), True)]
    if pg.RANK == 0:
        report(results)


if __name__ == "__main__":
    main()
