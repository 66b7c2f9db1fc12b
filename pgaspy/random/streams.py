"""Numbers for some elements of a draw: as many as each needs, and a function of seed, draw and element alone.

A distribution that is drawn by trial takes for an element the first attempt that is accepted, whoever computes it, and
beside whichever others.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pgaspy.kernels import bindings

__all__ = ["Numbers", "Stream", "accepted"]

CALL_BITS = 40
"""Of the number of the draw, among the 48 that the generator has for it; the others tell parts of streams apart."""

Numbers = NDArray[np.float64]


class Stream:
    """The random numbers of some elements, of one draw: pairs for each attempt."""

    __slots__ = ("_call", "_elements", "_key", "_part")

    def __init__(self, key: int, call: int, elements: NDArray[np.int64], part: int = 0) -> None:
        self._key, self._call, self._elements, self._part = key, call, elements, part

    def __len__(self) -> int:
        return len(self._elements)

    def of(self, which: NDArray[Any]) -> Stream:
        """That of some of the elements: of a mask, or their places."""
        return Stream(self._key, self._call, self._elements[which], self._part)

    def column(self, j: int, n: int) -> Stream:
        """That of the j-th of n elements in each row, where the elements of this one are rows."""
        return Stream(self._key, self._call, self._elements * n + j)

    def part(self, j: int) -> Stream:
        """Another one for the same elements, the j-th, up to 7; it has such parts itself, which have none."""
        return Stream(self._key, self._call, self._elements, 8 * self._part + j + 1)

    def bits(self, attempt: int) -> NDArray[np.uint64]:
        """Two rows of integers, of 64 random bits."""
        return bindings.random_bits(self._key, self._call + (self._part << CALL_BITS), attempt, self._elements)

    def uniforms(self, attempt: int) -> Numbers:
        """Two rows of numbers between 0 and 1, without either, of 52 random bits."""
        return np.asarray(((self.bits(attempt) >> np.uint64(12)) + 0.5) * 2.0**-52, float)

    def normals(self, attempt: int) -> Numbers:
        """Two rows of normal numbers of mean 0 and variance 1, by Box and Muller."""
        u, v = self.uniforms(attempt)
        angles = 2 * np.pi * v
        return np.asarray(np.sqrt(-2 * np.log(u)) * np.stack((np.cos(angles), np.sin(angles))), float)


def accepted(propose: Callable[..., tuple[NDArray[Any], NDArray[np.bool_]]], stream: Stream,
             *parameters: NDArray[Any], first: int = 0) -> NDArray[Any]:
    """For each element, its first proposal that is not rejected.

    `propose(stream, attempt, *parameters)` gives those of an attempt, and whether each is rejected; a comparison with
    what is no number is false, so that it comes to an end.
    """
    found, rejected = propose(stream, first, *parameters)
    left, attempt = np.flatnonzero(rejected), first
    while len(left):
        attempt += 1
        values, rejected = propose(stream.of(left), attempt, *[p[left] for p in parameters])
        found[left[~rejected]] = values[~rejected]
        left = left[rejected]
    return found
