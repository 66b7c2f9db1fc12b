"""Sums of products over the dimensions that two arrays share, by BLAS on what each process has.

The dimensions of arrays have labels, as in Einstein's notation. The larger array stays where it lies, and the other
comes to it: along what both have it lies as the larger one does, along all else it is whole. So each process has what
it needs for its part of the result; where it has only some of the terms, the processes' sums are added.
"""

from __future__ import annotations

import functools
import itertools
import math
from collections.abc import Hashable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pgaspy.alone import small
from pgaspy.alone.functions import MAX_MATRIX, MAX_PRODUCTS
from pgaspy.alone.likeness import likeness, view_like, view_of
from pgaspy.array import GlobalArray, made, of_elements
from pgaspy.caches import cached
from pgaspy.creation import empty
from pgaspy.dims import whole_dim
from pgaspy.global_assign import lying_in
from pgaspy.job.defaults import default_for
from pgaspy.job.procgrid import world
from pgaspy.kernels.bindings import address
from pgaspy.layout import Layout
from pgaspy.movement import combine
from pgaspy.planning.view import View, joint_shape, whole
from pgaspy.scheduling.floating_point import silenced
from pgaspy.scheduling.memory import Scratch
from pgaspy.tasks import perform, write

__all__ = ["contract", "product_of_stacks", "without_ones"]

Labels = Sequence[Hashable]
Extents = dict[Hashable, int]


def product_of_stacks(a: GlobalArray, b: GlobalArray) -> GlobalArray:
    """The products of matrices in the last two dimensions, of the stacks that the others are. Collective.

    Raises
    ------
    ValueError
        If the inner extents differ, or the stacks do not broadcast.
    """
    joint_shape(a.shape[:-2], b.shape[:-2])  # or an error that tells them
    a_labels, b_labels, out = _labels_of_stacks(a.ndim, b.ndim)
    (a, a_labels), (b, b_labels) = without_ones([(a, a_labels), (b, b_labels)])
    return contract(a, a_labels, b, b_labels, out)


@cached
def _labels_of_stacks(a_ndim: int, b_ndim: int) -> tuple[Labels, Labels, Labels]:
    """The labels of two stacks of matrices of so many dimensions, or of one and a vector, and of their products."""
    depth = max(a_ndim, b_ndim) - 2
    rows, inner, columns = depth, depth + 1, depth + 2
    a_labels = [*range(depth - a_ndim + 2, depth), rows, inner] if a_ndim > 1 else [inner]
    b_labels = [*range(depth - b_ndim + 2, depth), inner, columns] if b_ndim > 1 else [inner]
    return a_labels, b_labels, [*range(depth), *[rows] * (a_ndim > 1), *[columns] * (b_ndim > 1)]


def without_ones(operands: Sequence[tuple[GlobalArray, Labels]]) -> list[tuple[GlobalArray, list[Any]]]:
    """Operands with their labels, without the dimensions of extent 1 that are stretched to another's.

    Raises
    ------
    ValueError
        If the extents of a label differ otherwise.
    """
    kept = _kept(tuple([tuple(labels) for _, labels in operands]), tuple([x.shape for x, _ in operands]))
    return [(x if key is None else x[key], labels) for (x, _), (key, labels) in zip(operands, kept, strict=True)]


@cached
def _kept(labels: tuple[Labels, ...], shapes: tuple[tuple[int, ...], ...]) -> Sequence[tuple[Any, list[Any]]]:
    """A key for each operand, or None for all of it, and the labels of what it names."""
    extents: Extents = {}
    for label, n in zip(itertools.chain(*labels), itertools.chain(*shapes), strict=True):
        known = extents.setdefault(label, n)
        if known == 1:
            extents[label] = n
        elif n not in (1, known):
            raise ValueError(f"operands could not be broadcast together: extents of one label are {known} and {n}, "
                             f"in shapes {', '.join(map(str, shapes))}")
    found = []
    for own, shape in zip(labels, shapes, strict=True):
        kept = [n == extents[label] for label, n in zip(own, shape, strict=True)]
        key = tuple([slice(None) if is_kept else 0 for is_kept in kept])
        found.append((None if all(kept) else (*key, ...), [*itertools.compress(own, kept)]))
    return found


