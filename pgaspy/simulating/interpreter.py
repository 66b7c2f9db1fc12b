"""What the program takes besides what it has executed: Python, measured between the calls of an engine."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Hashable, Iterator
from contextlib import contextmanager
from time import thread_time

import numpy as np

from pgaspy.simulating.graphs import Pass, Step

__all__ = ["MAX_NBYTES", "Stopwatch"]

MAX_NBYTES = 8 << 20
"""More than the caches of a core hold, of which the interpreter's code and objects would have some."""


class Stopwatch:
    """Adds steps with the time that goes by between two calls of the engine: the program's, and that of recording.

    Of what comes between the same two calls again and again, as in a loop, the later half counts: the first times, it
    is planned, and caches are empty. What was measured one after the other stays so: where the machine is held up, many
    calls are, and not some in each iteration.
    """

    def __init__(self, steps: list[Step]) -> None:
        self._steps = steps
        self._seconds: dict[Hashable, list[float]] = defaultdict(list)
        self._places: list[tuple[int, Hashable]] = []
        self._last: Hashable = None
        self._others = np.ones(MAX_NBYTES // 8)
        self._begin = thread_time()

    @contextmanager
    def stopped(self, call: Hashable) -> Iterator[None]:
        """Add what has gone by until this call, during which none does."""
        seconds = thread_time() - self._begin
        between = self._last, call
        self._seconds[between].append(seconds)
        self._places.append((len(self._steps), between))
        self._steps.append(Pass("interpreter", seconds))
        try:
            yield
        finally:
            self._last, self._begin = call, thread_time()

    def pass_through(self, nbytes: int) -> None:
        """Leave in the processor's caches what kernels would that work on so many bytes."""
        self._others[:nbytes // 8].sum()

    def settle(self) -> None:
        """Have the steps of the earlier half take what those of the later one do."""
        n_before = Counter[Hashable]()
        for place, between in self._places:
            seconds, n = self._seconds[between], n_before[between]
            n_before[between] += 1
            if n < len(seconds) // 2:
                self._steps[place] = Pass("interpreter", seconds[n + len(seconds) // 2])
