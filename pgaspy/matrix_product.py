"""The matrix product: of two matrices by SUMMA (`algorithms/summa.py`), of a matrix and a vector where that lies.

A large product with few inner indices, as of the coordinates of points, is a sum of outer products instead: statements,
so that what is computed of it may share a kernel with them, and it may never be stored.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pgaspy.alone import small
from pgaspy.array import GlobalArray, made
from pgaspy.blas import add_product
from pgaspy.caches import acyclic
from pgaspy.contraction import product_of_stacks
from pgaspy.dims import BlockDim
from pgaspy.dispatch import implements
from pgaspy.execution.recording import are_errors_asked, is_alone, record_cold, tell_errors
from pgaspy.global_assign import copied, everywhere
from pgaspy.immediate import product, product_of_matrices
from pgaspy.job.defaults import default_for
from pgaspy.job.procgrid import world
from pgaspy.layout import Layout, replicated, without_dims
from pgaspy.operands import as_base_view, check_dtype
from pgaspy.planning.local_parts import local_part
from pgaspy.planning.result_layout import product_layout
from pgaspy.planning.view import View, whole
from pgaspy.scheduling.base import Base
from pgaspy.scheduling.floating_point import Found, silenced, silently
from pgaspy.scheduling.kinds.inner import inner, is_told_to_all
from pgaspy.scheduling.kinds.reduction import Indices, reduce
from pgaspy.scheduling.operations import BaseView
from pgaspy.tasks import schedule, update, write
from pgaspy.ufuncs import apply

__all__ = ["matmul"]

MAX_OUTER_PRODUCTS, MAX_ALONE = 4, 1
"""Inner indices of a product that is computed as a sum of outer products, which takes no longer than to store it; and
on one process, where BLAS has both matrices, and is faster from two on."""

MIN_ELEMENTS_OF_SUM = 1 << 16
"""Elements of such a product: a smaller one is sooner computed than recorded."""

MIN_ELEMENTS_IN_TWO = 1 << 19
"""Elements per process of a matrix that is multiplied by a vector in two tasks: they take half a millisecond."""


@implements(np.matmul)
def matmul(a: Any, b: Any) -> GlobalArray:
    """The product of matrices, vectors, or stacks of matrices, either of which may be a NumPy array. Collective.

    Raises
    ------
    ValueError
        If the inner extents differ, the stacks do not broadcast, or an operand has no dimension.
    """
    if a.__class__ not in small.kinds:
        a = GlobalArray(*as_base_view(a))
    if b.__class__ not in small.kinds:
        b = GlobalArray(*as_base_view(b))
    if not are_errors_asked():
        return _product(a, b)
    product: GlobalArray = silently(_product, a, b)
    tell_errors(silently(_errors_of_product, a, b, product))
    return product


def _errors_of_product(a: GlobalArray, b: GlobalArray, c: GlobalArray) -> Found:
    """The floating-point errors of a product, on the first process: what is infinite, or NaN, and no factor of it is.

    BLAS has threads of its own, whose flags nobody sees.
    """
    if b.ndim == 1:
        b, c = b[:, None], c[..., None]
    if a.ndim == 1:
        a, c = a[None], c[..., None, :]
    found = {}
    if c.dtype.kind in "fc":
        tests: list[tuple[str, int, Any]] = [("overflow", 2, np.isinf), ("invalid value", 8, np.isnan)]
        for error, flag, is_odd in tests:
            is_new = is_odd(c) & ~(is_odd(a).any(-1)[..., :, None] | is_odd(b).any(-2)[..., None, :])
            if is_new.any().item() and world().rank == 0:
                found[error, "matmul"] = flag
    return found


def _product(a: GlobalArray, b: GlobalArray) -> GlobalArray:
    if 1 <= a.ndim <= 2 and 1 <= b.ndim <= 2:
        return made(*_product_of_two(BaseView(a._base, a._view), BaseView(b._base, b._view)))
    return _product_of_stacks(a, b)


def _product_of_two(a: BaseView, b: BaseView) -> BaseView:
    """Of two matrices, or vectors."""
    (_, a_view), (_, b_view) = a, b
    if a_view.shape[-1] != b_view.shape[0]:
        raise _mismatch(a_view.shape, b_view.shape, b_view.shape[0])
    dtype = np.matmul.resolve_dtypes((a.base.dtype, b.base.dtype, None))[-1]
    check_dtype(dtype)
    if dtype == np.float16:
        return _product_of_halves(a, b)
    if a_view.ndim == b_view.ndim == 2:
        return _product_of_matrices(a, b, dtype)
    if a_view.ndim == b_view.ndim == 1 and is_told_to_all(a_view, b_view, dtype):
        return _inner_product(a, b, dtype)
    if a_view.ndim == 1:
        a, b = BaseView(b.base, b_view.transpose(tuple(reversed(range(b_view.ndim))))), a
    return _matrix_vector(a, b, dtype)


def _inner_product(a: BaseView, b: BaseView, dtype: np.dtype[Any]) -> BaseView:
    """The product of vectors that come to all processes."""
    layout = replicated((), world().size)
    target = BaseView(Base(layout, dtype), whole(layout))
    record_cold(inner(target.view, a.view, b.view, dtype), (target.base.storage, a.base.storage, b.base.storage))
    return target


def _product_of_halves(a: BaseView, b: BaseView) -> BaseView:
    """Products of float16 are summed in float32, as by NumPy."""
    wide = np.dtype(np.float32)
    found = _product_of_two(copied(*a, dtype=wide), copied(*b, dtype=wide))
    return copied(*found, dtype=np.dtype(np.float16))


def _mismatch(a: tuple[int, ...], b: tuple[int, ...], n: int) -> ValueError:
    return ValueError(f"matmul: the inner extents of shapes {a} and {b} differ, {a[-1]} and {n}")


def _product_of_stacks(a: GlobalArray, b: GlobalArray) -> GlobalArray:
    if not a.ndim or not b.ndim:
        raise ValueError(f"matmul takes arrays of one or more dimensions, not of {a.ndim} and {b.ndim}")
    n = b.shape[-2 if b.ndim > 1 else -1]
    if a.shape[-1] != n:
        raise _mismatch(a.shape, b.shape, n)
    check_dtype(np.matmul.resolve_dtypes((a.dtype, b.dtype, None))[-1])
    return product_of_stacks(a, b)


def _product_of_matrices(a: BaseView, b: BaseView, dtype: np.dtype[Any]) -> BaseView:
    from pgaspy.algorithms.summa import summa  # imported with pgaspy, it could not be run by its name without a warning

    layout = product_layout(a.view, b.view, default_for)
    if is_alone() and (found := product_of_matrices(a, b, layout, dtype)) is not None:
        return found
    c = BaseView(Base(layout, dtype), whole(layout))
    if 0 < a.view.shape[1] <= (MAX_ALONE if is_alone() else MAX_OUTER_PRODUCTS) and c.view.size >= MIN_ELEMENTS_OF_SUM:
        _sum_outer_products(a, b, c)
    elif is_alone() and min(*a.view.steps, *b.view.steps) > 0:
        A, B = (GlobalArray(*x).astype(dtype, copy=False) for x in (a, b))
        schedule(add_product, write(GlobalArray(*c)), A, B, 1, 0)
    else:
        summa(GlobalArray(*a), GlobalArray(*b), GlobalArray(*c), beta=0)
    return c


def _sum_outer_products(a: BaseView, b: BaseView, c: BaseView) -> None:
    """C = A B: for each inner index, add the outer product of a column and a row."""
    A, B, C = GlobalArray(*a), GlobalArray(*b), GlobalArray(*c)
    term = GlobalArray(Base(c.view.layout, c.base.dtype), c.view)
    for k in range(a.view.shape[1]):
        apply(np.multiply, (A[:, k:k + 1], B[k:k + 1]), out=(term if k else C,))
        if k:
            C += term


def _matrix_vector(a: BaseView, x: BaseView, dtype: np.dtype[Any]) -> BaseView:
    """`A @ x` where A lies: x comes to A's columns, and the partial products are summed along the rows."""
    if is_alone() and (found := product(a, x, dtype)) is not None:
        return found
    if a.view.own_layout is None:
        a = copied(*a)
    layout = a.view.own_layout
    assert layout is not None
    last = a.view.ndim - 1
    if x.view.stretched_dims:
        x = copied(*x)
    target_layout = without_dims(layout, (last,))
    target = BaseView(Base(target_layout, dtype), whole(target_layout))
    if own_columns_first(a.view, x.view):
        columns = Layout(layout.grid, [layout.dims[last]], layout.pins)
        _multiply_own_columns_first(target, a, x, copied(x.base, x.view, columns))
        return target
    recipe = reduce(target.view, a.view, (last,), _Product(dtype), (dtype, a.base.dtype, x.base.dtype), (x.view,))
    recipe.is_cold = recipe.is_cold and not is_alone()
    record_cold(recipe, (target.base.storage, a.base.storage, x.base.storage))
    return everywhere(*target) if last == 0 else target


