"""Elementwise operations and reductions on 20 M elements, 2 threads: against NumPy, and against plain C (STREAM)."""

from __future__ import annotations

from functools import partial
from statistics import median
from time import sleep
from typing import Any

import numpy as np

import pgaspy as pg
from bench.reference import stream_add
from bench.timing import Result, in_turns, ratio, report

N = 20_000_000
GOALS = {"sin": 1.7, "tanh": 1.7, "exp": 1.3, "log": 1.3, "sqrt": None}

QUIET = 0.05
"""So long the threads of BLAS are left alone: they wait for more to do by computing."""

NARROW: dict[str, tuple[str, Any]] = {
    "bools.sum()": ("?", lambda x: float(x.sum())), "bools.mean()": ("?", lambda x: float(x.mean())),
    "~bools": ("?", np.invert), "bools.astype(float)": ("?", lambda x: x.astype(float)),
    "bytes.sum()": ("b", lambda x: float(x.sum())), "(bytes == 1).sum()": ("b", lambda x: float((x == 1).sum())),
    "bytes.max()": ("b", lambda x: int(x.max())), "maximum(bools, bools)": ("?", lambda x: np.maximum(x, x[::-1])),
    "complex.copy()": ("D", lambda x: x.copy()), "where(complex)": ("D", lambda x: np.where(x.real > 0, x, 1j)),
}
"""What is done with elements of a byte, or of two numbers each: a type, and a function of an array of it."""

SHORT_ROWS: dict[str, Any] = {
    name: partial(getattr(np, name), axis=1) for name in ("sum", "max", "argmin", "cumsum", "prod")}
"""What is done with rows of three elements each, as positions of particles are."""


def summed_product(x: Any, y: Any, axis: int) -> Any:
    """A reduction that ends an elementwise kernel."""
    return (x * y).sum(axis=axis)


def selected(x: Any, y: Any) -> Any:
    """Selections one behind the other, in one loop."""
    return np.minimum(np.maximum(np.maximum(x, y), y + 1), 2.0)


