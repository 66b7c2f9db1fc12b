"""What fails on one process fails on all: the first failures are exchanged, and raised together.

Files may take long, so processes wait for one another where they learn that one of them was interrupted.
"""

from __future__ import annotations

import errno
import socket
from collections.abc import Callable, Sequence
from types import TracebackType
from typing import NamedTuple, TypeVar

import numpy as np
from mpi4py import MPI

from pgaspy.fileio.paths import absolute
from pgaspy.job.procgrid import world
from pgaspy.supervision.meetings import combine, told
from pgaspy.supervision.recorder import listen

__all__ = ["Failures", "on_first_rank"]

T = TypeVar("T")


def on_first_rank(function: Callable[[], T]) -> T:
    """The result of a function that rank 0 calls, or the exception that it raises, on every process. Collective."""
    job = world()
    result, failure = None, None
    if job.rank == 0:
        try:
            result = function()
        except Exception as error:
            failure = error
            if isinstance(error, OSError):
                code, text = _described(error)
                failure = OSError(code, text + _on(job.size, 1, [_here(job.rank)]), error.filename)
    result, failure = told(job.communicator, (result, failure), listen)
    if failure is not None:
        raise failure
    return result


class Failures:
    """Keeps the first failure of this process, so that it can go on to the next collective call."""

    def __init__(self) -> None:
        self.first: Exception | None = None

    def __enter__(self) -> None:
        pass

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None,
                 trace: TracebackType | None) -> bool:
        if not isinstance(error, Exception):
            return False
        self.first = self.first or error
        return True

    def raise_together(self, comm: MPI.Intracomm, name: str) -> None:
        """Raise what failed on the lowest rank, as an OSError that says where it failed, on every process. Collective.
        """
        counted = np.array([self.first is not None], np.int64)
        combine(comm, counted, MPI.SUM, listen)
        n_failed = int(counted[0])
        if not n_failed:
            return
        first, self.first = self.first, None  # whose frames have this
        mine = [] if first is None else [_Failed(_here(comm.rank), *_described(first), absolute(name))]
        failed = comm.allreduce(mine, op=_lowest)
        words = failed[0].text + _on(comm.size, n_failed, [one.place for one in failed])
        raise OSError(failed[0].code, words, failed[0].path) from first


class _Failed(NamedTuple):
    """What failed on a process."""

    place: tuple[int, str]
    code: int
    text: str
    path: str


MAX_NAMED = 4
"""So many of the processes that failed are named in an error."""


def _lowest(some: list[_Failed], others: list[_Failed]) -> list[_Failed]:
    return sorted(some + others)[:MAX_NAMED]


def _here(rank: int) -> tuple[int, str]:
    return rank, socket.gethostname()


def _on(size: int, n_failed: int, places: Sequence[tuple[int, str]]) -> str:
    """Where something failed: on ranks and hosts, of which not all may be named."""
    if size == 1:
        return ""
    if n_failed == size:
        return " (on every rank)"
    more = f", and {n_failed - len(places)} more" if n_failed > len(places) else ""
    return f" (on {', '.join(f'rank {rank} at {host}' for rank, host in places)}{more})"


def _described(error: Exception | None) -> tuple[int, str]:
    """The errno and the words for a failure."""
    if isinstance(error, OSError):
        return error.errno or errno.EIO, error.strerror or str(error)
    return errno.EIO, f"{type(error).__name__}: {error}"
