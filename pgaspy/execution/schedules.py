"""Schedules that were made, found again by the normal form of their operations, which numbers the arrays.

A loop that records the same operations in each iteration is therefore planned once.
"""

from __future__ import annotations

import gc
import math
import time
from collections import OrderedDict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import count, repeat
from operator import attrgetter, call, is_not, le, or_
from typing import Any

from pgaspy.caches import ENTRY_BYTES, Cache, size_of
from pgaspy.execution.tiers import MAX_CALLS
from pgaspy.job.procgrid import world
from pgaspy.job.statistics import counts
from pgaspy.planning.boxes import Box
from pgaspy.scheduling import floating_point
from pgaspy.scheduling.base import Storage
from pgaspy.scheduling.in_turn import in_turn
from pgaspy.scheduling.operations import Recipe
from pgaspy.scheduling.recorded import Recorded
from pgaspy.scheduling.schedule import Schedule, described, schedule_of

__all__ = ["Awaiting", "Form", "Schedules", "form_of"]

Awaiting = Callable[[Storage], Sequence[Box]]
"""Which boxes of an array are accessed by what waits for messages."""

_name_of = attrgetter("name")


@dataclass(eq=False)
class Form:
    """The normal form of operations.

    Attributes
    ----------
    key
        What schedules are found by: recipes, which arrays they are of, and which of these somebody holds besides.
    named
        The arrays, with whether somebody does.
    cuts
        The boxes of arrays that others wait for, by the numbers of these; part of the key, where there are any.
    """

    key: tuple[Any, ...]
    named: Mapping[Storage, bool]
    cuts: Mapping[int, Sequence[Box]] = field(default_factory=dict)

    @property
    def recipes(self) -> tuple[Recipe, ...]:
        """Those of the operations."""
        found: tuple[Recipe, ...] = self.key[0]
        return found

    @cached_property
    def hash_of_rest(self) -> int:
        """The same for the same operations, whatever of them somebody holds."""
        return hash(self.key[:2])


def form_of(first: Recorded, recorded: Recorded, awaiting: Awaiting | None = None) -> Form:
    """The form of the first operations of those that are recorded, of which the others are executed later.

    With `awaiting`, they are cut there: what else they compute need not wait for messages.
    """
    first_uses: dict[Storage, int] = {}
    recipes, storages, _, *_ = first.columns()
    uses = tuple(map(first_uses.setdefault, storages, count()))
    named = tuple(map(is_not, map(call, map(_name_of, first_uses)), repeat(None)))
    if _is_collecting():
        named = (True,) * len(named)
    if len(recorded) > len(first):  # looked at last: another thread drops arrays when it has recorded what uses them
        later = {*recorded.without(len(first)).storages}
        named = tuple(map(or_, named, map(later.__contains__, first_uses)))
    key: tuple[Any, ...] = recipes, uses, named
    if floating_point.is_telling():
        key = *key, floating_point
    cuts = {} if awaiting is None else {
        slot: boxes for slot, storage in enumerate(first_uses) if (boxes := awaiting(storage))}
    if cuts:
        key = *key, *cuts.items()
    return Form(key, dict(zip(first_uses, named, strict=True)), cuts)


RECENT = 32
"""What comes again after no more others is part of a loop, and is planned. Else it may be that a program, of which
nothing comes again, is run once more: it is planned the third time.
"""


MAX_LENT = 8
"""So often operations are executed by a schedule that stores more arrays than anybody holds: as at the end of a loop,
where nobody holds the temporary ones of the last iteration any more; or in turn, where there is one that stores less,
as at the beginning, where the caller holds what the loop is given. What comes more often has its own.
"""

CHEAP = 1 / 16
"""What is stored besides is no reason for a schedule of its own if it has this part of the elements that are used."""


class _Notes(dict[int, Any]):
    """What is noted of forms, by hashes of theirs; all of it is forgotten where it gets much."""

    def __setitem__(self, seen: int, noted: Any) -> None:
        if len(self) > MAX_CALLS:
            self.clear()
        super().__setitem__(seen, noted)


