"""What the nodes of a schedule take on a machine, and the graph that they make.

A kernel takes what its bytes take of the memory, or its operations of the cores, whichever is more; and what it takes
to start it. The bytes are those of each array that it reads or writes, once: views of an array that overlap are read
from the cache. The memory is as fast as it is for all that the schedule works on.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from pgaspy.kernels.program import Program
from pgaspy.planning.boxes import Box
from pgaspy.scheduling.kernel_nodes import PART_ELEMENTS, FusedCall, FusedCalls, FusedReduceCall, KernelCall
from pgaspy.scheduling.nodes import Communication, FunctionCall, Node, NumpyCall
from pgaspy.scheduling.schedule import Schedule
from pgaspy.simulating.graphs import Graph, Work
from pgaspy.simulating.machine import Machine
from pgaspy.simulating.measuring import KernelTimes, typical

__all__ = ["graph_of", "weight"]

MAX_PARTS = 256
"""A computation is played in no more parts, however long it is."""

LINE_BYTES = 64

WEIGHTS = {"copy": 0.0, "divide": 4.0, "sqrt": 4.0, "exp": 10.0, "exp2": 10.0, "expm1": 15.0, "log": 12.0,
           "log2": 12.0, "log10": 12.0, "log1p": 15.0, "sin": 15.0, "cos": 15.0, "tan": 25.0, "arctan": 20.0,
           "arcsin": 20.0, "arccos": 20.0, "arctan2": 30.0, "tanh": 20.0, "sinh": 20.0, "cosh": 20.0, "power": 30.0,
           "hypot": 6.0, "floor_divide": 10.0, "remainder": 10.0}
"""How many additions a function takes as long as, about; one, if it is not here."""


def weight(name: str) -> float:
    """See `WEIGHTS`."""
    return WEIGHTS.get(name, 1.0)


class _Memories:
    """The memories of a schedule: the shapes and item sizes of the bases, and the bytes of the others."""

    def __init__(self, schedule: Schedule, shapes: Sequence[tuple[tuple[int, ...], int]]) -> None:
        self._shapes = shapes
        self._sizes: dict[int, int] = dict(schedule_buffers(schedule))

    def nbytes(self, memory: int, box: Box = None) -> int:
        """The bytes of a box of a memory, or of all of it; none of what is a value."""
        if memory >= len(self._shapes):
            return self._sizes.get(memory, 0)
        shape, itemsize = self._shapes[memory]
        return itemsize * math.prod(shape if box is None else (stop - start for start, stop in box))

    def total(self, nodes: Sequence[Node]) -> int:
        """The bytes of all that nodes use: what is never stored is not among them."""
        return sum(map(self.nbytes, {memory for node in nodes for memory in (*node.reads, *dict(node.writes))}))


def schedule_buffers(schedule: Schedule) -> Mapping[int, int]:
    """The bytes of each buffer of a schedule."""
    first = schedule.n_memories - len(schedule.buffer_sizes)
    found = {number: nbytes for number, nbytes in enumerate(schedule.buffer_sizes, first) if nbytes is not None}
    for node in schedule.nodes:
        found |= dict(node.allocates)
    return found


def graph_of(schedule: Schedule, shapes: Sequence[tuple[tuple[int, ...], int]], machine: Machine,
             times: KernelTimes | None = None, nbytes_besides: int = 0) -> Graph:
    """The graph of a schedule whose bases have these local shapes and item sizes; with `times`, kernels are measured.

    The arrays that it does not use have so many bytes.
    """
    memories = _Memories(schedule, shapes)
    speed = machine.memory_speed(memories.total(schedule.nodes))
    measured = {} if times is None else times.of(schedule.nodes, memories.nbytes, nbytes_besides)
    rounds = {number: [seconds + machine.engine for seconds in measured[node]]
              for number, node in enumerate(schedule.nodes) if node in measured}
    nodes = tuple(_work(node, memories, machine, speed, rounds.get(number))
                  for number, node in enumerate(schedule.nodes))
    return Graph(nodes, schedule.n_waits, schedule.nodes_by_age, schedule.last_joined, schedule.n_uses, schedule.named,
                 rounds=rounds)


def _work(node: Node, memories: _Memories, machine: Machine, speed: float, rounds: Sequence[float] | None) -> Work:
    common: dict[str, Any] = {
        "name": node.name, "position": node.position, "due": node.due, "is_urgent": node.is_urgent,
        "nbytes_ahead": node.nbytes_ahead, "taken": node.taken, "uses": node.uses,
        "successors": node.successors}
    if isinstance(node, Communication):
        return Work(**common, peer=node.peer, nbytes=node.nbytes, tag=node.tag, is_receive=node.is_receive)
    if rounds is None:
        nbytes, n_operations = _amount(node, memories)
        seconds = machine.kernel + max(nbytes / speed, n_operations / machine.flops)
    else:
        seconds = typical(rounds)
    n_parts = 1
    if isinstance(node, KernelCall) and node.has_parts:
        n_parts = min(max(sum(stage.n_elements for stage in node.stages) // PART_ELEMENTS, 1), MAX_PARTS)
    return Work(**common, seconds=seconds, n_parts=n_parts)


def _amount(node: Node, memories: _Memories) -> tuple[float, float]:
    """The bytes that a node reads and writes, and its operations."""
    if isinstance(node, FusedCalls):
        amounts = [_kernel_amount([call]) for call in node.calls]
        return sum(nbytes for nbytes, _ in amounts), sum(n for _, n in amounts)
    if isinstance(node, KernelCall):
        return _kernel_amount(node.stages)
    written = sum(memories.nbytes(memory, box) for memory, box in node.writes)
    if isinstance(node, NumpyCall):
        return node.nbytes, node.n_elements * weight(node.name)
    if isinstance(node, FunctionCall):
        read = sum(memories.nbytes(memory) for memory in node.reads)
        return read + written, (read + written) / 8
    return 2 * written, 0.0


def _kernel_amount(stages: Sequence[Any]) -> tuple[float, float]:
    """Those of kernels that follow each other in bands of rows, where what one writes the next finds in the cache."""
    operands: dict[int, list[tuple[int, int, float, bool]]] = defaultdict(list)
    n_operations = 0.0
    for stage in stages:
        assert isinstance(stage, FusedCall | FusedReduceCall)
        program, shape, strides = stage.geometry
        n_operations += stage.n_elements * _operations_per_element(program)
        for k, ((memory, offset), steps, char) in enumerate(
                zip(stage.locations, strides, program.operands, strict=False)):
            operands[memory].append((*_extent(offset, shape, steps, np.dtype(char).itemsize), k >= program.n_inputs))
    return sum(map(_bytes_passed, operands.values())), n_operations


def _operations_per_element(program: Program) -> float:
    return sum(weight(step.name) for step in program.steps) + program.n_reduced


def _extent(offset: int, shape: tuple[int, ...], steps: tuple[int, ...], itemsize: int) -> tuple[int, int, float]:
    """The first and the last byte of an operand, and the bytes of cache lines that it touches between."""
    dims = [(abs(step), n, step) for n, step in zip(shape, steps, strict=True) if step and n > 1]
    low = offset + sum(min(step * (n - 1), 0) for _, n, step in dims)
    high = offset + sum(max(step * (n - 1), 0) for _, n, step in dims) + itemsize
    smallest = min((stride for stride, _, _ in dims), default=itemsize)
    return low, high, min(math.prod(n for _, n, _ in dims) * min(max(smallest, itemsize), LINE_BYTES), high - low)


def _bytes_passed(operands: Sequence[tuple[int, int, float, bool]]) -> float:
    """The bytes of one memory that are read from it, and written to it, by operands in their order.

    What one kernel has written, those behind it in the chain find in the cache.
    """
    read = _union([(low, high, nbytes, False) for k, (low, high, nbytes, is_written) in enumerate(operands)
                   if not is_written and not any(other[3] and other[0] < high and low < other[1]
                                                 for other in operands[:k])])
    return read + _union([operand for operand in operands if operand[3]])


def _union(operands: Sequence[tuple[int, int, float, bool]]) -> float:
    """The bytes that at least one of some operands touches: those that overlap share their lines."""
    total, stop, touched, start = 0.0, -1, 0.0, 0
    for low, high, nbytes, _ in sorted(operands):
        if low >= stop:
            total += min(touched, stop - start) if stop >= 0 else 0.0
            start, stop, touched = low, high, 0.0
        stop = max(stop, high)
        touched += nbytes
    return total + (min(touched, stop - start) if stop >= 0 else 0.0)
