"""Kernels of joined operations as nodes of a schedule: on a piece, interpreted or compiled, whole or in parts. Kernels
that follow each other through the same rows become one node, a chain.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator, Sequence
from operator import add, attrgetter, itemgetter
from typing import Any, NamedTuple

import numpy as np

from pgaspy.caches import cached, lazy
from pgaspy.job import statistics
from pgaspy.kernels import jit
from pgaspy.kernels.bindings import Leaves, ProgramCall, ProgramReduceCall
from pgaspy.kernels.codegen import has_maths
from pgaspy.kernels.program import Program
from pgaspy.planning.chains import Place, Rows, band, place_behind
from pgaspy.scheduling.backend import backend
from pgaspy.scheduling.nodes import FunctionCall, Location, Memories, Node

__all__ = ["ChainedCall", "FusedCall", "FusedCalls", "FusedReduceCall", "LeafResults", "finish_leaves"]

PART_ELEMENTS = 1 << 20
"""While messages are under way, a kernel returns after so many elements (about a millisecond) to test for them."""

COMPILED_FROM_WORK = 1 << 27
ELEMENTS_PER_STEP = 64
"""A program is compiled when it has been interpreted on so many elements, each counted once per step, with what each
step of a call takes besides, as elements. That is some 0.05 s, and a compiler takes 0.1 to 0.5 s, for which other
threads and processes wait where all cores are theirs: what runs for a second does not win these back. (At a lower
priority a compiler takes the same from the program, which has its kernels later.)"""

WAITS = False
"""Whether a program waits for its compiled form, instead of being interpreted until that is there."""


_address_of = attrgetter("address")


class _Loop:
    """The loop of a program with some inputs that are scalars: interpreted, until compiling it pays and is done."""

    def __init__(self, program: Program, scalars: frozenset[int]) -> None:
        self._program, self._scalars = program, scalars
        self._is_wanted = jit.wants_libm() and has_maths(program)  # as the static kernels have libmvec's functions
        has_kernel = len(program.steps) == 1 and not program.reductions
        self._is_decided = has_kernel and not self._is_wanted
        self._address: int | None = None
        self._request: jit.Request | None = None
        self._work = 0

    def address(self, n_elements: int) -> int | None:
        """The compiled loop's address, if there is one, for a call on so many elements."""
        if not self._is_decided:
            if self._request is not None:
                self._look()
                return self._address
            self._work += (n_elements + ELEMENTS_PER_STEP) * len(self._program.steps)
            if self._is_wanted or self._work >= COMPILED_FROM_WORK:
                self._compile()
        return self._address

    @property
    def is_pending(self) -> bool:
        """Whether it is being compiled, and interpreted meanwhile."""
        return self._request is not None

    def expect_work(self) -> None:
        """Have it compiled as soon as it is called, as if it had been interpreted long enough."""
        self._work = COMPILED_FROM_WORK

    def _compile(self) -> None:
        if not (self._is_wanted or WAITS):
            self._request = jit.request(self._program, self._scalars)
            return
        start = time.perf_counter()
        self._address, self._is_decided = jit.compiled(self._program, self._scalars), True
        statistics.counts.compiled(start)

    def _look(self) -> None:
        request = self._request
        if request is not None and request.is_done:
            self._request = None
            self._address, self._is_decided = request.take(), True


@cached
def _loop(program: Program, scalars: frozenset[int]) -> _Loop:
    return _Loop(program, scalars)


def _loop_for(program: Program, strides: Sequence[tuple[int, ...]]) -> _Loop:
    return _loop(program, frozenset(n for n in range(program.n_inputs) if not any(strides[n])))


