"""The functions of `numpy.fft`: what they take, and how a transform is made of passes."""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from typing import Any, Literal

import numpy as np
from numpy.lib.array_utils import normalize_axis_index

from pgaspy.array import GlobalArray
from pgaspy.creation import as_global, zeros
from pgaspy.dispatch import implements
from pgaspy.fft.few import transformed_few
from pgaspy.fft.one_dimension import transformed_vector
from pgaspy.fft.pencils import (
    copied_in_place,
    in_pencils,
    is_one_line,
    layout_like,
    ready,
    real_pass,
    transformed,
    whole_dims,
)
from pgaspy.fft.real_vectors import real_of_spectrum, spectrum_of_real
from pgaspy.operands import refuse_truths

__all__ = ["Axes", "Lengths", "Norm", "check_norm", "dims_of", "fft", "fft2", "fftn", "finished", "hfft", "ifft",
           "ifft2", "ifftn", "ihfft", "irfft", "irfft2", "irfftn", "rfft", "rfft2", "rfftn", "with_lengths"]

Norm = Literal["backward", "ortho", "forward"] | None
Lengths = Sequence[int] | None
Axes = Sequence[int] | None

_SWAPPED: dict[Norm, Norm] = {None: "forward", "backward": "forward", "ortho": "ortho", "forward": "backward"}


# The public names ----------------------------------------------------------------------------------------------------


@implements(np.fft.fft)
def fft(a: Any, n: int | None = None, axis: int = -1, norm: Norm = None, out: GlobalArray | None = None, *,
        transposed_out: bool = False) -> GlobalArray:
    """The discrete Fourier transform along one dimension. Collective.

    Parameters
    ----------
    a
        Any shape but (); real or complex.
    n
        The length that is transformed: the dimension is cut, or zeros are added to it.
    axis
        The dimension.
    norm
        Which transform is divided by the length: "backward", the inverse one, as by default, or "forward", this one;
        or "ortho", both by its root.
    out
        An array of the result's shape, to which the result is assigned, and which is returned.
    transposed_out
        Leave the result in the layout that it is computed in, not the operand's: that saves half of the movement.

    Returns
    -------
    complex64 of float16 and float32, and complex128 of float64 and integers.

    Raises
    ------
    ValueError
        If the length is below 1, for an unknown `norm`, or if `out` has another shape.
    TypeError
        For what has no transform, as dates and text.

    Examples
    --------
    >>> import pgaspy as pg
    >>> pg.fft.fft(pg.array([1.0, 0.0, -1.0, 0.0])).gather().real
    array([0., 2., 0., 2.])
    """
    return _complex(a, _one(n), (axis,), "fftn", norm, out, transposed_out)


@implements(np.fft.ifft)
def ifft(a: Any, n: int | None = None, axis: int = -1, norm: Norm = None, out: GlobalArray | None = None, *,
         transposed_out: bool = False) -> GlobalArray:
    """The inverse of `fft`, which see. Collective."""
    return _complex(a, _one(n), (axis,), "ifftn", norm, out, transposed_out)


@implements(np.fft.fft2)
def fft2(a: Any, s: Lengths = None, axes: Axes = (-2, -1), norm: Norm = None, out: GlobalArray | None = None, *,
         transposed_out: bool = False) -> GlobalArray:
    """The transform along two dimensions: `fftn` with other defaults. Collective."""
    return _complex(a, s, axes, "fftn", norm, out, transposed_out)


@implements(np.fft.ifft2)
def ifft2(a: Any, s: Lengths = None, axes: Axes = (-2, -1), norm: Norm = None, out: GlobalArray | None = None, *,
          transposed_out: bool = False) -> GlobalArray:
    """The inverse of `fft2`. Collective."""
    return _complex(a, s, axes, "ifftn", norm, out, transposed_out)


@implements(np.fft.fftn)
def fftn(a: Any, s: Lengths = None, axes: Axes = None, norm: Norm = None, out: GlobalArray | None = None, *,
         transposed_out: bool = False) -> GlobalArray:
    """The discrete Fourier transform along several dimensions. Collective; all else is as for `fft`.

    Parameters
    ----------
    s
        The lengths that are transformed, one for each of `axes`; -1 for that of the array.
    axes
        The dimensions: by default all, or with `s` the last ones. One that comes twice is transformed twice.

    Raises
    ------
    ValueError
        Also if there are not as many lengths as dimensions.

    Examples
    --------
    >>> import pgaspy as pg
    >>> pg.fft.fftn(pg.ones((2, 3))).gather().real
    array([[6., 0., 0.],
           [0., 0., 0.]])
    """
    return _complex(a, s, axes, "fftn", norm, out, transposed_out)


