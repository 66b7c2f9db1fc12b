"""Whether all processes do the same.

Each process makes a digest of every collective operation (see `digests`, and `journal` for what `PGASPY_CHECK=1` adds),
and sends its digests to the next rank, which compares them with its own. Where each agrees with the rank before it, all
agree, whatever their number, and each has one such message under way at most. Nobody waits for them: they are looked
for when something is flushed, and while the process waits for other messages or ends. So a process that is late is no
error, wherever it flushes, but one that says something else. Whoever finds that raises the alarm, which each hands on
to those at distances of powers of two; then all tell what they do, and raise the same error.

A process that leaves operations out goes on to others, or to the end of its program, which counts as one.

With each digest goes that of the numbers that the operation takes, and who finds that these differ warns.
"""

from __future__ import annotations

import json
import time
from array import array
from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, NoReturn, Protocol

import numpy as np
from mpi4py import MPI
from numpy.typing import NDArray

from pgaspy.host.call_sites import CallSite
from pgaspy.host.words import listed
from pgaspy.job import abandoned
from pgaspy.job.failures import DivergenceError
from pgaspy.planning.trees import flood_targets
from pgaspy.supervision.contents import Contents
from pgaspy.supervision.meetings import meet

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["BATCH", "Checker", "Entries", "difference"]

BATCH = 256
"""Digests are sent when they are so many, or when the process waits."""

MAX_COMPARED = 1 << 16
"""Operations that processes go back to find where they have parted, as some may be far ahead of one that is late."""

MAX_REPORT_BYTES = 4096
"""Of what a process says about its operation."""

PATIENCE_SECONDS = 60
"""How long the others are waited for when one has found a difference: some may be in code of their own."""

REMEDY = ("All of them make the same calls on global arrays. What one does alone, as to print,\n"
          "it does with values that all have read, x = float(A.sum()), or with its part, A.local().")

UNKNOWN = 0
"""In the place of the digest of an operation."""

DIGESTS, ALARM, CONTENTS = 0, 1, 2
"""The tags."""


class Entry(Protocol):
    """An operation, for people."""

    @property
    def site(self) -> CallSite | None:
        """Its line, if it is known."""

    def fields(self) -> dict[str, str]:
        """What it is, by the names of its parts: `operation` and `at` among them."""


class Entries(Protocol):
    """The latest operations of this process."""

    n_entries: int

    def entry(self, index: int) -> Entry | None:
        """That of an index, counted from the first; None if it is not there any more, or not yet."""


class Uncompared:
    """Pairs of digests in order, of any number, as one process may be far ahead of another.

    To take all of them moves each of them once, on average.

    Attributes
    ----------
    digests
        They, behind some that are taken already.
    """

    def __init__(self) -> None:
        self.digests = array("q")
        self._n_taken = 0

    def __len__(self) -> int:
        return len(self.digests) - self._n_taken

    def take(self, n: int) -> array[int]:
        """The first of them, which are not there any more."""
        start, stop = self._n_taken, self._n_taken + n
        taken = self.digests[start:stop]
        if 2 * stop > len(self.digests):
            del self.digests[:stop]
            stop = 0
        self._n_taken = stop
        return taken


