"""Drafts: what is noted of schedules until their graphs are made, when the program has ended.

Only then is it known what the program has besides, of which the caches are full when kernels begin.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from random import Random

from pgaspy.execution.runs import Run
from pgaspy.scheduling.base import Storage
from pgaspy.scheduling.conversations import Conversation
from pgaspy.scheduling.schedule import Schedule
from pgaspy.simulating.conversing import Round, rounds_of, with_rounds
from pgaspy.simulating.costs import graph_of
from pgaspy.simulating.graphs import Begin, Graph, Step, graph
from pgaspy.simulating.settings import Settings, SimulationError

__all__ = ["NOT_YET", "Drafts"]

NOT_YET = graph([])
"""In the place of the graph of a step, until that is made."""


@dataclass
class Draft:
    """Of what a graph is made.

    Attributes
    ----------
    shapes, nbytes
        The local shapes and item sizes of the bases; and their bytes.
    rounds
        Of its conversations.
    nbytes_besides
        Those of all other arrays, while most of them were there.
    """

    shapes: Sequence[tuple[tuple[int, ...], int]]
    nbytes: int
    rounds: Mapping[int, Sequence[Round]]
    nbytes_besides: int = 0


class Drafts:
    """Those of one process."""

    def __init__(self, rank: int, size: int, settings: Settings) -> None:
        self._rank, self._size, self._settings = rank, size, settings
        self._found: dict[Schedule, Draft] = {}

    def nbytes(self, storage: Storage) -> int:
        """Of the part of an array that this process would have."""
        return math.prod(storage.layout.local_shape(self._rank)) * storage.dtype.itemsize

    def add(self, run: Run, storages: Sequence[Storage], alive: Collection[Storage]) -> int:
        """Note a run that uses some of the arrays which are alive; the bytes of these.

        Raises
        ------
        SimulationError
            If its messages follow from what arrays hold, and nothing is said of that.
        """
        draft = self._found.get(run.schedule)
        if draft is None:
            draft = self._found[run.schedule] = self._draft(run, storages)
        if self._settings.kernels is not None:
            draft.nbytes_besides = max(draft.nbytes_besides, sum(map(self.nbytes, {*alive} - {*storages})))
        return draft.nbytes

    def _draft(self, run: Run, storages: Sequence[Storage]) -> Draft:
        spread = self._settings.spread
        talking = {number: node for number, node in enumerate(run.schedule.nodes) if isinstance(node, Conversation)
                   and node.talks}
        if talking and spread is None:
            node = next(iter(talking.values()))
            raise SimulationError(f"the messages of {node.name} follow from what arrays hold, which a simulated job "
                                  "does not have (--spread says on how many processes the items lie), at "
                                  f"{run.line_of(node)}")
        most = [storage.layout.max_local_size * storage.dtype.itemsize for storage in storages]  # alike on all
        return Draft([(storage.layout.local_shape(self._rank), storage.dtype.itemsize) for storage in storages],
                     sum(map(self.nbytes, storages)),
                     {number: rounds_of(node, self._rank, self._size, spread or 0, most.__getitem__)
                      for number, node in talking.items()})

    def finish(self, steps: list[Step], rng: Random) -> None:
        """Make the graphs, and have the steps take them; what was measured takes what it took in a round that is drawn.

        Raises
        ------
        SimulationError
            If kernels work on too much to measure them.
        """
        graphs = {schedule: self._graph(schedule, draft) for schedule, draft in self._found.items()}
        steps[:] = [_drawn(step, graphs[step.origin], rng) if isinstance(step, Begin) and step.origin in graphs
                    else step for step in steps]

    def _graph(self, schedule: Schedule, draft: Draft) -> Graph:
        machine = self._settings.machine
        try:
            made = graph_of(schedule, draft.shapes, machine, self._settings.kernels, draft.nbytes_besides)
        except ValueError as error:
            raise SimulationError(str(error)) from error
        return with_rounds(made, draft.rounds, self._rank, self._size, machine.kernel) if draft.rounds else made


def _drawn(step: Begin, made: Graph, rng: Random) -> Begin:
    """A step with its graph, of which all that was measured takes what it took in one round."""
    place = rng.random()
    seconds = {number: rounds[int(place * len(rounds))] for number, rounds in made.rounds.items()}
    return replace(step, graph=made, seconds={**seconds, **step.seconds})
