"""Functions of small arrays: NumPy's, where these give the bits that kernels give, else a kernel.

Where it is not certain, or anything is in the way, they leave a call to those that record it, which know what to do,
and what to raise.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pgaspy.alone.likeness import (
    like_of,
    like_of_all,
    likeness,
    multiply,
    sum_along,
    view_like,
    view_of,
    with_columns,
    with_rows,
)
from pgaspy.alone.small import (
    MAX_ELEMENTS,
    NUMBERS,
    OF_NUMBER,
    OF_NUMPY,
    Small,
    are_few,
    called,
    in_order_of_memory,
    is_clear,
    is_writable,
    kinds,
    of_no_dimension,
    operand,
    ready,
    source_of_copy,
    source_of_new,
    takes,
)
from pgaspy.blas import add_product
from pgaspy.caches import cached
from pgaspy.execution import recording
from pgaspy.forms import Form, form_by, form_of
from pgaspy.fortran import address_of, prefix
from pgaspy.kernels.bindings import address, by_itself, run_elementwise
from pgaspy.operands import WEAK
from pgaspy.planning.view import joint_shape
from pgaspy.reductions import axes_of, reduction_by
from pgaspy.scans import loop_dtype
from pgaspy.scheduling import products
from pgaspy.scheduling.at_once import kernel_for
from pgaspy.scheduling.functions import WHERE
from pgaspy.scheduling.local_scans import along, are_products, has_kernel, prepared_reduction, reducing_kernel, scanned

__all__ = ["accumulated", "chosen", "clipped", "computed", "is_clipped_into", "is_computed_into", "position", "product",
           "quick_call", "quick_choice", "quick_product", "quick_reduction", "reduced", "squared_distances"]

_PLAIN_NUMBERS = (*WEAK, bool)
"""The classes of numbers that are chosen."""

MAX_MATRIX = 1 << 18
"""Elements of an operand of a product that BLAS computes in any case, as of a matrix and a vector."""

MAX_PRODUCTS = 1 << 20
"""Of numbers, in a product of matrices: about as long as it takes to pass through the elements of the largest array."""

MAX_REDUCED = 1 << 17
"""Elements of an array that is reduced: passing through so many once takes less than to record it, and to wait."""


def computed(ufunc: np.ufunc, x: Any, y: Any = None, is_first: bool = False) -> Small | None:
    """A function of a global array and another operand, which is the first if it `is_first`, and no such array then;
    or of the array alone. None if it is not computed here.
    """
    a = ready(x)
    if a is None:
        return None
    shape = a.shape
    other: Any
    operands: tuple[Any, ...]
    if y is None:
        other, operands = type(None), (a,)
    elif y.__class__ in WEAK:
        other, operands = type(y), (y, a) if is_first else (a, y)
    else:
        b = operand(y)
        if b is None or (b.shape != shape and b.shape and (shape := _joint_shape(a, b, y)) is None):
            return None
        other, operands = b.dtype, (b, a) if is_first else (a, b)
    dtype = _exact_result(ufunc, a.dtype, other)
    if not takes(shape) and (dtype is None or not are_few(math.prod(shape), dtype)):
        return None
    takes_first_zero = dtype is not None and ufunc in _FIRST_ZERO and dtype.kind == "f"
    if dtype is not None and not takes_first_zero:
        found = called(ufunc, *operands)
    elif takes_first_zero and (is_first or not shape):
        found = called(_FIRST_ZERO[ufunc], *operands)
    else:
        dtypes = (other, a.dtype, False) if is_first and y.__class__ not in WEAK else (a.dtype, other, is_first)
        form = form_of(ufunc, *dtypes, False)
        found = None if form is None else called(_by_kernel, form, shape, operands)
    if found is None or (is_first and dtype is not None and found.dtype is not dtype):
        return None  # that of NumPy's operand, which may be another object
    if not shape:
        return found, OF_NUMBER
    like = like_of_all((x, y), (a.shape, b.shape), shape) if y.__class__ in kinds else like_of(x)
    return _result(found, like, x, *((y,) if y.__class__ in kinds or y.__class__ is np.ndarray else ()))


def clipped(x: Any, low: Any, high: Any) -> Small | None:
    """The elements of a global array, limited by Python's numbers of their kind, or None; None if they are not computed
    here.
    """
    operands = _to_clip(x, low, high)
    found = None if operands is None else called(np.clip, *operands)
    return None if found is None else _result(found, like_of(x), x)


def is_clipped_into(x: Any, low: Any, high: Any, out: Any) -> bool:
    """The same into a global array of their dtype and shape; whether it was computed."""
    operands, target = _to_clip(x, low, high), ready(out)
    if operands is None or target is None or not is_writable(out):
        return False
    a = operands[0]
    return (target.shape == a.shape and target.dtype is a.dtype
            and called(functools.partial(np.clip, out=target), *operands) is not None)


def _to_clip(x: Any, low: Any, high: Any) -> tuple[NDArray[Any], Any, Any] | None:
    """What NumPy's function takes: with two limits, it leaves a zero as it is that is compared with another one, as
    kernels do.
    """
    a = ready(x)
    if a is None or not a.shape or a.dtype.char not in _CLIPPED:
        return None
    least, greatest = _limits(a.dtype)
    low, high = least if low is None else low, greatest if high is None else high
    if not all(n.__class__ in NUMBERS[a.dtype.kind] and n == n for n in (low, high)):
        return None
    return a, low, high


_CLIPPED = "fdbhilqBHILQ"
"""The dtypes whose elements are limited so."""


@cached
def _limits(dtype: np.dtype[Any]) -> tuple[float, float]:
    """Between which all elements of a dtype are."""
    if dtype.kind == "f":
        return -math.inf, math.inf
    limits = np.iinfo(dtype)
    return int(limits.min), int(limits.max)


def squared_distances(x: Any, center: Any) -> Small | None:
    """The squares of what real numbers differ from others by, which are stretched to their shape; None if they are not
    computed here. Both are global arrays.
    """
    a, b = ready(x, MAX_REDUCED), ready(center, MAX_REDUCED)
    if a is None or b is None or not a.shape:
        return None
    found = called(np.subtract, a, b)
    if found is None:
        return None
    called(functools.partial(np.square, out=found), found)
    return _result(found, like_of_all((x, center), (a.shape, b.shape), a.shape), x, center)


def _result(elements: NDArray[Any], like: Any, *arrays: Any) -> Small:
    """A new array that is computed of arrays, and like a view."""
    return (elements, (like, None, False)) if elements.flags.c_contiguous else in_order_of_memory(elements, arrays)


def is_computed_into(ufunc: np.ufunc, out: Any, where: Any, x: Any, y: Any = None) -> bool:
    """A function of a global array and another operand, in any order, or of the array alone, into a global array of the
    result's dtype, where a mask is true, or everywhere; whether it was computed.

    Negatives are stored beside the target first where elements lie apart (see `nodes`).
    """
    is_first = x.__class__ not in kinds
    array, other = (y, x) if is_first else (x, y)
    a, target = ready(array), ready(out)
    if a is None or target is None or not is_writable(out) or (ufunc is np.negative and not target.flags.c_contiguous):
        return False
    mask = where if where is True or where.__class__ not in kinds else operand(where)
    is_number = other is None or other.__class__ in WEAK
    if mask is not True and other.__class__ is int and not _holds(a.dtype, other):
        return False  # compared with one, where a mask is, NumPy 2.4 crashes
    b = other if is_number else operand(other)
    if (b is None and not is_number) or not (mask is True or mask.__class__ is np.ndarray):
        return False
    of: Any = type(b) if is_number else b.dtype
    dtype = _exact_result(ufunc, a.dtype, of)
    if dtype is not target.dtype or (ufunc in _FIRST_ZERO and dtype.kind == "f"):
        return False
    operands = (a,) if other is None else (b, a) if is_first else (a, b)
    return called(functools.partial(ufunc, out=target, where=mask), *operands) is not None


def _holds(dtype: np.dtype[Any], number: int) -> bool:
    """Whether a number is one of a dtype of integers, if that is one."""
    return dtype.kind not in "iu" or np.iinfo(dtype).min <= number <= np.iinfo(dtype).max


def chosen(*given: Any) -> Small | None:
    """`where(condition, x, y)` of arrays of a dtype, which are stretched to one shape, and Python numbers; None if it
    is not done here.
    """
    if given[0].__class__ not in kinds or not is_clear():
        return None
    arrays: list[Any] = []
    shapes: list[tuple[int, ...]] = []
    operands: list[Any] = []
    for x in given:
        if x.__class__ not in _PLAIN_NUMBERS:
            arrays.append(x)
            x = operand(x) if x.__class__ in kinds else None
            if x is None:
                return None
            shapes.append(x.shape)
        operands.append(x)
    mask, *others = operands
    of: list[Any] = [x.__class__ if x.__class__ in _PLAIN_NUMBERS else x.dtype for x in others]
    form = _choice(*of)
    shape = _stretched(*shapes)
    if form is None or mask.dtype.kind != "b" or shape is None or not are_few(math.prod(shape), form.loop[-1]):
        return None
    if not shape:
        found = called(_where, form.number_dtype, mask, *others)
        return None if found is None else (found, of_no_dimension(found))
    if form.kernel < 0 or len({*shapes}) > 1:
        elements = called(_where, form.number_dtype, mask, *others)
    else:
        elements = called(_by_kernel, form, shape, operands)
    return None if elements is None else _result(elements, like_of_all(arrays, shapes, shape), *arrays)


def _stretched(shape: tuple[int, ...], *others: tuple[int, ...]) -> tuple[int, ...] | None:
    """The shape to which all are stretched, if they can be."""
    try:
        for other in others:
            shape = shape if other == shape else joint_shape(shape, other)
    except ValueError:
        return None
    return shape


def _where(dtype: np.dtype[Any], mask: NDArray[Any], *operands: Any) -> NDArray[Any]:
    """NumPy's, of arrays and numbers of a dtype, which these have to fit in."""
    return np.where(mask, *[dtype.type(x) if x.__class__ in _PLAIN_NUMBERS else x for x in operands])


