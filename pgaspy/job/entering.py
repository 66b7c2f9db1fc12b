"""How this process enters its job: MPI starts, and from then on a failure of this process ends the job.

No interrupt comes in between. The others would wait for ever for a process that leaves then. Imported before all that
may fail.
"""

from __future__ import annotations

import functools
import os

from pgaspy.host import launchers
from pgaspy.job import endings
from pgaspy.job.failures import uninterrupted

__all__ = ["enter_job", "refusal_of_forks"]

_process: int | None = None
"""The process that is in the job, once it is: its forks are not."""


def enter_job(starts_mpi: bool = False) -> None:
    """Refuse a job of one process where the launcher started many, and let a failure of this process end the job.

    Where neither the program, nor importing MPI, nor `starts_mpi` starts it, that waits until it is started. All
    processes end with the job, also those that `init` left out, since MPI's end waits for all.

    Raises
    ------
    RuntimeError
        In a fork of one of several processes: it would send and receive in that one's name.
    """
    if _process is None:
        uninterrupted(functools.partial(_enter, starts_mpi))
    elif _process != os.getpid():
        from mpi4py import MPI

        if MPI.COMM_WORLD.size > 1:
            raise refusal_of_forks()


def refusal_of_forks() -> RuntimeError:
    """What a fork of a process of the job is told."""
    return RuntimeError("this process is a fork of one that uses pgaspy, and is no part of the job: start "
                        "processes with the launcher, or with multiprocessing's method 'spawn'")


def _enter(starts_mpi: bool) -> None:
    global _process
    from mpi4py import MPI

    if not MPI.Is_initialized():
        if not starts_mpi:
            return
        MPI.Init_thread()
    launchers.check_size(MPI.COMM_WORLD.size)
    endings.abort_job_on_failure(MPI.COMM_WORLD)
    _process = os.getpid()


enter_job()
