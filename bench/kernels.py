"""The kernels' speed as ratios to NumPy's: interleaved runs, medians. ``python bench/kernels.py``."""

from __future__ import annotations

import sys
from collections.abc import Callable
from statistics import median
from time import perf_counter

import numpy as np

from pgaspy import kernels as k

N = 20_000_000
REPEATS = 9


def ratio(ours: Callable[[], object], numpys: Callable[[], object]) -> tuple[float, float]:
    """Return (NumPy's time / our time, our time in seconds)."""
    times: tuple[list[float], list[float]] = [], []
    ours(), numpys()
    for _ in range(REPEATS):
        for function, record in zip((ours, numpys), times, strict=True):
            start = perf_counter()
            function()
            record.append(perf_counter() - start)
    return median(times[1]) / median(times[0]), median(times[0])


def elementwise(name: str, types: str, *operands: np.ndarray) -> Callable[[], None]:
    """Return a call of a kernel on these operands."""
    call = k.ElementwiseCall(k.lookup(name, types), operands[0].shape, [x.strides for x in operands])
    addresses = [k.address(x) for x in operands]
    return lambda: call.call(*addresses)


def main() -> None:
    """Print the ratios."""
    rng = np.random.default_rng(1)
    x, y, z = rng.random(N) * 4 + 0.01, rng.random(N), np.empty(N)
    s = np.empty(())
    reduce = k.ReduceCall(k.reduce_lookup("add", "d->d"), [], [], [], [N], [8])
    cases = {
        "copy": (elementwise("copy", "d->d", x, z), lambda: np.copyto(z, x)),
        "add": (elementwise("add", "dd->d", x, y, z), lambda: np.add(x, y, out=z)),
        "sum": (lambda: reduce.call(k.address(x), k.address(s)), lambda: x.sum()),
    }
    for name in sys.argv[1:] or ["sqrt", "sin", "tanh", "exp", "log"]:
        ufunc = getattr(np, name)
        cases[name] = elementwise(name, "d->d", x, z), lambda ufunc=ufunc: ufunc(x, out=z)
    for name, functions in cases.items():
        for threads in 1, 2:
            k.set_threads(threads)
            speedup, seconds = ratio(*functions)
            print(f"{name:8} {threads} threads: {speedup:5.2f} x NumPy, {N / seconds / 1e9:6.2f} G/s")


if __name__ == "__main__":
    main()
