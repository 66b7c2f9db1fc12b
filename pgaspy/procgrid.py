"""The job's processes, and their arrangement in grids: ranks, coordinates, row and column communicators."""

from __future__ import annotations

import contextlib
import functools
import itertools
import os
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from pgaspy import endings, threads
from pgaspy.layout import coords_from_rank, rank_from_coords

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
    """

    def __init__(self, rank: int, size: int, comm: MPI.Intracomm | None = None,
                 user_comm: MPI.Intracomm | None = None) -> None:
        self.rank = rank
        self.size = size
        self.comm = comm
        self.user_comm = user_comm
        self.n_operations = 0
        self._grids: dict[tuple[int, ...], ProcGrid] = {}

    def grid(self, shape: Sequence[int]) -> ProcGrid:
        """The process grid of a shape; there is one, so that its communicators are made once."""
        shape = tuple(shape)
        found = self._grids.get(shape)
        if found is None:
            found = self._grids[shape] = ProcGrid(self, shape)
        return found

    @property
    def communicator(self) -> MPI.Intracomm:
        """pgaspy's communicator; a simulated job has none."""
        if self.comm is None:
            raise RuntimeError("this job is simulated: it plans operations, but cannot communicate")
        return self.comm

    @property
    def tag(self) -> int:
        """The tag of the current operation's messages: every process executes the same operations in the same order."""
        return self.n_operations % 32768  # MPI guarantees tags up to 32767


class ProcGrid:
    """The processes of a job in a Cartesian grid, ranks in row-major order.

    Attributes
    ----------
    shape
        Number of processes along each axis.
    coords
        The place of this process.
    """

    def __init__(self, world: World, shape: tuple[int, ...]) -> None:
        self.shape = shape
        self.coords = coords_from_rank(shape, world.rank)
        self._world = world

    @functools.cache  # noqa: B019  (a grid lives as long as its world)
    def comm(self, axes: tuple[int, ...]) -> MPI.Intracomm:
        """The communicator of the processes along `axes` through this place, in row-major order.

        Made when it is first asked for, which is collective over these processes alone: an array may lie on one row
        of the grid only.
        """
        everybody = self._world.communicator
        if len(axes) == len(self.shape):
            return everybody
        along = [range(n) if axis in axes else (coord,)
                 for axis, (n, coord) in enumerate(zip(self.shape, self.coords, strict=True))]
        group = everybody.group.Incl([rank_from_coords(self.shape, place) for place in itertools.product(*along)])
        comm = everybody.Create_group(group)
        group.Free()
        return comm

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
    _world = World(own.rank, own.size, own, comm)
    threads.share_cores(own)
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