def product(x: Any, y: Any) -> Small | None:
    """A product of matrices and vectors, one of which may be NumPy's; None if it is not computed here."""
    if not is_clear() or not any(of.__class__ in kinds for of in (x, y)):
        return None
    a, b = operand(x, MAX_MATRIX), operand(y, MAX_MATRIX)
    if a is None or b is None or a.dtype is not b.dtype or not (a.dtype.kind in "iu" or a.dtype.char in "fdFD"):
        return None
    is_numpys = x.__class__ not in kinds or y.__class__ not in kinds
    if a.ndim == b.ndim > 2:
        return None if is_numpys else _product_of_stacks(x, a, y, b)
    if not (1 <= a.ndim <= 2 and 1 <= b.ndim <= 2 and a.shape[-1] == b.shape[0]):
        return None
    if a.ndim == b.ndim == 2:
        return _product_of_matrices(x, a, y, b, is_numpys)
    matrix, vector, like, last = (a, b, x, 1) if a.ndim == 2 else (b.T, a, y, 0)
    if matrix.ndim == 1 and matrix.strides[0] < 0:
        matrix = np.ascontiguousarray(matrix)
    elif min(matrix.strides) <= 0:
        return None
    found = called(np.matmul, matrix, np.ascontiguousarray(vector))
    if not found.shape:
        return found, OF_NUMBER
    if like.__class__ not in kinds:
        return found, source_of_new(found.shape)
    return found, (likeness(sum_along, view_like(like), (last,)), None, True)


