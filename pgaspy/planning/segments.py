"""One dimension of two sides: which of my indices live where on the other side.

Both sides are `Section`s over one index space `0 <= i < extent`. A **segment** is an arithmetic progression of
indices with one owner on either side. `segments` walks the part of one process on its own side and finds the peers by
division, splitting where the other side's part ends: no loop over peers, and a cost that follows this process's own
segments, never the number of blocks or processes.

Where a step is longer than a cyclic block, each owned index solves a linear congruence (Chatterjee et al., PPoPP 1993;
Kennedy, Nedeljkovic & Sethi, ICS 1995; Gupta et al., JPDC 32, 1996).
"""

from __future__ import annotations

from operator import itemgetter
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from pgaspy.blockmath import ceil_div, solve_congruence
from pgaspy.caches import cached
from pgaspy.dims import BlockDim, Dim, whole_dim
from pgaspy.planning.local_parts import indices_within
from pgaspy.planning.view import Section

__all__ = ["LENGTH", "OTHER_START", "OWN_START", "OWN_STEP", "Indices", "Segments", "continued", "expanded",
           "few_segments", "global_ranges", "joined_by_key", "local_slice", "part_segments", "ranges_by_coord",
           "ranges_of_segments", "segments"]

Indices = NDArray[np.int64]

# Columns of a table of ranges: local indices on both sides, and the length.
OWN_START, OWN_STEP, OTHER_START, OTHER_STEP, LENGTH = range(5)


class Segments(NamedTuple):
    """The segments of one process in the order of the index, as arrays of one entry per segment.

    `start`, `length`: the indices i (of step 1); `own`, `other`: the local index of the first one on either side, from
    which local indices go on by `own_step` and `other_step`; `coord`: the owner on the other side.
    """

    start: Indices
    length: Indices
    own: Indices
    own_step: int
    other: Indices
    other_step: int
    coord: Indices


@cached
def segments(own: Section, coord: int, other: Section) -> Segments:
    """Cut the indices that `coord` owns on side `own` by their owners on side `other`."""
    start, stop, parts = _owned_intervals(own, coord)
    origin = _own_origin(own, start, parts)
    if other.dim.n_procs == 1:
        other_local = _base_index(other, start)
        owners = np.zeros_like(start)
    else:
        start, stop, origin, parts = _split_by_parts(start, stop, origin, other)
        other_local = other.dim.local_from_index(_base_index(other, start), parts)
        owners = other.dim.owner_from_part(parts)
    own_local = origin + own.step * start
    return Segments(start, stop - start, own_local, own.step, other_local, other.step, owners)


MAX_FEW = 16


def few_segments(own: Section, coord: int, other: Section) -> list[tuple[int, int, int, int]] | None:
    """The segments in plain integers: (local index on either side, owner on the other side, length) of each.

    There is one at most for each owner then. None where parts are not intervals, or where they may be many.
    """
    interval = own.dim.owned_interval(coord)
    dim, start, step, _ = other
    if interval is None or (dim.n_procs > 1 and not isinstance(dim, BlockDim)):
        return None
    first, stop = indices_within(*interval, own.start, own.step, own.extent)
    if first == stop:
        return []
    ahead = own.start - interval[0]
    if dim.n_procs == 1:
        return [(ahead + own.step * first, start + step * first, 0, stop - first)]
    ends = [dim.part_from_index(start + step * i) for i in ((first, stop - 1) if step > 0 else (stop - 1, first))]
    if ends[1] - ends[0] >= MAX_FEW:
        return None
    found = []
    for part in range(ends[0], ends[1] + 1)[::1 if step > 0 else -1]:
        low, high = dim.owned_interval(part) or (0, 0)
        begin, end = indices_within(low, high, start, step, stop)
        begin = max(begin, first)
        if begin < end:
            found.append((ahead + own.step * begin, start + step * begin - low, part, end - begin))
    return found


def ranges_by_coord(own: Section, coord: int, other: Section) -> dict[int, Indices]:
    """The segments as tables of ranges, (n, 5) in the order of the index, per owner on the other side.

    A range joins segments that continue one another in local indices on both sides, or are single elements at constant
    distances; so the table of an aligned, a blocked or a cyclic(1) section is one range, whatever its length.
    """
    few = few_segments(own, coord, other)
    if few is not None:
        return {owner: np.array([[mine, own.step, theirs, other.step, n]], np.int64)
                for mine, theirs, owner, n in sorted(few, key=itemgetter(2))}
    return ranges_of_segments(own, coord, other)


