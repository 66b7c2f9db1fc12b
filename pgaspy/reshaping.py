"""Reshape: the elements, in row-major order, in another shape.

Where only extents of 1 come or go it is a view; else a copy, as a distributed array is not contiguous memory.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Sequence

from pgaspy.dims import whole_dim
from pgaspy.execution.recording import record
from pgaspy.global_assign import copied
from pgaspy.job.defaults import default_for
from pgaspy.layout import Layout
from pgaspy.planning.view import View, whole
from pgaspy.scheduling.base import Base
from pgaspy.scheduling.kinds.reshape import reshape
from pgaspy.scheduling.operations import BaseView

__all__ = ["reshaped", "view_of"]


def view_of(view: View, shape: Sequence[int]) -> View | None:
    """The view of this shape, if that is the view's own but for extents of 1."""
    extents = _resolved(view, shape)
    if [n for n in extents if n != 1] != [n for n in view.shape if n != 1]:
        return None
    dense = view.index(tuple([0 if n == 1 else slice(None) for n in view.shape]))
    return dense.index(tuple([None if n == 1 else slice(None) for n in extents]))


def reshaped(base: Base, view: View, shape: Sequence[int]) -> BaseView:
    """See `GlobalArray.reshape`."""
    same = view_of(view, shape)
    if same is not None:
        return BaseView(base, same)
    extents = _resolved(view, shape)
    if not view.is_whole:
        base, view = copied(base, view)
    layout = default_for(extents)
    if not view.layout.is_distributed:
        layout = Layout(view.layout.grid, [whole_dim(n) for n in extents], view.layout.pins)
    target = BaseView(Base(layout, base.dtype), whole(layout))
    if view.size:
        record(reshape(layout, view.layout, base.dtype), (target.base.storage, base.storage))
    return target


def _resolved(view: View, shape: Sequence[int]) -> tuple[int, ...]:
    """The shape with its -1, if there is one, replaced by the extent that is missing."""
    extents = [operator.index(n) for n in shape]
    if extents.count(-1) > 1:
        raise ValueError("can only specify one unknown dimension")
    known = math.prod(n for n in extents if n != -1)
    if -1 in extents and known > 0 and view.size % known == 0:
        extents[extents.index(-1)] = view.size // known
    if any(n < 0 for n in extents) or math.prod(extents) != view.size:
        wanted = str(tuple(shape)).replace(" ", "")
        raise ValueError(f"cannot reshape array of size {view.size} into shape {wanted}")
    return tuple(extents)
