"""The C kernels, as Python sees them: addresses, shapes and byte strides in, nothing out.

This is the only module that knows the extension module. Geometries are prepared once and called
many times: a call costs about a microsecond beyond its C time. The GIL is released in C.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import count, takewhile

import numpy as np

try:
    from pgaspy._kernels import ffi, lib  # type: ignore[import-not-found]
except ModuleNotFoundError as error:
    raise ImportError(
        "pgaspy's kernels are not built in its source folder, which comes before an installed pgaspy "
        "when Python is started there: build them with `pip install -e .`, or start elsewhere"
    ) from error

__all__ = [
    "OTHER", "OWN", "PACKED", "ElementwiseCall", "ReduceCall", "SectionCopy", "address",
    "fill_random", "get_threads", "lookup", "philox", "reduce_lookup", "set_threads",
]

_missing = lib.pg_missing_cpu_features()
if _missing:
    raise ImportError(
        f"pgaspy's kernels were compiled for {ffi.string(_missing).decode()} instructions, which "
        "this CPU lacks; rebuild pgaspy with the environment variable PGASPY_MARCH=x86-64-v2"
    )

#: Which columns of the runs a side of a section uses: its own start and step (0, 1), the other's
#: (2, 3), or none: the elements lie one after the other in the order of the runs.
OWN, OTHER, PACKED = range(3)

_KINDS = {"random": 0, "uniform": 1, "standard_normal": 2, "integers": 3}

set_threads = lib.pg_set_threads
get_threads = lib.pg_get_threads


def _table(row_name: object) -> dict[tuple[str, str], int]:
    """Index a table of C rows, each named like ``add dd->d``, by name and types."""
    names = takewhile(bool, map(row_name, count()))  # type: ignore[call-overload]
    return {tuple(ffi.string(name).decode().split()): row for row, name in enumerate(names)}


_elementwise = _table(lib.pg_elementwise_row)
_reductions = _table(lib.pg_reduce_row)


def lookup(name: str, types: str) -> int | None:
    """Return the row of an elementwise kernel, e.g. ``("add", "dd->d")``, or None."""
    return _elementwise.get((name, types))


def reduce_lookup(name: str, types: str) -> int | None:
    """Return the row of a reduction, e.g. ``("add", "d->d")``, or None."""
    return _reductions.get((name, types))


def address(array: np.ndarray) -> int:
    """Return the address of the array's first element."""
    return int(lib.pg_address(id(array)))


def _int64s(values: Sequence[int]) -> object:
    return ffi.new("int64_t[]", list(values))


class ElementwiseCall:
    """An elementwise kernel and the geometry it runs on: inputs first, the output last."""

    __slots__ = ("_arguments",)

    def __init__(
        self, row: int, shape: Sequence[int], strides_per_operand: Sequence[Sequence[int]]
    ) -> None:
        strides = [stride for strides in strides_per_operand for stride in strides]
        self._arguments = row, len(shape), _int64s(shape), _int64s(strides)

    def call(self, *addresses: int) -> None:
        """Run on operands at these addresses."""
        row, ndim, shape, strides = self._arguments
        lib.pg_elementwise(row, ndim, shape, addresses, strides)


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
        self._arguments = (
            row,
            len(kept_shape), _int64s(kept_shape), _int64s(in_kept_strides), _int64s(out_strides),
            len(reduced_shape), _int64s(reduced_shape), _int64s(in_reduced_strides),
        )  # fmt: skip

    def call(self, in_address: int, out_address: int) -> None:
        """Reduce the input into the output."""
        if lib.pg_reduce(*self._arguments, in_address, out_address):
            raise MemoryError("no memory for the partial results of a reduction")


class _Runs:
    """The runs of a section as C wants them, keeping the arrays alive."""

    __slots__ = ("_arrays", "arguments")

    def __init__(self, runs: Sequence[np.ndarray]) -> None:
        self._arrays = [np.ascontiguousarray(r, np.int64).reshape(-1, 5) for r in runs]
        self.arguments = (
            len(runs),
            _int64s([len(r) for r in self._arrays]),
            ffi.new("int64_t *[]", [ffi.cast("int64_t *", address(r)) for r in self._arrays]),
        )


class SectionCopy:
    """A copy of a section, of items of any size, between two sides."""

    __slots__ = ("_dst", "_itemsize", "_keep", "_runs", "_src")

    def __init__(
        self,
        itemsize: int,
        runs: Sequence[np.ndarray],
        dst_strides: Sequence[int],
        dst_side: int,
        src_strides: Sequence[int],
        src_side: int,
    ) -> None:
        self._keep = _Runs(runs)
        self._itemsize = itemsize
        self._runs = self._keep.arguments
        self._dst = _int64s(dst_strides), dst_side
        self._src = _int64s(src_strides), src_side

    def call(self, dst_address: int, src_address: int) -> None:
        """Copy between sides at these addresses."""
        lib.pg_copy_section(
            self._itemsize, *self._runs, dst_address, *self._dst, src_address, *self._src
        )


def fill_random(
    kind: str,
    char: str,
    dst_address: int,
    dst_strides: Sequence[int],
    dst_side: int,
    index_strides: Sequence[int],
    index_side: int,
    runs: Sequence[np.ndarray],
    *,
    key: int,
    stream: int = 0,
    low: float = 0,
    high: float = 1,
) -> None:
    """Fill a section with random numbers, each a function of (key, stream, its flat index) alone.

    ``kind`` is ``random`` (in [0, 1)), ``uniform`` (in [low, high)), ``standard_normal`` (of type
    'f' or 'd' all three) or ``integers`` (in [low, high), of type 'l', 'i', 'B' or '?').
    ``index_strides`` are in elements. The stream counts modulo 2**48.
    """
    integers = kind == "integers"
    a, b = (0.0, 1.0) if integers else (float(low), float(high))
    first, span = (int(low), int(high) - int(low)) if integers else (0, 1)
    if not 0 < span <= 2**64:
        raise ValueError(f"no integers in [{low}, {high})")
    keep = _Runs(runs)
    if lib.pg_random(
        _KINDS[kind], char.encode(), key % 2**64, stream % 2**64, a, b, first, span % 2**64,
        *keep.arguments, dst_address, _int64s(dst_strides), dst_side,
        _int64s(index_strides), index_side,
    ):  # fmt: skip
        raise TypeError(f"no {kind} numbers of type {char!r}")


def philox(counter: Sequence[int], key: Sequence[int]) -> list[int]:
    """Return one block of Philox4x32-10: four words, of a counter of four and a key of two."""
    block = ffi.new("uint32_t[4]")
    lib.pg_philox(counter, key, block)
    return list(block)
