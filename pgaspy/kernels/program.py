"""Programs: elementwise operations joined into one pass over memory, as straight-line code. Pure.

A program is run on blocks of elements. Its operands lie in memory, its registers do not: they are the temporaries
that are never stored. Values are numbered: first the operands, inputs before outputs, then the registers.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

__all__ = ["Program", "Step"]


class Step(NamedTuple):
    """One elementwise kernel, such as ("add", "dd->d"), from and to the values with these numbers.

    The output is an output operand or a register; an input is any value that is there, an output written by an
    earlier step among them.
    """

    name: str
    types: str
    inputs: tuple[int, ...]
    output: int


@dataclass(frozen=True, slots=True)
class Program:
    """Steps, in their order, on operands and registers of these dtypes (NumPy's `dtype.char`).

    The last outputs are not stored, but reduced as they come, leaf by leaf: each by the C kernel of this name and these
    types, such as ("add", "d->d"). An output that is the same section of memory as an input is no other operand's
    concern: element i depends on elements i only.
    """

    operands: str
    n_inputs: int
    registers: str
    steps: tuple[Step, ...]
    reductions: tuple[tuple[str, str], ...] = ()

    @property
    def n_outputs(self) -> int:
        """The number of outputs, with those that are reduced."""
        return len(self.operands) - self.n_inputs

    @property
    def n_reduced(self) -> int:
        """The number of outputs that are reduced."""
        return len(self.reductions)
