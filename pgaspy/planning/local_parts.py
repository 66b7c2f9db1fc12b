"""Local parts: what a process owns of a view, where that is an interval of each dimension. Pure.

So it is of block dimensions, and of those that are not dealt out: plain integers say all of it.
"""

from __future__ import annotations

from operator import mul
from typing import NamedTuple

from pgaspy.planning.view import View

__all__ = ["LocalPart", "indices_within", "lie_alike", "local_part", "place"]


class LocalPart(NamedTuple):
    """What a process owns of a view.

    Attributes
    ----------
    first, shape
        Per dimension of the view, the first index that it owns, and the number of them.
    start, steps
        Per dimension, where these begin in its part of the base, and at which distances they follow.
    offset, strides
        The same in elements of that part.
    box
        What it touches there.
    base_dims
        The view's.
    """

    first: tuple[int, ...]
    shape: tuple[int, ...]
    start: tuple[int, ...]
    steps: tuple[int, ...]
    offset: int
    strides: tuple[int, ...]
    box: tuple[tuple[int, int], ...]
    base_dims: tuple[int | None, ...]

    def section(self, first: tuple[int, ...], shape: tuple[int, ...]) -> LocalPart:
        """What a process owns of the section of so many indices from `first` on, all of which it owns."""
        if first == self.first and shape == self.shape:
            return self
        offset, start, box = self.offset, list(self.start), list(self.box)
        for d, (p, i, n) in enumerate(zip(self.base_dims, first, shape, strict=True)):
            if p is not None:
                ahead = i - self.first[d]
                offset += ahead * self.strides[d]
                start[d] += ahead * self.steps[d]
                box[p] = interval(start[d], self.steps[d], n)
        return self._replace(first=first, shape=shape, start=tuple(start), offset=offset, box=tuple(box))


def interval(start: int, step: int, n: int) -> tuple[int, int]:
    """The least interval [first, stop) of `start + step*i`, i < n."""
    if n == 0:
        return 0, 0
    last = start + step * (n - 1)
    return (start, last + 1) if step > 0 else (last, start + 1)


def local_part(view: View, rank: int) -> LocalPart | None:
    """What `rank` owns of a view; None where that is no interval of each dimension."""
    last_rank, part = view.last_part
    if last_rank != rank:
        part = _local_part(view, rank)
        view.last_part = rank, part
    return part


def _local_part(view: View, rank: int) -> LocalPart | None:
    held = view.layout.held_by(rank)
    intervals = held.intervals
    if None in intervals:
        return None
    is_any, origin, base_dims, memory_strides = held.is_any, view.origin, view.base_dims, held.strides
    box = [(0, n) for n in held.shape]
    offset = 0
    for fixed, index in enumerate(origin):
        if fixed not in base_dims:
            low, high = intervals[fixed]  # type: ignore[misc]
            is_any = is_any and low <= index < high
            local = index - low if is_any else 0
            box[fixed] = local, local + 1
            offset += local * memory_strides[fixed]
    if not is_any:
        nothing = (0,) * len(base_dims)
        return LocalPart(nothing, nothing, nothing, view.steps, 0, nothing, tuple(box), base_dims)
    along = []
    for n, p, step in zip(view.shape, base_dims, view.steps, strict=True):
        first, start, stride = 0, 0, 0
        if p is not None:
            low, high = intervals[p]  # type: ignore[misc]
            begin = origin[p]
            if step == 1:
                first = low - begin if low > begin else 0
                stop = high - begin if high - begin < n else n
                n = stop - first if stop > first else 0
                start, stride = begin + first - low, memory_strides[p]
                box[p] = (start, start + n) if n else (0, 0)
            else:
                first, stop = indices_within(low, high, begin, step, n)
                n = stop - first
                start, stride = begin + step * first - low, step * memory_strides[p]
                box[p] = interval(start, step, n)
            offset += start * memory_strides[p]
        along.append((first, n, start, stride))
    firsts, shape, starts, strides = zip(*along, strict=True) if along else _NO_DIMENSIONS
    return LocalPart(firsts, shape, starts, view.steps, offset, strides, tuple(box), base_dims)


_NO_DIMENSIONS: tuple[tuple[int, ...], ...] = ((),) * 4


def place(view: View, rank: int) -> int | None:
    """Where `rank` has the one element of a view without dimensions, in elements of its part; None if it has not."""
    last_rank, found = view.last_place
    if last_rank != rank:
        found = _place(view, rank)
        view.last_place = rank, found
    return found


def _place(view: View, rank: int) -> int | None:
    layout = view.layout
    if layout.n_procs == 1:
        return sum(map(mul, view.origin, layout.row_strides))
    held, offset = layout.held_by(rank), 0
    if not held.is_any:
        return None
    for i, dim, interval, stride in zip(view.origin, layout.dims, held.intervals, held.strides, strict=True):
        if interval is not None:
            low, high = interval
            if not low <= i < high:
                return None
            offset += (i - low) * stride
        else:
            part = dim.part_from_index(i)
            if dim.axis is not None and dim.owner_from_part(part) != held.coords[dim.axis]:
                return None
            offset += dim.local_from_index(i, part) * stride
    return offset


def indices_within(low: int, high: int, start: int, step: int, n: int) -> tuple[int, int]:
    """The i, 0 <= i < n, with `low <= start + step*i < high`, as an interval."""
    if step > 0:
        first, stop = -((start - low) // step), -((start - high) // step)
    else:
        first, stop = (start - high) // -step + 1, (start - low) // -step + 1
    first = max(first, 0)
    return first, max(min(stop, n), first)


def lie_alike(out: View, view: View) -> bool:
    """Whether each element of a view lies wherever that of an output does which has the same index.

    This may be so also where it is not found: dimensions of other extents, say, can be dealt out alike.
    """
    layout, other = out.layout, view.layout
    if layout.n_procs == 1 or out is view or other.is_replicated:
        return True
    if layout.grid != other.grid:
        return view.only_holder is not None and view.only_holder == out.only_holder
    if out.fixed_coords == view.fixed_coords if not (out.shape or view.shape) else out == view:
        return True
    for own, theirs in zip(out.along_axes, view.along_axes, strict=True):
        if theirs is not None and theirs != own:
            return False
    return True
