"""How often calls were made, in C; see counting.c."""

from typing import Any

class Counts:
    """What the calls of one process have taken, by their keys.

    A key is what tells calls apart. That one is taken for another now and then does no harm.
    """

    elements_per_call: int
    gain_of_nodes: int
    gainful_elements: int
    max_elements: int
    warm: int
    work_of_planning: int
    worth_recording: int

    def __init__(self, *, elements_per_call: int, gain_of_nodes: int, gainful_elements: int, max_calls: int,
                 max_elements: int, warm: int, work_of_planning: int, worth_recording: int) -> None:
        """With the limits that `tiers` tells of."""

    def admits(self, key: tuple[Any, ...], n_elements: int, is_alone: bool, has_nodes: bool, /) -> bool:
        """Count a call; whether to do it at once: it is small, and not done often, or among others that were not, or
        which gain nothing by being recorded.

        `is_alone` says whether the job has one process, `has_nodes` whether the call is executed by nodes, as what has
        messages, or else by one kernel.
        """

    def was_admitted(self, key: tuple[Any, ...], /) -> bool:
        """Whether such a call was executed at once before: it is likely to come again, and hot, if it is not now."""
