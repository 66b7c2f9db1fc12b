"""How many threads a process uses: the cores that it may run on, shared with its neighbours on the node."""

from __future__ import annotations

import os
import warnings
from collections.abc import Sequence
from typing import TYPE_CHECKING

import threadpoolctl

from pgaspy.kernels import bindings

if TYPE_CHECKING:
    from mpi4py import MPI

__all__ = ["limit_blas", "share_cores", "threads_from_masks"]


def share_cores(comm: MPI.Intracomm) -> bool:
    """Give this process's kernels and BLAS its share of the cores in its affinity mask. Collective.

    OMP_NUM_THREADS overrides the number; more threads than cores are warned of.

    Returns
    -------
    Whether the processes are on several hosts, the same on all of them.
    """
    cores = sorted(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else list(range(os.cpu_count() or 1))
    asked = os.environ.get("OMP_NUM_THREADS", "").split(",")[0]
    n_neighbours = 1
    if comm.size == 1:
        share = len(cores)
    else:
        node = comm.Split_type(_shared_memory(), comm.rank)
        share, n_neighbours = threads_from_masks(node.allgather(cores), node.rank), node.size
        node.Free()
    n_threads = int(asked) if asked.isdigit() and int(asked) > 0 else share
    if n_threads > len(cores):
        warnings.warn(f"OMP_NUM_THREADS={asked}, but this process (rank {comm.rank}) may run on {len(cores)} core(s) "
                      "only: bind processes to more cores (mpirun --map-by ppr:1:numa:pe=N --bind-to core, or srun "
                      "--cpus-per-task=N), or ask for fewer threads", stacklevel=2)
    bindings.set_threads(n_threads)
    limit_blas()
    return n_neighbours < comm.size


def limit_blas() -> None:
    """Give the BLAS libraries that are loaded as many threads as the kernels have."""
    threadpoolctl.threadpool_limits(bindings.get_threads())


def threads_from_masks(masks: Sequence[Sequence[int]], rank: int) -> int:
    """The cores of a process, divided by the processes of the node that may run on them, too.

    >>> threads_from_masks([[0, 1], [0, 1]], 0), threads_from_masks([[0, 1], [2, 3]], 1)
    (1, 2)
    """
    own = set(masks[rank])
    sharing = sum(not own.isdisjoint(mask) for mask in masks)
    return max(len(own) // sharing, 1)


def _shared_memory() -> int:
    from mpi4py import MPI

    return MPI.COMM_TYPE_SHARED
