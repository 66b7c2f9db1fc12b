"""Notebooks: what a cell has recorded is executed when it ends.

Between cells a process does nothing at all, while others may be waiting for what it has only recorded.
"""

from __future__ import annotations

import builtins

from pgaspy.execution.recording import sync
from pgaspy.job.procgrid import World, when_started

__all__ = ["sync_after_cells"]


def sync_after_cells(job: World) -> None:
    """Have IPython call `sync` after each cell, in a job of several processes."""
    get_ipython = getattr(builtins, "get_ipython", None)
    if job.size > 1 and get_ipython is not None:
        get_ipython().events.register("post_execute", sync)  # of silent cells, too


when_started.append(sync_after_cells)
