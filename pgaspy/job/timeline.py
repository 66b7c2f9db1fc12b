"""The timeline of a run as Chrome trace JSON, which https://ui.perfetto.dev and chrome://tracing open. Environment:

`PGASPY_TRACE=file`
    write the timeline to this file at the end of the program. Rank 0, whose environment counts, writes it, with the
    events of all ranks, in place of an existing file. If it cannot be written, a warning says why, at the beginning
    where that can be known then; the program is not affected.

Each rank is a process of the timeline, with

- what it did, nested: flushes (what called for them, and where in the program), in them the computations by name, and
  waiting, planning and compiling. Between flushes, the program itself runs;
- its messages from start to completion, with peer and bytes;
- the bytes that it held ahead: received or packed before they were needed.

The clocks of hosts are taken as they are set: between two hosts, events are shifted by as much as these differ.

There is no timeline of a job that is aborted, as one of several processes does with an uncaught exception. One that
ends at a `raise SystemExit(n)`, or a process alone that fails, writes what happened until then.
"""

from __future__ import annotations

import json
import os
import socket
import sys
import time
import warnings
from array import array
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from pgaspy.host import environment
from pgaspy.host.call_sites import caller

if TYPE_CHECKING:
    from mpi4py import MPI

__all__ = ["MAX_EVENTS", "Message", "Timeline", "TraceWarning", "begin"]

MAX_EVENTS = 1_000_000
"""Events that a process keeps, at 32 bytes each; further ones are counted only."""

CHUNK_EVENTS = 10_000
"""Events that are sent to rank 0 and written together: a megabyte or two."""

TAG = 0
"""Of the messages to rank 0, at a time when there are no others any more."""


class TraceWarning(UserWarning):
    """The timeline is not complete, or not written at all, for the reason given."""


class Message(Protocol):
    """A message, as it is drawn and counted."""

    @property
    def name(self) -> str:
        """What it is called."""

    @property
    def peer(self) -> int:
        """The rank of the process to which it goes, or from which it comes."""

    @property
    def nbytes(self) -> int:
        """How much it is."""

    @property
    def is_receive(self) -> bool:
        """Whether it comes."""


class Timeline:
    """The events of this process, and the file that those of all are written to.

    An event is a category, a subject, and two times by `time.perf_counter`, kept in three columns: so a computation
    costs no object of its own.
    """

    def __init__(self, path: str) -> None:
        self._path = Path(path).resolve()
        self._process = os.getpid()
        self._start, self._start_ns = _clocks()
        self._categories: list[str] = []
        self._subjects: list[Any] = []
        self._times = array("d")
        self._n_dropped = 0

    # Recording -------------------------------------------------------------------------------------------------------

    def add(self, category: str, subject: Any, start: float, stop: float) -> None:
        """Add an event: its name, or what its category has as subject (see `_SHAPES`)."""
        if len(self._subjects) >= MAX_EVENTS:
            self._n_dropped += 1
            return
        self._categories.append(category)
        self._subjects.append(subject)
        self._times.extend((start, stop))

    def completed(self, message: Message, start: float) -> None:
        """Add a message that was under way from `start` until now."""
        self.add("message", message, start, time.perf_counter())

    def held(self, nbytes: int) -> None:
        """Note how many bytes are held ahead from now on."""
        now = time.perf_counter()
        self.add("held", nbytes, now, now)

    def flushed(self, start: float, n_operations: int, cause: str | None) -> None:
        """Add a flush from `start` until now; without a cause, that is the public function that was called."""
        stop = time.perf_counter()
        called, file, line = caller(sys._getframe(1))
        self.add("flush", (cause or called, n_operations, file, line), start, stop)

    # Writing ---------------------------------------------------------------------------------------------------------

    def check(self) -> None:
        """Warn if it is known already that the file cannot be written."""
        problem = self._problem()
        if problem is not None:
            self._warn(f"PGASPY_TRACE: unless that changes before the program ends, {self._path} cannot be written: "
                       f"{problem}")

    def write(self, comm: MPI.Intracomm) -> None:
        """Write the file, on rank 0. Collective; nothing else may be under way on the communicator."""
        if os.getpid() != self._process:  # a fork of the process that is part of the job
            return
        starts = comm.gather(self._start_ns)
        chunks = list(self._chunks(comm.rank, comm.size, comm.bcast(None if starts is None else min(starts))))
        about = comm.gather((self._n_dropped, [len(chunk) for chunk in chunks]))
        if about is None:
            for chunk in chunks:
                comm.Send(chunk, 0, TAG)
            return
        parts = _all_chunks(comm, chunks, [sizes for _, sizes in about])
        try:
            problem = self._problem()
            if problem is None:
                _write(self._path, parts)
        except OSError as error:
            problem = str(error)
        for _ in parts:  # what the others send has to be received in any case
            pass
        n_dropped = sum(n for n, _ in about)
        if problem is not None:
            self._warn(f"PGASPY_TRACE: the timeline could not be written to {self._path}: {problem}")
        elif n_dropped:
            self._warn(f"PGASPY_TRACE: {self._path} is without the last {n_dropped} events, as each process keeps "
                       f"{MAX_EVENTS}: trace a shorter run")

    def _problem(self) -> str | None:
        """Why the file cannot be written, if that is known without trying."""
        folder = self._path.parent
        if not folder.is_dir():
            return f"there is no folder {folder}"
        if self._path.exists() and not self._path.is_file():
            return "there is something of this name that is no regular file"
        if not os.access(folder, os.W_OK | os.X_OK):
            return f"no file can be created in the folder {folder}"
        return None

    def _warn(self, message: str) -> None:
        warnings.warn(message, TraceWarning, stacklevel=2)

    def _chunks(self, rank: int, size: int, origin_ns: int) -> Iterator[bytes]:
        """The events as JSON, separated by commas, with times since the origin."""
        starts, stops = self._times[::2], self._times[1::2]
        offset = self._start_ns - origin_ns
        # of those that start at the same time, the outer ones, which ended and were added later, come first
        order = sorted(range(len(starts) - 1, -1, -1), key=starts.__getitem__)
        shapes = _Shapes(rank, size)
        yield _as_json(shapes.metadata(self._n_dropped))
        for first in range(0, len(order), CHUNK_EVENTS):
            events: list[dict[str, Any]] = []
            for k in order[first : first + CHUNK_EVENTS]:
                category = self._categories[k]
                shape = _SHAPES.get(category, _Shapes.lasting)
                events += shape(shapes, category, self._subjects[k],
                                *(offset + round((t - self._start) * 1e9) for t in (starts[k], stops[k])))
            yield _as_json(events)


