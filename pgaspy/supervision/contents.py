"""Whether what operations take is the same on every process: numbers, and NumPy arrays as far as a sample tells.

Who makes them of random numbers without a seed has other ones on each process, and would get results of all together.
Each process tells the next rank, which warns. Numbers are told with the operations (see `checking`). A statement may
take an array more often on one process than on others, as each chooses how to execute it: what they have taken is
compared per number of the operation that comes next.
"""

from __future__ import annotations

import functools
import sys
import types
import warnings
import zlib
from collections import deque
from collections.abc import Hashable, Iterable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from pgaspy.host.call_sites import CallSite, frame_of_program, shown
from pgaspy.scheduling.floating_point import silently

__all__ = ["Contents", "checksum", "made_with", "numbers_of"]

MAX_SAMPLE = 512
"""Elements of an array that are looked at, about, evenly along each dimension."""

END = 1 << 62
"""The number of what comes after all operations."""


class _Taken(NamedTuple):
    """What was taken before the operation of a number, and where."""

    number: int
    checksum: int
    what: str
    site: CallSite


class Contents:
    """What this process has taken, compared with what the rank before it has.

    Attributes
    ----------
    unsent
        What the next rank has not been told: numbers of operations, each followed by a checksum.
    is_awaited
        Whether the rank before has not told all yet.
    """

    def __init__(self, rank: int, n_ranks: int) -> None:
        self.unsent: list[int] = []
        self.is_awaited = rank > 0
        self._rank = rank
        self._sends = rank < n_ranks - 1
        says_so = rank in (1, n_ranks - 1)  # of many that differ, two do
        self._warns = {"NumPy array": says_so, "number": says_so}
        self._own: deque[_Taken] = deque()
        self._theirs: deque[tuple[int, int]] = deque()

    def take(self, x: NDArray[Any], number: int, what: str = "NumPy array") -> None:
        """Take an array for the operation of a number, or a later one; `what` says what it stands for."""
        if x.dtype.hasobject:
            return
        found = checksum(_sample(x))
        if self._sends:
            self.unsent += number, found
        if self._rank > 0:
            frame = frame_of_program(sys._getframe(1))
            self._own.append(_Taken(number, found, what, CallSite("", frame.f_code.co_filename, frame.f_lineno)))

    def end(self) -> None:
        """No more is taken; what the rank before has told is compared, as it may have come to its end."""
        self.unsent += [END, 0] * self._sends
        self._own.append(_Taken(END, 0, "", CallSite("", "", 0)))
        if self._rank > 0:
            self.heard(())

    def heard(self, told: Sequence[int]) -> None:
        """Compare with what the rank before has told."""
        theirs, own = self._theirs, self._own
        theirs.extend(zip(told[::2], told[1::2], strict=True))
        self.is_awaited = not theirs or theirs[-1][0] != END
        while own and theirs and own[-1].number > theirs[0][0] < theirs[-1][0]:
            number, mine, others = theirs[0][0], [], set()
            while own[0].number <= number:
                if (taken := own.popleft()).number == number:
                    mine.append(taken)
            while theirs[0][0] == number:
                others.add(theirs.popleft()[1])
            if mine and {taken.checksum for taken in mine} != others:
                differs = next((taken for taken in mine if taken.checksum not in others), mine[0])
                self.warn(differs.what, differs.site)

    def warn(self, what: str, site: CallSite | None) -> None:
        """Warn, once of each kind of thing, of one that is not the same; at a line, if it is known."""
        if self._warns.pop(what, False):
            place = f"at {shown(site.file)}:{site.line}" if site else "at a line that is not known any more"
            warnings.warn_explicit(
                f"a {what} is not the same on rank {self._rank} as on rank {self._rank - 1}, {place}: each process "
                "goes on with its own. Seed random numbers alike, or make them by pg.random; PGASPY_CHECK=1 finds all "
                "that differs", UserWarning, site.file if site else "pgaspy", site.line if site else 1)


def _sample(x: NDArray[Any]) -> NDArray[Any]:
    """Some elements."""
    if x.size <= MAX_SAMPLE:
        return x
    n = max(round(MAX_SAMPLE ** (1 / x.ndim)), 1)
    return x[tuple([slice(None, None, -(-extent // n)) for extent in x.shape])]


NAN = 0x7FF8
"""In the place of any NaN, of which no two are equal."""

MAX_DEPTH = 6
"""Of functions that are made with functions, which may hold themselves."""


def numbers_of(x: Any, depth: int = 0) -> Iterator[Any]:
    """Numbers, and samples of NumPy's arrays, in a tuple or a list, or that a function was made with; as objects that
    are equal, and have hashes that are, where these are.
    """
    if depth > MAX_DEPTH:
        return
    if isinstance(x, np.ndarray):
        yield checksum(_sample(x))
    elif isinstance(x, np.datetime64 | np.timedelta64):
        yield int(x.view(np.int64))
    elif isinstance(x, int | float | complex | np.number | np.bool):
        if isinstance(x, Hashable):  # a class of the program's need not be
            yield x if x == x else NAN
    else:
        for part in _parts_of(x):
            yield from numbers_of(part, depth + 1)


def _parts_of(x: Any) -> Iterable[Any]:
    """Some of what a sequence has in it, or what a function was made with."""
    if isinstance(x, tuple | list):
        return x[::-(-len(x) // MAX_SAMPLE) or 1]
    if isinstance(x, functools.partial):
        return x.func, *x.args, *x.keywords.values()
    return made_with(x) if isinstance(x, types.FunctionType) else ()


def made_with(function: types.FunctionType) -> tuple[Any, ...]:
    """What a function of Python's was made with: what it has of where it was defined, and its defaults."""
    return (*map(_content_of, function.__closure__ or ()), *(function.__defaults__ or ()),
            *(function.__kwdefaults__ or {}).values())


def _content_of(cell: types.CellType) -> Any:
    try:
        return cell.cell_contents
    except ValueError:  # it has none yet
        return None


def checksum(x: NDArray[Any]) -> int:
    """Of the elements, if they are no objects.

    Those of a long double have bytes that nobody sets, so that it is taken as the sum of two.
    """
    if not x.nbytes or x.dtype.hasobject:
        return 0
    if x.dtype.char in "gG":
        parts = np.ascontiguousarray(x).reshape(-1).view(np.longdouble)
        x = silently(_as_sums_of_two, parts)
    return zlib.crc32(np.ascontiguousarray(x).reshape(-1).view(np.uint8).data)


def _as_sums_of_two(parts: NDArray[Any]) -> NDArray[np.float64]:
    high = parts.astype(np.float64)
    return np.stack((high, (parts - high).astype(np.float64)))
