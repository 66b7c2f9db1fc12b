"""Affine maps onto the index space of a base, in C; see affine.c."""

from collections.abc import Sequence
from typing import Any, Self

from pgaspy.layout import Layout

class Affine:
    """What a view is, and what is derived from it, which is kept; see `view` for the fields.

    A class made of it has `_as_index`, which is called with an index that is no int, slice, None or Ellipsis.
    """

    layout: Layout
    shape: tuple[int, ...]
    base_dims: tuple[int | None, ...]
    steps: tuple[int, ...]
    origin: tuple[int, ...]
    is_read_only: bool
    """Whether nothing is written through it, as through what NumPy's `broadcast_to` gives; it is equal to others."""

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
