"""Loops: where recorded operations repeat, so that they are executed in pieces whose schedules are found again.

The recipes of a loop are the same objects in each iteration, whatever arrays they are applied to. Each is one character
here, by its address, so that strings of them are searched. Recipes that share a character, and what is taken for a loop
and is none, cost time at most: a schedule is found by the recipes themselves.

All follows from what was recorded since everything was executed last. So a loop in which values are read is cut in the
same way after each of them.
"""

from __future__ import annotations

import time
from bisect import bisect_left
from collections.abc import Iterator, Sequence
from itertools import repeat
from operator import mod
from typing import Any, NamedTuple

__all__ = ["Loops", "Repetition", "repetition"]

MIN_REPEATED = 32
"""So many operations, that were recorded before in the same order, make a loop."""

MIN_LIMIT = 64
"""Where fewer operations may be recorded, no loop is looked for."""

MAX_KEPT = 4096
"""The operations that are searched for a loop. They are kept twice at most."""

SHORT = 32
"""A loop is executed in pieces of whole iterations that have so many operations at least."""

SHORT_SECONDS = 0.5
"""After so long, it is executed in pieces as long as may be: a schedule of 256 operations takes up to 0.1 s to make."""

MAX_REMEMBERED = 64
"""The loops of which it is known how long ago they were found first."""

N_CHARACTERS = 0x10FFFF


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


class Loops:
    """Where the operations of a queue are cut.

    Places are numbers of operations, counted from the first that the queue recorded.

    Attributes
    ----------
    limit
        How many operations may be recorded and not executed.
    n_due
        How many may be before some are executed.
    loop
        The loop that was found, where not everything was executed since.
    """

    def __init__(self, limit: int) -> None:
        self.limit = self.n_due = limit
        self._text, self._begin = "", 0
        self._cuts: list[int] = []  # where no loop was known
        self.loop: Repetition | None = None
        self._end = 0  # of what repeats
        self._found_at: dict[str, float] = {}
        self._since = 0.0

    def due(self, begin: int, recipes: Sequence[Any]) -> list[int]:
        """The lengths of the pieces that are executed now that `n_due` operations are recorded, from `begin` on.

        An iteration more is recorded where there is room for it: what it assigns to a name has no other name then.
        """
        if self.limit < MIN_LIMIT:
            return [len(recipes)]
        self._see(begin, recipes)
        found: list[int] = []
        n_left = len(recipes)
        while n := self._n_next(begin, self.limit) or self._n_searched(begin, n_left):
            lag = 0 if self.loop is None else min(self.loop.period, self.limit - n)
            if n_left < n + lag:
                self.n_due = min(max(n_left, lag) + n, self.limit)
                return found
            found.append(n)
            begin += n
            n_left -= n
        self.n_due = self.limit
        return found

    def all(self, begin: int, recipes: Sequence[Any]) -> Iterator[int]:
        """The lengths of the pieces in which everything is executed; what comes then is searched anew."""
        self._see(begin, recipes)
        end = begin + len(recipes)
        while begin < end:
            n = self._n_next(begin, end - begin) or end - begin
            yield n
            begin += n
        self._forget(end)

    def _forget(self, begin: int) -> None:
        """Take all that comes from a place on for new."""
        self._text, self._begin, self._cuts, self.loop, self.n_due = "", begin, [], None, self.limit

    def _see(self, begin: int, recipes: Sequence[Any]) -> None:
        """Take what was recorded after what was seen."""
        end = self._begin + len(self._text)
        if not begin <= end <= begin + len(recipes):
            self._forget(begin)
            end = begin
        known = len(self._text)
        self._text += "".join(map(chr, map(mod, map(id, recipes[end - begin:]), repeat(N_CHARACTERS))))
        if self.loop is not None and self._end == end:
            self._end += _n_repeated(self._text, self.loop.period, known)
        if len(self._text) > 2 * MAX_KEPT:
            self._begin += len(self._text) - MAX_KEPT
            self._text = self._text[-MAX_KEPT:]
            del self._cuts[:bisect_left(self._cuts, self._begin)]

    def _n_searched(self, begin: int, n_left: int) -> int:
        """How many operations are executed first where no loop was known; 0 where more may be recorded."""
        if n_left < self.limit:
            return 0
        self._cuts.append(begin)
        self._search()
        return self._n_next(begin, self.limit) or n_left

    def _search(self) -> None:
        """Look for the loop that the last operations are of."""
        text = self._text
        self.loop = found = repetition(text)
        if found is None:
            return
        period, start = found
        if len(self._found_at) == MAX_REMEMBERED:
            self._found_at.clear()
        self._since = self._found_at.setdefault(text[start:start + period], time.perf_counter())
        start += self._begin
        if period > self.limit:  # it is cut in several places, some of which may be known
            start = self._cuts[bisect_left(self._cuts, start)]
        self.loop, self._end = Repetition(period, start), self._begin + len(text)

    def _n_next(self, begin: int, n_most: int) -> int:
        """How many operations are a piece: some iterations, a part of a long one, or what comes before the loop.

        Of a long one all iterations are cut in the same places. It is 0 where the loop ends before.
        """
        if self.loop is None:
            return 0
        period, start = self.loop
        if begin < start:
            return min(start - begin, n_most)
        done = (begin - start) % period
        lengths = [min(period - done, self.limit - done % self.limit)]
        if done == 0 and 2 * period <= self.limit:
            lengths = self._lengths(period)
        goes_on = self._end == self._begin + len(self._text)
        return next((n for n in lengths if n <= n_most and (goes_on or begin + n <= self._end)), 0)

    def _lengths(self, period: int) -> list[int]:
        """Those of some iterations that may be executed together, the best first."""
        longest = (self.limit // period - 1) * period
        shortest = min(period * -(-SHORT // period), longest)
        return [longest, shortest] if time.perf_counter() - self._since > SHORT_SECONDS else [shortest]
