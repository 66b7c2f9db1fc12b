"""Whether all processes do the same: `PGASPY_CHECK=1`.

Each process makes a digest of every collective operation that it records (see `journal`), and sends its digests to the
next rank, which compares them with its own. Where each agrees with the rank before it, all agree, whatever their
number, and each has one such message under way at most. Nobody waits for them: they are looked for when something is
recorded or flushed, and while the process waits for other messages or ends. So a process that is late is no error,
wherever it flushes, but one that says something else. Whoever finds that raises the alarm, which each hands on to
those at distances of powers of two; then all tell what they do, and raise the same error.

A process that leaves operations out goes on to others, or to the end of its program, which counts as one.
"""

from __future__ import annotations

import json
import time
from collections import defaultdict, deque
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from mpi4py import MPI

from pgaspy.trees import flood_targets
from pgaspy.words import listed

if TYPE_CHECKING:
    from collections.abc import Callable

    from pgaspy.journal import Entry, Journal

__all__ = ["Checker", "DivergenceError", "meet"]

BATCH = 64
"""Digests are sent when they are so many, or when the process has time."""

MAX_REPORT_BYTES = 4096
"""Of what a process says about its operation."""

PATIENCE_SECONDS = 60
"""How long the others are waited for when one has found a difference: some may be in code of their own."""

DIGESTS, ALARM = 0, 1
"""The tags."""


class DivergenceError(RuntimeError):
    """The processes do not record the same collective operations; the message says which do what, and where."""

    tells_lines = True
    """For `tracebacks`."""


class Checker:
    """The operations of this process, compared with those of the rank before it."""

    def __init__(self, comm: MPI.Intracomm, journal: Journal) -> None:
        """Collective."""
        self._comm, self._meetings = comm.Dup(), comm.Dup()
        self._journal = journal
        self._is_first, self._is_last = comm.rank == 0, comm.rank == comm.size - 1
        self._own: deque[int] = deque()  # that the rank before has not told yet
        self._theirs: deque[int] = deque()
        self._n_agreed = 0
        self._unsent: list[int] = []
        self._sending = MPI.REQUEST_NULL
        self._error: DivergenceError | None = None

    def add(self, entry: Entry) -> None:
        """Take the next operation.

        Raises
        ------
        DivergenceError
            If processes are known to differ; from then on, always.
        """
        if self._error is not None:
            raise self._error
        digest = entry.digest()
        if not self._is_first:
            self._own.append(digest)
        if not self._is_last:
            self._unsent.append(digest)
        if self._journal.n_entries % BATCH == 0:
            self.poll()

    def meet(self) -> None:
        """Wait until all processes have come here, and agree up to here. Collective."""
        while self._own:
            self.poll()
            time.sleep(1e-4)
        meet(self._meetings, self.poll)

    def poll(self) -> None:
        """Send what is not sent, and compare what has come. Does not wait.

        Raises
        ------
        DivergenceError
            If processes differ.
        """
        if self._error is not None:
            raise self._error
        if self._unsent and self._sending.Test():
            digests, self._unsent = np.array(self._unsent, np.uint64), []
            self._sending = self._comm.Isend(digests, self._comm.rank + 1, DIGESTS)
        status = MPI.Status()
        while self._comm.Iprobe(MPI.ANY_SOURCE, MPI.ANY_TAG, status):
            found = np.empty(status.Get_count(MPI.UINT64_T), np.uint64)
            self._comm.Recv(found, status.source, status.tag)
            if status.tag == ALARM:
                self._diverge(int(found[0]))
            self._theirs.extend(found.tolist())
        while self._own and self._theirs:
            if self._own.popleft() != self._theirs.popleft():
                self._diverge(self._n_agreed)
            self._n_agreed += 1

    def _diverge(self, index: int) -> None:
        """Tell the others of an operation that is not the same everywhere, and learn what it is on all of them."""
        comm, n = self._comm, self._comm.size
        alarm = np.array([index], np.uint64)
        alarms = [comm.Isend(alarm, peer, ALARM) for peer in flood_targets(comm.rank, n)]
        first = alarm.copy()
        own = bytearray(MAX_REPORT_BYTES)
        reports = np.zeros((n, MAX_REPORT_BYTES), np.uint8)
        answered = _wait(comm.Iallreduce(MPI.IN_PLACE, first, MPI.MIN))
        if answered:
            said = self._said(int(first[0]))
            own[:len(said)] = said
            answered = _wait(comm.Iallgather(np.frombuffer(own, np.uint8), reports))
        MPI.Request.Testall(alarms)
        if answered:
            said_by_all = [json.loads(bytes(report).rstrip(b"\0")) for report in reports]
            self._error = DivergenceError(_message(int(first[0]), said_by_all))
        else:
            mine = json.loads(self._said(index))
            self._error = DivergenceError(
                f"operation {index} is not the same on all processes. On this one it is {mine['operation']}"
                f"{', at ' + mine['at'] if mine['at'] else ''}; not all of the others have answered for "
                f"{PATIENCE_SECONDS} s")
        raise self._error

    def _said(self, index: int) -> bytes:
        """What this process says about its operation of an index, as JSON."""
        entry = self._journal.entry(index)
        if entry is not None:
            fields = entry.fields()
        else:
            last = self._journal.entry(self._journal.n_entries - 1)
            what = "nothing yet" if index >= self._journal.n_entries else "too long ago to be known"
            fields = {"operation": f"{what} (the last one was {self._journal.n_entries - 1}: {last})", "at": ""}
        limit = MAX_REPORT_BYTES // (4 * len(fields))  # of characters, which may take several bytes each
        while len(said := json.dumps({key: text[:limit] for key, text in fields.items()}).encode()) > MAX_REPORT_BYTES:
            limit //= 2
        return said


def meet(comm: MPI.Intracomm, poll: Callable[[], None] = lambda: None) -> None:
    """A barrier that lets this process do other things meanwhile. Collective."""
    request = comm.Ibarrier()
    while not request.Test():
        poll()
        time.sleep(1e-4)


def _wait(request: MPI.Request) -> bool:
    """Whether a request is complete within the time that the others have."""
    stop = time.monotonic() + PATIENCE_SECONDS
    while not request.Test():
        if time.monotonic() > stop:
            return False
        time.sleep(1e-3)
    return True


def _message(index: int, said: Sequence[dict[str, str]]) -> str:
    """Who does what: the operation and the line, and of everything else what is not the same."""
    differing = {name for name in said[0] if len({one.get(name) for one in said}) > 1}
    if "at" in differing:  # then everything does
        differing = {"shapes"}
    ranks = defaultdict(list)
    for rank, one in enumerate(said):
        ranks[_sentence(one, differing)].append(rank)
    return "\n".join([f"the processes do not do the same. Operation {index} is",
                      *(f"  on {listed('rank', numbers)}: {words}" for words, numbers in ranks.items())])


def _sentence(said: dict[str, str], differing: set[str]) -> str:
    """What one process does, with what differs."""
    extra = [f", {name} {text}" for name, text in said.items() if name in differing - {"operation"} and text]
    return said["operation"] + "".join(extra) + (f", at {said['at']}" if said["at"] else "")
