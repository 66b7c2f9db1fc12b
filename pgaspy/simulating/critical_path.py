"""The critical path: from the end of the process that ends last back to the beginning, over the messages waited for."""

from __future__ import annotations

from bisect import bisect_right
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field

from pgaspy.simulating.player import Course

__all__ = ["CriticalPath", "critical_path"]


@dataclass
class CriticalPath:
    """What the time of a job consists of, which is that of its longest chain.

    Attributes
    ----------
    seconds
        Of each thing that is done on it.
    travelling
        Seconds of its messages on their way.
    n_messages
        How many these are.
    """

    seconds: Counter[str] = field(default_factory=Counter)
    travelling: float = 0.0
    n_messages: int = 0


def critical_path(courses: Mapping[int, Course]) -> CriticalPath:
    """That of processes that were played."""
    found = CriticalPath()
    rank = max(courses, key=lambda rank: courses[rank].totals.seconds)
    time = courses[rank].totals.seconds
    starts = {rank: [busy.start for busy in course.busy] for rank, course in courses.items()}
    k = len(starts[rank]) - 1
    while k >= 0:
        start, arrival, seconds = courses[rank].busy[k]
        lasted = sum(seconds.values())
        share = min((time - start) / lasted, 1.0) if lasted else 0.0
        for name, spent in seconds.items():
            found.seconds[name] += share * spent  # type: ignore[assignment]
        found.travelling += max(time - start - lasted, 0.0)  # waiting until a message of its own has left
        time = start
        if arrival is None:
            k -= 1
            continue
        found.travelling += start - arrival.sent
        found.n_messages += 1
        rank, time = arrival.sender, arrival.sent
        k = bisect_right(starts[rank], time) - 1
    return found
