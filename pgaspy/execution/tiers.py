"""Tiers: whether a call is executed at once, or recorded and planned with others, by how often it was made.

To plan operations together takes longer than to execute small ones once, and wins that back where they come again. So
calls are cold until they have taken as long as planning, and hot from then on. What is cold would cut a run of what is
hot into small pieces: so what is hot is recorded only after many hot calls in a row.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from pgaspy.scheduling.at_once import ELEMENTS_PER_CALL, MAX_ELEMENTS, WORK_OF_PLANNING

__all__ = ["HOT_CALLS", "MAX_CALLS", "Tiers", "when_disturbed"]

HOT_CALLS = 64
"""After so many calls in a row, each done often before, what is done often is recorded."""

WARM = WORK_OF_PLANNING // 4
"""On several processes, what was done at once so much goes with what is recorded beside it, as parts of one loop do."""

MAX_DISTURBED = 8
"""After so many flushes in a row of few operations, for calls that are not recorded, it is forgotten which are."""

MAX_CALLS = 1 << 14
"""Of calls that are executed at once, so many are known by what they have taken."""

when_disturbed: list[Callable[[], None]] = []
"""What forgets which calls are recorded, where little is at a time, as what is new among it is executed at once."""


class Tiers:
    """The calls of one process."""

    def __init__(self) -> None:
        self._work: dict[int, int] = {}  # by the hashes of the keys
        self._n_hot = self._n_disturbed = 0

    def admits(self, key: tuple[Any, ...], n_elements: int, is_alone: bool = True) -> bool:
        """Count a call; whether to do it at once: it is small, and not done often, or among others that were not.

        The key is what tells calls apart. That one is taken for another now and then does no harm. `is_alone` says
        whether the job has one process.
        """
        if n_elements > MAX_ELEMENTS:
            return False
        call, known = hash(key), self._work
        done = known.get(call, 0)
        is_warm = done >= WARM and not is_alone
        if is_warm and self._n_hot > HOT_CALLS:
            return False
        done += ELEMENTS_PER_CALL + n_elements
        if done <= WORK_OF_PLANNING:
            if len(known) > MAX_CALLS:
                known.clear()
            known[call] = done
            if not is_warm:
                self._n_hot = 0
            return True
        self._n_hot += 1 + n_elements // ELEMENTS_PER_CALL
        return self._n_hot <= HOT_CALLS

    def was_admitted(self, key: tuple[Any, ...]) -> bool:
        """Whether such a call was executed at once before: it is likely to come again, and hot, if it is not now."""
        return hash(key) in self._work

    def disturb(self, n_recorded: int) -> None:
        """Note that so many recorded operations are executed, as a call that is not recorded comes after them."""
        self._n_disturbed = self._n_disturbed + 1 if n_recorded < HOT_CALLS else 0
        if self._n_disturbed >= MAX_DISTURBED:
            self._n_disturbed = 0
            for forget in when_disturbed:
                forget()
