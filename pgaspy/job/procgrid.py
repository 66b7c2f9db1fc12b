"""The job's processes, and their arrangement in grids: ranks and coordinates."""

from __future__ import annotations

import contextlib
import gc
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING

from pgaspy.host import environment
from pgaspy.job import endings, threads
from pgaspy.job.entering import enter_job
from pgaspy.kernels import jit
from pgaspy.layout import coords_from_rank

if TYPE_CHECKING:
    from mpi4py import MPI

__all__ = ["ProcGrid", "World", "begin_anew", "init", "simulated", "when_ended", "when_started", "world"]


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
    has_network
        Whether they are on several hosts.
    """

    def __init__(self, rank: int, size: int, comm: MPI.Intracomm | None = None,
                 user_comm: MPI.Intracomm | None = None, has_network: bool = False) -> None:
        self.rank = rank
        self.size = size
        self.comm = comm
        self.user_comm = user_comm
        self.has_network = has_network
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

when_started: list[Callable[[World], None]] = []
"""What makes the other parts of a job's state: its queue, its counts. Each is called on all processes."""

when_ended: list[Callable[[], None]] = []
"""What ends these parts where the same processes begin anew; each is called on all processes."""


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
    from mpi4py import MPI

    enter_job(starts_mpi=True)
    if comm is None:
        comm = MPI.COMM_WORLD
    collects = gc.isenabled()
    gc.disable()  # until all have begun: what a finaliser does with arrays would begin another job here
    try:
        own = comm.Dup()
        endings.print_shared_errors_once(own)
        environment.check(own)
        begun = _begin(own, comm, threads.share_cores(own))
    finally:
        if collects:
            gc.enable()
    if own.size > 1 and collects:
        gc.collect()  # what was imported, by all at once: later, the others would wait while one does
    return begun


def _begin(own: MPI.Intracomm, comm: MPI.Intracomm, has_network: bool) -> World:
    """Make the job of a communicator, pgaspy's own duplicate of the user's. Collective."""
    global _world
    jit.may_notify = own.rank == 0
    _world = World(own.rank, own.size, own, comm, has_network)
    for begin in when_started:
        begin(_world)
    return _world


def begin_anew() -> None:
    """Have the same processes be a new job, whatever became of the old one. Collective.

    What was recorded is dropped, and messages of the old job are left alone. Arrays of the old job are none of the new
    one: only their local parts can be used.
    """
    before = world()
    for end in when_ended:
        end()
    own = before.communicator
    _begin(own.Dup() if own.size > 1 else own, before.user_comm or own, before.has_network)


@contextlib.contextmanager
def simulated(size: int, rank: int, comm: MPI.Intracomm | None = None) -> Iterator[World]:
    """A job of `size` processes, of which this one plays `rank`: it plans, but cannot communicate.

    `comm` is what the program gets in the place of its communicator: such a job is played, on a host for each process.
    """
    global _world
    before = _world
    has_network = size > 1 if comm is not None else before is not None and before.has_network
    _world = World(rank, size, comm, has_network=has_network)
    try:
        yield _world
    finally:
        _world = before
