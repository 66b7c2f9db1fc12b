"""Tiers: whether a call is executed at once, or recorded and planned with others, by how often it was made.

To plan operations together takes longer than to execute small ones once, and wins that back where they come again. So
calls are cold until they have taken as long as planning, and hot from then on. What is cold would cut a run of what is
hot into small pieces, and what is small is no faster when it is recorded, and found again, than at once: so hot calls
are recorded once those in a row would have gained by that, and until they would not.
"""

from __future__ import annotations

from collections.abc import Callable

from pgaspy.execution.counting import Counts
from pgaspy.scheduling.at_once import ELEMENTS_PER_CALL, MAX_ELEMENTS, WORK_OF_PLANNING

__all__ = ["GAINFUL_ELEMENTS", "GAIN_OF_NODES", "MAX_CALLS", "WORTH_RECORDING", "Tiers", "when_disturbed"]

GAINFUL_ELEMENTS, GAIN_OF_NODES = 1 << 13, 16
"""A kernel of so many elements takes as long by itself as recorded, and fused with others; of a multiple of that, it
gains by that the multiple less one, in the time of a kernel of few. What is of nodes, as messages are, gains so much.
"""

WORTH_RECORDING = 256
"""What is done often is recorded once calls in a row, each done often before, would have gained so much by it."""

WARM = WORK_OF_PLANNING // 4
"""On several processes, what was done at once so much goes with what is recorded beside it, as parts of one loop do."""

MAX_DISTURBED, FEW = 8, 64
"""After so many flushes in a row of few operations, for calls that are not recorded, it is forgotten which are."""

MAX_CALLS = 1 << 14
"""Of calls that are executed at once, so many are known by what they have taken."""

when_disturbed: list[Callable[[], None]] = []
"""What forgets which calls are recorded, where little is at a time, as what is new among it is executed at once."""


class Tiers(Counts):
    """The calls of one process."""

    def __init__(self) -> None:
        super().__init__(
            elements_per_call=ELEMENTS_PER_CALL, gain_of_nodes=GAIN_OF_NODES, gainful_elements=GAINFUL_ELEMENTS,
            max_calls=MAX_CALLS, max_elements=MAX_ELEMENTS, warm=WARM, work_of_planning=WORK_OF_PLANNING,
            worth_recording=WORTH_RECORDING)
        self._n_disturbed = 0

    def disturb(self, n_recorded: int) -> None:
        """Note that so many recorded operations are executed, as a call that is not recorded comes after them."""
        self._n_disturbed = self._n_disturbed + 1 if n_recorded < FEW else 0
        if self._n_disturbed >= MAX_DISTURBED:
            self._n_disturbed = 0
            for forget in when_disturbed:
                forget()
