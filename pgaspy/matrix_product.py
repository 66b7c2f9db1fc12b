"""The matrix product: of two matrices by SUMMA (`algorithms/summa.py`), of a matrix and a vector where that lies."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pgaspy.array import GlobalArray, made
from pgaspy.contraction import product_of_stacks
from pgaspy.dispatch import implements
from pgaspy.execution.recording import is_alone, record_cold
from pgaspy.global_assign import copied
from pgaspy.immediate import product
from pgaspy.job.defaults import default_for
from pgaspy.job.procgrid import world
from pgaspy.layout import Layout, replicated, without_dims
from pgaspy.operands import as_base_view, check_dtype
from pgaspy.planning.result_layout import inherited
from pgaspy.planning.view import View, whole
from pgaspy.scheduling.base import Base
from pgaspy.scheduling.kinds.reduction import reduce
from pgaspy.scheduling.operations import BaseView

__all__ = ["matmul"]


@implements(np.matmul)
def matmul(a: Any, b: Any) -> GlobalArray:
    """The product of matrices, vectors, or stacks of matrices, either of which may be a NumPy array. Collective.

    Raises
    ------
    ValueError
        If the inner extents differ, the stacks do not broadcast, or an operand has no dimension.
    """
    return made(*_product(as_base_view(a), as_base_view(b)))


def _product(a: BaseView, b: BaseView) -> BaseView:
    (_, a_view), (_, b_view) = a, b
    if not (1 <= a_view.ndim <= 2 and 1 <= b_view.ndim <= 2):
        return _product_of_stacks(a, b)
    if a_view.shape[-1] != b_view.shape[0]:
        raise _mismatch(a_view, b_view, b_view.shape[0])
    dtype = np.matmul.resolve_dtypes((a.base.dtype, b.base.dtype, None))[-1]
    check_dtype(dtype)
    if a_view.ndim == b_view.ndim == 2:
        return _product_of_matrices(a, b, dtype)
    if a_view.ndim == 1:
        a, b = BaseView(b.base, b_view.transpose(tuple(reversed(range(b_view.ndim))))), a
    return _matrix_vector(a, b, dtype)


def _mismatch(a: View, b: View, n: int) -> ValueError:
    return ValueError(f"matmul: the inner extents of shapes {a.shape} and {b.shape} differ, {a.shape[-1]} and {n}")


def _product_of_stacks(a: BaseView, b: BaseView) -> BaseView:
    if not a.view.ndim or not b.view.ndim:
        raise ValueError(f"matmul takes arrays of one or more dimensions, not of {a.view.ndim} and {b.view.ndim}")
    n = b.view.shape[-2 if b.view.ndim > 1 else -1]
    if a.view.shape[-1] != n:
        raise _mismatch(a.view, b.view, n)
    check_dtype(np.matmul.resolve_dtypes((a.base.dtype, b.base.dtype, None))[-1])
    found = product_of_stacks(GlobalArray(*a), GlobalArray(*b))
    return BaseView(found._base, found._view)


def _product_of_matrices(a: BaseView, b: BaseView, dtype: np.dtype[Any]) -> BaseView:
    from pgaspy.algorithms.summa import summa  # imported with pgaspy, it could not be run by its name without a warning

    layout = product_layout(a.view, b.view)
    c = BaseView(Base(layout, dtype), whole(layout))
    summa(GlobalArray(*a), GlobalArray(*b), GlobalArray(*c), beta=0)
    return c


def product_layout(a: View, b: View) -> Layout:
    """The layout of A @ B: rows as A's and columns as B's, where these lie on two axes of one grid."""
    shape = a.shape[0], b.shape[1]
    grid = a.layout.grid
    if a.own_layout is not None and b.own_layout is not None and grid == b.layout.grid and len(grid) == 2:
        dims = a.own_layout.dims[0], b.own_layout.dims[1]
        if (dims[0].axis, dims[1].axis) in ((0, 1), (1, 0)):
            return Layout(grid, [inherited(dim, dim.extent) for dim in dims])
    return default_for(shape)


def _matrix_vector(a: BaseView, x: BaseView, dtype: np.dtype[Any]) -> BaseView:
    """`A @ x` where A lies: x is aligned with A's columns, and the partial products are summed along the rows."""
    if is_alone() and (found := product(a, x, dtype)) is not None:
        return found
    if a.view.own_layout is None:
        a = copied(*a)
    layout = a.view.own_layout
    assert layout is not None
    last = a.view.ndim - 1
    x = copied(x.base, x.view, Layout(layout.grid, [layout.dims[last]], layout.pins))
    target_layout = without_dims(layout, (last,))
    target = BaseView(Base(target_layout, dtype), whole(target_layout))
    recipe = reduce(target.view, a.view, (last,), _Product(dtype), (dtype, a.base.dtype), (x.view,))
    recipe.is_cold = recipe.is_cold and not is_alone()
    record_cold(recipe, (target.base.storage, a.base.storage, x.base.storage))
    if last == 0 and not target_layout.is_replicated:
        return copied(*target, replicated((), world().size))
    return target


@dataclass(frozen=True, slots=True)
class _Product:
    """The reduction of a matrix (or vector) with a vector along the last dimension."""

    dtype: np.dtype[Any]

    @property
    def partial_dtype(self) -> np.dtype[Any]:
        return self.dtype

    def kernel(self, char: str) -> None:
        return None

    def partial(self, local: NDArray[Any], axes: tuple[int, ...], indices: Callable[[int], NDArray[np.int64]],
                operands: Sequence[NDArray[Any]]) -> NDArray[Any]:
        with np.errstate(all="ignore"):
            return np.asarray(np.matmul(local, operands[0], dtype=self.dtype))

    def merge(self, lower: NDArray[Any], higher: NDArray[Any]) -> NDArray[Any]:
        return np.add(lower, higher)

    def result(self, merged: NDArray[Any]) -> NDArray[Any]:
        return merged
