"""Runs of the bytes of a file, which all processes have open: each reads and writes its own, by itself.

So what fails on a process fails there alone, with the system's error, and the others are told when all agree.
"""

from __future__ import annotations

import errno
import math
import os
import socket
import time
import zlib
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, BinaryIO, NamedTuple

import numpy as np
from numpy.typing import NDArray

from pgaspy.fileio.agreement import Failures
from pgaspy.fileio.paths import are_equal, check_same, open_regular
from pgaspy.job.procgrid import world

__all__ = ["MAX_RUN_BYTES", "OpenFile", "Section", "opened", "sections"]

MAX_RUN_BYTES = 1 << 26
"""What a process has of a section at most, where it is brought to it."""

MAX_CALL_BYTES = 1 << 30
"""What is read or written in one call at most: below Linux's limit of 2**31 bytes."""

MANY_WRITERS = 64
"""A dimension that so many processes have parts of is not cut further for the sake of more of them."""

MAX_ATTEMPTS = 8
"""How often a file is opened that others put another one in the place of meanwhile."""


class Section(NamedTuple):
    """Elements that follow one another in a file: of an array with its dimensions in the order of the file."""

    key: tuple[Any, ...]
    first: int
    """The number of elements before them."""


def sections(shape: Sequence[int], n_procs: int, itemsize: int) -> Iterator[Section]:
    """An array, cut into sections whose blocks of the first dimension are long runs, but not too long ones."""
    rest = [math.prod(shape[d + 1:]) for d in range(len(shape))]
    max_elements = max(MAX_RUN_BYTES // itemsize, 1)
    d = next((d for d, n in enumerate(rest)
              if math.prod(shape[:d + 1]) >= min(n_procs, MANY_WRITERS) and n <= max_elements), len(shape) - 1)
    rows = max(max_elements // rest[d], 1) * n_procs
    for number, lead in enumerate(np.ndindex(*shape[:d])):
        for start in range(0, shape[d], rows):
            yield Section((*lead, slice(start, min(start + rows, shape[d]))), (number * shape[d] + start) * rest[d])


class OpenFile:
    """A file that all processes have open."""

    def __init__(self, name: str, descriptor: int, failures: Failures) -> None:
        self._name, self._descriptor, self._failures = name, descriptor, failures

    def from_the_beginning(self) -> BinaryIO:
        """The file as Python reads it, on one process, to be closed."""
        file = os.fdopen(os.dup(self._descriptor), "rb")
        file.seek(0)
        return file

    def read(self, to: NDArray[Any], start: int) -> None:
        """Fill a contiguous array with the bytes from `start` on; what fails is raised by `agree`."""
        self._move(os.preadv, to, start)

    def write(self, x: NDArray[Any], start: int) -> None:
        """Write an array as the bytes from `start` on; what fails is raised by `agree`."""
        with self._failures:
            x = np.ascontiguousarray(x)
        self._move(os.pwritev, x, start)

    def agree(self) -> None:
        """Raise OSError on every process, if anything has failed on any. Collective."""
        self._failures.raise_together(world().communicator, self._name)

    def _move(self, call: Callable[[int, Sequence[memoryview], int], int], x: NDArray[Any], start: int) -> None:
        if self._failures.first is not None or not x.size:
            return
        with self._failures:
            flat: Any = np.ndarray((x.nbytes,), np.uint8, x)
            left = memoryview(flat)
            while left:
                moved = call(self._descriptor, [left[:MAX_CALL_BYTES]], start)
                if not moved:
                    raise OSError(errno.EIO, f"{x.nbytes - len(left)} of {x.nbytes} bytes were moved")
                left, start = left[moved:], start + moved


@contextmanager
def opened(name: str, flags: int, path: Callable[[], str]) -> Iterator[OpenFile]:
    """The file `name` in the place where this process finds it, until all are done with it. Collective.

    Raises
    ------
    OSError
        If it cannot be opened, read, written or closed on some process.
    ValueError
        If it is another one on some process.
    """
    comm, failures, descriptor, nbytes = world().communicator, Failures(), None, 0
    try:
        for attempt in range(MAX_ATTEMPTS):
            if descriptor is not None:
                os.close(descriptor)
                descriptor = None
                time.sleep(2**attempt / 4000)
            known: tuple[int, ...] = ()
            with failures:
                descriptor = open_regular(path(), flags)
                found = os.fstat(descriptor)
                nbytes, known = found.st_size, (found.st_size, found.st_mtime_ns, found.st_ino % 2**62)
            failures.raise_together(comm, name)
            is_same = flags != os.O_RDONLY or are_equal(comm, known)
            if is_same:
                break
        check_same(comm, name, nbytes if flags == os.O_RDONLY else 0)
        if not is_same and are_equal(comm, [zlib.crc32(socket.gethostname().encode())]):  # hosts may differ in these
            raise ValueError(f"{name} is not the same file on every process: other files take its place meanwhile")
        assert descriptor is not None
        yield OpenFile(name, descriptor, failures)
        closed, descriptor = descriptor, None
        with failures:
            os.close(closed)  # where some file systems say that they are full
        failures.raise_together(comm, name)
    finally:
        if descriptor is not None:
            os.close(descriptor)