class Checker:
    """The operations of this process, compared with those of the rank before it.

    Attributes
    ----------
    contents
        What they take, where that is compared by itself.
    """

    def __init__(self, comm: MPI.Intracomm, entries: Entries) -> None:
        """Collective. What operations are is asked `entries`."""
        self._comm, self._meetings = comm.Dup(), comm.Dup()
        self._entries = entries
        self._latest = array("q")  # at least `MAX_COMPARED`, if there are so many
        self._n_added = 0
        self._is_first, self._is_last = comm.rank == 0, comm.rank == comm.size - 1
        self._own, self._theirs = Uncompared(), Uncompared()  # what the rank before has not told yet; what it has
        self._n_agreed = 0
        self._unsent = array("q")
        self._sending = self._sending_contents = MPI.REQUEST_NULL
        self.contents: Contents | None = None
        self._error: DivergenceError | None = None

    def add(self, digests: Sequence[int]) -> None:
        """Take the next operations: each one's digest, and that of its numbers.

        Raises
        ------
        DivergenceError
            If processes are known to differ; from then on, always.
        """
        if self._error is not None:
            raise self._error
        n_batches = self._n_added // BATCH
        self._n_added += len(digests) // 2
        self._latest.extend(digests[::2])
        if len(self._latest) > 2 * MAX_COMPARED:
            del self._latest[:-MAX_COMPARED]
        if not self._is_first:
            self._own.digests.extend(digests)
        if not self._is_last:
            self._unsent.extend(digests)
        if self._n_added // BATCH > n_batches:
            self.poll(sends=True)

    def differ(self) -> NoReturn:
        """Say that the latest operations are not the same everywhere.

        Raises
        ------
        DivergenceError
            Always.
        """
        self._diverge(self._n_added - 1)

    def wait(self, seconds: float) -> None:
        """Compare for so long.

        Raises
        ------
        DivergenceError
            If processes differ.
        """
        stop = time.monotonic() + seconds
        while time.monotonic() < stop:
            self.poll()
            time.sleep(1e-3)

    def meet(self, look: Callable[[], None], is_end: bool = False) -> None:
        """Wait until all processes have come here, and agree up to here; `look` polls, and may do more. Collective."""
        if is_end and self.contents is not None:
            self.contents.end()
        while self._own or (is_end and self.contents is not None and self.contents.is_awaited):
            look()
            time.sleep(1e-4)
        meet(self._meetings, look)

    def poll(self, sends: bool = True) -> None:
        """Send what is not sent, and compare what has come. Does not wait.

        Raises
        ------
        DivergenceError
            If processes differ.
        """
        if self._error is not None:
            raise self._error
        if sends and self._unsent and self._sending.Test():
            digests, self._unsent = self._unsent, array("q")
            self._sending = self._comm.Isend(digests, self._comm.rank + 1, DIGESTS)
        contents = self.contents
        if sends and contents is not None and contents.unsent and self._sending_contents.Test():
            told, contents.unsent = np.array(contents.unsent, np.int64), []
            self._sending_contents = self._comm.Isend(told, self._comm.rank + 1, CONTENTS)
        status = MPI.Status()
        while self._comm.Iprobe(MPI.ANY_SOURCE, MPI.ANY_TAG, status):
            found = np.empty(status.Get_count(MPI.INT64_T), np.int64)
            self._comm.Recv(found, status.source, status.tag)
            if status.tag == ALARM:
                self._diverge(int(found[0]))
            if status.tag == CONTENTS:
                assert contents is not None
                contents.heard(found.tolist())
            else:
                self._theirs.digests.frombytes(found.tobytes())
        self._agree()

    def _agree(self) -> None:
        """Compare what both have come to."""
        n = min(len(self._own), len(self._theirs))
        own, theirs = self._own.take(n), self._theirs.take(n)
        first, self._n_agreed = self._n_agreed, self._n_agreed + n // 2
        if own != theirs:
            differ = np.reshape(np.not_equal(own, theirs), (-1, 2))
            operations, numbers = map(np.flatnonzero, differ.T)
            if len(operations):
                self._diverge(first + int(operations[0]))
            assert self.contents is not None
            entry = self._entries.entry(first + int(numbers[0]))
            self.contents.warn("number", None if entry is None else entry.site)

    def _diverge(self, index: int) -> NoReturn:
        """Tell the others of an operation that is not the same everywhere, and learn what it is on all of them."""
        if self._error is not None:
            raise self._error
        comm, n = self._comm, self._comm.size
        alarm = np.array([index], np.int64)
        alarms = [comm.Isend(alarm, peer, ALARM) for peer in flood_targets(comm.rank, n)]
        first = alarm.copy()
        own = bytearray(MAX_REPORT_BYTES)
        reports = np.zeros((n, MAX_REPORT_BYTES), np.uint8)
        answered = _wait(comm.Iallreduce(MPI.IN_PLACE, first, MPI.MIN)) and self._find_first(first)
        if answered:
            said = self._said(int(first[0]))
            own[:len(said)] = said
            answered = _wait(comm.Iallgather(np.frombuffer(own, np.uint8), reports))
        abandoned.keep(alarms)
        MPI.Request.Testall(alarms)
        if answered:
            said_by_all = [json.loads(bytes(report).rstrip(b"\0")) for report in reports]
            self._error = DivergenceError(difference(int(first[0]), dict(enumerate(said_by_all))))
        else:
            mine = json.loads(self._said(index))
            self._error = DivergenceError(
                f"operation {index} is not the same on all processes. On this one it is {mine['operation']}"
                f"{', at ' + mine['at'] if mine['at'] else ''}; not all of the others have answered for "
                f"{PATIENCE_SECONDS} s")
        raise self._error

    def _find_first(self, index: NDArray[np.int64]) -> bool:
        """Go back from an operation that differs to the first that does, as far as they are known; whether all answer.

        All compare with the operations of rank 0; those that a process has not come to do not differ.
        """
        start = max(int(index[0]) + 1 - MAX_COMPARED, 0)
        known = self._n_added - len(self._latest)
        own = np.array([self._latest[k - known] if known <= k < self._n_added else UNKNOWN
                        for k in range(start, int(index[0]) + 1)], np.int64)
        theirs = own.copy()
        if not _wait(self._comm.Ibcast(theirs)):
            return False
        differing = np.flatnonzero((own != theirs) & (own != UNKNOWN) & (theirs != UNKNOWN))
        if len(differing):
            index[0] = start + differing[0]
        return _wait(self._comm.Iallreduce(MPI.IN_PLACE, index, MPI.MIN))

    def _said(self, index: int) -> bytes:
        """What this process says about its operation of an index, as JSON."""
        entry = self._entries.entry(index)
        if entry is not None:
            fields = entry.fields()
        else:
            last = self._entries.entry(self._entries.n_entries - 1)
            what = "nothing yet" if index >= self._entries.n_entries else "too long ago to be known"
            fields = {"operation": f"{what} (the last one was {self._entries.n_entries - 1}: {last})", "at": ""}
        limit = MAX_REPORT_BYTES // (4 * len(fields))  # of characters, which may take several bytes each
        while len(said := json.dumps({key: text[:limit] for key, text in fields.items()}).encode()) > MAX_REPORT_BYTES:
            limit //= 2
        return said