def contract(a: GlobalArray, a_labels: Labels, b: GlobalArray, b_labels: Labels, out: Labels) -> GlobalArray:
    """The products of elements of two arrays, summed over the labels that the result does not have. Collective.

    Parameters
    ----------
    a, b
        Arrays of numbers.
    a_labels, b_labels
        Of their dimensions, each once; a label stands for one extent. One that the result does not have is in both.
    out
        The labels of the result.

    Returns
    -------
    A new array. It lies as the larger operand does along the labels that they share, and is replicated along the axes
    of the grid over which it was summed, as the result of a reduction is; products of two matrices lie as those of `@`.
    """
    summed = [label for label in a_labels if label in b_labels and label not in out]
    a_free, b_free = ([x for x in labels if x not in others]
                      for labels, others in ((a_labels, b_labels), (b_labels, a_labels)))
    if a.ndim == b.ndim == 1 and summed:
        return a @ b
    if summed and np.matmul.resolve_dtypes((a.dtype, b.dtype, None))[-1] == np.float16:  # summed in float32, as NumPy's
        return contract(a.astype(np.float32), a_labels, b.astype(np.float32), b_labels, out).astype(np.float16)
    if not summed or not (a_free or b_free):
        product = _spread(a, a_labels, [*out, *summed]) * _spread(b, b_labels, [*out, *summed])
        return product.sum(tuple(range(len(out), product.ndim)), product.dtype) if summed else product
    if len(summed) == 1 and len(a_free) + len(b_free) == len(out) and max(len(a_free), len(b_free)) == 1:
        left, right = _permuted(a, a_labels, a_free + summed), _permuted(b, b_labels, summed + b_free)
        if left.ndim + right.ndim < 4 or not _is_dominated_by_sums(left, right):
            return _permuted(left @ right, a_free + b_free, out)
    return _by_parts(a, a_labels, b, b_labels, out, summed)


def _is_dominated_by_sums(a: GlobalArray, b: GlobalArray) -> bool:
    """Whether a product of two matrices is so much smaller than they are that each process may have all of it."""
    return a.shape[0] * b.shape[1] * world().size <= max(a.size, b.size)


def _permuted(x: GlobalArray, labels: Labels, wanted: Labels) -> GlobalArray:
    """The view with its dimensions in the order of the wanted labels."""
    return x if list(labels) == list(wanted) else x.transpose([list(labels).index(label) for label in wanted])


def _spread(x: GlobalArray, labels: Labels, wanted: Labels) -> GlobalArray:
    """The view with a dimension for each wanted label, of extent 1 where it has none."""
    there = _permuted(x, labels, [label for label in wanted if label in labels])
    return there[(*(slice(None) if label in labels else None for label in wanted), ...)]


def _by_parts(a: GlobalArray, a_labels: Labels, b: GlobalArray, b_labels: Labels, out: Labels,
              summed: Labels) -> GlobalArray:
    """The contraction where the larger operand lies."""
    if small.is_on and (few := _of_few(a, tuple(a_labels), b, tuple(b_labels), tuple(out))) is not None:
        return few
    operands = [(a, a_labels), (b, b_labels)]
    k = _anchor(a._view, b._view)
    anchor, labels = operands[k]
    if not _size_in_place(anchor._view):
        anchor = anchor.redistribute()
    extents = _extents(a_labels, a.shape, b_labels, b.shape)
    laid = functools.partial(_laid_along, anchor.layout, labels, extents)
    A, B = (anchor if position == k else GlobalArray(*lying_in(x._base, x._view, laid(x_labels)))
            for position, (x, x_labels) in enumerate(operands))
    C = empty([extents[x] for x in out], np.matmul.resolve_dtypes((a.dtype, b.dtype, None))[-1], layout=laid(out))
    perform(functools.partial(_multiply, _order(tuple(a_labels), tuple(b_labels), tuple(out))), write(C), A, B)
    if C.size and any(dim.n_procs > 1 for dim, x in zip(anchor.layout.dims, labels, strict=True) if x in summed):
        combine(np.add, C)
    return made(C._base, C._view)


def _of_few(a: GlobalArray, a_labels: Labels, b: GlobalArray, b_labels: Labels, out: Labels) -> GlobalArray | None:
    """The same of small arrays on one process, at once; None if it is not computed here."""
    x, y = small.ready(a, MAX_MATRIX), small.ready(b, MAX_MATRIX)
    if x is None or y is None or min(*x.strides, *y.strides) <= 0:
        return None
    extents = _extents(a_labels, x.shape, b_labels, y.shape)
    shape = tuple([extents[label] for label in out])
    if not small.takes(shape) or math.prod(extents.values()) > MAX_PRODUCTS:
        return None
    found = np.empty(shape, np.matmul.resolve_dtypes((x.dtype, y.dtype, None))[-1])
    if small.called(_multiply, _order(a_labels, b_labels, out), found, x, y, default=found) is None:
        return None
    like = likeness(_like_contracted, view_like(a), (view_of(view_like(b)), a_labels, b_labels, out))
    return of_elements(found, (like, None, True))


def _like_contracted(a: View, others: tuple[View, Labels, Labels, Labels]) -> View:
    """What the result is like: it lies along the labels of the larger operand as that does."""
    b, a_labels, b_labels, out = others
    anchor, labels = ((a, a_labels), (b, b_labels))[_anchor(a, b)]
    layout = anchor.own_layout if _size_in_place(anchor) else default_for(anchor.shape)
    assert layout is not None
    return whole(_laid_along(layout, labels, _extents(a_labels, a.shape, b_labels, b.shape), out))


