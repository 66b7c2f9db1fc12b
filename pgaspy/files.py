"""Files: global arrays in NumPy's `.npy` format, read and written by all processes together.

Each process reads and writes its own part only, through MPI-IO: what it holds of each dimension, as ranges of global
indices, becomes a datatype that says where its elements lie in the file. A part longer than `MAX_CALL_BYTES` goes in
several slabs. One process reads and writes the header, and tells the others, also when it fails. Each process opens the
file by itself before all of them open it through MPI: some MPIs wait for ever where one process cannot.
"""

from __future__ import annotations

import errno
import itertools
import math
import os
import secrets
import shutil
import socket
import stat
import zlib
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any, BinaryIO, NamedTuple, TypeVar

import numpy as np
from mpi4py import MPI
from numpy.lib import format as npy
from numpy.typing import NDArray

from pgaspy.array import GlobalArray
from pgaspy.creation import AnyLayout, asarray
from pgaspy.execution.recording import sync
from pgaspy.job.defaults import layout_for
from pgaspy.job.procgrid import world
from pgaspy.layout import Layout
from pgaspy.operands import check_dtype
from pgaspy.planning.segments import LENGTH, OTHER_START, OTHER_STEP, OWN_START, Indices, global_ranges
from pgaspy.planning.transfers import strides_from_shape
from pgaspy.planning.view import whole
from pgaspy.scheduling.base import Base
from pgaspy.supervision.recorder import announce

__all__ = ["load", "save"]

MAX_CALL_BYTES = 1 << 30
"""What one process reads or writes in one call at most: below MPI's limit of 2**31 elements, and so of bytes."""

Slab = tuple[slice, ...]
"""A section of a local part that is contiguous in it, and read or written in one call."""

T = TypeVar("T")


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
    sync()
    announce("load", path, meets=True)
    header = _on_first_rank(lambda: _read_header(path))
    base = Base(layout_for(header.shape, layout, onenode), header.dtype.newbyteorder("="))
    _exchange(path, path, header.nbytes, lambda: _Part(base.layout, base.local, header.fortran_order))
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
    path = path if path.endswith(".npy") else path + ".npy"
    array = asarray(array)
    if array._view.own_layout is None:
        array = array.copy()
    sync()
    announce("save", path, bases=(array._base,), meets=True)
    layout, local = array.layout, array.local()
    new = _on_first_rank(lambda: _create(path, array.shape, array.dtype, array.nbytes))
    try:
        _exchange(path, new.path, new.nbytes_header, lambda: _Part(layout, local, is_writer=_is_writer(layout)))
    except BaseException:
        if world().rank == 0:
            Path(new.path).unlink(missing_ok=True)
        raise
    _on_first_rank(lambda: _finish(new, array.nbytes))


def _is_writer(layout: Layout) -> bool:
    """Whether this process writes its part: of the replicas, the first one does."""
    coords = layout.coords_from_rank(world().rank)
    return all(coords[axis] == 0 for axis in layout.replica_axes)


def _checked_path(file: str | os.PathLike[str]) -> str:
    path = os.fsdecode(file)
    if "\0" in path:
        raise ValueError(f"a path has no null characters: {path!r}")
    return path


# The header, on one process -------------------------------------------------------------------------------------------


class _Header(NamedTuple):
    shape: tuple[int, ...]
    fortran_order: bool
    dtype: np.dtype[Any]
    nbytes: int


class _NewFile(NamedTuple):
    """A file that is being written, and the one whose place it takes."""

    path: str
    destination: str
    nbytes_header: int


def _on_first_rank(function: Callable[[], T]) -> T:
    """The result of a function that rank 0 calls, or the exception that it raises, on every process. Collective."""
    job = world()
    result, failure = None, None
    if job.rank == 0:
        try:
            result = function()
        except Exception as error:
            failure = error
            if isinstance(error, OSError):
                code, text = _described(error)
                failure = OSError(code, text + _on(job.size, 1, [_here(job.rank)]), error.filename)
    result, failure = job.communicator.bcast((result, failure))
    if failure is not None:
        raise failure
    return result