@implements(np.fft.ifftn)
def ifftn(a: Any, s: Lengths = None, axes: Axes = None, norm: Norm = None, out: GlobalArray | None = None, *,
          transposed_out: bool = False) -> GlobalArray:
    """The inverse of `fftn`, which see. Collective."""
    return _complex(a, s, axes, "ifftn", norm, out, transposed_out)


@implements(np.fft.rfft)
def rfft(a: Any, n: int | None = None, axis: int = -1, norm: Norm = None, out: GlobalArray | None = None, *,
         transposed_out: bool = False) -> GlobalArray:
    """The transform of real numbers along one dimension, without what follows by symmetry. Collective.

    All else is as for `fft`. The dimension has n // 2 + 1 elements in the result.

    Raises
    ------
    TypeError
        Also for complex numbers.

    Examples
    --------
    >>> import pgaspy as pg
    >>> pg.fft.rfft(pg.array([1.0, 0.0, -1.0, 0.0])).gather().real
    array([0., 2., 0.])
    """
    return _from_real(a, _one(n), (axis,), norm, out, transposed_out)


@implements(np.fft.irfft)
def irfft(a: Any, n: int | None = None, axis: int = -1, norm: Norm = None, out: GlobalArray | None = None, *,
          transposed_out: bool = False) -> GlobalArray:
    """The inverse of `rfft`: real numbers, n of them, by default 2 * (m - 1) for an extent of m. Collective."""
    return _to_real(a, _one(n), (axis,), norm, out, transposed_out)


@implements(np.fft.rfft2)
def rfft2(a: Any, s: Lengths = None, axes: Axes = (-2, -1), norm: Norm = None, out: GlobalArray | None = None, *,
          transposed_out: bool = False) -> GlobalArray:
    """The transform of real numbers along two dimensions: `rfftn` with other defaults. Collective."""
    return _from_real(a, s, axes, norm, out, transposed_out)


@implements(np.fft.irfft2)
def irfft2(a: Any, s: Lengths = None, axes: Axes = (-2, -1), norm: Norm = None, out: GlobalArray | None = None, *,
           transposed_out: bool = False) -> GlobalArray:
    """The inverse of `rfft2`. Collective."""
    return _to_real(a, s, axes, norm, out, transposed_out)


@implements(np.fft.rfftn)
def rfftn(a: Any, s: Lengths = None, axes: Axes = None, norm: Norm = None, out: GlobalArray | None = None, *,
          transposed_out: bool = False) -> GlobalArray:
    """The transform of real numbers along several dimensions: `rfft` along the last of them, `fft` along the others.

    Collective; all else is as for `fftn`.

    Raises
    ------
    TypeError
        Also for complex numbers.
    """
    return _from_real(a, s, axes, norm, out, transposed_out)


@implements(np.fft.irfftn)
def irfftn(a: Any, s: Lengths = None, axes: Axes = None, norm: Norm = None, out: GlobalArray | None = None, *,
           transposed_out: bool = False) -> GlobalArray:
    """The inverse of `rfftn`; the last length is by default 2 * (m - 1) for an extent of m. Collective."""
    return _to_real(a, s, axes, norm, out, transposed_out)


@implements(np.fft.hfft)
def hfft(a: Any, n: int | None = None, axis: int = -1, norm: Norm = None, out: GlobalArray | None = None, *,
         transposed_out: bool = False) -> GlobalArray:
    """The transform, which is real, of what is Hermitian, of which one half is given. Collective; as for `irfft`."""
    check_norm(norm)
    return _to_real(as_global(a).conj(), _one(n), (axis,), _SWAPPED[norm], out, transposed_out)


@implements(np.fft.ihfft)
def ihfft(a: Any, n: int | None = None, axis: int = -1, norm: Norm = None, out: GlobalArray | None = None, *,
          transposed_out: bool = False) -> GlobalArray:
    """The inverse of `hfft`. Collective; as for `rfft`."""
    check_norm(norm)
    found = _from_real(a, _one(n), (axis,), _SWAPPED[norm], None, transposed_out).conj()
    return _assigned(found, out)


