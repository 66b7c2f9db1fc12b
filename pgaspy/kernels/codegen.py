"""The C source of a program: one loop function for rows of elements.

A row is taken in chunks, in which every operand is an array: the row itself where it is contiguous, else a buffer that
is gathered before and scattered after (see `_omp_program.h`). A chunk goes through one loop after the other:

- Cheap steps share a loop, and leave values to later steps of it in constants. A program without maths functions is
  one such loop, and a row of it that is contiguous in all operands is one chunk.
- A maths function has a loop to itself, over full blocks of 16 elements. So every element goes through the same vector
  code as in the kernel of that one operation, wherever it lies, and gets the same bits.

What one loop leaves to another lies in arrays as long as a chunk. With several loops, the outputs do so as well until
all are done: an output may be the same section as an input that a later loop reads.

A loop is vectorised for its narrowest elements, so that one byte among doubles has it unrolled for 64 elements, where a
row may have fewer. So bools are read from arrays of integers as wide as what they are used with: what one loop leaves
to another is kept so, and inputs are copied into such arrays, a chunk at a time.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np

from pgaspy.kernels.bindings import BLOCK, LANES, function, is_maths, narrow_lane, reduce_functions
from pgaspy.kernels.program import Program

__all__ = ["HEADERS", "NAME", "has_maths", "source"]

HEADERS = Path(__file__).resolve().parent.parent
"""The folder of the headers that the source includes, which are named `_omp_*.h`."""

NAME = "pg_loop"
"""The name of the loop function."""

CHUNK = 128
"""The most elements of a chunk. A leaf consists of whole chunks, and a chunk of whole rows of accumulators."""

CHUNK_BYTES = 8192
"""The most that the arrays of a chunk take: they are to stay in the L1 cache."""

CHUNK_OF_BOOLS = 256
"""The elements of a chunk that only its bools are copied of. A leaf consists of whole chunks."""

AS_WIDE = {1: "b", 2: "h", 4: "i"}
"""Integers that are as wide as other elements, by their bytes; there are none of more than 8."""


def has_maths(program: Program) -> bool:
    """Whether any step is a maths function, which costs as much as many additions."""
    return any(is_maths(step.name, step.types) for step in program.steps)


def source(program: Program, scalars: Collection[int] = (), *, libm: bool = False) -> str:
    """The C source of the program's loop, `void pg_loop(int64_t n, char *const p[], const int64_t s[])`.

    Parameters
    ----------
    program
        Its operands are at the addresses `p`, with the strides `s` in bytes: one that the loop ignores, the inputs,
        and the outputs. Those that are reduced are stored as others are, unless their stride is
        `REDUCED`: then the results of the row's leaves are stored (see `_omp_blocks.h`).
    scalars
        The inputs that are one element each in every row. The loop need not be told, but is faster.
    libm
        Call libm's functions, on one element at a time, in place of libmvec's on vectors of them.
    """
    return "\n".join([
        *(["#include <stdint.h>", "#undef __GLIBC__        /* which has libmvec */"] if libm else []),
        '#include "_omp_program.h"',
        "",
        *(f"ARRAYS({_identifier(char)})" for char in sorted(set(program.operands))),
        "",
        *_Function(program, scalars).lines(),
        "",
    ])


class _Assignment(NamedTuple):
    """A step to a value of its own. Values are the inputs, numbered as operands, and one per step."""

    value: int
    char: str
    function: str
    inputs: tuple[int, ...]
    is_maths: bool


def _assignments(program: Program) -> tuple[list[_Assignment], dict[int, int]]:
    """The steps, and the output that each last value of one goes to."""
    value_from_number = {number: number for number in range(program.n_inputs)}
    assignments = []
    for value, step in enumerate(program.steps, len(program.operands)):
        inputs = tuple(value_from_number[number] for number in step.inputs)
        row = step.name, step.types
        assignments.append(_Assignment(value, step.types[-1], function(*row), inputs, is_maths(*row)))
        value_from_number[step.output] = value
    return assignments, {value_from_number[number]: number for number in range(program.n_inputs, len(program.operands))}


def _loops(assignments: Iterable[_Assignment]) -> list[list[_Assignment]]:
    """The steps of each loop: cheap steps, on even levels, wait for the maths functions on the odd level before."""
    level_from_value: dict[int, int] = {}
    steps_from_level: dict[int, list[_Assignment]] = {}
    for step in assignments:
        level = max(level_from_value.get(value, 0) for value in step.inputs)
        level += level % 2 != step.is_maths
        level_from_value[step.value] = level
        steps_from_level.setdefault(level, []).append(step)
    loops: list[list[_Assignment]] = []
    for level, steps in sorted(steps_from_level.items()):
        loops += [[step] for step in steps] if level % 2 else [steps]
    return loops


class _Reduction(NamedTuple):
    """The types of a reduction's result and of its accumulators, the step to one, and what joins them at the end."""

    result: str
    lane: str
    step: str
    join: str

    @classmethod
    def of(cls, row: tuple[str, str], widest: int) -> _Reduction:
        """That of a name and types, in a program of elements of so many bytes at most."""
        result = lane = row[1][-1]
        step, join = reduce_functions(*row)
        narrow = narrow_lane(*row)
        if narrow:
            lane = AS_WIDE.get(max(widest, np.dtype(narrow).itemsize), result)
        if lane != result:
            step, join = f"pg_add_{lane}{lane}_{lane}", f"pg_join_sums_{lane}"
        return cls(f"T_{_identifier(result)}", f"T_{_identifier(lane)}", step, join)


