"""Fusion: which elementwise operations run as one kernel.

Operations on the same index space join one kernel when each section that is written and every other access to its base
are identical or disjoint (Bohrium's rule); reads may be anywhere. An operation joins an earlier kernel only if it
depends on nothing that was recorded in between, wherever that has joined; and not with messages of its own, once an
operation with messages depends on the kernel, for the process at the other end may need these to get as far as to
record this one. Fusion is a choice of each process alone: messages stay those of the single operations.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import Any, NamedTuple, TypeVar

from pgaspy.caches import cached, lazy
from pgaspy.kernels.program import Program
from pgaspy.planning.box_index import BoxIndex
from pgaspy.planning.pieces import local_view_shape, n_pieces
from pgaspy.planning.view import View
from pgaspy.scheduling.fused_code import Code, ReducedOutput
from pgaspy.scheduling.members import Member, has_kernel
from pgaspy.scheduling.operations import NumberedOperation, Recipe

__all__ = ["FusionGroup", "Item", "Kernel", "Sends", "Uses", "grouped"]

MAX_STEPS_BACK = 16
"""How many operations and kernels an operation looks back for one to join."""


class Uses(NamedTuple):
    """The arrays that somebody holds besides; and per array the operations, by their keys, that read it, and what."""

    named: frozenset[int]
    readers: Mapping[int, Sequence[tuple[tuple[int, int], View]]]

    def outside(self, slot: int, view: View, first: int, keys: Container[tuple[int, int]]) -> bool:
        """Whether others than some operations, the first of them at a position, see what these write to a section."""
        return slot in self.named or any(key[0] > first and key not in keys and not view.disjoint(read)
                                         for key, read in self.readers.get(slot, ()))


class FusionGroup:
    """Operations that run as one kernel."""

    def __init__(self, space: Any, uses: Uses) -> None:
        self.space, self._uses = space, uses
        self.members: list[Member] = []
        self.reductions: list[ReducedOutput] = []
        self.code = Code()
        self._keys: set[tuple[int, int]] = set()
        self._seen: set[int] = set()  # of what is written: what others may read, as far as is known
        self._slots: set[int] = set()
        self._written: dict[int, BoxIndex[View]] = {}  # by slot
        self._read: dict[int, BoxIndex[tuple[View, bool]]] = {}  # each with whether it is used where it lies
        self._cuts: list[set[int]] = []  # per dimension, where operands cut the local part into pieces
        self.is_awaited = False  # by an operation outside, for whose messages another process may be waiting
        self._followers: list[Item] = []  # those without, which depend on this kernel
        self.last = -1  # the position of the operation that joined last

    @property
    def operations(self) -> list[NumberedOperation]:
        """Its operations, in their order."""
        found = [member.operation for member in self.members] + [r.operation for r in self.reductions]
        return sorted(found, key=lambda operation: operation.position)

    @property
    def slots(self) -> Iterable[int]:
        """The arrays that it accesses."""
        return self._slots

    def fills(self, slot: int) -> bool:
        """Whether it writes all elements of an array, and does not need what was there."""
        return any(view.is_whole for view in self.code.written.get(slot, ())) and all(
            found.slot != slot for found in self.code.inputs)

    def may_take(self, member: Member) -> bool:
        """Whether an operation may join."""
        if self.is_awaited and not all(x.plan.transfer.is_local for x in member.arrays):
            return False  # the process at the other end may wait for this kernel's results before it records this one
        for reduction in self.reductions:
            result, source, *_ = reduction.operation.slots
            if result in member.operation.slots or source == member.out_slot:
                return False  # what is reduced is the array as it is when the kernel ends
        return self._is_apart_from(member) and self._has_room_for(member)

    def _is_apart_from(self, member: Member) -> bool:
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

    def _has_room_for(self, member: Member) -> bool:
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
        self._seen = {slot for slot in self._seen if any(
            self._uses.outside(slot, view, first, self._keys) for view in self.code.written[slot])}

    def take(self, member: Member) -> None:
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


Item = FusionGroup | Sends | NumberedOperation
"""What is done together."""


_Noted = TypeVar("_Noted")


def _overlapping(noted: Mapping[int, BoxIndex[_Noted]], slot: int, view: View) -> list[_Noted]:
    """What is noted of sections of an array that a view may share elements with."""
    found = noted.get(slot)
    return [] if found is None else [value for _, value in found.overlapping(view.hull)]


def grouped(operations: Sequence[NumberedOperation], uses: Uses, rank: int,
            fuses: bool) -> list[Item]:
    """Operations, those that a C kernel can compute in groups, in an order in which they may be run."""
    items: list[Item] = []
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


def _note_later(items: Sequence[Item], operation: NumberedOperation,
                own: FusionGroup | None, is_silent: bool) -> None:
    """Have the groups that an operation has not joined note that it may depend on them."""
    for item in items[-MAX_STEPS_BACK:]:
        if isinstance(item, FusionGroup) and item is not own and not item.is_awaited:
            item.note_later(operation, own, is_silent)


@cached
def _is_silent(recipe: Recipe, rank: int) -> bool:
    """Whether an operation has no messages on this process."""
    return recipe.elementwise is not None and all(moved.plan.is_local for moved in recipe.moved(rank))


def _member(operation: NumberedOperation, rank: int) -> Member | None:
    """An operation as the member of a kernel; None for any other, and where this process computes nothing."""
    form = operation.recipe.elementwise
    if form is None or not operation.is_wanted or not has_kernel(form):
        return None
    if 0 in local_view_shape(operation.recipe.views[0], rank):
        return None
    member = Member(operation, form, rank)
    if form.receives_in_place and not all(operand.plan.is_local for operand in member.arrays):
        return None
    return member


def _sends_to_join(items: Sequence[Item], operation: NumberedOperation) -> Sends | None:
    """Those that a part which sends can be sent with."""
    for item in reversed(items[-MAX_STEPS_BACK:]):
        if isinstance(item, Sends):
            return item
        if _depends(operation, item):
            return None
    return None


def _group_to_join(items: Sequence[Item], member: Member) -> FusionGroup | None:
    for back, item in enumerate(reversed(items[-MAX_STEPS_BACK:]), 1):
        if isinstance(item, FusionGroup) and item.space == member.space and item.may_take(member):
            before = items[:-back][-MAX_STEPS_BACK:]  # further back, nothing has joined since
            return None if _depends_on_later(member.operation, before, item) else item
        if _depends(member.operation, item):
            return None
    return None


def _depends_on_later(operation: NumberedOperation, before: Sequence[Item],
                      group: FusionGroup) -> bool:
    """Whether an operation depends on kernels before a group that operations have joined after the group's first one.

    What these wait for, as the partial results of a reduction, may come from a process that waits for the group.
    """
    first = group.members[0].operation.position
    return any(isinstance(item, FusionGroup) and item.last > first and _depends(operation, item) for item in before)


def _end_group(items: Sequence[Item], operation: NumberedOperation) -> FusionGroup | None:
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


def _depends(operation: NumberedOperation, item: Item) -> bool:
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


class Kernel:
    """A group's program, and what its operands stand for: inputs, stored outputs, and reductions."""

    def __init__(self, group: FusionGroup, is_stored: Callable[[int, View], bool],
                 shared: Mapping[int, int] = MappingProxyType({})) -> None:
        """`is_stored(slot, view)` says whether what the group writes there is read outside of it, or has a name.

        `shared` are the arrays that lie in the memory of others, each with that one.
        """
        self._code, self.reductions = group.code, group.reductions
        self._stored = [output for output in group.code.outputs if is_stored(output.slot, output.view)]
        self.inputs = [read._replace(slot=shared.get(read.slot, read.slot)) for read in group.code.inputs]
        self.outputs = [output._replace(slot=shared.get(output.slot, output.slot)) for output in self._stored]

    @property
    def is_of_use(self) -> bool:
        """Whether anybody sees what it computes."""
        return bool(self.outputs or self.reductions)

    @lazy
    def program(self) -> Program:
        """See above."""
        return self._code.program(self._stored, self.reductions)