def _product_of_matrices(x: Any, a: NDArray[Any], y: Any, b: NDArray[Any], is_numpys: bool) -> Small | None:
    m, n = a.shape[0], b.shape[1]
    if min(*a.strides, *b.strides) <= 0 or m * n > MAX_ELEMENTS or m * a.shape[1] * n > MAX_PRODUCTS:
        return None
    found = np.empty((m, n), a.dtype)
    called(add_product, found, a, b, 1, 0)
    if is_numpys:
        return found, source_of_new(found.shape)
    return found, (likeness(multiply, view_like(x), view_of(view_like(y))), None, True)


def _product_of_stacks(x: Any, a: NDArray[Any], y: Any, b: NDArray[Any]) -> Small | None:
    """Products of as many matrices, which lie as the larger ones do."""
    if a.shape[:-2] != b.shape[:-2] or a.shape[-1] != b.shape[-2]:
        return None
    if not (a.flags.c_contiguous and b.flags.c_contiguous) or a.size * b.shape[-1] > MAX_PRODUCTS or (
            max(a.size, b.size, math.prod(a.shape[:-1]) * b.shape[-1]) > MAX_ELEMENTS):
        return None
    found = called(np.matmul, a, b)
    if found is None:
        return None
    if a.size >= b.size:
        return found, (likeness(with_columns, view_like(x), b.shape[-1]), None, True)
    return found, (likeness(with_rows, view_like(y), a.shape[-2]), None, True)


