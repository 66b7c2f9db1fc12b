"""Boxes: which part of a local array an access touches, as an interval of local indices per dimension. Pure.

A box is the hull of what is accessed: a step inside it does not show. None stands for the whole local array.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from pgaspy.planning.local_parts import local_part
from pgaspy.planning.segments import LENGTH, OWN_START, OWN_STEP, Indices, local_slice
from pgaspy.planning.view import View

__all__ = ["Box", "contains", "fixed_indices", "hull", "overlap", "ranges_box", "remainder", "section_box", "view_box",
           "view_ranges"]

Box = tuple[tuple[int, int], ...] | None


def overlap(a: Box, b: Box) -> bool:
    """Whether two boxes of one local array share an index."""
    if a is None or b is None:
        return True
    for (start, stop), (other_start, other_stop) in zip(a, b, strict=True):
        if stop <= other_start or other_stop <= start:
            return False
    return True


def contains(a: Box, b: Box) -> bool:
    """Whether box a covers all of box b."""
    if a is None or b is None:
        return a is None
    for (start, stop), (other_start, other_stop) in zip(a, b, strict=True):
        if other_start < start or stop < other_stop:
            return False
    return True


def hull(a: Box, b: Box) -> Box:
    """The smallest box that covers two."""
    if a is None or b is None:
        return None
    return tuple((min(start, other), max(stop, end)) for (start, stop), (other, end) in zip(a, b, strict=True))


def remainder(a: Box, b: Box) -> tuple[Box, ...]:
    """What of box a is not in b, where that is one box or nothing, and else a."""
    if contains(b, a):
        return ()
    if a is None or b is None:
        return (a,)
    outside = [d for d, (own, other) in enumerate(zip(a, b, strict=True)) if own[0] < other[0] or other[1] < own[1]]
    d = outside[0]
    (start, stop), (other_start, other_stop) = a[d], b[d]
    if len(outside) > 1 or (start < other_start and other_stop < stop):
        return (a,)
    left = (start, min(stop, other_start)) if start < other_start else (max(start, other_stop), stop)
    return ((*a[:d], left, *a[d + 1:]),)


def section_box(view: View, ranges: Iterable[tuple[int, int, int]], storage: Sequence[int]) -> Box:
    """The box of a section of a view's local part.

    `ranges` are, per dimension of the view, the first local index in storage, the step and the number of indices;
    `storage` is the shape of the local array.
    """
    box = [(0, n) for n in storage]
    for p, local in fixed_indices(view):
        box[p] = local, local + 1
    for base_dim, (first, step, length) in zip(view.base_dims, ranges, strict=True):
        if base_dim is not None:
            last = first + step * (length - 1)
            box[base_dim] = (first, last + 1) if step >= 0 else (last, first + 1)
    return tuple(box)


def fixed_indices(view: View) -> Iterator[tuple[int, int]]:
    """The base dimensions that a view fixes at one index, and the local index there on the processes that hold it."""
    layout = view.layout
    for p in view.fixed_dims:
        dim, i = layout.dims[p], view.origin[p]
        if dim.extent:
            yield p, int(dim.local_from_index(i, dim.part_from_index(i)))


def ranges_box(view: View, ranges: Sequence[Indices], storage: Sequence[int], columns: int = OWN_START) -> Box:
    """The box of a message's section on the side of a view, whose start and step stand in these columns."""
    step = columns + OWN_STEP - OWN_START
    touched = []
    for table in ranges:
        first, last = table[:, columns], table[:, columns] + table[:, step] * (table[:, LENGTH] - 1)
        low, high = int(min(first.min(), last.min())), int(max(first.max(), last.max()))
        touched.append((low, 1, high - low + 1))
    return section_box(view, touched, storage)


def view_ranges(view: View, rank: int) -> list[tuple[int, int, int]] | None:
    """Per dimension, first local index in storage, step and number of what a process owns of a view.

    None where that is no slice of each dimension.
    """
    part = local_part(view, rank)
    if part is not None:
        return [(0, 0, 1) if p is None else (first, step, n) for p, first, step, n in zip(
            part.base_dims, part.start, part.steps, part.shape, strict=True)]
    coords = view.layout.held_by(rank).coords
    ranges = []
    for section, p in zip(view.sections, view.base_dims, strict=True):
        local = slice(0, 1, 0) if p is None else local_slice(section, view.layout.dim_coord(p, coords))
        if local is None:
            return None
        step = 1 if local.step is None else local.step
        length = 1 if p is None else len(range(local.start, -1 if local.stop is None else local.stop, step))
        ranges.append((local.start, step, length))
    return ranges


def view_box(view: View, rank: int) -> Box:
    """The box of all that a process owns of a view."""
    part = local_part(view, rank)
    if part is not None:
        return part.box
    ranges = view_ranges(view, rank)
    return None if ranges is None else section_box(view, ranges, view.layout.local_shape(rank))