@cached
def ranges_of_segments(own: Section, coord: int, other: Section) -> dict[int, Indices]:
    """The same from segments."""
    seg = segments(own, coord, other)
    table = np.empty((len(seg.start), 5), np.int64)
    table[:, OWN_START], table[:, OWN_STEP] = seg.own, seg.own_step
    table[:, OTHER_START], table[:, OTHER_STEP] = seg.other, seg.other_step
    table[:, LENGTH] = seg.length
    return joined_by_key(table, seg.coord)


def global_ranges(dim: Dim, coord: int) -> Indices:
    """The ranges of what `coord` owns of a whole dimension, the other side being the global index."""
    own = Section(dim, 0, 1, dim.extent)
    return ranges_by_coord(own, coord, Section(whole_dim(dim.extent), 0, 1, dim.extent))[0]


def local_slice(section: Section, coord: int) -> slice | None:
    """The local indices of the part of `section` that `coord` owns, as a slice; None if no slice has them."""
    dim, _, _, extent = section
    if extent == 0:
        return slice(0, 0)
    if extent > 1 and not dim.holds_whole_step(section.step):
        return None
    itself = Section(whole_dim(extent), 0, 1, extent)
    ranges = ranges_by_coord(section, coord, itself)
    if not ranges:
        return slice(0, 0)
    own_side_only = ranges[0] * np.array([1, 1, 0, 0, 1])
    (first, step, _, _, length), = joined_by_key(own_side_only, own_side_only[:, OTHER_START])[0].tolist()
    stop = first + step * length
    return slice(first, stop if stop >= 0 else None, step or 1)


def part_segments(section: Section, coord: int) -> list[tuple[int, int, int]]:
    """The parts that `coord` owns of a section: (number, local index of the first element, length), in view order.

    Parts are numbered in the order of the view, from the one that holds its first element.
    """
    if section.extent == 0:
        return []
    first, stop, parts = _owned_intervals(section, coord)
    first, stop, origin, parts = _split_by_parts(first, stop, _own_origin(section, first, parts), section)
    local = origin + section.step * first
    numbers = np.abs(parts - section.dim.part_from_index(section.start))
    return list(zip(numbers.tolist(), local.tolist(), (stop - first).tolist(), strict=True))


def joined_by_key(table: Indices, keys: Indices) -> dict[int, Indices]:
    """The ranges of each key, in their order, joined where they continue one another.

    Single elements at constant distances become one range, too.
    """
    if len(table) == 1:
        return {int(keys[0]): table}
    places = keys.argsort(kind="stable")
    table, keys = continued(table[places], keys[places])
    ends = ((keys[1:] != keys[:-1]).nonzero()[0] + 1).tolist()
    bounds = zip([0, *ends], [*ends, len(keys)], strict=True)
    return {int(keys[start]): _with_singles_joined(table[start:end]) for start, end in bounds if end > start}


def continued(table: Indices, keys: Indices) -> tuple[Indices, Indices]:
    """The ranges of a table, with those joined that have one key and continue one another on both sides."""
    own, own_step, other, other_step, length = table.T
    extent = length[:-1]
    apart = own[1:] - own[:-1] != own_step[:-1] * extent
    apart |= other[1:] - other[:-1] != other_step[:-1] * extent
    apart |= keys[1:] != keys[:-1]
    if np.count_nonzero(apart) == len(apart):
        return table, keys
    first = np.concatenate(([0], apart.nonzero()[0] + 1))
    joined = table[first]
    joined[:, LENGTH] = np.add.reduceat(length, first)
    return joined, keys[first]


def _with_singles_joined(table: Indices) -> Indices:
    """The table; as one range, if all its ranges are single elements, at constant distances on both sides."""
    if len(table) < 2 or np.count_nonzero(table[:, LENGTH] > 1):
        return table
    own, _, other, _, _ = table.T
    own_step, other_step = own[1] - own[0], other[1] - other[0]
    if (own[1:] - own[:-1] != own_step).any() or (other[1:] - other[:-1] != other_step).any():
        return table
    return np.array([[own[0], own_step, other[0], other_step, len(table)]])


