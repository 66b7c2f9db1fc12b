"""Pieces: how one process computes an elementwise operation on operands that lie anywhere.

The owner of the output computes. Each operand is transferred towards the output's layout (`plan_transfer`); what this
process holds already is used where it lies, what arrives is used in its receive buffer. The local part of the output
is cut into **pieces**, in each of which every operand is one strided segment of either. Where an operand would cut it
into too many (a transposed one, or one dealt out otherwise), it is assembled into one temporary instead. That is a
choice of each process by itself: the messages are the same.

Planning is pure, as in `transfers`.
"""

from __future__ import annotations

import itertools
import math
from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Sequence
from operator import add
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from pgaspy.caches import cached
from pgaspy.dims import Dim, whole_dim
from pgaspy.layout import Layout, without_dims
from pgaspy.planning.boxes import Box, section_box, view_ranges
from pgaspy.planning.local_parts import lie_alike, local_part
from pgaspy.planning.segments import Segments, few_segments, local_slice, segments
from pgaspy.planning.transfers import NOTHING, TransferPlan, fixed_offset, plan_transfer, strides_from_shape
from pgaspy.planning.view import Section, View, whole

__all__ = ["BUFFER", "LOCAL", "TEMPORARY", "OperandPlan", "Piece", "Source", "assembled_strides", "holder_and_taker",
           "indices_at", "indices_between", "joint_cuts", "lie_in_place", "local_indices", "local_view_shape",
           "max_pieces", "n_pieces", "one_piece", "own_box", "owned_segments", "piece_in_place", "plan_assembled",
           "plan_boxes", "plan_operand", "plan_operands", "storage_geometry", "within"]

LOCAL, TEMPORARY, BUFFER = -1, -2, 0
"""Where an operand of a piece lies: in its own storage, in an assembled temporary, or (>= 0) in the receive buffer
of the message with that number."""

PIECES_AT_LEAST = 8
ELEMENTS_PER_PIECE = 4096
TOGETHER = 8
"""An operand may cut an output of n local elements into `8 + n // 4096` pieces before it is assembled instead; all
operands together may cut it into 8 times as many."""

MAX_CUTS = 4096


class Source(NamedTuple):
    """Where an operand of a piece begins: in which memory, at which element, with which strides (in elements).

    `box` is what it touches of the local array, where it lies there; or of the temporary.
    """

    where: int
    offset: int
    strides: tuple[int, ...]
    box: Box = None


class Piece(NamedTuple):
    """A box of the local part of the outputs: the outputs' own sources first, then each operand's.

    `start` is the local index at which it begins.
    """

    shape: tuple[int, ...]
    sources: tuple[Source, ...]
    start: tuple[int, ...]


class OperandPlan(NamedTuple):
    """How one operand gets to where an output lies.

    Attributes
    ----------
    out, operand
        The output's view, and the operand's.
    transfer
        That from `view` to `target`.
    temporary
        The shape of the temporary in which it is assembled, where it is.
    cuts
        Where it cuts the output's local part, per dimension.
    is_in_place
        Whether it is known that it lies as the output does, and is used where it lies.
    root
        The rank of the process that has all of it, where that is to be handed to all, or to one, and nothing else is
        planned.
    taker
        The rank of the one; None where it is all.
    """

    out: View
    operand: View
    transfer: TransferPlan
    temporary: tuple[int, ...] | None
    cuts: tuple[_Cuts, ...]
    is_in_place: bool = False
    root: int | None = None
    taker: int | None = None

    @property
    def target(self) -> View:
        """The output's layout without the dimensions in which the operand is stretched, replicated along their axes."""
        layout = self.out.own_layout
        assert layout is not None
        return whole(without_dims(layout, self.operand.stretched_dims))

    @property
    def view(self) -> View:
        """The operand without its stretched dimensions."""
        return self.operand.unstretched

    @property
    def is_local(self) -> bool:
        """Whether the operand lies here, and is used where it lies, as one segment."""
        return self.is_in_place or (
            self.transfer.is_local and self.temporary is None and all(len(c.start) <= 1 for c in self.cuts))


