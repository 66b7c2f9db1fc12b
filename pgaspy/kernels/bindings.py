"""The C kernels, as Python sees them: addresses, shapes and byte strides in, nothing out.

This is the only module that knows the extension module. Geometries are prepared once and called
many times: a call costs about a microsecond beyond its C time. The GIL is released in C.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from itertools import count, takewhile
from typing import Any

import numpy as np

from pgaspy.host.openmp_settings import brief_spinning, not_bound

try:
    with brief_spinning(), not_bound():
        from pgaspy._kernels import ffi, lib  # type: ignore[import-not-found]
except ModuleNotFoundError as error:
    raise ImportError(
        "pgaspy's kernels are not built in its source folder, which comes before an installed pgaspy "
        "when Python is started there: build them with `pip install -e .`, or start elsewhere"
    ) from error

from pgaspy.caches import own_sizes
from pgaspy.kernels.program import Program

__all__ = [
    "ADDRESSES", "BLOCK", "FEW_COLUMNS", "LANES", "LEAF", "MAX_NDIM", "MAX_PROGRAM_OPERANDS",
    "MAX_PROGRAM_REDUCTIONS", "MAX_PROGRAM_STEPS", "OTHER", "OWN", "PACKED", "BytesCopy", "ChainCall",
    "ElementwiseCall", "FinishCall", "ItemPlaces", "Leaves", "ProgramCall", "ProgramReduceCall", "ReduceCall",
    "SectionCopy", "address", "by_itself", "compact", "expand", "fill_random", "find_beyond",
    "find_positions", "function",
    "get_threads", "has_progression", "histogram", "is_maths", "load_int64", "lookup", "merge", "merges",
    "most_operands", "multiply_skinny", "n_completed", "narrow_lane", "pack_items", "philox", "progression",
    "random_bits", "reduce_functions", "reduce_lookup", "run_elementwise", "scan", "set_threads", "sort", "sorts",
    "store_int64", "take_along", "unpack_items",
]

_missing = lib.pg_missing_cpu_features()
if _missing:
    raise ImportError(
        f"pgaspy's kernels were compiled for {ffi.string(_missing).decode()} instructions, which "
        "this CPU lacks; rebuild pgaspy with the environment variable PGASPY_MARCH=x86-64-v2"
    )

#: Which columns of the ranges a side of a section uses: its own start and step (0, 1), the other's
#: (2, 3), or none: the elements lie one after the other in the order of the ranges.
OWN: int = lib.OWN
OTHER: int = lib.OTHER
PACKED: int = lib.PACKED

#: The most dimensions of anything: a C loop takes one more, by which it is tiled.
MAX_NDIM: int = lib.MAX_DIMS - 1

#: The most inputs and outputs of a program, its most steps and registers, and its most reductions.
MAX_PROGRAM_OPERANDS: int = lib.MAX_PROGRAM_OPERANDS
MAX_PROGRAM_STEPS: int = lib.MAX_STEPS
MAX_PROGRAM_REDUCTIONS: int = lib.MAX_REDUCTIONS

#: The most strides of a program: of all its inputs and outputs, along all dimensions and one more.
MAX_PROGRAM_STRIDES: int = lib.MAX_STRIDES

#: The most columns of a product that `multiply_skinny` computes.
FEW_COLUMNS: int = lib.FEW_COLUMNS

#: The elements that maths functions take at a time.
BLOCK: int = lib.BLOCK

#: The elements, consecutive in row-major order, that a complete reduction takes at once, and their accumulators.
LEAF: int = lib.LEAF
LANES: int = lib.LANES

_KINDS = {"random": lib.RANDOM, "uniform": lib.UNIFORM, "standard_normal": lib.NORMAL_KIND,
          "integers": lib.INTEGERS_KIND}

#: What is allocated for C is not known to Python.
own_sizes[type(ffi.new("int *"))] = lambda owned: 96 + len(ffi.buffer(owned))

_run_program = lib.pg_run_program
set_threads = lib.pg_set_threads
get_threads = lib.pg_get_threads

#: How many programs, chains and ends of reductions are complete.
n_completed = lib.pg_n_completed


def _text(chars: Any) -> str:
    return str(ffi.string(chars).decode())


def _table(row: Callable[[int], Any]) -> dict[tuple[str, str], int]:
    """Index a table of C rows, each named like ``add dd->d``, by name and types."""
    rows = takewhile(bool, map(row, count()))
    return {(name, types): number for number, row in enumerate(rows) for name, types in [_text(row.name).split()]}


ELEMENTWISE = _table(lib.pg_elementwise_row)
REDUCTIONS = _table(lib.pg_reduce_row)


def lookup(name: str, types: str) -> int | None:
    """Return the row of an elementwise kernel, e.g. ``("add", "dd->d")``, or None."""
    return ELEMENTWISE.get((name, types))


def reduce_lookup(name: str, types: str) -> int | None:
    """Return the row of a reduction, e.g. ``("add", "d->d")``, or None."""
    return REDUCTIONS.get((name, types))


def function(name: str, types: str) -> str:
    """Return the C function of one element that generated code calls, e.g. of ``("add", "dd->d")``."""
    return _text(lib.pg_elementwise_row(_kernel(name, types)).function)


def is_maths(name: str, types: str) -> bool:
    """Whether an elementwise kernel is a maths function, which costs as much as many additions."""
    return bool(lib.pg_elementwise_row(_kernel(name, types)).cost == lib.MATHS)


def reduce_functions(name: str, types: str) -> tuple[str, str]:
    """Return the C functions of a reduction: the step to an accumulator, and what joins these at the end."""
    row = lib.pg_reduce_row(_reduction(name, types))
    return _text(row.step), _text(row.join)


def narrow_lane(name: str, types: str) -> str:
    """Return the narrowest type that the accumulators of a leaf may have, where that is not the result's; else ""."""
    return _text(lib.pg_reduce_row(_reduction(name, types)).lane)