class KernelCall(Node):
    """Kernels on a piece each: one, or a chain of several.

    Attributes
    ----------
    stages, places
        The kernels in their order, and where each is in the chain.
    locations
        Of the operands of all.
    """

    is_kernel = True
    n_counted = 1
    stages: tuple[_SingleKernel, ...]
    places: tuple[Place, ...]
    locations: tuple[Location, ...]

    def compute(self, memories: Memories) -> None:
        """See `Node`."""
        self._compute_part(self._addresses(memories), [stage.loop() for stage in self.stages], 0, self._length)

    def parts(self, memories: Memories) -> Iterator[None]:
        """See `Node`."""
        addresses, loops = self._addresses(memories), [stage.loop() for stage in self.stages]
        for begin in range(0, self._length, self._length_of_part):
            if begin:
                yield
            self._compute_part(addresses, loops, begin, min(begin + self._length_of_part, self._length))

    @property
    def is_pending(self) -> bool:
        """Whether some of it is being compiled."""
        return any(stage._loop.is_pending for stage in self.stages)

    def expect_work(self) -> None:
        """Have it compiled as soon as it is called."""
        for stage in self.stages:
            stage._loop.expect_work()

    def _set_length(self, length: int, n_elements: int) -> None:
        """Note what can be computed in parts: so many rows, or units of another kind, with these elements."""
        self._length = length
        self._length_of_part = max(PART_ELEMENTS * length // max(n_elements, 1), 1)
        self.has_parts = n_elements >= 2 * PART_ELEMENTS and length > 1

    def _compute_part(self, addresses: list[int], loops: list[int | None], begin: int, end: int) -> None:
        """Compute a part, with the loop of each stage."""
        raise NotImplementedError

    def following(self, earlier: Node) -> KernelCall | None:
        """See `Node`."""
        if not isinstance(earlier, KernelCall) or earlier.is_urgent or self.is_urgent or not all(
                stage.is_by_rows for stage in (*earlier.stages, *self.stages)):
            return None
        (own,) = self.stages
        rows = [stage.rows for stage in earlier.stages]
        place = place_behind([*zip(rows, earlier.places, strict=True)], own.rows)
        n_rows = None if place is None else band([*rows, own.rows], own.call.n_rows, place.lag)
        return None if place is None or n_rows is None else ChainedCall(
            (*earlier.stages, own), (*earlier.places, place), n_rows)

    def _addresses(self, memories: Memories) -> list[int]:
        operands_of, offsets = self._operands
        return [*map(add, map(_address_of, operands_of(memories)), offsets)]

    @lazy
    def _operands(self) -> tuple[Callable[[Memories], tuple[Any, ...]], tuple[int, ...]]:
        """What finds the memories of all operands, and their offsets there."""
        numbers, offsets = zip(*self.locations, strict=True)
        return itemgetter(*numbers, numbers[0]), offsets  # of a single number, it would not return a tuple


class _SingleKernel(KernelCall):
    """One kernel.

    Attributes
    ----------
    geometry
        The program, the shape of the piece, and the operands' strides in bytes.
    rows
        What it touches in each row.
    is_by_rows
        Whether it may be computed row by row.
    """

    call: ProgramCall | ProgramReduceCall
    is_by_rows = True

    def __init__(self, program: Program, shape: tuple[int, ...], strides: Sequence[tuple[int, ...]],
                 locations: Sequence[Location], name: str) -> None:
        self.locations = tuple(locations)
        self.name = name
        self.stages, self.places = (self,), (Place(),)
        self.n_elements = math.prod(shape)
        self.geometry = program, shape, strides
        self._loop = _loop_for(program, strides)

    @lazy
    def rows(self) -> tuple[Rows, ...]:
        """See above."""
        return _rows(*self.geometry, self.locations)

    def compute(self, memories: Memories) -> None:
        """See `Node`."""
        self.call.call_part(self._addresses(memories), 0, self._length, self._loop.address(self.n_elements))

    def loop(self) -> int | None:
        """The address of the compiled loop, if there is one."""
        return self._loop.address(self.n_elements)

    def _compute_part(self, addresses: list[int], loops: list[int | None], begin: int, end: int) -> None:
        self.call.call_part(addresses, begin, end, loops[0])


def _rows(program: Program, shape: tuple[int, ...], strides: Sequence[tuple[int, ...]],
          locations: Sequence[Location]) -> tuple[Rows, ...]:
    """What a program touches of its operands in memory: in each row of the first dimension that is not of extent 1."""
    row_dim = next((d for d, n in enumerate(shape) if n != 1), 0)
    found = []
    for k, ((memory, offset), steps, char) in enumerate(zip(locations, strides, program.operands, strict=False)):
        spans = [step * (n - 1) for d, (step, n) in enumerate(zip(steps, shape, strict=True)) if d != row_dim]
        low, high = (sum(end(span, 0) for span in spans) for end in (min, max))
        found.append(Rows(memory, offset + low, offset + high + np.dtype(char).itemsize,
                          steps[row_dim] if steps else 0, k >= program.n_inputs))
    return tuple(found)


class FusedCall(_SingleKernel):
    """A program on a piece."""

    call: ProgramCall

    def __init__(self, program: Program, shape: tuple[int, ...], strides: Sequence[tuple[int, ...]],
                 locations: Sequence[Location], name: str) -> None:
        super().__init__(program, shape, strides, locations, name)
        self.call = backend.kernel(program, shape, strides)
        self._set_length(self.call.n_rows, self.n_elements)


class FusedCalls(Node):
    """A program on several pieces, one after the other: an edge with its corners, whose operands lie elsewhere.

    Attributes
    ----------
    calls
        Those on the pieces.
    """

    is_kernel = True

    def __init__(self, calls: Sequence[FusedCall]) -> None:
        self.calls = calls
        self.name, self.n_counted = calls[0].name, len(calls)
        self.n_elements = sum(call.n_elements for call in calls)

    def compute(self, memories: Memories) -> None:
        """See `Node`."""
        for call in self.calls:
            call.compute(memories)

    @property
    def is_pending(self) -> bool:
        """Whether some of it is being compiled."""
        return any(call.is_pending for call in self.calls)

    def expect_work(self) -> None:
        """Have it compiled as soon as it is called."""
        for call in self.calls:
            call.expect_work()


class LeafResults(NamedTuple):
    """The buffers of a reduction that ends a kernel: the results of its leaves, and slots for leaves cut by pieces."""

    leaves: int
    slots: int


class FusedReduceCall(_SingleKernel):
    """A program whose last outputs are reduced, on a piece: leaf by leaf, as the elements come."""

    call: ProgramReduceCall

    def __init__(self, program: Program, shape: tuple[int, ...], strides: Sequence[tuple[int, ...]],
                 locations: Sequence[Location], leaves: Leaves, start: tuple[int, ...], name: str) -> None:
        super().__init__(program, shape, strides, locations, name)
        self.call = backend.reducing_kernel(program, shape, strides, leaves, start)
        self.is_by_rows = leaves.is_one_along and not self.cut_leaves
        self._slot_nbytes = [leaves.slot_size * np.dtype(types[0]).itemsize for _, types in program.reductions]
        self._set_length(self.call.n_units, self.n_elements)

    @property
    def cut_leaves(self) -> list[int]:
        """The leaves that belong to other pieces as well."""
        return [leaf for leaf in (self.call.head_leaf, self.call.tail_leaf) if leaf is not None]

    def store_in(self, results: Sequence[LeafResults], shared: Sequence[int]) -> None:
        """Say where results go; `shared` are the leaves that have slots, in their order."""
        self.locations += tuple((result.leaves, 0) for result in results)
        for leaf in self.call.head_leaf, self.call.tail_leaf:
            k = 0 if leaf is None else shared.index(leaf)
            self.locations += tuple((result.slots, k * nbytes)
                                 for result, nbytes in zip(results, self._slot_nbytes, strict=True))


class ChainedCall(KernelCall):
    """Kernels in bands of rows: each follows those before it, as many rows behind as it has to be."""

    def __init__(self, stages: tuple[_SingleKernel, ...], places: tuple[Place, ...], n_rows_of_band: int) -> None:
        self.stages, self.places = stages, places
        self.name = ", ".join(stage.name for stage in stages)
        self.locations = tuple(location for stage in stages for location in stage.locations)
        self._call = backend.chain([stage.call for stage in stages], places,
                                   [len(stage.locations) for stage in stages], n_rows_of_band)
        self._set_length(self._call.n_fronts, sum(stage.n_elements for stage in stages))

    def _compute_part(self, addresses: list[int], loops: list[int | None], begin: int, end: int) -> None:
        self._call.call(addresses, loops, begin, end)


def finish_leaves(reduction: tuple[str, str], leaves: Leaves, shared: tuple[int, ...], results: LeafResults,
                  partial: int) -> FunctionCall:
    """The node that reduces the results of all leaves to the partial result of this process."""
    nbytes = leaves.slot_size * np.dtype(reduction[1][0]).itemsize
    finish = backend.finish(*reduction, leaves, shared)

    def compute(memories: Memories) -> None:
        first_slot = memories[results.slots].address
        finish.call(memories[results.leaves].address, [first_slot + k * nbytes for k in range(len(shared))],
                    memories[partial].address)

    return FunctionCall(compute, "reduce", n_counted=1)