@cached
def plan_operands(out: View, views: tuple[View, ...], copied: tuple[bool, ...], rank: int) -> tuple[OperandPlan, ...]:
    """How `rank` gets what it needs of all operands to compute its part of `out`, which has a layout of its own.

    Every operand has its shape. `copied` names those that have to be assembled because the output overlaps them.

    Those that cut it the most are assembled, until all together cut it into no more pieces than they may.
    """
    plans = [_in_place(out, view, copy, rank) or plan_operand(out, view, copy, rank)
             for view, copy in zip(views, copied, strict=True)]
    if all(plan.is_in_place for plan in plans):
        return tuple(plans)
    limit = max_pieces(out, rank)
    while n_pieces(joint_cuts(out.ndim, plans)) > limit:
        n = max(range(len(plans)), key=lambda n: math.prod(len(c.start) for c in plans[n].cuts))
        plans[n] = plan_operand(out, views[n], True, rank)
    return tuple(plans)


def lie_in_place(out: View, views: Sequence[View], rank: int) -> bool:
    """Whether operands are found at once to lie as an output does, on every process."""
    for view in views:
        if view is not out and not lie_alike(out, view):
            return False
    return None not in [local_part(view, rank) for view in (out, *views)]


def piece_in_place(out: View, views: Sequence[View], rank: int) -> Piece | None:
    """All of the local part as one piece, of operands that lie in place; None if there is none."""
    part = local_part(out, rank)
    assert part is not None
    shape = local_view_shape(out, rank)
    if 0 in shape:
        return None
    sources = [_source_in_place(view, rank, part.first, shape) for view in (out, *views)]
    return Piece(shape, tuple(sources), (0,) * len(shape))


def plan_assembled(out: View, view: View, copied: bool, rank: int) -> OperandPlan:
    """The same messages for an operand that is assembled, unless it is known to lie as the output does."""
    return _in_place(out, view, copied, rank) or _handed(out, view) or plan_operand(out, view, True, rank)


def one_piece(out: View, views: Sequence[View], plans: Sequence[OperandPlan], rank: int) -> Piece | None:
    """All of the local part as one piece, where each operand is assembled or lies in place; None if there is none."""
    shape = local_view_shape(out, rank)
    if 0 in shape:
        return None
    part = local_part(out, rank)
    sources = [Source(LOCAL, *storage_geometry(out, rank))]
    for view, plan in zip(views, plans, strict=True):
        if plan.temporary is None:
            assert part is not None  # or else nothing would be known to lie in place
            sources.append(_source_in_place(view, rank, part.first, shape))
        else:
            sources.append(Source(TEMPORARY, 0, assembled_strides(view, plan.temporary)))
    return Piece(shape, tuple(sources), (0,) * len(shape))


def assembled_strides(view: View, shape: Sequence[int], itemsize: int = 1) -> tuple[int, ...]:
    """The strides of an operand that lies C-ordered in a temporary of this shape, without the dimensions that repeat
    elements.
    """
    stretched, strides = view.stretched_dims, iter(strides_from_shape(shape, itemsize))
    return tuple([0 if d in stretched else next(strides) for d in range(view.ndim)])


def _in_place(out: View, view: View, copied: bool, rank: int) -> OperandPlan | None:
    """The plan of an operand that is found at once to lie where the output does."""
    if copied or not lie_alike(out, view):
        return None
    part = local_part(out, rank)
    if part is None or local_part(view, rank) is None:
        return None
    return OperandPlan(out, view, NOTHING, None, () if 0 in part.shape else (_STRETCHED,) * out.ndim, True)


def _handed(out: View, view: View) -> OperandPlan | None:
    """The plan of an operand that one process has, and hands over."""
    found = holder_and_taker(out, view)
    return None if found is None else OperandPlan(out, view, NOTHING, view.unstretched.shape, (), False, *found)


def holder_and_taker(out: View, view: View) -> tuple[int, int | None] | None:
    """The process that alone has an operand, and the one that gets it, as it has all of the output; None for that where
    all get it, as it is stretched along what is dealt out. None where neither is so.
    """
    root, taker = view.only_holder, out.only_holder
    if root is None or root == taker or not view.size or view.layout.n_procs == 1:
        return None
    if taker is not None:
        return root, taker
    if out.fixed_coords.count(None) < len(out.layout.grid):
        return None
    for d, p in enumerate(out.base_dims):
        if p is not None and out.layout.dims[p].n_procs > 1 and (view.base_dims[d] is not None or out.shape[d] == 1):
            return None
    return root, None


