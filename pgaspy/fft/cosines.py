"""Cosine and sine transforms: the names, arguments and results of `scipy.fft`, of dimensions that can be made whole."""

from __future__ import annotations

import math
import operator
from collections.abc import Sequence
from typing import Any

import numpy as np

from pgaspy.array import GlobalArray
from pgaspy.creation import as_global, empty
from pgaspy.fft.one_dimension import MAX_COPIED
from pgaspy.fft.pencils import is_one_line, ready, transformed
from pgaspy.fft.transforms import Axes, Lengths, Norm, check_norm, dims_of, finished, with_lengths
from pgaspy.job.procgrid import world
from pgaspy.layout import replicated

__all__ = ["dct", "dctn", "dst", "dstn", "idct", "idctn", "idst", "idstn"]


def dct(x: Any, type: int = 2, n: int | None = None, axis: int = -1, norm: Norm = None, *,
        orthogonalize: bool | None = None, transposed_out: bool = False) -> GlobalArray:
    """The discrete cosine transform along one dimension. Collective.

    Parameters
    ----------
    x
        Any shape but (); of complex numbers both parts are transformed.
    type
        Which of the transforms, 1 to 4.
    n
        The length that is transformed: the dimension is cut, or zeros are added to it.
    axis
        The dimension.
    norm
        As for `fft`.
    orthogonalize
        Whether the transform is made an orthogonal one; by default, where `norm` is "ortho". See `scipy.fft.dct`.
    transposed_out
        Leave the result in the layout that it is computed in, not the operand's: that saves half of the movement.

    Returns
    -------
    Of float32, float64 and complex numbers the same dtype; of float16 float32, of all else float64.

    Raises
    ------
    ValueError
        If the length is below 1, for an unknown type or `norm`; and for one long dimension that is dealt out, as no
        process can hold it: `x.redistribute(layout)` with it whole, if one can.
    RuntimeError
        If the length is 1, for type 1 of cosines.
    TypeError
        For what has no transform, as dates and text.

    Examples
    --------
    >>> import pgaspy as pg
    >>> pg.fft.dct(pg.array([1.0, 1.0])).gather()
    array([4., 0.])
    """
    return _along("dctn", x, type, _one(n), (axis,), norm, orthogonalize, transposed_out)


def idct(x: Any, type: int = 2, n: int | None = None, axis: int = -1, norm: Norm = None, *,
         orthogonalize: bool | None = None, transposed_out: bool = False) -> GlobalArray:
    """The inverse of `dct`, which see. Collective."""
    return _along("idctn", x, type, _one(n), (axis,), norm, orthogonalize, transposed_out)


def dst(x: Any, type: int = 2, n: int | None = None, axis: int = -1, norm: Norm = None, *,
        orthogonalize: bool | None = None, transposed_out: bool = False) -> GlobalArray:
    """The discrete sine transform along one dimension. Collective; all else is as for `dct`."""
    return _along("dstn", x, type, _one(n), (axis,), norm, orthogonalize, transposed_out)


def idst(x: Any, type: int = 2, n: int | None = None, axis: int = -1, norm: Norm = None, *,
         orthogonalize: bool | None = None, transposed_out: bool = False) -> GlobalArray:
    """The inverse of `dst`, which see. Collective."""
    return _along("idstn", x, type, _one(n), (axis,), norm, orthogonalize, transposed_out)


def dctn(x: Any, type: int = 2, s: int | Lengths = None, axes: int | Axes = None, norm: Norm = None, *,
         orthogonalize: bool | None = None, transposed_out: bool = False) -> GlobalArray:
    """The discrete cosine transform along several dimensions. Collective; as for `dct`.

    Parameters
    ----------
    s
        The lengths that are transformed, one for each of `axes`; -1 for that of the array. An integer is one length.
    axes
        The dimensions, each once: by default all, or with `s` the last ones. An integer is one dimension.
    """
    return _along("dctn", x, type, s, axes, norm, orthogonalize, transposed_out)


def idctn(x: Any, type: int = 2, s: int | Lengths = None, axes: int | Axes = None, norm: Norm = None, *,
          orthogonalize: bool | None = None, transposed_out: bool = False) -> GlobalArray:
    """The inverse of `dctn`, which see. Collective."""
    return _along("idctn", x, type, s, axes, norm, orthogonalize, transposed_out)


def dstn(x: Any, type: int = 2, s: int | Lengths = None, axes: int | Axes = None, norm: Norm = None, *,
         orthogonalize: bool | None = None, transposed_out: bool = False) -> GlobalArray:
    """The discrete sine transform along several dimensions. Collective; as for `dctn`."""
    return _along("dstn", x, type, s, axes, norm, orthogonalize, transposed_out)


def idstn(x: Any, type: int = 2, s: int | Lengths = None, axes: int | Axes = None, norm: Norm = None, *,
          orthogonalize: bool | None = None, transposed_out: bool = False) -> GlobalArray:
    """The inverse of `dstn`, which see. Collective."""
    return _along("idstn", x, type, s, axes, norm, orthogonalize, transposed_out)


def _one(n: int | None) -> tuple[int] | None:
    return None if n is None else (operator.index(n),)


def _several(x: Any) -> Any:
    return (int(x),) if isinstance(x, int | np.integer) else x


def _along(function: str, x: Any, kind: int, s: int | Lengths, axes: int | Axes, norm: Norm, orthogonalize: bool | None,
           transposed_out: bool) -> GlobalArray:
    check_norm(norm)
    if kind not in (1, 2, 3, 4):
        raise ValueError(f"invalid type of a cosine or sine transform: {kind!r}; there are 1, 2, 3 and 4")
    x = as_global(x)
    dims, lengths = dims_of(x, _several(s), _several(axes))
    if len(set(dims)) < len(dims):
        raise ValueError("all axes must be unique")
    a = with_lengths(x, dims, lengths)
    _check_lengths(function, kind, [a.shape[d] for d in dims])
    dtype = _dtype(a)
    if not dims or not a.size:
        return a.astype(dtype if dims else a.dtype)
    is_line = is_one_line(a, max(dims, key=lambda d: a.shape[d]))
    a = _copies(a, dtype) if is_line else ready(a, dtype, dims)
    found = transformed(a, dims, function, None, type=kind, norm=norm, orthogonalize=orthogonalize)
    return finished(found, x, None, transposed_out)


def _check_lengths(function: str, kind: int, lengths: Sequence[int]) -> None:
    if kind == 1 and "dct" in function and 1 in lengths:
        raise RuntimeError("zero-length FFT requested: type 1 of cosines takes two elements at least")


def _dtype(a: GlobalArray) -> np.dtype[Any]:
    if a.dtype.kind not in "biufc":
        raise TypeError(f"there is no transform of {a.dtype} numbers")
    return np.dtype(np.float64) if a.dtype.kind in "biu" else np.result_type(a.dtype, np.float32)


def _copies(a: GlobalArray, dtype: np.dtype[Any]) -> GlobalArray:
    """One line of elements, which every process gets if it is short."""
    if math.prod(a.shape) > MAX_COPIED and world().size > 1:
        raise ValueError(f"the {a.size} elements of one dimension are dealt out, and no process has to hold them all: "
                         "redistribute the array so that one does, or transform local parts")
    found = empty(a.shape, dtype, layout=replicated(a.shape, world().size))
    found[...] = a
    return found
