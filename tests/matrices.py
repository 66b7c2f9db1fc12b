"""Matrices on which factorisations are tested: those of which it is known that something may go wrong."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["NAMES", "named_matrix", "random_matrix"]

NAMES = ("zero", "identity", "singular", "zero pivot", "badly scaled", "growth", "graded", "nearly singular")


def random_matrix(shape: tuple[int, ...], dtype: str = "d", seed: int = 5) -> NDArray[Any]:
    """Normally distributed elements, the same on every process."""
    rng = np.random.default_rng(seed)
    x = rng.normal(size=shape)
    return (x + 1j * rng.normal(size=shape) if dtype in "FD" else x).astype(dtype)


def named_matrix(name: str, n: int) -> NDArray[Any]:
    """A square matrix of one of `NAMES`."""
    a = random_matrix((n, n))
    if name == "zero":
        return np.zeros((n, n))
    if name == "identity":
        return np.eye(n)
    if name == "singular":  # of rank n - 1: a column is the sum of two others
        a[:, n // 2] = a[:, 0] + a[:, -1]
        return a
    if name == "zero pivot":
        a[0, 0] = 0
        a[np.arange(n), np.arange(n)] = 0
        return a
    if name == "badly scaled":
        scales = 10.0 ** np.linspace(-100, 100, n)
        return scales[:, None] * a * scales[::-1]
    if name == "growth":  # J. H. Wilkinson's: the last column doubles in each step
        a = np.tril(-np.ones((n, n)), -1) + np.eye(n)
        a[:, -1] = 1
        return a
    if name == "graded":
        grades = 10.0 ** -np.linspace(0, 16, n)
        return grades[:, None] * a * grades
    if name == "nearly singular":
        u, s, v = np.linalg.svd(a)
        s[n // 2:] *= 1e-14
        return (u * s) @ v
    raise ValueError(name)