def max_pieces(out: View, rank: int) -> int:
    """Into how many pieces all operands together may cut what `rank` has of an output."""
    return TOGETHER * _max_pieces(math.prod(local_view_shape(out, rank)))


def _max_pieces(size: int) -> int:
    """Into how many pieces one operand may cut so many elements."""
    return PIECES_AT_LEAST + size // ELEMENTS_PER_PIECE


def joint_cuts(ndim: int, plans: Sequence[OperandPlan]) -> list[set[int]]:
    """Per dimension, where any of some operands cuts the output's local part, at its beginning in any case."""
    cuts = [{0} for _ in range(ndim)]
    for plan in plans:
        for starts, own in zip(cuts, plan.cuts, strict=False):  # none where there is no local part
            starts.update(own.start)
    return cuts


def own_box(plan: OperandPlan, rank: int) -> Box:
    """The box of an output's local part for which a process has itself what it needs of an operand that all hand to
    all; None of others, and where there is none.
    """
    if plan.temporary is None or not plan.transfer.broadcasts:
        return None
    own, target = local_part(plan.view, rank), local_part(plan.target, rank)
    if own is None or target is None:
        return None
    box = [(0, n) for n in local_view_shape(plan.out, rank)]
    dims = [d for d in range(plan.out.ndim) if d not in plan.operand.stretched_dims]
    for d, first, n, start, extent in zip(dims, own.first, own.shape, target.first, target.shape, strict=True):
        box[d] = max(first - start, 0), min(first - start + n, extent)
        if box[d][0] >= box[d][1]:
            return None
    return tuple(box)


def n_pieces(cuts: Sequence[set[int]]) -> int:
    """Into how many pieces a local part is cut."""
    return math.prod(map(len, cuts))


@cached
def plan_operand(out: View, view: View, copied: bool, rank: int) -> OperandPlan:
    """How `rank` gets what it needs of an operand to compute its part of `out`; nothing, where that is empty."""
    layout = out.own_layout
    assert layout is not None
    size = _local_size(layout, rank)
    target = whole(without_dims(layout, view.stretched_dims))
    source = view.unstretched
    transfer = plan_transfer(target, source, rank) if view.size else NOTHING
    cuts = None
    if size and not copied and not transfer.broadcasts:
        cuts = _operand_cuts(layout, view, rank, _max_pieces(size))
    temporary = target.layout.local_shape(rank) if size and cuts is None else None
    if size and cuts is None:
        cuts = _temporary_cuts(layout, view)
    return OperandPlan(out, view, transfer, temporary, tuple(cuts or ()))


def plan_boxes(outs: Sequence[View], operands: Sequence[View], plans: Sequence[OperandPlan],
               cuts: Sequence[Sequence[int]], rank: int) -> tuple[Piece, ...]:
    """The pieces of the local part of `rank`, which all the outputs have in common.

    `cuts` are, per dimension, further local indices to cut at.
    """
    shape = local_view_shape(outs[0], rank)
    if 0 in shape:
        return ()
    start = (0,) * len(shape)
    if not any(cuts) and all(plan.is_in_place for plan in plans) and None not in [local_part(o, rank) for o in outs]:
        pairs = [*zip(outs, outs, strict=True), *zip([plan.out for plan in plans], operands, strict=True)]
        sources = [_source_from(start, shape, out, view, rank) for out, view in pairs]
        return (Piece(shape, tuple(sources), start),)
    return tuple(_pieces(outs, operands, plans, cuts, shape, rank))


def within(plan: OperandPlan, out: View, operand: View, start: Sequence[int], is_here: bool, rank: int) -> OperandPlan:
    """The plan for a section of an output, and that of the operand with the same indices.

    What arrives comes with the messages of the whole operand.

    Parameters
    ----------
    start
        The indices of the output at which the section begins.
    is_here
        Whether this process has all of the operand's section.
    """
    if is_here:
        return OperandPlan(out, operand, NOTHING, None, (_STRETCHED,) * out.ndim, True)
    whole_part = local_part(plan.out, rank)
    assert whole_part is not None
    cuts = [_within(own, i - first, n) for own, i, first, n in zip(
        plan.cuts, start, whole_part.first, out.shape, strict=True)]
    return OperandPlan(out, operand, plan.transfer, None, tuple(cuts))