# What they take ------------------------------------------------------------------------------------------------------


def _one(n: int | None) -> tuple[int] | None:
    if n is not None and operator.index(n) < 1:  # among several lengths -1 stands for the array's own
        raise ValueError(f"Invalid number of FFT data points ({n}) specified.")
    return None if n is None else (n,)


def check_norm(norm: Any) -> None:
    """Refuse what is no `norm`."""
    if norm not in (None, "backward", "ortho", "forward"):
        raise ValueError(f'Invalid norm value {norm}; should be "backward", "ortho" or "forward".')


def dims_of(a: GlobalArray, s: Lengths, axes: Axes) -> tuple[list[int], list[int]]:
    """The dimensions, and the lengths that are transformed."""
    if axes is None:
        chosen = list(range(a.ndim))[-len(s):] if s else [] if s is not None else list(range(a.ndim))
        if s is not None and len(s) > a.ndim:
            raise ValueError("Shape and axes have different lengths.")
    else:
        chosen = [normalize_axis_index(operator.index(axis), a.ndim) for axis in axes]
    own = [a.shape[d] for d in chosen]
    lengths = own if s is None else [operator.index(n) for n in s]
    if len(lengths) != len(chosen):
        raise ValueError("Shape and axes have different lengths.")
    return chosen, [m if n == -1 else n for n, m in zip(lengths, own, strict=True)]


def with_lengths(a: GlobalArray, dims: Sequence[int], lengths: Sequence[int]) -> GlobalArray:
    """The array, where dimensions are cut, or zeros added to them, to have these lengths."""
    shape = list(a.shape)
    for d, n in zip(dims, lengths, strict=True):
        if n < 1:
            raise ValueError(f"Invalid number of FFT data points ({n}) specified.")
        shape[d] = n
    if tuple(shape) == a.shape:
        return a
    kept = tuple(slice(min(n, m)) for n, m in zip(a.shape, shape, strict=True))
    if all(n >= m for n, m in zip(a.shape, shape, strict=True)):
        return a[kept]
    found = zeros(tuple(shape), a.dtype, layout=layout_like(a._view, tuple(shape)))
    found[kept] = a[kept]
    return found


def _complex_dtype(a: GlobalArray) -> np.dtype[Any]:
    if a.dtype.kind not in "biufc":
        raise TypeError(f"there is no transform of {a.dtype} numbers")
    if a.dtype.kind in "biu":
        return np.dtype(np.complex128)
    return np.result_type(a.dtype, np.complex64)


def _assigned(found: GlobalArray, out: GlobalArray | None) -> GlobalArray:
    if out is None:
        return found
    if not isinstance(out, GlobalArray):
        raise TypeError("return arrays must be of ArrayType")
    if out.shape != found.shape:
        raise ValueError("output array has wrong shape.")
    if not np.can_cast(found.dtype, out.dtype, "same_kind"):
        raise TypeError(f"Cannot cast the result from {found.dtype!r} to {out.dtype!r} with casting rule 'same_kind'")
    out[...] = found
    return out


def finished(found: GlobalArray, a: GlobalArray, out: GlobalArray | None, transposed_out: bool) -> GlobalArray:
    """A result, in the layout of the operand unless that is not asked for."""
    if out is not None:
        return _assigned(found, out)
    layout = layout_like(a._view, found.shape)
    return found if transposed_out or found._view.own_layout == layout else found.redistribute(layout)


# Transforms ----------------------------------------------------------------------------------------------------------


def _complex(a: Any, s: Lengths, axes: Axes, function: str, norm: Norm, out: GlobalArray | None,
             transposed_out: bool) -> GlobalArray:
    check_norm(norm)
    a = as_global(a)
    dims, lengths = dims_of(a, s, axes)
    refuse_truths(s)
    dtype = _complex_dtype(a)
    few = None if out is not None else transformed_few(a, dims, lengths, dtype, function, norm)
    if few is not None:
        return few
    if len(set(dims)) < len(dims):
        return _assigned(_one_by_one(a, dims, lengths, lambda x, d, n: _complex(
            x, (n,), (d,), function, norm, None, False)), out)
    if not dims:
        return _assigned(a.copy(), out)
    x = with_lengths(a, dims, lengths)
    if not x.size:
        return finished(x.astype(dtype), a, out, transposed_out)
    if is_one_line(x, max(dims, key=lambda d: x.shape[d])):
        found = transformed_vector(x.reshape(-1), dtype, function, norm).reshape(x.shape)
        return finished(found, a, out, transposed_out)
    back = None if transposed_out or out is not None else layout_like(a._view, x.shape)
    return finished(transformed(ready(x, dtype, dims), dims, function, back, norm=norm), a, out, transposed_out)


