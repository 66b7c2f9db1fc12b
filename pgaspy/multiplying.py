"""Products of whole arrays, as public names: of matrices and vectors, and of all pairs of elements."""

from __future__ import annotations

from typing import Any

import numpy as np

from pgaspy.alone.likeness import likeness, pairs, view_like, view_of
from pgaspy.alone.small import kinds
from pgaspy.array import GlobalArray, into
from pgaspy.creation import as_global
from pgaspy.dispatch import HANDLED, implements
from pgaspy.job.defaults import default_for
from pgaspy.planning.view import whole
from pgaspy.small_calls import as_new, by_numpy

__all__ = ["dot", "kron", "matmul", "outer"]


def matmul(x1: Any, x2: Any, out: GlobalArray | None = None) -> GlobalArray:
    """The product of matrices and vectors, which `x1 @ x2` is as well. Collective.

    Parameters
    ----------
    x1, x2
        Shapes (..., m, n) and (..., n, p), where the other dimensions are of stacks of matrices, and broadcast; or one
        is a vector, (n,), or both are.
    out
        An array of the result's shape, to which the product is assigned, and which is returned.

    Returns
    -------
    Shape (..., m, p), without the dimension that a vector lacks. Products of two matrices are dealt out as these are;
    those of stacks are made where the larger operand lies, see `pgaspy.contraction`.

    Raises
    ------
    ValueError
        If the shapes do not go together.
    """
    return into(as_global(x1) @ as_global(x2), (out,))


@implements(np.dot)
def dot(a: Any, b: Any, out: GlobalArray | None = None) -> GlobalArray:
    """The product of matrices or vectors, as `matmul`; of anything and a number elementwise. Collective.

    Of arrays with more dimensions, the sums over the last of `a` and the last but one of `b`, with all others of both.
    The product is assigned to `out`, if that is given, and then returned.
    """
    a, b = as_global(a), as_global(b)
    if not a.ndim or not b.ndim:
        found = a * b
    elif a.ndim < 3 and b.ndim < 3:
        found = a @ b
    else:
        found = HANDLED[np.tensordot](a, b, (-1, -2 if b.ndim > 1 else -1))
    return into(found, (out,))


@implements(np.kron)
@by_numpy(np.kron, like=as_new)
def kron(a: Any, b: Any) -> GlobalArray:
    """The Kronecker product: `b` times each element of `a`, in its place. Collective.

    Returns
    -------
    Along each dimension the product of the extents; the array with less dimensions counts as one with extents of 1 in
    front. The elements are computed where those of `a` lie, and reshaped, which moves them.
    """
    a, b = as_global(a), as_global(b)
    n = int(np.maximum(a.ndim, b.ndim))
    a, b = (x[(None,) * (n - x.ndim)] for x in (a, b))
    products = a[(slice(None), None) * n] * b[(None, slice(None)) * n]
    return products.reshape([p * q for p, q in zip(a.shape, b.shape, strict=True)])


def _like_pairs(a: Any, b: Any, *_: Any) -> Any:
    """The result; operands that are no vectors lie as new ones do."""
    first, second = (view_like(x) if x.__class__ in kinds and x.ndim == 1 else whole(default_for((np.size(x),)))
                     for x in (a, b))
    return likeness(pairs, first, view_of(second))


@implements(np.outer)
@by_numpy(np.outer, like=_like_pairs)
def outer(a: Any, b: Any, out: GlobalArray | None = None) -> GlobalArray:
    """The products of all pairs of elements of two vectors, shape (a.size, b.size). Collective.

    Arrays of more dimensions are taken as vectors, in row-major order. The products are assigned to `out`, if that is
    given, and then returned.
    """
    a, b = as_global(a).ravel(), as_global(b).ravel()
    return into(a[:, None] * b[None, :], (out,))
