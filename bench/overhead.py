"""What one operation on a few elements costs, on one process: Python's overhead is a budget."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

import pgaspy as pg
from bench.timing import Result, report, seconds_per_call


def main() -> None:
    """Measure."""
    a: Any = pg.ones(16)
    b = pg.ones(16)
    x, y = np.ones(16), np.ones(16)
    A, B = pg.ones((8, 8)), pg.ones((8, 8))
    X, Y = np.ones((8, 8)), np.ones((8, 8))

    cases: list[tuple[str, Callable[[], Any], Callable[[], Any], float | None]] = [
        ("a + b, 16 elements", lambda: a + b, lambda: x + y, 15.0),
        ("add(a, b, out=a)", lambda: np.add(a, b, out=a), lambda: np.add(x, y, out=x), None),
        ("A[1:, :-1], a view", lambda: A[1:, :-1], lambda: X[1:, :-1], None),
        ("A[1:] = B[:-1]", lambda: A.__setitem__(slice(1, None), B[:-1]),
         lambda: X.__setitem__(slice(1, None), Y[:-1]), None),
        ("float(A.sum())", lambda: float(A.sum()), lambda: float(X.sum()), None),
        ("A.local()", A.local, lambda: X[:], None),
    ]
    results = []
    for name, ours, numpys, goal in cases:
        microseconds = seconds_per_call(ours) * 1e6
        results.append(Result(name, microseconds, "us", "NumPy", seconds_per_call(numpys) * 1e6, goal=goal))
    report(results)


if __name__ == "__main__":
    main()
