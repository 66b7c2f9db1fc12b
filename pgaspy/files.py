"""Files: global arrays in NumPy's `.npy` format, read and written by all processes together.

One process reads and writes the header, and tells the others, also when it fails. Then the array is taken section by
section: assignment brings it to where each process has one run of the file, and from there.
"""

from __future__ import annotations

import itertools
import math
import os
from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

from pgaspy.array import GlobalArray
from pgaspy.creation import AnyLayout, asarray, empty
from pgaspy.distribution import Distribution
from pgaspy.execution import recording
from pgaspy.execution.recording import needed, stand_ins, sync, together
from pgaspy.fileio.agreement import on_first_rank
from pgaspy.fileio.formats import Format, Header
from pgaspy.fileio.npy import Npy
from pgaspy.fileio.replacing import beside, create, discard, finish
from pgaspy.fileio.runs import OpenFile, Section, opened, sections
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
    """The array in an `.npy` file, of which each process reads a part. Collective.

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
        with opened(path, os.O_RDONLY, lambda: path) as found:
            header = on_first_rank(lambda: _read_header(found, path))
            base = Base(layout_for(header.shape, layout, onenode), native(header.dtype))
            _read(found, header, array := GlobalArray(base, whole(base.layout)))
    return array


def save(file: str | os.PathLike[str], array: Any) -> None:
    """Write an array to an `.npy` file, each process a part; the file is that of NumPy's `save`. Collective.

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
    with together():
        sync()  # all that is recorded comes before the call
        needed(lambda: recording.finish(array._base))  # and what has failed, before the others wait for this process
        announce("save", path, bases=(array._base,), meets=True)
        _write(path, array)


def _write(path: str, array: GlobalArray) -> None:
    new = on_first_rank(lambda: create(path, FORMAT, array.shape, array.dtype))
    try:
        with opened(path, os.O_WRONLY, lambda: beside(path, new)) as file:
            for part in _parts(array, new.header):
                file.write(needed(part.brought().local), part.start)
                file.agree()
    except BaseException:
        if world().rank == 0:
            discard(new)
        raise
    on_first_rank(lambda: finish(new))


def _read(file: OpenFile, header: Header, array: GlobalArray) -> None:
    is_in_order = _is_in_order(header)
    for part in _parts(array, header):
        x = part.section
        if not (is_in_order and part.lies_there):  # decided by all alike
            x = empty(x.shape, array.dtype, layout=part.layout)
        local = needed(x.local)
        file.read(local, part.start)
        file.agree()
        if array.dtype != header.dtype:
            local.byteswap(inplace=True)
        if x is not part.section:
            part.section[...] = x
            sync()


class _Part(NamedTuple):
    """A section of an array in a file, the layout in which each process has one run of it, and where its run starts."""

    section: GlobalArray
    layout: Layout
    start: int

    @property
    def lies_there(self) -> bool:
        """Whether each process has the elements of its run, in whatever order."""
        own = self.section._view.own_layout
        return own == self.layout or (own is not None and world().size == 1)

    def brought(self) -> GlobalArray:
        """The section, in runs."""
        return self.section if self.lies_there else self.section.redistribute(self.layout)


def _parts(array: GlobalArray, header: Header) -> Iterator[_Part]:
    """The parts of an array one after the other, in the order of the file."""
    if not array.size:
        return
    job, itemsize = world(), array.dtype.itemsize
    rows = array.transpose(sorted(range(array.ndim), key=lambda d: -header.strides[d])) if array.ndim else array[None]
    layout = _in_runs(rows.shape, job.size)
    cuts: Iterable[Section] = [Section((...,), 0)]
    if rows._view.own_layout != layout or not (rows._view.is_whole and _is_in_order(header)):
        cuts = sections(rows.shape, job.size, itemsize)
    for cut in cuts:
        section = rows[cut.key]
        layout = _in_runs(section.shape, job.size)
        first, _ = layout.dims[0].owned_interval(layout.dim_coord(0, layout.coords_from_rank(job.rank))) or (0, 0)
        yield _Part(section, layout, header.offset + (cut.first + first * math.prod(section.shape[1:])) * itemsize)


def _is_in_order(header: Header) -> bool:
    """Whether elements lie in the file as in memory."""
    return all(outer >= inner for outer, inner in itertools.pairwise(header.strides))


def _in_runs(shape: tuple[int, ...], n_procs: int) -> Layout:
    """The layout in which each process has one run of what lies in C order in the file."""
    return Distribution("block", *"*" * (len(shape) - 1)).bind(shape, n_procs)


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


def _read_header(opened_file: OpenFile, path: str) -> Header:
    with opened_file.from_the_beginning() as file:
        header = FORMAT.read_header(file, path)
        nbytes = os.fstat(file.fileno()).st_size
    check_dtype(header.dtype)
    if nbytes < header.nbytes:
        raise ValueError(f"{path} is cut short: its header (shape {header.shape}, dtype {header.dtype}) says "
                         f"{header.nbytes} bytes, the file has {nbytes}")
    return header