def _inputs(loop: Sequence[_Assignment]) -> set[int]:
    """The values that a loop reads and does not make."""
    return {value for step in loop for value in step.inputs} - {step.value for step in loop}


class _Function:
    """Writes the function, for some inputs that are scalars.

    In it, `v7` is an element of value 7, and `a7` the array of them that a loop leaves to others; `x0` is the array of
    input 0, `y4` that of output 4, and `b0` and `b4` are their buffers; `w0` are the bools of input 0 as integers; `r4`
    are the accumulators of output 4.
    """

    def __init__(self, program: Program, scalars: Collection[int]) -> None:
        assignments, number_from_output = _assignments(program)
        self._loops = _loops(assignments)
        self._has_maths = has_maths(program)
        # A maths function of scalars alone would be called outside its loop, once: that is not the vector code.
        to_maths = {value for step in assignments if step.is_maths for value in step.inputs}
        self._scalars = sorted(set(scalars) - to_maths)
        self._inputs = [number for number in range(program.n_inputs) if number not in self._scalars]
        self._outputs = list(range(program.n_inputs, len(program.operands)))
        reduced = zip(self._outputs[len(self._outputs) - program.n_reduced:], program.reductions, strict=True)
        chars = list(enumerate(program.operands)) + [(step.value, step.char) for step in assignments]
        widest = max(np.dtype(char).itemsize for _, char in chars)
        self._reductions = {j: _Reduction.of(row, widest) for j, row in reduced}
        self._reduced = {value: j for value, j in number_from_output.items() if j in self._reductions}
        read = {value for loop in self._loops for value in _inputs(loop)}
        self._left = sorted(read.difference(range(program.n_inputs), number_from_output))
        self._types = {value: f"T_{_identifier(char)}" for value, char in chars}
        self._wide = f"T_{AS_WIDE.get(widest, 'l')}"
        self._copied = [number for number in self._inputs if program.operands[number] == "?" and widest > 1]
        self._kept = {value: self._wide if char == "?" else self._types[value] for value, char in chars}
        self._arrays = {value: f"x{value}" for value in self._inputs} | {value: f"a{value}" for value in self._left}
        self._arrays |= {number: f"w{number}" for number in self._copied}
        self._arrays |= {value: f"y{number}" for value, number in number_from_output.items()}
        nbytes = sum(np.dtype(dict(chars)[value]).itemsize for value in (*self._inputs, *self._outputs, *self._left))
        n_chunk = min(CHUNK, CHUNK_BYTES // nbytes)
        self._n_chunk = max(n_chunk // BLOCK * BLOCK, BLOCK)
        if self._reductions:
            self._n_chunk = max(1 << n_chunk.bit_length() - 1, LANES)

    def lines(self) -> Iterator[str]:
        """The function's lines."""
        types, n = self._types, self._n_chunk
        yield f"void {NAME}(int64_t n, char *const p[], const int64_t s[])"
        yield "{"
        yield from (f"    const {types[j]} v{j} = *(const M_{types[j][2:]} *)p[{j + 1}];" for j in self._scalars)
        yield from (f"    {types[j]} b{j}[{n}];" for j in (*self._inputs, *self._outputs))
        yield from (f"    {self._kept[j]} a{j}[{n}];" for j in self._left)
        yield from (f"    {self._wide} w{j}[{max(n, CHUNK_OF_BOOLS)}];" for j in self._copied)
        if self._reductions:
            yield f"    const int reduces = s[{next(iter(self._reductions)) + 1}] == REDUCED;"
        yield from (f"    {row.lane} r{j}[LANES];" for j, row in self._reductions.items())
        longest = str(max(n, CHUNK_OF_BOOLS)) if self._copied else "reduces ? LEAF : n" if self._reductions else "n"
        yield f"    const int64_t chunk = {n if self._has_maths else f'{self._is_contiguous()} ? {longest} : {n}'};"
        yield "    for (int64_t i = 0; i < n; i += chunk) {"
        yield "        const int64_t m = MIN(n - i, chunk), full = " + ("FULL_BLOCKS(m);" if self._has_maths else "m;")
        for j in self._inputs:
            yield f"        const {types[j]} *const x{j} = INPUT({types[j][2:]}, b{j}, p[{j + 1}], s[{j + 1}]);"
        yield from (f"        SIMD_FOR(k, full) w{j}[k] = ((const T_B *)x{j})[k];" for j in self._copied)
        for j in self._outputs:
            array = f"b{j}" if self._has_maths else f"OUTPUT({types[j][2:]}, b{j}, p[{j + 1}], s[{j + 1}])"
            yield f"        {types[j]} *const y{j} = {array};"
        if self._reductions and not self._has_maths:
            yield "        if (reduces) {"
            yield from ("            " + line for line in self._loop(self._loops[0], reduces=True))
            yield "        } else {"
            yield from ("            " + line for line in self._loop(self._loops[0]))
            yield "        }"
        else:
            for loop in self._loops:
                yield from ("        " + line for line in self._loop(loop))
        for j in self._outputs:
            store = f"STORE({types[j][2:]}, y{j}, p[{j + 1}], s[{j + 1}]);"
            if j not in self._reductions:
                yield f"        {store}"
            elif self._has_maths:
                yield f"        if (reduces) FOR_LANES(block, k, m, {self._reduce(j, f'y{j}[block + k]')});"
                yield f"        else {store}"
            else:
                yield f"        if (!reduces) {store}"
        for j, row in self._reductions.items():
            yield f"        if (ENDS_LEAF(i + m)) (({row.result} *)p[{j + 1}])[i / LEAF] = {row.join}(r{j});"
        yield "    }"
        yield "}"

    def _reduce(self, j: int, element: str) -> str:
        """The step of a reduction to the accumulators."""
        row = self._reductions[j]
        return f"r{j}[k] = (i + block) % LEAF == 0 ? ({row.lane}){element} : {row.step}(r{j}[k], {element});"

    def _is_contiguous(self) -> str:
        stored = [j for j in self._outputs if j not in self._reductions]
        are = [f"s[{j + 1}] == sizeof({self._types[j]})" for j in (*self._inputs, *stored)]
        are += [f"(reduces || s[{j + 1}] == sizeof({self._types[j]}))" for j in self._reductions]
        return " && ".join(are)

    def _loop(self, loop: Sequence[_Assignment], *, reduces: bool = False) -> Iterator[str]:
        yield ("FOR_BLOCKS(block, k, full) {" if self._has_maths else "FOR_LANES(block, k, full," if reduces
               else "SIMD_FOR(k, full) {")
        index = "block + k" if self._has_maths or reduces else "k"
        for value in sorted(_inputs(loop).difference(self._scalars)):
            array = self._arrays[value]
            if self._types[value] == "T_t":
                array = f"0 != {array if array[0] in 'aw' else f'((const T_B *){array})'}"
            yield f"    const {self._types[value]} v{value} = {array}[{index}];"
        for step in loop:
            arguments = ", ".join(f"v{value}" for value in step.inputs)
            yield f"    const {self._types[step.value]} v{step.value} = {step.function}({arguments});"
        for step in loop:
            if reduces and step.value in self._reduced:
                yield "    " + self._reduce(self._reduced[step.value], f"v{step.value}")
            elif step.value in self._arrays:
                yield f"    {self._arrays[step.value]}[{index}] = v{step.value};"
        yield ");" if reduces else "}"


def _identifier(types: str) -> str:
    """The types as C names them."""
    return types.replace("?", "t")