def _extents(a_labels: Labels, a_shape: Sequence[int], b_labels: Labels, b_shape: Sequence[int]) -> Extents:
    return dict(zip((*a_labels, *b_labels), (*a_shape, *b_shape), strict=True))


def _laid_along(layout: Layout, labels: Labels, extents: Extents, own: Labels) -> Layout:
    """That of an array with labels of its own: as one with these along those that they share, whole along all else."""
    dims = dict(zip(labels, layout.dims, strict=True))
    return Layout(layout.grid, [dims.get(x) or whole_dim(extents[x]) for x in own])


def _anchor(*views: View) -> int:
    """Which operand stays where it is: the larger one that can."""
    return max((0, 1), key=lambda k: (_size_in_place(views[k]), views[k].size))


def _size_in_place(view: View) -> int:
    """The size of an operand that can stay where it is: one that is dealt out, and of which there are no copies."""
    layout = view.own_layout
    is_dealt_out = layout is not None and layout.is_distributed and not layout.replica_axes and not layout.is_pinned
    return view.size + 1 if is_dealt_out else 0


class _Order:
    """The dimensions of two operands as those of stacks of matrices, and those of their products as the result's."""

    __slots__ = ("a_axes", "b_axes", "n_batch", "n_free", "n_summed", "out_axes")

    def __init__(self, a_labels: Labels, b_labels: Labels, out: Labels) -> None:
        batch = [x for x in a_labels if x in b_labels and x in out]
        summed = [x for x in a_labels if x in b_labels and x not in out]
        a_free, b_free = [x for x in a_labels if x not in b_labels], [x for x in b_labels if x not in a_labels]
        self.a_axes = [list(a_labels).index(x) for x in (*batch, *a_free, *summed)]
        self.b_axes = [list(b_labels).index(x) for x in (*batch, *summed, *b_free)]
        self.out_axes = [list(out).index(x) for x in (*batch, *a_free, *b_free)]
        self.n_batch, self.n_free, self.n_summed = len(batch), len(a_free), len(summed)


_order = cached(_Order)


@silenced
def _multiply(order: _Order, c: NDArray[Any], a: NDArray[Any], b: NDArray[Any]) -> None:
    """The products of the parts of one process, as those of matrices."""
    n = order.n_batch
    a, b = a.transpose(order.a_axes), b.transpose(order.b_axes)
    A, _memory = _as_matrices(a, n, n + order.n_free)
    other = _with_rows_for_columns(b, n, n + order.n_summed)
    if (other.shape, other.strides, other.dtype, address(other)) == (a.shape, a.strides, a.dtype, address(a)):
        B = np.swapaxes(A, -1, -2)  # as in A A^T: neither copied twice, nor multiplied twice by BLAS
    else:
        B, _more_memory = _as_matrices(b, n, n + order.n_summed)
    target = c.transpose(order.out_axes)
    if _are_matrices(target, n, n + order.n_free):
        np.matmul(A, B, out=_reshaped(target, n, n + order.n_free), dtype=c.dtype)
    else:
        target[...] = np.matmul(A, B, dtype=c.dtype).reshape(target.shape)


def _as_matrices(x: NDArray[Any], n_batch: int, n_rows: int) -> tuple[NDArray[Any], Scratch | None]:
    """Stacks of matrices, of which rows and columns are several dimensions each; and the memory, where it is a copy.

    A copy has its elements in the order in which they lie: BLAS takes it by rows or by columns.
    """
    if _are_matrices(x, n_batch, n_rows):
        return _reshaped(x, n_batch, n_rows), None
    is_turned = max(map(abs, x.strides[n_batch:n_rows]), default=0) < max(map(abs, x.strides[n_rows:]), default=0)
    if is_turned:
        x, n_rows = _with_rows_for_columns(x, n_batch, n_rows), n_batch + x.ndim - n_rows
    memory = Scratch(x.shape, x.dtype)
    memory.array[...] = x
    found = _reshaped(memory.array, n_batch, n_rows)
    return (np.swapaxes(found, -1, -2) if is_turned else found), memory


def _with_rows_for_columns(x: NDArray[Any], n_batch: int, n_rows: int) -> NDArray[Any]:
    return x.transpose([*range(n_batch), *range(n_rows, x.ndim), *range(n_batch, n_rows)])


def _are_matrices(x: NDArray[Any], n_batch: int, n_rows: int) -> bool:
    """Whether the rows are one dimension of the memory, and the columns another one."""
    for first, end in (n_batch, n_rows), (n_rows, x.ndim):
        if end - first < 2:
            continue
        dims = [d for d in range(first, end) if x.shape[d] != 1]
        if any(x.strides[d] != x.strides[e] * x.shape[e] for d, e in itertools.pairwise(dims)):
            return False
    return True


def _reshaped(x: NDArray[Any], n_batch: int, n_rows: int) -> NDArray[Any]:
    return x.reshape(*x.shape[:n_batch], math.prod(x.shape[n_batch:n_rows]), math.prod(x.shape[n_rows:]))
