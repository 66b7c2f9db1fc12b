"""Small random programs with models in NumPy, for simulated ranks."""

from __future__ import annotations

import math
import random
from typing import Any

import numpy as np
from numpy.typing import NDArray

import pgaspy as pg

__all__ = ["Program"]

EXTENTS = (1, 2, 2, 3, 4, 8)
FORMATS = ("block", "cyclic", "cyclic(2)")
Pair = tuple[Any, NDArray[Any]]


class Program:
    """A random program on small arrays, of which many have as many elements: the same on every rank.

    Attributes
    ----------
    arrays, models
        The arrays, and what is to be in them.
    """

    def __init__(self, rng: random.Random, size: int) -> None:
        self.rng, self.size = rng, size
        self.arrays: list[pg.GlobalArray] = []
        self.models: list[NDArray[Any]] = []

    def run(self) -> None:
        """Record it. Collective."""
        for _ in range(2):
            self.create()
        for _ in range(self.rng.randrange(6, 16)):
            self.rng.choice((self.create, self.combine, self.combine, self.combine, self.reduce, self.reduce,
                             self.multiply, self.subtract, self.assign, self.sweep, self.move))()

    @property
    def differences(self) -> list[int]:
        """The arrays that are not what they are to be. Collective."""
        return [k for k, (array, model) in enumerate(zip(self.arrays, self.models, strict=True))
                if not np.allclose(array.gather(), model)]

    def one(self, min_ndim: int = 0) -> Pair:
        """An array, and its model."""
        return self.rng.choice([(a, x) for a, x in zip(self.arrays, self.models, strict=True) if x.ndim >= min_ndim])

    def like(self, model: NDArray[Any]) -> list[Pair]:
        """The arrays of the same shape."""
        return [(a, x) for a, x in zip(self.arrays, self.models, strict=True) if x.shape == model.shape]

    def keep(self, array: Any, model: Any) -> None:
        """Take a result."""
        self.arrays.append(array)
        self.models.append(np.asarray(model))

    def layout(self, ndim: int) -> pg.Distribution | None:
        """A random one, or that which is taken by default."""
        n, rng = self.size, self.rng
        grid = rng.choice([(n,), (n, 1), (1, n), *([(2, n // 2), (n // 2, 2)] if n % 2 == 0 else [])])
        axes = rng.sample([*range(len(grid))] + [None] * ndim, ndim)
        formats = ["*" if axis is None else rng.choice(FORMATS) for axis in axes]
        return pg.Distribution(*formats, grid=grid, axes=tuple(axes)) if rng.random() < 0.7 else None

    def create(self) -> None:
        """A new array."""
        shape = [self.rng.choice(EXTENTS) for _ in range(self.rng.choice((1, 1, 2)))]
        model = np.array([self.rng.uniform(-1, 1) for _ in range(math.prod(shape))]).reshape(shape)
        self.keep(pg.array(model, layout=self.layout(len(shape))), model)

    def combine(self) -> None:
        """The mean of arrays that have the same shape."""
        a, x = self.one()
        b, y = self.rng.choice([(2, 2), *self.like(x)])
        self.keep((a + b) / 2, (x + y) / 2)

    def reduce(self) -> None:
        """A reduction, with or without the dimensions."""
        a, x = self.one()
        name = self.rng.choice(("sum", "max", "mean"))
        how: dict[str, Any] = {"axis": self.rng.choice([None, *range(x.ndim)]), "keepdims": self.rng.random() < 0.6}
        self.keep(getattr(a, name)(**how), getattr(x, name)(**how))

    def multiply(self) -> None:
        """All products of two vectors."""
        vectors = [(a, x) for a, x in zip(self.arrays, self.models, strict=True) if x.ndim == 1]
        if vectors:
            (a, x), (b, y) = self.rng.choice(vectors), self.rng.choice(vectors)
            self.keep(pg.outer(a, b), np.outer(x, y))

    def subtract(self) -> None:
        """Differences of neighbours."""
        a, x = self.one(1)
        if x.shape[0] > 1:
            self.keep(a[1:] - a[:-1], x[1:] - x[:-1])

    def assign(self) -> None:
        """An array to another one, or one to itself in turn."""
        a, x = self.one(1)
        b, y = self.rng.choice([(a[::-1], x[::-1].copy()), *self.like(x)])
        a[...] = b
        x[...] = y

    def sweep(self) -> None:
        """Sweeps over an array, each with a temporary of its own."""
        a, x = self.one(1)
        for _ in range(self.rng.randrange(1, 4) if x.shape[0] > 2 else 0):
            a[1:-1] = (a[1:-1] + a[:-2] + a[2:]) / 3
            x[1:-1] = (x[1:-1] + x[:-2] + x[2:]) / 3

    def move(self) -> None:
        """A copy in another layout."""
        a, x = self.one()
        self.keep(pg.array(a, layout=self.layout(x.ndim)), x.copy())
