"""Paths that name the same regular file on every process."""

from __future__ import annotations

import errno
import os
import stat
import zlib
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from mpi4py import MPI
from numpy.typing import NDArray

from pgaspy.supervision.meetings import combine
from pgaspy.supervision.recorder import listen

__all__ = ["absolute", "are_equal", "check_regular", "check_same", "open_regular"]


def absolute(path: str) -> str:
    """The absolute path, where there is a working directory."""
    try:
        return os.fspath(Path(path).absolute())
    except OSError:  # the working directory is gone
        return path


def check_regular(mode: int, path: str) -> None:
    """Raise OSError for what is no regular file, by its mode."""
    if stat.S_ISDIR(mode):
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), path)
    if not stat.S_ISREG(mode):
        raise OSError(errno.EINVAL, "not a regular file", path)


def open_regular(path: str, flags: int) -> int:
    """`os.open`, which neither waits for the other end of a pipe nor touches a device."""
    check_regular(Path(path).stat().st_mode, path)
    return os.open(path, flags | os.O_CLOEXEC | os.O_NONBLOCK)


def are_equal(comm: MPI.Intracomm, numbers: Sequence[int]) -> bool:
    """Whether all processes have the same numbers, as many. Collective."""
    least, greatest = _limits(comm, numbers)
    return bool((least == greatest).all())


def check_same(comm: MPI.Intracomm, name: str, nbytes: int) -> None:
    """Refuse a path that means other files on other processes, as far as places and sizes tell. Collective."""
    place = zlib.crc32(os.fsencode(absolute(name)))
    least, greatest = _limits(comm, [place, nbytes])
    if least[0] != greatest[0]:
        raise ValueError(f"{name} is not the same file on every process, as paths or working directories differ: all "
                         "give one absolute path")
    if least[1] != greatest[1]:
        raise ValueError(f"{name} is not the same file on every process, it has {least[1]} bytes on one and "
                         f"{greatest[1]} on another: put it in a file system that they share")


def _limits(comm: MPI.Intracomm, numbers: Sequence[int]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """The least and the greatest of each of these numbers on all processes. Collective."""
    least = np.array([*numbers, *[-n for n in numbers]])
    combine(comm, least, MPI.MIN, listen)
    return least[:len(numbers)], -least[len(numbers):]
