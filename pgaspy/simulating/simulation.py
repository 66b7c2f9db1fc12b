"""Simulations: a program in a job of any size, played by scripts of some of its processes."""

from __future__ import annotations

import itertools
import resource
import time
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from pgaspy.execution.engine import RECEIVED_AT_ONCE_BYTES, WINDOW_BYTES
from pgaspy.simulating.critical_path import CriticalPath, critical_path
from pgaspy.simulating.graphs import Begin, Pass
from pgaspy.simulating.player import Course, Rules, Stalled, Totals, play
from pgaspy.simulating.ranks import Classes, Likes
from pgaspy.simulating.scripts import CommandLine, Script, conflicts, script_of
from pgaspy.simulating.settings import Settings, SimulationError
from pgaspy.supervision.checking import difference

if TYPE_CHECKING:
    from mpi4py import MPI

__all__ = ["Simulation", "simulate"]

MAX_ALL = 32
"""In a job of so many processes, all are played."""

MAX_PLAYED = 4096


@dataclass(frozen=True)
class Simulation:
    """What was found.

    Attributes
    ----------
    size
        The processes of the job.
    courses
        What those did that were played.
    shares
        How much each of them counts in a mean of all processes.
    path
        The critical path.
    status
        That the program ended with, after reading values that are not those which it would have found; None or 0, if
        with none.
    seconds_planning, seconds_playing
        Of the processor, that the simulation took: for each process that is played, and for all.
    max_rss
        The largest resident memory of this process until now, in bytes.
    """

    size: int
    courses: Mapping[int, Course]
    shares: Mapping[int, float]
    path: CriticalPath
    status: int | str | None
    seconds_planning: float
    seconds_playing: float
    max_rss: int

    @property
    def phases(self) -> list[Mapping[int, Totals]]:
        """What each process did before, between and after the barriers of the program, and in all."""
        marks = [{rank: Totals() for rank in self.courses}]
        for k in range(min(len(course.marks) for course in self.courses.values())):
            marks.append({rank: course.marks[k] for rank, course in self.courses.items()})
        marks.append({rank: course.totals for rank, course in self.courses.items()})
        return [{rank: after[rank] - before[rank] for rank in after} for before, after in itertools.pairwise(marks)]

    def mean(self, totals: Mapping[int, Totals], name: str) -> float:
        """The mean of a total over all processes."""
        return sum(self.shares[rank] * getattr(own, name) for rank, own in totals.items())


def simulate(program: CommandLine, size: int, settings: Settings) -> Simulation:
    """A program in a job of `size` processes.

    Raises
    ------
    SimulationError
        If the program cannot be simulated, or fails.
    """
    found = _simulated(program, size, settings)
    n_idled, n_went_on = (sum(course.n_idled[has_idled] for course in found.courses.values())
                          for has_idled in (True, False))
    return _simulated(program, size, replace(settings, hands_over=True)) if n_idled > n_went_on else found


def _simulated(program: CommandLine, size: int, settings: Settings) -> Simulation:
    scripts: dict[int, Script] = {}

    def add(ranks: list[int]) -> None:
        for rank in ranks:
            if rank not in scripts:
                scripts[rank] = script_of(program, size, rank, settings)
        _compare(scripts)
        if len(scripts) > MAX_PLAYED:
            raise SimulationError(f"more than {MAX_PLAYED} of {size} processes would have to be played: what they "
                                  "send each other is too different")

    add(list(range(size)) if size <= MAX_ALL else [size // 2])
    if settings.together is not None and size <= MAX_ALL:
        _exchange(scripts, settings.together)
    classes = Classes(scripts[size // 2].grids, size)
    if size > MAX_ALL:
        add(classes.examples)
    seconds = 0.0
    while True:
        likes = Likes(scripts, classes, size)
        if size > MAX_ALL and (missing := likes.missing()):
            add(sorted(missing))
            continue
        start = time.thread_time()
        rules = Rules(WINDOW_BYTES, RECEIVED_AT_ONCE_BYTES, scripts[size // 2].overlaps)
        try:
            courses = play({rank: own.steps for rank, own in scripts.items()}, settings.machine.network, rules,
                           likes.source, conflicts, size)
        except Stalled as stalled:
            unknown = sorted({rank for pair in stalled.awaited for rank in classes.line(*pair)} - set(scripts))
            if not unknown:
                raise SimulationError(f"processes wait for each other for ever: {stalled}") from stalled
            add(unknown)
            continue
        finally:
            seconds += time.thread_time() - start
        return Simulation(
            size, courses, classes.shares(list(courses)), critical_path(courses), scripts[size // 2].status,
            sum(own.seconds for own in scripts.values()) / len(scripts), seconds,
            resource.getrusage(resource.RUSAGE_SELF).ru_maxrss << 10)


def _exchange(scripts: Mapping[int, Script], together: MPI.Intracomm) -> None:
    """Have each script take what it took where it was measured by the process in its place, as processors are unequal.

    Collective.
    """
    measured = {rank: [step.seconds for step in own.steps if isinstance(step, Begin | Pass)]
                for rank, own in scripts.items() if rank % together.size == together.rank}
    for found in together.allgather(measured):
        for rank, seconds in found.items():
            left = iter(seconds)
            scripts[rank].steps[:] = [_lasting(step, next(left)) if isinstance(step, Begin | Pass) else step
                                      for step in scripts[rank].steps]


def _lasting(step: Begin | Pass, seconds: Any) -> Begin | Pass:
    return replace(step, seconds=seconds) if isinstance(step, Begin) else step._replace(seconds=seconds)


def _compare(scripts: Mapping[int, Script]) -> None:
    """See that processes do the same.

    Raises
    ------
    SimulationError
        If some differ: who does what first that others do not.
    """
    digests = [own.digests.taken[::2] for own in scripts.values()]  # without those of numbers
    if all(own == digests[0] for own in digests):
        return
    index = next(k for k, found in enumerate(zip(*digests, strict=False)) if len({*found}) > 1)
    said = {rank: own.digests.entry(index) for rank, own in sorted(scripts.items())}
    raise SimulationError(difference(index, {
        rank: {"operation": "too long ago to be known", "at": ""} if one is None else one.fields()
        for rank, one in said.items()}))