def _wait(request: MPI.Request) -> bool:
    """Whether a request is complete within the time that the others have."""
    stop = time.monotonic() + PATIENCE_SECONDS
    while not request.Test():
        if time.monotonic() > stop:
            abandoned.keep([request])
            return False
        time.sleep(1e-3)
    return True


def difference(index: int, said: Mapping[int, dict[str, str]]) -> str:
    """Who does what, by ranks: the operation and the line, and of everything else what is not the same."""
    differing = {name for one in said.values() for name in one if len({other.get(name) for other in said.values()}) > 1}
    if "at" in differing:  # then everything does
        differing = {"shapes"}
    ranks = defaultdict(list)
    for rank, one in said.items():
        ranks[_sentence(one, differing)].append(rank)
    lines = [f"  on {listed('rank', numbers)}: {words}" for words, numbers in ranks.items()]
    if len(lines) == 1:
        lines.append("  but of other arrays, or of other parts of them; with PGASPY_CHECK=1 it is said which")
    return "\n".join([f"the processes do not do the same. Operation {index} is", *lines, REMEDY])


def _sentence(said: dict[str, str], differing: set[str]) -> str:
    """What one process does, with what differs."""
    extra = [f", {name} {text}" for name, text in said.items() if name in differing - {"operation"} and text]
    return said["operation"] + "".join(extra) + (f", at {said['at']}" if said["at"] else "")