class Schedules:
    """Those of one process."""

    def __init__(self) -> None:
        self._found = Cache(_size_of_schedule, units=lambda key: len(key[0]))
        self._met = _Notes()  # by their hashes, when they were last
        self._n_met = 0
        self._stored = _Notes()  # of what was planned last, by the hashes of the rest of forms
        self._held = _Notes()  # the same of all that was met
        self._n_without = _Notes()  # by the hashes of forms, and of what is stored in their place

    def forget(self) -> None:
        """Forget them."""
        self._found.forget()
        for found in self._met, self._stored, self._held, self._n_without:
            found.clear()

    def known(self, form: Form) -> Schedule | None:
        """That of operations of a form, if they were planned."""
        found: Schedule | None = self._found[form.key]
        if found is None:
            found = self._lent(form)
        return None if found is None or found.is_in_turn else found

    def _lent(self, form: Form) -> Schedule | None:
        """One of the same operations that stores more, for some times."""
        recipes, uses, named, *others = form.key
        more = self.stored_by(form)
        if others or not more or not all(map(le, named, more)):
            return None
        if not self._does_without(form, more, lambda: math.inf if _is_cheap(form, more) else MAX_LENT):
            return None
        found: Schedule | None = self._found[recipes, uses, more]
        return found

    def stored_by(self, form: Form) -> tuple[bool, ...]:
        """Which arrays a schedule of the same operations stores; nothing if there is none."""
        recipes, uses, named, *_ = form.key
        found = self._stored.get(form.hash_of_rest, ())
        return found if len(found) == len(named) and self._found[recipes, uses, found] is not None else ()

    def _does_without(self, form: Form, stored: tuple[bool, ...], n_times: Callable[[], float]) -> bool:
        """Whether operations of a form do without a schedule of their own once more, which is so that many times while
        there is the same one that stores something else.
        """
        seen = hash((form.key, stored))
        n_left = self._n_without.get(seen)
        if n_left is None:
            n_left = n_times()
        self._n_without[seen] = n_left - 1
        return n_left > 0

    def is_new(self, form: Form) -> bool:
        """Note a form of operations that were not planned; whether it was never seen before, or once and long ago, or
        has no need of a schedule of its own.
        """
        self._held_before(form)
        if stored := self.stored_by(form):
            return self._does_without(form, stored, lambda: MAX_LENT)
        seen, self._n_met = hash(form.key), self._n_met + 1
        last = self._met.get(seen)
        self._met[seen] = self._n_met if last is None else 0
        return last is None or 0 < last < self._n_met - RECENT

    def made(self, recorded: Recorded, form: Form, may_be_in_turn: bool, overlaps: bool) -> Schedule:
        """The schedule of operations that have none; the first time one that executes them in turn, if that may be.

        With `overlaps`, operations are fused, and executed while messages are under way. It stores what was held where
        the same operations were met before, too, unless that is much.
        """
        recipes, uses, named, *others = form.key
        held = self._held_before(form)
        if held != named and not others and _is_cheap(form, held):
            form = Form((recipes, uses, held), dict(zip(form.named, held, strict=True)))
        found = _planned(recorded, form, may_be_in_turn and self._found[form.key] is None, overlaps)
        self._found.keep(form.key, found)
        if not (found.is_in_turn or others):
            self._stored[form.hash_of_rest] = form.key[2]
        return found

    def _held_before(self, form: Form) -> tuple[bool, ...]:
        """Which arrays of a form, which is noted, were held where the same operations were met, now or before."""
        named, before = form.key[2], self._held.get(form.hash_of_rest, ())
        held: tuple[bool, ...] = tuple(map(or_, named, before)) if len(before) == len(named) else named
        self._held[form.hash_of_rest] = held
        return held


def _is_cheap(form: Form, stored: tuple[bool, ...]) -> bool:
    """Whether it takes little time to store what is stored by operations of a form, and what nobody holds besides."""
    n_besides = sum([math.prod(storage.layout.shape) for (storage, is_named), is_stored in zip(
        form.named.items(), stored, strict=True) if is_stored > is_named])
    return n_besides <= CHEAP * sum([view.size for recipe in form.recipes for view in recipe.views])


def _planned(recorded: Recorded, form: Form, may_be_in_turn: bool, overlaps: bool) -> Schedule:
    """The schedule of operations that are new, or come again."""
    start = time.perf_counter()
    operations = [recorded[n][:3] for n in range(len(recorded))]
    if may_be_in_turn and not floating_point.is_telling():
        found = in_turn(*described(operations, form.named.__getitem__))
        if found is not None:
            return found
    schedule = schedule_of(operations, form.named.__getitem__, world().rank, overlaps, form.cuts)
    counts.planned(start, len(operations))
    return schedule


_phases = OrderedDict[str, None](start=None, stop=None)
_COLLECTING = OrderedDict[str, None](stop=None, start=None)
_told: Any = _phases.move_to_end
gc.callbacks.append(_told)
"""Of the collector of garbage: the last one is what it did last. No code of Python runs while it is told."""


def _is_collecting() -> bool:
    """Whether garbage is being collected, so that this is called by a `__del__`, or at the end of a generator.

    The weak references to what is garbage are gone then, while it can still be used. It is told by one step of the
    interpreter: between two of them garbage may be collected, which no iterator would survive.
    """
    return _phases == _COLLECTING


def _size_of_schedule(key: tuple[Any, ...], schedule: Schedule) -> int:
    """What a schedule takes, with the small buffers that it keeps for its next run, and its key."""
    return ENTRY_BYTES + size_of(key, schedule) + schedule.nbytes_kept
