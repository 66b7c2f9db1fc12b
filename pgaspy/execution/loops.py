"""Loops: where recorded operations repeat, so that they are executed in pieces whose schedules are found again.

The recipes of a loop are the same objects in each iteration, whatever arrays they are applied to. Each is one character
here, by its address, so that strings of them are searched. Recipes that share a character, and what is taken for a loop
and is none, cost time at most: a schedule is found by the recipes themselves.

What repeats is looked for in what was recorded since everything was executed last. So a loop in which values are read
is cut in the same way after each of them. How pieces began is known for longer: what is called again after something
else is cut as before.
"""

from __future__ import annotations

import time
from bisect import bisect_left
from collections.abc import Collection, Iterable, Iterator, Sequence
from itertools import compress, count, islice, repeat
from operator import mod
from typing import Any, NamedTuple

__all__ = ["Loops", "Repetition", "repetition"]

MIN_REPEATED = 32
"""So many operations, that were recorded before in the same order, make a loop."""

FIRST_LOOK = 128
"""A loop is looked for when so many operations are recorded, twice as many, and so on: few iterations are enough."""

MIN_LIMIT = 64
"""Where fewer operations may be recorded, no loop is looked for."""

MAX_KEPT = 4096
"""The operations that are searched for a loop. They are kept twice at most."""

SHORT = 32
"""A loop is executed in pieces of whole iterations that have so many operations at least."""

SHORT_SECONDS, LONG = 0.5, 128
"""After so long, it is executed in pieces of up to so many: longer ones take no less time per operation, but a schedule
of 512 takes 0.1 s to make, or more."""

MAX_LOOPS, MAX_PIECES = 64, 1024
"""The loops of which it is known how long ago they were found first; and the pieces whose beginnings are known."""

N_CHARACTERS = 0x10FFFF


Place = tuple[Any, int]
"""Where the program is: a code, and an instruction in it."""


class Repetition(NamedTuple):
    """A part of a text, up to its end, in which each character is the same as `period` characters before.

    `start` is where the first period begins.
    """

    period: int
    start: int


def repetition(text: str) -> Repetition | None:
    """The one of the shortest period in which the last `MIN_REPEATED` characters are repeated ones."""
    n = len(text)
    found = text.rfind(text[-MIN_REPEATED:], 0, n - 1)
    if n <= MIN_REPEATED or found < 0:
        return None
    period = n - MIN_REPEATED - found
    return Repetition(period, bisect_left(range(n - period), True, key=lambda start: _repeats(text, period, start, n)))


def _n_repeated(text: str, period: int, known: int) -> int:
    """How many characters from `known` on are the same as a period before, up to the first that is not."""
    ends = range(known + 1, len(text) + 1)
    return bisect_left(ends, True, key=lambda end: not _repeats(text, period, known - period, end))


def _repeats(text: str, period: int, start: int, end: int) -> bool:
    """Whether each character of a part of a text is the same as a period before, but for those of the first period."""
    return text[start:end - period] == text[start + period:end]


def _is_of_loop(text: str, body: str) -> bool:
    """Whether a text is what some iterations of a loop are, which may begin anywhere in them."""
    return text in body * (len(text) // len(body) + 2)


def _first_of(beginnings: Collection[str], text: str, places: range) -> int | None:
    """The first of some places of a text where one of some beginnings is."""
    found = map(text.__getitem__, map(slice, places, count(places.start + MIN_REPEATED)))
    return next(compress(places, map(beginnings.__contains__, found)), None)


class Loops:
    """Where the operations of a queue are cut.

    Places are numbers of operations, counted from the first that the queue recorded.

    Attributes
    ----------
    limit
        How many operations may be recorded and not executed, where they are those of a loop.
    first
        How many may be elsewhere.
    n_due
        How many may be before some are executed.
    is_searched
        Whether a loop was looked for since everything was executed.
    loop
        The one that was found.
    """

    def __init__(self, limit: int, first: int) -> None:
        self.limit, self.first = limit, first
        self.n_due = min(first, FIRST_LOOK)
        self.is_searched = False
        self._text, self._begin = "", 0
        self._places: list[Place] = []  # of the characters
        self._n_apart, self._is_begun = 0, False  # operations not recorded; whether the first may be amid an iteration
        self._cuts: list[int] = []  # where no loop was known
        self.loop: Repetition | None = None
        self._end = 0  # of what repeats
        self._found_at: dict[str, float] = {}
        self._since = 0.0
        self._n_after: dict[str, int] = {}  # of pieces, by how they begin
        self._starts_of_long: set[str] = set()

    def due(self, begin: int, recipes: Sequence[Any], places: Iterable[Place] = (), n_apart: int = 0) -> list[int]:
        """The lengths of the pieces that are executed now that `n_due` operations are recorded, from `begin` on.

        An iteration more is recorded where there is room for it: what it assigns to a name has no other name then. Of
        each operation, `places` says where the program is, if that is known. `n_apart` says how many operations were
        not recorded until now.
        """
        if self.limit < MIN_LIMIT:
            return [len(recipes)]
        self._see(begin, recipes, places, n_apart)
        self.is_searched = True
        found: list[int] = []
        n_left = len(recipes)
        while n := self._n_next(begin, self.limit) or self._n_searched(begin, n_left):
            lag = 0 if self.loop is None else min(self.loop.period, self.limit - n)
            if n_left < n + lag:
                self.n_due = n if self.loop is None else min(max(n_left, lag) + n, self.limit)
                return found
            self._remember(begin, n)
            found.append(n)
            begin += n
            n_left -= n
        if self.loop is not None:
            self.n_due = self.limit
        else:
            self.n_due = self.first if self._cuts else min(2 * max(n_left, FIRST_LOOK // 2), self.first)
        return found

    def all(self, begin: int, recipes: Sequence[Any], places: Iterable[Place] = (), n_apart: int = 0) -> Iterator[int]:
        """The lengths of the pieces in which everything is executed; what comes then is searched anew."""
        self._see(begin, recipes, places, n_apart)
        end = begin + len(recipes)
        if not (self._cuts or self.loop):
            self._search()
        while begin < end:
            n = self._n_next(begin, end - begin) or end - begin
            yield n
            begin += n
        self.forget(end)
        self._n_apart = n_apart

    def forget(self, begin: int) -> None:
        """Take all that comes from a place on for new."""
        self._text, self._begin, self._cuts, self.loop = "", begin, [], None
        self._places = []
        self.n_due = min(self.first, FIRST_LOOK)
        self.is_searched = False

    def _see(self, begin: int, recipes: Sequence[Any], places: Iterable[Place], n_apart: int) -> None:
        """Take what was recorded after what was seen."""
        end = self._begin + len(self._text)
        if not begin <= end <= begin + len(recipes):
            self.forget(begin)
            end = begin
        if not self._text:
            self._is_begun = n_apart > self._n_apart + MIN_REPEATED
        known = len(self._text)
        self._text += "".join(map(chr, map(mod, map(id, recipes[end - begin:]), repeat(N_CHARACTERS))))
        self._places += islice(places, end - begin, len(recipes))
        if self.loop is not None and self._end == end:
            self._end += _n_repeated(self._text, self.loop.period, known)
        if len(self._text) > 2 * MAX_KEPT:
            self._begin += len(self._text) - MAX_KEPT
            self._text, self._places = self._text[-MAX_KEPT:], self._places[-MAX_KEPT:]
            del self._cuts[:bisect_left(self._cuts, self._begin)]

    def _n_searched(self, begin: int, n_left: int) -> int:
        """How many operations are executed first where no loop was known; 0 where more may be recorded."""
        if n_left < self.first:
            if self._cuts or self.loop or n_left < FIRST_LOOK:
                return 0
            self._search()
            return self._n_next(begin, self.limit)
        if self._cuts[-1:] != [begin]:
            self._cuts.append(begin)
        self._search()
        return self._n_next(begin, self.limit) or self._n_known(begin, n_left)

    def _remember(self, begin: int, n: int) -> None:
        """Note how a piece begins; one of whole iterations is preferred to others that begin so."""
        if n < MIN_REPEATED:
            return
        if len(self._n_after) == MAX_PIECES:
            self._n_after.clear()
        begin -= self._begin
        beginning = self._text[begin:begin + MIN_REPEATED]
        if self.loop is not None and n % self.loop.period == 0:
            self._n_after[beginning] = n
        else:
            self._n_after.setdefault(beginning, n)

    def _n_known(self, begin: int, n_left: int) -> int:
        """How many of n operations are executed first outside of loops: as many as before, where they were begun with.

        It may be more than there are yet. Where all begins with iterations of a known loop, it is some of these, as
        what follows is. What comes before an operation that a piece has begun with is one: a function may be called
        again elsewhere.
        """
        window = self._text[begin - self._begin:]
        n = self._n_after.get(window[:MIN_REPEATED])
        if n is None and begin == self._begin:
            n = self._n_entered(window[:MIN_REPEATED])
        if n is not None:
            return n if n <= self.limit else n_left
        return _first_of(self._n_after, window, range(n_left)) or n_left

    def _n_entered(self, beginning: str) -> int | None:
        """How many operations are some iterations of a loop that was found before, and goes on so from somewhere."""
        if len(beginning) < MIN_REPEATED:
            return None
        for body in self._found_at:
            if _is_of_loop(beginning, body):
                return self._lengths(len(body))[-1] if 2 * len(body) <= self.limit else len(body)
        return None

    def _search(self) -> None:
        """Look for the loop that the last operations are of."""
        text = self._text
        self.loop = found = repetition(text)
        if found is None:
            return
        period, start = found
        if len(self._found_at) == MAX_LOOPS:
            self._found_at.clear()
        body = text[start:start + period]
        is_known = any(len(known) == period and _is_of_loop(body, known) for known in self._found_at)
        self._since = self._found_at.setdefault(body, time.perf_counter())
        if period > self.limit:
            start = self._start_of_long(period, start)
        elif start or (self._is_begun and not is_known):  # else all began with it
            whole = {beginning for beginning, n in self._n_after.items() if n % period == 0}
            known = _first_of(whole, text, range(start, start + period))
            start = self._start_of_iteration(period, start) if known is None else known
        self.loop, self._end = Repetition(period, self._begin + start), self._begin + len(text)

    def _start_of_iteration(self, period: int, start: int) -> int:
        """Where in the text an iteration begins for the program: after the longest jump back in any of its codes; the
        place that is given, where that is not known.

        So it is found again where the loop is begun anew, as by another call of a function.
        """
        latest: dict[Any, int] = {}
        longest, found = -1, start
        for k, (code, instruction) in enumerate(2 * self._places[start:start + period]):
            jump = latest.get(code, -1) - instruction
            if jump > longest:
                longest, found = jump, start + k % period
            latest[code] = instruction
        return found

    def _start_of_long(self, period: int, start: int) -> int:
        """Where in the text to begin an iteration that is cut in several places: where one did, or at a cut."""
        text = self._text
        known = _first_of(self._starts_of_long, text, range(start, start + period))
        if known is not None:
            return known
        if len(self._starts_of_long) == MAX_LOOPS:
            self._starts_of_long.clear()
        cut = self._cuts[bisect_left(self._cuts, self._begin + start)] - self._begin
        self._starts_of_long.add(text[cut:cut + MIN_REPEATED])
        return cut

    def _n_next(self, begin: int, n_most: int) -> int:
        """How many operations are a piece: some iterations, a part of a long one, or what comes before the loop.

        Of a long one all iterations are cut in the same places, as the first one was before the loop was known. It is
        0 where the loop ends before.
        """
        if self.loop is None:
            return 0
        period, start = self.loop
        if begin < start:
            return min(start - begin, n_most)
        done = (begin - start) % period
        length = self.first if period > self.limit else period
        lengths = [min(period - done, length - done % length)]
        if done == 0 and 2 * period <= self.limit:
            lengths = self._lengths(period)
        goes_on = self._end == self._begin + len(self._text)
        return next((n for n in lengths if n <= n_most and (goes_on or begin + n <= self._end)), 0)

    def _lengths(self, period: int) -> list[int]:
        """Those of some iterations that may be executed together, the best first."""
        n_most = self.limit // period - 1
        shortest = period * min(-(-SHORT // period), n_most)
        longest = max(period * min(LONG // period, n_most), shortest)
        return [longest, shortest] if time.perf_counter() - self._since > SHORT_SECONDS else [shortest]