def reduced(ufunc: np.ufunc, x: Any, axis: Any = None, keepdims: bool = False,
            wanted: np.dtype[Any] | None = None) -> Small | None:
    """All elements reduced to one, or those along dimensions, in a dtype; None if it is not computed here."""
    a = ready(x, MAX_REDUCED)
    if a is None or not a.size or (wanted is not None and wanted.kind not in "iufc"):
        return None
    if not a.shape:
        return _reduced_number(ufunc, a, axis, wanted)
    if min(a.strides) <= 0:
        return None
    axes = _ALL if axis is None and a.ndim == 1 else axes_of(a, axis)
    run = _kernels_reduction(ufunc, a.dtype, wanted, a.shape, a.strides, axes)
    if run is not None:
        recording.queue.n_at_once += 1
        return _left(by_itself(run, a), x, axes, keepdims)
    local, places = (a, axes) if len(axes) == a.ndim else _in_order_of_memory(a, axes)
    reduction = reduction_by(ufunc, a.dtype, wanted)
    if are_products(ufunc, reduction.dtype):
        found = called(products.at_once, local, places, reduction.dtype)
    else:
        found = called(by_itself, reduction.partial, local, places, _NO_INDICES, ())
        if found is not None and reduction.result is not None:
            found = reduction.result(found)
    return None if found is None else _left(found, x, axes, keepdims)


def _reduced_number(ufunc: np.ufunc, number: Any, axis: Any, wanted: np.dtype[Any] | None) -> Small | None:
    """The same of an array without dimensions."""
    reduction = reduction_by(ufunc, number.dtype, wanted)
    if axis is not None or reduction.result is not None:
        return None
    found = called(ufunc.reduce, number, None, reduction.dtype)
    return None if found is None else (found, OF_NUMBER)


_ALL = (0,)
"""The dimensions of a vector."""


@cached
def _kernels_reduction(ufunc: np.ufunc, dtype: np.dtype[Any], wanted: np.dtype[Any] | None, shape: tuple[int, ...],
                       strides: tuple[int, ...], axes: tuple[int, ...]) -> Any:
    """The call of a kernel that reduces such arrays as they lie; None if there is none."""
    kernel = _kernel_of_reduction(ufunc, dtype, wanted)
    if kernel is None:
        return None
    local = np.lib.stride_tricks.as_strided(np.empty(0, dtype), shape, strides)
    if len(axes) < len(shape):
        local, axes = _in_order_of_memory(local, axes)
    return prepared_reduction(ufunc, dtype, kernel[1], local.shape, local.strides, axes)


def _in_order_of_memory(a: NDArray[Any], axes: tuple[int, ...]) -> tuple[NDArray[Any], tuple[int, ...]]:
    """An array with its dimensions in the order of memory, if those that are left keep their order, and its axes."""
    order = sorted(range(a.ndim), key=lambda d: -a.strides[d])
    left = [d for d in order if d not in axes]
    if left != sorted(left):
        return a, axes
    return a.transpose(order), tuple([n for n, d in enumerate(order) if d in axes])


def _left(found: Any, x: Any, axes: tuple[int, ...], keepdims: bool = False) -> Small:
    """What is left of an array whose elements are reduced along dimensions."""
    if not found.shape and not keepdims:
        return found[()], OF_NUMBER
    like = likeness(sum_along, view_like(x), axes)
    elements = np.asarray(found, order="C")
    if not keepdims:
        return elements, (like, None, True)
    key = tuple([None if d in axes else slice(None) for d in range(found.ndim + len(axes))])
    return elements[key], (view_of(like).index(key), None, True)


def accumulated(ufunc: np.ufunc, x: Any, axis: int) -> Small | None:
    """What a ufunc accumulates along a dimension; None if it is not computed here."""
    a = ready(x)
    if a is None or not a.size or not -a.ndim <= axis < a.ndim or min(a.strides) <= 0 or not takes(a.shape):
        return None
    dtype = called(loop_dtype, "accumulate", ufunc, a.dtype, None, None)
    if dtype is None or not (a.dtype == dtype or has_kernel(ufunc, a.dtype, dtype)):
        return None
    found = np.empty(a.shape, dtype)
    if called(by_itself, scanned, ufunc, *(along(part, axis) for part in (a, found)), default=True) is None:
        return None
    return found, source_of_copy(x)