def own_columns_first(a: View, x: View) -> bool:
    """Whether a matrix is multiplied by what each process has of a vector while the rest arrives.

    That is where the rows lie as the vector does, and take long enough to be worth two tasks. It follows from the
    layouts alone, as the order of a sum does.
    """
    n = world().size
    if n == 1 or a.ndim < 2 or a.size < MIN_ELEMENTS_IN_TWO * n or x.own_layout is None:
        return False
    assert a.own_layout is not None
    rows, _ = a.own_layout.dims
    (dim,) = x.own_layout.dims
    return (isinstance(dim, BlockDim) and dim.axis == rows.axis is not None and x.layout.grid == a.layout.grid
            and rows.n_procs == n)


def _multiply_own_columns_first(y: BaseView, a: BaseView, own: BaseView, x: BaseView) -> None:
    """y = A x, as y = A1 x1, and then y += A0 x0 + A2 x2, where x1 lies here."""
    part = local_part(own.view, world().rank)
    assert part is not None  # of a block dimension
    start, stop = part.first[0], part.first[0] + part.shape[0]
    Y, A = GlobalArray(*y), GlobalArray(*a)
    schedule(multiply_columns, write(Y), A, GlobalArray(*own), start, stop)
    schedule(add_other_columns, update(Y), A, GlobalArray(*x), start, stop)


