"""New files, which take the place of others when they are complete. Called on one process."""

from __future__ import annotations

import errno
import math
import os
import secrets
import shutil
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from pgaspy.fileio.formats import Format, Header
from pgaspy.fileio.paths import check_regular

__all__ = ["NewFile", "beside", "create", "discard", "finish"]


class NewFile(NamedTuple):
    """A file that is being written, and the one whose place it takes."""

    path: str
    destination: str
    header: Header


def create(path: str, file_format: Format, shape: tuple[int, ...], dtype: np.dtype[Any]) -> NewFile:
    """A new file beside `path`, with the header alone."""
    destination = Path(os.path.realpath(path))  # a symbolic link is followed, not replaced
    _check_replaceable(destination)
    _check_space(destination, math.prod(shape) * dtype.itemsize)
    new = destination.with_name(_name_of_part(destination))
    with new.open("xb") as file:
        try:
            header = file_format.write_header(file, shape, dtype)
        except BaseException:
            new.unlink()
            raise
    return NewFile(os.fspath(new), os.fspath(destination), header)


def beside(path: str, new: NewFile) -> str:
    """Where another process finds a new file, by its own reckoning."""
    return os.fspath(Path(os.path.realpath(path)).with_name(Path(new.path).name))


def finish(new: NewFile) -> None:
    """Let a new file take its place."""
    path, destination = Path(new.path), Path(new.destination)
    try:
        with path.open("rb") as file:  # a network file system asks for the size then, of what others have written
            found, expected = os.fstat(file.fileno()).st_size, new.header.nbytes
        if found != expected:
            raise OSError(errno.EIO, f"{found} of {expected} bytes were written", new.destination)
        if destination.exists():
            shutil.copymode(destination, path)
        path.replace(destination)
    except BaseException:
        discard(new)
        raise


def discard(new: NewFile) -> None:
    """Remove a new file, if it is there."""
    Path(new.path).unlink(missing_ok=True)


def _name_of_part(destination: Path) -> str:
    """A name of its own for the new file, which says whose place it will take as far as names may be so long."""
    ending = f".{secrets.token_hex(4)}.part"
    max_bytes = os.pathconf(destination.parent, "PC_NAME_MAX") - len("." + ending)
    return f".{os.fsdecode(os.fsencode(destination.name)[:max_bytes])}{ending}"


def _check_replaceable(destination: Path) -> None:
    """Refuse what NumPy's `save` could not open for writing, and what is no file to be replaced."""
    try:
        mode = destination.stat().st_mode
    except FileNotFoundError:
        return
    check_regular(mode, os.fspath(destination))
    if not os.access(destination, os.W_OK):
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), os.fspath(destination))


def _check_space(destination: Path, nbytes: int) -> None:
    """Refuse at once what does not fit."""
    system = os.statvfs(destination.parent)
    free = system.f_bavail * system.f_frsize
    if nbytes > free and system.f_blocks > 0:  # some network file systems do not tell
        raise OSError(errno.ENOSPC, f"the array has {nbytes} bytes, the file system {free} free",
                      os.fspath(destination))
