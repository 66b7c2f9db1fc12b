"""What one operation on a few elements costs, on one process: Python's overhead is a budget."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

import pgaspy as pg
from bench.timing import Result, report, seconds_per_call

CHAIN = 1000
"""Operations that are recorded before they are executed."""


def chain(x: Any, y: Any) -> None:
    """Operations of which each needs the last one's result."""
    for _ in range(CHAIN):
        x = x + y


def main() -> None:
    """Measure."""
    a: Any = pg.ones(16)
    b = pg.ones(16)
    x, y = np.ones(16), np.ones(16)
    A, B = pg.ones((8, 8)), pg.ones((8, 8))
    X, Y = np.ones((8, 8)), np.ones((8, 8))

    def synced_chain() -> None:
        chain(a, b)
        pg.sync()

    def synced_step() -> None:
        nonlocal a
        a = a + b
        pg.sync()

    def numpy_step() -> None:
        nonlocal x
        x = x + y

    cases: list[tuple[str, Callable[[], Any], Callable[[], Any], int, float | None]] = [
        ("a + b, 16 elements", lambda: a + b, lambda: x + y, 1, 15.0),
        (f"a = a + b {CHAIN} times, then a sync; per operation", synced_chain, lambda: chain(x, y), CHAIN, 5.0),
        ("a = a + b, then a sync", synced_step, numpy_step, 1, 25.0),
        ("add(a, b, out=a)", lambda: np.add(a, b, out=a), lambda: np.add(x, y, out=x), 1, None),
        ("A[1:, :-1], a view", lambda: A[1:, :-1], lambda: X[1:, :-1], 1, None),
        ("A[1:] = B[:-1]", lambda: A.__setitem__(slice(1, None), B[:-1]),
         lambda: X.__setitem__(slice(1, None), Y[:-1]), 1, None),
        ("float(A.sum())", lambda: float(A.sum()), lambda: float(X.sum()), 1, None),
        ("A.local()", A.local, lambda: X[:], 1, None),
    ]
    results = []
    for name, ours, numpys, n_operations, goal in cases:
        seconds, numpy_seconds = (seconds_per_call(f, 2000 // min(n_operations, 100)) for f in (ours, numpys))
        microseconds, numpy_microseconds = (s / n_operations * 1e6 for s in (seconds, numpy_seconds))
        results.append(Result(name, microseconds, "us", "NumPy", numpy_microseconds, goal=goal))
    report(results)


if __name__ == "__main__":
    main()