def _read_header(path: str) -> _Header:
    with open(path, "rb", opener=_open_regular) as file:
        start = file.read(npy.MAGIC_LEN)
        if not start.startswith(npy.MAGIC_PREFIX):
            is_zip = start.startswith(b"PK")
            remedy = ": it is an .npz archive; numpy.load it, and pass its arrays to array()" if is_zip else ""
            raise ValueError(f"{path} is not an .npy file, it begins with {start!r}{remedy}")
        file.seek(0)
        try:
            shape, fortran_order, dtype = _read_fields(file)
        except ValueError as error:
            raise ValueError(f"{path} has no valid .npy header: {error}") from None
        header = _Header(shape, fortran_order, dtype, file.tell())
        nbytes_file = os.fstat(file.fileno()).st_size
    if dtype.hasobject:
        raise ValueError(f"{path} holds pickled objects ({dtype}), which are not loaded: numpy.load it with "
                         "allow_pickle=True, if you trust it, and save it with a numeric dtype")
    check_dtype(dtype)
    if any(n < 0 for n in shape):
        raise ValueError(f"{path} has a negative extent in its header: shape {shape}")
    nbytes = header.nbytes + math.prod(shape) * dtype.itemsize
    if nbytes_file < nbytes:
        raise ValueError(f"{path} is cut short: its header (shape {shape}, dtype {dtype}) says {nbytes} bytes, "
                         f"the file has {nbytes_file}")
    return header


def _read_fields(file: BinaryIO) -> tuple[tuple[int, ...], bool, np.dtype[Any]]:
    """The shape, whether the order is Fortran's, and the dtype, from a header."""
    version = npy.read_magic(file)
    if version == (1, 0):
        return npy.read_array_header_1_0(file)
    if version in ((2, 0), (3, 0)):  # 3.0 is 2.0 in UTF-8, which only the names of a structured dtype's fields need
        return npy.read_array_header_2_0(file)
    raise ValueError(f"it is in version {version} of the format; 1.0, 2.0 and 3.0 can be read")


def _create(path: str, shape: tuple[int, ...], dtype: np.dtype[Any], nbytes: int) -> _NewFile:
    """A new file beside `path`, with the header alone."""
    destination = Path(os.path.realpath(path))  # a symbolic link is followed, not replaced
    _check_replaceable(destination)
    _check_space(destination, nbytes)
    new = destination.with_name(_name_of_part(destination))
    with new.open("xb") as file:
        try:
            npy.write_array_header_1_0(file, {"descr": npy.dtype_to_descr(dtype), "fortran_order": False,
                                              "shape": shape})
            return _NewFile(os.fspath(new), os.fspath(destination), file.tell())
        except BaseException:
            new.unlink()
            raise


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
    _check_regular(mode, os.fspath(destination))
    if not os.access(destination, os.W_OK):
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), os.fspath(destination))


def _check_regular(mode: int, path: str) -> None:
    if stat.S_ISDIR(mode):
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), path)
    if not stat.S_ISREG(mode):
        raise OSError(errno.EINVAL, "not a regular file", path)


def _open_regular(path: str, flags: int) -> int:
    """`os.open`, which neither waits for the other end of a pipe nor touches a device."""
    _check_regular(Path(path).stat().st_mode, path)
    return os.open(path, flags | os.O_CLOEXEC | os.O_NONBLOCK)


def _check_space(destination: Path, nbytes: int) -> None:
    """Refuse at once what does not fit: Open MPI's collective calls report no error when the device is full."""
    system = os.statvfs(destination.parent)
    free = system.f_bavail * system.f_frsize
    if nbytes > free and system.f_blocks > 0:  # some network file systems do not tell
        raise OSError(errno.ENOSPC, f"the array has {nbytes} bytes, the file system {free} free",
                      os.fspath(destination))


def _finish(new: _NewFile, nbytes: int) -> None:
    """Let the new file take its place."""
    path, destination = Path(new.path), Path(new.destination)
    try:
        found, expected = path.stat().st_size, new.nbytes_header + nbytes
        if found != expected:
            raise OSError(errno.EIO, f"{found} of {expected} bytes were written", new.destination)
        if destination.exists():
            shutil.copymode(destination, path)
        path.replace(destination)
    except BaseException:
        path.unlink(missing_ok=True)
        raise


# The elements, on all processes ---------------------------------------------------------------------------------------


