"""How programs are simulated, and the error that one cannot be."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from pgaspy.simulating.machine import Machine
from pgaspy.simulating.measuring import KernelTimes

if TYPE_CHECKING:
    from mpi4py import MPI

__all__ = ["Settings", "SimulationError"]


class SimulationError(Exception):
    """A program that cannot be simulated as it is, with its line."""


@dataclass(frozen=True)
class Settings:
    """How a program is simulated.

    Attributes
    ----------
    machine
        What it runs on.
    task_seconds
        What a call takes of a function with a name, on arrays, after so many bytes of others have been read.
    value, max_values
        What it goes on with in the place of a value that it reads; and how many it reads before it ends.
    kernels
        What kernels take, where that is measured; what Python takes is measured as well, then.
    spread
        On how many processes the items of each process's index arrays lie, evenly; where this is None, what follows
        from them is refused.
    hands_over
        Whether processes have time, while they wait for a value, for what could be postponed.
    together
        The communicator of the processes that measure at once, if several do.
    """

    machine: Machine
    task_seconds: Callable[[str, Callable[..., Any], Sequence[Any], int], float]
    value: float | None = None
    max_values: int | None = None
    kernels: KernelTimes | None = None
    spread: int | None = None
    hands_over: bool = False
    together: MPI.Intracomm | None = None
