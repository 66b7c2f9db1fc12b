"""Likeness: what the views of arrays follow from that have their elements only, and so the layouts of results.

To make a view, or a layout, takes longer than to compute a small array. So it is noted from which view one follows, and
how; no array is kept for that, and not more than a few such notes, one in another.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from pgaspy.caches import cached
from pgaspy.dims import whole_dim
from pgaspy.job.defaults import default_for
from pgaspy.layout import Layout, replicated, without_dims
from pgaspy.planning.result_layout import layout_of_extents, product_layout, result_layout
from pgaspy.planning.view import View, whole

__all__ = ["MAX_DEPTH", "Like", "broadcast", "index", "index_result", "is_distributed", "like_of", "like_of_all",
           "likeness", "multiply", "of_extents", "only_read", "pairs", "result", "select", "sum_along",
           "transpose", "transpose_result", "view_like", "view_of", "with_columns", "with_rows"]

MAX_DEPTH = 8
"""Of views that follow one from another, before they are made."""


class Like(NamedTuple):
    """What a view follows from.

    Attributes
    ----------
    make
        What makes it of the parent's view, and of the argument.
    depth
        How many such lie one in another.
    is_distributed
        Whether the base of the first one is: results are like what is.
    """

    make: Callable[[View, Any], View]
    parent: Like | View
    argument: Any
    depth: int
    is_distributed: bool


_new = tuple.__new__  # which takes half the time


def likeness(make: Callable[[View, Any], View], parent: Any, argument: Any) -> Any:
    """What is made of a view, later; the view itself, if it follows from many others."""
    if parent.__class__ is View:
        return _new(Like, (make, parent, argument, 1, parent.layout.is_distributed))
    if parent.depth < MAX_DEPTH:
        return _new(Like, (make, parent, argument, parent.depth + 1, parent.is_distributed))
    return make(view_of(parent), argument)


def view_of(like: Any) -> View:
    """The view; of a number that follows from nothing, that of one which lies on all processes."""
    if like is None:
        return whole(replicated((), 1))
    return like if like.__class__ is View else like.make(view_of(like.parent), like.argument)


def index(view: View, key: Any) -> View:
    """The section of a view."""
    return view.index(key)


def index_result(view: View, key: Any) -> View:
    """The section of a result that is like a view."""
    return result(view).index(key)


def transpose(view: View, order: tuple[int, ...]) -> View:
    """The view with dimensions in an order."""
    return view.transpose(order)


def transpose_result(view: View, order: tuple[int, ...]) -> View:
    """That of a result that is like a view."""
    return result(view).transpose(order)


def only_read(view: View, _: Any = None) -> View:
    """The view, through which nothing is written."""
    return view.read_only


def result(view: View, _: Any = None) -> View:
    """That of a result that is like a view."""
    return _result_of(default_for(view.shape), view)


def broadcast(view: View, shape: tuple[int, ...]) -> View:
    """That of a result of a shape that is like a view."""
    return _result_of(default_for(shape), view.broadcast_to(shape))


@cached
def _result_of(default: Layout, *views: View) -> View:
    """That of a result of views of its shape, for which there is a default layout."""
    return whole(result_layout(default.shape, views, lambda _: default))


def select(view: View, rest: tuple[int, ...]) -> View:
    """What is read by indices that lie so: as they do, in the first dimensions, with others of these extents."""
    layout = result(view).layout
    return whole(Layout(layout.grid, [*layout.dims, *map(whole_dim, rest)], layout.pins))


def sum_along(view: View, axes: tuple[int, ...]) -> View:
    """What a result is like that is summed along dimensions."""
    return whole(without_dims(view.own_layout or result(view).layout, axes))


def multiply(view: View, other: View) -> View:
    """What the product of two matrices is like."""
    return _product_of(default_for((view.shape[0], other.shape[1])), view, other)


@cached
def _product_of(default: Layout, view: View, other: View) -> View:
    return whole(product_layout(view, other, lambda _: default))


def of_extents(view: View, extents: tuple[int, ...]) -> View:
    """What an array of these extents is like that is dealt out as a view is."""
    return whole(layout_of_extents(view, extents) or default_for(extents))


def pairs(view: View, other: View) -> View:
    """What the products are like of all pairs of elements of two vectors."""
    shape = view.shape + other.shape
    first, second = view.index((slice(None), None)).broadcast_to(shape), other.broadcast_to(shape)
    return _result_of(default_for(shape), first, second)


def with_columns(view: View, n: int) -> View:
    """What products are like of stacks of matrices with others that have so many columns."""
    layout = view.own_layout or result(view).layout
    return whole(Layout(layout.grid, [*layout.dims[:-1], whole_dim(n)], layout.pins))


def with_rows(view: View, n: int) -> View:
    """What products are like of others, that have so many rows, with stacks of matrices."""
    layout = view.own_layout or result(view).layout
    *stack, _, columns = layout.dims
    return whole(Layout(layout.grid, [*stack, whole_dim(n), columns], layout.pins))


# Of operands ---------------------------------------------------------------------------------------------------------


def like_of(x: Any) -> Any:
    """What the layout of a result follows from that is made of an array: a `Like`, or a view; None, of some numbers."""
    source = x._source
    return x._view if source is None else source[0]


def view_like(x: Any) -> Any:
    """What the view of an array follows from that has dimensions, or that view."""
    source = x._source
    if source is None:
        return x._view
    like, _, is_exact = source
    return like if is_exact else likeness(result, like, None)


def is_distributed(like: Any) -> bool:
    """Whether a result is like it sooner than like what is not."""
    return like.layout.is_distributed if like.__class__ is View else like is not None and like.is_distributed


def like_of_all(arrays: Sequence[Any], shapes: Sequence[tuple[int, ...]], shape: tuple[int, ...]) -> Any:
    """The same of several arrays, of which these shapes are known, and that of the result; see `result_layout`."""
    likes = [*map(like_of, arrays)]
    for first, own in zip(likes, shapes, strict=True):
        if own and is_distributed(first):
            break
    else:
        first, own = likes[0], shapes[0]
    if own == shape and _has_dims(first):
        return first
    return _result_of(default_for(shape), *[view_of(like).broadcast_to(shape) for like in likes])


def _has_dims(like: Any) -> bool:
    """Whether each dimension of a view is one of its base, which a result may follow; not of new dimensions."""
    while like.__class__ is Like:
        make, key = like.make, like.argument
        if make in _BY_KEY and (key is None or (key.__class__ is tuple and None in key)):
            return False
        if make not in _OF_VIEW:
            return True
        like = like.parent
    return like is None or None not in like.base_dims


_BY_KEY, _OF_VIEW = {index, index_result}, {index, transpose}
"""What makes views by keys; and what makes them of the parent's view, and not of that of a result."""
