"""Files: global arrays in NumPy's `.npy` format, read and written by all processes together.

One process reads and writes the header, and tells the others, also when it fails. Each process reads and writes its own
part of the elements.
"""

from __future__ import annotations

import os
from typing import Any

from numpy.typing import NDArray

from pgaspy.array import GlobalArray
from pgaspy.creation import AnyLayout, asarray
from pgaspy.execution.recording import needed, stand_ins, sync, together
from pgaspy.fileio.agreement import on_first_rank
from pgaspy.fileio.collective import LocalPart, read_or_write
from pgaspy.fileio.formats import Format, Header
from pgaspy.fileio.npy import Npy
from pgaspy.fileio.paths import open_regular
from pgaspy.fileio.replacing import create, discard, finish
from pgaspy.job.defaults import layout_for
from pgaspy.job.procgrid import world
from pgaspy.layout import Layout
from pgaspy.operands import check_dtype, native
from pgaspy.planning.view import whole
from pgaspy.scheduling.base import Base
from pgaspy.supervision.recorder import announce

__all__ = ["load", "save"]

FORMAT: Format = Npy()


def load(file: str | os.PathLike[str], *, layout: AnyLayout = None, onenode: int | None = None) -> GlobalArray:
    """The array in an `.npy` file, each process reading its own part. Collective.

    Parameters
    ----------
    file
        The path of the file, the same on every process, in a file system that they share; a relative path needs the
        same working directory.
    layout, onenode
        As for `empty`; the job's default layout by default.

    Raises
    ------
    OSError
        If the file cannot be opened or read on some process, or is no regular file; its subclasses are those of `open`.
    ValueError
        If the file is no `.npy` file, is shorter than its header says, or holds pickled objects; or if it is another
        one on some process.
    TypeError
        If its dtype is structured.

    Notes
    -----
    The file may be in either order of elements and of bytes; the array is in C order and in this machine's byte
    order. Bytes after the last element are ignored, as NumPy does.
    """
    path = _checked_path(file)
    with together():
        sync()
        announce("load", path, meets=True)
        header = on_first_rank(lambda: _read_header(path))
        base = Base(layout_for(header.shape, layout, onenode), native(header.dtype))
        read_or_write(path, path, header, lambda: LocalPart(base.layout, base.local, header.strides))
    if base.dtype != header.dtype:
        base.local.byteswap(inplace=True)
    return GlobalArray(base, whole(base.layout))


def save(file: str | os.PathLike[str], array: Any) -> None:
    """Write an array to an `.npy` file, each process its own part; the file is that of NumPy's `save`. Collective.

    The array is written to a new file, which takes the place of an existing one at the end: if anything fails, that is
    as it was. So an array may be written to the file that it was read from.

    Parameters
    ----------
    file
        The path of the file, the same on every process, in a file system that they share; a relative path needs the
        same working directory. `.npy` is appended to a name that does not end so.
    array
        A global array, or an array-like that is the same on every process.

    Raises
    ------
    OSError
        If the file cannot be created, opened or written on some process, or takes the place of what is no regular
        file; the same on every process.
    """
    path = _checked_path(file)
    path = path if path.endswith(FORMAT.suffix) else path + FORMAT.suffix
    array = asarray(array)
    if array._view.own_layout is None:
        array = array.copy()
    with together():
        sync()  # all that is recorded comes before the call
        local = needed(array.local)
        announce("save", path, bases=(array._base,), meets=True)
        _write(path, array, local)


def _write(path: str, array: GlobalArray, local: NDArray[Any]) -> None:
    layout = array.layout
    new = on_first_rank(lambda: create(path, FORMAT, array.shape, array.dtype))
    try:
        read_or_write(path, new.path, new.header,
                      lambda: LocalPart(layout, local, new.header.strides, is_writer=_is_writer(layout)))
    except BaseException:
        if world().rank == 0:
            discard(new)
        raise
    on_first_rank(lambda: finish(new))


def _is_writer(layout: Layout) -> bool:
    """Whether this process writes its part: of the replicas, the first one does."""
    coords = layout.coords_from_rank(world().rank)
    return all(coords[axis] == 0 for axis in layout.replica_axes)


def _checked_path(file: str | os.PathLike[str]) -> str:
    if stand_ins() is not None:
        raise RuntimeError("a simulated job has no files: leave out what loads and saves, or make the array by empty()")
    if not isinstance(file, str | bytes | os.PathLike):
        raise TypeError("a file is given by its path, str, bytes or os.PathLike, as each process opens it: not as "
                        f"{type(file).__name__}")
    path = os.fsdecode(file)
    if "\0" in path:
        raise ValueError(f"a path has no null characters: {path!r}")
    return path


def _read_header(path: str) -> Header:
    with open(path, "rb", opener=open_regular) as file:
        header = FORMAT.read_header(file, path)
        nbytes = os.fstat(file.fileno()).st_size
    check_dtype(header.dtype)
    if nbytes < header.nbytes:
        raise ValueError(f"{path} is cut short: its header (shape {header.shape}, dtype {header.dtype}) says "
                         f"{header.nbytes} bytes, the file has {nbytes}")
    return header