def _within(cuts: _Cuts, start: int, extent: int) -> _Cuts:
    """The cuts of so many indices from one on."""
    k, stop = bisect_right(cuts.start, start) - 1, bisect_left(cuts.start, start + extent)
    starts, coords, others, positions = (column[k:stop] for column in cuts[:4])
    ahead = start - starts[0]
    others[0] += cuts.step * ahead
    positions[0] += ahead if cuts.step else 0
    return _Cuts([max(i - start, 0) for i in starts], coords, others, positions, cuts.step)


def _source_from(start: Sequence[int], shape: tuple[int, ...], out: View, view: View, rank: int) -> Source:
    """Where a view lies that is used in place, from a local index of an output on."""
    part = local_part(out, rank)
    assert part is not None
    return _source_in_place(view, rank, tuple(map(add, part.first, start)), shape)


def _source_in_place(view: View, rank: int, first: tuple[int, ...], shape: tuple[int, ...]) -> Source:
    """Where so many elements of a view from `first` on lie in the storage of a process that owns them."""
    part = local_part(view, rank)
    assert part is not None
    part = part.section(first, shape)
    return Source(LOCAL, part.offset, part.strides, part.box)


def _local_size(layout: Layout, rank: int) -> int:
    held = layout.held_by(rank)
    return math.prod(held.shape) if held.is_any else 0


class _Cuts(NamedTuple):
    """One dimension of one operand against the output's local part, cut into segments.

    `start`: local index of the output; `coord`: the operand's owner, or TEMPORARY; `other`: local index there;
    `position`: the running number among the elements of the same owner (that is, in its message); `step`: of `other`.
    """

    start: list[int]
    coord: list[int]
    other: list[int]
    position: list[int]
    step: int


def _operand_cuts(layout: Layout, view: View, rank: int, limit: int) -> list[_Cuts] | None:
    """Where an operand cuts the output's local part; None if it would be into more than `limit` pieces."""
    coords = layout.held_by(rank).coords
    cuts = []
    for d, dim in enumerate(layout.dims):
        cut = _STRETCHED if view.base_dims[d] is None else _dim_cuts(
            _whole_section(dim), layout.dim_coord(d, coords), view.sections[d])
        if cut is None:
            return None
        cuts.append(cut)
    return cuts if math.prod(len(c.start) for c in cuts) <= limit else None


def _temporary_cuts(layout: Layout, view: View) -> list[_Cuts]:
    return [_STRETCHED if d in view.stretched_dims else _ASSEMBLED for d in range(layout.ndim)]


_STRETCHED = _Cuts([0], [0], [0], [0], 0)
_ASSEMBLED = _Cuts([0], [TEMPORARY], [0], [0], 1)


def _whole_section(dim: Dim) -> Section:
    return Section(dim, 0, 1, dim.extent)


@cached
def _dim_cuts(own: Section, coord: int, other: Section) -> _Cuts | None:
    """The cuts of one dimension; None if they are too many for pieces of any use."""
    few = few_segments(own, coord, other)
    if few:
        start, local, owners, _ = (list(column) for column in zip(*few, strict=True))
        return _Cuts(start, owners, local, [0] * len(few), other.step)
    seg = segments(own, coord, other)
    follows = seg.other[:-1] + seg.other_step * seg.length[:-1]
    first = np.flatnonzero(np.concatenate(([True], (seg.other[1:] != follows) | (seg.coord[1:] != seg.coord[:-1]))))
    if len(first) > MAX_CUTS:
        return None
    start, coords = seg.own[first].tolist(), seg.coord[first].tolist()
    positions = _positions(start, coords, int(seg.length.sum()))
    return _Cuts(start, coords, seg.other[first].tolist(), positions, seg.other_step)


def _positions(start: list[int], coords: list[int], extent: int) -> list[int]:
    """The position of each cut among the elements of the same owner."""
    counts: dict[int, int] = {}
    positions = []
    for begin, stop, owner in zip(start, [*start[1:], extent], coords, strict=True):
        positions.append(counts.get(owner, 0))
        counts[owner] = positions[-1] + stop - begin
    return positions


