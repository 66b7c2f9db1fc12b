"""What one process reaches: products of matrices, the multiply-adds that its cores can do at most, memory.

Measured on all processes at once, as they compute at once.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from tempfile import TemporaryDirectory
from time import perf_counter

import numpy as np

import pgaspy as pg
from pgaspy.kernels import compiler
from pgaspy.kernels.compiler import CompilerError

__all__ = ["memory_speed", "peak_speed", "product_speed"]

SECONDS = 0.2
"""How long each speed is measured; the best of what is tried meanwhile counts."""

N = 1024
"""Rows and columns of the matrices: more would not be faster."""

N_ELEMENTS = 1 << 22
"""Elements of each array, more than caches hold."""

PEAK = """
#if defined __AVX512F__
typedef double vector __attribute__((vector_size(64)));
#elif defined __AVX__
typedef double vector __attribute__((vector_size(32)));
#else
typedef double vector __attribute__((vector_size(16)));
#endif

/* 12 accumulators hide the latency of a multiply-add, and leave 4 of 16 registers. */
__attribute__((optimize("fp-contract=fast"))) double multiply_add(long n, double seed)
{
    vector x = seed + (vector){0}, y = x - 1, c[12];
    for (int i = 0; i < 12; i++)
        c[i] = x;
    for (long k = 0; k < n; k++) {
#pragma GCC unroll 12
        for (int i = 0; i < 12; i++)
            c[i] = c[i] * x + y;
    }
    vector sum = c[0];
    for (int i = 1; i < 12; i++)
        sum += c[i];
    return sum[0];
}

long flop_per_step(void)
{
    return 2 * 12 * sizeof(vector) / sizeof(double);
}
"""


def product_speed() -> float:
    """GFLOP/s of `a @ b` on float64 matrices, by NumPy's BLAS with the threads that this process has."""
    a, b, c = np.ones((N, N)), np.ones((N, N)), np.empty((N, N))
    return 2e-9 * N**3 / _least_seconds(lambda: np.matmul(a, b, c))


def peak_speed() -> float | None:
    """GFLOP/s of multiply-adds on registers, in as many threads; None without a C compiler."""
    cc = compiler.find()
    if cc is None:
        return None
    with TemporaryDirectory(prefix="pgaspy-") as folder:
        try:
            cc.compile(PEAK, folder, "peak.so")
        except (CompilerError, OSError):
            return None
        library = ctypes.CDLL(str(Path(folder, "peak.so")))
    library.multiply_add.argtypes = ctypes.c_long, ctypes.c_double
    library.multiply_add.restype = ctypes.c_double
    library.flop_per_step.restype = ctypes.c_long
    n = 500_000
    with ThreadPoolExecutor(pg.THREADS) as threads:  # ctypes releases Python's lock

        def steps() -> None:
            list(threads.map(library.multiply_add, [n] * pg.THREADS, [1.0] * pg.THREADS))

        return 1e-9 * n * pg.THREADS * library.flop_per_step() / _least_seconds(steps)


def memory_speed() -> float:
    """GB/s of `z[...] = x + y` on float64 arrays: what is read and written, as STREAM counts. Collective."""
    x, y, z = (pg.ones(N_ELEMENTS * pg.SIZE) for _ in range(3))

    def add() -> None:
        z[...] = x + y
        pg.sync()

    return 24e-9 * N_ELEMENTS / _least_seconds(add)


def _least_seconds(call: Callable[[], object]) -> float:
    """The seconds of the fastest of several calls, after one that is not counted. Collective: as many on all processes.
    """
    start = perf_counter()
    call()
    n = pg.COMM.bcast(max(int(SECONDS / (perf_counter() - start)), 3))
    times = []
    pg.COMM.Barrier()
    for _ in range(n):
        start = perf_counter()
        call()
        times.append(perf_counter() - start)
    return min(times)