def _kernel(name: str, types: str) -> int:
    row = lookup(name, types)
    if row is None:
        raise TypeError(f"no kernel {name} {types}")
    return row


def _reduction(name: str, types: str) -> int:
    row = reduce_lookup(name, types)
    if row is None:
        raise TypeError(f"no reduction {name} {types}")
    return row


def address(array: np.ndarray) -> int:
    """Return the address of the array's first element."""
    return int(lib.pg_address(id(array)))


def by_itself(function: Callable[..., Any], *arguments: Any) -> Any:
    """Call a function, in which kernels are run by this thread: of few elements, where others would have to wake up."""
    try:
        lib.pg_work_by_itself(1)
        return function(*arguments)
    finally:
        lib.pg_work_by_itself(0)


def store_int64(address: int, value: int) -> None:
    """Store a number anywhere in memory."""
    ffi.memmove(ffi.cast("char *", address), value.to_bytes(8, "little", signed=True), 8)


def load_int64(address: int) -> int:
    """What `store_int64` stored."""
    return int.from_bytes(ffi.buffer(ffi.cast("char *", address), 8), "little", signed=True)


def _int64s(values: Sequence[int]) -> object:
    return ffi.new("int64_t[]", list(values))


def most_operands(ndim: int) -> int:
    """The most inputs and outputs of a program in so many dimensions: their strides are kept on the stack."""
    return min(MAX_PROGRAM_OPERANDS, MAX_PROGRAM_STRIDES // (ndim + 1) - 1)  # one is the context


def _check_ndim(ndim: int) -> None:
    """Raise ValueError for more dimensions than the C arrays have room for."""
    if ndim > MAX_NDIM:
        raise ValueError(f"{ndim} dimensions are more than the {MAX_NDIM} that a kernel takes: join some of them")


class ElementwiseCall:
    """An elementwise kernel and the geometry it runs on: inputs first, the output last."""

    __slots__ = ("_arguments",)

    def __init__(
        self, row: int, shape: Sequence[int], strides_per_operand: Sequence[Sequence[int]]
    ) -> None:
        _check_ndim(len(shape))
        strides = [stride for strides in strides_per_operand for stride in strides]
        self._arguments = row, len(shape), _int64s(shape), _int64s(strides)

    def call(self, *addresses: int) -> None:
        """Run on operands at these addresses."""
        row, ndim, shape, strides = self._arguments
        lib.pg_elementwise(row, ndim, shape, addresses, strides)


def run_elementwise(
    row: int, shape: Sequence[int], addresses: Sequence[int], strides: Sequence[int]
) -> None:
    """Run an elementwise kernel once: the addresses, and one operand's strides after the other's, output last."""
    lib.pg_run_elementwise(row, len(shape), shape, addresses, strides)


ADDRESSES = [int(ffi.cast("uintptr_t", ffi.addressof(lib, name)))
             for name in ("pg_run_elementwise", "pg_reduce", "pg_work_by_itself")]
"""Where the functions are that other C code calls: of `run_elementwise`, of reductions, and what keeps threads out."""


class ReduceCall:
    """A reduction and its geometry; a call overwrites the output."""

    __slots__ = ("_arguments",)

    def __init__(
        self,
        row: int,
        kept_shape: Sequence[int],
        in_kept_strides: Sequence[int],
        out_strides: Sequence[int],
        reduced_shape: Sequence[int],
        in_reduced_strides: Sequence[int],
    ) -> None:
        _check_ndim(len(kept_shape) + len(reduced_shape))
        self._arguments = (
            row,
            len(kept_shape), _int64s(kept_shape), _int64s(in_kept_strides), _int64s(out_strides),
            len(reduced_shape), _int64s(reduced_shape), _int64s(in_reduced_strides),
        )  # fmt: skip

    def call(self, in_address: int, out_address: int) -> None:
        """Reduce the input into the output."""
        if lib.pg_reduce(*self._arguments, in_address, out_address):
            raise MemoryError("no memory for the partial results of a reduction")


def scan(row: int, array: np.ndarray, before: np.ndarray | None, out: np.ndarray) -> None:
    """Scan an array along its first dimension, each row from what comes before it on, if that is given."""
    _check_ndim(array.ndim)
    strides = (0,) * (array.ndim - 1) if before is None else before.strides
    start = 0 if before is None else address(before)
    if lib.pg_scan(row, array.shape[0], array.strides[0], out.strides[0], array.ndim - 1, array.shape[1:],
                   array.strides[1:], strides, out.strides[1:], address(array), start, address(out)):
        raise MemoryError("no memory for the totals of a scan")


def _encode(
    program: Program, shape: Sequence[int], strides_per_operand: Sequence[Sequence[int]]
) -> tuple[object, object]:
    """Return a program and its geometry as C wants them, and the arrays to keep alive meanwhile."""
    n_operands, n_steps = len(program.operands), len(program.steps)
    _check_ndim(len(shape))
    if not program.n_outputs:
        raise ValueError(f"a program of {n_steps} steps without outputs computes nothing: leave it away")
    if program.n_reduced > MAX_PROGRAM_REDUCTIONS:
        raise ValueError(
            f"a program of {program.n_reduced} reductions exceeds {MAX_PROGRAM_REDUCTIONS}: split it"
        )
    if n_operands > most_operands(len(shape)) or max(n_steps, len(program.registers)) > MAX_PROGRAM_STEPS:
        raise ValueError(
            f"a program of {n_operands} operands, {n_steps} steps and {len(program.registers)} "
            f"registers in {len(shape)} dimensions exceeds {most_operands(len(shape))} operands or "
            f"{MAX_PROGRAM_STEPS} steps: split it"
        )
    if len(strides_per_operand) != n_operands - program.n_reduced:
        raise ValueError(
            f"strides of {len(strides_per_operand)} operands for a program that has "
            f"{n_operands - program.n_reduced} in memory"
        )
    steps: list[int] = []
    for step in program.steps:
        steps += [_kernel(step.name, step.types), *step.inputs, step.output, 0, 0, 0][:5]
    geometry = (
        _int64s(shape), _int64s([stride for strides in strides_per_operand for stride in strides])
    )  # fmt: skip
    memory = ffi.new("char[]", lib.pg_program_size(n_steps, len(program.registers)))
    encoded = ffi.cast("pg_program *", memory)
    lib.pg_program_init(
        encoded, program.n_inputs, program.n_outputs, program.n_reduced,
        len(program.registers), [np.dtype(char).itemsize for char in program.registers],
        n_steps, steps, len(shape), *geometry,
    )  # fmt: skip
    return encoded, (*geometry, memory)


class ProgramCall:
    """A program and the geometry it runs on: the byte strides of its operands in their order.

    A call takes the operands' addresses in this order. It runs the loop function at the address
    ``loop``, compiled from the program as ``void loop(int64_t n, char *const p[], const int64_t s[])``
    on a context (of stride 0) that it ignores, the inputs, and the outputs. With ``loop=None`` it
    runs the kernel of the only step, or interprets the steps on blocks that stay in the L1 cache.
    Results are the same to the bit as those of the steps' kernels one after the other.

    Raises ValueError for more operands, steps, reductions or dimensions than there may be, or without outputs, and
    TypeError for unknown kernels.
    """

    __slots__ = ("_keep", "n_rows", "program")

    def __init__(
        self, program: Program, shape: Sequence[int], strides_per_operand: Sequence[Sequence[int]]
    ) -> None:
        #: The program as C has it.
        self.program, self._keep = _encode(program, shape, strides_per_operand)
        #: The extent of the first dimension that is not of extent 1, whose parts can be run.
        self.n_rows = _n_rows(shape)

    def call(self, addresses: Sequence[int], loop: int | None = None) -> None:
        """Run on operands at these addresses."""
        _run_program(self.program, addresses, 0, self.n_rows, loop or 0)

    def call_part(
        self, addresses: Sequence[int], start: int, stop: int, loop: int | None = None
    ) -> None:
        """Run rows [start, stop) alone; the addresses are those of the whole operands."""
        _run_program(self.program, addresses, start, stop, loop or 0)


def _n_rows(shape: Sequence[int]) -> int:
    return next((n for n in shape if n != 1), 1)


class Leaves:
    """How a contiguous array of a shape is reduced over dimensions [first, stop): the leaves of trees.

    Each result is a tree over its leaves, of at most ``rows`` elements, whoever computes which of them:
    the same tree as that of `ReduceCall` on the array in memory.
    """

    __slots__ = ("_groups", "_shape", "encoded", "n_results", "rows")

    def __init__(self, shape: Sequence[int], first: int, stop: int) -> None:
        self._shape = tuple(shape)
        self._groups = range(first), range(first, stop), range(stop, len(shape))
        self.encoded = ffi.new("pg_leaves *")
        outer, reduced, width = self._sizes(shape)
        extent = next((n for n in reversed(self._shape[first:stop]) if n != 1), 1)
        lib.pg_leaves_init(self.encoded, outer, reduced, extent, width)
        self.n_results: int = self.encoded.outer * self.encoded.width
        self.rows: int = self.encoded.of.rows

    @property
    def n_leaves(self) -> int:
        """The leaves of each result."""
        return int(self.encoded.of.n_leaves)

    @property
    def slot_size(self) -> int:
        """The elements of one leaf of all results."""
        return int(min(self.rows, self.encoded.reduced) * self.encoded.width)

    @property
    def is_one_along(self) -> bool:
        """Whether there is one result, whose leaves follow each other in row-major order."""
        return self.n_results == 1 and not self.encoded.across

    @property
    def dims_to_cut(self) -> set[int]:
        """The dimensions in which the array may be cut into pieces.

        A piece is a box of outer, reduced and inner elements; only if there is a single outer one are
        the leaves at its ends kept for other pieces.
        """
        groups = self._groups if self.encoded.outer == 1 else (self._groups[0], self._groups[2])
        return {d for dims in groups for d in [d for d in dims if self._shape[d] > 1][:1]}

    def step_of_cuts(self, d: int) -> int:
        """At multiples of how many indices the array may be cut along a dimension; 0 if it may not.

        Between the leaves of a single reduced dimension no leaf belongs to several pieces.
        """
        if d in self.dims_to_cut:
            return 1
        return self.rows if self.dims == (d, d + 1) else 0

    @property
    def dims(self) -> tuple[int, int]:
        """The reduced dimensions: the first, and the one past the last."""
        return self._groups[1].start, self._groups[1].stop

    def piece(self, start: Sequence[int], shape: Sequence[int]) -> Any:
        """Return a box of the array as C wants it."""
        encoded = ffi.new("pg_piece *")
        first = [self._number(start, dims) for dims in self._groups]
        lib.pg_piece_init(encoded, self.encoded, first, self._sizes(shape))
        return encoded

    def _sizes(self, shape: Sequence[int]) -> list[int]:
        return [math.prod(shape[d] for d in dims) for dims in self._groups]

    def _number(self, index: Sequence[int], dims: range) -> int:
        number = 0
        for d in dims:
            number = number * self._shape[d] + index[d]
        return number


class ProgramReduceCall:
    """A program whose last outputs are reduced, on a piece of an array: the box that begins at ``start``.

    ``leaves`` say which dimensions of the array are reduced, and how; strides and addresses are those of
    the other operands. The piece consists of ``n_units`` units, which may be run in chunks. When all pieces are
    done, a `FinishCall` computes each result.

    The leaves of the array that lie in the piece are reduced at once. Of leaves at its ends that belong
    to several pieces, ``head_leaf`` and ``tail_leaf`` (or None), the elements are stored in slots,
    arrays of ``leaves.slot_size`` items of the reduced output's type.
    """

    __slots__ = ("_keep", "head_leaf", "n_rows", "n_units", "program", "reduction", "size", "tail_leaf")

    def __init__(
        self,
        program: Program,
        shape: Sequence[int],
        strides_per_operand: Sequence[Sequence[int]],
        leaves: Leaves,
        start: Sequence[int],
    ) -> None:
        rows = ffi.new("int[]", [_reduction(*reduction) for reduction in program.reductions])
        piece = leaves.piece(start, shape)
        #: The program, and how it is reduced, as C has them.
        self.program, self._keep = _encode(program, shape, strides_per_operand)
        self.reduction = rows, piece, *leaves.dims
        self.n_rows = _n_rows(shape)
        self.size = math.prod(shape)
        self.n_units: int = piece.n_units
        self.head_leaf, self.tail_leaf = (
            None if leaf < 0 else leaf for leaf in (piece.head, piece.tail)
        )

    def call_part(
        self, addresses: Sequence[int], begin: int, end: int, loop: int | None = None
    ) -> None:
        """Run units [begin, end) of the piece.

        The addresses are those of the operands in memory, and then of three things in turn, each for
        all reduced outputs: the array of one item (of the reduction's type) for each leaf of each
        result, the slot of ``head_leaf``, and that of ``tail_leaf``; anything where there is none.
        """
        lib.pg_reduce_program(self.program, *self.reduction, addresses, begin, end, loop or 0)


class ChainCall:
    """Programs one after the other, as a chain: side by side, in bands of rows that stay in the cache.

    Row i of stage k, in the first dimension of its shape that is not of extent 1, belongs to front
    ``i + lag``: it may only have to come after rows of earlier stages that belong to this front or to
    earlier ones. Of the fronts from any number on, those behind the first ``peel`` do not have to come after
    earlier fronts of earlier stages, nor after what these stages peel. Only the last stage may reduce, to one
    result, of leaves in row-major order.
    """

    __slots__ = ("_band", "_calls", "_stages", "n_fronts")

    def __init__(
        self, calls: Sequence[ProgramCall | ProgramReduceCall], places: Sequence[tuple[int, int]],
        n_addresses: Sequence[int], band: int
    ) -> None:  # fmt: skip
        """``band`` is the rows of a band; a stage has a lag and a peel, and takes ``n_addresses`` addresses."""
        self._calls = tuple(calls)  # which keep what the stages refer to
        self._band = band
        self._stages = ffi.new("pg_stage[]", len(calls))
        first = 0
        for stage, call, (lag, peel), n in zip(self._stages, calls, places, n_addresses, strict=True):
            stage.program = call.program
            if isinstance(call, ProgramReduceCall):
                stage.reductions, stage.piece, stage.first_dim, stage.end_dim = call.reduction
            stage.n_rows, stage.lag, stage.peel, stage.address = call.n_rows, lag, peel, first
            first += n
        #: The fronts, in the order of which all is computed.
        self.n_fronts: int = max(call.n_rows + lag for call, (lag, _) in zip(calls, places, strict=True))

    def call(
        self, addresses: Sequence[int], loops: Sequence[int | None], begin: int = 0, end: int | None = None
    ) -> None:
        """Run fronts [begin, end), with the addresses of all stages and the loop of each."""
        lib.pg_run_chain(
            len(self._calls), self._stages, addresses, [loop or 0 for loop in loops], self._band, begin,
            self.n_fronts if end is None else end,
        )  # fmt: skip


class FinishCall:
    """What is left of a reduction when all its pieces are done: the trees over the leaves' results.

    ``slot_leaves`` are the leaves whose elements are in slots. The results are those of `ReduceCall` on
    the contiguous array, to the bit, in row-major order.
    """

    __slots__ = ("_row", "_slot_leaves", "_tree")

    def __init__(self, name: str, types: str, tree: Leaves, slot_leaves: Sequence[int]) -> None:
        self._row, self._tree, self._slot_leaves = _reduction(name, types), tree.encoded, _int64s(slot_leaves)

    def call(self, leaves: int, slots: Sequence[int], out: int) -> None:
        """Store the results at ``out``, which may be ``leaves`` if each is that of a leaf; overwrites these."""
        lib.pg_finish_leaves(self._row, self._tree, leaves, len(slots), self._slot_leaves, slots, out)


class _Ranges:
    """The ranges of a section as C wants them, keeping the arrays alive."""

    __slots__ = ("_arrays", "arguments")

    def __init__(self, ranges: Sequence[np.ndarray]) -> None:
        _check_ndim(len(ranges))
        self._arrays = [np.ascontiguousarray(r, np.int64).reshape(-1, lib.COLUMNS) for r in ranges]
        self.arguments = (
            len(ranges),
            _int64s([len(r) for r in self._arrays]),
            ffi.new("int64_t *[]", [ffi.cast("int64_t *", address(r)) for r in self._arrays]),
        )


class SectionCopy:
    """A copy of a section, of items of any size, between two sides."""

    __slots__ = ("_dst", "_itemsize", "_keep", "_ranges", "_src")

    def __init__(
        self,
        itemsize: int,
        ranges: Sequence[np.ndarray],
        dst_strides: Sequence[int],
        dst_side: int,
        src_strides: Sequence[int],
        src_side: int,
    ) -> None:
        self._keep = _Ranges(ranges)
        self._itemsize = itemsize
        self._ranges = self._keep.arguments
        self._dst = _int64s(dst_strides), dst_side
        self._src = _int64s(src_strides), src_side

    def call(self, dst_address: int, src_address: int) -> None:
        """Copy between sides at these addresses."""
        lib.pg_copy_section(
            self._itemsize, *self._ranges, dst_address, *self._dst, src_address, *self._src
        )


class BytesCopy:
    """A copy of so many bytes."""

    __slots__ = ("_n",)

    def __init__(self, n: int) -> None:
        self._n = n

    def call(self, dst_address: int, src_address: int) -> None:
        """Copy between these addresses."""
        ffi.memmove(ffi.cast("char *", dst_address), ffi.cast("char *", src_address), self._n)


def fill_random(
    kind: str,
    char: str,
    dst_address: int,
    dst_strides: Sequence[int],
    dst_side: int,
    index_strides: Sequence[int],
    index_side: int,
    ranges: Sequence[np.ndarray],
    *,
    key: int,
    call: int = 0,
    low: float = 0,
    high: float = 1,
) -> None:
    """Fill a section with random numbers, each a function of (key, call, its flat index) alone.

    ``kind`` is ``random`` (in [0, 1)), ``uniform`` (in [low, high)), ``standard_normal`` (of type
    'f' or 'd' all three) or ``integers`` (in [low, high), of type 'l', 'i', 'B' or '?').
    ``index_strides`` are in elements. The number of the call counts modulo 2**48.
    """
    integers = kind == "integers"
    a, b = (0.0, 1.0) if integers else (float(low), float(high))
    first, span = (int(low), int(high) - int(low)) if integers else (0, 1)
    if not 0 < span <= 2**64:
        raise ValueError(f"no integers in [{low}, {high})")
    keep = _Ranges(ranges)
    if lib.pg_random(
        _KINDS[kind], char.encode(), key % 2**64, call % 2**64, a, b, first, span % 2**64,
        *keep.arguments, dst_address, _int64s(dst_strides), dst_side,
        _int64s(index_strides), index_side,
    ):  # fmt: skip
        raise TypeError(f"no {kind} numbers of type {char!r}")


def random_bits(key: int, call: int, attempt: int, indices: np.ndarray) -> np.ndarray:
    """Return two rows of uint64, 64 random bits each: functions of (key, call, attempt, index) alone.

    The attempts count modulo 2**16; the first are the bits that `fill_random` takes.
    """
    found = np.empty((2, indices.size), np.uint64)
    lib.pg_random_bits(key % 2**64, call % 2**64, attempt % 2**16, indices.size, address(indices), address(found))
    return found


def has_progression(dtype: np.dtype[Any]) -> bool:
    """Whether there are progressions of a dtype."""
    return bool(lib.pg_has_progression(dtype.char.encode()))


def progression(terms: np.ndarray, starts: np.ndarray, lengths: np.ndarray, out: np.ndarray) -> None:
    """Store `first + i*step`, computed in the dtype of these two terms and of `out`, for the indices i of segments.

    The segments, int64, are as long together as `out`; all arrays are contiguous and have one dimension.
    """
    lib.pg_progression(out.dtype.char.encode(), out.itemsize, starts.size, address(starts), address(lengths), out.size,
                       address(terms), address(out))


def histogram(x: np.ndarray, weights: np.ndarray | None, found: np.ndarray, edges: np.ndarray | None = None,
              is_uniform: bool = False) -> int:
    """Find how many elements are in each bin, or with weights, float64 as the edges are, the sums of these.

    The elements are int64, which are the bins themselves, or float64 where there are edges; `is_uniform` says that
    these are equally far apart. All arrays are contiguous. Returns how many bins the integers need, as those beyond
    `found` are not counted; or the largest int64, if any of them is negative.
    """
    addresses = [0 if array is None else address(array) for array in (weights, edges)]
    elements = (address(x), 0) if edges is None else (0, address(x))
    needed = lib.pg_histogram(x.size, *elements, addresses[0], found.size, is_uniform, addresses[1], address(found))
    if needed < 0:
        raise MemoryError(f"no memory to count in {found.size} bins")
    return int(needed)


def compact(mask: np.ndarray, values: np.ndarray | None, first: int, out: np.ndarray) -> None:
    """Put the elements that a mask is true for into `out`, of as many; without values their numbers, from `first` on.

    All arrays are contiguous and have one dimension, and `out` has the dtype of the values, or int64.
    """
    values_address = 0 if values is None else address(values)
    if lib.pg_compact(mask.size, out.itemsize, address(mask), values_address, first, address(out)):
        raise MemoryError(f"no memory to count in {mask.size} elements")


def expand(mask: np.ndarray, values: np.ndarray, out: np.ndarray) -> None:
    """Put values, one after the other, where a mask is true in `out`; all are contiguous, of one dimension."""
    if lib.pg_expand(mask.size, out.itemsize, address(mask), address(values), address(out)):
        raise MemoryError(f"no memory to count in {mask.size} elements")


def take_along(source: np.ndarray, indices: np.ndarray, axis: int, out: np.ndarray) -> None:
    """Store `np.take(source, indices, axis)`, of elements of 1, 2, 4, 8 or 16 bytes; no index is negative."""
    _check_ndim(out.ndim)
    offsets = np.asarray(indices * source.strides[axis])
    before, behind = source.strides[:axis], source.strides[axis + 1:]
    strides = (*[0] * axis, *offsets.strides, *[0] * len(behind), *before, *[0] * offsets.ndim, *behind, *out.strides)
    if lib.pg_take_along(out.itemsize, out.ndim, out.shape, [*map(address, (offsets, source, out))], strides):
        raise TypeError(f"no elements of {out.itemsize} bytes are taken")


def find_positions(name: str, rows: np.ndarray, out: np.ndarray) -> bool:
    """Store `np.argmin` or `np.argmax` of the last dimension; whether it is, as it is of numbers that have kernels."""
    _check_ndim(rows.ndim)
    return lib.pg_find_positions(rows.dtype.char.encode(), name == "argmax", rows.shape[-1], rows.strides[-1], out.ndim,
                                 out.shape, [*rows.strides[:-1], *out.strides], address(rows), address(out)) == 0


def philox(counter: Sequence[int], key: Sequence[int]) -> list[int]:
    """Return one block of Philox4x32-10: four words, of a counter of four and a key of two."""
    block = ffi.new("uint32_t[4]")
    lib.pg_philox(counter, key, block)
    return list(block)


def find_beyond(indices: np.ndarray, total: int) -> int | None:
    """Return the position of the first of some int64 that is not within [-total, total), or None."""
    found = lib.pg_find_beyond(indices.size, address(indices), total)
    return None if found < 0 else int(found)


class ItemPlaces:
    """Where the items of a section lie: on which process, and at which offset in the memory of this one.

    ``dims`` are those of ``pg_place``, with offsets in bytes. Indices are int64, also negative ones; or uint32.
    """

    __slots__ = ("_arguments", "_first_offset", "_first_rank", "_total")

    def __init__(self, dims: Sequence[Sequence[int]], first_rank: int, first_offset: int) -> None:
        self._arguments = len(dims), ffi.new("pg_place[]", [tuple(dim) for dim in dims])
        self._first_rank, self._first_offset = first_rank, first_offset
        self._total = math.prod(dim[0] for dim in dims)

    def bucket(
        self, indices: np.ndarray, counts: np.ndarray, positions: np.ndarray, wanted: np.ndarray
    ) -> None:
        """Sort indices by their owners, stably: the count of each, the positions (uint32), and the indices."""
        if lib.pg_bucket(*self._arguments, self._first_rank, indices.size, address(indices), self._total,
                         counts.size, ffi.cast("int64_t *", address(counts)), address(positions),
                         address(wanted), wanted.itemsize):
            raise MemoryError("no memory for the owners of indices")

    def is_sorted(self, indices: np.ndarray, positions: np.ndarray, wanted: np.ndarray) -> bool:
        """Whether indices are those that `bucket` has found these positions of, in this order."""
        return indices.size == wanted.size and bool(lib.pg_is_sorted(
            indices.size, address(indices), self._total, address(positions), address(wanted), wanted.itemsize))

    def take_checked(self, indices: np.ndarray, itemsize: int, memory: int, packed: int) -> int | None:
        """Copy the items from memory, one after the other; the position of the first int64 that is beyond, or None."""
        found = lib.pg_take_checked(*self._arguments, self._first_offset, indices.size, address(indices), self._total,
                                    itemsize, memory, packed)
        return None if found < 0 else int(found)

    def take(
        self, indices: np.ndarray, itemsize: int, memory: int, packed: int, positions: int = 0
    ) -> None:
        """Copy the items from memory: one after the other, or to these positions."""
        lib.pg_take(*self._arguments, self._first_offset, indices.size, address(indices), indices.itemsize,
                    self._total, itemsize, memory, packed, positions)

    def put(
        self, indices: np.ndarray, itemsize: int, memory: int, packed: int, packed_step: int, positions: int = 0
    ) -> None:
        """Copy packed items to memory: of several for one, the last. A step of 0 repeats an item.

        These are at some positions (uint32), or one after the other where that is 0.
        """
        if lib.pg_put(*self._arguments, self._first_offset, indices.size, address(indices), indices.itemsize,
                      self._total, itemsize, memory, packed, packed_step, positions):
            raise MemoryError("no memory for the offsets of indices")

    def locate(self, indices: np.ndarray, itemsize: int, offsets: np.ndarray) -> None:
        """Where items lie in memory, in units of their size."""
        lib.pg_locate(*self._arguments, self._first_offset, indices.size, address(indices), indices.itemsize,
                      self._total, itemsize, address(offsets))


def pack_items(n: int, itemsize: int, packed: int, items: int, positions: int) -> None:
    """Copy the items at some positions (uint32), one after the other."""
    lib.pg_permute(n, itemsize, packed, items, positions, True)


def unpack_items(n: int, itemsize: int, packed: int, items: int, positions: int) -> None:
    """Copy items that are packed to their positions (uint32), all different."""
    lib.pg_permute(n, itemsize, items, packed, positions, False)


def merges(dtype: np.dtype[Any]) -> bool:
    """Whether sorted runs of a dtype can be merged."""
    return bool(dtype.isnative and lib.pg_merges(dtype.char.encode()))


def merge(edges: Sequence[int], columns: Sequence[np.ndarray], merged: Sequence[np.ndarray]) -> None:
    """Merge each run with the next one, stably: sorted keys, and their indices, if any, between edges from 0 on.

    All columns are contiguous; NaN and NaT come last.
    """
    addresses = [address(column) for columns_ in (columns, merged) for column in columns_]
    keys, indices, merged_keys, merged_indices = addresses if len(columns) > 1 else (addresses[0], 0, addresses[1], 0)
    lib.pg_merge(columns[0].dtype.char.encode(), len(edges) - 1, edges, keys, indices, merged_keys, merged_indices)


def sorts(dtype: np.dtype[Any]) -> bool:
    """Whether keys of a dtype can be sorted."""
    return bool(dtype.isnative and lib.pg_sorts(dtype.char.encode()))


def sort(keys: np.ndarray, first: int, sorted_keys: np.ndarray | None, indices: np.ndarray | None,
         n_threads: int) -> None:
    """Sort a vector of keys, stably: into contiguous keys, and the indices that they had, from `first` on."""
    entries = np.empty((2, keys.size, 2), np.int64)
    lib.pg_sort(keys.dtype.char.encode(), keys.size, keys.itemsize, address(keys), *keys.strides, first,
                address(entries), *[0 if to is None else address(to) for to in (sorted_keys, indices)], n_threads)


def multiply_skinny(c: np.ndarray, a: np.ndarray, columns: np.ndarray, alpha: float, beta: float) -> None:
    """`c = beta * c + alpha * (a @ columns.T)`, all of them float64, or float32; `a` has contiguous rows, and up to
    `FEW_COLUMNS` contiguous `columns` are the rows of one array.
    """
    lib.pg_multiply_skinny(a.itemsize == 8, (*a.shape, len(columns)), address(a), a.strides[0], address(columns),
                           address(c), c.strides, alpha, beta)
