"""Tiers: whether a call is executed at once, or recorded and planned with others, by how often it was made.

To plan operations together takes longer than to execute small ones once, and wins that back where they come again. So
calls are cold until they have taken as long as planning, and hot from then on. What is cold would cut a run of what is
hot into small pieces: so what is hot is recorded only after many hot calls in a row.
"""

from __future__ import annotations

from collections.abc import Callable

from pgaspy.execution.counting import Counts
from pgaspy.scheduling.at_once import ELEMENTS_PER_CALL, MAX_ELEMENTS, WORK_OF_PLANNING  # noqa: F401  (`counting` reads them)

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


class Tiers(Counts):
    """The calls of one process."""

    def __init__(self) -> None:
        super().__init__(globals())
        self._n_disturbed = 0

    def disturb(self, n_recorded: int) -> None:
        """Note that so many recorded operations are executed, as a call that is not recorded comes after them."""
        self._n_disturbed = self._n_disturbed + 1 if n_recorded < HOT_CALLS else 0
        if self._n_disturbed >= MAX_DISTURBED:
            self._n_disturbed = 0
            for forget in when_disturbed:
                forget()
