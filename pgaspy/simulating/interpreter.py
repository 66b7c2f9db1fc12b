"""What the program takes besides what it has executed: Python, measured between the calls of an engine."""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterator
from contextlib import contextmanager
from time import thread_time

import numpy as np

from pgaspy.simulating.graphs import Pass, Step

__all__ = ["Stopwatch"]

NBYTES_OF_KERNELS = 8 << 20
"""More than the caches of a core hold, of which the interpreter's code and objects would have some."""


class Stopwatch:
    """Adds steps with the time that goes by between two calls of the engine: the program's, and that of recording.

    Of what comes between the same two calls again and again, as in a loop, the least counts: the first time, it is
    planned, and caches are empty. The caches of the processor have what kernels leave in them, as these would have been
    executed.
    """

    def __init__(self, steps: list[Step]) -> None:
        self._steps = steps
        self._places: list[tuple[int, Hashable]] = []
        self._least: dict[Hashable, float] = {}
        self._last: Hashable = None
        self._others = np.ones(NBYTES_OF_KERNELS // 8)
        self._begin = thread_time()

    @contextmanager
    def stopped(self, call: Hashable) -> Iterator[None]:
        """Add what has gone by until this call, during which none does."""
        seconds = thread_time() - self._begin
        between = self._last, call
        self._places.append((len(self._steps), between))
        self._steps.append(Pass("interpreter", seconds))
        self._least[between] = min(self._least.get(between, math.inf), seconds)
        try:
            yield
        finally:
            self._others.sum()
            self._last, self._begin = call, thread_time()

    def take_least(self) -> None:
        """Have each step take the least that was measured."""
        for place, between in self._places:
            self._steps[place] = Pass("interpreter", self._least[between])
