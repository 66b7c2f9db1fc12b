"""What the members of a kernel compute, and the program that does it."""

from __future__ import annotations

from collections.abc import Container, Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np

from pgaspy.kernels import bindings
from pgaspy.kernels.program import Program, Step
from pgaspy.planning.view import View
from pgaspy.scheduling.members import Member, Operand, types_of
from pgaspy.scheduling.operations import NumberedOperation

__all__ = ["Code", "Input", "Output", "ReducedOutput"]

MAX_STEPS = bindings.MAX_PROGRAM_STEPS
MAX_REDUCTIONS = bindings.MAX_PROGRAM_REDUCTIONS


class Input(NamedTuple):
    """What a kernel reads: an operand of an operation, or a scalar (a memory's number)."""

    slot: int
    dtype: np.dtype[Any]
    operand: Operand | None


class Output(NamedTuple):
    """What a kernel stores."""

    slot: int
    view: View
    dtype: np.dtype[Any]


class ReducedOutput(NamedTuple):
    """What a kernel reduces as it comes: the operation, the dimensions, and the C kernel that does it."""

    operation: NumberedOperation
    axes: tuple[int, ...]
    kernel: tuple[str, str]


class Code:
    """What the members of a kernel compute, one step after the other: inputs and results of steps are values.

    Attributes
    ----------
    inputs
        What is read.
    written
        What is written: per array, which sections.
    """

    def __init__(self) -> None:
        self.inputs: list[Input] = []
        self.written: dict[int, list[View]] = {}
        self._values: dict[tuple[int, View], int] = {}  # of what is written, in the order of the steps
        self._known: dict[Any, int] = {}
        self._dtypes: list[str] = []
        self._steps: list[Step] = []

    def copy(self) -> Code:
        """The same, to add to."""
        other = Code()
        other.inputs, other._values, other._known = [*self.inputs], {**self._values}, {**self._known}
        other.written = {slot: [*views] for slot, views in self.written.items()}
        other._dtypes, other._steps = [*self._dtypes], [*self._steps]
        return other

    @property
    def outputs(self) -> list[Output]:
        """What is written."""
        return [Output(slot, view, np.dtype(self._dtypes[value])) for (slot, view), value in self._values.items()]

    @property
    def n_values(self) -> int:
        """How many sections are written."""
        return len(self._values)

    def n_values_of(self, slots: Iterable[int]) -> int:
        """How many of them are of some arrays that are written."""
        return sum([len(self.written[slot]) for slot in slots])

    @property
    def _most_operands(self) -> int:
        """What a kernel in as many dimensions as the members have takes; all have the same, the first fits anyhow."""
        return bindings.most_operands(next((view.ndim for _, view in self._values), 0))

    def has_room_for(self, n_operands: int, n_outputs: int) -> bool:
        """Whether a kernel with so many outputs certainly can compute an operation on so many operands besides."""
        n_outputs += 1  # each may take a step that copies it
        return (len(self.inputs) + n_operands + n_outputs <= self._most_operands
                and len(self._steps) + n_operands + 2 + n_outputs <= MAX_STEPS)

    def is_short_enough(self, stored: Container[int], reductions: Sequence[ReducedOutput]) -> bool:
        """Whether one kernel can compute this, with these reductions, if what is written to some arrays is stored.

        What is not stored after all is an operand less, and at most a register more, of which there are no more than
        steps.
        """
        outputs = [output for output in self.outputs if output.slot in stored]
        if len(reductions) > MAX_REDUCTIONS or len(self.inputs) + len(outputs) + len(reductions) > self._most_operands:
            return False
        return len(self.program(outputs, reductions).steps) <= MAX_STEPS

    def add(self, member: Member) -> None:
        """What an operation computes, besides."""
        inputs = []
        for n, operand in enumerate(member.operands):
            value = self._value(member, n, operand)
            wanted = member.loop[n].char
            inputs.append(self._cast(value, wanted))
        loop = member.loop
        if member.name == "copy" and loop[0] == loop[-1] and ("input", inputs[0]) not in self._known:
            value = inputs[0]  # an input has to be read now: its memory may be written before the end
        else:
            value = self._step(member.name, types_of(loop), tuple(inputs), loop[-1].char)
        if (member.out_slot, member.out) not in self._values:
            self.written.setdefault(member.out_slot, []).append(member.out)
        self._values[member.out_slot, member.out] = self._cast(value, member.out_dtype.char)

    def _value(self, member: Member, n: int, operand: Operand | int) -> int:
        if not isinstance(operand, Operand):
            return self._input(("scalar", operand), Input(operand, member.loop[n], None))
        found = self._values.get((operand.slot, operand.view))
        if found is not None:
            return found
        key = ("array", operand.slot, operand.view) if operand.plan.is_local else ("operand", len(self.inputs))
        return self._input(key, Input(operand.slot, operand.dtype, operand))

    def _input(self, key: Any, new: Input) -> int:
        found = self._known.get(key)
        if found is None:
            found = self._known[key] = self._new_value(new.dtype.char)
            self.inputs.append(new)
            self._known["input", found] = len(self.inputs) - 1
        return found

    def _cast(self, value: int, wanted: str) -> int:
        own = self._dtypes[value]
        if own == wanted:
            return value
        key = ("cast", value, wanted)
        if key not in self._known:
            self._known[key] = self._step("copy", f"{own}->{wanted}", (value,), wanted)
        return self._known[key]

    def _step(self, name: str, types: str, inputs: tuple[int, ...], char: str) -> int:
        output = self._new_value(char)
        self._steps.append(Step(name, types, inputs, output))
        return output

    def _new_value(self, char: str) -> int:
        self._dtypes.append(char)
        return len(self._dtypes) - 1

    def program(self, outputs: Sequence[Output], reductions: Sequence[ReducedOutput]) -> Program:
        """The program that stores these outputs: values numbered as a `Program` has them, and registers used again."""
        number: dict[int, int] = {}
        for value, n in [(key[1], n) for key, n in self._known.items() if key[0] == "input"]:
            number[value] = n
        n_inputs = len(self.inputs)
        wanted = [self._values[o.slot, o.view] for o in outputs]
        wanted += [self._values[r.operation.slots[1], r.operation.recipe.views[1]] for r in reductions]
        chars = "".join(self._dtypes[v] for v in wanted)
        copies: list[Step] = []
        made = {step.output: k for k, step in enumerate(self._steps)}
        last_read: dict[int | None, int] = {value: k for k, step in enumerate(self._steps) for value in step.inputs}
        for n, value in enumerate(wanted):
            before = self._known.get(("array", outputs[n].slot, outputs[n].view)) if n < len(outputs) else None
            if value in made and value not in number and last_read.get(before, -1) <= made[value]:
                number[value] = n_inputs + n
            else:  # an input, a value that is stored twice, or one whose array is still read
                char = self._dtypes[value]
                copies.append(Step("copy", f"{char}->{char}", (value,), -1 - (n_inputs + n)))
        steps = [*self._steps, *copies]
        operands = "".join(i.dtype.char for i in self.inputs) + chars
        return _allocated(steps, number, operands, n_inputs, self._dtypes, tuple(r.kernel for r in reductions))


def _allocated(steps: Sequence[Step], number: dict[int, int], operands: str, n_inputs: int, dtypes: Sequence[str],
               reductions: tuple[tuple[str, str], ...]) -> Program:
    """Give every other value a register, which another one of its dtype takes over after its last use."""
    last_use = {value: k for k, step in enumerate(steps) for value in step.inputs}
    free: dict[str, list[int]] = {}
    registers: list[str] = []
    final = []
    for k, step in enumerate(steps):
        inputs = tuple(number[value] for value in step.inputs)
        for value in dict.fromkeys(step.inputs):
            if last_use[value] == k and number[value] >= len(operands):
                free.setdefault(dtypes[value], []).append(number[value])
        if step.output < 0:
            output = -1 - step.output
        else:
            if step.output not in number:
                spare = free.get(dtypes[step.output])
                if spare:
                    number[step.output] = spare.pop()
                else:
                    number[step.output] = len(operands) + len(registers)
                    registers.append(dtypes[step.output])
            output = number[step.output]
        final.append(Step(step.name, step.types, inputs, output))
    return Program(operands, n_inputs, "".join(registers), tuple(final), reductions)