def position(name: str, x: Any, axis: Any = None) -> Small | None:
    """Where the first least or greatest element is, in row-major order (`argmin`, `argmax`), or along a dimension; None
    if it is not looked for here.
    """
    a = ready(x, MAX_REDUCED)
    if a is None or not a.size or not a.shape:
        return None
    found = called(getattr(np, name), a, axis)
    return None if found is None else _left(found, x, axes_of(a, axis))


_NO_INDICES: Any = None
"""Reductions by functions need none."""

# Which functions, and how --------------------------------------------------------------------------------------------

_EXACT = {np.add, np.subtract, np.multiply, np.divide, np.negative, np.positive, np.absolute, np.fabs, np.square,
          np.sqrt, np.floor, np.ceil, np.trunc, np.rint, np.isnan, np.isinf, np.isfinite, np.minimum, np.maximum,
          np.less, np.less_equal, np.greater, np.greater_equal, np.equal, np.not_equal, np.logical_not,
          np.bitwise_and, np.bitwise_or, np.bitwise_xor, np.invert}
_OF_FLOATS = {np.divide, np.sqrt, np.fabs, np.floor, np.ceil, np.trunc, np.rint, np.isnan, np.isinf, np.isfinite}
_OF_TRUTHS = {np.equal, np.not_equal, np.logical_not, np.bitwise_and, np.bitwise_or, np.bitwise_xor, np.invert}
"""Functions whose results are the same to the bit wherever they are computed; those of floats, and of truths, alone."""

_OF_UNSIGNED = {np.remainder, np.floor_divide, np.left_shift, np.right_shift}
"""Those that have no kernels for unsigned integers of more than a byte, so that NumPy computes them in all tiers."""


@cached
def _exact_result(ufunc: np.ufunc, dtype: np.dtype[Any], other: Any) -> np.dtype[Any] | None:
    """The dtype of a function of a dtype and another, or a class of numbers, or `NoneType` where there is none; None
    where it is not certain that NumPy gives the same bits.
    """
    operands = [dtype] if other is type(None) else [dtype, other]
    is_unsigned = ufunc in _OF_UNSIGNED and dtype.char in "HIL"
    if not (ufunc in _EXACT or is_unsigned) or ufunc.nin != len(operands):
        return None
    try:
        *taken, found = ufunc.resolve_dtypes((*operands, None))
    except TypeError:
        return None
    if ufunc in _FIRST_ZERO and found.kind == "f" and any(x != found for x in operands if isinstance(x, np.dtype)):
        return None  # a zero may change its sign where it is cast
    if is_unsigned and taken[0] is not dtype:
        return None
    of = "f" if ufunc in _OF_FLOATS else "fiub" if ufunc in _OF_TRUTHS else "fiu"
    return found if len({*taken}) == 1 and taken[0].kind in of and taken[0].char not in "eg" else None


def quick_call(ufunc: np.ufunc, dtype: np.dtype[Any], other: Any, is_first: bool) -> Any:
    """How a function is called in C: the dtype of its result, where that of NumPy is called itself; a kernel, the dtype
    that it takes a number as, that of its result, and that to which arrays are cast, if any is; None where it is left
    to `computed`.
    """
    found = _exact_result(ufunc, dtype, other)
    if found is not None and not (ufunc in _FIRST_ZERO and found.kind == "f"):
        return found
    form = form_of(ufunc, dtype, other, is_first, False)
    if form is None:
        return None
    taken = {loop for loop, is_array in zip(form.loop, form.is_array, strict=False) if is_array}
    if form.is_cast and (form.kernel < 0 or len(taken) > 1):
        return None
    return form.kernel, form.number_dtype, form.loop[-1], *(taken if form.is_cast else ())


@cached
def _choice(x: Any, y: Any) -> Form | None:
    """How one of two is chosen of a dtype, and another one or classes of Python's numbers; None where any is cast."""
    numbers = [of for of in (x, y) if isinstance(of, type)]
    dtypes = {of for of in (x, y) if not isinstance(of, type)}
    dtype = next(iter(dtypes), None) or np.result_type(*numbers)
    if len(dtypes) > 1 or any(number not in (bool, *NUMBERS.get(dtype.kind, ())) for number in numbers):
        return None
    loop = np.dtype(bool), dtype, dtype, dtype
    is_array = True, not isinstance(x, type), not isinstance(y, type)
    kernel = kernel_for(WHERE, "where", loop, loop)
    return form_by(kernel, WHERE, loop, dtype, is_array)