def _one_by_one(a: GlobalArray, dims: Sequence[int], lengths: Sequence[int],
                function: Callable[[GlobalArray, int, int], GlobalArray]) -> GlobalArray:
    for d, n in reversed(list(zip(dims, lengths, strict=True))):
        a = function(a, d, n)
    return a


def _from_real(a: Any, s: Lengths, axes: Axes, norm: Norm, out: GlobalArray | None,
               transposed_out: bool) -> GlobalArray:
    check_norm(norm)
    a = as_global(a)
    if a.dtype.kind == "c":
        raise TypeError("this transform takes real numbers, as what follows by symmetry is left out of its result")
    dims, lengths = dims_of(a, s, axes)
    dtype = _complex_dtype(a)
    if not dims:
        raise IndexError("at least one dimension has to be transformed")
    few = None if out is not None or dims[1:] else transformed_few(a, dims, lengths, dtype, "rfft", norm)
    if few is not None:
        return few
    axis = dims[-1]
    x = with_lengths(a, dims[-1:], lengths[-1:])
    n = x.shape[axis] // 2 + 1
    if not x.size:
        found = zeros((*x.shape[:axis], n, *x.shape[axis + 1:]), dtype)
    elif is_one_line(x, axis):
        half = spectrum_of_real(x.reshape(-1), dtype, norm)
        found = half.reshape((*x.shape[:axis], n, *x.shape[axis + 1:]))
    else:
        real = np.finfo(dtype).dtype
        if axis not in whole_dims(x._view):
            x = in_pencils(x, real, dims if len(set(dims)) == len(dims) else [axis])
            if axis not in whole_dims(x._view):
                x = in_pencils(x, real, [axis])
        found = real_pass(x if x.dtype == real else copied_in_place(x, real), axis, x.shape[axis], dtype, "rfft", norm)
    if dims[:-1]:
        return finished(_complex(found, lengths[:-1], dims[:-1], "fftn", norm, None, True), a, out, transposed_out)
    return finished(found, a, out, transposed_out)


def _to_real(a: Any, s: Lengths, axes: Axes, norm: Norm, out: GlobalArray | None,
             transposed_out: bool) -> GlobalArray:
    check_norm(norm)
    a = as_global(a)
    dims, lengths = dims_of(a, s, axes)
    refuse_truths(s)
    dtype = _complex_dtype(a)
    if not dims:
        raise IndexError("at least one dimension has to be transformed")
    axis = dims[-1]
    n = (a.shape[axis] - 1) * 2 if s is None else lengths[-1]
    if n < 1:
        raise ValueError(f"Invalid number of FFT data points ({n}) specified.")
    few = None if out is not None or dims[1:] else transformed_few(a, dims, (n,), dtype, "irfft", norm)
    if few is not None:
        return few
    x = a
    if dims[:-1]:
        x = _complex(x, lengths[-2::-1], dims[-2::-1], "ifftn", norm, None, True)  # the first one first, as NumPy
    x = with_lengths(x, (axis,), (n // 2 + 1,))
    real = np.finfo(dtype).dtype
    if not x.size:
        found = zeros((*x.shape[:axis], n, *x.shape[axis + 1:]), real)
    elif is_one_line(x, axis):
        vector = real_of_spectrum(x.reshape(-1), n, dtype, norm)
        found = vector.reshape((*x.shape[:axis], n, *x.shape[axis + 1:]))
    else:
        if axis not in whole_dims(x._view):
            x = in_pencils(x, dtype, [axis])
        found = real_pass(x if x.dtype == dtype else copied_in_place(x, dtype), axis, n, real, "irfft", norm)
    if a.dtype == np.float16 and len(dims) == 1:  # as NumPy has it
        found = copied_in_place(found, a.dtype)
    return finished(found, a, out, transposed_out)