@silenced
def multiply_columns(y: NDArray[Any], a: NDArray[Any], x: NDArray[Any], start: int, stop: int) -> None:
    """y = A1 x, with the columns of A from one on."""
    np.matmul(a[:, start:stop], x, out=y)


@silenced
def add_other_columns(y: NDArray[Any], a: NDArray[Any], x: NDArray[Any], start: int, stop: int) -> None:
    """y += A0 x0 + A2 x2, with the columns of A before and behind some."""
    for columns in slice(0, start), slice(stop, None):
        if x[columns].size:
            y += np.matmul(a[:, columns], x[columns])


@acyclic
@dataclass(frozen=True, slots=True)
class _Product:
    """The reduction of a matrix (or vector) with a vector along the last dimension."""

    dtype: np.dtype[Any]

    @property
    def partial_dtype(self) -> np.dtype[Any]:
        return self.dtype

    def kernel(self, char: str) -> None:
        return None

    def partial(self, local: NDArray[Any], axes: tuple[int, ...], indices: Indices,
                operands: Sequence[NDArray[Any]]) -> NDArray[Any]:
        return np.asarray(silently(np.matmul, local, operands[0], dtype=self.dtype))

    def merge(self, lower: NDArray[Any], higher: NDArray[Any]) -> NDArray[Any]:
        return np.add(lower, higher)

    @property
    def result(self) -> None:
        return None
