"""What kernels and copies take, measured here: those of a schedule in turn, so that caches hold what they would.

So they are of memory as well that other nodes use, which are not measured.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Hashable, Mapping, Sequence
from statistics import fmean
from typing import Any

import numpy as np
from threadpoolctl import threadpool_limits

from pgaspy.host.words import of_bytes
from pgaspy.kernels import bindings
from pgaspy.scheduling.kernel_nodes import FusedCalls, KernelCall
from pgaspy.scheduling.nodes import Copy, Node

__all__ = ["KernelTimes", "PassedThrough", "typical"]

MAX_BYTES = 4 << 30
"""Of what a schedule works on."""

MAX_BYTES_BESIDES = 256 << 20
"""More than caches hold."""

N_WARMING, MIN_ROUNDS, MAX_ROUNDS, SECONDS = 2, 4, 200, 0.5
"""So many rounds do not count; of others, as many as take so long, `typical` says what counts."""

N_OBJECTS = 60_000
"""That Python looks at between two rounds, as it does to record and plan between two schedules."""

SECONDS_TO_COMPILE = 10.0
"""So long rounds do not count, if kernels are still being compiled."""


def typical(times: Sequence[float]) -> float:
    """The mean of what was measured again and again, but for the longest and the shortest tenth."""
    n = len(times) // 10
    return fmean(sorted(times)[n:len(times) - n])


class PassedThrough:
    """What the processor's caches are filled with before something is measured: the program's other arrays, of so many
    bytes, and Python's objects.
    """

    def __init__(self, nbytes: int) -> None:
        self._elements = np.ones(min(nbytes, MAX_BYTES_BESIDES) // 8)
        self._objects = [object() for _ in range(N_OBJECTS)]

    def pass_through(self) -> None:
        """Fill the caches."""
        self._elements.sum()
        all(x is not None for x in self._objects)


class _Block:
    """A memory, of numbers that are neither zero nor large."""

    def __init__(self, nbytes: int) -> None:
        self._elements = np.full(nbytes // 8 + 8, 0.5)
        self.address = bindings.address(self._elements)

    def pass_through(self) -> None:
        """Have it in the caches."""
        self._elements.sum()


class KernelTimes:
    """The seconds of kernels and copies; each is measured once."""

    def __init__(self, threads: int | None = None) -> None:
        """Measured with so many threads."""
        self._threads = threads
        self._known: dict[Hashable, Sequence[float]] = {}

    def of(self, nodes: Sequence[Node], nbytes_of: Callable[[int], int],
           nbytes_besides: int) -> Mapping[Node, Sequence[float]]:
        """Those of the nodes of a schedule that can be measured, round by round; `nbytes_of` are the bytes of a memory.

        Between two rounds, so many bytes are read as the program's other arrays have, which leave the caches to them.

        Raises
        ------
        ValueError
            If the schedule works on too much.
        """
        keys = {node: key for node in nodes if (key := _key(node)) is not None}
        if any(key not in self._known for key in keys.values()):
            with threadpool_limits(self._threads):
                self._measure(nodes, keys, nbytes_of, PassedThrough(nbytes_besides))
        return {node: self._known[key] for node, key in keys.items()}

    def _measure(self, nodes: Sequence[Node], keys: Mapping[Node, Hashable], nbytes_of: Callable[[int], int],
                 others: PassedThrough) -> None:
        used = {memory for node in nodes for memory in _memories_of(node)}
        total = sum(map(nbytes_of, used))
        if total > MAX_BYTES:
            raise ValueError(f"kernels work on {of_bytes(total)}, too much to measure them here: leave out --measure")
        memories: Any = {memory: _Block(nbytes_of(memory)) for memory in used}
        kernels = [node for node in keys if isinstance(node, KernelCall | FusedCalls)]
        for kernel in kernels:
            kernel.expect_work()  # as the program is taken to go on for long
        begin = time.perf_counter()
        n_warming = 0
        while n_warming < N_WARMING or (any(kernel.is_pending for kernel in kernels)
                                        and time.perf_counter() - begin < SECONDS_TO_COMPILE):
            n_warming += 1
            for node in keys:
                node.compute(memories)
        times: dict[Node, list[float]] = {node: [] for node in keys}
        begin = time.perf_counter()
        for n in range(MAX_ROUNDS):
            others.pass_through()
            for node in nodes:
                if node not in keys:
                    for memory in _memories_of(node):
                        memories[memory].pass_through()
                    continue
                start = time.perf_counter()
                node.compute(memories)
                times[node].append(time.perf_counter() - start)
            if n >= MIN_ROUNDS and time.perf_counter() - begin > SECONDS:
                break
        for node, key in keys.items():
            self._known.setdefault(key, times[node])


def _memories_of(node: Node) -> set[int]:
    """The memories of a node, with those of scalars."""
    calls = node.calls if isinstance(node, FusedCalls) else [node]
    located = {memory for call in calls if isinstance(call, KernelCall) for memory, _ in call.locations}
    return located | {*node.reads, *dict(node.writes)}


def _key(node: Node) -> Hashable:
    """What a node's time depends on; None where it is not measured."""
    if isinstance(node, FusedCalls):
        return tuple(map(_key, node.calls))
    if isinstance(node, KernelCall):
        return tuple((stage.geometry[0], *(tuple(map(_plain, part)) for part in stage.geometry[1:]),
                      tuple(stage.locations)) for stage in node.stages)
    if isinstance(node, Copy):
        return node.name, node.reads, node.writes
    return None


def _plain(x: Any) -> Any:
    """Numbers, and sequences of some, as what can be a key."""
    return tuple(x) if isinstance(x, Sequence) else x