def quick_choice(_: None, x: Any, y: Any, __: bool) -> tuple[int, np.dtype[Any], np.dtype[Any]] | None:
    """How one of two is chosen in C, as `quick_call` tells it of functions; None where it is left to `chosen`."""
    form = _choice(x, y)
    return None if form is None or form.kernel < 0 else (form.kernel, form.number_dtype, form.loop[-1])


def quick_reduction(ufunc: np.ufunc, dtype: np.dtype[Any], *_: Any) -> tuple[int, np.dtype[Any]] | None:
    """How all elements are reduced in C: a kernel, and the dtype of the number; None where it is left to `reduced`."""
    return _kernel_of_reduction(ufunc, dtype, None)


def _kernel_of_reduction(ufunc: np.ufunc, dtype: np.dtype[Any],
                         wanted: np.dtype[Any] | None) -> tuple[int, np.dtype[Any]] | None:
    """The kernel of a reduction, and the dtype that it gives; None where that is not all of it."""
    reduction = reduction_by(ufunc, dtype, wanted)
    if are_products(ufunc, reduction.dtype) or reduction.result is not None:
        return None
    kernel = reducing_kernel(ufunc, dtype, reduction.dtype)
    return None if kernel is None else (kernel, reduction.dtype)


def quick_product(_: np.ufunc, dtype: np.dtype[Any], *others: Any) -> int:
    """Where BLAS's product of matrices is."""
    return address_of("blas", prefix(dtype) + "gemm")


def _minimum(a: Any, b: Any) -> Any:
    """NumPy's of floats, but of two zeros the first one, whatever their signs, as kernels have it."""
    if a.__class__ is np.float64 is b.__class__:
        return a if a <= b or a != a else b
    return np.where(np.less_equal(a, b) | np.not_equal(a, a), *_floats(a, b))[()]


def _maximum(a: Any, b: Any) -> Any:
    if a.__class__ is np.float64 is b.__class__:
        return a if a >= b or a != a else b
    return np.where(np.greater_equal(a, b) | np.not_equal(a, a), *_floats(a, b))[()]


def _floats(*operands: Any) -> list[Any]:
    """Operands with floats in the place of Python's integers, of which `where` would make other dtypes."""
    return [float(x) if x.__class__ is int else x for x in operands]


_FIRST_ZERO: dict[np.ufunc, Callable[..., Any]] = {np.minimum: _minimum, np.maximum: _maximum}


def _by_kernel(form: Form, shape: tuple[int, ...], operands: Sequence[Any]) -> Any:
    """What a kernel gives, of arrays and a number."""
    arrays: list[Any] = []  # whose memory stays meanwhile
    steps: list[int] = []
    turned = None
    is_in_order = False
    for x, dtype in zip(operands, _taken_dtypes(form), strict=True):
        a = np.asarray(x, dtype)
        if a.shape != shape:
            a = np.broadcast_to(a, shape)
        elif a.flags.c_contiguous:
            is_in_order = True
        elif turned is None:
            turned = a
        arrays.append(a)
        steps += a.strides
    dtype = form.loop[-1]
    found = np.empty(shape, dtype) if is_in_order or turned is None else np.empty_like(turned, dtype)
    arrays.append(found)
    steps += found.strides
    by_itself(run_elementwise, form.kernel, shape, [address(a) for a in arrays], steps)
    return found if shape else found[()]


@cached
def _taken_dtypes(form: Form) -> tuple[np.dtype[Any], ...]:
    """Those of a kernel's operands, of which one may be a number."""
    return tuple([dtype if is_array else form.number_dtype
                  for dtype, is_array in zip(form.loop, form.is_array, strict=False)])


def _joint_shape(a: Any, b: Any, y: Any) -> tuple[int, ...] | None:
    """The shape to which operands are stretched, if they can be. NumPy's may be to that of the first, but not it to
    theirs, as its view would say nothing of the result.
    """
    try:
        shape = joint_shape(a.shape, b.shape)
    except ValueError:
        return None
    return None if y.__class__ in OF_NUMPY and shape != a.shape else shape