def main() -> None:
    """Measure."""
    rng = np.random.default_rng(1)
    x, y, z = rng.random(N) * 4 + 0.01, rng.random(N), np.empty(N)
    X: Any = pg.array(x)
    Y: Any = pg.array(y)
    Z: Any = pg.empty(N)
    results = []

    ours, numpys, c = in_turns(lambda: np.add(X, Y, out=Z), lambda: np.add(x, y, out=z), stream_add(x, y, z))
    gbytes = 3 * x.nbytes / 1e9
    results += [
        Result("add(x, y, out=z)", gbytes / median(ours), "GB/s", "NumPy", gbytes / median(numpys),
               ratio(ours, numpys), 0.95),
        Result("add(x, y, out=z)", gbytes / median(ours), "GB/s", "C + OpenMP", gbytes / median(c), ratio(ours, c)),
    ]
    for name, goal in GOALS.items():
        ufunc = getattr(np, name)
        ours, numpys = in_turns(partial(ufunc, X, out=Z), partial(ufunc, x, out=z), repeats=7)
        results.append(Result(f"{name}(x, out=z)", N / median(ours) / 1e9, "G elements/s", "NumPy",
                              N / median(numpys) / 1e9, ratio(ours, numpys), goal))
    ours, numpys = in_turns(lambda: float(X.sum()), x.sum)
    results.append(Result("x.sum()", x.nbytes / median(ours) / 1e9, "GB/s", "NumPy", x.nbytes / median(numpys) / 1e9,
                          ratio(ours, numpys)))
    ours, numpys = in_turns(lambda: float(X @ Y), lambda: x @ y)
    results.append(Result("x @ y", 2 * x.nbytes / median(ours) / 1e9, "GB/s", "NumPy",
                          2 * x.nbytes / median(numpys) / 1e9, ratio(ours, numpys)))
    ours, numpys = in_turns(lambda: selected(X, Y), lambda: selected(x, y), before=pg.sync)
    results.append(Result("selections of selections", 3 * x.nbytes / median(ours) / 1e9, "GB/s", "NumPy",
                          3 * x.nbytes / median(numpys) / 1e9, ratio(ours, numpys)))
    u, v = (a[:16_000_000].reshape(4000, 4000) for a in (x, y))
    U, V = pg.array(u), pg.array(v)
    for axis in 1, 0:
        ours, numpys = in_turns(partial(summed_product, U, V, axis), partial(summed_product, u, v, axis))
        gbytes = 2 * u.nbytes / 1e9
        results.append(Result(f"(x * y).sum(axis={axis})", gbytes / median(ours), "GB/s", "NumPy",
                              gbytes / median(numpys), ratio(ours, numpys)))
    for n_columns in 1, 3:
        few = np.random.default_rng(2).random((4000, n_columns))
        ours, numpys, vector = in_turns(partial(np.matmul, U, pg.array(few)), partial(np.matmul, u, few),
                                        partial(np.matmul, u, few[:, 0].copy()), before=partial(sleep, QUIET))
        name, gbytes = f"matrix @ {n_columns} column(s)", u.nbytes / 1e9
        results += [Result(name, gbytes / median(ours), "GB/s", rival, gbytes / median(times), ratio(ours, times))
                    for rival, times in (("NumPy", numpys), ("matrix @ vector, NumPy", vector))]
    for name, (char, function) in NARROW.items():
        narrow = (x > 2).astype(char)
        ours, numpys = in_turns(partial(function, pg.array(narrow)), partial(function, narrow), before=pg.sync)
        results.append(Result(name, N / median(ours) / 1e9, "G elements/s", "NumPy", N / median(numpys) / 1e9,
                              ratio(ours, numpys)))
    square = x[:1_000_000].reshape(1000, 1000)
    S = pg.array(square)
    ours, numpys = in_turns(lambda: S @ S.T, lambda: square @ square.T, before=partial(sleep, QUIET))
    results.append(Result("matrix @ its transposed", 2 / median(ours), "GFlop/s", "NumPy", 2 / median(numpys),
                          ratio(ours, numpys)))
    ours, numpys = in_turns(lambda: np.roll(V, 1, axis=1), lambda: np.roll(v, 1, axis=1), before=pg.sync)
    results.append(Result("roll(matrix, 1, axis=1)", 2 * v.nbytes / median(ours) / 1e9, "GB/s", "NumPy",
                          2 * v.nbytes / median(numpys) / 1e9, ratio(ours, numpys)))
    points = x[:3_000_000].reshape(-1, 3)
    for name, function in SHORT_ROWS.items():
        ours, numpys = in_turns(partial(function, pg.array(points)), partial(function, points), before=pg.sync)
        results.append(Result(f"points.{name}(axis=1)", points.nbytes / median(ours) / 1e9, "GB/s", "NumPy",
                              points.nbytes / median(numpys) / 1e9, ratio(ours, numpys)))
    W = pg.empty((4000, 4000))
    transposed, straight = in_turns(lambda: W.__setitem__(..., U.T), lambda: W.__setitem__(..., U), before=pg.sync)
    gbytes = 2 * u.nbytes / 1e9
    results.append(Result("B[...] = A.T", gbytes / median(transposed), "GB/s", "B[...] = A",
                          gbytes / median(straight), ratio(transposed, straight), 0.6))
    rng_ours, rng_numpy = pg.random.default_rng(1), np.random.Generator(np.random.Philox(1))
    ours, numpys = in_turns(lambda: rng_ours.standard_normal(N), lambda: rng_numpy.standard_normal(N), repeats=3)
    results.append(Result("standard_normal", N / median(ours) / 1e9, "G elements/s", "NumPy's Philox",
                          N / median(numpys) / 1e9, ratio(ours, numpys)))
    report(results)


if __name__ == "__main__":
    main()
