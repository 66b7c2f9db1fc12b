"""The backend: where the memory comes from that nodes work on, and what copies and computes there.

All is prepared when a schedule is made. What a run does is to call it with addresses.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

from pgaspy.kernels import bindings
from pgaspy.kernels.program import Program
from pgaspy.planning.segments import Indices
from pgaspy.scheduling import memory
from pgaspy.scheduling.floating_point import is_telling

__all__ = ["Backend", "SectionCopy", "backend"]


class SectionCopy(Protocol):
    """A copy between two sections, each a product of ranges."""

    def call(self, dst_address: int, src_address: int) -> None:
        """Copy."""


class Backend(Protocol):
    """Allocates, copies, and prepares kernels; the shapes are in elements, the strides in bytes."""

    def allocate(self, nbytes: int) -> memory.Bytes:
        """At least so many bytes of uninitialised memory."""

    def copy(self, itemsize: int, ranges: Sequence[Indices], dst_strides: Sequence[int], dst_side: int,
             src_strides: Sequence[int], src_side: int) -> SectionCopy:
        """A copy of a section; each side takes its own columns of the ranges, the other's, or is packed."""

    def copy_bytes(self, n: int) -> SectionCopy:
        """A copy of so many bytes."""

    def has_kernel(self, name: str, types: str) -> bool:
        """Whether a function of these types is among the kernels."""

    def elementwise(self, name: str, types: str, shape: Sequence[int],
                    strides: Sequence[Sequence[int]]) -> bindings.ElementwiseCall | None:
        """A function of these types on whole buffers; None where it is not among the kernels."""

    def kernel(self, program: Program, shape: Sequence[int], strides: Sequence[Sequence[int]]) -> bindings.ProgramCall:
        """A program on a piece."""

    def reducing_kernel(self, program: Program, shape: Sequence[int], strides: Sequence[Sequence[int]],
                        leaves: bindings.Leaves, start: Sequence[int]) -> bindings.ProgramReduceCall:
        """A program on a piece, whose last outputs are reduced leaf by leaf."""

    def chain(self, kernels: Sequence[Any], places: Sequence[tuple[int, int]], n_operands: Sequence[int],
              n_rows_of_band: int) -> bindings.ChainCall:
        """Kernels that follow each other in bands of rows."""

    def finish(self, name: str, types: str, tree: bindings.Leaves, slot_leaves: Sequence[int]) -> bindings.FinishCall:
        """What reduces the results of all leaves."""


class Cores:
    """The cores of this process, by the C kernels."""

    allocate = staticmethod(memory.allocate)
    copy = staticmethod(bindings.SectionCopy)
    copy_bytes = staticmethod(bindings.BytesCopy)
    kernel = staticmethod(bindings.ProgramCall)
    reducing_kernel = staticmethod(bindings.ProgramReduceCall)
    chain = staticmethod(bindings.ChainCall)
    finish = staticmethod(bindings.FinishCall)

    @staticmethod
    def elementwise(name: str, types: str, shape: Sequence[int],
                    strides: Sequence[Sequence[int]]) -> bindings.ElementwiseCall | None:
        """See `Backend`."""
        row = bindings.lookup(name, types) if Cores.has_kernel(name, types) else None
        return None if row is None else bindings.ElementwiseCall(row, shape, strides)

    @staticmethod
    def has_kernel(name: str, types: str) -> bool:
        """See `Backend`."""
        if is_telling() and not (name == "copy" and types[0] == types[-1]):
            return False  # kernels do not see floating-point errors
        return bindings.lookup(name, types) is not None


backend: Backend = Cores()
