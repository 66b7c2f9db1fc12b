"""Executes elementwise operations: fetches what is remote, then runs a kernel on each piece.

Where there is a C kernel for the function and its dtypes it is called on addresses that were prepared with the plan;
any other function or dtype is called, as it is, on NumPy views of the same pieces.
"""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pgaspy import kernels, memory
from pgaspy.base import Base
from pgaspy.operations import Elementwise, Statement
from pgaspy.pieces import BUFFER, LOCAL, OperandPlan, Piece, Source, plan_pieces
from pgaspy.transport import Fetch, prepare_transfer, release, storage_bytes, view_side

__all__ = ["Computation", "prepare_computation"]

Bytes = memory.Bytes
Memory = Base | Bytes | NDArray[Any]


@functools.lru_cache(maxsize=8192)
def prepare_computation(statement: Statement, rank: int) -> Computation:
    """The prepared computation of a statement, made once and found again."""
    return Computation(statement, rank)


class Computation:
    """One process's share of a statement, with all that can be prepared."""

    def __init__(self, statement: Statement, rank: int) -> None:
        arrays = [n for n, view in enumerate(statement.operands) if view is not None]
        views = tuple(view for view in statement.operands if view is not None)
        plan = plan_pieces(statement.outputs[0], views, statement.copied, rank)
        self._remote = [
            _RemoteOperand(n, operand, _dtype(statement, n), rank)
            for n, operand in zip(arrays, plan.operands, strict=True)
            if not operand.transfer.is_local or operand.temporary is not None]
        row = None if len(statement.outputs) > 1 or statement.has_mask else _kernel_row(statement)
        make = _NumpyPiece if row is None else functools.partial(_KernelPiece, row)
        self._pieces = [make(statement, piece, arrays) for piece in plan.pieces]

    def run(self, operation: Elementwise) -> None:
        """Collective, in so far as operands are remote."""
        memories: list[Memory] = [*operation.outputs, *operation.operands]
        if not self._remote:
            for piece in self._pieces:
                piece.run(memories, ())
            return
        received: dict[int, Sequence[Bytes]] = {}
        n_outputs = len(operation.outputs)
        for remote in self._remote:
            base = operation.operands[remote.position]
            assert isinstance(base, Base)
            received[n_outputs + remote.position] = remote.fetch(base)
        for piece in self._pieces:
            piece.run(memories, received)
        for buffers in received.values():
            release(buffers)


class _RemoteOperand:
    """An operand that does not lie ready: its transfer into receive buffers, or into a temporary."""

    def __init__(self, position: int, plan: OperandPlan, dtype: np.dtype[Any], rank: int) -> None:
        self.position = position
        self._plan = plan
        self._dtype = dtype
        self._fetch = self._transfer = None
        if plan.temporary is None and not plan.transfer.broadcasts:
            self._fetch = Fetch(plan.transfer, view_side(plan.view, dtype.itemsize, rank), dtype, dtype, in_place=True)
        else:
            self._transfer = prepare_transfer(plan.target, plan.view, dtype, dtype, False, rank)

    def fetch(self, base: Base) -> Sequence[Bytes]:
        """The receive buffers in the order of the messages; or the temporary, alone."""
        if self._fetch is None:
            temporary = Base(self._plan.target.layout, self._dtype)
            assert self._transfer is not None
            self._transfer.run(temporary, base)
            return [storage_bytes(temporary)]
        return self._fetch.collect(base)


class _KernelPiece:
    """A piece, computed by a C kernel on addresses; operands of another dtype are cast first."""

    def __init__(self, row: int, statement: Statement, piece: Piece, arrays: Sequence[int]) -> None:
        self._places = _places(statement, piece, arrays)
        strides = []
        self._casts: dict[int, tuple[kernels.ElementwiseCall, int]] = {}
        n_outputs = len(statement.outputs)
        order = [*range(n_outputs, len(self._places)), *range(n_outputs)]
        for k in order:
            dtype, wanted, source = self._places[k].dtype, _loop_dtype(statement, k), self._places[k].source
            own = tuple(s * dtype.itemsize for s in source.strides) if source else (0,) * len(piece.shape)
            if dtype != wanted:
                own = self._prepare_cast(k, dtype, wanted, own, piece.shape)
            strides.append(own)
        self._order = [(k, self._places[k]) for k in order]
        self._call = kernels.ElementwiseCall(row, piece.shape, strides).call

    def _prepare_cast(self, k: int, dtype: np.dtype[Any], wanted: np.dtype[Any], strides: tuple[int, ...],
                      shape: tuple[int, ...]) -> tuple[int, ...]:
        """Cast the distinct elements of an operand into a contiguous buffer; the strides in it."""
        distinct = [1 if s == 0 else n for n, s in zip(shape, strides, strict=True)]
        buffer_strides, nbytes = [], wanted.itemsize
        for n in reversed(distinct):
            buffer_strides.append(nbytes if n > 1 else 0)
            nbytes *= n
        buffer_strides.reverse()
        row = kernels.lookup("copy", f"{dtype.char}->{wanted.char}")
        assert row is not None  # checked by _kernel_row
        self._casts[k] = kernels.ElementwiseCall(row, distinct, [strides, buffer_strides]), nbytes
        return tuple(buffer_strides)

    def run(self, memories: Sequence[Memory], received: Any) -> None:
        if self._casts:
            self._run_with_casts(memories, received)
        else:
            self._call(*[place.address(memories, received) for _, place in self._order])

    def _run_with_casts(self, memories: Sequence[Memory], received: Any) -> None:
        addresses = []
        casts = []
        for k, place in self._order:
            at = place.address(memories, received)
            if k in self._casts:
                call, nbytes = self._casts[k]
                block = memory.allocate(nbytes)
                call.call(at, kernels.address(block))
                at = kernels.address(block)
                casts.append(block)
            addresses.append(at)
        self._call(*addresses)
        while casts:
            block = casts.pop()
            memory.give_back(block, 1)


