"""Meetings: what all processes take part in, each of which does other things until the others have come.

So it hears of one that has failed, or was interrupted, and will not come. That one may have been interrupted while it
waited itself, when the others had what they waited for: so what they wait for next does not wait in MPI either.
"""

from __future__ import annotations

import os
import pickle
import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np
from mpi4py import MPI
from numpy.typing import NDArray

from pgaspy.job import abandoned

if TYPE_CHECKING:
    Poll = Callable[[], object]

__all__ = ["combine", "first_words", "meet", "told"]

SPINNING_SECONDS, POLLING_SECONDS = 1e-3, 1e-4
"""For so long a process only gives its turn away between two looks; then it sleeps."""


def meet(comm: MPI.Intracomm, poll: Poll = lambda: None) -> None:
    """A barrier. Collective."""
    _wait(comm.Ibarrier(), poll)


def combine(comm: MPI.Intracomm, numbers: NDArray[Any], operation: MPI.Op, poll: Poll) -> None:
    """Have the numbers of all processes, as many, combined in the place of each one's own. Collective."""
    _wait(comm.Iallreduce(MPI.IN_PLACE, numbers, operation), poll)


def told(comm: MPI.Intracomm, own: Any, poll: Poll, root: int = 0) -> Any:
    """What one process has to tell, as it is pickled. Collective."""
    packed = np.frombuffer(pickle.dumps(own) if comm.rank == root else b"", np.uint8)
    n = np.array([packed.size], np.int64)
    _wait(comm.Ibcast(n, root), poll)
    packed = packed.copy() if comm.rank == root else np.empty(int(n[0]), np.uint8)
    _wait(comm.Ibcast(packed, root), poll)
    return pickle.loads(packed.data)


def first_words(comm: MPI.Intracomm, own: str, poll: Poll) -> str:
    """The words of the lowest rank that has some. Collective."""
    speaker = np.array([comm.rank if own else comm.size], np.int64)
    combine(comm, speaker, MPI.MIN, poll)
    return "" if speaker[0] == comm.size else told(comm, own, poll, int(speaker[0]))


def _wait(request: MPI.Request, poll: Poll) -> None:
    stop = time.perf_counter() + SPINNING_SECONDS
    try:
        while not request.Test():
            poll()
            if time.perf_counter() < stop:
                os.sched_yield()
            else:
                time.sleep(POLLING_SECONDS)
    except BaseException:
        abandoned.keep([request])
        raise