class _Part:
    """What one process holds of an array in a file: per dimension of the file, ranges of global indices.

    `local` is the local part, here with its dimensions in the order of the file, which is the reverse of the array's
    for a file in Fortran order.
    """

    def __init__(self, layout: Layout, local: NDArray[Any], is_reversed: bool = False, is_writer: bool = True) -> None:
        order = range(layout.ndim)[::-1] if is_reversed else range(layout.ndim)
        coords = layout.coords_from_rank(world().rank)
        self._is_empty = local.size == 0 or not is_writer or not layout.holds(coords)
        self.local = local if self._is_empty else local.transpose(order)
        self.itemsize = local.dtype.itemsize
        self.nbytes_file = math.prod(layout.shape) * self.itemsize
        self._strides = strides_from_shape([layout.shape[d] for d in order], self.itemsize)
        self._ranges = [] if self._is_empty else [
            global_ranges(layout.dims[d], layout.dim_coord(d, coords)) for d in order]

    def slabs(self, max_elements: int) -> list[Slab]:
        """The local part, cut into sections that are contiguous in it, in its order."""
        return [] if self._is_empty else list(_slabs(self.local.shape, max(max_elements, 1)))

    def file_type(self, element: MPI.Datatype, slab: Slab) -> MPI.Datatype:
        """Where the elements of a slab lie in the file, after the header."""
        kind = element.Dup()
        for ranges, stride, cut in reversed(list(zip(self._ranges, self._strides, slab, strict=True))):
            kind = _placed(kind, _cut(ranges, cut.start, cut.stop), stride)
        return kind.Commit()


def _slabs(shape: Sequence[int], max_elements: int) -> Iterator[Slab]:
    """A C-ordered array, cut into contiguous sections of at most `max_elements` elements (at least one each)."""
    if not shape:
        yield ()
        return
    n, row = shape[0], math.prod(shape[1:])
    if row <= max_elements:
        thickness = max_elements // row
        whole_rows = tuple(slice(0, m) for m in shape[1:])
        for start in range(0, n, thickness):
            yield (slice(start, min(start + thickness, n)), *whole_rows)
        return
    for i in range(n):
        for rest in _slabs(shape[1:], max_elements):
            yield (slice(i, i + 1), *rest)


def _cut(ranges: Indices, start: int, stop: int) -> Indices:
    """The ranges of the local indices start, ..., stop - 1."""
    first = np.clip(start - ranges[:, OWN_START], 0, ranges[:, LENGTH])
    last = np.clip(stop - ranges[:, OWN_START], 0, ranges[:, LENGTH])
    cut = ranges.copy()
    cut[:, OWN_START] += first
    cut[:, OTHER_START] += first * ranges[:, OTHER_STEP]
    cut[:, LENGTH] = last - first
    return cut[last > first]


def _placed(inner: MPI.Datatype, ranges: Indices, stride: int) -> MPI.Datatype:
    """One dimension more: `inner` at each global index of the ranges; the inner datatype is freed."""
    element = inner.Create_resized(0, stride)
    starts = (ranges[:, OTHER_START] * stride).tolist()
    if len(ranges) == 1:
        distance, length = ranges[0, OTHER_STEP : LENGTH + 1].tolist()
        run = element.Create_hvector(length, 1, distance * stride)
        placed = run.Create_hindexed([1], starts)
        run.Free()
    else:  # only a single run has a step
        placed = element.Create_hindexed(ranges[:, LENGTH].tolist(), starts)
    element.Free()
    inner.Free()
    return placed


