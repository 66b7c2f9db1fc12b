"""Fusion: which elementwise operations run as one kernel, and what its program is.

Operations on the same index space join one kernel when each section that is written and every other access to its base
are identical or disjoint (Bohrium's rule); reads may be anywhere. An operation joins an earlier kernel only if it
depends on nothing that was recorded in between, wherever that has joined; and not with messages of its own, once an
operation with messages depends on the kernel, for the process at the other end may need these to get as far as to
record this one. Fusion is a choice of each process alone: messages stay those of the single operations.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable, Mapping, Sequence
from itertools import compress
from typing import Any, NamedTuple, TypeVar

import numpy as np

from pgaspy.caches import cached, lazy
from pgaspy.kernels import bindings
from pgaspy.kernels.program import Program, Step
from pgaspy.layout import BlockDim, Layout
from pgaspy.planning.box_index import BoxIndex
from pgaspy.planning.interiors import IndexBox
from pgaspy.planning.local_parts import local_part
from pgaspy.planning.pieces import OperandPlan, joint_cuts, local_view_shape, max_pieces, n_pieces, plan_operands
from pgaspy.planning.view import View
from pgaspy.scheduling.backend import backend
from pgaspy.scheduling.operations import Elementwise, NumberedOperation, Recipe

__all__ = ["FusionGroup", "Input", "Kernel", "Operand", "Output", "ReducedOutput", "Sends", "Uses",
           "grouped", "has_kernel", "operands_of"]

MAX_STEPS = bindings.MAX_PROGRAM_STEPS
MAX_OPERANDS = bindings.MAX_PROGRAM_OPERANDS
MAX_REDUCTIONS = bindings.MAX_PROGRAM_REDUCTIONS
MAX_STEPS_BACK = 16
"""How many operations and kernels an operation looks back for one to join."""


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


class Uses(NamedTuple):
    """The arrays that somebody holds besides; and per array the operations, by their keys, that read it, and what."""

    named: frozenset[int]
    readers: Mapping[int, Sequence[tuple[tuple[int, int], View]]]

    def outside(self, slot: int, view: View, first: int, keys: Container[tuple[int, int]]) -> bool:
        """Whether others than some operations, the first of them at a position, see what these write to a section."""
        return slot in self.named or any(key[0] > first and key not in keys and not view.disjoint(read)
                                         for key, read in self.readers.get(slot, ()))


class Operand(NamedTuple):
    """An operand of an elementwise operation that is an array: how it gets to where the output lies."""

    operation: NumberedOperation
    number: int
    slot: int
    view: View
    dtype: np.dtype[Any]
    plan: OperandPlan


class _Member:
    """An elementwise operation, as the members of a kernel have to look."""

    def __init__(self, operation: NumberedOperation, form: Elementwise, rank: int) -> None:
        self.operation = operation
        self.name, self.loop, self.out_dtype = form.name, form.loop, form.output_dtype
        self.out = operation.views[0]
        self.out_slot, part = operation.slots[0], operation.part
        self.space = _space(self.out, rank) if part is None else _space_of_box(part.box)
        self.arrays = operands_of(operation, rank)
        self.cuts = joint_cuts(self.out.ndim, [x.plan for x in self.arrays])
        self.max_pieces = max_pieces(self.out, rank)
        arrays, scalars = iter(self.arrays), iter(operation.values)
        self.operands: list[Operand | int] = [next(arrays) if array else next(scalars) for array in form.is_array]


def operands_of(operation: NumberedOperation, rank: int) -> list[Operand]:
    """The operands of an elementwise operation that are arrays."""
    form, (out, *views) = operation.recipe.elementwise, operation.views
    assert form is not None
    plans = plan_operands(out, tuple(views), form.copied, rank) if operation.part is None else operation.part.plans
    dtypes = compress(form.dtypes, form.is_array)
    return [Operand(operation, n, *described) for n, described in enumerate(
        zip(operation.slots[1:], views, dtypes, plans, strict=True))]


def has_kernel(form: Elementwise) -> bool:
    """Whether a C kernel can compute an operation, with casts of what it reads and writes."""
    if isinstance(form.function, np.ufunc) and getattr(np, form.name, None) is not form.function:
        return False  # another library's, of the same name
    casts = zip((*form.dtypes, form.loop[-1]), (*form.loop[:-1], form.output_dtype), strict=True)
    return _row(form.name, form.loop) and all(a == b or _row("copy", (a, b)) for a, b in casts)


def _row(name: str, dtypes: Sequence[np.dtype[Any]]) -> bool:
    return all(d.isnative for d in dtypes) and backend.has_kernel(name, types_of(dtypes))


def types_of(dtypes: Sequence[np.dtype[Any]]) -> str:
    """The types of a C kernel, such as dd->d, as its table has them."""
    *inputs, output = (d.char for d in dtypes)
    return f"{''.join(inputs)}->{output}"


class FusionGroup:
    """Operations that run as one kernel."""

    def __init__(self, space: Any, uses: Uses) -> None:
        self.space, self._uses = space, uses
        self.members: list[_Member] = []
        self.reductions: list[ReducedOutput] = []
        self.code = _Code()
        self._keys: set[tuple[int, int]] = set()
        self._seen: set[int] = set()  # of what is written: what others may read, as far as is known
        self._slots: set[int] = set()
        self._written: dict[int, BoxIndex[View]] = {}  # by slot
        self._read: dict[int, BoxIndex[tuple[View, bool]]] = {}  # each with whether it is used where it lies
        self._cuts: list[set[int]] = []  # per dimension, where operands cut the local part into pieces
        self.is_awaited = False  # by an operation outside, for whose messages another process may be waiting
        self._followers: list[_Item] = []  # those without, which depend on this kernel
        self.last = -1  # the position of the operation that joined last

    @property
    def operations(self) -> list[NumberedOperation]:
        """Its operations, in their order."""
        found = [member.operation for member in self.members] + [r.operation for r in self.reductions]
        return sorted(found, key=lambda operation: operation.position)

    def may_take(self, member: _Member) -> bool:
        """Whether an operation may join."""
        if self.is_awaited and not all(x.plan.transfer.is_local for x in member.arrays):
            return False  # the process at the other end may wait for this kernel's results before it records this one
        for reduction in self.reductions:
            result, source, *_ = reduction.operation.slots
            if result in member.operation.slots or source == member.out_slot:
                return False  # what is reduced is the array as it is when the kernel ends
        return self._is_apart_from(member) and self._has_room_for(member)

    def _is_apart_from(self, member: _Member) -> bool:
        """Whether what one writes, and another one accesses, are disjoint, or identical and on this process."""
        slot, out = member.out_slot, member.out
        for written in _overlapping(self._written, slot, out):
            if written != out:
                return False
        for view, is_local in _overlapping(self._read, slot, out):
            if view != out or not is_local:
                return False
        for operand in member.arrays:
            for written in _overlapping(self._written, operand.slot, operand.view):
                if written != operand.view or not operand.plan.is_local:
                    return False
        return True

    def is_before(self, operation: NumberedOperation) -> bool:
        """Whether an operation has to come after this kernel."""
        if self._slots.isdisjoint(operation.slots):
            return False
        n_outputs = operation.n_outputs
        return any(view.size and (_overlapping(self._written, slot, view) or (
            n < n_outputs and _overlapping(self._read, slot, view)))
            for n, (slot, view) in enumerate(zip(operation.slots, operation.views, strict=True)))

    def note_later(self, operation: NumberedOperation, own: FusionGroup | None, is_silent: bool) -> None:
        """Note an operation outside, which may depend on this kernel, and has joined another one or none.

        Parameters
        ----------
        is_silent
            Whether it certainly has no messages here.
        """
        if own not in self._followers and not self.is_before(operation) and not any(
                _depends(operation, item) for item in self._followers):
            return
        if not is_silent or (own is not None and own.is_awaited):
            self.is_awaited = True
        elif own not in self._followers:
            self._followers += [operation] if own is None else [own, *own._followers]

    def _has_room_for(self, member: _Member) -> bool:
        """Whether one kernel can compute an operation besides, even if it is the last one that joins."""
        if n_pieces([own | others for own, others in zip(member.cuts, self._cuts, strict=True)]) > member.max_pieces:
            return False
        n_operands, n_reductions = len(member.operands), len(self.reductions)
        if self.code.has_room_for(n_operands, self.code.n_values + n_reductions):
            return True
        self._forget_unseen()
        if self.code.has_room_for(n_operands, self.code.n_values_of(self._seen) + n_reductions):
            return True
        longer = self.code.copy()
        longer.add(member)
        return longer.is_short_enough(self._seen | {member.out_slot}, self.reductions)

    def _forget_unseen(self) -> None:
        """Forget of what is written all that nobody else reads any more, so that it is not stored, whatever joins."""
        first = self.members[0].operation.position
        self._seen = {slot for slot, view in self.code.written
                      if slot in self._seen and self._uses.outside(slot, view, first, self._keys)}

    def take(self, member: _Member) -> None:
        """Let an operation join."""
        self._cuts = [own | others for own, others in zip(member.cuts, self._cuts or member.cuts, strict=True)]
        self.members.append(member)
        self.last = member.operation.position
        self._keys.add(member.operation.key)
        self._seen.add(member.out_slot)
        self.code.add(member)
        self._note(member.out_slot, member.out, ((x.slot, x.view, x.plan.is_local) for x in member.arrays))

    def may_reduce(self, operation: NumberedOperation) -> ReducedOutput | None:
        """How a reduction may end this kernel, if it may: it reduces the same dimensions as others that do."""
        form = operation.recipe.reducing
        if form is None or (self.reductions and self.reductions[0].axes != form.axes):
            return None
        slot, view = operation.slots[1], operation.recipe.views[1]
        written = [member for member in self.members if member.out_slot == slot]
        if not written or any(member.out != view for member in written):
            return None
        if operation.slots[0] in self._slots:
            return None
        found = ReducedOutput(operation, *form)
        self._forget_unseen()
        return found if self.code.is_short_enough(self._seen, [*self.reductions, found]) else None

    def take_reduction(self, reduction: ReducedOutput) -> None:
        """Let a reduction end this kernel."""
        _, recipe, (result, source, *_), *_ = reduction.operation
        self.reductions.append(reduction)
        self.last = reduction.operation.position
        self._keys.add(reduction.operation.key)
        self.is_awaited = True
        self._note(result, recipe.views[0], [(source, recipe.views[1], True)])

    def _note(self, slot: int, view: View, read: Iterable[tuple[int, View, bool]]) -> None:
        """Note what an operation writes, and what it reads."""
        self._slots.add(slot)
        self._written.setdefault(slot, BoxIndex()).add(view.hull, view)
        for other, operand, is_local in read:
            self._slots.add(other)
            self._read.setdefault(other, BoxIndex()).add(operand.hull, (operand, is_local))


class Sends:
    """Parts of operations that only send, and wait for nothing that comes between them."""

    def __init__(self) -> None:
        self.operations: list[NumberedOperation] = []

    def is_before(self, operation: NumberedOperation) -> bool:
        """Whether an operation has to come after one of them."""
        return any(_conflict(operation, own) for own in self.operations)


_Item = FusionGroup | Sends | NumberedOperation


_Noted = TypeVar("_Noted")


def _overlapping(noted: Mapping[int, BoxIndex[_Noted]], slot: int, view: View) -> list[_Noted]:
    """What is noted of sections of an array that a view may share elements with."""
    found = noted.get(slot)
    return [] if found is None else [value for _, value in found.overlapping(view.hull)]


def grouped(operations: Sequence[NumberedOperation], uses: Uses, rank: int,
            fuses: bool) -> list[_Item]:
    """Operations, those that a C kernel can compute in groups, in an order in which they may be run."""
    items: list[_Item] = []
    for operation in operations:
        if operation.only_sends:
            sends = _sends_to_join(items, operation)
            _note_later(items, operation, None, False)
            if sends is None:
                sends = Sends()
                items.append(sends)
            sends.operations.append(operation)
            continue
        if fuses and operation.recipe.reducing is not None and (ended := _end_group(items, operation)) is not None:
            _note_later(items, operation, ended, False)
            continue
        is_silent = operation.part is not None or _is_silent(operation.recipe, rank)
        member = _member(operation, rank)
        if member is None:
            _note_later(items, operation, None, is_silent)
            items.append(operation)
            continue
        group = _group_to_join(items, member) if fuses else None
        if group is None:
            group = FusionGroup(member.space, uses)
            items.append(group)
        _note_later(items, operation, group, is_silent)
        group.take(member)
    return items


def _note_later(items: Sequence[_Item], operation: NumberedOperation,
                own: FusionGroup | None, is_silent: bool) -> None:
    """Have the groups that an operation has not joined note that it may depend on them."""
    for item in items[-MAX_STEPS_BACK:]:
        if isinstance(item, FusionGroup) and item is not own and not item.is_awaited:
            item.note_later(operation, own, is_silent)


@cached
def _is_silent(recipe: Recipe, rank: int) -> bool:
    """Whether an operation has no messages on this process."""
    return recipe.elementwise is not None and all(moved.plan.is_local for moved in recipe.moved(rank))


def _member(operation: NumberedOperation, rank: int) -> _Member | None:
    """An operation as the member of a kernel; None for any other, and where this process computes nothing."""
    form = operation.recipe.elementwise
    if form is None or not operation.is_wanted or not has_kernel(form):
        return None
    if 0 in local_view_shape(operation.recipe.views[0], rank):
        return None
    member = _Member(operation, form, rank)
    if form.receives_in_place and not all(operand.plan.is_local for operand in member.arrays):
        return None
    return member


def _sends_to_join(items: Sequence[_Item], operation: NumberedOperation) -> Sends | None:
    """Those that a part which sends can be sent with."""
    for item in reversed(items[-MAX_STEPS_BACK:]):
        if isinstance(item, Sends):
            return item
        if _depends(operation, item):
            return None
    return None


def _group_to_join(items: Sequence[_Item], member: _Member) -> FusionGroup | None:
    for back, item in enumerate(reversed(items[-MAX_STEPS_BACK:]), 1):
        if isinstance(item, FusionGroup) and item.space == member.space and item.may_take(member):
            before = items[:-back][-MAX_STEPS_BACK:]  # further back, nothing has joined since
            return None if _depends_on_later(member.operation, before, item) else item
        if _depends(member.operation, item):
            return None
    return None


def _depends_on_later(operation: NumberedOperation, before: Sequence[_Item],
                      group: FusionGroup) -> bool:
    """Whether an operation depends on kernels before a group that operations have joined after the group's first one.

    What these wait for, as the partial results of a reduction, may come from a process that waits for the group.
    """
    first = group.members[0].operation.position
    return any(isinstance(item, FusionGroup) and item.last > first and _depends(operation, item) for item in before)


def _end_group(items: Sequence[_Item], operation: NumberedOperation) -> FusionGroup | None:
    """The group that a reduction has ended, if there is one that it may."""
    for item in reversed(items[-MAX_STEPS_BACK:]):
        if isinstance(item, FusionGroup):
            reduction = item.may_reduce(operation)
            if reduction is not None:
                item.take_reduction(reduction)
                return item
        if _depends(operation, item):
            return None
    return None


def _depends(operation: NumberedOperation, item: _Item) -> bool:
    """Whether an operation has to come after an earlier item."""
    return _conflict(operation, item) if isinstance(item, NumberedOperation) else item.is_before(operation)


def _conflict(a: NumberedOperation, b: NumberedOperation) -> bool:
    """Whether two operations access a section, and one of them writes it."""
    n_a, n_b, views, others = a.n_outputs, b.n_outputs, a.views, b.views
    for n, slot in enumerate(a.slots):
        for m, other in enumerate(b.slots):
            if slot == other and (n < n_a or m < n_b) and not views[n].disjoint(others[m]):
                return True
    return False


def _space(view: View, rank: int) -> tuple[Any, ...]:
    """The indices of a local part of a view: the same for views of which this process has the same ones."""
    part = local_part(view, rank)
    if part is not None:
        return (*part.first, *part.shape)
    layout = view.own_layout
    assert layout is not None
    return _space_of_layout(layout, rank)


def _space_of_box(box: IndexBox) -> tuple[Any, ...]:
    """The same of a box of indices."""
    return (*(start for start, _ in box), *(stop - start for start, stop in box))


@cached
def _space_of_layout(layout: Layout, rank: int) -> tuple[Any, ...]:
    """The same of the layout of a view whose local part is no interval of each dimension."""
    coords = layout.coords_from_rank(rank)
    space: list[Any] = []
    for d, dim in enumerate(layout.dims):
        coord = layout.dim_coord(d, coords)
        if dim.n_procs == 1:
            space.append((0, dim.extent))
        elif isinstance(dim, BlockDim):
            first, stop = (min(max(dim.part_edge(part), 0), dim.extent) for part in (coord, coord + 1))
            space.append((first, stop))
        else:
            space.append((dim, coord))
    return tuple(space)


class _Code:
    """What the members of a kernel compute, one step after the other: inputs and results of steps are values.

    Attributes
    ----------
    inputs
        What is read.
    """

    def __init__(self) -> None:
        self.inputs: list[Input] = []
        self._values: dict[tuple[int, View], int] = {}  # of what is written, in the order of the steps
        self._known: dict[Any, int] = {}
        self._dtypes: list[str] = []
        self._steps: list[Step] = []

    def copy(self) -> _Code:
        """The same, to add to."""
        other = _Code()
        other.inputs, other._values, other._known = [*self.inputs], {**self._values}, {**self._known}
        other._dtypes, other._steps = [*self._dtypes], [*self._steps]
        return other

    @property
    def outputs(self) -> list[Output]:
        """What is written."""
        return [Output(slot, view, np.dtype(self._dtypes[value])) for (slot, view), value in self._values.items()]

    @property
    def written(self) -> Iterable[tuple[int, View]]:
        """What is written: of which arrays, and which sections."""
        return self._values

    @property
    def n_values(self) -> int:
        """How many sections are written."""
        return len(self._values)

    def n_values_of(self, slots: Container[int]) -> int:
        """How many of them are of some arrays."""
        return sum(slot in slots for slot, _ in self._values)

    def has_room_for(self, n_operands: int, n_outputs: int) -> bool:
        """Whether a kernel with so many outputs certainly can compute an operation on so many operands besides."""
        n_outputs += 1  # each may take a step that copies it
        return (len(self.inputs) + n_operands + n_outputs <= MAX_OPERANDS
                and len(self._steps) + n_operands + 2 + n_outputs <= MAX_STEPS)

    def is_short_enough(self, stored: Container[int], reductions: Sequence[ReducedOutput]) -> bool:
        """Whether one kernel can compute this, with these reductions, if what is written to some arrays is stored.

        What is not stored after all is an operand less, and at most a register more, of which there are no more than
        steps.
        """
        outputs = [output for output in self.outputs if output.slot in stored]
        if len(reductions) > MAX_REDUCTIONS or len(self.inputs) + len(outputs) + len(reductions) > MAX_OPERANDS:
            return False
        return len(self.program(outputs, reductions).steps) <= MAX_STEPS

    def add(self, member: _Member) -> None:
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
        self._values[member.out_slot, member.out] = self._cast(value, member.out_dtype.char)

    def _value(self, member: _Member, n: int, operand: Operand | int) -> int:
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


class Kernel:
    """A group's program, and what its operands stand for: inputs, stored outputs, and reductions."""

    def __init__(self, group: FusionGroup, is_stored: Callable[[int, View], bool]) -> None:
        """`is_stored(slot, view)` says whether what the group writes there is read outside of it, or has a name."""
        self.inputs, self.reductions = group.code.inputs, group.reductions
        self.outputs = [output for output in group.code.outputs if is_stored(output.slot, output.view)]
        self._code = group.code

    @property
    def is_of_use(self) -> bool:
        """Whether anybody sees what it computes."""
        return bool(self.outputs or self.reductions)

    @lazy
    def program(self) -> Program:
        """See above."""
        return self._code.program(self.outputs, self.reductions)


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