class _NumpyPiece:
    """A piece, computed by calling the function on NumPy views of it."""

    def __init__(self, statement: Statement, piece: Piece, arrays: Sequence[int]) -> None:
        self._statement = statement
        self._shape = piece.shape
        self._places = _places(statement, piece, arrays)

    def run(self, memories: Sequence[Memory], received: Any) -> None:
        statement = self._statement
        views = [place.view(memories, received, self._shape) for place in self._places]
        n_outputs = len(statement.outputs)
        outputs, inputs = views[:n_outputs], views[n_outputs:]
        if statement.function is None:
            np.copyto(outputs[0], inputs[0], casting="unsafe")
            return
        options: dict[str, Any] = {"where": inputs.pop()} if statement.has_mask else {}
        with np.errstate(all="ignore"):
            statement.function(*inputs, out=tuple(outputs), casting="unsafe", signature=statement.signature, **options)


class _Place:
    """Where an operand or output of a piece begins, as a byte offset in a memory that the call brings."""

    __slots__ = ("buffer", "dtype", "offset", "position", "source")

    def __init__(self, position: int, source: Source | None, dtype: np.dtype[Any]) -> None:
        self.position = position
        self.source = source
        self.dtype = dtype
        self.offset = source.offset * dtype.itemsize if source else 0
        # the number of the buffer among the operand's; a temporary is alone
        self.buffer = None if source is None or source.where == LOCAL else max(source.where - BUFFER, 0)

    def address(self, memories: Sequence[Memory], received: Any) -> int:
        if self.buffer is not None:
            return kernels.address(received[self.position][self.buffer]) + self.offset
        found = memories[self.position]
        return found.address + self.offset if isinstance(found, Base) else kernels.address(found)

    def view(self, memories: Sequence[Memory], received: Any, shape: tuple[int, ...]) -> NDArray[Any]:
        found: Any = memories[self.position] if self.buffer is None else received[self.position][self.buffer]
        if self.source is None:
            return found
        data = storage_bytes(found) if isinstance(found, Base) else found
        return np.ndarray(shape, self.dtype, data, self.offset,
                          tuple(s * self.dtype.itemsize for s in self.source.strides))


def _places(statement: Statement, piece: Piece, arrays: Sequence[int]) -> list[_Place]:
    """The places of the outputs, then of the operands; scalars have no source."""
    out = piece.sources[0]
    places = [_Place(n, out, dtype) for n, dtype in enumerate(statement.output_dtypes)]
    sources: dict[int, Source] = dict(zip(arrays, piece.sources[1:], strict=True))
    n_outputs = len(places)
    places += [_Place(n_outputs + n, sources.get(n), _dtype(statement, n)) for n in range(len(statement.operands))]
    return places


def _dtype(statement: Statement, n: int) -> np.dtype[Any]:
    """The dtype of operand n: its own, or for a scalar the one that the loop takes."""
    dtype = statement.dtypes[n]
    return dtype if dtype is not None else statement.loop_dtypes[n]


def _loop_dtype(statement: Statement, k: int) -> np.dtype[Any]:
    """The loop's dtype for place k (outputs first)."""
    n_outputs = len(statement.outputs)
    n_inputs = len(statement.operands)
    return statement.loop_dtypes[n_inputs + k] if k < n_outputs else statement.loop_dtypes[k - n_outputs]


def _kernel_row(statement: Statement) -> int | None:
    """The C kernel for a statement, where there is one for its function and dtypes."""
    n_inputs = len(statement.operands)
    loop = statement.loop_dtypes
    if statement.output_dtypes[0] != loop[n_inputs] or any(not d.isnative for d in loop):
        return None
    for n in range(n_inputs):
        dtype = _dtype(statement, n)
        if dtype != loop[n] and (not dtype.isnative or kernels.lookup("copy", f"{dtype.char}->{loop[n].char}") is None):
            return None
    types = "".join(d.char for d in loop[:n_inputs])
    name = "copy" if statement.function is None else getattr(statement.function, "__name__", "")
    if isinstance(statement.function, np.ufunc) and getattr(np, name, None) is not statement.function:
        return None  # another library's, of the same name
    return kernels.lookup(name, f"{types}->{loop[n_inputs].char}")