def _exchange(name: str, new: str, nbytes_header: int, make: Callable[[], _Part]) -> None:
    """Read the local parts from the file `name`, or write them to `new`, which is to take its place. Collective.

    Processes with fewer slabs than others, and those that failed, take part in the remaining calls with nothing.
    """
    comm = world().communicator
    failures, is_read = _Failures(), new == name
    mode, flags = (MPI.MODE_RDONLY, os.O_RDONLY) if is_read else (MPI.MODE_WRONLY, os.O_WRONLY)
    path, nbytes_file, part = new, 0, None
    with failures:
        if not is_read:  # by this process's own reckoning
            path = os.fspath(Path(os.path.realpath(name)).with_name(Path(new).name))
        nbytes_file = _opened_size(path, flags)
        part = make()
    failures.raise_together(comm, name)
    assert part is not None
    if is_read:
        _check_same(comm, name, nbytes_file)
    if part.nbytes_file == 0:
        return
    element = MPI.BYTE.Create_contiguous(part.itemsize).Commit()
    slabs = part.slabs(MAX_CALL_BYTES // part.itemsize)
    n_calls = comm.allreduce(len(slabs), MPI.MAX)
    with failures:
        file = MPI.File.Open(comm, os.fsencode(path), mode)
    failures.raise_together(comm, name)  # a process that did open it cannot close it alone
    for slab in itertools.islice(itertools.chain(slabs, itertools.repeat(None)), n_calls):
        section, data, kind = _NOTHING, _NOTHING, element
        if slab is not None and failures.first is None:
            with failures:
                section = _section(part.local, slab)
                data = section if section.flags.c_contiguous else section.copy(order="C")
                kind = part.file_type(element, slab)
        with failures:
            file.Set_view(nbytes_header, element, kind)
        with failures:
            _move(file.Read_all if is_read else file.Write_all, data)
        if is_read and data is not section:
            section[...] = data
        if kind is not element:
            kind.Free()
    element.Free()
    with failures:
        file.Close()
    failures.raise_together(comm, name)


def _opened_size(path: str, flags: int) -> int:
    """The size of a file, which this process can open."""
    descriptor = _open_regular(path, flags)
    try:
        return os.fstat(descriptor).st_size
    finally:
        os.close(descriptor)


def _check_same(comm: MPI.Intracomm, name: str, nbytes: int) -> None:
    """Refuse a path that means other files on other processes, as far as places and sizes tell. Collective."""
    place = zlib.crc32(os.fsencode(_absolute(name)))
    least = np.array([place, nbytes, -place, -nbytes])
    comm.Allreduce(MPI.IN_PLACE, least, MPI.MIN)
    if least[0] != -least[2]:
        raise ValueError(f"{name} is not the same file on every process, as their working directories differ: use an "
                         "absolute path")
    if least[1] != -least[3]:
        raise ValueError(f"{name} is not the same file on every process, it has {least[1]} bytes on one and "
                         f"{-least[3]} on another: put it in a file system that they share")


def _absolute(path: str) -> str:
    try:
        return os.fspath(Path(path).absolute())
    except OSError:  # the working directory is gone
        return path


_NOTHING: NDArray[Any] = np.empty(0, np.uint8)


def _section(local: NDArray[Any], slab: Slab) -> NDArray[Any]:
    index: Any = (*slab, ...)  # with an Ellipsis, a view also of a 0-d array
    return local[index]


def _move(call: Callable[..., None], data: NDArray[Any]) -> None:
    """Read or write a contiguous array, and raise OSError if the file gave or took less."""
    status = MPI.Status()
    call([np.ndarray((data.nbytes,), np.uint8, data), MPI.BYTE], status)
    moved = status.Get_elements(MPI.BYTE)
    if moved != data.nbytes:
        raise OSError(errno.EIO, f"{moved} of {data.nbytes} bytes were moved")


class _Failures:
    """Keeps the first failure of this process, so that it can go on to the next collective call."""

    def __init__(self) -> None:
        self.first: Exception | None = None

    def __enter__(self) -> None:
        pass

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None,
                 trace: TracebackType | None) -> bool:
        if not isinstance(error, Exception):
            return False
        self.first = self.first or error
        return True

    def raise_together(self, comm: MPI.Intracomm, name: str) -> None:
        """Raise what failed on the lowest rank, as an OSError that says where it failed, on every process. Collective.
        """
        n_failed = comm.allreduce(int(self.first is not None))
        if not n_failed:
            return
        mine = [] if self.first is None else [_Failed(_here(comm.rank), *_described(self.first), _absolute(name))]
        failed = comm.allreduce(mine, op=_lowest)
        words = failed[0].text + _on(comm.size, n_failed, [one.place for one in failed])
        raise OSError(failed[0].code, words, failed[0].path) from self.first


class _Failed(NamedTuple):
    """What failed on a process."""

    place: tuple[int, str]
    code: int
    text: str
    path: str


MAX_NAMED = 4
"""So many of the processes that failed are named in an error."""


def _lowest(some: list[_Failed], others: list[_Failed]) -> list[_Failed]:
    return sorted(some + others)[:MAX_NAMED]


def _here(rank: int) -> tuple[int, str]:
    return rank, socket.gethostname()


def _on(size: int, n_failed: int, places: Sequence[tuple[int, str]]) -> str:
    """Where something failed: on ranks and hosts, of which not all may be named."""
    if size == 1:
        return ""
    if n_failed == size:
        return " (on every rank)"
    more = f", and {n_failed - len(places)} more" if n_failed > len(places) else ""
    return f" (on {', '.join(f'rank {rank} at {host}' for rank, host in places)}{more})"


_ERRNO_FROM_MPI = {MPI.ERR_ACCESS: errno.EACCES, MPI.ERR_NO_SPACE: errno.ENOSPC, MPI.ERR_QUOTA: errno.EDQUOT,
                   MPI.ERR_NO_SUCH_FILE: errno.ENOENT, MPI.ERR_READ_ONLY: errno.EROFS}


def _described(error: Exception | None) -> tuple[int, str]:
    """The errno and the words for a failure."""
    if isinstance(error, MPI.Exception):
        return _ERRNO_FROM_MPI.get(error.Get_error_class(), errno.EIO), error.Get_error_string()
    if isinstance(error, OSError):
        return error.errno or errno.EIO, error.strerror or str(error)
    return errno.EIO, f"{type(error).__name__}: {error}"
