"""How this process enters its job: MPI starts, and from then on a failure of this process ends the job.

No interrupt comes in between. The others would wait for ever for a process that leaves then. Imported before all that
may fail.
"""

from __future__ import annotations

import functools

from pgaspy.host import launchers
from pgaspy.job import endings
from pgaspy.job.failures import uninterrupted

__all__ = ["enter_job"]

_is_in_job = False


def enter_job(starts_mpi: bool = False) -> None:
    """Refuse a job of one process where the launcher started many, and let a failure of this process end the job.

    Where neither the program, nor importing MPI, nor `starts_mpi` starts it, that waits until it is started. All
    processes end with the job, also those that `init` left out, since MPI's end waits for all.
    """
    if not _is_in_job:
        uninterrupted(functools.partial(_enter, starts_mpi))


def _enter(starts_mpi: bool) -> None:
    global _is_in_job
    from mpi4py import MPI

    if not MPI.Is_initialized():
        if not starts_mpi:
            return
        MPI.Init_thread()
    launchers.check_size(MPI.COMM_WORLD.size)
    endings.abort_job_on_failure(MPI.COMM_WORLD)
    _is_in_job = True


enter_job()