def _owned_intervals(section: Section, coord: int) -> tuple[Indices, Indices, Indices]:
    """The indices i that `coord` owns, as half-open intervals, each inside one part, and these parts."""
    dim, start, step, extent = section
    if extent == 0:
        return _EMPTY, _EMPTY, _EMPTY
    if dim.n_procs == 1:  # one interval, whatever the parts, for their local indices continue one another
        return np.zeros(1, np.int64), np.full(1, extent, np.int64), np.full(1, dim.part_from_index(start), np.int64)
    if not _parts_are_intervals(section):
        i = _isolated_indices(section, coord)
        return i, i + 1, dim.part_from_index(_base_index(section, i))
    ends = dim.part_from_index(start), dim.part_from_index(start + step * (extent - 1))
    owned = dim.parts_from_owner(coord, min(ends), max(ends))
    parts = np.arange(owned.start, owned.stop, owned.step)
    parts = parts[::-1] if step < 0 else parts
    first, stop = _interval_from_part(section, parts)
    first, stop = np.maximum(first, 0), np.minimum(stop, extent)
    if isinstance(dim, BlockDim):  # of a cyclic dimension, no part in between is empty
        kept = stop > first
        first, stop, parts = first[kept], stop[kept], parts[kept]
    return first, stop, parts


def _own_origin(section: Section, i: Indices, part: Indices) -> Indices:
    """What the local index is ahead of `step*i`, which is the same for all i of a part."""
    return section.dim.local_from_index(_base_index(section, i), part) - section.step * i


def _base_index(section: Section, i: Indices) -> Indices:
    return section.start + (i if section.step == 1 else section.step * i)


def _parts_are_intervals(section: Section) -> bool:
    """Whether the indices i inside one part are consecutive, and no part between the first and the last is skipped."""
    return isinstance(section.dim, BlockDim) or abs(section.step) <= section.dim.block or section.extent <= 1


def _interval_from_part(section: Section, part: Indices) -> tuple[Indices, Indices]:
    """The indices i whose base index lies in `part`, as if the section went on at both ends."""
    dim, start, step, _ = section
    low, high = dim.part_edges(part)
    if step == 1:
        first, stop = low - start, high - start
    elif step > 0:
        first, stop = ceil_div(low - start, step), ceil_div(high - start, step)
    else:
        first, stop = (start - high) // -step + 1, (start - low) // -step + 1
    return first, stop


def _isolated_indices(section: Section, coord: int) -> Indices:
    """The indices i that `coord` owns of a cyclic dimension, for a step longer than a block.

    With j the base index counted from the (virtual) start of the first block, i is owned iff
    `j = offset + step*i` lies, modulo one round of all processes, in the block of this process.
    """
    dim, start, step, extent = section
    assert not isinstance(dim, BlockDim)
    offset = start + dim.block - dim.first_length
    g, inverse, period = solve_congruence(step, dim.block * dim.n_procs)
    own_block = (coord - dim.first_owner) % dim.n_procs * dim.block
    first = own_block + (offset - own_block) % g
    multiples = (np.arange(first, own_block + dim.block, g) - offset) // g
    residues = np.sort(multiples % period * inverse % period)
    i = (np.arange(0, extent, period)[:, None] + residues).ravel()
    return i[: np.searchsorted(i, extent)]


def _split_by_parts(start: Indices, stop: Indices, origin: Indices,
                    other: Section) -> tuple[Indices, Indices, Indices, Indices]:
    """Cut the intervals, which keep their origins, where a part of `other` ends; also the parts that they lie in."""
    dim = other.dim
    if len(start) == 0:
        return start, stop, origin, start
    if not _parts_are_intervals(other):
        length = stop - start
        i = expanded(start, length)
        return i, i + 1, origin.repeat(length), dim.part_from_index(_base_index(other, i))
    first = dim.part_from_index(_base_index(other, start))
    last = dim.part_from_index(_base_index(other, stop - 1))
    n_cuts = last - first if other.step > 0 else first - last
    if not np.count_nonzero(n_cuts):
        return start, stop, origin, first
    n_parts = n_cuts + 1
    parts = expanded(first, n_parts) if other.step > 0 else -expanded(-first, n_parts)
    low, high = _interval_from_part(other, parts)
    start, stop = np.maximum(start.repeat(n_parts), low), np.minimum(stop.repeat(n_parts), high)
    origin = origin.repeat(n_parts)
    if isinstance(dim, BlockDim):
        kept = stop > start
        start, stop, origin, parts = start[kept], stop[kept], origin[kept], parts[kept]
    return start, stop, origin, parts


def expanded(start: Indices, length: Indices) -> Indices:
    """start[0], start[0]+1, ... (length[0] of them), start[1], ..."""
    end = length.cumsum()
    return (start + length - end).repeat(length) + np.arange(end[-1] if len(end) else 0)


_EMPTY = np.empty(0, np.int64)
