"""Kernels of joined operations as nodes of a schedule: on a piece, interpreted or compiled, whole or in parts."""

from __future__ import annotations

import functools
import math
import time
from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np

from pgaspy import jit, kernels, statistics
from pgaspy.codegen import has_maths
from pgaspy.kernels import Leaves, ProgramCall, ProgramReduceCall
from pgaspy.nodes import Call, Memories, Node, Place
from pgaspy.program import Program

__all__ = ["FusedCall", "FusedReduceCall", "LeafResults", "finish_leaves"]

PART_ELEMENTS = 1 << 20
"""While messages are under way, a kernel returns after so many elements (about a millisecond) to test for them."""

COMPILED_FROM_WORK = 1 << 24
COMPILED_FROM_CALLS = 4
COMPILED_FROM_ELEMENTS = 1 << 10
"""A program is compiled when it has interpreted so many steps on elements; or from its so-manieth call on, if it has so
many elements. What runs once on little data, or on a few elements only, is not worth 0.2 s of a compiler."""


class _Loop:
    """The loop of a program with some inputs that are scalars: interpreted, until compiling it pays."""

    def __init__(self, program: Program, scalars: frozenset[int]) -> None:
        self._program, self._scalars = program, scalars
        self._is_wanted = jit.wants_libm() and has_maths(program)  # as the static kernels have libmvec's functions
        has_kernel = len(program.steps) == 1 and not program.reductions
        self._is_decided = has_kernel and not self._is_wanted
        self._address: int | None = None
        self._work = self._n_calls = 0

    def address(self, n_elements: int) -> int | None:
        """The compiled loop's address, if there is one, for a call on so many elements."""
        if not self._is_decided:
            self._n_calls += 1
            self._work += n_elements * len(self._program.steps)
            if self._is_wanted or self._work >= COMPILED_FROM_WORK or (
                    self._n_calls >= COMPILED_FROM_CALLS and n_elements >= COMPILED_FROM_ELEMENTS):
                start = time.perf_counter()
                self._address, self._is_decided = jit.compiled(self._program, self._scalars), True
                statistics.counts.compiled(start)
        return self._address


@functools.lru_cache(maxsize=4096)
def _loop(program: Program, scalars: frozenset[int]) -> _Loop:
    return _Loop(program, scalars)


def _loop_for(program: Program, strides: Sequence[tuple[int, ...]]) -> _Loop:
    return _loop(program, frozenset(n for n in range(program.n_inputs) if not any(strides[n])))


class FusedCall(Node):
    """A program on a piece."""

    def __init__(self, program: Program, shape: tuple[int, ...], strides: Sequence[tuple[int, ...]],
                 places: Sequence[Place], name: str) -> None:
        self._call = ProgramCall(program, shape, strides)
        self._loop = _loop_for(program, strides)
        self._places = tuple(places)
        self._n_elements = math.prod(shape)
        self._n_rows_of_part = max(PART_ELEMENTS * self._call.n_rows // max(self._n_elements, 1), 1)
        self.has_parts = self._n_rows_of_part < self._call.n_rows
        self.name = name

    def run(self, memories: Memories) -> None:
        """See `Node`."""
        self._call.call([memories[number].address + offset for number, offset in self._places],
                        self._loop.address(self._n_elements))

    def parts(self, memories: Memories) -> Iterator[None]:
        """See `Node`."""
        addresses = [memories[number].address + offset for number, offset in self._places]
        call, loop = self._call, self._loop.address(self._n_elements)
        for start in range(0, call.n_rows, self._n_rows_of_part):
            if start:
                yield
            call.call_part(addresses, start, min(start + self._n_rows_of_part, call.n_rows), loop)


class LeafResults(NamedTuple):
    """The buffers of a reduction that ends a kernel: the results of its leaves, and slots for leaves cut by pieces."""

    leaves: int
    slots: int


class FusedReduceCall(Node):
    """A program whose last outputs are reduced, on a piece: leaf by leaf, as the elements come."""

    def __init__(self, program: Program, shape: tuple[int, ...], strides: Sequence[tuple[int, ...]],
                 places: Sequence[Place], leaves: Leaves, start: tuple[int, ...], name: str) -> None:
        self._call = ProgramReduceCall(program, shape, strides, leaves, start)
        self._loop = _loop_for(program, strides)
        self._places = tuple(places)
        self._slot_nbytes = [leaves.slot_size * np.dtype(types[0]).itemsize for _, types in program.reductions]
        self._n_units_of_part = max(PART_ELEMENTS * self._call.n_units // max(self._call.size, 1), 1)
        self.has_parts = self._call.size > 2 * PART_ELEMENTS
        self.name = name

    @property
    def cut_leaves(self) -> list[int]:
        """The leaves that belong to other pieces as well."""
        return [leaf for leaf in (self._call.head_leaf, self._call.tail_leaf) if leaf is not None]

    def store_in(self, results: Sequence[LeafResults], shared: Sequence[int]) -> None:
        """Say where results go; `shared` are the leaves that have slots, in their order."""
        self._places += tuple((result.leaves, 0) for result in results)
        for leaf in self._call.head_leaf, self._call.tail_leaf:
            k = 0 if leaf is None else shared.index(leaf)
            self._places += tuple((result.slots, k * nbytes)
                                  for result, nbytes in zip(results, self._slot_nbytes, strict=True))

    def run(self, memories: Memories) -> None:
        """See `Node`."""
        self._call.call([memories[number].address + offset for number, offset in self._places], 0, None,
                        self._loop.address(self._call.size))

    def parts(self, memories: Memories) -> Iterator[None]:
        """See `Node`."""
        addresses = [memories[number].address + offset for number, offset in self._places]
        call, loop = self._call, self._loop.address(self._call.size)
        for begin in range(0, call.n_units, self._n_units_of_part):
            if begin:
                yield
            call.call(addresses, begin, min(begin + self._n_units_of_part, call.n_units), loop)


def finish_leaves(reduction: tuple[str, str], leaves: Leaves, shared: tuple[int, ...], results: LeafResults,
                  partial: int) -> Call:
    """The node that reduces the results of all leaves to the partial result of this process."""
    nbytes = leaves.slot_size * np.dtype(reduction[1][0]).itemsize
    finish = kernels.FinishCall(*reduction, leaves, shared)

    def run(memories: Memories) -> None:
        first_slot = memories[results.slots].address
        finish.call(memories[results.leaves].address, [first_slot + k * nbytes for k in range(len(shared))],
                    memories[partial].address)

    return Call(run, "reduce")
