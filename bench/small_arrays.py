"""Statements on small arrays of one process, and the same of NumPy: what a wrapper around it costs.

Each is called for another number, so that none is the same as before. Goals are microseconds besides NumPy's own.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import cycle
from statistics import median
from typing import Any

import numpy as np

import pgaspy as pg
from bench.timing import Result, in_turns, report

N = 60
N_CALLS = 200

STATEMENTS: dict[str, tuple[Callable[[Any, Any, Any, int], Any], float]] = {
    "v[k:]": (lambda A, v, i, k: v[k:], 0.5),
    "v[k:] + 1.0": (lambda A, v, i, k: v[k:] + 1.0, 1),
    "v[k:] * v[:-k]": (lambda A, v, i, k: v[k:] * v[:-k], 1.5),
    "A[k] *= 0.5": (lambda A, v, i, k: A[k].__imul__(0.5), 1),
    "A[k, 1:] = v[1:]": (lambda A, v, i, k: A.__setitem__((k, slice(1, None)), v[1:]), 1),
    "A[k, k] += 0.5": (lambda A, v, i, k: A.__setitem__((k, k), A[k, k] + 0.5), 1.5),
    "A[:k] - v": (lambda A, v, i, k: A[:k] - v, 1.5),
    "float64(k) * v": (lambda A, v, i, k: np.float64(k) * v, 2.5),
    "exp(v[k:])": (lambda A, v, i, k: np.exp(v[k:]), 2),
    "A[:k] @ v": (lambda A, v, i, k: A[:k] @ v, 1.5),
    "A[:k] @ A": (lambda A, v, i, k: A[:k] @ A, 2),
    "where(v > 0.01 k, v, 0.0)": (lambda A, v, i, k: np.where(v > 0.01 * k, v, 0.0), 2),
    "float(v[k])": (lambda A, v, i, k: float(v[k]), 1),
    "float(abs(v[k:]).max())": (lambda A, v, i, k: float(abs(v[k:]).max()), 2),
    "float(v[k:] @ v[k:])": (lambda A, v, i, k: float(v[k:] @ v[k:]), 2),
    "v[i]": (lambda A, v, i, k: v[i], 6),
    "clip(v, 0.0, 0.01 k)": (lambda A, v, i, k: np.clip(v, 0.0, 0.01 * k), 5),
    "clip(A, 0.0, 1.0 k, out=A)": (lambda A, v, i, k: np.clip(A, 0.0, 1.0 * k, out=A), 5),
    "A[:k].sum(axis=1)": (lambda A, v, i, k: A[:k].sum(axis=1), 6),
    "A[:k].std(axis=0)": (lambda A, v, i, k: A[:k].std(axis=0), 30),
    "v[v > 0.01 k] = 0.5": (lambda A, v, i, k: v.__setitem__(v > 0.01 * k, 0.5), 6),
}
"""What they do with a matrix, a vector, indices, and a number; and how much longer than NumPy they may take, in us."""


def main() -> None:
    """Measure."""
    rng = np.random.default_rng(1)
    operands = rng.random((N, N)), rng.random(N), rng.integers(0, N, N)
    results = []
    for name, (statement, goal) in STATEMENTS.items():
        def calls(arrays: Any, numbers: Iterator[int], statement: Any = statement) -> Callable[[], None]:
            def call() -> None:
                for _ in range(N_CALLS):
                    statement(*arrays, next(numbers))
            return call

        arrays = [pg.array(operand) for operand in operands]
        pg.sync()
        ours, numpys = in_turns(calls(arrays, cycle(range(1, N))), calls([*map(np.copy, operands)], cycle(range(1, N))),
                                repeats=5)
        own, theirs = (1e6 * median(times) / N_CALLS for times in (ours, numpys))
        results.append(Result(name, own - theirs, "us more", "NumPy", theirs, None, goal))
    report(results)


if __name__ == "__main__":
    main()
