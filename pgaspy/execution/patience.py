"""How a process that waits for messages lets others have its core, between two looks whether there is one.

It gives its turn away, which takes less than a microsecond where nobody else wants the core. Where somebody does, as on
a machine with more processes than cores, it takes some milliseconds, in which no message is seen. Who sleeps instead,
as shortly as may be, has its turn before those that have computed. So what a process does follows from how long it was
away when it gave its turn away last.
"""

from __future__ import annotations

import os
import time

__all__ = ["Patience"]

SPIN_SECONDS = 0.02
"""After waiting so long, a process sleeps in any case."""

LONG_SECONDS = 5e-4
"""Who was away so long shares its core with others."""

SHARED_SECONDS = 0.1
"""For so long it is taken to be shared then."""

NAP_SECONDS, LONG_NAP_SECONDS = 1e-6, 5e-5
"""To sleep, which takes some 50 microseconds more: on a shared core, and after waiting long."""


class Patience:
    """Of one process."""

    def __init__(self) -> None:
        self._shared_until = 0.0

    def pause(self, waited: float) -> None:
        """Let others have the core for a moment, after waiting so many seconds."""
        now = time.perf_counter()
        if waited > SPIN_SECONDS:
            time.sleep(LONG_NAP_SECONDS)
        elif now < self._shared_until:
            time.sleep(NAP_SECONDS)
        else:
            os.sched_yield()
            back = time.perf_counter()
            if back - now > LONG_SECONDS:
                self._shared_until = back + SHARED_SECONDS