def _pieces(outs: Sequence[View], operands: Sequence[View], plans: Sequence[OperandPlan],
            cuts: Sequence[Sequence[int]], extents: tuple[int, ...], rank: int) -> Iterator[Piece]:
    """The product over the dimensions of the boxes between all operands' cuts."""
    outputs = [None if local_part(out, rank) is not None else _OutputSources(out, rank) for out in outs]
    arrays = [None if plan.is_in_place else _OperandSources(plan, view, rank)
              for plan, view in zip(plans, operands, strict=True)]
    intervals = [_refined([plan.cuts[d] for plan in plans], cuts[d] if cuts else (), extent)
                 for d, extent in enumerate(extents)]
    for box in itertools.product(*intervals):
        start = tuple([first for first, _, _ in box])
        shape = tuple([stop - first for first, stop, _ in box])
        sources = [_source_from(start, shape, out, out, rank) if output is None else output.source(start, shape)
                   for out, output in zip(outs, outputs, strict=True)]
        for n, array in enumerate(arrays):
            sources.append(_source_from(start, shape, plans[n].out, operands[n], rank) if array is None
                           else array.source([at[n] for _, _, at in box], shape))
        yield Piece(shape, tuple(sources), start)


def _refined(cuts: Sequence[_Cuts], more: Sequence[int],
             extent: int) -> list[tuple[int, int, list[tuple[int, int, int, int]]]]:
    """The intervals between the cuts of all operands, and per operand (coord, other, position, step) at their start."""
    starts = sorted({s for c in cuts for s in c.start} | {0, *more})
    intervals = []
    at = [0] * len(cuts)
    for start, stop in zip(starts, [*starts[1:], extent], strict=True):
        where = []
        for n, c in enumerate(cuts):
            while at[n] + 1 < len(c.start) and c.start[at[n] + 1] <= start:
                at[n] += 1
            k = at[n]
            ahead = start - c.start[k]
            where.append((c.coord[k], c.other[k] + c.step * ahead, c.position[k] + (ahead if c.step else 0), c.step))
        intervals.append((start, stop, where))
    return intervals


class _OutputSources:
    """Finds where a piece of an output lies in its storage."""

    def __init__(self, view: View, rank: int) -> None:
        self.view = view
        self.storage = view.layout.local_shape(rank)
        self.offset, self.strides = storage_geometry(view, rank)
        ranges = view_ranges(view, rank)
        assert ranges is not None  # as the view has a geometry
        self.ranges = ranges

    def source(self, start: Sequence[int], shape: Sequence[int]) -> Source:
        offset = self.offset + sum(i * stride for i, stride in zip(start, self.strides, strict=True))
        ranges = [(first + i * step, step, n)
                  for (first, step, _), i, n in zip(self.ranges, start, shape, strict=True)]
        return Source(LOCAL, offset, self.strides, section_box(self.view, ranges, self.storage))


class _OperandSources:
    """Finds the memory that a piece of an operand lies in, from where it lies in each dimension."""

    def __init__(self, plan: OperandPlan, view: View, rank: int) -> None:
        self.plan = plan
        self.view = view
        self.rank = rank
        layout = view.layout
        self.layout = layout
        held = layout.held_by(rank)
        self.storage, self.storage_strides, self.chosen = held.shape, held.strides, held.coords
        self.fixed = fixed_offset(view, held)
        self.message_from_peer = {m.peer: k for k, m in enumerate(plan.transfer.receives)}

    def source(self, at: Sequence[tuple[int, int, int, int]], shape: Sequence[int]) -> Source:
        if self.plan.temporary is not None:
            strides, stretched = iter(strides_from_shape(self.plan.temporary)), self.view.stretched_dims
            dims = [0 if d in stretched else next(strides) for d in range(len(at))]
            kept = [(n[1], n[1] + m) for d, (n, m) in enumerate(zip(at, shape, strict=True)) if d not in stretched]
            return Source(TEMPORARY, sum(n[1] * s for n, s in zip(at, dims, strict=True)), tuple(dims), tuple(kept))
        peer = self._peer([coord for coord, *_ in at])
        if peer == self.rank:
            base = [0 if p is None else self.storage_strides[p] for p in self.view.base_dims]
            offset = self.fixed + sum(n[1] * s for n, s in zip(at, base, strict=True))
            box = section_box(self.view, [(n[1], n[3], m) for n, m in zip(at, shape, strict=True)], self.storage)
            return Source(LOCAL, offset, tuple(n[3] * s for n, s in zip(at, base, strict=True)), box)
        number = self.message_from_peer[peer]
        message = strides_from_shape(self.plan.transfer.receives[number].shape)
        strides = iter(message)
        dims = [0 if d in self.view.stretched_dims else next(strides) for d in range(len(at))]
        return Source(BUFFER + number, sum(n[2] * s for n, s in zip(at, dims, strict=True)), tuple(dims))

    def _peer(self, dim_coords: Sequence[int]) -> int:
        coords = [self.chosen[axis] if c is None else c for axis, c in enumerate(self.view.fixed_coords)]
        for p, c in zip(self.view.base_dims, dim_coords, strict=True):
            axis = None if p is None else self.layout.dims[p].axis
            if axis is not None:
                coords[axis] = c
        return self.layout.rank_from_coords(coords)


