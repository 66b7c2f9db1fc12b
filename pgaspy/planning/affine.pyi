"""Affine maps onto the index space of a base, in C; see affine.c."""

from collections.abc import Sequence
from typing import Any, Self

from pgaspy.dims import Dim
from pgaspy.layout import Layout

class Affine:
    """What a view is, and what is derived from it, which is kept; see `view` for the fields.

    A class made of it has `_as_index`, which is called with an index that is no int, slice, None or Ellipsis, and
    `_refuse`, which raises the exception that it is called with.
    """

    layout: Layout
    shape: tuple[int, ...]
    base_dims: tuple[int | None, ...]
    steps: tuple[int, ...]
    origin: tuple[int, ...]
    is_read_only: bool
    """Whether nothing is written through it, as through what NumPy's `broadcast_to` gives; it is equal to others."""

    digest: int
    """See `digests`; 0 until it is asked for."""
    hash_of_numbers: int
    """Of all but the layout: the same one on every process."""
    fixed_coords: tuple[int | None, ...]
    """Per axis of the grid, the one coordinate that holds this view's elements, where there is just one.

    That is the array's pin, or the owner of the index at which a base dimension is fixed; None on the axes of the
    view's own dimensions, and on those that hold replicas.
    """
    along_axes: tuple[object, ...]
    """How the elements are dealt out along each axis of the grid with several processes; None where all hold them.

    Of block dimensions as the sections of their parents that they are: what lies alike is equal.
    """

    stretched_dims: tuple[int, ...]
    """The dimensions that repeat an element."""

    unstretched: Self
    """This view without these."""

    memory_order: tuple[int, ...] | None
    """The dimensions in the order of those of the base; None where that is their own, as without transposition."""

    only_holder: int | None
    """The rank of the one process that has all elements; None if several have some."""

    def __new__(cls, layout: Layout, shape: tuple[int, ...], base_dims: tuple[int | None, ...],
                steps: tuple[int, ...], origin: tuple[int, ...], /) -> Self: ...

    def index(self, key: Any, /) -> Self:
        """The view `self[key]` for NumPy's basic indices: integers, slices, newaxis, Ellipsis.

        Raises
        ------
        IndexError
            For an index out of bounds, too many indices, and a second Ellipsis.
        ArrayInKey
            For indices by arrays.
        """

    def transpose(self, axes: Sequence[int], /) -> Self:
        """The view whose dimension d is dimension `axes[d]` of this one (axes as checked by the caller)."""

    def disjoint(self, other: Affine, /) -> bool:
        """Whether two views of one base certainly share no element (their index ranges are apart in a dimension)."""

    def broadcast_to(self, shape: Sequence[int], /) -> Self:
        """This view with dimensions added in front and those of extent 1 stretched, by NumPy's rules.

        Raises
        ------
        ValueError
            If the shapes do not broadcast; the message names both.
        """

def joint_shape(*shapes: tuple[int, ...]) -> tuple[int, ...]:
    """The shape that others broadcast to. (`numpy.broadcast_shapes` takes half as many dimensions as arrays have.)

    Raises
    ------
    ValueError
        If they do not broadcast.
    """

def lie_alike(out: Affine, view: Affine, /) -> bool:
    """Whether each element of a view lies wherever that of an output does which has the same index.

    This may be so also where it is not found: dimensions of other extents, say, can be dealt out alike.
    """

def local_part(view: Affine, rank: int, /) -> Any:
    """See `local_parts`."""

def place(view: Affine, rank: int, /) -> int | None:
    """Where `rank` has the one element of a view without dimensions, in elements of its part; None if it has not."""

def own_dims(view: Affine, /) -> tuple[Dim, ...] | None:
    """The dimensions with exactly a view's owners; None where there are none in one of them."""

def result_dims(shape: tuple[int, ...], views: tuple[Affine, ...], grid: tuple[int, ...], /) -> tuple[Dim, ...] | None:
    """The dimensions of the result of an elementwise operation on views, which are broadcast to a shape; see
    `result_layout`. None where they go along one axis of the grid, or along one of another grid.
    """

def indices_within(low: int, high: int, start: int, step: int, n: int, /) -> tuple[int, int]:
    """The i, 0 <= i < n, with `low <= start + step*i < high`, as an interval."""

def interval(start: int, step: int, n: int, /) -> tuple[int, int]:
    """The least interval [first, stop) of `start + step*i`, i < n."""

def begin(local_part: type, /) -> None:
    """Have the class of local parts, of tuples."""
