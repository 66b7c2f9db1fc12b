"""Whether the main operations compute what NumPy does, on the processes of this job. Each check is collective."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

import pgaspy as pg

__all__ = ["CHECKS", "holds"]


def holds(check: Callable[[], bool]) -> bool:
    """Whether a check holds on every process. Collective."""
    return all(pg.COMM.allgather(check()))


def _n() -> int:
    """Rows and columns: several for each process, and not equally many."""
    return 2 * pg.SIZE + 35


def _operand() -> tuple[Any, Any]:
    """The same matrix, as pgaspy's and as NumPy's."""
    a = np.random.default_rng(1).random((_n(), _n()))
    return pg.array(a), a


def _same(array: Any, expected: Any, rtol: float = 0) -> bool:
    return bool(np.allclose(array.gather(), expected, rtol=rtol, atol=rtol))


def _assignment() -> bool:
    A, a = _operand()
    A[1:-1, 1:-1] = A[2:, :-2] + A[:-2, 2:]
    A[:, 1:], A[::-1] = A[:, :-1], A.copy()
    a[1:-1, 1:-1] = a[2:, :-2] + a[:-2, 2:]
    a[:, 1:], a[::-1] = a[:, :-1], a.copy()
    return _same(A, a)


def _redistribution() -> bool:
    A, a = _operand()
    cyclic = A.redistribute(pg.Distribution("cyclic(2)", "cyclic(3)"))
    return _same(cyclic, a) and _same(cyclic.T[:, ::2], a.T[:, ::2]) and float(cyclic[-1, 3]) == a[-1, 3]


def _replicas() -> bool:
    A, a = _operand()
    R = pg.replicate(A.redistribute(pg.Distribution("block", "*")), axis=0)
    return bool((R.local() == a).all())


def _functions() -> bool:
    A, a = _operand()
    return _same(np.exp(-A) / (1 + np.sqrt(A)), np.exp(-a) / (1 + np.sqrt(a)), 1e-14)


def _reductions() -> bool:
    A, a = _operand()
    return (_same(A.sum(axis=0), a.sum(axis=0), 1e-12) and _same(A.max(axis=1), a.max(axis=1))
            and bool(np.isclose(float(A.sum()), a.sum(), rtol=1e-12)) and int(A.argmin()) == a.argmin())


def _random_numbers() -> bool:
    numbers, dealt_out = (pg.random.default_rng(1).random((_n(), 3), layout=layout)
                          for layout in (None, pg.Distribution("cyclic(2)", "*")))
    return _same(numbers, dealt_out.gather())


def _tasks() -> bool:
    A, a = _operand()

    def double(x: Any) -> None:
        x *= 2

    pg.schedule(double, pg.update(A))
    return _same(A, 2 * a)


def _product() -> bool:
    A, a = _operand()
    return _same(A @ A.T, a @ a.T, 1e-12)


def _solution() -> bool:
    A, a = _operand()
    b = a.sum(axis=1)
    x = pg.linalg.solve(A, pg.array(b)).gather()
    scale = np.abs(a).sum() * np.abs(x).max()
    return bool(np.abs(a @ x - b).max() <= _n() * np.finfo(float).eps * scale)


CHECKS: Mapping[str, Callable[[], bool]] = {
    "assignment of views": _assignment,
    "redistribution, an element": _redistribution,
    "replicas": _replicas,
    "elementwise functions": _functions,
    "reductions": _reductions,
    "random numbers": _random_numbers,
    "local tasks": _tasks,
    "product of matrices": _product,
    "linear equations": _solution,
}
"""Each raises no exception, and returns whether what this process has is right."""