def storage_geometry(view: View, rank: int, itemsize: int = 1) -> tuple[int, tuple[int, ...]]:
    """Offset and strides (in bytes, or in elements) in storage of the local part of a view with a layout of its own.

    Raises
    ------
    ValueError
        If the local part is not one strided section of the storage.
    """
    if view.layout.n_procs == 1:
        whole_offset, whole_strides = view.in_whole
        return itemsize * whole_offset, tuple([itemsize * stride for stride in whole_strides])
    part = local_part(view, rank)
    if part is not None:
        return itemsize * part.offset, tuple([itemsize * stride for stride in part.strides])
    held = view.layout.held_by(rank)
    strides, coords = [itemsize * stride for stride in held.strides], held.coords
    offset = itemsize * fixed_offset(view, held)
    view_strides = []
    for section, p in zip(view.sections, view.base_dims, strict=True):
        if p is None:
            view_strides.append(0)
            continue
        local = local_slice(section, view.layout.dim_coord(p, coords))
        if local is None:
            raise ValueError(
                f"the local part of a view with step {section.step} of a {section.dim} dimension is not one strided "
                "section: use blocks(), or copy() the view first")
        offset += local.start * strides[p]
        view_strides.append(local.step * strides[p] if local.step is not None else strides[p])
    return offset, tuple(view_strides)


def local_view_shape(view: View, rank: int) -> tuple[int, ...]:
    """The shape of the part of a view that a process owns; all zero where it owns nothing by pin or fixed index."""
    if view.layout.n_procs == 1:
        return view.shape
    part = local_part(view, rank) if view.shape else None
    if part is not None:
        return part.shape
    held = view.layout.held_by(rank)
    if not (held.is_any and view.holds(held.coords)):
        return (0,) * max(view.ndim, 1)
    return tuple(int(owned_segments(view, d, rank).length.sum()) for d in range(view.ndim))


def local_indices(view: View, d: int, rank: int) -> NDArray[np.int64]:
    """The indices along dimension d of the part of a view that a process owns, in the order of that part."""
    if not view.holds(view.layout.coords_from_rank(rank)):
        return np.empty(0, np.int64)
    return indices_at(view, d, rank, np.arange(int(owned_segments(view, d, rank).length.sum())))


def indices_at(view: View, d: int, rank: int, places: NDArray[np.int64]) -> NDArray[np.int64]:
    """The indices along dimension d of a view at places of the part that a process owns, which has these."""
    part = local_part(view, rank)
    if part is not None and 0 not in part.shape:
        return places + part.first[d]
    owned = owned_segments(view, d, rank)
    before = np.cumsum(owned.length) - owned.length
    return places + (owned.start - before)[np.searchsorted(before, places, "right") - 1]


def indices_between(view: View, d: int, rank: int, start: int, stop: int) -> NDArray[np.int64]:
    """The same of the places from one to before another, in a new array."""
    part = local_part(view, rank)
    if part is not None and 0 not in part.shape:
        return np.arange(part.first[d] + start, part.first[d] + stop)
    return indices_at(view, d, rank, np.arange(start, stop))


def owned_segments(view: View, d: int, rank: int) -> Segments:
    """The segments of the indices along dimension d of a view that a process owns, in the order of its part."""
    p = view.base_dims[d]
    coord = 0 if p is None else view.layout.dim_coord(p, view.layout.coords_from_rank(rank))
    return segments(view.sections[d], coord, _whole_section(whole_dim(view.shape[d])))