class _Shapes:
    """Events as Chrome trace JSON has them.

    Perfetto gives the process 0 a meaning of its own, and takes thread numbers to be unique in the whole trace.
    """

    def __init__(self, rank: int, size: int) -> None:
        self._rank, self._size = rank, size
        self._main = {"pid": rank + 1, "tid": rank + 1}
        self._messages = {"pid": rank + 1, "tid": rank + 1 + size}
        self._n_messages = 0

    def metadata(self, n_dropped: int) -> list[dict[str, Any]]:
        """The names of this process and its threads."""
        found = [{"ph": "M", "name": "process_name", **self._main,
                  "args": {"name": f"rank {self._rank} of {self._size}, {socket.gethostname()}"}},
                 {"ph": "M", "name": "process_sort_index", **self._main, "args": {"sort_index": self._rank}},
                 {"ph": "M", "name": "thread_name", **self._main, "args": {"name": "computing"}},
                 {"ph": "M", "name": "thread_name", **self._messages, "args": {"name": "messages"}}]
        if n_dropped:
            found.append({"ph": "M", "name": "process_labels", **self._main,
                          "args": {"labels": f"without the last {n_dropped} events"}})
        return found

    def lasting(self, category: str, name: str, start: int, stop: int) -> list[dict[str, Any]]:
        """Something that the main thread did."""
        return [{"ph": "X", "cat": category, "name": name, "ts": start / 1000, "dur": (stop - start) / 1000,
                 **self._main}]

    def flush(self, category: str, subject: tuple[str, int, str, int], start: int, stop: int) -> list[dict[str, Any]]:
        """A flush, of which the cause, the number of operations, and the place in the program are known."""
        cause, n_operations, file, line = subject
        (event,) = self.lasting(category, f"flush: {cause.strip('_')}", start, stop)
        return [event | {"args": {"operations": n_operations, "at": f"{file}:{line}"}}]

    def message(self, category: str, message: Message, start: int, stop: int) -> list[dict[str, Any]]:
        """A message, which others may overlap: a beginning and an end of one number, unique in the whole trace."""
        event = {"cat": category, "name": message.name, "id": hex(self._n_messages * self._size + self._rank),
                 **self._messages}
        self._n_messages += 1
        return [event | {"ph": "b", "ts": start / 1000, "args": {"peer": message.peer, "bytes": message.nbytes}},
                event | {"ph": "e", "ts": stop / 1000}]

    def held(self, category: str, nbytes: int, start: int, stop: int) -> list[dict[str, Any]]:
        """A new value of the counter."""
        return [{"ph": "C", "name": "held ahead", "ts": start / 1000, **self._main, "args": {"bytes": nbytes}}]


_SHAPES: dict[str, Any] = {"flush": _Shapes.flush, "message": _Shapes.message, "held": _Shapes.held}
"""The categories whose subject is more than a name."""


def begin(comm: MPI.Intracomm) -> Timeline | None:
    """The timeline that `PGASPY_TRACE` on rank 0 asks for. Collective."""
    path = comm.bcast(environment.value("PGASPY_TRACE"))
    if not path:
        return None
    found = Timeline(path)
    if comm.rank == 0:
        found.check()
    return found


def _clocks() -> tuple[float, int]:
    """The same moment by `time.perf_counter`, and in nanoseconds by the host's clock."""
    def look() -> tuple[float, float, int]:
        before, now, after = time.perf_counter(), time.time_ns(), time.perf_counter()
        return after - before, (before + after) / 2, now

    return min(look() for _ in range(5))[1:]


def _as_json(events: Sequence[dict[str, Any]]) -> bytes:
    return ",\n".join(json.dumps(event) for event in events).encode()


def _all_chunks(comm: MPI.Intracomm, own: Sequence[bytes], sizes: Sequence[Sequence[int]]) -> Iterator[bytes]:
    """The chunks of all ranks, one rank after the other."""
    yield from own
    for rank in range(1, comm.size):
        for size in sizes[rank]:
            chunk = bytearray(size)
            comm.Recv(chunk, rank, TAG)
            yield bytes(chunk)


def _write(path: Path, chunks: Iterator[bytes]) -> None:
    """Write a file, which appears under its name when it is complete."""
    temporary = path.with_name(f"{path.name}.{os.getpid()}.tmp")
    try:
        with temporary.open("xb") as file:
            file.write(b'{"displayTimeUnit": "ns", "traceEvents": [\n')
            for number, chunk in enumerate(chunks):
                file.write((b",\n" if number else b"") + chunk)
            file.write(b"\n]}\n")
        temporary.replace(path)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise
