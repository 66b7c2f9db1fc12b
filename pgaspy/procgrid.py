"""The job's processes, and their arrangement in grids: ranks and coordinates."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from pgaspy import endings, statistics, threads, timeline
from pgaspy.layout import coords_from_rank

if TYPE_CHECKING:
    from mpi4py import MPI

__all__ = ["ProcGrid", "World", "init", "simulated", "world"]

LAUNCHER_SIZES = ("OMPI_COMM_WORLD_SIZE", "PMI_SIZE", "SLURM_STEP_NUM_TASKS")


class World:
    """The processes of the job.

    Attributes
    ----------
    rank, size
        This process, and the number of processes.
    comm
        pgaspy's own duplicate of the user's communicator, so that no message is ever taken for one of the user's;
        None in a simulated job.
    user_comm
        The communicator that the user gave, or all processes.
    n_streams
        The number of the next collective operation; each takes as many numbers as it may need tags.
    n_tags
        How many tags MPI has.
    """

    def __init__(self, rank: int, size: int, comm: MPI.Intracomm | None = None,
                 user_comm: MPI.Intracomm | None = None, n_tags: int = 1 << 15) -> None:
        self.rank = rank
        self.size = size
        self.comm = comm
        self.user_comm = user_comm
        self.n_streams = 0
        self.n_tags = n_tags
        self._grids: dict[tuple[int, ...], ProcGrid] = {}

    def grid(self, shape: Sequence[int]) -> ProcGrid:
        """The process grid of a shape; there is one of each."""
        shape = tuple(shape)
        found = self._grids.get(shape)
        if found is None:
            found = self._grids[shape] = ProcGrid(shape, self.rank)
        return found

    @property
    def communicator(self) -> MPI.Intracomm:
        """pgaspy's communicator; a simulated job has none."""
        if self.comm is None:
            raise RuntimeError("this job is simulated: it plans operations, but cannot communicate")
        return self.comm


class ProcGrid:
    """The processes of a job in a Cartesian grid, ranks in row-major order.

    Attributes
    ----------
    shape
        Number of processes along each axis.
    coords
        The place of this process.
    """

    def __init__(self, shape: tuple[int, ...], rank: int) -> None:
        self.shape = shape
        self.coords = coords_from_rank(shape, rank)

    def __repr__(self) -> str:
        return f"ProcGrid(shape={self.shape}, coords={self.coords})"


_world: World | None = None


def world() -> World:
    """The job; of all processes, unless `init` was called first."""
    return _world if _world is not None else _start(None)


def init(comm: MPI.Intracomm | None = None) -> None:
    """Run on this communicator instead of all processes. Optional, collective over `comm`, and first.

    Raises
    ------
    RuntimeError
        If pgaspy runs already (an array was made, or `RANK`, `SIZE` or `COMM` was read).
    """
    if _world is not None:
        raise RuntimeError("pgaspy runs already: call init() before the first array is made, and before RANK, SIZE "
                           "or COMM is read")
    _start(comm)


def _start(comm: MPI.Intracomm | None) -> World:
    global _world
    from mpi4py import MPI

    if comm is None:
        comm = MPI.COMM_WORLD
        _check_launcher(comm.size)
    own = comm.Dup()
    _world = World(own.rank, own.size, own, comm, int(MPI.COMM_WORLD.Get_attr(MPI.TAG_UB) or 32767) + 1)
    threads.share_cores(own)
    statistics.counts.timeline = timeline.begin(own)
    if own.size > 1:
        endings.abort_job_on_failure(own)
    return _world


def _check_launcher(size: int) -> None:
    """Refuse to run as N separate jobs of one process where the launcher started one job of N."""
    for variable in LAUNCHER_SIZES:
        n = os.environ.get(variable, "")
        if size == 1 and n.isdigit() and int(n) > 1:
            raise RuntimeError(
                f"the launcher started {n} processes ({variable}={n}), but MPI knows of this one only: the launcher "
                "and the MPI library do not fit together. With Slurm, use `srun --mpi=pmix` (see `srun --mpi=list`) "
                "or a MPI library built for Slurm's PMI; with mpirun, use the one that belongs to the MPI library")


@contextlib.contextmanager
def simulated(size: int, rank: int) -> Iterator[World]:
    """A job of `size` processes, of which this one plays `rank`: it plans, but cannot communicate."""
    global _world
    before = _world
    _world = World(rank, size)
    try:
        yield _world
    finally:
        _world = before
