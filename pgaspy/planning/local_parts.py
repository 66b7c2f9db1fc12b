"""Local parts: what a process owns of a view, where that is an interval of each dimension. Pure.

So it is of block dimensions, and of those that are not dealt out: plain integers say all of it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from pgaspy.caches import cached
from pgaspy.layout import Layout
from pgaspy.planning import affine
from pgaspy.planning.affine import Affine, indices_within, interval, lie_alike, place
from pgaspy.planning.view import whole

__all__ = ["LocalPart", "are_alike", "indices_within", "lie_alike", "local_part", "place"]


class LocalPart(NamedTuple):
    """What a process owns of a view; it is made in C, by `affine`, which knows the order of the fields.

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


affine.begin(LocalPart)

local_part: Callable[[Affine, int], LocalPart | None] = affine.local_part
"""What a rank owns of a view; None where that is no interval of each dimension."""


@cached
def are_alike(layout: Layout, other: Layout) -> bool:
    """Whether each process holds the same elements, as where grids differ in axes of one process; as for `lie_alike`.
    """
    if layout.shape != other.shape:
        return False
    return lie_alike(whole(layout), whole(other)) and lie_alike(whole(other), whole(layout))
