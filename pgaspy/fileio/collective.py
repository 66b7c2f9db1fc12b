"""The elements of a file, read and written by all processes together, through MPI-IO.

Each process reads and writes its own part only: what it holds of each dimension, as ranges of global indices, becomes a
datatype that says where its elements lie in the file. A part longer than `MAX_CALL_BYTES` goes in several slabs. Each
process opens the file by itself before all of them open it through MPI: some MPIs wait for ever where one process
cannot.
"""

from __future__ import annotations

import errno
import itertools
import math
import os
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from mpi4py import MPI
from numpy.typing import NDArray

from pgaspy.fileio.agreement import Failures
from pgaspy.fileio.formats import Header
from pgaspy.fileio.paths import check_same, opened_size
from pgaspy.job.procgrid import world
from pgaspy.layout import Layout
from pgaspy.planning.segments import LENGTH, OTHER_START, OTHER_STEP, OWN_START, Indices, global_ranges

__all__ = ["LocalPart", "read_or_write"]

MAX_CALL_BYTES = 1 << 30
"""What one process reads or writes in one call at most: below MPI's limit of 2**31 elements, and so of bytes."""

Slab = tuple[slice, ...]
"""A section of a local part that is contiguous in it, and read or written in one call."""


class LocalPart:
    """What one process holds of an array in a file: per dimension of the file, ranges of global indices.

    `local` is the local part, here with its dimensions in the order of the file: of falling strides.
    """

    def __init__(self, layout: Layout, local: NDArray[Any], strides: Sequence[int], is_writer: bool = True) -> None:
        order = sorted(range(layout.ndim), key=lambda d: -strides[d])
        coords = layout.coords_from_rank(world().rank)
        self._is_empty = local.size == 0 or not is_writer or not layout.holds(coords)
        self.local = local if self._is_empty else local.transpose(order)
        self._strides = [strides[d] for d in order]
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


def read_or_write(name: str, new: str, header: Header, make: Callable[[], LocalPart]) -> None:
    """Read the local parts from the file `name`, or write them to `new`, which is to take its place. Collective."""
    comm = world().communicator
    failures, is_read = Failures(), new == name
    mode, flags = (MPI.MODE_RDONLY, os.O_RDONLY) if is_read else (MPI.MODE_WRONLY, os.O_WRONLY)
    path, nbytes_file, part = new, 0, None
    with failures:
        if not is_read:  # by this process's own reckoning
            path = os.fspath(Path(os.path.realpath(name)).with_name(Path(new).name))
        nbytes_file = opened_size(path, flags)
        part = make()
    failures.raise_together(comm, name)
    assert part is not None
    check_same(comm, name, nbytes_file if is_read else 0)
    if header.nbytes == header.offset:
        return
    with failures:
        file = MPI.File.Open(comm, os.fsencode(path), mode)
    failures.raise_together(comm, name)  # a process that did open it cannot close it alone
    _move_slabs(file, part, header, failures, is_read)
    with failures:
        file.Close()
    failures.raise_together(comm, name)


def _move_slabs(file: MPI.File, part: LocalPart, header: Header, failures: Failures, is_read: bool) -> None:
    """Read or write slab after slab. Collective.

    Processes with fewer slabs than others, and those that failed, take part in the remaining calls with nothing.
    """
    element = MPI.BYTE.Create_contiguous(header.dtype.itemsize).Commit()
    slabs = part.slabs(MAX_CALL_BYTES // header.dtype.itemsize)
    n_calls = world().communicator.allreduce(len(slabs), MPI.MAX)
    for slab in itertools.islice(itertools.chain(slabs, itertools.repeat(None)), n_calls):
        section, data, kind = _NOTHING, _NOTHING, element
        if slab is not None and failures.first is None:
            with failures:
                section = _section(part.local, slab)
                data = section if section.flags.c_contiguous else section.copy(order="C")
                kind = part.file_type(element, slab)
        with failures:
            file.Set_view(header.offset, element, kind)
        with failures:
            _move(file.Read_all if is_read else file.Write_all, data)
        if is_read and data is not section:
            section[...] = data
        if kind is not element:
            kind.Free()
    element.Free()


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
        column = element.Create_hvector(length, 1, distance * stride)
        placed = column.Create_hindexed([1], starts)
        column.Free()
    else:  # only a single range has a step
        placed = element.Create_hindexed(ranges[:, LENGTH].tolist(), starts)
    element.Free()
    inner.Free()
    return placed
